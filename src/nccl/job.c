/* From a fabric's GPUs to a job of NCCL's; hosts with one inside are one topology. */
#include <errno.h>
#include "nccl/job.h"

static int topo_of(const struct rs_fabric *f, uint32_t h, const struct rs_nccl_assume *assume,
		   struct rs_arena *a, const struct rs_nccl_host **hosts, struct rs_error *e)
{
	const struct rs_fabric_host *host = &f->hosts[h];
	struct rs_nccl_assume own = *assume;
	struct rs_nccl_host *made;
	int err;

	if (!host->inside)
		return rs_error_set(e, -EINVAL,
				    "host %s has no inside: NCCL's plan follows its "
				    "GPUs, NICs and PCI switches (hosts: in the file)",
				    host->name);
	for (uint32_t i = 0; i < h; i++)
		if (hosts[i] && f->hosts[i].inside == host->inside) {
			hosts[h] = hosts[i];
			return 0;
		}
	/* a NIC's rate where its part does not say: as the link that it is on */
	if (!own.mbps && host->n_endpoints)
		own.mbps = (int)(f->endpoints[host->first_endpoint].rate / RS_MBPS);
	err = rs_nccl_host_inside(host->inside, &own, a, &made, e);
	hosts[h] = made;
	return err;
}

int rs_nccl_plan_fabric(const struct rs_fabric *f, const uint32_t *gpu, uint32_t n_ranks,
			const struct rs_nccl_env *env, const struct rs_nccl_assume *assume,
			struct rs_nccl_searches *searches, struct rs_arena *a,
			struct rs_nccl_plan **out, struct rs_error *e)
{
	const struct rs_nccl_host **hosts =
		rs_arena_alloc(a, (size_t)f->n_hosts + 1, sizeof(*hosts));
	struct rs_nccl_place *places = rs_arena_alloc(a, (size_t)n_ranks + 1, sizeof(*places));
	struct rs_nccl_job job = {f->n_hosts, n_ranks, hosts, places, searches};
	int err = 0;

	*out = NULL;
	if (!hosts || !places)
		return rs_error_set(e, -ENOMEM, "out of memory");
	for (uint32_t r = 0; r < n_ranks && !err; r++) {
		uint32_t g = gpu ? gpu[r] : r, h;

		if (g >= f->n_gpus)
			return rs_error_set(e, -EINVAL, "rank %u is on GPU %u of %u", r, g,
					    f->n_gpus);
		h = rs_fabric_rank_host(f, g);
		if (!hosts[h])
			err = topo_of(f, h, assume, a, hosts, e);
		places[r] = (struct rs_nccl_place){h, (int)(g - f->hosts[h].first_gpu), g};
	}
	return err ? err : rs_nccl_plan_make(&job, env, a, out, e);
}

uint32_t rs_nccl_endpoint(const struct rs_fabric *f, const struct rs_nccl_plan *p, uint32_t rank,
			  int net)
{
	const struct rs_nccl_node *node = &p->nodes[p->ranks[rank].node];

	return f->hosts[node->host].first_endpoint + node->nics[net].tag;
}
