/* The connection manager in a process without a device: its door to libibverbs is made here, so
 * that a test is the network. Random bytes, hostile messages, and a network that loses and repeats.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/random.h"
#include "verbs/cm/cm.h"

enum { SENT = 4096, PORT = 7471, ROUNDS = 60000, MAX_IDS = 24, BACKLOG = 8 };

static const uint8_t host_a[16] = {[10] = 0xff, 0xff, 10, 0, 0, 1};
static const uint8_t host_b[16] = {[10] = 0xff, 0xff, 10, 0, 0, 2};

/* ---- The clock ---- */

/* It stands still, and far ahead of the machine's: the thread waits for no timer, so that what is
 * sent and when is the test's alone (time_passes()), on a machine of any speed. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	*t = (struct timespec){.tv_sec = INT64_C(1) << 40};
	return 0;
}

/* ---- libibverbs, as far as it is asked ---- */

static struct ibv_device device;
static struct ibv_context context = {.device = &device};
static struct ibv_pd pd = {.context = &context};
static struct rs_gsi_datagram sent[SENT];
static unsigned n_sent;
static uint16_t next_port;
static uint32_t next_qpn = 100;

struct ibv_device **ibv_get_device_list(int *num)
{
	struct ibv_device **list = calloc(2, sizeof(struct ibv_device *));

	list[0] = &device;
	if (num)
		*num = 1;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

struct ibv_context *ibv_open_device(struct ibv_device *d)
{
	return &context;
}

int ibv_close_device(struct ibv_context *c)
{
	return 0;
}

__be64 ibv_get_device_guid(struct ibv_device *d)
{
	return 1;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *c)
{
	return &pd;
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *c, uint8_t port, struct _compat_ibv_port_attr *a)
{
	((struct ibv_port_attr *)(void *)a)->active_mtu = IBV_MTU_1024;
	return 0;
}

int ibv_query_gid(struct ibv_context *c, uint8_t port, int index, union ibv_gid *gid)
{
	memcpy(gid->raw, index ? host_b : host_a, 16);
	return index > 1 ? -1 : 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *p, struct ibv_qp_init_attr *a)
{
	struct ibv_qp *qp = calloc(1, sizeof(*qp));

	qp->context = p->context;
	qp->qp_type = a->qp_type;
	qp->qp_num = next_qpn++;
	return qp;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *a, int mask)
{
	qp->state = a->qp_state;
	return 0;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	free(qp);
	return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *c)
{
	return calloc(1, sizeof(struct ibv_comp_channel));
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *c)
{
	free(c);
	return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *c, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int vector)
{
	return calloc(1, sizeof(struct ibv_cq));
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	free(cq);
	return 0;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *p, struct ibv_srq_init_attr *a)
{
	return NULL;
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
	return EINVAL;
}

int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *a)
{
	return EINVAL;
}

int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return 0;
}

int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return 0;
}

unsigned rs_verbs_gsi_open(struct ibv_context *c, rs_gsi_fn *fn, void *arg)
{
	return 7;
}

int rs_verbs_gsi_send(struct ibv_context *c, const struct rs_gsi_datagram *d)
{
	unsigned at = n_sent++;

	if (at < SENT)
		sent[at] = *d;
	return 0;
}

/* Peers are on other hosts: no process is looked after. */
enum rs_live_peer rs_verbs_peer_of(struct ibv_context *c, const uint8_t own[16],
				   const uint8_t peer[16], uint32_t qpn)
{
	return RS_PEER_UNKNOWN;
}

/* Nobody answers a question, and no kernel refuses it. */
int rs_verbs_knock(struct ibv_context *c, const struct rs_gsi_datagram *d)
{
	return 0;
}

bool rs_verbs_knock_refused(struct ibv_context *c, uint64_t *token)
{
	return false;
}

void rs_verbs_gsi_drain(struct ibv_context *c)
{
}

bool rs_verbs_gsi_lockable(struct ibv_context *c)
{
	return true;
}

int rs_verbs_cm_bind(struct ibv_context *c, uint16_t space, uint16_t *port, const uint8_t gid[16],
		     unsigned how)
{
	if (!*port)
		*port = (uint16_t)(40000 + next_port++ % 20000);
	return 0;
}

void rs_verbs_cm_change(struct ibv_context *c, int place, unsigned how)
{
}

