/* JSON and YAML of strangers as they are, parsed without a word on standard error: keys may be
 * given twice, any key is taken. Descriptions of our own are read strictly: text/tree.h. */
#ifndef RS_TEXT_DOCUMENT_H
#define RS_TEXT_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rs_document;
struct rs_value; /* of a document: a mapping, a list or a scalar */
struct rs_pair;  /* of a mapping */

/* NULL: not JSON or YAML, over a limit, or no memory. The text must outlive it. */
struct rs_document *rs_document_parse(const char *text, size_t n);
void rs_document_destroy(struct rs_document *d); /* NULL: nothing */
struct rs_value *rs_document_root(struct rs_document *d);

/* Of NULL: neither a mapping nor a list. */
bool rs_value_is_map(struct rs_value *v);
bool rs_value_is_list(struct rs_value *v);
bool rs_value_is_scalar(struct rs_value *v);
/* In the document's order. *at: NULL to begin; NULL at the end. */
struct rs_pair *rs_value_each_pair(struct rs_value *map, void **at);
struct rs_value *rs_value_each(struct rs_value *list, void **at);
struct rs_value *rs_pair_key(struct rs_pair *p);
struct rs_value *rs_pair_value(struct rs_pair *p);
int rs_value_pairs(struct rs_value *map);                   /* how many */
struct rs_value *rs_value_at(struct rs_value *list, int i); /* NULL: there is none */
/* n bytes, not ended by a NUL; NULL: no scalar. */
const char *rs_value_scalar(struct rs_value *v, size_t *n);

/* A member of a mapping; NULL when there is none or v is no mapping. */
struct rs_value *rs_document_member(struct rs_value *v, const char *key);
/* A scalar's text; NULL when it is none or longer than the buffer. */
const char *rs_document_text(struct rs_value *v, char *buf, size_t size);
/* The line, from 1; 0: not known. */
uint32_t rs_document_line(struct rs_value *v);

#endif
