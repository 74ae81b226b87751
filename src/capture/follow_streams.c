/* Streams of a capture: who talks to whom, the path MTU, the events that are kept. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/bytes.h"
#include "capture/state.h"

/* ---- Path MTU ---- */

static struct path *find_path(const struct rs_follow *f, const uint8_t *sip, const uint8_t *dip,
			      uint32_t qp)
{
	for (uint32_t i = f->path_bucket[follow_hash(sip, dip, qp)]; i != UINT32_MAX;
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
	uint32_t h = follow_hash(sip, dip, qp);

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
	if (follow_is_read(p.opcode))
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

	if (!follow_merged(f, frame, n, on_wire, &s)) {
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

struct rs_follow_event *follow_event(struct rs_follow *f, enum rs_follow_kind kind,
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

void follow_wrong(struct rs_follow *f, const struct stream *s, uint32_t psn, const char *what)
{
	struct rs_follow_event *e = follow_event(f, RS_FOLLOW_WRONG, s, psn);

	if (e)
		snprintf(e->what, sizeof(e->what), "%s", what);
}

/* ---- Streams ---- */

struct stream *follow_stream_of(struct rs_follow *f, const uint8_t *sip, const uint8_t *dip,
				uint32_t qp, uint8_t transport)
{
	uint32_t h = follow_hash(sip, dip, qp), i;
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

struct stream *follow_stream_answered(struct rs_follow *f, const uint8_t *from, const uint8_t *to,
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
