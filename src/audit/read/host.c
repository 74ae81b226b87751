/* What an operating system's own tools print: command line, kernel log, modules, idle states,
 * addresses, routes, ethtool -i, cpupower. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/place.h"
#include "audit/read/readers.h"

/* ---- /proc/cmdline in a file of another name ---- */

static int score_cmdline(const struct rs_input *in)
{
	const char *end = strchr(in->data, '\n');

	/* one line; without a boot loader's BOOT_IMAGE the root file system tells */
	if (in->size >= 8192 || (end && end[1 + strspn(end + 1, " \t\r\n")]))
		return 0;
	return !strncmp(in->data, "BOOT_IMAGE=", 11) ||
			       (rs_input_has(in, "root=") &&
				(rs_input_has(in, " ro") || rs_input_has(in, " rw") ||
				 rs_input_has(in, " quiet") || rs_input_has(in, "iommu")))
		       ? 80
		       : 0;
}

static int read_cmdline(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_line l = {0};

	if (rs_line_next(in, &l))
		rs_input_add(a, in, l.number, NULL, "host", "cmdline", "%s", l.text);
	return a->err;
}

const struct rs_reader rs_reader_cmdline = {
	.name = "cmdline",
	.what = "the kernel's command line",
	.trust = RS_TRUST_DUMP,
	.score = score_cmdline,
	.read = read_cmdline,
	.begins = (const char *const[]){"BOOT_IMAGE=", NULL},
};

/* ---- /proc/vmstat, memory.events of a cgroup ---- */

static bool line_oom_kill(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l)
{
	unsigned long long n;
	char end;

	if (sscanf(l->text, "oom_kill %llu%c", &n, &end) != 1)
		return false;
	rs_input_add(a, in, l->number, NULL, "host", "counter/oom_kill", "%llu", n);
	return true;
}

const struct rs_reader rs_reader_oom_kill = {
	.name = "oom_kill",
	.what = "/proc/vmstat, memory.events: processes that were killed for want of memory",
	.trust = RS_TRUST_DUMP,
	.line = line_oom_kill,
	.also = true,
};

/* ---- Kernel log ---- */

static int score_dmesg(const struct rs_input *in)
{
	static const char *const marks[] = {"iommu: Default domain type",
					    "mlx5_core 0000:",
					    "pcieport 0000:",
					    "Linux version ",
					    "NVRM: ",
					    "available PCIe bandwidth",
					    ": lost carrier",
					    ": Lost carrier",
					    ": Link down",
					    ": NIC Link is Down",
					    ": Link up",
					    ": NIC Link is Up",
					    "link status definitely down for interface ",
					    "link status down for interface ",
					    NULL};

	for (unsigned i = 0; marks[i]; i++)
		if (rs_input_has(in, marks[i]))
			return 55;
	return 0;
}

/* Faults of GPUs and NICs. Xids of an application's own making are not the device's: 13, 31, 43, 45
 * (NVIDIA's list of Xid errors). */
static bool is_fault(const char *text)
{
	static const struct {
		const char *who, *what;
	} faults[] = {
		{"mlx5_core", "health compromised"},
		{"mlx5_core", "assert_var"},
		{"mlx5_core", "device's health"},
		{"mlx5_core", "fatal error"},
		{"mlx5_core", "firmware is in"},
		{"mlx5_core", "timeout. Will cause a leak"},
		{"NVRM", "fallen off the bus"},
		{"NVRM", "RmInitAdapter failed"},
		{"AER", "Uncorrected"},
		{"AER", "severity=Fatal"},
	};
	const char *p = strstr(text, "NVRM: Xid");
	int xid;

	/* a monitor's expression */
	if (strstr(text, ".*"))
		return false;
	if (p && (p = strchr(p, ')')) && sscanf(p, "): %d", &xid) == 1)
		return xid != 13 && xid != 31 && xid != 43 && xid != 45;
	for (unsigned i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		if (strstr(text, faults[i].who) && strstr(text, faults[i].what))
			return true;
	return false;
}

/* Seconds of a line's own clock: "[ 1234.5]" since boot, "Aug 17 06:18:01" of a year of 31-day
 * months, "2025-08-17T06:18:01" likewise. Differences of a day are right but at a month's end. */
static bool clock_of(const char *text, long *seconds)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	unsigned year, month, day, h, m, s;
	const char *at;
	char name[4];
	double since;

	/* what a syslog left of its prefix */
	if (!strncmp(text, "kernel: ", 8))
		text += 8;
	if (sscanf(text, "[ %lf]", &since) == 1 && since >= 0 && since < 1e12) {
		*seconds = (long)since;
		return true;
	}
	/* dmesg -T: "[Sat Nov 21 14:00:00 2026]" */
	if (sscanf(text, "[%*3[A-Za-z] %3[A-Za-z] %2u %2u:%2u:%2u %4u]", name, &day, &h, &m, &s,
		   &year) == 6 &&
	    (at = strstr(months, name))) {
		month = (unsigned)(at - months) / 3;
		*seconds = (((long)month * 31 + day) * 24 + h) * 3600 + m * 60 + s;
		return true;
	}
	if (sscanf(text, "%4u-%2u-%2u%*1[T ]%2u:%2u:%2u", &year, &month, &day, &h, &m, &s) != 6) {
		if (sscanf(text, "%3[A-Za-z] %2u %2u:%2u:%2u", name, &day, &h, &m, &s) != 5 ||
		    !(at = strstr(months, name)))
			return false;
		month = (unsigned)(at - months) / 3;
	}
	*seconds = (((long)month * 31 + day) * 24 + h) * 3600 + m * 60 + s;
	return true;
}

