/* Checks of counters that tell of pressure: receivers that are late, pause, discards, completions
 * in error. Rates between two snapshots; one reading is a hint. mlx5's counters; 802.1Q clause 36.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "audit/facts/look.h"
#include "audit/rules/frames.h"
#include "audit/rules/rule.h"

enum { STANDS_HIGH = 1000 /* since boot: worth a note though nobody knows since when */ };

/* A counter that stands, and no older reading: no rate, so no verdict beyond a note. */
static struct rs_finding *hint(struct rs_audit *a, const struct rs_rule *r, const char *host,
			       const char *part, const struct rs_rise *c)
{
	struct rs_finding *f = rs_finding_new(
		a, r, c->now->number < STANDS_HIGH || !c->lifetime ? RS_UNKNOWN : RS_FAIL,
		c->now->number < STANDS_HIGH || !c->lifetime ? r->severity : RS_INFO,
		"%s stands at %lld, since boot or the last clearing", strchr(c->now->name, '/') + 1,
		(long long)c->now->number);

	rs_finding_subject(a, f, host, part);
	rs_finding_fact(f, c->now);
	rs_finding_fact(f, c->before);
	rs_finding_need(a, f, "--since an older snapshot", "whether it still rises");
	return f;
}

typedef unsigned each_device(struct rs_audit *a, const struct rs_rule *r, const char *host,
			     const char *subject);

/* Calls for each RDMA device and interface; sums up what is right. */
static void each(struct rs_audit *a, const struct rs_rule *r, each_device *judge, const char *what)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i), *subject, *first = NULL;
		unsigned right = 0;
		uint32_t at = 0;

		if (rs_facts_is_switch(a->facts, host))
			continue;
		while ((subject = rs_facts_subject(a->facts, &at, host, ""))) {
			unsigned n = !strncmp(subject, "nic/", 4) || !strncmp(subject, "netdev/", 7)
					     ? judge(a, r, host, subject)
					     : 0;

			right += n;
			first = n && !first ? subject : first;
		}
		rs_finding_devices_right(a, r, host, right, what, first);
	}
}

/* ---- C02 ---- */

static unsigned c02_device(struct rs_audit *a, const struct rs_rule *r, const char *host,
			   const char *subject)
{
	static const char *const late[] = {"rnr_nak_retry_err", "out_of_buffer"};
	unsigned seen = 0, risen = 0;

	for (unsigned i = 0; i < sizeof(late) / sizeof(*late); i++) {
		struct rs_finding *f;
		struct rs_rise c;

		if (!rs_look_rise(a, host, subject, late[i], &c))
			continue;
		seen++;
		if (c.by <= 0)
			continue;
		risen++;
		if (c.lifetime) {
			hint(a, r, host, subject + 4, &c);
			continue;
		}
		f = rs_finding_new(a, r, RS_FAIL, rs_look_few(&c) ? RS_MINOR : RS_MAJOR,
				   "%s rose by %lld %s", late[i], (long long)c.by,
				   rs_look_since(a, &c));
		if (f)
			f->states_failure = rs_look_few(&c);
		rs_finding_subject(a, f, host, strchr(subject, '/') + 1);
		rs_finding_fact(f, c.now);
		rs_finding_fact(f, c.before);
		rs_finding_why(
			a, f,
			"messages came before a receive was posted: the receiving software "
			"is late, not the fabric; each costs the RNR timer and a repetition");
		rs_finding_fix(a, f, host, true, "the job's restart", "the former depth",
			       "post more receives: a deeper receive queue or an SRQ with a limit");
	}
	return seen && !risen;
}

static void c02(struct rs_audit *a, const struct rs_rule *r)
{
	each(a, r, c02_device, "no receiver was late");
}

/* ---- C04 ---- */

/* What else says that this host cannot drain its NIC. */
static void slow_drain(struct rs_audit *a, struct rs_finding *f, const char *host,
		       const char *subject)
{
	static const char *const signs[] = {"outbound_pci_stalled_wr", "rx_buffer_full",
					    "outbound_pci_stalled_wr_events"};

	for (unsigned i = 0; i < sizeof(signs) / sizeof(*signs); i++) {
		struct rs_rise c;

		if (rs_look_rise(a, host, subject, signs[i], &c) && c.by > 0)
			rs_finding_fact(f, c.now);
	}
}

