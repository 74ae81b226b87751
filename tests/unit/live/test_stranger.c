/*
 * Two processes over real sockets, and a third party that knows everything but may not: packets to
 * another process's queue pair with the right number, key, PSN and ICRC, from an address that is
 * not the peer's, or from a port that any user of this host can have. Nothing is read or written,
 * and the peer's own request is the next in order.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "live/state.h"

enum { PD = 3, BYTES = 4096, PSN = 0x123456, SECRET = 0x5e, TRIES = 20000 };

/* What the owner of the queue pair tells the others, and how it found its memory at the end. */
struct offer {
	uint32_t qpn, key;
	uint64_t va;
	bool failed;
};

struct verdict {
	bool untouched, still_connected;
	uint64_t strangers, answers;
};

struct end {
	struct rs_live *l;
	struct rs_qp *qp, *other;
	struct rs_cq *cq;
	uint32_t key, path;
	uint8_t memory[BYTES];
};

static const uint8_t loopback[16] = {[10] = 0xff, [11] = 0xff, 127, 0, 0, 1};
/* One is the peer of another queue pair of that process, one is nobody. */
static const uint8_t strangers[2][16] = {{[10] = 0xff, [11] = 0xff, 127, 0, 0, 2},
					 {[10] = 0xff, [11] = 0xff, 127, 0, 0, 3}};

static bool open_end(struct end *e)
{
	struct rs_live_device d;
	struct rs_error why = {0};
	struct rs_qp_init init = {
		.pd = PD,
		.max_send_wr = 4,
		.max_recv_wr = 4,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.transport = RS_RC,
	};
	bool good;

	memset(e->memory, SECRET, BYTES);
	if (rs_live_device_parse("x=lo", &d, &why) || rs_live_open(&d, &e->l, &why)) {
		print_message("%s\n", why.what);
		return false;
	}
	rs_live_lock(e->l);
	good = !rs_nic_create_cq(rs_live_nic(e->l), 16, &e->cq);
	init.send_cq = init.recv_cq = e->cq;
	good = good && !rs_nic_create_qp(rs_live_nic(e->l), &init, &e->qp) &&
	       !rs_nic_create_qp(rs_live_nic(e->l), &init, &e->other) &&
	       !rs_nic_reg_mr(rs_live_nic(e->l), PD, (uintptr_t)e->memory, BYTES, 15, e->memory,
			      &e->key);
	rs_live_unlock(e->l);
	return good;
}

static bool connect_end(struct end *e, struct rs_qp *qp, const uint8_t peer[16], uint32_t qpn)
{
	struct rs_qp_attr a = {
		.dest_qpn = qpn,
		.sq_psn = PSN,
		.rq_psn = PSN,
		.path_mtu = 1024,
		.pkey = 0xffff,
		.tos = RS_ECN_ECT0,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 4,
		.access = 15,
	};
	bool good;

	rs_live_lock(e->l);
	good = !rs_live_path_get(e->l, 0, peer, &a.dest_endpoint) &&
	       !rs_qp_connect(rs_live_nic(e->l), qp, &a, rs_live_now(e->l));
	rs_live_unlock(e->l);
	return good;
}

static void progress(struct end *e)
{
	rs_live_lock(e->l);
	rs_live_progress(e->l);
	rs_live_unlock(e->l);
	usleep(100);
}

