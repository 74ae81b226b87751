/* The story that a capture tells: real ones of Linux soft-RoCE, and packets made for the purpose.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "base/bytes.h"
#include "capture/follow.h"
#include "wire/pcapng.h"

static struct rs_follow *followed(const char *name)
{
	char path[512];
	struct rs_error e = {0};
	struct rs_follow *f;

	snprintf(path, sizeof(path), "%s/tests/golden/wire/%s.pcap", RS_SOURCE_DIR, name);
	assert_int_equal(rs_follow_create(&f), 0);
	for (int pass = 0; pass < 2; pass++) {
		struct rs_pcap_reader *r;
		struct rs_pcap_packet k;

		assert_int_equal(rs_pcap_open(path, &r, &e), 0);
		while (rs_pcap_next(r, &k, &e) > 0)
			if (pass)
				rs_follow_packet(f, k.interface, k.when_ns, k.bytes, k.captured);
			else
				rs_follow_learn(f, k.bytes, k.captured);
		rs_pcap_close(r);
	}
	assert_int_equal(rs_follow_finish(f), 0);
	return f;
}

static unsigned count(const struct rs_follow *f, enum rs_follow_kind kind)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < rs_follow_events(f); i++)
		n += rs_follow_event(f, i)->kind == kind;
	return n;
}

static void test_plain_traffic_has_no_story(void **state)
{
	static const char *const plain[] = {"rc-write",     "rc-read",  "rc-send-multi", "rc-ipv6",
					    "rc-fetch-add", "uc-write", "ud-send"};

	for (unsigned i = 0; i < sizeof(plain) / sizeof(*plain); i++) {
		struct rs_follow *f = followed(plain[i]);

		assert_int_equal(rs_follow_totals(f)->wrong, 0);
		assert_int_equal(rs_follow_events(f), 0);
		assert_true(rs_follow_stream(f, 0)->messages > 0);
		rs_follow_destroy(f);
	}
}

static void test_lost_packet_comes_again_after_a_nak(void **state)
{
	struct rs_follow *f = followed("rc-nak-seq-write");
	const struct rs_follow_stream *s = rs_follow_stream(f, 0);

	assert_int_equal(rs_follow_totals(f)->wrong, 0);
	assert_int_equal(s->naks, 1);
	assert_int_equal(s->resent_by[RS_CAUSE_NAK], 2);
	assert_int_equal(s->resent_by[RS_CAUSE_TIMEOUT], 0);
	assert_int_equal(s->messages, 1);
	rs_follow_destroy(f);
}

/* Most packets overtaken by every fifth one: five NAKs, four timeouts, and what only came late is
 * not sent again. */
static void test_overtaken_packets_belong_to_their_retransmission(void **state)
{
	struct rs_follow *f = followed("rc-netem-reorder");
	const struct rs_follow_stream *s = rs_follow_stream(f, 0);
	unsigned timeouts = 0, naks = 0;

	for (uint32_t i = 0; i < rs_follow_events(f); i++) {
		const struct rs_follow_event *e = rs_follow_event(f, i);

		timeouts += e->kind == RS_FOLLOW_RESENT && e->cause == RS_CAUSE_TIMEOUT;
		naks += e->kind == RS_FOLLOW_RESENT && e->cause == RS_CAUSE_NAK;
	}
	assert_int_equal(rs_follow_totals(f)->wrong, 0);
	assert_int_equal(s->naks, 5);
	assert_int_equal(timeouts, 4);
	assert_int_equal(naks, 1);
	assert_int_equal(s->messages, 1);
	rs_follow_destroy(f);
}

static void test_receiver_not_ready_is_waited_for(void **state)
{
	struct rs_follow *f = followed("rc-rnr");
	const struct rs_follow_stream *s = rs_follow_stream(f, 0);

	assert_int_equal(s->rnr_naks, 2);
	assert_int_equal(s->resent_by[RS_CAUSE_RNR], 2);
	/* code 20: 10.24 ms (table 45) */
	assert_true(s->longest_wait_ns > 10240000);
	assert_int_equal(rs_follow_totals(f)->wrong, 0);
	rs_follow_destroy(f);
}

