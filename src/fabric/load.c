/* Reading a description: parse, apply settings, then each part in the order in which the next needs
 * it: hosts, network, routes, classes, workload. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fabric/load.h"

static uint32_t hash(const char *s)
{
	uint32_t h = 2166136261u;

	while (*s)
		h = (h ^ (uint8_t)*s++) * 16777619u;
	return h;
}

bool names_create(struct load *l, struct names *t, uint32_t n)
{
	t->size = 16;
	while (t->size < 2 * n)
		t->size *= 2;
	t->slot = take(l, t->size, sizeof(*t->slot));
	return t->slot;
}

bool names_add(struct names *t, const char *name, uint32_t id)
{
	uint32_t i = hash(name) & (t->size - 1);

	for (; t->slot[i].name; i = (i + 1) & (t->size - 1))
		if (!strcmp(t->slot[i].name, name))
			return false;
	t->slot[i].name = name;
	t->slot[i].id = id;
	return true;
}

bool names_find(const struct names *t, const char *name, uint32_t *id)
{
	uint32_t i = hash(name) & (t->size - 1);

	for (; t->slot[i].name; i = (i + 1) & (t->size - 1))
		if (!strcmp(t->slot[i].name, name)) {
			*id = t->slot[i].id;
			return true;
		}
	return false;
}

/* A regular file, opened without waiting for a writer; its size. -1 after an error. */
static int open_regular(struct load *l, const char *path, size_t max, struct rs_where at,
			size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st = {0};

	if (fd < 0 || fstat(fd, &st))
		fail(l, -errno, at, "cannot read '%s': %s", path, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		fail(l, -EINVAL, at, "'%s' is not a regular file", path);
	else if ((uint64_t)st.st_size > max)
		fail(l, -E2BIG, at, "'%s' is larger than %zu MiB", path, max >> 20);
	if (l->err && fd >= 0)
		close(fd);
	*size = (size_t)st.st_size;
	return l->err ? -1 : fd;
}

char *read_file(struct load *l, const char *path, size_t max, struct rs_where at, size_t *n)
{
	size_t size = 0;
	int fd = l->err ? -1 : open_regular(l, path, max, at, &size);
	char *buf = fd < 0 ? NULL : malloc(size + 1);
	ssize_t got = 1;

	*n = 0;
	if (fd < 0)
		return NULL;
	while (buf && *n < size && got > 0) {
		got = read(fd, buf + *n, size - *n);
		if (got > 0)
			*n += (size_t)got;
	}
	if (!buf)
		fail(l, -ENOMEM, at, "out of memory");
	else if (got < 0)
		fail(l, -EIO, at, "cannot read '%s': %s", path, strerror(errno));
	close(fd);
	if (!buf || got < 0) {
		free(buf);
		return NULL;
	}
	buf[*n] = '\0';
	return buf;
}

const char *beside(struct load *l, const char *path)
{
	const char *p = path;

	if (*path != '/' && l->base_dir && *l->base_dir)
		p = rs_arena_printf(l->arena, "%s/%s", l->base_dir, path);
	if (!p)
		fail(l, -ENOMEM, (struct rs_where){0}, "out of memory");
	return p;
}

static void read_all(struct load *l, struct rs_fabric *f, const struct node *root)
{
	static const char *const top[] = {"fabric", "workload", "what-if", "title", "about", NULL};
	static const char *const parts[] = {"hosts",     "network",    "qos",    "cc",
					    "transport", "host_model", "change", "pairing",
					    "preset",    NULL};
	static const char *const presets[] = {"none", "ns-3", NULL};
	static const char *const pairings[] = {"nearest", "index", NULL};
	int pairing = 0, preset = 0;
	const struct node *fabric;

	if (!keys(l, root, "the file", top))
		return;
	get_string(l, root, "title", &f->title);
	get_string(l, root, "about", &f->about);
	fabric = need(l, root, "fabric", "the file");
	if (!fabric || !keys(l, fabric, "fabric", parts))
		return;
	get_name(l, fabric, "preset", presets, &preset);
	f->preset = (__typeof__(f->preset))preset;
	load_host_model(l, f, get(fabric, "host_model"));
	load_transport(l, f, get(fabric, "transport"));
	get_name(l, fabric, "pairing", pairings, &pairing);
	f->pair_by_index = pairing == 1;
	load_hosts(l, f, fabric);
	load_network(l, f, fabric);
	change_network(l, f, get(fabric, "change"));
	build_routes(l, f);
	load_qos(l, f, get(fabric, "qos"));
	change_qos(l, f, get(fabric, "change"));
	load_cc(l, f, get(fabric, "cc"));
	check_pauses(l, f, get(fabric, "qos"));
	load_workload(l, f, get(root, "workload"));
	load_whatifs(l, f, get(root, "what-if"));
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

/* The tree of {fabric: {hosts: [{name: h, like: FILE}], network: {kind: single-switch}}}. */
static struct node *host_alone(struct load *l, struct rs_fabric *f)
{
	static const char text[] = "fabric: {hosts: [{name: h}], network: {kind: single-switch}}";
	struct rs_where at = {l->name, 1, 1};
	const char *slash = strrchr(l->name, '/');
	struct node *root = tree_parse(l, text, strlen(text), l->name);
	char *quoted = NULL;
	size_t n;
	FILE *out = l->err ? NULL : open_memstream(&quoted, &n);

	if (out) {
		tree_write_string(out, slash ? slash + 1 : l->name);
		fclose(out);
		tree_set(l, root, "fabric.hosts[0].like", quoted, at);
	}
	free(quoted);
	f->assumed =
		"the file describes the inside of a host: one such host, h0, each of its NICs on a "
		"port at 400G of a single switch, the defaults for the rest; --set "
		"fabric.hosts.h.count=N makes it more";
	return root;
}

int rs_fabric_load_text(const char *text, size_t n, const char *name, const char *base_dir,
			const struct rs_setting *set, uint32_t n_set, struct rs_fabric **out,
			struct rs_error *e)
{
	struct rs_error own = {0};
	struct load l = {.e = e ? e : &own, .base_dir = base_dir};
	struct rs_fabric *f = NULL;
	struct node *root;

	*out = NULL;
	l.arena = rs_arena_create((size_t)16 << 30);
	if (!l.arena)
		return rs_error_set(e, -ENOMEM, "out of memory");
	f = take(&l, 1, sizeof(*f));
	l.name = take_string(&l, name);
	root = is_xml(text, n) ? host_alone(&l, f) : tree_parse(&l, text, n, l.name);
	for (uint32_t i = 0; i < n_set && !l.err; i++)
		tree_set(&l, root, set[i].path, set[i].value, set[i].at);
	if (!l.err) {
		f->arena = l.arena;
		f->name = l.name;
		read_all(&l, f, root);
	}
	if (l.err) {
		rs_arena_destroy(l.arena);
		return l.err;
	}
	*out = f;
	return 0;
}

int rs_fabric_load(const char *path, const struct rs_setting *set, uint32_t n_set,
		   struct rs_fabric **out, struct rs_error *e)
{
	struct rs_error own = {0};
	struct load l = {.e = e ? e : &own};
	struct rs_where at = {path, 0, 0};
	const char *slash = strrchr(path, '/');
	char *dir, *text;
	size_t n;
	int err;

	*out = NULL;
	text = read_file(&l, path, TREE_BYTES_MAX, at, &n);
	if (!text)
		return l.err;
	dir = strndup(slash ? path : ".", slash ? (size_t)(slash - path) + (slash == path) : 1);
	err = dir ? rs_fabric_load_text(text, n, path, dir, set, n_set, out, e)
		  : rs_error_set(e, -ENOMEM, "out of memory");
	free(dir);
	free(text);
	return err;
}

void rs_fabric_free(struct rs_fabric *f)
{
	if (f)
		rs_arena_destroy(f->arena);
}
