/* The switch in software over socket pairs that stand for interfaces: addresses, marks, classes,
 * loss and pauses; what comes out is what went in. */
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
#include "base/clock.h"
#include "bridge/bridge.h"
#include "bridge/raw.h"
#include "wire/frame.h"
#include "wire/telemetry.h"

enum { HOSTS = 3, WAIT_MS = 10000, MOST = 9216, BYTES = 1000 };

struct bed {
	struct rs_bridge_config c;
	struct rs_bridge *b;
	int host[HOSTS], stop;
	pthread_t thread;
};

static uint8_t payload[4096];

static void begin(struct bed *t)
{
	memset(t, 0, sizeof(*t));
	t->c.sw.n_ports = HOSTS;
	t->c.sw.buffer = 1 << 20;
	t->c.sw.pause_quanta = UINT16_MAX;
	t->c.sw.mark_at_dequeue = true;
	t->c.queue_step = 100;
	for (unsigned i = 0; i < RS_CLASSES; i++)
		t->c.sw.classes[i].weight = 1;
	for (unsigned i = 0; i < HOSTS; i++) {
		int pair[2];

		assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair), 0);
		t->host[i] = pair[0];
		t->c.port[i].fd = pair[1];
		t->c.sw_port[i].rate = 10 * RS_GBPS;
		t->c.port[i].mac[5] = (uint8_t)(0xa0 + i);
	}
	t->stop = eventfd(0, 0);
}

static void *run(void *arg)
{
	struct bed *t = arg;

	return (void *)(intptr_t)rs_bridge_run(t->b, t->stop);
}

/* Frames that were sent before this are all read before any is sent on. */
static void start(struct bed *t)
{
	struct rs_error e = {0};

	for (unsigned i = 0; i < HOSTS; i++)
		t->c.sw_port[i].headroom =
			rs_bridge_headroom(t->c.sw_port[i].rate, RS_BRIDGE_QUICK);
	if (rs_bridge_create(&t->c, &t->b, &e))
		fail_msg("%s", e.what);
	assert_int_equal(pthread_create(&t->thread, NULL, run, t), 0);
}

static void halt(struct bed *t, struct rs_bridge_report *r)
{
	uint64_t one = 1;
	void *err;

	assert_int_equal(write(t->stop, &one, sizeof(one)), sizeof(one));
	pthread_join(t->thread, &err);
	assert_null(err);
	rs_bridge_get_report(t->b, r, true);
	rs_bridge_destroy(t->b);
	for (unsigned i = 0; i < HOSTS; i++)
		close(t->host[i]);
	close(t->stop);
}

/* Host from's packet k to host to, whose addresses are the simulator's endpoints'. */
static size_t encode(unsigned from, unsigned to, unsigned k, uint8_t tos, uint8_t *out)
{
	struct rs_packet p = {.opcode = 0x07,
			      .payload_bytes = BYTES,
			      .payload = payload,
			      .tos = tos,
			      .psn = k,
			      .pkey = 0xffff,
			      .sport = 4791};
	struct rs_frame f;
	long n;

	rs_frame_of_endpoints(&f, from, to, false);
	f.dport = 4791;
	n = rs_frame_encode(&f, &p, out, MOST);
	assert_true(n > 0);
	return (size_t)n;
}

static void send_frame(struct bed *t, unsigned from, const uint8_t *frame, size_t n)
{
	struct virtio_net_hdr none = {0};
	uint8_t bytes[MOST + sizeof(none)];

	memcpy(bytes, &none, sizeof(none));
	memcpy(bytes + sizeof(none), frame, n);
	while (send(t->host[from], bytes, n + sizeof(none), 0) < 0)
		assert_true(errno == EAGAIN || errno == ENOBUFS);
}

static void send_packet(struct bed *t, unsigned from, unsigned to, unsigned k, uint8_t tos)
{
	uint8_t frame[MOST];

	send_frame(t, from, frame, encode(from, to, k, tos, frame));
}

