/*
 * One run shared by several processes, on one machine or many: each builds the whole fabric and
 * runs a part of its nodes. Who brings the processes together (Open MPI, through the program's
 * plug-in) fills this in. Results are those of one process, bit for bit, in every process.
 */
#ifndef RS_SIM_RANKS_H
#define RS_SIM_RANKS_H

#include <stddef.h>
#include <stdint.h>

enum { RS_RANKS_MAX = 64 };

enum rs_ranks_op { RS_RANKS_SUM, RS_RANKS_MIN, RS_RANKS_MAX_OF };

struct rs_ranks {
	uint32_t n, me; /* at most RS_RANKS_MAX; 0..n-1 */
	void *ctx;
	/*
	 * Sends out[r] to each rank r and receives from each; entries of `me` are left alone. in[r]
	 * stay valid until the next call. Collective. 0, or a negative errno.
	 */
	int (*exchange)(void *ctx, const void *const out[], const size_t out_bytes[],
			const void *in[], size_t in_bytes[]);
	/* v[i] of all ranks combined, in place, in all. Collective. 0, or a negative errno. */
	int (*reduce)(void *ctx, enum rs_ranks_op op, int64_t *v, size_t n);
};

#endif
