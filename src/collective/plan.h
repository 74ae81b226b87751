/*
 * Private to collective/: how a buffer is cut into pieces, and what the algorithms' files offer to
 * the planner. Counts are in elements until a step is filled in.
 */
#ifndef RS_COLLECTIVE_PLAN_H
#define RS_COLLECTIVE_PLAN_H

#include "collective/collective.h"

enum {
	COLL_CHANNELS_MAX = 64,
	COLL_CONNS_MAX = 8 << 20,
	COLL_RANKS_MAX = 1 << 20,
	COLL_CHUNK_MAX = 1 << 30, /* a message's length is a 32-bit number */
};

struct piece {
	uint64_t at, n;
};

/* Part i of n parts of p, all alike but for one element: the first ones have it. */
static inline struct piece piece_part(struct piece p, uint64_t n, uint64_t i)
{
	uint64_t each = p.n / n, more = p.n % n;

	return (struct piece){p.at + i * each + (i < more ? i : more), each + (i < more)};
}

/* The k-th piece of at most n elements of p; empty past its end. */
static inline struct piece piece_chunk(struct piece p, uint64_t n, uint64_t k)
{
	uint64_t at = k * n;

	if (at >= p.n)
		return (struct piece){p.at + p.n, 0};
	return (struct piece){p.at + at, p.n - at < n ? p.n - at : n};
}

/* Chunk i of a loop over p that moves n chunks of `chunk` elements; the last loop's are shorter. */
static inline struct piece piece_loop(struct piece p, uint64_t chunk, uint64_t n, uint64_t loop,
				      uint64_t i)
{
	struct piece l = piece_chunk(p, chunk * n, loop);

	return piece_chunk(l, (l.n + n - 1) / n + !l.n, i);
}

static inline uint64_t ceil_div(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

/* What all algorithms need, checked and with its defaults filled in. */
struct planner {
	const struct rs_fabric *f;
	struct rs_arena *a;
	struct rs_error *e;
	struct rs_coll *c;
	struct piece all;       /* the buffer */
	uint64_t chunk;         /* elements of conf.chunk */
	uint32_t stride, group; /* ranks between members; members */
	uint32_t *scratch;      /* 3 a rank */
};

int plan_ring(struct planner *p);
int plan_tree(struct planner *p);
int plan_hierarchical(struct planner *p);
int plan_pairwise(struct planner *p);

/* Whom a rank meets in which turn of an all-to-all, in NCCL's order (ncclP2pSchedule). */
struct pair_turns {
	uint32_t hosts, gpus;       /* hosts of unlike size: one GPU each, wherever it is */
	const uint32_t *host, *gpu; /* [turn]: how much further on */
};
int pair_turns(struct planner *p, struct pair_turns *t);
/* The rank that is so many turns of hosts and of GPUs on, or before. */
uint32_t pair_partner(const struct pair_turns *t, uint32_t rank, uint32_t host_turn,
		      uint32_t gpu_turn, bool before);
int plan_nccl(struct planner *p);

uint32_t plan_host(const struct planner *p, uint32_t rank);
uint32_t plan_endpoint(const struct planner *p, uint32_t rank);
/*
 * Of n neighbours on one host, by which each channel comes in: at[channel] < n. A ring leaves by
 * the one before (by: 1), a tree by the same (by: 0). Channels take NICs in turn, on both ways.
 */
void plan_entries(const struct planner *p, const uint32_t *ranks, uint32_t n, uint32_t by,
		  uint32_t *at);
int plan_conns(struct planner *p, uint64_t n);
void plan_connect(struct planner *p, uint64_t conn, uint32_t src, uint32_t dst, uint32_t channel);
void *plan_take(struct planner *p, size_t n, size_t size);

/* Filling in a step. Empty pieces are left out on both sides; software's time is added once to a
 * step that touches the network. */
void step_recv(const struct rs_coll *c, struct rs_step *s, uint64_t conn, struct piece p,
	       bool reduce);
void step_send(const struct rs_coll *c, struct rs_step *s, uint64_t conn, struct piece p);
void step_wait(struct rs_step *s, uint32_t lane, uint64_t count);

/*
 * Rings. A rank passes chunks on in turns: in turn t it takes what the one before it sent in turn
 * t - 1, and sends. A loop over n chunks has ring_sends() turns; what the last turn of a loop sent
 * is taken in the first turn of the next, so that the way is never empty between two. After the
 * last loop comes a turn that only takes. A turn is a step for each slice of a chunk: a slice is
 * passed on while the others are under way.
 */
enum ring_kind { RING_REDUCE_SCATTER, RING_ALL_GATHER, RING_ALL_REDUCE };
struct ring_half {
	uint64_t loop;
	uint32_t k; /* how far the chunk is: sends of this loop before it; its receive comes next */
};
struct ring_turn {
	bool recv, send;
	bool same; /* what is taken is what is sent */
	uint32_t slice;
	struct ring_half in, out;
};
uint32_t ring_sends(enum ring_kind kind, uint32_t n);
uint64_t ring_steps(uint64_t loops, uint32_t sends, uint32_t slices);
struct ring_turn ring_turn(uint64_t loops, uint32_t sends, uint32_t slices, uint64_t step);
/* The chunk that position at of n sends as k-th of a loop, and receives as k-th from 1. */
uint32_t ring_chunk(enum ring_kind kind, uint32_t n, uint32_t at, uint32_t k);
bool ring_reduces(enum ring_kind kind, uint32_t n, uint32_t k);
/* Steps until this slice of the k-th receive of a loop is taken. */
uint64_t ring_taken(uint64_t loop, uint32_t sends, uint32_t slices, uint32_t k, uint32_t slice);

/* How NCCL's Simple cuts for rings (ALLREDUCE_CHUNKSTEPS, SLICESTEPS): a connection's buffer has
 * `slots` steps of `chunk` bytes; a ring's chunk is half of that, and goes in two slices. */
enum { RING_SLICES = 2, SLICE_PACKETS = 4 };
struct cut {
	uint64_t chunk;  /* elements */
	uint32_t slices; /* of a chunk */
	uint64_t packet; /* elements: slices are whole packets, but for the last */
	uint64_t least;  /* elements of a slice, but for the last */
};
/* largest: elements of the largest chunk that there will be, were there no limit. */
struct cut plan_cut(struct planner *p, uint64_t largest);

static inline struct piece piece_slice(const struct cut *c, struct piece p, uint32_t i)
{
	uint64_t n;

	if (c->slices == 1)
		return p;
	n = ceil_div(p.n, (uint64_t)c->slices * c->packet) * c->packet;
	return piece_chunk(p, n < c->least ? c->least : n, i);
}

#endif
