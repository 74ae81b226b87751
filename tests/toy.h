/*
 * A second transport, for tests alone: reliable, in order, stop and wait. It shows that what holds
 * endpoints (the simulator's host, the hostile network, a shared port) holds any, not only NICs.
 * One packet of an end is under way at a time; it goes again when its ACK does not come in time.
 */
#ifndef RS_TESTS_TOY_H
#define RS_TESTS_TOY_H

#include <stdlib.h>
#include <string.h>
#include "port/endpoint.h"
#include "wire/pool.h"

enum { TOY_DATA, TOY_ACK };          /* opcodes */
enum { TOY_LAST = 1, TOY_TELL = 2 }; /* bth_flags */
enum { TOY_HEADERS = 60, TOY_MESSAGES = 64 };

struct toy_news {
	uint64_t user;
	bool arrived;
};

struct toy_message {
	uint64_t bytes;
	bool tell;
};

struct toy_end {
	bool open;
	uint32_t peer, peer_number;
	uint8_t tc, tos;
	uint16_t sport;
	uint64_t user;
	/* sending: messages[head % TOY_MESSAGES] is under way; `at` bytes of it are acknowledged */
	struct toy_message messages[TOY_MESSAGES];
	uint32_t head, tail;
	uint64_t at;
	uint32_t psn; /* of the packet under way, or the next */
	bool waits;   /* for its ACK */
	rs_time deadline;
	const uint8_t *source; /* of all messages, one behind the other; NULL: no bytes are moved */
	uint64_t sent;         /* of source, acknowledged */
	/* receiving */
	uint32_t expected; /* PSN */
	uint32_t ack;      /* PSN to acknowledge */
	bool acks;         /* an ACK is owed */
	uint8_t *sink;     /* or NULL */
	uint64_t received, room;
};

struct toy_counts {
	uint64_t data, acks, again, payload, taken, dropped;
};

struct toy {
	struct rs_endpoint as_endpoint;
	uint32_t endpoint, first, n;
	uint32_t turn; /* ends take turns */
	uint16_t mtu;
	rs_time timeout;
	struct rs_pool_list *free;
	bool (*absent)(void *arg, uint32_t number);
	void *absent_arg;
	struct toy_end *ends;
	struct toy_news *news; /* [news_head, news_tail) wait */
	uint32_t news_head, news_tail, news_size;
	struct toy_counts count;
};

static inline struct toy_end *toy_find(struct toy *t, uint32_t number)
{
	uint32_t i = number - t->first;

	return i < t->n && t->ends[i].open ? &t->ends[i] : NULL;
}

static inline void toy_tell(struct toy *t, uint64_t user, bool arrived)
{
	if (t->news_tail == t->news_size) {
		t->news_size = t->news_size ? 2 * t->news_size : 64;
		t->news = realloc(t->news, t->news_size * sizeof(*t->news));
	}
	t->news[t->news_tail++] = (struct toy_news){user, arrived};
}

static inline bool toy_take_news(struct toy *t, struct toy_news *out)
{
	if (t->news_head == t->news_tail) {
		t->news_head = t->news_tail = 0;
		return false;
	}
	*out = t->news[t->news_head++];
	return true;
}

/* false: as many as there is room for wait. */
static inline bool toy_post(struct toy *t, uint32_t number, uint64_t bytes, bool tell)
{
	struct toy_end *e = toy_find(t, number);

	if (e->tail - e->head == TOY_MESSAGES)
		return false;
	e->messages[e->tail++ % TOY_MESSAGES] = (struct toy_message){bytes, tell};
	return true;
}

/* ---- Packets ---- */

static inline struct rs_packet *toy_packet(struct toy *t, const struct toy_end *e, uint8_t opcode,
					   uint32_t psn, uint32_t payload)
{
	struct rs_packet *p = rs_pool_alloc(t->free);
	uint32_t frame = TOY_HEADERS + payload;

	if (!p)
		return NULL;
	memset(p, 0, sizeof(*p));
	p->kind = RS_KIND_OTHER;
	p->opcode = opcode;
	p->psn = psn;
	p->src = t->endpoint;
	p->dst = e->peer;
	p->src_qp = t->first + (uint32_t)(e - t->ends);
	p->dest_qp = e->peer_number;
	p->tc = e->tc;
	p->tos = e->tos;
	p->sport = e->sport;
	p->payload_bytes = (uint16_t)payload;
	p->frame_bytes = (uint16_t)(frame < 64 ? 64 : frame);
	return p;
}

static inline struct rs_packet *toy_data(struct toy *t, struct toy_end *e, rs_time now)
{
	const struct toy_message *m = &e->messages[e->head % TOY_MESSAGES];
	uint64_t left = m->bytes - e->at;
	uint32_t payload = left < t->mtu ? (uint32_t)left : t->mtu;
	struct rs_packet *p = toy_packet(t, e, TOY_DATA, e->psn, payload);

	if (!p)
		return NULL;
	p->bth_flags = (uint8_t)((left == payload ? TOY_LAST : 0) | (m->tell ? TOY_TELL : 0));
	p->payload = e->source ? e->source + e->sent : NULL;
	t->count.data++;
	if (e->deadline != RS_NEVER)
		t->count.again++;
	else
		t->count.payload += payload;
	e->waits = true;
	e->deadline = now + t->timeout;
	return p;
}

