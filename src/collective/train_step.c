/*
 * A training step, node by node: a rank takes its pipeline stage's turns (train_turns.c); a turn is
 * its layers' passes, with the tensor, context and expert groups' traffic between computations, and
 * gradients and parameters of the data groups beside them (docs/workloads.md).
 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "base/random.h"
#include "collective/plan.h"
#include "collective/train.h"

enum { LAYERS_MAX = 4096, MICROBATCHES_MAX = 1 << 16, EXPERTS_MAX = 4096 };
enum { ACTIVATION = 2 }; /* bytes of a number: bf16 */
enum { ENDS = 2 };       /* parts behind the layers: the embedding, the output layer */
enum { LABEL_PIPELINE = 1, LABEL_CONTEXT, LABEL_EXPERT };

/* ---- What follows from the settings ---- */

static uint32_t kv_width(const struct rs_model *m)
{
	return m->kv_heads * m->head_dim;
}

static double attention_parameters(const struct rs_model *m)
{
	double q = (double)m->heads * m->head_dim;

	return m->attention > 0 ? m->attention
				: (double)m->hidden * (2 * q + 2 * (double)kv_width(m));
}

static double matrices(const struct rs_model *m)
{
	return m->gated ? 3 : 2;
}

static bool has_experts(const struct rs_model *m, uint32_t layer)
{
	return m->experts && layer >= m->dense;
}

static double expert_parameters(const struct rs_model *m)
{
	return matrices(m) * m->hidden * m->expert_ffn;
}

/* Of a layer's MLP: what each rank has; what a token meets in it. */
static double mlp_parameters(const struct rs_model *m, uint32_t layer)
{
	return has_experts(m, layer)
		       ? m->shared * expert_parameters(m) + (double)m->hidden * m->experts
		       : matrices(m) * m->hidden * m->ffn;
}

static double mlp_active(const struct rs_model *m, uint32_t layer)
{
	return mlp_parameters(m, layer) +
	       (has_experts(m, layer) ? m->top_k * expert_parameters(m) : 0);
}

/* FLOP of a token's forward pass through the attention itself: scores and values, of which a
 * causal mask leaves half. */
static double core_flops(const struct rs_model *m)
{
	return 2.0 * m->sequence * m->heads * m->head_dim;
}

static double embedding(const struct rs_model *m)
{
	return (double)m->vocab * m->hidden;
}

static void sums(const struct rs_train_conf *t, struct rs_step_plan *p)
{
	const struct rs_model *m = &t->step.model;
	double flops = 2 * embedding(m);

	p->parameters = p->active = 2 * embedding(m);
	for (uint32_t l = 0; l < m->layers; l++) {
		double a = attention_parameters(m), active = a + mlp_active(m, l);

		p->active += active;
		p->parameters += a + mlp_parameters(m, l);
		if (has_experts(m, l))
			p->parameters += m->experts * expert_parameters(m);
		flops += 2 * active + core_flops(m);
	}
	p->tokens = (double)p->dp * p->microbatches * t->step.micro_batch * m->sequence;
	p->flops = 3 * flops * p->tokens;
}

static int say(struct rs_error *e, const char *what, uint32_t a, const char *by, uint32_t b)
{
	return rs_error_set(e, -EINVAL, "train: %s %u does not divide by %s %u", what, a, by, b);
}

static int check_model(const struct rs_model *m, struct rs_error *e)
{
	if (!m->layers || m->layers > LAYERS_MAX || !m->hidden || !m->heads || !m->sequence ||
	    !m->head_dim || !m->kv_heads)
		return rs_error_set(e, -EINVAL,
				    "train: a model needs 1 to %d layers, and hidden, heads and "
				    "sequence above zero",
				    LAYERS_MAX);
	if (m->experts &&
	    (!m->expert_ffn || !m->top_k || m->top_k > m->experts || m->experts > EXPERTS_MAX))
		return rs_error_set(e, -EINVAL,
				    "train: %u experts need expert_ffn and top_k from 1 to %u, "
				    "and may be %d at most",
				    m->experts, m->experts, EXPERTS_MAX);
	if ((!m->experts || m->dense) && !m->ffn)
		return rs_error_set(e, -EINVAL, "train: dense layers need ffn above zero");
	return 0;
}

static int degrees(const struct rs_train_conf *t, uint32_t n, struct rs_step_plan *p,
		   struct rs_error *e)
{
	uint64_t model;

