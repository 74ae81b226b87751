/*
 * Who drives the engine: the application as it polls, else a thread that sleeps in ppoll(), which
 * leaves nothing at the sockets while it does not sleep (a set of epoll's is told of each datagram,
 * by who sends it). While the application polls, the thread looks only now and then whether it
 * still does: being woken for each packet would take the core and the lock from it.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "live/guard.h"
#include "live/near.h"
#include "live/state.h"

/* The next time at which something is due. */
static rs_time deadline(const struct rs_live *l)
{
	rs_time other = rs_time_min(l->tx_again, l->pending_again);

	return rs_time_min(rs_flow_deadline(&l->flow), rs_time_min(other, rs_shm_again(l)));
}

/* Is the application at its polls? Then the thread keeps out of its way. */
static bool polled_within(struct rs_live *l, int64_t now, int64_t ns)
{
	return now - atomic_load_explicit(&l->polled_ns, memory_order_relaxed) < ns;
}

/* The application asked to be told of completions, and has polled a few times since at most. */
static bool asks_to_be_told(const struct rs_live *l)
{
	return atomic_load_explicit(&l->polls, memory_order_relaxed) < rs_live_tuning.sleeper_polls;
}

/*
 * An application that asks to be told of completions polls a few times before it sleeps, and is not
 * one that polls: where rings bring packets, the thread is at once where it would wait. By the
 * wire, waiting a little saves more: what comes meanwhile comes in one go.
 */
static bool application_sleeps(const struct rs_live *l)
{
	return asks_to_be_told(l) && rs_shm_heard_within(l, rs_live_ns(), rs_live_tuning.active_ns);
}

static bool is_lane(const struct rs_live *l)
{
	return atomic_load_explicit(&l->lane, memory_order_relaxed);
}

/* Of a lane: a stream is the thread's, whoever polls. */
static bool streams(const struct rs_live *l)
{
	return __builtin_expect(is_lane(l), 0) &&
	       atomic_load_explicit(&l->streams, memory_order_relaxed);
}

static bool application_polls(struct rs_live *l)
{
	return !streams(l) && !application_sleeps(l) &&
	       polled_within(l, rs_clock_ns(), rs_live_tuning.polling_ns);
}

/* So long that what its senders send meanwhile is little to the socket. */
static int64_t pause_ns(const struct rs_live *l)
{
	int64_t ns = (int64_t)(l->grants.buffer / rs_live_tuning.pause_bytes_a_ns);

	return ns < rs_live_tuning.pause_ns ? ns : rs_live_tuning.pause_ns;
}

/* Who reads knows what is yet to come, and does not wait beyond the end of it. */
static int64_t gathering_ns(const struct rs_live *l)
{
	const struct rs_qp *qp = l->reader ? rs_nic_find_qp(l->nic, l->reader) : NULL;
	int64_t ns = pause_ns(l), rest;

	if (!l->reader)
		return ns;
	rest = qp ? rs_gather_takes(&l->gather, rs_qp_awaited(qp)) : 0;
	return rest < ns ? rest : ns;
}

/*
 * Looking at a socket for each datagram that comes costs its sender the lines that both write, and
 * an ACK each. A stream is left to gather for a while, once nothing is left of it. Who answers with
 * data of its own is not one; who asks for more by a READ is.
 */
static void judge_stream(struct rs_live *l, bool any, int64_t now)
{
	uint64_t data = rs_nic_get_counters(l->nic)->tx_data_bytes;
	int64_t ns;
	bool waits;

	/* since the last look: what a woken application answers, it posts behind one */
	if (data != l->bulk_data || now - l->bulk_ns > rs_live_tuning.stream_gap_ns)
		l->bulk = 0;
	if (data != l->bulk_data)
		rs_gather_answered(&l->gather);
	l->bulk_data = data;
	if (any)
		l->bulk_ns = now;
	waits = rs_gather_looked(&l->gather, l->came, now);
	ns = waits && any && !l->more ? gathering_ns(l) : 0;
	l->came = l->reader = 0;
	if (ns >= rs_live_tuning.pause_min_ns)
		l->pause_until = rs_clock_ns() + ns;
}