/* Who stands behind one of the words, or before one of the ends. */
static bool of_whom(const char *text, const char *const *befores, const char *const *ends,
		    char *device, size_t size)
{
	for (; *befores; befores++) {
		const char *p = strstr(text, *befores);

		if (p && p[strlen(*befores)]) {
			p += strlen(*befores);
			snprintf(device, size, "%.*s", (int)strcspn(p, ", \t"), p);
			return *device != '\0';
		}
	}
	for (; *ends; ends++) {
		const char *end = strstr(text, *ends), *p = end;

		while (p && p > text && p[-1] != ' ')
			p--;
		if (p && end > p) {
			snprintf(device, size, "%.*s", (int)(end - p < 63 ? end - p : 63), p);
			return true;
		}
	}
	return false;
}

/* "ib6: lost carrier", "mlx5_core 0000:17:00.0 eth4: Link down", "eth0: NIC Link is Down"; the
 * bonding and team drivers: whose. */
static bool link_lost(const char *text, char *device, size_t size)
{
	static const char *const ends[] = {": lost carrier",     ": Lost carrier", ": Link down",
					   ": NIC Link is Down", ": link down",    NULL};
	static const char *const befores[] = {"link status definitely down for interface ",
					      "link status down for interface ", NULL};

	return of_whom(text, befores, ends, device, size);
}

static bool link_came(const char *text, char *device, size_t size)
{
	static const char *const ends[] = {": gained carrier",   ": Gained carrier",
					   ": Link up",          ": NIC Link is Up",
					   ": link up",          ": link becomes ready",
					   ": carrier acquired", NULL};
	static const char *const befores[] = {"link status definitely up for interface ",
					      "link status up for interface ", NULL};

	return of_whom(text, befores, ends, device, size);
}

enum { KEPT = 4096, AFTER_START = 120 /* seconds in which links come and go by right */ };

/* Links that the log names: the last that it says of each. */
struct log_links {
	unsigned n;
	struct {
		char device[64];
		uint32_t line;
		bool up, started;
	} of[64];
};

static void tell_link(struct log_links *k, const char *device, uint32_t line, bool up, bool started)
{
	unsigned i = 0;

	while (i < k->n && strcmp(k->of[i].device, device))
		i++;
	if (i == sizeof(k->of) / sizeof(*k->of))
		return;
	k->n += i == k->n;
	snprintf(k->of[i].device, sizeof(k->of[i].device), "%s", device);
	k->of[i].line = line;
	k->of[i].up = up;
	k->of[i].started = started;
}

static void put_links(struct rs_audit *a, const struct rs_input *in, const struct log_links *k)
{
	char subject[96];

	for (unsigned i = 0; i < k->n; i++) {
		snprintf(subject, sizeof(subject), "netdev/%s", k->of[i].device);
		rs_input_add(a, in, k->of[i].line, NULL, subject, "log_link", "%s",
			     k->of[i].up        ? "up"
			     : k->of[i].started ? "down"
						: "down since the start");
	}
}

