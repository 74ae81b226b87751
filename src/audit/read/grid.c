/* What a switch shows, line by line: each line to the form that it has (grid_state.h). */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/look.h"
#include "audit/read/grid_state.h"
#include "audit/read/readers.h"

/* ---- What was judged ---- */

void rs_grid_keep(struct rs_grid *g, uint32_t line, const char *text, const char *key,
		  const char *entry)
{
	if (!key || (g->told_key && g->told_line == line && !strcmp(g->told_key, key)))
		return;
	g->told_key = key;
	g->told_line = line;
	g->facts += rs_input_tell(g->a, g->in, line, text, key, entry);
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

void rs_grid_tell(struct rs_grid *g, const char *key)
{
	/* a protocol counts its own messages, not the frames of a port */
	if (key && !strcmp(key, "drops-counted") &&
	    (of_class_0(g->line.text) || rs_term_in(" rip | ripv2 | ripv6 | ripng | ospf | ospfv3 "
						    "| isis | eigrp | igmp | pim | vrrp | "
						    "hsrp | ntp | dhcp | lldp | cdp ",
						    g->command)))
		key = "drops-few";
	/* "show ip bgp aggregate-address": neither a session nor a bundle */
	if (key && rs_term_in("aggregate", g->command))
		return;
	/* a port that is shut sends no light, and gets none */
	if (key && g->shut &&
	    (!strcmp(key, "light-low") || !strcmp(key, "optics-alarm") ||
	     !strcmp(key, "port-down") || !strcmp(key, "bfd-down")))
		return;
	/* what has no link has no FEC in force */
	if (key && (g->idle || g->down) && !strcmp(key, "fec-none"))
		return;
	/* no RDMA crosses a port for management: its drops and its PFC say nothing */
	if (key && rs_look_management(g->entry) &&
	    (!strncmp(key, "drops-", 6) || !strncmp(key, "pfc-", 4) || !strncmp(key, "ecn-", 4)))
		return;
	if (g->on)
		rs_grid_keep(g, g->line.number, g->line.text, key, g->entry);
}

/* The context of names: command, head of the table, section, path of braces. */
void rs_grid_context(struct rs_grid *g)
{
	size_t n = (size_t)snprintf(g->context, sizeof(g->context), "%s%s%s%s", g->command,
				    g->section, g->fast ? " fast " : "", g->quick ? " quick " : "");

	for (unsigned i = 0; i < g->depth && n < sizeof(g->context); i++)
		n += (size_t)snprintf(g->context + n, sizeof(g->context) - n, "%s", g->path[i]);
	for (unsigned i = 0; i < g->columns && n < sizeof(g->context); i++)
		n += (size_t)snprintf(g->context + n, sizeof(g->context) - n, "%s",
				      g->column[i].name);
}

void rs_grid_tell_light(struct rs_grid *g)
{
	if (g->light.line && g->on && !g->shut)
		rs_grid_keep(g, g->light.line, g->light.text, "light-low", g->light.of);
	g->light.line = 0;
}

/* "RX Power : -21.4", and below it "RX Power Low Threshold : -36.9": a module of long reach, whose
 * maker's limit counts. True: the value waits, or is such a limit. */
static bool light(struct rs_grid *g, const char *plain, const char *value, const char *key)
{
	double n;

	if (!rs_term_number(value, &n))
		return false;
	if (key && !strcmp(key, "light-low")) {
		rs_grid_tell_light(g);
		g->light.dbm = n;
		g->light.line = g->line.number;
		snprintf(g->light.of, sizeof(g->light.of), "%s", g->entry);
		snprintf(g->light.text, sizeof(g->light.text), "%.*s", RS_GRID_KEPT - 1,
			 g->line.text);
		return true;
	}
	if (!g->light.line ||
	    !rs_term_in("rx&power&low&thresh|rx&power&low&alarm|receiv&low&thresh", plain) ||
	    rs_term_in("warn", plain))
		return false;
	if (n < g->light.dbm && n < 0)
		g->light.line = 0;
	return true;
}

/* One value with its name, by itself. */
void rs_grid_judge(struct rs_grid *g, const char *name, const char *value)
{
	char plain[RS_TERM_NAME];
	struct rs_terms t;
	const char *key;
	double n;

	/* "Link: ADM - administratively down": a legend */
	if (!g->on || strstr(value, " - "))
		return;
	rs_term_plain(name, plain, sizeof(plain));
	if (g->down && !strcmp(plain, " description ")) {
		rs_term_plain(value, plain, sizeof(plain));
		rs_grid_tell(g, rs_term_neighbour(plain) ? "port-wanted" : NULL);
		return;
	}
	if (rs_term_in("packets|pkts", plain) &&
	    !rs_term_in("drop|err|discard|crc|pause|mark", plain) && rs_term_number(value, &n) &&
	    n > g->frames)
		g->frames = n;
	t = rs_terms_of(plain, g->context);
	key = rs_term_judge(&t, value, g->frames);
	if (light(g, plain, value, key))
		return;
	g->shut |= key && !strcmp(key, "port-disabled") && rs_term_in(" state | status ", plain);
	/* a pseudowire's neighbour below a port's name */
	if (key && !strncmp(key, "port-", 5) && !strncmp(g->line.text, "Neighbor ", 9))
		return;
	/* what came in all, below another table's heading of errors (Junos) */
	if (key && !strncmp(key, "errors-", 7) &&
	    rs_term_in(" total packets| unicast packets| multicast packets| broadcast packets",
		       plain))
		return;
	/* a session's flaps are no port's */
	if (key && !strcmp(key, "flaps-many") && rs_term_in(" bgp", g->context))
		return;
	/* "BGP VRF x, state: Active", "BGP table state: Active" are no session's */
	if (key && ((!strcmp(key, "bgp-down") && strstr(g->line.text, "VRF")) ||
		    (!strcmp(key, "port-up") && !strcmp(plain, " state ")) ||
		    (!strncmp(key, "port-", 5) && rs_grid_aside(g->line.text))))
		return;
	rs_grid_tell(g, key);
}

/* ---- Headings ---- */

/* "Ethernet1/1 is down", "Interface 1/1/7 is up", "Physical interface: et-0/0/1, ...", "Eth1/5:",
 * a port alone. True: nothing else is on the line. */
static bool heading(struct rs_grid *g)
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
	char port[RS_GRID_NAME];
	bool before_name;
	size_t n = 0;

	for (unsigned i = 0; i < sizeof(before) / sizeof(*before); i++)
		if (!strncasecmp(t, before[i], strlen(before[i])))
			n = strlen(before[i]);
	t += n;
	t += strspn(t, " ");
	before_name = n > 0;
	n = rs_grid_port_at(t, n || g->shown, port, sizeof(port));
	/* "Physical interface: fxp0, ...": of management, by a name that no other port has */
	if (!n && before_name && rs_look_management(t)) {
		n = strcspn(t, " ,:");
		snprintf(port, sizeof(port), "%.*s", (int)n, t);
	}
	if (!n)
		return false;
	t += n;
	if (*t && strncmp(t, " is ", 4) && strncmp(t, ", ", 2) && *t != ':' &&
	    strncmp(t, " current", 8) && strncmp(t, " transceiver", 12) && strncmp(t, " (", 2))
		return false;
	rs_grid_close(g);
	rs_grid_tell_light(g);
	snprintf(g->entry, sizeof(g->entry), "%s", port);
	*g->section = '\0';
	g->frames = -1;
	g->runts = 0;
	g->on = true;
	g->shut = g->down = false;
	rs_grid_context(g);
	if (strcasestr(t, "administratively down"))
		rs_grid_tell(g, "port-disabled");
	else if (!strncmp(t, " is down", 8)) {
		g->down = !rs_grid_aside(port);
		/* nothing is plugged in: only a description says that something should be */
		if (!strcasestr(t, "not inserted)") && !strcasestr(t, "absent)") &&
		    !strcasestr(t, "not present)"))
			rs_grid_tell(g, "port-down");
	} else if (!strncmp(t, " is up, line protocol is down", 29) && !rs_grid_aside(port))
		rs_grid_tell(g, "port-protocol");
	else if (!strncmp(t, " is up", 6))
		rs_grid_tell(g, "port-up");
	return !strchr(t, ',') || !strncmp(t, " is ", 4);
}

