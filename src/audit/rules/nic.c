/* Checks of NICs as the operating system has them: interrupts, locked memory, routes, bonds, state,
 * link layer. Linux Documentation/networking (bonding, ip-sysctl), IBTA vol. 1 chapter 14. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/look.h"
#include "audit/facts/nccl.h"
#include "audit/facts/qos.h"
#include "audit/rules/ib_links.h"
#include "audit/rules/rule.h"

/* ---- H04 ---- */

enum { CPUS = 4096 };

/* "0-3,8" as bits; false: not understood. */
static bool cpu_list(const char *p, uint8_t *bits)
{
	memset(bits, 0, CPUS / 8);
	while (*p && !isspace((unsigned char)*p)) {
		unsigned from, to;
		int used;

		if (sscanf(p, "%u-%u%n", &from, &to, &used) != 2) {
			if (sscanf(p, "%u%n", &from, &used) != 1)
				return false;
			to = from;
		}
		for (; from <= to && from < CPUS; from++)
			bits[from / 8] |= (uint8_t)(1 << from % 8);
		p += used;
		p += *p == ',';
	}
	return true;
}

static bool within(const uint8_t *inner, const uint8_t *outer)
{
	for (int i = 0; i < CPUS / 8; i++)
		if (inner[i] & ~outer[i])
			return false;
	return true;
}

/* The function that an interrupt's name speaks of: "mlx5_comp3@pci:0000:17:00.0". */
static bool function_of(const char *action, char *pci, size_t size)
{
	const char *p = strstr(action, "@pci:");

	if (!p || !strstr(action, "comp"))
		return false;
	snprintf(pci, size, "pci/%.*s", (int)strcspn(p + 5, " ,"), p + 5);
	return true;
}

/* The interface of a function ("pci/0000:17:00.0"). */
static const char *netdev_of(struct rs_audit *a, const char *host, const char *pci)
{
	const char *nic;
	uint32_t at = 0;

	if (!strncmp(pci, "netdev/", 7))
		return pci + 7;
	while ((nic = rs_facts_subject(a->facts, &at, host, "nic/"))) {
		const char *netdev = rs_facts_value(a->facts, host, nic, "netdev");
		char own[160];

		if (netdev && rs_look_pci_of(a, host, nic, own, sizeof(own)) && !strcmp(own, pci))
			return netdev;
	}
	return "<netdev>";
}

static void h04_fix(struct rs_audit *a, struct rs_finding *f, const char *host, const char *pci)
{
	int64_t node = rs_look_number(a, host, pci, "numa_node", -1);

	rs_finding_fix(a, f, host, true, NULL, "systemctl enable --now irqbalance",
		       "systemctl disable --now irqbalance");
	rs_finding_fix(a, f, host, false, NULL, NULL, "set_irq_affinity_bynode.sh %s %s",
		       node < 0 ? "<node>" : rs_audit_text(a, "%lld", (long long)node),
		       netdev_of(a, host, pci));
}

/* The CPUs of a device's own node. */
static const struct rs_fact *node_cpus(const struct rs_audit *a, const char *host,
				       const char *subject)
{
	int64_t node = rs_look_number(a, host, subject, "numa_node", -1);
	char name[48];

	snprintf(name, sizeof(name), "numa_cpus/%lld", (long long)node);
	return node < 0 ? NULL : rs_facts_get(a->facts, host, "host", name);
}

/* The CPUs that are near to an interrupt's device, whose name goes to *part; NULL: not known. */
static const struct rs_fact *near_irq(const struct rs_audit *a, const char *host, const char *irq,
				      char *part, size_t size)
{
	const char *action = rs_facts_value(a->facts, host, irq, "action");
	const char *netdev = rs_facts_value(a->facts, host, irq, "netdev");
	const struct rs_fact *near;

	if (action && function_of(action, part, size)) {
		near = rs_facts_get(a->facts, host, part, "local_cpus");
		return near ? near : node_cpus(a, host, part);
	}
	if (!netdev)
		return NULL;
	snprintf(part, size, "netdev/%s", netdev);
	return node_cpus(a, host, part);
}

static void h04_host(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	uint8_t mine[CPUS / 8], local[CPUS / 8];
	struct rs_finding *f = NULL;
	unsigned right = 0, blind = 0;
	const char *irq;
	uint32_t at = 0;
	char part[96];

	while ((irq = rs_facts_subject(a->facts, &at, host, "irq/"))) {
		const struct rs_fact *cpus = rs_facts_get(a->facts, host, irq, "cpus"), *near;

		*part = '\0';
		near = near_irq(a, host, irq, part, sizeof(part));
		if (!*part)
			continue;
		/* where it went, where nobody says where it may go */
		cpus = cpus ? cpus : rs_facts_get(a->facts, host, irq, "ran_on");
		if (!cpus || !near || !cpu_list(cpus->value, mine) ||
		    !cpu_list(near->value, local)) {
			blind++;
			continue;
		}
		if (within(mine, local)) {
			right++;
			continue;
		}
		if (!f) {
			f = rs_finding_new(
				a, r, RS_FAIL, RS_MINOR,
				"completion interrupts of %s go to CPUs of another socket",
				strchr(part, '/') + 1);
			rs_finding_subject(a, f, host, strchr(part, '/') + 1);
			rs_finding_why(a, f,
				       "each wake-up crosses the sockets; software that polls "
				       "(NCCL) takes few of them, so this costs it next to "
				       "nothing");
			h04_fix(a, f, host, part);
			rs_finding_unpriced(a, f, "polling data paths take few interrupts");
		}
		rs_finding_fact(f, cpus);
		rs_finding_fact(f, near);
	}
	if (!f && right)
		rs_finding_subject(a,
				   rs_finding_new(a, r, RS_PASS, RS_MINOR,
						  "%u completion interrupts are near their NIC",
						  right),
				   host, NULL);
	if (!f && !right && blind) {
		f = rs_finding_new(a, r, RS_UNKNOWN, RS_MINOR,
				   "where %u completion interrupts go is not known", blind);
		rs_finding_subject(a, f, host, NULL);
		rs_finding_need(a, f, "/proc/irq/*/smp_affinity_list, .../local_cpulist",
				"whether they are near their NIC");
	}
}

static void h04(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		h04_host(a, r, rs_facts_host(a->facts, i));
}

