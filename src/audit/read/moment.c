/*
 * When the lines of one text were printed, as far as prompts, sleeps, watch, loops, dates and
 * captions tell: what a text reads again is a later reading. Only readings at one place (the same
 * prompt, the same machine behind ssh or exec, no caption that leads elsewhere) are compared.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/facts/word_list.h"
#include "audit/read/moment.h"

enum { KEY = 96, PLACES = 255, LAST = 0xffff };

/* A line's clock moves on by this where nobody knows for how long something ran. */
static const int64_t gap = RS_MOMENT_GAP;

struct walk {
	const struct rs_stream *s;
	uint32_t place[PLACES]; /* hashes of what tells places apart */
	unsigned places, captions;
	uint32_t now; /* of the line at hand; 0: not known */
	uint32_t index;
	int64_t clock, behind;      /* tenths of a second; what is to pass after this output */
	int64_t stamp, stamp_clock; /* the last date, and our clock at it; stamp < 0: none */
	int64_t interval;           /* between rounds of a loop; 0: not known */
	bool loops, fenced;
	char first[KEY]; /* what each round of a loop begins with; "": not seen yet */
};

static uint32_t hash(uint32_t h, const char *p, size_t n)
{
	while (n--)
		h = (h ^ (uint8_t)*p++) * 16777619u; /* FNV-1a, 32 bits */
	return h;
}

/* ---- What a command waits for ---- */

static bool apart(const char *text, const char *p)
{
	return p == text || !(isalnum((unsigned char)p[-1]) || p[-1] == '_' || p[-1] == '-');
}

/* "10", "0.5", "2m": tenths of a second; 0: none. */
static int64_t amount(const char *p)
{
	char *end;
	double x;

	if (!isdigit((unsigned char)*p) && *p != '.')
		return 0;
	x = strtod(p, &end);
	x *= *end == 'm' ? 60 : *end == 'h' ? 3600 : 1;
	return x > 0 && x < 86400 ? (int64_t)(10 * x + 0.5) : 0;
}

/* Does a command follow here, and not the end of a loop or a quote? */
static bool more_follows(const char *p)
{
	p += strcspn(p, ";&|'\"");
	p += strspn(p, ";& '\")");
	return *p && *p != '|' && strncmp(p, "done", 4);
}

/* Do all parts of a command end at once? Else nobody knows how long it ran. */
static bool is_quick(const char *command)
{
	static const char *const quick[] = {
		"cat",        "ethtool",   "rdma",     "grep",    "egrep",         "awk",
		"sed",        "head",      "tail",     "sort",    "date",          "echo",
		"sleep",      "perfquery", "show",     "display", "dcb",           "ip",
		"ifconfig",   "ls",        "printf",   "watch",   "for",           "while",
		"do",         "done",      "clear",    "tee",     "column",        "ibstat",
		"mlnx_qos",   "lsmod",     "env",      "do",      "netstat",       "portstat",
		"pfcstat",    "nv",        "sudo",     "lspci",   "uname",         "hostname",
		"cl-netstat", "queuestat", "terminal", "enable",  "ibqueryerrors", "sh",
		NULL};

	for (const char *p = command; *p;) {
		size_t n;

		p += strspn(p, ";&|'\"( \t)");
		n = strcspn(p, " \t;&|'\")");
		if (n && !rs_word_in(quick, p, n))
			return false;
		p += strcspn(p, ";&");
	}
	return true;
}

/* "watch -n 1 'x'", "watch x": tenths between its rounds; 0: it is none. */
static int64_t watched(const char *raw)
{
	const char *p = strstr(raw, "watch "), *n;
	int64_t t;

	if (!p || !apart(raw, p))
		return 0;
	n = strstr(p, " -n");
	n = n ? n + 3 : strstr(p, "--interval");
	if (!n)
		return 20; /* watch(1): 2 s */
	t = amount(n + strcspn(n, "0123456789."));
	return t ? t : 20;
}

