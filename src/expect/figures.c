/* The figures: which sizes, their range over what is unknown, what each unknown moves. */
#include "expect/expect.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "expect/state.h"

enum { MIB = 1 << 20, PACKET = 4096, PACKETS_MAX = 32768, MANY_RANKS = 16 };

/* The model's own error: the 90th percentile of docs/scoreboard.md for collectives over a transport
 * that is simulated, and for perftest the bounds of docs/host.md's rows. */
static const double LARGE = 0.15, MIDDLE = 0.39, SMALL = 0.39, PAIRS = 0.46;
static const double STREAM = 0.05, SHORT_STREAM = 0.25, MESSAGE = 0.2;

double expect_error(enum rs_expect_test test, enum rs_coll_op op, uint64_t bytes)
{
	if (test == RS_EXPECT_MESSAGE)
		return MESSAGE;
	if (test != RS_EXPECT_COLLECTIVE)
		return bytes < 8192 ? SHORT_STREAM : STREAM;
	if (op == RS_COLL_ALL_TO_ALL || op == RS_COLL_SEND_RECV)
		return PAIRS;
	return bytes >= 64 * (uint64_t)MIB ? LARGE : bytes >= MIB ? MIDDLE : SMALL;
}

double expect_value(enum rs_expect_test test, uint64_t bytes, double us, double factor)
{
	if (!(us > 0))
		return 0;
	if (test == RS_EXPECT_MESSAGE)
		return us;
	if (test == RS_EXPECT_COLLECTIVE)
		return (double)bytes / us / 1000 * factor;
	return (double)bytes * 8 / us / 1000;
}

const char *rs_expect_unit(const struct rs_expect_figure *f)
{
	return f->test == RS_EXPECT_COLLECTIVE ? "GB/s"
	       : f->test == RS_EXPECT_MESSAGE  ? "us"
					       : "Gb/s";
}

const char *rs_expect_test_name(const struct rs_expect_figure *f)
{
	static const char *const pairs[] = {"ib_write_bw", "ib_write_bw -b", "ib_read_bw",
					    "ib_write_lat"};
	static const struct {
		enum rs_coll_op op;
		const char *name;
	} ops[] = {{RS_COLL_ALL_REDUCE, "all_reduce"},         {RS_COLL_ALL_GATHER, "all_gather"},
		   {RS_COLL_REDUCE_SCATTER, "reduce_scatter"}, {RS_COLL_BROADCAST, "broadcast"},
		   {RS_COLL_ALL_TO_ALL, "alltoall"},           {RS_COLL_SEND_RECV, "sendrecv"}};

	for (size_t i = 0; f->test == RS_EXPECT_COLLECTIVE && i < sizeof(ops) / sizeof(*ops); i++)
		if (ops[i].op == f->op)
			return ops[i].name;
	return f->test == RS_EXPECT_COLLECTIVE ? "?" : pairs[f->test];
}

/* ---- Which figures ---- */

static void add(struct rs_expect *x, enum rs_expect_test test, enum rs_coll_op op, uint32_t hosts,
		uint64_t bytes)
{
	struct rs_expect_figure *f = &x->figure[x->n_figures];

	if (x->n_figures == RS_EXPECT_FIGURES)
		return;
	*f = (struct rs_expect_figure){
		.test = test, .op = op, .hosts = hosts, .bytes = bytes, .limit = ""};
	x->n_figures++;
}

static void pairs(struct rs_expect *x, const struct rs_expect_options *o)
{
	static const uint64_t streams[] = {64, 1024, 4096, 8192, 65536, MIB, 8 * MIB},
			      messages[] = {2, 256, 1024, 4096, 65536};
	static const enum rs_expect_test tests[] = {RS_EXPECT_STREAM, RS_EXPECT_BOTH,
						    RS_EXPECT_READ, RS_EXPECT_MESSAGE};

	for (size_t t = 0; t < sizeof(tests) / sizeof(*tests); t++) {
		bool message = tests[t] == RS_EXPECT_MESSAGE;
		uint32_t n = message ? 5 : 7;

		for (uint32_t i = 0; i < (o->n_sizes ? o->n_sizes : n); i++) {
			uint64_t bytes = o->n_sizes ? o->size[i]
					 : message  ? messages[i]
						    : streams[i];

			if ((message && bytes <= 8 * MIB) || (!message && bytes <= 256 * MIB))
				add(x, tests[t], 0, 2, bytes);
		}
	}
}

static uint32_t gpus_of(const struct expect_model *m, uint32_t hosts)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < hosts && i < m->n; i++) {
		uint32_t own = 0;

		for (int k = 0; k < m->host[i].inside->n_parts; k++)
			own += m->host[i].inside->parts[k].kind == RS_PART_GPU;
		n += m->gpus && m->gpus < own ? m->gpus : own;
	}
	return n;
}

