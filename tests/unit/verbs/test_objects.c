/* The drop-in libibverbs in a process that has a device on loopback: who counts the users of an
 * object, and when a descriptor of events is readable. Run by ThreadSanitizer too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/random.h"

enum { THREADS = 4, EACH = 48, ROUNDS = 8, PAGE = 4096 };
enum { INIT_MASK = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS };

static struct ibv_context *ctx;
static union ibv_gid own;
static uint8_t memory[PAGE];

static int open_device(void **state)
{
	struct ibv_device **list;
	int n = 0;

	setenv("RIPSTOP_DEVICES", "d=lo", 1);
	list = ibv_get_device_list(&n);
	if (!n)
		return -1;
	ctx = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	return ctx ? ibv_query_gid(ctx, 1, 0, &own) : -1;
}

static int close_device(void **state)
{
	return ibv_close_device(ctx);
}

static bool readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

/* ---- Users of an object ---- */

/* What all threads' objects are of. */
struct shared {
	struct ibv_pd *pd;
	struct ibv_td *td;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_xrcd *xrcd;
	struct ibv_dm *dm;
	struct ibv_comp_channel *channel;
};

/* One user of each kind. */
struct users {
	struct ibv_qp *qp, *target;
	struct ibv_srq *xrc_srq;
	struct ibv_mr *mr, *dm_mr;
	struct ibv_mw *mw;
	struct ibv_ah *ah;
	struct ibv_pd *child;
	struct ibv_cq *cq;
};

struct work {
	struct shared *s;
	struct users u[EACH];
	unsigned keep; /* so many stay when it destroys */
	bool failed;
};

static void make_shared(struct shared *s)
{
	struct ibv_srq_init_attr srq = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_xrcd_init_attr xrcd = {.comp_mask =
						  IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
					  .fd = -1,
					  .oflags = O_CREAT};
	struct ibv_alloc_dm_attr dm = {.length = PAGE};
	struct ibv_td_init_attr td = {0};

	s->pd = ibv_alloc_pd(ctx);
	s->td = ibv_alloc_td(ctx, &td);
	s->cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	s->srq = ibv_create_srq(s->pd, &srq);
	s->xrcd = ibv_open_xrcd(ctx, &xrcd);
	s->dm = ibv_alloc_dm(ctx, &dm);
	s->channel = ibv_create_comp_channel(ctx);
	assert_true(s->pd && s->td && s->cq && s->srq && s->xrcd && s->dm && s->channel);
}

static void make_users(struct shared *s, struct users *u)
{
	struct ibv_qp_init_attr qp = {.send_cq = s->cq,
				      .recv_cq = s->cq,
				      .srq = s->srq,
				      .qp_type = IBV_QPT_RC,
				      .cap = {.max_send_wr = 1, .max_send_sge = 1}};
	struct ibv_qp_init_attr_ex target = {
		.qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = s->xrcd};
	struct ibv_srq_init_attr_ex srq = {.attr = {.max_wr = 1, .max_sge = 1},
					   .comp_mask =
						   IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
						   IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
					   .srq_type = IBV_SRQT_XRC,
					   .pd = s->pd,
					   .xrcd = s->xrcd,
					   .cq = s->cq};
	struct ibv_ah_attr ah = {.is_global = 1, .port_num = 1, .grh = {.dgid = own}};
	struct ibv_parent_domain_init_attr child = {.pd = s->pd, .td = s->td};

	u->qp = ibv_create_qp(s->pd, &qp);
	u->target = ibv_create_qp_ex(ctx, &target);
	u->xrc_srq = ibv_create_srq_ex(ctx, &srq);
	u->mr = ibv_reg_mr(s->pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	u->dm_mr = ibv_reg_dm_mr(s->pd, s->dm, 0, PAGE, IBV_ACCESS_ZERO_BASED);
	u->mw = ibv_alloc_mw(s->pd, IBV_MW_TYPE_2);
	u->ah = ibv_create_ah(s->pd, &ah);
	u->child = ibv_alloc_parent_domain(ctx, &child);
	u->cq = ibv_create_cq(ctx, 1, NULL, s->channel, 0);
}

static bool whole(const struct users *u)
{
	return u->qp && u->target && u->xrc_srq && u->mr && u->dm_mr && u->mw && u->ah &&
	       u->child && u->cq;
}

static int destroy_users(struct users *u)
{
	return ibv_destroy_qp(u->qp) | ibv_destroy_qp(u->target) | ibv_destroy_srq(u->xrc_srq) |
	       ibv_dereg_mr(u->mr) | ibv_dereg_mr(u->dm_mr) | ibv_dealloc_mw(u->mw) |
	       ibv_destroy_ah(u->ah) | ibv_dealloc_pd(u->child) | ibv_destroy_cq(u->cq);
}

static void *create(void *arg)
{
	struct work *w = arg;

	for (unsigned i = 0; i < EACH; i++) {
		make_users(w->s, &w->u[i]);
		w->failed |= !whole(&w->u[i]);
	}
	return NULL;
}

static void *destroy(void *arg)
{
	struct work *w = arg;

	for (unsigned i = w->keep; i < EACH; i++)
		w->failed |= destroy_users(&w->u[i]) != 0;
	return NULL;
}

static void all_threads(struct work *w, void *(*fn)(void *))
{
	pthread_t t[THREADS];

	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, fn, &w[i]), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(t[i], NULL);
		assert_false(w[i].failed);
	}
}

