/*
 * Programs of verbs calls, drawn from a seed: objects made and gone in any order while packets fly,
 * requests of every kind with right and wrong keys and addresses, memory that goes while it is
 * registered, states set at random, two processes or one. Nothing crashes, hangs or is left: each
 * call gives success or an error, and at the end all objects can be destroyed. Linked with Debian's
 * libibverbs, run on ours. usage: anything SEED [CALLS]
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

enum { QPS = 6, MRS = 6, PAGE = 4096, BYTES = 32 * PAGE, WRS = 16, PATIENCE = 2 };

/* What a process tells the other: where its queue pairs and regions are. A hint: it may be old. */
struct board {
	struct {
		uint32_t qpn[QPS], rkey[MRS];
		uint64_t at[MRS];
		union ibv_gid gid;
	} side[2];
};

struct world {
	uint64_t random;
	int side;
	volatile struct board *board;
	struct ibv_context *c;
	struct ibv_pd *pd[2];
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq[2];
	struct ibv_srq *srq;
	struct ibv_qp *qp[QPS];
	struct ibv_mr *mr[MRS];
	struct ibv_mw *mw;
	uint8_t *memory[MRS];
	unsigned done, failed;
	uint64_t events[2]; /* got of each queue, and not acknowledged */
};

static uint32_t below(struct world *w, uint32_t n)
{
	w->random = w->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (uint32_t)((w->random >> 33) % n);
}

static void *room(void)
{
	void *at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	return at;
}

/* ---- Making and destroying ---- */

static void make_qp(struct world *w, unsigned i)
{
	static const enum ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_RC,
						 IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};
	struct ibv_qp_init_attr a = {.send_cq = w->cq[below(w, 2)],
				     .recv_cq = w->cq[below(w, 2)],
				     .srq = below(w, 4) ? NULL : w->srq,
				     .cap = {1 + below(w, WRS), below(w, WRS), 1 + below(w, 3),
					     1 + below(w, 2), below(w, 2) * 64},
				     .qp_type = types[below(w, 10) ? i : below(w, QPS)],
				     .sq_sig_all = (int)below(w, 2)};

	if (w->qp[i] || !a.send_cq || !a.recv_cq)
		return;
	w->qp[i] = ibv_create_qp(w->pd[below(w, 8) == 0], &a);
	w->board->side[w->side].qpn[i] = w->qp[i] ? w->qp[i]->qp_num : below(w, 1 << 24);
}

static void destroy_qp(struct world *w, unsigned i)
{
	if (w->qp[i])
		CHECK(!ibv_destroy_qp(w->qp[i]));
	w->qp[i] = NULL;
}

static void make_mr(struct world *w, unsigned i)
{
	static const int access[] = {0, IBV_ACCESS_LOCAL_WRITE,
				     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
					     IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
					     IBV_ACCESS_MW_BIND};
	uint32_t from = below(w, PAGE), n = 1 + below(w, BYTES - PAGE);

	if (w->mr[i])
		return;
	w->mr[i] = ibv_reg_mr(w->pd[below(w, 8) == 0], w->memory[i] + from, n,
			      access[below(w, 4) ? 2 : below(w, 3)]);
	CHECK(w->mr[i]);
	w->board->side[w->side].rkey[i] = w->mr[i]->rkey;
	w->board->side[w->side].at[i] = (uintptr_t)w->memory[i] + from;
}

static void drop_mr(struct world *w, unsigned i)
{
	if (w->mr[i] && !ibv_dereg_mr(w->mr[i]))
		w->mr[i] = NULL;
}

/* Memory goes, or may not be written, while its region stays; and comes back. */
static void harm_memory(struct world *w, unsigned i)
{
	uint8_t *from = w->memory[i] + PAGE * below(w, BYTES / PAGE / 2);
	size_t n = PAGE * (1 + below(w, BYTES / PAGE / 2));

	switch (below(w, 4)) {
	case 0:
		CHECK(!mprotect(from, n, PROT_NONE));
		break;
	case 1:
		CHECK(!mprotect(from, n, PROT_READ));
		break;
	default:
		CHECK(!mprotect(w->memory[i], BYTES, PROT_READ | PROT_WRITE));
	}
}

