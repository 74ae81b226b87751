/*
 * Selective repeat of READs and atomics. Their answers are put where they belong in any order and
 * complete in theirs; a part of a READ that is missing is asked for by a READ of that part (IBTA
 * §9.7.5.1.4 lets a requester do so), an atomic by itself, which the responder remembers.
 *
 * In go-back-N an answer that skips another is an implied NAK. Here what it skips is missing, and
 * lost once time for its order has passed. No answer tells of what follows the latest: for that
 * there is the timeout. Of a request that the responder has not, its NAK tells.
 */
#include "rdma/selective.h"

/* One past the highest answer that came, or the oldest that is due. */
static uint32_t top_of(const struct rs_qp *qp, const struct selective *s)
{
	return s->r_came ? s->r_top : qp->una_psn;
}

bool rs_reads_out(const struct rs_qp *qp)
{
	return qp->max_psn != qp->una_psn && qp->sq_head != qp->sq_tail &&
	       rs_qp_swqe(qp, qp->sq_head)->response;
}

uint32_t rs_reads_due(const struct rs_qp *qp, const struct selective *s)
{
	return ((qp->next_psn - qp->una_psn) & RS_PSN_MASK) - s->r_came;
}

/* ---- What came ---- */

/* Those between the highest that came and psn are missing from now on. */
static void skip_to(const struct rs_qp *qp, struct selective *s, uint32_t psn, rs_time now)
{
	for (uint32_t x = top_of(qp, s); rs_psn_diff(x, psn) < 0; x = rs_psn_add(x, 1))
		s->sent[place_of(s, x)] = (struct sent){.when = now};
	if (rs_psn_diff(psn, top_of(qp, s)) >= 0) {
		s->sent[place_of(s, psn)].again = false;
		s->r_top = rs_psn_add(psn, 1);
	}
}

static void came(const struct rs_qp *qp, struct selective *s, uint32_t psn, rs_time now)
{
	uint32_t at = place_of(s, psn);

	skip_to(qp, s, psn, now);
	if (s->sent[at].again && s->sent[at].when >= s->r_again) {
		s->r_again = s->sent[at].when;
		s->r_again_psn = psn;
		s->r_again_came = now;
	}
	if (has(s->lost, at)) {
		clear(s->lost, at);
		s->r_lost--;
	}
	put(s->acked, at);
	s->r_came++;
	s->r_news = true;
}

/* In their order. */
static void complete(struct rs_nic *nic, struct rs_qp *qp, struct selective *s)
{
	while (s->r_came && has(s->acked, place_of(s, qp->una_psn))) {
		const struct rs_swqe *w = rs_qp_swqe(qp, qp->sq_head);

		clear(s->acked, place_of(s, qp->una_psn));
		s->r_came--;
		if (qp->una_k + 1 == w->packets) {
			rs_qp_retire(nic, qp, RS_WC_SUCCESS, w->length);
		} else {
			qp->una_k++;
			qp->una_psn = rs_psn_add(qp->una_psn, 1);
		}
	}
}

void rs_reads_response(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p, uint32_t f,
		       rs_time now)
{
	struct selective *s = rs_selective_of(qp);
	uint32_t psn = p->psn & RS_PSN_MASK, i = rs_selective_request(qp, psn);
	const struct rs_swqe *w = rs_qp_swqe(qp, i);
	uint32_t k = (psn - w->first_psn) & RS_PSN_MASK;

	if (!w->response || !rs_comp_fits(qp, w, k, p, f)) {
		nic->counters.rx_dropped++;
		return;
	}
	if (((psn - qp->una_psn) & RS_PSN_MASK) >= s->window - WORD ||
	    has(s->acked, place_of(s, psn)))
		return; /* no place to remember it, or known: it comes again, or came */
	if (!rs_comp_store(nic, qp, i, k, p)) {
		if (i == qp->sq_head)
			rs_qp_fail(nic, qp, RS_WC_LOC_PROT_ERR);
		return; /* it fails in its turn */
	}
	qp->retries = 0;
	came(qp, s, psn, now);
	complete(nic, qp, s);
}

/* ---- What is missing ---- */

