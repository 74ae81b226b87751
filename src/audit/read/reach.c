/* What tools of the network itself print: ping with a size, iblinkinfo, ESXi's list of RDMA
 * devices. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/read/readers.h"

/* ---- ping ---- */

/* "PING 10.0.0.2 (10.0.0.2) 8972(9000) bytes of data.", "PING 10.0.0.2 56(84) bytes of data." */
static bool ping_head(const char *text, char *to, unsigned *bytes)
{
	const char *p = strstr(text, " bytes of data");

	if (!p || sscanf(text, "PING %63s", to) != 1)
		return false;
	while (p > text && p[-1] != ' ')
		p--;
	return sscanf(p, "%u(", bytes) == 1;
}

static int score_ping(const struct rs_input *in)
{
	struct rs_line l = {0};
	char to[64];
	unsigned bytes;

	while (rs_line_next(in, &l) && l.number < 40)
		if (ping_head(l.text, to, &bytes))
			return 88;
	return 0;
}

struct ping {
	char to[64];
	unsigned bytes, replies;
	uint32_t line;
};

static void ping_end(struct rs_audit *a, const struct rs_input *in, struct ping *p, unsigned sent,
		     unsigned got)
{
	char subject[80], name[32];

	snprintf(subject, sizeof(subject), "ping/%s", p->to);
	snprintf(name, sizeof(name), "sent/%u", p->bytes);
	if (sent)
		rs_input_add(a, in, p->line, NULL, subject, name, "%u", sent);
	snprintf(name, sizeof(name), "received/%u", p->bytes);
	if (sent || got)
		rs_input_add(a, in, p->line, NULL, subject, name, "%u", got);
	*p = (struct ping){.to = ""};
}

/* The summary counts; of a ping that was cut off, its replies do. */
static int read_ping(struct rs_audit *a, const struct rs_input *in)
{
	struct ping now = {.to = ""}, next = {.to = ""};
	struct rs_line l = {0};
	unsigned sent, got;

	while (rs_line_next(in, &l)) {
		if (ping_head(l.text, next.to, &next.bytes)) {
			if (*now.to)
				ping_end(a, in, &now, 0, now.replies);
			now = next;
			now.line = l.number;
		} else if (*now.to && strstr(l.text, " bytes from ")) {
			now.replies++;
			now.line = l.number;
		} else if (*now.to &&
			   sscanf(l.text, "%u packets transmitted, %u", &sent, &got) == 2) {
			now.line = l.number;
			/* one lost answer is the first one's ARP */
			if (got && sent >= 10 && sent > got && 10 * (sent - got) >= sent)
				rs_input_add(a, in, l.number, NULL, "message", "host-lossy", "%s",
					     l.text);
			ping_end(a, in, &now, sent, got);
		}
	}
	if (*now.to)
		ping_end(a, in, &now, 0, now.replies);
	return a->err;
}

const struct rs_reader rs_reader_ping = {
	.name = "ping",
	.what = "ping: which sizes reach a host",
	.trust = RS_TRUST_TOOL,
	.score = score_ping,
	.read = read_ping,
	.begins = (const char *const[]){"PING % (%) #(#) bytes of data", NULL},
};

/* ---- iblinkinfo ---- */

/* "  12  2[  ] ==( 4X  25.78125 Gbps Active/  LinkUp)==>  32  1[  ] "gpu02 mlx5_0" ( Could be ...)"
 */
static bool link_line(const char *text, unsigned *lid, unsigned *port, const char **middle)
{
	*middle = strstr(text, "==(");
	return *middle && strstr(*middle, ")==>") &&
	       (sscanf(text, "%u %u[", lid, port) == 2 ||
		sscanf(text, "0x%*x %u %u[", lid, port) == 2 ||
		sscanf(text, "0x%*x %*s %u %u[", lid, port) == 2 ||
		sscanf(text, "0x%*x \"%*[^\"]\" %u %u[", lid, port) == 2);
}

static int score_iblink(const struct rs_input *in)
{
	struct rs_line l = {0};
	const char *middle;
	unsigned lid, port;

	while (rs_line_next(in, &l) && l.number < 60)
		if (link_line(l.text, &lid, &port, &middle))
			return 90;
	return 0;
}

