/*
 * The path between processes of one host: the ring beside a queue of copies, a ring full of lies,
 * and the real transport over it, two devices each with its own engine, beside plain memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/clock.h"
#include "live/near.h"
#include "live/shm_state.h"

static uint64_t seed;

static uint32_t draw(uint32_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((seed >> 33) % below);
}

/* ---- The ring ---- */

static struct rs_shm_ring *new_ring(void)
{
	void *p = mmap(NULL, sizeof(struct rs_shm_ring), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	return p;
}

static void free_ring(struct rs_shm_ring *r)
{
	munmap(r, sizeof(*r));
}

struct copy {
	struct rs_packet p;
	uint8_t payload[RS_MAX_PAYLOAD];
};

enum { COPIES = 8192 };
/* Of rounds that are alike: each, or with sanitizers, which take five times as long, each fourth.
 */
#ifdef RS_SANITIZED
enum { ROUND = 4 };
#else
enum { ROUND = 1 };
#endif

/* Opcodes that carry the fields which share a place in a record. */
static const uint8_t opcodes[] = {
	RS_RC | RS_OP_WRITE_ONLY,         RS_RC | RS_OP_WRITE_ONLY_IMM,
	RS_RC | RS_OP_SEND_ONLY,          RS_RC | RS_OP_ACKNOWLEDGE,
	RS_RC | RS_OP_FETCH_ADD,          RS_RC | RS_OP_ATOMIC_ACKNOWLEDGE,
	RS_RC | RS_OP_READ_RESPONSE_ONLY, RS_UD | RS_OP_SEND_ONLY_IMM,
	RS_XRC | RS_OP_CMP_SWAP,          RS_XRC | RS_OP_SEND_ONLY,
};

static void draw_packet(struct copy *c)
{
	struct rs_packet *p = &c->p;
	uint32_t f;

	memset(p, 0, sizeof(*p));
	p->opcode = opcodes[draw(sizeof(opcodes))];
	f = rs_opcodes[p->opcode].flags;
	p->bth_flags = (uint8_t)draw(8);
	p->tos = (uint8_t)(draw(64) << 2);
	p->pkey = (uint16_t)draw(65536);
	p->dest_qp = draw(1 << 24);
	p->psn = draw(1 << 24);
	if (f & (RS_F_AETH | RS_F_ATOMIC_ACK))
		p->aeth = draw(1u << 31);
	if (f & (RS_F_IMM | RS_F_IETH))
		p->imm = draw(1u << 31);
	if (f & (RS_F_RETH | RS_F_ATOMIC)) {
		p->va = (uint64_t)draw(1u << 31) << 20;
		p->rkey = draw(1u << 31);
	}
	if (f & RS_F_RETH)
		p->dma_bytes = draw(1u << 31);
	if (f & RS_F_DETH) {
		p->qkey = draw(1u << 31);
		p->src_qp = draw(1 << 24);
	}
	if (f & RS_F_XRCETH)
		p->xrc_srqn = draw(1 << 24);
	if (f & (RS_F_ATOMIC | RS_F_ATOMIC_ACK)) {
		p->swap_add = (uint64_t)draw(1u << 31) << 9;
		p->compare = f & RS_F_ATOMIC ? draw(1u << 31) : 0;
	}
	if (f & RS_F_PAYLOAD)
		p->payload_bytes = (uint16_t)(draw(2) ? draw(20) : draw(RS_MAX_PAYLOAD + 1));
	for (unsigned i = 0; i < p->payload_bytes; i++)
		c->payload[i] = (uint8_t)draw(256);
}

static void check_packet(const struct rs_packet *p, const struct copy *c)
{
	const struct rs_packet *k = &c->p;

	assert_int_equal(p->opcode, k->opcode);
	assert_int_equal(p->bth_flags, k->bth_flags);
	assert_int_equal(p->tos, k->tos);
	assert_int_equal(p->pkey, k->pkey);
	assert_int_equal(p->dest_qp, k->dest_qp);
	assert_int_equal(p->psn, k->psn);
	assert_int_equal(p->aeth, k->aeth);
	assert_int_equal(p->imm, k->imm);
	assert_int_equal(p->va, k->va);
	assert_int_equal(p->rkey, k->rkey);
	assert_int_equal(p->dma_bytes, k->dma_bytes);
	assert_int_equal(p->qkey, k->qkey);
	assert_int_equal(p->swap_add, k->swap_add);
	assert_int_equal(p->compare, k->compare);
	assert_int_equal(p->payload_bytes, k->payload_bytes);
	assert_memory_equal(p->payload, c->payload, k->payload_bytes);
	if (rs_opcodes[p->opcode].flags & RS_F_DETH)
		assert_int_equal(p->src_qp, k->src_qp);
	if (rs_opcodes[p->opcode].flags & RS_F_XRCETH)
		assert_int_equal(p->xrc_srqn, k->xrc_srqn);
}

static void test_ring_gives_what_was_written_in_order(void **state)
{
	struct copy *twin = calloc(COPIES, sizeof(*twin));
	struct rs_shm_writer w = {.ring = new_ring()};
	struct rs_shm_reader r = {.ring = w.ring};
	unsigned head = 0, tail = 0, full = 0;

	assert_non_null(twin);
	seed = 1;
	for (unsigned step = 0; step < 60000; step++) {
		bool write = draw(100) < (step / 5000 % 2 ? 45u : 60u);
		struct copy *c = &twin[(write ? tail : head) % COPIES];
		struct rs_shm_record rec = {0};
		const uint8_t *payload;
		struct rs_packet p;

		if (write) {
			draw_packet(c);
			rs_shm_pack(&c->p, &rec);
			rec.path = 7;
			if (!rs_shm_write(&w, &rec, c->payload, c->p.payload_bytes)) {
				/* no sooner than a record could not be placed */
				assert_true(w.tail - r.told + 2 * 66 > RS_SHM_LINES);
				full++;
				continue;
			}
			tail++;
			continue;
		}
		assert_int_equal(rs_shm_waiting(&r), head != tail);
		if (head == tail) {
			assert_false(rs_shm_read(&r, &rec, &payload));
			continue;
		}
		assert_true(rs_shm_read(&r, &rec, &payload));
		assert_int_equal(rec.path, 7);
		assert_true(rs_shm_unpack(&rec, payload, &p));
		check_packet(&p, c);
		head++;
		if (draw(3) == 0)
			rs_shm_release(&r);
	}
	assert_true(full > 10 && w.tail > 8 * RS_SHM_LINES);
	free_ring(w.ring);
	free(twin);
}

/* An ACK goes along in the record of a request that leaves it a place, and both come out as they
 * went in. */
static void test_record_takes_an_ack_along(void **state)
{
	unsigned went = 0;

	seed = 3;
	for (unsigned i = 0; i < 20000; i++) {
		struct copy c;
		struct rs_packet ack, p, got;
		struct rs_shm_record r = {0};
		uint32_t f;
		bool fits, along;

		draw_packet(&c);
		f = rs_opcodes[c.p.opcode].flags;
		c.p.bth_flags |= RS_BTH_MIGREQ;
		c.p.dst = draw(2);
		ack = (struct rs_packet){.opcode = RS_RC | RS_OP_ACKNOWLEDGE,
					 .bth_flags = RS_BTH_MIGREQ,
					 .dest_qp = c.p.dest_qp + !draw(8),
					 .psn = draw(1 << 24),
					 .aeth = draw(UINT32_MAX),
					 .dst = draw(2),
					 .tos = c.p.tos,
					 .pkey = c.p.pkey};
		fits = ack.dest_qp == c.p.dest_qp && ack.dst == c.p.dst &&
		       (c.p.opcode & 0xe0) == RS_RC && f & (RS_F_SEND | RS_F_WRITE | RS_F_READ) &&
		       f & RS_F_REQUEST && !(f & (RS_F_IMM | RS_F_IETH));
		rs_shm_pack(&c.p, &r);
		r.payload_bytes = c.p.payload_bytes;
		along = rs_shm_pack_ack(&c.p, &ack, &r);
		assert_true(along || !fits);
		assert_true(fits || !along || f & RS_F_ATOMIC_WRITE);
		assert_int_equal(rs_shm_unpack_ack(&r, &got), along);
		assert_false(rs_shm_unpack_ack(&r, &p));
		assert_true(rs_shm_unpack(&r, c.payload, &p));
		check_packet(&p, &c);
		went += along;
		if (!along)
			continue;
		assert_int_equal(got.opcode, ack.opcode);
		assert_int_equal(got.bth_flags, ack.bth_flags);
		assert_int_equal(got.dest_qp, ack.dest_qp);
		assert_int_equal(got.psn, ack.psn);
		assert_int_equal(got.aeth, ack.aeth);
		assert_int_equal(got.pkey, ack.pkey);
		assert_int_equal(got.payload_bytes, 0);
	}
	assert_true(went > 1000);
}

/* Lines of payloads begin with what a record there would begin with a lap later. */
static void test_payload_that_looks_like_a_record_is_none(void **state)
{
	struct rs_shm_writer w = {.ring = new_ring()};
	struct rs_shm_reader r = {.ring = w.ring};

	seed = 2;
	while (w.tail < 10 * RS_SHM_LINES) {
		struct rs_shm_record rec = {.kind = RS_SHM_PACKET,
					    .opcode = RS_RC | RS_OP_SEND_ONLY};
		uint32_t words[8 * 16] = {0};
		unsigned lines = draw(9);
		const uint8_t *payload;

		for (unsigned i = 0; i < lines; i++)
			words[i * 16] = (uint32_t)(w.tail + 1 + i + RS_SHM_LINES) | 0x80000000u;
		while (!rs_shm_write(&w, &rec, words, lines * 64)) {
			struct rs_shm_record read;

			while (rs_shm_read(&r, &read, &payload))
				;
			assert_int_equal(r.head, w.tail);
			rs_shm_release(&r);
		}
		if (draw(4))
			continue;
		while (rs_shm_read(&r, &rec, &payload))
			assert_int_equal(rec.opcode, RS_RC | RS_OP_SEND_ONLY);
		assert_false(r.broken);
		assert_int_equal(r.head, w.tail);
		rs_shm_release(&r);
	}
	free_ring(w.ring);
}

/* Whatever lies in it, a reader ends, and its payloads are in the ring. */
static void test_ring_of_lies_is_read_without_harm(void **state)
{
	struct rs_shm_ring *ring = new_ring();
	unsigned packets = 0, breaks = 0;

	seed = 2;
	for (unsigned round = 0; round < 3000; round++) {
		struct rs_shm_reader r = {.ring = ring, .head = draw(3 * RS_SHM_LINES)};
		struct rs_shm_record rec;
		const uint8_t *payload;
		struct rs_packet p;

		r.told = r.head;
		for (unsigned i = 0; i < 64; i++) {
			uint64_t line = r.head + i;
			struct rs_shm_record *at =
				(struct rs_shm_record *)(void *)ring->line[line % RS_SHM_LINES];

			for (unsigned k = 0; k < sizeof(*at); k++)
				((uint8_t *)at)[k] = (uint8_t)draw(256);
			at->seq = (uint32_t)line | 0x80000000u;
			at->kind = (uint8_t)draw(draw(20) ? RS_SHM_KINDS : 256);
			at->dest_qp &= 0xffffff;
			at->psn &= 0xffffff;
			if (draw(4))
				at->payload_bytes = (uint16_t)draw(RS_MAX_PAYLOAD + 1);
		}
		for (unsigned n = 0; rs_shm_read(&r, &rec, &payload); n++) {
			assert_true(n <= 64);
			assert_true(payload == rec.u.small ||
				    (payload >= ring->line[0] &&
				     payload + rec.payload_bytes <= (uint8_t *)(ring + 1)));
			if (rs_shm_unpack_ack(&rec, &p))
				assert_true((p.psn | p.dest_qp) <= 0xffffff && !p.payload_bytes);
			packets += rs_shm_unpack(&rec, payload, &p);
		}
		breaks += r.broken;
		if (r.broken)
			assert_false(rs_shm_read(&r, &rec, &payload));
	}
	assert_true(packets > 100 && breaks > 100);
	free_ring(ring);
}

/* The reader's place is a claim: one beyond what was written, or going back, opens no room. */
static void test_writer_believes_no_impossible_place(void **state)
{
	struct rs_shm_writer w = {.ring = new_ring()};
	uint8_t payload[RS_MAX_PAYLOAD] = {0};
	struct rs_shm_record rec = {.kind = RS_SHM_PACKET, .opcode = RS_RC | RS_OP_SEND_ONLY};

	while (rs_shm_write(&w, &rec, payload, sizeof(payload)))
		;
	w.ring->head = w.tail + 1;
	assert_false(rs_shm_write(&w, &rec, payload, sizeof(payload)));
	w.ring->head = UINT64_MAX;
	assert_false(rs_shm_write(&w, &rec, payload, sizeof(payload)));
	w.ring->head = w.tail;
	assert_true(rs_shm_write(&w, &rec, payload, sizeof(payload)));
	w.ring->head = 0;
	assert_true(rs_shm_write(&w, &rec, payload, sizeof(payload)));
	free_ring(w.ring);
}

/* ---- The transport over it ---- */

enum {
	PD = 3,
	CONSTANT = 1 << 20, /* a device's memory: what is sent and read, */
	WRITTEN = 1 << 20,  /* what the peer writes to, */
	SCRATCH = 1 << 20,  /* and where READs and SENDs land */
	MEMORY = CONSTANT + WRITTEN + SCRATCH,
	LONGEST = 600 << 10,
	DEPTH = 32,
};

struct end {
	struct rs_live *l;
	struct rs_qp *qp;
	struct rs_cq *cq;
	uint32_t key;
	uint8_t *memory;
	uint8_t *twin; /* of WRITTEN */
	unsigned posted, done, failed;
	uint8_t status;
};

static const uint8_t loopback[16] = {[10] = 0xff, [11] = 0xff, 127, 0, 0, 1};

static bool open_end(struct end *e)
{
	struct rs_live_device d;
	struct rs_error why = {0};
	struct rs_qp_init init = {
		.pd = PD,
		.max_send_wr = DEPTH,
		.max_recv_wr = DEPTH,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.transport = RS_RC,
		.sq_sig_all = true,
	};
	bool good;

	if (rs_live_device_parse("x=lo", &d, &why) || rs_live_open(&d, &e->l, &why)) {
		print_message("%s\n", why.what);
		return false;
	}
	e->memory = calloc(1, MEMORY);
	e->twin = calloc(1, WRITTEN);
	for (unsigned i = 0; i < CONSTANT; i++)
		e->memory[i] = (uint8_t)draw(256);
	rs_live_lock(e->l);
	if (e->l->shm)
		e->l->shm->within = true;
	good = !rs_nic_create_cq(rs_live_nic(e->l), 4 * DEPTH, &e->cq);
	init.send_cq = init.recv_cq = e->cq;
	good = good && !rs_nic_create_qp(rs_live_nic(e->l), &init, &e->qp) &&
	       !rs_nic_reg_mr(rs_live_nic(e->l), PD, (uintptr_t)e->memory, MEMORY, 15, e->memory,
			      &e->key);
	rs_live_unlock(e->l);
	return good;
}

static void close_end(struct end *e)
{
	rs_live_close(e->l);
	free(e->memory);
	free(e->twin);
}

static void connect_end(struct end *e, uint32_t peer_qpn, uint16_t mtu, uint8_t timeout)
{
	struct rs_qp_attr a = {
		.dest_qpn = peer_qpn,
		.path_mtu = mtu,
		.pkey = 0xffff,
		.timeout = timeout,
		.retry_cnt = timeout > 10 ? 7 : 1,
		.rnr_retry = 7,
		.min_rnr_timer = 1,
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 4,
		.access = 15,
	};

	rs_live_lock(e->l);
	assert_int_equal(rs_live_path_get(e->l, 0, loopback, &a.dest_endpoint), 0);
	assert_int_equal(rs_qp_connect(rs_live_nic(e->l), e->qp, &a, rs_live_now(e->l)), 0);
	rs_live_unlock(e->l);
}

static void progress(struct end *e)
{
	struct rs_cqe c;

	rs_live_lock(e->l);
	rs_live_progress(e->l);
	while (rs_cq_poll(e->cq, &c, 1)) {
		if (c.status != RS_WC_SUCCESS) {
			e->failed++;
			e->status = e->status ? e->status : c.status;
		}
		e->done += c.op != RS_WR_RECV && c.op != RS_WR_RECV_WRITE_IMM;
	}
	rs_live_unlock(e->l);
}

/* One place for the SENDs that come, so long as any may. */
static void post_receives(struct end *e)
{
	struct rs_sge s = {(uintptr_t)(e->memory + CONSTANT + WRITTEN), SCRATCH / 2, e->key};
	struct rs_recv_wr wr = {.n_sge = 1, .sge = &s};

	rs_live_lock(e->l);
	while (rs_qp_receives(e->qp) < DEPTH)
		assert_int_equal(rs_qp_post_recv(rs_live_nic(e->l), e->qp, &wr), 0);
	rs_live_kick(e->l);
	rs_live_unlock(e->l);
}

static int post(struct end *e, uint8_t op, uint32_t at, uint32_t length, const struct end *to,
		uint32_t remote)
{
	struct rs_sge s = {(uintptr_t)(e->memory + at), length, e->key};
	struct rs_send_wr wr = {.op = op,
				.n_sge = 1,
				.sge = &s,
				.remote_va = (uintptr_t)(to->memory + remote),
				.rkey = to->key,
				.swap_add = 3};
	int err;

	rs_live_lock(e->l);
	err = rs_qp_post_send(rs_live_nic(e->l), e->qp, &wr, rs_live_now(e->l));
	rs_live_posted(e->l, e->qp, 1);
	rs_live_unlock(e->l);
	e->posted += !err;
	return err;
}

/* A request, and what it does to the peer's memory in the order of requests. */
static void post_any(struct end *e, struct end *to)
{
	static const uint8_t ops[] = {RS_WR_WRITE, RS_WR_WRITE, RS_WR_WRITE,    RS_WR_WRITE_IMM,
				      RS_WR_READ,  RS_WR_SEND,  RS_WR_FETCH_ADD};
	uint8_t op = ops[draw(sizeof(ops))];
	uint32_t n = draw(3) ? draw(LONGEST) : draw(5000), at = draw(CONSTANT - n);
	/* often the same place, which later requests overwrite */
	uint32_t to_at = CONSTANT + (draw(2) ? 4096 * draw(4) : draw(WRITTEN - n));
	uint64_t word;

	if (op == RS_WR_SEND)
		n = n < SCRATCH / 2 ? n : SCRATCH / 2;
	if (op == RS_WR_READ) {
		assert_int_equal(post(e, op, CONSTANT + WRITTEN + SCRATCH / 2, n / 2, to, at), 0);
	} else if (op == RS_WR_FETCH_ADD) {
		to_at &= ~7u;
		assert_int_equal(post(e, op, CONSTANT + WRITTEN + SCRATCH / 2, 8, to, to_at), 0);
		memcpy(&word, to->twin + to_at - CONSTANT, 8);
		word += 3;
		memcpy(to->twin + to_at - CONSTANT, &word, 8);
	} else {
		assert_int_equal(post(e, op, at, n, to, to_at), 0);
		if (op != RS_WR_SEND)
			memcpy(to->twin + to_at - CONSTANT, e->memory + at, n);
	}
}

/* As they are: its thread may be at it. */
static struct rs_live_counters counters(struct end *e)
{
	struct rs_live_counters c;

