/* Private to audit/rules: the checks of switches, a file each group, and what they share. */
#ifndef RS_AUDIT_RULES_SWITCH_H
#define RS_AUDIT_RULES_SWITCH_H

#include "audit/rules/gather.h"

struct rs_gather switch_gather(struct rs_audit *a, const struct rs_rule *r);
/* The i-th of the hosts when it is a switch; NULL. */
const char *switch_at(const struct rs_audit *a, uint32_t i);
unsigned switch_count(const struct rs_audit *a);
/* What one port is asked; called for each port of each switch. */
typedef void switch_port(struct rs_gather *g, const struct rs_hop_view *v);
void switch_each_port(struct rs_gather *g, switch_port *fn);
/* What stands in bytes, or in time at the port's rate (EOS). Negative: not known. */
double switch_threshold(const struct rs_hop_view *v, int q, const char *which,
			const struct rs_fact **fact);

typedef void switch_run(struct rs_audit *a, const struct rs_rule *r);
switch_run switch_s01, switch_s02, switch_s03, switch_s04, switch_s05, switch_s06, switch_s07,
	switch_s08, switch_s09, switch_s10, switch_s11, switch_s12, switch_s13, switch_s14,
	switch_s15;

#endif
