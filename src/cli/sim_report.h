/* Private to cli/: what `ripstop sim` found, for people and for programs. */
#ifndef RS_CLI_SIM_REPORT_H
#define RS_CLI_SIM_REPORT_H

#include <stdio.h>
#include "diagnose/diagnose.h"

void rs_sim_print(const struct rs_diagnosis *d, FILE *out);
/* Its second half: what holds the run back and what fixes give. */
void rs_sim_print_diagnosis(const struct rs_diagnosis *d, FILE *out);
int rs_sim_json(const struct rs_diagnosis *d, FILE *out);
int rs_sim_csv(const struct rs_diagnosis *d, FILE *out);
/* A page with all of it: docs/page.md. Only where rs_page_missing is NULL (cli/page.h). */
int rs_sim_page(const struct rs_diagnosis *d, FILE *out);
/* What was observed of the scenario itself. */
int rs_sim_series_csv(const struct rs_diagnosis *d, FILE *out);
/* The same as a trace for ui.perfetto.dev. -EIO, -ENOMEM. */
int rs_sim_perfetto(const struct rs_diagnosis *d, FILE *out);
int rs_sim_rates_csv(const struct rs_diagnosis *d, FILE *out);

#endif
