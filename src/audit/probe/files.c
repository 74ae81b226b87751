/* Files of the kernel that say what a host is: sysfs (Documentation/ABI of Linux), procfs,
 * configfs. A list of places, not a walk: sysfs is full of links in circles and of files that act
 * when read. */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "audit/probe/probe.h"
#include "audit/read/secrets.h"

enum {
	FILE_BYTES_MAX = 8 << 20,
	PATHS_MAX = 200000, /* more are left out: a host has some thousand */
	LOG_BYTES_MAX = 1 << 24,
};

/* Braces hold alternatives, as in glob(7). */
static const char *const places[] = {
	"/proc/{cmdline,modules,meminfo,version,interrupts,uptime,vmstat}",
	"/proc/irq/*/smp_affinity_list",
	"/proc/sys/kernel/{osrelease,numa_balancing,hostname}",
	"/proc/sys/vm/{nr_hugepages,zone_reclaim_mode,swappiness}",
	"/proc/sys/net/core/{rmem_max,wmem_max,netdev_max_backlog,somaxconn,busy_poll}",
	"/proc/sys/net/ipv4/{tcp_rmem,tcp_wmem,tcp_congestion_control,ip_forward,tcp_ecn}",
	"/proc/sys/net/ipv4/conf/*/{arp_ignore,arp_announce,rp_filter,arp_filter}",
	"/proc/net/bonding/*",
	"/proc/self/limits",
	"/proc/driver/nvidia/version",
	"/proc/driver/nvidia/params",
	"/proc/driver/nvidia/gpus/*/information",
	"/etc/{os-release,nccl.conf}",
	"/var/run/nvidia-topologyd/virtualTopology.xml",
	"/sys/class/net/*/"
	"{mtu,speed,operstate,address,carrier,carrier_changes,duplex,type,ifindex}",
	"/sys/class/net/*/device/{numa_node,sriov_numvfs,sriov_totalvfs,vendor,device}",
	"/sys/class/net/*/{phys_port_name,dev_id,dev_port,tx_queue_len}",
	"/sys/class/net/*/statistics/{rx_errors,tx_errors,rx_dropped,tx_dropped,rx_crc_errors}",
	"/sys/class/net/*/statistics/{rx_bytes,tx_bytes,rx_packets,tx_packets}",
	"/sys/class/net/*/qos/trust",
	"/sys/class/net/*/ecn/roce_{np,rp}/*",
	"/sys/class/net/*/ecn/roce_{np,rp}/enable/*",
	"/sys/class/net/*/bonding/{mode,slaves,xmit_hash_policy,lacp_rate,active_slave}",
	"/sys/class/infiniband/*/{fw_ver,board_id,hca_type,hw_rev,node_type,node_guid,node_desc}",
	"/sys/class/infiniband/*/sys_image_guid",
	"/sys/class/infiniband/*/device/{numa_node,sriov_numvfs,local_cpulist}",
	"/sys/class/infiniband/*/tc/*/traffic_class",
	"/sys/class/infiniband/*/ports/*/{state,phys_state,link_layer,rate,lid,sm_lid,cap_mask}",
	"/sys/class/infiniband/*/ports/*/gids/*",
	"/sys/class/infiniband/*/ports/*/gid_attrs/{types,ndevs}/*",
	"/sys/class/infiniband/*/ports/*/{counters,hw_counters}/*",
	"/sys/kernel/config/rdma_cm/*/ports/*/{default_roce_mode,default_roce_tos}",
	"/sys/devices/system/cpu/{online,possible,isolated,nohz_full,smt/active}",
	"/sys/devices/system/cpu/cpu0/cpuidle/state*/{name,latency,disable}",
	"/sys/devices/system/cpu/cpu0/cpufreq/{scaling_governor,scaling_driver}",
	"/sys/devices/system/cpu/cpu0/cpufreq/{scaling_max_freq,cpuinfo_max_freq}",
	"/sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference",
	"/sys/devices/system/cpu/intel_pstate/{status,no_turbo}",
	"/sys/devices/system/cpu/cpuidle/current_driver",
	"/sys/devices/system/node/{online,has_memory}",
	"/sys/devices/system/node/node*/{cpulist,distance}",
	"/sys/kernel/iommu_groups/*/type",
	"/sys/kernel/mm/memory_peers/*/version",
	"/sys/kernel/mm/transparent_hugepage/enabled",
	"/sys/module/{nvidia,nvidia_peermem,nv_peer_mem,gdrdrv,amdgpu,mlx5_core,mlx5_ib}/version",
	"/sys/module/{ib_core,ib_uverbs,rdma_cm,bnxt_re,irdma,ice,efa}/version",
	"/sys/module/nvidia/parameters/*",
	"/sys/module/mlx5_core/parameters/{prof_sel,num_of_groups}",
	"/sys/class/dmi/id/"
	"{sys_vendor,product_name,board_vendor,board_name,bios_version,bios_date}",
	"/sys/hypervisor/type",
};

