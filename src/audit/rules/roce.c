/* Checks of RoCE on the host: GIDs, MTU, buffers. IBTA vol. 1 annex A17; the kernel's iboe_get_mtu.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/facts/gid.h"
#include "audit/facts/nccl.h"
#include "audit/facts/qos.h"
#include "audit/facts/look.h"
#include "audit/rules/hca_list.h"
#include "audit/rules/other_lists.h"
#include "audit/rules/rule.h"

/* ---- R02 ---- */

static void r02_nic(struct rs_audit *a, const struct rs_rule *r, const char *host, const char *nic,
		    const struct rs_fact *index)
{
	struct rs_gid g = rs_gid_at(a, host, nic, (int)index->number);
	int best = rs_gid_best(a, host, nic);
	const char *what = NULL;
	struct rs_finding *f;

	if (!g.gid || rs_gid_zero(g.gid->value))
		what = "is empty";
	else if (g.type && strcmp(g.type->value, "v2"))
		what = "is RoCE v1, which no router forwards";
	else if (rs_gid_link_local(g.gid->value))
		what = "is link-local, which no router forwards";
	if (!what) {
		f = rs_finding_new(a, r, RS_PASS, RS_CRITICAL, "GID %lld is routable RoCE v2",
				   (long long)index->number);
	} else if (best < 0) {
		/* a port without an address of its own: not part of the job, unless its list names
		 * it */
		const struct rs_fact *hca = rs_nccl_env(a, host, "NCCL_IB_HCA");

		if (!hca || !rs_hca_list_names(hca->value, nic + 4))
			return;
		f = rs_finding_new(a, r, RS_FAIL, RS_CRITICAL,
				   "GID index %lld %s, and NCCL_IB_HCA has the job use %s, which "
				   "has no routable GID",
				   (long long)index->number, what, nic + 4);
		rs_finding_fact(f, hca);
		rs_finding_why(a, f,
			       "its interface has no address: ibv_modify_qp fails (errno 61 or "
			       "110) on the ranks beside it");
		rs_finding_need(a, f, "ip addr show dev its interface",
				"which address is missing; or take it out of NCCL_IB_HCA");
	} else {
		uint32_t version = rs_nccl_version(a, host, NULL);
		/* else a program's own word, or another library's variable */
		bool by_env = !strcmp(index->name, "NCCL_IB_GID_INDEX");
		const char *was =
			rs_audit_text(a, "NCCL_IB_GID_INDEX=%lld", (long long)index->number);

		f = rs_finding_new(a, r, RS_FAIL, RS_CRITICAL,
				   "GID index %lld %s; index %d is RoCE v2 with an address",
				   (long long)index->number, what, best);
		rs_finding_why(a, f,
			       "connections time out or reach only the same link (ibv_modify_qp: "
			       "Connection timed out, completion error 12)");
		if (!by_env && !strcmp(index->subject, "env"))
			rs_finding_fix(a, f, host, true, "the program's restart",
				       rs_audit_text(a, "%s=%s", index->name, index->value),
				       "%s=%d", index->name, best);
		else if (!by_env)
			rs_finding_fix(a, f, host, true, "the program's restart", NULL,
				       "GID index %d by the program's own option or variable",
				       best);
		if (by_env && version >= rs_nccl_make(2, 21, 0)) {
			rs_finding_fix(a, f, "all hosts of the job", true, NULL, was,
				       "unset NCCL_IB_GID_INDEX  # this release finds it");
			rs_finding_choice(f);
		}
		/* an index is a place in each port's table: one that is right on all of them */
		if (by_env && rs_gid_fits_all(a, host, best))
			rs_finding_fix(a, f, host, true, NULL, was, "NCCL_IB_GID_INDEX=%d", best);
		else if (by_env)
			rs_finding_need(a, f, "show_gids",
					"an index that is RoCE v2 with an address on all rails: "
					"up to NCCL 2.20 the ports' addresses must be set alike");
		/* as N05 has it: what any release takes stands first */
		if (by_env && !version) {
			if (f && f->n_fixes)
				rs_finding_choice(f);
			rs_finding_fix(a, f, "all hosts of the job", true, NULL, was,
				       "unset NCCL_IB_GID_INDEX  # NCCL >= 2.21 finds it");
		}
	}
	rs_finding_subject(a, f, host, nic + 4);
	rs_finding_fact(f, index);
	rs_finding_fact(f, g.gid);
	rs_finding_fact(f, g.type);
	if (what)
		rs_finding_fact(f, rs_gid_at(a, host, nic, best).gid);
}

