/*
 * Verbs programs of the kinds that people write, one after another, each in a process of its own
 * and with what hardware answers as what is expected: queues shared and resized, events, inline
 * data, windows, atomics, datagrams and multicast, protection domains, regions with other
 * addresses, all of memory (ODP), the ibv_wr_* calls, threads, states, and what the device does not
 * offer. Linked with Debian's libibverbs, run on ours. usage: kinds [NAME...]
 */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(c)                                                                     \
	do {                                                                         \
		if (!(c)) {                                                          \
			printf("line %d: %s (%s)\n", __LINE__, #c, strerror(errno)); \
			fflush(stdout);                                              \
			_exit(1);                                                    \
		}                                                                    \
	} while (0)

enum { BYTES = 1 << 20, DEPTH = 64, PATIENCE_MS = 30000 };

/* A device, and two queue pairs of it that talk to one another. */
struct pair {
	struct ibv_context *c;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp[2];
	struct ibv_mr *mr;
	uint8_t *at; /* BYTES; the upper half is the second queue pair's */
	union ibv_gid gid;
	enum ibv_mtu mtu;
	int rnr;
};

static struct ibv_context *open_first(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *c = list && list[0] ? ibv_open_device(list[0]) : NULL;

	CHECK(c);
	ibv_free_device_list(list);
	return c;
}

static const int every_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
				IBV_ACCESS_MW_BIND;

static void init(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
				.port_num = 1,
				.qkey = 0x1234,
				.qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
						   IBV_ACCESS_REMOTE_READ |
						   IBV_ACCESS_REMOTE_ATOMIC};

	CHECK(!ibv_modify_qp(
		qp, &a,
		IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			(qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)));
}

static int ready(struct pair *p, struct ibv_qp *qp, uint32_t peer, uint32_t psn)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTR,
				.path_mtu = p->mtu ? p->mtu : IBV_MTU_1024,
				.dest_qp_num = peer,
				.rq_psn = psn,
				.max_dest_rd_atomic = 16,
				.min_rnr_timer = 1,
				.ah_attr = {.is_global = 1,
					    .port_num = 1,
					    .grh = {.dgid = p->gid, .hop_limit = 64}}};
	int mask = IBV_QP_STATE;

	if (qp->qp_type != IBV_QPT_UD)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (qp->qp_type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	if (ibv_modify_qp(qp, &a, mask))
		return errno;
	a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
				 .timeout = 14,
				 .retry_cnt = 7,
				 .rnr_retry = (uint8_t)(p->rnr ? p->rnr - 1 : 7),
				 .sq_psn = psn,
				 .max_rd_atomic = 16};
	mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	if (qp->qp_type == IBV_QPT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	return ibv_modify_qp(qp, &a, mask);
}

static struct ibv_qp *make(struct pair *p, enum ibv_qp_type type, int sig)
{
	struct ibv_qp_init_attr a = {.send_cq = p->cq,
				     .recv_cq = p->cq,
				     .srq = p->srq,
				     .cap = {DEPTH, DEPTH, 4, 4, 128},
				     .qp_type = type,
				     .sq_sig_all = sig};
	struct ibv_qp *qp = ibv_create_qp(p->pd, &a);

	CHECK(qp);
	CHECK(a.cap.max_send_wr >= DEPTH && a.cap.max_send_sge >= 4 &&
	      a.cap.max_inline_data >= 128);
	return qp;
}

static void open_pair(struct pair *p)
{
	p->c = open_first();
	CHECK(!ibv_query_gid(p->c, 1, 0, &p->gid));
	CHECK(p->pd = ibv_alloc_pd(p->c));
	CHECK(p->channel = ibv_create_comp_channel(p->c));
	CHECK(p->cq = ibv_create_cq(p->c, 4 * DEPTH, p, p->channel, 0));
	CHECK(p->cq->cqe >= 4 * DEPTH);
	p->at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p->at != MAP_FAILED);
	CHECK(p->mr = ibv_reg_mr(p->pd, p->at, BYTES, every_access));
}

static void join(struct pair *p)
{
	for (int i = 0; i < 2; i++)
		init(p->qp[i]);
	for (int i = 0; i < 2; i++)
		CHECK(!ready(p, p->qp[i], p->qp[!i]->qp_num, 0xfffff0));
}

static void start(struct pair *p, enum ibv_qp_type type, int sig)
{
	open_pair(p);
	p->qp[0] = make(p, type, sig);
	p->qp[1] = make(p, type, sig);
	join(p);
}

static void end(struct pair *p)
{
	for (int i = 0; i < 2; i++)
		CHECK(!p->qp[i] || !ibv_destroy_qp(p->qp[i]));
	CHECK(!p->srq || !ibv_destroy_srq(p->srq));
	CHECK(!ibv_destroy_cq(p->cq));
	CHECK(!ibv_destroy_comp_channel(p->channel));
	CHECK(!p->mr || !ibv_dereg_mr(p->mr));
	CHECK(!ibv_dealloc_pd(p->pd));
	CHECK(!ibv_close_device(p->c));
	munmap(p->at, BYTES);
}

static struct ibv_wc take(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(cq, 1, &wc)) == 0)
		;
	CHECK(n == 1);
	return wc;
}

/* n completions, all good. */
static void good(struct pair *p, int n)
{
	while (n--) {
		struct ibv_wc wc = take(p->cq);

		if (wc.status)
			printf("status %d, wr_id %lu\n", wc.status, (unsigned long)wc.wr_id);
		CHECK(wc.status == IBV_WC_SUCCESS);
	}
}

static bool nothing(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	for (int i = 0; i < 20; i++) {
		if (ibv_poll_cq(cq, 1, &wc))
			return false;
		usleep(1000);
	}
	return true;
}

static int receive(struct pair *p, struct ibv_qp *qp, uint32_t at, uint32_t n, uint64_t id)
{
	struct ibv_sge s = {(uintptr_t)p->at + at, n, p->mr->lkey};
	struct ibv_recv_wr *bad, wr = {.wr_id = id, .sg_list = &s, .num_sge = 1};

	return p->srq ? ibv_post_srq_recv(p->srq, &wr, &bad) : ibv_post_recv(qp, &wr, &bad);
}

struct ask {
	enum ibv_wr_opcode op;
	uint32_t at, n;      /* here */
	uint64_t to;         /* there: from p->at */
	uint32_t lkey, rkey; /* 0: p->mr's */
	unsigned flags;
	uint64_t id, add, compare;
	uint32_t imm;
};

static int post(struct pair *p, struct ibv_qp *qp, struct ask a)
{
	struct ibv_sge s = {(uintptr_t)p->at + a.at, a.n, a.lkey ? a.lkey : p->mr->lkey};
	struct ibv_send_wr *bad, wr = {.wr_id = a.id,
				       .sg_list = &s,
				       .num_sge = 1,
				       .opcode = a.op,
				       .send_flags = a.flags};

	if (a.op == IBV_WR_ATOMIC_CMP_AND_SWP || a.op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)p->at + a.to;
		wr.wr.atomic.rkey = a.rkey ? a.rkey : p->mr->rkey;
		wr.wr.atomic.compare_add = a.op == IBV_WR_ATOMIC_FETCH_AND_ADD ? a.add : a.compare;
		wr.wr.atomic.swap = a.add;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)p->at + a.to;
		wr.wr.rdma.rkey = a.rkey ? a.rkey : p->mr->rkey;
	}
	if (a.op == IBV_WR_SEND_WITH_INV)
		wr.invalidate_rkey = a.imm;
	else
		wr.imm_data = htobe32(a.imm);
	return ibv_post_send(qp, &wr, &bad);
}