	p->tp = t->tp ? t->tp : 1;
	p->pp = t->pp ? t->pp : 1;
	p->cp = t->step.cp ? t->step.cp : 1;
	p->ep = t->step.ep ? t->step.ep : 1;
	p->expert_tp = t->step.expert_tp ? t->step.expert_tp : p->tp;
	p->chunks = t->step.chunks ? t->step.chunks : 1;
	model = (uint64_t)p->tp * p->pp * p->cp;
	if (model > n || n % model)
		return rs_error_set(
			e, -EINVAL,
			"%u ranks do not divide by tensor %u x context %u x pipeline %u", n, p->tp,
			p->cp, p->pp);
	p->dp = (uint32_t)(n / model);
	if (t->dp && t->dp != p->dp)
		return rs_error_set(e, -EINVAL,
				    "data %u x tensor %u x context %u x pipeline %u is %llu ranks, "
				    "there are %u",
				    t->dp, p->tp, p->cp, p->pp, (unsigned long long)(model * t->dp),
				    n);
	return 0;
}

static int check_degrees(const struct rs_train_conf *t, const struct rs_step_plan *p,
			 struct rs_error *e)
{
	const struct rs_step_conf *s = &t->step;
	const struct rs_model *m = &s->model;

	if (m->heads % p->tp)
		return say(e, "heads", m->heads, "tp", p->tp);
	if (m->sequence % p->cp)
		return say(e, "sequence", m->sequence, "cp", p->cp);
	if (p->ep > 1 && !m->experts)
		return rs_error_set(e, -EINVAL, "train: ep %u, but the model has no experts",
				    p->ep);
	if (m->experts && m->experts % p->ep)
		return say(e, "experts", m->experts, "ep", p->ep);
	if (p->tp % p->expert_tp)
		return say(e, "tp", p->tp, "expert_tp", p->expert_tp);
	if (p->expert_tp != p->tp && (p->ep < 2 || !s->sequence))
		return rs_error_set(e, -EINVAL,
				    "train: expert_tp %u beside tp %u: expected ep above 1 and "
				    "sequence_parallel: yes, so that each rank has tokens of its "
				    "own",
				    p->expert_tp, p->tp);
	if (p->expert_tp == p->tp && p->dp * p->cp % p->ep)
		return say(e, "dp x cp", p->dp * p->cp, "ep", p->ep);
	if (p->tp / p->expert_tp * p->dp * p->cp % p->ep)
		return say(e, "tp x dp x cp / expert_tp", p->tp / p->expert_tp * p->dp * p->cp,
			   "ep", p->ep);
	if (s->ends && !m->vocab)
		return rs_error_set(e, -EINVAL,
				    "train: ends %u without a vocabulary; expected ends: 0",
				    s->ends);
	if ((uint64_t)p->pp * p->chunks > m->layers + 2 * s->ends)
		return rs_error_set(e, -EINVAL, "train: %u layers for %u stages of %u chunks",
				    m->layers + 2 * s->ends, p->pp, p->chunks);
	if (p->chunks > 1 && s->schedule != RS_SCHEDULE_INTERLEAVED)
		return rs_error_set(e, -EINVAL, "train: chunks go with schedule: interleaved");
	if (s->schedule == RS_SCHEDULE_INTERLEAVED && p->microbatches % p->pp)
		return say(e, "microbatches", p->microbatches, "pp", p->pp);
	return 0;
}

int rs_step_plan(const struct rs_train_conf *t, uint32_t n, struct rs_step_plan *p,
		 struct rs_error *e)
{
	const struct rs_step_conf *s = &t->step;
	double replicas, batches;
	int err;

	*p = (struct rs_step_plan){.rate = s->peak > 0 ? s->peak * s->share : t->flops};
	err = check_model(&s->model, e);
	if (!err)
		err = degrees(t, n, p, e);
	if (err)
		return err;
	replicas = (double)p->dp * s->micro_batch * s->model.sequence;
	batches = s->microbatches ? s->microbatches : floor(t->tokens / replicas + 0.5);
	if (!(batches >= 1) || batches > MICROBATCHES_MAX)
		return rs_error_set(e, -EINVAL,
				    "train: %g microbatches of %u sequences a replica; expected 1 "
				    "to %d",
				    batches, s->micro_batch, MICROBATCHES_MAX);
	p->microbatches = (uint32_t)batches;
	if (!(p->rate > 0))
		return rs_error_set(e, -EINVAL, "train: FLOP/s of a GPU must be above zero");
	err = check_degrees(t, p, e);
	if (!err)
		sums(t, p);
	return err;
}

/* ---- The graph ---- */

