/*
 * The NIC's whole receive path: the frames of a capture, decoded, arrive at a NIC with queue pairs
 * of every service, work under way and memory granted. Seeds are captures; the MAC addresses, which
 * no NIC of ours looks at, say what is made to fit (a mutation rarely guesses a PSN or key) and
 * what is not.
 */
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "fuzz.h"
#include "rdma/nic.h"
#include "wire/frame.h"
#include "wire/pcapng.h"

enum {
	PD = 5,
	BYTES = 1 << 16,
	VA = 0x100000,
	DEPTH = 8,
	FRAMES_MAX = 512,
	DRAIN_MAX = 256,
	PACKETS = 1 << 10,
	QKEY = 0x11111111, /* libibverbs' examples' */
	PEER = 1,
	PSN = 0xfffff0,
	DOMAIN = 2,
	MTU = 1024,
};

enum kind { RC, RC_SHARED, UC, UD, XRC_SEND, XRC_TARGET, KINDS };

/* What each byte of the MAC addresses asks for: bit 0 off, as in addresses that are in use, makes
 * the field fit. */
enum {
	PICK,
	ANY_QKEY,
	ANY_SRQ,
	ANY_INV,
	WAIT,
	SHIFT,
	SMAC,
	STRANGER,
	ANY_KEY,
	ANY_VA,
	CORRUPT,
	ANY
};

struct port {
	struct rs_qp *qp;
	bool requests_rebased, answers_rebased;
	uint32_t request_offset, answer_offset; /* from the capture's PSNs to this queue pair's */
};

struct bench {
	struct rs_pool pool;
	struct rs_pool_list list;
	struct rs_nic *nic;
	struct rs_cq *cq;
	struct rs_srq *srq, *xrc_srq;
	struct port port[KINDS];
	uint8_t *memory;
	uint32_t key, region, window, null;
	rs_time now;
	unsigned posts;
};

static void connect(struct bench *b, unsigned k)
{
	struct rs_qp_attr a = {
		.dest_endpoint = PEER,
		.dest_qpn = 100 + k,
		.sq_psn = PSN,
		.rq_psn = PSN,
		.path_mtu = MTU,
		.pkey = 0xffff,
		.timeout = 8,
		.retry_cnt = 3,
		.rnr_retry = 3,
		.min_rnr_timer = 1,
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 4,
		.access = 15,
		.qkey = QKEY,
	};
	struct port *p = &b->port[k];

	rs_qp_modify(b->nic, p->qp, RS_QPS_RESET, NULL, b->now);
	rs_assert(!rs_qp_connect(b->nic, p->qp, &a, b->now));
	p->requests_rebased = p->answers_rebased = false;
}

static void make_qps(struct bench *b)
{
	static const uint8_t transports[] = {RS_RC, RS_RC, RS_UC, RS_UD, RS_XRC, RS_XRC};

	for (unsigned k = 0; k < KINDS; k++) {
		struct rs_qp_init i = {
			.pd = PD,
			.transport = transports[k],
			.send_cq = b->cq,
			.recv_cq = b->cq,
			.max_send_wr = DEPTH,
			.max_send_sge = 2,
			.max_recv_wr = DEPTH,
			.max_recv_sge = 2,
		};

		if (k == RC_SHARED)
			i.srq = b->srq;
		if (k == RC_SHARED || k == XRC_SEND)
			i.max_recv_wr = i.max_recv_sge = 0;
		if (k == XRC_SEND)
			i.recv_cq = NULL;
		if (k == XRC_TARGET)
			i = (struct rs_qp_init){
				.transport = RS_XRC, .xrc_target = true, .xrcd = DOMAIN};
		rs_assert(!rs_nic_create_qp(b->nic, &i, &b->port[k].qp));
		connect(b, k);
	}
}

