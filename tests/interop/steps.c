/*
 * A connection of rdma_cm, a few messages on it, and its end; one of the two kills itself at a
 * step. The other hears of it by an event or a completion, in time, and can destroy what it made.
 * The server has a thread for each connection. usage: steps ADDRESS PORT client STEP | server STEP
 * WELL: until so many connections went well
 */
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(c)                                               \
	do {                                                   \
		if (!(c)) {                                    \
			printf("line %d: %s\n", __LINE__, #c); \
			perror("errno");                       \
			exit(1);                               \
		}                                              \
	} while (0)

enum { PATIENCE_MS = 25000, BYTES = 8192, MESSAGES = 4 };

struct end {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	char bytes[BYTES];
};

static const char *step;
static atomic_int well;

/* a: the address is known, r: the route, c: asked, q: was asked, p: accepted, e: established, m:
 * messages are under way, d: parting, g: parted */
static void die(char at)
{
	if (*step == at)
		kill(getpid(), SIGKILL);
}

/* False: none came within so long. */
static bool hear(struct rdma_event_channel *c, int ms, enum rdma_cm_event_type *type,
		 struct rdma_cm_id **id)
{
	struct pollfd p = {.fd = c->fd, .events = POLLIN};
	struct rdma_cm_event *e;

	if (poll(&p, 1, ms) != 1)
		return false;
	CHECK(!rdma_get_cm_event(c, &e));
	*type = e->event;
	if (id)
		*id = e->id;
	CHECK(!rdma_ack_cm_event(e));
	return true;
}

static enum rdma_cm_event_type next(struct end *e)
{
	enum rdma_cm_event_type type;

	CHECK(hear(e->channel, PATIENCE_MS, &type, NULL));
	return type;
}

static void make(struct end *e)
{
	struct ibv_qp_init_attr a = {
		.cap = {16, 16, 1, 1, 0}, .qp_type = IBV_QPT_RC, .sq_sig_all = 1};
	struct ibv_sge s;
	struct ibv_recv_wr *bad, wr = {.sg_list = &s, .num_sge = 1};

	CHECK(!rdma_create_qp(e->id, NULL, &a));
	CHECK(e->mr = ibv_reg_mr(e->id->pd, e->bytes, BYTES, IBV_ACCESS_LOCAL_WRITE));
	s = (struct ibv_sge){(uintptr_t)e->bytes, BYTES, e->mr->lkey};
	for (int i = 0; i < MESSAGES; i++)
		CHECK(!ibv_post_recv(e->id->qp, &wr, &bad));
}

static void unmake(struct end *e)
{
	rdma_destroy_qp(e->id);
	CHECK(!ibv_dereg_mr(e->mr));
	CHECK(!rdma_destroy_id(e->id));
	rdma_destroy_event_channel(e->channel);
}

/* 1: a good completion, 0: none, -1: an error. */
static int completed(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int n = ibv_poll_cq(cq, 1, &wc);

	return n > 0 && wc.status ? -1 : n;
}

/* Each sends so many and takes as many. False: an error, or the peer parts sooner. */
static bool talk(struct end *e)
{
	struct ibv_sge s = {(uintptr_t)e->bytes, BYTES, e->mr->lkey};
	struct ibv_send_wr *bad, wr = {.sg_list = &s, .num_sge = 1, .opcode = IBV_WR_SEND};
	enum rdma_cm_event_type type;
	int sent = 0, taken = 0, parted = 0;

	for (int i = 0; i < MESSAGES; i++) {
		if (ibv_post_send(e->id->qp, &wr, &bad))
			return false;
		if (i == 1)
			die('m');
	}
	while (sent < MESSAGES || taken < MESSAGES) {
		int a = completed(e->id->send_cq), b = completed(e->id->recv_cq);

		if (a < 0 || b < 0 || (parted && !a && !b && ++parted > 1000))
			return false;
		sent += a;
		taken += b;
		if (!a && !b && hear(e->channel, 1, &type, NULL))
			parted |= type == RDMA_CM_EVENT_DISCONNECTED;
	}
	return true;
}

static bool parts(enum rdma_cm_event_type type)
{
	return type == RDMA_CM_EVENT_DISCONNECTED || type == RDMA_CM_EVENT_TIMEWAIT_EXIT;
}

static int ended(struct end *e, const char *how)
{
	printf("%s\n", how);
	unmake(e);
	return 3;
}

static int client(struct sockaddr_in *a)
{
	struct rdma_conn_param p = {.responder_resources = 1,
				    .initiator_depth = 1,
				    .retry_count = 2,
				    .rnr_retry_count = 7};
	static struct end e;
	enum rdma_cm_event_type type;

	CHECK(e.channel = rdma_create_event_channel());
	CHECK(!rdma_create_id(e.channel, &e.id, NULL, RDMA_PS_TCP));
	CHECK(!rdma_resolve_addr(e.id, NULL, (struct sockaddr *)a, 2000));
	CHECK(next(&e) == RDMA_CM_EVENT_ADDR_RESOLVED);
	die('a');
	CHECK(!rdma_resolve_route(e.id, 2000));
	CHECK(next(&e) == RDMA_CM_EVENT_ROUTE_RESOLVED);
	die('r');
	make(&e);
	CHECK(!rdma_connect(e.id, &p));
	die('c');
	type = next(&e);
	if (type != RDMA_CM_EVENT_ESTABLISHED)
		return ended(&e, rdma_event_str(type));
	die('e');
	if (!talk(&e))
		return ended(&e, "a request failed");
	rdma_disconnect(e.id);
	die('d');
	type = next(&e);
	die('g');
	unmake(&e);
	return parts(type) ? 0 : 3;
}

static void *serve(void *arg)
{
	struct rdma_conn_param p = {.responder_resources = 1,
				    .initiator_depth = 1,
				    .retry_count = 2,
				    .rnr_retry_count = 7};
	struct end *e = arg;
	enum rdma_cm_event_type type;
	bool good = false;

	die('q');
	make(e);
	if (!rdma_accept(e->id, &p)) {
		die('p');
		type = next(e);
		if (type == RDMA_CM_EVENT_ESTABLISHED) {
			die('e');
			good = talk(e);
		}
		rdma_disconnect(e->id);
		die('d');
	}
	unmake(e);
	free(e);
	well += good;
	return NULL;
}

/* A connection's events come to a channel of its own. */
static void begin(struct rdma_cm_id *id)
{
	struct end *e = calloc(1, sizeof(*e));
	pthread_t t;

	CHECK(e && (e->channel = rdma_create_event_channel()));
	e->id = id;
	CHECK(!rdma_migrate_id(id, e->channel));
	CHECK(!pthread_create(&t, NULL, serve, e));
	pthread_detach(t);
}

static int server(struct sockaddr_in *a, int until)
{
	struct rdma_event_channel *c = rdma_create_event_channel();
	struct rdma_cm_id *listener, *id;
	enum rdma_cm_event_type type;

	CHECK(c && !rdma_create_id(c, &listener, NULL, RDMA_PS_TCP));
	CHECK(!rdma_bind_addr(listener, (struct sockaddr *)a) && !rdma_listen(listener, 8));
	while (well < until)
		if (hear(c, 10, &type, &id) && type == RDMA_CM_EVENT_CONNECT_REQUEST)
			begin(id);
	CHECK(!rdma_destroy_id(listener));
	rdma_destroy_event_channel(c);
	return 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_in a = {.sin_family = AF_INET};

	if (argc < 5 || inet_pton(AF_INET, argv[1], &a.sin_addr) != 1)
		return 2;
	a.sin_port = htons((uint16_t)atoi(argv[2]));
	step = argv[4];
	if (argc == 6)
		return server(&a, atoi(argv[5]));
	return client(&a);
}
