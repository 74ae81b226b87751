/*
 * Congestion control behind one interface: a const table of functions an algorithm, a fixed-size
 * state inside the QP, parameters with names, units and sources. What the transport reads for every
 * packet (pace, window, next_event) stands in the open; the functions are called only for feedback
 * and when something is due. Timers are evaluated lazily: an idle QP costs no event.
 */
#ifndef RS_CC_CC_H
#define RS_CC_CC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "base/time.h"

enum { RS_CC_STATE_BYTES = 64, RS_CC_HOPS = 5, RS_CC_PATH_BYTES = 64 };

struct rs_cc_params; /* an algorithm's own, shared by all QPs of a NIC */

struct rs_cc {
	int64_t rate;        /* bits per second, of frame bytes; what the pace enforces */
	struct rs_pace pace; /* of rate; the transport multiplies by the frame's bytes + 20 */
	uint64_t window;     /* bytes that may be unacknowledged; UINT64_MAX: none */
	rs_time next_event;  /* on_time() is due at the first send at or after this; RS_NEVER: never
			      */
	int64_t byte_credit; /* counts down as bytes are sent; at <= 0 on_bytes() is due. With
			      * RS_CC_NEEDS_CREDITS: what was granted and is not spent; at <= 0
			      * nothing is sent */
	uint32_t cuts, increases; /* for reports */
	uint64_t state[RS_CC_STATE_BYTES / 8];
};

/* One switch that a packet passed, as its in-band telemetry tells (HPCC, SIGCOMM 2019, §4.1). The
 * counters start anew at powers of two: differences are taken modulo those. */
struct rs_cc_hop {
	uint32_t time;      /* ns at which the packet left, modulo time_wrap */
	uint32_t time_wrap; /* a power of two */
	uint32_t queue;     /* bytes left behind it at that port */
	uint64_t sent;      /* bytes that the port had sent before it, modulo sent_wrap */
	uint64_t sent_wrap; /* a power of two */
	int64_t rate;       /* of the port's link, bits per second */
};

/* What kept the sender from having more on its way, as an ACK finds it. */
enum rs_cc_limited {
	RS_CC_NOT_LIMITED,    /* its pace, its turn at the port, or a hold of its owner */
	RS_CC_BY_APPLICATION, /* nothing was posted that is not sent */
	RS_CC_BY_WINDOW,      /* no further packet fitted rs_cc.window before this ACK */
};

/* What one acknowledgement of new data tells. What an algorithm does not need (rs_cc_ops.needs) is
 * not gathered and is 0, or NULL. */
struct rs_cc_feedback {
	rs_time now;
	rs_time rtt;          /* RS_CC_NEEDS_RTT: by the sender's clock; < 0: none measured */
	uint64_t acked, sent; /* running totals of bytes, as windows count them: of what was
			       * acknowledged, this included, and of what was handed out */
	uint32_t bytes;       /* acknowledged by this one */
	uint32_t marked;      /* RS_CC_NEEDS_MARKS: bytes of them that carry an echo of ECN's CE */
	uint32_t trimmed;     /* RS_CC_NEEDS_TRIMS: bytes that switches cut off; RoCEv2: always 0 */
	uint16_t entropy;     /* of the data: its UDP source port, which ECMP hashes */
	uint8_t limited;      /* RS_CC_NEEDS_LIMITED: enum rs_cc_limited */
	uint8_t n_hops;       /* RS_CC_NEEDS_STAMPS; 0: the data passed no switch that stamps */
	const struct rs_cc_hop *hops; /* in the order of the data's path, RS_CC_HOPS at most */
	uint32_t path;                /* that path's number: another path, another number */
	void *path_state; /* rs_cc_ops.path_bytes of it, the algorithm's own; zeroes at first */
};

/* Bytes that are on their way still. */
static inline uint64_t rs_cc_in_flight(const struct rs_cc_feedback *f)
{
	rs_assert(f->sent >= f->acked);
	return f->sent - f->acked;
}

/* What an algorithm needs of acknowledgements. The first four say which ones it is told of: those
 * that bring any of them. The others are gathered beside. */
enum rs_cc_needs {
	RS_CC_NEEDS_BYTES = 1 << 0, /* every acknowledgement of new data */
	RS_CC_NEEDS_MARKS = 1 << 1,
	RS_CC_NEEDS_TRIMS = 1 << 2,
	RS_CC_NEEDS_STAMPS = 1 << 3, /* packets carry room for switches' stamps */
	RS_CC_NEEDS_RTT = 1 << 4,
	RS_CC_NEEDS_LIMITED = 1 << 5,
	RS_CC_NEEDS_CREDITS = 1 << 6, /* the receiver grants what is sent: rs_cc_ops.credits */
};

/* How a receiver grants, and a sender asks, where the algorithm is RS_CC_NEEDS_CREDITS: the
 * transport does both, and `state` of struct rs_cc is the transport's then. Bytes of frames. */
struct rs_cc_credits {
	int64_t first;  /* that a sender holds with nothing to send, and begins with */
	int64_t most;   /* that a sender holds */
	uint32_t grant; /* of one credit packet, at most */
	uint32_t share; /* of the line that is granted, in 1/65536 */
	rs_time again;  /* a sender that waits so long asks again */
};

