/* What RDMA tools print: show_gids, ibdev2netdev, ibv_devinfo [-v], a lone traffic class or
 * counters whose device only the file's name tells. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/place.h"
#include "audit/read/readers.h"

void rs_port_seen(struct rs_audit *a, const struct rs_input *in, uint32_t line, const char *subject,
		  unsigned port)
{
	char name[32];

	snprintf(name, sizeof(name), "has_port/%u", port);
	if (port && port < 256)
		rs_input_add(a, in, line, NULL, subject, name, "1");
}

unsigned rs_port_chosen(const struct rs_input *in, const struct rs_line *l, const char *heading)
{
	struct rs_line next = {.next = l->next};
	unsigned port = 0, first = 0;

	while (rs_line_next(in, &next) && strncmp(next.text, heading, strlen(heading))) {
		const char *state = next.text;

		if (sscanf(next.text, "Port %u:", &port) == 1 ||
		    sscanf(next.text, "port: %u", &port) == 1)
			first = first ? first : port;
		if (!strncasecmp(state, "state:", 6) &&
		    (strstr(state, " Active") || strstr(state, "PORT_ACTIVE")))
			return port;
	}
	return first;
}

/* ---- show_gids ---- */

static int score_gids(const struct rs_input *in)
{
	return rs_input_has(in, "n_gids_found") ||
			       (rs_input_has(in, "DEV") && rs_input_has(in, "INDEX") &&
				rs_input_has(in, "GID"))
		       ? 90
		       : 0;
}

static int read_gids(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_line l = {0};

	while (rs_line_next(in, &l)) {
		char *w[8], subject[160], name[64];
		unsigned n = rs_line_words(l.text, w, 8), at = 4;

		/* DEV PORT INDEX GID [IPv4] VER [NETDEV] */
		if (n < 5 || strspn(w[1], "0123456789") != strlen(w[1]) ||
		    strspn(w[2], "0123456789") != strlen(w[2]) ||
		    strspn(w[3], "0123456789abcdefABCDEF:.") != strlen(w[3]) || !strchr(w[3], ':'))
			continue;
		snprintf(subject, sizeof(subject), "nic/%s", w[0]);
		snprintf(name, sizeof(name), "gid/%s", w[2]);
		rs_input_add(a, in, l.number, NULL, subject, name, "%s", w[3]);
		if (strchr(w[at], '.')) {
			snprintf(name, sizeof(name), "gid_ipv4/%s", w[2]);
			rs_input_add(a, in, l.number, NULL, subject, name, "%s", w[at++]);
		}
		if (at < n && *w[at] == 'v') {
			snprintf(name, sizeof(name), "gid_type/%s", w[2]);
			rs_input_add(a, in, l.number, NULL, subject, name, "%s", w[at++]);
		}
		if (at < n) {
			snprintf(name, sizeof(name), "gid_netdev/%s", w[2]);
			rs_input_add(a, in, l.number, NULL, subject, name, "%s", w[at]);
			rs_input_add(a, in, l.number, NULL, subject, "netdev", "%s", w[at]);
		}
	}
	return a->err;
}

const struct rs_reader rs_reader_show_gids = {
	.name = "show_gids",
	.what = "show_gids: each device's GID table",
	.trust = RS_TRUST_TOOL,
	.score = score_gids,
	.read = read_gids,
	.begins = (const char *const[]){"DEV PORT INDEX GID", NULL},
};

/* ---- ibdev2netdev ---- */

/* With -v the address is in front, and the card and its firmware stand between. */
static bool ibdev_line(const char *text, char *ib, char *nd, char *state, int *port)
{
	const char *p = strstr(text, " port ");
	char address[64];

	return p && sscanf(p, " port %d%*[^=]==> %63s (%15[A-Za-z])", port, nd, state) == 3 &&
	       (rs_pci_address(text, address, sizeof(address))
			? sscanf(text, "%*s %63s", ib) == 1
			: sscanf(text, "%63s port", ib) == 1);
}

static int score_ibdev(const struct rs_input *in)
{
	char ib[64], nd[64], state[16];
	struct rs_line l = {0};
	int port;

	while (rs_line_next(in, &l) && l.number < 40)
		if (ibdev_line(l.text, ib, nd, state, &port))
			return 90;
	return 0;
}

