/* All families of checks: a file each. */
#include <stddef.h>
#include "audit/rules/rule.h"

const struct rs_rule *const rs_rule_families[] = {
	rs_rules_pcie,       rs_rules_host,
	rs_rules_roce,       rs_rules_counters,
	rs_rules_pressure,   rs_rules_fabric,
	rs_rules_peers,      rs_rules_switch,
	rs_rules_links,      rs_rules_nccl,
	rs_rules_nccl_env,   rs_rules_device,
	rs_rules_site,       rs_rules_nic,
	rs_rules_qos,        rs_rules_job,
	rs_rules_kubernetes, rs_rules_message,
	rs_rules_measured,   rs_rules_carriers,
	rs_rules_state,      NULL,
};
