/* Egress scheduling between classes: strict ones first, the highest first; then deficit round robin
 * by weight (802.1Q-2022 §8.6.8, Shreedhar and Varghese 1995). */
#include "switch/state.h"

enum { QUANTUM = 1024 }; /* bytes a unit of weight */

unsigned rs_sched_pick(struct rs_switch *sw, struct port *out, uint8_t ready)
{
	uint8_t strict = ready & sw->strict;

	if (strict)
		return 31u - (unsigned)__builtin_clz(strict);
	for (;;) {
		unsigned c = out->turn;

		if (ready >> c & 1) {
			uint32_t bytes = sw->base[out->q[c].head].frame_bytes;

			if (out->deficit[c] >= (int32_t)bytes) {
				out->deficit[c] -= (int32_t)bytes;
				return c;
			}
		} else {
			out->deficit[c] = 0;
		}
		out->turn = c = (c + 1) & (RS_CLASSES - 1);
		if (ready >> c & 1)
			out->deficit[c] += sw->class[c].weight * QUANTUM;
	}
}
