/* The switches of random networks in software, over socket pairs that stand for cables: every host
 * reaches every other, once, by the described paths; what neighbours tell each other survives the
 * wire; wrong cables and strangers are told. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/bytes.h"
#include "bridge/bridge.h"
#include "bridge/hello.h"
#include "bridge/raw.h"
#include "unit/plant/networks.h"
#include "wire/frame.h"

enum { SWITCHES = 64, HOSTS = 64, NETWORKS = 20, FRAME = 200, WAIT_MS = 10000 };

/* ---- The frame of neighbours ---- */

static void test_what_is_said_is_heard(void **state)
{
	struct rs_random r = rs_random_stream(3, 1, 1);
	const uint8_t from[6] = {2, 0, 0, 0, 0, 9};
	uint8_t frame[HELLO_MAX];
	struct hello h, got;

	for (unsigned i = 0; i < 1000; i++) {
		size_t n;

		memset(&h, 0, sizeof(h));
		memset(&got, 0, sizeof(got));
		h.digest = rs_random_u64(&r);
		h.sw = rs_random_below(&r, UINT32_MAX);
		h.port = (uint16_t)rs_random_below(&r, 65536);
		h.asks = rs_random_below(&r, 2);
		h.n = (uint8_t)rs_random_below(&r, HELLO_PLACES + 1);
		for (unsigned k = 0; k < h.n; k++) {
			h.place[k].stamp = rs_random_u64(&r);
			h.place[k].endpoint = rs_random_below(&r, UINT32_MAX);
			rs_put32(h.place[k].address + 2, rs_random_below(&r, UINT32_MAX));
		}
		n = hello_encode(&h, from, frame);
		assert_in_range(n, 60, HELLO_MAX);
		assert_true(hello_decode(frame, n, &got));
		assert_memory_equal(&h, &got, sizeof(h));
		/* cut short it is none, and nothing beyond its end is read */
		for (size_t cut = 0; h.n && cut < HELLO_HEAD + h.n * (size_t)HELLO_PLACE;
		     cut += 7) {
			uint8_t *part = malloc(cut ? cut : 1);

			memcpy(part, frame, cut);
			assert_false(hello_decode(part, cut, &got));
			free(part);
		}
		frame[14 + rs_random_below(&r, 4)] ^= 1;
		assert_false(hello_decode(frame, n, &got));
	}
}

/* ---- Networks ---- */

struct net {
	struct rs_fabric *f;
	struct rs_arena *a;
	struct rs_plant *p;
	struct rs_bridge *b[SWITCHES];
	pthread_t thread[SWITCHES];
	int stop[SWITCHES];
	int host[HOSTS];
	/* cables that were told: [switch][port] */
	int told[SWITCHES][RS_BRIDGE_PORTS_MAX];
};

struct teller {
	struct net *n;
	uint32_t sw;
};

static void tell(void *arg, unsigned port, enum rs_bridge_cable what, uint32_t sw, uint16_t sw_port)
{
	const struct teller *t = arg;

	__atomic_store_n(&t->n->told[t->sw][port], (int)what + 1, __ATOMIC_RELEASE);
}

static void cable(int *a, int *b)
{
	int pair[2], room = 4 << 20;

	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair), 0);
	setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	*a = pair[0];
	*b = pair[1];
}

struct runner {
	struct rs_bridge *b;
	int stop;
};

static void *run(void *arg)
{
	struct runner *r = arg;
	intptr_t err = rs_bridge_run(r->b, r->stop);

	free(r);
	return (void *)err;
}

static void make(struct net *n, struct rs_bridge_config *c, struct teller *t)
{
	struct rs_error e = {0};

	for (uint32_t i = 0; i < n->f->n_links; i++) {
		const struct rs_fabric_link *l = &n->f->links[i];
		int *a = l->a.is_switch ? &c[l->a.id].port[l->a.port].fd : &n->host[l->a.id];

		if (!l->down)
			cable(a, &c[l->b.id].port[l->b.port].fd);
	}
	for (uint32_t s = 0; s < n->f->n_switches; s++) {
		struct runner *r = malloc(sizeof(*r));

		t[s] = (struct teller){n, s};
		c[s].queue_step = 1000;
		c[s].cable = tell;
		c[s].cable_arg = &t[s];
		rs_bridge_soften(&c[s]);
		if (rs_bridge_create(&c[s], &n->b[s], &e))
			fail_msg("%s", e.what);
		n->stop[s] = eventfd(0, 0);
		*r = (struct runner){n->b[s], n->stop[s]};
		assert_int_equal(pthread_create(&n->thread[s], NULL, run, r), 0);
	}
}

