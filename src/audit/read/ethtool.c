/* ethtool's forms beside -i and -S: settings, -k, -a, -c, -g, -l, -m, --show-fec. Where the heading
 * does not name the device, the command or the file's name does. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/read/place.h"
#include "audit/read/readers.h"
#include "text/document.h"

/* Headings, in front of the device's name. */
static const struct {
	const char *heading;
	enum form { SETTINGS, FEATURES, PAUSE, COALESCE, RINGS, CHANNELS, FEC, MODULE, NONE } form;
} headings[] = {
	{"Settings for ", SETTINGS},
	{"Features for ", FEATURES},
	{"Offload parameters for ", FEATURES},
	{"Pause parameters for ", PAUSE},
	{"Coalesce parameters for ", COALESCE},
	{"Ring parameters for ", RINGS},
	{"Channel parameters for ", CHANNELS},
	{"FEC parameters for ", FEC},
};

static enum form heading(const char *text, const char **device)
{
	for (unsigned i = 0; i < sizeof(headings) / sizeof(*headings); i++)
		if (!strncmp(text, headings[i].heading, strlen(headings[i].heading))) {
			*device = text + strlen(headings[i].heading);
			return headings[i].form;
		}
	return NONE;
}

static bool is_module(const struct rs_input *in)
{
	return rs_input_has(in, "Identifier ") &&
	       (rs_input_has(in, "Vendor name") || rs_input_has(in, "Module temperature"));
}

/* "ethtool eth4 | grep -E 'Speed|Link'": settings whose heading was left out. */
static bool is_piece(const struct rs_input *in)
{
	return in->command && !strncmp(in->command, "ethtool ", 8) && in->command[8] != '-' &&
	       (rs_input_has(in, "Speed: ") || rs_input_has(in, "Link detected: "));
}

static int score(const struct rs_input *in)
{
	struct rs_line l = {0};
	const char *device;

	while (rs_line_next(in, &l) && l.number < 40)
		if (heading(l.text, &device) != NONE)
			return 87;
	return is_module(in) || is_piece(in) ? 86 : 0;
}

struct state {
	struct rs_audit *a;
	const struct rs_input *in;
	char subject[96];
	enum form form;
	const char *modes; /* the fact of the list of modes at hand; NULL: within none */
	long fastest;      /* of its modes, Mb/s */
	bool current;      /* of rings and channels: behind "Current hardware settings:" */
};

static void put(struct state *s, uint32_t line, const char *name, const char *value)
{
	if (*s->subject)
		rs_input_add(s->a, s->in, line, NULL, s->subject, name, "%s", value);
}

static void on_off(struct state *s, uint32_t line, const char *name, const char *value)
{
	if (!strncasecmp(value, "on", 2))
		put(s, line, name, "1");
	else if (!strncasecmp(value, "off", 3))
		put(s, line, name, "0");
}

/* "RS", "RS BaseR", "Off", "None" as netlink's answer is spelt. */
static void fec(struct state *s, uint32_t line, const char *name, const char *value)
{
	static const struct {
		const char *said, *fact;
	} kinds[] = {{"RS", "rs"},    {"BaseR", "baser"}, {"LLRS", "llrs"},
		     {"Off", "none"}, {"None", "none"},   {"Auto", "auto"}};

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcasecmp(value, kinds[i].said))
			put(s, line, name, kinds[i].fact);
}

static void settings(struct state *s, uint32_t line, const char *key, const char *value)
{
	char number[32];

	if (!strcmp(key, "Speed") && sscanf(value, "%31[0-9]Mb/s", number) == 1)
		put(s, line, "speed_mbps", number);
	else if (!strcmp(key, "Lanes") && isdigit((unsigned char)*value))
		put(s, line, "lanes", value);
	else if (!strcmp(key, "Duplex") || !strcmp(key, "Port"))
		put(s, line, *key == 'D' ? "duplex" : "port", value);
	else if (!strcmp(key, "Auto-negotiation"))
		on_off(s, line, "autoneg", value);
	else if (!strcmp(key, "Link detected"))
		put(s, line, "carrier", !strncmp(value, "yes", 3) ? "1" : "0");
}

