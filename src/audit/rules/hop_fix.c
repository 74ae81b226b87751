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

void rs_hop_fix_class(struct rs_audit *a, struct rs_finding *f, const char *sw, const char *port,
		      int dscp, int tc)
{
	const char *map = fact_text(a, sw, port, "dscp_to_tc_map", "AZURE");
	const struct rs_fact *old = rs_hop_fact(a, sw, port, "dscp_to_tc/%d", dscp);
	const char *was = old ? old->value : "0";

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
		rs_finding_fix(a, f, sw, true, NULL,
			       rs_audit_text(a, "no match dscp %d, in the same class map", dscp),
			       "class-map type qos match-any <the class that sets qos-group %d>; "
			       "match dscp %d",
			       tc, dscp);
	else if (is(a, sw, "OS10"))
		rs_finding_fix(a, f, sw, true, NULL, "the map as it was",
			       "trust dscp-map <the map of the port>; qos-group %d dscp %d", tc,
			       dscp);
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
		rs_finding_fix(
			a, f, sw, true, NULL, "nv config apply <previous revision>",
			"nv set qos congestion-control default-global traffic-class %d ecn "
			"enable; nv set qos congestion-control default-global traffic-class "
			"%d min-threshold-bytes %lld; nv set qos congestion-control "
			"default-global traffic-class %d max-threshold-bytes %lld; nv config "
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
