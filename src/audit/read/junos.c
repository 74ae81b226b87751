/* Junos and Junos Evolved configuration, in braces or as `set` lines: class of service, interfaces,
 * hashing. Numbers of queue and of PFC priority differ there (queue 4, priority 3), so the class of
 * a DSCP is its queue, and its group the PFC priority of its forwarding class. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/read/config.h"
#include "audit/read/readers.h"

enum { CLASSES = 16, PORTS = 1024, COS_STATEMENTS = 4096 };

static int score(const struct rs_input *in)
{
	static const char *const marks[] = {"set class-of-service ",
					    "\nclass-of-service {",
					    "set system host-name ",
					    "\n    host-name ",
					    "set interfaces et-",
					    "\ninterfaces {",
					    "set forwarding-options ",
					    "congestion-notification-profile",
					    "family inet",
					    "forwarding-classes",
					    NULL};
	unsigned found = 0;

	for (unsigned i = 0; marks[i]; i++)
		found += rs_input_has(in, marks[i]);
	if (!strncmp(in->data, "class-of-service {", 18) || !strncmp(in->data, "interfaces {", 12))
		found++;
	return found >= 2 ? 86 : 0;
}

/* A forwarding class; what Junos defines of itself has no priority of its own. */
struct class
{
	const char *name;
	int queue, priority; /* -1: not known */
	bool no_loss;
	uint32_t line;
};

struct junos {
	struct rs_audit *a;
	const struct rs_input *in;
	struct rs_config c, cos; /* all; what lies below class-of-service */
	struct class class[CLASSES];
	unsigned n_classes;
	struct port {
		const char *name;
		int speed_mbps;
		uint32_t speed_line;
		bool split;
	} port[PORTS];
	unsigned n_ports;
};

