/* What a verbs program may do to itself: fork with a device open, queues that run over or dry, no
 * memory. Each outcome is checked; 0 is success. Linked with Debian's libibverbs, run on ours. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#define CHECK(c)                                                                     \
	do {                                                                         \
		if (!(c)) {                                                          \
			printf("line %d: %s (%s)\n", __LINE__, #c, strerror(errno)); \
			_exit(1);                                                    \
		}                                                                    \
	} while (0)

enum { BYTES = 4096, DEPTH = 16 };

/* A device of its own, and two queue pairs that send to one another. */
struct pair {
	struct ibv_context *c;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	struct ibv_qp *qp[2];
	char *memory;
};

static struct ibv_context *open_first(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *c = list && list[0] ? ibv_open_device(list[0]) : NULL;

	CHECK(c);
	ibv_free_device_list(list);
	return c;
}

static struct ibv_qp *make_qp(struct pair *p, uint32_t depth)
{
	struct ibv_qp_init_attr a = {.send_cq = p->cq,
				     .recv_cq = p->cq,
				     .srq = p->srq,
				     .cap = {depth, depth, 1, 1, 0},
				     .qp_type = IBV_QPT_RC,
				     .sq_sig_all = 1};

	return ibv_create_qp(p->pd, &a);
}

static void join(struct pair *p, int from, uint8_t rnr_retry)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
				.port_num = 1,
				.qp_access_flags = IBV_ACCESS_REMOTE_WRITE};

	CHECK(!ibv_modify_qp(p->qp[from], &a,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR,
				 .path_mtu = IBV_MTU_1024,
				 .dest_qp_num = p->qp[!from]->qp_num,
				 .max_dest_rd_atomic = 1,
				 .min_rnr_timer = 12,
				 .ah_attr = {.is_global = 1, .port_num = 1}};
	CHECK(!ibv_query_gid(p->c, 1, 0, &a.ah_attr.grh.dgid));
	CHECK(!ibv_modify_qp(p->qp[from], &a,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER));
	a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
				 .timeout = 16,
				 .retry_cnt = 7,
				 .rnr_retry = rnr_retry,
				 .max_rd_atomic = 1};
	CHECK(!ibv_modify_qp(p->qp[from], &a,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
}

static void start(struct pair *p, int cqe, bool srq, uint8_t rnr_retry)
{
	struct ibv_srq_init_attr s = {.attr = {DEPTH, 1, 0}};

	memset(p, 0, sizeof(*p));
	p->c = open_first();
	p->pd = ibv_alloc_pd(p->c);
	CHECK(p->channel = ibv_create_comp_channel(p->c));
	p->cq = ibv_create_cq(p->c, cqe, NULL, p->channel, 0);
	p->srq = srq ? ibv_create_srq(p->pd, &s) : NULL;
	p->memory = calloc(1, BYTES);
	p->mr = ibv_reg_mr(p->pd, p->memory, BYTES,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	CHECK(p->pd && p->cq && p->mr && (!srq || p->srq));
	for (int i = 0; i < 2; i++)
		CHECK(p->qp[i] = make_qp(p, DEPTH));
	for (int i = 0; i < 2; i++)
		join(p, i, rnr_retry);
}

static void end(struct pair *p)
{
	CHECK(!ibv_destroy_qp(p->qp[0]) && !ibv_destroy_qp(p->qp[1]));
	CHECK(!p->srq || !ibv_destroy_srq(p->srq));
	CHECK(!ibv_destroy_cq(p->cq) && !ibv_destroy_comp_channel(p->channel));
	CHECK(!ibv_dereg_mr(p->mr) && !ibv_dealloc_pd(p->pd));
	CHECK(!ibv_close_device(p->c));
	free(p->memory);
}

static void post(struct pair *p, enum ibv_wr_opcode op, int n)
{
	struct ibv_sge s = {(uintptr_t)p->memory, 64, p->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &s, .num_sge = 1, .opcode = op}, *bad;

	wr.wr.rdma.remote_addr = (uintptr_t)p->memory + BYTES / 2;
	wr.wr.rdma.rkey = p->mr->rkey;
	while (n--)
		CHECK(!ibv_post_send(p->qp[0], &wr, &bad));
}

static void receive(struct pair *p, int n)
{
	struct ibv_sge s = {(uintptr_t)p->memory, 64, p->mr->lkey};
	struct ibv_recv_wr wr = {.sg_list = &s, .num_sge = 1}, *bad;

	while (n--)
		CHECK(!(p->srq ? ibv_post_srq_recv(p->srq, &wr, &bad)
			       : ibv_post_recv(p->qp[1], &wr, &bad)));
}

/* The next completion's status, within 20 s. */
static enum ibv_wc_status next(struct pair *p)
{
	time_t until = time(NULL) + 20;
	struct ibv_wc wc;

	while (time(NULL) < until)
		if (ibv_poll_cq(p->cq, 1, &wc) == 1)
			return wc.status;
	CHECK(!"a completion in time");
	return IBV_WC_GENERAL_ERR;
}

static void write_some(struct pair *p, int n)
{
	for (; n; n--) {
		post(p, IBV_WR_RDMA_WRITE, 1);
		CHECK(next(p) == IBV_WC_SUCCESS);
	}
}

/* AddressSanitizer of GCC 12 and clang 14 does not hold its allocator's locks over a fork: a child
 * of a process whose other thread was just allocating hangs in malloc(). A device's thread
 * allocates as it starts, within the sanitizer, and not again. */
static void let_thread_start(void)
{
#ifdef __SANITIZE_ADDRESS__
	usleep(100 * 1000);
#endif
}

/* Before and after a fork the parent goes on; the child opens devices of its own, and what it
 * inherited can be closed without harm to the parent. */
static void forks(void)
{
	struct pair p, own;
	int status;
	pid_t child;

	start(&p, 64, false, 7);
	write_some(&p, 10);
	let_thread_start();
	child = fork();
	if (!child) {
		start(&own, 64, false, 7);
		write_some(&own, 100);
		end(&own);
		end(&p);
		exit(0); /* with destructors */
	}
	write_some(&p, 100);
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
	write_some(&p, 10);
	end(&p);
}

/* More completions than the queue holds: an event, as hardware; the program goes on. */
static void cq_overrun(void)
{
	struct ibv_async_event e;
	struct pollfd f = {.events = POLLIN};
	struct pair p, other;

	start(&p, 4, false, 7);
	post(&p, IBV_WR_RDMA_WRITE, DEPTH);
	f.fd = p.c->async_fd;
	CHECK(poll(&f, 1, 10000) == 1);
	CHECK(!ibv_get_async_event(p.c, &e));
	CHECK(e.event_type == IBV_EVENT_CQ_ERR && e.element.cq == p.cq);
	ibv_ack_async_event(&e);
	start(&other, 64, false, 7);
	write_some(&other, 10);
	end(&other);
	end(&p);
}

/* A shared receive queue runs dry: the sender waits, or gives up where it was told to. */
static void srq_dry(void)
{
	struct pair p;

	start(&p, 64, true, 7);
	receive(&p, 2);
	post(&p, IBV_WR_SEND, 6);
	for (int i = 0; i < 4; i++) /* two sends and two receives */
		CHECK(next(&p) == IBV_WC_SUCCESS);
	receive(&p, 4);
	for (int i = 0; i < 8; i++)
		CHECK(next(&p) == IBV_WC_SUCCESS);
	end(&p);
	start(&p, 64, true, 0);
	post(&p, IBV_WR_SEND, 1);
	CHECK(next(&p) == IBV_WC_RNR_RETRY_EXC_ERR);
	end(&p);
}

/* No memory, no descriptors: the calls say so, and what was there goes on. */
static void no_memory(void)
{
	struct rlimit as, files, few;
	struct ibv_qp *qp[4096];
	struct pair p;
	int n = 0;

	start(&p, 64, false, 7);
	CHECK(!getrlimit(RLIMIT_AS, &as) && !getrlimit(RLIMIT_NOFILE, &files));
	few = (struct rlimit){UINT64_C(1) << 30, as.rlim_max};
	CHECK(!setrlimit(RLIMIT_AS, &few));
	for (; n < 4096 && (qp[n] = make_qp(&p, 16384)); n++)
		;
	CHECK(n > 0 && n < 4096 && errno == ENOMEM);
	write_some(&p, 10);
	while (n)
		CHECK(!ibv_destroy_qp(qp[--n]));
	CHECK(!setrlimit(RLIMIT_AS, &as));
	few = (struct rlimit){3, files.rlim_max};
	CHECK(!setrlimit(RLIMIT_NOFILE, &few));
	CHECK(!ibv_create_comp_channel(p.c) && errno == EMFILE);
	CHECK(!setrlimit(RLIMIT_NOFILE, &files));
	write_some(&p, 10);
	end(&p);
}

/* What is posted goes, though the program polls no more, or finds what it waits for each time that
 * it does: then it never polls in vain. */
static void posts(void)
{
	struct ibv_cq *cq;
	struct ibv_wc wc;
	struct pair p;
	void *user;

	start(&p, 64, false, 7);
	write_some(&p, 1000); /* long enough for the device's thread to leave it to these polls */
	for (int i = 0; i < DEPTH; i++) {
		struct ibv_sge s = {(uintptr_t)p.memory, 1, p.mr->lkey};
		struct ibv_send_wr wr = {.sg_list = &s, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE};
		struct ibv_send_wr *bad;

		p.memory[0] = 1;
		wr.wr.rdma.remote_addr = (uintptr_t)p.memory + BYTES / 2 + 64 + (unsigned)i;
		wr.wr.rdma.rkey = p.mr->rkey;
		CHECK(!ibv_post_send(p.qp[0], &wr, &bad));
	}
	for (int i = 0; i < 1000 && !((volatile char *)p.memory)[BYTES / 2 + 64 + DEPTH - 1]; i++)
		usleep(1000);
	CHECK(((volatile char *)p.memory)[BYTES / 2 + 64 + DEPTH - 1] == 1);
	for (int i = 0; i < DEPTH; i++)
		CHECK(next(&p) == IBV_WC_SUCCESS);
	for (int i = 0; i < 10 * DEPTH; i++) {
		CHECK(!ibv_req_notify_cq(p.cq, 0));
		post(&p, IBV_WR_RDMA_WRITE, 1);
		CHECK(!ibv_get_cq_event(p.channel, &cq, &user));
		ibv_ack_cq_events(cq, 1);
		CHECK(ibv_poll_cq(p.cq, 1, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
	}
	end(&p);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} tests[] = {{"fork", forks},
		     {"cq", cq_overrun},
		     {"srq", srq_dry},
		     {"memory", no_memory},
		     {"posts", posts}};

	alarm(60);
	for (unsigned i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		if (argc == 2 && !strcmp(argv[1], tests[i].name)) {
			tests[i].run();
			return 0;
		}
	return 2;
}
