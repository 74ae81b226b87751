/* Jobs that are graphs: traces of other programs, and requests to be served. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/units.h"
#include "describe/load.h"
#include "fabric/work.h"
#include "import/trace.h"

enum { REQUESTS_MAX = 1 << 20, ARRIVALS_BYTES = 64 << 20 };

/* ---- Traces ---- */

static void add_file(struct rs_load *l, struct rs_trace_job *t, const struct rs_node *n)
{
	const char *name = rs_node_scalar(l, n, "a trace's file");

	if (!name)
		return;
	if (t->n_files == RS_TRACE_FILES_MAX)
		rs_load_fail(l, -E2BIG, n->at, "more than %d files", RS_TRACE_FILES_MAX);
	else
		t->file[t->n_files++] = rs_load_beside(l, name);
}

static void load_files(struct rs_load *l, struct rs_trace_job *t, const struct rs_node *n)
{
	t->file = rs_load_take(l, n->kind == RS_NODE_LIST ? n->n + 1u : 1, sizeof(*t->file));
	if (!t->file)
		return;
	if (n->kind == RS_NODE_LIST)
		for (const struct rs_item *i = n->first; i && !l->err; i = i->next)
			add_file(l, t, i->value);
	else
		add_file(l, t, n);
	if (!l->err && !t->n_files)
		rs_load_fail(l, -EINVAL, n->at, "a trace without a file");
}

/* A graph has its ranks itself; what is said of places must not differ. */
static void set_ranks(struct rs_load *l, struct rs_fabric *f, struct rs_collective_conf *c,
		      uint32_t n, struct rs_where at)
{
	if (l->err)
		return;
	if (c->n_ranks && c->n_ranks != n)
		rs_load_fail(l, -EINVAL, at, "there are %u ranks, %u are placed", n, c->n_ranks);
	else if (n > f->n_gpus)
		rs_load_fail(l, -EINVAL, at, "there are %u ranks, the fabric has %u GPUs", n,
			     f->n_gpus);
	c->n_ranks = n;
}

void load_trace(struct rs_load *l, struct rs_fabric *f, struct rs_job *job,
		const struct rs_node *of, const struct rs_node *n)
{
	static const char *const known[] = {"file", "groups", "flops", "collective", NULL};
	struct rs_trace_job *t = &job->trace;
	const struct rs_node *file = n;
	bool map = n->kind == RS_NODE_MAP;

	t->flops = 400e12;
	if (map) {
		if (!rs_node_keys(l, n, "trace", known) ||
		    !(file = rs_node_need(l, n, "file", "trace")))
			return;
		rs_node_string(l, n, "groups", &t->groups);
		rs_node_number(l, n, "flops", 1, 1e18, &t->flops);
		if (t->groups)
			t->groups = rs_load_beside(l, t->groups);
	}
	load_collective(l, f, &job->collective, of, map ? rs_node_get(n, "collective") : NULL);
	load_files(l, t, file);
	if (l->err)
		return;
	t->work = rs_trace_read(l,
				&(struct rs_trace_conf){.file = t->file,
							.n_files = t->n_files,
							.groups = t->groups,
							.flops = t->flops,
							.ranks = job->collective.n_ranks
									 ? job->collective.n_ranks
									 : f->n_gpus},
				file->at);
	if (t->work)
		set_ranks(l, f, &job->collective, t->work->n_ranks, file->at);
}

/* ---- Requests ---- */

/* A time in nanoseconds a line, ascending; the first may be a header. */
static void load_arrivals(struct rs_load *l, struct rs_serve_conf *s, const struct rs_node *n)
{
	struct rs_where at = {n->text, 1, 1};
	size_t size;
	char *text, *rest;
	rs_time *t = NULL;
	int64_t v;

	s->arrivals = rs_load_beside(l, n->text);
	text = rest = l->err ? NULL : rs_load_file(l, s->arrivals, ARRIVALS_BYTES, n->at, &size);
	if (text)
		t = rs_load_take(l, size / 2 + 1, sizeof(*t));
	for (char *line; t && !l->err && (line = strsep(&rest, "\n")); at.line++) {
		line[strcspn(line, "\r,")] = '\0';
		if (!*line || *line == '#' || (at.line == 1 && (*line < '0' || *line > '9')))
			continue;
		if (rs_parse_int(line, 0, 4000 * (RS_S / RS_NS), &v, NULL))
			rs_load_fail(l, -EINVAL, at, "expected nanoseconds, found '%.40s'", line);
		else if (s->requests && v * RS_NS < t[s->requests - 1])
			rs_load_fail(l, -EINVAL, at, "an arrival before the one above it");
		else if (s->requests == REQUESTS_MAX)
			rs_load_fail(l, -E2BIG, at, "more than %d requests", REQUESTS_MAX);
		else
			t[s->requests++] = v * RS_NS;
	}
	s->arrival = t;
	if (!l->err && !s->requests)
		rs_load_fail(l, -EINVAL, n->at, "no arrivals in it");
	free(text);
}

void load_serve(struct rs_load *l, struct rs_fabric *f, struct rs_job *job,
		const struct rs_node *of, const struct rs_node *n)
{
	static const char *const known[] = {
		"prefill",      "decode", "requests",    "rate", "arrivals",   "kv", "pieces",
		"prefill_time", "slo",    "decode_time", "draw", "collective", NULL};
	struct rs_serve_conf *s = &job->serve;
	const struct rs_node *arrivals;
	int64_t draw = 0;

	*s = (struct rs_serve_conf){.pieces = 1, .slo = RS_NEVER};
	if (!rs_node_keys(l, n, "serve", known) || !rs_node_need(l, n, "prefill", "serve") ||
	    !rs_node_need(l, n, "decode", "serve") || !rs_node_need(l, n, "kv", "serve"))
		return;
	load_collective(l, f, &job->collective, of, rs_node_get(n, "collective"));
	rs_node_u32(l, n, "prefill", 1, RS_WORK_RANKS_MAX / 2, &s->prefill);
	rs_node_u32(l, n, "decode", 1, RS_WORK_RANKS_MAX / 2, &s->decode);
	rs_node_bytes(l, n, "kv", 1, UINT64_C(1) << 44, &s->kv);
	rs_node_u32(l, n, "pieces", 1, 4096, &s->pieces);
	rs_node_time(l, n, "prefill_time", 0, 4000 * RS_S, &s->prefill_time);
	rs_node_time(l, n, "decode_time", 0, 4000 * RS_S, &s->decode_time);
	rs_node_time(l, n, "slo", 1, 4000 * RS_S, &s->slo);
	rs_node_int(l, n, "draw", 0, INT64_MAX, &draw);
	s->seed = (uint64_t)draw;
	arrivals = rs_node_get(n, "arrivals");
	if (!l->err && !arrivals == !rs_node_get(n, "rate"))
		rs_load_fail(l, -EINVAL, n->at,
			     "serve: expected rate and requests, or arrivals: FILE");
	if (!l->err && arrivals && rs_node_get(n, "requests"))
		rs_load_fail(l, -EINVAL, n->at, "serve: requests goes with rate, not arrivals");
	if (!l->err && !arrivals)
		rs_node_need(l, n, "requests", "serve with a rate");
	rs_node_number(l, n, "rate", 1e-6, 1e9, &s->rate);
	rs_node_u32(l, n, "requests", 1, REQUESTS_MAX, &s->requests);
	if (arrivals && rs_node_scalar(l, arrivals, "arrivals"))
		load_arrivals(l, s, arrivals);
	set_ranks(l, f, &job->collective, s->prefill + s->decode, n->at);
}
