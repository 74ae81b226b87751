/*
 * A run that its owner drives: messages are posted while it goes, and the owner hears of their ends
 * at the moment of each, before anything later has happened anywhere. What was posted behaves as
 * flows of a description do that start then: the same times, to the picosecond.
 *
 * At one time the NICs come first, then news and timers are told, then what is posted begins. So
 * what the owner posts at a time is as if it had always been known.
 *
 * One thread. Windows are as in any run (engine.h). In a window switches run first, all the way:
 * what they send arrives after it. Then hosts go event by event, in the order of time.
 */
#ifndef RS_SIM_SESSION_H
#define RS_SIM_SESSION_H

#include "sim/sim.h"

struct rs_session;

struct rs_session_conf {
	uint64_t seed;
	uint32_t under_way; /* messages of a NIC at a time, either way; 0: 1024, or twice the
			     * endpoints; at most RS_SESSION_MOST */
};
enum { RS_SESSION_MOST = 1 << 16 };

enum rs_session_what {
	RS_SESSION_SENT,      /* the last ACK reached the sender: rs_sim_flow.finish */
	RS_SESSION_DELIVERED, /* the receiver has all of it; inside a host a poll of memory sees it
			       */
	RS_SESSION_FAILED,    /* the queue pair is in error: neither of the others comes, if it has
			       * not come */
	RS_SESSION_TIMER,
};

struct rs_session_news {
	rs_time when;
	uint64_t user;
	uint32_t flow; /* counted from 0; of a timer UINT32_MAX */
	uint8_t what;
	uint8_t status; /* of RS_SESSION_FAILED: enum rs_wc_status */
};

/* The jobs of f run beside it. f is only read and outlives what rs_session_end() gives. -EINVAL:
 * f has flows whose paths are given; -ENOMEM. */
int rs_session_create(const struct rs_fabric *f, const struct rs_session_conf *c,
		      struct rs_session **out, struct rs_error *e);
void rs_session_destroy(struct rs_session *x);

rs_time rs_session_now(const struct rs_session *x);
/* A message, an RDMA WRITE: from flow->start on, which is not before now. Of the flow start, src,
 * dst, bytes and tc are read. -EINVAL: it cannot be; -ERANGE: it begins later than the engine can
 * count; -EAGAIN: too many are under way; -ENOMEM; -ENOSPC: no more queue pair numbers. */
int rs_session_post(struct rs_session *x, const struct rs_flow *flow, uint64_t user,
		    struct rs_error *e);
/* -EINVAL, -ERANGE, -ENOMEM */
int rs_session_at(struct rs_session *x, rs_time when, uint64_t user, struct rs_error *e);
/*
 * Runs on until there is news, at most until `until` (RS_NEVER: until nothing can happen any more).
 * All news of one time come together. Does nothing while some were not taken. -EINVAL: until is in
 * the past; -EDEADLK: ports wait for each other for ever; -ERANGE: time is over (75 minutes);
 * -ENOMEM. After these three it is at its end.
 */
int rs_session_run(struct rs_session *x, rs_time until, struct rs_error *e);
/* Takes at most n, the oldest first. */
uint32_t rs_session_news(struct rs_session *x, struct rs_session_news *out, uint32_t n);
uint32_t rs_session_waiting(const struct rs_session *x);

/* Messages that are not at their end, and ranks of described jobs. */
uint64_t rs_session_unfinished(const struct rs_session *x);
/*
 * What came of all of it, until now: f's jobs and one of all messages, "session". Nothing but
 * rs_session_destroy() may follow. The fabric is the result's, with that job. -ENOMEM.
 */
int rs_session_end(struct rs_session *x, struct rs_sim_result **out, const struct rs_fabric **f,
		   struct rs_error *e);

#endif
