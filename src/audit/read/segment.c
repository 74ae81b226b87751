/* Texts into segments, segments to readers. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/read/place.h"
#include "audit/read/prompt.h"
#include "audit/read/readers.h"
#include "audit/read/segment.h"
#include "audit/read/grid.h"
#include "audit/read/shown.h"
#include "audit/read/states.h"
#include "audit/read/unwrap.h"

/* What a line is to the cutter. */
enum kind {
	TEXT,
	BLANK,
	PROMPT,
	FENCE,
	HEADING,
	REFUSAL,
	PROSE,
	JOINED /* went into the line before: no line of its own */
};

/* How a name was found. */
enum namer { BY_LOG, BY_PROMPT, BY_HEADING, BY_CONFIG, NAMERS };

struct piece {
	size_t at; /* in struct text's data */
	uint32_t length, command;
	uint16_t host;
	uint8_t kind;
	bool named;  /* a prompt says whose it is */
	bool quoted; /* behind ">" */
	bool config; /* a configuration says here whose it is */
};

struct name {
	char name[RS_NAME_BYTES];
	bool by[NAMERS];
	uint16_t is; /* after settle_hosts(): the host that it stands for; 0: the text's own */
};

struct text {
	struct rs_audit *a;
	const struct rs_input *in;
	struct rs_input joined; /* *in with broken lines joined, where there are some */
	uint8_t *how;           /* of each line: enum rs_join */
	struct rs_text_use *use;
	struct rs_prefix_habits habits;
	struct piece *piece;
	uint32_t *order; /* pieces by host, then by line; those of host i from begin[i] */
	uint32_t n, n_names, n_commands, commands_room, begin[RS_TEXT_HOSTS + 1];
	char *data;          /* lines without prefixes, each with its end */
	size_t size, indent; /* indent: of the block of code at hand (dedent()) */
	struct name *name;   /* [0]: the text's own host */
	char (*command)[RS_COMMAND_BYTES];
	bool knew;
	bool old_quotes; /* what is quoted is an older run of what follows it */
};

/* ---- Hosts ---- */

/* "gpu01" and "gpu01.cluster.local" are one; an address is not cut. */
static size_t short_length(const char *name)
{
	return isdigit((unsigned char)*name) ? strlen(name) : strcspn(name, ".");
}

static bool same_name(const char *x, const char *y)
{
	size_t n = short_length(x);

	return n == short_length(y) && !strncasecmp(x, y, n);
}

/* Its number; 0: no name, or one that says nothing. */
static uint16_t host_named(struct text *t, const char *name, enum namer by)
{
	if (!*name || !strncasecmp(name, "localhost", 9) || !strcmp(name, "host") ||
	    strspn(name, "0123456789") == strlen(name))
		return 0;
	for (uint32_t i = 1; i < t->n_names; i++)
		if (same_name(t->name[i].name, name)) {
			t->name[i].by[by] = true;
			return (uint16_t)i;
		}
	if (t->n_names == RS_TEXT_HOSTS)
		return 0;
	snprintf(t->name[t->n_names].name, RS_NAME_BYTES, "%.*s", (int)short_length(name), name);
	t->name[t->n_names].by[by] = true;
	return (uint16_t)t->n_names++;
}

/* A tag and the line's own name on one line: two names of one host. */
static uint16_t both(struct text *t, const struct rs_prefix *p)
{
	uint16_t inner = host_named(t, p->inner, BY_LOG), outer;

	if (!*p->outer)
		return inner;
	outer = host_named(t, p->outer, BY_LOG);
	if (!inner || inner == outer)
		return outer;
	if (outer)
		t->name[outer].is = inner;
	return inner;
}

/*
 * Which names are hosts of their own: those of a sort that names several. One log beside one prompt
 * is one machine under two names (a container's and the host's).
 */
static void settle_hosts(struct text *t)
{
	unsigned count[NAMERS] = {0};

	for (uint32_t i = 1; i < t->n_names; i++)
		for (int by = 0; by < NAMERS; by++)
			count[by] += t->name[i].by[by] && !t->name[i].is;
	for (uint32_t i = 1; i < t->n_names; i++) {
		bool own = false;

		if (t->name[i].is)
			continue;
		for (int by = 0; by < NAMERS; by++)
			own |= t->name[i].by[by] && count[by] > 1;
		t->name[i].is = own && !t->in->forced ? (uint16_t)i : 0;
	}
	for (uint32_t i = 1; i < t->n_names; i++)
		t->name[i].is = t->name[t->name[i].is].is;
}

/* ---- Lines ---- */

/* Takes escape sequences and ends of lines away; keeps what indents. *length of what is left. */
static void clean(struct text *t, const char *from, size_t n, size_t *length)
{
	char *to = t->data + t->size;
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		char c = from[i];

		if (c == '\033') {
			size_t e = i + 1;

			if (e < n && from[e] == '[') {
				for (e++; e < n && (from[e] < 0x40 || from[e] > 0x7e); e++)
					;
				i = e;
				continue;
			}
			continue;
		}
		if (c == '\r' && i + 1 < n)
			k = 0; /* written over, as progress bars do */
		else if (c && c != '\r')
			to[k++] = c;
	}
	to[k] = '\0';
	*length = k;
}

static uint32_t keep_command(struct text *t, const char *command)
{
	if (!*command)
		return 0;
	if (t->n_commands == t->commands_room) {
		uint32_t room = t->commands_room ? 2 * t->commands_room : 16;
		void *more = realloc(t->command, room * sizeof(*t->command));

		if (!more) {
			t->a->err = -ENOMEM;
			return 0;
		}
		t->command = more;
		t->commands_room = room;
	}
	snprintf(t->command[t->n_commands], RS_COMMAND_BYTES, "%s", command);
	return ++t->n_commands;
}

