/*
 * Which algorithm and protocol NCCL takes for an operation, over how many channels, in which
 * chunks: its table of latencies and bandwidths (graph/tuning.cc), the least time by it, and what
 * enqueue.cc makes of that. Constants differ by release: docs/nccl.md, "Choice".
 */
#ifndef RS_NCCL_TUNE_H
#define RS_NCCL_TUNE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "nccl/plan.h"

enum rs_nccl_proto { RS_NCCL_LL, RS_NCCL_LL128, RS_NCCL_SIMPLE, RS_NCCL_PROTOS };

/* In NCCL's order. */
enum rs_nccl_func {
	RS_NCCL_BROADCAST,
	RS_NCCL_REDUCE,
	RS_NCCL_ALL_GATHER,
	RS_NCCL_REDUCE_SCATTER,
	RS_NCCL_ALL_REDUCE,
	RS_NCCL_FUNCS,
};

extern const char *const rs_nccl_func_names[];  /* "Broadcast", ... as the log has them; NULL */
extern const char *const rs_nccl_algo_names[];  /* "Tree", "Ring", "CollNetDirect", ... NULL */
extern const char *const rs_nccl_proto_names[]; /* "LL", "LL128", "Simple", NULL */

/* A line of a tuner plugin's file (NCCL's ext-tuner/example): the first that fits is taken. */
struct rs_nccl_tuner_row {
	enum rs_nccl_func func;
	uint64_t min_bytes, max_bytes;
	enum rs_nccl_algo algo;
	enum rs_nccl_proto proto;
	int channels, nodes, ranks; /* -1: NCCL's own number of channels; any */
	int pipe_ops, registered;   /* -1: any */
};
enum { RS_NCCL_TUNER_ROWS_MAX = 4096 };

/* What a user may say about the choice; all 0: nothing. */
struct rs_nccl_tune_conf {
	const char *algo, *proto; /* NCCL_ALGO, NCCL_PROTO; NULL or "": not set */
	int threads;              /* NCCL_NTHREADS */
	int ll128_threads;        /* NCCL_LL128_NTHREADS */
	int64_t net_overhead_ns;  /* NCCL_NET_OVERHEAD + 1; 0: by the CPU */
	int pat;                  /* NCCL_PAT_ENABLE + 1; 0: by the release */
	bool collnet;             /* a network with reduction in it, and NCCL_COLLNET_ENABLE */
	uint64_t buffer;          /* NCCL_BUFFSIZE; 0: 4 MiB */
	uint64_t nvls_chunk;      /* NCCL_NVLS_CHUNKSIZE, from 2.21; 0: 128 KiB */
	uint64_t nvls_tree_chunk; /* NCCL_NVLSTREE_MAX_CHUNKSIZE, from 2.20; 0: by nodes */
	const char *thresholds;   /* NCCL_THREAD_THRESHOLDS; NULL or "": not set */
	const struct rs_nccl_tuner_row *rows;
	size_t n_rows;
	bool aws;    /* the tuner of AWS's plugin, on a p5 */
	bool google; /* Google's, with its rules of A3 Mega, which are of NCCL_PROTO=Simple */
};

/* us and GB/s of the algorithm (bytes by time), in single precision as NCCL has them; bandwidth 0:
 * not to be taken. */
struct rs_nccl_table {
	float latency[RS_NCCL_FUNCS][RS_NCCL_ALGOS][RS_NCCL_PROTOS];
	float bandwidth[RS_NCCL_FUNCS][RS_NCCL_ALGOS][RS_NCCL_PROTOS];
	float ring[RS_NCCL_FUNCS][RS_NCCL_PROTOS]; /* to 2.23: taken when all else is struck out */
	int threads[RS_NCCL_ALGOS][RS_NCCL_PROTOS];
	int64_t threshold[RS_NCCL_ALGOS][RS_NCCL_PROTOS]; /* bytes a thread and channel */
	struct rs_nccl_tune_conf conf;
};

/* Fill a table for p. -EINVAL: a name in conf.algo or conf.proto that there is not (2.24 and later
 * refuse it; older releases pass over it, and so does this), or thresholds that are no numbers. */
int rs_nccl_tune(const struct rs_nccl_plan *p, const struct rs_nccl_tune_conf *conf,
		 struct rs_nccl_table *out, struct rs_error *e);

struct rs_nccl_choice {
	enum rs_nccl_algo algo;
	enum rs_nccl_proto proto;
	int channels; /* that carry something */
	int threads;  /* of a channel's block */
	double time;  /* us, by the table; 0: a tuner file's word */
	bool tuned;   /* by a row of the tuner's file */
	/* Bytes of the operation (a rank's send count, as enqueue.cc counts) that each channel has:
	 * the first, those between, the last. 0: as the first. */
	uint64_t lo, mid, hi;
	uint64_t step;  /* bytes of a step of a connection's buffer, flags and all */
	uint64_t chunk; /* data that a channel hands on at once; of a ring, chunk_steps steps */
	int chunk_steps, slice_steps;
};

/* The time by the table, us; < 0: not to be taken. bytes: the larger of what a rank sends and
 * receives. */
double rs_nccl_time(const struct rs_nccl_plan *p, const struct rs_nccl_table *t,
		    enum rs_nccl_func func, enum rs_nccl_algo a, enum rs_nccl_proto q,
		    uint64_t bytes);

/* The choice for bytes, the larger of what a rank sends and receives (all-gather, reduce-scatter:
 * n_ranks shares). type_bytes: of an element. -ENOENT: everything is struck out. */
int rs_nccl_choose(const struct rs_nccl_plan *p, const struct rs_nccl_table *t,
		   enum rs_nccl_func func, uint64_t bytes, unsigned type_bytes,
		   struct rs_nccl_choice *out, struct rs_error *e);

/* Read a tuner's file: text of n bytes, named in errors. Rows are taken from a. -EINVAL: a line
 * that is none, with its number and what was expected. */
int rs_nccl_tuner_read(const char *name, const char *text, size_t n, struct rs_arena *a,
		       struct rs_nccl_tuner_row **rows, size_t *n_rows, struct rs_error *e);
/* One row as a line of such a file, without its end: fits in RS_NCCL_TUNER_LINE_MAX. */
enum { RS_NCCL_TUNER_LINE_MAX = 160 };
void rs_nccl_tuner_line(const struct rs_nccl_tuner_row *r, char *line);

/* Has RCCL a table of times for the plan (its GPUs; several nodes, but for gfx90a)? And its hop
 * inside, or over the network (a tree's: a ring's is no time of a network), ns. */
bool rs_nccl_rccl_has_times(const struct rs_nccl_plan *p);
int64_t rs_nccl_rccl_hop(const struct rs_nccl_plan *p, enum rs_nccl_algo a, enum rs_nccl_proto q,
			 bool net);

#endif
