/*
 * What the RDMA tools of a shell print, beside those of rdma.c: ibstatus, ibv_devices, ls,
 * ibqueryerrors, ibportstate, perftest, rows of a GID table without its header, lspci cut to its
 * link lines, ulimit -l.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/place.h"
#include "audit/read/readers.h"

/* ---- ibstatus ---- */

static bool status_head(const char *text, char *dev, int *port)
{
	return sscanf(text, "Infiniband device '%63[^']' port %d status", dev, port) == 2;
}

static int score_ibstatus(const struct rs_input *in)
{
	struct rs_line l = {0};
	char dev[64];
	int port;

	while (rs_line_next(in, &l) && l.number < 40)
		if (status_head(l.text, dev, &port))
			return 92;
	return 0;
}

/* "4: ACTIVE", "5: LinkUp", "400 Gb/sec (4X NDR)" */
static int read_ibstatus(struct rs_audit *a, const struct rs_input *in)
{
	static const struct {
		const char *key, *fact;
	} known[] = {{"state", "port_state"},
		     {"phys state", "phys_state"},
		     {"rate", "rate_gbps"},
		     {"link_layer", "link_layer"}};
	char subject[96] = "", dev[64];
	struct rs_line l = {0};
	int port;

	while (rs_line_next(in, &l)) {
		char *key, *value, *lanes;

		if (status_head(l.text, dev, &port)) {
			snprintf(subject, sizeof(subject), "nic/%s", dev);
			continue;
		}
		if (!*subject || !rs_line_pair(l.text, ':', &key, &value))
			continue;
		for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++) {
			if (strcmp(key, known[i].key))
				continue;
			if (i < 2 && isdigit((unsigned char)*value) && strchr(value, ':'))
				value = strchr(value, ':') + 1 +
					strspn(strchr(value, ':') + 1, " ");
			/* "(1X NDR)": the lanes of the link */
			if (i == 2 && (lanes = strchr(value, '(')) &&
			    isdigit((unsigned char)lanes[1]))
				rs_input_add(a, in, l.number, NULL, subject, "link/width", "%.*s",
					     (int)strcspn(lanes + 1, " )"), lanes + 1);
			if (i == 2)
				value[strcspn(value, " ")] = '\0';
			rs_input_add(a, in, l.number, NULL, subject, known[i].fact, "%s", value);
		}
	}
	return a->err;
}

const struct rs_reader rs_reader_ibstatus = {
	.name = "ibstatus",
	.what = "ibstatus: each device's port state, rate, link layer",
	.trust = RS_TRUST_TOOL,
	.score = score_ibstatus,
	.read = read_ibstatus,
	.begins = (const char *const[]){"Infiniband device '%' port # status", NULL},
};

/* ---- ibv_devices ---- */

static bool devices_head(const char *text)
{
	char first[16], second[16], third[16], more;

	return sscanf(text, "%15s %15s %15s %c", first, second, third, &more) == 3 &&
	       !strcmp(first, "device") && !strcmp(second, "node") && !strcmp(third, "GUID");
}

static int score_devices(const struct rs_input *in)
{
	struct rs_line l = {0};

	while (rs_line_next(in, &l) && l.number < 10)
		if (devices_head(l.text))
			return 91;
	return 0;
}

static int read_devices(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_line l = {0};
	unsigned n = 0, head = 0;

	while (rs_line_next(in, &l)) {
		char dev[64], guid[20], subject[96], more;

		if (devices_head(l.text))
			head = l.number;
		if (sscanf(l.text, "%63s %19s %c", dev, guid, &more) != 2 || strlen(guid) != 16 ||
		    strspn(guid, "0123456789abcdef") != 16)
			continue;
		snprintf(subject, sizeof(subject), "nic/%s", dev);
		rs_input_add(a, in, l.number, NULL, subject, "node_guid", "%s", guid);
		n++;
	}
	if (head)
		rs_input_add(a, in, head, NULL, "host", "rdma_devices", "%u", n);
	return a->err;
}

const struct rs_reader rs_reader_ibv_devices = {
	.name = "ibv_devices",
	.what = "ibv_devices: which RDMA devices a program can list",
	.trust = RS_TRUST_TOOL,
	.score = score_devices,
	.read = read_devices,
	.begins = (const char *const[]){" device node GUID", NULL},
};

