/* Sockets tell their senders what they can take. Private to the room; all of it locked. */
#ifndef RS_LIVE_GRANT_H
#define RS_LIVE_GRANT_H

#include <stdbool.h>
#include <stdint.h>
#include "base/time.h"

struct rs_live;
struct rs_datagram;

enum { RS_GRANT_CLASS = 0x30, RS_GRANT_ASKERS = 256 };

struct rs_asker {
	uint8_t own[16], peer[16];
	uint8_t slot;
	rs_time heard;
};

struct rs_grants {
	struct rs_asker asker[RS_GRANT_ASKERS];
	unsigned n;
	uint64_t buffer; /* of this device's socket, as the kernel counts */
	uint64_t host;   /* a number of this boot of this kernel */
};

void rs_grant_init(struct rs_live *l);
/* qpn: a queue pair of the peer's, which the asker must know. question: a number for an answer
 * that comes behind all that was sent before; 0: any answer. */
void rs_grant_ask(struct rs_live *l, uint32_t path, uint32_t qpn, uint32_t question);
/* Where such questions and their answers go: no queue pair has the number. */
static inline uint32_t rs_grant_qpn(unsigned slot)
{
	return (uint32_t)slot << 16 | 0xffff;
}
/* The slot that a management datagram of the class is for. */
unsigned rs_grant_slot(const uint8_t *mad);
void rs_grant_receive(struct rs_live *l, const struct rs_datagram *d, const uint8_t *mad);

#endif
