/* Findings: what is wrong, why, what it costs, and the exact fix. */
#ifndef RS_AUDIT_RULES_FINDING_H
#define RS_AUDIT_RULES_FINDING_H

#include "audit/facts/audit.h"

struct rs_rule;

struct rs_finding_subject {
	const char *host, *part; /* part: "mlx5_2", "Ethernet8"; NULL: the whole host */
};
struct rs_finding_stage { /* one link of a chain, as TC > DSCP > priority > PFC > ... */
	const char *host, *stage, *value;
	enum rs_verdict verdict; /* the first FAIL is where it breaks; UNKNOWN: not seen */
};
struct rs_finding_fix {
	const char *on;             /* host or switch, or "all hosts of the job" */
	const char *command, *undo; /* undo NULL: there is none */
	const char *interrupts;     /* "link flap", "reboot"; NULL: nothing */
	bool persistent;
	bool yields;    /* any value would serve: another finding's fix of this variable is taken */
	uint8_t choice; /* fixes of one choice go together; another choice is an alternative */
};
struct rs_finding_need {
	const char *file, *why; /* the file or command that would tell, and what */
};
struct rs_price {
	bool priced;
	double low, high;    /* per cent of the metric, negative: lost */
	double as_is, fixed; /* the metric itself, in `unit` */
	const char *unit;    /* "GB/s" */
	const char *metric;  /* "all-reduce bandwidth" */
	const char *assumes; /* "ring, 256 MiB, 64 ranks"; not priced: why not */
};

enum {
	RS_FINDING_SUBJECTS = 64, /* more are counted in n_subjects, not listed */
	RS_FINDING_FACTS = 32,
	RS_FINDING_STAGES = 24,
	RS_FINDING_FIXES = 16,
	RS_FINDING_NEEDS = 8,
	RS_FINDING_EFFECTS = 16,
};

struct rs_finding {
	const struct rs_rule *rule;
	enum rs_verdict verdict;
	enum rs_severity severity; /* of a FAIL; of an UNKNOWN: what a FAIL would be */
	enum rs_confidence confidence;
	const char *title; /* one line: what is wrong, with the values */
	const char *why;   /* a sentence or two; NULL */
	uint32_t n_subjects, n_facts, n_stages, n_fixes, n_needs, n_effects;
	uint8_t n_choices; /* alternatives among the fixes */
	struct rs_finding_subject subject[RS_FINDING_SUBJECTS];
	const struct rs_fact *fact[RS_FINDING_FACTS];
	struct rs_finding_stage stage[RS_FINDING_STAGES];
	struct rs_finding_fix fix[RS_FINDING_FIXES];
	struct rs_finding_need need[RS_FINDING_NEEDS];
	struct rs_price price;
	/* filled by rs_audit_run(): findings that this one explains, and the one that explains it
	 */
	const struct rs_finding *effect[RS_FINDING_EFFECTS];
	const struct rs_finding *cause;
	const struct rs_fact *witness; /* the last fact that was looked up before it was made */
	uint32_t alike;                /* findings that became this one; 0: it is one */
	bool states_failure;           /* minor, and a text says that something failed */
	bool told;                     /* a person's sentence alone says it */
	bool root;                     /* nothing explains it */
	bool suppressed;
	const char *suppressed_why;
	uint32_t order; /* of making */
};

extern const char *const rs_verdict_names[], *const rs_severity_names[],
						     *const rs_confidence_names[];

#endif
