/* Third-party view of RoCEv2 connections: IBTA vol. 1 chapter 9.7 (reliable service), tables 45 and
 * 46 (RNR timer), annex A17 (RoCEv2, CNP). */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/bytes.h"
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

const char *const rs_follow_causes[] = {"",          "NAK",        "RNR", "timeout",
					"duplicate", "READ again", "late"};

/* Table 45: the RNR timer's codes in units of 10 us. */
static const uint32_t rnr_10us[32] = {65536, 1,    2,    3,     4,     6,     8,     12,
				      16,    24,   32,   48,    64,    96,    128,   192,
				      256,   384,  512,  768,   1024,  1536,  2048,  3072,
				      4096,  6144, 8192, 12288, 16384, 24576, 32768, 49152};

int rs_follow_create(struct rs_follow **out)
{
	struct rs_follow *f = calloc(1, sizeof(*f));

	*out = f;
	if (!f)
		return -ENOMEM;
	memset(f->bucket, 0xff, sizeof(f->bucket));
	memset(f->path_bucket, 0xff, sizeof(f->path_bucket));
	f->first_ns = INT64_MIN;
	return 0;
}

void rs_follow_destroy(struct rs_follow *f)
{
	if (!f)
		return;
	free(f->path);
	free(f->stream);
	free(f->event);
	free(f);
}

void rs_follow_address(const uint8_t ip[16], char *out, size_t size)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (!memcmp(ip, mapped, 12))
		snprintf(out, size, "%u.%u.%u.%u", ip[12], ip[13], ip[14], ip[15]);
	else if (!inet_ntop(AF_INET6, ip, out, (socklen_t)size))
		snprintf(out, size, "?");
}

static uint32_t hash(const uint8_t *sip, const uint8_t *dip, uint32_t qp)
{
	uint32_t h = qp * 2654435761u;

	for (int i = 12; i < 16; i++)
		h = (h ^ sip[i]) * 16777619u, h = (h ^ dip[i]) * 16777619u;
	return (h ^ h >> 15) & (BUCKETS - 1);
}

/* RC's and XRC's operations have the same lower bits (9.2.1, table 38). */
static bool is_reliable(uint8_t transport)
{
	return transport == RS_RC || transport == RS_XRC;
}

static bool is(uint8_t opcode, uint8_t operation)
{
	return is_reliable(opcode & 0xe0) && (opcode & 0x1f) == operation;
}

static bool is_read(uint8_t opcode)
{
	return is(opcode, RS_OP_READ_REQUEST);
}

/* Is the frame several packets that a host has merged? Where its ICRC is right it is one. */
static bool merged(struct rs_follow *f, const uint8_t *frame, size_t n, size_t on_wire,
		   struct rs_segments *s)
{
	struct rs_frame fr;
	struct rs_packet p;
	enum rs_decode d;

	if (on_wire > n || f->not_merged == SEARCHES_MAX)
		return false;
	d = rs_frame_decode(frame, n, &fr, &p, NULL);
	if (d == RS_DECODE_OTHER || (d == RS_DECODE_RESERVED && fr.icrc_ok) ||
	    (d == RS_DECODE_OK && (fr.icrc_ok || p.kind != RS_KIND_ROCE)))
		return false;
	if (!rs_segments_find(frame, n, f->segment, s)) {
		f->not_merged++;
		return false;
	}
	f->segment = s->size;
	return true;
}

/* ---- Path MTU ---- */

static struct path *find_path(const struct rs_follow *f, const uint8_t *sip, const uint8_t *dip,
			      uint32_t qp)
{
	for (uint32_t i = f->path_bucket[hash(sip, dip, qp)]; i != UINT32_MAX;
	     i = f->path[i].next_in_bucket) {
		struct path *p = &f->path[i];

		if (p->qp == qp && !memcmp(p->sip, sip, 16) && !memcmp(p->dip, dip, 16))
			return p;
	}
	return NULL;
}

/* NULL: no memory, or too many; what is not known is guessed then. */
static struct path *make_path(struct rs_follow *f, const uint8_t *sip, const uint8_t *dip,
			      uint32_t qp)
{
	struct path *p = find_path(f, sip, dip, qp);
	uint32_t h = hash(sip, dip, qp);

	if (p || f->n_paths == PATHS_MAX)
		return p;
	if (f->n_paths == f->paths_room) {
		uint32_t room = f->paths_room ? 2 * f->paths_room : 64;

		p = realloc(f->path, room * sizeof(*p));
		if (!p)
			return NULL;
		f->path = p;
		f->paths_room = room;
	}
	p = &f->path[f->n_paths];
	*p = (struct path){.qp = qp, .next_in_bucket = f->path_bucket[h]};
	memcpy(p->sip, sip, 16);
	memcpy(p->dip, dip, 16);
	f->path_bucket[h] = f->n_paths++;
	return p;
}

static void learn_mtu(struct rs_follow *f, struct path *p, uint16_t mtu)
{
	if (!p || mtu <= p->mtu)
		return;
	f->unknown_reads -= p->reads && !p->mtu;
	p->mtu = mtu;
}

