/* Fixes that `ripstop sim` tries of itself, where a description leaves room for them: settings like
 * those of a what-if list, beside which they are run. */
#include <string.h>
#include "cli/sim_report.h"

enum { HOSTS_MAX = 1024 }; /* above, a scenario is long enough with its own what-ifs */

static bool mtu_is_short(const struct rs_fabric *f)
{
	return f->transport.mtu < 4096 && !f->transport.payload;
}

static bool paths_are_hashed(const struct rs_fabric *f)
{
	return f->qos.routing == RS_FABRIC_ECMP && f->n_switches > 2;
}

/* Further by name than another NIC of its host. */
static bool nic_is_far(const struct rs_fabric *f, uint32_t rank)
{
	const struct rs_fabric_host *h = &f->hosts[rs_fabric_rank_host(f, rank)];
	uint32_t mine = rs_fabric_rank_endpoint(f, rank);
	int gpu = rs_fabric_rank_part(f, rank);

	if (!h->inside || gpu == RS_NO_PART)
		return false;
	for (uint32_t i = h->first_endpoint; i < h->first_endpoint + h->n_endpoints; i++)
		if (rs_host_distance(h->inside, gpu, f->endpoints[i].part) <
		    rs_host_distance(h->inside, gpu, f->endpoints[mine].part))
			return true;
	return false;
}

static bool pairs_are_far(const struct rs_fabric *f)
{
	for (uint32_t r = 0; f->pair_by_index && r < f->n_gpus; r++)
		if (nic_is_far(f, r))
			return true;
	return false;
}

static bool hosts_have_insides(const struct rs_fabric *f)
{
	for (uint32_t i = 0; i < f->n_hosts; i++)
		if (f->hosts[i].inside)
			return true;
	return false;
}

static const struct {
	const char *name, *path, *value;
	bool (*applies)(const struct rs_fabric *f);
} proposals[] = {
	{"no change to single hosts", "fabric.change", "[]", hosts_have_insides},
	{"each GPU on its nearest NIC", "fabric.pairing", "nearest", pairs_are_far},
	{"a path MTU of 4096", "fabric.network.mtu", "4096", mtu_is_short},
	{"packet spraying", "fabric.qos.routing", "spray", paths_are_hashed},
};

/* The author's own list has it. */
static bool listed(const struct rs_fabric *f, const char *path, const char *value)
{
	for (uint32_t i = 0; i < f->n_whatifs; i++)
		for (uint32_t k = 0; f->whatifs[i].n == 1 && k < 1; k++)
			if (!strcmp(f->whatifs[i].set[k].path, path) &&
			    !strcmp(f->whatifs[i].set[k].value, value))
				return true;
	return false;
}

static bool alike(const struct rs_pcie *a, const struct rs_pcie *b)
{
	return a->gen == b->gen && a->lanes == b->lanes && a->mps == b->mps && a->mrrs == b->mrrs;
}

static bool same_parts(const struct rs_host *a, const struct rs_host *b)
{
	if (!a || !b || a->n_parts != b->n_parts)
		return a == b;
	for (int i = 0; i < a->n_parts; i++) {
		const struct rs_part *p = &a->parts[i], *q = &b->parts[i];

		if (p->parent != q->parent || p->parent2 != q->parent2 || !alike(&p->up, &q->up) ||
		    !alike(&p->up2, &q->up2))
			return false;
	}
	return true;
}

bool rs_proposal_changes(const struct rs_fabric *f, const struct rs_fabric *g,
			 const struct rs_setting *s)
{
	if (strcmp(s->path, "fabric.change"))
		return true;
	for (uint32_t i = 0; i < f->n_hosts && i < g->n_hosts; i++)
		if (!same_parts(f->hosts[i].inside, g->hosts[i].inside))
			return true;
	return false;
}

/* As many channels as a host has NICs: fewer leave NICs idle in a ring. */
static uint32_t more_channels(const struct rs_fabric *f, struct rs_setting *set, const char **name,
			      uint32_t room)
{
	uint32_t nics = f->n_hosts ? f->hosts[0].n_endpoints : 0, n = 0;

	for (uint32_t i = 0; i < f->n_jobs && n < room; i++) {
		const struct rs_job *j = &f->jobs[i];
		const char *path;

		if (j->kind != RS_JOB_COLLECTIVE || j->collective.channels >= nics || nics > 16 ||
		    f->n_gpus == f->n_hosts)
			continue;
		path = rs_arena_printf(f->arena, "workload[%u].collective.channels", i);
		if (!path)
			return n;
		set[n] = (struct rs_setting){
			path, rs_arena_printf(f->arena, "%u", nics), {"a proposal", 0, 0}};
		name[n] = rs_arena_printf(f->arena, "a channel for each of a host's %u NICs", nics);
		if (set[n].value && name[n] && !listed(f, path, set[n].value))
			n++;
	}
	return n;
}

uint32_t rs_propose(const struct rs_fabric *f, struct rs_setting *set, const char **name,
		    uint32_t room)
{
	uint32_t n = 0;

	if (f->n_hosts > HOSTS_MAX)
		return 0;
	for (size_t i = 0; i < sizeof(proposals) / sizeof(*proposals) && n < room; i++) {
		if (!proposals[i].applies(f) || listed(f, proposals[i].path, proposals[i].value))
			continue;
		set[n] = (struct rs_setting){
			proposals[i].path, proposals[i].value, {"a proposal", 0, 0}};
		name[n++] = proposals[i].name;
	}
	return n + more_channels(f, set + n, name + n, room - n);
}
