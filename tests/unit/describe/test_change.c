/* Changes of single links and switches in a network that a generator drew. */
#include <stdlib.h>
#include "base/random.h"
#include "describe/describe.h"
#include "unit/describe/text.h"

#define NET                                                                                 \
	"fabric:\n  network: {kind: leaf-spine, leaves: 3, hosts_per_leaf: 4, spines: 2}\n" \
	"  change:\n"

static const struct rs_fabric_link *link_of(const struct rs_fabric *f, const char *a, const char *b,
					    uint32_t index)
{
	for (uint32_t i = 0; i < f->n_links; i++)
		if (f->links[i].a.is_switch && !strcmp(f->switches[f->links[i].a.id].name, a) &&
		    !strcmp(f->switches[f->links[i].b.id].name, b) && !index--)
			return &f->links[i];
	fail_msg("no link of %s and %s", a, b);
	return NULL;
}

static void no_route_is_down(const struct rs_fabric *f)
{
	for (uint32_t i = 0; i < f->n_links; i++) {
		const struct rs_fabric_link *l = &f->links[i];

		for (unsigned k = 0; k < 2 && l->down && l->a.is_switch; k++) {
			const struct rs_link_end *e = k ? &l->b : &l->a;

			for (uint32_t g = 0; g < f->routes.n_groups; g++) {
				uint32_t set = f->routes.set_of[e->id][g];

				for (uint32_t p = 0; p < (set & 0xff); p++)
					assert_true(f->routes.ports[e->id][(set >> 8) + p] !=
						    e->port);
			}
		}
	}
}

static void converts_to_itself(const struct rs_fabric *f)
{
	char *once = NULL, *twice = NULL;
	size_t n;
	FILE *out = open_memstream(&once, &n);
	struct rs_fabric *g;

	rs_fabric_write(f, out);
	fclose(out);
	g = load(once);
	out = open_memstream(&twice, &n);
	rs_fabric_write(g, out);
	fclose(out);
	assert_string_equal(once, twice);
	assert_int_equal(f->n_down, g->n_down);
	for (uint32_t i = 0; i < f->n_links; i++)
		assert_memory_equal(&f->links[i].rate, &g->links[i].rate, sizeof(f->links[i].rate));
	rs_fabric_free(g);
	free(once);
	free(twice);
}

static void test_a_dead_uplink_has_no_route(void **state)
{
	struct rs_fabric *f = load(NET "    - {link: [leaf0, spine1], down: true}\n");
	struct rs_network_facts x;

	assert_int_equal(f->n_down, 2);
	assert_int_equal(f->routes.set_of[0][1] & 0xff, 2); /* both links to spine0 */
	assert_int_equal(f->routes.set_of[1][0] & 0xff, 2);
	assert_int_equal(f->routes.set_of[1][2] & 0xff, 4);
	no_route_is_down(f);
	rs_fabric_facts(f, &x);
	assert_true(x.oversubscription == 2);
	converts_to_itself(f);
	rs_fabric_free(f);
}

static void test_one_of_parallel_links_is_named_by_index(void **state)
{
	struct rs_fabric *f = load(NET "    - {link: [spine1, leaf2], index: 1, rate: 100G, "
				       "loss: 0.001%, delay: 2us}\n");
	const struct rs_fabric_link *l = link_of(f, "leaf2", "spine1", 1);

	assert_true(l->rate == 100 * RS_GBPS && l->loss == 1e-5 && l->delay == 2 * RS_US &&
		    !l->down);
	l = link_of(f, "leaf2", "spine1", 0);
	assert_true(l->rate == 400 * RS_GBPS && l->loss == 0 && l->delay == 500 * RS_NS);
	converts_to_itself(f);
	rs_fabric_free(f);
}

