/*
 * Errors and drops of an interface are judged beside the frames that it carried: one reading tells
 * no rate, and one damaged frame in 10 million says little, while one in a thousand says all.
 * RoCE's go-back-N resends what follows each loss.
 */
#include <stdio.h>
#include <string.h>
#include "audit/facts/look.h"
#include "audit/facts/qos.h"
#include "audit/rules/frames.h"

/* Shares of frames. A link within IEEE 802.3's 1e-12 damages 1 frame of 9,000 bytes in 14 million
 * (7e-8). The others are Ripstop's. */
static const double told = 1e-7, errors_major = 1e-5, drops_noted = 1e-6, drops_told = 1e-4,
		    drops_major = 1e-2;

/* Damaged frames that are major whatever passed beside them: a link of 400 Gb/s within 1e-12 needs
 * two weeks at its full rate for so many. */
enum { ERRORS_MANY = 1000000 };

/* Names of one count, the first that is known counts. */
static const char *const frames_in[] = {"frames_in",       "rx_packets_phy",  "rx_packets",
					"HwIfInUcastPkts", "rx_pkts",         "rx_ucast_packets",
					"rx_good_frames",  "rx_unicast.nic",  "port.rx_unicast",
					"frames_rx_ok",    "rx_ucast_frames", NULL};
static const char *const frames_out[] = {"frames_out", "tx_packets_phy", "tx_packets",
					 "HwIfOutUcastPkts", NULL};
static const char *const errors_in[] = {"errors_in",         "crc_in",
					"symbol_in",         "rx_crc_errors_phy",
					"rx_fcs_errors",     "HwIfInErrors",
					"rx_fcs_err_frames", "frames_rx_bad_fcs",
					"rx_crc_errors.nic", "port.rx_crc_errors",
					"rx_crc_errors",     NULL};
static const char *const errors_out[] = {"errors_out", "HwIfOutErrors", NULL};
static const char *const drops_in[] = {
	"dropped_in",        "HwIfInDiscards", "rx_discards_phy",    "rx_missed_errors",
	"rx_drops_no_frags", "rx_discards",    "rx_dropped",         "rx_total_discard_pkts",
	"rx_stat_discard",   "rx_dropped.nic", "rx_no_buffer_count", NULL};
static const char *const drops_out[] = {"dropped_out", "HwIfOutQDrops", "HwIfOutDiscards", NULL};

static bool first(const struct rs_audit *a, const char *host, const char *subject,
		  const char *const *names, struct rs_rise *r)
{
	struct rs_rise one;
	bool any = false;

	/* two names may be two places where frames are lost: of one that stands at 0 the other may
	 * not */
	for (; *names; names++)
		if (rs_look_rise(a, host, subject, *names, &one)) {
			if (!any || (r->by <= 0 && one.by > 0))
				*r = one;
			any = true;
			if (one.by > 0)
				break;
		}
	return any;
}

/* Interfaces of software carry no frames of RoCE. */
static bool is_software(const char *name)
{
	static const char *const begins[] = {"lo",      "docker", "veth", "virbr", "br-",   "cni",
					     "flannel", "cali",   "tun",  "tap",   "dummy", NULL};

	for (unsigned i = 0; begins[i]; i++)
		if (!strncmp(name, begins[i], strlen(begins[i])))
			return true;
	return false;
}

struct count {
	const char *const *bad, *const *all;
	const char *said;
};

/* What says little of a cable or a queue: a handful of frames since boot, whatever their share; and
 * errors that are runts, all of them: a virtual port counts its peer's unpadded frames so. */
static bool says_little(const struct rs_audit *a, const char *host, const char *subject,
			const struct count *c, const struct rs_rise *bad)
{
	enum { HANDFUL = 10 };
	struct rs_rise runts;

	if (bad->lifetime && bad->by < HANDFUL)
		return true;
	return c->bad == errors_in && rs_look_rise(a, host, subject, "runts_in", &runts) &&
	       runts.by >= bad->by;
}