static int read_ibdev(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_line l = {0};

	while (rs_line_next(in, &l)) {
		char ib[64], nd[64], state[16], subject[160];
		const char *fw;
		int port;

		if (!ibdev_line(l.text, ib, nd, state, &port))
			continue;
		snprintf(subject, sizeof(subject), "nic/%s", ib);
		rs_port_seen(a, in, l.number, subject, (unsigned)port);
		rs_input_add(a, in, l.number, NULL, subject, "netdev", "%s", nd);
		rs_input_add(a, in, l.number, NULL, subject, "link", "%s", state);
		/* of an Ethernet interface the two are one; IPoIB's says nothing of the port */
		if (strncmp(nd, "ib", 2) && !strcmp(state, "Down")) {
			struct rs_input weak = *in;

			weak.trust = RS_TRUST_NOTE;
			rs_input_add(a, &weak, l.number, NULL, subject, "port_state", "DOWN");
		} else if (strncmp(nd, "ib", 2) && !strcmp(state, "Up")) {
			struct rs_input weak = *in;

			weak.trust = RS_TRUST_NOTE;
			rs_input_add(a, &weak, l.number, NULL, subject, "port_state", "ACTIVE");
		}
		if (rs_pci_address(l.text, nd, sizeof(nd)))
			rs_input_add(a, in, l.number, NULL, subject, "pci", "%s", nd);
		fw = strstr(l.text, " fw ");
		if (fw && sscanf(fw, " fw %63s", nd) == 1)
			rs_input_add(a, in, l.number, NULL, subject, "firmware", "%s", nd);
	}
	return a->err;
}

const struct rs_reader rs_reader_ibdev2netdev = {
	.name = "ibdev2netdev",
	.what = "ibdev2netdev [-v]: each RDMA device's network interface and link",
	.trust = RS_TRUST_TOOL,
	.score = score_ibdev,
	.read = read_ibdev,
	.begins = (const char *const[]){"% port # ==> %", "# %(*) ==> ", NULL},
};

/* ---- ibv_devinfo ---- */

/* Cut by grep it has no device's name of its own: the command may tell it. */
static int score_devinfo(const struct rs_input *in)
{
	if (rs_input_has(in, "hca_id:"))
		return 95;
	return in->command && !strncmp(in->command, "ibv_devinfo", 11) &&
			       (rs_input_has(in, "active_mtu:") || rs_input_has(in, "state:"))
		       ? 80
		       : 0;
}

/* "4096 (5)" -> "4096", "PORT_ACTIVE (4)" -> "ACTIVE" */
static void devinfo_value(char *v)
{
	char *p = strstr(v, " (");

	if (p)
		*p = '\0';
	if (!strncmp(v, "PORT_", 5))
		memmove(v, v + 5, strlen(v + 5) + 1);
	if (!strcmp(v, "LINK_UP"))
		strcpy(v, "LinkUp");
}

/* "GID[  3]:  ::ffff:200.0.209.6, RoCE v2" */
static bool devinfo_gid(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l,
			const char *subject)
{
	char gid[128], type[32], name[64];
	int index, n = sscanf(l->text, "GID[ %d]: %127[^,], %31[A-Za-z0-9 ]", &index, gid, type);

	if (n < 2)
		return false;
	snprintf(name, sizeof(name), "gid/%d", index);
	rs_input_add(a, in, l->number, NULL, subject, name, "%s", gid);
	if (n == 3 && strchr(type, 'v')) {
		snprintf(name, sizeof(name), "gid_type/%d", index);
		rs_input_add(a, in, l->number, NULL, subject, name, "%s", strchr(type, 'v'));
	}
	return true;
}

