/*
 * Telemetry behind the ICRC, live: a device with HPCC, and a peer that is this test with a UDP
 * socket of its own. A trailer goes to a peer that said that it takes trailers, and to no other;
 * stamps come back with the ACK; whatever a peer writes into trailers, requests come to their end.
 */
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
#include "base/bytes.h"
#include "base/random.h"
#include "live/state.h"
#include "wire/telemetry.h"

enum { PD = 3, BYTES = 2000, PSN = 0x654321, OUR_QPN = 77, LOOKS = 4000, MTU = 1024 };
enum { HEADERS = RS_ETH_BYTES + RS_IPV4_BYTES + RS_UDP_BYTES };

static const uint8_t loopback[16] = {[10] = 0xff, [11] = 0xff, 127, 0, 0, 1};
static const uint8_t peer[16] = {[10] = 0xff, [11] = 0xff, 127, 0, 0, 9};

struct end {
	struct rs_live *l;
	struct rs_cq *cq;
	struct rs_qp *qp;
	uint32_t key, psn; /* of our next request */
	uint8_t memory[BYTES];
	int socket; /* the peer's */
};

static void make_qp(struct end *e)
{
	struct rs_qp_init i = {.pd = PD,
			       .max_send_wr = 4,
			       .max_send_sge = 1,
			       .max_recv_sge = 1,
			       .send_cq = e->cq,
			       .recv_cq = e->cq,
			       .transport = RS_RC,
			       .sq_sig_all = true};
	struct rs_qp_attr a = {.dest_qpn = OUR_QPN,
			       .sq_psn = PSN,
			       .rq_psn = PSN,
			       .path_mtu = MTU,
			       .timeout = 14,
			       .retry_cnt = 7,
			       .pkey = 0xffff,
			       .access = 15};
	struct rs_nic *nic = rs_live_nic(e->l);

	assert_int_equal(rs_nic_create_cq(nic, 16, &e->cq), 0);
	i.send_cq = i.recv_cq = e->cq;
	assert_int_equal(
		rs_nic_reg_mr(nic, PD, (uintptr_t)e->memory, BYTES, 15, e->memory, &e->key), 0);
	assert_int_equal(rs_nic_create_qp(nic, &i, &e->qp), 0);
	assert_int_equal(rs_live_path_get(e->l, 0, peer, &a.dest_endpoint), 0);
	assert_int_equal(rs_qp_connect(nic, e->qp, &a, rs_live_now(e->l)), 0);
	e->psn = PSN;
}

static int start(void **state)
{
	struct sockaddr_in from = {.sin_family = AF_INET, .sin_port = htons(RS_UDP_PORT)};
	struct end *e = calloc(1, sizeof(*e));
	int on = 1;
	struct rs_live_device d;
	struct rs_error why = {0};

	setenv("RIPSTOP_CC", "hpcc", 1);
	if (!e || rs_live_device_parse("x=lo", &d, &why) || rs_live_open(&d, &e->l, &why))
		return -1;
	memcpy(&from.sin_addr, peer + 12, 4);
	e->socket = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (setsockopt(e->socket, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) ||
	    bind(e->socket, (struct sockaddr *)&from, sizeof(from)))
		return -1;
	rs_live_lock(e->l);
	make_qp(e);
	rs_live_unlock(e->l);
	*state = e;
	return 0;
}

static int end(void **state)
{
	struct end *e = *state;

	rs_live_close(e->l);
	close(e->socket);
	free(e);
	unsetenv("RIPSTOP_CC");
	return 0;
}

/* The device's next packet of a kind, as a frame whose headers the socket hid; its bytes. */
static size_t take(struct end *e, bool ack, uint8_t *bytes, size_t cap)
{
	for (unsigned i = 0; i < LOOKS; i++) {
		ssize_t n;

		rs_live_lock(e->l);
		rs_live_progress(e->l);
		rs_live_unlock(e->l);
		n = recv(e->socket, bytes, cap, 0);
		if (n >= RS_BTH_BYTES && (bytes[0] == RS_OP_ACKNOWLEDGE) == ack &&
		    rs_get24(bytes + 5) == OUR_QPN)
			return (size_t)n;
		usleep(100);
	}
	return 0;
}

static bool is_complete(struct end *e)
{
	for (unsigned i = 0; i < LOOKS; i++) {
		struct rs_cqe c;
		bool any;

		rs_live_lock(e->l);
		rs_live_progress(e->l);
		any = rs_cq_poll(e->cq, &c, 1);
		rs_live_unlock(e->l);
		if (any)
			return c.status == RS_WC_SUCCESS;
		usleep(100);
	}
	return false;
}

/* Sends what follows: BTH, more, ICRC, and a trailer of the stamps where there are any. */
static void say(struct end *e, struct rs_packet *p, uint8_t bits8, const uint64_t *hops,
		size_t cut_off)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(RS_UDP_PORT)};
	uint8_t frame[BYTES + 256];
	struct rs_frame f;
	long n;

	rs_frame_of_endpoints(&f, 0, 1, false);
	memcpy(f.sip, peer, 16);
	memcpy(f.dip, loopback, 16);
	f.bth_reserved = bits8;
	if (hops) {
		f.stamped = true;
		f.bth_reserved |= RS_BTH4_STAMPED << 8;
		memcpy(p->int_hop, hops, sizeof(p->int_hop));
	}
	p->dest_qp = rs_qp_num(e->qp);
	p->pkey = 0xffff;
	p->sport = RS_UDP_PORT;
	n = rs_frame_encode(&f, p, frame, sizeof(frame));
	assert_true(n > HEADERS);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_true(sendto(e->socket, frame + HEADERS, (size_t)n - HEADERS - cut_off, 0,
			   (struct sockaddr *)&to, sizeof(to)) > 0);
}

