/* Matrices of pairs in the forms that people have: tables, lists, JSON, logs named by their pair.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/units.h"
#include "expect/pairs.h"
#include "measured/measured.h"
#include "text/tree.h"

enum { SLOTS = 4096, WORDS = RS_PAIRS_MAX + 8, LINE_BYTES = 1 << 17, CELLS_MAX = 1 << 22 };

struct cell {
	uint32_t from, to;
	double value;
};
struct pairs_cells {
	uint32_t n, room;
	struct cell *cell;
	uint32_t slot[SLOTS]; /* names by their hash: number + 1 */
	bool any_latency, any_rate;
};

struct reader {
	struct rs_pairs *p;
	const char *path;
	struct rs_error *e;
	int line, err;
	char *text;
	char *word[WORDS];
	uint32_t n_words;
	char separator;                    /* ',', ';', '\t', or ' ' for any blanks */
	uint32_t column[WORDS], n_columns; /* a table's names */
	uint32_t rows, heading;            /* heading: words of the line with names */
};

__attribute__((format(printf, 2, 3))) static int bad(struct reader *r, const char *fmt, ...)
{
	char what[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return r->err = rs_error_at(r->e, -EINVAL, (struct rs_where){r->path, r->line, 1}, "%s",
				    what);
}

static int no_memory(struct reader *r)
{
	return r->err = rs_error_set(r->e, -ENOMEM, "out of memory");
}

/* ---- Names and cells ---- */

static uint32_t hash(const char *s, size_t n)
{
	uint32_t h = 2166136261u; /* FNV-1a */

	for (size_t i = 0; i < n; i++)
		h = (h ^ (uint8_t)s[i]) * 16777619u;
	return h;
}

static uint32_t name_of(struct reader *r, const char *s, size_t n)
{
	struct rs_pairs *p = r->p;
	uint32_t at = hash(s, n) % SLOTS;

	for (; p->cells->slot[at]; at = (at + 1) % SLOTS) {
		const char *have = p->name[p->cells->slot[at] - 1];

		if (strlen(have) == n && !strncmp(have, s, n))
			return p->cells->slot[at] - 1;
	}
	if (p->n == RS_PAIRS_MAX) {
		r->err = rs_error_at(r->e, -E2BIG, (struct rs_where){r->path, r->line, 1},
				     "more than %d names", RS_PAIRS_MAX);
		return 0;
	}
	p->name[p->n] = rs_arena_printf(p->arena, "%.*s", (int)n, s);
	if (!p->name[p->n]) {
		no_memory(r);
		return 0;
	}
	p->cells->slot[at] = ++p->n;
	return p->n - 1;
}

static void add(struct reader *r, uint32_t from, uint32_t to, double value)
{
	struct pairs_cells *c = r->p->cells;

	if (r->err || from == to || !(value > 0) || !isfinite(value))
		return; /* what a host reaches with itself tells nothing of pairs */
	if (c->n == CELLS_MAX) {
		r->err = rs_error_set(r->e, -E2BIG, "%s: more than %d values", r->path, CELLS_MAX);
		return;
	}
	if (c->n == c->room) {
		uint32_t room = c->room ? 2 * c->room : 1024;
		struct cell *more = rs_arena_alloc(r->p->arena, room, sizeof(*more));

		if (!more) {
			no_memory(r);
			return;
		}
		if (c->n)
			memcpy(more, c->cell, c->n * sizeof(*more));
		c->cell = more;
		c->room = room;
	}
	c->cell[c->n++] = (struct cell){from, to, value};
}

/* ---- Lines ---- */

static bool number(const char *s, double *out)
{
	char *end;

	while (*s == ' ')
		s++;
	*out = strtod(s, &end);
	while (*end == ' ')
		end++;
	return end != s && !*end && isfinite(*out);
}

/* A cell that was not measured. */
static bool missing(const char *s)
{
	static const char *const words[] = {"",     "-",      "--",      "x",    "nan",
					    "na",   "n/a",    "null",    "none", "inf",
					    "fail", "failed", "timeout", "error"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcasecmp(s, words[i]))
			return true;
	return false;
}

static char *trim(char *s)
{
	char *end;

	while (isspace((unsigned char)*s) || *s == '"')
		s++;
	end = s + strlen(s);
	while (end > s && (isspace((unsigned char)end[-1]) || end[-1] == '"'))
		*--end = '\0';
	return s;
}

static char find_separator(const char *line)
{
	return strchr(line, '\t') ? '\t' : strchr(line, ',') ? ',' : strchr(line, ';') ? ';' : ' ';
}

static void split(struct reader *r, char *line)
{
	char *save = NULL;

	r->n_words = 0;
	if (r->separator == ' ') {
		for (char *s = strtok_r(line, " \t", &save); s && r->n_words < WORDS;
		     s = strtok_r(NULL, " \t", &save))
			r->word[r->n_words++] = s;
		return;
	}
	while (line && r->n_words < WORDS) {
		char *s = strsep(&line, (char[]){r->separator, 0});

		r->word[r->n_words++] = trim(s);
	}
	while (r->n_words && !*r->word[r->n_words - 1] && r->n_words > r->n_columns + 1)
		r->n_words--;
}

static uint32_t numbers_from(const struct reader *r, uint32_t first)
{
	uint32_t n = 0;
	double v;

	for (uint32_t i = first; i < r->n_words; i++)
		n += number(r->word[i], &v);
	return n;
}

/* ---- Tables ---- */

/* 0 1 2 ... or 1 2 3 ...: numbers of hosts. */
static bool counts_up(const struct reader *r, uint32_t first)
{
	double start, v;

	if (r->n_words < first + 3 || !number(r->word[first], &start) || (start != 0 && start != 1))
		return false;
	for (uint32_t i = first + 1; i < r->n_words; i++)
		if (!number(r->word[i], &v) || v != start + (i - first))
			return false;
	return true;
}

/* What stands above a table's names. */
static bool is_corner(const char *s)
{
	static const char *const corners[] = {"host", "hosts", "from", "send",  "node",
					      "rank", "src",   "name", "source"};

	for (size_t i = 0; i < sizeof(corners) / sizeof(*corners); i++)
		if (!strcasecmp(s, corners[i]))
			return true;
	return missing(s) || strpbrk(s, "/\\>") == s || strstr(s, "\\");
}

/* A first line of names, with a corner or without. */
static bool header(struct reader *r)
{
	uint32_t first = is_corner(r->word[0]) ? 1 : 0;

	if (r->n_words < first + 2 || (numbers_from(r, first) && !counts_up(r, first)))
		return false;
	for (uint32_t i = first; i < r->n_words && i - first < RS_PAIRS_MAX && !r->err; i++)
		r->column[r->n_columns++] = name_of(r, r->word[i], strlen(r->word[i]));
	return true;
}

static void table_row(struct reader *r)
{
	uint32_t first = r->n_words > r->n_columns ? r->n_words - r->n_columns : 0, from;
	double v;

	if (first > 1)
		first = 1;
	if (r->n_words + (first ? 0 : 1) < 2)
		return;
	from = first                    ? name_of(r, r->word[0], strlen(r->word[0]))
	       : r->rows < r->n_columns ? r->column[r->rows]
					: 0;
	r->rows++;
	for (uint32_t i = first; i < r->n_words && i - first < r->n_columns && !r->err; i++) {
		if (missing(r->word[i]))
			continue;
		if (!number(r->word[i], &v)) {
			bad(r, "expected a number or '-' in column %u of the table, found '%.40s'",
			    i + 1, r->word[i]);
			return;
		}
		add(r, from, r->column[i - first], v);
	}
}

/* A square of numbers alone: hosts 0, 1, ... */
static void bare_row(struct reader *r)
{
	double v;

	if (!r->n_columns)
		for (uint32_t i = 0; i < r->n_words && i < RS_PAIRS_MAX && !r->err; i++) {
			char name[16];

			snprintf(name, sizeof(name), "%u", i);
			r->column[r->n_columns++] = name_of(r, name, strlen(name));
		}
	for (uint32_t i = 0; i < r->n_words && i < r->n_columns && r->rows < r->n_columns; i++)
		if (number(r->word[i], &v))
			add(r, r->column[r->rows], r->column[i], v);
	r->rows++;
}

/* ---- Lists ---- */

static bool is_joint(const char *s)
{
	static const char *const joints[] = {"-",    "--", "->",        "-->",     "<->",
					     "<-->", ":",  "to",        "=>",      "from",
					     "and",  "vs", "bandwidth", "latency", "="};

	for (size_t i = 0; i < sizeof(joints) / sizeof(*joints); i++)
		if (!strcasecmp(s, joints[i]))
			return true;
	return false;
}

/* "A B 389.1", "A -> B: 389.1 Gb/s", "bandwidth A - B : 389 Gbps"; *n: words of it that count. */
static bool list_line(struct reader *r, char *name[2], double *value)
{
	uint32_t names = 0;

	for (uint32_t i = 0; i < r->n_words; i++) {
		char *s = r->word[i];
		size_t n;

		if (is_joint(s))
			continue;
		n = strlen(s);
		if (names == 2) {
			if (!number(s, value))
				return false;
			return true;
		}
		if (n && s[n - 1] == ':')
			s[n - 1] = '\0';
		if (missing(s))
			return false;
		name[names++] = s;
	}
	return false;
}

static bool is_row(const struct reader *r)
{
	double v;

	for (uint32_t i = 1; i < r->n_words; i++)
		if (!number(r->word[i], &v) && !missing(r->word[i]))
			return false;
	return true;
}

static void note_unit(struct reader *r, const char *line)
{
	if (strcasestr(line, "latency") || strcasestr(line, "usec") || strcasestr(line, "(us)"))
		r->p->cells->any_latency = true;
	if (strcasestr(line, "bandwidth") || strcasestr(line, "Gb/s") || strcasestr(line, "GB/s") ||
	    strcasestr(line, "Gbps"))
		r->p->cells->any_rate = true;
}

/* What kind of text it is, the first line with numbers tells. */
enum form { UNKNOWN, TABLE, BARE, LIST };

static enum form form_of(struct reader *r)
{
	uint32_t numbers = numbers_from(r, 0);
	char *name[2], *copy[8];
	double v;

	if (r->n_words > 3 && numbers == r->n_words)
		return BARE;
	if (r->n_words >= 3 && r->n_words <= 8) {
		bool list;

		memcpy(copy, r->word, r->n_words * sizeof(*copy));
		list = list_line(r, name, &v);
		if (list && numbers <= 3)
			return LIST;
	}
	return UNKNOWN;
}

static void text_line(struct reader *r, enum form *form, char *line)
{
	char *name[2], first = line[strspn(line, " \t")];
	double v;

	note_unit(r, line);
	if (!first || first == '#')
		return;
	if (*form == UNKNOWN)
		r->separator = find_separator(line);
	split(r, line);
	if (!r->n_words)
		return;
	if (*form == UNKNOWN) {
		*form = counts_up(r, 0) ? UNKNOWN : form_of(r);
		if (*form == UNKNOWN) {
			*form = header(r) ? TABLE : UNKNOWN;
			return;
		}
	}
	/* "from,to,gbps" heads a list: a table has numbers behind its first column */
	if (*form == TABLE && !r->rows && !is_row(r) && list_line(r, name, &v))
		*form = LIST;
	if (*form == TABLE)
		table_row(r);
	else if (*form == BARE)
		bare_row(r);
	else if (list_line(r, name, &v)) {
		uint32_t from = name_of(r, name[0], strlen(name[0]));
		uint32_t to = r->err ? 0 : name_of(r, name[1], strlen(name[1]));

		add(r, from, to, v);
	}
}

static void read_lines(struct reader *r, const char *text, size_t n)
{
	const char *end = text + n;
	enum form form = UNKNOWN;

	while (text < end && !r->err) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t bytes = stop ? (size_t)(stop - text) : (size_t)(end - text);
		const char *next = text + bytes + (stop ? 1 : 0);

		r->line++;
		if (bytes >= LINE_BYTES) {
			bad(r, "a line of more than %d bytes", LINE_BYTES - 1);
			return;
		}
		memcpy(r->text, text, bytes);
		while (bytes && r->text[bytes - 1] == '\r')
			bytes--;
		r->text[bytes] = '\0';
		for (size_t i = 0; i < bytes; i++)
			if (!r->text[i])
				r->text[i] = ' ';
		text_line(r, &form, r->text);
		text = next;
	}
}

