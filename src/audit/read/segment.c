/* Texts into segments, segments to readers. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/level.h"
#include "audit/read/bonds.h"
#include "audit/read/maker.h"
#include "audit/read/failure.h"
#include "audit/read/grid.h"
#include "audit/read/loop.h"
#include "audit/read/moment.h"
#include "audit/read/place.h"
#include "audit/read/prose.h"
#include "audit/read/readers.h"
#include "audit/read/refusal.h"
#include "audit/read/segment_state.h"
#include "audit/read/several.h"
#include "audit/read/shown.h"
#include "audit/read/silent.h"
#include "audit/read/states.h"
#include "audit/read/told.h"

/* ---- Segments ---- */

struct segment {
	uint32_t first, n; /* among the host's lines */
	uint32_t command;  /* from 1; 0: none */
	bool fenced, prose;
};

static void stream_free(struct rs_stream *s)
{
	free(s->data);
	free(s->start);
	free(s->number);
	free(s->kind);
	free(s->command);
	free(s->moment);
	free(s->clock);
	free(s->kept);
	free(s->code);
	free(s->told);
	free(s->whole);
}

/* old: the lines that are quotes of an older run, or the others. */
static int stream_new(struct rs_stream *s, struct rs_text *t, uint16_t host, bool old)
{
	const uint32_t *order = t->order + t->begin[host];
	uint32_t n = t->begin[host + 1] - t->begin[host];
	size_t size = 0;

	*s = (struct rs_stream){
		.t = t, .host = host ? t->name[host].name : t->in->host, .old = old};
	if (!n)
		return 0;
	for (uint32_t i = 0; i < n; i++)
		size += t->piece[order[i]].length + 1u;
	s->data = malloc(size + 1);
	s->start = malloc((n + 1u) * sizeof(*s->start));
	s->number = malloc(n * sizeof(*s->number));
	s->kind = malloc(n);
	s->command = malloc(n * sizeof(*s->command));
	s->moment = calloc(n, sizeof(*s->moment));
	s->clock = calloc(n, sizeof(*s->clock));
	s->kept = calloc(n, sizeof(*s->kept));
	s->code = calloc(n, sizeof(*s->code));
	s->told = calloc(n, sizeof(*s->told));
	s->whole = calloc(n, sizeof(*s->whole));
	if (!s->data || !s->start || !s->number || !s->kind || !s->command || !s->moment ||
	    !s->clock || !s->kept || !s->code || !s->told || !s->whole)
		return -ENOMEM;
	size = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct rs_piece *p = &t->piece[order[i]];

		if (p->kind == RS_PIECE_JOINED || (t->old_quotes && p->quoted) != old)
			continue;
		s->start[s->n] = size;
		s->number[s->n] = order[i] + 1;
		s->kind[s->n] = p->kind;
		s->command[s->n++] = p->command;
		/* a refusal is no output: its line is there, and empty */
		if (p->kind != RS_PIECE_REFUSAL) {
			memcpy(s->data + size, t->data + p->at, p->length);
			size += p->length;
		}
		s->data[size++] = '\n';
	}
	s->start[s->n] = size;
	s->data[size] = '\0';
	return 0;
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

static bool has_text(const struct rs_stream *s, const struct segment *g)
{
	for (uint32_t i = g->first; i < g->first + g->n; i++)
		if (s->start[i + 1] - s->start[i] > 1)
			return true;
	return false;
}

static void segment_input(struct rs_stream *s, const struct segment *g, struct rs_input *in)
{
	*in = *s->t->in;
	in->host = s->host;
	in->first_line = 0;
	in->age = s->old ? 1 : in->age;
	in->lines = s->number + g->first;
	in->n_lines = g->n;
	in->moment = s->moment + g->first;
	in->clock = s->clock + g->first;
	in->use = s->t->use;
	in->marks = &s->marks;
	in->command = g->command ? s->t->command[g->command - 1] : NULL;
}

/* The segment's text with an end of its own; NULL: no memory. */
static char *segment_text(const struct rs_stream *s, const struct segment *g, struct rs_input *in)
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

static void mark_segment(struct rs_stream *s, const struct segment *g, enum rs_line_use as,
			 bool kept)
{
	for (uint32_t i = g->first; i < g->first + g->n; i++) {
		mark(s->t->use, s->number[i], as);
		s->kept[i] = kept;
	}
}