static void acknowledge(struct end *e, uint32_t psn, uint32_t msn, uint8_t bits8,
			const uint64_t *hops, size_t cut_off)
{
	struct rs_packet p = {
		.opcode = RS_OP_ACKNOWLEDGE, .psn = psn, .aeth = 0x1fu << 24 | (msn & 0xffffff)};

	say(e, &p, bits8, hops, cut_off);
}

static void post(struct end *e, uint32_t bytes)
{
	struct rs_sge sge = {(uintptr_t)e->memory, bytes, e->key};
	struct rs_send_wr wr = {
		.op = RS_WR_WRITE, .n_sge = 1, .sge = &sge, .remote_va = 0x1000, .rkey = 5};

	rs_live_lock(e->l);
	assert_int_equal(rs_qp_post_send(rs_live_nic(e->l), e->qp, &wr, rs_live_now(e->l)), 0);
	rs_live_unlock(e->l);
}

/* One WRITE to the peer, which answers so; was the request's trailer there? */
static bool one(struct end *e, uint32_t k, uint8_t bits8, const uint64_t *hops, size_t cut_off)
{
	uint8_t bytes[BYTES + 256];
	size_t n;
	bool has;

	post(e, 500);
	do /* a probe of the one before may be on its way */
		n = take(e, false, bytes, sizeof(bytes));
	while (n > 0 && rs_get24(bytes + 9) == ((PSN + k - 1) & 0xffffff));
	assert_true(n > 0);
	has = rs_int_trailer_find(bytes, n);
	assert_int_equal(n, RS_BTH_BYTES + RS_RETH_BYTES + 500 + RS_ICRC_BYTES +
				    (has ? RS_INT_TRAILER_BYTES : 0));
	assert_int_equal(!!(bytes[4] & RS_BTH4_STAMPED), has);
	assert_int_equal(rs_get24(bytes + 9), (PSN + k) & 0xffffff);
	if (cut_off) /* lost, as its ICRC is not where it should be; what comes then counts */
		acknowledge(e, PSN + k, k + 1, bits8, hops, cut_off);
	acknowledge(e, PSN + k, k + 1, bits8, cut_off ? NULL : hops, 0);
	assert_true(is_complete(e));
	return has;
}

static void test_a_trailer_goes_to_a_peer_that_said_it_takes_them(void **state)
{
	static const uint64_t stamps[RS_INT_HOPS] = {0x1234567812345678, 0x2234567812345678};
	struct end *e = *state;

	assert_false(one(e, 0, 0, NULL, 0));              /* nothing is known of it */
	assert_false(one(e, 1, RS_BTH8_STAMPS, NULL, 0)); /* now it is */
	assert_true(one(e, 2, RS_BTH8_STAMPS, stamps, 0));
	assert_true(one(e, 3, 0, NULL, 0)); /* another device has taken its place */
	assert_false(one(e, 4, 0, NULL, 0));
}

/* What a request brought, its ACK returns; one without gets none. */
static void test_stamps_return_with_the_ack(void **state)
{
	static const uint64_t stamps[RS_INT_HOPS] = {11, 22, 33};
	static uint8_t payload[64];
	struct end *e = *state;

	for (unsigned k = 0; k < 6; k++) {
		struct rs_packet p = {.opcode = RS_OP_WRITE_ONLY,
				      .psn = PSN + k,
				      .bth_flags = RS_BTH_ACKREQ,
				      .va = (uintptr_t)e->memory,
				      .rkey = e->key,
				      .dma_bytes = sizeof(payload),
				      .payload = payload,
				      .payload_bytes = sizeof(payload)};
		uint8_t bytes[BYTES];
		const uint8_t *trailer;
		size_t n;

		say(e, &p, 0, k % 2 ? NULL : stamps, 0);
		n = take(e, true, bytes, sizeof(bytes));
		assert_true(n > 0);
		assert_int_equal(bytes[8] & RS_BTH8_STAMPS, RS_BTH8_STAMPS);
		trailer = rs_int_trailer_find(bytes, n);
		assert_int_equal(!trailer, k % 2);
		if (!trailer)
			continue;
		rs_int_trailer_get(trailer, &p);
		assert_memory_equal(p.int_hop, stamps, sizeof(stamps));
	}
}

/* Lies of all kinds: any bits as stamps, trailers cut short, and a peer that changes its mind. */
static void test_a_lying_peer_stops_nothing(void **state)
{
	struct rs_random r = rs_random_stream(5, 1, 2);
	struct end *e = *state;

	for (uint32_t k = 0; k < 400; k++) {
		uint64_t hops[RS_INT_HOPS];
		bool none = rs_random_below(&r, 4) == 0;

		for (unsigned i = 0; i < RS_INT_HOPS; i++)
			hops[i] = rs_random_below(&r, 4)
					  ? rs_random_u64(&r)
					  : (uint64_t) - (int64_t)rs_random_below(&r, 2);
		one(e, k, rs_random_below(&r, 3) ? RS_BTH8_STAMPS : 0, none ? NULL : hops,
		    none || k % 40 ? 0 : 1 + rs_random_below(&r, RS_INT_TRAILER_BYTES));
	}
	assert_int_equal(rs_qp_get_state(e->qp), RS_QPS_RTS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_a_trailer_goes_to_a_peer_that_said_it_takes_them, start, end),
		cmocka_unit_test_setup_teardown(test_stamps_return_with_the_ack, start, end),
		cmocka_unit_test_setup_teardown(test_a_lying_peer_stops_nothing, start, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
