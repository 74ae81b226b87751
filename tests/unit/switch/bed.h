/* A switch to be tested: endpoint e is at port e, all local; or endpoints behind equal-cost ports.
 */
#ifndef TESTS_SWITCH_BED_H
#define TESTS_SWITCH_BED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "base/random.h"
#include "switch/switch.h"

enum { BED_PORTS = 16, BED_POOL = 1 << 16, BED_FAR = 1000 }; /* endpoints BED_FAR..: over a set */

struct bed {
	struct rs_pool pool;
	struct rs_pool_list free;
	struct rs_switch_port port[BED_PORTS];
	struct rs_switch_config c;
	struct rs_switch *sw;
	uint32_t group_of[2 * BED_FAR];
	uint16_t local_index[2 * BED_FAR], local_port[BED_PORTS];
	uint32_t set_of[2];
	uint16_t set[BED_PORTS];
};

/* Class t is DSCP t; all classes strict and lossy; a buffer of 1 MB by the byte. The test changes
 * what it is about, then calls bed_start(). */
static inline void bed_init(struct bed *b, unsigned n_ports)
{
	memset(b, 0, sizeof(*b));
	assert_int_equal(rs_pool_init(&b->pool, BED_POOL), 0);
	rs_pool_list_init(&b->free, &b->pool);
	for (unsigned i = 0; i < n_ports; i++) {
		b->port[i].rate = 100 * RS_GBPS;
		b->local_port[i] = (uint16_t)i;
	}
	for (unsigned e = 0; e < 2 * BED_FAR; e++) {
		b->group_of[e] = e >= BED_FAR;
		b->local_index[e] = (uint16_t)(e % BED_FAR);
	}
	b->c = (struct rs_switch_config){
		.id = 7,
		.seed = 42,
		.n_ports = n_ports,
		.ports = b->port,
		.buffer = 1000000,
		.pause_quanta = 65535,
		.routes = {.group_of = b->group_of,
			   .n_endpoints = 2 * BED_FAR,
			   .set_of = b->set_of,
			   .ports = b->set,
			   .local_port = b->local_port,
			   .local_index = b->local_index},
		.pool = &b->pool,
		.free = &b->free,
	};
	for (unsigned d = 0; d < 64; d++)
		b->c.tc_of_dscp[d] = (uint8_t)(d % RS_CLASSES);
}

/* Endpoints from BED_FAR on are behind these ports. */
static inline void bed_set(struct bed *b, const uint16_t *ports, unsigned n)
{
	memcpy(b->set, ports, n * sizeof(*ports));
	b->set_of[1] = n;
}

static inline void bed_start(struct bed *b)
{
	struct rs_error e = {0};

	assert_int_equal(rs_switch_create(&b->c, &b->sw, &e), 0);
}

static inline void bed_end(struct bed *b)
{
	if (b->sw)
		rs_switch_destroy(b->sw);
	rs_pool_fini(&b->pool);
}

static inline struct rs_packet *bed_packet(struct bed *b, unsigned tc, uint32_t dst, uint32_t frame)
{
	struct rs_packet *p = rs_pool_alloc(&b->free);

	assert_non_null(p);
	memset(p, 0, sizeof(*p));
	p->dst = dst;
	p->frame_bytes = (uint16_t)frame;
	p->tos = (uint8_t)(tc << 2 | RS_ECN_ECT0);
	return p;
}

/* A packet in at `in` for the endpoint; true: admitted. Consistency is checked after each. */
static inline bool bed_in(struct bed *b, unsigned in, unsigned tc, uint32_t dst, uint32_t frame)
{
	int to = rs_switch_rx(b->sw, in, bed_packet(b, tc, dst, frame), 0, 0);

	rs_switch_check(b->sw);
	return to >= 0;
}

/* What the port sends at `now`, given back to the slab: its class, -1 nothing, -2 a PFC frame. */
static inline int bed_out(struct bed *b, unsigned port, rs_time now)
{
	rs_time again;
	struct rs_packet *p = rs_switch_tx(b->sw, port, now, &again);
	int what = !p ? -1 : p->kind == RS_KIND_PFC ? -2 : p->tc;

	if (p)
		rs_pool_free(&b->free, p);
	rs_switch_check(b->sw);
	return what;
}

/* A PFC frame of the peer at this port: the same quanta for all classes of the mask. */
static inline void bed_pause(struct bed *b, unsigned port, unsigned classes, uint16_t quanta,
			     rs_time now)
{
	struct rs_packet *k = rs_pool_alloc(&b->free);

	memset(k, 0, sizeof(*k));
	k->kind = RS_KIND_PFC;
	k->frame_bytes = RS_PFC_FRAME;
	k->pfc_enable = (uint8_t)classes;
	for (unsigned c = 0; c < RS_CLASSES; c++)
		k->pfc_quanta[c] = classes >> c & 1 ? quanta : 0;
	assert_int_equal(rs_switch_rx(b->sw, port, k, now, now), -1);
	rs_switch_check(b->sw);
}

#endif