/* A sentence within an output is the output's: one of a person has a line of its own before it. */
static bool stands_free(const struct text *t)
{
	uint8_t before = BLANK;

	for (uint32_t i = t->n - 1; i-- > 0;) {
		before = t->piece[i].kind;
		if (before != JOINED)
			break;
	}
	return before != TEXT && before != REFUSAL;
}

/* "hostname leaf1", "set system host-name leaf1": what a switch's configuration calls itself. */
static bool config_name(const char *text, char *out)
{
	static const char *const keys[] = {"hostname ", "switchname ", "sysname ",
					   "set system host-name ", "nv set system hostname "};

	for (unsigned i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		size_t n = strlen(keys[i]), m;

		if (strncmp(text, keys[i], n))
			continue;
		text += n;
		text += *text == '"';
		m = strcspn(text, " \t\";");
		if (!m || m >= RS_NAME_BYTES || strlen(text) > m + 1)
			return false;
		snprintf(out, RS_NAME_BYTES, "%.*s", (int)m, text);
		return true;
	}
	return false;
}

/* An empty prompt at an output's end, "gpu01:~$ ", counts as one, too. */
static void classify(struct text *t, struct piece *p, char *text)
{
	char *own = text + strspn(text, " \t");
	bool indented = own - text > 3;
	struct rs_refusal refusal;
	struct rs_prompt prompt;
	char name[RS_NAME_BYTES];

	if (!*own) {
		p->kind = BLANK;
	} else if (own == text && config_name(own, name)) {
		p->host = host_named(t, name, BY_CONFIG);
		p->config = p->host != 0;
	} else if (rs_fence(own)) {
		p->kind = FENCE;
	} else if (rs_refusal_find(own, &refusal)) {
		p->kind = REFUSAL;
	} else if (!indented && rs_prompt_find(own, &prompt)) {
		p->host = host_named(t, prompt.host, BY_PROMPT);
		p->named = p->host != 0;
		if (prompt.strip) {
			memmove(own, own + prompt.strip, strlen(own + prompt.strip) + 1);
			p->length -= (uint32_t)prompt.strip;
			return;
		}
		p->kind = PROMPT;
		p->command = keep_command(t, prompt.command);
	} else if (own == text && rs_heading_find(own, &prompt)) {
		p->kind = HEADING;
		p->host = host_named(t, prompt.host, BY_HEADING);
		p->command = keep_command(t, prompt.command);
	} else if (own == text && stands_free(t) && rs_prose(own)) {
		p->kind = PROSE;
	}
}

/* One ">" before a command alone is a prompt; before several lines it is a quote. */
static bool quoted(const char *from, size_t left)
{
	const char *end = memchr(from, '\n', left);

	return *from == '>' && end && end + 1 < from + left && end[1] == '>';
}

/* A post's block of code is indented as a whole: a prompt tells by how much, up to a line before
 * that. */
static size_t dedent(struct text *t, char *text, size_t length)
{
	size_t blanks = strspn(text, " \t");
	struct rs_prompt prompt;

	if (t->indent && text[blanks] && blanks < t->indent)
		t->indent = 0;
	if (!t->indent && (blanks > 3 || *text == '\t') && !strchr(">+%", text[blanks]) &&
	    rs_prompt_find(text + blanks, &prompt))
		t->indent = blanks;
	if (blanks > t->indent)
		blanks = t->indent;
	if (blanks)
		memmove(text, text + blanks, length - blanks + 1);
	return length - blanks;
}

static void line_add(struct text *t, const char *from, size_t left, size_t n, bool *in_quote)
{
	struct piece *p = &t->piece[t->n++];
	struct rs_prefix prefix;
	char *text = t->data + t->size;
	size_t length;

	*p = (struct piece){.at = t->size};
	if (t->how[t->n - 1]) {
		p->kind = JOINED;
		t->data[t->size++] = '\n';
		return;
	}
	clean(t, from, n, &length);
	*in_quote = *text == '>' && (*in_quote || quoted(from, left));
	p->quoted = *in_quote;
	rs_prefix_find(&t->habits, text, &prefix);
	/* one line behind ">" is a quote as well, unless it is a command behind a prompt */
	if (*text == '>' && !*in_quote && rs_command_known(text + 1 + strspn(text + 1, " ")))
		prefix.strip = 0;
	if (prefix.strip) {
		memmove(text, text + prefix.strip, length - prefix.strip + 1);
		length -= prefix.strip;
	}
	while (length && isspace((unsigned char)text[length - 1]))
		text[--length] = '\0';
	length = dedent(t, text, length);
	p->length = (uint32_t)length;
	p->host = both(t, &prefix);
	classify(t, p, text);
	text[p->length] = '\n';
	t->size += p->length + 1u;
	t->use->use[t->n - 1] = p->kind == BLANK ? RS_LINE_BLANK : RS_LINE_STRANGE;
}

static uint32_t count_lines(const char *data, size_t size)
{
	uint32_t n = 0;

	for (const char *p = data, *end = data + size; p < end; n++) {
		p = memchr(p, '\n', (size_t)(end - p));
		p = p ? p + 1 : end;
	}
	return n;
}

static void each_line(struct text *t,
		      void (*act)(struct text *, const char *, size_t, size_t, bool *))
{
	const char *p = t->in->data, *end = p + t->in->size;
	bool state = false;

	while (p < end) {
		const char *next = memchr(p, '\n', (size_t)(end - p));

		act(t, p, (size_t)(end - p), (size_t)((next ? next : end) - p), &state);
		p = next ? next + 1 : end;
	}
}

enum { LEARN_BYTES = 512 };

static void learn(struct text *t, const char *from, size_t left, size_t n, bool *state)
{
	char text[LEARN_BYTES];

	(void)left, (void)state;
	snprintf(text, sizeof(text), "%.*s", (int)(n < sizeof(text) ? n : sizeof(text) - 1), from);
	rs_prefix_learn(&t->habits, text);
}