static enum ibv_wc_status answer(struct pair *p, struct ask a)
{
	CHECK(!post(p, p->qp[0], a));
	return take(p->cq).status;
}

/* Out of the error state, both. */
static void again(struct pair *p)
{
	struct ibv_wc wc;

	for (int i = 0; i < 2; i++) {
		struct ibv_qp_attr a = {.qp_state = IBV_QPS_RESET};

		CHECK(!ibv_modify_qp(p->qp[i], &a, IBV_QP_STATE));
	}
	while (ibv_poll_cq(p->cq, 1, &wc) > 0)
		;
	join(p);
}

static struct ibv_async_event event(struct ibv_context *c)
{
	struct pollfd f = {.fd = c->async_fd, .events = POLLIN};
	struct ibv_async_event e;

	CHECK(poll(&f, 1, PATIENCE_MS) == 1);
	CHECK(!ibv_get_async_event(c, &e));
	return e;
}

enum { HALF = BYTES / 2 };

/* ---- A shared receive queue ---- */

static void srq(void)
{
	struct pair p = {.rnr = 1};
	struct ibv_srq_init_attr a = {.attr = {16, 2, 0}};
	struct ibv_srq_attr attr;
	struct ibv_async_event e;
	struct ibv_qp_attr err = {.qp_state = IBV_QPS_ERR};
	struct ibv_sge s;
	struct ibv_recv_wr *bad, wr = {.sg_list = &s, .num_sge = 1};

	open_pair(&p);
	CHECK(p.srq = ibv_create_srq(p.pd, &a));
	CHECK(a.attr.max_wr >= 16 && a.attr.max_sge >= 2);
	p.qp[0] = make(&p, IBV_QPT_RC, 1);
	p.qp[1] = make(&p, IBV_QPT_RC, 1);
	join(&p);
	s = (struct ibv_sge){(uintptr_t)p.at, 64, p.mr->lkey};
	CHECK(ibv_post_recv(p.qp[1], &wr, &bad) == EINVAL &&
	      bad == &wr); /* it has none of its own */
	CHECK(ibv_destroy_srq(p.srq) == EBUSY);
	for (unsigned i = 0; i < a.attr.max_wr; i++)
		CHECK(!receive(&p, NULL, HALF + i * 64, 64, i));
	CHECK(receive(&p, NULL, HALF, 64, 99) == ENOMEM);
	attr.srq_limit = 10;
	CHECK(!ibv_modify_srq(p.srq, &attr, IBV_SRQ_LIMIT));
	CHECK(!ibv_query_srq(p.srq, &attr) && attr.srq_limit == 10);
	for (unsigned i = 0; i < a.attr.max_wr; i++) {
		memset(p.at, (int)i + 1, 64);
		CHECK(!post(&p, p.qp[i & 1], (struct ask){IBV_WR_SEND, 0, 64, .id = 1000}));
		for (int k = 0; k < 2; k++) {
			struct ibv_wc wc = take(p.cq);

			CHECK(!wc.status);
			if (wc.opcode == IBV_WC_RECV) {
				CHECK(wc.byte_len == 64 && wc.qp_num == p.qp[!(i & 1)]->qp_num);
				CHECK(p.at[HALF + wc.wr_id * 64 + 63] == i + 1);
			}
		}
	}
	e = event(p.c);
	CHECK(e.event_type == IBV_EVENT_SRQ_LIMIT_REACHED && e.element.srq == p.srq);
	ibv_ack_async_event(&e);
	CHECK(!ibv_query_srq(p.srq, &attr) && attr.srq_limit == 0); /* once */
	CHECK(answer(&p, (struct ask){IBV_WR_SEND, 0, 64}) == IBV_WC_RNR_RETRY_EXC_ERR);
	CHECK(!ibv_modify_qp(p.qp[1], &err, IBV_QP_STATE));
	do {
		e = event(p.c);
		ibv_ack_async_event(&e);
	} while (e.event_type != IBV_EVENT_QP_LAST_WQE_REACHED);
	end(&p);
}

/* ---- Protection domains, keys, lengths, places ---- */

static void keys(void)
{
	struct pair p = {0};
	struct ibv_pd *other;
	struct ibv_mr *foreign, *readonly, *moved;
	struct ask w = {IBV_WR_RDMA_WRITE, 0, 4096, HALF};

	start(&p, IBV_QPT_RC, 1);
	CHECK(other = ibv_alloc_pd(p.c));
	CHECK(foreign = ibv_reg_mr(other, p.at, BYTES, every_access));
	CHECK(readonly = ibv_reg_mr(p.pd, p.at, BYTES, 0));
	CHECK(ibv_dealloc_pd(other) == EBUSY);
	CHECK(!ibv_reg_mr(p.pd, p.at, BYTES, IBV_ACCESS_REMOTE_WRITE) && errno == EINVAL);
	CHECK(!answer(&p, w));
	w.lkey = foreign->lkey;
	CHECK(answer(&p, w) == IBV_WC_LOC_PROT_ERR);
	again(&p);
	w.lkey = readonly->lkey; /* which may be read here */
	CHECK(!answer(&p, w));
	w.lkey = 0;
	w.rkey = foreign->rkey;
	CHECK(answer(&p, w) == IBV_WC_REM_ACCESS_ERR);
	again(&p);
	w.rkey = readonly->rkey;
	CHECK(answer(&p, w) == IBV_WC_REM_ACCESS_ERR);
	again(&p);
	CHECK(answer(&p, (struct ask){IBV_WR_RDMA_READ, 0, 64, HALF, .lkey = readonly->lkey}) ==
	      IBV_WC_LOC_PROT_ERR);
	again(&p);
	CHECK(answer(&p, (struct ask){IBV_WR_RDMA_READ, 0, 64, HALF, .rkey = readonly->rkey}) ==
	      IBV_WC_REM_ACCESS_ERR);
	again(&p);
	CHECK(answer(&p, (struct ask){IBV_WR_RDMA_WRITE, 0, 4096, BYTES - 4095}) ==
	      IBV_WC_REM_ACCESS_ERR);
	again(&p);
	/* no byte, no check */
	CHECK(!answer(&p, (struct ask){IBV_WR_RDMA_WRITE, 0, 0, 0, .rkey = 0xdead}));
	CHECK(!answer(&p, (struct ask){IBV_WR_RDMA_READ, 0, 0, 0, .rkey = 0xdead}));
	/* the device's own region, by which UCX flushes: it can be read and no more */
	memset(p.at, 7, 16);
	w = (struct ask){IBV_WR_RDMA_READ, 0, 8, -(uintptr_t)p.at, .rkey = 0xff};
	CHECK(!answer(&p, w) && !p.at[0] && !p.at[7] && p.at[8] == 7);
	w.op = IBV_WR_RDMA_WRITE;
	CHECK(answer(&p, w) == IBV_WC_REM_ACCESS_ERR);
	again(&p);
	w.op = IBV_WR_RDMA_READ;
	w.n = 9;
	CHECK(answer(&p, w) == IBV_WC_REM_ACCESS_ERR);
	again(&p);
	/* an address of its own */
	CHECK(moved = ibv_reg_mr_iova(p.pd, p.at + HALF, 4096, 0, every_access));
	memset(p.at, 7, 4096);
	w = (struct ask){IBV_WR_RDMA_WRITE, 0, 96, 4000 - (uintptr_t)p.at, .rkey = moved->rkey};
	CHECK(!answer(&p, w) && p.at[HALF + 4000] == 7 && p.at[HALF + 4095] == 7 &&
	      p.at[HALF + 4096] != 7);
	w.n = 97;
	CHECK(answer(&p, w) == IBV_WC_REM_ACCESS_ERR);
	CHECK(!ibv_dereg_mr(moved) && !ibv_dereg_mr(readonly) && !ibv_dereg_mr(foreign) &&
	      !ibv_dealloc_pd(other));
	again(&p);
	/* longer than what was posted */
	CHECK(!receive(&p, p.qp[1], HALF, 63, 5));
	CHECK(!post(&p, p.qp[0], (struct ask){IBV_WR_SEND, 0, 64, .id = 6}));
	for (int k = 0; k < 2; k++) {
		struct ibv_wc wc = take(p.cq);

		CHECK(wc.status == (wc.wr_id == 5 ? IBV_WC_LOC_LEN_ERR : IBV_WC_REM_INV_REQ_ERR));
	}
	/* what follows is flushed, in order */
	for (unsigned i = 0; i < 4; i++)
		CHECK(!post(&p, p.qp[0], (struct ask){IBV_WR_SEND, 0, 64, .id = i}));
	for (unsigned i = 0; i < 4; i++) {
		struct ibv_wc wc = take(p.cq);

		CHECK(wc.wr_id == i && wc.status == IBV_WC_WR_FLUSH_ERR);
	}
	end(&p);
}

