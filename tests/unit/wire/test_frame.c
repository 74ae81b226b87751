/* Frames: every opcode over IPv4 and IPv6, tagged and not, has the layout of IBTA §9.2, §9.3 and
 * annex A17, and decodes to what was encoded; what the standards forbid is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include "packets.h"
#include "base/bytes.h"

enum { ROOM = RS_MAX_PAYLOAD + RS_MAX_HEADERS + RS_TRAILER_MAX };

/* The twin: extended headers by name in the order of IBTA's figures, for each operation. */
static const struct {
	uint8_t op;
	const char *headers;
	bool payload;
} operations[] = {
	{0x00, "", true},    {0x01, "", true},   {0x02, "", true},    {0x03, "I", true},
	{0x04, "", true},    {0x05, "I", true},  {0x06, "R", true},   {0x07, "", true},
	{0x08, "", true},    {0x09, "I", true},  {0x0a, "R", true},   {0x0b, "RI", true},
	{0x0c, "R", false},  {0x0d, "A", true},  {0x0e, "", true},    {0x0f, "A", true},
	{0x10, "A", true},   {0x11, "A", false}, {0x12, "AO", false}, {0x13, "T", false},
	{0x14, "T", false},  {0x16, "I", true},  {0x17, "I", true},   {0x1c, "FR", false},
	{0x1d, "R", true},   {0x20, "", true},   {0x21, "", true},    {0x22, "", true},
	{0x23, "I", true},   {0x24, "", true},   {0x25, "I", true},   {0x26, "R", true},
	{0x27, "", true},    {0x28, "", true},   {0x29, "I", true},   {0x2a, "R", true},
	{0x2b, "RI", true},  {0x64, "D", true},  {0x65, "DI", true},  {0x81, "C", false},
	{0xa0, "X", true},   {0xa1, "X", true},  {0xa2, "X", true},   {0xa3, "XI", true},
	{0xa4, "X", true},   {0xa5, "XI", true}, {0xa6, "XR", true},  {0xa7, "X", true},
	{0xa8, "X", true},   {0xa9, "XI", true}, {0xaa, "XR", true},  {0xab, "XRI", true},
	{0xac, "XR", false}, {0xad, "A", true},  {0xae, "", true},    {0xaf, "A", true},
	{0xb0, "A", true},   {0xb1, "A", false}, {0xb2, "AO", false}, {0xb3, "XT", false},
	{0xb4, "XT", false}, {0xb6, "XI", true}, {0xb7, "XI", true},
};
enum { OPERATIONS = sizeof(operations) / sizeof(operations[0]) };

/* Checks one header's bytes, returns what follows it. */
static const uint8_t *header(const uint8_t *b, char name, const struct sample *s)
{
	const struct rs_packet *p = &s->packet;

	switch (name) {
	case 'X': /* XRCETH: reserved 8, XRCSRQ 24 */
		assert_int_equal(rs_get32(b), p->xrc_srqn);
		return b + 4;
	case 'D': /* DETH: Q_Key 32, reserved 8, source QP 24 */
		assert_int_equal(rs_get32(b), p->qkey);
		assert_int_equal(rs_get32(b + 4), p->src_qp);
		return b + 8;
	case 'F': /* FETH */
		assert_int_equal(rs_get32(b), p->feth);
		return b + 4;
	case 'R': /* RETH: virtual address 64, R_Key 32, DMA length 32 */
		assert_true(rs_get64(b) == p->va);
		assert_int_equal(rs_get32(b + 8), p->rkey);
		assert_int_equal(rs_get32(b + 12), p->dma_bytes);
		return b + 16;
	case 'T': /* AtomicETH: virtual address 64, R_Key 32, swap or add 64, compare 64 */
		assert_true(rs_get64(b) == p->va);
		assert_int_equal(rs_get32(b + 8), p->rkey);
		assert_true(rs_get64(b + 12) == p->swap_add);
		assert_true(rs_get64(b + 20) == p->compare);
		return b + 28;
	case 'A': /* AETH: syndrome 8, MSN 24 */
		assert_int_equal(rs_get32(b), p->aeth);
		return b + 4;
	case 'O': /* AtomicAckETH: original remote data 64 */
		assert_true(rs_get64(b) == p->swap_add);
		return b + 8;
	case 'I': /* ImmDt or IETH */
		assert_int_equal(rs_get32(b), p->imm);
		return b + 4;
	default: /* a CNP's reserved bytes */
		for (int i = 0; i < RS_CNP_PAYLOAD; i++)
			assert_int_equal(b[i], 0);
		return b + RS_CNP_PAYLOAD;
	}
}

