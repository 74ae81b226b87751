/*
 * The longest unloaded round trip of a fabric: the T of HPCC (SIGCOMM 2019, §3.2), and what a
 * window of one bandwidth-delay product is taken from. Of equal-cost paths it is the slowest, since
 * packets may take any. An ACK's paths are those of its data, turned round.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "plant/rtt.h"
#include "wire/telemetry.h"

/* A link from a switch: data until they are admitted at the next one, the ACK that comes back. */
struct hop {
	uint32_t to; /* switch */
	rs_time data, ack;
};

/* From a switch to the one that is looked for: the slowest path of the data, and of the ACK. */
struct way {
	rs_time data, ack;
	uint32_t seen; /* ports of the set */
	bool there;    /* one of them leads there */
	enum { WAY_UNKNOWN, WAY_UNDER_WAY, WAY_KNOWN } state;
};

/* The slowest of an edge switch's NICs, and the slowest of the others; -1: there is none. */
struct slowest {
	rs_time first, second;
	uint32_t who; /* the first */
};

struct network {
	const struct rs_fabric *f;
	uint32_t *first; /* [switch]: of its ports in hop[] */
	struct hop *hop;
	int64_t *fastest;         /* [switch]: of the links that leave it */
	uint32_t *edge;           /* [group]: its switch */
	struct slowest *out, *in; /* [group]: data from its NICs, data to them; with their ACKs */
	struct way *way;          /* [switch] */
	uint32_t *stack;          /* of switches, each once at most */
	uint32_t data, ack;       /* bytes */
	bool alike;               /* links between switches are: any path of a set stands for all */
};

/* Where a packet is admitted at a switch, or there whole at a NIC. A switch that cuts through waits
 * for the head alone, if none of its links is faster. */
static rs_time pass(const struct network *w, const struct rs_fabric_link *l, bool back,
		    uint32_t bytes)
{
	const struct rs_link_end *to = back ? &l->a : &l->b;
	const struct rs_qos *q = to->is_switch ? rs_fabric_qos(w->f, to->id) : NULL;
	int64_t rate = rs_fabric_link_rate(l, back);
	rs_time t;

	if (q && q->cut_through && w->fastest[to->id] <= rate && bytes > PLANT_HEADER_BYTES)
		bytes = PLANT_HEADER_BYTES;
	t = rs_pace_time(rs_pace_of(rate), bytes);
	if (w->f->transport.quirks.whole_ns)
		t -= t % RS_NS;
	return l->delay + t + (q ? q->switch_latency : 0);
}

static struct hop hop_of(const struct network *w, const struct rs_fabric_link *l, bool back)
{
	return (struct hop){
		.to = back ? l->a.id : l->b.id,
		.data = pass(w, l, back, w->data),
		.ack = pass(w, l, !back, w->ack),
	};
}

static void add_nic(struct slowest *s, uint32_t endpoint, rs_time t)
{
	if (t > s->first) {
		s->second = s->first;
		s->first = t;
		s->who = endpoint;
	} else if (t > s->second) {
		s->second = t;
	}
}

static void add_link(struct network *w, const struct rs_fabric_link *l)
{
	struct hop there = hop_of(w, l, false), back = hop_of(w, l, true);

	if (l->a.is_switch) {
		w->hop[w->first[l->a.id] + l->a.port] = there;
		w->hop[w->first[l->b.id] + l->b.port] = back;
	} else if (!l->down) {
		uint32_t g = w->f->routes.group_of[l->a.id];

		add_nic(&w->out[g], l->a.id, there.data + there.ack);
		add_nic(&w->in[g], l->a.id, back.data + back.ack);
	}
}

/* Each way of each link between switches takes the same. */
static bool alike(const struct network *w)
{
	const struct hop *one = NULL;

	for (uint32_t i = 0; i < w->f->n_links; i++) {
		const struct rs_fabric_link *l = &w->f->links[i];
		const struct hop *a, *b;

		if (!l->a.is_switch || l->down)
			continue;
		a = &w->hop[w->first[l->a.id] + l->a.port];
		b = &w->hop[w->first[l->b.id] + l->b.port];
		one = one ? one : a;
		if (a->data != one->data || a->ack != one->ack || b->data != one->data ||
		    b->ack != one->ack)
			return false;
	}
	return true;
}

static void fill(struct network *w)
{
	const struct rs_fabric *f = w->f;

	for (uint32_t i = 0, at = 0; i < f->n_switches; at += f->switches[i++].n_ports)
		w->first[i] = at;
	for (uint32_t g = 0; g < f->routes.n_groups; g++)
		w->out[g] = w->in[g] = (struct slowest){-1, -1, 0};
	for (uint32_t i = 0; i < f->n_endpoints; i++)
		w->edge[f->routes.group_of[i]] = f->endpoints[i].node;
	for (uint32_t i = 0; i < f->n_links; i++) {
		const struct rs_fabric_link *l = &f->links[i];

		for (unsigned back = 0; back < 2; back++) {
			const struct rs_link_end *from = back ? &l->b : &l->a;
			int64_t rate = rs_fabric_link_rate(l, back);

			if (from->is_switch && rate > w->fastest[from->id])
				w->fastest[from->id] = rate;
		}
	}
	for (uint32_t i = 0; i < f->n_links; i++)
		add_link(w, &f->links[i]);
	w->alike = alike(w);
}