static int read_dmesg(struct rs_audit *a, const struct rs_input *in)
{
	struct log_links links = {.n = 0};
	unsigned faults = 0, flaps = 0;
	long now = 0, started = -AFTER_START;
	struct rs_line l = {0};

	while (rs_line_next(in, &l)) {
		const char *p;
		char value[64], subject[96], name[48];

		if ((p = strstr(l.text, "Default domain type: ")) &&
		    sscanf(p + 21, "%63[A-Za-z]", value) == 1)
			rs_input_add(a, in, l.number, NULL, "host", "iommu_default", "%s", value);
		if ((p = strstr(l.text, "available PCIe bandwidth, limited by")))
			rs_input_add(a, in, l.number, NULL, "host", "pcie_limited", "%s", l.text);
		if ((p = strstr(l.text, "Hypervisor detected: ")))
			rs_input_add(a, in, l.number, NULL, "host", "virtual", "%s", p + 21);
		if (is_fault(l.text) && faults < KEPT) {
			snprintf(name, sizeof(name), "kernel_error/%u", ++faults);
			rs_input_add(a, in, l.number, NULL, "host", name, "%s", l.text);
		}
		if (!clock_of(l.text, &now))
			continue;
		/* the kernel's own clock begins at its start */
		if (*l.text == '[' && !isalpha((unsigned char)l.text[1]) && started < 0)
			started = 0;
		if (strstr(l.text, "Linux version ") || strstr(l.text, "firmware version: "))
			started = now;
		if (link_lost(l.text, value, sizeof(value)) && now - started >= AFTER_START &&
		    flaps < KEPT) {
			snprintf(subject, sizeof(subject), "netdev/%s", value);
			snprintf(name, sizeof(name), "flap/%u", ++flaps);
			rs_input_add(a, in, l.number, NULL, subject, name, "%ld", now);
		}
		if (link_lost(l.text, value, sizeof(value)))
			tell_link(&links, value, l.number, false, now - started >= AFTER_START);
		else if (link_came(l.text, value, sizeof(value)))
			tell_link(&links, value, l.number, true, true);
	}
	put_links(a, in, &links);
	return a->err;
}

const struct rs_reader rs_reader_dmesg = {
	.name = "kernel-log",
	.what = "dmesg, syslog: IOMMU default, PCIe bandwidth, hypervisor, faults of GPUs and "
		"NICs, "
		"links lost",
	.trust = RS_TRUST_LOG,
	.score = score_dmesg,
	.read = read_dmesg,
};

/* ---- lsmod ---- */