static int read_devinfo(struct rs_audit *a, const struct rs_input *in)
{
	static const struct {
		const char *key, *fact;
	} known[] = {
		{"state", "port_state"},          {"phys_state", "phys_state"},
		{"active_mtu", "active_mtu"},     {"link_layer", "link_layer"},
		{"fw_ver", "firmware"},           {"board_id", "board_id"},
		{"node_guid", "node_guid"},       {"sys_image_guid", "sys_image_guid"},
		{"vendor_id", "vendor_id"},       {"vendor_part_id", "vendor_part_id"},
		{"active_speed", "active_speed"}, {"active_width", "active_width"},
	};
	char subject[160] = "nic/unnamed", dev[64];
	const char *named = in->command ? strstr(in->command, " -d ") : NULL;
	struct rs_line l = {0};
	unsigned port = 0, chosen = 0;
	double lanes = 0;

	if (named && sscanf(named, " -d %63[A-Za-z0-9_]", dev) == 1)
		snprintf(subject, sizeof(subject), "nic/%s", dev);

	while (rs_line_next(in, &l)) {
		char *key, *value;

		if (devinfo_gid(a, in, &l, subject) || !rs_line_pair(l.text, ':', &key, &value))
			continue;
		if (!strcmp(key, "hca_id")) {
			snprintf(subject, sizeof(subject), "nic/%s", value);
			chosen = rs_port_chosen(in, &l, "hca_id:");
			port = 0;
			continue;
		}
		devinfo_value(value);
		if (!strcmp(key, "port")) {
			port = (unsigned)atoi(value);
			rs_port_seen(a, in, l.number, subject, port);
		}
		if (chosen && port && port != chosen)
			continue;
		for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
			if (!strcmp(key, known[i].key))
				rs_input_add(a, in, l.number, NULL, subject, known[i].fact, "%s",
					     value);
		/* lanes and Gb/s of each (IBTA vol. 1 14.2.5.6) */
		if (!strcmp(key, "active_width"))
			lanes = atof(value);
		if (!strcmp(key, "active_speed") && lanes > 0 && strstr(value, "bps") &&
		    atof(value) > 0)
			rs_input_add(a, in, l.number, NULL, subject, "rate_gbps", "%.0f",
				     lanes * atof(value));
	}
	return a->err;
}

const struct rs_reader rs_reader_ibv_devinfo = {
	.name = "ibv_devinfo",
	.what = "ibv_devinfo [-v]: ports, MTU, GIDs, firmware",
	.trust = RS_TRUST_TOOL,
	.score = score_devinfo,
	.read = read_devinfo,
	.begins = (const char *const[]){"hca_id:", NULL},
};

/* ---- A traffic class or a default ToS alone ---- */

/* The content is a number or "Global tclass=N", or nothing at all: what it is, the file's name says
 * or the command that printed it. */
static bool said(const struct rs_input *in, const char *what)
{
	return strstr(in->command ? in->command : in->path, what) != NULL;
}

static bool is_tclass(const struct rs_input *in)
{
	return said(in, "traffic_class") || rs_input_has(in, "Global tclass");
}

static int score_lone(const struct rs_input *in)
{
	return in->size < 64 && !strchr(in->data, ':') &&
			       (is_tclass(in) || said(in, "roce_tos") || said(in, "roce_mode"))
		       ? 58
		       : 0;
}

static int read_lone(struct rs_audit *a, const struct rs_input *in)
{
	const char *p = strstr(in->data, "tclass=");
	char device[128], subject[160], *end;
	struct rs_line l = {0};
	long value;

	rs_input_device(in, device, sizeof(device));
	snprintf(subject, sizeof(subject), "%s/%s", rs_is_rdma_name(device) ? "nic" : "netdev",
		 device);
	p = p ? p + 7 : in->data;
	value = strtol(p, &end, 0);
	while (rs_line_next(in, &l) && !*l.text)
		;
	if (end != p)
		rs_input_add(a, in, 1, NULL, subject, said(in, "roce_tos") ? "cm_tos" : "tclass",
			     "%ld", value);
	else if (is_tclass(in) && !*l.text)
		rs_input_add(a, in, 1, NULL, subject, "tclass", "unset");
	else if (said(in, "roce_mode") && strstr(l.text, "RoCE v"))
		rs_input_add(a, in, l.number, NULL, subject, "cm_mode", "%s", l.text);
	return a->err;
}

const struct rs_reader rs_reader_traffic_class = {
	.name = "traffic_class",
	.what = "a traffic class, default ToS or RoCE mode alone, as cma_roce_tos prints it: the "
		"command or the file's name tells the device",
	.trust = RS_TRUST_DUMP,
	.score = score_lone,
	.read = read_lone,
};

/* ---- Counters: `name: value` ---- */

