/* Tables of switches' outputs: heads, columns, rows; terms.c judges the cells. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "audit/read/grid_state.h"

/* ---- Cells ---- */

/* Cells of the wide line: parted by two blanks, tabs or bars; by one blank where `narrow`. */
unsigned rs_grid_cells(char *t, struct rs_grid_cell *out, bool narrow)
{
	unsigned n = 0;
	char *p = t;

	while (*p && n < RS_GRID_COLUMNS) {
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
unsigned rs_grid_rule(const char *t, struct rs_grid_cell *out)
{
	unsigned n = 0, marks = 0;

	if (strspn(t, " \t-=+|:") != strlen(t))
		return 0;
	for (const char *p = t; *p && n < RS_GRID_COLUMNS;) {
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

static enum rs_grid_role role_of(const char *name)
{
	static const struct {
		const char *is;
		enum rs_grid_role role;
	} roles[] = {
		{"admin|enabled| adm ", RS_GRID_ADMIN},
		{" speed | bw ", RS_GRID_SPEED},
		{" mtu ", RS_GRID_MTU},
		{" fec ", RS_GRID_FEC},
		{"operational", RS_GRID_OPERATIONAL},
		{" applied ", RS_GRID_APPLIED},
		{"local value|localvalue", RS_GRID_LOCAL},
		{"peer value|peervalue", RS_GRID_PEER},
		{"rx ok|tx ok|packets|pkts|total frames|passed", RS_GRID_FRAMES},
	};

	for (unsigned i = 0; i < sizeof(roles) / sizeof(*roles); i++)
		if (rs_term_in(roles[i].is, name) &&
		    !rs_term_in("drop|err|discard|bytes|mode|oper st|pps|rate|admin fec|duplex",
				name))
			return roles[i].role;
	return RS_GRID_PLAIN;
}

/* What a head's lines say above a column, up to the next one's start. */
static void name_column(struct rs_grid *g, struct rs_grid_column *c, unsigned from, unsigned to)
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

static void name_columns(struct rs_grid *g, const struct rs_grid_cell *at, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct rs_grid_column *c = &g->column[i];

		c->from = at[i].from;
		c->to = at[i].to;
		name_column(g, c, i ? c->from : 0, i + 1 < n ? at[i + 1].from : RS_GRID_TEXT);
		c->role = role_of(c->name);
	}
	g->columns = n;
	rs_grid_context(g);
	for (unsigned i = 0; i < n; i++)
		g->column[i].terms = rs_terms_of(g->column[i].name, g->context);
}

/* A table begins: columns by a rule's runs, or by the words of its longest line of the head. */
void rs_grid_open(struct rs_grid *g, struct rs_grid_cell *at, unsigned n)
{
	char copy[RS_GRID_TEXT];
	unsigned most = 0;
	struct rs_grid_cell found[RS_GRID_COLUMNS];

	for (unsigned h = 0; h < g->heads; h++) {
		unsigned k;

		snprintf(copy, sizeof(copy), "%s", g->head[h]);
		if ((k = rs_grid_cells(copy, found, false)) < most || !k)
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

void rs_grid_close_rows(struct rs_grid *g)
{
	if (g->columns && !g->rows && rs_term_in("pfcwd config|detection time", g->context))
		rs_grid_keep(g, g->line.number, g->head[g->heads ? g->heads - 1 : 0],
			     "watchdog-off", NULL);
	if (g->columns && *g->small && g->mtu_most >= 4000 && !strcmp(g->mtu_speed, g->small_speed))
		rs_grid_keep(g, g->small_line, g->small_text, "mtu-small", g->small);
	g->columns = 0;
	*g->small = '\0';
	g->ruled = false;
}

void rs_grid_close(struct rs_grid *g)
{
	rs_grid_close_rows(g);
	g->heads = 0;
	rs_grid_context(g);
}

/* ---- Rows ---- */

/* "routed down", of two columns: parted where the second one begins. */
static unsigned part(const struct rs_grid *g, char *text, struct rs_grid_cell *c, unsigned n)
{
	for (unsigned i = 0; i < n && n < RS_GRID_COLUMNS; i++)
		for (unsigned k = 1; k < g->columns; k++) {
			unsigned at = g->column[k].from;

			if (at <= c[i].from + 1 || at >= c[i].to || text[at - 1] != ' ' ||
			    n == RS_GRID_COLUMNS)
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
static void place(const struct rs_grid *g, struct rs_grid_cell *c, unsigned n, char **out)
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

static const char *in_role(const struct rs_grid *g, char *const *value, enum rs_grid_role role)
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
static void row_pairs(struct rs_grid *g, char *const *value)
{
	static const char *const switched = " on | off | enable | disable | enabled | disabled |"
					    " up | down | lossy | lossless ";
	const char *a = in_role(g, value, RS_GRID_OPERATIONAL),
		   *b = in_role(g, value, RS_GRID_APPLIED);
	const char *fec = in_role(g, value, RS_GRID_FEC), *speed = in_role(g, value, RS_GRID_SPEED);
	double mbps = 0;

	/* what a port negotiates is as the other end has it */
	if (a && b && !one_of(value[0], "auto negotiate|autoneg|state|status|oper|admin") &&
	    one_of(a, switched) && one_of(b, switched) && strcasecmp(a, b) &&
	    !(one_of(a, " on | enable") && one_of(b, " on | enable")) &&
	    !(one_of(a, " off | disable") && one_of(b, " off | disable")))
		rs_grid_tell(g, "nv-not-applied");
	a = in_role(g, value, RS_GRID_LOCAL);
	b = in_role(g, value, RS_GRID_PEER);
	if (a && b && strcmp(a, b) && one_of(value[0], "qos|mtu|pause|pfc|ecn|speed|mode"))
		rs_grid_tell(g, "mlag-differs");
	if (fec && speed && one_of(fec, " none | off | disabled ") &&
	    rs_term_number(speed, &mbps) &&
	    (strstr(speed, "400G") || strstr(speed, "200G") || strstr(speed, "800G")))
		rs_grid_tell(g, "fec-none");
}

/* "DN", "notconnect": nothing is behind the port, and what it was set to carries nothing. */
static bool is_down(const struct rs_grid *g, char *const *value)
{
	static const char *const words[] = {"dn", "down", "admdn", "notconnect", "notconnec"};

	for (unsigned i = 0; i < g->columns; i++)
		for (unsigned k = 0; value[i] && k < sizeof(words) / sizeof(*words); k++)
			if (!strcasecmp(value[i], words[k]))
				return true;
	return false;
}

static void row_mtu(struct rs_grid *g, char *const *value)
{
	const char *mtu = in_role(g, value, RS_GRID_MTU), *speed = in_role(g, value, RS_GRID_SPEED);
	double n;

	if (!mtu || !rs_term_number(mtu, &n))
		return;
	speed = speed ? speed : "";
	if (n > g->mtu_most) {
		g->mtu_most = n;
		snprintf(g->mtu_speed, sizeof(g->mtu_speed), "%s", speed);
	}
	if (n < 2000 && !*g->small && rs_grid_port(g->entry, true) && !is_down(g, value)) {
		snprintf(g->small, sizeof(g->small), "%s", g->entry);
		snprintf(g->small_text, sizeof(g->small_text), "%.*s", RS_GRID_KEPT - 1,
			 g->line.text);
		snprintf(g->small_speed, sizeof(g->small_speed), "%s", speed);
		g->small_line = g->line.number;
	}
}

/* "-14.39  --": the value is beyond its alarm, says the legend. */
static void row_marks(struct rs_grid *g, const struct rs_grid_cell *c, unsigned n)
{
	double v;

	if (!rs_term_in("high alarm|transceiv|rx power", g->context))
		return;
	for (unsigned i = 1; i < n; i++)
		if ((!strcmp(c[i].text, "--") || !strcmp(c[i].text, "++")) &&
		    rs_term_number(c[i - 1].text, &v))
			rs_grid_tell(g, "optics-alarm");
}

/* "108  105": a temperature beyond the limit that stands beside it. */
static void row_limits(struct rs_grid *g, char *const *value)
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
		rs_grid_tell(g, rs_term_in("transceiv|optic|module", g->context)
					? "optics-alarm"
					: "switch-hardware");
}

static double row_frames(const struct rs_grid *g, char *const *value)
{
	double n, most = -1;

	for (unsigned i = 0; i < g->columns; i++)
		if (g->column[i].role == RS_GRID_FRAMES && value[i] &&
		    rs_term_number(value[i], &n) && n > most)
			most = n;
	return most;
}

/* Queue, class or group 0: best effort by each vendor's default, which drops by right. */
static bool best_effort(const struct rs_grid *g, char *const *value)
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

/* What a value means in its row: of a port that is meant to be off, of a queue that may drop, of
 * one priority among eight. */
static const char *of_row(const struct rs_grid *g, const char *key, bool off, bool lossy, bool port)
{
	bool link = key && !strncmp(key, "port-", 5);

	if (link && (rs_grid_aside(g->entry) || rs_term_in(" pfc |priority flow", g->context)))
		return NULL;
	/* what a command of the hardware says of a port */
	if (port && key && !strcmp(key, "switch-hardware") && !rs_grid_address(g->entry) &&
	    strcasestr(g->line.text, " down"))
		return "port-down";
	if (link && off)
		return "port-disabled";
	/* enabled and down, and a bundle's: the bundle misses it */
	if (link && !strcmp(key, "port-down") && rs_grid_of_bundle(g))
		return "lag-member";
	if (key && off && !strcmp(key, "pfc-port-inactive"))
		return "pfc-port-off";
	if (key && !port && !strcmp(key, "pfc-port-off"))
		return "pfc-none";
	return key && lossy && !strcmp(key, "drops-counted") ? "drops-few" : key;
}

/* Does the row's description name who is at the other end? */
static bool described(const struct rs_grid *g, char *const *value)
{
	char plain[RS_TERM_NAME];

	for (unsigned i = 1; i < g->columns; i++)
		if (value[i] && rs_term_in(" name | descr| alias ", g->column[i].name)) {
			rs_term_plain(value[i], plain, sizeof(plain));
			if (rs_term_neighbour(plain))
				return true;
		}
	return false;
}

/* A row of ports, peers or queues: columns have the names. */
static void row_values(struct rs_grid *g, char *const *value, bool port)
{
	const char *admin = in_role(g, value, RS_GRID_ADMIN);
	bool off = admin && one_of(admin, " down | disable| no | off | false | adm");
	double frames = row_frames(g, value);
	bool lossy = best_effort(g, value), spare = false, member = false;

	for (unsigned i = 1; i < g->columns; i++) {
		spare |= value[i] && !strcasecmp(value[i], "standby");
		member |= value[i] && isdigit((unsigned char)*value[i]) &&
			  rs_term_in(" trunk | lag | bundle ", g->column[i].name);
		/* "deleted down", "administratively down down": both are of one cause */
		off |= value[i] && (!strcasecmp(value[i], "deleted") ||
				    !strncasecmp(value[i], "administratively", 16));
	}
	for (unsigned i = 1; i < g->columns; i++) {
		char word[RS_TERM_NAME];
		const char *key, *v = value[i];

		if (!v || g->column[i].role == RS_GRID_ADMIN)
			continue;
		if (rs_grid_legend_word(g, g->column[i].name, v, word, sizeof(word)))
			v = word;
		key = rs_term_judge(&g->column[i].terms, v, frames);
		/* a member that waits for another to fail is down by right */
		if (key && spare && (!strcmp(key, "port-down") || !strcmp(key, "lag-member")))
			continue;
		key = of_row(g, key, off, lossy, port);
		if (key && !strcmp(key, "port-down") && member)
			key = "lag-member";
		if (key && !strcmp(key, "port-down") && described(g, value))
			key = "port-wanted";
		rs_grid_tell(g, key);
	}
}

/* A row whose first cell is a key: it is a part of the values' name. */
static void row_keys(struct rs_grid *g, char *const *value)
{
	char name[RS_TERM_NAME * 2], word[RS_TERM_NAME];
	bool both = in_role(g, value, RS_GRID_OPERATIONAL) != NULL;
	const char *admin = in_role(g, value, RS_GRID_ADMIN);

	/* a card that was shut down on purpose */
	if (admin && rs_term_in("chassis modules", g->context) && one_of(admin, " down "))
		return;
	for (unsigned i = 1; i < g->columns; i++) {
		if (!value[i] || (both && g->column[i].role == RS_GRID_APPLIED) ||
		    rs_term_in("descr", g->column[i].name))
			continue;
		snprintf(name, sizeof(name), "%s %s", value[0],
			 g->column[i].role == RS_GRID_OPERATIONAL ||
					 g->column[i].role == RS_GRID_APPLIED
				 ? ""
				 : g->column[i].name);
		rs_grid_judge(
			g, name,
			rs_grid_legend_word(g, g->column[i].name, value[i], word, sizeof(word))
				? word
				: value[i]);
	}
}

/* Columns and cells that one blank parts: where the counts do not agree, words may. */
static unsigned by_words(struct rs_grid *g, char *copy, struct rs_grid_cell *c, unsigned n)
{
	char words[RS_GRID_TEXT], titles[RS_GRID_TEXT];
	struct rs_grid_cell w[RS_GRID_COLUMNS], at[RS_GRID_COLUMNS];
	unsigned m, k;

	if (n == g->columns)
		return n;
	snprintf(words, sizeof(words), "%s", g->wide);
	snprintf(titles, sizeof(titles), "%s", g->titles);
	m = rs_grid_cells(words, w, true);
	k = rs_grid_cells(titles, at, true);
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
bool rs_grid_counted(const struct rs_grid_cell *c, unsigned n)
{
	double v;

	for (unsigned i = 1; i < n; i++)
		if (!rs_term_number(c[i].text, &v))
			return false;
	return n > 2;
}

/* A session's row by its words: where columns are not in line, its state is still a word. */
static void row_session(struct rs_grid *g)
{
	static const char *const states[] = {"Idle", "Active", "Connect", "OpenSent",
					     "OpenConfirm"};
	char copy[RS_GRID_TEXT], *w[RS_GRID_COLUMNS];
	unsigned n;

	if (!rs_term_in("bgp", g->context))
		return;
	snprintf(copy, sizeof(copy), "%s", g->wide);
	n = rs_line_words(copy, w, RS_GRID_COLUMNS);
	for (unsigned i = 2; i < n; i++)
		for (unsigned k = 0; k < sizeof(states) / sizeof(*states); k++)
			if (!strcasecmp(w[i], states[k]) &&
			    !(i + 1 < n && strstr(w[i + 1], "dmin")))
				rs_grid_tell(g, "bgp-down");
}

bool rs_grid_neighbour(const struct rs_grid *g)
{
	static const char *const states[] = {"up", "down", "init", "full", "failed"};
	char copy[RS_GRID_TEXT];
	struct rs_grid_cell c[RS_GRID_COLUMNS];
	unsigned n;

	if (!g->shown || !rs_term_in("neigh|adjacen| peer", g->command))
		return false;
	snprintf(copy, sizeof(copy), "%s", g->wide);
	n = rs_grid_cells(copy, c, true);
	for (unsigned i = 2; n > 3 && i < n; i++)
		for (unsigned k = 0; k < sizeof(states) / sizeof(*states); k++)
			if (!strcasecmp(c[i].text, states[k]))
				return true;
	return false;
}

/* True: the line is a row of the table at hand. */
bool rs_grid_row(struct rs_grid *g)
{
	char copy[RS_GRID_TEXT], *value[RS_GRID_COLUMNS], port[RS_GRID_NAME];
	struct rs_grid_cell c[RS_GRID_COLUMNS];
	unsigned n;
	bool entry, second;

	snprintf(copy, sizeof(copy), "%s", g->wide);
	n = rs_grid_cells(copy, c, false);
	if (n < 2)
		return false;
	entry = rs_grid_port_at(c[0].text, g->shown, port, sizeof(port)) ||
		rs_grid_address(c[0].text);
	/* "key   :value" is a pair */
	for (unsigned i = 1; i < n && !entry; i++)
		if (*c[i].text == ':')
			return false;
	if (!entry && rs_grid_address(c[1].text)) {
		c[0] = c[1];
		entry = true;
	}
	/* "spine2   10.0.0.5 4 65200   12912": a description, and the peer's address behind it */
	if (!entry && rs_term_in("bgp", g->context)) {
		snprintf(port, sizeof(port), "%.*s", (int)(strcspn(c[1].text, " ") % RS_GRID_NAME),
			 c[1].text);
		entry = rs_grid_address(port);
	}
	/* "DN  swp11s0  N/A": the state stands before the port */
	second = !entry && g->shown && rs_term_in("state|status|link", g->column[0].name) &&
		 rs_grid_port_at(c[1].text, true, port, sizeof(port));
	entry |= second;
	if (!entry && rs_grid_neighbour(g)) {
		snprintf(port, sizeof(port), "%.*s", RS_GRID_NAME - 1, c[0].text);
		entry = true;
	}
	if (!entry && !g->ruled &&
	    !(g->shown && (isdigit((unsigned char)*c[0].text) || rs_grid_counted(c, n))))
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
			 rs_grid_address(c[0].text) ? c[0].text : port);
	g->idle = false;
	for (unsigned i = 1; i < n; i++)
		g->idle |= one_of(c[i].text, " down | notconnect | no link | link down ");
	row_pairs(g, value);
	row_limits(g, value);
	/* a session that one end has shut is down by right */
	if (entry && rs_term_in(" bfd", g->context)) {
		g->shut = false;
		for (unsigned i = 1; i < n; i++)
			g->shut |= !strncasecmp(c[i].text, "AdminDown", 9);
	}
	if (rs_grid_address(g->entry) && entry)
		row_session(g);
	if (second)
		rs_grid_tell(g, of_row(g, rs_term_judge(&g->column[0].terms, value[0], -1), false,
				       false, true));
	if (entry || isdigit((unsigned char)*c[0].text)) {
		row_values(g, value, entry);
		row_mtu(g, value);
		row_marks(g, c, n);
	} else {
		row_keys(g, value);
	}
	return true;
}
