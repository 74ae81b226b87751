/*
 * Private to collective/: which receive takes which send, and a run of the work without a network:
 * it shows what can never end, gives an order that can, and is the time that nothing can beat.
 */
#ifndef RS_COLLECTIVE_ORDER_H
#define RS_COLLECTIVE_ORDER_H

#include "fabric/work.h"

/* Nodes of all ranks are numbered one rank after another. */
struct work_pairs {
	uint32_t *base; /* [rank]; one behind the last: all of them */
	uint32_t *mate; /* of a send its receive, of a receive its send; RS_WORK_NONE */
};
/* -EINVAL: a send or a receive without the other, sizes that differ, groups whose members do not
 * take part alike. */
int work_pair(const struct rs_work *w, struct rs_arena *a, struct work_pairs *out,
	      struct rs_error *e);

/* What a message costs in a dry run: all of it 0 for the bound. */
struct work_cost {
	rs_time latency;
	int64_t rate; /* bit/s; 0: no time */
};
/*
 * ended: [node] when it is done; order: [node] a number a rank, ascending as nodes were taken.
 * Either may be NULL. fixed: a unit takes its nodes, and a peer's messages go, in the order that
 * they have in the graph; else as they become ready. -EDEADLK: some never do.
 */
int work_dry(const struct rs_work *w, const struct work_pairs *p, const struct work_cost *c,
	     bool fixed, rs_time *ended, uint32_t *order, struct rs_error *e);

#endif
