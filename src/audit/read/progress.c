/* What a job's log shows of its course: that it came to its end. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "audit/read/readers.h"

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

static bool line_progress(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l)
{
	if (!is_end(l->text))
		return false;
	rs_input_add(a, in, l->number, NULL, "nccl", "finished", "%.200s", l->text);
	return true;
}

const struct rs_reader rs_reader_progress = {
	.name = "job-log",
	.what = "that a job came to its end: nccl-tests' averages, NCCL's Destroy COMPLETE",
	.trust = RS_TRUST_LOG,
	.line = line_progress,
};