/* ---- ls /dev/infiniband, ls /sys/class/infiniband ---- */

/* The one directory of both that a command lists, with or without options; NULL: none, or both. */
static const char *listed(const char *command)
{
	static const char *const places[] = {"/dev/infiniband", "/sys/class/infiniband"};
	const char *found = NULL;

	if (!command || (strncmp(command, "ls ", 3) && strncmp(command, "ll ", 3)) ||
	    strpbrk(command, "|;&*>"))
		return NULL;
	for (unsigned i = 0; i < 2; i++) {
		const char *at = strstr(command, places[i]);
		size_t n = strlen(places[i]);

		if (!at)
			continue;
		if (found || (at[n] && strcmp(at + n, "/") != 0))
			return NULL;
		found = places[i];
	}
	return found;
}

static int score_ls(const struct rs_input *in)
{
	return listed(in->command) ? 80 : 0;
}

static int read_ls(struct rs_audit *a, const struct rs_input *in)
{
	static const char *const nodes[] = {"uverbs", "umad", "issm", "ucm", "rdma_cm"};
	bool dev = listed(in->command)[1] == 'd';
	unsigned uverbs = 0, known = 0, devices = 0;
	struct rs_line l = {0};
	uint32_t last = 0;

	while (rs_line_next(in, &l)) {
		char *w[32], *arrow = strstr(l.text, " -> ");
		unsigned n;

		/* "mlx5_0 -> ../../devices/..." */
		if (arrow)
			*arrow = '\0';
		n = rs_line_words(l.text, w, 32);
		for (unsigned i = 0; i < n; i++) {
			if (!dev && rs_is_rdma_name(w[i])) {
				char subject[96];

				snprintf(subject, sizeof(subject), "nic/%.80s", w[i]);
				rs_input_add(a, in, l.number, NULL, subject, "listed", "1");
				devices++;
			}
			uverbs += !strncmp(w[i], "uverbs", 6) && isdigit((unsigned char)w[i][6]);
			for (unsigned k = 0; k < sizeof(nodes) / sizeof(*nodes); k++)
				known += !strncmp(w[i], nodes[k], strlen(nodes[k]));
		}
		last = n ? l.number : last;
	}
	if (dev && known)
		rs_input_add(a, in, last, NULL, "host", "uverbs_nodes", "%u", uverbs);
	if (!dev && devices)
		rs_input_add(a, in, last, NULL, "host", "sysfs_rdma_devices", "%u", devices);
	return a->err;
}

const struct rs_reader rs_reader_ls_infiniband = {
	.name = "ls-infiniband",
	.what = "ls of /dev/infiniband or /sys/class/infiniband: how many devices are there, and "
		"how "
		"many can be opened",
	.trust = RS_TRUST_TOOL,
	.score = score_ls,
	.read = read_ls,
};

/* ---- ibqueryerrors, ibportstate ---- */

/* "Errors for 0xb8599f0300fc6de4 "MF0;sw1:MQM8700/U1"": a switch or an HCA by its description. */
static bool errors_head(const char *text, char *who, size_t size)
{
	const char *name = strchr(text, '"'), *end = name ? strrchr(name + 1, '"') : NULL;

	if (strncmp(text, "Errors for ", 11))
		return false;
	if (end && end > name + 1)
		snprintf(who, size, "%.*s", (int)(end - name - 1 < 120 ? end - name - 1 : 120),
			 name + 1);
	else
		snprintf(who, size, "%.40s", text + 11);
	for (char *p = who; *p; p++)
		*p = *p == '/' ? '.' : *p;
	return true;
}

static int score_errors(const struct rs_input *in)
{
	struct rs_line l = {0};
	char who[128];

	while (rs_line_next(in, &l) && l.number < 60)
		if (errors_head(l.text, who, sizeof(who)) && l.text[11] == '0')
			return 90;
	return 0;
}

