/* Private to audit/: what a tool or a shell says instead of an output. */
#ifndef RS_AUDIT_READ_REFUSAL_H
#define RS_AUDIT_READ_REFUSAL_H

#include <stdbool.h>

/* The fact of an absence. */
struct rs_refusal {
	char what[256];   /* "/sys/...", "command/ibstat", "module/nvidia-peermem" */
	const char *text; /* "No such file or directory" */
};
bool rs_refusal_find(const char *text, struct rs_refusal *out);

#endif
