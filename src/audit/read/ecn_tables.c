/* Thresholds of marking as switches show them: EOS' table of transmit queues, SONiC's profiles. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/read/readers.h"

static void is_switch(struct rs_audit *a, const struct rs_input *in, const char *os)
{
	rs_input_add(a, in, 0, NULL, "host", "role", "switch");
	rs_input_add(a, in, 0, NULL, "host", "os", "%s", os);
}

/* ---- EOS: show qos interfaces ecn ---- */

static bool ecn_head(const char *text)
{
	return (!strncmp(text, "Tx-Queue", 8) || !strncmp(text, "Tx Queue", 8)) &&
	       strstr(text, "Threshold") && (strstr(text, "Min") || strstr(text, "min"));
}

static int score_ecn(const struct rs_input *in)
{
	struct rs_line l = {0};

	while (rs_line_next(in, &l) && l.number < 40)
		if (ecn_head(l.text))
			return 88;
	return 0;
}

/* Bytes of one unit: "kbytes", "(kbytes)", "MB". Segments and cells are compared as they are. */
static double unit_of(const char *text)
{
	const char *at = strcasestr(text, "byte");

	if (!at || at == text)
		return 1;
	return tolower((unsigned char)at[-1]) == 'k'   ? 1e3
	       : tolower((unsigned char)at[-1]) == 'm' ? 1e6
						       : 1;
}

/* "Ethernet1/1:", the port of what follows; false: no such line. */
static bool ecn_port(const char *text, char *subject, size_t size)
{
	size_t n = strlen(text);

	if (strncmp(text, "Ethernet", 8) || !isdigit((unsigned char)text[8]) ||
	    text[n - 1] != ':' || strchr(text, ' '))
		return false;
	snprintf(subject, size, "port/%.*s", (int)(n - 1), text);
	return true;
}

/* "3  500  1500  kbytes  20  0": the queue, two thresholds, each perhaps with its unit, the share;
 * dashes where the queue does not mark. */
static void ecn_row(struct rs_audit *a, const struct rs_input *in, uint32_t line,
		    const char *subject, double unit, char **w, unsigned n)
{
	static const char *const facts[] = {"kmin", "kmax", "pmax"};
	char name[48];
	unsigned k = 0;
	int queue = atoi(w[0]);

	for (unsigned i = 1; i < n; i++)
		if (strcasestr(w[i], "byte"))
			unit = unit_of(w[i]);
	for (unsigned i = 1; i < n && k < 3; i++) {
		char *end;
		double v = strtod(w[i], &end);

		if (!strcmp(w[i], "-")) {
			k++;
			continue;
		}
		if (end == w[i] || v < 0 || v > 1e9)
			continue;
		snprintf(name, sizeof(name), "queue/%d/%s", queue, facts[k]);
		rs_input_add(a, in, line, NULL, subject, name, "%.0f", k < 2 ? v * unit : v);
		k++;
		if (k == 2) {
			snprintf(name, sizeof(name), "queue/%d/ecn", queue);
			rs_input_add(a, in, line, NULL, subject, name, "1");
		}
	}
}

static int read_ecn(struct rs_audit *a, const struct rs_input *in)
{
	char subject[96] = "port/*", *w[16];
	struct rs_line l = {0};
	bool table = false;
	double unit = 1;

	is_switch(a, in, "EOS");
	while (rs_line_next(in, &l)) {
		unsigned n;

		if (ecn_head(l.text)) {
			table = true;
			unit = 1;
			continue;
		}
		if (ecn_port(l.text, subject, sizeof(subject))) {
			table = false;
			continue;
		}
		/* the units of the columns may stand in a second line of the heading */
		if (table && *l.text == '(')
			unit = unit_of(l.text);
		n = table && isdigit((unsigned char)*l.text) ? rs_line_words(l.text, w, 16) : 0;
		if (n > 2 && !w[0][1])
			ecn_row(a, in, l.number, subject, unit, w, n);
	}
	return a->err;
}

const struct rs_reader rs_reader_eos_ecn = {
	.name = "eos-ecn",
	.what = "Arista EOS show qos interfaces ecn: thresholds of marking by queue",
	.trust = RS_TRUST_TOOL,
	.score = score_ecn,
	.read = read_ecn,
	.begins = (const char *const[]){"Tx-Queue Minimum Threshold", NULL},
};

/* ---- SONiC: ecnconfig -l, show ecn ---- */

static int score_profiles(const struct rs_input *in)
{
	return rs_input_has(in, "Profile: ") && rs_input_has(in, "green_max_threshold") ? 86 : 0;
}

static int read_profiles(struct rs_audit *a, const struct rs_input *in)
{
	char profile[64] = "", name[160], *w[4];
	struct rs_line l = {0};

	is_switch(a, in, "SONiC");
	while (rs_line_next(in, &l)) {
		if (sscanf(l.text, "Profile: %63s", profile) == 1 || !*profile)
			continue;
		if (!strchr(l.text, '_') && strncmp(l.text, "ecn ", 4))
			continue;
		if (rs_line_words(l.text, w, 4) != 2 || !islower((unsigned char)*w[0]))
			continue;
		snprintf(name, sizeof(name), "wred/%s/%.60s", profile, w[0]);
		rs_input_add(a, in, l.number, NULL, "port/*", name, "%s", w[1]);
	}
	return a->err;
}

const struct rs_reader rs_reader_sonic_ecn = {
	.name = "sonic-ecn",
	.what = "SONiC ecnconfig -l, show ecn: thresholds of each WRED profile",
	.trust = RS_TRUST_TOOL,
	.score = score_profiles,
	.read = read_profiles,
};
