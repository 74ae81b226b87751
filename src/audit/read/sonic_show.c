/* SONiC's command line, as people post it: tables of `show pfc counters`, `show queue counters`,
 * `show pfc priority`, `show pfcwd`, `show priority-group drop counters`, `show interfaces status`
 * and `counters fec-stats`, `show lldp table`; several in one file too. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/readers.h"

enum { WORDS = 24 };

struct show {
	struct rs_audit *a;
	const struct rs_input *in;
	uint32_t line;
	char subject[96];
	bool drops; /* the line before the table spoke of dropped packets */
};

static void __attribute__((format(printf, 3, 4)))
say(struct show *s, const char *name, const char *fmt, ...)
{
	char value[128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	rs_input_add(s->a, s->in, s->line, NULL, s->subject, name, "%s", value);
}

/* "130,402" without its commas; nothing of "N/A". */
static void say_count(struct show *s, const char *name, const char *word)
{
	char digits[32];
	size_t n = 0;

	for (; *word && n < sizeof(digits) - 1; word++)
		if (isdigit((unsigned char)*word))
			digits[n++] = *word;
		else if (*word != ',')
			return;
	digits[n] = '\0';
	if (n)
		say(s, name, "%s", digits);
}

static void numbered(struct show *s, char **w, unsigned n, const char *fmt)
{
	for (unsigned i = 1; i < n && i <= 8; i++) {
		char name[64];

		snprintf(name, sizeof(name), "%s%u", fmt, i - 1);
		say_count(s, name, w[i]);
	}
}

static void pfc_rx(struct show *s, char **w, unsigned n)
{
	numbered(s, w, n, "counter/pfc_rx/");
}

static void pfc_tx(struct show *s, char **w, unsigned n)
{
	numbered(s, w, n, "counter/pfc_tx/");
}

/* Watermarks have the same heading: only what was said to be dropped counts. */
static void groups(struct show *s, char **w, unsigned n)
{
	for (unsigned i = 1; s->drops && i < n && i <= 8; i++) {
		char name[64];

		snprintf(name, sizeof(name), "counter/pg/%u/dropped", i - 1);
		say_count(s, name, w[i]);
	}
}

/* Ethernet0 UC3 packets bytes dropped dropped-bytes; MC and ALL are others. */
static void queues(struct show *s, char **w, unsigned n)
{
	char name[64];

	if (n < 5 || strncmp(w[1], "UC", 2) || !isdigit((unsigned char)w[1][2]))
		return;
	snprintf(name, sizeof(name), "counter/queue/%d/packets", atoi(w[1] + 2));
	say_count(s, name, w[2]);
	snprintf(name, sizeof(name), "counter/queue/%d/dropped", atoi(w[1] + 2));
	say_count(s, name, w[4]);
}

static void priorities(struct show *s, char **w, unsigned n)
{
	bool none = n < 2 || !strcmp(w[1], "N/A");

	say(s, "pfc_seen", "1");
	for (int p = 0; p < 8; p++) {
		char digit = (char)('0' + p), name[16];

		snprintf(name, sizeof(name), "pfc/%d", p);
		say(s, name, "%d", !none && strchr(w[1], digit) != NULL);
	}
}

/* Interface Lanes Speed MTU FEC Alias Vlan Oper Admin */
static void status(struct show *s, char **w, unsigned n)
{
	int lanes = 1;
	char *end;
	long speed;

	if (n < 9)
		return;
	for (const char *p = w[1]; *p; p++)
		lanes += *p == ',';
	speed = strtol(w[2], &end, 10);
	if (speed > 0 && speed < 10000 && *end == 'G') {
		say(s, "speed_mbps", "%ld", speed * 1000);
		if (isdigit((unsigned char)w[1][0]))
			say(s, "lanes", "%d", lanes);
	}
	say_count(s, "mtu", w[3]);
	if (strcmp(w[4], "N/A"))
		say(s, "fec", "%s", w[4]);
	say(s, "operstate", "%s", w[7]);
	say(s, "admin", "%s", w[8]);
	if (n > 9 && strcmp(w[9], "N/A"))
		say(s, "media", "%s", w[9]);
}

/* IFACE STATE FEC_CORR FEC_UNCORR FEC_SYMBOL_ERR FEC_PRE_BER */
static void fec(struct show *s, char **w, unsigned n)
{
	if (n < 5)
		return;
	say_count(s, "counter/fec_corrected", w[2]);
	say_count(s, "counter/fec_uncorrectable", w[3]);
	say_count(s, "counter/fec_symbol_errors", w[4]);
	if (n > 5 && isdigit((unsigned char)w[5][0]))
		say(s, "link/raw_ber", "%s", w[5]);
}

/* Ethernet0:3 stormed 1/0 */
static void storms(struct show *s, char **w, unsigned n)
{
	char *colon = strchr(w[0], ':'), name[64], *slash;
	int queue;

	if (n < 3 || !colon)
		return;
	queue = atoi(colon + 1);
	snprintf(s->subject, sizeof(s->subject), "port/%.*s", (int)(colon - w[0]), w[0]);
	snprintf(name, sizeof(name), "watchdog/%d/status", queue);
	say(s, name, "%s", w[1]);
	slash = strchr(w[2], '/');
	if (!slash)
		return;
	*slash = '\0';
	snprintf(name, sizeof(name), "watchdog/%d/detected", queue);
	say_count(s, name, w[2]);
	snprintf(name, sizeof(name), "watchdog/%d/restored", queue);
	say_count(s, name, slash + 1);
}

/* PORT ACTION DETECTION-TIME RESTORATION-TIME */
static void watchdogs(struct show *s, char **w, unsigned n)
{
	if (n < 4)
		return;
	say(s, "watchdog", "on");
	say(s, "watchdog/action", "%s", w[1]);
	say_count(s, "watchdog/detection_ms", w[2]);
	say_count(s, "watchdog/restoration_ms", w[3]);
}

static void neighbours(struct show *s, char **w, unsigned n)
{
	if (n < 3)
		return;
	say(s, "neighbour", "%s", w[1]);
	say(s, "neighbour_port", "%s", w[2]);
}

/* A table is known by the words of its heading. */
static const struct table {
	const char *word[3];
	void (*row)(struct show *s, char **w, unsigned n);
} tables[] = {
	{{"Port Rx", "PFC0", "PFC7"}, pfc_rx},
	{{"Port Tx", "PFC0", "PFC7"}, pfc_tx},
	{{"Port", "TxQ", "Drop/pkts"}, queues},
	{{"Port", "PG0", "PG7"}, groups},
	{{"Interface", "Lossless priorities", ""}, priorities},
	{{"Interface", "Lanes", "FEC"}, status},
	{{"IFACE", "FEC_CORR", "FEC_UNCORR"}, fec},
	{{"QUEUE", "STATUS", "STORM DETECTED/RESTORED"}, storms},
	{{"PORT", "ACTION", "DETECTION TIME"}, watchdogs},
	{{"LocalPort", "RemoteDevice", "RemotePortID"}, neighbours},
};

static const struct table *heading(const char *text)
{
	for (unsigned i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		const char *const *word = tables[i].word;

		if (!strncmp(text, word[0], strlen(word[0])) && strstr(text, word[1]) &&
		    strstr(text, word[2]))
			return &tables[i];
	}
	return NULL;
}

static int score(const struct rs_input *in)
{
	struct rs_line l = {.number = 0};

	for (unsigned i = 0; i < 400 && rs_line_next(in, &l); i++)
		if (heading(l.text))
			return rs_input_has(in, "Ethernet") ? 82 : 0;
	return 0;
}

static int read_show(struct rs_audit *a, const struct rs_input *in)
{
	struct show s = {.a = a, .in = in};
	const struct table *t = NULL;
	struct rs_line l = {.number = 0};
	char *w[WORDS];

	rs_input_add(a, in, 0, NULL, "host", "role", "switch");
	rs_input_add(a, in, 0, NULL, "host", "os", "SONiC");
	while (rs_line_next(in, &l)) {
		const struct table *next = heading(l.text);
		unsigned n;

		if (next || strncmp(l.text, "Ethernet", 8)) {
			/* an empty line ends a table, its rule of dashes does not */
			if (strchr(l.text, ':') || strstr(l.text, "show "))
				s.drops = strstr(l.text, "dropped packets") != NULL;
			t = next ? next : l.text[0] == '-' ? t : l.text[0] ? NULL : t;
			continue;
		}
		n = t ? rs_line_words(l.text, w, WORDS) : 0;
		if (!n)
			continue;
		s.line = l.number;
		snprintf(s.subject, sizeof(s.subject), "port/%.80s", w[0]);
		t->row(&s, w, n);
	}
	return a->err;
}

const struct rs_reader rs_reader_sonic_show = {
	.name = "sonic-show",
	.what = "SONiC's show pfc, queue, pfcwd, priority-group, interfaces and lldp tables",
	.trust = RS_TRUST_TOOL,
	.score = score,
	.read = read_show,
};