/* "Detected Alarms:", "Rx", "TC 3:": what the lines below belong to. */
static bool section(struct rs_grid *g)
{
	size_t n = strlen(g->line.text);

	if (n < 2 || n > 60 || g->line.text[n - 1] != ':' || strchr(g->line.text, ','))
		return false;
	rs_term_plain(g->line.text, g->section, sizeof(g->section));
	rs_grid_context(g);
	return true;
}

/* ---- Lines ---- */

/* How many columns the line before this one names. */
static unsigned named_columns(const struct rs_grid *g)
{
	char copy[RS_GRID_TEXT];
	struct rs_grid_cell c[RS_GRID_COLUMNS];

	snprintf(copy, sizeof(copy), "%s", g->head[g->heads - 1]);
	return rs_grid_cells(copy, c, false);
}

/* A head and its rows may stand apart by one blank line. */
static void blank(struct rs_grid *g)
{
	if (g->rows)
		rs_grid_close(g);
	else if (!g->columns && !(g->fresh && g->heads && !g->gap && named_columns(g) > 3))
		g->heads = 0;
	g->gap = g->heads > 0;
	g->fresh &= g->heads > 0;
}

static void keep_head(struct rs_grid *g)
{
	if (!g->fresh)
		g->heads = 0;
	g->fresh = true;
	g->gap = false;
	if (g->heads == RS_GRID_HEADS) {
		memmove(g->head[0], g->head[1], sizeof(g->head[0]) * (RS_GRID_HEADS - 1));
		g->heads--;
	}
	snprintf(g->head[g->heads++], RS_GRID_TEXT, "%s", g->wide);
}