static void learn_read(struct rs_follow *f, const struct rs_frame *fr, const struct rs_packet *p)
{
	struct path *path = make_path(f, fr->sip, fr->dip, p->dest_qp);

	if (!path || path->reads)
		return;
	path->reads = true;
	path->read_psn = p->psn;
	f->unknown_reads += !path->mtu;
}

/* A response names the requester's queue pair, not the one that it comes from: the READ before it
 * that is nearest in PSNs tells. */
static void learn_response(struct rs_follow *f, const struct rs_frame *fr,
			   const struct rs_packet *p)
{
	struct path *best = NULL;

	for (uint32_t i = 0; f->unknown_reads && i < f->n_paths; i++) {
		struct path *c = &f->path[i];

		if (!c->reads || memcmp(c->sip, fr->dip, 16) || memcmp(c->dip, fr->sip, 16) ||
		    rs_psn_diff(p->psn, c->read_psn) < 0)
			continue;
		if (!best || rs_psn_diff(c->read_psn, best->read_psn) > 0)
			best = c;
	}
	learn_mtu(f, best, p->payload_bytes);
}

static bool swapped(const struct rs_frame *fr)
{
	return memcmp(fr->sip, fr->dip, 16) > 0;
}

/* First and Middle packets are as long as the path MTU (9.2.6). */
static void learn(struct rs_follow *f, const uint8_t *frame, size_t n, size_t on_wire)
{
	struct rs_frame fr;
	struct rs_packet p;
	uint32_t flags;

	if (rs_frame_decode_part(frame, n, on_wire, &fr, &p, NULL) != RS_DECODE_OK ||
	    p.kind != RS_KIND_ROCE)
		return;
	flags = rs_opcodes[p.opcode].flags;
	if (is_read(p.opcode))
		learn_read(f, &fr, &p);
	if (!(flags & RS_F_PAYLOAD) || flags & (RS_F_LAST | RS_F_CNP | RS_F_DETH))
		return;
	if (flags & RS_F_RESPONSE)
		learn_response(f, &fr, &p);
	else
		learn_mtu(f, make_path(f, fr.sip, fr.dip, p.dest_qp), p.payload_bytes);
	learn_mtu(f,
		  make_path(f, swapped(&fr) ? fr.dip : fr.sip, swapped(&fr) ? fr.sip : fr.dip,
			    ANY_QP),
		  p.payload_bytes);
}

void rs_follow_learn_part(struct rs_follow *f, const uint8_t *frame, size_t n, size_t on_wire)
{
	struct rs_segments s;
	uint8_t room[RS_SEGMENT_ROOM];

	if (!merged(f, frame, n, on_wire, &s)) {
		learn(f, frame, n, on_wire);
		return;
	}
	for (unsigned k = 0; k < s.n; k++) {
		size_t bytes = rs_segment_get(&s, k, room);

		learn(f, room, bytes, bytes);
	}
}

void rs_follow_learn(struct rs_follow *f, const uint8_t *frame, size_t n)
{
	rs_follow_learn_part(f, frame, n, n);
}

/* Of requests to a queue pair; of a path without a message of several packets the largest between
 * the two addresses. */
static uint16_t path_mtu(const struct rs_follow *f, const uint8_t *sip, const uint8_t *dip,
			 uint32_t qp)
{
	bool swap = memcmp(sip, dip, 16) > 0;
	const struct path *p = find_path(f, sip, dip, qp);

	if (p && p->mtu)
		return p->mtu;
	p = find_path(f, swap ? dip : sip, swap ? sip : dip, ANY_QP);
	return p ? p->mtu : 0;
}

/* ---- Events ---- */

static struct rs_follow_event *event(struct rs_follow *f, enum rs_follow_kind kind,
				     const struct stream *s, uint32_t psn)
{
	struct rs_follow_event *e;

	if (f->n_events == f->events_room) {
		uint32_t room = f->events_room ? 2 * f->events_room : 256;

		if (f->n_events >= EVENTS_MAX)
			return NULL;
		e = realloc(f->event, room * sizeof(*e));
		if (!e)
			return NULL;
		f->event = e;
		f->events_room = room;
	}
	e = &f->event[f->n_events++];
	*e = (struct rs_follow_event){
		.kind = kind,
		.packet = (uint32_t)f->t.frames,
		.when_ns = f->now_ns,
		.stream = s ? (uint32_t)(s - f->stream) : UINT32_MAX,
		.psn = psn,
	};
	f->t.wrong += kind == RS_FOLLOW_WRONG;
	return e;
}

static void wrong(struct rs_follow *f, const struct stream *s, uint32_t psn, const char *what)
{
	struct rs_follow_event *e = event(f, RS_FOLLOW_WRONG, s, psn);

	if (e)
		snprintf(e->what, sizeof(e->what), "%s", what);
}

/* ---- Streams ---- */

