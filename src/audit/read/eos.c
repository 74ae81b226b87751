/* Arista EOS: running-config and three tables of `show`. QoS maps and profiles, PFC, ECN,
 * interfaces. Traffic class, PFC priority and transmit queue have one number unless mapped. What a
 * running-config leaves out has EOS' default; that is left to the rules, here only what is written
 * counts. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/read/config.h"
#include "audit/read/readers.h"

static int score(const struct rs_input *in)
{
	static const char *const marks[] = {"\ninterface Ethernet",
					    "priority-flow-control",
					    "qos map dscp",
					    "\nqos profile ",
					    "random-detect ecn",
					    "   no switchport",
					    "error-correction enco",
					    "! Command: show runn",
					    "\n! device:",
					    "EOS-4.",
					    NULL};
	unsigned found = 0;

	/* NX-OS' and OS10's forms, which mqc.c reads; the last is EOS' as well */
	if (!rs_input_has(in, "tx-queue ") && !rs_input_has(in, "\nqos profile ") &&
	    (rs_input_has(in, "type network-qos") || rs_input_has(in, "type queuing") ||
	     rs_input_has(in, "service-policy type qos")))
		return 0;
	for (unsigned i = 0; marks[i]; i++)
		found += rs_input_has(in, marks[i]);
	return found >= 2 ? 82 : 0;
}

struct eos {
	struct rs_audit *a;
	const struct rs_input *in;
	struct rs_config c;
	bool pfc_anywhere, queues_anywhere; /* a port without such lines has EOS' default */
};

