/* All families of checks: a file each. */
#include <stddef.h>
#include "audit/rule.h"

const struct rs_rule *const rs_rule_families[] = {
	rs_rules_counters,
	rs_rules_fabric,
	NULL,
};
