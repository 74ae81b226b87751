/* Endpoints and PDCs: making them, messages, news, and which half of a PDC a packet is for. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "uet/state.h"

enum { RANDOM_BALANCE = 7 };

/* ---- Endpoints ---- */

static int check_conf(const struct rs_uet_conf *c, struct rs_error *e)
{
	if (c->mpr < RS_UET_MPR_LEAST || c->mpr > RS_UET_MPR_MOST || c->mpr & (c->mpr - 1))
		return rs_error_set(e, -EINVAL,
				    "mpr: expected a power of two from %d to %d, found %u",
				    RS_UET_MPR_LEAST, RS_UET_MPR_MOST, c->mpr);
	if (c->header < RS_ETH_MIN_FRAME || c->control < RS_ETH_MIN_FRAME ||
	    c->header + c->cc.payload > UINT16_MAX)
		return rs_error_set(e, -EINVAL, "a frame has %d to 65535 bytes", RS_ETH_MIN_FRAME);
	if (!c->balance.n || c->balance.n > RS_BALANCE_VALUES_MAX ||
	    c->balance.n & (c->balance.n - 1))
		return rs_error_set(e, -EINVAL,
				    "entropy values: expected a power of two up to %d, found %u",
				    RS_BALANCE_VALUES_MAX, c->balance.n);
	rs_assert(c->rate > 0 && c->rto > 0 && c->ack_bytes && c->free);
	rs_assert(!c->credits || c->credit >= CREDIT_QUANTUM);
	return 0;
}

static const struct rs_endpoint_ops ops;

int rs_uet_create(const struct rs_uet_conf *c, struct rs_uet **out, struct rs_error *e)
{
	int err = check_conf(c, e);
	struct rs_uet *u;

	if (err)
		return err;
	u = calloc(1, sizeof(*u));
	if (u) {
		u->heap = calloc(c->n_ends + 1u, sizeof(struct pdc *));
		u->news = calloc(c->news + 1u, sizeof(*u->news));
		u->pdcs = calloc(c->n_ends + 1u, sizeof(struct pdc *));
	}
	if (!u || !u->heap || !u->news || !u->pdcs) {
		rs_uet_destroy(u);
		return rs_error_set(e, -ENOMEM, "out of memory");
	}
	u->as_endpoint.ops = &ops;
	u->c = *c;
	u->mask = c->mpr - 1;
	u->base = c->free->pool->base;
	u->control.head = RS_NO_PACKET;
	u->pace = rs_pace_of(c->rate);
	u->pull_at = u->pull_last = RS_NEVER;
	*out = u;
	return 0;
}

void rs_uet_destroy(struct rs_uet *u)
{
	if (!u)
		return;
	for (uint32_t i = 0; u->pdcs && i < u->c.n_ends; i++)
		free(u->pdcs[i]);
	free(u->pdcs);
	free(u->heap);
	free(u->news);
	free(u);
}

int rs_uet_more(struct rs_uet *u, uint32_t n)
{
	struct pdc **heap, **pdcs;

	if (n <= u->c.n_ends)
		return 0;
	heap = realloc(u->heap, (n + 1u) * sizeof(*heap));
	if (!heap)
		return -ENOMEM;
	u->heap = heap;
	pdcs = realloc(u->pdcs, (n + 1u) * sizeof(*pdcs));
	if (!pdcs)
		return -ENOMEM;
	memset(pdcs + u->c.n_ends, 0, (n + 1u - u->c.n_ends) * sizeof(*pdcs));
	u->pdcs = pdcs;
	u->c.n_ends = n;
	return 0;
}

struct rs_endpoint *rs_uet_endpoint(struct rs_uet *u)
{
	return &u->as_endpoint;
}

/* ---- PDCs ---- */

static size_t words(const struct rs_uet_conf *c)
{
	return c->mpr / 64;
}

static size_t sender_bytes(const struct rs_uet_conf *c, uint32_t depth)
{
	return sizeof(struct pdc) + sizeof(struct sender) + c->mpr * sizeof(struct sent) +
	       words(c) * sizeof(uint64_t) + depth * sizeof(struct message) +
	       rs_balance_bytes(&c->balance);
}

static size_t receiver_bytes(const struct rs_uet_conf *c)
{
	return sizeof(struct pdc) + sizeof(struct receiver) + 2 * words(c) * sizeof(uint64_t);
}

size_t rs_uet_end_bytes(const struct rs_uet_conf *c, bool receiver)
{
	return receiver ? receiver_bytes(c) : sender_bytes(c, 1);
}

/* A power of two, for positions that count on. */
static uint32_t ring_of(uint32_t depth)
{
	uint32_t n = 1;

	while (n < depth)
		n *= 2;
	return n;
}