/* What all ranks share, and where the rank at work stands. */
struct step {
	const struct rs_train_conf *t;
	const struct rs_step_conf *s;
	const struct rs_model *m;
	struct rs_step_plan p;
	struct rs_work *w;
	uint32_t *tensor, *context, *data, *expert, *expert_data; /* [rank]: its group */
	uint32_t *expert_tensor;
	/* the rank */
	uint32_t rank, i, c, d, stage;
	uint32_t last;                     /* node that the next one needs the result of */
	uint32_t *weights;                 /* [layers + ENDS]: a part's parameters are there */
	uint32_t layer_before;             /* computation of the layer before; for prefetch */
	uint32_t first_of_pass;            /* computation two layers ago */
	uint64_t pending, pending_experts; /* gradients not yet sent on */
	uint32_t *tails, n_tails;          /* what the end of the step waits for */
	uint64_t number;                   /* of exchanges: tags */
	double weight[EXPERTS_MAX];        /* of experts, from the fullest: sums to 1 */
};

static uint64_t bytes_of(const struct step *s, double bytes)
{
	double b = ceil(bytes / s->s->scale);

	return b < 1 ? 1 : (uint64_t)b;
}

static rs_time time_of(const struct step *s, double flops)
{
	double t = flops / s->p.rate / s->s->scale;

	return (rs_time)(t * RS_S + 0.5);
}

static uint32_t add(struct step *s, const struct rs_work_node *n)
{
	struct rs_work_node k = *n;

	k.id = s->w->rank[s->rank].n;
	s->last = rs_work_add(s->w, s->rank, &k);
	return s->last;
}

static uint32_t compute(struct step *s, double flops)
{
	const struct rs_work_node n = {
		.kind = RS_WORK_COMPUTE, .why = RS_WHY_COMPUTE, .time = time_of(s, flops)};
	uint32_t before = s->last, k = add(s, &n);

	rs_work_after(s->w, s->rank, before);
	return k;
}

/* Of a group of one it is nothing. */
static uint32_t collective(struct step *s, uint32_t group, enum rs_coll_op op, double bytes,
			   enum rs_work_why why)
{
	const struct rs_work_node n = {.kind = RS_WORK_COLL,
				       .why = (uint8_t)why,
				       .op = (uint8_t)op,
				       .peer = group,
				       .bytes = bytes_of(s, bytes)};
	uint32_t before = s->last;

	if (s->w->group[group].n < 2)
		return s->last;
	add(s, &n);
	rs_work_after(s->w, s->rank, before);
	return s->last;
}

/* A message to or from a rank, beside what is under way: s->last stays. */
static uint32_t message(struct step *s, enum rs_work_kind kind, uint32_t peer, uint32_t label,
			uint64_t tag, uint64_t bytes, enum rs_work_why why)
{
	const struct rs_work_node n = {.kind = (uint8_t)kind,
				       .why = (uint8_t)why,
				       .peer = peer,
				       .label = label,
				       .tag = tag,
				       .bytes = bytes};
	uint32_t before = s->last, k = add(s, &n);

	if (kind == RS_WORK_SEND)
		rs_work_after(s->w, s->rank, before);
	s->last = before;
	return k;
}

static void join(struct step *s, const uint32_t *deps, uint32_t n)
{
	const struct rs_work_node k = {.kind = RS_WORK_JOIN};

	add(s, &k);
	for (uint32_t i = 0; i < n; i++)
		rs_work_after(s->w, s->rank, deps[i]);
}

static void tail(struct step *s, uint32_t node)
{
	s->tails[s->n_tails++] = node;
}

static uint32_t rank_of(const struct step *s, uint32_t c, uint32_t d, uint32_t stage)
{
	return s->i + s->p.tp * (c + s->p.cp * (d + s->p.dp * stage));
}

/* Tokens of a microbatch that a rank's part of the sequence has. */
static double tokens(const struct step *s)
{
	return (double)s->s->micro_batch * s->m->sequence / s->p.cp;
}

static double activations(const struct step *s)
{
	return tokens(s) * s->m->hidden * ACTIVATION;
}

/* ---- Tensor groups ---- */

static void tensor_before(struct step *s)
{
	if (s->s->sequence)
		collective(s, s->tensor[s->rank], RS_COLL_ALL_GATHER, activations(s),
			   RS_WHY_TENSOR);
}

static void tensor_after(struct step *s)
{
	collective(s, s->tensor[s->rank],
		   s->s->sequence ? RS_COLL_REDUCE_SCATTER : RS_COLL_ALL_REDUCE, activations(s),
		   RS_WHY_TENSOR);
}

