/* What a live device makes of a BTH that it cannot take at its word: another transport version, an
 * opcode that means nothing. The peer is this test, with a UDP socket of its own. IBTA §9.6.1,
 * §9.9.3. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>
#include "live/state.h"
#include "base/bytes.h"
#include "wire/filler.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

enum { PD = 3, BYTES = 16 << 10, PSN = 0x654321, OUR_QPN = 77, LOOKS = 2000, SYNDROME_AT = 12 };
enum { HEADERS = RS_ETH_BYTES + RS_IPV4_BYTES + RS_UDP_BYTES };

static const uint8_t loopback[16] = {[10] = 0xff, [11] = 0xff, 127, 0, 0, 1};
static const uint8_t peer[16] = {[10] = 0xff, [11] = 0xff, 127, 0, 0, 9};

struct end {
	struct rs_live *l;
	struct rs_cq *cq;
	struct rs_qp *qp;
	uint32_t key;
	uint8_t memory[BYTES];
	int socket; /* the peer's */
	uint32_t psn;
};

static void make_qp(struct end *e)
{
	struct rs_qp_init i = {.pd = PD,
			       .max_send_wr = 4,
			       .max_recv_wr = 4,
			       .max_send_sge = 1,
			       .max_recv_sge = 1,
			       .send_cq = e->cq,
			       .recv_cq = e->cq,
			       .transport = RS_RC};
	struct rs_qp_attr a = {.dest_qpn = OUR_QPN,
			       .sq_psn = PSN,
			       .rq_psn = PSN,
			       .path_mtu = 1024,
			       .pkey = 0xffff,
			       .tos = RS_ECN_ECT0,
			       .access = 15};
	struct rs_nic *nic = rs_live_nic(e->l);

	rs_live_lock(e->l);
	assert_int_equal(rs_nic_create_qp(nic, &i, &e->qp), 0);
	assert_int_equal(rs_live_path_get(e->l, 0, peer, &a.dest_endpoint), 0);
	assert_int_equal(rs_qp_connect(nic, e->qp, &a, rs_live_now(e->l)), 0);
	rs_live_unlock(e->l);
	e->psn = PSN;
}

static int start(void **state)
{
	struct sockaddr_in from = {.sin_family = AF_INET, .sin_port = htons(RS_UDP_PORT)};
	struct end *e = calloc(1, sizeof(*e));
	int on = 1, discover = IP_PMTUDISC_DO;
	struct rs_live_device d;
	struct rs_error why = {0};

	if (!e || rs_live_device_parse("x=lo", &d, &why) || rs_live_open(&d, &e->l, &why))
		return -1;
	memcpy(&from.sin_addr, peer + 12, 4);
	e->socket = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (setsockopt(e->socket, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) ||
	    setsockopt(e->socket, IPPROTO_IP, IP_MTU_DISCOVER, &discover, sizeof(discover)) ||
	    bind(e->socket, (struct sockaddr *)&from, sizeof(from)))
		return -1;
	rs_live_lock(e->l);
	assert_int_equal(rs_nic_create_cq(rs_live_nic(e->l), 16, &e->cq), 0);
	assert_int_equal(rs_nic_reg_mr(rs_live_nic(e->l), PD, (uintptr_t)e->memory, BYTES, 15,
				       e->memory, &e->key),
			 0);
	rs_live_unlock(e->l);
	make_qp(e);
	*state = e;
	return 0;
}

static int end(void **state)
{
	struct end *e = *state;

	rs_live_close(e->l);
	close(e->socket);
	free(e);
	return 0;
}