static void judge(struct rs_audit *a, const struct rs_rule *r, const char *host,
		  const char *subject, const struct count *c, double least, double major)
{
	struct rs_rise bad, all;
	struct rs_finding *f;
	/* a cable that damages frames is at fault wherever it is */
	bool known, aside = c->bad != errors_in && c->bad != errors_out &&
			    rs_look_aside(a, host, subject);
	double share;

	if (!first(a, host, subject, c->bad, &bad) || bad.by <= 0)
		return;
	known = first(a, host, subject, c->all, &all) && all.by > 0;
	/* those that came damaged may be counted among all that came, or not */
	share = known ? (double)bad.by / ((double)all.by + (double)bad.by) : least;
	/* drops alone are no share: a lossy class drops by right */
	if (share < (major <= errors_major ? least : drops_noted) ||
	    (!known && major >= drops_major))
		return;
	f = rs_finding_new(a, r, RS_FAIL,
			   share < least || aside                   ? RS_INFO
			   : says_little(a, host, subject, c, &bad) ? RS_MINOR
			   : (known && share >= major) || (!bad.lifetime && major < drops_major) ||
					   (!known && bad.by >= ERRORS_MANY)
				   ? RS_MAJOR
				   : RS_MINOR,
			   "%lld frames %s, %s", (long long)bad.by, c->said,
			   rs_look_since(a, &bad));
	rs_finding_subject(a, f, host, strchr(subject, '/') + 1);
	rs_finding_fact(f, bad.now);
	if (aside) {
		rs_finding_why(a, f,
			       "a port for management, or of 1 Gb/s: no RDMA of a cluster "
			       "crosses it");
		return;
	}
	if (known) {
		rs_finding_fact(f, all.now);
		rs_finding_why(a, f,
			       "%.2g of all frames; after each loss go-back-N sends again what "
			       "followed",
			       share);
	}
	rs_finding_need(a, f, "a second reading later (--since)", "whether it still rises");
	if (!f)
		return;
	f->confidence = bad.lifetime ? RS_MEDIUM : RS_HIGH;
	/* what somebody shows says that frames went wrong; a host's own counters are of its life */
	f->states_failure = f->severity == RS_MINOR && bad.now->trust <= RS_TRUST_TOOL;
}

/* Was the check, which runs, failed for this host already? Its findings are the last ones. */
static bool has_failed(const struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	for (uint32_t i = a->n_findings; i-- && a->findings[i]->rule == r;)
		if (a->findings[i]->verdict != RS_PASS &&
		    (!a->findings[i]->n_subjects || !strcmp(a->findings[i]->subject[0].host, host)))
			return true;
	return false;
}

static bool beyond(const struct rs_audit *a, const char *host, const char *subject,
		   const char *const *names, int64_t all, double share)
{
	struct rs_rise r;

	return first(a, host, subject, names, &r) && (double)r.by > share * (double)all;
}

/* Interfaces whose frames and bad ones were both read, and neither errors nor drops are beyond
 * their shares. */
static void passed(struct rs_audit *a, const struct rs_rule *r, const char *host,
		   const struct count *c, const char *what)
{
	const struct rs_fact *fact[2] = {NULL};
	struct rs_finding *f;
	const char *subject;
	unsigned n = 0;
	uint32_t at = 0;

	if (has_failed(a, r, host))
		return;
	while ((subject = rs_facts_subject(a->facts, &at, host, ""))) {
		struct rs_rise bad, all;

		if ((strncmp(subject, "netdev/", 7) && strncmp(subject, "port/", 5)) ||
		    (!strncmp(subject, "netdev/", 7) && is_software(subject + 7)) ||
		    !first(a, host, subject, c->bad, &bad) ||
		    !first(a, host, subject, c->all, &all) || all.by <= 0)
			continue;
		if (beyond(a, host, subject, errors_in, all.by, told) ||
		    beyond(a, host, subject, drops_in, all.by, drops_noted))
			return;
		n++;
		fact[0] = fact[0] ? fact[0] : bad.now;
		fact[1] = fact[1] ? fact[1] : all.now;
	}
	if (!n)
		return;
	f = rs_finding_new(a, r, RS_PASS, r->severity, "%s, on %u interfaces", what, n);
	rs_finding_subject(a, f, host, NULL);
	rs_finding_fact(f, fact[0]);
	rs_finding_fact(f, fact[1]);
}

static void each(struct rs_audit *a, const struct rs_rule *r, const char *host,
		 const struct count *c, unsigned n, double least, double major)
{
	const char *subject;
	uint32_t at = 0;

	while ((subject = rs_facts_subject(a->facts, &at, host, "")))
		if ((!strncmp(subject, "netdev/", 7) && !is_software(subject + 7)) ||
		    !strncmp(subject, "port/", 5))
			for (unsigned i = 0; i < n; i++)
				judge(a, r, host, subject, &c[i], least, major);
}

void rs_frames_errors(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	static const struct count counts[] = {
		{errors_in, frames_in, "came damaged"},
		{errors_out, frames_out, "could not be sent for errors"},
	};

	each(a, r, host, counts, 2, told, errors_major);
	passed(a, r, host, &counts[0], "hardly a frame came damaged");
}

/* NICs that count discards by priority or queue, and what passed beside them. Two counters of
 * mlx5's: of one that stands at 0 the other may not. bnxt's of a queue. */