static void iblink_row(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l,
		       const char *sw, const char *middle, unsigned lid, unsigned port)
{
	char subject[192], width[16] = "", state[32] = "", phys[32] = "", could[96];
	const char *end = strstr(middle, ")==>"), *peer = strchr(end, '"'), *slash;
	const char *hint = strstr(end, "Could be ");
	double gbps;

	if (*sw)
		snprintf(subject, sizeof(subject), "link/%.100s port %u", sw, port);
	else
		snprintf(subject, sizeof(subject), "link/lid %u port %u", lid, port);
	slash = memchr(middle, '/', (size_t)(end - middle));
	if (!slash)
		return;
	for (const char *p = slash; p > middle && p[-1] != ' '; p--)
		snprintf(state, sizeof(state), "%.*s", (int)(slash - p + 1), p - 1);
	sscanf(slash + 1, " %31[A-Za-z]", phys);
	rs_input_add(a, in, l->number, NULL, subject, "port_state", "%s", state);
	rs_input_add(a, in, l->number, NULL, subject, "phys_state", "%s", phys);
	if (sscanf(middle, "==( %15s %lf Gbps", width, &gbps) == 2) {
		rs_input_add(a, in, l->number, NULL, subject, "width", "%s", width);
		rs_input_add(a, in, l->number, NULL, subject, "lane_gbps", "%g", gbps);
	}
	if (peer && peer[1] != '"')
		rs_input_add(a, in, l->number, NULL, subject, "peer", "%.*s",
			     (int)strcspn(peer + 1, "\""), peer + 1);
	if (hint && sscanf(hint, "Could be %95[^)]", could) == 1)
		rs_input_add(a, in, l->number, NULL, subject, "could_be", "%s", could);
}

static int read_iblink(struct rs_audit *a, const struct rs_input *in)
{
	char sw[128] = "";
	struct rs_line l = {0};

	while (rs_line_next(in, &l)) {
		const char *middle;
		unsigned lid, port;

		/* "Switch: 0xb859... Quantum Mellanox Technologies:", "CA: gpu01 mlx5_0:" */
		if (!strncmp(l.text, "Switch: ", 8) || !strncmp(l.text, "CA: ", 4)) {
			snprintf(sw, sizeof(sw), "%.100s", strchr(l.text, ' ') + 1);
			sw[strcspn(sw, ":")] = '\0';
		} else if (link_line(l.text, &lid, &port, &middle)) {
			iblink_row(a, in, &l, sw, middle, lid, port);
		}
	}
	return a->err;
}

const struct rs_reader rs_reader_iblinkinfo = {
	.name = "iblinkinfo",
	.what = "iblinkinfo: state, width and speed of InfiniBand links, and what they could be",
	.trust = RS_TRUST_TOOL,
	.score = score_iblink,
	.read = read_iblink,
	.begins = (const char *const[]){"Switch: 0x& ", NULL},
};

/* ---- esxcli rdma device list ---- */

static bool esx_head(const char *text)
{
	return !strncmp(text, "Name ", 5) && strstr(text, "Driver") && strstr(text, "State") &&
	       strstr(text, "Paired Uplink");
}

static int score_esx(const struct rs_input *in)
{
	struct rs_line l = {0};

	while (rs_line_next(in, &l) && l.number < 20)
		if (esx_head(l.text))
			return 90;
	return 0;
}

static int read_esx(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_line l = {0};
	bool table = false;
	char *w[12];

	while (rs_line_next(in, &l)) {
		char subject[80];
		unsigned n, k = 4;

		if (esx_head(l.text)) {
			table = true;
			continue;
		}
		if (!table || strncmp(l.text, "vmrdma", 6))
			continue;
		n = rs_line_words(l.text, w, 12);
		if (n < 6)
			continue;
		snprintf(subject, sizeof(subject), "nic/%.60s", w[0]);
		rs_input_add(a, in, l.number, NULL, subject, "driver", "%s", w[1]);
		rs_input_add(a, in, l.number, NULL, subject, "port_state", "%s", w[2]);
		rs_input_add(a, in, l.number, NULL, subject, "active_mtu", "%s", w[3]);
		/* "100 Gbps", or 0 alone */
		if (n > 6 && !strcmp(w[5], "Gbps")) {
			rs_input_add(a, in, l.number, NULL, subject, "rate_gbps", "%s", w[4]);
			k = 5;
		}
		rs_input_add(a, in, l.number, NULL, subject, "netdev", "%s", w[k + 1]);
	}
	return a->err;
}

const struct rs_reader rs_reader_esxcli_rdma = {
	.name = "esxcli-rdma",
	.what = "esxcli rdma device list: state, MTU, rate and uplink of each RDMA device",
	.trust = RS_TRUST_TOOL,
	.score = score_esx,
	.read = read_esx,
	.begins = (const char *const[]){"Name Driver State MTU Speed Paired Uplink", NULL},
};

