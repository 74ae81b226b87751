/* Another transport than RoCE in the simulator's hosts: a stop and wait (toy.h), against closed
 * forms, and on random fabrics with losses, drops and the insides of hosts. And RoCE's NICs as
 * functions of a shared port, as any endpoint is: nothing changes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/random.h"
#include "port/share.h"
#include "sim/transport.h"
#include "toy.h"
#include "unit/sim/build.h"
#include "unit/sim/load.h"

enum { SEEDS = 60 };

/* ---- The toy as a transport of the simulator ---- */

struct ends {
	struct toy *toy;
	const struct rs_plant *plant;
};

static int create(const struct rs_sim_port *port, struct rs_sim_ends *out, struct rs_error *e)
{
	struct ends *x = calloc(1, sizeof(*x));

	x->plant = port->plant;
	x->toy = toy_create(port->endpoint, port->first, port->n_ends,
			    (uint16_t)port->plant->f->transport.mtu, 200 * RS_US, port->free);
	x->toy->absent = port->absent;
	x->toy->absent_arg = port->absent_arg;
	*out = (struct rs_sim_ends){.self = x, .endpoint = &x->toy->as_endpoint};
	return 0;
}

static void destroy(void *self)
{
	struct ends *x = self;

	if (x)
		toy_destroy(x->toy);
	free(x);
}

static int open(void *self, const struct rs_sim_conn_end *end)
{
	struct ends *x = self;
	struct rs_qp_attr at;
	struct toy_end *t =
		toy_open(x->toy, end->number, end->peer, end->peer_number, end->tc, end->user);

	rs_plant_qp(x->plant, 0, end->tc, &at);
	t->tos = at.tos;
	t->sport = end->sport;
	assert_true(end->depth <= TOY_MESSAGES);
	return 0;
}

static void close_end(void *self, uint32_t number)
{
	toy_find(((struct ends *)self)->toy, number)->open = false;
}

static bool user(void *self, uint32_t number, uint64_t *out)
{
	const struct toy_end *t = toy_find(((struct ends *)self)->toy, number);

	if (t)
		*out = t->user;
	return t != NULL;
}

static void post(void *self, uint32_t number, uint64_t bytes, uint8_t op, bool tell, rs_time now)
{
	assert_int_equal(op, RS_FLOW_WRITE);
	assert_true(toy_post(((struct ends *)self)->toy, number, bytes, tell));
}

static bool news(void *self, struct rs_sim_news *out)
{
	struct toy_news n;

	if (!toy_take_news(((struct ends *)self)->toy, &n))
		return false;
	*out = (struct rs_sim_news){n.user, n.arrived, RS_WC_SUCCESS};
	return true;
}

static bool look(void *self, uint32_t number, struct rs_sim_end_now *out)
{
	*out = (struct rs_sim_end_now){.rate = RS_GBPS, .window = UINT64_MAX};
	return true;
}

static void collect(void *self, struct rs_sim_counters *sum, uint64_t *payload)
{
	const struct toy_counts *c = &((struct ends *)self)->toy->count;

	*payload = c->payload;
	sum->data_packets += c->data;
	sum->ack_packets += c->acks;
	sum->packets_sent += c->data + c->acks;
	sum->packets_delivered += c->taken;
	sum->retransmits += c->again;
	sum->nic_drops += c->dropped;
}

static uint64_t dropped(void *self)
{
	return ((struct ends *)self)->toy->count.dropped;
}

static const struct rs_sim_transport toy = {
	.name = "the toy",
	.create = create,
	.destroy = destroy,
	.open = open,
	.close = close_end,
	.user = user,
	.post = post,
	.news = news,
	.look = look,
	.collect = collect,
	.dropped = dropped,
};

/* ---- Closed forms ---- */

/* Over one switch: a packet and its ACK each cross two links, one after the other. */
static rs_time round_trip(int64_t rate, rs_time delay, uint32_t payload)
{
	struct rs_pace pace = rs_pace_of(rate);
	uint32_t data = TOY_HEADERS + payload, gap = RS_PREAMBLE_IPG_BYTES;

	data = data < RS_ETH_MIN_FRAME ? RS_ETH_MIN_FRAME : data;
	return 4 * delay + 2 * rs_pace_time(pace, data + gap) +
	       2 * rs_pace_time(pace, RS_ETH_MIN_FRAME + gap);
}