/* "name size used [by]": sizes are whole pages. false: another line. */
static bool module_line(char *text, char **w, unsigned *n)
{
	*n = rs_line_words(text, w, 4);
	return *n >= 3 && strspn(w[0], "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(w[0]) &&
	       strspn(w[1], "0123456789") == strlen(w[1]) &&
	       strspn(w[2], "0123456789") == strlen(w[2]) && atol(w[1]) >= 4096;
}

static int score_lsmod(const struct rs_input *in)
{
	struct rs_line l = {0};
	unsigned yes = 0, no = 0, n;

	while (rs_line_next(in, &l) && l.number < 40) {
		char *w[4];

		if (!*l.text || !strncmp(l.text, "Module ", 7))
			continue;
		if (module_line(l.text, w, &n))
			yes++;
		else
			no++;
	}
	/* one line is lsmod's where that was asked, "lsmod | grep peermem" */
	if (yes == 1 && !no && in->command &&
	    (!strncmp(in->command, "lsmod", 5) || strstr(in->command, "/proc/modules")))
		return 75;
	return yes > 1 && !no ? 75 : 0;
}

static int read_lsmod(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_line l = {0};

	rs_input_add(a, in, 0, NULL, "host", "modules_seen", "1");
	while (rs_line_next(in, &l)) {
		char *w[4], name[96], *save = NULL;
		unsigned n;

		if (!module_line(l.text, w, &n))
			continue;
		snprintf(name, sizeof(name), "module/%s", w[0]);
		rs_input_add(a, in, l.number, NULL, "host", name, "loaded");
		/* who uses it is loaded, too; /proc/modules has "-" for nobody */
		for (char *u = n > 3 ? strtok_r(w[3], ",", &save) : NULL; u;
		     u = strtok_r(NULL, ",", &save)) {
			if (*u == '-' || *u == '[')
				continue;
			snprintf(name, sizeof(name), "module/%s", u);
			rs_input_add(a, in, l.number, NULL, "host", name, "loaded");
		}
	}
	return a->err;
}

const struct rs_reader rs_reader_lsmod = {
	.name = "lsmod",
	.what = "lsmod or /proc/modules",
	.trust = RS_TRUST_TOOL,
	.score = score_lsmod,
	.read = read_lsmod,
	.begins = (const char *const[]){"Module Size Used", NULL},
};

/* ---- Idle states ---- */

static bool idle_state(struct rs_line *l, int *state, char *name, int *latency, int *disable)
{
	const char *p = strstr(l->text, "name="), *at = strstr(l->text, "latency=");
	const char *off = strstr(l->text, "disable="), *s = l->text;

	*disable = -1;
	/* what a loop over the directories echoes: "/sys/.../cpuidle/state2 C6 170 0" */
	if (!p && (s = strstr(s, "cpuidle/state")) &&
	    sscanf(s, "cpuidle/state%d %63s %d %d", state, name, latency, disable) == 4)
		return true;
	s = l->text;
	if (!p || !at || sscanf(p, "name=%63s", name) != 1 ||
	    sscanf(at, "latency=%d", latency) != 1)
		return false;
	if (off && sscanf(off, "disable=%d", disable) != 1)
		*disable = -1;
	/* the last "stateN" before the values: a path may stand before it */
	while ((s = strstr(s, "state")) && sscanf(s, "state%d", state) != 1)
		s++;
	return s && s < p;
}

static int score_idle(const struct rs_input *in)
{
	struct rs_line l = {0};
	char name[64];
	int s, latency, disable;

	while (rs_line_next(in, &l) && l.number < 30)
		if (idle_state(&l, &s, name, &latency, &disable))
			return 70;
	/* whole, or cut out by grep */
	return rs_input_has(in, "Number of idle states:") ||
			       (rs_input_has(in, "Flags/Description:") &&
				rs_input_has(in, "Latency:"))
		       ? 75
		       : 0;
}

static void idle_add(struct rs_audit *a, const struct rs_input *in, uint32_t line, int state,
		     const char *what, const char *text, int number)
{
	char name[64];

	snprintf(name, sizeof(name), "cpuidle/%d/%s", state, what);
	if (text)
		rs_input_add(a, in, line, NULL, "host", name, "%s", text);
	else
		rs_input_add(a, in, line, NULL, "host", name, "%d", number);
}

/* cpupower idle-info: "C2_ACPI (DISABLED) :" then "Latency: 170" */
static int read_idle(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_line l = {0};
	int state = -1, latency, disable;
	char name[64];

	while (rs_line_next(in, &l)) {
		char *key, *value;

		if (idle_state(&l, &state, name, &latency, &disable)) {
			idle_add(a, in, l.number, state, "name", name, 0);
			idle_add(a, in, l.number, state, "latency_us", NULL, latency);
			if (disable >= 0)
				idle_add(a, in, l.number, state, "disable", NULL, disable);
			continue;
		}
		if (!rs_line_pair(l.text, ':', &key, &value))
			continue;
		if (!strcmp(key, "Latency") && state >= 0) {
			idle_add(a, in, l.number, state, "latency_us", value, 0);
		} else if (!*value && (isupper((unsigned char)*key))) {
			char *off = strstr(key, " (DISABLED)");

			state++;
			if (off)
				*off = '\0';
			idle_add(a, in, l.number, state, "name", key, 0);
			idle_add(a, in, l.number, state, "disable", NULL, off != NULL);
		}
	}
	return a->err;
}

const struct rs_reader rs_reader_cpuidle = {
	.name = "cpuidle",
	.what = "cpupower idle-info, or a table of /sys/.../cpuidle",
	.trust = RS_TRUST_TOOL,
	.score = score_idle,
	.read = read_idle,
	.begins = (const char *const[]){"CPUidle driver:", NULL},
};

/* ---- ip addr / ip link / route ---- */

/* "2: eth0: <BROADCAST,...> mtu 1500", ifconfig's "eth0: flags=4163<...> mtu 1500", link/ether. */
static bool ip_line(const char *text)
{
	unsigned index;
	int n = 0;

	if (!strncmp(text, "link/ether ", 11) || !strncmp(text, "link/infiniband ", 16))
		return true;
	if (sscanf(text, "%u: %*[^:]: <%n", &index, &n) == 1 && n)
		return true;
	return strstr(text, ": flags=") && strstr(text, " mtu ");
}

static int score_ip(const struct rs_input *in)
{
	struct rs_line l = {0};

	while (rs_line_next(in, &l) && l.number < 200)
		if (ip_line(l.text))
			return 60;
	return 0;
}

/* "vf 1 link/ether ..., max_tx_rate 100Mbps, link-state enable, trust on": facts as of `ip -j`. */
static void virtual_function(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l,
			     const char *subject, int vf)
{
	static const struct {
		const char *key, *fact;
	} known[] = {
		{", trust ", "trust"},
		{", link-state ", "link_state"},
		{", max_tx_rate ", "max_tx_rate"},
	};
	char name[64], value[32];

	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++) {
		const char *p = strstr(l->text, known[i].key);

		if (!p || sscanf(p + strlen(known[i].key), "%31[^, ]", value) != 1)
			continue;
		/* JSON's words and numbers */
		if (!strcmp(known[i].fact, "trust"))
			snprintf(value, sizeof(value), strncmp(value, "on", 2) ? "false" : "true");
		value[strcspn(value, "M")] = '\0';
		snprintf(name, sizeof(name), "vf/%d/%s", vf, known[i].fact);
		rs_input_add(a, in, l->number, NULL, subject, name, "%s", value);
	}
}