/* "   GUID 0x... port 17: [SymbolErrorCounter == 65535] [LinkDownedCounter == 44 (1.2KB)]" */
static int read_errors(struct rs_audit *a, const struct rs_input *in)
{
	char who[128] = "";
	struct rs_line l = {0};

	while (rs_line_next(in, &l)) {
		char subject[192], name[96], counter[64];
		const char *p = strstr(l.text, " port ");
		long long value;
		int port;

		if (errors_head(l.text, who, sizeof(who)) || !*who || !p ||
		    sscanf(p, " port %d:", &port) != 1)
			continue;
		snprintf(subject, sizeof(subject), "link/%s port %d", who, port);
		for (; (p = strchr(p, '[')); p++) {
			if (sscanf(p, "[%63[A-Za-z0-9_] == %lld", counter, &value) != 2)
				continue;
			snprintf(name, sizeof(name), "counter/%s", counter);
			rs_input_add(a, in, l.number, NULL, subject, name, "%lld", value);
		}
	}
	return a->err;
}

const struct rs_reader rs_reader_ibqueryerrors = {
	.name = "ibqueryerrors",
	.what = "ibqueryerrors: error counters of InfiniBand links that are not 0",
	.trust = RS_TRUST_TOOL,
	.score = score_errors,
	.read = read_errors,
	.begins = (const char *const[]){"Errors for 0x", NULL},
};

/* "# Port info: Lid 2 port 25" */
static bool portinfo_head(const char *text, unsigned *lid, unsigned *port)
{
	return sscanf(text, "# Port info: Lid %u port %u", lid, port) == 2;
}

static int score_portinfo(const struct rs_input *in)
{
	struct rs_line l = {0};
	unsigned lid, port;

	while (rs_line_next(in, &l) && l.number < 40)
		if (portinfo_head(l.text, &lid, &port))
			return 90;
	return 0;
}

/* "LinkState:.......................Down" */
static int read_portinfo(struct rs_audit *a, const struct rs_input *in)
{
	static const struct {
		const char *key, *fact;
	} known[] = {{"LinkState", "port_state"},
		     {"PhysLinkState", "phys_state"},
		     {"LinkWidthActive", "active_width"},
		     {"LinkSpeedActive", "active_speed"}};
	char subject[64] = "";
	struct rs_line l = {0};
	unsigned lid, port;

	while (rs_line_next(in, &l)) {
		char *key, *value;

		if (portinfo_head(l.text, &lid, &port)) {
			snprintf(subject, sizeof(subject), "link/lid %u port %u", lid, port);
			continue;
		}
		if (!*subject || !rs_line_pair(l.text, ':', &key, &value))
			continue;
		value += strspn(value, ".");
		for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
			if (!strcmp(key, known[i].key))
				rs_input_add(a, in, l.number, NULL, subject, known[i].fact, "%s",
					     value);
	}
	return a->err;
}

const struct rs_reader rs_reader_ibportstate = {
	.name = "ibportstate",
	.what = "ibportstate, smpquery portinfo: state, width and speed of an InfiniBand port",
	.trust = RS_TRUST_TOOL,
	.score = score_portinfo,
	.read = read_portinfo,
	.begins = (const char *const[]){"* Port info: Lid # port #", NULL},
};

/* ---- perftest ---- */

static bool perftest_head(const char *text)
{
	const char *p = strstr(text, "Dual-port");

	return p && p - text < 3 && strstr(p, "Device") && strchr(p, ':');
}

static int score_perftest(const struct rs_input *in)
{
	struct rs_line l = {0};

	while (rs_line_next(in, &l) && l.number < 60)
		if (perftest_head(l.text))
			return 90;
	return 0;
}

struct perftest {
	struct rs_audit *a;
	const struct rs_input *in;
	char subject[96];
	bool latency, megabytes, ethernet;
};

/* "Dual-port : OFF		Device : mlx5_0", "Mtu : 4096[B]", "Link type : Ethernet",
 * "GID index : 3": two pairs a line at most. */
