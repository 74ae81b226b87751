/* The connection manager's states (proto.c) against themselves: two processes, a network that
 * loses, repeats and turns around, and a clock of the test's own. By seeds; each run is the same
 * again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "base/random.h"
#include "live/knock.h"
#include "verbs/cm/cm.h"

enum {
	SEEDS = 60,
	MOST = 1000,       /* connections */
	FLIGHTS = 1 << 15, /* datagrams on their way */
	PORT = 7471,
	SERVER = 1, /* the world that listens; 0 connects */
	LATEST_MS = 120 * 1000,
	HELD = 64, /* datagrams that a stopped process's socket holds */
	NEVER = -1,
	LEAST_ACK_TIMEOUT = 13,
	ACK_TIMEOUTS = 5,
};

/* What the application of one side does next, and what it was told. */
struct conn {
	struct rs_cm_id id; /* first: the connection manager's part */
	struct conn *next;
	int64_t act_ms;
	enum { REST, CONNECT, ACCEPT, REJECT, DISCONNECT } act;
	unsigned requested, established, disconnected, refused, unreachable, timewaits;
	bool parted;     /* the application has disconnected */
	int64_t over_ms; /* and its peer knows: TimeWait begins */
};

static struct world {
	struct rs_cm_id *ids;
	struct conn *conns;
	struct rs_cm_dev dev;
	uint8_t gid[16];
	unsigned requests, questions, n_refused, n_held;
	uint64_t refused[FLIGHTS]; /* questions, by its peer's kernel */
	enum { RUNS, STOPPED, KILLED, KILLED_BESIDE_ANOTHER, OTHER_MAKER, BEHIND_A_FILTER } how;
	struct rs_gsi_datagram held[HELD];
} worlds[2], *here;

static struct flight {
	int64_t at;
	unsigned to;
	struct rs_gsi_datagram d;
} flights[FLIGHTS];
static unsigned n_flights;

static struct rs_random stream;
static int64_t now;
static unsigned loss, twice, late; /* of 100 */
static unsigned numbers;           /* so many random numbers there are: few, and IDs collide */
static unsigned rejects;           /* of 100 requests */
static int64_t slow;               /* ms of each way, beside */
static bool stay;                  /* connections are not ended by their applications */
static struct ibv_device device;
static struct ibv_context context = {.device = &device};

static uint32_t draw(uint32_t n)
{
	return rs_random_below(&stream, n);
}

/* ---- What the states stand on ---- */

__be64 ibv_get_device_guid(struct ibv_device *d)
{
	return 1;
}

int rs_cm_fail(int err)
{
	return -1;
}

int64_t rs_cm_now_ms(void)
{
	return now;
}

void rs_cm_wake(void)
{
}

uint32_t rs_cm_random(void)
{
	return draw(numbers);
}

struct rs_cm_id *rs_cm_all(void)
{
	return here->ids;
}

void rs_cm_add(struct rs_cm_id *id)
{
	id->next = here->ids;
	here->ids = id;
}

void rs_cm_remove(struct rs_cm_id *id)
{
	fail();
}

struct rs_cm_dev *rs_cm_device(const uint8_t gid[16])
{
	return &here->dev;
}

void rs_cm_set_path(struct rs_cm_id *id)
{
}

void rs_cm_fill_ah(struct rs_cm_id *id, const uint8_t dgid[16], struct ibv_ah_attr *a)
{
}

int rs_cm_qp_to(struct rs_cm_id *id, enum ibv_qp_state to)
{
	return 0;
}

struct rs_cm_id *rs_cm_new(struct rdma_event_channel *channel, void *user, enum rdma_port_space ps,
			   enum ibv_qp_type type)
{
	struct conn *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	c->id.base.ps = ps;
	c->id.base.qp_type = type;
	c->act_ms = NEVER;
	c->next = here->conns;
	here->conns = c;
	return &c->id;
}

static void later(struct conn *c, int act, int64_t ms)
{
	c->act = act;
	c->act_ms = now + ms;
}

/* By the timeout of who connects, 2^13 to 2^17 times 4.096 us, and 134 ms for the peer's delay. */
static int64_t timewait_ms(const struct conn *c)
{
	static const int64_t ms[ACK_TIMEOUTS] = {167, 201, 268, 402, 671};

	return ms[c->id.ack_timeout - LEAST_ACK_TIMEOUT];
}

