/*
 * What may be on its way to a peer's socket: a full one drops packets, which hardware's never is.
 * All queue pairs of this device that send to one socket (an address, and the top byte of its QPNs)
 * share a window in bytes as Linux charges them to a socket; who would exceed it is held until ACKs
 * come.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "live/flight.h"
#include "live/grant.h"
#include "live/state.h"

enum {
	NONE = -1,
	COMMON = 0, /* the peer that those share for whom no place was left */
	/* Linux charges a datagram of its own up to twice its bytes, and 832; the segments of one
	 * send that nobody cut lie in pages, side by side. */
	ALONE_BYTES = 1024,
	NEXT_BYTES = 64,
	WINDOW_MIN = 64 << 10,
	/* More than the caches hold is slower, not faster. */
	WINDOW_MAX = 8 << 20,
};

#define LOOK_AGAIN (RS_MS)

int rs_flight_init(struct rs_flight *f)
{
	f->qp = malloc(sizeof(*f->qp) * RS_LIVE_MAX_QPS);
	f->peer = calloc(RS_FLIGHT_PEERS, sizeof(*f->peer));
	if (!f->qp || !f->peer) {
		rs_flight_fini(f);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < RS_LIVE_MAX_QPS; i++)
		f->qp[i].peer = NONE;
	for (unsigned i = 0; i < RS_FLIGHT_BUCKETS; i++)
		f->bucket[i] = NONE;
	f->peer[COMMON] =
		(struct rs_flight_peer){.window = WINDOW_MIN, .first = NONE, .next = NONE};
	f->fresh = 1;
	f->free = NONE;
	f->due = NONE;
	f->look_at = RS_NEVER;
	return 0;
}

void rs_flight_fini(struct rs_flight *f)
{
	free(f->qp);
	free(f->peer);
	f->qp = NULL;
	f->peer = NULL;
}

uint64_t rs_flight_window(const struct rs_flight_peer *p)
{
	return p->silent ? WINDOW_MIN : p->window;
}

/* Where nobody acknowledges some of what goes to a peer, half of the window is for the rest. */
static bool full(const struct rs_flight_peer *p, uint64_t window)
{
	uint64_t loose = p->loose.sent - p->loose.gone;

	return p->charged >= window || (loose && p->charged - loose >= window / 2);
}

/* ---- Which queue pairs share ---- */

static void uncharge(struct rs_flight *f, struct rs_flight_peer *p, uint64_t bytes)
{
	p->charged -= bytes;
	f->charged -= bytes;
}

static void leave(struct rs_flight *f, int32_t i)
{
	struct rs_flight_qp *q = &f->qp[i];
	struct rs_flight_peer *p = &f->peer[q->peer];

	uncharge(f, p, q->charged);
	if (q->prev == NONE)
		p->first = q->next;
	else
		f->qp[q->prev].next = q->next;
	if (q->next != NONE)
		f->qp[q->next].prev = q->prev;
	q->peer = NONE;
}

static void join(struct rs_flight *f, int32_t i, int32_t peer)
{
	struct rs_flight_peer *p = &f->peer[peer];

	f->qp[i] = (struct rs_flight_qp){.peer = peer, .next = p->first, .prev = NONE};
	if (p->first != NONE)
		f->qp[p->first].prev = i;
	p->first = i;
}

/* What a queue pair still has on its way, by the engine's word. */
static void recount_qp(struct rs_live *l, int32_t i)
{
	struct rs_flight_qp *q = &l->flight.qp[i];
	struct rs_qp *qp = rs_nic_find_qp(l->nic, l->first_qpn + (uint32_t)i);
	uint64_t left = qp ? rs_qp_unacked(qp) : 0, charged;

	if (left >= q->bytes)
		return;
	charged = left ? q->charged * left / q->bytes : 0;
	uncharge(&l->flight, &l->flight.peer[q->peer], q->charged - charged);
	q->charged = charged;
	q->bytes = left;
}

/* All of a peer; those that are gone leave. */
static void recount(struct rs_live *l, struct rs_flight_peer *p)
{
	for (int32_t i = p->first, next; i != NONE; i = next) {
		next = l->flight.qp[i].next;
		recount_qp(l, i);
		if (!rs_nic_find_qp(l->nic, l->first_qpn + (uint32_t)i))
			leave(&l->flight, i);
	}
}

static uint32_t hash(uint32_t path, uint8_t slot)
{
	return (path * 257u + slot) * 2654435761u >> 22;
}

static bool is_of(const struct rs_live *l, const struct rs_flight_peer *p, uint32_t path,
		  uint8_t slot)
{
	return p->path == path && p->slot == slot &&
	       p->generation == l->paths.path[path].generation;
}

static void unhash(struct rs_flight *f, int32_t at)
{
	int32_t *link = &f->bucket[hash(f->peer[at].path, f->peer[at].slot)];

	while (*link != at)
		link = &f->peer[*link].next;
	*link = f->peer[at].next;
	f->peer[at].next = f->free;
	f->free = at;
}