static void make_others(struct world *w)
{
	struct ibv_srq_init_attr s = {.attr = {WRS, 2, 0}};
	unsigned i = below(w, 2);

	if (below(w, 4) == 0 && w->cq[i] && !w->events[i] && !ibv_destroy_cq(w->cq[i]))
		w->cq[i] = NULL;
	if (!w->cq[i])
		w->cq[i] = ibv_create_cq(w->c, (int)(1 + below(w, 100)), (void *)(uintptr_t)i,
					 w->channel, 0);
	CHECK(w->cq[i]);
	if (w->srq && !ibv_destroy_srq(w->srq))
		w->srq = NULL;
	if (!w->srq)
		w->srq = ibv_create_srq(w->pd[0], &s);
	if (w->mw && !ibv_dealloc_mw(w->mw))
		w->mw = NULL;
	if (!w->mw)
		w->mw = ibv_alloc_mw(w->pd[below(w, 2)],
				     below(w, 2) ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
}

/* ---- States ---- */

/* Mostly what connects the queue pairs of one number on both sides. */
static void random_attributes(struct world *w, struct ibv_qp_attr *a, unsigned i)
{
	bool right = below(w, 10) != 0;

	*a = (struct ibv_qp_attr){
		.port_num = 1,
		.qp_access_flags = right ? 15 : below(w, 16),
		.path_mtu = (enum ibv_mtu)(right ? IBV_MTU_1024 : IBV_MTU_256 + below(w, 5)),
		.dest_qp_num = w->board->side[right ? !w->side : (int)below(w, 2)]
				       .qpn[right ? i : below(w, QPS)],
		.max_dest_rd_atomic = (uint8_t)(right ? 4 : below(w, 5)),
		.max_rd_atomic = (uint8_t)below(w, 5),
		.min_rnr_timer = 1,
		.timeout = (uint8_t)(below(w, 8) ? 8 + below(w, 4) : 0),
		.retry_cnt = (uint8_t)below(w, 3),
		.rnr_retry = (uint8_t)below(w, 3),
		.rq_psn = below(w, 3),
		.sq_psn = below(w, 3),
		.qkey = below(w, 2),
		.ah_attr = {.is_global = 1, .port_num = 1}};
	memcpy(&a->ah_attr.grh.dgid, (const void *)&w->board->side[!w->side].gid, 16);
}

static int masks(enum ibv_qp_type t, enum ibv_qp_state s)
{
	bool rc = t == IBV_QPT_RC, ud = t == IBV_QPT_UD;

	if (s == IBV_QPS_INIT)
		return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
		       (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
	if (s == IBV_QPS_RTR && !ud)
		return IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
		       IBV_QP_RQ_PSN | (rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0);
	if (s == IBV_QPS_RTS && rc)
		return IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		       IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
	return IBV_QP_STATE | (s == IBV_QPS_RTS ? IBV_QP_SQ_PSN : 0);
}

/* One state further, mostly. */
static void advance(struct world *w, unsigned i)
{
	struct ibv_qp *qp = w->qp[i];
	struct ibv_qp_attr a;
	int mask;

	if (!qp)
		return;
	random_attributes(w, &a, i);
	if (below(w, 40) == 0)
		a.qp_state = (enum ibv_qp_state)below(w, 8);
	else if (qp->state == IBV_QPS_ERR)
		a.qp_state = IBV_QPS_RESET;
	else
		a.qp_state = qp->state < IBV_QPS_RTS ? qp->state + 1 : IBV_QPS_RTS;
	mask = masks(qp->qp_type, a.qp_state);
	if (below(w, 60) == 0)
		mask = (int)below(w, 1 << 21);
	ibv_modify_qp(qp, &a, mask);
}

/* ---- Requests ---- */

static struct ibv_sge some_memory(struct world *w)
{
	unsigned i = below(w, MRS);
	struct ibv_sge s = {(uintptr_t)w->memory[i] + below(w, BYTES), below(w, 2) ? 64 : 0,
			    below(w, 1 << 30)};

	if (!w->mr[i] || below(w, 100) == 0)
		return s;
	s.lkey = w->mr[i]->lkey;
	s.addr = (uintptr_t)w->mr[i]->addr + below(w, (uint32_t)w->mr[i]->length);
	if (below(w, 3))
		s.length = below(w, 20000);
	if (below(w, 40) && s.addr + s.length > (uintptr_t)w->mr[i]->addr + w->mr[i]->length)
		s.length = (uint32_t)((uintptr_t)w->mr[i]->addr + w->mr[i]->length - s.addr);
	return s;
}

static void post_send(struct world *w, unsigned i)
{
	struct ibv_sge s[3] = {some_memory(w), some_memory(w), some_memory(w)};
	unsigned of = below(w, 8) ? !w->side : w->side, k = below(w, MRS);
	struct ibv_send_wr *bad, wr = {.wr_id = below(w, 1000),
				       .sg_list = s,
				       .num_sge = (int)below(w, 4),
				       .opcode = (enum ibv_wr_opcode)below(w, IBV_WR_DRIVER1),
				       .send_flags = below(w, 3) ? IBV_SEND_SIGNALED : below(w, 8),
				       .imm_data = below(w, 100)};

	if (!w->qp[i])
		return;
	if (wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (w->board->side[of].at[k] + 7) & ~UINT64_C(7);
		wr.wr.atomic.rkey = w->board->side[of].rkey[k];
		s[0].length = 8;
		wr.num_sge = 1;
	} else if (wr.opcode == IBV_WR_BIND_MW) {
		if (!w->mw || !w->mr[k])
			return;
		wr.bind_mw.mw = w->mw;
		wr.bind_mw.rkey = ibv_inc_rkey(w->mw->rkey);
		wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
			w->mr[k], (uintptr_t)w->mr[k]->addr, below(w, (uint32_t)w->mr[k]->length),
			IBV_ACCESS_REMOTE_WRITE};
	} else {
		wr.wr.rdma.remote_addr = w->board->side[of].at[k] + below(w, 64);
		wr.wr.rdma.rkey = w->board->side[of].rkey[k];
	}
	if (w->qp[i]->qp_type == IBV_QPT_UD)
		return; /* needs an address handle: datagrams have a test of their own */
	w->failed += ibv_post_send(w->qp[i], &wr, &bad) != 0;
}

static void post_receive(struct world *w, unsigned i)
{
	struct ibv_sge s[2] = {some_memory(w), some_memory(w)};
	struct ibv_recv_wr wr = {.sg_list = s, .num_sge = (int)below(w, 3)}, *bad;

	if (w->srq && below(w, 2))
		ibv_post_srq_recv(w->srq, &wr, &bad);
	else if (w->qp[i] && !w->qp[i]->srq)
		ibv_post_recv(w->qp[i], &wr, &bad);
}

static void poll(struct world *w)
{
	struct ibv_async_event e;
	struct ibv_wc wc[8];
	struct ibv_cq *cq;
	unsigned i = below(w, 2);
	void *which;
	int n = w->cq[i] ? ibv_poll_cq(w->cq[i], 8, wc) : 0;

	CHECK(n >= 0);
	w->done += (unsigned)n;
	if (w->cq[i] && below(w, 8) == 0)
		CHECK(!ibv_req_notify_cq(w->cq[i], (int)below(w, 2)));
	while (!ibv_get_cq_event(w->channel, &cq, &which))
		w->events[(uintptr_t)which]++;
	for (unsigned k = 0; k < 2 && below(w, 2); k++) {
		if (w->events[k])
			ibv_ack_cq_events(w->cq[k], (unsigned)w->events[k]);
		w->events[k] = 0;
	}
	while (!ibv_get_async_event(w->c, &e))
		ibv_ack_async_event(&e);
}

static void call(struct world *w)
{
	unsigned i = below(w, QPS);

	switch (below(w, 32)) {
	case 0:
		if (below(w, 8) == 0)
			destroy_qp(w, i);
		break;
	case 1:
		if (below(w, 8) == 0)
			drop_mr(w, i % MRS);
		break;
	case 2:
		if (below(w, 4) == 0)
			harm_memory(w, i % MRS);
		break;
	case 3:
		if (below(w, 8) == 0)
			make_others(w);
		break;
	case 4:
		if (below(w, 20) == 0)
			usleep(below(w, 3000));
		break;
	case 5:
	case 6:
		make_qp(w, i);
		make_mr(w, i % MRS);
		break;
	case 7:
	case 8:
	case 9:
	case 10:
		advance(w, i);
		break;
	case 11:
	case 12:
	case 13:
	case 14:
		post_receive(w, i);
		break;
	case 15:
	case 16:
	case 17:
	case 18:
	case 19:
	case 20:
		poll(w);
		break;
	default:
		post_send(w, i);
	}
}

/* ---- A whole program ---- */

static void start(struct world *w)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	union ibv_gid gid;

	CHECK(list && list[0] && (w->c = ibv_open_device(list[0])));
	ibv_free_device_list(list);
	CHECK(!ibv_query_gid(w->c, 1, 0, &gid));
	memcpy((void *)(uintptr_t)&w->board->side[w->side].gid, &gid, sizeof(gid));
	CHECK((w->pd[0] = ibv_alloc_pd(w->c)) && (w->pd[1] = ibv_alloc_pd(w->c)));
	CHECK(w->channel = ibv_create_comp_channel(w->c));
	CHECK(!fcntl(w->channel->fd, F_SETFL, O_NONBLOCK) &&
	      !fcntl(w->c->async_fd, F_SETFL, O_NONBLOCK));
	for (int i = 0; i < 2; i++)
		CHECK(w->cq[i] = ibv_create_cq(w->c, 64, (void *)(uintptr_t)i, w->channel, 0));
	for (int i = 0; i < MRS; i++)
		w->memory[i] = room();
}

