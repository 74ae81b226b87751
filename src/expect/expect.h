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
	RS_EXPECT_MESSAGE, /* ib_write_lat, ib_send_lat */
	RS_EXPECT_COLLECTIVE,
};

struct rs_expect_options {
	bool perftest, nccl;
	bool tests_asked;                  /* by name: what cannot be told is an error */
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

const char *rs_expect_test_name(const struct rs_expect_figure *f); /* "ib_write_bw", "all_reduce" */
const char *rs_expect_unit(const struct rs_expect_figure *f);      /* "Gb/s", "us", "GB/s" */

#endif
