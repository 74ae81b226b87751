/* Timers of an endpoint: a heap of PDCs by the first of each one's timers, the pacer of credit
 * beside it. A PDC's place is seldom moved: its time in the heap may be earlier than the timer. */
#include "uet/state.h"

/* Since when it has had no credit for what it has to send; RS_NEVER: it has. What was granted was
 * lost, or what asked for it. */
static rs_time starves(const struct rs_uet *u, const struct sender *s)
{
	return u->c.credits && s->credit <= 0 && (s->n_lost || s->sending != s->posted) ? s->fed
											: RS_NEVER;
}

rs_time uet_timer_due(const struct rs_uet *u, const struct pdc *p)
{
	const struct sender *s = p->s;
	rs_time due, starved;

	if (!s)
		return RS_NEVER;
	due = s->oldest == UET_NONE ? RS_NEVER : s->ring[s->oldest].at + u->c.rto;
	starved = starves(u, s);
	if (starved != RS_NEVER)
		due = rs_time_min(due, starved + u->c.rto);
	return rs_time_min(due, s->probe_at);
}

/* ---- The heap ---- */

static void put(struct rs_uet *u, uint32_t i, struct pdc *p)
{
	u->heap[i] = p;
	p->heap = i;
}

static void up(struct rs_uet *u, uint32_t i, struct pdc *p)
{
	for (; i && p->due < u->heap[(i - 1) / 2]->due; i = (i - 1) / 2)
		put(u, i, u->heap[(i - 1) / 2]);
	put(u, i, p);
}

static void down(struct rs_uet *u, uint32_t i, struct pdc *p)
{
	uint32_t c;

	while ((c = 2 * i + 1) < u->n_heap) {
		if (c + 1 < u->n_heap && u->heap[c + 1]->due < u->heap[c]->due)
			c++;
		if (u->heap[c]->due >= p->due)
			break;
		put(u, i, u->heap[c]);
		i = c;
	}
	put(u, i, p);
}

void uet_timer_remove(struct rs_uet *u, struct pdc *p)
{
	struct pdc *last;
	uint32_t i = p->heap;

	p->due = RS_NEVER;
	if (i == HEAP_NOT)
		return;
	p->heap = HEAP_NOT;
	last = u->heap[--u->n_heap];
	if (last == p)
		return;
	if (i && last->due < u->heap[(i - 1) / 2]->due)
		up(u, i, last);
	else
		down(u, i, last);
}

void uet_timer_set(struct rs_uet *u, struct pdc *p)
{
	rs_time due;

	if (likely(p->heap != HEAP_NOT && p->due <= p->s->fed + u->c.rto && !u->c.sleek))
		return; /* no timer of its is earlier */
	due = uet_timer_due(u, p);
	if (due >= p->due)
		return;
	p->due = due;
	if (p->heap == HEAP_NOT)
		p->heap = u->n_heap++;
	up(u, p->heap, p);
}

rs_time uet_deadline(const struct rs_endpoint *e)
{
	const struct rs_uet *u = (const struct rs_uet *)e;

	return rs_time_min(u->n_heap ? u->heap[0]->due : RS_NEVER, u->pull_at);
}

/* ---- What is due ---- */

static void probe(struct rs_uet *u, struct pdc *p, uint8_t flags, rs_time now)
{
	struct sender *s = p->s;
	struct rs_packet *k = uet_control(u, p, RS_UET_PROBE, rs_balance_next(s->balance, now));

	if (unlikely(!k))
		return;
	k->bth_flags = flags;
	k->psn = s->next_psn;
	k->aeth = u->c.credits ? uet_pull_target(u, s) : 0;
	k->tos |= p->tos & 3;
	u->n.probes++;
	uet_send_control(u, k);
}

/* It goes again, under the window. Where the window is closed, a probe asks what was received. */
static void timed_out(struct rs_uet *u, struct pdc *p, rs_time now)
{
	struct sender *s = p->s;
	struct sent *t = &s->ring[s->oldest];
	uint64_t window = s->cc.window;
	uint32_t at = s->cum + ((s->oldest - s->cum) & u->mask);

	u->n.timeouts++;
	rs_nscc_on_timeout(&u->c.cc, &s->cc, t->frame);
	u->n.cuts += s->cc.window < window;
	s->cuts += s->cc.window < window;
	uet_lose(u, p, at);
	t->late = true;
	/* the true value is forgotten, as in uet-htsim */
	rs_balance_told(s->balance, 0, RS_PATH_TIMEOUT, now);
	if (uet_may_send(u, p)) {
		uet_want(u, p);
	} else if (s->rts_at == RS_NEVER || now - s->rts_at >= s->cc.base_rtt) {
		s->rts_at = now;
		probe(u, p, u->c.credits && s->credit <= 0 ? UET_ASKS : 0, now);
	}
}

