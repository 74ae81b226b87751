/*
 * Logs of perftest, nccl-tests and OSU's tests as pairs: a file a pair, named by it, or many runs
 * behind one another in a file. Who ran with whom, ranks' lines, headings or the file's name tell.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "expect/pairs_reader.h"
#include "measured/measured.h"

enum { NAME_BYTES = 128 };

struct logs {
	struct reader *r;
	const char *text; /* of the run at hand; NULL: none */
	size_t bytes;
	int line;                 /* of its start */
	char name[2][NAME_BYTES]; /* of the pair; "": not known */
	char rank[2][NAME_BYTES]; /* of the run's ranks */
	uint32_t runs;
	bool zero;             /* its rates are all 0 */
	const char *headed;    /* the text behind a heading, before a run begins; NULL: none */
	struct rs_error first; /* of a run that was not read */
};

/* ---- Names ---- */

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
			if (i >= 9 && !pairs_one_shape(base, at, base + at + m, n - at - m))
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

/* "run0-1.out": the numbers of two hosts end the name, and nothing else names them. */
static bool numbers_of(const char *path, const char **a, size_t *na, const char **b, size_t *nb)
{
	const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	const char *end = strrchr(base, '.');
	size_t at;

	end = end && end > base ? end : base + strlen(base);
	for (at = (size_t)(end - base); at && isdigit((unsigned char)base[at - 1]); at--)
		;
	*b = base + at;
	*nb = (size_t)(end - *b);
	if (!*nb || !at || !strchr("-_.,+x", base[at - 1]))
		return false;
	end = base + at - 1;
	for (at = (size_t)(end - base); at && isdigit((unsigned char)base[at - 1]); at--)
		;
	*a = base + at;
	*na = (size_t)(end - *a);
	return *na > 0;
}

bool pairs_of_path(const char *path, const char **a, size_t *na, const char **b, size_t *nb)
{
	return pair_of(path, a, na, b, nb) || numbers_of(path, a, na, b, nb);
}

/* What a host may be called in a heading: no device, no number, no address of memory. */
static bool may_be_host(const char *s, size_t n)
{
	static const char *const others[] = {"mlx", "bnxt_re", "irdma", "rdmap", "roce",
					     "eth", "ens",     "enp",   "0x",    "ib_"};
	size_t digits = 0, letters = 0, dots = 0;

	for (size_t i = 0; i < n; i++) {
		digits += isdigit((unsigned char)s[i]) != 0;
		letters += isalpha((unsigned char)s[i]) != 0;
		dots += s[i] == '.';
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strncasecmp(s, others[i], strlen(others[i])))
			return false;
	return n < NAME_BYTES && digits && (dots == 3 || (letters && isalpha((unsigned char)*s)));
}

