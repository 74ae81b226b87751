/* Datagrams to packets: batches from the kernel, coalesced blocks cut, headers written anew so that
 * the one decoder of wire/ reads what a NIC would see. */
#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include "live/near.h"
#include "live/state.h"
#include "base/bytes.h"
#include "live/stamps.h"
#include "wire/crc.h"
#include "wire/filler.h"
#include "wire/headers.h"
#include "wire/telemetry.h"

#ifndef UDP_GRO
#define UDP_GRO 104
#endif

enum { IPPROTO_UDP_ = 17, DF = 0x4000, DEST_QP_AT = 5, MULTICAST_SLOT = 0xff, SPECIAL_SLOT = 0 };

int rs_rx_init(struct rs_live *l)
{
	l->rx.bytes = malloc(sizeof(*l->rx.bytes) * RS_RX_BATCH);
	return l->rx.bytes ? 0 : -ENOMEM;
}

void rs_rx_fini(struct rs_live *l)
{
	free(l->rx.bytes);
}

static void write_ipv4(uint8_t *b, const struct rs_datagram *d)
{
	b[0] = 0x45;
	b[1] = d->tos;
	rs_put16(b + 2, (uint32_t)(RS_IPV4_BYTES + RS_UDP_BYTES + d->n));
	rs_put16(b + 4, d->id);
	rs_put16(b + 6, DF);
	b[8] = 64;
	b[9] = IPPROTO_UDP_;
	rs_put16(b + 10, 0);
	memcpy(b + 12, d->peer + 12, 4);
	memcpy(b + 16, d->own + 12, 4);
	rs_put16(b + 10, rs_internet_checksum(b, RS_IPV4_BYTES));
}

static void write_ipv6(uint8_t *b, const struct rs_datagram *d)
{
	rs_put32(b, UINT32_C(6) << 28 | (uint32_t)d->tos << 20);
	rs_put16(b + 4, (uint32_t)(RS_UDP_BYTES + d->n));
	b[6] = IPPROTO_UDP_;
	b[7] = 64;
	memcpy(b + 8, d->peer, 16);
	memcpy(b + 24, d->own, 16);
}

/* The frame that held the datagram, from what the kernel tells of it. */
static uint8_t *write_headers(const struct rs_datagram *d, size_t *n)
{
	bool ipv6 = !rs_gid_is_ipv4(d->peer);
	size_t ip = ipv6 ? RS_IPV6_BYTES : RS_IPV4_BYTES;
	uint8_t *udp = d->bytes - RS_UDP_BYTES, *frame = udp - ip - RS_ETH_BYTES;

	memset(frame, 0, RS_ETH_BYTES);
	rs_put16(frame + 12, ipv6 ? 0x86dd : 0x0800);
	if (ipv6)
		write_ipv6(frame + RS_ETH_BYTES, d);
	else
		write_ipv4(frame + RS_ETH_BYTES, d);
	rs_put16(udp, d->sport);
	rs_put16(udp + 2, RS_UDP_PORT);
	rs_put16(udp + 4, (uint32_t)(RS_UDP_BYTES + d->n));
	rs_put16(udp + 6, 0);
	*n = RS_ETH_BYTES + ip + RS_UDP_BYTES + d->n;
	return frame;
}

/* Extended headers that are read here; packets with others, and all that looks odd, go through
 * wire/'s decoder. */
enum {
	OTHER_HEADERS =
		RS_F_XRCETH | RS_F_DETH | RS_F_FETH | RS_F_ATOMIC | RS_F_ATOMIC_ACK | RS_F_CNP,
	VERSION = 0x0f, /* beside the pad count, in the BTH's second byte */
	PAD_SHIFT = 4,
	PAD_MAX = 3,
	MIGREQ = 0x40, /* there, too */
	ACKREQ = 0x80, /* in the ninth */
};

/* Does the BTH say that its sender's recovery is selective? Read only where ours may be. */
static bool said(const uint8_t *bth)
{
	return bth[8] & (RS_BTH8_CAN | RS_BTH8_EXTENDED) && (bth[0] & 0xe0) == RS_RC;
}

