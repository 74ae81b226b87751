/*
 * Cumulus' own QoS files: /etc/cumulus/datapath/qos/qos_features.conf (5.0 and later) and
 * traffic.conf before it: "key = value" lines, groups of ports by name. A switch priority is what
 * PFC names; the egress queue is its own number unless cos_egr_queue says another.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/readers.h"

enum { GROUPS = 32, NAME = 64, SET = 512, PORTS = 512 };

/* pfc.NAME.*, ecn_red.NAME.* */
struct group {
	char name[NAME], ports[SET];
	bool pfc, rx, tx, ecn;
	uint8_t list; /* priorities, or queues */
	long long kmin, kmax;
	uint32_t line;
};

struct conf {
	struct rs_audit *a;
	const struct rs_input *in;
	unsigned n;
	struct group group[GROUPS];
};

static int score(const struct rs_input *in)
{
	static const char *const marks[] = {"traffic.packet_priority_source_set",
					    "traffic.cos_",
					    "pfc.port_group_list",
					    "default_ecn_red_conf.",
					    "cos_egr_queue.",
					    "default_egress_sched.",
					    "ecn_red.port_group_list"};
	struct rs_line l = {0};

	while (rs_line_next(in, &l) && l.number < 2000)
		for (unsigned i = 0; i < sizeof(marks) / sizeof(*marks); i++)
			if (!strncmp(l.text, marks[i], strlen(marks[i])) && strchr(l.text, '='))
				return 88;
	return 0;
}

static void say(struct conf *c, uint32_t line, const char *port, const char *name,
		const char *value)
{
	char subject[NAME + 8];

	snprintf(subject, sizeof(subject), "port/%.60s", port);
	rs_input_add(c->a, c->in, line, NULL, subject, name, "%s", value);
}

/* "[0,3]", "[24-31]": bits. */
static uint64_t bits(const char *v)
{
	uint64_t all = 0;

	for (const char *p = v; *p; p++) {
		char *end;
		long a, b;

		if (!isdigit((unsigned char)*p))
			continue;
		a = b = strtol(p, &end, 10);
		if (*end == '-' && isdigit((unsigned char)end[1]))
			b = strtol(end + 1, &end, 10);
		for (long k = a; k <= b && k < 64; k++)
			all |= UINT64_C(1) << k;
		p = end - 1;
	}
	return all;
}

static struct group *group(struct conf *c, const char *name, size_t n, bool pfc)
{
	for (unsigned i = 0; i < c->n; i++)
		if (c->group[i].pfc == pfc && strlen(c->group[i].name) == n &&
		    !strncmp(c->group[i].name, name, n))
			return &c->group[i];
	if (c->n >= GROUPS || n >= NAME)
		return NULL;
	c->group[c->n] = (struct group){
		.pfc = pfc, .rx = true, .tx = true, .ecn = true, .kmin = -1, .kmax = -1};
	memcpy(c->group[c->n].name, name, n);
	return &c->group[c->n++];
}

static void group_line(struct group *g, uint32_t line, const char *key, const char *value)
{
	bool on = !strncmp(value, "true", 4) || !strncmp(value, "enable", 6);

	g->line = g->line ? g->line : line;
	if (!strcmp(key, "port_set"))
		snprintf(g->ports, sizeof(g->ports), "%s", value);
	else if (!strcmp(key, "cos_list") || !strcmp(key, "egress_queue_list"))
		g->list = (uint8_t)bits(value);
	else if (!strcmp(key, "rx_enable"))
		g->rx = on;
	else if (!strcmp(key, "tx_enable"))
		g->tx = on;
	else if (!strcmp(key, "ecn_enable"))
		g->ecn = on;
	else if (!strcmp(key, "min_threshold_bytes"))
		g->kmin = atoll(value);
	else if (!strcmp(key, "max_threshold_bytes"))
		g->kmax = atoll(value);
}

/* What is the whole switch's. */
static void plain(struct conf *c, uint32_t line, const char *key, const char *value)
{
	char name[48], text[16];
	int cos, used = 0;

	if (sscanf(key, "traffic.cos_%d.priority_source.dscp%n", &cos, &used) == 1 && used) {
		uint64_t all = bits(value);

		for (int d = 0; d < 64; d++)
			if (all >> d & 1) {
				snprintf(name, sizeof(name), "dscp_to_tc/%d", d);
				snprintf(text, sizeof(text), "%d", cos);
				say(c, line, "*", name, text);
			}
	} else if (!strcmp(key, "traffic.packet_priority_source_set")) {
		say(c, line, "*", "trust",
		    strstr(value, "dscp")     ? "dscp"
		    : strstr(value, "802.1p") ? "pcp"
					      : "none");
	} else if (sscanf(key, "cos_egr_queue.cos_%d.uc%n", &cos, &used) == 1 && used) {
		snprintf(name, sizeof(name), "tc_to_queue/%d", cos);
		say(c, line, "*", name, value);
	} else if (sscanf(key, "default_egress_sched.egr_queue_%d.bw_percent%n", &cos, &used) ==
			   1 &&
		   used) {
		snprintf(name, sizeof(name), "queue/%d/scheduler", cos);
		say(c, line, "*", name, atoi(value) ? "DWRR" : "STRICT");
		snprintf(name, sizeof(name), "queue/%d/weight", cos);
		if (atoi(value))
			say(c, line, "*", name, value);
	}
}

