/*
 * Packets into sends that the kernel segments (UDP_SEGMENT): one path, one TOS, one length, one
 * slot of destination QPs. Long payloads are named where they lie, the rest is written once.
 * Segment k has identification k.
 */
#include <string.h>
#include "live/state.h"
#include "base/bytes.h"
#include "live/stamps.h"
#include "wire/crc.h"
#include "wire/filler.h"
#include "wire/headers.h"
#include "wire/telemetry.h"

/* Extended headers that are written here; packets with others go through wire/'s encoder. */
enum {
	OTHER_HEADERS =
		RS_F_XRCETH | RS_F_DETH | RS_F_FETH | RS_F_ATOMIC | RS_F_ATOMIC_ACK | RS_F_CNP,
};

/* Of the header of our own (wire/roce.h). */
static uint32_t own_bytes(const struct rs_packet *p)
{
	if (__builtin_expect(!(p->bth_flags & RS_BTH_EXTENDED), 1))
		return 0;
	return rs_opcodes[p->opcode].flags & RS_F_AETH ? RS_SACK_BYTES : RS_RETH_BYTES;
}

/* Bytes of UDP payload: what lies between the UDP header and the FCS. */
static uint32_t datagram_bytes(const struct rs_packet *p)
{
	return RS_BTH_BYTES + rs_opcodes[p->opcode].ext_bytes + own_bytes(p) + p->payload_bytes +
	       rs_pad(p->payload_bytes) + RS_ICRC_BYTES;
}

/* May it be? Not where stamps follow the ICRC, or where all packets of a message have an address.
 */
static bool may_fill(const struct rs_live *l, const struct rs_packet *p)
{
	return !l->stamps && (p->opcode & 0xe0) <= RS_UC &&
	       !(p->bth_flags & (RS_BTH_CAN | RS_BTH_EXTENDED));
}

/*
 * Towards a peer that drops what follows an ICRC: bytes that a packet is filled by, so that it is
 * as long as its message's First, which has a RETH, or of a READ's responses First and Last, which
 * have an AETH. A Last is filled where it then belongs to the run, and may be shorter otherwise.
 */
static uint32_t filler_bytes(const struct rs_tx *t, const struct rs_packet *p, uint32_t n)
{
	const struct rs_run *r = t->runs ? &t->run[t->runs - 1] : NULL;
	uint32_t bytes = rs_filler_of(p->opcode);

	if (rs_opcodes[p->opcode].flags & RS_F_LAST && !(r && n + bytes == r->segment))
		return 0;
	return bytes;
}

/*
 * A WRITE's First is longer than what follows it, if that is not filled, so that only one of that
 * can share its send. One does only where the rest then needs a send less: two short sends cost
 * more than a single packet and a full one.
 */
static bool goes_before(const struct rs_packet *p, uint32_t n)
{
	uint32_t f = rs_opcodes[p->opcode].flags, per, rest;

	if (!(f & RS_F_RETH) || f & RS_F_LAST || !p->payload_bytes)
		return false;
	per = RS_TX_RUN_BYTES / (n - RS_RETH_BYTES);
	per = per < RS_TX_RUN_MAX ? per : RS_TX_RUN_MAX;
	rest = (p->dma_bytes - 1) / p->payload_bytes;
	return rest % per != 1;
}

/* Does p continue the last run? The kernel steers a whole send by its first packet. */
static bool continues(const struct rs_tx *t, const struct rs_packet *p, uint32_t n)
{
	const struct rs_run *r = t->runs ? &t->run[t->runs - 1] : NULL;

	return t->gso && r && r->path == p->dst && r->tos == p->tos &&
	       (r->equal ? n == r->segment : n <= r->segment) &&
	       r->bytes == (uint32_t)r->count * r->segment && r->count < RS_TX_RUN_MAX &&
	       r->bytes + n <= RS_TX_RUN_BYTES && r->slot == p->dest_qp >> 16;
}

static struct rs_run *begin_run(struct rs_tx *t, const struct rs_packet *p, uint32_t n, bool fill)
{
	struct rs_run *r = &t->run[t->runs++];

	*r = (struct rs_run){.path = p->dst,
			     .first = (uint16_t)t->pieces,
			     .segment = (uint16_t)n,
			     .tos = p->tos,
			     .equal = !fill && goes_before(p, n),
			     .slot = (uint8_t)(p->dest_qp >> 16)};
	return r;
}

