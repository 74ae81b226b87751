/* XRC target queue pairs with more than one handle: ibv_open_qp(3), within a process. Each outcome
 * is checked; 0 is success. Linked with Debian's libibverbs, run on ours. */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(c)                                                                     \
	do {                                                                         \
		if (!(c)) {                                                          \
			printf("line %d: %s (%s)\n", __LINE__, #c, strerror(errno)); \
			exit(1);                                                     \
		}                                                                    \
	} while (0)

enum { BYTES = 4096, SENT = 100 };

static struct ibv_context *c;
static struct ibv_pd *pd;
static struct ibv_cq *cq, *received;
static struct ibv_mr *mr;
static struct ibv_srq *srq;
static struct ibv_qp *sender;
static uint32_t srq_number;

static struct ibv_xrcd *domain(int fd, int flags)
{
	struct ibv_xrcd_init_attr a = {.comp_mask =
					       IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
				       .fd = fd,
				       .oflags = flags};

	return ibv_open_xrcd(c, &a);
}

static struct ibv_qp *target(struct ibv_xrcd *x)
{
	/* the queues say nothing (libfabric gives it some), and are not held */
	struct ibv_qp_init_attr_ex a = {.send_cq = cq,
					.recv_cq = cq,
					.srq = srq,
					.qp_type = IBV_QPT_XRC_RECV,
					.comp_mask = IBV_QP_INIT_ATTR_XRCD,
					.xrcd = x};

	return ibv_create_qp_ex(c, &a);
}

static struct ibv_qp *again(uint32_t number, struct ibv_xrcd *x, enum ibv_qp_type type)
{
	struct ibv_qp_open_attr a = {.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
						  IBV_QP_OPEN_ATTR_CONTEXT | IBV_QP_OPEN_ATTR_TYPE,
				     .qp_num = number,
				     .xrcd = x,
				     .qp_context = &a,
				     .qp_type = type};
	struct ibv_qp *qp = ibv_open_qp(c, &a);

	CHECK(!qp || qp->qp_context == &a);
	return qp;
}

/* To the state in which it receives, or sends. */
static void join(struct ibv_qp *qp, uint32_t peer)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1};

	CHECK(!ibv_modify_qp(qp, &a,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR,
				 .path_mtu = IBV_MTU_1024,
				 .dest_qp_num = peer,
				 .max_dest_rd_atomic = 1,
				 .min_rnr_timer = 12,
				 .ah_attr = {.is_global = 1, .port_num = 1}};
	CHECK(!ibv_query_gid(c, 1, 0, &a.ah_attr.grh.dgid));
	CHECK(!ibv_modify_qp(qp, &a,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER));
	if (qp->qp_type != IBV_QPT_XRC_SEND)
		return;
	a = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .timeout = 12, .retry_cnt = 2, .max_rd_atomic = 1};
	CHECK(!ibv_modify_qp(qp, &a,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
}

static struct ibv_wc wait_for(struct ibv_cq *q)
{
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(q, 1, &wc)) == 0)
		;
	CHECK(n == 1);
	return wc;
}

/* A message through the target; the sender's status. */
static enum ibv_wc_status message(uint32_t number)
{
	struct ibv_sge g = {(uintptr_t)mr->addr, SENT, mr->lkey};
	struct ibv_recv_wr r = {.sg_list = &g, .num_sge = 1}, *bad_r;
	struct ibv_send_wr s = {.sg_list = &g,
				.num_sge = 1,
				.opcode = IBV_WR_SEND,
				.send_flags = IBV_SEND_SIGNALED,
				.qp_type.xrc.remote_srqn = srq_number},
			   *bad_s;
	struct ibv_wc sent, got;

	CHECK(!ibv_post_srq_recv(srq, &r, &bad_r));
	CHECK(!ibv_post_send(sender, &s, &bad_s));
	sent = wait_for(cq);
	if (sent.status != IBV_WC_SUCCESS)
		return sent.status;
	got = wait_for(received);
	CHECK(got.status == IBV_WC_SUCCESS && got.byte_len == SENT && got.qp_num == number);
	return IBV_WC_SUCCESS;
}

/* Who of the two was told that the other side is there. */
static void both_told(struct ibv_qp *one, struct ibv_qp *two)
{
	struct ibv_async_event e[2];

	for (int i = 0; i < 2; i++) {
		CHECK(!ibv_get_async_event(c, &e[i]));
		CHECK(e[i].event_type == IBV_EVENT_COMM_EST);
		ibv_ack_async_event(&e[i]);
	}
	CHECK((e[0].element.qp == one && e[1].element.qp == two) ||
	      (e[0].element.qp == two && e[1].element.qp == one));
}

