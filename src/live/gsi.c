/* QP1's datagrams: UD SEND Only with Q_Key 0x80010000 (IBTA §13.5.3), and whose they are. */
#include "live/gsi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "live/grant.h"
#include "live/knock.h"
#include "live/meet.h"
#include "live/near.h"
#include "live/vendor_mad.h"
#include "live/ports.h"
#include "live/state.h"
#include "base/bytes.h"

enum {
	REASON_AT = 34,      /* of a REJ */
	SIDR_STATUS_AT = 28, /* of a SIDR_REP */
	ID_BYTES = 4,
	NO_SUCH_SERVICE = 8,
	SIDR_UNSUPPORTED = 1,
};
#define GSI_QKEY UINT32_C(0x80010000)

void rs_live_gsi_on(struct rs_live *l, rs_gsi_fn *fn, void *arg)
{
	l->gsi_fn = fn;
	l->gsi_arg = arg;
}

unsigned rs_live_slot(const struct rs_live *l)
{
	return l->slot;
}

/* The slot that listens on a service ID at an address; 0: none does. */
static unsigned listener(const struct rs_live *l, const uint8_t *service, const uint8_t gid[16])
{
	const struct rs_cm_port *p;
	uint16_t space = (uint16_t)rs_get16(service + 4), port = (uint16_t)rs_get16(service + 6);
	unsigned slot = 0;
	uint32_t *end;

	rs_registry_lock(l->registry);
	p = rs_registry_ports(l->registry, &end);
	for (unsigned i = 0; i < *end && !slot; i++)
		if (p[i].space == space && p[i].port == port && p[i].listening &&
		    rs_cm_hears(p[i].how, p[i].gid, gid) &&
		    rs_registry_leased(l->registry, p[i].slot))
			slot = p[i].slot;
	rs_registry_unlock(l->registry);
	return slot;
}

/* Datagrams are rare enough to ask who lives each time: what is for a dead process is answered
 * here. */
static unsigned alive(const struct rs_live *l, unsigned slot)
{
	if (!slot || slot == l->slot)
		return l->slot;
	rs_registry_lock(l->registry);
	rs_registry_reap(l->registry);
	rs_registry_unlock(l->registry);
	return rs_registry_leased(l->registry, slot) ? slot : l->slot;
}

unsigned rs_gsi_slot(const struct rs_live *l, const struct rs_datagram *d)
{
	const uint8_t *mad = d->bytes + RS_BTH_BYTES + RS_DETH_BYTES;
	unsigned attribute, slot;

	if (d->n < RS_BTH_BYTES + RS_DETH_BYTES + RS_MAD_BYTES + RS_ICRC_BYTES ||
	    (mad[RS_GSI_CLASS_AT] != RS_GSI_CM && mad[RS_GSI_CLASS_AT] != RS_GRANT_CLASS))
		return l->slot;
	if (rs_meet_is_question(mad)) /* a broadcast: each of us has it */
		return l->slot;
	if (mad[RS_GSI_CLASS_AT] == RS_GRANT_CLASS) {
		slot = rs_grant_slot(mad);
		if (rs_knock_is_knock(mad))
			return alive(l, slot);
		return rs_registry_leased(l->registry, slot) ? slot : l->slot;
	}
	attribute = rs_get16(mad + RS_GSI_ATTRIBUTE_AT);
	if (attribute == RS_GSI_REQ || attribute == RS_GSI_SIDR_REQ)
		slot = listener(l, mad + RS_GSI_SERVICE_AT, d->own);
	else
		slot = mad[attribute == RS_GSI_SIDR_REP ? RS_GSI_LOCAL_ID_AT : RS_GSI_REMOTE_ID_AT];
	return alive(l, slot);
}

/*
 * No connection manager is here to answer: nobody listens (§12.6.7.2, reason 8; §12.11.2, status
 * 1), or the connection was a dead process's, so it is over (§12.9.8.4).
 */
static bool answer(const uint8_t *request, uint8_t *out)
{
	unsigned attribute = rs_get16(request + RS_GSI_ATTRIBUTE_AT);

	if (request[RS_GSI_CLASS_AT] != RS_GSI_CM)
		return false;
	memcpy(out, request, RS_GSI_ATTRIBUTE_AT);
	memcpy(out + RS_GSI_REMOTE_ID_AT, request + RS_GSI_LOCAL_ID_AT, ID_BYTES);
	if (attribute == RS_GSI_REQ) {
		rs_put16(out + RS_GSI_ATTRIBUTE_AT, RS_GSI_REJ);
		rs_put16(out + REASON_AT, NO_SUCH_SERVICE);
	} else if (attribute == RS_GSI_SIDR_REQ) {
		rs_put16(out + RS_GSI_ATTRIBUTE_AT, RS_GSI_SIDR_REP);
		memcpy(out + RS_GSI_LOCAL_ID_AT, request + RS_GSI_LOCAL_ID_AT, ID_BYTES);
		memset(out + RS_GSI_REMOTE_ID_AT, 0, ID_BYTES);
		out[SIDR_STATUS_AT] = SIDR_UNSUPPORTED;
	} else if (attribute == RS_GSI_DREQ) {
		rs_put16(out + RS_GSI_ATTRIBUTE_AT, RS_GSI_DREP);
		memcpy(out + RS_GSI_LOCAL_ID_AT, request + RS_GSI_REMOTE_ID_AT, ID_BYTES);
	} else {
		return false;
	}
	return true;
}

