/*
 * Configurations of Huawei's VRP and H3C's Comware: PFC, trust, ECN and frame size of interfaces.
 * Huawei: "dcb pfc NAME", "priority 3"; "dcb pfc enable NAME mode manual", "trust dscp", "qos queue
 * 3 ecn". H3C: "priority-flow-control enable", "priority-flow-control no-drop dot1p 3", "qos trust
 * dscp", "qos wred queue 3 ecn". Without a map of its own a DSCP is in the class of its upper three
 * bits on both.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/readers.h"

enum { PROFILES = 16, NAME = 64 };

struct profile {
	char name[NAME];
	unsigned mask;
};

/* An interface, which may be described more than once. */
struct interface {
	char port[NAME];
	uint32_t line, trust, tags; /* where it trusts DSCPs; where priority tags */
	bool enabled;
	unsigned mask, ecn;
	int mtu;
};

enum { INTERFACES = 1024 };

struct vrp {
	struct rs_audit *a;
	const struct rs_input *in;
	bool comware;
	struct profile profile[PROFILES];
	unsigned n, site;                 /* site: priorities that some interface protects */
	struct interface *interface, *at; /* at: at hand */
	unsigned n_interfaces;
};

static const char *const signs[] = {"dcb pfc ", "priority-flow-control enable",
				    "priority-flow-control auto", "priority-flow-control no-drop",
				    NULL};

static int score(const struct rs_input *in)
{
	if (!rs_input_has(in, "\ninterface ") && strncmp(in->data, "interface ", 10))
		return 0;
	/* a line of its own, as display current-configuration has them */
	if (!rs_input_has(in, "\n#\n"))
		return 0;
	for (unsigned i = 0; signs[i]; i++)
		if (rs_input_has(in, signs[i]))
			return 89;
	return 0;
}

static void say(struct vrp *v, uint32_t line, const char *port, const char *name, const char *value)
{
	char subject[NAME + 8];

	snprintf(subject, sizeof(subject), "port/%s", port);
	rs_input_add(v->a, v->in, line, NULL, subject, name, "%s", value);
}

/* "3", "3,4", "3 4", "3-4" as bits */
static unsigned bits(const char *p)
{
	unsigned mask = 0, last = 0;
	bool range = false;

	for (; *p; p++) {
		if (*p >= '0' && *p <= '7' && !isdigit((unsigned char)p[1])) {
			unsigned now = (unsigned)(*p - '0');

			for (unsigned k = range ? last : now; k <= now; k++)
				mask |= 1u << k;
			last = now;
			range = false;
		} else if (*p == '-') {
			range = true;
		} else if (isalpha((unsigned char)*p) && strncmp(p, "to ", 3)) {
			break;
		} else if (!strncmp(p, "to ", 3)) {
			range = true;
			p++;
		}
	}
	return mask;
}

static struct profile *profile(struct vrp *v, const char *name)
{
	for (unsigned i = 0; i < v->n; i++)
		if (!strcmp(v->profile[i].name, name))
			return &v->profile[i];
	if (v->n == PROFILES)
		return NULL;
	snprintf(v->profile[v->n].name, NAME, "%s", name);
	return &v->profile[v->n++];
}

/* What an interface has, after all was read. */
static void finish(struct vrp *vrp, const struct interface *v)
{
	char name[32], value[16];

	say(vrp, v->line, v->port, "pfc_seen", "1");
	if (v->tags && !v->trust)
		say(vrp, v->tags, v->port, "trust", "pcp");
	if (v->trust) {
		say(vrp, v->trust, v->port, "trust", "dscp");
		for (int d = 0; d < 64; d++) {
			if (!(vrp->site >> d / 8 & 1))
				continue;
			snprintf(name, sizeof(name), "dscp_to_tc/%d", d);
			snprintf(value, sizeof(value), "%d", d / 8);
			say(vrp, v->trust, v->port, name, value);
		}
	}
	for (int p = 0; p < 8; p++) {
		snprintf(name, sizeof(name), "pfc/%d", p);
		if (v->enabled && v->mask >> p & 1)
			say(vrp, v->line, v->port, name, "1");
		snprintf(name, sizeof(name), "queue/%d/ecn", p);
		if (v->ecn >> p & 1)
			say(vrp, v->line, v->port, name, "1");
	}
	snprintf(value, sizeof(value), "%d", v->mtu);
	if (v->mtu > 0)
		say(vrp, v->line, v->port, "mtu", value);
}

/* "undo dcb pfc enable", "undo trust dscp": as if it had not been said. */
static void undo(struct interface *v, const char *text)
{
	int q;

	if (!strncmp(text, "dcb pfc enable", 14) || !strncmp(text, "priority-flow-control", 21)) {
		v->enabled = false;
		v->mask = 0;
	} else if (!strncmp(text, "trust", 5) || !strncmp(text, "qos trust", 9)) {
		v->trust = v->tags = 0;
	} else if (!strncmp(text, "mtu", 3) || !strncmp(text, "jumboframe", 10)) {
		v->mtu = 0;
	} else if (sscanf(text, "qos queue %d ecn", &q) == 1 && q >= 0 && q < 8) {
		v->ecn &= ~(1u << q);
	}
}

