/* Windows towards peers' sockets: who shares one, when it closes and opens. See window.h. */
#include "window/window.h"

#include <errno.h>
#include <stdlib.h>
#include "base/error.h"

enum { NONE = RS_WINDOW_NONE };

int rs_window_init(struct rs_window *w, const struct rs_window_config *c)
{
	rs_assert(c->max_qps && c->max_qps < INT32_MAX / 2);
	*w = (struct rs_window){.tuning = c->tuning ? c->tuning : &rs_window_defaults,
				.max_qps = c->max_qps,
				/* Each queue pair has one peer; twice as many peers, so that it is
				 * seldom that those without any are looked for. */
				.max_peers = (int32_t)c->max_qps * 2 + 1,
				.free = NONE,
				.orders = NONE,
				.counts = NONE,
				.due = NONE,
				.questions = c->first_question,
				.look_at = RS_NEVER};
	w->qp = malloc(sizeof(*w->qp) * c->max_qps);
	w->peer = calloc((size_t)w->max_peers, sizeof(*w->peer));
	if (!w->qp || !w->peer) {
		rs_window_fini(w);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < c->max_qps; i++)
		w->qp[i] = (struct rs_window_qp){.peer = NONE};
	for (unsigned i = 0; i < RS_WINDOW_BUCKETS; i++)
		w->bucket[i] = NONE;
	return 0;
}

void rs_window_fini(struct rs_window *w)
{
	free(w->qp);
	free(w->peer);
	w->qp = NULL;
	w->peer = NULL;
}

uint64_t rs_window_bytes(const struct rs_window *w, const struct rs_window_peer *p)
{
	return p->silent ? w->tuning->least_bytes : p->window;
}

/* Where some of what goes to a peer is never acknowledged, half of the window is for the rest. */
static bool full(const struct rs_window_peer *p, uint64_t window)
{
	uint64_t loose = p->loose.sent - p->loose.gone;

	return p->charged >= window || (loose && p->charged - loose >= window / 2);
}

/* ---- Orders ---- */

static uint8_t wanted(const struct rs_window *w, const struct rs_window_qp *q)
{
	const struct rs_window_peer *p = q->peer == NONE ? NULL : &w->peer[q->peer];

	if (!p)
		return 0;
	if (q->loose)
		return p->loose.closed ? RS_WINDOW_HOLD_REQUESTS : 0;
	return (uint8_t)((p->closed ? RS_WINDOW_HOLD_REQUESTS : 0) |
			 (p->loose.closed ? RS_WINDOW_HOLD_READS : 0));
}

void rs_window_mark(struct rs_window *w, int32_t i)
{
	struct rs_window_qp *q = &w->qp[i];

	if (q->ordered || wanted(w, q) == q->held)
		return;
	q->ordered = true;
	q->next_order = w->orders;
	w->orders = i;
}

void rs_window_mark_all(struct rs_window *w, const struct rs_window_peer *p)
{
	for (int32_t i = p->first; i != NONE; i = w->qp[i].next)
		rs_window_mark(w, i);
}

static void count_all(struct rs_window *w, const struct rs_window_peer *p)
{
	for (int32_t i = p->first; i != NONE; i = w->qp[i].next) {
		struct rs_window_qp *q = &w->qp[i];

		if (q->count || !q->bytes)
			continue;
		q->count = true;
		q->next_count = w->counts;
		w->counts = i;
	}
}

/* Counts first: what they bring may make it needless to hold anybody. */
bool rs_window_next(struct rs_window *w, struct rs_window_order *o)
{
	while (w->counts != NONE) {
		struct rs_window_qp *q = &w->qp[w->counts];

		*o = (struct rs_window_order){.qp = (uint32_t)w->counts, .count = true};
		w->counts = q->next_count;
		q->count = false;
		if (q->bytes)
			return true;
	}
	while (w->orders != NONE) {
		struct rs_window_qp *q = &w->qp[w->orders];
		uint8_t held = wanted(w, q);

		*o = (struct rs_window_order){.qp = (uint32_t)w->orders, .held = held};
		w->orders = q->next_order;
		q->ordered = false;
		if (held == q->held)
			continue;
		q->held = held;
		return true;
	}
	return false;
}

/* ---- Which queue pairs share ---- */

static void uncharge(struct rs_window *w, struct rs_window_peer *p, uint64_t bytes)
{
	rs_assert(bytes <= p->charged && bytes <= w->charged);
	p->charged -= bytes;
	w->charged -= bytes;
}

