/* Opening a trace: which files, of which kind, how many ranks; and what its readers share. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fabric/order.h"
#include "import/trace_state.h"
#include "measured/inspector.h"

enum { KIND_BYTES = 4096 };

/* ---- What readers share ---- */

bool trace_grow(struct trace *t, void **array, uint32_t n, uint32_t *room, size_t size)
{
	uint32_t more = *room ? 2 * *room : 64;
	void *m;

	if (t->l->err)
		return false;
	if (n < *room)
		return true;
	m = realloc(*array, more * size);
	if (!m) {
		rs_load_fail(t->l, -ENOMEM, (struct rs_where){t->name, 0, 0}, "out of memory");
		return false;
	}
	*array = m;
	*room = more;
	return true;
}

uint32_t trace_node(struct trace *t, const struct rs_work_node *n, uint64_t id, struct rs_where at)
{
	struct rs_work_node k = *n;
	uint32_t node;

	if (!trace_grow(t, (void **)&t->id, t->n_ids, &t->room_ids, sizeof(*t->id)))
		return RS_WORK_NONE;
	k.id = id;
	node = rs_work_add(t->w, t->rank, &k);
	if (node == RS_WORK_NONE) {
		rs_error_place(t->l->e, at);
		t->l->err = t->w->err;
		return node;
	}
	t->id[t->n_ids++] = (struct trace_id){id, node};
	return node;
}

void trace_after(struct trace *t, uint64_t on)
{
	if (trace_grow(t, (void **)&t->dep, t->n_deps, &t->room_deps, sizeof(*t->dep)))
		t->dep[t->n_deps++] = (struct trace_dep){t->w->rank[t->rank].n - 1, on};
}

static int by_id(const void *x, const void *y)
{
	const struct trace_id *a = x, *b = y;

	return a->id != b->id ? (a->id < b->id ? -1 : 1) : a->node < b->node ? -1 : 1;
}