static void collectives(struct rs_expect *x, const struct rs_expect_options *o)
{
	static const uint64_t sizes[] = {1024,      65536,         MIB,          16 * MIB,
					 128 * MIB, 1024ull * MIB, 8192ull * MIB};
	static const enum rs_coll_op all_reduce[] = {RS_COLL_ALL_REDUCE};
	const enum rs_coll_op *op = o->n_ops ? o->op : all_reduce;
	const struct expect_model *m = &x->world->model;
	uint32_t n = o->n_sizes ? o->n_sizes : sizeof(sizes) / sizeof(*sizes);
	uint32_t counts[2] = {1, o->hosts ? o->hosts : m->n};

	for (uint32_t k = 0; k < (o->n_ops ? o->n_ops : 1); k++)
		for (int h = 0; h < 2; h++) {
			if (gpus_of(m, counts[h]) < 2 || (h && counts[1] == 1) ||
			    (counts[h] > 1 && m->host[0].nic < 0))
				continue;
			for (uint32_t i = 0; i < n; i++)
				add(x, RS_EXPECT_COLLECTIVE, op[k], counts[h],
				    o->n_sizes ? o->size[i] : sizes[i]);
		}
}

/* ---- Runs of a figure: itself, or two smaller sizes and a line through them ---- */

static double packets(const struct rs_expect_figure *f, uint32_t gpus, double bytes)
{
	if (f->hosts == 1)
		return bytes * gpus / 65536;
	if (f->op == RS_COLL_ALL_TO_ALL)
		return gpus * bytes * (1 - 1.0 / f->hosts) / PACKET;
	return f->hosts * bytes * (f->op == RS_COLL_ALL_REDUCE ? 2 : 1) / PACKET;
}

/* Before 2.21 an all-reduce over NVSwitches and hosts (NVLSTree) sends chunks of a step of its
 * buffer, 512 KiB on 16 channels and 8 heads: 64 MiB a round. Within the first round time does not
 * rise evenly, so a line needs a size of one round at least. */
static bool long_rounds(const struct expect_model *m, const struct rs_expect_figure *f)
{
	unsigned major = 0, minor = 0;
	bool nvswitch = false;

	for (int i = 0; i < m->host[0].inside->n_parts; i++)
		nvswitch |= m->host[0].inside->parts[i].kind == RS_PART_NVSWITCH;
	return f->op == RS_COLL_ALL_REDUCE && f->hosts > 1 && nvswitch && m->version &&
	       sscanf(m->version, "%u.%u", &major, &minor) == 2 && major == 2 && minor < 21;
}

uint32_t expect_runs_of(const struct expect_model *m, const struct rs_expect_figure *f,
			struct expect_run r[2])
{
	uint32_t gpus = gpus_of(m, f->hosts);
	double most = PACKETS_MAX * (double)(gpus > MANY_RANKS ? 4 : 1);
	uint64_t bytes = f->bytes;

	r[0] = (struct expect_run){
		.model = m, .test = f->test, .op = f->op, .hosts = f->hosts, .bytes = bytes};
	if (f->test != RS_EXPECT_COLLECTIVE || packets(f, gpus, (double)bytes) <= most)
		return 1;
	while (packets(f, gpus, (double)bytes) > most && bytes > 1024)
		bytes /= 2;
	while (long_rounds(m, f) && bytes < f->bytes && bytes < 128 * (uint64_t)MIB)
		bytes *= 2;
	if (bytes >= f->bytes)
		return 1;
	r[1] = r[0];
	r[0].bytes = bytes / 2;
	r[1].bytes = bytes;
	r[0].as_bytes = r[1].as_bytes = f->bytes;
	return 2;
}

/* us that the NICs of a host take at least: a line through sizes whose steps wait for software
 * rises too slowly (docs/scoreboard.md). */
static double wire(const struct rs_expect_figure *f, const struct expect_run *r)
{
	const struct expect_host *h = &r->model->host[0];
	uint32_t ranks = gpus_of(r->model, f->hosts);
	bool reduce = f->op == RS_COLL_ALL_REDUCE;
	double share = 1, rate = 0;

	if (f->hosts < 2 ||
	    (!reduce && f->op != RS_COLL_ALL_GATHER && f->op != RS_COLL_REDUCE_SCATTER))
		return 0;
	for (int i = 0; i < h->inside->n_parts; i++)
		if (h->inside->parts[i].kind == RS_PART_NIC)
			rate += (double)h->inside->parts[i].port_rate / 8e6; /* bytes a us */
	if (!reduce || !strcmp(r->chosen, "Ring"))
		share = (ranks - 1.0) / ranks * (reduce ? 2 : 1);
	return rate > 0 ? (double)f->bytes * share / rate : 0;
}

