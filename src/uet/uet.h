/*
 * An Ultra Ethernet endpoint: the packet delivery sublayer (PDS) of Ultra Ethernet specification
 * 1.0, as far as the consortium's own simulator (uet-htsim 40ccb052) fixes it. Packet delivery
 * contexts (PDCs) deliver requests unordered (RUD) or ordered (ROD); ACKs carry a cumulative PSN, a
 * bitmap and a count of bytes; switches may trim, and a NACK names what they trimmed. NSCC and
 * RCCC (uet/nscc.h, credit.c) say what may be sent, a load balancer (cc/balance.h) on which path.
 *
 * A state machine in the shape of port/endpoint.h: no I/O, no clock, no thread, and no memory is
 * taken while packets move. What is simplified is in docs/uet.md.
 *
 * Cost: a PDC that sends has 0.4 kB and 16 B for each PSN that may be unacknowledged (conf.mpr),
 * one that receives 0.2 kB and 2 bits. A packet touches its PDC, a record and, in ACKs, both its
 * lines.
 */
#ifndef RS_UET_UET_H
#define RS_UET_UET_H

#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"
#include "cc/balance.h"
#include "port/endpoint.h"
#include "uet/nscc.h"
#include "wire/pool.h"

/* What a packet is: struct rs_packet.opcode, where its kind is RS_KIND_OTHER. */
enum rs_uet_opcode {
	RS_UET_REQUEST, /* RUD or ROD request: payload of a message */
	RS_UET_ACK,
	RS_UET_NACK,   /* a request was trimmed, or came out of order in ROD */
	RS_UET_CREDIT, /* RCCC: what the receiver lets its peer send */
	RS_UET_PROBE,  /* asks for an ACK; without credit or window, for credit too */
};

enum rs_uet_delivery { RS_UET_RUD, RS_UET_ROD };

enum { RS_UET_MPR_LEAST = 64, RS_UET_MPR_MOST = 16384, RS_UET_PSN_BITMAP = 64 };

struct rs_uet_conf {
	uint32_t endpoint; /* src of its packets */
	uint64_t seed;
	int64_t rate; /* of its port, bits per second */
	uint16_t gap; /* bytes that a frame takes on the link beside itself */
	enum rs_uet_delivery delivery;
	uint16_t header;  /* bytes of a frame beside its payload */
	uint16_t control; /* frame bytes of ACK, NACK, credit and probe */
	uint8_t control_tc, control_tos;
	struct rs_nscc_conf cc; /* derived */
	bool credits;           /* RCCC */
	uint32_t credit;        /* bytes that one credit packet grants; 16384 */
	struct rs_balance_conf balance;
	uint32_t ack_bytes; /* of new data, and an ACK goes; 16384 */
	rs_time rto;
	bool sleek;   /* recovery from drops where nothing trims */
	uint32_t mpr; /* PSNs that may be unacknowledged: a power of two within the limits above */
	uint32_t first, n_ends; /* numbers of its PDCs */
	uint32_t news;          /* that may wait to be taken, at most */
	struct rs_pool_list *free;
	/* A packet came for a PDC that is not open: true when it is by now. NULL: it is not. */
	bool (*absent)(void *arg, uint32_t number);
	void *absent_arg;
};

/* One end of a connection: a PDC's sending or its receiving half. */
struct rs_uet_end {
	uint32_t number;
	uint32_t peer, peer_number; /* endpoint; the number there */
	bool receiver;
	uint32_t depth; /* messages that may be under way, at most */
	uint8_t tc, tos;
	uint16_t entropy; /* of RS_BALANCE_FIXED, and of a receiver's own packets; 0: drawn */
	uint64_t user;
	/* A receiver that begins behind so many packets of so many frame bytes: it was closed. */
	uint32_t past_packets;
	uint64_t past_bytes;
	uint8_t *sink; /* where what arrives is put, by its place in all messages; NULL: nowhere */
	uint64_t room;
};

struct rs_uet_news {
	uint64_t user;
	bool arrived; /* at a receiver; false: a message was acknowledged */
};

/* Of all its PDCs, closed ones too. */
struct rs_uet_counters {
	uint64_t sent, taken, dropped; /* packets of any kind; dropped: for no PDC, or unfit */
	uint64_t requests, resent;     /* resent ones among the requests */
	uint64_t payload;              /* bytes sent, not those sent again */
	uint64_t useful;               /* bytes of frames that came whole, for the first time */
	uint64_t acks, nacks, credits, probes; /* sent */
	uint64_t acks_taken, nacks_taken;
	uint64_t timeouts;            /* packets that timed out */
	uint64_t marked;              /* requests that came with ECN's CE */
	uint64_t duplicates, trimmed; /* requests that came so */
	uint64_t by_sleek;            /* requests that SLEEK sent again */
	uint64_t cuts, increases;     /* of windows */
	uint32_t most_out_of_order;   /* held by one PDC at a time */
};

/* A PDC that sends, at a moment. */
struct rs_uet_now {
	int64_t rate;               /* window a round trip, the port's at most: bits per second */
	uint64_t window, in_flight; /* UINT64_MAX: no window */
	uint64_t acked;             /* bytes of frames */
	uint64_t resent_nack, resent_timeout, cuts, increases;
};

struct rs_uet;

/* -ENOMEM, -EINVAL. free and absent_arg outlive it. */
int rs_uet_create(const struct rs_uet_conf *c, struct rs_uet **out, struct rs_error *e);
void rs_uet_destroy(struct rs_uet *u);
struct rs_endpoint *rs_uet_endpoint(struct rs_uet *u);

/* -ENOMEM; -EEXIST: it is open; -EINVAL: no such number. */
int rs_uet_open(struct rs_uet *u, const struct rs_uet_end *end);
void rs_uet_close(struct rs_uet *u, uint32_t number);
/* The user of an end; false: it is not open. */
bool rs_uet_user(const struct rs_uet *u, uint32_t number, uint64_t *user);
/* A message behind those that were posted before; tell: the receiver has news of it. data: its
 * bytes, borrowed until it is acknowledged; NULL: none are moved. -ENOSPC: `depth` are under way.
 */
int rs_uet_post(struct rs_uet *u, uint32_t number, uint64_t bytes, bool tell, const uint8_t *data,
		rs_time now);
/* The next news; false: there is none. Messages of a PDC are told of in the order in which they
 * were posted, though their packets may come in any. */
bool rs_uet_take_news(struct rs_uet *u, struct rs_uet_news *out);
bool rs_uet_look(const struct rs_uet *u, uint32_t number, struct rs_uet_now *out);
/* A receiver has all of so many packets. */
bool rs_uet_has_all(const struct rs_uet *u, uint32_t number, uint32_t packets);
/* The same, whatever it may still have to answer. */
bool rs_uet_received(const struct rs_uet *u, uint32_t number, uint32_t packets);
/* Numbers of PDCs are first .. first + n - 1 from now on. -ENOMEM. */
int rs_uet_more(struct rs_uet *u, uint32_t n);
const struct rs_uet_counters *rs_uet_get_counters(const struct rs_uet *u);
/* Bytes of memory of one PDC. */
size_t rs_uet_end_bytes(const struct rs_uet_conf *c, bool receiver);

#endif