/* NCCL's own choice where the index is not set: 0 up to 2.20, from 2.21 on the entry it finds. */
static void r02_unset(struct rs_audit *a, const struct rs_rule *r, const char *host,
		      const char *nic, uint32_t version)
{
	int best = rs_gid_best(a, host, nic);
	struct rs_gid first = rs_gid_at(a, host, nic, 0);
	struct rs_finding *f;

	/* a port without an address of its own is not part of the job */
	if (best < 0)
		return;
	if (!version) {
		f = rs_finding_new(a, r, RS_UNKNOWN, RS_CRITICAL,
				   "NCCL_IB_GID_INDEX is not set: 0 up to NCCL 2.20, then chosen");
		rs_finding_need(a, f, "NCCL's log, or NCCL_VERSION", "which release it is");
	} else if (version >= rs_nccl_make(2, 21, 0) || rs_gid_usable(&first)) {
		f = rs_finding_new(a, r, RS_PASS, RS_CRITICAL,
				   "NCCL takes GID %d, routable RoCE v2",
				   version >= rs_nccl_make(2, 21, 0) ? best : 0);
	} else {
		f = rs_finding_new(
			a, r, RS_FAIL, RS_CRITICAL,
			"this release takes GID 0 when NCCL_IB_GID_INDEX is not set; index "
			"%d is RoCE v2 with an address",
			best);
		rs_finding_fix(a, f, host, true, NULL, "unset NCCL_IB_GID_INDEX",
			       "NCCL_IB_GID_INDEX=%d", best);
	}
	rs_finding_subject(a, f, host, nic + 4);
	rs_finding_fact(f, first.gid);
	rs_finding_fact(f, rs_gid_at(a, host, nic, best).gid);
}

/* What ibv_rc_pingpong says that it uses; it prints no table of the others. */
static void r02_pingpong(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	static const char *const sides[] = {"gid_local", "gid_remote"};

	for (unsigned i = 0; i < 2; i++) {
		const struct rs_fact *gid = rs_facts_get(a->facts, host, "verbs", sides[i]);
		struct rs_finding *f;

		if (!gid || strncmp(gid->value, "fe80", 4))
			continue;
		f = rs_finding_new(a, r, RS_FAIL, RS_MINOR,
				   "a test over RoCE used a link-local GID, which no router "
				   "forwards");
		rs_finding_subject(a, f, host, NULL);
		rs_finding_fact(f, gid);
		rs_finding_fix(a, f, host, false, NULL, NULL,
			       "ibv_rc_pingpong -g INDEX  # of show_gids' entry of type v2 with an "
			       "IPv4 address");
		return;
	}
}

/* What RDMA CM takes by default where a program does not choose. */
static void r02_cm(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const struct rs_fact *f;
	uint32_t at = 0;

	while ((f = rs_facts_next(a->facts, &at, host, "nic/", "cm_mode"))) {
		struct rs_finding *x;

		if (!strstr(f->value, "RoCE v1"))
			continue;
		x = rs_finding_new(a, r, RS_FAIL, RS_MAJOR,
				   "RDMA CM takes RoCE v1 on %s, which no router forwards",
				   f->subject + 4);
		rs_finding_subject(a, x, host, f->subject + 4);
		rs_finding_fact(x, f);
		rs_finding_fix(a, x, host, false, NULL,
			       rs_audit_text(a, "cma_roce_mode -d %s -p 1 -m 1", f->subject + 4),
			       "cma_roce_mode -d %s -p 1 -m 2", f->subject + 4);
	}
}

