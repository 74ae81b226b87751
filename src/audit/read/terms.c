/*
 * The vocabulary of terms.h. Rows are tried in order; the first whose name, context and value hold
 * decides. Names are those of SONiC, EOS, NX-OS, OS10, Junos, NVUE, Onyx, IOS XR, VRP, Comware,
 * SR Linux, AOS-CX and RGOS command references.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/terms.h"

enum test { IS, BEGINS, HAS, OVER, UNDER, LOST, EXCEPT, SAYS };

struct term {
	const char *name, *but; /* alternatives in the name; none of these */
	const char *where;      /* alternatives in the context or the name; NULL: anywhere */
	enum test test;
	const char *values; /* of IS, BEGINS, HAS, EXCEPT, SAYS: alternatives, '|' between */
	double limit;       /* of OVER, UNDER */
	const char *key;    /* of the message; of LOST: of a fault; NULL: says nothing */
	const char *few;    /* of LOST: of some; NULL: none */
};

#define NO      "no|off|false|disable|disabled|none|inactive|not configured|not enabled"
#define PFC     "pfc|priority flow control|flow control priority"
#define WATCHED "watchdog|watch dog|pfcwd|pfc wd|deadlock|pfc storm"
#define LAG                                                                                       \
	"lacp|etherchannel|eth trunk|aggregat|bundle|port channel|portchannel|ae interface|team " \
	"dev|mlag port"                                                                           \
	"|lag id"
#define MLAG "mlag|mclag|vpc|vlt|clag|m lag|mc lag|peer link|multichassis"
#define ADJACENT                                                                                 \
	"ospf&neigh|ospf3&neigh|isis&neigh|isis&adj| is is&neigh|isis&peer|ospf&peer|ldp&neigh|" \
	"ldp&session|ldp&peer"
#define STATE " oper | opr | oper st| operat| operst| status | state | link | phy | protocol "
#define NOT_COUNTS                                                                                 \
	"probab|thresh|percent|bandwidth|util|weight|limit| level|size| last| first|interval|age " \
	"|"                                                                                        \
	" rate|pps|bps|ratio|eligib|preced|reason|descr|profile| index|action|octets|bytes|byts|"  \
	" time |polic|recover|restor|alarm"

