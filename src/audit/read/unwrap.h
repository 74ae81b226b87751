/*
 * Private to audit/: lines that a terminal or a mailer broke. A terminal cuts at its last column,
 * within a word; a mailer breaks between words. Only what shows that it was broken is joined: the
 * text has no line beyond the width, the line reaches it, and what follows does not begin as a
 * line of such a text does.
 */
#ifndef RS_AUDIT_READ_UNWRAP_H
#define RS_AUDIT_READ_UNWRAP_H

#include "audit/read/reader.h"

/* How a line of a text follows the one before. */
enum rs_join { RS_JOIN_NOT, RS_JOIN_CUT, RS_JOIN_WORD };

/* What begins the records of a log. Numbers of one text's records tell its kinds of logs apart. */
enum rs_record {
	RS_RECORD_NONE,
	RS_RECORD_NCCL,
	RS_RECORD_UCX,
	RS_RECORD_KERNEL,
	RS_RECORD_OTHER,
	RS_RECORDS
};
/* Of n bytes of a line without quotes. */
enum rs_record rs_record_of(const char *text, size_t n);

/* Fills how[] for `lines` lines; false: nothing was broken. */
bool rs_unwrap_find(const char *data, size_t size, uint8_t *how, uint32_t lines);
/* The text with its lines joined: as many lines, those that follow another are empty. Ends with a
 * NUL; to be freed. NULL: no memory. */
char *rs_unwrap_join(const char *data, size_t size, const uint8_t *how, size_t *out_size);

#endif