static void __attribute__((format(printf, 5, 6)))
say(struct junos *j, uint32_t line, const char *port, const char *name, const char *fmt, ...)
{
	char subject[160], value[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	snprintf(subject, sizeof(subject), "port/%s", port);
	rs_input_add(j->a, j->in, line, NULL, port ? subject : "host", name, "%s", value);
}

static struct class *class_of(struct junos *j, const char *name, bool make)
{
	for (unsigned i = 0; i < j->n_classes; i++)
		if (!strcmp(j->class[i].name, name))
			return &j->class[i];
	if (!make || j->n_classes == CLASSES)
		return NULL;
	j->class[j->n_classes] = (struct class){.name = name, .queue = -1, .priority = -1};
	return &j->class[j->n_classes++];
}

static bool taken(const struct junos *j, int queue)
{
	for (unsigned i = 0; i < j->n_classes; i++)
		if (j->class[i].queue == queue)
			return true;
	return false;
}

/* class NAME queue-num N [no-loss] [pfc-priority P], together or a statement each. */
static void classes(struct junos *j)
{
	static const struct class defaults[] = {
		{"best-effort", 0, -1, false, 0},
		{"fcoe", 3, 3, true, 0},
		{"no-loss", 4, 4, true, 0},
		{"network-control", 7, -1, false, 0},
	};
	const struct rs_statement *s;
	const char *got[RS_CONFIG_CAPTURES];
	uint32_t at = 0;

	while ((s = rs_config_next(&j->cos, &at, "class-of-service forwarding-classes class ? *",
				   got))) {
		struct class *c = class_of(j, got[0], true);

		for (unsigned i = 4; c && i < s->n; i++) {
			const char *value = i + 1 < s->n ? s->word[i + 1] : "";

			if (!strcmp(s->word[i], "no-loss"))
				c->no_loss = true;
			else if (!strcmp(s->word[i], "queue-num") && isdigit((unsigned char)*value))
				c->queue = atoi(value);
			else if (!strcmp(s->word[i], "pfc-priority") && *value >= '0' &&
				 *value < '8')
				c->priority = *value - '0';
		}
		if (c)
			c->line = s->line;
	}
	for (at = 0; (s = rs_config_next(&j->cos, &at,
					 "class-of-service forwarding-classes queue ? ?", got));) {
		struct class *c = class_of(j, got[1], true);

		if (c && isdigit((unsigned char)*got[0]))
			c->queue = atoi(got[0]);
	}
	/* a queue that was given to another class is not the default's any more */
	for (unsigned i = 0; i < sizeof(defaults) / sizeof(*defaults); i++)
		if (!class_of(j, defaults[i].name, false) && !taken(j, defaults[i].queue) &&
		    j->n_classes < CLASSES)
			j->class[j->n_classes++] = defaults[i];
}

/* Six bits, or an alias of RFC 2474, 2597, 3246 as Junos spells it; -1: neither. */
static int code_point(const char *v)
{
	int n = 0;

	if (!strcmp(v, "ef"))
		return 46;
	if (!strcmp(v, "be"))
		return 0;
	if (!strncmp(v, "af", 2) && v[2] >= '1' && v[2] <= '4' && v[3] >= '1' && v[3] <= '3')
		return (v[2] - '0') * 8 + (v[3] - '0') * 2;
	if (!strncmp(v, "cs", 2) && v[2] >= '0' && v[2] <= '7' && !v[3])
		return (v[2] - '0') * 8;
	if (!strcmp(v, "nc1") || !strcmp(v, "nc2"))
		return v[2] == '1' ? 48 : 56;
	if (!*v || strspn(v, "01") != strlen(v) || strlen(v) > 6)
		return -1;
	for (; *v; v++)
		n = n * 2 + (*v - '0');
	return n;
}

static void say_number(struct junos *j, uint32_t line, const char *port, const char *fmt, int of,
		       int value)
{
	char name[64];

	snprintf(name, sizeof(name), fmt, of);
	say(j, line, port, name, "%d", value);
}

static void classifier(struct junos *j, const char *port, const struct rs_statement *b)
{
	const char *name = b->word[b->n - 1];
	const char *got[RS_CONFIG_CAPTURES];
	const struct rs_statement *s;
	char pattern[200];
	uint32_t at = 0;

	snprintf(pattern, sizeof(pattern),
		 "class-of-service classifiers dscp %s forwarding-class ? loss-priority ? "
		 "code-points ?",
		 name);
	say(j, b->line, port, "trust", "dscp");
	for (unsigned i = 0; i < j->n_classes; i++)
		if (j->class[i].queue >= 0) {
			char fact[64];

			snprintf(fact, sizeof(fact), "class/%d/name", j->class[i].queue);
			say(j, j->class[i].line, port, fact, "%s", j->class[i].name);
		}
	say(j, b->line, port, "dscp_to_tc_map", "%s", name);
	while ((s = rs_config_next(&j->cos, &at, pattern, got))) {
		struct class *c = class_of(j, got[0], false);
		int dscp = code_point(got[2]);

		if (dscp < 0 || !c || c->queue < 0)
			continue;
		say_number(j, s->line, port, "dscp_to_tc/%d", dscp, c->queue);
	}
}

/* The PFC priority of a class: its own, else that whose output the profile ties to its queue. */
static int priority_of(struct junos *j, const struct class *c, const char *profile)
{
	const char *got[RS_CONFIG_CAPTURES];
	char pattern[200];
	uint32_t at = 0;

	snprintf(pattern, sizeof(pattern),
		 "class-of-service congestion-notification-profile %s output ieee-802.1 "
		 "code-point ? flow-control-queue ?",
		 profile);
	while (c->priority < 0 && rs_config_next(&j->cos, &at, pattern, got))
		if (atoi(got[1]) == c->queue && code_point(got[0]) >= 0)
			return code_point(got[0]);
	return c->priority;
}

/* The profile's input: priorities or DSCPs whose congestion sends PFC. */
static void congestion(struct junos *j, const char *port, const struct rs_statement *b)
{
	const char *profile = b->word[b->n - 1];
	const char *got[RS_CONFIG_CAPTURES];
	const struct rs_statement *s;
	char pattern[200];
	uint32_t at = 0;
	bool on[8] = {false};

	say(j, b->line, port, "pfc_seen", "1");
	for (unsigned i = 0; i < j->n_classes; i++) {
		const struct class *c = &j->class[i];
		int p = priority_of(j, c, profile);

		if (c->queue < 0 || p < 0)
			continue;
		say_number(j, c->line, port, "tc_to_pg/%d", c->queue, p);
		/* what is built in is lossless only where the input names its priority */
		if (c->no_loss && c->line)
			on[p] = true;
	}
	snprintf(pattern, sizeof(pattern),
		 "class-of-service congestion-notification-profile %s input dscp code-point ? pfc "
		 "*",
		 profile);
	while ((s = rs_config_next(&j->cos, &at, pattern, got)))
		if (code_point(got[0]) >= 0)
			say_number(j, s->line, port, "pfc_dscp/%d", code_point(got[0]), 1);
	snprintf(
		pattern, sizeof(pattern),
		"class-of-service congestion-notification-profile %s input ieee-802.1 code-point ? "
		"pfc *",
		profile);
	for (at = 0; (s = rs_config_next(&j->cos, &at, pattern, got));)
		if (code_point(got[0]) >= 0 && code_point(got[0]) < 8)
			say_number(j, s->line, port, "pfc/%d", code_point(got[0]), 1);
	for (int p = 0; p < 8; p++)
		if (on[p])
			say_number(j, b->line, port, "pfc/%d", p, 1);
}

/* Where others have a profile and this port classifies without one, PFC is off here. */
static void unprotected(struct junos *j, const char *port, const struct rs_statement *b)
{
	if (!rs_config_find(&j->cos, "class-of-service congestion-notification-profile ? *", NULL))
		return;
	say(j, b->line, port, "pfc_seen", "1");
	for (unsigned i = 0; i < j->n_classes; i++)
		if (j->class[i].queue >= 0 && j->class[i].priority >= 0)
			say_number(j, j->class[i].line, port, "tc_to_pg/%d", j->class[i].queue,
				   j->class[i].priority);
}

static void watchdog(struct junos *j, const char *port, const char *profile)
{
	const char *got[RS_CONFIG_CAPTURES];
	const struct rs_statement *s;
	int64_t poll = 100, times = 2; /* Junos' defaults: two polls of 100 ms */
	char pattern[200];
	uint32_t at = 0, line = 0;

	snprintf(pattern, sizeof(pattern),
		 "class-of-service congestion-notification-profile %s pfc-watchdog *", profile);
	while ((s = rs_config_next(&j->cos, &at, pattern, NULL))) {
		line = s->line;
		for (unsigned i = 4; i + 1 < s->n; i++) {
			if (!strcmp(s->word[i], "poll-interval"))
				poll = atoi(s->word[i + 1]);
			if (!strcmp(s->word[i], "detection"))
				times = atoi(s->word[i + 1]);
			if (!strcmp(s->word[i], "recovery"))
				say(j, s->line, port, "watchdog/restoration_ms", "%s",
				    s->word[i + 1]);
			if (!strcmp(s->word[i], "watchdog-action"))
				say(j, s->line, port, "watchdog/action", "%s", s->word[i + 1]);
		}
	}
	snprintf(pattern, sizeof(pattern), "class-of-service congestion-notification-profile %s *",
		 profile);
	if (!line) {
		if (rs_config_find(&j->cos, pattern, got))
			say(j, 0, port, "watchdog", "off");
		return;
	}
	say(j, line, port, "watchdog", "on");
	if (poll > 0 && poll < 100000 && times > 0 && times < 1000)
		say(j, line, port, "watchdog/detection_ms", "%d", (int)(poll * times));
}

/* Fill levels at which marking begins and is certain, in per cent of what the queue may hold. */
static void drop_profile(struct junos *j, const char *port, int queue, const char *name)
{
	const char *got[RS_CONFIG_CAPTURES];
	int least = -1, most = -1, chance = -1, level;
	const struct rs_statement *s;
	char pattern[200];
	uint32_t at = 0, line = 0;

	snprintf(pattern, sizeof(pattern), "class-of-service drop-profiles %s *", name);
	while ((s = rs_config_next(&j->cos, &at, pattern, got)))
		for (unsigned i = 3; i + 1 < s->n; i++) {
			level = atoi(s->word[i + 1]);
			if (!strcmp(s->word[i], "drop-probability") && level > chance)
				chance = level;
			if (strcmp(s->word[i], "fill-level"))
				continue;
			least = least < 0 || level < least ? level : least;
			most = level > most ? level : most;
			line = s->line;
		}
	if (least < 0)
		return;
	say_number(j, line, port, "queue/%d/kmin_percent", queue, least);
	say_number(j, line, port, "queue/%d/kmax_percent", queue, most);
	if (chance >= 0)
		say_number(j, line, port, "queue/%d/pmax", queue, chance);
}

static void scheduler(struct junos *j, const char *port, int queue, const char *name)
{
	const struct rs_statement *s;
	char pattern[200], fact[64];
	uint32_t at = 0, marked = 0;

	snprintf(pattern, sizeof(pattern), "class-of-service schedulers %s *", name);
	while ((s = rs_config_next(&j->cos, &at, pattern, NULL))) {
		const char *last = s->word[s->n - 1];

		if (s->n == 4 && !strcmp(s->word[3], "explicit-congestion-notification"))
			marked = s->line;
		else if (s->n == 5 && !strcmp(s->word[3], "priority")) {
			snprintf(fact, sizeof(fact), "queue/%d/scheduler", queue);
			say(j, s->line, port, fact, "%s",
			    !strncmp(last, "strict", 6) ? "STRICT" : last);
		} else if (s->n == 6 && !strcmp(s->word[3], "transmit-rate") &&
			   !strcmp(s->word[4], "percent"))
			say_number(j, s->line, port, "queue/%d/weight", queue, atoi(last));
		else if (s->n > 5 && !strcmp(s->word[3], "drop-profile-map"))
			drop_profile(j, port, queue, last);
	}
	say_number(j, marked, port, "queue/%d/ecn", queue, marked != 0);
}

static void scheduler_map(struct junos *j, const char *port, const struct rs_statement *b)
{
	const char *name = b->word[b->n - 1];
	const char *got[RS_CONFIG_CAPTURES];
	char pattern[200];
	uint32_t at = 0;

	snprintf(pattern, sizeof(pattern),
		 "class-of-service scheduler-maps %s forwarding-class ? scheduler ?", name);
	say(j, b->line, port, "queues_seen", "1");
	while (rs_config_next(&j->cos, &at, pattern, got)) {
		struct class *c = class_of(j, got[0], false);

		if (c && c->queue >= 0)
			scheduler(j, port, c->queue, got[1]);
	}
}

/* What is bound to a port: the statement that names it, else the first whose wildcard means it.
 * NULL: nothing. Its last word is the name of what is bound. */
static const struct rs_statement *bound(struct junos *j, const char *port, const char *what)
{
	static const char *const forms[] = {"class-of-service interfaces ? %s ?",
					    "class-of-service interfaces ? unit ? %s ?"};
	const struct rs_statement *wild = NULL;

	for (unsigned i = 0; i < 2; i++) {
		const char *got[RS_CONFIG_CAPTURES];
		const struct rs_statement *s;
		char pattern[200];
		uint32_t at = 0;

		snprintf(pattern, sizeof(pattern), forms[i], what);
		while ((s = rs_config_next(&j->cos, &at, pattern, got))) {
			if (!strcmp(got[0], port))
				return s;
			if (!wild && rs_config_like(port, got[0]))
				wild = s;
		}
	}
	return wild;
}

static void bindings(struct junos *j, const char *port)
{
	const struct rs_statement *profile = bound(j, port, "congestion-notification-profile");
	const struct rs_statement *schedulers = bound(j, port, "scheduler-map");
	const struct rs_statement *dscp = bound(j, port, "classifiers dscp");
	const struct rs_statement *pcp = bound(j, port, "classifiers ieee-802.1");

	if (profile) {
		congestion(j, port, profile);
		watchdog(j, port, profile->word[profile->n - 1]);
	} else if (dscp) {
		unprotected(j, port, dscp);
	}
	if (schedulers)
		scheduler_map(j, port, schedulers);
	if (dscp)
		classifier(j, port, dscp);
	else if (pcp)
		say(j, pcp->line, port, "trust", "pcp");
}

/* A profile that no interface has, beside a class that is to lose nothing. */
static void unbound(struct junos *j)
{
	const struct rs_statement *profile = rs_config_find(
		&j->cos, "class-of-service congestion-notification-profile ? *", NULL);
	bool meant = false;

	for (unsigned i = 0; i < j->n_classes; i++)
		meant |= j->class[i].no_loss && j->class[i].line;
	if (profile && meant && rs_config_find(&j->cos, "class-of-service interfaces ? *", NULL) &&
	    !rs_config_find(&j->cos,
			    "class-of-service interfaces ? congestion-notification-profile ?",
			    NULL))
		say(j, profile->line, NULL, "pfc_unbound", "%s", profile->word[2]);
}

/* The stanza alone, without the interfaces: it speaks of all that it means. */
static void bare_bindings(struct junos *j)
{
	const char *got[RS_CONFIG_CAPTURES], *seen[16];
	unsigned n = 0;
	uint32_t at = 0;

	while (n < 16 && rs_config_next(&j->cos, &at, "class-of-service interfaces ? *", got)) {
		bool known = false;

		for (unsigned i = 0; i < n; i++)
			known |= !strcmp(seen[i], got[0]);
		if (known)
			continue;
		seen[n++] = got[0];
		bindings(j, got[0]);
	}
}

static int speed_mbps(const char *v)
{
	char *end;
	long n = strtol(v, &end, 10);

	if (n <= 0 || n > 2000)
		return 0;
	return !strcasecmp(end, "g") ? (int)n * 1000 : !strcasecmp(end, "m") ? (int)n : 0;
}

static struct port *port_of(struct junos *j, const char *name)
{
	for (unsigned i = 0; i < j->n_ports; i++)
		if (!strcmp(j->port[i].name, name))
			return &j->port[i];
	return NULL;
}

static void ports(struct junos *j)
{
	const char *got[RS_CONFIG_CAPTURES];
	const struct rs_statement *s;
	struct port *p = NULL;
	uint32_t at = 0;

	while ((s = rs_config_next(&j->c, &at, "interfaces ? *", got))) {
		if (strncmp(got[0], "et-", 3) && strncmp(got[0], "xe-", 3) &&
		    strncmp(got[0], "ge-", 3))
			continue;
		if (strchr(got[0], '*'))
			continue;
		if (!p || strcmp(p->name, got[0]))
			p = port_of(j, got[0]);
		if (!p && j->n_ports < PORTS) {
			p = &j->port[j->n_ports++];
			p->name = got[0];
		}
		if (!p)
			continue;
		if (rs_config_match(s, "interfaces ? speed ?", NULL)) {
			p->speed_mbps = speed_mbps(s->word[s->n - 1]);
			p->speed_line = s->line;
		}
		/* a port that is split has no traffic of its own */
		if (rs_config_match(s, "interfaces ? number-of-sub-ports ?", NULL))
			p->split = true;
	}
}

static void interface(struct junos *j, const struct rs_statement *s, const char *port)
{
	const char *last = s->word[s->n - 1];

	if (rs_config_match(s, "interfaces ? mtu ?", NULL))
		say(j, s->line, port, "mtu", "%s", last);
	else if (rs_config_match(s, "interfaces ? unit ? family inet mtu ?", NULL))
		say(j, s->line, port, "mtu_ip", "%s", last);
	else if (rs_config_match(s, "interfaces ? speed ?", NULL) && speed_mbps(last))
		say(j, s->line, port, "speed_mbps", "%d", speed_mbps(last));
	else if (rs_config_match(s, "interfaces ? description ?", NULL))
		say(j, s->line, port, "description", "%s", last);
	else if (rs_config_match(s, "interfaces ? disable", NULL))
		say(j, s->line, port, "admin", "down");
	else if (rs_config_match(s, "interfaces ? ? fec ?", NULL))
		say(j, s->line, port, "fec", "%s",
		    !strcmp(last, "fec91") || !strcmp(last, "fec119") ? "rs"
		    : !strcmp(last, "fec74")                          ? "fc"
								      : last);
}

static void interfaces(struct junos *j)
{
	const char *got[RS_CONFIG_CAPTURES];
	const struct rs_statement *s;
	struct port *p = NULL;
	uint32_t at = 0;

	while ((s = rs_config_next(&j->c, &at, "interfaces ? *", got))) {
		if (!p || strcmp(p->name, got[0]))
			p = port_of(j, got[0]);
		if (p && !p->split)
			interface(j, s, p->name);
	}
	/* a sub-port's speed is its parent's: `speed 400g` with two sub-ports is 400G each */
	for (unsigned i = 0; i < j->n_ports; i++) {
		const char *colon = strchr(j->port[i].name, ':');
		char parent[128];

		if (!colon)
			continue;
		snprintf(parent, sizeof(parent), "%.*s", (int)(colon - j->port[i].name),
			 j->port[i].name);
		p = port_of(j, parent);
		if (p && p->split && p->speed_mbps)
			say(j, p->speed_line, j->port[i].name, "speed_mbps", "%d", p->speed_mbps);
	}
}

static void host(struct junos *j)
{
	const char *got[RS_CONFIG_CAPTURES];
	const struct rs_statement *s;
	uint32_t at = 0;

	say(j, 0, NULL, "role", "switch");
	say(j, 0, NULL, "os", "Junos");
	if ((s = rs_config_find(&j->c, "system host-name ?", got)))
		say(j, s->line, NULL, "hostname", "%s", got[0]);
	if ((s = rs_config_find(&j->c, "version ?", got)))
		say(j, s->line, NULL, "os_version", "%s", got[0]);
	while ((s = rs_config_next(&j->c, &at,
				   "class-of-service shared-buffer ingress buffer-partition ? "
				   "percent ?",
				   got))) {
		char name[128];

		snprintf(name, sizeof(name), "pool/%s/percent", got[0]);
		say(j, s->line, NULL, name, "%s", got[1]);
	}
	/* dynamic load balancing by flowlets or whole flows keeps packets in order */
	if ((s = rs_config_find(&j->c, "forwarding-options enhanced-hash-key ecmp-dlb per-packet",
				got)))
		say(j, s->line, NULL, "ar", "on");
	else if ((s = rs_config_find(&j->c, "forwarding-options enhanced-hash-key ecmp-dlb *",
				     got)))
		say(j, s->line, NULL, "ar", "flowlet");
	if ((s = rs_config_find(&j->c, "forwarding-options enhanced-hash-key hash-seed ?", got)))
		say(j, s->line, NULL, "hash/seed", "%s", got[0]);
	if ((s = rs_config_find(
		     &j->c, "forwarding-options enhanced-hash-key inet no-l4-source-port", got)) ||
	    (s = rs_config_find(
		     &j->c, "forwarding-options enhanced-hash-key layer2 no-l4-source-port", got)))
		say(j, s->line, NULL, "hash/l4_source", "0");
}

/* Every port looks through these again and again: few, so that no file makes that long. */
static void class_of_service(struct junos *j)
{
	const struct rs_statement *s;
	uint32_t at = 0;

	while (j->cos.n < COS_STATEMENTS &&
	       (s = rs_config_next(&j->c, &at, "class-of-service *", NULL)))
		rs_config_add(&j->cos, s->line, s->word, s->n);
}

static int read_junos(struct rs_audit *a, const struct rs_input *in)
{
	struct junos *j = calloc(1, sizeof(*j));

	if (!j)
		return -ENOMEM;
	if (rs_config_create(&j->c) || rs_config_create(&j->cos)) {
		rs_config_destroy(&j->c);
		free(j);
		return -ENOMEM;
	}
	j->a = a;
	j->in = in;
	rs_config_junos(&j->c, in);
	class_of_service(j);
	if (j->c.n) {
		host(j);
		classes(j);
		ports(j);
		interfaces(j);
		for (unsigned i = 0; i < j->n_ports; i++)
			if (!j->port[i].split)
				bindings(j, j->port[i].name);
		if (!j->n_ports)
			bare_bindings(j);
	}
	unbound(j);
	rs_config_destroy(&j->cos);
	rs_config_destroy(&j->c);
	free(j);
	return a->err;
}

static bool own_name(const struct rs_input *in, char *out, size_t size)
{
	return rs_input_word(in, "host-name ", out, size);
}

const struct rs_reader rs_reader_junos = {
	.name = "junos",
	.what = "Junos configuration, braces or set lines: classifiers, PFC, ECN, watchdog, MTU",
	.trust = RS_TRUST_INTENT,
	.score = score,
	.settings = true,
	.read = read_junos,
	.own_name = own_name,
};