static const struct term terms[] = {
	/* ---- Storms and what watches for them ---- */
	{"detection time|detect time", NULL, WATCHED, OVER, NULL, 1000, "watchdog-slow", NULL},
	{"watchdog|watch dog|pfcwd|pfc wd", "interval multipl|auto|recover|restor|timer|event|drop",
	 NULL, IS, NO, 0, "watchdog-off", NULL},
	{"global watch dog interval|pfc watchdog", "event", NULL, BEGINS, "disabled|off", 0,
	 "watchdog-off", NULL},
	{"shutdown multiplier", NULL, "watchdog|watch dog", UNDER, NULL, 1, "watchdog-off", NULL},
	{"deadlocknum|deadlock num|deadlock count|deadlockcount", NULL, NULL, OVER, NULL, 0,
	 "pfc-storm", NULL},
	{"stuck since|storm since", NULL, WATCHED, EXCEPT, "never|-||n a", 0, "pfc-storm", NULL},
	{"deadlock|stuck|storm&detect|storm event|storms|pfc storm", NOT_COUNTS "|suppress|control",
	 PFC "|" WATCHED, OVER, NULL, 0, "pfc-storm", NULL},
	{"detect|trigger|shutdown|event| storm ", NOT_COUNTS "|multipl", WATCHED, OVER, NULL, 0,
	 "pfc-storm", NULL},
	{"drop count|errdisable count|non disruptive count|notify only count", NULL, WATCHED, OVER,
	 NULL, 0, "pfc-storm", NULL},
	{"state|status| oper ", NULL, PFC "|" WATCHED, IS,
	 "storm|stormed|deadlock|stuck|shutdown|triggered|in storm|storm detected", 0, "pfc-storm",
	 NULL},

	/* ---- FEC, bits ---- */
	{"uncorr", "rate|ratio|thresh|time|alarm", NULL, OVER, NULL, 99, "fec-lost", NULL},
	{"uncorr", "rate|ratio|thresh|time|alarm", NULL, OVER, NULL, 0, "fec-lost-few", NULL},
	{" bin15 | bin 15 ", NULL, NULL, OVER, NULL, 0, "fec-lost", NULL},
	/* code words with so many symbols wrong, which FEC mended */
	{" bin0 | bin1 | bin2 | bin3 | bin4 | bin5 | bin6 | bin7 | bin8 | bin9 | bin10 | bin11 | "
	 "bin12 | bin13 | bin14 | fec corrected| corrected err| corrected code",
	 "uncorr", NULL, OVER, NULL, -1, NULL, NULL},
	{"effective ber|post fec ber|postfec ber|effective&bit error",
	 "thresh|min|max|high|low|exp|coef|mag", NULL, OVER, NULL, 1e-12, "ber-high", NULL},
	{"raw ber|pre fec b|prefec ber|pre fec&bit error", "thresh|high|low|exp|coef|mag|lane",
	 NULL, OVER, NULL, 2.4e-4, "ber-high", NULL},
	{" ber |bit error rate", NULL, NULL, OVER, NULL, 1, NULL, NULL},

	/* ---- Modules ---- */
	{"loss of signal| los | rx los |rx loss|loss of lock| lol ", "thresh|count|mask|support",
	 NULL, IS, "true|yes|on|1|set|active|alarm", 0, "optics-alarm", NULL},
	/* a flag, and how often it was set */
	{"alarm&flag", "warn", "transceiv|laser|module", IS, "true", 0, "optics-alarm", NULL},
	{" alarm| fault",
	 "thresh|count|mask|support|time|class|number|no of|reason|statistics|link",
	 "transceiv|optic|module|power|bias|temperature|voltage|sfp|qsfp|lane|firmware", IS,
	 "true|yes|on|set|active|major|critical|fault", 0, "optics-alarm", NULL},
	{"detected alarms|oper down reason|los lol fault status", NULL, NULL, HAS,
	 "los|pwr|power|fault|lol", 0, "optics-alarm", NULL},
	{"module state", NULL, NULL, HAS, "fault", 0, "module-fault", NULL},
	{"error status", NULL, "transceiv|sfp|module", EXCEPT, "ok|n a|unplugged|not present", 0,
	 "module-fault", NULL},
	{"rx&power|rx&pwr|receiv&power|input power|input&dbm|rx dbm|rxpower",
	 "thresh|alarm|warn|high|low|max|min|type|tx", NULL, BEGINS, "-inf", 0, "light-low", NULL},
	{"rx&power|rx&pwr|receiv&power|input power|input&dbm|rx dbm|rxpower",
	 "thresh|alarm|warn|high|low|max|min|type|tx", NULL, UNDER, NULL, -20, "light-low", NULL},
	{"temperature| temp ", "thresh|alarm|warn|high|low|max|min|fan|board|cpu|sensor",
	 "transceiv|optic|module|sfp|qsfp", OVER, NULL, 80, "module-hot", NULL},

	/* ---- Frames ---- */
	{"mtu err|giants|oversize|too long|jabber|mtu exce|exceeds l2 mtu", NOT_COUNTS, NULL, OVER,
	 NULL, RS_TERM_MANY, "giants-many", NULL},
	{"tx err|tx error|out err|outerr|output err|xmit err|txerr", NOT_COUNTS, "queue", LOST,
	 NULL, 0, "drops-counted", "drops-few"},
	{"crc| fcs|symbol err|align err|framing| in err|inerr|input err|rx err|rcv err|error "
	 "packets|"
	 "error pkts| err pkts|total err| errors | effective err|in crc|code err|error frames",
	 NOT_COUNTS
	 "| fec |raw|correct|fatal|tx err|out err|output err|xmit|disabled|stomp|collision|storm",
	 NULL, LOST, NULL, 0, "errors-counted", "errors-few"},
	{"stomp", NOT_COUNTS "|raw", NULL, LOST, NULL, 0, "errors-counted", "errors-few"},
	{"drop| drp |wreddrp|discard|no buffer|overrun|overflow| rx ovr| trim drp",
	 NOT_COUNTS
	 "|unrecog|unknown| acl| ttl| vlan| stp|policed|incompl|channel|proto|etype|mode|"
	 "type|eligible|bad |unsup|mark|mask|credit|if down|no drop|host|cpu| fast "
	 "filter|normal disc|punt|connection|conns|lisp| null | rpf | arp | rsv | olist ",
	 NULL, LOST, NULL, 0, "drops-counted", "drops-few"},
	{" count ", NOT_COUNTS "| acl| ttl| vlan| stp|polic|unknown|filter", "discard stats", LOST,
	 NULL, 0, "drops-counted", "drops-few"},
	{"local fault|remote fault|sync loss|alignment loss|loss of sync", NOT_COUNTS,
	 "port errors", OVER, NULL, 0, "switch-port", NULL},
	{"link transition|link down counter|carrier transition|flap|link state change|state "
	 "transition",
	 "time|last|date|since|damp|err", NULL, OVER, NULL, 50, "flaps-many", NULL},
	{"rx&pfc|rx pause|receiv&pfc|rx ppp|rxppp|rxpfc|received frames|input pfc| recv ",
	 NOT_COUNTS "|duration|tx", PFC "|pause|flow", OVER, NULL, 1e9, "pause-many", NULL},

	/* ---- Two switches as one ---- */
	{"conflict", "type|resol", MLAG, EXCEPT, "-|--|none|no|n a||0|no conflict", 0,
	 "mlag-differs", NULL},
	{"consisten|sanity|peer config", "reason|role|parameter|graceful", NULL, BEGINS,
	 "failed|inconsistent|mismatch", 0, "mlag-differs", NULL},
	{"peer status|session status| neg status | local int|peer link status|peer alive|keep "
	 "alive|keepalive|"
	 "negotiation status|peer state|peer link state|icl state|heartbeat|heart beat|backup "
	 "active",
	 "interval|timer|dest|backup|bgp|source|vrf", MLAG, BEGINS,
	 "down|lost|false|suspended|connecting|lowerlayerdown|inactive|failed|peer link is "
	 "down|peer link down|unreachable|peer not|not "
	 "alive|"
	 "disconnected|peer adjacency not|no",
	 0, "mlag-down", NULL},
	{"control link status|fabric link status", NULL, "chassis cluster", IS, "down", 0,
	 "mlag-down", NULL},
	{" state | status |oper status", NULL, "mlag|mclag|m lag", IS, "inactive|init|disconnected",
	 0, "mlag-down", NULL},

	/* ---- Sessions ---- */
	{"state| st pfx|up down", "admin|thresh|count|table| vrf |policy|event| last |prev",
	 "bgp| peers ", IS,
	 "idle|active|connect|opensent|openconfirm|open sent|open confirm|clearing|connecting|"
	 "not negotiated",
	 0, "bgp-down", NULL},
	{"state|status", "admin", "bfd", BEGINS, "down|init|lost", 0, "bfd-down", NULL},
	{"state|status",
	 "admin|interface|dr state|table|event| gr |restart| spf | lsa |oper status|link", ADJACENT,
	 BEGINS,
	 "down|init|initializing|exstart|ex start|exchange|loading|attempt|nonexistent|failed|"
	 "opensent|openrec",
	 0, "adjacency-down", NULL},
	{"state|status| up down| st pfx", NULL, "bgp|bfd|ospf|isis| ldp ", IS,
	 "up|down|established|estab|establ|full|idle|active|connect|idle admin", 0, NULL, NULL},

	/* ---- Bundles ---- */
	{" dist | col | syn ", NULL, LAG, IS, "no", 0, "lag-member", NULL},
	{" synchroni| collecting | distributing ", "time|count", LAG, IS, "no|false|out of sync", 0,
	 "lag-member", NULL},
	{" inactive | active partial ", "time|interval|reason|vlan", MLAG, OVER, NULL, 0,
	 "lag-member", NULL},
	{"port status|selection", "admin|count", "lacp", IS,
	 "negotiation|individual|unselected|standby lacp|suspended", 0, "lag-member", NULL},
	{"state|status|mux|flag", "port state|admin|link up", LAG, IS,
	 "unselect|unselected|susp|suspended|detached|lacp block|defaulted|configured|u|down|"
	 "individual|inactive|not synced|expired|d",
	 0, "lag-member", NULL},
	{" link state ", NULL, "show sharing", BEGINS, "ready|port not present", 0, "lag-member",
	 NULL},
	{" opr ", NULL, "lag id", IS, "down", 0, "lag-member", NULL},
	{"state|status|mux|flag", NULL, LAG, IS, "up|selected|bndl|s|active|current", 0, NULL,
	 NULL},

	{" illegal| malformed", "thresh|time|rate", "lacp|lldp|bfd|dcbx", OVER, NULL, 0,
	 "protocol-errors", NULL},

	/* ---- PFC, ECN, trust, maps ---- */
	{"roce mode|roce status", NULL, NULL, IS, NO, 0, "pfc-port-off", NULL},
	{"operational state| error |protocol state|oper status|sync", "admin", "dcbx", IS,
	 "disabled|yes|not in sync|down|mismatch|error|out of sync", 0, "dcbx-pfc", NULL},
	{" asymmetric ", NULL, "pfc", IS, "on|enabled", 0, "pfc-asymmetric", NULL},
	{"congestion notification", "oper|rx|tx|watchdog|frame|count|asym", PFC, IS, NO, 0,
	 "pfc-port-default", NULL},
	{"admin mode|pfc admin|pfc enabled|pfc mode| pfc | pfc status",
	 "oper|rx|tx|watchdog|frame|count|asym", PFC, IS, NO, 0, "pfc-port-off", NULL},
	{"oper mode|oper status|operstatus|pfc oper| oper ", "admin|watchdog|frame|count|asym", PFC,
	 IS, NO, 0, "pfc-port-inactive", NULL},
	{"oper mode|oper status|operstatus|pfc oper| oper |admin mode|pfc admin| pfc ", "asym", PFC,
	 IS, "on|true|enabled|enable|yes|active", 0, "pfc-port-on", NULL},
	/* a TCP socket's option has its name in full ("show ip bgp neighbors" of EOS) */
	{" ecn | ecn mark| ecn enabled| ecn status| ecn mode| ecn capab",
	 "thresh|min|max|count|packet|pkts|drop|bytes|explicit congestion notification ecn enabled",
	 NULL, IS, NO "|n|ecn none", 0, "ecn-off", NULL},
	{" ecn | ecn mark| ecn enabled| ecn status| ecn mode", "thresh|min|max|count", NULL, IS,
	 "y|yes|on|enable|enabled|true|ecn all|green|active", 0, "ecn-on", NULL},
	{" trust ", "trust group|trust code|vrf|cert", " quick | dcb", IS,
	 "none|untrusted|not trusted|no|disabled", 0, "trust-none", NULL},
	{" trust ", "trust group|trust code|vrf|cert", " quick | dcb", IS,
	 "l2|cos|pcp|dot1p|8021p|802 1p|l2 only", 0, "trust-cos", NULL},
	{" trust ", "trust group|trust code|vrf|cert", NULL, IS,
	 "none|untrusted|not trusted|no|disabled|l2|cos|pcp|dot1p|8021p|802 1p|l2 only", 0,
	 "trust-other", NULL},
	{"source port|src port|l4 port|l4 s|layer 4 s|sport", "mac|udp dest|ingress|any",
	 "hash|load bal|load shar|ecmp|loadbal", IS, NO, 0, "hash-no-port", NULL},
	{"load share mode|hash mode|hash arithmetic|hash fields|load balance mode|ipv4 fields",
	 NULL, "ecmp|load shar|load balanc|hash key", IS,
	 "address source destination|src ip dst ip|src ip dst ip protocol|sip xor dip|source ip "
	 "destination ip|source ip destination ip protocol",
	 0, "hash-no-port", NULL},
	{"flow control|flowcontrol", "pfc|priority|support|capab", NULL, IS,
	 "on|enabled|rx|tx|rxtx|both|rx tx|on on", 0, "pause-global", NULL},
	{"send flow|receive flow|flowcontrol&admin|flowcontrol&oper|flowcontrol&send", NULL,
	 "flow control|flowcontrol", IS, "on", 0, "pause-global", NULL},
	{" fec | fec mode|forward error correction|fec oper|current fec",
	 "corrected|uncorr|thresh|count|admin|statist", " fast ", IS,
	 "none|off|disabled|fec off|no fec", 0, "fec-none", NULL},
	{"maximum frame size|max frame size", NULL, "lldp|neighbo", IS, "0", 0, NULL, NULL},
	{"maximum frame size|max frame size", NULL, "lldp|neighbo", UNDER, NULL, 1600, "mtu-peer",
	 NULL},

	/* ---- Hardware ---- */
	/* NX-OS: a power supply that gets no power, or rests as a spare, and the fans in it */
	{"status", "link|interface|admin|bgp|lacp|vlan|oper speed|alert", RS_TERM_HARDWARE, HAS,
	 "shutdown", 0, "hardware-gone", NULL},
	/* SONiC's health monitor names what is not well, and says why */
	{" ", " led ", "system health info", EXCEPT, "ok|n a||green|true", 0, "switch-alarm", NULL},
	{"cooling status|temperature status|environment status|system status", NULL,
	 "cooling|temperature|environment|power", EXCEPT,
	 "ok|normal|good|n a||nominal|temperatureok|coolingok|temperature ok|cooling ok|up", 0,
	 "switch-hardware", NULL},
	{" warning | alarm |over temp|alert state", NULL, "temperature|sensor", IS,
	 "true|yes|alarm|on|raised", 0, "switch-hardware", NULL},
	{" fan|psu|power supply",
	 "speed|rpm|model|serial|direction|trust|type|thresh|count|number|airflow|num|part|"
	 "revision| alarm | warning |beacon| led ",
	 RS_TERM_HARDWARE, BEGINS, RS_TERM_BROKEN, 0, "switch-hardware", NULL},
	{" register | alarm ", NULL, RS_TERM_HARDWARE, IS, "unregistered|abnormal", 0,
	 "switch-card", NULL},
	{"temperature state", NULL, NULL, IS, "yellow|red|black", 0, "switch-hardware", NULL},
	{" state ", "admin", "show switch|stack", HAS, "mismatch", 0, "switch-card", NULL},
	{" port1 | port2 | port 1 | port 2 ", NULL, "stack port", IS, "down|absent|no cable", 0,
	 "switch-card", NULL},
	/* a card that is off by configuration says so, too */
	{"reason", NULL, "show module", HAS, "failure|failed|fault|error|denied", 0, "switch-card",
	 NULL},
	/* NX-OS: a card that is not "ok", "active", "standby", just present or powered down, which
	 * it may be by configuration */
	{" status ", "diag", "show module", BEGINS,
	 "initializing|testing|power denied|failure|err pwd dn|offline|"
	 "fault|diag fail",
	 0, "switch-card", NULL},
	{"oper status", NULL, "chassis modules", IS, "offline|fault|failed", 0, "switch-card",
	 NULL},
	/* IOS XR's states of a node that does not run */
	{" state ", "admin|config", "show platform&config state", IS,
	 "in reset|unpowered|disabled|not present failed|unmonitored|mbi booting failed|failed|"
	 "boot failed|brought down|not allow online|error",
	 0, "switch-card", NULL},
	{"reachab", NULL, "midplane", IS, "false|no|unreachable", 0, "switch-card", NULL},
	{"state|status", "admin", "fabric&plane", IS, "dn|down|fault|offline|check|failed|error", 0,
	 "switch-card", NULL},
	{"state|status", "admin", "fabric&plane", IS, "up", 0, NULL, NULL},
	{"cbl status|cable status", NULL, NULL, IS, "fail", 0, "wiring-told", NULL},
	{"status|state|health|presence|inserted|powered",
	 "link|interface|admin|bgp|lacp|vlan|oper speed|alert", RS_TERM_HARDWARE, HAS,
	 RS_TERM_BROKEN, 0, "switch-hardware", NULL},
	{"status|state|health|presence|inserted|powered", "link|interface|admin|bgp|lacp|vlan",
	 RS_TERM_HARDWARE, BEGINS, "absent|not present|missing|removed|not inserted", 0,
	 "hardware-gone", NULL},

	{"power stable|power good", NULL, NULL, IS, "false|no", 0, "switch-card", NULL},
	{"alert count", "thresh", "temperature|sensor", OVER, NULL, 0, "hardware-over", NULL},
	{"hw status|hardware status", "transceiv", RS_TERM_HARDWARE, EXCEPT,
	 "ok|n a||not inserted|good|normal|unknown", 0, "switch-hardware", NULL},
	{"switchover ready|standby ready|redundancy ready", "time|count", NULL, IS,
	 "false|no|not ready", 0, "switch-card", NULL},
	/* interrupts of a fabric card's chip are faults of it */
	{"fabric interrupt", "thresh|rate|time|mask|enabl", NULL, OVER, NULL, 0, "switch-card",
	 NULL},
	{" fatal err| fatal count", "non fatal|nonfatal|thresh", "pci|fatal err", OVER, NULL, 0,
	 "pci-fatal-seen", NULL},
	{"used percent|percent used|used in percent", "high|max|thresh|low", "capacity", OVER, NULL,
	 90, "switch-full", NULL},

	{"critical alarms|major alarms", "thresh|total|clear|hist|last", NULL, OVER, NULL, 0,
	 "switch-alarm", NULL},

	/* ---- Whatever it is of ---- */
	{" failure | failure reason | fault reason | fail reason | error reason ",
	 "count|time| last|thresh|prev|detect|recover|ongoing|attempt", NULL, SAYS,
	 "none|n a||no|ok|never|unknown|false|no failure|no error|success|disabled|enabled", 0,
	 "switch-alarm", NULL},
	{" status | state | result | health |recovery status|oper status|operational status",
	 "admin|conf|last|prev|bgp|spanning| stp|vlan|mlag|vpc|peer|neighbo|session|test|job|reg|"
	 " ptp ",
	 NULL, IS,
	 "unrecoverable|failed|faulty|faulted|fault|critical|not ok|unhealthy|dead|crashed|"
	 "not responding|degraded|malfunction|abnormal",
	 0, "switch-alarm", NULL},

	/* ---- Links ---- */
	{"controller state", NULL, "show controllers", IS, "down", 0, "port-down", NULL},
	{"controller state|admin state|administrative state|admin status", "oper|peer|vlan", NULL,
	 IS, "disabled|administratively down|shutdown|out of service", 0, "port-disabled", NULL},
	{" link state ", "admin", NULL, BEGINS, "ready", 0, "port-down", NULL},
	{" link state | oper| phy", "admin", NULL, HAS, "local fault|remote fault", 0, "port-down",
	 NULL},
	{" status |" STATE, NULL, NULL, BEGINS,
	 "err disabled|errdisabled|error disabled|errdisable|err disable|link flap error|linkflape|"
	 "xcvrinval|sfpinvali|linkflap",
	 0, "port-errdisabled", NULL},
	{"reason", NULL, NULL, HAS, "error disabled|errdisable|link flap|err disabled", 0,
	 "port-errdisabled", NULL},
	{STATE,
	 "admin|spanning|stp|vlan|pfc|bfd| neg |lldp|dcbx|led|laser|fec|vpc|mlag|line "
	 "up|peer|local "
	 "int|internet",
	 NULL, BEGINS,
	 "admin down|administratively down|adm|deleted|disabled|admin disabled|shutdown", 0,
	 "port-disabled", NULL},
	{STATE,
	 "admin|spanning|stp|vlan|pfc|bfd| neg |lldp|dcbx|led|laser|fec|vpc|mlag|line "
	 "up|peer|local "
	 "int|internet",
	 NULL, BEGINS,
	 "down|dn|notconnect|notconnec|lowerlayerdown|no carrier|not connected|linkdown|link down",
	 0, "port-down", NULL},
	{STATE,
	 "admin|spanning|stp|vlan|pfc|bfd| neg |lldp|dcbx|led|laser|fec|vpc|mlag|peer|local "
	 "int|internet",
	 NULL, IS, "up|connected|link up|linkup", 0, "port-up", NULL},

	{NULL, NULL, NULL, IS, NULL, 0, NULL, NULL},
};

