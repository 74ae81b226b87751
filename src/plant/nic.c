/* NICs: their transport, their port, their queue pairs. */
#include "plant/plant.h"
#include "wire/telemetry.h"

enum { PKEY_DEFAULT = 0xffff }; /* IBTA §10.9.1.2: the default partition, full member */

bool rs_plant_inside(const struct rs_plant *p, uint32_t endpoint)
{
	const struct rs_fabric_endpoint *at = &p->f->endpoints[endpoint];

	rs_assert(endpoint < p->f->n_endpoints);
	return p->f->hosts[at->host].inside && !p->ideal.host && at->part >= 0;
}

/* What the NIC's model or description says of messages and queue pairs. */
static struct rs_dma_limits dma_limits(const struct rs_plant *p, uint32_t endpoint)
{
	const struct rs_fabric_endpoint *at = &p->f->endpoints[endpoint];
	const struct rs_part *parts = p->f->hosts[at->host].inside->parts;

	return rs_dma_limits_of(&parts[at->part], &p->f->host_params);
}

static void limit_qps(const struct rs_plant *p, uint32_t endpoint, struct rs_nic_config *c)
{
	struct rs_dma_limits d = dma_limits(p, endpoint);

	if (d.qp_message_rate)
		c->qp_message_time = RS_MS / d.qp_message_rate;
	if (d.qp_rate && (int64_t)d.qp_rate * RS_MBPS < c->line_rate)
		c->qp_rate = (int64_t)d.qp_rate * RS_MBPS;
}

/* How classes share the port; 0: strict. ACKs that go before all data have a class of their own. */
static void weights(const struct rs_fabric *f, uint8_t weight[RS_CLASSES])
{
	for (unsigned c = 0; c < RS_CLASSES; c++)
		weight[c] = f->qos.tc[c].weight;
	if (f->transport.quirks.ack_unpaused)
		weight[RS_CLASSES - 1] = 0;
}

/* Time between a NIC's transport and the wire, both ends and both ways, where hosts have an inside:
 * a DMA read and a write of a packet, and the pipelines (docs/host.md). */
#define INSIDE (4 * RS_US)
/* How long a packet may be behind one that was sent later, where paths vary: as long as a flowlet's
 * gap (CONGA, SIGCOMM 2014, §3.4), which is chosen for the same. */
#define REORDER (50 * RS_US)

/* IRN's limit is that of a network whose queues are empty. Paths that are chosen packet by packet
 * have some queue while all of them are in use. */
enum { MULTIPATH = 2 };

bool rs_plant_paths_vary(const struct rs_fabric *f)
{
	if (f->transport.recovery == RS_FABRIC_SELECTIVE && f->transport.balance)
		return true;
	for (uint32_t i = 0; i < f->n_switches; i++)
		if (rs_fabric_qos(f, i)->routing != RS_FABRIC_ECMP)
			return true;
	return false;
}

const struct rs_recovery *rs_plant_recovery(const struct rs_plant *p)
{
	return p->recovery_rtt ? &rs_recovery_selective : &rs_recovery_go_back_n;
}

/* Packets that the longest path holds (IRN's BDP-FC), and those whose ACK waits for others. */
static uint32_t in_flight(const struct rs_plant *p, uint32_t endpoint)
{
	const struct rs_transport_conf *t = &p->f->transport;
	rs_time rtt = p->recovery_rtt + (rs_plant_inside(p, endpoint) ? INSIDE : 0);
	uint64_t bytes = rs_plant_bytes(p->f->endpoints[endpoint].rate, rtt);
	uint64_t n = bytes / (t->payload ? t->payload : t->mtu) + t->ack_every + 1;

	if (rs_plant_paths_vary(p->f))
		n *= MULTIPATH;

	return n < RS_IN_FLIGHT_MAX ? (uint32_t)n : RS_IN_FLIGHT_MAX;
}

static struct rs_selective selective(const struct rs_plant *p, uint32_t endpoint)
{
	const struct rs_transport_conf *t = &p->f->transport;

	if (!p->recovery_rtt)
		return (struct rs_selective){0};
	return (struct rs_selective){
		.in_flight = t->in_flight ? t->in_flight : in_flight(p, endpoint),
		.reorder = t->reorder >= 0             ? t->reorder
			   : rs_plant_paths_vary(p->f) ? REORDER
						       : 0,
		.rto_low = rs_time_max(t->rto_low, 2 * p->recovery_rtt),
		.rto_high = rs_time_max(t->rto_high, 2 * p->recovery_rtt),
		.balance = {.kind = (enum rs_balance_kind)(t->balance ? t->balance - 1 : 0),
			    .n = t->balance ? t->paths : 0},
	};
}

static uint8_t cnp_moderation(const struct rs_transport_conf *t)
{
	static const uint8_t by[] = {[RS_FABRIC_CNP_BY_QP] = RS_CNP_BY_QP,
				     [RS_FABRIC_CNP_BY_IP] = RS_CNP_BY_IP,
				     [RS_FABRIC_CNP_BY_PORT] = RS_CNP_BY_PORT};

	return by[t->cnp_moderation];
}