/* ---- H05 ---- */

static void h05_unseen(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	struct rs_finding *f;

	/* a machine that was looked at from inside, not one file of it */
	if (!rs_look_has_rdma(a, host) || (!rs_facts_get(a->facts, host, "host", "kernel") &&
					   !rs_facts_get(a->facts, host, "host", "cmdline")))
		return;
	f = rs_finding_new(a, r, RS_UNKNOWN, RS_MAJOR,
			   "how much memory a job may lock is not known");
	rs_finding_subject(a, f, host, NULL);
	rs_finding_need(a, f, "/proc/<pid of slurmd, containerd or kubelet>/limits",
			"whether registering memory can fail");
}

/* Of several shells and files that are believed alike, the lowest limit is the one that bites. */
static const struct rs_fact *lowest_memlock(const struct rs_audit *a, const char *host)
{
	const struct rs_fact *low = rs_facts_get(a->facts, host, "host", "memlock"), *f;
	/* through a launcher it was asked: that is the job's own */
	const struct rs_fact *job = rs_facts_get(a->facts, host, "host", "memlock_job");
	uint32_t at = 0;

	while (low && (f = rs_facts_next(a->facts, &at, host, "host", "memlock"))) {
		if (strcmp(f->name, "memlock") || strcmp(f->subject, "host") || !f->numeric)
			continue;
		if ((job || f->trust == low->trust) && (!low->numeric || f->number < low->number))
			low = f;
	}
	return low;
}

/* The limit of a container is set where it is started. false: it is no container's. */
static bool h05_container(struct rs_audit *a, struct rs_finding *f, const char *host)
{
	const char *by = rs_facts_value(a->facts, host, "host", "memlock_job");

	if (!by || strcmp(by, "docker"))
		return false;
	rs_finding_fix(a, f, host, true, "the container", NULL,
		       "docker run --ulimit memlock=-1, or in Compose: ulimits: {memlock: -1}");
	return true;
}

static void h05(struct rs_audit *a, const struct rs_rule *r)
{
	const int64_t enough = (int64_t)1 << 30; /* what a rank registers at the least */

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);
		const struct rs_fact *m = lowest_memlock(a, host);
		const struct rs_fact *bites = rs_facts_get(a->facts, host, "nccl", "verbs_failure");
		bool low, own;
		struct rs_finding *f;

		if (!m) {
			h05_unseen(a, r, host);
			continue;
		}
		/* another library's words for the same: ENOMEM of a registration */
		if (!bites) {
			uint32_t at = 0;

			bites = rs_facts_next(a->facts, &at, host, "message", "verbs-register/12");
		}
		low = m->numeric && m->number < enough;
		/* the limit of the shell that audits is not the job's */
		own = strstr(m->file, "self/limits") != NULL;
		bites = bites && strstr(bites->value, "reg_mr") ? bites : NULL;
		if (low && (own || !rs_look_has_rdma(a, host)) && !bites) {
			if (!rs_look_has_rdma(a, host)) {
				if (own)
					continue;
				f = rs_finding_new(
					a, r, RS_FAIL,
					rs_facts_get(a->facts, host, "host", "memlock_job")
						? RS_CRITICAL
						: RS_INFO,
					"at most %s bytes may be locked: too little for "
					"RDMA",
					m->value);
				rs_finding_subject(a, f, host, NULL);
				rs_finding_fact(f, m);
				rs_finding_why(
					a, f,
					f && f->severity == RS_INFO
						? "an RDMA device was not seen on this host: it "
						  "matters where there is one"
						: "registered memory is locked: ibv_reg_mr fails "
						  "with ENOMEM beyond the limit, and this is the "
						  "job's own");
				h05_container(a, f, host);
				continue;
			}
			f = rs_finding_new(
				a, r, RS_UNKNOWN, RS_CRITICAL,
				"this shell may lock %lld kB; the job's launcher was not "
				"looked at",
				(long long)m->number / 1024);
			rs_finding_need(a, f, "/proc/<pid of slurmd, containerd or kubelet>/limits",
					"how much memory the job may lock");
		} else {
			f = rs_finding_new(
				a, r, low ? RS_FAIL : RS_PASS, bites ? RS_CRITICAL : RS_MAJOR,
				low ? "at most %s bytes may be locked" : "%s bytes may be locked",
				m->value);
		}
		rs_finding_subject(a, f, host, NULL);
		rs_finding_fact(f, m);
		if (!low)
			continue;
		rs_finding_fact(f, bites);
		rs_finding_why(a, f,
			       "registered memory is locked: ibv_reg_mr fails with ENOMEM "
			       "beyond the limit");
		if (h05_container(a, f, host))
			continue;
		rs_finding_fix(a, f, host, true, "the job's launcher restarts",
			       "rm /etc/security/limits.d/rdma.conf",
			       "printf '* soft memlock unlimited\\n* hard memlock unlimited\\n' > "
			       "/etc/security/limits.d/rdma.conf");
		rs_finding_fix(a, f, host, true, "the job's launcher restarts",
			       "remove LimitMEMLOCK from the unit",
			       "LimitMEMLOCK=infinity  # [Service] of slurmd, containerd, kubelet");
	}
}

/* ---- H06 ---- */

static void h06(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);
		const struct rs_fact *n = rs_facts_get(a->facts, host, "host", "hugepages");
		struct rs_finding *f;

		if (!n || !n->numeric)
			continue;
		f = rs_finding_new(a, r, RS_PASS, RS_INFO, "%lld huge pages are set aside%s",
				   (long long)n->number,
				   n->number ? ": DPDK and SPDK use them, NCCL does not"
					     : "; NCCL needs none");
		rs_finding_subject(a, f, host, NULL);
		rs_finding_fact(f, n);
	}
}

/* ---- H07 ---- */

enum { RAILS = 32 };

struct home {
	const char *netdev;
	const struct rs_fact *address;
	uint32_t ip, net, mask;
};

static bool parse_cidr(const char *cidr, struct home *h)
{
	unsigned b[4], bits;

	if (sscanf(cidr, "%u.%u.%u.%u/%u", &b[0], &b[1], &b[2], &b[3], &bits) != 5 || bits > 32 ||
	    b[0] > 255 || b[1] > 255 || b[2] > 255 || b[3] > 255)
		return false;
	h->ip = b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3];
	h->mask = bits ? UINT32_MAX << (32 - bits) : 0;
	h->net = h->ip & h->mask;
	return true;
}