/* Requests from sip to queue pair qp at dip. */
static struct stream *stream_of(struct rs_follow *f, const uint8_t *sip, const uint8_t *dip,
				uint32_t qp, uint8_t transport)
{
	uint32_t h = hash(sip, dip, qp), i;
	struct stream *s;

	for (i = f->bucket[h]; i != UINT32_MAX; i = f->stream[i].next_in_bucket) {
		s = &f->stream[i];
		if (s->s.dest_qp == qp && s->s.transport == transport &&
		    !memcmp(s->s.sip, sip, 16) && !memcmp(s->s.dip, dip, 16))
			return s;
	}
	if (f->n_streams == STREAMS_MAX)
		return NULL;
	if (f->n_streams == f->streams_room) {
		uint32_t room = f->streams_room ? 2 * f->streams_room : 16;

		s = realloc(f->stream, room * sizeof(*s));
		if (!s)
			return NULL;
		f->stream = s;
		f->streams_room = room;
	}
	s = &f->stream[f->n_streams];
	memset(s, 0, sizeof(*s));
	memcpy(s->s.sip, sip, 16);
	memcpy(s->s.dip, dip, 16);
	s->s.dest_qp = qp;
	s->s.transport = transport;
	s->s.interface = f->interface;
	s->answers_at = s->cnps_at = UINT32_MAX;
	s->s.mtu = path_mtu(f, sip, dip, qp);
	s->s.first_ns = f->now_ns;
	s->s.cnp_least_ns = INT64_MAX;
	s->last_cnp_ns = INT64_MIN;
	s->next_in_bucket = f->bucket[h];
	f->bucket[h] = f->n_streams++;
	return s;
}

/* May this answer be to what the stream has sent and was not answered? */
static bool fits(const struct stream *s, const struct rs_packet *p)
{
	return s->started && rs_psn_diff(p->psn, s->next) < 0 &&
	       rs_psn_diff(p->psn, s->unacked) >= -BEFORE;
}

/* Of two that fit, the better guess: its source port (many NICs give a connection one, both ways),
 * or the packet that asked for an answer. */
static unsigned likeness(const struct stream *s, const struct rs_packet *p)
{
	return (rs_psn_diff(p->psn, s->unacked) >= -1) * 4u + (s->sport == p->sport) * 2u +
	       (s->ack_wanted && s->asked_psn == p->psn);
}

/*
 * The stream that an answer from `from` to queue pair p->dest_qp at `to` belongs to. Only the
 * requester's QPN is named: a stream is taken for that queue pair's until an answer does not fit it
 * and does fit one that has none, as when queue pairs were connected with the same first PSN.
 */
static struct stream *stream_answered(struct rs_follow *f, const uint8_t *from, const uint8_t *to,
				      const struct rs_packet *p)
{
	struct stream *best = NULL, *known = NULL;

	for (uint32_t i = 0; i < f->n_streams; i++) {
		struct stream *s = &f->stream[i];

		if (s->s.transport != (p->opcode & 0xe0) || memcmp(s->s.sip, to, 16) ||
		    memcmp(s->s.dip, from, 16))
			continue;
		if (s->s.peer_qp == p->dest_qp) {
			if (!s->guessed || (s->started && rs_psn_diff(p->psn, s->next) < 0))
				return s;
			known = s;
		} else if (!s->s.peer_qp && fits(s, p) &&
			   (!best || likeness(s, p) > likeness(best, p))) {
			best = s;
		}
	}
	if (!best)
		return known;
	if (known)
		known->s.peer_qp = 0;
	best->s.peer_qp = p->dest_qp;
	best->guessed = true;
	return best;
}

/* ---- Requests ---- */

/* PSNs that a request takes: one, but a READ as many as its answers (9.7.4). */
static uint32_t psns(const struct stream *s, const struct rs_packet *p)
{
	uint32_t mtu = s->s.mtu;

	if (!is_read(p->opcode) || !p->dma_bytes || !mtu)
		return 1;
	return (p->dma_bytes + mtu - 1) / mtu;
}

static bool answered_apart(uint8_t opcode)
{
	return is_read(opcode) || is(opcode, RS_OP_CMP_SWAP) || is(opcode, RS_OP_FETCH_ADD) ||
	       is(opcode, RS_OP_FLUSH) || is(opcode, RS_OP_ATOMIC_WRITE);
}

/* A packet that was never seen: from before the first, or out of a gap, which gets smaller. */
static bool never_seen(struct stream *s, uint32_t psn)
{
	if (rs_psn_diff(psn, s->first_psn) < 0) {
		if (s->s.packets < IDENTS)
			return true;
	}
	for (unsigned i = 0; i < s->n_gaps; i++) {
		struct gap *g = &s->gap[i];
		int32_t at = rs_psn_diff(psn, g->psn);

		if (at < 0 || at >= (int32_t)g->n)
			continue;
		/* what is left behind it stays missing; before it as well, as a gap of its own */
		if (at > 0 && s->n_gaps < GAPS)
			s->gap[s->n_gaps++] = (struct gap){g->psn, (uint32_t)at};
		g->psn = rs_psn_add(psn, 1);
		g->n -= (uint32_t)at + 1;
		if (!g->n)
			*g = s->gap[--s->n_gaps];
		return true;
	}
	return false;
}

