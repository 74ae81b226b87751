/*
 * Configurations in the modular QoS form: class maps, policy maps, and interfaces that use them.
 * Cisco NX-OS and Dell SmartFabric OS10 write it, with words of their own for the same steps: DSCP
 * or priority to a QoS group, the group to a PFC priority (type network-qos) and to a queue with
 * its share and its marking (type queuing). The words of a line tell which block it is in, not its
 * indentation: guides and mails lose that.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/read/readers.h"

enum {
	NAME = 64,
	CLASSES = 128, /* class maps of one configuration */
	POLICIES = 64,
	ENTRIES = 16, /* classes of one policy */
	MAPS = 32,    /* trust maps, queue maps, WRED profiles, each */
	PORTS = 1024,
	WORDS = 24,
	GROUPS = 8
};

enum type { NO_TYPE, QOS, NETWORK, QUEUING, TYPES };

struct class
{
	char name[NAME];
	uint64_t dscp;
	uint8_t cos, groups, queues; /* a bit each */
	uint32_t line;
};

/* What one class of a policy gets; -1: not said. */
struct entry {
	char class[NAME], wred[NAME];
	int group, pause, pfc_cos, weight, strict, ecn, pmax, mtu;
	int64_t kmin, kmax;
	uint32_t line;
};

struct policy {
	char name[NAME];
	enum type type;
	unsigned n;
	struct entry entry[ENTRIES], *at; /* at: the class at hand */
};

struct wred {
	char name[NAME];
	int ecn, pmax;
	int64_t kmin, kmax;
};

struct trust {
	char name[NAME];
	int8_t dscp[64], cos[8]; /* the QoS group; -1: not named */
	uint32_t line;
};

struct queues {
	char name[NAME];
	int8_t of[GROUPS]; /* the queue of a group; -1: not named */
	uint32_t line;
};

/* What `system qos` or an interface uses. */
struct uses {
	char policy[TYPES][NAME];
	char trust[NAME], map[NAME];
	bool trusts, dscp; /* a trust map is named, of DSCPs rather than of priorities */
};

struct port {
	char name[NAME];
	struct uses uses;
	int pfc, watchdog; /* 1, 0; -1: not said */
	bool automatic;    /* PFC is left to DCBX */
	int mtu, down;     /* 0: not said */
	uint32_t line, pfc_line, watchdog_line, mtu_line, down_line;
};

enum block { NOWHERE, CLASS_MAP, POLICY_MAP, WRED, TRUST_MAP, QUEUE_MAP, SYSTEM, INTERFACE };

struct mqc {
	struct rs_audit *a;
	const struct rs_input *in;
	enum block block;
	bool os10;
	unsigned n_classes, n_policies, n_wreds, n_trusts, n_maps, n_ports;
	unsigned n_now; /* ports of the block at hand */
	uint16_t now[PORTS];
	struct class *own_class; /* of the block at hand */
	struct policy *own_policy;
	struct class class[CLASSES];
	struct policy policy[POLICIES];
	struct wred wred[MAPS];
	struct trust trust[MAPS];
	struct queues map[MAPS];
	struct port port[PORTS];
	struct uses system;
	int watchdog; /* of the whole switch */
	uint32_t watchdog_line;
};