static const uint8_t *below_bth(const uint8_t *b, const struct sample *s, size_t n)
{
	if (s->frame.vlan) {
		assert_int_equal(rs_get16(b + 12), 0x8100);
		assert_int_equal(rs_get16(b + 14), s->frame.vlan_tci);
		b += 4;
		n -= 4;
	}
	assert_int_equal(rs_get16(b + 12), s->frame.ipv6 ? 0x86dd : 0x0800);
	b += 14;
	n -= 14;
	if (s->frame.ipv6) {
		assert_int_equal(rs_get32(b), 0x60000000 | s->packet.tos << 20 | 0xabcde);
		assert_int_equal(rs_get16(b + 4), n - 40);
		assert_int_equal(b[6], 17);
		b += 40;
		n -= 40;
	} else {
		assert_int_equal(b[0], 0x45);
		assert_int_equal(b[1], s->packet.tos);
		assert_int_equal(rs_get16(b + 2), n);
		assert_int_equal(b[9], 17);
		assert_int_equal(rs_internet_checksum(b, 20), 0);
		b += 20;
		n -= 20;
	}
	assert_int_equal(rs_get16(b), s->packet.sport);
	assert_int_equal(rs_get16(b + 2), 4791);
	assert_int_equal(rs_get16(b + 4), n);
	return b + 8;
}

static void check_layout(const uint8_t *b, size_t n, const struct sample *s, const char *headers)
{
	const struct rs_packet *p = &s->packet;
	unsigned pad = rs_pad(p->payload_bytes);
	const uint8_t *end = b + n;

	b = below_bth(b, s, n);
	assert_int_equal(b[0], p->opcode);
	assert_int_equal(b[1], 0x80 | pad << 4);
	assert_int_equal(rs_get16(b + 2), 0xffff);
	assert_int_equal(rs_get32(b + 4), 0x80u << 24 | p->dest_qp);
	assert_int_equal(rs_get32(b + 8), 0x80u << 24 | p->psn);
	for (b += 12; *headers; headers++)
		b = header(b, *headers, s);
	if (p->payload_bytes)
		assert_memory_equal(b, p->payload, p->payload_bytes);
	assert_ptr_equal(b + p->payload_bytes + pad + RS_ICRC_BYTES, end);
}

static void check_fields(const struct sample *in, const struct rs_frame *f,
			 const struct rs_packet *p)
{
	struct rs_packet a = in->packet, b = *p;
	struct rs_frame g = *f;

	assert_true(f->icrc_ok);
	assert_int_equal(a.payload_bytes, b.payload_bytes);
	if (a.payload_bytes)
		assert_memory_equal(a.payload, b.payload, a.payload_bytes);
	a.payload = b.payload = NULL;
	a.frame_bytes = b.frame_bytes;
	assert_memory_equal(&a, &b, sizeof(a));
	assert_int_equal(g.trailer_bytes, 0);
	g.icrc = 0;
	g.icrc_ok = false;
	g.trailer = NULL;
	assert_memory_equal(&g, &in->frame, sizeof(g));
}

static void round_trip(unsigned k, uint16_t payload, bool ipv6, bool vlan)
{
	struct sample s = sample_of(operations[k].op, payload, ipv6, vlan);
	static uint8_t bytes[ROOM];
	long n = rs_frame_encode(&s.frame, &s.packet, bytes, sizeof(bytes));
	struct rs_error why = {0};
	struct rs_packet p;
	struct rs_frame f;

	assert_true(n > 0);
	check_layout(bytes, (size_t)n, &s, operations[k].headers);
	if (rs_frame_decode(bytes, (size_t)n, &f, &p, &why))
		fail_msg("0x%02x: %s", operations[k].op, why.what);
	check_fields(&s, &f, &p);
	assert_int_equal(p.frame_bytes, n + 4 < 64 ? 64 : n + 4);
	if (!vlan)
		assert_int_equal(p.frame_bytes,
				 rs_frame_bytes(p.opcode, s.packet.payload_bytes, ipv6));
}

static void test_every_opcode_has_its_layout_and_reads_back(void **state)
{
	static const uint16_t payloads[] = {0, 1, 2, 3, 4, 255, 1024, 4096};

	for (unsigned k = 0; k < OPERATIONS; k++)
		for (unsigned i = 0; i < (operations[k].payload ? 8 : 1); i++)
			for (unsigned w = 0; w < 4; w++)
				round_trip(k, payloads[i], w & 1, w & 2);
}

