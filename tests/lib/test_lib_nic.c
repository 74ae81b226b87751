/* ripstop/nic.h through the shared library: what its calls promise, and two NICs over a wire that
 * loses, doubles and reorders frames from a seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>
#include <ripstop/nic.h>

enum { MEMORY = 1 << 18, FLIGHT = 512 };
#define US INT64_C(1000000)

struct side {
	struct ripstop_nic *nic;
	struct ripstop_cq *cq;
	struct ripstop_qp *qp;
	uint8_t memory[MEMORY];
	uint32_t key;
	uint8_t address[16], mac[6];
};

struct flying {
	uint8_t bytes[RIPSTOP_FRAME_MAX];
	long n;
	int64_t when;
	int to;
};

struct world {
	struct side side[2];
	struct flying fly[FLIGHT];
	unsigned flying;
	int64_t now;
	uint64_t random;
	unsigned lose, twice, late; /* one in so many; 0: none */
};

static uint32_t draw(struct world *w, uint32_t n)
{
	w->random = w->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((w->random >> 33) % n);
}

static void open_side(struct world *w, int i, uint8_t transport, int ipv6)
{
	struct ripstop_nic_config c = RIPSTOP_INIT(struct ripstop_nic_config);
	struct ripstop_qp_config q = RIPSTOP_INIT(struct ripstop_qp_config);
	struct side *s = &w->side[i];
	struct ripstop_error *e = NULL;

	memcpy(s->mac, "\x02\0\0\0\0", 5);
	s->mac[5] = (uint8_t)(i + 1);
	memset(s->address, 0, 16);
	if (ipv6)
		s->address[0] = 0xfd;
	else
		memcpy(s->address + 10, "\xff\xff\x0a\0\0", 5);
	s->address[15] = (uint8_t)(i + 1);
	memcpy(c.mac, s->mac, 6);
	memcpy(c.address, s->address, 16);
	c.max_qps = 4;
	c.key_seed = 5;
	c.cc = "none";
	assert_int_equal(ripstop_nic_create(&c, &s->nic, &e), 0);
	assert_int_equal(ripstop_nic_create_cq(s->nic, 256, &s->cq, &e), 0);
	assert_int_equal(
		ripstop_nic_register(s->nic, 3, s->memory, 0x1000, MEMORY, 15, &s->key, &e), 0);
	q.pd = 3;
	q.transport = transport;
	q.max_sge = 2;
	q.send_cq = q.receive_cq = s->cq;
	assert_int_equal(ripstop_nic_create_qp(s->nic, &q, &s->qp, &e), 0);
}

static void join(struct world *w, int i, uint16_t mtu)
{
	struct ripstop_qp_peer p = RIPSTOP_INIT(struct ripstop_qp_peer);
	struct side *s = &w->side[i], *to = &w->side[!i];

	memcpy(p.address, to->address, 16);
	memcpy(p.mac, to->mac, 6);
	p.mtu = mtu;
	p.qpn = ripstop_qp_number(to->qp);
	p.send_psn = i ? 0xfffff0 : 0;
	p.receive_psn = i ? 0 : 0xfffff0;
	p.access = 15;
	p.timeout = 4;
	p.min_rnr_timer = 1;
	p.qkey = 0x1234;
	assert_int_equal(ripstop_qp_connect(s->qp, &p, 0, NULL), 0);
}

static void begin(struct world *w, uint8_t transport, int ipv6, uint16_t mtu)
{
	memset(w, 0, sizeof(*w));
	for (int i = 0; i < 2; i++)
		open_side(w, i, transport, ipv6);
	for (int i = 0; i < 2; i++)
		join(w, i, mtu);
}

static void end(struct world *w)
{
	ripstop_nic_destroy(w->side[0].nic);
	ripstop_nic_destroy(w->side[1].nic);
}

static void launch(struct world *w, int to, const uint8_t *bytes, long n)
{
	unsigned copies = w->twice && !draw(w, w->twice) ? 2 : 1;

	if (w->lose && !draw(w, w->lose))
		return;
	for (; copies && w->flying < FLIGHT; copies--) {
		struct flying *f = &w->fly[w->flying++];

		memcpy(f->bytes, bytes, (size_t)n);
		f->n = n;
		f->to = to;
		f->when = w->now + US + (w->late && !draw(w, w->late) ? 5 * US : 0);
	}
}

