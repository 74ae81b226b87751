/*
 * Building a fabric by calls, as the reader of descriptions does (describe/) and as a program may:
 *
 *	struct rs_load l;
 *	struct rs_fabric *f = rs_fabric_create(&l, "mine", RS_PRESET_NONE, &error);
 *	struct rs_network_conf net = {.k = 4};
 *
 *	rs_fabric_network(&l, f, RS_NET_FAT_TREE, &net, 0);
 *	f->qos.tc[3].kmin = 100000;
 *	rs_fabric_route(&l, f);
 *	job = rs_fabric_add_job(&l, f, RS_JOB_FLOWS, NULL, nowhere);
 *	rs_fabric_set_flows(&l, f, job, flows, 2);
 *	err = rs_fabric_finish(&l, f);
 *
 * Steps go in the order of this file. Each leaves its first error in the load, and later steps do
 * nothing. `at` is a place in a file for messages, {0} where there is none. All memory is the
 * fabric's arena's. What a caller sets in the struct itself is checked by rs_fabric_finish().
 */
#ifndef RS_FABRIC_BUILD_H
#define RS_FABRIC_BUILD_H

#include "base/load.h"
#include "fabric/fabric.h"

enum {
	RS_HOSTS_MAX = 1 << 20,
	RS_SWITCHES_MAX = 1 << 16,
	RS_LINKS_MAX = 1 << 22,
	RS_SWITCH_PORTS_MAX = 1024,
	RS_LEAVES_MAX = 1 << 15,
	RS_NICS_MAX = 64,      /* of a plain host */
	RS_FAT_TREE_MAX = 128, /* k */
	RS_JOBS_MAX = 1024,
	RS_CHANNELS_MAX = 64,
	RS_NIC_BUFFER = 1 << 20, /* bytes; the default, which grows with the links */
};
#define RS_FLOW_BYTES_MAX ((int64_t)1 << 46)
#define RS_START_MAX      (4000 * RS_S)

/* An empty fabric in an arena of its own, with the defaults of the preset. NULL: no memory, in e.
 */
struct rs_fabric *rs_fabric_create(struct rs_load *l, const char *name,
				   enum rs_fabric_preset preset, struct rs_error *e);
/* All hosts speak Ultra Ethernet, and switches' classes are as it wants them. */
void rs_fabric_uet_defaults(struct rs_fabric *f);
/* Classes, buffers, transport, congestion control and the host model as f->preset has them. */
void rs_fabric_defaults(struct rs_fabric *f);
/* DCQCN, as f->preset has it. */
struct rs_cc_conf rs_fabric_cc_default(const struct rs_fabric *f);
/* One that a class, host, job or flow may have as its own `cc`: the number to put there; the same
 * one twice has one number. -E2BIG beyond RS_OWN_CCS_MAX. */
uint8_t rs_fabric_add_cc(struct rs_load *l, struct rs_fabric *f, const struct rs_cc_conf *c);
/* Each class's own DSCP leads to it, all others to class 0. */
void rs_qos_map_dscp(struct rs_qos *q);

/* ---- Hosts ---- */

/* Hosts named prefix and a number from first on, all with this inside (host/build.h), which is
 * shared, not copied. */
void rs_fabric_add_hosts(struct rs_load *l, struct rs_fabric *f, const char *prefix, uint32_t first,
			 uint32_t count, const struct rs_host *inside, struct rs_where at);
/* After the last: endpoints and GPUs. */
void rs_fabric_close_hosts(struct rs_load *l, struct rs_fabric *f, struct rs_where at);
/* Instead: hosts with nothing inside, f->net.nics NICs and as many GPUs each. names: an entry a
 * host, no two alike; NULL: h0, h1, ... */
void rs_fabric_plain_hosts(struct rs_load *l, struct rs_fabric *f, uint64_t count,
			   const char *const *names, struct rs_where at);
/* Plain hosts that f's fat tree or leaf-spine network has room for; 0: as many as one likes. */
uint64_t rs_fabric_capacity(const struct rs_fabric *f);

/* ---- The network ---- */

/*
 * A generated network in one step: what is 0 in c is the default or follows from the rest, as
 * docs/fabric.md says of each key; leaf-spine needs leaves and spines, a fat tree k. Without hosts
 * plain ones are made: c->plain_hosts, or as many as there is room for. oversubscription: of a
 * leaf-spine or rail network's leaves at most; 0: 1.
 */