/* A WRITE of 64 bytes at the PSN that is next, whose opcode and version are these. */
static void send_as(struct end *e, uint8_t opcode, uint8_t version)
{
	static uint8_t payload[64] = {0xee};
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(RS_UDP_PORT)};
	struct rs_packet p = {.opcode = RS_OP_WRITE_ONLY,
			      .pkey = 0xffff,
			      .dest_qp = rs_qp_num(e->qp),
			      .psn = e->psn,
			      .bth_flags = RS_BTH_MIGREQ | RS_BTH_ACKREQ,
			      .sport = RS_UDP_PORT,
			      .va = (uintptr_t)e->memory,
			      .rkey = e->key,
			      .dma_bytes = sizeof(payload),
			      .payload = payload,
			      .payload_bytes = sizeof(payload)};
	uint8_t frame[512];
	struct rs_frame f;
	long n;

	rs_frame_of_endpoints(&f, 0, 1, false);
	memcpy(f.sip, peer, 16);
	memcpy(f.dip, loopback, 16);
	f.tver = version;
	n = rs_frame_encode(&f, &p, frame, sizeof(frame));
	assert_true(n > HEADERS);
	frame[HEADERS] = opcode;
	rs_put32_le(frame + n - RS_ICRC_BYTES,
		    rs_icrc(frame + RS_ETH_BYTES, (size_t)n - RS_ETH_BYTES - RS_ICRC_BYTES, false));
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(sendto(e->socket, frame + HEADERS, (size_t)n - HEADERS, 0,
				(struct sockaddr *)&to, sizeof(to)),
			 n - HEADERS);
}

/* The device takes one datagram, by its thread or here; its answer's syndrome, -1: it says nothing.
 */
static int answer(struct end *e, uint64_t before)
{
	uint8_t bytes[512];
	uint64_t now = before;
	int got = -1;

	for (unsigned i = 0; i < LOOKS && (now == before || i < LOOKS / 20); i++) {
		rs_live_lock(e->l);
		rs_live_progress(e->l);
		now = rs_live_get_counters(e->l)->rx_datagrams;
		rs_live_unlock(e->l);
		usleep(100);
	}
	assert_int_equal(now, before + 1);
	while (recv(e->socket, bytes, sizeof(bytes), 0) > SYNDROME_AT)
		if (bytes[0] == RS_OP_ACKNOWLEDGE)
			got = bytes[SYNDROME_AT];
	return got;
}

static int answer_to(struct end *e, uint8_t opcode, uint8_t version)
{
	uint64_t before;

	rs_live_lock(e->l);
	before = rs_live_get_counters(e->l)->rx_datagrams;
	rs_live_unlock(e->l);
	send_as(e, opcode, version);
	return answer(e, before);
}

static void test_packet_of_another_transport_version_is_dropped(void **state)
{
	struct end *e = *state;

	for (unsigned v = 1; v < 16; v++) {
		assert_int_equal(answer_to(e, RS_OP_WRITE_ONLY, (uint8_t)v), -1);
		assert_int_equal(answer_to(e, 0x1f, (uint8_t)v), -1);
	}
	assert_int_equal(e->memory[0], 0);
	assert_int_equal(rs_qp_get_state(e->qp), RS_QPS_RTS);
	assert_int_equal(answer_to(e, RS_OP_WRITE_ONLY, 0) & RS_SYN_KIND, RS_SYN_ACK);
	assert_int_equal(e->memory[0], 0xee);
	e->psn++;
}

static void test_reserved_opcode_earns_a_nak(void **state)
{
	struct end *e = *state;

	assert_int_equal(answer_to(e, 0x3f, 0), -1); /* UC's own: not of this service */
	assert_int_equal(rs_qp_get_state(e->qp), RS_QPS_RTS);
	assert_int_equal(answer_to(e, 0x18, 0), RS_NAK_INVALID_REQUEST);
	assert_int_equal(rs_qp_get_state(e->qp), RS_QPS_ERR);
}

/* The answers that came, in their order, as PSN << 8 | syndrome; a READ's data as an ACK. */
static unsigned answers(struct end *e, uint32_t *out, unsigned most)
{
	uint8_t b[512];
	unsigned n = 0;

	for (unsigned i = 0; i < LOOKS && n < most; i++) {
		rs_live_lock(e->l);
		rs_live_progress(e->l);
		rs_live_unlock(e->l);
		while (n < most && recv(e->socket, b, sizeof(b), 0) > SYNDROME_AT)
			out[n++] = rs_get24(b + 9) << 8 | b[SYNDROME_AT];
		usleep(n ? 1 : 100);
	}
	return n;
}

