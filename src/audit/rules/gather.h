/* Private to audit/: one finding for what is equal on many ports of many switches. */
#ifndef RS_AUDIT_RULES_GATHER_H
#define RS_AUDIT_RULES_GATHER_H

#include "audit/facts/hop.h"
#include "audit/rules/rule.h"

enum { RS_GATHER_FACTS = 8 /* of the first ports; the rest are named alone */ };

struct rs_gather {
	struct rs_audit *a;
	const struct rs_rule *r;
	struct rs_finding *f;
	const char *title;        /* of the first */
	const char *sw, *port;    /* the last that failed */
	unsigned ports, switches; /* that failed */
	unsigned passed, unknown; /* ports that were right, and that could not be judged */
	const struct rs_fact *good[RS_GATHER_FACTS]; /* that the first of those stand on */
	unsigned n_good;
	enum rs_severity unseen; /* of an UNKNOWN; RS_INFO: the rule's */
	struct rs_hop_site site; /* of the switch at hand */
	int cnp;                 /* S06, S07: the DSCP of CNPs, and who says so */
	const struct rs_fact *cnp_fact;
	struct { /* S05: who is stopped first on a switch, by priority */
		const char *sw, *where[8];
		double depth[8];
		const struct rs_fact *why[8];
	} stop;
	int hosts_protect; /* S02, S14: does some host have PFC? 1, 0; -1: not asked yet */
	bool new_switch;   /* the last one is the first of its switch: say its fix */
};

/* One more port that fails. NULL facts are passed over. */
void rs_gather_fail(struct rs_gather *g, enum rs_severity s, const char *sw, const char *port,
		    const struct rs_fact *one, const struct rs_fact *two, const char *title_fmt,
		    ...) __attribute__((format(printf, 7, 8)));
/* One more port that is right, and what shows it. NULL facts are passed over. */
void rs_gather_pass(struct rs_gather *g, const struct rs_fact *one, const struct rs_fact *two);
/* The same of a port whose PFC is what it stands on. */
void rs_gather_pass_pfc(struct rs_gather *g, const char *sw, const char *port, unsigned mask);
/* Ends it: the title says how many; without a FAIL a PASS or an UNKNOWN that names what is
 * missing; nothing where nothing applied. */
void rs_gather_end(struct rs_gather *g, const char *why, const char *passed, const char *unknown,
		   const char *file, const char *what);

#endif
