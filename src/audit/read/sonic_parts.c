/* Parts of SONiC's CONFIG_DB as people paste them: some tables without the braces around them, one
 * table that jq took out, rows that sonic-db-cli and redis-cli print. What one text has of one host
 * is gathered as rows and read as config_db.json is (sonic.c). */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/readers.h"
#include "audit/read/segment_state.h"
#include "audit/read/sonic.h"
#include "text/document.h"

enum {
	ROWS_BYTES = 1 << 20, /* of one host's rows */
	PART_LINES = 65536,   /* of one part */
	DEPTH = 8             /* braces that a cut part leaves open, at most */
};

static const char *const tables[] = {"PORT_QOS_MAP",
				     "DSCP_TO_TC_MAP",
				     "TC_TO_QUEUE_MAP",
				     "TC_TO_PRIORITY_GROUP_MAP",
				     "MAP_PFC_PRIORITY_TO_QUEUE",
				     "QUEUE",
				     "SCHEDULER",
				     "WRED_PROFILE",
				     "BUFFER_PG",
				     "BUFFER_PROFILE",
				     "BUFFER_POOL",
				     "CABLE_LENGTH",
				     "PFC_WD",
				     "PORT",
				     "DEVICE_METADATA",
				     "DEVICE_NEIGHBOR",
				     "SWITCH_HASH",
				     "DEFAULT_LOSSLESS_BUFFER_PARAMETER",
				     NULL};

static const char *table_of(const char *name, size_t n)
{
	for (unsigned i = 0; tables[i]; i++)
		if (strlen(tables[i]) == n && !memcmp(tables[i], name, n))
			return tables[i];
	return NULL;
}

/* What a row without its table is of: fields that one table alone has. */
static const char *table_by_fields(const char *key, struct rs_value *row)
{
	static const struct {
		const char *field, *table;
		bool barred; /* its rows are of a port and a number: "Ethernet0|3" */
	} signs[] = {
		{"wred_profile", "QUEUE", true},
		{"scheduler", "QUEUE", true},
		{"pfc_enable", "PORT_QOS_MAP", false},
		{"dscp_to_tc_map", "PORT_QOS_MAP", false},
		{"tc_to_queue_map", "PORT_QOS_MAP", false},
		{"green_max_threshold", "WRED_PROFILE", false},
		{"detection_time", "PFC_WD", false},
		{"xoff", "BUFFER_PROFILE", false},
		{"default_dynamic_th", "DEFAULT_LOSSLESS_BUFFER_PARAMETER", false},
	};
	char type[32];

	for (unsigned i = 0; i < sizeof(signs) / sizeof(*signs); i++)
		if (rs_document_member(row, signs[i].field) &&
		    signs[i].barred == (strchr(key, '|') != NULL))
			return strcmp(signs[i].table, "BUFFER_PROFILE") ||
					       rs_document_member(row, "pool")
				       ? signs[i].table
				       : NULL;
	if (rs_document_text(rs_document_member(row, "type"), type, sizeof(type)) &&
	    (!strcmp(type, "STRICT") || !strcmp(type, "DWRR") || !strcmp(type, "WRR")))
		return "SCHEDULER";
	return NULL;
}

struct rows {
	char *text; /* a document of JSON, its rows flat: "TABLE|KEY": {...} */
	size_t n;
	unsigned count;
};

