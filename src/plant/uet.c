/* Ultra Ethernet: what its endpoints are given, and what queues hold where they are sized by the
 * bandwidth-delay product. Figures are uet-htsim's (40ccb052): main_uec.cpp, fat_tree_topology.cpp.
 */
#include <math.h>
#include "plant/rtt.h"

enum {
	MPR_TRIMMED = 512, /* PSNs: 12 bandwidth-delay products of 43 packets */
	MPR_DROPPED = 4096,
	RTO_LEAST_US = 15,
	RTO_QUEUES = 6, /* on the longest path */
	LOW_PERCENT = 20,
	HIGH_PERCENT = 80,
	QUEUES_DROPPED = 5, /* products that a queue holds where nothing trims */
};

/* Ethernet with FCS, IPv4, UDP, then of PDS and SES (uet-ref-prov, uet_pkt_hdr.h): a request with a
 * standard header; an ACK with its extension. */
enum { BELOW = 18 + 20 + 8, REQUEST = 16 + 44, ACK = 12 + 24, IPV6_MORE = 20 };

static uint16_t header(const struct rs_transport_conf *t)
{
	uint16_t fixed = rs_framings[t->framing].data;

	return t->uet.header ? t->uet.header
	       : fixed       ? (uint16_t)(fixed < RS_ETH_MIN_FRAME ? RS_ETH_MIN_FRAME : fixed)
			     : (uint16_t)(BELOW + REQUEST + (t->ipv6 ? IPV6_MORE : 0));
}

static uint16_t control(const struct rs_transport_conf *t)
{
	uint16_t fixed = rs_framings[t->framing].ack;

	return t->uet.control ? t->uet.control
	       : fixed        ? (uint16_t)(fixed < RS_ETH_MIN_FRAME ? RS_ETH_MIN_FRAME : fixed)
			      : (uint16_t)(BELOW + ACK + (t->ipv6 ? IPV6_MORE : 0));
}

static uint32_t payload(const struct rs_transport_conf *t)
{
	return t->payload ? t->payload : t->mtu;
}

static uint64_t packets(uint64_t bytes, uint64_t mtu)
{
	return (bytes + mtu - 1) / mtu;
}

void plant_uet(struct rs_plant *p)
{
	const struct rs_transport_conf *t = &p->f->transport;
	uint32_t gap = rs_framings[t->framing].gap;

	if (!rs_fabric_has_uet(p->f))
		return;
	p->uet_mtu = header(t) + payload(t);
	p->uet_rtt = t->uet.base_rtt
			     ? t->uet.base_rtt
			     : rs_plant_longest_rtt(p->f, p->uet_mtu + gap, control(t) + gap);
	p->uet_rtt = rs_time_max(p->uet_rtt, RS_US);
	p->uet_bdp = packets(rs_plant_bytes(p->nic_rate, p->uet_rtt), p->uet_mtu) * p->uet_mtu;
}

static double products(const struct rs_qos *q)
{
	return q->queue_bdp >= 0 ? q->queue_bdp : q->trim ? 1 : QUEUES_DROPPED;
}

/* What a queue holds of the data class, in all. */
static uint64_t queue_bytes(const struct rs_plant *p, const struct rs_qos *q)
{
	return (uint64_t)((double)p->uet_bdp * products(q));
}

void plant_uet_class(const struct rs_plant *p, const struct rs_qos *q, unsigned tc,
		     struct rs_switch_class *c)
{
	if (tc == q->data_tc) {
		c->trim_bytes = q->trim ? q->trim_bytes : 0;
		c->trim_tc = q->trim_tc;
		c->trim_tos = (uint8_t)(q->tc[q->trim_tc].dscp << 2);
		c->lose_either = q->overflow == RS_FABRIC_LOSE_EITHER;
	}
	if (!p->uet_bdp || q->queue_bdp == 0 || p->ideal.no_pause)
		return;
	if (tc == q->data_tc)
		c->egress_limit = queue_bytes(p, q);
	else if (tc == q->trim_tc)
		c->egress_limit = 2 * queue_bytes(p, q);
}

/* The bytes of a share of the packets of one product, at this port. */
static uint64_t mark_at(const struct rs_plant *p, unsigned percent, double scale)
{
	uint64_t all = p->uet_bdp / p->uet_mtu;
	uint64_t some = (all * percent + 99) / 100 * p->uet_mtu;
	uint64_t bytes = (uint64_t)((double)some * scale);

	return bytes > p->uet_mtu ? bytes - p->uet_mtu : 1;
}

