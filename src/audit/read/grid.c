/* Tables, pairs, counts and trees of switches' outputs to cells, judged by terms.c. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/message.h"
#include "audit/read/event.h"
#include "audit/read/grid.h"
#include "audit/read/readers.h"
#include "audit/read/terms.h"

enum {
	TEXT = 1024, /* bytes of a line that are looked at */
	KEPT = 400,  /* bytes of a line that are kept */
	COLUMNS = 40,
	HEADS = 4, /* lines of a table's head */
	DEPTH = 16,
	NAME = 80,
	WAITS = 64 /* faults of a log whose end may come */
};

enum role { PLAIN, ADMIN, FRAMES, SPEED, MTU, FEC, OPERATIONAL, APPLIED, LOCAL, PEER };

struct column {
	unsigned from, to; /* bytes of the line */
	char name[RS_TERM_NAME];
	struct rs_terms terms;
	enum role role;
};

struct cell {
	unsigned from, to;
	char *text;
};

struct alarm {
	const char *key;
	uint32_t line;
	bool over;
	char of[NAME], text[KEPT];
};

struct grid {
	struct rs_audit *a;
	const struct rs_input *in;
	bool on;    /* a switch's, by now */
	bool shown; /* by its command */
	bool tree;  /* braces */
	uint32_t facts;

	char entry[NAME];
	double frames;
	char command[RS_TERM_CONTEXT / 4], section[RS_TERM_NAME], context[RS_TERM_CONTEXT];
	char path[DEPTH][NAME];
	unsigned depth;

	char head[HEADS][TEXT]; /* with its blanks; the last line at heads - 1 */
	unsigned heads;
	bool fresh; /* a line of a head came behind the last table's beginning */
	struct column column[COLUMNS];
	unsigned columns, rows;
	char titles[TEXT]; /* the line of the head that has most of them */
	bool ruled;
	bool fast, quick; /* a rate of 200, of 100 Gb/s and more stands somewhere */

	double mtu_most;
	char mtu_speed[32], small_speed[32];
	char small[NAME], small_text[KEPT];
	uint32_t small_line, hash_line, told_line;
	const char *told_key;
	bool hashed, hash_port;

	struct rs_event begun; /* a record whose words are in the next line */
	struct alarm alarm[WAITS];
	unsigned waits;

	char wide[TEXT]; /* the line with its indentation */
	struct rs_line line;
};

/* ---- Words ---- */

static size_t digits(const char *p)
{
	return strspn(p, "0123456789");
}

bool rs_grid_port(const char *word, bool bare)
{
	static const char *const named[] = {"Ethernet", "Eth",          "Et",           "swp",
					    "Po",       "PortChannel",  "ae",           "Eth-Trunk",
					    "ethernet", "port-channel", "Bundle-Ether", "lag"};
	size_t n = strlen(word), slashes = 0, p = 0;
	const char *slash = strchr(word, '/');

	if (!n || n >= 40)
		return false;
	if (!slash) {
		for (unsigned i = 0; i < sizeof(named) / sizeof(*named); i++) {
			size_t k = strlen(named[i]), d;

			if (strncmp(word, named[i], k) || !(d = digits(word + k)))
				continue;
			p = k + d;
			return !word[p] || (word[p] == 's' && digits(word + p + 1) &&
					    !word[p + 1 + digits(word + p + 1)]);
		}
		return false;
	}
	/* "400GE1/0/1", "et-0/0/1", "HundredGigE0/0/0/1", "1/1/1" */
	while (&word[p] < slash && (isalnum((unsigned char)word[p]) || word[p] == '-'))
		p++;
	if (&word[p] != slash || !p || !isdigit((unsigned char)slash[-1]))
		return false;
	for (p = (size_t)(slash - word); word[p]; p++) {
		if (word[p] == '/') {
			slashes++;
			if (!digits(&word[p + 1]) || digits(&word[p + 1]) > 3)
				return false;
		} else if (!isdigit((unsigned char)word[p]) && word[p] != ':' && word[p] != '.') {
			return false;
		}
	}
	if (isdigit((unsigned char)*word) && !strpbrk(word, "GE"))
		return bare && slashes == 2;
	return isalpha((unsigned char)*word) || strpbrk(word, "GE");
}

static bool is_address(const char *w)
{
	unsigned parts = 0;

	if (strchr(w, ':') && strspn(w, "0123456789abcdefABCDEF:") == strlen(w))
		return true;
	for (; isdigit((unsigned char)*w); w += *w == '.') {
		w += digits(w);
		parts++;
		if (*w && *w != '.')
			return false;
	}
	return !*w && parts == 4;
}

/* "Ethernet 1/1/7", "Eth 1/1/1", "FourHundredGigabitEthernet 0/1": how many words the port at the
 * text's start is; 0: none. Its name goes to out without the blank. */
static size_t port_at(const char *text, bool bare, char *out, size_t size)
{
	size_t n = strcspn(text, " \t,|("), m;
	char word[NAME];

	while (n && strchr(":;", text[n - 1]))
		n--;
	snprintf(word, sizeof(word), "%.*s", (int)(n < NAME ? n : NAME - 1), text);
	if (rs_grid_port(word, bare)) {
		snprintf(out, size, "%s", word);
		return n;
	}
	if (text[n] != ' ' || !isdigit((unsigned char)text[n + 1]) || n > 30 ||
	    !strncasecmp(word, "port", 5) || !(strcasestr(word, "eth") || strcasestr(word, "gig")))
		return 0;
	m = strcspn(text + n + 1, " \t,|(");
	while (m && strchr(":;", text[n + m]))
		m--;
	snprintf(word + n, sizeof(word) - n, "%.*s", (int)(m < 40 ? m : 40), text + n + 1);
	if (!strchr(word, '/') || !rs_grid_port(word, false))
		return 0;
	snprintf(out, size, "%s", word);
	return n + 1 + m;
}

/* ---- What was judged ---- */

uint32_t rs_grid_say(struct rs_audit *a, const struct rs_input *in, uint32_t line, const char *text,
		     const char *key, const char *entry)
{
	const struct rs_message *m;
	uint32_t row = 0;

	while ((m = rs_message_row(row)) && strcmp(m->key, key))
		row++;
	if (!m || !rs_message_room(a, row))
		return 0;
	rs_input_add(a, in, line, NULL, "message", key, "%.*s", KEPT, text);
	if (m->check && entry && *entry)
		rs_input_add(a, in, line, NULL, "message_device", key, "%s", entry);
	return 1;
}

static void say(struct grid *g, uint32_t line, const char *text, const char *key, const char *entry)
{
	if (!key || (g->told_key && g->told_line == line && !strcmp(g->told_key, key)))
		return;
	g->told_key = key;
	g->told_line = line;
	g->facts += rs_grid_say(g->a, g->in, line, text, key, entry);
}

