/* The tables of nccl-tests and perftest (their sources print them; perftest_parameters.c). */
#include "measured/state.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"

enum { LINE_MAX_BYTES = 512, WORDS_MAX = 24, HOSTS_MAX = 1024 };

/* Of smaller messages perftest may round a rate to 0.00. */
enum { LEAST_ZERO = 4096 };

struct reader {
	const char *name;
	struct rs_arena *arena;
	struct rs_error *e;
	struct rs_measured *m;
	int line;
	char text[LINE_MAX_BYTES];
	char *word[WORDS_MAX];
	uint32_t n_words, n_hosts;
	const char *host[HOSTS_MAX]; /* of ranks */
	bool table;                  /* perftest: its head was seen */
	const char *wanted;          /* the operation whose table is read; NULL: the only one */
	bool other;                  /* this line is of another one's table */
	double to_us;     /* perftest: bytes a microsecond that one unit of its average is */
	uint32_t average; /* the word of a row that holds the value */
	uint32_t zeros;   /* rows whose value is 0 */
};

__attribute__((format(printf, 3, 4))) static int bad(struct reader *r, uint32_t word,
						     const char *fmt, ...)
{
	int column = word < r->n_words ? (int)(r->word[word] - r->text) + 1 : 1;
	char what[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return rs_error_at(r->e, -EINVAL, (struct rs_where){r->name, r->line, column}, "%s", what);
}

/* What mpirun puts before a line, and before what a process writes later on the same one:
 * "[1,0]<stdout>:", "[0]". Blanks stand for it. */
static void blank_marks(char *line)
{
	for (char *p = strchr(line, '['); p; p = strchr(p + 1, '[')) {
		size_t n = 1 + strspn(p + 1, "0123456789,");

		if (n == 1 || p[n++] != ']')
			continue;
		if (!strncmp(p + n, "<stdout>:", 9))
			n += 9;
		memset(p, ' ', n);
	}
}

/* srun -l puts "0: " before a line, " 0: " of ten tasks and more. */
static const char *payload(const char *line)
{
	const char *first = line + strspn(line, " "), *q = first;

	while (isdigit((unsigned char)*q))
		q++;
	return q > first && q[0] == ':' && q[1] == ' ' ? q + 2 : line;
}

static void split(struct reader *r, const char *line, size_t n)
{
	const char *from;
	char *p = r->text;

	if (n >= sizeof(r->text))
		n = sizeof(r->text) - 1;
	memcpy(r->text, line, n);
	r->text[n] = '\0';
	for (size_t i = 0; i < n; i++)
		if (!r->text[i] || r->text[i] == '\r')
			r->text[i] = ' ';
	blank_marks(r->text);
	from = payload(r->text);
	p = r->text + (from - r->text);
	r->n_words = 0;
	while (r->n_words < WORDS_MAX) {
		while (*p == ' ' || *p == '\t')
			p++;
		if (!*p)
			break;
		r->word[r->n_words++] = p;
		p += strcspn(p, " \t");
		if (*p)
			*p++ = '\0';
	}
}

static bool is(const struct reader *r, uint32_t i, const char *word)
{
	return i < r->n_words && !strcmp(r->word[i], word);
}

/* A whole number of a table; false: it is none. */
static bool whole(const char *s, uint64_t *out)
{
	char *end;

	if (!isdigit((unsigned char)*s))
		return false;
	errno = 0;
	*out = strtoull(s, &end, 10);
	return !errno && !*end && *out <= (uint64_t)1 << 50;
}

static bool real(const char *s, double *out)
{
	char *end;

	if (!isdigit((unsigned char)*s) && *s != '.')
		return false;
	*out = strtod(s, &end);
	return !*end && isfinite(*out);
}

static int add(struct reader *r, uint64_t bytes, double us, double busbw)
{
	struct rs_measured *m = r->m;

	if (!(us > 0) || us > 1e12)
		return bad(r, 0, "expected a time above 0 for %llu bytes",
			   (unsigned long long)bytes);
	if (m->n_rows && m->rows[m->n_rows - 1].bytes >= bytes)
		return bad(r, 0,
			   "%llu bytes after %llu: expected one table, with sizes that rise; give "
			   "one table a file",
			   (unsigned long long)bytes,
			   (unsigned long long)m->rows[m->n_rows - 1].bytes);
	if (m->n_rows == RS_MEASURED_ROWS_MAX)
		return rs_error_at(r->e, -E2BIG, (struct rs_where){r->name, r->line, 1},
				   "more than %d rows", RS_MEASURED_ROWS_MAX);
	m->rows[m->n_rows++] =
		(struct rs_measured_row){.bytes = bytes, .us = us, .busbw = busbw, .line = r->line};
	return 0;
}

/* ---- nccl-tests ---- */

enum { SIDE = 4 }; /* time algbw busbw error: out of place, and in place */

/* size count type [redop] [root] and both sides: releases and operations differ in what lies before
 * the sides. A row that was cut has one side. */
static uint32_t nccl_time(const struct reader *r)
{
	uint32_t n = r->n_words, first = 3;
	uint64_t root;

	if (n >= first + 2 * SIDE)
		return n - 2 * SIDE;
	if (first < n && isalpha((unsigned char)*r->word[first]))
		first++;
	if (first + SIDE < n && (!strcmp(r->word[first], "-1") || whole(r->word[first], &root)))
		first++;
	return first;
}

static int nccl_row(struct reader *r)
{
	uint64_t bytes, count;
	double us, algbw, busbw;
	uint32_t at;

	if (r->n_words < 7 || !whole(r->word[0], &bytes) || !whole(r->word[1], &count) ||
	    !isalpha((unsigned char)*r->word[2]))
		return 0; /* not a row: a log's line between rows */
	if (!bytes)
		return 0;
	at = nccl_time(r);
	if (at + 2 >= r->n_words || !real(r->word[at], &us) || !real(r->word[at + 1], &algbw) ||
	    !real(r->word[at + 2], &busbw))
		return bad(r, at < r->n_words ? at : 0,
			   "expected time, algbw and busbw in a row of nccl-tests");
	return add(r, bytes, us, busbw);
}

/* "all_reduce_perf", "./build/all_gather_perf_mpi". */
static int nccl_start(struct reader *r, const char *op)
{
	const char *slash = strrchr(op, '/'), *end;
	size_t n;

	op = slash ? slash + 1 : op;
	end = strstr(op, "_perf");
	n = end ? (size_t)(end - op) : strlen(op);
	r->other = r->wanted && (strncmp(op, r->wanted, n) || r->wanted[n]);
	if (r->other)
		return 0;
	if (r->m->n_rows)
		return bad(r, 0, "a second test begins here; give one table a file");
	r->m->op = rs_arena_printf(r->arena, "%.*s", (int)n, op);
	return r->m->op ? 0 : rs_error_set(r->e, -ENOMEM, "out of memory");
}

/* "... Pid 12 on h1 device 0": hosts by their names, which several lines have. */
static int nccl_host(struct reader *r)
{
	for (uint32_t i = 3; i + 2 < r->n_words; i++) {
		const char *name = r->word[i + 1];

		if (strcmp(r->word[i], "on") || strcmp(r->word[i + 2], "device"))
			continue;
		for (uint32_t k = 0; k < r->n_hosts; k++)
			if (!strcmp(r->host[k], name))
				return 0;
		if (r->n_hosts == HOSTS_MAX)
			return 0;
		r->host[r->n_hosts] = rs_arena_strdup(r->arena, name);
		if (!r->host[r->n_hosts])
			return rs_error_set(r->e, -ENOMEM, "out of memory");
		r->m->n_hosts = ++r->n_hosts;
	}
	return 0;
}

/* "# nThread 1 nGpus 8 minBytes ..." */
static int nccl_threads(struct reader *r)
{
	uint64_t n;

	for (uint32_t i = 0; i + 1 < r->n_words; i++)
		if (!strcmp(r->word[i], "nGpus") && whole(r->word[i + 1], &n) && n >= 1 &&
		    n <= 1024)
			r->m->per_thread = (uint32_t)n;
	return 0;
}

/* "NCCL version 2.26.2+cuda12.8", with NCCL's own words before it or not; the first one. */
static int nccl_release(struct reader *r)
{
	for (uint32_t i = 0; i + 2 < r->n_words && !r->m->release; i++)
		if (is(r, i, "NCCL") && is(r, i + 1, "version") &&
		    isdigit((unsigned char)*r->word[i + 2])) {
			r->m->release = rs_arena_printf(r->arena, "%.*s",
							(int)strspn(r->word[i + 2], "0123456789."),
							r->word[i + 2]);
			if (!r->m->release)
				return rs_error_set(r->e, -ENOMEM, "out of memory");
		}
	return 0;
}

/* "#  Rank  0 Group  0 Pid ...": several processes may each print all of them. */
static int nccl_rank(struct reader *r)
{
	uint64_t rank;

	if (nccl_host(r))
		return r->e->code;
	if (r->n_words > 2 && whole(r->word[2], &rank) && rank < 1 << 20 && rank >= r->m->n_ranks)
		r->m->n_ranks = (uint32_t)rank + 1;
	return 0;
}

/* ---- perftest ---- */

/* Its head has two settings a line: "Mtu : 4096[B]", "Link type : IB". */
static void perf_settings(struct reader *r)
{
	struct rs_measured *m = r->m;

	for (uint32_t i = 0; i + 2 < r->n_words; i++) {
		const char *key = r->word[i], *value = r->word[i + 2];

		if (strcmp(r->word[i + 1], ":"))
			continue;
		if (!strcmp(key, "qps") && atoi(value) > 0)
			m->qps = (uint32_t)atoi(value);
		else if (!strcmp(key, "Mtu") && atoi(value) >= 256 && atoi(value) <= 4096)
			m->mtu = (uint32_t)atoi(value);
		else if (!strcmp(key, "Device") && !m->device)
			m->device = rs_arena_strdup(r->arena, value);
		else if (i && !strcmp(key, "reads") && !strcmp(r->word[i - 1], "Outstand") &&
			 atoi(value) > 0 && atoi(value) <= 256)
			m->reads = (uint32_t)atoi(value);
		else if (i && !strcmp(key, "type") && !strcmp(r->word[i - 1], "Link"))
			m->link = rs_arena_strdup(r->arena, value);
	}
}

/* "#bytes #iterations BW peak[Gb/sec] BW average[Gb/sec] ..." or "... t_typical[usec] ..." */
static int perf_header(struct reader *r)
{
	uint32_t at = 0;

	r->average = 0;
	for (uint32_t i = 0; i < r->n_words; i++) {
		const char *w = r->word[i];

		if (!strcmp(w, "BW")) /* one column in two words */
			continue;
		if (!strncmp(w, "average[", 8)) {
			r->m->kind = RS_MEASURED_BANDWIDTH;
			r->average = at;
			/* perftest's MB is 2^20 bytes (perftest_resources.c) */
			r->to_us = strstr(w, "[Gb/sec]")    ? 1e9 / 8 / 1e6
				   : strstr(w, "[MB/sec]")  ? 1048576 / 1e6
				   : strstr(w, "[MiB/sec]") ? 1048576 / 1e6
							    : 0;
			if (!(r->to_us > 0))
				return bad(r, i, "expected [Gb/sec] or [MB/sec], found '%.40s'", w);
		} else if (!strcmp(w, "t_typical[usec]") ||
			   (!r->average && !strncmp(w, "t_avg[usec]", 11))) {
			r->m->kind = RS_MEASURED_LATENCY;
			r->average = at;
		}
		at++;
	}
	if (!r->average)
		return bad(r, 0,
			   "expected a column 'BW average' or 't_typical' in perftest's head");
	return 0;
}

static int perf_row(struct reader *r)
{
	uint64_t bytes, iterations;
	double v;

	if (r->n_words < 3 || !whole(r->word[0], &bytes) || !whole(r->word[1], &iterations))
		return 0;
	if (r->average < r->n_words && real(r->word[r->average], &v) && !(v > 0)) {
		r->zeros++;
		r->m->zero += bytes >= LEAST_ZERO || r->m->kind == RS_MEASURED_LATENCY;
		return 0;
	}
	if (r->average >= r->n_words || !real(r->word[r->average], &v))
		return bad(r, r->average < r->n_words ? r->average : 0,
			   "expected a number above 0 in column %u of perftest's row",
			   r->average + 1);
	if (!bytes)
		return bad(r, 0, "expected a message of 1 byte or more");
	return add(r, bytes, r->m->kind == RS_MEASURED_LATENCY ? v : (double)bytes / (v * r->to_us),
		   0);
}

/* ---- Both ---- */

static int line(struct reader *r)
{
	if (!r->n_words)
		return 0;
	if (nccl_release(r))
		return r->e->code;
	if (is(r, 0, "#bytes")) {
		if (r->table)
			return bad(r, 0, "a second table begins here; give one table a file");
		r->table = true;
		return perf_header(r);
	}
	if (is(r, 0, "RDMA_Read") || is(r, 0, "Atomic"))
		r->m->read = true;
	if (is(r, 0, "Atomic"))
		r->m->atomic = true;
	if (is(r, 1, "Bidirectional") && (is(r, 2, "BW") || is(r, 2, "Bandwidth")))
		r->m->both = true;
	if (r->table)
		return perf_row(r);
	if (is(r, 0, "#") && is(r, 1, "Collective") && is(r, 3, "starting:") && r->n_words > 4)
		return nccl_start(r, r->word[4]);
	if (r->other)
		return 0;
	if (is(r, 0, "#") && is(r, 1, "Rank"))
		return nccl_rank(r);
	if (is(r, is(r, 0, "#"), "nThread"))
		return nccl_threads(r);
	if (*r->word[0] != '#' && !r->m->n_rows)
		perf_settings(r);
	return *r->word[0] == '#' ? 0 : nccl_row(r);
}

/* A log of several tests: the wanted one's, if it is there. */
static bool has_test(const char *text, size_t n, const char *op)
{
	static const char mark[] = "Collective test starting: ";
	const char *end = text + n, *at = text;
	size_t m = strlen(op);

	while ((at = memchr(at, mark[0], (size_t)(end - at)))) {
		const char *name = at + sizeof(mark) - 1;

		if ((size_t)(end - at) >= sizeof(mark) + m && !memcmp(at, mark, sizeof(mark) - 1) &&
		    !memcmp(name, op, m) && name[m] == '_' && (size_t)(end - name) >= m + 5 &&
		    !memcmp(name + m, "_perf", 5))
			return true;
		at++;
	}
	return false;
}

/* "all-to-all", as a description says it, is nccl-tests' "alltoall". */
static const char *test_of(const char *op)
{
	static const char *const tests[] = {"all_reduce", "all_gather", "reduce_scatter",
					    "broadcast",  "alltoall",   "sendrecv"};

	for (size_t i = 0; op && i < sizeof(tests) / sizeof(*tests); i++)
		if (rs_text_same(op, tests[i]))
			return tests[i];
	return op;
}

int rs_measured_read(const char *text, size_t n, const char *name, const char *op,
		     struct rs_arena *a, struct rs_measured **out, struct rs_error *e)
{
	struct reader r = {.name = name, .arena = a, .e = e};
	const char *end = text + n;
	int err = 0;

	*out = NULL;
	op = test_of(op);
	if (rs_inspector_is(text, n))
		return measured_inspected(text, n, name, op, a, out, e);
	r.wanted = op && has_test(text, n, op) ? op : NULL;
	r.m = rs_arena_alloc(a, 1, sizeof(*r.m));
	if (r.m)
		r.m->rows = rs_arena_alloc(a, RS_MEASURED_ROWS_MAX, sizeof(*r.m->rows));
	if (!r.m || !r.m->rows)
		return rs_error_set(e, -ENOMEM, "out of memory");
	while (text < end && !err) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t bytes = stop ? (size_t)(stop - text) : (size_t)(end - text);

		r.line++;
		split(&r, text, bytes);
		err = line(&r);
		text += bytes + (stop ? 1 : 0);
	}
	if (!err && !r.m->n_rows && r.zeros) {
		err = rs_error_at(e, -ENXIO, (struct rs_where){name, r.line, 1},
				  "all %u rows have a rate of 0: the run failed", r.zeros);
	} else if (!err && !r.m->n_rows) {
		err = rs_error_at(e, -EINVAL, (struct rs_where){name, r.line ? r.line : 1, 1},
				  "expected a table of nccl-tests or perftest, found none");
		rs_error_hint(e, "give what the test prints, with its head lines (#)");
	}
	*out = err ? NULL : r.m;
	return err;
}