static void c04_share(struct rs_audit *a, const struct rs_rule *r, const char *host,
		      const char *subject, const char *way, int prio, const struct rs_rise *c)
{
	/* mlx5 counts microseconds; between two readings of a text more time may have passed */
	double share = fmin(1, (double)c->by / 1e6 / c->seconds);
	bool sent = *way == 't', bad = share > a->set.pause_fail;
	struct rs_finding *f;

	if (share <= a->set.pause_note)
		return;
	f = rs_finding_new(a, r, RS_FAIL, bad && !c->lifetime ? RS_MAJOR : RS_MINOR,
			   "priority %d was paused for %s%.2f %% of the time, %s%s", prio,
			   c->in_text ? "up to " : "", 100 * share, rs_look_since(a, c),
			   sent ? ": this host asked for it" : ": the fabric asked for it");
	rs_finding_subject(a, f, host, strchr(subject, '/') + 1);
	rs_finding_fact(f, c->now);
	rs_finding_fact(f, c->before);
	if (sent) {
		slow_drain(a, f, host, subject);
		rs_finding_why(
			a, f,
			"a host that sends pause cannot drain its NIC: the PCIe path (P01 to "
			"P05), the IOMMU or memory; the congestion spreads from here");
	} else {
		rs_finding_why(a, f,
			       "the switch pushes back: an incast beyond it, ECN thresholds above "
			       "PFC's (S05), or a receiver that drains slowly");
		rs_finding_need(a, f, "the switch's configuration and the peers' counters",
				"which of these it is");
	}
}

/* Frames that a text shows to come, and for how long they stopped the port is not known. */
static void c04_frames(struct rs_audit *a, const struct rs_rule *r, const char *host,
		       const char *subject, const char *way, int prio, const struct rs_rise *frames)
{
	struct rs_finding *f =
		rs_finding_new(a, r, RS_FAIL, RS_MINOR, "%lld frames %s to pause priority %d, %s",
			       (long long)frames->by, *way == 't' ? "were sent" : "came", prio,
			       rs_look_since(a, frames));

	rs_finding_subject(a, f, host, strchr(subject, '/') + 1);
	rs_finding_fact(f, frames->now);
	rs_finding_fact(f, frames->before);
	rs_finding_need(a, f, "rx_prioN_pause_duration, and the time between both readings",
			"for how long of the time it was paused");
	if (f)
		f->states_failure = true;
}

/* Pause frames of a priority, and microseconds for which it was paused, as drivers name them: mlx5;
 * bnxt_en; ice; i40e; hns3. */
static bool c04_look(const struct rs_audit *a, const char *host, const char *subject,
		     const char *way, int prio, bool duration, struct rs_rise *c)
{
	char name[64];

	for (unsigned i = 0; i < 5; i++) {
		switch (i) {
		case 0:
			snprintf(name, sizeof(name), "%s_prio%d_pause%s", way, prio,
				 duration ? "_duration" : "");
			break;
		case 1:
			if (duration)
				snprintf(name, sizeof(name), "pfc_pri%d_%s_duration_us", prio, way);
			else
				snprintf(name, sizeof(name), "%s_pfc_ena_frames_pri%d", way, prio);
			break;
		case 2:
			snprintf(name, sizeof(name), "%s_priority_%d_xoff.nic", way, prio);
			break;
		case 3:
			snprintf(name, sizeof(name), "port.%s_priority_%d_xoff", way, prio);
			break;
		default:
			snprintf(name, sizeof(name), "mac_%s_pfc_pri%d_pkt_num", way, prio);
		}
		if ((!duration || i < 2) && rs_look_rise(a, host, subject, name, c))
			return true;
	}
	return false;
}

static bool c04_priority(struct rs_audit *a, const struct rs_rule *r, const char *host,
			 const char *subject, const char *way, int prio)
{
	struct rs_rise frames, c;
	bool timed;

	if (!c04_look(a, host, subject, way, prio, false, &frames))
		return false;
	if (frames.by <= 0)
		return true;
	/* frames alone are no time: one pauses for 0 to 65535 quanta */
	timed = c04_look(a, host, subject, way, prio, true, &c) && c.seconds > 0;
	if (timed)
		c04_share(a, r, host, subject, way, prio, &c);
	else if (frames.in_text)
		c04_frames(a, r, host, subject, way, prio, &frames);
	else
		rs_finding_need(a, hint(a, r, host, strchr(subject, '/') + 1, &frames),
				"rx_prioN_pause_duration, and /proc/uptime",
				"for how long of the time it was paused");
	return true;
}