/* All of a device's GIDs were listed with their types, and none is RoCE v2 with an address. */
static void r02_none(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const char *nic;
	uint32_t at = 0;

	while ((nic = rs_facts_subject(a->facts, &at, host, "nic/"))) {
		uint32_t k = rs_facts_seek(a->facts, host, nic);
		const struct rs_fact *f, *v2 = NULL, *v1 = NULL;
		/* a listing of types alone: empty entries have none */
		bool good = false, types = !rs_look_any(a, host, nic, "gid/");
		const struct rs_fact *index, *list;
		struct rs_finding *x;

		while ((f = rs_facts_next(a->facts, &k, host, nic, "gid_type/")) &&
		       !strcmp(f->subject, nic)) {
			const char *gid = rs_facts_value(a->facts, host, nic,
							 rs_audit_text(a, "gid/%s", f->name + 9));

			/* a GID with an address in a list without any RoCE v2 entry */
			if (!strcmp(f->value, "v1") &&
			    (types || (gid && !rs_gid_zero(gid) && !rs_gid_link_local(gid))))
				v1 = f;
			if (strcmp(f->value, "v2"))
				continue;
			v2 = f;
			good |= gid && !rs_gid_link_local(gid) && !rs_gid_zero(gid);
		}
		if (v1 && !v2) {
			x = rs_finding_new(a, r, RS_FAIL, RS_MAJOR,
					   "%s has GIDs of RoCE v1 alone, which no router forwards",
					   nic + 4);
			rs_finding_subject(a, x, host, nic + 4);
			rs_finding_fact(x, v1);
			rs_finding_need(a, x,
					"cat /sys/class/infiniband/*/ports/1/gid_attrs/types/*",
					"whether the device offers RoCE v2");
			continue;
		}
		if (!v2 || good)
			continue;
		x = rs_finding_new(a, r, RS_FAIL, RS_MINOR,
				   "%s has RoCE v2 GIDs of link-local addresses alone", nic + 4);
		rs_finding_subject(a, x, host, nic + 4);
		rs_finding_fact(x, v2);
		rs_finding_why(
			a, x,
			"its interface has no address of its own: peers of the same link are "
			"reached at most");
		rs_finding_need(a, x, "ip addr of its interface", "whether an address is missing");
		/* a job that takes an index takes it on each device of its list */
		index = rs_nccl_env(a, host, "NCCL_IB_GID_INDEX");
		list = rs_look_list(a, host);
		if (x && index && index->numeric && index->number > 0 &&
		    (!list || rs_look_hca(list->value, nic + 4))) {
			rs_finding_fact(x, index);
			x->states_failure = true;
		}
	}
}

/* The entry that the job takes was read by itself, without a table: nothing is in it, or what no
 * router forwards. */
static void r02_entry(struct rs_audit *a, const struct rs_rule *r, const char *host,
		      const char *nic, const struct rs_fact *index)
{
	struct rs_gid g = rs_gid_at(a, host, nic, (int)index->number);
	const char *layer = rs_facts_value(a->facts, host, nic, "link_layer");
	bool zero = g.gid && rs_gid_zero(g.gid->value);
	struct rs_finding *f;

	if (!g.gid || g.type || (layer && !strcmp(layer, "InfiniBand")) ||
	    !(zero || (layer && rs_gid_link_local(g.gid->value))))
		return;
	f = rs_finding_new(a, r, RS_FAIL, RS_CRITICAL, "GID index %lld %s",
			   (long long)index->number,
			   zero ? "is empty" : "is link-local, which no router forwards");
	rs_finding_subject(a, f, host, nic + 4);
	rs_finding_fact(f, index);
	rs_finding_fact(f, g.gid);
	rs_finding_why(
		a, f,
		"an entry is there for each address of the interface in this network "
		"namespace, and each RoCE version: one more address, or one less, moves them");
	rs_finding_need(a, f, "show_gids; ip -br addr", "which index is RoCE v2 with an address");
}