/* ---- Context groups ---- */

/* Keys and values of a rank's part of the sequence. */
static double kv_bytes(const struct step *s)
{
	uint32_t heads = s->m->kv_heads < s->p.tp ? s->p.tp : s->m->kv_heads;

	return 2 * tokens(s) * heads * s->m->head_dim * ACTIVATION / s->p.tp;
}

/* The parts of other ranks come by a ring while the part that is there is worked on. */
static void context_ring(struct step *s, double flops, double bytes)
{
	uint32_t n = s->p.cp, to = rank_of(s, (s->c + 1) % n, s->d, s->stage);
	uint32_t from = rank_of(s, (s->c + n - 1) % n, s->d, s->stage);
	uint64_t size = bytes_of(s, bytes);
	uint32_t got;

	for (uint32_t k = 1; k < n; k++) {
		uint64_t tag = s->number++;

		message(s, RS_WORK_SEND, to, LABEL_CONTEXT, tag, size, RS_WHY_CONTEXT);
		got = message(s, RS_WORK_RECV, from, LABEL_CONTEXT, tag, size, RS_WHY_CONTEXT);
		compute(s, flops / n);
		s->last = got;
	}
	compute(s, flops / n);
}

static void attention_core(struct step *s, double flops, bool backward)
{
	uint32_t group = s->context[s->rank];

	if (s->p.cp < 2) {
		compute(s, flops);
	} else if (s->s->context == RS_CONTEXT_RING) {
		context_ring(s, flops, kv_bytes(s) * (backward ? 2 : 1));
	} else {
		collective(s, group, RS_COLL_ALL_GATHER, kv_bytes(s) * s->p.cp, RS_WHY_CONTEXT);
		compute(s, flops);
		if (backward)
			collective(s, group, RS_COLL_REDUCE_SCATTER, kv_bytes(s) * s->p.cp,
				   RS_WHY_CONTEXT);
	}
}

/* ---- Expert groups ---- */

/*
 * Loads fall by one factor from expert to expert, so that the fullest has `skew` times the mean.
 * The factor is found by halving: 64 times is exact to a double.
 */
static void weigh_experts(struct step *s)
{
	uint32_t n = s->m->experts;
	double low = 0, high = 1, sum = 0, w;

	for (int i = 0; i < 64; i++) {
		double q = (low + high) / 2;

		sum = 0;
		w = 1;
		for (uint32_t k = 0; k < n; k++, w *= q)
			sum += w;
		if (n / sum > s->s->skew)
			low = q;
		else
			high = q;
	}
	w = 1 / sum;
	for (uint32_t k = 0; k < n; k++, w *= high)
		s->weight[k] = w;
}

/* The share of a layer's tokens that the experts of a group's member get: which expert is the
 * fullest differs by layer and microbatch. */
static double share_of(const struct step *s, uint32_t member, uint32_t layer, uint32_t microbatch)
{
	uint32_t n = s->m->experts, each = n / s->p.ep, first;
	uint64_t draw = rs_mix64((uint64_t)layer << 32 | microbatch);
	double sum = 0;

	if (!(s->s->skew > 1))
		return 1.0 / s->p.ep;
	first = (uint32_t)(draw % n);
	for (uint32_t k = 0; k < each; k++) {
		uint32_t expert = (member * each + k + first) % n;

		/* dealt out, so that neighbours in load are on several ranks */
		sum += s->weight[expert % each * s->p.ep + expert / each];
	}
	return sum;
}

/* One way: each member sends the others their share of its tokens, or what came of it. */
static void exchange(struct step *s, uint32_t layer, uint32_t microbatch, double bytes, bool back)
{
	const struct rs_work_group *g = &s->w->group[s->expert[s->rank]];
	uint32_t deps[2 * EXPERTS_MAX], n = 0, own = 0;
	uint64_t tag = s->number++;

	while (g->rank[own] != s->rank)
		own++;
	for (uint32_t k = 1; k < g->n; k++) {
		uint32_t to = (own + k) % g->n, from = (own + g->n - k) % g->n;
		double out = bytes * share_of(s, back ? own : to, layer, microbatch);
		double in = bytes * share_of(s, back ? from : own, layer, microbatch);

		deps[n++] = message(s, RS_WORK_SEND, g->rank[to], LABEL_EXPERT, tag,
				    bytes_of(s, out), RS_WHY_EXPERT);
		deps[n++] = message(s, RS_WORK_RECV, g->rank[from], LABEL_EXPERT, tag,
				    bytes_of(s, in), RS_WHY_EXPERT);
	}
	join(s, deps, n);
}