static void every_destroy_gives(struct shared *s, int err)
{
	assert_int_equal(ibv_destroy_cq(s->cq), err);
	assert_int_equal(ibv_close_xrcd(s->xrcd), err);
	assert_int_equal(ibv_free_dm(s->dm), err);
	assert_int_equal(ibv_destroy_comp_channel(s->channel), err);
	assert_int_equal(ibv_destroy_srq(s->srq), err);
	assert_int_equal(ibv_dealloc_td(s->td), err);
	assert_int_equal(ibv_dealloc_pd(s->pd), err);
}

/* Users come and go on four threads; the last one of each kind keeps its object, and no other does.
 */
static void test_users_are_counted_right_on_any_thread(void **state)
{
	static struct work w[THREADS];

	for (unsigned round = 0; round < ROUNDS; round++) {
		struct shared s;

		make_shared(&s);
		memset(w, 0, sizeof(w));
		for (unsigned i = 0; i < THREADS; i++)
			w[i].s = &s;
		w[round % THREADS].keep = 1;
		all_threads(w, create);
		all_threads(w, destroy);
		every_destroy_gives(&s, EBUSY);
		assert_int_equal(destroy_users(&w[round % THREADS].u[0]), 0);
		every_destroy_gives(&s, 0);
	}
}

static atomic_bool stop;

/* What fails says EBUSY, whenever it is asked, and never takes the object from its users. */
static void *destroy_too_early(void *arg)
{
	struct shared *s = arg;
	long wrong = 0;

	while (!atomic_load(&stop)) {
		wrong += ibv_destroy_cq(s->cq) != EBUSY;
		wrong += ibv_destroy_srq(s->srq) != EBUSY;
		wrong += ibv_close_xrcd(s->xrcd) != EBUSY;
		wrong += ibv_dealloc_pd(s->pd) != EBUSY;
		wrong += ibv_free_dm(s->dm) != EBUSY;
		wrong += ibv_destroy_comp_channel(s->channel) != EBUSY;
	}
	return (void *)wrong;
}

static void test_destroy_of_what_is_used_is_refused_while_users_come_and_go(void **state)
{
	static struct work w[THREADS];
	struct users first;
	struct shared s;
	pthread_t early;
	void *wrong;

	make_shared(&s);
	make_users(&s, &first);
	memset(w, 0, sizeof(w));
	for (unsigned i = 0; i < THREADS; i++)
		w[i].s = &s;
	atomic_store(&stop, false);
	assert_int_equal(pthread_create(&early, NULL, destroy_too_early, &s), 0);
	for (unsigned i = 0; i < ROUNDS / 2; i++) {
		all_threads(w, create);
		all_threads(w, destroy);
	}
	atomic_store(&stop, true);
	pthread_join(early, &wrong);
	assert_null(wrong);
	assert_int_equal(destroy_users(&first), 0);
	every_destroy_gives(&s, 0);
}

