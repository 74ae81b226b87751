/*
 * Private to audit/: rules. A file a family (pcie.c, roce.c, ...), a function a check.
 * A rule looks at facts alone and makes findings; a PASS is a finding too, so that the report can
 * list what was looked at.
 */
#ifndef RS_AUDIT_RULES_RULE_H
#define RS_AUDIT_RULES_RULE_H

#include "audit/rules/finding.h"

struct rs_rule {
	const char *id;            /* "P01" */
	const char *name;          /* "pcie-path-rate" */
	enum rs_severity severity; /* the worst that it finds */
	const char *criterion;     /* one sentence */
	const char *authority;     /* the standard, or whose default */
	const char *explain;       /* a paragraph that teaches, for --explain */
	void (*run)(struct rs_audit *a, const struct rs_rule *r);
};

/* A family, ended by an entry without id. */
extern const struct rs_rule rs_rules_pcie[], rs_rules_host[], rs_rules_roce[], rs_rules_counters[],
	rs_rules_links[], rs_rules_switch[], rs_rules_fabric[], rs_rules_peers[], rs_rules_nccl[],
	rs_rules_kubernetes[], rs_rules_device[], rs_rules_pressure[], rs_rules_nccl_env[],
	rs_rules_site[], rs_rules_nic[], rs_rules_qos[], rs_rules_carriers[], rs_rules_job[],
	rs_rules_message[], rs_rules_measured[], rs_rules_state[];
extern const struct rs_rule *const rs_rule_families[]; /* ended by NULL */

const struct rs_rule *rs_rule_find(const char *id);
bool rs_rule_known(const char *id);
/* The i-th pair of checks of which one's FAIL explains the other's; false at the end. */
bool rs_audit_because(uint32_t i, const char **cause, const char **effect);

/* NULL only without memory: then a->err is set and the calls below do nothing with NULL. */
struct rs_finding *rs_finding_new(struct rs_audit *a, const struct rs_rule *r, enum rs_verdict v,
				  enum rs_severity s, const char *title_fmt, ...)
	__attribute__((format(printf, 5, 6)));
void rs_finding_subject(struct rs_audit *a, struct rs_finding *f, const char *host,
			const char *part);
/* Is this fact among those of the finding? */
bool rs_finding_cites(const struct rs_finding *f, const struct rs_fact *fact);
void rs_finding_fact(struct rs_finding *f, const struct rs_fact *fact); /* NULL: nothing */
void rs_finding_why(struct rs_audit *a, struct rs_finding *f, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void rs_finding_stage(struct rs_audit *a, struct rs_finding *f, const char *host, const char *stage,
		      enum rs_verdict v, const char *value_fmt, ...)
	__attribute__((format(printf, 6, 7)));
/* A fix of choice 1; rs_finding_choice() starts the next alternative. */
void rs_finding_fix(struct rs_audit *a, struct rs_finding *f, const char *on, bool persistent,
		    const char *interrupts, const char *undo, const char *command_fmt, ...)
	__attribute__((format(printf, 7, 8)));
void rs_finding_choice(struct rs_finding *f);
void rs_finding_need(struct rs_audit *a, struct rs_finding *f, const char *file,
		     const char *why_fmt, ...) __attribute__((format(printf, 4, 5)));
/* One PASS for the n devices of a host whose counters are right, `first` (a subject) one of them;
 * none where n is 0. */
void rs_finding_devices_right(struct rs_audit *a, const struct rs_rule *r, const char *host,
			      unsigned n, const char *what, const char *first);
/* Why it is not priced, or what a simulation of it would assume; price.c fills the rest. */
void rs_finding_unpriced(struct rs_audit *a, struct rs_finding *f, const char *why);
/* Is the host among its subjects? True where it has none. */
bool rs_finding_is_of(const struct rs_finding *f, const char *host);
/* Has this check failed on this host, at this severity or worse? check NULL: has any? */
bool rs_failed(const struct rs_audit *a, const char *check, const char *host,
	       enum rs_severity least);

#endif
