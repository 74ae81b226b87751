/* A fabric by calls, linked with no reader of text: what is refused, and with which words; that a
 * network that can be built has routes between all that it joins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include "base/random.h"
#include "base/units.h"
#include "fabric/build.h"
#include "host/build.h"

static const struct rs_where nowhere;

struct made {
	struct rs_load l;
	struct rs_error e;
	struct rs_fabric *f;
};

static void begin(struct made *m)
{
	memset(m, 0, sizeof(*m));
	m->f = rs_fabric_create(&m->l, "made", RS_PRESET_NONE, &m->e);
	assert_non_null(m->f);
}

static void single(struct made *m, uint32_t hosts)
{
	struct rs_network_conf c = {.plain_hosts = hosts};

	begin(m);
	rs_fabric_network(&m->l, m->f, RS_NET_SINGLE, &c, 0);
	rs_fabric_route(&m->l, m->f);
}

static void flow(struct made *m, uint32_t src, uint32_t dst, uint64_t bytes)
{
	struct rs_flow one = {.src = src, .dst = dst, .bytes = bytes, .tc = m->f->qos.data_tc};
	struct rs_job *j = rs_fabric_add_job(&m->l, m->f, RS_JOB_FLOWS, NULL, nowhere);

	if (j)
		rs_fabric_set_flows(&m->l, m->f, j, &one, 1);
}

static void refused(struct made *m, const char *words)
{
	assert_true(rs_fabric_finish(&m->l, m->f) < 0);
	if (!strstr(m->e.what, words))
		fail_msg("expected '%s', found '%s'", words, m->e.what);
	rs_fabric_free(m->f);
}

static void test_two_hosts_and_a_flow(void **state)
{
	struct made m;

	single(&m, 2);
	flow(&m, 0, 1, 1000);
	flow(&m, 1, 0, 1000);
	assert_int_equal(rs_fabric_finish(&m.l, m.f), 0);
	assert_int_equal(m.f->n_endpoints, 2);
	assert_int_equal(m.f->n_links, 2);
	assert_string_equal(m.f->jobs[0].name, "flows");
	assert_string_equal(m.f->jobs[1].name, "flows-2");
	assert_true(rs_fabric_reachable(m.f, 0, 1));
	rs_fabric_free(m.f);
}

static void test_flows_that_cannot_be_are_refused(void **state)
{
	struct made m;

	single(&m, 2);
	flow(&m, 0, 0, 1000);
	refused(&m, "from h0 to itself");
	single(&m, 2);
	flow(&m, 0, 1, 0);
	refused(&m, "a flow of zero bytes");
	single(&m, 2);
	flow(&m, 0, 7, 1);
	refused(&m, "there is no endpoint 7; there are 2, from 0");
	single(&m, 2);
	rs_fabric_add_job(&m.l, m.f, RS_JOB_FLOWS, "empty", nowhere);
	refused(&m, "job 'empty': no flows in it");
}

static void test_figures_out_of_range_are_refused_by_name(void **state)
{
	struct made m;

	single(&m, 2);
	m.f->qos.tc[3].pmax = NAN;
	refused(&m, "class: pmax: expected 0 to 1");
	single(&m, 2);
	m.f->qos.tc[3].kmin = m.f->qos.tc[3].kmax + 1;
	refused(&m, "class: kmin");
	single(&m, 2);
	m.f->transport.mtu = 1500;
	refused(&m, "mtu: expected 256, 512, 1024, 2048 or 4096, found 1500");
	single(&m, 2);
	m.f->qos.tc_of_dscp[5] = 8;
	refused(&m, "dscp 5: expected a class from 0 to 7, found 8");
	single(&m, 2);
	m.f->transport.rto_low = m.f->transport.rto_high + 1;
	refused(&m, "transport: rto_low");
	single(&m, 2);
	m.f->transport.in_flight = RS_IN_FLIGHT_MAX + 1;
	refused(&m, "transport: in_flight: expected 0 to 8192, found 8193");
	single(&m, 2);
	m.f->hosts[1].cc = 1;
	refused(&m, "a host: cc, of rs_fabric_add_cc(): expected 0 to 0, found 1");
	single(&m, 2);
	m.f->links[0].rate = 0;
	refused(&m, "a link: rate");
	single(&m, 2);
	m.f->qos.nic_buffer = 1;
	refused(&m, "nic_buffer");
	begin(&m);
	refused(&m, "a fabric without a network");
}

static void test_networks_that_cannot_be_are_refused(void **state)
{
	struct rs_network_conf odd = {.k = 5}, none = {.leaves = 2},
			       few = {.k = 4, .plain_hosts = 17};
	struct made m;

	begin(&m);
	rs_fabric_network(&m.l, m.f, RS_NET_FAT_TREE, &odd, 0);
	refused(&m, "expected an even number from 2 to 128, found 5");
	begin(&m);
	rs_fabric_network(&m.l, m.f, RS_NET_LEAF_SPINE, &none, 0);
	refused(&m, "spines");
	begin(&m);
	rs_fabric_network(&m.l, m.f, RS_NET_FAT_TREE, &few, 0);
	refused(&m, "room for 16 NICs, not 17");
	begin(&m);
	rs_fabric_network(&m.l, m.f, RS_NET_EXPLICIT, &odd, 0);
	refused(&m, "network: kind");
}

/* ---- Drawn ---- */