void rs_term_plain(const char *text, char *out, size_t size)
{
	size_t n = 0;

	out[n++] = ' ';
	for (; *text && n + 2 < size; text++) {
		if (isalnum((unsigned char)*text))
			out[n++] = (char)tolower((unsigned char)*text);
		else if (out[n - 1] != ' ')
			out[n++] = ' ';
	}
	if (out[n - 1] != ' ')
		out[n++] = ' ';
	out[n] = '\0';
}

void rs_term_words(const char *text, char *out, size_t size)
{
	char parted[RS_TERM_CONTEXT];
	size_t n = 0;

	for (const char *p = text; *p && n + 3 < sizeof(parted); p++) {
		if (p > text && isupper((unsigned char)*p) && islower((unsigned char)p[-1]) &&
		    isalpha((unsigned char)p[1]))
			parted[n++] = ' ';
		parted[n++] = *p;
	}
	parted[n] = '\0';
	rs_term_plain(parted, out, size);
}

bool rs_term_in(const char *alternatives, const char *plain)
{
	size_t size = strlen(plain);
	bool all = true;

	for (const char *p = alternatives; p && *p;) {
		size_t n = strcspn(p, "&|");

		all = all && memmem(plain, size, p, n);
		p += n;
		if (*p != '&') {
			if (all)
				return true;
			all = true;
		}
		p += *p != '\0';
	}
	return false;
}

