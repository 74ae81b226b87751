/* What a file of sysfs, procfs or configfs says, by its path: Documentation/ABI of Linux, and
 * mlx5's own directories (tc, ecn) of MLNX_OFED and DOCA-OFED. */
#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/facts/word_list.h"
#include "audit/read/place.h"

enum { PARTS = 12, PART = 128 };

/* A pattern's stars, in order, and the value, become subject and name: $1 the first star. */
struct place {
	/* the end of a path and its last component; a star is one component or a part of one, as
	 * the last one the whole */
	const char *dir, *last;
	const char *subject, *name;
	void (*value)(char *value); /* turns what the kernel prints into the fact; NULL: as it is */
	enum { FREE, NUMBER, WORD, VERSION } form; /* what the kernel prints there */
};

/* "4: ACTIVE" -> "ACTIVE" */
static void after_colon(char *v)
{
	char *p = strchr(v, ':');

	if (p)
		memmove(v, p + 1 + strspn(p + 1, " "), strlen(p + 1 + strspn(p + 1, " ")) + 1);
}

/* "Global tclass=106", "106", "" (unset) -> "106", "106", "unset" */
static void tclass(char *v)
{
	char *p = strstr(v, "tclass=");

	if (p)
		memmove(v, p + 7, strlen(p + 7) + 1);
	if (!*v)
		strcpy(v, "unset");
}

/* "RoCE v2" -> "v2", "IB/RoCE v1" -> "v1" */
static void gid_type(char *v)
{
	if (strstr(v, "v2"))
		strcpy(v, "v2");
	else if (strstr(v, "v1"))
		strcpy(v, "v1");
}

/* "200 Gb/sec (4X HDR)" -> "200" */
static void rate(char *v)
{
	char *end;
	double gbps = strtod(v, &end);

	if (end != v)
		snprintf(v, 16, "%.0f", gbps);
}

/* "16.0 GT/s PCIe", "8 GT/s" -> tenths of GT/s; "Unknown" stays */
static void speed(char *v)
{
	char *end;
	double gts = strtod(v, &end);

	if (end != v)
		snprintf(v, 16, "%.0f", gts * 10);
}

/* "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  560.35" -> "open" */
static void gpu_module(char *v)
{
	if (strstr(v, "Open Kernel Module"))
		strcpy(v, "open");
	else if (strstr(v, "Kernel Module"))
		strcpy(v, "proprietary");
	else
		*v = '\0';
}

/* The total of a list of errors: "... TOTAL_ERR_COR 5" -> "5"; a line of one kind says nothing. */
static void aer_total(char *v)
{
	char *p = strstr(v, "TOTAL_ERR_");

	p = p ? strchr(p, ' ') : NULL;
	if (p)
		memmove(v, p + 1, strlen(p + 1) + 1);
	else
		*v = '\0';
}

/* A function's regions, a line each: the size of the second in MiB. That is BAR1 of NVIDIA's GPUs,
 * whose BAR0 has 32 bits. */
static void bar1(char *v)
{
	unsigned long long start, end;
	char *line = strchr(v, '\n');

	if (line && sscanf(line, " %llx %llx", &start, &end) == 2 && end > start)
		snprintf(v, 24, "%llu", (end - start + 1) >> 20);
	else
		*v = '\0';
}

/* "35736.52 60234.42" -> "35736" */
static void whole_seconds(char *v)
{
	v[strspn(v, "0123456789")] = '\0';
}