/* A line that may name columns: two cells, and no count or value among them. */
static bool may_head(const struct rs_grid *g)
{
	char copy[RS_GRID_TEXT];
	struct rs_grid_cell c[RS_GRID_COLUMNS];
	unsigned n;

	snprintf(copy, sizeof(copy), "%s", g->wide);
	n = rs_grid_cells(copy, c, false);
	for (unsigned i = 0; i < n; i++)
		if (isdigit((unsigned char)*c[i].text) || *c[i].text == ':' ||
		    strstr(c[i].text, ": ") || strstr(c[i].text, " - "))
			return false;
	return n > 0;
}

static void widen(struct rs_grid *g)
{
	char port[RS_GRID_NAME];
	unsigned at = g->line.indent < RS_GRID_TEXT / 2 ? g->line.indent : RS_GRID_TEXT / 2;

	memset(g->wide, ' ', at);
	snprintf(g->wide + at, RS_GRID_TEXT - at, "%s", g->line.text);
	for (char *p = g->wide; *p; p++)
		if (*p == '\t')
			*p = ' ';
	/* "leaf3|Ethernet0": a switch and its port */
	at += (unsigned)strcspn(g->wide + at, " |");
	if (g->wide[at] == '|' && at && isalnum((unsigned char)g->wide[at - 1]) &&
	    rs_grid_port_at(g->wide + at + 1, false, port, sizeof(port))) {
		memset(g->wide, ' ', at + 1);
		memmove(g->line.text, g->wide + at + 1, strlen(g->wide + at + 1) + 1);
		g->line.indent = at + 1;
	}
}

/* A rule below a head begins a table; one below rows is another part of it. */
static bool ruling(struct rs_grid *g)
{
	struct rs_grid_cell at[RS_GRID_COLUMNS];
	unsigned n = rs_grid_rule(g->wide, at);

	if (!n)
		return false;
	/* the upper edge of a box stands above the head */
	if (*g->line.text == '+' && g->fresh && (!g->heads || !strchr(g->head[g->heads - 1], '|')))
		return true;
	if (g->fresh && g->heads && (!g->columns || g->rows)) {
		rs_grid_close_rows(g);
		rs_grid_open(g, at, n);
		g->ruled = g->columns > 0;
		g->fresh = false;
	} else if (!g->fresh && g->rows && n < 2) {
		rs_grid_close(g);
	}
	return true;
}

/* A number, or a name and numbers, or a neighbour by name and address: no head of a table. */
static bool begins_row(const struct rs_grid *g)
{
	char copy[RS_GRID_TEXT];
	struct rs_grid_cell c[RS_GRID_COLUMNS];
	unsigned n;

	if (isdigit((unsigned char)*g->line.text))
		return true;
	snprintf(copy, sizeof(copy), "%s", g->wide);
	n = rs_grid_cells(copy, c, false);
	return rs_grid_counted(c, n) || rs_grid_neighbour(g) ||
	       (n > 3 && strchr(c[1].text, '.') && isdigit((unsigned char)*c[1].text));
}

