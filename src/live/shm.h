/*
 * The path between two processes of one host and user: a ring of packets in shared memory for each
 * direction (shm_ring.h), made by its sender at its first packet and passed by the socket between
 * processes. The engine of each side stays the only authority on its queue pairs and keys. Private
 * to the room; all of it locked.
 */
#ifndef RS_LIVE_SHM_H
#define RS_LIVE_SHM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include "live/shm_ring.h"
#include "base/error.h"
#include "base/time.h"

struct rs_live;

enum {
	RS_SHM_PEERS = 512,  /* as many as the registry has slots, and others (near.h) */
	RS_SHM_PATHS = 1024, /* of one peer; packets of others go by the wire */
	RS_SHM_HELLO_MAX = 64,
};

/* RIPSTOP_SHM=off, or a rate limit (RIPSTOP_RATE), leaves the path off: 0 then, too. -EINVAL. */
int rs_shm_open(struct rs_live *l, struct rs_error *e);
void rs_shm_close(struct rs_live *l);

/* Does a ring carry the packet? Then it is done with but for freeing it. False: the wire's. ack:
 * one to the same peer that waits, or NULL; *shared: it went along. */
bool rs_shm_send(struct rs_live *l, struct rs_packet *p, const struct rs_packet *ack, bool *shared,
		 rs_time now);
/* A packet waits for room in a full ring: none may be sent before it is gone. */
bool rs_shm_blocked(struct rs_live *l, rs_time now);
/* Who was written to and sleeps is woken. */
void rs_shm_wake(struct rs_live *l);
/* Packets that came; false: none did. */
bool rs_shm_receive(struct rs_live *l, int64_t now_ns);
/* Did a ring bring something so lately? Not locked: a hint. */
bool rs_shm_heard_within(const struct rs_live *l, int64_t now_ns, int64_t ns);
/* Is the wire to be looked at, or do the rings bring what comes? */
bool rs_shm_quiet(const struct rs_live *l, int64_t now_ns);
/* A writer wakes this process from here on; false: there is something to read already. */
bool rs_shm_sleep(struct rs_live *l);
/* When it is to be looked at again, though no writer wakes it. */
rs_time rs_shm_again(const struct rs_live *l);
/* Before the process ends: for a moment, until its last packets can be read. A reader maps a ring
 * only while the process at the other end lives. */
void rs_shm_linger(struct rs_live *l);
/* Memory is about to leave the engine, or requests are over: no peer copies from or to what is not
 * the engine's any more. */
void rs_shm_settle(struct rs_live *l);
/* Of near.h: a ring towards a peer whose life alive, taken over, tells of. Its descriptor, which is
 * the caller's to pass and close; a negative errno. */
int rs_shm_make_out(struct rs_live *l, unsigned number, int alive);
void rs_shm_drop_out(struct rs_live *l, unsigned number);
/* One that came, for packets from one address and slot to another. alive is taken over if true. */
bool rs_shm_take_ring(struct rs_live *l, int ring, int alive, const uint8_t own[16],
		      const uint8_t peer[16], uint8_t slot);
/* A datagram of a process of this user; fd: that it passed, or -1, taken over in any case. */
bool rs_shm_heard(struct rs_live *l, const void *bytes, size_t n, int32_t pid, int fd);

#endif
