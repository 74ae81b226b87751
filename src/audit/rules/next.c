/* What a finding needs, in words, as one command that can be pasted as it stands. */
#include "audit/facts/word_list.h"
#include "audit/rules/next.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define COLLECT  "ripstop audit --collect $(hostname).tar.gz"
#define NCCL_LOG "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,ENV COMMAND 2>&1 | tee nccl.log"

/* Programs of hosts, and what switches' commands begin with. */
static const char *const programs[] = {
	"arp",           "cat",         "cma_roce_tos", "devlink",      "display",
	"dmesg",         "docker",      "ethtool",      "flint",        "fi_info",
	"getfattr",      "ib_write_bw", "iblinkinfo",   "ibdev2netdev", "ibnetdiscover",
	"ibqueryerrors", "ibstat",      "ibstatus",     "ibv_devinfo",  "ibv_devices",
	"ibportstate",   "ip",          "journalctl",   "kubectl",      "lldpctl",
	"lldptool",      "ls",          "lsmod",        "lspci",        "lstopo",
	"mlnx_qos",      "mlxconfig",   "mlxlink",      "mlxreg",       "modinfo",
	"mst",           "mstconfig",   "nvidia-smi",   "numactl",      "nv",
	"perfquery",     "ping",        "rdma",         "ripstop",      "rocm-smi",
	"sacct",         "scontrol",    "setpci",       "sfputil",      "show",
	"show_gids",     "sminfo",      "ss",           "sysctl",       "tc",
	"tracepath",     "ucx_info",    "uname",        "ulimit",       "vtysh",
};

static bool is_program(const char *p, size_t n)
{
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		if (strlen(programs[i]) == n && !strncmp(p, programs[i], n))
			return true;
	return !strncmp(p, "NCCL_DEBUG=", 11);
}

static bool of_switch(const char *p)
{
	return !strncmp(p, "show ", 5) || !strncmp(p, "display ", 8) || !strncmp(p, "nv ", 3) ||
	       !strncmp(p, "sfputil", 7) || !strncmp(p, "vtysh", 5);
}

/* Where one of several ways ends, and where words on it begin: "lspci -vv of the bridge". */
static size_t one_way(const char *p)
{
	static const char *const ends[] = {", ",       "; ",       " or ",     " of ",
					   " as root", " for ",    " on ",     " after ",
					   " again",   " before ", " beside ", " ("};
	size_t n = strlen(p);

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		const char *at = strstr(p, ends[i]);

		if (at && (size_t)(at - p) < n)
			n = (size_t)(at - p);
	}
	return n;
}

/* The next way behind p[n]; NULL: it was the last. */
static const char *another(const char *p, size_t n)
{
	const char *comma = strpbrk(p + n, ",;"), * or = strstr(p + n, " or ");

	p = or &&(!comma || or < comma) ? or +4 : comma ? comma + 1 : NULL;
	if (!p)
		return NULL;
	p += strspn(p, " ");
	return strncmp(p, "or ", 3) ? p : p + 3;
}

/* A word that only who asks can fill in: "ping PEER". */
static bool has_blank(const char *text)
{
	static const char *const words[] = {"PEER", "LOCAL_NETDEV", "LOCAL", "PORT", "BDF", "NODE",
					    "POD",  "ADDRESS",      "HOST",  "FILE", NULL};

	for (const char *p = text; *p; p += strspn(p, " ")) {
		size_t n = strcspn(p, " ");

		if (rs_word_in(words, p, n))
			return true;
		p += n;
	}
	return false;
}

/* The device that the finding is of, in place of "<dev>", "DEV" and the like; NULL: none is
 * named, or the command has other blanks to fill. */
static const char *filled(struct rs_audit *a, const struct rs_finding *f, const char *p, size_t n)
{
	static const char *const blanks[] = {"<dev>",  "<netdev>",  "<interface>", "DEVICE",
					     "NETDEV", "INTERFACE", "DEV"};
	const char *text = rs_audit_text(a, "%.*s", (int)n, p);
	const char *part = f->n_subjects ? f->subject[0].part : NULL;

	for (size_t i = 0; text && i < sizeof(blanks) / sizeof(*blanks); i++) {
		const char *at = strstr(text, blanks[i]);

		if (!at)
			continue;
		if (!part || !*part || !strcmp(part, "unnamed") || strpbrk(part, " ,/;|&$`'\"<>"))
			return NULL;
		text = rs_audit_text(a, "%.*s%s%s", (int)(at - text), text, part,
				     at + strlen(blanks[i]));
	}
	return text && !strpbrk(text, "<>*") && !strstr(text, "...") && !has_blank(text) ? text
											 : NULL;
}

