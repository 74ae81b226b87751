/* RCCC: a receiver's one pacer for all who send to it, and what a sender asks and is granted. */
#include "uet/state.h"

enum { PULL_PERCENT = 99 }; /* of the line: what is granted must not fill the queue before it */

/* ---- A sender ---- */

static uint64_t most(const struct sender *s)
{
	return s->cc.window_max; /* 1.5 bandwidth-delay products */
}

void uet_credit_init(struct rs_uet *u, struct sender *s)
{
	s->credit = (int64_t)most(s);
	s->speculates = true;
}

void uet_speculation_ends(struct rs_uet *u, struct sender *s)
{
	if (!s->speculates)
		return;
	s->speculates = false;
	if (s->credit > 0)
		s->credit = 0;
}

/* Frame bytes that wait to be sent for the first time. */
static uint64_t backlog(const struct rs_uet *u, const struct sender *s)
{
	uint64_t packets = (s->backlog + u->c.cc.payload - 1) / u->c.cc.payload;

	return s->backlog + packets * u->c.header;
}

uint32_t uet_pull_target(const struct rs_uet *u, const struct sender *s)
{
	int64_t want = (int64_t)(backlog(u, s) + s->lost_bytes);
	uint32_t others = u->n_wanting + 1;

	if (want > (int64_t)most(s))
		want = (int64_t)most(s);
	want = want > s->credit ? want - s->credit : 0;
	if (others > 1)
		want /= others;
	if (s->speculates && want < (int64_t)u->c.cc.mtu)
		want = u->c.cc.mtu;
	return s->pulled + (uint32_t)((want + CREDIT_QUANTUM - 1) / CREDIT_QUANTUM);
}

void uet_credited(struct rs_uet *u, struct pdc *p, const struct rs_packet *k)
{
	struct sender *s = p->s;
	int32_t more = (int32_t)(k->aeth - s->pulled);

	uet_speculation_ends(u, s);
	if (!u->c.credits || more <= 0)
		return;
	s->pulled = k->aeth;
	s->credit += (int64_t)more * CREDIT_QUANTUM;
	if (s->credit > (int64_t)most(s))
		s->credit = (int64_t)most(s);
}

/* ---- A receiver ---- */

static void append(struct pull_list *l, struct pdc *p)
{
	p->r->next_pull = NULL;
	*(l->head ? &l->tail->r->next_pull : &l->head) = p;
	l->tail = p;
}

static struct pdc *first(struct pull_list *l)
{
	struct pdc *p = l->head;

	rs_assert(p && l->tail);
	l->head = p->r->next_pull;
	return p;
}

static void remove_from(struct pull_list *l, struct pdc *p)
{
	struct pdc *before = NULL;

	for (struct pdc *q = l->head; q != p; q = q->r->next_pull)
		before = q;
	*(before ? &before->r->next_pull : &l->head) = p->r->next_pull;
	if (l->tail == p)
		l->tail = before;
}

void uet_pull_forget(struct rs_uet *u, struct pdc *p)
{
	if (p->r->active)
		remove_from(&u->active, p);
	if (p->r->idle)
		remove_from(&u->idle, p);
	p->r->active = p->r->idle = false;
}

static void activate(struct rs_uet *u, struct pdc *p, rs_time now)
{
	if (p->r->active)
		return;
	uet_pull_forget(u, p);
	p->r->active = true;
	append(&u->active, p);
	if (u->pull_at != RS_NEVER)
		return;
	u->pull_at = u->pull_last == RS_NEVER ? now : u->pull_last + u->pull_every;
	if (u->pull_at <= now)
		u->pull_at = now + 1; /* a timer, too: not in the past */
}

void uet_pull_asked(struct rs_uet *u, struct pdc *p, uint32_t target, bool again, rs_time now)
{
	struct receiver *r = p->r;

	if ((int32_t)(target - r->target) > 0)
		r->target = target;
	if (again && (int32_t)(r->target - r->pulled) <= 0)
		r->target = r->pulled + (u->c.cc.mtu + CREDIT_QUANTUM - 1) / CREDIT_QUANTUM;
	if ((int32_t)(r->target - r->pulled) > 0)
		activate(u, p, now);
}

/* The pacer waits for as long as what it granted is on the wire. */
static void grant(struct rs_uet *u, struct pdc *p, uint32_t quanta)
{
	struct rs_packet *k = uet_control(u, p, RS_UET_CREDIT, p->r->entropy++ & 127);

	u->pull_every = rs_pace_time(u->pace, quanta * CREDIT_QUANTUM) * 100 / PULL_PERCENT;
	if (unlikely(!k))
		return;
	p->r->pulled += quanta;
	k->aeth = p->r->pulled;
	u->n.credits++;
	uet_send_control(u, k);
}

/* Quanta that a peer without demand was granted ahead: at most what starts it. */
static bool may_be_ahead(const struct rs_uet *u, const struct receiver *r)
{
	uint64_t bdp = (uint64_t)((rs_uint128)(uint64_t)u->c.rate * (uint64_t)u->c.cc.rtt / 8 /
				  (uint64_t)RS_S);
	int32_t ahead = (int32_t)(r->pulled - r->target);

	return (int64_t)ahead * CREDIT_QUANTUM + u->c.credit <= (int64_t)(bdp + bdp / 2);
}

static void pull_active(struct rs_uet *u)
{
	struct pdc *p = first(&u->active);
	struct receiver *r = p->r;
	uint32_t left = r->target - r->pulled, whole = u->c.credit / CREDIT_QUANTUM;

	grant(u, p, left < whole ? left : whole);
	if ((int32_t)(r->target - r->pulled) > 0) {
		append(&u->active, p);
		return;
	}
	r->active = false;
	r->idle = true;
	append(&u->idle, p);
}

static void pull_idle(struct rs_uet *u)
{
	struct pdc *p = first(&u->idle);

	p->r->idle = false;
	if (!may_be_ahead(u, p->r))
		return;
	grant(u, p, u->c.credit / CREDIT_QUANTUM);
	p->r->idle = true;
	append(&u->idle, p);
}

void uet_pull(struct rs_uet *u, rs_time now)
{
	if (u->active.head)
		pull_active(u);
	else if (u->idle.head)
		pull_idle(u);
	else {
		u->pull_at = RS_NEVER;
		return;
	}
	u->pull_last = now;
	u->pull_at = now + u->pull_every;
}
