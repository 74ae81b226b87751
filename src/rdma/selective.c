/*
 * Selective repeat: packets of WRITEs and SENDs are taken in any order, and only what is missing is
 * sent again. What may be in flight and how long a timeout is follow IRN (Mittal et al., SIGCOMM
 * 2018, §3); what counts as lost follows RACK (RFC 8985, §6.2), which a changed order does not
 * mislead.
 */
#include <string.h>
#include "rdma/selective.h"

/*
 * Memory has no order but the one in which bytes are put there. So that it holds what packets in
 * order would have left, the requester sends no WRITE while a SEND, READ or atomic before it is
 * out, and no READ or atomic while anything else is: WRITEs and SENDs are kept before their turn
 * only before these, READs and atomics only before their like, to be executed in it. What a WRITE
 * that comes late would overwrite of one that was posted after it, place() leaves as it is. How
 * READs and atomics are recovered is in selective_reads.c.
 */

/* Four times what may be in flight: a packet that is lost holds back none for three round trips. */
static uint32_t window_of(const struct rs_nic_config *c)
{
	uint32_t w = WINDOW_LEAST;

	while (w < 4 * c->selective.in_flight + WORD)
		w *= 2;
	return w;
}

/* Words of untold. */
static uint32_t untold_words(uint32_t window)
{
	return (window / WORD + WORD - 1) / WORD;
}

static size_t bytes(const struct rs_nic_config *c)
{
	uint32_t w = window_of(c);

	return sizeof(struct selective) + w * (sizeof(struct sent) + sizeof(struct kept)) +
	       (3 * w / WORD + untold_words(w)) * sizeof(uint64_t) +
	       (c->selective.balance.n ? rs_balance_bytes(&c->selective.balance) : 0);
}

static void init(const struct rs_nic_config *c, void *memory)
{
	struct selective *s = memory;

	s->c = &c->selective;
	s->window = window_of(c);
	s->mode = c->selective.ask ? ASKING : SELECTIVE;
	s->few =
		FEW + (c->ack_every ? c->ack_every - 1 : 0); /* may have come, and not be told of */
	s->sent = (struct sent *)(s + 1);
	s->kept = (struct kept *)(s->sent + s->window);
	s->acked = (uint64_t *)(s->kept + s->window);
	s->lost = s->acked + s->window / WORD;
	s->here = s->lost + s->window / WORD;
	s->untold = s->here + s->window / WORD;
	if (s->c->balance.n)
		s->balance = (struct rs_balance *)(s->untold + untold_words(s->window));
	s->nak_for = s->una = NO_PSN;
	s->rto_at = s->lost_at = s->least_rtt = s->gap_at = RS_NEVER;
}

static void forget(struct rs_qp *qp)
{
	struct selective *s = rs_selective_of(qp);
	struct selective old = *s;

	*s = (struct selective){
		.c = old.c,
		.window = old.window,
		.mode = old.c->ask ? ASKING : SELECTIVE,
		.few = old.few,
		.nak_for = NO_PSN,
		.una = NO_PSN,
		.rto_at = RS_NEVER,
		.lost_at = RS_NEVER,
		.least_rtt = RS_NEVER,
		.gap_at = RS_NEVER,
		.sent = old.sent,
		.kept = old.kept,
		.acked = old.acked,
		.lost = old.lost,
		.here = old.here,
		.untold = old.untold,
		.balance = old.balance,
	};
	memset(s->acked, 0, (3 * s->window / WORD + untold_words(s->window)) * sizeof(uint64_t));
}

/* ---- Both: paths ---- */

/* Another seed draws another port for the queue pair, and with it other ones here. */
static uint16_t next_port(const struct rs_nic *nic, const struct rs_qp *qp, struct selective *s,
			  rs_time now)
{
	uint64_t entity = (uint64_t)nic->c.endpoint << 24 | qp->qpn;

	if (!s->balanced)
		rs_balance_init(s->balance, &s->c->balance,
				rs_random_stream(qp->sport, entity, 0x504f5254));
	s->balanced = true;
	return 0xc000 | (rs_balance_next(s->balance, now) & (RS_PORTS_MAX - 1));
}

static void met(struct selective *s, uint32_t place, enum rs_path_feedback what, rs_time now)
{
	if (s->balance && s->balanced)
		rs_balance_told(s->balance, s->sent[place].port, what, now);
}

/* Answers go by any path, too: nothing tells of what they meet. */
static void spread(struct rs_nic *nic, struct rs_qp *qp, struct rs_packet *p, rs_time now)
{
	struct selective *s = rs_selective_of(qp);

	if (s->balance && s->mode == SELECTIVE)
		p->sport = next_port(nic, qp, s, now);
}