static void test_refused_access_ends_the_connection(void **state)
{
	struct rs_follow *f = followed("rc-nak-access-rkey");

	assert_true(rs_follow_stream(f, 0)->failed);
	assert_int_equal(count(f, RS_FOLLOW_NAK), 1);
	assert_int_equal(count(f, RS_FOLLOW_UNANSWERED), 0);
	rs_follow_destroy(f);
}

static void test_wrong_icrc_is_wrong(void **state)
{
	/* 6.12's FLUSH has an ICRC that the standard's rule does not give: two requests */
	struct rs_follow *f = followed("rc-flush");

	assert_int_equal(rs_follow_totals(f)->bad_icrc, 2);
	assert_int_equal(rs_follow_totals(f)->wrong, 2);
	rs_follow_destroy(f);
}

static void test_connection_management_is_named(void **state)
{
	struct rs_follow *f = followed("cm-rc");

	assert_int_equal(count(f, RS_FOLLOW_CM), 5);
	assert_string_equal(rs_follow_event(f, 0)->what, "CM REQ");
	rs_follow_destroy(f);
}

/* ---- Packets made for the purpose ---- */

struct scene {
	struct rs_follow *f;
	int64_t now;
	uint16_t ip_id;
};

static void begin(struct scene *s)
{
	memset(s, 0, sizeof(*s));
	assert_int_equal(rs_follow_create(&s->f), 0);
}

static void frame_to(struct scene *s, uint32_t qp, bool back, uint8_t opcode, uint32_t psn,
		     uint16_t payload, uint32_t aeth, bool ackreq)
{
	uint8_t bytes[6000];
	struct rs_frame fr;
	struct rs_packet p = {0};
	long n;

	memset(&fr, 0, sizeof(fr));
	rs_frame_of_endpoints(&fr, back, !back, false);
	fr.ip_id = ++s->ip_id;
	fr.dport = 4791;
	p.opcode = opcode;
	p.psn = psn;
	p.pkey = 0xffff;
	p.dest_qp = qp;
	p.payload_bytes = payload;
	p.aeth = aeth;
	p.bth_flags = ackreq ? RS_BTH_ACKREQ : 0;
	p.sport = 0xc000;
	n = rs_frame_encode(&fr, &p, bytes, sizeof(bytes));
	assert_true(n > 0);
	s->now += 1000;
	assert_int_equal(rs_follow_packet(s->f, 0, s->now, bytes, (size_t)n), 0);
}

static void frame(struct scene *s, bool back, uint8_t opcode, uint32_t psn, uint16_t payload,
		  uint32_t aeth, bool ackreq)
{
	frame_to(s, back ? 0x21 : 0x12, back, opcode, psn, payload, aeth, ackreq);
}

static void test_gap_and_late_packet_are_told_from_loss(void **state)
{
	struct scene s;

	begin(&s);
	frame(&s, false, RS_OP_SEND_ONLY, 10, 8, 0, false);
	frame(&s, false, RS_OP_SEND_ONLY, 12, 8, 0, false);
	assert_int_equal(count(s.f, RS_FOLLOW_GAP), 1);
	frame(&s, false, RS_OP_SEND_ONLY, 11, 8, 0, false);
	assert_int_equal(rs_follow_stream(s.f, 0)->late, 1);
	assert_int_equal(rs_follow_stream(s.f, 0)->resent, 0);
	assert_int_equal(rs_follow_totals(s.f)->wrong, 0);
	rs_follow_destroy(s.f);
}

static void test_answer_to_what_was_not_sent_is_wrong(void **state)
{
	struct scene s;

	begin(&s);
	frame(&s, false, RS_OP_SEND_ONLY, 10, 8, 0, true);
	frame(&s, true, RS_OP_ACKNOWLEDGE, 10, 0, 0x1f000001, false);
	assert_int_equal(rs_follow_totals(s.f)->wrong, 0);
	frame(&s, true, RS_OP_ACKNOWLEDGE, 11, 0, 0x1f000002, false);
	assert_int_equal(rs_follow_totals(s.f)->wrong, 1);
	/* but the capture had missed it, as what follows says */
	frame(&s, false, RS_OP_SEND_ONLY, 12, 8, 0, true);
	assert_int_equal(rs_follow_totals(s.f)->wrong, 0);
	assert_int_equal(count(s.f, RS_FOLLOW_WRONG), 0);
	frame(&s, true, RS_OP_ACKNOWLEDGE, 13, 0, 0x1f000002, false);
	frame(&s, false, RS_OP_SEND_ONLY, 13, 8, 0, true);
	assert_int_equal(rs_follow_totals(s.f)->wrong, 1);
	rs_follow_destroy(s.f);
}

