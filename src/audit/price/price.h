/* What each FAIL costs: two simulations of the audited cluster, as it is and mended. */
#ifndef RS_AUDIT_PRICE_PRICE_H
#define RS_AUDIT_PRICE_PRICE_H

#include "audit/facts/audit.h"

enum rs_audit_pricing { RS_PRICE_NONE, RS_PRICE_FAST, RS_PRICE_FULL };
/* After rs_audit_run(). FAST prices the first findings alone; NONE says of each that it has no
 * price. Puts the findings in order again. */
int rs_audit_price(struct rs_audit *a, enum rs_audit_pricing how, struct rs_error *e);

#endif
