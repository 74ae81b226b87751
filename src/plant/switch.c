/* Switches: classes, ports with their headroom and thresholds, routes. */
#include <string.h>
#include "plant/rtt.h"
#include "wire/telemetry.h"

static void class_of(const struct rs_plant *p, const struct rs_qos *all, unsigned tc,
		     struct rs_switch_class *c)
{
	const struct rs_qos_class *q = &all->tc[tc];

	*c = (struct rs_switch_class){
		.lossless = q->lossless && all->pfc && !p->ideal.no_pause,
		.alpha_shift = q->alpha_shift,
		.reserve = q->reserved,
		.xon_offset = q->xon_offset,
		.egress_limit = p->ideal.no_pause ? 0 : q->egress_limit,
		.ecn = q->ecn && all->ecn_on,
		.kmin = q->kmin,
		.kmax = q->kmax,
		.pmax = (uint32_t)(q->pmax * 65536),
		.weight = q->weight,
	};
	plant_uet_class(p, all, tc, c);
}

/* The delay of what comes in has the pipeline that a packet passes before its admission. */
static uint64_t headroom(const struct rs_plant *p, const struct rs_qos *q,
			 const struct rs_plant_way *out, const struct rs_plant_way *in)
{
	rs_time delay = (out->delay + in->delay + 1) / 2;
	uint64_t bytes = rs_pfc_headroom(out->rate, delay, rs_fabric_max_frame(p->f, q),
					 rs_pfc_response_quanta(out->rate));

	if (q->quirks.headroom_delays)
		return 3 * rs_plant_bytes(out->rate, out->delay);
	return rs_pfc_headroom_cells((uint64_t)((double)bytes * q->headroom_scale), q->cell);
}

static void port_of(const struct rs_plant *p, uint32_t sw, uint32_t port,
		    struct rs_switch_port *out)
{
	const struct rs_qos *q = rs_fabric_qos(p->f, sw);
	const struct rs_qos_class *data = &q->tc[q->data_tc];
	struct rs_plant_way to, in;

	rs_plant_port_way(p, sw, port, false, &to);
	rs_plant_port_way(p, sw, port, true, &in);
	*out = (struct rs_switch_port){
		.rate = to.rate,
		.response = rs_fabric_pause_response(q, to.rate),
		.headroom = headroom(p, q, &to, &in),
	};
	for (int64_t r = p->nic_rate; q->quirks.alpha_by_rate && r <= to.rate / 2; r *= 2)
		out->alpha_add++;
	if (data->ecn_rate) {
		double scale = (double)to.rate / (double)data->ecn_rate;

		out->kmin = (uint64_t)((double)data->kmin * scale);
		out->kmax = (uint64_t)((double)data->kmax * scale);
	}
	plant_uet_port(p, q, sw, port, out);
}

static enum rs_routing routing(const struct rs_plant *p, const struct rs_qos *q)
{
	static const enum rs_routing policy[] = {
		[RS_FABRIC_ECMP] = RS_ROUTE_ECMP,
		[RS_FABRIC_SPRAY] = RS_ROUTE_SPRAY,
		[RS_FABRIC_ADAPTIVE] = RS_ROUTE_ADAPTIVE,
		[RS_FABRIC_FLOWLET] = RS_ROUTE_FLOWLET,
		[RS_FABRIC_ROUND_ROBIN] = RS_ROUTE_ROUND_ROBIN,
	};
	bool other = q->hash != RS_FABRIC_HASH_MIX || q->hash_fields != RS_FABRIC_HASH_FIELDS;

	if (p->ideal.placed)
		return RS_ROUTE_PLACED;
	return q->routing == RS_FABRIC_ECMP && other ? RS_ROUTE_HASHED : policy[q->routing];
}

static struct rs_hashing hashing(const struct rs_qos *q)
{
	static const enum rs_hash_function function[] = {
		[RS_FABRIC_HASH_MIX] = RS_HASH_MIX,
		[RS_FABRIC_HASH_CRC32] = RS_HASH_CRC32,
		[RS_FABRIC_HASH_XOR] = RS_HASH_XOR,
		[RS_FABRIC_HASH_RANDOM] = RS_HASH_RANDOM,
	};

	return (struct rs_hashing){
		.function = (uint8_t)function[q->hash],
		.fields = q->hash_fields,
		.same_seed = q->hash_same,
	};
}

static struct rs_adaptive adaptive(const struct rs_qos *q)
{
	struct rs_adaptive a = {
		.sample = q->ar_sample,
		.n_grades = q->n_ar,
		.sticky = q->ar_sticky,
	};

	memcpy(a.grade, q->ar, sizeof(a.grade));
	return a;
}

static struct rs_switch_routes routes(const struct rs_fabric *f, uint32_t sw)
{
	const struct rs_routes *r = &f->routes;

	return (struct rs_switch_routes){
		.group_of = r->group_of,
		.n_endpoints = f->n_endpoints,
		.set_of = r->set_of[sw],
		.ports = r->ports[sw],
		.my_group = r->group_of_switch[sw],
		.local_port = r->local_port[sw],
		.local_index = r->local_index,
	};
}

bool rs_plant_rise(const struct rs_plant *p, struct rs_rise *out)
{
	const struct rs_qos *q = &p->f->qos;
	uint8_t dscp[RS_CLASSES];

	for (unsigned c = 0; c < RS_CLASSES; c++)
		dscp[c] = q->tc[c].dscp;
	*out = rs_rise_of(q->hop_tc, q->n_hop_tcs, dscp);
	return q->n_hop_tcs != 0;
}

void rs_plant_switch(const struct rs_plant *p, uint32_t sw, struct rs_switch_port *ports,
		     struct rs_switch_config *out)
{
	const struct rs_fabric *f = p->f;
	const struct rs_qos *q;

	rs_assert(sw < f->n_switches && ports);
	q = rs_fabric_qos(f, sw);
	*out = (struct rs_switch_config){
		.id = sw,
		.seed = p->seed,
		.n_ports = f->switches[sw].n_ports,
		.ports = ports,
		.buffer = p->ideal.no_pause || !q->buffer ? RS_SWITCH_BUFFER_MAX : q->buffer,
		.cell = q->cell,
		.pause_quanta = q->pause_quanta,
		.quirks = q->quirks,
		.pfc_frame = rs_framings[f->transport.framing].pfc,
		.int_scale = p->stamps ? rs_int_scale(p->nic_rate) : 0,
		.pfc_watchdog = q->watchdog,
		.mark_at_dequeue = q->mark_at_dequeue,
		.endless = p->ideal.no_drops,
		.limit_tc = q->data_tc,
		.routing = routing(p, q),
		.hashing = hashing(q),
		.adaptive = adaptive(q),
		.flowlet_gap = q->flowlet_gap,
		.flowlet_random = q->flowlet_random,
		.routes = routes(f, sw),
	};
	for (uint32_t i = 0; i < out->n_ports; i++)
		port_of(p, sw, i, &ports[i]);
	for (unsigned t = 0; t < RS_TCS; t++)
		class_of(p, q, t, &out->classes[t]);
	memcpy(out->tc_of_dscp, q->tc_of_dscp, sizeof(out->tc_of_dscp));
}
