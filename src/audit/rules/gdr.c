/* Checks of GPUDirect RDMA: the kernel's module for peer memory, and the window onto a GPU's
 * memory. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/look.h"
#include "audit/facts/nccl.h"
#include "audit/rules/device.h"

/* ---- P12 ---- */

/* Which peer memory interfaces a release accepts; read in its sources. */
static bool accepts(uint32_t version, const char *peer)
{
	static const struct {
		const char *peer;
		uint32_t since, until; /* 0: no bound */
	} by_release[] = {
		{"nv_mem", 0, 0},
		{"nvidia-peermem", 20900, 22199},
		{"nv_mem_nc", 22203, 0},
		{"module", 22304, 0}, /* /sys/module/nvidia_peermem/version */
	};

	for (unsigned i = 0; i < sizeof(by_release) / sizeof(*by_release); i++)
		if (!strcmp(by_release[i].peer, peer))
			return !version ||
			       ((!by_release[i].since || version >= by_release[i].since) &&
				(!by_release[i].until || version <= by_release[i].until));
	return false;
}

/* 1: the kernel and the GPU driver export dma-buf, and this release uses it; 0: not; -1: unknown.
 */
static int dma_buf(const struct rs_audit *a, const char *host, uint32_t version,
		   const struct rs_fact **why)
{
	const struct rs_fact *kernel = rs_facts_get(a->facts, host, "host", "kernel");
	const struct rs_fact *module = rs_facts_get(a->facts, host, "host", "gpu_module");
	const struct rs_fact *off = rs_nccl_env(a, host, "NCCL_DMABUF_ENABLE");
	unsigned major, minor;

	*why = off;
	if ((off && off->numeric && !off->number) || (version && version < 21300))
		return 0;
	*why = kernel;
	if (kernel && sscanf(kernel->value, "%u.%u", &major, &minor) == 2 &&
	    (major < 5 || (major == 5 && minor < 12)))
		return 0;
	*why = module;
	if (module && !strcmp(module->value, "proprietary"))
		return 0;
	return module && kernel ? 1 : -1;
}

/* A list of modules that was not filtered: it has the GPU driver and is long. */
static bool modules_whole(const struct rs_audit *a, const char *host)
{
	enum { LONG = 20 };
	const struct rs_fact *f;
	unsigned n = 0;
	uint32_t at = 0;

	while ((f = rs_facts_next(a->facts, &at, host, "host", "module/")))
		n++;
	return n >= LONG && rs_facts_get(a->facts, host, "host", "module/nvidia");
}

static const struct rs_fact *peer_memory(const struct rs_audit *a, const char *host,
					 uint32_t version)
{
	static const char *const peers[] = {"nv_mem", "nvidia-peermem", "nv_mem_nc"};
	const struct rs_fact *f;

	for (unsigned i = 0; i < sizeof(peers) / sizeof(*peers); i++) {
		f = rs_look(a, host, "host", "memory_peers/%s", peers[i]);
		if (f && accepts(version, peers[i]))
			return f;
	}
	f = rs_facts_get(a->facts, host, "host", "module/nvidia_peermem");
	return f && accepts(version, "module") ? f : NULL;
}

static void p12_fix(struct rs_audit *a, struct rs_finding *f, const char *host)
{
	rs_finding_fix(a, f, host, false, NULL, "modprobe -r nvidia-peermem",
		       "modprobe nvidia-peermem");
	rs_finding_fix(a, f, host, true, NULL, "rm /etc/modules-load.d/nvidia-peermem.conf",
		       "echo nvidia-peermem > /etc/modules-load.d/nvidia-peermem.conf");
	rs_finding_choice(f);
	rs_finding_fix(a, f, host, true, "the GPU driver's reload", "the former driver",
		       "install the open GPU kernel module (kernel 5.12 or later): NCCL then uses "
		       "dma-buf");
}

/* A shell or modprobe said that it is not there. */
static const struct rs_fact *absent_module(const struct rs_audit *a, const char *host)
{
	static const char *const names[] = {"/sys/module/nvidia_peermem/version",
					    "/sys/module/nvidia_peermem", "module/nvidia-peermem",
					    "module/nvidia_peermem", "module/peermem"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const struct rs_fact *f = rs_facts_get(a->facts, host, "absent", names[i]);

		if (f)
			return f;
	}
	return NULL;
}

/* Someone looked for it, "lsmod | grep peermem", and the answer was empty. */
static bool asked_for(const struct rs_fact *gone)
{
	return !strncmp(gone->value, "lsmod", 5) || strstr(gone->value, "/proc/modules");
}