struct rs_cc_param {
	const char *name; /* as in `cc: {name: value}`: "g", "alpha_timer", "rate_ai" */
	char unit;        /* 't' time, 'r' rate, 'b' bytes, 'n' number, 'i' integer, 'o' on/off */
	size_t offset;    /* into the algorithm's params struct */
	double min, max;  /* in ps, bit/s, bytes or plain */
	const char *what; /* one line, with the source of its default */
};

struct rs_cc_preset {
	const char *name; /* "paper", "mlx5", "ns-3" */
	const char *source;
	const void *params; /* struct of the algorithm's own */
};

struct rs_cc_ops {
	const char *name; /* "dcqcn" */
	const char *what; /* one line */
	size_t params_bytes;
	const struct rs_cc_param *params;   /* ended by a NULL name */
	const struct rs_cc_preset *presets; /* the first is the default; ended by a NULL name */
	uint8_t needs;                      /* enum rs_cc_needs, a mask */
	/* Of rs_cc_feedback.path_state, at most RS_CC_PATH_BYTES: kept for each path apart where
	 * the transport knows that packets take several. 0: nothing. */
	size_t path_bytes;
	/* line_rate: bits per second of the port. Fills every field of cc. */
	void (*init)(const struct rs_cc_params *p, struct rs_cc *cc, int64_t line_rate,
		     rs_time now);
	void (*on_time)(const struct rs_cc_params *p, struct rs_cc *cc, rs_time now);
	void (*on_bytes)(const struct rs_cc_params *p, struct rs_cc *cc, rs_time now);
	/* An acknowledgement that brings what the algorithm needs; NULL where it needs none. A new
	 * rate moves the time at which the next packet may go where stamps were needed. */
	void (*on_feedback)(const struct rs_cc_params *p, struct rs_cc *cc,
			    const struct rs_cc_feedback *f);
	void (*on_cnp)(const struct rs_cc_params *p, struct rs_cc *cc, rs_time now);
	/* a NAK (timeout == false) or a timeout made the transport go back */
	void (*on_loss)(const struct rs_cc_params *p, struct rs_cc *cc, bool timeout, rs_time now);
	/* notification point: is a CNP due for a CE-marked packet of this QP? last: when the last
	 * was sent, RS_NEVER never. NULL: no CNPs. */
	bool (*cnp_due)(const struct rs_cc_params *p, rs_time last, rs_time now);
	/* RS_CC_NEEDS_CREDITS alone: for a port of this rate */
	void (*credits)(const struct rs_cc_params *p, int64_t line_rate, struct rs_cc_credits *out);
};

/* on_time and on_bytes of an algorithm without timer or byte counter: they are not due again. */
void rs_cc_no_timer(const struct rs_cc_params *p, struct rs_cc *cc, rs_time now);
void rs_cc_no_bytes(const struct rs_cc_params *p, struct rs_cc *cc, rs_time now);

extern const struct rs_cc_ops rs_cc_none; /* line rate, no window */
extern const struct rs_cc_ops rs_cc_dcqcn;
extern const struct rs_cc_ops rs_cc_hpcc;   /* needs stamps */
extern const struct rs_cc_ops rs_cc_swift;  /* needs round trips */
extern const struct rs_cc_ops rs_cc_timely; /* needs round trips */
extern const struct rs_cc_ops rs_cc_dctcp;  /* needs marks */
extern const struct rs_cc_ops rs_cc_hp_dcqcn;
extern const struct rs_cc_ops rs_cc_credit; /* needs receivers that grant */

/* An algorithm with its parameters: what a queue pair is given. */
struct rs_cc_use {
	const struct rs_cc_ops *ops;
	const struct rs_cc_params *params; /* borrowed; NULL where ops has none */
};

/* All algorithms, ended by NULL. */
extern const struct rs_cc_ops *const rs_cc_all[];
/* In any case; NULL when there is none of that name. */
const struct rs_cc_ops *rs_cc_find(const char *name);

/* A full params struct in the caller's buffer (ops->params_bytes): a preset by name (NULL: the
 * default), then single values by name, as text with their unit. -EINVAL with e filled on an
 * unknown preset or name (e lists those there are), a wrong unit, or a value out of range. */
int rs_cc_params_init(const struct rs_cc_ops *ops, const char *preset, struct rs_cc_params *out,
		      struct rs_error *e);
int rs_cc_params_set(const struct rs_cc_ops *ops, struct rs_cc_params *out, const char *name,
		     const char *value, struct rs_error *e);

/* A parameter's value as it is written, to be read back the same; in buf, of 40 bytes, or constant.
 */
const char *rs_cc_params_get(const struct rs_cc_param *p, const struct rs_cc_params *from,
			     char *buf, size_t size);

/* cc->rate and cc->pace together: the only way an algorithm changes the rate. */
static inline void rs_cc_set_rate(struct rs_cc *cc, int64_t rate)
{
	rs_assert(rate > 0); /* a pace is so many ps a byte */
	cc->rate = rate;
	cc->pace = rs_pace_of(rate);
}

/* The same where the rate may be what it was: a pace is a division. */
static inline void rs_cc_change_rate(struct rs_cc *cc, int64_t rate)
{
	if (rate != cc->rate)
		rs_cc_set_rate(cc, rate);
}

/* What an init() starts from: line rate, no window, nothing due, no state. */
static inline void rs_cc_begin(struct rs_cc *cc, int64_t line_rate)
{
	rs_assert(line_rate > 0);
	*cc = (struct rs_cc){
		.window = UINT64_MAX, .next_event = RS_NEVER, .byte_credit = INT64_MAX};
	rs_cc_set_rate(cc, line_rate);
}

#endif
