/* What a description means to the engine, over random networks: directions of links, the tree that
 * frames to all follow, the digest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "plant/plant.h"
#include "unit/plant/networks.h"

enum { NETWORKS = 200 };

struct planted {
	struct rs_fabric *f;
	struct rs_arena *a;
	struct rs_plant *p;
};

static void plant(struct planted *x)
{
	struct rs_error e = {0};

	x->a = rs_arena_create(0);
	if (rs_plant_create(x->f, NULL, 1, x->a, &x->p, &e))
		fail_msg("%s", e.what);
}

static struct planted random_plant(struct rs_random *r)
{
	static struct network_text t;
	struct planted x = {0};
	struct rs_error e = {0};

	for (unsigned i = 0; !x.f; i++) {
		t.n = 0;
		put_fabric(&t, r);
		if (rs_fabric_load_text(t.s, t.n, "test", ".", NULL, 0, &x.f, &e) && i > 50)
			fail_msg("%s\n%s", e.what, t.s);
	}
	/* some links between switches are down: not all hosts need reach all */
	for (uint32_t i = 0; i < x.f->n_links; i++)
		x.f->links[i].down = x.f->links[i].a.is_switch && !rs_random_below(r, 5);
	plant(&x);
	return x;
}

static void done(struct planted *x)
{
	rs_arena_destroy(x->a);
	rs_fabric_free(x->f);
}

static bool same_end(const struct rs_link_end *a, const struct rs_link_end *b)
{
	return a->is_switch == b->is_switch && a->id == b->id &&
	       (!a->is_switch || a->port == b->port);
}

static void test_directions(void **state)
{
	struct rs_random r = rs_random_stream(7, 1, 1);

	for (unsigned i = 0; i < NETWORKS; i++) {
		struct planted x = random_plant(&r);

		for (uint32_t s = 0; s < x.f->n_switches; s++)
			for (uint32_t k = 0; k < x.f->switches[s].n_ports; k++) {
				const struct rs_link_end me = {true, s, (uint16_t)k};
				struct rs_plant_way out, in;

				rs_plant_port_way(x.p, s, k, false, &out);
				rs_plant_port_way(x.p, s, k, true, &in);
				assert_true(same_end(&out.from, &me) && same_end(&in.to, &me));
				assert_true(same_end(&out.to, &in.from));
				assert_int_equal(out.rate, in.rate);
				/* what comes in passes this switch's pipeline */
				assert_int_equal(
					in.delay - x.f->links[rs_plant_port_link(x.p, s, k)].delay,
					rs_fabric_qos(x.f, s)->switch_latency);
			}
		done(&x);
	}
}

/* Switches that a frame to all reaches, each once, from a switch. */
static void flood(const struct planted *x, uint32_t sw, uint32_t from_link, unsigned *times)
{
	times[sw]++;
	assert_int_equal(times[sw], 1); /* a second time would be a loop */
	for (uint32_t k = 0; k < x->f->switches[sw].n_ports; k++) {
		uint32_t link = rs_plant_port_link(x->p, sw, k);
		struct rs_plant_way w;

		rs_plant_port_way(x->p, sw, k, false, &w);
		if (w.to.is_switch && link != from_link && rs_plant_port_floods(x->p, sw, k))
			flood(x, w.to.id, link, times);
	}
}

/* The same by all links that are up. */
static void spread(const struct planted *x, uint32_t sw, bool *reached)
{
	reached[sw] = true;
	for (uint32_t k = 0; k < x->f->switches[sw].n_ports; k++) {
		uint32_t link = rs_plant_port_link(x->p, sw, k);
		struct rs_plant_way w;

		rs_plant_port_way(x->p, sw, k, false, &w);
		if (w.to.is_switch && !x->f->links[link].down && !reached[w.to.id])
			spread(x, w.to.id, reached);
	}
}

