/* What switches show as JSON (EOS `| json`, NVUE `-o json`, NX-OS, SONiC, FRR, Junos `| display
 * json`) or XML: each scalar has a name and the keys above it, and terms.c judges it as it does a
 * table's cell. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "audit/read/grid_node.h"
#include "audit/read/grid_state.h"

enum { DEPTH = 24, NAME = 80, MEMBERS = 4000 /* of a mapping that are looked at */ };

struct walk {
	struct rs_audit *a;
	const struct rs_input *in;
	uint32_t facts;
	const char *told; /* the last key, and where */
	uint32_t told_line;
	const char *command;
};

/* The mapping at hand, as a table has its row. */
struct level {
	char context[RS_TERM_CONTEXT];
	char above[2][RS_TERM_NAME]; /* the last key above that is no port, and the one before */
	char entry[NAME];
	double frames, low; /* low: the light that its own limit allows; NAN: not known */
	bool off, lossy, no_bfd, wanted, unused, up;
};

/* [{"data": "up"}] of Junos is "up". */
static const struct rs_node *bare(const struct rs_node *v)
{
	const struct rs_node *one = v->list ? v->first : NULL;
	const struct rs_node *data = one && !one->next ? rs_node_member(one, "data") : NULL;

	return data ? data : v;
}

static bool text_of(const struct rs_node *v, char *out, size_t size)
{
	const char *text = bare(v)->value;

	if (!text || strlen(text) >= size)
		return false;
	snprintf(out, size, "%s", text);
	return true;
}

static bool is_entry(const char *key)
{
	return rs_grid_port(key, true) ||
	       (strchr(key, '.') && strspn(key, "0123456789.") == strlen(key));
}

/* ---- Values ---- */

static void tell(struct walk *w, const struct level *at, const struct rs_node *v, const char *name,
		 const char *value, const char *key)
{
	uint32_t line = v->line;
	char text[400];

	if (!key || (w->told == key && w->told_line == line))
		return;
	w->told = key;
	w->told_line = line;
	snprintf(text, sizeof(text), "%s%s%s: %s", at->entry, *at->entry ? " " : "", name, value);
	w->facts += rs_input_tell(w->a, w->in, line, text, key, at->entry);
}

static const char *of_level(const struct level *at, const char *name, const char *key)
{
	bool link = key && !strncmp(key, "port-", 5);

	if (link && rs_grid_aside(at->entry))
		return NULL;
	if (link && at->off)
		return "port-disabled";
	if (link && !strcmp(key, "port-down") && at->up && rs_term_in("protocol", name))
		return "port-protocol";
	if (link && at->wanted && !strcmp(key, "port-down"))
		return "port-wanted";
	if (key && at->off && (!strcmp(key, "bgp-down") || !strcmp(key, "light-low")))
		return NULL;
	if (key && at->no_bfd && !strcmp(key, "bfd-down"))
		return NULL;
	if (key && at->unused && !strncmp(key, "mlag-", 5))
		return NULL;
	/* a session's flaps are no port's, its TCP's ECN is no queue's */
	if (key && (!strcmp(key, "flaps-many") || !strncmp(key, "ecn-", 4)) &&
	    rs_term_in(" bgp| tcp ", at->context))
		return NULL;
	if (key && !strcmp(key, "drops-counted") && (at->lossy || rs_grid_aside(at->entry)))
		return "drops-few";
	return key;
}

static const char *judged(const struct level *at, const char *name, const char *value)
{
	char split[RS_TERM_NAME];
	struct rs_terms t = rs_terms_of(name, at->context);
	const char *found = rs_term_judge(&t, value, at->frames);

	if (found)
		return found;
	rs_term_words(value, split, sizeof(split));
	return rs_term_judge(&t, split, at->frames);
}

/* "value", "1": the keys above tell what it is of. */
static bool is_bare(const char *name)
{
	return rs_term_in(" value | data | current | count | total | status | state | text | "
			  "operational | actual | instant | avg | index | code | number ",
			  name) ||
	       strspn(name, " 0123456789") == strlen(name);
}

