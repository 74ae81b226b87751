/*
 * The two ends of runs (window/run.h) against each other: copies that the other end interrupts at
 * any page, ends that do not run for a while or never again, copies that the kernel refuses,
 * requests that end while their bytes are read, memory that goes while it is written, and an end
 * that lies in every word that both can write. Whatever comes, an end keeps to its own memory;
 * between honest ends all bytes arrive, in the order of the runs, and no end waits for ever for one
 * that does not run.
 *
 * test_copies [--seed N] [--from N] [--runs N] [--seconds N]: one seed replays exactly.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "property/hostile.h"

/* The machines themselves, interrupted by the other end before any of their words is read. */
static void between(void);

static bool exchange(_Atomic uint32_t *word, uint32_t *was, uint32_t is)
{
	between();
	return atomic_compare_exchange_strong(word, was, is);
}

#undef atomic_compare_exchange_strong
#undef atomic_load_explicit
#define atomic_compare_exchange_strong    exchange
#define atomic_load_explicit(word, order) (between(), *(word))
#include "window/run.c"
#include "window/tuning.h"

#define CHECK HOSTILE_CHECK

enum {
	PAGE = 4096,
	LONGEST = 10 * PAGE,
	PLACE = 16 * PAGE, /* the receiver's memory */
	QPS = 3,
	NONE = -1,
};

#define GRANT_TIME (20 * RS_US)
#define STEPS_MAX  200000

struct run {
	uint32_t bytes, packets, qpn, place;
	bool over;   /* the request is: acknowledged, or failed */
	bool freed;  /* its memory is the application's again */
	bool copied; /* something may have been written to its place */
};

struct world {
	struct rs_random random;
	rs_time now;
	struct rs_run_ticket ticket[RS_RUN_TICKETS];
	_Atomic uint64_t done_word;
	struct rs_runs_out out;
	struct rs_runs_in in;
	struct run run[RS_RUN_TICKETS]; /* by number */
	uint8_t source[RS_RUN_TICKETS][LONGEST];
	uint8_t *place; /* PLACE bytes */
	uint8_t tail[RS_RUN_PENDING][RS_RUN_TAIL];
	int64_t newest[PLACE]; /* the last run executed over a byte; NONE: not known */
	uint64_t read;         /* records: of out.sent, that came */
	uint64_t to_send, executed, dropped, shared;
	bool sending, receiving; /* an end is at it, and may be interrupted by the other */
	bool revoking, given_up;
	uint64_t waiting; /* for the reader of the run before this number; 0: for none */
	bool sender_lies, receiver_lies;
	uint32_t refuse;                      /* of 256 copies, the kernel does */
	uint32_t fail;                        /* of 65536 steps, requests do */
	uint32_t sleepy;                      /* of 256 pages, the other end is at it for long */
	rs_time sender_until, receiver_until; /* they do not run */
};

static struct world *now_in; /* the world that is run */

static void sender_step(struct world *w);
static void receiver_step(struct world *w);

static uint32_t below(struct world *w, uint32_t n)
{
	return rs_random_below(&w->random, n);
}

static bool honest(const struct world *w)
{
	return !w->sender_lies && !w->receiver_lies;
}

static struct run *run_of(struct world *w, uint64_t number)
{
	return &w->run[number % RS_RUN_TICKETS];
}

static uint8_t byte_of(uint64_t number, uint32_t at)
{
	return (uint8_t)(number * 151 + at * 7 + (at >> 8) * 29);
}

static void between(void)
{
	struct world *w = now_in;

	if (below(w, 16))
		return;
	w->now += below(w, 4000) * RS_NS;
	sender_step(w);
	receiver_step(w);
}

/* The other end goes on in the midst of a copy. */
static void interrupt(struct world *w)
{
	unsigned n = below(w, 256) < w->sleepy ? below(w, 60) : below(w, 3);

	for (; n; n--) {
		w->now += below(w, 4000) * RS_NS;
		sender_step(w);
		receiver_step(w);
	}
}

/* ---- Lies ---- */

static void lie(struct world *w)
{
	struct rs_run_ticket *t = &w->ticket[below(w, RS_RUN_TICKETS)];
	uint32_t near = (uint32_t)(w->in.done + below(w, RS_RUN_PENDING)) % RS_RUN_TICKETS;

	if (below(w, 2))
		t = &w->ticket[near];
	switch (below(w, 5)) {
	case 0:
		atomic_store(&t->push,
			     below(w, 8) ? below(w, 7) : (uint32_t)rs_random_u64(&w->random));
		break;
	case 1:
		atomic_store(&t->pull,
			     below(w, 8) ? below(w, 4) : (uint32_t)rs_random_u64(&w->random));
		break;
	case 2:
		atomic_store(&t->push_to, rs_random_u64(&w->random));
		break;
	case 3:
		atomic_store(&t->push_bytes, below(w, 2) ? below(w, 2 * LONGEST)
							 : (uint32_t)rs_random_u64(&w->random));
		break;
	default:
		if (w->receiver_lies)
			atomic_store(&w->done_word, below(w, 2) ? w->out.sent + below(w, 9) - 4
								: rs_random_u64(&w->random));
	}
}

