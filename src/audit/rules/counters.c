/* Checks of counters: deltas between two snapshots where there are two, else since boot, which is
 * said. IBTA vol. 1 16.1.3.5 (PortCounters), mlx5's hw_counters. */
#include <stdio.h>
#include <string.h>
#include "audit/facts/look.h"
#include "audit/facts/qos.h"
#include "audit/rules/ib_links.h"
#include "audit/rules/frames.h"
#include "audit/rules/rule.h"

/* By how much a counter rose; -1: not known. */
static int64_t rise(const struct rs_audit *a, const char *host, const char *subject,
		    const char *counter, bool *lifetime, const struct rs_fact **fact)
{
	struct rs_rise r;

	*fact = NULL;
	*lifetime = true;
	if (!rs_look_rise(a, host, subject, counter, &r))
		return -1;
	*fact = r.now;
	*lifetime = r.lifetime;
	return r.by;
}

static const char *since(bool lifetime)
{
	return lifetime ? "since boot or the last clearing" : "between the two readings";
}

/* ---- C01 ---- */

static const char *const losses[] = {"local_ack_timeout_err", "packet_seq_err",
				     "implied_nak_seq_err", NULL};

/* Gaps that receivers answered, beside all requests: one in ten thousand is beyond what a lossy
 * class or a rebooted peer makes. */
static bool c01_often(const struct rs_audit *a, const char *host, const char *nic)
{
	static const char *const gaps[] = {"packet_seq_err", "out_of_sequence"};
	const struct rs_fact *fact;
	int64_t all = 0, n, worst = 0;
	bool lifetime;

	n = rise(a, host, nic, "rx_write_requests", &lifetime, &fact);
	all += n > 0 ? n : 0;
	n = rise(a, host, nic, "rx_read_requests", &lifetime, &fact);
	all += n > 0 ? n : 0;
	for (unsigned i = 0; i < 2; i++) {
		n = rise(a, host, nic, gaps[i], &lifetime, &fact);
		worst = n > worst ? n : worst;
	}
	return all > 0 && worst >= 1000 && worst > all / 10000;
}

static struct rs_finding *c01_nic(struct rs_audit *a, const struct rs_rule *r, const char *host,
				  const char *nic, bool *seen)
{
	enum {
		MANY = 10000, /* of one reading, that are told whatever the class is */
		SOME = 1000   /* that leave the check open */
	};
	struct rs_finding *f = NULL;
	bool hint, many, few;

	*seen = false;
	for (unsigned k = 0; losses[k]; k++) {
		struct rs_rise c;

		if (!rs_look_rise(a, host, nic, losses[k], &c))
			continue;
		*seen = true;
		if (c.by <= 0)
			continue;
		if (!f) {
			/* one reading of a class that need not be lossless: a peer that was
			 * rebooted counts as much */
			hint = c.lifetime && !rs_qos_any_lossless(a) && !c01_often(a, host, nic);
			many = hint && c.by >= MANY;
			few = rs_look_few(&c) && !rs_qos_any_lossless(a);
			f = rs_finding_new(a, r, hint && !many ? RS_UNKNOWN : RS_FAIL,
					   many || few            ? RS_MINOR
					   : hint && c.by >= SOME ? RS_CRITICAL
					   : c.lifetime           ? RS_MAJOR
								  : RS_CRITICAL,
					   "packets were lost: %s rose by %lld, %s", losses[k],
					   (long long)c.by, rs_look_since(a, &c));
			rs_finding_subject(a, f, host, nic + 4);
			if (f)
				f->states_failure = many || few;
			if (hint)
				rs_finding_need(a, f, "mlnx_qos -i <dev>",
						"whether the class is lossless");
			if (f && c.lifetime)
				f->confidence = RS_MEDIUM;
			rs_finding_why(
				a, f,
				"a loss in RoCE costs a go-back-N; a timeout stalls the QP for "
				"4.096 us x 2^timeout: 67 ms at 14, 1.07 s at 18, 4.3 s at 20");
			rs_finding_need(a, f, "--since an older snapshot",
					"whether it still rises");
		}
		rs_finding_fact(f, c.now);
		rs_finding_fact(f, c.before);
	}
	return f;
}