static void test_second_nak_for_one_gap_is_wrong(void **state)
{
	struct scene s;

	begin(&s);
	frame(&s, false, RS_OP_SEND_ONLY, 10, 8, 0, true);
	frame(&s, false, RS_OP_SEND_ONLY, 11, 8, 0, true);
	frame(&s, true, RS_OP_ACKNOWLEDGE, 10, 0, 0x60000000, false);
	assert_int_equal(rs_follow_totals(s.f)->wrong, 0);
	frame(&s, true, RS_OP_ACKNOWLEDGE, 10, 0, 0x60000000, false);
	assert_int_equal(rs_follow_totals(s.f)->wrong, 1);
	rs_follow_destroy(s.f);
}

static void test_too_hasty_after_rnr_is_wrong(void **state)
{
	struct scene s;

	begin(&s);
	frame(&s, false, RS_OP_SEND_ONLY, 10, 8, 0, true);
	frame(&s, true, RS_OP_ACKNOWLEDGE, 10, 0, (uint32_t)(RS_SYN_RNR | 20) << 24, false);
	frame(&s, false, RS_OP_SEND_ONLY, 10, 8, 0, true);
	assert_int_equal(rs_follow_totals(s.f)->wrong, 1);
	rs_follow_destroy(s.f);
}

static void test_message_that_does_not_begin_is_wrong(void **state)
{
	struct scene s;

	begin(&s);
	frame(&s, false, RS_OP_SEND_ONLY, 10, 8, 0, false);
	frame(&s, false, RS_OP_SEND_LAST, 11, 8, 0, false);
	assert_int_equal(rs_follow_totals(s.f)->wrong, 1);
	rs_follow_destroy(s.f);
}

static void test_unanswered_request_is_told_at_the_end(void **state)
{
	struct scene s;

	begin(&s);
	frame(&s, false, RS_OP_SEND_ONLY, 0xffffff, 8, 0, true);
	frame(&s, false, RS_OP_SEND_ONLY, 0, 8, 0, true);
	assert_int_equal(rs_follow_finish(s.f), 0);
	assert_int_equal(count(s.f, RS_FOLLOW_UNANSWERED), 1);
	assert_int_equal(count(s.f, RS_FOLLOW_GAP), 0);
	rs_follow_destroy(s.f);
}

static void test_xrc_is_followed_as_rc_is(void **state)
{
	struct scene s;

	begin(&s);
	frame(&s, false, RS_XRC | RS_OP_SEND_ONLY, 10, 8, 0, true);
	frame(&s, true, RS_XRC | RS_OP_ACKNOWLEDGE, 10, 0, 0x1f000001, false);
	frame(&s, false, RS_XRC | RS_OP_SEND_ONLY, 12, 8, 0, true);
	frame(&s, true, RS_XRC | RS_OP_ACKNOWLEDGE, 11, 0, 0x60000001, false);
	frame(&s, false, RS_XRC | RS_OP_SEND_ONLY, 11, 8, 0, true);
	frame(&s, false, RS_XRC | RS_OP_SEND_ONLY, 12, 8, 0, true);
	assert_int_equal(rs_follow_finish(s.f), 0);
	assert_int_equal(rs_follow_streams(s.f), 1);
	assert_int_equal(rs_follow_stream(s.f, 0)->acks, 2);
	assert_int_equal(rs_follow_stream(s.f, 0)->naks, 1);
	assert_int_equal(rs_follow_stream(s.f, 0)->resent_by[RS_CAUSE_NAK], 2);
	assert_int_equal(count(s.f, RS_FOLLOW_UNANSWERED), 1);
	assert_int_equal(rs_follow_totals(s.f)->wrong, 0);
	rs_follow_destroy(s.f);
}