/* Interfaces that their names call RDMA's, where nothing else tells which are. */
static unsigned homes_named(const struct rs_audit *a, const char *host, struct home *h)
{
	static const char *const names[] = {"rdma", "roce", "rail"};
	const char *netdev;
	unsigned n = 0;
	uint32_t at = 0;

	while (n < RAILS && (netdev = rs_facts_subject(a->facts, &at, host, "netdev/"))) {
		bool named = false;

		for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
			named |= !strncmp(netdev + 7, names[i], strlen(names[i]));
		h[n].netdev = netdev + 7;
		h[n].address = rs_facts_get(a->facts, host, netdev, "address");
		if (named && h[n].address && parse_cidr(h[n].address->value, &h[n]))
			n++;
	}
	return n;
}

/* RoCE interfaces with an IPv4 address. */
static unsigned homes(const struct rs_audit *a, const char *host, struct home *h)
{
	const char *nic;
	unsigned n = 0;
	uint32_t at = 0;

	if (!rs_facts_subject(a->facts, &at, host, "nic/"))
		return homes_named(a, host, h);
	at = 0;

	while (n < RAILS && (nic = rs_facts_subject(a->facts, &at, host, "nic/"))) {
		const char *layer = rs_facts_value(a->facts, host, nic, "link_layer");
		const char *nd = rs_facts_value(a->facts, host, nic, "netdev");
		char subject[160];

		if (!nd || (layer && strcmp(layer, "Ethernet")))
			continue;
		snprintf(subject, sizeof(subject), "netdev/%s", nd);
		h[n].netdev = nd;
		h[n].address = rs_facts_get(a->facts, host, subject, "address");
		if (h[n].address && parse_cidr(h[n].address->value, &h[n]))
			n++;
	}
	return n;
}

/* "from 10.1.0.5 lookup 101": is there a rule for this source? */
static bool has_rule(const struct rs_audit *a, const char *host, const struct home *h)
{
	const struct rs_fact *f;
	uint32_t at = 0;

	while ((f = rs_facts_next(a->facts, &at, host, "host", "rule/"))) {
		unsigned b[4];

		if (sscanf(f->value, "from %u.%u.%u.%u", &b[0], &b[1], &b[2], &b[3]) == 4 &&
		    (b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3]) == h->ip)
			return true;
	}
	return false;
}

/* The kernel takes the larger of "all" and the interface's own. -1: not known. */
static int64_t conf(const struct rs_audit *a, const char *host, const char *what, const char *nd)
{
	char name[160];
	int64_t all, own;

	snprintf(name, sizeof(name), "%s/all", what);
	all = rs_look_number(a, host, "host", name, -1);
	snprintf(name, sizeof(name), "%s/%s", what, nd);
	own = rs_look_number(a, host, "host", name, -1);
	return all > own ? all : own;
}

/* The gateway of a default route by this interface; NULL: none is known. */
static const char *gateway_of(struct rs_audit *a, const char *host, const char *netdev)
{
	const struct rs_fact *f;
	uint32_t at = 0;

	while ((f = rs_facts_next(a->facts, &at, host, "host", "route/default"))) {
		char dev[64], via[64];

		if (sscanf(f->value, "%63s via %63s", dev, via) == 2 && !strcmp(dev, netdev))
			return rs_audit_text(a, "%s", via);
	}
	return NULL;
}

static void h07_fix(struct rs_audit *a, struct rs_finding *f, const char *host,
		    const struct home *h, unsigned n)
{
	rs_finding_fix(a, f, host, false, NULL,
		       "sysctl -w net.ipv4.conf.all.arp_ignore=0 net.ipv4.conf.all.arp_announce=0",
		       "sysctl -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2 "
		       "net.ipv4.conf.all.rp_filter=2");
	for (unsigned i = 0; i < n && i < 6; i++) {
		int ip = (int)strcspn(h[i].address->value, "/");
		const char *gateway = gateway_of(a, host, h[i].netdev);

		rs_finding_fix(a, f, host, false, NULL,
			       rs_audit_text(a, "ip rule del from %.*s table %u", ip,
					     h[i].address->value, 101 + i),
			       "ip rule add from %.*s table %u", ip, h[i].address->value, 101 + i);
		rs_finding_fix(a, f, host, false, NULL,
			       rs_audit_text(a, "ip route flush table %u", 101 + i),
			       "ip route replace %s dev %s src %.*s table %u",
			       gateway ? rs_audit_text(a, "default via %s", gateway)
				       : rs_audit_text(a, "%u.%u.%u.%u/%d", h[i].net >> 24,
						       h[i].net >> 16 & 255, h[i].net >> 8 & 255,
						       h[i].net & 255,
						       __builtin_popcount(h[i].mask)),
			       h[i].netdev, ip, h[i].address->value, 101 + i);
	}
}

