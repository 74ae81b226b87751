/* A switch of a described network as a bridge, and what software needs more. */
#include <errno.h>
#include "bridge/bridge.h"

uint64_t rs_bridge_headroom(int64_t rate, rs_time delay)
{
	return rs_pfc_headroom(rate, delay, UINT16_MAX, rs_pfc_response_quanta(rate));
}

static unsigned lossless_classes(const struct rs_switch_config *c)
{
	unsigned n = 0;

	for (unsigned t = 0; t < RS_CLASSES; t++)
		n += c->classes[t].lossless;
	return n;
}

/* The headroom comes out of the buffer: what is added to one is added to the other. */
void rs_bridge_soften(struct rs_bridge_config *c)
{
	for (unsigned i = 0; i < c->sw.n_ports; i++) {
		struct rs_switch_port *p = &c->sw_port[i];
		uint64_t least = rs_bridge_headroom(p->rate, RS_BRIDGE_BUSY);

		if (p->headroom >= least)
			continue;
		c->sw.buffer += lossless_classes(&c->sw) * (least - p->headroom);
		p->headroom = least;
	}
	if (c->sw.buffer > RS_SWITCH_BUFFER_MAX)
		c->sw.buffer = RS_SWITCH_BUFFER_MAX;
}

int rs_bridge_describe(const struct rs_plant *p, uint32_t sw, struct rs_bridge_config *out,
		       struct rs_error *e)
{
	const struct rs_fabric_switch *s = &p->f->switches[sw];

	if (s->n_ports < 2 || s->n_ports > RS_BRIDGE_PORTS_MAX)
		return rs_error_set(e, -E2BIG, "%s has %u ports; a switch in software has 2 to %d",
				    s->name, s->n_ports, RS_BRIDGE_PORTS_MAX);
	*out = (struct rs_bridge_config){.digest = rs_plant_digest(p)};
	rs_plant_switch(p, sw, out->sw_port, &out->sw);
	for (unsigned i = 0; i < s->n_ports; i++) {
		struct rs_plant_way w;

		rs_plant_port_way(p, sw, i, false, &w);
		out->port[i] = (struct rs_bridge_port_config){
			.fd = -1,
			.to_switch = w.to.is_switch,
			.floods = rs_plant_port_floods(p, sw, i),
			.peer = w.to.id,
			.peer_port = w.to.port,
		};
	}
	return 0;
}