/* "=== gpu01 -> gpu02 ===": two words of one shape that differ, and no third one. */
static bool heading(const char *s, size_t n, char name[2][NAME_BYTES])
{
	static const char word[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	const char *found[2] = {NULL, NULL};
	size_t bytes[2] = {0, 0}, words = 0;

	for (size_t i = 0; i < n;) {
		size_t k = 0;

		while (i + k < n && s[i + k] && strchr(word, s[i + k]))
			k++;
		if (!k) {
			i++;
			continue;
		}
		words++;
		while (k && strchr("-.", s[i + k - 1]))
			k--;
		if (k && may_be_host(s + i, k) &&
		    !(found[0] && bytes[0] == k && !strncmp(found[0], s + i, k))) {
			if (found[1] ||
			    (found[0] && !pairs_one_shape(found[0], bytes[0], s + i, k)))
				return false;
			found[found[0] != NULL] = s + i;
			bytes[found[1] != NULL] = k;
		}
		i += k ? k : 1;
	}
	if (!found[1] || words > 12)
		return false;
	for (int k = 0; k < 2; k++)
		snprintf(name[k], NAME_BYTES, "%.*s", (int)bytes[k], found[k]);
	return true;
}

static const char *find(const char *s, size_t n, const char *what)
{
	return memmem(s, n, what, strlen(what));
}

/* "#  Rank  0 Group  0 Pid 12 on gpu01 device 0": the first two hosts. */
static bool rank_line(struct logs *l, const char *s, size_t n)
{
	const char *rank = find(s, n, "Rank "), *on = find(s, n, " on "), *device;
	size_t bytes;

	if (!rank || !on || on < rank)
		return false;
	on += 4 + strspn(on + 4, " ");
	device = find(on, n - (size_t)(on - s), " device");
	if (!device)
		return false;
	bytes = strcspn(on, " ");
	if (bytes >= NAME_BYTES)
		return false;
	if (!*l->rank[0])
		snprintf(l->rank[0], NAME_BYTES, "%.*s", (int)bytes, on);
	else if (!*l->rank[1] && (strlen(l->rank[0]) != bytes || strncmp(l->rank[0], on, bytes)))
		snprintf(l->rank[1], NAME_BYTES, "%.*s", (int)bytes, on);
	return true;
}

/* ---- A run ---- */

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

/* OSU's tests: "# Size  Bandwidth (MB/s)" or "# Size  Latency (us)" above sizes and values. */
static double osu(const char *s, size_t n, bool *latency)
{
	const char *end = s + n;
	double best = 0;

	*latency = find(s, n, "Latency") != NULL;
	while (s && s < end) {
		char *stop;
		double size, v;

		if (isdigit((unsigned char)*s)) {
			size = strtod(s, &stop);
			v = *stop == ' ' || *stop == '\t' ? strtod(stop, &stop) : 0;
			if (size >= 0 && v > 0 && (*latency ? !(best > 0) : v > best))
				best = v;
		}
		s = memchr(s, '\n', (size_t)(end - s));
		s = s ? s + 1 : NULL;
	}
	return best;
}

static double value_of(struct logs *l, bool *latency)
{
	struct rs_error e = {0};
	struct rs_measured *m = NULL;
	struct rs_arena *a;
	double v = 0;

	if (find(l->text, l->bytes, "# OSU MPI"))
		return osu(l->text, l->bytes, latency);
	a = rs_arena_create(0);
	if (!a) {
		l->r->err = rs_error_set(l->r->e, -ENOMEM, "out of memory");
		return 0;
	}
	if (!rs_measured_read(l->text, l->bytes, l->r->path, NULL, a, &m, &e)) {
		v = best_of(m);
		*latency = m->kind == RS_MEASURED_LATENCY;
	} else if (e.code == -ENXIO) {
		l->zero = true;
	} else if (!l->first.code) {
		l->first = e;
		l->first.line += l->line - 1;
	}
	rs_arena_destroy(a);
	return v;
}

/* Who ran: ranks, else the heading, else the file's name. */
static bool who(struct logs *l, const char **a, size_t *na, const char **b, size_t *nb)
{
	bool ranks = *l->rank[1] && !*l->name[1];

	*a = ranks ? l->rank[0] : l->name[0];
	*b = ranks ? l->rank[1] : l->name[1];
	*na = strlen(*a);
	*nb = strlen(*b);
	return *nb || pairs_of_path(l->r->path, a, na, b, nb);
}

static bool failed(const char *s, size_t n)
{
	char *copy = strndup(s, n);
	bool is = copy && pairs_tells_failure(copy);

	free(copy);
	return is;
}

/* Without a figure: it failed where its text, of n bytes, says so; else it was not measured. */
static void no_figure(struct logs *l, const char *s, size_t n)
{
	const char *a, *b;
	size_t na, nb;
	uint32_t from;

	bool zero = l->zero;

	l->zero = false;
	if ((!zero && !failed(s, n)) || !who(l, &a, &na, &b, &nb))
		return;
	from = pairs_name(l->r, a, na);
	pairs_add_failed(l->r, from, l->r->err ? 0 : pairs_name(l->r, b, nb), false);
	l->runs++;
}

/* The run at hand is over, or what a heading names never began; its text ends at `end`. */
static void end_run(struct logs *l, const char *end)
{
	const char *a, *b, *text = l->text, *headed = l->headed;
	size_t na, nb;
	bool latency = false;
	uint32_t from;
	double v;

	l->headed = NULL;
	if (!text && headed && end && !l->r->err)
		no_figure(l, headed, (size_t)(end - headed));
	if (!text || l->r->err)
		return;
	v = value_of(l, &latency);
	l->text = NULL;
	l->r->line = l->line;
	if (!(v > 0)) {
		no_figure(l, text, l->bytes);
		return;
	}
	l->runs++;
	if (!who(l, &a, &na, &b, &nb)) {
		pairs_bad(l->r, "expected a file name with the two hosts, as h1_to_h2.log, or a "
				"heading with them above each run");
		return;
	}
	if (latency)
		l->r->p->cells->any_latency = true;
	else
		l->r->p->cells->any_rate = true;
	from = pairs_name(l->r, a, na);
	pairs_add(l->r, from, l->r->err ? 0 : pairs_name(l->r, b, nb), v);
	l->rank[0][0] = l->rank[1][0] = '\0';
}

/* Where a run begins: nccl-tests' parameters, perftest's table, OSU's title. */
static bool starts(const char *s, size_t n)
{
	return find(s, n, "# nThread") || find(s, n, "#bytes") || find(s, n, "# OSU MPI");
}

bool pairs_is_log(const char *text, size_t n)
{
	size_t most = n < 1 << 16 ? n : 1 << 16;

	return find(text, most, "#bytes") || find(text, most, "busbw") ||
	       find(text, most, "#  Rank") || find(text, most, "# OSU MPI");
}

static void log_line(struct logs *l, const char *s, size_t n, int line)
{
	char name[2][NAME_BYTES];
	size_t blank = 0;

	while (blank < n && (s[blank] == ' ' || s[blank] == '\t'))
		blank++;
	if (starts(s, n)) {
		l->headed = NULL;
		end_run(l, s);
		l->text = s;
		l->bytes = n;
		l->line = line;
	} else if (l->text) {
		l->bytes = (size_t)(s + n - l->text);
	}
	if (rank_line(l, s, n) || (blank < n && isdigit((unsigned char)s[blank])) ||
	    find(s, n, " address:") || find(s, n, "GID:") || find(s, n, " INFO ") ||
	    !heading(s, n, name))
		return;
	if (l->text)
		l->bytes = (size_t)(s - l->text);
	end_run(l, s);
	l->headed = s + n;
	memcpy(l->name, name, sizeof(name));
	l->rank[0][0] = l->rank[1][0] = '\0';
}

/* A whole file of one run, without the line that begins one: nccl-tests' rows alone, say. */
static bool whole_file(const char *text, size_t n)
{
	return !find(text, n, "# nThread") && !find(text, n, "#bytes") &&
	       !find(text, n, "# OSU MPI");
}

/* The text ends in a 0, and has no other. */
static void read_text(struct reader *r, const char *text, size_t n)
{
	struct logs l = {.r = r};
	const char *end = text + n;
	int line = 0;

	if (whole_file(text, n)) {
		l.text = text;
		l.bytes = n;
		l.line = 1;
	}
	for (const char *s = text; s < end && !r->err;) {
		const char *stop = memchr(s, '\n', (size_t)(end - s));

		log_line(&l, s, (size_t)((stop ? stop : end) - s), ++line);
		s = stop ? stop + 1 : end;
	}
	end_run(&l, end);
	if (!r->err && !l.runs && l.first.code) {
		*r->e = l.first;
		r->err = l.first.code;
	}
}

void pairs_read_logs(struct reader *r, const char *text, size_t n)
{
	char *copy = malloc(n + 1);

	if (!copy) {
		r->err = rs_error_set(r->e, -ENOMEM, "out of memory");
		return;
	}
	for (size_t i = 0; i < n; i++)
		copy[i] = text[i] ? text[i] : ' ';
	copy[n] = '\0';
	read_text(r, copy, n);
	free(copy);
}
