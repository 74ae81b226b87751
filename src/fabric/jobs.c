/* Jobs: flows that are checked against the routes, collectives and training steps whose ranks are
 * placed when all jobs are known. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include "fabric/build.h"

const char *const rs_job_kinds[RS_JOB_KINDS] = {"flows", "collective", "train", "trace", "serve"};
const char *const rs_flow_ops[] = {"write", "send", "read", "atomic", NULL};
const char *const rs_flow_memories[] = {"host", "gpu", "far", NULL};

const struct rs_collective_conf *rs_job_collective(const struct rs_job *j)
{
	return j->kind == RS_JOB_FLOWS   ? NULL
	       : j->kind == RS_JOB_TRAIN ? &j->train.collective
					 : &j->collective;
}

bool rs_job_is_work(const struct rs_job *j)
{
	return j->kind == RS_JOB_TRACE || j->kind == RS_JOB_SERVE ||
	       (j->kind == RS_JOB_TRAIN && j->train.step.on);
}

static bool is_down(const struct rs_fabric *f, uint32_t endpoint)
{
	return f->links[f->endpoints[endpoint].link].down;
}

bool rs_fabric_reachable(const struct rs_fabric *f, uint32_t src, uint32_t dst)
{
	uint32_t s = f->endpoints[src].node, group = f->routes.group_of[dst];

	return !is_down(f, src) && !is_down(f, dst) &&
	       (f->routes.group_of_switch[s] == group || (f->routes.set_of[s][group] & 0xff));
}

static void check_ends(struct rs_load *l, const struct rs_fabric *f, const struct rs_flow *flow,
		       struct rs_where at)
{
	const uint32_t end[] = {flow->src, flow->dst};

	for (int i = 0; i < 2 && !l->err; i++)
		if (end[i] >= f->n_endpoints)
			rs_load_fail(l, -ERANGE, at,
				     "there is no endpoint %u; there are %u, from 0", end[i],
				     f->n_endpoints);
	if (!l->err && flow->tc >= RS_TCS)
		rs_load_fail(l, -ERANGE, at, "class: expected 0 to %d, found %u", RS_TCS - 1,
			     flow->tc);
	if (!l->err && (flow->start < 0 || flow->start > RS_START_MAX))
		rs_load_fail(l, -ERANGE, at, "start: expected 0 to 4000s");
	if (!l->err && !f->routes.n_groups)
		rs_load_fail(l, -EINVAL, at, "a flow before rs_fabric_route()");
}

/* op, message, depth, inline. */
static void check_verb(struct rs_load *l, const struct rs_flow *flow, struct rs_where at)
{
	bool carries = flow->op == RS_FLOW_WRITE || flow->op == RS_FLOW_SEND;

	if (flow->op > RS_FLOW_ATOMIC)
		rs_load_fail(l, -EINVAL, at, "op: expected write, send, read or atomic");
	else if (flow->op == RS_FLOW_ATOMIC &&
		 (flow->message || flow->bytes % RS_FLOW_ATOMIC_BYTES))
		rs_load_fail(l, -EINVAL, at, "an atomic has 8 bytes: expected %s",
			     flow->message ? "no message beside op: atomic"
					   : "bytes in a multiple of 8 for each queue pair");
	else if (flow->message > RS_FLOW_MESSAGE_MAX || flow->depth > RS_FLOW_DEPTH_MAX)
		rs_load_fail(l, -ERANGE, at, "expected message up to 1GiB and depth up to %d",
			     RS_FLOW_DEPTH_MAX);
	else if (flow->inline_given && !carries)
		rs_load_fail(l, -EINVAL, at,
			     "inline goes with op: write and send: what a %s asks for is not in it",
			     rs_flow_ops[flow->op]);
	else if (flow->message && flow->bytes / flow->message > UINT32_MAX)
		rs_load_fail(l, -ERANGE, at,
			     "a flow of more than 2^32 messages; expected a larger message");
	else if (flow->registration < 0 || flow->registration > RS_S)
		rs_load_fail(l, -ERANGE, at, "registration: expected 0 to 1s");
}

void rs_fabric_check_flow(struct rs_load *l, const struct rs_fabric *f, const struct rs_flow *flow,
			  struct rs_where at)
{
	const char *down;

	check_ends(l, f, flow, at);
	if (l->err)
		return;
	down = is_down(f, flow->src)   ? f->endpoints[flow->src].name
	       : is_down(f, flow->dst) ? f->endpoints[flow->dst].name
				       : NULL;
	if (!flow->bytes)
		rs_load_fail(l, -EINVAL, at, "a flow of zero bytes; expected 1B to 64TiB");
	else if (flow->bytes > RS_FLOW_BYTES_MAX)
		rs_load_fail(l, -ERANGE, at, "a flow of more than 64 TiB; expected 1B to 64TiB");
	else if (flow->src == flow->dst)
		rs_load_fail(l, -EINVAL, at, "a flow from %s to itself",
			     f->endpoints[flow->src].name);
	else if (!rs_fabric_reachable(f, flow->src, flow->dst))
		rs_load_fail(l, -EINVAL, at, "no route from %s to %s%s%s%s",
			     f->endpoints[flow->src].name, f->endpoints[flow->dst].name,
			     down ? ": the link of " : "", down ? down : "",
			     down ? " is down (change)" : "");
	else
		check_verb(l, flow, at);
}