/* Of the header of our own (wire/roce.h). */
static size_t own_bytes(const uint8_t *bth)
{
	if (!(bth[8] & RS_BTH8_EXTENDED))
		return 0;
	return rs_opcodes[bth[0]].flags & RS_F_AETH ? RS_SACK_BYTES : RS_RETH_BYTES;
}

/* The reverse of encode.c's write_own(), behind the BTH. */
static void read_own(const uint8_t *b, uint32_t flags, bool extended, struct rs_packet *p)
{
	p->bth_flags |= RS_BTH_CAN | (extended ? RS_BTH_EXTENDED : 0);
	b = rs_extended_get(b, p, flags);
	if (extended && flags & RS_F_AETH) {
		p->rkey = rs_get32(b);
		p->va = rs_get64(b + 4);
	} else if (extended) {
		p->va = rs_get64(b);
		p->rkey = rs_get32(b + 8);
		p->dma_bytes = rs_get32(b + 12);
	}
}

/* The packets that most are: BTH, RETH or AETH, an immediate, payload. False: another kind, or
 * its ICRC is not that for the identification which its place in the block stands for. */
static bool decode_plain(struct rs_live *l, const struct rs_datagram *d, struct rs_packet *p)
{
	const uint8_t *b = d->bytes;
	const struct rs_opcode *op = &rs_opcodes[b[0]];
	size_t head = RS_BTH_BYTES + op->ext_bytes, pad = b[1] >> PAD_SHIFT & PAD_MAX;
	const struct rs_path *path = &l->paths.path[d->path];
	uint32_t crc;

	if (!(op->flags & RS_F_VALID) || op->flags & OTHER_HEADERS || b[1] & VERSION ||
	    d->path == UINT32_MAX || d->id >= RS_ICRC_IDS || d->n % 4 ||
	    d->n < head + pad + !!pad + RS_ICRC_BYTES ||
	    d->n > head + RS_ICRC_BYTES + RS_MAX_PAYLOAD ||
	    (d->n > head + RS_ICRC_BYTES && !(op->flags & RS_F_PAYLOAD)))
		return false;
	crc = rs_icrc_head(&l->rx.icrc, path, d->path, true, d->sport, b, d->n, d->id);
	crc = rs_crc32(crc, b + RS_BTH_BYTES, d->n - RS_BTH_BYTES - RS_ICRC_BYTES);
	if (crc != rs_get32_le(b + d->n - RS_ICRC_BYTES))
		return false;
	memset(p, 0, offsetof(struct rs_packet, va));
	p->next = RS_NO_PACKET;
	rs_bth_get(b, p);
	p->tos = d->tos;
	p->sport = d->sport;
	p->payload = b + head;
	p->payload_bytes = (uint16_t)(d->n - head - pad - RS_ICRC_BYTES);
	p->frame_bytes = rs_frame_bytes(p->opcode, p->payload_bytes, path->ipv6);
	rs_extended_get(b + RS_BTH_BYTES, p, op->flags & ~OTHER_HEADERS);
	p->src = d->path;
	return true;
}

/* Its answers are held from the first on while the window to who reads is closed. */
static void join_reader(struct rs_live *l, uint32_t qpn)
{
	const struct rs_qp *qp = rs_nic_find_qp(l->nic, qpn);

	if (qp && rs_qp_get_state(qp) >= RS_QPS_RTR)
		rs_live_join(l, qp, false);
}

void rs_rx_give(struct rs_live *l, struct rs_packet *p, rs_time now)
{
	uint32_t f = rs_opcodes[p->opcode].flags;

	rs_live_arrives();
	if (f & RS_F_READ && f & RS_F_REQUEST)
		join_reader(l, p->dest_qp);
	else if (f & RS_F_READ)
		l->reader = p->dest_qp;
	if (__builtin_expect(l->stamps != NULL, 0))
		rs_stamps_complete(l, p, now);
	rs_flow_rx(&l->flow, p, now);
}

/* Is the ICRC right for some identification? */
static bool icrc_holds(struct rs_live *l, const struct rs_datagram *d)
{
	uint32_t received = rs_get32_le(d->bytes + d->n - RS_ICRC_BYTES);
	size_t n;
	const uint8_t *ip = write_headers(d, &n) + RS_ETH_BYTES;

	n -= RS_ETH_BYTES + RS_ICRC_BYTES;
	if (!rs_gid_is_ipv4(d->peer))
		return rs_icrc(ip, n, true) == received;
	return rs_icrc_any_id(l, ip, n, received);
}

