/*
 * QP1 of a live device: management datagrams (IBTA §13.3, §13.5) in and out, for those who have
 * rdma_cm's ports (ports.h). A request is for the process that has its service ID, and any other
 * for the one that the top byte of the communication ID names that it answers: its maker's slot.
 * The kernel knows where the latter go (steer.c). Of all processes' sockets one hears the requests,
 * and hands them on.
 */
#ifndef RS_LIVE_GSI_H
#define RS_LIVE_GSI_H

#include <stdbool.h>
#include <stdint.h>
#include "live/live.h"
#include "wire/packet.h"

enum { RS_MAD_BYTES = 256, RS_GSI_FRAME_MAX = RS_MAD_BYTES + RS_MAX_HEADERS };

/* A datagram of the connection manager's (§13.4.2, §12.6): where its fields are, and kinds. */
enum {
	RS_GSI_CLASS_AT = 1,
	RS_GSI_ATTRIBUTE_AT = 16,
	RS_GSI_LOCAL_ID_AT = 24,
	RS_GSI_REMOTE_ID_AT = 28,
	RS_GSI_SERVICE_AT = 32,
	RS_GSI_CM = 7, /* its class */
	RS_GSI_REQ = 0x10,
	RS_GSI_REJ = 0x12,
	RS_GSI_DREQ = 0x15,
	RS_GSI_DREP = 0x16,
	RS_GSI_SIDR_REQ = 0x17,
	RS_GSI_SIDR_REP = 0x18,
};

struct rs_gsi_datagram {
	uint8_t own[16], peer[16]; /* GIDs */
	uint32_t src_qp, dest_qp;  /* dest_qp: of one to be sent; 0: QP1 */
	uint16_t sport;            /* of one to be sent; 0: 4791 */
	uint8_t mad[RS_MAD_BYTES];
};

typedef void rs_gsi_fn(void *arg, const struct rs_gsi_datagram *d);

/* Locked: what arrives goes to fn, which is called locked. */
void rs_live_gsi_on(struct rs_live *l, rs_gsi_fn *fn, void *arg);
/* Its frame; the UDP payload begins at *head. Returns the frame's length, negative: -EINVAL. */
long rs_gsi_encode(const struct rs_gsi_datagram *d, uint8_t *frame, size_t size, size_t *head);
/* Locked: send from an own GID. Negative errno of the socket; what is lost is lost. */
int rs_live_gsi_send(struct rs_live *l, const struct rs_gsi_datagram *d);
/* The same by another socket, which is bound to d->sport. */
int rs_gsi_send_by(struct rs_live *l, int fd, const struct rs_gsi_datagram *d);
/*
 * Locked: take what lies in the socket, for other processes too. What is sent to this host may have
 * come to our own socket, and would be lost if the process ended now. Not from within a rs_gsi_fn.
 */
void rs_live_gsi_drain(struct rs_live *l);
/* Not locked: could the lock be had now? Not if a signal interrupted this thread while it had it.
 */
bool rs_live_gsi_lockable(struct rs_live *l);
/* Locked: the process behind a QPN of that address. Of another host, or of an address that nothing
 * was sent to, nothing is known. */
enum rs_live_peer { RS_PEER_UNKNOWN, RS_PEER_LIVES, RS_PEER_GONE };
enum rs_live_peer rs_live_peer_of(struct rs_live *l, const uint8_t own[16], const uint8_t peer[16],
				  uint32_t qpn);
/* The top byte of communication IDs that find their way back to this device. */
unsigned rs_live_slot(const struct rs_live *l);

#endif