/* Packets that came out of sequence between two readings: lost ones, unless the fabric reorders. */
static bool c01_gaps(struct rs_audit *a, const struct rs_rule *r, const char *host, const char *nic)
{
	const struct rs_fact *which = NULL;
	struct rs_finding *f;
	struct rs_rise c;

	if (!rs_look_rise(a, host, nic, "out_of_sequence", &c) || !c.in_text || c.by <= 0 ||
	    rs_look_sprays(a, &which) == 1)
		return false;
	f = rs_finding_new(a, r, RS_FAIL,
			   rs_look_few(&c) || !rs_qos_any_lossless(a) ? RS_MINOR : RS_MAJOR,
			   "out_of_sequence rose by %lld %s: packets were lost, or the fabric "
			   "reorders them",
			   (long long)c.by, rs_look_since(a, &c));
	rs_finding_subject(a, f, host, nic + 4);
	rs_finding_fact(f, c.now);
	rs_finding_fact(f, c.before);
	rs_finding_need(a, f, "the switches' drops, and whether adaptive routing is on",
			"which of both it is");
	if (f)
		f->states_failure = f->severity == RS_MINOR;
	return true;
}

/* One reading of packets out of sequence, and no counter of losses beside it. */
static void c01_alone(struct rs_audit *a, const struct rs_rule *r, const char *host,
		      const char *nic)
{
	enum { MANY = 10000 };
	const struct rs_fact *which = NULL;
	struct rs_finding *f;
	struct rs_rise c;

	if (!rs_look_rise(a, host, nic, "out_of_sequence", &c) || !c.lifetime || c.by < MANY ||
	    rs_look_sprays(a, &which) == 1)
		return;
	f = rs_finding_new(a, r, RS_FAIL, RS_INFO,
			   "out_of_sequence stands at %lld: packets were lost, or the fabric "
			   "reorders them",
			   (long long)c.by);
	rs_finding_subject(a, f, host, nic + 4);
	rs_finding_fact(f, c.now);
	rs_finding_need(a, f, "cat /sys/class/infiniband/*/ports/1/hw_counters/packet_seq_err",
			"whether packets were lost: adaptive routing reorders without a loss");
}

/* Discards that the NIC counts by priority: in a lossless one there are none. */
static void c01_discards(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const char *netdev;
	uint32_t at = 0;

	while ((netdev = rs_facts_subject(a->facts, &at, host, "netdev/"))) {
		int mask = rs_qos_pfc_mask(a, host, netdev + 7);

		for (int p = 0; mask > 0 && p < 8; p++) {
			struct rs_finding *f;
			struct rs_rise c;
			char name[32];

			snprintf(name, sizeof(name), "rx_prio%d_discards", p);
			if (!(mask >> p & 1) || !rs_look_rise(a, host, netdev, name, &c) ||
			    c.by <= 0)
				continue;
			f = rs_finding_new(a, r, RS_FAIL, c.lifetime ? RS_MAJOR : RS_CRITICAL,
					   "lossless priority %d discarded %lld packets, %s", p,
					   (long long)c.by, rs_look_since(a, &c));
			rs_finding_subject(a, f, host, netdev + 7);
			rs_finding_fact(f, c.now);
			rs_finding_fact(f, c.before);
			rs_finding_why(a, f,
				       "the buffer was full although PFC is on: XOFF came too "
				       "late (R08), or the switch does not heed it (S02)");
			if (f && c.lifetime)
				f->confidence = RS_MEDIUM;
		}
	}
}

static void c01(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i), *nic, *first = NULL;
		unsigned right = 0;
		uint32_t at = 0;

		while ((nic = rs_facts_subject(a->facts, &at, host, "nic/"))) {
			bool seen, well = !c01_nic(a, r, host, nic, &seen) &&
					  !c01_gaps(a, r, host, nic) && seen;

			if (!seen)
				c01_alone(a, r, host, nic);
			right += well;
			first = well && !first ? nic : first;
		}
		c01_discards(a, r, host);
		rs_finding_devices_right(a, r, host, right, "no loss was counted", first);
	}
}

/* ---- C03 ---- */

