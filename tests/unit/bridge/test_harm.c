/* A hostile network by draws: what is lost, damaged, doubled or held back follows from the seed,
 * nothing else is, and each is counted. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/bytes.h"
#include "base/clock.h"
#include "bridge/bridge.h"
#include "bridge/raw.h"
#include "wire/frame.h"

enum { HOSTS = 2, MOST = 9216, BYTES = 1000, WAIT_MS = 10000, ALL = 30, END = 0xffffff };

#define SHARE(p) ((uint64_t)((p)*0x1p32))

struct bed {
	struct rs_bridge_config c;
	struct rs_bridge *b;
	int host[HOSTS], stop;
	pthread_t thread;
	struct rs_bridge_report r;
	unsigned n; /* what came, in order */
	uint32_t psn[4 * ALL];
	bool damaged[4 * ALL];
};

static uint8_t payload[4096];

static void begin(struct bed *t, uint64_t seed)
{
	memset(t, 0, sizeof(*t));
	t->c.sw.n_ports = HOSTS;
	t->c.sw.buffer = 1 << 20;
	t->c.sw.seed = seed;
	t->c.queue_step = 100;
	for (unsigned i = 0; i < RS_CLASSES; i++)
		t->c.sw.classes[i].weight = 1;
	for (unsigned i = 0; i < HOSTS; i++) {
		int pair[2];

		assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair), 0);
		t->host[i] = pair[0];
		t->c.port[i].fd = pair[1];
		t->c.sw_port[i].rate = 10 * RS_GBPS;
	}
	t->stop = eventfd(0, 0);
}

/* dport 4791: what can be harmed. */
static void send_to(struct bed *t, unsigned from, unsigned to, uint32_t psn, uint16_t dport)
{
	struct rs_packet p = {.opcode = 0x07,
			      .payload_bytes = BYTES,
			      .payload = payload,
			      .psn = psn,
			      .pkey = 0xffff,
			      .sport = 4791};
	struct virtio_net_hdr none = {0};
	uint8_t bytes[MOST];
	struct rs_frame f;
	long n;

	memcpy(bytes, &none, sizeof(none));
	rs_frame_of_endpoints(&f, from, to, false);
	f.dport = 4791;
	n = rs_frame_encode(&f, &p, bytes + sizeof(none), sizeof(bytes) - sizeof(none));
	assert_true(n > 0);
	rs_put16(bytes + sizeof(none) + 14 + 20 + 2, dport);
	while (send(t->host[from], bytes, (size_t)n + sizeof(none), 0) < 0)
		assert_true(errno == EAGAIN || errno == ENOBUFS);
}

/* False: it is no packet of RoCEv2, which is sent as the last. */
static bool receive(struct bed *t, unsigned at, uint32_t *psn, bool *damaged)
{
	struct pollfd ready = {.fd = t->host[at], .events = POLLIN};
	uint8_t bytes[MOST];
	struct rs_packet p;
	struct rs_frame f;
	ssize_t n;

	assert_int_equal(poll(&ready, 1, WAIT_MS), 1);
	n = recv(t->host[at], bytes, sizeof(bytes), 0);
	assert_true(n > (ssize_t)sizeof(struct virtio_net_hdr));
	if (rs_get16(bytes + sizeof(struct virtio_net_hdr) + 14 + 20 + 2) != 4791)
		return false;
	*psn = rs_get24(bytes + sizeof(struct virtio_net_hdr) + 14 + 20 + 8 + 9);
	*damaged = rs_frame_decode(bytes + sizeof(struct virtio_net_hdr),
				   (size_t)n - sizeof(struct virtio_net_hdr), &f, &p,
				   NULL) != RS_DECODE_OK ||
		   !f.icrc_ok;
	return true;
}

static void *run(void *arg)
{
	struct bed *t = arg;

	return (void *)(intptr_t)rs_bridge_run(t->b, t->stop);
}