/* us of the figure from its runs. Two that NCCL runs in other ways have no line through them. */
double expect_us(const struct rs_expect_figure *f, const struct expect_run *r, uint32_t n)
{
	double slope;

	if (n == 1)
		return r[0].us;
	if (!(r[0].us > 0) || !(r[1].us > 0))
		return 0;
	slope = (r[1].us - r[0].us) / (double)(r[1].bytes - r[0].bytes);
	if (!(slope > 0) || strcmp(r[0].chosen, r[1].chosen))
		return r[1].us * (double)f->bytes / (double)r[1].bytes;
	return fmax(r[1].us + slope * (double)(f->bytes - r[1].bytes), wire(f, &r[1]));
}

/* ---- The range ---- */

static struct expect_model *extreme(struct rs_expect *x, const struct expect_model *of, bool high,
				    bool nccl)
{
	struct expect_model *m = expect_copy(x, of);

	for (uint32_t u = 0; m && u < x->n_unknowns; u++) {
		const struct expect_sweep *s = &x->world->sweep[u];

		if (!(nccl ? s->nccl : s->perftest))
			continue;
		for (uint32_t i = 0; i < (high ? s->n_high : s->n_low); i++) {
			const struct expect_change *c = high ? &s->high[i] : &s->low[i];

			if (!(of->told >> c->knob & 1))
				expect_apply(x, m, c);
		}
	}
	return m;
}

/* us of n figures, of collectives on the second model; first: what else a run tells is kept. */
static int on_model(struct rs_expect *x, const struct rs_expect_options *o,
		    struct rs_expect_figure *figure, uint32_t n_figures,
		    const struct expect_model *of[2], double *us, double from, double to,
		    bool first, struct rs_error *e)
{
	struct expect_run *r = calloc(2 * (size_t)n_figures + 1, sizeof(*r));
	uint32_t n = 0, at = 0;
	int err;

	if (!r)
		return rs_error_set(e, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < n_figures; i++)
		n += expect_runs_of(of[figure[i].test == RS_EXPECT_COLLECTIVE], &figure[i], &r[n]);
	err = expect_run_all(x, o, r, n, from, to, e);
	for (uint32_t i = 0; i < n_figures && !err; i++) {
		struct rs_expect_figure *f = &figure[i];
		uint32_t k = at + 1 < n && r[at].as_bytes ? 2 : 1;

		us[i] = expect_us(f, &r[at], k);
		if (first) {
			f->line = k == 2;
			f->ranks = gpus_of(of[1], f->hosts);
			/* of a line, both have it */
			f->value = r[at].factor;
			if (!(us[i] > 0) && r[at].e.code)
				*e = r[at].e;
		}
		at += k;
	}
	free(r);
	return err;
}

/* Where the model errs by so much, too; a stream cannot be faster than its port. */
static void range(const struct expect_model *m, struct rs_expect_figure *f, double factor)
{
	double wrong = 1 + expect_error(f->test, f->op, f->bytes);
	const struct expect_host *h = m->host;

	f->value = expect_value(f->test, f->bytes, f->us, factor);
	f->low = expect_value(f->test, f->bytes, f->slow, factor);
	f->high = expect_value(f->test, f->bytes, f->fast, factor);
	if (f->test == RS_EXPECT_MESSAGE) {
		double swap = f->low;

		f->low = f->high / wrong;
		f->high = swap * wrong;
		return;
	}
	f->low /= wrong;
	f->high *= wrong;
	if (f->test != RS_EXPECT_COLLECTIVE && h->nic >= 0) {
		double port = (double)h->inside->parts[h->nic].port_rate / 1e9 *
			      (f->test == RS_EXPECT_BOTH ? 2 : 1);

		f->high = fmax(f->value, fmin(f->high, port));
	}
}

int expect_ranges(struct rs_expect *x, const struct rs_expect_options *o,
		  const struct expect_model *m, struct rs_expect_figure *figure, uint32_t n,
		  double from, double to, struct rs_error *e)
{
	const struct expect_model *low[2] = {extreme(x, m, false, false),
					     extreme(x, m, false, true)},
				  *high[2] = {extreme(x, m, true, false),
					      extreme(x, m, true, true)},
				  *as_read[2] = {m, m};
	double *us = calloc(3 * (size_t)n + 1, sizeof(*us)), third = (to - from) / 3;
	double *slow = us ? us + n : NULL, *fast = us ? slow + n : NULL;
	struct rs_error first = {0};
	int err = 0;

	if (!us || !low[0] || !low[1] || !high[0] || !high[1])
		err = rs_error_set(e, -ENOMEM, "out of memory");
	if (!err)
		err = on_model(x, o, figure, n, as_read, us, from, from + third, true, &first);
	if (!err)
		err = on_model(x, o, figure, n, low, slow, from + third, to - third, false, e);
	if (!err)
		err = on_model(x, o, figure, n, high, fast, to - third, to, false, e);
	if (!err && first.code) {
		*e = first;
		err = first.code;
	}
	for (uint32_t i = 0; i < n && !err; i++) {
		struct rs_expect_figure *f = &figure[i];
		double factor = f->value;

		f->us = us[i];
		f->slow = fmax(f->us, slow[i]);
		f->fast = fast[i] > 0 ? fmin(f->us, fast[i]) : f->us;
		range(m, f, factor);
	}
	free(us);
	return err;
}