/* ip -s: bytes, packets, errors, dropped of "RX:" or "TX:". */
static void totals(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l,
		   const char *subject, char side, bool missed)
{
	static const char *const received[] = {"frames_in", "errors_in", "dropped_in"};
	static const char *const sent[] = {"frames_out", "errors_out", "dropped_out"};
	long long bytes, n[3], more;
	char name[48];

	if (sscanf(l->text, "%lld %lld %lld %lld", &bytes, &n[0], &n[1], &n[2]) != 4)
		return;
	/* what the NIC had no buffer for is not among what the kernel dropped */
	if (missed && sscanf(l->text, "%*d %*d %*d %*d %lld", &more) == 1)
		n[2] += more;
	for (unsigned i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "counter/%s", side == 'R' ? received[i] : sent[i]);
		rs_input_add(a, in, l->number, NULL, subject, name, "%lld", n[i]);
	}
}

static int read_ip(struct rs_audit *a, const struct rs_input *in)
{
	char subject[96] = "", side = '\0';
	struct rs_line l = {0};
	bool rx_errors = false, missed = false;

	while (rs_line_next(in, &l)) {
		char dev[64], text[64];
		int index, mtu;
		const char *p;

		/* "5: ens4np0: <...> mtu 1500", or a restated "eth1: mtu 4200" */
		if (sscanf(l.text, "%d: %63[^:@]", &index, dev) == 2 ||
		    (strstr(l.text, " mtu ") && sscanf(l.text, "%63[A-Za-z0-9_.]:", dev) == 1)) {
			snprintf(subject, sizeof(subject), "netdev/%s", dev);
			if ((p = strstr(l.text, "mtu ")) && sscanf(p, "mtu %d", &mtu) == 1)
				rs_input_add(a, in, l.number, NULL, subject, "mtu", "%d", mtu);
			if ((p = strstr(l.text, " state ")) && sscanf(p, " state %63s", text) == 1)
				rs_input_add(a, in, l.number, NULL, subject, "operstate", "%s",
					     text);
			rx_errors = false;
			continue;
		}
		if (!*subject)
			continue;
		if (!strncmp(l.text, "RX:", 3) || !strncmp(l.text, "TX:", 3)) {
			side = strstr(l.text, "bytes") && strstr(l.text, "errors") ? *l.text : '\0';
			missed = strstr(l.text, " missed") != NULL;
		} else if (side && isdigit((unsigned char)*l.text)) {
			totals(a, in, &l, subject, side, missed);
			side = '\0';
		} else if (!strncmp(l.text, "RX errors:", 10)) {
			rx_errors = true;
		} else if (rx_errors && sscanf(l.text, "%63[0-9]", text) == 1) {
			rs_input_add(a, in, l.number, NULL, subject, "counter/rx_length_errors",
				     "%s", text);
			rx_errors = false;
		} else if (sscanf(l.text, "inet %63s", text) == 1) {
			rs_input_add(a, in, l.number, NULL, subject, "address", "%s", text);
		} else if (sscanf(l.text, "vf %d ", &index) == 1 && index >= 0) {
			virtual_function(a, in, &l, subject, index);
		}
		if ((p = strstr(l.text, " parentbus pci parentdev ")) &&
		    sscanf(p, " parentbus pci parentdev %63s", text) == 1)
			rs_input_add(a, in, l.number, NULL, subject, "bus-info", "%s", text);
	}
	return a->err;
}