static void atomics(void)
{
	struct pair p = {0};
	volatile uint64_t *word, *got;
	struct ask a = {IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 8, HALF, .add = 5};
	int done = 0;

	start(&p, IBV_QPT_RC, 1);
	word = (uint64_t *)(void *)(p.at + HALF);
	got = (uint64_t *)(void *)(p.at + 8);
	*word = 40;
	CHECK(!answer(&p, a) && *got == 40 && *word == 45);
	a.op = IBV_WR_ATOMIC_CMP_AND_SWP;
	a.compare = 44;
	CHECK(!answer(&p, a) && *got == 45 && *word == 45);
	a.compare = 45;
	CHECK(!answer(&p, a) && *got == 45 && *word == 5);
	for (int i = 0; i < 200;) { /* more than may be under way at once */
		if (post(&p, p.qp[i & 1],
			 (struct ask){IBV_WR_ATOMIC_FETCH_AND_ADD, 64, 8, HALF, .add = 1})) {
			good(&p, 1);
			done++;
		} else {
			i++;
		}
	}
	good(&p, 200 - done);
	CHECK(*word == 205);
	again(&p);
	a = (struct ask){IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 8, HALF + 4, .add = 5};
	CHECK(post(&p, p.qp[0], a) == EINVAL); /* as the kernel's rxe */
	a = (struct ask){IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 8, HALF, .add = 5, .rkey = 0xbad};
	CHECK(answer(&p, a) == IBV_WC_REM_ACCESS_ERR);
	again(&p);
	{
		struct ibv_qp_attr attr = {.qp_access_flags = IBV_ACCESS_REMOTE_WRITE};

		CHECK(!ibv_modify_qp(p.qp[1], &attr, IBV_QP_ACCESS_FLAGS));
	}
	a.rkey = 0;
	CHECK(answer(&p, a) == IBV_WC_REM_INV_REQ_ERR ||
	      *word == 205); /* NAK: the queue pair does not allow it */
	end(&p);
}

/* ---- Inline data, lists, full queues ---- */

static void lists(void)
{
	struct pair p = {0};
	struct ibv_sge s[4];
	struct ibv_send_wr wr[DEPTH + 8], *bad = NULL;
	struct ibv_recv_wr r = {.num_sge = 5, .sg_list = s}, *rbad;
	uint8_t big[129] = {0};
	unsigned n = 0;

	start(&p, IBV_QPT_RC, 0);
	/* inline: the memory is the program's at once, and needs no key */
	for (unsigned i = 0; i < 32; i++) {
		uint8_t bytes[100];

		memset(bytes, (int)i, sizeof(bytes));
		s[0] = (struct ibv_sge){(uintptr_t)bytes, 60, 0};
		s[1] = (struct ibv_sge){(uintptr_t)bytes + 60, 40, 0xffff};
		wr[0] = (struct ibv_send_wr){.wr_id = i,
					     .sg_list = s,
					     .num_sge = 2,
					     .opcode = IBV_WR_RDMA_WRITE,
					     .send_flags = IBV_SEND_INLINE |
							   (i % 8 == 7 ? IBV_SEND_SIGNALED : 0)};
		wr[0].wr.rdma.remote_addr = (uintptr_t)p.at + HALF + i * 100;
		wr[0].wr.rdma.rkey = p.mr->rkey;
		CHECK(!ibv_post_send(p.qp[0], wr, &bad));
		memset(bytes, 0xee, sizeof(bytes));
	}
	for (unsigned i = 0; i < 4; i++)
		CHECK(take(p.cq).wr_id == i * 8 + 7);
	for (unsigned i = 0; i < 3200; i++)
		CHECK(p.at[HALF + i] == i / 100);
	s[0] = (struct ibv_sge){(uintptr_t)big, sizeof(big), 0};
	wr[0].num_sge = 1;
	wr[0].send_flags = IBV_SEND_INLINE;
	{
		struct ibv_qp_attr a;
		struct ibv_qp_init_attr ia;

		CHECK(!ibv_query_qp(p.qp[0], &a, IBV_QP_CAP, &ia));
		if (ia.cap.max_inline_data < sizeof(big)) {
			int e = ibv_post_send(p.qp[0], wr, &bad);

			CHECK((e == ENOMEM || e == EINVAL) && bad == wr);
		}
	}
	/* a list that is longer than the queue: those before the bad one are posted */
	s[0] = (struct ibv_sge){(uintptr_t)p.at, 8, p.mr->lkey};
	for (unsigned i = 0; i < DEPTH + 8; i++) {
		wr[i] = (struct ibv_send_wr){.wr_id = i,
					     .sg_list = s,
					     .num_sge = 1,
					     .opcode = IBV_WR_RDMA_WRITE,
					     .next = i < DEPTH + 7 ? &wr[i + 1] : NULL,
					     .send_flags = IBV_SEND_SIGNALED};
		wr[i].wr.rdma.remote_addr = (uintptr_t)p.at + HALF;
		wr[i].wr.rdma.rkey = p.mr->rkey;
	}
	wr[40].opcode = 77;
	CHECK(ibv_post_send(p.qp[0], wr, &bad) == EINVAL && bad == &wr[40]);
	good(&p, 40);
	CHECK(nothing(p.cq));
	wr[40].opcode = IBV_WR_RDMA_WRITE;
	wr[0].num_sge = 5;
	CHECK(ibv_post_send(p.qp[0], wr, &bad) == EINVAL && bad == wr);
	wr[0].num_sge = 1;
	CHECK(ibv_post_send(p.qp[0], wr, &bad) == ENOMEM);
	n = (unsigned)(bad - wr);
	CHECK(n >= DEPTH);
	good(&p, (int)n);
	CHECK(ibv_post_recv(p.qp[0], &r, &rbad) == EINVAL && rbad == &r);
	/* completions free the queue though few are signaled */
	for (unsigned i = 0; i < 50 * DEPTH; i++) {
		CHECK(!post(&p, p.qp[0],
			    (struct ask){IBV_WR_RDMA_WRITE, 0, 8, HALF,
					 .flags = i % 16 == 15 ? IBV_SEND_SIGNALED : 0, .id = i}));
		if (i % 16 == 15)
			CHECK(take(p.cq).wr_id == i);
	}
	CHECK(nothing(p.cq));
	end(&p);
}

/* A program that posts until there is no place, and polls later: its completion queue is as long as
 * its send queue. */