static struct rs_fabric_link link_of(bool is_switch, uint32_t a, uint32_t b)
{
	return (struct rs_fabric_link){.a = {.is_switch = is_switch, .id = a},
				       .b = {.is_switch = true, .id = b},
				       .rate = 100 * RS_GBPS,
				       .delay = RS_US};
}

/* Hosts in turn on n switches in a row, with all links between neighbours. */
static void row(struct made *m, uint32_t n, uint32_t hosts)
{
	begin(m);
	rs_fabric_plain_hosts(&m->l, m->f, hosts, NULL, nowhere);
	rs_fabric_draw(&m->l, m->f, n, hosts + n, nowhere);
	for (uint32_t i = 0; i < n; i++)
		rs_fabric_add_switch(&m->l, m->f, rs_arena_printf(m->l.arena, "s%u", i), 0,
				     nowhere);
	for (uint32_t i = 0; i < hosts; i++) {
		struct rs_fabric_link k = link_of(false, i, i % n);

		rs_fabric_add_link(&m->l, m->f, &k, nowhere);
	}
	for (uint32_t i = 0; i + 1 < n; i++) {
		struct rs_fabric_link k = link_of(true, i, i + 1);

		rs_fabric_add_link(&m->l, m->f, &k, nowhere);
	}
	rs_fabric_close_links(&m->l, m->f, nowhere);
}

static void test_a_row_of_switches_joins_all(void **state)
{
	for (uint32_t n = 1; n < 12; n++) {
		struct made m;

		row(&m, n, 2 * n);
		rs_fabric_route(&m.l, m.f);
		for (uint32_t i = 0; i < 2 * n; i++)
			for (uint32_t j = 0; j < 2 * n; j++)
				assert_true(i == j || rs_fabric_reachable(m.f, i, j));
		assert_int_equal(rs_fabric_finish(&m.l, m.f), 0);
		rs_fabric_free(m.f);
	}
}

static void test_links_that_cannot_be_are_refused(void **state)
{
	struct rs_fabric_link k;
	struct made m;

	row(&m, 2, 2);
	k = link_of(false, 1, 0);
	rs_fabric_add_link(&m.l, m.f, &k, nowhere);
	refused(&m, "a second link of h1");
	row(&m, 2, 2);
	k = link_of(true, 1, 1);
	rs_fabric_add_link(&m.l, m.f, &k, nowhere);
	refused(&m, "from a switch to itself");
	row(&m, 2, 2);
	k = link_of(false, 0, 1);
	k.b.is_switch = false;
	rs_fabric_add_link(&m.l, m.f, &k, nowhere);
	refused(&m, "a link between two NICs");
	row(&m, 2, 2);
	k = link_of(true, 0, 9);
	rs_fabric_add_link(&m.l, m.f, &k, nowhere);
	refused(&m, "there is no switch 9; there are 2, from 0");
	row(&m, 2, 2);
	k = link_of(true, 0, 1);
	for (int i = 0; i < 4; i++)
		rs_fabric_add_link(&m.l, m.f, &k, nowhere);
	refused(&m, "more links than rs_fabric_draw() made room for");
	row(&m, 2, 2);
	rs_fabric_add_switch(&m.l, m.f, "more", 0, nowhere);
	refused(&m, "more switches than rs_fabric_draw() made room for");
	row(&m, 3, 6);
	m.f->links[7].down = true;
	rs_fabric_close_changes(&m.l, m.f, nowhere);
	refused(&m, "the changes cut the network in two");
}

/* ---- Hosts with an inside ---- */

