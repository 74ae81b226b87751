/*
 * From the description to the engine: what switches, ports, classes, NICs, queue pairs, links and
 * congestion control are given, made from struct rs_fabric and nothing else. The simulator, the
 * software switch and a library that drives one NIC ask here, so that one description means one
 * machine in all of them. Pure: no I/O, no clock; memory comes from an arena, before packets move.
 */
#ifndef RS_PLANT_PLANT_H
#define RS_PLANT_PLANT_H

#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/error.h"
#include "base/time.h"
#include "cc/cc.h"
#include "fabric/fabric.h"
#include "port/buffer.h"
#include "rdma/nic.h"
#include "switch/rise.h"
#include "switch/switch.h"
#include "uet/uet.h"

/* What a counterfactual takes away from the description; all false: as it is described. */
struct rs_plant_ideal {
	bool no_pause;    /* PFC off, switch and NIC buffers without end */
	bool no_drops;    /* what finds no room in a switch is held beyond its buffer */
	bool no_loss;     /* links lose nothing */
	bool no_cc;       /* senders at line rate, whatever `cc` says */
	bool placed;      /* packets say their path themselves (RS_ROUTE_PLACED) */
	bool host;        /* nothing inside a host slows it */
	bool host_limits; /* NICs begin and send messages at any rate */
};

/* A fabric made ready; everything in it is read only and lives in the arena. */
struct rs_plant {
	const struct rs_fabric *f;
	struct rs_plant_ideal ideal;
	uint64_t seed;
	int64_t nic_rate; /* the fastest NIC's, bits per second */
	uint32_t n_cc;    /* congestion control: rs_fabric_cc()'s numbers */
	const struct rs_cc_use *cc;
	bool stamps;          /* any of them reads telemetry */
	rs_time recovery_rtt; /* what may be in flight is taken from; 0: recovery is go-back-N */
	/* of Ultra Ethernet, 0 where nothing speaks it: the longest round trip, bytes of a full
	 * packet, and of one bandwidth-delay product in whole packets */
	rs_time uet_rtt;
	uint32_t uet_mtu;
	uint64_t uet_bdp;
	const uint32_t *port_first; /* [switch]: of its ports in port_link */
	const uint32_t *port_link;  /* [port]: its link, rs_plant_port_link() */
	const uint8_t *floods;      /* [link]: rs_plant_port_floods() */
};

/* f and a outlive the plant. ideal: NULL: none. -EINVAL where `cc` is wrong, with the place;
 * -ENOMEM. */
int rs_plant_create(const struct rs_fabric *f, const struct rs_plant_ideal *ideal, uint64_t seed,
		    struct rs_arena *a, struct rs_plant **out, struct rs_error *e);

/* ---- Links ---- */

/* One direction of a link. */
struct rs_plant_way {
	struct rs_link_end from, to;
	int64_t rate; /* bits per second */
	struct rs_pace pace;
	uint16_t gap;   /* bytes that a frame takes on the link beside itself */
	bool whole_ns;  /* serialization times are cut to whole nanoseconds (ns-3's preset) */
	rs_time delay;  /* propagation, and the pipeline of the switch at the far end */
	rs_time header; /* cut-through: time of the bytes that the far switch waits for; else 0 */
	uint64_t loss;  /* of a packet, in 2^-32 */
};

/* link: its number in the fabric; back: from b to a. */
void rs_plant_way(const struct rs_plant *p, uint32_t link, bool back, struct rs_plant_way *out);
/* The direction that leaves a switch by this port; its other one with `in`. */
void rs_plant_port_way(const struct rs_plant *p, uint32_t sw, uint32_t port, bool in,
		       struct rs_plant_way *out);
uint32_t rs_plant_port_link(const struct rs_plant *p, uint32_t sw, uint32_t port);
/* Bytes that a link of this rate carries in t. */
uint64_t rs_plant_bytes(int64_t rate, rs_time t);

/* ---- Switches ---- */

/*
 * All of a switch but what belongs to its owner: out->pool, free and dropped. ports: room for all
 * of the switch's, which out borrows, as it borrows the fabric's routes.
 */
void rs_plant_switch(const struct rs_plant *p, uint32_t sw, struct rs_switch_port *ports,
		     struct rs_switch_config *out);

