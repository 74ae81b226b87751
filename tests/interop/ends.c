/*
 * Two processes, a connection, and what ends it or must not: memory that is registered and cannot
 * be touched (a file mapping past its end), on either side; a receiver that calls _exit() behind
 * its completion; rnr_retry 0 before a receiver that posts receives when all are used. Linked with
 * Debian's libibverbs, run on ours. usage: ends memory|exit|credits
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(c)                                                                     \
	do {                                                                         \
		if (!(c)) {                                                          \
			printf("line %d: %s (%s)\n", __LINE__, #c, strerror(errno)); \
			fflush(stdout);                                              \
			_exit(1);                                                    \
		}                                                                    \
	} while (0)

enum { PAGE = 4096, GOOD = 2 * PAGE, BYTES = 512 * PAGE, DEPTH = 16 };

/* What each tells the other. */
struct place {
	uint32_t qpn, rkey;
	uint64_t at;
	union ibv_gid gid;
};

struct end {
	struct ibv_context *c;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr, *good;
	uint8_t *memory; /* a file's: GOOD bytes of BYTES are there */
	uint8_t *sound;  /* BYTES that are */
	struct place peer;
	int in, out;
};

static void *past_its_end(void)
{
	char name[] = "/tmp/endsXXXXXX";
	int fd = mkstemp(name);
	void *at;

	CHECK(fd >= 0 && !unlink(name) && !ftruncate(fd, GOOD));
	at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(at != MAP_FAILED);
	close(fd);
	return at;
}

static void modify(struct end *e, uint8_t rnr_retry)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
				.port_num = 1,
				.qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
						   IBV_ACCESS_REMOTE_READ |
						   IBV_ACCESS_REMOTE_ATOMIC};

	CHECK(!ibv_modify_qp(e->qp, &a,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	a = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = e->peer.qpn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = e->peer.gid}}};
	CHECK(!ibv_modify_qp(e->qp, &a,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER));
	a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
				 .timeout = 14,
				 .retry_cnt = 3,
				 .rnr_retry = rnr_retry,
				 .max_rd_atomic = 1};
	CHECK(!ibv_modify_qp(e->qp, &a,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
}

static void open_device(struct end *e)
{
	const unsigned access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	struct ibv_device **list = ibv_get_device_list(NULL);

	CHECK(list && list[0] && (e->c = ibv_open_device(list[0])));
	ibv_free_device_list(list);
	CHECK(e->pd = ibv_alloc_pd(e->c));
	e->memory = past_its_end();
	CHECK(e->sound = aligned_alloc(PAGE, BYTES));
	memset(e->sound, 0x5a, BYTES);
	CHECK(e->mr = ibv_reg_mr(e->pd, e->memory, BYTES, access));
	CHECK(e->good = ibv_reg_mr(e->pd, e->sound, BYTES, access));
}

/* To its peer anew; each error ends the queue pair. */
static void join(struct end *e, uint8_t rnr_retry)
{
	struct ibv_qp_init_attr a = {
		.cap = {DEPTH, DEPTH, 1, 1, 0}, .qp_type = IBV_QPT_RC, .sq_sig_all = 1};
	struct place own = {.rkey = e->mr->rkey, .at = (uintptr_t)e->memory};

	if (e->qp)
		CHECK(!ibv_destroy_qp(e->qp) && !ibv_destroy_cq(e->cq));
	CHECK(e->cq = ibv_create_cq(e->c, 4 * DEPTH, NULL, NULL, 0));
	a.send_cq = a.recv_cq = e->cq;
	CHECK(e->qp = ibv_create_qp(e->pd, &a));
	own.qpn = e->qp->qp_num;
	CHECK(!ibv_query_gid(e->c, 1, 0, &own.gid));
	CHECK(write(e->out, &own, sizeof(own)) == sizeof(own));
	CHECK(read(e->in, &e->peer, sizeof(e->peer)) == sizeof(e->peer));
	modify(e, rnr_retry);
}

/* Both are as far. */
static void meet(struct end *e)
{
	char c = 0;

	CHECK(write(e->out, &c, 1) == 1);
	CHECK(read(e->in, &c, 1) == 1);
}

static int post(struct end *e, enum ibv_wr_opcode op, bool sound, uint64_t offset, uint32_t n,
		uint64_t to)
{
	struct ibv_sge s = {(uintptr_t)(sound ? e->sound : e->memory) + offset, n,
			    sound ? e->good->lkey : e->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &s, .num_sge = 1, .opcode = op}, *bad;

	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = e->peer.at + to;
		wr.wr.atomic.rkey = e->peer.rkey;
	} else {
		wr.wr.rdma.remote_addr = e->peer.at + to;
		wr.wr.rdma.rkey = e->peer.rkey;
	}
	return ibv_post_send(e->qp, &wr, &bad);
}

