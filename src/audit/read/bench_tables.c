/*
 * Tables of benchmarks that name no RDMA device: OSU's, Intel MPI's, UCX's and libfabric's. Their
 * figures between two processes become facts of the subject "bench": Gb/s of one direction, and
 * microseconds, by size. Collectives are passed over: their bytes are not a port's.
 */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/read/readers.h"

enum columns {
	NO_COLUMNS,
	SIZE_RATE,    /* "# Size  Bandwidth (MB/s)" */
	SIZE_LATENCY, /* "# Size  Latency (us)" */
	PINGPONG,     /* "#bytes #repetitions t[usec] Mbytes/sec" */
	UNIBAND,      /* "#bytes #repetitions Mbytes/sec Msg/sec" */
	FABTESTS,     /* "bytes #sent #ack total time MB/sec usec/xfer Mxfers/sec" */
	UCX,          /* "Final: iterations, 3 latencies, 2 bandwidths, 2 rates" */
	NAMED /* "Block Size (B)  Batch Size  B/W (GB/Sec)  Avg Lat. (us)": by their names */
};

struct tables {
	struct rs_audit *a;
	const struct rs_input *in;
	enum columns columns;
	bool both; /* two directions at once: a figure is of both */
	bool gpu;  /* buffers of GPUs, whose latency is not the network's alone */
	bool skip; /* a collective, or one-sided with a window of its own */
	long long ucx_size;
	/* of NAMED: how many, which one is the size, which one the rate, and its unit in bytes/s */
	unsigned n, size_at, rate_at;
	double unit;
};

static void tell(struct tables *t, uint32_t line, const char *what, long long size, double value)
{
	char name[48];

	if (size < 0 || value <= 0)
		return;
	snprintf(name, sizeof(name), "%s/%lld", what, size);
	rs_input_add(t->a, t->in, line, NULL, "bench", name, "%.3f", value);
}

static void rate(struct tables *t, uint32_t line, long long size, double bytes_per_s)
{
	tell(t, line, "gbps", size, bytes_per_s * 8e-9 / (t->both ? 2 : 1));
}

/* "64k", "1m" of libfabric's tests */
static long long scaled(const char *word)
{
	char *end;
	long long n = strtoll(word, &end, 10);

	if (end == word || n < 0 || n > 1 << 30)
		return -1;
	if (*end == 'k')
		return n << 10;
	if (*end == 'm')
		return n << 20;
	return *end ? -1 : n;
}

static bool title(struct tables *t, const char *text)
{
	const char *osu = strstr(text, "# OSU "), *imb = strstr(text, "# Benchmarking ");

	if (!osu && !imb)
		return false;
	t->columns = NO_COLUMNS;
	t->both = strstr(text, "Bi-Dir") || strstr(text, "Bidir") || strstr(text, "Biband");
	t->gpu = strstr(text, "CUDA") || strstr(text, "ROCM") || strstr(text, "GPU");
	t->skip =
		imb ? !strstr(imb, "PingPong") && !strstr(imb, "Uniband") && !strstr(imb, "Biband")
		    : !strstr(osu, "Bandwidth") && !strstr(osu, " Latency Test");
	return true;
}

