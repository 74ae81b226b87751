/*
 * Messages of every length between two queue pairs over UDP, drawn from a seed: WRITEs with and
 * without immediate, READs and SENDs, many at once, from any address, at each path MTU. Each byte
 * is looked at, and those around it. At the end, while the devices are open, a command is run.
 * usage: filled DEVICE GID_INDEX SEED MESSAGES COMMAND
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(c)                                                                     \
	do {                                                                         \
		if (!(c)) {                                                          \
			printf("line %d: %s (%s)\n", __LINE__, #c, strerror(errno)); \
			exit(1);                                                     \
		}                                                                    \
	} while (0)

/* The first half has a slot a message, where it goes; the second is never written. */
enum { SLOTS = 16, SLOT = 80000, HALF = SLOTS * SLOT, BYTES = 2 * HALF, ACCESS = 7, PLAIN = 0xee };

struct end {
	struct ibv_context *c;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *bytes;
};

/* A message under way: to, of who gets it. */
struct message {
	const uint8_t *from;
	uint8_t *slot, *to;
	uint32_t n;
	enum ibv_wr_opcode op;
	unsigned wait; /* completions */
};

static struct end ends[2];
static struct message messages[SLOTS];
static uint64_t seed;
static union ibv_gid gid;
static int gid_index;

static uint32_t below(uint32_t n)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (uint32_t)((seed >> 33) % n);
}

static void open_end(struct end *e, struct ibv_device *d)
{
	struct ibv_qp_init_attr a = {
		.qp_type = IBV_QPT_RC, .cap = {2 * SLOTS, 2 * SLOTS, 1, 1, 0}, .sq_sig_all = 1};

	CHECK((e->c = ibv_open_device(d)) != NULL);
	CHECK((e->bytes = malloc(BYTES)) != NULL);
	for (unsigned i = 0; i < BYTES; i++)
		e->bytes[i] = (uint8_t)below(256);
	CHECK(!ibv_query_gid(e->c, 1, gid_index, &gid));
	e->cq = ibv_create_cq(e->c, 4 * SLOTS, NULL, NULL, 0);
	a.send_cq = a.recv_cq = e->cq;
	CHECK(e->cq);
	e->mr = ibv_reg_mr(ibv_alloc_pd(e->c), e->bytes, BYTES, ACCESS);
	CHECK(e->mr);
	CHECK((e->qp = ibv_create_qp(e->mr->pd, &a)) != NULL);
}

static void connect_end(struct end *e, uint32_t peer, enum ibv_mtu mtu)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RESET,
		.port_num = 1,
		.qp_access_flags = ACCESS,
		.path_mtu = mtu,
		.dest_qp_num = peer,
		.max_dest_rd_atomic = 8,
		.max_rd_atomic = 8,
		.min_rnr_timer = 1,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = {.dgid = gid, .sgid_index = (uint8_t)gid_index, .hop_limit = 64}}};

	CHECK(!ibv_modify_qp(e->qp, &a, IBV_QP_STATE));
	a.qp_state = IBV_QPS_INIT;
	CHECK(!ibv_modify_qp(e->qp, &a,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	a.qp_state = IBV_QPS_RTR;
	CHECK(!ibv_modify_qp(e->qp, &a,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER));
	a.qp_state = IBV_QPS_RTS;
	CHECK(!ibv_modify_qp(e->qp, &a,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
}

/* Around a multiple of the path MTU, or any. */
static uint32_t length(uint32_t mtu)
{
	uint32_t n = below(3) ? mtu * (1 + below(65536 / mtu)) + below(3) - 1 : 1 + below(65536);

	return n < 65536 ? n : 65536;
}

static void post(unsigned i, uint32_t mtu)
{
	static const enum ibv_wr_opcode ops[] = {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
						 IBV_WR_RDMA_READ, IBV_WR_SEND};
	struct message *m = &messages[i];
	bool read, heard;
	struct end *src, *dst;
	struct ibv_sge s;
	struct ibv_send_wr *bad, w = {.wr_id = i, .sg_list = &s, .num_sge = 1};
	struct ibv_recv_wr *bad_receive, r = {.wr_id = i, .sg_list = &s, .num_sge = 1};

	*m = (struct message){.op = ops[below(4)], .n = length(mtu), .wait = 1};
	read = m->op == IBV_WR_RDMA_READ;
	src = &ends[read], dst = &ends[!read];
	m->slot = dst->bytes + i * SLOT;
	m->to = m->slot + 1 + below(SLOT - m->n - 1);
	m->from = src->bytes + HALF + below(HALF - m->n);
	memset(m->slot, PLAIN, SLOT);
	heard = m->op == IBV_WR_SEND || m->op == IBV_WR_RDMA_WRITE_WITH_IMM;
	if (heard) {
		s = (struct ibv_sge){(uintptr_t)m->to, m->n, dst->mr->lkey};
		m->wait++;
		CHECK(!ibv_post_recv(dst->qp, &r, &bad_receive));
	}
	s = (struct ibv_sge){(uintptr_t)(read ? m->to : m->from), m->n, ends[0].mr->lkey};
	w.opcode = m->op;
	w.wr.rdma.remote_addr = (uintptr_t)(read ? m->from : m->to);
	w.wr.rdma.rkey = ends[1].mr->rkey;
	CHECK(!ibv_post_send(ends[0].qp, &w, &bad));
}

static void check(const struct message *m)
{
	CHECK(!memcmp(m->to, m->from, m->n));
	for (const uint8_t *b = m->slot; b < m->slot + SLOT; b++)
		CHECK((b >= m->to && b < m->to + m->n) || *b == PLAIN);
}

static void run(uint32_t mtu, unsigned n)
{
	for (unsigned sent = 0; sent < n; sent += SLOTS) {
		unsigned left = 0;

		for (unsigned i = 0; i < SLOTS; i++) {
			post(i, mtu);
			left += messages[i].wait;
		}
		while (left)
			for (unsigned e = 0; e < 2; e++) {
				struct ibv_wc w;

				if (ibv_poll_cq(ends[e].cq, 1, &w) != 1)
					continue;
				CHECK(w.status == IBV_WC_SUCCESS);
				left--;
			}
		for (unsigned i = 0; i < SLOTS; i++)
			check(&messages[i]);
	}
}

int main(int n, char **args)
{
	struct ibv_device **list = ibv_get_device_list(NULL), *d = NULL;

	CHECK(n == 6 && list);
	gid_index = atoi(args[2]);
	seed = strtoull(args[3], NULL, 10);
	for (unsigned i = 0; list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), args[1]))
			d = list[i];
	CHECK(d);
	for (unsigned i = 0; i < 2; i++)
		open_end(&ends[i], d);
	for (enum ibv_mtu mtu = IBV_MTU_256; mtu <= IBV_MTU_4096; mtu++) {
		for (unsigned i = 0; i < 2; i++)
			connect_end(&ends[i], ends[!i].qp->qp_num, mtu);
		run(128u << mtu, (unsigned)atoi(args[4]));
	}
	CHECK(!system(args[5]));
	return 0;
}