static void receive(struct end *e, bool sound, uint64_t offset, uint32_t n)
{
	struct ibv_sge s = {(uintptr_t)(sound ? e->sound : e->memory) + offset, n,
			    sound ? e->good->lkey : e->mr->lkey};
	struct ibv_recv_wr wr = {.sg_list = &s, .num_sge = 1}, *bad;

	CHECK(!ibv_post_recv(e->qp, &wr, &bad));
}

/* The next completion's status, within 20 s. */
static enum ibv_wc_status next(struct end *e)
{
	time_t until = time(NULL) + 20;
	struct ibv_wc wc;

	while (time(NULL) < until)
		if (ibv_poll_cq(e->cq, 1, &wc) == 1)
			return wc.status;
	CHECK(!"a completion in time");
	return IBV_WC_GENERAL_ERR;
}

static void is(struct end *e, const char *what, enum ibv_wc_status wanted)
{
	enum ibv_wc_status got = next(e);

	if (got == wanted)
		return;
	printf("%s: %s, not %s\n", what, ibv_wc_status_str(got), ibv_wc_status_str(wanted));
	fflush(stdout);
	_exit(1);
}

/* ---- Memory ---- */

static const struct {
	const char *what;
	enum ibv_wr_opcode op;
	bool sound; /* the requester's memory is */
	uint64_t from, to;
	uint32_t n;
	enum ibv_wc_status status;
} tries[] = {
	{"a short WRITE that is in", IBV_WR_RDMA_WRITE, true, 0, 64, 64, IBV_WC_SUCCESS},
	{"a short WRITE", IBV_WR_RDMA_WRITE, true, 0, GOOD, 64, IBV_WC_REM_OP_ERR},
	{"a WRITE of 8 bytes", IBV_WR_RDMA_WRITE, true, 0, GOOD, 8, IBV_WC_REM_OP_ERR},
	{"a WRITE whose second half is out", IBV_WR_RDMA_WRITE, true, 0, PAGE, GOOD,
	 IBV_WC_REM_OP_ERR},
	{"a long WRITE", IBV_WR_RDMA_WRITE, true, 0, PAGE, 64 * PAGE, IBV_WC_REM_OP_ERR},
	{"a longer one", IBV_WR_RDMA_WRITE, true, 0, 0, BYTES, IBV_WC_REM_OP_ERR},
	{"a long one, all of it out", IBV_WR_RDMA_WRITE, true, 0, GOOD, 64 * PAGE,
	 IBV_WC_REM_OP_ERR},
	{"an atomic", IBV_WR_ATOMIC_FETCH_AND_ADD, true, 0, GOOD, 8, IBV_WC_REM_OP_ERR},
	{"a SEND", IBV_WR_SEND, true, 0, GOOD, 64, IBV_WC_REM_OP_ERR},
	{"a long SEND", IBV_WR_SEND, true, 0, 0, 64 * PAGE, IBV_WC_REM_OP_ERR},
	{"a READ", IBV_WR_RDMA_READ, true, 0, PAGE, 16 * PAGE, IBV_WC_REM_OP_ERR},
	{"a short READ", IBV_WR_RDMA_READ, true, 0, GOOD, 64, IBV_WC_REM_OP_ERR},
	{"a READ to memory that is not there", IBV_WR_RDMA_READ, false, GOOD, 0, 64,
	 IBV_WC_LOC_PROT_ERR},
	{"a WRITE from such memory", IBV_WR_RDMA_WRITE, false, GOOD, 0, 64, IBV_WC_LOC_PROT_ERR},
	{"a long WRITE from such memory", IBV_WR_RDMA_WRITE, false, 0, 0, 64 * PAGE,
	 IBV_WC_LOC_PROT_ERR},
};