static void deliver(struct world *w)
{
	for (unsigned i = 0; i < w->flying;) {
		struct flying f;

		if (w->fly[i].when > w->now) {
			i++;
			continue;
		}
		f = w->fly[i];
		memmove(&w->fly[i], &w->fly[i + 1], (--w->flying - i) * sizeof(f));
		assert_int_equal(
			ripstop_nic_receive(w->side[f.to].nic, f.bytes, (size_t)f.n, w->now, NULL),
			RIPSTOP_RX_TAKEN);
	}
}

/* One step of the world; false: nothing will happen any more. */
static int step(struct world *w)
{
	int64_t next = RIPSTOP_NEVER, again;

	deliver(w);
	for (int i = 0; i < 2; i++) {
		uint8_t bytes[RIPSTOP_FRAME_MAX];
		long n;

		assert_int_equal(ripstop_nic_expire(w->side[i].nic, w->now, NULL), 0);
		for (int k = 0; k < 16; k++) {
			n = ripstop_nic_send(w->side[i].nic, bytes, sizeof(bytes), w->now, &again,
					     NULL);
			assert_true(n >= 0);
			if (!n)
				break;
			launch(w, !i, bytes, n);
		}
		if (n)
			again = w->now + US / 10;
		next = again < next ? again : next;
		again = ripstop_nic_deadline(w->side[i].nic);
		next = again < next ? again : next;
	}
	for (unsigned i = 0; i < w->flying; i++)
		next = w->fly[i].when < next ? w->fly[i].when : next;
	if (next == RIPSTOP_NEVER)
		return 0;
	w->now = next > w->now ? next : w->now;
	return 1;
}

static void fill(struct world *w, uint8_t *b, uint32_t n)
{
	while (n--)
		*b++ = (uint8_t)draw(w, 256);
}

/* Sends, writes, reads and atomics of random lengths, one after another, arrive byte for byte. */
static void random_work(struct world *w, unsigned messages)
{
	struct side *a = &w->side[0], *b = &w->side[1];

	for (unsigned k = 0; k < messages; k++) {
		struct ripstop_send s = RIPSTOP_INIT(struct ripstop_send);
		uint32_t n = 1 + draw(w, MEMORY / 4);
		struct ripstop_sge from = {0x1000, n, a->key}, to = {0x1000, MEMORY, b->key};
		struct ripstop_completion c;
		unsigned seen = 0, wanted, steps = 0;

		s.op = (uint8_t)draw(w, 5); /* SEND .. READ */
		s.id = k;
		s.flags = RIPSTOP_SIGNALED;
		s.sge = &from;
		s.n_sge = 1;
		s.imm = k;
		s.remote_va = 0x1000;
		s.remote_key = b->key;
		wanted = s.op == RIPSTOP_WRITE || s.op == RIPSTOP_READ ? 1 : 2;
		fill(w, a->memory, n);
		fill(w, b->memory, n);
		if (wanted == 2)
			assert_int_equal(ripstop_qp_receive(b->qp, k, &to, 1, NULL), 0);
		assert_int_equal(ripstop_qp_send(a->qp, &s, w->now, NULL), 0);
		while (seen < wanted) {
			assert_true(step(w) && ++steps < 100000);
			for (int i = 0; i < 2; i++)
				while (ripstop_cq_poll(w->side[i].cq, &c, 1, sizeof(c))) {
					assert_int_equal(c.status, RIPSTOP_OK);
					assert_int_equal(c.id, k);
					if (i &&
					    (s.op == RIPSTOP_SEND_IMM || s.op == RIPSTOP_WRITE_IMM))
						assert_int_equal(c.imm, k);
					seen++;
				}
		}
		assert_memory_equal(a->memory, b->memory, n);
	}
}