static void h07_host(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	struct home h[RAILS], same[RAILS];
	unsigned n = homes(a, host, h), shared = 0, ruled = 0;
	bool seen = rs_facts_get(a->facts, host, "host", "rules_seen") != NULL, arp_known = true;
	bool arp_right = true;
	struct rs_finding *f;

	for (unsigned i = 0; i < n; i++) {
		bool with = false;

		for (unsigned k = 0; k < n; k++)
			with |= k != i && h[k].net == h[i].net && h[k].mask == h[i].mask &&
				strcmp(h[k].netdev, h[i].netdev);
		if (with)
			same[shared++] = h[i];
	}
	if (n < 2)
		return;
	if (!shared) {
		f = rs_finding_new(a, r, RS_PASS, RS_CRITICAL,
				   "%u RoCE interfaces, each in a network of its own", n);
		rs_finding_subject(a, f, host, NULL);
		return;
	}
	for (unsigned i = 0; i < shared; i++) {
		int64_t ignore = conf(a, host, "arp_ignore", same[i].netdev);
		int64_t announce = conf(a, host, "arp_announce", same[i].netdev);

		ruled += has_rule(a, host, &same[i]);
		arp_known &= ignore >= 0 && announce >= 0;
		arp_right &= ignore >= 1 && announce >= 2;
	}
	if (ruled == shared && arp_known && arp_right) {
		f = rs_finding_new(a, r, RS_PASS, RS_CRITICAL,
				   "%u RoCE interfaces in one network, each with a rule for its "
				   "source",
				   shared);
	} else if ((seen && ruled < shared) || (arp_known && !arp_right)) {
		f = rs_finding_new(
			a, r, RS_FAIL, RS_CRITICAL, "%u RoCE interfaces in one network%s%s", shared,
			seen && ruled < shared ? ", without a rule by source address" : "",
			arp_known && !arp_right ? ", and each answers ARP for all" : "");
		rs_finding_why(a, f,
			       "the kernel sends and answers by whichever interface comes "
			       "first: traffic of all rails takes one, or is dropped");
		h07_fix(a, f, host, same, shared);
	} else {
		f = rs_finding_new(a, r, RS_UNKNOWN, RS_CRITICAL,
				   "%u RoCE interfaces in one network; rules and ARP are not known",
				   shared);
		rs_finding_need(a, f, "ip rule; sysctl net.ipv4.conf",
				"whether each address leaves by its own interface");
	}
	rs_finding_subject(a, f, host, NULL);
	for (unsigned i = 0; i < shared; i++)
		rs_finding_fact(f, same[i].address);
	rs_finding_fact(f, rs_facts_get(a->facts, host, "host", "arp_ignore/all"));
}

/* Which way the kernel takes to a peer (ip route get): an address of one interface that leaves by
 * another, or a peer that no RDMA device's interface leads to. */
static void h07_way(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const struct rs_fact *way, *other;
	uint32_t at = 0;

	while ((way = rs_facts_next(a->facts, &at, host, "route_get/", "dev"))) {
		const char *src = rs_facts_value(a->facts, host, way->subject, "src");
		const char *mine = NULL, *rail = NULL;
		struct home h[RAILS], to;
		uint32_t k = 0;
		struct rs_finding *f;

		while (src && !mine &&
		       (other = rs_facts_next(a->facts, &k, host, "netdev/", "address")))
			if (!strncmp(other->value, src, strlen(src)) &&
			    strchr("/", other->value[strlen(src)]))
				mine = other->subject + 7;
		if (mine && !strcmp(mine, way->value))
			mine = NULL;
		/* a rail's own network, and another interface */
		for (unsigned i = 0, n = homes(a, host, h); i < n; i++) {
			if (!strcmp(h[i].netdev, way->value)) {
				rail = NULL;
				break;
			}
			if (parse_cidr(
				    rs_audit_text(a, "%s/32", way->subject + strlen("route_get/")),
				    &to) &&
			    (to.net & h[i].mask) == h[i].net)
				rail = h[i].netdev;
		}
		if (!mine && !rail)
			continue;
		f = rs_finding_new(a, r, RS_FAIL, RS_MAJOR,
				   mine ? "packets from %s's address to %s leave by %s"
					: "no packet leaves by %s to %s: the way is %s",
				   mine ? mine : rail, way->subject + strlen("route_get/"),
				   way->value);
		rs_finding_subject(a, f, host, way->value);
		rs_finding_fact(f, way);
		rs_finding_why(a, f,
			       "a queue pair of RoCE uses the interface of its own GID: where the "
			       "route of its peer leaves by another, it does not connect, or its "
			       "packets have the wrong source");
		rs_finding_need(a, f, "ip rule; ip route show table all",
				"whether each address has a table of its own");
		if (f)
			f->confidence = RS_MEDIUM;
	}
}

static void h07(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		h07_way(a, r, rs_facts_host(a->facts, i));
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		h07_host(a, r, rs_facts_host(a->facts, i));
}

/* ---- H08 ---- */

/* The RDMA device of a port of this bond, which the job's list does not leave out. NULL: none.
 * *apart: another RDMA device is outside of the bond. */
static const char *rdma_below(const struct rs_audit *a, const char *host, const char *bond,
			      bool *apart)
{
	const char *slaves = rs_facts_value(a->facts, host, bond, "slaves"), *nic, *found = NULL;
	const struct rs_fact *list = rs_look_list(a, host);
	uint32_t at = 0;

	*apart = false;
	while ((nic = rs_facts_subject(a->facts, &at, host, "nic/"))) {
		const char *nd = rs_facts_value(a->facts, host, nic, "netdev");
		const char *in = nd && slaves ? strstr(slaves, nd) : NULL;
		size_t n = nd ? strlen(nd) : 0;

		if (!nd || (list && !rs_look_hca(list->value, nic + 4)))
			continue;
		if ((in && (in == slaves || in[-1] == ' ') && (!in[n] || in[n] == ' ')) ||
		    rs_look(a, host, bond, "slave/%s", nd))
			found = found ? found : nic + 4;
		else
			*apart = true;
	}
	return found;
}