/* NCCL connects all its queue pairs with PSN 0: an answer names the requester's queue pair only. */
static void test_queue_pairs_with_the_same_psns_find_their_answers(void **state)
{
	struct scene s;

	begin(&s);
	frame_to(&s, 0x12, false, RS_OP_SEND_ONLY, 0, 8, 0, true);
	frame_to(&s, 0x13, false, RS_OP_SEND_ONLY, 0, 8, 0, false);
	for (uint32_t psn = 1; psn < 6; psn++)
		frame_to(&s, 0x13, false, RS_OP_SEND_ONLY, psn, 8, 0, psn == 5);
	frame_to(&s, 0x31, true, RS_OP_ACKNOWLEDGE, 0, 0, 0x1f000001, false); /* to 0x13's */
	frame_to(&s, 0x31, true, RS_OP_ACKNOWLEDGE, 5, 0, 0x1f000006, false);
	frame_to(&s, 0x21, true, RS_OP_ACKNOWLEDGE, 0, 0, 0x1f000001, false);
	assert_int_equal(rs_follow_totals(s.f)->wrong, 0);
	assert_int_equal(rs_follow_stream(s.f, 0)->peer_qp, 0x21);
	assert_int_equal(rs_follow_stream(s.f, 1)->peer_qp, 0x31);
	frame_to(&s, 0x31, true, RS_OP_ACKNOWLEDGE, 6, 0, 0x1f000007, false);
	assert_int_equal(rs_follow_totals(s.f)->wrong, 1);
	rs_follow_destroy(s.f);
}

/* As a host's own capture shows what its network card cuts: one IP packet, three ICRCs. */
static void test_merged_packets_are_taken_apart(void **state)
{
	for (unsigned ipv6 = 0; ipv6 < 2; ipv6++) {
		uint8_t whole[8000], piece[2000];
		size_t head = ipv6 ? 62 : 42, n = head;
		struct rs_packet p = {.dest_qp = 0x12, .pkey = 0xffff, .sport = 0xc000};
		struct rs_frame fr;
		struct scene s;

		begin(&s);
		rs_frame_of_endpoints(&fr, 0, 1, ipv6);
		fr.dport = 4791;
		for (unsigned k = 0; k < 3; k++) {
			long m;

			p.opcode = k < 2 ? RS_OP_WRITE_MIDDLE : RS_OP_WRITE_LAST;
			p.psn = rs_psn_add(0xffffff, k);
			p.payload_bytes = k < 2 ? 1024 : 77;
			fr.ip_id = (uint16_t)k;
			m = rs_frame_encode(&fr, &p, piece, sizeof(piece));
			if (!k)
				memcpy(whole, piece, head);
			memcpy(whole + n, piece + head, (size_t)m - head);
			n += (size_t)m - head;
		}
		rs_put16(whole + head - 4, (uint32_t)(n - head + 8));
		rs_put16(whole + 14 + (ipv6 ? 4 : 2), (uint32_t)(n - 14 - (ipv6 ? 40 : 0)));
		if (!ipv6) {
			rs_put16(whole + 24, 0);
			rs_put16(whole + 24, rs_internet_checksum(whole + 14, 20));
		}
		rs_follow_learn(s.f, whole, n);
		assert_int_equal(rs_follow_packet(s.f, 0, 0, whole, n), 0);
		assert_int_equal(rs_follow_totals(s.f)->frames, 1);
		assert_int_equal(rs_follow_totals(s.f)->merged, 1);
		assert_int_equal(rs_follow_totals(s.f)->roce, 3);
		assert_int_equal(rs_follow_totals(s.f)->wrong, 0);
		assert_int_equal(rs_follow_stream(s.f, 0)->mtu, 1024);
		/* a wrong byte in the first: not taken apart, and wrong */
		whole[head + 40] ^= 1;
		rs_follow_packet(s.f, 0, 0, whole, n);
		assert_int_equal(rs_follow_totals(s.f)->wrong, 1);
		rs_follow_destroy(s.f);
	}
}