static void test_the_table_of_opcodes_is_the_standards(void **state)
{
	unsigned valid = 0;

	for (unsigned i = 0; i < 256; i++)
		valid += !!(rs_opcodes[i].flags & RS_F_VALID);
	assert_int_equal(valid, OPERATIONS);
	for (unsigned k = 0; k < OPERATIONS; k++) {
		const struct rs_opcode *o = &rs_opcodes[operations[k].op];

		assert_non_null(o->name);
		assert_true(o->flags & RS_F_VALID);
		assert_int_equal(!!(o->flags & RS_F_PAYLOAD), operations[k].payload);
	}
}

/* Every reserved opcode, every shorter frame. */
static void test_reserved_opcodes_and_cut_frames_are_refused(void **state)
{
	struct sample s = sample_of(RS_OP_SEND_ONLY, 64, false, false);
	uint8_t bytes[256];
	size_t n = (size_t)rs_frame_encode(&s.frame, &s.packet, bytes, sizeof(bytes));
	struct rs_packet p;
	struct rs_frame f;

	for (unsigned op = 0; op < 256; op++) {
		bytes[14 + 20 + 8] = (uint8_t)op;
		if (rs_opcodes[op].flags & RS_F_VALID)
			continue;
		/* a receiver looks at the ICRC and the PSN before it refuses */
		rs_put32_le(bytes + n - 4, rs_icrc(bytes + 14, n - 14 - 4, false));
		assert_int_equal(rs_frame_decode(bytes, n, &f, &p, NULL), RS_DECODE_RESERVED);
		assert_true(f.icrc_ok && !p.corrupt);
		assert_int_equal(p.psn, s.packet.psn);
		assert_int_equal(p.dest_qp, s.packet.dest_qp);
		assert_int_equal(p.payload_bytes, 0);
		bytes[n - 1] ^= 1;
		assert_int_equal(rs_frame_decode(bytes, n, &f, &p, NULL), RS_DECODE_RESERVED);
		assert_true(p.corrupt);
	}
	bytes[14 + 20 + 8] = RS_OP_SEND_ONLY;
	for (size_t k = 0; k < n; k++)
		assert_int_not_equal(rs_frame_decode(bytes, k, &f, &p, NULL), RS_DECODE_OK);
	assert_int_equal(rs_frame_decode(bytes, n, &f, &p, NULL), RS_DECODE_OK);
}

/* A field that may not change on the way: its change shows. One that may: it does not. */
static void flipped(const uint8_t *frame, size_t n, size_t at, bool ipv6)
{
	uint8_t b[256];
	size_t ip = at - 14, udp = ipv6 ? 40 : 20;
	bool variant = ipv6 ? ip < 4 || ip == 7 : ip == 1 || ip == 8 || ip == 10 || ip == 11;
	struct rs_packet p;
	struct rs_frame f;

	variant |= ip == udp + 6 || ip == udp + 7 || ip == udp + 8 + 4;
	memcpy(b, frame, n);
	b[at] ^= 0x10;
	if (!ipv6) { /* a router writes the header checksum again */
		b[14 + 10] = b[14 + 11] = 0;
		rs_put16(b + 14 + 10, rs_internet_checksum(b + 14, 20));
	}
	if (rs_frame_decode(b, n, &f, &p, NULL))
		return;
	if (f.icrc_ok != variant)
		fail_msg("byte %zu of the IP packet: the ICRC is %s", ip,
			 f.icrc_ok ? "right" : "wrong");
}

static void test_icrc_sees_what_may_not_change_and_only_that(void **state)
{
	for (unsigned ipv6 = 0; ipv6 < 2; ipv6++) {
		struct sample s = sample_of(RS_OP_WRITE_ONLY_IMM, 33, ipv6, false);
		uint8_t bytes[256];
		size_t n = (size_t)rs_frame_encode(&s.frame, &s.packet, bytes, sizeof(bytes));

		for (size_t at = 14; at < n; at++)
			flipped(bytes, n, at, ipv6);
	}
}

