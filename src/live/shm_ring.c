/*
 * The ring of packets between two processes: see shm_ring.h. A record is published by its first
 * word, which says its place in the endless row of lines, so that a reader of an idle ring looks at
 * one line and finds the record there. The word behind the last record is kept zero.
 */
#include "live/shm_ring.h"

#include <string.h>
#include "base/error.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Never 0, and another one a lap. */
static uint32_t seq_at(uint64_t line)
{
	return (uint32_t)line | 0x80000000u;
}

static struct rs_shm_record *record_at(struct rs_shm_ring *ring, uint64_t line)
{
	return (struct rs_shm_record *)(void *)ring->line[line % RS_SHM_LINES];
}

/* ---- Writing ---- */

static bool room(struct rs_shm_writer *w, uint64_t lines)
{
	uint64_t head;

	if (w->tail + lines - w->head <= RS_SHM_LINES)
		return true;
	head = atomic_load_explicit(&w->ring->head, memory_order_acquire);
	if (head - w->head <= w->tail - w->head) /* never back, never beyond what was written */
		w->head = head;
	return w->tail + lines - w->head <= RS_SHM_LINES;
}

static void clear(struct rs_shm_writer *w, uint64_t line)
{
	atomic_store_explicit(&record_at(w->ring, line)->seq, 0, memory_order_relaxed);
	w->clear = line;
}

/*
 * The line behind the record says nothing before the record itself is there. To make it say so the
 * line is fetched, which may take as long as the other core takes to fetch the record; so the one
 * behind the next short record is cleared when this one has gone, where there is room.
 */
static void publish(struct rs_shm_writer *w, uint64_t lines)
{
	if (w->clear != w->tail + lines)
		clear(w, w->tail + lines);
	atomic_store_explicit(&record_at(w->ring, w->tail)->seq, seq_at(w->tail),
			      memory_order_release);
	w->tail += lines;
	if (w->tail + 2 - w->head <= RS_SHM_LINES)
		clear(w, w->tail + 1);
}

static uint64_t skip_lines(const struct rs_shm_writer *w, uint64_t lines)
{
	uint64_t left = RS_SHM_LINES - w->tail % RS_SHM_LINES;

	return lines > left ? left : 0;
}

static bool takes_small(const struct rs_shm_record *r)
{
	return r->kind == RS_SHM_PACKET &&
	       !(rs_opcodes[r->opcode].flags & (RS_F_ATOMIC | RS_F_ATOMIC_ACK));
}

#ifdef __SSE2__
/* to at a line's start; stores that go to memory. */
static void copy_past(uint8_t *to, const uint8_t *from, size_t n)
{
	size_t i = 0;

	for (; i + RS_SHM_LINE <= n; i += RS_SHM_LINE)
		for (size_t k = i; k < i + RS_SHM_LINE; k += sizeof(__m128i))
			_mm_stream_si128((__m128i *)(void *)(to + k),
					 _mm_loadu_si128((const void *)(from + k)));
	memcpy(to + i, from + i, n - i);
	_mm_sfence();
}
#else
static void copy_past(uint8_t *to, const uint8_t *from, size_t n)
{
	memcpy(to, from, n);
}
#endif

static void copy_long(const struct rs_shm_writer *w, uint8_t *to, const uint8_t *from, size_t n)
{
	if (w->past)
		copy_past(to, from, n);
	else
		memcpy(to, from, n);
}

bool rs_shm_write(struct rs_shm_writer *w, struct rs_shm_record *r, const void *payload, size_t n)
{
	bool small = n <= RS_SHM_SMALL && takes_small(r);
	uint64_t lines = 1 + (small ? 0 : (n + RS_SHM_LINE - 1) / RS_SHM_LINE);
	uint64_t skip = skip_lines(w, lines);
	struct rs_shm_record *at;

	rs_assert(n <= RS_MAX_PAYLOAD); /* the reader breaks the ring for more */
	if (!room(w, skip + lines + 1))
		return false;
	if (skip) {
		record_at(w->ring, w->tail)->kind = RS_SHM_SKIP;
		publish(w, skip);
	}
	at = record_at(w->ring, w->tail);
	r->payload_bytes = (uint16_t)n;
	if (small && n)
		memcpy(r->u.small, payload, n);
	else if (n >= RS_SHM_LONG)
		copy_long(w, (uint8_t *)(at + 1), payload, n);
	else if (n)
		memcpy(at + 1, payload, n);
	memcpy((uint8_t *)at + sizeof(at->seq), (const uint8_t *)r + sizeof(r->seq),
	       sizeof(*r) - sizeof(r->seq));
	publish(w, lines);
	return true;
}

