/*
 * Records of switches' logs: their forms, and what they are about. Levels are those of syslog
 * (RFC 5424 6.2.1); forms are those of the vendors' references of system messages.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/read/event.h"

enum { NO_LEVEL = -1, ERROR = 3, WARNING = 4, DEBUG = 7 };

/* ---- Forms ---- */

static size_t digits(const char *p)
{
	return strspn(p, "0123456789");
}

static bool name_byte(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

static bool level_of(char c, int *level)
{
	if (c < '0' || c > '7')
		return false;
	*level = c - '0';
	return true;
}

/* "IFNET/2/linkDown(l):", "PFC/4/PFC_WARNING:": the module's start at `p`. "NET/IB/0/GDRDMA" of
 * NCCL is none: nothing follows its last word. */
static bool module_form(const char *p, int *level)
{
	size_t n = 0, m;

	while (isupper((unsigned char)p[n]) || isdigit((unsigned char)p[n]) || p[n] == '_')
		n++;
	if (n < 2 || !isupper((unsigned char)*p) || p[n] != '/' || !level_of(p[n + 1], level) ||
	    p[n + 2] != '/')
		return false;
	for (m = n + 3; isalnum((unsigned char)p[m]) || p[m] == '_';)
		m++;
	return m > n + 5 && p[m] && strchr(":([", p[m]);
}

/* "ETHPORT-5-IF_DOWN", "TAHUSD-SLOT1-2-STUCK", "PKT_INFRA-FM-3-FAULT"; "IFM_OSTATE_DN:" without a
 * level */
static bool percent_form(const char *p, int *level)
{
	size_t n = 0, caps = 0;

	*level = NO_LEVEL;
	while (name_byte(p[n]))
		n++;
	if (n < 4 || !isupper((unsigned char)*p))
		return false;
	for (size_t i = 1; i + 2 < n; i++)
		if (p[i] == '-' && p[i + 2] == '-' && level_of(p[i + 1], level))
			return true;
	while (isupper((unsigned char)p[caps]) || isdigit((unsigned char)p[caps]) || p[caps] == '_')
		caps++;
	return caps == n && (memchr(p, '_', n) || n > 8) && p[n] == ':';
}

static const char *percent(const char *text, int *level)
{
	const char *mark = strchr(text, '%');

	for (unsigned i = 0; mark && i < 8; i++, mark = strchr(mark + 1, '%')) {
		const char *p = mark + strspn(mark, "%");

		/* "%%01IFNET/2/...": the version of the format */
		if (p > mark + 1 && digits(p) == 2 && module_form(p + 2, level))
			return p + 2;
		if (percent_form(p, level))
			return p;
	}
	return NULL;
}

static const char *module(const char *text, int *level)
{
	for (const char *p = strchr(text, '/'); p; p = strchr(p + 1, '/')) {
		const char *from = p;

		while (from > text && (isupper((unsigned char)from[-1]) || from[-1] == '_' ||
				       isdigit((unsigned char)from[-1])))
			from--;
		if ((from == text || !isalnum((unsigned char)from[-1])) && module_form(from, level))
			return from;
	}
	return NULL;
}

/* Words of levels, by the form that has them. */
static const struct {
	const char *word;
	int level;
} sonic_levels[] = {{"EMERG ", 0},   {"ALERT ", 1},  {"CRIT ", 2}, {"ERR ", 3},
		    {"WARNING ", 4}, {"NOTICE ", 5}, {"INFO ", 6}, {"DEBUG ", 7}},
  other_levels[] = {{"EMERG", 0}, {"ALERT", 1},  {"CRIT", 2}, {"ERR", 3},   {"MAJOR", 3},
		    {"WARN", 4},  {"MINOR", 4},  {"NOTI", 5}, {"CLEAR", 5}, {"INFO", 6},
		    {"DEBUG", 7}, {"INDETE", 4}, {"EMER", 0}};

static bool other_level(const char *word, int *level)
{
	for (unsigned i = 0; i < sizeof(other_levels) / sizeof(*other_levels); i++)
		if (!strncasecmp(word, other_levels[i].word, strlen(other_levels[i].word))) {
			*level = other_levels[i].level;
			return true;
		}
	return false;
}

/* "ERR swss#orchagent: ", "WARNING pmon#xcvrd[31]: ", "ERR orchagent: " */
static const char *sonic(const char *text, int *level)
{
	for (unsigned i = 0; i < sizeof(sonic_levels) / sizeof(*sonic_levels); i++) {
		const char *at = strstr(text, sonic_levels[i].word);
		const char *p = at ? at + strlen(sonic_levels[i].word) : NULL;
		size_t n = p ? strspn(p, "abcdefghijklmnopqrstuvwxyz0123456789-_") : 0;

		if (!at || (at > text && at[-1] != ' ') || n < 3)
			continue;
		*level = sonic_levels[i].level;
		if ((p[n] == '#' && isalpha((unsigned char)p[n + 1])) ||
		    !strncmp(p, "orchagent", 9) || !strncmp(p, "syncd", 5))
			return p;
	}
	return NULL;
}

/* "bgp|2433|2515|00043|W: " */
static const char *sr_linux(const char *text, int *level)
{
	static const char letters[] = "XACEWNID";

	for (const char *p = strchr(text, '|'); p; p = strchr(p + 1, '|')) {
		const char *q = p, *at;
		unsigned parts = 0;

		while (*q == '|' && digits(q + 1)) {
			q += 1 + digits(q + 1);
			parts++;
		}
		if (parts != 3 || *q != '|' || !q[1] || q[2] != ':' ||
		    !(at = strchr(letters, q[1])))
			continue;
		*level = (int)(at - letters);
		while (p > text && name_byte(p[-1]))
			p--;
		return p;
	}
	return NULL;
}

/* "MAJOR: CHASSIS #2004 Base Fan 2", "PORT-MINOR-etherAlarmSet-2017 [Port 1/1/1]: ..." */
static const char *sr_os(const char *text, int *level)
{
	for (const char *p = strpbrk(text, ":-"); p; p = strpbrk(p + 1, ":-")) {
		const char *from = p, *app = p + 2;
		size_t n = 0;

		while (from > text && isupper((unsigned char)from[-1]))
			from--;
		if (p - from < 5 || !other_level(from, level))
			continue;
		if (*p == '-' && from > text && from[-1] == '-' && isalpha((unsigned char)p[1]))
			return from;
		while (*p == ':' && (isupper((unsigned char)app[n]) || app[n] == '_'))
			n++;
		if (n > 1 && app[n] == ' ' && app[n + 1] == '#' && digits(app + n + 2) == 4)
			return from;
	}
	return NULL;
}

/* "Event|1201|LOG_ERR|AMM|-|Fan 1/2 has failed" */
static const char *aos_cx(const char *text, int *level)
{
	const char *p = strstr(text, "Event|");

	if (!p || !digits(p + 6) || strncmp(p + 6 + digits(p + 6), "|LOG_", 5))
		return NULL;
	p += 6 + digits(p + 6) + 5;
	return other_level(p, level) ? strchr(p, '|') : NULL;
}

/* "[mgmtd.ERR]: ", "<Warn:HAL.Fan.Failed> " */
static const char *bracketed(const char *text, int *level)
{
	const char *p;

	for (p = strstr(text, "]: "); p; p = strstr(p + 1, "]: ")) {
		const char *from = p;

		while (from > text && isupper((unsigned char)from[-1]))
			from--;
		if (from > text && from < p && from[-1] == '.' && other_level(from, level))
			return p + 3;
	}
	p = strchr(text, '<');
	if (p && strspn(p + 1, "abcdefghijklmnopqrstuvwxyzCDEINSW") == 4 && p[5] == ':' &&
	    isalpha((unsigned char)p[6]) && strchr(p, '>') && other_level(p + 1, level))
		return p + 6;
	return NULL;
}

/* "rpd[42]: RPD_BGP_NEIGHBOR_STATE_CHANGED: ": a tag of Junos */
static const char *tagged(const char *text, int *level)
{
	*level = NO_LEVEL;
	for (const char *p = strstr(text, "]: "); p; p = strstr(p, "]: ")) {
		size_t n = 0;

		p += 3;
		while (isupper((unsigned char)p[n]) || p[n] == '_' || isdigit((unsigned char)p[n]))
			n++;
		if (p[n] == ':' && memchr(p, '_', n))
			return p;
	}
	return NULL;
}

/* "rpd[42]: ", "fpc0 ", "switchd[2211]: ": programs that only switches run, of Junos and Cumulus */
static const char *daemon_of(const char *text, int *level)
{
	static const char *const names[] = {
		"chassisd", "alarmd",   "craftd", "rpd",    "bfdd",          "lacpd",   "mib2d",
		"dcd",      "dcpfe",    "pfed",   "l2ald",  "l2cpd",         "cosd",    "ppmd",
		"picd",     "hwdre",    "hwdfpc", "fpc",    "evo-pfemand",   "pfemand", "fabricd",
		"switchd",  "clagd",    "ptmd",   "smond",  "pwmd",          "portwd",  "ledmgrd",
		"bgpd",     "zebra",    "ospfd",  "mstpd",  "nvued",         "sx_sdk",  "mlagd",
		"xcvrd",    "thermald", "fand",   "powerd", "license-check", "jddosd",  "jlaunchd",
		"xntpd",    "/kernel"};

	*level = NO_LEVEL;
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *p = strstr(text, names[i]);
		size_t n = strlen(names[i]);

		if (!p || (p > text && p[-1] != ' '))
			continue;
		if (!strcmp(names[i], "fpc") && digits(p + n))
			return p + n + digits(p + n);
		if (p[n] == '[' && digits(p + n + 1) && p[n + 1 + digits(p + n + 1)] == ']')
			return p + n;
		if (p[n] == ':' && p[n + 1] == ' ')
			return p + n;
	}
	return NULL;
}