/* Names of a form and the facts that they are. */
static const struct {
	enum form form;
	const char *key, *fact;
} numbers[] = {
	{RINGS, "RX", "ring_rx"},
	{RINGS, "TX", "ring_tx"},
	{CHANNELS, "Combined", "channels"},
	{CHANNELS, "RX", "channels_rx"},
	{CHANNELS, "TX", "channels_tx"},
	{COALESCE, "rx-usecs", "coalesce_rx_us"},
	{COALESCE, "tx-usecs", "coalesce_tx_us"},
	{COALESCE, "rx-frames", "coalesce_rx_frames"},
	{COALESCE, "tx-frames", "coalesce_tx_frames"},
};

static void numeric(struct state *s, uint32_t line, const char *key, const char *value)
{
	bool limits = (s->form == RINGS || s->form == CHANNELS) && !s->current;
	char name[64];

	if (!isdigit((unsigned char)*value))
		return;
	for (unsigned i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (numbers[i].form == s->form && !strcmp(numbers[i].key, key)) {
			snprintf(name, sizeof(name), "%s%s", numbers[i].fact, limits ? "_max" : "");
			put(s, line, name, value);
		}
}

static void module(struct state *s, uint32_t line, const char *key, const char *value)
{
	static const struct {
		const char *key, *fact;
	} known[] = {
		{"Vendor name", "module/vendor"},
		{"Vendor PN", "module/part"},
		{"Vendor SN", "module/serial"},
		{"Module temperature", "module/temperature"},
		{"Module voltage", "module/voltage"},
		/* SFP has one lane (SFF-8472) */
		{"Receiver signal average optical power", "module/rx_power/1"},
		{"Laser output power", "module/tx_power/1"},
		{"Module temperature high alarm threshold", "module/temperature_alarm"},
		{"Module temperature high warning threshold", "module/temperature_warn"},
		{"Laser rx power low alarm threshold", "module/rx_power_low_alarm"},
		{"Laser rx power low warning threshold", "module/rx_power_low_warn"},
		{"Laser rx power high alarm threshold", "module/rx_power_high_alarm"},
		{"Laser tx power low alarm threshold", "module/tx_power_low_alarm"},
		{"Laser tx power high alarm threshold", "module/tx_power_high_alarm"},
	};
	unsigned lane;
	char name[64];

	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(key, known[i].key))
			put(s, line, known[i].fact, value);
	if ((sscanf(key, "Rcvr signal avg optical power(Channel %u)", &lane) == 1 ||
	     sscanf(key, "Rx power(Channel %u)", &lane) == 1) &&
	    lane < 64) {
		snprintf(name, sizeof(name), "module/rx_power/%u", lane);
		put(s, line, name, value);
	}
	if (sscanf(key, "Transmit avg optical power (Channel %u)", &lane) == 1 && lane < 64) {
		snprintf(name, sizeof(name), "module/tx_power/%u", lane);
		put(s, line, name, value);
	}
}

