/* Logs of nccl-tests and perftest as their releases print them, and where two curves part. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "measured/inspector.h"
#include "measured/measured.h"

static struct rs_arena *arena;

static int setup(void **state)
{
	arena = rs_arena_create(0);
	return arena ? 0 : -1;
}

static int teardown(void **state)
{
	rs_arena_destroy(arena);
	return 0;
}

static struct rs_measured *read_text(const char *text)
{
	struct rs_measured *m;
	struct rs_error e = {0};

	if (rs_measured_read(text, strlen(text), "log", NULL, arena, &m, &e))
		fail_msg("line %d, column %d: %s", e.line, e.column, e.what);
	return m;
}

/* Each way in which a row is printed: with a root or without, one side or both, behind a launcher.
 */
static void forms(void **state)
{
	static const char *const rows[] = {
		"  2048  512  float  sum  -1  32.5  0.06  0.12  0  32.2  0.06  0.12  0\n",
		"  2048  512  float  sum  32.5  0.06  0.12  0e+00  32.2  0.06  0.12  0e+00\n",
		"  2048  512  float  none  0  32.5  0.06  0.12  0  32.2  0.06  0.12  0\n",
		"  2048  512  float  none  -1  32.5  0.06  0.12  0  32.2  0.06  0.12  N/A\n",
		"0:  2048  512  float  sum  -1  32.5  0.06  0.12  0  32.2  0.06  0.12  0\r\n",
		" 0:      2048       512     float     sum      -1    32.5   0.06    0.12    N/A   "
		" 32.2    0.06    0.12    N/A",
		"12:  2048  512  float  sum  -1  32.5  0.06  0.12  0  32.2  0.06  0.12  0\n",
		"[1,0]<stdout>: 2048 512 float sum -1 32.5 0.06 0.12 0 32.2 0.06 0.12 0",
		"[1,0]<stdout>: 2048 512 float sum -1[1,0]<stdout>: 32.5 0.06 0.12 0[1,0]<stdout>: "
		"32.2 0.06 0.12 0",
		"[0] 2048 512 float sum -1[0] 32.5 0.06 0.12 0[0] 32.2 0.06 0.12 0",
		/* operations without a sum, before 2.10: no operation of numbers, a root or none */
		"  2048  512  float  32.5  0.06  0.12  0e+00  32.2  0.06  0.12  0e+00\n",
		"  2048  512  float  0  32.5  0.06  0.12  0e+00  32.2  0.06  0.12  0e+00\n",
		"\t2048\t512\thalf\tsum\t-1\t32.5\t0.06\t0.12\t0\t32.2\t0.06\t0.12\t0\n",
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct rs_measured *m = read_text(rows[i]);

		assert_int_equal(m->kind, RS_MEASURED_NCCL);
		assert_int_equal(m->n_rows, 1);
		assert_int_equal(m->rows[0].bytes, 2048);
		assert_true(m->rows[0].us == 32.5 && m->rows[0].busbw == 0.12);
	}
}

static void head(void **state)
{
	const struct rs_measured *m = read_text(
		"node1: NCCL INFO Channel 00/02 : 0 1\n"
		"# nccl-tests version 2.17.8 nccl-headers=22902 nccl-library=22902\n"
		"# Collective test starting: reduce_scatter_perf\n"
		"#  Rank  0 Group  0 Pid 1 on a device  0 [0x1b] NVIDIA H100\n"
		"#  Rank  1 Group  0 Pid 2 on a device  1 [0x2b] NVIDIA H100\n"
		"#  Rank  0 Group  0 Pid 1 on a device  0 [0x1b] NVIDIA H100\n"
		"  0  0  float  sum  -1  0.2  0.00  0.00  0  0.1  0.00  0.00  0\n"
		"  256  4  float  sum  -1  34.0  0.01  0.01  0  34.1  0.01  0.01  0\n"
		"node1: NCCL WARN something between rows\n"
		"  1073741824  4  float  sum  -1  3340.3  321.4  301.4  0  3329  322  302  0\n"
		"# Out of bounds values : 0 OK\n");

	assert_string_equal(m->op, "reduce_scatter");
	assert_int_equal(m->n_ranks, 2);
	assert_int_equal(m->n_rows, 2);
	assert_int_equal(m->rows[1].bytes, 1 << 30);
	assert_int_equal(m->rows[1].line, 10);
}