/* With a scattered sequence each rank has tokens of its own. They meet in the ranks that share an
 * expert only when they are there (Megatron-LM's alltoall dispatcher). */
static bool scattered(const struct step *s)
{
	return s->s->sequence && s->p.tp > 1 && s->p.ep > 1;
}

/* Copies of tokens that a rank sends to experts. */
static double routed(const struct step *s)
{
	return tokens(s) * s->m->top_k / (scattered(s) ? s->p.tp : 1);
}

/* What came to the ranks that share an expert. */
static void meet(struct step *s, enum rs_coll_op op, double load, uint8_t number)
{
	if (scattered(s))
		collective(s, s->expert_tensor[s->rank], op,
			   routed(s) * s->p.expert_tp * load * s->m->hidden * number,
			   RS_WHY_TENSOR);
}

static void experts_way(struct step *s, uint32_t layer, uint32_t microbatch, uint8_t number,
			bool back)
{
	double bytes = routed(s) * s->m->hidden * number;

	if (s->p.ep < 2)
		return;
	if (s->s->skew > 1)
		exchange(s, layer, microbatch, bytes, back);
	else
		collective(s, s->expert[s->rank], RS_COLL_ALL_TO_ALL, bytes, RS_WHY_EXPERT);
}

/* ---- Layers ---- */

/* Behind the layers: the embedding and the output layer, where they count as layers. */
static bool is_end(const struct step *s, uint32_t part)
{
	return part >= s->m->layers;
}

/* A rank's parameters of a part. The first layer's with the embedding, the last one's with the
 * output layer, where these are no parts of their own. */
static double part_parameters(const struct step *s, uint32_t part)
{
	uint32_t with = s->s->ends ? 0 : !part + (part == s->m->layers - 1);

	if (is_end(s, part))
		return embedding(s->m) / s->p.tp;
	return (with * embedding(s->m) + attention_parameters(s->m) + mlp_parameters(s->m, part)) /
	       s->p.tp;
}

static double own_experts(const struct step *s, uint32_t part)
{
	if (is_end(s, part) || !has_experts(s->m, part))
		return 0;
	return s->m->experts / s->p.ep * expert_parameters(s->m) / s->p.expert_tp;
}

static double gradient_bytes(const struct step *s)
{
	return s->s->gradient_bytes ? s->s->gradient_bytes : s->t->type_bytes;
}

/* A layer's parameters, gathered while the layer before is at work; not before the one before that
 * is done, so that two are in memory at most. */
static void gather(struct step *s, uint32_t part)
{
	uint32_t last = s->last;

	s->last = s->first_of_pass;
	collective(s, s->data[s->rank], RS_COLL_ALL_GATHER,
		   part_parameters(s, part) * s->t->type_bytes, RS_WHY_WEIGHTS);
	if (own_experts(s, part) > 0)
		collective(s, s->expert_data[s->rank], RS_COLL_ALL_GATHER,
			   own_experts(s, part) * s->t->type_bytes, RS_WHY_WEIGHTS);
	s->weights[part] = s->last == s->first_of_pass ? RS_WORK_NONE : s->last;
	s->last = last;
}

static void with_weights(struct step *s, uint32_t layer)
{
	uint32_t deps[] = {s->last, s->weights[layer]};

	if (deps[1] == RS_WORK_NONE || deps[1] == s->last)
		return;
	if (s->last == RS_WORK_NONE)
		s->last = deps[1];
	else
		join(s, deps, 2);
	s->weights[layer] = RS_WORK_NONE; /* from here on they are there */
}

static void attention(struct step *s, double times, bool backward)
{
	double each = times * tokens(s) / s->p.tp;

	tensor_before(s);
	if (s->p.cp < 2) {
		compute(s, each * (2 * attention_parameters(s->m) + core_flops(s->m)));
	} else {
		/* three of four parts of the matrices are before the core */
		compute(s, each * 1.5 * attention_parameters(s->m));
		attention_core(s, each * core_flops(s->m), backward);
		compute(s, each * 0.5 * attention_parameters(s->m));
	}
	tensor_after(s);
}

