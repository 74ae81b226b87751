/*
 * Follows RoCEv2 traffic packet by packet, as a third party that saw it go by: connections, gaps,
 * retransmissions with their cause, NAKs, RNR waits, marks and CNPs, goodput, and what the standard
 * forbids. It knows nothing but the packets: what was lost before the place of capture is a gap,
 * what was lost behind it comes again.
 */
#ifndef RS_CAPTURE_FOLLOW_H
#define RS_CAPTURE_FOLLOW_H

#include "wire/frame.h"

struct rs_follow;

enum rs_follow_kind {
	RS_FOLLOW_WRONG,      /* against the standard: field `what` says how */
	RS_FOLLOW_GAP,        /* a request skipped PSNs: lost before the capture */
	RS_FOLLOW_RESENT,     /* the requester went back */
	RS_FOLLOW_NAK,        /* negative acknowledgement, RNR apart */
	RS_FOLLOW_RNR,        /* receiver not ready */
	RS_FOLLOW_CNP,        /* the first of a stream, and one that came too soon */
	RS_FOLLOW_CM,         /* a message of connection management */
	RS_FOLLOW_UNANSWERED, /* at the end: nothing came for requests that ask for an answer */
	RS_FOLLOW_KINDS,
};

enum rs_follow_cause {
	RS_CAUSE_NONE,
	RS_CAUSE_NAK,       /* a sequence NAK came before */
	RS_CAUSE_RNR,       /* an RNR NAK came before, and its time is over */
	RS_CAUSE_TIMEOUT,   /* nothing came for long */
	RS_CAUSE_DUPLICATE, /* the network delivered the packet twice */
	RS_CAUSE_READ_LOSS, /* a READ is asked for again from within */
	RS_CAUSE_LATE,      /* not sent again: the network overtook it */
	RS_CAUSES,
};

struct rs_follow_event {
	enum rs_follow_kind kind;
	enum rs_follow_cause cause;
	uint32_t packet;  /* number in the capture, from 1 */
	int64_t when_ns;  /* since the first packet */
	uint32_t stream;  /* index; UINT32_MAX: none */
	uint32_t psn, n;  /* n: PSNs skipped, packets that went again */
	int64_t delay_ns; /* since what caused it */
	char what[160];
};

/* One direction: requests to one queue pair, and the answers to them. */
struct rs_follow_stream {
	uint8_t sip[16], dip[16]; /* of the requester, of the responder */
	uint32_t dest_qp;         /* the responder's */
	uint32_t peer_qp;         /* the requester's, once an answer names it; 0: not known */
	uint32_t interface; /* of the capture, where its requests were first seen; others are copies
			     */
	uint8_t transport;  /* enum rs_transport */
	uint16_t mtu;       /* path MTU as seen; 0: no message of several packets */
	int64_t first_ns, last_ns;
	uint64_t packets, frame_bytes, payload_bytes; /* requests and READ responses */
	uint64_t messages, message_bytes;             /* whole ones, counted once, with READ data */
	uint64_t acks, naks, rnr_naks, duplicates, resent, gaps, gap_psns;
	uint64_t resent_by[RS_CAUSES];
	uint64_t late; /* packets that came after later ones */
	/* Requests and READ responses whose IP header says so, at the place of capture where it
	 * says so of most: a switch marks behind the first. */
	uint64_t ect, ce;
	uint64_t becn, cnps;     /* answers that echo a mark; CNPs that came back */
	int64_t cnp_least_ns;    /* between two CNPs; INT64_MAX: fewer than two */
	int64_t cnp_span_ns;     /* from the first CNP to the last */
	int64_t longest_wait_ns; /* RNR and timeouts */
	bool failed;             /* a NAK that ends the connection */
};

struct rs_follow_totals {
	uint64_t frames, roce, other, truncated, malformed, bad_icrc, not_reencoded, pfc, wrong;
	uint64_t merged; /* frames of several packets (wire/segment.h); roce counts these */
	uint64_t cut; /* the capture kept their first bytes only: ICRC and payload are not known */
	/* The IP header says CE, at each place of capture: RoCEv2 packets, those of them with data;
	 * frames of any kind, one that a host has merged being one. */
	uint64_t ce, ce_data, ce_frames;
};

int rs_follow_create(struct rs_follow **f);
void rs_follow_destroy(struct rs_follow *f);

/* First pass: learns the path MTU to each queue pair from messages of several packets. */
void rs_follow_learn(struct rs_follow *f, const uint8_t *frame, size_t n);
/* Of a frame of which the capture kept n bytes. */
void rs_follow_learn_part(struct rs_follow *f, const uint8_t *frame, size_t n, size_t on_wire);
/*
 * Second pass. interface: where it was captured; of a packet seen at several places on its way the
 * first is followed. -ENOMEM; a frame that is not RoCEv2 is counted and passed over.
 */
int rs_follow_packet(struct rs_follow *f, uint32_t interface, int64_t when_ns, const uint8_t *frame,
		     size_t n);
int rs_follow_part(struct rs_follow *f, uint32_t interface, int64_t when_ns, const uint8_t *frame,
		   size_t n, size_t on_wire);
/* A frame of a link layer that is not known. */
void rs_follow_foreign(struct rs_follow *f);
/* After the last. */
int rs_follow_finish(struct rs_follow *f);

const struct rs_follow_totals *rs_follow_totals(const struct rs_follow *f);
uint32_t rs_follow_streams(const struct rs_follow *f);
const struct rs_follow_stream *rs_follow_stream(const struct rs_follow *f, uint32_t i);
uint32_t rs_follow_events(const struct rs_follow *f);
const struct rs_follow_event *rs_follow_event(const struct rs_follow *f, uint32_t i);

extern const char *const rs_follow_causes[];
/* "2001:db8::1" or "10.0.0.1" of a GID-like address. */
void rs_follow_address(const uint8_t ip[16], char *out, size_t size);

#endif
