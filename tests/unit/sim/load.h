/* A scenario from its text, run: for tests. */
#ifndef RS_TESTS_SIM_LOAD_H
#define RS_TESTS_SIM_LOAD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim/sim.h"

struct loaded {
	struct rs_fabric *f;
	struct rs_sim_result *r;
};

static inline struct loaded load_run(const char *text, struct rs_sim_options o)
{
	struct loaded l = {0};
	struct rs_error e = {0};

	if (!o.seed)
		o.seed = 1;
	if (rs_fabric_load_text(text, strlen(text), "t.yaml", NULL, NULL, 0, &l.f, &e))
		fail_msg("%s:%d:%d: %s", e.file, e.line, e.column, e.what);
	if (rs_sim_run(l.f, &o, &l.r, &e))
		fail_msg("%s", e.what);
	return l;
}

static inline void load_free(struct loaded *l)
{
	rs_sim_result_free(l->r);
	rs_fabric_free(l->f);
}

#endif
