/* ripstop pcap FILE: decode a RoCEv2 capture, verify it, tell what happened on the wire. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include "cli/cli.h"
#include "report/report.h"
#include "capture/follow.h"
#include "wire/pcapng.h"

struct options {
	const char *file, *json; /* "-": standard output */
	uint32_t events;         /* at most so many lines of the story */
	bool quiet, strict;
};

enum { EVENTS_SHOWN = 40 };

static int help(void)
{
	fputs("Usage: ripstop pcap [OPTION...] FILE\n\n"
	      "Decode a RoCEv2 capture (pcap or pcapng), verify ICRC and headers, encode each\n"
	      "packet again and compare, follow each queue pair: gaps, retransmissions with their "
	      "cause,\n"
	      "NAKs, RNR waits, CNPs, ECN marks, goodput.\n\n"
	      "  --json[=OUT]    everything as JSON, to standard output or a file\n"
	      "  --events N      at most N lines of what happened (default 40; 0: none)\n"
	      "  --strict        losses, retransmissions and NAKs make the exit status 1, too\n"
	      "  --quiet         no text\n\n"
	      "Exit status: 0 the packets are right, 1 something is wrong on the wire (a bad ICRC, "
	      "a\n"
	      "header that its standard forbids, an answer to what was not sent), 2 bad input.\n",
	      stdout);
	return RS_EXIT_OK;
}

/* What stands by itself: FILE, and OUT behind --json. json_at: how many came before --json. */
static int name_files(const char *const *words, int n, int json_at, struct options *o)
{
	struct rs_pcap_reader *r;

	if (!n)
		return rs_cli_usage("pcap", "which FILE?");
	if (n == 1 || json_at < 0 || json_at > 1)
		o->file = words[0];
	else
		o->file = words[!json_at];
	if (n == 1 && json_at >= 0)
		o->json = "-";
	if (n > 2 || (n == 2 && (json_at < 0 || json_at > 1)))
		return rs_cli_usage("pcap", "one FILE at a time");
	if (n == 1)
		return 0;
	o->json = words[json_at];
	/* a second capture is no place to write to */
	if (strcmp(o->json, "-") == 0 || rs_pcap_open(o->json, &r, NULL))
		return 0;
	rs_pcap_close(r);
	return rs_cli_usage("pcap", "one FILE at a time: --json would overwrite the capture %s",
			    o->json);
}

