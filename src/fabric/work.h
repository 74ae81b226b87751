/*
 * Work of ranks as graphs: nodes compute, send, receive or take part in a collective, and wait for
 * other nodes of their rank. A training step, a trace that was read and requests to be served are
 * each one of these; collective/program.h makes lanes and steps of it.
 */
#ifndef RS_FABRIC_WORK_H
#define RS_FABRIC_WORK_H

#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/error.h"
#include "base/time.h"

enum {
	RS_WORK_RANKS_MAX = 1 << 16,
	RS_WORK_NODES_MAX = 1 << 25, /* of all ranks */
	RS_WORK_GROUPS_MAX = 1 << 20,
	RS_WORK_UNITS_MAX = 64,
};

#define RS_WORK_NONE UINT32_MAX

enum rs_work_kind {
	RS_WORK_JOIN,    /* only waits */
	RS_WORK_COMPUTE, /* its time, on a unit of the rank: one node of a unit at a time, in order
			  */
	RS_WORK_SEND,    /* bytes to a peer; done when the last message is posted */
	RS_WORK_RECV,    /* the same message at the peer; done when all of it is there */
	RS_WORK_COLL,    /* of a group; the k-th of each member is the same one */
};

/* What for: reports divide bytes and lost time by it. */
enum rs_work_why {
	RS_WHY_OTHER, /* and, of time: the others, at the end */
	RS_WHY_COMPUTE,
	RS_WHY_DATA,
	RS_WHY_TENSOR,
	RS_WHY_PIPELINE,
	RS_WHY_CONTEXT,
	RS_WHY_EXPERT,
	RS_WHY_WEIGHTS, /* parameters gathered: ZeRO, FSDP */
	RS_WHY_KV,      /* key-value cache from prefill to decode */
	RS_WHYS
};
extern const char *const rs_work_whys[RS_WHYS]; /* "data", ... */

struct rs_work_node {
	uint8_t kind, why;
	uint8_t unit; /* compute */
	uint8_t op;   /* a collective's: enum rs_coll_op */
	uint32_t n_deps, first_dep;
	uint32_t peer;  /* send, receive: the other rank; collective: the group */
	uint32_t label; /* send, receive: messages of one label keep their order, others may pass */
	uint64_t tag;   /* send, receive: the k-th of a tag is the peer's k-th of that tag */
	uint64_t bytes; /* a collective's as rs_collective_conf.bytes */
	rs_time time;   /* compute */
	uint64_t id;    /* where it comes from: a trace's own number */
};

struct rs_work_rank {
	uint32_t n, room, n_deps, room_deps;
	struct rs_work_node *node;
	uint32_t *
		dep; /* of a node: dep[first_dep] and on, numbers of nodes, before it once sorted */
};

struct rs_work_group {
	uint32_t n;
	const uint32_t *rank; /* in the order that collectives number them */
};

struct rs_work {
	struct rs_arena *arena;
	uint32_t n_ranks, n_groups, room_groups;
	uint64_t n_nodes;
	struct rs_work_rank *rank;
	struct rs_work_group *group;
	uint64_t missing;   /* dependencies on nodes that a trace does not have, or on itself: left
			       out */
	uint64_t unmatched; /* operations that a log does not have of all their ranks: left out */
	int err;            /* of the first step that failed, in e */
	struct rs_error *e;
};

/* NULL: no memory or too many ranks, in e. e and the arena are borrowed. */
struct rs_work *rs_work_create(struct rs_arena *a, uint32_t n_ranks, struct rs_error *e);
/* A group of ranks, which is copied. Returns its number; RS_WORK_NONE after an error. */
uint32_t rs_work_group(struct rs_work *w, const uint32_t *ranks, uint32_t n);
/* Appends a node without dependencies. Returns its number of the rank; RS_WORK_NONE after an error.
 */
uint32_t rs_work_add(struct rs_work *w, uint32_t rank, const struct rs_work_node *node);
/* The node of this rank that was added last waits for `dep`, too; RS_WORK_NONE: for nothing. One
 * that is added later needs rs_work_sort(). */
void rs_work_after(struct rs_work *w, uint32_t rank, uint32_t dep);
/* A node waits for another one, too: nodes in ascending order. */
void rs_work_depend(struct rs_work *w, uint32_t rank, uint32_t node, uint32_t dep);
/* Bytes that a rank sends for `why` in nodes of point-to-point; and the collectives' bytes. */
uint64_t rs_work_sent(const struct rs_work *w, uint32_t rank, enum rs_work_why why);

#endif
