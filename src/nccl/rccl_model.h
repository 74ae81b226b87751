/* Private to nccl/: what RCCL's tables have of a machine. */
#ifndef RS_NCCL_RCCL_MODEL_H
#define RS_NCCL_RCCL_MODEL_H

#include "nccl/tune.h"

enum { NCCL_RCCL_FACTORS = 27, NCCL_RCCL_MI250S = 5 };
#define NCCL_RCCL_UNSET UINT64_MAX

/* Of trees and rings; LL, LL128, Simple. Factors by powers of two from 64 B, of rings over several
 * nodes alone. Ranges: bytes up to which LL is taken, then LL128 (per rank, but for all-reduce). */
struct nccl_rccl_model {
	float inside[2][RS_NCCL_PROTOS], net[2][RS_NCCL_PROTOS]; /* us a hop */
	float ratio[2][2][RS_NCCL_PROTOS];                       /* up to 2 nodes, more */
	float factor[2][RS_NCCL_PROTOS][NCCL_RCCL_FACTORS];
	uint64_t range[RS_NCCL_FUNCS][2];
};

/* 8 GCDs of a host with one CPU; 16 on one host; 8 with two CPUs; 8 with NICs of their own; 16
 * with NICs (its numbers of them, 0 to 4). */
extern const struct nccl_rccl_model nccl_rccl_mi250[NCCL_RCCL_MI250S];

#endif
