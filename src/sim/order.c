/*
 * Packets that overtake others. What was sent again for it though nothing was lost (the counter
 * `reordered`), and the counterfactual in which it costs nothing: the receiver's port hands packets
 * to the transport in the order in which they were sent. Only where paths are chosen for packets or
 * flowlets: elsewhere nothing can overtake, and none of this is there. It knows RoCE's packets
 * alone: with another transport it is not there either.
 *
 * Both need to know what was lost, exactly: a loss is told to both ends. They hear of it at the end
 * of the window, as of all that crosses parts: never later than the packet behind the lost one
 * comes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "sim/host.h"

enum { RING_LEAST = 16, LIST_LEAST = 64, SIDE_SENDER = 0, SIDE_RECEIVER = 1 };

/* In a ring of held packets. */
enum { NOT_HERE = RS_NO_PACKET, LOST = RS_NO_PACKET - 1 };

enum cause { CAUSE_OTHER, CAUSE_ORDER };

/* A queue pair: its requests as they leave it, and those of its peer as they come. */
struct sim_stream {
	/* sending */
	uint32_t sent;      /* packets, those sent again counted again: the next one's number */
	uint32_t next, max; /* PSNs: behind the latest, behind the highest */
	uint32_t n_lost, lost_size;
	uint32_t *lost;  /* PSNs that the network lost, not yet sent again */
	uint8_t cause;   /* enum cause: of the latest going back */
	uint8_t pending; /* ... of one that a NAK has just begun */
	uint64_t again;  /* packets sent again for nothing but their order */
	/* receiving */
	uint32_t due;      /* number of the packet that the transport gets next */
	uint32_t furthest; /* behind the highest number in the ring */
	uint32_t size;     /* of the ring: a power of two, or 0 */
	uint32_t *ring;    /* packet n is ring[n & (size - 1)] */
};

/* What a part's nodes lost in the present window; taken by all parts when it has ended. */
struct losses {
	struct sim_loss *list;
	uint32_t n, size;
	rs_time end;     /* of the window */
	uint64_t before; /* losses of earlier windows */
} __attribute__((aligned(64)));

struct sim_orders {
	bool hold; /* the counterfactual */
	struct losses losses[SIM_PARTS_MAX];
	uint64_t taken[SIM_PARTS_MAX][SIM_PARTS_MAX]; /* [by][of] */
};

int sim_orders_create(struct rs_sim *s, struct rs_error *e)
{
	/* only RoCE's order is known here; one switch, and flows that keep to a path each, leave
	 * nothing to overtake */
	if (s->o->transport || rs_fabric_has_uet(s->f) || s->o->ideal.network ||
	    s->o->ideal.placed || (!rs_plant_paths_vary(s->f) && !s->f->events.n))
		return 0;
	s->orders = sim_lines_alloc(s->arena, 1, sizeof(*s->orders));
	if (!s->orders)
		return rs_error_set(e, -ENOMEM, "out of memory");
	s->orders->hold = s->o->ideal.in_order;
	return 0;
}

void sim_orders_destroy(struct rs_sim *s)
{
	for (uint32_t p = 0; s->orders && p < SIM_PARTS_MAX; p++)
		free(s->orders->losses[p].list);
}

int sim_streams_create(struct rs_sim *s, struct sim_nic *k, uint32_t n_qps)
{
	if (!s->orders || !n_qps)
		return 0;
	k->streams = rs_arena_alloc(s->arena, n_qps, sizeof(*k->streams));
	k->n_streams = n_qps;
	return k->streams ? 0 : -ENOMEM;
}

int sim_streams_more(struct rs_sim *s, struct sim_nic *k, uint32_t n_qps)
{
	struct sim_stream *more;

	if (!s->orders || n_qps <= k->n_streams)
		return 0;
	more = rs_arena_alloc(s->arena, n_qps, sizeof(*more));
	if (!more)
		return -ENOMEM;
	if (k->n_streams)
		memcpy(more, k->streams, k->n_streams * sizeof(*more));
	k->streams = more;
	k->n_streams = n_qps;
	return 0;
}

void sim_streams_destroy(struct sim_nic *k)
{
	for (uint32_t i = 0; k->streams && i < k->n_streams; i++) {
		free(k->streams[i].lost);
		free(k->streams[i].ring);
	}
}

static struct sim_stream *stream_of(struct sim_nic *k, uint32_t qpn)
{
	return qpn - SIM_FIRST_QPN < k->n_streams ? &k->streams[qpn - SIM_FIRST_QPN] : NULL;
}

static bool is_request(const struct rs_packet *p)
{
	return p->kind == RS_KIND_ROCE && (rs_opcodes[p->opcode].flags & RS_F_REQUEST);
}

/* ---- The sender ---- */

