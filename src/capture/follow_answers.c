/* Answers of a stream: acknowledgements, NAKs, RNR waits (IBTA vol. 1, tables 45 and 46), marks,
 * CNPs (annex A17), connection management (chapter 12). */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/bytes.h"
#include "capture/state.h"

/* Table 45: the RNR timer's codes in units of 10 us. */
static const uint32_t rnr_10us[32] = {65536, 1,    2,    3,     4,     6,     8,     12,
				      16,    24,   32,   48,    64,    96,    128,   192,
				      256,   384,  512,  768,   1024,  1536,  2048,  3072,
				      4096,  6144, 8192, 12288, 16384, 24576, 32768, 49152};

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
		follow_wrong(f, s, p->psn, "a NAK with a reserved code (table 45)");
		return;
	}
	if (syndrome == RS_NAK_PSN_SEQ) {
		if (s->nak_seen && s->nak_psn == p->psn)
			follow_wrong(f, s, p->psn,
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
	e = follow_event(f, RS_FOLLOW_NAK, s, p->psn);
	if (e) {
		e->delay_ns = f->now_ns - s->last_request_ns;
		snprintf(e->what, sizeof(e->what), "%s%s", name,
			 syndrome == RS_NAK_PSN_SEQ ? "" : ": ends the connection");
	}
}

static void rnr(struct rs_follow *f, struct stream *s, const struct rs_packet *p)
{
	unsigned code = rs_packet_syndrome(p) & RS_SYN_VALUE;
	struct rs_follow_event *e = follow_event(f, RS_FOLLOW_RNR, s, p->psn);

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

void follow_marks(const struct rs_follow *f, struct stream *s, const struct rs_packet *p)
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

void follow_answer(struct rs_follow *f, struct stream *s, const struct rs_packet *p)
{
	uint32_t flags = rs_opcodes[p->opcode].flags;

	if (flags & RS_F_READ)
		follow_marks(f, s, p);
	if (!first_place(f, &s->answers_at))
		return;
	s->s.becn += (p->bth_flags & RS_BTH_BECN) != 0;
	s->s.last_ns = f->now_ns;
	if (s->started && rs_psn_diff(p->psn, s->next) >= 0) {
		follow_wrong(f, s, p->psn, "an answer to a PSN that was not sent (9.7.5.1)");
		if (s->n_early < EARLY && f->n_events)
			s->early[s->n_early++] = f->n_events - 1;
		return;
	}
	s->last_answer_ns = f->now_ns;
	follow_note_answer(s, p->psn, flags & (RS_F_READ | RS_F_ATOMIC_ACK));
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

void follow_cnp(struct rs_follow *f, const struct rs_frame *fr, const struct rs_packet *p)
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
			struct rs_follow_event *e = follow_event(f, RS_FOLLOW_CNP, s, 0);

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

void follow_management(struct rs_follow *f, struct stream *s, const struct rs_packet *p)
{
	static const char *const names[] = {"REQ",  "MRA",  "REJ",      "REP",     "RTU",
					    "DREQ", "DREP", "SIDR_REQ", "SIDR_REP"};
	struct rs_follow_event *e;
	unsigned id;

	/* common MAD header: class at 1, attribute at 16 */
	if (!p->payload || p->payload_bytes < 24 || p->payload[1] != 0x07)
		return;
	id = (unsigned)p->payload[16] << 8 | p->payload[17];
	e = follow_event(f, RS_FOLLOW_CM, s, p->psn);
	if (!e)
		return;
	if (id >= 0x10 && id < 0x10 + sizeof(names) / sizeof(*names))
		snprintf(e->what, sizeof(e->what), "CM %s", names[id - 0x10]);
	else
		snprintf(e->what, sizeof(e->what), "CM attribute 0x%04x", id);
}