static void mlp(struct step *s, uint32_t layer, uint32_t microbatch, double times)
{
	const struct rs_work_group *g = &s->w->group[s->expert[s->rank]];
	double each = times * tokens(s) / s->p.tp, load = 1;
	uint32_t own = 0;

	if (!has_experts(s->m, layer)) {
		tensor_before(s);
		compute(s, each * 2 * mlp_parameters(s->m, layer));
		tensor_after(s);
		return;
	}
	while (g->rank[own] != s->rank)
		own++;
	load = share_of(s, own, layer, microbatch) * s->p.ep;
	if (!scattered(s) || s->m->shared)
		tensor_before(s);
	compute(s, each * 2 * mlp_parameters(s->m, layer));
	if (scattered(s) && s->m->shared)
		tensor_after(s);
	/* backward: gradients of what was combined go to the experts, and come back */
	experts_way(s, layer, microbatch, times > 1 ? ACTIVATION : s->s->dispatch, false);
	meet(s, RS_COLL_ALL_GATHER, load, times > 1 ? ACTIVATION : s->s->dispatch);
	compute(s, each * 2 * s->m->top_k * expert_parameters(s->m) * load);
	meet(s, RS_COLL_REDUCE_SCATTER, load, ACTIVATION);
	experts_way(s, layer, microbatch, ACTIVATION, true);
	if (!scattered(s))
		tensor_after(s);
}

static void prefetch(struct step *s, uint32_t layer)
{
	if (s->s->zero == 3)
		gather(s, layer);
}

static void computed(struct step *s)
{
	s->first_of_pass = s->layer_before;
	s->layer_before = s->w->rank[s->rank].n - 1;
}

static void forward_layer(struct step *s, uint32_t layer, uint32_t microbatch)
{
	prefetch(s, layer);
	with_weights(s, layer);
	attention(s, 1, false);
	mlp(s, layer, microbatch, 1);
	computed(s);
}

/* ---- Gradients ---- */

static void reduce(struct step *s, uint32_t group, double bytes)
{
	uint32_t last = s->last;

	if (s->w->group[group].n < 2 || !(bytes > 0))
		return;
	tail(s, collective(s, group, s->s->zero ? RS_COLL_REDUCE_SCATTER : RS_COLL_ALL_REDUCE,
			   bytes, RS_WHY_DATA));
	s->last = last;
}

/* Buckets fill in the order of the backward pass, and go when they are full. */
static void gradients(struct step *s, double dense, double experts, bool flush)
{
	double bucket = s->s->zero == 3 || !s->t->bucket ? 0 : (double)s->t->bucket;

	s->pending += (uint64_t)ceil(dense);
	s->pending_experts += (uint64_t)ceil(experts);
	if (!flush && (!(s->t->overlap > 0) || (double)(s->pending + s->pending_experts) < bucket))
		return;
	reduce(s, s->data[s->rank], (double)s->pending);
	reduce(s, s->expert_data[s->rank], (double)s->pending_experts);
	s->pending = s->pending_experts = 0;
}

static void part_gradients(struct step *s, uint32_t part, bool reduces)
{
	if (reduces || s->s->zero == 3)
		gradients(s, part_parameters(s, part) * gradient_bytes(s),
			  own_experts(s, part) * gradient_bytes(s), s->s->zero == 3);
}

static void backward_layer(struct step *s, uint32_t layer, uint32_t microbatch, bool reduces)
{
	prefetch(s, layer);
	with_weights(s, layer);
	if (s->s->recompute) {
		attention(s, 1, false);
		mlp(s, layer, microbatch, 1);
	}
	mlp(s, layer, microbatch, 2);
	attention(s, 2, true);
	computed(s);
	part_gradients(s, layer, reduces);
}

/* ---- Turns ---- */

struct span {
	uint32_t from, to;
};

/* Which layer the k-th of n pieces begins with. */
static uint32_t layer_at(const struct step *s, uint64_t k, uint64_t n)
{
	uint64_t ends = s->s->ends, at = k * (s->m->layers + 2 * ends) / n;

	at = at < ends ? 0 : at - ends;
	return at < s->m->layers ? (uint32_t)at : s->m->layers;
}

/* Layers of a chunk: all chunks of all stages in a row share them evenly, the ends with them. */
static struct span layers_of(const struct step *s, uint32_t stage, uint32_t chunk)
{
	uint64_t n = (uint64_t)s->p.pp * s->p.chunks, at = (uint64_t)chunk * s->p.pp + stage;

	return (struct span){layer_at(s, at, n), layer_at(s, at + 1, n)};
}

/* What goes from stage to stage: with a scattered sequence each rank sends its part. */
static uint64_t between_stages(const struct step *s)
{
	return bytes_of(s, activations(s) / (s->s->sequence ? s->p.tp : 1));
}

/* at: the chunk's place in the row of all. What it takes from the one before (forward) or behind
 * (backward), and hands on; the ends of the row do neither. */