/* Of several tests in a log the wanted one is read; the release is NCCL's own line's. */
static void several(void **state)
{
	static const char text[] =
		"node1:7:7 [0] NCCL INFO NCCL version 2.22.3+cuda12.2\n"
		"# Collective test starting: alltoall_perf\n"
		"# nThread 1 nGpus 8 minBytes 8\n"
		"  1024  16  float  none  -1  30.0  0.06  0.12  0  32.2  0.06  0.12  N/A\n"
		"# Collective test starting: ./build/sendrecv_perf_mpi\n"
		"#  Rank  1 Group  0 Pid 2 on a device  1 [0x2b] NVIDIA H100\n"
		"  1024  16  float  sum  -1  20.0  0.06  0.12  0  32.2  0.06  0.12  N/A\n"
		"  2048  32  float  sum  -1  21.0  0.06  0.12  0  32.2  0.06  0.12  N/A\n";
	struct rs_measured *m;
	struct rs_error e = {0};

	assert_int_equal(rs_measured_read(text, strlen(text), "log", "alltoall", arena, &m, &e), 0);
	assert_int_equal(m->n_rows, 1);
	assert_string_equal(m->op, "alltoall");
	assert_string_equal(m->release, "2.22.3");
	assert_int_equal(m->per_thread, 8);
	assert_int_equal(m->n_ranks, 0);
	assert_int_equal(rs_measured_read(text, strlen(text), "log", "all_reduce", arena, &m, &e),
			 -EINVAL);
}

static void perftest(void **state)
{
	const struct rs_measured *m = read_text(
		" #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
		" 65536      5000             396.0              395.0              0.7534\n");

	assert_int_equal(m->kind, RS_MEASURED_BANDWIDTH);
	assert_true(fabs(m->rows[0].us - 65536 * 8 / 395e3) < 1e-9);
	m = read_text(
		" #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate\n"
		" 65536      5000             1000.0             100.0              0.7534\n");
	assert_true(fabs(m->rows[0].us - 65536 / (100 * 1.048576)) < 1e-9); /* its MB is 2^20 */
	m = read_text(
		"                    RDMA_Write Latency Test\n"
		" #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    "
		"t_avg[usec]    t_stdev[usec]\n"
		" 2       1000          1.52           3.51         1.60     	       1.61\n");
	assert_int_equal(m->kind, RS_MEASURED_LATENCY);
	assert_true(m->rows[0].us == 1.60);
}

static void refused(void **state)
{
	static const struct {
		const char *text, *what;
		int line, column;
	} bad[] = {
		{"", "expected a table", 1, 1},
		{"1024 256 float sum -1 1e999 1 1 0 1 1 1 0", "expected time", 1, 23},
		{"2 1 float sum -1 1 1 1 0 1 1 1 0\n1 1 float sum -1 1 1 1 0 1 1 1 0",
		 "1 bytes after 2", 2, 1},
		{" #bytes #iterations BW average[Gb/sec]\n #bytes #iterations BW average[Gb/sec]",
		 "a second table", 2, 2},
		{" #bytes #iterations BW average[Gb/sec]\n 0 10 5", "a message of 1 byte", 2, 2},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct rs_error e = {0};
		struct rs_measured *m;

		assert_int_equal(rs_measured_read(bad[i].text, strlen(bad[i].text), "log", NULL,
						  arena, &m, &e),
				 -EINVAL);
		assert_null(m);
		assert_non_null(strstr(e.what, bad[i].what));
		assert_int_equal(e.line, bad[i].line);
		assert_int_equal(e.column, bad[i].column);
	}
}