static void begin(struct bench *b)
{
	struct rs_nic_config c = {
		.line_rate = 100 * RS_GBPS,
		.max_qps = KINDS,
		.max_mrs = 8,
		.max_cqs = 2,
		.max_srqs = 2,
		.first_qpn = 16,
		.free = &b->list,
		.ack_every = 4,
		.ack_delay = RS_US,
		.cnp_tc = 6,
		.copy_payload = true,
		.qp_counters = true,
	};
	struct rs_srq_init s = {.pd = PD, .max_wr = DEPTH, .max_sge = 2};

	memset(b, 0, sizeof(*b));
	b->memory = calloc(1, BYTES); /* exactly: a byte beyond is seen by a sanitizer */
	rs_assert(b->memory && !rs_pool_init(&b->pool, PACKETS));
	rs_pool_list_init(&b->list, &b->pool);
	rs_assert(!rs_nic_create(&c, &b->nic, NULL));
	rs_assert(!rs_nic_create_cq(b->nic, 256, &b->cq));
	rs_assert(!rs_nic_reg_mr(b->nic, PD, VA, BYTES, 15, b->memory, &b->key));
	rs_assert(!rs_nic_reg_mr(b->nic, PD, VA, BYTES, RS_ACCESS_LOCAL_WRITE | RS_ACCESS_MW_BIND,
				 b->memory, &b->region));
	rs_assert(!rs_nic_alloc_mw(b->nic, PD, 2, &b->window));
	rs_assert(!rs_nic_reg_null_mr(b->nic, PD, &b->null));
	rs_assert(!rs_nic_create_srq(b->nic, &s, &b->srq));
	s.xrc = true;
	s.xrcd = DOMAIN;
	s.cq = b->cq;
	rs_assert(!rs_nic_create_srq(b->nic, &s, &b->xrc_srq));
	make_qps(b);
}

static void end(struct bench *b)
{
	rs_nic_destroy(b->nic);
	/* no packet is lost to the slab */
	rs_assert(b->pool.fresh == b->pool.spill_count + rs_pool_list_count(&b->list));
	rs_pool_fini(&b->pool);
	free(b->memory);
}

/* ---- The owner's side: work of every kind, so that any answer finds its request ---- */

static void post_receives(struct bench *b)
{
	struct rs_sge g[2] = {{VA + 64 * (b->posts % 64), 100, b->key}, {VA + 8192, 3000, b->key}};
	struct rs_recv_wr wr = {.n_sge = 2, .sge = g};

	/* not for each packet: receivers are unready at times */
	if (b->posts++ % 2)
		return;
	if (b->posts % 8 == 3) /* in part, or whole */
		g[1].lkey = b->null;
	if (b->posts % 16 == 3)
		g[0].lkey = b->null;
	rs_qp_post_recv(b->nic, b->port[RC].qp, &wr);
	rs_qp_post_recv(b->nic, b->port[UC].qp, &wr);
	rs_qp_post_recv(b->nic, b->port[UD].qp, &wr);
	rs_srq_post_recv(b->nic, b->srq, &wr);
	rs_srq_post_recv(b->nic, b->xrc_srq, &wr);
}

static void post_send(struct bench *b, unsigned k, uint8_t op, uint32_t length)
{
	struct rs_sge g = {VA + 16384, length, b->key};
	struct rs_send_wr wr = {
		.op = op,
		.flags = RS_WR_SIGNALED,
		.n_sge = 1,
		.sge = &g,
		.remote_va = 0x1000,
		.rkey = 1,
		.srqn = 1,
		.ah = {.endpoint = PEER},
		.dest_qpn = 100,
		.qkey = QKEY,
	};

	rs_qp_post_send(b->nic, b->port[k].qp, &wr, b->now);
}

static void bind_window(struct bench *b)
{
	struct rs_send_wr wr = {
		.op = RS_WR_BIND_MW,
		.rkey = (b->window & ~0xffu) | ((b->window + 1) & 0xff),
		.bind = {.va = VA,
			 .length = 4096,
			 .mr_key = b->region,
			 .access = RS_ACCESS_REMOTE_WRITE | RS_ACCESS_REMOTE_READ},
	};

	if (!rs_qp_post_send(b->nic, b->port[RC].qp, &wr, b->now))
		b->window = wr.rkey;
}

static void work(struct bench *b, unsigned k, const struct rs_packet *p)
{
	uint32_t f = rs_opcodes[p->opcode].flags;

	post_receives(b);
	if (f & RS_F_IETH)
		bind_window(b);
	if (f & RS_F_ATOMIC_ACK)
		post_send(b, k, RS_WR_FETCH_ADD, 8);
	else if (f & RS_F_READ)
		post_send(b, k, RS_WR_READ, f & RS_F_LAST ? p->payload_bytes : 3 * MTU);
	else
		post_send(b, k, f & RS_F_AETH ? RS_WR_WRITE : RS_WR_SEND, 2 * MTU + 3);
}

