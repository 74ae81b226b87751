/*
 * Lossless classes by hop: a packet that goes on to another switch has the next class of a list
 * there, and the last class stays. Each hop then waits for room of a higher class than its own, so
 * that no circle of switches waits for itself while paths have no more switches than the list has
 * classes (Merlin and Schweitzer 1980; Tagger, CoNEXT 2017, has fewer, by what a hop does).
 *
 * It is done where a packet leaves for the link, as a rule that rewrites DSCPs would: the queue it
 * left is the old class's, and so PAUSEs of the new class are told to it as the old one's.
 */
#ifndef RS_SWITCH_RISE_H
#define RS_SWITCH_RISE_H

#include <stdint.h>
#include "wire/packet.h"

struct rs_rise {
	uint8_t next[RS_CLASSES]; /* of each class; itself: it stays */
	uint8_t dscp[RS_CLASSES]; /* that switches know each by */
};

/* Classes list[0 .. n - 1], in this order; dscp: an entry a class, borrowed for the call. */
struct rs_rise rs_rise_of(const uint8_t *list, unsigned n, const uint8_t dscp[RS_CLASSES]);
/* p leaves a switch for another one; of a packet that is not PFC's, tc is its class here. */
void rs_rise_packet(const struct rs_rise *r, struct rs_packet *p);

#endif