static void add_piece(struct rs_tx *t, struct rs_run *r, const uint8_t *at, size_t n)
{
	t->piece[t->pieces++] = (struct iovec){(void *)(uintptr_t)at, n};
	r->pieces++;
}

/* The next n bytes of the batch's memory, which are written: they lengthen the run's last piece
 * where they lie behind it. */
static void take_bytes(struct rs_tx *t, struct rs_run *r, size_t n)
{
	uint8_t *at = t->bytes + t->used;
	struct iovec *last = r->pieces ? &t->piece[t->pieces - 1] : NULL;

	if (last && (uint8_t *)last->iov_base + last->iov_len == at)
		last->iov_len += n;
	else
		add_piece(t, r, at, n);
	t->used += n;
}

/*
 * What follows the BTH of a queue pair whose recovery is selective, and the bits that say so:
 * RETH, AETH or an immediate, then the header of our own. Returns all bytes, the BTH's too.
 */
static size_t write_own(uint8_t *bth, const struct rs_packet *p)
{
	uint32_t flags = rs_opcodes[p->opcode].flags;
	bool extended = p->bth_flags & RS_BTH_EXTENDED;
	uint8_t *b = bth + RS_BTH_BYTES;

	bth[8] |= (p->bth_flags & RS_BTH_CAN ? RS_BTH8_CAN : 0) | (extended ? RS_BTH8_EXTENDED : 0);
	b = rs_extended_put(b, p, flags);
	if (extended && flags & RS_F_AETH) {
		rs_put32(b, p->rkey);
		rs_put64(b + 4, p->va);
		b += RS_SACK_BYTES;
	} else if (extended) {
		rs_put64(b, p->va);
		rs_put32(b + 8, p->rkey);
		rs_put32(b + 12, p->dma_bytes);
		b += RS_RETH_BYTES;
	}
	return (size_t)(b - bth);
}

/* BTH, RETH or AETH, an immediate or an R_Key; returns their bytes. IBTA §9.2, §9.3. */
static size_t write_headers(uint8_t *b, const struct rs_packet *p)
{
	uint32_t flags = rs_opcodes[p->opcode].flags & ~OTHER_HEADERS;

	rs_bth_put(b, p);
	if (__builtin_expect(p->bth_flags & (RS_BTH_CAN | RS_BTH_EXTENDED), 0))
		return write_own(b, p);
	return (size_t)(rs_extended_put(b + RS_BTH_BYTES, p, flags) - b);
}

/* One piece: headers, payload, pad and ICRC behind one another. A long payload's CRC is taken as it
 * is copied. */
static void write_copied(struct rs_tx *t, struct rs_run *r, const struct rs_packet *p, size_t head,
			 uint32_t crc)
{
	uint8_t *b = t->bytes + t->used;
	size_t n = head + p->payload_bytes, done = RS_BTH_BYTES;

	if (p->payload_bytes >= RS_CRC_WIDE_LEAST) {
		if (head > RS_BTH_BYTES)
			crc = rs_crc32(crc, b + RS_BTH_BYTES, head - RS_BTH_BYTES);
		crc = rs_crc32_copy(crc, b + head, p->payload, p->payload_bytes);
		done = n;
	} else if (p->payload_bytes) {
		memcpy(b + head, p->payload, p->payload_bytes);
	}
	memset(b + n, 0, rs_pad(p->payload_bytes));
	n += rs_pad(p->payload_bytes);
	if (n > done)
		crc = rs_crc32(crc, b + done, n - done);
	rs_put32_le(b + n, crc);
	take_bytes(t, r, n + RS_ICRC_BYTES);
}

static void write_referred(struct rs_tx *t, struct rs_run *r, const struct rs_packet *p,
			   size_t head, uint32_t crc)
{
	size_t pad = rs_pad(p->payload_bytes);
	uint8_t *b = t->bytes + t->used;

	if (head > RS_BTH_BYTES)
		crc = rs_crc32(crc, b + RS_BTH_BYTES, head - RS_BTH_BYTES);
	crc = rs_crc32(crc, p->payload, p->payload_bytes);
	take_bytes(t, r, head);
	add_piece(t, r, p->payload, p->payload_bytes);
	b += head;
	if (pad) {
		memset(b, 0, pad);
		crc = rs_crc32(crc, b, pad);
	}
	rs_put32_le(b + pad, crc);
	take_bytes(t, r, pad + RS_ICRC_BYTES);
}

