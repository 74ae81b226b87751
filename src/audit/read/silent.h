/* Private to audit/: what the silence of a command says. */
#ifndef RS_AUDIT_READ_SILENT_H
#define RS_AUDIT_READ_SILENT_H

#include "audit/read/reader.h"

/* A command that printed nothing, and another followed it: line 1 of *in is its prompt. */
void rs_silent(struct rs_audit *a, const struct rs_input *in);

#endif
