/*
 * Private to sim/: the placement of a counterfactual. Each queue pair gets a path among its
 * equal-cost ones, known beforehand, so that the fullest link is as empty as can be. placement.c
 * finds out what is sent when, clos.c colours the edges of Clos networks, spread.c does the rest:
 * greedy, repair, loads.
 */
#ifndef RS_SIM_PLACEMENT_H
#define RS_SIM_PLACEMENT_H

#include "sim/engine.h"

enum {
	SPREAD_HOPS = 8, /* links between switches that are looked at; of a longer path the first */
	SPREAD_DIGITS = 4 /* choices on a path; further ones take the first port */
};

#define SPREAD_NONE UINT32_MAX

/* A queue pair's data. */
struct spread_flow {
	uint32_t src, dst; /* endpoints */
	uint64_t bytes;
	uint32_t
		way; /* a byte a choice, the first lowest: a place in the set of equal-cost ports */
	uint32_t mark;
	uint8_t n; /* links */
	bool placed;
	uint32_t link[SPREAD_HOPS];
	uint32_t next[SPREAD_HOPS], prev[SPREAD_HOPS]; /* in the lists of the links' flows */
};

struct spread_port {
	uint32_t link; /* a direction of it: 2 x its number + whether it leaves by its end b */
	uint32_t to;   /* the switch there; SPREAD_NONE: an endpoint */
};

/* The network with what it carries. Loads are times: what a link needs for its bytes, ps. */
struct spread {
	const struct rs_fabric *f;
	struct rs_arena *a;
	uint32_t n_links; /* directions */
	uint32_t *first;  /* [switch]: of its ports in port[] */
	uint32_t *edge;   /* [group]: its switch */
	struct spread_port *port;
	uint64_t *cost;   /* [link]: ps a byte, in 1/65536 */
	uint64_t *load;   /* [link]: of all */
	uint64_t *others; /* [link]: of that, what is not the batch's */
	uint32_t *head;   /* [link]: first of the batch's flows, as flow * SPREAD_HOPS + hop */
	struct spread_flow *flow; /* the batch */
	uint32_t n;
	uint64_t steps; /* left, of all the repairs of a run */
	uint32_t marks;
	uint32_t *log; /* flows touched by a chain, and their ways before */
	uint32_t n_log, log_size;
};

int spread_create(struct spread *s, const struct rs_fabric *f, struct rs_arena *a);
void spread_destroy(struct spread *s);
uint64_t spread_time(const struct spread *s, uint32_t link, uint64_t bytes);
/* The ports towards the group at a switch; count in *n. */
const uint16_t *spread_set(const struct spread *s, uint32_t sw, uint32_t group, uint32_t *n);
/* The links between switches of k->way. */
void spread_walk(const struct spread *s, struct spread_flow *k);
/* A flow of the batch onto this way, off its own. */
void spread_put(struct spread *s, uint32_t flow, uint32_t way);
void spread_take(struct spread *s, uint32_t flow);
/* All flows of the batch that have no way get the one where they make the least maximum. */
void spread_greedy(struct spread *s);
/* Moves flows of the batch, one for another, until no link has more than bound or none can be
 * helped; then to even loads below that. */
void spread_repair(struct spread *s, uint64_t bound);
/* The batch's own load on its fullest link. */
uint64_t spread_most(const struct spread *s);
/* About when the last of the batch's flows is through all queues. */
uint64_t spread_last(struct spread *s);
/* The way back of a flow's ACKs: over the links of its data. */
uint32_t spread_back(const struct spread *s, const struct spread_flow *flow);

/* A Clos network: edge switches in pods, each with the same uplinks; 2 or 3 tiers. */
struct clos;
/* NULL: it is none, or its links are not alike. */
struct clos *clos_find(const struct spread *s, struct rs_arena *a);
/* Gives all flows of the batch a way: at each edge switch, and pod, every uplink has as many as any
 * other, or one more. draw: 0 the least loaded uplinks first; others draw among those that have
 * little. -ENOMEM. */
int clos_colour(const struct clos *c, struct spread *s, uint32_t draw);
/* The least that the fullest link between switches can have: of the batch. */
uint64_t spread_bound(const struct spread *s, const struct clos *c);

#endif
