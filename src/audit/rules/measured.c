/* What was measured beside what the device could do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/facts/look.h"
#include "audit/rules/rule.h"

enum { SLOWEST_PORT = 8 /* Gb/s that the slowest RDMA ports carry, of 10 */ };

/* The best figure of perftest's rows, in Gb/s; *row: its fact. */
static double best_row(const struct rs_audit *a, const char *host, const char *nic,
		       const struct rs_fact **row)
{
	const struct rs_fact *f;
	double best = 0;
	uint32_t at = rs_facts_seek(a->facts, host, nic);

	while ((f = rs_facts_next(a->facts, &at, host, nic, "perftest/gbps/"))) {
		double gbps = strtod(f->value, NULL);

		if (strcmp(f->subject, nic) || atoll(f->name + 14) < 65536 || gbps <= best)
			continue;
		best = gbps;
		*row = f;
	}
	return best;
}

/* Goodput of RoCE and InfiniBand at a path MTU: 82 bytes a packet beside the payload (RoCE v2 over
 * IPv4 with preamble and gap), 30 of InfiniBand. */
static double goodput(const struct rs_audit *a, const char *host, const char *nic, double rate)
{
	int64_t mtu = rs_look_number(a, host, nic, "active_mtu", 4096);
	const char *layer = rs_facts_value(a->facts, host, nic, "link_layer");
	double beside = layer && !strcmp(layer, "InfiniBand") ? 30 : 82;

	return mtu > 0 ? rate * (double)mtu / ((double)mtu + beside) : rate;
}

/* A device of software has no rate of its own. */
static bool is_software(const char *nic)
{
	return !strncmp(nic, "rxe", 3) || !strncmp(nic, "siw", 3) || !strncmp(nic, "lo", 2);
}

/* What a figure tells has no price, and several causes. */
static void is_measurement(struct rs_audit *a, struct rs_finding *f)
{
	rs_finding_unpriced(a, f, "it is a measurement");
	if (f)
		f->confidence = RS_MEDIUM;
}

static void m01_nic(struct rs_audit *a, const struct rs_rule *r, const char *host, const char *nic)
{
	enum { ENOUGH = 85, POOR = 60 /* per cent of the goodput */ };
	const struct rs_fact *row = NULL, *mtu = rs_facts_get(a->facts, host, nic, "active_mtu");
	double best = best_row(a, host, nic, &row), could;
	int64_t rate = rs_look_port_rate(a, host, nic);
	struct rs_finding *f;
	double share;

	if (!row)
		return;
	if (!rate && best < SLOWEST_PORT && !is_software(nic + 4)) {
		f = rs_finding_new(a, r, RS_FAIL, RS_MAJOR,
				   "perftest reached %.1f Gb/s: less than the slowest RDMA ports "
				   "carry (10 Gb/s)",
				   best);
		rs_finding_subject(a, f, host, nic + 4);
		rs_finding_fact(f, row);
		rs_finding_why(a, f,
			       "packets are lost and sent again, a core or the slot limits, or the "
			       "traffic left by another interface (-R resolves addresses by IP)");
		rs_finding_need(a, f, "rdma statistic on both hosts; ibstat",
				"whether packets were lost, and what the port could carry");
		is_measurement(a, f);
		return;
	}
	if (!rate) {
		f = rs_finding_new(a, r, RS_UNKNOWN, RS_MAJOR,
				   "perftest reached %.0f Gb/s; the port's rate is not known",
				   best);
		rs_finding_subject(a, f, host, nic + 4);
		rs_finding_fact(f, row);
		rs_finding_need(a, f, "ibstat, or rdma link", "what the port could carry");
		return;
	}
	could = goodput(a, host, nic, (double)rate);
	share = 100 * best / could;
	f = rs_finding_new(
		a, r, share < ENOUGH ? RS_FAIL : RS_PASS, share < POOR ? RS_MAJOR : RS_MINOR,
		"perftest reached %.0f of the %.0f Gb/s that a port of %lld Gb/s carries", best,
		could, (long long)rate);
	rs_finding_subject(a, f, host, nic + 4);
	rs_finding_fact(f, row);
	rs_finding_fact(f, rs_facts_get(a->facts, host, nic, "rate_gbps"));
	rs_finding_fact(f, mtu);
	if (share >= ENOUGH)
		return;
	rs_finding_why(
		a, f,
		"a slot that trained down (P01), reads in flight (P03), one queue pair on one "
		"path or core, a far socket, pauses and marks (C04, C05), or the peer: the "
		"measurement alone does not tell which");
	rs_finding_need(a, f, "lspci -vvv; the same with -q 4, and from the other side",
			"whether the slot, the queue pair or the peer limits");
	is_measurement(a, f);
}

