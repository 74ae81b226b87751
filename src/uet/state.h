/* Private to uet/: PDCs as they lie in memory, and what the room's files ask of each other. */
#ifndef RS_UET_STATE_H
#define RS_UET_STATE_H

#include "port/queue.h"
#include "uet/uet.h"

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define UET_SELDOM  __attribute__((cold, noinline))

/* bth_flags of a request: AR and RETX are the specification's. Bit 5 is in-band telemetry's. */
enum {
	UET_AR = 1 << 0,   /* an ACK is asked for */
	UET_RETX = 1 << 1, /* sent again; in an ACK: the request was */
	UET_EOM = 1 << 2,  /* a message's last, and the receiver is to be told; in an ACK: it
			    * answers a probe (P) */
	UET_M = 1 << 3,    /* in ACK and NACK: the request was marked by ECN */
	UET_OOO = 1 << 4,  /* in a NACK: ROD, out of order */
	UET_ASKS = UET_AR, /* in a probe: its sender wants credit */
	UET_P = UET_EOM,
};

enum { UET_NONE = 0xffff, CONTROL_A_DATA = 10, CREDIT_QUANTUM = 256, HEAP_NOT = UINT32_MAX };

/* Of a PSN that was sent and is not below the cumulative one. */
enum sent_state { SENT_DONE, SENT_OUT, SENT_LOST };
struct sent {
	rs_time at;
	uint16_t frame;
	uint8_t times;                                   /* it was sent; at most 255 */
	uint8_t state : 2, slept : 1, eom : 1, late : 1; /* late: lost by its timeout */
	uint16_t next, prev; /* of those that are out, in the order in which they were sent */
};

struct message {
	uint64_t bytes, offset; /* offset: of its first byte among those of all messages */
	uint32_t begin, end;    /* PSNs, once it is begun, and once all of it was sent */
	bool tell;
	const uint8_t *data;
};

/* The sending half. */
struct sender {
	uint32_t next_psn, cum;
	int64_t in_flight;
	struct sent *ring;          /* [psn & mask] */
	uint64_t *lost;             /* bits by psn & mask */
	uint32_t n_lost, lost_from; /* the lowest lost is not below it */
	uint16_t oldest, newest;    /* of those that are out */
	bool speculates, sleeps;
	struct rs_nscc cc;
	uint64_t told; /* bytes that the receiver has, as ACKs say */
	struct rs_balance *balance;
	/* messages[i & depth_mask]: [acked, sending) sent whole, [sending, posted) not */
	struct message *messages;
	uint32_t acked, sending, posted, depth;
	uint64_t at;      /* bytes of messages[sending] that were sent */
	uint64_t offset;  /* bytes of all messages that were posted */
	uint64_t backlog; /* payload that was not sent yet */
	uint64_t lost_bytes;
	int32_t early; /* an entropy value that was chosen already; -1: none */
	/* RCCC */
	int64_t credit;
	uint32_t pulled; /* quanta granted so far */
	rs_time fed;     /* when credit came last, or was used */
	rs_time rts_at;  /* of the last probe for want of a window; RS_NEVER: none */
	/* SLEEK */
	uint32_t sleep_end;
	rs_time probe_at, probed_at;  /* due; when the last one was sent */
	uint64_t by_nack, by_timeout; /* sent again: what was told of, and what was late */
	uint64_t cuts, increases;
};

/* The receiving half. */
struct receiver {
	uint32_t cum;        /* the next missing PSN */
	uint32_t n_beyond;   /* packets held beyond it */
	uint64_t *got, *eom; /* bits by psn & mask */
	uint64_t bytes;      /* of frames, new ones */
	uint32_t since_ack;
	bool any, asked, nacked;
	uint8_t *sink;
	uint64_t room;
	/* RCCC */
	uint32_t target, pulled; /* quanta */
	bool active, idle;       /* which list it is in */
	struct pdc *next_pull;
	uint8_t entropy; /* of its credit packets, in turn */
};

struct pdc {
	uint32_t number, peer, peer_number;
	uint32_t heap;    /* its place in the heap; HEAP_NOT */
	rs_time due;      /* as the heap has it: not later than its first timer */
	struct pdc *next; /* of those that want to send */
	uint8_t tc, tos;
	bool wants;
	uint16_t entropy;
	uint64_t user;
	struct sender *s;
	struct receiver *r;
};

struct pull_list {
	struct pdc *head, *tail;
};