static void pair(struct state *s, uint32_t line, char *key, char *value)
{
	char name[128];

	switch (s->form) {
	case SETTINGS:
		settings(s, line, key, value);
		return;
	case FEATURES:
		if (strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789-_") != strlen(key))
			return;
		snprintf(name, sizeof(name), "feature/%.96s", key);
		on_off(s, line, name, value);
		return;
	case PAUSE:
		if (!strcmp(key, "RX") || !strcmp(key, "TX"))
			on_off(s, line, *key == 'R' ? "pause_rx" : "pause_tx", value);
		else if (!strcmp(key, "Autonegotiate"))
			on_off(s, line, "pause_autoneg", value);
		return;
	case COALESCE:
		if (!strncmp(key, "Adaptive RX", 11))
			on_off(s, line, "coalesce_adaptive_rx", value);
		numeric(s, line, key, value);
		return;
	case RINGS:
	case CHANNELS:
		numeric(s, line, key, value);
		return;
	case FEC:
		if (!strncmp(key, "Active FEC", 10))
			fec(s, line, "fec", value);
		else if (!strncmp(key, "Configured FEC", 14) ||
			 !strncmp(key, "Supported/Configured FEC", 24))
			put(s, line, "fec_configured", value);
		return;
	case MODULE:
		module(s, line, key, value);
		return;
	default:
		return;
	}
}

/* "Supported link modes:   25000baseCR/Full" and the lines below it: the fastest, once it is known.
 * So of what the port offers, and of what the other end does. */
static void mode(struct state *s, const struct rs_line *l)
{
	static const struct {
		const char *heading, *fact;
	} lists[] = {{"Supported link modes", "fastest_mbps"},
		     {"Advertised link modes", "offered_mbps"},
		     {"Link partner advertised link modes", "partner_mbps"}};
	const char *base = strstr(l->text, "base"), *done = s->modes;
	char text[24];
	long mbps = 0, fastest = s->fastest;

	if (s->form != SETTINGS)
		return;
	if (base && base > l->text && (strstr(l->text, "/Full") || strstr(l->text, "/Half"))) {
		const char *p = base;

		while (p > l->text && isdigit((unsigned char)p[-1]))
			p--;
		mbps = atol(p);
	}
	if (strchr(l->text, ':')) {
		s->modes = NULL;
		s->fastest = 0;
		for (unsigned i = 0; i < sizeof(lists) / sizeof(*lists); i++)
			if (!strncmp(l->text, lists[i].heading, strlen(lists[i].heading)))
				s->modes = lists[i].fact;
	} else {
		done = NULL;
	}
	if (s->modes && mbps > s->fastest)
		s->fastest = mbps;
	if (!done || fastest <= 0)
		return;
	snprintf(text, sizeof(text), "%ld", fastest);
	put(s, l->number, done, text);
}

static int read_ethtool(struct rs_audit *a, const struct rs_input *in)
{
	struct state s = {.a = a,
			  .in = in,
			  .form = is_module(in)  ? MODULE
				  : is_piece(in) ? SETTINGS
						 : NONE};
	struct rs_line l = {0};
	char device[128];

	rs_input_device(in, device, sizeof(device));
	snprintf(s.subject, sizeof(s.subject), "netdev/%.64s", device);
	while (rs_line_next(in, &l)) {
		const char *name = NULL;
		enum form form = heading(l.text, &name);
		char *key, *value;

		if (form != NONE) {
			s.form = form;
			s.current = false;
			snprintf(s.subject, sizeof(s.subject), "netdev/%.*s",
				 (int)(strcspn(name, ": ") < 64 ? strcspn(name, ": ") : 64), name);
			continue;
		}
		if (!strncmp(l.text, "Current hardware settings", 25)) {
			s.current = true;
			continue;
		}
		/* statistics of the same interface may follow in one file */
		if (!strncmp(l.text, "NIC statistics", 14))
			s.form = NONE;
		mode(&s, &l);
		if (rs_line_pair(l.text, ':', &key, &value) && *value)
			pair(&s, l.number, key, value);
	}
	return a->err;
}

/* ---- ethtool --json ---- */

static const struct {
	const char *key, *fact;
	enum { NUMBER, SWITCH } kind;
} json_facts[] = {
	{"speed", "speed_mbps", NUMBER},
	{"lanes", "lanes", NUMBER},
	{"auto-negotiation", "autoneg", SWITCH},
	{"link-detected", "carrier", SWITCH},
	{"autonegotiate", "pause_autoneg", SWITCH},
	{"rx-max", "ring_rx_max", NUMBER},
	{"tx-max", "ring_tx_max", NUMBER},
	{"combined-max", "channels_max", NUMBER},
	{"combined-count", "channels", NUMBER},
	{"combined", "channels", NUMBER},
	{"rx-usecs", "coalesce_rx_us", NUMBER},
	{"tx-usecs", "coalesce_tx_us", NUMBER},
	{"rx-frames", "coalesce_rx_frames", NUMBER},
	{"tx-frames", "coalesce_tx_frames", NUMBER},
	{"adaptive-rx", "coalesce_adaptive_rx", SWITCH},
};

static int score_json(const struct rs_input *in)
{
	static const char *const keys[] = {
		"\"rx-checksumming\"", "\"autonegotiate\"", "\"rx-max\"",     "\"combined-max\"",
		"\"link-detected\"",   "\"adaptive-rx\"",   "\"rx_packets\"", "\"rx_prio0_bytes\""};

	if (in->data[strspn(in->data, " \t\r\n")] != '[' || !rs_input_has(in, "\"ifname\"") ||
	    rs_input_has(in, "\"mtu\""))
		return 0;
	for (unsigned i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (rs_input_has(in, keys[i]))
			return 89;
	return 0;
}

/* What -a calls rx and tx are switches, what -g calls so are numbers. */
static void json_rx_tx(struct state *s, uint32_t line, const char *key, const char *value)
{
	char name[32];
	bool number = isdigit((unsigned char)*value);

	snprintf(name, sizeof(name), number ? "ring_%s" : "pause_%s", key);
	if (number)
		put(s, line, name, value);
	else if (!strcmp(value, "true") || !strcmp(value, "false"))
		put(s, line, name, *value == 't' ? "1" : "0");
}

static void json_member(struct state *s, struct rs_value *n, const char *key)
{
	struct rs_value *active = rs_document_member(n, "active");
	char value[64], name[192];

	/* a feature of -k is an object */
	if (rs_document_text(active, value, sizeof(value))) {
		snprintf(name, sizeof(name), "feature/%.160s", key);
		put(s, rs_document_line(active), name, *value == 't' ? "1" : "0");
		return;
	}
	if (!rs_document_text(n, value, sizeof(value)))
		return;
	if (!strcmp(key, "rx") || !strcmp(key, "tx")) {
		json_rx_tx(s, rs_document_line(n), key, value);
		return;
	}
	for (unsigned i = 0; i < sizeof(json_facts) / sizeof(*json_facts); i++)
		if (!strcmp(key, json_facts[i].key)) {
			if (json_facts[i].kind == SWITCH)
				put(s, rs_document_line(n), json_facts[i].fact,
				    *value == 't' ? "1" : "0");
			else if (isdigit((unsigned char)*value))
				put(s, rs_document_line(n), json_facts[i].fact, value);
			return;
		}
	/* -S: names of counters have underscores where settings have hyphens */
	if (strchr(key, '_') && strspn(value, "0123456789") == strlen(value)) {
		snprintf(name, sizeof(name), "counter/%.160s", key);
		put(s, rs_document_line(n), name, value);
	}
}

static int read_json(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_document *d = rs_document_parse(in->data, in->size);
	struct rs_value *root = d ? rs_document_root(d) : NULL, *n;
	struct state s = {.a = a, .in = in};
	void *iter = NULL;

	while (root && rs_value_is_list(root) && (n = rs_value_each(root, &iter))) {
		char device[64], key[160];
		struct rs_pair *p;
		void *each = NULL;

		if (!rs_document_text(rs_document_member(n, "ifname"), device, sizeof(device)))
			continue;
		snprintf(s.subject, sizeof(s.subject), "netdev/%s", device);
		while ((p = rs_value_each_pair(n, &each)))
			if (rs_document_text(rs_pair_key(p), key, sizeof(key)))
				json_member(&s, rs_pair_value(p), key);
	}
	rs_document_destroy(d);
	return a->err;
}

const struct rs_reader rs_reader_ethtool_json = {
	.name = "ethtool-json",
	.what = "ethtool --json DEV, -k, -a, -c, -g, -l, -S",
	.trust = RS_TRUST_TOOL,
	.score = score_json,
	.read = read_json,
};

const struct rs_reader rs_reader_ethtool = {
	.name = "ethtool",
	.what = "ethtool DEV, -k, -a, -c, -g, -l, -m, --show-fec",
	.trust = RS_TRUST_TOOL,
	.score = score,
	.read = read_ethtool,
	.begins = (const char *const[]){"Settings for ", "Features for ", "Ring parameters for ",
					"Coalesce parameters for ", "Pause parameters for ",
					"Channel parameters for ", "FEC parameters for ", NULL},
};