static struct rs_text_use *use_new(struct rs_audit *a, const char *path, uint32_t lines)
{
	struct rs_text_use *u = rs_arena_alloc(a->arena, 1, sizeof(*u));

	if (!u || !(u->use = calloc(lines + 1u, 1)))
		return NULL;
	u->path = rs_audit_text(a, "%s", path);
	u->lines = lines;
	return u;
}

static void text_free(struct text *t)
{
	if (t->use)
		free(t->use->use);
	if (t->use)
		t->use->use = NULL;
	if (t->in == &t->joined)
		free((void *)(uintptr_t)t->joined.data);
	free(t->how);
	free(t->piece);
	free(t->order);
	free(t->data);
	free(t->name);
	free(t->command);
	free(t);
}

/* A reply quotes the log of the run before, and has the log of the newest of its own: the same
 * library's lines stand in both. */
static bool quotes_are_old(const struct text *t)
{
	enum { OWN = 2 };
	unsigned n[2][RS_RECORDS] = {{0}};

	for (uint32_t i = 0; i < t->n; i++) {
		const struct piece *p = &t->piece[i];

		if (p->kind == TEXT)
			n[p->quoted][rs_record_of(t->data + p->at, p->length)]++;
	}
	return (n[1][RS_RECORD_NCCL] && n[0][RS_RECORD_NCCL] >= OWN) ||
	       (n[1][RS_RECORD_UCX] && n[0][RS_RECORD_UCX] >= OWN);
}

/* Joins what a terminal or a mailer broke. */
static int unwrap(struct text *t, const struct rs_input *in, uint32_t lines)
{
	t->how = calloc(lines + 1u, 1);
	if (!t->how)
		return -ENOMEM;
	if (!rs_unwrap_find(in->data, in->size, t->how, lines))
		return 0;
	t->joined = *in;
	t->joined.data = rs_unwrap_join(in->data, in->size, t->how, &t->joined.size);
	if (!t->joined.data)
		return -ENOMEM;
	t->in = &t->joined;
	return 0;
}

static struct text *text_new(struct rs_audit *a, const struct rs_input *in)
{
	uint32_t lines = count_lines(in->data, in->size);
	struct text *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->a = a;
	t->in = in;
	t->use = use_new(a, in->path, lines);
	t->piece = calloc(lines + 1u, sizeof(*t->piece));
	t->data = unwrap(t, in, lines) ? NULL : malloc(t->in->size + lines + 2);
	t->name = calloc(RS_TEXT_HOSTS, sizeof(*t->name));
	if (!t->use || !t->piece || !t->data || !t->name) {
		text_free(t);
		return NULL;
	}
	t->n_names = 1;
	each_line(t, learn);
	rs_prefix_settle(&t->habits);
	each_line(t, line_add);
	t->data[t->size] = '\0';
	t->old_quotes = quotes_are_old(t);
	settle_hosts(t);
	return t;
}

/* Pieces by host, each host's in their order. */
static int order_pieces(struct text *t)
{
	t->order = malloc((t->n + 1u) * sizeof(*t->order));
	if (!t->order)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n; i++)
		t->begin[t->piece[i].host + 1]++;
	for (uint32_t h = 0; h < RS_TEXT_HOSTS; h++)
		t->begin[h + 1] += t->begin[h];
	for (uint32_t i = t->n; i-- > 0;)
		t->order[--t->begin[t->piece[i].host + 1]] = i;
	/* begin[h + 1] went down to where h begins */
	memmove(t->begin, t->begin + 1, RS_TEXT_HOSTS * sizeof(*t->begin));
	t->begin[RS_TEXT_HOSTS] = t->n;
	return 0;
}

enum { FEW_NAMES = 64 /* that each line is compared with */ };

/* "gpu01: text", "gpu01 pid 12: text" of a host that another line names. */
static uint16_t leading(const struct text *t, const struct piece *p)
{
	const char *text = t->data + p->at;

	for (uint32_t i = 1; i < t->n_names; i++) {
		size_t n = strlen(t->name[i].name);

		if (n < p->length && !strncmp(text, t->name[i].name, n) &&
		    (!strncmp(text + n, ": ", 2) || !strncmp(text + n, " pid ", 5)))
			return t->name[i].is;
	}
	return 0;
}

/* What may stand before a configuration's name, and is of it. */
static bool opens_config(const struct text *t, const struct piece *p)
{
	const char *text = t->data + p->at;

	return p->kind == BLANK || *text == '!' || !strncmp(text, "version ", 8);
}

/* Several configurations in one text: each begins some lines before its name, the first of a block
 * with the block. */
static void spread_configs(struct text *t)
{
	bool first = true;

	for (uint32_t i = 0; i < t->n; i++) {
		struct piece *p = &t->piece[i];
		uint32_t k = i;

		if (p->kind == FENCE || p->kind == PROMPT || p->kind == HEADING)
			first = true;
		if (!p->config || !t->name[p->host].is)
			continue;
		while (k && t->piece[k - 1].kind != FENCE && t->piece[k - 1].kind != PROMPT &&
		       t->piece[k - 1].kind != HEADING && !t->piece[k - 1].config &&
		       (first || opens_config(t, &t->piece[k - 1])))
			k--;
		if (k < i) {
			t->piece[k].config = true;
			t->piece[k].host = p->host;
		}
		first = false;
	}
}

/* What a prompt, a heading or a configuration names holds until the next, or until a fence. */
static void spread_hosts(struct text *t)
{
	uint16_t now = 0;

	spread_configs(t);

	for (uint32_t i = 0; i < t->n; i++) {
		struct piece *p = &t->piece[i];
		uint16_t own = t->name[p->host].is;

		if (p->kind == PROMPT || p->named || (p->kind == HEADING && p->host) ||
		    (p->config && own))
			now = own;
		if (!own && t->n_names < FEW_NAMES && p->kind == TEXT)
			own = leading(t, p);
		p->host = own ? own : now;
	}
}