/* A lossless RoCE interface whose device's counters were read, but not its bytes by priority. */
static void c03_unseen(struct rs_audit *a, const struct rs_rule *r, const char *host,
		       const char *netdev)
{
	struct rs_finding *f;
	const char *nic;
	uint32_t at = 0;

	while ((nic = rs_facts_subject(a->facts, &at, host, "nic/"))) {
		const char *nd = rs_qos_netdev(a, host, nic + 4);

		if (nd && !strcmp(nd, netdev + 7) && rs_look_any(a, host, nic, "counter/"))
			break;
	}
	if (!nic)
		return;
	f = rs_finding_new(a, r, RS_UNKNOWN, RS_MAJOR,
			   "which priority carries the bytes is not known");
	rs_finding_subject(a, f, host, netdev + 7);
	rs_finding_need(a, f, rs_audit_text(a, "ethtool -S %s", netdev + 7),
			"whether RoCE's bytes are on a lossless priority");
}

static void c03_netdev(struct rs_audit *a, const struct rs_rule *r, const char *host,
		       const char *netdev)
{
	int64_t bytes[8], all = 0;
	const struct rs_fact *fact[8];
	int mask = rs_qos_pfc_mask(a, host, netdev + 7), most = 0;
	bool seen = false, lifetime = true, paused = false;
	struct rs_finding *f;
	int dscp;

	for (int p = 0; p < 8; p++) {
		char rx[32], tx[32], pause[32];
		const struct rs_fact *unused;
		int64_t up, down;

		snprintf(rx, sizeof(rx), "rx_prio%d_bytes", p);
		snprintf(tx, sizeof(tx), "tx_prio%d_bytes", p);
		snprintf(pause, sizeof(pause), "rx_prio%d_pause", p);
		down = rise(a, host, netdev, rx, &lifetime, &fact[p]);
		up = rise(a, host, netdev, tx, &lifetime, &unused);
		seen |= down >= 0 || up >= 0;
		bytes[p] = (down > 0 ? down : 0) + (up > 0 ? up : 0);
		all += bytes[p];
		most = bytes[p] > bytes[most] ? p : most;
		paused |= rise(a, host, netdev, pause, &lifetime, &unused) >= 0;
	}
	if (!seen && mask > 0)
		c03_unseen(a, r, host, netdev);
	if (!seen || !all)
		return;
	if (bytes[most] < all - all / 100 || most != 0) {
		bool lossy = mask > 0 && !(mask >> most & 1);

		f = rs_finding_new(a, r, lossy ? RS_FAIL : RS_PASS, RS_CRITICAL,
				   "most bytes (%.0f %%) are on priority %d%s",
				   100.0 * (double)bytes[most] / (double)all, most,
				   lossy ? ", for which PFC is off" : "");
	} else if (mask == 0 || (mask < 0 && !a->set.lossless)) {
		return;
	} else {
		/* nobody marks: right only where no RDMA runs, or priority 0 is the lossless one */
		bool lossy = mask < 0 || !(mask & 1);

		f = rs_finding_new(a, r, lossy ? RS_FAIL : RS_PASS,
				   mask < 0 && paused ? RS_MAJOR : RS_CRITICAL,
				   "all bytes are on priority 0%s, %s",
				   lossy ? mask < 0 ? ", and nothing shows PFC for it"
						    : ", for which PFC is off"
					 : "",
				   since(lifetime));
		if (f && mask < 0)
			f->confidence = RS_MEDIUM;
	}
	rs_finding_subject(a, f, host, netdev + 7);
	rs_finding_fact(f, fact[most]);
	if (!f || f->verdict != RS_FAIL)
		return;
	rs_finding_why(a, f,
		       "whatever the configuration says, this is where the traffic went: marking, "
		       "trust or "
		       "map do not do what was meant, and an incast drops packets");
	rs_finding_fix(a, f, host, false, NULL, NULL, "mlnx_qos -i %s --trust dscp", netdev + 7);
	dscp = rs_qos_lossless_dscp(a, host, netdev + 7, mask);
	rs_finding_fix(a, f, "all hosts of the job", true, NULL, "unset NCCL_IB_TC",
		       "NCCL_IB_TC=%d  # DSCP %d%s", dscp < 0 ? 104 : dscp * 4,
		       dscp < 0 ? 26 : dscp,
		       dscp < 0 ? ", where that is the site's lossless one" : "");
	if (mask < 0)
		rs_finding_need(a, f, rs_audit_text(a, "mlnx_qos -i %s", netdev + 7),
				"which priorities are lossless");
}

