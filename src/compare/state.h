/* Private to compare/. */
#ifndef RS_COMPARE_STATE_H
#define RS_COMPARE_STATE_H

#include "compare/compare.h"

/* axes.c: c->axes of o->over and o->vary. -EINVAL, -ENOMEM with e filled. */
int axes_make(struct rs_comparison *c, const struct rs_fabric *f,
	      const struct rs_compare_options *o, struct rs_error *e);
/* The settings of variant v, behind o->set; at most SETTINGS. */
enum { SETTINGS = 320, CHOICE_SETTINGS = 4 };
uint32_t variant_settings(const struct rs_comparison *c, const struct rs_compare_options *o,
			  uint32_t v, struct rs_setting *out);
/* figures.c: what a run says; and over seeds, ranks, equal ones. */
void figures_of(const struct rs_fabric *f, const struct rs_sim_result *r, double *out);
int judge(struct rs_comparison *c);

#endif
