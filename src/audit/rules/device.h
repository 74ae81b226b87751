/* Private to audit/rules: checks of PCIe devices, of which device.c has the table. */
#ifndef RS_AUDIT_RULES_DEVICE_H
#define RS_AUDIT_RULES_DEVICE_H

#include "audit/rules/rule.h"

typedef void each_function(struct rs_audit *a, const struct rs_rule *r, const char *host,
			   const char *pci, const char *kind);
void device_p12(struct rs_audit *a, const struct rs_rule *r);
void device_p13(struct rs_audit *a, const struct rs_rule *r);
void device_each(struct rs_audit *a, const struct rs_rule *r, each_function *judge);

#endif
