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
#include "expect/pairs_reader.h"
#include "text/tree.h"

int pairs_bad(struct reader *r, const char *fmt, ...)
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

uint32_t pairs_name(struct reader *r, const char *s, size_t n)
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

static void add_cell(struct reader *r, uint32_t from, uint32_t to, double value, enum cell_how how)
{
	struct pairs_cells *c = r->p->cells;

	if (r->err || from == to)
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
	c->cell[c->n++] = (struct cell){from, to, value, how};
	c->values += how == CELL_VALUE;
}

void pairs_add(struct reader *r, uint32_t from, uint32_t to, double value)
{
	if (isfinite(value))
		add_cell(r, from, to, fmax(value, 0), value > 0 ? CELL_VALUE : CELL_ZERO);
}

void pairs_add_failed(struct reader *r, uint32_t from, uint32_t to, bool said)
{
	add_cell(r, from, to, 0, said ? CELL_SAID : CELL_FAILED);
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

/* bit/s, or seconds, of a unit as "Gb/s", "MB/s", "us"; 0: it is none. */
static double unit_of(const char *s, bool *time)
{
	static const struct {
		const char *name;
		double value;
	} times[] = {{"us", 1e-6},        {"usec", 1e-6}, {"usecs", 1e-6}, {"\xce\xbcs", 1e-6},
		     {"\xc2\xb5s", 1e-6}, {"ns", 1e-9},   {"ms", 1e-3}};
	const char *p = s;
	double scale = 1;
	bool binary;

	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
		if (!strcmp(s, times[i].name)) {
			*time = true;
			return times[i].value;
		}
	*time = false;
	scale = *p == 'K' || *p == 'k' ? 1e3
		: *p == 'M'            ? 1e6
		: *p == 'G'            ? 1e9
		: *p == 'T'            ? 1e12
				       : 0;
	if (!(scale > 0))
		return 0;
	binary = *++p == 'i';
	if (binary) {
		scale = scale > 1e10  ? 1099511627776.0
			: scale > 1e8 ? 1073741824.0
			: scale > 1e5 ? 1048576.0
				      : 1024;
		p++;
	}
	if (!strcmp(p, "b/s") || !strcmp(p, "bps") || !strcmp(p, "bit/s") || !strcmp(p, "bits/s") ||
	    !strcmp(p, "b/sec") || !strcmp(p, "bits/sec"))
		return scale;
	if (!strcmp(p, "B/s") || !strcmp(p, "Bps") || !strcmp(p, "bytes/s") || !strcmp(p, "B/sec"))
		return scale * 8;
	return 0;
}

/* A number with its unit behind it or in the next word, in the first unit that the file has. */
static bool quantity(struct reader *r, const char *s, const char *next, double *out)
{
	char *end;
	bool time = false;
	double unit;

	while (*s == ' ')
		s++;
	*out = strtod(s, &end);
	while (*end == ' ')
		end++;
	if (end == s || !isfinite(*out))
		return false;
	unit = unit_of(*end ? end : next ? next : "", &time);
	if (*end && !(unit > 0))
		return false;
	if (!(unit > 0) || !r)
		return true;
	r->p->cells->any_latency |= time;
	r->p->cells->any_rate |= !time;
	if (!(r->p->cells->unit > 0))
		r->p->cells->unit = unit;
	*out *= unit / r->p->cells->unit;
	return true;
}

/* A cell that was not tried. */
static bool missing(const char *s)
{
	static const char *const words[] = {"",   "-",   "--",   "x",    "nan",
					    "na", "n/a", "null", "none", "inf"};

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

/* "9,554.7", "23,921 MB/s": commas between thousands. The end of it; NULL: it is none. */
static const char *thousands(const char *s)
{
	size_t n = strspn(s, "0123456789");

	if (n < 1 || n > 3 || s[n] != ',')
		return NULL;
	for (s += n; *s == ','; s += 4)
		if (strspn(s + 1, "0123456789") != 3)
			return NULL;
	return s;
}

/* Commas stand in numbers alone: behind a digit, before one, and another separator parts the words:
 * semicolons, or blanks before each number with thousands. */
static bool commas_in_numbers(const char *line)
{
	bool semicolons = strchr(line, ';') != NULL;

	for (const char *c = line; (c = strchr(c, ',')); c++) {
		const char *start = c;

		if (semicolons) {
			if (c == line || !isdigit((unsigned char)c[-1]) ||
			    !isdigit((unsigned char)c[1]))
				return false;
			continue;
		}
		while (start > line && isdigit((unsigned char)start[-1]))
			start--;
		if (start == line || !strchr(" \t|=", start[-1]) || !thousands(start))
			return false;
		c = thousands(start) - 1;
	}
	return true;
}

/* "1.234,5", "391,1" and "9,554.7" as C has them; of one comma, blanks make it one of thousands
 * where three digits follow it. */
static void plain_number(char *s, char separator)
{
	char *comma = strchr(s, ','), *dot = strchr(s, '.'), *to = s;
	bool decimal;

	s += strspn(s, "-+ ");
	if (!comma || !isdigit((unsigned char)*s) || !isdigit((unsigned char)comma[1]))
		return;
	decimal =
		dot ? dot < comma : !strchr(comma + 1, ',') && (separator != ' ' || !thousands(s));
	for (to = s; *s; s++) {
		if (decimal ? *s == '.' : *s == ',')
			continue;
		*to++ = decimal && *s == ',' ? '.' : *s;
	}
	*to = '\0';
}

static char find_separator(const char *line)
{
	const char *bar = strchr(line, '|');

	if (bar && strchr(bar + 1, '|'))
		return '|';
	if (strchr(line, ',') && commas_in_numbers(line))
		return strchr(line, ';') ? ';' : strchr(line, '\t') ? '\t' : ' ';
	return strchr(line, '\t') ? '\t' : strchr(line, ',') ? ',' : strchr(line, ';') ? ';' : ' ';
}

static void split_words(struct reader *r, char *line)
{
	char *save = NULL;

	r->n_words = 0;
	if (r->separator == ' ') {
		for (char *s = strtok_r(line, " \t", &save); s && r->n_words < WORDS;
		     s = strtok_r(NULL, " \t", &save))
			r->word[r->n_words++] = s;
		return;
	}
	/* bars stand at both ends of a line */
	if (r->separator == '|') {
		line = trim(line);
		line += *line == '|';
		if (*line && line[strlen(line) - 1] == '|')
			line[strlen(line) - 1] = '\0';
	}
	while (line && r->n_words < WORDS) {
		char *s = strsep(&line, (char[]){r->separator, 0});

		r->word[r->n_words++] = trim(s);
	}
	while (r->n_words && !*r->word[r->n_words - 1] && r->n_words > r->n_columns + 1)
		r->n_words--;
}

static void split(struct reader *r, char *line)
{
	split_words(r, line);
	for (uint32_t i = 0; i < r->n_words && r->separator != ','; i++)
		plain_number(r->word[i], r->separator);
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

/* "h1:0 h2:1 h3:2": mpiGraph puts the rank behind a name. */
static bool are_numbered(const struct reader *r, uint32_t first)
{
	for (uint32_t i = first; i < r->n_words; i++) {
		char rank[16];
		size_t n = strlen(r->word[i]);
		int m = snprintf(rank, sizeof(rank), ":%u", i - first);

		if (n <= (size_t)m || strcmp(r->word[i] + n - (size_t)m, rank))
			return false;
		/* several ranks of a host stay apart */
		for (uint32_t k = first; k < i; k++)
			if (!strncmp(r->word[k], r->word[i], n - (size_t)m + 1))
				return false;
	}
	return true;
}

static uint32_t column_name(struct reader *r, const char *s)
{
	const char *colon = r->numbered ? strrchr(s, ':') : NULL;

	return pairs_name(r, s, colon ? (size_t)(colon - s) : strlen(s));
}

/* What stands above a table's names. */
static bool is_corner(const char *s)
{
	static const char *const corners[] = {"host", "hosts",  "from",   "send",   "node",
					      "rank", "src",    "name",   "source", "to",
					      "dst",  "client", "server", "pair"};

	for (size_t i = 0; i < sizeof(corners) / sizeof(*corners); i++)
		if (!strcasecmp(s, corners[i]))
			return true;
	return missing(s) || pairs_tells_failure(s) || strpbrk(s, "/\\>") == s || strstr(s, "\\");
}

/* A first line of names, with a corner or without. */
static bool header(struct reader *r)
{
	uint32_t first = is_corner(r->word[0]) ? 1 : 0;

	if (r->n_words < first + 2 || (numbers_from(r, first) && !counts_up(r, first)))
		return false;
	r->numbered = are_numbered(r, first);
	for (uint32_t i = first; i < r->n_words && i - first < RS_PAIRS_MAX && !r->err; i++)
		r->column[r->n_columns++] = column_name(r, r->word[i]);
	return true;
}

static bool ends_in(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n > m && !strcmp(s + n - m, end);
}

static void table_row(struct reader *r)
{
	uint32_t first = r->n_words > r->n_columns ? r->n_words - r->n_columns : 0, from;
	bool received;
	double v;

	if (first > 1)
		first = 1;
	if (r->n_words + (first ? 0 : 1) < 2)
		return;
	/* mpiGraph: "h1:0 to" sends, "h1:0 from" receives */
	received = first && r->numbered && ends_in(r->word[0], " from");
	if (received || (first && r->numbered && ends_in(r->word[0], " to")))
		*strrchr(r->word[0], ' ') = '\0';
	from = first ? column_name(r, r->word[0]) : r->rows < r->n_columns ? r->column[r->rows] : 0;
	r->rows++;
	for (uint32_t i = first; i < r->n_words && i - first < r->n_columns && !r->err; i++) {
		if (missing(r->word[i]))
			continue;
		if (pairs_tells_failure(r->word[i])) {
			uint32_t to = r->column[i - first];

			pairs_add_failed(r, received ? to : from, received ? from : to, false);
			continue;
		}
		if (!quantity(r, r->word[i], NULL, &v)) {
			pairs_bad(
				r,
				"expected a number or '-' in column %u of the table, found '%.40s'",
				i + 1, r->word[i]);
			return;
		}
		if (received)
			pairs_add(r, r->column[i - first], from, v);
		else
			pairs_add(r, from, r->column[i - first], v);
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
			r->column[r->n_columns++] = pairs_name(r, name, strlen(name));
		}
	for (uint32_t i = 0; i < r->n_words && i < r->n_columns && r->rows < r->n_columns; i++)
		if (number(r->word[i], &v))
			pairs_add(r, r->column[r->rows], r->column[i], v);
		else if (pairs_tells_failure(r->word[i]))
			pairs_add_failed(r, r->column[r->rows], r->column[i], false);
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
			return quantity(r, s, i + 1 < r->n_words ? r->word[i + 1] : NULL, value);
		}
		if (n && s[n - 1] == ':')
			s[n - 1] = '\0';
		if (missing(s) || pairs_tells_failure(s))
			return false;
		name[names++] = s;
	}
	return false;
}

/* "A -> B: ERROR connection timed out", "FAILED: A B": two names, no value, words of a failure. */
static bool failed_line(struct reader *r, char *name[2])
{
	char text[512] = "";
	uint32_t names = 0;

	for (uint32_t i = 0; i < r->n_words; i++) {
		char *s = r->word[i];
		size_t at = strlen(text);
		double v;

		if (names < 2 && is_joint(s))
			continue;
		if (names == 2 || pairs_tells_failure(s)) {
			snprintf(text + at, sizeof(text) - at, " %s", s);
			continue;
		}
		if (is_corner(s) || number(s, &v))
			return false;
		name[names++] = s;
	}
	if (names < 2 || !pairs_tells_failure(text))
		return false;
	for (int i = 0; i < 2; i++) {
		size_t n = strlen(name[i]);

		if (n && name[i][n - 1] == ':')
			name[i][n - 1] = '\0';
	}
	return true;
}

static bool is_row(const struct reader *r)
{
	double v;

	for (uint32_t i = 1; i < r->n_words; i++)
		if (!quantity(NULL, r->word[i], NULL, &v) && !missing(r->word[i]) &&
		    !pairs_tells_failure(r->word[i]))
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
enum form { UNKNOWN, TABLE, BARE, LIST, RECORDS };

/* What heads the two ends of a pair: columns of a list, keys of a record. */
static const char *const from_names[] = {"client", "src",   "source", "from",        "sender",
					 "host1",  "node1", "host_a", "client_host", NULL};
static const char *const to_names[] = {"server", "dst",   "dest",   "destination", "to", "receiver",
				       "host2",  "node2", "host_b", "server_host", NULL};

static int column_of(const struct reader *r, const char *const *names, bool part)
{
	for (uint32_t i = 0; i < r->n_words; i++)
		for (const char *const *n = names; *n; n++)
			if (part ? strcasestr(r->word[i], *n) != NULL : !strcasecmp(r->word[i], *n))
				return (int)i;
	return -1;
}

/* "client,client_dev,server,server_dev,bw_gbps,...": more columns than two ends and a value. */
static bool records_head(struct reader *r)
{
	static const char *const from_nic[] = {"client_dev", "src_dev",       "client_nic",
					       "src_nic",    "client_device", "source_dev",
					       "nic1",       "dev1",          NULL};
	static const char *const to_nic[] = {"server_dev", "dst_dev",       "server_nic",
					     "dst_nic",    "server_device", "dest_dev",
					     "nic2",       "dev2",          NULL};
	static const char *const value[] = {"busbw",   "bw",      "gbps", "gb/s", "bandwidth",
					    "goodput", "latency", "usec", NULL};

	if (r->n_words < 4)
		return false;
	r->from = column_of(r, from_names, false);
	r->to = column_of(r, to_names, false);
	r->from_nic = column_of(r, from_nic, false);
	r->to_nic = column_of(r, to_nic, false);
	r->value = column_of(r, value, true);
	return r->from >= 0 && r->to >= 0 && r->value >= 0;
}

static uint32_t record_end(struct reader *r, int host, int nic)
{
	char name[256];

	if (nic < 0)
		return pairs_name(r, r->word[host], strlen(r->word[host]));
	snprintf(name, sizeof(name), "%s/%s", r->word[host], r->word[nic]);
	return pairs_name(r, name, strlen(name));
}

static void record_row(struct reader *r)
{
	const int need[] = {r->from, r->to, r->from_nic, r->to_nic, r->value};
	uint32_t from, to;
	bool failed = false, value;
	double v;

	for (size_t i = 0; i < sizeof(need) / sizeof(*need); i++)
		if (need[i] >= (int)r->n_words)
			return;
	for (uint32_t i = 0; i < r->n_words; i++)
		failed |= pairs_tells_failure(r->word[i]);
	value = quantity(r, r->word[r->value], NULL, &v);
	/* an error that stands beside a value is another column's */
	failed &= !value;
	if (missing(r->word[r->value]) && !failed)
		return;
	if (!value && !failed) {
		pairs_bad(r, "expected a number or '-' in column %d of the list, found '%.40s'",
			  r->value + 1, r->word[r->value]);
		return;
	}
	from = record_end(r, r->from, r->from_nic);
	to = r->err ? 0 : record_end(r, r->to, r->to_nic);
	if (failed)
		pairs_add_failed(r, from, to, false);
	else
		pairs_add(r, from, to, v);
}

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

/* A line between rows: "|---|---|", "+-----+". */
static bool is_rule(const char *line)
{
	return strspn(line, " \t-+|:=") == strlen(line) && strchr(line, '-');
}

/* Frames of boxes (U+2500 to U+257F), as bars and dashes. */
static void plain_frames(char *s)
{
	char *to = s;

	for (; *s; s++) {
		const unsigned char *u = (const unsigned char *)s;

		if (u[0] == 0xe2 && (u[1] == 0x94 || u[1] == 0x95) && u[2] >= 0x80) {
			bool bar = (u[1] == 0x94 && (u[2] == 0x82 || u[2] == 0x83)) ||
				   (u[1] == 0x95 && u[2] == 0x91);

			*to++ = bar ? '|' : '-';
			s += 2;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

/* "h1,h2   49.4  # across": a comma between the names, blanks before the value. */
static void plain_list(struct reader *r, char *line)
{
	char *comment = strstr(line, " #"), *comma = strchr(line, ','), *end = NULL;
	double v;

	if (comment)
		*comment = '\0';
	if (!r->commas && comma && !strchr(comma + 1, ',') && !strchr(line, '\t')) {
		size_t n = strlen(line);

		while (n && line[n - 1] == ' ')
			n--;
		while (n && line[n - 1] != ' ' && line + n > comma + 1)
			n--;
		v = strtod(line + n, &end);
		r->commas = line + n > comma + 2 && end != line + n && v > 0 &&
			    strspn(comma + 1, " ") < (size_t)(line + n - comma - 1);
	}
	for (char *c = line; r->commas && *c; c++)
		*c = *c == ',' ? ' ' : *c;
}

static void text_line(struct reader *r, enum form *form, char *line)
{
	char *name[2], first = line[strspn(line, " \t")];
	double v;

	note_unit(r, line);
	if (!first || first == '#' || is_rule(line))
		return;
	if (*form == UNKNOWN || r->commas)
		plain_list(r, line);
	if (*form == UNKNOWN)
		r->separator = find_separator(line);
	split(r, line);
	if (!r->n_words)
		return;
	if (*form == UNKNOWN) {
		*form = counts_up(r, 0) ? UNKNOWN : form_of(r);
		if (*form == UNKNOWN && failed_line(r, name) &&
		    pairs_one_shape(name[0], strlen(name[0]), name[1], strlen(name[1])))
			*form = LIST;
		if (*form == UNKNOWN) {
			*form = records_head(r) ? RECORDS : header(r) ? TABLE : UNKNOWN;
			return;
		}
	}
	/* "from,to,gbps" heads a list: a table has numbers behind its first column */
	if (*form == TABLE && !r->rows && !is_row(r) &&
	    (failed_line(r, name) || list_line(r, name, &v)))
		*form = LIST;
	if (*form == RECORDS)
		record_row(r);
	else if (*form == TABLE)
		table_row(r);
	else if (*form == BARE)
		bare_row(r);
	else if (list_line(r, name, &v)) {
		uint32_t from = pairs_name(r, name[0], strlen(name[0]));
		uint32_t to = r->err ? 0 : pairs_name(r, name[1], strlen(name[1]));

		pairs_add(r, from, to, v);
	} else if (failed_line(r, name)) {
		uint32_t from = pairs_name(r, name[0], strlen(name[0]));

		pairs_add_failed(r, from, r->err ? 0 : pairs_name(r, name[1], strlen(name[1])),
				 true);
	}
}

/* mpiGraph: two tables, what was sent and what was received, each up to a blank line; before and
 * between them progress and means. */
static void graph_line(struct reader *r, enum form *form, char *line)
{
	bool head = !strncmp(line, "Send\t", 5) || !strncmp(line, "Recv\t", 5);

	if (head) {
		r->n_columns = r->rows = 0;
		r->separator = '\t';
		split(r, line);
		/* a tab ends each line */
		while (r->n_words && !*r->word[r->n_words - 1])
			r->n_words--;
		*r->word[0] = '\0'; /* a corner */
		*form = header(r) ? TABLE : UNKNOWN;
	} else if (!line[strspn(line, " \t")] || !strncmp(line, "END mpiGraph", 12)) {
		*form = UNKNOWN;
	} else if (*form == TABLE) {
		split(r, line);
		table_row(r);
	}
}

static void read_lines(struct reader *r, const char *text, size_t n)
{
	const char *end = text + n;
	enum form form = UNKNOWN;
	bool graph = memmem(text, n, "START mpiGraph", 14) || memmem(text, n, "\nSend\t", 6);

	while (text < end && !r->err) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t bytes = stop ? (size_t)(stop - text) : (size_t)(end - text);
		const char *next = text + bytes + (stop ? 1 : 0);

		r->line++;
		if (bytes >= LINE_BYTES) {
			pairs_bad(r, "a line of more than %d bytes", LINE_BYTES - 1);
			return;
		}
		memcpy(r->text, text, bytes);
		while (bytes && r->text[bytes - 1] == '\r')
			bytes--;
		r->text[bytes] = '\0';
		for (size_t i = 0; i < bytes; i++)
			if (!r->text[i])
				r->text[i] = ' ';
		plain_frames(r->text);
		if (graph)
			graph_line(r, &form, r->text);
		else
			text_line(r, &form, r->text);
		text = next;
	}
}

/* ---- JSON ---- */

/* Letters of either case: ClusterKit writes "Nodes" and "Links". */
static const struct rs_node *any_key(const struct rs_node *map, const char *const *keys)
{
	for (; *keys; keys++)
		for (const struct rs_item *i = map->first; i; i = i->next)
			if (!strcasecmp(i->key, *keys))
				return i->value;
	return NULL;
}

static bool scalar_number(const struct rs_node *n, double *v)
{
	return n && n->kind == RS_NODE_SCALAR && number(n->text, v);
}

/* A number, or a word that tells of a failure; null and the like were not tried. */
static void json_cell(struct reader *r, uint32_t from, uint32_t to, const struct rs_node *n)
{
	double v;

	if (scalar_number(n, &v))
		pairs_add(r, from, to, v);
	else if (n && n->kind == RS_NODE_SCALAR && pairs_tells_failure(n->text))
		pairs_add_failed(r, from, to, false);
}

/* One host more, by its number: of those that hosts do not have as a name. */
static void number_one(struct reader *r)
{
	uint32_t had = r->p->n;

	for (uint32_t k = had; k <= 2 * had && r->p->n == had && !r->err; k++) {
		char name[16];

		snprintf(name, sizeof(name), "%u", k);
		pairs_name(r, name, strlen(name));
	}
}

/* [[1, 2], [3, 4]], with names beside it. */
static void json_matrix(struct reader *r, const struct rs_node *names, const struct rs_node *rows)
{
	uint32_t from = 0;

	if (names && names->kind == RS_NODE_LIST)
		for (const struct rs_item *i = names->first; i && !r->err; i = i->next)
			if (i->value->kind == RS_NODE_SCALAR)
				pairs_name(r, i->value->text, strlen(i->value->text));
	for (const struct rs_item *i = rows->first; i && !r->err; i = i->next, from++) {
		uint32_t to = 0;

		if (i->value->kind != RS_NODE_LIST)
			continue;
		for (const struct rs_item *k = i->value->first; k && !r->err; k = k->next, to++) {
			while ((from >= r->p->n || to >= r->p->n) && !r->err)
				number_one(r);
			json_cell(r, from, to, k->value);
		}
	}
}

/* "status": "failed", "error": "connection refused", in the value's place or beside it */
static bool json_failed(const struct rs_node *n)
{
	for (const struct rs_item *i = n->first; i; i = i->next)
		if (i->value->kind == RS_NODE_SCALAR && pairs_tells_failure(i->value->text))
			return true;
	return false;
}

/* [{"src": "h1", "dst": "h2", "gbps": 389}] */
static void json_record(struct reader *r, const struct rs_node *n)
{
	static const char *const value[] = {
		"busbw",     "bw",      "bandwidth",  "gbps",     "value",      "GB/s",
		"Gb/s",      "avg",     "us",         "latency",  "lat",        "bw_avg",
		"bw_gbps",   "avg_bw",  "bw_average", "gb_per_s", "throughput", "goodput",
		"busbw_avg", "average", "mean",       NULL};
	const struct rs_node *f = any_key(n, from_names), *t = any_key(n, to_names);
	const struct rs_node *have = any_key(n, value);
	uint32_t a, b;
	double v;

	/* a table's column may be called so, a record's key is none of its hosts */
	f = f ? f : any_key(n, (const char *const[]){"a", NULL});
	t = t ? t : any_key(n, (const char *const[]){"b", NULL});
	r->p->cells->any_latency |=
		rs_node_get(n, "us") || rs_node_get(n, "latency") || rs_node_get(n, "lat");
	if (!f || !t || f->kind != RS_NODE_SCALAR || t->kind != RS_NODE_SCALAR ||
	    (!scalar_number(have, &v) && !json_failed(n)))
		return;
	a = pairs_name(r, f->text, strlen(f->text));
	b = r->err ? 0 : pairs_name(r, t->text, strlen(t->text));
	if (scalar_number(have, &v))
		pairs_add(r, a, b, v);
	else
		pairs_add_failed(r, a, b, false);
}

/* {"h1": {"h2": 389}} */
static void json_objects(struct reader *r, const struct rs_node *n)
{
	for (const struct rs_item *i = n->first; i && !r->err; i = i->next) {
		uint32_t from;

		if (i->value->kind != RS_NODE_MAP)
			continue;
		from = pairs_name(r, i->key, strlen(i->key));
		for (const struct rs_item *k = i->value->first; k && !r->err; k = k->next) {
			uint32_t to = pairs_name(r, k->key, strlen(k->key));

			json_cell(r, from, to, k->value);
		}
	}
}

/* {"h1": 0, "h2": 1} or ["h1", "h2"]: names by their numbers. */
static uint32_t json_names(struct reader *r, const struct rs_node *names, uint32_t *number,
			   uint32_t room)
{
	uint32_t n = 0;

	for (const struct rs_item *i = names ? names->first : NULL; i && n < room && !r->err;
	     i = i->next) {
		double at = n;

		if (names->kind == RS_NODE_MAP &&
		    (!scalar_number(i->value, &at) || at < 0 || at >= room))
			continue;
		if (names->kind == RS_NODE_LIST && i->value->kind != RS_NODE_SCALAR)
			continue;
		number[(uint32_t)at] =
			names->kind == RS_NODE_MAP
				? pairs_name(r, i->key, strlen(i->key))
				: pairs_name(r, i->value->text, strlen(i->value->text));
		n++;
	}
	return n;
}

/* [[0, 1, 24100.5], ["h1", "h3", 24090.1]]: two ends, by number or by name, and a value. */
static bool json_triples(struct reader *r, const struct rs_node *names, const struct rs_node *list)
{
	uint32_t number[RS_PAIRS_MAX], n = 0;
	bool any = false;

	for (const struct rs_item *i = list->first; i; i = i->next)
		if (i->value->kind != RS_NODE_LIST || !i->value->first || !i->value->first->next ||
		    !i->value->first->next->next || i->value->first->next->next->next)
			return false;
	n = json_names(r, names, number, RS_PAIRS_MAX);
	for (const struct rs_item *i = list->first; i && !r->err; i = i->next) {
		const struct rs_item *a = i->value->first, *b = a->next, *v = b->next;
		double x, y;

		if ((!scalar_number(v->value, &x) &&
		     (v->value->kind != RS_NODE_SCALAR || !pairs_tells_failure(v->value->text))) ||
		    a->value->kind != RS_NODE_SCALAR || b->value->kind != RS_NODE_SCALAR)
			continue;
		any = true;
		if (n && scalar_number(a->value, &x) && scalar_number(b->value, &y)) {
			if (x >= 0 && y >= 0 && x < n && y < n)
				json_cell(r, number[(uint32_t)x], number[(uint32_t)y], v->value);
			continue;
		}
		x = pairs_name(r, a->value->text, strlen(a->value->text));
		json_cell(r, (uint32_t)x,
			  r->err ? 0 : pairs_name(r, b->value->text, strlen(b->value->text)),
			  v->value);
	}
	return any;
}

/* "Units": "usec", "Testname": "latency" */
static void json_units(struct reader *r, const struct rs_node *n)
{
	for (const struct rs_item *i = n->first; i; i = i->next)
		if (i->value->kind == RS_NODE_SCALAR &&
		    (strcasestr(i->key, "unit") || strcasestr(i->key, "test")))
			note_unit(r, i->value->text);
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
	json_units(r, n);
	if (list && list->kind == RS_NODE_LIST && list->first &&
	    json_triples(r, any_key(n, names), list))
		return;
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

/* What no form took, and what the first error was of: lines in words of their own. */
static void read_loose(struct reader *r, const char *text, size_t n)
{
	char *plain = pairs_loose(text, n);

	if (!plain)
		return;
	r->err = 0;
	r->line = 0;
	r->n_words = r->n_columns = r->rows = 0;
	r->commas = r->numbered = false;
	if (r->e)
		*r->e = (struct rs_error){0};
	read_lines(r, plain, strlen(plain));
	free(plain);
}

/* From the first-th cell on there are none but lines that may be of no pair. */
static bool only_said(const struct pairs_cells *c, uint32_t first)
{
	for (uint32_t i = first; i < c->n; i++)
		if (c->cell[i].how != CELL_SAID)
			return false;
	return true;
}

/* A log that is named by its pair and has no table, but the words of a failure. */
static void failed_file(struct reader *r, const char *text, size_t n, uint32_t before)
{
	const char *a, *b;
	size_t na, nb;
	uint32_t from;
	bool failed;
	char *copy;

	if (!pairs_of_path(r->path, &a, &na, &b, &nb) || !pairs_one_shape(a, na, b, nb))
		return;
	copy = strndup(text, n);
	if (!copy) {
		r->err = rs_error_set(r->e, -ENOMEM, "out of memory");
		return;
	}
	failed = pairs_tells_failure(copy);
	free(copy);
	if (!failed)
		return;
	r->err = 0;
	r->p->cells->n = before;
	if (r->e)
		*r->e = (struct rs_error){0};
	from = pairs_name(r, a, na);
	pairs_add_failed(r, from, r->err ? 0 : pairs_name(r, b, nb), false);
}

int rs_pairs_read(const char *text, size_t n, const char *path, struct rs_arena *a,
		  struct rs_pairs **p, struct rs_error *e)
{
	struct reader *r = calloc(1, sizeof(*r));
	size_t at = 0;
	uint32_t before, values;
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
	values = r->p->cells->values;
	while (at < n && isspace((unsigned char)text[at]))
		at++;
	if (at < n && (text[at] == '{' || text[at] == '['))
		read_json(r, text, n);
	else if (pairs_is_log(text, n))
		pairs_read_logs(r, text, n);
	else
		read_lines(r, text, n);
	if (r->err != -ENOMEM && r->p->cells->values == values)
		read_loose(r, text, n);
	if (r->err != -ENOMEM && only_said(r->p->cells, before))
		failed_file(r, text, n, before);
	if (!r->err && r->p->cells->n == before) {
		r->line = r->line ? r->line : 1;
		pairs_bad(r, "expected a matrix of pairs: a table with names, lines of 'A B "
			     "value', JSON, "
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

	if (!pairs_settle_failed(p))
		return rs_error_set(e, -ENOMEM, "out of memory");
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

		if (c->cell[i].how != CELL_VALUE)
			p->value[at] = -1;
		if (p->value[at] < 0)
			continue;
		if (times[at] < UINT16_MAX)
			times[at]++;
		p->value[at] += (c->cell[i].value - p->value[at]) / times[at];
	}
	free(times);
	p->undirected = true;
	for (size_t i = 0; i < n; i++) {
		p->group[i] = UINT32_MAX;
		for (size_t k = 0; k < i; k++)
			p->undirected &= !(fabs(p->value[i * n + k]) > 0) ||
					 !(fabs(p->value[k * n + i]) > 0) ||
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