static void table_or_pairs(struct rs_grid *g)
{
	char port[RS_GRID_NAME];
	bool first = rs_grid_port_at(g->line.text, g->shown, port, sizeof(port));
	struct rs_grid_cell at[RS_GRID_COLUMNS];

	g->on |= (first && rs_grid_port(port, false)) || strstr(g->line.text, "|SAI_");
	if ((first || ((g->shown || (g->on && g->columns)) && begins_row(g))) && g->fresh &&
	    g->heads && (!g->columns || named_columns(g) > 2)) {
		rs_grid_close_rows(g);
		rs_grid_open(g, at, 0);
		g->fresh = false;
	}
	if (g->columns && rs_grid_address(g->line.text)) {
		snprintf(g->lone, sizeof(g->lone), "%.*s", RS_GRID_NAME - 1, g->line.text);
		return;
	}
	if (strchr(g->line.text, '('))
		rs_grid_members(g);
	if (rs_grid_measured(g) || (g->columns && rs_grid_row(g)))
		return;
	if (may_head(g))
		keep_head(g);
	else if (!g->columns && strstr(g->line.text, ": "))
		g->heads = 0; /* what stands above pairs heads no table below them */
	if (rs_grid_dotted(g) || rs_grid_spaced(g))
		return;
	rs_grid_pieces(g);
	rs_grid_listed(g);
}

/* Configurations have readers of their own. */
static bool is_config(const char *command)
{
	static const char *const words[] = {"running",          "startup", "current-config",
					    "configuration",    " set ",   "errdisable recovery",
					    "errdisable detect"};

	if (strstr(command, "pfcwd") || strstr(command, "buffer") ||
	    strstr(command, "dropcounters"))
		return false;
	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strstr(command, words[i]))
			return true;
	return false;
}

/* "sh env all", "sh ip bgp summary": a command of a switch, cut short; not a shell's script. */
static bool shortened(const char *text)
{
	static const char *const second[] = {"env", "int",  "ip bgp", "bgp",    "etherch", "mod",
					     "pow", "log",  "port-c", "inv",    "queuing", "lldp",
					     "vpc", "mlag", "priori", "policy", "platform"};

	for (unsigned i = 0; i < sizeof(second) / sizeof(*second); i++)
		if (!strncmp(text, "sh ", 3) && !strncmp(text + 3, second[i], strlen(second[i])))
			return true;
	return false;
}

/* "show etherchannel summary" on a line of its own, without a prompt */
static bool typed(const char *text)
{
	char line[80];
	size_t n = strcspn(text, "\n"), words = 1;

	if (n >= sizeof(line) || (*text != 's' && *text != 'd') || !n || text[n - 1] == '.' ||
	    (strncmp(text, "show ", 5) && strncmp(text, "display ", 8) && !shortened(text)))
		return false;
	snprintf(line, sizeof(line), "%.*s", (int)n, text);
	for (const char *p = line; *p; p++)
		words += *p == ' ';
	return words < 8 && !is_config(line) && !strchr(line, ':');
}

/* A row in two lines: a neighbour's address, and its cells below it. A line without a figure
 * between both is its description. */
static void join(struct rs_grid *g)
{
	char cells[RS_GRID_TEXT];
	size_t n = strlen(g->lone);

	if (!n || !strpbrk(g->line.text, "0123456789"))
		return;
	snprintf(cells, sizeof(cells), "%s", g->wide);
	if (strspn(cells, " ") > n)
		memcpy(cells, g->lone, n);
	else
		snprintf(cells, sizeof(cells), "%s %.900s", g->lone, g->line.text);
	*g->lone = '\0';
	if (strspn(g->line.text, "0123456789.:abcdefABCDEF") == strcspn(g->line.text, " "))
		if (rs_grid_address(g->line.text))
			return;
	snprintf(g->wide, sizeof(g->wide), "%s", cells);
	snprintf(g->line.text, RS_GRID_TEXT / 2, "%s", cells);
	g->line.indent = 0;
}

static void line(struct rs_grid *g)
{
	rs_grid_logged(g);
	g->line.text[RS_GRID_TEXT / 2] = '\0';
	if (!*g->line.text) {
		blank(g);
		return;
	}
	widen(g);
	join(g);
	if (typed(g->line.text)) {
		rs_grid_close(g);
		g->shut = false;
		g->shown = g->on = true;
		rs_term_plain(g->line.text, g->command, sizeof(g->command));
		rs_grid_context(g);
		return;
	}
	if (rs_grid_numbered(g) || rs_grid_tree(g) || ruling(g) || rs_grid_alarm_row(g))
		return;
	rs_grid_part(g);
	rs_grid_words(g);
	rs_grid_hash(g);
	if (!strchr(g->line.text, '|') && heading(g))
		return;
	if (section(g)) {
		keep_head(g);
		return;
	}
	table_or_pairs(g);
}

/* ---- Texts ---- */