/* The application hears, and decides what to do and when. */
struct rs_cm_event *rs_cm_post(struct rs_cm_id *id, enum rdma_cm_event_type type, int status)
{
	static struct rs_cm_event event;
	struct conn *c = (struct conn *)id;

	event = (struct rs_cm_event){.id = id, .base = {.id = &id->base, .event = type}};
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
		here->requests++;
		c->requested++;
		id->listener->backlog--;
		id->listener = NULL;
		/* Some take so long that the request comes again. */
		later(c, draw(100) < rejects ? REJECT : ACCEPT, draw(10) ? draw(40) : draw(2000));
	} else if (type == RDMA_CM_EVENT_CONNECT_RESPONSE) {
		rs_cm_send_rtu(id);
		c->established++;
		if (!stay)
			later(c, DISCONNECT, draw(200));
	} else if (type == RDMA_CM_EVENT_ESTABLISHED) {
		c->established++;
		if (!stay && !draw(4))
			later(c, DISCONNECT, draw(200));
	} else if (type == RDMA_CM_EVENT_DISCONNECTED) {
		c->disconnected++;
		c->over_ms = now;
	} else if (type == RDMA_CM_EVENT_TIMEWAIT_EXIT) {
		c->timewaits++;
		assert_int_equal(now - c->over_ms, timewait_ms(c));
	} else if (type == RDMA_CM_EVENT_REJECTED) {
		c->refused++;
	} else if (type == RDMA_CM_EVENT_UNREACHABLE) {
		c->unreachable++;
	}
	return &event;
}

/* Peers are on other hosts: no process is looked after. */
enum rs_live_peer rs_verbs_peer_of(struct ibv_context *c, const uint8_t own[16],
				   const uint8_t peer[16], uint32_t qpn)
{
	return RS_PEER_UNKNOWN;
}

int rs_verbs_gsi_send(struct ibv_context *c, const struct rs_gsi_datagram *d)
{
	unsigned to = here == &worlds[0];

	for (unsigned copies = 1 + (draw(100) < twice); copies; copies--) {
		struct flight *f = &flights[n_flights];

		if (draw(100) < loss)
			continue;
		assert_true(n_flights < FLIGHTS);
		n_flights++;
		*f = (struct flight){.at = now + slow + (draw(100) < late ? draw(400) : draw(3)),
				     .to = to,
				     .d = *d};
		memcpy(f->d.own, d->peer, 16);
		memcpy(f->d.peer, d->own, 16);
	}
	return 0;
}

int rs_verbs_knock(struct ibv_context *c, const struct rs_gsi_datagram *d)
{
	here->questions++;
	return rs_verbs_gsi_send(c, d);
}

bool rs_verbs_knock_refused(struct ibv_context *c, uint64_t *token)
{
	if (!here->n_refused)
		return false;
	*token = here->refused[--here->n_refused];
	return true;
}

/* ---- The run ---- */

static void refuse_question(const uint8_t *mad)
{
	assert_true(here->n_refused < FLIGHTS);
	if (rs_knock_is_knock(mad) && mad[MAD_METHOD_AT] == MAD_GET && draw(100) >= loss)
		here->refused[here->n_refused++] = rs_get64(mad + MAD_TRANSACTION_AT);
}

/* A neighbour's device, or one whose program has no connection manager. */
static void answer_for_another(const struct rs_gsi_datagram *d)
{
	struct rs_gsi_datagram out = {0};
	enum rs_knock_is is;
	struct rs_knock k;

	if (!rs_knock_is_knock(d->mad) || !rs_knock_decode(d->mad, &k, &is) ||
	    is != RS_KNOCK_QUESTION)
		return;
	memcpy(out.own, d->own, 16);
	memcpy(out.peer, d->peer, 16);
	rs_knock_encode(&k, RS_KNOCK_GONE, out.mad);
	rs_verbs_gsi_send(&context, &out);
}

static void arrive(const struct flight *f)
{
	struct world *w = &worlds[f->to];

	here = w;
	if (w->how == RUNS) {
		rs_cm_receive(&f->d);
	} else if (w->how == STOPPED) {
		if (w->n_held < HELD)
			w->held[w->n_held++] = f->d;
	} else if (w->how == KILLED_BESIDE_ANOTHER) {
		answer_for_another(&f->d);
	} else if (!rs_knock_is_knock(f->d.mad)) {
		if (w->how != KILLED)
			rs_cm_receive(&f->d);
	} else if (w->how != OTHER_MAKER) {
		here = &worlds[!f->to];
		refuse_question(f->d.mad);
	}
}

