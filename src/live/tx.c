/*
 * Packets to datagrams: encoded by wire/, gathered into runs that the kernel segments
 * (UDP_SEGMENT): one path, one TOS, one length, one slot of destination QPs. Segment k has
 * identification k.
 */
#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include "live/state.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

/* Pacing is kept on average: packets due so soon go with those that are due. */
#define AHEAD (16 * RS_US)

int rs_tx_init(struct rs_live *l)
{
	l->tx.bytes = malloc(sizeof(*l->tx.bytes) * RS_TX_BATCH);
	l->tx.gso = true;
	l->tx_again = RS_NEVER;
	return l->tx.bytes ? 0 : -ENOMEM;
}

void rs_tx_fini(struct rs_live *l)
{
	free(l->tx.bytes);
}

/* Bytes of UDP payload: what lies between the UDP header and the FCS. */
static uint32_t datagram_bytes(const struct rs_packet *p)
{
	return RS_BTH_BYTES + rs_opcodes[p->opcode].ext_bytes + p->payload_bytes +
	       rs_pad(p->payload_bytes) + RS_ICRC_BYTES;
}

/* Does p continue the last run? The kernel steers a whole send by its first packet. */
static bool continues(const struct rs_tx *t, const struct rs_packet *p, uint32_t n)
{
	const struct rs_run *r = &t->run[t->runs - 1];

	return t->gso && t->runs && r->path == p->dst && r->tos == p->tos && n <= r->segment &&
	       r->bytes == (uint32_t)r->count * r->segment && r->count < RS_TX_RUN_MAX &&
	       r->bytes + n <= RS_TX_RUN_BYTES && r->slot == p->dest_qp >> 16;
}

static void encode(struct rs_live *l, struct rs_packet *p)
{
	struct rs_tx *t = &l->tx;
	const struct rs_path *path = &l->paths.path[p->dst < l->paths.fresh ? p->dst : 0];
	uint32_t n = datagram_bytes(p), head;
	struct rs_frame f = {.ipv6 = path->ipv6, .ttl = 64, .dport = RS_UDP_PORT};
	bool more = continues(t, p, n);
	struct rs_run *r;

	if (p->dst >= l->paths.fresh || !path->used) {
		l->counters.tx_refused++;
		return;
	}
	if (!more)
		t->run[t->runs++] = (struct rs_run){.path = p->dst,
						    .first = (uint16_t)t->packets,
						    .segment = (uint16_t)n,
						    .tos = p->tos,
						    .slot = (uint8_t)(p->dest_qp >> 16)};
	r = &t->run[t->runs - 1];
	memcpy(f.sip, path->own, 16);
	memcpy(f.dip, path->peer, 16);
	f.ip_frag = path->ipv6 ? 0 : 0x4000;
	f.ip_id = path->ipv6 ? 0 : r->count;
	p->sport = RS_UDP_PORT; /* the one that the socket has */
	rs_frame_encode(&f, p, t->bytes[t->packets], RS_TX_SLOT);
	head = RS_ETH_BYTES + (path->ipv6 ? RS_IPV6_BYTES : RS_IPV4_BYTES) + RS_UDP_BYTES;
	t->iov[t->packets] = (struct iovec){t->bytes[t->packets] + head, n};
	t->packets++;
	r->count++;
	r->bytes += n;
}

static void put_control(struct msghdr *m, uint8_t *at, int level, int type, const void *data,
			size_t n)
{
	struct cmsghdr *c = (struct cmsghdr *)(void *)(at + m->msg_controllen);

	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(n);
	memcpy(CMSG_DATA(c), data, n);
	m->msg_controllen += CMSG_SPACE(n);
}

static void address(struct rs_live *l, const struct rs_run *r, struct msghdr *m, uint8_t *control)
{
	struct rs_path *path = &l->paths.path[r->path];
	struct in6_pktinfo from = {.ipi6_ifindex = path->to.sin6_scope_id};
	int tos = r->tos;

	memcpy(&from.ipi6_addr, path->own, 16);
	*m = (struct msghdr){.msg_name = &path->to,
			     .msg_namelen = sizeof(path->to),
			     .msg_iov = &l->tx.iov[r->first],
			     .msg_iovlen = r->count,
			     .msg_control = control};
	put_control(m, control, IPPROTO_IPV6, IPV6_PKTINFO, &from, sizeof(from));
	if (path->ipv6)
		put_control(m, control, IPPROTO_IPV6, IPV6_TCLASS, &tos, sizeof(tos));
	else
		put_control(m, control, IPPROTO_IP, IP_TOS, &tos, sizeof(tos));
	if (r->count > 1)
		put_control(m, control, SOL_UDP, UDP_SEGMENT, &r->segment, sizeof(r->segment));
}

/* Hand the runs to the kernel; false: its buffer is full, what is left waits. */
static bool flush(struct rs_live *l)
{
	struct rs_tx *t = &l->tx;
	struct mmsghdr m[RS_TX_BATCH];
	_Alignas(8) uint8_t control[RS_TX_BATCH][128];

	for (unsigned i = t->runs_sent; i < t->runs; i++)
		address(l, &t->run[i], &m[i].msg_hdr, control[i]);
	while (t->runs_sent < t->runs) {
		int n = sendmmsg(l->udp, &m[t->runs_sent], t->runs - t->runs_sent, MSG_DONTWAIT);

		l->counters.tx_calls++;
		if (n < 0 && (errno == EAGAIN || errno == ENOBUFS))
			return false;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			/* No segmentation on this way, no route, or a peer's ICMP: lost. */
			t->gso &= errno != EIO && errno != EINVAL;
			l->counters.tx_refused++;
			n = 1;
		}
		t->runs_sent += (unsigned)n;
		l->counters.tx_datagrams += (unsigned)n;
	}
	t->packets = t->runs = t->runs_sent = 0;
	return true;
}

/* The port is still sending what it has. */
static bool port_busy(struct rs_live *l, rs_time ahead)
{
	if (l->port_free <= ahead)
		return false;
	l->tx_again = l->port_free;
	return true;
}

static void occupy_port(struct rs_live *l, const struct rs_packet *p, rs_time now)
{
	l->port_free = rs_time_max(l->port_free, now - RS_PACE_LATE) +
		       rs_pace_time(l->port_pace, rs_packet_link_bytes(p));
}

void rs_tx_run(struct rs_live *l)
{
	struct rs_tx *t = &l->tx;

	for (;;) {
		rs_time now, ahead;

		t->blocked = t->runs && !flush(l);
		if (t->blocked)
			return;
		ahead = rs_live_clock(l) + AHEAD;
		now = rs_time_max(ahead - AHEAD, l->floor);
		while (t->packets < RS_TX_BATCH && !port_busy(l, ahead)) {
			struct rs_packet *p = rs_nic_tx(l->nic, 0, now, &l->tx_again);

			if (!p && l->tx_again <= ahead) {
				l->floor = now = rs_time_max(now, l->tx_again);
				continue;
			}
			if (!p)
				break;
			occupy_port(l, p, now);
			encode(l, p);
			rs_pool_free(&l->free, p);
		}
		if (!t->packets)
			return;
	}
}