/* Where the next bytes of the stage are to go; UINT64_MAX: there is no room. */
static uint64_t stage_place(struct rs_shm_writer *w, uint32_t bytes)
{
	uint64_t left = RS_SHM_STAGE - w->staged % RS_SHM_STAGE;
	uint64_t at = w->staged + (bytes > left ? left : 0), done;

	if (at + bytes - w->staged_done <= RS_SHM_STAGE)
		return at;
	done = atomic_load_explicit(&w->ring->staged_done, memory_order_acquire);
	if (done - w->staged_done <= w->staged - w->staged_done) /* as room() */
		w->staged_done = done;
	return at + bytes - w->staged_done <= RS_SHM_STAGE ? at : UINT64_MAX;
}

bool rs_shm_write_staged(struct rs_shm_writer *w, struct rs_shm_record *r)
{
	const void *from = (const void *)(uintptr_t)r->u.run.at;
	uint64_t at = stage_place(w, r->u.run.bytes);

	rs_assert(r->u.run.bytes <= RS_SHM_STAGE);
	if (at == UINT64_MAX || !room(w, skip_lines(w, 1) + 2))
		return false;
	copy_long(w, w->ring->stage + at % RS_SHM_STAGE, from, r->u.run.bytes);
	w->staged = (at + r->u.run.bytes + RS_SHM_LINE - 1) / RS_SHM_LINE * RS_SHM_LINE;
	r->u.run.at = at;
	return rs_shm_write(w, r, NULL, 0);
}

void rs_shm_pack(const struct rs_packet *p, struct rs_shm_record *r)
{
	uint32_t f = rs_opcodes[p->opcode].flags;

	r->kind = RS_SHM_PACKET;
	r->opcode = p->opcode;
	r->bth_flags = p->bth_flags & (uint8_t)~RS_PACKET_INT;
	r->tos = p->tos;
	r->pkey = p->pkey;
	r->packets = 1;
	r->dest_qp = p->dest_qp;
	r->psn = p->psn;
	r->aeth_imm = f & (RS_F_AETH | RS_F_ATOMIC_ACK) ? p->aeth : p->imm;
	r->va = p->va;
	r->rkey_qkey = f & RS_F_DETH ? p->qkey : p->rkey;
	r->dma_bytes = p->dma_bytes;
	r->src_qp_srqn = f & RS_F_XRCETH ? p->xrc_srqn : p->src_qp;
	r->u.atomic.swap_add = p->swap_add;
	r->u.atomic.compare = p->compare;
}

/* Is there a place for an ACK's AETH and PSN, which no other header needs? */
static bool has_place_for_ack(uint8_t opcode)
{
	uint32_t f = rs_opcodes[opcode].flags;

	return (opcode & 0xe0) == RS_RC && f & RS_F_REQUEST &&
	       !(f & (RS_F_IMM | RS_F_IETH | RS_F_ATOMIC));
}

bool rs_shm_pack_ack(const struct rs_packet *p, const struct rs_packet *ack,
		     struct rs_shm_record *r)
{
	if (r->kind != RS_SHM_PACKET || !has_place_for_ack(p->opcode) ||
	    ack->opcode != (RS_RC | RS_OP_ACKNOWLEDGE) || ack->dest_qp != p->dest_qp ||
	    ack->dst != p->dst || ack->pkey != p->pkey || (ack->tos ^ p->tos) & ~3u ||
	    (ack->bth_flags ^ p->bth_flags) & RS_BTH_MIGREQ)
		return false;
	r->packets = RS_SHM_WITH_ACK;
	r->aeth_imm = ack->aeth;
	r->src_qp_srqn = ack->psn;
	return true;
}

/* ---- Reading ---- */

bool rs_shm_waiting(const struct rs_shm_reader *r)
{
	const struct rs_shm_record *at = record_at(r->ring, r->head);

	return !r->broken &&
	       atomic_load_explicit(&at->seq, memory_order_acquire) == seq_at(r->head);
}

bool rs_shm_next_is_run(const struct rs_shm_reader *r)
{
	return rs_shm_waiting(r) && record_at(r->ring, r->head)->kind == RS_SHM_RUN;
}

bool rs_shm_break(struct rs_shm_reader *r)
{
	r->broken = true;
	atomic_store_explicit(&r->ring->refused, 1, memory_order_release);
	return false;
}

