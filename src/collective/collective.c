/*
 * Planning a collective: defaults, checks, connections and the choice of the algorithm's file.
 * Sizes, counts and bus bandwidth follow nccl-tests' definitions (docs/models.md).
 */
#include <errno.h>
#include <string.h>
#include "base/text.h"
#include "collective/plan.h"

static const char *const op_names[] = {
	[RS_COLL_ALL_REDUCE] = "all-reduce", [RS_COLL_REDUCE_SCATTER] = "reduce-scatter",
	[RS_COLL_ALL_GATHER] = "all-gather", [RS_COLL_BROADCAST] = "broadcast",
	[RS_COLL_ALL_TO_ALL] = "all-to-all", [RS_COLL_SEND_RECV] = "send-recv",
};

#define OP(o) (1u << RS_COLL_##o)
static const struct {
	const char *name;
	unsigned ops; /* that it has */
	int (*plan)(struct planner *p);
} algorithms[] = {
	[RS_ALGO_RING] = {"ring",
			  OP(ALL_REDUCE) | OP(REDUCE_SCATTER) | OP(ALL_GATHER) | OP(BROADCAST),
			  plan_ring},
	[RS_ALGO_TREE] = {"tree", OP(ALL_REDUCE) | OP(BROADCAST), plan_tree},
	[RS_ALGO_HIERARCHICAL] = {"hierarchical",
				  OP(ALL_REDUCE) | OP(REDUCE_SCATTER) | OP(ALL_GATHER),
				  plan_hierarchical},
	[RS_ALGO_PAIRWISE] = {"pairwise", OP(ALL_TO_ALL), plan_pairwise},
	[RS_ALGO_NCCL] = {"nccl",
			  OP(ALL_REDUCE) | OP(REDUCE_SCATTER) | OP(ALL_GATHER) | OP(BROADCAST) |
				  OP(ALL_TO_ALL) | OP(SEND_RECV),
			  plan_nccl},
};

const char *rs_coll_op_name(enum rs_coll_op op)
{
	return op_names[op];
}

int rs_coll_op_of(const char *name)
{
	for (int i = 0; i <= RS_COLL_SEND_RECV; i++)
		if (rs_text_same(name, op_names[i]))
			return i;
	return -1;
}

const char *rs_coll_algorithm_name(enum rs_coll_algorithm a)
{
	return algorithms[a].name;
}

/* ---- For the algorithms ---- */

uint32_t plan_host(const struct planner *p, uint32_t rank)
{
	return rs_fabric_rank_host(p->f, rs_collective_gpu(&p->c->conf, rank));
}

uint32_t plan_endpoint(const struct planner *p, uint32_t rank)
{
	return rs_fabric_rank_endpoint(p->f, rs_collective_gpu(&p->c->conf, rank));
}

void *plan_take(struct planner *p, size_t n, size_t size)
{
	void *m = rs_arena_alloc(p->a, n, size);

	if (!m)
		rs_error_set(p->e, -ENOMEM, "out of memory while planning a collective");
	return m;
}

int plan_conns(struct planner *p, uint64_t n)
{
	if (n > COLL_CONNS_MAX) {
		rs_error_set(p->e, -E2BIG, "the collective needs %llu connections; at most %d",
			     (unsigned long long)n, COLL_CONNS_MAX);
		rs_error_hint(p->e, "use fewer ranks or channels");
		return -E2BIG;
	}
	p->c->n_conns = (uint32_t)n;
	p->c->conns = plan_take(p, n, sizeof(*p->c->conns));
	return p->c->conns ? 0 : -ENOMEM;
}

void plan_connect(struct planner *p, uint64_t conn, uint32_t src, uint32_t dst, uint32_t channel)
{
	struct rs_conn *k = &p->c->conns[conn];

	rs_assert(conn < p->c->n_conns && src < p->c->n_ranks && dst < p->c->n_ranks);
	rs_assert(src != dst && !k->channel && !k->src && !k->dst); /* each is made once */
	*k = (struct rs_conn){.src = src, .dst = dst, .channel = channel, .via = src};
	k->nvlink = plan_host(p, src) == plan_host(p, dst);
	if (k->nvlink)
		return;
	k->src_endpoint = plan_endpoint(p, src);
	k->dst_endpoint = plan_endpoint(p, dst);
}

/* nic[i]: the first of the ranks that uses the same NIC as ranks[i]. */
static void name_nics(const struct planner *p, const uint32_t *ranks, uint32_t n, uint32_t *nic)
{
	uint32_t *endpoint = p->scratch + n;

	for (uint32_t i = 0; i < n; i++) {
		endpoint[i] = plan_endpoint(p, ranks[i]);
		for (nic[i] = 0; endpoint[nic[i]] != endpoint[i]; nic[i]++)
			;
	}
}