/* A curve of 20 us and 100 GB/s, and predictions with one of the two wrong. */
static void parts(void **state)
{
	enum { N = 24 };
	struct rs_measured_row rows[N];
	struct rs_measured m = {.n_rows = N, .rows = rows};
	double slow_start[N], slow_link[N];
	struct rs_measured_fit fit;
	uint32_t probe[RS_PARTS];

	for (uint32_t i = 0; i < N; i++) {
		double size = (double)(1ull << (i + 8));

		rows[i] = (struct rs_measured_row){.bytes = 1ull << (i + 8), .us = 20 + size / 1e5};
		slow_start[i] = 60 + size / 1e5;
		slow_link[i] = 20 + size / 5e4;
	}
	assert_int_equal(rs_measured_part_of(&m, 0), RS_PART_LATENCY);
	assert_int_equal(rs_measured_part_of(&m, N - 1), RS_PART_RATE);
	rs_measured_compare(&m, slow_start, &fit);
	assert_true(fit.error[RS_PART_LATENCY] > 1.5 && fit.error[RS_PART_RATE] < 0.1);
	assert_int_equal(fit.first, 0);
	rs_measured_compare(&m, slow_link, &fit);
	assert_true(fit.error[RS_PART_LATENCY] < 0.1 && fit.error[RS_PART_RATE] > 0.8);
	assert_int_equal(fit.n[RS_PART_LATENCY] + fit.n[RS_PART_MIDDLE] + fit.n[RS_PART_RATE], N);
	assert_int_equal(rs_measured_probes(&m, probe), RS_PARTS);
	for (uint32_t i = 0; i < RS_PARTS; i++)
		assert_int_equal(rs_measured_part_of(&m, probe[i]), i);
	for (uint32_t i = 0; i < N; i++)
		slow_link[i] = rows[i].us;
	rs_measured_compare(&m, slow_link, &fit);
	assert_true(fit.apart == 0 && fit.first == -1);
}

/* ---- NCCL's Inspector ---- */

/* As inspector_json.cc writes it, format v4.0: a collective of a rank, with its name's counter. */
#define INSPECTED(comm, rank, ranks, nodes, pid, op, sn, bytes, us)                               \
	"{\"header\":{\"id\":\"" comm "\",\"comm_name\":\"unknown\",\"rank\":" #rank              \
	",\"n_ranks\":" #ranks ",\"nnodes\":" #nodes                                              \
	"},\"metadata\":{\"inspector_output_format_version\":\"v4.0\",\"git_rev\":\"\","          \
	"\"rec_mechanism\":\"nccl_profiler_interface\",\"dump_timestamp_us\":1748030377748202,"   \
	"\"hostname\":\"h1\",\"pid\":" #pid "},\"coll_perf\":{\"coll\":\"" op                     \
	"\",\"coll_sn\":" #sn ",\"coll_msg_size_bytes\":" #bytes ",\"coll_exec_time_us\":" #us    \
	",\"coll_timing_source\":\"kernel_gpu\",\"coll_algobw_gbs\":1.0,\"coll_busbw_gbs\":1.0}}" \
	"\n"

/* An operation takes what its last rank takes; of a size the median; of the widest communicators.
 */
static void inspector(void **state)
{
	const struct rs_measured *m = read_text(
		INSPECTED("0xa1", 0, 4, 2, 11, "AllReduce", 0, 1048576, 900) INSPECTED(
			"0xa1", 1, 4, 2, 12, "AllReduce", 0, 1048576,
			100) INSPECTED("0xa1", 0, 4, 2, 11, "AllReduce", 1, 1048576, 130)
			INSPECTED("0xa1", 1, 4, 2, 12, "AllReduce", 1, 1048576, 120) INSPECTED(
				"0xa1", 0, 4, 2, 11, "AllReduce", 2, 1048576,
				110) INSPECTED("0xa1", 1, 4, 2, 12, "AllReduce", 2, 1048576, 700)
				INSPECTED("0xa1", 1, 4, 2, 12, "AllReduce", 3, 65536, 20) INSPECTED(
					"0xb2", 0, 2, 1, 11, "AllReduce", 0, 65536, 3)
					INSPECTED("0xc3", 0, 8, 2, 11, "AllReduce", 0, 65536,
						  0) "{\"header\":{\"id\":\"0xa1\",\"comm_na");

	assert_int_equal(m->kind, RS_MEASURED_NCCL);
	assert_string_equal(m->op, "all_reduce");
	assert_int_equal(m->n_ranks, 4);
	assert_int_equal(m->n_hosts, 2);
	assert_int_equal(m->operations, 4);
	assert_int_equal(m->n_rows, 2);
	assert_int_equal(m->rows[0].bytes, 65536);
	assert_true(m->rows[0].us == 20);
	assert_int_equal(m->rows[1].bytes, 1048576);
	assert_true(m->rows[1].us == 110);
	assert_true(fabs(m->rows[1].busbw - 1048576 / 110e-6 / 1e9 * 1.5) < 1e-9);
}