/* When it counts as lost. What was asked for again does once an answer came of what was asked for
 * later; no sooner than `reorder` after that answer. */
static rs_time due_of(const struct selective *s, uint32_t psn)
{
	const struct sent *o = &s->sent[place_of(s, psn)];

	if (!o->again)
		return o->when + s->c->reorder;
	if (o->when < s->r_again || (o->when == s->r_again && rs_psn_diff(psn, s->r_again_psn) < 0))
		return s->r_again_came + s->c->reorder;
	return RS_NEVER;
}

static void lose(struct selective *s, uint32_t at)
{
	put(s->lost, at);
	s->r_lost++;
}

static void look_at_word(struct rs_qp *qp, struct selective *s, uint32_t psn, uint32_t n,
			 rs_time now)
{
	uint32_t place = place_of(s, psn), at = place % WORD;
	uint64_t known = s->acked[place / WORD] | s->lost[place / WORD];
	uint64_t missing = (~known >> at) & first_bits(n);

	for (; missing; missing &= missing - 1) {
		uint32_t k = (uint32_t)__builtin_ctzll(missing);
		rs_time due = due_of(s, rs_psn_add(psn, k));

		if (due > now) {
			s->lost_at = rs_time_min(s->lost_at, due);
			continue;
		}
		lose(s, place + k);
		qp->cold->again_for = RS_AGAIN_NAK;
	}
}

static void go_to(struct rs_qp *qp, uint32_t psn);

/* The responder still has not the request, by all that came since its NAK. */
static void look_at_gap(struct rs_qp *qp, struct selective *s, rs_time now)
{
	if (s->gap_at == RS_NEVER)
		return;
	if (rs_psn_diff(top_of(qp, s), s->gap_psn) > 0) {
		s->gap_at = RS_NEVER;
	} else if (s->gap_at > now) {
		s->lost_at = rs_time_min(s->lost_at, s->gap_at);
	} else {
		s->gap_at = RS_NEVER;
		if (rs_psn_diff(qp->next_psn, s->gap_psn) > 0) {
			qp->cold->again_for = RS_AGAIN_NAK;
			go_to(qp, s->gap_psn);
		}
	}
}

void rs_reads_look(struct rs_qp *qp, struct selective *s, rs_time now)
{
	uint32_t psn = qp->una_psn;
	int32_t left = s->r_came ? rs_psn_diff(s->r_top, psn) : 0;

	s->lost_at = RS_NEVER;
	while (left > 0) {
		uint32_t n = WORD - psn % WORD;

		if (n > (uint32_t)left)
			n = (uint32_t)left;
		look_at_word(qp, s, psn, n, now);
		psn = rs_psn_add(psn, n);
		left -= (int32_t)n;
	}
	look_at_gap(qp, s, now);
}

void rs_reads_gap(struct rs_nic *nic, struct rs_qp *qp, uint32_t psn, rs_time now)
{
	struct selective *s = rs_selective_of(qp);

	s->gap_at = now + s->c->reorder;
	s->gap_psn = psn;
	s->r_news = true;
}

/* ---- The cursor ---- */

/* What is sent next is what psn asks for, whatever was sent before. */
static void go_to(struct rs_qp *qp, uint32_t psn)
{
	const struct rs_swqe *w;
	uint32_t i = qp->sq_head;

	for (; i != qp->sq_tail; i++) {
		w = rs_qp_swqe(qp, i);
		if (((psn - w->first_psn) & RS_PSN_MASK) < w->packets)
			break;
	}
	w = rs_qp_swqe(qp, i != qp->sq_tail ? i : i - 1);
	qp->outstanding = (uint8_t)(i - qp->sq_head);
	qp->sq_send = i;
	qp->send_k = i != qp->sq_tail ? (psn - w->first_psn) & RS_PSN_MASK : 0;
	qp->next_psn = psn;
	qp->sent = qp->requested = i != qp->sq_tail ? w->start : w->end;
	qp->flags &= ~(uint32_t)(RS_QF_RTT | RS_QF_BAD_LOCAL);
}

