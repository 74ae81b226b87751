/* Sockets tell their senders what they can take. Private to the room; all of it locked. */
#ifndef RS_LIVE_GRANT_H
#define RS_LIVE_GRANT_H

#include <stdbool.h>
#include <stdint.h>

struct rs_live;
struct rs_datagram;
struct rs_window_to;

enum { RS_GRANT_CLASS = 0x30 };

void rs_grant_init(struct rs_live *l);
/* qpn: a queue pair of the peer's, which the asker must know. question: a number, not 0, that
 * its answer has. It goes behind all that was sent to the socket before. */
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