/* Does RDMA run on this interface? Loss counters or QoS of its device say so; a plain NIC's bytes
 * are on priority 0 by right. */
static bool carries_rdma(const struct rs_audit *a, const char *host, const char *netdev)
{
	const char *nic;
	uint32_t at = 0;
	bool only = false;

	while ((nic = rs_facts_subject(a->facts, &at, host, "nic/"))) {
		const char *nd = rs_qos_netdev(a, host, nic + 4);

		if (nd && !strcmp(nd, netdev + 7))
			return true;
		only |= !nd;
	}
	return only || rs_qos_pfc_mask(a, host, netdev + 7) > 0;
}

static void c03(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i), *netdev;
		uint32_t at = 0;

		while ((netdev = rs_facts_subject(a->facts, &at, host, "netdev/")))
			if (carries_rdma(a, host, netdev))
				c03_netdev(a, r, host, netdev);
	}
}

/* ---- C05 ---- */

/* Receivers send CNPs, and no sender that was seen has handled one: they are lost, or the reaction
 * points are off. Needs readings of both sides. */
static void c05_hosts(struct rs_audit *a, const struct rs_rule *r)
{
	const struct rs_fact *sent = NULL, *idle = NULL;
	int64_t all_sent = 0, all_handled = 0;
	unsigned hosts = 0;
	struct rs_finding *f;

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i), *nic;
		bool both = false;
		uint32_t at = 0;

		while ((nic = rs_facts_subject(a->facts, &at, host, "nic/"))) {
			struct rs_rise s, h;

			if (!rs_look_rise(a, host, nic, "np_cnp_sent", &s) ||
			    !rs_look_rise(a, host, nic, "rp_cnp_handled", &h))
				continue;
			both = true;
			all_sent += s.by;
			all_handled += h.by;
			sent = s.by > 0 && !sent ? s.now : sent;
			idle = !h.by && !idle ? h.now : idle;
		}
		hosts += both;
	}
	if (hosts < 2 || all_sent <= 0 || all_handled > 0)
		return;
	f = rs_finding_new(a, r, RS_FAIL, RS_MAJOR,
			   "%lld CNPs were sent on %u hosts and none was handled: they are lost on "
			   "the way, or the reaction points are off",
			   (long long)all_sent, hosts);
	rs_finding_subject(a, f, sent->host, NULL);
	rs_finding_fact(f, sent);
	rs_finding_fact(f, idle);
	rs_finding_need(a, f, "counters of all senders", "whether they were among those read");
	if (f)
		f->confidence = RS_MEDIUM;
}

static void c05_unseen(struct rs_audit *a, const struct rs_rule *r, const char *host,
		       const char *nic, const struct rs_fact *sent)
{
	struct rs_finding *f = rs_finding_new(a, r, RS_UNKNOWN, RS_MAJOR,
					      "%s CNPs were sent; whether packets came marked is "
					      "not known",
					      sent->value);

	rs_finding_subject(a, f, host, nic + 4);
	rs_finding_fact(f, sent);
	rs_finding_need(a, f, "hw_counters/np_ecn_marked_roce_packets",
			"whether CNPs answer marks or loss");
}

/* One count under the names that mlx5, irdma and bnxt_re give it: the first that is known. */
static const char *const marks[] = {"np_ecn_marked_roce_packets", "RxECNMrkd", "rx_ecn_marked_pkts",
				    NULL};
static const char *const sends[] = {"np_cnp_sent", "cnpSent", "tx_cnp_pkts", NULL};
static const char *const ignores[] = {"rp_cnp_ignored", "cnpIgnored", NULL};

static int64_t rise_of(const struct rs_audit *a, const char *host, const char *nic,
		       const char *const *names, const struct rs_fact **fact)
{
	bool lifetime;

	for (; *names; names++) {
		int64_t n = rise(a, host, nic, *names, &lifetime, fact);

		if (n >= 0)
			return n;
	}
	return -1;
}

