/* routes: up-down on random networks: each host reaches each other one, and no circle of buffers is
 * left, which shortest routes leave often. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/random.h"
#include "unit/describe/text.h"

enum { SWITCHES = 10, PORTS = 16, CHANNELS = SWITCHES * PORTS, GRAPHS = 300 };

struct net {
	struct rs_fabric *f;
	uint32_t to[SWITCHES][PORTS]; /* switch behind a port; UINT32_MAX: none */
};

static size_t put(char *text, size_t at, const char *format, ...)
{
	va_list a;
	int n;

	va_start(a, format);
	n = vsnprintf(text + at, 8192 - at, format, a);
	va_end(a);
	assert_true(n > 0 && at + (size_t)n < 8192);
	return at + (size_t)n;
}

/* A random connected network; the same of the same seed. tiers: switches have some. */
static struct net make(uint64_t seed, const char *routes, bool tiers)
{
	struct rs_random r = rs_random_stream(seed, 0, 0);
	uint32_t n = 3 + rs_random_below(&r, SWITCHES - 2);
	bool joined[SWITCHES][SWITCHES] = {{false}};
	static char text[8192];
	struct net g;
	size_t at = put(text, 0,
			"fabric:\n  network: {kind: explicit, rate: 100G, routes: %s, hosts: [h0",
			routes);

	for (uint32_t i = 1; i < n; i++)
		at = put(text, at, ", h%u", i);
	at = put(text, at, "], switches: [");
	for (uint32_t i = 0; i < n; i++)
		at = put(text, at, "%s{name: s%u, tier: %u}", i ? ", " : "", i,
			 tiers && i >= n / 2);
	at = put(text, at, "], links: [{a: h0, b: s0}");
	for (uint32_t i = 1; i < n; i++)
		at = put(text, at, ", {a: h%u, b: s%u}", i, i);
	for (uint32_t i = 1; i < n; i++) {
		uint32_t k = tiers ? (i < n / 2 ? n / 2 : rs_random_below(&r, n / 2 ? n / 2 : 1))
				   : rs_random_below(&r, i);

		joined[i][k] = joined[k][i] = true;
		at = put(text, at, ", {a: s%u, b: s%u}", i, k);
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t a = rs_random_below(&r, n), b = rs_random_below(&r, n);

		if (a == b || joined[a][b])
			continue;
		joined[a][b] = joined[b][a] = true;
		at = put(text, at, ", {a: s%u, b: s%u}", a, b);
	}
	put(text, at, "]}\n");
	g.f = load(text);
	memset(g.to, 0xff, sizeof(g.to));
	for (uint32_t i = 0; i < g.f->n_links; i++) {
		const struct rs_fabric_link *k = &g.f->links[i];

		if (!k->a.is_switch)
			continue;
		assert_true(k->a.port < PORTS && k->b.port < PORTS);
		g.to[k->a.id][k->a.port] = k->b.id;
		g.to[k->b.id][k->b.port] = k->a.id;
	}
	return g;
}

static uint32_t next(const struct net *g, uint32_t s, uint32_t group, uint32_t i)
{
	uint32_t set = g->f->routes.set_of[s][group];

	return i < (set & 0xff) ? g->f->routes.ports[s][(set >> 8) + i] : UINT32_MAX;
}

/* Every way that the tables allow ends where it should. */
static void all_reach(const struct net *g)
{
	for (uint32_t d = 0; d < g->f->n_endpoints; d++)
		for (uint32_t s = 0; s < g->f->n_switches; s++)
			for (uint32_t way = 0; way < 4; way++) {
				uint32_t group = g->f->routes.group_of[d], at = s, hops = 0;

				for (; at != g->f->endpoints[d].node; hops++) {
					uint32_t n = g->f->routes.set_of[at][group] & 0xff;

					assert_true(n && hops < SWITCHES);
					at = g->to[at][next(g, at, group, way % n)];
				}
			}
}