static struct pdc *make_sender(struct rs_uet *u, const struct rs_uet_end *end)
{
	const struct rs_uet_conf *c = &u->c;
	uint32_t depth = ring_of(end->depth ? end->depth : 1);
	struct pdc *p = calloc(1, sender_bytes(c, depth));
	struct rs_balance_conf b = c->balance;
	struct sender *s;

	if (!p)
		return NULL;
	s = p->s = (struct sender *)(p + 1);
	s->ring = (struct sent *)(s + 1);
	s->lost = (uint64_t *)(s->ring + c->mpr);
	s->messages = (struct message *)(s->lost + words(c));
	s->balance = (struct rs_balance *)(s->messages + depth);
	s->depth = depth;
	s->oldest = s->newest = UET_NONE;
	s->early = -1;
	s->rts_at = s->probe_at = s->probed_at = RS_NEVER;
	rs_nscc_init(&c->cc, &s->cc, 0);
	rs_balance_init(s->balance, &b,
			rs_random_stream(c->seed, (uint64_t)c->endpoint << 32 | end->number,
					 RANDOM_BALANCE));
	if (c->credits)
		uet_credit_init(u, s);
	return p;
}

static struct pdc *make_receiver(struct rs_uet *u, const struct rs_uet_end *end)
{
	struct pdc *p = calloc(1, receiver_bytes(&u->c));
	struct receiver *r;

	if (!p)
		return NULL;
	r = p->r = (struct receiver *)(p + 1);
	r->got = (uint64_t *)(r + 1);
	r->eom = r->got + words(&u->c);
	r->sink = end->sink;
	r->room = end->room;
	r->cum = end->past_packets;
	r->bytes = end->past_bytes;
	r->any = end->past_packets > 0;
	return p;
}

int rs_uet_open(struct rs_uet *u, const struct rs_uet_end *end)
{
	uint32_t i = end->number - u->c.first;
	struct pdc *p;

	if (i >= u->c.n_ends)
		return -EINVAL;
	if (u->pdcs[i])
		return -EEXIST;
	p = end->receiver ? make_receiver(u, end) : make_sender(u, end);
	if (!p)
		return -ENOMEM;
	p->number = end->number;
	p->peer = end->peer;
	p->peer_number = end->peer_number;
	p->heap = HEAP_NOT;
	p->due = RS_NEVER;
	p->tc = end->tc;
	p->tos = end->tos;
	p->entropy = end->entropy;
	p->user = end->user;
	u->pdcs[i] = p;
	return 0;
}

void rs_uet_close(struct rs_uet *u, uint32_t number)
{
	struct pdc *p = uet_find(u, number);

	if (!p)
		return;
	uet_leave(u, p);
	uet_timer_remove(u, p);
	if (p->r)
		uet_pull_forget(u, p);
	u->pdcs[number - u->c.first] = NULL;
	free(p);
}

bool rs_uet_user(const struct rs_uet *u, uint32_t number, uint64_t *user)
{
	const struct pdc *p = uet_find(u, number);

	if (p)
		*user = p->user;
	return p != NULL;
}

/* ---- Messages and news ---- */

int rs_uet_post(struct rs_uet *u, uint32_t number, uint64_t bytes, bool tell, const uint8_t *data,
		rs_time now)
{
	struct pdc *p = uet_find(u, number);
	struct sender *s = p ? p->s : NULL;

	if (!s)
		return -EINVAL;
	if (s->posted - s->acked == s->depth)
		return -ENOSPC;
	s->messages[s->posted++ & (s->depth - 1)] =
		(struct message){.bytes = bytes, .offset = s->offset, .tell = tell, .data = data};
	s->offset += bytes;
	s->backlog += bytes;
	if (s->acked + 1 == s->posted)
		s->fed = now;
	uet_want(u, p);
	uet_timer_set(u, p);
	return 0;
}

void uet_tell(struct rs_uet *u, const struct pdc *p, bool arrived)
{
	rs_assert(u->news_tail - u->news_head <= u->c.news);
	u->news[u->news_tail++ % (u->c.news + 1)] = (struct rs_uet_news){p->user, arrived};
}

bool rs_uet_take_news(struct rs_uet *u, struct rs_uet_news *out)
{
	if (u->news_head == u->news_tail) {
		u->news_head = u->news_tail = 0;
		return false;
	}
	*out = u->news[u->news_head++ % (u->c.news + 1)];
	return true;
}

