/* iproute2's dcb: pfc, app, ets, buffer; as text and as JSON. The output does not name the device:
 * the command or the file's name does. IEEE 802.1Q-2022 annex D (managed objects). */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/read/place.h"
#include "audit/read/readers.h"
#include "text/document.h"

/* ---- Names of code points: RFC 2474, 2597, 3246, 5865 ---- */

/* "26", "AF31", "CS6", "EF": the number; -1: none. */
static int dscp_of(const char *text)
{
	unsigned x, y;
	char *end;
	long n = strtol(text, &end, 0);

	if (end != text)
		return *end || n < 0 || n > 63 ? -1 : (int)n;
	if (sscanf(text, "CS%1u", &x) == 1 && x < 8)
		return (int)x * 8;
	if (sscanf(text, "AF%1u%1u", &x, &y) == 2 && x >= 1 && x <= 4 && y >= 1 && y <= 3)
		return (int)(x * 8 + y * 2);
	if (!strcasecmp(text, "EF"))
		return 46;
	if (!strcasecmp(text, "VA"))
		return 44;
	return -1;
}

struct state {
	struct rs_audit *a;
	const struct rs_input *in;
	char subject[96];
};

static void put(struct state *s, uint32_t line, const char *name, long number, const char *value)
{
	if (value)
		rs_input_add(s->a, s->in, line, NULL, s->subject, name, "%s", value);
	else
		rs_input_add(s->a, s->in, line, NULL, s->subject, name, "%ld", number);
}

/* Lists of "index:value", and the facts that they are. */
static const struct {
	const char *key, *json, *fact;
	enum { FLAG, NUMBER, SIZE, WORD } kind;
} lists[] = {
	{"prio-pfc", "prio_pfc", "pfc/%u", FLAG},
	{"prio-buffer", "prio_buffer", "prio_buffer/%u", NUMBER},
	{"buffer-size", "buffer_size", "buffer_size/%u", SIZE},
	{"prio-tc", "prio_tc", "prio_to_tc/%u", NUMBER},
	{"tc-bw", "tc_bw", "tc/%u/bandwidth", NUMBER},
	{"tc-tsa", "tc_tsa", "tc/%u/tsa", WORD},
};

/* "250Kb", "1Mb", "19872b": bytes, as iproute2 prints sizes; -1: not understood. */
static long size_of(const char *v)
{
	char *end;
	double n = strtod(v, &end);

	if (end == v || n < 0 || n > 1e12)
		return -1;
	return (long)(n * (*end == 'K' ? 1024 : *end == 'M' ? 1048576 : 1) + 0.5);
}

static void item(struct state *s, uint32_t line, unsigned list, unsigned index, const char *v)
{
	char name[32];

	if (index > 7)
		return;
	/* lists[].fact is one of the constants above */
	snprintf(name, sizeof(name), "%.*s%u%s",
		 (int)(strchr(lists[list].fact, '%') - lists[list].fact), lists[list].fact, index,
		 strchr(lists[list].fact, '%') + 2);
	switch (lists[list].kind) {
	case FLAG:
		put(s, line, name, !strcmp(v, "on") || !strcmp(v, "true"), NULL);
		return;
	case NUMBER:
		if (isdigit((unsigned char)*v))
			put(s, line, name, atol(v), NULL);
		return;
	case SIZE:
		if (size_of(v) >= 0)
			put(s, line, name, size_of(v), NULL);
		return;
	default:
		put(s, line, name, 0, v);
	}
}

static void application(struct state *s, uint32_t line, const char *dscp, const char *prio)
{
	char name[32];
	int code = dscp_of(dscp);

	if (code < 0 || *prio < '0' || *prio > '7' || prio[1])
		return;
	snprintf(name, sizeof(name), "dscp_to_prio/%d", code);
	put(s, line, name, *prio - '0', NULL);
}

/* ---- Text ---- */

static int score_text(const struct rs_input *in)
{
	static const char *const marks[] = {
		"prio-pfc 0:", "prio-buffer 0:", "prio-tc 0:", "dscp-prio ", "default-prio ", NULL};
	struct rs_line l = {0};

	while (rs_line_next(in, &l) && l.number < 30)
		for (unsigned i = 0; marks[i]; i++)
			if (!strncmp(l.text, marks[i], strlen(marks[i])))
				return 88;
	return 0;
}