/* "UC-Queue 0", "UC0", "TC_0": a line of the queue or class 0. */
static bool of_class_0(const char *text)
{
	static const char *const names[] = {"queue", "uc", "tc", "pg"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *p = strcasestr(text, names[i]);

		if (!p || (p > text && isalnum((unsigned char)p[-1])))
			continue;
		p += strlen(names[i]);
		p += strspn(p, " -_");
		if (*p == '0' && !isdigit((unsigned char)p[1]))
			return true;
	}
	return false;
}

static void tell(struct grid *g, const char *key)
{
	if (key && !strcmp(key, "drops-counted") && of_class_0(g->line.text))
		key = "drops-few";
	if (g->on)
		say(g, g->line.number, g->line.text, key, g->entry);
}

/* The context of names: command, head of the table, section, path of braces. */
static void context(struct grid *g)
{
	size_t n = (size_t)snprintf(g->context, sizeof(g->context), "%s%s%s%s", g->command,
				    g->section, g->fast ? " fast " : "", g->quick ? " quick " : "");

	for (unsigned i = 0; i < g->depth && n < sizeof(g->context); i++)
		n += (size_t)snprintf(g->context + n, sizeof(g->context) - n, "%s", g->path[i]);
	for (unsigned i = 0; i < g->columns && n < sizeof(g->context); i++)
		n += (size_t)snprintf(g->context + n, sizeof(g->context) - n, "%s",
				      g->column[i].name);
}

bool rs_grid_aside(const char *port)
{
	static const char *const names[] = {"mgmt", "Management", "Ma",   "eth0", "lo",
					    "Lo",   "Vlan",       "vlan", "Null", "nve",
					    "fc",   "Aux",        "MEth", "NULL"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(port, names[i], strlen(names[i])))
			return true;
	return false;
}

/* One value with its name, by itself. */
static void judge(struct grid *g, const char *name, const char *value)
{
	char plain[RS_TERM_NAME];
	struct rs_terms t;
	const char *key;
	double n;

	/* "Link: ADM - administratively down": a legend */
	if (!g->on || strstr(value, " - "))
		return;
	rs_term_plain(name, plain, sizeof(plain));
	if (rs_term_in("packets|pkts", plain) &&
	    !rs_term_in("drop|err|discard|crc|pause|mark", plain) && rs_term_number(value, &n) &&
	    n > g->frames)
		g->frames = n;
	t = rs_terms_of(plain, g->context);
	key = rs_term_judge(&t, value, g->frames);
	/* "BGP VRF x, state: Active", "BGP table state: Active" are no session's */
	if (key && ((!strcmp(key, "bgp-down") && strstr(g->line.text, "VRF")) ||
		    (!strcmp(key, "port-up") && !strcmp(plain, " state ")) ||
		    (!strncmp(key, "port-", 5) && rs_grid_aside(g->line.text))))
		return;
	tell(g, key);
}

/* ---- Cells ---- */

/* Cells of the wide line: parted by two blanks, tabs or bars; by one blank where `narrow`. */
static unsigned cells(char *t, struct cell *out, bool narrow)
{
	unsigned n = 0;
	char *p = t;

	while (*p && n < COLUMNS) {
		size_t k = 0;

		p += strspn(p, " \t|");
		if (!*p)
			break;
		while (p[k] && p[k] != '\t' && p[k] != '|' &&
		       !(p[k] == ' ' &&
			 (narrow || p[k + 1] == ' ' || p[k + 1] == '|' || !p[k + 1])))
			k++;
		out[n].from = (unsigned)(p - t);
		out[n].to = out[n].from + (unsigned)k;
		out[n++].text = p;
		p += k;
	}
	for (unsigned i = 0; i < n; i++)
		t[out[i].to] = '\0';
	return n;
}

/* A rule: how many runs of dashes; 0: none. Columns are where they are. */
static unsigned rule(const char *t, struct cell *out)
{
	unsigned n = 0, marks = 0;

	if (strspn(t, " \t-=+|:") != strlen(t))
		return 0;
	for (const char *p = t; *p && n < COLUMNS;) {
		size_t k = strspn(p, "-=");

		marks += (unsigned)k;
		if (k) {
			out[n].from = (unsigned)(p - t);
			out[n++].to = (unsigned)(p - t) + (unsigned)k;
			p += k;
		}
		p += strcspn(p, "-=");
	}
	return marks >= 3 ? n : 0;
}

static enum role role_of(const char *name)
{
	static const struct {
		const char *is;
		enum role role;
	} roles[] = {
		{"admin|enabled", ADMIN},
		{" speed | bw ", SPEED},
		{" mtu ", MTU},
		{" fec ", FEC},
		{"operational", OPERATIONAL},
		{" applied ", APPLIED},
		{"local value|localvalue", LOCAL},
		{"peer value|peervalue", PEER},
		{"rx ok|tx ok|packets|pkts|total frames|passed", FRAMES},
	};

	for (unsigned i = 0; i < sizeof(roles) / sizeof(*roles); i++)
		if (rs_term_in(roles[i].is, name) &&
		    !rs_term_in("drop|err|discard|bytes|mode|oper st|pps|rate|admin fec|duplex",
				name))
			return roles[i].role;
	return PLAIN;
}

/* What a head's lines say above a column, up to the next one's start. */
static void name_column(struct grid *g, struct column *c, unsigned from, unsigned to)
{
	char text[RS_TERM_NAME * 2] = "", *both;
	size_t n = 0;

	for (unsigned h = 0; h < g->heads; h++) {
		const char *t = g->head[h];
		size_t size = strlen(t);
		unsigned a = from, b = to;

		/* words are not cut: a name may stick out to the left */
		while (a && a < size && t[a] != ' ' && t[a - 1] != ' ')
			a--;
		while (b && b < size && t[b] != ' ' && t[b - 1] != ' ')
			b--;
		if (a < size && b > a && n < sizeof(text))
			n += (size_t)snprintf(text + n, sizeof(text) - n, " %.*s",
					      (int)((b < size ? b : size) - a), t + a);
	}
	rs_term_plain(text, c->name, sizeof(c->name));
	/* "(Packets/Bytes)": the first line of a row has the packets */
	if ((both = strstr(c->name, " packets bytes ")))
		memmove(both + 9, both + 15 - 1, strlen(both + 15 - 1) + 1);
}

static void name_columns(struct grid *g, const struct cell *at, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct column *c = &g->column[i];

		c->from = at[i].from;
		c->to = at[i].to;
		name_column(g, c, i ? c->from : 0, i + 1 < n ? at[i + 1].from : TEXT);
		c->role = role_of(c->name);
	}
	g->columns = n;
	context(g);
	for (unsigned i = 0; i < n; i++)
		g->column[i].terms = rs_terms_of(g->column[i].name, g->context);
}