static void lost_add(struct sim_stream *st, uint32_t psn)
{
	if (st->n_lost == st->lost_size) {
		st->lost_size = st->lost_size ? 2 * st->lost_size : LIST_LEAST;
		st->lost = realloc(st->lost, st->lost_size * sizeof(*st->lost));
		rs_assert(st->lost);
	}
	st->lost[st->n_lost++] = psn;
}

/* Those before `psn` have arrived by now; was psn itself lost? It is then no more: it goes again.
 */
static bool lost_take(struct sim_stream *st, uint32_t psn)
{
	bool was = false;
	uint32_t n = 0;

	for (uint32_t i = 0; i < st->n_lost; i++) {
		int32_t ahead = rs_psn_diff(st->lost[i], psn);

		was |= !ahead;
		if (ahead > 0)
			st->lost[n++] = st->lost[i];
	}
	st->n_lost = n;
	return was;
}

/* Was psn lost, which goes again alone? It is no more then. */
static bool lost_forget(struct sim_stream *st, uint32_t psn)
{
	for (uint32_t i = 0; i < st->n_lost; i++)
		if (st->lost[i] == psn) {
			st->lost[i] = st->lost[--st->n_lost];
			return true;
		}
	return false;
}

/* Requests here are WRITEs: a PSN each. One before the latest's says that the queue pair went back:
 * for the NAK that came just before, or for a timeout. (It also leaps ahead: over what an ACK tells
 * to have arrived meanwhile.) */
void sim_order_sent(struct sim_nic *k, struct rs_packet *p)
{
	struct sim_stream *st = stream_of(k, p->src_qp);

	if (!st || !is_request(p))
		return;
	if (!st->sent)
		st->max = p->psn;
	else if (rs_psn_diff(p->psn, st->next) < 0)
		st->cause = st->pending;
	st->pending = CAUSE_OTHER;
	p->number = st->sent++;
	st->next = rs_psn_add(p->psn, 1);
	if (rs_psn_diff(p->psn, st->max) >= 0)
		st->max = st->next;
	else if (rs_opcodes[p->opcode].flags & (RS_F_READ | RS_F_ATOMIC))
		return; /* for answers, whose order is not followed */
	else if (k->sim->f->transport.recovery == RS_FABRIC_SELECTIVE ? !lost_forget(st, p->psn)
								      : st->cause == CAUSE_ORDER) {
		k->reordered++;
		st->again++;
	}
}

uint64_t sim_order_again(const struct sim_nic *k, uint32_t qpn)
{
	return qpn - SIM_FIRST_QPN < k->n_streams ? k->streams[qpn - SIM_FIRST_QPN].again : 0;
}

static void nak(struct sim_nic *k, const struct rs_packet *p)
{
	struct sim_stream *st = stream_of(k, p->dest_qp);

	if (st && p->kind == RS_KIND_ROCE && p->opcode == RS_OP_ACKNOWLEDGE &&
	    rs_packet_syndrome(p) == RS_NAK_PSN_SEQ)
		st->pending = lost_take(st, p->psn) ? CAUSE_OTHER : CAUSE_ORDER;
}

/* ---- The receiver ---- */

static void ring_grow(struct sim_stream *st, uint32_t number)
{
	uint32_t size = st->size ? st->size : RING_LEAST, *ring;

	rs_assert(number - st->due < UINT32_MAX / 2);
	while (number - st->due >= size)
		size *= 2;
	ring = malloc(size * sizeof(*ring));
	rs_assert(ring);
	memset(ring, 0xff, size * sizeof(*ring));
	for (uint32_t i = st->due; st->size && i != st->furthest; i++)
		ring[i & (size - 1)] = st->ring[i & (st->size - 1)];
	free(st->ring);
	st->ring = ring;
	st->size = size;
}

static void keep(struct sim_stream *st, uint32_t number, uint32_t what)
{
	rs_assert((int32_t)(number - st->due) >=
		  0); /* what was handed on comes and is lost no more */
	if ((int32_t)(st->furthest - st->due) < 0)
		st->furthest = st->due;
	if (number - st->due >= st->size)
		ring_grow(st, number);
	st->ring[number & (st->size - 1)] = what;
	if ((int32_t)(number + 1 - st->furthest) > 0)
		st->furthest = number + 1;
}

/* All that can be handed on in the order in which it was sent. */
static void drain(struct rs_sim *s, struct sim_nic *k, struct sim_stream *st, rs_time now)
{
	while ((int32_t)(st->furthest - st->due) > 0) {
		uint32_t *at = &st->ring[st->due & (st->size - 1)], what = *at;

		if (what == NOT_HERE)
			return;
		*at = NOT_HERE;
		st->due++;
		if (what != LOST)
			sim_end_rx(k, rs_pool_at(&s->pool, what), now);
	}
}

