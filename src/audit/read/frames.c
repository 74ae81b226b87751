/*
 * Frames, errors and drops of interfaces, as switches and hosts show them. Tables with a heading:
 * netstat -i and cl-netstat, SONiC's show interfaces counters, EOS's and NX-OS's show interfaces
 * counters errors and discards. Paragraphs: show interfaces of EOS, IOS, NX-OS and OS10, ifconfig,
 * whose lines are numbers and the words behind (or before) them.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/readers.h"

enum { WORDS = 24, NAME = 80 };

/* Names of ports of switches; an interface of a host is any other. */
static bool is_port(const char *name)
{
	static const char *const begins[] = {"Et", "swp", "Po", "xe-", "et-",        "ge-",
					     "Te", "Fo",  "Hu", "Gi",  "TwentyFive", NULL};

	for (unsigned i = 0; begins[i]; i++)
		if (!strncmp(name, begins[i], strlen(begins[i])) && strpbrk(name, "0123456789"))
			return true;
	return false;
}

static void subject_of(struct rs_audit *a, const struct rs_input *in, const char *name, char *out,
		       size_t size)
{
	bool port = is_port(name);

	snprintf(out, size, "%s/%.*s", port ? "port" : "netdev", NAME, name);
	if (port)
		rs_input_add(a, in, 0, NULL, "host", "role", "switch");
}

/* "9,268,210" */
static bool number_of(const char *text, long long *out)
{
	char plain[32];
	size_t n = 0;

	for (; *text && n < sizeof(plain) - 1; text++) {
		if (*text == ',')
			continue;
		if (!isdigit((unsigned char)*text))
			return false;
		plain[n++] = *text;
	}
	plain[n] = '\0';
	*out = strtoll(plain, NULL, 10);
	return n > 0 && n < 19 && !*text;
}

/* ---- Tables ---- */

static const struct {
	const char *word, *fact;
} columns[] = {
	{"RX_OK", "frames_in"},      {"RX_ERR", "errors_in"},       {"RX_DRP", "dropped_in"},
	{"TX_OK", "frames_out"},     {"TX_ERR", "errors_out"},      {"TX_DRP", "dropped_out"},
	{"RX-OK", "frames_in"},      {"RX-ERR", "errors_in"},       {"RX-DRP", "dropped_in"},
	{"TX-OK", "frames_out"},     {"TX-ERR", "errors_out"},      {"TX-DRP", "dropped_out"},
	{"FCS", "crc_in"},           {"FCS-Err", "crc_in"},         {"Symbol", "symbol_in"},
	{"Align", "align_in"},       {"Align-Err", "align_in"},     {"Rcv-Err", "errors_in"},
	{"Xmit-Err", "errors_out"},  {"InDiscards", "dropped_in"},  {"OutDiscards", "dropped_out"},
	{"InDiscard", "dropped_in"}, {"OutDiscard", "dropped_out"}, {"CrcAlign-Err", "crc_in"},
};

