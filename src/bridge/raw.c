/* Frames of interfaces and bursts cut into packets, as Linux's udp_gso does: identifications count
 * up, lengths and checksums are each packet's own (RFC 768, RFC 791, RFC 8200). */
#include "bridge/raw.h"

#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/bytes.h"
#include "base/error.h"
#include "wire/roce.h"
#include "wire/telemetry.h"

#ifndef PACKET_IGNORE_OUTGOING
#define PACKET_IGNORE_OUTGOING 23
#endif
#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5
#endif

enum {
	ETH = 14,
	IPV4_LEAST = 20,
	IPV6 = 40,
	UDP = 8,
	UDP_CHECK_AT = 6,
	RECEIVE_BUFFER = 64 << 20,
	SEND_BUFFER = 16 << 20,
};

/* ---- Headers ---- */

static uint8_t *ip_of(struct rs_raw *r)
{
	return r->head + ETH;
}

/* Bytes of the IP header; 0: none that is whole. */
static unsigned read_ip(struct rs_raw *r, const uint8_t *ip, size_t n, uint16_t ethertype)
{
	unsigned bytes;

	if (ethertype == ETH_P_IPV6 && n >= IPV6 && ip[0] >> 4 == 6) {
		r->ip_version = 6;
		r->tos = (uint8_t)(rs_get16(ip) >> 4);
		return IPV6;
	}
	if (ethertype != ETH_P_IP || n < IPV4_LEAST || ip[0] >> 4 != 4)
		return 0;
	bytes = (ip[0] & 15u) * 4;
	if (bytes < IPV4_LEAST || bytes > n)
		return 0;
	r->ip_version = 4;
	r->tos = ip[1];
	return bytes;
}

static bool is_udp(const struct rs_raw *r, const uint8_t *ip)
{
	return r->ip_version == 6 ? ip[6] == IPPROTO_UDP
				  : r->ip_version == 4 && ip[9] == IPPROTO_UDP;
}

/* Only what comes straight behind the IP header: a fragment of which it is not has no ports. */
static uint16_t source_port(const struct rs_raw *r, const uint8_t *ip, size_t n, unsigned ip_bytes)
{
	enum { FRAGMENT_OFFSET = 0x1fff };
	uint8_t protocol = r->ip_version == 6 ? ip[6] : ip[9];
	bool later = r->ip_version == 4 && rs_get16(ip + 6) & FRAGMENT_OFFSET;

	if ((protocol != IPPROTO_UDP && protocol != IPPROTO_TCP) || later || n < ip_bytes + 2u)
		return 0;
	return rs_get16(ip + ip_bytes);
}

/* A whole datagram to RoCEv2's port; a burst has the UDP header among its own. */
static bool is_roce(const struct rs_raw *r, const uint8_t *ip, size_t n, unsigned ip_bytes)
{
	enum { MORE_OR_LATER = 0x3fff };
	bool whole = r->ip_version == 6 || !(rs_get16(ip + 6) & MORE_OR_LATER);

	return is_udp(r, ip) && whole && n >= ip_bytes + UDP &&
	       rs_get16(ip + ip_bytes + 2) == RS_UDP_PORT;
}