/* "cat" of a pattern of one '*': a line a device, in an order that does not tell which: the first
 * of "mlx5_*" is "mlx5_[1]". */
static int places_of_pattern(struct rs_audit *a, const struct rs_input *in, const char *path)
{
	const char *star = strchr(path, '*');
	struct rs_line *l = calloc(1, sizeof(*l));
	char one[RS_COMMAND_BYTES];
	int added = 0;

	for (unsigned k = 1; l && rs_line_next(in, l);)
		if (*l->text) {
			snprintf(one, sizeof(one), "%.*s[%u]%s", (int)(star - path), path, k++,
				 star + 1);
			added += rs_place_add(a, in, l->number, one, l->text);
		}
	free(l);
	return added;
}

/* Does a segment hold several readings, by a loop or by watch, or a date before its reading? */
static bool read_again(const struct rs_input *in)
{
	char first[160];

	if (!in->n_lines)
		return false;
	snprintf(first, sizeof(first), "%.*s", (int)strcspn(in->data, "\r\n"), in->data);
	return in->moment[0] != in->moment[in->n_lines - 1] || rs_is_stamp(first);
}

/* "cat" of one path in a loop: a line a reading. */
static int places_again(struct rs_audit *a, const struct rs_input *in, const char *path)
{
	struct rs_line *l = calloc(1, sizeof(*l));
	int added = 0;

	while (l && rs_line_next(in, l))
		/* "^C" ends a loop */
		if (isalnum((unsigned char)*l->text) && !rs_is_stamp(l->text))
			added += rs_place_add(a, in, l->number, path, l->text);
	free(l);
	return added;
}

