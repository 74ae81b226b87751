/*
 * An endpoint: what stands behind a port and speaks one transport. A host holds endpoints and needs
 * to know no more of them than this; struct rs_nic (rdma/nic.h) is the first, and what joins
 * several behind one port (port/share.h) is one itself.
 *
 * It is pulled, not pushed: a port that can send asks tx(). Calls carry a time that never goes
 * back. Posting work and reading completions is each transport's own.
 */
#ifndef RS_PORT_ENDPOINT_H
#define RS_PORT_ENDPOINT_H

#include <stdint.h>
#include "base/time.h"
#include "wire/packet.h"

struct rs_endpoint;

struct rs_endpoint_ops {
	/*
	 * The next packet to send, of none of the classes `held`: the caller's from then on. NULL
	 * when there is none: *again is then the time to ask anew (pacing), RS_NEVER if only
	 * something that happens to the endpoint can help. *again means nothing beside a packet.
	 */
	struct rs_packet *(*tx)(struct rs_endpoint *e, uint8_t held, rs_time now, rs_time *again);
	/* A packet came: the endpoint's from then on. It may have something to send now. */
	void (*rx)(struct rs_endpoint *e, struct rs_packet *p, rs_time now);
	/* When expire() is due; RS_NEVER: no timer runs. */
	rs_time (*deadline)(const struct rs_endpoint *e);
	/* As rx(): there may be something to send. Leaves no deadline at or before now. */
	void (*expire)(struct rs_endpoint *e, rs_time now);
	/* Asks memory for what packets will touch, in steps from 0: each reads what the one before
	 * it fetched. NULL: it has nothing to ask for. */
	void (*prefetch)(const struct rs_endpoint *e, unsigned step);
};

/* The first member of each transport's own struct. */
struct rs_endpoint {
	const struct rs_endpoint_ops *ops;
};

static inline struct rs_packet *rs_endpoint_tx(struct rs_endpoint *e, uint8_t held, rs_time now,
					       rs_time *again)
{
	return e->ops->tx(e, held, now, again);
}

static inline void rs_endpoint_rx(struct rs_endpoint *e, struct rs_packet *p, rs_time now)
{
	e->ops->rx(e, p, now);
}

static inline rs_time rs_endpoint_deadline(const struct rs_endpoint *e)
{
	return e->ops->deadline(e);
}

static inline void rs_endpoint_expire(struct rs_endpoint *e, rs_time now)
{
	e->ops->expire(e, now);
}

static inline void rs_endpoint_prefetch(const struct rs_endpoint *e, unsigned step)
{
	if (e->ops->prefetch)
		e->ops->prefetch(e, step);
}

#endif