static int read_text(struct rs_audit *a, const struct rs_input *in)
{
	struct state s = {.a = a, .in = in};
	bool apps = false, dscp = false;
	struct rs_line l = {0};
	char device[128];

	rs_input_device(in, device, sizeof(device));
	snprintf(s.subject, sizeof(s.subject), "netdev/%.80s", device);
	while (rs_line_next(in, &l)) {
		char *w[80];
		unsigned n = rs_line_words(l.text, w, 80), index;

		/* app's own lines: a table without DSCP entries means that PCP is trusted */
		apps |= n && strstr(w[0], "-prio") && strncmp(w[0], "prio-", 5);
		dscp |= n > 1 && !strcmp(w[0], "dscp-prio");
		for (unsigned i = 1; i < n; i++) {
			char *colon = strchr(w[i], ':');

			if (!colon)
				continue;
			*colon = '\0';
			if (!strcmp(w[0], "dscp-prio"))
				application(&s, l.number, w[i], colon + 1);
			for (unsigned k = 0; k < sizeof(lists) / sizeof(*lists); k++)
				if (!strcmp(w[0], lists[k].key) && sscanf(w[i], "%u", &index) == 1)
					item(&s, l.number, k, index, colon + 1);
		}
	}
	if (apps)
		put(&s, 0, "trust", 0, dscp ? "dscp" : "pcp");
	return a->err;
}

const struct rs_reader rs_reader_dcb = {
	.name = "dcb",
	.what = "dcb pfc|app|ets|buffer show dev DEV",
	.trust = RS_TRUST_TOOL,
	.score = score_text,
	.read = read_text,
};

/* ---- JSON ---- */

static int score_json(const struct rs_input *in)
{
	const char *p = in->data + strspn(in->data, " \t\r\n[");

	if (*p != '{')
		return 0;
	for (unsigned k = 0; k < sizeof(lists) / sizeof(*lists); k++) {
		char key[32];

		snprintf(key, sizeof(key), "\"%s\"", lists[k].json);
		if (rs_input_has(in, key))
			return 90;
	}
	return rs_input_has(in, "\"dscp_prio\"") || rs_input_has(in, "\"default_prio\"") ? 90 : 0;
}

static void object(struct state *s, struct rs_value *n)
{
	struct rs_value *apps = rs_document_member(n, "dscp_prio"), *pair, *v;
	void *iter = NULL;
	char x[32], y[32];

	for (unsigned k = 0; k < sizeof(lists) / sizeof(*lists); k++) {
		struct rs_value *list = rs_document_member(n, lists[k].json);
		unsigned index = 0;
		void *each = NULL;

		if (!list || !rs_value_is_list(list))
			continue;
		while ((v = rs_value_each(list, &each))) {
			if (rs_document_text(v, x, sizeof(x)))
				item(s, rs_document_line(v), k, index, x);
			index++;
		}
	}
	v = rs_document_member(n, "total_size");
	if (rs_document_text(v, x, sizeof(x)))
		put(s, rs_document_line(v), "buffer_total", 0, x);
	if (apps && rs_value_is_list(apps))
		while ((pair = rs_value_each(apps, &iter)))
			if (rs_value_is_list(pair) &&
			    rs_document_text(rs_value_at(pair, 0), x, sizeof(x)) &&
			    rs_document_text(rs_value_at(pair, 1), y, sizeof(y)))
				application(s, rs_document_line(rs_value_at(pair, 0)), x, y);
	if (apps || rs_document_member(n, "default_prio"))
		put(s, 0, "trust", 0, apps ? "dscp" : "pcp");
}

static int read_json(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_document *d = rs_document_parse(in->data, in->size);
	struct rs_value *root = d ? rs_document_root(d) : NULL, *n;
	struct state s = {.a = a, .in = in};
	void *iter = NULL;
	char device[128];

	rs_input_device(in, device, sizeof(device));
	snprintf(s.subject, sizeof(s.subject), "netdev/%.80s", device);
	if (root && rs_value_is_list(root))
		while ((n = rs_value_each(root, &iter)))
			object(&s, n);
	else if (root)
		object(&s, root);
	rs_document_destroy(d);
	return a->err;
}

const struct rs_reader rs_reader_dcb_json = {
	.name = "dcb-json",
	.what = "dcb -j pfc|app|ets|buffer show dev DEV",
	.trust = RS_TRUST_TOOL,
	.score = score_json,
	.read = read_json,
};