/* ---- Requester: what is lost ---- */

static inline uint32_t tracked(const struct selective *s)
{
	return (s->top - s->base) & RS_PSN_MASK;
}

static inline uint32_t in_flight(const struct selective *s)
{
	return tracked(s) - s->n_acked - s->n_lost;
}

static void lose(struct selective *s, uint32_t place)
{
	put(s->lost, place);
	s->n_lost++;
	s->off += s->sent[place].bytes;
}

/* It is neither lost nor known to have arrived any more, as far as the counts go. */
static void uncount(struct selective *s, uint32_t place)
{
	if (has(s->acked, place))
		s->n_acked--;
	else if (has(s->lost, place))
		s->n_lost--;
	else
		return;
	s->off -= s->sent[place].bytes;
	clear(s->acked, place);
	clear(s->lost, place);
}

/*
 * The packet has arrived: RACK's two latest (RFC 8985, §6.2, step 2). An answer to one that was
 * sent again, sooner than any round trip took, is the answer to the first copy.
 */
static void arrived(struct selective *s, uint32_t psn, rs_time now)
{
	const struct sent *o = &s->sent[place_of(s, psn)];
	rs_time rtt = now - o->when;

	met(s, place_of(s, psn), s->marked ? RS_PATH_MARKED : RS_PATH_GOOD, now);
	if (o->again && (s->least_rtt == RS_NEVER || rtt < s->least_rtt))
		return;
	if (!o->again)
		s->least_rtt = rs_time_min(s->least_rtt, rtt);
	s->rtt = rtt;
	if (o->when < s->newest || (o->when == s->newest && rs_psn_diff(psn, s->newest_psn) <= 0))
		return;
	s->newest = o->when;
	s->newest_psn = psn;
	s->newest_again = o->again;
}

static bool sent_before_newest(const struct selective *s, uint32_t psn)
{
	rs_time when = s->sent[place_of(s, psn)].when;

	return when < s->newest || (when == s->newest && rs_psn_diff(psn, s->newest_psn) < 0);
}

/* Those of a word that are missing, from psn on, n at most: lost, or when they will be. */
static bool lose_of_word(struct selective *s, uint32_t psn, uint32_t n, rs_time now)
{
	uint32_t place = place_of(s, psn), at = place % WORD;
	uint64_t known = s->acked[place / WORD] | s->lost[place / WORD];
	uint64_t missing = (~known >> at) & first_bits(n);
	bool some = false;

	for (; missing; missing &= missing - 1) {
		uint32_t k = (uint32_t)__builtin_ctzll(missing);
		rs_time due = s->sent[place + k].when + s->rtt + s->c->reorder;

		if (!sent_before_newest(s, rs_psn_add(psn, k)))
			continue;
		if (s->c->reorder && due > now) {
			s->lost_at = rs_time_min(s->lost_at, due);
			continue;
		}
		lose(s, place + k);
		met(s, place + k, RS_PATH_TRIMMED, now);
		some = true;
	}
	return some;
}

/*
 * What was sent before the latest that arrived, and is missing, is lost, or will be when time for
 * its order has passed. Of packets sent once, those behind the latest were sent after it.
 */
static void look_for_lost(struct rs_nic *nic, struct rs_qp *qp, struct selective *s, rs_time now)
{
	uint32_t end = s->newest_again ? s->top : s->newest_psn, psn = s->base;
	int32_t left = rs_psn_diff(end, psn);
	const struct rs_cc_use *cc = rs_cc_of(nic, qp);
	bool some = false;

	s->lost_at = RS_NEVER;
	while (left > 0) {
		uint32_t n = WORD - psn % WORD;

		if (n > (uint32_t)left)
			n = (uint32_t)left;
		some |= lose_of_word(s, psn, n, now);
		psn = rs_psn_add(psn, n);
		left -= (int32_t)n;
	}
	if (some)
		qp->cold->again_for = RS_AGAIN_NAK;
	if (!some || s->in_round)
		return;
	s->in_round = true;
	s->round = s->top;
	cc->ops->on_loss(cc->params, &qp->cc, false, now);
}

static void look(struct rs_nic *nic, struct rs_qp *qp, struct selective *s, rs_time now)
{
	if (tracked(s))
		look_for_lost(nic, qp, s, now);
	else
		rs_reads_look(qp, s, now);
}

/* All that is out is lost; what is known to have arrived is not, unless timeouts follow each other:
 * the answers that told of it may have been wrong (RFC 2018, §8). */