static int parse(int argc, char **argv, struct options *o)
{
	enum { JSON = 256, EVENTS, STRICT, QUIET, WORD = 1, WORDS = 3 };
	static const struct option table[] = {
		{"json", optional_argument, NULL, JSON},
		{"events", required_argument, NULL, EVENTS},
		{"strict", no_argument, NULL, STRICT},
		{"quiet", no_argument, NULL, QUIET},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	const char *words[WORDS] = {0};
	int c, n = 0, json_at = -1;
	int64_t events;
	int err;

	optind = 1;
	while ((c = getopt_long(argc, argv, "-hq", table, NULL)) != -1) {
		switch (c) {
		case WORD:
			if (n < WORDS)
				words[n++] = optarg;
			break;
		case JSON:
			o->json = optarg;
			json_at = optarg ? -1 : n;
			break;
		case EVENTS:
			err = rs_cli_number("pcap", "--events", optarg, 0, UINT32_MAX, &events);
			if (err)
				return err;
			o->events = (uint32_t)events;
			break;
		case STRICT:
			o->strict = true;
			break;
		case 'q':
		case QUIET:
			o->quiet = true;
			break;
		case 'h':
			help();
			exit(RS_EXIT_OK);
		default:
			return rs_cli_try("pcap");
		}
	}
	for (; optind < argc; optind++) /* behind -- */
		if (n < WORDS)
			words[n++] = argv[optind];
	return name_files(words, n, json_at, o);
}

/* ---- Text ---- */

static const char *transport_name(uint8_t t)
{
	switch (t) {
	case RS_RC:
		return "RC";
	case RS_UC:
		return "UC";
	case RS_UD:
		return "UD";
	case RS_RD:
		return "RD";
	default:
		return "XRC";
	}
}

static void ends(const struct rs_follow_stream *s, char *from, char *to, size_t size)
{
	rs_follow_address(s->sip, from, size);
	rs_follow_address(s->dip, to, size);
}

/* Payload of whole messages over the time from the first packet to the last. */
static double goodput(const struct rs_follow_stream *s)
{
	int64_t ns = s->last_ns - s->first_ns;

	return ns > 0 ? (double)s->message_bytes * 8 / (double)ns : 0;
}

static int streams(const struct rs_follow *f, FILE *out)
{
	struct rs_table *t = rs_table_create(NULL);

	rs_table_column(t, "", RS_RIGHT);
	rs_table_column(t, "requests", RS_LEFT);
	rs_table_column(t, "to QP", RS_RIGHT);
	rs_table_column(t, "packets", RS_RIGHT);
	rs_table_column(t, "messages", RS_RIGHT);
	rs_table_column(t, "again", RS_RIGHT);
	rs_table_column(t, "gaps", RS_RIGHT);
	rs_table_column(t, "NAK", RS_RIGHT);
	rs_table_column(t, "RNR", RS_RIGHT);
	rs_table_column(t, "CE", RS_RIGHT);
	rs_table_column(t, "CNP", RS_RIGHT);
	rs_table_column(t, "Gb/s", RS_RIGHT);
	for (uint32_t i = 0; i < rs_follow_streams(f); i++) {
		const struct rs_follow_stream *s = rs_follow_stream(f, i);
		char from[64], to[64];

		ends(s, from, to, sizeof(from));
		rs_table_row(t);
		rs_table_cell(t, "%u", i + 1);
		rs_table_cell(t, "%s %s > %s", transport_name(s->transport), from, to);
		rs_table_cell(t, "0x%x", s->dest_qp);
		rs_table_cell(t, "%llu", (unsigned long long)s->packets);
		rs_table_cell(t, "%llu", (unsigned long long)s->messages);
		rs_table_cell(t, "%llu", (unsigned long long)s->resent);
		rs_table_cell(t, "%llu", (unsigned long long)s->gap_psns);
		rs_table_cell(t, "%llu", (unsigned long long)s->naks);
		rs_table_cell(t, "%llu", (unsigned long long)s->rnr_naks);
		rs_table_cell(t, "%llu", (unsigned long long)s->ce);
		rs_table_cell(t, "%llu", (unsigned long long)s->cnps);
		rs_table_cell(t, "%.3g", goodput(s));
	}
	return rs_table_print(t, out);
}

/* How far apart the CNPs that a requester got were (DCQCN's notification point has a least
 * interval). */
static void cnps(const struct rs_follow *f, FILE *out)
{
	bool any = false;

	for (uint32_t i = 0; i < rs_follow_streams(f); i++) {
		const struct rs_follow_stream *s = rs_follow_stream(f, i);

		if (s->cnps < 2)
			continue;
		if (!any)
			fputs("\nCNPs (stream, counted from the table):\n", out);
		any = true;
		fprintf(out, "%4u: %llu, %.1f us apart at least, %.1f us on average\n", i + 1,
			(unsigned long long)s->cnps, (double)s->cnp_least_ns / 1e3,
			(double)s->cnp_span_ns / 1e3 / (double)(s->cnps - 1));
	}
}

static const char *const kind_names[] = {"WRONG", "gap", "sent again", "NAK",
					 "RNR",   "CNP", "CM",         "unanswered"};

static void event_line(const struct rs_follow_event *e, FILE *out)
{
	char stream[16] = "";

	if (e->stream != UINT32_MAX)
		snprintf(stream, sizeof(stream), "%u", e->stream + 1);
	fprintf(out, "%10.3f ms  packet %-6u %3s  %-10s ", (double)e->when_ns / 1e6, e->packet,
		stream, kind_names[e->kind]);
	if (e->kind == RS_FOLLOW_RESENT)
		fprintf(out, "%u after %s, %.3f ms: %s\n", e->n,
			e->cause == RS_CAUSE_NAK ? "a NAK" : rs_follow_causes[e->cause],
			(double)e->delay_ns / 1e6, e->what);
	else
		fprintf(out, "%s\n", e->what);
}

static void story(const struct rs_follow *f, const struct options *o, FILE *out)
{
	uint32_t n = rs_follow_events(f), shown = 0;

	if (!n || !o->events)
		return;
	fputs("\nWhat happened (stream, counted from the table):\n", out);
	/* what is wrong first: it must not be cut off by what is not */
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < n && shown < o->events; i++) {
			const struct rs_follow_event *e = rs_follow_event(f, i);

			if ((e->kind == RS_FOLLOW_WRONG) != !pass)
				continue;
			event_line(e, out);
			shown++;
		}
	if (n > shown)
		fprintf(out, "and %u more (--events)\n", n - shown);
}

