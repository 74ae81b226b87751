/* Private to describe/: the steps of a load, in order. Each leaves its error in l. */
#ifndef RS_DESCRIBE_LOAD_H
#define RS_DESCRIBE_LOAD_H

#include "base/names.h"
#include "fabric/build.h"
#include "host/build.h"
#include "text/tree.h"

void load_hosts(struct rs_load *l, struct rs_fabric *f, const struct rs_node *fabric);
void load_host_model(struct rs_load *l, struct rs_fabric *f, const struct rs_node *n);
void load_network(struct rs_load *l, struct rs_fabric *f, const struct rs_node *fabric);
/* What happens to links while the network runs; after it is routed. */
void load_events(struct rs_load *l, struct rs_fabric *f, const struct rs_node *fabric);
/* Changes of single links and switches, before routes are made; of switches' QoS, after it is read.
 */
void change_network(struct rs_load *l, struct rs_fabric *f, const struct rs_node *list);
void change_qos(struct rs_load *l, struct rs_fabric *f, const struct rs_node *list);
/* What n changes of base, for one switch or tier. */
struct rs_qos *load_own_qos(struct rs_load *l, const struct rs_qos *base, const char *what,
			    const struct rs_node *n);
void load_qos(struct rs_load *l, struct rs_fabric *f, const struct rs_node *n);
/* After all that says what links carry: NICs' buffers and pauses against 802.1Q's times. */
void check_pauses(struct rs_load *l, struct rs_fabric *f, const struct rs_node *qos);
void load_cc(struct rs_load *l, struct rs_fabric *f, const struct rs_node *n);
/* The `cc` of a class, host, job or flow, n: 0: it has none; i: f->ccs[i - 1]. */
uint8_t load_own_cc(struct rs_load *l, struct rs_fabric *f, const struct rs_node *n);
/* uet.c: transport.kind and transport.uet; qos.trim and what is beside it; as text again. */
void load_uet(struct rs_load *l, struct rs_fabric *f, const struct rs_node *transport);
void load_trimming(struct rs_load *l, struct rs_qos *q, const struct rs_node *n);
uint8_t load_own_transport(struct rs_load *l, const struct rs_node *n);
void write_uet(FILE *out, const struct rs_transport_conf *t);
void write_trimming(FILE *out, const char *in, const struct rs_qos *q);
extern const char *const transport_names[];
extern const char *const rc_balances[]; /* by rs_transport_conf.balance */
/* Of fabric.qos.routing and fabric.transport.recovery. */
extern const char *const routing_names[], *const recoveries[];
void load_transport(struct rs_load *l, struct rs_fabric *f, const struct rs_node *n);
void load_workload(struct rs_load *l, struct rs_fabric *f, const struct rs_node *n);
/* Jobs of workload.c and work.c; of: the job that n is in. */
void load_collective(struct rs_load *l, struct rs_fabric *f, struct rs_collective_conf *c,
		     const struct rs_node *of, const struct rs_node *n);
void load_trace(struct rs_load *l, struct rs_fabric *f, struct rs_job *job,
		const struct rs_node *of, const struct rs_node *n);
void load_serve(struct rs_load *l, struct rs_fabric *f, struct rs_job *job,
		const struct rs_node *of, const struct rs_node *n);
/* Given paths: what they are looked up in, made once a load; a list of nodes for one flow; a CSV
 * for a job's flows. ack: the paths are those of the ACKs. */
struct paths;
struct paths *paths_open(struct rs_load *l, struct rs_fabric *f);
void paths_list(struct paths *p, struct rs_flow *flow, const struct rs_node *list, bool ack);
void paths_csv(struct paths *p, struct rs_job *job, const struct rs_node *n, bool ack);
/* drawn.c: flows at a load, each given to add() with the place of n. */
struct flow_sink {
	void (*endpoint)(void *arg, const char *s, const char *what, struct rs_where at,
			 uint32_t *out);
	void (*add)(void *arg, const struct rs_flow *flow, struct rs_where at);
	void *arg;
};
void draw_flows(struct rs_load *l, struct rs_fabric *f, const struct rs_node *n,
		const struct flow_sink *to);
/* Where a job's ranks are, as far as it is said. */
void place_read(struct rs_load *l, struct rs_fabric *f, const struct rs_node *job,
		const struct rs_node *n, struct rs_collective_conf *c);
/* What a switch chooses paths by; and the same, written. */
void load_routing(struct rs_load *l, struct rs_qos *q, const struct rs_node *n);
void write_routing(FILE *out, const char *in, const struct rs_qos *q);
void load_observe(struct rs_load *l, struct rs_fabric *f, const struct rs_node *n);
void load_whatifs(struct rs_load *l, struct rs_fabric *f, const struct rs_node *n);
/* The inside of a host being put together. */
struct rs_host *host_written(struct rs_load *l, const struct rs_node *group);
void host_overlay(struct rs_load *l, struct rs_host *h, const struct rs_node *n);
void host_change(struct rs_load *l, struct rs_host *h, const struct rs_node *n);

/* Host groups' keys, network kinds, jobs: names in the order of the enums. */
extern const char *const network_kinds[],
	*const place_names[], *const tier_names[],
				      *const coll_ops[], *const coll_algorithms[],
								 *const nccl_nets[],
									 *const schedules[],
										 *const contexts[];

#endif