static struct rs_host *two_gpus(struct rs_load *l)
{
	struct rs_host *h = rs_load_take(l, 1, sizeof(*h));
	static const struct {
		enum rs_part_kind kind;
		const char *name;
		int parent;
	} part[] = {{RS_PART_SOCKET, "socket0", RS_NO_PART},
		    {RS_PART_NIC, "nic0", 0},
		    {RS_PART_GPU, "gpu0", 0},
		    {RS_PART_SOCKET, "socket1", RS_NO_PART},
		    {RS_PART_GPU, "gpu1", 3},
		    {RS_PART_NIC, "nic1", 3}};

	h->source = "calls";
	for (unsigned i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
		struct rs_part *p = rs_host_part_add(l, h, part[i].kind, part[i].name);

		p->parent = part[i].parent;
		if (p->parent >= 0)
			p->up = (struct rs_pcie){.gen = 5, .lanes = 16};
		if (p->kind == RS_PART_NIC)
			p->port_rate = 400 * RS_GBPS;
	}
	rs_host_close(l, h, nowhere);
	return h;
}

static void test_a_collective_on_gpus_uses_the_nearest_nics(void **state)
{
	struct rs_network_conf c = {.rails = 2};
	struct rs_job *j;
	struct made m;

	begin(&m);
	rs_fabric_add_hosts(&m.l, m.f, "g", 0, 100, two_gpus(&m.l), nowhere);
	rs_fabric_add_hosts(&m.l, m.f, "g", 100, 28, two_gpus(&m.l), nowhere);
	rs_fabric_close_hosts(&m.l, m.f, nowhere);
	rs_fabric_network(&m.l, m.f, RS_NET_RAIL, &c, 0);
	rs_fabric_route(&m.l, m.f);
	j = rs_fabric_add_job(&m.l, m.f, RS_JOB_COLLECTIVE, NULL, nowhere);
	rs_collective_defaults(&j->collective, m.f);
	assert_int_equal(rs_fabric_finish(&m.l, m.f), 0);
	assert_int_equal(m.f->n_gpus, 256);
	assert_string_equal(m.f->hosts[127].name, "g127");
	for (uint32_t i = 0; i < 256; i++)
		assert_int_equal(rs_fabric_rank_endpoint(m.f, i), i);
	assert_int_equal(m.f->jobs[0].collective.channels, 2);
	rs_fabric_free(m.f);
	begin(&m);
	rs_fabric_add_hosts(&m.l, m.f, "g", 0, 2, two_gpus(&m.l), nowhere);
	rs_fabric_add_hosts(&m.l, m.f, "g", 1, 2, two_gpus(&m.l), nowhere);
	rs_fabric_close_hosts(&m.l, m.f, nowhere);
	refused(&m, "two hosts are named 'g1'");
}

/* Any figures at all end in a fabric or in words. */
static void test_random_networks_are_built_or_refused(void **state)
{
	struct rs_random r = rs_random_stream(7, 1, 2);
	unsigned good = 0;

	for (int i = 0; i < 4000; i++) {
		struct rs_network_conf c = {.k = rs_random_below(&r, 10),
					    .tiers = rs_random_below(&r, 5),
					    .leaves = rs_random_below(&r, 9),
					    .spines = rs_random_below(&r, 9),
					    .rails = rs_random_below(&r, 5),
					    .links = rs_random_below(&r, 4),
					    .hosts_per_leaf = rs_random_below(&r, 9),
					    .plain_hosts = rs_random_below(&r, 30),
					    .nics = rs_random_below(&r, 5),
					    .ports = rs_random_below(&r, 40)};
		struct made m;

		begin(&m);
		rs_fabric_network(&m.l, m.f, (enum rs_network_kind)rs_random_below(&r, 5), &c,
				  rs_random_below(&r, 4));
		if (rs_fabric_finish(&m.l, m.f))
			assert_true(m.e.code < 0 && *m.e.what);
		else
			good++;
		rs_fabric_free(m.f);
	}
	assert_true(good > 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_hosts_and_a_flow),
		cmocka_unit_test(test_flows_that_cannot_be_are_refused),
		cmocka_unit_test(test_figures_out_of_range_are_refused_by_name),
		cmocka_unit_test(test_networks_that_cannot_be_are_refused),
		cmocka_unit_test(test_a_row_of_switches_joins_all),
		cmocka_unit_test(test_links_that_cannot_be_are_refused),
		cmocka_unit_test(test_a_collective_on_gpus_uses_the_nearest_nics),
		cmocka_unit_test(test_random_networks_are_built_or_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