static bool same_packet(struct stream *s, uint32_t psn, uint16_t ip_id)
{
	struct ident *d = &s->ident[psn % IDENTS];
	bool same = ip_id && d->psn == psn && d->ip_id == ip_id;

	*d = (struct ident){psn, ip_id};
	return same;
}

static unsigned reads(const struct stream *s)
{
	return s->n_reads < READS ? s->n_reads : READS;
}

/* Is a READ asked for again from within, or because its first answer was passed over? */
static bool answer_missing(const struct stream *s, uint32_t psn)
{
	for (unsigned i = 0; i < reads(s); i++) {
		const struct read *r = &s->read[i];
		int32_t at = rs_psn_diff(psn, r->psn);

		if (at >= 0 && at < (int32_t)r->n && (at || (!r->answered && r->missing)))
			return true;
	}
	return false;
}

/* An answer to PSN psn came; of the READ that it belongs to, if it is a response. */
static void note_answer(struct stream *s, uint32_t psn, bool response)
{
	for (unsigned i = 0; i < reads(s); i++) {
		struct read *r = &s->read[i];
		int32_t at = rs_psn_diff(psn, r->psn);

		if (response && at == (int32_t)r->answered && r->answered < r->n)
			r->answered++;
		else if (at > (int32_t)r->answered)
			r->missing = r->answered < r->n;
	}
}

static enum rs_follow_cause cause_of(struct stream *s, const struct rs_packet *p, bool twice,
				     bool overtaken, int64_t now, int64_t *delay)
{
	bool missing = never_seen(s, p->psn);

	*delay = now - s->last_request_ns;
	if (twice)
		return RS_CAUSE_DUPLICATE;
	if (overtaken)
		return RS_CAUSE_LATE;
	if (s->nak_seen && rs_psn_diff(p->psn, s->nak_psn) >= 0 && now - s->last_nak_ns < NAK_NS) {
		*delay = now - s->last_nak_ns;
		return RS_CAUSE_NAK;
	}
	if (s->rnr_seen && p->psn == s->rnr_psn) {
		*delay = now - s->last_rnr_ns;
		return RS_CAUSE_RNR;
	}
	if (missing && *delay < NAK_NS)
		return RS_CAUSE_LATE;
	if (is_read(p->opcode) && answer_missing(s, p->psn) &&
	    (*delay < NAK_NS || now - s->last_answer_ns < NAK_NS))
		return RS_CAUSE_READ_LOSS;
	return p->psn == s->last_psn && *delay < DUPLICATE_NS ? RS_CAUSE_DUPLICATE
							      : RS_CAUSE_TIMEOUT;
}

/* Returns whether the requester sent it again: not if the network doubled or delayed it. */
static bool went_back(struct rs_follow *f, struct stream *s, const struct rs_packet *p, bool twice,
		      bool overtaken)
{
	int64_t delay;
	enum rs_follow_cause cause = cause_of(s, p, twice, overtaken, f->now_ns, &delay);
	struct rs_follow_event *e;

	if (cause == RS_CAUSE_DUPLICATE || cause == RS_CAUSE_LATE) {
		s->s.duplicates += cause == RS_CAUSE_DUPLICATE;
		s->s.late += cause == RS_CAUSE_LATE;
		return false;
	}
	if (cause == RS_CAUSE_RNR) {
		int64_t least = s->rnr_wait_ns;

		if (delay > s->s.longest_wait_ns)
			s->s.longest_wait_ns = delay;
		/* clocks of two machines may differ: a tenth is allowed */
		if (delay < least - least / 10)
			wrong(f, s, p->psn, "sent again before the RNR timer was over (9.7.5.2.8)");
		s->rnr_seen = false;
	}
	if (cause == RS_CAUSE_TIMEOUT && delay > s->s.longest_wait_ns)
		s->s.longest_wait_ns = delay;
	if (cause == RS_CAUSE_NAK)
		s->nak_seen = false;
	s->resending = true;
	s->resend_to = s->next;
	s->resend_cause = cause;
	s->s.resent_by[cause]++;
	e = event(f, RS_FOLLOW_RESENT, s, p->psn);
	if (e) {
		e->cause = cause;
		e->delay_ns = delay;
		e->n = 1;
		snprintf(e->what, sizeof(e->what), "from PSN 0x%06x, %d back", p->psn,
			 rs_psn_diff(s->next, p->psn));
		s->resend_event = f->n_events - 1;
	}
	return true;
}

static void count_message(struct stream *s, const struct rs_packet *p)
{
	uint32_t flags = rs_opcodes[p->opcode].flags;

	if (flags & RS_F_FIRST) {
		s->open_bytes = 0;
		s->in_message = true;
	}
	s->open_bytes += p->payload_bytes;
	if (!(flags & RS_F_LAST) || !s->in_message)
		return;
	s->in_message = false;
	s->s.messages++;
	if (!is_read(p->opcode))
		s->s.message_bytes += s->open_bytes;
}

