/* A capture's follower: records of 12 bytes become packets with right checksums between three hosts
 * and four queue pairs, at times that need not grow; every count stays what the packets were. */
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "fuzz.h"
#include "capture/follow.h"

enum { RECORD = 12, RECORDS_MAX = 2048, FRAME_MAX = RS_MAX_PAYLOAD + RS_MAX_HEADERS };

static const uint8_t payload[RS_MAX_PAYLOAD];

/* opcode, ends and interface, queue pair and flags, PSN (two bytes), AETH (two), payload (two),
 * time (two), what is wrong with it. */
static long packet_of(const uint8_t *r, uint8_t *out)
{
	static const uint16_t sizes[] = {256, 512, 1024, 2048, 4096};
	struct rs_frame f;
	struct rs_packet p = {.opcode = r[0],
			      .pkey = 0xffff,
			      .sport = 0xc000,
			      .tos = r[2] >> 4 & 3,
			      .dest_qp = 0x10u + (r[2] & 3),
			      .psn = ((uint32_t)r[3] << 8 | r[4]) - 0x8000u,
			      .aeth = (uint32_t)r[5] << 24 | r[6],
			      .va = 0x1000,
			      .rkey = 7,
			      .payload = payload};

	p.psn &= RS_PSN_MASK;
	p.bth_flags = r[2] & 4 ? RS_BTH_ACKREQ : 0;
	if (rs_opcodes[p.opcode].flags & RS_F_PAYLOAD)
		p.payload_bytes = r[7] & 1 ? sizes[r[7] % 5] : (uint16_t)(r[8] << (r[7] & 3));
	p.dma_bytes = (uint32_t)r[7] << 8 | r[8];
	if (p.opcode == RS_OPCODE_CNP)
		p.bth_flags |= RS_BTH_BECN;
	p.corrupt = r[11] == 1;
	rs_frame_of_endpoints(&f, r[1] & 3, r[1] >> 2 & 3, r[1] & 0x40);
	f.tver = r[11] == 2;
	return rs_frame_encode(&f, &p, out, FRAME_MAX);
}

static void check(const struct rs_follow *f, uint64_t packets)
{
	const struct rs_follow_totals *t = rs_follow_totals(f);
	uint32_t streams = rs_follow_streams(f);

	rs_assert(t->frames == packets && t->roce + t->other + t->malformed + t->pfc <= packets);
	rs_assert(t->bad_icrc <= packets && t->not_reencoded == 0);
	for (uint32_t i = 0; i < streams; i++) {
		const struct rs_follow_stream *s = rs_follow_stream(f, i);

		rs_assert(s->packets <= packets && s->messages <= s->packets);
		rs_assert(s->payload_bytes <= s->frame_bytes && s->ce <= s->packets);
		rs_assert(s->duplicates <= packets && s->resent <= packets && s->late <= packets);
	}
	for (uint32_t i = 0; i < rs_follow_events(f); i++) {
		const struct rs_follow_event *e = rs_follow_event(f, i);

		rs_assert(e->kind < RS_FOLLOW_KINDS && e->cause < RS_CAUSES);
		rs_assert(e->stream == UINT32_MAX || e->stream < streams);
		rs_assert(e->packet <= packets && memchr(e->what, 0, sizeof(e->what)));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	static uint8_t frame[FRAME_MAX];
	struct rs_follow *f;
	uint64_t packets = 0;
	int64_t now = 0;

	if (n / RECORD > RECORDS_MAX)
		return 0;
	rs_assert(!rs_follow_create(&f));
	for (unsigned pass = 0; pass < 2; pass++)
		for (size_t at = 0; at + RECORD <= n; at += RECORD) {
			const uint8_t *r = bytes + at;
			long len = packet_of(r, frame);

			rs_assert(len > 0);
			if (!pass) {
				rs_follow_learn(f, frame, (size_t)len);
				continue;
			}
			now += (int16_t)(r[9] << 8 | r[10]) * INT64_C(1000);
			rs_assert(!rs_follow_packet(f, r[1] >> 4 & 3, now, frame, (size_t)len));
			packets++;
		}
	rs_assert(!rs_follow_finish(f));
	check(f, packets);
	rs_follow_destroy(f);
	return 0;
}