/* A loop in which each round does the same: one over devices names another each time. */
static bool repeats(const char *raw)
{
	const char *body = strstr(raw, "do ");

	if (!body || body == raw || !strchr(" ;", body[-1]))
		return false;
	for (const char *p = body; (p = strchr(p, '$')); p++)
		if (isalpha((unsigned char)p[1]) || p[1] == '{')
			return false;
	return true;
}

static void takes(struct walk *w, const char *raw, const char *command)
{
	const char *own = *command ? strstr(raw, command) : NULL;
	bool loop = repeats(raw);
	int64_t all = 0;

	w->loops = loop;
	w->interval = watched(raw);
	w->loops |= w->interval > 0;
	w->behind = 0;
	for (const char *p = raw; (p = strstr(p, "sleep ")); p += 6) {
		int64_t t = apart(raw, p) ? amount(p + 6 + strspn(p + 6, " ")) : 0;

		all += t;
		if (loop)
			continue;
		if (!own || p <= own || !strncmp(own, "sleep ", 6))
			w->clock += t;
		else if (more_follows(p + 6))
			w->loops = true;
		else
			w->behind += t;
	}
	if (w->loops && !w->interval)
		w->interval = all;
	if (own && !is_quick(own))
		w->behind += gap;
}

/* ---- Where ---- */

/* The word behind "ssh ", and what stands between "exec" and the command: other machines' names. */
static uint32_t elsewhere(const char *raw, uint32_t h)
{
	static const char *const leads[] = {"ssh ", "exec ", "rsh ", "-w ", "vrf ", NULL};

	for (unsigned i = 0; leads[i]; i++) {
		const char *p = strstr(raw, leads[i]), *end;

		if (!p || !apart(raw, p))
			continue;
		p += strlen(leads[i]);
		end = strstr(p, " -- ");
		h = hash(h, p, end ? (size_t)(end - p) : strcspn(p + strspn(p, " "), " ") + 1);
	}
	return h;
}

/* Moves on to another reading at the place that this key is of. */
static void step(struct walk *w, uint32_t key)
{
	unsigned at = 0;

	while (at < w->places && w->place[at] != key)
		at++;
	if (at == PLACES || w->index >= LAST) {
		w->now = 0;
		return;
	}
	if (at == w->places)
		w->place[w->places++] = key;
	w->index++;
	w->now = (at + 1) << RS_MOMENT_SHIFT | w->index;
}

static uint32_t place_key(const struct walk *w, const char *raw, size_t prompt)
{
	return elsewhere(raw, hash(2166136261u + w->captions, raw, prompt));
}

static void at_prompt(struct walk *w, const char *raw, const char *command, bool heading)
{
	/* "root@n1", "[root@n1", "leaf1(config": a path or a mode changes no place */
	size_t n = heading ? 0 : *raw == '(' ? strcspn(raw, ")") : strcspn(raw, " :#$%>~(");

	w->clock += w->behind;
	takes(w, raw, command);
	*w->first = '\0';
	step(w, place_key(w, raw, n));
}

/* ---- Dates ---- */

static int month_of(const char *p)
{
	static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

	for (int i = 0; i < 12; i++)
		if (!strncmp(p, names + 3 * i, 3) && !isalpha((unsigned char)p[3]))
			return i + 1;
	return 0;
}

/* Is a word, with its end, one of a date: "Sat", "UTC", "2026", "AM", "+0000", "=="? */
static bool of_date(const char *p, size_t n)
{
	static const char *const days[] = {"Mon", "Tue",  "Wed",  "Thu",  "Fri",  "Sat",
					   "Sun", "Time", "time", "date", "Date", NULL};
	size_t k = 0;

	while (k < n && !islower((unsigned char)p[k]))
		k++;
	if (k == n)
		return n <= 12;
	n = strcspn(p, ":, \t") < n ? strcspn(p, ":, \t") : n;
	return month_of(p) || rs_word_in(days, p, n);
}

/* A line that tells a time alone, or watch's heading: seconds from any beginning; -1: it is none.
 */