static void perftest_pair(struct perftest *t, uint32_t line, const char *text)
{
	char word[64];
	const char *p;

	if ((p = strstr(text, "Device ")) && sscanf(p, "Device : %63s", word) == 1)
		snprintf(t->subject, sizeof(t->subject), "nic/%s", word);
	if (!*t->subject)
		return;
	if ((p = strstr(text, "Mtu ")) && sscanf(p, "Mtu : %63[0-9]", word) == 1)
		rs_input_add(t->a, t->in, line, NULL, t->subject, "active_mtu", "%s", word);
	/* "GID: 00:00:...": in decimal, each byte */
	if (t->ethernet && !strncmp(text, "GID: 00:00:", 11) &&
	    strspn(text + 5, "0: ") == strlen(text + 5))
		rs_input_tell(t->a, t->in, line, text, "gid-empty", t->subject + 4);
	if ((p = strstr(text, "Link type ")) && sscanf(p, "Link type : %63s", word) == 1) {
		t->ethernet = !strcmp(word, "Ethernet");
		rs_input_add(t->a, t->in, line, NULL, t->subject, "link_layer", "%s",
			     !strcmp(word, "IB") ? "InfiniBand" : word);
	}
	if ((p = strstr(text, "GID index ")) && sscanf(p, "GID index : %63[0-9]", word) == 1)
		rs_input_add(t->a, t->in, line, NULL, t->subject, "perftest/gid_index", "%s", word);
}

/* "#bytes #iterations BW peak[Gb/sec] BW average[Gb/sec] MsgRate[Mpps]" and its rows; without
 * --report_gbits in MiB/s. Latency: "#bytes #iterations t_min t_max t_typical t_avg ...". */
static void perftest_row(struct perftest *t, uint32_t line, const char *text)
{
	double peak, average, typical;
	long long bytes, n;
	char name[48];

	if (strstr(text, "#bytes")) {
		t->latency = strstr(text, "t_min") || strstr(text, "t_avg");
		t->megabytes = strstr(text, "MB/sec") || strstr(text, "MiB/sec");
		return;
	}
	if (t->latency &&
	    sscanf(text, "%lld %lld %lf %lf %lf", &bytes, &n, &peak, &average, &typical) == 5) {
		snprintf(name, sizeof(name), "perftest/us/%lld", bytes);
		rs_input_add(t->a, t->in, line, NULL, t->subject, name, "%.2f", typical);
	} else if (!t->latency &&
		   sscanf(text, "%lld %lld %lf %lf", &bytes, &n, &peak, &average) == 4 &&
		   bytes > 0 && n > 0) {
		snprintf(name, sizeof(name), "perftest/gbps/%lld", bytes);
		rs_input_add(t->a, t->in, line, NULL, t->subject, name, "%.2f",
			     t->megabytes ? average * 8 * 1048576 / 1e9 : average);
	}
}

static int read_perftest(struct rs_audit *a, const struct rs_input *in)
{
	struct perftest t = {.a = a, .in = in};
	struct rs_line l = {0};
	bool rows = false;

	while (rs_line_next(in, &l)) {
		perftest_pair(&t, l.number, l.text);
		rows |= strstr(l.text, "#bytes") != NULL;
		if (rows && *t.subject)
			perftest_row(&t, l.number, l.text);
	}
	return a->err;
}

const struct rs_reader rs_reader_perftest = {
	.name = "perftest",
	.what = "ib_write_bw and the like: device, path MTU, link type, GID index, figures by size",
	.trust = RS_TRUST_TOOL,
	.score = score_perftest,
	.read = read_perftest,
	.begins = (const char *const[]){" Dual-port : % Device : %", NULL},
};

/* ---- Single lines ---- */

/* A row of show_gids: DEV PORT INDEX GID [IPv4] VER [NETDEV], each in its form. */
static bool gid_row(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l)
{
	char dev[64], gid[64], rest[3][64], subject[96], name[64];
	unsigned port, index, at = 0;
	int n = sscanf(l->text, "%63s %u %u %63s %63s %63s %63s", dev, &port, &index, gid, rest[0],
		       rest[1], rest[2]);

	if (n < 5 || !rs_is_rdma_name(dev) || strlen(gid) != 39 ||
	    strspn(gid, "0123456789abcdef:") != 39 || index > 1023)
		return false;
	snprintf(subject, sizeof(subject), "nic/%s", dev);
	snprintf(name, sizeof(name), "gid/%u", index);
	rs_input_add(a, in, l->number, NULL, subject, name, "%s", gid);
	if (strchr(rest[at], '.')) {
		snprintf(name, sizeof(name), "gid_ipv4/%u", index);
		rs_input_add(a, in, l->number, NULL, subject, name, "%s", rest[at++]);
	}
	if ((int)at < n - 4 && rest[at][0] == 'v' && rest[at][1]) {
		snprintf(name, sizeof(name), "gid_type/%u", index);
		rs_input_add(a, in, l->number, NULL, subject, name, "%s", rest[at++]);
	}
	if ((int)at < n - 4) {
		snprintf(name, sizeof(name), "gid_netdev/%u", index);
		rs_input_add(a, in, l->number, NULL, subject, name, "%s", rest[at]);
		rs_input_add(a, in, l->number, NULL, subject, "netdev", "%s", rest[at]);
	}
	return true;
}