static void rewind_all(struct rs_qp *qp)
{
	struct selective *s = rs_selective_of(qp);
	bool doubt = qp->retries > 1;

	s->rto_at = s->lost_at = RS_NEVER;
	if (!tracked(s)) {
		rs_reads_rewind(qp, s);
		return;
	}
	for (uint32_t psn = s->base; psn != s->top; psn = rs_psn_add(psn, 1)) {
		uint32_t place = place_of(s, psn);

		if (doubt)
			uncount(s, place);
		if (!has(s->acked, place) && !has(s->lost, place))
			lose(s, place);
	}
	qp->requested = qp->acked;
	qp->flags &= ~(uint32_t)RS_QF_RTT;
}

/* ---- Requester: deadlines ---- */

static void set_deadline(struct rs_nic *nic, struct rs_qp *qp, const struct selective *s)
{
	rs_time t = rs_time_min(s->rto_at, s->lost_at);

	if ((qp->flags & RS_QF_RNR_WAIT) || t == qp->deadline)
		return;
	qp->deadline = t;
	if (t != RS_NEVER)
		rs_timer_arm(nic, qp, t);
}

/* While an answer that was asked for is out (§9.7.6.1.3), however slowly the rest is paced: IRN's
 * two, doubled with each timeout in a row. Off where the attribute timeout is. */
static rs_time timeout_from(const struct rs_qp *qp, const struct selective *s, rs_time now)
{
	bool reads = rs_reads_out(qp);
	bool few = reads ? rs_reads_due(qp, s) <= s->few : tracked(s) && in_flight(s) <= s->few;

	if (!qp->rto || (qp->flags & RS_QF_RNR_WAIT) ||
	    (!reads && (int64_t)(qp->requested - qp->acked) <= 0))
		return RS_NEVER;
	return now + ((few ? s->c->rto_low : s->c->rto_high) << qp->retries);
}

/*
 * These timeouts are short: as many as the attribute retry_cnt has are over before any failure in
 * the network is mended. The peer is given up when it has been silent for as long as go-back-N
 * would wait; until then the last retry is spent again.
 */
static void spare(struct rs_qp *qp, const struct selective *s, rs_time now)
{
	uint8_t most = qp->cold->retry_cnt;

	if (most && qp->retries >= most && now - s->heard < (most + 1) * qp->rto)
		qp->retries = most - 1;
}

static bool expire(struct rs_nic *nic, struct rs_qp *qp, rs_time now)
{
	struct selective *s = rs_selective_of(qp);

	if (s->mode != SELECTIVE)
		return false;
	if (s->rto_at <= now) {
		if (tracked(s))
			met(s, place_of(s, s->base), RS_PATH_TIMEOUT, now);
		s->rto_at = RS_NEVER;
		spare(qp, s, now);
		RS_COUNT(nic, qp, local_ack_timeout_err);
		qp->flags &= ~(uint32_t)RS_QF_IMPLIED;
		if (!rs_recover_go_back(nic, qp, true, now))
			return true;
	} else if (s->lost_at <= now) {
		look(nic, qp, s, now);
		rs_sched_kick(nic, qp);
	}
	set_deadline(nic, qp, s);
	return true;
}

/* ---- Requester: answers ---- */

/* Does this packet tell whether its sender is selective? NAKs and CNPs do not. */
static bool tells(const struct rs_packet *p)
{
	uint32_t f = rs_opcodes[p->opcode].flags, kind = rs_packet_syndrome(p) & RS_SYN_KIND;

	return f & (RS_F_READ | RS_F_ATOMIC_ACK) ||
	       (f & RS_F_AETH && (kind == RS_SYN_ACK || kind == RS_SYN_SACK));
}

/* By go-back-N's rules; and, with nothing out, by those of this file from then on. */
static void acked_in_order(struct rs_nic *nic, struct rs_qp *qp, struct selective *s,
			   const struct rs_packet *p, rs_time now)
{
	bool waits = (int64_t)(qp->requested - qp->acked) > 0 && qp->rto;

	if (s->mode == ASKING && tells(p)) {
		s->can |= (p->bth_flags & RS_BTH_CAN) != 0;
		s->mode = s->can ? ASKING : IN_ORDER;
	}
	if (qp->una_psn != s->una && !(qp->flags & RS_QF_RNR_WAIT)) {
		qp->deadline = waits ? now + qp->rto : RS_NEVER;
		if (waits)
			rs_timer_arm(nic, qp, qp->deadline);
	}
	s->una = qp->una_psn;
	if (s->can && qp->una_psn == qp->next_psn && !(qp->flags & RS_QF_RNR_WAIT)) {
		s->mode = SELECTIVE;
		qp->deadline = RS_NEVER;
	}
	rs_sched_kick(nic, qp);
}