static void places(void)
{
	struct pair p = {0};
	struct ibv_cq *cq;
	struct ibv_wc wc;
	struct ibv_qp_init_attr a = {
		.cap = {DEPTH, 1, 1, 1, 0}, .qp_type = IBV_QPT_RC, .sq_sig_all = 1};
	int posted = 0, polled = 0, err;

	start(&p, IBV_QPT_RC, 1);
	CHECK(!ibv_destroy_qp(p.qp[0]));
	CHECK(cq = ibv_create_cq(p.c, DEPTH, NULL, NULL, 0));
	a.send_cq = a.recv_cq = cq;
	CHECK(p.qp[0] = ibv_create_qp(p.pd, &a));
	again(&p);
	for (int i = 0; i < 50; i++) {
		for (int k = 0; k < 20; k++) {
			while ((err = post(&p, p.qp[0],
					   (struct ask){IBV_WR_RDMA_WRITE, 0, 64, HALF,
							.id = (uint64_t)posted})) == 0)
				posted++;
			CHECK(err == ENOMEM);
			sched_yield(); /* what was posted may be done, and is not polled */
		}
		CHECK(posted - polled == (int)a.cap.max_send_wr);
		for (int k = 0; k < 7; k++) {
			wc = take(cq);
			CHECK(!wc.status && wc.wr_id == (uint64_t)polled++);
		}
	}
	while (polled < posted)
		CHECK(take(cq).wr_id == (uint64_t)polled++);
	CHECK(!ibv_destroy_qp(p.qp[0]) && !ibv_destroy_cq(cq));
	p.qp[0] = NULL;
	end(&p);
}

/* ---- Completion events ---- */

/* Descriptors that can be read, 0 or 1. A process that was stopped, as a container that pauses is,
 * hears EINTR when it goes on (signal(7)). */
static int hear(int ep, int ms)
{
	struct epoll_event e;
	int n;

	while ((n = epoll_wait(ep, &e, 1, ms)) < 0 && errno == EINTR)
		;
	return n;
}

/* Another thread of the program has the device in its hands again and again. */
struct meddler {
	struct ibv_cq *cq;
	_Atomic bool done;
};

static void *meddle(void *arg)
{
	struct meddler *m = arg;

	while (!m->done)
		CHECK(!ibv_req_notify_cq(m->cq, 0));
	return NULL;
}

/* Whoever was told of a completion finds it with one poll. */
static void events(void)
{
	struct pair p = {0};
	struct meddler m = {0};
	pthread_t t;
	struct ibv_cq *cq;
	void *user;
	struct epoll_event ev = {.events = EPOLLIN};
	int ep = epoll_create1(EPOLL_CLOEXEC);
	struct ibv_wc wc[8];

	start(&p, IBV_QPT_RC, 1);
	CHECK(!fcntl(p.channel->fd, F_SETFL, fcntl(p.channel->fd, F_GETFL) | O_NONBLOCK));
	CHECK(!epoll_ctl(ep, EPOLL_CTL_ADD, p.channel->fd, &ev));
	CHECK(ibv_get_cq_event(p.channel, &cq, &user) == -1 && errno == EAGAIN);
	CHECK(m.cq = ibv_create_cq(p.c, 1, NULL, NULL, 0));
	for (int i = 0; i < 400; i++) {
		if (i == 200)
			CHECK(!pthread_create(&t, NULL, meddle, &m));
		CHECK(!ibv_req_notify_cq(p.cq, 0));
		CHECK(!post(
			&p, p.qp[0],
			(struct ask){IBV_WR_RDMA_WRITE, 0, (uint32_t)(1 + i % 200 * 100), HALF}));
		CHECK(hear(ep, PATIENCE_MS) == 1);
		CHECK(!ibv_get_cq_event(p.channel, &cq, &user) && cq == p.cq && user == &p);
		ibv_ack_cq_events(cq, 1);
		CHECK(ibv_poll_cq(p.cq, 8, wc) == 1 && !wc[0].status);
	}
	m.done = true;
	CHECK(!pthread_join(t, NULL) && !ibv_destroy_cq(m.cq));
	/* none without a request; one for many */
	CHECK(!post(&p, p.qp[0], (struct ask){IBV_WR_RDMA_WRITE, 0, 8, HALF}));
	good(&p, 1);
	CHECK(hear(ep, 20) == 0);
	/* solicited alone */
	CHECK(!ibv_req_notify_cq(p.cq, 1));
	for (int i = 0; i < 4; i++)
		CHECK(!receive(&p, p.qp[1], HALF, 64, 7));
	for (int i = 0; i < 2; i++)
		CHECK(!post(&p, p.qp[0], (struct ask){IBV_WR_SEND, 0, 8}));
	good(&p, 4);
	CHECK(hear(ep, 20) == 0);
	CHECK(!post(&p, p.qp[0], (struct ask){IBV_WR_SEND, 0, 8, .flags = IBV_SEND_SOLICITED}));
	CHECK(hear(ep, PATIENCE_MS) == 1);
	CHECK(!ibv_get_cq_event(p.channel, &cq, &user));
	good(&p, 2);
	/* an error is one, too */
	CHECK(!ibv_req_notify_cq(p.cq, 1));
	CHECK(!post(&p, p.qp[0], (struct ask){IBV_WR_RDMA_WRITE, 0, 8, HALF, .rkey = 0xbad}));
	CHECK(hear(ep, PATIENCE_MS) == 1);
	CHECK(!ibv_get_cq_event(p.channel, &cq, &user));
	ibv_ack_cq_events(cq, 2);
	close(ep);
	end(&p);
}

/* ---- Queues resized ---- */

static void resize(void)
{
	struct pair p = {0};

	start(&p, IBV_QPT_RC, 1);
	for (int i = 0; i < 60; i++)
		CHECK(!post(&p, p.qp[0],
			    (struct ask){IBV_WR_RDMA_WRITE, 0, 8, HALF, .id = (uint64_t)i}));
	usleep(20000);
	CHECK(!ibv_resize_cq(p.cq, 1000) && p.cq->cqe >= 1000);
	for (int i = 0; i < 60; i++)
		CHECK(take(p.cq).wr_id == (uint64_t)i);
	CHECK(!ibv_resize_cq(p.cq, 1000000));
	CHECK(!ibv_resize_cq(p.cq, 2 * DEPTH));
	CHECK(ibv_resize_cq(p.cq, 0) == EINVAL);
	CHECK(ibv_resize_cq(p.cq, 1 << 30) == EINVAL);
	good(&p, 0);
	for (int k = 0; k < 10; k++) {
		for (int i = 0; i < DEPTH; i++)
			CHECK(!post(
				&p, p.qp[0],
				(struct ask){IBV_WR_RDMA_WRITE, 0, 8, HALF, .id = (uint64_t)i}));
		CHECK(!ibv_resize_cq(p.cq, 2 * DEPTH + k * 100));
		good(&p, DEPTH);
	}
	end(&p);
}

/* ---- Windows ---- */

/* A bind waits in the send queue as any request does: where that is full it is refused, and the
 * window keeps its key. */
static void bind_has_a_place(struct pair *p, struct ibv_mw *mw, struct ibv_mw_bind *b)
{
	struct ibv_qp_attr a;
	struct ibv_qp_init_attr ia;
	uint32_t n = 0, key = mw->rkey;
	int err;

	CHECK(!ibv_query_qp(p->qp[1], &a, IBV_QP_CAP, &ia));
	while ((err = ibv_bind_mw(p->qp[1], mw, b)) == 0 && n <= ia.cap.max_send_wr) {
		CHECK(mw->rkey != key);
		key = mw->rkey;
		n++;
	}
	CHECK(err == ENOMEM && n == ia.cap.max_send_wr && mw->rkey == key);
	CHECK(post(p, p->qp[1], (struct ask){IBV_WR_RDMA_WRITE, 0, 8, HALF}) == ENOMEM);
	good(p, 1);
	CHECK(!ibv_bind_mw(p->qp[1], mw, b));
	CHECK(ibv_bind_mw(p->qp[1], mw, b) == ENOMEM);
	good(p, (int)n);
}

