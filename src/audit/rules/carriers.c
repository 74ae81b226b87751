/* A check of the facts themselves: one thing that two carriers tell differently. Which is believed
 * is the order of trust in facts.h; that they differ is worth knowing before anything is mended. */
#include <string.h>
#include "audit/rules/rule.h"

/* What stays the same while a snapshot is taken and is spelt alike by all tools. */
static bool is_steady(const struct rs_fact *f)
{
	static const struct {
		const char *subject, *name;
	} known[] = {
		{"netdev/", "mtu"},           {"netdev/", "trust"},       {"netdev/", "pfc/"},
		{"netdev/", "dscp_to_prio/"}, {"netdev/", "prio_to_tc/"}, {"nic/", "firmware"},
		{"nic/", "board_id"},         {"nic/", "active_mtu"},     {"nic/", "link_layer"},
		{"nic/", "tclass"},           {"nic/", "netdev"},         {"host", "kernel"},
		{"host", "governor"},
	};

	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++) {
		size_t n = strlen(known[i].name);

		if (!strncmp(f->subject, known[i].subject, strlen(known[i].subject)) &&
		    !strncmp(f->name, known[i].name, n) &&
		    (!f->name[n] || known[i].name[n - 1] == '/'))
			return true;
	}
	return false;
}

static void e02_host(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const struct rs_fact *first = NULL, *f;
	struct rs_finding *found = NULL;
	unsigned twice = 0;
	uint32_t at = 0;

	while ((f = rs_facts_next(a->facts, &at, host, "", ""))) {
		/* strings are kept once: of one thing the most trusted comes first */
		if (!first || first->subject != f->subject || first->name != f->name) {
			first = f;
			continue;
		}
		if (first->file == f->file || !is_steady(f) ||
		    !strcmp(f->subject, "netdev/unnamed"))
			continue;
		twice++;
		if (first->value == f->value)
			continue;
		if (!found) {
			found = rs_finding_new(a, r, RS_FAIL, RS_MINOR,
					       "two sources disagree on %s of %s: %s and %s",
					       f->name, f->subject, first->value, f->value);
			rs_finding_subject(a, found, host,
					   strchr(f->subject, '/') ? strchr(f->subject, '/') + 1
								   : NULL);
			rs_finding_why(
				a, found,
				"they were read at different times, or one is of another "
				"machine: what is judged is the first, which is trusted more");
			rs_finding_need(a, found, "both again, at once", "which of them holds now");
			rs_finding_unpriced(a, found, "which of them is true is not known");
		}
		rs_finding_fact(found, first);
		rs_finding_fact(found, f);
	}
	if (twice && !found)
		rs_finding_subject(a,
				   rs_finding_new(a, r, RS_PASS, RS_MINOR,
						  "%u facts that two sources tell are the same",
						  twice),
				   host, NULL);
}

static void e02(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		e02_host(a, r, rs_facts_host(a->facts, i));
}

const struct rs_rule rs_rules_carriers[] = {
	{
		.id = "E02",
		.name = "carriers-disagree",
		.severity = RS_MINOR,
		.criterion = "What two files of a host tell of one thing is the same.",
		.authority = "the order of trust: kernel, dump, tool, log, intent, note",
		.explain =
			"A snapshot is put together from many commands, sometimes of another day "
			"or another machine. MTU, trust, PFC, maps, firmware, the traffic class "
			"and "
			"the kernel do not change by themselves: where two files differ on them, "
			"one "
			"is stale or strayed in, and everything that is judged by it with it.",
		.run = e02,
	},
	{0},
};