void rs_fabric_set_flows(struct rs_load *l, struct rs_fabric *f, struct rs_job *job,
			 const struct rs_flow *flows, uint32_t n)
{
	struct rs_flow *own = rs_load_take(l, n ? n : 1, sizeof(*own));

	if (!l->err && n > RS_FLOWS_MAX)
		rs_load_fail(l, -E2BIG, job->at, "more than %d flows", RS_FLOWS_MAX);
	for (uint32_t i = 0; i < n && !l->err; i++)
		rs_fabric_check_flow(l, f, &flows[i], job->at);
	if (l->err)
		return;
	memcpy(own, flows, n * sizeof(*own));
	job->flows = own;
	job->n_flows = n;
}

/* ---- Jobs ---- */

/* Of a job without a name: its kind, with a number where an earlier one has that name. */
static const char *own_name(struct rs_load *l, const struct rs_fabric *f, const char *kind)
{
	const char *name = kind;

	for (unsigned n = 2, i = 0; name && i < f->n_jobs; i++)
		if (f->jobs[i].name && !strcmp(f->jobs[i].name, name)) {
			name = rs_arena_printf(l->arena, "%s-%u", kind, n++);
			i = UINT_MAX; /* from the first again */
		}
	if (!name)
		l->err = -ENOMEM;
	return name ? name : kind;
}

struct rs_job *rs_fabric_add_job(struct rs_load *l, struct rs_fabric *f, enum rs_job_kind kind,
				 const char *name, struct rs_where at)
{
	uint32_t n = f->n_jobs;
	struct rs_job *more, *j;

	if (!l->err && n == RS_JOBS_MAX)
		rs_load_fail(l, -E2BIG, at, "more than %d jobs", RS_JOBS_MAX);
	if (!l->err && (n < 4 ? !n : !(n & (n - 1)))) { /* full: 4, 8, 16, ... */
		more = rs_load_take(l, n < 4 ? 4 : 2 * (size_t)n, sizeof(*more));
		if (more && n)
			memcpy(more, f->jobs, n * sizeof(*more));
		if (more)
			f->jobs = more;
	}
	if (l->err)
		return NULL;
	j = &f->jobs[n];
	*j = (struct rs_job){.kind = kind, .at = at};
	j->name = name ? name : own_name(l, f, rs_job_kinds[kind]);
	f->n_jobs++;
	return j;
}

/* What can be refused is refused when the description is read. */
static void place_jobs(struct rs_load *l, struct rs_fabric *f)
{
	const uint32_t **gpu = rs_load_take(l, f->n_jobs + 1u, sizeof(*gpu));

	if (l->err)
		return;
	l->err = rs_fabric_place(f, 1, l->arena, gpu, l->e);
	for (uint32_t i = 0; i < f->n_jobs && !l->err; i++) {
		struct rs_collective_conf *c =
			(struct rs_collective_conf *)rs_job_collective(&f->jobs[i]);

		if (!c)
			continue;
		c->gpu = gpu[i];
		f->places_drawn |= c->place == RS_PLACE_RANDOM;
	}
}

static bool has_gpus(const struct rs_host *h)
{
	for (int i = 0; h && i < h->n_parts; i++)
		if (h->parts[i].kind == RS_PART_GPU)
			return true;
	return false;
}

/* NCCL's plan takes hosts of as many ranks, one host behind the other, with GPUs described. */
static bool nccl_can(const struct rs_fabric *f, const struct rs_collective_conf *c)
{
	uint32_t n = c->n_ranks ? c->n_ranks : f->n_gpus, local = 1, host;

	if (n < 2 || n > f->n_gpus || c->place == RS_PLACE_RANDOM)
		return false;
	host = rs_fabric_rank_host(f, rs_collective_gpu(c, 0));
	while (local < n && rs_fabric_rank_host(f, rs_collective_gpu(c, local)) == host)
		local++;
	for (uint32_t r = 0; r < n; r++) {
		host = rs_fabric_rank_host(f, rs_collective_gpu(c, r));
		if (!has_gpus(f->hosts[host].inside) || n % local ||
		    host != rs_fabric_rank_host(f, rs_collective_gpu(c, r - r % local)))
			return false;
	}
	return true;
}

/* After all jobs are read: what they leave to the fabric. */
static void resolve_channels(const struct rs_fabric *f, struct rs_job *j)
{
	struct rs_collective_conf *c = &j->collective, groups;
	uint64_t model;

	if (j->kind == RS_JOB_COLLECTIVE && c->as_nccl && nccl_can(f, c))
		c->algorithm = RS_ALGO_NCCL;
	if (j->kind == RS_JOB_COLLECTIVE && !c->channels)
		c->channels = rs_fabric_channels(f, c);
	c = &j->train.collective;
	/* each group of a graph of work has its own number of channels */
	if (j->kind != RS_JOB_TRAIN || c->channels || rs_job_is_work(j))
		return;
	groups = *c;
	model = (uint64_t)j->train.tp * j->train.pp;
	groups.stride = j->train.tp;
	groups.group = j->train.dp ? j->train.dp
				   : (uint32_t)((c->n_ranks ? c->n_ranks : f->n_gpus) / model);
	c->channels = rs_fabric_channels(f, &groups);
}

void rs_fabric_close_jobs(struct rs_load *l, struct rs_fabric *f)
{
	place_jobs(l, f);
	for (uint32_t i = 0; i < f->n_jobs && !l->err; i++)
		resolve_channels(f, &f->jobs[i]);
}