static int64_t stamp_of(const char *text)
{
	bool watch = !strncmp(text, "Every ", 6), found = false;
	int year = 0, month = 0, day = 0, h = 0, m = 0, s = 0;

	if (strlen(text) > 160)
		return -1;
	for (const char *p = text; *p;) {
		size_t n = strcspn(p, " \t,");
		int x, y, z, end = 0;

		/* "2026-11-28T10:00:00" */
		if (n > 11 && p[10] == 'T' && isdigit((unsigned char)*p))
			n = 10;
		if (n && sscanf(p, "%2d:%2d:%2d%n", &x, &y, &z, &end) == 3 && x < 24 && y < 60 &&
		    z < 61 && strchr(" .,Z+-", p[end])) {
			found = true;
			h = x, m = y, s = z;
		} else if (n && sscanf(p, "%4d-%2d-%2d", &x, &y, &z) == 3 && x > 1970) {
			year = x, month = y, day = z;
		} else if (n && month_of(p)) {
			month = month_of(p);
			if (sscanf(p + 3, "%2d", &x) == 1 && x > 0)
				day = x;
		} else if (!strncmp(p, "PM", 2) && found && h < 12) {
			h += 12;
		} else if (!strncmp(p, "AM", 2) && found && h == 12) {
			h = 0;
		} else if (!watch && n && !of_date(p, n)) {
			return -1;
		}
		p += n + (p[n] == 'T');
		p += strspn(p, " \t,");
	}
	if (!found)
		return -1;
	return ((int64_t)(year * 12 + month) * 31 + day) * 86400 + h * 3600 + m * 60 + s;
}

bool rs_is_stamp(const char *text)
{
	return stamp_of(text) >= 0;
}

/* A stamp makes the clock exact again. */
static void stamped(struct walk *w, int64_t t)
{
	int64_t passed = 10 * (t - w->stamp);

	w->clock += w->behind;
	w->behind = 0;
	if (w->stamp >= 0 && passed >= 0 && passed < gap)
		w->clock = w->stamp_clock + passed;
	else if (w->stamp >= 0)
		w->clock += gap;
	w->stamp = t;
	w->stamp_clock = w->clock;
}

/* ---- Captions ---- */

/* "10 seconds later:", "after 5 min": tenths; 0: it does not tell. */
static int64_t told_wait(const char *low)
{
	for (const char *p = low; *p; p++) {
		const char *unit = p + strspn(p, "0123456789.");

		if (!isdigit((unsigned char)*p) || (p > low && isalnum((unsigned char)p[-1])))
			continue;
		unit += strspn(unit, " ");
		if (!strncmp(unit, "s ", 2) || !strcmp(unit, "s:") || !strncmp(unit, "sec", 3))
			return amount(p);
		if (!strncmp(unit, "min", 3))
			return 60 * amount(p);
		if (!strncmp(unit, "hour", 4))
			return 3600 * amount(p);
	}
	return 0;
}

/* What a person writes between outputs: that one was made elsewhere, or at another time. */
static void caption(struct walk *w, const char *text)
{
	static const char places[] = "receiver|sender|server|client|peer|remote|initiator|target|"
				     "other|another|second|neighbour|neighbor|node|host|machine|"
				     "switch|leaf|spine|side|end|vm|pod|container|rank|nodes|hosts";
	static const char times[] = "before|after|later|again|then|now|earlier|next|beginning|"
				    "meanwhile|afterwards|once more|during|while|re-run|rerun";
	char low[200];
	int64_t t;

	rs_word_lower(text, low, sizeof(low));
	if (rs_word_list_has(low, places, true)) {
		w->captions++;
		w->now = 0;
		w->clock += gap;
		return;
	}
	if (!rs_word_list_has(low, times, false) && !told_wait(low))
		return;
	t = told_wait(low);
	w->clock += w->behind + (t ? t : gap);
	w->behind = 0;
	step(w, w->now ? w->place[(w->now >> RS_MOMENT_SHIFT) - 1]
		       : hash(2166136261u + w->captions, "", 0));
}