/* A table begins: columns by a rule's runs, or by the words of its longest line of the head. */
static void open_table(struct grid *g, struct cell *at, unsigned n)
{
	char copy[TEXT];
	unsigned most = 0;
	struct cell found[COLUMNS];

	for (unsigned h = 0; h < g->heads; h++) {
		unsigned k;

		snprintf(copy, sizeof(copy), "%s", g->head[h]);
		if ((k = cells(copy, found, false)) < most || !k)
			continue;
		most = k;
		memcpy(g->titles, g->head[h], sizeof(g->titles));
		if (n < 2)
			memcpy(at, found, sizeof(found));
	}
	n = n < 2 ? most : n;
	if (n < 2)
		return;
	g->rows = 0;
	g->mtu_most = 0;
	*g->small = '\0';
	name_columns(g, at, n);
}

static void close_rows(struct grid *g)
{
	if (g->columns && !g->rows && rs_term_in("pfcwd config|detection time", g->context))
		say(g, g->line.number, g->head[g->heads ? g->heads - 1 : 0], "watchdog-off", NULL);
	if (g->columns && *g->small && g->mtu_most >= 4000 && !strcmp(g->mtu_speed, g->small_speed))
		say(g, g->small_line, g->small_text, "mtu-small", g->small);
	g->columns = 0;
	*g->small = '\0';
	g->ruled = false;
}

static void close_table(struct grid *g)
{
	close_rows(g);
	g->heads = 0;
	context(g);
}

/* ---- Rows ---- */

/* "routed down", of two columns: parted where the second one begins. */
static unsigned part(const struct grid *g, char *text, struct cell *c, unsigned n)
{
	for (unsigned i = 0; i < n && n < COLUMNS; i++)
		for (unsigned k = 1; k < g->columns; k++) {
			unsigned at = g->column[k].from;

			if (at <= c[i].from + 1 || at >= c[i].to || text[at - 1] != ' ' ||
			    n == COLUMNS)
				continue;
			memmove(&c[i + 1], &c[i], (n - i) * sizeof(*c));
			n++;
			text[at - 1] = '\0';
			c[i].to = at - 1;
			c[i + 1].from = at;
			c[i + 1].text = text + at;
			break;
		}
	return n;
}

/* Cells beside the columns that they stand under: by their number, or by their place. */
static void place(const struct grid *g, struct cell *c, unsigned n, char **out)
{
	for (unsigned i = 0; i < g->columns; i++)
		out[i] = n == g->columns ? c[i].text : NULL;
	for (unsigned i = 0; n != g->columns && i < n; i++) {
		unsigned best = 0, most = 0;

		for (unsigned k = 0; k < g->columns; k++) {
			unsigned from = g->column[k].from, to = g->column[k].to;
			unsigned a = c[i].from > from ? c[i].from : from;
			unsigned b = c[i].to < to ? c[i].to : to;
			unsigned over = b > a ? b - a : 0;

			if (over > most) {
				most = over;
				best = k;
			}
		}
		if (most && !out[best])
			out[best] = c[i].text;
	}
}

static const char *in_role(const struct grid *g, char *const *value, enum role role)
{
	for (unsigned i = 0; i < g->columns; i++)
		if (g->column[i].role == role && value[i])
			return value[i];
	return NULL;
}

static bool one_of(const char *value, const char *words)
{
	char plain[64];

	rs_term_plain(value, plain, sizeof(plain));
	return rs_term_in(words, plain);
}

/* What a row says by two of its columns. */
static void row_pairs(struct grid *g, char *const *value)
{
	static const char *const switched = " on | off | enable | disable | enabled | disabled |"
					    " up | down | lossy | lossless ";
	const char *a = in_role(g, value, OPERATIONAL), *b = in_role(g, value, APPLIED);
	const char *fec = in_role(g, value, FEC), *speed = in_role(g, value, SPEED);
	double mbps = 0;

	if (a && b && one_of(a, switched) && one_of(b, switched) && strcasecmp(a, b) &&
	    !(one_of(a, " on | enable") && one_of(b, " on | enable")) &&
	    !(one_of(a, " off | disable") && one_of(b, " off | disable")))
		tell(g, "nv-not-applied");
	a = in_role(g, value, LOCAL);
	b = in_role(g, value, PEER);
	if (a && b && strcmp(a, b) && one_of(value[0], "qos|mtu|pause|pfc|ecn|speed|mode"))
		tell(g, "mlag-differs");
	if (fec && speed && one_of(fec, " none | off | disabled ") &&
	    rs_term_number(speed, &mbps) &&
	    (strstr(speed, "400G") || strstr(speed, "200G") || strstr(speed, "800G")))
		tell(g, "fec-none");
}

static void row_mtu(struct grid *g, char *const *value)
{
	const char *mtu = in_role(g, value, MTU), *speed = in_role(g, value, SPEED);
	double n;

	if (!mtu || !rs_term_number(mtu, &n))
		return;
	speed = speed ? speed : "";
	if (n > g->mtu_most) {
		g->mtu_most = n;
		snprintf(g->mtu_speed, sizeof(g->mtu_speed), "%s", speed);
	}
	if (n < 2000 && !*g->small && rs_grid_port(g->entry, true)) {
		snprintf(g->small, sizeof(g->small), "%s", g->entry);
		snprintf(g->small_text, sizeof(g->small_text), "%.*s", KEPT - 1, g->line.text);
		snprintf(g->small_speed, sizeof(g->small_speed), "%s", speed);
		g->small_line = g->line.number;
	}
}

/* "-14.39  --": the value is beyond its alarm, says the legend. */
static void row_marks(struct grid *g, const struct cell *c, unsigned n)
{
	double v;

	if (!rs_term_in("high alarm|transceiv|rx power", g->context))
		return;
	for (unsigned i = 1; i < n; i++)
		if ((!strcmp(c[i].text, "--") || !strcmp(c[i].text, "++")) &&
		    rs_term_number(c[i - 1].text, &v))
			tell(g, "optics-alarm");
}

/* "108  105": a temperature beyond the limit that stands beside it. */
static void row_limits(struct grid *g, char *const *value)
{
	double now = -1, limit = -1, n;

	if (!rs_term_in("temperature|celsius|sensor", g->context))
		return;
	for (unsigned i = 0; i < g->columns; i++) {
		const char *name = g->column[i].name;

		if (!value[i] || !rs_term_number(value[i], &n) || n <= 0)
			continue;
		if (rs_term_in("high|thresh|crit|max|limit|major|shutdown|alarm|upper", name)) {
			if (!rs_term_in(" low|minor|warn", name) && (limit < 0 || n < limit))
				limit = n;
		} else if (rs_term_in("temp|current|measure|reading|value", name)) {
			now = n;
		}
	}
	if (limit > 0 && now >= limit)
		tell(g, rs_term_in("transceiv|optic|module", g->context) ? "optics-alarm"
									 : "switch-hardware");
}