/* ---- Many of them ---- */

enum { MANY = 60000 };

/* Of this thread's processor: what else runs does not count. */
static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double time_to_empty(struct ibv_pd *of, bool oldest_first)
{
	static struct ibv_mr *mr[MANY];
	double begin;

	for (unsigned i = 0; i < MANY; i++) {
		mr[i] = ibv_reg_mr(of, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
		assert_non_null(mr[i]);
	}
	begin = seconds();
	for (unsigned i = 0; i < MANY; i++)
		assert_int_equal(ibv_dereg_mr(mr[oldest_first ? i : MANY - 1 - i]), 0);
	return seconds() - begin;
}

/* 300 times and more, where each looks for its place; noise is far below the bound. */
static void test_regions_go_as_fast_in_either_order(void **state)
{
	struct ibv_pd *of = ibv_alloc_pd(ctx);
	double newest = time_to_empty(of, false), oldest = time_to_empty(of, true);

	assert_true(oldest < 20 * newest + 0.2);
	assert_int_equal(ibv_dealloc_pd(of), 0);
}

static void test_a_device_has_the_regions_that_it_says(void **state)
{
	struct ibv_device_attr a;

	assert_int_equal(ibv_query_device(ctx, &a), 0);
	assert_true(a.max_mr >= 1000000);
}

/* ---- Completion channels ---- */

/* A queue pair in ERR: each receive that it is given completes at once. */
struct source {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

static struct ibv_pd *pd;

static int make_pd(void **state)
{
	pd = ibv_alloc_pd(ctx);
	return pd ? 0 : -1;
}

static int free_pd(void **state)
{
	return ibv_dealloc_pd(pd);
}

static void make_source(struct source *s, struct ibv_comp_channel *channel)
{
	struct ibv_qp_init_attr q = {.qp_type = IBV_QPT_RC,
				     .cap = {.max_send_wr = 1, .max_recv_wr = 8}};
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1};

	s->cq = q.send_cq = q.recv_cq = ibv_create_cq(ctx, 64, s, channel, 0);
	assert_non_null(s->cq);
	s->qp = ibv_create_qp(pd, &q);
	assert_non_null(s->qp);
	assert_int_equal(ibv_modify_qp(s->qp, &a, INIT_MASK), 0);
	a.qp_state = IBV_QPS_ERR;
	assert_int_equal(ibv_modify_qp(s->qp, &a, IBV_QP_STATE), 0);
}

static void complete(struct source *s)
{
	struct ibv_recv_wr r = {.wr_id = 1}, *bad;

	assert_int_equal(ibv_post_recv(s->qp, &r, &bad), 0);
}

static void event(struct source *s)
{
	assert_int_equal(ibv_req_notify_cq(s->cq, 0), 0);
	complete(s);
}

static void free_source(struct source *s)
{
	assert_int_equal(ibv_destroy_qp(s->qp), 0);
	assert_int_equal(ibv_destroy_cq(s->cq), 0);
}

static struct ibv_comp_channel *make_channel(bool blocking)
{
	struct ibv_comp_channel *ch = ibv_create_comp_channel(ctx);

	assert_non_null(ch);
	if (!blocking)
		fcntl(ch->fd, F_SETFL, fcntl(ch->fd, F_GETFL) | O_NONBLOCK);
	return ch;
}

/* Whose event; NULL: none waits, and the call says so. */
static struct source *got(struct ibv_comp_channel *ch)
{
	struct ibv_cq *cq;
	void *context;

	errno = 0;
	if (ibv_get_cq_event(ch, &cq, &context)) {
		assert_int_equal(errno, EAGAIN);
		return NULL;
	}
	assert_ptr_equal(((struct source *)context)->cq, cq);
	ibv_ack_cq_events(cq, 1);
	return context;
}

static void test_channel_is_quiet_when_the_queue_of_its_event_is_gone(void **state)
{
	struct ibv_comp_channel *ch = make_channel(false);
	struct source s[3];

	for (unsigned i = 0; i < 3; i++) {
		make_source(&s[i], ch);
		event(&s[i]);
	}
	free_source(&s[1]);
	assert_true(readable(ch->fd));
	assert_ptr_equal(got(ch), &s[0]);
	assert_true(readable(ch->fd));
	free_source(&s[2]);
	assert_false(readable(ch->fd));
	assert_null(got(ch));
	event(&s[0]);
	assert_true(readable(ch->fd));
	assert_ptr_equal(got(ch), &s[0]);
	assert_false(readable(ch->fd));
	free_source(&s[0]);
	assert_int_equal(ibv_destroy_comp_channel(ch), 0);
}

enum { SOURCES = 5, STEPS = 6000, QUEUED = 64 };

/* What waits on a channel, beside it: at most one event a queue and arming, in order. A completion
 * that waits, and that no event told of, makes one as its queue is armed. */
struct twin {
	struct source s[SOURCES];
	bool here[SOURCES], armed[SOURCES], untold[SOURCES];
	unsigned line[QUEUED], n;
};

static void twin_drop(struct twin *t, unsigned of)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < t->n; i++)
		if (t->line[i] != of)
			t->line[kept++] = t->line[i];
	t->n = kept;
}