/* A file: to be read, or, where a job names it, to be looked for. */
static const char *of_file(struct rs_audit *a, const char *p, size_t n)
{
	if (*p != '/' || n < 2 || memchr(p, ' ', n) || memchr(p, '<', n) || memchr(p, '*', n))
		return NULL;
	return rs_audit_text(
		a, !strncmp(p, "/sys/", 5) || !strncmp(p, "/proc/", 6) ? "cat %.*s" : "ls -l %.*s",
		(int)n, p);
}

/* What a system calls the command that prints its whole configuration, which tells most. */
static const struct {
	const char *os, *command;
} configurations[] = {
	{"SONiC", "show runningconfiguration all"},
	{"Cumulus", "nv config show"},
	{"Junos", "show configuration | display set | no-more"},
	{"OS10", "show running-configuration"},
	{"VRP", "display current-configuration"},
	{"Comware", "display current-configuration"},
	{"EOS", "show running-config"},
	{"NX-OS", "show running-config"},
	{"Onyx", "show running-config"},
	{"IOS XR", "show running-config"},
};

static const char *configuration_of(const char *os)
{
	for (size_t i = 0; i < sizeof(configurations) / sizeof(*configurations); i++)
		if (!strcmp(configurations[i].os, os))
			return configurations[i].command;
	return "show running-config";
}

/* Does this system have the command? */
static bool knows_command(const char *os, const char *p)
{
	bool nv = !strncmp(p, "nv ", 3), display = !strncmp(p, "display ", 8);

	if (!strcmp(os, "Cumulus"))
		return nv || !strncmp(p, "vtysh", 5);
	if (!strcmp(os, "VRP") || !strcmp(os, "Comware"))
		return display;
	return !nv && !display;
}

/* The system of a switch, as far as anything says it; "": not known. */
static const char *os_of(const struct rs_audit *a, const char *host)
{
	const char *os = rs_facts_value(a->facts, host, "host", "os");

	return os ? os : "";
}

/* Is all that was read of switches? */
static bool switches_alone(const struct rs_audit *a)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		if (!rs_facts_is_switch(a->facts, rs_facts_host(a->facts, i)))
			return false;
	return rs_facts_hosts(a->facts) > 0;
}

const char *rs_next_command(struct rs_audit *a, const struct rs_finding *f, bool *whole)
{
	const char *need = f->need[0].file, *os;
	bool sw = f->n_subjects ? rs_facts_is_switch(a->facts, f->subject[0].host)
				: switches_alone(a);

	os = !sw ? "" : os_of(a, f->n_subjects ? f->subject[0].host : rs_facts_host(a->facts, 0));
	*whole = true;
	/* a line for a shell, with its pipes */
	if (strchr(need, '|') && is_program(need, strcspn(need, " ")) && !strchr(need, '<'))
		return need;
	/* of a switch's several ways each is another system's: without a system's name the first */
	for (const char *p = need; p; p = sw && !*os ? NULL : another(p, one_way(p))) {
		size_t n = one_way(p);
		const char *file = of_file(a, p, n), *command = NULL;

		if (is_program(p, strcspn(p, " ,;")) && sw == of_switch(p) &&
		    (!*os || knows_command(os, p)))
			command = filled(a, f, p, n);
		if (command || file)
			return command ? command : file;
	}
	*whole = false;
	if (strstr(need, "NCCL's log") || strstr(need, "NCCL_VERSION") ||
	    strstr(need, "NCCL_DEBUG") || strstr(need, "job's whole log"))
		return NCCL_LOG;
	return sw ? configuration_of(os) : COLLECT;
}

const char *rs_next_of_switch(const struct rs_audit *a)
{
	static const char *const parts[] = {"nic/", "netdev/", "pci/", "gpu/", "nccl",
					    "env",  "k8s/",    "topo", "job"};
	const char *maker = NULL;

	if (switches_alone(a))
		return configuration_of(os_of(a, rs_facts_host(a->facts, 0)));
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);
		const char *own = rs_facts_value(a->facts, host, "host", "maker");

		if (rs_facts_is_switch(a->facts, host))
			continue;
		/* nothing but a maker's name is known of it: a host's parts would be told */
		for (unsigned k = 0; k < sizeof(parts) / sizeof(*parts); k++) {
			uint32_t at = 0;

			if (rs_facts_subject(a->facts, &at, host, parts[k]))
				return NULL;
		}
		if (!own)
			return NULL;
		maker = own;
	}
	return maker ? configuration_of(maker) : NULL;
}
