/*
 * A hostile network before the switch: RoCEv2 packets of a port are lost, damaged, doubled, held
 * back or late, by draws that follow from the seed, the port and the packet's number alone. What
 * waits is in two rows a port: the delayed, in the order in which they came, then the held back.
 */
#include <errno.h>
#include <stdlib.h>
#include "bridge/state.h"

enum {
	KEPT = 1 << 16,
	PURPOSE = 0x6861726d, /* of the random stream: "harm" */
	NONE = UINT32_MAX,
};

/* One that is held back and that too few follow goes on after this. */
#define HELD_MAX (2 * RS_MS)

bool bridge_harm_wanted(const struct rs_bridge_harm *h)
{
	return h->drop || h->corrupt || h->duplicate || h->reorder || h->delay || h->jitter;
}

int bridge_harm_begin(struct rs_bridge *b, uint64_t seed)
{
	bool any = false;

	for (unsigned i = 0; i < b->n_ports; i++) {
		struct harm *h = &b->port[i].harm;

		h->draws = rs_random_stream(seed, i, PURPOSE);
		h->delayed = h->held = (struct kept_list){NONE, NONE};
		any |= b->port[i].harms;
	}
	b->kept_free = NONE;
	b->harm_due = RS_NEVER;
	if (!any)
		return 0;
	b->kept = calloc(KEPT, sizeof(*b->kept));
	return b->kept ? 0 : -ENOMEM;
}

/* ---- Rows of those that wait ---- */

/* NONE: there is no room. The block is held. */
static uint32_t keep(struct rs_bridge *b, const struct kept *k)
{
	uint32_t i = b->kept_free;

	if (i != NONE)
		b->kept_free = b->kept[i].next;
	else if (b->kept_fresh < KEPT)
		i = b->kept_fresh++;
	else
		return NONE;
	b->kept[i] = *k;
	b->kept[i].next = NONE;
	b->block[k->block].refs++;
	return i;
}

static void append(struct rs_bridge *b, struct kept_list *l, const struct kept *k)
{
	uint32_t i = keep(b, k);

	if (i == NONE) {
		b->no_room++;
		return;
	}
	if (l->last == NONE)
		l->first = i;
	else
		b->kept[l->last].next = i;
	l->last = i;
	b->harm_due = rs_time_min(b->harm_due, k->due);
}

/* Takes out the one behind before, or the first; the caller has the block then. */
static struct kept take(struct rs_bridge *b, struct kept_list *l, uint32_t before)
{
	uint32_t i = before == NONE ? l->first : b->kept[before].next;
	struct kept k = b->kept[i];

	if (before == NONE)
		l->first = k.next;
	else
		b->kept[before].next = k.next;
	if (l->last == i)
		l->last = before;
	b->kept[i].next = b->kept_free;
	b->kept_free = i;
	return k;
}

static void admit(struct rs_bridge *b, unsigned in, const struct kept *k, rs_time now)
{
	bridge_admit(b, in, &k->raw, k->block, k->way, now);
}

/* ---- Held back ---- */

/* Those whose turn it is, overtaken by one more where one passed; all: all. */
static void let_go(struct rs_bridge *b, unsigned in, bool passed, bool all, rs_time now)
{
	struct kept_list *l = &b->port[in].harm.held;
	uint32_t before = NONE, next;

	for (uint32_t i = l->first; i != NONE; i = next) {
		struct kept *k = &b->kept[i], out;

		next = k->next;
		k->behind -= passed && k->behind;
		if (k->behind && k->due > now && !all) {
			before = i;
			continue;
		}
		out = take(b, l, before);
		admit(b, in, &out, now);
		bridge_drop_block(b, out.block);
	}
}

/* A packet that was not lost, at the end of its delay. */
static void arrive(struct rs_bridge *b, unsigned in, struct kept *k, rs_time now)
{
	struct port *p = &b->port[in];

	if (k->reorder) {
		k->behind = p->c.harm.behind;
		k->due = now + HELD_MAX;
		append(b, &p->harm.held, k);
		return;
	}
	admit(b, in, k, now);
	let_go(b, in, true, false, now);
}

/* ---- Draws ---- */

/* Each packet has as many draws, whatever they are for: an option shifts no other's. */
struct fate {
	uint32_t drop, corrupt, duplicate, reorder, bit, jitter;
};

static uint32_t draw(struct rs_random *r)
{
	return (uint32_t)(rs_random_u64(r) >> 32);
}

static struct fate fate_of(struct rs_random *r)
{
	struct fate f;

	f.drop = draw(r);
	f.corrupt = draw(r);
	f.duplicate = draw(r);
	f.reorder = draw(r);
	f.bit = draw(r);
	f.jitter = draw(r);
	return f;
}

static void set_out(struct rs_bridge *b, unsigned in, struct kept *k, rs_time now)
{
	struct harm *h = &b->port[in].harm;

	if (k->due > now || h->delayed.first != NONE)
		append(b, &h->delayed, k);
	else
		arrive(b, in, k, now);
}

void bridge_harm(struct rs_bridge *b, unsigned in, struct rs_raw *raw, uint32_t block, struct way w,
		 rs_time now)
{
	struct harm *h = &b->port[in].harm;
	const struct rs_bridge_harm *c = &b->port[in].c.harm;
	struct fate f = fate_of(&h->draws);
	rs_time late = c->delay + (rs_time)((double)c->jitter * f.jitter / 0x1p32);
	struct kept k = {.way = w, .block = block, .reorder = f.reorder < c->reorder};

	if (f.drop < c->drop) {
		h->counters.dropped++;
		return;
	}
	if (f.corrupt < c->corrupt) {
		rs_raw_corrupt(raw, f.bit);
		h->counters.corrupted++;
	}
	k.raw = *raw;
	k.due = h->last_due = rs_time_max(now + late, h->last_due);
	h->counters.delayed += late > 0;
	h->counters.reordered += k.reorder;
	h->counters.duplicated += f.duplicate < c->duplicate;
	set_out(b, in, &k, now);
	k.reorder = false;
	if (f.duplicate < c->duplicate)
		set_out(b, in, &k, now);
}

/* ---- Time ---- */

static void release_port(struct rs_bridge *b, unsigned in, rs_time now, bool all)
{
	struct harm *h = &b->port[in].harm;

	while (h->delayed.first != NONE && (all || b->kept[h->delayed.first].due <= now)) {
		struct kept k = take(b, &h->delayed, NONE);

		arrive(b, in, &k, now);
		bridge_drop_block(b, k.block);
	}
	let_go(b, in, false, all, now);
	if (all)
		h->last_due = 0;
	if (h->delayed.first != NONE)
		b->harm_due = rs_time_min(b->harm_due, b->kept[h->delayed.first].due);
	for (uint32_t i = h->held.first; i != NONE; i = b->kept[i].next)
		b->harm_due = rs_time_min(b->harm_due, b->kept[i].due);
}

void bridge_harm_release(struct rs_bridge *b, rs_time now, bool all)
{
	b->harm_due = RS_NEVER;
	for (unsigned i = 0; i < b->n_ports; i++)
		if (b->port[i].harms)
			release_port(b, i, now, all);
}
