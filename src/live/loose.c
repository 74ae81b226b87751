/*
 * What nobody acknowledges: UC, UD, responses to READs. A question goes behind it to the same
 * socket, first in, first out: its answer says that what was sent before has left the socket. Peers
 * that do not answer are no Ripstops, and take what a wire takes.
 */
#include "live/flight.h"
#include "live/grant.h"
#include "live/state.h"

enum { NONE = -1, COMMON = 0 };

#define KNOWN_WITHIN (20 * RS_MS)  /* a peer's first answer; until then it has a window, too */
#define AGAIN        (10 * RS_MS)  /* a question or its answer may be lost */
#define GIVE_UP      (250 * RS_MS) /* a process that does not run for a while is no stranger */

static uint64_t out(const struct rs_flight_peer *p)
{
	return p->loose.sent - p->loose.gone;
}

/* One packet always may go, so that a question follows it: requests cannot shut responses out,
 * whose ACKs they wait for. */
static bool full(const struct rs_flight_peer *p, uint64_t window)
{
	uint64_t n = out(p);

	return n && (p->charged >= window || n >= (p->charged > n ? window / 2 : window));
}

static void hold(struct rs_live *l, const struct rs_flight_peer *p, bool held)
{
	for (int32_t i = p->first; i != NONE; i = l->flight.qp[i].next) {
		struct rs_qp *qp = rs_nic_find_qp(l->nic, l->first_qpn + (uint32_t)i);

		if (qp && l->flight.qp[i].loose)
			rs_qp_hold(l->nic, qp, held);
		else if (qp)
			rs_qp_hold_reads(l->nic, qp, held);
	}
}

static void open_loose(struct rs_live *l, struct rs_flight_peer *p)
{
	uint64_t window = rs_flight_window(p);

	if (!p->loose.closed || full(p, window - window / 4))
		return;
	p->loose.closed = false;
	l->flight.closed--;
	hold(l, p, false);
}

/* So much has left the peer's socket, or is not counted any more. */
static void forget(struct rs_live *l, struct rs_flight_peer *p, uint64_t upto)
{
	uint64_t bytes = upto - p->loose.gone;

	p->loose.gone = upto;
	p->loose.question = 0;
	p->charged -= bytes;
	l->flight.charged -= bytes;
	open_loose(l, p);
	rs_flight_open(l, p);
}

static void ask(struct rs_flight *f, struct rs_flight_peer *p)
{
	if (p->loose.due)
		return;
	p->loose.due = true;
	p->loose.next_due = f->due;
	f->due = (int32_t)(p - f->peer);
}

/* So much is out that its answer should be under way. */
static bool much(const struct rs_flight_peer *p)
{
	return p->loose.closed || out(p) >= rs_flight_window(p) / 4;
}

bool rs_loose_sent(struct rs_live *l, struct rs_flight_peer *p, uint64_t charge, rs_time now)
{
	struct rs_flight *f = &l->flight;

	if (p == &f->peer[COMMON])
		return false;
	if (p->loose.first_at == RS_NEVER)
		p->loose.first_at = now;
	if (!p->ours && now - p->loose.first_at >= KNOWN_WITHIN)
		return false;
	p->loose.sent += charge;
	p->charged += charge;
	f->charged += charge;
	if (!p->loose.closed && full(p, rs_flight_window(p))) {
		p->loose.closed = true;
		f->closed++;
		hold(l, p, true);
	}
	if (p->ours && !p->loose.question && much(p))
		ask(f, p);
	f->look_at = rs_time_min(f->look_at, now + AGAIN);
	return p->loose.closed;
}

void rs_loose_flushed(struct rs_live *l, rs_time now)
{
	struct rs_flight *f = &l->flight;

	while (f->due != NONE) {
		struct rs_flight_peer *p = &f->peer[f->due];

		f->due = p->loose.next_due;
		p->loose.due = false;
		if (!p->used)
			continue;
		if (!p->loose.question)
			p->loose.since = now;
		if (!++f->questions)
			f->questions = 1;
		p->loose.question = f->questions;
		p->loose.mark = p->loose.sent;
		p->loose.asked_at = now;
		rs_grant_ask(l, p->path, p->qpn, p->loose.question);
	}
}

void rs_loose_answered(struct rs_live *l, int32_t at, uint32_t question)
{
	struct rs_flight_peer *p = &l->flight.peer[at];

	if (!question || question != p->loose.question)
		return;
	forget(l, p, p->loose.mark);
	if (much(p))
		ask(&l->flight, p);
}

void rs_loose_look(struct rs_live *l, struct rs_flight_peer *p, rs_time now)
{
	if (!out(p))
		return;
	if (!p->ours) {
		if (now - p->loose.first_at >= KNOWN_WITHIN)
			forget(l, p, p->loose.sent);
	} else if (!p->loose.question) {
		ask(&l->flight, p);
	} else if (now - p->loose.since >= GIVE_UP) {
		p->ours = false;
		forget(l, p, p->loose.sent);
	} else if (now - p->loose.asked_at >= AGAIN) {
		ask(&l->flight, p);
	}
	if (out(p))
		l->flight.look_at = rs_time_min(l->flight.look_at, now + AGAIN);
}