	rs_live_lock(e->l);
	c = *rs_live_get_counters(e->l);
	rs_live_unlock(e->l);
	return c;
}

/* What the kernel allows the two: to copy both ways, the receiver alone, nobody. */
enum copies { BOTH, RECEIVER, NOBODY };

static void limit(struct end *e, enum copies allowed)
{
	struct rs_shm *s = e->l->shm;

	rs_live_lock(e->l);
	for (unsigned i = 0; i < RS_SHM_PEERS; i++) {
		if (s->in[i] && allowed == RECEIVER)
			s->in[i]->runs.no_grants = true;
		if (s->out[i] && allowed == NOBODY)
			atomic_store(&s->out[i]->w.ring->pulls, 0);
	}
	rs_live_unlock(e->l);
}

static void run_random(unsigned ops, uint16_t mtu, enum copies allowed)
{
	struct end a = {0}, b = {0};
	unsigned idle = 0;

	if (!open_end(&a) || !open_end(&b))
		skip();
	connect_end(&a, rs_qp_num(b.qp), mtu, 18);
	connect_end(&b, rs_qp_num(a.qp), mtu, 18);
	while (a.done < ops || b.done < ops) {
		unsigned before = a.done + b.done;

		limit(&a, allowed);
		limit(&b, allowed);
		post_receives(&a);
		post_receives(&b);
		while (a.posted < ops && a.posted - a.done < DEPTH && draw(3))
			post_any(&a, &b);
		while (b.posted < ops && b.posted - b.done < DEPTH && draw(3))
			post_any(&b, &a);
		progress(&a);
		progress(&b);
		idle = a.done + b.done == before ? idle + 1 : 0;
		if (idle > 1000)
			usleep(50);
		assert_true(idle < 200000);
	}
	assert_int_equal(a.status, RS_WC_SUCCESS);
	assert_int_equal(b.status, RS_WC_SUCCESS);
	rs_live_lock(a.l);
	rs_live_lock(b.l);
	assert_memory_equal(a.memory + CONSTANT, a.twin, WRITTEN);
	assert_memory_equal(b.memory + CONSTANT, b.twin, WRITTEN);
	rs_live_unlock(b.l);
	rs_live_unlock(a.l);
	assert_true(counters(&a).rx_shared > ops);
	assert_int_equal(counters(&a).rx_datagrams, 0);
	close_end(&a);
	close_end(&b);
}

static void test_requests_over_rings_do_what_they_do_to_plain_memory(void **state)
{
	static const struct {
		uint16_t mtu;
		enum copies allowed;
	} cases[] = {{256, BOTH},      {1024, BOTH},     {4096, BOTH},
		     {1024, RECEIVER}, {4096, RECEIVER}, {4096, NOBODY}};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		seed = 100 + i;
		run_random(150, cases[i].mtu, cases[i].allowed);
	}
}