static void __attribute__((format(printf, 5, 6)))
say(struct eos *e, uint32_t line, const char *port, const char *name, const char *fmt, ...)
{
	char subject[160], value[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	snprintf(subject, sizeof(subject), "port/%s", port ? port : "");
	rs_input_add(e->a, e->in, line, NULL, port ? subject : "host", name, "%s", value);
}

/* What a list of statements says of one port's queues and PFC. */
struct port {
	const char *name;
	uint32_t on_line, trust_line, dog_line;
	const char *trust; /* NULL: not said */
	bool pfc_on, pfc_said, watchdog, dog_off;
	int8_t no_drop[8]; /* 1: no-drop, 0: drop, -1: not said */
	uint32_t no_drop_line[8];
};

static int priority(const char *v)
{
	return v[0] >= '0' && v[0] <= '7' && !v[1] ? v[0] - '0' : -1;
}

/* A size in bytes; times and segments depend on what EOS does with them: -1. */
static int64_t bytes(const char *number, const char *unit)
{
	int64_t n = strtoll(number, NULL, 10);

	if (n < 0 || n > 1000000000)
		return -1;
	return !strcmp(unit, "bytes")    ? n
	       : !strcmp(unit, "kbytes") ? n * 1000
	       : !strcmp(unit, "mbytes") ? n * 1000000
					 : -1;
}

/* The same, or a time of the queue at the port's rate, or segments, whose size is the platform's.
 */
static int64_t amount(const char *number, const char *unit, const char **as)
{
	static const struct {
		const char *unit, *as;
		int64_t times;
	} others[] = {{"segments", "_segments", 1},
		      {"nanoseconds", "_ns", 1},
		      {"microseconds", "_ns", 1000},
		      {"milliseconds", "_ns", 1000000}};
	char *end;
	long n = strtol(number, &end, 10);

	for (unsigned i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strcmp(unit, others[i].unit) && !*end && end != number && n >= 0 &&
		    n < 1000000000) {
			*as = others[i].as;
			return n * others[i].times;
		}
	return bytes(number, unit);
}

/* "random-detect ecn minimum-threshold 320 kbytes maximum-threshold 320 kbytes
 * max-mark-probability 90", after the queue's number. */
static void marking(struct eos *e, const struct port *p, const struct rs_statement *s, unsigned at,
		    int queue)
{
	static const struct {
		const char *word, *fact;
	} limits[] = {{"minimum-threshold", "kmin"}, {"maximum-threshold", "kmax"}};
	char name[64];

	if (at + 2 >= s->n || strcmp(s->word[at], "random-detect") ||
	    strcmp(s->word[at + 1], "ecn") || !strcmp(s->word[at + 2], "count"))
		return;
	snprintf(name, sizeof(name), "queue/%d/ecn", queue);
	say(e, s->line, p->name, name, "1");
	for (unsigned i = at + 2; i + 2 < s->n; i++)
		for (unsigned k = 0; k < 2; k++) {
			const char *as = "";
			int64_t n;

			if (strcmp(s->word[i], limits[k].word))
				continue;
			n = amount(s->word[i + 1], s->word[i + 2], &as);
			if (n < 0)
				continue;
			snprintf(name, sizeof(name), "queue/%d/%s%s", queue, limits[k].fact, as);
			say(e, s->line, p->name, name, "%lld", (long long)n);
		}
	for (unsigned i = at + 2; i + 1 < s->n; i++)
		if (!strcmp(s->word[i], "max-mark-probability")) {
			snprintf(name, sizeof(name), "queue/%d/pmax", queue);
			say(e, s->line, p->name, name, "%s", s->word[i + 1]);
		}
}

static void queue(struct eos *e, const struct port *p, const struct rs_statement *s, unsigned at)
{
	char name[64];
	int q;

	if (at + 2 >= s->n ||
	    (strcmp(s->word[at], "tx-queue") && strcmp(s->word[at], "uc-tx-queue")))
		return;
	q = priority(s->word[at + 1]);
	if (q < 0)
		return;
	at += 2;
	marking(e, p, s, at, q);
	snprintf(name, sizeof(name), "queue/%d/scheduler", q);
	if (s->n == at + 2 && !strcmp(s->word[at], "priority") &&
	    !strcmp(s->word[at + 1], "strict"))
		say(e, s->line, p->name, name, "STRICT");
	else if (s->n == at + 2 && !strcmp(s->word[at], "no") &&
		 !strcmp(s->word[at + 1], "priority"))
		say(e, s->line, p->name, name, "DWRR");
	snprintf(name, sizeof(name), "queue/%d/weight", q);
	if (s->n == at + 3 && !strcmp(s->word[at], "bandwidth") &&
	    !strcmp(s->word[at + 1], "percent"))
		say(e, s->line, p->name, name, "%s", s->word[at + 2]);
}

static void flow_control(struct port *p, const struct rs_statement *s, unsigned at)
{
	unsigned left = s->n - at;
	const char *const *w = s->word + at;
	int n;

	if (left == 4 && !strcmp(w[0], "no") && !strcmp(w[1], "priority-flow-control") &&
	    !strcmp(w[2], "pause") && !strcmp(w[3], "watchdog")) {
		p->watchdog = false;
		p->dog_off = true;
		p->dog_line = s->line;
		return;
	}
	if (left > 1 && !strcmp(w[0], "no") && !strcmp(w[1], "priority-flow-control") &&
	    (left == 2 || !strcmp(w[2], "on") || !strcmp(w[2], "mode"))) {
		p->pfc_said = true;
		p->pfc_on = false;
		return;
	}
	if (!left || strcmp(w[0], "priority-flow-control"))
		return;
	p->pfc_said = true;
	if ((left == 2 && !strcmp(w[1], "on")) ||
	    (left == 3 && !strcmp(w[1], "mode") && !strcmp(w[2], "on"))) {
		p->pfc_on = true;
		p->on_line = s->line;
	} else if (left == 4 && !strcmp(w[1], "priority") && (n = priority(w[2])) >= 0) {
		p->no_drop[n] = !strcmp(w[3], "no-drop");
		p->no_drop_line[n] = s->line;
	} else if (left >= 3 && !strcmp(w[1], "pause") && !strcmp(w[2], "watchdog")) {
		p->watchdog = true;
		p->dog_off = false;
		p->dog_line = s->line;
	}
}

/* Below `interface X` and below a profile that it uses the same lines stand; the last one said
 * wins. */
static void settings(struct port *p, const struct rs_statement *s, unsigned at)
{
	unsigned left = s->n - at;
	const char *const *w = s->word + at;

	flow_control(p, s, at);
	if (left == 3 && !strcmp(w[0], "qos") && !strcmp(w[1], "trust")) {
		p->trust = !strcmp(w[2], "cos") ? "pcp" : w[2];
		p->trust_line = s->line;
	} else if (left == 3 && !strcmp(w[0], "no") && !strcmp(w[1], "qos") &&
		   !strcmp(w[2], "trust")) {
		p->trust = "none";
		p->trust_line = s->line;
	}
}

/* "400g-8", "forced 100gfull", "100g". */
static int speed_mbps(const char *v)
{
	char *end;
	long n = strtol(v, &end, 10);

	return n > 0 && n <= 1600 && tolower((unsigned char)*end) == 'g' ? (int)n * 1000 : 0;
}

static void interface_line(struct eos *e, const struct port *p, const struct rs_statement *s)
{
	const char *last = s->word[s->n - 1];
	char text[200] = "";

	if (rs_config_match(s, "interface ? mtu ?", NULL))
		say(e, s->line, p->name, "mtu_ip", "%s", last);
	else if (rs_config_match(s, "interface ? l2 mtu ?", NULL))
		say(e, s->line, p->name, "mtu_l2", "%s", last);
	else if (rs_config_match(s, "interface ? shutdown", NULL))
		say(e, s->line, p->name, "admin", "down");
	else if (rs_config_match(s, "interface ? no switchport", NULL))
		say(e, s->line, p->name, "routed", "1");
	else if (rs_config_match(s, "interface ? speed *", NULL) && speed_mbps(last))
		say(e, s->line, p->name, "speed_mbps", "%d", speed_mbps(last));
	else if (rs_config_match(s, "interface ? error-correction encoding ?", NULL))
		say(e, s->line, p->name, "fec", "%s",
		    !strcmp(last, "reed-solomon") ? "rs"
		    : !strcmp(last, "fire-code")  ? "fc"
						  : last);
	else if (rs_config_match(s, "interface ? no error-correction encoding", NULL))
		say(e, s->line, p->name, "fec", "none");
	else if (rs_config_match(s, "interface ? description *", NULL) && s->n > 3) {
		for (unsigned i = 3; i < s->n; i++)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
				 i > 3 ? " " : "", s->word[i]);
		say(e, s->line, p->name, "description", "%s", text);
	}
}