static void test_a_nic_has_one_link(void **state)
{
	struct rs_fabric *f =
		load(NET "    - {link: h3, rate: 100G}\n    - {link: [h4], loss: 1%}\n"
			 "    - {link: [leaf1, h5], down: true}\n"
			 "workload: [{collective: {ranks: 11}}]\n");

	assert_true(f->endpoints[3].rate == 100 * RS_GBPS);
	assert_true(f->links[f->endpoints[4].link].loss == 0.01);
	/* placed around the dead one */
	assert_int_equal(rs_collective_gpu(&f->jobs[0].collective, 4), 4);
	assert_int_equal(rs_collective_gpu(&f->jobs[0].collective, 5), 6);
	converts_to_itself(f);
	rs_fabric_free(f);
	refused(NET "    - {link: h5, down: true}\nworkload: [{collective: {ranks: 12}}]",
		"11 of 12 are free and have a link that is up");
	refused(NET "    - {link: h5, down: true}\nworkload: [{collective: {}}]",
		"GPU 5 is on h5, whose link is down");
	refused(NET
		"    - {link: h5, down: true}\nworkload: [{flows: [{src: 1, dst: 5, bytes: 1B}]}]",
		"no route from h1 to h5: the link of h5 is down");
}

/* NCCL passes over a port that is not active. */
static void test_a_gpu_takes_another_nic_when_its_own_is_down(void **state)
{
	struct rs_fabric *f = load(
		"fabric:\n  hosts: [{name: n, count: 2, sockets: 1, switches: [{name: s0, on: "
		"socket0}, {name: s1, on: socket0}], gpus: [{name: g0, on: s0}, {name: g1, on: "
		"s1}], nics: [{name: a, on: s0}, {name: b, on: s1}]}]\n"
		"  network: {kind: rail}\n  change: [{link: n0/b, down: true}]\n");

	assert_int_equal(rs_fabric_rank_endpoint(f, 0), 0);
	assert_int_equal(rs_fabric_rank_endpoint(f, 1), 0);
	assert_int_equal(rs_fabric_rank_endpoint(f, 3), 3);
	rs_fabric_free(f);
}

static void test_a_dead_switch_takes_its_links_down(void **state)
{
	struct rs_fabric *f = load(NET "    - {switch: spine0, down: true}\n");

	assert_int_equal(f->n_down, 6);
	no_route_is_down(f);
	assert_int_equal(f->routes.set_of[0][2] & 0xff, 2);
	converts_to_itself(f);
	rs_fabric_free(f);
	/* a dead leaf is no cut: its hosts are gone */
	f = load(NET "    - {switch: leaf1, down: true}\nworkload: [{collective: {ranks: 8}}]\n");
	assert_int_equal(rs_collective_gpu(&f->jobs[0].collective, 4), 8);
	rs_fabric_free(f);
}

static void test_a_switch_has_qos_of_its_own(void **state)
{
	struct rs_fabric *f = load(
		"fabric:\n  network: {kind: leaf-spine, leaves: 3, hosts_per_leaf: 4, spines: 2}\n"
		"  qos: {dscp: {10: 5}, tiers: {leaf: {switch_latency: 600ns}}}\n"
		"  change:\n    - {switch: leaf0, qos: {dscp: {26: 0}, pfc: off, classes: [{class: "
		"3, "
		"kmin: 5kB}]}}\n    - {switch: spine1, qos: {headroom_scale: 50%}}\n");

	assert_int_equal(rs_fabric_qos(f, 0)->tc_of_dscp[26], 0);
	assert_int_equal(rs_fabric_qos(f, 0)->tc_of_dscp[10], 5);
	assert_false(rs_fabric_qos(f, 0)->pfc);
	assert_int_equal(rs_fabric_qos(f, 0)->tc[3].kmin, 5000);
	assert_true(rs_fabric_qos(f, 0)->switch_latency == 600 * RS_NS);
	assert_int_equal(rs_fabric_qos(f, 1)->tc_of_dscp[26], 3);
	/* a tier that changes something else keeps the map of all */
	assert_int_equal(rs_fabric_qos(f, 1)->tc_of_dscp[10], 5);
	assert_true(rs_fabric_qos(f, 1)->pfc);
	assert_true(rs_fabric_qos(f, 4)->headroom_scale == 0.5);
	assert_true(rs_fabric_qos(f, 3)->headroom_scale == 1);
	converts_to_itself(f);
	rs_fabric_free(f);
}