static void test_a_flow_takes_a_round_trip_a_packet(void **state)
{
	const uint64_t bytes[] = {1, 100, 1000, 1001, 250000};

	for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		struct hand *h = hand_single(2, 100 * RS_GBPS, 500 * RS_NS, 1000);
		struct rs_sim_options o = {.seed = 1, .transport = &toy};
		uint32_t whole = (uint32_t)(bytes[i] / 1000), rest = (uint32_t)(bytes[i] % 1000);
		rs_time expected = whole * round_trip(100 * RS_GBPS, 500 * RS_NS, 1000);
		struct rs_sim_result *r;

		if (rest)
			expected += round_trip(100 * RS_GBPS, 500 * RS_NS, rest);
		hand_flow(h, 0, 1, bytes[i], 0);
		assert_int_equal(rs_sim_run(&h->f, &o, &r, NULL), 0);
		assert_true(r->complete);
		assert_int_equal(r->flows[0].finish, expected);
		assert_int_equal(r->counters.data_packets, whole + !!rest);
		assert_int_equal(r->counters.ack_packets, whole + !!rest);
		assert_int_equal(r->nic_bytes[0], bytes[i]);
		rs_sim_result_free(r);
		hand_free(h);
	}
}

/* A packet that a link loses costs the timeout, and nothing else. */
static void test_losses_cost_a_timeout_each(void **state)
{
	struct hand *h = hand_single(2, 100 * RS_GBPS, 500 * RS_NS, 1000);
	struct rs_sim_options o = {.seed = 7, .transport = &toy};
	rs_time each = round_trip(100 * RS_GBPS, 500 * RS_NS, 1000);
	struct rs_sim_result *r;

	h->f.links[1].loss = 0.02;
	hand_flow(h, 0, 1, 2000000, 0);
	assert_int_equal(rs_sim_run(&h->f, &o, &r, NULL), 0);
	assert_true(r->complete);
	assert_in_range(r->counters.link_losses, 20, 200);
	assert_int_equal(r->counters.retransmits, r->counters.link_losses);
	assert_int_equal(r->flows[0].finish,
			 2000 * each + (rs_time)r->counters.link_losses * 200 * RS_US);
	rs_sim_result_free(r);
	hand_free(h);
}

/* ---- Random fabrics ---- */

static const char *one_of(struct rs_random *r, const char *const *from, uint32_t n)
{
	return from[rs_random_below(r, n)];
}

static void random_hosts(struct rs_random *r, struct text *t, uint32_t n)
{
	static const char *const pcie[] = {"gen3x8", "gen4x16", "gen5x16"};

	if (rs_random_below(r, 2))
		return;
	add(t,
	    "  hosts: [{name: h, count: %u, cpu: spr, sockets: 2, gpus: [{name: g, model: H100, "
	    "on: socket%u, pcie: gen5x16}], nics: [{name: n, model: ConnectX-7, on: socket0, "
	    "pcie: %s}]}]\n",
	    n, rs_random_below(r, 2), one_of(r, pcie, 3));
}

static void random_text(struct rs_random *r, struct text *t, const char *cc, bool one_path)
{
	static const char *const losses[] = {"0", "0", "0.001", "0.01"};
	static const char *const rates[] = {"25G", "100G", "400G"};
	static const char *const qos[] = {"buffer: 20MB", "buffer: 20MB, nic_buffer: 2MB",
					  "pfc: false, buffer: 10kB"};
	static const char *const routing[] = {"ecmp", "spray", "adaptive"};
	uint32_t leaves = 1 + rs_random_below(r, 3), per = 2 + rs_random_below(r, 3);
	uint32_t n = leaves * per;

	*t = (struct text){.n = 0};
	add(t, "fabric:\n  cc: {kind: %s}\n", cc);
	random_hosts(r, t, n);
	add(t,
	    "  network: {kind: leaf-spine, leaves: %u, spines: %u, hosts_per_leaf: %u, rate: %s, "
	    "delay: %uns, loss: %s}\n",
	    leaves, 1 + rs_random_below(r, 3), per, one_of(r, rates, 3), rs_random_below(r, 2000),
	    one_of(r, losses, 4));
	add(t, "  qos: {%s, routing: %s}\n", one_of(r, qos, 3),
	    one_path ? "ecmp" : one_of(r, routing, 3));
	add(t, "workload:\n");
	if (rs_random_below(r, 3))
		add(t,
		    "  - collective: {op: all-reduce, algorithm: ring, bytes: %ukB, ranks: %u}\n",
		    1 + rs_random_below(r, 200), n);
	add(t, "  - flows: [");
	for (uint32_t i = 0, flows = 1 + rs_random_below(r, 30); i < flows; i++) {
		uint32_t src = rs_random_below(r, n), hop = 1 + rs_random_below(r, n - 1);

		add(t, "{src: h%u, dst: h%u, bytes: %uB, start: %uns}, ", src, (src + hop) % n,
		    1 + rs_random_below(r, 150000), rs_random_below(r, 50000));
	}
	add(t, "]\n");
}