/* What a PCI function's own directory says. */
static const char *const of_pci[] = {
	"class",
	"vendor",
	"device",
	"subsystem_vendor",
	"subsystem_device",
	"revision",
	"numa_node",
	"local_cpulist",
	"current_link_speed",
	"current_link_width",
	"max_link_speed",
	"max_link_width",
	"resource",
	"aer_dev_correctable",
	"aer_dev_nonfatal",
	"aer_dev_fatal",
	"sriov_numvfs",
	"sriov_totalvfs",
	"label",
};

/* ---- Reading ---- */

struct text {
	char *data;
	size_t size;
};

static int slurp(const char *path, struct text *t)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), err;
	size_t room = 4096;
	struct stat st;
	ssize_t n = 0;

	*t = (struct text){0};
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return -EINVAL;
	}
	t->data = malloc(room);
	while (t->data && t->size < FILE_BYTES_MAX &&
	       (n = read(fd, t->data + t->size, room - t->size - 1)) > 0) {
		t->size += (size_t)n;
		if (room - t->size < 2) {
			char *more = realloc(t->data, room *= 2);

			if (!more)
				free(t->data);
			t->data = more;
		}
	}
	err = !t->data ? -ENOMEM : n < 0 ? -errno : 0;
	close(fd);
	if (err) {
		free(t->data);
		t->data = NULL;
		return err;
	}
	t->data[t->size] = '\0';
	return 0;
}

struct job {
	const struct rs_probe *p;
	struct rs_fact_text denied;
	unsigned n_denied;
};

/* A file that the kernel does not show is no error: its fact is not known, and why is one. */
static int give(struct job *j, const char *real, const char *shown)
{
	struct text t;
	int err = slurp(real, &t);

	if (err == -EACCES || err == -EPERM) {
		if (j->n_denied++ < 64)
			rs_fact_line(&j->denied, "host", "unreadable", "/%s: needs root", shown);
		return 0;
	}
	if (err)
		return err == -ENOMEM ? err : 0;
	rs_secrets_hide(t.data);
	/* most slots of a GID table are empty, and there are hundreds */
	if (t.size && strncmp(t.data, "0000:0000:0000:0000:0000:0000:0000:0000", 39))
		err = j->p->file(j->p->arg, shown, t.data, t.size);
	free(t.data);
	return err;
}

static int give_places(struct job *j)
{
	size_t skip = strlen(j->p->root) + 1;
	glob_t g = {0};
	int err = 0, r = 0;

	for (unsigned i = 0; i < sizeof(places) / sizeof(*places) && r != GLOB_NOSPACE; i++) {
		char pattern[PATH_MAX];

		snprintf(pattern, sizeof(pattern), "%s%s", j->p->root, places[i]);
		r = glob(pattern, GLOB_BRACE | (i ? GLOB_APPEND : 0), NULL, &g);
	}
	err = r == GLOB_NOSPACE ? -ENOMEM : 0;
	for (size_t i = 0; i < g.gl_pathc && i < PATHS_MAX && !err; i++)
		err = give(j, g.gl_pathv[i], g.gl_pathv[i] + skip);
	globfree(&g);
	return err;
}

/* ---- PCI functions: their directories are named by what is above them ---- */

static const char *base_of(const char *path)
{
	const char *p = strrchr(path, '/');

	return p ? p + 1 : path;
}

static bool link_base(const char *path, char *out, size_t size)
{
	char to[PATH_MAX];
	ssize_t n = readlink(path, to, sizeof(to) - 1);

	if (n <= 0)
		return false;
	to[n] = '\0';
	snprintf(out, size, "%s", base_of(to));
	return true;
}