/*
 * Those before una_psn are acknowledged. When the one at una_psn had arrived, as an answer told, it
 * was thrown away in its turn, for an RNR NAK: it is lost.
 */
static void take_cumulative(struct selective *s, uint32_t una, rs_time now)
{
	while (s->base != s->top && rs_psn_diff(una, s->base) > 0) {
		uint32_t place = place_of(s, s->base);

		if (!has(s->acked, place))
			arrived(s, s->base, now);
		uncount(s, place);
		s->base = rs_psn_add(s->base, 1);
	}
	if (s->in_round && rs_psn_diff(s->base, s->round) >= 0)
		s->in_round = false;
	if (tracked(s) && has(s->acked, place_of(s, s->base))) {
		uncount(s, place_of(s, s->base));
		lose(s, place_of(s, s->base));
	}
}

/* A word of what the responder keeps; a stranger's may be of anything. */
static bool take_word(struct selective *s, const struct rs_packet *p, rs_time now)
{
	bool news = false;

	if (p->rkey % WORD)
		return false;
	for (uint64_t word = p->va; word; word &= word - 1) {
		uint32_t psn = rs_psn_add(p->rkey, (uint32_t)__builtin_ctzll(word));
		uint32_t place = place_of(s, psn);

		if (((psn - s->base) & RS_PSN_MASK) >= tracked(s) || has(s->acked, place) ||
		    psn == s->base) /* told before it was thrown away: see above */
			continue;
		arrived(s, psn, now);
		uncount(s, place);
		put(s->acked, place);
		s->n_acked++;
		s->off += s->sent[place].bytes;
		news = true;
	}
	return news;
}

static void acked(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p, rs_time now)
{
	struct selective *s = rs_selective_of(qp);
	bool news = qp->una_psn != s->una;

	if (qp->state == RS_QPS_ERR)
		return;
	s->marked = p->bth_flags & RS_BTH_BECN;
	if (s->mode != SELECTIVE) {
		acked_in_order(nic, qp, s, p, now);
		return;
	}
	s->una = qp->una_psn;
	take_cumulative(s, qp->una_psn, now);
	if (s->fenced && rs_psn_diff(qp->una_psn, s->fence) >= 0)
		s->fenced = false;
	if ((p->bth_flags & RS_BTH_EXTENDED) &&
	    (rs_packet_syndrome(p) & RS_SYN_KIND) == RS_SYN_SACK && take_word(s, p, now)) {
		qp->retries = 0;
		news = true;
	}
	if (s->r_news) {
		s->r_news = false;
		rs_reads_skip(qp, s);
		news = true;
	}
	if (!news)
		return;
	s->heard = now;
	s->rto_at = timeout_from(qp, s, now);
	look(nic, qp, s, now);
	set_deadline(nic, qp, s);
	rs_sched_kick(nic, qp);
}

static uint64_t off(const struct rs_qp *qp)
{
	return rs_selective_of(qp)->off;
}

/* ---- Requester: sending ---- */

/* A SEND tells which receive it takes, by how many were taken before it: IRN's recv_WQE_SN
 * (§5.3.2).
 */
static void posted(struct rs_qp *qp, struct rs_swqe *w)
{
	struct selective *s = rs_selective_of(qp);

	if (w->middle == RS_OP_SEND_MIDDLE)
		w->rkey = s->receives;
	s->receives += w->wants_receive;
}

/* As the order of memory has it: at the top of this file. */
static bool in_turn(const struct rs_qp *qp, const struct selective *s, const struct rs_swqe *w)
{
	if (!w->packets || (qp->send_k && !w->response))
		return true;
	if (w->response)
		return qp->outstanding || qp->send_k || qp->una_psn == qp->next_psn;
	return !qp->outstanding && !(s->fenced && w->middle == RS_OP_WRITE_MIDDLE);
}

/* PSNs from the oldest unacknowledged on, at most: a word less than the window, so that no word is
 * of two turns of the ring. */
static uint32_t span_of(const struct selective *s, const struct rs_swqe *w)
{
	return w->response ? RS_PSN_WINDOW : s->window - WORD;
}

static bool ready(const struct rs_qp *qp)
{
	const struct selective *s = rs_selective_of(qp);
	uint64_t flying = qp->sent - qp->acked - s->off;
	const struct rs_swqe *w;

	if (s->mode != SELECTIVE)
		return (s->mode == IN_ORDER || qp->next_psn == qp->una_psn) &&
		       rs_req_ready_in_order(qp);
	if (qp->flags & (RS_QF_RNR_WAIT | RS_QF_HELD))
		return false;
	if (s->refused)
		return qp->sq_head == s->refused_at;
	if ((flying && flying + qp->window_room > qp->cc.window) || in_flight(s) >= s->c->in_flight)
		return false;
	if (s->n_lost || s->r_lost)
		return true;
	if (qp->sq_send == qp->sq_tail)
		return false;
	w = rs_qp_swqe(qp, qp->sq_send);
	return rs_qp_in_flight(qp) < span_of(s, w) && in_turn(qp, s, w) && rs_req_may_go(qp);
}