/* The next packet that comes to a host, its ICRC checked. */
static void receive(struct bed *t, unsigned at, struct rs_packet *p)
{
	struct pollfd ready = {.fd = t->host[at], .events = POLLIN};
	uint8_t bytes[MOST];
	struct rs_frame f;
	ssize_t n;

	assert_int_equal(poll(&ready, 1, WAIT_MS), 1);
	n = recv(t->host[at], bytes, sizeof(bytes), 0);
	assert_true(n > (ssize_t)sizeof(struct virtio_net_hdr));
	assert_int_equal(rs_frame_decode(bytes + sizeof(struct virtio_net_hdr),
					 (size_t)n - sizeof(struct virtio_net_hdr), &f, p, NULL),
			 RS_DECODE_OK);
	assert_true(p->kind == RS_KIND_PFC || f.icrc_ok);
}

static void expect(struct bed *t, unsigned at, unsigned k)
{
	struct rs_packet p;

	receive(t, at, &p);
	assert_int_equal(p.psn, k);
}

static void test_unknown_addresses_go_everywhere_and_learned_ones_home(void **state)
{
	static struct rs_bridge_report r;
	struct bed t;

	begin(&t);
	start(&t);
	send_packet(&t, 0, 1, 1, 0); /* nobody knows host 1 */
	expect(&t, 1, 1);
	expect(&t, 2, 1);
	send_packet(&t, 1, 0, 2, 0); /* host 0 was seen */
	expect(&t, 0, 2);
	send_packet(&t, 0, 1, 3, 0);
	expect(&t, 1, 3);
	send_packet(&t, 2, 0, 4, 0); /* had 2 or 3 come to host 2, they would be before this */
	expect(&t, 0, 4);
	send_packet(&t, 0, 2, 5, 0);
	expect(&t, 2, 5);
	send_packet(&t, 2, 2, 6, 0); /* to itself: stays there */
	send_packet(&t, 2, 1, 7, 0);
	expect(&t, 1, 7);
	halt(&t, &r);
	assert_int_equal(r.addresses, 3);
	assert_int_equal(r.flooded, 1);
	assert_int_equal(r.filtered, 1);
	assert_int_equal(r.port[2].c.tx_packets, 2);
	assert_int_equal(r.port[0].c.drops + r.port[1].c.drops + r.port[2].c.drops, 0);
}

static void test_a_queue_above_the_threshold_is_marked(void **state)
{
	static struct rs_bridge_report r;
	struct rs_packet p;
	struct bed t;
	size_t frame = encode(0, 1, 0, 0, (uint8_t[MOST]){0}) + 4;

	begin(&t);
	for (unsigned i = 0; i < RS_CLASSES; i++)
		t.c.sw.classes[i] = (struct rs_switch_class){
			.weight = 1, .ecn = true, .kmin = 5 * frame, .kmax = 5 * frame};
	t.c.sw_port[1].rate = RS_GBPS;
	for (unsigned k = 0; k < 20; k++)
		send_packet(&t, 0, 1, k, k % 4 == 3 ? 0 : 2); /* every fourth cannot be marked */
	start(&t);
	for (unsigned k = 0; k < 20; k++) {
		receive(&t, 1, &p);
		assert_int_equal(p.psn, k);
		/* those that leave more than 5 behind */
		assert_int_equal(p.tos, k % 4 == 3 ? 0 : k < 14 ? 3 : 2);
	}
	halt(&t, &r);
	assert_int_equal(r.port[1].c.ecn_marked, 11);
	assert_int_equal(r.port[1].max_queue, 20 * frame);
	assert_true(r.port[1].mean_queue > 0);
	assert_int_equal(r.port[0].max_queue, 0);
}

static void test_strict_classes_overtake(void **state)
{
	static struct rs_bridge_report r;
	struct rs_packet p;
	struct bed t;

	begin(&t);
	t.c.sw.tc_of_dscp[48] = 6;
	t.c.sw.classes[6].weight = 0;
	for (unsigned k = 0; k < 20; k++)
		send_packet(&t, 0, 1, k, k == 19 ? 48 << 2 : 0);
	start(&t);
	expect(&t, 1, 19);
	for (unsigned k = 0; k < 19; k++) {
		receive(&t, 1, &p);
		assert_int_equal(p.psn, k);
	}
	halt(&t, &r);
}