static void describe(struct net *n, struct rs_bridge_config *c)
{
	struct rs_error e = {0};

	n->a = rs_arena_create(0);
	if (rs_plant_create(n->f, NULL, 1, n->a, &n->p, &e))
		fail_msg("%s", e.what);
	for (uint32_t s = 0; s < n->f->n_switches; s++)
		if (rs_bridge_describe(n->p, s, &c[s], &e))
			fail_msg("%s", e.what);
}

/* The switches stand still and can be looked at. */
static void halt(struct net *n)
{
	uint64_t one = 1;

	for (uint32_t s = 0; s < n->f->n_switches; s++)
		assert_int_equal(write(n->stop[s], &one, sizeof(one)), sizeof(one));
	for (uint32_t s = 0; s < n->f->n_switches; s++) {
		void *err;

		pthread_join(n->thread[s], &err);
		assert_null(err);
		close(n->stop[s]);
	}
}

static void done(struct net *n)
{
	for (uint32_t s = 0; s < n->f->n_switches; s++)
		rs_bridge_destroy(n->b[s]);
	for (uint32_t i = 0; i < n->f->n_endpoints; i++)
		close(n->host[i]);
	rs_arena_destroy(n->a);
	rs_fabric_free(n->f);
}

/* Host from's frame k to host to, or to all (to == UINT32_MAX), in an EtherType for experiments. */
static void send_frame(const struct net *n, uint32_t from, uint32_t to, uint32_t k)
{
	struct virtio_net_hdr none = {0};
	uint8_t bytes[sizeof(none) + FRAME] = {0}, *f = bytes + sizeof(none);

	memcpy(bytes, &none, sizeof(none));
	f[0] = f[6] = 2;
	rs_put32(f + 2, to);
	if (to == UINT32_MAX)
		memset(f, 0xff, 6);
	rs_put32(f + 8, from);
	rs_put16(f + 12, 0x88b6);
	rs_put32(f + 14, k);
	assert_int_equal(send(n->host[from], bytes, sizeof(bytes), 0), sizeof(bytes));
}

/* The number of the next frame at a host; 0: none comes for so long. */
static uint32_t receive(const struct net *n, uint32_t at, int ms)
{
	struct pollfd ready = {.fd = n->host[at], .events = POLLIN};
	uint8_t bytes[sizeof(struct virtio_net_hdr) + FRAME];

	for (;;) {
		uint8_t *f = bytes + sizeof(struct virtio_net_hdr);

		if (poll(&ready, 1, ms) == 0)
			return 0;
		assert_int_equal(recv(n->host[at], bytes, sizeof(bytes), 0), sizeof(bytes));
		if (rs_get16(f + 12) == 0x88b6)
			return rs_get32(f + 14);
	}
}

static void expect(const struct net *n, uint32_t at, uint32_t k)
{
	uint32_t got = receive(n, at, WAIT_MS);

	if (got != k)
		fail_msg("host %u got frame %u, not %u", at, got, k);
}

/* The switches know each other's wires. */
static void await_cables(const struct net *n)
{
	for (unsigned ms = 0;; ms += 5) {
		bool all = true;

		for (uint32_t s = 0; s < n->f->n_switches; s++)
			for (uint32_t k = 0; k < n->f->switches[s].n_ports; k++) {
				struct rs_plant_way w;

				rs_plant_port_way(n->p, s, k, false, &w);
				all &= !w.to.is_switch ||
				       n->f->links[rs_plant_port_link(n->p, s, k)].down ||
				       __atomic_load_n(&n->told[s][k], __ATOMIC_ACQUIRE);
			}
		if (all)
			return;
		assert_true(ms < WAIT_MS);
		usleep(5000);
	}
}

