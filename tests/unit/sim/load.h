/* A scenario from its text, run: for tests. */
#ifndef RS_TESTS_SIM_LOAD_H
#define RS_TESTS_SIM_LOAD_H

#include <stdio.h>
#include <stdlib.h>
#include "sim/sim.h"
#include "unit/describe/text.h"

struct loaded {
	struct rs_fabric *f;
	struct rs_sim_result *r;
};

static inline struct loaded load_run(const char *text, struct rs_sim_options o)
{
	struct loaded l = {.f = load(text)};
	struct rs_error e = {0};

	if (!o.seed)
		o.seed = 1;
	if (rs_sim_run(l.f, &o, &l.r, &e))
		fail_msg("%s", e.what);
	return l;
}

/* A text that grows. */
struct text {
	char s[8192];
	size_t n;
};

static inline __attribute__((format(printf, 2, 3))) void add(struct text *t, const char *format,
							     ...)
{
	va_list args;

	va_start(args, format);
	t->n += (size_t)vsnprintf(t->s + t->n, sizeof(t->s) - t->n, format, args);
	va_end(args);
	assert_true(t->n < sizeof(t->s));
}

static inline void load_free(struct loaded *l)
{
	rs_sim_result_free(l->r);
	rs_fabric_free(l->f);
}

#endif
