/* What hosts tell at the end of a run: their counters, the busiest links inside, the limits that
 * held something up; of all processes that share a run. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim/host.h"

enum { LINKS_KEPT = 8, LIMITS_KEPT = 8 };

static bool busier(const struct rs_sim_link *a, const struct rs_sim_link *b)
{
	return a->busy != b->busy ? a->busy > b->busy : a->host < b->host;
}

/* Among the busiest so far, the busiest first; of equals the first host's, there the first seen. */
static void keep_busiest(struct rs_sim_result *r, const struct rs_sim_link *l)
{
	uint32_t i = r->n_links;

	if (i == LINKS_KEPT && !busier(l, &r->links[i - 1]))
		return;
	if (i < LINKS_KEPT)
		r->n_links++;
	else
		i--;
	for (; i && busier(l, &r->links[i - 1]); i--)
		r->links[i] = r->links[i - 1];
	r->links[i] = *l;
}

static void busiest_inside(struct rs_sim *s, const struct sim_host *h)
{
	struct rs_sim_result *r = s->r;
	struct rs_bus_link_stat l;

	if (!r->links)
		r->links = rs_arena_alloc(r->arena, LINKS_KEPT, sizeof(*r->links));
	for (int i = 0; r->links && i < rs_bus_links(h->bus); i++) {
		struct rs_sim_link link = {.host = h->index};

		rs_bus_link_stat(h->bus, i, &l);
		if (!l.busy)
			continue;
		link.bytes = l.bytes;
		link.busy = l.busy;
		link.rate = l.rate;
		snprintf(link.name, sizeof(link.name), "%.16s %.46s", s->f->hosts[h->index].name,
			 l.name);
		keep_busiest(r, &link);
	}
}

static bool longer(const struct rs_sim_limit *a, const struct rs_sim_limit *b)
{
	return a->stalled != b->stalled ? a->stalled > b->stalled : a->host < b->host;
}

static void keep_longest(struct rs_sim_result *r, const struct rs_sim_limit *l)
{
	uint32_t i = r->n_limits;

	if (i == LIMITS_KEPT && !longer(l, &r->limits[i - 1]))
		return;
	if (i < LIMITS_KEPT)
		r->n_limits++;
	else
		i--;
	for (; i && longer(l, &r->limits[i - 1]); i--)
		r->limits[i] = r->limits[i - 1];
	r->limits[i] = *l;
}

static void keep_limit(struct rs_sim *s, uint32_t host, const char *part, enum rs_limit_kind kind,
		       rs_time stalled)
{
	struct rs_sim_limit l = {.host = host, .kind = kind, .stalled = stalled};
	struct rs_sim_result *r = s->r;

	if (!r->limits)
		r->limits = rs_arena_alloc(r->arena, LIMITS_KEPT, sizeof(*r->limits));
	if (!stalled || !r->limits)
		return;
	snprintf(l.name, sizeof(l.name), "%.16s %.46s", s->f->hosts[host].name, part);
	keep_longest(r, &l);
}

static void limits_inside(struct rs_sim *s, const struct sim_host *h)
{
	const struct rs_fabric_host *fh = &s->f->hosts[h->index];
	static const enum rs_limit_kind kinds[] = {[RS_WAIT_TAGS] = RS_LIMIT_READS,
						   [RS_WAIT_READ_BUFFER] = RS_LIMIT_BUFFER,
						   [RS_WAIT_CREDITS] = RS_LIMIT_CREDITS};

	for (int i = 0; i < fh->inside->n_parts; i++)
		for (int w = 0; w < RS_DMA_WAITS; w++)
			keep_limit(s, h->index, fh->inside->parts[i].name, kinds[w],
				   rs_bus_waited(h->bus, i, (enum rs_dma_wait)w));
	for (uint32_t i = 0; i < h->n_nics; i++) {
		const struct sim_nic *k = &h->nics[i];
		const char *name = strchr(s->f->endpoints[k->endpoint].name, '/');

		name = name ? name + 1 : "";
		keep_limit(s, h->index, name, RS_LIMIT_MESSAGES, k->stalled_messages);
		keep_limit(s, h->index, name, RS_LIMIT_QP, k->stalled_qps);
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
	if (n->host->bus) {
		busiest_inside(s, n->host);
		limits_inside(s, n->host);
	}
}

int sim_host_share(struct rs_sim *s)
{
	struct rs_sim_result *r = s->r;
	struct rs_sim_limit *limits;
	struct rs_sim_link *links;
	uint32_t n_links, n_limits;

	if (!s->o->ranks || !s->f->n_hosts)
		return 0;
	links = sim_ranks_share(s, r->links, r->n_links, sizeof(*links), &n_links);
	limits = links ? sim_ranks_share(s, r->limits, r->n_limits, sizeof(*limits), &n_limits)
		       : NULL;
	if (!limits) {
		free(links);
		return -ENOMEM;
	}
	r->n_links = r->n_limits = 0;
	for (uint32_t i = 0; i < n_links; i++)
		keep_busiest(r, &links[i]);
	for (uint32_t i = 0; i < n_limits; i++)
		keep_longest(r, &limits[i]);
	free(links);
	free(limits);
	return 0;
}