static void one_line(struct conf *c, uint32_t line, const char *key, const char *value)
{
	static const struct {
		const char *prefix;
		bool pfc, named;
	} kinds[] = {{"pfc.", true, true},
		     {"ecn_red.", false, true},
		     {"default_ecn_red_conf.", false, false}};

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		const char *rest = key + strlen(kinds[i].prefix), *dot = strchr(rest, '.');
		struct group *g;

		if (strncmp(key, kinds[i].prefix, strlen(kinds[i].prefix)))
			continue;
		if (!kinds[i].named) {
			g = group(c, "default", 7, false);
			if (g && !*g->ports)
				snprintf(g->ports, sizeof(g->ports), "*");
			dot = rest - 1;
		} else {
			g = dot ? group(c, rest, (size_t)(dot - rest), kinds[i].pfc) : NULL;
		}
		if (g)
			group_line(g, line, dot + 1, value);
		return;
	}
	plain(c, line, key, value);
}

static void port_of(struct conf *c, const struct group *g, const char *port)
{
	char name[32], text[24];

	if (g->pfc) {
		say(c, g->line, port, "pfc_seen", "1");
		say(c, g->line, port, "pfc_rx", g->rx ? "1" : "0");
		say(c, g->line, port, "pfc_tx", g->tx ? "1" : "0");
	} else {
		say(c, g->line, port, "queues_seen", "1");
	}
	for (int p = 0; p < 8; p++) {
		if (!(g->list >> p & 1))
			continue;
		snprintf(name, sizeof(name), g->pfc ? "pfc/%d" : "queue/%d/ecn", p);
		say(c, g->line, port, name, g->pfc || g->ecn ? "1" : "0");
		for (int k = 0; k < 2 && !g->pfc; k++) {
			snprintf(name, sizeof(name), "queue/%d/%s", p, k ? "kmax" : "kmin");
			snprintf(text, sizeof(text), "%lld", k ? g->kmax : g->kmin);
			if ((k ? g->kmax : g->kmin) >= 0)
				say(c, g->line, port, name, text);
		}
	}
}

/* "swp1-swp4,swp6", "swp1-4", "allports". */
static void ports_of(struct conf *c, const struct group *g)
{
	char set[SET], *save = NULL, port[NAME];
	unsigned most = 0;

	snprintf(set, sizeof(set), "%s", g->ports);
	for (char *w = strtok_r(set, ", []", &save); w; w = strtok_r(NULL, ", []", &save)) {
		int a, b, used = 0;

		if (!strcmp(w, "allports") || !strcmp(w, "*")) {
			port_of(c, g, "*");
			continue;
		}
		if (sscanf(w, "swp%d%n", &a, &used) != 1)
			continue;
		b = a;
		if (w[used] == '-' && sscanf(w + used + 1, "swp%d", &b) != 1 &&
		    sscanf(w + used + 1, "%d", &b) != 1)
			b = a;
		if (w[used] != '-' && w[used]) { /* swp1s0 */
			port_of(c, g, w);
			continue;
		}
		for (int k = a; k <= b && most++ < PORTS; k++) {
			snprintf(port, sizeof(port), "swp%d", k);
			port_of(c, g, port);
		}
	}
}

static int read_conf(struct rs_audit *a, const struct rs_input *in)
{
	struct conf c = {.a = a, .in = in};
	struct rs_line l = {0};

	rs_input_add(a, in, 0, NULL, "host", "role", "switch");
	rs_input_add(a, in, 0, NULL, "host", "os", "Cumulus");
	while (rs_line_next(in, &l)) {
		char *key, *value;

		if (*l.text != '#' && rs_line_pair(l.text, '=', &key, &value) && *value)
			one_line(&c, l.number, key, value);
	}
	for (unsigned i = 0; i < c.n; i++)
		ports_of(&c, &c.group[i]);
	return a->err;
}

const struct rs_reader rs_reader_cumulus_conf = {
	.name = "cumulus-conf",
	.what = "Cumulus qos_features.conf, traffic.conf: DSCP map, PFC and ECN of port groups",
	.trust = RS_TRUST_INTENT,
	.score = score,
	.settings = true,
	.read = read_conf,
};