/*
 * A packet in transmission counts as queued there, here it does not: limits are less by one. Marks
 * are decided there when it has left, by what waits then; here when the next one begins, by what it
 * leaves behind: thresholds are less by one packet, and the mark is the next one's.
 */
void plant_uet_port(const struct rs_plant *p, const struct rs_qos *q, uint32_t sw, uint32_t port,
		    struct rs_switch_port *out)
{
	double scale = (double)out->rate / (double)p->nic_rate;
	struct rs_plant_way way;
	uint64_t limit;

	if (!p->uet_bdp || q->queue_bdp == 0 || p->ideal.no_pause)
		return;
	limit = (uint64_t)((double)queue_bytes(p, q) * scale);
	out->limit = limit > 2 * p->uet_mtu ? limit - p->uet_mtu : p->uet_mtu;
	out->kmin = mark_at(p, LOW_PERCENT, scale);
	out->kmax = mark_at(p, HIGH_PERCENT, scale);
	rs_plant_port_way(p, sw, port, false, &way);
	if (p->f->transport.uet.credits && !way.to.is_switch)
		out->kmin = out->kmax = UINT64_MAX; /* credits hold the last hop's queue */
}

static rs_time rto(const struct rs_plant *p, uint32_t endpoint)
{
	const struct rs_uet_settings *u = &p->f->transport.uet;
	const struct rs_qos *q = &p->f->qos;
	uint64_t bytes = p->uet_bdp;

	/* Senders without a window before queues without an end: what is late is not lost, and each
	 * copy that goes again would make the rest later. */
	if (p->ideal.no_cc && (p->ideal.no_pause || p->ideal.no_drops))
		return RS_S;
	if (u->rto)
		return u->rto;
	if (q->queue_bdp != 0)
		bytes = queue_bytes(p, q);
	return RTO_LEAST_US * RS_US +
	       RTO_QUEUES * rs_pace_time(rs_pace_of(p->f->endpoints[endpoint].rate),
					 bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX);
}

static struct rs_nscc_conf window(const struct rs_plant *p, uint32_t endpoint)
{
	const struct rs_transport_conf *t = &p->f->transport;
	struct rs_nscc_conf c = {
		.kind = p->ideal.no_cc                     ? RS_UET_NO_WINDOW
			: t->uet.window == RS_FABRIC_NSCC  ? RS_UET_NSCC
			: t->uet.window == RS_FABRIC_DCTCP ? RS_UET_DCTCP
							   : RS_UET_NO_WINDOW,
		.rate = p->f->endpoints[endpoint].rate,
		.rtt = p->uet_rtt,
		.mtu = p->uet_mtu,
		.payload = payload(t),
		.trims = p->f->qos.trim,
		.target = t->uet.target,
	};

	rs_nscc_derive(&c);
	return c;
}

void rs_plant_uet(const struct rs_plant *p, uint32_t endpoint, struct rs_uet_conf *out)
{
	const struct rs_fabric *f = p->f;
	const struct rs_uet_settings *u = &f->transport.uet;

	rs_assert(endpoint < f->n_endpoints && p->uet_bdp);
	*out = (struct rs_uet_conf){
		.endpoint = endpoint,
		.seed = p->seed,
		.rate = f->endpoints[endpoint].rate,
		.gap = rs_framings[f->transport.framing].gap,
		.delivery = u->ordered ? RS_UET_ROD : RS_UET_RUD,
		.header = header(&f->transport),
		.control = control(&f->transport),
		.control_tc = f->qos.ack_apart ? f->qos.ack_tc : f->qos.trim_tc,
		.control_tos = f->qos.ack_apart ? rs_plant_ack_tos(p)
						: (uint8_t)(f->qos.tc[f->qos.trim_tc].dscp << 2),
		.cc = window(p, endpoint),
		.credits = u->credits && !p->ideal.no_cc,
		.credit = u->credit,
		.balance = {.kind = (enum rs_balance_kind)u->balance,
			    .n = u->paths,
			    .freeze = f->qos.trim ? u->freeze : 0},
		.ack_bytes = u->ack_bytes,
		.rto = rto(p, endpoint),
		.sleek = u->sleek,
		.mpr = u->mpr        ? u->mpr
		       : f->qos.trim ? MPR_TRIMMED
				     : MPR_DROPPED,
	};
	if (u->ordered)
		out->balance.kind = RS_BALANCE_FIXED; /* one path, as its order needs */
}
