/*
 * A switch in software: network interfaces as the ports of the very state machine that simulates
 * (src/switch): shared buffer, ECN marks, classes, PFC. Frames go by the addresses that it learns
 * (IEEE 802.1Q-2022 clause 8.7); each port sends at a rate of its own.
 */
#ifndef RS_BRIDGE_BRIDGE_H
#define RS_BRIDGE_BRIDGE_H

#include "base/error.h"
#include "switch/switch.h"

struct rs_bridge;

enum { RS_BRIDGE_PORTS_MAX = 64, RS_BRIDGE_MACS = 4096 };

struct rs_bridge_port_config {
	char name[16];
	int64_t rate;        /* bits per second of frames, preamble and gap */
	uint64_t kmin, kmax; /* where marking begins and is certain; 0: the class's */
	uint8_t mac[6];      /* of PFC frames */
	int fd;              /* of rs_raw_open(), or alike; the bridge closes it */
};

struct rs_bridge_config {
	unsigned n_ports;
	struct rs_bridge_port_config port[RS_BRIDGE_PORTS_MAX];
	struct rs_switch_class classes[RS_CLASSES];
	uint8_t tc_of_dscp[64];
	uint64_t buffer;
	uint64_t queue_step; /* of the queues' percentiles; bytes */
	uint64_t seed;
	int64_t (*clock_ns)(void); /* NULL: rs_clock_ns() */
};

/* -EINVAL, -ENOMEM; the sockets are closed then too. */
int rs_bridge_create(const struct rs_bridge_config *c, struct rs_bridge **out, struct rs_error *e);
void rs_bridge_destroy(struct rs_bridge *b);
/* Forwards until stop, a descriptor, can be read. Negative: an errno of waiting. */
int rs_bridge_run(struct rs_bridge *b, int stop);

struct rs_bridge_port_report {
	struct rs_switch_port_counters c; /* of what goes to all ports each copy counts */
	uint64_t refused;                 /* frames that the kernel did not take for sending */
	/* Bytes that wait for the port, over the time since the last report that began anew */
	double mean_queue;
	uint64_t max_queue, median_queue, p99_queue;
};

struct rs_bridge_report {
	struct rs_switch_counters c;
	double seconds;     /* of the queues' figures */
	uint64_t no_room;   /* dropped: more frames wait than there is room for, however short */
	uint64_t unread;    /* dropped: no frame, or with a VLAN tag */
	uint64_t flooded;   /* to all ports: to many, or to an address not learned yet */
	uint64_t filtered;  /* to an address behind the port it came from; to bridges alone */
	uint32_t addresses; /* learned */
	struct rs_bridge_port_report port[RS_BRIDGE_PORTS_MAX];
};

/* anew: the queues' figures begin again from here. After 53 days they do by themselves. */
void rs_bridge_get_report(struct rs_bridge *b, struct rs_bridge_report *r, bool anew);

#endif