static void end(struct world *w)
{
	poll(w);
	for (unsigned k = 0; k < 2; k++)
		if (w->events[k])
			ibv_ack_cq_events(w->cq[k], (unsigned)w->events[k]);
	for (unsigned i = 0; i < QPS; i++)
		destroy_qp(w, i);
	CHECK(!w->srq || !ibv_destroy_srq(w->srq));
	CHECK(!w->mw || !ibv_dealloc_mw(w->mw));
	for (unsigned i = 0; i < MRS; i++) {
		CHECK(!w->mr[i] || !ibv_dereg_mr(w->mr[i]));
		munmap(w->memory[i], BYTES);
	}
	CHECK(!ibv_destroy_cq(w->cq[0]) && !ibv_destroy_cq(w->cq[1]));
	CHECK(!ibv_destroy_comp_channel(w->channel));
	CHECK(!ibv_dealloc_pd(w->pd[0]) && !ibv_dealloc_pd(w->pd[1]));
	CHECK(!ibv_close_device(w->c));
}

static unsigned descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	CHECK(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void run(struct board *board, uint64_t seed, int side, unsigned calls)
{
	unsigned before = descriptors(), n = 0;
	struct world w = {.random = seed * 2 + (unsigned)side, .side = side, .board = board};

	alarm(60); /* a hang ends with SIGALRM */
	start(&w);
	/* one of the two may end in the midst of all, by itself or not */
	if (side && below(&w, 3) == 0)
		calls = below(&w, calls);
	for (; n < calls; n++)
		call(&w);
	if (side && below(&w, 3) == 0)
		_exit(0);
	end(&w);
	CHECK(descriptors() == before);
	if (getenv("ANYTHING_SAYS"))
		printf("side %d: %u calls, %u completions, %u posts refused\n", side, n, w.done,
		       w.failed);
}

int main(int argc, char **argv)
{
	struct board *board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	unsigned calls = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 0) : 3000;
	int status = 0;
	pid_t child;

	CHECK(board != MAP_FAILED);
	child = fork();
	CHECK(child >= 0);
	run(board, seed, child == 0, calls);
	fflush(stdout);
	if (!child)
		_exit(0);
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
	return 0;
}
