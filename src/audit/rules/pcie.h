/* Private to audit/rules: checks of PCIe and topology, of which pcie.c has the table. */
#ifndef RS_AUDIT_RULES_PCIE_H
#define RS_AUDIT_RULES_PCIE_H

#include "audit/rules/rule.h"

void pcie_p04(struct rs_audit *a, const struct rs_rule *r);
void pcie_p05(struct rs_audit *a, const struct rs_rule *r);
void pcie_p07(struct rs_audit *a, const struct rs_rule *r);
void pcie_p09(struct rs_audit *a, const struct rs_rule *r);

#endif