/* ---- The sender ---- */

static void send_one(struct world *w)
{
	uint64_t n = w->out.sent;
	struct run *r = run_of(w, n);
	struct rs_run_sent s;

	if (!w->to_send || !rs_runs_out_ticket(&w->out))
		return;
	*r = (struct run){.qpn = below(w, QPS), .packets = 2 + below(w, 100)};
	r->bytes = 1 + (below(w, 4) ? below(w, LONGEST) : below(w, 2 * PAGE));
	r->place = below(w, PLACE - r->bytes + 1);
	if (below(w, 2))
		r->place &= ~(uint32_t)(PAGE - 1);
	for (uint32_t i = 0; i < r->bytes; i++)
		w->source[n % RS_RUN_TICKETS][i] = byte_of(n, i);
	s = (struct rs_run_sent){
		.at = n << 32, .bytes = r->bytes, .qpn = r->qpn, .psn = (uint32_t)n};
	rs_runs_out_sent(&w->out, &s);
	w->to_send--;
}

/* A copy into the receiver's memory: what an honest sender writes is granted as long as it writes.
 */
static void push(struct world *w, const struct rs_run_copy *c)
{
	const struct run *r = run_of(w, c->number);
	const struct rs_run_come *come;
	enum rs_run_push how = RS_RUN_PUSH_DONE;

	CHECK(c->from == c->number << 32 && c->bytes <= r->bytes && c->psn == (uint32_t)c->number);
	CHECK(!r->freed && c->qpn == r->qpn);
	if (r->over)
		how = RS_RUN_PUSH_NONE;
	else if (below(w, 256) < w->refuse)
		how = RS_RUN_PUSH_FAILED;
	for (uint32_t i = 0; how == RS_RUN_PUSH_DONE && honest(w) && i < c->bytes; i++) {
		if (i % PAGE == 0)
			interrupt(w);
		come = rs_runs_in_at(&w->in, (unsigned)(c->number - w->in.done));
		CHECK(c->number - w->in.done < w->in.pending && come->granted == c->bytes &&
		      (uintptr_t)come->place == c->to);
		come->place[i] = w->source[c->number % RS_RUN_TICKETS][i];
		w->shared++;
	}
	rs_runs_out_pushed(&w->out, c->number, how);
}

/* Requests fail: the memory of what is under way is the application's again. */
static void fail_requests(struct world *w)
{
	rs_runs_out_note(&w->out);
	for (uint64_t n = w->out.done; n < w->out.sent; n++)
		run_of(w, n)->over = true;
}

static void forbid_those_over(struct world *w)
{
	if (w->waiting && rs_runs_out_reads(&w->out, w->waiting - 1))
		return;
	w->waiting = 0;
	rs_runs_out_note(&w->out);
	for (uint64_t n = w->out.done; n < w->out.sent && !w->given_up; n++) {
		struct run *r = run_of(w, n);
		enum rs_run_stop stop =
			r->over && !r->freed ? rs_runs_out_forbid(&w->out, n) : RS_RUN_STOPPED;

		if (stop == RS_RUN_READ) {
			w->waiting = n + 1;
			return;
		}
		w->given_up = stop == RS_RUN_STUCK;
		if (!r->over || r->freed || w->given_up)
			continue;
		r->freed = true;
		memset(w->source[n % RS_RUN_TICKETS], 0xee, LONGEST);
	}
}

static void sender_step(struct world *w)
{
	struct rs_run_copy c;

	if (w->sending || w->given_up || w->now < w->sender_until)
		return;
	w->sending = true;
	if (w->sender_lies && below(w, 3) == 0)
		lie(w);
	if (below(w, 65536) < w->fail)
		fail_requests(w);
	forbid_those_over(w);
	if (below(w, 2))
		send_one(w);
	for (unsigned n = 0; n < 4 && rs_runs_out_push(&w->out, &c); n++)
		push(w, &c);
	rs_runs_out_note(&w->out);
	CHECK(w->out.done <= w->out.looked && w->out.looked <= w->out.sent &&
	      w->out.sent - w->out.done <= RS_RUN_TICKETS);
	if (below(w, 256) < w->sleepy)
		w->sender_until = w->now + (rs_time)below(w, 200) * RS_US;
	w->sending = false;
}

