/* What switches show as JSON (EOS `| json`, NVUE `-o json`, NX-OS, Junos `| display json`): each
 * scalar has a name and the keys above it, and terms.c judges it as it does a table's cell. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/message.h"
#include "audit/read/grid.h"
#include "audit/read/terms.h"
#include "text/document.h"

enum { DEPTH = 24, NAME = 80, MEMBERS = 4000 /* of a mapping that are looked at */ };

struct walk {
	struct rs_audit *a;
	const struct rs_input *in;
	uint32_t facts;
	const char *told; /* the last key, and where */
	uint32_t told_line;
};

/* The mapping at hand, as a table has its row. */
struct level {
	char context[RS_TERM_CONTEXT];
	char entry[NAME];
	double frames;
	bool off, lossy;
};

/* [{"data": "up"}] of Junos is "up". */
static struct rs_value *bare(struct rs_value *v)
{
	struct rs_value *data;

	if (!rs_value_is_list(v))
		return v;
	data = rs_document_member(rs_value_at(v, 0), "data");
	return data && !rs_value_at(v, 1) ? data : v;
}

static bool text_of(struct rs_value *v, char *out, size_t size)
{
	size_t n;
	const char *text = rs_value_scalar(bare(v), &n);

	if (!text || n >= size)
		return false;
	snprintf(out, size, "%.*s", (int)n, text);
	return true;
}

static bool is_entry(const char *key)
{
	return rs_grid_port(key, true) ||
	       (strchr(key, '.') && strspn(key, "0123456789.") == strlen(key));
}

/* ---- Values ---- */

static void tell(struct walk *w, const struct level *at, struct rs_value *v, const char *name,
		 const char *value, const char *key)
{
	uint32_t line = rs_document_line(v);
	char text[400];

	if (!key || (w->told == key && w->told_line == line))
		return;
	w->told = key;
	w->told_line = line;
	snprintf(text, sizeof(text), "%s%s%s: %s", at->entry, *at->entry ? " " : "", name, value);
	w->facts += rs_grid_say(w->a, w->in, line, text, key, at->entry);
}

static const char *of_level(const struct level *at, const char *key)
{
	bool link = key && !strncmp(key, "port-", 5);

	if (link && rs_grid_aside(at->entry))
		return NULL;
	if (link && at->off)
		return "port-disabled";
	if (key && at->off && !strcmp(key, "bgp-down"))
		return NULL;
	return key && at->lossy && !strcmp(key, "drops-counted") ? "drops-few" : key;
}

static void judge(struct walk *w, const struct level *at, struct rs_value *v, const char *key,
		  const char *value)
{
	char name[RS_TERM_NAME], split[RS_TERM_NAME];
	struct rs_terms t;
	const char *found;

	rs_term_words(key, name, sizeof(name));
	if (rs_term_in(" admin|descr|reason| name ", name))
		return;
	t = rs_terms_of(name, at->context);
	found = rs_term_judge(&t, value, at->frames);
	if (!found) {
		rs_term_words(value, split, sizeof(split));
		found = rs_term_judge(&t, split, at->frames);
	}
	tell(w, at, v, key, value, of_level(at, found));
}

/* ---- Mappings ---- */

/* What one member says of its siblings: whose they are, how many frames, meant to be off. */
static void learn(struct level *at, const char *key, const char *value)
{
	char name[RS_TERM_NAME], plain[RS_TERM_NAME];
	double n;

	rs_term_words(key, name, sizeof(name));
	rs_term_words(value, plain, sizeof(plain));
	if ((rs_grid_port(value, false) || !strcmp(name, " interface ")) &&
	    !rs_term_in("peer|neighbo|remote|parent", name))
		snprintf(at->entry, sizeof(at->entry), "%s", value);
	if (rs_term_in("pkts|packets", name) &&
	    !rs_term_in("drop|err|discard|pause|mark|size|rate", name) &&
	    rs_term_number(value, &n) && n > at->frames)
		at->frames = n;
	at->off |=
		rs_term_in(" admin", name) && rs_term_in(" down | disabled | false | off ", plain);
	at->off |= rs_term_in("status|state|reason", name) &&
		   rs_term_in(" admin down | disabled | administratively down | admin | admin shut",
			      plain);
	at->lossy |= rs_term_in(" queue | tc |traffic class", name) && !strcmp(value, "0");
}

static void learn_all(struct level *at, struct rs_value *map)
{
	struct rs_pair *p;
	void *iter = NULL;
	char key[NAME], value[RS_TERM_NAME];
	unsigned n = 0;

	while ((p = rs_value_each_pair(map, &iter)) && n++ < MEMBERS) {
		if (!text_of(rs_pair_key(p), key, sizeof(key)))
			continue;
		if (text_of(rs_pair_value(p), value, sizeof(value)))
			learn(at, key, value);
	}
}