static struct rs_fabric *small_fabric(struct rs_random *r)
{
	static struct network_text t;
	struct rs_error e = {0};
	struct rs_fabric *f;

	for (unsigned i = 0; i < 50; i++) {
		t.n = 0;
		put(&t, "fabric:\n");
		put_network(&t, r);
		put(&t, "  qos: {routing: %s}\n",
		    one_of(r, (const char *const[]){"ecmp", "spray", "adaptive", "flowlet"}, 4));
		if (!rs_fabric_load_text(t.s, t.n, "test", ".", NULL, 0, &f, &e))
			return f;
	}
	fail_msg("%s\n%s", e.what, t.s);
	return NULL;
}

static struct rs_bridge_config config[SWITCHES];
static struct teller teller[SWITCHES];

static void all_to_all(struct rs_random *r, unsigned *routed)
{
	struct net n = {.f = small_fabric(r)};
	uint32_t hosts = n.f->n_endpoints, k = 1, first;
	static struct rs_bridge_report report;

	assert_true(hosts <= HOSTS && n.f->n_switches <= SWITCHES);
	describe(&n, config);
	make(&n, config, teller);
	await_cables(&n);
	/* to all: each other host gets it once */
	for (uint32_t i = 0; i < hosts; i++, k++) {
		send_frame(&n, i, UINT32_MAX, k);
		for (uint32_t at = 0; at < hosts; at++)
			if (at != i)
				expect(&n, at, k);
	}
	/* from now on all are known: to one it comes to that one, at once and in any order of
	 * hosts; the frame after it shows that no other came between */
	first = k;
	for (uint32_t i = 0; i < hosts; i++)
		for (uint32_t to = 0; to < hosts; to++, k++)
			if (i != to) {
				send_frame(&n, i, to, k);
				expect(&n, to, k);
			}
	assert_true(k > first);
	send_frame(&n, 0, UINT32_MAX, k);
	for (uint32_t at = 1; at < hosts; at++)
		expect(&n, at, k);
	halt(&n);
	for (uint32_t s = 0; s < n.f->n_switches; s++) {
		rs_bridge_get_report(n.b[s], &report, false);
		assert_int_equal(report.c.unroutable, 0);
		assert_int_equal(report.c.drops, 0);
		*routed += report.addresses == hosts;
		for (uint32_t p = 0; p < n.f->switches[s].n_ports; p++)
			assert_int_not_equal(n.told[s][p], RS_CABLE_WRONG + 1);
	}
	done(&n);
}

static void test_all_reach_all_once(void **state)
{
	struct rs_random r = rs_random_stream(5, 1, 1);
	unsigned routed = 0;

	for (unsigned i = 0; i < NETWORKS; i++)
		all_to_all(&r, &routed);
	assert_true(routed >= NETWORKS); /* every switch knows every host */
}

static void test_wrong_cables_are_told(void **state)
{
	struct net n = {.f = load("fabric:\n  network: {kind: leaf-spine, leaves: 3, "
				  "hosts_per_leaf: 1, spines: 2, rate: 10G}\n")};
	int swap;

	describe(&n, config);
	/* leaf0 says that its uplinks are each other */
	swap = (int)config[0].port[1].peer;
	config[0].port[1].peer = config[0].port[2].peer;
	config[0].port[2].peer = (uint32_t)swap;
	config[2].digest++; /* leaf2 has another description */
	make(&n, config, teller);
	await_cables(&n);
	usleep(100000);
	halt(&n);
	assert_int_equal(n.told[0][1], RS_CABLE_WRONG + 1);
	assert_int_equal(n.told[0][2], RS_CABLE_WRONG + 1);
	assert_int_equal(n.told[1][1], RS_CABLE_RIGHT + 1);
	assert_int_equal(n.told[2][1], RS_CABLE_FOREIGN + 1);
	assert_int_equal(n.told[3][2], RS_CABLE_FOREIGN + 1);
	assert_int_equal(n.told[3][0], RS_CABLE_RIGHT + 1);
	done(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_said_is_heard),
		cmocka_unit_test(test_all_reach_all_once),
		cmocka_unit_test(test_wrong_cables_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
