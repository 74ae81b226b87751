/*
 * Private to audit/: bytes of a text that say nothing. Terminals' sequences (ECMA-48, xterm's
 * titles), as bytes or spelt out, what was deleted by backspaces, NULs, HTML's entities, ends of
 * lines of CR alone, marks of an encoding, UTF-16.
 */
#ifndef RS_AUDIT_READ_PLAIN_H
#define RS_AUDIT_READ_PLAIN_H

#include "audit/read/reader.h"

/* UTF-16 with its mark as UTF-8, ended by a NUL; to be freed. NULL: it is none, or no memory. */
char *rs_plain_utf8(const char *data, size_t size, size_t *out_size);

/* Do the first bytes have NULs, and are they a text all the same? */
bool rs_plain_despite_nuls(const char *data, size_t size);

/* The text without such bytes: as many lines, ended by a NUL; to be freed. NULL: it has none, or no
 * memory. */
char *rs_plain_text(const char *data, size_t size, size_t *out_size);

#endif
