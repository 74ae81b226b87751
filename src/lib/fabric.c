/* A fabric by calls (ripstop/fabric.h): each call adds to the tree that a description's text would
 * have been read into, so that calls and text are checked, and mean the same, by one reader. */
#include "lib/fabric.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/units.h"
#include "lib/lib.h"

/* ---- Making one ---- */

static int begin(struct ripstop_fabric **out, const char *name, const char *folder,
		 struct ripstop_error **e)
{
	struct ripstop_fabric *f = calloc(1, sizeof(*f));

	*out = NULL;
	if (f)
		f->load.arena = rs_arena_create(0);
	if (!f || !f->load.arena) {
		free(f);
		return lib_fail(e, -ENOMEM, "out of memory");
	}
	f->load.e = &f->error;
	f->load.name = rs_load_string(&f->load, name);
	f->load.base_dir = folder ? rs_load_string(&f->load, folder) : NULL;
	*out = f;
	return 0;
}

/* The error of the call that ends here; the next one begins without. */
static int end_call(struct ripstop_fabric *f, struct ripstop_error **e)
{
	int err = f->load.err ? lib_error(e, &f->error, f->load.err) : 0;

	f->load.err = 0;
	f->error = (struct rs_error){0};
	return err;
}

/* Of a fabric that was to be made. */
static int end_making(struct ripstop_fabric **f, struct ripstop_error **e)
{
	int err = end_call(*f, e);

	if (!err)
		return 0;
	ripstop_fabric_free(*f);
	*f = NULL;
	return err;
}

int ripstop_fabric_new(struct ripstop_fabric **out, struct ripstop_error **e)
{
	int err = begin(out, "fabric", NULL, e);

	if (err)
		return err;
	(*out)->root = rs_node_new(&(*out)->load, RS_NODE_MAP, (struct rs_where){"fabric", 0, 0});
	return end_making(out, e);
}

int ripstop_fabric_parse(const char *text, size_t n, const char *name, const char *folder,
			 struct ripstop_fabric **out, struct ripstop_error **e)
{
	int err = begin(out, name ? name : "text", folder, e);

	if (err)
		return err;
	(*out)->root = rs_fabric_tree(&(*out)->load, text, n, &(*out)->assumed);
	return end_making(out, e);
}

int ripstop_fabric_load(const char *path, struct ripstop_fabric **out, struct ripstop_error **e)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash ? strndup(path, (size_t)(slash - path) + (slash == path)) : NULL,
	     *text;
	int err = begin(out, path, folder, e);
	struct ripstop_fabric *f = *out;
	size_t n;

	free(folder);
	if (err)
		return err;
	text = rs_load_file(&f->load, path, RS_TREE_BYTES_MAX, (struct rs_where){path, 0, 0}, &n);
	if (text)
		f->root = rs_fabric_tree(&f->load, text, n, &f->assumed);
	free(text);
	return end_making(out, e);
}

/* The rows of a copy's tables are its own: in jobs' "flows", and nowhere else. */
static void own_tables(struct rs_load *l, struct rs_node *root)
{
	struct rs_item *work = root ? rs_node_item(root, "workload") : NULL;

	for (struct rs_item *i = work ? work->value->first : NULL; i; i = i->next) {
		struct rs_item *flows = rs_node_item(i->value, "flows");
		struct rs_node *n = flows ? flows->value : NULL;
		int64_t(*rows)[RS_NODE_COLUMNS];

		if (!n || n->kind != RS_NODE_TABLE)
			continue;
		rows = rs_load_take(l, n->n ? n->n : 1, sizeof(*rows));
		if (rows)
			memcpy(rows, n->rows, n->n * sizeof(*rows));
		n->rows = (const int64_t(*)[RS_NODE_COLUMNS])rows;
	}
}

int ripstop_fabric_copy(const struct ripstop_fabric *f, struct ripstop_fabric **out,
			struct ripstop_error **e)
{
	int err = begin(out, f->load.name, f->load.base_dir, e);