static void test_nics_and_gpus(void **state)
{
	struct rs_fabric *f =
		load(NET "    - {nic: h1, pfc: false}\n    - {nic: h2, dscp: 0}\n"
			 "    - {nic: h3, pfc: true, dscp: 46}\n"
			 "    - {gpu: h2, speed: 50%}\n    - {gpu: h3/nic0, speed: 0.7}\n");

	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(f->endpoints[i].no_pfc, i == 1);
	assert_int_equal(f->endpoints[1].mark, 0);
	assert_int_equal(f->endpoints[2].mark, 1);
	assert_int_equal(f->endpoints[3].mark, 47);
	assert_true(rs_fabric_gpu_speed(f, 1) == 1 && rs_fabric_gpu_speed(f, 2) == 0.5 &&
		    rs_fabric_gpu_speed(f, 3) == 0.7);
	converts_to_itself(f);
	rs_fabric_free(f);
}

static void test_what_cannot_be_changed_is_refused_with_names(void **state)
{
	refused(NET "    - {link: [leaf0, spine0], down: true}\n    - {link: [leaf0, spine1], "
		    "down: true}\n",
		"cut the network in two: h0 (on leaf0) no longer reaches h4 (on leaf1)");
	refused(NET "    - {link: [leaf0, spin1], down: true}\n", "did you mean 'spine1'?");
	refused(NET "    - {link: [leaf0, spine7], down: true}\n",
		"there is no switch, host or NIC 'spine7'");
	refused(NET "    - {link: [leaf0, leaf1], down: true}\n", "no link joins these two");
	refused(NET "    - {link: leaf0, down: true}\n", "expected two ends");
	refused(NET "    - {link: [leaf0, spine0], index: 2, down: true}\n",
		"index: expected a whole number from 0 to 1, found '2'");
	refused(NET "    - {link: [leaf0, spine0]}\n", "expected down, rate, delay or loss");
	refused(NET "    - {link: [leaf0, spine0], dwon: true}\n", "did you mean 'down'?");
	refused(NET "    - {link: [leaf0, spine0], loss: 101%}\n", "from 0% to 100%");
	refused(NET "    - {switch: h0, down: true}\n", "there is no switch 'h0'");
	refused(NET "    - {switch: leaf0}\n", "expected down or qos");
	refused(NET "    - {switch: leaf0, qos: {nic_buffer: 1MB}}\n", "nic_buffer");
	refused(NET "    - {leaf: leaf0}\n", "'host', 'link', 'switch', 'nic' or 'gpu'");
	refused(NET "    - {nic: h0}\n", "expected pfc or dscp");
	refused(NET "    - {nic: h0, rate: 100G}\n", "no key 'rate' (there are: nic, pfc, dscp)");
	refused(NET "    - {nic: leaf0, pfc: false}\n", "expected a NIC");
	refused(NET "    - {nic: h0, dscp: 64}\n", "from 0 to 63");
	refused(NET "    - {gpu: h0}\n", "speed");
	refused(NET "    - {gpu: h0, speed: 110%}\n", "to 100%");
	refused(NET "    - {gpu: h99, speed: 10%}\n",
		"there is no GPU 'h99'; expected one as h0/gpu2");
	refused(NET "    - {gpu: h0/gpu0, speed: 10%}\n", "of a plain host h0/nic2");
	refused(NET "    - {host: h0, move: {nic0: socket1}}\n", "no fabric.hosts");
}