void rs_reads_rewind(struct rs_qp *qp, struct selective *s)
{
	uint32_t top = top_of(qp, s);

	rs_recover_rewind(qp);
	s->gap_at = RS_NEVER;
	for (uint32_t psn = qp->una_psn; psn != top; psn = rs_psn_add(psn, 1)) {
		uint32_t at = place_of(s, psn);

		if (!has(s->acked, at) && !has(s->lost, at))
			lose(s, at);
	}
	if (top != qp->una_psn)
		go_to(qp, top);
	qp->requested = qp->acked; /* until something is asked for again */
}

void rs_reads_skip(struct rs_qp *qp, struct selective *s)
{
	if (s->r_came && rs_psn_diff(s->r_top, qp->next_psn) > 0)
		go_to(qp, s->r_top);
}

/* ---- Asking again ---- */

bool rs_reads_ask(struct rs_nic *nic, struct rs_qp *qp, struct selective *s, struct rs_packet *p,
		  rs_time now)
{
	uint32_t psn = oldest_lost(s, qp->una_psn), i = rs_selective_request(qp, psn), n = 0;
	const struct rs_swqe *w = rs_qp_swqe(qp, i);
	uint32_t k = (psn - w->first_psn) & RS_PSN_MASK;
	uint8_t outstanding = qp->outstanding;
	bool sent = rs_req_send_again(nic, qp, i, k, psn, p);

	qp->outstanding = outstanding;
	if (!sent) {
		s->refused = true; /* its memory is the owner's no more: it fails in its turn */
		s->refused_at = i;
		return false;
	}
	for (; k + n < w->packets; n++) {
		uint32_t at = place_of(s, rs_psn_add(psn, n));

		if (!has(s->lost, at))
			break;
		clear(s->lost, at);
		s->r_lost--;
		s->sent[at] = (struct sent){.when = now, .again = true};
	}
	qp->requested = qp->sent;
	if (w->op == RS_WR_READ && k + n < w->packets)
		p->dma_bytes = n * qp->mtu;
	return true;
}

/* ---- Responder ---- */

void rs_reads_owe(struct rs_qp *qp, uint32_t psn, uint32_t n)
{
	struct selective *s = rs_selective_of(qp);

	for (uint32_t i = 0; i < s->again_n; i++) {
		const struct again *a = &s->again[(s->again_head + i) % AGAIN];

		if (((psn - a->psn) & RS_PSN_MASK) + n <= a->n)
			return; /* owed already */
	}
	if (s->again_n == AGAIN)
		return;
	s->again[(s->again_head + s->again_n++) % AGAIN] = (struct again){psn, n};
}

bool rs_reads_owed(const struct rs_qp *qp)
{
	return rs_selective_of(qp)->again_n != 0;
}

uint32_t rs_reads_owed_psn(const struct rs_qp *qp)
{
	const struct selective *s = rs_selective_of(qp);

	return s->again[s->again_head].psn;
}

void rs_reads_paid(struct rs_qp *qp, bool part)
{
	struct selective *s = rs_selective_of(qp);
	struct again *a = &s->again[s->again_head];

	a->psn = rs_psn_add(a->psn, 1);
	if (--a->n && !part)
		return;
	s->again_head = (s->again_head + 1) % AGAIN;
	s->again_n--;
}

/* ---- Invariants ---- */

void rs_reads_check(const struct rs_qp *qp, const struct selective *s)
{
	uint32_t n_came = 0, n_lost = 0;

	for (uint32_t w = 0; w < s->window / WORD; w++) {
		n_came += (uint32_t)__builtin_popcountll(s->acked[w]);
		n_lost += (uint32_t)__builtin_popcountll(s->lost[w]);
		rs_assert(!(s->acked[w] & s->lost[w]));
	}
	rs_assert(n_came == s->r_came && n_lost == s->r_lost);
	rs_assert(!s->r_came || rs_psn_diff(s->r_top, qp->una_psn) > 1);
	rs_assert(!s->r_came || rs_psn_diff(qp->next_psn, s->r_top) >= 0);
	rs_assert(!s->r_came || !has(s->acked, place_of(s, qp->una_psn)));
	rs_assert(s->r_came || !s->r_lost);
	rs_assert(s->again_n <= AGAIN);
}