bool rs_term_neighbour(const char *plain)
{
	return rs_term_in(" spine| leaf| uplink| peer | peer link| peerlink| isl | mlag | core |"
			  " fabric | p2p | gpu| rdma | roce | interconnect ",
			  plain);
}

bool rs_term_number(const char *value, double *out)
{
	char plain[48], *end;
	const char *p = value, *paren;
	size_t n = 0;

	if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) {
		paren = strchr(p, '(');
		p = paren ? paren + 1 : p;
	}
	for (; *p && n + 1 < sizeof(plain) && (isalnum((unsigned char)*p) || strchr("+-.,", *p));
	     p++)
		if (*p != ',')
			plain[n++] = *p;
		else if (!isdigit((unsigned char)p[1]))
			break;
	plain[n] = '\0';
	if (!isdigit((unsigned char)plain[plain[0] == '-' || plain[0] == '+']))
		return false;
	*out = strtod(plain, &end);
	if (end == plain)
		return false;
	if (*end == 'K' || *end == 'M' || *end == 'G')
		*out *= *end == 'K' ? 1e3 : *end == 'M' ? 1e6 : 1e9;
	/* a date and its clock */
	if (*p == ' ' && strlen(p) > 5 && isdigit((unsigned char)p[1]) && p[3] == ':')
		return false;
	/* "-12.5dBm", "41C", "912331"; not "400GE1/0/1" or an address */
	return !*end || ((size_t)(end - plain) < n && !strpbrk(end, "0123456789."));
}

