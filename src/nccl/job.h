/* A job of a described fabric as NCCL meets it: its hosts' insides, its ranks' GPUs. */
#ifndef RS_NCCL_JOB_H
#define RS_NCCL_JOB_H

#include "fabric/fabric.h"
#include "nccl/topo.h"

/*
 * The plan of n_ranks ranks, rank i on the fabric's GPU gpu[i] (NULL: i). Tags of ranks are those
 * GPUs, of NICs the endpoints. searches: of plans beside it; NULL. The fabric and env outlive it.
 * -EINVAL: a host has no inside, no GPU.
 */
int rs_nccl_plan_fabric(const struct rs_fabric *f, const uint32_t *gpu, uint32_t n_ranks,
			const struct rs_nccl_env *env, const struct rs_nccl_assume *assume,
			struct rs_nccl_searches *searches, struct rs_arena *a,
			struct rs_nccl_plan **out, struct rs_error *e);
/* The endpoint of a NIC of a rank's node. */
uint32_t rs_nccl_endpoint(const struct rs_fabric *f, const struct rs_nccl_plan *p, uint32_t rank,
			  int net);

#endif
