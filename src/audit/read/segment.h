/*
 * Private to audit/: cuts a text into segments. A text is what people paste and scripts save:
 * prompts, outputs, prose, logs of many ranks. Its lines lose their prefixes, are sorted by the
 * host that a prefix or a prompt names, and are cut at prompts, fences, headings, and where the
 * output of a known command begins (rs_reader.begins). Each segment goes to the readers by their
 * score; the first that makes a fact of it keeps it. What is left goes line by line to the readers
 * of messages (rs_reader.line).
 */
#ifndef RS_AUDIT_READ_SEGMENT_H
#define RS_AUDIT_READ_SEGMENT_H

#include "audit/read/reader.h"

enum {
	RS_TEXT_HOSTS = 1024, /* of one text; lines of more stay with the text's own */
	RS_SEGMENTS = 65536,  /* of one text; the rest is one */
	RS_SEGMENT_TRIES = 6, /* readers that one segment is offered to */
};

/* Facts of a text; what became of its lines is added to a->texts. 1: some reader knew a part, 0:
 * none did. -ENOMEM in a->err. */
int rs_text_read(struct rs_audit *a, const struct rs_input *in);

/* The one host that all prompts and prefixes of a text name; false: none, or several. */
bool rs_text_host(const struct rs_input *in, char *out, size_t size);

/* Readers of a whole, the highest score first; how many, at most `most`. input.c */
unsigned rs_input_readers(const struct rs_input *in, const struct rs_reader **out, unsigned most);
/* What reader took a file, for the list of files. input.c */
int rs_input_remember(struct rs_audit *a, const char *host, const char *path, const char *reader,
		      uint32_t facts);

#endif
