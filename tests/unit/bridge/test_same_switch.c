/* One description, two worlds: over random fabrics, the simulator and the software switch give
 * rs_switch_create() the same configuration. It is taken where both hand it over. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "bridge/bridge.h"
#include "plant/plant.h"
#include "sim/sim.h"
#include "unit/plant/networks.h"
#include "wire/telemetry.h"

enum { FABRICS = 200, SWITCHES = 64, ENDPOINTS = 256 };

/* What a switch was given. */
struct given {
	struct rs_switch_config c;
	struct rs_switch_port port[RS_BRIDGE_PORTS_MAX];
	/* of each endpoint: the ports that its packets may leave by, a bit each */
	uint64_t out[ENDPOINTS][RS_BRIDGE_PORTS_MAX / 64];
};

static struct given seen[2][SWITCHES]; /* by the simulator, by the bridge */
static int world;
static unsigned n_seen[2];

int __real_rs_switch_create(const struct rs_switch_config *c, struct rs_switch **sw,
			    struct rs_error *e);
int __wrap_rs_switch_create(const struct rs_switch_config *c, struct rs_switch **sw,
			    struct rs_error *e);

static void note_routes(struct given *g, const struct rs_switch_routes *r, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t group = r->group_of[i], set;

		if (group == r->my_group) {
			uint16_t p = r->local_port[r->local_index[i]];

			g->out[i][p / 64] |= UINT64_C(1) << p % 64;
			continue;
		}
		set = r->set_of[group];
		for (uint32_t k = 0; k < (set & 0xff); k++) {
			uint16_t p = r->ports[(set >> 8) + k];

			g->out[i][p / 64] |= UINT64_C(1) << p % 64;
		}
	}
}

static uint32_t n_endpoints;

int __wrap_rs_switch_create(const struct rs_switch_config *c, struct rs_switch **sw,
			    struct rs_error *e)
{
	struct given *g = &seen[world][c->id];

	assert_true(c->id < SWITCHES && n_endpoints <= ENDPOINTS);
	memset(g, 0, sizeof(*g));
	g->c = *c;
	memcpy(g->port, c->ports, c->n_ports * sizeof(*c->ports));
	note_routes(g, &c->routes, n_endpoints);
	n_seen[world]++;
	return __real_rs_switch_create(c, sw, e);
}

static unsigned lossless(const struct rs_switch_config *c)
{
	unsigned n = 0;

	for (unsigned t = 0; t < RS_CLASSES; t++)
		n += c->classes[t].lossless;
	return n;
}

/* What all classes share: the buffer without its headroom. */
static uint64_t shared(const struct given *g)
{
	uint64_t bytes = g->c.buffer;

	for (unsigned i = 0; i < g->c.n_ports; i++)
		bytes -= lossless(&g->c) * g->port[i].headroom;
	return bytes;
}

#define SAME(field) assert_memory_equal(&a->field, &b->field, sizeof(a->field))

static void compare_class(const struct rs_switch_class *a, const struct rs_switch_class *b)
{
	SAME(lossless);
	SAME(alpha_shift);
	SAME(reserve);
	SAME(xon_offset);
	SAME(egress_limit);
	SAME(ecn);
	SAME(kmin);
	SAME(kmax);
	SAME(pmax);
	SAME(weight);
}

static void compare_port(const struct rs_switch_port *a, const struct rs_switch_port *b,
			 bool softened)
{
	uint64_t least = softened ? rs_bridge_headroom(a->rate, RS_BRIDGE_BUSY) : 0;

	SAME(rate);
	SAME(response);
	SAME(kmin);
	SAME(kmax);
	SAME(alpha_add);
	assert_int_equal(b->headroom, a->headroom > least ? a->headroom : least);
}

/* All but what each owner has of its own: the pool, who is told of drops, the units of stamps. */
static void compare_config(const struct rs_switch_config *a, const struct rs_switch_config *b)
{
	SAME(id);
	SAME(seed);
	SAME(n_ports);
	SAME(cell);
	SAME(pause_quanta);
	SAME(quirks);
	SAME(pfc_frame);
	assert_int_equal(b->int_scale, RS_INT_SOFTWARE);
	SAME(pfc_watchdog);
	SAME(mark_at_dequeue);
	SAME(endless);
	SAME(tc_of_dscp);
	SAME(routing);
	SAME(flowlet_gap);
	for (unsigned t = 0; t < RS_CLASSES; t++)
		compare_class(&a->classes[t], &b->classes[t]);
}

