/* The table of checks of switches, and what they share: going through ports. */
#include <stddef.h>
#include <string.h>
#include "audit/facts/hop.h"
#include "audit/facts/look.h"
#include "audit/rules/switch.h"

struct rs_gather switch_gather(struct rs_audit *a, const struct rs_rule *r)
{
	return (struct rs_gather){.a = a, .r = r, .hosts_protect = -1};
}

const char *switch_at(const struct rs_audit *a, uint32_t i)
{
	const char *sw = rs_facts_host(a->facts, i);

	return rs_facts_is_switch(a->facts, sw) ? sw : NULL;
}

void switch_each_port(struct rs_gather *g, switch_port *fn)
{
	for (uint32_t i = 0; i < rs_facts_hosts(g->a->facts); i++) {
		const char *sw = switch_at(g->a, i), *port;
		uint32_t at = 0;

		if (sw)
			rs_hop_site(g->a, sw, &g->site);
		while (sw && (port = rs_hop_port(g->a, &at, sw))) {
			struct rs_hop_view v;

			/* that one has PFC, and carries what somebody set it up for */
			if (rs_look_management(port + 5) ||
			    (rs_look_aside(g->a, sw, port) && !rs_look_any(g->a, sw, port, "pfc/")))
				continue;
			rs_hop_view(g->a, sw, port, &v);
			fn(g, &v);
		}
	}
}

unsigned switch_count(const struct rs_audit *a)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		n += switch_at(a, i) != NULL;
	return n;
}

#define PFC_STANDARD "IEEE 802.1Q-2022 clause 36 (PFC)"

/* ---- S16: BGP ---- */

static void s16_host(struct rs_gather *g, const char *host)
{
	const char *peer;
	uint32_t at = 0;

	while ((peer = rs_facts_subject(g->a->facts, &at, host, "bgp/"))) {
		const struct rs_fact *state = rs_facts_get(g->a->facts, host, peer, "state");

		if (!state)
			g->unknown++;
		else if (!strcmp(state->value, "Established") || !strcmp(state->value, "Admin"))
			rs_gather_pass(g, state, NULL);
		else
			rs_gather_fail(g, RS_MAJOR, host, peer, state, NULL,
				       "the BGP session of %s with %s is %s", host, peer + 4,
				       state->value);
	}
}

static void s16(struct rs_audit *a, const struct rs_rule *r)
{
	struct rs_gather g = switch_gather(a, r);

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		s16_host(&g, rs_facts_host(a->facts, i));
	rs_gather_end(&g,
		      "a session that is not established gives no routes: what lies behind it is "
		      "reached by fewer paths, which carry more, or not at all",
		      "BGP sessions that are established, or shut down by configuration",
		      "the state of a BGP session is not known", "show bgp summary",
		      "whether each session is established");
}

/* ---- S17: hardware ---- */

/* Messages alone tell what is wrong (rules/message.h): one part that is well says nothing of the
 * others. */
static void s17(struct rs_audit *a, const struct rs_rule *r)
{
	(void)a, (void)r;
}

