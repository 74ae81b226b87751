/*
 * Whose packets were lost where: a table of bounded size, touched only when a packet is lost. Exact
 * while few pairs lose packets; beyond, those that lose most stay (Metwally, Agrawal and El Abbadi
 * 2005, "Space-Saving", a set at a time): a count may then be too high, never too low.
 */
#ifndef RS_SWITCH_LOSSES_H
#define RS_SWITCH_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

struct rs_losses;

struct rs_loss {
	uint32_t src, dst; /* endpoints: the packets' own */
	uint16_t port;
	uint16_t why; /* the owner's */
	uint32_t packets;
};

enum { RS_LOSSES_WAYS = 8 };

/* entries: at most so many; rounded up to a power of two of at least RS_LOSSES_WAYS. NULL: no
 * memory. */
struct rs_losses *rs_losses_create(uint32_t entries);
void rs_losses_destroy(struct rs_losses *t);
void rs_losses_add(struct rs_losses *t, uint32_t src, uint32_t dst, uint16_t port, uint16_t why);
/* Where most packets from src to dst were lost; false: none that the table knows of. */
bool rs_losses_most(const struct rs_losses *t, uint32_t src, uint32_t dst, struct rs_loss *out);

#endif
