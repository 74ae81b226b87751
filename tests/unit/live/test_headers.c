/* What a live device makes of a BTH that it cannot take at its word: another transport version, an
 * opcode that means nothing. The peer is this test, with a UDP socket of its own. IBTA §9.6.1,
 * §9.9.3. */
#include <arpa/inet.h>
#include <netinet/in.h>
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

enum { PD = 3, BYTES = 256, PSN = 0x654321, OUR_QPN = 77, LOOKS = 2000, SYNDROME_AT = 12 };
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_packet_of_another_transport_version_is_dropped,
						start, end),
		cmocka_unit_test_setup_teardown(test_reserved_opcode_earns_a_nak, start, end),
		cmocka_unit_test_setup_teardown(
			test_ack_leaves_the_device_before_the_nak_of_a_later_request, start, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
