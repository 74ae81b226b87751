/*
 * In-band telemetry as HPCC has it (Li et al., SIGCOMM 2019, §4.1 and its ns-3): eight bytes a hop,
 * five hops, behind two bytes that count them. A switch stamps a data packet as it leaves its
 * queue; the receiver returns the stamps in its ACK.
 */
#ifndef RS_WIRE_TELEMETRY_H
#define RS_WIRE_TELEMETRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/time.h"
#include "wire/packet.h"

enum {
	RS_INT_BYTES = 2 + 8 * RS_INT_HOPS, /* on the wire, however many hops are used */
	RS_INT_SENT_UNIT = 128,             /* bytes, times the scale */
	RS_INT_QUEUE_UNIT = 80,
};

/*
 * As a scale: stamps of switches and NICs in software, whose links have any rate from 1 Mb/s and
 * whose round trips take milliseconds at times. Rate 8 bits, never 0: the greatest of 256 figures
 * of two digits that is not above it; time 20, of 1024 ns; sent 20 and queue 16, as of scale 4.
 */
#define RS_INT_SOFTWARE UINT32_MAX

/* A stamp: rate 4 bits, never 0; time 24, ns; sent 20; queue 16. */
struct rs_int_stamp {
	uint32_t time, queue; /* ns modulo time_wrap; bytes */
	uint32_t time_wrap;   /* a power of two */
	uint64_t sent;        /* bytes, modulo rs_int_wrap() */
	int64_t rate;
};

/* The units of counters grow with the NICs' rate: 1 at 25 Gb/s, 4 at 100 Gb/s. */
static inline uint32_t rs_int_scale(int64_t nic_rate)
{
	return nic_rate > 50 * RS_GBPS    ? (uint32_t)(nic_rate / (25 * RS_GBPS))
	       : nic_rate == 50 * RS_GBPS ? 2
					  : 1;
}

static inline uint64_t rs_int_wrap(uint32_t scale)
{
	return (UINT64_C(1) << 20) * RS_INT_SENT_UNIT * (scale == RS_INT_SOFTWARE ? 4 : scale);
}

/* The code of a link's rate: the fastest that is not above it. 1..15, in software 1..255. */
uint8_t rs_int_rate_code(int64_t rate, uint32_t scale);
uint64_t rs_int_pack(uint8_t rate_code, rs_time now, uint64_t sent, uint64_t queue, uint32_t scale);
void rs_int_unpack(uint64_t stamp, uint32_t scale, struct rs_int_stamp *out);

/*
 * Into the first free place; a sixth hop is not recorded. link: a number of the switch and its
 * port, well mixed. The paper's pathID: what a packet passed, by exclusive or (there of 12 bits,
 * which share the two bytes with the count of hops; here 32, so that no two paths are taken for
 * one).
 */
static inline void rs_int_push(struct rs_packet *p, uint64_t stamp, uint32_t link)
{
	p->int_path ^= link;
	for (unsigned i = 0; i < RS_INT_HOPS; i++)
		if (!p->int_hop[i]) {
			p->int_hop[i] = stamp;
			return;
		}
}

/*
 * Live packets have the stamps behind the ICRC, which leaves them and the trailer out, as the
 * lengths of IP and UDP that it covers do: it is that of the packet without them. A bit of the
 * BTH's byte of FECN and BECN, which the ICRC does not cover either ("resv6", §9.2), says that a
 * trailer follows. Four bytes that name it, the path's number, the stamps.
 */
enum { RS_INT_TRAILER_BYTES = 8 + 8 * RS_INT_HOPS };

/* The trailer of a packet whose BTH and what follows it are n bytes; NULL: it has none that is
 * whole, or is of a kind that never has one. */
const uint8_t *rs_int_trailer_find(const uint8_t *bth, size_t n);
/* Into int_path and int_hop[], or from there. */
void rs_int_trailer_get(const uint8_t *trailer, struct rs_packet *p);
void rs_int_trailer_put(const struct rs_packet *p, uint8_t *trailer);
/* May packets of this opcode have one? Those of RC, but for those whose headers take the stamps'
 * place in struct rs_packet. */
bool rs_int_trailer_may(uint8_t opcode);

#endif
