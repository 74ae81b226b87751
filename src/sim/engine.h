/*
 * Private to sim/: nodes (switches and hosts) joined by links. Each node runs alone for a window of
 * the least link delay; what can reach it in the window was sent before it. An arrival waits in its
 * link's FIFO; a node's queue holds links, not packets.
 */
#ifndef RS_SIM_ENGINE_H
#define RS_SIM_ENGINE_H

#include "base/random.h"
#include "rdma/nic.h"
#include "sim/sim.h"
#include "sim/tree.h"
#include "switch/switch.h"
#include "wire/pool.h"

struct rs_capture;
struct sim_host;

/* One direction of a link. */
struct sim_link {
	/* receiver's side */
	uint32_t head; /* packets on the wire, by arrival */
	uint32_t to_node, to_slot, to_port;
	/* sender's side */
	uint32_t tail;
	struct rs_pace pace;
	rs_time delay;  /* propagation, and the latency of the switch at the far end */
	rs_time header; /* cut-through: time of the bytes that a switch waits for; else 0 */
	rs_time busy_until;
	uint64_t loss; /* of 2^32 */
	struct rs_random random;
	uint64_t bytes;
	int capture; /* interface of the capture; -1 none */
	int64_t rate;
};

struct sim_node {
	struct rs_tree tree;
	uint32_t n_ports;
	struct sim_link *out;  /* [port] */
	struct sim_link **in;  /* [port] */
	struct rs_switch *sw;  /* a switch, or */
	struct sim_host *host; /* a host */
	struct rs_pool_list free;
	rs_time deadline; /* a switch's timers: not in the tree */
	/* counters */
	uint64_t events, data_hops, ack_hops, pfc_hops, losses;
};

/* Slots: a switch has arrival and tx a port. A host: see host.c. */
enum { SLOT_ARRIVAL, SLOT_TX, SLOTS_SWITCH_PORT };
enum { SLOT_DEADLINE = RS_TREE_SLOTS };

struct rs_sim {
	const struct rs_fabric *f;
	const struct rs_sim_options *o;
	struct rs_arena *arena;
	struct rs_pool pool;
	uint32_t n_nodes, n_hosts;
	struct sim_node *nodes; /* hosts first, then switches */
	rs_time window;
	rs_time now;         /* start of the present window */
	uint64_t unfinished; /* flows and lanes not at their end: read between windows only */
	struct rs_sim_result *r;
	const struct rs_cc_ops *cc;
	struct rs_cc_params *cc_params;
	struct rs_capture *capture;
	struct sim_workload *work;
};

/* Puts p on out[port] of n at `now`; the port must be free. */
void sim_transmit(struct rs_sim *s, struct sim_node *n, uint32_t port, struct rs_packet *p,
		  rs_time now);

/* host.c */
int sim_host_create(struct rs_sim *s, uint32_t host, struct rs_error *e);
void sim_host_destroy(struct sim_host *h);
void sim_host_event(struct rs_sim *s, struct sim_node *n, uint32_t slot, rs_time now);
uint32_t sim_host_slots(uint32_t n_endpoints);
uint32_t sim_host_arrival_slot(uint32_t port);
void sim_host_collect(struct rs_sim *s, struct sim_node *n);

/* workload.c: flows and collectives, as hosts carry them out. */
struct sim_workload;
int sim_workload_create(struct rs_sim *s, struct rs_error *e);
void sim_workload_collect(struct rs_sim *s);
double sim_workload_share(const struct rs_sim *s);

/* capture.c */
int rs_capture_open(struct rs_sim *s, struct rs_error *e);
void rs_capture_packet(struct rs_capture *c, int interface, const struct rs_packet *p, rs_time t);
int rs_capture_flush(struct rs_capture *c, struct rs_error *e);
int rs_capture_close(struct rs_capture *c, struct rs_error *e);

#endif
