/* Priority-based flow control (802.1Q-2022 clause 36): frames, quanta, refresh, watchdog. */
#include "switch/state.h"

static void arm(struct rs_switch *sw, rs_time when)
{
	if (when < sw->deadline)
		sw->deadline = when;
}

void rs_pfc_set(struct rs_switch *sw, unsigned in, unsigned tc, bool pause)
{
	struct port *p = &sw->port[in];

	p->in[tc].pausing = pause;
	p->pfc_due |= (uint8_t)(1 << tc);
	if (pause)
		p->pausing |= (uint8_t)(1 << tc);
	else
		p->pausing &= (uint8_t) ~(1 << tc);
	wake(sw, in);
}

struct rs_packet *rs_pfc_frame(struct rs_switch *sw, unsigned port, rs_time now)
{
	struct port *p = &sw->port[port];
	struct rs_packet *k = rs_pool_alloc(sw->cfg.free);

	if (!k)
		return NULL; /* due still: asked again with the next event */
	rs_pfc_fill(k, p->pfc_due, p->pausing, sw->cfg.pause_quanta);
	k->frame_bytes = sw->cfg.pfc_frame ? sw->cfg.pfc_frame : RS_PFC_FRAME;
	rs_holds_frame(sw, port, k->pfc_enable, now);
	if (p->pausing) {
		p->c.tx_pauses++;
		sw->c.pauses_sent++;
	} else {
		p->c.tx_resumes++;
	}
	p->pfc_due = 0;
	p->refresh = p->pausing && !sw->cfg.pause_holds
			     ? now + rs_quanta_time(p->pace, sw->cfg.pause_quanta) / 2
			     : RS_NEVER;
	arm(sw, p->refresh);
	return k;
}

/* A class that was paused may send again. */
static void resumed(struct rs_switch *sw, unsigned port, unsigned tc, rs_time now)
{
	struct port *p = &sw->port[port];

	/* over years it may be more than the range holds */
	if (__builtin_add_overflow(p->c.paused, now - p->pause[tc].since, &p->c.paused))
		p->c.paused = RS_NEVER;
	rs_holds_ended(sw, port, tc, now);
	wake(sw, port);
}

/* A PAUSE of this class is obeyed, or will be. */
static unsigned listened(const struct port *p, unsigned tc)
{
	return (p->paused.now | p->paused.heard) >> tc & 1;
}

static rs_time dog(const struct rs_switch *sw, const struct port *p, unsigned tc)
{
	return sw->cfg.pfc_watchdog && p->paused.now >> tc & 1
		       ? p->pause[tc].since + sw->cfg.pfc_watchdog
		       : RS_NEVER;
}

static void arm_class(struct rs_switch *sw, const struct port *p, unsigned tc)
{
	if (listened(p, tc))
		arm(sw,
		    rs_time_min(rs_pause_deadline(&p->paused, &p->pause[tc], tc), dog(sw, p, tc)));
}

/* Of one class: its time may be renewed, or be over. */
static void heard(struct rs_switch *sw, unsigned port, unsigned tc, uint16_t n, rs_time now)
{
	struct port *p = &sw->port[port];
	rs_time until = !n                    ? now
			: sw->cfg.pause_holds ? RS_NEVER
					      : now + rs_quanta_time(p->pace, n);

	sw->held_now -= listened(p, tc);
	if (rs_pause_heard(&p->paused, &p->pause[tc], tc, until, p->response, now))
		resumed(sw, port, tc, now);
	sw->held_now += listened(p, tc);
	arm_class(sw, p, tc);
}

/* Classes without PFC are not paused by it (802.1Q-2022 §36.1.1). */
void rs_pfc_received(struct rs_switch *sw, unsigned port, struct rs_packet *k, rs_time now)
{
	struct port *p = &sw->port[port];
	bool xoff = false;

	for (unsigned c = 0; c < RS_CLASSES; c++)
		if (k->pfc_enable >> c & 1) {
			xoff |= k->pfc_quanta[c] != 0;
			if (sw->lossless >> c & 1)
				heard(sw, port, c, k->pfc_quanta[c], now);
		}
	if (xoff)
		p->c.rx_pauses++;
	else
		p->c.rx_resumes++;
	rs_pool_free(sw->cfg.free, k);
}

static void discard(struct rs_switch *sw, unsigned port, unsigned tc)
{
	struct port *p = &sw->port[port];
	struct queue *q = &p->q[tc];

	while (q->head != RS_NO_PACKET) {
		struct rs_packet *k = rs_pool_at(sw->cfg.pool, q->head);

		q->head = k->next;
		rs_drops_count(sw, port, tc, RS_SWITCH_WATCHDOG, -1, k);
		release(sw, k->in_port, tc, cells(sw, k->frame_bytes));
		rs_pool_free(sw->cfg.free, k);
		sw->c.watchdog_drops++;
	}
	q->bytes = 0;
	p->filled &= (uint8_t) ~(1 << tc);
}

/* A class paused for longer than the watchdog loses what waits in it. */
static void watchdog(struct rs_switch *sw, unsigned port, unsigned tc, rs_time now)
{
	if (!sw->cfg.endless)
		discard(sw, port, tc);
	sw->port[port].paused.now &= (uint8_t) ~(1 << tc);
	resumed(sw, port, tc, now);
}

static void expire_class(struct rs_switch *sw, unsigned port, unsigned tc, rs_time now)
{
	struct port *p = &sw->port[port];

	sw->held_now -= listened(p, tc);
	if (dog(sw, p, tc) <= now)
		watchdog(sw, port, tc, now);
	else if (rs_pause_passes(&p->paused, &p->pause[tc], tc, now))
		resumed(sw, port, tc, now);
	sw->held_now += listened(p, tc);
	arm_class(sw, p, tc);
}

void rs_switch_expire(struct rs_switch *sw, rs_time now)
{
	sw->deadline = RS_NEVER;
	for (unsigned i = 0; i < sw->cfg.n_ports; i++) {
		struct port *p = &sw->port[i];

		for (unsigned m = p->paused.now | p->paused.heard; m; m &= m - 1)
			expire_class(sw, i, (unsigned)__builtin_ctz(m), now);
		if (p->refresh <= now) {
			p->refresh = RS_NEVER;
			p->pfc_due |= p->pausing;
			wake(sw, i);
		}
		arm(sw, p->refresh);
	}
}