static void text(const struct rs_follow *f, const struct options *o, FILE *out)
{
	const struct rs_follow_totals *t = rs_follow_totals(f);

	fprintf(out, "%s: %llu frames, %llu RoCEv2, %llu PFC, %llu others\n", o->file,
		(unsigned long long)t->frames, (unsigned long long)t->roce,
		(unsigned long long)t->pfc, (unsigned long long)t->other);
	if (t->ce_frames)
		fprintf(out,
			"Marked CE, at all places of capture: %llu RoCEv2 packets, %llu of them "
			"with data; %llu frames of any kind\n",
			(unsigned long long)t->ce, (unsigned long long)t->ce_data,
			(unsigned long long)t->ce_frames);
	if (rs_follow_streams(f)) {
		fputc('\n', out);
		streams(f, out);
	}
	cnps(f, out);
	story(f, o, out);
	if (t->merged)
		fprintf(out,
			"\n%llu frames were several packets each, merged by a host's offload: "
			"taken "
			"apart\n",
			(unsigned long long)t->merged);
	if (t->cut)
		fprintf(out,
			"\nOf %llu packets the capture kept the first bytes only: their ICRCs are "
			"not "
			"known (tcpdump: -s 0)\n",
			(unsigned long long)t->cut);
	fprintf(out,
		"\n%s: %llu truncated, %llu malformed, %llu with a wrong ICRC, %llu that encode to "
		"other "
		"bytes, %llu findings\n",
		t->wrong ? "WRONG" : "Right", (unsigned long long)t->truncated,
		(unsigned long long)t->malformed, (unsigned long long)t->bad_icrc,
		(unsigned long long)t->not_reencoded, (unsigned long long)t->wrong);
}

/* ---- JSON ---- */

static void json_stream(struct rs_json *j, const struct rs_follow_stream *s)
{
	char from[64], to[64];

	ends(s, from, to, sizeof(from));
	rs_json_object(j, NULL);
	rs_json_string(j, "transport", transport_name(s->transport));
	rs_json_uint(j, "interface", s->interface);
	rs_json_string(j, "src", from);
	rs_json_string(j, "dst", to);
	rs_json_uint(j, "dest_qp", s->dest_qp);
	rs_json_uint(j, "src_qp", s->peer_qp);
	rs_json_uint(j, "path_mtu", s->mtu);
	rs_json_uint(j, "packets", s->packets);
	rs_json_uint(j, "frame_bytes", s->frame_bytes);
	rs_json_uint(j, "messages", s->messages);
	rs_json_uint(j, "message_bytes", s->message_bytes);
	rs_json_uint(j, "retransmitted_packets", s->resent);
	rs_json_object(j, "retransmitted_after");
	rs_json_uint(j, "nak", s->resent_by[RS_CAUSE_NAK]);
	rs_json_uint(j, "rnr", s->resent_by[RS_CAUSE_RNR]);
	rs_json_uint(j, "timeout", s->resent_by[RS_CAUSE_TIMEOUT]);
	rs_json_uint(j, "read_loss", s->resent_by[RS_CAUSE_READ_LOSS]);
	rs_json_end(j);
	rs_json_uint(j, "duplicates", s->duplicates);
	rs_json_uint(j, "late", s->late);
	rs_json_uint(j, "gaps", s->gaps);
	rs_json_uint(j, "gap_psns", s->gap_psns);
	rs_json_uint(j, "acks", s->acks);
	rs_json_uint(j, "naks", s->naks);
	rs_json_uint(j, "rnr_naks", s->rnr_naks);
	rs_json_uint(j, "ect_packets", s->ect);
	rs_json_uint(j, "ce_packets", s->ce);
	rs_json_uint(j, "cnps", s->cnps);
	if (s->cnps > 1) {
		rs_json_number(j, "least_cnp_interval_us", (double)s->cnp_least_ns / 1e3);
		rs_json_number(j, "mean_cnp_interval_us",
			       (double)s->cnp_span_ns / 1e3 / (double)(s->cnps - 1));
	}
	rs_json_number(j, "longest_wait_ms", (double)s->longest_wait_ns / 1e6);
	rs_json_number(j, "goodput_gbps", goodput(s));
	rs_json_bool(j, "failed", s->failed);
	rs_json_end(j);
}

static void json_event(struct rs_json *j, const struct rs_follow_event *e)
{
	rs_json_object(j, NULL);
	rs_json_string(j, "kind", kind_names[e->kind]);
	rs_json_number(j, "time_ms", (double)e->when_ns / 1e6);
	rs_json_uint(j, "packet", e->packet);
	if (e->stream != UINT32_MAX)
		rs_json_uint(j, "stream", e->stream);
	rs_json_uint(j, "psn", e->psn);
	if (e->kind == RS_FOLLOW_RESENT) {
		rs_json_string(j, "after", rs_follow_causes[e->cause]);
		rs_json_number(j, "delay_ms", (double)e->delay_ns / 1e6);
	}
	rs_json_uint(j, "n", e->n);
	rs_json_string(j, "what", e->what);
	rs_json_end(j);
}

