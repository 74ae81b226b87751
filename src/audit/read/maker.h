/* Private to audit/: whose switch an output is of. */
#ifndef RS_AUDIT_READ_MAKER_H
#define RS_AUDIT_READ_MAKER_H

#include "audit/read/readers.h"

/* How many facts: "host" "maker", in the words of "host" "os". */
uint32_t rs_maker_read(struct rs_audit *a, const struct rs_input *in);

#endif