static int64_t rate_of(const struct rs_uet *u, const struct sender *s)
{
	rs_uint128 bits = (rs_uint128)s->cc.window * 8 * (uint64_t)RS_S;
	rs_uint128 r = bits / (uint64_t)(s->cc.base_rtt + s->cc.delay);

	return r < (uint64_t)u->c.rate ? (int64_t)r : u->c.rate;
}

bool rs_uet_look(const struct rs_uet *u, uint32_t number, struct rs_uet_now *out)
{
	const struct pdc *p = uet_find(u, number);
	const struct sender *s = p ? p->s : NULL;

	if (!s)
		return false;
	*out = (struct rs_uet_now){.rate = rate_of(u, s),
				   .window = u->c.cc.kind == RS_UET_NO_WINDOW ? UINT64_MAX
									      : s->cc.window,
				   .in_flight = s->in_flight > 0 ? (uint64_t)s->in_flight : 0,
				   .acked = s->told,
				   .resent_nack = s->by_nack,
				   .resent_timeout = s->by_timeout,
				   .cuts = s->cuts,
				   .increases = s->increases};
	return true;
}

bool rs_uet_has_all(const struct rs_uet *u, uint32_t number, uint32_t packets)
{
	const struct pdc *p = uet_find(u, number);

	return p && p->r && p->r->cum == packets && !p->r->active;
}

bool rs_uet_received(const struct rs_uet *u, uint32_t number, uint32_t packets)
{
	const struct pdc *p = uet_find(u, number);

	return p && p->r && p->r->cum == packets;
}

const struct rs_uet_counters *rs_uet_get_counters(const struct rs_uet *u)
{
	return &u->n;
}

/* ---- Packets ---- */

struct rs_packet *uet_control(struct rs_uet *u, const struct pdc *p, enum rs_uet_opcode opcode,
			      uint16_t entropy)
{
	struct rs_packet *k = rs_pool_alloc(u->c.free);

	if (unlikely(!k))
		return NULL;
	k->dst = p->peer;
	k->src = u->c.endpoint;
	k->frame_bytes = u->c.control;
	k->sport = entropy;
	k->tos = u->c.control_tos;
	k->tc = u->c.control_tc;
	k->kind = RS_KIND_OTHER;
	k->opcode = (uint8_t)opcode;
	k->bth_flags = 0;
	k->corrupt = 0;
	k->payload_bytes = 0;
	k->dest_qp = p->peer_number;
	k->src_qp = p->number;
	k->psn = k->aeth = 0;
	k->number = 0;
	k->payload = NULL;
	return k;
}

void uet_send_control(struct rs_uet *u, struct rs_packet *k)
{
	rs_queue_push(&u->control, u->base, k);
}

static void to_sender(struct rs_uet *u, struct pdc *p, const struct rs_packet *k, rs_time now)
{
	switch (k->opcode) {
	case RS_UET_ACK:
		uet_acked(u, p, k, now);
		break;
	case RS_UET_NACK:
		uet_nacked(u, p, k, now);
		break;
	case RS_UET_CREDIT:
		uet_credited(u, p, k);
		p->s->fed = now;
		break;
	default:
		u->n.dropped++;
		return;
	}
	uet_want(u, p);
	uet_timer_set(u, p);
}

static void to_receiver(struct rs_uet *u, struct pdc *p, const struct rs_packet *k, rs_time now)
{
	if (k->opcode == RS_UET_REQUEST)
		uet_request(u, p, k, now);
	else if (k->opcode == RS_UET_PROBE)
		uet_probed(u, p, k, now);
	else
		u->n.dropped++;
}

static bool fits(const struct pdc *p, const struct rs_packet *k)
{
	return p && !k->corrupt && k->src == p->peer && k->src_qp == p->peer_number;
}

static void rx(struct rs_endpoint *e, struct rs_packet *k, rs_time now)
{
	struct rs_uet *u = (struct rs_uet *)e;
	struct pdc *p = NULL;
	bool late = false;

	if (k->kind == RS_KIND_OTHER) {
		p = uet_find(u, k->dest_qp);
		if (unlikely(!p) && !k->corrupt && u->c.absent) {
			late = !u->c.absent(u->c.absent_arg, k->dest_qp);
			p = uet_find(u, k->dest_qp);
		}
	}
	if (unlikely(!fits(p, k))) {
		u->n.dropped += !late;
		u->n.taken += late; /* of a PDC that is closed: it means nothing any more */
	} else {
		u->n.taken++;
		if (p->s)
			to_sender(u, p, k, now);
		else
			to_receiver(u, p, k, now);
	}
	rs_pool_free(u->c.free, k);
}

static const struct rs_endpoint_ops ops = {
	.tx = uet_tx, .rx = rx, .deadline = uet_deadline, .expire = uet_expire};