static void leave(struct rs_window *w, int32_t i)
{
	struct rs_window_qp *q = &w->qp[i];
	struct rs_window_peer *p = &w->peer[q->peer];

	uncharge(w, p, q->charged);
	if (q->prev == NONE)
		p->first = q->next;
	else
		w->qp[q->prev].next = q->next;
	if (q->next != NONE)
		w->qp[q->next].prev = q->prev;
	q->peer = NONE;
	q->bytes = q->charged = 0;
	rs_window_open(w, p);
}

static void join(struct rs_window *w, int32_t i, struct rs_window_peer *p)
{
	struct rs_window_qp *q = &w->qp[i];

	q->peer = (int32_t)(p - w->peer);
	q->next = p->first;
	q->prev = NONE;
	if (p->first != NONE)
		w->qp[p->first].prev = i;
	p->first = i;
}

static uint32_t hash(const struct rs_window_to *to)
{
	return (to->path * 257u + to->slot) * 2654435761u >> 20;
}

_Static_assert(RS_WINDOW_BUCKETS == 1 << (32 - 20), "hash() gives a bucket");

static bool is_at(const struct rs_window_peer *p, const struct rs_window_to *to)
{
	return p->to.path == to->path && p->to.slot == to->slot &&
	       p->to.generation == to->generation;
}

static void unhash(struct rs_window *w, int32_t at)
{
	int32_t *link = &w->bucket[hash(&w->peer[at].to)];

	while (*link != at)
		link = &w->peer[*link].next;
	*link = w->peer[at].next;
	w->peer[at].next = w->free;
	w->free = at;
}

static void forget_due(struct rs_window *w)
{
	int32_t *link = &w->due;

	while (*link != NONE) {
		struct rs_window_peer *p = &w->peer[*link];

		if (p->used)
			link = &p->next_due;
		else
			*link = p->next_due;
	}
}

/* Peers that no queue pair sends to any more. */
static void sweep(struct rs_window *w)
{
	for (int32_t i = 0; i < w->fresh; i++) {
		struct rs_window_peer *p = &w->peer[i];

		if (!p->used || p->first != NONE)
			continue;
		p->used = false;
		w->closed -= (uint32_t)p->closed + p->loose.closed;
		uncharge(w, p, p->charged);
		unhash(w, i);
	}
	forget_due(w);
}

static int32_t find(const struct rs_window *w, const struct rs_window_to *to)
{
	int32_t i = w->bucket[hash(to)];

	while (i != NONE && !is_at(&w->peer[i], to))
		i = w->peer[i].next;
	return i;
}

struct rs_window_peer *rs_window_find(const struct rs_window *w, const struct rs_window_to *to)
{
	int32_t i = find(w, to);

	return i == NONE ? NULL : &w->peer[i];
}

static struct rs_window_peer *find_or_add(struct rs_window *w, const struct rs_window_to *to)
{
	int32_t i = find(w, to), *bucket = &w->bucket[hash(to)];

	if (i != NONE)
		return &w->peer[i];
	if (w->free == NONE && w->fresh == w->max_peers)
		sweep(w);
	if (w->free != NONE) {
		i = w->free;
		w->free = w->peer[i].next;
	} else {
		rs_assert(w->fresh < w->max_peers);
		i = w->fresh++;
	}
	w->peer[i] = (struct rs_window_peer){
		.to = *to,
		.used = true,
		.window = w->tuning->unknown_bytes,
		.first = NONE,
		.next = *bucket,
		.asked_at = -RS_NEVER,
		.cut_at = -RS_NEVER,
		.loose.first_at = RS_NEVER,
	};
	*bucket = i;
	return &w->peer[i];
}

/* The queue pair's peer: where its packets go now. */
static struct rs_window_peer *peer_of(struct rs_window *w, uint32_t qp,
				      const struct rs_window_to *to)
{
	struct rs_window_qp *q = &w->qp[qp];

	if (q->peer != NONE && is_at(&w->peer[q->peer], to))
		return &w->peer[q->peer];
	if (q->peer != NONE)
		leave(w, (int32_t)qp);
	join(w, (int32_t)qp, find_or_add(w, to));
	return &w->peer[q->peer];
}

uint64_t rs_window_join(struct rs_window *w, uint32_t qp, const struct rs_window_to *to, bool loose)
{
	const struct rs_window_peer *p;

	rs_assert(qp < w->max_qps);
	p = peer_of(w, qp, to);
	w->qp[qp].loose = loose;
	rs_window_mark(w, (int32_t)qp);
	return p->charged;
}

void rs_window_left(struct rs_window *w, uint32_t qp)
{
	rs_assert(qp < w->max_qps);
	if (w->qp[qp].peer != NONE)
		leave(w, (int32_t)qp);
	w->qp[qp].held = 0;
}