static const struct {
	const char *bad, *all[2];
} by_prio[] = {
	{"rx_prio%d_discards", {"rx_prio%d_packets"}},
	{"rx_prio%d_buf_discard", {"rx_prio%d_packets"}},
	{"rx_discard_packets_cos%d", {"rx_packets_cos%d", "rx_packets_pri%d"}},
};

enum { BY_PRIO = sizeof(by_prio) / sizeof(*by_prio) };

static const char *of_prio(char *out, size_t size, const char *form, int p)
{
	const char *digit = strstr(form ? form : "", "%d");

	if (!digit)
		return NULL;
	snprintf(out, size, "%.*s%d%s", (int)(digit - form), form, p, digit + 2);
	return out;
}

bool rs_frames_priority_drops(const struct rs_audit *a, const char *host, const char *subject)
{
	struct rs_rise r;
	char name[48];

	for (int p = 0; p < 8; p++)
		for (unsigned k = 0; k < BY_PRIO; k++)
			if (rs_look_rise(a, host, subject,
					 of_prio(name, sizeof(name), by_prio[k].bad, p), &r) &&
			    r.by > 0)
				return true;
	return false;
}

/* Has this priority paused, or been paused? Then it has PFC, whatever else was read. */
static bool pauses(const struct rs_audit *a, const char *host, const char *subject, int p,
		   struct rs_rise *r)
{
	static const char *const frames[] = {"rx_prio%d_pause", "tx_prio%d_pause",
					     "rx_pfc_ena_frames_pri%d", "tx_pfc_ena_frames_pri%d"};
	char name[48];

	for (unsigned k = 0; k < sizeof(frames) / sizeof(*frames); k++)
		if (rs_look_rise(a, host, subject, of_prio(name, sizeof(name), frames[k], p), r) &&
		    r->now->number > 0)
			return true;
	return false;
}

/* A priority with PFC loses nothing by right, whatever the share is. */
static bool lossless_lost(struct rs_audit *a, const struct rs_rule *r, const char *host,
			  const char *subject, int p, const char *bad)
{
	enum { HANDFUL = 10 };
	struct rs_rise lost, pause;
	struct rs_finding *f;

	if (!pauses(a, host, subject, p, &pause) || !rs_look_rise(a, host, subject, bad, &lost) ||
	    lost.by < HANDFUL)
		return false;
	f = rs_finding_new(a, r, RS_FAIL, RS_MAJOR,
			   "priority %d pauses and discarded %lld frames all the same, %s", p,
			   (long long)lost.by, rs_look_since(a, &lost));
	rs_finding_subject(a, f, host, strchr(subject, '/') + 1);
	rs_finding_fact(f, lost.now);
	rs_finding_fact(f, pause.now);
	rs_finding_why(a, f,
		       "the buffer was full although PFC is on: XOFF came too late (R08), or the "
		       "switch does not heed it (S02)");
	rs_finding_need(a, f, "mlnx_qos -i NETDEV; a second reading later (--since)",
			"whether PFC is meant for it, and whether it still rises");
	if (f)
		f->confidence = RS_MEDIUM;
	return true;
}

static void by_priority(struct rs_audit *a, const struct rs_rule *r, const char *host,
			const char *subject)
{
	for (int p = 0; p < 8; p++) {
		char of_bad[48], of_all[2][48], said[48];
		const char *bad[] = {of_bad, NULL}, *all[3];
		const struct count c = {bad, all, said};

		snprintf(said, sizeof(said), "of priority %d were discarded", p);
		for (unsigned k = 0; k < BY_PRIO; k++) {
			of_prio(of_bad, sizeof(of_bad), by_prio[k].bad, p);
			all[0] = of_prio(of_all[0], sizeof(of_all[0]), by_prio[k].all[0], p);
			all[1] = of_prio(of_all[1], sizeof(of_all[1]), by_prio[k].all[1], p);
			all[2] = NULL;
			if (!lossless_lost(a, r, host, subject, p, of_bad))
				judge(a, r, host, subject, &c, drops_told, 1e-3);
		}
	}
}

void rs_frames_drops(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const char *netdev;
	uint32_t at = 0;

	static const struct count counts[] = {
		{drops_in, frames_in, "were dropped on receiving"},
		{drops_out, frames_out, "were dropped on sending"},
	};

	each(a, r, host, counts, 2, drops_told, drops_major);
	while ((netdev = rs_facts_subject(a->facts, &at, host, "netdev/")))
		if (rs_qos_pfc_mask(a, host, netdev + 7) <= 0)
			by_priority(a, r, host, netdev);
	passed(a, r, host, &counts[0], "hardly a frame was dropped on receiving");
}
