/* Private to audit/read: rows of SONiC's CONFIG_DB that are not all of it. */
#ifndef RS_AUDIT_READ_SONIC_H
#define RS_AUDIT_READ_SONIC_H

#include "audit/read/reader.h"

/* Rows as a document of JSON: a table or a queue that is not among them is not known. */
int rs_sonic_read_rows(struct rs_audit *a, const struct rs_input *in);

#endif