static const char *column_fact(const char *word)
{
	for (unsigned i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		if (!strcmp(columns[i].word, word))
			return columns[i].fact;
	return NULL;
}

struct table {
	const char *fact[WORDS]; /* of each column; NULL: none of these */
	unsigned n;
};

static bool heading(const char *text, struct table *t)
{
	static const char *const first[] = {"Iface", "IFACE", "Port", "PORT", "Interface"};
	char copy[512], *w[WORDS];
	unsigned known = 0;
	bool named = false;

	snprintf(copy, sizeof(copy), "%s", text);
	t->n = rs_line_words(copy, w, WORDS);
	for (unsigned i = 0; t->n && i < sizeof(first) / sizeof(*first); i++)
		named |= !strcmp(w[0], first[i]);
	for (unsigned i = 0; i < t->n; i++)
		known += (t->fact[i] = column_fact(w[i])) != NULL;
	return named && known >= 2;
}

/* Units stand apart: "286.58 KB/s" is one cell. */
static unsigned cells(char *text, char **w)
{
	unsigned n = rs_line_words(text, w, WORDS), kept = 0;

	for (unsigned i = 0; i < n; i++) {
		size_t m = strlen(w[i]);

		if (i && m >= 3 && m <= 4 && !strcmp(w[i] + m - 2, "/s"))
			continue;
		w[kept++] = w[i];
	}
	return kept;
}

static bool row(struct rs_audit *a, const struct rs_input *in, const struct table *t,
		const struct rs_line *l)
{
	char copy[512], *w[WORDS], subject[NAME + 16], name[48];
	unsigned n;

	snprintf(copy, sizeof(copy), "%s", l->text);
	n = cells(copy, w);
	if (n < 3 || n + 1 < t->n || !isalpha((unsigned char)*w[0]))
		return false;
	subject_of(a, in, w[0], subject, sizeof(subject));
	for (unsigned i = 1; i < n && i < t->n; i++) {
		long long value;

		if (!t->fact[i] || !number_of(w[i], &value))
			continue;
		snprintf(name, sizeof(name), "counter/%s", t->fact[i]);
		rs_input_add(a, in, l->number, NULL, subject, name, "%lld", value);
	}
	return true;
}

static int score_table(const struct rs_input *in)
{
	struct rs_line l = {0};
	struct table t;

	while (rs_line_next(in, &l) && l.number < 200)
		if (heading(l.text, &t))
			return 81;
	return 0;
}

static int read_table(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_line l = {0};
	struct table t = {.n = 0}, next;

	while (rs_line_next(in, &l)) {
		if (heading(l.text, &next)) {
			t = next;
			continue;
		}
		/* dashes and blank lines stand within tables */
		if (t.n && *l.text && *l.text != '-' && !row(a, in, &t, &l))
			t.n = 0;
	}
	return a->err;
}

const struct rs_reader rs_reader_frames_table = {
	.name = "interface-counters",
	.what = "netstat -i, cl-netstat, SONiC show interfaces counters, EOS and NX-OS show "
		"interfaces counters errors, discards: frames, errors and drops",
	.trust = RS_TRUST_TOOL,
	.score = score_table,
	.read = read_table,
	.begins = (const char *const[]){"Iface MTU", "IFACE STATE RX_OK", "Port FCS Align",
					"Port Align-Err FCS-Err", "Port InDiscards OutDiscards",
					NULL},
};

/* ---- Paragraphs ---- */

/* "Ethernet50/1 is up, line protocol is up", "Ethernet 1/1/1 is up, line protocol is up",
 * "eth0: flags=4163<UP,...> mtu 1500", "eth0  Link encap:Ethernet" */
static bool begins_interface(const char *text, char *name)
{
	const char *is = strstr(text, " is ");
	char part[32];
	size_t n;

	if (sscanf(text, "%63[A-Za-z0-9_.@-]: flags=%31[0-9]", name, part) == 2)
		return true;
	if (strstr(text, " Link encap:") && sscanf(text, "%63[^ ]", name) == 1)
		return true;
	if (!is || (strncmp(is + 4, "up", 2) && strncmp(is + 4, "down", 4) &&
		    strncmp(is + 4, "administratively down", 21)))
		return false;
	n = (size_t)(is - text);
	/* "Hardware is up" has no digit, "the link of port 3 is up" has words */
	if (n >= 40 || !strpbrk(text, "0123456789") || strpbrk(text, "0123456789") > is ||
	    !isalpha((unsigned char)*text))
		return false;
	snprintf(name, 64, "%.*s", (int)n, text);
	for (char *p = name; *p; p++) {
		if (*p != ' ')
			continue;
		if (!isdigit((unsigned char)p[1]))
			return false;
		memmove(p, p + 1, strlen(p));
		p--;
	}
	return true;
}

/* Words behind a number: whose they are alone, or in the section of what comes in or goes out. */
static const struct {
	const char *words;
	const char *fact, *in, *out; /* fact: whatever the section */
} phrases[] = {
	{"packets input", "frames_in", NULL, NULL},
	{"input packets", "frames_in", NULL, NULL},
	{"packets output", "frames_out", NULL, NULL},
	{"output packets", "frames_out", NULL, NULL},
	{"input errors", "errors_in", NULL, NULL},
	{"input error", "errors_in", NULL, NULL},
	{"output errors", "errors_out", NULL, NULL},
	{"output error", "errors_out", NULL, NULL},
	{"CRC/FCS", "crc_in", NULL, NULL},
	{"CRC", "crc_in", NULL, NULL},
	{"symbol", "symbol_in", NULL, NULL},
	{"input discards", "dropped_in", NULL, NULL},
	{"input discard", "dropped_in", NULL, NULL},
	{"output discards", "dropped_out", NULL, NULL},
	{"output discard", "dropped_out", NULL, NULL},
	{"output drops", "dropped_out", NULL, NULL},
	{"giants", "giants_in", NULL, NULL},
	{"runts", "runts_in", NULL, NULL},
	{"PAUSE input", "rx_pause", NULL, NULL},
	{"PAUSE output", "tx_pause", NULL, NULL},
	{"Rx pause", "rx_pause", NULL, NULL},
	{"Tx pause", "tx_pause", NULL, NULL},
	{"discarded", NULL, "dropped_in", "dropped_out"},
	{"packets", NULL, "frames_in", "frames_out"},
};

enum section { NONE, IN, OUT };

struct paragraph {
	struct rs_audit *a;
	const struct rs_input *in;
	char subject[NAME + 16];
	enum section section;
	uint32_t line;
};

static void keep(struct paragraph *p, const char *fact, long long value)
{
	char name[48];

	snprintf(name, sizeof(name), "counter/%s", fact);
	rs_input_add(p->a, p->in, p->line, NULL, p->subject, name, "%lld", value);
}

/* One "144801071 CRC". */
static void piece(struct paragraph *p, long long value, const char *words)
{
	for (unsigned i = 0; i < sizeof(phrases) / sizeof(*phrases); i++) {
		size_t n = strlen(phrases[i].words);
		const char *fact = phrases[i].fact     ? phrases[i].fact
				   : p->section == IN  ? phrases[i].in
				   : p->section == OUT ? phrases[i].out
						       : NULL;

		if (!fact || strncmp(words, phrases[i].words, n) ||
		    (words[n] && !strchr(" ,\t", words[n])))
			continue;
		keep(p, fact, value);
		return;
	}
}

/* Numbers of a line, each with the words up to the next. */
static void pieces(struct paragraph *p, const char *text)
{
	while (*text) {
		size_t n = strspn(text, "0123456789");
		char *end;
		long long value;

		if (!n || (n > 18) || text[n] != ' ') {
			text += strcspn(text, " ,\t");
			text += strspn(text, " ,\t");
			continue;
		}
		value = strtoll(text, &end, 10);
		piece(p, value, end + strspn(end, " "));
		text = end + 1;
	}
}

/* ifconfig: "RX errors 0  dropped 5  overruns 0", "RX packets:7 errors:0 dropped:5" */
static bool config_line(struct paragraph *p, const char *text)
{
	static const struct {
		const char *key, *in, *out;
	} known[] = {{"packets", "frames_in", "frames_out"},
		     {"errors", "errors_in", "errors_out"},
		     {"dropped", "dropped_in", "dropped_out"}};
	bool rx = !strncmp(text, "RX ", 3);

	if (!rx && strncmp(text, "TX ", 3))
		return false;
	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++) {
		const char *at = strstr(text, known[i].key);
		size_t n = strlen(known[i].key);
		long long value;

		if (at && strchr(" :", at[n]) && sscanf(at + n + 1, "%lld", &value) == 1 &&
		    value >= 0)
			keep(p, rx ? known[i].in : known[i].out, value);
	}
	return strstr(text, "packets") || strstr(text, "errors");
}