static void twin_take(struct twin *t, struct ibv_comp_channel *ch)
{
	struct source *s = got(ch);

	if (!t->n) {
		assert_null(s);
		return;
	}
	assert_ptr_equal(s, &t->s[t->line[0]]);
	memmove(t->line, t->line + 1, --t->n * sizeof(t->line[0]));
}

/* The queue has a completion: it is told of now, or when the queue is armed. */
static void twin_tell(struct twin *t, unsigned i)
{
	if (t->armed[i] && t->untold[i] && t->n < QUEUED) {
		t->line[t->n++] = i;
		t->armed[i] = t->untold[i] = false;
	}
}

static void twin_step(struct twin *t, struct ibv_comp_channel *ch, struct rs_random *r)
{
	unsigned i = rs_random_below(r, SOURCES), what = rs_random_below(r, 16);
	struct ibv_wc wc[8];

	if (!t->here[i]) {
		make_source(&t->s[i], ch);
		t->here[i] = true;
		t->armed[i] = t->untold[i] = false;
	} else if (what < 5) {
		assert_int_equal(ibv_req_notify_cq(t->s[i].cq, 0), 0);
		t->armed[i] = true;
		twin_tell(t, i);
	} else if (what < 10) {
		while (ibv_poll_cq(t->s[i].cq, 8, wc) > 0)
			;
		complete(&t->s[i]);
		t->untold[i] = true;
		twin_tell(t, i);
	} else if (what < 15) {
		twin_take(t, ch);
	} else {
		free_source(&t->s[i]);
		t->here[i] = false;
		twin_drop(t, i);
	}
}

/* After any of 6,000 random steps: readable if a get returns, and only then. */
static void test_channel_is_readable_exactly_while_an_event_waits(void **state)
{
	struct ibv_comp_channel *ch = make_channel(false);
	static struct twin t;
	struct rs_random r = rs_random_stream(10, 0, 0);

	for (unsigned step = 0; step < STEPS; step++) {
		if (t.n > QUEUED - 2)
			twin_take(&t, ch);
		twin_step(&t, ch, &r);
		assert_int_equal(readable(ch->fd), t.n != 0);
	}
	while (t.n)
		twin_take(&t, ch);
	for (unsigned i = 0; i < SOURCES; i++)
		if (t.here[i])
			free_source(&t.s[i]);
	assert_int_equal(ibv_destroy_comp_channel(ch), 0);
}

