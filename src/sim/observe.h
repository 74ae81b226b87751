/* Private to sim/: watching a run (observe.c). Everything but create, collect and destroy is a
 * node's own. */
#ifndef RS_SIM_OBSERVE_H
#define RS_SIM_OBSERVE_H

#include "sim/engine.h"
#include "sim/series.h"
#include "sim/transport.h"

/* After hosts, links and connections are made; nothing unless options.observe.on. -ENOMEM. */
int sim_watch_create(struct rs_sim *s, struct rs_error *e);
/* sim_node_run() that closes the bins which end before `end`; after it, the same bins of the part's
 * nodes to which nothing happens in the window. */
uint64_t sim_watch_run(struct rs_sim *s, struct sim_node *n, rs_time end);
void sim_watch_window(struct rs_sim *s, struct sim_part *p, rs_time end);
/* Is the packet's way timed? */
static inline bool sim_watch_timed(const struct rs_sim *s, const struct rs_packet *p)
{
	return !(p->psn & s->untimed) && p->payload_bytes;
}
/* p, not PFC, leaves a switch by a port of which each packet is kept; a packet that is timed
 * arrived at its NIC; a bar of the timeline. */
void sim_watch_sent(struct sim_node *n, uint32_t port, const struct rs_packet *p);
/* p leaves a NIC, and is of a class that its link does not count (main_tc, cnp_tc). */
void sim_watch_apart(struct sim_node *n, uint32_t port, const struct rs_packet *p);
void sim_watch_arrived(struct rs_sim *s, struct sim_node *n, struct rs_packet *p, rs_time now);
void sim_watch_span(struct sim_node *n, const struct rs_series_span *span);
/* A packet that the port's link lost. */
void sim_watch_lost(struct sim_node *n, uint32_t port);
/* The most that ever waited in one class's queue, but for the open bin; 0: not watched. */
uint64_t sim_watch_peak(const struct sim_node *n, uint32_t port);
/* All nodes' series become the result's. -ENOMEM. */
int sim_watch_collect(struct rs_sim *s);
void sim_watch_destroy(struct rs_sim *s);

/* ---- What workload.c tells of connections over the network ---- */

struct sim_conn_who {
	uint32_t job, index, src, dst, host;
	bool flow;
	uint8_t n_qps;
	uint16_t sport;
	uint32_t dst_qpn, way; /* of its first queue pair: where its packets go; way: placement's */
};
uint32_t sim_conns(const struct rs_sim *s);
/* false: it does not cross the network. */
bool sim_conn_who(const struct rs_sim *s, uint32_t conn, struct sim_conn_who *out);
/* Its messages become bars of the timeline, under this number. -ENOMEM. */
int sim_conn_follow(struct rs_sim *s, uint32_t conn, uint32_t number);
/* The sender's half, as it is: rate and window of its first end, the rest of all; false: not open.
 */
bool sim_conn_look(struct rs_sim *s, uint32_t conn, struct rs_sim_end_now *out);

#endif
