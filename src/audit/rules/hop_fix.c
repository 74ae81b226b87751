/* Fixes of a switch in the syntax of its own system, each with its undo and what it interrupts.
 * SONiC: config, ecnconfig, pfcwd and JSON patches; EOS and Junos: configuration mode; NVUE. */
#include <stdio.h>
#include <string.h>
#include "audit/facts/hop.h"
#include "audit/rules/hop_fix.h"
#include "audit/rules/rule.h"

#define REPROGRAM "buffers are reprogrammed: a few lost packets"

static bool is(const struct rs_audit *a, const char *sw, const char *os)
{
	return !strcmp(rs_hop_os(a, sw), os);
}

static const char *name_of(const char *port)
{
	return !strcmp(port, "port/*") ? "<port>" : port + 5;
}

/* 26 is 011010, as Junos writes code points. */
static const char *six_bits(struct rs_audit *a, int dscp)
{
	char bits[7] = "";

	for (int i = 0; i < 6; i++)
		bits[i] = dscp >> (5 - i) & 1 ? '1' : '0';
	return rs_audit_text(a, "%s", bits);
}

static const char *fact_text(const struct rs_audit *a, const char *sw, const char *port,
			     const char *name, const char *otherwise)
{
	const struct rs_fact *f = rs_hop_fact(a, sw, port, "%s", name);

	return f ? f->value : otherwise;
}

/* The class map that leads to a group takes the DSCP; where none does, a new one. */
static void nxos_class(struct rs_audit *a, struct rs_finding *f, const char *sw, const char *port,
		       int dscp, int tc)
{
	const char *class = fact_text(a, sw, port, rs_audit_text(a, "group_class/%d", tc), NULL);
	const struct rs_fact *old = rs_hop_fact(a, sw, port, "dscp_to_tc/%d", dscp);
	const char *from =
		old ? fact_text(a, sw, port, rs_audit_text(a, "group_class/%s", old->value), NULL)
		    : NULL;

	if (class && from)
		rs_finding_fix(a, f, sw, true, NULL,
			       rs_audit_text(a,
					     "class-map type qos match-any %s; no match dscp %d; "
					     "class-map type qos match-any %s; match dscp %d",
					     class, dscp, from, dscp),
			       "class-map type qos match-any %s; no match dscp %d; class-map type "
			       "qos match-any %s; match dscp %d",
			       from, dscp, class, dscp);
	else if (class)
		rs_finding_fix(a, f, sw, true, NULL,
			       rs_audit_text(a, "class-map type qos match-any %s; no match dscp %d",
					     class, dscp),
			       "class-map type qos match-any %s; match dscp %d", class, dscp);
	else if (from)
		rs_finding_fix(a, f, sw, true, NULL,
			       rs_audit_text(a, "the same with set qos-group %s", old->value),
			       "policy-map type qos %s; class %s; set qos-group %d",
			       fact_text(a, sw, port, "qos_policy", "<the port's policy>"), from,
			       tc);
	else
		rs_finding_fix(a, f, sw, true, NULL,
			       rs_audit_text(a, "no class-map type qos match-any DSCP%d", dscp),
			       "class-map type qos match-any DSCP%d; match dscp %d; policy-map "
			       "type qos %s; class DSCP%d; set qos-group %d",
			       dscp, dscp,
			       fact_text(a, sw, port, "qos_policy", "<the port's policy>"), dscp,
			       tc);
}

static void os10_class(struct rs_audit *a, struct rs_finding *f, const char *sw, const char *port,
		       int dscp, int tc)
{
	const struct rs_fact *old = rs_hop_fact(a, sw, port, "dscp_to_tc/%d", dscp);
	const char *map = fact_text(a, sw, port, "dscp_to_tc_map", "<the map of the port>");

	/* "default" cannot be changed: a map of one's own takes its place */
	if (!strcmp(map, "default"))
		rs_finding_fix(
			a, f, sw, true, NULL,
			rs_audit_text(a, "interface %s; trust-map dscp default", name_of(port)),
			"trust dscp-map RDMA; qos-group %d dscp %d; interface %s; trust-map "
			"dscp RDMA  # and a row for each other DSCP in use",
			tc, dscp, name_of(port));
	else
		rs_finding_fix(a, f, sw, true, NULL,
			       rs_audit_text(a, "trust dscp-map %s; qos-group %s dscp %d", map,
					     old ? old->value : "0", dscp),
			       "trust dscp-map %s; qos-group %d dscp %d", map, tc, dscp);
}

