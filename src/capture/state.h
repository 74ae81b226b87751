/* Private to capture/: what is known of streams while a capture is followed. */
#ifndef RS_CAPTURE_STATE_H
#define RS_CAPTURE_STATE_H

#include "capture/follow.h"
#include "wire/segment.h"

enum {
	STREAMS_MAX = 1 << 16,
	EVENTS_MAX = 1 << 20,
	PATHS_MAX = 1 << 16,
	BUCKETS = 1 << 12,
	GAPS = 64,     /* ranges of PSNs that are missing */
	PLACES = 16,   /* of capture, of which a stream's marks are counted */
	VLAN = 0x8100, /* EtherTypes: IEEE 802.1Q, RFC 894, RFC 2464 */
	SERVICE_VLAN = 0x88a8,
	IPV4 = 0x0800,
	IPV6 = 0x86dd,
	ECN = 3,      /* RFC 3168 */
	IDENTS = 256, /* of the latest requests: the same one twice is the same packet */
	ANY_QP = 1 << 24,
	SEARCHES_MAX = 256, /* in vain, for the packets that a wrong one may consist of */
	EARLY = 64,
	BEFORE = 4096, /* PSNs: a capture may begin in the middle */
	READS = 64,    /* READs and atomics of a stream whose answers are followed */
};

/* The same PSN again sooner than this, with nothing that asked for it, is the network's doing: the
 * timers of hosts are longer. Later than NAK_NS it was a timer, not the NAK before it. */
#define DUPLICATE_NS 100000
#define NAK_NS       20000000
/* DCQCN's notification point sends one CNP in 50 us for a flow (SIGCOMM 2015, section 3). */

/* Packets from one address to a queue pair at another; with ANY_QP between two addresses. */
struct path {
	uint8_t sip[16], dip[16];
	uint32_t qp, next_in_bucket;
	uint32_t read_psn; /* of its first READ, whose responses tell the path MTU as well */
	uint16_t mtu;      /* 0: not known */
	bool reads;
};

struct read {
	uint32_t psn, n;   /* PSNs of its answers */
	uint32_t answered; /* from psn on */
	bool missing;      /* an answer behind that was seen */
};

struct gap {
	uint32_t psn, n;
};

struct ident {
	uint32_t psn;
	uint16_t ip_id;
};

struct place {
	uint32_t interface;
	uint64_t ect, ce;
};

struct stream {
	struct rs_follow_stream s;
	uint32_t next_in_bucket;
	bool started, guessed;     /* guessed: whose peer_qp it is */
	bool ids_repeat;           /* identifications go back: they do not tell packets apart */
	uint16_t last_id, high_id; /* of the latest new request; the latest of all */
	uint16_t sport;
	uint32_t asked_psn; /* of the latest packet that asks for an answer */
	uint32_t next;      /* PSN that the next new request has */
	uint32_t unacked;   /* the least PSN not acknowledged */
	uint32_t last_psn, resend_to, resend_event;
	enum rs_follow_cause resend_cause;
	bool resending, ack_wanted;
	int64_t last_nak_ns, last_rnr_ns, last_cnp_ns, last_request_ns, rnr_wait_ns;
	int64_t last_answer_ns;
	uint32_t nak_psn, rnr_psn;
	bool nak_seen, rnr_seen, in_message;
	uint64_t open_bytes;
	struct read read[READS];
	unsigned n_reads, n_gaps;
	struct gap gap[GAPS];
	struct ident ident[IDENTS];
	uint32_t first_psn;
	uint32_t early[EARLY]; /* events: answers to PSNs that were not seen yet */
	unsigned n_early;
	uint32_t answers_at, cnps_at; /* interfaces; UINT32_MAX: none yet */
	struct place place[PLACES];
	unsigned n_places;
};

struct rs_follow {
	struct path *path;
	uint32_t n_paths, paths_room;
	uint32_t path_bucket[BUCKETS];
	uint32_t unknown_reads; /* paths whose READs' path MTU is not known */
	struct stream *stream;
	uint32_t n_streams, streams_room;
	uint32_t bucket[BUCKETS];
	struct rs_follow_event *event;
	uint32_t n_events, events_room;
	struct rs_follow_totals t;
	int64_t first_ns, now_ns;
	uint32_t interface; /* of the packet at hand */
	size_t segment;     /* of the latest merged frame */
	unsigned not_merged;
	uint8_t again[RS_MAX_PAYLOAD + RS_MAX_HEADERS + RS_TRAILER_MAX];
};

struct rs_follow_event *follow_event(struct rs_follow *f, enum rs_follow_kind kind,
				     const struct stream *s, uint32_t psn);
void follow_wrong(struct rs_follow *f, const struct stream *s, uint32_t psn, const char *what);
/* Requests from sip to queue pair qp at dip. */
struct stream *follow_stream_of(struct rs_follow *f, const uint8_t *sip, const uint8_t *dip,
				uint32_t qp, uint8_t transport);
/*
 * The stream that an answer from `from` to queue pair p->dest_qp at `to` belongs to. Only the
 * requester's QPN is named: a stream is taken for that queue pair's until an answer does not fit it
 * and does fit one that has none, as when queue pairs were connected with the same first PSN.
 */
struct stream *follow_stream_answered(struct rs_follow *f, const uint8_t *from, const uint8_t *to,
				      const struct rs_packet *p);
/* An answer to PSN psn came; of the READ that it belongs to, if it is a response. */
void follow_note_answer(struct stream *s, uint32_t psn, bool response);
void follow_request(struct rs_follow *f, struct stream *s, const struct rs_packet *p,
		    uint16_t ip_id);
/* At each place, as a switch marks on the way and the place after it sees the mark. */
void follow_marks(const struct rs_follow *f, struct stream *s, const struct rs_packet *p);
void follow_answer(struct rs_follow *f, struct stream *s, const struct rs_packet *p);
void follow_cnp(struct rs_follow *f, const struct rs_frame *fr, const struct rs_packet *p);
void follow_management(struct rs_follow *f, struct stream *s, const struct rs_packet *p);
uint32_t follow_hash(const uint8_t *sip, const uint8_t *dip, uint32_t qp);
bool follow_is(uint8_t opcode, uint8_t operation);
bool follow_is_read(uint8_t opcode);
/* Is the frame several packets that a host has merged? Where its ICRC is right it is one. */
bool follow_merged(struct rs_follow *f, const uint8_t *frame, size_t n, size_t on_wire,
		   struct rs_segments *s);

#endif