/* Modes 1, 2 and 4, in the words of the module and of /proc/net/bonding: mlx5's LAG. */
static bool offloaded(const char *mode)
{
	static const char *const modes[] = {"802.3ad",         "802.3AD",     "active-backup",
					    "fault-tolerance", "balance-xor", "(xor)"};

	for (unsigned i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (strstr(mode, modes[i]))
			return true;
	return false;
}

/* RDMA ports below a bond of a mode that spreads or moves frames: RoCE's own go around it, on ports
 * whose addresses are the bond's. */
static void h08_below(struct rs_audit *a, const struct rs_rule *r, const char *host,
		      const char *bond, const char *nic, bool apart)
{
	const struct rs_fact *mode = rs_facts_get(a->facts, host, bond, "mode"), *port;
	struct rs_finding *f;
	uint32_t at = 0;

	if (!mode || offloaded(mode->value))
		return;
	f = rs_finding_new(a, r, RS_FAIL, apart ? RS_MINOR : RS_MAJOR,
			   "%s is below %s, mode %s: the NIC offloads 802.3ad, balance-xor and "
			   "active-backup alone",
			   nic, bond + 5, mode->value);
	rs_finding_subject(a, f, host, bond + 5);
	rs_finding_fact(f, mode);
	rs_finding_fact(f, rs_facts_get(a->facts, host, bond, "slaves"));
	while ((port = rs_facts_next(a->facts, &at, host, bond, "slave/")))
		rs_finding_fact(f, port);
	rs_finding_why(a, f,
		       "no RDMA device of the bond is made: each port's own sends with the bond's "
		       "address, and answers come in at the other port");
	rs_finding_fix(a, f, host, false, "the bond's link",
		       rs_audit_text(a, "the same with: mode %s", mode->value),
		       "ip link set %s down; ip link set %s type bond mode 802.3ad "
		       "xmit_hash_policy layer3+4; ip link set %s up  # without ports; add them "
		       "again afterwards; the switch's ports an LACP group",
		       bond + 5, bond + 5, bond + 5);
}

/* Is an RDMA device on this bond? Its netdev is, or it is called so. */
static const char *rdma_on(const struct rs_audit *a, const char *host, const char *bond)
{
	const char *nic;
	uint32_t at = 0;

	while ((nic = rs_facts_subject(a->facts, &at, host, "nic/"))) {
		const char *nd = rs_facts_value(a->facts, host, nic, "netdev");

		if (nd && !strcmp(nd, bond))
			return nic + 4;
	}
	return NULL;
}

/* Do both slaves have a bus address, and one card? 1, 0; -1: not known. */
static int one_card(const struct rs_audit *a, const char *host, const char *slaves)
{
	char list[256], *save = NULL, first[64] = "";

	snprintf(list, sizeof(list), "%s", slaves);
	for (char *w = strtok_r(list, " ,", &save); w; w = strtok_r(NULL, " ,", &save)) {
		char subject[160];
		const char *bdf;

		snprintf(subject, sizeof(subject), "netdev/%s", w);
		bdf = rs_facts_value(a->facts, host, subject, "bus-info");
		if (!bdf || strlen(bdf) < 3)
			return -1;
		if (*first && strncmp(first, bdf, strlen(bdf) - 1))
			return 0;
		snprintf(first, sizeof(first), "%.*s", (int)strlen(bdf) - 1, bdf);
	}
	return *first ? 1 : -1;
}

static void h08_bond(struct rs_audit *a, const struct rs_rule *r, const char *host,
		     const char *bond, const char *nic)
{
	const struct rs_fact *mode = rs_facts_get(a->facts, host, bond, "mode");
	const struct rs_fact *hash = rs_facts_get(a->facts, host, bond, "xmit_hash_policy");
	const struct rs_fact *slaves = rs_facts_get(a->facts, host, bond, "slaves");
	bool lacp = mode && (strstr(mode->value, "802.3ad") || strstr(mode->value, "802.3AD"));
	int card = slaves ? one_card(a, host, slaves->value) : -1;
	const char *what = NULL;
	struct rs_finding *f;

	if (card == 0)
		what = "its ports are on two cards: RoCE runs on one of them alone";
	else if (mode && !offloaded(mode->value))
		what = rs_audit_text(a,
				     "mode %s: the NIC offloads 802.3ad, balance-xor and "
				     "active-backup alone",
				     mode->value);
	else if (lacp && hash && !strstr(hash->value, "layer3+4") &&
		 !strstr(hash->value, "encap3+4"))
		what = rs_audit_text(a, "it hashes by %s: all flows of a pair take one port",
				     hash->value);
	if (!mode) {
		f = rs_finding_new(a, r, RS_UNKNOWN, RS_MAJOR, "%s is on a bond of unknown mode",
				   nic);
		rs_finding_need(a, f, rs_audit_text(a, "/proc/net/bonding/%s", bond + 5),
				"mode, hash and ports");
	} else {
		f = rs_finding_new(a, r, what ? RS_FAIL : RS_PASS, RS_MAJOR, "%s is on %s: %s", nic,
				   bond + 5, what ? what : "one card, offloaded");
	}
	rs_finding_subject(a, f, host, bond + 5);
	rs_finding_fact(f, mode);
	rs_finding_fact(f, hash);
	rs_finding_fact(f, slaves);
	if (!what)
		return;
	if (card == 0)
		rs_finding_fix(a, f, host, true, "the bond's link", NULL,
			       "bond both ports of one card, or leave the two unbonded as rails");
	if (mode && !offloaded(mode->value))
		rs_finding_fix(a, f, host, false, "the bond's link",
			       rs_audit_text(a, "the same with: mode %s", mode->value),
			       "ip link set %s down; ip link set %s type bond mode 802.3ad "
			       "xmit_hash_policy layer3+4; ip link set %s up  # without ports; "
			       "add them again afterwards",
			       bond + 5, bond + 5, bond + 5);
	else if (lacp)
		rs_finding_fix(
			a, f, host, false, NULL,
			hash ? rs_audit_text(a, "ip link set %s type bond xmit_hash_policy %.*s",
					     bond + 5, (int)strcspn(hash->value, " "), hash->value)
			     : NULL,
			"ip link set %s type bond xmit_hash_policy layer3+4", bond + 5);
}

/* A port of a bond that has no link, or that LACP left out. Under RDMA half the rate is gone; else
 * it is told. */
static void h08_slaves(struct rs_audit *a, const struct rs_rule *r, const char *host,
		       const char *bond, bool rdma)
{
	const struct rs_fact *down = rs_facts_get(a->facts, host, bond, "slave_down");
	const char *what = "has no link";
	struct rs_finding *f;

	if (!down && (down = rs_facts_get(a->facts, host, bond, "aggregator"))) {
		f = rs_finding_new(a, r, RS_FAIL, RS_MAJOR,
				   "%s has no active aggregator: LACP uses "
				   "none of its ports",
				   bond + 5);
		rs_finding_subject(a, f, host, bond + 5);
		rs_finding_fact(f, down);
		rs_finding_why(a, f,
			       "no port of it has agreed with a partner: the switch's ports are no "
			       "LACP group, or are another one's; the bond carries nothing");
		rs_finding_need(a, f, "cat /proc/net/bonding/BOND, as root",
				"each port's partner: MAC address and key");
		return;
	}
	if (!down) {
		down = rs_facts_get(a->facts, host, bond, "slave_apart");
		what = "is in another aggregator: LACP does not use it";
	}
	if (!down)
		return;
	f = rs_finding_new(a, r, RS_FAIL, rdma ? RS_MAJOR : RS_MINOR, "%s of %s %s", down->value,
			   bond + 5, what);
	rs_finding_subject(a, f, host, bond + 5);
	rs_finding_fact(f, down);
	rs_finding_why(a, f, "what the bond carries goes through the other port alone");
	f->states_failure = !rdma;
}

static void h08(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i), *bond;
		uint32_t at = 0;

		while ((bond = rs_facts_subject(a->facts, &at, host, "bond/"))) {
			const char *nic = rdma_on(a, host, bond + 5), *below;
			bool apart;

			/* a front end's bond is its owner's business */
			if (nic)
				h08_bond(a, r, host, bond, nic);
			else if ((below = rdma_below(a, host, bond, &apart)))
				h08_below(a, r, host, bond, below, apart);
			h08_slaves(a, r, host, bond, nic != NULL);
		}
	}
}

