/* Selective repeat's memory and what its two files share: selective.c has requests' packets both
 * ways, selective_reads.c READs and atomics. */
#ifndef RS_RDMA_SELECTIVE_H
#define RS_RDMA_SELECTIVE_H

#include "rdma/state.h"

enum {
	WORD = 64,
	WINDOW_LEAST = 1024,
	FEW = 3,    /* packets in flight that the shorter timeout is for: IRN, section 3.1,
		     * acknowledges each */
	AGAIN = 64, /* parts of READs that a responder owes once more, at most: what finds no room
		     * is asked for again */
};

/* What is known of the peer. While it is asked one request is out at a time. */
enum mode { ASKING, SELECTIVE, IN_ORDER };

/* Of a request's packet; of a READ's response, that is missing: `when` it was found to be, or
 * asked for `again`. */
struct sent {
	rs_time when;
	uint16_t bytes; /* as sent and acked count them */
	uint16_t port;  /* of a balancer */
	bool again;
};

/* A request that came before its turn. READs have no payload; an atomic has its operands where
 * others have a place and what belongs to it. */
struct kept {
	uint64_t va;
	union {
		const uint8_t *to; /* where the payload was put */
		uint64_t swap_add; /* of an ATOMIC WRITE, its payload */
	};
	union {
		struct {
			uint32_t dma_bytes, imm;
		};
		uint64_t compare;
	};
	uint32_t rkey;
	uint16_t bytes;
	uint8_t opcode, bth_flags;
};

/* Responses of READs that go once more. */
struct again {
	uint32_t psn, n;
};

/* PSNs are places of rings, modulo the window. */
struct selective {
	const struct rs_selective *c;
	uint32_t window; /* a power of two */
	uint8_t mode;    /* enum mode: other than SELECTIVE, go-back-N's rules hold */
	bool can;        /* the peer said that it is selective */
	uint32_t few;    /* packets in flight that the shorter timeout is for */

	/* Requester: [base, top) were sent and are not acknowledged. Nothing of READs and atomics.
	 */
	uint32_t base, top;
	uint32_t n_acked, n_lost; /* of them: arrived; lost and not sent again yet */
	uint64_t off;             /* bytes of both: not on their way */
	uint32_t una;             /* una_psn when last looked at; NO_PSN */
	rs_time newest;           /* when the latest sent of those that arrived was sent */
	uint32_t newest_psn;
	bool newest_again;
	rs_time rtt, least_rtt;
	rs_time heard;           /* when something new was acknowledged last, or all began */
	rs_time rto_at, lost_at; /* when a packet that is missing counts as lost */
	uint32_t round;          /* one loss is told to congestion control until this PSN is
				  * acknowledged */
	bool in_round;
	bool fenced; /* until the PSN fence is acknowledged, no WRITE goes */
	uint32_t fence;
	uint32_t receives; /* of the peer, that what was posted takes */
	bool refused;      /* the memory of this request, when it was to be sent again */
	uint32_t refused_at;

	/*
	 * Requester, while READs and atomics are out, and nothing else is: their answers that came
	 * before their turn have their bit in acked, those that are to be asked for again in lost.
	 * Where none came before its turn the next is una_psn's.
	 */
	uint32_t r_came, r_lost;
	uint32_t r_top;  /* one past the highest that came; of use while r_came */
	rs_time r_again; /* of those asked for again that came: when the latest was asked for */
	uint32_t r_again_psn;
	rs_time r_again_came; /* and when it came */
	bool r_news;
	rs_time gap_at; /* a request is missing at the responder from then on; RS_NEVER */
	uint32_t gap_psn;

	/* Responder */
	uint32_t n_kept;
	uint32_t expected; /* epsn when last looked at, while some are kept */
	uint32_t nak_for;  /* the gap that a NAK was made for; NO_PSN */

	struct again again[AGAIN]; /* in turn from again_head */
	uint32_t again_head, again_n;

