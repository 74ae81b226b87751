/* The same fabric by calls and from a description: written out, they are the same text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "base/random.h"
#include "base/units.h"
#include "describe/describe.h"
#include "fabric/build.h"
#include "unit/describe/text.h"

static char *written(const struct rs_fabric *f)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	assert_int_equal(rs_fabric_write(f, out), 0);
	fclose(out);
	return text;
}

static void same(struct rs_fabric *a, struct rs_fabric *b)
{
	char *x = written(a), *y = written(b);

	assert_string_equal(x, y);
	assert_int_equal(a->n_links, b->n_links);
	for (uint32_t i = 0; i < a->n_links; i++)
		assert_memory_equal(&a->links[i], &b->links[i], sizeof(a->links[i]));
	free(x);
	free(y);
	rs_fabric_free(a);
	rs_fabric_free(b);
}

static const struct rs_where nowhere;

static void test_a_fat_tree_with_flows(void **state)
{
	struct rs_fabric *want =
		load("fabric:\n  network: {kind: fat-tree, k: 4, rate: 100G, uplink_rate: 200G}\n"
		     "  qos: {classes: [{class: 3, kmin: 100kB}]}\n"
		     "workload:\n"
		     "  - flows:\n"
		     "      - {src: h0, dst: h5, bytes: 1MB}\n"
		     "      - {src: h15, dst: h1, bytes: 5kB, start: 3us}\n");
	struct rs_network_conf c = {.k = 4, .rate = 100 * RS_GBPS, .uplink_rate = 200 * RS_GBPS};
	struct rs_flow flows[] = {
		{.src = 0, .dst = 5, .bytes = 1000000, .tc = 3},
		{.start = 3 * RS_US, .src = 15, .dst = 1, .bytes = 5000, .tc = 3}};
	struct rs_error e = {0};
	struct rs_load l;
	struct rs_fabric *f = rs_fabric_create(&l, "t", RS_PRESET_NONE, &e);

	rs_fabric_network(&l, f, RS_NET_FAT_TREE, &c, 0);
	f->qos.tc[3].kmin = 100000;
	rs_fabric_route(&l, f);
	rs_fabric_set_flows(&l, f, rs_fabric_add_job(&l, f, RS_JOB_FLOWS, NULL, nowhere), flows, 2);
	assert_int_equal(rs_fabric_finish(&l, f), 0);
	same(want, f);
}

/* What a generated network is told, both ways. */
static void random_one(struct rs_random *r, enum rs_network_kind kind, struct rs_network_conf *c,
		       double *over, char *text, size_t n)
{
	static const char *const kinds[] = {"single-switch", "leaf-spine", "fat-tree", "rail"};
	char more[256] = "";

	*c = (struct rs_network_conf){.plain_hosts = 2 + rs_random_below(r, 20),
				      .nics = 1 + rs_random_below(r, 3),
				      .rate = (100 + 100 * (int64_t)rs_random_below(r, 3)) *
					      RS_GBPS,
				      .delay = (1 + rs_random_below(r, 900)) * RS_NS};
	*over = 1 + rs_random_below(r, 3);
	if (kind == RS_NET_FAT_TREE) {
		c->k = 4 + 2 * rs_random_below(r, 4);
		c->tiers = 2 + rs_random_below(r, 2);
		snprintf(more, sizeof(more), ", k: %u, tiers: %u", c->k, c->tiers);
	} else if (kind == RS_NET_LEAF_SPINE) {
		c->leaves = 1 + rs_random_below(r, 6);
		c->spines = 1 + rs_random_below(r, 4);
		c->links = rs_random_below(r, 3);
		snprintf(more, sizeof(more), ", leaves: %u, spines: %u, oversubscription: %g",
			 c->leaves, c->spines, *over);
		if (c->links)
			snprintf(more + strlen(more), sizeof(more) - strlen(more), ", links: %u",
				 c->links);
	} else if (kind == RS_NET_RAIL) {
		c->rails = rs_random_below(r, c->nics + 1);
		c->hosts_per_leaf = rs_random_below(r, 9);
		snprintf(more, sizeof(more), ", oversubscription: %g", *over);
		if (c->rails)
			snprintf(more + strlen(more), sizeof(more) - strlen(more), ", rails: %u",
				 c->rails);
		if (c->hosts_per_leaf)
			snprintf(more + strlen(more), sizeof(more) - strlen(more),
				 ", hosts_per_group: %u", c->hosts_per_leaf);
	}
	snprintf(text, n,
		 "fabric: {network: {kind: %s, hosts: %u, nics: %u, rate: %lldG, delay: %lldns%s}}",
		 kinds[kind], c->plain_hosts, c->nics, (long long)(c->rate / RS_GBPS),
		 (long long)(c->delay / RS_NS), more);
}

static void test_random_networks_are_the_same_both_ways(void **state)
{
	struct rs_random r = rs_random_stream(11, 3, 5);
	unsigned good = 0;

	for (int i = 0; i < 400; i++) {
		enum rs_network_kind kind = (enum rs_network_kind)rs_random_below(&r, 4);
		struct rs_error e = {0}, why = {0};
		struct rs_fabric *want, *f;
		struct rs_network_conf c;
		struct rs_load l;
		double over;
		char text[512];
		int err;

		random_one(&r, kind, &c, &over, text, sizeof(text));
		err = rs_fabric_load_text(text, strlen(text), "t", ".", NULL, 0, &want, &why);
		f = rs_fabric_create(&l, "t", RS_PRESET_NONE, &e);
		rs_fabric_network(&l, f, kind, &c, over);
		assert_int_equal(rs_fabric_finish(&l, f), err);
		if (err)
			assert_string_equal(e.what, why.what);
		if (err)
			rs_fabric_free(f);
		else
			same(want, f);
		good += !err;
	}
	assert_true(good > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_fat_tree_with_flows),
		cmocka_unit_test(test_random_networks_are_the_same_both_ways),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