/* SLEEK recovers: an old packet waits on, or may be queued once more. */
static void wait_on(struct rs_uet *u, struct sender *s, rs_time now)
{
	uint32_t psn = s->cum + ((s->oldest - s->cum) & u->mask);
	struct sent *t = &s->ring[psn & u->mask];

	uet_unlink(s, t);
	t->slept = false;
	t->at = now;
	t->times = UINT8_MAX; /* tells no round trip */
	uet_relink(u, s, psn);
}

static void fire(struct rs_uet *u, struct pdc *p, rs_time now)
{
	struct sender *s = p->s;
	rs_time starved = starves(u, s);

	if (s->probe_at <= now) {
		s->probe_at = now + 5 * s->cc.base_rtt;
		s->probed_at = now;
		probe(u, p, 0, now);
	} else if (starved != RS_NEVER && starved + u->c.rto <= now) {
		s->fed = now;
		probe(u, p, UET_ASKS, now);
	} else if (s->sleeps) {
		wait_on(u, s, now);
	} else {
		timed_out(u, p, now);
	}
}

void uet_expire(struct rs_endpoint *e, rs_time now)
{
	struct rs_uet *u = (struct rs_uet *)e;

	while (u->n_heap && u->heap[0]->due <= now) {
		struct pdc *p = u->heap[0];

		while (uet_timer_due(u, p) <= now)
			fire(u, p, now);
		p->due = uet_timer_due(u, p);
		if (p->due == RS_NEVER)
			uet_timer_remove(u, p);
		else
			down(u, 0, p);
	}
	if (u->pull_at <= now)
		uet_pull(u, now);
}

/* ---- SLEEK: where switches drop, gaps tell what was lost ---- */

enum { SLEEK_LEAST = 5 }; /* packets out of order, at least */

static void recover(struct rs_uet *u, struct pdc *p)
{
	struct sender *s = p->s;
	uint32_t n = (uint32_t)(s->cc.window / u->c.cc.payload);

	for (uint32_t i = 0; i < n && s->cum + i != s->sleep_end; i++) {
		struct sent *t = &s->ring[(s->cum + i) & u->mask];

		if (t->state == SENT_DONE || t->slept)
			continue;
		t->slept = true; /* what waits already need not wait for the window either */
		if (t->state == SENT_LOST)
			continue;
		u->n.by_sleek++;
		uet_lose(u, p, s->cum + i);
	}
}

static uint64_t threshold(const struct rs_uet *u, const struct sender *s)
{
	uint64_t t = s->cc.window + s->cc.window / 2;
	uint64_t least = SLEEK_LEAST * (uint64_t)u->c.cc.payload;

	t = t > s->cc.window_max ? s->cc.window_max : t;
	return (t < least ? least : t) / u->c.cc.payload;
}

void uet_sleek(struct rs_uet *u, struct pdc *p, const struct rs_packet *ack, rs_time now)
{
	struct sender *s = p->s;
	bool answered = ack->bth_flags & UET_P && s->probed_at != RS_NEVER;
	bool tail = answered && now - s->probed_at - s->cc.base_rtt < u->c.cc.target;

	if (s->sleeps && (int32_t)(s->cum - s->sleep_end) >= 0)
		s->sleeps = false;
	if (!s->sleeps && !s->n_lost && s->cum != s->next_psn &&
	    (tail || ack->dma_bytes >= threshold(u, s))) {
		s->sleeps = true;
		s->sleep_end = s->next_psn;
	}
	if (s->sleeps)
		recover(u, p);
	if (answered)
		s->probed_at = RS_NEVER;
	s->probe_at = s->cum == s->next_psn     ? RS_NEVER
		      : s->sending != s->posted ? now + 3 * s->cc.base_rtt
						: now + s->cc.base_rtt + u->c.cc.target;
}