/* Of what is there and what says that it is gone, both of one file, the later line counts. */
static void keep_later(const struct rs_fact **there, const struct rs_fact **gone)
{
	if (!*there || !*gone || (*there)->file != (*gone)->file || !(*there)->line ||
	    !(*gone)->line)
		return;
	if ((*gone)->line > (*there)->line)
		*there = NULL;
	else
		*gone = NULL;
}

/* Another host of what was read that has peer memory; NULL: none. */
static const struct rs_fact *elsewhere(const struct rs_audit *a, const char *host)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *other = rs_facts_host(a->facts, i);
		const struct rs_fact *f = peer_memory(a, other, 0);

		if (!f)
			f = rs_facts_get(a->facts, other, "host", "module/nvidia_peermem");
		if (f && strcmp(other, host))
			return f;
	}
	return NULL;
}

static void p12_host(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const struct rs_fact *gdr = rs_facts_get(a->facts, host, "nccl", "via_ib_gdr");
	const struct rs_fact *module =
		rs_facts_get(a->facts, host, "host", "module/nvidia_peermem");
	uint32_t version = rs_nccl_version(a, host, NULL);
	const struct rs_fact *peer = peer_memory(a, host, version), *why;
	const struct rs_fact *gone = absent_module(a, host), *said = gone;
	const struct rs_fact *without = rs_facts_get(a->facts, host, "nccl", "via_ib"), *other;
	int dma = dma_buf(a, host, version, &why);
	struct rs_finding *f;

	keep_later(&peer, &said);
	keep_later(&module, &gone);
	if (gdr && without && !peer && dma <= 0) {
		f = rs_finding_new(a, r, RS_UNKNOWN, RS_CRITICAL,
				   "NCCL's log shows GPUDirect RDMA on some channels and none on "
				   "others");
		rs_finding_fact(f, gdr);
		rs_finding_fact(f, without);
		rs_finding_need(a, f, "nvidia-smi topo -m, and the log of each rank",
				"whether NICs are too far from their GPUs, or one of them cannot "
				"register their memory");
		rs_finding_subject(a, f, host, NULL);
		return;
	}
	/* what a job did outranks what is loaded */
	if (gdr || peer || dma > 0) {
		f = rs_finding_new(a, r, RS_PASS, RS_CRITICAL,
				   gdr    ? "NCCL's log shows GPUDirect RDMA in use"
				   : peer ? "the peer memory interface is there"
					  : "dma-buf takes the place of peer memory");
		rs_finding_fact(f, gdr ? gdr : peer ? peer : why);
	} else if (!dma && !module && (gone || modules_whole(a, host))) {
		f = rs_finding_new(a, r, RS_FAIL, RS_CRITICAL,
				   "nvidia_peermem is not loaded, and dma-buf is not available");
		rs_finding_why(a, f,
			       "NICs cannot reach GPU memory: each transfer is copied through "
			       "host memory");
		rs_finding_fact(f, gone ? gone
					: rs_facts_get(a->facts, host, "host", "module/nvidia"));
		rs_finding_fact(f, why);
		p12_fix(a, f, host);
	} else if (dma < 0 && !module && gone && (other = elsewhere(a, host))) {
		f = rs_finding_new(a, r, RS_FAIL, RS_MAJOR,
				   "nvidia_peermem is not there, and %s has it", other->host);
		rs_finding_why(a, f,
			       "ranks of this host copy each transfer through host memory, unless "
			       "dma-buf takes its place, and the others wait for them");
		rs_finding_fact(f, gone);
		rs_finding_fact(f, other);
		if (f)
			f->confidence = RS_MEDIUM;
		p12_fix(a, f, host);
	} else if (dma < 0 && !module && gone && strstr(gone->value, "nv_peer")) {
		/* the module of times before dma-buf */
		f = rs_finding_new(a, r, RS_FAIL, RS_MAJOR,
				   "nv_peer_mem was looked for, and is not loaded");
		rs_finding_why(a, f,
			       "unless dma-buf takes its place (kernel 5.12 or later), NICs cannot "
			       "reach GPU memory: each transfer is copied through host memory");
		rs_finding_fact(f, gone);
		rs_finding_need(a, f, "/proc/driver/nvidia/version, uname -r",
				"whether dma-buf takes its place");
		if (f)
			f->confidence = RS_MEDIUM;
		p12_fix(a, f, host);
	} else {
		f = rs_finding_new(a, r, RS_UNKNOWN, RS_CRITICAL,
				   module ? "nvidia_peermem is loaded; whether ib_core took it is "
					    "not known"
				   : gone ? "nvidia_peermem is not there; whether dma-buf takes "
					    "its place is not known"
					  : "whether GPU memory can be registered is not known");
		rs_finding_fact(f, module ? module
				   : gone ? gone
					  : rs_facts_get(a->facts, host, "nccl", "via_ib"));
		if (module)
			rs_finding_need(a, f, "/sys/kernel/mm/memory_peers/*/version",
					"an inbox ib_core registers nothing although the module is "
					"loaded");
		else
			rs_finding_need(a, f, "lsmod, /sys/module/nvidia_peermem/version",
					"whether nvidia_peermem is loaded");
		rs_finding_need(a, f, "/proc/driver/nvidia/version, uname -r",
				"whether dma-buf takes its place");
	}
	rs_finding_subject(a, f, host, NULL);
}