static void test_a_corrupt_packet_has_a_wrong_icrc(void **state)
{
	struct sample s = sample_of(RS_OP_SEND_ONLY, 8, false, false);
	struct rs_packet p;
	struct rs_frame f;
	uint8_t bytes[256];
	long n;

	s.packet.corrupt = 1;
	n = rs_frame_encode(&s.frame, &s.packet, bytes, sizeof(bytes));
	assert_int_equal(rs_frame_decode(bytes, (size_t)n, &f, &p, NULL), RS_DECODE_OK);
	assert_false(f.icrc_ok);
	assert_true(p.corrupt);
}

/* 802.1Q clause 36: to 01-80-C2-00-00-01, EtherType 8808, opcode 0101, vector, eight times. */
static void test_pfc_frames(void **state)
{
	struct rs_packet p = {.kind = RS_KIND_PFC, .pfc_enable = 0x89}, q;
	struct rs_frame f = {.smac = {2, 0, 0, 0, 0, 9}}, g;
	static const uint8_t to[6] = {0x01, 0x80, 0xc2, 0, 0, 1};
	uint8_t bytes[64], again[64];

	memcpy(f.dmac, to, 6);
	for (unsigned i = 0; i < RS_CLASSES; i++)
		p.pfc_quanta[i] = (uint16_t)(0x1111 * i);
	assert_int_equal(rs_frame_encode(&f, &p, bytes, 59), -EMSGSIZE);
	assert_int_equal(rs_frame_encode(&f, &p, bytes, sizeof(bytes)), 60);
	assert_int_equal(rs_get32(bytes + 12), 0x88080101);
	assert_int_equal(rs_get16(bytes + 16), 0x0089);
	assert_int_equal(rs_get16(bytes + 18 + 2 * 3), 0x3333);
	assert_int_equal(rs_frame_decode(bytes, 60, &g, &q, NULL), RS_DECODE_OK);
	assert_int_equal(q.kind, RS_KIND_PFC);
	assert_int_equal(q.pfc_enable, 0x89);
	assert_int_equal(q.frame_bytes, 64);
	assert_memory_equal(q.pfc_quanta, p.pfc_quanta, sizeof(p.pfc_quanta));
	assert_int_equal(rs_frame_encode(&g, &q, again, sizeof(again)), 60);
	assert_memory_equal(bytes, again, 60);
	for (size_t n = 14; n < 60; n++)
		assert_int_equal(rs_frame_decode(bytes, n, &g, &q, NULL), RS_DECODE_TRUNCATED);
	bytes[16] = 1;
	assert_int_equal(rs_frame_decode(bytes, 60, &g, &q, NULL), RS_DECODE_MALFORMED);
	bytes[15] = 2; /* some other MAC control frame */
	assert_int_equal(rs_frame_decode(bytes, 60, &g, &q, NULL), RS_DECODE_OTHER);
}

/* at: of the IP packet. */
static void refused(size_t at, uint8_t byte, bool ipv6, enum rs_decode expected, const char *words)
{
	struct sample s = sample_of(RS_OP_SEND_ONLY, 5, ipv6, false);
	struct rs_error why = {0};
	struct rs_packet p;
	struct rs_frame f;
	uint8_t b[256];
	size_t n = (size_t)rs_frame_encode(&s.frame, &s.packet, b, sizeof(b));

	b[14 + at] = byte;
	if (!at && byte == 0x46) /* a header of six words: UDP stands four bytes later */
		rs_put16(b + 14 + 24 + 2, RS_UDP_PORT);
	if (!ipv6 && at != 10) {
		b[14 + 10] = b[14 + 11] = 0;
		rs_put16(b + 14 + 10, rs_internet_checksum(b + 14, 20));
	}
	assert_int_equal(rs_frame_decode(b, n, &f, &p, &why), expected);
	if (!strstr(why.what, words))
		fail_msg("expected '%s', got '%s'", words, why.what);
}

static void test_what_is_not_rocev2_is_told_from_what_is_broken(void **state)
{
	refused(0, 0x46, false, RS_DECODE_MALFORMED, "no options");
	refused(0, 0x65, false, RS_DECODE_MALFORMED, "version");
	refused(3, 200, false, RS_DECODE_TRUNCATED, "total length");
	refused(3, 27, false, RS_DECODE_MALFORMED, "total length");
	refused(6, 0x20, false, RS_DECODE_OTHER, "fragment");
	refused(9, 6, false, RS_DECODE_OTHER, "protocol");
	refused(10, 0x55, false, RS_DECODE_MALFORMED, "checksum");
	refused(20 + 3, 80, false, RS_DECODE_OTHER, "port");
	refused(20 + 5, 9, false, RS_DECODE_MALFORMED, "UDP length");
	refused(20 + 8 + 1, 0x00, false, RS_DECODE_OK, "");
	refused(0, 0x45, true, RS_DECODE_MALFORMED, "version");
	refused(4, 0x10, true, RS_DECODE_TRUNCATED, "payload length");
	refused(6, 6, true, RS_DECODE_OTHER, "next header");
	refused(40 + 8, 0x11, true, RS_DECODE_MALFORMED, "payload bytes of this opcode");
	refused(40 + 8, 0x13, true, RS_DECODE_MALFORMED, "extended headers");
}

