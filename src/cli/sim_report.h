/* Private to cli/: what `ripstop sim` found, for people and for programs. */
#ifndef RS_CLI_SIM_REPORT_H
#define RS_CLI_SIM_REPORT_H

#include <stdio.h>
#include "sim/sim.h"

enum rs_case_kind { RS_CASE_BASE, RS_CASE_COUNTERFACTUAL, RS_CASE_FIX, RS_CASE_IDEAL };

struct rs_case_info {
	enum rs_case_kind kind;
	const char *name; /* "inside the hosts", "NIC on the right socket" */
	const char *how;  /* what the run changed, for people */
	bool owns_fabric;
	struct rs_fabric *fabric;
};

struct rs_sim_report {
	const char *scenario;
	uint64_t seed;
	unsigned threads;
	uint32_t n; /* cases[0] is the scenario as described */
	struct rs_sim_case *cases;
	struct rs_case_info *info;
	double wall_s, cpu_s;
};

/* What a run is judged by: the time of its jobs, added: a step, a further repetition of a collective,
 * flows from the first one's start to the last one's end. RS_NEVER when one did not finish. */
rs_time rs_case_time(const struct rs_sim_case *c);

/* Fixes to try that the what-if list does not have: settings, each with a name (in f's arena or
 * constant). Returns how many, at most room. */
uint32_t rs_propose(const struct rs_fabric *f, struct rs_setting *set, const char **name,
		    uint32_t room);
/* Whether g, f with a proposal, is another fabric at all. */
bool rs_proposal_changes(const struct rs_fabric *f, const struct rs_fabric *g,
			 const struct rs_setting *s);

void rs_sim_print(const struct rs_sim_report *r, FILE *out);
int rs_sim_json(const struct rs_sim_report *r, FILE *out);
int rs_sim_csv(const struct rs_sim_report *r, FILE *out);
int rs_sim_rates_csv(const struct rs_sim_report *r, FILE *out);

#endif
