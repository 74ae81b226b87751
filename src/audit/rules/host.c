/* Checks of the operating system: idle states, governor, peer memory, routes. */
#include <stdio.h>
#include <string.h>
#include "audit/facts/look.h"
#include "audit/rules/rule.h"

/* ---- H01 ---- */

enum { STATES = 16, VERY_SLOW_US = 100 };

/* Idle states cost where somebody waits for an RDMA device. */
static bool uses_rdma(const struct rs_audit *a, const char *host)
{
	uint32_t at = 0;

	if (rs_facts_subject(a->facts, &at, host, "nic/"))
		return true;
	at = 0;
	return rs_facts_next(a->facts, &at, host, "netdev/", "trust") != NULL;
}

static void h01(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);
		struct rs_finding *f = NULL;
		const struct rs_fact *blind = NULL;
		bool seen = false;
		char command[128] = "cpupower idle-set";

		for (int s = 0; s < STATES; s++) {
			const struct rs_fact *latency, *disable, *name;
			char fact[48];

			snprintf(fact, sizeof(fact), "cpuidle/%d/latency_us", s);
			latency = rs_facts_get(a->facts, host, "host", fact);
			snprintf(fact, sizeof(fact), "cpuidle/%d/disable", s);
			disable = rs_facts_get(a->facts, host, "host", fact);
			snprintf(fact, sizeof(fact), "cpuidle/%d/name", s);
			name = rs_facts_get(a->facts, host, "host", fact);
			seen |= latency != NULL;
			/* slow, and nothing says whether it is enabled */
			if (latency && latency->numeric &&
			    (double)latency->number > a->set.idle_us && !disable)
				blind = blind ? blind : latency;
			if (!disable)
				continue;
			if (!latency || !latency->numeric ||
			    (double)latency->number <= a->set.idle_us ||
			    (disable && disable->numeric && disable->number))
				continue;
			if (!f) {
				f = rs_finding_new(
					a, r, RS_FAIL,
					uses_rdma(a, host) && latency->number >= VERY_SLOW_US
						? RS_MAJOR
						: RS_MINOR,
					"idle state %s takes %lld us to leave and is enabled",
					name ? name->value : "?", (long long)latency->number);
				rs_finding_subject(a, f, host, NULL);
				rs_finding_why(
					a, f,
					"a CPU that waits for the NIC falls into it between "
					"messages: each small read or interrupt then waits for "
					"the wake-up");
			}
			rs_finding_fact(f, latency);
			rs_finding_fact(f, disable);
			snprintf(command + strlen(command), sizeof(command) - strlen(command),
				 " -d %d", s);
		}
		if (f) {
			rs_finding_fix(a, f, host, false, NULL, "cpupower idle-set -E", "%s",
				       command);
			rs_finding_fix(
				a, f, host, true, "reboot", "remove them from the command line",
				"processor.max_cstate=1 intel_idle.max_cstate=1  # kernel command "
				"line");
		} else if (blind) {
			f = rs_finding_new(a, r, RS_UNKNOWN,
					   uses_rdma(a, host) ? RS_MAJOR : RS_MINOR,
					   "an idle state takes %lld us to leave; whether it is "
					   "enabled is not known",
					   (long long)blind->number);
			rs_finding_subject(a, f, host, NULL);
			rs_finding_fact(f, blind);
			rs_finding_need(a, f, "/sys/devices/system/cpu/cpu0/cpuidle/state*/disable",
					"whether CPUs fall into it");
		} else if (seen) {
			f = rs_finding_new(a, r, RS_PASS, RS_MAJOR,
					   "no enabled idle state takes more than %g us to leave",
					   a->set.idle_us);
			rs_finding_subject(a, f, host, NULL);
		}
	}
}

/* ---- H02 ---- */