/* The device holds ACKs back for data that may share their send; not behind what answers later. */
static void test_ack_leaves_the_device_before_the_nak_of_a_later_request(void **state)
{
	struct end *e = *state;

	for (unsigned round = 0; round < 60; round++) {
		uint32_t got[4], psn;

		make_qp(e);
		psn = e->psn;
		rs_live_lock(e->l); /* so that both are taken in one go */
		send_as(e, RS_OP_WRITE_ONLY, 0);
		e->psn++;
		if (round % 2)
			e->psn++; /* a gap: the sequence's NAK */
		send_as(e, round % 2 ? RS_OP_WRITE_ONLY : 0x1f, 0);
		rs_live_progress(e->l);
		rs_live_unlock(e->l);
		assert_int_equal(answers(e, got, 2), 2);
		assert_int_equal(got[0] >> 8, psn);
		assert_int_equal(got[0] & RS_SYN_KIND, RS_SYN_ACK);
		assert_int_equal(got[1] >> 8, psn + 1);
		assert_int_equal(got[1] & 0xff,
				 round % 2 ? RS_NAK_PSN_SEQ : RS_NAK_INVALID_REQUEST);
	}
}

/* ---- Blocks: a message's packets in one datagram of the kernel's ---- */

enum { MTU = 1024, BLOCK = 12, BAD = 5, WHOLE = HEADERS + RS_BTH_BYTES + RS_RETH_BYTES + MTU + 32 };

enum spoil {
	NOTHING,
	PAYLOAD,       /* and its ICRC not */
	FILLER,        /* so it is none */
	GAP,           /* in the PSNs */
	OTHER_PKEY,    /* another partition's */
	OTHER_OPCODE,  /* of a SEND */
	OTHER_ID,      /* IPv4 identification: as of a NIC that counts its datagrams */
	RESERVED_BITS, /* which a receiver does not look at: IBTA 9.2 */
	SPOILS,
};

/* A WRITE's First goes alone where the others are not filled. */
enum kind { WRITE, FILLED_WRITE, SEND, KINDS };

static const uint8_t opcodes[KINDS][3] = {
	{RS_OP_WRITE_FIRST, RS_OP_WRITE_MIDDLE, RS_OP_WRITE_LAST},
	{RS_OP_WRITE_FIRST, RS_OP_WRITE_MIDDLE, RS_OP_WRITE_LAST},
	{RS_OP_SEND_FIRST, RS_OP_SEND_MIDDLE, RS_OP_SEND_LAST},
};

/* The k-th packet of a message of BLOCK + 1, as it stands behind UDP's header; its bytes. */
static size_t write_packet(struct end *e, unsigned k, enum spoil spoil, enum kind kind,
			   uint8_t *out)
{
	static uint8_t payload[MTU];
	bool filled = kind == FILLED_WRITE;
	struct rs_packet p = {.opcode = opcodes[kind][!k           ? 0
						      : k == BLOCK ? 2
								   : 1],
			      .pkey = spoil == OTHER_PKEY ? 0x9234 : 0xffff,
			      .dest_qp = rs_qp_num(e->qp),
			      .psn = rs_psn_add(PSN, k + (spoil == GAP)),
			      .bth_flags = RS_BTH_MIGREQ | (k == BLOCK ? RS_BTH_ACKREQ : 0),
			      .sport = RS_UDP_PORT,
			      .va = (uintptr_t)e->memory,
			      .rkey = e->key,
			      .dma_bytes = (BLOCK + 1) * MTU,
			      .payload = payload,
			      .payload_bytes = MTU};
	uint8_t frame[WHOLE];
	struct rs_frame f;
	long n;

	memset(payload, (int)k + 1, MTU);
	if (spoil == OTHER_OPCODE)
		p.opcode = kind == SEND ? RS_OP_WRITE_MIDDLE : RS_OP_SEND_MIDDLE;
	rs_frame_of_endpoints(&f, 0, 1, false);
	memcpy(f.sip, peer, 16);
	memcpy(f.dip, loopback, 16);
	f.ip_frag = 0x4000;
	f.ip_id = (uint16_t)(k ? k - (kind == WRITE) : 0) + (spoil == OTHER_ID ? 40 : 0);
	n = rs_frame_encode(&f, &p, frame, sizeof(frame));
	assert_true(n > HEADERS);
	if (spoil == RESERVED_BITS)
		frame[HEADERS + 8] |= 1;
	if (spoil == RESERVED_BITS)
		rs_put32_le(frame + n - RS_ICRC_BYTES,
			    rs_icrc(frame + RS_ETH_BYTES, (size_t)n - RS_ETH_BYTES - RS_ICRC_BYTES,
				    false));
	n -= HEADERS;
	memcpy(out, frame + HEADERS, (size_t)n);
	if (filled && k) {
		out[4] |= RS_BTH4_FILLED;
		rs_filler_put(out + n, RS_RETH_BYTES);
		n += RS_RETH_BYTES;
		out[n - 2] ^= spoil == FILLER;
	}
	out[RS_BTH_BYTES + 77] ^= spoil == PAYLOAD;
	return (size_t)n;
}