static void wake(struct rs_live *l)
{
	uint64_t one = 1;

	if (write(l->wake, &one, sizeof(one)) < 0 && errno != EAGAIN)
		return;
}

void rs_progress_rouse(struct rs_live *l)
{
	if (atomic_load(&l->sleeps))
		wake(l);
}

/* The thread sees to ACKs that wait, if the application does not come back. */
static void watch_acks(struct rs_live *l)
{
	if (!l->tx.acks)
		return;
	atomic_store_explicit(&l->held, true, memory_order_relaxed);
	if (!l->polling || l->tx.acks_since + rs_live_tuning.ack_hold >= l->sleeping_until ||
	    atomic_load(&l->naps))
		return;
	l->sleeping_until = l->tx.acks_since + rs_live_tuning.ack_hold;
	wake(l);
}

/* What is due, and what that and the packets that came made ready to send. */
static void act(struct rs_live *l, int64_t now_ns)
{
	rs_time clock = rs_time_max(l->clock, (now_ns - l->epoch_ns) * RS_NS);
	rs_time now = rs_time_max(clock, l->floor);

	rs_flow_expire(&l->flow, now);
	if (l->pendings)
		rs_steer_again(l, now);
	l->tx.hold = l->bulk || !polled_within(l, now_ns, rs_live_tuning.active_ns) ? 0
		     : l->polling ? rs_live_tuning.ack_hold_polled
				  : rs_live_tuning.ack_hold;
	rs_tx_run_at(l, clock);
	watch_acks(l);
}

/* ACKs go after each batch: their peer may wait for them to send more. */
static bool receive(struct rs_live *l, int64_t now_ns)
{
	enum rs_rx_found found = rs_rx_run(l);
	bool any = found != RS_RX_NONE;

	/* what came is seen to first */
	if (now_ns - l->stray_ns > (any ? rs_live_tuning.stray_max_ns : rs_live_tuning.stray_ns)) {
		l->stray_ns = now_ns;
		any |= rs_rx_strays(l);
	}
	for (unsigned i = 1; i < rs_live_tuning.rx_rounds && found == RS_RX_MORE; i++) {
		act(l, now_ns);
		found = rs_rx_run(l);
	}
	l->more = found == RS_RX_MORE;
	l->socket_ns = now_ns;
	return any;
}

/* Nothing came by a ring, and nothing else may be due: a poll in vain is a poll that a packet waits
 * for. */
static bool nothing_to_do(const struct rs_live *l)
{
	const struct rs_tx *t = &l->tx;

	return !t->acks && !t->runs && !t->blocked && !l->deferred && !l->flow.window.charged &&
	       deadline(l) > rs_live_clock(l);
}

/* A completion that the application asked to be told of. */
static void tell_event(struct rs_live *l)
{
	if (rs_nic_take_event(l->nic) && l->on_event)
		l->on_event(l->event_arg);
}

/* Locked: what there is for the thread, it does without being waited for. */
static void leave_to_thread(struct rs_live *l)
{
	l->deferred = true;
	if (atomic_load(&l->sleeps) || atomic_load(&l->naps))
		wake(l);
}

/* A stream begins or ends: much is on its way, or comes. The thread of a lane, which naps while the
 * application polls, is up from then on. */
static void note_stream(struct rs_live *l)
{
	bool now = l->flow.window.charged >= rs_live_tuning.defer_bytes || l->bulk;

	if (now == atomic_load_explicit(&l->streams, memory_order_relaxed))
		return;
	atomic_store(&l->streams, now);
	if (now && atomic_load(&l->naps))
		wake(l);
}