/* Is the value one of these, or does it begin with one, or have one in it? */
static bool valued(const struct term *t, const char *plain)
{
	char part[64];

	for (const char *p = t->values;; p++) {
		size_t n = strcspn(p, "|"), k = strlen(plain);

		snprintf(part, sizeof(part), " %.*s ", (int)n, p);
		if (!n                  ? k < 2
		    : t->test == HAS    ? strstr(plain, part) != NULL
		    : t->test == BEGINS ? !strncmp(plain, part, n + 2)
					: !strcmp(plain, part))
			return true;
		p += n;
		if (!*p)
			return false;
	}
}

static const char *lost(const struct term *t, double n, double frames)
{
	if (n <= 0)
		return NULL;
	if (frames > 0 && n <= frames)
		return n >= RS_TERM_FEW && n > RS_TERM_SHARE * frames ? t->key : t->few;
	return n >= RS_TERM_MANY ? t->key : t->few;
}

/* True: this row decides. */
static bool decides(const struct term *t, const char *value, const char *plain)
{
	double n;

	switch (t->test) {
	case IS:
	case HAS:
		return valued(t, plain);
	case BEGINS:
		return valued(t, plain) ||
		       (!strcmp(t->values, "-inf") && !strncmp(value, "-inf", 4));
	case EXCEPT:
		return !valued(t, plain);
	case SAYS: /* words, and other ones than these */
		return strpbrk(plain, "abcdefghijklmnopqrstuvwxyz") && !valued(t, plain);
	case OVER:
		return rs_term_number(value, &n) && n > t->limit;
	case UNDER:
		return rs_term_number(value, &n) && n < t->limit;
	case LOST:
		/* "0x16D8B383" is a checksum, "0x1f (31)" a count */
		return (strncmp(value, "0x", 2) || strchr(value, '(')) && rs_term_number(value, &n);
	}
	return false;
}