/* Of a queue pair whose recovery is selective. */
static enum rs_rx_verdict classify_own(struct rs_live *l, const struct rs_datagram *d,
				       struct rs_packet *p)
{
	const uint8_t *b = d->bytes;
	const struct rs_opcode *op = &rs_opcodes[b[0]];
	size_t own = own_bytes(b), head = RS_BTH_BYTES + op->ext_bytes + own;
	size_t pad = b[1] >> PAD_SHIFT & PAD_MAX;

	if (!(op->flags & RS_F_VALID) || op->flags & (RS_F_CNP | RS_F_FETH) || b[1] & VERSION ||
	    d->n % 4 || d->n < head + pad + !!pad + RS_ICRC_BYTES ||
	    d->n > head + RS_ICRC_BYTES + RS_MAX_PAYLOAD ||
	    (d->n > head + RS_ICRC_BYTES && !(op->flags & RS_F_PAYLOAD)))
		return RS_RX_MALFORMED;
	if (d->path == UINT32_MAX)
		return RS_RX_STRANGER;
	memset(p, 0, sizeof(*p));
	p->next = RS_NO_PACKET;
	p->corrupt = !icrc_holds(l, d);
	rs_bth_get(b, p);
	read_own(b + RS_BTH_BYTES, op->flags, own != 0, p);
	p->tos = d->tos;
	p->sport = d->sport;
	p->payload = b + head;
	p->payload_bytes = (uint16_t)(d->n - head - pad - RS_ICRC_BYTES);
	p->frame_bytes = rs_frame_bytes(p->opcode, p->payload_bytes, !rs_gid_is_ipv4(d->peer));
	p->src = d->path;
	return RS_RX_ENGINE;
}

/* Of a packet that is not plain: by wire/'s decoder. */
static enum rs_rx_verdict classify_other(struct rs_live *l, const struct rs_datagram *d,
					 struct rs_packet *p)
{
	struct rs_frame f;
	size_t n;
	uint8_t *frame = write_headers(d, &n);
	enum rs_decode r = rs_frame_decode(frame, n, &f, p, NULL);

	/* A reserved opcode is the responder's to refuse; of another transport version (§9.6.1) the
	 * packet is for no process. */
	if ((r != RS_DECODE_OK && r != RS_DECODE_RESERVED) || f.tver)
		return RS_RX_MALFORMED;
	if (p->corrupt && !f.ipv6)
		p->corrupt = !rs_icrc_any_id(l, frame + RS_ETH_BYTES,
					     n - RS_ETH_BYTES - RS_ICRC_BYTES, f.icrc);
	if (p->dest_qp == RS_GSI_QPN || p->dest_qp == rs_grant_qpn(l->slot))
		return rs_gsi_is_mad(p) ? RS_RX_MANAGEMENT : RS_RX_BAD_MAD;
	p->src = d->path;
	if (p->src == UINT32_MAX && (p->opcode & 0xe0) == RS_UD)
		p->src = rs_paths_temporary(l, d->own, d->peer);
	p->dst = p->dest_qp == RS_MULTICAST_QPN ? rs_group_of(l, d->own) : 0;
	p->tc = 0;
	return p->src == UINT32_MAX ? RS_RX_STRANGER : RS_RX_ENGINE;
}

/* Of this process, in whichever form. A filler is no part of the packet. */
static enum rs_rx_verdict classify_form(struct rs_live *l, struct rs_datagram *d,
					struct rs_packet *p)
{
	size_t filler = rs_filler_find(d->bytes, d->n);
	enum rs_rx_verdict v;

	d->n -= filler;
	d->plain = false;
	if (__builtin_expect(l->selective, 0) && said(d->bytes)) {
		v = classify_own(l, d, p);
	} else {
		d->plain = decode_plain(l, d, p);
		v = d->plain ? RS_RX_ENGINE : classify_other(l, d, p);
	}
	d->n += filler;
	return v;
}

