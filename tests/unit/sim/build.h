/* A fabric by hand for tests: n plain hosts on one switch. */
#ifndef RS_TESTS_SIM_BUILD_H
#define RS_TESTS_SIM_BUILD_H

#include <stdlib.h>
#include <string.h>
#include "sim/sim.h"

struct hand {
	struct rs_fabric f;
	struct rs_job job;
	struct rs_flow flows[4096];
	uint32_t n_flows;
	uint32_t set, *sets, group_of_switch;
	uint16_t port, *ports, *locals;
};

static inline struct hand *hand_single(uint32_t n, int64_t rate, rs_time delay, uint16_t mtu)
{
	struct hand *h = calloc(1, sizeof(*h));
	struct rs_fabric *f = &h->f;

	f->arena = rs_arena_create(0);
	f->name = "by hand";
	f->n_hosts = f->n_endpoints = f->n_links = f->n_gpus = n;
	f->n_switches = 1;
	f->hosts = rs_arena_alloc(f->arena, n, sizeof(*f->hosts));
	f->endpoints = rs_arena_alloc(f->arena, n, sizeof(*f->endpoints));
	f->links = rs_arena_alloc(f->arena, n, sizeof(*f->links));
	f->switches = rs_arena_alloc(f->arena, 1, sizeof(*f->switches));
	f->switches[0] = (struct rs_fabric_switch){.name = "s0", .n_ports = (uint16_t)n};
	f->routes.group_of = rs_arena_alloc(f->arena, n, sizeof(uint32_t));
	f->routes.local_index = rs_arena_alloc(f->arena, n, sizeof(uint16_t));
	h->locals = rs_arena_alloc(f->arena, n, sizeof(uint16_t));
	h->sets = &h->set;
	h->ports = &h->port;
	f->routes.n_groups = 1;
	f->routes.group_of_switch = &h->group_of_switch;
	f->routes.set_of = &h->sets;
	f->routes.ports = &h->ports;
	f->routes.local_port = &h->locals;
	for (uint32_t i = 0; i < n; i++) {
		f->hosts[i] = (struct rs_fabric_host){
			rs_arena_printf(f->arena, "h%u", i), NULL, i, 1, i, 1, 0, 0};
		f->endpoints[i] = (struct rs_fabric_endpoint){.host = i,
							      .part = RS_NO_PART,
							      .link = i,
							      .rate = rate,
							      .name = f->hosts[i].name};
		f->links[i] = (struct rs_fabric_link){.a = {false, i, 0},
						      .b = {true, 0, (uint16_t)i},
						      .rate = rate,
						      .delay = delay};
		f->routes.local_index[i] = h->locals[i] = (uint16_t)i;
	}
	f->qos.tc[3] = (struct rs_qos_class){.lossless = true,
					     .ecn = true,
					     .kmin = 150000,
					     .kmax = 1500000,
					     .pmax = 1,
					     .weight = 1,
					     .dscp = 26,
					     .xon_offset = 18432};
	for (unsigned t = 0; t < RS_TCS; t++)
		if (t != 3)
			f->qos.tc[t] =
				(struct rs_qos_class){.weight = t != 6, .dscp = (uint8_t)(t * 8)};
	memset(f->qos.tc_of_dscp, 0, sizeof(f->qos.tc_of_dscp));
	f->qos.tc_of_dscp[26] = 3;
	f->qos.tc_of_dscp[48] = 6;
	f->qos.data_tc = 3;
	f->qos.cnp_tc = 6;
	f->qos.cnp_dscp = 48;
	f->qos.buffer = 64000000;
	f->qos.pfc = f->qos.ecn_on = true;
	f->qos.headroom_scale = 1;
	f->qos.max_frame = 4200;
	f->qos.pause_quanta = 65535;
	f->qos.pause_response = RS_PAUSE_RESPONSE_802_3;
	f->cc.kind = "none";
	f->transport = (struct rs_transport_conf){.mtu = mtu,
						  .timeout = 14,
						  .retry = 7,
						  .rnr_retry = 7,
						  .min_rnr_timer = 12,
						  .max_rd_atomic = 16,
						  .ack_every = 8};
	f->n_jobs = 1;
	f->jobs = &h->job;
	h->job = (struct rs_job){.kind = RS_JOB_FLOWS, .name = "flows", .flows = h->flows};
	return h;
}

static inline void hand_flow(struct hand *h, uint32_t src, uint32_t dst, uint64_t bytes,
			     rs_time start)
{
	h->flows[h->n_flows++] =
		(struct rs_flow){.start = start, .src = src, .dst = dst, .bytes = bytes, .tc = 3};
	h->job.n_flows = h->n_flows;
}

static inline void hand_free(struct hand *h)
{
	rs_arena_destroy(h->f.arena);
	free(h);
}

#endif
