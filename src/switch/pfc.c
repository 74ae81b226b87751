/* What PFC does to a switch (port/lfc.h has the port's part): who is woken, what is counted, the
 * timers of all ports as one, the watchdog. */
#include "switch/state.h"

static void arm(struct rs_switch *sw, rs_time when)
{
	if (when < sw->deadline)
		sw->deadline = when;
}

void rs_pfc_set(struct rs_switch *sw, unsigned in, unsigned tc, bool pause)
{
	struct port *p = &sw->port[in];
	uint8_t bit = (uint8_t)(1 << tc);

	rs_assert(sw->lossless & bit && p->in[tc].pausing != pause);
	p->in[tc].pausing = pause;
	if (pause)
		rs_lfc_xoff(&p->lfc, bit);
	else
		rs_lfc_xon(&p->lfc, bit);
	wake(sw, in);
}

struct rs_packet *rs_pfc_frame(struct rs_switch *sw, unsigned port, rs_time now)
{
	struct port *p = &sw->port[port];
	struct rs_packet *k = rs_pool_alloc(sw->cfg.free);

	if (!k)
		return NULL; /* due still: asked again with the next event */
	rs_lfc_frame(&sw->lfc, &p->lfc, &p->times, k, now);
	rs_holds_frame(sw, port, k->pfc_enable, now);
	if (p->lfc.pausing) {
		p->c.tx_pauses++;
		sw->c.pauses_sent++;
	} else {
		p->c.tx_resumes++;
	}
	arm(sw, p->times.refresh);
	return k;
}

/* Classes that were paused may send again. */
static void resumed(struct rs_switch *sw, unsigned port, unsigned classes, rs_time now)
{
	struct port *p = &sw->port[port];

	for (; classes; classes &= classes - 1) {
		unsigned tc = (unsigned)__builtin_ctz(classes);

		/* over years it may be more than the range holds */
		if (__builtin_add_overflow(p->c.paused, now - p->times.pause[tc].since,
					   &p->c.paused))
			p->c.paused = RS_NEVER;
		rs_holds_ended(sw, port, tc, now);
		wake(sw, port);
	}
}

static rs_time dog(const struct rs_switch *sw, const struct port *p, unsigned tc)
{
	return sw->cfg.pfc_watchdog && p->lfc.paused.now >> tc & 1
		       ? p->times.pause[tc].since + sw->cfg.pfc_watchdog
		       : RS_NEVER;
}

static void arm_port(struct rs_switch *sw, const struct port *p)
{
	arm(sw, rs_lfc_deadline(&p->lfc, &p->times));
	for (unsigned m = p->lfc.paused.now; m; m &= m - 1)
		arm(sw, dog(sw, p, (unsigned)__builtin_ctz(m)));
}

static uint32_t listened(const struct port *p)
{
	return (uint32_t)__builtin_popcount(rs_lfc_listened(&p->lfc));
}

void rs_pfc_received(struct rs_switch *sw, unsigned port, struct rs_packet *k, rs_time now)
{
	struct port *p = &sw->port[port];
	bool xoff = false;

	for (unsigned c = 0; c < RS_CLASSES; c++)
		xoff |= k->pfc_enable >> c & 1 && k->pfc_quanta[c];
	if (xoff) {
		p->c.rx_pauses++;
		sw->c.pauses_heard++;
	} else {
		p->c.rx_resumes++;
	}
	sw->held_now -= listened(p);
	resumed(sw, port, rs_lfc_heard(&sw->lfc, &p->lfc, &p->times, k, now), now);
	sw->held_now += listened(p);
	arm_port(sw, p);
	rs_pool_free(sw->cfg.free, k);
}

static void discard(struct rs_switch *sw, unsigned port, unsigned tc)
{
	struct port *p = &sw->port[port];
	struct queue *q = &p->q[tc];

	while (q->packets.head != RS_NO_PACKET) {
		struct rs_packet *k = rs_queue_first(&q->packets, sw->base);

		rs_queue_pop(&q->packets, sw->base);
		rs_drops_count(sw, port, tc, RS_SWITCH_WATCHDOG, -1, k);
		release(sw, k->in_port, tc, cells(sw, k->frame_bytes));
		rs_pool_free(sw->cfg.free, k);
		sw->c.watchdog_drops++;
	}
	q->bytes = 0;
	p->filled &= (uint8_t) ~(1 << tc);
}

/* A class paused for longer than the watchdog loses what waits in it. */
static void watchdog(struct rs_switch *sw, unsigned port, rs_time now)
{
	struct port *p = &sw->port[port];

	for (unsigned m = p->lfc.paused.now; m; m &= m - 1) {
		unsigned tc = (unsigned)__builtin_ctz(m);

		if (dog(sw, p, tc) > now)
			continue;
		if (!sw->cfg.endless)
			discard(sw, port, tc);
		rs_lfc_break(&p->lfc, tc);
		resumed(sw, port, 1u << tc, now);
	}
}

void rs_switch_expire(struct rs_switch *sw, rs_time now)
{
	sw->deadline = RS_NEVER;
	for (unsigned i = 0; i < sw->cfg.n_ports; i++) {
		struct port *p = &sw->port[i];
		bool again = p->times.refresh <= now;

		sw->held_now -= listened(p);
		watchdog(sw, i, now);
		resumed(sw, i, rs_lfc_expire(&p->lfc, &p->times, now), now);
		sw->held_now += listened(p);
		if (again)
			wake(sw, i);
		arm_port(sw, p);
	}
}