static void test_work_over_a_hostile_wire(void **state)
{
	static const uint16_t mtus[] = {256, 1024, 4096};
	static struct world w;

	for (unsigned seed = 1; seed <= 12; seed++) {
		begin(&w, RIPSTOP_RC, seed & 1, mtus[seed % 3]);
		w.random = seed;
		w.lose = seed % 4 ? 20 * (seed % 4) : 0;
		w.twice = seed % 3 ? 30 : 0;
		w.late = seed % 5 ? 25 : 0;
		random_work(&w, 12);
		end(&w);
	}
}

static void test_datagrams_name_their_peer(void **state)
{
	static struct world w;
	struct ripstop_send s = RIPSTOP_INIT(struct ripstop_send);
	struct ripstop_sge from, to;
	struct ripstop_completion c[2];
	uint32_t n = 0;

	begin(&w, RIPSTOP_UD, 0, 1024);
	from = (struct ripstop_sge){0x1000, 100, w.side[0].key};
	to = (struct ripstop_sge){0x1000, 140, w.side[1].key};
	fill(&w, w.side[0].memory, 100);
	memcpy(s.address, w.side[1].address, 16);
	memcpy(s.mac, w.side[1].mac, 6);
	s.sge = &from;
	s.n_sge = 1;
	s.qpn = ripstop_qp_number(w.side[1].qp);
	s.qkey = 0x1234;
	assert_int_equal(ripstop_qp_receive(w.side[1].qp, 9, &to, 1, NULL), 0);
	assert_int_equal(ripstop_qp_send(w.side[0].qp, &s, 0, NULL), 0);
	while (step(&w))
		;
	n = ripstop_cq_poll(w.side[1].cq, c, 2, sizeof(c[0]));
	assert_int_equal(n, 1);
	assert_int_equal(c[0].bytes, 140);
	assert_int_equal(c[0].src_qpn, ripstop_qp_number(w.side[0].qp));
	/* the IPv4 header lies in the last 20 of the 40 bytes before the payload */
	assert_int_equal(w.side[1].memory[20], 0x45);
	assert_memory_equal(w.side[1].memory + 32, w.side[0].address + 12, 4);
	assert_memory_equal(w.side[1].memory + 40, w.side[0].memory, 100);
	/* a wrong Q_Key: dropped and counted */
	s.qkey = 1;
	assert_int_equal(ripstop_qp_receive(w.side[1].qp, 9, &to, 1, NULL), 0);
	assert_int_equal(ripstop_qp_send(w.side[0].qp, &s, w.now, NULL), 0);
	while (step(&w))
		;
	struct ripstop_nic_counters k = RIPSTOP_INIT(struct ripstop_nic_counters);

	ripstop_nic_counters(w.side[1].nic, &k);
	assert_int_equal(k.bad_qkey, 1);
	assert_int_equal(ripstop_cq_poll(w.side[1].cq, c, 2, sizeof(c[0])), 0);
	end(&w);
}

static void one_frame(struct world *w, uint8_t *bytes, long *n)
{
	struct ripstop_send s = RIPSTOP_INIT(struct ripstop_send);
	struct ripstop_sge from = {0x1000, 64, w->side[0].key};

	s.op = RIPSTOP_WRITE;
	s.sge = &from;
	s.n_sge = 1;
	s.remote_va = 0x1000;
	s.remote_key = w->side[1].key;
	assert_int_equal(ripstop_qp_send(w->side[0].qp, &s, w->now, NULL), 0);
	*n = ripstop_nic_send(w->side[0].nic, bytes, RIPSTOP_FRAME_MAX, w->now, NULL, NULL);
	assert_true(*n > 0);
}