const struct rs_reader rs_reader_ip = {
	.name = "ip",
	.what = "ip [-s] link, ip addr: MTU, state, addresses, frames, errors and drops",
	.trust = RS_TRUST_TOOL,
	.score = score_ip,
	.read = read_ip,
	.begins = (const char *const[]){"#: %: <", NULL},
};

/* ip -br addr: "eth4  UP  10.1.0.5/16 fe80::1/64"; ip -br link: "eth4  UP  MAC <FLAGS>" */
static bool brief(char *text, char **w, unsigned *n)
{
	static const char *const states[] = {"UP", "DOWN", "UNKNOWN", "LOWERLAYERDOWN", "DORMANT"};

	*n = rs_line_words(text, w, 16);
	for (unsigned i = 0; *n >= 2 && i < sizeof(states) / sizeof(*states); i++)
		if (!strcmp(w[1], states[i]))
			return *n == 2 || strchr(w[2], '/') || strchr(w[2], ':');
	return false;
}

static int score_brief(const struct rs_input *in)
{
	struct rs_line l = {0};
	unsigned yes = 0, no = 0, n;
	char *w[16];

	while (rs_line_next(in, &l) && l.number < 40) {
		if (!*l.text)
			continue;
		if (brief(l.text, w, &n))
			yes++;
		else
			no++;
	}
	return yes && !no ? 70 : 0;
}

static int read_brief(struct rs_audit *a, const struct rs_input *in)
{
	char *w[16], subject[96];
	struct rs_line l = {0};
	unsigned n;

	while (rs_line_next(in, &l)) {
		if (!brief(l.text, w, &n))
			continue;
		/* "eth4.100@eth4" */
		snprintf(subject, sizeof(subject), "netdev/%.*s", (int)strcspn(w[0], "@"), w[0]);
		rs_input_add(a, in, l.number, NULL, subject, "operstate", "%s", w[1]);
		for (unsigned i = 2; i < n; i++)
			if (strchr(w[i], '/'))
				rs_input_add(a, in, l.number, NULL, subject,
					     strchr(w[i], ':') ? "address6" : "address", "%s",
					     w[i]);
			else if (strlen(w[i]) == 17 && w[i][2] == ':')
				rs_input_add(a, in, l.number, NULL, subject, "mac", "%s", w[i]);
	}
	return a->err;
}

const struct rs_reader rs_reader_ip_brief = {
	.name = "ip-brief",
	.what = "ip -br addr, ip -br link: states and addresses",
	.trust = RS_TRUST_TOOL,
	.score = score_brief,
	.read = read_brief,
};

/* Lines of "NETDEV RDMADEV ADDRESS/PREFIX", as scripts over ip and ibdev2netdev print. */
static bool rail(struct rs_line *l, char *netdev, char *rdma, char *address)
{
	char copy[sizeof(l->text)], *w[4];

	memcpy(copy, l->text, sizeof(copy));
	if (rs_line_words(copy, w, 4) != 3 || !rs_is_rdma_name(w[1]) || !strchr(w[2], '/') ||
	    !isdigit((unsigned char)*w[2]))
		return false;
	snprintf(netdev, 64, "%s", w[0]);
	snprintf(rdma, 64, "%s", w[1]);
	snprintf(address, 64, "%s", w[2]);
	return true;
}

static int score_rails(const struct rs_input *in)
{
	struct rs_line l = {0};
	char n[64], r[64], addr[64];

	while (rs_line_next(in, &l) && l.number < 20)
		if (rail(&l, n, r, addr))
			return 60;
	return 0;
}

static int read_rails(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_line l = {0};
	char n[64], r[64], addr[64], subject[96];

	while (rs_line_next(in, &l)) {
		if (!rail(&l, n, r, addr))
			continue;
		snprintf(subject, sizeof(subject), "nic/%s", r);
		rs_input_add(a, in, l.number, NULL, subject, "netdev", "%s", n);
		snprintf(subject, sizeof(subject), "netdev/%s", n);
		rs_input_add(a, in, l.number, NULL, subject, "address", "%s", addr);
	}
	return a->err;
}

const struct rs_reader rs_reader_rails = {
	.name = "rails",
	.what = "lines of NETDEV RDMADEV ADDRESS/PREFIX",
	.trust = RS_TRUST_TOOL,
	.score = score_rails,
	.read = read_rails,
};

/* ---- route -n, ip route ---- */