static void send_block(struct end *e, unsigned from, unsigned to, enum spoil spoil, enum kind kind)
{
	static uint8_t bytes[(BLOCK + 1) * WHOLE];
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(RS_UDP_PORT)};
	int segment = 0;
	size_t n = 0;

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (unsigned k = from; k <= to; k++) {
		size_t was = n;

		n += write_packet(e, k, k == BAD ? spoil : NOTHING, kind, bytes + n);
		segment = segment ? segment : (int)(n - was);
	}
	assert_int_equal(setsockopt(e->socket, SOL_UDP, UDP_SEGMENT, &segment, sizeof(segment)), 0);
	assert_int_equal(sendto(e->socket, bytes, n, 0, (struct sockaddr *)&at, sizeof(at)), n);
}

/* The packets that were executed. */
static uint32_t take_blocks(struct end *e, enum spoil spoil, enum kind kind)
{
	struct rs_sge sge = {.va = (uintptr_t)e->memory, .length = BYTES, .lkey = e->key};
	struct rs_recv_wr wr = {.n_sge = 1, .sge = &sge};
	uint64_t before;

	rs_live_lock(e->l);
	before = rs_live_get_counters(e->l)->rx_datagrams;
	memset(e->memory, 0, BYTES);
	assert_int_equal(rs_qp_post_recv(rs_live_nic(e->l), e->qp, &wr), 0);
	rs_live_unlock(e->l);
	if (kind == WRITE) {
		send_block(e, 0, 0, spoil, kind);
		answer(e, before);
		before++;
	}
	send_block(e, kind == WRITE, BLOCK, spoil, kind);
	answer(e, before);
	for (unsigned k = 0; k <= BLOCK; k++)
		if (e->memory[k * MTU] != k + 1)
			return k;
	return BLOCK + 1;
}

static void check_memory(const struct end *e, uint32_t packets)
{
	for (uint32_t k = 0; k < BYTES; k++)
		assert_int_equal(e->memory[k], k < packets * MTU ? k / MTU + 1 : 0);
}

/* What is wrong with one packet of a block stops the message there, and what only looks odd does
 * not; nothing behind it is written. A SEND's packet is not filled: its ICRC is not where it should
 * be. */
static void test_block_is_taken_up_to_the_packet_that_is_wrong(void **state)
{
	struct end *e = *state;

	for (unsigned i = 0; i < KINDS * SPOILS; i++) {
		enum spoil spoil = i / KINDS;
		enum kind kind = i % KINDS;
		bool stops = spoil != NOTHING && spoil < OTHER_ID;
		uint32_t want = BLOCK + 1;

		if (spoil == FILLER && kind != FILLED_WRITE)
			continue;
		if (stops)
			want = BAD;
		make_qp(e);
		assert_int_equal(take_blocks(e, spoil, kind), want);
		check_memory(e, want);
		assert_int_equal(rs_qp_get_state(e->qp),
				 spoil == OTHER_OPCODE && kind != FILLED_WRITE ? RS_QPS_ERR
									       : RS_QPS_RTS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_packet_of_another_transport_version_is_dropped,
						start, end),
		cmocka_unit_test_setup_teardown(test_reserved_opcode_earns_a_nak, start, end),
		cmocka_unit_test_setup_teardown(
			test_ack_leaves_the_device_before_the_nak_of_a_later_request, start, end),
		cmocka_unit_test_setup_teardown(test_block_is_taken_up_to_the_packet_that_is_wrong,
						start, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