static double row_frames(const struct grid *g, char *const *value)
{
	double n, most = -1;

	for (unsigned i = 0; i < g->columns; i++)
		if (g->column[i].role == FRAMES && value[i] && rs_term_number(value[i], &n) &&
		    n > most)
			most = n;
	return most;
}

/* Queue, class or group 0: best effort by each vendor's default, which drops by right. */
static bool best_effort(const struct grid *g, char *const *value)
{
	for (unsigned i = 0; i < g->columns; i++) {
		const char *v = value[i];
		size_t n;

		if (!v ||
		    !rs_term_in("queue|txq| tc |traffic class|qos group|priority group| voq | cos "
				"| pg ",
				g->column[i].name) ||
		    rs_term_in("drop|pkts|packet|byte", g->column[i].name))
			continue;
		n = strcspn(v, "0123456789");
		return v[n] == '0' && !v[n + 1];
	}
	return false;
}

/* A row of ports, peers or queues: columns have the names. */
/* What a value means in its row: of a port that is meant to be off, of a queue that may drop, of
 * one priority among eight. */
static const char *of_row(const struct grid *g, const char *key, bool off, bool lossy, bool port)
{
	bool link = key && !strncmp(key, "port-", 5);

	if (link && (rs_grid_aside(g->entry) || rs_term_in(" pfc |priority flow", g->context)))
		return NULL;
	if (link && off)
		return "port-disabled";
	if (key && off && !strcmp(key, "pfc-port-inactive"))
		return "pfc-port-off";
	if (key && !port && !strcmp(key, "pfc-port-off"))
		return "pfc-none";
	return key && lossy && !strcmp(key, "drops-counted") ? "drops-few" : key;
}

static void row_values(struct grid *g, char *const *value, bool port)
{
	const char *admin = in_role(g, value, ADMIN);
	bool off = admin && one_of(admin, " down | disable| no | off | false | adm");
	double frames = row_frames(g, value);
	bool lossy = best_effort(g, value);

	for (unsigned i = 1; i < g->columns; i++) {
		const char *key;

		if (!value[i] || g->column[i].role == ADMIN)
			continue;
		key = rs_term_judge(&g->column[i].terms, value[i], frames);
		tell(g, of_row(g, key, off, lossy, port));
	}
}

/* A row whose first cell is a key: it is a part of the values' name. */
static void row_keys(struct grid *g, char *const *value)
{
	char name[RS_TERM_NAME * 2];
	bool both = in_role(g, value, OPERATIONAL) != NULL;

	for (unsigned i = 1; i < g->columns; i++) {
		if (!value[i] || (both && g->column[i].role == APPLIED) ||
		    rs_term_in("descr", g->column[i].name))
			continue;
		snprintf(name, sizeof(name), "%s %s", value[0],
			 g->column[i].role == OPERATIONAL || g->column[i].role == APPLIED
				 ? ""
				 : g->column[i].name);
		judge(g, name, value[i]);
	}
}

static void hash_field(struct grid *g, const char *text)
{
	if (!rs_term_in("hash field|hash", g->context))
		return;
	if (strcasestr(text, "SRC_IP")) {
		g->hashed = true;
		g->hash_line = g->line.number;
	}
	g->hash_port |= strcasestr(text, "L4_SRC_PORT") != NULL;
}

/* Columns and cells that one blank parts: where the counts do not agree, words may. */
static unsigned by_words(struct grid *g, char *copy, struct cell *c, unsigned n)
{
	char words[TEXT], titles[TEXT];
	struct cell w[COLUMNS], at[COLUMNS];
	unsigned m, k;

	if (n == g->columns)
		return n;
	snprintf(words, sizeof(words), "%s", g->wide);
	snprintf(titles, sizeof(titles), "%s", g->titles);
	m = cells(words, w, true);
	k = cells(titles, at, true);
	if (k > 2 && (k == n || k == m))
		name_columns(g, at, k);
	if (m != g->columns)
		return part(g, copy, c, n);
	memcpy(copy, words, sizeof(words));
	for (unsigned i = 0; i < m; i++)
		w[i].text = copy + w[i].from;
	memcpy(c, w, sizeof(w));
	return m;
}

/* "Q3   991233   812": a name and numbers */
static bool counted(const struct cell *c, unsigned n)
{
	double v;

	for (unsigned i = 1; i < n; i++)
		if (!rs_term_number(c[i].text, &v))
			return false;
	return n > 2;
}

/* A session's row by its words: where columns are not in line, its state is still a word. */
static void row_session(struct grid *g)
{
	static const char *const states[] = {"Idle", "Active", "Connect", "OpenSent",
					     "OpenConfirm"};
	char copy[TEXT], *w[COLUMNS];
	unsigned n;

	if (!rs_term_in("bgp", g->context))
		return;
	snprintf(copy, sizeof(copy), "%s", g->wide);
	n = rs_line_words(copy, w, COLUMNS);
	for (unsigned i = 2; i < n; i++)
		for (unsigned k = 0; k < sizeof(states) / sizeof(*states); k++)
			if (!strcasecmp(w[i], states[k]) &&
			    !(i + 1 < n && strstr(w[i + 1], "dmin")))
				tell(g, "bgp-down");
}

/* True: the line is a row of the table at hand. */
static bool row(struct grid *g)
{
	char copy[TEXT], *value[COLUMNS], port[NAME];
	struct cell c[COLUMNS];
	unsigned n;
	bool entry;

	snprintf(copy, sizeof(copy), "%s", g->wide);
	n = cells(copy, c, false);
	if (n < 2)
		return false;
	entry = port_at(c[0].text, g->shown, port, sizeof(port)) || is_address(c[0].text);
	if (!entry && is_address(c[1].text)) {
		c[0] = c[1];
		entry = true;
	}
	if (!entry && !g->ruled &&
	    !(g->shown && (isdigit((unsigned char)*c[0].text) || counted(c, n))))
		return false;
	n = by_words(g, copy, c, n);
	/* a stamp at a line's start was taken for a log's */
	if (n + 1 == g->columns && rs_term_in(" date | time ", g->column[0].name)) {
		memmove(&c[1], &c[0], n * sizeof(*c));
		n++;
	}
	place(g, c, n, value);
	if (!value[0])
		value[0] = c[0].text;
	g->rows++;
	if (entry)
		snprintf(g->entry, sizeof(g->entry), "%s",
			 is_address(c[0].text) ? c[0].text : port);
	row_pairs(g, value);
	row_limits(g, value);
	if (is_address(g->entry) && entry)
		row_session(g);
	if (entry || isdigit((unsigned char)*c[0].text)) {
		row_values(g, value, entry);
		row_mtu(g, value);
		row_marks(g, c, n);
	} else {
		row_keys(g, value);
	}
	return true;
}

/* ---- Members of bundles ---- */