static struct rs_finding *c05_ignored(struct rs_audit *a, const struct rs_rule *r, int64_t n)
{
	return rs_finding_new(a, r, RS_FAIL, RS_MAJOR,
			      "%lld CNPs were ignored: the reaction point is off", (long long)n);
}

static void c05(struct rs_audit *a, const struct rs_rule *r)
{
	c05_hosts(a, r);
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i), *nic;
		uint32_t at = 0;

		while ((nic = rs_facts_subject(a->facts, &at, host, "nic/"))) {
			const struct rs_fact *mf, *sf, *jf;
			int64_t marked = rise_of(a, host, nic, marks, &mf);
			int64_t sent = rise_of(a, host, nic, sends, &sf);
			int64_t ignored = rise_of(a, host, nic, ignores, &jf);
			struct rs_finding *f;

			if (marked < 0 && sent > 0)
				c05_unseen(a, r, host, nic, sf);
			if ((marked < 0 || sent < 0) && ignored <= 0)
				continue;
			if (ignored > 0 && (marked < 0 || sent < 0))
				f = c05_ignored(a, r, ignored);
			else if (sent > 0 && !marked)
				f = rs_finding_new(
					a, r, RS_FAIL, RS_MAJOR,
					"%lld CNPs were sent though no packet came marked: the NIC "
					"answered loss, and no switch marks ECN",
					(long long)sent);
			else if (marked > 0 && !sent)
				f = rs_finding_new(
					a, r, RS_FAIL, RS_MAJOR,
					"%lld packets came marked and no CNP was sent: the "
					"notification point is off",
					(long long)marked);
			else if (ignored > 0)
				f = c05_ignored(a, r, ignored);
			else
				f = rs_finding_new(a, r, RS_PASS, RS_MAJOR,
						   "marks and CNPs are in balance");
			rs_finding_subject(a, f, host, nic + 4);
			rs_finding_fact(f, mf);
			rs_finding_fact(f, sf);
			rs_finding_fact(f, ignored > 0 ? jf : NULL);
		}
	}
}

/* ---- C07 ---- */

/* IBTA vol. 1 16.1.3.5: these stop at their ceiling. */
static const struct {
	const char *name;
	int64_t ceiling, many; /* many: since boot; a host that is restarted each week has less */
} port_counters[] = {
	{"link_downed", 255, 20},
	{"link_error_recovery", 255, 20},
	{"symbol_error", 65535, 1000},
	{"port_rcv_errors", 65535, 1000},
	{"local_link_integrity_errors", 15, 10},
	{"excessive_buffer_overrun_errors", 15, 10},
	{"port_rcv_remote_physical_errors", 65535, 1000},
	{"port_rcv_constraint_errors", 255, 20},
	{"port_xmit_constraint_errors", 255, 20},
	{"link_down_events_phy", INT64_MAX, 20},
	{"rx_symbol_err_phy", INT64_MAX, 1000},
};

/* Ports of a host whose counter stands where it stops: one finding, for it says the same of all. */
static void c07_full(struct rs_audit *a, const struct rs_rule *r, const char *host, unsigned k)
{
	struct rs_finding *f = NULL;
	const char *subject;
	uint32_t at = 0;

	while ((subject = rs_facts_subject(a->facts, &at, host, "nic/"))) {
		const struct rs_fact *fact;
		bool lifetime;

		if (rise(a, host, subject, port_counters[k].name, &lifetime, &fact) < 0 ||
		    fact->number != port_counters[k].ceiling)
			continue;
		if (!f) {
			f = rs_finding_new(
				a, r, RS_FAIL, RS_MINOR,
				"%s stands at %lld, where this counter stops: it has counted at "
				"least as many, and \"no increase\" proves nothing",
				port_counters[k].name, (long long)fact->number);
			rs_finding_why(
				a, f,
				"the port's counters of IBTA 16.1.3.5 are narrow and do not wrap");
			rs_finding_need(a, f, "a second reading after clearing",
					"whether it still rises");
		}
		rs_finding_subject(a, f, host, subject + 4);
		rs_finding_fact(f, fact);
		rs_finding_fix(a, f, host, false, NULL, NULL,
			       "perfquery -R -C %s -P 1  # clears them; read again later",
			       subject + 4);
	}
}

