/*
 * What the processes of one user in one network namespace share about UDP port 4791: who holds
 * which QPNs, in which order their sockets joined the reuseport group, and how they hear one
 * another. A file in memory: under a name in /dev/shm that cannot be guessed, or without one. A
 * process that does not find it there (a container's own /dev/shm) gets it from one that has it
 * (meet.h). Each holder of a slot has a lock on it, which ends with the process however it ends,
 * and which all see whatever process IDs mean to them; the last to leave removes the file.
 */
#ifndef RS_LIVE_REGISTRY_H
#define RS_LIVE_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"
#include "live/local.h"

enum {
	RS_SLOTS = 256,     /* the top byte of a QPN */
	RS_SLOT_FIRST = 1,  /* 0 has QP0 and QP1 */
	RS_SLOT_LAST = 254, /* 255 has the multicast QPN */
	RS_SLOT_QPNS = 1 << 16,
	RS_CM_PORTS = 16384, /* half as many as are given to who names none; 24 bytes each */
};

/* A port of rdma_cm (annex A11: the service ID's port space and port) and who listens on it. */
struct rs_cm_port {
	uint16_t space; /* RDMA_PS_*; 0: free */
	uint16_t port;
	uint8_t slot;
	uint8_t listening;
	uint16_t how;    /* enum rs_cm_how */
	uint8_t gid[16]; /* all zero: any */
};

struct rs_registry;

/* Join: a slot leased, its number in *slot. Between open and joined() the file is locked, so that
 * sockets bind in the order that is noted. -EAGAIN: no slot is free; -EADDRINUSE: port 4791 is
 * another user's; -ETIMEDOUT: others hold it and do not answer. */
int rs_registry_open(struct rs_registry **r, unsigned *slot, struct rs_error *e);
/* Where this process hears the others. Locked. */
void rs_registry_announce(struct rs_registry *r, const struct rs_local_address *a);
void rs_registry_joined(struct rs_registry *r);
/* Lock, so that the caller may close its socket; then leave() gives the slot back and frees r. */
void rs_registry_lock(struct rs_registry *r);
void rs_registry_unlock(struct rs_registry *r);
void rs_registry_leave(struct rs_registry *r);
/* In a fork's child: let go of the parent's lease without giving it back. */
void rs_registry_abandon(struct rs_registry *r);

/* The sockets in the group's order, as slots; returns how many. Locked. */
unsigned rs_registry_order(const struct rs_registry *r, uint8_t order[RS_SLOTS]);
/* Is a slot leased? Cheap; may be out of date by a crash. */
int rs_registry_leased(const struct rs_registry *r, unsigned slot);
/* Is it leased to a live process, as the kernel says? */
bool rs_registry_lives(const struct rs_registry *r, unsigned slot);
/* Where a slot's process hears; what it says is right if the slot is leased before and after. */
void rs_registry_address(const struct rs_registry *r, unsigned slot, struct rs_local_address *a);
/* This process takes rings in shared memory (live/shm.h). */
void rs_registry_offer_rings(struct rs_registry *r);
/* A slot's lease: a number that no two of its leases share; 0: not leased, or to one that takes no
 * rings. As cheap. */
uint32_t rs_registry_rings(const struct rs_registry *r, unsigned slot);
/* A descriptor of the live process that has the lease, and its pid. -ESRCH: it is gone. -EXDEV: it
 * lives, in another PID namespace. */
int rs_registry_process(const struct rs_registry *r, unsigned slot, int32_t *pid);
/* Free the slots of dead processes; returns how many. Locked. */
unsigned rs_registry_reap(struct rs_registry *r);
/* To be passed to a process that asks for the registry. */
int rs_registry_descriptor(const struct rs_registry *r);

/* Without joining: where each live process hears. 0, or -ENOENT: there is no registry. */
struct rs_registry_peeked {
	bool leased;
	struct rs_local_address address;
};
int rs_registry_peek(struct rs_registry_peeked out[RS_SLOTS]);

/* rdma_cm's ports. Locked. Those that are taken have places below *end, which who takes one raises
 * for its own. */
struct rs_cm_port *rs_registry_ports(struct rs_registry *r, uint32_t **end);

#endif