/* SONiC's programs for its own parts, and its databases. */
bool rs_grid_tool(const char *command)
{
	static const char *const tools[] = {"pddf_",     "psuutil",   "sfputil",
					    "pcieutil ", "fwutil s",  "ssdutil",
					    "crm show",  "mclagdctl", "redis-cli"};

	command += strncmp(command, "sudo ", 5) ? 0 : 5;
	for (unsigned i = 0; i < sizeof(tools) / sizeof(*tools); i++)
		if (!strncmp(command, tools[i], strlen(tools[i])))
			return true;
	return false;
}

static bool is_show(const char *command)
{
	static const char *const verbs[] = {
		"show ",    "sh ",         "display ", "dis ",      "nv show ",   "info ",
		"do show ", "admin show ", "portstat", "queuestat", "pfcstat",    "pfcwd ",
		"fecstat",  "net show ",   "ptmctl",   "monit ",    "sudo monit "};

	for (unsigned i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (!strncmp(command, verbs[i], strlen(verbs[i])))
			return true;
	return rs_grid_tool(command);
}

static void begin(struct rs_grid *g, const char *known)
{
	const char *command = g->in->command ? g->in->command : known ? known : "";
	char copy[RS_TERM_NAME], *w[24];
	unsigned n;

	g->shown = g->on = is_show(command);
	g->tree = !strncmp(command, "info ", 5);
	g->fast = rs_input_has(g->in, "400G") || rs_input_has(g->in, "200G") ||
		  rs_input_has(g->in, "800G") || rs_input_has(g->in, "FourHundredGig");
	g->quick = g->fast || rs_input_has(g->in, "100G") || rs_input_has(g->in, "100000 Mb") ||
		   rs_input_has(g->in, "HundredGig");
	g->frames = -1;
	g->alarm_level = -1;
	rs_term_plain(command, g->command, sizeof(g->command));
	snprintf(copy, sizeof(copy), "%s", command);
	n = g->shown ? rs_line_words(copy, w, 24) : 0;
	for (unsigned i = 1; i < n && !*g->entry; i++) {
		char both[RS_GRID_NAME * 2];
		const char *in = strpbrk(w[i], ":|");

		/* "PORT_TABLE:Ethernet8": of a database */
		if (in && strstr(command, "redis"))
			w[i] += in + 1 - w[i];
		snprintf(both, sizeof(both), "%.60s %.60s", w[i], i + 1 < n ? w[i + 1] : "");
		rs_grid_port_at(both, true, g->entry, sizeof(g->entry));
	}
	rs_grid_context(g);
	rs_grid_legends(g);
}

/* Does some line begin with a port, or bear a mnemonic? Most texts are of hosts. */
static enum { NOTHING, LOGS, ALL } worth(const struct rs_input *in)
{
	const char *p = in->data, *end = in->data + in->size;
	char word[RS_GRID_NAME];

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
		if (p[n] == '|') {
			p += n + 1;
			n = strcspn(p, " \t\n:,|(");
		}
		if (*p == '\n' || n < 3 || n >= 40)
			continue;
		snprintf(word, sizeof(word), "%.*s", (int)n, p);
		if (rs_grid_port(word, false))
			return ALL;
	}
	if (memmem(in->data, in->size, "|SAI_", 5))
		return ALL;
	if (rs_event_maybe(in->data, in->size) || rs_grid_alarm_maybe(in->data, in->size))
		return LOGS;
	return NOTHING;
}

uint32_t rs_grid_read(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_grid *g;
	const char *known;
	uint32_t facts;
	unsigned what;
	char first;

	first = in->size ? in->data[strspn(in->data, " \t\r\n")] : '\0';
	if (first == '{' || first == '[')
		return rs_grid_read_json(a, in, in->command && is_show(in->command));
	if (first == '<' && memmem(in->data, in->size, "</", 2))
		return rs_grid_read_xml(a, in, in->command && is_show(in->command));
	known = in->command || !in->size ? NULL : rs_grid_known(in);
	what = known ? ALL : worth(in);
	if (what == NOTHING)
		return 0;
	g = calloc(1, sizeof(*g));
	if (!g) {
		a->err = -ENOMEM;
		return 0;
	}
	g->a = a;
	g->in = in;
	begin(g, known);
	while (rs_line_next(in, &g->line) && !a->err)
		if (what == ALL)
			line(g);
		else
			rs_grid_logged(g);
	rs_grid_close(g);
	rs_grid_tell_light(g);
	rs_grid_tell_faults(g);
	if (g->hashed && !g->hash_port && g->on)
		rs_grid_keep(g, g->hash_line, "the fields of the hash", "hash-no-port", NULL);
	facts = g->facts;
	free(g);
	return facts;
}
