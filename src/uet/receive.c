/* A PDC that receives: what it has, and the ACKs and NACKs that say so. */
#include <string.h>
#include "uet/state.h"

static bool holds(const struct rs_uet *u, const struct receiver *r, uint32_t psn)
{
	return (int32_t)(psn - r->cum) < 0 || bit(r->got, psn & u->mask);
}

/* 64 bits of the ring from a PSN on; those below the cumulative one are not in it. */
static uint64_t bitmap_from(const struct rs_uet *u, const struct receiver *r, uint32_t psn)
{
	uint32_t i = psn & u->mask, word = i >> 6, shift = i & 63;
	uint32_t ahead = r->cum + u->c.mpr - psn; /* PSNs that the ring has room for */
	uint64_t bits = r->got[word] >> shift;

	if (shift)
		bits |= r->got[(word + 1) & (u->mask >> 6)] << (64 - shift);
	return ahead < 64 ? bits & ((UINT64_C(1) << ahead) - 1) : bits;
}

static uint32_t base_behind(const struct receiver *r, uint32_t psn)
{
	uint32_t low = psn - (RS_UET_PSN_BITMAP - 1);

	return (int32_t)(low - (r->cum + 1)) > 0 ? low : r->cum + 1;
}

static void acknowledge(struct rs_uet *u, struct pdc *p, const struct rs_packet *cause,
			uint8_t flags)
{
	struct receiver *r = p->r;
	struct rs_packet *k = uet_control(u, p, RS_UET_ACK, cause->sport);
	bool precise = flags & UET_M || (cause->bth_flags & UET_AR && !(flags & UET_P));

	if (unlikely(!k))
		return;
	k->psn = cause->psn;
	k->aeth = r->cum;
	k->bth_flags = flags | (cause->bth_flags & UET_RETX);
	k->va = r->bytes;
	k->rkey = precise ? cause->psn : base_behind(r, cause->psn);
	k->dma_bytes = r->n_beyond;
	/* a precise base may be below the cumulative PSN, where bits mean nothing: all is there */
	k->swap_add = bitmap_from(u, r, k->rkey);
	r->since_ack = 0;
	r->any = true;
	u->n.acks++;
	uet_send_control(u, k);
}

static void refuse(struct rs_uet *u, struct pdc *p, const struct rs_packet *cause, uint8_t flags)
{
	struct rs_packet *k = uet_control(u, p, RS_UET_NACK, cause->sport);

	if (unlikely(!k))
		return;
	k->psn = flags & UET_OOO ? p->r->cum : cause->psn;
	k->bth_flags = flags | (cause->bth_flags & (UET_RETX | RS_PACKET_TRIMMED_LAST));
	u->n.nacks++;
	uet_send_control(u, k);
}

static uint8_t mark_of(const struct rs_packet *k)
{
	return rs_packet_ecn(k) == RS_ECN_CE ? UET_M : 0;
}

static void trimmed(struct rs_uet *u, struct pdc *p, const struct rs_packet *k, rs_time now)
{
	u->n.trimmed++;
	if (u->c.credits)
		uet_pull_asked(u, p, k->aeth, true, now);
	if (holds(u, p->r, k->psn))
		acknowledge(u, p, k, mark_of(k));
	else
		refuse(u, p, k, mark_of(k));
}

static void copy(struct receiver *r, const struct rs_packet *k)
{
	if (r->sink && k->payload && k->va <= r->room && k->payload_bytes <= r->room - k->va)
		memcpy(r->sink + k->va, k->payload, k->payload_bytes);
}

/* What follows without a gap is behind the cumulative PSN now. */
static void advance(struct rs_uet *u, struct pdc *p)
{
	struct receiver *r = p->r;

	for (;; r->n_beyond--) {
		uint32_t i = r->cum & u->mask;

		if (!bit(r->got, i))
			break;
		rs_assert(r->n_beyond);
		clear_bit(r->got, i);
		r->cum++;
		if (bit(r->eom, i)) {
			clear_bit(r->eom, i);
			uet_tell(u, p, true);
		}
	}
}

/* A request with new payload: whether an ACK is due for its place. */
static bool accept(struct rs_uet *u, struct pdc *p, const struct rs_packet *k)
{
	struct receiver *r = p->r;
	bool next = k->psn == r->cum;

	rs_assert(k->psn - r->cum <= u->mask && !bit(r->got, k->psn & u->mask));
	r->bytes += k->frame_bytes;
	u->n.useful += k->frame_bytes;
	r->since_ack += k->frame_bytes;
	r->n_beyond++;
	set_bit(r->got, k->psn & u->mask);
	if (k->bth_flags & UET_EOM)
		set_bit(r->eom, k->psn & u->mask);
	copy(r, k);
	if (next) {
		r->nacked = false;
		advance(u, p);
	} else if (r->n_beyond > u->n.most_out_of_order) {
		u->n.most_out_of_order = r->n_beyond;
	}
	return next && !r->n_beyond;
}

/* ROD takes what is next alone, and says once what it waits for. */
static bool out_of_order(struct rs_uet *u, struct pdc *p, const struct rs_packet *k)
{
	if (u->c.delivery != RS_UET_ROD || k->psn == p->r->cum)
		return false;
	if (!p->r->nacked)
		refuse(u, p, k, mark_of(k) | UET_OOO);
	p->r->nacked = true;
	return true;
}

void uet_request(struct rs_uet *u, struct pdc *p, const struct rs_packet *k, rs_time now)
{
	struct receiver *r = p->r;
	uint8_t mark = mark_of(k);
	bool due = !r->any || mark || k->bth_flags & UET_AR;

	if ((int32_t)(k->psn - r->cum) > (int32_t)u->mask) {
		u->n.dropped++; /* a peer of ours sends no such thing */
		return;
	}
	u->n.marked += mark != 0;
	if (unlikely(k->bth_flags & RS_PACKET_TRIMMED)) {
		trimmed(u, p, k, now);
		return;
	}
	if (u->c.credits)
		uet_pull_asked(u, p, k->aeth, false, now);
	if (unlikely(holds(u, r, k->psn))) {
		u->n.duplicates++;
		acknowledge(u, p, k, mark);
		return;
	}
	if (unlikely(out_of_order(u, p, k)))
		return;
	r->asked |= (k->bth_flags & UET_AR) != 0;
	if (accept(u, p, k) && r->asked) {
		r->asked = false;
		due = true;
	}
	if (due || r->since_ack >= u->c.ack_bytes)
		acknowledge(u, p, k, mark);
}

void uet_probed(struct rs_uet *u, struct pdc *p, const struct rs_packet *k, rs_time now)
{
	struct rs_packet at = *k;

	if (u->c.credits)
		uet_pull_asked(u, p, k->aeth, k->bth_flags & UET_ASKS, now);
	at.psn = p->r->cum;
	at.bth_flags = 0;
	acknowledge(u, p, &at, UET_P | mark_of(k));
}