static void say(struct rows *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(struct rows *r, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(r->text + r->n, ROWS_BYTES - r->n, fmt, ap);
	va_end(ap);
	if (n > 0 && r->n + (size_t)n < ROWS_BYTES)
		r->n += (size_t)n;
}

/* A text as a string of JSON. */
static void say_string(struct rows *r, const char *text)
{
	say(r, "\"");
	for (; *text; text++)
		if ((unsigned char)*text >= ' ')
			say(r, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
	say(r, "\"");
}

static void row_begins(struct rows *r, const char *table, const char *key)
{
	char name[320];

	snprintf(name, sizeof(name), "%s|%s", table, key);
	say(r, r->count++ ? ", " : "{");
	say_string(r, name);
	say(r, ": {");
}

/* A row whole, or nothing of it. */
static void row_add(struct rows *r, const char *table, const char *key, struct rs_value *row)
{
	struct rows before = *r;
	struct rs_pair *p;
	void *it = NULL;
	unsigned fields = 0;

	row_begins(r, table, key);
	while ((p = rs_value_each_pair(row, &it))) {
		char name[128], value[512];

		if (!rs_document_text(rs_pair_key(p), name, sizeof(name)) ||
		    !rs_document_text(rs_pair_value(p), value, sizeof(value)))
			continue;
		say(r, fields++ ? ", " : "");
		say_string(r, name);
		say(r, ": ");
		say_string(r, value);
	}
	say(r, "}");
	if (!fields || r->n + 1024 > ROWS_BYTES)
		*r = before;
}

/* A member of a part: a table with its rows, or a row whose fields tell its table. */
static void member_add(struct rows *r, const char *key, struct rs_value *v)
{
	const char *bar = strchr(key, '|');
	const char *table = table_of(key, bar ? (size_t)(bar - key) : strlen(key));
	struct rs_pair *p;
	void *it = NULL;
	char name[256];

	if (!rs_value_is_map(v))
		return;
	if (table && bar)
		row_add(r, table, bar + 1, v);
	else if (table)
		while ((p = rs_value_each_pair(v, &it))) {
			if (rs_value_is_map(rs_pair_value(p)) &&
			    rs_document_text(rs_pair_key(p), name, sizeof(name)))
				row_add(r, table, name, rs_pair_value(p));
		}
	else if ((table = table_by_fields(key, v)))
		row_add(r, table, key, v);
}

/* A part's text, a document by itself. How many rows it gave. */
static unsigned part_read(struct rows *r, const char *text, size_t n)
{
	struct rs_document *doc = rs_document_parse(text, n);
	struct rs_value *root = doc ? rs_document_root(doc) : NULL;
	unsigned before = r->count;
	struct rs_pair *p;
	void *it = NULL;
	char key[256];

	while (rs_value_is_map(root) && (p = rs_value_each_pair(root, &it)))
		if (rs_document_text(rs_pair_key(p), key, sizeof(key)))
			member_add(r, key, rs_pair_value(p));
	rs_document_destroy(doc);
	return r->count - before;
}

/* Braces of one line, those within strings left out. */
static int opened(const char *text)
{
	bool within = false;
	int n = 0;

	for (; *text; text++) {
		within ^= *text == '"';
		n += !within && *text == '{';
		n -= !within && *text == '}';
	}
	return n;
}

/* '"QUEUE": {', '"Ethernet0|3": {': a table or a row without what is around it. */
static bool opens_part(const char *text)
{
	const char *end = *text == '"' ? strchr(text + 1, '"') : NULL;

	return end && end > text + 1 && end[1] == ':' && end[2 + strspn(end + 2, " \t")] == '{';
}

static bool frames(const struct rs_stream *s, uint32_t i)
{
	return s->kind[i] == RS_PIECE_PROMPT || s->kind[i] == RS_PIECE_FENCE ||
	       s->kind[i] == RS_PIECE_HEADING;
}

/* Does the document that begins here have tables among its keys? Then config_db.json's reader takes
 * it. */
static bool is_whole(struct rs_stream *s, uint32_t i, uint32_t last)
{
	struct rs_line *l = &s->line;

	for (; i <= last; i++) {
		rs_stream_line(s, i, l);
		for (unsigned k = 0; tables[k]; k++) {
			char sign[64];
			int n = snprintf(sign, sizeof(sign), "\"%s", tables[k]);
			const char *at = strstr(l->text, sign);

			if (at && strchr("\"|", at[n]))
				return true;
		}
	}
	return false;
}

/* The part at line i: to where its braces close, or to a frame; its last line. A document in braces
 * of its own is one part. */
static uint32_t part(struct rs_stream *s, struct rows *r, uint32_t i)
{
	struct rs_line *l = &s->line;
	uint32_t end = i, last = i;
	struct rows text = {.n = 0};
	bool bare;
	int depth = 0;

	rs_stream_line(s, i, l);
	bare = opens_part(l->text);
	if (!bare &&
	    (*l->text != '{' || (end = rs_stream_json_end(s, i)) == i || is_whole(s, i, end)))
		return end;
	text.text = malloc(ROWS_BYTES);
	if (!text.text) {
		s->t->a->err = -ENOMEM;
		return i;
	}
	say(&text, bare ? "{" : "");
	for (uint32_t k = i; k < s->n && k - i < PART_LINES && !frames(s, k); k++) {
		if (s->kind[k] == RS_PIECE_BLANK && depth <= 0)
			break;
		rs_stream_line(s, k, l);
		if (depth <= 0 && k > i && !opens_part(l->text))
			break;
		depth += opened(l->text);
		say(&text, "%s\n", l->text);
		last = k;
		if (depth <= 0 && l->text[strlen(l->text) - 1] != ',')
			break;
	}
	while (text.n && strchr(", \n", text.text[text.n - 1]))
		text.text[--text.n] = '\0';
	for (int k = 0; k < depth && k < DEPTH; k++)
		say(&text, "}");
	say(&text, bare ? "}" : "");
	if (part_read(r, text.text, text.n))
		for (uint32_t k = i; k <= last; k++)
			s->kept[k] = true;
	free(text.text);
	return last;
}

/* The key that a command asks the database for: HGETALL 'PORT_QOS_MAP|Ethernet0'. */
static const char *asked(const struct rs_stream *s, uint32_t command, char *key, size_t size)
{
	const char *c = command ? s->t->command[command - 1] : "";
	const char *p = strcasestr(c, "hgetall"), *bar, *table;

	if (!p)
		return NULL;
	p += strlen("hgetall");
	p += strspn(p, " \"'");
	bar = strchr(p, '|');
	table = bar ? table_of(p, (size_t)(bar - p)) : NULL;
	if (!table)
		return NULL;
	snprintf(key, size, "%.*s", (int)strcspn(bar + 1, " \"'"), bar + 1);
	return *key ? table : NULL;
}

/* '12) "ecn_all"': the string; NULL. */
static const char *listed(char *text)
{
	char *p = text + strspn(text, "0123456789"), *end;

	if (p == text || *p != ')' || p[1 + strspn(p + 1, " ")] != '"')
		return NULL;
	p += 1 + strspn(p + 1, " ") + 1;
	end = strrchr(p, '"');
	if (!end)
		return NULL;
	*end = '\0';
	return p;
}

/* A dictionary in one line, as Python prints it, or names and values of a list by turns. */
static uint32_t answer(struct rs_stream *s, struct rows *r, uint32_t i, const char *table,
		       const char *key)
{
	struct rows before = *r;
	struct rs_line *l = &s->line;
	unsigned words = 0;
	const char *word;

	rs_stream_line(s, i, l);
	if (*l->text == '{') {
		struct rs_document *doc;
		struct rs_value *root;

		for (char *p = l->text; *p; p++)
			*p = *p == '\'' ? '"' : *p;
		doc = rs_document_parse(l->text, strlen(l->text));
		root = doc ? rs_document_root(doc) : NULL;
		if (rs_value_is_map(root))
			row_add(r, table, key, root);
		s->kept[i] |= r->count > before.count;
		rs_document_destroy(doc);
		return i;
	}
	if (!listed(l->text))
		return i;
	row_begins(r, table, key);
	for (; i < s->n && !frames(s, i); i++) {
		rs_stream_line(s, i, l);
		word = listed(l->text);
		if (!word)
			break;
		say(r, !words ? "" : words % 2 ? ": " : ", ");
		say_string(r, word);
		s->kept[i] = true;
		words++;
	}
	say(r, "}");
	if (!words || words % 2 || r->n + 1024 > ROWS_BYTES)
		*r = before;
	return i - 1;
}

uint32_t rs_stream_sonic(struct rs_stream *s, const struct rs_input *in)
{
	struct rows r = {.n = 0};
	struct rs_input own = *in;
	uint32_t before = rs_facts_count(s->t->a->facts);
	uint32_t command = 0; /* of the last prompt */
	char key[256];

	for (uint32_t i = 0; i < s->n && !s->t->a->err; i++) {
		const char *table;

		if (frames(s, i) || s->command[i])
			command = s->command[i];
		table = asked(s, command, key, sizeof(key));
		if (frames(s, i) || s->kind[i] == RS_PIECE_BLANK || s->code[i])
			continue;
		if (!table) {
			rs_stream_line(s, i, &s->line);
			if (*s->line.text != '{' && !opens_part(s->line.text))
				continue;
		}
		if (!r.text && !(r.text = malloc(ROWS_BYTES))) {
			s->t->a->err = -ENOMEM;
			break;
		}
		i = table ? answer(s, &r, i, table, key) : part(s, &r, i);
	}
	if (r.count) {
		say(&r, "}");
		own.data = r.text;
		own.size = r.n;
		own.lines = NULL;
		own.n_lines = 0;
		own.trust = rs_reader_sonic.trust;
		rs_sonic_read_rows(s->t->a, &own);
	}
	free(r.text);
	return rs_facts_count(s->t->a->facts) - before;
}