	if (err)
		return err;
	(*out)->root = rs_node_copy(&(*out)->load, f->root);
	(*out)->assumed = f->assumed;
	own_tables(&(*out)->load, (*out)->root);
	return end_making(out, e);
}

void ripstop_fabric_free(struct ripstop_fabric *f)
{
	if (!f)
		return;
	rs_arena_destroy(f->load.arena);
	free(f);
}

int lib_fabric_build(const struct ripstop_fabric *f, const struct rs_setting *set, uint32_t n_set,
		     struct rs_fabric **out, struct rs_error *e)
{
	int err = rs_fabric_load_tree(f->root, f->load.name, f->load.base_dir, set, n_set, out, e);

	if (!err && f->assumed)
		(*out)->assumed = f->assumed;
	return err;
}

int ripstop_fabric_set(struct ripstop_fabric *f, const char *path, const char *value,
		       struct ripstop_error **e)
{
	struct rs_where at = {rs_load_string(&f->load, path), 0, 0};

	rs_tree_set(&f->load, f->root, path, value ? value : "null", at);
	return end_call(f, e);
}

/* ---- Nodes ---- */

/* The mapping or list under this key, made where there is none. */
static struct rs_node *under(struct ripstop_fabric *f, struct rs_node *map, const char *key,
			     enum rs_node_kind kind)
{
	struct rs_item *i = map ? rs_node_item(map, key) : NULL;
	struct rs_where at = {key, 0, 0};
	struct rs_node *n;

	if (f->load.err || !map)
		return NULL;
	if (i && i->value->kind == kind)
		return i->value;
	if (i && i->value->n) {
		rs_load_fail(&f->load, -EINVAL, i->value->at, "%s: it is given already, as %s", key,
			     kind == RS_NODE_LIST ? "something that is no list"
						  : "something that has no keys");
		return NULL;
	}
	n = rs_node_new(&f->load, kind, at);
	if (i)
		i->value = n;
	else if (n)
		rs_node_append(&f->load, map, key, at, n);
	return f->load.err ? NULL : n;
}

static struct rs_node *fabric_part(struct ripstop_fabric *f, const char *key)
{
	return under(f, under(f, f->root, "fabric", RS_NODE_MAP), key, RS_NODE_MAP);
}

/* A key of a mapping anew. Nothing where text is NULL. */
static void put(struct ripstop_fabric *f, struct rs_node *map, const char *key, const char *text)
{
	struct rs_item *i = map ? rs_node_item(map, key) : NULL;
	struct rs_node *n;

	if (!text || !map || f->load.err)
		return;
	n = rs_node_new(&f->load, RS_NODE_SCALAR, map->at);
	if (n)
		n->text = rs_load_string(&f->load, text);
	if (i)
		i->value = n;
	else
		rs_node_append(&f->load, map, rs_load_string(&f->load, key), map->at, n);
}

static void put_number(struct ripstop_fabric *f, struct rs_node *map, const char *key, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	put(f, map, key, v ? text : NULL);
}

static void put_rate(struct ripstop_fabric *f, struct rs_node *map, const char *key, int64_t v)
{
	char text[32];

	if (v < 0)
		rs_load_fail(&f->load, -ERANGE, (struct rs_where){key, 0, 0},
			     "a rate below 0: %lld", (long long)v);
	put(f, map, key, v ? rs_format_rate(text, sizeof(text), v) : NULL);
}

static void put_time(struct ripstop_fabric *f, struct rs_node *map, const char *key, int64_t v)
{
	char text[32];

	if (v < 0)
		rs_load_fail(&f->load, -ERANGE, (struct rs_where){key, 0, 0},
			     "a time below 0: %lld", (long long)v);
	put(f, map, key, v ? rs_format_time(text, sizeof(text), v) : NULL);
}

static void put_bytes(struct ripstop_fabric *f, struct rs_node *map, const char *key, uint64_t v)
{
	char text[32];

	put(f, map, key, v ? rs_format_bytes(text, sizeof(text), v) : NULL);
}

