/* Which GPUs a collective's ranks are: a list as written, or GPUs that no other job has. Lists are
 * taken first, then jobs in their order; what is drawn comes from the seed, a stream a job. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/random.h"
#include "fabric/fabric.h"

enum { RANDOM_PLACE = 0x706c6163 }; /* "plac" */

struct placing {
	const struct rs_fabric *f;
	struct rs_error *e;
	uint32_t *job_of; /* [gpu]: its job + 1; 0: free */
	uint32_t *order;  /* GPUs in the order in which the present job would take them */
	uint32_t n_order;
	bool blind; /* the present job shares: others' GPUs are free to it */
};

static bool alive(const struct rs_fabric *f, uint32_t gpu)
{
	return !f->n_down || !f->links[f->endpoints[rs_fabric_rank_endpoint(f, gpu)].link].down;
}

static bool is_free(const struct placing *p, uint32_t gpu)
{
	return (p->blind || !p->job_of[gpu]) && alive(p->f, gpu);
}

static int check_alive(const struct placing *p, const struct rs_job *j, uint32_t gpu)
{
	const struct rs_fabric *f = p->f;

	if (alive(f, gpu))
		return 0;
	rs_error_at(p->e, -EINVAL, j->at,
		    "job '%s': GPU %u is on %s, whose link is down (change); list ranks without it",
		    j->name, gpu, f->hosts[rs_fabric_rank_host(f, gpu)].name);
	return -EINVAL;
}

/* Free GPUs of a host, behind what is in order already. */
static void order_host(struct placing *p, uint32_t host, uint32_t most)
{
	const struct rs_fabric_host *h = &p->f->hosts[host];

	for (uint32_t i = h->first_gpu; most && i < h->first_gpu + h->n_gpus; i++)
		if (is_free(p, i)) {
			p->order[p->n_order++] = i;
			most--;
		}
}

static void order_packed(struct placing *p)
{
	for (uint32_t h = 0; h < p->f->n_hosts; h++)
		order_host(p, h, UINT32_MAX);
}

/* Hosts in a drawn order (Fisher and Yates), all free GPUs of each: as a scheduler that has run for
 * a month deals them. */
static int order_random(struct placing *p, uint64_t seed, uint32_t job)
{
	struct rs_random r = rs_random_stream(seed, job, RANDOM_PLACE);
	uint32_t n = p->f->n_hosts, *host = malloc((n + 1u) * sizeof(*host));

	if (!host)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		host[i] = i;
	for (uint32_t i = n; i > 1; i--) {
		uint32_t k = rs_random_below(&r, i), t = host[k];

		host[k] = host[i - 1];
		host[i - 1] = t;
	}
	for (uint32_t i = 0; i < n; i++)
		order_host(p, host[i], UINT32_MAX);
	free(host);
	return 0;
}

static uint32_t free_of(const struct placing *p, uint32_t host)
{
	const struct rs_fabric_host *h = &p->f->hosts[host];
	uint32_t n = 0;

	for (uint32_t i = h->first_gpu; i < h->first_gpu + h->n_gpus; i++)
		n += is_free(p, i);
	return n;
}

/* GPUs there are with at most `level` of a host; *more: hosts that have further ones. */
static uint32_t gpus_at(const struct placing *p, uint32_t level, uint32_t *more)
{
	uint32_t n = 0;

	*more = 0;
	for (uint32_t h = 0; h < p->f->n_hosts; h++) {
		uint32_t k = free_of(p, h);

		n += k < level ? k : level;
		*more += k > level;
	}
	return n;
}

/* As few GPUs of a host as can be; one more of some hosts, at even distances. Ranks go by host, as
 * NCCL orders them. */
static void order_spread(struct placing *p, uint32_t want)
{
	uint32_t level = 0, more, next, seen = 0, left;

	while (gpus_at(p, level, &more), more && gpus_at(p, level + 1, &next) <= want)
		level++;
	left = want - gpus_at(p, level, &more);
	for (uint32_t h = 0; h < p->f->n_hosts; h++) {
		bool has = free_of(p, h) > level;
		bool takes = has && (uint64_t)seen * left % more < left;

		order_host(p, h, level + takes);
		seen += has;
	}
}

/* The NIC of its host that a GPU uses. */
static uint32_t rail_of(const struct placing *p, uint32_t gpu)
{
	uint32_t endpoint = rs_fabric_rank_endpoint(p->f, gpu);

	return endpoint - p->f->hosts[p->f->endpoints[endpoint].host].first_endpoint;
}

/* Those of all hosts' first NIC, then those of the second: a job on few ranks has few rails. */
static void order_rails(struct placing *p)
{
	uint32_t rails = 0;

	for (uint32_t h = 0; h < p->f->n_hosts; h++)
		if (p->f->hosts[h].n_endpoints > rails)
			rails = p->f->hosts[h].n_endpoints;
	for (uint32_t r = 0; r < rails; r++)
		for (uint32_t i = 0; i < p->f->n_gpus; i++)
			if (is_free(p, i) && rail_of(p, i) == r)
				p->order[p->n_order++] = i;
}