static bool circles_from(bool waits[CHANNELS][CHANNELS], uint8_t *state, uint32_t c)
{
	state[c] = 1;
	for (uint32_t to = 0; to < CHANNELS; to++)
		if (waits[c][to] &&
		    (state[to] == 1 || (!state[to] && circles_from(waits, state, to))))
			return true;
	state[c] = 2;
	return false;
}

/* A packet that holds room behind one port may wait for room behind the next: Dally and Seitz. */
static bool has_circle(const struct net *g)
{
	static bool waits[CHANNELS][CHANNELS];
	uint8_t state[CHANNELS] = {0};

	memset(waits, 0, sizeof(waits));
	for (uint32_t d = 0; d < g->f->routes.n_groups; d++)
		for (uint32_t s = 0; s < g->f->n_switches; s++)
			for (uint32_t i = 0, p; (p = next(g, s, d, i)) != UINT32_MAX; i++)
				for (uint32_t k = 0, q;
				     (q = next(g, g->to[s][p], d, k)) != UINT32_MAX; k++)
					waits[s * PORTS + p][g->to[s][p] * PORTS + q] = true;
	for (uint32_t c = 0; c < CHANNELS; c++)
		if (!state[c] && circles_from(waits, state, c))
			return true;
	return false;
}

static void test_no_circle_is_left(void **state)
{
	unsigned circles = 0;

	for (uint64_t seed = 1; seed <= GRAPHS; seed++) {
		struct net g = make(seed, "up-down", false);

		all_reach(&g);
		assert_false(has_circle(&g));
		rs_fabric_free(g.f);
		g = make(seed, "shortest", false);
		all_reach(&g);
		circles += has_circle(&g);
		rs_fabric_free(g.f);
	}
	assert_true(circles > GRAPHS / 20); /* or this test could not fail */
}

/* Spines are up: where a leaf reaches another over one of them, the route is as short as any. */
static void test_tiers_say_what_is_up(void **state)
{
	for (uint64_t seed = 1; seed <= GRAPHS / 3; seed++) {
		struct net g = make(seed, "up-down", true);

		assert_false(has_circle(&g));
		rs_fabric_free(g.f);
	}
}

/* What the networks that are made have anyway. */
static void test_trees_and_leaf_spines_do_not_change(void **state)
{
	static const char *const nets[] = {
		"{kind: leaf-spine, leaves: 4, spines: 3, hosts_per_leaf: 2, hosts: 8, "
		"oversubscription: 4, links: 1, routes: %s}",
		"{kind: fat-tree, k: 4, routes: %s}",
		"{kind: rail, hosts: 8, nics: 2, leaves: 4, spines: 2, routes: %s}",
		"{kind: single-switch, hosts: 4, routes: %s}"};

	for (unsigned i = 0; i < sizeof(nets) / sizeof(*nets); i++) {
		char text[512], one[400];
		struct rs_fabric *a, *b;

		snprintf(one, sizeof(one), nets[i], "shortest");
		snprintf(text, sizeof(text), "fabric:\n  network: %s\n", one);
		a = load(text);
		snprintf(one, sizeof(one), nets[i], "up-down");
		snprintf(text, sizeof(text), "fabric:\n  network: %s\n", one);
		b = load(text);
		for (uint32_t s = 0; s < a->n_switches; s++)
			for (uint32_t g = 0; g < a->routes.n_groups; g++) {
				uint32_t x = a->routes.set_of[s][g], y = b->routes.set_of[s][g];

				assert_int_equal(x & 0xff, y & 0xff);
				assert_memory_equal(a->routes.ports[s] + (x >> 8),
						    b->routes.ports[s] + (y >> 8),
						    (x & 0xff) * sizeof(uint16_t));
			}
		rs_fabric_free(a);
		rs_fabric_free(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_circle_is_left),
		cmocka_unit_test(test_tiers_say_what_is_up),
		cmocka_unit_test(test_trees_and_leaf_spines_do_not_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