/* Where congestion control reads telemetry: a trailer is no part of the packet. */
static enum rs_rx_verdict classify_stamped(struct rs_live *l, const struct rs_datagram *d,
					   struct rs_packet *p)
{
	const uint8_t *trailer = rs_int_trailer_find(d->bytes, d->n);
	struct rs_datagram plain = *d;
	enum rs_rx_verdict v;

	plain.n -= trailer ? RS_INT_TRAILER_BYTES : 0;
	v = classify_form(l, &plain, p);
	if (v == RS_RX_ENGINE)
		rs_stamps_read(l, d->bytes, trailer, p);
	return v;
}

/* What a datagram is, p being the packet that it becomes, and whose. */
static enum rs_rx_verdict classify(struct rs_live *l, struct rs_datagram *d, struct rs_packet *p)
{
	unsigned slot;

	if (d->n < RS_BTH_BYTES + RS_ICRC_BYTES)
		return RS_RX_MALFORMED;
	slot = d->bytes[DEST_QP_AT];
	if (slot == SPECIAL_SLOT)
		slot = d->handed_over ? l->slot : rs_gsi_slot(l, d);
	d->slot = (uint8_t)slot;
	/* Kernels that choose among the group's sockets for multicast, too, know no members. */
	if (slot == MULTICAST_SLOT && !d->handed_over && rs_group_of(l, d->own) == UINT32_MAX)
		return RS_RX_OTHERS;
	/* What was handed over is not handed on: a wrong lease must not make a loop. */
	if (slot != l->slot && slot != MULTICAST_SLOT)
		return d->handed_over ? RS_RX_MALFORMED : RS_RX_OTHERS;
	if (!p)
		return RS_RX_NO_ROOM;
	if (__builtin_expect(l->stamps != NULL, 0))
		return classify_stamped(l, d, p);
	return classify_form(l, d, p);
}

void rs_rx_drop(struct rs_live *l, enum rs_rx_verdict why)
{
	struct rs_live_counters *c = &l->counters;
	uint64_t *const counter[] = {
		[RS_RX_MALFORMED] = &c->rx_malformed, [RS_RX_STRANGER] = &c->rx_stranger,
		[RS_RX_OWNERLESS] = &c->rx_ownerless, [RS_RX_BAD_MAD] = &c->rx_bad_mad,
		[RS_RX_NO_ROOM] = &c->rx_no_room,
	};

	++*counter[why];
}

/* A group's to all: who has joined it, each process knows for itself. */
static bool hand_over(struct rs_live *l, const struct rs_datagram *d)
{
	bool any = false;

	if (d->slot != MULTICAST_SLOT)
		return rs_steer_hand_over(l, d, d->slot);
	for (unsigned slot = RS_SLOT_FIRST; slot <= RS_SLOT_LAST; slot++)
		any |= rs_registry_leased(l->registry, slot) && rs_steer_hand_over(l, d, slot);
	return any;
}

/* One datagram: to the engine, to who minds QP1, to another process, or nowhere. */
static void take(struct rs_live *l, struct rs_datagram *d)
{
	struct rs_packet *p = rs_pool_alloc(&l->free);
	enum rs_rx_verdict v = classify(l, d, p);

	if (__builtin_expect(v == RS_RX_ENGINE, 1)) {
		rs_rx_give(l, p, d->now);
		return;
	}
	if (v == RS_RX_OTHERS && !hand_over(l, d))
		v = RS_RX_OWNERLESS;
	if (v == RS_RX_MANAGEMENT && !rs_gsi_receive(l, d, p))
		v = RS_RX_BAD_MAD;
	if (v >= RS_RX_DROPPED)
		rs_rx_drop(l, v);
	if (p)
		rs_pool_free(&l->free, p);
}

static void take_stray(struct rs_live *l, struct rs_datagram *d)
{
	d->path = rs_paths_find(&l->paths, d->own, d->peer);
	d->now = rs_live_now(l);
	d->handed_over = true;
	take(l, d);
}

bool rs_rx_strays(struct rs_live *l)
{
	bool any = rs_near_receive(l);

	return rs_steer_receive(l, take_stray) || any;
}

