/*
 * How a process finds the others of its user on UDP port 4791 where it sees neither their files nor
 * their processes: containers of a pod share a network namespace and no more. The kernel lets the
 * sockets of one user alone have the port (SO_REUSEPORT), and a datagram from port 4791 of this
 * host is that user's (steer.c's filter). So a new process asks all of them by a broadcast on the
 * loopback, and one that has the registry passes its descriptor. Private to the room.
 */
#ifndef RS_LIVE_MEET_H
#define RS_LIVE_MEET_H

#include "live/local.h"
#include "base/error.h"

struct rs_live;
struct rs_datagram;

/* The holders of port 4791 in this network namespace. */
struct rs_meet_port {
	unsigned members; /* sockets of devices */
	unsigned comers;  /* of processes that are at rs_meet_look(), see below */
	bool mine_first;  /* of the comers, the caller is the one whose turn it is */
};

struct rs_meet {
	int udp, local;
	uint64_t inode; /* of udp */
	struct rs_local_address address;
};

/* -EADDRINUSE: the port is another user's; e says whose. */
int rs_meet_open(struct rs_meet *m, struct rs_error *e);
void rs_meet_close(struct rs_meet *m);
/* m may be NULL. -ENOENT where /proc does not say. */
int rs_meet_look(const struct rs_meet *m, struct rs_meet_port *out);
/* Ask once, wait so long for an answer: the descriptor of a registry, or -EAGAIN. */
int rs_meet_ask(const struct rs_meet *m, int wait_ms);

/* Was it a question? A device answers it, if it can only have come from this host. */
bool rs_meet_is_question(const uint8_t *mad);
void rs_meet_answer(struct rs_live *l, const struct rs_datagram *d, const uint8_t *mad);

/* A word on the port's holder, for an error that binding it gave. */
void rs_meet_blame(struct rs_error *e);

#endif