static void order_of_message(struct rs_follow *f, struct stream *s, const struct rs_packet *p)
{
	uint32_t flags = rs_opcodes[p->opcode].flags;

	/* 9.7.3.4: a message begins with First or Only, and goes on with Middle and Last */
	if (flags & (RS_F_SEND | RS_F_WRITE)) {
		if (flags & RS_F_FIRST && s->in_message)
			wrong(f, s, p->psn,
			      "a message begins before the one before it has ended (9.7.3.4)");
		if (!(flags & RS_F_FIRST) && !s->in_message)
			wrong(f, s, p->psn, "a message goes on that did not begin (9.7.3.4)");
		if (!(flags & RS_F_LAST) && s->s.mtu && p->payload_bytes != s->s.mtu)
			wrong(f, s, p->psn,
			      "a First or Middle packet is not as long as the path MTU (9.2.6)");
	}
}

/* A gap covers what was answered: the request was sent, and the capture missed it. */
static void forgive(struct rs_follow *f, struct stream *s, uint32_t psn)
{
	unsigned left = 0;

	for (unsigned i = 0; i < s->n_early; i++) {
		struct rs_follow_event *e = &f->event[s->early[i]];

		if (rs_psn_diff(e->psn, psn) >= 0) {
			s->early[left++] = s->early[i];
			continue;
		}
		e->kind = RS_FOLLOW_GAP;
		snprintf(e->what, sizeof(e->what), "an answer to a request that was not captured");
		f->t.wrong--;
	}
	s->n_early = left;
}

static void new_request(struct rs_follow *f, struct stream *s, const struct rs_packet *p)
{
	int32_t ahead = s->started ? rs_psn_diff(p->psn, s->next) : 0;

	if (ahead > 0) {
		struct rs_follow_event *e = event(f, RS_FOLLOW_GAP, s, s->next);

		s->s.gaps++;
		s->s.gap_psns += (uint32_t)ahead;
		forgive(f, s, p->psn);
		if (e) {
			e->n = (uint32_t)ahead;
			snprintf(e->what, sizeof(e->what), "%d PSNs from 0x%06x were not seen",
				 ahead, s->next);
		}
		if (s->n_gaps < GAPS)
			s->gap[s->n_gaps++] = (struct gap){s->next, (uint32_t)ahead};
		s->in_message = !(rs_opcodes[p->opcode].flags & RS_F_FIRST);
	} else if (s->started) {
		order_of_message(f, s, p);
	} else {
		/* the capture may have begun in the middle */
		s->in_message = !(rs_opcodes[p->opcode].flags & RS_F_FIRST);
		s->unacked = s->first_psn = p->psn;
	}
	s->started = true;
	s->next = rs_psn_add(p->psn, psns(s, p));
	if (answered_apart(p->opcode))
		s->read[s->n_reads++ % READS] = (struct read){.psn = p->psn, .n = psns(s, p)};
	count_message(s, p);
}

static void request(struct rs_follow *f, struct stream *s, const struct rs_packet *p,
		    uint16_t ip_id)
{
	bool old = s->started && rs_psn_diff(p->psn, s->next) < 0;
	bool twice = same_packet(s, p->psn, ip_id);
	bool overtaken; /* sent before what came before it */

	/* segmentation offload numbers the packets of each send from the same identification on */
	if (!old) {
		s->ids_repeat |= s->started && (uint16_t)(ip_id - s->last_id - 1) >= 0x7fff;
		s->last_id = ip_id;
	}
	twice &= !s->ids_repeat;
	overtaken = old && !twice && !s->ids_repeat && ip_id &&
		    (uint16_t)(s->high_id - ip_id - 1) < 0x7ffe;
	if (!overtaken)
		s->high_id = ip_id;
	s->sport = p->sport;
	s->s.packets++;
	s->s.frame_bytes += p->frame_bytes;
	s->s.payload_bytes += p->payload_bytes;
	s->s.last_ns = f->now_ns;
	if (s->s.transport == RS_UD) {
		s->s.messages++;
		s->s.message_bytes += p->payload_bytes;
		return;
	}
	if (old && s->s.transport == RS_UC) {
		s->s.duplicates++;
		return;
	}
	if (old) {
		/* what is missing in between was lost once more */
		bool going_on = !twice && s->resending &&
				(overtaken || rs_psn_diff(p->psn, s->last_psn) > 0) &&
				rs_psn_diff(p->psn, s->resend_to) < 0;

		if (going_on) {
			if (s->resend_event < f->n_events)
				f->event[s->resend_event].n++;
			s->s.resent_by[s->resend_cause]++;
		} else if (!went_back(f, s, p, twice, overtaken)) {
			return;
		}
		s->s.resent++;
		/* where a gap was: the message goes on from here */
		s->in_message = !(rs_opcodes[p->opcode].flags & RS_F_LAST);
	} else {
		if (s->resending)
			s->in_message = !(rs_opcodes[p->opcode].flags & RS_F_FIRST);
		s->resending = false;
		new_request(f, s, p);
	}
	if (p->bth_flags & RS_BTH_ACKREQ || answered_apart(p->opcode)) {
		s->ack_wanted = true;
		s->asked_psn = p->psn;
	}
	s->last_psn = p->psn;
	s->last_request_ns = f->now_ns;
}