/* 802.3x: all classes stop. Without a clock, or a duration, the frames alone are told. */
static void c04_global(struct rs_audit *a, const struct rs_rule *r, const char *host,
		       const char *subject, const char *way, unsigned *seen)
{
	static const char *const names[] = {"global_pause", "pause_ctrl_phy", "pause_frames",
					    "pause"};
	enum { MANY = 100000 /* frames since boot that are worth a line */ };
	bool sent = *way == 't';
	struct rs_finding *f;
	struct rs_rise c, duration;

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char name[48];

		snprintf(name, sizeof(name), "%s_%s", way, names[i]);
		if (!rs_look_rise(a, host, subject, name, &c))
			continue;
		++*seen;
		if (c.by < MANY && (c.lifetime || c.by <= 0))
			return;
		f = rs_finding_new(a, r, RS_FAIL,
				   c.lifetime || rs_look_few(&c) ? RS_MINOR : RS_MAJOR,
				   sent ? "the port told its peer to pause all classes %lld "
					  "times, %s"
					: "the port was told to pause all classes %lld times, %s",
				   (long long)c.by, rs_look_since(a, &c));
		rs_finding_subject(a, f, host, strchr(subject, '/') + 1);
		rs_finding_fact(f, c.now);
		rs_finding_fact(f, c.before);
		snprintf(name, sizeof(name), "%s_global_pause_duration", way);
		if (rs_look_rise(a, host, subject, name, &duration))
			rs_finding_fact(f, duration.now);
		if (sent)
			slow_drain(a, f, host, subject);
		rs_finding_why(a, f,
			       sent ? "a host that sends pause cannot drain its NIC: the PCIe "
				      "path (P01 to P05), the IOMMU or memory. Global pause "
				      "(802.3x) stops RDMA with all else"
				    : "global pause (802.3x) stops RDMA with all else: a slow "
				      "receiver or a switch that pushes back throttles this port");
		rs_finding_need(a, f, "ethtool -a NETDEV; the counters of the other end",
				"whether global pause is meant, and which end asks for it");
		return;
	}
}

static unsigned c04_device(struct rs_audit *a, const struct rs_rule *r, const char *host,
			   const char *subject)
{
	static const char *const ways[] = {"rx", "tx"};
	uint32_t before = a->n_findings;
	struct rs_rise c;
	unsigned seen = 0;

	if (rs_look_rise(a, host, subject, "tx_pause_storm_error_events", &c) && c.by > 0) {
		struct rs_finding *f = rs_finding_new(
			a, r, RS_FAIL, RS_CRITICAL,
			"the NIC cut off a storm of pause that it sent itself, %lld times, %s",
			(long long)c.by, rs_look_since(a, &c));

		rs_finding_subject(a, f, host, strchr(subject, '/') + 1);
		rs_finding_fact(f, c.now);
		rs_finding_fact(f, c.before);
		slow_drain(a, f, host, subject);
	}
	for (unsigned w = 0; w < 2; w++)
		for (int p = 0; p < 8; p++)
			seen += c04_priority(a, r, host, subject, ways[w], p);
	for (unsigned w = 0; w < 2; w++)
		c04_global(a, r, host, subject, ways[w], &seen);
	return seen && a->n_findings == before;
}

/* The most pause frames of a switch's port, by priority or of all. */
static bool c04_port(const struct rs_audit *a, const char *sw, const char *port, const char *way,
		     struct rs_rise *most)
{
	enum { MANY = 1000000 /* of one reading */ };
	struct rs_rise c;
	char name[32];

	most->by = 0;
	for (int p = -1; p < 8; p++) {
		if (p < 0)
			snprintf(name, sizeof(name), "%s_pause", way);
		else
			snprintf(name, sizeof(name), "pfc_%s/%d", way, p);
		if (rs_look_rise(a, sw, port, name, &c) && c.by > most->by &&
		    (c.in_text || c.by >= MANY))
			*most = c;
	}
	return most->by > 0;
}

/* Ports of a switch that pause: what came between two readings is told; of one reading only very
 * many are. */