static int score_route(const struct rs_input *in)
{
	if (rs_input_has(in, "Genmask") && rs_input_has(in, "Iface"))
		return 80;
	if (in->command &&
	    (!strncmp(in->command, "ip route get", 12) || !strncmp(in->command, "ip r get", 8) ||
	     !strncmp(in->command, "ip -4 route get", 15)))
		return 90;
	return rs_input_has(in, "default via ") || rs_input_has(in, " proto kernel scope link") ||
			       rs_input_has(in, "connected routes")
		       ? 65
		       : 0;
}

/* "10.10.2.1 from 10.10.1.1 via 192.168.0.1 dev eno1 src 10.10.1.1 uid 0" */
static bool way(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l)
{
	char to[64], dev[64], src[64] = "", subject[96];
	const char *from = strstr(l->text, " from "), *by = strstr(l->text, " dev ");
	const char *by_src = strstr(l->text, " src ");

	if (!by || sscanf(l->text, "%63[0-9a-fA-F.:]", to) != 1 || !strpbrk(to, ".:") ||
	    strchr(l->text, '/') || sscanf(by, " dev %63s", dev) != 1 ||
	    (!by_src && !from && !strstr(l->text, " uid ")))
		return false;
	if (from)
		sscanf(from, " from %63s", src);
	else if (by_src)
		sscanf(by_src, " src %63s", src);
	snprintf(subject, sizeof(subject), "route_get/%s", to);
	rs_input_add(a, in, l->number, NULL, subject, "dev", "%s", dev);
	if (*src)
		rs_input_add(a, in, l->number, NULL, subject, "src", "%s", src);
	return true;
}

static int read_route(struct rs_audit *a, const struct rs_input *in)
{
	bool get = in->command && strstr(in->command, " get ");

	char *w[10], name[96], text[160];
	struct rs_line l = {0};
	/* a heading or a remark shows that it is a table, though it may be empty */
	bool seen = rs_input_has(in, "Genmask") || rs_input_has(in, "connected routes");

	if (seen)
		rs_input_add(a, in, 0, NULL, "host", "routes_seen", "1");
	while (rs_line_next(in, &l)) {
		char via[64], dev[64], dst[64];

		if (*l.text == '#' || (get && way(a, in, &l)))
			continue;
		if (sscanf(l.text, "%63s via %63s dev %63s", dst, via, dev) == 3) {
			snprintf(text, sizeof(text), "%s via %s", dev, via);
		} else if (sscanf(l.text, "%63s dev %63s", dst, dev) == 2) {
			snprintf(text, sizeof(text), "%s", dev);
		} else if (rs_line_words(l.text, w, 10) == 8 && strchr(w[0], '.')) {
			snprintf(dst, sizeof(dst), "%s",
				 strcmp(w[0], "0.0.0.0") ? w[0] : "default");
			snprintf(text, sizeof(text), "%.40s via %.40s mask %.40s", w[7], w[1],
				 w[2]);
		} else {
			continue;
		}
		if (!seen)
			rs_input_add(a, in, 0, NULL, "host", "routes_seen", "1");
		seen = true;
		snprintf(name, sizeof(name), "route/%s", dst);
		rs_input_add(a, in, l.number, NULL, "host", name, "%s", text);
	}
	return a->err;
}

const struct rs_reader rs_reader_route = {
	.name = "routes",
	.what = "route -n, ip route",
	.trust = RS_TRUST_TOOL,
	.score = score_route,
	.read = read_route,
	.begins = (const char *const[]){"Kernel IP routing table", "Destination Gateway Genmask",
					NULL},
};

/* ---- ethtool -i, cpupower frequency-info ---- */

/* What grep left of one. */
static bool is_cut(const struct rs_input *in, const char *tool)
{
	return in->command && !strncmp(in->command, tool, strlen(tool)) &&
	       strstr(in->command, "grep") && in->size < 1024;
}

static int score_ethtool_i(const struct rs_input *in)
{
	if (is_cut(in, "ethtool -i") && rs_input_has(in, "firmware-version:"))
		return 85;
	return rs_input_has(in, "firmware-version:") && rs_input_has(in, "driver:") ? 85 : 0;
}

static int read_ethtool_i(struct rs_audit *a, const struct rs_input *in)
{
	char device[128], subject[160];
	struct rs_line l = {0};

	rs_input_device(in, device, sizeof(device));
	snprintf(subject, sizeof(subject), "netdev/%s", device);
	while (rs_line_next(in, &l)) {
		char *key, *value;

		if (!rs_line_pair(l.text, ':', &key, &value) || !*value)
			continue;
		if (!strcmp(key, "driver") || !strcmp(key, "version") || !strcmp(key, "bus-info") ||
		    !strcmp(key, "firmware-version"))
			rs_input_add(a, in, l.number, NULL, subject, key, "%s", value);
	}
	return a->err;
}