static void anew(struct end *e)
{
	const unsigned access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

	CHECK(!ibv_dereg_mr(e->mr));
	CHECK(e->mr = ibv_reg_mr(e->pd, e->memory, BYTES, access));
}

static void memory(struct end *e, bool active)
{
	for (unsigned i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		bool send = tries[i].op == IBV_WR_SEND;

		anew(e);
		join(e, 7);
		if (!active && send)
			receive(e, false, tries[i].to, tries[i].n);
		meet(e);
		if (active) {
			CHECK(!post(e, tries[i].op, tries[i].sound, tries[i].from, tries[i].n,
				    tries[i].to));
			is(e, tries[i].what, tries[i].status);
		} else if (send) {
			is(e, tries[i].what, IBV_WC_LOC_PROT_ERR);
		}
		meet(e);
	}
}

/* ---- The end of a process behind its completion ---- */

static void leave(struct end *e, bool active)
{
	join(e, 7);
	if (!active)
		receive(e, true, 0, 64);
	meet(e);
	if (!active) {
		while (next(e) != IBV_WC_SUCCESS)
			;
		_exit(0);
	}
	CHECK(!post(e, IBV_WR_SEND, true, 0, 64, 0));
	is(e, "a SEND to who ends behind it", IBV_WC_SUCCESS);
}

/* ---- Credits ---- */

enum { MESSAGES = 400, FEW = 4 };

static void take(struct end *e, unsigned batch)
{
	for (unsigned n = 0; n < MESSAGES; n += batch) {
		for (unsigned i = 0; n && i < batch; i++)
			receive(e, true, 0, 64);
		for (unsigned i = 0; i < batch; i++)
			is(e, "a receive", IBV_WC_SUCCESS);
		if (n % 64 == 0)
			usleep(300);
	}
}

/* rnr_retry 0, and receives that are posted when all are used. */
static void credits(struct end *e, bool active)
{
	static const unsigned batches[] = {1, FEW, DEPTH};

	for (unsigned k = 0; k < 3; k++) {
		unsigned sent = 0, done = 0;

		join(e, 0);
		for (unsigned i = 0; !active && i < batches[k]; i++)
			receive(e, true, 0, 64);
		meet(e);
		if (!active)
			take(e, batches[k]);
		while (active && done < MESSAGES) {
			while (sent < MESSAGES && sent - done < DEPTH) {
				CHECK(!post(e, IBV_WR_SEND, true, 0, 64, 0));
				sent++;
			}
			is(e, "a SEND with rnr_retry 0", IBV_WC_SUCCESS);
			done++;
		}
		meet(e);
	}
}

static void run(const char *test, struct end *e, bool active)
{
	open_device(e);
	if (!strcmp(test, "memory"))
		memory(e, active);
	else if (!strcmp(test, "exit"))
		leave(e, active);
	else
		credits(e, active);
}

int main(int argc, char **argv)
{
	struct end e = {0};
	int there[2], back[2], status;
	bool active;
	pid_t child;

	if (argc != 2)
		return 2;
	CHECK(!pipe(there) && !pipe(back));
	child = fork();
	CHECK(child >= 0);
	active = child != 0;
	e.in = active ? back[0] : there[0];
	e.out = active ? there[1] : back[1];
	close(active ? back[1] : there[1]);
	close(active ? there[0] : back[0]);
	run(argv[1], &e, active);
	if (!active)
		_exit(0);
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
	return 0;
}
