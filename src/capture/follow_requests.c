/* Requests of a stream: gaps, what goes again and why. IBTA vol. 1 9.7. */
#include <stdio.h>
#include "base/bytes.h"
#include "capture/state.h"

/* ---- Requests ---- */

/* PSNs that a request takes: one, but a READ as many as its answers (9.7.4). */
static uint32_t psns(const struct stream *s, const struct rs_packet *p)
{
	uint32_t mtu = s->s.mtu;

	if (!follow_is_read(p->opcode) || !p->dma_bytes || !mtu)
		return 1;
	return (p->dma_bytes + mtu - 1) / mtu;
}

static bool answered_apart(uint8_t opcode)
{
	return follow_is_read(opcode) || follow_is(opcode, RS_OP_CMP_SWAP) ||
	       follow_is(opcode, RS_OP_FETCH_ADD) || follow_is(opcode, RS_OP_FLUSH) ||
	       follow_is(opcode, RS_OP_ATOMIC_WRITE);
}

/* A packet that was never seen: from before the first, or out of a gap, which gets smaller. */
static bool never_seen(struct stream *s, uint32_t psn)
{
	if (rs_psn_diff(psn, s->first_psn) < 0) {
		if (s->s.packets < IDENTS)
			return true;
	}
	for (unsigned i = 0; i < s->n_gaps; i++) {
		struct gap *g = &s->gap[i];
		int32_t at = rs_psn_diff(psn, g->psn);

		if (at < 0 || at >= (int32_t)g->n)
			continue;
		/* what is left behind it stays missing; before it as well, as a gap of its own */
		if (at > 0 && s->n_gaps < GAPS)
			s->gap[s->n_gaps++] = (struct gap){g->psn, (uint32_t)at};
		g->psn = rs_psn_add(psn, 1);
		g->n -= (uint32_t)at + 1;
		if (!g->n)
			*g = s->gap[--s->n_gaps];
		return true;
	}
	return false;
}

static bool same_packet(struct stream *s, uint32_t psn, uint16_t ip_id)
{
	struct ident *d = &s->ident[psn % IDENTS];
	bool same = ip_id && d->psn == psn && d->ip_id == ip_id;

	*d = (struct ident){psn, ip_id};
	return same;
}

static unsigned reads(const struct stream *s)
{
	return s->n_reads < READS ? s->n_reads : READS;
}

/* Is a READ asked for again from within, or because its first answer was passed over? */
static bool answer_missing(const struct stream *s, uint32_t psn)
{
	for (unsigned i = 0; i < reads(s); i++) {
		const struct read *r = &s->read[i];
		int32_t at = rs_psn_diff(psn, r->psn);

		if (at >= 0 && at < (int32_t)r->n && (at || (!r->answered && r->missing)))
			return true;
	}
	return false;
}

void follow_note_answer(struct stream *s, uint32_t psn, bool response)
{
	for (unsigned i = 0; i < reads(s); i++) {
		struct read *r = &s->read[i];
		int32_t at = rs_psn_diff(psn, r->psn);

		if (response && at == (int32_t)r->answered && r->answered < r->n)
			r->answered++;
		else if (at > (int32_t)r->answered)
			r->missing = r->answered < r->n;
	}
}

static enum rs_follow_cause cause_of(struct stream *s, const struct rs_packet *p, bool twice,
				     bool overtaken, int64_t now, int64_t *delay)
{
	bool missing = never_seen(s, p->psn);

	*delay = now - s->last_request_ns;
	if (twice)
		return RS_CAUSE_DUPLICATE;
	if (overtaken)
		return RS_CAUSE_LATE;
	if (s->nak_seen && rs_psn_diff(p->psn, s->nak_psn) >= 0 && now - s->last_nak_ns < NAK_NS) {
		*delay = now - s->last_nak_ns;
		return RS_CAUSE_NAK;
	}
	if (s->rnr_seen && p->psn == s->rnr_psn) {
		*delay = now - s->last_rnr_ns;
		return RS_CAUSE_RNR;
	}
	if (missing && *delay < NAK_NS)
		return RS_CAUSE_LATE;
	if (follow_is_read(p->opcode) && answer_missing(s, p->psn) &&
	    (*delay < NAK_NS || now - s->last_answer_ns < NAK_NS))
		return RS_CAUSE_READ_LOSS;
	return p->psn == s->last_psn && *delay < DUPLICATE_NS ? RS_CAUSE_DUPLICATE
							      : RS_CAUSE_TIMEOUT;
}