static void test_what_is_no_packet_for_us(void **state)
{
	static struct world w;
	uint8_t f[RIPSTOP_FRAME_MAX], bad[RIPSTOP_FRAME_MAX];
	struct ripstop_nic_counters k = RIPSTOP_INIT(struct ripstop_nic_counters);
	struct ripstop_error *e = NULL;
	long n;

	begin(&w, RIPSTOP_RC, 0, 1024);
	one_frame(&w, f, &n);
	/* back at its sender: another's address */
	assert_int_equal(ripstop_nic_receive(w.side[0].nic, f, (size_t)n, 0, NULL),
			 RIPSTOP_RX_FOREIGN);
	memcpy(bad, f, (size_t)n);
	bad[12] = 0x08;
	bad[13] = 0x06;
	assert_int_equal(ripstop_nic_receive(w.side[1].nic, bad, (size_t)n, 0, NULL),
			 RIPSTOP_RX_OTHER);
	assert_int_equal(ripstop_nic_receive(w.side[1].nic, f, 50, 0, &e), RIPSTOP_RX_BAD);
	assert_true(*ripstop_error_message(e));
	ripstop_error_free(e);
	/* one bit of the payload: the ICRC tells */
	memcpy(bad, f, (size_t)n);
	bad[n - 10] ^= 1;
	assert_int_equal(ripstop_nic_receive(w.side[1].nic, bad, (size_t)n, 0, NULL),
			 RIPSTOP_RX_TAKEN);
	ripstop_nic_counters(w.side[1].nic, &k);
	assert_int_equal(k.rx_icrc_encapsulated, 1);
	assert_int_equal(k.rx_bad, 1);
	assert_int_equal(k.rx_other, 1);
	end(&w);
}

static void test_a_pause_holds_its_class(void **state)
{
	static struct world w;
	uint8_t f[RIPSTOP_FRAME_MAX], pause[60] = {0x01, 0x80, 0xc2, 0, 0, 1};
	struct ripstop_send s = RIPSTOP_INIT(struct ripstop_send);
	struct ripstop_sge from;
	int64_t again;
	long n;

	begin(&w, RIPSTOP_RC, 0, 1024);
	pause[12] = 0x88;
	pause[13] = 0x08;
	pause[14] = pause[15] = 1;
	pause[17] = 1;    /* class 0 */
	pause[19] = 0x10; /* for 16 quanta: 16 * 512 bits at 400 Gb/s are 20.48 ns */
	assert_int_equal(ripstop_nic_receive(w.side[0].nic, pause, sizeof(pause), 1000, NULL),
			 RIPSTOP_RX_PAUSE);
	from = (struct ripstop_sge){0x1000, 64, w.side[0].key};
	s.op = RIPSTOP_WRITE;
	s.sge = &from;
	s.n_sge = 1;
	s.remote_va = 0x1000;
	s.remote_key = w.side[1].key;
	assert_int_equal(ripstop_qp_send(w.side[0].qp, &s, 1000, NULL), 0);
	assert_int_equal(ripstop_nic_send(w.side[0].nic, f, sizeof(f), 1000, &again, NULL), 0);
	assert_int_equal(again, 1000 + 20480);
	n = ripstop_nic_send(w.side[0].nic, f, sizeof(f), again, NULL, NULL);
	assert_true(n > 0);
	end(&w);
}

#define REFUSED(call, code)                                    \
	do {                                                   \
		struct ripstop_error *e = NULL;                \
		assert_int_equal(call, code);                  \
		assert_non_null(e);                            \
		assert_int_equal(ripstop_error_code(e), code); \
		assert_true(*ripstop_error_message(e));        \
		ripstop_error_free(e);                         \
	} while (0)