/* ---- Opening and closing ---- */

/*
 * Only behind a request that asks for an ACK, as all do that reach half a window: else, what is to
 * open it again may never come. So a window that turns out full otherwise (it was made smaller, or
 * what is loose fills it) lets one more packet go.
 */
static void close_window(struct rs_window *w, struct rs_window_peer *p, rs_time now)
{
	p->closed = true;
	w->closed++;
	w->look_at = rs_time_min(w->look_at, now + w->tuning->look_again);
	count_all(w, p);
	rs_window_mark_all(w, p);
}

/* Not for each packet that is acknowledged: in quarters. */
void rs_window_open(struct rs_window *w, struct rs_window_peer *p)
{
	uint64_t window = rs_window_bytes(w, p);

	if (!p->closed || full(p, window - window / 4))
		return;
	p->closed = false;
	w->closed--;
	rs_window_mark_all(w, p);
}

/* A full window of copies would overrun a process that does not run: little goes until it is heard
 * of. */
void rs_window_timeout(struct rs_window *w, uint32_t qp)
{
	struct rs_window_peer *p;

	rs_assert(qp < w->max_qps);
	if (w->qp[qp].peer == NONE)
		return;
	p = &w->peer[w->qp[qp].peer];
	p->silent = true;
	rs_loose_close(w, p);
}

void rs_window_look(struct rs_window *w, rs_time now)
{
	if (now < w->look_at)
		return;
	w->look_at = RS_NEVER;
	for (int32_t i = 0; i < w->fresh; i++) {
		if (!w->peer[i].used)
			continue;
		rs_loose_look(w, &w->peer[i], now);
		if (w->peer[i].closed)
			count_all(w, &w->peer[i]);
		rs_window_open(w, &w->peer[i]);
	}
	if (w->closed)
		w->look_at = rs_time_min(w->look_at, now + w->tuning->look_again);
}

/* ---- What goes and comes ---- */

static bool unacknowledged(uint32_t transport)
{
	return transport == RS_UC || transport == RS_UD;
}

enum rs_window_kind rs_window_kind(const struct rs_packet *p)
{
	uint32_t transport = p->opcode & 0xe0u, f = rs_opcodes[p->opcode].flags;

	if (unacknowledged(transport))
		return p->dest_qp <= RS_GSI_QPN || p->dest_qp == RS_MULTICAST_QPN ? RS_WINDOW_FREE
										  : RS_WINDOW_LOOSE;
	if (f & RS_F_REQUEST)
		return transport == RS_RC || transport == RS_XRC ? RS_WINDOW_ACKED : RS_WINDOW_FREE;
	return f & RS_F_READ ? RS_WINDOW_LOOSE : RS_WINDOW_FREE;
}

/* So that ACKs will open it again: the next packet may be the one that closes it, at half of it
 * where some of what is out is loose. more: charged beside what is. */
static bool nears_half(const struct rs_window *w, const struct rs_window_peer *p, uint64_t more,
		       uint64_t frame)
{
	return p->charged + more + 2 * frame + w->tuning->alone_bytes >= rs_window_bytes(w, p) / 2;
}

bool rs_window_before(struct rs_window *w, uint32_t qp, const struct rs_window_to *to,
		      const struct rs_packet *p, rs_time now)
{
	enum rs_window_kind kind = rs_window_kind(p);
	struct rs_window_peer *peer;

	rs_assert(qp < w->max_qps);
	if (kind == RS_WINDOW_FREE)
		return false;
	peer = peer_of(w, qp, to);
	w->qp[qp].loose = unacknowledged(p->opcode & 0xe0u);
	peer->qpn = p->dest_qp;
	if (now - w->tuning->ask_every > peer->asked_at)
		rs_window_want(w, peer);
	return kind == RS_WINDOW_ACKED && nears_half(w, peer, 0, p->frame_bytes);
}

/* As the peer's kernel charges it. */
static uint64_t charge_of(const struct rs_window *w, const struct rs_window_peer *p, uint64_t frame,
			  bool alone)
{
	return frame +
	       (alone || !p->whole ? frame + w->tuning->alone_bytes : w->tuning->next_bytes);
}

static void sent(struct rs_window *w, uint32_t qp, uint64_t bytes, uint64_t charge, rs_time now)
{
	struct rs_window_qp *q = &w->qp[qp];
	struct rs_window_peer *peer = &w->peer[q->peer];

	q->bytes += bytes;
	q->charged += charge;
	peer->charged += charge;
	w->charged += charge;
	if (!peer->closed && full(peer, rs_window_bytes(w, peer)))
		close_window(w, peer, now);
}