/* "Po10", "port-channel22", "PortChannel0001" somewhere in the line */
static bool is_bundle(const char *text)
{
	for (const char *p = text; (p = strcasestr(p, "po")); p++) {
		size_t n = 2;

		if (!strncasecmp(p, "port-channel", 12) || !strncasecmp(p, "portchannel", 11))
			n = p[4] == '-' ? 12 : 11;
		if (isdigit((unsigned char)p[n]) && (p == text || strchr(" \t", p[-1])))
			return true;
	}
	return false;
}

/* "Po10(SU)", "Et8(s-)", "PortChannel0001 LACP(A)(Dw)", "Ethernet108(D)", "1/1/20(D)" */
static void members(struct grid *g)
{
	size_t size = strlen(g->line.text);
	char *open = strchr(g->line.text, '(');
	bool selected = strstr(g->line.text, "PortChannel") || strstr(g->line.text, "LACP(A)");

	/* a bundle without members is not in use by right */
	if (size > 3 && !strcmp(g->line.text + size - 3, " --"))
		return;
	if (!is_bundle(g->line.text) && rs_term_in("vlan", g->context))
		return;
	if (!is_bundle(g->line.text) &&
	    !rs_term_in("lacp|port channel|aggregat|bundle|member port|team dev", g->context))
		return;

	for (; open; open = strchr(open + 1, '(')) {
		char word[NAME], flags[16], *w = open;
		size_t n = strcspn(open + 1, ")");
		bool po;

		while (w > g->line.text && !strchr(" \t,", w[-1]))
			w--;
		if (n > 5 || !n || open[n + 1] != ')' || w == open)
			continue;
		snprintf(word, sizeof(word), "%.*s", (int)(open - w), w);
		snprintf(flags, sizeof(flags), "%.*s", (int)n, open + 1);
		po = !strncasecmp(word, "po", 2) || !strncmp(word, "LACP(A)", 7);
		if (!po && !rs_grid_port(word, true))
			continue;
		if (!po)
			snprintf(g->entry, sizeof(g->entry), "%s", word);
		if (po ? strchr(flags, 'D') && strcmp(flags, "ID")
		       : strpbrk(flags, "DIsrw") || (!selected && !strcmp(flags, "S") &&
						     !rs_term_in("selected", g->section)))
			tell(g, "lag-member");
	}
}

/* ---- Pairs and counts ---- */

/* "912331 CRC", "0 output errors", "8812331233 packets input" */
static void count(struct grid *g, char *chunk)
{
	size_t n = strcspn(chunk, " ");
	double v;

	if (!isdigit((unsigned char)*chunk) || !chunk[n])
		return;
	chunk[n] = '\0';
	if (rs_term_number(chunk, &v) && strcspn(chunk + n + 1, "0123456789") > 2)
		judge(g, chunk + n + 1, chunk);
}

/* "FEC is off", "qos trust none" */
static bool said(char *text, char **key, char **value)
{
	static const char *const before[] = {"Current FEC", "FEC", "qos trust", "Auto-negotiation"};

	for (unsigned i = 0; i < sizeof(before) / sizeof(*before); i++) {
		size_t n = strlen(before[i]);

		if (strncmp(text, before[i], n) || text[n] != ' ')
			continue;
		text[n] = '\0';
		*key = text;
		*value = text + n + 1 + (strncmp(text + n + 1, "is ", 3) ? 0 : 3);
		return true;
	}
	return false;
}

/* "Errors: 0, Drops: 912331", "a : b", "0 runts, 12 CRC": the line in pieces. */
static void pieces(struct grid *g)
{
	char copy[TEXT], *p = copy, *key, *value;

	snprintf(copy, sizeof(copy), "%.*s", TEXT - 1, g->line.text);
	while (*p) {
		char *end = p, *next;

		/* a comma, or blanks before a word with a colon or another count */
		while (*end && *end != ';' && *end != '|' && !(*end == ',' && end[1] == ' ') &&
		       !(*end == ',' && !end[1]) &&
		       !(end > p && end[0] == ' ' && end[1] == ' ' && isdigit((unsigned char)*p) &&
			 isdigit((unsigned char)end[strspn(end, " ")])))
			end++;
		next = *end ? end + 1 : end;
		*end = '\0';
		p += strspn(p, " \t");
		/* " 20.   FEC_Uncorrected = 12": its number in the list */
		if (isdigit((unsigned char)*p) && p[digits(p)] == '.' && p[digits(p) + 1] == ' ')
			p += digits(p) + 1 + strspn(p + digits(p) + 1, " ");
		if (isdigit((unsigned char)*p) && strchr(p, ' ') && !strchr(p, ':') &&
		    !strchr(p, '=')) {
			p[strcspn(p, ":")] = '\0';
			count(g, p);
		} else if ((strchr(p, ':') && rs_line_pair(p, ':', &key, &value)) ||
			   (strchr(p, '=') && rs_line_pair(p, '=', &key, &value)) ||
			   said(p, &key, &value)) {
			judge(g, key, value);
			/* "Input: 912331 input errors" */
			if (isdigit((unsigned char)*value))
				count(g, value);
		}
		p = next;
	}
}

/* "Hi Priority Drop Pkts          812" */
static bool spaced(struct grid *g)
{
	char copy[TEXT];
	struct cell c[COLUMNS];
	double v;

	snprintf(copy, sizeof(copy), "%s", g->wide);
	if (cells(copy, c, false) != 2 || !rs_term_number(c[1].text, &v) ||
	    isdigit((unsigned char)*c[0].text) || strchr(c[0].text, ':'))
		return false;
	judge(g, c[0].text, c[1].text);
	return true;
}

/* "Rx Optical Power (avg dBm) -24.81  5.00  4.00": a name that ends in its unit, and its value. */
static bool measured(struct grid *g)
{
	char copy[TEXT], *end;
	double v;

	snprintf(copy, sizeof(copy), "%.*s", TEXT - 1, g->line.text);
	end = strchr(copy, ')');
	if (!end || strchr(copy, ':') || !strchr(copy, '(') || end[1] != ' ')
		return false;
	end += 1 + strspn(end + 1, " ");
	end[-1] = '\0';
	end[strcspn(end, " ")] = '\0';
	if (!isalpha((unsigned char)*copy) || !rs_term_number(end, &v))
		return false;
	judge(g, copy, end);
	return true;
}

/* "Total Dropped Packets..................... 0" */
static bool dotted(struct grid *g)
{
	char copy[TEXT], *dots;

	snprintf(copy, sizeof(copy), "%.*s", TEXT - 1, g->line.text);
	dots = strstr(copy, "....");
	if (!dots)
		return false;
	*dots = '\0';
	dots += 1 + strspn(dots + 1, ".");
	judge(g, copy, dots + strspn(dots, " "));
	return true;
}

/* ---- Trees ---- */