static inline struct rs_packet *toy_of_end(struct toy *t, struct toy_end *e, rs_time now)
{
	struct rs_packet *p;

	if (e->acks) {
		p = toy_packet(t, e, TOY_ACK, e->ack, 0);
		e->acks = !p;
		t->count.acks += p != NULL;
		return p;
	}
	return e->head != e->tail && !e->waits ? toy_data(t, e, now) : NULL;
}

static struct rs_packet *toy_tx(struct rs_endpoint *self, uint8_t held, rs_time now, rs_time *again)
{
	struct toy *t = (struct toy *)self;

	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t at = (t->turn + i) % t->n;
		struct toy_end *e = &t->ends[at];
		struct rs_packet *p;

		if (!e->open || held >> e->tc & 1)
			continue;
		p = toy_of_end(t, e, now);
		if (p) {
			t->turn = (at + 1) % t->n;
			return p;
		}
	}
	*again = RS_NEVER;
	return NULL;
}

static inline void toy_acknowledged(struct toy *t, struct toy_end *e, uint32_t psn)
{
	const struct toy_message *m = &e->messages[e->head % TOY_MESSAGES];
	uint64_t left = m->bytes - e->at, payload = left < t->mtu ? left : t->mtu;

	if (e->deadline == RS_NEVER || psn != e->psn)
		return; /* an old one */
	e->waits = false;
	e->deadline = RS_NEVER;
	e->psn++;
	e->sent += payload;
	e->at += payload;
	if (e->at == m->bytes) {
		e->at = 0;
		e->head++;
		toy_tell(t, e->user, false);
	}
}

static inline void toy_received(struct toy *t, struct toy_end *e, const struct rs_packet *p)
{
	if (p->psn != e->expected && p->psn + 1 != e->expected)
		return;
	e->acks = true;
	e->ack = p->psn;
	if (p->psn != e->expected)
		return; /* its ACK was lost */
	e->expected++;
	if (e->sink && p->payload && e->received + p->payload_bytes <= e->room)
		memcpy(e->sink + e->received, p->payload, p->payload_bytes);
	e->received += p->payload_bytes;
	if ((p->bth_flags & (TOY_LAST | TOY_TELL)) == (TOY_LAST | TOY_TELL))
		toy_tell(t, e->user, true);
}

static void toy_rx(struct rs_endpoint *self, struct rs_packet *p, rs_time now)
{
	struct toy *t = (struct toy *)self;
	struct toy_end *e = p->kind == RS_KIND_OTHER ? toy_find(t, p->dest_qp) : NULL;

	if (!e && p->kind == RS_KIND_OTHER && !p->corrupt && t->absent &&
	    t->absent(t->absent_arg, p->dest_qp))
		e = toy_find(t, p->dest_qp);
	if (!e || p->corrupt || p->src != e->peer || p->src_qp != e->peer_number) {
		t->count.dropped++;
	} else {
		t->count.taken++;
		if (p->opcode == TOY_ACK)
			toy_acknowledged(t, e, p->psn);
		else
			toy_received(t, e, p);
	}
	rs_pool_free(t->free, p);
}

static rs_time toy_deadline(const struct rs_endpoint *self)
{
	const struct toy *t = (const struct toy *)self;
	rs_time when = RS_NEVER;

	for (uint32_t i = 0; i < t->n; i++)
		if (t->ends[i].open && t->ends[i].waits)
			when = rs_time_min(when, t->ends[i].deadline);
	return when;
}

static void toy_expire(struct rs_endpoint *self, rs_time now)
{
	struct toy *t = (struct toy *)self;

	for (uint32_t i = 0; i < t->n; i++)
		if (t->ends[i].open && t->ends[i].waits && t->ends[i].deadline <= now)
			t->ends[i].waits = false; /* goes again */
}

static const struct rs_endpoint_ops toy_ops = {
	.tx = toy_tx, .rx = toy_rx, .deadline = toy_deadline, .expire = toy_expire};

/* ---- Making ---- */

static inline struct toy *toy_create(uint32_t endpoint, uint32_t first, uint32_t n, uint16_t mtu,
				     rs_time timeout, struct rs_pool_list *list)
{
	struct toy *t = calloc(1, sizeof(*t));

	*t = (struct toy){.as_endpoint.ops = &toy_ops,
			  .endpoint = endpoint,
			  .first = first,
			  .n = n,
			  .mtu = mtu,
			  .timeout = timeout,
			  .free = list,
			  .ends = calloc(n + 1u, sizeof(*t->ends))};
	return t;
}

static inline void toy_destroy(struct toy *t)
{
	free(t->ends);
	free(t->news);
	free(t);
}

static inline struct toy_end *toy_open(struct toy *t, uint32_t number, uint32_t peer,
				       uint32_t peer_number, uint8_t tc, uint64_t user)
{
	struct toy_end *e = &t->ends[number - t->first];

	*e = (struct toy_end){.open = true,
			      .peer = peer,
			      .peer_number = peer_number,
			      .tc = tc,
			      .user = user,
			      .deadline = RS_NEVER};
	return e;
}

#endif