/* ALL packets at once from host 0 to host 1, and what comes of them. */
static void play(struct bed *t)
{
	struct rs_error e = {0};
	uint64_t one = 1;
	void *err;

	for (unsigned i = 0; i < HOSTS; i++)
		t->c.sw_port[i].headroom =
			rs_bridge_headroom(t->c.sw_port[i].rate, RS_BRIDGE_QUICK);
	for (unsigned k = 0; k < ALL; k++)
		send_to(t, 0, 1, k, 4791);
	if (rs_bridge_create(&t->c, &t->b, &e))
		fail_msg("%s", e.what);
	assert_int_equal(pthread_create(&t->thread, NULL, run, t), 0);
	usleep(20000); /* those that are held back or late are on their way */
	send_to(t, 0, 1, END, 9);
	while (receive(t, 1, &t->psn[t->n], &t->damaged[t->n]))
		assert_true(++t->n < 4 * ALL);
	assert_int_equal(write(t->stop, &one, sizeof(one)), sizeof(one));
	pthread_join(t->thread, &err);
	assert_null(err);
	rs_bridge_get_report(t->b, &t->r, true);
	rs_bridge_destroy(t->b);
	for (unsigned i = 0; i < HOSTS; i++)
		close(t->host[i]);
	close(t->stop);
}

static unsigned times(const struct bed *t, uint32_t psn)
{
	unsigned n = 0;

	for (unsigned i = 0; i < t->n; i++)
		n += t->psn[i] == psn;
	return n;
}

static bool same(const struct bed *a, const struct bed *b)
{
	return a->n == b->n && !memcmp(a->psn, b->psn, sizeof(a->psn)) &&
	       !memcmp(a->damaged, b->damaged, sizeof(a->damaged));
}

static struct bed first, second;

static void test_loss_follows_from_the_seed(void **state)
{
	begin(&first, 7);
	first.c.port[0].harm.drop = SHARE(0.3);
	play(&first);
	assert_int_equal(first.r.port[0].harmed.dropped, ALL - first.n);
	assert_in_range(first.n, 8, ALL - 1);
	for (unsigned i = 1; i < first.n; i++)
		assert_true(first.psn[i] > first.psn[i - 1]);
	begin(&second, 7);
	second.c.port[0].harm.drop = SHARE(0.3);
	play(&second);
	assert_true(same(&first, &second));
	begin(&second, 8);
	second.c.port[0].harm.drop = SHARE(0.3);
	play(&second);
	assert_false(same(&first, &second));
}

static void test_an_option_shifts_no_others_draws(void **state)
{
	begin(&first, 3);
	first.c.port[0].harm.drop = SHARE(0.3);
	play(&first);
	begin(&second, 3);
	second.c.port[0].harm = (struct rs_bridge_harm){.drop = SHARE(0.3),
							.corrupt = SHARE(0.2),
							.duplicate = SHARE(0.2),
							.reorder = SHARE(0.2),
							.behind = 2};
	second.c.port[1].harm.drop = SHARE(1); /* the other way */
	play(&second);
	assert_int_equal(first.r.port[0].harmed.dropped, second.r.port[0].harmed.dropped);
	assert_int_equal(second.n, ALL - second.r.port[0].harmed.dropped +
					   second.r.port[0].harmed.duplicated);
	assert_true(second.r.port[0].harmed.duplicated > 0);
	assert_int_equal(second.r.port[1].harmed.dropped, 0);
}

static void test_damage_is_the_icrcs_to_find(void **state)
{
	unsigned damaged = 0;

	begin(&first, 5);
	first.c.port[0].harm.corrupt = SHARE(0.5);
	play(&first);
	assert_int_equal(first.n, ALL);
	for (unsigned i = 0; i < ALL; i++)
		damaged += first.damaged[i];
	assert_in_range(damaged, 5, 25);
	assert_int_equal(first.r.port[0].harmed.corrupted, damaged);
}

static void test_doubles_come_twice(void **state)
{
	unsigned twice = 0;

	begin(&first, 5);
	first.c.port[0].harm.duplicate = SHARE(0.5);
	play(&first);
	for (unsigned k = 0; k < ALL; k++) {
		assert_in_range(times(&first, k), 1, 2);
		twice += times(&first, k) == 2;
	}
	assert_in_range(twice, 5, 25);
	assert_int_equal(first.r.port[0].harmed.duplicated, twice);
}

