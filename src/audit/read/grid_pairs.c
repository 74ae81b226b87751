/* Pairs, counts, trees, members of bundles and parts of switches, line by line. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/read/grid_state.h"

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

bool rs_grid_of_bundle(const struct rs_grid *g)
{
	return strncasecmp(g->entry, "po", 2) && is_bundle(g->line.text) &&
	       !strchr(g->line.text, '(');
}

/* "Po10(SU)", "Et8(s-)", "PortChannel0001 LACP(A)(Dw)", "Ethernet108(D)", "1/1/20(D)" */
void rs_grid_members(struct rs_grid *g)
{
	size_t size = strlen(g->line.text);
	char *open = strchr(g->line.text, '(');
	bool selected = strstr(g->line.text, "PortChannel") || strstr(g->line.text, "LACP(A)");

	/* a bundle without members is not in use by right */
	if (size > 3 &&
	    (!strcmp(g->line.text + size - 3, " --") || !strcmp(g->line.text + size - 2, " -")))
		return;
	if (!is_bundle(g->line.text) && rs_term_in("vlan", g->context))
		return;
	if (!is_bundle(g->line.text) &&
	    !rs_term_in("lacp|port channel|aggregat|bundle|member port|team dev", g->context))
		return;

	for (; open; open = strchr(open + 1, '(')) {
		char word[RS_GRID_NAME], flags[16], *w = open;
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
			rs_grid_tell(g, "lag-member");
	}
}

/* ---- Pairs and counts ---- */