static void act(struct conn *c)
{
	int what = c->act;

	c->act = REST;
	c->act_ms = NEVER;
	if (what == CONNECT) {
		c->id.tid = (uint64_t)rs_cm_random() << 32 | c->id.local_id;
		assert_int_equal(rs_cm_send_req(&c->id, NULL, 0), 0);
	} else if (what == ACCEPT && c->id.state == RS_CM_REQ_RCVD) {
		assert_int_equal(rs_cm_send_rep(&c->id, NULL, 0), 0);
		if (!stay && !draw(20)) /* it thinks better of it */
			later(c, DISCONNECT, draw(100));
	} else if (what == REJECT && c->id.state == RS_CM_REQ_RCVD) {
		rs_cm_send_rej(&c->id, RS_REJ_CONSUMER, NULL, 0);
	} else if (what == DISCONNECT) { /* or its peer did, and it takes leave */
		if (c->disconnected && !c->parted)
			c->over_ms = now;
		c->parted |= c->id.state == RS_CM_ESTABLISHED || c->id.state == RS_CM_REP_SENT ||
			     c->disconnected;
		assert_int_equal(rs_cm_part(&c->id), 0);
	}
}

/* The end of TimeWait is told once, and only to an application that has disconnected. */
static void check_timewait(const struct conn *c)
{
	assert_int_equal(c->timewaits, c->parted && c->disconnected);
}

/* Everything of this millisecond. False: nothing will happen any more. */
static bool tick(void)
{
	bool more = n_flights != 0;

	for (unsigned i = 0; i < n_flights;) {
		struct flight f = flights[i];

		if (f.at > now) {
			i++;
			continue;
		}
		flights[i] = flights[--n_flights];
		arrive(&f);
	}
	for (here = worlds; here < worlds + 2; here++)
		for (struct conn *c = here->how == RUNS || here->how > KILLED_BESIDE_ANOTHER
					      ? here->conns
					      : NULL;
		     c; c = c->next) {
			if (c->act_ms != NEVER && c->act_ms <= now)
				act(c);
			if (c->id.due_ms && c->id.due_ms <= now)
				rs_cm_expire(&c->id, now);
			more |= c->act_ms != NEVER || c->id.due_ms;
		}
	now++;
	return more || n_flights;
}

static void begin(uint64_t seed, unsigned connections, unsigned spread_ms)
{
	struct rs_cm_id *l;

	stream = rs_random_stream(seed, 0, 0);
	now += LATEST_MS; /* the last run's bursts are long over */
	n_flights = 0;
	for (unsigned i = 0; i < 2; i++) {
		here = &worlds[i];
		*here = (struct world){
			.dev = {.verbs = &context, .slot = 3 + i},
			.gid = {[10] = 0xff, 0xff, 10, 0, 0, (uint8_t)(1 + i)},
		};
	}
	l = rs_cm_new(NULL, NULL, RDMA_PS_TCP, IBV_QPT_RC);
	l->state = RS_CM_LISTEN;
	l->port = PORT;
	l->backlog_most = RS_CM_BACKLOG;
	rs_cm_add(l);
	for (here = worlds; connections; connections--) {
		struct rs_cm_id *id = rs_cm_new(NULL, NULL, RDMA_PS_TCP, IBV_QPT_RC);

		id->dev = &here->dev;
		id->local_id = rs_cm_new_number(here->dev.slot);
		id->ack_timeout = (uint8_t)(LEAST_ACK_TIMEOUT + connections % ACK_TIMEOUTS);
		memcpy(id->own, worlds[0].gid, 16);
		memcpy(id->peer, worlds[1].gid, 16);
		id->base.route.addr.dst_sin.sin_port = htobe16(PORT);
		id->base.route.addr.dst_sin.sin_family = AF_INET;
		rs_cm_add(id);
		later((struct conn *)id, CONNECT, draw(spread_ms));
	}
}

static void end(void)
{
	for (here = worlds; here < worlds + 2; here++)
		while (here->conns) {
			struct conn *c = here->conns;

			here->conns = c->next;
			free(c);
		}
}