static void c04_switch(struct rs_audit *a, const struct rs_rule *r, const char *sw, bool sent)
{
	enum { SHOWN = 8 };
	struct rs_finding *f = NULL;
	struct rs_rise c, most = {0};
	const char *port;
	unsigned ports = 0;
	uint32_t at = 0;

	while ((port = rs_facts_subject(a->facts, &at, sw, "port/"))) {
		if (!c04_port(a, sw, port, sent ? "tx" : "rx", &c))
			continue;
		if (!f)
			f = rs_finding_new(a, r, RS_FAIL, RS_INFO, "pause");
		rs_finding_subject(a, f, sw, port + strlen("port/"));
		if (ports++ < SHOWN)
			rs_finding_fact(f, c.now);
		if (c.by > most.by)
			most = c;
		if (f && c.in_text)
			f->severity = RS_MINOR;
	}
	if (!f)
		return;
	f->states_failure = f->severity == RS_MINOR;
	f->title = rs_audit_text(a, "%s%lld pause frames %s, %s", ports > 1 ? "up to " : "",
				 (long long)most.by, sent ? "were sent" : "came",
				 rs_look_since(a, &most));
	rs_finding_why(a, f,
		       sent ? "the switch is full for what comes in here: a port further on "
			      "drains slowly"
			    : "the neighbour cannot take what is sent to it: a host that does "
			      "not drain its NIC, or a switch that is full");
	rs_finding_need(a, f, "the same counters later; pause durations",
			"for how long of the time the port stood");
}

static void c04(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		if (rs_facts_is_switch(a->facts, rs_facts_host(a->facts, i)))
			for (int sent = 0; sent < 2; sent++)
				c04_switch(a, r, rs_facts_host(a->facts, i), sent);
	each(a, r, c04_device, "pause took no notable share of the time");
}

/* ---- C06 ---- */

static unsigned c06_device(struct rs_audit *a, const struct rs_rule *r, const char *host,
			   const char *subject)
{
	static const char *const sides[] = {"req", "resp"};
	unsigned seen = 0, risen = 0;

	for (unsigned i = 0; i < 2; i++) {
		struct rs_rise all, flushed;
		struct rs_finding *f;
		char name[48];
		int64_t real;

		snprintf(name, sizeof(name), "%s_cqe_error", sides[i]);
		if (!rs_look_rise(a, host, subject, name, &all))
			continue;
		snprintf(name, sizeof(name), "%s_cqe_flush_error", sides[i]);
		/* without the flushes, teardown cannot be told from trouble */
		if (!rs_look_rise(a, host, subject, name, &flushed))
			continue;
		seen++;
		real = all.by - flushed.by;
		if (real <= 0)
			continue;
		risen++;
		f = rs_finding_new(a, r, all.lifetime ? RS_UNKNOWN : RS_FAIL, RS_MAJOR,
				   "%lld completions in error at the %s that are no flush, %s",
				   (long long)real, i ? "responder" : "requester",
				   rs_look_since(a, &all));
		rs_finding_subject(a, f, host, strchr(subject, '/') + 1);
		rs_finding_fact(f, all.now);
		rs_finding_fact(f, flushed.now);
		rs_finding_why(a, f,
			       "flushed work requests are teardown; what is left are access, "
			       "protection, length or transport errors");
		rs_finding_need(a, f,
				all.lifetime ? "--since an older snapshot"
					     : "the job's log with the completion's status",
				all.lifetime ? "whether it still rises" : "which error it was");
	}
	return seen && !risen;
}

/* EFA has no count of completions in error, but of peers that did not answer: each ends what was
 * sent to it in error. */
static void c06_efa(struct rs_audit *a, const struct rs_rule *r)
{
	static const char *const lost[] = {"unresponsive_remote_events", "retrans_timeout_events"};

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i), *nic;
		uint32_t at = 0;

		while ((nic = rs_facts_subject(a->facts, &at, host, "nic/"))) {
			struct rs_finding *f = NULL;
			struct rs_rise c;

			for (unsigned k = 0; k < 2; k++) {
				if (!rs_look_rise(a, host, nic, lost[k], &c) || c.by <= 0)
					continue;
				if (!f) {
					f = rs_finding_new(
						a, r, RS_FAIL, c.lifetime ? RS_MINOR : RS_MAJOR,
						"peers did not answer this EFA device: "
						"%s %s %lld, %s",
						lost[k], c.lifetime ? "stands at" : "rose by",
						(long long)c.by, rs_look_since(a, &c));
					rs_finding_subject(a, f, host, nic + 4);
					rs_finding_why(a, f,
						       "a peer that died or whose security group "
						       "lets nothing in, or a path that loses "
						       "packets");
					rs_finding_need(a, f, "the same counters a minute later",
							"whether they rise");
				}
				if (f)
					f->states_failure = f->severity == RS_MINOR;
				rs_finding_fact(f, c.now);
			}
		}
	}
}

static void c06(struct rs_audit *a, const struct rs_rule *r)
{
	c06_efa(a, r);
	each(a, r, c06_device, "completions in error are flushes alone");
}

/* ---- C08 ---- */