static const struct place places[] = {
	{"*/ports/*/hw_counters", "*", "nic/$1", "counter/$3", NULL, NUMBER},
	{"*/ports/*/counters", "*", "nic/$1", "counter/$3", NULL, NUMBER},
	{"*/ports/*", "state", "nic/$1", "port_state", after_colon, WORD},
	{"*/ports/*", "phys_state", "nic/$1", "phys_state", after_colon, WORD},
	{"*/ports/*", "link_layer", "nic/$1", "link_layer", NULL, WORD},
	{"*/ports/*", "rate", "nic/$1", "rate_gbps", rate, NUMBER},
	{"*/ports/*/gid_attrs/types", "*", "nic/$1", "gid_type/$3", gid_type, FREE},
	{"*/ports/*/gid_attrs/ndevs", "*", "nic/$1", "gid_netdev/$3", NULL, WORD},
	{"*/ports/*/gids", "*", "nic/$1", "gid/$3", NULL, WORD},
	{"infiniband/*/tc/*", "traffic_class", "nic/$1", "tclass", tclass, FREE},
	{"rdma_cm/*/ports/*", "default_roce_tos", "nic/$1", "cm_tos", NULL, NUMBER},
	{"rdma_cm/*/ports/*", "default_roce_mode", "nic/$1", "cm_mode", NULL, FREE},
	{"infiniband/*", "fw_ver", "nic/$1", "firmware", NULL, VERSION},
	{"infiniband/*", "board_id", "nic/$1", "board_id", NULL, WORD},
	{"infiniband/*", "hca_type", "nic/$1", "hca_type", NULL, FREE},
	{"infiniband/*", "node_guid", "nic/$1", "node_guid", NULL, WORD},
	{"infiniband/*", "sys_image_guid", "nic/$1", "sys_image_guid", NULL, WORD},
	{"infiniband/*/device", "numa_node", "nic/$1", "numa_node", NULL, NUMBER},
	{"net/*/ecn/roce_np/enable", "*", "netdev/$1", "ecn_np/$2", NULL, NUMBER},
	{"net/*/ecn/roce_rp/enable", "*", "netdev/$1", "ecn_rp/$2", NULL, NUMBER},
	{"net/*/ecn/roce_np", "cnp_dscp", "netdev/$1", "cnp_dscp", NULL, NUMBER},
	{"net/*/ecn/roce_np", "cnp_802p_prio", "netdev/$1", "cnp_prio", NULL, NUMBER},
	{"net/*/ecn/roce_np", "min_time_between_cnps", "netdev/$1", "cnp_gap_us", NULL, NUMBER},
	{"net/*/qos", "trust", "netdev/$1", "trust", NULL, WORD},
	{"class/net/*", "mtu", "netdev/$1", "mtu", NULL, NUMBER},
	{"class/net/*", "speed", "netdev/$1", "speed_mbps", NULL, NUMBER},
	{"class/net/*", "operstate", "netdev/$1", "operstate", NULL, WORD},
	{"class/net/*", "address", "netdev/$1", "mac", NULL, WORD},
	{"class/net/*/device", "numa_node", "netdev/$1", "numa_node", NULL, NUMBER},
	{"class/net/*/device", "sriov_totalvfs", "netdev/$1", "sriov_totalvfs", NULL, NUMBER},
	{"class/net/*/device", "sriov_numvfs", "netdev/$1", "sriov_numvfs", NULL, NUMBER},
	{"devices/system/cpu/cpu0/cpuidle/state*", "name", "host", "cpuidle/$1/name", NULL, WORD},
	{"devices/system/cpu/cpu0/cpuidle/state*", "latency", "host", "cpuidle/$1/latency_us", NULL,
	 NUMBER},
	{"devices/system/cpu/cpu0/cpuidle/state*", "disable", "host", "cpuidle/$1/disable", NULL,
	 NUMBER},
	{"devices/system/cpu/cpu0/cpufreq", "scaling_governor", "host", "governor", NULL, WORD},
	{"devices/system/cpu/cpu0/cpufreq", "cpuinfo_max_freq", "host", "cpu_max_khz", NULL,
	 NUMBER},
	{"devices/system/cpu/cpu0/cpufreq", "scaling_max_freq", "host", "cpu_limit_khz", NULL,
	 NUMBER},
	{"devices/system/cpu/cpu0/cpufreq", "scaling_driver", "host", "cpufreq_driver", NULL, WORD},
	{"devices/system/cpu/cpufreq/policy0", "scaling_governor", "host", "governor", NULL, WORD},
	{"devices/system/cpu/cpufreq/policy0", "scaling_driver", "host", "cpufreq_driver", NULL,
	 WORD},
	{"devices/system/cpu/cpufreq/policy0", "cpuinfo_max_freq", "host", "cpu_max_khz", NULL,
	 NUMBER},
	{"devices/system/cpu/cpufreq/policy0", "scaling_max_freq", "host", "cpu_limit_khz", NULL,
	 NUMBER},
	{"devices/system/node", "online", "host", "numa_online", NULL, NUMBER},
	{"sys/kernel", "numa_balancing", "host", "numa_balancing", NULL, NUMBER},
	{"sys/net/ipv4/conf/*", "arp_ignore", "host", "arp_ignore/$1", NULL, NUMBER},
	{"sys/net/ipv4/conf/*", "arp_announce", "host", "arp_announce/$1", NULL, NUMBER},
	{"sys/net/ipv4/conf/*", "rp_filter", "host", "rp_filter/$1", NULL, NUMBER},
	{"module/nvidia_peermem", "version", "host", "module/nvidia_peermem", NULL, VERSION},
	{"kernel/mm/memory_peers/*", "version", "host", "memory_peers/$1", NULL, VERSION},
	{"iommu_groups/*", "type", "host", "iommu_group_type/$1", NULL, WORD},
	{"module/nvidia", "version", "host", "module/nvidia", NULL, VERSION},
	{"driver/nvidia", "version", "host", "gpu_module", gpu_module, FREE},
	{"proc/irq/*", "smp_affinity_list", "irq/$1", "cpus", NULL, NUMBER},
	{"sys/vm", "nr_hugepages", "host", "hugepages", NULL, NUMBER},
	{"class/net/*/bonding", "mode", "bond/$1", "mode", NULL, FREE},
	{"class/net/*/bonding", "xmit_hash_policy", "bond/$1", "xmit_hash_policy", NULL, FREE},
	{"class/net/*/bonding", "slaves", "bond/$1", "slaves", NULL, FREE},
	{"dmi/id", "sys_vendor", "host", "dmi_vendor", NULL, FREE},
	{"dmi/id", "product_name", "host", "dmi_product", NULL, FREE},
	{"hypervisor", "type", "host", "virtual", NULL, WORD},
	{"proc", "uptime", "host", "uptime_s", whole_seconds, NUMBER},
	{"proc", "cmdline", "host", "cmdline", NULL, FREE},
	{"proc/sys/kernel", "osrelease", "host", "kernel", NULL, VERSION},
	{"*:*:*.?", "vendor", "pci/$1:$2:$3.$4", "vendor", NULL, NUMBER},
	{"*:*:*.?", "device", "pci/$1:$2:$3.$4", "device", NULL, NUMBER},
	{"*:*:*.?", "class", "pci/$1:$2:$3.$4", "class", NULL, NUMBER},
	{"*:*:*.?", "aer_dev_correctable", "pci/$1:$2:$3.$4", "counter/aer_correctable", aer_total,
	 FREE},
	{"*:*:*.?", "aer_dev_nonfatal", "pci/$1:$2:$3.$4", "counter/aer_nonfatal", aer_total, FREE},
	{"*:*:*.?", "aer_dev_fatal", "pci/$1:$2:$3.$4", "counter/aer_fatal", aer_total, FREE},
	{"*:*:*.?", "resource", "pci/$1:$2:$3.$4", "bar1_mib", bar1, FREE},
	{"*:*:*.?", "sriov_numvfs", "pci/$1:$2:$3.$4", "sriov_numvfs", NULL, NUMBER},
	{"*:*:*.?", "sriov_totalvfs", "pci/$1:$2:$3.$4", "sriov_totalvfs", NULL, NUMBER},
	{"*:*:*.?", "local_cpulist", "pci/$1:$2:$3.$4", "local_cpus", NULL, NUMBER},
	{"*:*:*.?", "numa_node", "pci/$1:$2:$3.$4", "numa_node", NULL, NUMBER},
	{"*:*:*.?", "current_link_speed", "pci/$1:$2:$3.$4", "link_speed", speed, FREE},
	{"*:*:*.?", "current_link_width", "pci/$1:$2:$3.$4", "link_width", NULL, NUMBER},
	{"*:*:*.?", "max_link_speed", "pci/$1:$2:$3.$4", "max_link_speed", speed, FREE},
	{"*:*:*.?", "max_link_width", "pci/$1:$2:$3.$4", "max_link_width", NULL, NUMBER},
};