static struct conn *peer_of(const struct conn *c)
{
	for (struct conn *p = worlds[SERVER].conns; p; p = p->next)
		if (p->id.local_id == c->id.remote_id && p->id.remote_id == c->id.local_id)
			return p;
	return NULL;
}

/* Each connection was made once, or refused once, and is over at both ends. */
static void check(unsigned connections)
{
	unsigned n = 0;

	for (struct conn *c = worlds[0].conns; c; c = c->next, n++) {
		assert_int_equal(c->unreachable, 0);
		assert_int_equal(c->established + c->refused, 1);
		assert_int_equal(c->established, c->disconnected);
		assert_int_equal(c->id.state, RS_CM_CLOSED);
		check_timewait(c);
		if (c->established)
			assert_non_null(peer_of(c));
	}
	assert_int_equal(n, connections);
	assert_int_equal(worlds[SERVER].requests, connections);
	for (struct conn *c = worlds[SERVER].conns; c; c = c->next) {
		if (c->id.state == RS_CM_LISTEN)
			continue;
		assert_int_equal(c->unreachable, 0);
		assert_int_equal(c->requested, 1);
		assert_true(c->established <= 1 && c->disconnected <= 1 && c->refused <= 1);
		assert_true(c->established <= c->disconnected);
		assert_int_equal(c->id.state, RS_CM_CLOSED);
		check_timewait(c);
	}
}

static int64_t run(void)
{
	int64_t begun = now;

	while (tick())
		assert_true(now - begun < LATEST_MS);
	return now - begun;
}

/* Loss, copies and turned-round order; random numbers so few that IDs would collide. */
static void test_every_connection_is_made_once_and_ends(void **state)
{
	for (unsigned seed = 1; seed <= SEEDS; seed++) {
		unsigned connections = 1 + seed % 50;

		stream = rs_random_stream(seed, 1, 0);
		loss = draw(3) ? draw(25) : 0;
		twice = draw(2) ? draw(30) : 0;
		late = draw(2) ? draw(30) : 0;
		rejects = draw(2) ? draw(50) : 0;
		numbers = 1024;
		begin(seed, connections, 1 + draw(500));
		run();
		check(connections);
		end();
	}
}

/* Nothing is lost: a thousand at once wait for their turn, and for no timeout. */
static void test_a_thousand_connections_take_no_timeout(void **state)
{
	loss = twice = late = rejects = 0;
	numbers = 1 << 24;
	for (unsigned seed = 1; seed <= 4; seed++) {
		begin(seed, MOST, 1);
		/* turns of 1,000 requests and 1,000 ends; the slowest application; both sides'
		 * TimeWait */
		assert_in_range(run(), 1,
				MOST / RS_CM_BURST * RS_CM_BURST_MS * 2 + 2000 + 400 + 300);
		check(MOST);
		end();
	}
}

/* What asks for patience is about a request that is answered: the next message does not wait. */
static void test_late_mra_delays_nothing(void **state)
{
	struct rs_cm_msg mra = {.kind = RS_CM_MRA, .local_timeout = RS_CM_TIMEOUT + 2};
	struct rs_gsi_datagram d = {0};
	struct conn *c;
	int64_t due;

	loss = twice = late = rejects = 0;
	numbers = 1 << 24;
	begin(2, 1, 1);
	c = worlds[0].conns;
	while (c->id.state != RS_CM_ESTABLISHED)
		tick();
	here = worlds;
	c->parted = true;
	rs_cm_part(&c->id);
	due = c->id.due_ms;
	mra.remote_id = c->id.local_id;
	mra.local_id = c->id.remote_id;
	memcpy(d.own, c->id.own, 16);
	memcpy(d.peer, c->id.peer, 16);
	assert_int_equal(rs_cm_encode(&mra, d.mad), 0);
	rs_cm_receive(&d);
	assert_int_equal(c->id.due_ms, due);
	run();
	end();
}

/* Connections, and the network's habits by the seed; time for both ends to know each other. */
static void connect_all(uint64_t seed, unsigned connections, int how)
{
	stream = rs_random_stream(seed, 1, 0);
	loss = draw(3) ? draw(25) : 0;
	twice = draw(2) ? draw(30) : 0;
	late = draw(2) ? draw(30) : 0;
	rejects = 0;
	numbers = 1 << 24;
	stay = true;
	begin(seed, connections, 1 + draw(500));
	worlds[0].how = worlds[1].how = how;
	for (int64_t until = now + 60 * 1000; now < until;)
		tick();
	for (struct conn *c = worlds[0].conns; c; c = c->next)
		assert_int_equal(c->id.state, RS_CM_ESTABLISHED);
}

