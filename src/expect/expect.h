/*
 * What perftest and nccl-tests should reach on hosts that were read: simulated on the description
 * that prices use (audit/price). What was not read is assumed, told and swept.
 */
#ifndef RS_EXPECT_EXPECT_H
#define RS_EXPECT_EXPECT_H

#include <stdbool.h>
#include <stdint.h>
#include "audit/facts/audit.h"
#include "base/arena.h"
#include "base/error.h"
#include "fabric/fabric.h"
#include "measured/measured.h"

enum {
	RS_EXPECT_HOSTS_MAX = 64, /* that take part in a collective */
	RS_EXPECT_SIZES = 32,
	RS_EXPECT_OPS = 8,
	RS_EXPECT_FIGURES = 512,
	RS_EXPECT_UNKNOWNS = 24,
};

enum rs_expect_test {
	RS_EXPECT_STREAM,  /* ib_write_bw, ib_send_bw: one way, one queue pair */
	RS_EXPECT_BOTH,    /* the same with -b */
	RS_EXPECT_READ,    /* ib_read_bw */
	RS_EXPECT_MESSAGE, /* ib_write_lat, ib_send_lat */
	RS_EXPECT_COLLECTIVE,
};

struct rs_expect_options {
	bool perftest, nccl;
	bool no_figures;                   /* the hosts alone: for rs_expect_compare() */
	uint32_t n_sizes, n_ops, hosts;    /* 0: the defaults; hosts: of the larger collectives */
	uint64_t size[RS_EXPECT_SIZES];    /* ascending */
	enum rs_coll_op op[RS_EXPECT_OPS]; /* of collectives */
	const char *nic;                   /* "mlx5_0", or "mlx5_0,mlx5_3": of either host; NULL */
	uint32_t n_given;                  /* KEY=VALUE: what is known and was not read */
	const char *const *given;
	unsigned threads; /* 0: one a core */
	void (*progress)(void *arg, double share);
	void *arg;
};

/* What was not read: assumed, and swept between low and high. */
struct rs_expect_unknown {
	const char *key, *what;
	const char *value, *low, *high; /* as words; low NULL: not swept */
	double perftest, nccl; /* the most that a figure moves, a share; 0: by less than 1 % */
};

struct rs_expect_figure {
	enum rs_expect_test test;
	enum rs_coll_op op; /* of a collective, and on so many hosts */
	uint32_t hosts, ranks;
	uint64_t bytes;
	double us, fast, slow; /* of a message, an operation; fast and slow: of the range */
	/* Gb/s (streams), us (messages), GB/s of busbw; low and high: of the range, with the
	 * model's own error */
	double value, low, high;
	const char *limit; /* what holds it back; "" where nothing alone does */
	bool line;         /* of two smaller sizes that were simulated */
};

struct rs_expect_host {
	const char *name;
	const char *nic; /* of perftest; NULL */
	uint32_t nics, gpus;
	bool twin; /* was not read: a copy of the first */
};

struct rs_expect {
	struct rs_arena *arena;
	struct rs_audit *audit; /* borrowed */
	uint32_t n_hosts;
	struct rs_expect_host *host;
	uint32_t n_figures, n_unknowns;
	struct rs_expect_figure figure[RS_EXPECT_FIGURES];
	struct rs_expect_unknown unknown[RS_EXPECT_UNKNOWNS];
	uint32_t runs; /* simulations that were made */
	/* What is not expected, since too little is known: why, and the command to run next; NULL:
	 * it is. */
	const char *no_perftest, *no_nccl, *next;
	struct expect_world *world;
};

/*
 * After all was read; rs_audit_run() need not have been called. Figures are empty where nothing can
 * be told (no_perftest, no_nccl, next say why). -EINVAL: --nic, --given or a size that is none;
 * -ENOMEM. Freed by rs_expect_destroy(), before the audit.
 */
int rs_expect(struct rs_audit *a, const struct rs_expect_options *o, struct rs_expect **out,
	      struct rs_error *e);
void rs_expect_destroy(struct rs_expect *x);

/* ---- Beside a measurement ---- */

enum { RS_EXPECT_ROWS = 16, RS_EXPECT_CAUSES = 96, RS_EXPECT_REST = 8 };

struct rs_expect_row {
	struct rs_expect_figure f; /* expected */
	double measured;           /* in its unit */
	double us;
	bool met;  /* inside the range, or better */
	bool over; /* better than the range */
};

/* A change of what was read that may explain the measurement: simulated. */
struct rs_expect_cause {
	const char *what;
	const char *check; /* that found it: "P01"; NULL */
	const char *look;  /* what shows it on the machine; NULL */
	bool unknown;      /* something that was not read, not a fault */
	bool found;        /* the audit, the log or the description says it */
	bool is;           /* found, and part of the hosts as they were read */
	double gain;       /* is: how much more the longest size reaches once it is mended */
	double apart;      /* mean of |ln(simulated / measured)| over the sizes that were tried */
};

struct rs_expect_measured {
	const char *file;
	uint32_t n_rows, n_causes;
	struct rs_expect_row row[RS_EXPECT_ROWS];
	struct rs_expect_cause cause[RS_EXPECT_CAUSES]; /* the nearest first */
	uint32_t n_alike;     /* of them: those that explain it, and cannot be told apart */
	uint32_t below, over; /* rows */
	double apart;         /* of the hosts as they were read, over the same sizes */
	uint32_t n_is;        /* causes that are part of the hosts as they were read */
	double mended; /* without all of those: apart, over the same sizes; 0: there are none */
	double mended_value; /* and the longest size, in its unit */
	uint32_t n_rest;     /* found, of major or worse, and not simulated */
	const char *rest[RS_EXPECT_REST];
	const char *why_not; /* it is not compared; NULL: it is */
	const char *release; /* of NCCL, as the log tells it; NULL: it does not */
	/* The log's own word for what is not simulated, "NCCL used TCP sockets": it explains the
	 * difference before all else; NULL: none. */
	const char *says;
	/* All sizes are in their range, and yet far below: a fault explains them, or they are below
	 * half of what is expected. */
	bool doubtful;
	uint32_t zero; /* rows with a rate of 0: they failed */
};

/* Tables of perftest and nccl-tests, as measured/ reads them, beside x's hosts. name is borrowed.
 * log: what audit/read makes of the same file; NULL: nothing. x's audit and log are judged where
 * they were not. -ENOMEM; a table that does not fit these hosts is no error: why_not. */
int rs_expect_compare(struct rs_expect *x, const struct rs_expect_options *o,
		      const struct rs_measured *m, struct rs_audit *log, const char *name,
		      struct rs_expect_measured **out, struct rs_error *e);

const char *rs_expect_test_name(const struct rs_expect_figure *f); /* "ib_write_bw", "all_reduce" */
const char *rs_expect_unit(const struct rs_expect_figure *f);      /* "Gb/s", "us", "GB/s" */

#endif