const struct rs_rule rs_rules_switch[] = {
	{"S01", "class-map", RS_CRITICAL,
	 "The DSCP that hosts send leads to a lossless class on every switch.", PFC_STANDARD,
	 "A switch puts a packet in a class by its DSCP and the port's map. PFC protects classes. "
	 "SONiC's stock map AZURE makes DSCP 3 and 4 lossless and puts 26 in a lossy class; "
	 "Cumulus' lossless mode takes 24 to 31. Either is right if hosts agree.",
	 switch_s01},
	{"S02", "pfc-on-port", RS_CRITICAL,
	 "Every port that carries the class has PFC for its priority, both ways.", PFC_STANDARD,
	 "PFC acts hop by hop. A port that classifies for a protected class but has no PFC itself "
	 "drops when it is full. Ports of storage or management, which do not classify, need none.",
	 switch_s02},
	{"S03", "headroom", RS_MAJOR,
	 "XOFF headroom holds two frames and the cable there and back; with the peer's slowest "
	 "answer too, nothing is lost.",
	 "IEEE 802.3 annex 31B.3.7 (response times); 802.1Q annex N",
	 "After XOFF is decided, frames under way and on the cable still come: 2 x MTU + 84 + 2 x "
	 "5 "
	 "ns/m x length x rate / 8 bytes at least. The standard allows the peer 463360 bit times "
	 "more at 400G. Below the first it fails; between both it is a minor finding. SONiC's "
	 "dynamic model computes it: then only the cable's length is to be right.",
	 switch_s03},
	{"S04", "ecn-enabled", RS_MAJOR, "The queue of the lossless class marks ECN.",
	 "RFC 3168; DCQCN (SIGCOMM 2015) section 3",
	 "DCQCN slows a sender down when the switch marks. The marking profile must be bound to "
	 "the "
	 "very queue of the class, which may have another number than the priority.",
	 switch_s04},
	{"S05", "ecn-before-pfc", RS_MAJOR,
	 "Kmin lies below the depth at which the first ingress crosses XOFF.",
	 "DCQCN (SIGCOMM 2015) section 4; SAI dynamic thresholds",
	 "With a dynamic threshold alpha one ingress is stopped at alpha / (1 + alpha) of the "
	 "shared "
	 "pool, n of them together at n alpha / (1 + n alpha): one alone is the first, and of a "
	 "switch's ports the one with the least threshold. Marking must begin before, and be "
	 "certain "
	 "before, or senders are paused without ever having been told to slow down. Thresholds in "
	 "time count at the port's rate; those in segments or per cent need the platform's sizes.",
	 switch_s05},
	{"S06", "cnp-queue", RS_MAJOR,
	 "CNPs have a queue of their own, not the lossless one, and are not dropped early.",
	 "IBTA annex A17.9.3 (CNP); mlx5 sends them with DSCP 48",
	 "A notification must overtake the congestion that it reports.", switch_s06},
	{"S07", "ets", RS_MINOR,
	 "No strict queue that users can fill stands before the lossless one; shares are within a "
	 "hundred.",
	 "IEEE 802.1Q-2022 clause 37 (ETS)",
	 "Strict priority is for what is little by nature: CNPs, routing. What users mark at will "
	 "may starve the rest.",
	 switch_s07},
	{"S08", "watchdog", RS_CRITICAL,
	 "A PFC watchdog watches lossless queues, detects in 200 to 400 ms, and no queue is in a "
	 "storm.",
	 "SONiC PFC watchdog design; Junos and EOS defaults",
	 "Pauses spread upstream; in a circle they hold each other for ever. The watchdog drops a "
	 "queue that was paused too long. Under 100 ms it strikes at ordinary congestion. A queue "
	 "that is stormed now has a neighbour that does not drain: look there.",
	 switch_s08},
	{"S09", "mtu-switch", RS_CRITICAL, "A switch port takes the largest packet of its host.",
	 "IEEE 802.3-2022 clause 79.3.4 (maximum frame size by LLDP)",
	 "SONiC and Cumulus give the MTU of IP, Junos counts the Ethernet header, EOS has mtu for "
	 "IP "
	 "and l2 mtu for frames. LLDP tells the neighbour's frame, which some fill with the MTU.",
	 switch_s09},
	{"S10", "twins-differ", RS_MAJOR,
	 "Switches of one role have equal class maps, PFC, thresholds and watchdogs.",
	 "ECMP spreads flows over twins",
	 "Normalised facts are compared, not text: names, addresses and descriptions differ by "
	 "right. Switches count as twins when system, model and role are equal as far as said. "
	 "Where "
	 "their names differ in numbers alone, frame sizes, FEC and speeds are compared, too, and "
	 "what "
	 "one configuration has and the other lacks counts.",
	 switch_s10},
	{"S11", "hash-and-ar", RS_MAJOR,
	 "The UDP source port is in the hash; adaptive routing is on everywhere or nowhere.",
	 "IBTA annex A17.9.1 (UDP source port)",
	 "RoCE v2's QPs differ in the UDP source port alone. Adaptive routing at some switches "
	 "only "
	 "reorders packets without relieving the others.",
	 switch_s11},
	{"S12", "oversubscription", RS_INFO,
	 "A leaf's rate to other switches is not below its rate to hosts.",
	 "Clos networks: 1 to 1 for GPU rails",
	 "The sum of rates of links that are up. Where "
	 "neighbours are not known nothing is said.",
	 switch_s12},
	{"S13", "drops-and-pause", RS_CRITICAL,
	 "Nothing is dropped in a lossless class; where it is, pauses were sent.", PFC_STANDARD,
	 "Drops with pauses: headroom too small, or a peer that does not obey. Drops without any "
	 "pause: PFC does not work on that port at all. One reading tells since boot; two tell "
	 "whether it still happens.",
	 switch_s13},
	{"S14", "lossless-sprawl", RS_MINOR, "At most two priorities are lossless on a port.",
	 PFC_STANDARD, "Headroom is reserved for each, used or not.", switch_s14},
	{"S15", "not-applied", RS_MAJOR, "What is configured is in force, and what runs is saved.",
	 "Cumulus nv show: columns operational and applied; SONiC config_db.json beside show "
	 "runningconfiguration; EOS startup-config beside running-config",
	 "Two configurations of one switch are held against each other setting by setting; so are "
	 "the columns of nv show. Sizes are rounded to cells of the buffer: within a tenth they "
	 "are one setting. A Junos candidate that is not committed is not read.",
	 switch_s15},
	{"S16", "routing-neighbours", RS_MAJOR, "Each BGP session of a switch is established.",
	 "RFC 4271 section 8 (states of a session)",
	 "A session that stays in Idle, Connect or Active gives no routes: what lies behind it is "
	 "reached by fewer paths, which carry more, or not at all. One that was shut "
	 "down by configuration is right.",
	 s16},
	{"S17", "switch-hardware", RS_MAJOR,
	 "A switch's fans, power supplies, temperatures and chip are well.",
	 "the switch's own sensors and log",
	 "What the switch says of itself. A switch that lacks cooling or power shuts down parts or "
	 "the whole; a chip that meets damaged memory drops or misroutes what that entry is for.",
	 s17},
	{0},
};