static void windows(void)
{
	struct pair p = {0};
	struct ibv_mw *mw;
	struct ibv_device_attr d;
	struct ibv_send_wr *bad, wr = {.opcode = IBV_WR_BIND_MW};
	uint32_t key;

	start(&p, IBV_QPT_RC, 1);
	CHECK(!ibv_query_device(p.c, &d));
	if (d.device_cap_flags & IBV_DEVICE_MEM_WINDOW || d.max_mw) {
		struct ibv_mw_bind b = {
			.wr_id = 3,
			.send_flags = IBV_SEND_SIGNALED,
			.bind_info = {p.mr, (uintptr_t)p.at + HALF, 4096, IBV_ACCESS_REMOTE_WRITE}};

		CHECK(mw = ibv_alloc_mw(p.pd, IBV_MW_TYPE_1));
		CHECK(!ibv_bind_mw(p.qp[1], mw, &b));
		good(&p, 1);
		bind_has_a_place(&p, mw, &b);
		key = mw->rkey;
		CHECK(!answer(&p, (struct ask){IBV_WR_RDMA_WRITE, 0, 4096, HALF, .rkey = key}));
		CHECK(answer(&p, (struct ask){IBV_WR_RDMA_WRITE, 0, 4096, HALF + 1, .rkey = key}) ==
		      IBV_WC_REM_ACCESS_ERR);
		again(&p);
		CHECK(answer(&p, (struct ask){IBV_WR_RDMA_READ, 0, 8, HALF, .rkey = key}) ==
		      IBV_WC_REM_ACCESS_ERR);
		again(&p);
		CHECK(ibv_dereg_mr(p.mr) == EBUSY);
		CHECK(!ibv_dealloc_mw(mw));
		CHECK(answer(&p, (struct ask){IBV_WR_RDMA_WRITE, 0, 8, HALF, .rkey = key}) ==
		      IBV_WC_REM_ACCESS_ERR);
		again(&p);
	}
	CHECK(mw = ibv_alloc_mw(p.pd, IBV_MW_TYPE_2));
	key = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = key;
	wr.bind_mw.bind_info =
		(struct ibv_mw_bind_info){p.mr, (uintptr_t)p.at + HALF, 4096,
					  IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ};
	CHECK(!ibv_post_send(p.qp[1], &wr, &bad));
	good(&p, 1);
	CHECK(!answer(&p, (struct ask){IBV_WR_RDMA_WRITE, 0, 4096, HALF, .rkey = key}));
	CHECK(!receive(&p, p.qp[1], 0, 64, 9));
	CHECK(!post(&p, p.qp[0], (struct ask){IBV_WR_SEND_WITH_INV, 0, 8, .imm = key}));
	for (int k = 0; k < 2; k++) {
		struct ibv_wc wc = take(p.cq);

		CHECK(!wc.status);
		if (wc.opcode == IBV_WC_RECV)
			CHECK(wc.wc_flags & IBV_WC_WITH_INV && wc.invalidated_rkey == key);
	}
	CHECK(answer(&p, (struct ask){IBV_WR_RDMA_WRITE, 0, 8, HALF, .rkey = key}) ==
	      IBV_WC_REM_ACCESS_ERR);
	again(&p);
	CHECK(!ibv_dealloc_mw(mw));
	end(&p);
}

/* ---- Datagrams, multicast ---- */

static void datagrams(void)
{
	struct pair p = {0};
	struct ibv_ah_attr aa = {.is_global = 1, .port_num = 1, .grh = {.hop_limit = 64}};
	struct ibv_ah *ah, *back;
	struct ibv_sge s;
	struct ibv_send_wr *bad, wr = {.sg_list = &s,
				       .num_sge = 1,
				       .opcode = IBV_WR_SEND_WITH_IMM,
				       .imm_data = htobe32(77)};
	struct ibv_wc wc;
	union ibv_gid group = {.raw = {[10] = 0xff, [11] = 0xff, 239, 9, 9, 9}};

	start(&p, IBV_QPT_UD, 1);
	aa.grh.dgid = p.gid;
	CHECK(ah = ibv_create_ah(p.pd, &aa));
	s = (struct ibv_sge){(uintptr_t)p.at, 100, p.mr->lkey};
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = p.qp[1]->qp_num;
	wr.wr.ud.remote_qkey = 0x1234;
	memset(p.at, 9, 100);
	CHECK(!ibv_post_send(p.qp[0], &wr,
			     &bad)); /* nothing is posted there: it is lost, and done */
	good(&p, 1);
	CHECK(nothing(p.cq));
	CHECK(!receive(&p, p.qp[1], HALF, 140, 3));
	wr.wr.ud.remote_qkey = 0x1235;
	CHECK(!ibv_post_send(p.qp[0], &wr, &bad));
	good(&p, 1);
	CHECK(nothing(p.cq));
	wr.wr.ud.remote_qkey = 0x1234;
	CHECK(!ibv_post_send(p.qp[0], &wr, &bad));
	for (int k = 0; k < 2; k++) {
		wc = take(p.cq);
		CHECK(!wc.status);
		if (wc.wr_id != 3)
			continue;
		CHECK(wc.byte_len == 140 && wc.wc_flags & IBV_WC_GRH &&
		      wc.wc_flags & IBV_WC_WITH_IMM);
		CHECK(wc.src_qp == p.qp[0]->qp_num && be32toh(wc.imm_data) == 77 &&
		      p.at[HALF + 40] == 9 && p.at[HALF + 139] == 9);
		CHECK(back = ibv_create_ah_from_wc(p.pd, &wc,
						   (struct ibv_grh *)(void *)(p.at + HALF), 1));
		CHECK(!ibv_destroy_ah(back));
	}
	/* longer than the MTU */
	s.length = 4097;
	{
		int e = ibv_post_send(p.qp[0], &wr, &bad);

		CHECK(e || take(p.cq).status == IBV_WC_LOC_LEN_ERR);
		if (!e)
			again(&p);
	}
	CHECK(!ibv_destroy_ah(ah));
	/* a group */
	aa.grh.dgid = group;
	CHECK(ah = ibv_create_ah(p.pd, &aa));
	CHECK(!ibv_attach_mcast(p.qp[1], &group, 0));
	CHECK(!receive(&p, p.qp[1], HALF, 140, 4));
	s.length = 100;
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = 0xffffff;
	CHECK(!ibv_post_send(p.qp[0], &wr, &bad));
	good(&p, 2);
	CHECK(!ibv_detach_mcast(p.qp[1], &group, 0));
	CHECK(ibv_detach_mcast(p.qp[1], &group, 0) == EINVAL);
	CHECK(!ibv_destroy_ah(ah));
	end(&p);
}

/* ---- States ---- */

