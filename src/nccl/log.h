/* NCCL's log (NCCL_DEBUG=INFO) as facts: release, ranks and their GPUs, variables; and the lines
 * that tell its plan, held against one of ours. */
#ifndef RS_NCCL_LOG_H
#define RS_NCCL_LOG_H

#include <stdio.h>
#include "nccl/lines.h"

enum { RS_NCCL_LOG_MAX = 64 << 20, RS_NCCL_LOG_VARS = 128, RS_NCCL_LOG_NICS = 64 };

struct rs_nccl_log_rank {
	const char *host; /* NULL: the log does not tell of this rank */
	int dev;          /* NVML's number, else CUDA's */
};
struct rs_nccl_log {
	uint32_t release; /* 0: not told */
	uint32_t n_ranks; /* of the largest communicator; 0: not told */
	uint32_t n_nodes; /* 0: not told */
	struct rs_nccl_log_rank *ranks;
	bool all_ranks; /* each rank's place is told */
	bool no_nvls;   /* says that there is no multicast */
	bool one_process;
	const char *net; /* "IB"; NULL */
	struct {
		const char *name; /* "mlx5_0"; NULL */
		bool no_gdr;
	} nics[RS_NCCL_LOG_NICS]; /* by their numbers */
	int n_vars;
	struct {
		const char *name, *value;
		int line;
	} vars[RS_NCCL_LOG_VARS];
};
/* -EINVAL: no line of NCCL's in it. */
int rs_nccl_log_read(const char *text, size_t n, const char *name, struct rs_arena *a,
		     struct rs_nccl_log **out, struct rs_error *e);

/* The host that the log draws, of the first process that does: GPUs of its job, its NICs.
 * -EINVAL: it draws none. */
int rs_nccl_host_drawn(const char *text, size_t n, const char *name, const struct rs_nccl_log *log,
		       uint32_t release, const struct rs_nccl_assume *assume, struct rs_arena *a,
		       struct rs_nccl_host **out, struct rs_error *e);

/* Of each kind of line: how many the log has, how many the plan has just so. */
struct rs_nccl_compared {
	uint32_t lines[RS_NCCL_LINES], same[RS_NCCL_LINES];
};
extern const char *const rs_nccl_line_names[]; /* "rings", ... */
/*
 * Lines of the communicator of as many ranks as the plan; parts of a line count each (a tree of a
 * channel). out: what differs, with its line; NULL: nothing is printed. -ENOMEM.
 */
int rs_nccl_compare(const struct rs_nccl_plan *p, const struct rs_nccl_print *how, const char *text,
		    size_t n, const char *name, FILE *out, struct rs_nccl_compared *c);

#endif
