/*
 * What holds a run back: the scenario as described, the same with one thing made ideal at a time,
 * with each fix, with each job alone; over several seeds, so that chance is told from cause. Causes
 * come from such runs; counters say where and why.
 */
#ifndef RS_DIAGNOSE_DIAGNOSE_H
#define RS_DIAGNOSE_DIAGNOSE_H

#include <stdio.h>
#include "sim/sim.h"

enum rs_case_kind {
	RS_CASE_BASE,           /* as described */
	RS_CASE_COUNTERFACTUAL, /* one thing made ideal */
	RS_CASE_WITHOUT,        /* some jobs left out */
	RS_CASE_IDEAL,          /* everything ideal */
	RS_CASE_FIX,            /* a change that can be made: the author's or the tool's */
};

enum { RS_TOGETHER_MAX = 4 }; /* things that are told to act together */

struct rs_case_info {
	enum rs_case_kind kind;
	const char *id;    /* of a counterfactual: "pauses"; else NULL */
	const char *name;  /* "pauses (PFC)", "NIC on the right socket" */
	const char *how;   /* what the run changed, for people; NULL for the author's fixes */
	const char *cures; /* of the tool's own fixes: ids of causes, with spaces between */
	const char *where; /* of a repair: the links or switches that it mends; else NULL */
	/* of several made ideal together (id "together"): the cases of each alone, and of all but
	 * each */
	uint32_t n_of, of[RS_TOGETHER_MAX], rest[RS_TOGETHER_MAX];
	const struct rs_change *change; /* what the fabric of a fix differs by; NULL: not told */
	bool mends;                     /* of several together: some of them are fixes */
	bool general; /* of the tool's own fixes: it points at nothing; one that does comes first */
	bool far_off; /* ... but what it mends is far from usual */
	bool owns_fabric;
	struct rs_fabric *fabric;
	uint32_t n_seeds; /* that were run: as many rows of times */
	rs_time *times;   /* [seed][job]; RS_NEVER: did not finish, or left out */
};

enum { RS_CAUSES_MAX = 16, RS_EVIDENCE_MAX = 6, RS_SEEDS_MAX = 32, RS_NOT_TOLD_MAX = 3 };

/* What the runs do not tell from chance, and which run would. */
struct rs_not_told {
	char what[240], run[200];
};

/* Something that time is lost to, specific enough to act on. */
struct rs_cause {
	const char *id;  /* "drops.lossy-class": docs/causes.md lists them */
	char what[320];  /* a sentence for people, without its full stop */
	char place[160]; /* names as `fabric show` prints them; "" where it is everywhere */
	char evidence[RS_EVIDENCE_MAX][200];
	uint32_t n_evidence;
	uint32_t run;     /* the case that made it ideal */
	uint32_t after;   /* the case without it in which what hides it is ideal; 0: nothing does */
	uint32_t n_parts; /* of "together": what acts together */
	struct rs_cause_part {
		const char *id;
		char place[80];
	} parts[RS_TOGETHER_MAX];
	int fix;     /* the case that mends it; -1: none was tried */
	double gain; /* share of the time that goes when it is made ideal; see rs_case_gain(). Of
		      * one that others hide: beyond what those save */
	double low, high; /* 95 % interval of gain over seeds; equal to it with one seed */
};

struct rs_diagnosis {
	const char *scenario;
	uint64_t seed;
	unsigned threads;
	bool whole;       /* counterfactuals and fixes were run */
	bool seeds_cut;   /* fewer seeds than wished: the run is long */
	uint32_t n_seeds; /* that base was run with */
	uint32_t n;       /* cases[0] is the scenario as described */
	struct rs_sim_case *cases;
	struct rs_case_info *info;
	/* what causes are read from: the run as described of the first seed, or of one that took
	 * clearly longer, which the diagnosis then owns */
	const struct rs_sim_result *seen;
	uint64_t seen_seed;
	struct rs_sim_result *watched; /* the same run, observed: when things happened; NULL: it is
					* long, or nothing did */
	bool no_queues;                /* no packet stood behind another in the run as described */
	uint32_t n_causes;
	struct rs_cause causes[RS_CAUSES_MAX]; /* what costs most comes first */
	uint32_t n_not_told;
	struct rs_not_told not_told[RS_NOT_TOLD_MAX];
	double wall_s, cpu_s;
	struct rs_nccl_searches *searches; /* of all its runs */
	struct rs_arena *arena;            /* names that the diagnosis made */
};