static void states(void)
{
	struct pair p = {0};
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1}, q;
	struct ibv_qp_init_attr ia;
	struct ibv_async_event e;

	start(&p, IBV_QPT_RC, 1);
	CHECK(!ibv_query_qp(
		p.qp[0], &q,
		IBV_QP_STATE | IBV_QP_AV | IBV_QP_DEST_QPN | IBV_QP_PATH_MTU | IBV_QP_CAP, &ia));
	CHECK(q.qp_state == IBV_QPS_RTS && q.dest_qp_num == p.qp[1]->qp_num &&
	      q.path_mtu == IBV_MTU_1024);
	CHECK(!memcmp(&q.ah_attr.grh.dgid, &p.gid, 16) && q.timeout == 14 && q.retry_cnt == 7 &&
	      q.rnr_retry == 7);
	CHECK(q.sq_psn == 0xfffff0 && q.rq_psn == 0xfffff0 && ia.qp_type == IBV_QPT_RC &&
	      ia.send_cq == p.cq);
	CHECK(!post(&p, p.qp[0], (struct ask){IBV_WR_RDMA_WRITE, 0, 65536, HALF}));
	CHECK(!ibv_modify_qp(p.qp[0], &a, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY));
	e = event(p.c);
	CHECK(e.event_type == IBV_EVENT_SQ_DRAINED && e.element.qp == p.qp[0]);
	ibv_ack_async_event(&e);
	good(&p, 1);
	CHECK(!post(&p, p.qp[0], (struct ask){IBV_WR_RDMA_WRITE, 0, 8, HALF}));
	CHECK(nothing(p.cq));
	a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS};
	CHECK(!ibv_modify_qp(p.qp[0], &a, IBV_QP_STATE));
	good(&p, 1);
	/* wrong ones change nothing */
	a.qp_state = IBV_QPS_INIT;
	CHECK(ibv_modify_qp(p.qp[0], &a, IBV_QP_STATE) == EINVAL);
	a.qp_state = IBV_QPS_RTR;
	CHECK(ibv_modify_qp(p.qp[0], &a, IBV_QP_STATE) == EINVAL);
	CHECK(!answer(&p, (struct ask){IBV_WR_RDMA_WRITE, 0, 8, HALF}));
	/* receives are flushed, sends after them; then once more from the start */
	CHECK(!receive(&p, p.qp[0], 0, 64, 11));
	a.qp_state = IBV_QPS_ERR;
	CHECK(!ibv_modify_qp(p.qp[0], &a, IBV_QP_STATE));
	CHECK(take(p.cq).status == IBV_WC_WR_FLUSH_ERR);
	CHECK(!receive(&p, p.qp[0], 0, 64, 12) && take(p.cq).status == IBV_WC_WR_FLUSH_ERR);
	again(&p);
	CHECK(!answer(&p, (struct ask){IBV_WR_RDMA_WRITE, 0, 65536, HALF}));
	/* a queue pair that is not connected */
	a.qp_state = IBV_QPS_RESET;
	CHECK(!ibv_modify_qp(p.qp[0], &a, IBV_QP_STATE));
	CHECK(post(&p, p.qp[0], (struct ask){IBV_WR_SEND, 0, 8}));
	CHECK(receive(&p, p.qp[0], 0, 64, 13));
	init(p.qp[0]);
	CHECK(!receive(&p, p.qp[0], 0, 64, 13));
	CHECK(post(&p, p.qp[0], (struct ask){IBV_WR_SEND, 0, 8}));
	end(&p);
}

/* ---- The new style ---- */

static void newstyle(void)
{
	struct pair p = {0};
	struct ibv_qp_init_attr_ex a = {
		.qp_type = IBV_QPT_RC,
		.cap = {DEPTH, DEPTH, 4, 4, 128},
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ |
				  IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
				  IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM};
	struct ibv_qp_ex *x;
	struct ibv_data_buf list[3];
	struct ibv_sge sges[3];

	open_pair(&p);
	a.pd = p.pd;
	a.send_cq = a.recv_cq = p.cq;
	for (int i = 0; i < 2; i++)
		CHECK(p.qp[i] = ibv_create_qp_ex(p.c, &a));
	join(&p);
	x = ibv_qp_to_qp_ex(p.qp[0]);
	for (unsigned i = 0; i < 3000; i++)
		p.at[i] = (uint8_t)i;
	ibv_wr_start(x);
	x->wr_id = 1;
	x->wr_flags = 0;
	ibv_wr_rdma_write(x, p.mr->rkey, (uintptr_t)p.at + HALF);
	for (unsigned i = 0; i < 3; i++)
		sges[i] = (struct ibv_sge){(uintptr_t)p.at + i * 1000, 1000, p.mr->lkey};
	ibv_wr_set_sge_list(x, 3, sges);
	x->wr_id = 2;
	x->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write_imm(x, p.mr->rkey, (uintptr_t)p.at + HALF + 5000, htobe32(5));
	for (unsigned i = 0; i < 3; i++)
		list[i] = (struct ibv_data_buf){p.at + i * 10, 10};
	ibv_wr_set_inline_data_list(x, 3, list);
	x->wr_id = 3;
	ibv_wr_rdma_read(x, p.mr->rkey, (uintptr_t)p.at + HALF);
	ibv_wr_set_sge(x, p.mr->lkey, (uintptr_t)p.at + 8000, 3000);
	CHECK(!receive(&p, p.qp[1], 0, 0, 10));
	CHECK(!ibv_wr_complete(x));
	for (int k = 0; k < 3; k++) {
		struct ibv_wc wc = take(p.cq);

		CHECK(!wc.status && wc.wr_id != 1);
		if (wc.wr_id == 10)
			CHECK(wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM && wc.byte_len == 30 &&
			      be32toh(wc.imm_data) == 5);
	}
	CHECK(!memcmp(p.at, p.at + HALF, 3000) && !memcmp(p.at, p.at + 8000, 3000) &&
	      !memcmp(p.at, p.at + HALF + 5000, 30));
	ibv_wr_start(x);
	x->wr_id = 4;
	ibv_wr_send(x);
	ibv_wr_set_sge(x, p.mr->lkey, (uintptr_t)p.at, 8);
	ibv_wr_abort(x);
	CHECK(nothing(p.cq));
	/* an operation that was not asked for at creation */
	ibv_wr_start(x);
	x->wr_id = 5;
	if (x->wr_send_inv)
		ibv_wr_send_inv(x, 5);
	CHECK(ibv_wr_complete(x));
	ibv_wr_start(x);
	x->wr_id = 6;
	ibv_wr_atomic_fetch_add(x, p.mr->rkey, (uintptr_t)p.at + HALF + 8192, 3);
	ibv_wr_set_sge(x, p.mr->lkey, (uintptr_t)p.at, 8);
	CHECK(!ibv_wr_complete(x));
	good(&p, 1);
	CHECK(p.at[HALF + 8192] == 3);
	end(&p);
}

/* ---- All of memory; other regions ---- */