/* Two connections between the same addresses, one READs with a path MTU of 256, one WRITEs with
 * 1024: a READ takes as many PSNs as it has answers. */
static void test_path_mtu_is_a_connections_own(void **state)
{
	static const struct {
		bool back;
		uint8_t opcode;
		uint32_t qp, psn;
		uint16_t payload;
	} rows[] = {
		{false, RS_OP_READ_REQUEST, 0x30, 500, 0},
		{true, RS_OP_READ_RESPONSE_FIRST, 0x40, 500, 256},
		{false, RS_OP_WRITE_FIRST, 0x31, 90, 1024},
		{true, RS_OP_READ_RESPONSE_MIDDLE, 0x40, 501, 256},
		{false, RS_OP_WRITE_LAST, 0x31, 91, 1},
		{true, RS_OP_READ_RESPONSE_LAST, 0x40, 502, 88},
		{true, RS_OP_ACKNOWLEDGE, 0x41, 91, 0},
		{false, RS_OP_READ_REQUEST, 0x30, 503, 0},
	};
	struct rs_follow *f;
	uint8_t bytes[6000];

	assert_int_equal(rs_follow_create(&f), 0);
	for (unsigned i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
		unsigned k = i % (sizeof(rows) / sizeof(rows[0]));
		struct rs_packet p = {.opcode = rows[k].opcode,
				      .psn = rows[k].psn,
				      .pkey = 0xffff,
				      .dest_qp = rows[k].qp,
				      .payload_bytes = rows[k].payload,
				      .dma_bytes = k == 2 ? 1025 : 600};
		struct rs_frame fr;
		long n;

		rs_frame_of_endpoints(&fr, rows[k].back, !rows[k].back, false);
		n = rs_frame_encode(&fr, &p, bytes, sizeof(bytes));
		assert_true(n > 0);
		if (i == k)
			rs_follow_learn(f, bytes, (size_t)n);
		else
			rs_follow_packet(f, 0, 1000 * (int64_t)i, bytes, (size_t)n);
	}
	assert_int_equal(rs_follow_totals(f)->wrong, 0);
	assert_int_equal(rs_follow_stream(f, 0)->mtu, 256);
	assert_int_equal(rs_follow_stream(f, 1)->mtu, 1024);
	assert_int_equal(rs_follow_stream(f, 0)->gaps, 0);
	rs_follow_destroy(f);
}

/* A frame seen at a place of capture, its IP header marked or not. */
static void seen(struct rs_follow *f, uint32_t interface, uint8_t opcode, uint32_t psn,
		 uint16_t payload, uint8_t tos, bool back, bool ipv6, bool tag)
{
	uint8_t bytes[6000];
	struct rs_packet p = {.opcode = opcode,
			      .psn = psn,
			      .pkey = 0xffff,
			      .dest_qp = back ? 0x21 : 0x12,
			      .payload_bytes = payload,
			      .dma_bytes = payload,
			      .aeth = 0x1f000001,
			      .tos = tos,
			      .sport = 0xc000};
	struct rs_frame fr;
	long n;

	rs_frame_of_endpoints(&fr, back, !back, ipv6);
	fr.vlan = tag;
	n = rs_frame_encode(&fr, &p, bytes, sizeof(bytes));
	assert_true(n > 0);
	assert_int_equal(rs_follow_packet(f, interface, 1000, bytes, (size_t)n), 0);
}

enum { ECT = 0x68 | RS_ECN_ECT0, CE = 0x68 | RS_ECN_CE };