static void link_half(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l,
		      const char *subject, const char *text, bool can)
{
	double speed;
	int width;
	const char *p;

	if (text && (p = strstr(text, "Speed ")) && sscanf(p, "Speed %lfGT/s", &speed) == 1)
		rs_input_add(a, in, l->number, NULL, subject, can ? "max_link_speed" : "link_speed",
			     "%.0f", speed * 10);
	if (text && (p = strstr(text, "Width x")) && sscanf(p, "Width x%d", &width) == 1)
		rs_input_add(a, in, l->number, NULL, subject, can ? "max_link_width" : "link_width",
			     "%d", width);
}

/* "0002:01:00.0  LnkCap: Speed 32GT/s, Width x4  LnkSta: Speed 32GT/s, Width x2 (downgraded)": what
 * people make of lspci with grep and paste. */
static bool link_row(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l)
{
	char bdf[64], subject[80];
	const char *cap = strstr(l->text, "LnkCap"), *sta = strstr(l->text, "LnkSta");

	if (!cap || !sta || sta < cap || !rs_pci_address(l->text, bdf, sizeof(bdf)))
		return false;
	snprintf(subject, sizeof(subject), "pci/%s", bdf);
	link_half(a, in, l, subject, cap, true);
	link_half(a, in, l, subject, sta, false);
	return true;
}

/* "  rdma/rdma_shared_device_a:    0" of kubectl describe node: what its name says is of RDMA. */
static bool resource_row(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l)
{
	static const char *const words[] = {"rdma", "sriov", "hca", "roce", "/efa", "mlnx", "rail"};
	char name[128], full[160], more;
	unsigned count;
	const char *slash;

	/* a pod asks for one at least: none is what a node has; "x": "0" of JSON too */
	if (!l->indent ||
	    (sscanf(l->text, "%127[A-Za-z0-9_./-]: %u %c", name, &count, &more) != 2 &&
	     sscanf(l->text, "\"%127[A-Za-z0-9_./-]\": \"%u\"", name, &count) != 2) ||
	    count || !(slash = strchr(name, '/')) || strchr(slash + 1, '/'))
		return false;
	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (!strstr(name, words[i]))
			continue;
		snprintf(full, sizeof(full), "resource/%s", name);
		rs_input_add(a, in, l->number, NULL, "k8s/node", full, "%u", count);
		return true;
	}
	return false;
}

/* "  local address:  LID 0x0000, QPN 0x000011, PSN 0x017d96, GID fe80::5054:ff:fe6c:16f1" of
 * ibv_rc_pingpong; LID 0 is RoCE's. */
static bool pingpong_row(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l)
{
	char side[16], gid[64];
	unsigned lid;
	const char *p;

	if (sscanf(l->text, "%15s address: LID 0x%x", side, &lid) != 2 ||
	    !(p = strstr(l->text, "GID ")) || sscanf(p, "GID %63[0-9a-f:.]", gid) != 1 ||
	    (strcmp(side, "local") && strcmp(side, "remote")))
		return false;
	if (!lid && !strcmp(gid, "::"))
		rs_input_tell(a, in, l->number, l->text, "gid-empty", "");
	else if (!lid)
		rs_input_add(a, in, l->number, NULL, "verbs",
			     *side == 'l' ? "gid_local" : "gid_remote", "%s", gid);
	return true;
}

