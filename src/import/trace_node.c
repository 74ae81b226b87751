/* What a Chakra node means here, whichever form it came in; process groups; the JSON form, as the
 * feeder and the jsonizer of MLCommons Chakra read and write it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/units.h"
#include "fabric/fabric.h"
#include "import/trace_state.h"
#include "text/document.h"

/* ---- Nodes ---- */

/* What a node has as time, or its operations at the GPU's rate. */
static rs_time node_time(const struct trace *t, const struct chakra_node *k)
{
	double s = t->c->flops > 0 ? (double)k->ops / t->c->flops : 0;

	if (k->ps) /* of `ripstop sim --timings` */
		return k->ps < (uint64_t)(4000 * RS_S) ? (rs_time)k->ps : 4000 * RS_S;
	if (k->micros)
		return k->micros < 4000000000 ? (rs_time)k->micros * RS_US : 4000 * RS_S;
	return k->type == CHAKRA_COMP && s < 4000 ? (rs_time)(s * RS_S + 0.5) : 0;
}

static bool operation(const struct chakra_node *k, uint8_t *op)
{
	static const int8_t ops[] = {[CHAKRA_ALL_REDUCE] = RS_COLL_ALL_REDUCE,
				     [CHAKRA_REDUCE] = RS_COLL_BROADCAST,
				     [CHAKRA_ALL_GATHER] = RS_COLL_ALL_GATHER,
				     [CHAKRA_GATHER] = -1,
				     [CHAKRA_SCATTER] = -1,
				     [CHAKRA_BROADCAST] = RS_COLL_BROADCAST,
				     [CHAKRA_ALL_TO_ALL] = RS_COLL_ALL_TO_ALL,
				     [CHAKRA_REDUCE_SCATTER] = RS_COLL_REDUCE_SCATTER,
				     [CHAKRA_REDUCE_SCATTER_BLOCK] = RS_COLL_REDUCE_SCATTER,
				     [CHAKRA_BARRIER] = RS_COLL_ALL_REDUCE};

	if (k->comm > CHAKRA_BARRIER || ops[k->comm] < 0)
		return false;
	*op = (uint8_t)ops[k->comm];
	return true;
}

static void collective(struct trace *t, const struct chakra_node *k, struct rs_work_node *n,
		       struct rs_where at)
{
	uint32_t group = *k->group ? trace_find_group(t, k->group) : trace_everyone(t);

	if (t->l->err)
		return;
	if (group == RS_WORK_NONE && t->w->n_ranks == 1)
		group = trace_everyone(t);
	if (group == RS_WORK_NONE) {
		rs_load_fail(t->l, -EINVAL, at,
			     "node %llu is a collective of process group '%s', which neither the "
			     "trace nor groups defines",
			     (unsigned long long)k->id, k->group);
		return;
	}
	if (k->some_dims_off && !*k->group && t->w->n_ranks > 1)
		rs_load_fail(t->l, -ENOTSUP, at,
			     "node %llu goes over some dimensions of ASTRA-sim's topology only "
			     "(involved_dim); expected a process group (pg_name)",
			     (unsigned long long)k->id);
	if (!operation(k, &n->op))
		rs_load_fail(t->l, -ENOTSUP, at,
			     "node %llu: a collective of type %llu; expected all-reduce (0), "
			     "reduce, all-gather, broadcast, all-to-all, reduce-scatter or barrier",
			     (unsigned long long)k->id, (unsigned long long)k->comm);
	if (t->l->err)
		return;
	n->kind = RS_WORK_COLL;
	n->peer = group;
	/* ASTRA-sim's comm_size is what a rank puts in: of an all-gather one share */
	n->bytes = k->comm == CHAKRA_BARRIER ? 4 : k->size;
	if (n->op == RS_COLL_ALL_GATHER)
		n->bytes *= t->w->group[group].n;
}

static void message(struct trace *t, const struct chakra_node *k, struct rs_work_node *n,
		    struct rs_where at)
{
	bool send = k->type == CHAKRA_SEND;

	n->kind = send ? RS_WORK_SEND : RS_WORK_RECV;
	n->peer = send ? k->dst : k->src;
	n->bytes = k->size;
	n->tag = k->tag;
	if (!(send ? k->has_dst : k->has_src))
		rs_load_fail(t->l, -EINVAL, at, "node %llu: a %s without %s",
			     (unsigned long long)k->id, send ? "send" : "receive",
			     send ? "comm_dst" : "comm_src");
	else if (n->peer >= t->w->n_ranks || n->peer == t->rank)
		rs_load_fail(t->l, -EINVAL, at,
			     "node %llu of rank %u: a message %s rank %u; the trace has %u ranks",
			     (unsigned long long)k->id, t->rank, send ? "to" : "from", n->peer,
			     t->w->n_ranks);
}