/* A switch marks behind the first place of capture: the place behind it sees the mark. */
static void marked_on_its_way(bool ipv6, bool tag)
{
	const struct rs_follow_totals *t;
	struct rs_follow *f;

	assert_int_equal(rs_follow_create(&f), 0);
	for (uint32_t k = 0; k < 6; k++) {
		seen(f, 0, RS_OP_WRITE_ONLY, k, 64, ECT, false, ipv6, tag);
		seen(f, 1, RS_OP_WRITE_ONLY, k, 64, k % 2 ? CE : ECT, false, ipv6, tag);
		seen(f, 2, RS_OP_WRITE_ONLY, k, 64, k % 2 ? CE : ECT, false, ipv6, tag);
		seen(f, 2, RS_OP_ACKNOWLEDGE, k, 0, ECT, true, ipv6, tag);
		seen(f, 1, RS_OP_ACKNOWLEDGE, k, 0, k ? ECT : CE, true, ipv6, tag);
	}
	assert_int_equal(rs_follow_streams(f), 1);
	assert_int_equal(rs_follow_stream(f, 0)->packets, 6);
	assert_int_equal(rs_follow_stream(f, 0)->ect, 6);
	assert_int_equal(rs_follow_stream(f, 0)->ce, 3);
	t = rs_follow_totals(f);
	assert_int_equal(t->ce_data, 6); /* at each place */
	assert_int_equal(t->ce, 7);
	assert_int_equal(t->ce_frames, 7);
	rs_follow_destroy(f);
}

static void test_marks_are_counted_wherever_they_are_seen(void **state)
{
	static const uint8_t tcp[] = {
		[12] = 0x08, [14] = 0x45, 3, [17] = 40, [22] = 64, 6, [53] = 0};
	struct rs_follow *f;

	for (unsigned i = 0; i < 4; i++)
		marked_on_its_way(i & 1, i & 2);
	/* a READ's data come back: their marks are the stream's, too */
	assert_int_equal(rs_follow_create(&f), 0);
	seen(f, 0, RS_OP_READ_REQUEST, 0, 0, ECT, false, false, false);
	seen(f, 3, RS_OP_READ_RESPONSE_ONLY, 0, 64, ECT, true, false, false);
	seen(f, 0, RS_OP_READ_RESPONSE_ONLY, 0, 64, CE, true, false, false);
	assert_int_equal(rs_follow_stream(f, 0)->ce, 1);
	/* and of other traffic the frames are counted */
	assert_int_equal(rs_follow_packet(f, 0, 2000, tcp, sizeof(tcp)), 0);
	assert_int_equal(rs_follow_totals(f)->ce, 1);
	assert_int_equal(rs_follow_totals(f)->ce_frames, 2);
	rs_follow_destroy(f);
}

/* More places than are kept: the one where most were marked stays. */
static void test_marks_at_many_places(void **state)
{
	struct rs_follow *f;

	assert_int_equal(rs_follow_create(&f), 0);
	for (uint32_t k = 0; k < 200; k++) {
		seen(f, 0, RS_OP_WRITE_ONLY, k, 64, ECT, false, false, false);
		seen(f, 2 + k % 60, RS_OP_WRITE_ONLY, k, 64, CE, false, false, false); /* spines */
		seen(f, 1, RS_OP_WRITE_ONLY, k, 64, CE, false, false, false);
	}
	assert_int_equal(rs_follow_stream(f, 0)->ce, 200);
	rs_follow_destroy(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain_traffic_has_no_story),
		cmocka_unit_test(test_lost_packet_comes_again_after_a_nak),
		cmocka_unit_test(test_overtaken_packets_belong_to_their_retransmission),
		cmocka_unit_test(test_receiver_not_ready_is_waited_for),
		cmocka_unit_test(test_refused_access_ends_the_connection),
		cmocka_unit_test(test_wrong_icrc_is_wrong),
		cmocka_unit_test(test_connection_management_is_named),
		cmocka_unit_test(test_gap_and_late_packet_are_told_from_loss),
		cmocka_unit_test(test_answer_to_what_was_not_sent_is_wrong),
		cmocka_unit_test(test_second_nak_for_one_gap_is_wrong),
		cmocka_unit_test(test_too_hasty_after_rnr_is_wrong),
		cmocka_unit_test(test_message_that_does_not_begin_is_wrong),
		cmocka_unit_test(test_unanswered_request_is_told_at_the_end),
		cmocka_unit_test(test_merged_packets_are_taken_apart),
		cmocka_unit_test(test_xrc_is_followed_as_rc_is),
		cmocka_unit_test(test_queue_pairs_with_the_same_psns_find_their_answers),
		cmocka_unit_test(test_path_mtu_is_a_connections_own),
		cmocka_unit_test(test_marks_are_counted_wherever_they_are_seen),
		cmocka_unit_test(test_marks_at_many_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