bool rs_shm_read(struct rs_shm_reader *r, struct rs_shm_record *out, const uint8_t **payload)
{
	for (unsigned skips = 0; rs_shm_waiting(r); skips++) {
		uint64_t left = RS_SHM_LINES - r->head % RS_SHM_LINES;
		struct rs_shm_record *at = record_at(r->ring, r->head);
		uint64_t lines = 1;

		memcpy(out, at, sizeof(*out));
		if (out->kind == RS_SHM_SKIP && skips == 0) {
			r->head += left;
			continue;
		}
		if (out->kind == RS_SHM_SKIP || !out->kind || out->kind >= RS_SHM_KINDS ||
		    out->payload_bytes > RS_MAX_PAYLOAD)
			return rs_shm_break(r);
		if (out->payload_bytes <= RS_SHM_SMALL && takes_small(out)) {
			*payload = out->u.small;
		} else {
			*payload = (const uint8_t *)(at + 1);
			lines += (out->payload_bytes + RS_SHM_LINE - 1u) / RS_SHM_LINE;
		}
		if (lines > left)
			return rs_shm_break(r);
		r->head += lines;
		return true;
	}
	return false;
}

const uint8_t *rs_shm_staged(const struct rs_shm_reader *r, const struct rs_shm_record *record)
{
	uint64_t at = record->u.run.at % RS_SHM_STAGE;

	return at + record->u.run.bytes <= RS_SHM_STAGE ? r->ring->stage + at : NULL;
}

void rs_shm_unstage(struct rs_shm_reader *r, const struct rs_shm_record *record)
{
	atomic_store_explicit(&r->ring->staged_done, record->u.run.at + record->u.run.bytes,
			      memory_order_release);
}

void rs_shm_release(struct rs_shm_reader *r)
{
	if (r->told == r->head)
		return;
	r->told = r->head;
	atomic_store_explicit(&r->ring->head, r->head, memory_order_release);
}

bool rs_shm_unpack_ack(struct rs_shm_record *r, struct rs_packet *ack)
{
	struct rs_shm_record own = *r;

	if (r->kind != RS_SHM_PACKET || r->packets != RS_SHM_WITH_ACK ||
	    !has_place_for_ack(r->opcode))
		return false;
	own.opcode = RS_RC | RS_OP_ACKNOWLEDGE;
	own.bth_flags &= RS_BTH_MIGREQ;
	own.psn = r->src_qp_srqn;
	own.payload_bytes = 0;
	r->packets = 1;
	r->aeth_imm = r->src_qp_srqn = 0;
	return rs_shm_unpack(&own, NULL, ack);
}

bool rs_shm_unpack(const struct rs_shm_record *r, const uint8_t *payload, struct rs_packet *p)
{
	uint32_t f = rs_opcodes[r->opcode].flags;

	if (!(f & RS_F_VALID) || (r->payload_bytes && !(f & RS_F_PAYLOAD)) || f & RS_F_CNP ||
	    (r->dest_qp | r->psn) > 0xffffff)
		return false;
	memset(p, 0, sizeof(*p));
	p->next = RS_NO_PACKET;
	p->opcode = r->opcode;
	p->bth_flags = r->bth_flags & (RS_BTH_SE | RS_BTH_MIGREQ | RS_BTH_ACKREQ);
	p->tos = r->tos & (uint8_t)~3u;
	p->pkey = r->pkey;
	p->sport = RS_UDP_PORT;
	p->dest_qp = r->dest_qp;
	p->psn = r->psn;
	if (f & (RS_F_AETH | RS_F_ATOMIC_ACK))
		p->aeth = r->aeth_imm;
	else
		p->imm = r->aeth_imm;
	p->va = r->va;
	if (f & RS_F_DETH) {
		p->qkey = r->rkey_qkey;
		p->src_qp = r->src_qp_srqn & 0xffffff;
	} else {
		p->rkey = r->rkey_qkey;
	}
	p->dma_bytes = r->dma_bytes;
	if (f & (RS_F_ATOMIC | RS_F_ATOMIC_ACK)) {
		p->swap_add = r->u.atomic.swap_add;
		p->compare = r->u.atomic.compare;
	}
	if (f & RS_F_XRCETH)
		p->xrc_srqn = r->src_qp_srqn;
	p->payload = payload;
	p->payload_bytes = r->payload_bytes;
	return true;
}