/* As a program sees it; the lock is for sanitizers alone. */
static uint8_t byte_of(struct end *e, uint32_t at)
{
	uint8_t v;

	rs_live_lock(e->l);
	v = e->memory[at];
	rs_live_unlock(e->l);
	return v;
}

/* Programs wait for a WRITE's last byte: whoever sees it sees all. */
static void test_last_byte_of_a_write_appears_last(void **state)
{
	enum { LENGTH = 40000 };
	struct end a = {0}, b = {0};

	seed = 150;
	if (!open_end(&a) || !open_end(&b))
		skip();
	connect_end(&a, rs_qp_num(b.qp), 4096, 18);
	connect_end(&b, rs_qp_num(a.qp), 4096, 18);
	for (unsigned v = 1; v < 100; v++) {
		memset(a.memory, (int)v, LENGTH);
		assert_int_equal(post(&a, RS_WR_WRITE, 0, LENGTH, &b, CONSTANT), 0);
		while (byte_of(&b, CONSTANT + LENGTH - 1) != v)
			progress(&b);
		assert_memory_equal(b.memory + CONSTANT, a.memory, LENGTH);
		while (a.done < v)
			progress(&a);
	}
	assert_int_equal(a.failed, 0);
	close_end(&a);
	close_end(&b);
}