static uint32_t find(const struct trace *t, uint64_t id)
{
	uint32_t low = 0, high = t->n_ids;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (t->id[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low < t->n_ids && t->id[low].id == id ? t->id[low].node : RS_WORK_NONE;
}

static int by_node(const void *x, const void *y)
{
	const struct trace_dep *a = x, *b = y;

	return a->node != b->node ? (a->node < b->node ? -1 : 1)
	       : a->on < b->on    ? -1
				  : a->on > b->on;
}

/* Dependencies are written node by node: the graph is told of them in that order. */
static void tell_deps(struct trace *t, bool strict, struct rs_where at)
{
	for (uint32_t i = 0; i < t->n_deps && !t->l->err; i++) {
		const struct trace_dep *d = &t->dep[i];
		uint32_t on = find(t, d->on);

		if (on == d->node && strict) {
			rs_load_fail(t->l, -EINVAL, at, "node %llu of rank %u waits for itself",
				     (unsigned long long)d->on, t->rank);
		} else if (on != RS_WORK_NONE && on != d->node) {
			rs_work_depend(t->w, t->rank, d->node, on);
		} else if (strict) {
			rs_load_fail(t->l, -EINVAL, at,
				     "a node of rank %u waits for node %llu, which is not there",
				     t->rank, (unsigned long long)d->on);
		} else {
			t->w->missing++;
		}
	}
	if (!t->l->err)
		t->l->err = t->w->err;
}

void trace_close_rank(struct trace *t, bool strict, struct rs_where at)
{
	if (t->n_ids)
		qsort(t->id, t->n_ids, sizeof(*t->id), by_id);
	for (uint32_t i = 1; i < t->n_ids && !t->l->err; i++)
		if (t->id[i].id == t->id[i - 1].id)
			rs_load_fail(t->l, -EINVAL, at, "rank %u has two nodes with number %llu",
				     t->rank, (unsigned long long)t->id[i].id);
	if (t->n_deps)
		qsort(t->dep, t->n_deps, sizeof(*t->dep), by_node);
	tell_deps(t, strict, at);
	t->n_ids = t->n_deps = 0;
}

uint32_t trace_everyone(struct trace *t)
{
	uint32_t *all;

	if (t->everyone != RS_WORK_NONE || t->l->err)
		return t->everyone;
	all = rs_load_take(t->l, t->w->n_ranks, sizeof(*all));
	for (uint32_t i = 0; all && i < t->w->n_ranks; i++)
		all[i] = i;
	if (all)
		t->everyone = rs_work_group(t->w, all, t->w->n_ranks);
	return t->everyone;
}

/* ASTRA-sim takes names of groups as numbers: "4.0" is group "4". */
static bool same_number(const char *a, const char *b)
{
	size_t n = strspn(a, "0123456789"), m = strspn(b, "0123456789");
	const char *rest = b + m;

	if (!n || a[n] || n != m || strncmp(a, b, n) != 0 || *rest != '.')
		return false;
	rest++;
	return rest[strspn(rest, "0")] == '\0';
}

uint32_t trace_find_group(struct trace *t, const char *name)
{
	for (uint32_t i = 0; i < t->n_groups; i++)
		if (!strcmp(t->group[i].name, name))
			return t->group[i].group;
	for (uint32_t i = 0; i < t->n_groups; i++)
		if (same_number(t->group[i].name, name))
			return t->group[i].group;
	return RS_WORK_NONE;
}

static bool same_ranks(const struct rs_work_group *g, const uint32_t *ranks, uint32_t n)
{
	return g->n == n && !memcmp(g->rank, ranks, n * sizeof(*ranks));
}

static void check_ranks(struct trace *t, const char *name, const uint32_t *ranks, uint32_t n,
			struct rs_where at)
{
	uint8_t *seen = calloc(t->w->n_ranks, 1);

	for (uint32_t i = 0; seen && i < n && !t->l->err; i++) {
		if (ranks[i] >= t->w->n_ranks || seen[ranks[i]])
			rs_load_fail(t->l, -EINVAL, at,
				     "group '%.60s': rank %u is %s; the trace has %u ranks", name,
				     ranks[i],
				     ranks[i] < t->w->n_ranks ? "there twice" : "too large",
				     t->w->n_ranks);
		else
			seen[ranks[i]] = 1;
	}
	if (!seen)
		rs_load_fail(t->l, -ENOMEM, at, "out of memory");
	free(seen);
}

void trace_add_group(struct trace *t, const char *name, const uint32_t *ranks, uint32_t n,
		     struct rs_where at)
{
	uint32_t i = 0;

	check_ranks(t, name, ranks, n, at);
	while (i < t->n_groups && strcmp(t->group[i].name, name) != 0)
		i++;
	if (i < t->n_groups && same_ranks(&t->w->group[t->group[i].group], ranks, n))
		return;
	if (i == t->n_groups) {
		if (!trace_grow(t, (void **)&t->group, i, &t->room_groups, sizeof(*t->group)))
			return;
		t->group[t->n_groups++] = (struct trace_group){rs_load_string(t->l, name), 0};
	}
	if (t->l->err)
		return;
	t->group[i].group = n ? rs_work_group(t->w, ranks, n) : trace_everyone(t);
	t->l->err = t->w->err;
}

/* ---- Files ---- */

static FILE *open_file(struct trace *t, const char *path, struct rs_where at)
{
	int fd = t->l->err ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	FILE *in = NULL;

	if (t->l->err)
		return NULL;
	if (fd < 0 || fstat(fd, &st))
		rs_load_fail(t->l, -errno, at, "cannot read '%s': %s", path, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		rs_load_fail(t->l, -EINVAL, at, "'%s' is not a regular file", path);
	else if (!(in = fdopen(fd, "rb")))
		rs_load_fail(t->l, -ENOMEM, at, "out of memory");
	if (!in && fd >= 0)
		close(fd);
	return in;
}

enum kind { KIND_CHAKRA, KIND_JSON, KIND_GOAL, KIND_SIMAI, KIND_AICB, KIND_INSPECTOR, KIND_NONE };

/* Comments of GOAL and blanks stand before its first word. */
static const char *first_word(const char *s)
{
	for (;;) {
		s += strspn(s, " \t\r\n");
		if (!strncmp(s, "//", 2) && strchr(s, '\n'))
			s = strchr(s, '\n');
		else if (!strncmp(s, "/*", 2) && strstr(s, "*/"))
			s = strstr(s, "*/") + 2;
		else
			return s;
	}
}

static bool begins(const char *s, const char *const *words)
{
	for (; *words; words++)
		if (!strncmp(s, *words, strlen(*words)))
			return true;
	return false;
}

static enum kind kind_of(FILE *in)
{
	static const char *const goal[] = {"num_ranks", "rank ", NULL};
	/* the policies that ASTRA-sim 1's and SimAI's workload files begin with */
	static const char *const simai[] = {
		"HYBRID_", "DATA", "MODEL", "TRANSFORMER", "MICRO", "DISTRIBUTED_INFERENCE", NULL};
	static const char *const aicb[] = {"comm_type,", "[rank", "[ pp_stage", NULL};
	char head[KIND_BYTES];
	size_t n = fread(head, 1, sizeof(head) - 1, in);
	const char *s;

	rewind(in);
	head[n] = '\0';
	if (!n)
		return KIND_NONE;
	s = first_word(head);
	if (*s == '{')
		return rs_inspector_is(head, n) ? KIND_INSPECTOR : KIND_JSON;
	if (begins(s, goal))
		return KIND_GOAL;
	if (begins(s, aicb))
		return KIND_AICB;
	return begins(s, simai) ? KIND_SIMAI : KIND_CHAKRA;
}

/* A pattern with one %d, as `name.%d.et`: the files that are there from 0 on. */
static uint32_t expand(struct trace *t, const char *pattern, const char ***out, struct rs_where at)
{
	const char *d = strstr(pattern, "%d");
	const char **file = NULL;
	uint32_t n = 0, room = 0;

	for (; !t->l->err; n++) {
		const char *path = rs_arena_printf(t->l->arena, "%.*s%u%s", (int)(d - pattern),
						   pattern, n, d + 2);

		if (!path)
			rs_load_fail(t->l, -ENOMEM, at, "out of memory");
		else if (n == RS_TRACE_FILES_MAX)
			rs_load_fail(t->l, -E2BIG, at, "more than %d files like '%s'",
				     RS_TRACE_FILES_MAX, pattern);
		if (t->l->err || access(path, F_OK) ||
		    !trace_grow(t, (void **)&file, n, &room, sizeof(*file)))
			break;
		file[n] = path;
	}
	if (!t->l->err && !n)
		rs_load_fail(t->l, -ENOENT, at, "there is no file '%s' with 0 for %%d", pattern);
	*out = file;
	return n;
}

static void make_work(struct trace *t, uint32_t n_ranks, struct rs_where at)
{
	if (t->l->err)
		return;
	t->w = rs_work_create(t->l->arena, n_ranks, t->l->e);
	if (t->w)
		return;
	rs_error_place(t->l->e, at);
	t->l->err = t->l->e->code;
}

static void read_one(struct trace *t, FILE *in, enum kind kind)
{
	if (kind == KIND_GOAL)
		trace_goal(t, in);
	else if (kind == KIND_SIMAI)
		trace_simai(t, in);
	else if (kind == KIND_AICB)
		trace_aicb(t, in);
	else if (kind == KIND_JSON)
		trace_json(t, in);
	else if (kind == KIND_CHAKRA)
		trace_chakra(t, in);
	else
		rs_load_fail(t->l, -EINVAL, (struct rs_where){t->name, 1, 1}, "an empty file");
}

static void read_groups(struct trace *t, struct rs_where at)
{
	size_t n;
	char *text;

	if (!t->c->groups || t->l->err)
		return;
	text = rs_load_file(t->l, t->c->groups, RS_TRACE_MESSAGE_MAX, at, &n);
	if (text)
		trace_groups(t, text, n, t->c->groups);
	free(text);
}

static void read_files(struct trace *t, const char *const *file, uint32_t n, struct rs_where at)
{
	for (uint32_t i = 0; i < n && !t->l->err; i++) {
		FILE *in = open_file(t, file[i], at);
		enum kind kind = in ? kind_of(in) : KIND_NONE;
		bool all = kind == KIND_GOAL || kind == KIND_SIMAI || kind == KIND_AICB;

		t->name = file[i];
		t->rank = i;
		if (kind == KIND_INSPECTOR && !i) {
			fclose(in);
			trace_inspector(t, file, n, at);
			return;
		}
		if (in && all && n > 1)
			rs_load_fail(t->l, -EINVAL, at,
				     "'%s' has all ranks of its trace: it stands alone", file[i]);
		if (in && !all && !i) {
			make_work(t, n, at);
			read_groups(t, at);
		}
		if (in && !t->l->err)
			read_one(t, in, kind);
		if (in)
			fclose(in);
	}
}

static struct rs_work *finish(struct trace *t, struct rs_where at)
{
	if (!t->l->err && (t->l->err = rs_work_sort(t->w, t->l->e)))
		rs_error_place(t->l->e, (struct rs_where){t->name, 0, 0});
	if (t->l->err)
		rs_error_place(t->l->e, (struct rs_where){t->name, 0, 0});
	if (!t->l->err && !t->w->n_nodes)
		rs_load_fail(t->l, -EINVAL, at, "'%s': a trace without a node", t->name);
	free(t->group);
	free(t->id);
	free(t->dep);
	return t->l->err ? NULL : t->w;
}

struct rs_work *rs_trace_read(struct rs_load *l, const struct rs_trace_conf *c, struct rs_where at)
{
	struct trace t = {.l = l, .c = c, .everyone = RS_WORK_NONE, .name = c->file[0]};
	const char *const *file = c->file;
	const char **all = NULL;
	uint32_t n = c->n_files;

	if (n == 1 && strstr(file[0], "%d")) {
		n = expand(&t, file[0], &all, at);
		file = all;
	}
	read_files(&t, file, n, at);
	free(all);
	return finish(&t, at);
}

struct rs_work *rs_trace_read_text(struct rs_load *l, const char *text, size_t n, const char *name)
{
	static const struct rs_trace_conf none = {.flops = 1e12, .ranks = 8};
	struct trace t = {.l = l, .c = &none, .everyone = RS_WORK_NONE, .name = name};
	FILE *in = n ? fmemopen((void *)(uintptr_t)text, n, "rb") : NULL;
	enum kind kind = in ? kind_of(in) : KIND_NONE;

	if (kind == KIND_CHAKRA || kind == KIND_JSON)
		make_work(&t, 1, (struct rs_where){name, 0, 0});
	if (kind == KIND_INSPECTOR)
		trace_inspector_text(&t, text, n);
	else if (!l->err)
		read_one(&t, in, kind);
	if (in)
		fclose(in);
	return finish(&t, (struct rs_where){name, 0, 0});
}