/* Returns whether the requester sent it again: not if the network doubled or delayed it. */
static bool went_back(struct rs_follow *f, struct stream *s, const struct rs_packet *p, bool twice,
		      bool overtaken)
{
	int64_t delay;
	enum rs_follow_cause cause = cause_of(s, p, twice, overtaken, f->now_ns, &delay);
	struct rs_follow_event *e;

	if (cause == RS_CAUSE_DUPLICATE || cause == RS_CAUSE_LATE) {
		s->s.duplicates += cause == RS_CAUSE_DUPLICATE;
		s->s.late += cause == RS_CAUSE_LATE;
		return false;
	}
	if (cause == RS_CAUSE_RNR) {
		int64_t least = s->rnr_wait_ns;

		if (delay > s->s.longest_wait_ns)
			s->s.longest_wait_ns = delay;
		/* clocks of two machines may differ: a tenth is allowed */
		if (delay < least - least / 10)
			follow_wrong(f, s, p->psn,
				     "sent again before the RNR timer was over (9.7.5.2.8)");
		s->rnr_seen = false;
	}
	if (cause == RS_CAUSE_TIMEOUT && delay > s->s.longest_wait_ns)
		s->s.longest_wait_ns = delay;
	if (cause == RS_CAUSE_NAK)
		s->nak_seen = false;
	s->resending = true;
	s->resend_to = s->next;
	s->resend_cause = cause;
	s->s.resent_by[cause]++;
	e = follow_event(f, RS_FOLLOW_RESENT, s, p->psn);
	if (e) {
		e->cause = cause;
		e->delay_ns = delay;
		e->n = 1;
		snprintf(e->what, sizeof(e->what), "from PSN 0x%06x, %d back", p->psn,
			 rs_psn_diff(s->next, p->psn));
		s->resend_event = f->n_events - 1;
	}
	return true;
}

static void count_message(struct stream *s, const struct rs_packet *p)
{
	uint32_t flags = rs_opcodes[p->opcode].flags;

	if (flags & RS_F_FIRST) {
		s->open_bytes = 0;
		s->in_message = true;
	}
	s->open_bytes += p->payload_bytes;
	if (!(flags & RS_F_LAST) || !s->in_message)
		return;
	s->in_message = false;
	s->s.messages++;
	if (!follow_is_read(p->opcode))
		s->s.message_bytes += s->open_bytes;
}

static void order_of_message(struct rs_follow *f, struct stream *s, const struct rs_packet *p)
{
	uint32_t flags = rs_opcodes[p->opcode].flags;

	/* 9.7.3.4: a message begins with First or Only, and goes on with Middle and Last */
	if (flags & (RS_F_SEND | RS_F_WRITE)) {
		if (flags & RS_F_FIRST && s->in_message)
			follow_wrong(
				f, s, p->psn,
				"a message begins before the one before it has ended (9.7.3.4)");
		if (!(flags & RS_F_FIRST) && !s->in_message)
			follow_wrong(f, s, p->psn,
				     "a message goes on that did not begin (9.7.3.4)");
		if (!(flags & RS_F_LAST) && s->s.mtu && p->payload_bytes != s->s.mtu)
			follow_wrong(
				f, s, p->psn,
				"a First or Middle packet is not as long as the path MTU (9.2.6)");
	}
}

/* A gap covers what was answered: the request was sent, and the capture missed it. */
static void forgive(struct rs_follow *f, struct stream *s, uint32_t psn)
{
	unsigned left = 0;

	for (unsigned i = 0; i < s->n_early; i++) {
		struct rs_follow_event *e = &f->event[s->early[i]];

		if (rs_psn_diff(e->psn, psn) >= 0) {
			s->early[left++] = s->early[i];
			continue;
		}
		e->kind = RS_FOLLOW_GAP;
		snprintf(e->what, sizeof(e->what), "an answer to a request that was not captured");
		f->t.wrong--;
	}
	s->n_early = left;
}