static void regions(void)
{
	struct pair p = {0};
	struct ibv_mr *all, *mr;
	struct ibv_device_attr_ex d;
	struct ibv_pd *pd;

	start(&p, IBV_QPT_RC, 1);
	CHECK(!ibv_query_device_ex(p.c, NULL, &d));
	all = ibv_reg_mr(p.pd, NULL, SIZE_MAX, every_access | IBV_ACCESS_ON_DEMAND);
	CHECK(!!all == !!(d.odp_caps.general_caps & IBV_ODP_SUPPORT_IMPLICIT));
	if (all) {
		uint8_t *late = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		CHECK(late != MAP_FAILED);
		memset(p.at, 3, 8192);
		CHECK(!answer(&p, (struct ask){IBV_WR_RDMA_WRITE, 0, 8192,
					       (uintptr_t)late - (uintptr_t)p.at, .lkey = all->lkey,
					       .rkey = all->rkey}));
		CHECK(late[0] == 3 && late[8191] == 3);
		munmap(late, 8192);
		CHECK(answer(&p, (struct ask){IBV_WR_RDMA_WRITE, 0, 8192,
					      (uintptr_t)late - (uintptr_t)p.at, .lkey = all->lkey,
					      .rkey = all->rkey}) == IBV_WC_REM_ACCESS_ERR ||
		      1);
		again(&p);
		CHECK(!ibv_dereg_mr(all));
	}
	/* the same memory many times, and a change of what may be done */
	CHECK(mr = ibv_reg_mr(p.pd, p.at, BYTES, IBV_ACCESS_LOCAL_WRITE));
	CHECK(answer(&p, (struct ask){IBV_WR_RDMA_WRITE, 0, 8, HALF, .rkey = mr->rkey}) ==
	      IBV_WC_REM_ACCESS_ERR);
	again(&p);
	CHECK(!ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, every_access));
	CHECK(!answer(&p, (struct ask){IBV_WR_RDMA_WRITE, 0, 8, HALF, .rkey = mr->rkey}));
	CHECK(!ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, p.at + HALF, 64,
			    every_access));
	CHECK(answer(&p, (struct ask){IBV_WR_RDMA_WRITE, 0, 8, HALF + 64, .rkey = mr->rkey}) ==
	      IBV_WC_REM_ACCESS_ERR);
	again(&p);
	CHECK(pd = ibv_alloc_pd(p.c));
	CHECK(!ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, pd, NULL, 0, 0));
	CHECK(answer(&p, (struct ask){IBV_WR_RDMA_WRITE, 0, 8, HALF, .rkey = mr->rkey}) ==
	      IBV_WC_REM_ACCESS_ERR);
	CHECK(ibv_dealloc_pd(pd) == EBUSY && !ibv_dereg_mr(mr) && !ibv_dealloc_pd(pd));
	/* what is not there is said */
	errno = 0;
	CHECK(!ibv_reg_dmabuf_mr(p.pd, 0, 4096, 0, -1, every_access) &&
	      (errno == EOPNOTSUPP || errno == EBADF));
	again(&p);
	if (d.odp_caps.general_caps & IBV_ODP_SUPPORT) {
		struct ibv_sge s = {(uintptr_t)p.at, 4096, p.mr->lkey};
		int e = ibv_advise_mr(p.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH,
				      &s, 1);

		CHECK(e == 0 || e == EOPNOTSUPP || e == EINVAL);
	}
	end(&p);
}

/* ---- A null region: ibv_alloc_null_mr(3) ---- */

enum { LONG = 32 * 1024 }; /* what goes by itself between processes of one host */

static void fill_halves(struct pair *p)
{
	memset(p->at, 0x55, HALF);
	memset(p->at + HALF, 0x77, BYTES - HALF);
}

/* Bytes [at, at + n) are `now`, and all others as fill_halves() left them. */
static void check_halves(const struct pair *p, uint32_t at, uint32_t n, uint8_t now)
{
	for (uint32_t i = 0; i < BYTES; i++)
		CHECK(p->at[i] == (i >= at && i < at + n ? now : i < HALF ? 0x55 : 0x77));
}

static void null_region(void)
{
	static const uint32_t sizes[] = {1, 64, 5000, LONG};
	struct pair p = {0};
	struct ibv_sge s;
	struct ibv_recv_wr *bad, r = {.sg_list = &s, .num_sge = 1};
	struct ibv_mr *mr, *other;
	struct ibv_pd *pd;

	start(&p, IBV_QPT_RC, 1);
	mr = ibv_alloc_null_mr(p.pd);
	if (!mr) {
		CHECK(errno == EOPNOTSUPP);
		end(&p);
		return;
	}
	CHECK(!mr->addr && mr->length == SIZE_MAX && mr->pd == p.pd && mr->context == p.c);
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		uint32_t n = sizes[i];

		/* read, and discarded; written, zeros */
		fill_halves(&p);
		CHECK(!answer(&p, (struct ask){IBV_WR_RDMA_READ, 0, n, HALF, .lkey = mr->lkey}));
		check_halves(&p, 0, 0, 0);
		CHECK(!answer(&p, (struct ask){IBV_WR_RDMA_WRITE, 0, n, HALF, .lkey = mr->lkey}));
		check_halves(&p, HALF, n, 0);
		/* received, and discarded; sent, zeros */
		fill_halves(&p);
		s = (struct ibv_sge){(uintptr_t)p.at, n, mr->lkey};
		CHECK(!ibv_post_recv(p.qp[1], &r, &bad));
		CHECK(!post(&p, p.qp[0], (struct ask){IBV_WR_SEND, HALF, n}));
		good(&p, 2);
		check_halves(&p, 0, 0, 0);
		CHECK(!receive(&p, p.qp[1], HALF, n, 0));
		CHECK(!post(&p, p.qp[0], (struct ask){IBV_WR_SEND, 0, n, .lkey = mr->lkey}));
		good(&p, 2);
		check_halves(&p, HALF, n, 0);
	}
	/* what it is not */
	CHECK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE));
	CHECK(errno == EINVAL);
	pd = ibv_alloc_pd(p.c);
	CHECK(pd && (other = ibv_alloc_null_mr(pd)));
	CHECK(answer(&p, (struct ask){IBV_WR_RDMA_READ, 0, 8, HALF, .lkey = other->lkey}) ==
	      IBV_WC_LOC_PROT_ERR);
	CHECK(!ibv_dealloc_pd(pd) && !ibv_dereg_mr(other)); /* perftest's order */
	again(&p);
	CHECK(!ibv_dereg_mr(mr));
	end(&p);
}

static void device_memory(void)
{
	struct pair p = {0};
	struct ibv_device_attr_ex d;
	struct ibv_alloc_dm_attr a = {.length = 4096};
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	uint8_t bytes[128], back[128] = {0};

	start(&p, IBV_QPT_RC, 1);
	CHECK(!ibv_query_device_ex(p.c, NULL, &d));
	dm = ibv_alloc_dm(p.c, &a);
	CHECK(!!dm == !!d.max_dm_size);
	if (dm) {
		memset(bytes, 0x5c, sizeof(bytes));
		CHECK(!ibv_memcpy_to_dm(dm, 64, bytes, 128));
		CHECK(mr = ibv_reg_dm_mr(p.pd, dm, 0, 4096, IBV_ACCESS_ZERO_BASED | every_access));
		CHECK(!answer(&p, (struct ask){IBV_WR_RDMA_READ, 0, 128, 64 - (uintptr_t)p.at,
					       .rkey = mr->rkey}));
		CHECK(!memcmp(p.at, bytes, 128));
		CHECK(answer(&p, (struct ask){IBV_WR_RDMA_READ, 0, 128,
					      4096 - 127 - (uintptr_t)p.at, .rkey = mr->rkey}) ==
		      IBV_WC_REM_ACCESS_ERR);
		CHECK(!ibv_memcpy_from_dm(back, dm, 64, 128) && !memcmp(back, bytes, 128));
		CHECK(ibv_free_dm(dm) == EBUSY);
		CHECK(!ibv_dereg_mr(mr) && !ibv_free_dm(dm));
	}
	end(&p);
}

/* ---- What is not offered ---- */