/* ---- H09 ---- */

/* A rail: the list names it, or it is next to a GPU. */
static bool is_rail(const struct rs_audit *a, const char *host, const char *nic)
{
	const struct rs_fact *hca = rs_look_list(a, host);
	int near;

	if (hca && hca->value[0] != '^')
		return rs_look_hca(hca->value, nic + 4);
	near = rs_look_nearest(a, host, nic);
	return near > 0 && near <= RS_PXB;
}

/* The best rate of active siblings of one board and link layer. */
static int64_t best_rate(const struct rs_audit *a, const char *host, const char *nic)
{
	const char *board = rs_facts_value(a->facts, host, nic, "board_id"), *other;
	const char *layer = rs_facts_value(a->facts, host, nic, "link_layer");
	int64_t best = 0;
	uint32_t at = 0;

	while (board && (other = rs_facts_subject(a->facts, &at, host, "nic/"))) {
		const char *b = rs_facts_value(a->facts, host, other, "board_id");
		const char *l = rs_facts_value(a->facts, host, other, "link_layer");
		int64_t rate = rs_look_port_rate(a, host, other);

		/* the last question is the dearest */
		if (rate > best && b && !strcmp(b, board) && (!l || !layer || !strcmp(l, layer)) &&
		    is_rail(a, host, other))
			best = rate;
	}
	return best;
}

/* One down among many that are active, or more down than active, in a tool's text that tells
 * nothing of GPUs: cards with an unused second port do not look so. */
static bool stands_out(const struct rs_audit *a, const char *host, const struct rs_fact *down,
		       unsigned n, unsigned up)
{
	enum { TIMES = 3 };

	return ((up >= TIMES * n && up >= TIMES) || n > up) && down->trust <= RS_TRUST_TOOL &&
	       !rs_look_list(a, host) && !rs_look_has_gpu(a, host);
}

/* Do all of these ports have a link, and wait for the subnet manager to bring them up? */
static bool await_manager(const struct rs_audit *a, const char *host,
			  const struct rs_fact *const *down, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const char *layer = rs_facts_value(a->facts, host, down[i]->subject, "link_layer");
		const char *phys = rs_facts_value(a->facts, host, down[i]->subject, "phys_state");

		if (strncasecmp(down[i]->value, "INIT", 4) || !layer ||
		    strcasecmp(layer, "InfiniBand") ||
		    (phys && strcasecmp(phys, "LinkUp") && strcasecmp(phys, "LINK_UP")))
			return false;
	}
	return n > 0;
}

/* One subnet manager for the subnet, wherever it runs. */
static void manager_fix(struct rs_audit *a, struct rs_finding *f)
{
	rs_finding_why(a, f,
		       "the cable is well, and the port has no LID: INIT waits for a subnet "
		       "manager (or, of a virtual function, for its GUID and link state)");
	rs_finding_need(a, f, "sminfo", "whether the subnet has a manager, and where");
	rs_finding_fix(a, f, "one host of the subnet", true, NULL, "systemctl disable --now opensm",
		       "systemctl enable --now opensm");
	rs_finding_choice(f);
	rs_finding_fix(a, f, "a managed switch (MLNX-OS)", true, NULL, "no ib smnode <its name>",
		       "ib smnode <its name> enable");
}

/* Ports outside of what is known to be used: all down is a fault, some down is worth a line. */
static void h09_others(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const struct rs_fact *down[RS_FINDING_SUBJECTS], *state;
	unsigned n = 0, up = 0;
	struct rs_finding *f;
	const char *nic;
	uint32_t at = 0;
	bool listed, manager;

	while ((nic = rs_facts_subject(a->facts, &at, host, "nic/"))) {
		state = rs_facts_get(a->facts, host, nic, "port_state");
		if (state && !strcasecmp(state->value, "ACTIVE"))
			up++;
		else if (state && !is_rail(a, host, nic) && n < RS_FINDING_SUBJECTS)
			down[n++] = state;
	}
	if (!n)
		return;
	/* a list says which are used: these are not */
	listed = up || rs_look_list(a, host);
	manager = !listed && await_manager(a, host, down, n);
	f = rs_finding_new(
		a, r, RS_FAIL,
		!listed                               ? RS_CRITICAL
		: stands_out(a, host, down[0], n, up) ? RS_MINOR
						      : RS_INFO,
		"%s",
		listed ? rs_audit_text(a,
				       "%u RDMA ports that no list names are not active, beside %u "
				       "that are",
				       n, up)
		: manager
			? rs_audit_text(a, "no subnet manager has brought up the %s",
					n > 1 ? rs_audit_text(a, "%u RDMA ports that were seen", n)
					      : "RDMA port that was seen")
		: n > 1 ? rs_audit_text(a, "all %u RDMA ports that were seen are down", n)
			: rs_audit_text(a, "the RDMA port that was seen is %s", down[0]->value));
	for (unsigned i = 0; i < n; i++) {
		rs_finding_subject(a, f, host, down[i]->subject + 4);
		rs_finding_fact(f, down[i]);
		rs_finding_fact(f, rs_facts_get(a->facts, host, down[i]->subject, "phys_state"));
	}
	if (f)
		f->states_failure = f->severity == RS_MINOR;
	if (manager) {
		manager_fix(a, f);
		return;
	}
	rs_finding_why(
		a, f,
		listed ? "an unused port may be down by right: it matters where a job uses it"
		       : "INIT waits for a subnet manager (or, of a virtual function, for its GUID "
			 "and link state); Polling and Disabled are the cable's, the module's or "
			 "the switch's");
}