static void r02(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		r02_cm(a, r, rs_facts_host(a->facts, i));
		r02_none(a, r, rs_facts_host(a->facts, i));
	}
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		r02_pingpong(a, r, rs_facts_host(a->facts, i));
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i), *nic;
		const struct rs_fact *index = rs_nccl_env(a, host, "NCCL_IB_GID_INDEX");
		const struct rs_fact *others = rs_other_gid_index(a, host);
		const struct rs_fact *list = rs_look_list(a, host);
		uint32_t version = rs_nccl_version(a, host, NULL), at = 0;

		bool nccl = index || rs_nccl_env_seen(a, host) ||
			    rs_facts_get(a->facts, host, "nccl", "version");

		while ((nic = rs_facts_subject(a->facts, &at, host, "nic/"))) {
			const struct rs_fact *used = rs_facts_get(a->facts, host, nic, "gid_used");

			/* what the job's list leaves out takes no part */
			if (!used && list && !rs_look_hca(list->value, nic + 4))
				continue;
			if (!rs_gid_table(a, host, nic)) {
				if (index && index->numeric && index->number >= 0)
					r02_entry(a, r, host, nic, index);
				continue;
			}
			if (used || (!index && others))
				r02_nic(a, r, host, nic, used ? used : others);
			else if (nccl && index && index->numeric && index->number >= 0)
				r02_nic(a, r, host, nic, index);
			else if (nccl)
				r02_unset(a, r, host, nic, version);
		}
	}
}

/* ---- R03 ---- */

/* The port's own word, where nothing says its interface's MTU. */
static void r03_small(struct rs_audit *a, const struct rs_rule *r, const char *host,
		      const char *nic, const struct rs_fact *active)
{
	const char *netdev = rs_look_netdev(a, host, nic);
	struct rs_finding *f;

	if (active->number >= 4096)
		return;
	f = rs_finding_new(a, r, RS_FAIL, RS_MINOR,
			   "the port uses a path MTU of %lld: %.1f %% of the wire is payload",
			   (long long)active->number,
			   100.0 * (double)active->number / (double)(active->number + 82));
	rs_finding_subject(a, f, host, nic + 4);
	rs_finding_fact(f, active);
	rs_finding_fix(a, f, host, false, "the peers, until all have it", NULL,
		       "ip link set dev %s mtu 9000  # on all hosts and switches",
		       netdev ? netdev : rs_audit_text(a, "<netdev of %s>", nic + 4));
}

/* What the port says it uses, against what its interface leaves room for. */
static void r03_active(struct rs_audit *a, const struct rs_rule *r, const char *host,
		       const char *nic)
{
	const struct rs_fact *active = rs_facts_get(a->facts, host, nic, "active_mtu");
	const char *state = rs_facts_value(a->facts, host, nic, "port_state");
	const char *layer = rs_facts_value(a->facts, host, nic, "link_layer");
	const char *netdev = rs_facts_value(a->facts, host, nic, "netdev");
	char subject[160];
	struct rs_finding *f;
	int64_t mtu;

	snprintf(subject, sizeof(subject), "netdev/%s", netdev ? netdev : "");
	if (!active || !active->numeric || !layer || strcmp(layer, "Ethernet") ||
	    (state && strcmp(state, "ACTIVE")))
		return;
	if (!netdev || !rs_facts_number(a->facts, host, subject, "mtu", &mtu)) {
		r03_small(a, r, host, nic, active);
		return;
	}
	if (rs_qos_path_mtu(mtu) == active->number)
		return;
	f = rs_finding_new(a, r, RS_FAIL, RS_CRITICAL,
			   "the port uses a path MTU of %lld; its interface's MTU %lld leaves room "
			   "for %d",
			   (long long)active->number, (long long)mtu, rs_qos_path_mtu(mtu));
	rs_finding_subject(a, f, host, nic + 4);
	rs_finding_fact(f, active);
	rs_finding_fact(f, rs_facts_get(a->facts, host, subject, "mtu"));
	rs_finding_why(a, f,
		       "the two were read at different times, or the driver did not follow: "
		       "peers that agree on the larger lose every full packet");
	rs_finding_fix(a, f, host, false, "the link, for a moment", NULL,
		       "ip link set dev %s down; ip link set dev %s up", netdev, netdev);
}

