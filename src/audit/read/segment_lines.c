/* Lines of a text without their prefixes, and whose they are. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/read/place.h"
#include "audit/read/prose.h"
#include "audit/read/readers.h"
#include "audit/read/refusal.h"
#include "audit/read/segment_state.h"
#include "audit/read/unwrap.h"

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
static uint16_t host_named(struct rs_text *t, const char *name, enum rs_namer by)
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
static uint16_t both(struct rs_text *t, const struct rs_prefix *p)
{
	uint16_t inner = host_named(t, p->inner, RS_NAMED_BY_LOG), outer;

	if (!*p->outer)
		return inner;
	outer = host_named(t, p->outer, RS_NAMED_BY_LOG);
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
static void settle_hosts(struct rs_text *t)
{
	unsigned count[RS_NAMERS] = {0};

	for (uint32_t i = 1; i < t->n_names; i++)
		for (int by = 0; by < RS_NAMERS; by++)
			count[by] += t->name[i].by[by] && !t->name[i].is;
	for (uint32_t i = 1; i < t->n_names; i++) {
		bool own = false;

		if (t->name[i].is)
			continue;
		for (int by = 0; by < RS_NAMERS; by++)
			own |= t->name[i].by[by] && count[by] > 1;
		t->name[i].is = own && !t->in->forced ? (uint16_t)i : 0;
	}
	for (uint32_t i = 1; i < t->n_names; i++)
		t->name[i].is = t->name[t->name[i].is].is;
}

/* One prompt's name in a file that the user did not name: what the machine calls itself. */
static void settle_called(struct rs_text *t)
{
	const struct rs_input *in = t->in;
	const char *called = NULL;

	if (in->forced || strchr(in->inner, '/') || strncmp(in->inner, in->host, strlen(in->host)))
		return;
	for (uint32_t i = 1; i < t->n_names; i++) {
		if (t->name[i].is || (!t->name[i].by[RS_NAMED_BY_PROMPT] && called))
			return; /* hosts of their own */
		if (t->name[i].by[RS_NAMED_BY_PROMPT])
			called = called ? "" : t->name[i].name;
	}
	if (!called || !*called)
		return;
	t->use->host = rs_audit_text(t->a, "%s", in->host);
	t->use->called = rs_audit_text(t->a, "%s", called);
}

/* ---- Lines ---- */

/* Takes ends of lines away; keeps what indents. *length of what is left. */
static void clean(struct rs_text *t, const char *from, size_t n, size_t *length)
{
	char *to = t->data + t->size;
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		char c = from[i];

		if (c == '\r' && i + 1 < n)
			k = 0; /* written over, as progress bars do */
		else if (c && c != '\r')
			to[k++] = c;
	}
	to[k] = '\0';
	*length = k;
}

uint32_t rs_text_command(struct rs_text *t, const char *command)
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
static bool stands_free(const struct rs_text *t)
{
	uint8_t before = RS_PIECE_BLANK;

	for (uint32_t i = t->n - 1; i-- > 0;) {
		before = t->piece[i].kind;
		if (before != RS_PIECE_JOINED)
			break;
	}
	return before != RS_PIECE_TEXT && before != RS_PIECE_REFUSAL;
}