void rs_hop_fix_class(struct rs_audit *a, struct rs_finding *f, const char *sw, const char *port,
		      int dscp, int tc)
{
	const char *map = fact_text(a, sw, port, "dscp_to_tc_map", "AZURE");
	const struct rs_fact *old = rs_hop_fact(a, sw, port, "dscp_to_tc/%d", dscp);
	const char *was = old ? old->value : "0";

	if (old && old->numeric && old->number == tc)
		return; /* it is so already: the fault is elsewhere */
	if (is(a, sw, "SONiC"))
		rs_finding_fix(
			a, f, sw, false, "none on a map in use; `sudo config save -y` keeps it",
			rs_audit_text(
				a,
				"echo '[{\"op\":\"%s\",\"path\":\"/DSCP_TO_TC_MAP/%s/%d\"%s%s%s}]' "
				"> undo.json && sudo config apply-patch undo.json",
				old ? "replace" : "remove", map, dscp, old ? ",\"value\":\"" : "",
				old ? was : "", old ? "\"" : ""),
			"echo '[{\"op\":\"%s\",\"path\":\"/DSCP_TO_TC_MAP/%s/%d\","
			"\"value\":\"%d\"}]' > fix.json && sudo config apply-patch fix.json",
			old ? "replace" : "add", map, dscp, tc);
	else if (is(a, sw, "EOS"))
		rs_finding_fix(a, f, sw, true, NULL,
			       rs_audit_text(a, "qos map dscp %d to traffic-class %s", dscp, was),
			       "qos map dscp %d to traffic-class %d", dscp, tc);
	else if (is(a, sw, "Junos"))
		rs_finding_fix(
			a, f, sw, true, NULL, "rollback 1; commit",
			"set class-of-service classifiers dscp %s forwarding-class %s "
			"loss-priority low code-points %s; commit",
			fact_text(a, sw, port, "dscp_to_tc_map", "<classifier>"),
			fact_text(a, sw, port, rs_audit_text(a, "class/%d/name", tc), "<class>"),
			six_bits(a, dscp));
	else if (is(a, sw, "Cumulus"))
		rs_finding_fix(a, f, sw, true, REPROGRAM, "nv config apply <previous revision>",
			       "nv set qos mapping default-global dscp %d switch-priority %d; nv "
			       "config apply",
			       dscp, tc);
	else if (is(a, sw, "NX-OS"))
		nxos_class(a, f, sw, port, dscp, tc);
	else if (is(a, sw, "OS10"))
		os10_class(a, f, sw, port, dscp, tc);
}

/* "0-2,4-5,7": the groups of a queue, as qos-map takes them. */
static const char *groups_of(struct rs_audit *a, unsigned bits)
{
	const char *out = "";

	for (int g = 0; g < 8; g++) {
		int last = g;

		if (!(bits >> g & 1))
			continue;
		while (last < 7 && bits >> (last + 1) & 1)
			last++;
		out = last > g ? rs_audit_text(a, "%s%s%d-%d", out, *out ? "," : "", g, last)
			       : rs_audit_text(a, "%s%s%d", out, *out ? "," : "", g);
		g = last;
	}
	return out;
}