static void drain(struct bench *b)
{
	struct rs_packet *p;
	struct rs_event e;
	struct rs_cqe c;
	rs_time again;

	for (unsigned i = 0; i < DRAIN_MAX; i++) {
		p = rs_nic_tx(b->nic, 0, b->now, &again);
		if (!p)
			break;
		rs_assert(p->frame_bytes >= RS_ETH_MIN_FRAME && p->payload_bytes <= MTU);
		rs_pool_free(&b->list, p);
	}
	while (rs_cq_poll(b->cq, &c, 1))
		rs_assert(rs_nic_find_qp(b->nic, c.qpn));
	while (rs_nic_poll_event(b->nic, &e))
		;
	if (rs_nic_deadline(b->nic) <= b->now)
		rs_nic_expire(b->nic, b->now);
	rs_nic_check(b->nic);
}

/* ---- The packet ---- */

static unsigned kind_of(const struct rs_packet *p, uint8_t pick)
{
	bool answer = rs_opcodes[p->opcode].flags & RS_F_RESPONSE;

	if (pick & 1)
		return (pick >> 1) % KINDS;
	switch (p->opcode & 0xe0) {
	case RS_UC:
		return UC;
	case RS_UD:
		return UD;
	case RS_XRC:
		return answer ? XRC_SEND : XRC_TARGET;
	default:
		return p->dest_qp & 1 ? RC_SHARED : RC;
	}
}

/* The capture's PSNs keep their distances; its first request and answer are the next ones here. */
static void rebase(struct port *t, struct rs_packet *p, uint8_t shift)
{
	bool answer = rs_opcodes[p->opcode].flags & RS_F_RESPONSE;
	bool *done = answer ? &t->answers_rebased : &t->requests_rebased;
	uint32_t *offset = answer ? &t->answer_offset : &t->request_offset;

	if (!*done)
		*offset = PSN - p->psn;
	*done = true;
	p->psn = rs_psn_add(p->psn, *offset + (shift & 1 ? shift >> 1 : 0));
}

static unsigned fit(struct bench *b, const struct rs_frame *f, struct rs_packet *p)
{
	uint8_t ask[12];
	unsigned k;

	memcpy(ask, f->dmac, 6);
	memcpy(ask + SMAC, f->smac, 6);
	/* the last byte is the address itself in these captures */
	ask[SHIFT] &= (uint8_t) - (ask[SHIFT] >> 7);
	ask[ANY] &= (uint8_t) - (ask[ANY] >> 7);
	k = kind_of(p, ask[PICK]);
	p->dest_qp = rs_qp_num(b->port[k].qp);
	p->src = ask[STRANGER] & 1 ? PEER + 1 : PEER;
	p->dst = 0;
	rebase(&b->port[k], p, ask[SHIFT]);
	if (!(ask[CORRUPT] & 1))
		p->corrupt = 0;
	if (!(ask[ANY_KEY] & 1))
		p->rkey = ask[ANY_KEY] & 2 ? b->window : ask[ANY_KEY] & 4 ? b->null : b->key;
	if (!(ask[ANY_VA] & 1))
		p->va = VA + p->va % BYTES;
	if (!(ask[ANY_QKEY] & 1))
		p->qkey = QKEY;
	if (!(ask[ANY_SRQ] & 1) && rs_opcodes[p->opcode].flags & RS_F_XRCETH)
		p->xrc_srqn = rs_srq_num(b->xrc_srq);
	if (!(ask[ANY_INV] & 1) && rs_opcodes[p->opcode].flags & RS_F_IETH)
		p->imm = b->window;
	b->now += (ask[WAIT] + 1) * 10 * RS_US;
	return k;
}

static void arrive(struct bench *b, const uint8_t *frame, size_t n)
{
	struct rs_packet *p = rs_pool_alloc(&b->list);
	enum rs_decode r;
	struct rs_frame f;
	unsigned k;

	rs_assert(p);
	r = rs_frame_decode(frame, n, &f, p, NULL);
	if ((r != RS_DECODE_OK && r != RS_DECODE_RESERVED) || p->kind != RS_KIND_ROCE) {
		rs_pool_free(&b->list, p);
		return;
	}
	k = fit(b, &f, p);
	if (rs_qp_get_state(b->port[k].qp) == RS_QPS_ERR)
		connect(b, k);
	work(b, k, p);
	drain(b);
	rs_nic_rx(b->nic, p, b->now);
	drain(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct rs_pcap_reader *r;
	struct rs_pcap_packet k;
	struct rs_error e = {0};
	struct bench b;

	if (rs_pcap_open_memory(bytes, n, "input", &r, &e))
		return 0;
	begin(&b);
	for (unsigned i = 0; i < FRAMES_MAX && rs_pcap_next(r, &k, &e) > 0; i++)
		if (!k.foreign)
			arrive(&b, k.bytes, k.captured);
	rs_pcap_close(r);
	end(&b);
	return 0;
}