/* Each frame in arrives, or is counted as dropped. */
static void test_a_full_buffer_drops_and_counts(void **state)
{
	static struct rs_bridge_report r;
	struct rs_packet p;
	struct bed t;
	uint64_t got = 0;

	begin(&t);
	t.c.sw.buffer = 16384;
	t.c.sw_port[1].rate = RS_MBPS;
	start(&t);
	send_packet(&t, 1, 0, 0, 0);
	expect(&t, 0, 0);
	for (unsigned k = 0; k < 30; k++)
		send_packet(&t, 0, 1, k, 0);
	for (bool last = false; !last; got++) {
		/* one that comes when all before have gone */
		struct pollfd ready = {.fd = t.host[1], .events = POLLIN};

		if (poll(&ready, 1, 200) == 0)
			send_packet(&t, 0, 1, 99, 0);
		receive(&t, 1, &p);
		last = p.psn == 99;
	}
	halt(&t, &r);
	assert_int_equal(r.port[0].c.rx_packets, got + r.port[0].c.drops);
	assert_true(r.port[0].c.drops > 0);
	assert_int_equal(r.c.drops, r.port[0].c.drops);
	assert_true(r.c.max_buffer <= 16384);
}

static void test_a_lossless_class_pauses_its_sender(void **state)
{
	static struct rs_bridge_report r;
	struct rs_packet p;
	struct bed t;

	begin(&t);
	t.c.sw.buffer = 1 << 22;
	for (unsigned i = 0; i < RS_CLASSES; i++)
		t.c.sw.classes[i].alpha_shift = -8; /* 16 kB of 4 MB */
	t.c.sw.classes[0].lossless = true;
	for (unsigned i = 0; i < HOSTS; i++)
		t.c.sw_port[i].rate = 100 * RS_MBPS;
	send_packet(&t, 1, 0, 0, 0);
	for (unsigned k = 0; k < 30; k++)
		send_packet(&t, 0, 1, k, 0);
	start(&t);
	do
		receive(&t, 0, &p); /* host 1's, then the PAUSE */
	while (p.kind != RS_KIND_PFC);
	assert_int_equal(p.pfc_enable, 1);
	assert_int_equal(p.pfc_quanta[0], 65535);
	do
		receive(&t, 0, &p); /* it is refreshed while it lasts */
	while (p.pfc_quanta[0]);
	for (unsigned k = 0; k < 30; k++)
		expect(&t, 1, k);
	halt(&t, &r);
	assert_int_equal(r.c.drops, 0);
	assert_true(r.port[0].c.tx_pauses >= 1);
	assert_int_equal(r.port[0].c.tx_resumes, 1);
}

/* Class 0 of what goes to host 1 waits, class 1 does not. */
static void send_pause(struct bed *t, unsigned from, uint16_t quanta)
{
	struct rs_packet p = {.kind = RS_KIND_PFC, .pfc_enable = 1, .pfc_quanta = {quanta}};
	struct rs_frame f = {.dmac = {0x01, 0x80, 0xc2, 0, 0, 0x01}};
	uint8_t frame[64];
	long n = rs_frame_encode(&f, &p, frame, sizeof(frame));

	assert_true(n > 0);
	send_frame(t, from, frame, (size_t)n);
}

static void test_a_pause_is_obeyed_until_it_ends(void **state)
{
	static struct rs_bridge_report r;
	struct bed t;

	begin(&t);
	t.c.sw.tc_of_dscp[1] = 1;
	t.c.sw.classes[0].lossless = true;  /* others are not paused */
	t.c.sw_port[1].rate = 10 * RS_MBPS; /* 65535 quanta are 3.4 s */
	start(&t);
	send_pause(&t, 1, UINT16_MAX);
	send_packet(&t, 1, 0, 1, 0);
	expect(&t, 0, 1); /* so the PAUSE before it has been read */
	send_packet(&t, 0, 1, 2, 0);
	send_packet(&t, 0, 1, 3, 1 << 2);
	expect(&t, 1, 3);
	send_pause(&t, 1, 0);
	expect(&t, 1, 2);
	halt(&t, &r);
	assert_int_equal(r.port[1].c.rx_pauses, 1);
	assert_int_equal(r.port[1].c.rx_resumes, 1);
	assert_true(r.port[1].c.paused > 0);
}