/* Ports whose counters say that they are well, and those of which one reading above 0 says neither.
 */
struct c07_ports {
	unsigned right, open;
	const struct rs_fact *zero, *above; /* of the first of each */
};

static void c07_port(struct rs_audit *a, const struct rs_rule *r, const char *host,
		     const char *subject, struct c07_ports *ports)
{
	const struct rs_fact *zero = NULL, *above = NULL;
	struct rs_finding *f = NULL;
	bool few;

	for (unsigned k = 0; k < sizeof(port_counters) / sizeof(*port_counters); k++) {
		struct rs_rise c;

		if (!rs_look_rise(a, host, subject, port_counters[k].name, &c))
			continue;
		/* zero, or no rise between two readings, decides; one reading tells no rise */
		if (c.by > 0)
			above = above ? above : c.now;
		else
			zero = zero ? zero : c.now;
		/* one reading is no rate: only many are told */
		if (c.by <= 0 || (c.lifetime && c.by < port_counters[k].many) ||
		    (c.now->number == port_counters[k].ceiling &&
		     (!c.lifetime || !strncmp(subject, "nic/", 4))))
			continue;
		if (!f) {
			few = c.in_text && c.by < port_counters[k].many / 2;
			f = rs_finding_new(a, r, RS_FAIL, c.lifetime || few ? RS_MINOR : RS_MAJOR,
					   "%s %s %lld, %s", port_counters[k].name,
					   c.lifetime ? "stands at" : "rose by", (long long)c.by,
					   rs_look_since(a, &c));
			if (f)
				f->states_failure = few;
			rs_finding_subject(a, f, host, strchr(subject, '/') + 1);
		}
		/* what somebody shows behind a prompt, and stands so high, is meant */
		if (f && c.now->moment && c.by / 5 >= port_counters[k].many)
			f->states_failure = true;
		rs_finding_fact(f, c.now);
		rs_finding_fact(f, c.before);
	}
	if (f || (!zero && !above))
		return;
	ports->right += !above;
	ports->open += above != NULL;
	if (!above)
		ports->zero = ports->zero ? ports->zero : zero;
	else
		ports->above = ports->above ? ports->above : above;
}

/* What the ports of a host come to, where none failed. */
static void c07_end(struct rs_audit *a, const struct rs_rule *r, const char *host,
		    const struct c07_ports *ports)
{
	struct rs_finding *f;

	if (ports->right) {
		f = rs_finding_new(a, r, RS_PASS, r->severity,
				   "no error or flap shows an increase, on %u device%s",
				   ports->right, ports->right == 1 ? "" : "s");
		rs_finding_subject(a, f, host, NULL);
		rs_finding_fact(f, ports->zero);
	} else if (ports->open) {
		f = rs_finding_new(
			a, r, RS_UNKNOWN, RS_MINOR,
			"errors or flaps were counted, on %u device%s: whether they rise "
			"is not known",
			ports->open, ports->open == 1 ? "" : "s");
		rs_finding_subject(a, f, host, NULL);
		rs_finding_fact(f, ports->above);
		rs_finding_need(a, f, "the same counters a minute later (--since)",
				"whether they rise");
	}
}

/* The most links lost within a day. */
static unsigned worst_day(const int64_t *t, unsigned n)
{
	enum { DAY = 24 * 3600 };
	unsigned worst = 0, from = 0;

	for (unsigned i = 0; i < n; i++) {
		while (from < i && t[i] - t[from] >= DAY)
			from++;
		worst = i - from + 1 > worst ? i - from + 1 : worst;
	}
	return worst;
}

