/* Links: what each direction of one is to who puts packets on it. */
#include <math.h>
#include "plant/rtt.h"

uint64_t rs_plant_bytes(int64_t rate, rs_time t)
{
	rs_assert(rate >= 0 && t >= 0);
	return (uint64_t)((rs_uint128)(uint64_t)rate * (uint64_t)t / 8 / RS_S);
}

void rs_plant_way(const struct rs_plant *p, uint32_t link, bool back, struct rs_plant_way *out)
{
	const struct rs_fabric *f = p->f;
	const struct rs_fabric_link *l = &f->links[link];
	const struct rs_link_end *to = back ? &l->a : &l->b;
	int64_t rate = rs_fabric_link_rate(l, back);
	const struct rs_qos *at;

	rs_assert(link < f->n_links && l->rate > 0);
	at = to->is_switch ? rs_fabric_qos(f, to->id) : &f->qos;
	*out = (struct rs_plant_way){
		.from = back ? l->b : l->a,
		.to = *to,
		.rate = rate,
		.pace = rs_pace_of(rate),
		.gap = rs_framings[f->transport.framing].gap,
		.whole_ns = f->transport.quirks.whole_ns,
		.delay = l->delay + (to->is_switch ? at->switch_latency : 0),
		.loss = p->ideal.no_loss ? 0 : (uint64_t)ldexp(l->loss, 32),
	};
	if (to->is_switch && at->cut_through)
		out->header = rs_pace_time(out->pace, PLANT_HEADER_BYTES);
}

uint32_t rs_plant_port_link(const struct rs_plant *p, uint32_t sw, uint32_t port)
{
	rs_assert(sw < p->f->n_switches && port < p->f->switches[sw].n_ports);
	return p->port_link[p->port_first[sw] + port];
}

void rs_plant_port_way(const struct rs_plant *p, uint32_t sw, uint32_t port, bool in,
		       struct rs_plant_way *out)
{
	uint32_t link = rs_plant_port_link(p, sw, port);
	const struct rs_link_end *a = &p->f->links[link].a;
	bool at_a = a->is_switch && a->id == sw && a->port == port;

	rs_plant_way(p, link, at_a == in, out);
}