static void interface_line(struct vrp *vrp, const struct rs_line *l)
{
	struct interface *v = vrp->at;
	char name[NAME];
	const char *p;
	int q, mtu;

	if (!strncmp(l->text, "undo ", 5)) {
		undo(v, l->text + 5);
	} else if (sscanf(l->text, "dcb pfc enable %63s", name) == 1 ||
		   !strcmp(l->text, "dcb pfc enable")) {
		struct profile *f = profile(
			vrp, strcmp(l->text, "dcb pfc enable") && strcmp(name, "mode") ? name
										       : "default");

		v->enabled = true;
		v->mask |= f ? f->mask : 0;
	} else if (!strcmp(l->text, "priority-flow-control enable")) {
		v->enabled = true;
	} else if ((p = strstr(l->text, "priority-flow-control no-drop dot1p "))) {
		v->mask |= bits(p + 36);
	} else if (!strncmp(l->text, "trust dscp", 10) || !strncmp(l->text, "qos trust dscp", 14)) {
		v->trust = l->number;
	} else if (!strncmp(l->text, "trust 8021p", 11) ||
		   !strncmp(l->text, "qos trust dot1p", 15)) {
		v->tags = l->number;
	} else if (sscanf(l->text, "qos queue %d ecn", &q) == 1 ||
		   sscanf(l->text, "qos wred queue %d ecn", &q) == 1) {
		v->ecn |= q >= 0 && q < 8 && strstr(l->text, " ecn") ? 1u << q : 0;
	} else if (sscanf(l->text, "mtu %d", &mtu) == 1 ||
		   sscanf(l->text, "jumboframe enable %d", &mtu) == 1) {
		v->mtu = mtu;
	}
}

/* What is set for all, before the interfaces. */
static void before(struct vrp *v)
{
	struct rs_line l = {0};
	struct profile *now = NULL;
	char name[NAME], last[NAME] = "";
	bool within = false;

	snprintf(v->profile[v->n].name, NAME, "default");
	v->profile[v->n++].mask = 1u << 3; /* VRP's own profile */
	while (rs_line_next(v->in, &l)) {
		if (!strncmp(l.text, "interface ", 10))
			within = true;
		else if (*l.text == '#')
			within = false;
		if (!l.indent && sscanf(l.text, "dcb pfc %63s", name) == 1 && !within)
			now = profile(v, name);
		else if (l.indent && now && !strncmp(l.text, "priority ", 9))
			now->mask = bits(l.text + 9);
		else if (!l.indent)
			now = NULL;
		if (within && sscanf(l.text, "dcb pfc enable %63s", last) == 1) {
			struct profile *f = profile(v, strcmp(last, "mode") ? last : "default");

			v->site |= f ? f->mask : 0;
		}
		if (strstr(l.text, "priority-flow-control no-drop dot1p "))
			v->site |= bits(strstr(l.text, "dot1p ") + 6);
	}
}

/* NULL: no interface of traffic, or too many. */
static struct interface *interface_of(struct vrp *v, const char *port, uint32_t line)
{
	struct interface *i = v->interface;

	if (!strncasecmp(port, "vlan", 4) || !strncasecmp(port, "loop", 4) ||
	    !strncasecmp(port, "me", 2) || !strncasecmp(port, "null", 4))
		return NULL;
	for (unsigned k = 0; k < v->n_interfaces; k++, i++)
		if (!strcmp(i->port, port))
			return i;
	if (v->n_interfaces == INTERFACES)
		return NULL;
	v->n_interfaces++;
	*i = (struct interface){.line = line};
	snprintf(i->port, sizeof(i->port), "%s", port);
	return i;
}

static int read_vrp(struct rs_audit *a, const struct rs_input *in)
{
	struct vrp v = {.a = a, .in = in, .comware = rs_input_has(in, "priority-flow-control ")};
	struct rs_line l = {0};
	char port[NAME];

	v.interface = calloc(INTERFACES, sizeof(*v.interface));
	if (!v.interface)
		return a->err = -ENOMEM;
	before(&v);
	rs_input_add(a, in, 0, NULL, "host", "role", "switch");
	rs_input_add(a, in, 0, NULL, "host", "os", v.comware ? "Comware" : "VRP");
	while (rs_line_next(in, &l)) {
		if (!l.indent)
			v.at = sscanf(l.text, "interface %63s", port) == 1
				       ? interface_of(&v, port, l.number)
				       : NULL;
		else if (v.at)
			interface_line(&v, &l);
	}
	for (unsigned k = 0; k < v.n_interfaces; k++)
		finish(&v, &v.interface[k]);
	free(v.interface);
	return a->err;
}

static bool own_name(const struct rs_input *in, char *out, size_t size)
{
	return rs_input_word(in, "\nsysname ", out, size) ||
	       rs_input_word(in, "\n sysname ", out, size);
}

const struct rs_reader rs_reader_vrp = {
	.name = "vrp",
	.what = "Huawei VRP and H3C Comware configuration: PFC, trust, ECN, frame size",
	.trust = RS_TRUST_INTENT,
	.score = score,
	.read = read_vrp,
	.own_name = own_name,
	.settings = true,
};