/* Peers that nobody sends to any more. */
static void sweep(struct rs_live *l)
{
	struct rs_flight *f = &l->flight;

	for (int32_t i = 1; i < f->fresh; i++) {
		if (!f->peer[i].used)
			continue;
		recount(l, &f->peer[i]);
		if (f->peer[i].first != NONE || f->peer[i].loose.due)
			continue;
		f->peer[i].used = false;
		f->closed -= f->peer[i].closed + f->peer[i].loose.closed;
		f->charged -= f->peer[i].charged;
		unhash(f, i);
	}
}

int32_t rs_flight_find(const struct rs_live *l, uint32_t path, uint8_t slot)
{
	int32_t i = l->flight.bucket[hash(path, slot)];

	while (i != NONE && !is_of(l, &l->flight.peer[i], path, slot))
		i = l->flight.peer[i].next;
	return i;
}

static int32_t find_or_add(struct rs_live *l, uint32_t path, uint8_t slot)
{
	struct rs_flight *f = &l->flight;
	int32_t i = rs_flight_find(l, path, slot), *bucket = &f->bucket[hash(path, slot)];

	if (i != NONE)
		return i;
	if (f->free == NONE && f->fresh == RS_FLIGHT_PEERS)
		sweep(l);
	if (f->free != NONE) {
		i = f->free;
		f->free = f->peer[i].next;
	} else if (f->fresh < RS_FLIGHT_PEERS) {
		i = f->fresh++;
	} else {
		return COMMON;
	}
	f->peer[i] = (struct rs_flight_peer){
		.path = path,
		.generation = l->paths.path[path].generation,
		.slot = slot,
		.used = true,
		.window = RS_FLIGHT_UNKNOWN,
		.first = NONE,
		.next = *bucket,
		.asked_at = -RS_NEVER,
		.loose.first_at = RS_NEVER,
	};
	*bucket = i;
	return i;
}

/* ---- Opening and closing ---- */

static void hold_all(struct rs_live *l, const struct rs_flight_peer *p, bool held)
{
	for (int32_t i = p->first; i != NONE; i = l->flight.qp[i].next) {
		struct rs_qp *qp = rs_nic_find_qp(l->nic, l->first_qpn + (uint32_t)i);

		if (qp && !l->flight.qp[i].loose)
			rs_qp_hold(l->nic, qp, held);
	}
}

static void close_window(struct rs_live *l, struct rs_flight_peer *p, rs_time now)
{
	recount(l, p);
	if (!full(p, rs_flight_window(p)))
		return;
	p->closed = true;
	l->flight.closed++;
	l->flight.look_at = rs_time_min(l->flight.look_at, now + LOOK_AGAIN);
	hold_all(l, p, true);
}

/* Not for each packet that is acknowledged: in quarters. */
void rs_flight_open(struct rs_live *l, struct rs_flight_peer *p)
{
	uint64_t window = rs_flight_window(p);

	if (!p->closed || full(p, window - window / 4))
		return;
	p->closed = false;
	l->flight.closed--;
	hold_all(l, p, false);
}

/*
 * A timeout sends again what may be lost, or may wait for a process that does not run: a full
 * window of copies would overrun it. Little goes until it is heard of.
 */
static void notice_timeouts(struct rs_live *l)
{
	struct rs_flight *f = &l->flight;

	f->timeouts = rs_nic_get_counters(l->nic)->local_ack_timeout_err;
	for (int32_t at = 0; at < f->fresh; at++) {
		struct rs_flight_peer *p = &f->peer[at];

		for (int32_t i = p->first; i != NONE; i = f->qp[i].next) {
			const struct rs_qp *qp = rs_nic_find_qp(l->nic, l->first_qpn + (uint32_t)i);
			const struct rs_qp_counters *c = qp ? rs_qp_get_counters(l->nic, qp) : NULL;

			if (!c || c->local_ack_timeout_err == f->qp[i].timeouts)
				continue;
			f->qp[i].timeouts = c->local_ack_timeout_err;
			p->silent = true;
		}
	}
}

void rs_flight_look(struct rs_live *l, rs_time now)
{
	struct rs_flight *f = &l->flight;

	if (rs_nic_get_counters(l->nic)->local_ack_timeout_err != f->timeouts)
		notice_timeouts(l);
	if (now < f->look_at)
		return;
	f->look_at = RS_NEVER;
	for (int32_t i = 0; i < f->fresh; i++) {
		rs_loose_look(l, &f->peer[i], now);
		if (!f->peer[i].closed)
			continue;
		recount(l, &f->peer[i]);
		rs_flight_open(l, &f->peer[i]);
	}
	if (f->closed)
		f->look_at = now + LOOK_AGAIN;
}

/* ---- What goes and comes ---- */

enum kind { FREE, ACKNOWLEDGED, LOOSE };

static bool unacknowledged(uint32_t transport)
{
	return transport == RS_UC || transport == RS_UD;
}

static enum kind kind_of(const struct rs_packet *p)
{
	uint32_t transport = p->opcode & 0xe0u, f = rs_opcodes[p->opcode].flags;

