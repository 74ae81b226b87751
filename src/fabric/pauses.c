/* What PFC takes of buffers and time at the ends of a link (802.1Q-2022 annex N): the headroom of a
 * NIC, the response to a PAUSE; and whether what the description says can hold it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/units.h"
#include "fabric/build.h"
#include "port/pfc.h"

/* Ethernet with FCS, IPv4, UDP, BTH, RETH, ImmDt, ICRC; IPv6's header; telemetry (HPCC's). */
enum { HEADERS = 18 + 20 + 8 + 12 + 16 + 4 + 4, IPV6_MORE = 20, TELEMETRY = 42, UET_MORE = 64 };

#define NIC_BUFFER_MAX (UINT64_C(1) << 40)

uint32_t rs_fabric_max_frame(const struct rs_fabric *f, const struct rs_qos *q)
{
	const struct rs_transport_conf *t = &f->transport;
	uint32_t frame =
		HEADERS + (t->payload > t->mtu ? t->payload : t->mtu) + (t->ipv6 ? IPV6_MORE : 0);

	if (rs_fabric_has_cc(f, "hpcc"))
		frame += TELEMETRY;
	if (rs_fabric_has_uet(f))
		frame += UET_MORE;
	return frame > q->max_frame ? frame : q->max_frame;
}

rs_time rs_fabric_pause_response(const struct rs_qos *q, int64_t rate)
{
	return q->pause_response >= 0 ? q->pause_response : rs_pfc_response_time(rate);
}

static unsigned lossless_classes(const struct rs_qos *q)
{
	unsigned n = 0;

	for (int t = 0; t < RS_TCS; t++)
		n += q->pfc && q->tc[t].lossless;
	return n;
}

/* Of a class: what comes after XOFF, and the frame that made it so. */
static uint64_t class_headroom(const struct rs_fabric *f, uint32_t endpoint)
{
	const struct rs_fabric_endpoint *p = &f->endpoints[endpoint];
	const struct rs_fabric_link *l = &f->links[p->link];
	const struct rs_qos *q = &f->qos, *at = rs_fabric_qos(f, p->node);
	uint32_t frame = rs_fabric_max_frame(f, q);
	/* a PAUSE passes the switch's pipeline before it is obeyed */
	rs_time delay = (2 * l->delay + at->switch_latency + 1) / 2;
	uint64_t bytes = rs_pfc_headroom(l->rate, delay, frame, rs_pfc_response_quanta(l->rate));

	return (uint64_t)((double)bytes * q->headroom_scale) + frame;
}

uint64_t rs_fabric_nic_headroom(const struct rs_fabric *f, uint32_t endpoint)
{
	return lossless_classes(&f->qos) * class_headroom(f, endpoint);
}

/* ---- Checks, when links, classes and transport are known ---- */

/* The NIC with an inside whose headroom is the greatest; n_endpoints: none has an inside. */
static uint32_t greedy_nic(const struct rs_fabric *f)
{
	uint32_t most = f->n_endpoints;

	for (uint32_t i = 0; i < f->n_endpoints; i++)
		if (f->endpoints[i].part != RS_NO_PART &&
		    (most == f->n_endpoints ||
		     rs_fabric_nic_headroom(f, i) > rs_fabric_nic_headroom(f, most)))
			most = i;
	return most;
}

/* A buffer that the description does not name grows with the links. */
static void check_nic_buffer(struct rs_load *l, struct rs_fabric *f, bool sized, struct rs_where at)
{
	uint32_t i = greedy_nic(f);
	uint64_t headroom = i < f->n_endpoints ? rs_fabric_nic_headroom(f, i) : 0;
	uint64_t least = headroom + 2 * (uint64_t)rs_fabric_max_frame(f, &f->qos);
	const struct rs_fabric_link *k;
	char rate[32], delay[32];

	if (!sized && f->qos.nic_buffer < 2 * headroom)
		f->qos.nic_buffer = 2 * headroom < NIC_BUFFER_MAX ? 2 * headroom : NIC_BUFFER_MAX;
	if (!headroom || f->qos.nic_buffer >= least)
		return;
	k = &f->links[f->endpoints[i].link];
	rs_load_fail(
		l, -EINVAL, at,
		"nic_buffer: expected %lluB to 1TiB, found %lluB: %s, with %u lossless class%s on "
		"%s "
		"over %s, needs headroom of %lluB for what comes after a PAUSE (802.1Q annex N)",
		(unsigned long long)least, (unsigned long long)f->qos.nic_buffer,
		f->endpoints[i].name, lossless_classes(&f->qos),
		lossless_classes(&f->qos) == 1 ? "" : "es",
		rs_human_rate(rate, sizeof(rate), (double)k->rate),
		rs_human_time(delay, sizeof(delay), k->delay), (unsigned long long)headroom);
	rs_error_hint(l->e, "raise qos.nic_buffer, or leave it out; shorten cables, or make fewer "
			    "classes lossless");
}