/* ---- Segments ---- */

struct segment {
	uint32_t first, n; /* among the host's lines */
	uint32_t command;  /* from 1; 0: none */
	bool fenced, prose;
};

/* The lines of one host in order: their text, and which lines of the file they are. */
struct stream {
	struct text *t;
	const char *host;
	char *data;
	size_t *start; /* of each line in data */
	uint32_t *number;
	uint8_t *kind;
	uint32_t *command;
	bool *kept;  /* a reader of segments took it */
	bool *code;  /* of a program or a script */
	bool *whole; /* of a document that was used as a whole */
	uint32_t n;
	uint64_t marks, braced;
	bool old;                               /* quotes of an older run */
	const struct rs_reader *taker, *except; /* who took the last; who is not asked */
	struct rs_line line;                    /* at hand: too large for the stack of each call */
};

static void stream_free(struct stream *s)
{
	free(s->data);
	free(s->start);
	free(s->number);
	free(s->kind);
	free(s->command);
	free(s->kept);
	free(s->code);
	free(s->whole);
}

/* old: the lines that are quotes of an older run, or the others. */
static int stream_new(struct stream *s, struct text *t, uint16_t host, bool old)
{
	const uint32_t *order = t->order + t->begin[host];
	uint32_t n = t->begin[host + 1] - t->begin[host];
	size_t size = 0;

	*s = (struct stream){.t = t, .host = host ? t->name[host].name : t->in->host, .old = old};
	if (!n)
		return 0;
	for (uint32_t i = 0; i < n; i++)
		size += t->piece[order[i]].length + 1u;
	s->data = malloc(size + 1);
	s->start = malloc((n + 1u) * sizeof(*s->start));
	s->number = malloc(n * sizeof(*s->number));
	s->kind = malloc(n);
	s->command = malloc(n * sizeof(*s->command));
	s->kept = calloc(n, sizeof(*s->kept));
	s->code = calloc(n, sizeof(*s->code));
	s->whole = calloc(n, sizeof(*s->whole));
	if (!s->data || !s->start || !s->number || !s->kind || !s->command || !s->kept ||
	    !s->code || !s->whole)
		return -ENOMEM;
	size = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct piece *p = &t->piece[order[i]];

		if (p->kind == JOINED || (t->old_quotes && p->quoted) != old)
			continue;
		s->start[s->n] = size;
		s->number[s->n] = order[i] + 1;
		s->kind[s->n] = p->kind;
		s->command[s->n++] = p->command;
		/* a refusal is no output: its line is there, and empty */
		if (p->kind != REFUSAL) {
			memcpy(s->data + size, t->data + p->at, p->length);
			size += p->length;
		}
		s->data[size++] = '\n';
	}
	s->start[s->n] = size;
	s->data[size] = '\0';
	return 0;
}

/* Line i of a stream, as readers see lines. */
static void line_at(const struct stream *s, uint32_t i, struct rs_line *l)
{
	struct rs_input one = {.data = s->data + s->start[i],
			       .size = s->start[i + 1] - s->start[i]};

	l->next = 0;
	l->number = 0;
	rs_line_next(&one, l);
	l->number = i + 1;
}

/* Patterns by the first byte of the lines that they fit: most lines fit none. */
struct signs {
	uint8_t maybe[256];
};

static void signs_fill(struct signs *g)
{
	memset(g, 0, sizeof(*g));
	for (unsigned r = 0; rs_readers[r]; r++)
		for (const char *const *p = rs_readers[r]->begins; p && *p; p++) {
			const char *first = *p + strspn(*p, " ");

			if (!strchr("*#&%", *first))
				g->maybe[(unsigned char)*first] = 1;
			else
				memset(g->maybe, 1, sizeof(g->maybe));
		}
}

/* Whose output begins at this line; NULL: of none that is known. */
static const struct rs_reader *beginner(const struct signs *g, const struct rs_line *l)
{
	if (!g->maybe[(unsigned char)*l->text])
		return NULL;
	for (unsigned r = 0; rs_readers[r]; r++)
		for (const char *const *p = rs_readers[r]->begins; p && *p; p++)
			if (rs_pattern(*p, l))
				return rs_readers[r];
	return NULL;
}

static bool has_text(const struct stream *s, const struct segment *g)
{
	for (uint32_t i = g->first; i < g->first + g->n; i++)
		if (s->start[i + 1] - s->start[i] > 1)
			return true;
	return false;
}

static void segment_input(struct stream *s, const struct segment *g, struct rs_input *in)
{
	*in = *s->t->in;
	in->host = s->host;
	in->first_line = 0;
	in->age = s->old ? 1 : in->age;
	in->lines = s->number + g->first;
	in->n_lines = g->n;
	in->use = s->t->use;
	in->marks = &s->marks;
	in->command = g->command ? s->t->command[g->command - 1] : NULL;
}

/* The segment's text with an end of its own; NULL: no memory. */
static char *segment_text(const struct stream *s, const struct segment *g, struct rs_input *in)
{
	size_t from = s->start[g->first], n = s->start[g->first + g->n] - from;
	char *copy = malloc(n + 1);

	if (!copy)
		return NULL;
	memcpy(copy, s->data + from, n);
	copy[n] = '\0';
	in->data = copy;
	in->size = n;
	return copy;
}

static void mark(struct rs_text_use *u, uint32_t line, enum rs_line_use as)
{
	if (line && line <= u->lines && u->use[line - 1] != RS_LINE_BLANK &&
	    u->use[line - 1] < (uint8_t)as)
		u->use[line - 1] = (uint8_t)as;
}

static void mark_segment(struct stream *s, const struct segment *g, enum rs_line_use as, bool kept)
{
	for (uint32_t i = g->first; i < g->first + g->n; i++) {
		mark(s->t->use, s->number[i], as);
		s->kept[i] = kept;
	}
}

