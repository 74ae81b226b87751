/*
 * What is never acknowledged: UC, UD, responses to READs. A question goes behind it to the same
 * socket: its answer says that what was sent before has left the socket. Peers that do not answer
 * are no Ripstops, and take what a wire takes.
 */
#include "window/window.h"
#include "base/error.h"

static uint64_t out(const struct rs_window_peer *p)
{
	return p->loose.sent - p->loose.gone;
}

/* One packet always may go, so that a question follows it: requests cannot shut responses out,
 * whose ACKs they wait for. */
static bool full_with(const struct rs_window_peer *p, uint64_t window, uint64_t more)
{
	uint64_t n = out(p) + more, charged = p->charged + more;

	return n && (charged >= window || n >= (charged > n ? window / 2 : window));
}

static bool full(const struct rs_window_peer *p, uint64_t window)
{
	return full_with(p, window, 0);
}

static void open_loose(struct rs_window *w, struct rs_window_peer *p)
{
	uint64_t window = rs_window_bytes(w, p);

	if (!p->loose.closed || full(p, window - window / 4))
		return;
	p->loose.closed = false;
	w->closed--;
	rs_window_mark_all(w, p);
}

/* So much has left the peer's socket, or is not counted any more. */
static void forget(struct rs_window *w, struct rs_window_peer *p, uint64_t upto)
{
	uint64_t bytes = upto - p->loose.gone;

	rs_assert(upto >= p->loose.gone && upto <= p->loose.sent);
	rs_assert(bytes <= p->charged && bytes <= w->charged);
	p->loose.gone = upto;
	p->charged -= bytes;
	w->charged -= bytes;
	open_loose(w, p);
	rs_window_open(w, p);
}

/* So much is out that its answer should be under way. */
static bool much(const struct rs_window *w, const struct rs_window_peer *p)
{
	return p->loose.closed || out(p) >= rs_window_bytes(w, p) / 4;
}

/* The answer that is awaited, if any, says nothing of what is out. */
static bool unasked(const struct rs_window_peer *p)
{
	return !p->question || p->mark <= p->loose.gone;
}

/* Where it is full. */
void rs_loose_close(struct rs_window *w, struct rs_window_peer *p)
{
	if (p->loose.closed || !full(p, rs_window_bytes(w, p)))
		return;
	p->loose.closed = true;
	w->closed++;
	rs_window_mark_all(w, p);
}

/* So often asked, and so long ago first: of a process that did not run itself, the time alone says
 * nothing of its peer. */
static bool asked_in_vain(const struct rs_window *w, const struct rs_window_peer *p, uint32_t times,
			  rs_time now)
{
	return p->asked >= times && now - p->asked_at >= w->tuning->again;
}

/* It takes what a wire takes, until it answers. */
static void take_for_stranger(struct rs_window *w, struct rs_window_peer *p)
{
	p->stranger = true;
	forget(w, p, p->loose.sent);
}

void rs_loose_sent(struct rs_window *w, struct rs_window_peer *p, uint64_t charge, rs_time now)
{
	if (p->loose.first_at == RS_NEVER)
		p->loose.first_at = now;
	if (p->stranger)
		return;
	p->loose.sent += charge;
	p->charged += charge;
	w->charged += charge;
	if (p->ours && unasked(p) && much(w, p))
		rs_window_want(w, p);
	w->look_at = rs_time_min(w->look_at, now + w->tuning->again);
}

/* So many more of a charge, at most n, until it is full. */
uint32_t rs_loose_before_more(const struct rs_window *w, const struct rs_window_peer *p,
			      uint64_t charge, uint32_t n)
{
	uint64_t window = rs_window_bytes(w, p);
	uint32_t i = 0;

	if (p->loose.closed)
		return 0;
	if (p->stranger) /* which is not charged */
		return n;
	/* where it is full already, the next one closes it */
	do
		i++;
	while (i < n && !full_with(p, window, i * charge));
	return i;
}

void rs_loose_answered(struct rs_window *w, struct rs_window_peer *p)
{
	if (p->mark > p->loose.gone)
		forget(w, p, p->mark);
	if (out(p) && much(w, p))
		rs_window_want(w, p);
}

void rs_loose_look(struct rs_window *w, struct rs_window_peer *p, rs_time now)
{
	const struct rs_window_tuning *t = w->tuning;

	if (!out(p))
		return;
	if (!p->ours && now - p->loose.first_at >= t->known_within &&
	    asked_in_vain(w, p, t->known_asked, now)) {
		take_for_stranger(w, p);
	} else if (unasked(p)) {
		rs_window_want(w, p);
	} else if (p->ours && now - p->asked_first >= t->give_up &&
		   asked_in_vain(w, p, t->give_up_asked, now)) {
		p->ours = false;
		p->question = 0;
		take_for_stranger(w, p);
	} else if (now - p->asked_at >= t->again) {
		rs_window_want(w, p);
	}
	if (out(p))
		w->look_at = rs_time_min(w->look_at, now + t->again);
}
