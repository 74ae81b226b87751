/* A training step as a graph of work: who computes, sends and gathers what, and after what. */
#ifndef RS_COLLECTIVE_TRAIN_H
#define RS_COLLECTIVE_TRAIN_H

#include "fabric/fabric.h"
#include "fabric/work.h"

/* What follows from a step's settings. */
struct rs_step_plan {
	uint32_t tp, pp, cp, ep, dp, chunks, microbatches;
	uint32_t expert_tp;        /* ranks that share an expert */
	double parameters, active; /* of the model; that a token meets */
	double tokens;             /* of a step */
	double flops;              /* of a step, forward and backward, without recomputation */
	double rate;               /* FLOP/s that a GPU achieves */
};

/* -EINVAL: degrees that do not divide ranks, layers or heads, with e filled. n: ranks. */
int rs_step_plan(const struct rs_train_conf *t, uint32_t n, struct rs_step_plan *out,
		 struct rs_error *e);
/* The graph. Ranks are in Megatron's order: tensor, context, data, pipeline; experts' groups are
 * neighbours among context and data, and among what expert_tp leaves of tensor. */
int rs_step_work(const struct rs_train_conf *t, uint32_t n, struct rs_arena *a,
		 struct rs_work **out, struct rs_error *e);

/* What a stage of a pipeline does, in order: forward or backward of a microbatch through one of its
 * chunks of layers. */
struct rs_turn {
	uint32_t microbatch, chunk;
	bool backward;
};
/* The i-th of 2 * microbatches * chunks turns. */
struct rs_turn rs_step_turn(enum rs_schedule s, uint32_t stages, uint32_t stage,
			    uint32_t microbatches, uint32_t chunks, uint32_t i);

#endif