/* The sum that a checksum left to hardware starts from: addresses, protocol, length. */
static uint16_t pseudo_header(const struct rs_raw *r, const uint8_t *ip, uint32_t udp_bytes)
{
	unsigned from = r->ip_version == 6 ? 8 : 12, n = r->ip_version == 6 ? 32 : 8;
	uint32_t sum = IPPROTO_UDP + udp_bytes;

	for (unsigned i = 0; i < n; i += 2)
		sum += rs_get16(ip + from + i);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static void sum_ipv4(uint8_t *ip)
{
	rs_put16(ip + 10, 0);
	rs_put16(ip + 10, rs_internet_checksum(ip, (ip[0] & 15u) * 4));
}

void rs_raw_set_tos(struct rs_raw *r, uint8_t tos)
{
	uint8_t *ip = ip_of(r);

	r->tos = tos;
	if (r->ip_version == 6) {
		rs_put16(ip, 6u << 12 | (unsigned)tos << 4 | (ip[1] & 15u));
	} else {
		ip[1] = tos;
		sum_ipv4(ip);
	}
}

/* ---- Bursts ---- */

bool rs_raw_begin(struct rs_raw_burst *b, const uint8_t *frame, size_t n,
		  const struct virtio_net_hdr *vnet)
{
	unsigned head = ETH, ip;

	*b = (struct rs_raw_burst){.more = true};
	if (n < ETH || n > RS_RAW_FRAME_MAX)
		return false;
	ip = read_ip(&b->all, frame + ETH, n - ETH, rs_get16(frame + 12));
	head += ip;
	if (ip)
		b->all.sport = source_port(&b->all, frame + ETH, n - ETH, ip);
	b->all.roce = ip && is_roce(&b->all, frame + ETH, n - ETH, ip);
	b->all.payload_at = UDP;
	if ((vnet->gso_type & ~VIRTIO_NET_HDR_GSO_ECN) == VIRTIO_NET_HDR_GSO_UDP_L4) {
		if (!ip || !is_udp(&b->all, frame + ETH) || n < head + UDP || !vnet->gso_size)
			return false;
		head += UDP;
		b->all.payload_at = 0;
		b->segment = vnet->gso_size;
		b->ip_id = b->all.ip_version == 4 ? rs_get16(frame + ETH + 4) : 0;
	}
	memcpy(b->all.head, frame, head);
	b->all.head_bytes = (uint8_t)head;
	b->all.rest = frame + head;
	b->all.rest_bytes = (uint32_t)(n - head);
	b->all.vnet = *vnet;
	b->all.vnet.flags &= VIRTIO_NET_HDR_F_NEEDS_CSUM;
	return true;
}

/* The headers of one packet with so many bytes of payload. */
static void write_lengths(struct rs_raw *r, uint32_t payload, uint16_t id)
{
	uint8_t *ip = ip_of(r), *udp = r->head + r->head_bytes - UDP;
	uint32_t udp_bytes = UDP + payload;

	if (r->ip_version == 6) {
		rs_put16(ip + 4, udp_bytes);
	} else {
		rs_put16(ip + 2, r->head_bytes - ETH + payload);
		rs_put16(ip + 4, id);
		sum_ipv4(ip);
	}
	rs_put16(udp + 4, udp_bytes);
	if (r->vnet.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)
		rs_put16(udp + UDP_CHECK_AT, pseudo_header(r, ip, udp_bytes));
}

bool rs_raw_next(struct rs_raw_burst *b, struct rs_raw *out)
{
	uint32_t n = b->all.rest_bytes;

	if (!b->more)
		return false;
	*out = b->all;
	if (b->segment) {
		n = n < b->segment ? n : b->segment;
		out->vnet.gso_type = VIRTIO_NET_HDR_GSO_NONE;
		out->vnet.gso_size = 0;
		write_lengths(out, n, b->ip_id++);
		out->rest_bytes = n;
	}
	b->all.rest += n;
	b->all.rest_bytes -= n;
	b->more = b->all.rest_bytes > 0;
	return true;
}

/* ---- Harm ---- */

/* RFC 1624: the checksum after 16 bits of what it covers went from one value to another. 0 is no
 * checksum (RFC 768). */
static void correct_sum(uint8_t *sum, uint32_t was, uint32_t is)
{
	uint32_t s = rs_get16(sum);

	if (!s)
		return;
	s = (~s & 0xffff) + (~was & 0xffff) + is;
	s = (s & 0xffff) + (s >> 16);
	s = ~(s + (s >> 16)) & 0xffff;
	rs_put16(sum, s ? s : 0xffff);
}

void rs_raw_corrupt(struct rs_raw *r, uint32_t which)
{
	enum { MASKED = 4 }; /* the BTH's byte of FECN and BECN, which the ICRC does not cover */
	uint8_t *payload = (uint8_t *)(uintptr_t)r->rest + r->payload_at, *sum;
	uint32_t n = r->rest_bytes - r->payload_at, bit, byte, was, shift;

	if (rs_int_trailer_find(payload, n))
		n -= RS_INT_TRAILER_BYTES; /* which the ICRC leaves out */
	if (n < MASKED + 2)
		return;
	bit = (uint32_t)((uint64_t)which * (n - 1) * 8 >> 32);
	byte = bit / 8 < MASKED ? bit / 8 : bit / 8 + 1;
	shift = byte & 1 ? 0 : 8; /* its place in the 16 bits that are summed */
	was = (uint32_t)payload[byte] << shift;
	payload[byte] ^= (uint8_t)(1u << bit % 8);
	if (r->vnet.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)
		return; /* summed when it is sent */
	sum = r->payload_at ? payload - UDP + UDP_CHECK_AT
			    : r->head + r->head_bytes - UDP + UDP_CHECK_AT;
	correct_sum(sum, was, (uint32_t)payload[byte] << shift);
}

/* ---- Telemetry ---- */

void rs_raw_set_end(struct rs_raw *r, const uint8_t *bytes, uint32_t n)
{
	uint8_t *payload = (uint8_t *)(uintptr_t)r->rest + r->payload_at;
	uint8_t *end = (uint8_t *)(uintptr_t)r->rest + r->rest_bytes - n;
	uint8_t *sum = r->payload_at ? payload - UDP + UDP_CHECK_AT
				     : r->head + r->head_bytes - UDP + UDP_CHECK_AT;

	rs_assert(n % 2 == 0 && (end - payload) % 2 == 0);
	if (!(r->vnet.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)) /* else summed when it is sent */
		for (uint32_t i = 0; i < n; i += 2)
			correct_sum(sum, rs_get16(end + i), rs_get16(bytes + i));
	memcpy(end, bytes, n);
}

/* ---- Sockets ---- */

static int set_int(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) ? -errno : 0;
}