/* "cat PATH..." of sysfs or procfs: a line a path, or all of it the only path's. */
static bool places(struct rs_audit *a, const struct rs_input *in)
{
	char command[RS_COMMAND_BYTES], *word[32], *text;
	unsigned n, known = 0;
	struct rs_line *l;
	int added = 0;

	if (in->command && !strncmp(in->command, "for ", 4))
		return rs_loop_places(a, in) > 0;
	if (!in->command || strncmp(in->command, "cat ", 4))
		return false;
	snprintf(command, sizeof(command), "%s", in->command);
	command[strcspn(command, "|;&>")] = '\0';
	n = rs_line_words(command, word, 32);
	for (unsigned i = 1; i < n; i++)
		known += rs_place_known(word[i]);
	if (!known)
		return false;
	if (n == 2 && strchr(word[1], '*') && strchr(word[1], '*') == strrchr(word[1], '*'))
		return places_of_pattern(a, in, word[1]) > 0;
	if (n == 2 && in->moment && read_again(in))
		return places_again(a, in, word[1]) > 0;
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
static const struct rs_reader *offer(struct rs_stream *s, const struct rs_input *in,
				     uint32_t *facts)
{
	const struct rs_reader *reader[RS_SEGMENT_TRIES];
	struct rs_audit *a = s->t->a;
	uint32_t before = rs_facts_count(a->facts);
	struct rs_input of_kernel = *in;
	unsigned n;

	of_kernel.trust = RS_TRUST_TOOL; /* of what a text reads twice the later counts */
	if (places(a, &of_kernel)) {
		*facts = rs_facts_count(a->facts) - before;
		return &rs_reader_tree;
	}
	if (rs_env_alone(a, in)) {
		*facts = rs_facts_count(a->facts) - before;
		return &rs_reader_env;
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
static bool give(struct rs_stream *s, const struct segment *g)
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
static void give_parts(struct rs_stream *s, const struct segment *g)
{
	uint32_t end = g->first + g->n;

	for (uint32_t i = g->first; i < end && !s->t->a->err; i++) {
		struct segment part = {.first = i, .command = g->command};

		if (s->kind[i] == RS_PIECE_BLANK || s->kind[i] == RS_PIECE_PROSE)
			continue;
		while (i < end && s->kind[i] != RS_PIECE_BLANK && s->kind[i] != RS_PIECE_PROSE)
			i++;
		part.n = i - part.first;
		give(s, &part);
	}
}

/* Does some reader's fact stand on a line of this paragraph? Its end goes to *next. */
static bool paragraph_used(const struct rs_stream *s, uint32_t i, uint32_t end, uint32_t *next)
{
	bool used = false;

	for (; i < end && s->kind[i] != RS_PIECE_BLANK; i++)
		used |= s->t->use->use[s->number[i] - 1] == RS_LINE_USED;
	*next = i;
	return used;
}

/* Paragraphs of which the reader that took the whole used no line: outputs pasted one behind the
 * other, without prompts. Those in a row are offered to the other readers together, then each. */
static void give_rest(struct rs_stream *s, const struct segment *g)
{
	enum { RUNS = 64 };
	uint32_t end = g->first + g->n, next;

	s->except = s->taker;
	for (uint32_t i = g->first, n = 0; i < end && n < RUNS && !s->t->a->err; i++) {
		struct segment run = {.first = i};

		if (s->kind[i] == RS_PIECE_BLANK)
			continue;
		if (paragraph_used(s, i, end, &next)) {
			i = next;
			continue;
		}
		for (; i < end; i++) {
			if (s->kind[i] == RS_PIECE_BLANK)
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

static void remember_shown(struct rs_stream *s, uint32_t facts)
{
	if (!facts)
		return;
	s->t->knew = true;
	if (rs_input_remember(s->t->a, s->host, s->t->in->path, rs_reader_shown.name, facts))
		s->t->a->err = -ENOMEM;
}

/* What the table of outputs knows of a segment, whoever takes it. */
static void shown(struct rs_stream *s, const struct segment *g)
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
	facts += rs_bonds_read(s->t->a, &in);
	rs_maker_read(s->t->a, &in);
	free(text);
	remember_shown(s, facts);
}

/* A document of JSON among lines that may be a program's: only ports of a switch among its keys
 * tell that it is none. */
static void shown_document(struct rs_stream *s, const struct segment *g)
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

static void give_one(struct rs_stream *s, const struct segment *g)
{
	if (!g->prose && give(s, g)) {
		/* what follows a prompt is that command's */
		if (!g->command && !s->whole[g->first])
			give_rest(s, g);
		return;
	}
	give_parts(s, g);
}

/* Does a later prompt of the same place run the same command, and does it print something? */
static bool run_again(const struct rs_stream *s, const struct segment *g)
{
	enum { PROMPTS = 64 };
	uint32_t place = s->moment[g->first] >> RS_MOMENT_SHIFT;
	unsigned prompts = 0;

	if (!g->command || !place || strstr(s->t->command[g->command - 1], "dmesg") ||
	    strstr(s->t->command[g->command - 1], "log") ||
	    strstr(s->t->command[g->command - 1], "journalctl"))
		return false;
	for (uint32_t i = g->first + g->n; i + 1 < s->n && prompts < PROMPTS; i++) {
		if (s->kind[i] != RS_PIECE_PROMPT)
			continue;
		prompts++;
		if (s->kind[i] != RS_PIECE_TEXT && s->command[i] &&
		    s->moment[i] >> RS_MOMENT_SHIFT == place &&
		    !strcmp(s->t->command[s->command[i] - 1], s->t->command[g->command - 1]) &&
		    s->kind[i + 1] == RS_PIECE_TEXT)
			return true;
	}
	return false;
}

static void give_segment(struct rs_stream *s, const struct segment *g);

/* Does each command but the last print one line? */
static bool one_line_each(const char *all, unsigned count)
{
	char command[RS_COMMAND_BYTES];

	for (unsigned k = 0; k + 1 < count; k++) {
		rs_several_get(all, k, command, sizeof(command));
		if (!rs_several_one_line(command))
			return false;
	}
	return true;
}

/* Of several commands in one that printed as many lines each line is its own command's; where there
 * are more, the last command printed the rest if the others print one line each. */
static bool give_several(struct rs_stream *s, const struct segment *g)
{
	char command[RS_COMMAND_BYTES];
	const char *all = g->command ? s->t->command[g->command - 1] : "";
	unsigned count = rs_several_count(all), lines = 0;
	uint32_t i = g->first, end = g->first + g->n, behind = g->first;

	for (; i < end; i++) {
		if (s->kind[i] != RS_PIECE_TEXT && s->kind[i] != RS_PIECE_BLANK)
			return false;
		if (s->kind[i] == RS_PIECE_BLANK)
			continue;
		lines++;
		behind = i + 1;
	}
	if (count < 2 || lines < count || (lines > count && !one_line_each(all, count)))
		return false;
	i = g->first;
	for (unsigned k = 0; k < count; k++) {
		struct segment part = {.fenced = g->fenced};

		while (s->kind[i] == RS_PIECE_BLANK)
			i++;
		part.first = i;
		part.n = k + 1 < count ? 1 : behind - i;
		i += part.n;
		/* the table of commands may move */
		rs_several_get(s->t->command[g->command - 1], k, command, sizeof(command));
		part.command = rs_text_command(s->t, command);
		give_segment(s, &part);
	}
	return true;
}

static void give_segment(struct rs_stream *s, const struct segment *g)
{
	if (!g->n || s->t->a->err || give_several(s, g))
		return;
	give_one(s, g);
	/* of a state that is asked for again the later answer counts */
	if (!run_again(s, g))
		shown(s, g);
	else
		for (uint32_t i = g->first; i < g->first + g->n; i++)
			mark(s->t->use, s->number[i], RS_LINE_KNOWN);
}

/* Is the first line with anything on it behind this one (from 1) a prompt? */
static bool prompt_after(const struct rs_text *t, uint32_t line)
{
	while (line < t->use->lines && t->piece[line].kind == RS_PIECE_BLANK)
		line++;
	return line < t->use->lines && t->piece[line].kind == RS_PIECE_PROMPT;
}

/* A prompt's command, behind which the next prompt follows at once. */
static void silent(struct rs_stream *s, const struct segment *g, uint32_t next)
{
	struct segment prompt = {.first = g->first - 1, .n = 1, .command = g->command};
	struct rs_input in;

	/* at the end of a host's lines another host's prompt may follow */
	bool follows = next < s->n ? s->kind[next] == RS_PIECE_PROMPT
				   : next && prompt_after(s->t, s->number[next - 1]);

	if (!g->command || !g->first || s->kind[g->first - 1] != RS_PIECE_PROMPT || !follows)
		return;
	for (uint32_t i = g->first; i < next; i++)
		if (s->kind[i] != RS_PIECE_BLANK)
			return;
	segment_input(s, &prompt, &in);
	in.trust = RS_TRUST_TOOL;
	rs_silent(s->t->a, &in);
}

/* Lines of a stream to segments, each given as it ends. */
static void cut(struct rs_stream *s)
{
	const struct rs_reader *owner = NULL, *next;
	struct rs_line *l = &s->line;
	struct segment g = {0};
	struct signs signs;
	bool fenced = false, any = false;
	uint32_t segments = 0, within = 0; /* the last line of a document of JSON */

	rs_stream_find_code(s);
	rs_stream_find_examples(s);
	rs_stream_find_told(s);
	rs_stream_find_moments(s);
	signs_fill(&signs);
	for (uint32_t i = 0; i < s->n; i++) {
		enum rs_piece_kind k = s->kind[i];
		bool frame = k == RS_PIECE_PROMPT || k == RS_PIECE_FENCE || k == RS_PIECE_HEADING;

		/* the lines of each host that one command asked are that command's */
		if (k == RS_PIECE_TEXT && s->command[i] && s->command[i] != g.command) {
			give_segment(s, &g);
			g = (struct segment){.first = i, .command = s->command[i]};
			owner = NULL;
			any = false;
		}
		/* of a program: no segment; what stands before and behind it are two */
		if (s->code[i]) {
			give_segment(s, &g);
			if (i >= within && (within = rs_stream_json_end(s, i)) > i)
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
			rs_stream_line(s, i, l);
			next = beginner(&signs, l);
			/* a signature within another's output, or prose behind one, ends it */
			if ((next && any && next != owner) ||
			    (k == RS_PIECE_PROSE && any && owner && !fenced && i &&
			     s->kind[i - 1] == RS_PIECE_BLANK) ||
			    (any && !owner && !l->indent && !fenced && rs_opens_json(l->text) &&
			     i && s->kind[i - 1] == RS_PIECE_BLANK)) {
				give_segment(s, &g);
				segments++;
				g = (struct segment){.first = i,
						     .command = any ? 0 : g.command,
						     .fenced = fenced};
				owner = NULL;
			}
			if (!any || g.first == i)
				within = rs_stream_json_end(s, i);
			if (next)
				owner = next;
			g.n = i + 1 - g.first;
			g.prose |= k == RS_PIECE_PROSE && !owner;
			any |= k != RS_PIECE_BLANK;
			continue;
		}
		if (!frame) {
			g.n = i + 1 - g.first;
			continue;
		}
		give_segment(s, &g);
		silent(s, &g, i);
		segments++;
		mark(s->t->use, s->number[i], RS_LINE_FRAME);
		fenced = k == RS_PIECE_FENCE ? !fenced : fenced;
		/* a command named before a fence is the fence's */
		g = (struct segment){.first = i + 1,
				     .command = k == RS_PIECE_FENCE && !any && fenced
							? g.command
							: s->command[i],
				     .fenced = fenced};
		owner = NULL;
		any = false;
	}
	give_segment(s, &g);
	silent(s, &g, s->n);
}

/* ---- Line by line ---- */

static void refusal_add(struct rs_audit *a, const struct rs_input *in, const struct rs_text *t,
			struct rs_line *l, uint32_t line)
{
	const struct rs_piece *p = &t->piece[in->lines[line - 1] - 1];
	struct rs_refusal r;
	char text[512];
	const char *own;

	snprintf(text, sizeof(text), "%.*s", (int)(p->length < 511 ? p->length : 511),
		 t->data + p->at);
	own = text + strspn(text, " \t");
	if (!rs_refusal_find(own, &r))
		return;
	rs_input_add(a, in, line, NULL, "absent", r.what, "%s", r.text);
	if (!strcmp(r.what, "/sys/class/infiniband") || !strncmp(r.what, "/dev/infiniband", 15))
		rs_input_tell(a, in, line, own, "no-device-tree", NULL);
	/* that a module is not there is a message, too */
	if (!strncmp(own, "modprobe: ", 10)) {
		*l = (struct rs_line){.number = line};
		snprintf(l->text, sizeof(l->text), "%s", own);
		rs_reader_message.line(a, in, l);
	}
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

	/* a guide's sentence is of what may happen */
	bool general = in->use->guide && rs_prose(l->text) && rs_level_of(l->text) == RS_LEVEL_NONE;

	if (*n >= FAILURES || has_control_bytes(l->text) || general ||
	    (!rs_states_failure(l->text) && (in->use->guide || !rs_complains(l->text))) ||
	    (command && rs_told_help(command, l->text)))
		return;
	stated[(*n)++] = l->number;
	snprintf(name, sizeof(name), "failure/%u", *n);
	rs_input_add(a, in, l->number, NULL, "said", name, "%.300s", l->text);
	if (command)
		rs_input_add(a, in, l->number, NULL, "said_by", name, "%.100s", command);
}

/* A reader of messages: what it makes of the lines that are left. */
static uint32_t messages(struct rs_stream *s, const struct rs_reader *r, struct rs_input *in)
{
	struct rs_text_use *u = s->t->use;
	uint32_t before = rs_facts_count(s->t->a->facts), had;
	struct rs_line *l = &s->line;

	in->trust = r->trust;
	for (uint32_t i = 0; i < s->n && !s->t->a->err; i++) {
		uint32_t number = s->number[i];

		if (s->kind[i] == RS_PIECE_BLANK || s->kind[i] == RS_PIECE_FENCE ||
		    s->kind[i] == RS_PIECE_REFUSAL || (s->code[i] && !r->of_code) ||
		    (s->told[i] && r == &rs_reader_message) ||
		    (u->use[number - 1] == RS_LINE_USED && !r->also))
			continue;
		rs_stream_line(s, i, l);
		/* a table of a manual quotes settings and messages: nothing was set, nothing
		 * printed */
		if (!strncmp(l->text, "| `", 3))
			continue;
		l->next = s->start[i + 1]; /* a reader may look at what follows */
		had = rs_facts_count(s->t->a->facts);
		if (r->line(s->t->a, in, l))
			mark(u, number, RS_LINE_KNOWN);
		/* a sentence of which a part was taken may say more */
		if (r == &rs_reader_spoken && rs_facts_count(s->t->a->facts) > had)
			u->sentences++;
	}
	return rs_facts_count(s->t->a->facts) - before;
}

/* Refusals, and lines that state a failure outside of outputs that readers know: how many, and
 * their numbers. */
static unsigned said(struct rs_stream *s, struct rs_input *in, uint32_t *stated)
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

		if (s->kind[i] == RS_PIECE_REFUSAL) {
			refusal_add(s->t->a, in, s->t, l, i + 1);
			continue;
		}
		if (was == RS_LINE_BLANK || was == RS_LINE_FRAME || s->code[i] || s->told[i])
			continue;
		rs_stream_line(s, i, l);
		command = rs_banner(l->text) ? rs_banner(l->text) : command;
		/* within an output that a reader took only what ends a program is no part of it */
		if (s->kept[i] && !rs_ends_program(l->text))
			continue;
		failure_add(s->t->a, in, l, command, stated, &n);
		/* it is not understood by that: readers of messages come later */
		u->use[s->number[i] - 1] = was;
	}
	return n;
}

static void by_line(struct rs_stream *s)
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

static void block_add(struct rs_audit *a, struct rs_text *t, uint32_t first, uint32_t last)
{
	struct rs_text_use *u = t->use;
	struct rs_piece *p = &t->piece[first];
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

static void settle_whole(struct rs_stream *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->whole[i])
			mark(s->t->use, s->number[i], RS_LINE_USED);
}

/* A line that only draws: "#", "-----". */
static bool only_draws(const struct rs_text *t, uint32_t i)
{
	const struct rs_piece *p = &t->piece[i];

	for (uint32_t k = 0; k < p->length; k++)
		if (isalnum((unsigned char)t->data[p->at + k]) ||
		    (unsigned char)t->data[p->at + k] > 127)
			return false;
	return true;
}

static bool is_sentence(const struct rs_text *t, uint32_t i)
{
	const struct rs_piece *p = &t->piece[i];
	char text[512];

	snprintf(text, sizeof(text), "%.*s", (int)(p->length < 511 ? p->length : 511),
		 t->data + p->at);
	return rs_prose(text + strspn(text, " \t"));
}

static void settle_use(struct rs_audit *a, struct rs_text *t)
{
	struct rs_text_use *u = t->use;

	for (uint32_t i = 0; i < u->lines; i++)
		if (u->use[i] == RS_LINE_STRANGE && only_draws(t, i))
			u->use[i] = RS_LINE_BLANK;
	for (uint32_t i = 1; i < u->lines; i++)
		if (t->how[i])
			u->use[i] = u->use[i - 1];
	for (uint32_t i = 0; i < u->lines; i++) {
		u->count[u->use[i]]++;
		u->sentences += u->use[i] == RS_LINE_STRANGE && is_sentence(t, i);
	}
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
static void name_add(struct rs_stream *s)
{
	struct segment first = {.n = 1};
	struct rs_input in;

	segment_input(s, &first, &in);
	in.trust = RS_TRUST_NOTE;
	rs_input_add(s->t->a, &in, 0, NULL, "host", "named", "%s", s->host);
	s->t->use->whole = false;
}

/* What no segment has whole. */
static void sonic_parts(struct rs_stream *s)
{
	struct segment first = {.n = 1};
	struct rs_input in;
	uint32_t facts;

	segment_input(s, &first, &in);
	facts = rs_stream_sonic(s, &in);
	if (!facts)
		return;
	for (uint32_t i = 0; i < s->n; i++)
		if (s->kept[i])
			mark(s->t->use, s->number[i], RS_LINE_KNOWN);
	s->t->knew = true;
	if (rs_input_remember(s->t->a, s->host, s->t->in->path, rs_reader_sonic.name, facts))
		s->t->a->err = -ENOMEM;
}

static void read_host(struct rs_text *t, uint16_t host, bool old)
{
	struct rs_stream *s = malloc(sizeof(*s));

	if (!s || stream_new(s, t, host, old))
		t->a->err = -ENOMEM;
	if (s && s->n && !t->a->err) {
		if (host)
			name_add(s);
		cut(s);
		sonic_parts(s);
		by_line(s);
		settle_whole(s);
	}
	if (s)
		stream_free(s);
	free(s);
}

int rs_text_read(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_text *t = rs_text_new(a, in);
	int knew;

	if (!t) {
		a->err = -ENOMEM;
		return 0;
	}
	rs_text_spread(t);
	if (rs_text_order(t))
		a->err = -ENOMEM;
	for (uint32_t i = 0; i < t->n_names && !a->err; i++)
		if (!i || t->name[i].is == i)
			read_host(t, (uint16_t)i, false);
	for (uint32_t i = 0; i < t->n_names && !a->err && t->old_quotes; i++)
		if (!i || t->name[i].is == i)
			read_host(t, (uint16_t)i, true);
	settle_use(a, t);
	knew = t->knew;
	rs_text_free(t);
	return knew;
}