static void test_misuse_is_refused(void **state)
{
	static struct world w;
	struct ripstop_nic_config c = RIPSTOP_INIT(struct ripstop_nic_config);
	struct ripstop_qp_peer p = RIPSTOP_INIT(struct ripstop_qp_peer);
	struct ripstop_send s = RIPSTOP_INIT(struct ripstop_send);
	struct ripstop_nic *nic;
	struct ripstop_qp *qp;
	struct ripstop_qp_config q = RIPSTOP_INIT(struct ripstop_qp_config);
	uint8_t f[100];
	uint32_t key;

	c.cc = "hpcc";
	REFUSED(ripstop_nic_create(&c, &nic, &e), -EINVAL);
	c.cc = "cubic";
	REFUSED(ripstop_nic_create(&c, &nic, &e), -EINVAL);
	c.cc = "dcqcn";
	c.cc_settings = "g=1/256,nonsense=3";
	REFUSED(ripstop_nic_create(&c, &nic, &e), -EINVAL);
	c.cc_settings = NULL;
	c.max_qps = 1 << 24;
	REFUSED(ripstop_nic_create(&c, &nic, &e), -EINVAL);
	c.size = 3;
	REFUSED(ripstop_nic_create(&c, &nic, &e), -EINVAL);
	begin(&w, RIPSTOP_RC, 0, 1024);
	/* connected already */
	memcpy(p.address, w.side[1].address, 16);
	REFUSED(ripstop_qp_connect(w.side[0].qp, &p, 0, &e), -EINVAL);
	p.mtu = 1500;
	REFUSED(ripstop_qp_connect(w.side[0].qp, &p, 0, &e), -EINVAL);
	assert_int_equal(ripstop_qp_set_state(w.side[0].qp, RIPSTOP_QP_ERROR, 100, NULL), 0);
	assert_int_equal(ripstop_qp_get_state(w.side[0].qp), RIPSTOP_QP_ERROR);
	assert_int_equal(ripstop_qp_set_state(w.side[0].qp, RIPSTOP_QP_RESET, 100, NULL), 0);
	/* an address of the other family */
	p.mtu = 0;
	p.address[10] = 0;
	REFUSED(ripstop_qp_connect(w.side[0].qp, &p, 100, &e), -EINVAL);
	/* the time went back */
	REFUSED(ripstop_nic_expire(w.side[0].nic, 99, &e), -EINVAL);
	REFUSED((int)ripstop_nic_send(w.side[0].nic, f, sizeof(f), 100, NULL, &e), -EMSGSIZE);
	s.op = 200;
	REFUSED(ripstop_qp_send(w.side[1].qp, &s, 0, &e), -EINVAL);
	s.op = 0;
	s.n_sge = 3;
	REFUSED(ripstop_qp_send(w.side[1].qp, &s, 0, &e), -EINVAL);
	REFUSED(ripstop_nic_register(w.side[0].nic, 1, f, 0, 100, RIPSTOP_REMOTE_WRITE, &key, &e),
		-EINVAL);
	REFUSED(ripstop_nic_deregister(w.side[0].nic, 77, &e), -ENOENT);
	REFUSED(ripstop_cq_destroy(w.side[0].cq, &e), -EBUSY);
	/* another NIC's queue */
	q.send_cq = q.receive_cq = w.side[1].cq;
	REFUSED(ripstop_nic_create_qp(w.side[0].nic, &q, &qp, &e), -EINVAL);
	end(&w);
}

/* A caller that was compiled with fewer or more fields than this library has. */
static void test_sizes_of_other_versions(void **state)
{
	struct {
		struct ripstop_nic_config c;
		uint64_t later;
	} newer = {.c = RIPSTOP_INIT(struct ripstop_nic_config)};
	struct {
		struct ripstop_nic_counters c;
		uint64_t later;
	} counters;
	struct ripstop_nic *nic;
	size_t mac = offsetof(struct ripstop_nic_config, unused);

	newer.c.size = mac;
	newer.c.max_qps = UINT32_MAX; /* beyond the size: not looked at */
	assert_int_equal(ripstop_nic_create(&newer.c, &nic, NULL), 0);
	memset(&counters, 0xff, sizeof(counters));
	counters.c.size = sizeof(counters);
	ripstop_nic_counters(nic, &counters.c);
	assert_int_equal(counters.later, 0);
	memset(&counters, 0xff, sizeof(counters));
	counters.c.size = 16;
	ripstop_nic_counters(nic, &counters.c);
	assert_int_equal(counters.c.tx_packets, 0);
	assert_int_equal(counters.c.tx_bytes, UINT64_MAX);
	ripstop_nic_destroy(nic);
	newer.c = RIPSTOP_INIT(struct ripstop_nic_config);
	newer.c.size = sizeof(newer);
	assert_int_equal(ripstop_nic_create(&newer.c, &nic, NULL), 0);
	ripstop_nic_destroy(nic);
	newer.later = 1;
	REFUSED(ripstop_nic_create(&newer.c, &nic, &e), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_work_over_a_hostile_wire),
		cmocka_unit_test(test_datagrams_name_their_peer),
		cmocka_unit_test(test_what_is_no_packet_for_us),
		cmocka_unit_test(test_a_pause_holds_its_class),
		cmocka_unit_test(test_misuse_is_refused),
		cmocka_unit_test(test_sizes_of_other_versions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
