/* Priority-based flow control (802.1Q-2022 clause 36): frames, quanta, refresh, watchdog, headroom.
 */
#include <string.h>
#include "switch/state.h"

static rs_time quanta(const struct port *p, uint32_t n)
{
	return rs_pace_time_long(p->pace, (uint64_t)n * 64); /* 512 bit times */
}

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
	memset(k, 0, sizeof(*k));
	k->kind = RS_KIND_PFC;
	k->frame_bytes = sw->cfg.pfc_frame ? sw->cfg.pfc_frame : RS_PFC_FRAME;
	/* one timer refreshes all: so every frame renews all that are paused */
	k->pfc_enable = p->pfc_due | p->pausing;
	for (unsigned c = 0; c < RS_CLASSES; c++)
		if (p->pausing >> c & 1)
			k->pfc_quanta[c] = sw->cfg.pause_quanta;
	rs_holds_frame(sw, port, k->pfc_enable, now);
	if (p->pausing) {
		p->c.tx_pauses++;
		sw->c.pauses_sent++;
	} else {
		p->c.tx_resumes++;
	}
	p->pfc_due = 0;
	p->refresh = p->pausing && !sw->cfg.pause_holds ? now + quanta(p, sw->cfg.pause_quanta) / 2
							: RS_NEVER;
	arm(sw, p->refresh);
	return k;
}

static void unpause(struct rs_switch *sw, unsigned port, unsigned tc, rs_time now)
{
	struct port *p = &sw->port[port];

	p->paused &= (uint8_t) ~(1 << tc);
	p->c.paused += now - p->pause[tc].since;
	rs_holds_ended(sw, port, tc, now);
	wake(sw, port);
}

/* Of one class: its time may be renewed, or be over. */
static void paused(struct rs_switch *sw, unsigned port, unsigned tc, uint16_t n, rs_time now)
{
	struct port *p = &sw->port[port];
	struct pause *t = &p->pause[tc];

	if (!n) {
		if (p->paused >> tc & 1)
			unpause(sw, port, tc, now);
		return;
	}
	if (!(p->paused >> tc & 1))
		t->since = now;
	p->paused |= (uint8_t)(1 << tc);
	t->until = sw->cfg.pause_holds ? RS_NEVER : now + quanta(p, n);
	arm(sw, t->until);
	if (sw->cfg.pfc_watchdog)
		arm(sw, t->since + sw->cfg.pfc_watchdog);
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
				paused(sw, port, c, k->pfc_quanta[c], now);
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

	if (sw->cfg.endless) {
		unpause(sw, port, tc, now);
		return;
	}
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
	unpause(sw, port, tc, now);
}

static void expire_class(struct rs_switch *sw, unsigned port, unsigned tc, rs_time now)
{
	const struct pause *t = &sw->port[port].pause[tc];
	rs_time dog = sw->cfg.pfc_watchdog ? t->since + sw->cfg.pfc_watchdog : RS_NEVER;

	if (dog <= now)
		watchdog(sw, port, tc, now);
	else if (t->until <= now)
		unpause(sw, port, tc, now);
	else
		arm(sw, rs_time_min(t->until, dog));
}

void rs_switch_expire(struct rs_switch *sw, rs_time now)
{
	sw->deadline = RS_NEVER;
	for (unsigned i = 0; i < sw->cfg.n_ports; i++) {
		struct port *p = &sw->port[i];

		for (unsigned c = 0; p->paused && c < RS_CLASSES; c++)
			if (p->paused >> c & 1)
				expire_class(sw, i, c, now);
		if (p->refresh <= now) {
			p->refresh = RS_NEVER;
			p->pfc_due |= p->pausing;
			wake(sw, i);
		}
		arm(sw, p->refresh);
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
	const rs_uint128 bit_s = (rs_uint128)8 * 1000000000000;
	uint64_t cable =
		(uint64_t)(((rs_uint128)2 * (uint64_t)delay * (uint64_t)rate + bit_s - 1) / bit_s);

	return 2 * ((uint64_t)max_frame + RS_PREAMBLE_IPG_BYTES) + RS_PFC_FRAME +
	       RS_PREAMBLE_IPG_BYTES + cable + (uint64_t)response_quanta * 64;
}

/* Worst are frames of one byte more than whole cells, or the shortest; the last may be cut off. */
uint64_t rs_pfc_headroom_cells(uint64_t link_bytes, uint32_t cell)
{
	uint64_t cells, worst = link_bytes;

	if (cell <= 1)
		return link_bytes;
	cells = (RS_ETH_MIN_FRAME + cell - 1) / cell;
	for (uint64_t frame = RS_ETH_MIN_FRAME; cells <= 2 + RS_ETH_MIN_FRAME / cell; cells++) {
		uint64_t room = (link_bytes / (frame + RS_PREAMBLE_IPG_BYTES) + 1) * cells * cell;

		worst = room > worst ? room : worst;
		frame = cells * cell + 1;
	}
	return worst;
}
