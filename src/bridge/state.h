/* Private to bridge/: a switch in software. */
#ifndef RS_BRIDGE_STATE_H
#define RS_BRIDGE_STATE_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include "base/random.h"
#include "bridge/bridge.h"
#include "bridge/macs.h"
#include "bridge/raw.h"
#include "switch/switch.h"
#include "wire/pool.h"

enum {
	BATCH = 32,    /* frames of one system call */
	STEPS = 16384, /* of a queue's percentiles */
};

/* A frame, or a burst of them: memory that its packets share. */
struct block {
	uint32_t refs, next;
};

/* Beside each packet of the slab: its bytes. */
struct held {
	struct rs_raw raw;
	uint32_t block;
};

/* The endpoints that a frame's addresses are behind; to all: dst is not looked at. */
struct way {
	uint32_t src, dst;
	bool to_all;
};

/* A packet that harm keeps from the switch for a while. */
struct kept {
	struct rs_raw raw;
	struct way way;
	uint32_t block, next;
	rs_time due;
	uint32_t behind;
	bool reorder;
};

/* In the order in which they came; UINT32_MAX: the end. */
struct kept_list {
	uint32_t first, last;
};

/* Of a port that harms what it takes in. */
struct harm {
	struct rs_random draws;
	struct kept_list delayed, held;
	rs_time last_due;
	struct rs_bridge_harmed counters;
};

/* Bytes that wait for a port, over time. */
struct watch {
	uint64_t bytes, most;
	rs_time since, begun;
	double byte_seconds;
	rs_time at[STEPS]; /* time spent with so many steps' bytes */
};

struct port {
	struct rs_bridge_port_config c;
	struct rs_pace pace;
	rs_time free_at; /* when the last frame has been sent */
	rs_time again;   /* when there may be something to send; RS_NEVER: nothing waits */
	uint64_t refused;
	struct watch watch;
	bool harms;
	struct harm harm;
	/* of a neighbour: what was last told of the cable */
	bool told;
	enum rs_bridge_cable cable;
	unsigned sending;
	struct mmsghdr msg[BATCH];
	struct iovec iov[BATCH][3];
	uint32_t packet[BATCH];
};

struct rs_bridge {
	struct rs_switch *sw;
	struct rs_pool pool;
	struct rs_pool_list free;
	struct held *held;
	uint8_t *memory;
	struct block *block;
	uint32_t n_blocks, block_free;
	struct kept *kept; /* NULL: no port harms */
	uint32_t kept_fresh, kept_free;
	rs_time harm_due; /* or before; RS_NEVER: none is kept */
	struct port *port;
	unsigned n_ports;
	int epoll;
	int64_t (*clock_ns)(void);
	int64_t epoch_ns; /* of the clock: time 0 */
	uint64_t queue_step, no_room, unread, flooded, filtered, stamped;
	struct bridge_macs macs;
	/* a described network's; described: this switch does not stand alone */
	bool described;
	uint32_t self;
	uint64_t digest, stamp;
	rs_time hello_at, settled;
	void (*cable)(void *arg, unsigned port, enum rs_bridge_cable what, uint32_t sw,
		      uint16_t sw_port);
	void *cable_arg;
	struct mmsghdr msg[BATCH];
	struct iovec iov[BATCH][2];
	struct virtio_net_hdr vnet[BATCH];
	uint32_t taken[BATCH]; /* blocks that frames are read to */
	_Alignas(8) uint8_t control[BATCH][64];
	/* The routes' endpoints, and behind them one a port: what goes to all goes to each. */
	uint32_t n_endpoints;
	uint32_t *group_of;
	uint16_t *local_index, *local_port;
};

/* bridge.c: a packet of a port into the switch. */
void bridge_admit(struct rs_bridge *b, unsigned in, const struct rs_raw *raw, uint32_t block,
		  struct way w, rs_time now);
void bridge_drop_block(struct rs_bridge *b, uint32_t block);

/* harm.c: a hostile network before the switch. */
bool bridge_harm_wanted(const struct rs_bridge_harm *h);
/* -ENOMEM. */
int bridge_harm_begin(struct rs_bridge *b, uint64_t seed);
/* A packet of a port that harms: into the switch at once, later, twice or never. */
void bridge_harm(struct rs_bridge *b, unsigned in, struct rs_raw *raw, uint32_t block, struct way w,
		 rs_time now);
/* Those whose time has come. all: the others too, before time begins anew. */
void bridge_harm_release(struct rs_bridge *b, rs_time now, bool all);

/* queues.c: what waits for a port, over time. */
void bridge_watch_begin(struct watch *w, rs_time now);
void bridge_watch_until(const struct rs_bridge *b, struct watch *w, rs_time now);
/* After each change: what was there until now, and what is now. */
void bridge_watch_queue(struct rs_bridge *b, unsigned port, rs_time now);
uint64_t bridge_watch_percentile(const struct rs_bridge *b, const struct watch *w, double share);

/* neighbours.c: what the switches of a described network tell each other. */
/* A frame to a port at once, before all that waits there. */
void bridge_send_now(struct port *p, const void *frame, size_t n);
/* The address is behind this port; new to this switch: its neighbours hear of it. */
void bridge_learn(struct rs_bridge *b, const uint8_t *address, unsigned port, rs_time now);
/* A frame for bridges: true: it was a neighbour's word. */
bool bridge_hear(struct rs_bridge *b, unsigned port, const uint8_t *frame, size_t n, rs_time now);
/* Says who it is, and anew what it knows, when that is due. */
void bridge_greet(struct rs_bridge *b, rs_time now);

#endif