static void profile(struct eos *e, struct port *p, const char *name)
{
	char pattern[200];
	const struct rs_statement *s;
	uint32_t at = 0;

	snprintf(pattern, sizeof(pattern), "qos profile %s *", name);
	while ((s = rs_config_next(&e->c, &at, pattern, NULL))) {
		queue(e, p, s, 3);
		settings(p, s, 3);
	}
}

static void port_end(struct eos *e, const struct port *p, bool all_off)
{
	char name[16];

	if (p->trust)
		say(e, p->trust_line, p->name, "trust", "%s", p->trust);
	if (p->watchdog || p->dog_off)
		say(e, p->dog_line, p->name, "watchdog", "%s", p->watchdog ? "on" : "off");
	if (e->queues_anywhere)
		say(e, 0, p->name, "queues_seen", "1");
	if (!e->pfc_anywhere)
		return;
	say(e, p->on_line, p->name, "pfc_seen", "1");
	/* on, and no priority is no-drop: it pauses for none */
	if (p->pfc_on && !all_off && !memchr(p->no_drop, 1, sizeof(p->no_drop)))
		say(e, p->on_line, p->name, "pfc_no_class", "priority-flow-control on");
	for (int n = 0; n < 8; n++) {
		if (p->no_drop[n] < 0)
			continue;
		snprintf(name, sizeof(name), "pfc/%d", n);
		say(e, p->no_drop_line[n], p->name, name, "%d",
		    p->no_drop[n] && p->pfc_on && !all_off);
	}
}

/* One interface: its lines stand together. Returns the index behind them. */
static uint32_t interface(struct eos *e, uint32_t from, bool all_off)
{
	struct port p = {.name = e->c.at[from].word[1]};
	const char *got[RS_CONFIG_CAPTURES], *uses = NULL;
	uint32_t i = from;

	memset(p.no_drop, -1, sizeof(p.no_drop));
	for (; i < e->c.n && e->c.at[i].n > 1 && !strcmp(e->c.at[i].word[0], "interface") &&
	       !strcmp(e->c.at[i].word[1], p.name);
	     i++)
		if (rs_config_match(&e->c.at[i], "interface ? service-profile ?", got))
			uses = got[1];
	/* an interface's own lines win over its profile's: facts by being first, settings by being
	 * last */
	for (uint32_t k = from; k < i; k++) {
		interface_line(e, &p, &e->c.at[k]);
		queue(e, &p, &e->c.at[k], 2);
	}
	if (uses)
		profile(e, &p, uses);
	for (uint32_t k = from; k < i; k++)
		if (e->c.at[k].n > 2)
			settings(&p, &e->c.at[k], 2);
	port_end(e, &p, all_off);
	return i;
}

