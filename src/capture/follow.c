/* Third-party view of RoCEv2 connections: IBTA vol. 1 chapter 9.7 (reliable service), tables 45 and
 * 46 (RNR timer), annex A17 (RoCEv2, CNP). */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/bytes.h"
#include "capture/state.h"

const char *const rs_follow_causes[] = {"",          "NAK",        "RNR", "timeout",
					"duplicate", "READ again", "late"};

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

uint32_t follow_hash(const uint8_t *sip, const uint8_t *dip, uint32_t qp)
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

bool follow_is(uint8_t opcode, uint8_t operation)
{
	return is_reliable(opcode & 0xe0) && (opcode & 0x1f) == operation;
}

bool follow_is_read(uint8_t opcode)
{
	return follow_is(opcode, RS_OP_READ_REQUEST);
}

bool follow_merged(struct rs_follow *f, const uint8_t *frame, size_t n, size_t on_wire,
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
		follow_wrong(f, NULL, p->psn, "the ICRC is not that of the bytes (7.8, A17.3.3)");
	}
	if (again < 0 || (size_t)again != n || memcmp(f->again, frame, same)) {
		f->t.not_reencoded++;
		follow_wrong(f, NULL, p->psn, "encoding what was decoded gives other bytes");
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
	follow_wrong(f, NULL, 0, why->what);
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
		follow_cnp(f, &fr, &p);
		return 0;
	}
	if (flags & RS_F_RESPONSE) {
		s = follow_stream_answered(f, fr.sip, fr.dip, &p);
		if (s)
			follow_answer(f, s, &p);
		return 0;
	}
	s = follow_stream_of(f, fr.sip, fr.dip, p.dest_qp, p.opcode & 0xe0);
	if (!s)
		return f->n_streams == STREAMS_MAX ? 0 : -ENOMEM;
	follow_marks(f, s, &p);
	if (s->s.interface != f->interface)
		return 0;
	follow_request(f, s, &p, fr.ipv6 ? 0 : fr.ip_id);
	if (p.dest_qp == 1 && s->s.transport == RS_UD)
		follow_management(f, s, &p);
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
	if (!follow_merged(f, frame, n, on_wire, &s))
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
		e = follow_event(f, RS_FOLLOW_UNANSWERED, s, s->unacked);
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