/* Ethernet pads short frames: padding is kept; more than 64 bytes is none. */
static void test_ethernet_padding_is_kept_to_the_byte(void **state)
{
	struct sample s = sample_of(RS_OP_SEND_ONLY, 0, false, false);
	uint8_t b[256] = {0}, again[256];
	size_t n = (size_t)rs_frame_encode(&s.frame, &s.packet, b, sizeof(b));
	struct rs_packet p;
	struct rs_frame f;

	memset(b + n, 0xa5, sizeof(b) - n);
	assert_int_equal(rs_frame_decode(b, n + 64, &f, &p, NULL), RS_DECODE_OK);
	assert_int_equal(f.trailer_bytes, 64);
	assert_int_equal(p.payload_bytes, 0);
	assert_int_equal(rs_frame_encode(&f, &p, again, sizeof(again)), n + 64);
	assert_memory_equal(b, again, n + 64);
	assert_int_equal(rs_frame_decode(b, n + 65, &f, &p, NULL), RS_DECODE_MALFORMED);
}

static void test_a_frame_without_room_is_refused_and_room_is_exact(void **state)
{
	struct sample s = sample_of(RS_OP_SEND_ONLY_IMM, 100, true, true);
	uint8_t b[512];
	long n = rs_frame_encode(&s.frame, &s.packet, b, sizeof(b));

	for (long cap = 0; cap < n; cap++)
		assert_int_equal(rs_frame_encode(&s.frame, &s.packet, b, (size_t)cap), -EMSGSIZE);
	assert_int_equal(rs_frame_encode(&s.frame, &s.packet, b, (size_t)n), n);
}

/* Where the simulator moves no bytes, the capture has zeros. */
static void test_a_missing_payload_is_zeros(void **state)
{
	struct sample s = sample_of(RS_OP_SEND_ONLY, 77, false, false);
	uint8_t b[256], zero[77] = {0};
	struct rs_packet p;
	struct rs_frame f;
	long n;

	s.packet.payload = NULL;
	n = rs_frame_encode(&s.frame, &s.packet, b, sizeof(b));
	assert_int_equal(rs_frame_decode(b, (size_t)n, &f, &p, NULL), RS_DECODE_OK);
	assert_int_equal(p.payload_bytes, 77);
	assert_memory_equal(p.payload, zero, 77);
}

static void test_psn_arithmetic_is_a_circle_of_24_bits(void **state)
{
	for (uint32_t a = 0; a < 1u << 24; a += 4099)
		for (int32_t d = -(1 << 23); d < 1 << 23; d += 1048573)
			assert_int_equal(rs_psn_diff(rs_psn_add(a, (uint32_t)d), a), d);
	assert_int_equal(rs_psn_diff(0, 0xffffff), 1);
	assert_int_equal(rs_psn_diff(0xffffff, 0), -1);
	assert_int_equal(rs_psn_diff(0x800000, 0), -(1 << 23));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_opcode_has_its_layout_and_reads_back),
		cmocka_unit_test(test_the_table_of_opcodes_is_the_standards),
		cmocka_unit_test(test_reserved_opcodes_and_cut_frames_are_refused),
		cmocka_unit_test(test_icrc_sees_what_may_not_change_and_only_that),
		cmocka_unit_test(test_a_corrupt_packet_has_a_wrong_icrc),
		cmocka_unit_test(test_pfc_frames),
		cmocka_unit_test(test_what_is_not_rocev2_is_told_from_what_is_broken),
		cmocka_unit_test(test_ethernet_padding_is_kept_to_the_byte),
		cmocka_unit_test(test_a_frame_without_room_is_refused_and_room_is_exact),
		cmocka_unit_test(test_a_missing_payload_is_zeros),
		cmocka_unit_test(test_psn_arithmetic_is_a_circle_of_24_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