/* Each packet of a message of several tells its place: the responder may have none of the others.
 */
static void tell_place(const struct rs_qp *qp, const struct rs_swqe *w, uint32_t k,
		       struct rs_packet *p)
{
	bool write = w->middle == RS_OP_WRITE_MIDDLE;
	uint32_t offset = k * qp->mtu;

	if (!rs_op_placed(p->opcode))
		return;
	p->bth_flags |= RS_BTH_EXTENDED;
	p->va = write ? w->remote_va + offset : offset;
	p->rkey = w->rkey;
	p->dma_bytes = w->length - offset;
}

static void track(struct rs_qp *qp, struct selective *s, const struct rs_packet *p, bool again,
		  rs_time now)
{
	uint32_t place = place_of(s, p->psn);

	if (!again) {
		if (!tracked(s)) {
			s->base = p->psn;
			s->newest_psn = p->psn;
			s->newest_again = false;
		}
		s->top = rs_psn_add(p->psn, 1);
	}
	s->sent[place] = (struct sent){
		.when = now,
		.bytes = (uint16_t)(p->frame_bytes - rs_qp_uncounted(qp)),
		.port = p->sport,
		.again = again,
	};
}

static void ask_ack(struct rs_qp *qp, struct rs_packet *p)
{
	p->bth_flags |= RS_BTH_ACKREQ;
	qp->unrequested = 0;
	qp->requested = qp->sent;
}

static void start_timer(struct rs_nic *nic, struct rs_qp *qp, struct selective *s, rs_time now)
{
	if (!qp->retries && s->rto_at == RS_NEVER)
		s->heard = now;
	if (s->rto_at == RS_NEVER)
		s->rto_at = timeout_from(qp, s, now);
	set_deadline(nic, qp, s);
}

static bool send_lost(struct rs_nic *nic, struct rs_qp *qp, struct selective *s,
		      struct rs_packet *p, rs_time now)
{
	uint32_t psn = oldest_lost(s, s->base), i = rs_selective_request(qp, psn);
	const struct rs_swqe *w = rs_qp_swqe(qp, i);
	uint32_t k = (psn - w->first_psn) & RS_PSN_MASK;

	if (!rs_req_send_again(nic, qp, i, k, psn, p)) {
		s->refused = true; /* its memory is the owner's no more: it fails in its turn */
		s->refused_at = i;
		return false;
	}
	tell_place(qp, w, k, p);
	spread(nic, qp, p, now);
	uncount(s, place_of(s, psn));
	track(qp, s, p, true, now);
	ask_ack(qp, p);
	qp->flags &= ~(uint32_t)RS_QF_RTT;
	start_timer(nic, qp, s, now);
	return true;
}

/* A part of a READ, or an atomic, whose answer did not come. */
static bool ask_again(struct rs_nic *nic, struct rs_qp *qp, struct selective *s,
		      struct rs_packet *p, rs_time now)
{
	if (!rs_reads_ask(nic, qp, s, p, now))
		return false;
	spread(nic, qp, p, now);
	qp->flags &= ~(uint32_t)RS_QF_RTT;
	start_timer(nic, qp, s, now);
	return true;
}

static bool send_next(struct rs_nic *nic, struct rs_qp *qp, struct selective *s,
		      struct rs_packet *p, rs_time now)
{
	const struct rs_swqe *w = rs_qp_swqe(qp, qp->sq_send);
	uint32_t k = qp->send_k;

	if (!rs_req_send_next(nic, qp, p, now))
		return false;
	spread(nic, qp, p, now);
	if (!w->response) {
		tell_place(qp, w, k, p);
		track(qp, s, p, false, now);
	}
	if (w->middle != RS_OP_WRITE_MIDDLE) {
		s->fenced = true;
		s->fence = qp->next_psn;
	}
	/* an answer is due before the queue pair has to wait for one */
	if (qp->unrequested >= s->c->in_flight / 4 || in_flight(s) >= s->c->in_flight ||
	    rs_qp_in_flight(qp) >= s->window - WORD)
		ask_ack(qp, p);
	start_timer(nic, qp, s, now);
	return true;
}