/* ---- Answers ---- */

static void acknowledged(struct stream *s, uint32_t psn)
{
	if (rs_psn_diff(rs_psn_add(psn, 1), s->unacked) > 0)
		s->unacked = rs_psn_add(psn, 1);
	if (s->unacked == s->next)
		s->ack_wanted = false;
}

static const char *nak_name(uint8_t syndrome)
{
	switch (syndrome) {
	case RS_NAK_PSN_SEQ:
		return "PSN sequence error";
	case RS_NAK_INVALID_REQUEST:
		return "invalid request";
	case RS_NAK_REMOTE_ACCESS:
		return "remote access error";
	case RS_NAK_REMOTE_OPERATIONAL:
		return "remote operational error";
	case RS_NAK_INVALID_RD:
		return "invalid RD request";
	default:
		return NULL;
	}
}

static void nak(struct rs_follow *f, struct stream *s, const struct rs_packet *p)
{
	uint8_t syndrome = rs_packet_syndrome(p);
	const char *name = nak_name(syndrome);
	struct rs_follow_event *e;

	s->s.naks++;
	if (!name) {
		wrong(f, s, p->psn, "a NAK with a reserved code (table 45)");
		return;
	}
	if (syndrome == RS_NAK_PSN_SEQ) {
		if (s->nak_seen && s->nak_psn == p->psn)
			wrong(f, s, p->psn,
			      "a second sequence NAK for one gap before anything came again "
			      "(9.7.5.2.1)");
		s->nak_seen = true;
		s->nak_psn = p->psn;
		s->last_nak_ns = f->now_ns;
		/* everything before the expected PSN has arrived */
		acknowledged(s, rs_psn_add(p->psn, RS_PSN_MASK));
	} else {
		s->s.failed = true;
		s->ack_wanted = false;
	}
	e = event(f, RS_FOLLOW_NAK, s, p->psn);
	if (e) {
		e->delay_ns = f->now_ns - s->last_request_ns;
		snprintf(e->what, sizeof(e->what), "%s%s", name,
			 syndrome == RS_NAK_PSN_SEQ ? "" : ": ends the connection");
	}
}

static void rnr(struct rs_follow *f, struct stream *s, const struct rs_packet *p)
{
	unsigned code = rs_packet_syndrome(p) & RS_SYN_VALUE;
	struct rs_follow_event *e = event(f, RS_FOLLOW_RNR, s, p->psn);

	s->s.rnr_naks++;
	s->rnr_seen = true;
	s->rnr_psn = p->psn;
	s->last_rnr_ns = f->now_ns;
	s->rnr_wait_ns = (int64_t)rnr_10us[code] * 10000;
	if (e)
		snprintf(e->what, sizeof(e->what), "receiver not ready: wait %.2f ms (code %u)",
			 (double)rnr_10us[code] / 100, code);
}

/* Is this the first place where such packets were seen? A copy farther on tells nothing more. */
static bool first_place(const struct rs_follow *f, uint32_t *at)
{
	if (*at == UINT32_MAX)
		*at = f->interface;
	return *at == f->interface;
}

/* Where it was captured; of more places than are kept the one with the fewest marks gives way. */
static struct place *place_of(const struct rs_follow *f, struct stream *s)
{
	struct place *least = s->place;

	for (unsigned i = 0; i < s->n_places; i++) {
		if (s->place[i].interface == f->interface)
			return &s->place[i];
		if (s->place[i].ce < least->ce)
			least = &s->place[i];
	}
	if (s->n_places < PLACES)
		least = &s->place[s->n_places++];
	*least = (struct place){.interface = f->interface};
	return least;
}

/* At each place, as a switch marks on the way and the place after it sees the mark. */
static void marks(const struct rs_follow *f, struct stream *s, const struct rs_packet *p)
{
	struct place *at;

	if (rs_packet_ecn(p) == RS_ECN_NOT_ECT)
		return;
	at = place_of(f, s);
	at->ect++;
	at->ce += rs_packet_ecn(p) == RS_ECN_CE;
	if (at->ect > s->s.ect)
		s->s.ect = at->ect;
	if (at->ce > s->s.ce)
		s->s.ce = at->ce;
}