struct rs_uet {
	struct rs_endpoint as_endpoint;
	struct rs_uet_conf c;
	uint32_t mask; /* mpr - 1 */
	struct rs_packet *base;
	struct rs_queue control;
	struct pdc *head, *tail; /* of those that want to send */
	uint32_t n_wanting;
	uint8_t controls; /* sent since the last request, while both waited */
	struct rs_pace pace;
	rs_time busy_until; /* its last packet is on the wire until then */
	/* heap of timers */
	struct pdc **heap;
	uint32_t n_heap;
	/* RCCC: one pacer a port */
	struct pull_list active, idle;
	rs_time pull_at, pull_last, pull_every; /* due; the last one, and how long it lasts */
	struct rs_uet_news *news;
	uint32_t news_head, news_tail;
	struct pdc **pdcs; /* [number - first] */
	struct rs_uet_counters n;
};

static inline struct pdc *uet_find(const struct rs_uet *u, uint32_t number)
{
	uint32_t i = number - u->c.first;

	return i < u->c.n_ends ? u->pdcs[i] : NULL;
}

static inline bool bit(const uint64_t *bits, uint32_t i)
{
	return bits[i >> 6] >> (i & 63) & 1;
}

static inline void set_bit(uint64_t *bits, uint32_t i)
{
	bits[i >> 6] |= UINT64_C(1) << (i & 63);
}

static inline void clear_bit(uint64_t *bits, uint32_t i)
{
	bits[i >> 6] &= ~(UINT64_C(1) << (i & 63));
}

/* ---- uet.c ---- */
void uet_tell(struct rs_uet *u, const struct pdc *p, bool arrived);
/* A packet of no payload to the PDC's peer; NULL: the slab is at its limit. */
struct rs_packet *uet_control(struct rs_uet *u, const struct pdc *p, enum rs_uet_opcode opcode,
			      uint16_t entropy);
void uet_send_control(struct rs_uet *u, struct rs_packet *k);

/* ---- send.c ---- */
/* It may have something to send: it takes its place behind those that wait. */
void uet_want(struct rs_uet *u, struct pdc *p);
/* It has nothing to send any more. */
void uet_leave(struct rs_uet *u, struct pdc *p);
bool uet_may_send(const struct rs_uet *u, const struct pdc *p);
struct rs_packet *uet_tx(struct rs_endpoint *e, uint8_t held, rs_time now, rs_time *again);
/* A PSN that is out goes again. */
void uet_lose(struct rs_uet *u, struct pdc *p, uint32_t psn);
/* It is out no longer. */
void uet_unlink(struct sender *s, struct sent *t);
/* It is out again, as the last that was sent. */
void uet_relink(const struct rs_uet *u, struct sender *s, uint32_t psn);
/* Its lowest PSN that goes again; n_lost > 0. */
uint32_t uet_lowest_lost(const struct rs_uet *u, struct sender *s);

/* ---- acked.c: what comes back to a sender ---- */
void uet_acked(struct rs_uet *u, struct pdc *p, const struct rs_packet *k, rs_time now);
void uet_nacked(struct rs_uet *u, struct pdc *p, const struct rs_packet *k, rs_time now);

/* ---- receive.c ---- */
void uet_request(struct rs_uet *u, struct pdc *p, const struct rs_packet *k, rs_time now);
void uet_probed(struct rs_uet *u, struct pdc *p, const struct rs_packet *k, rs_time now);

/* ---- credit.c ---- */
void uet_credit_init(struct rs_uet *u, struct sender *s);
/* What a request asks for, in quanta. */
uint32_t uet_pull_target(const struct rs_uet *u, const struct sender *s);
/* ACK, NACK or credit came: what is left of the first credit is void. */
void uet_speculation_ends(struct rs_uet *u, struct sender *s);
void uet_credited(struct rs_uet *u, struct pdc *p, const struct rs_packet *k);
/* A request or a probe came; again: it is to come once more. */
void uet_pull_asked(struct rs_uet *u, struct pdc *p, uint32_t target, bool again, rs_time now);
void uet_pull(struct rs_uet *u, rs_time now);
void uet_pull_forget(struct rs_uet *u, struct pdc *p);

/* ---- timer.c ---- */
rs_time uet_timer_due(const struct rs_uet *u, const struct pdc *p);
/* Its first timer may be earlier than the heap knows. */
void uet_timer_set(struct rs_uet *u, struct pdc *p);
void uet_timer_remove(struct rs_uet *u, struct pdc *p);
void uet_expire(struct rs_endpoint *e, rs_time now);
rs_time uet_deadline(const struct rs_endpoint *e);
/* SLEEK, at each ACK. */
void uet_sleek(struct rs_uet *u, struct pdc *p, const struct rs_packet *ack, rs_time now);

#endif