struct getter {
	struct ibv_comp_channel *ch;
	atomic_int entered, events;
	atomic_bool done;
	int status, error;
};

static void *get_one(void *arg)
{
	struct getter *g = arg;
	struct ibv_cq *cq;
	void *context;

	atomic_store(&g->entered, 1);
	g->status = ibv_get_cq_event(g->ch, &cq, &context);
	g->error = errno;
	if (!g->status)
		atomic_fetch_add(&g->events, 1);
	return NULL;
}

static void *get_for_ever(void *arg)
{
	struct getter *g = arg;

	for (;;) {
		struct ibv_cq *cq;
		void *context;

		if (ibv_get_cq_event(g->ch, &cq, &context))
			return NULL;
		atomic_fetch_add(&g->events, 1);
		ibv_ack_cq_events(cq, 1);
		if (atomic_load(&g->done))
			return NULL;
	}
}

static void *destroy_cq(void *arg)
{
	return (void *)(intptr_t)ibv_destroy_cq(arg);
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static void test_destroy_of_a_queue_waits_for_the_acknowledgement_of_its_events(void **state)
{
	struct ibv_comp_channel *ch = make_channel(false);
	struct ibv_cq *cq;
	struct source s;
	pthread_t t;
	void *context, *status;

	make_source(&s, ch);
	event(&s);
	assert_int_equal(ibv_get_cq_event(ch, &cq, &context), 0);
	event(&s); /* queued and not got: nobody waits for that one's */
	assert_int_equal(ibv_destroy_qp(s.qp), 0);
	assert_int_equal(pthread_create(&t, NULL, destroy_cq, cq), 0);
	pause_ms(50);
	assert_int_equal(pthread_tryjoin_np(t, &status), EBUSY);
	ibv_ack_cq_events(cq, 1);
	assert_int_equal(pthread_join(t, &status), 0);
	assert_null(status);
	assert_false(readable(ch->fd));
	assert_int_equal(ibv_destroy_comp_channel(ch), 0);
}

/* Four threads at one channel: each event is one thread's, and nobody is left to wait for one. */
static void test_each_event_goes_to_one_of_several_threads(void **state)
{
	struct ibv_comp_channel *ch = make_channel(true);
	struct getter g = {.ch = ch};
	struct source s[SOURCES];
	pthread_t t[THREADS];
	int sent = 0;

	for (unsigned i = 0; i < SOURCES; i++)
		make_source(&s[i], ch);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, get_for_ever, &g), 0);
	for (unsigned round = 0; round < 400; round++) {
		struct ibv_wc wc[8];

		event(&s[round % SOURCES]);
		sent++;
		while (ibv_poll_cq(s[round % SOURCES].cq, 8, wc) > 0)
			;
	}
	for (unsigned i = 0; i < 12000 && atomic_load(&g.events) != sent; i++)
		pause_ms(5);
	assert_int_equal(atomic_load(&g.events), sent);
	assert_false(readable(ch->fd));
	atomic_store(&g.done, true); /* one more each */
	for (unsigned i = 0; i < THREADS; i++)
		event(&s[i]);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (unsigned i = 0; i < SOURCES; i++)
		free_source(&s[i]);
	assert_int_equal(ibv_destroy_comp_channel(ch), 0);
}

/* A thread that is cancelled anywhere in the call leaves no lock behind and takes no later event.
 */
