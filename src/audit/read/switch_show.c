/* What switches show of PFC and queues, beside SONiC's and EOS's own readers: NX-OS and Junos. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/readers.h"

static void is_switch(struct rs_audit *a, const struct rs_input *in, const char *os)
{
	rs_input_add(a, in, 0, NULL, "host", "role", "switch");
	rs_input_add(a, in, 0, NULL, "host", "os", "%s", os);
}

/* ---- NX-OS: show interface priority-flow-control ---- */

static bool pfc_head(const char *text)
{
	return !strncmp(text, "Port ", 5) && strstr(text, "Mode") && strstr(text, "Oper") &&
	       strstr(text, "RxPPP");
}

static int score_pfc(const struct rs_input *in)
{
	struct rs_line l = {0};

	while (rs_line_next(in, &l) && l.number < 40)
		if (pfc_head(l.text))
			return 88;
	return 0;
}

/* "Ethernet1/2  On   On  (8)  120394  992134": the bitmap of virtual lanes, in hex. */
static void pfc_row(struct rs_audit *a, const struct rs_input *in, uint32_t line, char **w,
		    unsigned n)
{
	unsigned map = 0, at = 3;
	char subject[96], name[16];
	bool on = !strcmp(w[2], "On");

	snprintf(subject, sizeof(subject), "port/%.80s", w[0]);
	rs_input_add(a, in, line, NULL, subject, "pfc_mode", "%s", w[1]);
	rs_input_add(a, in, line, NULL, subject, "pfc_oper", "%s", w[2]);
	if (n > at && sscanf(w[at], "(%x)", &map) == 1)
		at++;
	rs_input_add(a, in, line, NULL, subject, "pfc_seen", "1");
	for (int p = 0; p < 8; p++) {
		snprintf(name, sizeof(name), "pfc/%d", p);
		rs_input_add(a, in, line, NULL, subject, name, "%d", on && map >> p & 1);
	}
	if (n < at + 2 || !isdigit((unsigned char)*w[at]) || !isdigit((unsigned char)*w[at + 1]))
		return;
	rs_input_add(a, in, line, NULL, subject, "counter/rx_pause", "%s", w[at]);
	rs_input_add(a, in, line, NULL, subject, "counter/tx_pause", "%s", w[at + 1]);
}

static int read_pfc(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_line l = {0};
	bool table = false;
	char *w[8];

	is_switch(a, in, "NX-OS");
	while (rs_line_next(in, &l)) {
		unsigned n;

		if (pfc_head(l.text)) {
			table = true;
			continue;
		}
		if (!table || strncmp(l.text, "Eth", 3))
			continue;
		n = rs_line_words(l.text, w, 8);
		if (n >= 3 &&
		    (!strcmp(w[1], "On") || !strcmp(w[1], "Off") || !strcmp(w[1], "Auto")))
			pfc_row(a, in, l.number, w, n);
	}
	return a->err;
}

const struct rs_reader rs_reader_nxos_pfc = {
	.name = "nxos-pfc",
	.what = "NX-OS show interface priority-flow-control: mode, state and pauses of each port",
	.trust = RS_TRUST_TOOL,
	.score = score_pfc,
	.read = read_pfc,
	.begins = (const char *const[]){"Port Mode Oper(VL bmap) RxPPP", NULL},
};

/* ---- NX-OS: show queuing interface ---- */

static bool queuing_head(const char *text, char *port)
{
	return sscanf(text, "Egress Queuing for %63s", port) == 1;
}

/* show queuing pfc-queue interface ethernet 1/12: its port is in the command alone. */
static bool pfc_queue(const struct rs_input *in, char *port)
{
	const char *p = in->command ? strstr(in->command, "interface ") : NULL;

	snprintf(port, 64, "unnamed");
	if (p && sscanf(p, "interface %*[A-Za-z] %50s", port) == 1) {
		char number[52];

		snprintf(number, sizeof(number), "%.50s", port);
		snprintf(port, 64, "Ethernet%s", number);
	}
	return rs_input_has(in, "PFC-COS [") && rs_input_has(in, "Shutdown");
}

static int score_queuing(const struct rs_input *in)
{
	struct rs_line l = {0};
	char port[64];

	while (rs_line_next(in, &l) && l.number < 60)
		if (queuing_head(l.text, port))
			return 88;
	return pfc_queue(in, port) ? 88 : 0;
}

/* The first number behind `key` of a row "|  Dropped Pkts |  883471|   0|"; false: another row. */
static bool cell(const char *text, const char *key, long long *value)
{
	const char *p = strstr(text, key);

	/* "|  Shutdown (count)  :  118  |", of other releases */
	return p && ((p = strpbrk(p, "|:")) && sscanf(p + 1, " %lld", value) == 1);
}

