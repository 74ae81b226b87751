/*
 * Variants of one scenario side by side: all combinations of some axes (congestion control,
 * routing, transport, network, any path of the description), each with the same seeds, and of each
 * the same figures. A variant is a setting of the description, as those of --set and of a what-if
 * list are, and runs as these do: rs_sim_run_all().
 */
#ifndef RS_COMPARE_COMPARE_H
#define RS_COMPARE_COMPARE_H

#include <stdio.h>
#include "sim/sim.h"

enum rs_figure {
	RS_FIGURE_COMPLETION, /* ns: as the diagnosis judges jobs; of several the geometric mean */
	RS_FIGURE_MEDIAN,     /* ns: of flows' completion times; so are the two below */
	RS_FIGURE_TAIL,       /* 99th percentile */
	RS_FIGURE_SLOWEST,
	RS_FIGURE_GOODPUT,     /* bit/s of payload, per NIC that sends, until the last job's end */
	RS_FIGURE_QUEUE,       /* bytes: 99th percentile of queue peaks, see docs/compare.md */
	RS_FIGURE_QUEUE_MOST,  /* bytes */
	RS_FIGURE_PAUSES,      /* PFC frames that pause, of switches and NICs */
	RS_FIGURE_PAUSED,      /* ns, summed over ports and classes */
	RS_FIGURE_MARKS,       /* packets that ECN marked */
	RS_FIGURE_RESENT,      /* packets */
	RS_FIGURE_LOST,        /* packets dropped, and lost by links */
	RS_FIGURE_UTILISATION, /* share: mean over links between switches, else over NICs' links */
	RS_FIGURE_BUSIEST,     /* share: of the fullest of these links */
	RS_FIGURE_FAIRNESS,    /* Jain's index over flows' goodput */
	RS_FIGURE_RECOVERY,    /* ns: to 95 % of the rate, of the event that took longest */
	RS_FIGURE_CPU,         /* s, of one run; it differs from run to run */
	RS_FIGURES
};

struct rs_figure_info {
	const char *id;   /* in JSON and CSV, with the unit: "completion_ns" */
	const char *name; /* "completion" */
	const char *unit; /* "ns", "bit/s", "bytes", "share", "" (a count), "s" */
};
extern const struct rs_figure_info rs_figures[RS_FIGURES];

/* One place on an axis. */
struct rs_choice {
	const char *label;
	const struct rs_setting *set; /* n: 0 is as described */
	uint32_t n;
};

struct rs_axis {
	const char *name; /* "cc"; or the path that is varied */
	bool varied;      /* else of --over: choices that cannot be had are told, and no error */
	struct rs_choice *choice;
	uint32_t n;
};

/* A figure over seeds. */
struct rs_over_seeds {
	uint32_t n;             /* seeds that have it; 0: not known */
	double mean, low, high; /* 95 % interval (Student's t); equal with one seed. INFINITY: it
				 * never came with some seed */
};

struct rs_variant {
	const char *name;      /* "cc swift, routing spray" */
	struct rs_error error; /* code 0: it ran; else why it cannot be had */
	uint32_t n_seeds;      /* that were run */
	uint32_t ended;        /* of these, all jobs finished */
	double *run;           /* [seed][figure]; NAN: not known */
	struct rs_over_seeds of[RS_FIGURES];
	uint32_t rank;    /* from 1, by completion; 0: no seed ended, or it cannot be had */
	bool shared;      /* another has the same rank: chance may explain their difference */
	uint32_t same_as; /* the first variant that is equal in all but CPU, with all seeds; or
			   * itself */
	uint64_t *events; /* [seed] of the engine */
};

struct rs_comparison {
	const char *scenario;
	uint64_t seed;
	uint32_t n_seeds; /* asked for */
	uint32_t n_axes;
	struct rs_axis *axes;
	uint32_t n; /* the product of the axes; the last axis goes round fastest */
	struct rs_variant *variants;
	uint32_t *order; /* [n] by rank; those without one behind */
	bool stopped;    /* by sim.stop: some variants have fewer seeds, or none */
	unsigned threads;
	double wall_s, cpu_s;
	struct rs_arena *arena;
};

enum {
	RS_COMPARE_AXES = 8,
	RS_COMPARE_VARIANTS = 1 << 16,
	RS_COMPARE_SEEDS = 5,   /* where nothing is said, of at most this many variants: */
	RS_COMPARE_SEEDED = 100 /* of more 1 */
};

struct rs_compare_options {
	const char *file;
	const struct rs_setting *set; /* for every run */
	uint32_t n_set;
	const char *over;        /* "cc,routing"; NULL: none */
	const char *const *vary; /* "PATH=a,b,c" each; they outlive the comparison */
	uint32_t n_vary;
	struct rs_sim_options sim;
	unsigned threads; /* 0: one a core */
	uint32_t seeds;   /* 0: see RS_COMPARE_SEEDS */
	/* of all runs so many are done; of one thread at a time */
	void (*progress)(void *arg, uint32_t done, uint32_t all);
	void *progress_arg;
};

/*
 * f: o->file, loaded with o->set, for what is as described; only read. -EINVAL with e filled: an
 * axis or a value of --vary that cannot be; -E2BIG: too many variants; -ENOMEM.
 */
int rs_compare(const struct rs_fabric *f, const struct rs_compare_options *o,
	       struct rs_comparison **out, struct rs_error *e);
void rs_comparison_free(struct rs_comparison *c);
/* The place of variant v on axis a. */
const struct rs_choice *rs_variant_choice(const struct rs_comparison *c, uint32_t v, uint32_t a);
/* Why a value of --vary cannot be had, whatever is chosen beside it; NULL: each can. */
const struct rs_error *rs_comparison_impossible(const struct rs_comparison *c);
/* A figure that some variant has, and in which not all are 0. */
bool rs_figure_worth(const struct rs_comparison *c, enum rs_figure figure);
/* All of it (docs/schema/ripstop-compare-1.schema.json); a line a variant. -EIO, -ENOMEM. */
int rs_comparison_json(const struct rs_comparison *c, FILE *out);
int rs_comparison_csv(const struct rs_comparison *c, FILE *out);

#endif
