/*
 * A graph of work (fabric/work.h) as lanes and steps: units that compute, connections that carry
 * messages one way, collectives by the plans of collective.h. What the engine runs is a struct
 * rs_coll like any other; when its nodes began and ended is kept.
 */
#ifndef RS_COLLECTIVE_PROGRAM_H
#define RS_COLLECTIVE_PROGRAM_H

#include "collective/collective.h"
#include "fabric/work.h"

struct rs_program {
	const struct rs_work *work;
	struct rs_coll *coll;
	uint32_t n_nodes;
	const uint32_t *base;   /* [rank]: the number of its first node */
	rs_time *begun, *ended; /* [node]; RS_NEVER: not yet. The engine's, while it runs */
	rs_time dry;            /* how long the work takes where no byte takes any time */
};

/* conf: ranks and where they are, class, queue pairs, chunk, start, and the algorithm that
 * collectives use where they have it. Errors as of rs_coll_plan(), and of work that never ends. */
int rs_program_plan(const struct rs_fabric *f, const struct rs_work *w,
		    const struct rs_collective_conf *conf, struct rs_arena *a,
		    struct rs_program **out, struct rs_error *e);
/* After the run: when receives and joins ended, which no lane does by itself. */
void rs_program_close(struct rs_program *p);

/* What came of it. Times are means over the ranks that compute, but for step. */
struct rs_program_result {
	rs_time step, dry;
	rs_time compute;           /* the first unit is at work */
	rs_time exposed[RS_WHYS];  /* ... waits for what was sent or gathered for this */
	uint64_t bytes[RS_WHYS];   /* sent by all ranks, those inside hosts too */
	uint64_t outside[RS_WHYS]; /* of these: through NICs */
	uint32_t ranks, messages;  /* ranks that compute; sends and collectives of a rank, most */
};
void rs_program_evaluate(const struct rs_program *p, struct rs_program_result *out);

#endif