static const char *const counter_names[] = {
	"out_of_sequence", "LinkDownedCounter", "local_ack_timeout_err", "np_cnp_sent",
	"rx_prio0_bytes",  "rx_packets",        "packet_seq_err",        "rx_discards_phy",
	"PortXmitData",    "lifespan",          "NIC statistics:",       NULL};

/* The prompt says what the lines are, though grep left their head out. */
static bool is_ethtool_s(const struct rs_input *in)
{
	return in->command && !strncmp(in->command, "ethtool", 7) && strstr(in->command, " -S") &&
	       strchr(in->data, ':');
}

static int score_counters(const struct rs_input *in)
{
	if (is_ethtool_s(in))
		return 55;
	for (unsigned i = 0; counter_names[i]; i++)
		if (rs_input_has(in, counter_names[i]))
			return rs_input_has(in, "/sys/") ? 0 : 50;
	return 0;
}

/* perfquery's names of PortCounters and PortCountersExtended, and sysfs's of the same ones (IBTA
 * vol. 1 16.1.3.5, 16.1.4.11). */
static const char *kernel_name(const char *key)
{
	static const struct {
		const char *said, *name;
	} known[] = {
		{"SymbolErrorCounter", "symbol_error"},
		{"LinkErrorRecoveryCounter", "link_error_recovery"},
		{"LinkDownedCounter", "link_downed"},
		{"PortRcvErrors", "port_rcv_errors"},
		{"PortRcvRemotePhysicalErrors", "port_rcv_remote_physical_errors"},
		{"PortRcvSwitchRelayErrors", "port_rcv_switch_relay_errors"},
		{"PortXmitDiscards", "port_xmit_discards"},
		{"PortXmitConstraintErrors", "port_xmit_constraint_errors"},
		{"PortRcvConstraintErrors", "port_rcv_constraint_errors"},
		{"LocalLinkIntegrityErrors", "local_link_integrity_errors"},
		{"ExcessiveBufferOverrunErrors", "excessive_buffer_overrun_errors"},
		{"VL15Dropped", "VL15_dropped"},
		{"PortXmitData", "port_xmit_data"},
		{"PortRcvData", "port_rcv_data"},
		{"PortXmitPkts", "port_xmit_packets"},
		{"PortRcvPkts", "port_rcv_packets"},
		{"PortXmitWait", "port_xmit_wait"},
	};

	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(key, known[i].said))
			return known[i].name;
	return key;
}

/* "rx_prio3_pause", "[0]: rx_ucast_packets" without its queue, "port.rx_bytes" */
static bool is_counter(const char *key)
{
	return *key && strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				   "_.-") == strlen(key);
}

/* Counters that an interface does not have: hw_counters, and the port's of IBTA 16.1.3.5. */
static bool has_rdma_counters(const struct rs_input *in)
{
	static const char *const names[] = {"local_ack_timeout_err", "packet_seq_err",
					    "rnr_nak_retry_err", "np_cnp_sent", "PortXmitData"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (rs_input_has(in, names[i]))
			return true;
	return false;
}

static int read_counters(struct rs_audit *a, const struct rs_input *in)
{
	char device[128], subject[160];
	struct rs_line l = {0};
	bool nic;

	rs_input_device(in, device, sizeof(device));
	nic = rs_is_rdma_name(device) || (!strcmp(device, "unnamed") && has_rdma_counters(in));
	snprintf(subject, sizeof(subject), "%s/%s", nic ? "nic" : "netdev", device);
	while (rs_line_next(in, &l)) {
		char *key, *value, name[192];

		if (!rs_line_pair(l.text, ':', &key, &value) || !is_counter(key) ||
		    !isdigit((unsigned char)*(value += strspn(value, "."))))
			continue;
		snprintf(name, sizeof(name), "counter/%.160s", kernel_name(key));
		rs_input_add(a, in, l.number, NULL, subject, name, "%s", value);
	}
	return a->err;
}

const struct rs_reader rs_reader_counters = {
	.name = "counters",
	.what = "ethtool -S DEV, perfquery, or hw_counters as `name: value`",
	.trust = RS_TRUST_TOOL,
	.score = score_counters,
	.read = read_counters,
	.begins = (const char *const[]){"NIC statistics:", NULL},
};
