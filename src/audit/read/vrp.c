/*
 * Configurations of Huawei's VRP and H3C's Comware: PFC, trust, ECN and frame size of interfaces.
 * Huawei: "dcb pfc NAME", "priority 3"; "dcb pfc enable NAME mode manual", "trust dscp", "qos queue
 * 3 ecn". H3C: "priority-flow-control enable", "priority-flow-control no-drop dot1p 3", "qos trust
 * dscp", "qos wred queue 3 ecn". Without a map of its own a DSCP is in the class of its upper three
 * bits on both.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/readers.h"

enum { PROFILES = 16, NAME = 64 };

struct profile {
	char name[NAME];
	unsigned mask;
};

struct vrp {
	struct rs_audit *a;
	const struct rs_input *in;
	bool comware;
	struct profile profile[PROFILES];
	unsigned n, site; /* site: priorities that some interface protects */
	/* of the interface at hand */
	char port[NAME];
	uint32_t line, trust, tags; /* where it trusts DSCPs; where priority tags */
	bool enabled;
	unsigned mask, ecn;
	int mtu;
	char *now; /* name of the profile that is being described; NULL: none */
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

/* An interface ends: what it has. */
static void finish(struct vrp *v)
{
	char name[32], value[16];

	if (!*v->port)
		return;
	say(v, v->line, v->port, "pfc_seen", "1");
	if (v->tags && !v->trust)
		say(v, v->tags, v->port, "trust", "pcp");
	if (v->trust) {
		say(v, v->trust, v->port, "trust", "dscp");
		for (int d = 0; d < 64; d++) {
			if (!(v->site >> d / 8 & 1))
				continue;
			snprintf(name, sizeof(name), "dscp_to_tc/%d", d);
			snprintf(value, sizeof(value), "%d", d / 8);
			say(v, v->trust, v->port, name, value);
		}
	}
	for (int p = 0; p < 8; p++) {
		snprintf(name, sizeof(name), "pfc/%d", p);
		if (v->enabled && v->mask >> p & 1)
			say(v, v->line, v->port, name, "1");
		snprintf(name, sizeof(name), "queue/%d/ecn", p);
		if (v->ecn >> p & 1)
			say(v, v->line, v->port, name, "1");
	}
	snprintf(value, sizeof(value), "%d", v->mtu);
	if (v->mtu > 0)
		say(v, v->line, v->port, "mtu", value);
	*v->port = '\0';
}

static void interface_line(struct vrp *v, const struct rs_line *l)
{
	char name[NAME];
	const char *p;
	int q, mtu;

	if (sscanf(l->text, "dcb pfc enable %63s", name) == 1 ||
	    !strcmp(l->text, "dcb pfc enable")) {
		struct profile *f = profile(
			v, strcmp(l->text, "dcb pfc enable") && strcmp(name, "mode") ? name
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

static int read_vrp(struct rs_audit *a, const struct rs_input *in)
{
	struct vrp v = {.a = a, .in = in, .comware = rs_input_has(in, "priority-flow-control ")};
	struct rs_line l = {0};

	before(&v);
	rs_input_add(a, in, 0, NULL, "host", "role", "switch");
	rs_input_add(a, in, 0, NULL, "host", "os", v.comware ? "Comware" : "VRP");
	while (rs_line_next(in, &l)) {
		if (!l.indent)
			finish(&v);
		if (!l.indent && sscanf(l.text, "interface %63s", v.port) == 1 &&
		    strncasecmp(v.port, "vlan", 4) && strncasecmp(v.port, "loop", 4) &&
		    strncasecmp(v.port, "me", 2) && strncasecmp(v.port, "null", 4)) {
			v.line = l.number;
			v.trust = v.tags = 0;
			v.enabled = false;
			v.mask = v.ecn = 0;
			v.mtu = 0;
		} else if (!l.indent) {
			*v.port = '\0';
		} else if (*v.port) {
			interface_line(&v, &l);
		}
	}
	finish(&v);
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
