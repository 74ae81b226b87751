/* Private to sim/: the counterfactual network. */
#ifndef RS_SIM_IDEAL_H
#define RS_SIM_IDEAL_H

#include "base/arena.h"
#include "base/error.h"
#include "fabric/fabric.h"

/* f with its network replaced; all new parts in a. -E2BIG above RS_SWITCH_PORTS_MAX endpoints. */
int rs_sim_ideal_network(const struct rs_fabric *f, struct rs_arena *a, struct rs_fabric **out,
			 struct rs_error *e);

#endif