/* ---- OS10: show interface ethernet 1/1/1 priority-flow-control details ---- */

static int score_os10_pfc(const struct rs_input *in)
{
	return rs_input_has(in, "Admin Mode") && rs_input_has(in, "Operstatus") &&
			       rs_input_has(in, "PFC Priorities")
		       ? 89
		       : 0;
}

static bool is_on(const char *v)
{
	v += strspn(v, " ");
	return !strncasecmp(v, "true", 4) || !strncasecmp(v, "on", 2) ||
	       !strncasecmp(v, "enable", 6) || !strncasecmp(v, "up", 2);
}

static int read_os10_pfc(struct rs_audit *a, const struct rs_input *in)
{
	char subject[96] = "port/unnamed", name[32];
	struct rs_line l = {0};
	bool active = false;
	int cos;
	long long rx, tx;

	rs_input_add(a, in, 0, NULL, "host", "role", "switch");
	rs_input_add(a, in, 0, NULL, "host", "os", "OS10");
	while (rs_line_next(in, &l)) {
		const char *colon = strchr(l.text, ':');

		if (!strncasecmp(l.text, "ethernet", 8) && strlen(l.text) < 60) {
			snprintf(subject, sizeof(subject), "port/%.60s", l.text);
		} else if (colon && !strncmp(l.text, "Admin Mode", 10)) {
			rs_input_add(a, in, l.number, NULL, subject, "pfc_mode",
				     is_on(colon + 1) ? "On" : "Off");
		} else if (colon && !strncmp(l.text, "Operstatus", 10)) {
			active = is_on(colon + 1);
			rs_input_add(a, in, l.number, NULL, subject, "pfc_oper",
				     active ? "On" : "Off");
		} else if (colon && !strncmp(l.text, "PFC Priorities", 14)) {
			rs_input_add(a, in, l.number, NULL, subject, "pfc_seen", "1");
			for (const char *p = colon; active && *p; p++)
				if (*p >= '0' && *p <= '7') {
					snprintf(name, sizeof(name), "pfc/%c", *p);
					rs_input_add(a, in, l.number, NULL, subject, name, "1");
				}
		} else if (sscanf(l.text, "%d %lld %lld", &cos, &rx, &tx) == 3 && cos >= 0 &&
			   cos < 8) {
			snprintf(name, sizeof(name), "counter/pfc_rx/%d", cos);
			rs_input_add(a, in, l.number, NULL, subject, name, "%lld", rx);
			snprintf(name, sizeof(name), "counter/pfc_tx/%d", cos);
			rs_input_add(a, in, l.number, NULL, subject, name, "%lld", tx);
		}
	}
	return a->err;
}

const struct rs_reader rs_reader_os10_pfc = {
	.name = "os10-pfc",
	.what = "OS10 show interface PORT priority-flow-control details: mode, state, pauses",
	.trust = RS_TRUST_TOOL,
	.score = score_os10_pfc,
	.read = read_os10_pfc,
};

/* ---- opainfo ---- */

/* "hfi1_0:1   PortGID:0xfe80...", below it "   PortState:     Init (LinkUp)" */
static bool opa_head(const char *text, char *dev)
{
	return sscanf(text, "%63[a-z0-9_]:%*u PortGID:0x%*x", dev) == 1 && !strncmp(dev, "hfi", 3);
}

static int score_opa(const struct rs_input *in)
{
	struct rs_line l = {0};
	char dev[64];

	while (rs_line_next(in, &l) && l.number < 20)
		if (opa_head(l.text, dev))
			return 90;
	return 0;
}

static int read_opa(struct rs_audit *a, const struct rs_input *in)
{
	char dev[64], subject[80] = "", state[32];
	struct rs_line l = {0};
	unsigned quality, tx, rx;

	while (rs_line_next(in, &l)) {
		if (opa_head(l.text, dev))
			snprintf(subject, sizeof(subject), "nic/%s", dev);
		else if (*subject && (sscanf(l.text, "Link Quality: %u", &quality) == 1 ||
				      sscanf(l.text, "LinkQuality: %u", &quality) == 1)) {
			/* 5 is excellent, 2 is poor; of 0 the state tells */
			if (quality > 0 && quality < 3)
				rs_input_tell(a, in, l.number, l.text, "signal-bad", dev);
		} else if (*subject &&
			   sscanf(l.text, "LinkWidthDnGrd ActTx: %u Rx: %u", &tx, &rx) == 2) {
			if ((tx && tx < 4) || (rx && rx < 4))
				rs_input_tell(a, in, l.number, l.text, "width-low", dev);
		} else if (*subject && sscanf(l.text, "PortState: %31s", state) == 1)
			rs_input_add(a, in, l.number, NULL, subject, "port_state", "%s",
				     !strcmp(state, "Active") ? "ACTIVE" : state);
	}
	return a->err;
}