static void h09_host(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const char *nic, *blind = NULL;
	unsigned right = 0;
	uint32_t at = 0;

	while ((nic = rs_facts_subject(a->facts, &at, host, "nic/"))) {
		const struct rs_fact *state = rs_facts_get(a->facts, host, nic, "port_state");
		const struct rs_fact *phys = rs_facts_get(a->facts, host, nic, "phys_state");
		int64_t rate = rs_look_port_rate(a, host, nic);
		struct rs_finding *f = NULL;

		if (!state && is_rail(a, host, nic))
			blind = blind ? blind : nic;
		if (!state || !is_rail(a, host, nic))
			continue;
		if (strcasecmp(state->value, "ACTIVE"))
			f = rs_finding_new(a, r, RS_FAIL, RS_CRITICAL, "a rail's port is %s%s%s",
					   state->value, phys ? ", physically " : "",
					   phys ? phys->value : "");
		else if (rate && rate < best_rate(a, host, nic))
			f = rs_finding_new(a, r, RS_FAIL, RS_CRITICAL,
					   "a rail runs at %lld Gb/s, its siblings at %lld",
					   (long long)rate, (long long)best_rate(a, host, nic));
		else
			right++;
		rs_finding_subject(a, f, host, nic + 4);
		rs_finding_fact(f, state);
		rs_finding_fact(f, phys);
		rs_finding_fact(f, rs_facts_get(a->facts, host, nic, "rate_gbps"));
		if (!f)
			continue;
		rs_finding_why(a, f,
			       "a job over all rails goes at the pace of the slowest, or does "
			       "not start");
		rs_finding_fix(a, f, host, true, "the link", NULL,
			       "look at the cable and module (mlxlink -d %s -m -c), then the "
			       "switch's port",
			       nic + 4);
	}
	if (blind) {
		struct rs_finding *f = rs_finding_new(a, r, RS_UNKNOWN, RS_MAJOR,
						      "the state of a rail's port is not known");

		rs_finding_subject(a, f, host, blind + 4);
		rs_finding_need(a, f, "ibstat, or /sys/class/infiniband/*/ports/1/state",
				"whether each rail is up, and at which rate");
	}
	if (right)
		rs_finding_subject(a,
				   rs_finding_new(a, r, RS_PASS, RS_CRITICAL,
						  "%u rails are active at their siblings' rate",
						  right),
				   host, NULL);
}

static void h09(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		if (!rs_facts_is_switch(a->facts, rs_facts_host(a->facts, i))) {
			h09_host(a, r, rs_facts_host(a->facts, i));
			h09_others(a, r, rs_facts_host(a->facts, i));
		}
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		rs_ib_links_state(a, r, rs_facts_host(a->facts, i));
}

/* ---- R01 ---- */

static void r01(struct rs_audit *a, const struct rs_rule *r)
{
	const struct rs_fact *ib = NULL, *eth = NULL, *odd;
	unsigned n_ib = 0, n_eth = 0, blind = 0;
	const char *unseen = NULL, *dev;
	struct rs_finding *f;

	/* within a host it is N02 and N04; here hosts of one job against each other */
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i), *nic;
		const struct rs_fact *mine[2] = {NULL, NULL};
		uint32_t at = 0;

		while ((nic = rs_facts_subject(a->facts, &at, host, "nic/"))) {
			const struct rs_fact *l = rs_facts_get(a->facts, host, nic, "link_layer");

			if (l && is_rail(a, host, nic))
				mine[!strcmp(l->value, "Ethernet")] = l;
			else if (!l && is_rail(a, host, nic))
				unseen = blind++ ? unseen : host;
		}
		n_ib += mine[0] && !mine[1];
		n_eth += mine[1] && !mine[0];
		ib = mine[0] && !mine[1] && !ib ? mine[0] : ib;
		eth = mine[1] && !mine[0] && !eth ? mine[1] : eth;
	}
	if ((!ib || !eth) && blind && ib != eth) {
		f = rs_finding_new(a, r, RS_UNKNOWN, RS_CRITICAL,
				   "the link layer of %u rails is not known; the others are %s",
				   blind, ib ? "InfiniBand" : "Ethernet");
		rs_finding_subject(a, f, unseen, NULL);
		rs_finding_need(a, f, "ibstat, or /sys/class/infiniband/*/ports/1/link_layer",
				"whether all hosts of the job have one link layer");
		return;
	}
	if (!ib || !eth) {
		if (n_ib + n_eth > 1)
			rs_finding_subject(a,
					   rs_finding_new(a, r, RS_PASS, RS_CRITICAL,
							  "rails of all %u hosts are %s",
							  n_ib + n_eth,
							  ib ? "InfiniBand" : "Ethernet"),
					   ib ? ib->host : eth->host, NULL);
		return;
	}
	f = rs_finding_new(a, r, RS_FAIL, RS_CRITICAL,
			   "rails are InfiniBand on %u hosts and Ethernet on %u", n_ib, n_eth);
	rs_finding_subject(a, f, ib->host, ib->subject + 4);
	rs_finding_subject(a, f, eth->host, eth->subject + 4);
	rs_finding_fact(f, ib);
	rs_finding_fact(f, eth);
	rs_finding_why(a, f, "queue pairs of the two cannot connect");
	odd = n_eth < n_ib ? eth : ib;
	dev = rs_look_mft(a, odd->host, odd->subject);
	rs_finding_fix(
		a, f, odd->host, true, NULL,
		rs_audit_text(a, "mlxconfig -d %s set LINK_TYPE_P1=%d", dev, odd == eth ? 2 : 1),
		"mlxconfig -d %s set LINK_TYPE_P1=%d", dev, odd == eth ? 1 : 2);
	rs_finding_fix(a, f, odd->host, false, "the NIC's reset", NULL, "mlxfwreset -d %s reset",
		       dev);
}

/* ---- H10 ---- */

/* Are all CPUs that a program may use of this node? -1: the node's CPUs are not known. */
static int on_node(struct rs_audit *a, const char *host, const char *cpus, int64_t node)
{
	const char *of = rs_facts_value(a->facts, host, "host",
					rs_audit_text(a, "numa_cpus/%lld", (long long)node));
	uint8_t mine[CPUS / 8], local[CPUS / 8];
	char list[CPUS];

	if (!of)
		return -1;
	snprintf(list, sizeof(list), "%s", of);
	for (char *p = list; *p; p++)
		*p = *p == ' ' ? ',' : *p;
	return cpu_list(list, local) && cpu_list(cpus, mine) ? within(mine, local) : -1;
}