static int order_for(struct placing *p, const struct rs_collective_conf *c, uint32_t want,
		     uint64_t seed, uint32_t job)
{
	p->n_order = 0;
	if (c->place == RS_PLACE_RANDOM)
		return order_random(p, seed, job);
	if (c->place == RS_PLACE_SPREAD)
		order_spread(p, want);
	else if (c->place == RS_PLACE_RAILS)
		order_rails(p);
	else
		order_packed(p);
	return 0;
}

static int no_room(const struct placing *p, const struct rs_job *j, uint32_t want)
{
	uint32_t n = 0, down = 0;

	for (uint32_t i = 0; i < p->f->n_gpus; i++) {
		down += !alive(p->f, i);
		n += is_free(p, i);
	}
	rs_error_at(p->e, -EINVAL, j->at, "job '%s' wants %u GPUs, %u of %u are free%s", j->name,
		    want, n, p->f->n_gpus, down ? " and have a link that is up" : "");
	rs_error_hint(
		p->e, "%s",
		rs_job_collective(j)->share == RS_SHARE_NO
			? "share: false gives it GPUs of its own: give the jobs fewer ranks, or "
			  "leave share out"
			: "give it fewer ranks");
	return -EINVAL;
}

static void take_gpus(struct placing *p, const struct rs_collective_conf *c, uint32_t job,
		      const uint32_t *gpu, uint32_t n)
{
	for (uint32_t i = 0; i < n && c->share != RS_SHARE_YES && !p->blind; i++)
		p->job_of[gpu[i]] = job + 1;
}

/* Lists are as they are: two of them may have a GPU in common. */
static int place_listed(struct placing *p, uint32_t job)
{
	struct rs_job *j = &p->f->jobs[job];
	const struct rs_collective_conf *c = rs_job_collective(j);
	int err = 0;

	if (!c || !c->listed)
		return 0;
	for (uint32_t i = 0; i < c->n_ranks && !err; i++)
		err = check_alive(p, j, c->listed[i]);
	take_gpus(p, c, job, c->listed, c->n_ranks);
	return err;
}

/* *gpu: NULL where rank i is GPU i. */
static int place_one(struct placing *p, uint32_t job, uint64_t seed, struct rs_arena *a,
		     const uint32_t **gpu)
{
	struct rs_job *j = &p->f->jobs[job];
	const struct rs_collective_conf *c = rs_job_collective(j);
	uint32_t want = c->n_ranks ? c->n_ranks : p->f->n_gpus, *list;
	bool same = true;
	int err = 0;

	p->blind = c->share == RS_SHARE_YES;
	for (uint32_t i = 0; !c->n_ranks && i < p->f->n_gpus && !err; i++)
		err = check_alive(p, j, i);
	if (!err)
		err = order_for(p, c, want, seed, job);
	if (!err && p->n_order < want && c->share == RS_SHARE_AUTO) {
		p->blind = true; /* the report says who shares */
		err = order_for(p, c, want, seed, job);
	}
	if (!err && p->n_order < want)
		err = no_room(p, j, want);
	if (err)
		return err;
	for (uint32_t i = 0; i < want; i++)
		same = same && p->order[i] == i;
	take_gpus(p, c, job, p->order, want);
	*gpu = NULL;
	if (same)
		return 0;
	list = rs_arena_alloc(a, want, sizeof(*list));
	if (!list)
		return -ENOMEM;
	memcpy(list, p->order, want * sizeof(*list));
	*gpu = list;
	return 0;
}

int rs_fabric_place(const struct rs_fabric *f, uint64_t seed, struct rs_arena *a,
		    const uint32_t **gpu, struct rs_error *e)
{
	struct placing p = {.f = f, .e = e};
	int err = 0;

	p.job_of = calloc(f->n_gpus + 1u, sizeof(*p.job_of));
	p.order = calloc(f->n_gpus + 1u, sizeof(*p.order));
	if (!p.job_of || !p.order)
		err = -ENOMEM;
	for (uint32_t i = 0; i < f->n_jobs && !err; i++)
		err = place_listed(&p, i);
	for (uint32_t i = 0; i < f->n_jobs && !err; i++) {
		const struct rs_collective_conf *c = rs_job_collective(&f->jobs[i]);

		gpu[i] = c && c->listed ? c->listed : NULL;
		if (c && !c->listed)
			err = place_one(&p, i, seed, a, &gpu[i]);
	}
	free(p.job_of);
	free(p.order);
	return err == -ENOMEM ? rs_error_set(e, err, "out of memory") : err;
}