const struct rs_reader rs_reader_ethtool_i = {
	.name = "ethtool-i",
	.what = "ethtool -i DEV: driver, firmware, bus address",
	.trust = RS_TRUST_TOOL,
	.score = score_ethtool_i,
	.read = read_ethtool_i,
	.begins = (const char *const[]){"driver: ", NULL},
};

/* ---- One line of a tool: the firmware ---- */

static const char *firmware_of(const char *text)
{
	static const char *const keys[] = {"fw_ver:", "Firmware version:", "FW Version:"};

	for (unsigned i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (!strncmp(text, keys[i], strlen(keys[i]))) {
			text += strlen(keys[i]);
			return text + strspn(text, " \t");
		}
	return NULL;
}

static int score_firmware(const struct rs_input *in)
{
	struct rs_line l = {0};

	if (!is_cut(in, "ibstat") && !is_cut(in, "ibv_devinfo") && !is_cut(in, "flint") &&
	    !is_cut(in, "mstflint"))
		return 0;
	while (rs_line_next(in, &l))
		if (*l.text && !firmware_of(l.text))
			return 0;
	return 86;
}

static int read_firmware(struct rs_audit *a, const struct rs_input *in)
{
	char device[128], subject[160];
	struct rs_line l = {0};
	unsigned n = 0;

	rs_input_device(in, device, sizeof(device));
	while (rs_line_next(in, &l)) {
		const char *value = firmware_of(l.text);

		if (!value)
			continue;
		/* of several devices in an order that names none the first is "unnamed" */
		snprintf(subject, sizeof(subject), n ? "nic/%s[%u]" : "nic/%s", device, n + 1);
		rs_input_add(a, in, l.number, NULL, subject, "firmware", "%s", value);
		n++;
	}
	return a->err;
}

const struct rs_reader rs_reader_firmware = {
	.name = "firmware",
	.what = "the firmware alone, as grep leaves it of ibstat, ibv_devinfo and flint",
	.trust = RS_TRUST_TOOL,
	.score = score_firmware,
	.read = read_firmware,
};

static int score_cpupower(const struct rs_input *in)
{
	return rs_input_has(in, "available cpufreq governors") ? 85 : 0;
}

/* "3.80 GHz" in kHz; 0: no frequency */
static long long to_khz(double value, const char *unit)
{
	static const struct {
		const char *unit;
		double khz;
	} of[] = {{"Hz", 1e-3}, {"kHz", 1}, {"MHz", 1e3}, {"GHz", 1e6}};

	for (unsigned i = 0; i < sizeof(of) / sizeof(*of); i++)
		if (!strcmp(unit, of[i].unit) && value > 0 && value < 1e9)
			return (long long)(value * of[i].khz + 0.5);
	return 0;
}

static int read_cpupower(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_line l = {0};

	while (rs_line_next(in, &l)) {
		char value[64], unit[8];
		double high;

		if (sscanf(l.text, "hardware limits: %*f %*s - %lf %7[a-zA-Z]", &high, unit) == 2 &&
		    to_khz(high, unit))
			rs_input_add(a, in, l.number, NULL, "host", "cpu_max_khz", "%lld",
				     to_khz(high, unit));
		if (sscanf(l.text,
			   "current policy: frequency should be within %*f %*s and %lf %7[a-zA-Z]",
			   &high, unit) == 2 &&
		    to_khz(high, unit))
			rs_input_add(a, in, l.number, NULL, "host", "cpu_limit_khz", "%lld",
				     to_khz(high, unit));

		if (sscanf(l.text, "driver: %63s", value) == 1)
			rs_input_add(a, in, l.number, NULL, "host", "cpufreq_driver", "%s", value);
		if (sscanf(l.text, "The governor \"%63[a-z_]", value) == 1)
			rs_input_add(a, in, l.number, NULL, "host", "governor", "%s", value);
	}
	return a->err;
}

const struct rs_reader rs_reader_cpupower = {
	.name = "cpupower",
	.what = "cpupower frequency-info: driver, governor and the limit of the clock",
	.trust = RS_TRUST_TOOL,
	.score = score_cpupower,
	.read = read_cpupower,
	.begins = (const char *const[]){"analyzing CPU", NULL},
};