/* The interface of an RDMA device of which nothing but its name and MTU is known. */
static void r03_plain(struct rs_audit *a, const struct rs_rule *r, const char *host,
		      const char *nic, const struct rs_qos_port *port, unsigned n)
{
	const char *netdev = rs_facts_value(a->facts, host, nic, "netdev");
	const char *layer = rs_facts_value(a->facts, host, nic, "link_layer");
	struct rs_finding *f;
	char subject[160];
	int64_t mtu;

	snprintf(subject, sizeof(subject), "netdev/%s", netdev ? netdev : "");
	if (!netdev || !strncmp(netdev, "ib", 2) || (layer && strcmp(layer, "Ethernet")) ||
	    rs_facts_get(a->facts, host, nic, "active_mtu") ||
	    !rs_facts_number(a->facts, host, subject, "mtu", &mtu) || rs_qos_path_mtu(mtu) >= 4096)
		return;
	for (unsigned i = 0; i < n; i++)
		if (!strcmp(port[i].netdev, netdev))
			return;
	f = rs_finding_new(a, r, RS_FAIL, RS_MINOR,
			   "MTU %lld of %s leaves room for a path MTU of %d", (long long)mtu,
			   netdev, rs_qos_path_mtu(mtu));
	rs_finding_subject(a, f, host, nic + 4);
	rs_finding_fact(f, rs_facts_get(a->facts, host, subject, "mtu"));
	rs_finding_fix(a, f, host, false, "the peers, until all have it", NULL,
		       "ip link set dev %s mtu 9000  # on all hosts and switches", netdev);
}

/* One finding a host names all interfaces whose MTU nothing says. */
static void r03_unseen(struct rs_audit *a, const struct rs_rule *r, const char *host,
		       const struct rs_qos_port *port, struct rs_finding **f)
{
	if (!strcmp(port->netdev, "unnamed"))
		return;
	if (!*f) {
		*f = rs_finding_new(a, r, RS_UNKNOWN, RS_MINOR,
				    "the MTU of a RoCE interface is not known");
		rs_finding_need(a, *f, rs_audit_text(a, "ip link show dev %s", port->netdev),
				"whether a path MTU of 4096 fits");
	}
	rs_finding_subject(a, *f, host, port->netdev);
}

static void r03(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);
		struct rs_qos_port port[64];
		unsigned n = rs_qos_ports(a, host, port, 64);
		struct rs_finding *unseen = NULL;
		const char *nic;
		uint32_t at = 0;

		while ((nic = rs_facts_subject(a->facts, &at, host, "nic/"))) {
			r03_active(a, r, host, nic);
			r03_plain(a, r, host, nic, port, n);
		}
		for (unsigned p = 0; p < n; p++) {
			char netdev[128];
			struct rs_finding *f;
			int64_t mtu;
			int active;

			snprintf(netdev, sizeof(netdev), "netdev/%s", port[p].netdev);
			if (!rs_facts_number(a->facts, host, netdev, "mtu", &mtu)) {
				r03_unseen(a, r, host, &port[p], &unseen);
				continue;
			}
			active = rs_qos_path_mtu(mtu);
			f = rs_finding_new(
				a, r, active < 4096 ? RS_FAIL : RS_PASS, RS_MINOR,
				"netdev MTU %lld allows a path MTU of %d: %.1f %% of the wire is "
				"payload",
				(long long)mtu, active, 100.0 * active / (active + 82));
			rs_finding_subject(a, f, host, port[p].netdev);
			rs_finding_fact(f, rs_facts_get(a->facts, host, netdev, "mtu"));
			if (active < 4096)
				rs_finding_fix(
					a, f, host, false, "the peers, until all have it",
					rs_audit_text(a, "ip link set dev %s mtu %lld",
						      port[p].netdev, (long long)mtu),
					"ip link set dev %s mtu 9000  # on all hosts and switches",
					port[p].netdev);
		}
	}
}

/* ---- R07: PFC without use, or on too many ---- */

/* Pause of the whole link (802.3 annex 31B) beside PFC: which of the two answers is left to the
 * NIC. */