static int json(const struct rs_follow *f, const struct options *o, FILE *out)
{
	const struct rs_follow_totals *t = rs_follow_totals(f);
	struct rs_json *j = rs_json_create(out);

	rs_json_object(j, NULL);
	rs_json_string(j, "schema", "ripstop-pcap/1");
	rs_json_string(j, "file", o->file);
	rs_json_uint(j, "frames", t->frames);
	rs_json_uint(j, "roce", t->roce);
	rs_json_uint(j, "pfc", t->pfc);
	rs_json_uint(j, "other", t->other);
	rs_json_uint(j, "merged", t->merged);
	rs_json_uint(j, "cut", t->cut);
	rs_json_uint(j, "truncated", t->truncated);
	rs_json_uint(j, "malformed", t->malformed);
	rs_json_uint(j, "bad_icrc", t->bad_icrc);
	rs_json_uint(j, "not_reencoded", t->not_reencoded);
	rs_json_uint(j, "wrong", t->wrong);
	rs_json_uint(j, "ce_packets", t->ce);
	rs_json_uint(j, "ce_data_packets", t->ce_data);
	rs_json_uint(j, "ce_frames", t->ce_frames);
	rs_json_array(j, "streams");
	for (uint32_t i = 0; i < rs_follow_streams(f); i++)
		json_stream(j, rs_follow_stream(f, i));
	rs_json_end(j);
	rs_json_array(j, "events");
	for (uint32_t i = 0; i < rs_follow_events(f); i++)
		json_event(j, rs_follow_event(f, i));
	rs_json_end(j);
	rs_json_end(j);
	return rs_json_finish(j);
}

/* ---- The command ---- */

/* -ENODATA: all but a last packet that the file ends in. */
static int pass(struct rs_follow *f, const char *path, bool learn, struct rs_error *e)
{
	struct rs_pcap_reader *r;
	struct rs_pcap_packet k;
	int err = rs_pcap_open(path, &r, e), got = 0;

	if (err)
		return err;
	while (!err && (got = rs_pcap_next(r, &k, e)) > 0) {
		if (k.foreign && !learn)
			rs_follow_foreign(f);
		else if (!k.foreign && learn)
			rs_follow_learn_part(f, k.bytes, k.captured, k.original);
		else if (!k.foreign)
			err = rs_follow_part(f, k.interface, k.when_ns, k.bytes, k.captured,
					     k.original);
	}
	rs_pcap_close(r);
	if (err)
		return rs_error_set(e, err, "out of memory");
	return got < 0 ? got : 0;
}

static int write_json(const struct rs_follow *f, const struct options *o, struct rs_error *e)
{
	struct rs_outfile file;
	int err = rs_outfile_open(&file, o->json, e);

	if (err)
		return err;
	err = json(f, o, file.f);
	if (!err)
		return rs_outfile_commit(&file, e);
	rs_outfile_abort(&file);
	return rs_error_set(e, err, "%s: %s", o->json, strerror(-err));
}

/* --strict: a sound wire loses nothing. */
static bool lossy(const struct rs_follow *f)
{
	bool any = false;

	for (uint32_t i = 0; i < rs_follow_streams(f); i++) {
		const struct rs_follow_stream *s = rs_follow_stream(f, i);

		any |= s->resent || s->gaps || s->naks || s->failed;
	}
	return any;
}

int rs_cmd_pcap(int argc, char **argv)
{
	struct options o = {.events = EVENTS_SHOWN};
	struct rs_error e = {0}, cut = {0};
	struct rs_follow *f;
	int status = parse(argc, argv, &o), err;

	if (status)
		return status;
	err = rs_follow_create(&f);
	if (err)
		rs_error_set(&e, err, "out of memory");
	if (!err)
		err = pass(f, o.file, true, &cut);
	if (err && err != -ENODATA)
		e = cut;
	else
		err = pass(f, o.file, false, &e);
	if (err == -ENODATA)
		err = 0; /* told below, behind what is there */
	if (!err && (err = rs_follow_finish(f)))
		rs_error_set(&e, err, "out of memory");
	if (!err && o.json)
		err = write_json(f, &o, &e);
	if (!err && !o.quiet && !(o.json && !strcmp(o.json, "-")) &&
	    (rs_follow_totals(f)->frames || !cut.code))
		text(f, &o, stdout);
	if (err || cut.code) {
		fflush(stdout);
		status = rs_cli_error(err ? &e : &cut);
	} else {
		status = rs_follow_totals(f)->wrong || (o.strict && lossy(f)) ? 1 : RS_EXIT_OK;
	}
	rs_follow_destroy(f);
	return status;
}
