/* The workload: flows from a CSV (read as a stream, a line at a time) or written inline,
 * collectives, training steps; and the what-if list. */
#include <errno.h>
#include <limits.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/units.h"
#include "describe/load.h"
#include "fabric/models.h"

enum { WHATIFS_MAX = 64, OBSERVED_MAX = 65536, LINE_MAX_BYTES = 1024, FIELDS_MAX = 5 };

const char *const coll_ops[] = {"all-reduce", "reduce-scatter", "all-gather", "broadcast",
				"all-to-all", "send-recv",      NULL};
const char *const nccl_nets[] = {"ib", "efa", "efa-read", "cxi", "tcpx", "tcpxo", NULL};
const char *const coll_algorithms[] = {"ring", "tree", "hierarchical", "pairwise", "nccl", NULL};

/* ---- Flows ---- */

struct flows {
	struct rs_load *l;
	struct rs_fabric *f;
	struct rs_names *names;
	struct paths *paths; /* made for the first flow that gives one */
	struct rs_flow *flow;
	uint32_t n, room;
	struct rs_flow
		base; /* what the job says of all its flows: op and what goes with it, class */
	uint32_t qps;
};

/* For "did you mean". */
static const char *const *some_names(struct flows *w)
{
	const char **name = rs_load_take(w->l, 257, sizeof(*name));

	for (uint32_t i = 0; name && i < w->f->n_endpoints && i < 256; i++)
		name[i] = w->f->endpoints[i].name;
	return name;
}

static void endpoint(struct flows *w, const char *s, const char *what, struct rs_where at,
		     uint32_t *out)
{
	int64_t v;

	if (w->l->err || rs_names_find(w->names, s, out))
		return;
	if (!rs_parse_int(s, 0, INT64_MAX, &v, NULL)) {
		if (v < w->f->n_endpoints)
			*out = (uint32_t)v;
		else
			rs_load_fail(w->l, -EINVAL, at,
				     "%s: there is no endpoint %s; there are %u, from 0", what, s,
				     w->f->n_endpoints);
		return;
	}
	rs_load_fail(w->l, -EINVAL, at,
		     "%s: there is no endpoint '%.80s'; expected a number below %u or a name such "
		     "as %s%s",
		     what, s, w->f->n_endpoints, w->f->endpoints[0].name,
		     rs_did_you_mean(w->l, s, some_names(w)));
}

static void add_flow(struct flows *w, const struct rs_flow *flow, struct rs_where at)
{
	struct rs_flow *more;

	rs_fabric_check_flow(w->l, w->f, flow, at);
	if (w->l->err)
		return;
	if (w->n == RS_FLOWS_MAX) {
		rs_load_fail(w->l, -E2BIG, at,
			     "more than %d flows; split the workload or sample it", RS_FLOWS_MAX);
		return;
	}
	if (w->n == w->room) {
		w->room = w->room ? 2 * w->room : 256;
		more = realloc(w->flow, w->room * sizeof(*more));
		if (!more) {
			rs_load_fail(w->l, -ENOMEM, at, "out of memory");
			return;
		}
		w->flow = more;
	}
	w->flow[w->n++] = *flow;
}

/* A flow over several queue pairs is as many flows, which share its bytes: atomics' by the word. */
static void add_flows(struct flows *w, const struct rs_flow *flow, uint32_t qps, struct rs_where at)
{
	uint32_t unit = flow->op == RS_FLOW_ATOMIC ? RS_FLOW_ATOMIC_BYTES : 1;
	uint64_t units = flow->bytes / unit;

	if (qps == 1 || !flow->bytes || flow->bytes % unit) {
		add_flow(w, flow, at);
		return;
	}
	if (!w->l->err && units < qps)
		rs_load_fail(w->l, -EINVAL, at, "qps: %llu bytes are not enough for %u queue pairs",
			     (unsigned long long)flow->bytes, qps);
	for (uint32_t q = 0; q < qps && !w->l->err; q++) {
		struct rs_flow part = *flow;

		part.bytes = (units / qps + (q < units % qps)) * unit;
		add_flow(w, &part, at);
	}
}

/* The keys that say what a flow's messages are, of a job for all or of one flow. */
#define VERB_KEYS "op", "qps", "message", "depth", "inline", "registration"

static void read_verb(struct rs_load *l, const struct rs_node *n, struct rs_flow *flow,
		      uint32_t *qps)
{
	uint64_t message = flow->message, bytes = flow->inline_bytes;
	int op = flow->op;

	rs_node_name(l, n, "op", rs_flow_ops, &op);
	rs_node_u32(l, n, "qps", 1, RS_FLOW_QPS_MAX, qps);
	rs_node_bytes(l, n, "message", 1, RS_FLOW_MESSAGE_MAX, &message);
	rs_node_u32(l, n, "depth", 1, RS_FLOW_DEPTH_MAX, &flow->depth);
	rs_node_bytes(l, n, "inline", 0, UINT16_MAX, &bytes);
	rs_node_time(l, n, "registration", 0, RS_S, &flow->registration);
	flow->op = (uint8_t)op;
	flow->message = (uint32_t)message;
	flow->inline_bytes = (uint32_t)bytes;
	flow->inline_given |= rs_node_get(n, "inline") != NULL;
}

