/*
 * The fabric of a training step with `scale`. Its bytes and its compute times are divided by it, so
 * that latencies would weigh as many times too much. They are divided, too: then all of the run's
 * times are in the same proportion. What stays is a packet's own time where messages are shorter
 * than packets, timers of congestion control and loss recovery, and the latency of a socket link
 * that only its CPU's model says.
 */
#include <errno.h>
#include <string.h>
#include "sim/engine.h"
#include "sim/ideal.h"

/* Of all jobs; 1 where one is none of these, or where the description has times of its own. */
static uint32_t scale_of(const struct rs_fabric *f)
{
	uint32_t scale = 1;

	if (f->events.n)
		return 1;
	for (uint32_t i = 0; i < f->n_jobs; i++) {
		const struct rs_job *j = &f->jobs[i];

		if (j->kind != RS_JOB_TRAIN || !j->train.step.on ||
		    (i && j->train.step.scale != scale))
			return 1;
		scale = j->train.step.scale;
	}
	return scale ? scale : 1;
}

static void scale_params(struct rs_host_params *p, uint32_t by)
{
	rs_time *const times[] = {&p->phy_latency,   &p->switch_latency, &p->root_write,
				  &p->root_p2p,      &p->dram_read,      &p->gpu_write,
				  &p->gpu_read,      &p->nvlink_hop,     &p->nic_pipeline,
				  &p->post,          &p->mmio,           &p->poll,
				  &p->credit_latency};

	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
		*times[i] /= by;
}

static const struct rs_host *scaled_inside(const struct rs_host *h, struct rs_arena *a, uint32_t by)
{
	struct rs_host *g = rs_arena_alloc(a, 1, sizeof(*g));

	if (!g)
		return NULL;
	*g = *h;
	g->xlinks = rs_arena_alloc(a, (size_t)h->n_xlinks + 1, sizeof(*g->xlinks));
	if (!g->xlinks)
		return NULL;
	for (int i = 0; i < h->n_xlinks; i++) {
		g->xlinks[i] = h->xlinks[i];
		if (g->xlinks[i].latency > 0)
			g->xlinks[i].latency /= by;
	}
	return g;
}

/* Hosts that share what is inside go on to share it. */
static int scale_hosts(struct rs_fabric *g, const struct rs_fabric *f, struct rs_arena *a,
		       uint32_t by)
{
	g->hosts = rs_arena_alloc(a, f->n_hosts, sizeof(*g->hosts));
	if (!g->hosts)
		return -ENOMEM;
	memcpy(g->hosts, f->hosts, f->n_hosts * sizeof(*g->hosts));
	for (uint32_t i = 0; i < f->n_hosts; i++) {
		const struct rs_host *inside = f->hosts[i].inside;

		if (!inside)
			continue;
		g->hosts[i].inside = i && inside == f->hosts[i - 1].inside
					     ? g->hosts[i - 1].inside
					     : scaled_inside(inside, a, by);
		if (!g->hosts[i].inside)
			return -ENOMEM;
	}
	return 0;
}

int rs_sim_scaled(const struct rs_fabric *f, struct rs_arena *a, const struct rs_fabric **out,
		  struct rs_error *e)
{
	uint32_t by = scale_of(f);
	struct rs_fabric *g;

	*out = f;
	if (by < 2)
		return 0;
	g = rs_arena_alloc(a, 1, sizeof(*g));
	if (!g)
		return rs_error_set(e, -ENOMEM, "out of memory");
	*g = *f;
	g->qos.switch_latency /= by;
	scale_params(&g->host_params, by);
	g->links = rs_arena_alloc(a, f->n_links, sizeof(*g->links));
	if (!g->links || scale_hosts(g, f, a, by))
		return rs_error_set(e, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < f->n_links; i++) {
		g->links[i] = f->links[i];
		g->links[i].delay /= by;
	}
	*out = g;
	return 0;
}
