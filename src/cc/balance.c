/* Load balancers. Rules and figures are those of the Ultra Ethernet Consortium's simulator
 * (ultraethernet/uet-htsim 40ccb052, uec_mp.cpp, buffer_reps); tests replay its traces. */
#include <stdbool.h>
#include <string.h>
#include "base/error.h"
#include "cc/balance.h"

const char *const rs_balance_names[RS_BALANCES + 1] = {
	[RS_BALANCE_OBLIVIOUS] = "oblivious", [RS_BALANCE_BITMAP] = "bitmap",
	[RS_BALANCE_REPS] = "reps",           [RS_BALANCE_MIXED] = "mixed",
	[RS_BALANCE_FIXED] = "fixed",
};

enum {
	PENALTY_MAX = 15, /* a nibble */
	PENALTY_MARKED = 1,
	PENALTY_TRIMMED = 4,
	REPS_KEPT = 8,      /* entropy values in REPS's ring */
	REPS_EXPLORED = 16, /* random ones after it froze */
};

/* Values that may be used again, the oldest first; at most `size` of them, a power of two. */
struct kept {
	uint32_t head, fresh; /* values written; of the latest those that were not reused */
	uint32_t held;        /* values in the ring, used or not */
};

struct rs_balance {
	struct rs_random random;
	rs_time frozen_until; /* RS_NEVER: it is not frozen */
	rs_time freeze;
	struct kept kept;
	uint32_t thaw_at;  /* the next that a frozen REPS reuses */
	uint16_t n, index; /* of the walk */
	uint16_t order;    /* what the index is XORed with */
	uint16_t above;    /* bits of a connection above the values */
	uint8_t kind, explore;
	uint16_t ring_size;
	uint16_t at[]; /* the ring; behind it the penalties, a nibble a value */
};

static uint32_t ring_size(enum rs_balance_kind kind)
{
	return kind == RS_BALANCE_REPS ? REPS_KEPT : kind == RS_BALANCE_MIXED ? RS_BALANCE_KEPT : 0;
}

size_t rs_balance_bytes(const struct rs_balance_conf *c)
{
	bool walks = c->kind == RS_BALANCE_BITMAP || c->kind == RS_BALANCE_MIXED;
	size_t bytes = sizeof(struct rs_balance) + ring_size(c->kind) * sizeof(uint16_t) +
		       (walks ? (c->n + 1u) / 2 : 0);

	return (bytes + sizeof(void *) - 1) / sizeof(void *) * sizeof(void *);
}

static uint16_t drawn(struct rs_balance *b)
{
	return (uint16_t)rs_random_below(&b->random, b->n);
}

void rs_balance_init(struct rs_balance *b, const struct rs_balance_conf *c, struct rs_random random)
{
	rs_assert(c->n && c->n <= RS_BALANCE_VALUES_MAX && !(c->n & (c->n - 1)));
	memset(b, 0, rs_balance_bytes(c));
	b->random = random;
	b->frozen_until = RS_NEVER;
	b->freeze = c->freeze;
	b->kind = (uint8_t)c->kind;
	b->n = c->n;
	b->ring_size = (uint16_t)ring_size(c->kind);
	b->order = drawn(b);
	b->above = (uint16_t)(rs_random_u64(&b->random) & ~(c->n - 1u));
}

/* ---- The walk, and what it passes over ---- */

static uint8_t *penalties(struct rs_balance *b)
{
	return (uint8_t *)(b->at + b->ring_size);
}

static unsigned penalty(struct rs_balance *b, uint16_t value)
{
	return penalties(b)[value >> 1] >> (value & 1 ? 4 : 0) & PENALTY_MAX;
}

static void set_penalty(struct rs_balance *b, uint16_t value, unsigned to)
{
	unsigned shift = value & 1 ? 4 : 0;
	uint8_t *at = &penalties(b)[value >> 1];

	to = to > PENALTY_MAX ? PENALTY_MAX : to;
	*at = (uint8_t)((*at & ~(PENALTY_MAX << shift)) | to << shift);
}

