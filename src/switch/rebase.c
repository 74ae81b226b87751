/* Another beginning of time, for a switch that runs for longer than its clock counts. */
#include "switch/state.h"

static void rebase_port(struct rs_switch *sw, struct port *p, rs_time by)
{
	p->later = rs_time_earlier(p->later, by);
	rs_lfc_rebase(&p->lfc, &p->times, by);
	for (unsigned c = 0; c < RS_CLASSES; c++)
		for (uint32_t i = p->q[c].packets.head; p->q[c].bytes && i != RS_NO_PACKET;
		     i = rs_pool_at(sw->cfg.pool, i)->next)
			rs_pool_at(sw->cfg.pool, i)->when =
				rs_time_earlier(rs_pool_at(sw->cfg.pool, i)->when, by);
}

void rs_switch_rebase(struct rs_switch *sw, rs_time by)
{
	rs_assert(by >= 0);
	for (unsigned i = 0; i < sw->cfg.n_ports; i++)
		rebase_port(sw, &sw->port[i], by);
	if (sw->sample)
		sw->sample->at = rs_time_earlier(sw->sample->at, by);
	for (unsigned i = 0; sw->flowlets && i < FLOWLETS; i++)
		sw->flowlets[i].last = rs_time_earlier(sw->flowlets[i].last, by);
	rs_holds_rebase(sw, by);
	sw->deadline = rs_time_earlier(sw->deadline, by);
}