static void compute(struct trace *t, const struct chakra_node *k, struct rs_work_node *n)
{
	n->time = node_time(t, k);
	n->kind = n->time > 0 ? RS_WORK_COMPUTE : RS_WORK_JOIN;
	n->why = RS_WHY_COMPUTE;
	n->unit = k->cpu                        ? TRACE_CPU
		  : k->type == CHAKRA_MEM_LOAD  ? TRACE_MEMORY
		  : k->type == CHAKRA_MEM_STORE ? TRACE_MEMORY
						: TRACE_GPU;
}

void chakra_node(struct trace *t, struct chakra_node *k, struct rs_where at)
{
	struct rs_work_node n = {.kind = RS_WORK_JOIN};
	bool comm = k->type >= CHAKRA_SEND;

	if (t->l->err)
		return;
	if (k->type > CHAKRA_COLL) {
		rs_load_fail(t->l, -EINVAL, at, "node %llu is of type %llu; expected 0 to %d",
			     (unsigned long long)k->id, (unsigned long long)k->type, CHAKRA_COLL);
		return;
	}
	if (k->size > UINT64_C(1) << 44) {
		rs_load_fail(t->l, -ERANGE, at, "node %llu: %llu B; at most 16 TiB",
			     (unsigned long long)k->id, (unsigned long long)k->size);
		return;
	}
	if (k->type == CHAKRA_METADATA && k->about && strstr(k->about, "pg_name"))
		trace_groups(t, k->about, strlen(k->about), t->name);
	/* on the CPU it is the call that launches; the GPU's node moves the bytes */
	if (comm && !k->cpu && k->type == CHAKRA_COLL && (k->has_comm || k->size))
		collective(t, k, &n, at);
	else if (comm && !k->cpu && k->type != CHAKRA_COLL)
		message(t, k, &n, at);
	else if (k->type >= CHAKRA_MEM_LOAD)
		compute(t, k, &n);
	if (t->l->err || trace_node(t, &n, k->id, at) == RS_WORK_NONE)
		return;
	for (uint32_t i = 0; i < k->n_deps; i++)
		trace_after(t, k->dep[i]);
}

/* ---- Process groups ---- */

static bool number(struct rs_value *v, int64_t max, int64_t *out)
{
	char text[32];

	return rs_document_text(v, text, sizeof(text)) && !rs_parse_int(text, 0, max, out, NULL);
}

static void add_ranks(struct trace *t, const char *name, struct rs_value *list, struct rs_where at)
{
	uint32_t *ranks = calloc(t->w->n_ranks, sizeof(*ranks)), n = 0;
	void *i = NULL;
	int64_t rank;

	if (!ranks) {
		rs_load_fail(t->l, -ENOMEM, at, "out of memory");
		return;
	}
	for (struct rs_value *v; !t->l->err && (v = rs_value_each(list, &i)); n++) {
		if (!number(v, RS_WORK_RANKS_MAX, &rank) || n == t->w->n_ranks)
			rs_load_fail(t->l, -EINVAL, at,
				     "group '%.60s': expected a list of the trace's %u ranks", name,
				     t->w->n_ranks);
		else
			ranks[n] = (uint32_t)rank;
	}
	if (!t->l->err)
		trace_add_group(t, name, ranks, n, at);
	free(ranks);
}

/* PyTorch's [{"pg_name": "0", "ranks": [0, 1]}, ...]; no ranks: all. */
static void listed_groups(struct trace *t, struct rs_value *list, struct rs_where at)
{
	char name[64];
	void *i = NULL;

	for (struct rs_value *v; !t->l->err && (v = rs_value_each(list, &i));) {
		struct rs_value *ranks = rs_document_member(v, "ranks");

		if (rs_document_text(rs_document_member(v, "pg_name"), name, sizeof(name)) &&
		    rs_value_is_list(ranks) && t->w->n_ranks > 1)
			add_ranks(t, name, ranks, at);
	}
}

static void named_groups(struct trace *t, struct rs_value *map, struct rs_where at)
{
	char name[64];
	void *i = NULL;

	for (struct rs_pair *p; !t->l->err && (p = rs_value_each_pair(map, &i));) {
		struct rs_value *ranks = rs_pair_value(p);

		if (rs_document_text(rs_pair_key(p), name, sizeof(name)) && rs_value_is_list(ranks))
			add_ranks(t, name, ranks, at);
		else
			rs_load_fail(t->l, -EINVAL, at, "expected {\"name\": [ranks], ...}");
	}
}