/* Is the last line that is not empty a prompt with a command? */
static bool behind_prompt(const struct rs_text *t)
{
	uint32_t i = t->n - 1;

	while (i-- > 0)
		if (t->piece[i].kind != RS_PIECE_BLANK)
			return t->piece[i].kind == RS_PIECE_PROMPT && t->piece[i].command;
	return false;
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

/* A rule of dashes, as dshbak and clush -b put before and behind a host's name. */
static bool behind_rule(const struct rs_text *t)
{
	enum { SHORTEST = 15, LONGEST = 16 };
	const struct rs_piece *p = t->n > 1 ? &t->piece[t->n - 2] : NULL;
	const char *text = p ? t->data + p->at : "";

	return p && p->kind == RS_PIECE_TEXT && p->length >= SHORTEST && p->length <= LONGEST &&
	       strspn(text, "-") == p->length;
}

/* "gpu[01-03] (3)", "c2,c5 (2)" between rules: hosts that printed the same stand for one. Their
 * names without their number; 0: it is no such line. */
static size_t gathered_names(const char *own)
{
	size_t n = strcspn(own, " ");
	unsigned count;

	return n > 3 && n < RS_NAME_BYTES && sscanf(own + n, " (%u)", &count) == 1 &&
			       own[strlen(own) - 1] == ')' && isalpha((unsigned char)*own) &&
			       strpbrk(own, "0123456789") && (strpbrk(own, "[,"))
		       ? n
		       : 0;
}

/* "cn0411" alone, where the command that runs prints the host's name before what it prints else, or
 * between rules: what follows is of that host. */
static bool printed_name(const struct rs_text *t, const char *own)
{
	const char *command = t->ran ? t->command[t->ran - 1] : "";
	const char *name = strstr(command, "hostname");
	size_t n = strcspn(own, " \t");

	return ((name && strpbrk(name, ";&")) || behind_rule(t)) && !own[n] && n >= 3 &&
	       n < RS_NAME_BYTES && isalpha((unsigned char)*own) && strpbrk(own, "0123456789") &&
	       strspn(own, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-") == n;
}

/* An empty prompt at an output's end, "gpu01:~$ ", counts as one, too. gang: what the command at
 * hand printed on one of its hosts, where no prompt and no heading is. */
static void classify(struct rs_text *t, struct rs_piece *p, char *text, bool gang)
{
	char *own = text + strspn(text, " \t");
	bool indented = own - text > 3;
	struct rs_refusal refusal;
	struct rs_prompt prompt;
	char name[RS_NAME_BYTES];

	if (!*own) {
		p->kind = RS_PIECE_BLANK;
	} else if (gang) {
		p->kind = rs_refusal_find(own, &refusal) ? RS_PIECE_REFUSAL : RS_PIECE_TEXT;
		p->command = t->ran;
		t->labelled = true;
	} else if (own == text && rs_launcher_heading_find(t->gang, own, name)) {
		p->kind = RS_PIECE_HEADING;
		p->host = host_named(t, name, RS_NAMED_BY_HEADING);
		p->launched = true;
		p->command = t->ran;
	} else if ((!strcmp(own, "#") || !strcmp(own, "$")) && behind_prompt(t)) {
		p->kind = RS_PIECE_PROMPT; /* the command before it printed nothing */
		t->gang = RS_GANG_NONE;
	} else if (own == text && config_name(own, name)) {
		p->host = host_named(t, name, RS_NAMED_BY_CONFIG);
		p->config = p->host != 0;
	} else if (rs_fence(own)) {
		p->kind = RS_PIECE_FENCE;
		if (t->labelled)
			t->gang = RS_GANG_NONE;
		t->labelled = false;
	} else if (rs_refusal_find(own, &refusal)) {
		p->kind = RS_PIECE_REFUSAL;
	} else if (!indented && rs_prompt_find(own, &prompt)) {
		p->host = host_named(t, prompt.host, RS_NAMED_BY_PROMPT);
		p->named = p->host != 0;
		if (prompt.strip) {
			memmove(own, own + prompt.strip, strlen(own + prompt.strip) + 1);
			p->length -= (uint32_t)prompt.strip;
			return;
		}
		/* the next line's sign has no name, and is of the host that this one names */
		p->kind = prompt.opens ? RS_PIECE_HEADING : RS_PIECE_PROMPT;
		p->command = t->ran = rs_text_command(t, prompt.command);
		t->gang = rs_gang_find(own);
	} else if (own == text && behind_rule(t) && gathered_names(own)) {
		snprintf(name, sizeof(name), "%.*s", (int)gathered_names(own), own);
		p->kind = RS_PIECE_HEADING;
		p->host = host_named(t, name, RS_NAMED_BY_HEADING);
		p->command = t->ran;
	} else if (own == text && printed_name(t, own)) {
		p->kind = RS_PIECE_HEADING;
		p->host = host_named(t, own, RS_NAMED_BY_HEADING);
		p->command = t->ran;
	} else if (own == text && rs_heading_find(own, &prompt)) {
		p->kind = RS_PIECE_HEADING;
		p->host = host_named(t, prompt.host, RS_NAMED_BY_HEADING);
		p->command = t->ran = rs_text_command(t, prompt.command);
		t->gang = rs_gang_find(own);
	} else if (own == text && stands_free(t) && rs_prose(own)) {
		p->kind = RS_PIECE_PROSE;
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
static size_t dedent(struct rs_text *t, char *text, size_t length)
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

/* "[0]   1048576   -1[0]  1626.5": a launcher puts a rank before each piece that the rank wrote,
 * and a row of figures may come in several. All of them go. */
static size_t untag(char *text, size_t length)
{
	size_t n = *text == '[' ? 2 + strspn(text + 1, "0123456789") : 0;
	char tag[16], *to = text;

	if (n < 3 || n >= sizeof(tag) || text[n - 1] != ']' ||
	    !isdigit((unsigned char)text[n + strspn(text + n, " \t")]))
		return length;
	memcpy(tag, text, n);
	tag[n] = '\0';
	if (!strstr(text + n, tag))
		return length;
	for (const char *p = text; *p;)
		if (!strncmp(p, tag, n))
			p += n;
		else
			*to++ = *p++;
	*to = '\0';
	return (size_t)(to - text);
}

static void line_add(struct rs_text *t, const char *from, size_t left, size_t n, bool *in_quote)
{
	struct rs_piece *p = &t->piece[t->n++];
	struct rs_prefix prefix;
	char *text = t->data + t->size;
	size_t length;

	*p = (struct rs_piece){.at = t->size};
	if (t->how[t->n - 1]) {
		p->kind = RS_PIECE_JOINED;
		t->data[t->size++] = '\n';
		return;
	}
	clean(t, from, n, &length);
	*in_quote = *text == '>' && (*in_quote || quoted(from, left));
	p->quoted = *in_quote;
	rs_prefix_find(&t->habits, t->gang, text, &prefix);
	/* one line behind ">" is a quote as well, unless it is a command behind a prompt */
	if (*text == '>' && !*in_quote && rs_command_known(text + 1 + strspn(text + 1, " ")))
		prefix.strip = 0;
	if (prefix.strip) {
		memmove(text, text + prefix.strip, length - prefix.strip + 1);
		length -= prefix.strip;
	}
	while (length && isspace((unsigned char)text[length - 1]))
		text[--length] = '\0';
	length = untag(text, length);
	length = dedent(t, text, length);
	rs_guide_line(&t->guide, text);
	p->length = (uint32_t)length;
	p->host = both(t, &prefix);
	classify(t, p, text, prefix.gang);
	text[p->length] = '\n';
	t->size += p->length + 1u;
	t->use->use[t->n - 1] = p->kind == RS_PIECE_BLANK ? RS_LINE_BLANK : RS_LINE_STRANGE;
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

static void each_line(struct rs_text *t,
		      void (*act)(struct rs_text *, const char *, size_t, size_t, bool *))
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

static void learn(struct rs_text *t, const char *from, size_t left, size_t n, bool *state)
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

void rs_text_free(struct rs_text *t)
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
static bool quotes_are_old(const struct rs_text *t)
{
	enum { OWN = 2 };
	unsigned n[2][RS_RECORDS] = {{0}};

	for (uint32_t i = 0; i < t->n; i++) {
		const struct rs_piece *p = &t->piece[i];

		if (p->kind == RS_PIECE_TEXT)
			n[p->quoted][rs_record_of(t->data + p->at, p->length)]++;
	}
	return (n[1][RS_RECORD_NCCL] && n[0][RS_RECORD_NCCL] >= OWN) ||
	       (n[1][RS_RECORD_UCX] && n[0][RS_RECORD_UCX] >= OWN);
}

/* Joins what a terminal or a mailer broke. */
static int unwrap(struct rs_text *t, const struct rs_input *in, uint32_t lines)
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

struct rs_text *rs_text_new(struct rs_audit *a, const struct rs_input *in)
{
	uint32_t lines = count_lines(in->data, in->size);
	struct rs_text *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->a = a;
	t->in = in;
	t->use = use_new(a, in->path, lines);
	t->piece = calloc(lines + 1u, sizeof(*t->piece));
	t->data = unwrap(t, in, lines) ? NULL : malloc(t->in->size + lines + 2);
	t->name = calloc(RS_TEXT_HOSTS, sizeof(*t->name));
	if (!t->use || !t->piece || !t->data || !t->name) {
		rs_text_free(t);
		return NULL;
	}
	t->n_names = 1;
	each_line(t, learn);
	rs_prefix_settle(&t->habits);
	each_line(t, line_add);
	t->data[t->size] = '\0';
	t->use->guide = rs_guide_is(&t->guide);
	t->old_quotes = quotes_are_old(t);
	settle_hosts(t);
	settle_called(t);
	return t;
}

int rs_text_order(struct rs_text *t)
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
static uint16_t leading(const struct rs_text *t, const struct rs_piece *p)
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
static bool opens_config(const struct rs_text *t, const struct rs_piece *p)
{
	const char *text = t->data + p->at;

	return p->kind == RS_PIECE_BLANK || *text == '!' || !strncmp(text, "version ", 8);
}

/* Several configurations in one text: each begins some lines before its name, the first of a block
 * with the block. */
static void spread_configs(struct rs_text *t)
{
	bool first = true;

	for (uint32_t i = 0; i < t->n; i++) {
		struct rs_piece *p = &t->piece[i];
		uint32_t k = i;

		if (p->kind == RS_PIECE_FENCE || p->kind == RS_PIECE_PROMPT ||
		    p->kind == RS_PIECE_HEADING)
			first = true;
		if (!p->config || !t->name[p->host].is)
			continue;
		while (k && t->piece[k - 1].kind != RS_PIECE_FENCE &&
		       t->piece[k - 1].kind != RS_PIECE_PROMPT &&
		       t->piece[k - 1].kind != RS_PIECE_HEADING && !t->piece[k - 1].config &&
		       (first || opens_config(t, &t->piece[k - 1])))
			k--;
		if (k < i) {
			t->piece[k].config = true;
			t->piece[k].host = p->host;
		}
		first = false;
	}
}

void rs_text_spread(struct rs_text *t)
{
	bool headed = false; /* a heading names the host of what follows */
	uint16_t now = 0;

	spread_configs(t);

	for (uint32_t i = 0; i < t->n; i++) {
		struct rs_piece *p = &t->piece[i];
		uint16_t own = t->name[p->host].is;

		/* a prompt without a name is of the machine that a heading named */
		if ((p->kind == RS_PIECE_PROMPT && (p->named || !headed)) || p->named ||
		    (p->kind == RS_PIECE_HEADING && p->host) || (p->config && own)) {
			now = own;
			headed = p->kind == RS_PIECE_HEADING && !p->launched;
		}
		if (!own && t->n_names < FEW_NAMES && p->kind == RS_PIECE_TEXT)
			own = leading(t, p);
		p->host = own ? own : now;
	}
}

void rs_stream_line(const struct rs_stream *s, uint32_t i, struct rs_line *l)
{
	struct rs_input one = {.data = s->data + s->start[i],
			       .size = s->start[i + 1] - s->start[i]};

	l->next = 0;
	l->number = 0;
	rs_line_next(&one, l);
	l->number = i + 1;
}
