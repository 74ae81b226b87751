/* The two ends of runs: see run.h. */
#include "window/run.h"

#include <stddef.h>
#include "base/error.h"

static struct rs_run_ticket *ticket_of(struct rs_run_ticket *all, uint64_t number)
{
	return &all[number % RS_RUN_TICKETS];
}

static uint32_t push_of(const struct rs_run_ticket *t)
{
	return atomic_load_explicit(&t->push, memory_order_acquire);
}

/* ---- The sender's end ---- */

void rs_runs_out_note(struct rs_runs_out *o)
{
	uint64_t done = atomic_load_explicit(o->done_word, memory_order_acquire);

	if (done > o->done && done <= o->sent)
		o->done = done;
	if (o->looked < o->done)
		o->looked = o->done;
}

struct rs_run_ticket *rs_runs_out_ticket(struct rs_runs_out *o)
{
	struct rs_run_ticket *t = ticket_of(o->ticket, o->sent);

	if (o->sent - o->done == RS_RUN_TICKETS)
		rs_runs_out_note(o);
	if (o->sent - o->done == RS_RUN_TICKETS)
		return NULL;
	atomic_store_explicit(&t->pull, RS_RUN_PULL_IDLE, memory_order_relaxed);
	atomic_store_explicit(&t->push, RS_RUN_PUSH_UNDECIDED, memory_order_relaxed);
	return t;
}

void rs_runs_out_sent(struct rs_runs_out *o, const struct rs_run_sent *run)
{
	rs_assert(o->sent - o->done < RS_RUN_TICKETS && !run->forbidden);
	o->run[o->sent++ % RS_RUN_TICKETS] = *run;
}

/* The grant is a claim, but what is copied is this run's, and goes to the one that claims it. */
static bool take(struct rs_runs_out *o, uint64_t number, struct rs_run_copy *c)
{
	const struct rs_run_sent *run = &o->run[number % RS_RUN_TICKETS];
	struct rs_run_ticket *t = ticket_of(o->ticket, number);
	uint32_t granted = RS_RUN_PUSH_GRANTED;

	*c = (struct rs_run_copy){
		.number = number,
		.from = run->at,
		.to = atomic_load_explicit(&t->push_to, memory_order_relaxed),
		.bytes = atomic_load_explicit(&t->push_bytes, memory_order_relaxed),
		.qpn = run->qpn,
		.psn = run->psn,
	};
	if (!atomic_compare_exchange_strong(&t->push, &granted, RS_RUN_PUSH_TAKEN))
		return false;
	if (c->bytes <= run->bytes && !run->forbidden)
		return true;
	rs_runs_out_pushed(o, number, RS_RUN_PUSH_NONE);
	return false;
}

bool rs_runs_out_push(struct rs_runs_out *o, struct rs_run_copy *c)
{
	while (o->looked < o->sent) {
		uint32_t state = push_of(ticket_of(o->ticket, o->looked));

		if (state == RS_RUN_PUSH_UNDECIDED)
			return false;
		o->looked++;
		if (state == RS_RUN_PUSH_GRANTED && take(o, o->looked - 1, c))
			return true;
	}
	return false;
}

void rs_runs_out_pushed(struct rs_runs_out *o, uint64_t number, enum rs_run_push how)
{
	atomic_store_explicit(&ticket_of(o->ticket, number)->push, how, memory_order_release);
}

bool rs_runs_out_reads(const struct rs_runs_out *o, uint64_t number)
{
	return atomic_load_explicit(&ticket_of(o->ticket, number)->pull, memory_order_acquire) ==
	       RS_RUN_PULL_BUSY;
}

void rs_runs_out_give_up(struct rs_runs_out *o)
{
	o->stuck = true;
	o->stops = 0;
}

enum rs_run_stop rs_runs_out_forbid(struct rs_runs_out *o, uint64_t number)
{
	uint32_t idle = RS_RUN_PULL_IDLE;

	rs_assert(number < o->sent && o->sent - number <= RS_RUN_TICKETS);
	o->run[number % RS_RUN_TICKETS].forbidden = true;
	if (o->stuck)
		return RS_RUN_STUCK;
	if (o->stopping != number)
		o->stops = 0;
	o->stopping = number;
	if (atomic_compare_exchange_strong(&ticket_of(o->ticket, number)->pull, &idle,
					   RS_RUN_PULL_FORBIDDEN) ||
	    idle != RS_RUN_PULL_BUSY)
		return RS_RUN_STOPPED;
	if (++o->stops < o->stops_max)
		return RS_RUN_READ;
	rs_runs_out_give_up(o);
	return RS_RUN_STUCK;
}

/* ---- The receiver's end ---- */

static struct rs_run_ticket *ticket_at(const struct rs_runs_in *in, unsigned i)
{
	return ticket_of(in->ticket, in->done + i);
}

bool rs_runs_in_may_copy(struct rs_runs_in *in, uint32_t qpn, uint32_t *ahead)
{
	*ahead = 0;
	for (unsigned i = 0; i < in->pending; i++) {
		const struct rs_run_come *r = rs_runs_in_at(in, i);
		uint32_t push = push_of(ticket_at(in, i));

		/* nor may newer bytes be written before those that are yet to be read here */
		if (!r->place ||
		    (r->granted && (push == RS_RUN_PUSH_NONE || push == RS_RUN_PUSH_FAILED)))
			return false;
		if (r->qpn == qpn)
			*ahead += r->packets;
	}
	return true;
}

static bool overlap(const uint8_t *a, size_t n, const uint8_t *b, size_t m)
{
	return (uintptr_t)a < (uintptr_t)b + m && (uintptr_t)b < (uintptr_t)a + n;
}

/* Would bytes that are copied now be overwritten by older ones: those that the sender has yet to
 * write, or a tail? */