	if (unacknowledged(transport))
		return p->dest_qp <= RS_GSI_QPN || p->dest_qp == RS_MULTICAST_QPN ? FREE : LOOSE;
	if (f & RS_F_REQUEST)
		return transport == RS_RC || transport == RS_XRC ? ACKNOWLEDGED : FREE;
	return f & RS_F_READ ? LOOSE : FREE;
}

/* The queue pair's peer: where its packets go now. */
static struct rs_flight_peer *peer_of(struct rs_live *l, int32_t i, uint32_t path, uint8_t slot)
{
	struct rs_flight *f = &l->flight;
	struct rs_flight_peer *peer = f->qp[i].peer == NONE ? NULL : &f->peer[f->qp[i].peer];

	if (peer && (peer == &f->peer[COMMON] || is_of(l, peer, path, slot)))
		return peer;
	if (peer)
		leave(f, i);
	join(f, i, find_or_add(l, path, slot));
	return &f->peer[f->qp[i].peer];
}

uint64_t rs_flight_join(struct rs_live *l, struct rs_qp *qp)
{
	int32_t i = (int32_t)(rs_qp_num(qp) - l->first_qpn);
	struct rs_flight_peer *peer;
	struct rs_qp_attr a;

	if (l->flight.qp[i].peer != NONE)
		return l->flight.peer[l->flight.qp[i].peer].charged;
	rs_qp_query(qp, &a);
	if (a.dest_endpoint >= l->paths.fresh || !l->paths.path[a.dest_endpoint].used)
		return 0;
	peer = peer_of(l, i, a.dest_endpoint, (uint8_t)(a.dest_qpn >> 16));
	if (peer->closed)
		rs_qp_hold(l->nic, qp, true);
	return peer->charged;
}

void rs_flight_before(struct rs_live *l, struct rs_packet *p, rs_time now)
{
	int32_t i = (int32_t)(p->src_qp - l->first_qpn);
	uint8_t slot = (uint8_t)(p->dest_qp >> 16);
	struct rs_flight_peer *peer;

	if (kind_of(p) == FREE || p->dst >= l->paths.fresh)
		return;
	peer = peer_of(l, i, p->dst, slot);
	l->flight.qp[i].loose = unacknowledged(p->opcode & 0xe0u);
	peer->qpn = p->dest_qp;
	if (now - RS_FLIGHT_ASK_EVERY > peer->asked_at && peer != &l->flight.peer[COMMON]) {
		peer->asked_at = now;
		rs_grant_ask(l, p->dst, p->dest_qp, 0);
	}
	/* So that ACKs will open it again. */
	if (kind_of(p) == ACKNOWLEDGED && peer->charged > rs_flight_window(peer) / 2)
		rs_qp_ask_ack(l->nic, p, now);
}

/* A queue pair that came to a closed window: its requests, or its responses to READs. */
static void hold_one(struct rs_live *l, uint32_t qpn, bool requests)
{
	struct rs_qp *qp = rs_nic_find_qp(l->nic, qpn);

	if (qp && requests)
		rs_qp_hold(l->nic, qp, true);
	else if (qp)
		rs_qp_hold_reads(l->nic, qp, true);
}

void rs_flight_after(struct rs_live *l, const struct rs_packet *p, bool alone, rs_time now)
{
	struct rs_flight *f = &l->flight;
	struct rs_flight_qp *q = &f->qp[(int32_t)(p->src_qp - l->first_qpn)];
	struct rs_flight_peer *peer;
	enum kind kind = kind_of(p);
	uint64_t charge = p->frame_bytes;

	if (kind == FREE || q->peer == NONE)
		return;
	peer = &f->peer[q->peer];
	charge += alone || !peer->whole ? charge + ALONE_BYTES : NEXT_BYTES;
	if (kind == LOOSE) {
		if (rs_loose_sent(l, peer, charge, now))
			hold_one(l, p->src_qp, q->loose);
		return;
	}
	q->bytes += p->frame_bytes;
	q->charged += charge;
	peer->charged += charge;
	f->charged += charge;
	if (full(peer, rs_flight_window(peer)) && !peer->closed)
		close_window(l, peer, now);
	else if (peer->closed)
		hold_one(l, p->src_qp, true);
}

void rs_flight_acked(struct rs_live *l, uint32_t qpn, bool lost)
{
	struct rs_flight *f = &l->flight;
	uint32_t i = qpn - l->first_qpn;
	struct rs_flight_peer *p;

	if (i >= RS_LIVE_MAX_QPS || f->qp[i].peer == NONE)
		return;
	p = &f->peer[f->qp[i].peer];
	p->silent = false;
	if (lost) {
		p->whole = false;
		p->window = p->window / 2 < WINDOW_MIN ? WINDOW_MIN : p->window / 2;
	}
	recount_qp(l, (int32_t)i);
	rs_flight_open(l, p);
}

void rs_flight_granted(struct rs_live *l, int32_t at, uint64_t bytes, bool whole)
{
	struct rs_flight_peer *p = &l->flight.peer[at];

	p->window = bytes < WINDOW_MIN ? WINDOW_MIN : bytes > WINDOW_MAX ? WINDOW_MAX : bytes;
	p->whole = whole;
	p->ours = true;
	rs_flight_open(l, p);
}