static bool send_in_order(struct rs_nic *nic, struct rs_qp *qp, const struct selective *s,
			  struct rs_packet *p, rs_time now)
{
	if (!rs_req_send_next(nic, qp, p, now))
		return false;
	if (s->mode == ASKING)
		rs_qp_ask_ack(nic, p, now);
	return true;
}

static bool send(struct rs_nic *nic, struct rs_qp *qp, struct rs_packet *p, rs_time now)
{
	struct selective *s = rs_selective_of(qp);
	bool sent;

	if (s->refused) {
		rs_qp_fail_send(nic, qp, RS_WC_LOC_PROT_ERR);
		return false;
	}
	if (s->mode != SELECTIVE)
		sent = send_in_order(nic, qp, s, p, now);
	else if (s->n_lost)
		sent = send_lost(nic, qp, s, p, now);
	else if (s->r_lost)
		sent = ask_again(nic, qp, s, p, now);
	else
		sent = send_next(nic, qp, s, p, now);
	if (sent)
		p->bth_flags |= RS_BTH_CAN;
	return sent;
}

/* ---- Responder ---- */

/*
 * A SEND's packet, into a receive that is there, in one piece. What an SRQ gives is known in its
 * turn only, and so is whether there will be a receive.
 */
static bool may_keep_send(struct rs_nic *nic, const struct rs_qp *qp, const struct rs_packet *p,
			  const uint8_t **to)
{
	const struct rs_qp_cold *c = qp->cold;
	const struct rs_rwqe *r = &c->rq[p->rkey & c->rq_mask];

	if (!(p->bth_flags & RS_BTH_EXTENDED) || (qp->flags & RS_QF_SRQ) ||
	    p->rkey - c->rq_head >= c->rq_tail - c->rq_head ||
	    p->va + p->payload_bytes > r->length || p->va > r->length)
		return false;
	if (!p->payload_bytes)
		return true;
	return rs_mr_piece(nic, qp->pd, rs_qp_recv_sge(qp, p->rkey), r->n_sge, (uint32_t)p->va,
			   p->payload_bytes, to);
}

/* A READ or an atomic: its operands, to be executed in its turn. */
static bool is_answered(uint32_t f)
{
	return f & RS_F_REQUEST && f & (RS_F_READ | RS_F_ATOMIC | RS_F_ATOMIC_WRITE);
}

/* A packet that tells its place, to memory that it may write. */
static bool may_keep(struct rs_nic *nic, const struct rs_qp *qp, const struct selective *s,
		     const struct rs_packet *p, uint32_t f, const uint8_t **to)
{
	uint32_t ahead = (p->psn - qp->epsn) & RS_PSN_MASK;
	const struct rs_mr *m;

	*to = NULL;
	if (ahead >= s->window - WORD || p->payload_bytes > qp->mtu)
		return false;
	if (is_answered(f))
		return f & RS_F_ATOMIC_WRITE ? p->payload_bytes == sizeof(uint64_t)
					     : !p->payload_bytes;
	if (f & RS_F_SEND)
		return may_keep_send(nic, qp, p, to);
	if (!(f & RS_F_WRITE) || !((f & RS_F_RETH) || (p->bth_flags & RS_BTH_EXTENDED)) ||
	    !(qp->access & RS_ACCESS_REMOTE_WRITE))
		return false;
	if (!p->payload_bytes)
		return true;
	m = rs_resp_write_memory(nic, qp, p);
	if (m && m->host && p->payload)
		*to = m->host + (p->va - m->va);
	return m != NULL;
}

/*
 * p's payload goes where it belongs, but for bytes that a packet has put there which comes after p
 * in order: they are newer.
 */
static bool place(const struct rs_nic *nic, const struct rs_qp *qp, uint8_t *to,
		  const struct rs_packet *p)
{
	const struct selective *s = rs_selective_of(qp);
	uint8_t before[RS_MAX_PAYLOAD];
	uint32_t n = p->payload_bytes;
	int32_t ahead = rs_psn_diff(p->psn, qp->epsn); /* -1: it was expected */

	if ((s->n_kept && !rs_nic_copy(nic, before, to, n)) || !rs_nic_copy(nic, to, p->payload, n))
		return false;
	for (uint32_t w = 0, left = s->n_kept; left && w < s->window / WORD; w++)
		for (uint64_t word = s->here[w]; word; word &= word - 1, left--) {
			uint32_t at = w * WORD + (uint32_t)__builtin_ctzll(word);
			const struct kept *k = &s->kept[at];
			int32_t after = (int32_t)((at - qp->epsn) & (s->window - 1));
			uintptr_t a = (uintptr_t)to, b = a + n, from = (uintptr_t)k->to;
			uintptr_t end = from + k->bytes;

			if (is_answered(rs_opcodes[k->opcode].flags) || !k->to || after <= ahead ||
			    end <= a || from >= b)
				continue;
			from = from > a ? from : a;
			end = end < b ? end : b;
			memcpy(to + (from - a), before + (from - a), end - from);
		}
	return true;
}