static const struct rs_fact *global_pause(const struct rs_audit *a, const char *host,
					  const char *netdev)
{
	static const char *const ways[] = {"pause_rx", "pause_tx"};
	char subject[160];

	snprintf(subject, sizeof(subject), "netdev/%s", netdev);
	for (unsigned i = 0; i < 2; i++) {
		const struct rs_fact *f = rs_facts_get(a->facts, host, subject, ways[i]);

		if (f && f->numeric && f->number)
			return f;
	}
	return NULL;
}

static void r07_port(struct rs_audit *a, const struct rs_rule *r, const char *host,
		     const char *netdev, int mask)
{
	unsigned on = (unsigned)__builtin_popcount((unsigned)mask);
	const struct rs_fact *pause = mask ? global_pause(a, host, netdev) : NULL;
	struct rs_finding *f;

	if (pause) {
		f = rs_finding_new(a, r, RS_FAIL, RS_MAJOR,
				   "global pause is on together with PFC for %u priorit%s", on,
				   on == 1 ? "y" : "ies");
		rs_finding_fact(f, pause);
		rs_finding_why(a, f, "a global pause stops lossy and lossless traffic alike");
		rs_finding_fix(a, f, host, false, "the link, for a moment",
			       rs_audit_text(a, "ethtool -A %s rx on tx on", netdev),
			       "ethtool -A %s rx off tx off", netdev);
	} else {
		f = rs_finding_new(
			a, r,
			on > 2 ? RS_FAIL
			: on   ? RS_PASS
			       : RS_NA,
			RS_MINOR,
			on > 2 ? "PFC is on for %u priorities: each takes headroom, and a "
				 "pause of one is as likely as of another"
			       : "PFC is on for %u priorities",
			on);
	}
	rs_finding_subject(a, f, host, netdev);
}

/* A DSCP that someone gave a priority of its own by `dcb app add`: a listing of few entries. The
 * NIC's own map has all 64. NULL: none. */
static const struct rs_fact *mapped_by_hand(const struct rs_audit *a, const char *host,
					    const char *netdev)
{
	enum { FEW = 16, CNP = 6 };
	const struct rs_fact *e, *of_roce = NULL;
	char subject[160];
	unsigned n = 0;
	uint32_t at = 0;

	snprintf(subject, sizeof(subject), "netdev/%s", netdev);
	while ((e = rs_facts_next(a->facts, &at, host, subject, "dscp_to_prio/"))) {
		n++;
		/* CNPs have a priority without PFC by right */
		if (e->numeric && e->number > 0 && e->number < CNP && !of_roce)
			of_roce = e;
	}
	return n <= FEW ? of_roce : NULL;
}

static void r07_unprotected(struct rs_audit *a, const struct rs_rule *r, const char *host,
			    const char *netdev, const struct rs_fact *map)
{
	struct rs_finding *f = rs_finding_new(
		a, r, RS_FAIL, RS_MINOR,
		"DSCP %s has priority %lld of its own, and PFC is off for all priorities",
		map->name + strlen("dscp_to_prio/"), (long long)map->number);

	rs_finding_subject(a, f, host, netdev);
	rs_finding_fact(f, map);
	if (f) {
		f->confidence = RS_MEDIUM;
		f->states_failure = true;
	}
	rs_finding_why(a, f,
		       "a class that is set apart is to be lossless, or the network is lossy on "
		       "purpose and its NICs repeat what was lost");
	rs_finding_need(a, f, "the switch port's PFC",
			"whether the network is meant to be lossless");
	rs_finding_fix(a, f, host, false, "a few lost packets", NULL,
		       "dcb pfc set dev %s prio-pfc all:off %lld:on", netdev,
		       (long long)map->number);
}

static void r07_unseen(struct rs_audit *a, const struct rs_rule *r, const char *host,
		       const char *netdev)
{
	struct rs_finding *f = rs_finding_new(a, r, RS_UNKNOWN, RS_MAJOR,
					      "for which priorities PFC is on is not known");

	rs_finding_subject(a, f, host, netdev);
	rs_finding_need(a, f,
			rs_audit_text(a, "dcb pfc show dev %s, or mlnx_qos -i %s", netdev, netdev),
			"which priorities are lossless at the host");
}