/* As many of path's last components as the pattern has. */
static const char *tail(const char *path, const char *pattern)
{
	unsigned slashes = 0;
	const char *p = path + strlen(path);

	for (const char *q = pattern; *q; q++)
		slashes += *q == '/';
	for (; p > path; p--)
		if (p[-1] == '/' && !slashes--)
			return p;
	return slashes ? NULL : path;
}

/* Matches text with pattern; a star takes the least that does, within a component; '?' one byte.
 * What they took goes to part[]. */
static bool match(const char *pattern, const char *text, char part[][PART], unsigned *n)
{
	unsigned before = *n;

	for (; *pattern; pattern++, text++) {
		size_t k = 0;

		if (*pattern == '?' || *pattern == '*') {
			if (before >= PARTS)
				return false;
			if (*pattern == '?') {
				if (!*text || *text == '/')
					return false;
				snprintf(part[before], PART, "%c", *text);
				*n = before + 1;
				return match(pattern + 1, text + 1, part, n);
			}
			for (k = 1; text[k - 1] && text[k - 1] != '/' && k < PART; k++) {
				*n = before + 1;
				if (!match(pattern + 1, text + k, part, n))
					continue;
				memcpy(part[before], text, k);
				part[before][k] = '\0';
				return true;
			}
			return false;
		}
		if (*pattern != *text)
			return false;
	}
	return !*text;
}

