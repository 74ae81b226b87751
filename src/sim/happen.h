/*
 * What happens to links at a time (fabric.events): each node that sends over such a link, or that
 * routes around it, has a list of moments in the order of their times. A moment comes before all
 * else of its time. Runs without events have no list, and ask once a window for it.
 */
#ifndef RS_SIM_HAPPEN_H
#define RS_SIM_HAPPEN_H

#include "sim/engine.h"

/* A port's link is now so, or a switch's routes are. */
struct sim_moment {
	rs_time at;
	const uint32_t *set_of; /* NULL: of a link */
	const uint16_t *ports;
	uint32_t port;
	bool down;
	struct rs_pace pace;
	uint64_t loss; /* of 2^32 */
	uint32_t drop; /* packets with payload that are lost from now on */
};
struct sim_happenings {
	uint32_t n, next, room;
	struct sim_moment *moment;
};

/* After links and switches are made; nothing where ideal networks or links are asked for. */
int sim_happen_create(struct rs_sim *s, struct rs_error *e);
static inline rs_time sim_happen_next(const struct sim_node *n)
{
	const struct sim_happenings *h = n->happenings;

	return h->next < h->n ? h->moment[h->next].at : RS_NEVER;
}
/* The next moment comes. */
void sim_happen(struct sim_node *n);

#endif