/* "cat PATH..." of sysfs or procfs: a line a path, or all of it the only path's. */
static bool places(struct rs_audit *a, const struct rs_input *in)
{
	char command[RS_COMMAND_BYTES], *word[32], *text;
	unsigned n, known = 0;
	struct rs_line *l;
	int added = 0;

	if (!in->command || strncmp(in->command, "cat ", 4))
		return false;
	snprintf(command, sizeof(command), "%s", in->command);
	command[strcspn(command, "|;&>")] = '\0';
	n = rs_line_words(command, word, 32);
	for (unsigned i = 1; i < n; i++)
		known += rs_place_known(word[i]);
	if (!known)
		return false;
	if (n == 2) {
		text = strndup(in->data, in->size);
		if (text && text[strspn(text, " \t\r\n")])
			added = rs_place_add(a, in, 1, word[1], text);
		free(text);
		return added > 0;
	}
	l = calloc(1, sizeof(*l));
	for (unsigned i = 1; l && i < n && rs_line_next(in, l); i++)
		if (*l->text)
			added += rs_place_add(a, in, l->number, word[i], l->text);
	free(l);
	return added > 0;
}

/* Offers the segment to readers; the one that made facts of it. */
static const struct rs_reader *offer(struct stream *s, const struct rs_input *in, uint32_t *facts)
{
	const struct rs_reader *reader[RS_SEGMENT_TRIES];
	struct rs_audit *a = s->t->a;
	uint32_t before = rs_facts_count(a->facts);
	unsigned n;

	if (places(a, in)) {
		*facts = rs_facts_count(a->facts) - before;
		return &rs_reader_tree;
	}
	n = rs_input_readers(in, reader, RS_SEGMENT_TRIES);
	for (unsigned i = 0; i < n && !a->err; i++) {
		struct rs_input own = *in;

		/* what is beside a configuration is no other configuration */
		if (s->except &&
		    (reader[i] == s->except || (reader[i]->settings && s->except->settings)))
			continue;
		own.trust = reader[i]->trust;
		s->t->use->whole = false;
		if (reader[i]->read(a, &own) && !a->err)
			a->err = -ENOMEM;
		*facts = rs_facts_count(a->facts) - before;
		if (*facts)
			return reader[i];
	}
	return NULL;
}

/* 1: a reader kept it. */
static bool give(struct stream *s, const struct segment *g)
{
	struct rs_input in;
	const struct rs_reader *reader;
	uint32_t facts = 0;
	char *text;

	if (!has_text(s, g))
		return false;
	segment_input(s, g, &in);
	text = segment_text(s, g, &in);
	if (!text) {
		s->t->a->err = -ENOMEM;
		return false;
	}
	reader = offer(s, &in, &facts);
	free(text);
	if (!reader)
		return false;
	s->taker = reader;
	/* what a log says of failures is told apart from what states are */
	mark_segment(s, g, RS_LINE_KNOWN, reader->trust > RS_TRUST_LOG || reader->settings);
	/* a document is used as a whole; its lines may hold a job's variables all the same */
	memset(s->whole + g->first, s->t->use->whole, g->n * sizeof(*s->whole));
	s->t->use->whole = false;
	s->t->knew = true;
	if (rs_input_remember(s->t->a, s->host, s->t->in->path, reader->name, facts))
		s->t->a->err = -ENOMEM;
	return true;
}

/* By paragraphs, where the whole is not one thing. */
static void give_parts(struct stream *s, const struct segment *g)
{
	uint32_t end = g->first + g->n;

	for (uint32_t i = g->first; i < end && !s->t->a->err; i++) {
		struct segment part = {.first = i, .command = g->command};

		if (s->kind[i] == BLANK || s->kind[i] == PROSE)
			continue;
		while (i < end && s->kind[i] != BLANK && s->kind[i] != PROSE)
			i++;
		part.n = i - part.first;
		give(s, &part);
	}
}

enum { CODE_LINES = 3, CODE_GAP = 24 /* lines between two that show it */ };

/* A line that only a log has, though a program may stand around it. */
static bool of_log(const char *text)
{
	return (strstr(text, " NCCL INFO ") || strstr(text, " NCCL WARN ")) && !strchr(text, '"');
}

static void mark_code(struct stream *s, uint32_t first, uint32_t last)
{
	for (uint32_t i = first; i <= last; i++) {
		line_at(s, i, &s->line);
		s->code[i] = !of_log(s->line.text);
	}
}

static bool is_help_file(struct stream *s)
{
	for (uint32_t i = 0; i < s->n && i < 40; i++) {
		line_at(s, i, &s->line);
		if (!strncmp(s->line.text, "# -*- text -*-", 14) ||
		    strstr(s->line.text, "general help file for Open MPI"))
			return true;
	}
	return false;
}

/* A document of JSON begins: a brace or a bracket alone, or with the first key. */
static bool opens_json(const char *text)
{
	if (*text != '{' && *text != '[')
		return false;
	text++;
	text += strspn(text, " {[");
	return !*text || *text == '"';
}

/* Counts the braces of a line outside of strings; false: it ends within a string. */
static bool braces(const char *text, int *depth)
{
	bool string = false;

	for (; *text; text++) {
		if (string) {
			if (*text == '\\' && text[1])
				text++;
			else
				string = *text != '"';
		} else if (*text == '"') {
			string = true;
		} else {
			*depth += (*text == '{' || *text == '[') - (*text == '}' || *text == ']');
		}
	}
	return !string;
}

/* A key behind a brace, a string or a number behind a bracket: not what a program has there. */
static bool is_member(const char *p, char opened)
{
	size_t n;

	p += strspn(p, " ");
	if (*p != '"')
		return opened == '[' ? *p && strchr("{[]-0123456789", *p) : *p == '}';
	n = strcspn(p + 1, "\"");
	return opened == '[' || (p[1 + n] && p[2 + n + strspn(p + 2 + n, " ")] == ':');
}