/* "912331 CRC", "0 output errors", "8812331233 packets input" */
static void count(struct rs_grid *g, char *chunk)
{
	size_t n = strcspn(chunk, " ");
	double v;

	if (!isdigit((unsigned char)*chunk) || !chunk[n])
		return;
	chunk[n] = '\0';
	if (!rs_term_number(chunk, &v) || strcspn(chunk + n + 1, "0123456789") <= 2)
		return;
	if (!strncmp(chunk + n + 1, "runts", 5))
		g->runts = v;
	/* errors that are runts, all of them: a virtual port counts unpadded frames so */
	if (!(v > 0 && g->runts >= v && !strncmp(chunk + n + 1, "input error", 11)))
		rs_grid_judge(g, chunk + n + 1, chunk);
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

/* "0 babble 28126154 output discard": a blank between a count with its word and the next one. */
static bool counts_on(const char *start, const char *at)
{
	const char *word = at + 1 + rs_grid_digits(at + 1);

	start += strspn(start, " ");
	return *at == ' ' && at > start && isdigit((unsigned char)*start) &&
	       isalpha((unsigned char)at[-1]) && word > at + 1 && *word == ' ' &&
	       isalpha((unsigned char)word[1]);
}

/* "LOS = 1 LOF = 0": a blank between a value and the next name of the same form. */
static bool pair_on(const char *start, const char *at)
{
	const char *word = at + strspn(at, " "), *equals;

	if (*at != ' ' || at <= start || at[-1] == '=' || at[-1] == ' ')
		return false;
	equals = memmem(start, (size_t)(at - start), " = ", 3);
	return equals && equals + 3 < at && isalpha((unsigned char)*word) &&
	       !strncmp(word + strcspn(word, " ="), " = ", 3);
}

/* "Errors: 0, Drops: 912331", "a : b", "0 runts, 12 CRC": the line in pieces. */
void rs_grid_pieces(struct rs_grid *g)
{
	char copy[RS_GRID_TEXT], *p = copy, *key, *value;

	snprintf(copy, sizeof(copy), "%.*s", RS_GRID_TEXT - 1, g->line.text);
	while (*p) {
		char *end = p, *next;

		/* a comma, or blanks before a word with a colon or another count */
		while (*end && *end != ';' && *end != '|' && !(*end == ',' && end[1] == ' ') &&
		       !(*end == ',' && !end[1]) &&
		       !(end > p && end[0] == ' ' && end[1] == ' ' && isdigit((unsigned char)*p) &&
			 isdigit((unsigned char)end[strspn(end, " ")])) &&
		       !counts_on(p, end) && !pair_on(p, end))
			end++;
		next = *end ? end + 1 : end;
		*end = '\0';
		p += strspn(p, " \t");
		/* " 20.   FEC_Uncorrected = 12": its number in the list */
		if (isdigit((unsigned char)*p) && p[rs_grid_digits(p)] == '.' &&
		    p[rs_grid_digits(p) + 1] == ' ')
			p += rs_grid_digits(p) + 1 + strspn(p + rs_grid_digits(p) + 1, " ");
		if (isdigit((unsigned char)*p) && strchr(p, ' ') && !strchr(p, ':') &&
		    !strchr(p, '=')) {
			p[strcspn(p, ":")] = '\0';
			count(g, p);
		} else if ((strchr(p, ':') && rs_line_pair(p, ':', &key, &value)) ||
			   (strchr(p, '=') && rs_line_pair(p, '=', &key, &value)) ||
			   said(p, &key, &value)) {
			rs_grid_judge(g, key, value);
			/* "Input: 912331 input errors" */
			if (isdigit((unsigned char)*value))
				count(g, value);
		}
		p = next;
	}
}

/* "Hi Priority Drop Pkts          812" */
bool rs_grid_spaced(struct rs_grid *g)
{
	char copy[RS_GRID_TEXT];
	struct rs_grid_cell c[RS_GRID_COLUMNS];
	double v;

	snprintf(copy, sizeof(copy), "%s", g->wide);
	if (rs_grid_cells(copy, c, false) != 2 || !rs_term_number(c[1].text, &v) ||
	    isdigit((unsigned char)*c[0].text) || strchr(c[0].text, ':'))
		return false;
	rs_grid_judge(g, c[0].text, c[1].text);
	return true;
}

/* '1) "fan1"', and '2) "OK"' below it: fields of a hash of Redis and their values. */
bool rs_grid_numbered(struct rs_grid *g)
{
	char value[RS_TERM_NAME];
	const char *p = g->line.text;
	unsigned long number;
	char *end;
	size_t n;

	if (!isdigit((unsigned char)*p))
		return false;
	number = strtoul(p, &end, 10);
	if (strncmp(end, ") \"", 3) || !number || number > 100000)
		return false;
	p = end + 3;
	n = strlen(p);
	n -= n && p[n - 1] == '"';
	if (number % 2) {
		g->field_number = (unsigned)number;
		snprintf(g->field, sizeof(g->field), "%.*s", (int)n, p);
		return true;
	}
	if (number != g->field_number + 1)
		return true;
	snprintf(value, sizeof(value), "%.*s", (int)n, p);
	snprintf(g->line.text, RS_GRID_TEXT / 2, "%s: %s", g->field, value);
	if (!strcmp(g->field, "admin_status") && !strcmp(value, "down")) {
		rs_grid_tell(g, "port-disabled");
		g->shut = true;
	}
	rs_grid_judge(g, g->field, value);
	return true;
}

/* "Rx Optical Power (avg dBm) -24.81  5.00  4.00": a name that ends in its unit, and its value. */
bool rs_grid_measured(struct rs_grid *g)
{
	char copy[RS_GRID_TEXT], *end;
	double v;

	snprintf(copy, sizeof(copy), "%.*s", RS_GRID_TEXT - 1, g->line.text);
	end = strchr(copy, ')');
	if (!end || strchr(copy, ':') || !strchr(copy, '(') || end[1] != ' ' ||
	    (g->columns && strstr(copy, "hreshold")))
		return false;
	end += 1 + strspn(end + 1, " ");
	end[-1] = '\0';
	end[strcspn(end, " ")] = '\0';
	if (!isalpha((unsigned char)*copy) || !rs_term_number(end, &v))
		return false;
	rs_grid_judge(g, copy, end);
	return true;
}

/* "Total Dropped Packets..................... 0" */
bool rs_grid_dotted(struct rs_grid *g)
{
	char copy[RS_GRID_TEXT], *dots;

	snprintf(copy, sizeof(copy), "%.*s", RS_GRID_TEXT - 1, g->line.text);
	dots = strstr(copy, "....");
	if (!dots)
		return false;
	*dots = '\0';
	dots += 1 + strspn(dots + 1, ".");
	rs_grid_judge(g, copy, dots + strspn(dots, " "));
	return true;
}

/* ---- Trees ---- */

bool rs_grid_tree(struct rs_grid *g)
{
	char copy[RS_GRID_TEXT], *value;
	size_t n = strlen(g->line.text);

	if (!g->tree || !n)
		return false;
	snprintf(copy, sizeof(copy), "%.*s", RS_GRID_TEXT - 1, g->line.text);
	n = strlen(copy);
	if (copy[0] == '}') {
		g->depth -= g->depth > 0;
		rs_grid_context(g);
		return true;
	}
	if (copy[n - 1] == '{') {
		copy[n - 1] = '\0';
		value = strchr(copy, ' ');
		if (value && rs_grid_port_at(value + 1, true, g->entry, sizeof(g->entry)))
			g->frames = -1;
		if (g->depth < RS_GRID_DEPTH)
			rs_term_plain(copy, g->path[g->depth++], RS_GRID_NAME);
		rs_grid_context(g);
		return true;
	}
	value = strchr(copy, ' ');
	if (!value)
		return false;
	*value++ = '\0';
	rs_grid_judge(g, copy, value);
	return true;
}

/* Lines without a key, below a heading that tells what they are. */
void rs_grid_listed(struct rs_grid *g)
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
		rs_grid_tell(g, "optics-alarm");
	if (rs_term_in("mismatch", g->section) &&
	    rs_term_in(" qos | vlt | vlan | mtu | unit ", g->section) &&
	    !rs_term_in("no mismatch", plain))
		rs_grid_tell(g, "mlag-differs");
}