void sim_order_arrived(struct rs_sim *s, struct sim_nic *k, struct rs_packet *p, rs_time now)
{
	struct sim_stream *st;

	nak(k, p);
	st = s->orders->hold && is_request(p) ? stream_of(k, p->dest_qp) : NULL;
	if (!st) {
		sim_end_rx(k, p, now);
		return;
	}
	if (p->number != st->due) {
		keep(st, p->number, rs_pool_index(&s->pool, p));
		return;
	}
	st->due++;
	sim_end_rx(k, p, now);
	drain(s, k, st, now);
}

/* ---- Losses ---- */

static struct sim_loss *room(struct losses *l, uint32_t more)
{
	if (l->n + more > l->size) {
		l->size = 2 * (l->n + more) + LIST_LEAST;
		l->list = realloc(l->list, l->size * sizeof(*l->list));
		rs_assert(l->list);
	}
	l->n += more;
	return l->list + l->n - more;
}

void sim_order_dropped(struct rs_sim *s, const struct sim_node *n, const struct rs_packet *p)
{
	struct losses *l;

	if (!s->orders || !is_request(p))
		return;
	l = &s->orders->losses[n->part];
	*room(l, 1) = (struct sim_loss){
		.when = l->end,
		.node = (uint32_t)(n - s->nodes),
		.seq = l->n,
		.src = p->src,
		.src_qp = p->src_qp,
		.dst = p->dst,
		.dst_qp = p->dest_qp,
		.psn = p->psn,
		.number = p->number,
	};
}

void sim_orders_window(struct rs_sim *s, uint32_t part, rs_time end)
{
	struct losses *l = &s->orders->losses[part];

	l->end = end;
	l->before += l->n;
	l->n = 0;
}

const struct sim_loss *sim_orders_lost(const struct rs_sim *s, uint32_t part, uint32_t *n)
{
	*n = s->orders ? s->orders->losses[part].n : 0;
	return *n ? s->orders->losses[part].list : NULL;
}

void sim_orders_hear(struct rs_sim *s, uint32_t part, const void *losses, uint32_t n)
{
	sim_orders_window(s, part, 0);
	if (n)
		memcpy(room(&s->orders->losses[part], n), losses, n * sizeof(struct sim_loss));
}

static int by_place(const void *x, const void *y)
{
	const struct sim_loss *a = x, *b = y;

	if (a->when != b->when)
		return a->when < b->when ? -1 : 1;
	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static void tell(struct rs_sim *s, uint32_t part, uint32_t endpoint, uint32_t side, uint32_t qpn,
		 uint32_t what, rs_time when)
{
	struct sim_node *n = &s->nodes[s->f->endpoints[endpoint].host];

	if (n->part != part)
		return;
	sim_app_schedule(s, s->f->endpoints[endpoint].host, when, APP_LOST, endpoint << 1 | side,
			 (uint64_t)what << 32 | qpn);
	*n->due = rs_time_min(*n->due, when);
}

void sim_orders_tell(struct rs_sim *s, uint32_t part)
{
	struct sim_orders *o = s->orders;
	struct sim_loss *all = NULL;
	uint32_t n = 0;

	for (uint32_t p = 0; p < s->n_parts; p++) {
		const struct losses *l = &o->losses[p];
		uint32_t more = (uint32_t)(l->before + l->n - o->taken[part][p]);

		rs_assert(more <= l->n); /* of this window: the list begins anew with each */
		if (!more)
			continue;
		all = realloc(all, (n + more) * sizeof(*all));
		rs_assert(all);
		memcpy(all + n, l->list + l->n - more, more * sizeof(*all));
		n += more;
		o->taken[part][p] += more;
	}
	if (n)
		qsort(all, n, sizeof(*all), by_place);
	for (uint32_t i = 0; i < n; i++) {
		tell(s, part, all[i].src, SIDE_SENDER, all[i].src_qp, all[i].psn, all[i].when);
		if (o->hold)
			tell(s, part, all[i].dst, SIDE_RECEIVER, all[i].dst_qp, all[i].number,
			     all[i].when);
	}
	free(all);
}

void sim_order_lost(struct rs_sim *s, const struct sim_app_event *ev)
{
	struct sim_nic *k = sim_nic_of(s, ev->arg >> 1);
	struct sim_stream *st = stream_of(k, (uint32_t)ev->bytes);
	uint32_t what = (uint32_t)(ev->bytes >> 32);

	if (!st)
		return;
	if ((ev->arg & 1) == SIDE_SENDER) {
		lost_add(st, what);
		return;
	}
	keep(st, what, LOST);
	drain(s, k, st, ev->when);
	sim_nic_turn(s, k, ev->when);
}

uint64_t sim_order_held(const struct sim_nic *k)
{
	uint64_t n = 0;

	for (uint32_t q = 0; k->streams && q < k->n_streams; q++) {
		const struct sim_stream *t = &k->streams[q];

		for (uint32_t i = 0; t->ring && i < t->size; i++)
			n += t->ring[i] != NOT_HERE && t->ring[i] != LOST;
	}
	return n;
}
