/*
 * What happens to links at a time (fabric.events): each node that sends over such a link, or that
 * routes around it, has a list of moments in the order of their times. A moment comes before all
 * else of its time. Runs without events have no list, and ask once a window for it.
 */
#ifndef RS_SIM_HAPPEN_H
#define RS_SIM_HAPPEN_H

#include "sim/engine.h"

enum sim_storm { SIM_STORM_NONE, SIM_STORM_BEGINS, SIM_STORM_ENDS };

/* A port's link is now so, or a switch's routes are, or a NIC holds its switch. */
struct sim_moment {
	rs_time at;
	const uint32_t *set_of; /* NULL: of a link */
	const uint16_t *ports;
	uint32_t port;
	bool down;
	struct rs_pace pace;
	uint64_t loss;          /* of 2^32 */
	struct sim_pick *picks; /* packets that are lost from now on */
	uint8_t storm;          /* enum sim_storm; else nothing above is changed */
};
/* What an event singles out: so many packets with payload are lost, behind so many others. */
struct sim_pick {
	uint32_t drop, skip;
	struct sim_pick *next;
};
struct sim_happenings {
	uint32_t n, next, room;
	struct sim_moment *moment;
	struct sim_regain *regain; /* of a host: NULL elsewhere */
	uint32_t sampled;
};

/* Times at which hosts tell what they have received; sums over all of them: regain.c. */
struct sim_regain {
	uint32_t n, n_changes;
	rs_time *at, *change;
	rs_time end; /* of what is judged */
	uint64_t *useful;
};
/* -ENOMEM. After the moments are made; the host's node is to be sampled; sample i of a host. */
int sim_regain_create(struct rs_sim *s);
int sim_happen_sampled(struct rs_sim *s, uint32_t host);
void sim_regain_sample(struct sim_node *n, struct sim_regain *g, uint32_t i);
/* The result has how soon rates were regained. -ENOMEM. */
int sim_regain_collect(struct rs_sim *s);

/* After links and switches are made; nothing where ideal networks or links are asked for. */
int sim_happen_create(struct rs_sim *s, struct rs_error *e);
static inline rs_time sim_happen_next(const struct sim_node *n)
{
	const struct sim_happenings *h = n->happenings;

	rs_time t = h->next < h->n ? h->moment[h->next].at : RS_NEVER;

	if (h->regain && h->sampled < h->regain->n)
		t = rs_time_min(t, h->regain->at[h->sampled]);
	return t;
}
/* The next moment comes. */
void sim_happen(struct sim_node *n);
/* A packet with payload goes over a link that has picks: is it one of them? Each event counts every
 * packet; one that two single out is one's alone, and the other takes the next. */
bool sim_link_picks(struct sim_link *l);

#endif
