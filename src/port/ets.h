/*
 * Transmission selection of a port, a switch's and a NIC's alike: strict classes first, the highest
 * first; the others share by deficit round robin (802.1Q-2022 §8.6.8, 802.1Qaz; Shreedhar and
 * Varghese 1995). The caller has the queues and says how long a class's next frame is. A caller
 * that makes a frame only when its class's turn has come says 1, and charges the whole length: the
 * class may then owe up to a frame, and pays by the quanta of its next rounds. Shares are as exact.
 */
#ifndef RS_PORT_ETS_H
#define RS_PORT_ETS_H

#include <stdint.h>
#include "wire/packet.h"

enum { RS_ETS_QUANTUM = 1024 }; /* bytes a unit of weight and round */

/* How classes are served, the same on every port of a device. */
struct rs_ets {
	uint8_t weight[RS_CLASSES]; /* 0: strict */
	uint8_t strict;             /* the classes of weight 0 */
};

/* Where a port's rounds are. */
struct rs_ets_turns {
	int32_t deficit[RS_CLASSES];
	uint8_t turn; /* the class being served */
};

static inline struct rs_ets rs_ets_of(const uint8_t weight[RS_CLASSES])
{
	struct rs_ets e = {.strict = 0};

	for (unsigned c = 0; c < RS_CLASSES; c++) {
		e.weight[c] = weight[c];
		e.strict |= (uint8_t)(!weight[c] << c);
	}
	return e;
}

/*
 * The class to serve among ready, which is not empty. bytes(arg, c): of the first frame of c. A
 * class that has nothing saves nothing up; what it owes is paid in its absence.
 */
static inline __attribute__((always_inline)) unsigned
rs_ets_pick(const struct rs_ets *e, struct rs_ets_turns *t, unsigned ready,
	    int32_t (*bytes)(const void *arg, unsigned c), const void *arg)
{
	unsigned c = t->turn;

	if (ready & e->strict)
		return 31u - (unsigned)__builtin_clz(ready & e->strict);
	for (;;) {
		if (!(ready >> c & 1))
			t->deficit[c] = t->deficit[c] < 0 ? t->deficit[c] : 0;
		else if (t->deficit[c] >= bytes(arg, c))
			return c;
		t->turn = (uint8_t)(c = (c + 1) & (RS_CLASSES - 1));
		t->deficit[c] += e->weight[c] * RS_ETS_QUANTUM;
	}
}

/* A frame of c went that another class waited for: a class that is alone is charged nothing. */
static inline void rs_ets_charge(const struct rs_ets *e, struct rs_ets_turns *t, unsigned c,
				 uint32_t bytes)
{
	if (e->weight[c])
		t->deficit[c] -= (int32_t)bytes;
}

/* The class whose first frame goes next among ready, which is not empty, and the charge for it: one
 * that is alone needs no turn. */
static inline unsigned rs_ets_next(const struct rs_ets *e, struct rs_ets_turns *t, unsigned ready,
				   int32_t (*bytes)(const void *arg, unsigned c), const void *arg)
{
	unsigned c = (unsigned)__builtin_ctz(ready);

	if (ready & (ready - 1)) {
		c = rs_ets_pick(e, t, ready, bytes, arg);
		rs_ets_charge(e, t, c, (uint32_t)bytes(arg, c));
	}
	return c;
}

/* c was picked and turned out to have nothing. */
static inline void rs_ets_missed(struct rs_ets_turns *t, unsigned c)
{
	if (t->deficit[c] > 0)
		t->deficit[c] = 0;
}

#endif