/* "<14>Nov  6 13:36:45 sw System: Interface ethernet 1/1/36, state down" of NetIron: a protocol's
 * name, and the level in the priority (RFC 5424 6.2.1) */
static const char *prioritised(const char *text, int *level)
{
	static const char *const names[] = {
		" System: ", " BGP: ",  " OSPF: ", " ISIS: ", " BFD: ",
		" STP: ",    " LACP: ", " MCT: ",  " VRRP: ", " Optics: "};
	char *end;
	long priority = *text == '<' ? strtol(text + 1, &end, 10) : -1;
	const char *p;

	if (priority < 0 || *end != '>')
		return NULL;
	*level = (int)(priority % 8);
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if ((p = strstr(text, names[i])))
			return p;
	return NULL;
}

/* "2018/11/02 21:52:23 BGP: 2.2.2.2 went from Active to Idle" of FRR, whose daemons name themselves
 * so. The stamp may have been taken off. */
static const char *frr(const char *text, int *level)
{
	static const char *const names[] = {"BGP: ", "OSPF: ", "OSPF6: ", "ISIS: ", "BFD: "};
	const char *p = text + strspn(text, "0123456789/:. ");

	*level = NO_LEVEL;
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(p, names[i], strlen(names[i])))
			return p;
	return NULL;
}

