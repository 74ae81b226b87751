/* Private to sim/: what congestion control is told about the fabric. */
#ifndef RS_SIM_RTT_H
#define RS_SIM_RTT_H

#include "sim/engine.h"

/* The fastest NIC's. */
int64_t rs_sim_nic_rate(const struct rs_fabric *f);

/* Bytes that a link of this rate carries in t. */
uint64_t rs_sim_bytes(int64_t rate, rs_time t);

/* The longest unloaded round trip between two NICs of the fabric: propagation and switches both
 * ways, a packet's serialization on each link one way. 0 when nothing is reached. */
rs_time rs_sim_longest_rtt(const struct rs_fabric *f, uint32_t packet_bytes, uint32_t ack_bytes);

/* cc_conf.c: the description names this parameter, in whatever spelling. */
bool sim_cc_given(const struct rs_cc_conf *c, const char *name);

/* Sets the algorithm's base_rtt to that, where it has one that matters and none is given. */
int rs_sim_base_rtt(struct rs_sim *s, struct rs_error *e);

#endif