/* A message of at most 64 bytes takes 1 to 5 us between two hosts, 8 to 20 by EFA, whose NIC puts
 * packets into order. */
static void m01_nic_time(struct rs_audit *a, const struct rs_rule *r, const char *host,
			 const char *nic)
{
	enum { SLOW = 12, POOR = 25 /* us */, SMALL = 64 };
	bool efa = !strncmp(nic + 4, "efa", 3) || !strncmp(nic + 4, "rdmap", 5);
	uint32_t at = rs_facts_seek(a->facts, host, nic);
	const struct rs_fact *f, *row = NULL;
	struct rs_finding *x;
	double least = 0;

	while ((f = rs_facts_next(a->facts, &at, host, nic, "perftest/us/")))
		if (!strcmp(f->subject, nic) && atoll(f->name + 12) <= SMALL &&
		    (!row || strtod(f->value, NULL) < least)) {
			least = strtod(f->value, NULL);
			row = f;
		}
	if (!row || least < (efa ? POOR : SLOW) || is_software(nic + 4))
		return;
	x = rs_finding_new(a, r, RS_FAIL, least < POOR ? RS_MINOR : RS_MAJOR,
			   "perftest's small message takes %.1f us: RDMA takes 1 to 5", least);
	rs_finding_subject(a, x, host, nic + 4);
	rs_finding_fact(x, row);
	rs_finding_why(a, x,
		       "cores sleep deeply or run slowly (H01, H02), the process is on a far "
		       "socket, the path is long or its queues are full, or packets are lost and "
		       "sent again");
	rs_finding_need(a, x, "cpupower idle-info; cpupower frequency-info",
			"whether idle states or the clock explain it");
	is_measurement(a, x);
}

/* ---- Benchmarks that name no device ---- */

/* The fastest port of a host; 0: of none the rate is known. */
static int64_t fastest_port(const struct rs_audit *a, const char *host)
{
	uint32_t at = 0;
	const char *nic;
	int64_t best = 0, rate;

	while ((nic = rs_facts_subject(a->facts, &at, host, "nic/")))
		if ((rate = rs_look_port_rate(a, host, nic)) > best)
			best = rate;
	return best;
}

/* Does the host say that RDMA is to carry it: a device of its own, or a library's variable? */
static bool means_rdma(const struct rs_audit *a, const char *host)
{
	static const char *const of[] = {"UCX_NET_DEVICES", "UCX_TLS", "FI_PROVIDER"};
	static const char *const words[] = {"mlx", "bnxt", "irdma", "roce", "ibp", "rc",
					    "dc",  "ib",   "verbs", "efa",  "cxi", "psm"};
	uint32_t at = 0;
	const char *value;

	if (rs_facts_subject(a->facts, &at, host, "nic/"))
		return true;
	for (unsigned i = 0; i < sizeof(of) / sizeof(*of); i++)
		for (unsigned k = 0; k < sizeof(words) / sizeof(*words); k++)
			if ((value = rs_facts_value(a->facts, host, "env", of[i])) &&
			    *value != '^' && strstr(value, words[k]))
				return true;
	return false;
}

static void m01_bench_fails(struct rs_audit *a, const struct rs_rule *r, const char *host,
			    const struct rs_fact *f, uint8_t severity, const char *title)
{
	struct rs_finding *x = rs_finding_new(a, r, RS_FAIL, severity, "%s", title);

	rs_finding_subject(a, x, host, NULL);
	rs_finding_fact(x, f);
	rs_finding_why(a, x,
		       "the library took TCP or shared buffers in place of RDMA, a slot or a far "
		       "socket limits, packets are lost and sent again, or the other end is slow");
	rs_finding_need(a, x,
			"UCX_LOG_LEVEL=info or FI_LOG_LEVEL=info; ib_write_bw on the same hosts",
			"which transport and device carried it, and what the port carries alone");
	is_measurement(a, x);
}

