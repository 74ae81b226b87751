/* Priority-based flow control (802.1Q-2022 clause 36): frames, quanta, refresh, watchdog, headroom.
 */
#include <string.h>
#include "switch/state.h"

static rs_time quanta(const struct port *p, uint32_t n)
{
	return rs_pace_time_long(p->pace, (uint64_t)n * 64); /* 512 bit times */
}

void rs_pfc_arm(struct rs_switch *sw, rs_time when)
{
	if (when < sw->deadline)
		sw->deadline = when;
}

void rs_pfc_set(struct rs_switch *sw, unsigned in, unsigned tc, bool pause, rs_time now)
{
	struct port *p = &sw->port[in];

	p->pfc_due |= (uint8_t)(1 << tc);
	if (pause)
		p->pausing |= (uint8_t)(1 << tc);
	else
		p->pausing &= (uint8_t) ~(1 << tc);
	wake(sw, in);
	(void)now;
}

struct rs_packet *rs_pfc_frame(struct rs_switch *sw, unsigned port, rs_time now)
{
	struct port *p = &sw->port[port];
	struct rs_packet *k = rs_pool_alloc(sw->cfg.free);

	if (!k)
		return NULL; /* due still: asked again with the next event */
	memset(k, 0, sizeof(*k));
	k->kind = RS_KIND_PFC;
	k->frame_bytes = sw->cfg.pfc_frame ? sw->cfg.pfc_frame : RS_PFC_FRAME;
	k->pfc_enable = p->pfc_due;
	for (unsigned c = 0; c < RS_CLASSES; c++)
		if (p->pausing >> c & p->pfc_due >> c & 1)
			k->pfc_quanta[c] = sw->cfg.pause_quanta;
	if (p->pfc_due & p->pausing) {
		p->c.tx_pauses++;
		sw->c.pauses_sent++;
	} else {
		p->c.tx_resumes++;
	}
	p->pfc_due = 0;
	p->refresh = p->pausing && !sw->cfg.pause_holds ? now + quanta(p, sw->cfg.pause_quanta) / 2
							: RS_NEVER;
	rs_pfc_arm(sw, p->refresh);
	return k;
}

static void unpause(struct rs_switch *sw, unsigned port, unsigned tc, rs_time now)
{
	struct port *p = &sw->port[port];

	p->paused &= (uint8_t) ~(1 << tc);
	p->c.paused += now - p->paused_since[tc];
	wake(sw, port);
}

void rs_pfc_received(struct rs_switch *sw, unsigned port, struct rs_packet *k, rs_time now)
{
	struct port *p = &sw->port[port];
	bool xoff = false;

	for (unsigned c = 0; c < RS_CLASSES; c++) {
		if (!(k->pfc_enable >> c & 1))
			continue;
		if (k->pfc_quanta[c]) {
			xoff = true;
			if (!(p->paused >> c & 1))
				p->paused_since[c] = now;
			p->paused |= (uint8_t)(1 << c);
			p->paused_until[c] =
				sw->cfg.pause_holds ? RS_NEVER : now + quanta(p, k->pfc_quanta[c]);
			rs_pfc_arm(sw, p->paused_until[c]);
			if (sw->cfg.pfc_watchdog)
				rs_pfc_arm(sw, p->paused_since[c] + sw->cfg.pfc_watchdog);
		} else if (p->paused >> c & 1) {
			unpause(sw, port, c, now);
		}
	}
	if (xoff)
		p->c.rx_pauses++;
	else
		p->c.rx_resumes++;
	rs_pool_free(sw->cfg.free, k);
}

/* A class paused for longer than the watchdog loses what waits in it. */
static void watchdog(struct rs_switch *sw, unsigned port, unsigned tc, rs_time now)
{
	struct port *p = &sw->port[port];
	struct queue *q = &p->q[tc];

	while (q->head != RS_NO_PACKET) {
		struct rs_packet *k = rs_pool_at(sw->cfg.pool, q->head);

		q->head = k->next;
		rs_buffer_release(sw, k->in_port, tc, cells(sw, k->frame_bytes), now);
		rs_pool_free(sw->cfg.free, k);
		sw->c.watchdog_drops++;
	}
	q->bytes = 0;
	p->filled &= (uint8_t) ~(1 << tc);
	unpause(sw, port, tc, now);
}

void rs_switch_expire(struct rs_switch *sw, rs_time now)
{
	sw->deadline = RS_NEVER;
	for (unsigned i = 0; i < sw->cfg.n_ports; i++) {
		struct port *p = &sw->port[i];

		for (unsigned c = 0; p->paused && c < RS_CLASSES; c++) {
			if (!(p->paused >> c & 1))
				continue;
			if (sw->cfg.pfc_watchdog &&
			    now >= p->paused_since[c] + sw->cfg.pfc_watchdog)
				watchdog(sw, i, c, now);
			else if (p->paused_until[c] <= now)
				unpause(sw, i, c, now);
			else
				rs_pfc_arm(sw, p->paused_until[c]);
		}
		if (p->refresh <= now) {
			p->refresh = RS_NEVER;
			p->pfc_due |= p->pausing;
			wake(sw, i);
		}
		rs_pfc_arm(sw, p->refresh);
	}
}

uint32_t rs_pfc_response_quanta(int64_t rate)
{
	static const struct {
		int64_t rate;
		uint32_t quanta;
	} table[] = {{10 * RS_GBPS, 60},  {25 * RS_GBPS, 80},   {40 * RS_GBPS, 118},
		     {50 * RS_GBPS, 147}, {100 * RS_GBPS, 394}, {200 * RS_GBPS, 453}};

	for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (rate <= table[i].rate)
			return table[i].quanta;
	return 905;
}

uint64_t rs_pfc_headroom(int64_t rate, rs_time delay, uint32_t max_frame, uint32_t response_quanta)
{
	uint64_t cable =
		(uint64_t)((rs_uint128)2 * (uint64_t)delay * (uint64_t)rate / 8 / 1000000000000);

	return 2 * ((uint64_t)max_frame + RS_PREAMBLE_IPG_BYTES) + RS_PFC_FRAME +
	       RS_PREAMBLE_IPG_BYTES + cable + (uint64_t)response_quanta * 64;
}
