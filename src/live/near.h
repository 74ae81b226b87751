/*
 * Processes of this host in other network namespaces: containers, each with addresses of its own,
 * that have one directory mounted (RIPSTOP_SHM_DIR). Each device has a socket there, of the
 * permissions that the directory's owner gave it. Two that talk over the wire anyway prove their
 * addresses by it: a question with a random token goes to the peer's address; the peer answers half
 * by the wire, half by the socket in the directory; who knows both halves hears at the one and is
 * the other. Then a ring goes that way (shm.h). A user who may write to the directory can do no
 * more than a host that has the address. Private to the room; all of it locked.
 */
#ifndef RS_LIVE_NEAR_H
#define RS_LIVE_NEAR_H

#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"
#include "base/time.h"

struct rs_live;
struct rs_datagram;

enum {
	RS_NEAR_FIRST = 256, /* of rings' numbers: below are the slots of this registry */
	RS_NEAR_PEERS = 256, /* rings to them, and from them; others talk over the wire */
};

/* RIPSTOP_SHM_DIR not set: 0, too. -EINVAL, -EACCES... with e. */
int rs_near_open(struct rs_live *l, struct rs_error *e);
void rs_near_close(struct rs_live *l);
/* In a fork's child: the parent's life is not its own. */
void rs_near_abandon(struct rs_live *l);
/* To be slept on; -1: none. */
int rs_near_descriptor(const struct rs_live *l);
/* The number of the ring towards who has a QPN at the other end of a path; 0: there is none (yet:
 * it may be asked for). */
unsigned rs_near_to(struct rs_live *l, uint32_t path, uint32_t qpn, rs_time now);
/* The ring was given up: not asked for soon. */
void rs_near_lost(struct rs_live *l, unsigned number, rs_time now);
/* Its reader sleeps. False: not told. */
bool rs_near_ring_bell(struct rs_live *l, unsigned number);
/* Its other end is gone; alive: what it passed. */
bool rs_near_is_gone(int alive);
/* A management datagram of theirs. */
void rs_near_heard(struct rs_live *l, const struct rs_datagram *d, const uint8_t *mad);
/* What came by the socket in the directory; false: nothing. */
bool rs_near_receive(struct rs_live *l);

#endif
