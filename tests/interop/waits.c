/*
 * A connection of rdma_cm whose ends only wait, for a message that never comes. usage: waits
 * ADDRESS PORT server|client|holds: prints what it hears, and ends when the connection does.
 * "holds" only has the device open, until its input ends.
 */
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(c)                                               \
	do {                                                   \
		if (!(c)) {                                    \
			printf("line %d: %s\n", __LINE__, #c); \
			perror("errno");                       \
			exit(1);                               \
		}                                              \
	} while (0)

static struct rdma_event_channel *channel;

static enum rdma_cm_event_type next(struct rdma_cm_id **id)
{
	struct rdma_cm_event *e;
	enum rdma_cm_event_type type;

	CHECK(!rdma_get_cm_event(channel, &e));
	type = e->event;
	if (id)
		*id = e->id;
	CHECK(!rdma_ack_cm_event(e));
	return type;
}

static void make(struct rdma_cm_id *id)
{
	static char bytes[64];
	struct ibv_qp_init_attr a = {.cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC};
	struct ibv_sge s = {(uintptr_t)bytes, sizeof(bytes), 0};
	struct ibv_recv_wr *bad, wr = {.sg_list = &s, .num_sge = 1};
	struct ibv_mr *mr;

	CHECK(!rdma_create_qp(id, NULL, &a));
	CHECK(mr = ibv_reg_mr(id->pd, bytes, sizeof(bytes), IBV_ACCESS_LOCAL_WRITE));
	s.lkey = mr->lkey;
	CHECK(!ibv_post_recv(id->qp, &wr, &bad));
}

int main(int argc, char **argv)
{
	struct rdma_addrinfo *r, hints = {.ai_port_space = RDMA_PS_TCP};
	struct rdma_conn_param p = {.retry_count = 7, .rnr_retry_count = 7};
	struct rdma_cm_id *id;

	setvbuf(stdout, NULL, _IOLBF, 0);
	CHECK(argc == 4 && !rdma_getaddrinfo(argv[1], argv[2], &hints, &r));
	CHECK(channel = rdma_create_event_channel());
	CHECK(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	if (*argv[3] == 'c') {
		CHECK(!rdma_resolve_addr(id, NULL, r->ai_dst_addr, 5000));
		CHECK(next(NULL) == RDMA_CM_EVENT_ADDR_RESOLVED);
		CHECK(!rdma_resolve_route(id, 5000));
		CHECK(next(NULL) == RDMA_CM_EVENT_ROUTE_RESOLVED);
		make(id);
		CHECK(!rdma_connect(id, &p));
	} else {
		CHECK(!rdma_bind_addr(id, r->ai_dst_addr) && !rdma_listen(id, 8));
		puts("listens");
		if (*argv[3] == 'h')
			return getchar() != EOF;
		CHECK(next(&id) == RDMA_CM_EVENT_CONNECT_REQUEST);
		make(id);
		CHECK(!rdma_accept(id, &p));
	}
	for (;;) {
		enum rdma_cm_event_type type = next(NULL);

		puts(rdma_event_str(type));
		if (type == RDMA_CM_EVENT_DISCONNECTED)
			return 0;
		CHECK(type == RDMA_CM_EVENT_ESTABLISHED);
	}
}