void plan_entries(const struct planner *p, const uint32_t *ranks, uint32_t n, uint32_t by,
		  uint32_t *at)
{
	uint32_t channels = p->c->conf.channels;
	uint32_t *nic = p->scratch, *in = nic + n, *out = in + n;
	bool one = p->f->hosts[plan_host(p, ranks[0])].n_endpoints < 2;

	rs_assert(n && n <= p->c->n_ranks && by <= n);

	if (!one)
		name_nics(p, ranks, n, nic);
	memset(in, 0, 2 * n * sizeof(*in));
	for (uint32_t c = 0; c < channels; c++) {
		uint32_t want = channels <= n ? (uint32_t)((uint64_t)c * n / channels) : c % n;
		uint32_t least = UINT32_MAX;

		at[c] = want;
		for (uint32_t i = 0; i < n && !one; i++) {
			uint32_t x = (want + i) % n, y = (x + n - by) % n;
			uint32_t a = in[nic[x]], b = out[nic[y]];
			uint32_t load = (a > b ? a : b) << 16 | (a + b);

			if (load < least) {
				least = load;
				at[c] = x;
			}
		}
		if (!one) {
			in[nic[at[c]]]++;
			out[nic[(at[c] + n - by) % n]]++;
		}
	}
}

/* Bytes of a message of so many bytes of data, of one without any a byte; and a step knows its
 * largest. */
static uint64_t step_bytes(const struct rs_coll *c, struct rs_step *s, uint64_t conn, uint64_t data)
{
	uint32_t num = c->conns[conn].nvlink ? c->inside.num : c->net.num;
	uint32_t den = c->conns[conn].nvlink ? c->inside.den : c->net.den;

	s->local = data > s->local ? data : s->local;
	if (!data)
		return 1;
	return den ? ceil_div(data * num, den) : data;
}

static void step_touch(const struct rs_coll *c, struct rs_step *s, uint64_t conn)
{
	if (!c->conns[conn].nvlink)
		s->compute = c->conf.step_latency;
}

void step_recv(const struct rs_coll *c, struct rs_step *s, uint64_t conn, struct piece p,
	       bool reduce)
{
	unsigned i = s->n_recv;

	if (!p.n && !c->empties)
		return;
	rs_assert(i < RS_STEP_FAN && conn < c->n_conns);
	s->recv[i].conn = (uint32_t)conn;
	s->recv[i].bytes = step_bytes(c, s, conn, p.n * c->conf.type_bytes);
	s->recv[i].offset = p.at * c->conf.type_bytes;
	s->recv[i].reduce = reduce;
	s->n_recv++;
	step_touch(c, s, conn);
}

void step_send(const struct rs_coll *c, struct rs_step *s, uint64_t conn, struct piece p)
{
	unsigned i = s->n_send;

	if (!p.n && !c->empties)
		return;
	rs_assert(i < RS_STEP_FAN && conn < c->n_conns);
	s->send[i].conn = (uint32_t)conn;
	s->send[i].bytes = step_bytes(c, s, conn, p.n * c->conf.type_bytes);
	s->send[i].offset = p.at * c->conf.type_bytes;
	s->n_send++;
	step_touch(c, s, conn);
}

void step_wait(struct rs_step *s, uint32_t lane, uint64_t count)
{
	unsigned i = s->n_wait++;

	rs_assert(i < RS_STEP_FAN);
	s->wait[i].lane = lane;
	s->wait[i].count = count;
}

struct cut plan_cut(struct planner *p, uint64_t largest)
{
	const struct rs_transport_conf *t = &p->f->transport;
	struct rs_collective_conf *conf = &p->c->conf;
	uint64_t steps = conf->slots / 2, most = 2 * (uint64_t)COLL_CHUNK_MAX / conf->chunk;
	struct cut cut = {.slices = 1};

	steps = steps > most ? most : steps;
	cut.chunk = p->chunk * (steps ? steps : 1);
	cut.packet = ceil_div(t->payload ? t->payload : t->mtu, conf->type_bytes);
	cut.packet += !cut.packet;
	cut.least = SLICE_PACKETS * cut.packet;
	largest = largest < cut.chunk ? largest : cut.chunk;
	if (largest >= (uint64_t)RING_SLICES * SLICE_PACKETS * cut.packet)
		cut.slices = RING_SLICES;
	if (conf->slots < 2 * cut.slices)
		p->c->window = conf->slots * cut.slices;
	return cut;
}

/* ---- The plan ---- */

static void fill_defaults(const struct rs_fabric *f, struct rs_collective_conf *conf)
{
	if (!conf->n_ranks)
		conf->n_ranks = f->n_gpus;
	if (!conf->channels)
		conf->channels = rs_fabric_channels(f, conf);
	if (!conf->qps)
		conf->qps = 1;
	if (!conf->chunk)
		conf->chunk = 512 << 10;
	if (!conf->slots)
		conf->slots = 8;
	if (!conf->repeat)
		conf->repeat = 1;
	if (!conf->type_bytes)
		conf->type_bytes = 4;
	if (!conf->type)
		conf->type = "float";
}