static bool overlaps(struct rs_runs_in *in, const struct rs_run_come *new)
{
	uint32_t early = new->bytes - new->tail_bytes;

	for (unsigned i = 0; i < in->pending; i++) {
		const struct rs_run_come *r = rs_runs_in_at(in, i);

		if (overlap(r->place + r->bytes - r->tail_bytes, r->tail_bytes, new->place, early))
			return true;
		if (push_of(ticket_at(in, i)) != RS_RUN_PUSH_DONE &&
		    overlap(r->place, r->granted, new->place + new->granted, early - new->granted))
			return true;
	}
	return false;
}

/* The first half, to a page's end: the same bytes' for all WRITEs to one place. */
static uint32_t first_half(const struct rs_run_come *r)
{
	uintptr_t middle = ((uintptr_t)r->place + r->bytes / 2) & ~(uintptr_t)(RS_RUN_PAGE - 1);

	return middle > (uintptr_t)r->place ? (uint32_t)(middle - (uintptr_t)r->place) : 0;
}

static void grant(const struct rs_runs_in *in, struct rs_run_ticket *t, struct rs_run_come *r)
{
	if (in->no_grants || !r->granted) {
		r->granted = 0;
		atomic_store_explicit(&t->push, RS_RUN_PUSH_NONE, memory_order_release);
		return;
	}
	atomic_store_explicit(&t->push_to, (uintptr_t)r->place, memory_order_relaxed);
	atomic_store_explicit(&t->push_bytes, r->granted, memory_order_relaxed);
	atomic_store_explicit(&t->push, RS_RUN_PUSH_GRANTED, memory_order_release);
}

uint32_t rs_runs_in_begin(struct rs_runs_in *in, const struct rs_run_come *come, rs_time now)
{
	struct rs_run_come *r = rs_runs_in_at(in, in->pending);

	rs_assert(in->pending < RS_RUN_PENDING);
	*r = *come;
	r->since = now;
	r->granted = r->place ? first_half(r) : 0;
	r->tail_bytes = r->place ? RS_RUN_TAIL : 0;
	if (r->place && (r->bytes < r->granted + RS_RUN_TAIL || overlaps(in, r)))
		r->place = NULL;
	if (!r->place)
		r->granted = r->tail_bytes = 0;
	grant(in, ticket_at(in, in->pending), r);
	in->pending++;
	return r->place ? r->granted : r->bytes;
}

bool rs_runs_in_pull(struct rs_runs_in *in, unsigned i)
{
	uint32_t idle = RS_RUN_PULL_IDLE;

	return atomic_compare_exchange_strong(&ticket_at(in, i)->pull, &idle, RS_RUN_PULL_BUSY);
}

void rs_runs_in_pulled(struct rs_runs_in *in, unsigned i)
{
	uint32_t busy = RS_RUN_PULL_BUSY;

	atomic_compare_exchange_strong(&ticket_at(in, i)->pull, &busy, RS_RUN_PULL_IDLE);
}

/* From the newest on, so that what is then read here is not older than what the sender wrote. */
void rs_runs_in_revoke(struct rs_runs_in *in)
{
	for (unsigned i = in->pending; i-- > 0;) {
		uint32_t granted = RS_RUN_PUSH_GRANTED;

		if (rs_runs_in_at(in, i)->granted &&
		    !atomic_compare_exchange_strong(&ticket_at(in, i)->push, &granted,
						    RS_RUN_PUSH_NONE))
			return;
	}
}

/*
 * The oldest's first half is about to be read here after all, as the sender could not write it.
 * What the sender wrote of newer runs since is older then than what lies there.
 */
static void spoil(struct rs_runs_in *in)
{
	const struct rs_run_come *old = rs_runs_in_at(in, 0);

	for (unsigned i = 1; i < in->pending; i++) {
		struct rs_run_come *r = rs_runs_in_at(in, i);

		r->spoilt |= r->granted && overlap(old->place, old->granted, r->place, r->granted);
	}
}

enum rs_run_step rs_runs_in_step(struct rs_runs_in *in, rs_time now, uint32_t *bytes)
{
	struct rs_run_come *r = rs_runs_in_at(in, 0);
	uint32_t state = push_of(ticket_at(in, 0));

	rs_assert(in->pending);
	if (r->granted && state == RS_RUN_PUSH_GRANTED && now - r->since >= in->grant_time) {
		rs_runs_in_revoke(in);
		state = push_of(ticket_at(in, 0));
	}
	if (r->granted && (state == RS_RUN_PUSH_TAKEN || state == RS_RUN_PUSH_GRANTED))
		return RS_RUN_WAIT;
	if (r->failed)
		return RS_RUN_DROP;
	if (!r->granted || (state == RS_RUN_PUSH_DONE && !r->spoilt))
		return RS_RUN_EXECUTE;
	in->no_grants |= state == RS_RUN_PUSH_FAILED;
	spoil(in);
	*bytes = r->granted;
	r->granted = 0;
	return RS_RUN_PULL;
}

void rs_runs_in_finished(struct rs_runs_in *in)
{
	rs_assert(in->pending);
	in->pending--;
	in->done++;
	atomic_store_explicit(in->done_word, in->done, memory_order_release);
}

bool rs_runs_in_written(const struct rs_runs_in *in, unsigned i)
{
	const struct rs_run_come *r = &in->run[(in->done + i) % RS_RUN_PENDING];

	return r->granted && push_of(ticket_at(in, i)) == RS_RUN_PUSH_TAKEN;
}

void rs_runs_in_put_back(struct rs_runs_in *in, unsigned i)
{
	struct rs_run_come *r = rs_runs_in_at(in, i);

	r->place = NULL;
	r->granted = r->tail_bytes = 0;
}