static void put_real(struct ripstop_fabric *f, struct rs_node *map, const char *key, double v)
{
	char text[40];

	snprintf(text, sizeof(text), "%.17g", v);
	put(f, map, key, v != 0 ? text : NULL);
}

/* A new element, whose errors name the list and its number, from 1. */
static struct rs_node *element(struct ripstop_fabric *f, struct rs_node *list, const char *what,
			       enum rs_node_kind kind)
{
	struct rs_where at = {what, list ? (int)list->n + 1 : 0, 0};
	struct rs_node *n = list ? rs_node_new(&f->load, kind, at) : NULL;

	if (n)
		rs_node_append(&f->load, list, NULL, at, n);
	return f->load.err ? NULL : n;
}

/* ---- Networks ---- */

int ripstop_fabric_network(struct ripstop_fabric *f, const struct ripstop_network *theirs,
			   struct ripstop_error **e)
{
	struct ripstop_network c;
	int err = lib_take(&c, sizeof(c), theirs, "ripstop_network", e);
	struct rs_node *n;

	if (err)
		return err;
	n = fabric_part(f, "network");
	put(f, n, "kind", c.kind);
	put_number(f, n, "hosts", c.hosts);
	put_number(f, n, "nics", c.nics);
	put_number(f, n, "leaves", c.leaves);
	put_number(f, n, "spines", c.spines);
	put_number(f, n, "links", c.links);
	put_number(f, n, "k", c.k);
	put_number(f, n, "tiers", c.tiers);
	put_number(f, n, "rails", c.rails);
	put_number(f, n, c.kind && !strcmp(c.kind, "rail") ? "hosts_per_group" : "hosts_per_leaf",
		   c.hosts_per_leaf);
	put_number(f, n, "mtu", c.mtu);
	put_rate(f, n, "rate", c.rate);
	put_rate(f, n, "uplink_rate", c.uplink_rate);
	put_time(f, n, "delay", c.delay);
	put_time(f, n, "uplink_delay", c.uplink_delay);
	put_real(f, n, "loss", c.loss);
	return end_call(f, e);
}

/* network.hosts, switches and links make the kind explicit. */
static struct rs_node *drawn(struct ripstop_fabric *f, const char *key)
{
	struct rs_node *n = fabric_part(f, "network");

	if (n && !rs_node_get(n, "kind"))
		put(f, n, "kind", "explicit");
	return under(f, n, key, RS_NODE_LIST);
}

int ripstop_fabric_add_host(struct ripstop_fabric *f, const char *name, struct ripstop_error **e)
{
	struct rs_node *n = element(f, drawn(f, "hosts"), "host", RS_NODE_SCALAR);

	if (n)
		n->text = rs_load_string(&f->load, name);
	return end_call(f, e);
}

int ripstop_fabric_add_switch(struct ripstop_fabric *f, const char *name, uint32_t tier,
			      struct ripstop_error **e)
{
	struct rs_node *n = element(f, drawn(f, "switches"), "switch", RS_NODE_MAP);

	put(f, n, "name", name);
	put_number(f, n, "tier", tier);
	return end_call(f, e);
}

int ripstop_fabric_add_link(struct ripstop_fabric *f, const char *a, const char *b, int64_t rate,
			    int64_t delay, double loss, struct ripstop_error **e)
{
	struct rs_node *n = element(f, drawn(f, "links"), "link", RS_NODE_MAP);

	put(f, n, "a", a);
	put(f, n, "b", b);
	put_rate(f, n, "rate", rate);
	put_time(f, n, "delay", delay);
	put_real(f, n, "loss", loss);
	return end_call(f, e);
}

int ripstop_fabric_add_machines(struct ripstop_fabric *f, const char *name, uint32_t count,
				const char *like, struct ripstop_error **e)
{
	struct rs_node *hosts =
		under(f, under(f, f->root, "fabric", RS_NODE_MAP), "hosts", RS_NODE_LIST);
	struct rs_node *n = element(f, hosts, "machines", RS_NODE_MAP);

	put(f, n, "name", name);
	put_number(f, n, "count", count);
	put(f, n, "like", like);
	return end_call(f, e);
}

