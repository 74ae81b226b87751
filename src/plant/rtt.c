/* The longest unloaded round trip of a fabric, along the first of equal-cost paths: the T of HPCC
 * (SIGCOMM 2019, §3.2), and what a window of one bandwidth-delay product is taken from. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "plant/rtt.h"
#include "wire/telemetry.h"

struct hop {
	uint32_t to; /* switch */
	rs_time there_and_back, serial;
};

struct network {
	const struct rs_fabric *f;
	uint32_t *first; /* [switch]: of its ports in hop[] */
	struct hop *hop;
	uint32_t *edge; /* [group]: its switch */
	rs_time *host;  /* [group]: the slowest of its NICs' links, as a part of the round trip */
	uint32_t data, ack;
};

static struct hop hop_of(const struct network *w, const struct rs_fabric_link *l)
{
	struct rs_pace p = rs_pace_of(l->rate);
	rs_time serial = rs_pace_time(p, w->data) + rs_pace_time(p, w->ack);

	if (w->f->transport.quirks.whole_ns)
		serial -= serial % RS_NS;
	return (struct hop){.there_and_back = 2 * l->delay, .serial = serial};
}

static void fill(struct network *w)
{
	const struct rs_fabric *f = w->f;

	for (uint32_t i = 0, at = 0; i < f->n_switches; at += f->switches[i++].n_ports)
		w->first[i] = at;
	for (uint32_t i = 0; i < f->n_links; i++) {
		const struct rs_fabric_link *l = &f->links[i];
		struct hop h = hop_of(w, l);

		if (!l->a.is_switch) {
			uint32_t g = f->routes.group_of[l->a.id];

			w->host[g] = rs_time_max(w->host[g], h.there_and_back + h.serial);
			w->edge[g] = l->b.id;
			continue;
		}
		h.to = l->b.id;
		w->hop[w->first[l->a.id] + l->a.port] = h;
		h.to = l->a.id;
		w->hop[w->first[l->b.id] + l->b.port] = h;
	}
}

/* Of the links between two edge switches, and the switches passed, both ends included; RS_NEVER
 * where there is no way. */
static rs_time between(const struct network *w, uint32_t from, uint32_t to)
{
	const struct rs_routes *r = &w->f->routes;
	uint32_t s = w->edge[from];
	rs_time t = 2 * rs_fabric_qos(w->f, s)->switch_latency;

	for (uint32_t n = 0; s != w->edge[to]; n++) {
		uint32_t set = r->set_of[s][to];
		const struct hop *h;

		if (!(set & 0xff) || n > w->f->n_switches)
			return RS_NEVER;
		h = &w->hop[w->first[s] + r->ports[s][set >> 8]];
		s = h->to;
		t += h->there_and_back + h->serial + 2 * rs_fabric_qos(w->f, s)->switch_latency;
	}
	return t;
}

static rs_time longest(const struct network *w)
{
	rs_time most = 0;

	for (uint32_t a = 0; a < w->f->routes.n_groups; a++)
		for (uint32_t b = a; b < w->f->routes.n_groups; b++) {
			rs_time t = between(w, a, b);

			if (t != RS_NEVER)
				most = rs_time_max(most, t + w->host[a] + w->host[b]);
		}
	return most;
}

rs_time rs_plant_longest_rtt(const struct rs_fabric *f, uint32_t packet_bytes, uint32_t ack_bytes)
{
	struct network w = {.f = f, .data = packet_bytes, .ack = ack_bytes};
	uint32_t ports = 0, groups = f->routes.n_groups;
	rs_time t = 0;

	for (uint32_t i = 0; i < f->n_switches; i++)
		ports += f->switches[i].n_ports;
	w.first = calloc(f->n_switches + 1u, sizeof(*w.first));
	w.hop = calloc(ports + 1u, sizeof(*w.hop));
	w.edge = calloc(groups + 1u, sizeof(*w.edge));
	w.host = calloc(groups + 1u, sizeof(*w.host));
	if (w.first && w.hop && w.edge && w.host) {
		fill(&w);
		t = longest(&w);
	}
	free(w.first);
	free(w.hop);
	free(w.edge);
	free(w.host);
	return t;
}

/* Bytes on a link of a full packet and its ACK; without headers where framing is not RoCEv2's. */
static void link_bytes(const struct rs_transport_conf *t, uint16_t stamps, uint32_t *data,
		       uint32_t *ack)
{
	const struct rs_framing *g = &rs_framings[t->framing];
	uint32_t payload = t->payload ? t->payload : t->mtu;

	*data = payload;
	*ack = 0;
	if (t->framing != RS_FABRIC_ROCEV2)
		return;
	*data = rs_framing_data(g, RS_OP_WRITE_MIDDLE, payload, t->ipv6, stamps) + g->gap;
	*ack = rs_framing_ack(g, t->ipv6, stamps) + g->gap;
}

int plant_base_rtt(const struct rs_plant *p, const struct rs_cc_conf *c, struct rs_cc_use *use,
		   struct rs_error *e)
{
	const struct rs_transport_conf *t = &p->f->transport;
	uint32_t data, ack;
	const struct rs_cc_param *rtt = use->ops->params;
	uint16_t stamps = use->ops->needs & RS_CC_NEEDS_STAMPS ? RS_INT_BYTES : 0;
	struct rs_cc_params *params = (struct rs_cc_params *)(uintptr_t)use->params; /* ours */
	char text[32];

	/* an algorithm that may do without it uses it with a window alone */
	while (rtt->name && strcmp(rtt->name, "base_rtt"))
		rtt++;
	if (!rtt->name || plant_cc_given(c, "base_rtt") ||
	    !(rtt->min > 0 || plant_cc_given(c, "window")))
		return 0;
	link_bytes(t, stamps, &data, &ack);
	snprintf(text, sizeof(text), "%lldps", (long long)rs_plant_longest_rtt(p->f, data, ack));
	return rs_cc_params_set(use->ops, params, "base_rtt", text, e);
}

rs_time plant_recovery_rtt(const struct rs_plant *p)
{
	const struct rs_transport_conf *t = &p->f->transport;
	uint16_t stamps = p->stamps ? RS_INT_BYTES : 0;
	uint32_t data, ack;

	if (t->recovery != RS_FABRIC_SELECTIVE)
		return 0;
	link_bytes(t, stamps, &data, &ack);
	/* of two NICs with nothing between them that the routes know */
	return rs_time_max(rs_plant_longest_rtt(p->f, data, ack), RS_US);
}
