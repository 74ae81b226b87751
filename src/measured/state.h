/* Private to measured/. */
#ifndef RS_MEASURED_STATE_H
#define RS_MEASURED_STATE_H

#include "measured/inspector.h"
#include "measured/measured.h"

/* rs_measured_read() of a log of NCCL's Inspector. */
int measured_inspected(const char *text, size_t n, const char *name, const char *op,
		       struct rs_arena *a, struct rs_measured **out, struct rs_error *e);

#endif