/* Numbers of "8 9 10-12,14" between words: a fact each. */
static void numbers(struct eos *e, const struct rs_statement *s, unsigned from, unsigned to,
		    const char *fmt, const char *value)
{
	for (unsigned w = from; w < to; w++)
		for (const char *p = s->word[w]; *p; p += strcspn(p, ","), p += *p == ',') {
			int a, b, used;

			if (sscanf(p, "%d%n", &a, &used) < 1)
				continue;
			if (p[used] != '-' || sscanf(p + used + 1, "%d", &b) != 1)
				b = a;
			for (int n = a; n >= 0 && n <= b && n < 64; n++) {
				char name[64];

				snprintf(name, sizeof(name), fmt, n);
				say(e, s->line, "*", name, "%s", value);
			}
		}
}

/* "qos map dscp LIST to traffic-class N": the switch's, for every port that trusts DSCP. */
static void maps(struct eos *e, const struct rs_statement *s)
{
	unsigned to = 0;

	for (unsigned i = 3; i + 2 < s->n && !to; i++)
		if (!strcmp(s->word[i], "to"))
			to = i;
	if (s->n < 6 || !to || strcmp(s->word[0], "qos") || strcmp(s->word[1], "map"))
		return;
	if (!strcmp(s->word[2], "dscp") && !strcmp(s->word[to + 1], "traffic-class"))
		numbers(e, s, 3, to, "dscp_to_tc/%d", s->word[to + 2]);
	else if (!strcmp(s->word[2], "traffic-class") &&
		 (!strcmp(s->word[to + 1], "tx-queue") || !strcmp(s->word[to + 1], "uc-tx-queue")))
		numbers(e, s, 3, to, "tc_to_queue/%d", s->word[to + 2]);
}

/* Seconds, as EOS takes them, in milliseconds. */
static void milliseconds(struct eos *e, const struct rs_statement *s, const char *name)
{
	double v = strtod(s->word[s->n - 1], NULL);

	if (v > 0 && v < 1e6)
		say(e, s->line, "*", name, "%.0f", v * 1000);
	/* a timeout for all ports turns the watchdog on; a port may be taken out */
	if (v > 0 && !strcmp(name, "watchdog/detection_ms"))
		say(e, s->line, "*", "watchdog", "on");
}

static void global_line(struct eos *e, const struct rs_statement *s)
{
	const char *got[RS_CONFIG_CAPTURES];

	maps(e, s);
	if (rs_config_match(s, "hostname ?", got))
		say(e, s->line, NULL, "hostname", "%s", got[0]);
	else if (rs_config_match(s, "priority-flow-control all off", got))
		say(e, s->line, NULL, "pfc_all_off", "1");
	else if (rs_config_match(s, "priority-flow-control pause watchdog default timeout ?", got))
		milliseconds(e, s, "watchdog/detection_ms");
	else if (rs_config_match(s, "priority-flow-control pause watchdog default recovery-time ?",
				 got))
		milliseconds(e, s, "watchdog/restoration_ms");
	else if (rs_config_match(s, "priority-flow-control pause watchdog action ?", got))
		say(e, s->line, "*", "watchdog/action", "%s", got[0]);
}

static int read_eos(struct rs_audit *a, const struct rs_input *in)
{
	struct eos e = {.a = a, .in = in};
	bool all_off;

	if (rs_config_create(&e.c))
		return -ENOMEM;
	rs_config_indented(&e.c, in);
	say(&e, 0, NULL, "role", "switch");
	say(&e, 0, NULL, "os", "EOS");
	say(&e, 0, NULL, "config_seen", "1");
	all_off = rs_config_find(&e.c, "priority-flow-control all off", NULL) != NULL;
	e.pfc_anywhere = rs_config_find(&e.c, "interface ? priority-flow-control *", NULL) ||
			 rs_config_find(&e.c, "qos profile ? priority-flow-control *", NULL);
	e.queues_anywhere = rs_config_find(&e.c, "interface ? tx-queue *", NULL) ||
			    rs_config_find(&e.c, "qos profile ? tx-queue *", NULL) ||
			    rs_config_find(&e.c, "qos profile ? uc-tx-queue *", NULL);
	for (uint32_t i = 0; i < e.c.n;) {
		const struct rs_statement *s = &e.c.at[i];

		if (s->n > 1 && !strcmp(s->word[0], "interface") &&
		    !strncmp(s->word[1], "Ethernet", 8) && !strchr(s->word[1], '.')) {
			i = interface(&e, i, all_off);
			continue;
		}
		global_line(&e, s);
		i++;
	}
	rs_config_destroy(&e.c);
	return a->err;
}