/* Light: the module's own limit, where the document has it, is better than ours. */
static const char *of_light(const struct level *at, const char *name, const char *value,
			    const char *key)
{
	double n;

	if (isnan(at->low) || !rs_term_number(value, &n) ||
	    !rs_term_in("rx&power|receiv&power|rx&pwr|input power", name) ||
	    rs_term_in("thresh|alarm|warn|high|low|max|min|type|tx", name))
		return key;
	return n < at->low ? "optics-alarm" : NULL;
}

static void judge(struct walk *w, const struct level *at, const struct rs_node *v, const char *key,
		  const char *value)
{
	char name[RS_TERM_NAME], whole[RS_TERM_NAME * 3], plain[RS_TERM_CONTEXT];
	const char *found = NULL;

	if (!*value)
		return;
	rs_term_words(key, name, sizeof(name));
	rs_term_words(value, plain, sizeof(plain));
	tell(w, at, v, key, value, rs_grid_said(w->command, plain));
	if (!strcmp(plain, " not inserted ") && rs_term_in("slot|tray|suppl", at->context)) {
		tell(w, at, v, key, value, "hardware-gone");
		return;
	}
	if (rs_term_in(" admin|descr|reason| name | last state|prev| prior | lsa | tlv ", name))
		return;
	snprintf(whole, sizeof(whole), "%.150s%.150s%.150s", at->above[1], at->above[0], name);
	whole[RS_TERM_NAME - 1] = '\0';
	found = judged(at, name, value);
	if (!found && is_bare(name)) {
		found = judged(at, whole, value);
		key = whole + 1;
	}
	if (found && !*at->entry && !strncmp(found, "port-", 5) && !strcmp(name, " state "))
		return; /* of no port */
	tell(w, at, v, key, value, of_level(at, name, of_light(at, whole, value, found)));
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
	if (!strcmp(name, " name ") && rs_grid_aside(value))
		snprintf(at->entry, sizeof(at->entry), "%s", value);
	at->up |= rs_term_in("interface status|link status|oper status", name) &&
		  (!strcmp(plain, " up ") || !strcmp(plain, " connected "));
	if (rs_term_in("pkts|packets", name) &&
	    !rs_term_in("drop|err|discard|pause|mark|size|rate", name) &&
	    rs_term_number(value, &n) && n > at->frames)
		at->frames = n;
	if (rs_term_in("rx&power&low&alarm|receiv&power&low&alarm", name) &&
	    !rs_term_in("mw|warn", name) && rs_term_number(value, &n) && n < 0)
		at->low = n;
	at->off |=
		rs_term_in(" admin", name) && rs_term_in(" down | disabled | false | off ", plain);
	at->off |= rs_term_in("status|state|reason", name) &&
		   rs_term_in(" admin down | disabled | administratively down | admin | admin shut",
			      plain);
	at->unused |= (!strcmp(name, " state ") || !strcmp(name, " status ")) &&
		      !strcmp(plain, " disabled ");
	at->lossy |= rs_term_in(" queue | tc |traffic class", name) && !strcmp(value, "0");
	at->no_bfd |= rs_term_in("bfd&config|bfd&enabled|bfd&admin|bfd&request", name) &&
		      rs_term_in(" disabled | false | no | off | down ", plain);
	at->wanted |= rs_term_in(" descr", name) && rs_term_neighbour(plain);
}

static void learn_all(struct level *at, const struct rs_node *map)
{
	char value[RS_TERM_NAME];
	unsigned n = 0;

	for (const struct rs_node *m = map->first; m && n < MEMBERS; m = m->next, n++) {
		char name[RS_TERM_NAME];

		if (text_of(m, value, sizeof(value))) {
			learn(at, m->key, value);
			continue;
		}
		/* "threshold": {"lowAlarm": -13.3} */
		rs_term_words(m->key, name, sizeof(name));
		if (!rs_term_in("thresh", name))
			continue;
		for (const struct rs_node *t = m->first; t; t = t->next) {
			double low;

			rs_term_words(t->key, name, sizeof(name));
			if (!strcmp(name, " low alarm ") && text_of(t, value, sizeof(value)) &&
			    rs_term_number(value, &low) && low < 0)
				at->low = low;
		}
	}
}