/* Behind the braces of line i, or in the next line. */
static bool json_goes_on(struct stream *s, uint32_t i)
{
	size_t n;
	char opened;

	line_at(s, i, &s->line);
	n = strspn(s->line.text, "{[ ");
	while (n && s->line.text[n - 1] == ' ')
		n--;
	opened = s->line.text[n - 1];
	if (s->line.text[n])
		return is_member(s->line.text + n, opened);
	while (++i < s->n && s->kind[i] == BLANK)
		;
	if (i == s->n)
		return false;
	line_at(s, i, &s->line);
	return (*s->line.text && strchr("{[", *s->line.text)) || is_member(s->line.text, opened);
}

/* The last line of the document of JSON that begins at line i; i: none does, or it does not end. */
static uint32_t json_end(struct stream *s, uint32_t i)
{
	struct rs_line *l = &s->line;
	int depth = 0;

	line_at(s, i, l);
	if (!opens_json(l->text) || !json_goes_on(s, i))
		return i;

	/* braces that do not close are looked through a few times at most */
	for (uint32_t k = i; k < s->n && s->braced < 8 * (uint64_t)s->n; k++, s->braced++) {
		if (s->kind[k] == PROMPT || s->kind[k] == FENCE)
			return i;
		line_at(s, k, l);
		if (!braces(l->text, &depth))
			return i;
		if (depth <= 0)
			return k;
	}
	return i;
}

/*
 * A program that prints what a tool prints has not printed it: lines between definitions,
 * inclusions and ends of loops are a program's, where several stand close to each other. What a
 * trace of calls quotes is none.
 */
static void find_code(struct stream *s)
{
	uint32_t first = 0, last = 0, shows = 0, gap = 0;
	struct rs_line *l = &s->line;
	bool quoted = false;

	/* the help texts of Open MPI's own sources hold each message that it has */
	if (s->n && is_help_file(s)) {
		memset(s->code, true, s->n * sizeof(*s->code));
		return;
	}

	for (uint32_t i = 0; i <= s->n; i++) {
		bool shown = false, end = i == s->n;

		if (!end && s->kind[i] != BLANK) {
			/* what a command printed is no program */
			if (i && s->command[i - 1])
				i = json_end(s, i);
			line_at(s, i, l);
			shown = !quoted && rs_code(l->text);
			quoted = !strncmp(l->text, "File \"", 6);
			gap++;
		}
		end |= shows && (gap > CODE_GAP || (!end && s->kind[i] == FENCE));
		if (end && shows >= CODE_LINES)
			mark_code(s, first, last);
		if (end)
			shows = 0;
		if (!shown)
			continue;
		first = shows++ ? first : i;
		last = i;
		gap = 0;
	}
}

/* Does some reader's fact stand on a line of this paragraph? Its end goes to *next. */
static bool paragraph_used(const struct stream *s, uint32_t i, uint32_t end, uint32_t *next)
{
	bool used = false;

	for (; i < end && s->kind[i] != BLANK; i++)
		used |= s->t->use->use[s->number[i] - 1] == RS_LINE_USED;
	*next = i;
	return used;
}

/* Paragraphs of which the reader that took the whole used no line: outputs pasted one behind the
 * other, without prompts. Those in a row are offered to the other readers together, then each. */
static void give_rest(struct stream *s, const struct segment *g)
{
	enum { RUNS = 64 };
	uint32_t end = g->first + g->n, next;

	s->except = s->taker;
	for (uint32_t i = g->first, n = 0; i < end && n < RUNS && !s->t->a->err; i++) {
		struct segment run = {.first = i};

		if (s->kind[i] == BLANK)
			continue;
		if (paragraph_used(s, i, end, &next)) {
			i = next;
			continue;
		}
		for (; i < end; i++) {
			if (s->kind[i] == BLANK)
				continue;
			if (paragraph_used(s, i, end, &next))
				break;
			run.n = next - run.first;
			i = next;
		}
		n++;
		if (!give(s, &run))
			give_parts(s, &run);
		i--;
	}
	s->except = NULL;
}

static void remember_shown(struct stream *s, uint32_t facts)
{
	if (!facts)
		return;
	s->t->knew = true;
	if (rs_input_remember(s->t->a, s->host, s->t->in->path, rs_reader_shown.name, facts))
		s->t->a->err = -ENOMEM;
}

/* What the table of outputs knows of a segment, whoever takes it. */
static void shown(struct stream *s, const struct segment *g)
{
	struct rs_input in;
	uint32_t facts;
	bool ports;
	char *text;

	if (!has_text(s, g))
		return;
	segment_input(s, g, &in);
	in.trust = rs_reader_shown.trust;
	text = segment_text(s, g, &in);
	if (!text) {
		s->t->a->err = -ENOMEM;
		return;
	}
	facts = rs_shown_read(s->t->a, &in, &ports);
	facts += rs_grid_read(s->t->a, &in);
	facts += rs_config_diff_read(s->t->a, &in);
	facts += rs_states_read(s->t->a, &in, ports);
	free(text);
	remember_shown(s, facts);
}

/* A document of JSON among lines that may be a program's: only ports of a switch among its keys
 * tell that it is none. */
static void shown_document(struct stream *s, const struct segment *g)
{
	struct rs_input in;
	uint32_t facts;
	char *text;

	segment_input(s, g, &in);
	in.trust = rs_reader_shown.trust;
	text = segment_text(s, g, &in);
	if (!text) {
		s->t->a->err = -ENOMEM;
		return;
	}
	facts = rs_grid_read_json(s->t->a, &in, false);
	free(text);
	remember_shown(s, facts);
}

static void give_one(struct stream *s, const struct segment *g)
{
	if (!g->prose && give(s, g)) {
		/* what follows a prompt is that command's */
		if (!g->command && !s->whole[g->first])
			give_rest(s, g);
		return;
	}
	give_parts(s, g);
}