/* Does a link end at a port that these classes are for? tier: RS_TIERS for all that have no own. */
static bool concerns(const struct rs_fabric *f, const struct rs_fabric_link *k,
		     const struct rs_qos *q)
{
	return (k->a.is_switch ? rs_fabric_qos(f, k->a.id) : &f->qos) == q ||
	       (k->b.is_switch ? rs_fabric_qos(f, k->b.id) : &f->qos) == q;
}

/* A time in quanta at a rate, whole ones, as far as a PAUSE can say it. */
static uint32_t quanta_of(rs_time t, int64_t rate)
{
	const rs_uint128 quantum = (rs_uint128)8 * RS_QUANTUM_BYTES * (uint64_t)RS_S;
	rs_uint128 n = ((rs_uint128)(uint64_t)t * (uint64_t)rate + quantum - 1) / quantum;

	return n < RS_QUANTA_MAX ? (uint32_t)n : RS_QUANTA_MAX;
}

static void short_pause(struct rs_load *l, const struct rs_qos *q, const struct rs_pause_places *at,
			int64_t rate, uint32_t response, uint32_t frame)
{
	uint32_t least = rs_pfc_least_quanta(response, frame);
	char text[32], time[32];

	rs_human_rate(text, sizeof(text), (double)rate);
	rs_human_time(time, sizeof(time), q->pause_response);
	if (least > RS_QUANTA_MAX)
		rs_load_fail(l, -EINVAL, at->pause_response,
			     "pause_response: expected 802.3 or a time that ends before the "
			     "longest PAUSE "
			     "at %s, 65535 quanta less a frame of %u bytes; found %s",
			     text, frame, time);
	else
		rs_load_fail(
			l, -EINVAL, at->pause_quanta,
			"pause_quanta: expected %u to 65535, found %u: at %s a port may take %u "
			"quanta to obey (802.3 annex 31B.3.7) and is then at a frame of %u bytes",
			least, q->pause_quanta, text, response, frame);
	rs_error_hint(l->e, "a PAUSE that is over sooner holds nothing; leave both keys out for "
			    "65535 quanta and 802.3's response");
}

/* The response of the peer at the other end of the fastest link decides. */
static void check_quanta(struct rs_load *l, struct rs_fabric *f, const struct rs_qos *q,
			 const struct rs_pause_places *at)
{
	uint32_t response, frame = rs_fabric_max_frame(f, q);
	int64_t rate = 0;

	for (uint32_t i = 0; i < 2 * f->n_links; i++) {
		const struct rs_fabric_link *k = &f->links[i / 2];
		int64_t way = rs_fabric_link_rate(k, i % 2);

		if (concerns(f, k, q) && way > rate)
			rate = way;
	}
	if (!rate) /* a tier without a switch */
		return;
	response = q->pause_response < 0 ? rs_pfc_response_quanta(rate)
					 : quanta_of(q->pause_response, rate);
	if (!q->quirks.pause_holds && q->pfc &&
	    q->pause_quanta < rs_pfc_least_quanta(response, frame))
		short_pause(l, q, at, rate, response, frame);
}

void rs_fabric_check_pauses(struct rs_load *l, struct rs_fabric *f, bool sized,
			    const struct rs_pause_places *all,
			    const struct rs_pause_places tier[RS_TIERS])
{
	if (l->err)
		return;
	check_nic_buffer(l, f, sized, all->nic_buffer);
	check_quanta(l, f, &f->qos, all);
	for (int t = 0; t < RS_TIERS && !l->err; t++)
		if (f->tier_qos[t])
			check_quanta(l, f, f->tier_qos[t], &tier[t]);
}

/* ---- What is spoken ---- */

enum rs_transport_kind rs_fabric_speaks(const struct rs_fabric *f, uint32_t endpoint)
{
	uint8_t own = f->hosts[f->endpoints[endpoint].host].transport;

	return own ? (enum rs_transport_kind)(own - 1) : f->transport.kind;
}

bool rs_fabric_has_uet(const struct rs_fabric *f)
{
	if (f->transport.kind == RS_FABRIC_UET)
		return true;
	for (uint32_t i = 0; i < f->n_hosts; i++)
		if (f->hosts[i].transport == RS_FABRIC_UET + 1)
			return true;
	return false;
}