static void check_balance(const struct rs_sim_result *r)
{
	const struct rs_sim_counters *c = &r->counters;

	assert_true(r->complete);
	assert_int_equal(c->packets_sent, c->packets_delivered + c->drops + c->nic_drops +
						  c->link_losses + c->packets_in_flight);
	for (uint32_t i = 0; i < r->n_flows; i++)
		assert_true(r->flows[i].finish != RS_NEVER);
}

static void check_same(const struct rs_sim_result *a, const struct rs_sim_result *b)
{
	assert_int_equal(a->sim_time, b->sim_time);
	assert_memory_equal(a->flows, b->flows, a->n_flows * sizeof(*a->flows));
	assert_memory_equal(&a->counters, &b->counters, sizeof(a->counters));
}

static void test_random_fabrics_carry_all_of_it_on_any_threads(void **state)
{
	uint64_t lost = 0, dropped = 0, inside = 0, collectives = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct rs_random r = rs_random_stream(seed, 0, 0x746f79);
		struct loaded one, three;
		struct text t;

		random_text(&r, &t, "none", false);
		one = load_run(t.s, (struct rs_sim_options){.seed = seed, .transport = &toy});
		three = load_run(t.s, (struct rs_sim_options){
					      .seed = seed, .transport = &toy, .threads = 3});
		check_balance(one.r);
		check_same(one.r, three.r);
		lost += one.r->counters.link_losses;
		dropped += one.r->counters.drops;
		inside += one.r->n_links > 0;
		collectives += one.r->n_jobs > 1;
		load_free(&one);
		load_free(&three);
	}
	/* they met all of it */
	assert_true(lost > 100 && dropped > 10);
	assert_in_range(inside, SEEDS / 4, SEEDS);
	assert_in_range(collectives, SEEDS / 4, SEEDS);
}

/* ---- RoCE behind a share ---- */

static struct rs_share shares[64];

static int create_shared(const struct rs_sim_port *port, struct rs_sim_ends *out,
			 struct rs_error *e)
{
	int err = sim_roce.create(port, out, e);
	struct rs_share *s = &shares[port->endpoint];
	struct rs_plant_port p;

	if (err)
		return err;
	rs_plant_nic_port(port->plant, port->endpoint, &p);
	rs_share_init(s, p.weight, port->free);
	assert_int_equal(rs_share_add(s, out->endpoint, port->endpoint, 1, 1), 0);
	out->endpoint = &s->as_endpoint;
	return 0;
}

/* Data is of one class, CNPs of a strict one: the share's turns are the NIC's. */
static void test_a_nic_alone_behind_a_share_is_a_nic(void **state)
{
	static const char *const ccs[] = {"none", "dcqcn", "swift"};
	struct rs_sim_transport shared = sim_roce;
	uint64_t cnps = 0, lost = 0;

	shared.create = create_shared;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct rs_random r = rs_random_stream(seed, 0, 0x736872);
		struct loaded bare, behind;
		struct text t;

		random_text(&r, &t, one_of(&r, ccs, 3), true);
		bare = load_run(t.s, (struct rs_sim_options){.seed = seed});
		behind = load_run(t.s, (struct rs_sim_options){.seed = seed, .transport = &shared});
		check_balance(behind.r);
		check_same(bare.r, behind.r);
		cnps += behind.r->counters.cnps;
		lost += behind.r->counters.link_losses + behind.r->counters.drops;
		load_free(&bare);
		load_free(&behind);
	}
	assert_true(cnps && lost > 100);
}

static void test_its_packets_cannot_be_captured(void **state)
{
	struct hand *h = hand_single(2, 100 * RS_GBPS, 500 * RS_NS, 1000);
	struct rs_sim_options o = {.seed = 1, .transport = &toy, .pcap = "/dev/null"};
	struct rs_sim_result *r = NULL;
	struct rs_error e = {0};

	hand_flow(h, 0, 1, 1000, 0);
	assert_int_equal(rs_sim_run(&h->f, &o, &r, &e), -EINVAL);
	assert_non_null(strstr(e.what, "the toy"));
	hand_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_flow_takes_a_round_trip_a_packet),
		cmocka_unit_test(test_losses_cost_a_timeout_each),
		cmocka_unit_test(test_random_fabrics_carry_all_of_it_on_any_threads),
		cmocka_unit_test(test_a_nic_alone_behind_a_share_is_a_nic),
		cmocka_unit_test(test_its_packets_cannot_be_captured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
