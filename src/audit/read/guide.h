/*
 * Private to audit/: is a text a guide, a manual or notes, written for its readers? It tells
 * "you" what may come. A report tells what came to its writer, and a log has few sentences.
 */
#ifndef RS_AUDIT_READ_GUIDE_H
#define RS_AUDIT_READ_GUIDE_H

#include <stdbool.h>

/* What a text's lines so far are; all 0 before the first. */
struct rs_guide_lines {
	unsigned lines, sentences, own; /* own: a sentence of the writer's own machine */
};

/* A line of a text, without its end. */
void rs_guide_line(struct rs_guide_lines *d, const char *text);

bool rs_guide_is(const struct rs_guide_lines *d);

#endif