static void hand(struct step *s, enum rs_work_kind kind, const struct rs_turn *t, bool up)
{
	uint32_t n = s->p.pp, row = n * s->p.chunks, at = t->chunk * n + s->stage;
	uint32_t peer = rank_of(s, s->c, s->d, (s->stage + (up ? 1 : n - 1)) % n), k;
	uint32_t lower = up ? at : at - 1;
	uint64_t tag = (((uint64_t)t->microbatch * row) + lower) * 2 + t->backward;

	if (up ? at + 1 == row : !at)
		return;
	if (n == 1) /* its own next chunk: nothing is sent */
		return;
	k = message(s, kind, peer, LABEL_PIPELINE, tag, between_stages(s), RS_WHY_PIPELINE);
	if (kind == RS_WORK_RECV)
		s->last = k;
}

/* An end that counts as layers is a part of its own. */
static void end_before(struct step *s, uint32_t part)
{
	if (!s->s->ends)
		return;
	prefetch(s, part);
	with_weights(s, part);
}

static void end_after(struct step *s, uint32_t part, const struct rs_turn *t)
{
	if (s->s->ends && t->backward)
		part_gradients(s, part, t->microbatch == s->p.microbatches - 1);
}

/* The vocabulary is split over a tensor group: what each found in its part of the embedding is
 * added up, forward; with a scattered sequence its gradients are gathered, backward. */
static void embedding_layer(struct step *s, const struct rs_turn *t)
{
	if (t->chunk || s->stage || !s->m->vocab)
		return;
	end_before(s, s->m->layers);
	if (t->backward)
		tensor_before(s);
	else
		tensor_after(s);
	end_after(s, s->m->layers, t);
}

/* The same at the other end: gradients of its input are added up, backward. */
static void output_layer(struct step *s, const struct rs_turn *t)
{
	bool last = t->chunk == s->p.chunks - 1 && s->stage == s->p.pp - 1;

	if (!last || !s->m->vocab)
		return;
	end_before(s, s->m->layers + 1);
	if (!t->backward)
		tensor_before(s);
	compute(s, (t->backward ? 4 : 2) * embedding(s->m) * tokens(s) / s->p.tp);
	if (t->backward)
		tensor_after(s);
	end_after(s, s->m->layers + 1, t);
}

static void forward_turn(struct step *s, const struct rs_turn *t)
{
	struct span l = layers_of(s, s->stage, t->chunk);

	s->last = RS_WORK_NONE;
	hand(s, RS_WORK_RECV, t, false);
	embedding_layer(s, t);
	for (uint32_t i = l.from; i < l.to; i++)
		forward_layer(s, i, t->microbatch);
	output_layer(s, t);
	hand(s, RS_WORK_SEND, t, true);
}

static void backward_turn(struct step *s, const struct rs_turn *t)
{
	struct span l = layers_of(s, s->stage, t->chunk);
	bool reduces = t->microbatch == s->p.microbatches - 1;

	s->last = RS_WORK_NONE;
	hand(s, RS_WORK_RECV, t, true);
	output_layer(s, t);
	for (uint32_t i = l.to; i-- > l.from;)
		backward_layer(s, i, t->microbatch, reduces);
	embedding_layer(s, t);
	hand(s, RS_WORK_SEND, t, false);
	if (reduces)
		gradients(s, 0, 0, s->t->overlap > 0 && !t->chunk);
}

/* ZeRO 1 and 2: each layer's parameters are gathered once, under the first forward passes or,
 * without overlap, before them. */
static void gather_once(struct step *s)
{
	uint32_t last = 0;

	s->last = RS_WORK_NONE;
	if (s->s->ends && !s->stage)
		gather(s, last = s->m->layers);
	for (uint32_t c = 0; c < s->p.chunks; c++) {
		struct span l = layers_of(s, s->stage, c);

		for (uint32_t i = l.from; i < l.to; i++)
			gather(s, last = i);
	}
	if (s->s->ends && s->stage == s->p.pp - 1)
		gather(s, last = s->m->layers + 1);
	if (s->t->overlap > 0)
		return;
	for (uint32_t part = 0; part < s->m->layers + ENDS; part++)
		s->weights[part] = s->weights[last];
}

/* The step ends when gradients are reduced: the optimizer's own time is not counted. */
static void end_step(struct step *s)
{
	const struct rs_work_node end = {.kind = RS_WORK_COMPUTE, .why = RS_WHY_COMPUTE};

	gradients(s, 0, 0, true);
	add(s, &end);
	for (uint32_t i = 0; i < s->n_tails; i++)
		rs_work_after(s->w, s->rank, s->tails[i]);
}