void rs_hop_fix_queue(struct rs_audit *a, struct rs_finding *f, const struct rs_hop_view *v, int tc,
		      int queue)
{
	const char *sw = v->sw;
	const char *map = fact_text(a, sw, v->port, "tc_to_queue_map", "AZURE");
	const struct rs_fact *old = v->queue[tc];
	const char *was = old ? old->value : rs_audit_text(a, "%d", tc);

	if (is(a, sw, "SONiC")) {
		rs_finding_fix(
			a, f, sw, false, "none on a map in use; `sudo config save -y` keeps it",
			rs_audit_text(a,
				      "echo '[{\"op\":\"replace\",\"path\":\"/TC_TO_QUEUE_MAP/%s/"
				      "%d\",\"value\":\"%s\"}]' > undo.json && sudo config "
				      "apply-patch undo.json",
				      map, tc, was),
			"echo '[{\"op\":\"%s\",\"path\":\"/TC_TO_QUEUE_MAP/%s/%d\",\"value\":"
			"\"%d\"}]' > fix.json && sudo config apply-patch fix.json",
			old ? "replace" : "add", map, tc, queue);
	} else if (is(a, sw, "EOS")) {
		rs_finding_fix(a, f, sw, true, NULL,
			       rs_audit_text(a, "qos map traffic-class %d to tx-queue %s", tc, was),
			       "qos map traffic-class %d to tx-queue %d", tc, queue);
	} else if (is(a, sw, "Junos")) {
		rs_finding_fix(
			a, f, sw, true, NULL, "rollback 1; commit",
			"set class-of-service forwarding-classes class %s queue-num %d; commit",
			fact_text(a, sw, v->port, rs_audit_text(a, "class/%d/name", tc), "<class>"),
			queue);
	} else if (is(a, sw, "Cumulus")) {
		rs_finding_fix(a, f, sw, true, REPROGRAM, "nv config apply <previous revision>",
			       "nv set qos egress-queue-mapping default-global switch-priority %d "
			       "traffic-class %d; nv config apply",
			       tc, queue);
	} else if (is(a, sw, "OS10")) {
		unsigned rest = 0, all = 0;
		const char *name = fact_text(a, sw, v->port, "tc_to_queue_map", "<the map>");

		for (int g = 0; g < 8 && old; g++)
			if (v->queue[g] && v->queue[g]->number == old->number)
				all |= 1u << g;
		rest = all & ~(1u << tc);
		/* a group that another queue had is taken from it first */
		rs_finding_fix(
			a, f, sw, true, REPROGRAM,
			old ? rs_audit_text(a,
					    "qos-map traffic-class %s; no queue %d; queue "
					    "%s qos-group %s",
					    name, queue, was, groups_of(a, all))
			    : "no qos-map traffic-class, as before",
			"qos-map traffic-class %s; %squeue %d qos-group %d", name,
			rest ? rs_audit_text(a, "queue %s qos-group %s; ", was, groups_of(a, rest))
			     : "",
			queue, tc);
	}
}

void rs_hop_fix_pause(struct rs_audit *a, struct rs_finding *f, const char *sw, const char *port,
		      int from, int group)
{
	bool os10 = is(a, sw, "OS10");
	const char *class = fact_text(a, sw, port, rs_audit_text(a, "pause_class/%d", from), NULL);
	const char *policy = fact_text(a, sw, port, "pause_policy", "<the network-qos policy>");

	if (!os10 && !is(a, sw, "NX-OS")) {
		rs_hop_fix_pfc(a, f, sw, port, group, -1);
		return;
	}
	if (!class)
		return;
	/* NX-OS' own classes c-8q-nq0 to c-8q-nq7 have their group in their name */
	if (!os10 && !strncmp(class, "c-8q-nq", 7)) {
		rs_finding_fix(a, f, sw, true, REPROGRAM,
			       rs_audit_text(a,
					     "policy-map type network-qos %s; class type "
					     "network-qos c-8q-nq%d; no pause pfc-cos %d",
					     policy, group, group),
			       "policy-map type network-qos %s; class type network-qos c-8q-nq%d; "
			       "pause pfc-cos %d",
			       policy, group, group);
		return;
	}
	rs_finding_fix(a, f, sw, true, REPROGRAM,
		       rs_audit_text(a, "the same with %d in place of %d", from, group),
		       os10 ? "class-map type network-qos %s; no match qos-group %d; match "
			      "qos-group %d; policy-map type network-qos %s; class %s; pause; "
			      "pfc-cos %d"
			    : "class-map type network-qos %s; no match qos-group %d; match "
			      "qos-group %d; policy-map type network-qos %s; class type "
			      "network-qos %s; pause pfc-cos %d",
		       class, from, group, policy, class, group);
}