static void give_segment(struct stream *s, const struct segment *g)
{
	if (!g->n || s->t->a->err)
		return;
	give_one(s, g);
	shown(s, g);
}

/* Lines of a stream to segments, each given as it ends. */
static void cut(struct stream *s)
{
	const struct rs_reader *owner = NULL, *next;
	struct rs_line *l = &s->line;
	struct segment g = {0};
	struct signs signs;
	bool fenced = false, any = false;
	uint32_t segments = 0, within = 0; /* the last line of a document of JSON */

	find_code(s);
	signs_fill(&signs);
	for (uint32_t i = 0; i < s->n; i++) {
		enum kind k = s->kind[i];
		bool frame = k == PROMPT || k == FENCE || k == HEADING;

		/* of a program: no segment; what stands before and behind it are two */
		if (s->code[i]) {
			give_segment(s, &g);
			if (i >= within && (within = json_end(s, i)) > i)
				shown_document(s,
					       &(struct segment){.first = i, .n = within + 1 - i});
			g = (struct segment){.first = i + 1};
			owner = NULL;
			any = false;
			continue;
		}
		if (i && i <= within) {
			g.n = i + 1 - g.first;
			continue;
		}
		if (!frame && segments < RS_SEGMENTS) {
			line_at(s, i, l);
			next = beginner(&signs, l);
			/* a signature within another's output, or prose behind one, ends it */
			if ((next && any && next != owner) ||
			    (k == PROSE && any && owner && !fenced && i &&
			     s->kind[i - 1] == BLANK) ||
			    (any && !owner && !l->indent && !fenced && opens_json(l->text) && i &&
			     s->kind[i - 1] == BLANK)) {
				give_segment(s, &g);
				segments++;
				g = (struct segment){.first = i,
						     .command = any ? 0 : g.command,
						     .fenced = fenced};
				owner = NULL;
			}
			if (!any || g.first == i)
				within = json_end(s, i);
			if (next)
				owner = next;
			g.n = i + 1 - g.first;
			g.prose |= k == PROSE && !owner;
			any |= k != BLANK;
			continue;
		}
		if (!frame) {
			g.n = i + 1 - g.first;
			continue;
		}
		give_segment(s, &g);
		segments++;
		mark(s->t->use, s->number[i], RS_LINE_FRAME);
		fenced = k == FENCE ? !fenced : fenced;
		/* a command named before a fence is the fence's */
		g = (struct segment){.first = i + 1,
				     .command = k == FENCE && !any && fenced ? g.command
									     : s->command[i],
				     .fenced = fenced};
		owner = NULL;
		any = false;
	}
	give_segment(s, &g);
}

/* ---- Line by line ---- */

static void refusal_add(struct rs_audit *a, const struct rs_input *in, const struct text *t,
			uint32_t line)
{
	const struct piece *p = &t->piece[in->lines[line - 1] - 1];
	struct rs_refusal r;
	char text[512];
	const char *own;

	snprintf(text, sizeof(text), "%.*s", (int)(p->length < 511 ? p->length : 511),
		 t->data + p->at);
	own = text + strspn(text, " \t");
	if (rs_refusal_find(own, &r))
		rs_input_add(a, in, line, NULL, "absent", r.what, "%s", r.text);
}

enum { FAILURES = 64 /* kept of a host; more say no more */ };

/* Bytes that no program prints: a binary file's words state nothing. */
static bool has_control_bytes(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' && *text != '\t' && *text != '\r')
			return true;
	return strstr(text, "\xEF\xBF\xBD") != NULL; /* U+FFFD: what was none of UTF-8 */
}

/* command: what printed the line; NULL: nobody says */
static void failure_add(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l,
			const char *command, uint32_t *stated, unsigned *n)
{
	char name[32];

	if (*n >= FAILURES || has_control_bytes(l->text) || !rs_states_failure(l->text))
		return;
	stated[(*n)++] = l->number;
	snprintf(name, sizeof(name), "failure/%u", *n);
	rs_input_add(a, in, l->number, NULL, "said", name, "%.300s", l->text);
	if (command)
		rs_input_add(a, in, l->number, NULL, "said_by", name, "%.100s", command);
}

/* A reader of messages: what it makes of the lines that are left. */
static uint32_t messages(struct stream *s, const struct rs_reader *r, struct rs_input *in)
{
	struct rs_text_use *u = s->t->use;
	uint32_t before = rs_facts_count(s->t->a->facts);
	struct rs_line *l = &s->line;

	in->trust = r->trust;
	for (uint32_t i = 0; i < s->n && !s->t->a->err; i++) {
		uint32_t number = s->number[i];

		if (s->kind[i] == BLANK || s->kind[i] == FENCE || (s->code[i] && !r->of_code))
			continue;
		line_at(s, i, l);
		/* that a file or a command is not there is the absence of a fact; that a module is
		 * not, is a message, too */
		if (s->kind[i] == REFUSAL) {
			if (strncmp(l->text, "modprobe: ", 10) && strncmp(l->text, "modinfo: ", 9))
				continue;
		} else if (u->use[number - 1] == RS_LINE_USED && !r->also) {
			continue;
		}
		/* a table of a manual quotes settings and messages: nothing was set, nothing
		 * printed */
		if (!strncmp(l->text, "| `", 3))
			continue;
		l->next = s->start[i + 1]; /* a reader may look at what follows */
		if (r->line(s->t->a, in, l))
			mark(u, number, RS_LINE_KNOWN);
	}
	return rs_facts_count(s->t->a->facts) - before;
}

/* Refusals, and lines that state a failure outside of outputs that readers know: how many, and
 * their numbers. */
