/*
 * All-reduce among the 8 GPUs of one host as RCCL runs it up to 16 MiB: MSCCL's all-pairs. Each
 * rank sends a share to each other one, adds up its own, and sends that to each other one. Sizes,
 * chunks and channels: RCCL's files allreduce-allpairs-8n (of 2.21).
 */
#include <errno.h>
#include "collective/nccl.h"

enum { RANKS = 8, PEERS = RANKS - 1 };

/* Steps of a lane, which has one peer to send to and one to take from: LATER of them wait for the
 * other lanes' shares, as many lanes a step as it can name. */
enum {
	SEND,
	TAKE,
	LATER,
	SPREAD = LATER + (PEERS + RS_STEP_FAN - 1) / RS_STEP_FAN,
	GATHER,
	STEPS,
};

/* The largest operation of LL's first file, of LL, and of all; chunks that a count is a multiple
 * of. */
#define FEW_MOST    UINT64_C(65536)
#define LL_MOST     UINT64_C(524287)
#define SIMPLE_MOST UINT64_C(16777216)
enum { FEW_CHUNKS = 256, CHUNKS = 512, FEW_CHANNELS = 4, CHANNELS = 8 };
/* Bytes a second to one peer, by all channels. */
#define LL_RATE     INT64_C(17300000000)
#define SIMPLE_RATE INT64_C(32000000000)

/* Before 2.21 MSCCL ran where each GPU had a process of its own alone (RCCL's changes of 2.21.5;
 * mscclCommCompatible() of 2.20.5). */
static bool msccl_runs(const struct rs_coll *c, const struct nccl_run *r)
{
	return r->p->release >= RS_NCCL_RELEASE(2, 21, 0) || c->conf.nccl.gpus_per_thread <= 1;
}

bool nccl_takes_pairs(const struct rs_coll *c, const struct nccl_run *r)
{
	uint64_t bytes = nccl_bytes(&c->conf), chunks = bytes <= FEW_MOST ? FEW_CHUNKS : CHUNKS;

	if (!r->p->rccl || r->p->gfx < 942 || r->p->n_nodes > 1 || c->n_ranks != RANKS ||
	    !msccl_runs(c, r) || c->conf.op != RS_COLL_ALL_REDUCE || bytes > SIMPLE_MOST)
		return false;
	if ((r->tune.algo && *r->tune.algo) || (r->tune.proto && *r->tune.proto))
		return false;
	return bytes % (chunks * c->conf.type_bytes) == 0;
}

void nccl_choose_pairs(const struct rs_coll *c, struct nccl_run *r)
{
	uint64_t bytes = nccl_bytes(&c->conf);

	r->pairs = true;
	r->choice.algo = RS_NCCL_ALGO_RING; /* its graph is the same NVLinks */
	r->choice.proto = bytes <= LL_MOST ? RS_NCCL_LL : RS_NCCL_SIMPLE;
	r->choice.channels = bytes <= FEW_MOST ? FEW_CHANNELS : CHANNELS;
}

static uint64_t n_steps(const struct rs_coll *c, uint32_t rank, uint32_t lane)
{
	(void)c, (void)rank, (void)lane;
	return STEPS;
}

static uint64_t conn_of(uint32_t src, uint32_t lane)
{
	return (uint64_t)src * PEERS + lane;
}

static void step(const struct rs_coll *c, uint32_t rank, uint32_t lane, uint64_t i,
		 struct rs_step *out)
{
	const struct piece *all = c->plan;
	uint32_t to = (rank + lane + 1) % RANKS, from = (rank + RANKS - lane - 1) % RANKS;
	int64_t rate = c->nccl->choice.proto == RS_NCCL_LL ? LL_RATE : SIMPLE_RATE;

	*out = (struct rs_step){0};
	if (i == SEND || i == SPREAD) {
		step_send(c, out, conn_of(rank, lane),
			  piece_part(*all, RANKS, i == SEND ? to : rank));
		out->compute = nccl_time_of(out->local, rate);
	} else if (i == TAKE || i == GATHER) {
		step_recv(c, out, conn_of(from, lane),
			  piece_part(*all, RANKS, i == TAKE ? rank : from), i == TAKE);
	} else {
		for (uint32_t k = 0; k < RS_STEP_FAN; k++) {
			uint32_t other = (uint32_t)(i - LATER) * RS_STEP_FAN + k;

			if (other < PEERS && other != lane)
				step_wait(out, other, LATER);
		}
	}
}

int plan_nccl_pairs(struct planner *p, struct nccl_run *run)
{
	struct rs_coll *c = p->c;
	struct piece *all = plan_take(p, 1, sizeof(*all));
	int err = all ? plan_conns(p, (uint64_t)RANKS * PEERS) : -ENOMEM;

	if (err)
		return err;
	*all = p->all;
	for (uint32_t rank = 0; rank < RANKS; rank++)
		for (uint32_t lane = 0; lane < PEERS; lane++)
			run_connect(p, run, conn_of(rank, lane), rank, (rank + lane + 1) % RANKS,
				    0);
	c->plan = all;
	c->n_lanes = PEERS;
	run->own_time = true;
	run->n_steps = n_steps;
	run->step = step;
	return 0;
}
