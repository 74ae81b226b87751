/* What a job's log shows of its course: that it came to its end. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "audit/read/failure.h"
#include "audit/read/readers.h"

/* MLPerf's logs end with whether the model learnt what it should. */
static bool is_mlperf_end(const char *text)
{
	return strstr(text, ":::MLLOG ") && strstr(text, "\"run_stop\"") &&
	       strstr(text, "\"success\"");
}

/* Said at the end of a run that went well, by nccl-tests, NCCL and perftest's kind of tools. */
static bool is_end(const char *text)
{
	static const char *const ends[] = {
		"# Avg bus bandwidth", "Avg bus bandwidth",  "Out of bounds values : 0",
		"Destroy COMPLETE",    "Training completed", "Training finished",
		"raining complete",    "Job completed",      "exited with code 0",
		"exit code 0",         "exit status 0"};

	for (unsigned i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (strcasestr(text, ends[i]))
			return true;
	return false;
}

/* "#  Rank  0 Group  0 Pid   3591 on   testgpu1 device  0 [0x03] NVIDIA A100-PCIE-40GB" */
static bool is_rank(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l)
{
	char host[64], name[48];
	int rank, group, pid, device;

	if (sscanf(l->text, "# Rank %d Group %d Pid %d on %63s device %d", &rank, &group, &pid,
		   host, &device) != 5 &&
	    sscanf(l->text, "# Rank %d Pid %d on %63s device %d", &rank, &pid, host, &device) != 4)
		return false;
	snprintf(name, sizeof(name), "test_rank/%d", rank);
	rs_input_add(a, in, l->number, NULL, "nccl", name, "%s %d %d%.80s", host, pid, device,
		     strchr(l->text, ']') ? strchr(l->text, ']') + 1 : "");
	return true;
}

/* A row of nccl-tests: size, count, type, redop, [root], then time, algbw, busbw, wrong. */
static bool is_figure(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l)
{
	long long size, count;
	double us, alg, bus;
	char type[16], op[16], name[48];
	int root, n;

	n = sscanf(l->text, "%lld %lld %15[a-z0-9_] %15[a-z] %d %lf %lf %lf", &size, &count, type,
		   op, &root, &us, &alg, &bus);
	if (n < 8) {
		n = sscanf(l->text, "%lld %lld %15[a-z0-9_] %15[a-z] %lf %lf %lf", &size, &count,
			   type, op, &us, &alg, &bus);
		if (n < 7)
			return false;
	}
	if (size <= 0 || us <= 0 || bus < 0)
		return false;
	snprintf(name, sizeof(name), "test_busbw/%lld", size);
	rs_input_add(a, in, l->number, NULL, "nccl", name, "%.2f", bus);
	rs_input_add(a, in, l->number, NULL, "nccl", "test_op", "%s", op);
	return true;
}

static bool line_progress(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l)
{
	if (*l->text == '#' && is_rank(a, in, l))
		return true;
	if (*l->text >= '0' && *l->text <= '9' && is_figure(a, in, l))
		return true;
	/* "NCCL Test Failed: Avg bus bandwidth is 9" */
	if ((!is_end(l->text) && !is_mlperf_end(l->text)) || rs_states_failure(l->text))
		return false;
	rs_input_add(a, in, l->number, NULL, "nccl", "finished", "%.200s", l->text);
	return true;
}

const struct rs_reader rs_reader_progress = {
	.name = "job-log",
	.what = "nccl-tests' ranks and figures, and that a job came to its end: its averages, "
		"NCCL's "
		"Destroy COMPLETE",
	.trust = RS_TRUST_LOG,
	.line = line_progress,
};