void rs_hop_fix_trust(struct rs_audit *a, struct rs_finding *f, const char *sw, const char *port)
{
	const char *p = name_of(port);

	if (is(a, sw, "EOS"))
		rs_finding_fix(a, f, sw, true, NULL,
			       rs_audit_text(a, "interface %s; no qos trust", p),
			       "interface %s; qos trust dscp", p);
	else if (is(a, sw, "Junos"))
		rs_finding_fix(a, f, sw, true, NULL, "rollback 1; commit",
			       "set class-of-service interfaces %s unit 0 classifiers dscp "
			       "<classifier>; commit",
			       p);
	else if (is(a, sw, "Cumulus"))
		rs_finding_fix(a, f, sw, true, REPROGRAM, "nv config apply <previous revision>",
			       "nv set qos mapping default-global trust l3; nv config apply");
	else if (is(a, sw, "OS10"))
		rs_finding_fix(a, f, sw, true, NULL,
			       rs_audit_text(a, "interface %s; no trust-map", p),
			       "interface %s; trust-map dscp default", p);
	else if (is(a, sw, "SONiC"))
		rs_finding_fix(
			a, f, sw, false, "none on an idle port; `sudo config save -y` keeps it",
			rs_audit_text(a,
				      "echo '[{\"op\":\"remove\",\"path\":\"/PORT_QOS_MAP/%s/"
				      "dscp_to_tc_map\"}]' > undo.json && sudo config apply-patch "
				      "undo.json",
				      p),
			"echo '[{\"op\":\"add\",\"path\":\"/PORT_QOS_MAP/%s/dscp_to_tc_map\","
			"\"value\":\"AZURE\"}]' > fix.json && sudo config apply-patch fix.json",
			p);
}

void rs_hop_fix_pfc(struct rs_audit *a, struct rs_finding *f, const char *sw, const char *port,
		    int priority, int dscp)
{
	const char *p = name_of(port);

	if (is(a, sw, "SONiC"))
		rs_finding_fix(a, f, sw, true, REPROGRAM,
			       rs_audit_text(a, "sudo config interface pfc priority %s %d off", p,
					     priority),
			       "sudo config interface pfc priority %s %d on && sudo config save -y",
			       p, priority);
	else if (is(a, sw, "EOS"))
		rs_finding_fix(
			a, f, sw, true, REPROGRAM,
			rs_audit_text(a, "interface %s; no priority-flow-control priority %d", p,
				      priority),
			"interface %s; priority-flow-control on; priority-flow-control priority %d "
			"no-drop",
			p, priority);
	else if (is(a, sw, "Junos"))
		rs_finding_fix(
			a, f, sw, true, REPROGRAM, "rollback 1; commit",
			"set class-of-service congestion-notification-profile cnp input dscp "
			"code-point %s pfc; set class-of-service interfaces %s "
			"congestion-notification-profile cnp; commit",
			dscp >= 0 ? six_bits(a, dscp) : "<code point>", p);
	else if (is(a, sw, "Cumulus"))
		rs_finding_fix(a, f, sw, true, REPROGRAM, "nv config apply <previous revision>",
			       "nv set qos pfc default-global switch-priority %d; nv set qos pfc "
			       "default-global tx enable; nv set qos pfc default-global rx enable; "
			       "nv config apply",
			       priority);
	else if (is(a, sw, "NX-OS"))
		rs_finding_fix(a, f, sw, true, REPROGRAM,
			       rs_audit_text(a, "interface %s; priority-flow-control mode auto", p),
			       "interface %s; priority-flow-control mode on  # and pause pfc-cos "
			       "%d in the network-qos policy of system qos",
			       p, priority);
	else if (is(a, sw, "OS10"))
		rs_finding_fix(
			a, f, sw, true, REPROGRAM,
			rs_audit_text(a, "interface %s; no priority-flow-control mode", p),
			"interface %s; flowcontrol receive off; flowcontrol transmit off; "
			"priority-flow-control mode on; service-policy input type network-qos "
			"<policy whose class has pause and pfc-cos %d>",
			p, priority);
}

