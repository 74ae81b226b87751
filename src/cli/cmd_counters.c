/* ripstop counters: what the devices of running programs count, under mlx5's names (its
 * hw_counters) where one fits; as text, JSON, or Prometheus' text format 0.0.4. */
#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "cli/cli.h"
#include "live/counters.h"
#include "report/report.h"

struct counter {
	const char *name;
	size_t offset;
};

#define NIC(name)                                                \
	{                                                        \
#name, offsetof(struct rs_live_report, nic.name) \
	}
#define LIVE(name)                                                \
	{                                                         \
#name, offsetof(struct rs_live_report, live.name) \
	}
#define QP(name)                                                         \
	{                                                                \
#name, offsetof(struct rs_live_qp_report, counters.name) \
	}

static const struct counter device_counters[] = {
	NIC(tx_packets),
	NIC(tx_bytes),
	NIC(rx_packets),
	NIC(rx_bytes),
	NIC(tx_data_packets),
	NIC(tx_ack_packets),
	NIC(retransmitted_packets),
	NIC(out_of_sequence),
	NIC(packet_seq_err),
	NIC(duplicate_request),
	NIC(implied_nak_seq_err),
	NIC(local_ack_timeout_err),
	NIC(tail_probes),
	NIC(rnr_nak_retry_err),
	NIC(req_remote_access_errors),
	NIC(resp_remote_access_errors),
	NIC(req_remote_invalid_request),
	NIC(resp_remote_invalid_request),
	NIC(req_cqe_error),
	NIC(resp_cqe_error),
	NIC(req_cqe_flush_error),
	NIC(np_ecn_marked_roce_packets),
	NIC(np_cnp_sent),
	NIC(rp_cnp_handled),
	NIC(rx_icrc_encapsulated),
	NIC(rx_dropped),
	NIC(bad_pkey),
	NIC(bad_qkey),
	NIC(uc_ud_dropped),
	NIC(events_lost),
	NIC(tx_no_packet),
	LIVE(rx_datagrams),
	LIVE(tx_datagrams),
	LIVE(rx_calls),
	LIVE(tx_calls),
	LIVE(rx_malformed),
	LIVE(rx_stranger),
	LIVE(rx_ownerless),
	LIVE(rx_bad_mad),
	LIVE(rx_no_room),
	LIVE(rx_stray),
	LIVE(tx_stray),
	LIVE(rx_shared),
	LIVE(tx_shared),
	LIVE(rx_stamped),
	LIVE(tx_refused),
};

static const struct counter qp_counters[] = {
	QP(retransmitted_packets),
	QP(out_of_sequence),
	QP(packet_seq_err),
	QP(duplicate_request),
	QP(implied_nak_seq_err),
	QP(local_ack_timeout_err),
	QP(rnr_nak_retry_err),
	QP(req_remote_access_errors),
	QP(resp_remote_access_errors),
	QP(req_remote_invalid_request),
	QP(resp_remote_invalid_request),
	QP(req_cqe_error),
	QP(resp_cqe_error),
	QP(np_ecn_marked_roce_packets),
	QP(np_cnp_sent),
	QP(rp_cnp_handled),
	QP(uc_ud_dropped),
};

enum {
	DEVICE_COUNTERS = sizeof(device_counters) / sizeof(device_counters[0]),
	QP_COUNTERS = sizeof(qp_counters) / sizeof(qp_counters[0]),
	WATCH_SECONDS = 1,
};

static const char *const states[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};

static const char *state_of(const struct rs_live_qp_report *q)
{
	return q->state < sizeof(states) / sizeof(states[0]) ? states[q->state] : "?";
}

static uint64_t value(const void *base, const struct counter *c)
{
	return *(const uint64_t *)(const void *)((const char *)base + c->offset);
}

static int help(FILE *out)
{
	fputs("Usage: ripstop counters [--watch] [--json | --prometheus]\n\n"
	      "Shows what the devices of running programs count: packets, and what goes wrong, by\n"
	      "device and by queue pair, under the names that mlx5 uses. Zeros are left out of "
	      "the\n"
	      "text. Only programs of this user in this network namespace are seen.\n\n"
	      "  --watch        again every second, until interrupted\n"
	      "  --json         everything, as JSON\n"
	      "  --prometheus   everything, as Prometheus reads it\n\n"
	      "Exit status: 0, also when no device is open; 2 bad usage.\n",
	      out);
	return RS_EXIT_OK;
}

static void text_device(void *arg, const struct rs_live_report *r)
{
	printf("%s on %s, process %u, %u queue pairs\n", r->device, r->interface, r->pid, r->qps);
	for (unsigned i = 0; i < DEVICE_COUNTERS; i++)
		if (value(r, &device_counters[i]))
			printf("  %-28s %20llu\n", device_counters[i].name,
			       (unsigned long long)value(r, &device_counters[i]));
	for (uint32_t k = 0; k < r->listed; k++) {
		const struct rs_live_qp_report *q = &r->qp[k];

		printf("  QP 0x%06x to 0x%06x, %s\n", q->qpn, q->dest_qpn, state_of(q));
		for (unsigned i = 0; i < QP_COUNTERS; i++)
			if (value(q, &qp_counters[i]))
				printf("    %-26s %20llu\n", qp_counters[i].name,
				       (unsigned long long)value(q, &qp_counters[i]));
	}
}