/* The other process: owns the queue pair, works until it is told to say what it saw. */
static void owner(int in, int out)
{
	struct end *e = calloc(1, sizeof(*e));
	struct offer mine = {0}, theirs;
	struct verdict v;
	struct pollfd wait = {.fd = in, .events = POLLIN};

	if (!e || !open_end(e)) {
		mine.failed = true;
		_exit(write(out, &mine, sizeof(mine)) < 0);
	}
	mine = (struct offer){rs_qp_num(e->qp), e->key, (uintptr_t)e->memory, false};
	if (write(out, &mine, sizeof(mine)) < 0 || read(in, &theirs, sizeof(theirs)) < 0 ||
	    !connect_end(e, e->qp, loopback, theirs.qpn) ||
	    !connect_end(e, e->other, strangers[0], 77) || write(out, &mine, sizeof(mine)) < 0)
		_exit(1);
	for (;;) {
		while (poll(&wait, 1, 0) == 0)
			progress(e);
		if (read(in, &theirs, sizeof(theirs)) <= 0)
			break;
		rs_live_lock(e->l);
		v.still_connected = rs_qp_get_state(e->qp) == RS_QPS_RTS;
		v.strangers = rs_live_get_counters(e->l)->rx_stranger +
			      rs_nic_get_counters(rs_live_nic(e->l))->rx_dropped;
		v.answers = rs_nic_get_counters(rs_live_nic(e->l))->tx_packets;
		v.untouched = true;
		for (unsigned i = 0; i < BYTES; i++)
			v.untouched &= e->memory[i] == SECRET;
		rs_live_unlock(e->l); /* the engine's own thread writes there under it */
		if (write(out, &v, sizeof(v)) < 0)
			_exit(3);
	}
	rs_live_close(e->l);
	free(e);
	_exit(0);
}

/* A whole RoCEv2 packet but for IP and UDP headers, which the kernel writes. */
static size_t forge(uint8_t opcode, const struct offer *to, const uint8_t sip[16], uint16_t sport,
		    uint8_t *out)
{
	static const uint8_t payload[64] = {0xee};
	uint8_t frame[256];
	struct rs_frame f;
	struct rs_packet p = {
		.opcode = opcode,
		.pkey = 0xffff,
		.dest_qp = to->qpn,
		.psn = PSN,
		.bth_flags = RS_BTH_MIGREQ | RS_BTH_ACKREQ,
		.sport = sport,
		.va = to->va,
		.rkey = to->key,
		.dma_bytes = sizeof(payload),
		.swap_add = 1,
		.payload = payload,
	};
	size_t headers = RS_ETH_BYTES + RS_IPV4_BYTES + RS_UDP_BYTES;
	long n;

	if (rs_opcodes[opcode].flags & RS_F_PAYLOAD)
		p.payload_bytes = sizeof(payload);
	rs_frame_of_endpoints(&f, 0, 1, false);
	memcpy(f.sip, sip, 16);
	memcpy(f.dip, loopback, 16);
	n = rs_frame_encode(&f, &p, frame, sizeof(frame));
	assert_true(n > (long)headers);
	memcpy(out, frame + headers, (size_t)n - headers);
	return (size_t)n - headers;
}