enum { MARKS = 8 };

/* The forms, each with what its lines hold: texts without any of these are passed over whole. */
static const struct {
	const char *(*parse)(const char *text, int *level);
	const char *marks[MARKS];
} forms[] = {
	{percent, {"%"}},
	{module, {NULL}}, /* rs_event_maybe() looks for its slashes */
	{sonic, {"#orchagent", "ERR ", "WARNING ", "CRIT "}},
	{sr_linux, {"|W: ", "|E: ", "|C: "}},
	{sr_os, {"MAJOR:", "CRITICAL:", "MINOR:", "WARNING:", "TMNX: ", "-MAJOR-", "-CRITICAL-"}},
	{aos_cx, {"Event|"}},
	{bracketed, {"]: ", "<Warn:", "<Erro:", "<Crit:"}},
	{tagged, {"]: "}},
	{daemon_of, {"]: ", "d: ", " fpc", "zebra: ", "/kernel: "}},
	{prioritised, {"System: ", "BGP: ", "OSPF: "}},
	{frr, {"BGP: ", "OSPF: ", "ISIS: ", "BFD: "}},
};

/* Has an earlier form the same mark? */
static bool looked_for(unsigned form, const char *mark)
{
	for (unsigned i = 0; i < form; i++)
		for (unsigned k = 0; k < MARKS && forms[i].marks[k]; k++)
			if (!strcmp(forms[i].marks[k], mark))
				return true;
	return false;
}