static void new_request(struct rs_follow *f, struct stream *s, const struct rs_packet *p)
{
	int32_t ahead = s->started ? rs_psn_diff(p->psn, s->next) : 0;

	if (ahead > 0) {
		struct rs_follow_event *e = follow_event(f, RS_FOLLOW_GAP, s, s->next);

		s->s.gaps++;
		s->s.gap_psns += (uint32_t)ahead;
		forgive(f, s, p->psn);
		if (e) {
			e->n = (uint32_t)ahead;
			snprintf(e->what, sizeof(e->what), "%d PSNs from 0x%06x were not seen",
				 ahead, s->next);
		}
		if (s->n_gaps < GAPS)
			s->gap[s->n_gaps++] = (struct gap){s->next, (uint32_t)ahead};
		s->in_message = !(rs_opcodes[p->opcode].flags & RS_F_FIRST);
	} else if (s->started) {
		order_of_message(f, s, p);
	} else {
		/* the capture may have begun in the middle */
		s->in_message = !(rs_opcodes[p->opcode].flags & RS_F_FIRST);
		s->unacked = s->first_psn = p->psn;
	}
	s->started = true;
	s->next = rs_psn_add(p->psn, psns(s, p));
	if (answered_apart(p->opcode))
		s->read[s->n_reads++ % READS] = (struct read){.psn = p->psn, .n = psns(s, p)};
	count_message(s, p);
}

void follow_request(struct rs_follow *f, struct stream *s, const struct rs_packet *p,
		    uint16_t ip_id)
{
	bool old = s->started && rs_psn_diff(p->psn, s->next) < 0;
	bool twice = same_packet(s, p->psn, ip_id);
	bool overtaken; /* sent before what came before it */

	/* segmentation offload numbers the packets of each send from the same identification on */
	if (!old) {
		s->ids_repeat |= s->started && (uint16_t)(ip_id - s->last_id - 1) >= 0x7fff;
		s->last_id = ip_id;
	}
	twice &= !s->ids_repeat;
	overtaken = old && !twice && !s->ids_repeat && ip_id &&
		    (uint16_t)(s->high_id - ip_id - 1) < 0x7ffe;
	if (!overtaken)
		s->high_id = ip_id;
	s->sport = p->sport;
	s->s.packets++;
	s->s.frame_bytes += p->frame_bytes;
	s->s.payload_bytes += p->payload_bytes;
	s->s.last_ns = f->now_ns;
	if (s->s.transport == RS_UD) {
		s->s.messages++;
		s->s.message_bytes += p->payload_bytes;
		return;
	}
	if (old && s->s.transport == RS_UC) {
		s->s.duplicates++;
		return;
	}
	if (old) {
		/* what is missing in between was lost once more */
		bool going_on = !twice && s->resending &&
				(overtaken || rs_psn_diff(p->psn, s->last_psn) > 0) &&
				rs_psn_diff(p->psn, s->resend_to) < 0;

		if (going_on) {
			if (s->resend_event < f->n_events)
				f->event[s->resend_event].n++;
			s->s.resent_by[s->resend_cause]++;
		} else if (!went_back(f, s, p, twice, overtaken)) {
			return;
		}
		s->s.resent++;
		/* where a gap was: the message goes on from here */
		s->in_message = !(rs_opcodes[p->opcode].flags & RS_F_LAST);
	} else {
		if (s->resending)
			s->in_message = !(rs_opcodes[p->opcode].flags & RS_F_FIRST);
		s->resending = false;
		new_request(f, s, p);
	}
	if (p->bth_flags & RS_BTH_ACKREQ || answered_apart(p->opcode)) {
		s->ack_wanted = true;
		s->asked_psn = p->psn;
	}
	s->last_psn = p->psn;
	s->last_request_ns = f->now_ns;
}