/* Nothing is written to a region from the moment that its deregistration returns. */
static void test_deregistered_memory_is_not_written_any_more(void **state)
{
	unsigned refused = 0;

	for (unsigned round = 0; round < 20; round += ROUND) {
		struct end a = {0}, b = {0};

		seed = 200 + round;
		if (!open_end(&a) || !open_end(&b))
			skip();
		connect_end(&a, rs_qp_num(b.qp), 4096, 18);
		connect_end(&b, rs_qp_num(a.qp), 4096, 18);
		for (unsigned i = 0; i < DEPTH; i++)
			assert_int_equal(post(&a, RS_WR_WRITE, 0, LONGEST, &b, CONSTANT), 0);
		for (unsigned i = 0; i < round; i++) {
			progress(&a);
			progress(&b);
		}
		rs_live_lock(b.l);
		rs_live_settle(b.l);
		assert_int_equal(rs_nic_dereg_mr(rs_live_nic(b.l), b.key), 0);
		memset(b.memory + CONSTANT, 0x77, WRITTEN);
		rs_live_unlock(b.l);
		for (unsigned i = 0; i < 100000 && !a.failed && a.done < DEPTH; i++) {
			progress(&a);
			progress(&b);
		}
		refused += a.failed;
		assert_true(a.status == RS_WC_REM_ACCESS_ERR || (!a.failed && a.done == DEPTH));
		for (unsigned i = 0; i < WRITTEN; i++)
			assert_int_equal(b.memory[CONSTANT + i], 0x77);
		close_end(&a);
		close_end(&b);
	}
	assert_true(refused > 0);
}