static bool own_name(const struct rs_input *in, char *out, size_t size)
{
	return rs_input_word(in, "\nhostname ", out, size);
}

const struct rs_reader rs_reader_eos = {
	.name = "eos",
	.what = "Arista EOS running-config: DSCP and queue maps, PFC, ECN, watchdog, MTU, FEC",
	.trust = RS_TRUST_INTENT,
	.score = score,
	.settings = true,
	.read = read_eos,
	.own_name = own_name,
};

/* ---- show interfaces status, show lldp neighbors, show priority-flow-control counters ---- */

enum table { NO_TABLE, STATUS, NEIGHBOURS, PAUSES, STORMS, PFC_STATE, ERRDISABLED };

static enum table heading(const char *text)
{
	if (strncmp(text, "Port", 4))
		return NO_TABLE;
	if (strstr(text, "Neighbor Device ID") && strstr(text, "Neighbor Port ID"))
		return NEIGHBOURS;
	if (strstr(text, "Status") && strstr(text, "Vlan") && strstr(text, "Speed"))
		return STATUS;
	if (strstr(text, "Status") && strstr(text, "Reason"))
		return ERRDISABLED;
	if ((strstr(text, "Status") || strstr(text, "Enabled")) && strstr(text, "Priorities"))
		return PFC_STATE;
	if (strstr(text, "TxQ") && strstr(text, "Total times"))
		return STORMS;
	return strstr(text, "RxPfc") && strstr(text, "TxPfc") ? PAUSES : NO_TABLE;
}

static int score_show(const struct rs_input *in)
{
	struct rs_line l = {.number = 0};

	for (unsigned i = 0; i < 40 && rs_line_next(in, &l); i++)
		if (heading(l.text) != NO_TABLE)
			return 83;
	return 0;
}

/* "Et1/1" is Ethernet1/1; false: no port. */
static bool port_name(const char *word, char *out, size_t size)
{
	if (!strncmp(word, "Ethernet", 8) && isdigit((unsigned char)word[8]))
		word += 6;
	else if (!strncmp(word, "Eth", 3) && isdigit((unsigned char)word[3]) && strchr(word, '/'))
		word += 1; /* NX-OS */
	else if (strncmp(word, "Et", 2) || !isdigit((unsigned char)word[2]))
		return false;
	snprintf(out, size, "Ethernet%.40s", word + 2);
	return true;
}

/* "connected", "notconnect", "disabled" stands behind a name that may have blanks; the speed two
 * words behind it. */
static void status_row(struct eos *e, uint32_t line, const char *port, char **w, unsigned n)
{
	static const char *const states[] = {"connected", "notconnect", "disabled", "errdisabled",
					     "inactive"};

	char name[80] = "";

	for (unsigned i = 1; i + 3 < n; i++)
		for (unsigned k = 0; k < sizeof(states) / sizeof(*states); k++) {
			const char *speed =
				w[i + 3] + (w[i + 3][0] == 'a' && w[i + 3][1] == '-') * 2;

			if (strcmp(w[i], states[k]))
				continue;
			for (unsigned d = 1; d < i; d++)
				snprintf(name + strlen(name), sizeof(name) - strlen(name), "%s%s",
					 d > 1 ? " " : "", w[d]);
			if (*name)
				say(e, line, port, "description", "%s", name);
			say(e, line, port, "link_state", "%s", w[i]);
			if (k == 2)
				say(e, line, port, "admin", "down");
			if (speed_mbps(speed) && k == 0)
				say(e, line, port, "speed_mbps", "%d", speed_mbps(speed));
			if (i + 4 < n && k == 0)
				say(e, line, port, "media", "%s", w[i + 4]);
			return;
		}
}

/* "Et1/1  E A W  34  drop ...": enabled, active, watchdog, and the priorities as digits; older
 * releases "Ethernet1  Yes  3  Yes  DCBX disabled": enabled, priorities, active, a note. */