static void test_the_tree_reaches_all_once(void **state)
{
	struct rs_random r = rs_random_stream(7, 2, 1);

	for (unsigned i = 0; i < NETWORKS; i++) {
		struct planted x = random_plant(&r);

		for (uint32_t s = 0; s < x.f->n_switches; s++) {
			unsigned times[64] = {0};
			bool reached[64] = {0};

			assert_true(x.f->n_switches <= 64);
			flood(&x, s, UINT32_MAX, times);
			spread(&x, s, reached);
			for (uint32_t k = 0; k < x.f->n_switches; k++)
				assert_int_equal(times[k], reached[k]);
		}
		for (uint32_t l = 0; l < x.f->n_links; l++)
			if (!x.f->links[l].a.is_switch)
				assert_true(rs_plant_port_floods(x.p, x.f->links[l].b.id,
								 x.f->links[l].b.port));
		done(&x);
	}
}

static void test_the_digest_is_of_the_network_alone(void **state)
{
	struct rs_random r = rs_random_stream(7, 3, 1);

	for (unsigned i = 0; i < NETWORKS; i++) {
		struct planted x = random_plant(&r);
		struct rs_fabric_link *l = &x.f->links[rs_random_below(&r, x.f->n_links)];
		uint64_t d = rs_plant_digest(x.p);

		l->rate *= 2;
		l->delay += 5;
		x.f->qos.buffer++;
		assert_true(rs_plant_digest(x.p) == d);
		l->down = !l->down;
		assert_true(rs_plant_digest(x.p) != d);
		l->down = !l->down;
		l->b.port++;
		assert_true(rs_plant_digest(x.p) != d);
		l->b.port--;
		assert_true(rs_plant_digest(x.p) == d);
		done(&x);
	}
}

/* A NIC's and a queue pair's, by the numbers of a description written out. */
static void test_a_nic_and_its_queue_pairs(void **state)
{
	struct planted x = {
		.f = load("fabric:\n"
			  "  network: {kind: single-switch, hosts: 2, rate: 100G, mtu: 1024}\n"
			  "  qos:\n"
			  "    cnp_dscp: 40\n"
			  "    classes:\n"
			  "      - {class: 2, lossless: true, weight: 7, dscp: 10}\n"
			  "      - {class: 3, lossless: false, ecn: true, weight: 3}\n"
			  "  cc: {kind: swift, target: 30us}\n"
			  "  transport: {timeout: 9, retry: 2, ack_every: 3}\n")};
	struct rs_plant_port port;
	struct rs_nic_config nic;
	struct rs_qp_attr qp;

	plant(&x);
	rs_plant_nic(x.p, 1, &nic);
	assert_int_equal(nic.endpoint, 1);
	assert_int_equal(nic.line_rate, 100 * RS_GBPS);
	assert_int_equal(nic.cnp_tos, 40 << 2);
	assert_int_equal(nic.ack_every, 3);
	assert_int_equal(nic.weight[2], 7);
	assert_int_equal(nic.weight[3], 3);
	assert_string_equal(nic.cc[0].ops->name, "swift");
	rs_plant_nic_port(x.p, 1, &port);
	assert_int_equal(port.lfc.classes, 1 << 2);
	assert_int_equal(port.response, rs_pfc_response_time(100 * RS_GBPS));
	assert_true(port.buffer.size == UINT64_MAX || port.buffer.xoff < port.buffer.size);
	rs_plant_qp(x.p, 0, 2, &qp);
	assert_int_equal(qp.path_mtu, 1024);
	assert_int_equal(qp.tos, 10 << 2);
	assert_int_equal(qp.timeout, 9);
	assert_int_equal(qp.retry_cnt, 2);
	rs_plant_qp(x.p, 0, 3, &qp);
	assert_int_equal(qp.tos & 3, 2);
	done(&x);
}

static void test_wrong_congestion_control_is_named(void **state)
{
	struct rs_fabric *f = load("fabric:\n  network: {kind: single-switch, hosts: 2}\n"
				   "  cc: dcqnc\n");
	struct rs_arena *a = rs_arena_create(0);
	struct rs_error e = {0};
	struct rs_plant *p;

	assert_int_equal(rs_plant_create(f, NULL, 1, a, &p, &e), -22);
	assert_int_equal(e.line, 3);
	assert_non_null(strstr(e.what, "did you mean 'dcqcn'"));
	rs_arena_destroy(a);
	rs_fabric_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_directions),
		cmocka_unit_test(test_the_tree_reaches_all_once),
		cmocka_unit_test(test_the_digest_is_of_the_network_alone),
		cmocka_unit_test(test_a_nic_and_its_queue_pairs),
		cmocka_unit_test(test_wrong_congestion_control_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
