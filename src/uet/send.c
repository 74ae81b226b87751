/* What a port sends next: packets of control, and requests of the PDCs that want to, in turn. */
#include <string.h>
#include "uet/state.h"

/* ---- Who may ---- */

uint32_t uet_lowest_lost(const struct rs_uet *u, struct sender *s)
{
	uint32_t psn = s->lost_from;

	rs_assert(s->n_lost);
	for (;;) {
		uint32_t i = psn & u->mask;
		uint64_t left = s->lost[i >> 6] >> (i & 63);

		if (left) {
			psn += (uint32_t)__builtin_ctzll(left);
			break;
		}
		psn += 64 - (i & 63);
	}
	s->lost_from = psn;
	return psn;
}

static uint32_t new_payload(const struct rs_uet *u, const struct sender *s)
{
	uint64_t left = s->messages[s->sending & (s->depth - 1)].bytes - s->at;

	return left < u->c.cc.payload ? (uint32_t)left : u->c.cc.payload;
}

bool uet_may_send(const struct rs_uet *u, const struct pdc *p)
{
	struct sender *s = p->s;
	uint32_t frame;

	if (s->n_lost) {
		const struct sent *t = &s->ring[uet_lowest_lost(u, s) & u->mask];

		frame = t->frame;
		if (unlikely(t->slept && s->sleeps))
			return !u->c.credits || s->credit > 0;
	} else if (s->sending == s->posted || s->next_psn - s->cum > u->mask) {
		return false;
	} else {
		frame = u->c.header + new_payload(u, s);
	}
	if (s->in_flight + (int64_t)frame > (int64_t)s->cc.window)
		return false;
	return !u->c.credits || s->credit > 0;
}

void uet_want(struct rs_uet *u, struct pdc *p)
{
	if (p->wants || !uet_may_send(u, p))
		return;
	p->wants = true;
	p->next = NULL;
	*(u->head ? &u->tail->next : &u->head) = p;
	u->tail = p;
	u->n_wanting++;
}

static void unlist(struct rs_uet *u, struct pdc *before, struct pdc *p)
{
	*(before ? &before->next : &u->head) = p->next;
	if (u->tail == p)
		u->tail = before;
	u->n_wanting--;
	p->wants = false;
}

void uet_leave(struct rs_uet *u, struct pdc *p)
{
	struct pdc *before = NULL;

	if (!p->wants)
		return;
	for (struct pdc *q = u->head; q != p; q = q->next)
		before = q;
	unlist(u, before, p);
}

/* Whose turn it is, of those in none of the held classes; what stands before it in the list. Those
 * that may not send any more leave the list. */
static struct pdc *turn(struct rs_uet *u, uint8_t held, struct pdc **before)
{
	struct pdc *next;

	*before = NULL;
	for (struct pdc *p = u->head; p; p = next) {
		next = p->next;
		if (!uet_may_send(u, p))
			unlist(u, *before, p);
		else if (held >> p->tc & 1)
			*before = p;
		else
			return p;
	}
	return NULL;
}

/* ---- Those that are out, in the order in which they were sent ---- */

void uet_relink(const struct rs_uet *u, struct sender *s, uint32_t psn)
{
	uint16_t i = (uint16_t)(psn & u->mask);
	struct sent *t = &s->ring[i];

	t->next = UET_NONE;
	t->prev = s->newest;
	*(s->newest == UET_NONE ? &s->oldest : &s->ring[s->newest].next) = i;
	s->newest = i;
	t->state = SENT_OUT;
}

void uet_unlink(struct sender *s, struct sent *t)
{
	*(t->prev == UET_NONE ? &s->oldest : &s->ring[t->prev].next) = t->next;
	*(t->next == UET_NONE ? &s->newest : &s->ring[t->next].prev) = t->prev;
}

void uet_lose(struct rs_uet *u, struct pdc *p, uint32_t psn)
{
	struct sender *s = p->s;
	struct sent *t = &s->ring[psn & u->mask];

	rs_assert(t->state == SENT_OUT);
	uet_unlink(s, t);
	t->state = SENT_LOST;
	t->late = false;
	set_bit(s->lost, psn & u->mask);
	if (!s->n_lost++ || (int32_t)(psn - s->lost_from) < 0)
		s->lost_from = psn;
	s->lost_bytes += t->frame;
	s->in_flight -= t->frame;
}

/* ---- Requests ---- */

static uint16_t entropy(struct sender *s, rs_time now)
{
	int32_t early = s->early;

	s->early = -1;
	return early >= 0 ? (uint16_t)early : rs_balance_next(s->balance, now);
}