/* port 0: what the kernel gives. 4791 it gives to this user's processes alone. */
static unsigned send_forgeries(const struct offer *to, const uint8_t sip[16], uint16_t port)
{
	static const uint8_t ops[] = {RS_OP_WRITE_ONLY,  RS_OP_READ_REQUEST, RS_OP_CMP_SWAP,
				      RS_OP_FETCH_ADD,   RS_OP_SEND_ONLY,    RS_OP_SEND_ONLY_INV,
				      RS_OP_WRITE_FIRST, RS_OP_ACKNOWLEDGE,  RS_OPCODE_CNP};
	struct sockaddr_in from = {.sin_family = AF_INET}, dest = {.sin_family = AF_INET};
	int s = socket(AF_INET, SOCK_DGRAM, 0), discover = IP_PMTUDISC_DO, one = 1;
	socklen_t n = sizeof(from);
	uint8_t bytes[256];

	assert_true(s >= 0);
	memcpy(&from.sin_addr, sip + 12, 4);
	from.sin_port = htons(port);
	dest.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	dest.sin_port = htons(RS_UDP_PORT);
	/* so that the identification, which the ICRC covers, is 0 */
	assert_int_equal(setsockopt(s, IPPROTO_IP, IP_MTU_DISCOVER, &discover, sizeof(discover)),
			 0);
	assert_int_equal(setsockopt(s, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)), 0);
	assert_int_equal(bind(s, (struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(getsockname(s, (struct sockaddr *)&from, &n), 0);
	for (unsigned i = 0; i < sizeof(ops); i++) {
		size_t length = forge(ops[i], to, sip, ntohs(from.sin_port), bytes);

		assert_int_equal(
			sendto(s, bytes, length, 0, (struct sockaddr *)&dest, sizeof(dest)),
			length);
	}
	close(s);
	return sizeof(ops);
}

static struct verdict ask(int in, int out)
{
	struct offer any = {0};
	struct verdict v;

	usleep(20000);
	assert_int_equal(write(out, &any, sizeof(any)), sizeof(any));
	assert_int_equal(read(in, &v, sizeof(v)), sizeof(v));
	return v;
}

static uint8_t write_as_the_peer(struct end *e, const struct offer *to)
{
	struct rs_sge s = {.va = (uintptr_t)e->memory, .length = 64, .lkey = e->key};
	struct rs_send_wr wr = {
		.op = RS_WR_WRITE,
		.flags = RS_WR_SIGNALED,
		.n_sge = 1,
		.sge = &s,
		.remote_va = to->va,
		.rkey = to->key,
	};
	struct rs_cqe c = {.status = 0xff};

	memset(e->memory, 0x77, BYTES);
	rs_live_lock(e->l);
	assert_int_equal(rs_qp_post_send(rs_live_nic(e->l), e->qp, &wr, rs_live_now(e->l)), 0);
	rs_live_kick(e->l);
	rs_live_unlock(e->l);
	for (int i = 0; i < TRIES && c.status == 0xff; i++) {
		progress(e);
		rs_live_lock(e->l);
		rs_cq_poll(e->cq, &c, 1);
		rs_live_unlock(e->l);
	}
	return c.status;
}

static void test_packets_to_another_processs_queue_pair(void **state)
{
	struct end *e = calloc(1, sizeof(*e));
	struct offer mine = {0}, theirs;
	int to[2], from[2], status;
	struct verdict v;
	unsigned sent, tries = 0;
	pid_t pid;

	assert_non_null(e);
	assert_int_equal(pipe(to) | pipe(from), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(to[1]);
		close(from[0]);
		owner(to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	assert_int_equal(read(from[0], &theirs, sizeof(theirs)), sizeof(theirs));
	if (theirs.failed || !open_end(e)) {
		close(to[1]);
		waitpid(pid, &status, 0);
		free(e);
		skip();
	}
	mine.qpn = rs_qp_num(e->qp);
	assert_int_equal(write(to[1], &mine, sizeof(mine)), sizeof(mine));
	assert_true(connect_end(e, e->qp, loopback, theirs.qpn));
	assert_int_equal(read(from[0], &theirs, sizeof(theirs)), sizeof(theirs));

	/* any user's, under the peer's own address and others: the kernel drops them */
	send_forgeries(&theirs, loopback, 0);
	send_forgeries(&theirs, strangers[0], 0);
	send_forgeries(&theirs, strangers[1], 0);
	/* this user's */
	sent = send_forgeries(&theirs, strangers[0], RS_UDP_PORT) +
	       send_forgeries(&theirs, strangers[1], RS_UDP_PORT);
	/* they wait in the socket until the owner looks: on loaded cores that is some time */
	do {
		nanosleep(&(struct timespec){0, 1000 * 1000}, NULL);
		v = ask(from[0], to[1]);
	} while (v.strangers < sent && v.untouched && tries++ < 1000);
	assert_true(v.untouched && v.still_connected);
	assert_int_equal(v.strangers, sent);
	assert_int_equal(v.answers, 0);
	for (unsigned i = 0; i < BYTES; i++)
		assert_int_equal(e->memory[i], SECRET);
	/* the PSN that they all used is still the peer's */
	assert_int_equal(write_as_the_peer(e, &theirs), RS_WC_SUCCESS);
	v = ask(from[0], to[1]);
	assert_true(!v.untouched && v.still_connected && v.answers);

	rs_live_close(e->l);
	free(e);
	close(to[1]);
	close(from[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packets_to_another_processs_queue_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