/*
 * Whether what goes to all endpoints leaves the switch by this port: to its own endpoints, and to
 * other switches along a tree of all links that are up, the same for every switch.
 */
bool rs_plant_port_floods(const struct rs_plant *p, uint32_t sw, uint32_t port);
/* Of switches, endpoints and their links: equal where two programs have read one network. Rates and
 * classes are left out. */
uint64_t rs_plant_digest(const struct rs_plant *p);

/* ---- NICs ---- */

/*
 * All of an endpoint's NIC but what belongs to its owner: the sizes of its tables, who gives QPNs,
 * where packets come from, callbacks, copy_payload.
 */
void rs_plant_nic(const struct rs_plant *p, uint32_t endpoint, struct rs_nic_config *out);
/* DMA of this NIC crosses the inside of its host. */
bool rs_plant_inside(const struct rs_plant *p, uint32_t endpoint);

/*
 * All of an endpoint that speaks Ultra Ethernet but what belongs to its owner, as above. n_ends and
 * the rest of the tables' sizes are 0.
 */
void rs_plant_uet(const struct rs_plant *p, uint32_t endpoint, struct rs_uet_conf *out);

/* A NIC's port: PFC both ways, and its receive buffer. */
struct rs_plant_port {
	int64_t rate;
	rs_time response; /* to a PAUSE: frames are begun for so long after it came */
	struct rs_lfc_conf lfc;
	struct rs_port_buffer buffer; /* empty */
	uint8_t weight[RS_CLASSES];   /* port/ets.h */
};
void rs_plant_nic_port(const struct rs_plant *p, uint32_t endpoint, struct rs_plant_port *out);

/* What the model of a NIC with an inside says of messages; zeroes: no limit. The limits of a queue
 * pair are in rs_plant_nic(). */
struct rs_plant_messages {
	rs_time message_time;  /* between the beginnings of two messages */
	uint32_t inline_bytes; /* payload that a doorbell's own write may bring */
};
void rs_plant_messages(const struct rs_plant *p, uint32_t endpoint, struct rs_plant_messages *out);

/* What a queue pair of this class at an endpoint is given, but who its peer is, its UDP port and
 * its PSNs. */
void rs_plant_qp(const struct rs_plant *p, uint32_t endpoint, uint8_t tc, struct rs_qp_attr *out);
/* What it marks packets of a class with. */
uint8_t rs_plant_tos(const struct rs_plant *p, uint32_t endpoint, uint8_t tc);
/* What NICs mark ACKs with that have a class of their own (rs_qos.ack_apart). */
uint8_t rs_plant_ack_tos(const struct rs_plant *p);

/* rs_qp_init.cc of both ends of a flow, or of a job's connection (rs_fabric_cc_of()): the receiver
 * sends CNPs as the sender's algorithm wants them. A queue pair that is given none has its host's
 * or class's: rs_plant_nic(). */
uint8_t rs_plant_qp_cc(const struct rs_plant *p, const struct rs_job *j, const struct rs_flow *w,
		       uint32_t src, uint8_t tc);
/* Classes by hop of the description's qos; false: there are none. */
bool rs_plant_rise(const struct rs_plant *p, struct rs_rise *out);
/* How its queue pairs recover from loss. */
const struct rs_recovery *rs_plant_recovery(const struct rs_plant *p);
/* Do switches send packets of one queue pair different ways? */
bool rs_plant_paths_vary(const struct rs_fabric *f);

/* ---- Congestion control ---- */

/* The algorithm and its parameters that a `cc` asks for, in the arena; -EINVAL with the place where
 * it is wrong. A plant's own have base_rtt too. */
int rs_plant_cc(const struct rs_cc_conf *c, struct rs_arena *a, struct rs_cc_use *out,
		struct rs_error *e);
/* Every `cc` of f with every parameter that was not given, for rs_fabric_write(). */
int rs_plant_cc_fill(struct rs_fabric *f, struct rs_error *e);

/* The longest unloaded round trip between two NICs of the fabric: propagation and switches both
 * ways, a packet's serialization on each link one way. 0 when nothing is reached. */
rs_time rs_plant_longest_rtt(const struct rs_fabric *f, uint32_t packet_bytes, uint32_t ack_bytes);

#endif
