/* Which host, GPU and NIC a rank is, which NIC is nearest to a GPU, how many channels its ring
 * uses. */
#include "fabric/build.h"
#include "fabric/state.h"

uint32_t rs_fabric_rank_host(const struct rs_fabric *f, uint32_t rank)
{
	uint32_t low = 0, high = f->n_hosts - 1;

	while (low < high) {
		uint32_t mid = (low + high + 1) / 2;

		if (f->hosts[mid].first_gpu <= rank)
			low = mid;
		else
			high = mid - 1;
	}
	return low;
}

static int nth(const struct rs_host *h, enum rs_part_kind kind, uint32_t n)
{
	for (int i = 0; i < h->n_parts; i++)
		if (h->parts[i].kind == kind && !n--)
			return i;
	return RS_NO_PART;
}

int rs_fabric_rank_part(const struct rs_fabric *f, uint32_t rank)
{
	const struct rs_fabric_host *h = &f->hosts[rs_fabric_rank_host(f, rank)];

	return h->inside ? nth(h->inside, RS_PART_GPU, rank - h->first_gpu) : RS_NO_PART;
}

/* Bit i: the link of the host's i-th NIC is down. Where all are, none is passed over. */
static uint64_t nics_down(const struct rs_fabric *f, const struct rs_fabric_host *h)
{
	uint32_t n = h->n_endpoints < 64 ? h->n_endpoints : 64;
	uint64_t down = 0, all = n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;

	for (uint32_t i = 0; f->n_down && i < n; i++)
		if (f->links[f->endpoints[h->first_endpoint + i].link].down)
			down |= UINT64_C(1) << i;
	return down == all ? 0 : down;
}

/* The host's NIC `local`, or the next one whose link is up. */
static uint32_t nic_in_turn(const struct rs_fabric_host *h, uint32_t local, uint64_t down)
{
	uint32_t i = local % h->n_endpoints;

	while (i < 64 && down >> i & 1)
		i = (i + 1) % h->n_endpoints;
	return h->first_endpoint + i;
}

/* The nearest NICs of a GPU; bit i of the result: the host's i-th NIC. */
static uint64_t nearest_nics(const struct rs_host *h, int gpu, uint64_t down)
{
	enum rs_distance best = RS_DIST_UNKNOWN;
	uint64_t set = 0;
	unsigned n = 0;

	for (int i = 0; i < h->n_parts && n < 64; i++) {
		enum rs_distance d;

		if (h->parts[i].kind != RS_PART_NIC)
			continue;
		if (down >> n & 1) {
			n++;
			continue;
		}
		d = rs_host_distance(h, gpu, i);
		if (d < best) {
			best = d;
			set = 0;
		}
		for (unsigned port = 0; port < fabric_ports_of(&h->parts[i]) && n < 64; port++, n++)
			if (d == best)
				set |= UINT64_C(1) << n;
	}
	return set;
}

uint32_t rs_fabric_rank_endpoint(const struct rs_fabric *f, uint32_t rank)
{
	const struct rs_fabric_host *h = &f->hosts[rs_fabric_rank_host(f, rank)];
	uint32_t local = rank - h->first_gpu, before = 0;
	uint64_t set, down = nics_down(f, h);

	if (!h->inside || f->pair_by_index)
		return nic_in_turn(h, local, down);
	set = nearest_nics(h->inside, nth(h->inside, RS_PART_GPU, local), down);
	if (!set)
		return nic_in_turn(h, 0, down);
	for (uint32_t i = 0; i < local; i++)
		before += nearest_nics(h->inside, nth(h->inside, RS_PART_GPU, i), down) == set;
	for (before %= (uint32_t)__builtin_popcountll(set); before; before--)
		set &= set - 1;
	return h->first_endpoint + (uint32_t)__builtin_ctzll(set);
}

/* How many different NICs the ranks of a ring use, from `first` on until the host changes. */
static uint32_t nics_of_run(const struct rs_fabric *f, const struct rs_collective_conf *c,
			    uint32_t first, uint32_t stride, uint32_t n, uint32_t *members)
{
	uint32_t host = rs_fabric_rank_host(f, rs_collective_gpu(c, first));
	uint32_t used[RS_CHANNELS_MAX], count = 0, m, i;

	for (m = 0; m < n; m++) {
		uint32_t gpu = rs_collective_gpu(c, first + m * stride), endpoint;

		if (rs_fabric_rank_host(f, gpu) != host)
			break;
		endpoint = f->hosts[host].n_endpoints > 1 ? rs_fabric_rank_endpoint(f, gpu) : 0;
		for (i = 0; i < count && used[i] != endpoint; i++)
			;
		if (i == count && count < RS_CHANNELS_MAX)
			used[count++] = endpoint;
	}
	*members = m;
	return count;
}

uint32_t rs_fabric_channels(const struct rs_fabric *f, const struct rs_collective_conf *c)
{
	uint32_t n = c->n_ranks ? c->n_ranks : f->n_gpus, stride = c->stride ? c->stride : 1;
	uint32_t group = c->group ? c->group : n / stride, most = 1;
	uint64_t block = (uint64_t)stride * group;

	if (c->algorithm >= RS_ALGO_HIERARCHICAL)
		return 1;
	if (!block || n > f->n_gpus || n % block)
		return 1; /* its planner says so */
	for (uint32_t b = 0; b < n; b += (uint32_t)block)
		for (uint32_t s = 0; s < stride; s++)
			for (uint32_t m = 0, members; m < group; m += members) {
				uint32_t nics = nics_of_run(f, c, b + s + m * stride, stride,
							    group - m, &members);

				most = nics > most ? nics : most;
			}
	return most;
}