/* Of a READ that is what it would be anyway. */
static void keep_operands(struct kept *k, const struct rs_packet *p)
{
	uint32_t f = rs_opcodes[p->opcode].flags;

	if (f & RS_F_ATOMIC) {
		k->swap_add = p->swap_add;
		k->compare = p->compare;
	} else if (f & RS_F_ATOMIC_WRITE && p->payload) {
		memcpy(&k->swap_add, p->payload, sizeof(k->swap_add));
	}
}

/* False: its memory cannot be touched, which is told in its turn. */
static bool keep(const struct rs_nic *nic, struct rs_qp *qp, struct selective *s,
		 const struct rs_packet *p, const uint8_t *to)
{
	uint32_t at = place_of(s, p->psn);

	if (to && !place(nic, qp, (uint8_t *)(uintptr_t)to, p))
		return false;
	s->kept[at] = (struct kept){
		.va = p->va,
		.to = to,
		.rkey = p->rkey,
		.dma_bytes = p->dma_bytes,
		.imm = p->imm,
		.bytes = p->payload_bytes,
		.opcode = p->opcode,
		.bth_flags = p->bth_flags,
	};
	if (is_answered(rs_opcodes[p->opcode].flags))
		keep_operands(&s->kept[at], p);
	if (!s->n_kept++)
		s->expected = qp->epsn;
	put(s->here, at);
	return true;
}

/* Where paths keep order, an early packet is news of a loss. Where they do not, it is news of
 * nothing: its ACK waits for others, as that of a packet in order does. */
static bool tells_at_once(const struct rs_nic *nic, struct rs_qp *qp, const struct selective *s,
			  const struct rs_packet *p)
{
	return ++qp->unacked >= nic->c.ack_every || !s->c->reorder ||
	       (p->bth_flags & RS_BTH_ACKREQ);
}

/* Kept, and told of soon; what cannot be kept is asked for again, once a gap, and so are READs and
 * atomics: no SACK tells of them. */
static void early(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p, uint32_t f,
		  rs_time now)
{
	struct selective *s = rs_selective_of(qp);
	uint32_t at = place_of(s, p->psn);
	const uint8_t *to;
	bool kept;

	if (s->c->ask && !(p->bth_flags & RS_BTH_CAN)) { /* a peer of go-back-N */
		if (!(qp->flags & RS_QF_GAP))
			rs_resp_owe_nak(nic, qp, RS_NAK_PSN_SEQ);
		return;
	}
	kept = may_keep(nic, qp, s, p, f, &to);
	if (kept && !has(s->here, at))
		kept = keep(nic, qp, s, p, to);
	if (!kept || is_answered(f)) {
		if (s->nak_for != qp->epsn)
			rs_resp_owe_nak(nic, qp, RS_NAK_PSN_SEQ);
		s->nak_for = qp->epsn;
		return;
	}
	put(s->untold, at / WORD);
	qp->flags |= RS_QF_GAP;
	if (tells_at_once(nic, qp, s, p))
		rs_resp_owe_ack(nic, qp);
}

static void drop_kept(struct selective *s, uint32_t at)
{
	if (!has(s->here, at))
		return;
	clear(s->here, at);
	s->n_kept--;
}

/* The expected PSN moved on: those that it passed, by a READ of a peer that keeps no order, are of
 * no use. */
static void drop_passed(struct selective *s, uint32_t epsn)
{
	uint32_t n = (epsn - s->expected) & RS_PSN_MASK;

	for (uint32_t i = 0; s->n_kept && i < n && i < s->window; i++)
		drop_kept(s, place_of(s, s->expected + i));
	s->expected = epsn;
}

/* Its payload is where it belongs; an ATOMIC WRITE's is in k. */
static struct rs_packet packet_of(const struct rs_qp *qp, const struct kept *k)
{
	struct rs_packet p = {
		.opcode = k->opcode,
		.bth_flags = k->bth_flags,
		.payload_bytes = k->bytes,
		.psn = qp->epsn,
		.va = k->va,
		.rkey = k->rkey,
	};

	if (rs_opcodes[k->opcode].flags & RS_F_ATOMIC) {
		p.swap_add = k->swap_add;
		p.compare = k->compare;
		return p;
	}
	p.dma_bytes = k->dma_bytes;
	p.imm = k->imm;
	if (rs_opcodes[k->opcode].flags & RS_F_ATOMIC_WRITE)
		p.payload = (const uint8_t *)&k->swap_add;
	return p;
}