int rs_verbs_cm_listen(struct ibv_context *c, int place)
{
	return 0;
}

void rs_verbs_cm_unbind(struct ibv_context *c, int place)
{
}

bool rs_verbs_has_gid(const struct ibv_device *d, const uint8_t gid[16])
{
	return !memcmp(gid, host_a, 16) || !memcmp(gid, host_b, 16);
}

/* ---- Helpers ---- */

static struct rs_random stream;

static uint32_t draw(uint32_t n)
{
	return rs_random_below(&stream, n);
}

static void receive(const struct rs_gsi_datagram *d)
{
	pthread_mutex_lock(&rs_cm_lock);
	rs_cm_receive(d);
	pthread_mutex_unlock(&rs_cm_lock);
}

/* What was sent, at the other end. */
static struct rs_gsi_datagram crossed(const struct rs_gsi_datagram *d)
{
	struct rs_gsi_datagram out = *d;

	memcpy(out.own, d->peer, 16);
	memcpy(out.peer, d->own, 16);
	return out;
}

static struct sockaddr_in address(const uint8_t gid[16], uint16_t port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htobe16(port)};

	memcpy(&a.sin_addr, gid + 12, 4);
	return a;
}

static struct rdma_event_channel *make_channel(void)
{
	struct rdma_event_channel *c = rdma_create_event_channel();

	assert_non_null(c);
	fcntl(c->fd, F_SETFL, fcntl(c->fd, F_GETFL) | O_NONBLOCK);
	return c;
}

static struct rdma_cm_id *listener(struct rdma_event_channel *c, enum rdma_port_space ps)
{
	struct sockaddr_in a = address(host_b, PORT);
	struct rdma_cm_id *id;

	assert_int_equal(rdma_create_id(c, &id, NULL, ps), 0);
	assert_int_equal(rdma_bind_addr(id, (struct sockaddr *)&a), 0);
	assert_int_equal(rdma_listen(id, BACKLOG), 0);
	return id;
}

/* An identifier of host A, ready to connect to host B. */
static struct rdma_cm_id *ready(struct rdma_event_channel *c, enum rdma_port_space ps)
{
	struct sockaddr_in src = address(host_a, 0), dst = address(host_b, PORT);
	struct rdma_cm_event *e;
	struct rdma_cm_id *id;

	assert_int_equal(rdma_create_id(c, &id, NULL, ps), 0);
	assert_int_equal(rdma_resolve_addr(id, (struct sockaddr *)&src, (struct sockaddr *)&dst, 1),
			 0);
	assert_int_equal(rdma_resolve_route(id, 1), 0);
	while (!rdma_get_cm_event(c, &e))
		rdma_ack_cm_event(e);
	return id;
}

static void make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr a = {.qp_type = id->ps == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC,
				     .cap = {1, 1, 1, 1, 0}};

	assert_int_equal(rdma_create_qp(id, NULL, &a), 0);
}

static unsigned count_ids(void)
{
	unsigned n = 0;

	pthread_mutex_lock(&rs_cm_lock); /* its thread lays ghosts */
	for (struct rs_cm_id *id = rs_cm_all(); id; id = id->next)
		n += !id->ghost;
	pthread_mutex_unlock(&rs_cm_lock);
	return n;
}

/* All that waits for an answer has waited in vain. */
static void time_passes(void)
{
	pthread_mutex_lock(&rs_cm_lock);
	for (struct rs_cm_id *id = rs_cm_all(); id; id = id->next)
		if (id->due_ms && id->state != RS_CM_CLOSED)
			rs_cm_expire(id, id->due_ms);
	pthread_mutex_unlock(&rs_cm_lock);
}

/* ---- Random bytes ---- */

static void test_random_bytes_are_no_messages(void **state)
{
	struct rdma_event_channel *c = make_channel();
	struct rdma_cm_id *l = listener(c, RDMA_PS_TCP);
	struct rdma_cm_event *e;

	stream = rs_random_stream(1, 0, 0);
	n_sent = 0;
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct rs_gsi_datagram d;

		for (unsigned k = 0; k < sizeof(d); k++)
			((uint8_t *)&d)[k] = (uint8_t)draw(256);
		receive(&d);
	}
	assert_int_equal(n_sent, 0);
	assert_int_equal(count_ids(), 1);
	assert_int_equal(rdma_get_cm_event(c, &e), -1);
	assert_int_equal(errno, EAGAIN);
	rdma_destroy_id(l);
	rdma_destroy_event_channel(c);
}