static int set_options(int fd, int index)
{
	struct packet_mreq all = {.mr_ifindex = index, .mr_type = PACKET_MR_PROMISC};
	int err = set_int(fd, SOL_PACKET, PACKET_VNET_HDR, 1);

	if (!err)
		err = set_int(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1);
	if (!err)
		err = set_int(fd, SOL_PACKET, PACKET_AUXDATA, 1);
	if (!err && setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof(all)))
		err = -errno;
	if (set_int(fd, SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER))
		set_int(fd, SOL_SOCKET, SO_RCVBUF, RECEIVE_BUFFER);
	if (set_int(fd, SOL_SOCKET, SO_SNDBUFFORCE, SEND_BUFFER))
		set_int(fd, SOL_SOCKET, SO_SNDBUF, SEND_BUFFER);
	return err;
}

int rs_raw_open(const char *netdev, int *fd, struct rs_error *e)
{
	struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
	int err;

	at.sll_ifindex = (int)if_nametoindex(netdev);
	if (!at.sll_ifindex)
		return rs_error_set(e, -ENODEV, "there is no network interface '%s'", netdev);
	/* protocol 0: nothing arrives before the options are set */
	*fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (*fd < 0) {
		err = -errno;
		rs_error_set(e, err, "cannot open a packet socket: %s", strerror(-err));
		rs_error_hint(e, "it needs CAP_NET_RAW in this network namespace: root, or "
				 "unshare -rn");
		return err;
	}
	err = set_options(*fd, at.sll_ifindex);
	if (!err && bind(*fd, (struct sockaddr *)&at, sizeof(at)))
		err = -errno;
	if (!err)
		return 0;
	close(*fd);
	return rs_error_set(e, err, "cannot take the frames of '%s': %s", netdev, strerror(-err));
}
