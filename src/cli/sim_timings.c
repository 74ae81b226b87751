/*
 * `ripstop sim --timings`: a graph of work as Chakra execution traces, a file a rank, with the
 * times of the run. Field numbers: MLCommons Chakra, schema/protobuf/et_def.proto; wire types:
 * protobuf's encoding guide.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cli/sim_report.h"
#include "report/report.h"

enum { BYTES_FIELD = 2 };
enum {
	NODE_ID = 1,
	NODE_NAME,
	NODE_TYPE,
	NODE_CTRL_DEPS,
	NODE_DATA_DEPS,
	NODE_START,
	NODE_DURATION,
	NODE_INPUTS,
	NODE_OUTPUTS,
	NODE_ATTR
};
enum { ATTR_NAME = 1, ATTR_UINT64 = 13, ATTR_BOOL = 27, ATTR_STRING = 29 };
enum { TYPE_METADATA = 1, TYPE_COMP = 4, TYPE_SEND, TYPE_RECV, TYPE_COLL };

struct text {
	uint8_t *p;
	size_t n, room;
	bool failed;
};

static void put(struct text *t, const void *p, size_t n)
{
	if (t->n + n > t->room && !t->failed) {
		size_t room = 2 * t->room + n + 256;
		uint8_t *more = realloc(t->p, room);

		t->failed = !more;
		if (more) {
			t->p = more;
			t->room = room;
		}
	}
	if (t->failed)
		return;
	memcpy(t->p + t->n, p, n);
	t->n += n;
}

static void varint(struct text *t, uint64_t v)
{
	uint8_t b[10];
	size_t n = 0;

	for (; v > 0x7f; v >>= 7)
		b[n++] = (uint8_t)(v | 0x80);
	b[n++] = (uint8_t)v;
	put(t, b, n);
}

static void number(struct text *t, unsigned field, uint64_t v)
{
	varint(t, field << 3);
	varint(t, v);
}

static void bytes(struct text *t, unsigned field, const void *p, size_t n)
{
	varint(t, field << 3 | BYTES_FIELD);
	varint(t, n);
	put(t, p, n);
}

static void attr(struct text *t, const char *name, unsigned field, uint64_t v)
{
	struct text a = {0};

	bytes(&a, ATTR_NAME, name, strlen(name));
	number(&a, field, v);
	bytes(t, NODE_ATTR, a.p, a.n);
	t->failed |= a.failed;
	free(a.p);
}

static void attr_text(struct text *t, const char *name, const char *v)
{
	struct text a = {0};

	bytes(&a, ATTR_NAME, name, strlen(name));
	bytes(&a, ATTR_STRING, v, strlen(v));
	bytes(t, NODE_ATTR, a.p, a.n);
	t->failed |= a.failed;
	free(a.p);
}

static void message(FILE *out, struct text *t)
{
	struct text n = {0};

	varint(&n, t->n);
	fwrite(n.p, 1, n.n, out);
	fwrite(t->p, 1, t->n, out);
	t->failed |= n.failed;
	free(n.p);
}

/* ---- Nodes ---- */

/* CollectiveCommType of an operation. */
static uint64_t comm_type(uint8_t op)
{
	static const uint8_t types[] = {[RS_COLL_ALL_REDUCE] = 0,
					[RS_COLL_REDUCE_SCATTER] = 7,
					[RS_COLL_ALL_GATHER] = 2,
					[RS_COLL_BROADCAST] = 5,
					[RS_COLL_ALL_TO_ALL] = 6};

	return types[op];
}

static void collective(struct text *t, const struct rs_work *w, const struct rs_work_node *k)
{
	uint64_t size = k->op == RS_COLL_ALL_GATHER ? k->bytes / w->group[k->peer].n : k->bytes;
	char name[16];

	attr(t, "comm_type", ATTR_UINT64, comm_type(k->op));
	attr(t, "comm_size", ATTR_UINT64, size);
	snprintf(name, sizeof(name), "%u", k->peer);
	attr_text(t, "pg_name", name);
}

static void times(struct text *t, rs_time begun, rs_time ended)
{
	if (begun == RS_NEVER || ended == RS_NEVER)
		return;
	number(t, NODE_START, (uint64_t)begun / RS_US);
	number(t, NODE_DURATION, (uint64_t)(ended - begun) / RS_US);
	attr(t, "start_ns", ATTR_UINT64, (uint64_t)begun / RS_NS);
	attr(t, "end_ns", ATTR_UINT64, (uint64_t)ended / RS_NS);
}

