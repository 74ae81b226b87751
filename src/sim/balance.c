/* What was sent and is neither delivered nor lost when a run ends is still somewhere: on a link, in
 * a switch, in a NIC. Counted by looking there, not by subtracting, so that the sum proves
 * something. */
#include "sim/host.h"

static uint64_t count_link(const struct rs_sim *s, const struct sim_link *l)
{
	uint64_t n = 0;

	for (uint32_t i = l->head; i != l->tail; i++)
		n += rs_pool_at(&s->pool, sim_link_flight(l, i)->packet)->kind != RS_KIND_PFC;
	return n;
}

static uint64_t count_nic(const struct rs_sim *s, const struct sim_nic *k)
{
	return (k->inside ? rs_queue_count(&k->rx, s->pool.base) + rs_egress_count(k->egress) : 0) +
	       sim_order_held(k);
}

uint64_t sim_packets_in_flight(const struct rs_sim *s)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->n_nodes; i++) {
		const struct sim_node *node = &s->nodes[i];

		for (uint32_t p = 0; p < node->n_ports; p++) {
			n += count_link(s, &node->out[p]);
			if (node->out[p].far)
				n += count_link(s, node->out[p].far);
		}
		if (node->sw)
			n += rs_switch_waiting(node->sw);
		for (uint32_t k = 0; node->host && k < node->host->n_nics; k++)
			n += count_nic(s, &node->host->nics[k]);
	}
	return n;
}
