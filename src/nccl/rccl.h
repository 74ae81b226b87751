/* Private to nccl/: RCCL's table of times and its ranges of sizes, of AMD's GPUs that have one. */
#ifndef RS_NCCL_RCCL_H
#define RS_NCCL_RCCL_H

#include "nccl/tune.h"

/* Has RCCL a table for the plan's GPUs: of gfx90a; later ones' on several nodes? The others are for
 * such plans alone. (On one node those run small operations by kernels of their own, MSCCL's and
 * later ones.) */
bool nccl_rccl_known(const struct rs_nccl_plan *p);
/* Does it take LL128 by itself over this graph? */
bool nccl_rccl_ll128(const struct rs_nccl_plan *p, const struct rs_nccl_graph *g);
/* us, of trees and rings; overhead: of a post. */
float nccl_rccl_latency(const struct rs_nccl_plan *p, enum rs_nccl_func f, enum rs_nccl_algo a,
			enum rs_nccl_proto q, float overhead);
/* Its machines have another bandwidth than the graph's. */
double nccl_rccl_bus(const struct rs_nccl_plan *p, double bus);
/* Of that; 0: it does not have it. */
double nccl_rccl_ratio(const struct rs_nccl_plan *p, enum rs_nccl_func f, enum rs_nccl_algo a,
		       enum rs_nccl_proto q);
/* ... of that, for an operation of this size. */
double nccl_rccl_factor(const struct rs_nccl_plan *p, enum rs_nccl_algo a, enum rs_nccl_proto q,
			uint64_t bytes);
/* On several nodes sizes alone decide the protocol, whatever the least time was. */
enum rs_nccl_proto nccl_rccl_proto(const struct rs_nccl_plan *p, enum rs_nccl_func f,
				   uint64_t bytes, bool ll128, enum rs_nccl_proto chosen);

/* AWS's tuner (tuner_aws.c): what it sets for this operation, in c. false: it leaves it to NCCL. */
bool nccl_aws_choice(const struct rs_nccl_plan *p, const struct rs_nccl_table *t,
		     enum rs_nccl_func func, uint64_t bytes, struct rs_nccl_choice *c);
/* Google's (tuner_google.c): its row for this operation, put into *row. NULL: it has none. */
const struct rs_nccl_tuner_row *nccl_google_row(const struct rs_nccl_plan *p,
						const struct rs_nccl_table *t,
						enum rs_nccl_func func, uint64_t bytes,
						struct rs_nccl_tuner_row *row);

#endif