static void fill(char *out, size_t size, const char *form, char part[][PART])
{
	size_t n = 0;

	for (; *form && n + 1 < size; form++) {
		if (*form != '$') {
			out[n++] = *form;
			continue;
		}
		form++;
		n += (size_t)snprintf(out + n, size - n, "%s", part[*form - '1']);
		if (n >= size)
			n = size - 1;
	}
	out[n] = '\0';
}

/* Could the ends fit? From the last component on, those without a star must be equal: most patterns
 * are done with after one comparison. */
static bool may_match(const char *path, const char *pattern)
{
	const char *p = path + strlen(path), *q = pattern + strlen(pattern);

	for (;;) {
		const char *from_p = p, *from_q = q;
		bool star = false;

		while (from_p > path && from_p[-1] != '/')
			from_p--;
		while (from_q > pattern && from_q[-1] != '/')
			star |= *--from_q == '*' || *from_q == '?';
		if (!star &&
		    (p - from_p != q - from_q || memcmp(from_p, from_q, (size_t)(p - from_p)) != 0))
			return false;
		if (from_q == pattern)
			return true;
		if (from_p == path)
			return false;
		p = from_p - 1;
		q = from_q - 1;
	}
}

static const struct place *find(const char *path, char part[][PART])
{
	const char *slash = strrchr(path, '/');
	char dir[512];

	if (!slash || !slash[1] || strlen(slash) > PART || (size_t)(slash - path) >= sizeof(dir))
		return NULL;
	memcpy(dir, path, (size_t)(slash - path));
	dir[slash - path] = '\0';
	for (unsigned i = 0; i < sizeof(places) / sizeof(*places); i++) {
		const struct place *p = &places[i];
		bool any = *p->last == '*';
		const char *end;
		unsigned n = 0;

		if ((!any && (*p->last != slash[1] || strcmp(p->last, slash + 1) != 0)) ||
		    !may_match(dir, p->dir))
			continue;
		end = tail(dir, p->dir);
		if (!end || !match(p->dir, end, part, &n) || n == PARTS)
			continue;
		if (any)
			snprintf(part[n], PART, "%s", slash + 1);
		return p;
	}
	return NULL;
}