static char *trim(char *s)
{
	char *end;

	s += strspn(s, " \t");
	end = s + strlen(s);
	while (end > s && (end[-1] == ' ' || end[-1] == '\t'))
		*--end = '\0';
	return s;
}

static void csv_number(struct flows *w, const char *s, const char *what, int64_t max,
		       struct rs_where at, int64_t *out)
{
	struct rs_error e = {0};

	if (!w->l->err && rs_parse_int(s, 0, max, out, &e))
		rs_load_fail(w->l, -EINVAL, at, "%s: %s", what, e.what);
}

static void csv_line(struct flows *w, char *line, struct rs_where at)
{
	static const char *const what[FIELDS_MAX] = {"start_ns", "src", "dst", "bytes", "class"};
	struct rs_flow flow = w->base;
	struct rs_where where[FIELDS_MAX];
	char *field[FIELDS_MAX], *rest = line;
	int64_t start = 0, bytes = 0, tc = flow.tc;
	unsigned n = 0;

	while (rest && n < FIELDS_MAX) {
		char *s = strsep(&rest, ",");

		where[n] = (struct rs_where){at.file, at.line, (int)(s - line) + 1};
		field[n++] = trim(s);
	}
	if (n < 4 || rest) {
		rs_load_fail(w->l, -EINVAL, at,
			     "expected start_ns,src,dst,bytes[,class], found %s fields",
			     rest     ? "more than 5"
			     : n == 1 ? "1"
			     : n == 2 ? "2"
				      : "3");
		return;
	}
	csv_number(w, field[0], what[0], RS_START_MAX / RS_NS, where[0], &start);
	endpoint(w, field[1], what[1], where[1], &flow.src);
	endpoint(w, field[2], what[2], where[2], &flow.dst);
	csv_number(w, field[3], what[3], RS_FLOW_BYTES_MAX, where[3], &bytes);
	if (n == 5 && *field[4])
		csv_number(w, field[4], what[4], RS_TCS - 1, where[4], &tc);
	flow.start = start * RS_NS;
	flow.bytes = (uint64_t)bytes;
	flow.tc = (uint8_t)tc;
	add_flows(w, &flow, w->qps, where[3]);
}

/* The next line without its end: 1, or 0 at the end of the file. A line that is too long or holds a
 * NUL byte is an error. */
static int csv_read(struct flows *w, FILE *in, char line[LINE_MAX_BYTES], struct rs_where *at)
{
	size_t n = 0;
	int c;

	at->line++;
	while ((c = getc_unlocked(in)) != EOF && c != '\n') {
		at->column = (int)n + 1;
		if (!c)
			return rs_load_fail(w->l, -EINVAL, *at, "a NUL byte: no text");
		if (n == LINE_MAX_BYTES - 1)
			return rs_load_fail(w->l, -EINVAL, *at, "a line of more than %d bytes",
					    LINE_MAX_BYTES - 1);
		line[n++] = (char)c;
	}
	at->column = 1;
	if (ferror(in))
		return rs_load_fail(w->l, -EIO, *at, "cannot read '%s'", at->file);
	if (c == EOF && !n)
		return 0;
	while (n && line[n - 1] == '\r')
		n--;
	line[n] = '\0';
	return 1;
}

/* Spreadsheets put a byte order mark before the first line. */
static char *behind_mark(char *line)
{
	return strncmp(line, "\xef\xbb\xbf", 3) ? line : line + 3;
}

static void csv_lines(struct flows *w, FILE *in, const char *path)
{
	struct rs_where here = {path, 0, 1};
	char line[LINE_MAX_BYTES];
	bool first = true; /* the first line that says something may be a header */

	while (!w->l->err && csv_read(w, in, line, &here) > 0) {
		char *s = here.line == 1 ? behind_mark(line) : line;
		bool header = first && !strncmp(s, "start", 5);

		if (!s[strspn(s, " \t")] || *s == '#')
			continue;
		first = false;
		if (!header)
			csv_line(w, s, here);
	}
}