static void json_device(void *arg, const struct rs_live_report *r)
{
	struct rs_json *j = arg;

	rs_json_object(j, NULL);
	rs_json_string(j, "device", r->device);
	rs_json_string(j, "interface", r->interface);
	rs_json_uint(j, "pid", r->pid);
	rs_json_object(j, "counters");
	for (unsigned i = 0; i < DEVICE_COUNTERS; i++)
		rs_json_uint(j, device_counters[i].name, value(r, &device_counters[i]));
	rs_json_end(j);
	rs_json_uint(j, "qps", r->qps);
	rs_json_array(j, "qp");
	for (uint32_t k = 0; k < r->listed; k++) {
		rs_json_object(j, NULL);
		rs_json_uint(j, "qpn", r->qp[k].qpn);
		rs_json_uint(j, "dest_qpn", r->qp[k].dest_qpn);
		rs_json_string(j, "state", state_of(&r->qp[k]));
		for (unsigned i = 0; i < QP_COUNTERS; i++)
			rs_json_uint(j, qp_counters[i].name, value(&r->qp[k], &qp_counters[i]));
		rs_json_end(j);
	}
	rs_json_end(j);
	rs_json_end(j);
}

/* ---- Prometheus: all samples of a metric together, so the reports are kept ---- */

struct reports {
	struct rs_live_report *report;
	size_t n;
	bool no_memory;
};

static void keep(void *arg, const struct rs_live_report *r)
{
	struct reports *all = arg;
	struct rs_live_report *p = realloc(all->report, (all->n + 1) * sizeof(*p));

	if (!p) {
		all->no_memory = true;
		return;
	}
	all->report = p;
	all->report[all->n++] = *r;
}

/* A device's name is letters, digits and _-. : nothing to escape in a label. */
static void prometheus_devices(const struct reports *all, const struct counter *c)
{
	printf("# TYPE ripstop_%s_total counter\n", c->name);
	for (size_t i = 0; i < all->n; i++)
		printf("ripstop_%s_total{device=\"%s\",pid=\"%u\"} %llu\n", c->name,
		       all->report[i].device, all->report[i].pid,
		       (unsigned long long)value(&all->report[i], c));
}

static void prometheus_qps(const struct reports *all, const struct counter *c)
{
	printf("# TYPE ripstop_qp_%s_total counter\n", c->name);
	for (size_t i = 0; i < all->n; i++)
		for (uint32_t k = 0; k < all->report[i].listed; k++)
			printf("ripstop_qp_%s_total{device=\"%s\",pid=\"%u\",qpn=\"%u\"} %llu\n",
			       c->name, all->report[i].device, all->report[i].pid,
			       all->report[i].qp[k].qpn,
			       (unsigned long long)value(&all->report[i].qp[k], c));
}

static int once_prometheus(void)
{
	struct reports all = {0};
	int n = rs_live_reports(keep, &all);

	for (unsigned i = 0; all.n && i < DEVICE_COUNTERS; i++)
		prometheus_devices(&all, &device_counters[i]);
	for (unsigned i = 0; all.n && i < QP_COUNTERS; i++)
		prometheus_qps(&all, &qp_counters[i]);
	free(all.report);
	return all.no_memory ? -ENOMEM : n;
}

/* ---- Asking ---- */

static int once_json(void)
{
	struct rs_json *j = rs_json_create(stdout);
	int n;

	if (!j)
		return -ENOMEM;
	rs_json_object(j, NULL);
	rs_json_array(j, "devices");
	n = rs_live_reports(json_device, j);
	rs_json_end(j);
	rs_json_end(j);
	return rs_json_finish(j) ? -EIO : n == -ENOENT ? 0 : n;
}

static int once(char format)
{
	int n = format == 'j'   ? once_json()
		: format == 'p' ? once_prometheus()
				: rs_live_reports(text_device, NULL);

	if (n == -ENOENT)
		n = 0;
	if (!n && !format)
		puts("No device is open: nothing runs under ripstop exec here.");
	fflush(stdout);
	return n;
}

int rs_cmd_counters(int argc, char **argv)
{
	static const struct option options[] = {
		{"watch", no_argument, NULL, 'w'},
		{"json", no_argument, NULL, 'j'},
		{"prometheus", no_argument, NULL, 'p'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	static const struct timespec pause = {WATCH_SECONDS, 0};
	bool watch = false;
	char format = 0;
	int o, n;

	while ((o = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (o == 'h')
			return help(stdout);
		if (o == 'w')
			watch = true;
		else if (o == '?')
			return rs_cli_try("counters");
		else if (format)
			return rs_cli_usage("counters", "one format at most");
		else
			format = (char)o;
	}
	if (optind != argc)
		return rs_cli_usage("counters", "takes no argument, found '%s'", argv[optind]);
	do {
		n = once(format);
	} while (n >= 0 && watch && nanosleep(&pause, NULL) == 0);
	return n < 0 ? RS_EXIT_FAILED : RS_EXIT_OK;
}