/* ---- Classes and congestion control ---- */

static struct rs_node *class_node(struct ripstop_fabric *f, uint32_t number)
{
	struct rs_node *list = under(f, fabric_part(f, "qos"), "classes", RS_NODE_LIST), *n;
	char text[16];

	snprintf(text, sizeof(text), "%u", number);
	for (struct rs_item *i = list ? list->first : NULL; i; i = i->next) {
		const struct rs_node *c = rs_node_get(i->value, "class");

		if (c && c->kind == RS_NODE_SCALAR && !strcmp(c->text, text))
			return i->value;
	}
	n = element(f, list, "class", RS_NODE_MAP);
	put(f, n, "class", text);
	return n;
}

int ripstop_fabric_set_class(struct ripstop_fabric *f, uint32_t number, const char *key,
			     const char *value, struct ripstop_error **e)
{
	put(f, class_node(f, number), key, value);
	return end_call(f, e);
}

int ripstop_fabric_set_cc(struct ripstop_fabric *f, const char *algorithm, const char *preset,
			  struct ripstop_error **e)
{
	struct rs_node *n = fabric_part(f, "cc");

	put(f, n, "kind", algorithm);
	put(f, n, "preset", preset);
	return end_call(f, e);
}

/* ---- Work ---- */

static struct rs_node *job(struct ripstop_fabric *f, const char *name)
{
	struct rs_node *n =
		element(f, under(f, f->root, "workload", RS_NODE_LIST), "job", RS_NODE_MAP);

	put(f, n, "name", name);
	return n;
}

int ripstop_fabric_add_flows(struct ripstop_fabric *f, const char *name,
			     const struct ripstop_flow *flows, size_t n, size_t each,
			     struct ripstop_error **e)
{
	int64_t(*rows)[RS_NODE_COLUMNS];
	struct rs_node *to, *table;

	if (each < offsetof(struct ripstop_flow, unused) || n > RS_FLOWS_MAX)
		return lib_fail(e, n > RS_FLOWS_MAX ? -E2BIG : -EINVAL,
				"expected at most %d flows of sizeof(struct ripstop_flow)",
				RS_FLOWS_MAX);
	rows = rs_load_take(&f->load, n ? n : 1, sizeof(*rows));
	table = rs_node_new(&f->load, RS_NODE_TABLE, (struct rs_where){"flows", 0, 0});
	for (size_t i = 0; rows && i < n; i++) {
		struct ripstop_flow k;

		memcpy(&k, (const char *)flows + i * each, each < sizeof(k) ? each : sizeof(k));
		rows[i][0] = k.start;
		rows[i][1] = k.src;
		rows[i][2] = k.dst;
		rows[i][3] = k.bytes > INT64_MAX ? INT64_MAX : (int64_t)k.bytes;
		rows[i][4] = k.traffic_class;
	}
	to = job(f, name);
	if (to && table && rows) {
		table->rows = (const int64_t(*)[RS_NODE_COLUMNS])rows;
		table->n = (uint32_t)n;
		rs_node_append(&f->load, to, "flows", to->at, table);
	}
	return end_call(f, e);
}

int ripstop_fabric_add_collective(struct ripstop_fabric *f, const struct ripstop_collective *theirs,
				  struct ripstop_error **e)
{
	struct ripstop_collective c;
	int err = lib_take(&c, sizeof(c), theirs, "ripstop_collective", e);
	struct rs_node *n;

	if (err)
		return err;
	n = under(f, job(f, c.name), "collective", RS_NODE_MAP);
	put(f, n, "op", c.op);
	put(f, n, "algorithm", c.algorithm);
	put_bytes(f, n, "bytes", c.bytes);
	put_number(f, n, "ranks", c.ranks);
	put_number(f, n, "channels", c.channels);
	put_number(f, n, "qps", c.qps);
	put_number(f, n, "repeat", c.repeat);
	put_bytes(f, n, "chunk", c.chunk);
	put_time(f, n, "start", c.start);
	return end_call(f, e);
}