/* Rates of two processes beside one port; by several ports more is possible, and right. */
static void m01_bench_rate(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	enum { ENOUGH = 85, POOR = 60 /* per cent of a port */, FROM = 65536 };
	const struct rs_fact *f, *row = NULL;
	uint32_t at = rs_facts_seek(a->facts, host, "bench");
	double best = 0, share;
	const struct rs_fact *told = rs_facts_get(a->facts, host, "told", "rate_gbps");
	int64_t port = fastest_port(a, host);
	bool seen = port > 0;
	struct rs_finding *x;
	char title[160];

	/* what no output shows a person may tell */
	if (!seen && told && told->numeric)
		port = told->number;
	while ((f = rs_facts_next(a->facts, &at, host, "bench", "gbps/")))
		if (atoll(f->name + 5) >= FROM && strtod(f->value, NULL) > best) {
			best = strtod(f->value, NULL);
			row = f;
		}
	if (!row || (!port && !(best < SLOWEST_PORT && means_rdma(a, host))))
		return;
	if (!port) {
		snprintf(title, sizeof(title),
			 "a benchmark reached %.2f Gb/s: less than the slowest RDMA ports carry "
			 "(10 Gb/s)",
			 best);
		m01_bench_fails(a, r, host, row, RS_MAJOR, title);
		return;
	}
	share = 100 * best / (double)port;
	snprintf(title, sizeof(title), "a benchmark reached %.1f Gb/s of a port's %lld", best,
		 (long long)port);
	if (share < ENOUGH) {
		m01_bench_fails(a, r, host, row, share < POOR && seen ? RS_MAJOR : RS_MINOR, title);
		return;
	}
	x = rs_finding_new(a, r, RS_PASS, RS_MINOR, "%s", title);
	rs_finding_subject(a, x, host, NULL);
	rs_finding_fact(x, row);
}

/* A message of at most 64 bytes takes 1 to 5 us by RDMA, 15 and more by TCP. */
static void m01_bench_time(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	enum { SLOW = 12 /* us */, SMALL = 64 };
	const struct rs_fact *f, *row = NULL;
	uint32_t at = rs_facts_seek(a->facts, host, "bench");
	double least = 0;
	char title[160];

	while ((f = rs_facts_next(a->facts, &at, host, "bench", "us/")))
		if (atoll(f->name + 3) <= SMALL && (!row || strtod(f->value, NULL) < least)) {
			least = strtod(f->value, NULL);
			row = f;
		}
	if (!row || least < SLOW || !means_rdma(a, host))
		return;
	snprintf(title, sizeof(title),
		 "a benchmark's small message takes %.1f us: RDMA takes 1 to 5, TCP 15 and more",
		 least);
	m01_bench_fails(a, r, host, row, RS_MAJOR, title);
}

/* ---- nccl-tests ---- */

enum { ROWS = 4096 /* of a host's tables */ };

static int by_place(const void *x, const void *y)
{
	const struct rs_fact *a = *(const struct rs_fact *const *)x;
	const struct rs_fact *b = *(const struct rs_fact *const *)y;
	int d = strcmp(a->file, b->file);

	return d ? d : (a->line > b->line) - (a->line < b->line);
}

static void m01_fell(struct rs_audit *a, const struct rs_rule *r, const char *host,
		     const struct rs_fact *best, const struct rs_fact *low)
{
	struct rs_finding *x =
		rs_finding_new(a, r, RS_FAIL, RS_MAJOR,
			       "the bus bandwidth falls from %s GB/s at %s bytes to %s at %s",
			       best->value, best->name + 11, low->value, low->name + 11);

	rs_finding_subject(a, x, host, NULL);
	rs_finding_fact(x, best);
	rs_finding_fact(x, low);
	rs_finding_why(a, x,
		       "larger messages fill queues: packets are lost and sent again (timeouts), "
		       "a port is paused, or another algorithm takes a worse path");
	rs_finding_need(a, x, "rdma statistic, ethtool -S before and after such a run",
			"whether losses or pauses rise at that size");
	is_measurement(a, x);
}

/* From some size on the bus bandwidth grows or stays. Where it falls to less than half of a smaller
 * size's, loss, pauses or another path took over. A table ends where sizes no longer grow. */