/* A queue pair that is destroyed with requests on their way: its memory is not read any more. */
static void test_memory_of_requests_that_are_over_is_not_read(void **state)
{
	for (unsigned round = 0; round < 20; round += ROUND) {
		struct end a = {0}, b = {0};

		seed = 300 + round;
		if (!open_end(&a) || !open_end(&b))
			skip();
		memset(a.memory, 0x11, CONSTANT);
		connect_end(&a, rs_qp_num(b.qp), 4096, 18);
		connect_end(&b, rs_qp_num(a.qp), 4096, 18);
		for (unsigned i = 0; i < DEPTH; i++)
			assert_int_equal(post(&a, RS_WR_WRITE, 0, LONGEST, &b, CONSTANT), 0);
		for (unsigned i = 0; i < round; i++) {
			progress(&a);
			progress(&b);
		}
		rs_live_lock(a.l);
		rs_nic_destroy_qp(rs_live_nic(a.l), a.qp);
		rs_live_settle(a.l);
		memset(a.memory, 0x22, CONSTANT);
		rs_live_unlock(a.l);
		for (unsigned i = 0; i < 300; i++) {
			progress(&a);
			progress(&b);
		}
		for (unsigned i = 0; i < WRITTEN; i++)
			assert_int_not_equal(b.memory[CONSTANT + i], 0x22);
		close_end(&a);
		close_end(&b);
	}
}

/* A poll of the application may read the word that was to wake the thread, which then finds nothing
 * and sleeps on, while the sender believes it awake: it is woken all the same. */
static void test_thread_wakes_for_what_a_poll_read(void **state)
{
	static const struct timespec ms = {0, 1000 * 1000};
	struct {
		char magic[8];
		uint32_t what, slot, lease, zero;
	} bell = {.magic = "RSRINGS", .what = 2};
	struct end a = {0};

	if (!open_end(&a))
		skip();
	for (unsigned round = 0; round < 5; round++) {
		bool slept = false, woke = false;

		for (unsigned i = 0; i < 3000 && !slept; i++) {
			nanosleep(&ms, NULL);
			rs_live_lock(a.l);
			slept = a.l->sleeps;
			if (slept && rs_shm_heard(a.l, &bell, sizeof(bell), getpid(), -1))
				for (unsigned k = 0; k < 300 && !woke; k++) {
					nanosleep(&ms, NULL);
					woke = !a.l->sleeps;
				}
			rs_live_unlock(a.l);
		}
		assert_true(slept);
		assert_true(woke);
	}
	close_end(&a);
}

/* ---- Other processes ---- */

struct offer {
	uint32_t qpn, key;
	uint8_t *memory;
};

/* Takes what comes until it is killed. */
static void peer_process(int in, int out)
{
	struct end e = {0};
	struct offer o;
	uint32_t qpn;

	if (!open_end(&e))
		_exit(1);
	o = (struct offer){rs_qp_num(e.qp), e.key, e.memory};
	if (write(out, &o, sizeof(o)) != sizeof(o) || read(in, &qpn, sizeof(qpn)) != sizeof(qpn))
		_exit(1);
	connect_end(&e, qpn, 4096, 8);
	if (write(out, &qpn, sizeof(qpn)) != sizeof(qpn))
		_exit(1);
	for (;;)
		progress(&e);
}