void rs_hop_fix_ecn(struct rs_audit *a, struct rs_finding *f, const char *sw, const char *port,
		    int queue, int64_t kmin, int64_t kmax)
{
	const char *p = name_of(port);
	long long lo = (long long)kmin, hi = (long long)kmax;

	if (is(a, sw, "SONiC")) {
		const struct rs_fact *w = rs_hop_fact(a, sw, port, "queue/%d/wred", queue);

		rs_finding_fix(a, f, sw, false, NULL, "the same with the values in the evidence",
			       "sudo ecnconfig -p %s -gmin %lld -gmax %lld -gdrop 100",
			       w ? w->value : "AZURE_LOSSLESS", lo, hi);
		if (!w)
			rs_finding_fix(a, f, sw, true, NULL,
				       rs_audit_text(a, "sudo ecnconfig -q %d off", queue),
				       "sudo ecnconfig -q %d on && sudo config save -y", queue);
	} else if (is(a, sw, "EOS")) {
		rs_finding_fix(
			a, f, sw, true, NULL,
			rs_audit_text(a, "interface %s; tx-queue %d; no random-detect ecn", p,
				      queue),
			"interface %s; tx-queue %d; random-detect ecn minimum-threshold %lld "
			"kbytes maximum-threshold %lld kbytes max-mark-probability 100",
			p, queue, lo / 1000, hi / 1000);
	} else if (is(a, sw, "Junos")) {
		rs_finding_fix(a, f, sw, true, NULL, "rollback 1; commit",
			       "set class-of-service schedulers <scheduler of queue %d> "
			       "explicit-congestion-notification; set class-of-service schedulers "
			       "<the same> drop-profile-map loss-priority any protocol any "
			       "drop-profile <profile>; commit",
			       queue);
	} else if (is(a, sw, "Cumulus")) {
		rs_finding_fix(a, f, sw, true, NULL, "nv config apply <previous revision>",
			       "nv set qos congestion-control default-global traffic-class %d ecn "
			       "enable; nv set qos congestion-control default-global traffic-class "
			       "%d min-threshold %lld; nv set qos congestion-control "
			       "default-global traffic-class %d max-threshold %lld; nv config "
			       "apply",
			       queue, queue, lo, queue, hi);
	}
}

void rs_hop_fix_watchdog(struct rs_audit *a, struct rs_finding *f, const char *sw, const char *port)
{
	if (is(a, sw, "SONiC"))
		rs_finding_fix(a, f, sw, true, NULL, "sudo config pfcwd stop",
			       "sudo config pfcwd start --action drop all 400 --restoration-time "
			       "400  # some images want `ports all detection-time 400`");
	else if (is(a, sw, "EOS"))
		rs_finding_fix(
			a, f, sw, true, NULL,
			rs_audit_text(a, "interface %s; no priority-flow-control pause watchdog",
				      name_of(port)),
			"priority-flow-control pause watchdog default timeout 0.4; interface "
			"%s; priority-flow-control pause watchdog",
			name_of(port));
	else if (is(a, sw, "Junos"))
		rs_finding_fix(a, f, sw, true, NULL, "rollback 1; commit",
			       "set class-of-service congestion-notification-profile cnp "
			       "pfc-watchdog; commit");
	else if (is(a, sw, "Cumulus"))
		rs_finding_fix(
			a, f, sw, true, NULL,
			rs_audit_text(a, "nv unset interface %s qos pfc-watchdog", name_of(port)),
			"nv set interface %s qos pfc-watchdog state enable; nv config apply",
			name_of(port));
	else if (is(a, sw, "NX-OS"))
		rs_finding_fix(a, f, sw, true, NULL, "priority-flow-control watch-dog-interval off",
			       "priority-flow-control watch-dog-interval on; interface %s; "
			       "priority-flow-control watch-dog-interval on",
			       name_of(port));
}