/* One finding a command that binds a program away from the device that it is given. */
static void h10_nic(struct rs_audit *a, const struct rs_rule *r, const char *host, const char *nic)
{
	const struct rs_fact *at_node = rs_facts_get(a->facts, host, nic, "numa_node"), *f;
	char pci[160];
	uint32_t at = 0;

	if (!at_node && rs_look_pci_of(a, host, nic, pci, sizeof(pci)))
		at_node = rs_facts_get(a->facts, host, pci, "numa_node");
	if (at_node && (!at_node->numeric || at_node->number < 0))
		return; /* P08's */
	while ((f = rs_facts_next(a->facts, &at, host, nic, "user_"))) {
		bool by_node = !strncmp(f->name, "user_node/", 10);
		struct rs_finding *x;
		int right;

		if (strcmp(f->subject, nic))
			continue;
		if (!at_node)
			right = -1;
		else if (by_node)
			right = !f->numeric ? -1 : f->number == at_node->number;
		else
			right = on_node(a, host, f->value, at_node->number);
		if (right < 0) {
			x = rs_finding_new(a, r, RS_UNKNOWN, RS_MINOR,
					   "whether the program of %s is bound to its NUMA node is "
					   "not known",
					   nic + 4);
			rs_finding_subject(a, x, host, nic + 4);
			rs_finding_fact(x, f);
			rs_finding_need(a, x,
					"numactl -H; /sys/class/infiniband/*/device/numa_node",
					"which node the device and the CPUs are of");
			continue;
		}
		x = rs_finding_new(a, r, right ? RS_PASS : RS_FAIL, RS_MAJOR,
				   right ? "the program of %s runs on its NUMA node, %lld"
					 : "the program of %s is bound away from its NUMA node, "
					   "%lld",
				   nic + 4, (long long)at_node->number);
		rs_finding_subject(a, x, host, nic + 4);
		rs_finding_fact(x, f);
		rs_finding_fact(x, at_node);
		if (right)
			continue;
		rs_finding_why(a, x,
			       "its buffers, posts and polls cross the link between sockets, "
			       "which other ranks share");
		rs_finding_fix(a, x, host, true, "the program's restart", NULL,
			       "numactl --cpunodebind=%lld --membind=%lld COMMAND",
			       (long long)at_node->number, (long long)at_node->number);
	}
}

static void h10(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i), *nic;
		uint32_t at = 0;

		while ((nic = rs_facts_subject(a->facts, &at, host, "nic/")))
			h10_nic(a, r, host, nic);
	}
}

const struct rs_rule rs_rules_nic[] = {
	{
		.id = "H04",
		.name = "irq-affinity",
		.severity = RS_MINOR,
		.criterion = "A NIC's completion interrupts go to CPUs of its own socket.",
		.authority = "Linux Documentation/core-api/irq (smp_affinity)",
		.explain = "Software that polls takes few interrupts: this matters for sockets and "
			   "storage, next to nothing for NCCL.",
		.run = h04,
	},
	{
		.id = "H10",
		.name = "process-binding",
		.severity = RS_MAJOR,
		.criterion = "A command binds its program to the NUMA node of the device that it "
			     "gives it.",
		.authority = "numactl(8), taskset(1); Linux Documentation/ABI, numa_node",
		.explain = "Only commands that name the device and the binding are judged "
			   "(numactl, taskset). A launcher's own binding is not read.",
		.run = h10,
	},
	{
		.id = "H05",
		.name = "memlock",
		.severity = RS_CRITICAL,
		.criterion = "The job may lock all the memory that it registers.",
		.authority = "getrlimit(2), RLIMIT_MEMLOCK; ibv_reg_mr(3)",
		.explain =
			"Registered memory is locked. Root's limit and that of a login shell are "
			"not the launcher's. Critical where a registration has failed.",
		.run = h05,
	},
	{
		.id = "H06",
		.name = "hugepages",
		.severity = RS_INFO,
		.criterion = "Huge pages are needed by DPDK and SPDK, not by NCCL.",
		.authority = "Linux Documentation/admin-guide/mm/hugetlbpage",
		.explain =
			"GPU memory is mapped in pages of 64 KiB and 2 MiB already; nothing here "
			"fails.",
		.run = h06,
	},
	{
		.id = "H07",
		.name = "multihoming",
		.severity = RS_CRITICAL,
		.criterion =
			"RoCE interfaces in one network have a rule by source each, and answer "
			"ARP for themselves alone.",
		.authority = "Linux Documentation/networking/ip-sysctl (arp_ignore, arp_announce)",
		.explain =
			"Of two interfaces in one network the kernel uses the first for all. Two "
			"default routes with metrics are legal, and not looked at.",
		.run = h07,
	},
	{
		.id = "H08",
		.name = "bond",
		.severity = RS_MAJOR,
		.criterion = "A bond under RoCE joins ports of one card, in 802.3ad (layer3+4), "
			     "balance-xor or active-backup.",
		.authority = "Linux Documentation/networking/bonding; mlx5's LAG",
		.explain = "Other modes, and ports of two cards, are not offloaded. Bonds without "
			   "RDMA are not looked at.",
		.run = h08,
	},
	{
		.id = "H09",
		.name = "nic-state",
		.severity = RS_CRITICAL,
		.criterion = "Each rail's port is active, at the rate of its siblings.",
		.authority = "IBTA vol. 1 14.2.5.6 (PortInfo: PortState, PortPhysicalState)",
		.explain =
			"A rail is what NCCL_IB_HCA names, or what is next to a GPU: other ports "
			"may be down by design.",
		.run = h09,
	},
	{
		.id = "R01",
		.name = "link-layer",
		.severity = RS_CRITICAL,
		.criterion = "Rails of all hosts of a job have one link layer.",
		.authority = "IBTA vol. 1 annex A17; mstflint's LINK_TYPE_P1",
		.explain = "A card that came back from repair as InfiniBand does not connect to "
			   "RoCE peers. Within one host N02 and N04 say so.",
		.run = r01,
	},
	{0},
};