/* ---- The receiver ---- */

static uint64_t number_of(const struct world *w, unsigned i)
{
	return w->in.done + i;
}

/* A copy from the sender's memory, which it has not been forbidden as long as it reads. */
static bool pull(struct world *w, unsigned i, uint8_t *dst, uint32_t from, uint32_t to)
{
	const struct rs_run_come *r = rs_runs_in_at(&w->in, i);
	uint64_t n = number_of(w, i);
	uint32_t tail = to == r->bytes ? r->tail_bytes : 0;
	bool good;

	if (from == to)
		return true;
	if (!rs_runs_in_pull(&w->in, i))
		return false;
	good = below(w, 256) >= w->refuse;
	for (uint32_t k = from; good && k < to; k++) {
		uint8_t *at =
			k < to - tail ? dst + k : &w->tail[n % RS_RUN_PENDING][k - (to - tail)];

		if (k % PAGE == 0)
			interrupt(w);
		CHECK(!run_of(w, n)->freed || !honest(w));
		*at = w->source[n % RS_RUN_TICKETS][k];
	}
	rs_runs_in_pulled(&w->in, i);
	return good;
}

static void begin(struct world *w)
{
	unsigned i = w->in.pending;
	struct run *r = run_of(w, w->read);
	struct rs_run_come come = {
		.at = w->read << 32, .bytes = r->bytes, .packets = r->packets, .qpn = r->qpn};
	uint32_t ahead, expected = 0, from;

	CHECK(w->read == number_of(w, i));
	w->read++;
	for (unsigned k = 0; k < i; k++)
		expected += rs_runs_in_at(&w->in, k)->qpn == r->qpn
				    ? rs_runs_in_at(&w->in, k)->packets
				    : 0;
	come.failed = below(w, 64) == 0; /* a record that says nothing of sense */
	if (!come.failed && rs_runs_in_may_copy(&w->in, r->qpn, &ahead)) {
		CHECK(ahead == expected);
		if (below(w, 16)) /* else the engine has no place for it now */
			come.place = w->place + r->place;
	}
	r->copied = come.place;
	from = rs_runs_in_begin(&w->in, &come, w->now);
	CHECK(from <= r->bytes);
	if (!pull(w, i, come.place, from, r->bytes))
		rs_runs_in_at(&w->in, i)->failed = true;
}

static void set_newest(struct world *w, const struct run *r, int64_t number)
{
	for (uint32_t k = 0; k < r->bytes; k++)
		w->newest[r->place + k] = number;
}

/* Its bytes are there, or those of newer runs that are copied already. */
static void check_executed(struct world *w, const struct run *r, uint64_t number)
{
	for (uint32_t k = 0; honest(w) && k < r->bytes; k++) {
		bool good = w->place[r->place + k] == byte_of(number, k);

		for (unsigned i = 1; !good && i < w->in.pending; i++) {
			const struct rs_run_come *c = rs_runs_in_at(&w->in, i);
			uint32_t at = (uint32_t)(w->place + r->place + k - c->place);

			good = c->place && w->place + r->place + k >= c->place && at < c->bytes;
		}
		CHECK(good);
	}
}

static void drop(struct world *w, struct run *r)
{
	if (r->copied)
		set_newest(w, r, NONE);
	w->dropped++;
}

static void execute(struct world *w)
{
	const struct rs_run_come *c = rs_runs_in_at(&w->in, 0);
	uint64_t n = number_of(w, 0);
	struct run *r = run_of(w, n);

	if (!c->place && !pull(w, 0, w->place + r->place, 0, r->bytes)) {
		r->copied = true;
		drop(w, r);
		return;
	}
	memcpy(w->place + r->place + r->bytes - c->tail_bytes, w->tail[n % RS_RUN_PENDING],
	       c->tail_bytes);
	check_executed(w, r, n);
	set_newest(w, r, (int64_t)n);
	w->executed++;
}

static void finish(struct world *w)
{
	while (w->in.pending) {
		struct rs_run_come *c = rs_runs_in_at(&w->in, 0);
		uint64_t n = number_of(w, 0);
		uint32_t bytes;
		enum rs_run_step step = rs_runs_in_step(&w->in, w->now, &bytes);

		if (step == RS_RUN_WAIT)
			return;
		if (step == RS_RUN_PULL) {
			CHECK(c->place && bytes && bytes <= c->bytes);
			c->failed = !pull(w, 0, c->place, 0, bytes);
			continue;
		}
		if (step == RS_RUN_EXECUTE)
			execute(w);
		else
			drop(w, run_of(w, n));
		rs_runs_in_finished(&w->in);
	}
}