/* The ports of the set, or one for all. */
static uint32_t choices(const struct network *w, uint32_t set)
{
	return w->alike && (set & 0xff) ? 1 : set & 0xff;
}

/* A switch that is still to be looked at before s can be; UINT32_MAX: s is known now. */
static uint32_t look(struct network *w, uint32_t s, uint32_t to)
{
	const struct rs_routes *r = &w->f->routes;
	uint32_t set = r->set_of[s][to];
	struct way *way = &w->way[s];

	way->state = WAY_UNDER_WAY;
	for (; way->seen < choices(w, set); way->seen++) {
		const struct hop *h = &w->hop[w->first[s] + r->ports[s][(set >> 8) + way->seen]];
		const struct way *next = &w->way[h->to];

		if (next->state == WAY_UNKNOWN)
			return h->to;
		if (next->state != WAY_KNOWN || !next->there)
			continue;
		way->data = rs_time_max(way->data, next->data + h->data);
		way->ack = rs_time_max(way->ack, next->ack + h->ack);
		way->there = true;
	}
	way->state = WAY_KNOWN;
	return UINT32_MAX;
}

/* The slowest path between two edge switches. */
static const struct way *between(struct network *w, uint32_t from, uint32_t to)
{
	uint32_t n = 0;

	if (w->way[w->edge[from]].state == WAY_UNKNOWN)
		w->stack[n++] = w->edge[from];
	while (n) {
		uint32_t before = look(w, w->stack[n - 1], to);

		if (before == UINT32_MAX)
			n--;
		else
			w->stack[n++] = before;
	}
	return &w->way[w->edge[from]];
}

/* Two NICs of one switch. One that is alone there talks to itself. */
static rs_time beside(const struct slowest *out, const struct slowest *in)
{
	if (out->who != in->who || out->second < 0)
		return out->first + in->first;
	return rs_time_max(out->first + in->second, out->second + in->first);
}

static rs_time longest(struct network *w)
{
	uint32_t n = w->f->routes.n_groups;
	rs_time most = 0, alone = 0;

	for (uint32_t b = 0; b < n; b++) {
		memset(w->way, 0, w->f->n_switches * sizeof(*w->way));
		w->way[w->edge[b]] = (struct way){.there = true, .state = WAY_KNOWN};
		for (uint32_t a = 0; a < n; a++) {
			const struct way *t = between(w, a, b);

			if (w->out[a].first < 0 || w->in[b].first < 0 || !t->there)
				continue;
			if (a != b)
				most = rs_time_max(most, w->out[a].first + w->in[b].first +
								 t->data + t->ack);
			else if (w->out[a].second < 0)
				alone = rs_time_max(alone, beside(&w->out[a], &w->in[a]));
			else
				most = rs_time_max(most, beside(&w->out[a], &w->in[a]));
		}
	}
	return most ? most : alone;
}

static bool take(struct network *w)
{
	const struct rs_fabric *f = w->f;
	uint32_t ports = 0, groups = f->routes.n_groups, n = f->n_switches;

	for (uint32_t i = 0; i < n; i++)
		ports += f->switches[i].n_ports;
	w->first = calloc(n + 1u, sizeof(*w->first));
	w->hop = calloc(ports + 1u, sizeof(*w->hop));
	w->fastest = calloc(n + 1u, sizeof(*w->fastest));
	w->way = calloc(n + 1u, sizeof(*w->way));
	w->stack = calloc(n + 1u, sizeof(*w->stack));
	w->edge = calloc(groups + 1u, sizeof(*w->edge));
	w->out = calloc(groups + 1u, sizeof(*w->out));
	w->in = calloc(groups + 1u, sizeof(*w->in));
	return w->first && w->hop && w->fastest && w->way && w->stack && w->edge && w->out && w->in;
}

static void drop(struct network *w)
{
	free(w->first);
	free(w->hop);
	free(w->fastest);
	free(w->way);
	free(w->stack);
	free(w->edge);
	free(w->out);
	free(w->in);
}

rs_time rs_plant_longest_rtt(const struct rs_fabric *f, uint32_t packet_bytes, uint32_t ack_bytes)
{
	struct network w = {.f = f, .data = packet_bytes, .ack = ack_bytes};
	rs_time t = 0;

	if (take(&w)) {
		fill(&w);
		t = longest(&w);
	}
	drop(&w);
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