/* ---- Messages of every kind, in no order, with fields out of the blue or of what is there ---- */

static uint32_t some_id(bool local)
{
	unsigned n = draw(MAX_IDS);
	struct rs_cm_id *id;
	uint32_t out = 0;

	if (!draw(8))
		return draw(UINT32_MAX);
	pthread_mutex_lock(&rs_cm_lock);
	id = rs_cm_all();
	while (id && id->next && n--)
		id = id->next;
	if (id)
		out = local ? id->local_id : id->remote_id;
	pthread_mutex_unlock(&rs_cm_lock);
	return out;
}

/* One that is left over; NULL: none. */
static struct rdma_cm_id *left_over(void)
{
	struct rs_cm_id *id;

	pthread_mutex_lock(&rs_cm_lock);
	id = rs_cm_all();
	while (id && id->ghost)
		id = id->next;
	pthread_mutex_unlock(&rs_cm_lock);
	return id ? &id->base : NULL;
}

static struct rs_gsi_datagram hostile(void)
{
	static const enum rdma_port_space spaces[] = {RDMA_PS_TCP, RDMA_PS_UDP};
	struct rs_gsi_datagram d = {.src_qp = 1};
	struct rs_cm_msg m = {0};
	struct rs_cm_ip ip = {.version = 4, .port = 1};

	for (unsigned k = 0; k < sizeof(m); k++)
		((uint8_t *)&m)[k] = (uint8_t)draw(256);
	m.kind = (uint16_t)(RS_CM_REQ + draw(9));
	m.private_length = (uint8_t)draw(rs_cm_private_max(m.kind) + 1);
	m.remote_id = some_id(true);
	m.local_id = m.kind == RS_CM_SIDR_REP ? some_id(true) : some_id(false);
	if (m.kind == RS_CM_REQ || m.kind == RS_CM_SIDR_REQ) {
		m.local_id = draw(64);
		m.service_id = (uint64_t)spaces[draw(2)] << 16 | PORT;
		rs_cm_ip_encode(&ip, m.private_data);
	}
	if (m.kind == RS_CM_REJ && draw(2))
		m.reason = RS_REJ_INVALID_SERVICE;
	memcpy(d.own, draw(2) ? host_a : host_b, 16);
	memcpy(d.peer, draw(2) ? host_a : host_b, 16);
	assert_int_equal(rs_cm_encode(&m, d.mad), 0);
	for (unsigned flips = draw(6) ? 0 : draw(8); flips; flips--)
		d.mad[draw(RS_MAD_BYTES)] ^= (uint8_t)(1u << draw(8));
	return d;
}

/* The application answers an event in any way that it may. */
static void react(struct rdma_cm_event *e)
{
	struct rdma_conn_param p = {.responder_resources = (uint8_t)draw(256),
				    .initiator_depth = (uint8_t)draw(256),
				    .qp_num = 5};
	enum rdma_cm_event_type type = e->event;
	struct rdma_cm_id *id = e->id;

	if (type == RDMA_CM_EVENT_ESTABLISHED && id->ps != RDMA_PS_UDP)
		assert_int_equal(rs_cm_id(id)->state == RS_CM_IDLE, 0);
	rdma_ack_cm_event(e);
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST && draw(4)) {
		if (draw(2))
			make_qp(id);
		assert_int_equal(rs_cm_id(id)->listener == NULL, 1);
		draw(3) ? rdma_accept(id, &p) : rdma_reject(id, "no", 2);
	} else if (type == RDMA_CM_EVENT_CONNECT_RESPONSE) {
		rdma_establish(id);
	} else if (draw(2)) {
		rdma_disconnect(id);
	}
	if (draw(2) || count_ids() > MAX_IDS) {
		rdma_destroy_qp(id);
		rdma_destroy_id(id);
	}
}