/* "Physical state: Polling" of an ibstat whose head was left out. */
static bool orphan_port(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l)
{
	static const char *const states[] = {"Polling", "Disabled", "Sleep",
					     "PortConfigurationTraining", "LinkErrorRecovery"};

	if (strncmp(l->text, "Physical state: ", 16))
		return false;
	for (unsigned i = 0; i < sizeof(states) / sizeof(*states); i++)
		if (!strcmp(l->text + 16, states[i])) {
			rs_input_add(a, in, l->number, NULL, "nic/unnamed", "phys_state", "%s",
				     states[i]);
			rs_input_add(a, in, l->number, NULL, "nic/unnamed", "port_state", "DOWN");
		}
	return true;
}

/* "mlx5_0: 400 Gb/sec (4X NDR)": a loop's echo of the kernel's own word of a port's rate. */
static bool rate_row(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l)
{
	char dev[64], subject[80];
	double rate;
	int used = 0;

	if (sscanf(l->text, "%63[A-Za-z0-9_-]%*[: \t]%lf Gb/sec (%n", dev, &rate, &used) != 2 ||
	    !used || !rs_is_rdma_name(dev))
		return false;
	snprintf(subject, sizeof(subject), "nic/%s", dev);
	rs_input_add(a, in, l->number, NULL, subject, "rate_gbps", "%g", rate);
	return true;
}

/* "dev_id:2, tls switch[1](0:disable, 1:enable), ..." of hccn_tool -tls -g. */
static bool tls_row(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l)
{
	const char *p = strstr(l->text, "tls switch");
	char subject[32];
	unsigned on, npu;

	if (!p || sscanf(p + 10 + strspn(p + 10, ": "), "[%u]", &on) != 1)
		return false;
	if (sscanf(l->text, "dev_id:%u", &npu) == 1)
		snprintf(subject, sizeof(subject), "npu/%u", npu);
	else
		snprintf(subject, sizeof(subject), "npu/unnamed-%u", l->number);
	rs_input_add(a, in, l->number, NULL, subject, "tls_switch", "%u", on);
	return true;
}

static bool line_tools(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l)
{
	return gid_row(a, in, l) || link_row(a, in, l) || resource_row(a, in, l) ||
	       pingpong_row(a, in, l) || orphan_port(a, in, l) || rate_row(a, in, l) ||
	       tls_row(a, in, l);
}

const struct rs_reader rs_reader_tool_lines = {
	.name = "tool-lines",
	.what = "rows of a GID table without its header; lspci's link lines behind an address; "
		"GIDs of "
		"ibv_rc_pingpong; RDMA resources of a node that are 0; ibstat's states without its "
		"head; devices with their rates; TLS of Ascend's NPUs (hccn_tool)",
	.trust = RS_TRUST_TOOL,
	.line = line_tools,
};

/* ---- ulimit -l ---- */

/* The command says what the lone number is: kbytes. */
static int score_ulimit(const struct rs_input *in)
{
	const char *p = in->command ? strstr(in->command, "ulimit -l") : NULL;
	char word[32], more;

	if (!p && in->command)
		p = strstr(in->command, "ulimit -Sl") ? in->command
						      : strstr(in->command, "ulimit -Hl");
	return p && sscanf(in->data, "%31s %c", word, &more) == 1 &&
			       (!strcmp(word, "unlimited") ||
				strspn(word, "0123456789") == strlen(word))
		       ? 90
		       : 0;
}

static int read_ulimit(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_line l = {0};

	while (rs_line_next(in, &l)) {
		if (!*l.text)
			continue;
		if (isdigit((unsigned char)*l.text))
			rs_input_add(a, in, l.number, NULL, "host", "memlock", "%lld",
				     strtoll(l.text, NULL, 10) * 1024);
		else
			rs_input_add(a, in, l.number, NULL, "host", "memlock", "unlimited");
		rs_memlock_of_job(a, in, l.number);
		break;
	}
	return a->err;
}

const struct rs_reader rs_reader_ulimit = {
	.name = "ulimit",
	.what = "ulimit -l: locked memory, in kbytes",
	.trust = RS_TRUST_TOOL,
	.score = score_ulimit,
	.read = read_ulimit,
};
