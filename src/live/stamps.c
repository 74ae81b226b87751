/* Stamps of live packets: see stamps.h. Nothing here trusts them: they end in divisions that
 * rs_int_unpack() keeps from 0, and in a rate between rate_min and the line. */
#include "live/stamps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "live/state.h"
#include "wire/telemetry.h"

/* What is known of a queue pair's peer: that it takes trailers, as long as it is this one. */
struct rs_stamps {
	uint8_t rate_code; /* of the own port */
	struct {
		uint32_t path, qpn; /* qpn 0: none said so */
	} peer[RS_LIVE_MAX_QPS];
};

enum { ACKNOWLEDGE = RS_RC | RS_OP_ACKNOWLEDGE };

int rs_stamps_init(struct rs_live *l)
{
	bool any = false;

	for (unsigned i = 0; i < l->congestion.n; i++)
		any |= (l->congestion.use[i].ops->needs & RS_CC_NEEDS_STAMPS) != 0;
	if (!any)
		return 0;
	l->stamps = calloc(1, sizeof(*l->stamps));
	if (!l->stamps)
		return -ENOMEM;
	l->stamps->rate_code = rs_int_rate_code(l->congestion.start_rate, RS_INT_SOFTWARE);
	return 0;
}

void rs_stamps_fini(struct rs_live *l)
{
	free(l->stamps);
}

/* The peer of one of this device's queue pairs said whether it takes trailers. */
static void note(struct rs_live *l, const struct rs_packet *p, bool takes)
{
	uint32_t i = p->dest_qp - l->flow.first_qpn;
	const struct rs_qp *qp = rs_nic_find_qp(l->nic, p->dest_qp);
	struct rs_qp_attr a = {0};

	if (!qp || i >= RS_LIVE_MAX_QPS ||
	    (takes && l->stamps->peer[i].path == p->src && l->stamps->peer[i].qpn))
		return;
	if (rs_qp_get_state(qp) < RS_QPS_RTR || rs_qp_get_state(qp) > RS_QPS_SQE)
		return;
	rs_qp_query(qp, &a);
	if (a.dest_endpoint != p->src)
		return;
	l->stamps->peer[i].path = p->src;
	l->stamps->peer[i].qpn = takes ? a.dest_qpn : 0;
}

void rs_stamps_read(struct rs_live *l, const uint8_t *bth, const uint8_t *trailer,
		    struct rs_packet *p)
{
	if (p->corrupt)
		return;
	if (p->opcode == ACKNOWLEDGE)
		note(l, p, bth[8] & RS_BTH8_STAMPS);
	if (!trailer)
		return;
	p->bth_flags |= RS_PACKET_INT;
	rs_int_trailer_get(trailer, p);
	l->counters.rx_stamped += p->int_hop[0] != 0;
}

/* The own port, as a switch would stamp: what waits there, and what it has sent. */
static uint64_t own_stamp(const struct rs_live *l, rs_time now)
{
	rs_time busy = l->congestion.rate && l->port_free > now ? l->port_free - now : 0;
	uint64_t queue = (uint64_t)(busy / RS_NS) * (uint64_t)(l->congestion.rate / 8) / 1000000000;

	return rs_int_pack(l->stamps->rate_code, now, l->port_sent, queue, RS_INT_SOFTWARE);
}

void rs_stamps_complete(struct rs_live *l, struct rs_packet *p, rs_time now)
{
	bool none = !(p->bth_flags & RS_PACKET_INT);

	if (!rs_int_trailer_may(p->opcode))
		return;
	if (none) {
		/* a request without stamps leaves none of an earlier one behind */
		p->bth_flags |= RS_PACKET_INT;
		p->int_path = 0;
		memset(p->int_hop, 0, sizeof(p->int_hop));
	}
	if (p->opcode == ACKNOWLEDGE && !p->int_hop[0])
		p->int_hop[0] = own_stamp(l, now);
}

/* Does it fit the interface with a trailer? Its frame is counted with RS_INT_BYTES. */
static bool fits(const struct rs_live *l, const struct rs_packet *p)
{
	enum { ETHERNET = RS_ETH_BYTES + RS_FCS_BYTES, MORE = RS_INT_TRAILER_BYTES - RS_INT_BYTES };

	return (uint32_t)p->frame_bytes - ETHERNET + MORE <= l->device.net.mtu;
}

bool rs_stamps_wanted(struct rs_live *l, struct rs_packet *p)
{
	uint32_t i = p->src_qp - l->flow.first_qpn;
	bool has = p->bth_flags & RS_PACKET_INT;

	p->bth_flags &= (uint8_t)~RS_PACKET_INT;
	if (!has || !rs_int_trailer_may(p->opcode) || i >= RS_LIVE_MAX_QPS)
		return false;
	if (p->opcode == ACKNOWLEDGE)
		return p->int_hop[0] != 0; /* so the peer sent a trailer */
	return rs_opcodes[p->opcode].flags & RS_F_REQUEST && l->stamps->peer[i].qpn &&
	       l->stamps->peer[i].qpn == p->dest_qp && l->stamps->peer[i].path == p->dst &&
	       fits(l, p);
}

void rs_stamps_mark(const struct rs_packet *p, bool wanted, uint8_t *bth)
{
	if (p->opcode == ACKNOWLEDGE)
		bth[8] |= RS_BTH8_STAMPS;
	if (wanted)
		bth[4] |= RS_BTH4_STAMPED;
}