static void place(struct step *s, uint32_t rank)
{
	s->rank = rank;
	s->i = rank % s->p.tp;
	s->c = rank / s->p.tp % s->p.cp;
	s->d = rank / s->p.tp / s->p.cp % s->p.dp;
	s->stage = rank / s->p.tp / s->p.cp / s->p.dp;
	s->last = s->layer_before = s->first_of_pass = RS_WORK_NONE;
	s->pending = s->pending_experts = s->number = 0;
	s->n_tails = 0;
	for (uint32_t l = 0; l < s->m->layers + ENDS; l++)
		s->weights[l] = RS_WORK_NONE;
}

static void rank_work(struct step *s, uint32_t rank)
{
	uint32_t n = 2 * s->p.microbatches * s->p.chunks;

	place(s, rank);
	if (s->s->zero == 1 || s->s->zero == 2)
		gather_once(s);
	for (uint32_t i = 0; i < n && !s->w->err; i++) {
		struct rs_turn t = rs_step_turn(s->s->schedule, s->p.pp, s->stage,
						s->p.microbatches, s->p.chunks, i);

		if (t.backward)
			backward_turn(s, &t);
		else
			forward_turn(s, &t);
	}
	end_step(s);
}

/* ---- Groups ---- */

/* Groups of n members with `stride` ranks between them, from each rank that begins one. */
static void groups(struct step *s, uint32_t n, uint32_t stride, uint32_t *of)
{
	uint32_t *member = rs_arena_alloc(s->w->arena, n, sizeof(*member));

	if (!member)
		s->w->err = -ENOMEM;
	for (uint32_t r = 0; r < s->w->n_ranks && !s->w->err; r++) {
		uint32_t g;

		if (r / stride % n)
			continue;
		for (uint32_t k = 0; k < n; k++)
			member[k] = r + k * stride;
		g = rs_work_group(s->w, member, n);
		for (uint32_t k = 0; k < n; k++)
			of[r + k * stride] = g;
	}
}

static int make_groups(struct step *s, struct rs_arena *a)
{
	uint32_t n = s->w->n_ranks, tp = s->p.tp, both = s->p.dp * s->p.cp;
	uint32_t etp = s->p.expert_tp;
	uint32_t *all = rs_arena_alloc(a, 6 * (size_t)n, sizeof(*all));

	if (!all)
		return -ENOMEM;
	s->tensor = all;
	s->context = all + n;
	s->data = all + 2 * (size_t)n;
	s->expert = all + 3 * (size_t)n;
	s->expert_data = all + 4 * (size_t)n;
	s->expert_tensor = all + 5 * (size_t)n;
	groups(s, tp, 1, s->tensor);
	groups(s, s->p.cp, tp, s->context);
	groups(s, both, tp, s->data);
	groups(s, s->p.ep, etp, s->expert);
	groups(s, tp / etp * both / s->p.ep, etp * s->p.ep, s->expert_data);
	if (etp == tp)
		memcpy(s->expert_tensor, s->tensor, n * sizeof(*s->tensor));
	else
		groups(s, etp, 1, s->expert_tensor);
	return s->w->err;
}

int rs_step_work(const struct rs_train_conf *t, uint32_t n, struct rs_arena *a,
		 struct rs_work **out, struct rs_error *e)
{
	struct step *s = rs_arena_alloc(a, 1, sizeof(*s));
	uint64_t most;
	int err;

	*out = NULL;
	if (!s)
		return rs_error_set(e, -ENOMEM, "out of memory for a training step");
	err = rs_step_plan(t, n, &s->p, e);
	if (err)
		return err;
	s->t = t;
	s->s = &t->step;
	s->m = &t->step.model;
	s->w = rs_work_create(a, n, e);
	most = 3 * ((uint64_t)s->m->layers + 6) * (t->step.zero == 3 ? s->p.microbatches : 1);
	s->weights = rs_arena_alloc(a, s->m->layers + ENDS, sizeof(*s->weights));
	s->tails = rs_arena_alloc(a, most, sizeof(*s->tails));
	if (!s->w || !s->weights || !s->tails || make_groups(s, a))
		return rs_error_set(e, -ENOMEM, "out of memory for a training step");
	if (s->s->skew > 1)
		weigh_experts(s);
	for (uint32_t r = 0; r < n && !s->w->err; r++)
		rank_work(s, r);
	*out = s->w->err ? NULL : s->w;
	return s->w->err;
}