/* Socket and rings; while rings bring what comes, they alone, which takes no time to speak of. */
static bool drive(struct rs_live *l, bool look, int64_t now_ns)
{
	bool socket = rs_shm_quiet(l, now_ns), any;

	if (l->forked)
		return false;
	any = socket && look && receive(l, now_ns);
	any |= rs_shm_receive(l, now_ns);
	if (socket || any || !nothing_to_do(l))
		act(l, now_ns);
	if (socket && look)
		judge_stream(l, any, now_ns);
	if (__builtin_expect(is_lane(l), 0))
		note_stream(l);
	tell_event(l);
	return any;
}

/* Much is on its way, nothing is due: looking for ACKs time and again brings none sooner. */
static bool may_rest(struct rs_live *l)
{
	return l->flow.window.charged >= rs_live_tuning.rest_bytes && !l->tx.blocked &&
	       deadline(l) - rs_live_clock(l) > rs_live_tuning.rest_late_ns * RS_NS;
}

/* A stream gathers, and rings bring nothing: who polls has nothing to look at for a while. */
static bool may_doze(const struct rs_live *l, int64_t now)
{
	return l->pause_until - now >= rs_live_tuning.pause_rest_ns &&
	       !rs_shm_heard_within(l, now, rs_live_tuning.active_ns);
}

bool rs_live_progress(struct rs_live *l)
{
	int64_t now = rs_live_ns();
	bool look = now >= l->pause_until;

	if (streams(l)) {
		l->rest = false;
		return false;
	}
	rs_row_polled(&l->row, now);

	atomic_store_explicit(&l->polled_ns, now, memory_order_relaxed);
	if (atomic_load_explicit(&l->polls, memory_order_relaxed) < rs_live_tuning.sleeper_polls)
		atomic_fetch_add_explicit(&l->polls, 1, memory_order_relaxed);
	l->polling = true;
	if (drive(l, look, now)) {
		l->received_ns = now;
		l->rest = false;
		l->polling = false;
		return true;
	}
	l->polling = false;
	l->rest = look ? may_rest(l) : may_doze(l, now);
	return !l->rest && (!look || now - l->received_ns < rs_live_tuning.spin_ns);
}

void rs_live_rest(struct rs_live *l, bool yields)
{
	const struct timespec rest = {0, rs_live_tuning.rest_ns};

	if (!l->rest) {
		if (yields && !asks_to_be_told(l))
			sched_yield();
		return;
	}
	/* The thread does not take over while the application oversleeps. */
	atomic_store_explicit(&l->polled_ns, rs_clock_ns() + rs_live_tuning.rest_late_ns,
			      memory_order_relaxed);
	nanosleep(&rest, NULL);
}

/* Whoever polls and sends for long is still at it. */
void rs_progress_sent(struct rs_live *l, rs_time now)
{
	if (l->polling)
		atomic_store_explicit(&l->polled_ns, l->epoch_ns + now / RS_NS,
				      memory_order_relaxed);
}

void rs_live_polled(struct rs_live *l)
{
	int64_t now = rs_live_ns();

	if (streams(l))
		return;
	atomic_store_explicit(&l->polled_ns, now, memory_order_relaxed);
	rs_row_polled(&l->row, now);
	if (l->row.waiting)
		rs_live_kick(l);
}

void rs_live_kick(struct rs_live *l)
{
	if (l->forked)
		return;
	if (streams(l)) {
		leave_to_thread(l);
		return;
	}
	rs_tx_run(l);
	tell_event(l);
	if (l->tx.blocked || deadline(l) < l->sleeping_until) {
		l->sleeping_until = deadline(l);
		/* Who naps looks at the deadline when it wakes. */
		if (!atomic_load(&l->naps))
			wake(l);
	}
}

void rs_live_awaited(struct rs_live *l)
{
	atomic_store_explicit(&l->polls, 0, memory_order_relaxed);
	rs_live_kick(l);
	if (atomic_load(&l->naps))
		wake(l);
}