static void test_killed_peer_ends_requests_and_nothing_hangs(void **state)
{
	int to[2], from[2], status;
	struct end a = {0}, b = {0};
	struct offer o;
	uint32_t qpn;
	pid_t peer, child;

	assert_int_equal(pipe(to) | pipe(from), 0);
	seed = 400;
	peer = fork();
	if (!peer)
		peer_process(to[0], from[1]);
	if (!open_end(&a))
		skip();
	assert_int_equal(read(from[0], &o, sizeof(o)), sizeof(o));
	qpn = rs_qp_num(a.qp);
	assert_int_equal(write(to[1], &qpn, sizeof(qpn)), sizeof(qpn));
	assert_int_equal(read(from[0], &qpn, sizeof(qpn)), sizeof(qpn));
	connect_end(&a, o.qpn, 4096, 8);
	b.memory = o.memory;
	b.key = o.key;
	while (a.done < 100) {
		if (a.posted - a.done < DEPTH)
			assert_int_equal(post(&a, RS_WR_WRITE, 0, LONGEST, &b, CONSTANT), 0);
		progress(&a);
	}
	assert_int_equal(a.failed, 0);
	assert_true(counters(&a).tx_shared > 100);
	/* a copy of this process says nothing in its name */
	child = fork();
	if (!child) {
		rs_live_close(a.l);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	for (unsigned more = a.done + 50; a.done < more;) {
		if (a.posted - a.done < DEPTH)
			assert_int_equal(post(&a, RS_WR_WRITE, 0, LONGEST, &b, CONSTANT), 0);
		progress(&a);
	}
	assert_int_equal(a.failed, 0);
	kill(peer, SIGKILL);
	while (!a.failed) {
		if (a.posted - a.done < DEPTH)
			post(&a, RS_WR_WRITE, 0, LONGEST, &b, CONSTANT);
		progress(&a);
		usleep(100);
	}
	assert_int_equal(a.status, RS_WC_RETRY_EXC_ERR);
	assert_int_equal(waitpid(peer, &status, 0), peer);
	close_end(&a);
	close(to[0]), close(to[1]), close(from[0]), close(from[1]);
}

/* What is no ring of that slot's process, or could shrink under its reader, is not mapped. */
static void test_rings_that_are_none_are_not_taken(void **state)
{
	struct {
		char magic[8];
		uint32_t what, slot, lease, zero;
	} hello = {.magic = "RSRINGS", .what = 1};
	struct end a = {0}, b = {0};
	int fd;

	seed = 500;
	if (!open_end(&a) || !open_end(&b))
		skip();
	rs_live_lock(a.l);
	hello.slot = b.l->slot;
	hello.lease = rs_registry_rings(a.l->registry, a.l->slot);
	for (unsigned i = 0; i < 6; i++) {
		size_t bytes = sizeof(struct rs_shm_ring) - (i == 1);
		int32_t pid = i == 3 ? 1 : getpid();
		struct rs_shm_ring *ring;

		fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		assert_true(fd >= 0);
		assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
		if (i != 0)
			fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
		ring = mmap(NULL, sizeof(*ring), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		ring->magic = i == 2 ? 1 : RS_SHM_MAGIC;
		ring->layout = RS_SHM_LAYOUT;
		ring->lines = RS_SHM_LINES;
		munmap(ring, sizeof(*ring));
		hello.lease += i == 4;
		assert_true(rs_shm_heard(a.l, &hello, sizeof(hello), pid, fd));
		hello.lease -= i == 4;
		assert_int_equal(fcntl(fd, F_GETFD), -1); /* closed */
		if (i < 5)
			assert_null(a.l->shm->in[hello.slot]);
		else
			assert_non_null(a.l->shm->in[hello.slot]); /* as it should be */
	}
	assert_false(rs_shm_heard(a.l, "RSREPORT", 8, getpid(), -1));
	rs_live_unlock(a.l);
	close_end(&a);
	close_end(&b);
}

/* A ring of another container is taken as any other, and speaks for the addresses that were proved
 * alone; it tells nothing of its sender's memory. */
static void test_a_ring_of_another_container_speaks_for_its_addresses_alone(void **state)
{
	const uint8_t own[16] = {[10] = 0xff, [11] = 0xff, 127, 0, 0, 1};
	const uint8_t peer[16] = {[10] = 0xff, [11] = 0xff, 10, 1, 2, 3};
	const uint8_t other[16] = {[10] = 0xff, [11] = 0xff, 127, 0, 0, 2};
	struct rs_live_counters before;
	struct end a = {0}, b = {0};
	struct rs_shm_writer w;
	int alive[2], fd;

	if (!open_end(&a) || !open_end(&b))
		skip();
	assert_int_equal(pipe(alive), 0);
	rs_live_lock(b.l);
	fd = rs_shm_make_out(b.l, RS_NEAR_FIRST + 3, dup(alive[0]));
	assert_true(fd >= 0);
	w = b.l->shm->out[RS_NEAR_FIRST + 3]->w;
	assert_int_equal(w.ring->cookie_at | w.ring->cookie, 0);
	rs_live_unlock(b.l);
	rs_live_lock(a.l);
	assert_false(rs_shm_take_ring(a.l, alive[1], alive[0], own, peer, 7)); /* no ring */
	assert_true(rs_shm_take_ring(a.l, fd, dup(alive[0]), own, peer, 7));
	before = *rs_live_get_counters(a.l);
	for (unsigned i = 0; i < 3; i++) {
		struct rs_packet p = {
			.opcode = RS_UD | RS_OP_SEND_ONLY, .dest_qp = rs_qp_num(a.qp), .qkey = 1};
		struct rs_shm_record path = {.kind = RS_SHM_PATH, .path = 5}, r = {0};
		uint8_t gids[32];

		memcpy(gids, i == 0 ? other : peer, 16);
		memcpy(gids + 16, i == 1 ? other : own, 16);
		assert_true(rs_shm_write(&w, &path, gids, sizeof(gids)));
		rs_shm_pack(&p, &r);
		r.path = 5;
		assert_true(rs_shm_write(&w, &r, NULL, 0));
		rs_shm_receive(a.l, rs_clock_ns());
		assert_int_equal(rs_live_get_counters(a.l)->rx_stranger - before.rx_stranger,
				 i == 2 ? 2 : i + 1);
		assert_int_equal(rs_live_get_counters(a.l)->rx_shared - before.rx_shared, i == 2);
	}
	assert_int_equal(atomic_load(&w.ring->pulls), 0); /* its memory is not asked for */
	rs_live_unlock(a.l);
	close_end(&a);
	close_end(&b);
	/* not before: b holds a ring of a directory that it has not, and would tell it of the end
	 */
	assert_false(rs_near_is_gone(alive[0]));
	close(alive[1]);
	assert_true(rs_near_is_gone(alive[0]));
	close(alive[0]);
	close(fd);
}

/* A process of the same user that lies in its ring and its tickets: the reader goes on, or stops.
 */
static void test_lies_of_a_peer_do_no_harm(void **state)
{
	struct end a = {0}, b = {0};
	unsigned stopped = 0;

	seed = 600;
	/* which lies are read depends on when the reader looks: a few rounds may have none that
	 * stops it */
	for (unsigned round = 0; round < 30 || (!stopped && round < 300); round += ROUND) {
		struct rs_shm_out *o;

		memset(&a, 0, sizeof(a));
		memset(&b, 0, sizeof(b));
		if (!open_end(&a) || !open_end(&b))
			skip();
		connect_end(&a, rs_qp_num(b.qp), 4096, 14);
		connect_end(&b, rs_qp_num(a.qp), 4096, 14);
		for (unsigned i = 0; i < 8; i++)
			assert_int_equal(post(&a, RS_WR_WRITE, 0, LONGEST, &b, CONSTANT), 0);
		rs_live_lock(a.l);
		o = a.l->shm->out[b.l->slot];
		assert_non_null(o);
		for (unsigned i = 0; o && i < 4000; i++) {
			uint64_t line = o->w.tail - 1 - draw(12);
			uint8_t *at = o->w.ring->line[line % RS_SHM_LINES];

			/* all but the word that says where it is */
			at[4 + draw(60)] = (uint8_t)draw(256);
			if (i % 16 == 0)
				/* the words, not the place: with it a sender lies to itself alone
				 */
				((uint8_t *)&o->w.ring->ticket[draw(RS_RUN_TICKETS)])[draw(8)] =
					(uint8_t)draw(8);
			if (i % 400 == 0) {
				rs_live_unlock(a.l);
				progress(&b);
				rs_live_lock(a.l);
				o = a.l->shm->out[b.l->slot]; /* it may have been given up */
			}
		}
		rs_live_unlock(a.l);
		for (unsigned i = 0; i < 50; i++) {
			progress(&a);
			progress(&b);
		}
		rs_live_lock(b.l);
		stopped += b.l->shm->in[a.l->slot] ? b.l->shm->in[a.l->slot]->r.broken : 1;
		rs_live_unlock(b.l);
		close_end(&a);
		close_end(&b);
	}
	assert_true(stopped > 0);
}

/* Another queue pair, of another domain and with other memory, of an end's device. */
static bool open_beside(struct end *e, const struct end *of)
{
	struct rs_qp_init init = {.pd = PD + 1,
				  .max_send_wr = DEPTH,
				  .max_recv_wr = DEPTH,
				  .max_send_sge = 1,
				  .max_recv_sge = 1,
				  .transport = RS_RC,
				  .sq_sig_all = true};
	bool good;

	*e = (struct end){.l = of->l, .memory = calloc(1, MEMORY), .twin = calloc(1, WRITTEN)};
	for (unsigned i = 0; i < CONSTANT; i++)
		e->memory[i] = (uint8_t)draw(256);
	rs_live_lock(e->l);
	good = !rs_nic_create_cq(rs_live_nic(e->l), 4 * DEPTH, &e->cq);
	init.send_cq = init.recv_cq = e->cq;
	good = good && !rs_nic_create_qp(rs_live_nic(e->l), &init, &e->qp) &&
	       !rs_nic_reg_mr(rs_live_nic(e->l), init.pd, (uintptr_t)e->memory, MEMORY, 15,
			      e->memory, &e->key);
	rs_live_unlock(e->l);
	return good;
}

/* Random bytes in a ring: its lines, the words of its tickets, and those by which its ends tell one
 * another where they are. Not the place of a grant, which is the liar's own memory; here all
 * processes are this one. */
static void spoil_ring(struct rs_shm_ring *ring)
{
	uint8_t *at = ring->line[draw(RS_SHM_LINES)] + draw(RS_SHM_LINE);
	struct rs_run_ticket *t = &ring->ticket[draw(RS_RUN_TICKETS)];

	switch (draw(8)) {
	case 0:
		atomic_store(&ring->head, draw(2) ? draw(1u << 31) : ring->head + draw(64));
		break;
	case 1:
		atomic_store(&ring->runs_done, draw(2) ? draw(1u << 31) : ring->runs_done + 1);
		atomic_store(&ring->staged_done,
			     draw(2) ? draw(1u << 31) : ring->staged_done + draw(100000));
		atomic_store(&ring->pulls, draw(2));
		break;
	case 2:
		atomic_store(&t->pull, draw(4));
		break;
	case 3:
		atomic_store(&t->push, draw(8));
		break;
	default:
		for (unsigned i = draw(64); i && at < (uint8_t *)(ring + 1); i--)
			*at++ = (uint8_t)draw(256);
	}
}

static void spoil_rings(struct end *liar, struct end *victim)
{
	unsigned to = victim->l->slot;

	rs_live_lock(liar->l);
	if (liar->l->shm->out[to])
		spoil_ring(liar->l->shm->out[to]->w.ring);
	if (liar->l->shm->in[to])
		spoil_ring(liar->l->shm->in[to]->r.ring);
	rs_live_unlock(liar->l);
}

static void run_beside_a_liar(unsigned ops)
{
	struct end liar = {0}, victim = {0}, beside, honest = {0};
	int64_t longest = 0;
	unsigned idle = 0;

	if (!open_end(&liar) || !open_end(&victim) || !open_end(&honest) ||
	    !open_beside(&beside, &victim))
		skip();
	connect_end(&liar, rs_qp_num(victim.qp), 4096, 14);
	connect_end(&victim, rs_qp_num(liar.qp), 4096, 14);
	connect_end(&honest, rs_qp_num(beside.qp), 4096, 18);
	connect_end(&beside, rs_qp_num(honest.qp), 4096, 18);
	while (beside.done < ops || honest.done < ops) {
		unsigned before = beside.done + honest.done;
		int64_t began = rs_clock_ns();

		post_receives(&beside);
		post_receives(&honest);
		while (beside.posted < ops && beside.posted - beside.done < DEPTH && draw(3))
			post_any(&beside, &honest);
		while (honest.posted < ops && honest.posted - honest.done < DEPTH && draw(3))
			post_any(&honest, &beside);
		for (unsigned i = 0; i < 4 && liar.posted - liar.done < DEPTH; i++)
			if (post(&liar, RS_WR_WRITE, 0, draw(LONGEST), &victim, CONSTANT))
				break;
		for (unsigned i = 0; i < 4 && victim.posted - victim.done < DEPTH; i++)
			if (post(&victim, RS_WR_WRITE, 0, draw(LONGEST), &liar, CONSTANT))
				break;
		for (unsigned i = draw(64); i; i--)
			spoil_rings(&liar, &victim);
		progress(&liar);
		progress(&victim);
		progress(&beside);
		progress(&honest);
		longest = rs_clock_ns() - began > longest ? rs_clock_ns() - began : longest;
		idle = beside.done + honest.done == before ? idle + 1 : 0;
		if (idle > 1000)
			usleep(50);
		assert_true(idle < 200000);
	}
	assert_int_equal(beside.failed + honest.failed, 0);
	rs_live_lock(victim.l);
	assert_memory_equal(beside.memory + CONSTANT, beside.twin, WRITTEN);
	rs_live_unlock(victim.l);
	rs_live_lock(honest.l);
	assert_memory_equal(honest.memory + CONSTANT, honest.twin, WRITTEN);
	rs_live_unlock(honest.l);
	/* no wait for a liar but the one that ends its ring, and loaded cores */
	assert_in_range(longest, 0, (int64_t)5 * 1000 * 1000 * 1000);
	close_end(&liar);
	close_end(&honest);
	close_end(&victim);
	free(beside.memory);
	free(beside.twin);
}

/* A process that writes anything into both its rings at any time harms its own connection alone:
 * the victim's with another process goes on, to the last byte, and in a bounded time. */
static void test_a_lying_peer_harms_its_own_connection_alone(void **state)
{
	for (unsigned round = 0; round < 4; round++) {
		seed = 77 + round;
		run_beside_a_liar(60);
	}
}

/* A peer that is at its copies for ever is waited for once, not once for each of them. */
static void test_a_peer_that_never_ends_its_copies_is_waited_for_once(void **state)
{
	struct end a = {0}, b = {0};
	struct rs_shm_out *o;
	int64_t began;

	if (!open_end(&a) || !open_end(&b))
		skip();
	connect_end(&a, rs_qp_num(b.qp), 4096, 18);
	connect_end(&b, rs_qp_num(a.qp), 4096, 18);
	for (unsigned i = 0; i < 200 && !a.done; i++) { /* until the ring is there */
		if (!a.posted)
			assert_int_equal(post(&a, RS_WR_WRITE, 0, 100, &b, CONSTANT), 0);
		progress(&b);
		progress(&a);
		usleep(100);
	}
	rs_live_lock(b.l); /* it does not run from here on */
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(post(&a, RS_WR_WRITE, 0, LONGEST, &b, CONSTANT), 0);
	rs_live_lock(a.l);
	o = a.l->shm->out[b.l->slot];
	assert_non_null(o);
	assert_true(o->runs.sent >= 8);
	for (unsigned i = 0; i < RS_RUN_TICKETS; i++)
		atomic_store(&o->w.ring->ticket[i].pull, RS_RUN_PULL_BUSY);
	began = rs_clock_ns();
	rs_qp_modify(rs_live_nic(a.l), a.qp, RS_QPS_ERR, NULL, rs_live_now(a.l));
	rs_live_settle(a.l);
	assert_in_range(rs_clock_ns() - began, 0, (int64_t)3 * 1000 * 1000 * 1000);
	assert_true(o->runs.stuck);
	rs_live_unlock(a.l);
	rs_live_unlock(b.l);
	close_end(&a);
	close_end(&b);
}

/* ---- By the wire: posts in a row ---- */

enum { ROW = 4, ROWS = 50, ROWS_MOST = 200 * 1000 };

/* A row of posts. Did the second and later ones wait for a poll? */
static bool post_row(struct end *a, const struct end *b)
{
	bool waited;

	for (unsigned i = 0; i < ROW; i++)
		post(a, RS_WR_WRITE, 0, 4, b, CONSTANT);
	rs_live_lock(a->l);
	waited = a->l->row.waiting;
	rs_live_unlock(a->l);
	return waited;
}

static void finish_row(struct end *a, struct end *b)
{
	do {
		progress(a);
		progress(b);
	} while (a->done + a->failed < a->posted);
}

/* Who polls behind its posts has them gathered (here: however late, on a machine of any speed); who
 * does not is held back once. When is test_row's. */
static void test_posts_in_a_row_go_together_for_who_polls(void **state)
{
	struct end a = {0}, b = {0};
	unsigned rows = 0, held = 0;

	setenv("RIPSTOP_SHM", "off", 1);
	assert_true(open_end(&a) && open_end(&b));
	unsetenv("RIPSTOP_SHM");
	connect_end(&a, rs_qp_num(b.qp), 1024, 18);
	connect_end(&b, rs_qp_num(a.qp), 1024, 18);
	rs_live_lock(a.l);
	a.l->row.tuning.prompt_ns = INT64_MAX;
	rs_live_unlock(a.l);
	while (!post_row(&a, &b) && rows++ < ROWS_MOST)
		finish_row(&a, &b);
	finish_row(&a, &b);
	assert_in_range(rows, rs_live_tuning.earn_least_ns / rs_live_tuning.send_ns / (ROW - 1),
			ROWS_MOST - 1);
	rs_live_lock(a.l);
	a.l->row.tuning.prompt_ns = a.l->row.tuning.long_ns = -1;
	rs_live_unlock(a.l);
	for (unsigned i = 0; i < ROWS; i++) {
		held += post_row(&a, &b);
		finish_row(&a, &b);
	}
	assert_true(held <= 1);
	assert_int_equal(a.failed, 0);
	close_end(&a);
	close_end(&b);
}

/* Off on one side is off for both; what is neither on nor off is refused. */
static void test_path_is_off_where_it_is_not_wanted(void **state)
{
	struct end a = {0}, b = {0};
	struct rs_live_device d;
	struct rs_error why = {0};
	struct rs_live *l;

	seed = 700;
	if (rs_live_device_parse("x=lo", &d, &why))
		skip();
	setenv("RIPSTOP_SHM", "perhaps", 1);
	assert_int_equal(rs_live_open(&d, &l, &why), -EINVAL);
	assert_non_null(strstr(why.what, "RIPSTOP_SHM"));
	setenv("RIPSTOP_SHM", "off", 1);
	if (!open_end(&a))
		skip();
	unsetenv("RIPSTOP_SHM");
	assert_true(open_end(&b));
	connect_end(&a, rs_qp_num(b.qp), 4096, 18);
	connect_end(&b, rs_qp_num(a.qp), 4096, 18);
	assert_int_equal(post(&a, RS_WR_WRITE, 0, 100000, &b, CONSTANT), 0);
	assert_int_equal(post(&b, RS_WR_WRITE, 0, 100000, &a, CONSTANT), 0);
	while (!a.done || !b.done) {
		progress(&a);
		progress(&b);
	}
	assert_int_equal(a.failed + b.failed, 0);
	assert_memory_equal(a.memory + CONSTANT, b.memory, 100000);
	assert_memory_equal(b.memory + CONSTANT, a.memory, 100000);
	assert_int_equal(counters(&a).rx_shared, 0);
	assert_int_equal(counters(&b).rx_shared, 0);
	assert_true(counters(&a).rx_datagrams > 0);
	close_end(&a);
	close_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* first: it forks, which sanitizers allow while there is one thread */
		cmocka_unit_test(test_killed_peer_ends_requests_and_nothing_hangs),
		cmocka_unit_test(test_ring_gives_what_was_written_in_order),
		cmocka_unit_test(test_payload_that_looks_like_a_record_is_none),
		cmocka_unit_test(test_record_takes_an_ack_along),
		cmocka_unit_test(test_ring_of_lies_is_read_without_harm),
		cmocka_unit_test(test_writer_believes_no_impossible_place),
		cmocka_unit_test(test_requests_over_rings_do_what_they_do_to_plain_memory),
		cmocka_unit_test(test_last_byte_of_a_write_appears_last),
		cmocka_unit_test(test_deregistered_memory_is_not_written_any_more),
		cmocka_unit_test(test_memory_of_requests_that_are_over_is_not_read),
		cmocka_unit_test(test_thread_wakes_for_what_a_poll_read),
		cmocka_unit_test(test_rings_that_are_none_are_not_taken),
		cmocka_unit_test(test_a_ring_of_another_container_speaks_for_its_addresses_alone),
		cmocka_unit_test(test_lies_of_a_peer_do_no_harm),
		cmocka_unit_test(test_a_lying_peer_harms_its_own_connection_alone),
		cmocka_unit_test(test_a_peer_that_never_ends_its_copies_is_waited_for_once),
		cmocka_unit_test(test_posts_in_a_row_go_together_for_who_polls),
		cmocka_unit_test(test_path_is_off_where_it_is_not_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