static int read_queuing(struct rs_audit *a, const struct rs_input *in)
{
	static const struct {
		const char *key, *fact;
	} known[] = {{"  Dropped Pkts", "counter/queue/%d/dropped"},
		     {"Tail Drop Pkts", "counter/queue/%d/dropped"},
		     {"Tx Pkts", "counter/queue/%d/packets"},
		     {"TxPPP", "counter/pfc_tx/%d"},
		     {"RxPPP", "counter/pfc_rx/%d"},
		     {"Shutdown  ", "watchdog/%d/detected"},
		     {"Shutdown (count)", "watchdog/%d/detected"},
		     {"Shutdown|", "watchdog/%d/detected"},
		     {"Restored|", "watchdog/%d/restored"},
		     {"Restored  ", "watchdog/%d/restored"},
		     {"Restored (count)", "watchdog/%d/restored"},
		     {"Total pkts dropped", "counter/queue/%d/dropped"}};
	char subject[96] = "", port[64];
	struct rs_line l = {0};
	long long dropped = 0;
	struct {
		char name[64];
		uint32_t line;
	} zero = {.line = 0}; /* rows of drops of the queue at hand that are all 0 */
	int queue = -1;

	is_switch(a, in, "NX-OS");
	if (pfc_queue(in, port))
		snprintf(subject, sizeof(subject), "port/%s", port);
	while (rs_line_next(in, &l)) {
		const char *group = strstr(l.text, "QOS GROUP ");
		long long value;
		char name[64];

		if (queuing_head(l.text, port)) {
			if (*zero.name)
				rs_input_add(a, in, zero.line, NULL, subject, zero.name, "0");
			*zero.name = '\0';
			dropped = 0;
			snprintf(subject, sizeof(subject), "port/%s", port);
			queue = -1;
		}
		/* "Ethernet1/1 Interface PFC watchdog: [Enabled]" */
		if (sscanf(l.text, "%63[A-Za-z0-9/] Interface PFC watchdog", port) == 1 &&
		    strstr(l.text, " Interface PFC watchdog") &&
		    strcspn(port, "0123456789") < strlen(port)) {
			snprintf(subject, sizeof(subject), "port/%s", port);
			queue = -1;
		}
		if (group && sscanf(group, "QOS GROUP %d", &queue) != 1)
			queue = -1;
		if (group) {
			if (*zero.name)
				rs_input_add(a, in, zero.line, NULL, subject, zero.name, "0");
			*zero.name = '\0';
			dropped = 0;
		}
		for (unsigned i = 0;
		     *subject && queue >= 0 && queue < 8 && i < sizeof(known) / sizeof(*known);
		     i++) {
			if (!cell(l.text, known[i].key, &value))
				continue;
			/* the drops of a queue have several rows: of those above 0 the first */
			if (strstr(known[i].fact, "dropped") && !*zero.name && !dropped && !value) {
				zero.line = l.number;
				snprintf(zero.name, sizeof(zero.name), known[i].fact, queue);
				continue;
			}
			if (strstr(known[i].fact, "dropped")) {
				if (dropped || !value)
					continue;
				dropped = value;
				*zero.name = '\0';
			}
			snprintf(name, sizeof(name), known[i].fact, queue);
			rs_input_add(a, in, l.number, NULL, subject, name, "%lld", value);
		}
	}
	if (*zero.name)
		rs_input_add(a, in, zero.line, NULL, subject, zero.name, "0");
	return a->err;
}

const struct rs_reader rs_reader_nxos_queuing = {
	.name = "nxos-queuing",
	.what = "NX-OS show queuing interface: packets, drops and pauses of each QoS group",
	.trust = RS_TRUST_TOOL,
	.score = score_queuing,
	.read = read_queuing,
	.begins = (const char *const[]){"Egress Queuing for %", "Global watch-dog interval", NULL},
};

/* ---- Junos: show interfaces queue ---- */

static bool junos_queue(const char *text, int *queue)
{
	return sscanf(text, "Queue: %d, Forwarding classes", queue) == 1;
}

static int score_junos(const struct rs_input *in)
{
	struct rs_line l = {0};
	int queue;

	if (rs_input_has(in, "Physical interface: ") &&
	    (rs_input_has(in, "FEC Uncorrected Errors") || rs_input_has(in, "CRC/Align errors")))
		return 88;
	while (rs_line_next(in, &l) && l.number < 60)
		if (junos_queue(l.text, &queue))
			return 88;
	return 0;
}

static int read_junos(struct rs_audit *a, const struct rs_input *in)
{
	char subject[96] = "", port[64], name[64];
	struct rs_line l = {0};
	long long value;
	int queue = -1;

	is_switch(a, in, "Junos");
	while (rs_line_next(in, &l)) {
		if (sscanf(l.text, "Physical interface: %63[^, ]", port) == 1) {
			snprintf(subject, sizeof(subject), "port/%s", port);
			queue = -1;
		}
		if (*subject && sscanf(l.text, "FEC Uncorrected Errors %lld", &value) == 1)
			rs_input_add(a, in, l.number, NULL, subject, "counter/fec_uncorrectable",
				     "%lld", value);
		if (*subject && sscanf(l.text, "CRC/Align errors %lld", &value) == 1)
			rs_input_add(a, in, l.number, NULL, subject, "counter/crc_in", "%lld",
				     value);
		if (junos_queue(l.text, &queue) || !*subject || queue < 0 || queue > 15)
			continue;
		if (sscanf(l.text, "Tail-dropped packets : %lld", &value) != 1 &&
		    sscanf(l.text, "Tail-dropped packets: %lld", &value) != 1)
			continue;
		snprintf(name, sizeof(name), "counter/queue/%d/dropped", queue);
		rs_input_add(a, in, l.number, NULL, subject, name, "%lld", value);
	}
	return a->err;
}

const struct rs_reader rs_reader_junos_queue = {
	.name = "junos-queue",
	.what = "Junos show interfaces queue: drops of each queue",
	.trust = RS_TRUST_TOOL,
	.score = score_junos,
	.read = read_junos,
	.begins = (const char *const[]){"Physical interface: %", NULL},
};