static bool tree(struct grid *g)
{
	char copy[TEXT], *value;
	size_t n = strlen(g->line.text);

	if (!g->tree || !n)
		return false;
	snprintf(copy, sizeof(copy), "%.*s", TEXT - 1, g->line.text);
	n = strlen(copy);
	if (copy[0] == '}') {
		g->depth -= g->depth > 0;
		context(g);
		return true;
	}
	if (copy[n - 1] == '{') {
		copy[n - 1] = '\0';
		value = strchr(copy, ' ');
		if (value && port_at(value + 1, true, g->entry, sizeof(g->entry)))
			g->frames = -1;
		if (g->depth < DEPTH)
			rs_term_plain(copy, g->path[g->depth++], NAME);
		context(g);
		return true;
	}
	value = strchr(copy, ' ');
	if (!value)
		return false;
	*value++ = '\0';
	judge(g, copy, value);
	return true;
}

/* ---- Headings ---- */

/* "Ethernet1/1 is down", "Interface 1/1/7 is up", "Physical interface: et-0/0/1, ...", "Eth1/5:",
 * a port alone. True: nothing else is on the line. */
static bool heading(struct grid *g)
{
	static const char *const before[] = {"Interface ",
					     "Physical interface: ",
					     "Interface: ",
					     "Interface : ",
					     "Interface Name = ",
					     "Interface Name    =   ",
					     "PHY data for interface: ",
					     "Transceiver in ",
					     "Operational data for interface ",
					     "Statistics for interface "};
	const char *t = g->line.text;
	char port[NAME];
	size_t n = 0;

	for (unsigned i = 0; i < sizeof(before) / sizeof(*before); i++)
		if (!strncasecmp(t, before[i], strlen(before[i])))
			n = strlen(before[i]);
	t += n;
	t += strspn(t, " ");
	n = port_at(t, n || g->shown, port, sizeof(port));
	if (!n)
		return false;
	t += n;
	if (*t && strncmp(t, " is ", 4) && strncmp(t, ", ", 2) && *t != ':' &&
	    strncmp(t, " current", 8) && strncmp(t, " transceiver", 12) && strncmp(t, " (", 2))
		return false;
	close_table(g);
	snprintf(g->entry, sizeof(g->entry), "%s", port);
	*g->section = '\0';
	g->frames = -1;
	g->on = true;
	context(g);
	if (strcasestr(t, "administratively down"))
		tell(g, "port-disabled");
	else if (!strncmp(t, " is down", 8))
		tell(g, "port-down");
	else if (!strncmp(t, " is up", 6))
		tell(g, "port-up");
	return !strchr(t, ',') || !strncmp(t, " is ", 4);
}

/* "Detected Alarms:", "Rx", "TC 3:": what the lines below belong to. */
static bool section(struct grid *g)
{
	size_t n = strlen(g->line.text);

	if (n < 2 || n > 60 || g->line.text[n - 1] != ':' || strchr(g->line.text, ','))
		return false;
	rs_term_plain(g->line.text, g->section, sizeof(g->section));
	context(g);
	return true;
}

/* Lines without a key, below a heading that tells what they are. */
static void listed(struct grid *g)
{
	char plain[RS_TERM_NAME];

	if (strchr(g->line.text, ':'))
		return;
	rs_term_plain(g->line.text, plain, sizeof(plain));
	if ((rs_term_in("alarm| los ", g->section) ||
	     rs_term_in("transceiver alarm", g->command)) &&
	    !rs_term_in("statist|thresh|descr|previous", g->section) &&
	    rs_term_in("loss of signal| los | rx los |power low|power high|pwr| fault ", plain) &&
	    !strchr(g->line.text, '='))
		tell(g, "optics-alarm");
	if (rs_term_in("mismatch", g->section) &&
	    rs_term_in(" qos | vlt | vlan | mtu | unit ", g->section) &&
	    !rs_term_in("no mismatch", plain))
		tell(g, "mlag-differs");
}

/* ---- Logs ---- */

/* What a record is of: a port, an address, or its first number. */
static void thing(const char *text, char *out, size_t size)
{
	char copy[TEXT], *w[COLUMNS * 2], port[NAME];
	const char *number = "";
	unsigned n;

	snprintf(copy, sizeof(copy), "%s", text);
	for (char *p = copy; *p; p++)
		if (strchr("(),=;", *p) || (*p == ':' && (!p[1] || p[1] == ' ')))
			*p = ' ';
	n = rs_line_words(copy, w, COLUMNS * 2);
	*out = '\0';
	for (unsigned i = 0; i < n; i++) {
		size_t k = strlen(w[i]);

		if (k && w[i][k - 1] == '.')
			w[i][k - 1] = '\0';
		if (rs_grid_port(w[i], false))
			snprintf(port, sizeof(port), "%s", w[i]);
		else if (!is_address(w[i])) {
			if (!*number && digits(w[i]) && digits(w[i]) == strlen(w[i]))
				number = w[i];
			continue;
		}
		snprintf(out, size, "%s", w[i]);
		return;
	}
	snprintf(out, size, "%s", number);
}

/* Keeps a fault until it is known whether the log tells its end. */
static bool wait_for_end(struct grid *g, const char *key)
{
	struct alarm *w = g->waits < WAITS ? &g->alarm[g->waits] : NULL;

	if (!w || !rs_event_over(key))
		return false;
	w->key = key;
	w->line = g->line.number;
	w->over = false;
	snprintf(w->text, sizeof(w->text), "%s", g->line.text);
	thing(g->line.text, w->of, sizeof(w->of));
	g->waits++;
	return true;
}

static void end_alarms(struct grid *g, const struct rs_event *e)
{
	char of[NAME];

	thing(g->line.text, of, sizeof(of));
	for (unsigned i = 0; i < g->waits; i++)
		if (!strcmp(g->alarm[i].of, of) && rs_event_ends(e, g->alarm[i].key))
			g->alarm[i].over = true;
}

/* A fault that came once and ended is told as that; one that comes again is a fault. */
static void tell_alarms(struct grid *g)
{
	for (unsigned i = 0; i < g->waits; i++) {
		const struct alarm *w = &g->alarm[i];
		unsigned times = 0;

		for (unsigned k = 0; k < g->waits; k++)
			times += !strcmp(g->alarm[k].key, w->key) && !strcmp(g->alarm[k].of, w->of);
		say(g, w->line, w->text, w->over && times == 1 ? rs_event_over(w->key) : w->key,
		    NULL);
	}
}

static void logged(struct grid *g)
{
	struct rs_event e = g->begun;
	const char *key;

	if (e.more && *g->line.text == '"')
		rs_event_join(&e, g->line.text);
	else if (!rs_event_parse(g->line.text, &e))
		return;
	g->begun = e;
	if (e.more)
		return;
	key = rs_event_key(&e);
	if (!key)
		end_alarms(g, &e);
	else if (!wait_for_end(g, key))
		say(g, g->line.number, g->line.text, key, NULL);
}