/* ---- JSON ---- */

static const struct rs_node *any_key(const struct rs_node *map, const char *const *keys)
{
	for (; *keys; keys++)
		if (rs_node_get(map, *keys))
			return rs_node_get(map, *keys);
	return NULL;
}

static bool scalar_number(const struct rs_node *n, double *v)
{
	return n && n->kind == RS_NODE_SCALAR && number(n->text, v);
}

/* One host more, by its number: of those that hosts do not have as a name. */
static void number_one(struct reader *r)
{
	uint32_t had = r->p->n;

	for (uint32_t k = had; k <= 2 * had && r->p->n == had && !r->err; k++) {
		char name[16];

		snprintf(name, sizeof(name), "%u", k);
		name_of(r, name, strlen(name));
	}
}

/* [[1, 2], [3, 4]], with names beside it. */
static void json_matrix(struct reader *r, const struct rs_node *names, const struct rs_node *rows)
{
	uint32_t from = 0;

	if (names && names->kind == RS_NODE_LIST)
		for (const struct rs_item *i = names->first; i && !r->err; i = i->next)
			if (i->value->kind == RS_NODE_SCALAR)
				name_of(r, i->value->text, strlen(i->value->text));
	for (const struct rs_item *i = rows->first; i && !r->err; i = i->next, from++) {
		uint32_t to = 0;

		if (i->value->kind != RS_NODE_LIST)
			continue;
		for (const struct rs_item *k = i->value->first; k && !r->err; k = k->next, to++) {
			double v;

			while ((from >= r->p->n || to >= r->p->n) && !r->err)
				number_one(r);
			if (scalar_number(k->value, &v))
				add(r, from, to, v);
		}
	}
}

