/* Private to cli/: what `ripstop sim` found, for people and for programs. */
#ifndef RS_CLI_SIM_REPORT_H
#define RS_CLI_SIM_REPORT_H

#include <stdio.h>
#include "diagnose/diagnose.h"

void rs_sim_print(const struct rs_diagnosis *d, FILE *out);
/* Its second half: what holds the run back and what fixes give. */
void rs_sim_print_diagnosis(const struct rs_diagnosis *d, FILE *out);
/* What was observed of it; nothing where it was not. */
void rs_sim_print_observed(const struct rs_diagnosis *d, FILE *out);
int rs_sim_json(const struct rs_diagnosis *d, FILE *out);
int rs_sim_csv(const struct rs_diagnosis *d, FILE *out);
/* A page with all of it: docs/page.md. Only where rs_page_missing is NULL (cli/page.h). */
int rs_sim_page(const struct rs_diagnosis *d, FILE *out);
/* What was observed of the scenario itself. */
int rs_sim_series_csv(const struct rs_diagnosis *d, FILE *out);
/* The same as a trace for ui.perfetto.dev. -EIO, -ENOMEM. */
int rs_sim_perfetto(const struct rs_diagnosis *d, FILE *out);
/* The first job that is a graph of work, as Chakra traces with its times: a file a rank, whose
 * number takes the place of %d in the name. */
int rs_sim_timings(const struct rs_diagnosis *r, const char *pattern, struct rs_error *e);
int rs_sim_rates_csv(const struct rs_diagnosis *d, FILE *out);

/* --measured LOG: what a test printed beside the prediction of file's first job, and which change
 * of the description would bring it there. -EINVAL and others with e filled. */
struct rs_measured_options {
	const char *file, *log;
	const struct rs_setting *set;
	uint32_t n_set;
	struct rs_sim_options sim;
};
int rs_sim_measured(const struct rs_measured_options *o, const struct rs_fabric *f, FILE *out,
		    struct rs_error *e);

#endif