/* Addresses, TOS and the size of segments. False: no address, so nobody's. */
static bool read_control(struct msghdr *m, struct rs_datagram *d, size_t *segment)
{
	bool addressed = false;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		const uint8_t *data = CMSG_DATA(c);
		struct in6_pktinfo info;
		int value = 0;

		if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
			memcpy(&info, data, sizeof(info));
			memcpy(d->own, &info.ipi6_addr, 16);
			addressed = true;
		} else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) {
			d->tos = *data;
		} else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS) {
			memcpy(&value, data, sizeof(value));
			d->tos = (uint8_t)value;
		} else if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO) {
			memcpy(&value, data, sizeof(value));
			*segment = value > 0 ? (size_t)value : *segment;
		}
	}
	return addressed;
}

/* Of a Middle: what decode_plain() would let through. Neither pad nor version, and of the BTH's
 * reserved bits only that which says that it is filled. */
static bool is_middle(const struct rs_live *l, const struct rs_datagram *d, size_t filler)
{
	const uint8_t *b = d->bytes;

	return !((b[1] & ~MIGREQ) | (b[4] & ~RS_BTH4_FILLED) | (b[8] & ~ACKREQ)) &&
	       b[DEST_QP_AT] == l->slot && (filler || !b[4]) &&
	       d->n > RS_BTH_BYTES + RS_ICRC_BYTES + filler && d->n % 4 == 0;
}

/* The same headers as the first's, but for PSN and AckReq; the same filler; the ICRC of its place.
 */
static bool is_next(const struct rs_datagram *d, const uint8_t *b, size_t filler, uint32_t psn,
		    uint32_t crc)
{
	size_t n = d->n - filler;

	return !memcmp(b, d->bytes, 8) && !(b[8] & ~ACKREQ) && rs_get24(b + 9) == psn &&
	       (!filler || !memcmp(b + n, d->bytes + n, filler)) &&
	       rs_crc32(crc, b + RS_BTH_BYTES, n - RS_BTH_BYTES - RS_ICRC_BYTES) ==
		       rs_get32_le(b + n - RS_ICRC_BYTES);
}

static bool may_be_middle(uint8_t opcode)
{
	return opcode == (RS_RC | RS_OP_WRITE_MIDDLE) || opcode == (RS_RC | RS_OP_SEND_MIDDLE) ||
	       opcode == (RS_RC | RS_OP_READ_RESPONSE_MIDDLE);
}

/*
 * Middles of the message under way, behind one another in a block: each one's headers and ICRC are
 * looked at, and the engine judges and takes them in one go. Returns how many they are, d being the
 * first. Only behind a packet whose ICRC was that of its place: a NIC numbers its datagrams
 * otherwise.
 */
static unsigned take_middles(struct rs_live *l, const struct rs_datagram *d, size_t left)
{
	size_t filler, most = left / d->n;
	const struct rs_path *path;
	const uint8_t *b = d->bytes;
	struct rs_packet p;
	uint32_t fixed;
	unsigned n;
	bool asks = false;

	if (!d->plain || most < 2 || l->stamps || l->selective || d->n < RS_BTH_BYTES ||
	    !may_be_middle(b[0]) || d->id >= RS_ICRC_IDS)
		return 0;
	path = &l->paths.path[d->path];
	filler = rs_filler_find(b, d->n);
	if (!is_middle(l, d, filler))
		return 0;
	memset(&p, 0, offsetof(struct rs_packet, va));
	p.next = RS_NO_PACKET;
	rs_bth_get(b, &p);
	p.tos = d->tos;
	p.src = d->path;
	p.payload = b + RS_BTH_BYTES;
	p.payload_bytes = (uint16_t)(d->n - filler - RS_BTH_BYTES - RS_ICRC_BYTES);
	p.frame_bytes = rs_frame_bytes(p.opcode, p.payload_bytes, path->ipv6);
	if (most > (size_t)RS_ICRC_IDS - d->id)
		most = (size_t)RS_ICRC_IDS - d->id;
	most = rs_nic_rx_ahead(l->nic, &p, (uint32_t)most);
	if (!most)
		return 0;
	fixed = rs_icrc_fixed(&l->rx.icrc, path, d->path, true, d->sport, b, d->n - filler);
	for (n = 0; n < most; n++, b += d->n) {
		uint32_t crc = rs_icrc_behind(fixed, path, b, d->id + n);

		if (!is_next(d, b, filler, rs_psn_add(p.psn, n), crc))
			break;
		asks |= b[8] & ACKREQ;
	}
	if (!n)
		return 0;
	p.bth_flags = (uint8_t)(p.bth_flags & ~RS_BTH_ACKREQ) | (asks ? RS_BTH_ACKREQ : 0);
	rs_live_arrives();
	if (rs_opcodes[p.opcode].flags & RS_F_READ)
		l->reader = p.dest_qp;
	rs_flow_rx_middles(&l->flow, &p, n, d->n, d->now);
	return n;
}

