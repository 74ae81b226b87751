/*
 * A node's own event queue: a winner tree with a slot for each thing that can happen next (an
 * arrival a link, a port that frees itself, a timer). Key: time in 52 bits (75 minutes of
 * picoseconds) over slot in 12, so that the order is total within a node and no stale event exists.
 */
#ifndef RS_SIM_TREE_H
#define RS_SIM_TREE_H

#include <stddef.h>
#include <stdint.h>
#include "base/time.h"

enum { RS_TREE_SLOT_BITS = 12, RS_TREE_SLOTS = 1 << RS_TREE_SLOT_BITS };
#define RS_TREE_TIME_MAX (((rs_time)1 << 52) - 2)
#define RS_TREE_IDLE     UINT64_MAX

struct rs_tree {
	uint64_t *key;   /* key[1] is the least; leaves from key[leaves] */
	uint32_t leaves; /* a power of two */
};

/* The index is as wide as an address: it is one on its way up, at each level. */
static inline void rs_tree_set(struct rs_tree *t, uint32_t slot, rs_time when)
{
	uint64_t *key = t->key;
	size_t i = (size_t)t->leaves + slot;
	uint64_t k =
		when > RS_TREE_TIME_MAX ? RS_TREE_IDLE : (uint64_t)when << RS_TREE_SLOT_BITS | slot;

	if (key[i] == k)
		return;
	key[i] = k;
	while (i > 1) {
		uint64_t other = key[i ^ 1];

		if (other < k)
			k = other;
		i >>= 1;
		if (key[i] == k)
			return;
		key[i] = k;
	}
}

static inline uint64_t rs_tree_top(const struct rs_tree *t)
{
	return t->key[1];
}

static inline rs_time rs_tree_time(uint64_t key)
{
	return key == RS_TREE_IDLE ? RS_NEVER : (rs_time)(key >> RS_TREE_SLOT_BITS);
}

static inline rs_time rs_tree_get(const struct rs_tree *t, uint32_t slot)
{
	return rs_tree_time(t->key[t->leaves + slot]);
}

#endif
