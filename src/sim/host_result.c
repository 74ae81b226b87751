/* What hosts tell at the end of a run: their counters, the busiest links inside, the limits that
 * held something up. */
#include <stdio.h>
#include <string.h>
#include "sim/host.h"

enum { LINKS_KEPT = 8, LIMITS_KEPT = 8 };

/* Among the busiest so far, the busiest first; of equals the first seen. */
static void keep_busiest(struct rs_sim_result *r, const char *host,
			 const struct rs_bus_link_stat *l)
{
	uint32_t i = r->n_links;

	if (i == LINKS_KEPT && r->links[i - 1].busy >= l->busy)
		return;
	if (i < LINKS_KEPT)
		r->n_links++;
	else
		i--;
	for (; i && r->links[i - 1].busy < l->busy; i--)
		r->links[i] = r->links[i - 1];
	r->links[i] = (struct rs_sim_link){.bytes = l->bytes, .busy = l->busy, .rate = l->rate};
	snprintf(r->links[i].name, sizeof(r->links[i].name), "%.16s %.46s", host, l->name);
}

static void busiest_inside(struct rs_sim *s, const struct sim_host *h)
{
	struct rs_sim_result *r = s->r;
	struct rs_bus_link_stat l;

	if (!r->links)
		r->links = rs_arena_alloc(r->arena, LINKS_KEPT, sizeof(*r->links));
	for (int i = 0; r->links && i < rs_bus_links(h->bus); i++) {
		rs_bus_link_stat(h->bus, i, &l);
		if (l.busy)
			keep_busiest(r, s->f->hosts[h->index].name, &l);
	}
}

static void keep_limit(struct rs_sim *s, const char *host, const char *part,
		       enum rs_limit_kind kind, rs_time stalled)
{
	struct rs_sim_result *r = s->r;
	uint32_t i = r->n_limits;

	if (!r->limits)
		r->limits = rs_arena_alloc(r->arena, LIMITS_KEPT, sizeof(*r->limits));
	if (!stalled || !r->limits)
		return;
	if (i == LIMITS_KEPT && r->limits[i - 1].stalled >= stalled)
		return;
	if (i < LIMITS_KEPT)
		r->n_limits++;
	else
		i--;
	for (; i && r->limits[i - 1].stalled < stalled; i--)
		r->limits[i] = r->limits[i - 1];
	r->limits[i] = (struct rs_sim_limit){.kind = kind, .stalled = stalled};
	snprintf(r->limits[i].name, sizeof(r->limits[i].name), "%.16s %.46s", host, part);
}

static void limits_inside(struct rs_sim *s, const struct sim_host *h)
{
	const struct rs_fabric_host *fh = &s->f->hosts[h->index];
	static const enum rs_limit_kind kinds[] = {[RS_WAIT_TAGS] = RS_LIMIT_READS,
						   [RS_WAIT_READ_BUFFER] = RS_LIMIT_BUFFER,
						   [RS_WAIT_CREDITS] = RS_LIMIT_CREDITS};

	for (int i = 0; i < fh->inside->n_parts; i++)
		for (int w = 0; w < RS_DMA_WAITS; w++)
			keep_limit(s, fh->name, fh->inside->parts[i].name, kinds[w],
				   rs_bus_waited(h->bus, i, (enum rs_dma_wait)w));
	for (uint32_t i = 0; i < h->n_nics; i++) {
		const struct sim_nic *k = &h->nics[i];
		const char *name = strchr(s->f->endpoints[k->endpoint].name, '/');

		name = name ? name + 1 : "";
		keep_limit(s, fh->name, name, RS_LIMIT_MESSAGES, k->stalled_messages);
		keep_limit(s, fh->name, name, RS_LIMIT_QP, k->stalled_qps);
	}
}

void sim_host_collect(struct rs_sim *s, struct sim_node *n)
{
	struct rs_sim_counters *r = &s->r->counters;

	for (uint32_t i = 0; i < n->host->n_nics; i++) {
		struct sim_nic *k = &n->host->nics[i];

		k->transport->collect(k->ends.self, r, &s->r->nic_bytes[k->endpoint]);
		if (s->r->several_ccs)
			sim_count_open_cuts(s, k);
		r->reordered += k->reordered;
		r->nic_pauses += k->pauses;
		for (unsigned t = 0; t < RS_CLASSES; t++)
			r->paused += sim_nic_held(k, t, sim_end(s));
		r->nic_drops += k->drops;
	}
	if (n->host->bus && !s->o->ranks) {
		busiest_inside(s, n->host);
		limits_inside(s, n->host);
	}
}