/* [{"src": "h1", "dst": "h2", "gbps": 389}] */
static void json_record(struct reader *r, const struct rs_node *n)
{
	static const char *const from[] = {"src", "source", "from",  "client",
					   "a",   "node1",  "host1", NULL};
	static const char *const to[] = {"dst", "dest",  "destination", "to", "server",
					 "b",   "node2", "host2",       NULL};
	static const char *const value[] = {"busbw", "bw",  "bandwidth", "gbps",    "value", "GB/s",
					    "Gb/s",  "avg", "us",        "latency", "lat",   NULL};
	const struct rs_node *f = any_key(n, from), *t = any_key(n, to);
	uint32_t a, b;
	double v;

	r->p->cells->any_latency |=
		rs_node_get(n, "us") || rs_node_get(n, "latency") || rs_node_get(n, "lat");
	if (!f || !t || f->kind != RS_NODE_SCALAR || t->kind != RS_NODE_SCALAR ||
	    !scalar_number(any_key(n, value), &v))
		return;
	a = name_of(r, f->text, strlen(f->text));
	b = r->err ? 0 : name_of(r, t->text, strlen(t->text));
	add(r, a, b, v);
}

/* {"h1": {"h2": 389}} */
static void json_objects(struct reader *r, const struct rs_node *n)
{
	for (const struct rs_item *i = n->first; i && !r->err; i = i->next) {
		uint32_t from;

		if (i->value->kind != RS_NODE_MAP)
			continue;
		from = name_of(r, i->key, strlen(i->key));
		for (const struct rs_item *k = i->value->first; k && !r->err; k = k->next) {
			double v;

			if (scalar_number(k->value, &v))
				add(r, from, name_of(r, k->key, strlen(k->key)), v);
		}
	}
}