uint64_t rs_live_join(struct rs_live *l, const struct rs_qp *qp, bool loose)
{
	struct rs_window_to to;
	struct rs_qp_attr a;
	uint64_t charged;

	/* each post comes by here; where it goes changes by a reset, or is seen when it goes */
	if (rs_window_joined(&l->flow.window, rs_qp_num(qp) - l->flow.first_qpn, &charged))
		return charged;
	rs_qp_query(qp, &a);
	if (a.dest_endpoint >= l->paths.fresh || !l->paths.path[a.dest_endpoint].used)
		return 0;
	to = rs_live_to(l, a.dest_endpoint, a.dest_qpn);
	return rs_flow_join(&l->flow, qp, &to, loose);
}

bool rs_live_fills(const struct rs_live *l, const struct rs_qp *qp)
{
	uint32_t number = rs_qp_num(qp) - l->flow.first_qpn;
	uint64_t charged;

	return l->fill && !l->stamps && !l->selective &&
	       rs_window_joined(&l->flow.window, number, &charged) && charged &&
	       rs_window_fills(&l->flow.window, number);
}

void rs_live_left(struct rs_live *l, const struct rs_qp *qp)
{
	rs_flow_left(&l->flow, rs_qp_num(qp));
}

/* A row may be longer than a program that polls stays away from its polls: each post says that it
 * is at it. */
static bool row_holds(struct rs_live *l, unsigned requests)
{
	if (application_sleeps(l) || !rs_row_holds(&l->row, requests))
		return false;
	atomic_store_explicit(&l->polled_ns, rs_live_ns(), memory_order_relaxed);
	return true;
}

void rs_live_posted(struct rs_live *l, struct rs_qp *qp, unsigned requests)
{
	uint64_t charged;

	if (l->forked)
		return;
	charged = rs_live_join(l, qp, false);
	if (streams(l)) {
		leave_to_thread(l);
		return;
	}
	/* An ACK of what flies, or the thread's next look, brings a drive if no poll does. */
	l->deferred = (charged && row_holds(l, requests)) ||
		      (charged >= rs_live_tuning.defer_bytes && application_polls(l));
	if (!l->deferred)
		rs_live_kick(l); /* which reads the clock */
	rs_row_posted(&l->row,
		      l->deferred ? rs_live_ns() : l->epoch_ns + (int64_t)(l->clock / RS_NS));
}

enum { OWN_EVENTS = 4 };

/* Locked: what to wait for, and how long; from here on the device tells whoever waits. */
static int64_t watch(struct rs_live *l, struct pollfd f[OWN_EVENTS])
{
	int64_t ns = rs_live_tuning.sleep_ns;

	f[0] = (struct pollfd){.fd = l->udp, .events = POLLIN};
	f[1] = (struct pollfd){.fd = l->stray, .events = POLLIN};
	f[2] = (struct pollfd){.fd = l->wake, .events = POLLIN};
	f[3] = (struct pollfd){.fd = rs_near_descriptor(l), .events = POLLIN};
	if (deadline(l) != RS_NEVER && (deadline(l) - rs_live_now(l)) / RS_NS < ns)
		ns = (deadline(l) - rs_live_now(l)) / RS_NS;
	l->sleeping_until = deadline(l);
	if (l->tx.acks && ns > rs_live_tuning.ack_hold / RS_NS) {
		ns = rs_live_tuning.ack_hold / RS_NS;
		l->sleeping_until = rs_live_now(l) + rs_live_tuning.ack_hold;
	}
	if (l->tx.blocked)
		f[0].events |= POLLOUT;
	atomic_store(&l->sleeps, true);
	if (!rs_shm_sleep(l) || l->deferred)
		ns = 0;
	return ns < 0 ? 0 : ns;
}