static void test_what_ifs_take_away_repair_and_add(void **state)
{
	static const char text[] = NET "    - {link: [leaf0, spine1], down: true}\n"
				       "    - {link: [leaf1, spine0], rate: 100G}\n";
	struct rs_setting all = {"fabric.change", "[]", {"--set", 0, 0}};
	struct rs_setting first = {"fabric.change[0]", "null", {"--set", 0, 0}};
	struct rs_setting up = {"fabric.change[0].down", "false", {"--set", 0, 0}};
	struct rs_setting more[] = {
		{"fabric.change[+]", "{switch: spine0, qos: {pfc: off}}", {"s", 0, 0}},
		{"fabric.change[+].link", "h2", {"s", 0, 0}},
		{"fabric.change[3].rate", "10G", {"s", 0, 0}}};
	struct rs_fabric *f = load_with(text, &all, 1);

	assert_int_equal(f->n_changes + f->n_down, 0);
	rs_fabric_free(f);
	f = load_with(text, &first, 1);
	assert_int_equal(f->n_down, 0);
	assert_true(link_of(f, "leaf1", "spine0", 0)->rate == 100 * RS_GBPS);
	rs_fabric_free(f);
	f = load_with(text, &up, 1);
	assert_int_equal(f->n_down, 0);
	rs_fabric_free(f);
	f = load_with(text, more, 3);
	assert_int_equal(f->n_changes, 4);
	assert_false(rs_fabric_qos(f, 3)->pfc);
	assert_true(f->endpoints[2].rate == 10 * RS_GBPS);
	rs_fabric_free(f);
	f = load_with("fabric: {network: {kind: single-switch, hosts: 3}}", more + 1, 1 - 1);
	rs_fabric_free(f);
	more[0] = (struct rs_setting){"fabric.change[+]", "{link: h2, down: true}", {"s", 0, 0}};
	f = load_with("fabric: {network: {kind: single-switch, hosts: 3}}", more, 1);
	assert_int_equal(f->n_down, 1);
	rs_fabric_free(f);
}

/* Of random changes: what is had is routed over links that are up, between all that were joined. */
static void test_random_cuts_leave_one_network_or_are_refused(void **state)
{
	uint32_t had = 0;

	for (uint64_t seed = 0; seed < 500; seed++) {
		struct rs_random r = rs_random_stream(seed, 9, 0);
		uint32_t cuts = 1 + rs_random_below(&r, 6);
		char text[2000] = "fabric:\n  network: {kind: fat-tree, k: 4}\n  change:\n";
		struct rs_error e = {0};
		struct rs_fabric *f;

		for (uint32_t i = 0; i < cuts; i++) {
			uint32_t leaf = rs_random_below(&r, 8), spine = rs_random_below(&r, 8);
			char *end = text + strlen(text);
			size_t room = sizeof(text) - strlen(text);

			if (rs_random_below(&r, 4) == 0)
				snprintf(end, room, "    - {switch: %s%u, down: yes}\n",
					 rs_random_below(&r, 2) ? "spine" : "leaf", spine);
			else if (rs_random_below(&r, 2))
				snprintf(end, room, "    - {link: [leaf%u, spine%u], down: yes}\n",
					 leaf, leaf / 2 * 2 + spine % 2);
			else
				snprintf(end, room, "    - {link: [core%u, spine%u], down: yes}\n",
					 spine % 2 * 2 + leaf % 2, spine);
		}
		if (rs_fabric_load_text(text, strlen(text), "t", ".", NULL, 0, &f, &e)) {
			assert_non_null(strstr(e.what, "no longer reaches"));
			continue;
		}
		had++;
		no_route_is_down(f);
		for (uint32_t a = 0; a < f->n_endpoints; a++)
			for (uint32_t b = 0; b < f->n_endpoints; b++)
				assert_true(f->links[f->endpoints[a].link].down ||
					    f->links[f->endpoints[b].link].down ||
					    rs_fabric_reachable(f, a, b));
		rs_fabric_free(f);
	}
	assert_in_range(had, 50, 480);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_dead_uplink_has_no_route),
		cmocka_unit_test(test_one_of_parallel_links_is_named_by_index),
		cmocka_unit_test(test_a_nic_has_one_link),
		cmocka_unit_test(test_a_gpu_takes_another_nic_when_its_own_is_down),
		cmocka_unit_test(test_a_dead_switch_takes_its_links_down),
		cmocka_unit_test(test_a_switch_has_qos_of_its_own),
		cmocka_unit_test(test_nics_and_gpus),
		cmocka_unit_test(test_what_cannot_be_changed_is_refused_with_names),
		cmocka_unit_test(test_what_ifs_take_away_repair_and_add),
		cmocka_unit_test(test_random_cuts_leave_one_network_or_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