/* Behind what went: who came to a closed window. */
static void note_closed(struct rs_window *w, uint32_t qp)
{
	struct rs_window_peer *peer = &w->peer[w->qp[qp].peer];

	rs_loose_close(w, peer);
	if (peer->closed || peer->loose.closed)
		rs_window_mark(w, (int32_t)qp);
}

/* n packets like p, of that charge each. */
static void went(struct rs_window *w, uint32_t qp, const struct rs_packet *p, uint32_t n,
		 uint64_t charge, rs_time now)
{
	rs_assert(qp < w->max_qps && w->qp[qp].peer != NONE);
	if (rs_window_kind(p) == RS_WINDOW_LOOSE)
		rs_loose_sent(w, &w->peer[w->qp[qp].peer], n * charge, now);
	else
		sent(w, qp, n * (uint64_t)p->frame_bytes, n * charge, now);
	note_closed(w, qp);
}

void rs_window_sent(struct rs_window *w, uint32_t qp, const struct rs_packet *p, bool alone,
		    rs_time now)
{
	rs_assert(qp < w->max_qps);
	if (rs_window_kind(p) == RS_WINDOW_FREE || w->qp[qp].peer == NONE)
		return;
	went(w, qp, p, 1, charge_of(w, &w->peer[w->qp[qp].peer], p->frame_bytes, alone), now);
}

/* So many packets of a charge, at most n, until so much is charged that the window closes. */
static uint32_t until_full(uint64_t charged, uint64_t may, uint64_t charge, uint32_t n)
{
	/* where it is full already, the next one closes it */
	uint64_t more = may > charged ? (may - charged + charge - 1) / charge : 1;

	return more < n ? (uint32_t)more : n;
}

uint32_t rs_window_before_more(const struct rs_window *w, uint32_t qp, const struct rs_packet *p,
			       uint32_t n, uint32_t *ask)
{
	const struct rs_window_peer *peer;
	uint64_t window, charge, loose, may;

	*ask = n;
	rs_assert(qp < w->max_qps && rs_window_kind(p) != RS_WINDOW_FREE);
	if (w->qp[qp].peer == NONE)
		return 0;
	peer = &w->peer[w->qp[qp].peer];
	charge = charge_of(w, peer, p->frame_bytes, false);
	if (rs_window_kind(p) == RS_WINDOW_LOOSE)
		return rs_loose_before_more(w, peer, charge, n);
	if (peer->closed)
		return 0;
	window = rs_window_bytes(w, peer);
	loose = peer->loose.sent - peer->loose.gone;
	/* full() is when this much is charged */
	may = loose && loose + window / 2 < window ? loose + window / 2 : window;
	n = until_full(peer->charged, may, charge, n);
	*ask = 0;
	while (*ask < n && !nears_half(w, peer, *ask * charge, p->frame_bytes))
		++*ask;
	return n;
}

void rs_window_sent_more(struct rs_window *w, uint32_t qp, const struct rs_packet *p, uint32_t n,
			 rs_time now)
{
	went(w, qp, p, n, charge_of(w, &w->peer[w->qp[qp].peer], p->frame_bytes, false), now);
}

void rs_window_counted(struct rs_window *w, uint32_t qp, uint64_t unacked)
{
	struct rs_window_qp *q = &w->qp[qp];
	uint64_t charged;

	if (qp >= w->max_qps || q->peer == NONE || unacked >= q->bytes)
		return;
	charged = q->charged * unacked / q->bytes;
	uncharge(w, &w->peer[q->peer], q->charged - charged);
	q->charged = charged;
	q->bytes = unacked;
	rs_window_open(w, &w->peer[q->peer]);
}

static void halve(const struct rs_window *w, struct rs_window_peer *p)
{
	uint64_t least = w->tuning->least_bytes;

	p->whole = false;
	p->window = p->window / 2 < least ? least : p->window / 2;
}

/* One loss has all READs asked for again that were under way: it counts once. */
void rs_window_reads_lost(struct rs_window *w, uint32_t qp, rs_time now)
{
	struct rs_window_peer *p;

	if (qp >= w->max_qps || w->qp[qp].peer == NONE)
		return;
	p = &w->peer[w->qp[qp].peer];
	if (p->loose.sent - p->cut_mark < rs_window_bytes(w, p) / 4)
		return;
	p->cut_at = now;
	p->cut_mark = p->loose.sent;
	halve(w, p);
	rs_loose_close(w, p);
}

/* Was something lost shortly before it was asked? Then what was lost says more than the socket. */
static bool was_cut(const struct rs_window *w, const struct rs_window_peer *p)
{
	return p->asked_first - w->tuning->ask_every < p->cut_at;
}