/* nccl-tests counts the larger buffer, NCCL's calls a rank's share. */
static void inspector_sizes(void **state)
{
	static const char *const ops[][2] = {{"AllGather", "all_gather"},
					     {"ReduceScatter", "reduce_scatter"},
					     {"AlltoAll", "alltoall"},
					     {"Broadcast", "broadcast"}};
	char text[2048];

	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
		const struct rs_measured *m;

		snprintf(text, sizeof(text), INSPECTED("0xa1", 0, 8, 1, 11, "%s", 0, 4096, 50),
			 ops[i][0]);
		m = read_text(text);
		assert_string_equal(m->op, ops[i][1]);
		assert_int_equal(m->rows[0].bytes, i < 3 ? 8 * 4096 : 4096);
	}
}

/* Several collectives: the wanted one. */
static void inspector_wanted(void **state)
{
	static const char text[] = INSPECTED("0xa1", 0, 4, 2, 11, "AllReduce", 0, 1048576, 900)
		INSPECTED("0xa1", 0, 4, 2, 11, "AllGather", 0, 1024, 30)
			INSPECTED("0xa1", 0, 4, 2, 11, "Scatter", 0, 1024, 30);
	struct rs_measured *m;
	struct rs_error e = {0};

	assert_int_equal(rs_measured_read(text, strlen(text), "log", "all-gather", arena, &m, &e),
			 0);
	assert_string_equal(m->op, "all_gather");
	assert_int_equal(rs_measured_read(text, strlen(text), "log", NULL, arena, &m, &e), -EINVAL);
	assert_null(m);
	e = (struct rs_error){0};
	assert_int_equal(rs_measured_read(text, strlen(text), "log", "broadcast", arena, &m, &e),
			 -EINVAL);
	assert_non_null(strstr(e.what, "several"));
}

static void inspector_refused(void **state)
{
	static const struct {
		const char *text;
		int line;
	} bad_logs[] = {
		{INSPECTED("0xa1", 0, 4, 2, 11, "AllReduce", 0, 1048576, 900) "no JSON\n", 2},
		{INSPECTED("0xa1", 4, 4, 2, 11, "AllReduce", 0, 1048576, 900), 1},
		{INSPECTED("0xa1", 0, 4, 5, 11, "AllReduce", 0, 1048576, 900), 1},
		{INSPECTED("0xa1", 0, 4, 2, 11, "AllReduce", 0, -1, 900), 1},
		{INSPECTED("x", 0, 4, 2, 11, "AllReduce", 0, 1, 900), 1},
		{INSPECTED("0xa1", 0, 4, 2, 11, "AllReduce", 0, 1048576, 0), 1},
		{INSPECTED("0xa1", 0, 4, 2, 11, "Gather", 0, 1048576, 3), 1},
		{"{\"coll_perf\":[]}\n", 1},
	};

	for (size_t i = 0; i < sizeof(bad_logs) / sizeof(*bad_logs); i++) {
		struct rs_error e = {0};
		struct rs_measured *m;

		assert_int_equal(rs_measured_read(bad_logs[i].text, strlen(bad_logs[i].text), "log",
						  NULL, arena, &m, &e),
				 -EINVAL);
		assert_int_equal(e.line, bad_logs[i].line);
		assert_string_equal(e.file, "log");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forms),
		cmocka_unit_test(head),
		cmocka_unit_test(perftest),
		cmocka_unit_test(refused),
		cmocka_unit_test(parts),
		cmocka_unit_test(several),
		cmocka_unit_test(inspector),
		cmocka_unit_test(inspector_sizes),
		cmocka_unit_test(inspector_wanted),
		cmocka_unit_test(inspector_refused),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