static void node(struct text *t, const struct rs_program *p, uint32_t rank, uint32_t i, bool ids)
{
	static const uint8_t types[] = {[RS_WORK_JOIN] = TYPE_METADATA,
					[RS_WORK_COMPUTE] = TYPE_COMP,
					[RS_WORK_SEND] = TYPE_SEND,
					[RS_WORK_RECV] = TYPE_RECV,
					[RS_WORK_COLL] = TYPE_COLL};
	const struct rs_work_rank *r = &p->work->rank[rank];
	const struct rs_work_node *k = &r->node[i];
	uint32_t at = p->base[rank] + i;

	number(t, NODE_ID, ids ? k->id : i);
	bytes(t, NODE_NAME, rs_work_whys[k->why], strlen(rs_work_whys[k->why]));
	number(t, NODE_TYPE, types[k->kind]);
	for (uint32_t d = 0; d < k->n_deps; d++) {
		uint32_t on = r->dep[k->first_dep + d];

		number(t, NODE_DATA_DEPS, ids ? r->node[on].id : on);
	}
	times(t, p->begun[at], p->ended[at]);
	attr(t, "is_cpu_op", ATTR_BOOL, k->kind == RS_WORK_COMPUTE && k->unit == 1);
	if (k->kind == RS_WORK_COMPUTE) /* microseconds are too coarse to run it again */
		attr(t, "ripstop_ps", ATTR_UINT64, (uint64_t)k->time);
	if (k->kind == RS_WORK_COLL)
		collective(t, p->work, k);
	if (k->kind != RS_WORK_SEND && k->kind != RS_WORK_RECV)
		return;
	attr(t, k->kind == RS_WORK_SEND ? "comm_dst" : "comm_src", ATTR_UINT64, k->peer);
	attr(t, "comm_size", ATTR_UINT64, k->bytes);
	/* labels keep messages of one tag apart, which Chakra has not */
	attr(t, "comm_tag", ATTR_UINT64, k->label ? k->tag << 2 | k->label : k->tag);
}

/* The groups of this rank, as PyTorch's metadata have them; its number is none of a node's. */
static void groups(struct text *t, const struct rs_work *w, uint32_t rank, uint64_t id)
{
	struct text values = {0}, io = {0};
	char word[64];
	bool any = false;

	put(&values, "[\"[", 3);
	for (uint32_t g = 0; g < w->n_groups; g++) {
		uint32_t i = 0;

		while (i < w->group[g].n && w->group[g].rank[i] != rank)
			i++;
		if (i == w->group[g].n)
			continue;
		put(&values, word,
		    (size_t)snprintf(word, sizeof(word),
				     "%s{\\\"pg_name\\\": \\\"%u\\\", \\\"ranks\\\": [",
				     any ? ", " : "", g));
		for (i = 0; i < w->group[g].n; i++)
			put(&values, word,
			    (size_t)snprintf(word, sizeof(word), "%s%u", i ? ", " : "",
					     w->group[g].rank[i]));
		put(&values, "]}", 2);
		any = true;
	}
	put(&values, "]\"]", 3);
	bytes(&io, 1, values.p, values.n);
	number(t, NODE_ID, id);
	bytes(t, NODE_NAME, "## process_group:init ##", 24);
	number(t, NODE_TYPE, TYPE_METADATA);
	if (any)
		bytes(t, NODE_INPUTS, io.p, io.n);
	t->failed |= values.failed || io.failed;
	free(values.p);
	free(io.p);
}

static int by_value(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

	return a < b ? -1 : a > b;
}

/* Whether a rank's nodes have numbers of their own; *most: the largest. */
static bool own_ids(const struct rs_work_rank *r, uint64_t *most)
{
	uint64_t *id = calloc(r->n + 1u, sizeof(*id));
	bool own = id;

	for (uint32_t i = 0; id && i < r->n; i++)
		id[i] = r->node[i].id;
	if (id && r->n)
		qsort(id, r->n, sizeof(*id), by_value);
	for (uint32_t i = 1; own && i < r->n; i++)
		own = id[i] != id[i - 1];
	own = own && r->n && id[r->n - 1] < INT64_MAX;
	*most = own ? id[r->n - 1] : r->n;
	free(id);
	return own;
}

static bool write_rank(const struct rs_program *p, uint32_t rank, FILE *out)
{
	struct text t = {0};
	uint64_t most;
	bool ids = own_ids(&p->work->rank[rank], &most), failed;

	bytes(&t, 1, "ripstop", 7);
	message(out, &t);
	t.n = 0;
	groups(&t, p->work, rank, most + 1);
	message(out, &t);
	for (uint32_t i = 0; i < p->work->rank[rank].n && !t.failed; i++) {
		t.n = 0;
		node(&t, p, rank, i, ids);
		message(out, &t);
	}
	failed = t.failed || ferror(out);
	free(t.p);
	return !failed;
}

int rs_sim_timings(const struct rs_diagnosis *d, const char *pattern, struct rs_error *e)
{
	const struct rs_sim_result *r = d->cases[0].result;
	const char *place = strstr(pattern, "%d");
	const struct rs_program *p = NULL;
	struct rs_outfile f;
	char path[512];
	int err = 0;

	for (uint32_t i = 0; i < r->n_jobs && !p; i++)
		p = r->jobs[i].program;
	if (!p)
		return rs_error_set(e, -EINVAL,
				    "--timings: no job is a graph of work (a trace, requests, a "
				    "training step of layers)");
	for (uint32_t i = 0; i < p->work->n_ranks && !err; i++) {
		if (snprintf(path, sizeof(path), "%.*s%u%s", (int)(place - pattern), pattern, i,
			     place + 2) >= (int)sizeof(path))
			return rs_error_set(e, -ENAMETOOLONG, "--timings: too long a name");
		err = rs_outfile_open(&f, path, e);
		if (!err && write_rank(p, i, f.f)) {
			err = rs_outfile_commit(&f, e);
		} else if (!err) {
			rs_outfile_abort(&f);
			err = rs_error_set(e, -EIO, "cannot write '%s'", path);
		}
	}
	return err;
}