static void m01_falls(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	enum { FROM = 1 << 20 /* bytes; below it, latency rules */ };
	const struct rs_fact *f, *row[ROWS], *best = NULL;
	uint32_t at = rs_facts_seek(a->facts, host, "nccl"), n = 0;
	long long before = 0;

	while (n < ROWS && (f = rs_facts_next(a->facts, &at, host, "nccl", "test_busbw/")))
		row[n++] = f;
	if (n)
		qsort(row, n, sizeof(*row), by_place);
	for (uint32_t i = 0; i < n; i++) {
		long long size = atoll(row[i]->name + 11);
		double bus = strtod(row[i]->value, NULL);

		if (size <= before || strcmp(row[i]->file, row[i ? i - 1 : 0]->file))
			best = NULL;
		before = size;
		if (size < FROM || bus <= 0)
			continue;
		if (!best || bus > strtod(best->value, NULL)) {
			best = row[i];
		} else if (bus < strtod(best->value, NULL) / 2) {
			m01_fell(a, r, host, best, row[i]);
			return;
		}
	}
}

/* nccl-tests over several hosts: hosts of such GPUs have a port of 100 Gb/s and more each. */
static void m01_tests(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	enum { LONG = 64 << 20 };
	static const char *const large[] = {"A100",  "H100",  "H200",  "H20",   "H800",
					    "A800",  "B200",  "B300",  "GB200", "GB300",
					    "MI250", "MI300", "MI325", "MI350", "MI355"};
	static const double least = 2.5; /* GB/s */
	const struct rs_fact *f, *row = NULL, *first = NULL, *other = NULL, *gpu = NULL;
	const char *op = rs_facts_value(a->facts, host, "nccl", "test_op");
	double best = 0;
	struct rs_finding *x;
	uint32_t at = 0;

	/* an all-to-all over many hosts is as slow as that by right */
	if (!op || strcmp(op, "sum"))
		return;
	while ((f = rs_facts_next(a->facts, &at, host, "nccl", "test_rank/"))) {
		size_t n = strcspn(f->value, " ");

		for (unsigned i = 0; i < sizeof(large) / sizeof(*large); i++)
			gpu = strstr(f->value, large[i]) ? f : gpu;
		if (first &&
		    (strcspn(first->value, " ") != n || strncmp(first->value, f->value, n)))
			other = f;
		first = first ? first : f;
	}
	at = 0;
	while ((f = rs_facts_next(a->facts, &at, host, "nccl", "test_busbw/")))
		if (atoll(f->name + strlen("test_busbw/")) >= LONG &&
		    strtod(f->value, NULL) > best) {
			best = strtod(f->value, NULL);
			row = f;
		}
	if (!other || !gpu || !row || best >= least)
		return;
	x = rs_finding_new(a, r, RS_FAIL, RS_MAJOR,
			   "nccl-tests over several hosts reached %.2f GB/s: less than a port of "
			   "25 Gb/s carries",
			   best);
	rs_finding_subject(a, x, host, NULL);
	rs_finding_fact(x, row);
	rs_finding_fact(x, first);
	rs_finding_fact(x, other);
	rs_finding_why(a, x,
		       "sockets in place of RDMA, a management port, or packets that are lost and "
		       "sent again");
	rs_finding_need(a, x, "NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=INIT,NET",
			"which network and devices it took");
	is_measurement(a, x);
}

static void m01(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i), *nic;
		uint32_t at = 0;

		while ((nic = rs_facts_subject(a->facts, &at, host, "nic/"))) {
			m01_nic(a, r, host, nic);
			m01_nic_time(a, r, host, nic);
		}
		m01_falls(a, r, host);
		m01_tests(a, r, host);
		m01_bench_rate(a, r, host);
		m01_bench_time(a, r, host);
	}
}

const struct rs_rule rs_rules_measured[] = {
	{
		.id = "M01",
		.name = "measured-rate",
		.severity = RS_MAJOR,
		.criterion =
			"perftest reaches 85 % of what the port carries at its path MTU, with "
			"messages of 64 KiB and more; nccl-tests' bus bandwidth does not fall by "
			"half at a larger size; a benchmark between two processes reaches 85 % of "
			"a port; a small message takes less than 12 us.",
		.authority =
			"IBTA vol. 1 annex A17 (headers); the 85, 60 and 50 %, 12 and 25 us are "
			"Ripstop's",
		.explain = "A test between two hosts, one pair alone, should be near the line's "
			   "goodput: "
			   "98 % at a path MTU of 4096. What is far below has a cause in one of "
			   "the two "
			   "hosts or on the path; the other checks name candidates.",
		.run = m01,
	},
	{0},
};