static void make(struct ibv_xrcd *x)
{
	struct ibv_srq_init_attr_ex sa = {
		.attr = {16, 1, 0},
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD |
			     IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_XRC,
		.pd = pd,
		.xrcd = x,
	};
	struct ibv_qp_init_attr_ex qa = {.cap = {.max_send_wr = 16, .max_send_sge = 1},
					 .qp_type = IBV_QPT_XRC_SEND,
					 .comp_mask = IBV_QP_INIT_ATTR_PD,
					 .pd = pd};

	CHECK((cq = ibv_create_cq(c, 64, NULL, NULL, 0)) != NULL);
	CHECK((received = ibv_create_cq(c, 64, NULL, NULL, 0)) != NULL);
	sa.cq = received;
	qa.send_cq = cq;
	CHECK((mr = ibv_reg_mr(pd, calloc(1, BYTES), BYTES, IBV_ACCESS_LOCAL_WRITE)) != NULL);
	CHECK((srq = ibv_create_srq_ex(c, &sa)) != NULL);
	CHECK(!ibv_get_srq_num(srq, &srq_number));
	CHECK((sender = ibv_create_qp_ex(c, &qa)) != NULL);
}

int main(void)
{
	char file[] = "/tmp/ripstop-xrc-XXXXXX";
	struct ibv_device **list = ibv_get_device_list(NULL);
	int fd = mkstemp(file);
	struct ibv_xrcd *x, *same, *other;
	struct ibv_qp *made, *opened;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	uint32_t number;

	CHECK(fd >= 0 && !unlink(file) && list && list[0]);
	CHECK((c = ibv_open_device(list[0])) != NULL);
	ibv_free_device_list(list);
	CHECK((pd = ibv_alloc_pd(c)) != NULL);
	CHECK(!domain(fd, 0) && errno == EAGAIN); /* a new one must be asked for */
	CHECK((x = domain(fd, O_CREAT)) != NULL);
	CHECK(!domain(fd, O_CREAT | O_EXCL) && errno == EINVAL);
	CHECK((same = domain(fd, 0)) != NULL);
	CHECK((other = domain(-1, O_CREAT)) != NULL);
	make(x);
	CHECK((made = target(x)) != NULL);
	number = made->qp_num;

	CHECK(!again(number + 1000, x, IBV_QPT_XRC_RECV) && errno == EINVAL);
	CHECK(!again(sender->qp_num, x, IBV_QPT_XRC_RECV) && errno == EINVAL);
	CHECK(!again(number, other, IBV_QPT_XRC_RECV) && errno == EINVAL);
	CHECK(!again(number, x, IBV_QPT_RC) && errno == EINVAL);
	CHECK((opened = again(number, same, IBV_QPT_XRC_RECV)) != NULL);
	CHECK(opened != made && opened->qp_num == number && opened->qp_type == IBV_QPT_XRC_RECV);

	join(opened, sender->qp_num); /* of one, and so of both */
	CHECK(!ibv_query_qp(made, &attr, IBV_QP_STATE, &init) && attr.qp_state == IBV_QPS_RTR);
	join(sender, number);
	CHECK(message(number) == IBV_WC_SUCCESS);
	both_told(made, opened);

	/* The queue pair outlives who made it, and its domain's handle. */
	CHECK(ibv_close_xrcd(same) == EBUSY);
	CHECK(!ibv_destroy_qp(made));
	CHECK(message(number) == IBV_WC_SUCCESS);
	CHECK(!ibv_query_qp(opened, &attr, IBV_QP_STATE, &init) && attr.qp_state == IBV_QPS_RTR);
	CHECK((made = again(number, x, IBV_QPT_XRC_RECV)) != NULL);
	CHECK(!ibv_destroy_qp(opened));
	CHECK(!ibv_close_xrcd(same));
	CHECK(message(number) == IBV_WC_SUCCESS);

	/* With its last handle it goes. */
	CHECK(!ibv_destroy_qp(made));
	CHECK(!again(number, x, IBV_QPT_XRC_RECV) && errno == EINVAL);
	CHECK(message(number) == IBV_WC_RETRY_EXC_ERR);

	CHECK(!ibv_destroy_qp(sender) && !ibv_destroy_srq(srq));
	CHECK(!ibv_close_xrcd(x) && !ibv_close_xrcd(other));
	CHECK(!ibv_destroy_cq(cq) && !ibv_destroy_cq(received));
	free(mr->addr);
	CHECK(!ibv_dereg_mr(mr) && !ibv_dealloc_pd(pd) && !ibv_close_device(c));
	close(fd);
	return 0;
}