void rs_fabric_network(struct rs_load *l, struct rs_fabric *f, enum rs_network_kind kind,
		       const struct rs_network_conf *c, double oversubscription);

/* Or drawn, RS_NET_EXPLICIT: room first, then switches, then links, whose ports are numbered as
 * they are made. */
void rs_fabric_draw(struct rs_load *l, struct rs_fabric *f, uint32_t n_switches, uint64_t n_links,
		    struct rs_where at);
/* The name is borrowed. Returns its number. */
uint32_t rs_fabric_add_switch(struct rs_load *l, struct rs_fabric *f, const char *name,
			      uint8_t tier, struct rs_where at);
/* Between two switches, or an endpoint and a switch; ports of k's ends are given here. Its rate is
 * the slower one of k's and the NIC's. */
void rs_fabric_add_link(struct rs_load *l, struct rs_fabric *f, const struct rs_fabric_link *k,
			struct rs_where at);
/* Each endpoint has its link. */
void rs_fabric_close_links(struct rs_load *l, struct rs_fabric *f, struct rs_where at);

/* The parts of rs_fabric_network(), for a reader that knows where each figure stands. */
void rs_network_defaults(struct rs_network_conf *c);
struct rs_clos_given {
	double oversubscription;       /* of a leaf at most; 1 */
	bool ports, spines;            /* in f->net: said */
	struct rs_where at;            /* of the network */
	struct rs_where leaves, rails; /* of these keys */
};
/* What follows for leaves, spines and links of a pair, in f->net; then, links perhaps changed, what
 * cannot be built is refused. */
void rs_clos_shape(struct rs_load *l, struct rs_fabric *f, const struct rs_clos_given *g);
void rs_clos_close(struct rs_load *l, struct rs_fabric *f, const struct rs_clos_given *g);
/* Switches and links of f->kind by f->net. */
void rs_fabric_generate(struct rs_load *l, struct rs_fabric *f, struct rs_where at);

/* Links' `down` may be set now, and their rate, delay and loss. This counts them, and refuses a
 * network that they cut in two. */
void rs_fabric_close_changes(struct rs_load *l, struct rs_fabric *f, struct rs_where at);
void rs_fabric_route(struct rs_load *l, struct rs_fabric *f);

/* ---- Events ---- */

enum { RS_EVENTS_MAX = 4096 }; /* occurrences */
/* Room for n events and their texts, whose `detect` and `converge` are the defaults. */
void rs_fabric_events(struct rs_load *l, struct rs_fabric *f, uint32_t n_texts, uint32_t n,
		      struct rs_where at);

/* ---- Classes ---- */

/* Where a reader found what is checked; all {0} without one. */
struct rs_pause_places {
	struct rs_where nic_buffer, pause_response, pause_quanta;
};
/* NICs' buffers and pauses against 802.1Q's times. sized: nic_buffer is said, and not to grow with
 * the links. */
void rs_fabric_check_pauses(struct rs_load *l, struct rs_fabric *f, bool sized,
			    const struct rs_pause_places *all,
			    const struct rs_pause_places tier[RS_TIERS]);

/* ---- The workload ---- */

/* Borrowed until the next one is added. name NULL: its kind, with a number where that is taken. */
struct rs_job *rs_fabric_add_job(struct rs_load *l, struct rs_fabric *f, enum rs_job_kind kind,
				 const char *name, struct rs_where at);
/* Its ends, and that there is a route. */
void rs_fabric_check_flow(struct rs_load *l, const struct rs_fabric *f, const struct rs_flow *flow,
			  struct rs_where at);
/* A copy of n flows, each checked. */
void rs_fabric_set_flows(struct rs_load *l, struct rs_fabric *f, struct rs_job *job,
			 const struct rs_flow *flows, uint32_t n);
void rs_collective_defaults(struct rs_collective_conf *c, const struct rs_fabric *f);
void rs_train_defaults(struct rs_train_conf *t, const struct rs_fabric *f);
/* After the last: ranks are placed, channels counted. */
void rs_fabric_close_jobs(struct rs_load *l, struct rs_fabric *f);

/* ---- The end ---- */

/* All that was not checked on the way, for a caller without a reader: figures in their ranges,
 * pauses, jobs. The load's error; the fabric is the caller's to free either way. */
int rs_fabric_finish(struct rs_load *l, struct rs_fabric *f);

#endif
