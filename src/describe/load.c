/* Reading a description: parse, apply settings, then each part in the order in which the next needs
 * it: hosts, network, routes, classes, workload. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "describe/describe.h"
#include "describe/load.h"

static void read_all(struct rs_load *l, struct rs_fabric *f, const struct rs_node *root)
{
	static const char *const top[] = {"fabric", "workload", "what-if", "observe",
					  "title",  "about",    NULL};
	static const char *const parts[] = {"hosts",     "network",    "qos",      "cc",
					    "transport", "host_model", "change",   "pairing",
					    "preset",    "events",     "failover", NULL};
	static const char *const presets[] = {"none", "ns-3", NULL};
	static const char *const pairings[] = {"nearest", "index", NULL};
	int pairing = 0, preset = 0;
	const struct rs_node *fabric;

	if (!rs_node_keys(l, root, "the file", top))
		return;
	rs_node_string(l, root, "title", &f->title);
	rs_node_string(l, root, "about", &f->about);
	fabric = rs_node_need(l, root, "fabric", "the file");
	if (!fabric || !rs_node_keys(l, fabric, "fabric", parts))
		return;
	rs_node_name(l, fabric, "preset", presets, &preset);
	f->preset = (enum rs_fabric_preset)preset;
	rs_fabric_defaults(f);
	load_host_model(l, f, rs_node_get(fabric, "host_model"));
	load_transport(l, f, rs_node_get(fabric, "transport"));
	rs_node_name(l, fabric, "pairing", pairings, &pairing);
	f->pair_by_index = pairing == 1;
	load_hosts(l, f, fabric);
	load_network(l, f, fabric);
	change_network(l, f, rs_node_get(fabric, "change"));
	rs_fabric_route(l, f);
	load_events(l, f, fabric);
	load_qos(l, f, rs_node_get(fabric, "qos"));
	change_qos(l, f, rs_node_get(fabric, "change"));
	load_cc(l, f, rs_node_get(fabric, "cc"));
	load_workload(l, f, rs_node_get(root, "workload"));
	check_pauses(l, f, rs_node_get(fabric, "qos"));
	load_observe(l, f, rs_node_get(root, "observe"));
	load_whatifs(l, f, rs_node_get(root, "what-if"));
}

/* ---- A host's file alone ---- */

/* NCCL's and hwloc's files are XML; no YAML begins so. */
static bool is_xml(const char *text, size_t n)
{
	size_t i = n >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0;

	while (i < n && strchr(" \t\r\n", text[i]))
		i++;
	return i < n && text[i] == '<';
}

static const char host_assumes[] =
	"the file describes the inside of a host: one such host, h0, each of its NICs on a "
	"port at 400G of a single switch, the defaults for the rest; --set "
	"fabric.hosts.h.count=N makes it more";

/* The tree of {fabric: {hosts: [{name: h, like: FILE}], network: {kind: single-switch}}}. */
static struct rs_node *host_alone(struct rs_load *l)
{
	static const char text[] = "fabric: {hosts: [{name: h}], network: {kind: single-switch}}";
	struct rs_where at = {l->name, 1, 1};
	const char *slash = strrchr(l->name, '/');
	struct rs_node *root = rs_tree_parse(l, text, strlen(text), l->name);
	char *quoted = NULL;
	size_t n;
	FILE *out = l->err ? NULL : open_memstream(&quoted, &n);

	if (out) {
		rs_tree_write_string(out, slash ? slash + 1 : l->name);
		fclose(out);
		rs_tree_set(l, root, "fabric.hosts[0].like", quoted, at);
	}
	free(quoted);
	return root;
}

/* The settings, then all parts, into f, which rs_fabric_create() made. */
static int finish(struct rs_load *l, struct rs_fabric *f, struct rs_node *root,
		  const struct rs_setting *set, uint32_t n_set, struct rs_fabric **out)
{
	for (uint32_t i = 0; i < n_set && !l->err; i++)
		rs_tree_set(l, root, set[i].path, set[i].value, set[i].at);
	if (!l->err)
		read_all(l, f, root);
	if (l->err)
		rs_fabric_free(f);
	else
		*out = f;
	return l->err;
}

struct rs_node *rs_fabric_tree(struct rs_load *l, const char *text, size_t n, const char **assumed)
{
	bool host = is_xml(text, n);

	*assumed = host ? host_assumes : NULL;
	return host ? host_alone(l) : rs_tree_parse(l, text, n, l->name);
}

int rs_fabric_load_text(const char *text, size_t n, const char *name, const char *base_dir,
			const struct rs_setting *set, uint32_t n_set, struct rs_fabric **out,
			struct rs_error *e)
{
	struct rs_error own = {0};
	struct rs_fabric *f;
	struct rs_load l;

	*out = NULL;
	f = rs_fabric_create(&l, name, RS_PRESET_NONE, e ? e : &own);
	if (!f)
		return l.err;
	l.base_dir = base_dir;
	return finish(&l, f, rs_fabric_tree(&l, text, n, &f->assumed), set, n_set, out);
}

int rs_fabric_load_tree(const struct rs_node *root, const char *name, const char *base_dir,
			const struct rs_setting *set, uint32_t n_set, struct rs_fabric **out,
			struct rs_error *e)
{
	struct rs_error own = {0};
	struct rs_fabric *f;
	struct rs_load l;

	*out = NULL;
	f = rs_fabric_create(&l, name, RS_PRESET_NONE, e ? e : &own);
	if (!f)
		return l.err;
	l.base_dir = base_dir;
	return finish(&l, f, rs_node_copy(&l, root), set, n_set, out);
}

int rs_fabric_load(const char *path, const struct rs_setting *set, uint32_t n_set,
		   struct rs_fabric **out, struct rs_error *e)
{
	struct rs_error own = {0};
	struct rs_load l = {.e = e ? e : &own};
	struct rs_where at = {path, 0, 0};
	const char *slash = strrchr(path, '/');
	char *dir, *text;
	size_t n;
	int err;

	*out = NULL;
	text = rs_load_file(&l, path, RS_TREE_BYTES_MAX, at, &n);
	if (!text)
		return l.err;
	dir = strndup(slash ? path : ".", slash ? (size_t)(slash - path) + (slash == path) : 1);
	err = dir ? rs_fabric_load_text(text, n, path, dir, set, n_set, out, e)
		  : rs_error_set(e, -ENOMEM, "out of memory");
	free(dir);
	free(text);
	return err;
}

const char *const *rs_fabric_choices(const char *path)
{
	static const struct {
		const char *path;
		const char *const *names;
	} of[] = {{"fabric.qos.routing", routing_names},
		  {"fabric.transport.recovery", recoveries},
		  {"fabric.transport.kind", transport_names},
		  {"fabric.network.kind", network_kinds}};

	for (unsigned i = 0; i < sizeof(of) / sizeof(*of); i++)
		if (!strcmp(path, of[i].path))
			return of[i].names;
	return NULL;
}