static void test_thread_can_be_cancelled_as_it_waits(void **state)
{
	struct ibv_comp_channel *ch;
	struct source s;
	struct ibv_cq *cq;
	void *context;

#ifdef __SANITIZE_ADDRESS__
	print_message("ASan's run time takes a cancelled thread's end for an overflow\n");
	skip();
#endif
	ch = make_channel(true);
	make_source(&s, ch);
	for (unsigned round = 0; round < 300; round++) {
		struct getter g = {.ch = ch};
		struct ibv_wc wc[8];
		pthread_t t;

		assert_int_equal(pthread_create(&t, NULL, get_for_ever, &g), 0);
		if (round % 3)
			event(&s);
		while (round % 2 && ibv_poll_cq(s.cq, 8, wc) > 0)
			;
		pthread_cancel(t);
		pthread_join(t, NULL);
		while (ibv_poll_cq(s.cq, 8, wc) > 0)
			;
	}
	while (readable(ch->fd)) {
		assert_int_equal(ibv_get_cq_event(ch, &cq, &context), 0);
		ibv_ack_cq_events(cq, 1);
	}
	event(&s);
	assert_true(readable(ch->fd));
	assert_int_equal(ibv_get_cq_event(ch, &cq, &context), 0);
	ibv_ack_cq_events(cq, 1);
	assert_false(readable(ch->fd));
	/* no thread ended between an event and its acknowledgement, which is no such place */
	free_source(&s);
	assert_int_equal(ibv_destroy_comp_channel(ch), 0);
}

static void on_signal(int number)
{
}

/* A signal that comes before the thread waits ends nothing: it is sent until the wait has ended. */
static void interrupt_until_it_ends(pthread_t t)
{
	while (pthread_tryjoin_np(t, NULL) == EBUSY) {
		pthread_kill(t, SIGUSR1);
		pause_ms(10);
	}
}

static void interrupt(struct getter *g, int flags, bool ends)
{
	struct sigaction a = {.sa_handler = on_signal, .sa_flags = flags};
	pthread_t t;

	sigaction(SIGUSR1, &a, NULL);
	g->entered = 0;
	assert_int_equal(pthread_create(&t, NULL, get_one, g), 0);
	while (!atomic_load(&g->entered))
		pause_ms(1);
	if (!ends) {
		pause_ms(50);
		pthread_kill(t, SIGUSR1);
		pause_ms(50);
		assert_int_equal(pthread_tryjoin_np(t, NULL), EBUSY);
		a.sa_flags = 0;
		sigaction(SIGUSR1, &a, NULL);
	}
	interrupt_until_it_ends(t);
}

/* As the read of a device file: perftest's alarm, set by signal(), does not end a wait. */
static void test_wait_goes_on_after_a_signal_that_restarts(void **state)
{
	struct ibv_comp_channel *ch = make_channel(true);
	struct getter g = {.ch = ch};

	interrupt(&g, SA_RESTART, false);
	interrupt(&g, 0, true);
	assert_int_equal(g.status, -1);
	assert_int_equal(g.error, EINTR);
	assert_int_equal(ibv_destroy_comp_channel(ch), 0);
}

/* ---- Asynchronous events ---- */

static void test_asynchronous_events_of_what_is_gone_are_gone(void **state)
{
	struct ibv_srq_init_attr i = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_srq_attr limit = {.srq_limit = 2};
	struct ibv_async_event e;
	struct ibv_srq *srq[2];

	fcntl(ctx->async_fd, F_SETFL, fcntl(ctx->async_fd, F_GETFL) | O_NONBLOCK);
	while (!ibv_get_async_event(ctx, &e))
		ibv_ack_async_event(&e);
	for (unsigned k = 0; k < 2; k++) {
		srq[k] = ibv_create_srq(pd, &i);
		assert_int_equal(ibv_modify_srq(srq[k], &limit, IBV_SRQ_LIMIT), 0);
	}
	assert_true(readable(ctx->async_fd));
	assert_int_equal(ibv_destroy_srq(srq[0]), 0);
	assert_true(readable(ctx->async_fd));
	assert_int_equal(ibv_get_async_event(ctx, &e), 0);
	assert_int_equal(e.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
	assert_ptr_equal(e.element.srq, srq[1]);
	ibv_ack_async_event(&e);
	assert_false(readable(ctx->async_fd));
	assert_int_equal(ibv_modify_srq(srq[1], &limit, IBV_SRQ_LIMIT), 0);
	assert_true(readable(ctx->async_fd));
	assert_int_equal(ibv_destroy_srq(srq[1]), 0);
	assert_false(readable(ctx->async_fd));
	assert_int_equal(ibv_get_async_event(ctx, &e), -1);
	assert_int_equal(errno, EAGAIN);
}

enum { SRQS = 400, SRQ_STEPS = 12000 };

/* Those that wait, by the object that they are about, in order. */
struct waiting {
	struct ibv_srq *of[SRQS];
	unsigned n;
};

static void withdraw(struct waiting *w, const struct ibv_srq *srq)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < w->n; i++)
		if (w->of[i] != srq)
			w->of[kept++] = w->of[i];
	w->n = kept;
}

