/* What may be made ideal, one thing at a time: only what the run as described shows to be there. A
 * pause that never was costs nothing. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "diagnose/state.h"

enum {
	NETWORK_MAX = 1024, /* NICs on the one switch of an ideal network */
	JOBS_APART = 8,     /* more, and jobs are not run alone */
	JOBS_WITHOUT = 4,   /* more, and it is not asked which of the others costs a job */
};

static bool fabric_inside(const struct rs_fabric *f)
{
	for (uint32_t i = 0; i < f->n_hosts; i++)
		if (f->hosts[i].inside)
			return true;
	return false;
}

/* Some switch has a choice of ports. */
bool fabric_multipath(const struct rs_fabric *f)
{
	for (uint32_t s = 0; s < f->n_switches; s++)
		for (uint32_t g = 0; g < f->routes.n_groups; g++)
			if ((f->routes.set_of[s][g] & 0xff) > 1)
				return true;
	return false;
}

static bool has_links_lost(const struct rs_fabric *f, const struct rs_sim_result *r)
{
	return r->counters.link_losses > 0;
}

static bool has_drops(const struct rs_fabric *f, const struct rs_sim_result *r)
{
	return r->counters.drops + r->counters.nic_drops > 0;
}

static bool has_reordering(const struct rs_fabric *f, const struct rs_sim_result *r)
{
	return r->counters.reordered > 0;
}

static bool has_inside(const struct rs_fabric *f, const struct rs_sim_result *r)
{
	return fabric_inside(f);
}

static bool has_paths(const struct rs_fabric *f, const struct rs_sim_result *r)
{
	return fabric_multipath(f);
}

static bool has_network(const struct rs_fabric *f, const struct rs_sim_result *r)
{
	return f->n_switches > 1 && f->n_endpoints <= NETWORK_MAX;
}

static bool has_pauses(const struct rs_fabric *f, const struct rs_sim_result *r)
{
	return r->counters.pauses + r->counters.nic_pauses > 0;
}

static bool has_cuts(const struct rs_fabric *f, const struct rs_sim_result *r)
{
	return rs_fabric_controls(f);
}

static const struct {
	const char *id, *name, *how;
	struct rs_sim_ideal ideal;
	bool (*applies)(const struct rs_fabric *f, const struct rs_sim_result *base);
} counterfactuals[] = {
	{"link.loss", "loss on links", "links lose nothing", {.no_loss = true}, has_links_lost},
	{"drops",
	 "drops",
	 "buffers without end, pauses as they are",
	 {.no_drops = true},
	 has_drops},
	{"reordering",
	 "reordering",
	 "receivers take packets in any order",
	 {.in_order = true},
	 has_reordering},
	{"host",
	 "inside the hosts",
	 "NICs reach memory at once, GPUs each other too",
	 {.host = true},
	 has_inside},
	{"host.link",
	 "links inside the hosts",
	 "PCIe, sockets' and NVLink's links without a rate, limits as they are",
	 {.host_links = true},
	 has_inside},
	{"host.limit",
	 "limits inside the hosts",
	 "outstanding reads, credits and message rates without end, links as they are",
	 {.host_limits = true},
	 has_inside},
	{"receiver",
	 "the receiving hosts",
	 "what arrives is in memory at once; what is sent is as it is",
	 {.receiver = true},
	 has_inside},
	{"collisions",
	 "placement on paths (ECMP collisions)",
	 "flows are dealt over the equal-cost paths as evenly as can be",
	 {.placed = true},
	 has_paths},
	{"paths",
	 "the network's paths",
	 "one switch without contention inside",
	 {.network = true},
	 has_network},
	{"pauses", "pauses (PFC)", "no PFC, buffers without end", {.no_pause = true}, has_pauses},
	{"cuts",
	 "congestion control's cuts",
	 "senders stay at line rate",
	 {.no_cc = true},
	 has_cuts},
};

/* ---- Wider links between switches ---- */

void links_widen(struct rs_fabric *h, double factor)
{
	for (uint32_t i = 0; i < h->n_links; i++)
		if (h->links[i].a.is_switch && h->links[i].b.is_switch) {
			h->links[i].rate = (int64_t)((double)h->links[i].rate * factor);
			h->links[i].rate_back = (int64_t)((double)h->links[i].rate_back * factor);
		}
}

static const struct rs_change *widened(struct diagnose *g, double factor)
{
	struct rs_change *x = rs_arena_alloc(g->d->arena, 1, sizeof(*x));

	if (x)
		x->widen = factor;
	return x;
}

/* All of them by the factor that a leaf lacks: collisions, slow links and pauses stay. */
static void oversubscription_add(struct diagnose *g)
{
	struct rs_network_facts facts;
	struct rs_error refused = {0};
	struct rs_fabric *h;
	struct rs_case_info *c;

	rs_fabric_facts(g->f, &facts);
	if (facts.oversubscription < 1.001 || load_with(g, NULL, 0, &h, &refused))
		return;
	links_widen(h, facts.oversubscription);
	c = case_add(g, RS_CASE_COUNTERFACTUAL, "oversubscription", h, NULL);
	if (!c) {
		rs_fabric_free(h);
		return;
	}
	c->id = "oversubscription";
	c->change = widened(g, facts.oversubscription);
	c->how = "links between switches as wide as those to the hosts together";
}