/* ---- Lines ---- */

static void blank(struct grid *g)
{
	if (g->rows)
		close_table(g);
	else if (!g->columns)
		g->heads = 0;
	g->fresh &= g->heads > 0;
}

static void keep_head(struct grid *g)
{
	if (!g->fresh)
		g->heads = 0;
	g->fresh = true;
	if (g->heads == HEADS) {
		memmove(g->head[0], g->head[1], sizeof(g->head[0]) * (HEADS - 1));
		g->heads--;
	}
	snprintf(g->head[g->heads++], TEXT, "%s", g->wide);
}

/* A line that may name columns: two cells, and no count or value among them. */
static bool may_head(const struct grid *g)
{
	char copy[TEXT];
	struct cell c[COLUMNS];
	unsigned n;

	snprintf(copy, sizeof(copy), "%s", g->wide);
	n = cells(copy, c, false);
	for (unsigned i = 0; i < n; i++)
		if (isdigit((unsigned char)*c[i].text) || strstr(c[i].text, ": ") ||
		    strstr(c[i].text, " - "))
			return false;
	return n > 0;
}

/* The line before this row names three columns or more: another table's. */
static bool wide_head(const struct grid *g)
{
	char copy[TEXT];
	struct cell c[COLUMNS];

	snprintf(copy, sizeof(copy), "%s", g->head[g->heads - 1]);
	return cells(copy, c, false) > 2;
}

static void widen(struct grid *g)
{
	unsigned at = g->line.indent < TEXT / 2 ? g->line.indent : TEXT / 2;

	memset(g->wide, ' ', at);
	snprintf(g->wide + at, TEXT - at, "%s", g->line.text);
	for (char *p = g->wide; *p; p++)
		if (*p == '\t')
			*p = ' ';
}

/* A rule below a head begins a table; one below rows is another part of it. */
static bool ruling(struct grid *g)
{
	struct cell at[COLUMNS];
	unsigned n = rule(g->wide, at);

	if (!n)
		return false;
	/* the upper edge of a box stands above the head */
	if (strchr(g->wide, '+') && g->fresh && !strchr(g->head[g->heads - 1], '|'))
		return true;
	if (g->fresh && g->heads && (!g->columns || g->rows)) {
		close_rows(g);
		open_table(g, at, n);
		g->ruled = g->columns > 0;
		g->fresh = false;
	} else if (!g->fresh && g->rows && n < 2) {
		close_table(g);
	}
	return true;
}

/* A number, or a name and numbers, or a neighbour by name and address: no head of a table. */
static bool begins_row(const struct grid *g)
{
	char copy[TEXT];
	struct cell c[COLUMNS];
	unsigned n;

	if (isdigit((unsigned char)*g->line.text))
		return true;
	snprintf(copy, sizeof(copy), "%s", g->wide);
	n = cells(copy, c, false);
	return counted(c, n) ||
	       (n > 3 && strchr(c[1].text, '.') && isdigit((unsigned char)*c[1].text));
}

static void table_or_pairs(struct grid *g)
{
	char port[NAME];
	bool first = port_at(g->line.text, g->shown, port, sizeof(port));
	struct cell at[COLUMNS];

	g->on |= (first && rs_grid_port(port, false)) || strstr(g->line.text, "|SAI_");
	if ((first || (g->shown && begins_row(g))) && g->fresh && g->heads &&
	    (!g->columns || wide_head(g))) {
		close_rows(g);
		open_table(g, at, 0);
		g->fresh = false;
	}
	if (strchr(g->line.text, '('))
		members(g);
	if (measured(g) || (g->columns && row(g)))
		return;
	if (may_head(g))
		keep_head(g);
	if (dotted(g) || spaced(g))
		return;
	pieces(g);
	listed(g);
}

/* ---- Hardware and alarms ---- */

static bool of_hardware(const struct grid *g)
{
	return g->shown && rs_term_in(RS_TERM_HARDWARE "| power ", g->command) &&
	       !rs_term_in("interface|transceiver|optic|counters|alarm|module type", g->command);
}

/* What a cell of at most three words says of a part: "Not OK", "Input Fault", "NotSupply". */
static const char *part_state(const char *text)
{
	static const char *const gone[] = {" absent ", " not present ", " missing ",
					   " not inserted "};
	char plain[RS_TERM_NAME], part[48];
	unsigned words = 0;

	rs_term_words(text, plain, sizeof(plain));
	for (const char *p = plain; *p; p++)
		words += *p == ' ';
	if (words > 4 ||
	    rs_term_in(" no fault| no alarm| no error| none |thresh| configured | admin", plain))
		return NULL;
	for (unsigned i = 0; i < sizeof(gone) / sizeof(*gone); i++)
		if (!strcmp(plain, gone[i]))
			return "hardware-gone";
	for (const char *p = RS_TERM_BROKEN; *p; p += strcspn(p, "|"), p += *p == '|') {
		snprintf(part, sizeof(part), " %.*s ", (int)strcspn(p, "|"), p);
		if (strstr(plain, part))
			return "switch-hardware";
	}
	return NULL;
}

/* A part of the switch, whatever the table's form: a cell that is a state of what is broken. */
static void part_of_switch(struct grid *g)
{
	char copy[TEXT];
	struct cell c[COLUMNS];
	unsigned n;

	/* a line without a number is a head */
	if (!of_hardware(g) || strstr(g->line.text, " - ") || !strpbrk(g->line.text, "0123456789"))
		return;
	snprintf(copy, sizeof(copy), "%s", g->wide);
	n = cells(copy, c, false);
	for (unsigned i = 1; i < n; i++)
		tell(g, part_state(c[i].text));
}

/* What a command's lines say in words, without a column or a key. */
static void in_words(struct grid *g)
{
	static const struct {
		const char *command, *words, *but, *key;
	} said[] = {
		{" ntp| ptp|clock|chrony",
		 "unsynchron|not synchron|no sync|freerun|free run|holdover", NULL, "switch-clock"},
		{"license|licence",
		 " grace |expired|out of compliance|invalid|not authorized|"
		 "unlicensed",
		 "never|grace period 0", "switch-licence"},
		{"reboot cause|reload cause|reset reason|reset cause|reboot history|system reset",
		 "watchdog|fatal|panic|crash|thermal|power loss|overheat|parity|machine check",
		 "user", "switch-crash"},
		{"monit |services status|processes summary",
		 "status failed|not running|does not exist|"
		 "execution failed",
		 NULL, "switch-crash"},
	};
	char plain[RS_TERM_CONTEXT];

	if (!g->shown)
		return;
	rs_term_plain(g->line.text, plain, sizeof(plain));
	for (unsigned i = 0; i < sizeof(said) / sizeof(*said); i++)
		if (rs_term_in(said[i].command, g->command) && rs_term_in(said[i].words, plain) &&
		    !(said[i].but && rs_term_in(said[i].but, plain)))
			tell(g, said[i].key);
}

