/* What comes back to a sender: ACKs and NACKs, in the order of uet-htsim 40ccb052 (uec.cpp). */
#include "uet/state.h"

static bool is_out(const struct sender *s, uint32_t psn)
{
	return (int32_t)(psn - s->cum) >= 0 && (int32_t)(psn - s->next_psn) < 0;
}

/* The round trip of the packet that caused it; 0: it tells none. A packet that was sent twice is
 * known by its echo. */
static rs_time sample(const struct rs_uet *u, const struct sender *s, const struct rs_packet *k,
		      rs_time now)
{
	const struct sent *t = &s->ring[k->psn & u->mask];

	if (!is_out(s, k->psn) || t->state != SENT_OUT)
		return 0;
	return t->times == (k->bth_flags & UET_RETX ? 2 : 1) ? now - t->at : 0;
}

/* The receiver has it. Its bytes were taken off what is in flight when it was given up. */
static void done(const struct rs_uet *u, struct sender *s, uint32_t psn)
{
	struct sent *t = &s->ring[psn & u->mask];

	rs_assert(is_out(s, psn));
	if (t->state == SENT_OUT) {
		uet_unlink(s, t);
	} else if (t->state == SENT_LOST) {
		rs_assert(s->n_lost && s->lost_bytes >= t->frame);
		clear_bit(s->lost, psn & u->mask);
		s->n_lost--;
		s->lost_bytes -= t->frame;
		s->in_flight += t->frame;
	}
	t->state = SENT_DONE;
}

static void cumulative(struct rs_uet *u, struct pdc *p, uint32_t cum)
{
	struct sender *s = p->s;

	for (; (int32_t)(cum - s->cum) > 0; s->cum++)
		done(u, s, s->cum);
	if ((int32_t)(s->cum - s->lost_from) > 0)
		s->lost_from = s->cum;
	while (s->acked != s->sending &&
	       (int32_t)(s->cum - s->messages[s->acked & (s->depth - 1)].end) >= 0) {
		s->acked++;
		uet_tell(u, p, false);
	}
}

static void selective(const struct rs_uet *u, struct sender *s, uint32_t base, uint64_t bits)
{
	for (; bits; bits &= bits - 1) {
		uint32_t psn = base + (uint32_t)__builtin_ctzll(bits);

		if (is_out(s, psn))
			done(u, s, psn);
	}
}

static void moved(struct rs_uet *u, struct sender *s, uint64_t before)
{
	uint64_t down = s->cc.window<before, up = s->cc.window> before;

	s->cuts += down;
	s->increases += up;
	u->n.cuts += down;
	u->n.increases += up;
}

void uet_acked(struct rs_uet *u, struct pdc *p, const struct rs_packet *k, rs_time now)
{
	struct sender *s = p->s;
	uint64_t window = s->cc.window, told = k->va;
	struct rs_nscc_ack a = {.now = now, .marked = k->bth_flags & UET_M};

	if ((int32_t)(k->aeth - s->next_psn) > 0)
		return; /* acknowledges what was not sent */
	u->n.acks_taken++;
	uet_speculation_ends(u, s);
	if (told > s->told) {
		a.bytes = (uint32_t)(told - s->told);
		s->told = told;
		s->in_flight -= a.bytes;
	}
	if (!(k->bth_flags & UET_P))
		a.rtt = sample(u, s, k, now);
	cumulative(u, p, k->aeth);
	selective(u, s, k->rkey, k->swap_add);
	rs_balance_told(s->balance, k->sport, a.marked ? RS_PATH_MARKED : RS_PATH_GOOD, now);
	a.in_flight = s->in_flight > 0 ? (uint64_t)s->in_flight : 0;
	rs_nscc_on_ack(&u->c.cc, &s->cc, &a);
	moved(u, s, window);
	if (unlikely(u->c.sleek))
		uet_sleek(u, p, k, now);
}

/* ROD: all that follows was dropped, too. */
static void lose_behind(struct rs_uet *u, struct pdc *p, uint32_t psn)
{
	struct sender *s = p->s;

	for (; psn != s->next_psn; psn++)
		if (s->ring[psn & u->mask].state == SENT_OUT)
			uet_lose(u, p, psn);
}

/* A port with nothing to do sends the packet again before the balancer hears of it: the value that
 * met a full queue may be the next one's. */
static void choose_early(struct rs_uet *u, struct pdc *p, rs_time now)
{
	struct sender *s = p->s;

	if (now >= u->busy_until && !u->head && u->control.head == RS_NO_PACKET && s->early < 0 &&
	    uet_may_send(u, p))
		s->early = rs_balance_next(s->balance, now);
}

static enum rs_path_feedback met(const struct rs_packet *k)
{
	if (!(k->bth_flags & (RS_PACKET_TRIMMED_LAST | UET_OOO)))
		return RS_PATH_TRIMMED;
	return k->bth_flags & UET_M ? RS_PATH_MARKED : RS_PATH_GOOD;
}

void uet_nacked(struct rs_uet *u, struct pdc *p, const struct rs_packet *k, rs_time now)
{
	struct sender *s = p->s;
	struct sent *t = &s->ring[k->psn & u->mask];
	uint64_t window = s->cc.window;
	struct rs_nscc_ack a;

	uet_speculation_ends(u, s);
	if (!is_out(s, k->psn) || t->state != SENT_OUT)
		return;
	u->n.nacks_taken++;
	a = (struct rs_nscc_ack){.now = now,
				 .rtt = sample(u, s, k, now),
				 .in_flight = s->in_flight > 0 ? (uint64_t)s->in_flight : 0,
				 .bytes = t->frame,
				 .marked = k->bth_flags & UET_M};
	/* what the last hop cut is the receiver's credits' business */
	if (u->c.credits && k->bth_flags & RS_PACKET_TRIMMED_LAST)
		rs_nscc_on_rtt(&u->c.cc, &s->cc, a.rtt);
	else
		rs_nscc_on_nack(&u->c.cc, &s->cc, &a);
	moved(u, s, window);
	uet_lose(u, p, k->psn);
	if (unlikely(k->bth_flags & UET_OOO))
		lose_behind(u, p, k->psn + 1);
	choose_early(u, p, now);
	rs_balance_told(s->balance, k->sport, met(k), now);
}