static void test_hostile_messages_leave_what_can_be_destroyed(void **state)
{
	struct rdma_event_channel *c = make_channel(), *ours = make_channel();
	struct rdma_cm_id *l[2] = {listener(c, RDMA_PS_TCP), listener(c, RDMA_PS_UDP)}, *mine;
	struct rdma_conn_param p = {.retry_count = 7, .rnr_retry_count = 7};
	struct rdma_cm_event *e;
	unsigned requests = 0, established = 0;

	stream = rs_random_stream(2, 0, 0);
	mine = ready(ours, RDMA_PS_TCP);
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct rs_gsi_datagram d = hostile();

		n_sent = 0;
		receive(&d);
		while (!rdma_get_cm_event(c, &e)) {
			requests += e->event == RDMA_CM_EVENT_CONNECT_REQUEST;
			react(e);
		}
		while (!rdma_get_cm_event(ours, &e)) {
			established += e->event == RDMA_CM_EVENT_ESTABLISHED;
			assert_ptr_equal(e->id, mine);
			rdma_ack_cm_event(e);
		}
		if (!draw(16)) {
			rdma_destroy_qp(mine);
			rdma_destroy_id(mine);
			mine = ready(ours, draw(2) ? RDMA_PS_TCP : RDMA_PS_UDP);
			if (draw(2))
				make_qp(mine);
			assert_int_equal(rdma_connect(mine, &p), 0);
		}
		if (!draw(8))
			time_passes();
		assert_true(count_ids() < 2 * MAX_IDS);
	}
	assert_true(requests > ROUNDS / 100);
	assert_true(established > 0);
	rdma_destroy_qp(mine);
	rdma_destroy_id(mine);
	rdma_destroy_id(l[0]);
	rdma_destroy_id(l[1]);
	while ((mine = left_over())) {
		rdma_destroy_qp(mine);
		rdma_destroy_id(mine);
	}
	rdma_destroy_event_channel(c);
	rdma_destroy_event_channel(ours);
}

/* ---- A network that loses and repeats: both ends come to the same end ---- */

static void carry(unsigned lose_percent)
{
	for (unsigned i = 0; i < n_sent && i < SENT; i++) {
		struct rs_gsi_datagram d = crossed(&sent[i]);
		unsigned copies = draw(100) < lose_percent ? 0 : 1 + !draw(4);

		while (copies--)
			receive(&d);
	}
	n_sent = 0;
}

static void connect_once(unsigned lose)
{
	struct rdma_event_channel *c = make_channel(), *s = make_channel();
	struct rdma_cm_id *l = listener(s, RDMA_PS_TCP), *active = ready(c, RDMA_PS_TCP),
			  *passive = NULL;
	struct rdma_conn_param p = {.private_data = "hello", .private_data_len = 6};
	unsigned up = 0, down = 0;
	struct rdma_cm_event *e;

	make_qp(active);
	n_sent = 0;
	assert_int_equal(rdma_connect(active, &p), 0);
	for (unsigned i = 0; i < 200 && up < 2; i++) {
		carry(lose);
		while (!rdma_get_cm_event(s, &e)) {
			if (e->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
				assert_null(passive); /* however often it was repeated */
				assert_memory_equal(e->param.conn.private_data, "hello", 6);
				passive = e->id;
				make_qp(passive);
				assert_int_equal(rdma_accept(passive, &p), 0);
			}
			up += e->event == RDMA_CM_EVENT_ESTABLISHED;
			rdma_ack_cm_event(e);
		}
		while (!rdma_get_cm_event(c, &e)) {
			assert_int_equal(e->event, RDMA_CM_EVENT_ESTABLISHED);
			assert_memory_equal(e->param.conn.private_data, "hello", 6);
			up++;
			rdma_ack_cm_event(e);
		}
		time_passes();
	}
	assert_int_equal(up, 2);
	assert_int_equal(active->qp->state, IBV_QPS_RTS);
	assert_int_equal(passive->qp->state, IBV_QPS_RTS);
	assert_int_equal(rdma_disconnect(active), 0);
	for (unsigned i = 0; i < 200 && down < 2; i++) {
		carry(lose);
		while (!rdma_get_cm_event(s, &e)) {
			down += e->event == RDMA_CM_EVENT_DISCONNECTED;
			rdma_ack_cm_event(e);
		}
		while (!rdma_get_cm_event(c, &e)) {
			down += e->event == RDMA_CM_EVENT_DISCONNECTED;
			rdma_ack_cm_event(e);
		}
		time_passes();
	}
	assert_int_equal(down, 2);
	rdma_destroy_qp(active);
	rdma_destroy_qp(passive);
	rdma_destroy_id(active);
	rdma_destroy_id(passive);
	rdma_destroy_id(l);
	rdma_destroy_event_channel(c);
	rdma_destroy_event_channel(s);
}

