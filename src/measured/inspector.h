/*
 * The log of NCCL's Inspector (plugins/profiler/inspector of NCCL 2.28 and later): a JSON object a
 * line, for each collective or message that a process of a job has finished. inspector_json.cc
 * writes it (format v4.0).
 */
#ifndef RS_MEASURED_INSPECTOR_H
#define RS_MEASURED_INSPECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/error.h"

enum { RS_INSPECTED_MAX = 1 << 22, RS_INSPECTOR_LINE_MAX = 1 << 20 };

enum rs_inspected_op {
	RS_INSPECTED_ALL_REDUCE,
	RS_INSPECTED_ALL_GATHER,
	RS_INSPECTED_REDUCE_SCATTER,
	RS_INSPECTED_BROADCAST,
	RS_INSPECTED_REDUCE,
	RS_INSPECTED_ALL_TO_ALL,
	RS_INSPECTED_SEND,
	RS_INSPECTED_RECV,
	RS_INSPECTED_OTHER, /* scatter, gather and what comes later */
	RS_INSPECTED_OPS
};
/* As nccl-tests name them: "all_reduce"; NULL of the last one. */
extern const char *const rs_inspected_ops[RS_INSPECTED_OPS];

struct rs_inspected {
	uint64_t comm;    /* the communicator's hash */
	uint32_t process; /* of rs_inspector.process */
	uint32_t rank, n_ranks, n_hosts;
	uint32_t peer;  /* send, receive: a rank of the communicator */
	uint8_t op;     /* enum rs_inspected_op */
	bool gpu_clock; /* timed by the GPU: kernel_gpu */
	uint64_t sn;    /* counted for each communicator and operation; of messages for each rank */
	uint64_t bytes; /* the count that the program gave NCCL, in bytes */
	uint64_t us;    /* of the kernel at this rank, which waits for later ranks in it, too */
	/* verbose logs: the first channel's begin and the last one's end, by the host's clock; else
	 * 0 */
	uint64_t start_us, stop_us;
	int line;
};

struct rs_inspected_process {
	const char *host;
	uint64_t pid;
};

/* What was read; begins as zeros, and ends with rs_inspector_free(). */
struct rs_inspector {
	struct rs_inspected *record;
	uint32_t n, room;
	struct rs_inspected_process *process;
	uint32_t n_processes, room_processes;
};

/* Is the text, or a beginning of it, such a log? */
bool rs_inspector_is(const char *text, size_t n);
/*
 * Adds the records of n bytes of text; names go to the arena. A last line without an end may be
 * cut, and is left out then. -EINVAL with the line: no such record; -E2BIG, -ENOMEM.
 */
int rs_inspector_read(struct rs_inspector *x, const char *text, size_t n, const char *name,
		      struct rs_arena *a, struct rs_error *e);
void rs_inspector_free(struct rs_inspector *x);

/* The size as nccl-tests counts it: of the larger of a rank's two buffers. */
uint64_t rs_inspected_bytes(const struct rs_inspected *r);

#endif