static void answer(struct rs_follow *f, struct stream *s, const struct rs_packet *p)
{
	uint32_t flags = rs_opcodes[p->opcode].flags;

	if (flags & RS_F_READ)
		marks(f, s, p);
	if (!first_place(f, &s->answers_at))
		return;
	s->s.becn += (p->bth_flags & RS_BTH_BECN) != 0;
	s->s.last_ns = f->now_ns;
	if (s->started && rs_psn_diff(p->psn, s->next) >= 0) {
		wrong(f, s, p->psn, "an answer to a PSN that was not sent (9.7.5.1)");
		if (s->n_early < EARLY && f->n_events)
			s->early[s->n_early++] = f->n_events - 1;
		return;
	}
	s->last_answer_ns = f->now_ns;
	note_answer(s, p->psn, flags & (RS_F_READ | RS_F_ATOMIC_ACK));
	if (flags & RS_F_READ) {
		bool again = rs_psn_diff(p->psn, s->unacked) < 0;

		s->s.packets++;
		s->s.frame_bytes += p->frame_bytes;
		s->s.payload_bytes += p->payload_bytes;
		if (again)
			s->s.duplicates++;
		else
			s->s.message_bytes += p->payload_bytes;
		/* of what was lost behind the capture nothing is known: answers count as received
		 */
		acknowledged(s, p->psn);
		return;
	}
	s->s.acks++;
	switch (flags & RS_F_AETH ? rs_packet_syndrome(p) & RS_SYN_KIND : RS_SYN_ACK) {
	case RS_SYN_RNR:
		rnr(f, s, p);
		break;
	case RS_SYN_NAK:
		nak(f, s, p);
		break;
	default:
		acknowledged(s, p->psn);
		break;
	}
}

static void cnp(struct rs_follow *f, const struct rs_frame *fr, const struct rs_packet *p)
{
	for (uint32_t i = 0; i < f->n_streams; i++) {
		struct stream *s = &f->stream[i];
		int64_t gap;

		/* to the sender's queue pair: known once an answer named it */
		if (memcmp(s->s.sip, fr->dip, 16) || memcmp(s->s.dip, fr->sip, 16) ||
		    (s->s.peer_qp && s->s.peer_qp != p->dest_qp))
			continue;
		if (!first_place(f, &s->cnps_at))
			return;
		if (!s->s.cnps++) {
			struct rs_follow_event *e = event(f, RS_FOLLOW_CNP, s, 0);

			if (e)
				snprintf(e->what, sizeof(e->what), "the first CNP");
		} else {
			gap = f->now_ns - s->last_cnp_ns;
			if (gap < s->s.cnp_least_ns)
				s->s.cnp_least_ns = gap;
			s->s.cnp_span_ns += gap;
		}
		s->last_cnp_ns = f->now_ns;
		return;
	}
}

/* ---- Connection management (IBTA chapter 12): MADs to queue pair 1 ---- */

static void management(struct rs_follow *f, struct stream *s, const struct rs_packet *p)
{
	static const char *const names[] = {"REQ",  "MRA",  "REJ",      "REP",     "RTU",
					    "DREQ", "DREP", "SIDR_REQ", "SIDR_REP"};
	struct rs_follow_event *e;
	unsigned id;

	/* common MAD header: class at 1, attribute at 16 */
	if (!p->payload || p->payload_bytes < 24 || p->payload[1] != 0x07)
		return;
	id = (unsigned)p->payload[16] << 8 | p->payload[17];
	e = event(f, RS_FOLLOW_CM, s, p->psn);
	if (!e)
		return;
	if (id >= 0x10 && id < 0x10 + sizeof(names) / sizeof(*names))
		snprintf(e->what, sizeof(e->what), "CM %s", names[id - 0x10]);
	else
		snprintf(e->what, sizeof(e->what), "CM attribute 0x%04x", id);
}

/* ---- Packets ---- */

static void check_bytes(struct rs_follow *f, const struct rs_frame *fr, const struct rs_packet *p,
			const uint8_t *frame, size_t n)
{
	long again;
	size_t same =
		fr->icrc_ok || p->kind != RS_KIND_ROCE ? n : n - RS_ICRC_BYTES - fr->trailer_bytes;

	if (fr->cut) {
		f->t.cut++;
		return;
	}
	again = rs_frame_encode(fr, p, f->again, sizeof(f->again));

	if (!fr->icrc_ok && p->kind == RS_KIND_ROCE) {
		f->t.bad_icrc++;
		wrong(f, NULL, p->psn, "the ICRC is not that of the bytes (7.8, A17.3.3)");
	}
	if (again < 0 || (size_t)again != n || memcmp(f->again, frame, same)) {
		f->t.not_reencoded++;
		wrong(f, NULL, p->psn, "encoding what was decoded gives other bytes");
	}
}

static int undecoded(struct rs_follow *f, enum rs_decode d, const struct rs_error *why)
{
	if (d == RS_DECODE_OTHER || d == RS_DECODE_CUT) {
		f->t.other += d == RS_DECODE_OTHER;
		f->t.cut += d == RS_DECODE_CUT;
		return 0;
	}
	f->t.truncated += d == RS_DECODE_TRUNCATED;
	f->t.malformed += d == RS_DECODE_MALFORMED || d == RS_DECODE_RESERVED;
	wrong(f, NULL, 0, why->what);
	return 0;
}