/* A key that says itself what is wrong, with those that it holds: {"inactivePorts": {"Et8": {}}} */
static const char *named_fault(const struct level *at, const char *name)
{
	static const struct {
		const char *name, *where, *key;
	} faults[] = {
		{"inactive&port|inactive&member|inactive&interf|inactive&link|unselected|unbundled|"
		 "not bundled|suspended&port|suspended&member|down&member",
		 "lag|lacp|port channel|bond|bundle|aggregat", "lag-member"},
		{"not initialized|uninitialized", "card|fabric|module|fpc", "switch-card"},
		{"err disabled&port|err disabled&interf|errdisabled&port|errdisabled&interf", NULL,
		 "port-errdisabled"},
		{"failed peer|down peer|failed neighbo|down neighbo", NULL, "bgp-down"},
		{"core file|coredump|core dump", NULL, "switch-crash"},
		{"failed fan|failed psu|failed power|faulty fan|faulty psu", NULL,
		 "switch-hardware"},
		{"conflict", " clag | mlag | vpc | mclag ", "mlag-differs"},
	};

	if (rs_term_in("recover|hist|last |thresh|time|max|reason|detect", name))
		return NULL;
	for (unsigned i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		if (rs_term_in(faults[i].name, name) &&
		    (!faults[i].where || rs_term_in(faults[i].where, at->context) ||
		     rs_term_in(faults[i].where, name)))
			return faults[i].key;
	return NULL;
}

static void name_faults(struct walk *w, const struct level *at, const struct rs_node *v)
{
	char name[RS_TERM_NAME], value[RS_TERM_NAME];
	const char *key;
	unsigned n = 0;
	double many;

	rs_term_words(v->key, name, sizeof(name));
	key = named_fault(at, name);
	if (!key)
		return;
	if (text_of(v, value, sizeof(value))) {
		if (rs_grid_port(value, false) || (rs_term_number(value, &many) && many > 0))
			tell(w, at, v, v->key, value, key);
		return;
	}
	for (const struct rs_node *m = v->first; m && n < MEMBERS; m = m->next, n++) {
		if (*m->key)
			tell(w, at, m, v->key, m->key, key);
		else
			tell(w, at, m, v->key, text_of(m, value, sizeof(value)) ? value : "", key);
	}
}

/* What two switches have to have in common, of both: {"localValue": "0", "peerValue": "200"} */
static void compare(struct walk *w, const struct level *at, const struct rs_node *map)
{
	char name[RS_TERM_NAME], local[RS_TERM_NAME] = "", peer[RS_TERM_NAME] = "";
	char text[RS_TERM_NAME * 2 + 16];
	const struct rs_node *where = NULL;

	if (!rs_term_in(" mlag | vpc | clag | mclag | vlt | m lag ", at->context))
		return;
	for (const struct rs_node *m = map->first; m; m = m->next) {
		rs_term_words(m->key, name, sizeof(name));
		if (rs_term_in("local val", name)) {
			text_of(m, local, sizeof(local));
			where = m;
		} else if (rs_term_in("peer val|remote val", name)) {
			text_of(m, peer, sizeof(peer));
		} else if (rs_term_in(" type ", name) && text_of(m, text, sizeof(text)) &&
			   !strcmp(text, "-")) {
			return; /* vPC does not compare it */
		}
	}
	if (!where || !*local || !*peer || !strcmp(local, peer))
		return;
	snprintf(text, sizeof(text), "%s, peer %s", local, peer);
	tell(w, at, where, where->key, text, "mlag-differs");
}

/* A mapping of a list of alarms is a record: its scalars are its words. */
static bool alarm(struct walk *w, struct level *at, const struct rs_node *map)
{
	char value[RS_TERM_NAME], text[400] = "";
	size_t n = 0;

	if (!rs_term_in("alarm", at->context))
		return false;
	for (const struct rs_node *m = map->first; m && n < sizeof(text); m = m->next)
		if (text_of(m, value, sizeof(value)))
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", n ? " " : "",
					      value);
	if (!n)
		return false;
	tell(w, at, map, "alarm", text, rs_grid_alarm(text));
	return true;
}

static void walk(struct walk *w, const struct rs_node *v, const struct level *above,
		 unsigned depth);