const struct rs_reader rs_reader_opainfo = {
	.name = "opainfo",
	.what = "opainfo: state of Omni-Path ports",
	.trust = RS_TRUST_TOOL,
	.score = score_opa,
	.read = read_opa,
	.begins = (const char *const[]){"hfi1_#:# ", NULL},
};

/* ---- systemctl status ---- */

/* "● openibd.service - ...", "× openibd.service": the unit; its state in a line below. */
static bool unit_head(const char *text, char *unit)
{
	const char *p = text;

	while (*p && !isalnum((unsigned char)*p))
		p++;
	return p - text < 6 && sscanf(p, "%79[A-Za-z0-9@_.:-]", unit) == 1 &&
	       strstr(unit, ".service") && (p > text || strstr(p, " - "));
}

static int score_units(const struct rs_input *in)
{
	struct rs_line l = {0};
	char unit[80];

	while (rs_line_next(in, &l) && l.number < 40)
		if (unit_head(l.text, unit) && rs_input_has(in, "Active: "))
			return 84;
	return 0;
}

static int read_units(struct rs_audit *a, const struct rs_input *in)
{
	char unit[80] = "", next[80], name[96], state[32];
	struct rs_line l = {0};

	while (rs_line_next(in, &l)) {
		if (unit_head(l.text, next)) {
			snprintf(unit, sizeof(unit), "%s", next);
			unit[strcspn(unit, ".")] = '\0';
		} else if (*unit && sscanf(l.text, "Active: %31[a-z]", state) == 1) {
			snprintf(name, sizeof(name), "service/%s", unit);
			rs_input_add(a, in, l.number, NULL, "host", name, "%s", state);
			*unit = '\0';
		}
	}
	return a->err;
}

const struct rs_reader rs_reader_units = {
	.name = "systemctl",
	.what = "systemctl status: states of services",
	.trust = RS_TRUST_LOG,
	.score = score_units,
	.read = read_units,
};

/* ---- OS10: show queuing statistics interface ethernet 1/1/1 ---- */

static bool os10_queues(const char *text)
{
	return !strncmp(text, "Description", 11) && strstr(text, "Dropped-Packets");
}

static int score_os10_queues(const struct rs_input *in)
{
	struct rs_line l = {0};

	while (rs_line_next(in, &l) && l.number < 20)
		if (os10_queues(l.text))
			return 89;
	return 0;
}

static int read_os10_queues(struct rs_audit *a, const struct rs_input *in)
{
	char subject[96] = "port/unnamed", port[64], name[48];
	long long packets, bytes, dropped;
	struct rs_line l = {0};
	int queue;

	rs_input_add(a, in, 0, NULL, "host", "role", "switch");
	rs_input_add(a, in, 0, NULL, "host", "os", "OS10");
	while (rs_line_next(in, &l)) {
		if (sscanf(l.text, "Interface %63s", port) == 1) {
			snprintf(subject, sizeof(subject), "port/%s", port);
		} else if (sscanf(l.text, "%*[UM]C-Queue %d %lld %lld %lld", &queue, &packets,
				  &bytes, &dropped) == 4 ||
			   sscanf(l.text, "Queue %d %lld %lld %lld", &queue, &packets, &bytes,
				  &dropped) == 4) {
			if (queue < 0 || queue > 7)
				continue;
			snprintf(name, sizeof(name), "counter/queue/%d/packets", queue);
			rs_input_add(a, in, l.number, NULL, subject, name, "%lld", packets);
			snprintf(name, sizeof(name), "counter/queue/%d/dropped", queue);
			rs_input_add(a, in, l.number, NULL, subject, name, "%lld", dropped);
		}
	}
	return a->err;
}

const struct rs_reader rs_reader_os10_queues = {
	.name = "os10-queues",
	.what = "OS10 show queuing statistics interface PORT: packets and drops of each queue",
	.trust = RS_TRUST_TOOL,
	.score = score_os10_queues,
	.read = read_os10_queues,
};