/* "Before the run:", "--- 10 s later ---" */
static bool is_caption(const struct rs_stream *s, uint32_t i, const char *text, bool fenced)
{
	size_t n = strlen(text);

	if (s->kind[i] == RS_PIECE_PROSE || s->kind[i] == RS_PIECE_HEADING)
		return true;
	if (s->kind[i] != RS_PIECE_TEXT || n < 4 || n > 100)
		return false;
	/* between two blocks of code */
	if (i && s->kind[i - 1] == RS_PIECE_FENCE && isalpha((unsigned char)*text) && !fenced)
		return true;
	return (text[n - 1] == ':' && strchr(text, ':') == text + n - 1 &&
		isalpha((unsigned char)*text) &&
		(strchr(text, ' ') || !i || s->kind[i - 1] != RS_PIECE_TEXT)) ||
	       ((!strncmp(text, "---", 3) || !strncmp(text, "===", 3)) &&
		isalpha((unsigned char)text[3 + strspn(text + 3, "-= ")]));
}

/* ---- Rounds of a loop ---- */

/* What a line has of its own: its key, or its words without numbers. */
static void line_key(const char *text, char *out)
{
	size_t n = strcspn(text, ":="), k = 0;
	bool pair = text[n] && strcspn(text, "abcdefghijklmnopqrstuvwxyz") < n;

	snprintf(out, KEY, "#");
	for (const char *p = text; *p && k + 2 < KEY && (!pair || p < text + n); p++)
		if (pair || !isdigit((unsigned char)*p))
			out[k++] = *p;
	out[k ? k : 1] = '\0';
}

static void in_loop(struct walk *w, const char *text)
{
	char key[KEY];

	line_key(text, key);
	if (!*w->first) {
		snprintf(w->first, sizeof(w->first), "%s", key);
		return;
	}
	if (strcmp(key, w->first))
		return;
	w->clock += w->interval ? w->interval : gap;
	if (w->now)
		step(w, w->place[(w->now >> RS_MOMENT_SHIFT) - 1]);
}

/* ---- */

static void at_line(struct walk *w, uint32_t i, const char *text)
{
	int64_t t = stamp_of(text);

	if (t >= 0) {
		if (w->loops)
			in_loop(w, "Every");
		stamped(w, t);
		return;
	}
	if (is_caption(w->s, i, text, w->fenced))
		caption(w, text);
	else if (w->loops && w->s->kind[i] == RS_PIECE_TEXT)
		in_loop(w, text);
}

void rs_stream_find_moments(struct rs_stream *s)
{
	struct walk w = {.s = s, .stamp = -1};
	struct rs_line *l = &s->line;

	for (uint32_t i = 0; i < s->n; i++) {
		const char *command = s->command[i] ? s->t->command[s->command[i] - 1] : "";

		rs_stream_line(s, i, l);
		if (s->kind[i] == RS_PIECE_PROMPT ||
		    (s->kind[i] == RS_PIECE_HEADING && s->command[i])) {
			at_prompt(&w, l->text, command, s->kind[i] == RS_PIECE_HEADING);
		} else if (s->kind[i] == RS_PIECE_FENCE) {
			w.now = 0;
			w.fenced = !w.fenced;
		} else if (*l->text) {
			at_line(&w, i, l->text);
		}
		s->moment[i] = w.now;
		s->clock[i] = w.clock >= 0 && w.clock < UINT32_MAX ? (uint32_t)w.clock + 1 : 0;
	}
}

uint32_t rs_moment_of_command(uint32_t moment, const char *command)
{
	uint32_t h;

	command += !strncmp(command, "sleep ", 6) ? strcspn(command, ";&") : 0;
	command += strspn(command, ";& ");
	h = hash(2166136261u, command, strlen(command)) % 255 + 1;
	return h << RS_MOMENT_SHIFT | (moment & ((1u << RS_MOMENT_SHIFT) - 1));
}