static void take_block(struct rs_live *l, struct mmsghdr *m, unsigned i)
{
	size_t left = m->msg_len, segment = left;
	struct rs_datagram d = {.bytes = l->rx.bytes[i] + RS_RX_HEAD};

	l->counters.rx_datagrams++;
	if (left >= rs_live_tuning.bulk_bytes)
		l->bulk += left;
	if (left >= rs_live_tuning.gather_bytes)
		l->came += left;
	if ((m->msg_hdr.msg_flags & MSG_TRUNC) || !read_control(&m->msg_hdr, &d, &segment)) {
		rs_rx_drop(l, RS_RX_MALFORMED);
		return;
	}
	memcpy(d.peer, &l->rx.from[i].sin6_addr, 16);
	d.sport = ntohs(l->rx.from[i].sin6_port);
	d.path = rs_paths_find(&l->paths, d.own, d.peer);
	d.now = rs_time_max(l->clock, l->floor);
	/* Each packet's headers overwrite the end of the one before, which is done with. */
	while (left) {
		unsigned k;

		d.n = left < segment ? left : segment;
		if (!d.n) {
			take(l, &d);
			break;
		}
		k = take_middles(l, &d, left);
		if (!k) {
			take(l, &d);
			k = 1;
		}
		left -= k * d.n;
		d.bytes += k * d.n;
		d.id = (uint16_t)(d.id + k);
	}
}

/* One datagram while they come singly: whoever waits for it does not wait for a look at the next.
 */
static unsigned wanted(const struct rs_rx *rx)
{
	return rx->in_a_row >= rs_live_tuning.rx_singly ? RS_RX_BATCH : 1;
}

/* One message has a call of its own, which has less to read of what it is given. */
static int take_messages(struct rs_live *l, unsigned want)
{
	struct mmsghdr *m = l->rx.msg;
	ssize_t n;

	if (want == 1) {
		n = recvmsg(l->udp, &m->msg_hdr, MSG_DONTWAIT);
		m->msg_len = n < 0 ? 0 : (unsigned)n;
		n = n < 0 ? n : 1;
	} else {
		n = recvmmsg(l->udp, m, want, MSG_DONTWAIT, NULL);
	}
	return (int)n;
}

enum rs_rx_found rs_rx_run(struct rs_live *l)
{
	struct rs_rx *rx = &l->rx;
	unsigned want = wanted(rx);
	int n;

	for (unsigned i = 0; i < want; i++) {
		rx->iov[i] = (struct iovec){rx->bytes[i] + RS_RX_HEAD, RS_RX_SLOT - RS_RX_HEAD};
		rx->msg[i].msg_hdr = (struct msghdr){.msg_name = &rx->from[i],
						     .msg_namelen = sizeof(rx->from[i]),
						     .msg_iov = &rx->iov[i],
						     .msg_iovlen = 1,
						     .msg_control = rx->control[i],
						     .msg_controllen = sizeof(rx->control[i])};
	}
	n = take_messages(l, want);
	l->counters.rx_calls++;
	if (n <= 0) {
		rx->in_a_row = 0;
		return RS_RX_NONE;
	}
	rs_live_tick(l);
	for (int i = 0; i < n; i++)
		take_block(l, &rx->msg[i], (unsigned)i);
	rx->in_a_row++;
	return (unsigned)n == want && want > 1 ? RS_RX_MORE : RS_RX_SOME;
}
