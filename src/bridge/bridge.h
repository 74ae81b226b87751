/*
 * A switch in software: network interfaces as the ports of the very state machine that simulates
 * (src/switch): shared buffer, ECN marks, classes, PFC, routes. Each port sends at a rate of its
 * own. A switch that stands alone forwards by the addresses that it learns (IEEE 802.1Q-2022 clause
 * 8.7). One of a described network forwards by the description's routes: it learns which addresses
 * are behind its own hosts' ports, and tells the other switches (bridge/hello.h).
 */
#ifndef RS_BRIDGE_BRIDGE_H
#define RS_BRIDGE_BRIDGE_H

#include "base/error.h"
#include "plant/plant.h"
#include "switch/switch.h"

struct rs_bridge;

enum { RS_BRIDGE_PORTS_MAX = 128, RS_BRIDGE_MACS = 4096 };

/*
 * What a hostile network does to the RoCEv2 packets (UDP port 4791) that a port takes in; all 0:
 * nothing. Shares are of 2^32. What becomes of a port's nth packet follows from the seed, the port
 * and n alone.
 */
struct rs_bridge_harm {
	uint64_t drop, corrupt, duplicate, reorder;
	uint32_t behind;       /* one that is held back lets so many of its port overtake it */
	rs_time delay, jitter; /* of each packet, and up to so much more; they keep their order */
};

struct rs_bridge_port_config {
	char name[16];  /* of the interface */
	uint8_t mac[6]; /* of PFC frames and what switches tell each other */
	int fd;         /* of rs_raw_open(), or alike; the bridge closes it; -1: not plugged in */
	struct rs_bridge_harm harm;
	/* In a described network: what the port leads to. */
	bool to_switch;
	bool floods;   /* what goes to all goes here too; of the links between switches a tree's */
	uint32_t peer; /* the switch, or the endpoint */
	uint16_t peer_port; /* of the switch */
};

/* What a neighbour's word of itself says about the cable. */
enum rs_bridge_cable {
	RS_CABLE_RIGHT,
	RS_CABLE_WRONG,  /* it is another switch, or another port of it, than is described */
	RS_CABLE_FOREIGN /* it runs another description */
};

struct rs_bridge_config {
	/* All but pool, free and dropped; ports is set to the next. Without routes the switch
	 * stands alone. */
	struct rs_switch_config sw;
	struct rs_switch_port sw_port[RS_BRIDGE_PORTS_MAX];
	struct rs_bridge_port_config port[RS_BRIDGE_PORTS_MAX];
	uint64_t digest;           /* of the description: neighbours must have the same */
	uint64_t queue_step;       /* of the queues' percentiles; bytes */
	int64_t (*clock_ns)(void); /* NULL: rs_clock_ns() */
	/* Told of a cable when it is first known, and when that changes; NULL: not told. */
	void (*cable)(void *arg, unsigned port, enum rs_bridge_cable what, uint32_t sw,
		      uint16_t sw_port);
	void *cable_arg;
};

/* A switch of a described network, as rs_plant_switch() makes it, with nothing plugged in.
 * Interfaces (name, mac, fd) and queue_step are the caller's. -E2BIG: too many ports. */
int rs_bridge_describe(const struct rs_plant *p, uint32_t sw, struct rs_bridge_config *out,
		       struct rs_error *e);
/*
 * What software needs more than what is described: its peers obey a PAUSE when they are scheduled,
 * not in a cable's time. Each port's headroom becomes at least rs_bridge_headroom(), and the buffer
 * larger by as much: what classes share stays as it was. Once, when classes and rates are final.
 */
void rs_bridge_soften(struct rs_bridge_config *c);
/* For what comes after a PAUSE whose way to a peer in software takes so long, and as long back, in
 * frames of up to 64 KiB: bursts of TCP stay whole. */
uint64_t rs_bridge_headroom(int64_t rate, rs_time delay);
#define RS_BRIDGE_QUICK (100 * RS_US) /* a peer that is waiting for packets */
#define RS_BRIDGE_BUSY  (10 * RS_MS)  /* one that waits for a processor: rs_bridge_soften()'s */

/* -EINVAL, -ENOMEM; the sockets are closed then too. The arrays that c->sw.routes names are
 * borrowed. */
int rs_bridge_create(const struct rs_bridge_config *c, struct rs_bridge **out, struct rs_error *e);
void rs_bridge_destroy(struct rs_bridge *b);
/* Forwards until stop, a descriptor, can be read. Negative: an errno of waiting. */
int rs_bridge_run(struct rs_bridge *b, int stop);

/* Packets; one may count in several. */
struct rs_bridge_harmed {
	uint64_t dropped, corrupted, duplicated, reordered, delayed;
};

struct rs_bridge_port_report {
	struct rs_switch_port_counters c; /* of what goes to all ports each copy counts */
	struct rs_bridge_harmed harmed;
	uint64_t refused; /* frames that the kernel did not take for sending */
	/* Bytes that wait for the port, over the time since the last report that began anew */
	double mean_queue;
	uint64_t max_queue, median_queue, p99_queue;
};

struct rs_bridge_report {
	struct rs_switch_counters c;
	double seconds;     /* of the queues' figures */
	uint64_t no_room;   /* dropped: more frames wait than there is room for, however short */
	uint64_t unread;    /* dropped: no frame, or with a VLAN tag */
	uint64_t stamped;   /* with telemetry, as they left (wire/telemetry.h); each copy counts */
	uint64_t flooded;   /* to all ports: to many, or to an address not learned yet */
	uint64_t filtered;  /* to an address behind the port it came from; to bridges alone; to all,
			     * but not by the tree */
	uint32_t addresses; /* learned */
	struct rs_bridge_port_report port[RS_BRIDGE_PORTS_MAX];
};

/* anew: the queues' figures begin again from here. After 53 days they do by themselves. */
void rs_bridge_get_report(struct rs_bridge *b, struct rs_bridge_report *r, bool anew);

#endif