int ripstop_fabric_add_training(struct ripstop_fabric *f, const struct ripstop_training *theirs,
				struct ripstop_error **e)
{
	struct ripstop_training t;
	int err = lib_take(&t, sizeof(t), theirs, "ripstop_training", e);
	struct rs_node *n, *c;

	if (err)
		return err;
	n = under(f, job(f, t.name), "train", RS_NODE_MAP);
	put_real(f, n, "parameters", t.parameters);
	put_real(f, n, "tokens", t.tokens);
	put_real(f, n, "flops", t.flops);
	if (t.overlap < 0)
		put(f, n, "overlap", "0");
	else
		put_real(f, n, "overlap", t.overlap);
	put_number(f, n, "dp", t.dp);
	put_number(f, n, "tp", t.tp);
	put_number(f, n, "pp", t.pp);
	put_bytes(f, n, "bucket", t.bucket);
	put_bytes(f, n, "simulate", t.simulate);
	if (t.qps || t.algorithm) {
		c = under(f, n, "collective", RS_NODE_MAP);
		put_number(f, c, "qps", t.qps);
		put(f, c, "algorithm", t.algorithm);
	}
	return end_call(f, e);
}

int ripstop_fabric_add_what_if(struct ripstop_fabric *f, const char *name, const char *path,
			       const char *value, struct ripstop_error **e)
{
	struct rs_node *list = under(f, f->root, "what-if", RS_NODE_LIST), *n = NULL;

	for (struct rs_item *i = list ? list->first : NULL; i && !n; i = i->next) {
		const struct rs_node *of = rs_node_get(i->value, "name");

		if (of && of->kind == RS_NODE_SCALAR && !strcmp(of->text, name))
			n = i->value;
	}
	if (!n) {
		n = element(f, list, "what-if", RS_NODE_MAP);
		put(f, n, "name", name);
	}
	put(f, under(f, n, "set", RS_NODE_MAP), path, value);
	return end_call(f, e);
}

/* ---- What it is ---- */

static void count(const struct rs_fabric *f, struct ripstop_fabric_facts *out)
{
	struct rs_network_facts k;

	rs_fabric_facts(f, &k);
	*out = (struct ripstop_fabric_facts){
		.hosts = f->n_hosts,
		.endpoints = f->n_endpoints,
		.switches = f->n_switches,
		.links = f->n_links,
		.gpus = f->n_gpus,
		.jobs = f->n_jobs,
		.tiers = k.tiers,
		.diameter = k.diameter,
		.oversubscription = k.oversubscription,
		.bisection = k.bisection,
	};
}

int ripstop_fabric_check(const struct ripstop_fabric *f, struct ripstop_fabric_facts *theirs,
			 struct ripstop_error **e)
{
	struct ripstop_fabric_facts ours;
	struct rs_error inner = {0};
	struct rs_fabric *built;
	int err = lib_fabric_build(f, NULL, 0, &built, &inner);

	if (err)
		return lib_error(e, &inner, err);
	if (theirs) {
		count(built, &ours);
		lib_give(theirs, &ours, sizeof(ours));
	}
	rs_fabric_free(built);
	return 0;
}

int ripstop_fabric_yaml(const struct ripstop_fabric *f, char **text, struct ripstop_error **e)
{
	struct rs_error inner = {0};
	struct rs_fabric *built;
	size_t n;
	FILE *out;
	int err = lib_fabric_build(f, NULL, 0, &built, &inner);

	*text = NULL;
	if (err)
		return lib_error(e, &inner, err);
	out = open_memstream(text, &n);
	err = out ? rs_fabric_write(built, out) : -ENOMEM;
	if (out && fclose(out) && !err)
		err = -ENOMEM;
	rs_fabric_free(built);
	if (!err)
		return 0;
	free(*text);
	*text = NULL;
	return lib_fail(e, err, "the fabric cannot be written: %s", strerror(-err));
}
