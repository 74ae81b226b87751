/* NVIDIA Onyx (MLNX-OS): its configuration lines for RoCE, show roce, and the counters of a port.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/readers.h"

static void say(struct rs_audit *a, const struct rs_input *in, uint32_t line, const char *port,
		const char *name, const char *value)
{
	char subject[96];

	snprintf(subject, sizeof(subject), "port/%.80s", port);
	rs_input_add(a, in, line, NULL, subject, name, "%s", value);
}

static void is_onyx(struct rs_audit *a, const struct rs_input *in)
{
	rs_input_add(a, in, 0, NULL, "host", "role", "switch");
	rs_input_add(a, in, 0, NULL, "host", "os", "Onyx");
}

/* ---- show interfaces ethernet 1/5 counters roce ---- */

static int score_counters(const struct rs_input *in)
{
	return rs_input_has(in, "no buffer discards") && rs_input_has(in, "pause packets") ? 88 : 0;
}

/* "  8812331   no buffer discards" below "Rx:" or "Tx:" of "Eth1/5:" */
static int read_counters(struct rs_audit *a, const struct rs_input *in)
{
	static const struct {
		const char *name, *rx, *tx;
	} known[] = {
		{"no buffer discards", "counter/lossless_rx_discards",
		 "counter/lossless_tx_discards"},
		{"packets", "counter/lossless_rx_packets", "counter/lossless_tx_packets"},
		{"pause packets", "counter/rx_pause", "counter/tx_pause"},
		{"ECN marked packets", NULL, "counter/ecn_marked"},
	};
	char port[64] = "unnamed", number[32], name[96];
	struct rs_line l = {0};
	bool tx = false;

	is_onyx(a, in);
	while (rs_line_next(in, &l)) {
		if (!strncmp(l.text, "Eth", 3) && strchr(l.text, ':'))
			snprintf(port, sizeof(port), "%.*s", (int)strcspn(l.text, ":"), l.text);
		else if (!strncmp(l.text, "Rx", 2) || !strncmp(l.text, "Tx", 2))
			tx = *l.text == 'T';
		else if (sscanf(l.text, "%31[0-9] %95[^\n]", number, name) == 2)
			for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++) {
				const char *fact = tx ? known[i].tx : known[i].rx;

				if (fact && !strcmp(name, known[i].name))
					say(a, in, l.number, port, fact, number);
			}
	}
	return a->err;
}

const struct rs_reader rs_reader_onyx_counters = {
	.name = "onyx-counters",
	.what = "Onyx show interfaces ethernet PORT counters roce: discards, pauses, marks",
	.trust = RS_TRUST_TOOL,
	.score = score_counters,
	.read = read_counters,
};

/* ---- show roce ---- */

static int score_roce(const struct rs_input *in)
{
	struct rs_line l = {0};

	while (rs_line_next(in, &l) && l.number < 40)
		if (!strncmp(l.text, "RoCE mode", 9) && strchr(l.text, ':'))
			return 88;
	return 0;
}

/* "6  6  CNP  Strict" of the table of classes in use: where CNPs really go; 6 where it is not
 * there.
 */
static int cnp_class(const struct rs_input *in)
{
	struct rs_line l = {0};
	char application[16];
	int priority, class;

	while (rs_line_next(in, &l))
		if (sscanf(l.text, "%d %d %15s", &priority, &class, application) == 3 &&
		    !strcmp(application, "CNP") && class >= 0 && class < 8)
			return class;
	return 6;
}

/* What the mode stands for (Onyx user manual, RoCE): DSCP 24 to 31 in priority and class 3, CNPs of
 * 48 in 6, marking in class 3; PFC of 3 where it is lossless. */
static void profile(struct rs_audit *a, const struct rs_input *in, uint32_t line, bool lossless)
{
	char name[24], class[8];

	snprintf(class, sizeof(class), "%d", cnp_class(in));
	for (int d = 24; d < 32; d++) {
		snprintf(name, sizeof(name), "dscp_to_tc/%d", d);
		say(a, in, line, "*", name, "3");
	}
	say(a, in, line, "*", "dscp_to_tc/48", class);
	say(a, in, line, "*", "pfc_seen", "1");
	say(a, in, line, "*", "pfc/3", lossless ? "1" : "0");
}

static int read_roce(struct rs_audit *a, const struct rs_input *in)
{
	bool exceptions = false, marks = false;
	struct rs_line l = {0};
	unsigned n = 0;

	is_onyx(a, in);
	while (rs_line_next(in, &l)) {
		char *key, *value, name[32];

		if (exceptions && *l.text && strncmp(l.text, "N/A", 3) && n < 64) {
			snprintf(name, sizeof(name), "roce_exception/%u", ++n);
			rs_input_add(a, in, l.number, NULL, "host", name, "%.200s", l.text);
			continue;
		}
		if (!rs_line_pair(l.text, ':', &key, &value))
			continue;
		if (!strcmp(key, "RoCE mode")) {
			rs_input_add(a, in, l.number, NULL, "host", "roce_mode", "%s", value);
			if (!strncmp(value, "loss", 4))
				profile(a, in, l.number, !strcmp(value, "lossless"));
		} else if (!strcmp(key, "Port trust mode")) {
			say(a, in, l.number, "*", "trust",
			    strstr(value, "L3") || strstr(value, "both") ? "dscp" : "pcp");
		} else if (!strcmp(key, "Mode") && strstr(value, "ecn")) {
			marks = true;
			say(a, in, l.number, "*", "queue/3/ecn", "1");
			say(a, in, l.number, "*", "queues_seen", "1");
		} else if (marks && (!strcmp(key, "Min") || !strcmp(key, "Max"))) {
			char bytes[24];
			double kilobytes = strtod(value, NULL);

			if (!(kilobytes >= 0 && kilobytes < 1e9))
				continue;
			snprintf(bytes, sizeof(bytes), "%.0f", kilobytes * 1000);
			say(a, in, l.number, "*", key[1] == 'i' ? "queue/3/kmin" : "queue/3/kmax",
			    bytes);
		} else if (!strncmp(key, "Exception list", 14)) {
			exceptions = true;
		}
	}
	return a->err;
}

const struct rs_reader rs_reader_onyx_roce = {
	.name = "onyx-roce",
	.what = "Onyx show roce: mode, trust, marking, exceptions",
	.trust = RS_TRUST_TOOL,
	.score = score_roce,
	.read = read_roce,
	.begins = (const char *const[]){"RoCE mode *: loss", "RoCE mode *: semi", NULL},
};
