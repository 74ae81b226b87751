/* mlnx_qos -i DEV of mlnx-tools: trust, DSCP map, PFC, buffers, ETS. Old and new forms; more than
 * one device a file where headings name them. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/place.h"
#include "audit/read/readers.h"

static int score(const struct rs_input *in)
{
	if (rs_input_has(in, "PFC configuration:") && rs_input_has(in, "priority"))
		return 90;
	return rs_input_has(in, "Priority trust state:") || rs_input_has(in, "dscp2prio mapping:")
		       ? 85
		       : 0;
}

struct state {
	struct rs_audit *a;
	const struct rs_input *in;
	char subject[160];
	bool pfc;       /* inside "PFC configuration:" */
	int tc;         /* the traffic class of the last "tc:" line */
	bool unprinted; /* a device was named whose map did not come yet */
};

static void add(struct state *s, uint32_t line, const char *name, const char *value)
{
	rs_input_add(s->a, s->in, line, NULL, s->subject, name, "%s", value);
}

/* "prio:3 dscp:31,30,29,28," */
static void dscp_row(struct state *s, uint32_t line, const char *text)
{
	int prio = atoi(text + 5);
	const char *p = strstr(text, "dscp:");
	char name[32], value[16];

	for (p = p ? p + 5 : ""; *p;) {
		char *end;
		long dscp = strtol(p, &end, 10);

		if (end == p)
			break;
		if (dscp >= 0 && dscp < 64 && prio >= 0 && prio < 8) {
			snprintf(name, sizeof(name), "dscp_to_prio/%ld", dscp);
			snprintf(value, sizeof(value), "%d", prio);
			add(s, line, name, value);
		}
		p = end + (*end == ',');
	}
}

/* "enabled     0   0   0   1 ..." under PFC configuration */
static void per_priority(struct state *s, uint32_t line, char *text, const char *fact)
{
	char *word[9], name[32];
	unsigned n = rs_line_words(text, word, 9);

	for (unsigned i = 1; i < n; i++) {
		snprintf(name, sizeof(name), "%s/%u", fact, i - 1);
		add(s, line, name, word[i]);
	}
}

/* "19872,220896,0,0,0,0,0,0,max_buffer_size=4151520" */
static void buffers(struct state *s, uint32_t line, const char *p)
{
	char name[32], value[32];

	for (unsigned i = 0; isdigit((unsigned char)*p); i++) {
		size_t n = strspn(p, "0123456789");

		snprintf(name, sizeof(name), "buffer_size/%u", i);
		snprintf(value, sizeof(value), "%.*s", (int)n, p);
		add(s, line, name, value);
		p += n + (p[n] == ',');
	}
	if (!strncmp(p, "max_buffer_size=", 16))
		add(s, line, "buffer_total", p + 16);
}

/* "tc: 0 ratelimit: unlimited, tsa: ets, bw: 9%" */
static void tc(struct state *s, uint32_t line, const char *text)
{
	const char *p;
	char name[32], value[32];

	s->tc = atoi(text + 3);
	if ((p = strstr(text, "tsa:")) && sscanf(p + 4, " %31[a-z]", value) == 1) {
		snprintf(name, sizeof(name), "tc/%d/tsa", s->tc);
		add(s, line, name, value);
	}
	if ((p = strstr(text, "bw:")) && sscanf(p + 3, " %31[0-9]", value) == 1) {
		snprintf(name, sizeof(name), "tc/%d/bandwidth", s->tc);
		add(s, line, name, value);
	}
	if ((p = strstr(text, "ratelimit:")) && sscanf(p + 10, " %31[^,]", value) == 1) {
		snprintf(name, sizeof(name), "tc/%d/ratelimit", s->tc);
		add(s, line, name, value);
	}
}

/* A heading that names the device: "=== show configuration for device eth0 / mlx5_0===" */
static bool heading(struct state *s, const struct rs_line *l)
{
	const char *p = strstr(l->text, "device ");
	char nd[64], ib[64];
	int n;

	if (!p || *l->text != '=')
		return false;
	n = sscanf(p + 7, "%63[A-Za-z0-9_.] / %63[A-Za-z0-9_]", nd, ib);
	if (n < 1)
		return false;
	snprintf(s->subject, sizeof(s->subject), "netdev/%s", nd);
	if (n == 2) {
		char nic[80];

		snprintf(nic, sizeof(nic), "nic/%s", ib);
		rs_input_add(s->a, s->in, l->number, NULL, nic, "netdev", "%s", nd);
	}
	return true;
}

static void line(struct state *s, struct rs_line *l)
{
	char *text = l->text, *key, *value;

	if (heading(s, l))
		return;
	if (!strncmp(text, "prio:", 5)) {
		dscp_row(s, l->number, text);
	} else if (!strncmp(text, "tc:", 3)) {
		s->pfc = false;
		tc(s, l->number, text);
	} else if (s->pfc && !strncmp(text, "enabled", 7) && strchr(" \t", text[7])) {
		per_priority(s, l->number, text, "pfc");
	} else if (s->pfc && !strncmp(text, "buffer", 6) && isspace((unsigned char)text[6])) {
		per_priority(s, l->number, text, "prio_buffer");
	} else if (s->tc >= 0 && !strncmp(text, "priority:", 9)) {
		char name[32], tcs[16];

		snprintf(name, sizeof(name), "prio_to_tc/%d", atoi(text + 9));
		snprintf(tcs, sizeof(tcs), "%d", s->tc);
		add(s, l->number, name, tcs);
	} else if (!strncmp(text, "PFC configuration", 17)) {
		s->pfc = true;
	} else if (rs_line_pair(text, ':', &key, &value)) {
		if (!strcmp(key, "Priority trust state"))
			add(s, l->number, "trust", value);
		else if (!strcmp(key, "DCBX mode"))
			add(s, l->number, "dcbx", value);
		else if (!strcmp(key, "Cable len"))
			add(s, l->number, "cable_m", value);
		else if (!strncmp(key, "Receive buffer size", 19))
			buffers(s, l->number, value);
	}
}

static int read_mlnx_qos(struct rs_audit *a, const struct rs_input *in)
{
	struct state s = {.a = a, .in = in, .tc = -1};
	struct rs_line l = {0};
	char device[128];

	rs_input_device(in, device, sizeof(device));
	snprintf(s.subject, sizeof(s.subject), "netdev/%s", device);
	while (rs_line_next(in, &l)) {
		char copy[sizeof(l.text)], *p;

		/* scripts print /sys paths between */
		memcpy(copy, l.text, sizeof(copy));
		if ((p = strstr(copy, "/sys/"))) {
			char *eq = strstr(p, " = ");

			if (eq) {
				*eq = '\0';
				rs_place_add(a, in, l.number, p, eq + 3);
				continue;
			}
		}
		if (sscanf(copy, "cma_roce_tos: %127[0-9]", device) == 1) {
			rs_input_add(a, in, l.number, NULL, s.subject, "cm_tos", "%s", device);
			continue;
		}
		line(&s, &l);
	}
	return a->err;
}

const struct rs_reader rs_reader_mlnx_qos = {
	.name = "mlnx_qos",
	.what = "mlnx_qos -i DEV: trust, DSCP to priority, PFC, buffers, ETS",
	.trust = RS_TRUST_TOOL,
	.score = score,
	.read = read_mlnx_qos,
	.begins = (const char *const[]){"DCBX mode:", "Priority trust state:", NULL},
};