/* Years in seconds: days that pass at once between packets, with a queue, a pause and learned
 * addresses across the end of what 64 bits of picoseconds hold (106.75 days), and its half. */
static _Atomic int64_t days_ns;
static _Atomic unsigned looks; /* at the clock, by the switch */

static int64_t fast_clock(void)
{
	looks++;
	return rs_clock_ns() + INT64_C(106) * 86400 * 1000000000 + days_ns;
}

/* The switch looks at its clock every 100 ms at least. Here it is woken (by what is no frame) until
 * it has looked with all that follows, however long a busy machine takes for it: ten looks, as the
 * rest of a round has up to five without that, and a round has three. */
static void pass_days(struct bed *t, unsigned n)
{
	const uint8_t none[5] = {0};

	for (unsigned step; n; n -= step) {
		unsigned from;

		step = n < 50 ? n : 50;
		days_ns += (int64_t)step * 86400 * 1000000000;
		for (from = looks; looks - from < 10;) {
			send_frame(t, 2, none, sizeof(none));
			usleep(1000);
		}
	}
}

static void test_it_forwards_for_years(void **state)
{
	static const unsigned days[] = {1, 52, 1, 53, 54, 53, 1, 106, 107, 213, 2, 400, 1, 20};
	static struct rs_bridge_report r;
	unsigned k = 10;
	struct bed t;

	begin(&t);
	t.c.clock_ns = fast_clock;
	t.c.sw.tc_of_dscp[1] = 1;
	t.c.sw.classes[0].lossless = true;
	t.c.sw_port[1].rate = 10 * RS_MBPS; /* 65535 quanta are 3.4 s */
	start(&t);
	send_packet(&t, 1, 0, 1, 0);
	expect(&t, 0, 1);
	expect(&t, 2, 1);
	send_packet(&t, 0, 2, 2, 0);
	expect(&t, 1, 2);
	expect(&t, 2, 2);
	for (unsigned i = 0; i < sizeof(days) / sizeof(days[0]); i++, k += 5) {
		send_packet(&t, 1, 0, k, 1 << 2);
		expect(&t, 0, k);
		send_pause(&t, 1, UINT16_MAX);
		send_packet(&t, 1, 0, k + 1, 1 << 2); /* so the PAUSE has been read */
		expect(&t, 0, k + 1);
		send_packet(&t, 0, 1, k + 2, 0); /* waits for its end */
		send_packet(&t, 0, 1, k + 3, 1 << 2);
		expect(&t, 1, k + 3);
		pass_days(&t, days[i]);
		expect(&t, 1, k + 2);
		send_packet(&t, 1, 0, k + 4, 1 << 2); /* 0's place is forgotten: to all */
		expect(&t, 0, k + 4);
		expect(&t, 2, k + 4);
		send_packet(&t, 0, 1, k, 1 << 2);
		expect(&t, 1, k);
	}
	halt(&t, &r);
	assert_int_equal(r.c.drops, 0);
	assert_true(r.seconds >= 0 && r.seconds < 54 * 86400);
	assert_true(r.port[1].mean_queue >= 0 && r.port[1].max_queue > 0);
}

static void test_what_is_no_frame_is_counted(void **state)
{
	static struct rs_bridge_report r;
	struct bed t;
	uint8_t stp[60] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x00};

	begin(&t);
	send_frame(&t, 0, stp, 5);
	send_frame(&t, 0, stp, sizeof(stp)); /* for bridges alone */
	send_packet(&t, 0, 1, 1, 0);
	start(&t);
	expect(&t, 1, 1);
	expect(&t, 2, 1);
	halt(&t, &r);
	assert_int_equal(r.unread, 1);
	assert_int_equal(r.filtered, 1);
}

