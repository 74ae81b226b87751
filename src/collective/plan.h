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
	uint64_t chunk;         /* elements */
	uint32_t stride, group; /* ranks between members; members */
	uint32_t *scratch;	/* 3 a rank */
};

int plan_ring(struct planner *p);
int plan_tree(struct planner *p);
int plan_hierarchical(struct planner *p);
int plan_pairwise(struct planner *p);

uint32_t plan_host(const struct planner *p, uint32_t rank);
/*
 * Of n neighbours on one host, by which each channel comes in: at[channel] < n. A ring leaves by the
 * one before (by: 1), a tree by the same (by: 0). Channels take NICs in turn, on both ways.
 */
void plan_entries(const struct planner *p, const uint32_t *ranks, uint32_t n, uint32_t by, uint32_t *at);
int plan_conns(struct planner *p, uint64_t n);
void plan_connect(struct planner *p, uint64_t conn, uint32_t src, uint32_t dst, uint32_t channel);
void *plan_take(struct planner *p, size_t n, size_t size);

/* Filling in a step. Empty pieces are left out on both sides; software's time is added once to a
 * step that touches the network. */
void step_recv(const struct rs_coll *c, struct rs_step *s, uint64_t conn, struct piece p,
	       bool reduce);
void step_send(const struct rs_coll *c, struct rs_step *s, uint64_t conn, struct piece p);
void step_wait(struct rs_step *s, uint32_t lane, uint64_t count);

/* Rings: step k of the position at of n moves this chunk (all kinds), receives, sends, reduces. */
enum ring_kind { RING_REDUCE_SCATTER, RING_ALL_GATHER, RING_ALL_REDUCE };
struct ring_move {
	uint32_t chunk;
	bool recv, send, reduce;
};
uint32_t ring_steps(enum ring_kind kind, uint32_t n);
struct ring_move ring_move(enum ring_kind kind, uint32_t n, uint32_t at, uint32_t k);

#endif