static void csv(struct flows *w, const char *path, struct rs_where at)
{
	int fd = w->l->err ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	FILE *in = NULL;
	struct stat st;

	if (w->l->err)
		return;
	if (fd < 0 || fstat(fd, &st))
		rs_load_fail(w->l, -errno, at, "cannot read '%s': %s", path, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		rs_load_fail(w->l, -EINVAL, at, "'%s' is not a regular file", path);
	else if (!(in = fdopen(fd, "r")))
		rs_load_fail(w->l, -ENOMEM, at, "out of memory");
	if (in) {
		csv_lines(w, in, path);
		fclose(in);
	} else if (fd >= 0) {
		close(fd);
	}
}

static void inline_flow(struct flows *w, const struct rs_node *n)
{
	static const char *const known[] = {"start", "src",      "dst", "bytes",   "class",
					    "path",  "ack_path", "cc",  VERB_KEYS, NULL};
	struct rs_flow flow = w->base;
	uint32_t qps = w->qps;
	const struct rs_node *src, *dst, *path = rs_node_get(n, "path"),
					 *acks = rs_node_get(n, "ack_path");
	const char *s, *d;

	if (!rs_node_keys(w->l, n, "a flow", known))
		return;
	src = rs_node_need(w->l, n, "src", "a flow");
	dst = rs_node_need(w->l, n, "dst", "a flow");
	if (!rs_node_need(w->l, n, "bytes", "a flow") || !src || !dst)
		return;
	s = rs_node_scalar(w->l, src, "src");
	d = rs_node_scalar(w->l, dst, "dst");
	rs_node_time(w->l, n, "start", 0, RS_START_MAX, &flow.start);
	rs_node_bytes(w->l, n, "bytes", 1, RS_FLOW_BYTES_MAX, &flow.bytes);
	rs_node_u8(w->l, n, "class", 0, RS_TCS - 1, &flow.tc);
	flow.cc = load_own_cc(w->l, w->f, n);
	read_verb(w->l, n, &flow, &qps);
	if (s && d) {
		endpoint(w, s, "src", src->at, &flow.src);
		endpoint(w, d, "dst", dst->at, &flow.dst);
		if (!w->l->err && (path || acks) && !w->paths)
			w->paths = paths_open(w->l, w->f);
		if (!w->l->err && path)
			paths_list(w->paths, &flow, path, false);
		if (!w->l->err && acks)
			paths_list(w->paths, &flow, acks, true);
		add_flows(w, &flow, qps, n->at);
	}
}

/* Flows that a program gave: start in ps, endpoints, bytes, class (-1: as the fabric has it). */
static void table_flows(struct flows *w, const struct rs_node *n)
{
	for (uint32_t i = 0; i < n->n && !w->l->err; i++) {
		const int64_t *row = n->rows[i];
		struct rs_where at = {"flow", (int)i + 1, 0};
		struct rs_flow flow = w->base;

		flow.start = row[0];
		flow.src = (uint32_t)row[1];
		flow.dst = (uint32_t)row[2];
		flow.bytes = (uint64_t)row[3];
		if (row[0] < 0 || row[0] > RS_START_MAX)
			rs_load_fail(w->l, -ERANGE, at, "start: expected 0 to 4000 s");
		for (unsigned k = 1; k < 3; k++)
			if (row[k] < 0 || row[k] >= w->f->n_endpoints)
				rs_load_fail(w->l, -EINVAL, at,
					     "%s: there is no endpoint %lld; there are %u, from 0",
					     k == 1 ? "src" : "dst", (long long)row[k],
					     w->f->n_endpoints);
		if (row[4] < -1 || row[4] >= RS_TCS)
			rs_load_fail(w->l, -ERANGE, at, "class: expected 0 to 7, found %lld",
				     (long long)row[4]);
		if (row[4] >= 0)
			flow.tc = (uint8_t)row[4];
		add_flows(w, &flow, w->qps, at);
	}
}

static void sink_endpoint(void *arg, const char *s, const char *what, struct rs_where at,
			  uint32_t *out)
{
	endpoint(arg, s, what, at, out);
}

static void sink_flow(void *arg, const struct rs_flow *flow, struct rs_where at)
{
	struct flows *w = arg;
	struct rs_flow verb = w->base;

	verb.start = flow->start;
	verb.src = flow->src;
	verb.dst = flow->dst;
	verb.bytes = flow->bytes;
	verb.tc = flow->tc;
	verb.cc = flow->cc;
	if (verb.op == RS_FLOW_ATOMIC) /* whole words */
		verb.bytes = (verb.bytes + RS_FLOW_ATOMIC_BYTES - 1) & ~UINT64_C(7);
	add_flows(w, &verb, verb.bytes < w->qps ? 1 : w->qps, at);
}

static void load_flows(struct rs_load *l, struct rs_fabric *f, struct rs_names *names,
		       struct rs_job *job, const struct rs_node *all, const struct rs_node *n)
{
	struct flows w = {.l = l, .f = f, .names = names, .base.tc = f->qos.data_tc, .qps = 1};

	read_verb(l, all, &w.base, &w.qps);
	if (n->kind == RS_NODE_LIST)
		for (const struct rs_item *i = n->first; i && !l->err; i = i->next)
			inline_flow(&w, i->value);
	else if (n->kind == RS_NODE_TABLE)
		table_flows(&w, n);
	else if (n->kind == RS_NODE_MAP)
		draw_flows(l, f, n, &(struct flow_sink){sink_endpoint, sink_flow, &w});
	else if (rs_node_scalar(l, n, "flows"))
		csv(&w, rs_load_beside(l, n->text), n->at);
	if (!l->err && !w.n)
		rs_load_fail(l, -EINVAL, n->at, "no flows in it");
	job->flows = rs_load_take(l, w.n ? w.n : 1, sizeof(*job->flows));
	if (job->flows && w.flow)
		memcpy(job->flows, w.flow, w.n * sizeof(*w.flow));
	job->n_flows = w.n;
	free(w.flow);
}

/* ---- Collectives and training ---- */

#define COLLECTIVE_KEYS                                                                       \
	"op", "algorithm", "bytes", "ranks", "place", "share", "group", "stride", "channels", \
		"qps", "chunk", "slots", "step_latency", "registration", "repeat", "class",   \
		"start", "type", "memory", "nccl", NULL

static const char *const type_names[] = {"float", "half",  "bfloat16", "double", "int8",
					 "uint8", "int32", "int64",    NULL};
static const uint8_t type_sizes[] = {4, 2, 2, 8, 1, 1, 4, 8};

static void get_type_of(struct rs_load *l, const struct rs_node *n, const char *key,
			const char **name, uint8_t *bytes)
{
	int i = -1;

	rs_node_name(l, n, key, type_names, &i);
	if (i < 0 || l->err)
		return;
	if (name)
		*name = type_names[i];
	*bytes = type_sizes[i];
}

static void get_type(struct rs_load *l, const struct rs_node *n, const char **name, uint8_t *bytes)
{
	get_type_of(l, n, "type", name, bytes);
}

/* nccl: {version: 2.27.7, env: {NCCL_ALGO: ring}, net: ib, gpus_per_thread: 1} */
static void load_nccl(struct rs_load *l, struct rs_nccl_conf *c, const struct rs_node *n)
{
	static const char *const known[] = {"version", "env",      "net", "gpus_per_thread",
					    "cores",   "as_bytes", NULL};
	const struct rs_node *env;
	uint32_t at = 0;
	int net = RS_NCCL_NET_IB;

	if (!n || !rs_node_keys(l, n, "nccl", known))
		return;
	rs_node_string(l, n, "version", &c->version);
	rs_node_name(l, n, "net", nccl_nets, &net);
	c->net = (enum rs_nccl_net)net;
	rs_node_u32(l, n, "gpus_per_thread", 1, 1024, &c->gpus_per_thread);
	rs_node_u32(l, n, "cores", 1, 1024, &c->cores);
	rs_node_bytes(l, n, "as_bytes", 1, UINT64_C(1) << 44, &c->as_bytes);
	env = rs_node_get(n, "env");
	if (!env || l->err)
		return;
	if (env->kind != RS_NODE_MAP) {
		rs_load_fail(l, -EINVAL, env->at, "expected variables, as {NCCL_ALGO: ring}");
		return;
	}
	c->env = rs_load_take(l, 2 * (size_t)env->n + 1, sizeof(*c->env));
	for (const struct rs_item *i = env->first; i && !l->err; i = i->next) {
		if (strncmp(i->key, "NCCL_", 5) && strncmp(i->key, "FI_", 3)) {
			rs_load_fail(l, -EINVAL, i->at,
				     "expected a variable of NCCL or libfabric, as NCCL_ALGO, "
				     "found '%s'",
				     i->key);
			return;
		}
		c->env[at++] = i->key;
		rs_node_string(l, env, i->key, &c->env[at++]);
	}
	c->n_env = at / 2;
}

/* Does a collective say how it is to be run? Then the ring (pairwise) is what it means. */
static bool says_how(const struct rs_node *n)
{
	static const char *const keys[] = {"algorithm", "group", "stride", "channels",
					   "qps",       "chunk", "slots",  "step_latency"};

	for (size_t i = 0; n && i < sizeof(keys) / sizeof(*keys); i++)
		if (rs_node_get(n, keys[i]))
			return true;
	return false;
}

/* What NCCL would not look at is refused beside it. */
static void check_nccl(struct rs_load *l, const struct rs_node *n, int algorithm)
{
	static const char *const keys[] = {"channels",     "chunk", "slots",
					   "step_latency", "group", "stride"};

	if (!n || l->err)
		return;
	if (algorithm != RS_ALGO_NCCL && rs_node_get(n, "algorithm") && rs_node_get(n, "nccl"))
		rs_load_fail(l, -EINVAL, rs_node_get(n, "nccl")->at,
			     "nccl goes with algorithm: nccl");
	for (size_t i = 0; algorithm == RS_ALGO_NCCL && i < sizeof(keys) / sizeof(*keys); i++)
		if (rs_node_get(n, keys[i]) && !l->err)
			rs_load_fail(l, -EINVAL, rs_node_get(n, keys[i])->at,
				     "%s: NCCL chooses it; set its variables, as nccl: {env: "
				     "{NCCL_MAX_NCHANNELS: 8}}",
				     keys[i]);
}

static void coll_memory(struct rs_load *l, const struct rs_node *n, struct rs_collective_conf *c)
{
	static const char *const names[] = {"gpu", "host", "far", NULL};
	int memory = RS_COLL_IN_GPU;

	rs_node_name(l, n, "memory", names, &memory);
	c->memory = memory;
}

void load_collective(struct rs_load *l, struct rs_fabric *f, struct rs_collective_conf *c,
		     const struct rs_node *job, const struct rs_node *n)
{
	static const char *const known[] = {COLLECTIVE_KEYS};
	int op = RS_COLL_ALL_REDUCE, algorithm;

	rs_collective_defaults(c, f);
	if (n && !rs_node_keys(l, n, "collective", known))
		return;
	if (!l->err && f->n_gpus < 2)
		rs_load_fail(l, -EINVAL, job->at, "a collective needs two GPUs; the fabric has %u",
			     f->n_gpus);
	rs_node_name(l, n, "op", coll_ops, &op);
	algorithm = op == RS_COLL_ALL_TO_ALL  ? RS_ALGO_PAIRWISE
		    : op == RS_COLL_SEND_RECV ? RS_ALGO_NCCL
					      : RS_ALGO_RING;
	rs_node_name(l, n, "algorithm", coll_algorithms, &algorithm);
	if (n && rs_node_get(n, "nccl") && !rs_node_get(n, "algorithm"))
		algorithm = RS_ALGO_NCCL;
	check_nccl(l, n, algorithm);
	rs_node_bytes(l, n, "bytes", 1, UINT64_C(1) << 44, &c->bytes);
	place_read(l, f, job, n, c);
	rs_node_u32(l, n, "group", 2, RS_ENDPOINTS_MAX, &c->group);
	rs_node_u32(l, n, "stride", 1, RS_ENDPOINTS_MAX, &c->stride);
	rs_node_u32(l, n, "channels", 1, RS_CHANNELS_MAX, &c->channels);
	rs_node_u32(l, n, "qps", 1, RS_QPS_MAX, &c->qps);
	rs_node_bytes(l, n, "chunk", 1024, 1 << 30, &c->chunk);
	rs_node_u32(l, n, "slots", 1, RS_SLOTS_MAX, &c->slots);
	rs_node_time(l, n, "step_latency", 0, RS_S, &c->step_latency);
	rs_node_time(l, n, "registration", 0, RS_S, &c->registration);
	rs_node_u32(l, n, "repeat", 1, RS_REPEATS_MAX, &c->repeat);
	rs_node_u8(l, n, "class", 0, RS_TCS - 1, &c->tc);
	rs_node_time(l, n, "start", 0, RS_START_MAX, &c->start);
	get_type(l, n, &c->type, &c->type_bytes);
	coll_memory(l, n, c);
	load_nccl(l, &c->nccl, n ? rs_node_get(n, "nccl") : NULL);
	c->as_nccl = job->kind == RS_NODE_MAP && !says_how(n);
	c->op = (enum rs_coll_op)op;
	c->algorithm = (enum rs_coll_algorithm)algorithm;
}

const char *const schedules[] = {"1f1b", "gpipe", "interleaved", NULL};
const char *const contexts[] = {"ring", "all-gather", NULL};

/* Sizes of a model: each in place of the named one's. */
static void load_model(struct rs_load *l, struct rs_model *m, const struct rs_node *n)
{
	const struct {
		const char *key;
		uint32_t max, *out;
	} sizes[] = {{"layers", 4096, &m->layers},        {"hidden", 1 << 20, &m->hidden},
		     {"heads", 1 << 16, &m->heads},       {"kv_heads", 1 << 16, &m->kv_heads},
		     {"head_dim", 1 << 16, &m->head_dim}, {"ffn", 1 << 24, &m->ffn},
		     {"sequence", 1 << 24, &m->sequence}, {"experts", 4096, &m->experts},
		     {"top_k", 4096, &m->top_k},          {"expert_ffn", 1 << 24, &m->expert_ffn}};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		rs_node_u32(l, n, sizes[i].key, 1, sizes[i].max, sizes[i].out);
	rs_node_u32(l, n, "vocab", 0, 1 << 24, &m->vocab);
	rs_node_u32(l, n, "shared_experts", 0, 4096, &m->shared);
	rs_node_u32(l, n, "dense_layers", 0, 4096, &m->dense);
	rs_node_number(l, n, "attention", 1, 1e13, &m->attention);
	rs_node_bool(l, n, "gated", &m->gated);
	rs_model_close(m);
}

/* FLOP/s as they are achieved, or a GPU's peak and the share that is. */
static void load_rate(struct rs_load *l, struct rs_train_conf *t, const struct rs_node *n)
{
	const struct rs_node *peak = rs_node_get(n, "peak"), *share = rs_node_get(n, "efficiency");

	if (!l->err && !peak != !share)
		rs_load_fail(l, -EINVAL, (peak ? peak : share)->at,
			     "train: peak and efficiency go together, or flops says what is "
			     "achieved");
	if (!l->err && peak && rs_node_get(n, "flops"))
		rs_load_fail(l, -EINVAL, peak->at, "train: flops, or peak and efficiency");
	rs_node_number(l, n, "peak", 1, 1e18, &t->step.peak);
	rs_node_share(l, n, "efficiency", 1e-6, 1, &t->step.share);
}

static void load_step(struct rs_load *l, struct rs_train_conf *t, const struct rs_node *n)
{
	struct rs_step_conf *s = &t->step;
	int schedule = (int)s->schedule, context = (int)s->context;

	load_model(l, &s->model, n);
	load_rate(l, t, n);
	rs_node_u32(l, n, "cp", 1, RS_ENDPOINTS_MAX, &s->cp);
	rs_node_u32(l, n, "ep", 1, RS_ENDPOINTS_MAX, &s->ep);
	rs_node_u32(l, n, "expert_tp", 1, RS_ENDPOINTS_MAX, &s->expert_tp);
	rs_node_u32(l, n, "ends", 0, 64, &s->ends);
	get_type_of(l, n, "gradients", NULL, &s->gradient_bytes);
	rs_node_u32(l, n, "chunks", 1, 256, &s->chunks);
	if (rs_node_get(n, "tokens"))
		s->microbatches = 0; /* in place of the named model's */
	rs_node_u32(l, n, "microbatches", 1, 1 << 16, &s->microbatches);
	rs_node_u32(l, n, "micro_batch", 1, 1 << 16, &s->micro_batch);
	rs_node_name(l, n, "schedule", schedules, &schedule);
	rs_node_name(l, n, "context", contexts, &context);
	rs_node_u8(l, n, "zero", 0, 3, &s->zero);
	rs_node_bool(l, n, "sequence_parallel", &s->sequence);
	rs_node_bool(l, n, "recompute", &s->recompute);
	rs_node_number(l, n, "skew", 1, 4096, &s->skew);
	rs_node_u8(l, n, "dispatch", 1, 4, &s->dispatch);
	rs_node_u32(l, n, "scale", 1, 1 << 20, &s->scale);
	s->schedule = (enum rs_schedule)schedule;
	s->context = (enum rs_context)context;
	if (!l->err && !s->microbatches && !rs_node_get(n, "tokens"))
		rs_load_fail(l, -EINVAL, n->at,
			     "train: expected microbatches of a step, or its tokens");
	if (!l->err && rs_node_get(n, "tokens") && rs_node_get(n, "microbatches"))
		rs_load_fail(l, -EINVAL, n->at, "train: tokens or microbatches, not both");
	if (!l->err && rs_node_get(n, "simulate"))
		rs_load_fail(l, -EINVAL, rs_node_get(n, "simulate")->at,
			     "train: simulate goes with parameters and tokens; a step of layers "
			     "has scale");
}

/* Keys that make a step one of layers, which is run node by node. */
static bool is_step(const struct rs_node *n)
{
	return rs_node_get(n, "model") || rs_node_get(n, "layers");
}

static void load_named_model(struct rs_load *l, struct rs_train_conf *t, const struct rs_node *n)
{
	int i = -1;

	rs_node_name(l, n, "model", rs_model_names, &i);
	if (!l->err && i >= 0)
		rs_model_apply(rs_model_find(rs_model_names[i]), t);
	t->step.on = true;
}

/* Those from OF_LAYERS on are only of a step of layers. */
enum { OF_LAYERS = 13 };
static const char *const train_keys[] = {"parameters",
					 "type",
					 "tokens",
					 "dp",
					 "tp",
					 "pp",
					 "flops",
					 "bucket",
					 "overlap",
					 "simulate",
					 "collective",
					 "model",
					 "layers",
					 "hidden",
					 "heads",
					 "kv_heads",
					 "head_dim",
					 "ffn",
					 "gated",
					 "vocab",
					 "sequence",
					 "attention",
					 "experts",
					 "top_k",
					 "shared_experts",
					 "expert_ffn",
					 "dense_layers",
					 "cp",
					 "ep",
					 "expert_tp",
					 "ends",
					 "gradients",
					 "chunks",
					 "microbatches",
					 "micro_batch",
					 "schedule",
					 "context",
					 "zero",
					 "sequence_parallel",
					 "recompute",
					 "skew",
					 "dispatch",
					 "scale",
					 "peak",
					 "efficiency",
					 NULL};

/* What only one of the two kinds of step has. */
static void check_train_keys(struct rs_load *l, const struct rs_node *n)
{
	if (is_step(n)) {
		if (!l->err && rs_node_get(n, "parameters"))
			rs_load_fail(l, -EINVAL, rs_node_get(n, "parameters")->at,
				     "train: parameters follow from model or layers");
		return;
	}
	rs_node_need(l, n, "parameters", "train");
	rs_node_need(l, n, "tokens", "train");
	for (size_t i = OF_LAYERS; train_keys[i] && !l->err; i++)
		if (rs_node_get(n, train_keys[i]))
			rs_load_fail(l, -EINVAL, rs_node_get(n, train_keys[i])->at,
				     "train: %s goes with model or layers", train_keys[i]);
}

static void load_train(struct rs_load *l, struct rs_fabric *f, struct rs_train_conf *t,
		       const struct rs_node *job, const struct rs_node *n)
{
	const char *type = "bfloat16";

	rs_train_defaults(t, f);
	if (!rs_node_keys(l, n, "train", train_keys))
		return;
	check_train_keys(l, n);
	if (is_step(n)) {
		load_named_model(l, t, n);
		load_step(l, t, n);
	}
	rs_node_number(l, n, "parameters", 1, 1e16, &t->parameters);
	get_type(l, n, &type, &t->type_bytes);
	rs_node_number(l, n, "tokens", 1, 1e15, &t->tokens);
	rs_node_u32(l, n, "dp", 1, RS_ENDPOINTS_MAX, &t->dp);
	rs_node_u32(l, n, "tp", 1, RS_ENDPOINTS_MAX, &t->tp);
	rs_node_u32(l, n, "pp", 1, RS_ENDPOINTS_MAX, &t->pp);
	rs_node_number(l, n, "flops", 1, 1e18, &t->flops);
	rs_node_bytes(l, n, "bucket", 1024, UINT64_C(1) << 40, &t->bucket);
	rs_node_share(l, n, "overlap", 0, 1, &t->overlap);
	rs_node_bytes(l, n, "simulate", 1024, UINT64_C(1) << 44, &t->simulate);
	load_collective(l, f, &t->collective, job, rs_node_get(n, "collective"));
	if (!l->err && (t->collective.group || t->collective.stride))
		rs_load_fail(
			l, -EINVAL, rs_node_get(n, "collective")->at,
			"a training step's groups come from dp and tp: leave out group and stride");
	t->collective.type = type; /* buckets are of the gradients' */
	t->collective.nccl.scale = t->step.scale;
}

static void load_paths(struct rs_load *l, struct rs_fabric *f, struct rs_job *job,
		       const struct rs_node *n)
{
	const struct rs_node *data = rs_node_get(n, "paths"), *acks = rs_node_get(n, "ack_paths");
	struct paths *p = l->err || !(data || acks) ? NULL : paths_open(l, f);

	if (p && data)
		paths_csv(p, job, data, false);
	if (p && acks)
		paths_csv(p, job, acks, true);
}

/* Which one of the kinds a job is; the first key of them, and NULL where there are several. */
static const struct rs_node *kind_of_job(struct rs_load *l, const struct rs_node *n,
					 enum rs_job_kind *kind)
{
	const struct rs_node *of = NULL;
	unsigned found = 0;

	*kind = RS_JOB_TRAIN;
	for (int k = RS_JOB_KINDS; k-- > 0;) {
		const struct rs_node *here = rs_node_get(n, rs_job_kinds[k]);

		if (!here)
			continue;
		of = here;
		*kind = (enum rs_job_kind)k;
		found++;
	}
	if (!l->err && found != 1)
		rs_load_fail(l, -EINVAL, n->at,
			     "a job is one of flows, collective, train, trace, serve");
	return l->err ? NULL : of;
}

/* Keys that go with flows alone, and those that do not go with them. */
static void check_job_keys(struct rs_load *l, const struct rs_node *n, bool flows)
{
	static const char *const verbs[] = {VERB_KEYS, NULL};

	if (!l->err && !flows && rs_node_get(n, "memory"))
		rs_load_fail(l, -EINVAL, rs_node_get(n, "memory")->at,
			     "memory goes with flows: collectives use GPUs'");
	if (!l->err && !flows && (rs_node_get(n, "paths") || rs_node_get(n, "ack_paths")))
		rs_load_fail(l, -EINVAL, n->at, "paths and ack_paths go with flows");
	for (unsigned i = 0; !l->err && !flows && verbs[i]; i++)
		if (rs_node_get(n, verbs[i]))
			rs_load_fail(l, -EINVAL, rs_node_get(n, verbs[i])->at, "%s goes with flows",
				     verbs[i]);
	if (!l->err && flows && (rs_node_get(n, "place") || rs_node_get(n, "share")))
		rs_load_fail(l, -EINVAL, n->at,
			     "place and share go with collectives and train: flows name "
			     "their ends");
}

static void load_job(struct rs_load *l, struct rs_fabric *f, struct rs_names *names,
		     const struct rs_node *n)
{
	static const char *const known[] = {"flows", "memory", "paths",   "ack_paths", "collective",
					    "train", "trace",  "serve",   "name",      "place",
					    "share", "cc",     VERB_KEYS, NULL};
	const struct rs_node *of;
	enum rs_job_kind kind;
	struct rs_job *job;
	int memory = 0;

	if (!rs_node_keys(l, n, "a job", known))
		return;
	of = kind_of_job(l, n, &kind);
	job = of ? rs_fabric_add_job(l, f, kind, NULL, n->at) : NULL;
	if (!job)
		return;
	rs_node_string(l, n, "name", &job->name);
	rs_node_name(l, n, "memory", rs_flow_memories, &memory);
	job->memory = (enum rs_flow_memory)memory;
	job->cc = load_own_cc(l, f, n);
	check_job_keys(l, n, kind == RS_JOB_FLOWS);
	if (l->err)
		return;
	if (kind == RS_JOB_FLOWS) {
		load_flows(l, f, names, job, n, of);
		load_paths(l, f, job, n);
	} else if (kind == RS_JOB_COLLECTIVE) {
		load_collective(l, f, &job->collective, n, of);
	} else if (kind == RS_JOB_TRAIN) {
		load_train(l, f, &job->train, n, of);
	} else if (kind == RS_JOB_TRACE) {
		load_trace(l, f, job, n, of);
	} else {
		load_serve(l, f, job, n, of);
	}
}

static void name_endpoints(struct rs_load *l, struct rs_fabric *f, struct rs_names *t)
{
	if (!rs_names_create(l, t, f->n_endpoints + f->n_hosts))
		return;
	for (uint32_t i = 0; i < f->n_endpoints; i++)
		rs_names_add(t, f->endpoints[i].name, i);
	for (uint32_t i = 0; i < f->n_hosts; i++)
		if (f->hosts[i].n_endpoints == 1)
			rs_names_add(t, f->hosts[i].name, f->hosts[i].first_endpoint);
}

void load_workload(struct rs_load *l, struct rs_fabric *f, const struct rs_node *n)
{
	struct rs_names names;

	if (!n || !rs_node_is_list(l, n, "workload"))
		return;
	if (n->n > RS_JOBS_MAX)
		rs_load_fail(l, -E2BIG, n->at, "more than %d jobs", RS_JOBS_MAX);
	name_endpoints(l, f, &names);
	for (const struct rs_item *i = n->first; i && !l->err; i = i->next)
		load_job(l, f, &names, i->value);
	rs_fabric_close_jobs(l, f);
}

/* ---- What-if ---- */

static void load_whatif(struct rs_load *l, struct rs_whatif *w, const struct rs_node *n)
{
	static const char *const known[] = {"name", "set", NULL};
	const struct rs_node *set;

	if (!rs_node_keys(l, n, "a what-if", known) || !rs_node_need(l, n, "name", "a what-if"))
		return;
	rs_node_string(l, n, "name", &w->name);
	set = rs_node_need(l, n, "set", "a what-if");
	if (set && set->kind != RS_NODE_MAP)
		rs_load_fail(l, -EINVAL, set->at,
			     "set: expected paths and values, as {fabric.cc.kind: none}");
	w->set = rs_load_take(l, set && set->n ? set->n : 1, sizeof(*w->set));
	for (const struct rs_item *i = l->err || !set ? NULL : set->first; i && !l->err;
	     i = i->next)
		w->set[w->n++] =
			(struct rs_setting){i->key, rs_tree_text(l, i->value), i->value->at};
}

/* `observe: {}` is enough. */
void load_observe(struct rs_load *l, struct rs_fabric *f, const struct rs_node *n)
{
	static const char *const known[] = {"interval", "flows", "ports", "alone", "exact", NULL};
	const struct rs_node *exact;

	if (!n || !rs_node_keys(l, n, "observe", known))
		return;
	f->observe.on = true;
	rs_node_time(l, n, "interval", RS_NS, 3600 * RS_S, &f->observe.interval);
	rs_node_u32(l, n, "flows", 1, OBSERVED_MAX, &f->observe.flows);
	rs_node_u32(l, n, "ports", 1, OBSERVED_MAX, &f->observe.ports);
	rs_node_bool(l, n, "alone", &f->observe.alone);
	exact = rs_node_get(n, "exact");
	if (!exact || !rs_node_is_list(l, exact, "observe.exact"))
		return;
	f->observe.exact = rs_load_take(l, exact->n + 1u, sizeof(*f->observe.exact));
	for (const struct rs_item *i = exact->first; i && !l->err; i = i->next)
		f->observe.exact[f->observe.n_exact++] =
			rs_node_scalar(l, i->value, "observe.exact");
}

void load_whatifs(struct rs_load *l, struct rs_fabric *f, const struct rs_node *n)
{
	if (!n || !rs_node_is_list(l, n, "what-if"))
		return;
	if (n->n > WHATIFS_MAX)
		rs_load_fail(l, -E2BIG, n->at, "more than %d what-ifs", WHATIFS_MAX);
	f->whatifs = rs_load_take(l, n->n ? n->n : 1, sizeof(*f->whatifs));
	for (const struct rs_item *i = n->first; i && !l->err; i = i->next)
		load_whatif(l, &f->whatifs[f->n_whatifs++], i->value);
}