void device_p12(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);

		if ((rs_look_has_gpu(a, host) && rs_look_has_rdma(a, host)) ||
		    rs_facts_get(a->facts, host, "host", "module/nvidia_peermem") ||
		    (absent_module(a, host) && (rs_look_has_gpu(a, host) || elsewhere(a, host) ||
						asked_for(absent_module(a, host)) ||
						rs_facts_get(a->facts, host, "nccl", "log"))) ||
		    rs_facts_get(a->facts, host, "nccl", "via_ib"))
			p12_host(a, r, host);
	}
}

/* ---- P13 ---- */

static void p13_function(struct rs_audit *a, const struct rs_rule *r, const char *host,
			 const char *pci, const char *kind)
{
	enum { SMALL_MIB = 256, LARGE_MIB = 24 * 1024 };
	const struct rs_fact *bar = rs_facts_get(a->facts, host, pci, "bar1_mib");
	const struct rs_fact *fb = rs_facts_get(a->facts, host, pci, "fb_mib");
	const char *class = rs_facts_value(a->facts, host, pci, "class");
	const char *vendor = rs_facts_value(a->facts, host, pci, "vendor");
	const char *product = rs_facts_value(a->facts, host, pci, "product");
	struct rs_finding *f;
	bool small, minor;

	/* a display controller is a consumer's card, whose BAR is small by right */
	if (*kind != 'g' || !bar || !bar->numeric || (class && !strncmp(class, "0x0300", 6)) ||
	    (product && strstr(product, "GeForce")) || (vendor && strcasecmp(vendor, "0x10de")) ||
	    rs_facts_get(a->facts, host, pci, "mig"))
		return;
	small = fb && fb->numeric ? bar->number < fb->number : bar->number <= SMALL_MIB;
	/* cards of little memory, as for inference (T4), come so; where no device of RDMA is in
	 * sight nothing is known to reach through it */
	minor = small && !rs_look_has_rdma(a, host) &&
		(!fb || (fb->numeric && fb->number < LARGE_MIB));
	f = rs_finding_new(a, r, small ? RS_FAIL : RS_PASS, minor ? RS_MINOR : RS_MAJOR,
			   "BAR1 is %lld MiB%s", (long long)bar->number,
			   fb ? rs_audit_text(a, " for %s MiB of memory", fb->value) : "");
	rs_finding_subject(a, f, host, pci + 4);
	rs_finding_fact(f, bar);
	rs_finding_fact(f, fb);
	if (!small)
		return;
	rs_finding_why(a, f,
		       "GPUDirect RDMA reaches what BAR1 maps; the rest goes through windows "
		       "or host memory");
	rs_finding_fix(a, f, host, true, "reboot", "the former options",
		       "BIOS: Above 4G Decoding and Resizable BAR on");
	if (f)
		f->states_failure = minor;
}

/* A machine that was looked at from inside, and not one GPU's BARs were shown. */
static void p13_unseen(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	struct rs_finding *f;
	const char *pci;
	uint32_t at = 0;
	bool gpu = false;

	if (!rs_look_has_rdma(a, host) || (!rs_facts_get(a->facts, host, "host", "kernel") &&
					   !rs_facts_get(a->facts, host, "host", "cmdline")))
		return;
	while ((pci = rs_facts_subject(a->facts, &at, host, "pci/"))) {
		const char *vendor = rs_facts_value(a->facts, host, pci, "vendor");

		if (rs_facts_get(a->facts, host, pci, "bar1_mib"))
			return;
		gpu |= !strcmp(rs_look_kind(a, host, pci), "gpu") &&
		       (!vendor || !strcasecmp(vendor, "0x10de"));
	}
	if (!gpu)
		return;
	f = rs_finding_new(a, r, RS_UNKNOWN, RS_MAJOR, "the size of the GPUs' BAR1 is not known");
	rs_finding_subject(a, f, host, NULL);
	rs_finding_need(a, f, "nvidia-smi -q, or /sys/bus/pci/devices/<gpu>/resource",
			"whether all of a GPU's memory can be reached");
}

void device_p13(struct rs_audit *a, const struct rs_rule *r)
{
	device_each(a, r, p13_function);
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		p13_unseen(a, r, rs_facts_host(a->facts, i));
}
