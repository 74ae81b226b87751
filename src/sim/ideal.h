/* Private to sim/: the counterfactual network, and the one of a step that is scaled down. */
#ifndef RS_SIM_IDEAL_H
#define RS_SIM_IDEAL_H

#include "base/arena.h"
#include "base/error.h"
#include "fabric/fabric.h"

/* f with its network replaced; all new parts in a. -E2BIG above RS_SWITCH_PORTS_MAX endpoints. */
int rs_sim_ideal_network(const struct rs_fabric *f, struct rs_arena *a, struct rs_fabric **out,
			 struct rs_error *e);

/* f itself, or where all of its jobs are training steps of one `scale` a copy with latencies
 * divided by it; new parts in a. */
int rs_sim_scaled(const struct rs_fabric *f, struct rs_arena *a, const struct rs_fabric **out,
		  struct rs_error *e);

#endif