void rs_window_acked(struct rs_window *w, uint32_t qp, uint64_t unacked, bool lost)
{
	struct rs_window_peer *p;

	if (qp >= w->max_qps || w->qp[qp].peer == NONE)
		return;
	p = &w->peer[w->qp[qp].peer];
	p->silent = false;
	if (lost)
		halve(w, p);
	rs_window_counted(w, qp, unacked);
	rs_window_open(w, p);
	if (lost)
		rs_loose_close(w, p);
}

/* ---- Questions ---- */

void rs_window_want(struct rs_window *w, struct rs_window_peer *p)
{
	rs_assert(p->used && p - w->peer < w->fresh);
	if (p->due)
		return;
	p->due = true;
	p->next_due = w->due;
	w->due = (int32_t)(p - w->peer);
}

/*
 * A question that is asked again keeps its number and its mark: the answer to whichever of its
 * copies says that what went before the first has left, however long a round trip is. One whose
 * answer would make no room, as nothing loose went before it, gives way to a new one.
 */
bool rs_window_ask(struct rs_window *w, rs_time now, struct rs_window_question *q)
{
	struct rs_window_peer *p;

	if (w->due == NONE)
		return false;
	p = &w->peer[w->due];
	w->due = p->next_due;
	p->due = false;
	if (!p->question || p->mark <= p->loose.gone) {
		if (!++w->questions)
			w->questions = 1;
		p->question = w->questions;
		p->mark = p->loose.sent;
		p->asked_first = now;
	}
	p->asked++;
	p->asked_at = now;
	*q = (struct rs_window_question){
		.to = p->to, .qpn = p->qpn, .number = p->question, .copies = was_cut(w, p) ? 2 : 1};
	return true;
}

void rs_window_drops_fillers(struct rs_window *w, const struct rs_window_to *to, uint32_t question,
			     bool drops)
{
	struct rs_window_peer *p = rs_window_find(w, to);

	if (p)
		p->fillers = drops && (p->fillers || (question && question == p->question));
}

/* What was not asked for, an old answer or a forged one may only take. */
void rs_window_answered(struct rs_window *w, const struct rs_window_to *to, uint32_t question,
			uint64_t bytes, bool whole)
{
	struct rs_window_peer *p = rs_window_find(w, to);
	const struct rs_window_tuning *t = w->tuning;

	if (!p)
		return;
	bytes = bytes < t->least_bytes ? t->least_bytes : bytes;
	bytes = bytes > t->most_bytes ? t->most_bytes : bytes;
	if (!question || question != p->question) {
		p->window = bytes < p->window ? bytes : p->window;
		rs_loose_close(w, p);
		return;
	}
	p->question = 0;
	p->asked = 0;
	p->stranger = false;
	p->window = bytes < p->window || !was_cut(w, p) ? bytes : p->window;
	p->whole = whole;
	p->ours = true;
	rs_loose_answered(w, p);
	rs_window_open(w, p);
	rs_loose_close(w, p);
}

/* ---- For tests ---- */

static void check_peer(const struct rs_window *w, int32_t at)
{
	const struct rs_window_peer *p = &w->peer[at];
	uint64_t charged = p->loose.sent - p->loose.gone;

	rs_assert(p->loose.gone <= p->loose.sent && find(w, &p->to) == at);
	rs_assert(p->mark <= p->loose.sent && p->window >= w->tuning->least_bytes);
	for (int32_t i = p->first, prev = NONE; i != NONE; prev = i, i = w->qp[i].next) {
		rs_assert(w->qp[i].peer == at && w->qp[i].prev == prev);
		charged += w->qp[i].charged;
	}
	rs_assert(charged == p->charged);
}

void rs_window_check(const struct rs_window *w)
{
	uint64_t charged = 0;
	uint32_t closed = 0;

	for (int32_t i = 0; i < w->fresh; i++) {
		if (!w->peer[i].used)
			continue;
		check_peer(w, i);
		charged += w->peer[i].charged;
		closed += (uint32_t)w->peer[i].closed + w->peer[i].loose.closed;
	}
	for (int32_t i = w->due; i != NONE; i = w->peer[i].next_due)
		rs_assert(w->peer[i].used && w->peer[i].due);
	for (uint32_t i = 0; i < w->max_qps; i++)
		rs_assert(w->qp[i].ordered || wanted(w, &w->qp[i]) == w->qp[i].held);
	rs_assert(charged == w->charged && closed == w->closed);
	rs_assert(!closed || w->look_at != RS_NEVER);
}