static void test_connects_and_disconnects_over_a_lossy_network(void **state)
{
	stream = rs_random_stream(3, 0, 0);
	for (unsigned i = 0; i < 200; i++)
		connect_once(i % 2 ? 30 : 0);
}

/* A REQ sent twice, the second when the listener had gone: its refusal comes late. */
static void test_a_late_refusal_does_not_end_a_connection(void **state)
{
	struct rs_cm_msg rep = {.kind = RS_CM_REP, .local_id = 5, .qpn = 9};
	struct rs_cm_msg rej = {.kind = RS_CM_REJ, .reason = RS_REJ_INVALID_SERVICE};
	struct rdma_event_channel *c = make_channel();
	struct rdma_cm_id *id = ready(c, RDMA_PS_TCP);
	struct rdma_conn_param p = {0};
	struct rs_gsi_datagram d = {.src_qp = 1};
	struct rdma_cm_event *e;

	make_qp(id);
	assert_int_equal(rdma_connect(id, &p), 0);
	memcpy(d.own, host_a, 16);
	memcpy(d.peer, host_b, 16);
	rep.remote_id = rej.remote_id = rs_cm_id(id)->local_id;
	assert_int_equal(rs_cm_encode(&rep, d.mad), 0);
	receive(&d);
	assert_int_equal(rdma_get_cm_event(c, &e), 0);
	assert_int_equal(e->event, RDMA_CM_EVENT_ESTABLISHED);
	rdma_ack_cm_event(e);
	assert_int_equal(rs_cm_encode(&rej, d.mad), 0);
	receive(&d);
	assert_int_equal(rdma_get_cm_event(c, &e), -1);
	assert_int_equal(id->qp->state, IBV_QPS_RTS);
	rdma_destroy_qp(id);
	n_sent = 0;
	rdma_destroy_id(id);
	if (!n_sent)
		time_passes();       /* many were sent: it has its turn */
	assert_int_equal(n_sent, 1); /* goodbye, which a host that knows nothing of it answers */
	d = crossed(&sent[0]);
	receive(&d);
	assert_int_equal(n_sent, 2);
	d = crossed(&sent[1]);
	receive(&d);
	rdma_destroy_event_channel(c);
}

/* Tries of a request that are refused for want of a listener, until the program hears of it. */
static unsigned tries_without_a_listener(struct rdma_event_channel *c)
{
	struct rs_cm_msg rej = {.kind = RS_CM_REJ, .reason = RS_REJ_INVALID_SERVICE};
	struct rdma_cm_id *id = ready(c, RDMA_PS_TCP);
	struct rdma_conn_param p = {0};
	struct rs_gsi_datagram d = {.src_qp = 1};
	struct rdma_cm_event *e;
	unsigned heard = 0;

	make_qp(id);
	memcpy(d.own, host_a, 16);
	memcpy(d.peer, host_b, 16);
	n_sent = 0;
	assert_int_equal(rdma_connect(id, &p), 0);
	rej.remote_id = rs_cm_id(id)->local_id;
	assert_int_equal(rs_cm_encode(&rej, d.mad), 0);
	while (rdma_get_cm_event(c, &e)) {
		if (heard == rs_cm_id(id)->tries)
			time_passes();
		if (heard == rs_cm_id(id)->tries)
			continue; /* another's turn */
		heard = rs_cm_id(id)->tries;
		receive(&d);
	}
	assert_int_equal(e->event, RDMA_CM_EVENT_REJECTED);
	assert_int_equal(e->status, RS_REJ_INVALID_SERVICE);
	rdma_ack_cm_event(e);
	rdma_destroy_qp(id);
	rdma_destroy_id(id);
	return heard;
}

/* perftest's server listens anew between its two connections: on a loaded core that may take it
 * some time. */
