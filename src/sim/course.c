/*
 * About how long a batch takes: flows in pieces, which go through the queues of all links on their
 * way, first come, first served; endpoints send a piece of each of their flows in turn. No link has
 * more than its bytes, and yet one may rest while its flows wait elsewhere: of placements that are
 * alike in load, this tells the better one.
 */
#include <stdlib.h>
#include <string.h>
#include "sim/placement.h"

enum { PIECES = 16 }; /* of the longest flow */

struct queue {
	uint32_t head, tail;
};

struct ending {
	uint64_t when;
	uint32_t link;
};

struct course {
	struct spread *s;
	struct queue *queue;   /* [link] */
	uint32_t *next, *flow; /* [piece] */
	uint8_t *hop;          /* [piece] */
	struct ending *heap;
	uint32_t n_heap, n;
	uint64_t piece; /* bytes */
};

static bool before(const struct ending *a, const struct ending *b)
{
	return a->when < b->when || (a->when == b->when && a->link < b->link);
}

static void push(struct course *c, struct ending e)
{
	uint32_t i = c->n_heap++;

	for (; i && before(&e, &c->heap[(i - 1) / 2]); i = (i - 1) / 2)
		c->heap[i] = c->heap[(i - 1) / 2];
	c->heap[i] = e;
}

static struct ending pop(struct course *c)
{
	struct ending top = c->heap[0], last = c->heap[--c->n_heap];
	uint32_t i = 0, k;

	while ((k = 2 * i + 1) < c->n_heap) {
		if (k + 1 < c->n_heap && before(&c->heap[k + 1], &c->heap[k]))
			k++;
		if (!before(&c->heap[k], &last))
			break;
		c->heap[i] = c->heap[k];
		i = k;
	}
	c->heap[i] = last;
	return top;
}

/* The link of a hop, the endpoints' own first and last; SPREAD_NONE: it is there. */
static uint32_t link_at(const struct course *c, const struct spread_flow *k, unsigned hop)
{
	const struct rs_fabric_endpoint *e = c->s->f->endpoints;

	if (!hop)
		return 2 * e[k->src].link;
	if (hop <= k->n)
		return k->link[hop - 1];
	return hop == k->n + 1u ? 2 * e[k->dst].link + 1 : SPREAD_NONE;
}

/* The piece at the head of a link's queue begins to go. */
static void serve(struct course *c, uint32_t link, uint64_t now)
{
	const struct spread_flow *k = &c->s->flow[c->flow[c->queue[link].head]];
	uint64_t bytes = k->bytes < c->piece ? k->bytes : c->piece;

	push(c, (struct ending){now + spread_time(c->s, link, bytes), link});
}

static void join(struct course *c, uint32_t piece, uint64_t now)
{
	const struct spread_flow *k = &c->s->flow[c->flow[piece]];
	uint32_t link = link_at(c, k, c->hop[piece]);
	struct queue *q;

	if (link == SPREAD_NONE)
		return;
	q = &c->queue[link];
	c->next[piece] = SPREAD_NONE;
	if (q->head == SPREAD_NONE) {
		q->head = q->tail = piece;
		serve(c, link, now);
		return;
	}
	c->next[q->tail] = piece;
	q->tail = piece;
}

/* What a piece takes that meets no other, behind its first link: a packet takes next to nothing. */
static uint64_t alone(const struct course *c, const struct spread_flow *k)
{
	uint64_t bytes = k->bytes < c->piece ? k->bytes : c->piece, t = 0;

	for (unsigned h = 1; h <= k->n + 1u; h++)
		t += spread_time(c->s, link_at(c, k, h), bytes);
	return t;
}

static uint64_t go(struct course *c)
{
	uint64_t last = 0;

	while (c->n_heap) {
		struct ending e = pop(c);
		struct queue *q = &c->queue[e.link];
		uint32_t piece = q->head;
		const struct spread_flow *k = &c->s->flow[c->flow[piece]];
		uint64_t done = e.when - alone(c, k);

		q->head = c->next[piece];
		if (q->head != SPREAD_NONE)
			serve(c, e.link, e.when);
		if (++c->hop[piece] > k->n + 1u)
			last = done > last ? done : last;
		join(c, piece, e.when);
		c->s->steps -= c->s->steps != 0;
	}
	return last;
}

static uint64_t pieces_of(const struct course *c, const struct spread_flow *k)
{
	return (k->bytes + c->piece - 1) / c->piece;
}

/* All are there at the start, a piece of each flow in turn. */
static void begin(struct course *c)
{
	const struct spread *s = c->s;
	uint32_t at = 0;

	for (uint32_t turn = 0; at < c->n; turn++)
		for (uint32_t i = 0; i < s->n; i++)
			if (turn < pieces_of(c, &s->flow[i])) {
				c->flow[at] = i;
				join(c, at++, 0);
			}
}

uint64_t spread_last(struct spread *s)
{
	struct course c = {.s = s, .piece = 1};
	uint64_t last = UINT64_MAX, n = 0;

	for (uint32_t i = 0; i < s->n; i++)
		if (s->flow[i].bytes / PIECES + 1 > c.piece)
			c.piece = s->flow[i].bytes / PIECES + 1;
	for (uint32_t i = 0; i < s->n; i++)
		n += pieces_of(&c, &s->flow[i]);
	c.n = (uint32_t)n;
	c.queue = malloc((s->n_links + 1u) * sizeof(*c.queue));
	c.next = malloc((n + 1) * sizeof(*c.next));
	c.flow = malloc((n + 1) * sizeof(*c.flow));
	c.hop = calloc(n + 1, sizeof(*c.hop));
	c.heap = malloc((s->n_links + 1u) * sizeof(*c.heap));
	if (c.queue && c.next && c.flow && c.hop && c.heap) {
		memset(c.queue, 0xff, (s->n_links + 1u) * sizeof(*c.queue));
		begin(&c);
		last = go(&c);
	}
	free(c.queue);
	free(c.next);
	free(c.flow);
	free(c.hop);
	free(c.heap);
	return last;
}