void rs_hop_fix_mtu(struct rs_audit *a, struct rs_finding *f, const char *sw, const char *port,
		    int64_t mtu)
{
	static const char *const flap = "link flap on some systems";
	const char *p = name_of(port), *was = fact_text(a, sw, port, "mtu", "<before>");
	long long n = (long long)mtu;

	if (is(a, sw, "SONiC"))
		rs_finding_fix(a, f, sw, true, flap,
			       rs_audit_text(a, "sudo config interface mtu %s %s", p, was),
			       "sudo config interface mtu %s %lld && sudo config save -y", p, n);
	else if (is(a, sw, "Cumulus"))
		rs_finding_fix(a, f, sw, true, flap,
			       rs_audit_text(a, "nv set interface %s link mtu %s; nv config apply",
					     p, was),
			       "nv set interface %s link mtu %lld; nv config apply", p, n);
	else if (is(a, sw, "EOS"))
		rs_finding_fix(a, f, sw, true, flap, rs_audit_text(a, "interface %s; no mtu", p),
			       "interface %s; mtu %lld", p, n);
	else if (is(a, sw, "Junos"))
		rs_finding_fix(a, f, sw, true, flap, "rollback 1; commit",
			       "set interfaces %s mtu %lld; commit", p, n + 14);
}

void rs_hop_fix_fec(struct rs_audit *a, struct rs_finding *f, const char *sw, const char *port)
{
	const char *p = name_of(port), *was = fact_text(a, sw, port, "fec", "auto");

	if (is(a, sw, "SONiC"))
		rs_finding_fix(a, f, sw, true, "link flap",
			       rs_audit_text(a, "sudo config interface fec %s %s", p, was),
			       "sudo config interface fec %s rs && sudo config save -y", p);
	else if (is(a, sw, "EOS"))
		rs_finding_fix(a, f, sw, true, "link flap",
			       rs_audit_text(a, "interface %s; no error-correction encoding", p),
			       "interface %s; error-correction encoding reed-solomon", p);
	else if (is(a, sw, "Junos"))
		rs_finding_fix(a, f, sw, true, "link flap", "rollback 1; commit",
			       "set interfaces %s gigether-options fec fec91; commit", p);
	else if (is(a, sw, "Cumulus"))
		rs_finding_fix(a, f, sw, true, "link flap",
			       rs_audit_text(a, "nv set interface %s link fec %s; nv config apply",
					     p, was),
			       "nv set interface %s link fec rs; nv config apply", p);
}

void rs_hop_fix_speed(struct rs_audit *a, struct rs_finding *f, const char *sw, const char *port,
		      int64_t mbps)
{
	const char *p = name_of(port), *was = fact_text(a, sw, port, "speed_mbps", "0");
	long long n = (long long)mbps;

	if (is(a, sw, "SONiC"))
		rs_finding_fix(a, f, sw, true, "link flap",
			       rs_audit_text(a, "sudo config interface speed %s %s", p, was),
			       "sudo config interface speed %s %lld && sudo config save -y", p, n);
	else if (is(a, sw, "EOS"))
		rs_finding_fix(a, f, sw, true, "link flap",
			       rs_audit_text(a, "interface %s; no speed", p),
			       n < 200000 ? "interface %s; speed forced %lldgfull"
					  : "interface %s; speed %lldg-8  # -4 where a lane is "
					    "100G",
			       p, n / 1000);
	else if (is(a, sw, "Junos"))
		rs_finding_fix(a, f, sw, true, "link flap", "rollback 1; commit",
			       "set interfaces %s speed %lldg; commit", p, n / 1000);
	else if (is(a, sw, "Cumulus"))
		rs_finding_fix(
			a, f, sw, true, "link flap",
			rs_audit_text(a, "nv unset interface %s link speed; nv config apply", p),
			"nv set interface %s link speed %lldG; nv config apply", p, n / 1000);
}