/* A mapping of a list of alarms is a record: its scalars are its words. */
static bool alarm(struct walk *w, struct level *at, struct rs_value *map)
{
	struct rs_pair *p;
	void *iter = NULL;
	char value[RS_TERM_NAME], text[400] = "";
	size_t n = 0;

	if (!rs_term_in("alarm", at->context))
		return false;
	while ((p = rs_value_each_pair(map, &iter)) && n < sizeof(text))
		if (text_of(rs_pair_value(p), value, sizeof(value)))
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", n ? " " : "",
					      value);
	if (!n)
		return false;
	tell(w, at, map, "alarm", text, rs_grid_alarm(text));
	return true;
}

static void walk(struct walk *w, struct rs_value *v, const struct level *above, unsigned depth);

static void child(struct walk *w, const struct level *at, const char *key, struct rs_value *v,
		  unsigned depth)
{
	struct level below = *at;
	size_t n = strlen(below.context);
	char plain[RS_TERM_NAME];

	if (is_entry(key)) {
		snprintf(below.entry, sizeof(below.entry), "%s", key);
		below.frames = -1;
		below.off = below.lossy = false;
	} else {
		rs_term_words(key, plain, sizeof(plain));
		snprintf(below.context + n, sizeof(below.context) - n, "%s", plain);
		below.lossy |= rs_term_in(" queue 0 | tc 0 | uc 0 | tc0 | uc0 ", plain);
	}
	walk(w, v, &below, depth + 1);
}

static void walk_map(struct walk *w, struct rs_value *map, const struct level *above,
		     unsigned depth)
{
	struct level at = *above;
	struct rs_pair *p;
	void *iter = NULL;
	char key[NAME], value[RS_TERM_NAME];
	unsigned n = 0;

	learn_all(&at, map);
	if (alarm(w, &at, map))
		return;
	while ((p = rs_value_each_pair(map, &iter)) && n++ < MEMBERS && !w->a->err) {
		struct rs_value *v = rs_pair_value(p);

		if (!text_of(rs_pair_key(p), key, sizeof(key)))
			continue;
		if (text_of(v, value, sizeof(value)))
			judge(w, &at, v, key, value);
		else
			child(w, &at, key, v, depth);
	}
}

static void walk(struct walk *w, struct rs_value *v, const struct level *above, unsigned depth)
{
	struct rs_value *item;
	void *iter = NULL;
	unsigned n = 0;

	if (depth > DEPTH)
		return;
	if (rs_value_is_map(v))
		walk_map(w, v, above, depth);
	else if (rs_value_is_list(v))
		while ((item = rs_value_each(v, &iter)) && n++ < MEMBERS && !w->a->err)
			walk(w, item, above, depth + 1);
}

/* ---- Texts ---- */

/* A key that is a switch's port, or a session of one, somewhere within. */
static bool has_port(struct rs_value *v, unsigned depth)
{
	struct rs_pair *p;
	struct rs_value *item;
	void *iter = NULL;
	char key[NAME];

	if (depth > DEPTH / 3)
		return false;
	while (rs_value_is_map(v) && (p = rs_value_each_pair(v, &iter)))
		if (text_of(rs_pair_key(p), key, sizeof(key)) &&
		    (rs_grid_port(key, false) || !strcmp(key, "peerState") ||
		     has_port(rs_pair_value(p), depth + 1)))
			return true;
	while (rs_value_is_list(v) && (item = rs_value_each(v, &iter)))
		if (has_port(item, depth + 1))
			return true;
	return false;
}

/* Where the brace that begins at `p` ends; what stands behind it is another text. */
static size_t document(const char *p, size_t size)
{
	unsigned depth = 0;
	bool string = false;

	for (size_t i = 0; i < size; i++) {
		if (string) {
			string = p[i] != '"';
			i += p[i] == '\\';
		} else if (p[i] == '"') {
			string = true;
		} else if (p[i] == '{' || p[i] == '[') {
			depth++;
		} else if ((p[i] == '}' || p[i] == ']') && !--depth) {
			return i + 1;
		}
	}
	return 0;
}

uint32_t rs_grid_read_json(struct rs_audit *a, const struct rs_input *in, bool shown)
{
	struct walk w = {.a = a, .in = in};
	struct level top = {.frames = -1};
	size_t blanks = strspn(in->data, " \t\r\n"),
	       n = document(in->data + blanks, in->size - blanks);
	struct rs_document *d;

	/* lines are counted from the text's first */
	d = n ? rs_document_parse(in->data, blanks + n) : NULL;
	if (!d)
		return 0;
	rs_term_plain(in->command ? in->command : "", top.context, RS_TERM_CONTEXT / 4);
	if (shown || has_port(rs_document_root(d), 0))
		walk(&w, rs_document_root(d), &top, 0);
	rs_document_destroy(d);
	return w.facts;
}