/* As wire/ has it, and cut out of the frame. */
static void write_other(struct rs_tx *t, struct rs_run *r, const struct rs_packet *p,
			const struct rs_path *path, uint32_t n)
{
	struct rs_frame f = {.ipv6 = path->ipv6, .ttl = 64, .dport = RS_UDP_PORT};
	size_t head = RS_ETH_BYTES + (path->ipv6 ? RS_IPV6_BYTES : RS_IPV4_BYTES) + RS_UDP_BYTES;
	uint8_t frame[RS_TX_SLOT];

	memcpy(f.sip, path->own, 16);
	memcpy(f.dip, path->peer, 16);
	f.ip_frag = path->ipv6 ? 0 : 0x4000;
	f.ip_id = path->ipv6 ? 0 : r->count;
	rs_frame_encode(&f, p, frame, sizeof(frame));
	memcpy(t->bytes + t->used, frame + head, n);
	take_bytes(t, r, n);
}

/* Room for stamps, and those that are returned. */
static void write_trailer(struct rs_tx *t, struct rs_run *r, const struct rs_packet *p)
{
	rs_int_trailer_put(p, t->bytes + t->used);
	take_bytes(t, r, RS_INT_TRAILER_BYTES);
}

static void write_filler(struct rs_tx *t, struct rs_run *r, uint8_t *bth, uint32_t n)
{
	bth[4] |= RS_BTH4_FILLED; /* which the ICRC leaves out */
	rs_filler_put(t->bytes + t->used, n);
	take_bytes(t, r, n);
}

bool rs_tx_encode(struct rs_live *l, struct rs_packet *p, bool fill)
{
	struct rs_tx *t = &l->tx;
	const struct rs_path *path = &l->paths.path[p->dst < l->paths.fresh ? p->dst : 0];
	bool stamped = __builtin_expect(l->stamps != NULL, 0) && rs_stamps_wanted(l, p);
	uint32_t n = datagram_bytes(p), whole = n + (stamped ? RS_INT_TRAILER_BYTES : 0), crc;
	uint8_t *b = t->bytes + t->used;
	uint32_t filler;
	struct rs_run *r;
	size_t head;

	if (p->dst >= l->paths.fresh || !path->used) {
		l->counters.tx_refused++;
		return true;
	}
	p->sport = RS_UDP_PORT; /* the one that the socket has */
	fill = fill && may_fill(l, p);
	filler = fill ? filler_bytes(t, p, n) : 0;
	whole += filler;
	r = continues(t, p, whole) ? &t->run[t->runs - 1] : begin_run(t, p, whole, fill);
	if ((rs_opcodes[p->opcode].flags & OTHER_HEADERS &&
	     !(p->bth_flags & (RS_BTH_CAN | RS_BTH_EXTENDED))) ||
	    (p->payload_bytes && !p->payload)) {
		write_other(t, r, p, path, n);
		if (stamped)
			rs_stamps_mark(p, stamped, b); /* bits that the ICRC leaves out */
	} else {
		head = write_headers(b, p);
		if (__builtin_expect(l->stamps != NULL, 0))
			rs_stamps_mark(p, stamped, b);
		crc = rs_icrc_head(&t->icrc, path, p->dst, false, RS_UDP_PORT, b, n, r->count);
		if (p->payload_bytes < rs_live_tuning.by_reference_bytes)
			write_copied(t, r, p, head, crc);
		else
			write_referred(t, r, p, head, crc);
	}
	if (stamped)
		write_trailer(t, r, p);
	if (filler)
		write_filler(t, r, b, filler);
	t->packets++;
	t->load += whole;
	r->count++;
	r->bytes += whole;
	return r->count == 1;
}

/* ---- Middles that follow one another ---- */

/* The opcode of those behind p in its message: they may go behind it; 0: none. */
static uint8_t middle_of(uint8_t opcode)
{
	switch (opcode) {
	case RS_RC | RS_OP_SEND_FIRST:
	case RS_RC | RS_OP_SEND_MIDDLE:
		return RS_RC | RS_OP_SEND_MIDDLE;
	case RS_RC | RS_OP_WRITE_FIRST:
	case RS_RC | RS_OP_WRITE_MIDDLE:
		return RS_RC | RS_OP_WRITE_MIDDLE;
	case RS_RC | RS_OP_READ_RESPONSE_FIRST:
	case RS_RC | RS_OP_READ_RESPONSE_MIDDLE:
		return RS_RC | RS_OP_READ_RESPONSE_MIDDLE;
	default:
		return 0;
	}
}