static void json(struct reader *r, const struct rs_node *n)
{
	static const char *const names[] = {"nodes", "hosts", "names", "labels", "ranks", NULL};
	static const char *const matrix[] = {"matrix", "bandwidth", "bw",      "busbw",
					     "data",   "values",    "latency", NULL};
	static const char *const lists[] = {"results", "pairs", "links", NULL};
	const struct rs_node *rows, *list;

	if (n->kind == RS_NODE_LIST) {
		if (n->first && n->first->value->kind == RS_NODE_LIST)
			json_matrix(r, NULL, n);
		for (const struct rs_item *i = n->first; i && !r->err; i = i->next)
			if (i->value->kind == RS_NODE_MAP)
				json_record(r, i->value);
		return;
	}
	if (n->kind != RS_NODE_MAP)
		return;
	rows = any_key(n, matrix);
	list = any_key(n, lists);
	r->p->cells->any_latency |= rs_node_get(n, "latency") != NULL;
	if (rows && rows->kind == RS_NODE_LIST)
		json_matrix(r, any_key(n, names), rows);
	else if (list && list->kind == RS_NODE_LIST)
		json(r, list);
	else
		json_objects(r, n);
}

static void read_json(struct reader *r, const char *text, size_t n)
{
	struct rs_load l = {.arena = r->p->arena, .e = r->e, .name = r->path};
	const struct rs_node *root = rs_tree_parse(&l, text, n, r->path);

	if (!root) {
		r->err = l.err ? l.err : -EINVAL;
		return;
	}
	json(r, root);
}