/* -EINTR: a signal came. */
static int sleep_on(struct rs_live *l, struct pollfd *f, unsigned n, int64_t ns)
{
	struct timespec ts = {ns / 1000000000, ns % 1000000000};
	int err = ppoll(f, n, &ts, NULL) < 0 ? -errno : 0;
	uint64_t kicks;

	/* EINVAL: the process may have fewer descriptors than these from now on (RLIMIT_NOFILE) */
	if (err && err != -EINTR) {
		ts = (struct timespec){0,
				       ns < rs_live_tuning.look_ns ? ns : rs_live_tuning.look_ns};
		nanosleep(&ts, NULL);
	}
	atomic_store(&l->sleeps, false);
	if (read(l->wake, &kicks, sizeof(kicks)) < 0)
		rs_assert(errno == EAGAIN);
	return err == -EINTR ? err : 0;
}

/* Wait for a datagram, room to send, a kick or a deadline. */
static void wait_events(struct rs_live *l)
{
	struct pollfd f[OWN_EVENTS];
	int64_t ns;

	rs_live_lock(l);
	ns = watch(l, f);
	rs_live_unlock(l);
	sleep_on(l, f, OWN_EVENTS, ns);
}

/*
 * An application that waits minds the device itself: what comes by the wire wakes it alone, where
 * the thread would be woken for the datagram and then wake the application. The thread stands
 * aside: it looks now and then whether the application still comes back; after some looks at a
 * minder that has not moved it sleeps until it is told.
 */
static void stand_aside(struct rs_live *l)
{
	struct pollfd told = {.fd = l->aside, .events = POLLIN};
	const struct timespec look = {0, rs_live_tuning.look_max_ns};
	unsigned minds = atomic_load(&l->minds), still = 0;
	uint64_t n;

	while (atomic_load(&l->minded) && !atomic_load(&l->stop)) {
		bool deep = still >= rs_live_tuning.aside_looks;

		atomic_store(&l->deep, deep);
		if (deep && !atomic_load(&l->minded))
			break;
		if (ppoll(&told, 1, deep ? NULL : &look, NULL) < 0 && errno != EINTR)
			nanosleep(&look, NULL);
		if (read(l->aside, &n, sizeof(n)) < 0)
			rs_assert(errno == EAGAIN);
		still = atomic_load(&l->minds) == minds ? still + 1 : 0;
		minds = atomic_load(&l->minds);
	}
	atomic_store(&l->deep, false);
}

static void back_from_aside(struct rs_live *l)
{
	uint64_t one = 1;

	atomic_store(&l->minded, false);
	atomic_fetch_add(&l->minds, 1);
	if (atomic_load(&l->deep) && write(l->aside, &one, sizeof(one)) < 0 && errno != EAGAIN)
		return;
}

/* What came is taken; a stream is left to gather first. */
static int mind(struct rs_live *l, struct pollfd *f, unsigned n, int64_t most_ns)
{
	struct timespec gather = {0};
	int64_t ns;
	int err;

	rs_live_lock(l);
	gather.tv_nsec = l->pause_until - rs_clock_ns();
	if (gather.tv_nsec > 0) {
		rs_live_unlock(l);
		nanosleep(&gather, NULL);
		rs_live_lock(l);
		drive(l, true, rs_clock_ns());
	}
	rs_tx_flush_acks(l);
	ns = watch(l, f + n);
	if (gather.tv_nsec > 0) /* what came then may be what the application waits for */
		ns = 0;
	rs_live_unlock(l);
	err = sleep_on(l, f, n + OWN_EVENTS, ns < most_ns ? ns : most_ns);
	rs_live_lock(l);
	atomic_store_explicit(&l->polled_ns, rs_clock_ns(), memory_order_relaxed);
	drive(l, true, rs_clock_ns());
	rs_live_unlock(l);
	return err;
}