static uint16_t here(const struct rs_balance *b)
{
	return (uint16_t)((b->index ^ b->order) & (b->n - 1));
}

static void step(struct rs_balance *b)
{
	if (++b->index < b->n)
		return;
	b->index = 0;
	b->order = drawn(b);
}

static uint16_t walk(struct rs_balance *b)
{
	uint16_t value = here(b);

	step(b);
	return b->above | value;
}

/* Only the first that is passed over is forgiven a little: the rest of a full network stays out. */
static uint16_t walk_past_penalties(struct rs_balance *b)
{
	uint16_t value = here(b);

	if (penalty(b, value))
		set_penalty(b, value, penalty(b, value) - 1);
	else
		return walk(b);
	for (uint32_t i = 0; i < b->n; i++) {
		step(b);
		value = here(b);
		if (!penalty(b, value))
			break;
	}
	step(b);
	return b->above | value;
}

static void punish(struct rs_balance *b, uint16_t value, enum rs_path_feedback what)
{
	static const uint8_t by[] = {[RS_PATH_MARKED] = PENALTY_MARKED,
				     [RS_PATH_TRIMMED] = PENALTY_TRIMMED,
				     [RS_PATH_TIMEOUT] = PENALTY_MAX};

	value &= b->n - 1;
	if (by[what])
		set_penalty(b, value, penalty(b, value) + by[what]);
}

/* ---- Values that are used again ---- */

/* A full ring loses its oldest. */
static void keep(struct rs_balance *b, uint16_t value)
{
	struct kept *k = &b->kept;

	b->at[k->head++ & (b->ring_size - 1u)] = value;
	k->fresh += k->fresh < b->ring_size;
	k->held += k->held < b->ring_size;
}

static uint16_t reuse(struct rs_balance *b)
{
	return b->at[(b->kept.head - b->kept.fresh--) & (b->ring_size - 1u)];
}

static void thaw(struct rs_balance *b, rs_time now)
{
	if (b->frozen_until == RS_NEVER || now <= b->frozen_until)
		return;
	b->frozen_until = RS_NEVER;
	b->kept = (struct kept){0};
	b->explore = REPS_EXPLORED;
}

static uint16_t reps(struct rs_balance *b, rs_time now)
{
	struct kept *k = &b->kept;

	thaw(b, now);
	if (b->explore) {
		b->explore--;
		return drawn(b);
	}
	if (b->frozen_until != RS_NEVER && k->held)
		return b->at[(k->head - k->held + b->thaw_at++ % k->held) & (b->ring_size - 1u)];
	return k->fresh ? reuse(b) : drawn(b);
}

static void reps_told(struct rs_balance *b, uint16_t value, enum rs_path_feedback what, rs_time now)
{
	thaw(b, now);
	if (what == RS_PATH_TIMEOUT && b->freeze && b->frozen_until == RS_NEVER && !b->explore) {
		b->frozen_until = now + b->freeze;
		b->thaw_at = 0;
	}
	if (what == RS_PATH_GOOD && b->frozen_until == RS_NEVER)
		keep(b, value);
}

/* ---- All ---- */

uint16_t rs_balance_next(struct rs_balance *b, rs_time now)
{
	switch ((enum rs_balance_kind)b->kind) {
	case RS_BALANCE_OBLIVIOUS:
		return walk(b);
	case RS_BALANCE_BITMAP:
		return walk_past_penalties(b);
	case RS_BALANCE_REPS:
		return reps(b, now);
	case RS_BALANCE_MIXED:
		return b->kept.fresh ? reuse(b) : walk_past_penalties(b);
	default:
		return b->above | b->order;
	}
}

void rs_balance_told(struct rs_balance *b, uint16_t value, enum rs_path_feedback what, rs_time now)
{
	switch ((enum rs_balance_kind)b->kind) {
	case RS_BALANCE_BITMAP:
		punish(b, value, what);
		break;
	case RS_BALANCE_REPS:
		reps_told(b, value, what, now);
		break;
	case RS_BALANCE_MIXED:
		punish(b, value, what);
		if (what == RS_PATH_GOOD)
			keep(b, value);
		break;
	default:
		break;
	}
}