static uint32_t middle_filler(const struct rs_live *l, const struct rs_packet *p, bool fill)
{
	return fill && may_fill(l, p) ? rs_filler_of(middle_of(p->opcode)) : 0;
}

uint32_t rs_tx_room(const struct rs_live *l, const struct rs_packet *p, bool fill)
{
	const struct rs_tx *t = &l->tx;
	const struct rs_run *r = t->runs ? &t->run[t->runs - 1] : NULL;
	uint32_t whole = RS_BTH_BYTES + p->payload_bytes + RS_ICRC_BYTES, n, by_bytes;

	if (!t->gso || !r || l->stamps || !middle_of(p->opcode) || !p->payload ||
	    p->payload_bytes % 4)
		return 0;
	whole += middle_filler(l, p, fill);
	if (r->segment != whole || r->bytes != (uint32_t)r->count * whole)
		return 0;
	n = RS_TX_RUN_MAX - r->count;
	by_bytes = (RS_TX_RUN_BYTES - r->bytes) / whole;
	n = n < by_bytes ? n : by_bytes;
	return n < RS_TX_BATCH - t->packets - t->acks ? n : RS_TX_BATCH - t->packets - t->acks;
}

/* One of them: the BTH but for what differs is at head. */
static void put_middle(uint8_t *b, const uint8_t *head, uint32_t psn, bool asks)
{
	memcpy(b, head, RS_BTH_BYTES - 4);
	rs_put32(b + RS_BTH_BYTES - 4, (uint32_t)asks << 31 | psn);
}

void rs_tx_encode_middles(struct rs_live *l, const struct rs_packet *p, uint32_t n,
			  const uint8_t *payload, uint64_t asking, bool fill)
{
	struct rs_tx *t = &l->tx;
	struct rs_run *r = &t->run[t->runs - 1];
	const struct rs_path *path = &l->paths.path[p->dst];
	uint32_t bytes = p->payload_bytes, filler = middle_filler(l, p, fill), fixed, crc;
	bool copied = bytes < rs_live_tuning.by_reference_bytes;
	uint8_t head[RS_BTH_BYTES];

	rs_bth_put(head, p);
	head[4] |= filler ? RS_BTH4_FILLED : 0;
	fixed = rs_icrc_fixed(&t->icrc, path, p->dst, false, RS_UDP_PORT, head,
			      RS_BTH_BYTES + bytes + RS_ICRC_BYTES);
	for (uint32_t i = 0; i < n; i++, payload += bytes) {
		uint8_t *b = t->bytes + t->used, *end = b + RS_BTH_BYTES;

		put_middle(b, head, rs_psn_add(p->psn, i), asking >> i & 1);
		crc = rs_icrc_behind(fixed, path, b, r->count++);
		if (copied) {
			crc = rs_crc32_copy(crc, end, payload, bytes);
			end += bytes;
		} else {
			crc = rs_crc32(crc, payload, bytes);
			take_bytes(t, r, RS_BTH_BYTES);
			add_piece(t, r, payload, bytes);
			b = end;
		}
		rs_put32_le(end, crc);
		end += RS_ICRC_BYTES;
		if (filler)
			rs_filler_put(end, filler);
		take_bytes(t, r, (size_t)(end - b) + filler);
	}
	t->packets += n;
	t->load += (size_t)n * r->segment;
	r->bytes += n * r->segment;
}

void rs_tx_settle(struct rs_tx *t)
{
	uint8_t *at = t->spare;

	if (t->settled)
		return;
	t->settled = true;
	for (unsigned i = t->runs_sent; i < t->runs; i++) {
		struct rs_run *r = &t->run[i];
		uint8_t *start = at;

		for (unsigned k = 0; k < r->pieces; k++) {
			const struct iovec *v = &t->piece[r->first + k];

			memcpy(at, v->iov_base, v->iov_len);
			at += v->iov_len;
		}
		t->piece[r->first] = (struct iovec){start, (size_t)(at - start)};
		r->pieces = 1;
	}
}