/* "BW 1000000 kbit", "BW 100000000 Kbit/sec", "LineSpeed 1000M": what the port's
 * link or its kind carries. */
static void bandwidth(struct paragraph *p, const char *text)
{
	const char *bw = strstr(text, "BW "), *line = strstr(text, "LineSpeed ");
	long long n = 0;
	char unit = 'k';

	if (!(bw && sscanf(bw, "BW %lld Kbit", &n) == 1 && strcasestr(bw, "kbit")) &&
	    !(line && sscanf(line, "LineSpeed %lld%c", &n, &unit) == 2 && strchr("GM", unit)))
		return;
	n = unit == 'G' ? n * 1000 : unit == 'k' ? n / 1000 : n;
	if (n > 0)
		rs_input_add(p->a, p->in, p->line, NULL, p->subject, "bandwidth_mbps", "%lld", n);
}

static int score_paragraph(const struct rs_input *in)
{
	struct rs_line l = {0};
	char name[64];

	while (rs_line_next(in, &l) && l.number < 60)
		if (begins_interface(l.text, name))
			return 80;
	return 0;
}

static int read_paragraph(struct rs_audit *a, const struct rs_input *in)
{
	struct paragraph p = {.a = a, .in = in};
	struct rs_line l = {0};
	char name[64];
	int mtu;

	while (rs_line_next(in, &l)) {
		const char *at;

		p.line = l.number;
		if (begins_interface(l.text, name)) {
			bool port;

			p.section = NONE;
			subject_of(a, in, name, p.subject, sizeof(p.subject));
			port = !strncmp(p.subject, "port/", 5);
			if (port)
				rs_input_add(a, in, l.number, NULL, p.subject, "operstate", "%s",
					     strstr(l.text, " is up") &&
							     !strstr(l.text, "protocol is down")
						     ? "UP"
						     : "DOWN");
			/* in service, and without a link */
			if (strstr(l.text, " is up, line protocol is down"))
				rs_input_add(a, in, l.number, NULL, p.subject, "admin", "up");
		}
		if (!*p.subject)
			continue;
		if ((at = strstr(l.text, "MTU ")) && sscanf(at, "MTU %d", &mtu) == 1 && mtu > 0)
			rs_input_add(a, in, l.number, NULL, p.subject, "mtu", "%d", mtu);
		else if ((at = strstr(l.text, " mtu ")) && sscanf(at, " mtu %d", &mtu) == 1)
			rs_input_add(a, in, l.number, NULL, p.subject, "mtu", "%d", mtu);
		bandwidth(&p, l.text);
		if (!strncmp(l.text, "Input statistics", 16) || !strcmp(l.text, "RX"))
			p.section = IN;
		else if (!strncmp(l.text, "Output statistics", 17) || !strcmp(l.text, "TX"))
			p.section = OUT;
		else if (!config_line(&p, l.text))
			pieces(&p, l.text);
	}
	return a->err;
}

const struct rs_reader rs_reader_frames = {
	.name = "show-interfaces",
	.what = "show interfaces of EOS, IOS, NX-OS and OS10, ifconfig: state, MTU, frames, errors "
		"and drops",
	.trust = RS_TRUST_TOOL,
	.score = score_paragraph,
	.read = read_paragraph,
	.begins = (const char *const[]){"% is up, line protocol", "% is down, line protocol",
					"% % is up, line protocol", "% % is down, line protocol",
					"%: flags=#<", NULL},
};