bool rs_event_parse(const char *text, struct rs_event *out)
{
	/* what a program would print, and what is looked for */
	if (strstr(text, "(\"") || strstr(text, "grep "))
		return false;
	for (unsigned i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		const char *p = forms[i].parse(text, &out->level);

		if (p) {
			rs_term_words(p, out->plain, sizeof(out->plain));
			out->more = forms[i].parse == sr_os && !strchr(p, '[') && !strchr(p, '"');
			return true;
		}
	}
	return false;
}

void rs_event_join(struct rs_event *e, const char *text)
{
	char more[RS_TERM_CONTEXT];
	size_t n = strlen(e->plain);

	rs_term_words(text, more, sizeof(more));
	snprintf(e->plain + n, sizeof(e->plain) - n, "%s", more + 1);
	e->more = false;
}

bool rs_event_maybe(const char *data, size_t size)
{
	for (unsigned i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		for (unsigned k = 0; k < MARKS && forms[i].marks[k]; k++)
			if (!looked_for(i, forms[i].marks[k]) &&
			    memmem(data, size, forms[i].marks[k], strlen(forms[i].marks[k])))
				return true;
	/* "IFNET/4/": a module's level */
	for (const char *p = data; (p = memchr(p, '/', (size_t)(data + size - p))); p++)
		if (p > data && p + 2 < data + size && isupper((unsigned char)p[-1]) &&
		    isdigit((unsigned char)p[1]) && p[2] == '/')
			return true;
	return false;
}

/* ---- What it is about ---- */

#define FAILS                                                                                    \
	"fail| fault|abnormal|unable|cannot|could not|refus|reject|invalid|unexpected|corrupt| " \
	"bad "                                                                                   \
	"|broken| err |error"
#define GONE                                                                                     \
	" down | dn | lost | loss|inactive|suspend|absent|absence|not present|missing|removed|"  \
	"offline|"                                                                               \
	"shutdown|shut down|shutting| dead|unplugged|not powered|no power|unreach|not respond|"  \
	"no response|no signal|no light|timeout|timed out|expire| died|isolat|idle|not connect|" \
	"no carrier|unidirection|backward|torn down|withdrawn|ceased"
#define BEYOND                                                                                   \
	"exceed|threshold|too high|too low|overheat|over temp|overtemp|above|below|cross|high |" \
	" low |degrad|exhaust|insufficient|not enough|out of|overflow|overrun|critical|alarm|"   \
	"violat|warning|drift"
#define DIFFERS                                                                                 \
	"mismatch|inconsist|not match|not compatible|incompat|conflict|differ|misconfig|wrong|" \
	"miswir|miscabl|unsupport|not support|not qualif|unqualif|not certif|duplicate"
#define DROPS "drop|discard|starv|tail drop|overrun|overflow|packet loss|packets lost"
#define BAD                                                                                  \
	FAILS "|" GONE "|" BEYOND "|" DIFFERS "|" DROPS                                      \
	      "|flap|unstable|stuck|storm|deadlock|parity|uncorrect|crash|panic|terminated|" \
	      "disabled|"                                                                    \
	      "block|congest|not ok|loop|reset|mismatch| full |denied"

#define WATCH "pfc|priority flow|pause|priority pause"
#define OPTICS                                                                                  \
	"transceiv|xcvr|optic|optmod| sfp|qsfp| osfp|cmis| dom |laser|rx power|tx power|rx pwr" \
	"|tx pwr|receive power|transmit power|pluggable|rx los| lol |light level"
#define ENVIRONMENT                                                                             \
	" fan|fantray|blower|cooling|power supply|powersupply|power supplies| psu| pem |power " \
	"module|power unit|power input|power redundan|power absence|power feed|temperature|"    \
	"thermal|overheat| temp |voltage|sensor|airflow|environment| ps fail| ps ok"
#define CHIP                                                                                     \
	"parity| ecc |asic| ser |sram|memory err|sdk |fabric link|fabric card|fabric plane|"     \
	"forwarding engine|hardware err| hw err| pfe |line card|linecard| fpc |supervisor| npu|" \
	"internal err|chip|hardware fail|machine check|serdes|module "
#define QUEUES                                                                                 \
	"buffer|headroom|queue|wred| ecn |qos|pfc|priority flow|scheduler|dscp|traffic class|" \
	"voq|tail drop|watermark|microburst|priority group| pg |shared pool"
#define MLAG                                                                                      \
	"mlag|mclag| vpc|vpc | vlt|vlt |clag|m lag|mc lag|peer link|peerlink|multichassis|multi " \
	"chassis|inter chassis|iccp| ivl | vsx "
#define LAG                                                                                        \
	"lacp| lag |lagg|port channel|portchannel|etherchannel|eth trunk|ethtrunk|aggregat|bundle" \
	"| bond|trunk member| team |teamd"
#define LOOPS                                                                                     \
	" stp |spanning|spantree|bpdu|root guard|rootguard|loop guard|loopguard|loop detect|mac " \
	"move|mac flap|macflap|mac moving|flapping mac|storm control|stormcontrol|broadcast "     \
	"storm|"                                                                                  \
	"udld|dldp| loop "
#define SESSIONS                                                                          \
	"bgp| bfd|bfdd|ospf|isis|is is|evpn|vtep|vxlan| nve |adjacency|ldp session|peer " \
	"|neighbor|"                                                                      \
	"neighbour"
#define PORTS                                                                           \
	"interface|port |link|ethernet|carrier|ifnet| phy |lineproto| swp|updown|oper " \
	"state|ostate"                                                                  \
	"| eth |if down"

static const struct topic {
	const char *about, *but; /* alternatives in the record; none of these */
	const char *state;       /* what it says of it, one of these */
	int bare; /* a record of this level or a lower number needs no such word; -1: none */
	const char *key;
} topics[] = {
	{"login|logged in|logout|password| sshd| ssh |tacacs|radius|telnet|netconf|certificate| "
	 "pki |dhcp|authentication|authpriv| user | snmp agent",
	 OPTICS "|errdis|err dis|security violation", "", DEBUG, NULL},
	{"get stats|counter sai|port stat ", NULL, "", DEBUG, NULL},
	{WATCH, NULL, "rate of input|early warning|pfc warning|frames exceed|pause frames rec",
	 NO_LEVEL, "pause-many"},
	{WATCH, "unable|failed to",
	 "storm|stuck|deadlock|watchdog&detect|watchdog&shut|watchdog&drop|watchdog&trigger|"
	 "watchdog&"
	 "action",
	 NO_LEVEL, "pfc-storm"},
	{WATCH "|lossless", NULL, "failed to start|no lossless", NO_LEVEL, "watchdog-refused"},
	{"ddos|host bound|protocol violation|processes ceiling|maxproc", NULL,
	 "violat|exceed|reach|high", NO_LEVEL, "switch-busy"},
	{"md5 digest|tcp auth|tcp md5", NULL,
	 "wrong|missing| no md5|incorrect|unexpected|invalid|fail|without", NO_LEVEL, "bgp-down"},
	{"mac limit|mac address limit|maximum mac", NULL, "reach|exceed", NO_LEVEL, "switch-full"},
	{"link state|link status", "admin", "is down|to down", NO_LEVEL, "switch-port"},
	{"misconnect|miswir|miscabl", NULL, "misconnect|miswir|miscabl", NO_LEVEL, "wiring-told"},
	{"lldp|cabling|ptm |ptmd|topology check|wiring", "dcbx", DIFFERS "|fail|incorrect",
	 NO_LEVEL, "wiring-told"},
	{"lldp|topology change", "dcbx", "", DEBUG, NULL},
	{"licen", NULL, FAILS "|" GONE "|" DIFFERS "|violat|grace|not install|not found|unlicen",
	 ERROR, "switch-licence"},
	{OPTICS, "power supply", DIFFERS "|authentic|type err|no suitable|not allowed|unknown type",
	 NO_LEVEL, "module-refused"},
	{OPTICS, "power supply", "removed|absent|not present|unplugged|missing", NO_LEVEL,
	 "module-gone"},
	{OPTICS, "power supply", BAD, ERROR, "optics-alarm"},
	{" fec", NULL, DIFFERS "|failed to set", NO_LEVEL, "switch-fec"},
	{"uncorrect| fec|codeword", "parity| ecc |memory", "uncorrect|lost|loss", NO_LEVEL,
	 "fec-lost"},
	{" fec|codeword|pre fec| ber |bit err|signal degrad|symbol err| pcs |signal integrity",
	 "parity| ecc |memory", BAD, ERROR, "ber-high"},
	{" crc|crc | fcs|align err|input err|rx err|frame err|framing|in errors|error packet|error "
	 "frame|packet error|runts",
	 "parity| ecc |memory", BAD, ERROR, "errors-counted"},
	{ENVIRONMENT, NULL, BAD "|speed full|full speed|zero rpm", ERROR, "switch-hardware"},
	{"mtu|jumbo|frame size|oversize", NULL, BAD "|larger|smaller|too", NO_LEVEL, "mtu-log"},
	{"no pg profile|unable to create update pg profile", NULL, "pg profile", NO_LEVEL,
	 "headroom-refused"},
	{"sai common api|sai object type lag|sai object type route|sai object type nexthop|sai "
	 "object type "
	 "acl|sai "
	 "object type tunnel|encountered failure|failed to execute api",
	 QUEUES, FAILS, NO_LEVEL, "switch-refused"},
	{"headroom", NULL, FAILS "|insufficient|not enough|exhaust|exceed", NO_LEVEL,
	 "headroom-refused"},
	{"dcbx|pfc|priority flow| ets ", NULL, DIFFERS, NO_LEVEL, "dcbx-pfc"},
	{CHIP, "dhcp|queue|buffer|vlan", "parity| ecc |uncorrect| ser |" FAILS "|" GONE "|" BEYOND,
	 2, "switch-alarm"},
	{"cpu queue|copp|control plane|inband", NULL, DROPS "|" BEYOND, NO_LEVEL, "switch-busy"},
	{QUEUES, "cpu |log|syslog|message", DROPS, NO_LEVEL, "drops-counted"},
	{QUEUES, "cpu |log|syslog|message",
	 "fail|unable|cannot|could not|refus|reject|invalid|not support|not enough|insufficient",
	 NO_LEVEL, "switch-qos"},
	{QUEUES, "cpu |log|syslog|message", BEYOND "|congest", NO_LEVEL, "buffer-high"},
	{MLAG, NULL, DIFFERS, NO_LEVEL, "mlag-differs"},
	{MLAG, "peer|admin", "intf inactive|interface inactive|intf down| is inactive", NO_LEVEL,
	 "lag-member"},
	{MLAG, "admin", BAD, ERROR, "mlag-down"},
	{LAG, "admin", BAD "|defaulted|churn|individual", ERROR, "lag-member"},
	{LOOPS, NULL, BAD "|detect|received|moved|moving", ERROR, "switch-blocked"},
	{" bfd|bfdd", "admin|configur", GONE "|" FAILS "|detect", NO_LEVEL, "bfd-down"},
	{SESSIONS, "admin|deconfigur|de configur|maintenance|bundle|power",
	 GONE "|" FAILS "|" DIFFERS "|" BEYOND
	      "|notification|clearing|max prefix|maxpfx|hold timer",
	 NO_LEVEL, "bgp-down"},
	{"speed|breakout|break out|autoneg|auto neg|duplex|link training|port mode|port group|lane "
	 "count|lanes",
	 " fan|blower", DIFFERS "|" FAILS, NO_LEVEL, "port-speed"},
	{PORTS, "admin",
	 "err disab|errdis|err dis|error disab|error down|errdown|errordown|disabled due|shut by|"
	 "security violation",
	 NO_LEVEL, "port-errdisabled"},
	{PORTS, NULL, "flap|unstable|bounc|dampen|damping|suppressed", NO_LEVEL, "flaps-many"},
	{PORTS, "admin|configured|process|license|core file",
	 " down | dn |fail|fault| lost | loss|inactive|no carrier|not connect|alarm|no signal", 2,
	 "switch-port"},
	{"tcam|table|resource|route limit| nh |unilist| jnh|nexthop|next hop|ecmp|crm|hardware "
	 "capacity| fib |routes",
	 NULL, BEYOND "|full|no space|limit|unable|fail", NO_LEVEL, "switch-full"},
	{" cpu |cpu util|memory|disk|partition|file system|filesystem|storage|load average|policer",
	 "parity|ecc", DROPS "|" BEYOND "|full|overload|usage", NO_LEVEL, "switch-busy"},
	{"ptp| ntp|clock|synce|grandmaster|time sync|gnss|chrony", NULL,
	 GONE "|" FAILS "|unsync|not sync|holdover|no server|drift|offset|degrad", NO_LEVEL,
	 "switch-clock"},
	{"received signal|crash|core dump|core file|coredump|panic|segfault|hap reset| "
	 "died|unexpected "
	 "reboot|process|"
	 "service|container|daemon",
	 NULL,
	 "crash|core|panic|segfault|received signal|aborting|terminated|restarting|reset| "
	 "died|fail|exited|not running|not "
	 "respond",
	 NO_LEVEL, "switch-crash"},
	{" ", "config|log in|commit", BAD, ERROR, "switch-event"},
	{" ", "config", "", 2, "switch-event"},
};

/* ---- Whether it came or went ---- */

/* A person's doing. */
#define MEANT                                                                                      \
	"administratively|admin down|adminstate|admin shut|by user|admin state down|admin status " \
	"down|user configured|administrative shut|bfd disabled"
#define STATES                                                                                  \
	" up | down |established|idle|active|openconfirm|open confirm|opensent|connect|init| "  \
	"full |"                                                                                \
	"loading|exchange| ok "                                                                 \
	"|normal|failed|online|offline|present|absent|inactive|selected|forward| bad | good | " \
	"fault|alarm|critical|warning"

/* Takes out n bytes at p. */
static void cut(char *p, size_t n)
{
	memmove(p, p + n, strlen(p + n) + 1);
}

/* What it was before says nothing of what it is: "from up to down", "old state Idle", "from up". */
static void forget_before(char *t)
{
	static const char *const begins[] = {" from ", " old state ", " previous ", " last state "};
	char *lossless;

	/* a no-drop class is what it is about, no loss */
	while ((lossless = strstr(t, " no drop")))
		cut(lossless, strlen(" no drop"));

	for (unsigned i = 0; i < sizeof(begins) / sizeof(*begins); i++) {
		char *p = strstr(t, begins[i]), *end, part[96];
		size_t n;

		if (!p)
			continue;
		end = strstr(p + 1, i ? " new state " : " to ");
		n = end ? (size_t)(end - p)
			: strlen(begins[i]) + strcspn(p + strlen(begins[i]), " ");
		if (n >= sizeof(part) - 1)
			continue;
		memcpy(part, p, n);
		part[n] = ' ';
		part[n + 1] = '\0';
		if (rs_term_in(STATES, part))
			cut(p, n);
	}
}

static bool ended(const char *t)
{
	return rs_term_in(" clear | cleared| clears|recovered|recovers|recovery success|recover "
			  "|restor|resum|resolved|back to normal|to normal|is normal|are "
			  "normal|no longer|deassert|"
			  "rectif|deadlock was removed|alarm removed|re inserted|reinserted|"
			  " unblock| alm off|alarm off|loss of signal is removed|alarm is "
			  "removed|fault is removed|"
			  "fault removed|end of|has ended|normalized",
			  t) &&
	       !rs_term_in(
		       "not recover|unrecover|irrecover|failed to recover|recovery fail|not "
		       "cleared|no longer active|no longer operational|no longer dual|no longer "
		       "reachable|no longer present|no longer sync|will recover|auto recover|"
		       "counters|no longer respond|no longer receiv|resume threshold|resume value|"
		       "recover threshold|restor interval|clear threshold",
		       t);
}

static bool well(const char *t)
{
	return rs_term_in(" up | ok | to good | to normal | to active | to full | inserted |"
			  "established| online| in sync|success|completed| passed | is reachable",
			  t) &&
	       !rs_term_in(FAILS
			   "| down |mismatch|not ok|support|qualif|incompat|lost| loss|not "
			   "online|exceed|wrong|missing|critical|above|too high|overheat|flap|drop|"
			   "discard|stuck|storm|unstable",
			   t);
}

/* Does this row fit what the record tells? */
static bool fits(const struct topic *k, const char *t, int level)
{
	bool bare = level >= 0 && level <= k->bare;

	return rs_term_in(k->about, t) && !(k->but && rs_term_in(k->but, t)) &&
	       (bare || (*k->state && rs_term_in(k->state, t)));
}

const char *rs_event_key(const struct rs_event *e)
{
	char t[RS_TERM_CONTEXT];
	const char *key = NULL;

	memcpy(t, e->plain, sizeof(t));
	forget_before(t);
	if (e->level == DEBUG || ended(t) || well(t) || rs_term_in(MEANT, t))
		return NULL;
	for (unsigned i = 0; i < sizeof(topics) / sizeof(*topics); i++)
		if (fits(&topics[i], t, e->level)) {
			key = topics[i].key;
			break;
		}
	/* of what nothing is known a record of a high level alone tells */
	if (key && !strcmp(key, "switch-event") && (e->level < 0 || e->level > ERROR))
		return NULL;
	return key;
}

bool rs_event_ends(const struct rs_event *e, const char *key)
{
	char t[RS_TERM_CONTEXT];

	memcpy(t, e->plain, sizeof(t));
	forget_before(t);
	if (!ended(t) && !well(t))
		return false;
	for (unsigned i = 0; i < sizeof(topics) / sizeof(*topics); i++)
		if (topics[i].key && !strcmp(topics[i].key, key) && rs_term_in(topics[i].about, t))
			return true;
	return false;
}

static const char *const over[][2] = {
	{"optics-alarm", "optics-over"},      {"module-gone", "optics-over"},
	{"switch-hardware", "hardware-over"}, {"switch-alarm", "hardware-over"},
	{"bgp-down", "session-over"},         {"bfd-down", "session-over"},
	{"lag-member", "bundle-over"},        {"mlag-down", "bundle-over"},
	{"mlag-differs", "bundle-over"},
};

const char *rs_event_over(const char *key)
{
	for (unsigned i = 0; i < sizeof(over) / sizeof(*over); i++)
		if (!strcmp(over[i][0], key))
			return over[i][1];
	return NULL;
}

bool rs_event_tells(const char *key)
{
	for (unsigned i = 0; i < sizeof(topics) / sizeof(*topics); i++)
		if (topics[i].key && !strcmp(topics[i].key, key))
			return true;
	for (unsigned i = 0; i < sizeof(over) / sizeof(*over); i++)
		if (!strcmp(over[i][1], key))
			return true;
	return false;
}
