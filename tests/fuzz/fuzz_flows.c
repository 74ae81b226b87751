/* The CSV of flows, behind a fabric of four hosts: refused with its line and column, or every flow
 * is one that can run. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/error.h"
#include "describe/describe.h"
#include "fabric/fabric.h"
#include "fuzz.h"

static void check_flows(const struct rs_fabric *f)
{
	const struct rs_job *job = &f->jobs[0];

	rs_assert(f->n_jobs == 1 && job->kind == RS_JOB_FLOWS && job->n_flows > 0);
	for (uint32_t i = 0; i < job->n_flows; i++) {
		const struct rs_flow *w = &job->flows[i];

		rs_assert(w->src < 4 && w->dst < 4 && w->src != w->dst);
		rs_assert(w->bytes > 0 && w->start >= 0 && w->tc < RS_TCS);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct rs_error e = {0};
	struct rs_fabric *f = NULL;
	char text[256];
	int fd = memfd_create("flows", MFD_CLOEXEC), err;

	rs_assert(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
	snprintf(text, sizeof(text),
		 "fabric: {network: {kind: single-switch, hosts: 4}}\n"
		 "workload: [{flows: /proc/self/fd/%d}]\n",
		 fd);
	err = rs_fabric_load_text(text, strlen(text), "fuzz.yaml", ".", NULL, 0, &f, &e);
	if (err)
		rs_assert(e.code == err && e.line > 0 && e.column > 0 && e.what[0]);
	else
		check_flows(f);
	rs_fabric_free(f);
	close(fd);
	return 0;
}