/* ---- Logs named by their pair ---- */

/* Letters are alike, digits are alike: "gpu01" and "gpu12" have one shape. */
static bool one_shape(const char *a, size_t na, const char *b, size_t nb)
{
	char shape[2][64];
	const char *s[2] = {a, b};
	size_t n[2] = {na, nb};

	for (int k = 0; k < 2; k++) {
		size_t at = 0;

		for (size_t i = 0; i < n[k] && at + 1 < sizeof(shape[k]); i++) {
			char c = isdigit((unsigned char)s[k][i])   ? '0'
				 : isalpha((unsigned char)s[k][i]) ? 'a'
								   : s[k][i];

			if (!at || shape[k][at - 1] != c || (c != '0' && c != 'a'))
				shape[k][at++] = c;
		}
		shape[k][at] = '\0';
	}
	return na && nb && !strcmp(shape[0], shape[1]);
}

/* The two names in a file's name: at a separator whose sides have one shape, or are all there is.
 */
static bool pair_of(const char *path, const char **a, size_t *na, const char **b, size_t *nb)
{
	static const char *const between[] = {"_to_", "-to-", "_vs_", "-vs-", "__", "--",
					      "->",   "+",    ",",    "_",    "-",  "."};
	const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	const char *dot = strrchr(base, '.');
	size_t n = strlen(base), m;

	if (dot && dot > base &&
	    (!strcasecmp(dot, ".log") || !strcasecmp(dot, ".txt") || !strcasecmp(dot, ".out")))
		n = (size_t)(dot - base);
	for (size_t i = 0; i < sizeof(between) / sizeof(*between); i++) {
		m = strlen(between[i]);
		for (size_t at = 1; at + m < n; at++) {
			if (strncmp(base + at, between[i], m))
				continue;
			if (i >= 9 && !one_shape(base, at, base + at + m, n - at - m))
				continue;
			*a = base;
			*na = at;
			*b = base + at + m;
			*nb = n - at - m;
			return true;
		}
	}
	return false;
}

/* Its best rate, or its shortest message's time. */
static double best_of(const struct rs_measured *m)
{
	double best = 0;

	if (m->kind == RS_MEASURED_LATENCY)
		return m->rows[0].us;
	for (uint32_t i = 0; i < m->n_rows; i++) {
		double v = m->kind == RS_MEASURED_NCCL
				   ? m->rows[i].busbw
				   : (double)m->rows[i].bytes * 8 / m->rows[i].us / 1000;

		best = v > best ? v : best;
	}
	return best;
}

