/* Files, directories and archives into facts. */
#ifndef RS_AUDIT_READ_READ_H
#define RS_AUDIT_READ_READ_H

#include "audit/facts/audit.h"

/*
 * Reads a file, a directory or an archive. host: whose it is; NULL: found from the path (a
 * directory a host when a directory holds several). age: 1 for the older snapshot of --since.
 * -EINVAL with e filled: not there, a hostile archive, over a limit. A file that no
 * reader recognises is listed in files.
 */
int rs_audit_read(struct rs_audit *a, const char *path, const char *host, uint8_t age,
		  struct rs_error *e);
/* Reads a text as if it were the file `path` of a host, read now; host NULL: this host. */
int rs_audit_read_text(struct rs_audit *a, const char *host, const char *path, const char *text,
		       struct rs_error *e);

#endif