static void test_waits_longer_for_a_listener_of_a_host_that_it_is_connected_with(void **state)
{
	struct rs_cm_msg rep = {.kind = RS_CM_REP, .local_id = 5, .qpn = 9};
	struct rdma_event_channel *c = make_channel(), *first = make_channel();
	struct rdma_cm_id *id;
	struct rdma_conn_param p = {0};
	struct rs_gsi_datagram d = {.src_qp = 1};
	struct rdma_cm_event *e;

	assert_int_equal(tries_without_a_listener(c), RS_CM_NOT_YET + 1);
	id = ready(first, RDMA_PS_TCP);
	make_qp(id);
	assert_int_equal(rdma_connect(id, &p), 0);
	memcpy(d.own, host_a, 16);
	memcpy(d.peer, host_b, 16);
	rep.remote_id = rs_cm_id(id)->local_id;
	assert_int_equal(rs_cm_encode(&rep, d.mad), 0);
	receive(&d);
	assert_int_equal(rdma_get_cm_event(first, &e), 0);
	assert_int_equal(e->event, RDMA_CM_EVENT_ESTABLISHED);
	rdma_ack_cm_event(e);
	assert_int_equal(tries_without_a_listener(c), RS_CM_NOT_YET_KNOWN + 1);
	rdma_destroy_qp(id);
	n_sent = 0;
	rdma_destroy_id(id);
	if (!n_sent)
		time_passes();
	d = crossed(&sent[0]);
	receive(&d);
	d = crossed(&sent[1]);
	receive(&d);
	rdma_destroy_event_channel(first);
	rdma_destroy_event_channel(c);
}

static void test_holds_no_more_requests_than_its_backlog(void **state)
{
	struct rs_cm_msg m = {.kind = RS_CM_REQ, .service_id = (uint64_t)RDMA_PS_TCP << 16 | PORT};
	struct rdma_event_channel *c = make_channel();
	struct rdma_cm_id *l = listener(c, RDMA_PS_TCP);
	struct rs_cm_ip ip = {.version = 4, .port = 1};
	struct rs_gsi_datagram d = {.src_qp = 1};
	struct rdma_cm_event *e;
	unsigned got = 0;

	memcpy(d.own, host_b, 16);
	memcpy(d.peer, host_a, 16);
	rs_cm_ip_encode(&ip, m.private_data);
	m.private_length = RS_CM_IP_BYTES;
	n_sent = 0;
	for (unsigned round = 0; round < 2; round++) {
		for (m.local_id = 1; m.local_id <= BACKLOG + 1; m.local_id++) {
			assert_int_equal(rs_cm_encode(&m, d.mad), 0);
			receive(&d);
		}
		while (!rdma_get_cm_event(c, &e)) {
			struct rdma_cm_id *id = e->id;

			got++;
			rdma_ack_cm_event(e);
			assert_int_equal(round && got <= BACKLOG, 0);
			if (round)
				rdma_destroy_id(id);
		}
		assert_int_equal(got, round ? BACKLOG + 1 : BACKLOG);
	}
	while ((l = left_over()))
		rdma_destroy_id(l);
	rdma_destroy_event_channel(c);
}

static void test_gives_up_after_fifteen_tries(void **state)
{
	struct rdma_event_channel *c = make_channel();
	struct rdma_cm_id *id = ready(c, RDMA_PS_TCP);
	struct rdma_conn_param p = {0};
	struct rdma_cm_event *e;

	make_qp(id);
	n_sent = 0;
	assert_int_equal(rdma_connect(id, &p), 0);
	while (rdma_get_cm_event(c, &e))
		time_passes();
	assert_int_equal(e->event, RDMA_CM_EVENT_UNREACHABLE);
	assert_int_equal(e->status, -ETIMEDOUT);
	assert_int_equal(n_sent, RS_CM_TRIES);
	rdma_ack_cm_event(e);
	rdma_destroy_qp(id);
	rdma_destroy_id(id);
	rdma_destroy_event_channel(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_bytes_are_no_messages),
		cmocka_unit_test(test_connects_and_disconnects_over_a_lossy_network),
		cmocka_unit_test(test_a_late_refusal_does_not_end_a_connection),
		cmocka_unit_test(
			test_waits_longer_for_a_listener_of_a_host_that_it_is_connected_with),
		cmocka_unit_test(test_holds_no_more_requests_than_its_backlog),
		cmocka_unit_test(test_gives_up_after_fifteen_tries),
		cmocka_unit_test(test_hostile_messages_leave_what_can_be_destroyed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