	struct rs_balance *balance; /* NULL: one path */
	bool balanced;              /* it was begun */
	bool marked;                /* what the ACK acknowledges met congestion */

	struct sent *sent;
	struct kept *kept;
	uint64_t *acked, *lost, *here; /* [window] bits */
	uint64_t *untold;              /* a bit a word of here: changed since it was told */
};

#define NO_PSN UINT32_MAX

static inline struct selective *rs_selective_of(const struct rs_qp *qp)
{
	return qp->cold->more->recovery_memory;
}

/* ---- Bits of PSNs ---- */

static inline uint32_t place_of(const struct selective *s, uint32_t psn)
{
	return psn & (s->window - 1);
}

static inline bool has(const uint64_t *bits, uint32_t place)
{
	return bits[place / WORD] >> (place % WORD) & 1;
}

static inline void put(uint64_t *bits, uint32_t place)
{
	bits[place / WORD] |= UINT64_C(1) << (place % WORD);
}

static inline void clear(uint64_t *bits, uint32_t place)
{
	bits[place / WORD] &= ~(UINT64_C(1) << (place % WORD));
}

/* The first n bits of a word, n from 1 to 64. */
static inline uint64_t first_bits(uint32_t n)
{
	return UINT64_MAX >> (WORD - n);
}

/* The first PSN from this one on that was found lost; one was. */
static inline uint32_t oldest_lost(const struct selective *s, uint32_t psn)
{
	for (;;) {
		uint32_t place = place_of(s, psn);
		uint64_t word = s->lost[place / WORD] >> (place % WORD);

		if (word)
			return rs_psn_add(psn, (uint32_t)__builtin_ctzll(word));
		psn = rs_psn_add(psn, WORD - place % WORD);
	}
}

/* The request of a PSN that is out. */
static inline uint32_t rs_selective_request(const struct rs_qp *qp, uint32_t psn)
{
	uint32_t i = qp->sq_head;

	for (;; i++) {
		const struct rs_swqe *w = rs_qp_swqe(qp, i);

		if (((psn - w->first_psn) & RS_PSN_MASK) < w->packets)
			return i;
	}
}

/* ---- selective_reads.c ---- */

/* READs or atomics are out, whose answers are taken in any order. */
bool rs_reads_out(const struct rs_qp *qp);
/* An answer of one of them. */
void rs_reads_response(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p, uint32_t f,
		       rs_time now);
/* A NAK: the responder has no request with this PSN, and others behind it. */
void rs_reads_gap(struct rs_nic *nic, struct rs_qp *qp, uint32_t psn, rs_time now);
/* What is missing is lost, or s->lost_at says when it will be. */
void rs_reads_look(struct rs_qp *qp, struct selective *s, rs_time now);
/* All that is missing is lost; the cursor goes back to what nothing came of. */
void rs_reads_rewind(struct rs_qp *qp, struct selective *s);
/* Once answers were taken: the cursor need not ask for what came. */
void rs_reads_skip(struct rs_qp *qp, struct selective *s);
/* PSNs of answers that are due. */
uint32_t rs_reads_due(const struct rs_qp *qp, const struct selective *s);
/* A request for the oldest part that is lost; false: its memory was refused. */
bool rs_reads_ask(struct rs_nic *nic, struct rs_qp *qp, struct selective *s, struct rs_packet *p,
		  rs_time now);
/* Responder: n responses from psn on go once more; are there such; the next of them; it went, or
 * its whole part is not to go. */
void rs_reads_owe(struct rs_qp *qp, uint32_t psn, uint32_t n);
bool rs_reads_owed(const struct rs_qp *qp);
uint32_t rs_reads_owed_psn(const struct rs_qp *qp);
void rs_reads_paid(struct rs_qp *qp, bool part);
void rs_reads_check(const struct rs_qp *qp, const struct selective *s);

#endif