/* Inside a string of a string quotes have backslashes. */
static size_t unescape(char *s, size_t n)
{
	size_t out = 0;

	for (size_t i = 0; i < n; i++)
		if (s[i] != '\\')
			s[out++] = s[i];
	return out;
}

void trace_groups(struct trace *t, const char *text, size_t n, const char *name)
{
	struct rs_where at = {name, 0, 0};
	char *copy = strndup(text, n), *list = copy ? strstr(copy, "[{") : NULL;
	struct rs_document *d = NULL;
	struct rs_value *root;

	if (!copy) {
		rs_load_fail(t->l, -ENOMEM, at, "out of memory");
		return;
	}
	if (list) {
		n = unescape(list, strlen(list));
		while (n && list[n - 1] != ']')
			n--;
		if (n > 1 && list[n - 2] == '"') /* the list is a string of a list of one */
			n -= 2;
		d = rs_document_parse(list, n);
	} else {
		d = rs_document_parse(copy, n);
	}
	root = d ? rs_document_root(d) : NULL;
	if (rs_value_is_map(root))
		named_groups(t, root, at);
	else if (rs_value_is_list(root))
		listed_groups(t, root, at);
	else
		rs_load_fail(t->l, -EINVAL, at,
			     "process groups: expected {\"name\": [ranks], ...}");
	rs_document_destroy(d);
	free(copy);
}

/* ---- JSON ---- */

/* One of several names of a member. */
static struct rs_value *member(struct rs_value *v, const char *const *names)
{
	struct rs_value *m = NULL;

	for (; *names && !m; names++)
		m = rs_document_member(v, *names);
	return m;
}

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

static void json_deps(struct trace *t, struct chakra_node *k, struct rs_value *list)
{
	void *i = NULL;
	int64_t on;

	for (struct rs_value *v; rs_value_is_list(list) && (v = rs_value_each(list, &i));)
		if (number(v, INT64_MAX, &on) &&
		    trace_grow(t, (void **)&k->dep, k->n_deps, &k->room_deps, sizeof(*k->dep)))
			k->dep[k->n_deps++] = (uint64_t)on;
}

/* The value of {"name": "comm_size", "int64Val": "8"}: its second member. */
static struct rs_value *attr_value(struct rs_value *attr)
{
	void *i = NULL;

	for (struct rs_pair *p; (p = rs_value_each_pair(attr, &i));) {
		size_t n;
		const char *key = rs_value_scalar(rs_pair_key(p), &n);

		if (key && n > 3 &&
		    (!memcmp(key + n - 3, "Val", 3) || !memcmp(key + n - 3, "val", 3)))
			return rs_pair_value(p);
	}
	return NULL;
}

static bool truth(struct rs_value *v)
{
	char text[8];

	return rs_document_text(v, text, sizeof(text)) &&
	       (!strcmp(text, "true") || !strcmp(text, "True") || !strcmp(text, "1"));
}

static void json_field(struct chakra_node *k, const char *name, struct rs_value *v)
{
	int64_t n = 0;
	bool is = number(v, INT64_MAX, &n);

	if (!strcmp(name, "is_cpu_op"))
		k->cpu = truth(v);
	else if (!strcmp(name, "pg_name"))
		rs_document_text(v, k->group, sizeof(k->group));
	if (!is)
		return;
	if (!strcmp(name, "comm_type")) {
		k->comm = (uint64_t)n;
		k->has_comm = true;
	} else if (!strcmp(name, "comm_size")) {
		k->size = (uint64_t)n;
	} else if (!strcmp(name, "comm_tag")) {
		k->tag = (uint64_t)n;
	} else if (!strcmp(name, "num_ops")) {
		k->ops = (uint64_t)n;
	} else if (!strcmp(name, "comm_src")) {
		k->src = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
		k->has_src = true;
	} else if (!strcmp(name, "comm_dst")) {
		k->dst = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
		k->has_dst = true;
	}
}

static uint64_t json_type(struct rs_value *v)
{
	static const char *const names[] = {"INVALID_NODE",   "METADATA_NODE", "MEM_LOAD_NODE",
					    "MEM_STORE_NODE", "COMP_NODE",     "COMM_SEND_NODE",
					    "COMM_RECV_NODE", "COMM_COLL_NODE"};
	char text[32] = "";
	int64_t n;

	if (!v)
		return CHAKRA_INVALID; /* proto3's JSON leaves zeros out */
	if (number(v, CHAKRA_COLL, &n))
		return (uint64_t)n;
	rs_document_text(v, text, sizeof(text));
	for (unsigned i = 0; i <= CHAKRA_COLL; i++)
		if (!strcmp(text, names[i]))
			return i;
	return CHAKRA_COLL + 1;
}