static void in_order(struct rs_nic *nic, struct rs_qp *qp, rs_time now)
{
	struct selective *s = rs_selective_of(qp);

	if (!s->n_kept)
		return;
	drop_passed(s, qp->epsn);
	while (s->n_kept && has(s->here, place_of(s, qp->epsn))) {
		uint32_t at = place_of(s, qp->epsn), epsn = qp->epsn;
		struct kept k = s->kept[at];
		struct rs_packet p = packet_of(qp, &k);

		drop_kept(s, at);
		rs_resp_execute(nic, qp, &p, now);
		if (qp->epsn == epsn) /* refused: it has to come again */
			break;
		s->expected = qp->epsn;
	}
	if (s->n_kept)
		qp->flags |= RS_QF_GAP;
}

/* The first PSN of a word of the ring, which lies ahead of epsn, or has it. */
static uint32_t first_of_word(const struct selective *s, uint32_t epsn, uint32_t word)
{
	uint32_t start = epsn & ~(uint32_t)(WORD - 1);

	return rs_psn_add(start, (word * WORD - start) & (s->window - 1));
}

/* One word of what was not told yet; an ACK more when there are others. */
static void answer(struct rs_nic *nic, struct rs_qp *qp, struct rs_packet *p)
{
	struct selective *s = rs_selective_of(qp);
	uint32_t n = untold_words(s->window);
	bool told = false;

	p->bth_flags |= RS_BTH_CAN;
	for (uint32_t i = 0; i < n; i++)
		while (s->untold[i]) {
			uint32_t w = i * WORD + (uint32_t)__builtin_ctzll(s->untold[i]);

			if (s->here[w] && told) {
				rs_resp_owe_ack(nic, qp);
				return;
			}
			s->untold[i] &= s->untold[i] - 1;
			if (!s->here[w])
				continue;
			told = true;
			p->aeth |= (uint32_t)RS_SYN_SACK << 24;
			p->bth_flags |= RS_BTH_EXTENDED;
			p->frame_bytes += RS_SACK_BYTES;
			p->rkey = first_of_word(s, qp->epsn, w);
			p->va = s->here[w];
		}
}

/* ---- Invariants ---- */

static void check(const struct rs_qp *qp)
{
	const struct selective *s = rs_selective_of(qp);
	uint32_t n_acked = 0, n_lost = 0, n_kept = 0;
	uint64_t off = 0;

	for (uint32_t psn = s->base; psn != s->top; psn = rs_psn_add(psn, 1)) {
		uint32_t at = place_of(s, psn);

		rs_assert(!has(s->acked, at) || !has(s->lost, at));
		n_acked += has(s->acked, at);
		n_lost += has(s->lost, at);
		if (has(s->acked, at) || has(s->lost, at))
			off += s->sent[at].bytes;
	}
	for (uint32_t w = 0; w < s->window / WORD; w++)
		n_kept += (uint32_t)__builtin_popcountll(s->here[w]);
	rs_assert(n_acked == s->n_acked && n_lost == s->n_lost && off == s->off);
	rs_assert(n_kept == s->n_kept && !has(s->here, place_of(s, qp->epsn)));
	rs_assert(qp->sent - qp->acked >= s->off);
	rs_assert(!tracked(s) || (s->base == qp->una_psn && s->top == qp->next_psn));
	rs_assert(!tracked(s) || (!qp->outstanding && !has(s->acked, place_of(s, s->base))));
	rs_assert(!tracked(s) || (!s->r_came && !s->r_lost));
	if (!tracked(s))
		rs_reads_check(qp, s);
}

/* READs and atomics are answered in any order; and nothing else is out while they are. */
static bool reads_out(const struct rs_qp *qp)
{
	const struct selective *s = rs_selective_of(qp);

	return s->mode == SELECTIVE && !tracked(s) && rs_reads_out(qp);
}

const struct rs_recovery rs_recovery_selective = {
	.name = "selective",
	.bytes = bytes,
	.init = init,
	.forget = forget,
	.rewind = rewind_all,
	.early = early,
	.posted = posted,
	.ready = ready,
	.send = send,
	.acked = acked,
	.expire = expire,
	.off = off,
	.reads_out = reads_out,
	.response = rs_reads_response,
	.gap = rs_reads_gap,
	.spread = spread,
	.in_order = in_order,
	.place = place,
	.answer = answer,
	.owe_again = rs_reads_owe,
	.owes_again = rs_reads_owed,
	.next_again = rs_reads_owed_psn,
	.sent_again = rs_reads_paid,
	.check = check,
};
