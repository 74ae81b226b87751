/* ripstop nccl tune: NCCL's table of latencies and bandwidths, and its choice by size; or that as a
 * tuner plugin's file. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "cli/nccl.h"

enum { SIZE_FIRST = 1024, SIZES = 25 }; /* 1 KiB to 16 GiB */

static void table_block(const struct rs_nccl_table *t, int first, FILE *out)
{
	fputs("  Algorithm   |", out);
	for (int a = first; a < first + 3 && a < RS_NCCL_ALGOS; a++)
		fprintf(out, " %14s   %14s   %14s |", "", rs_nccl_algo_names[a], "");
	fputs("\n  Protocol    |", out);
	for (int a = first; a < first + 3 && a < RS_NCCL_ALGOS; a++)
		for (int q = 0; q < RS_NCCL_PROTOS; q++)
			fprintf(out, " %14s |", rs_nccl_proto_names[q]);
	fputs("\n Max NThreads |", out);
	for (int a = first; a < first + 3 && a < RS_NCCL_ALGOS; a++)
		for (int q = 0; q < RS_NCCL_PROTOS; q++)
			fprintf(out, " %14d |", t->threads[a][q]);
	fputc('\n', out);
	for (int f = 0; f < RS_NCCL_FUNCS; f++) {
		fprintf(out, "%13s |", rs_nccl_func_names[f]);
		for (int a = first; a < first + 3 && a < RS_NCCL_ALGOS; a++)
			for (int q = 0; q < RS_NCCL_PROTOS; q++)
				fprintf(out, "%8.1f/%6.1f |", (double)t->latency[f][a][q],
					(double)t->bandwidth[f][a][q]);
		fputc('\n', out);
	}
}

static bool same(const struct rs_nccl_choice *a, const struct rs_nccl_choice *b)
{
	return a->algo == b->algo && a->proto == b->proto && a->channels == b->channels;
}

static void line(const struct rs_nccl_plan *p, enum rs_nccl_func f, uint64_t from, uint64_t to,
		 const struct rs_nccl_choice *c, bool csv, FILE *out)
{
	const struct rs_nccl_tuner_row row = {.func = f,
					      .min_bytes = from,
					      .max_bytes = to,
					      .algo = c->algo,
					      .proto = c->proto,
					      .channels = c->channels,
					      .nodes = (int)p->n_nodes,
					      .ranks = (int)p->n_ranks,
					      .pipe_ops = -1,
					      .registered = -1};
	char text[RS_NCCL_TUNER_LINE_MAX];

	if (csv) {
		rs_nccl_tuner_line(&row, text);
		fprintf(out, "%s\n", text);
		return;
	}
	fprintf(out, "%13s  %12" PRIu64 "  %13s  %8s  %8d  %8d  %9" PRIu64 "  %10.1f%s\n",
		rs_nccl_func_names[f], from, rs_nccl_algo_names[c->algo],
		rs_nccl_proto_names[c->proto], c->channels, c->threads, c->chunk, c->time,
		c->tuned ? "  (tuner)" : "");
}

/* Sizes by powers of two; those alike, one line. */
static int choices(const struct rs_nccl_plan *p, const struct rs_nccl_table *t, enum rs_nccl_func f,
		   bool csv, FILE *out, struct rs_error *e)
{
	struct rs_nccl_choice last = {0}, c;
	uint64_t from = 0;

	for (int i = 0; i <= SIZES; i++) {
		uint64_t bytes = (uint64_t)SIZE_FIRST << i;
		int err = i < SIZES ? rs_nccl_choose(p, t, f, bytes, 4, &c, e) : 0;

		if (err)
			return err;
		if (i && i < SIZES && same(&c, &last))
			continue;
		if (i)
			line(p, f, from, csv ? (i < SIZES ? bytes - 1 : INT64_MAX) : 0, &last, csv,
			     out);
		from = i ? bytes : csv ? 0 : bytes;
		last = c;
	}
	return 0;
}

int rs_cli_nccl_tune(const struct rs_nccl_plan *p, const struct rs_nccl_tune_conf *conf, bool csv,
		     struct rs_arena *a, FILE *out, struct rs_error *e)
{
	struct rs_nccl_table *t = rs_arena_alloc(a, 1, sizeof(*t));
	int err = t ? rs_nccl_tune(p, conf, t, e) : rs_error_set(e, -ENOMEM, "out of memory");

	if (err)
		return err;
	if (csv)
		fputs("# collective,min bytes,max bytes,algorithm,protocol,channels,nodes,ranks,"
		      "pipelined operations,registered\n",
		      out);
	for (int first = 0; !csv && first < RS_NCCL_ALGOS; first += 3)
		table_block(t, first, out);
	if (!csv)
		fprintf(out, "\n%13s  %12s  %13s  %8s  %8s  %8s  %9s  %10s\n", "operation",
			"from bytes", "algorithm", "protocol", "channels", "threads", "chunk B",
			"model us");
	for (int f = 0; f < RS_NCCL_FUNCS && !err; f++)
		err = choices(p, t, (enum rs_nccl_func)f, csv, out, e);
	return err;
}