/* Memory is about to go: nothing is written to it from the moment that this is over. */
static void revoke(struct world *w)
{
	rs_runs_in_revoke(&w->in);
	for (unsigned i = 0; i < w->in.pending; i++)
		if (rs_runs_in_written(&w->in, i))
			return; /* the owner waits */
	for (unsigned i = 0; i < w->in.pending; i++)
		rs_runs_in_put_back(&w->in, i);
	w->revoking = false;
}

static void receiver_step(struct world *w)
{
	if (w->receiving || w->given_up || w->now < w->receiver_until)
		return;
	w->receiving = true;
	if (w->receiver_lies && below(w, 3) == 0)
		lie(w);
	if (w->revoking || below(w, 300) == 0) {
		w->revoking = true;
		revoke(w);
	} else {
		finish(w);
		for (unsigned n = below(w, 4); n && w->read < w->out.sent; n--) {
			if (w->in.pending == RS_RUN_PENDING)
				break;
			begin(w);
			finish(w);
		}
	}
	CHECK(w->in.pending <= RS_RUN_PENDING && w->in.done + w->in.pending == w->read);
	if (below(w, 256) < w->sleepy)
		w->receiver_until = w->now + (rs_time)below(w, 200) * RS_US;
	w->receiving = false;
}

/* ---- A world ---- */

static void make(struct world *w, uint64_t seed)
{
	w->random = rs_random_stream(seed, 2, 0x52554e);
	w->place = aligned_alloc(PAGE, PLACE);
	CHECK(w->place);
	memset(w->place, 0, PLACE);
	memset(w->newest, 0xff, sizeof(w->newest));
	w->out.ticket = w->in.ticket = w->ticket;
	w->out.done_word = w->in.done_word = &w->done_word;
	w->in.grant_time = GRANT_TIME;
	w->out.stops_max = rs_window_defaults.run_stops;
	w->to_send = 20 + below(w, 120);
	if (below(w, 4) == 0)
		*(below(w, 2) ? &w->sender_lies : &w->receiver_lies) = true;
	w->refuse = below(w, 4) ? 0 : below(w, 40);
	w->fail = below(w, 3) ? 0 : below(w, 2000);
	w->sleepy = below(w, 3) ? below(w, 20) : 0;
}

/* One end alone: it comes to an end with what it has. */
static void outlive_sender(struct world *w)
{
	rs_time end = w->now + 10 * RS_MS;

	w->sender_until = RS_NEVER;
	w->receiver_until = 0;
	while (w->in.pending || w->read < w->out.sent) {
		CHECK(w->now < end);
		w->now += RS_US;
		receiver_step(w);
	}
}

static void check_end(struct world *w)
{
	if (!honest(w) || w->given_up)
		return;
	CHECK(w->executed + w->dropped == w->read && w->in.done == w->read);
	for (uint32_t k = 0; k < PLACE; k++) {
		int64_t n = w->newest[k];
		const struct run *r = n == NONE ? NULL : run_of(w, (uint64_t)n);

		/* of the last 64 runs it is known where they were */
		if (r && (uint64_t)n + RS_RUN_TICKETS >= w->out.sent)
			CHECK(w->place[k] == byte_of((uint64_t)n, k - r->place));
	}
	if (!w->refuse && !w->fail)
		CHECK(w->executed + w->read / 8 + 8 >= w->read); /* but for senseless records */
}

static void run(uint64_t seed, struct hostile_counts *sum)
{
	struct world *w = calloc(1, sizeof(*w));
	uint64_t dies;

	CHECK(w);
	now_in = w;
	make(w, seed);
	dies = below(w, 4) ? UINT64_MAX : below(w, 100);
	for (unsigned step = 0; !w->given_up; step++) {
		if (w->out.sent >= dies)
			break;
		if (!w->to_send && w->out.done == w->out.sent)
			break;
		if (step >= STEPS_MAX) { /* a liar may stop its own runs */
			CHECK(!honest(w));
			break;
		}
		w->now += below(w, 3000) * RS_NS;
		if (below(w, 2))
			sender_step(w);
		else
			receiver_step(w);
	}
	if (!w->given_up && honest(w))
		outlive_sender(w);
	CHECK(!w->given_up || !honest(w));
	check_end(w);
	sum->runs++;
	sum->messages += w->read;
	sum->delivered += w->executed;
	sum->lost += w->dropped;
	free(w->place);
	free(w);
}

int main(int argc, char **argv)
{
	return hostile_main(argc, argv, "test_copies", 1000, run);
}