static void answer_alone(struct rs_live *l, const struct rs_gsi_datagram *request)
{
	struct rs_gsi_datagram out = {0};

	memcpy(out.own, request->own, 16);
	memcpy(out.peer, request->peer, 16);
	if (answer(request->mad, out.mad))
		rs_live_gsi_send(l, &out);
}

bool rs_gsi_is_mad(const struct rs_packet *p)
{
	return !p->corrupt && p->opcode == (RS_UD | RS_OP_SEND_ONLY) && p->qkey == GSI_QKEY &&
	       p->payload_bytes == RS_MAD_BYTES;
}

bool rs_gsi_receive(struct rs_live *l, const struct rs_datagram *d, const struct rs_packet *p)
{
	struct rs_gsi_datagram g = {.src_qp = p->src_qp};

	if (rs_meet_is_question(p->payload)) {
		rs_meet_answer(l, d, p->payload);
		return true;
	}
	if (vendor_mad_is(p->payload, MAD_LAYOUT_NEAR)) {
		rs_near_heard(l, d, p->payload);
		return true;
	}
	if (p->payload[RS_GSI_CLASS_AT] == RS_GRANT_CLASS && !rs_knock_is_knock(p->payload)) {
		rs_grant_receive(l, d, p->payload);
		return true;
	}
	if (p->dest_qp != RS_GSI_QPN)
		return false;
	memcpy(g.own, d->own, 16);
	memcpy(g.peer, d->peer, 16);
	memcpy(g.mad, p->payload, RS_MAD_BYTES);
	if (l->gsi_fn)
		l->gsi_fn(l->gsi_arg, &g);
	else if (rs_knock_is_knock(g.mad))
		rs_knock_answer_alone(l, &g);
	else
		answer_alone(l, &g);
	return true;
}

long rs_gsi_encode(const struct rs_gsi_datagram *d, uint8_t *frame, size_t size, size_t *head)
{
	bool ipv6 = !rs_gid_is_ipv4(d->peer);
	struct rs_frame f = {.ipv6 = ipv6, .ttl = 64, .dport = RS_UDP_PORT};
	struct rs_packet p = {.opcode = RS_UD | RS_OP_SEND_ONLY,
			      .dest_qp = d->dest_qp ? d->dest_qp : RS_GSI_QPN,
			      .src_qp = RS_GSI_QPN,
			      .qkey = GSI_QKEY,
			      .pkey = 0xffff,
			      .sport = d->sport ? d->sport : RS_UDP_PORT,
			      .payload = d->mad,
			      .payload_bytes = RS_MAD_BYTES};

	memcpy(f.sip, d->own, 16);
	memcpy(f.dip, d->peer, 16);
	f.ip_frag = ipv6 ? 0 : 0x4000;
	*head = RS_ETH_BYTES + (ipv6 ? RS_IPV6_BYTES : RS_IPV4_BYTES) + RS_UDP_BYTES;
	return rs_frame_encode(&f, &p, frame, size);
}

int rs_gsi_send_by(struct rs_live *l, int fd, const struct rs_gsi_datagram *d)
{
	uint8_t frame[RS_GSI_FRAME_MAX];
	struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_port = htons(RS_UDP_PORT)};
	struct in6_pktinfo from = {0};
	_Alignas(8) uint8_t control[64] = {0};
	struct iovec iov;
	struct msghdr m = {.msg_name = &to,
			   .msg_namelen = sizeof(to),
			   .msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = CMSG_SPACE(sizeof(from))};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	size_t head;
	long n;

	if (l->forked)
		return -ENODEV;
	n = rs_gsi_encode(d, frame, sizeof(frame), &head);
	if (n < 0)
		return (int)n;
	iov = (struct iovec){frame + head, (size_t)n - head};
	memcpy(&to.sin6_addr, d->peer, 16);
	memcpy(&from.ipi6_addr, d->own, 16);
	if (IN6_IS_ADDR_LINKLOCAL(&to.sin6_addr))
		to.sin6_scope_id = from.ipi6_ifindex = l->device.net.index;
	c->cmsg_level = IPPROTO_IPV6;
	c->cmsg_type = IPV6_PKTINFO;
	c->cmsg_len = CMSG_LEN(sizeof(from));
	memcpy(CMSG_DATA(c), &from, sizeof(from));
	l->counters.tx_calls++;
	if (sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
		l->counters.tx_refused++;
		return -errno;
	}
	l->counters.tx_datagrams++;
	return 0;
}

int rs_live_gsi_send(struct rs_live *l, const struct rs_gsi_datagram *d)
{
	return rs_gsi_send_by(l, l->udp, d);
}

void rs_live_gsi_drain(struct rs_live *l)
{
	if (l->forked)
		return;
	for (unsigned i = 0; i < rs_live_tuning.rx_rounds && rs_rx_run(l) != RS_RX_NONE; i++)
		;
	rs_rx_strays(l);
	rs_live_kick(l);
}

/* By looks: ThreadSanitizer does not know pthread_mutex_clocklock(). */
bool rs_live_gsi_lockable(struct rs_live *l)
{
	const struct timespec pause = {.tv_nsec = rs_live_tuning.lock_look_ms * 1000L * 1000};

	for (int ms = 0; pthread_mutex_trylock(&l->lock); ms += rs_live_tuning.lock_look_ms) {
		if (ms >= rs_live_tuning.lock_ms)
			return false;
		nanosleep(&pause, NULL);
	}
	pthread_mutex_unlock(&l->lock);
	return true;
}