static bool is_log(const char *text, size_t n)
{
	size_t most = n < 1 << 16 ? n : 1 << 16;

	return memmem(text, most, "#bytes", 6) || memmem(text, most, "busbw", 5) ||
	       memmem(text, most, "#  Rank", 7);
}

static void read_log(struct reader *r, const char *text, size_t n)
{
	struct rs_measured *m = NULL;
	const char *a, *b;
	size_t na, nb;
	uint32_t from;

	r->err = rs_measured_read(text, n, r->path, NULL, r->p->arena, &m, r->e);
	if (r->err)
		return;
	r->line = 1;
	if (!pair_of(r->path, &a, &na, &b, &nb)) {
		bad(r, "expected a file name with the two hosts, as h1_to_h2.log");
		return;
	}
	if (m->kind == RS_MEASURED_LATENCY)
		r->p->cells->any_latency = true;
	else
		r->p->cells->any_rate = true;
	from = name_of(r, a, na);
	add(r, from, r->err ? 0 : name_of(r, b, nb), best_of(m));
}

/* ---- All forms ---- */

static struct rs_pairs *create(struct rs_arena *a)
{
	struct rs_pairs *p = rs_arena_alloc(a, 1, sizeof(*p));

	if (!p)
		return NULL;
	p->arena = a;
	p->cells = rs_arena_alloc(a, 1, sizeof(*p->cells));
	p->name = rs_arena_alloc(a, RS_PAIRS_MAX, sizeof(*p->name));
	return p->cells && p->name ? p : NULL;
}

int rs_pairs_read(const char *text, size_t n, const char *path, struct rs_arena *a,
		  struct rs_pairs **p, struct rs_error *e)
{
	struct reader *r = calloc(1, sizeof(*r));
	size_t at = 0;
	uint32_t before;
	int err;

	if (!*p)
		*p = create(a);
	if (r)
		r->text = malloc(LINE_BYTES);
	if (!r || !r->text || !*p) {
		free(r ? r->text : NULL);
		free(r);
		return rs_error_set(e, -ENOMEM, "out of memory");
	}
	r->p = *p;
	r->path = path;
	r->e = e;
	before = r->p->cells->n;
	while (at < n && isspace((unsigned char)text[at]))
		at++;
	if (at < n && (text[at] == '{' || text[at] == '['))
		read_json(r, text, n);
	else if (is_log(text, n))
		read_log(r, text, n);
	else
		read_lines(r, text, n);
	if (!r->err && r->p->cells->n == before) {
		r->line = r->line ? r->line : 1;
		bad(r,
		    "expected a matrix of pairs: a table with names, lines of 'A B value', JSON, "
		    "or a log of perftest or nccl-tests");
	}
	err = r->err;
	free(r->text);
	free(r);
	return err;
}

/* ---- Hosts, rails, groups ---- */

/* "gpu01/mlx5_0", "gpu01:mlx5_0": the host's part; the whole where there is no NIC in it. */
static size_t host_part(const char *name)
{
	size_t n = strcspn(name, "/");

	if (!name[n])
		n = strcspn(name, ":");
	return n;
}

static uint32_t number_of(const char **list, uint32_t *n, const char *s)
{
	for (uint32_t i = 0; i < *n; i++)
		if (!strcmp(list[i], s))
			return i;
	list[*n] = s;
	return (*n)++;
}

static int name_parts(struct rs_pairs *p)
{
	uint32_t with = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		size_t n = host_part(p->name[i]);
		const char *host = rs_arena_printf(p->arena, "%.*s", (int)n, p->name[i]);

		if (!host)
			return -ENOMEM;
		p->host[i] = number_of(p->host_name, &p->n_hosts, host);
		with += p->name[i][n] != '\0';
	}
	if (with < p->n || p->n_hosts == p->n)
		return 0;
	for (uint32_t i = 0; i < p->n; i++)
		p->rail[i] = number_of(p->rail_name, &p->n_rails,
				       p->name[i] + host_part(p->name[i]) + 1);
	return 0;
}