static void test_a_switch_needs_two_ports_and_rates(void **state)
{
	static struct rs_bridge_config c = {
		.sw = {.n_ports = 1}, .port = {{.fd = -1}, {.fd = -1}}, .queue_step = 1};
	struct rs_error e = {0};
	struct rs_bridge *b;

	assert_int_equal(rs_bridge_create(&c, &b, &e), -EINVAL);
	assert_non_null(strstr(e.what, "2 to 128 interfaces, not 1"));
	c.sw.n_ports = 2;
	e = (struct rs_error){0};
	assert_int_equal(rs_bridge_create(&c, &b, &e), -EINVAL);
	assert_non_null(strstr(e.what, "below 1M"));
}

/* A frame with a trailer for stamps: a WRITE's, or an ACK that returns one. */
static size_t encode_stamped(uint8_t opcode, unsigned k, uint8_t *out)
{
	struct rs_packet p = {.opcode = opcode,
			      .psn = k,
			      .pkey = 0xffff,
			      .sport = 4791,
			      .int_path = opcode == RS_OP_ACKNOWLEDGE ? 99 : 0,
			      .int_hop = {opcode == RS_OP_ACKNOWLEDGE ? 77 : 0}};
	struct rs_frame f;
	long n;

	if (opcode != RS_OP_ACKNOWLEDGE) {
		p.payload = payload;
		p.payload_bytes = BYTES;
	}
	rs_frame_of_endpoints(&f, 1, 0, false);
	f.dport = 4791;
	f.stamped = true;
	f.bth_reserved = RS_BTH4_STAMPED << 8;
	n = rs_frame_encode(&f, &p, out, MOST);
	assert_true(n > 0);
	return (size_t)n;
}

/* A port stamps requests that have room for it, and nothing else; what it does not know it leaves.
 */
static void test_a_port_stamps_requests_that_have_a_trailer(void **state)
{
	struct rs_bridge_report r;
	struct rs_packet p;
	struct bed t;
	uint8_t frame[MOST];
	struct rs_int_stamp s;
	size_t n;

	begin(&t);
	t.c.sw_port[0].rate = 200 * RS_MBPS;
	send_packet(&t, 0, 1, 9, 0); /* where 0 is */
	start(&t);
	expect(&t, 1, 9);
	for (unsigned k = 0; k < 3; k++)
		send_frame(&t, 1, frame, encode_stamped(RS_OP_WRITE_LAST, k, frame));
	for (unsigned k = 0; k < 3; k++) {
		receive(&t, 0, &p); /* and its ICRC holds */
		assert_int_equal(p.psn, k);
		assert_true(p.int_path != 0 && p.int_hop[0] != 0 && p.int_hop[1] == 0);
		rs_int_unpack(p.int_hop[0], RS_INT_SOFTWARE, &s);
		assert_int_equal(s.rate, 200 * RS_MBPS);
		assert_int_equal(s.sent, k * (BYTES + 110) / 512 * 512);
	}
	send_frame(&t, 1, frame, encode_stamped(RS_OP_ACKNOWLEDGE, 3, frame));
	receive(&t, 0, &p);
	assert_true(p.int_path == 99 && p.int_hop[0] == 77 && p.int_hop[1] == 0);
	send_packet(&t, 1, 0, 4, 0);
	expect(&t, 0, 4);
	/* the bit alone, and a trailer that is cut short: they pass as they are */
	n = encode_stamped(RS_OP_WRITE_LAST, 5, frame);
	frame[n - RS_INT_TRAILER_BYTES] ^= 1;
	send_frame(&t, 1, frame, n);
	halt(&t, &r);
	assert_int_equal(r.stamped, 3);
	assert_int_equal(r.c.drops, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unknown_addresses_go_everywhere_and_learned_ones_home),
		cmocka_unit_test(test_a_queue_above_the_threshold_is_marked),
		cmocka_unit_test(test_strict_classes_overtake),
		cmocka_unit_test(test_a_full_buffer_drops_and_counts),
		cmocka_unit_test(test_a_lossless_class_pauses_its_sender),
		cmocka_unit_test(test_a_pause_is_obeyed_until_it_ends),
		cmocka_unit_test(test_it_forwards_for_years),
		cmocka_unit_test(test_what_is_no_frame_is_counted),
		cmocka_unit_test(test_a_port_stamps_requests_that_have_a_trailer),
		cmocka_unit_test(test_a_switch_needs_two_ports_and_rates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