uint8_t rs_plant_ack_tos(const struct rs_plant *p)
{
	const struct rs_qos *q = &p->f->qos;

	return (uint8_t)(q->ack_dscp << 2 | (q->tc[q->ack_tc].ecn ? RS_ECN_ECT0 : 0));
}

void rs_plant_nic(const struct rs_plant *p, uint32_t endpoint, struct rs_nic_config *out)
{
	const struct rs_fabric *f = p->f;
	const struct rs_transport_conf *t = &f->transport;

	rs_assert(endpoint < f->n_endpoints && p->n_cc && p->n_cc <= RS_NIC_CCS);
	*out = (struct rs_nic_config){
		.endpoint = endpoint,
		.line_rate = f->endpoints[endpoint].rate,
		.ipv6 = t->ipv6,
		.cc = p->cc,
		.n_cc = p->n_cc,
		.cnp_tos = (uint8_t)(f->qos.cnp_dscp << 2),
		.cnp_tc = f->qos.cnp_tc,
		.cnp_moderation = cnp_moderation(t),
		.ack_apart = f->qos.ack_apart,
		.ack_tos = rs_plant_ack_tos(p),
		.ack_tc = f->qos.ack_tc,
		.ack_every = t->ack_every,
		.ack_delay = t->ack_delay,
		.min_rto = t->min_rto,
		.selective = selective(p, endpoint),
		.framing = &rs_framings[t->framing],
		.quirks = t->quirks,
		.int_scale = rs_int_scale(p->nic_rate),
	};
	out->quirks.any_payload = t->payload != 0;
	weights(f, out->weight);
	for (uint8_t c = 0; c < RS_CLASSES; c++)
		out->cc_of_class[c] = rs_plant_qp_cc(p, NULL, NULL, endpoint, c) - 1;
	if (rs_plant_inside(p, endpoint) && !p->ideal.host_limits)
		limit_qps(p, endpoint, out);
}

/* What comes after XOFF has room, in each class with PFC; a NIC without an end takes all. */
static struct rs_port_buffer receive_buffer(const struct rs_plant *p, uint32_t endpoint)
{
	uint64_t size = p->f->qos.nic_buffer, headroom = rs_fabric_nic_headroom(p->f, endpoint);
	struct rs_port_buffer b = {.size = UINT64_MAX, .lossy = UINT64_MAX, .xoff = UINT64_MAX};

	if (size && !p->ideal.no_pause) {
		b.xoff = size > headroom ? size - headroom : 0;
		if (!p->ideal.no_drops) {
			b.size = size;
			b.lossy = b.xoff;
		}
	}
	b.xon = b.xoff / 3 * 2;
	return b;
}

void rs_plant_nic_port(const struct rs_plant *p, uint32_t endpoint, struct rs_plant_port *out)
{
	const struct rs_fabric *f = p->f;
	const struct rs_qos *q = &f->qos;
	int64_t rate;

	rs_assert(endpoint < f->n_endpoints);
	rate = f->links[f->endpoints[endpoint].link].rate;
	*out = (struct rs_plant_port){
		.rate = rate,
		.response = rs_fabric_pause_response(q, rate),
		.lfc = {.holds = q->quirks.pause_holds,
			.quanta = q->pause_quanta,
			.frame_bytes = rs_framings[f->transport.framing].pfc},
		.buffer = receive_buffer(p, endpoint),
	};
	weights(f, out->weight);
	for (unsigned t = 0; t < RS_CLASSES; t++)
		if (q->pfc && q->tc[t].lossless && !p->ideal.no_pause &&
		    !f->endpoints[endpoint].no_pfc)
			out->lfc.classes |= (uint8_t)(1u << t);
}

void rs_plant_messages(const struct rs_plant *p, uint32_t endpoint, struct rs_plant_messages *out)
{
	*out = (struct rs_plant_messages){0};
	if (rs_plant_inside(p, endpoint)) {
		struct rs_dma_limits d = dma_limits(p, endpoint);

		out->inline_bytes = d.inline_bytes;
		if (d.message_rate && !p->ideal.host_limits)
			out->message_time = RS_MS / d.message_rate;
	}
}

uint8_t rs_plant_tos(const struct rs_plant *p, uint32_t endpoint, uint8_t tc)
{
	const struct rs_qos_class *c = &p->f->qos.tc[tc];
	uint8_t mark = p->f->endpoints[endpoint].mark;
	unsigned dscp = mark ? mark - 1u : c->dscp;

	rs_assert(tc < RS_TCS);
	return (uint8_t)(dscp << 2 | (c->ecn ? RS_ECN_ECT0 : 0));
}

void rs_plant_qp(const struct rs_plant *p, uint32_t endpoint, uint8_t tc, struct rs_qp_attr *out)
{
	const struct rs_transport_conf *t = &p->f->transport;

	*out = (struct rs_qp_attr){
		.path_mtu = t->payload ? t->payload : t->mtu,
		.pkey = PKEY_DEFAULT,
		.tos = rs_plant_tos(p, endpoint, tc),
		.tc = tc,
		.timeout = t->timeout,
		.retry_cnt = t->retry,
		.rnr_retry = t->rnr_retry,
		.min_rnr_timer = t->min_rnr_timer,
		.max_rd_atomic = t->max_rd_atomic,
		.max_dest_rd_atomic = t->max_rd_atomic,
	};
}