int rs_live_mind(struct rs_live *l, const struct pollfd *own, unsigned n, int64_t ns)
{
	struct pollfd f[RS_LIVE_MIND_MAX + OWN_EVENTS];
	const struct timespec ts = {ns / 1000000000, ns % 1000000000};
	bool none = false;
	int cancel, err;

	rs_assert(n <= RS_LIVE_MIND_MAX);
	if (n)
		memcpy(f, own, n * sizeof(*own));
	/* one minder is enough */
	if (l->forked || !atomic_compare_exchange_strong(&l->minded, &none, true))
		return ppoll(f, n, &ts, NULL) < 0 ? -errno : 0;
	/* a thread that is cancelled would leave the device without a minder */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (atomic_load(&l->sleeps)) /* the thread waits where we are about to */
		wake(l);
	err = mind(l, f, n, ns);
	back_from_aside(l);
	pthread_setcancelstate(cancel, NULL);
	return err;
}

/*
 * A program at a real-time priority that spins on its memory does not let a thread of the same
 * priority have its core before its slice ends, 100 ms for Linux. Once that was seen, and where it
 * is allowed, the thread goes before the program. Not sooner: it would be in the way of one that
 * polls.
 */
static void go_before(void)
{
	struct sched_param p;
	int policy;

	if (pthread_getschedparam(pthread_self(), &policy, &p) ||
	    (policy != SCHED_FIFO && policy != SCHED_RR))
		return;
	p.sched_priority++;
	pthread_setschedparam(pthread_self(), policy, &p);
}

static void mind_starving(struct rs_live *l, int64_t since)
{
	int64_t now = rs_clock_ns();

	if (l->before || now - since < rs_live_tuning.starved_ns ||
	    polled_within(l, now, rs_live_tuning.starved_ns / 2))
		return;
	l->before = true;
	go_before();
}

/*
 * Rings bring packets, and nobody is woken for each: while the application polls they are looked at
 * now and then, for what it spins on in its memory; else until they are silent. False: they are.
 * No yield: Linux takes a whole slice for each, and on a shared core that adds up to stalls.
 */
static bool mind_rings(struct rs_live *l)
{
	const struct timespec look = {0, rs_live_tuning.ring_look_ns};
	int64_t now = rs_clock_ns();

	if (application_polls(l) && rs_shm_heard_within(l, now, rs_live_tuning.active_ns)) {
		nanosleep(&look, NULL);
		mind_starving(l, now);
		return true;
	}
	return rs_shm_heard_within(l, now,
				   application_sleeps(l) ? rs_live_tuning.ring_spin_sleeper_ns
							 : rs_live_tuning.ring_spin_ns);
}

/* As long as the application polled already allows, unless something may wait for its next poll. */
static int64_t nap_ns(struct rs_live *l, int64_t since)
{
	int64_t ns = (rs_clock_ns() - since) / rs_live_tuning.look_share;

	if (atomic_exchange(&l->held, false) || ns < rs_live_tuning.look_ns)
		return rs_live_tuning.look_ns;
	return ns < rs_live_tuning.look_max_ns ? ns : rs_live_tuning.look_max_ns;
}

/* While the application polls: true when it still does. */
static bool nap(struct rs_live *l, int64_t since)
{
	struct pollfd woken = {.fd = l->wake, .events = POLLIN};
	int64_t ns = nap_ns(l, since), end = rs_clock_ns() + ns;
	struct timespec look = {0, ns};
	uint64_t kicks;

	atomic_store(&l->naps, true);
	if (ppoll(&woken, 1, &look, NULL) < 0 && errno != EINTR)
		nanosleep(&look, NULL); /* see wait_events() */
	atomic_store(&l->naps, false);
	mind_starving(l, end);
	return read(l->wake, &kicks, sizeof(kicks)) < 0 && application_polls(l);
}