static void child(struct walk *w, const struct level *at, const struct rs_node *v, unsigned depth)
{
	struct level below = *at;
	size_t n = strlen(below.context);
	char plain[RS_TERM_NAME];

	if (is_entry(v->key)) {
		snprintf(below.entry, sizeof(below.entry), "%.*s", NAME - 1, v->key);
		below.frames = -1;
		below.low = NAN;
		below.off = below.lossy = below.no_bfd = below.wanted = below.up = false;
	} else {
		rs_term_words(v->key, plain, sizeof(plain));
		snprintf(below.context + n, sizeof(below.context) - n, "%s", plain);
		memcpy(below.above[1], at->above[0], sizeof(below.above[1]));
		memcpy(below.above[0], plain, sizeof(below.above[0]));
		below.lossy |= rs_term_in(" queue 0 | tc 0 | uc 0 | tc0 | uc0 ", plain);
	}
	walk(w, v, &below, depth + 1);
}

static void walk_map(struct walk *w, const struct rs_node *map, const struct level *above,
		     unsigned depth)
{
	struct level at = *above;
	char value[RS_TERM_NAME];
	unsigned n = 0;

	learn_all(&at, map);
	if (alarm(w, &at, map))
		return;
	compare(w, &at, map);
	for (const struct rs_node *m = map->first; m && n < MEMBERS && !w->a->err;
	     m = m->next, n++) {
		name_faults(w, &at, m);
		if (text_of(m, value, sizeof(value)))
			judge(w, &at, m, m->key, value);
		else
			child(w, &at, m, depth);
	}
}

static void walk(struct walk *w, const struct rs_node *v, const struct level *above, unsigned depth)
{
	unsigned n = 0;

	if (depth > DEPTH || v->value)
		return;
	if (!v->list) {
		walk_map(w, v, above, depth);
		return;
	}
	for (const struct rs_node *m = v->first; m && n < MEMBERS && !w->a->err; m = m->next, n++)
		if (m->value)
			judge(w, above, m, above->above[0], m->value);
		else
			walk(w, m, above, depth + 1);
}

/* ---- Texts ---- */

/* A key that is a switch's port, or a session of one, somewhere within; in XML a value. */
static bool has_port(const struct rs_node *v, unsigned depth)
{
	if (depth > DEPTH / 3)
		return false;
	for (const struct rs_node *m = v->first; m; m = m->next)
		if (rs_grid_port(m->key, false) || !strcmp(m->key, "peerState") ||
		    has_port(m, depth + 1))
			return true;
	return false;
}

/* A fabric manager's list of alarms: each has its severity, and a number or a name of its kind. */
static bool is_alarms(const struct rs_node *root)
{
	const struct rs_node *first = root->first;

	while (first && first->list)
		first = first->first;
	return rs_node_member(first, "severity") &&
	       (rs_node_member(first, "event_type") || rs_node_member(first, "alarm_id") ||
		rs_node_member(first, "alarm-id") || rs_node_member(first, "alarmId"));
}

/* <rpc-reply>, <interface-information xmlns="http://xml.juniper.net/...">: NETCONF's, Junos' */
static bool is_reply(const struct rs_node *root)
{
	const struct rs_node *top = root->first;

	return top && (!strcmp(top->key, "rpc-reply") || strstr(top->key, "-information"));
}

static uint32_t read_nodes(struct rs_audit *a, const struct rs_input *in, struct rs_nodes *t,
			   bool shown)
{
	struct walk w = {.a = a, .in = in};
	struct level top = {.frames = -1, .low = NAN};
	char command[RS_TERM_CONTEXT / 4];

	if (!t)
		return 0;
	/* lines are counted from the text's first */
	rs_term_plain(in->command ? in->command : "", top.context, RS_TERM_CONTEXT / 4);
	if (!shown && is_alarms(rs_nodes_root(t))) {
		snprintf(top.context, sizeof(top.context), " alarms ");
		shown = true;
	}
	memcpy(command, top.context, sizeof(command));
	w.command = shown ? command : NULL;
	if (shown || has_port(rs_nodes_root(t), 0))
		walk(&w, rs_nodes_root(t), &top, 0);
	rs_nodes_destroy(t);
	return w.facts;
}

uint32_t rs_grid_read_json(struct rs_audit *a, const struct rs_input *in, bool shown)
{
	return read_nodes(a, in, rs_nodes_json(in->data, in->size), shown);
}

uint32_t rs_grid_read_xml(struct rs_audit *a, const struct rs_input *in, bool shown)
{
	struct rs_nodes *t = rs_nodes_xml(in->data, in->size);

	return read_nodes(a, in, t, shown || (t && is_reply(rs_nodes_root(t))));
}