/* Is this a machine that was looked at from inside, rather than one file of it? */
static bool looked_at(const struct rs_audit *a, const char *host)
{
	static const char *const signs[] = {"cmdline", "kernel", "numa_online", "cpu_vendor"};
	bool inside = false;

	for (unsigned i = 0; i < sizeof(signs) / sizeof(*signs); i++)
		inside |= rs_facts_get(a->facts, host, "host", signs[i]) != NULL;
	return inside && uses_rdma(a, host) && !rs_facts_is_switch(a->facts, host);
}

static void h02_unseen(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	bool guest = rs_look_guest(a, host);
	struct rs_finding *f;

	if (!looked_at(a, host))
		return;
	f = rs_finding_new(a, r, guest ? RS_NA : RS_UNKNOWN, RS_MINOR,
			   guest ? "a guest has no cpufreq" : "the governor is not known");
	rs_finding_subject(a, f, host, NULL);
	if (!guest)
		rs_finding_need(a, f, "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
				"whether CPUs ramp down");
}

/* A policy, a power profile or the cooling holds the clock below what the CPU can do. */
static void h02_limit(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const struct rs_fact *limit = rs_facts_get(a->facts, host, "host", "cpu_limit_khz");
	const struct rs_fact *most = rs_facts_get(a->facts, host, "host", "cpu_max_khz");
	struct rs_finding *f;

	/* a tenth is what turbo's steps differ by from tool to tool */
	if (!limit || !most || !limit->numeric || !most->numeric || limit->number <= 0 ||
	    10 * limit->number >= 9 * most->number)
		return;
	f = rs_finding_new(a, r, RS_FAIL, 2 * limit->number < most->number ? RS_MAJOR : RS_MINOR,
			   "the CPUs' clock is held to %.2f GHz, of %.2f that they can do",
			   (double)limit->number / 1e6, (double)most->number / 1e6);
	rs_finding_subject(a, f, host, NULL);
	rs_finding_fact(f, limit);
	rs_finding_fact(f, most);
	rs_finding_why(a, f,
		       "posting, polling and a job's proxy threads take as much longer: small "
		       "messages first");
	rs_finding_fix(
		a, f, host, false, NULL,
		rs_audit_text(a, "cpupower frequency-set -u %lldkHz", (long long)limit->number),
		"cpupower frequency-set -u %lldkHz", (long long)most->number);
}

static void h02(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		h02_limit(a, r, rs_facts_host(a->facts, i));
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);
		const struct rs_fact *g = rs_facts_get(a->facts, host, "host", "governor");
		struct rs_finding *f;
		bool good;

		if (!g) {
			h02_unseen(a, r, host);
			continue;
		}
		/* hardware-managed drivers call their milder policy powersave, too: still it ramps
		 */
		good = !strcmp(g->value, "performance");
		f = rs_finding_new(a, r, good ? RS_PASS : RS_FAIL, RS_MINOR, "the governor is %s",
				   g->value);
		rs_finding_subject(a, f, host, NULL);
		rs_finding_fact(f, g);
		if (!good)
			rs_finding_fix(a, f, host, false, NULL,
				       rs_audit_text(a, "cpupower frequency-set -g %s", g->value),
				       "cpupower frequency-set -g performance");
	}
}

/* ---- H03 ---- */

static void h03_fix(struct rs_audit *a, struct rs_finding *f, const char *host)
{
	rs_finding_fix(a, f, host, false, NULL, "sysctl -w kernel.numa_balancing=1",
		       "sysctl -w kernel.numa_balancing=0");
	rs_finding_fix(a, f, host, true, NULL, "rm /etc/sysctl.d/90-numa-balancing.conf",
		       "echo kernel.numa_balancing=0 > /etc/sysctl.d/90-numa-balancing.conf");
}