static void pass(int64_t ms)
{
	for (int64_t until = now + ms; now < until;)
		tick();
}

/* How many of a world's heard of their end; none does twice. */
static unsigned ended(const struct world *w)
{
	unsigned n = 0;

	for (struct conn *c = w->conns; c; c = c->next) {
		assert_true(c->disconnected <= 1);
		n += c->disconnected;
	}
	return n;
}

static void finish(void)
{
	end();
	stay = false;
	slow = 0;
}

/* By a neighbour or by the kernel alone, of either end. */
static void test_killed_peer_is_told_of(void **state)
{
	for (unsigned seed = 1; seed <= SEEDS; seed++) {
		unsigned connections = 1 + seed % 20, killed = seed & 1;

		/* answers come later than all questions to a peer that is not known */
		slow = seed % 3 ? 0 : 900;
		connect_all(seed, connections, RUNS);
		worlds[killed].how = seed & 2 ? KILLED : KILLED_BESIDE_ANOTHER;
		pass(60 * 1000);
		assert_int_equal(ended(&worlds[!killed]), connections);
		assert_int_equal(ended(&worlds[killed]), 0);
		finish();
	}
}

/* Its kernel takes what its socket holds. */
static void test_stopped_peer_is_not_gone(void **state)
{
	for (unsigned seed = 1; seed <= 20; seed++) {
		unsigned stopped = seed & 1;

		connect_all(seed, 1 + seed % 20, RUNS);
		worlds[stopped].how = STOPPED;
		pass(300 * 1000);
		worlds[stopped].how = RUNS;
		here = &worlds[stopped];
		for (unsigned i = 0; i < here->n_held; i++)
			rs_cm_receive(&here->held[i]);
		pass(20 * 1000);
		assert_int_equal(ended(&worlds[0]) + ended(&worlds[1]), 0);
		finish();
	}
}

/* Hardware answers nothing; what a filter says instead is no proof. It is left alone soon. */
static void test_other_makers_are_left_alone(void **state)
{
	for (unsigned seed = 1; seed <= 20; seed++) {
		unsigned connections = 1 + seed % 20;

		connect_all(seed, connections, seed & 1 ? OTHER_MAKER : BEHIND_A_FILTER);
		pass(300 * 1000);
		assert_int_equal(ended(&worlds[0]) + ended(&worlds[1]), 0);
		for (unsigned i = 0; i < 2; i++)
			assert_int_equal(worlds[i].questions, connections * RS_ALIVE_TRIES);
		finish();
	}
}

/* Each millisecond says somebody that connections are over, who knows all but the token, or has the
 * token but not the address. */
static void test_forged_answers_end_nothing(void **state)
{
	connect_all(3, 4, RUNS);
	for (int64_t until = now + 20 * 1000; now < until; tick()) {
		here = &worlds[draw(2)];
		for (struct conn *c = here->conns; c; c = c->next) {
			struct rs_knock k = {.token =
						     draw(4) ? draw(UINT32_MAX) : c->id.alive.token,
					     .local_id = c->id.local_id,
					     .remote_id = c->id.remote_id};
			struct rs_gsi_datagram d = {0};

			memcpy(d.own, c->id.own, 16);
			memcpy(d.peer, c->id.peer, 16);
			d.peer[0] ^= k.token == c->id.alive.token;
			rs_knock_encode(&k, RS_KNOCK_GONE, d.mad);
			rs_cm_receive(&d);
			rs_alive_refused(&c->id.alive, draw(UINT32_MAX));
		}
	}
	assert_int_equal(ended(&worlds[0]) + ended(&worlds[1]), 0);
	finish();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_connection_is_made_once_and_ends),
		cmocka_unit_test(test_a_thousand_connections_take_no_timeout),
		cmocka_unit_test(test_late_mra_delays_nothing),
		cmocka_unit_test(test_killed_peer_is_told_of),
		cmocka_unit_test(test_stopped_peer_is_not_gone),
		cmocka_unit_test(test_other_makers_are_left_alone),
		cmocka_unit_test(test_forged_answers_end_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