static int check(const struct rs_fabric *f, const struct rs_collective_conf *conf,
		 struct rs_error *e)
{
	if (conf->op > RS_COLL_SEND_RECV || conf->algorithm > RS_ALGO_NCCL)
		return rs_error_set(e, -EINVAL, "no such collective");
	if (!(algorithms[conf->algorithm].ops & 1u << conf->op)) {
		rs_error_set(e, -EINVAL, "there is no %s by the algorithm '%s'", op_names[conf->op],
			     algorithms[conf->algorithm].name);
		rs_error_hint(e, "all-to-all goes with pairwise; broadcast with ring or tree; "
				 "all-gather and reduce-scatter with ring or hierarchical");
		return -EINVAL;
	}
	if (conf->n_ranks > f->n_gpus || conf->n_ranks > COLL_RANKS_MAX)
		return rs_error_set(e, -EINVAL, "%u ranks asked for, the fabric has %u GPUs",
				    conf->n_ranks, f->n_gpus);
	if (conf->n_ranks < 2)
		return rs_error_set(e, -EINVAL, "a collective needs at least 2 ranks, found %u",
				    conf->n_ranks);
	if (conf->channels > COLL_CHANNELS_MAX)
		return rs_error_set(e, -EINVAL, "expected 1 to %d channels, found %u",
				    COLL_CHANNELS_MAX, conf->channels);
	if (conf->chunk < conf->type_bytes || conf->chunk > COLL_CHUNK_MAX)
		return rs_error_set(e, -EINVAL, "expected a chunk of %u B to 1GiB, found %llu B",
				    conf->type_bytes, (unsigned long long)conf->chunk);
	if (conf->bytes < conf->type_bytes || conf->bytes > UINT64_C(1) << 50)
		return rs_error_set(e, -EINVAL, "expected a buffer of %u B to 1PiB, found %llu B",
				    conf->type_bytes, (unsigned long long)conf->bytes);
	return 0;
}

static int check_groups(struct planner *p)
{
	const struct rs_collective_conf *conf = &p->c->conf;
	uint32_t n = conf->n_ranks;

	p->stride = conf->stride ? conf->stride : 1;
	if (p->stride > n || n % p->stride)
		return rs_error_set(p->e, -EINVAL,
				    "%u ranks do not divide into groups of stride %u", n,
				    p->stride);
	p->group = conf->group ? conf->group : n / p->stride;
	if (p->group > n / p->stride || n % (p->stride * p->group))
		return rs_error_set(p->e, -EINVAL,
				    "%u ranks do not divide into groups of %u with stride %u", n,
				    p->group, p->stride);
	if (p->group < 2)
		return rs_error_set(p->e, -EINVAL,
				    "a group of a collective needs at least 2 ranks");
	if (p->group < n && conf->algorithm != RS_ALGO_RING)
		return rs_error_set(p->e, -EINVAL,
				    "groups of ranks go with the ring only, not '%s'",
				    algorithms[conf->algorithm].name);
	return 0;
}

/* nccl-tests: busbw = algbw * 2(n-1)/n, (n-1)/n or 1; its count is a share where shares are dealt.
 */
static void set_figures(struct rs_coll *c, uint32_t n, uint64_t elements)
{
	bool whole = c->conf.op == RS_COLL_BROADCAST || c->conf.op == RS_COLL_SEND_RECV;
	bool shares = c->conf.op != RS_COLL_ALL_REDUCE && !whole;

	c->count = shares ? elements / n : elements;
	c->bus_numerator = c->bus_denominator = 1;
	if (whole)
		return;
	c->bus_numerator = (uint64_t)(n - 1) * (shares ? 1 : 2);
	c->bus_denominator = n;
}

int rs_coll_plan(const struct rs_fabric *f, const struct rs_collective_conf *conf,
		 struct rs_arena *a, struct rs_coll **out, struct rs_error *e)
{
	struct planner p = {.f = f, .a = a, .e = e};
	struct rs_coll *c = plan_take(&p, 1, sizeof(*c));
	int err;

	*out = NULL;
	if (!c)
		return -ENOMEM;
	p.c = c;
	c->conf = *conf;
	fill_defaults(f, &c->conf);
	err = check(f, &c->conf, e);
	if (!err)
		err = check_groups(&p);
	if (err)
		return err;
	c->n_ranks = c->conf.n_ranks;
	c->window = c->conf.slots;
	p.all.n = c->conf.bytes / c->conf.type_bytes;
	p.chunk = c->conf.chunk / c->conf.type_bytes;
	c->conf.bytes = p.all.n * c->conf.type_bytes;
	set_figures(c, p.group, p.all.n);
	p.scratch = plan_take(&p, 3 * (size_t)c->n_ranks, sizeof(*p.scratch));
	if (!p.scratch)
		return -ENOMEM;
	err = algorithms[c->conf.algorithm].plan(&p);
	if (err)
		return err;
	*out = c;
	return 0;
}

uint64_t rs_coll_bytes_sent(const struct rs_coll *c, uint32_t rank)
{
	uint64_t sum = 0;
	struct rs_step s;

	for (uint32_t l = 0; l < c->n_lanes; l++)
		for (uint64_t i = 0, n = c->n_steps(c, rank, l); i < n; i++) {
			c->step(c, rank, l, i, &s);
			for (unsigned k = 0; k < s.n_send; k++)
				sum += s.send[k].bytes;
		}
	return sum;
}