static unsigned said(struct stream *s, struct rs_input *in, uint32_t *stated)
{
	struct rs_text_use *u = s->t->use;
	struct rs_line *l = &s->line;
	const char *command = NULL;
	unsigned n = 0;

	in->trust = RS_TRUST_LOG;
	for (uint32_t i = 0; i < s->n && !s->t->a->err; i++) {
		uint8_t was = u->use[s->number[i] - 1];

		if (s->command[i])
			command = s->t->command[s->command[i] - 1];

		if (s->kind[i] == REFUSAL) {
			refusal_add(s->t->a, in, s->t, i + 1);
			continue;
		}
		if (was == RS_LINE_BLANK || was == RS_LINE_FRAME || s->code[i])
			continue;
		line_at(s, i, l);
		/* within an output that a reader took only what ends a program is no part of it */
		if (s->kept[i] && !rs_ends_program(l->text))
			continue;
		failure_add(s->t->a, in, l, command, stated, &n);
		/* it is not understood by that: readers of messages come later */
		u->use[s->number[i] - 1] = was;
	}
	return n;
}

static void by_line(struct stream *s)
{
	struct segment all = {.first = 0, .n = s->n};
	uint32_t stated[FAILURES];
	struct rs_input in;
	unsigned n;

	segment_input(s, &all, &in);
	in.data = s->data;
	in.size = s->start[s->n];
	n = said(s, &in, stated);
	for (unsigned r = 0; rs_readers[r] && !s->t->a->err; r++) {
		uint32_t facts = rs_readers[r]->line ? messages(s, rs_readers[r], &in) : 0;

		if (facts &&
		    rs_input_remember(s->t->a, s->host, s->t->in->path, rs_readers[r]->name, facts))
			s->t->a->err = -ENOMEM;
		s->t->knew |= facts > 0;
	}
	/* what no reader knows is judged by its words all the same */
	for (unsigned i = 0; i < n; i++)
		mark(s->t->use, stated[i], RS_LINE_USED);
}

/* ---- What became of the lines ---- */

static void block_add(struct rs_audit *a, struct text *t, uint32_t first, uint32_t last)
{
	struct rs_text_use *u = t->use;
	struct piece *p = &t->piece[first];
	char text[120];

	if (!u->block)
		u->block = rs_arena_alloc(a->arena, RS_TEXT_BLOCKS, sizeof(*u->block));
	if (!u->block)
		a->err = -ENOMEM;
	else if (u->n_blocks < RS_TEXT_BLOCKS) {
		snprintf(text, sizeof(text), "%.*s", (int)(p->length < 119 ? p->length : 119),
			 t->data + p->at);
		for (char *c = text; *c; c++)
			*c = (unsigned char)*c < ' ' || *c == 127 ? ' ' : *c;
		u->block[u->n_blocks] = (struct rs_text_block){
			first + 1, last + 1, rs_audit_text(a, "%s", text + strspn(text, " "))};
	}
	u->n_blocks++;
}

static void settle_whole(struct stream *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->whole[i])
			mark(s->t->use, s->number[i], RS_LINE_USED);
}

/* A line that only draws: "#", "-----". */
static bool only_draws(const struct text *t, uint32_t i)
{
	const struct piece *p = &t->piece[i];

	for (uint32_t k = 0; k < p->length; k++)
		if (isalnum((unsigned char)t->data[p->at + k]) ||
		    (unsigned char)t->data[p->at + k] > 127)
			return false;
	return true;
}

static void settle_use(struct rs_audit *a, struct text *t)
{
	struct rs_text_use *u = t->use;

	for (uint32_t i = 0; i < u->lines; i++)
		if (u->use[i] == RS_LINE_STRANGE && only_draws(t, i))
			u->use[i] = RS_LINE_BLANK;
	for (uint32_t i = 1; i < u->lines; i++)
		if (t->how[i])
			u->use[i] = u->use[i - 1];
	for (uint32_t i = 0; i < u->lines; i++)
		u->count[u->use[i]]++;
	for (uint32_t i = 0; i < u->lines && !a->err;) {
		uint32_t first = i, last = i;

		if (u->use[i] != RS_LINE_STRANGE) {
			i++;
			continue;
		}
		for (; i < u->lines && (u->use[i] == RS_LINE_STRANGE || u->use[i] == RS_LINE_BLANK);
		     i++)
			last = u->use[i] == RS_LINE_STRANGE ? i : last;
		block_add(a, t, first, last);
	}
	if (a->last_text)
		a->last_text->next = u;
	else
		a->texts = u;
	a->last_text = u;
}

/* ---- A text ---- */

/* A host of its own is a machine, though only its log may be known. */
static void name_add(struct stream *s)
{
	struct segment first = {.n = 1};
	struct rs_input in;

	segment_input(s, &first, &in);
	in.trust = RS_TRUST_NOTE;
	rs_input_add(s->t->a, &in, 0, NULL, "host", "named", "%s", s->host);
	s->t->use->whole = false;
}

static void read_host(struct text *t, uint16_t host, bool old)
{
	struct stream *s = malloc(sizeof(*s));

	if (!s || stream_new(s, t, host, old))
		t->a->err = -ENOMEM;
	if (s && s->n && !t->a->err) {
		if (host)
			name_add(s);
		cut(s);
		by_line(s);
		settle_whole(s);
	}
	if (s)
		stream_free(s);
	free(s);
}

int rs_text_read(struct rs_audit *a, const struct rs_input *in)
{
	struct text *t = text_new(a, in);
	int knew;

	if (!t) {
		a->err = -ENOMEM;
		return 0;
	}
	spread_hosts(t);
	if (order_pieces(t))
		a->err = -ENOMEM;
	for (uint32_t i = 0; i < t->n_names && !a->err; i++)
		if (!i || t->name[i].is == i)
			read_host(t, (uint16_t)i, false);
	for (uint32_t i = 0; i < t->n_names && !a->err && t->old_quotes; i++)
		if (!i || t->name[i].is == i)
			read_host(t, (uint16_t)i, true);
	settle_use(a, t);
	knew = t->knew;
	text_free(t);
	return knew;
}