/* Names without a value, a list's heading say, are none. */
static void compact(struct rs_pairs *p)
{
	struct pairs_cells *c = p->cells;
	uint32_t now[RS_PAIRS_MAX], n = 0;
	bool used[RS_PAIRS_MAX] = {false};

	for (uint32_t i = 0; i < c->n; i++)
		used[c->cell[i].from] = used[c->cell[i].to] = true;
	for (uint32_t i = 0; i < p->n; i++) {
		now[i] = n;
		if (used[i])
			p->name[n++] = p->name[i];
	}
	for (uint32_t i = 0; i < c->n; i++) {
		c->cell[i].from = now[c->cell[i].from];
		c->cell[i].to = now[c->cell[i].to];
	}
	p->n = n;
}

int rs_pairs_close(struct rs_pairs *p, struct rs_error *e)
{
	struct pairs_cells *c = p->cells;
	uint16_t *times;
	size_t n;

	if (!c->n)
		return rs_error_set(e, -ENODATA, "no pair of two hosts was read");
	compact(p);
	n = p->n;
	p->value = rs_arena_alloc(p->arena, n * n, sizeof(*p->value));
	times = calloc(n * n, sizeof(*times));
	p->host = rs_arena_alloc(p->arena, n, sizeof(*p->host));
	p->rail = rs_arena_alloc(p->arena, n, sizeof(*p->rail));
	p->group = rs_arena_alloc(p->arena, n, sizeof(*p->group));
	p->host_name = rs_arena_alloc(p->arena, n, sizeof(*p->host_name));
	p->rail_name = rs_arena_alloc(p->arena, n, sizeof(*p->rail_name));
	p->group_name = rs_arena_alloc(p->arena, n, sizeof(*p->group_name));
	if (!p->value || !times || !p->host || !p->rail || !p->group || !p->host_name ||
	    !p->rail_name || !p->group_name || name_parts(p)) {
		free(times);
		return rs_error_set(e, -ENOMEM, "out of memory");
	}
	for (uint32_t i = 0; i < c->n; i++) {
		size_t at = c->cell[i].from * n + c->cell[i].to;

		if (times[at] < UINT16_MAX)
			times[at]++;
		p->value[at] += (c->cell[i].value - p->value[at]) / times[at];
	}
	free(times);
	p->undirected = true;
	for (size_t i = 0; i < n; i++) {
		p->group[i] = UINT32_MAX;
		for (size_t k = 0; k < i; k++)
			p->undirected &= !(p->value[i * n + k] > 0) || !(p->value[k * n + i] > 0) ||
					 p->value[i * n + k] == p->value[k * n + i];
	}
	p->latency = c->any_latency && !c->any_rate;
	return 0;
}

int rs_pairs_group(struct rs_pairs *p, const char *text, struct rs_error *e)
{
	const char *s = strchr(text, '=');
	uint32_t g = p->n_groups;

	if (!s || s == text || g == p->n)
		return rs_error_set(e, -EINVAL, "--leaf %s: expected NAME=HOST,HOST,...", text);
	p->group_name[g] = rs_arena_printf(p->arena, "%.*s", (int)(s - text), text);
	p->n_groups++;
	while (s && *++s) {
		size_t n = strcspn(s, ",");
		bool any = false;

		for (uint32_t i = 0; i < p->n; i++) {
			const char *host = p->host_name[p->host[i]];

			if (strlen(host) == n && !strncmp(host, s, n)) {
				p->group[i] = g;
				any = true;
			}
		}
		if (!any)
			return rs_error_set(e, -EINVAL, "--leaf %s: no host '%.*s' in the matrix",
					    text, (int)n, s);
		s = s[n] ? s + n : NULL;
	}
	return p->group_name[g] ? 0 : rs_error_set(e, -ENOMEM, "out of memory");
}
