/*
 * A simulation that the caller drives: messages are sent while it runs, and what the next ones are
 * may depend on when the earlier ones ended. A program with a workload of its own uses it as its
 * network.
 *
 * A message is one RDMA WRITE of one queue pair, as a flow of ripstop_fabric_add_flows() is. Sent
 * at the same times and in the same order, messages end at the same picosecond as those flows do.
 *
 * One thread drives a session; several sessions of one fabric may run at once. What the caller gets
 * told is a function of the fabric, the seed and its own calls.
 *
 *	ripstop_session_new(f, NULL, &s, &e);
 *	ripstop_session_send(s, &flow, 7, &e);
 *	while (ripstop_session_run(s, RIPSTOP_NEVER, &e) > 0)
 *		while (ripstop_session_news(s, &news, 1, sizeof(news)))
 *			... what came about at news.when, and what to send now ...
 */
#ifndef RIPSTOP_SESSION_H
#define RIPSTOP_SESSION_H

#include <ripstop/sim.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ripstop_session;

struct ripstop_session_options {
	size_t size;
	uint64_t seed;      /* 0: 1 */
	uint32_t under_way; /* messages of an endpoint that may be sent and not at their end, as
			     * sender or receiver; 0: 1024, or twice the endpoints; at most 65536 */
	uint32_t unused;
};

/*
 * Begins at time 0. Work that the fabric describes runs beside, from its own times on. The fabric
 * may be changed or freed afterwards. o may be NULL. -EINVAL: the fabric is wrong, or has flows
 * whose paths are given; -ENOMEM.
 */
RIPSTOP_API int ripstop_session_new(const struct ripstop_fabric *f,
				    const struct ripstop_session_options *o,
				    struct ripstop_session **s, struct ripstop_error **e);
RIPSTOP_API void ripstop_session_free(struct ripstop_session *s);

/* Picoseconds. The time of the latest news, or what the latest run was told to go to. */
RIPSTOP_API int64_t ripstop_session_now(const struct ripstop_session *s);

/*
 * A message from m->src to m->dst, endpoints as in struct ripstop_flow, from m->start on; 0: now.
 * user comes back with its news. Messages are numbered from 0 in the order of these calls; one that
 * is refused has no number. Each takes some 300 bytes until the session is freed. Nothing happens
 * before the next ripstop_session_run().
 * -EINVAL: no such endpoint or class, no way between the two, a start before now; -ERANGE: a start
 * beyond 75 minutes; -EAGAIN: too many under way; -ENOSPC: an endpoint had 8 million; -ENOMEM.
 */
RIPSTOP_API int ripstop_session_send(struct ripstop_session *s, const struct ripstop_flow *m,
				     uint64_t user, struct ripstop_error **e);
/* Timer news at a time, now or later. -EINVAL, -ERANGE, -ENOMEM. */
RIPSTOP_API int ripstop_session_at(struct ripstop_session *s, int64_t when, uint64_t user,
				   struct ripstop_error **e);

enum ripstop_what {
	RIPSTOP_NEWS_SENT,      /* the last acknowledgement reached the sender */
	RIPSTOP_NEWS_DELIVERED, /* the receiver has it: on a plain host its NIC has the last packet,
				 * inside a host a poll of its memory sees the last byte */
	RIPSTOP_NEWS_FAILED,    /* the queue pair ended in error: no other news of it comes */
	RIPSTOP_NEWS_TIMER,
};

struct ripstop_news {
	int64_t when;
	uint64_t user;
	uint32_t message; /* its number; of a timer UINT32_MAX */
	uint32_t what;    /* enum ripstop_what */
	uint32_t status;  /* of one that failed: enum ripstop_status of ripstop/nic.h */
	uint32_t unused;
};

/*
 * Goes on until something is to be told, at most to `until`: RIPSTOP_NEVER: until nothing can
 * happen any more. Returns how many news wait: 0: none until then. All news of one time come
 * together: first what NICs tell, by endpoint, then the rest in the order in which it was foreseen.
 * While news wait, a call does nothing. At one time, what is sent begins after its news are told.
 * -EINVAL: until is before now; -EDEADLK: ports wait for each other for ever (PFC); -ERANGE: 75
 * minutes are over; -ENOMEM. After the last three the session is at its end, and only its result
 * can be had.
 */
RIPSTOP_API int ripstop_session_run(struct ripstop_session *s, int64_t until,
				    struct ripstop_error **e);
/* Takes at most n news, the oldest first, `each` bytes apart. Returns how many. */
RIPSTOP_API size_t ripstop_session_news(struct ripstop_session *s, struct ripstop_news *out,
					size_t n, size_t each);
/* Messages, flows of the fabric and ranks of its collectives that are not at their end. Above 0
 * when nothing happens any more: a packet was lost and the timeout is off. */
RIPSTOP_API uint64_t ripstop_session_unfinished(const struct ripstop_session *s);

/*
 * What came of it until now, as of any run: the fabric's jobs, and behind them one called "session"
 * whose flows are the messages in their order. The caller frees it. After that the session can only
 * be freed. -EINVAL: it was had already; -ENOMEM.
 */
RIPSTOP_API int ripstop_session_end(struct ripstop_session *s, struct ripstop_result **r,
				    struct ripstop_error **e);

#ifdef __cplusplus
}
#endif

#endif
