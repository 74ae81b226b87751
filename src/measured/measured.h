/*
 * What was measured on a real cluster, to be put beside a prediction: tables that nccl-tests and
 * perftest print, logs of NCCL's Inspector, and where two curves over sizes part. No run is made
 * here.
 */
#ifndef RS_MEASURED_MEASURED_H
#define RS_MEASURED_MEASURED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/error.h"

enum { RS_MEASURED_ROWS_MAX = 1024 };

enum rs_measured_kind {
	RS_MEASURED_NCCL,      /* nccl-tests, rccl-tests: an operation's time */
	RS_MEASURED_BANDWIDTH, /* perftest *_bw: a stream of messages; time is a message's share */
	RS_MEASURED_LATENCY,   /* perftest *_lat: a message's time, one way */
};

struct rs_measured_row {
	uint64_t bytes; /* of the operation as nccl-tests counts it; of a message */
	double us;
	double busbw; /* nccl-tests: GB/s as printed; Inspector: from bytes and time; else 0 */
	int line;
};

struct rs_measured {
	enum rs_measured_kind kind;
	const char *op;      /* as nccl-tests names it: "all_reduce"; NULL: the log does not say */
	const char *release; /* "2.26.2": of NCCL; NULL: the log does not say */
	uint32_t n_ranks;    /* lines "Rank  N"; 0: the log has none */
	uint32_t n_hosts;    /* that these lines name; 0: none */
	uint32_t per_thread; /* GPUs whose kernels a thread starts (nGpus); 0: it does not say */
	uint32_t operations; /* NCCL's Inspector: those that the rows are medians of; else 0 */
	/* perftest's own head: 0, NULL and false where it does not say */
	bool read, atomic;        /* RDMA_Read or Atomic; Atomic */
	bool both;                /* both ways at once (-b): its rate is of both */
	uint32_t qps, mtu, reads; /* reads: READs and atomics of a queue pair under way (-o) */
	const char *device;       /* "mlx5_0" */
	const char *link;         /* "IB", "Ethernet" */
	uint32_t n_rows;
	struct rs_measured_row *rows; /* sizes rise */
	uint32_t zero;                /* rows of a message of 4 KiB or more that have a rate of 0 */
};

/*
 * The table in the n bytes of text: nccl-tests' out-of-place columns, or perftest's; or what a log
 * of NCCL's Inspector comes to (inspector.h): of one kind of collective over the communicators of
 * most ranks, for each size the median of the operations' times. An operation's time is the least
 * of its ranks', as the others waited for the last one. Lines may
 * begin with what a launcher adds ("0: ", "[1,0]<stdout>:"), or have it between two columns. Rows
 * of 0 bytes are passed over. op: which test of several ("all_reduce", "all-reduce") is read; NULL,
 * or none of it there: the only one. -EINVAL with line and column: no table, several tables (give
 * one), a row that does not read, a size twice, bandwidth without its unit; -ENXIO: all rows
 * have a rate of 0, so the run failed; -E2BIG, -ENOMEM. A rate that perftest prints as 0.00 is of
 * no row: of small messages it was rounded, of larger ones the run failed (zero). name
 * is used in errors. All memory is a's.
 */
int rs_measured_read(const char *text, size_t n, const char *name, const char *op,
		     struct rs_arena *a, struct rs_measured **out, struct rs_error *e);

/* ---- Two curves ---- */

/* Where a size lies on the measured curve: its time hardly depends on the size; its rate hardly
 * does; neither. */
enum rs_measured_part { RS_PART_LATENCY, RS_PART_MIDDLE, RS_PART_RATE, RS_PARTS };
extern const char *const rs_measured_parts[]; /* "latency", "middle", "rate", NULL */

/* The latency part has times of at most twice the least time; the rate part has rates of at least
 * three quarters of the greatest. Where both hold (one size alone), it is the rate's. */
enum rs_measured_part rs_measured_part_of(const struct rs_measured *m, uint32_t row);

struct rs_measured_fit {
	uint32_t n[RS_PARTS];
	double error[RS_PARTS]; /* median of predicted / measured - 1; 0 where n is 0 */
	double apart;           /* mean over rows of |ln(predicted / measured)| */
	int first;              /* the first row that is off by more than a tenth; -1: none */
};
/* predicted: us of each row; 0: not run, and not counted. */
void rs_measured_compare(const struct rs_measured *m, const double *predicted,
			 struct rs_measured_fit *out);

/* One row of each part that has rows, in its middle: where changes are tried. Returns how many. */
uint32_t rs_measured_probes(const struct rs_measured *m, uint32_t probe[RS_PARTS]);

#endif