static int pci_function(struct job *j, const char *link, struct rs_fact_text *facts)
{
	char real[PATH_MAX], path[PATH_MAX + 64], subject[NAME_MAX + 8], to[NAME_MAX + 1];
	char root[PATH_MAX];
	size_t skip;
	int err = 0;

	if (!realpath(*j->p->root ? j->p->root : "/", root) || !realpath(link, real))
		return 0;
	skip = strcmp(root, "/") ? strlen(root) + 1 : 1;
	if (strlen(real) <= skip)
		return 0;
	for (unsigned i = 0; i < sizeof(of_pci) / sizeof(*of_pci) && !err; i++) {
		snprintf(path, sizeof(path), "%s/%s", real, of_pci[i]);
		if (!access(path, F_OK))
			err = give(j, path, path + skip);
	}
	snprintf(subject, sizeof(subject), "pci/%s", base_of(real));
	snprintf(path, sizeof(path), "%s/driver", real);
	if (link_base(path, to, sizeof(to)))
		rs_fact_line(facts, subject, "driver", "%s", to);
	snprintf(path, sizeof(path), "%s/iommu_group", real);
	if (link_base(path, to, sizeof(to)))
		rs_fact_line(facts, subject, "iommu_group", "%s", to);
	return err;
}

/* The PCI function that a device is, or is on: a virtio device is one below its function. */
static bool function_of(const char *path, char *out, size_t size)
{
	char real[PATH_MAX];
	bool found = false;

	if (!realpath(path, real))
		return false;
	for (char *save = NULL, *w = strtok_r(real, "/", &save); w; w = strtok_r(NULL, "/", &save))
		if (!fnmatch("*:*:*.?", w, 0)) {
			snprintf(out, size, "%s", w);
			found = true;
		}
	return found;
}

/* Interfaces and RDMA devices: the PCI function and driver that they are. */
static void device_links(const struct rs_probe *p, const char *class, const char *kind,
			 struct rs_fact_text *facts)
{
	char path[PATH_MAX], to[NAME_MAX + 1], subject[NAME_MAX + 16];
	glob_t g = {0};

	snprintf(path, sizeof(path), "%s/sys/class/%s/*", p->root, class);
	if (glob(path, 0, NULL, &g))
		return;
	for (size_t i = 0; i < g.gl_pathc; i++) {
		const char *name = base_of(g.gl_pathv[i]);

		snprintf(subject, sizeof(subject), "%s/%s", kind, name);
		snprintf(path, sizeof(path), "%s/device", g.gl_pathv[i]);
		if (function_of(path, to, sizeof(to)))
			rs_fact_line(facts, subject, "pci", "%s", to);
		snprintf(path, sizeof(path), "%s/device/driver", g.gl_pathv[i]);
		if (link_base(path, to, sizeof(to)))
			rs_fact_line(facts, subject, "driver", "%s", to);
	}
	globfree(&g);
}

static int give_pci(struct job *j)
{
	struct rs_fact_text facts = {0};
	char pattern[PATH_MAX];
	glob_t g = {0};
	int err = 0;

	snprintf(pattern, sizeof(pattern), "%s/sys/bus/pci/devices/*", j->p->root);
	if (!glob(pattern, 0, NULL, &g))
		for (size_t i = 0; i < g.gl_pathc && !err; i++)
			err = pci_function(j, g.gl_pathv[i], &facts);
	globfree(&g);
	device_links(j->p, "net", "netdev", &facts);
	device_links(j->p, "infiniband", "nic", &facts);
	if (!err)
		return rs_probe_emit(j->p, "ripstop/links.facts", &facts);
	free(facts.data);
	return err;
}

/* The first processor's block of /proc/cpuinfo: the others repeat it. */
static int give_cpu(struct job *j)
{
	char path[PATH_MAX], *end;
	struct text t;
	int err;

	snprintf(path, sizeof(path), "%s/proc/cpuinfo", j->p->root);
	if (slurp(path, &t))
		return 0;
	end = strstr(t.data, "\n\n");
	if (end)
		end[1] = '\0';
	err = j->p->file(j->p->arg, "proc/cpuinfo", t.data, strlen(t.data));
	free(t.data);
	return err;
}