bool rs_place_known(const char *path)
{
	char part[PARTS][PART];

	return find(path, part) != NULL;
}

/* The parent of a PCI function is the component before it: .../0000:16:00.0/0000:18:00.0/class */
static int parent(struct rs_audit *a, const struct rs_input *in, const char *path, const char *pci)
{
	const char *last = strrchr(path, '/'), *own, *up;
	char name[PART];

	for (own = last; own > path && own[-1] != '/'; own--)
		;
	if (own <= path + 1)
		return 0;
	for (up = own - 1; up > path && up[-1] != '/'; up--)
		;
	snprintf(name, sizeof(name), "%.*s", (int)(own - 1 - up), up);
	if (fnmatch("*:*:*.?", name, 0) && strncmp(name, "pci", 3))
		return 0;
	return rs_input_add(a, in, 0, NULL, pci, "parent", "%s", name);
}

/* Has the value the form that the kernel gives it? If not it is what a command said instead: an
 * error in any language, a shell's trace, "n/a". */
static bool fits(const struct place *p, const char *v)
{
	static const char *const instead[] = {"terminated", "killed", "timeout", "n/a",   "na",
					      "null",       "nil",    "error",   "empty", NULL};
	const char *colon = strstr(v, ": ");
	size_t n = strcspn(v, " \t");
	char low[16];

	switch (p->form) {
	case NUMBER:
		v += strspn(v, "-+ ");
		return isdigit((unsigned char)*v) || !*v || !strncasecmp(v, "unknown", 7);
	case VERSION:
		return !v[n] && v[strcspn(v, "0123456789")] && v[n - !!n] != ':';
	case WORD:
		/* "4: ACTIVE" */
		if (colon)
			return isdigit((unsigned char)*v) && colon - v < 3;
		for (size_t i = 0; i < n; i++)
			if ((unsigned char)v[i] > 126)
				return false;
		rs_word_lower(v, low, sizeof(low));
		return !v[n] && v[n - !!n] != ':' && !rs_word_in(instead, low, strlen(low));
	case FREE:
		break;
	}
	/* "cat: ...", "zsh: ...", "error: ..." */
	return !colon || v + strspn(v, "abcdefghijklmnopqrstuvwxyz") != colon;
}

int rs_place_add(struct rs_audit *a, const struct rs_input *in, uint32_t line, const char *path,
		 const char *value)
{
	char part[PARTS][PART], subject[2 * PART], name[2 * PART], text[RS_FACT_BYTES];
	const struct place *p = find(path, part);

	if (!p)
		return 0;
	fill(subject, sizeof(subject), p->subject, part);
	fill(name, sizeof(name), p->name, part);
	snprintf(text, sizeof(text), "%s", value);
	for (size_t n = strlen(text); n && isspace((unsigned char)text[n - 1]);)
		text[--n] = '\0';
	/* a shell's trace goes on behind the one line that such a file has */
	if (p->form != FREE)
		text[strcspn(text, "\r\n")] = '\0';
	if (!fits(p, text))
		return 0;
	if (p->value)
		p->value(text);
	/* unset slots of the GID table read as zero; "" of other files is no value */
	if (!*text)
		return 1;
	rs_input_add(a, in, line, NULL, subject, name, "%s", text);
	if (!strncmp(subject, "pci/", 4) && !strcmp(name, "class"))
		parent(a, in, path, subject);
	return 1;
}

