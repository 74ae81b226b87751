/*
 * Whole Ethernet frames of a network interface (AF_PACKET), with what the kernel left undone:
 * bursts that it has not cut into packets and checksums that it has not filled in (virtio_net_hdr).
 * A burst of UDP is cut here as a NIC would cut it, so that a switch sees packets.
 */
#ifndef RS_BRIDGE_RAW_H
#define RS_BRIDGE_RAW_H

#include <linux/virtio_net.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

enum {
	RS_RAW_HEAD_MAX = 96,          /* Ethernet, IPv4 with options or IPv6, UDP */
	RS_RAW_FRAME_MAX = 65536 + 64, /* a burst: IP's longest and an Ethernet header */
};

/* A frame: its headers copied, so that each packet of a burst has its own; the rest borrowed. */
struct rs_raw {
	struct virtio_net_hdr vnet; /* as it is to be sent */
	uint8_t head_bytes;
	uint8_t ip_version; /* 4, 6; 0: neither */
	uint8_t tos;        /* DSCP << 2 | ECN; 0 without IP */
	uint16_t sport;     /* UDP's or TCP's source port; 0: neither, or a later fragment */
	bool roce;          /* a whole datagram to UDP port 4791 (IBTA annex A17) */
	uint8_t payload_at; /* of such a one: where rest has UDP's payload */
	uint8_t head[RS_RAW_HEAD_MAX];
	uint32_t rest_bytes;
	const uint8_t *rest;
};

struct rs_raw_burst {
	struct rs_raw all; /* the frame as it came; rest_bytes: what is left of it */
	uint32_t segment;  /* bytes of a packet's payload; 0: not to be cut, or done */
	uint16_t ip_id;
	bool more;
};

/* False: no frame (shorter than an Ethernet header, or a burst whose headers are not what vnet
 * says). frame is borrowed as long as any of its packets are used. */
bool rs_raw_begin(struct rs_raw_burst *b, const uint8_t *frame, size_t n,
		  const struct virtio_net_hdr *vnet);
/* The next packet; false: there is none. A burst of TCP comes as one. */
bool rs_raw_next(struct rs_raw_burst *b, struct rs_raw *out);
/* Another TOS or traffic class, the IPv4 checksum made right. Not without an IP header. */
void rs_raw_set_tos(struct rs_raw *r, uint8_t tos);

/* Turns one bit of a RoCEv2 packet over, of those that the ICRC covers (annex A17.3.3), and keeps
 * UDP's checksum right: only the ICRC tells. Writes to the frame that was borrowed. Each number
 * below 2^32 stands for a bit. */
void rs_raw_corrupt(struct rs_raw *r, uint32_t which);

/* Other bytes at the end of a RoCEv2 packet, an even number of them and behind an even number of
 * its payload's, and UDP's checksum made right. Writes to the frame that was borrowed. */
void rs_raw_set_end(struct rs_raw *r, const uint8_t *bytes, uint32_t n);

/* A socket that gives and takes all frames of the interface, each behind a virtio_net_hdr; what
 * this host itself sends there is left out. Not blocking. -EPERM (CAP_NET_RAW), -ENODEV. */
int rs_raw_open(const char *netdev, int *fd, struct rs_error *e);

#endif