/* ---- What an unknown moves: at the smallest and the largest figure of a kind ---- */

static void probes(const struct rs_expect *x, bool nccl, uint32_t probe[2])
{
	probe[0] = probe[1] = UINT32_MAX;
	for (uint32_t i = 0; i < x->n_figures; i++) {
		const struct rs_expect_figure *f = &x->figure[i];

		if ((f->test == RS_EXPECT_COLLECTIVE) != nccl || (nccl && f->line))
			continue;
		if (probe[0] == UINT32_MAX)
			probe[0] = i;
		if (!nccl && f->test != RS_EXPECT_STREAM)
			probe[0] = i; /* the last message, beside the longest stream */
		else
			probe[1] = i;
	}
}

static int effects(struct rs_expect *x, const struct rs_expect_options *o, struct rs_error *e)
{
	struct expect_run r[RS_EXPECT_UNKNOWNS * 8];
	uint32_t of[RS_EXPECT_UNKNOWNS * 8], fig[RS_EXPECT_UNKNOWNS * 8], n = 0, probe[2];
	int err;

	for (uint32_t u = 0; u < x->n_unknowns; u++)
		for (int nccl = 0; nccl < 2; nccl++) {
			const struct expect_sweep *s = &x->world->sweep[u];

			if (!(nccl ? s->nccl : s->perftest))
				continue;
			probes(x, nccl, probe);
			for (int high = 0; high < 2; high++) {
				const struct expect_model *m =
					expect_changed(x, &x->world->model, high ? s->high : s->low,
						       high ? s->n_high : s->n_low);

				if (!m)
					return rs_error_set(e, -ENOMEM, "out of memory");
				for (int k = 0; k < 2; k++) {
					const struct rs_expect_figure *f;

					if (probe[k] == UINT32_MAX)
						continue;
					f = &x->figure[probe[k]];
					r[n] = (struct expect_run){.model = m,
								   .test = f->test,
								   .op = f->op,
								   .hosts = f->hosts,
								   .bytes = f->bytes};
					of[n] = u;
					fig[n++] = probe[k];
				}
			}
		}
	err = expect_run_all(x, o, r, n, 0.75, 0.9, e);
	for (uint32_t i = 0; i < n && !err; i++) {
		struct rs_expect_unknown *k = &x->unknown[of[i]];
		double by = fabs(r[i].us / x->figure[fig[i]].us - 1);
		double *most =
			x->figure[fig[i]].test == RS_EXPECT_COLLECTIVE ? &k->nccl : &k->perftest;

		if (r[i].us > 0 && by > *most)
			*most = by;
	}
	return err;
}

/* ---- All of it ---- */

static int figure_out(struct rs_expect *x, const struct rs_expect_options *o, struct rs_error *e)
{
	int err = expect_given(x, o, e);

	err = err ? err : expect_hosts(x, o, e);
	err = err ? err : expect_unknowns(x, o, e);
	if (err)
		return err;
	if (o->no_figures)
		return 0;
	if (o->perftest && !x->no_perftest)
		pairs(x, o);
	if (o->nccl && !x->no_nccl)
		collectives(x, o);
	if (!x->n_figures)
		return 0;
	err = expect_ranges(x, o, &x->world->model, x->figure, x->n_figures, 0, 0.75, e);
	err = err ? err : effects(x, o, e);
	return err ? err : expect_limits(x, o, e);
}

int rs_expect(struct rs_audit *a, const struct rs_expect_options *o, struct rs_expect **out,
	      struct rs_error *e)
{
	struct rs_expect *x = calloc(1, sizeof(*x));
	int err;

	*out = NULL;
	if (x)
		x->arena = rs_arena_create(0);
	if (x && x->arena)
		x->world = rs_arena_alloc(x->arena, 1, sizeof(*x->world));
	if (!x || !x->arena || !x->world) {
		rs_expect_destroy(x);
		return rs_error_set(e, -ENOMEM, "out of memory");
	}
	x->audit = a;
	rs_facts_seal(a->facts);
	err = figure_out(x, o, e);
	if (err) {
		rs_expect_destroy(x);
		return err;
	}
	*out = x;
	return 0;
}

void rs_expect_destroy(struct rs_expect *x)
{
	if (x && x->arena)
		rs_arena_destroy(x->arena);
	free(x);
}