static void pfc_row(struct eos *e, uint32_t line, const char *port, char **w, unsigned n)
{
	bool words = n > 3 && (!strcmp(w[1], "Yes") || !strcmp(w[1], "No"));
	bool enabled = n > 1 && (*w[1] == 'E' || *w[1] == 'Y'), active = false;
	const char *priorities = "";
	unsigned i = 1;

	if (words) {
		priorities = w[2];
		active = !strcmp(w[3], "Yes");
	} else {
		for (; i < n && !w[i][1] && strchr("EDAW-", w[i][0]); i++)
			active |= w[i][0] == 'A';
		priorities = i < n ? w[i] : "";
		if (i == 1)
			return;
	}
	/* enabled or not, active or not, watchdog or not; older releases have the first two */
	if (!words && enabled && i == 4 && (*w[3] == 'W' || *w[3] == '-'))
		say(e, line, port, "watchdog", "%s", *w[3] == 'W' ? "on" : "off");
	say(e, line, port, "pfc_mode", "%s", enabled ? "On" : "Off");
	say(e, line, port, "pfc_oper", "%s", active ? "On" : "Off");
	say(e, line, port, "pfc_seen", "1");
	for (const char *p = priorities; active && isdigit((unsigned char)*p); p++)
		if (*p < '8') {
			char name[16];

			snprintf(name, sizeof(name), "pfc/%c", *p);
			say(e, line, port, name, "1");
		}
}

static void row(struct eos *e, enum table t, uint32_t line, char **w, unsigned n)
{
	char port[64];

	if (!n || !port_name(w[0], port, sizeof(port)))
		return;
	if (t == ERRDISABLED) {
		for (unsigned i = 1; i < n; i++)
			if (!strcmp(w[i], "errdisabled"))
				say(e, line, port, "link_state", "errdisabled%s%s",
				    i + 1 < n ? ": " : "", i + 1 < n ? w[i + 1] : "");
	} else if (t == PFC_STATE) {
		pfc_row(e, line, port, w, n);
	} else if (t == STATUS) {
		status_row(e, line, port, w, n);
	} else if (t == NEIGHBOURS && n >= 3) {
		say(e, line, port, "neighbour", "%s", w[1]);
		say(e, line, port, "neighbour_port", "%s", w[2]);
	} else if (t == STORMS && n == 4) {
		/* Port TxQ stuck recovered: "Et5/1 UC3 12 11" */
		const char *queue = w[1] + strcspn(w[1], "0123456789");
		char name[48];

		snprintf(name, sizeof(name), "watchdog/%d/detected", atoi(queue));
		say(e, line, port, name, "%s", w[2]);
		snprintf(name, sizeof(name), "watchdog/%d/restored", atoi(queue));
		say(e, line, port, name, "%s", w[3]);
	} else if (t == PAUSES && n == 3) {
		say(e, line, port, "counter/rx_pause", "%s", w[1]);
		say(e, line, port, "counter/tx_pause", "%s", w[2]);
	}
}

/* Its ports are "Eth1/1", EOS' are "Et1/1". */
static bool is_nxos(const struct rs_input *in)
{
	struct rs_line l = {.number = 0};

	for (unsigned i = 0; i < 80 && rs_line_next(in, &l); i++)
		if (!strncmp(l.text, "Eth", 3) && isdigit((unsigned char)l.text[3]))
			return true;
	return false;
}

static int read_show(struct rs_audit *a, const struct rs_input *in)
{
	struct eos e = {.a = a, .in = in};
	struct rs_line l = {.number = 0};
	enum table t = NO_TABLE;
	char *w[16];

	say(&e, 0, NULL, "role", "switch");
	say(&e, 0, NULL, "os", is_nxos(in) ? "NX-OS" : "EOS");
	while (rs_line_next(in, &l)) {
		enum table next = heading(l.text);
		double s;

		if (sscanf(l.text, "The PFC watchdog timeout is %lf second", &s) == 1 && s > 0)
			say(&e, l.number, "*", "watchdog/detection_ms", "%.0f", s * 1000);
		else if (sscanf(l.text, "The PFC watchdog recovery-time is %lf second", &s) == 1 &&
			 s > 0)
			say(&e, l.number, "*", "watchdog/restoration_ms", "%.0f", s * 1000);
		t = next != NO_TABLE ? next : l.text[0] ? t : NO_TABLE;
		if (next == NO_TABLE && t != NO_TABLE)
			row(&e, t, l.number, w, rs_line_words(l.text, w, 16));
	}
	return a->err;
}

const struct rs_reader rs_reader_eos_show = {
	.name = "eos-show",
	.what = "Arista EOS show interfaces status, lldp neighbors, priority-flow-control counters "
		"[watchdog]",
	.trust = RS_TRUST_TOOL,
	.score = score_show,
	.read = read_show,
};
