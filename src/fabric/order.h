/*
 * Which receive takes which send, and a run of the work without a network:
 * it shows what can never end, gives an order that can, and is the time that nothing can beat.
 */
#ifndef RS_FABRIC_ORDER_H
#define RS_FABRIC_ORDER_H

#include "fabric/work.h"

/* Nodes of all ranks are numbered one rank after another. */
struct rs_work_pairs {
	uint32_t *base; /* [rank]; one behind the last: all of them */
	uint32_t *mate; /* of a send its receive, of a receive its send; RS_WORK_NONE */
};
/* -EINVAL: a send or a receive without the other, sizes that differ, groups whose members do not
 * take part alike. */
int rs_work_pair(const struct rs_work *w, struct rs_arena *a, struct rs_work_pairs *out,
		 struct rs_error *e);

/* What a message costs in a dry run: all of it 0 for the bound. */
struct rs_work_cost {
	rs_time latency;
	int64_t rate; /* bit/s; 0: no time */
};
/*
 * ended: [node] when it is done; order: [node] a number a rank, ascending as nodes were taken.
 * Either may be NULL. fixed: a unit takes its nodes, and a peer's messages go, in the order that
 * they have in the graph; else as they become ready. -EDEADLK: some never do.
 */
int rs_work_dry(const struct rs_work *w, const struct rs_work_pairs *p,
		const struct rs_work_cost *c, bool fixed, rs_time *ended, uint32_t *order,
		struct rs_error *e);

/* Nodes in an order that can end, found by a dry run with a plain network: what was read from a
 * trace, whose order says nothing. Messages get a tag each. */
int rs_work_sort(struct rs_work *w, struct rs_error *e);
/* The dry run's time; bytes take none. */
int rs_work_dry_time(const struct rs_work *w, rs_time *out, struct rs_error *e);

#endif