static void *thread(void *arg)
{
	const struct timespec shortly = {0, rs_live_tuning.shortly_ns};
	struct rs_live *l = arg;
	int64_t watch_until = 0;
	unsigned needless = 0;

	prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); /* 50 us are three packets at 2 Gb/s */
	while (!atomic_load(&l->stop)) {
		struct timespec pause = {0, 0};
		bool napped = false;

		if (atomic_load(&l->minded)) {
			stand_aside(l);
			continue;
		}
		if (application_polls(l) && rs_clock_ns() >= watch_until) {
			int64_t since = rs_clock_ns();

			napped = true;
			while (nap(l, since))
				;
		}
		if (!napped && !streams(l) && !application_sleeps(l) &&
		    polled_within(l, rs_clock_ns(), rs_live_tuning.shortly_ns)) {
			if (++needless >= rs_live_tuning.needless_max)
				watch_until = 0;
			nanosleep(&shortly, NULL);
			continue;
		}
		/* In the way of an application that polls, and beaten to it: nothing to do here. */
		needless++;
		if (pthread_mutex_trylock(&l->lock) == 0) {
			if (drive(l, true, rs_clock_ns())) {
				needless = 0;
				if (napped)
					watch_until = rs_clock_ns() + rs_live_tuning.watch_ns;
			}
			pause.tv_nsec = l->pause_until - rs_clock_ns();
			rs_live_unlock(l);
		}
		if (needless >= rs_live_tuning.needless_max)
			watch_until = 0;
		if (pause.tv_nsec > 0)
			nanosleep(&pause, NULL);
		else if (!mind_rings(l))
			wait_events(l);
	}
	return NULL;
}

int rs_progress_start(struct rs_live *l)
{
	const struct rs_row_tuning row = {.gather = rs_live_tuning.gather,
					  .gain_ns = rs_live_tuning.send_ns,
					  .least = rs_live_tuning.earn_least_ns,
					  .most = rs_live_tuning.earn_most_ns,
					  .pardon = rs_live_tuning.earn_pardon,
					  .prompt_ns = rs_live_tuning.prompt_ns,
					  .long_ns = rs_live_tuning.in_vain_ns};
	const struct rs_answers_tuning answers = {.least = rs_live_tuning.answers,
						  .within = rs_live_tuning.answered_within};
	const struct rs_gather_tuning gather = {.stretch = rs_live_tuning.stream_bytes,
						.gap_ns = rs_live_tuning.stream_gap_ns,
						.slower = rs_live_tuning.stream_slower,
						.tries = rs_live_tuning.stream_tries,
						.agree = rs_live_tuning.stream_agree,
						.rest = rs_live_tuning.stream_rest,
						.rest_most = rs_live_tuning.stream_rest_most};
	sigset_t every, old;
	int err;

	l->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	l->aside = l->wake < 0 ? -1 : eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (l->aside < 0) {
		err = -errno;
		if (l->wake >= 0)
			close(l->wake);
		return err;
	}
	l->sleeping_until = RS_NEVER;
	atomic_store(&l->polls, rs_live_tuning.sleeper_polls);
	rs_row_init(&l->row, &row);
	rs_gather_init(&l->gather, &gather);
	rs_answers_init(&l->tx.answers, &answers);
	/* Signals are the program's: none of its handlers runs on this thread. */
	sigfillset(&every);
	rs_guard_allow(&every);
	pthread_sigmask(SIG_SETMASK, &every, &old);
	err = -pthread_create(&l->thread, NULL, thread, l);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err) {
		close(l->wake);
		close(l->aside);
	}
	return err;
}

void rs_progress_stop(struct rs_live *l)
{
	if (!l->forked) {
		uint64_t one = 1;

		atomic_store(&l->stop, true);
		wake(l);
		if (write(l->aside, &one, sizeof(one)) < 0)
			rs_assert(errno == EAGAIN);
		pthread_join(l->thread, NULL);
	}
	close(l->wake);
	close(l->aside);
}