struct rs_terms rs_terms_of(const char *name, const char *context)
{
	struct rs_terms out = {{0}};

	_Static_assert(sizeof(terms) / sizeof(*terms) <= 128, "rows of a set");
	for (unsigned i = 0; terms[i].name; i++) {
		const struct term *t = &terms[i];

		if (rs_term_in(t->name, name) && !(t->but && rs_term_in(t->but, name)) &&
		    (!t->where || rs_term_in(t->where, context) || rs_term_in(t->where, name)))
			out.row[i / 64] |= (uint64_t)1 << i % 64;
	}
	return out;
}

const char *rs_term_judge(const struct rs_terms *set, const char *value, double frames)
{
	char plain[RS_TERM_NAME];
	double n = 0;

	if (!(set->row[0] | set->row[1]))
		return NULL;
	rs_term_plain(value, plain, sizeof(plain));
	for (unsigned i = 0; terms[i].name; i++) {
		if (!(set->row[i / 64] >> i % 64 & 1) || !decides(&terms[i], value, plain))
			continue;
		if (terms[i].test == LOST)
			return rs_term_number(value, &n) ? lost(&terms[i], n, frames) : NULL;
		return terms[i].key;
	}
	return NULL;
}

bool rs_term_tells(const char *key)
{
	for (unsigned i = 0; terms[i].name; i++)
		if ((terms[i].key && !strcmp(terms[i].key, key)) ||
		    (terms[i].few && !strcmp(terms[i].few, key)))
			return true;
	return false;
}
