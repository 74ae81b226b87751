/* Another beginning of time, for a switch that runs for longer than its clock counts. */
#include "switch/state.h"

/* What lies far back stays there: repeated, it would run out of the range at the other end. */
static rs_time earlier(rs_time t, rs_time by)
{
	return t == RS_NEVER ? t : rs_time_max(t - by, -RS_S);
}

static void rebase_port(struct rs_switch *sw, struct port *p, rs_time by)
{
	p->later = earlier(p->later, by);
	p->refresh = earlier(p->refresh, by);
	for (unsigned c = 0; c < RS_CLASSES; c++) {
		p->pause[c].until = earlier(p->pause[c].until, by);
		/* of a pause that lasts or is about to begin, exactly: its time is counted */
		p->pause[c].since =
			(p->paused.now | p->paused.heard) >> c & 1 ? p->pause[c].since - by : 0;
		for (uint32_t i = p->q[c].head; p->q[c].bytes && i != RS_NO_PACKET;
		     i = rs_pool_at(sw->cfg.pool, i)->next)
			rs_pool_at(sw->cfg.pool, i)->when =
				earlier(rs_pool_at(sw->cfg.pool, i)->when, by);
	}
}

void rs_switch_rebase(struct rs_switch *sw, rs_time by)
{
	for (unsigned i = 0; i < sw->cfg.n_ports; i++)
		rebase_port(sw, &sw->port[i], by);
	for (unsigned i = 0; sw->flowlets && i < FLOWLETS; i++)
		sw->flowlets[i].last = earlier(sw->flowlets[i].last, by);
	rs_holds_rebase(sw, by);
	sw->deadline = earlier(sw->deadline, by);
}