/* ---- Jobs apart ---- */

static void alone_add(struct diagnose *g, uint32_t job)
{
	uint32_t n = g->f->n_jobs;
	uint64_t all = n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
	struct rs_sim_ideal alone = {.skip = all & ~(UINT64_C(1) << job)};
	struct rs_case_info *c = case_add(
		g, RS_CASE_WITHOUT,
		rs_arena_printf(g->d->arena, "job '%s' alone", g->f->jobs[job].name), NULL, &alone);

	if (c)
		c->how = "the other jobs are left out";
}

void jobs_alone_add(struct diagnose *g)
{
	for (uint32_t j = 0; g->f->n_jobs > 1 && j < g->f->n_jobs && j < JOBS_APART; j++)
		alone_add(g, j);
}

/* Each job without the others; with a few more than two, the others without each, too: who it is
 * that costs. */
static void jobs_add(struct diagnose *g)
{
	uint32_t n = g->f->n_jobs;

	for (uint32_t j = 0; n > 1 && n <= JOBS_APART && j < n; j++) {
		struct rs_sim_ideal without = {.skip = UINT64_C(1) << j};
		const char *name = g->f->jobs[j].name;
		struct rs_case_info *c;

		alone_add(g, j);
		if (n == 2 || n > JOBS_WITHOUT)
			continue;
		c = case_add(g, RS_CASE_WITHOUT,
			     rs_arena_printf(g->d->arena, "without job '%s'", name), NULL,
			     &without);
		if (c)
			c->how = "this job is left out";
	}
}

/* ---- Everything ---- */

/* Congestion control is a brake that may do good, even where all else is ideal: so both. */
static void ideal_add(struct diagnose *g)
{
	struct rs_sim_ideal all = {.host = fabric_inside(g->f),
				   .network = g->f->n_switches > 1,
				   .no_pause = true,
				   .no_loss = true,
				   .no_cc = true};
	struct rs_case_info *c;

	if (g->f->n_endpoints > NETWORK_MAX)
		return;
	c = case_add(g, RS_CASE_IDEAL, "everything ideal", NULL, &all);
	if (c)
		c->how = "all of these together";
	all.no_cc = false;
	if (!has_cuts(g->f, NULL))
		return;
	c = case_add(g, RS_CASE_IDEAL, "everything ideal but congestion control", NULL, &all);
	if (c)
		c->how = "all of these together, congestion control as described";
}

void counterfactuals_add(struct diagnose *g)
{
	const struct rs_sim_result *base = g->d->seen;

	for (size_t i = 0; i < sizeof(counterfactuals) / sizeof(*counterfactuals); i++) {
		struct rs_case_info *c;

		if (!counterfactuals[i].applies(g->f, base))
			continue;
		c = case_add(g, RS_CASE_COUNTERFACTUAL, counterfactuals[i].name, NULL,
			     &counterfactuals[i].ideal);
		if (!c)
			return;
		c->id = counterfactuals[i].id;
		c->how = counterfactuals[i].how;
	}
	oversubscription_add(g);
	jobs_add(g);
	ideal_add(g);
}

/* ---- The way ---- */

static double effect(const struct rs_diagnosis *d, uint32_t i)
{
	struct rs_gain g = rs_case_gain(d, i);

	return g.ends ? -log1p(-fmin(g.gain, 1 - 1e-12)) : 0;
}

/* Where one switch in place of all explains what nothing else does: is it the way alone? */
void latency_add(struct diagnose *g)
{
	const struct rs_diagnosis *d = g->d;
	struct rs_error refused = {0};
	double paths = 0, most = 0;
	struct rs_fabric *h;
	struct rs_case_info *c;

	for (uint32_t i = 1; i < d->n; i++) {
		if (d->info[i].id && !strcmp(d->info[i].id, "paths"))
			paths = effect(d, i);
		else if (d->info[i].kind == RS_CASE_COUNTERFACTUAL)
			most = fmax(most, effect(d, i));
	}
	if (paths < 0.03 || most >= 0.6 * paths || load_with(g, NULL, 0, &h, &refused))
		return;
	for (uint32_t i = 0; i < h->n_links; i++)
		if (h->links[i].a.is_switch && h->links[i].b.is_switch)
			h->links[i].delay = 0;
	for (uint32_t s = 0; s < h->n_switches; s++) {
		struct rs_qos *q = (struct rs_qos *)rs_fabric_qos(h, s);

		q->switch_latency = 0;
		q->cut_through = true;
	}
	c = case_add(g, RS_CASE_COUNTERFACTUAL, "latency of the way", h, NULL);
	if (!c) {
		rs_fabric_free(h);
		return;
	}
	c->id = "latency";
	c->how = "switches and the links between them pass packets on at once";
}