/* A unit of a rate in a column's heading, in bytes/s; 0: it has none. */
static double unit_of(const char *heading)
{
	static const struct {
		const char *text;
		double bytes;
	} units[] = {{"GB/s", 1e9},        {"MB/s", 1e6},   {"GiB/s", 1073741824.0},
		     {"MiB/s", 1048576.0}, {"Gb/s", 125e6}, {"Gbps", 125e6},
		     {"Gbit/s", 125e6}};
	bool bits = strstr(heading, "Gb/") != NULL;

	for (unsigned i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (bits ? strstr(heading, units[i].text) != NULL
			 : strcasestr(heading, units[i].text) != NULL)
			return units[i].bytes;
	return 0;
}

/* A table whose headings, apart by '|' or two blanks, name a size and a rate: nixlbench's,
 * Mooncake's tebench, MORI's. */
static bool named(struct tables *t, const char *text)
{
	unsigned n = 0, size_at = UINT_MAX, rate_at = UINT_MAX;
	double unit = 0;

	for (const char *p = text + strspn(text, "| \t#"); *p; n++) {
		char heading[64];
		size_t k = 0;

		while (p[k] && p[k] != '|' && p[k] != '\t' && strncmp(p + k, "  ", 2))
			k++;
		snprintf(heading, sizeof(heading), "%.*s", (int)k, p);
		if (size_at == UINT_MAX && strcasestr(heading, "size") &&
		    !strcasestr(heading, "batch"))
			size_at = n;
		if (rate_at == UINT_MAX && unit_of(heading) > 0 &&
		    (strcasestr(heading, "B/W") || strcasestr(heading, "bw") ||
		     strcasestr(heading, "bandwidth") || strcasestr(heading, "throughput")) &&
		    !strcasestr(heading, "aggr") && !strcasestr(heading, "algbw")) {
			rate_at = n;
			unit = unit_of(heading);
		}
		p += k;
		p += strspn(p, "| \t");
	}
	/* two columns are a memory copy's (bandwidthTest) */
	if (n < 3 || size_at == UINT_MAX || rate_at == UINT_MAX || size_at == rate_at)
		return false;
	t->n = n;
	t->size_at = size_at;
	t->rate_at = rate_at;
	t->unit = unit;
	return true;
}

static bool head(struct tables *t, const char *text)
{
	enum columns now = NO_COLUMNS;
	const char *size = strstr(text, "Message size: ");

	if (!strncmp(text, "# Size", 6) && strstr(text, "(MB/s)"))
		now = SIZE_RATE;
	else if (!strncmp(text, "# Size", 6) && strstr(text, "Latency (us)"))
		now = SIZE_LATENCY;
	else if (!strncmp(text, "# Size", 6) && strstr(text, "MB/s") && strstr(text, "Messages/s"))
		now = SIZE_RATE;
	else if (strstr(text, "#bytes #repetitions") && strstr(text, "t[usec]"))
		now = PINGPONG;
	else if (strstr(text, "#bytes #repetitions"))
		now = UNIBAND;
	else if (!strncmp(text, "bytes", 5) && strstr(text, "usec/xfer"))
		now = FABTESTS;
	else if (!strncmp(text, "| API: ", 7))
		now = UCX;
	else if (strchr(text, '/') && named(t, text))
		now = NAMED;
	if (now == NO_COLUMNS && !(t->columns == UCX && size))
		return false;
	if (now == FABTESTS || now == UCX || now == NAMED)
		t->skip = t->both = t->gpu = false;
	if (now == UCX)
		t->ucx_size = -1;
	if (size)
		t->ucx_size = strtoll(size + 14, NULL, 10);
	t->columns = now == NO_COLUMNS ? t->columns : now;
	return true;
}

/* As many figures as there are columns. */
static void named_row(struct tables *t, uint32_t line, const char *text)
{
	char words[4096], *word[32];
	unsigned n;

	snprintf(words, sizeof(words), "%s", text);
	for (char *p = words; *p; p++)
		*p = *p == '|' ? ' ' : *p;
	n = rs_line_words(words, word, 32);
	if (n != t->n)
		return;
	for (unsigned i = 0; i < n; i++)
		if (!isdigit((unsigned char)*word[i]))
			return;
	rate(t, line, atoll(word[t->size_at]), strtod(word[t->rate_at], NULL) * t->unit);
}

static void row(struct tables *t, uint32_t line, const char *text)
{
	double x[8];
	long long size, n;
	char words[5][24];

	if (t->columns == NAMED) {
		named_row(t, line, text);
		return;
	}
	if (t->columns == UCX) {
		if (sscanf(text, "Final: %lld %lf %lf %lf %lf %lf", &n, &x[0], &x[1], &x[2], &x[3],
			   &x[4]) == 6)
			rate(t, line, t->ucx_size, x[4] * 1048576);
		return;
	}
	if (t->columns == FABTESTS) {
		if (sscanf(text, "%23s %23s %23s %23s %23s %lf %lf", words[0], words[1], words[2],
			   words[3], words[4], &x[0], &x[1]) == 7)
			rate(t, line, scaled(words[0]), x[0] * 1e6);
		return;
	}
	if (!isdigit((unsigned char)*text))
		return;
	if (t->columns == SIZE_RATE && sscanf(text, "%lld %lf", &size, &x[0]) == 2)
		rate(t, line, size, x[0] * 1e6);
	else if (t->columns == SIZE_LATENCY && !t->gpu &&
		 sscanf(text, "%lld %lf", &size, &x[0]) == 2)
		tell(t, line, "us", size, x[0]);
	else if (t->columns == PINGPONG &&
		 sscanf(text, "%lld %lld %lf %lf", &size, &n, &x[0], &x[1]) == 4) {
		tell(t, line, "us", size, x[0]);
		rate(t, line, size, x[1] * 1e6);
	} else if (t->columns == UNIBAND && sscanf(text, "%lld %lld %lf", &size, &n, &x[0]) == 3) {
		rate(t, line, size, x[0] * 1e6);
	}
}

static int score(const struct rs_input *in)
{
	struct tables t = {0};
	struct rs_line l = {0};

	while (rs_line_next(in, &l) && l.number < 60)
		if (title(&t, l.text) || head(&t, l.text))
			return 85;
	return 0;
}

static int read(struct rs_audit *a, const struct rs_input *in)
{
	struct tables t = {.a = a, .in = in};
	struct rs_line l = {0};

	while (rs_line_next(in, &l))
		if (!title(&t, l.text) && !head(&t, l.text) && !t.skip)
			row(&t, l.number, l.text);
	return a->err;
}

const struct rs_reader rs_reader_bench_tables = {
	.name = "benchmark",
	.what = "OSU's and Intel's MPI benchmarks, ucx_perftest, fabtests, nixlbench and tables "
		"that name a size and a rate: rates and times between two processes by size",
	.trust = RS_TRUST_TOOL,
	.score = score,
	.read = read,
	.begins = (const char *const[]){"# OSU ", "# Benchmarking ", "| API: ", "Block Size (B) ",
					NULL},
};