/* ---- Names of devices ---- */

static bool begins(const char *text, const char *const *list)
{
	for (; *list; list++)
		if (!strncmp(text, *list, strlen(*list)))
			return true;
	return false;
}

bool rs_is_rdma_name(const char *name)
{
	static const char *const rdma[] = {"mlx4",   "mlx5", "roce", "ibp",  "bnxt_re", "irdma",
					   "ionic_", "hfi1", "qib",  "hns_", "erdma",   "efa_",
					   "rdmap",  "rxe",  "siw",  NULL};
	const char *digit = name + strcspn(name, "0123456789");

	return *digit && (begins(name, rdma) || strstr(name, "_bond_"));
}

size_t rs_bundle_name(const char *text)
{
	/* NX-OS and EOS, SONiC, Junos, VRP, IOS XR, OS10 and SR OS, Comware, RGOS, ZXROS */
	static const char *const names[] = {"Po",
					    "port-channel",
					    "Port-channel",
					    "Port-Channel",
					    "PortChannel",
					    "ae",
					    "Eth-Trunk",
					    "Bundle-Ether",
					    "BE",
					    "lag",
					    "lag-",
					    "BAGG",
					    "RAGG",
					    "Bridge-Aggregation",
					    "Route-Aggregation",
					    "AggregatePort",
					    "smartgroup"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t n = strlen(names[i]), d;

		if (strncmp(text, names[i], n))
			continue;
		n += text[n] == ' ';
		d = strspn(text + n, "0123456789");
		if (d && text[n + d] != '.' && text[n + d] != '/' &&
		    !isalnum((unsigned char)text[n + d]))
			return n + d;
	}
	return 0;
}

/* systemd's names (eno1, enp1s0f0np0, ibp25s0) and those of old kernels and of fabrics; no word of
 * a tool ("ethtool_S_eth4", "perfquery_eth4"). A representor ends with "_1". */
static bool is_netdev_name(const char *name)
{
	static const struct {
		const char *prefix, *then;
	} net[] = {{"en", "opsxPd"}, {"eth", NULL}, {"ib", "psx"}, {"ib", NULL},   {"bond", NULL},
		   {"hsn", NULL},    {"p", NULL},   {"swp", NULL}, {"rdma", NULL}, {"net", NULL},
		   {"gpu", NULL},    {"vf", NULL},  {"br", NULL}};
	const char *tail = strchr(name, '_');

	if (tail && (!tail[1] || tail[1 + strspn(tail + 1, "0123456789")]))
		return false;
	for (unsigned i = 0; i < sizeof(net) / sizeof(*net); i++) {
		size_t n = strlen(net[i].prefix);

		if (!strncmp(name, net[i].prefix, n) && name[n] &&
		    strchr(net[i].then ? net[i].then : "0123456789", name[n]))
			return name[strcspn(name, "0123456789")] != '\0';
	}
	return false;
}

void rs_input_device(const struct rs_input *in, char *out, size_t size)
{
	const char *base = strrchr(in->path, '/');
	char name[512], *save = NULL;

	/* the command that printed it knows best */
	if (in->command)
		snprintf(name, sizeof(name), "%s",
			 strchr(in->command, ' ') ? strchr(in->command, ' ') : "");
	else
		snprintf(name, sizeof(name), "%s", base ? base + 1 : in->path);
	snprintf(out, size, "unnamed");
	for (char *w = strtok_r(name, "-. ", &save); w; w = strtok_r(NULL, "-. ", &save))
		/* "ethtool_-a_eth0", as collectors name what a command printed */
		for (char *p = w; p; p = strchr(p, '_') ? strchr(p, '_') + 1 : NULL)
			if (rs_is_rdma_name(p) || is_netdev_name(p)) {
				snprintf(out, size, "%s", p);
				return;
			}
}
