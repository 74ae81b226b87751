/* Private to audit/: bonds in configurations and outputs, beside whatever reader took them. */
#ifndef RS_AUDIT_READ_BONDS_H
#define RS_AUDIT_READ_BONDS_H

#include "audit/read/readers.h"

/* How many facts: the mode, the hash and the ports of bonds. */
uint32_t rs_bonds_read(struct rs_audit *a, const struct rs_input *in);

#endif
