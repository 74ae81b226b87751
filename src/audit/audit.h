/*
 * An audit: carriers of facts are read (reader.h), rules judge the facts (rule.h), findings say
 * what is wrong, why, what it costs and the exact fix. Deterministic: the same inputs, the same
 * findings.
 */
#ifndef RS_AUDIT_AUDIT_H
#define RS_AUDIT_AUDIT_H

#include <stdbool.h>
#include <stdint.h>
#include "audit/facts.h"
#include "base/arena.h"
#include "base/error.h"

enum rs_verdict { RS_PASS, RS_FAIL, RS_UNKNOWN, RS_NA };
enum rs_severity { RS_INFO, RS_MINOR, RS_MAJOR, RS_CRITICAL };
enum rs_confidence { RS_LOW, RS_MEDIUM, RS_HIGH };

struct rs_rule;
struct rs_profile;

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
	bool suppressed;
	const char *suppressed_why;
	uint32_t order; /* of making */
};

struct rs_input_file { /* something that was read, or not */
	const char *host, *path;
	const char *reader; /* NULL: nothing recognised it */
	uint32_t facts;
};

struct rs_audit {
	struct rs_arena *arena;
	struct rs_facts *facts;
	uint32_t n_findings, room;
	struct rs_finding **findings; /* rs_audit_run() sorts them: causes first, then by price,
				       * severity, id */
	uint32_t n_files, files_room;
	struct rs_input_file *files;
	struct rs_profile *profile; /* profile.h; NULL: none */
	const char **jobs;          /* hosts that are no machine, but a job's environment: nccl.c */
	uint32_t n_jobs;
	int err; /* the first failure inside a reader or a rule: memory */
	struct rs_audit_settings {
		double pause_note, pause_fail; /* C04: share of time */
		double cable_m;                /* S03, R08 where nothing says */
		double p2p_rtt_us;             /* P03 */
		double fec_warn_ber;           /* L02 */
		double fec_warn_bin;           /* L02: symbols corrected in one codeword */
		double flaps_per_day;          /* C07 */
		double idle_us;                /* H01: exit latency of an idle state */
		bool lossless; /* the site means its RoCE class to be lossless; default true */
	} set;
};

int rs_audit_create(struct rs_audit **a);
void rs_audit_destroy(struct rs_audit *a);

/*
 * Reads a file, a directory or an archive. host: whose it is; NULL: found from the path (a
 * directory a host when a directory holds several). age: 1 for the older snapshot of --since.
 * -EINVAL with e filled: not there, a hostile archive, over a limit. A file that no
 * reader recognises is listed in files.
 */
int rs_audit_read(struct rs_audit *a, const char *path, const char *host, uint8_t age,
		  struct rs_error *e);
/* Reads this host: sysfs, procfs, PCI configuration space, netlink. Nothing is written. */
int rs_audit_read_live(struct rs_audit *a, struct rs_error *e);
/* Reads a text as if it were the file `path` of a host, read now; host NULL: this host. */
int rs_audit_read_text(struct rs_audit *a, const char *host, const char *path, const char *text,
		       struct rs_error *e);

/* Applies the rules (only those listed; NULL: all; skip wins) and puts the findings in order. */
int rs_audit_run(struct rs_audit *a, const char *const *only, const char *const *skip,
		 struct rs_error *e);

/* Puts the findings in order again, after their prices were found. */
void rs_audit_sort(struct rs_audit *a);

/* Of the findings not suppressed: 0, 1 (FAIL of major or worse), 3 (UNKNOWN of a critical rule, or
 * no fact at all). */
int rs_audit_status(const struct rs_audit *a, bool strict, bool allow_unknown);

#endif