/* Where the payload of a PSN lies; only where bytes are moved. */
static void place(const struct rs_uet *u, const struct sender *s, struct rs_packet *k, uint32_t psn)
{
	for (uint32_t i = s->acked; i != s->posted; i++) {
		const struct message *m = &s->messages[i & (s->depth - 1)];
		uint64_t at = (uint64_t)(psn - m->begin) * u->c.cc.payload;

		if (i != s->sending && (int32_t)(psn - m->end) >= 0)
			continue;
		if (m->data) {
			k->payload = m->data + at;
			k->va = m->offset + at;
		}
		return;
	}
}

static struct sent *resend(struct rs_uet *u, struct sender *s, struct rs_packet *k)
{
	uint32_t psn = uet_lowest_lost(u, s);
	struct sent *t = &s->ring[psn & u->mask];

	clear_bit(s->lost, psn & u->mask);
	s->n_lost--;
	s->lost_bytes -= t->frame;
	t->times += t->times < UINT8_MAX;
	s->by_timeout += t->late;
	s->by_nack += !t->late;
	k->psn = psn;
	k->bth_flags = UET_AR | UET_RETX;
	u->n.resent++;
	return t;
}

static struct sent *send_new(struct rs_uet *u, struct sender *s, struct rs_packet *k)
{
	struct message *m = &s->messages[s->sending & (s->depth - 1)];
	uint32_t payload = new_payload(u, s);
	struct sent *t = &s->ring[s->next_psn & u->mask];
	bool last = s->at + payload == m->bytes;

	if (!s->at)
		m->begin = s->next_psn;
	k->psn = s->next_psn++;
	*t = (struct sent){
		.frame = (uint16_t)(u->c.header + payload), .times = 1, .eom = last && m->tell};
	s->at += payload;
	s->backlog -= payload;
	u->n.payload += payload;
	if (last) {
		m->end = s->next_psn;
		s->sending++;
		s->at = 0;
	}
	return t;
}

/* An ACK is asked for with what nothing may follow soon. */
static bool asks(const struct rs_uet *u, const struct sender *s, uint32_t frame)
{
	return s->sending == s->posted || s->in_flight + (int64_t)frame >= (int64_t)s->cc.window ||
	       (u->c.credits && s->credit <= 0);
}

static struct rs_packet *request(struct rs_uet *u, struct pdc *p, rs_time now)
{
	struct rs_packet *k = uet_control(u, p, RS_UET_REQUEST, 0);
	struct sender *s = p->s;
	struct sent *t;
	bool again = s->n_lost > 0;

	if (unlikely(!k))
		return NULL;
	if (u->c.credits)
		k->aeth = uet_pull_target(u, s);
	t = again ? resend(u, s, k) : send_new(u, s, k);
	t->at = now;
	uet_relink(u, s, k->psn);
	s->in_flight += t->frame;
	s->credit -= t->frame;
	s->fed = now;
	if (!again && asks(u, s, t->frame))
		k->bth_flags = UET_AR;
	if (t->eom)
		k->bth_flags |= UET_EOM;
	k->sport = entropy(s, now);
	k->frame_bytes = t->frame;
	k->payload_bytes = (uint16_t)(t->frame - u->c.header);
	k->tc = p->tc;
	k->tos = p->tos;
	place(u, s, k, k->psn);
	u->n.requests++;
	uet_timer_set(u, p);
	return k;
}

/* ---- The port ---- */

static struct rs_packet *take_control(struct rs_uet *u)
{
	struct rs_packet *k = rs_queue_first(&u->control, u->base);

	rs_queue_pop(&u->control, u->base);
	return k;
}

struct rs_packet *uet_tx(struct rs_endpoint *e, uint8_t held, rs_time now, rs_time *again)
{
	struct rs_uet *u = (struct rs_uet *)e;
	bool control = u->control.head != RS_NO_PACKET && !(held >> u->c.control_tc & 1);
	struct pdc *before, *p = turn(u, held, &before);
	struct rs_packet *k;

	*again = RS_NEVER;
	if (control && (!p || u->controls < CONTROL_A_DATA)) {
		u->controls += p != NULL;
		k = take_control(u);
	} else if (p) {
		if (control)
			u->controls = 0;
		unlist(u, before, p);
		k = request(u, p, now);
		uet_want(u, p);
	} else {
		return NULL;
	}
	if (unlikely(!k))
		return NULL;
	u->busy_until = now + rs_pace_time(u->pace, (uint32_t)k->frame_bytes + u->c.gap);
	u->n.sent++;
	return k;
}