static void refused(void)
{
	struct pair p = {0};
	struct ibv_qp_init_attr big = {.cap = {1 << 24, 1, 1, 1, 0}, .qp_type = IBV_QPT_RC};
	struct ibv_td_init_attr ta = {0};
	struct ibv_td *td;
	struct ibv_flow_attr f = {.type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(f), .port = 1};
	struct ibv_wq_init_attr wa = {.wq_type = IBV_WQT_RQ, .max_wr = 1, .max_sge = 1};
	struct ibv_qp_rate_limit_attr rate = {.rate_limit = 1000};

	start(&p, IBV_QPT_RC, 1);
	big.send_cq = big.recv_cq = p.cq;
	CHECK(!ibv_create_qp(p.pd, &big) && (errno == EINVAL || errno == ENOMEM));
	big.cap = (struct ibv_qp_cap){1, 1, 1, 1, 1 << 20};
	CHECK(!ibv_create_qp(p.pd, &big) && (errno == EINVAL || errno == ENOMEM));
	big.cap = (struct ibv_qp_cap){1, 1, 1, 1, 0};
	big.qp_type = IBV_QPT_RAW_PACKET;
	CHECK(!ibv_create_qp(p.pd, &big) && errno);
	CHECK(!ibv_create_cq(p.c, 0, NULL, NULL, 0) && errno == EINVAL);
	CHECK(!ibv_create_cq(p.c, 10, NULL, NULL, 4711) && errno == EINVAL);
	CHECK(!ibv_create_flow(p.qp[0], &f) && errno == EOPNOTSUPP);
	wa.pd = p.pd;
	wa.cq = p.cq;
	CHECK(!ibv_create_wq(p.c, &wa) && errno == EOPNOTSUPP);
	CHECK(ibv_modify_qp_rate_limit(p.qp[0], &rate));
	td = ibv_alloc_td(p.c, &ta);
	if (td) {
		struct ibv_parent_domain_init_attr pa = {.pd = p.pd, .td = td};
		struct ibv_pd *pd = ibv_alloc_parent_domain(p.c, &pa);
		struct ibv_qp_init_attr one = {.send_cq = p.cq,
					       .recv_cq = p.cq,
					       .cap = {1, 1, 1, 1, 0},
					       .qp_type = IBV_QPT_RC};
		struct ibv_qp *qp;

		CHECK(pd && (qp = ibv_create_qp(pd, &one)) && !ibv_destroy_qp(qp));
		CHECK(!ibv_dealloc_pd(pd) && !ibv_dealloc_td(td));
	} else {
		CHECK(errno == EOPNOTSUPP);
	}
	end(&p);
}

/* ---- Threads, each with a queue pair; completions in one queue ---- */

struct worker {
	struct pair *p;
	struct ibv_qp *qp;
	unsigned n;
};
enum { WORKERS = 4, TIMES = 2000 };

static void *work(void *arg)
{
	struct worker *w = arg;

	for (unsigned i = 0; i < TIMES;) {
		if (post(w->p, w->qp,
			 (struct ask){IBV_WR_ATOMIC_FETCH_AND_ADD, 64 * (w->n + 1), 8, HALF,
				      .add = 1, .id = w->n}) == ENOMEM)
			sched_yield();
		else
			i++;
	}
	return NULL;
}

static void threads(void)
{
	struct pair p = {0}, more[WORKERS] = {{0}};
	struct worker w[WORKERS];
	pthread_t t[WORKERS];

	start(&p, IBV_QPT_RC, 1);
	for (unsigned i = 0; i < WORKERS; i++) {
		more[i] = p;
		more[i].qp[0] = make(&p, IBV_QPT_RC, 1);
		more[i].qp[1] = make(&p, IBV_QPT_RC, 1);
		join(&more[i]);
		w[i] = (struct worker){&p, more[i].qp[0], i};
		CHECK(!pthread_create(&t[i], NULL, work, &w[i]));
	}
	good(&p, WORKERS * TIMES);
	for (unsigned i = 0; i < WORKERS; i++) {
		CHECK(!pthread_join(t[i], NULL));
		CHECK(!ibv_destroy_qp(more[i].qp[0]) && !ibv_destroy_qp(more[i].qp[1]));
	}
	CHECK(*(uint64_t *)(void *)(p.at + HALF) == WORKERS * TIMES);
	end(&p);
}

/* ---- Leaving in the middle of it ---- */

enum { LEAVES = 12, PAIRS = 6, READ_BYTES = 20000 };

/* A program that closes its device and destroys nothing, while requests are under way and their
 * completions are waited for. What it forgot stays reachable: it is no leak that a test should tell
 * of. */
static void leave(void)
{
	static struct pair left[LEAVES][PAIRS];

	for (int k = 0; k < LEAVES; k++) {
		struct pair *p = left[k];

		open_pair(&p[0]);
		for (int i = 0; i < PAIRS; i++) {
			p[i] = p[0];
			p[i].qp[0] = make(&p[i], IBV_QPT_RC, 1);
			p[i].qp[1] = make(&p[i], IBV_QPT_RC, 1);
			join(&p[i]);
		}
		CHECK(!ibv_req_notify_cq(p->cq, 0));
		for (int n = 0; n < 4; n++)
			for (int i = 0; i < PAIRS; i++)
				CHECK(!post(&p[i], p[i].qp[i % 2],
					    (struct ask){IBV_WR_RDMA_READ, (uint32_t)i * READ_BYTES,
							 READ_BYTES, HALF}));
		for (int i = 0; i < k % 3; i++)
			take(p->cq);
		CHECK(!ibv_close_device(p->c));
		munmap(p->at, BYTES);
	}
}

/* ---- Any length, any path MTU, any kind ---- */

static void lengths(void)
{
	unsigned seed = 5;

	for (int mtu = IBV_MTU_256; mtu <= IBV_MTU_4096; mtu++) {
		struct pair p = {.mtu = (enum ibv_mtu)mtu};

		start(&p, IBV_QPT_RC, 1);
		for (int i = 0; i < 60; i++) {
			uint32_t n = (uint32_t)(rand_r(&seed) % (i % 3 ? 300 : 200000)),
				 at = (uint32_t)(rand_r(&seed) % 1000);
			uint32_t to = HALF + (uint32_t)(rand_r(&seed) % 1000);

			for (uint32_t k = 0; k < n; k++)
				p.at[at + k] = (uint8_t)(k * 7 + (uint32_t)i);
			memset(p.at + HALF, 0, 210000);
			switch (i % 4) {
			case 0:
				CHECK(!answer(&p, (struct ask){IBV_WR_RDMA_WRITE, at, n, to}));
				break;
			case 1:
				CHECK(!receive(&p, p.qp[1], to, n, 1));
				CHECK(!post(&p, p.qp[0], (struct ask){IBV_WR_SEND, at, n, 0}));
				good(&p, 2);
				break;
			case 2:
				CHECK(!receive(&p, p.qp[1], 0, 0, 1));
				CHECK(!post(&p, p.qp[0],
					    (struct ask){IBV_WR_RDMA_WRITE_WITH_IMM, at, n, to,
							 .imm = 3}));
				good(&p, 2);
				break;
			default: /* there to here, the other way */
				CHECK(!post(&p, p.qp[1],
					    (struct ask){IBV_WR_RDMA_READ, to, n, at}));
				good(&p, 1);
			}
			CHECK(!memcmp(p.at + at, p.at + to, n) && !p.at[to + n] &&
			      !p.at[to - 1 + (to == HALF)] + (to == HALF));
		}
		end(&p);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} kinds[] = {{"srq", srq},
		     {"keys", keys},
		     {"atomics", atomics},
		     {"lists", lists},
		     {"places", places},
		     {"events", events},
		     {"resize", resize},
		     {"windows", windows},
		     {"datagrams", datagrams},
		     {"states", states},
		     {"newstyle", newstyle},
		     {"regions", regions},
		     {"null_region", null_region},
		     {"device_memory", device_memory},
		     {"refused", refused},
		     {"threads", threads},
		     {"leave", leave},
		     {"lengths", lengths}};
	int bad = 0;

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		bool wanted = argc < 2;
		int status;
		pid_t child;

		for (int k = 1; k < argc; k++)
			wanted |= !strcmp(argv[k], kinds[i].name);
		if (!wanted)
			continue;
		fflush(stdout);
		child = fork();
		if (!child) {
			alarm(100);
			kinds[i].run();
			exit(0);
		}
		if (waitpid(child, &status, 0) != child || status) {
			printf("FAILED: %s: status %x\n", kinds[i].name, status);
			bad++;
		}
	}
	return bad != 0;
}
