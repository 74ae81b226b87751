/* JSON and YAML of strangers as they are, parsed without a word on standard error. */
#ifndef RS_TEXT_DOCUMENT_H
#define RS_TEXT_DOCUMENT_H

#include <libfyaml.h>
#include <stddef.h>
#include <stdint.h>

/* NULL: not JSON or YAML, over a limit, or no memory. Destroy with fy_document_destroy(). */
struct fy_document *rs_document_parse(const char *text, size_t n);
/* A member of a mapping; NULL when there is none or n is no mapping. */
struct fy_node *rs_document_member(struct fy_node *n, const char *key);
/* A scalar's text; NULL when it is none or longer than the buffer. */
const char *rs_document_text(struct fy_node *n, char *buf, size_t size);
/* The line, from 1; 0: not known. */
uint32_t rs_document_line(struct fy_node *n);

#endif
