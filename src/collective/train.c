/*
 * A training step in closed form (docs/models.md): 6 FLOP a parameter and token, gradients of a
 * GPU's share of the parameters all-reduced over the data-parallel group, in buckets under the
 * backward pass. Ranks are laid out as Megatron does: tensor, then data, then pipeline.
 */
#include <errno.h>
#include <math.h>
#include "collective/plan.h"

enum { BUCKETS_MAX = 1000000, REPEATS_MAX = 4096 };

static int set_degrees(uint32_t n, const struct rs_train_conf *t, struct rs_train_plan *out,
		       struct rs_error *e)
{
	uint64_t model;

	out->tp = t->tp ? t->tp : 1;
	out->pp = t->pp ? t->pp : 1;
	model = (uint64_t)out->tp * out->pp;
	if (!n || model > n || n % model)
		return rs_error_set(e, -EINVAL, "%u ranks do not divide by tensor %u x pipeline %u",
				    n, out->tp, out->pp);
	out->dp = t->dp ? t->dp : (uint32_t)(n / model);
	if (model * out->dp != n)
		return rs_error_set(
			e, -EINVAL, "data %u x tensor %u x pipeline %u is %llu ranks, there are %u",
			out->dp, out->tp, out->pp, (unsigned long long)(model * out->dp), n);
	if (out->dp < 2) {
		rs_error_set(e, -EINVAL, "data degree 1: there are no gradients to all-reduce");
		rs_error_hint(e, "lower the tensor or pipeline degree, or add hosts");
		return -EINVAL;
	}
	return 0;
}

/* All wait for the slowest GPU. */
static double slowest_gpu(const struct rs_fabric *f, const struct rs_collective_conf *c, uint32_t n)
{
	double least = 1;

	for (uint32_t r = 0; f->gpu_speed && r < n; r++)
		least = fmin(least, rs_fabric_gpu_speed(f, rs_collective_gpu(c, r)));
	return least;
}

static int set_compute(uint32_t n, const struct rs_train_conf *t, double slowest,
		       struct rs_train_plan *out, struct rs_error *e)
{
	double seconds;

	if (!(t->parameters >= 1) || !(t->tokens > 0) || !(t->flops > 0))
		return rs_error_set(e, -EINVAL,
				    "parameters, tokens and flops of a step must be above zero");
	out->parameters_per_gpu = t->parameters / ((double)out->tp * out->pp);
	out->flops_per_gpu = 6 * t->parameters * t->tokens / n;
	seconds = out->flops_per_gpu / t->flops / slowest;
	if (!(seconds < 1e6))
		return rs_error_set(e, -ERANGE, "a step would compute for %g s; at most 1e6",
				    seconds);
	out->forward = (rs_time)(seconds / 3 * RS_S + 0.5);
	out->backward = (rs_time)(seconds * RS_S + 0.5) - out->forward;
	return 0;
}

static int set_buckets(const struct rs_train_conf *t, struct rs_train_plan *out, struct rs_error *e)
{
	double bytes = ceil(out->parameters_per_gpu * (t->type_bytes ? t->type_bytes : 2));
	uint64_t n, run;

	if (bytes > 0x1p50)
		return rs_error_set(e, -ERANGE, "gradients of %g B a GPU; at most 1PiB", bytes);
	out->gradient_bytes = (uint64_t)bytes;
	n = t->bucket ? ceil_div(out->gradient_bytes, t->bucket) : 1;
	if (n > BUCKETS_MAX)
		return rs_error_set(e, -EINVAL, "%llu gradient buckets; at most %d",
				    (unsigned long long)n, BUCKETS_MAX);
	out->n_buckets = (uint32_t)n;
	out->bucket_bytes = ceil_div(out->gradient_bytes, n);
	run = ceil_div(t->simulate, out->bucket_bytes);
	run = run < 2 ? 2 : run > REPEATS_MAX ? REPEATS_MAX : run;
	out->simulated_buckets = (uint32_t)(run < n ? run : n);
	return 0;
}

/* In a group of one GPU a host the hierarchy is the ring per rail that the groups make. */
static bool one_gpu_a_host(const struct rs_fabric *f, const struct rs_collective_conf *c,
			   uint32_t n, uint32_t stride)
{
	for (uint32_t r = 0; r + stride < n; r++)
		if (rs_fabric_rank_host(f, rs_collective_gpu(c, r)) ==
		    rs_fabric_rank_host(f, rs_collective_gpu(c, r + stride)))
			return false;
	return true;
}

static void set_collective(const struct rs_fabric *f, uint32_t n, const struct rs_train_conf *t,
			   struct rs_train_plan *out)
{
	struct rs_collective_conf *c = &out->bucket;

	*c = t->collective;
	c->op = RS_COLL_ALL_REDUCE;
	c->n_ranks = n;
	c->type_bytes = t->type_bytes ? t->type_bytes : 2;
	c->bytes = ceil_div(out->bucket_bytes, c->type_bytes) * c->type_bytes;
	c->repeat = out->simulated_buckets;
	if (out->dp == n)
		return;
	c->stride = out->tp;
	c->group = out->dp;
	if (c->algorithm == RS_ALGO_HIERARCHICAL && one_gpu_a_host(f, c, n, out->tp))
		c->algorithm = RS_ALGO_RING;
}

int rs_train_plan(const struct rs_fabric *f, const struct rs_train_conf *t,
		  struct rs_train_plan *out, struct rs_error *e)
{
	uint32_t n = t->collective.n_ranks ? t->collective.n_ranks : f->n_gpus;
	int err;

	*out = (struct rs_train_plan){0};
	if (n > f->n_gpus)
		return rs_error_set(e, -EINVAL, "%u ranks asked for, the fabric has %u GPUs", n,
				    f->n_gpus);
	err = set_degrees(n, t, out, e);
	if (!err)
		err = set_compute(n, t, slowest_gpu(f, &t->collective, n), out, e);
	if (!err)
		err = set_buckets(t, out, e);
	if (!err)
		set_collective(f, n, t, out);
	return err;
}

void rs_train_bucket(const struct rs_train_plan *p, const struct rs_train_conf *t, rs_time first,
		     rs_time further, uint32_t i, struct rs_train_bucket *b)
{
	double overlap = fmin(fmax(t->overlap, 0), 1), share = (double)(i + 1) / p->n_buckets;
	rs_time compute = p->forward + p->backward;
	/* what communication may hide under is the end of the backward pass */
	rs_time open = compute - (rs_time)((double)p->backward * overlap);
	rs_time ready = open + (rs_time)((double)(compute - open) * share);
	rs_time before = i ? b->to : 0;

	b->from = rs_time_max(before, ready);
	b->to = b->from + (i && ready <= before ? further : first);
}

void rs_train_evaluate(const struct rs_train_plan *p, const struct rs_train_conf *t, rs_time first,
		       rs_time further, struct rs_train_result *out)
{
	rs_time compute = p->forward + p->backward, busy = 0;
	struct rs_train_bucket b = {0};

	for (uint32_t i = 0; i < p->n_buckets; i++) {
		rs_train_bucket(p, t, first, further, i, &b);
		busy += b.to - b.from;
	}
	*out = (struct rs_train_result){.step = rs_time_max(compute, b.to), .compute = compute};
	out->communication = busy;
	out->exposed = out->step - compute;
	out->efficiency = out->step > 0 ? (double)compute / (double)out->step : 1;
}