void rs_grid_hash(struct rs_grid *g)
{
	if (!rs_term_in("hash field|hash", g->context))
		return;
	if (strcasestr(g->line.text, "SRC_IP")) {
		g->hashed = true;
		g->hash_line = g->line.number;
	}
	g->hash_port |= strcasestr(g->line.text, "L4_SRC_PORT") != NULL;
}

/* ---- Hardware and alarms ---- */

static bool of_hardware(const struct rs_grid *g)
{
	return g->shown && rs_term_in(RS_TERM_HARDWARE "| power ", g->command) &&
	       !rs_term_in("interface|transceiver|optic|counters|alarm|module type", g->command);
}

/* What a cell of at most three words says of a part: "Not OK", "Input Fault", "NotSupply". */
static const char *part_state(const char *text)
{
	/* "Shutdown": NX-OS's word for a supply that gets no power, or rests as a spare */
	static const char *const gone[] = {" absent ", " not present ", " missing ",
					   " not inserted ", " shutdown "};
	char plain[RS_TERM_NAME], part[48];
	unsigned words = 0;

	rs_term_words(text, plain, sizeof(plain));
	for (const char *p = plain; *p; p++)
		words += *p == ' ';
	if (words > 5 ||
	    rs_term_in(" no fault| no alarm| no error| none |thresh| configured | admin", plain))
		return NULL;
	for (unsigned i = 0; i < sizeof(gone) / sizeof(*gone); i++)
		if (!strcmp(plain, gone[i]))
			return "hardware-gone";
	/* Junos: "Check" is what its alarms call a fault; a light may stand one blank behind */
	if (!strncmp(plain, " warning ", 9) || !strcmp(plain, " check "))
		return "switch-hardware";
	for (const char *p = RS_TERM_BROKEN; *p; p += strcspn(p, "|"), p += *p == '|') {
		snprintf(part, sizeof(part), " %.*s ", (int)strcspn(p, "|"), p);
		if (strstr(plain, part))
			return "switch-hardware";
	}
	return NULL;
}

/* A part of the switch, whatever the table's form: a cell that is a state of what is broken. */
void rs_grid_part(struct rs_grid *g)
{
	char copy[RS_GRID_TEXT], port[RS_GRID_NAME];
	const char *is;
	struct rs_grid_cell c[RS_GRID_COLUMNS];
	unsigned n;

	/* a line without a number is a head */
	if (!of_hardware(g) || !strpbrk(g->line.text, "0123456789"))
		return;
	snprintf(copy, sizeof(copy), "%s", g->wide);
	n = rs_grid_cells(copy, c, false);
	/* a port's state is not its switch's */
	if (rs_grid_port_at(c[0].text, true, port, sizeof(port)))
		return;
	/* "FAN 2 is FAULTY" */
	if (n == 1 && (is = strstr(c[0].text, " is ")))
		rs_grid_tell(g, part_state(is + 4));
	/* a legend; in a row of cells '-' is an empty one */
	if (n < 4 && strstr(g->line.text, " - "))
		return;
	for (unsigned i = 1; i < n; i++)
		rs_grid_tell(g, part_state(c[i].text));
}

const char *rs_grid_said(const char *command, const char *plain)
{
	static const struct {
		const char *command, *words, *but, *key;
	} said[] = {
		{"redundancy summary", "node not ready", NULL, "switch-card"},
		{" ntp| ptp|clock|chrony",
		 "unsynchron|not synchron|no sync|freerun|free run|holdover", NULL, "switch-clock"},
		{"license|licence",
		 " grace |expired|out of compliance|invalid|not authorized|"
		 "unlicensed",
		 "never|grace period 0", "switch-licence"},
		{"reboot cause|reload cause|reset reason|reset cause|reboot history|system reset",
		 "hap reset|ha policy|watchdog|fatal|panic|crash|thermal|power "
		 "loss|overheat|parity|machine check",
		 "user", "switch-crash"},
		{" bgp", "bfd enabled session down", NULL, "bfd-down"},
		{"monit |services status|processes summary|system health|sysready",
		 "status failed|not running|does not exist|services are not up|"
		 "execution failed",
		 NULL, "switch-crash"},
	};

	for (unsigned i = 0; command && i < sizeof(said) / sizeof(*said); i++)
		if (rs_term_in(said[i].command, command) && rs_term_in(said[i].words, plain) &&
		    !(said[i].but && rs_term_in(said[i].but, plain)))
			return said[i].key;
	return NULL;
}

/* What a command's lines say in words, without a column or a key. */
void rs_grid_words(struct rs_grid *g)
{
	char plain[RS_TERM_CONTEXT];
	const char *peers = strstr(g->line.text, "Down peers: ");

	if (!g->shown)
		return;
	/* "Groups: 2 Peers: 6 Down peers: 1" */
	if (peers && peers[12] >= '1' && peers[12] <= '9')
		rs_grid_tell(g, "bgp-down");
	rs_term_plain(g->line.text, plain, sizeof(plain));
	rs_grid_tell(g, rs_grid_said(g->command, plain));
}