/* Objects come and go at random, most with an event that nobody fetches for long. */
static void test_asynchronous_events_keep_their_order_as_objects_go(void **state)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_srq_attr limit = {.srq_limit = 2};
	static struct ibv_srq *srq[SRQS];
	struct rs_random r = rs_random_stream(11, 0, 0);
	static struct waiting w;
	struct ibv_async_event e;

	fcntl(ctx->async_fd, F_SETFL, fcntl(ctx->async_fd, F_GETFL) | O_NONBLOCK);
	while (!ibv_get_async_event(ctx, &e))
		ibv_ack_async_event(&e);
	for (unsigned step = 0; step < SRQ_STEPS; step++) {
		unsigned i = rs_random_below(&r, SRQS), what = rs_random_below(&r, 8);

		if (!srq[i]) {
			srq[i] = ibv_create_srq(pd, &init);
			assert_non_null(srq[i]);
		} else if (what < 4 && w.n < SRQS) {
			assert_int_equal(ibv_modify_srq(srq[i], &limit, IBV_SRQ_LIMIT), 0);
			w.of[w.n++] = srq[i];
		} else if (what < 7) {
			assert_int_equal(ibv_destroy_srq(srq[i]), 0);
			withdraw(&w, srq[i]);
			srq[i] = NULL;
		} else if (w.n) {
			assert_int_equal(ibv_get_async_event(ctx, &e), 0);
			assert_ptr_equal(e.element.srq, w.of[0]);
			ibv_ack_async_event(&e);
			memmove(w.of, w.of + 1, --w.n * sizeof(w.of[0]));
		}
		assert_int_equal(readable(ctx->async_fd), w.n != 0);
	}
	for (unsigned i = 0; i < SRQS; i++)
		if (srq[i])
			assert_int_equal(ibv_destroy_srq(srq[i]), 0);
	assert_false(readable(ctx->async_fd));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_users_are_counted_right_on_any_thread),
		cmocka_unit_test(test_destroy_of_what_is_used_is_refused_while_users_come_and_go),
		cmocka_unit_test(test_regions_go_as_fast_in_either_order),
		cmocka_unit_test(test_a_device_has_the_regions_that_it_says),
		cmocka_unit_test_setup_teardown(
			test_channel_is_quiet_when_the_queue_of_its_event_is_gone, make_pd,
			free_pd),
		cmocka_unit_test_setup_teardown(
			test_channel_is_readable_exactly_while_an_event_waits, make_pd, free_pd),
		cmocka_unit_test_setup_teardown(
			test_destroy_of_a_queue_waits_for_the_acknowledgement_of_its_events,
			make_pd, free_pd),
		cmocka_unit_test_setup_teardown(test_each_event_goes_to_one_of_several_threads,
						make_pd, free_pd),
		cmocka_unit_test_setup_teardown(test_thread_can_be_cancelled_as_it_waits, make_pd,
						free_pd),
		cmocka_unit_test(test_wait_goes_on_after_a_signal_that_restarts),
		cmocka_unit_test_setup_teardown(test_asynchronous_events_of_what_is_gone_are_gone,
						make_pd, free_pd),
		cmocka_unit_test_setup_teardown(
			test_asynchronous_events_keep_their_order_as_objects_go, make_pd, free_pd),
	};

	return cmocka_run_group_tests(tests, open_device, close_device);
}