static unsigned c08_device(struct rs_audit *a, const struct rs_rule *r, const char *host,
			   const char *subject)
{
	static const struct {
		const char *counter, *why;
	} dropped[] = {
		{"rx_discards_phy", "the NIC had no buffer for what came: its receive buffer "
				    "overflowed, so the class is lossy or the headroom too small"},
		{"tx_discards_phy", "what was to be sent was dropped at the port"},
		{"tx_discards", "what was to be sent was dropped at the port"},
		{"port_xmit_discards", "the port dropped packets that it could not send"},
		{"rx_drops",
		 "the NIC had no buffer for what came (EFA): the sender sends it again"},
		{"rx_length_errors", "frames longer than this MTU came: a peer's MTU is larger"},
		{"rx_oversize_pkts_phy", "frames longer than this MTU came: a peer's is larger"},
	};
	unsigned seen = 0, risen = 0;

	for (unsigned i = 0; i < sizeof(dropped) / sizeof(*dropped); i++) {
		struct rs_finding *f;
		struct rs_rise c;

		if (!rs_look_rise(a, host, subject, dropped[i].counter, &c))
			continue;
		seen++;
		if (c.by <= 0 && !c.full)
			continue;
		risen++;
		if (c.lifetime || (c.full && c.by <= 0)) {
			f = hint(a, r, host, strchr(subject, '/') + 1, &c);
			if (c.full)
				rs_finding_why(
					a, f,
					"the counter stands where it stops: that it does not "
					"rise proves nothing");
			else
				rs_finding_why(a, f, "%s", dropped[i].why);
			continue;
		}
		f = rs_finding_new(a, r, RS_FAIL, rs_look_few(&c) ? RS_MINOR : RS_MAJOR,
				   "%s rose by %lld %s", dropped[i].counter, (long long)c.by,
				   rs_look_since(a, &c));
		if (f)
			f->states_failure = rs_look_few(&c);
		rs_finding_subject(a, f, host, strchr(subject, '/') + 1);
		rs_finding_fact(f, c.now);
		rs_finding_fact(f, c.before);
		rs_finding_why(a, f, "%s", dropped[i].why);
	}
	return seen && !risen && !rs_frames_priority_drops(a, host, subject);
}

static void c08(struct rs_audit *a, const struct rs_rule *r)
{
	each(a, r, c08_device, "no port dropped packets");
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		rs_frames_drops(a, r, rs_facts_host(a->facts, i));
}

const struct rs_rule rs_rules_pressure[] = {
	{
		.id = "C02",
		.name = "receiver-not-ready",
		.severity = RS_MAJOR,
		.criterion =
			"rnr_nak_retry_err and out_of_buffer do not rise between two readings.",
		.authority = "IBTA vol. 1 9.7.5.2.8 (RNR NAK); mlx5's hw_counters",
		.explain =
			"Both count messages that found no posted receive. That is software that "
			"is late; no cable and no switch setting cures it. One reading is a hint.",
		.run = c02,
	},
	{
		.id = "C04",
		.name = "pause",
		.severity = RS_CRITICAL,
		.criterion = "A priority is paused for less than pause_note (0.1 %) of the time; "
			     "above pause_fail (1 %) it is major.",
		.authority = "IEEE 802.1Q-2022 clause 36; mlx5's rx_prioN_pause_duration (us); the "
			     "two thresholds are Ripstop's, and settable",
		.explain =
			"Pause that a host sends means that the host cannot drain; pause that it "
			"receives means that the fabric pushes back. The share of time comes from "
			"the duration counters and the clock; frames alone tell no time.",
		.run = c04,
	},
	{
		.id = "C06",
		.name = "cqe-errors",
		.severity = RS_MAJOR,
		.criterion = "Completions in error, less those flushed, do not rise.",
		.authority = "mlx5's hw_counters (req_cqe_error, req_cqe_flush_error)",
		.explain = "When a queue pair is torn down its work requests are flushed, which "
			   "counts as errors. What remains after taking them away is trouble.",
		.run = c06,
	},
	{
		.id = "C08",
		.name = "port-discards",
		.severity = RS_MAJOR,
		.criterion = "Ports discard nothing, and no frame is longer than the MTU.",
		.authority = "mlx5's physical port counters; IBTA vol. 1 16.1.3.5",
		.explain =
			"rx_discards_phy: no buffer for a frame that came. Length errors: a peer "
			"sends larger frames than this MTU (X02). One reading is a hint, unless "
			"the "
			"frames that passed are known: 1 drop in 10,000 frames is minor, 1 in 100 "
			"major.",
		.run = c08,
	},
	{0},
};
