/*
 * QoS as TLVs of IEEE 802.1Qaz, as niccli getqos and lldptool print them: PFC, priorities to
 * traffic classes, DSCP to priority (APP with selector 5).
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "audit/read/readers.h"

static int score(const struct rs_input *in)
{
	return rs_input_has(in, "IEEE 8021QAZ ") && rs_input_has(in, "TLV") ? 88 : 0;
}

/* "niccli -i 1 getqos", "lldptool -ti ens1np0 -V PFC": the last word that names one. */
static void device_of(const struct rs_input *in, char *out, size_t size)
{
	char copy[256], *w[16];
	unsigned n;

	snprintf(out, size, "unnamed");
	snprintf(copy, sizeof(copy), "%s", in->command ? in->command : "");
	n = rs_line_words(copy, w, 16);
	for (unsigned i = 1; i + 1 < n; i++) {
		size_t m = strlen(w[i]);

		if (*w[i] == '-' && m < 5 && (w[i][m - 1] == 'i' || !strcmp(w[i], "-dev")))
			snprintf(out, size, isdigit((unsigned char)*w[i + 1]) ? "nic%s" : "%s",
				 w[i + 1]);
	}
}

struct app {
	int priority, selector, dscp;
};

static void app_add(struct rs_audit *a, const struct rs_input *in, uint32_t line,
		    const char *subject, struct app *app)
{
	char name[32];

	if (app->selector == 5 && app->dscp >= 0 && app->dscp < 64 && app->priority >= 0 &&
	    app->priority < 8) {
		snprintf(name, sizeof(name), "dscp_to_prio/%d", app->dscp);
		rs_input_add(a, in, line, NULL, subject, name, "%d", app->priority);
	}
	*app = (struct app){-1, -1, -1};
}

static void pfc_add(struct rs_audit *a, const struct rs_input *in, uint32_t line,
		    const char *subject, const char *list)
{
	char name[16];
	unsigned mask = 0;

	for (const char *p = list; *p; p++)
		if (*p >= '0' && *p <= '7')
			mask |= 1u << (*p - '0');
	if (!mask && !strstr(list, "none"))
		return;
	for (int p = 0; p < 8; p++) {
		snprintf(name, sizeof(name), "pfc/%d", p);
		rs_input_add(a, in, line, NULL, subject, name, "%d", mask >> p & 1);
	}
}

static int read_tlv(struct rs_audit *a, const struct rs_input *in)
{
	char device[80], subject[96];
	struct app app = {-1, -1, -1};
	struct rs_line l = {0};
	int n;

	device_of(in, device, sizeof(device));
	snprintf(subject, sizeof(subject), "netdev/%s", device);
	while (rs_line_next(in, &l)) {
		const char *t = l.text;

		if (!strncmp(t, "PFC enabled:", 12))
			pfc_add(a, in, l.number, subject, t + 12);
		else if (!strncmp(t, "APP#", 4))
			app = (struct app){-1, -1, -1};
		else if (sscanf(t, "Priority: %d", &n) == 1)
			app.priority = n;
		else if (sscanf(t, "Sel: %d", &n) == 1)
			app.selector = n;
		else if (sscanf(t, "DSCP: %d", &n) == 1)
			app.dscp = n;
		if (app.priority >= 0 && app.selector >= 0 && app.dscp >= 0)
			app_add(a, in, l.number, subject, &app);
	}
	return a->err;
}

const struct rs_reader rs_reader_tlv = {
	.name = "qaz-tlv",
	.what = "niccli getqos, lldptool -V PFC: PFC and DSCP to priority as 802.1Qaz TLVs",
	.trust = RS_TRUST_TOOL,
	.score = score,
	.read = read_tlv,
	.begins = (const char *const[]){"IEEE 8021QAZ ETS Configuration TLV", NULL},
};