static int one(struct rs_follow *f, const uint8_t *frame, size_t n, size_t on_wire)
{
	struct rs_error why = {0};
	struct rs_frame fr;
	struct rs_packet p;
	struct stream *s;
	enum rs_decode d;
	uint32_t flags;

	d = rs_frame_decode_part(frame, n, on_wire, &fr, &p, &why);
	if (d != RS_DECODE_OK)
		return undecoded(f, d, &why);
	check_bytes(f, &fr, &p, frame, n);
	if (p.kind == RS_KIND_PFC) {
		f->t.pfc++;
		return 0;
	}
	f->t.roce++;
	f->t.ce += rs_packet_ecn(&p) == RS_ECN_CE;
	f->t.ce_data += rs_packet_ecn(&p) == RS_ECN_CE && p.payload_bytes;
	flags = rs_opcodes[p.opcode].flags;
	if (flags & RS_F_CNP) {
		cnp(f, &fr, &p);
		return 0;
	}
	if (flags & RS_F_RESPONSE) {
		s = stream_answered(f, fr.sip, fr.dip, &p);
		if (s)
			answer(f, s, &p);
		return 0;
	}
	s = stream_of(f, fr.sip, fr.dip, p.dest_qp, p.opcode & 0xe0);
	if (!s)
		return f->n_streams == STREAMS_MAX ? 0 : -ENOMEM;
	marks(f, s, &p);
	if (s->s.interface != f->interface)
		return 0;
	request(f, s, &p, fr.ipv6 ? 0 : fr.ip_id);
	if (p.dest_qp == 1 && s->s.transport == RS_UD)
		management(f, s, &p);
	return 0;
}

int rs_follow_packet(struct rs_follow *f, uint32_t interface, int64_t when_ns, const uint8_t *frame,
		     size_t n)
{
	return rs_follow_part(f, interface, when_ns, frame, n, n);
}

void rs_follow_foreign(struct rs_follow *f)
{
	f->t.frames++;
	f->t.other++;
}

/* Of a frame of any kind: the ECN field of its IP header, behind any tags. */
static unsigned ip_ecn(const uint8_t *frame, size_t n)
{
	size_t at = RS_ETH_BYTES;
	unsigned type = n < at ? 0 : rs_get16(frame + at - 2);

	while ((type == VLAN || type == SERVICE_VLAN) && n >= at + RS_VLAN_BYTES) {
		type = rs_get16(frame + at + 2);
		at += RS_VLAN_BYTES;
	}
	if (n < at + 2)
		return 0;
	if (type == IPV4 && frame[at] >> 4 == 4)
		return frame[at + 1] & ECN;
	if (type == IPV6 && frame[at] >> 4 == 6)
		return frame[at + 1] >> 4 & ECN;
	return 0;
}

int rs_follow_part(struct rs_follow *f, uint32_t interface, int64_t when_ns, const uint8_t *frame,
		   size_t n, size_t on_wire)
{
	struct rs_segments s;
	uint8_t room[RS_SEGMENT_ROOM];
	int err = 0;

	if (f->first_ns == INT64_MIN)
		f->first_ns = when_ns;
	f->t.frames++;
	f->interface = interface;
	f->now_ns = when_ns - f->first_ns;
	f->t.ce_frames += ip_ecn(frame, n) == RS_ECN_CE;
	if (!merged(f, frame, n, on_wire, &s))
		return one(f, frame, n, on_wire);
	f->t.merged++;
	for (unsigned k = 0; !err && k < s.n; k++) {
		size_t bytes = rs_segment_get(&s, k, room);

		err = one(f, room, bytes, bytes);
	}
	return err;
}

int rs_follow_finish(struct rs_follow *f)
{
	for (uint32_t i = 0; i < f->n_streams; i++) {
		struct stream *s = &f->stream[i];
		struct rs_follow_event *e;

		if (!is_reliable(s->s.transport) || !s->ack_wanted || s->unacked == s->next)
			continue;
		e = event(f, RS_FOLLOW_UNANSWERED, s, s->unacked);
		if (!e)
			return -ENOMEM;
		e->n = (uint32_t)rs_psn_diff(s->next, s->unacked);
		snprintf(e->what, sizeof(e->what),
			 "%u PSNs from 0x%06x were not answered by the capture's end", e->n,
			 s->unacked);
	}
	return 0;
}

const struct rs_follow_totals *rs_follow_totals(const struct rs_follow *f)
{
	return &f->t;
}

uint32_t rs_follow_streams(const struct rs_follow *f)
{
	return f->n_streams;
}

const struct rs_follow_stream *rs_follow_stream(const struct rs_follow *f, uint32_t i)
{
	return &f->stream[i].s;
}

uint32_t rs_follow_events(const struct rs_follow *f)
{
	return f->n_events;
}

const struct rs_follow_event *rs_follow_event(const struct rs_follow *f, uint32_t i)
{
	return &f->event[i];
}