/* Is it known which class the job's queue pairs have on this port? */
static bool sends(const struct rs_audit *a, const char *host, const struct rs_qos_port *port,
		  struct rs_class *c)
{
	return rs_qos_class(a, host, port->nic, port->netdev, RS_QP_VERBS, c) && c->tc >= 0 &&
	       c->priority >= 0;
}

/* The fabric is lossless elsewhere, and nothing is here. */
static void r07_off(struct rs_audit *a, const struct rs_rule *r, const char *host,
		    const char *netdev, const struct rs_class *c)
{
	struct rs_finding *f = rs_finding_new(
		a, r, RS_FAIL, RS_CRITICAL,
		"PFC is off for all priorities; RoCE has priority %d here, and other ports of the "
		"fabric have PFC",
		c->priority);

	rs_finding_subject(a, f, host, netdev);
	rs_finding_fact(f, c->pfc);
	rs_finding_why(a, f,
		       "this port neither pauses its switch when its buffer fills nor heeds the "
		       "switch's pauses");
	rs_finding_fix(a, f, host, false, "a few lost packets",
		       rs_audit_text(a, "mlnx_qos -i %s --pfc 0,0,0,0,0,0,0,0", netdev),
		       "mlnx_qos -i %s --pfc %d,%d,%d,%d,%d,%d,%d,%d", netdev, c->priority == 0,
		       c->priority == 1, c->priority == 2, c->priority == 3, c->priority == 4,
		       c->priority == 5, c->priority == 6, c->priority == 7);
}

static void r07(struct rs_audit *a, const struct rs_rule *r)
{
	bool lossless = rs_qos_any_lossless(a);

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);
		struct rs_qos_port port[64];
		unsigned n =
			rs_facts_is_switch(a->facts, host) ? 0 : rs_qos_ports(a, host, port, 64);
		struct rs_class c;
		const struct rs_fact *map;

		for (unsigned p = 0; p < n; p++) {
			int mask = rs_qos_pfc_mask(a, host, port[p].netdev);

			if (mask < 0)
				r07_unseen(a, r, host, port[p].netdev);
			else if (!mask && lossless && sends(a, host, &port[p], &c))
				r07_off(a, r, host, port[p].netdev, &c);
			else if (!mask && (map = mapped_by_hand(a, host, port[p].netdev)))
				r07_unprotected(a, r, host, port[p].netdev, map);
			else
				r07_port(a, r, host, port[p].netdev, mask);
		}
	}
}

const struct rs_rule rs_rules_roce[] = {
	{
		.id = "R02",
		.name = "gid",
		.severity = RS_CRITICAL,
		.criterion = "The GID index in use is a RoCE v2 entry with a routable address.",
		.authority = "IBTA vol. 1 annex A17.4; RFC 4291 2.5.6 (link-local)",
		.explain = "A port's GID table has an entry for each address and RoCE version; "
			   "indices differ between "
			   "vendors and move when addresses change. Index 3 is a habit, not a "
			   "rule. From 2.21 NCCL "
			   "chooses by itself when NCCL_IB_GID_INDEX is unset.",
		.run = r02,
	},
	{
		.id = "R03",
		.name = "mtu",
		.severity = RS_CRITICAL,
		.criterion =
			"The network interface's MTU leaves room for a path MTU of 4096, and the "
			"port uses what fits.",
		.authority = "Linux iboe_get_mtu; IBTA vol. 1 annex A17 (headers)",
		.explain = "The path MTU is the largest of 256 to 4096 that fits into the "
			   "interface's MTU less 96 bytes. "
			   "Each packet has 82 bytes beside its payload on Ethernet: 4096 gives "
			   "98.0 %, 1024 gives "
			   "92.6 %. 4200 is enough.",
		.run = r03,
	},
	{
		.id = "R07",
		.name = "pfc-host",
		.severity = RS_CRITICAL,
		.criterion =
			"Where the fabric is lossless PFC is on for RoCE's priority, for two at "
			"most, and global pause is off beside it.",
		.authority = "IEEE 802.1Q-2022 clause 36; IEEE 802.3 annex 31B",
		.explain = "Every lossless priority takes headroom on every port. That the "
			   "priority in use is one of them "
			   "is X01's business.",
		.run = r07,
	},
	{0},
};