static void c07_log(struct rs_audit *a, const struct rs_rule *r, const char *host,
		    const char *subject)
{
	enum { FLAPS = 4096 };
	const struct rs_fact *f, *last = NULL;
	struct rs_finding *x;
	int64_t t[FLAPS];
	unsigned n = 0, most;
	uint32_t at = 0;

	while (n < FLAPS && (f = rs_facts_next(a->facts, &at, host, subject, "flap/")))
		if (!strcmp(f->subject, subject) && f->numeric) {
			t[n++] = f->number;
			last = f;
		}
	most = worst_day(t, n);
	if ((double)most <= a->set.flaps_per_day)
		return;
	x = rs_finding_new(a, r, RS_FAIL, RS_MAJOR, "the link was lost %u times within a day",
			   most);
	rs_finding_subject(a, x, host, strchr(subject, '/') + 1);
	rs_finding_fact(x, last);
	rs_finding_why(a, x,
		       "a cable, a module or a port that fails now and then: each loss stops "
		       "the job for as long as its retries take");
	rs_finding_fix(a, x, host, true, "the link", NULL,
		       "clean and reseat the cable of %s, then exchange it; look at mlxlink -m -c",
		       strchr(subject, '/') + 1);
	rs_finding_need(a, x, "the log around it", "whether an operator or a driver did it");
}

/* What a log tells of a link last. Now the kernel's word of it counts, where it was read. */
static void c07_last_word(struct rs_audit *a, const struct rs_rule *r, const char *host,
			  const char *subject)
{
	const struct rs_fact *f = rs_facts_get(a->facts, host, subject, "log_link"), *flap;
	const char *state = rs_facts_value(a->facts, host, subject, "operstate");
	uint32_t at = 0;
	bool down = f && !strcmp(f->value, "down");
	struct rs_finding *x;

	flap = rs_facts_next(a->facts, &at, host, subject, "flap/");
	if (!f || rs_look_number(a, host, subject, "carrier", -1) == 1 ||
	    (state && !strcasecmp(state, "up")) || (!strcmp(f->value, "up") && !flap))
		return;
	x = rs_finding_new(a, r, RS_FAIL, down ? RS_MAJOR : RS_INFO,
			   down ? "the link went down, and the log does not say that it came again"
			   : flap ? "the link was lost, and came again"
				  : "the link is down since the start");
	rs_finding_subject(a, x, host, strchr(subject, '/') + 1);
	rs_finding_fact(x, f);
	x->confidence = RS_MEDIUM;
	rs_finding_why(a, x, "%s",
		       down ? "a job that uses this port has lost it: a cable, a module, the other "
			      "end, or someone who set it down"
			    : "one loss is no trend; a port that never came up may be unused");
	rs_finding_need(a, x, rs_audit_text(a, "ip -s link show %s", strchr(subject, '/') + 1),
			"whether it is up now");
}

/* Ports whose traffic is the same to the byte: one file was copied, nothing was read. */
static void c07_copied(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const int64_t large = (int64_t)1 << 32;
	const char *nic, *other;
	uint32_t at = 0;

	while ((nic = rs_facts_subject(a->facts, &at, host, "nic/"))) {
		int64_t v = rs_look_number(a, host, nic, "counter/port_xmit_data", 0);
		uint32_t next = at;
		struct rs_finding *f;
		unsigned same = 0;

		if (v < large)
			continue;
		while ((other = rs_facts_subject(a->facts, &next, host, "nic/")))
			same += rs_look_number(a, host, other, "counter/port_xmit_data", 0) == v;
		if (same < 2)
			continue;
		f = rs_finding_new(a, r, RS_UNKNOWN, RS_MINOR,
				   "%u ports have sent the same number of words (%lld): a copied "
				   "file, no reading",
				   same + 1, (long long)v);
		rs_finding_subject(a, f, host, NULL);
		rs_finding_fact(f, rs_look(a, host, nic, "counter/port_xmit_data"));
		rs_finding_need(a, f, "counters read anew", "what these ports did");
		return;
	}
}

static bool failed_on(const struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	for (uint32_t i = 0; i < a->n_findings; i++)
		if (a->findings[i]->rule == r && a->findings[i]->verdict == RS_FAIL &&
		    a->findings[i]->severity >= RS_MINOR && a->findings[i]->n_subjects &&
		    !strcmp(a->findings[i]->subject[0].host, host))
			return true;
	return false;
}