static void json_node(struct trace *t, struct rs_value *v, int line)
{
	static const char *const fields[] = {"is_cpu_op", "pg_name",  "comm_type", "comm_size",
					     "comm_tag",  "comm_src", "comm_dst",  "num_ops"};
	struct rs_value *attrs = rs_document_member(v, "attr");
	struct chakra_node k = {0};
	int64_t n = 0;
	char name[32];
	void *i = NULL;

	if (number(member(v, NAMES("Id", "id")), INT64_MAX, &n)) /* 0 is left out by proto3 */
		k.id = (uint64_t)n;
	k.type = json_type(member(v, NAMES("NodeType", "type")));
	if (number(member(v, NAMES("runtime", "durationMicros", "duration_micros")), INT64_MAX, &n))
		k.micros = (uint64_t)n;
	json_deps(t, &k, member(v, NAMES("ctrlDeps", "ctrl_deps")));
	json_deps(t, &k, member(v, NAMES("dataDeps", "data_deps")));
	for (size_t f = 0; f < sizeof(fields) / sizeof(*fields); f++)
		json_field(&k, fields[f], rs_document_member(v, fields[f]));
	for (struct rs_value *a; rs_value_is_list(attrs) && (a = rs_value_each(attrs, &i));)
		if (rs_document_text(rs_document_member(a, "name"), name, sizeof(name)))
			json_field(&k, name, attr_value(a));
	chakra_node(t, &k, (struct rs_where){t->name, line, 0});
	free(k.dep);
}

/* A whole object of the file: the feeder's {"workload_graph": [nodes]}, or one node; the metadata
 * before the first node has neither. */
static void json_object(struct trace *t, const char *text, size_t n, int line)
{
	struct rs_document *d = rs_document_parse(text, n);
	struct rs_value *root = d ? rs_document_root(d) : NULL, *nodes;
	void *i = NULL;

	nodes = rs_document_member(root, "workload_graph");
	if (!rs_value_is_map(root))
		rs_load_fail(t->l, -EINVAL, (struct rs_where){t->name, line, 0}, "no JSON");
	else if (rs_document_member(root, "nodes") && rs_document_member(root, "schema"))
		rs_load_fail(t->l, -ENOTSUP, (struct rs_where){t->name, line, 0},
			     "PyTorch's own trace, before it is a Chakra ET; expected what "
			     "chakra_converter makes of it");
	else if (rs_value_is_list(nodes))
		while (!t->l->err && (root = rs_value_each(nodes, &i)))
			json_node(t, root, line + (int)rs_document_line(root) - 1);
	else if (rs_document_member(root, "id") || rs_document_member(root, "type"))
		json_node(t, root, line);
	else if (!rs_document_member(root, "version") && !rs_document_member(root, "attr"))
		rs_load_fail(t->l, -EINVAL, (struct rs_where){t->name, line, 0},
			     "expected a node (id, type) or workload_graph");
	rs_document_destroy(d);
}

/* Objects one after another, each as far as its last bracket. */
struct objects {
	char *text;
	uint32_t n, room;
	int depth, line, first_line;
	bool quoted, escaped;
};

/* True: with this byte an object is whole. */
static bool take_byte(struct objects *o, int c)
{
	if (o->escaped) {
		o->escaped = false;
	} else if (o->quoted) {
		o->escaped = c == '\\';
		o->quoted = c != '"';
	} else if (c == '"') {
		o->quoted = true;
	} else if (c == '{' || c == '[') {
		if (!o->depth++)
			o->first_line = o->line;
	} else if (c == '}' || c == ']') {
		return --o->depth == 0;
	}
	return false;
}

void trace_json(struct trace *t, FILE *in)
{
	struct objects o = {.line = 1};
	struct rs_where at = {t->name, 0, 0};
	int c;

	while (!t->l->err && (c = getc_unlocked(in)) != EOF) {
		bool whole = take_byte(&o, c);

		o.line += c == '\n';
		if (!o.depth && !whole)
			continue;
		if (o.n == RS_TRACE_MESSAGE_MAX)
			rs_load_fail(t->l, -E2BIG, at,
				     "JSON of more than %d bytes; expected the "
				     "protobuf form",
				     RS_TRACE_MESSAGE_MAX);
		if (!trace_grow(t, (void **)&o.text, o.n, &o.room, 1))
			break;
		o.text[o.n++] = (char)c;
		if (whole) {
			json_object(t, o.text, o.n, o.first_line);
			o.n = 0;
		}
	}
	if (!t->l->err && o.n)
		rs_load_fail(t->l, -EINVAL, at, "the JSON ends inside an object");
	free(o.text);
	trace_close_rank(t, false, at);
}