static void __attribute__((format(printf, 5, 6)))
say(struct mqc *m, uint32_t line, const char *port, const char *name, const char *fmt, ...)
{
	char subject[NAME + 8], value[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	snprintf(subject, sizeof(subject), "port/%s", port ? port : "");
	rs_input_add(m->a, m->in, line, NULL, port ? subject : "host", name, "%s", value);
}

static void copy(char *to, const char *from)
{
	snprintf(to, NAME, "%s", from);
}

/* ---- Words ---- */

static const struct {
	const char *name;
	int dscp;
} dscps[] = {{"default", 0}, {"cs1", 8},   {"af11", 10}, {"af12", 12}, {"af13", 14}, {"cs2", 16},
	     {"af21", 18},   {"af22", 20}, {"af23", 22}, {"cs3", 24},  {"af31", 26}, {"af32", 28},
	     {"af33", 30},   {"cs4", 32},  {"af41", 34}, {"af42", 36}, {"af43", 38}, {"cs5", 40},
	     {"ef", 46},     {"cs6", 48},  {"cs7", 56}};

/* A number or the name of a code point (RFC 2474, 2597, 3246); -1: neither. */
static int code_point(const char *w)
{
	char *end;
	long n = strtol(w, &end, 10);

	if (end != w && n >= 0 && n < 64)
		return (int)n;
	for (unsigned i = 0; i < sizeof(dscps) / sizeof(*dscps); i++)
		if (!strncasecmp(w, dscps[i].name, strlen(dscps[i].name)))
			return dscps[i].dscp;
	return -1;
}

/* "24", "24-31", "0-2,4-6", "af31,26": bits of the numbers named. */
static uint64_t list(char **w, unsigned from, unsigned n)
{
	uint64_t bits = 0;

	for (unsigned i = from; i < n; i++)
		for (char *p = w[i]; *p; p += strcspn(p, ","), p += *p == ',') {
			int a = code_point(p), b = a;
			size_t digits = strspn(p, "0123456789");

			if (a >= 0 && digits && p[digits] == '-')
				b = code_point(p + digits + 1);
			for (int k = a; k >= 0 && k <= b; k++)
				bits |= UINT64_C(1) << k;
		}
	return bits;
}

/* A size in bytes as NX-OS writes it; packets and times have none: -1. */
static int64_t size(const char *number, const char *unit)
{
	char *end;
	long long n = strtoll(number, &end, 10);

	if (end == number || n < 0 || n > 1000000000)
		return -1;
	return !strcmp(unit, "bytes")    ? n
	       : !strcmp(unit, "kbytes") ? n * 1000
	       : !strcmp(unit, "mbytes") ? n * 1000000
					 : -1;
}

/* "c-out-8q-q3", "c-8q-nq3", "c-nq3": the group is in the name; "...-default" is 0. -1: no such
 * name. */
static int named_group(const char *class)
{
	size_t n = strlen(class);

	if (!strcmp(class, "class-default") ||
	    (!strncmp(class, "c-", 2) && n > 8 && !strcmp(class + n - 8, "-default")))
		return 0;
	if (strncmp(class, "c-", 2) || !isdigit((unsigned char)class[n - 1]) ||
	    class[n - 2] != 'q' || class[n - 1] > '7')
		return -1;
	return class[n - 1] - '0';
}

/* ---- Finding what a name stands for ---- */

static struct class *class_of(struct mqc *m, const char *name)
{
	for (unsigned i = 0; i < m->n_classes; i++)
		if (!strcmp(m->class[i].name, name))
			return &m->class[i];
	return NULL;
}

static const struct policy *policy_of(const struct mqc *m, const struct uses *own, enum type type)
{
	const char *name = *own->policy[type] ? own->policy[type] : m->system.policy[type];

	for (unsigned i = 0; *name && i < m->n_policies; i++)
		if (m->policy[i].type == type && !strcmp(m->policy[i].name, name))
			return &m->policy[i];
	return NULL;
}

/* Bits of the QoS groups that a class of a policy takes. */
static unsigned groups_of(struct mqc *m, const struct entry *e)
{
	const struct class *c = class_of(m, e->class);
	int n = named_group(e->class);

	if (c && c->groups)
		return c->groups;
	return n >= 0 ? 1u << n : 0;
}

/* ---- Blocks ---- */

static enum type type_of(char **w, unsigned n)
{
	static const char *const names[TYPES] = {"", "qos", "network-qos", "queuing"};

	for (unsigned i = 0; i + 1 < n; i++)
		for (int t = QOS; !strcmp(w[i], "type") && t < TYPES; t++)
			if (!strcmp(w[i + 1], names[t]))
				return (enum type)t;
	return QOS;
}

/* What is described again is gone on with: the last word counts. */
static void class_begins(struct mqc *m, char **w, unsigned n, uint32_t line)
{
	struct class *c = class_of(m, w[n - 1]);

	if (!c) {
		c = &m->class[m->n_classes < CLASSES ? m->n_classes++ : CLASSES - 1];
		*c = (struct class){.line = line};
		copy(c->name, w[n - 1]);
	}
	m->own_class = c;
	m->block = CLASS_MAP;
}

static void policy_begins(struct mqc *m, char **w, unsigned n)
{
	enum type type = type_of(w, n);
	struct policy *p = NULL;

	for (unsigned i = 0; i < m->n_policies; i++)
		if (m->policy[i].type == type && !strcmp(m->policy[i].name, w[n - 1]))
			p = &m->policy[i];
	if (!p) {
		p = &m->policy[m->n_policies < POLICIES ? m->n_policies++ : POLICIES - 1];
		memset(p, 0, sizeof(*p));
		copy(p->name, w[n - 1]);
		p->type = type;
	}
	p->at = NULL;
	m->own_policy = p;
	m->block = POLICY_MAP;
}

static void match_line(struct mqc *m, char **w, unsigned n)
{
	struct class *c = m->own_class;
	unsigned at;
	bool no = !strcmp(w[0], "no");

	w += no;
	n -= no;
	at = n > 2 && !strcmp(w[1], "ip") ? 2 : 1;
	if (n < at + 2 || strcmp(w[0], "match"))
		return;
	if (no && !strcmp(w[at], "dscp"))
		c->dscp &= ~list(w, at + 1, n);
	else if (no && (!strcmp(w[at], "cos") || !strcmp(w[at], "dot1p")))
		c->cos &= (uint8_t)~list(w, at + 1, n);
	else if (no && !strcmp(w[at], "qos-group"))
		c->groups &= (uint8_t)~list(w, at + 1, n);
	else if (no)
		return;
	else if (!strcmp(w[at], "dscp"))
		c->dscp |= list(w, at + 1, n);
	else if (!strcmp(w[at], "cos") || !strcmp(w[at], "dot1p"))
		c->cos |= (uint8_t)list(w, at + 1, n);
	else if (!strcmp(w[at], "qos-group"))
		c->groups |= (uint8_t)list(w, at + 1, n);
	else if (!strcmp(w[at], "queue"))
		c->queues |= (uint8_t)list(w, at + 1, n);
}

static void entry_begins(struct policy *p, const char *class, uint32_t line)
{
	struct entry *e;

	for (unsigned i = 0; i < p->n; i++)
		if (!strcmp(p->entry[i].class, class)) {
			p->at = &p->entry[i];
			return;
		}
	e = p->at = &p->entry[p->n < ENTRIES ? p->n++ : ENTRIES - 1];
	*e = (struct entry){.group = -1,
			    .pause = -1,
			    .pfc_cos = -1,
			    .weight = -1,
			    .strict = -1,
			    .ecn = -1,
			    .pmax = -1,
			    .kmin = -1,
			    .kmax = -1,
			    .line = line};
	copy(e->class, class);
}

/* "random-detect minimum-threshold 150 kbytes maximum-threshold 3000 kbytes drop-probability 7
 * weight 0 ecn", "random-detect ecn", "random-detect PROFILE". */
static void detect(struct entry *e, char **w, unsigned n)
{
	if (n == 2 && strcmp(w[1], "ecn") && !strstr(w[1], "threshold"))
		copy(e->wred, w[1]);
	for (unsigned i = 1; i < n; i++) {
		if (!strcmp(w[i], "ecn"))
			e->ecn = 1;
		if (i + 2 < n && !strncmp(w[i], "min", 3) && strstr(w[i], "threshold"))
			e->kmin = size(w[i + 1], w[i + 2]);
		if (i + 2 < n && !strncmp(w[i], "max", 3) && strstr(w[i], "threshold"))
			e->kmax = size(w[i + 1], w[i + 2]);
		if (i + 1 < n && !strcmp(w[i], "drop-probability"))
			e->pmax = atoi(w[i + 1]);
	}
	/* lines of one class each say a part: without "ecn" in any, what is over is dropped */
	if (e->ecn < 0 && n > 2)
		e->ecn = 0;
}

/* "no pause", "no random-detect ...", "no class X": as if it had not been said. */
static void policy_no(struct policy *p, struct entry *e, char **w, unsigned n)
{
	if (!strcmp(w[0], "pause")) {
		e->pause = -1;
		e->pfc_cos = -1;
	} else if (!strcmp(w[0], "random-detect")) {
		e->ecn = -1;
		*e->wred = '\0';
	} else if (!strcmp(w[0], "priority")) {
		e->strict = -1;
	} else if (!strcmp(w[0], "bandwidth")) {
		e->weight = -1;
	} else if (!strcmp(w[0], "mtu")) {
		e->mtu = 0;
	} else if (!strcmp(w[0], "set")) {
		e->group = -1;
	} else if (!strcmp(w[0], "class") && n > 1) {
		entry_begins(p, w[n - 1], e->line);
		p->at->pause = p->at->group = p->at->pfc_cos = p->at->ecn = -1;
		p->at->weight = p->at->strict = -1;
	}
}

static void policy_line(struct mqc *m, char **w, unsigned n, uint32_t line)
{
	struct policy *p = m->own_policy;
	struct entry *e = p->at;

	if (!strcmp(w[0], "class") && n > 1) {
		entry_begins(p, w[n - 1], line);
		return;
	}
	if (!e)
		return;
	if (n > 1 && !strcmp(w[0], "no")) {
		policy_no(p, e, w + 1, n - 1);
		return;
	}
	if (n == 3 && !strcmp(w[0], "set") && !strcmp(w[1], "qos-group"))
		e->group = atoi(w[2]);
	if (!strcmp(w[0], "pause"))
		e->pause = 1;
	if (n == 2 && !strcmp(w[0], "mtu"))
		e->mtu = atoi(w[1]);
	for (unsigned i = 0; i + 1 < n; i++)
		if (!strcmp(w[i], "pfc-cos"))
			e->pfc_cos = (int)list(w, i + 1, n);
	if (!strcmp(w[0], "bandwidth") && n > 2 && !strcmp(w[n - 2], "percent"))
		e->weight = atoi(w[n - 1]);
	if (!strcmp(w[0], "priority"))
		e->strict = 1;
	if (!strcmp(w[0], "random-detect") && n > 1)
		detect(e, w, n);
}

static void wred_line(struct mqc *m, char **w, unsigned n)
{
	struct wred *d = &m->wred[m->n_wreds - 1];

	if (strcmp(w[0], "random-detect") || n < 2)
		return;
	if (!strcmp(w[1], "ecn"))
		d->ecn = 1;
	/* of the colours green is what is not policed; thresholds in KB */
	for (unsigned i = 1; n > 3 && !strcmp(w[2], "green") && i + 1 < n; i++) {
		int v = atoi(w[i + 1]);

		if (!strcmp(w[i], "minimum-threshold"))
			d->kmin = v * INT64_C(1000);
		else if (!strcmp(w[i], "maximum-threshold"))
			d->kmax = v * INT64_C(1000);
		else if (!strcmp(w[i], "drop-probability"))
			d->pmax = v;
	}
}

/* "qos-group 3 dscp 24-31" */
static void trust_line(struct mqc *m, char **w, unsigned n)
{
	struct trust *t = &m->trust[m->n_trusts - 1];
	int group = n > 3 && !strcmp(w[0], "qos-group") ? atoi(w[1]) : -1;
	uint64_t bits;

	if (group < 0 || group >= GROUPS)
		return;
	bits = list(w, 3, n);
	for (int i = 0; i < 64; i++)
		if (bits >> i & 1 && !strcmp(w[2], "dscp"))
			t->dscp[i] = (int8_t)group;
		else if (bits >> i & 1 && i < 8 && !strcmp(w[2], "dot1p"))
			t->cos[i] = (int8_t)group;
}

/* "queue 3 qos-group 3" */
static void queue_line(struct mqc *m, char **w, unsigned n)
{
	struct queues *q = &m->map[m->n_maps - 1];
	uint64_t bits;

	if (n < 4 || strcmp(w[0], "queue") || strcmp(w[2], "qos-group"))
		return;
	bits = list(w, 3, n);
	for (int g = 0; g < GROUPS; g++)
		if (bits >> g & 1)
			q->of[g] = (int8_t)atoi(w[1]);
}

/* What a system and an interface say alike. */
static void uses_line(struct uses *u, char **w, unsigned n)
{
	if (n > 1 && !strcmp(w[0], "no") && !strcmp(w[1], "service-policy")) {
		*u->policy[type_of(w, n)] = '\0';
	} else if (n > 1 && !strcmp(w[0], "no") && !strcmp(w[1], "trust-map")) {
		u->trusts = u->dscp = false;
		*u->trust = '\0';
	} else if (n > 1 && !strcmp(w[0], "no") && !strcmp(w[1], "qos-map")) {
		*u->map = '\0';
	} else if (!strcmp(w[0], "service-policy")) {
		enum type t = type_of(w, n);

		for (unsigned i = n - 1; i > 0; i--)
			if (strcmp(w[i], "no-stats")) {
				copy(u->policy[t], w[i]);
				break;
			}
	} else if (n == 3 && !strcmp(w[0], "trust-map")) {
		u->trusts = true;
		u->dscp = !strcmp(w[1], "dscp");
		copy(u->trust, w[2]);
	} else if (n == 3 && !strcmp(w[0], "qos-map") && !strcmp(w[1], "traffic-class")) {
		copy(u->map, w[2]);
	}
}

/* "Ethernet1/1", "ethernet1/1/1-1/1/32", "Ethernet1/1-16": the block's ports. */
static void port_begins(struct mqc *m, const char *name, uint32_t line, bool anew)
{
	struct port *p;
	unsigned i = 0;

	while (i < m->n_ports && strcasecmp(m->port[i].name, name))
		i++;
	if (i == PORTS || m->n_now == PORTS)
		return;
	p = &m->port[i];
	m->now[m->n_now++] = (uint16_t)i;
	if (i < m->n_ports && !anew)
		return;
	*p = (struct port){.pfc = -1, .watchdog = -1, .line = line};
	copy(p->name, name);
	m->n_ports += i == m->n_ports;
}

static void ports_begin(struct mqc *m, char **w, unsigned n, uint32_t line)
{
	char name[2 * NAME] = "", one[NAME], *dash, *digits;
	int a = 0, b = 0;
	bool anew = !strcmp(w[0], "default"); /* "default interface Ethernet1/1" */

	m->block = NOWHERE;
	for (unsigned i = anew ? 2 : 1; i < n; i++)
		if (strcmp(w[i], "range"))
			snprintf(name + strlen(name), sizeof(name) - strlen(name), "%s", w[i]);
	name[strcspn(name, ",")] = '\0';
	if (strncasecmp(name, "eth", 3) || strlen(name) >= NAME || strchr(name, '.') ||
	    !strpbrk(name, "0123456789"))
		return;
	m->n_now = 0;
	m->block = anew ? NOWHERE : INTERFACE;
	dash = strchr(name, '-');
	digits = dash ? dash : name + strlen(name);
	if (dash) {
		char *last = strrchr(dash, '/');

		b = atoi(last ? last + 1 : dash + 1);
		*dash = '\0';
	}
	while (digits > name && isdigit((unsigned char)digits[-1]))
		digits--;
	a = atoi(digits);
	*digits = '\0';
	for (int i = a; i <= (dash ? b : a) && i - a < PORTS; i++) {
		snprintf(one, sizeof(one), "%.40s%d", name, i);
		port_begins(m, one, line, anew);
	}
}

/* What is a fact of the port at once. */
static void plain(struct mqc *m, struct port *p, char **w, unsigned n, uint32_t line)
{
	if (n >= 2 && (!strcmp(w[0], "mtu") || (!strcmp(w[0], "no") && !strcmp(w[1], "mtu")))) {
		p->mtu = *w[0] == 'm' ? atoi(w[1]) : 0;
		p->mtu_line = line;
	} else if (!strcmp(w[n - 1], "shutdown") && (n == 1 || !strcmp(w[0], "no"))) {
		p->down = n == 1;
		p->down_line = line;
	} else if (n == 2 && !strcmp(w[0], "no") && !strcmp(w[1], "switchport"))
		say(m, line, p->name, "routed", "1");
	else if (n == 2 && !strcmp(w[0], "speed") && atoi(w[1]) >= 1000)
		say(m, line, p->name, "speed_mbps", "%d", atoi(w[1]));
	else if (n == 2 && !strcmp(w[0], "fec"))
		say(m, line, p->name, "fec", "%s", w[1]);
	else if (n > 1 && !strcmp(w[0], "description"))
		say(m, line, p->name, "description", "%s", w[1]);
}

static void port_line(struct mqc *m, struct port *p, char **w, unsigned n, uint32_t line)
{
	unsigned no = !strcmp(w[0], "no");

	plain(m, p, w, n, line);
	uses_line(&p->uses, w, n);
	if (n < no + 2 || strcmp(w[no], "priority-flow-control"))
		return;
	if (!strncmp(w[no + 1], "watch", 5)) {
		p->watchdog = !no && strcmp(w[n - 1], "off") != 0;
		p->watchdog_line = line;
	} else if (!strcmp(w[no + 1], "mode")) {
		p->automatic = n > no + 2 && !strcmp(w[no + 2], "auto");
		p->pfc = !no && n > 2 && !strcmp(w[2], "on");
		p->pfc_line = line;
	}
}

/* Words that begin a block, and others that end one. True: the line was such a word. */
static bool begins(struct mqc *m, char **w, unsigned n, uint32_t line, unsigned indent)
{
	static const char *const others[] = {"vlan", "router",  "vrf", "line",   "route-map",
					     "ip",   "feature", "vpc", "monitor"};

	if (n > 1 && !strcmp(w[0], "class-map")) {
		class_begins(m, w, n, line);
	} else if (n > 1 && !strcmp(w[0], "policy-map")) {
		policy_begins(m, w, n);
	} else if (n == 2 && !strcmp(w[0], "wred")) {
		struct wred *d = &m->wred[m->n_wreds < MAPS ? m->n_wreds++ : MAPS - 1];

		m->block = WRED;
		*d = (struct wred){.ecn = -1, .pmax = -1, .kmin = -1, .kmax = -1};
		copy(d->name, w[1]);
	} else if (n == 3 && !strcmp(w[0], "trust") && strstr(w[1], "-map")) {
		struct trust *t = &m->trust[m->n_trusts < MAPS ? m->n_trusts++ : MAPS - 1];

		m->block = TRUST_MAP;
		memset(t, -1, sizeof(*t));
		copy(t->name, w[2]);
		t->line = line;
	} else if (n == 3 && !strcmp(w[0], "qos-map") && !indent && m->block != INTERFACE) {
		struct queues *q = &m->map[m->n_maps < MAPS ? m->n_maps++ : MAPS - 1];

		m->block = QUEUE_MAP;
		memset(q, -1, sizeof(*q));
		copy(q->name, w[2]);
		q->line = line;
	} else if (n == 2 && !strcmp(w[0], "system") && !strcmp(w[1], "qos")) {
		m->block = SYSTEM;
	} else if ((n > 1 && !strcmp(w[0], "interface")) ||
		   (n > 2 && !strcmp(w[0], "default") && !strcmp(w[1], "interface"))) {
		ports_begin(m, w, n, line);
	} else {
		for (unsigned i = 0; !indent && i < sizeof(others) / sizeof(*others); i++)
			if (!strcmp(w[0], others[i]) && m->block != INTERFACE)
				m->block = NOWHERE;
		return false;
	}
	return true;
}

static void global_line(struct mqc *m, char **w, unsigned n, uint32_t line)
{
	if (n == 2 && (!strcmp(w[0], "hostname") || !strcmp(w[0], "switchname")))
		say(m, line, NULL, "hostname", "%s", w[1]);
	/* "version 10.4(3) Bios:version 01.10" */
	if (n > 1 && !strcmp(w[0], "version") && isdigit((unsigned char)*w[1]))
		say(m, line, NULL, "os_version", "%s", w[1]);
	if (n > 2 && !strcmp(w[0], "priority-flow-control") && !strncmp(w[1], "watch", 5) &&
	    m->block != INTERFACE) {
		m->watchdog = strcmp(w[n - 1], "off") != 0;
		m->watchdog_line = line;
	}
}

static void one_line(struct mqc *m, struct rs_line *l)
{
	char *w[WORDS];
	unsigned n;

	if (!l->text[0] || l->text[0] == '!' || l->text[0] == '#')
		return;
	n = rs_line_words(l->text, w, WORDS);
	if (!n || begins(m, w, n, l->number, l->indent))
		return;
	global_line(m, w, n, l->number);
	if (m->block == CLASS_MAP && m->own_class)
		match_line(m, w, n);
	else if (m->block == POLICY_MAP && m->own_policy)
		policy_line(m, w, n, l->number);
	else if (m->block == WRED)
		wred_line(m, w, n);
	else if (m->block == TRUST_MAP && m->n_trusts)
		trust_line(m, w, n);
	else if (m->block == QUEUE_MAP && m->n_maps)
		queue_line(m, w, n);
	else if (m->block == SYSTEM)
		uses_line(&m->system, w, n);
	for (unsigned i = 0; m->block == INTERFACE && i < m->n_now; i++)
		port_line(m, &m->port[m->now[i]], w, n, l->number);
}

/* ---- What it comes to for a port ---- */

static void each(struct mqc *m, uint32_t line, const char *port, const char *fmt, int n,
		 const char *value_fmt, long long value)
{
	char name[48], text[32];

	snprintf(name, sizeof(name), fmt, n);
	snprintf(text, sizeof(text), value_fmt, value);
	say(m, line, port, name, "%s", text);
}

/* What a fix has to name. */
static void named(struct mqc *m, uint32_t line, const char *port, const char *fmt, int n,
		  const char *value)
{
	char name[48];

	snprintf(name, sizeof(name), fmt, n);
	say(m, line, port, name, "%s", value);
}

/* NX-OS: the classes of a policy of type qos. Priorities alone: the port trusts those. */
static void classified(struct mqc *m, const struct port *p)
{
	const struct policy *q = policy_of(m, &p->uses, QOS);
	bool dscp = false, cos = false;

	for (unsigned i = 0; q && i < q->n; i++) {
		const struct entry *e = &q->entry[i];
		const struct class *c = class_of(m, e->class);

		if (c && e->group >= 0 && c->dscp)
			named(m, c->line, p->name, "group_class/%d", e->group, c->name);
		for (int d = 0; c && e->group >= 0 && d < 64; d++)
			if (c->dscp >> d & 1)
				each(m, c->line, p->name, "dscp_to_tc/%d", d, "%lld", e->group);
		for (int d = 0; c && e->group >= 0 && d < 8; d++)
			if (c->cos >> d & 1)
				each(m, c->line, p->name, "cos_to_tc/%d", d, "%lld", e->group);
		dscp |= c && c->dscp;
		cos |= c && c->cos;
	}
	if (dscp || cos)
		say(m, p->line, p->name, "trust", "%s", dscp ? "dscp" : "pcp");
	if (q)
		say(m, p->line, p->name, "qos_policy", "%s", q->name);
}

/* OS10: the trust map that the port or the system names; that called "default" takes the DSCP's
 * upper three bits. */
static void trusted(struct mqc *m, const struct port *p)
{
	const struct uses *u = p->uses.trusts ? &p->uses : &m->system;
	const struct trust *t = NULL;

	if (!u->trusts) {
		/* OS10 trusts nothing unless it is told to */
		if (m->os10 && p->pfc > 0 && *p->uses.policy[NETWORK] && !*p->uses.policy[QOS] &&
		    !*m->system.policy[QOS])
			say(m, p->line, p->name, "trust", "none");
		return;
	}
	say(m, p->line, p->name, "trust", "%s", u->dscp ? "dscp" : "pcp");
	if (u->dscp && *u->trust)
		say(m, p->line, p->name, "dscp_to_tc_map", "%s", u->trust);
	for (unsigned i = 0; i < m->n_trusts; i++)
		if (!strcmp(m->trust[i].name, u->trust))
			t = &m->trust[i];
	for (int d = 0; u->dscp && d < 64; d++)
		if (!strcmp(u->trust, "default"))
			each(m, p->line, p->name, "dscp_to_tc/%d", d, "%lld", d / 8);
		else if (t && t->dscp[d] >= 0)
			each(m, t->line, p->name, "dscp_to_tc/%d", d, "%lld", t->dscp[d]);
}

/* NX-OS: a port that has PFC and no policy of type qos, where one that classifies DSCPs stands
 * unused. */
static void unbound(struct mqc *m, const struct port *p)
{
	for (unsigned i = 0; i < m->n_policies; i++) {
		const struct policy *q = &m->policy[i];
		bool used = !strcmp(m->system.policy[QOS], q->name), dscp = false;

		for (unsigned k = 0; k < m->n_ports; k++)
			used |= !strcmp(m->port[k].uses.policy[QOS], q->name);
		for (unsigned k = 0; q->type == QOS && k < q->n; k++) {
			const struct class *c = class_of(m, q->entry[k].class);

			dscp |= c && c->dscp && q->entry[k].group > 0;
		}
		if (!used && dscp) {
			say(m, p->line, p->name, "unbound_policy", "%s", q->name);
			return;
		}
	}
}

/* Does a policy of the switch pause a class that some policy leads DSCPs to? */
static bool meant_lossless(struct mqc *m)
{
	bool pauses = false, dscp = false;

	for (unsigned i = 0; i < m->n_policies; i++)
		for (unsigned k = 0; k < m->policy[i].n; k++) {
			const struct class *c = class_of(m, m->policy[i].entry[k].class);

			pauses |= m->policy[i].entry[k].pause == 1;
			dscp |= c && c->dscp && m->policy[i].entry[k].group > 0;
		}
	return pauses && dscp;
}

/* Group to PFC priority, and whether PFC is on. */
static void paused(struct mqc *m, const struct port *p, bool others)
{
	const struct policy *q = policy_of(m, &p->uses, NETWORK);
	unsigned on = 0;
	uint32_t line = p->pfc_line, mtu_line = 0;
	int mtu = 0;

	if (p->automatic || (p->pfc < 0 && (!others || m->os10)))
		return; /* DCBX may turn it on: nothing is known */
	for (unsigned i = 0; q && i < q->n; i++) {
		const struct entry *e = &q->entry[i];
		unsigned groups = groups_of(m, e), cos;

		/* of a class that pauses without a priority the group's number is taken */
		cos = e->pfc_cos >= 0 ? (unsigned)e->pfc_cos : groups;
		if (e->pause != 1 || !cos)
			continue;
		on |= cos;
		named(m, e->line, p->name, "pause_class/%d", __builtin_ctz(cos), e->class);
		say(m, e->line, p->name, "pause_policy", "%s", q->name);
		line = e->line;
		if (e->mtu > 0 && (mtu <= 0 || e->mtu < mtu)) {
			mtu = e->mtu;
			mtu_line = e->line;
		}
		for (int g = 0; g < GROUPS; g++)
			if (groups >> g & 1)
				each(m, e->line, p->name, "tc_to_pg/%d", g, "%lld",
				     __builtin_ctz(cos));
	}
	if (!q && p->pfc > 0)
		return; /* the policy is in a part that was not pasted */
	say(m, line, p->name, "pfc_seen", "1");
	if (p->pfc > 0 && mtu > 0)
		say(m, mtu_line, p->name, "mtu_class", "%d", mtu);
	if (!on && p->pfc > 0)
		say(m, line, p->name, "pfc_no_class", "%s", q->name);
	for (int c = 0; c < 8; c++)
		if (on >> c & 1)
			each(m, line, p->name, "pfc/%d", c, "%lld", p->pfc > 0);
}

static const struct wred *wred_of(const struct mqc *m, const char *name)
{
	for (unsigned i = 0; *name && i < m->n_wreds; i++)
		if (!strcmp(m->wred[i].name, name))
			return &m->wred[i];
	return NULL;
}

static void one_queue(struct mqc *m, const char *port, int queue, const struct entry *e)
{
	const struct wred *d = wred_of(m, e->wred);
	int ecn = d && d->ecn > 0 ? 1 : e->ecn, pmax = d ? d->pmax : e->pmax;
	int64_t kmin = d ? d->kmin : e->kmin, kmax = d ? d->kmax : e->kmax;

	if (ecn >= 0)
		each(m, e->line, port, "queue/%d/ecn", queue, "%lld", ecn);
	if (ecn > 0 && kmin >= 0)
		each(m, e->line, port, "queue/%d/kmin", queue, "%lld", kmin);
	if (ecn > 0 && kmax >= 0)
		each(m, e->line, port, "queue/%d/kmax", queue, "%lld", kmax);
	if (ecn > 0 && pmax >= 0)
		each(m, e->line, port, "queue/%d/pmax", queue, "%lld", pmax);
	if (e->strict > 0 || e->weight >= 0) {
		char name[48];

		snprintf(name, sizeof(name), "queue/%d/scheduler", queue);
		say(m, e->line, port, name, "%s", e->strict > 0 ? "STRICT" : "DWRR");
	}
	if (e->weight >= 0)
		each(m, e->line, port, "queue/%d/weight", queue, "%lld", e->weight);
}

static void queued(struct mqc *m, const struct port *p)
{
	const struct policy *q = policy_of(m, &p->uses, QUEUING);
	const char *name = *p->uses.map ? p->uses.map : m->system.map;

	if (*name)
		say(m, p->line, p->name, "tc_to_queue_map", "%s", name);
	for (unsigned i = 0; *name && i < m->n_maps; i++)
		for (int g = 0; !strcmp(m->map[i].name, name) && g < GROUPS; g++)
			if (m->map[i].of[g] >= 0)
				each(m, m->map[i].line, p->name, "tc_to_queue/%d", g, "%lld",
				     m->map[i].of[g]);
	if (!q)
		return;
	say(m, p->line, p->name, "queues_seen", "1");
	for (unsigned i = 0; i < q->n; i++) {
		const struct class *c = class_of(m, q->entry[i].class);
		unsigned bits = c && c->queues ? c->queues : groups_of(m, &q->entry[i]);

		for (int k = 0; k < 8; k++)
			if (bits >> k & 1)
				one_queue(m, p->name, k, &q->entry[i]);
	}
}

static void results(struct mqc *m)
{
	bool some = false;
	uint32_t off = 0;

	for (unsigned i = 0; i < m->n_ports; i++) {
		some |= m->port[i].pfc > 0 || m->port[i].automatic;
		off = m->port[i].pfc ? off : m->port[i].pfc_line;
	}
	if (!some && off && meant_lossless(m))
		say(m, off, NULL, "pfc_meant", "off");
	for (unsigned i = 0; i < m->n_ports && !m->a->err; i++) {
		const struct port *p = &m->port[i];
		/* a port that no policy of its own classifies is not one of RDMA's */
		bool own = *p->uses.policy[QOS] || *p->uses.policy[NETWORK] || p->uses.trusts;

		if (p->mtu)
			say(m, p->mtu_line, p->name, m->os10 ? "mtu_l2" : "mtu_ip", "%d", p->mtu);
		if (p->down)
			say(m, p->down_line, p->name, "admin", "down");
		classified(m, p);
		if (!m->os10 && p->pfc > 0 && !*p->uses.policy[QOS] && !*m->system.policy[QOS])
			unbound(m, p);
		trusted(m, p);
		paused(m, p, some && own);
		if (own || p->pfc > 0)
			queued(m, p);
		if (p->watchdog >= 0 || (m->watchdog >= 0 && p->pfc > 0))
			say(m, p->watchdog >= 0 ? p->watchdog_line : m->watchdog_line, p->name,
			    "watchdog", "%s",
			    (p->watchdog >= 0 ? p->watchdog : m->watchdog) ? "on" : "off");
	}
}

/* ---- Whose it is ---- */

static bool is_os10(const struct rs_input *in)
{
	return rs_input_has(in, "ets mode on") || rs_input_has(in, "\nqos-map traffic-class") ||
	       rs_input_has(in, "interface ethernet1/1/") || rs_input_has(in, "trust-map ") ||
	       rs_input_has(in, "service-policy input type") ||
	       rs_input_has(in, "service-policy output type") || rs_input_has(in, "\nwred ") ||
	       rs_input_has(in, "interface ethernet 1/1/");
}

/* Only EOS has these; some of the marks below it has, too. */
static bool is_of_eos(const char *line)
{
	static const char *const eos[] = {"tx-queue ", "uc-tx-queue ", "qos profile ",
					  "policy-map type quality-of-service "};

	for (unsigned i = 0; i < sizeof(eos) / sizeof(*eos); i++)
		if (!strncmp(line, eos[i], strlen(eos[i])))
			return true;
	return false;
}

/* A line of the form that IOS does not have, and no line of EOS. */
static int score(const struct rs_input *in)
{
	static const char *const marks[] = {"class-map type network-qos ",
					    "class-map type queuing ",
					    "policy-map type network-qos ",
					    "policy-map type queuing ",
					    "service-policy type qos input ",
					    "service-policy type queuing output ",
					    "service-policy type network-qos ",
					    "service-policy input type network-qos ",
					    "service-policy output type queuing ",
					    "priority-flow-control mode ",
					    "qos-map traffic-class ",
					    "trust-map dscp "};
	struct rs_line l = {0};
	bool marked = false;

	while (rs_line_next(in, &l) && l.number < 4000) {
		if (is_of_eos(l.text))
			return 0;
		for (unsigned i = 0; i < sizeof(marks) / sizeof(*marks); i++)
			marked |= !strncmp(l.text, marks[i], strlen(marks[i]));
	}
	return marked ? 86 : 0;
}

static int read_mqc(struct rs_audit *a, const struct rs_input *in)
{
	struct mqc *m = calloc(1, sizeof(*m));
	struct rs_line l = {0};

	if (!m)
		return a->err = -ENOMEM;
	m->a = a;
	m->in = in;
	m->watchdog = -1;
	m->os10 = is_os10(in);
	say(m, 0, NULL, "role", "switch");
	say(m, 0, NULL, "os", "%s", m->os10 ? "OS10" : "NX-OS");
	while (rs_line_next(in, &l))
		one_line(m, &l);
	results(m);
	free(m);
	return a->err;
}

static bool own_name(const struct rs_input *in, char *out, size_t size)
{
	return rs_input_word(in, "\nhostname ", out, size);
}

const struct rs_reader rs_reader_mqc = {
	.name = "mqc",
	.what = "Cisco NX-OS and Dell OS10 configuration: class and policy maps, PFC, ECN, "
		"watchdog",
	.trust = RS_TRUST_INTENT,
	.score = score,
	.settings = true,
	.read = read_mqc,
	.own_name = own_name,
};