/* A switch shut a port because its link flapped: its errors are zero, and the link is not right. */
static void c07_flapped(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const struct rs_fact *f;
	struct rs_finding *x;
	uint32_t at = 0;

	while ((f = rs_facts_next(a->facts, &at, host, "message", "port-"))) {
		if (!strcasestr(f->value, "flaperr") && !strcasestr(f->value, "flap err"))
			continue;
		x = rs_finding_new(a, r, RS_FAIL, RS_MAJOR,
				   "a link went up and down until the switch shut its port");
		rs_finding_subject(a, x, host, NULL);
		rs_finding_fact(x, f);
		rs_finding_why(a, x, "a cable, a module or the other end; FEC that does not fit");
		rs_finding_need(a, x, "the switch's log of that port; the module's light",
				"when it began, and which end");
		return;
	}
}

static void c07(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i), *subject;
		struct c07_ports ports = {.right = 0};
		uint32_t at = 0;

		for (unsigned k = 0; k < sizeof(port_counters) / sizeof(*port_counters); k++)
			c07_full(a, r, host, k);
		while ((subject = rs_facts_subject(a->facts, &at, host, "")))
			if (!strncmp(subject, "nic/", 4) || !strncmp(subject, "netdev/", 7)) {
				c07_port(a, r, host, subject, &ports);
				c07_log(a, r, host, subject);
				c07_last_word(a, r, host, subject);
			}
		c07_copied(a, r, host);
		c07_flapped(a, r, host);
		rs_ib_links_errors(a, r, host);
		rs_frames_errors(a, r, host);
		if (!failed_on(a, r, host))
			c07_end(a, r, host, &ports);
	}
}

const struct rs_rule rs_rules_counters[] = {
	{
		.id = "C01",
		.name = "loss-in-lossless-class",
		.severity = RS_CRITICAL,
		.criterion = "Sequence errors and timeouts do not rise where the class is lossless "
			     "and nothing "
			     "reorders on purpose.",
		.authority = "IBTA vol. 1 9.7.5 and 9.9; mlx5's hw_counters",
		.explain = "local_ack_timeout_err counts QPs that waited in vain for an "
			   "acknowledgement; "
			   "packet_seq_err and implied_nak_seq_err count gaps that the requester "
			   "learnt of. In a "
			   "lossless class none of them rises. out_of_sequence at the responder is "
			   "left out, unless "
			   "one text shows it rise: with adaptive routing it is expected.",
		.run = c01,
	},
	{
		.id = "C03",
		.name = "used-priority",
		.severity = RS_CRITICAL,
		.criterion = "The priority that carries the bytes is one with PFC.",
		.authority =
			"mlx5's per-priority counters (ethtool -S); IEEE 802.1Q-2022 clause 36",
		.explain = "rx_prioN_bytes and tx_prioN_bytes tell where the traffic really went, "
			   "whatever the "
			   "configuration says. All bytes on priority 0 with PFC on another means "
			   "that marking, trust "
			   "or map are broken.",
		.run = c03,
	},
	{
		.id = "C05",
		.name = "cnp-balance",
		.severity = RS_MAJOR,
		.criterion = "Marked packets are answered with CNPs, CNPs come from marks, and "
			     "none is ignored.",
		.authority = "IBTA vol. 1 annex A17.9; DCQCN (SIGCOMM 2015) section 3",
		.explain = "The notification point answers packets marked CE with CNPs; the "
			   "reaction point slows down. "
			   "Marks without CNPs: the first is off. CNPs without marks: the NIC "
			   "answered loss, so no "
			   "switch marks. Ignored CNPs: the second is off.",
		.run = c05,
	},
	{
		.id = "C07",
		.name = "link-errors",
		.severity = RS_MAJOR,
		.criterion =
			"Link flaps and symbol errors do not rise between two readings; a log "
			"shows at most flaps_per_day (1) losses of a link in 24 h; at most 1 frame "
			"in 10 million comes damaged.",
		.authority =
			"IBTA vol. 1 16.1.3.5 (widths of PortCounters); the flaps of a day are "
			"AzNHC's default, settable",
		.explain = "link_downed and link_error_recovery are 8 bits wide, symbol_error 16, "
			   "and stop at their "
			   "ceiling. One reading is no rate: flaps at boot and at driver reloads "
			   "are normal, and "
			   "those within two minutes of a driver's start in a log do not count.",
		.run = c07,
	},
	{0},
};