static void compare(const struct given *a, const struct given *b, bool softened)
{
	compare_config(&a->c, &b->c);
	for (unsigned i = 0; i < a->c.n_ports; i++)
		compare_port(&a->port[i], &b->port[i], softened);
	assert_int_equal(shared(a), shared(b));
	if (!softened)
		assert_int_equal(a->c.buffer, b->c.buffer);
	SAME(out);
}

static void simulate(const struct rs_fabric *f, uint64_t seed)
{
	struct rs_sim_options o = {.seed = seed};
	struct rs_sim_result *r;
	struct rs_error e = {0};

	world = 0;
	if (rs_sim_run(f, &o, &r, &e))
		fail_msg("%s", e.what);
	rs_sim_result_free(r);
}

static void bridge(const struct rs_fabric *f, uint64_t seed, bool softened)
{
	static struct rs_bridge_config c;
	struct rs_arena *a = rs_arena_create(0);
	struct rs_plant *p;
	struct rs_bridge *b;
	struct rs_error e = {0};

	world = 1;
	if (rs_plant_create(f, NULL, seed, a, &p, &e))
		fail_msg("%s", e.what);
	for (uint32_t i = 0; i < f->n_switches; i++) {
		if (rs_bridge_describe(p, i, &c, &e))
			fail_msg("%s", e.what);
		if (softened)
			rs_bridge_soften(&c);
		c.queue_step = 1000;
		if (rs_bridge_create(&c, &b, &e))
			fail_msg("%s", e.what);
		rs_bridge_destroy(b);
	}
	rs_arena_destroy(a);
}

static struct rs_fabric *random_fabric(struct rs_random *r, struct network_text *t)
{
	struct rs_fabric *f;
	struct rs_error e = {0};

	for (unsigned i = 0; i < 50; i++) {
		t->n = 0;
		put_fabric(t, r);
		put(t, "workload: [{flows: [{src: 0, dst: 1, bytes: 1kB}]}]\n");
		if (!rs_fabric_load_text(t->s, t->n, "test", ".", NULL, 0, &f, &e))
			return f;
		/* not every draw makes sense: a PAUSE too short, leaves that stand empty */
		if (e.code != -EINVAL)
			fail_msg("%s\n%s", e.what, t->s);
	}
	fail_msg("%s\n%s", e.what, t->s);
	return NULL;
}

/* A link of another rate and delay. */
static void change(struct rs_fabric *f, struct rs_random *r)
{
	struct rs_fabric_link *l = &f->links[rs_random_below(r, f->n_links)];

	l->rate = RS_GBPS * draw(r, 1, 900);
	l->delay = RS_NS * draw(r, 1, 5000);
}

static void test_both_worlds_make_one_switch(void **state)
{
	struct rs_random r = rs_random_stream(1, 2, 3);
	static struct network_text t;
	unsigned marks = 0, pfc = 0;

	for (unsigned i = 0; i < FABRICS; i++) {
		struct rs_fabric *f = random_fabric(&r, &t);
		bool softened = i & 1;

		change(f, &r);
		n_endpoints = f->n_endpoints;
		n_seen[0] = n_seen[1] = 0;
		simulate(f, i + 1);
		bridge(f, i + 1, softened);
		assert_int_equal(n_seen[0], f->n_switches);
		assert_int_equal(n_seen[1], f->n_switches);
		for (uint32_t s = 0; s < f->n_switches; s++) {
			for (unsigned k = 0; k < RS_CLASSES; k++)
				marks += seen[0][s].c.classes[k].ecn;
			pfc += lossless(&seen[0][s].c);
			compare(&seen[0][s], &seen[1][s], softened);
		}
		rs_fabric_free(f);
	}
	assert_true(marks > FABRICS && pfc > FABRICS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_worlds_make_one_switch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