struct rs_diagnose_options {
	const char *file;
	const struct rs_setting *set; /* settings that hold for every run */
	uint32_t n_set;
	/* The fabric anew with these settings, which begin with those above; NULL: from the file */
	int (*load)(void *arg, const struct rs_setting *all, uint32_t n, struct rs_fabric **out,
		    struct rs_error *e);
	void *load_arg;
	struct rs_sim_options sim;
	unsigned threads; /* 0: one a core */
	uint32_t seeds;   /* 0: five where they are cheap, else one */
	bool base_only;   /* the scenario alone */
};

/*
 * Runs f, which was loaded from o->file with o->set, and what is to be run beside it. f is only
 * read and outlives the diagnosis. Negative errno with e filled; errors of single runs are in their
 * cases.
 */
int rs_diagnose(struct rs_fabric *f, const struct rs_diagnose_options *o, struct rs_diagnosis **out,
		struct rs_error *e);
/*
 * A diagnosis of one run that something else has made: nothing is run beside it. f is only read and
 * outlives it. It owns r from now on, also where it fails. -ENOMEM.
 */
int rs_diagnosis_of(const struct rs_fabric *f, const char *scenario, uint64_t seed,
		    struct rs_sim_result *r, struct rs_diagnosis **out);
void rs_diagnosis_free(struct rs_diagnosis *d);
/* "h3 -> h5 #0 of all-reduce": a connection that was followed, for people. */
void rs_series_flow_name(const struct rs_diagnosis *d, const struct rs_series_flow *f, char *name,
			 size_t size);
/* All of it as JSON (docs/schema/ripstop-sim-2.schema.json). peak_rss: bytes that the process took
 * at most. -EIO, -ENOMEM. */
int rs_diagnosis_json(const struct rs_diagnosis *d, uint64_t peak_rss, FILE *out);

/* Student's t, two-sided 95 %, by degrees of freedom, from 1. */
double rs_student(uint32_t freedom);
/* Its requests or flows come at times of their own, so that those decide when the last one ends. */
bool rs_job_arrives(const struct rs_job *j);
/* What a job is judged by: a step, a further repetition of a collective, flows from the first one's
 * start to the last one's end; of one that arrives the mean time to first token, or of a flow.
 * RS_NEVER when it did not finish or was left out. */
rs_time rs_job_time(const struct rs_sim_result *r, uint32_t job);
/* The same, of one that arrives from the first to the last: what its bytes are divided by. */
rs_time rs_job_span(const struct rs_sim_result *r, uint32_t job);
/* The mean of a job's times over the seeds of a case; RS_NEVER when it did not finish with one. */
rs_time rs_case_job_time(const struct rs_diagnosis *d, uint32_t i, uint32_t job);
/* The times of all jobs of the first seed, added. RS_NEVER when one did not finish. */
rs_time rs_case_time(const struct rs_diagnosis *d, uint32_t i);

/* How case i compares with the scenario as described, seed by seed. */
struct rs_gain {
	bool ends;      /* all jobs that run in it finish */
	bool base_ends; /* they do as described, too */
	bool clear;     /* larger than chance over the seeds explains, or one seed was run */
	double gain;    /* share of the time that it saves: with several jobs, by the geometric mean
			 * of their times, so that a short job counts as much as a long one; jobs
			 * left out count as unchanged */
	double low, high; /* 95 % interval (Student's t) over seeds */
};
struct rs_gain rs_case_gain(const struct rs_diagnosis *d, uint32_t i);

/* The same, of the time of another case in place of the scenario as described. */
struct rs_gain rs_case_gain_over(const struct rs_diagnosis *d, uint32_t i, uint32_t over);
/* The same of one job's time alone. */
struct rs_gain rs_case_gain_of_job(const struct rs_diagnosis *d, uint32_t i, uint32_t job);
/* The share of a job's own mean time that case i saves; negative: it is slower; NAN: not known. */
double rs_case_job_gain(const struct rs_diagnosis *d, uint32_t i, uint32_t job);
/* The share of its time that a job loses by a cause; where others hide it, of what those leave. */
double rs_cause_job_share(const struct rs_diagnosis *d, const struct rs_cause *c, uint32_t job);

/* The least time of a job in any run that asks of the network what the scenario asks: with
 * everything ideal, if that is a bound. *by: which case. */
rs_time rs_least_time(const struct rs_diagnosis *d, uint32_t job, uint32_t *by);

/* Side effects of a run, to judge what doing without a brake costs. */
struct rs_effects {
	uint64_t max_queue, pauses, drops;
	double fairness; /* Jain's index over flows' goodput; 1: all alike; 0: no flows */
};
struct rs_effects rs_case_effects(const struct rs_sim_result *r);

#endif