static void h03(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);
		const struct rs_fact *b = rs_facts_get(a->facts, host, "host", "numa_balancing");
		const char *nodes;
		struct rs_finding *f;

		if ((!b || !b->numeric) && looked_at(a, host) && rs_look_has_gpu(a, host)) {
			f = rs_finding_new(a, r, RS_UNKNOWN, RS_MINOR,
					   "whether the kernel moves memory between NUMA nodes is "
					   "not known");
			rs_finding_subject(a, f, host, NULL);
			rs_finding_need(a, f, "/proc/sys/kernel/numa_balancing",
					"whether it is off while jobs pin");
		}
		if (!b || !b->numeric)
			continue;
		/* one node has nothing to balance */
		nodes = rs_facts_value(a->facts, host, "host", "numa_online");
		if (nodes && !strpbrk(nodes, ",-"))
			continue;
		f = rs_finding_new(a, r, b->number ? RS_FAIL : RS_PASS, RS_MINOR,
				   "automatic NUMA balancing is %s", b->number ? "on" : "off");
		rs_finding_subject(a, f, host, NULL);
		rs_finding_fact(f, b);
		if (b->number)
			h03_fix(a, f, host);
	}
}

/* ---- H11 ---- */

/* The kernel's own count (mm/oom_kill.c, in /proc/vmstat). Which program it was only the log says:
 * facts/message_job.c has its lines. */
static void h11(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);
		struct rs_finding *f;
		struct rs_rise c;

		if (!rs_look_rise(a, host, "host", "oom_kill", &c))
			continue;
		if (c.by > 0)
			f = rs_finding_new(
				a, r, RS_FAIL, c.lifetime ? RS_INFO : RS_MAJOR,
				"the kernel killed %lld processes for want of memory, %s",
				(long long)c.by, rs_look_since(a, &c));
		else
			f = rs_finding_new(a, r, RS_PASS, RS_MAJOR,
					   "the kernel killed no process for want of memory, %s",
					   rs_look_since(a, &c));
		rs_finding_subject(a, f, host, NULL);
		rs_finding_fact(f, c.now);
		if (c.by <= 0)
			continue;
		rs_finding_why(a, f,
			       "peers of a killed rank see only that it does not answer: retries "
			       "run out, sockets close");
		rs_finding_need(a, f, "journalctl -k | grep -i -e oom -e 'killed process'",
				"which process it was, and when");
	}
}

const struct rs_rule rs_rules_host[] = {
	{
		.id = "H01",
		.name = "cpu-idle",
		.severity = RS_MAJOR,
		.criterion = "No enabled idle state takes more than 10 us to leave on CPUs that "
			     "wait for a NIC.",
		.authority = "Linux kernel, admin-guide/pm/cpuidle",
		.explain =
			"A core that has nothing to do for a while sinks into deeper idle states; "
			"leaving them "
			"takes up to hundreds of microseconds, which is many times an RDMA read. A "
			"held PM QoS "
			"request (/dev/cpu_dma_latency) masks states without their being disabled.",
		.run = h01,
	},
	{
		.id = "H02",
		.name = "governor",
		.severity = RS_MINOR,
		.criterion = "The cpufreq governor is performance, and its policy lets the CPUs' "
			     "clock rise.",
		.authority = "Linux kernel, admin-guide/pm/cpufreq",
		.explain = "Other governors raise the clock only after load has come. "
			   "intel_pstate's powersave is "
			   "managed by hardware and milder, but still ramps.",
		.run = h02,
	},
	{
		.id = "H03",
		.name = "numa-balancing",
		.severity = RS_MINOR,
		.criterion =
			"Automatic NUMA balancing is off where jobs pin their memory and CPUs.",
		.authority = "Linux kernel, admin-guide/sysctl/kernel (numa_balancing)",
		.explain = "The kernel unmaps pages to learn who uses them; a pinned GPU job gains "
			   "nothing and pays "
			   "for the faults.",
		.run = h03,
	},
	{
		.id = "H11",
		.name = "memory",
		.severity = RS_CRITICAL,
		.criterion = "No process of the job was killed for want of memory.",
		.authority = "Linux kernel, mm/oom_kill.c, /proc/vmstat (oom_kill); cgroup v2, "
			     "memory.events",
		.explain = "A rank that the kernel kills says nothing itself. Its peers report "
			   "retries that run out and "
			   "sockets that close, which look like faults of the network.",
		.run = h11,
	},
	{0},
};