const char *rs_grid_alarm(const char *text)
{
	static const struct {
		const char *word;
		int level;
	} levels[] = {{" critical ", 2}, {" major ", 3}, {" minor ", 4}, {" warning ", 4}};
	struct rs_event e = {.level = -1};
	const char *key;

	rs_term_words(text, e.plain, sizeof(e.plain));
	for (unsigned i = 0; i < sizeof(levels) / sizeof(*levels) && e.level < 0; i++)
		if (strstr(e.plain, levels[i].word))
			e.level = levels[i].level;
	/* heads and sums name levels, too */
	if (e.level < 0 ||
	    rs_term_in(" severity | class description |active alarms| total |cleared", e.plain))
		return NULL;
	key = rs_event_key(&e);
	return key && strcmp(key, "switch-event") ? key : e.level < 4 ? "switch-alarm" : NULL;
}

/* A row of a list of alarms is a record: its words tell what it is about. */
static bool alarm_row(struct grid *g)
{
	const char *key;

	if (!g->shown || !rs_term_in("alarm|health event|system health|log event", g->command) ||
	    rs_term_in("history|cleared|statist|transceiv|optic", g->command))
		return false;
	key = rs_grid_alarm(g->line.text);
	tell(g, key);
	return key != NULL;
}

/* Configurations have readers of their own. */
static bool is_config(const char *command)
{
	static const char *const words[] = {"running", "startup", "current-config", "configuration",
					    " set "};

	if (strstr(command, "pfcwd") || strstr(command, "buffer") ||
	    strstr(command, "dropcounters"))
		return false;
	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strstr(command, words[i]))
			return true;
	return false;
}

/* "show etherchannel summary" on a line of its own, without a prompt */
static bool typed(const char *text)
{
	char line[80];
	size_t n = strcspn(text, "\n"), words = 1;

	if (n >= sizeof(line) || (*text != 's' && *text != 'd') || !n || text[n - 1] == '.' ||
	    (strncmp(text, "show ", 5) && strncmp(text, "display ", 8)))
		return false;
	snprintf(line, sizeof(line), "%.*s", (int)n, text);
	for (const char *p = line; *p; p++)
		words += *p == ' ';
	return words < 8 && !is_config(line) && !strchr(line, ':');
}

static void line(struct grid *g)
{
	logged(g);
	g->line.text[TEXT / 2] = '\0';
	if (!*g->line.text) {
		blank(g);
		return;
	}
	widen(g);
	if (typed(g->line.text)) {
		close_table(g);
		g->shown = g->on = true;
		rs_term_plain(g->line.text, g->command, sizeof(g->command));
		context(g);
		return;
	}
	if (tree(g) || ruling(g) || alarm_row(g))
		return;
	part_of_switch(g);
	in_words(g);
	hash_field(g, g->line.text);
	if (!strchr(g->line.text, '|') && heading(g))
		return;
	if (section(g)) {
		keep_head(g);
		return;
	}
	table_or_pairs(g);
}

/* ---- Texts ---- */

static bool is_show(const char *command)
{
	static const char *const verbs[] = {
		"show ",    "sh ",         "display ", "dis ",      "nv show ",   "info ",
		"do show ", "admin show ", "portstat", "queuestat", "pfcstat",    "pfcwd ",
		"fecstat",  "net show ",   "ptmctl",   "monit ",    "sudo monit "};

	for (unsigned i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (!strncmp(command, verbs[i], strlen(verbs[i])))
			return true;
	return false;
}

static void begin(struct grid *g)
{
	const char *command = g->in->command ? g->in->command : "";
	char copy[RS_TERM_NAME], *w[24];
	unsigned n;

	g->shown = g->on = is_show(command);
	g->tree = !strncmp(command, "info ", 5);
	g->fast = rs_input_has(g->in, "400G") || rs_input_has(g->in, "200G") ||
		  rs_input_has(g->in, "800G") || rs_input_has(g->in, "FourHundredGig");
	g->quick = g->fast || rs_input_has(g->in, "100G") || rs_input_has(g->in, "100000 Mb") ||
		   rs_input_has(g->in, "HundredGig");
	g->frames = -1;
	rs_term_plain(command, g->command, sizeof(g->command));
	snprintf(copy, sizeof(copy), "%s", command);
	n = g->shown ? rs_line_words(copy, w, 24) : 0;
	for (unsigned i = 1; i < n && !*g->entry; i++) {
		char both[NAME * 2];

		snprintf(both, sizeof(both), "%.60s %.60s", w[i], i + 1 < n ? w[i + 1] : "");
		port_at(both, true, g->entry, sizeof(g->entry));
	}
	context(g);
}

/* Does some line begin with a port, or bear a mnemonic? Most texts are of hosts. */
static enum { NOTHING, LOGS, ALL } worth(const struct rs_input *in)
{
	const char *p = in->data, *end = in->data + in->size;
	char word[NAME];

	if (in->command && is_show(in->command))
		return is_config(in->command) ? NOTHING : ALL;
	for (; p && p < end; p = memchr(p, '\n', (size_t)(end - p)), p += p != NULL) {
		size_t n;

		p += strspn(p, " \t|");
		if (p >= end)
			break;
		if (!strncmp(p, "Physical interface: ", 20) || !strncmp(p, "Interface ", 10) ||
		    typed(p))
			return ALL;
		n = strcspn(p, " \t\n:,|(");
		if (*p == '\n' || n < 3 || n >= 40)
			continue;
		snprintf(word, sizeof(word), "%.*s", (int)n, p);
		if (rs_grid_port(word, false))
			return ALL;
	}
	if (memmem(in->data, in->size, "|SAI_", 5))
		return ALL;
	if (rs_event_maybe(in->data, in->size))
		return LOGS;
	return NOTHING;
}

uint32_t rs_grid_read(struct rs_audit *a, const struct rs_input *in)
{
	struct grid *g;
	uint32_t facts;
	unsigned what;

	if (in->size && strchr("{[", in->data[strspn(in->data, " \t\r\n")]))
		return rs_grid_read_json(a, in, in->command && is_show(in->command));
	what = worth(in);

	if (what == NOTHING)
		return 0;
	g = calloc(1, sizeof(*g));
	if (!g) {
		a->err = -ENOMEM;
		return 0;
	}
	g->a = a;
	g->in = in;
	begin(g);
	while (rs_line_next(in, &g->line) && !a->err)
		if (what == ALL)
			line(g);
		else
			logged(g);
	close_table(g);
	tell_alarms(g);
	if (g->hashed && !g->hash_port && g->on)
		say(g, g->hash_line, "the fields of the hash", "hash-no-port", NULL);
	facts = g->facts;
	free(g);
	return facts;
}