int rs_probe_files(const struct rs_probe *p)
{
	struct job j = {.p = p};
	int err = give_places(&j);

	if (!err)
		err = give_cpu(&j);
	if (!err)
		err = give_pci(&j);
	if (!err)
		return rs_probe_emit(p, "ripstop/unreadable.facts", &j.denied);
	free(j.denied.data);
	return err;
}

/* ---- The kernel's log ---- */

static bool of_interest(const char *line)
{
	static const char *const words[] = {
		"mlx5",  "mlx4",       "NVRM",     "nvidia", "iommu",   "IOMMU",
		"DMAR",  "AMD-Vi",     "pcieport", "AER:",   "limited", "bnxt",
		"irdma", "infiniband", "rdma",     "amdgpu", "SMMU",    "Xid"};

	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strstr(line, words[i]))
			return true;
	return false;
}

/* "<6>[    0.1] text": without the level, as dmesg prints. */
static int give_log(const struct rs_probe *p, char *log)
{
	char *out = malloc(strlen(log) + 2), *save = NULL;
	size_t n = 0;
	int err = 0;

	if (!out)
		return -ENOMEM;
	for (char *l = strtok_r(log, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		const char *text = *l == '<' && strchr(l, '>') ? strchr(l, '>') + 1 : l;

		if (of_interest(text))
			n += (size_t)sprintf(out + n, "%s\n", text);
	}
	if (n) {
		rs_secrets_hide(out);
		err = p->file(p->arg, "ripstop/dmesg.txt", out, n);
	}
	free(out);
	return err;
}

int rs_probe_log(const struct rs_probe *p)
{
	enum { READ_ALL = 3, SIZE_BUFFER = 10 }; /* syslog(2) */
	int size = klogctl(SIZE_BUFFER, NULL, 0), n = -1, err;
	struct rs_fact_text t = {0};
	char *log = NULL;

	if (size > 0 && size <= LOG_BYTES_MAX && (log = malloc((size_t)size + 1)))
		n = klogctl(READ_ALL, log, size);
	if (n < 0) {
		free(log);
		rs_fact_line(&t, "host", "unreadable", "dmesg: %s",
			     errno == EPERM ? "needs root (kernel.dmesg_restrict)"
					    : strerror(errno));
		return rs_probe_emit(p, "ripstop/log.facts", &t);
	}
	log[n] = '\0';
	err = give_log(p, log);
	free(log);
	return err;
}

static int give_time(const struct rs_probe *p)
{
	struct rs_fact_text t = {0};
	struct timespec up;

	/* two snapshots' counters become rates by these */
	clock_gettime(CLOCK_BOOTTIME, &up);
	rs_fact_line(&t, "host", "time", "%lld", (long long)time(NULL));
	rs_fact_line(&t, "host", "uptime_s", "%lld", (long long)up.tv_sec);
	return rs_probe_emit(p, "ripstop/time.facts", &t);
}

int rs_probe_all(const struct rs_probe *p)
{
	int err = give_time(p);

	if (!err)
		err = rs_probe_files(p);
	if (!err)
		err = rs_probe_pci(p);
	if (!err)
		err = rs_probe_netlink(p);
	return err ? err : rs_probe_log(p);
}

/* ---- Facts as text ---- */

void rs_fact_line(struct rs_fact_text *t, const char *subject, const char *name, const char *fmt,
		  ...)
{
	char value[1024], line[2048];
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	value[strcspn(value, "\n")] = '\0';
	snprintf(line, sizeof(line), "%s%s %s = %s\n", t->size ? "" : "# ripstop facts 1\n",
		 subject, name, value);
	n = strlen(line);
	if (t->size + n + 1 > t->room) {
		size_t room = 2 * t->room + n + 4096;
		char *more = realloc(t->data, room);

		if (!more) {
			t->err = -ENOMEM;
			return;
		}
		t->data = more;
		t->room = room;
	}
	memcpy(t->data + t->size, line, n + 1);
	t->size += n;
}

int rs_probe_emit(const struct rs_probe *p, const char *path, struct rs_fact_text *t)
{
	int err = t->err;

	if (!err && t->size)
		err = p->file(p->arg, path, t->data, t->size);
	free(t->data);
	*t = (struct rs_fact_text){0};
	return err;
}
