/*
 * Private to collective/: a program. program.c makes its lanes, program_steps.c says what their
 * steps are, program_result.c what came of them.
 */
#ifndef RS_COLLECTIVE_PROGRAM_STATE_H
#define RS_COLLECTIVE_PROGRAM_STATE_H

#include "fabric/order.h"
#include "collective/plan.h"
#include "collective/program.h"

enum { LANES_MAX = 1 << 16, NO_LANE = -1 };

enum role { ROLE_COMPUTE, ROLE_SEND, ROLE_RECV, ROLE_COLL, ROLE_COLL_FURTHER };

/* Steps first and on of a lane are a node's. */
struct item {
	uint64_t first;
	uint32_t node;
	enum role role;
};
struct lane {
	struct item *item;
	uint64_t steps;
	uint32_t n, room;
	uint32_t block; /* of a group: number of its first lane */
};
struct wait {
	uint64_t count;
	uint32_t lane;
};
struct block {
	uint32_t group, lane;
};
struct rank {
	struct lane *lane;
	struct wait *wait;
	struct block *block;
	int32_t unit[RS_WORK_UNITS_MAX];
	uint32_t n_lanes, room_lanes, n_waits, room_waits, n_blocks, room_blocks;
};
/* What became of a node: it is done when its lane has `done` steps done, and, of a join and a
 * receive, what it waits for as well. */
struct info {
	uint64_t done;
	uint32_t first_wait, n_wait;
	int32_t lane;
	uint32_t what; /* connection; or part */
};
/* A collective of a group as it is run. */
struct part {
	struct rs_coll *coll;
	uint64_t bytes;
	uint32_t group, conn; /* conn: of its connection 0 */
	uint8_t op;
};
/* Messages from a rank to a rank of one label. */
struct wire {
	uint64_t key;
	uint32_t n, first; /* its sends, in order: in sends[] */
	int32_t tx, rx;    /* lanes */
};

struct program {
	struct rs_program p;
	struct rs_work_pairs pairs;
	struct rs_arena *a;
	struct rs_error *e;
	const struct rs_fabric *f;
	struct rs_collective_conf conf;
	struct rank *rank;
	struct info *info;
	struct part *part;
	struct wire *wire;
	struct rs_conn *conns;
	uint32_t *sends;             /* node numbers, a wire's after another's */
	uint32_t *table, table_size; /* open addressing: wire or part + 1 */
	uint32_t *group_lanes;       /* [group] */
	uint64_t *best;              /* [lane]: scratch */
	uint32_t *touched;
	uint32_t n_parts, room_parts, n_wires, room_wires, n_conns, room_conns;
	int err;
};

static inline const struct rs_work_node *node_of(const struct program *m, uint32_t rank, uint32_t i)
{
	return &m->p.work->rank[rank].node[i];
}

static inline struct info *info_of(const struct program *m, uint32_t rank, uint32_t i)
{
	return &m->info[m->p.base[rank] + i];
}

/* Steps that only wait, before one that does something and waits for up to three, too. */
static inline uint64_t before_last(uint32_t n_wait)
{
	return n_wait ? (n_wait - 1) / RS_STEP_FAN : 0;
}

static inline uint64_t only_wait(uint32_t n_wait)
{
	return ceil_div(n_wait, RS_STEP_FAN);
}

/* ... of a collective's first lane, after its steps: for its other lanes. */
static inline uint64_t join_steps(const struct rs_coll *c)
{
	return ceil_div(c->n_lanes - 1, RS_STEP_FAN);
}

uint64_t program_n_steps(const struct rs_coll *c, uint32_t rank, uint32_t lane);
void program_step(const struct rs_coll *c, uint32_t rank, uint32_t lane, uint64_t i,
		  struct rs_step *out);
void program_mark(const struct rs_coll *c, uint32_t rank, uint32_t lane, uint64_t i, bool taken,
		  rs_time now);

#endif