static void test_those_held_back_are_overtaken(void **state)
{
	unsigned back = 0;

	begin(&first, 6);
	first.c.port[0].harm.reorder = SHARE(0.2);
	first.c.port[0].harm.behind = 4;
	play(&first);
	assert_int_equal(first.n, ALL);
	for (unsigned k = 0; k < ALL; k++)
		assert_int_equal(times(&first, k), 1);
	for (unsigned i = 1; i < ALL; i++)
		back += first.psn[i] < first.psn[i - 1];
	assert_true(back > 0);
	assert_true(first.r.port[0].harmed.reordered >= back);
	begin(&first, 6);
	first.c.port[0].harm.reorder = SHARE(1); /* none follows: they go on after a while */
	first.c.port[0].harm.behind = 4;
	play(&first);
	assert_int_equal(first.n, ALL);
	assert_int_equal(first.r.port[0].harmed.reordered, ALL);
}

static void test_late_ones_keep_their_order(void **state)
{
	int64_t began = rs_clock_ns();

	begin(&first, 6);
	first.c.port[0].harm.delay = 5 * RS_MS;
	first.c.port[0].harm.jitter = 5 * RS_MS;
	play(&first);
	assert_true(rs_clock_ns() - began > 5000000);
	assert_int_equal(first.n, ALL);
	for (unsigned k = 0; k < ALL; k++)
		assert_int_equal(first.psn[k], k);
	assert_int_equal(first.r.port[0].harmed.delayed, ALL);
}

/* Each bit that can be turned over is one that the ICRC covers, and UDP's checksum stays right. */
static void test_the_udp_checksum_stays_right(void **state)
{
	struct rs_packet p = {.opcode = 0x07, .payload_bytes = 5, .payload = payload};
	uint8_t bytes[256], sums[256];
	struct virtio_net_hdr whole = {0};
	struct rs_raw_burst burst;
	struct rs_raw raw;
	struct rs_frame f;
	long n;

	for (uint64_t which = 0; which < UINT64_C(1) << 32; which += 0x1234567) {
		uint32_t sum = 0;

		rs_frame_of_endpoints(&f, 1, 2, true);
		f.dport = 4791;
		n = rs_frame_encode(&f, &p, bytes, sizeof(bytes));
		assert_true(n > 0);
		/* a pseudo header of zeros is a sum as good as another */
		rs_put16(bytes + 14 + 40 + 6, 0);
		memcpy(sums, bytes + 14 + 40, (size_t)n - 54);
		rs_put16(bytes + 14 + 40 + 6, rs_internet_checksum(sums, (size_t)n - 54));
		assert_true(rs_raw_begin(&burst, bytes, (size_t)n, &whole));
		assert_true(rs_raw_next(&burst, &raw));
		assert_true(raw.roce);
		rs_raw_corrupt(&raw, (uint32_t)which);
		assert_int_equal(rs_frame_decode(bytes, (size_t)n, &f, &p, NULL) == RS_DECODE_OK &&
					 f.icrc_ok,
				 0);
		for (long i = 54; i < n; i++)
			sum += (uint32_t)bytes[i] << (i & 1 ? 0 : 8);
		assert_int_equal((sum & 0xffff) + (sum >> 16), 0xffff);
		p = (struct rs_packet){.opcode = 0x07, .payload_bytes = 5, .payload = payload};
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loss_follows_from_the_seed),
		cmocka_unit_test(test_an_option_shifts_no_others_draws),
		cmocka_unit_test(test_damage_is_the_icrcs_to_find),
		cmocka_unit_test(test_doubles_come_twice),
		cmocka_unit_test(test_those_held_back_are_overtaken),
		cmocka_unit_test(test_late_ones_keep_their_order),
		cmocka_unit_test(test_the_udp_checksum_stays_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
