/*
 * Google's tuner of A3 Mega (libnccl-tuner.so, beside FasTrak): rules by nodes, ranks of a node and
 * bytes of a rank. Figures: a3plus_tuner_config, which apple/axlearn has (cloud/gcp/nccl/a3_mega).
 * They are of the time of NCCL_PROTO=Simple. Since FasTrak's 1.0.8 other rules go with LL128 (a
 * link of the same name from 1.0.9 on), which are not public: there NCCL chooses.
 */
#include "nccl/rccl.h"
#include "nccl/tune.h"

#define KIB(n) UINT64_C(n) << 10
#define MIB(n) UINT64_C(n) << 20

/* Of all-reduce, or of all that has no rules of its own. */
enum { REDUCES, OTHERS };

static const struct rule {
	uint8_t nodes[2], gpus, what;
	uint64_t below; /* bytes of a rank */
	enum rs_nccl_algo algo;
	int8_t channels; /* 0: NCCL's own number */
} rules[] = {
	{{2, 2}, 1, REDUCES, UINT64_MAX, RS_NCCL_ALGO_TREE, 2},
	{{2, 2}, 1, OTHERS, KIB(64), RS_NCCL_ALGO_RING, 2},
	{{2, 2}, 1, OTHERS, UINT64_MAX, RS_NCCL_ALGO_RING, 4},
	{{2, 2}, 8, REDUCES, UINT64_MAX, RS_NCCL_ALGO_TREE, 0},
	{{2, 2}, 8, OTHERS, UINT64_MAX, RS_NCCL_ALGO_RING, 0},
	{{3, 6}, 8, REDUCES, MIB(2), RS_NCCL_ALGO_TREE, 0},
	{{3, 6}, 8, OTHERS, UINT64_MAX, RS_NCCL_ALGO_RING, 0},
};

const struct rs_nccl_tuner_row *nccl_google_row(const struct rs_nccl_plan *p,
						const struct rs_nccl_table *t,
						enum rs_nccl_func func, uint64_t bytes,
						struct rs_nccl_tuner_row *row)
{
	bool shared = func == RS_NCCL_ALL_GATHER || func == RS_NCCL_REDUCE_SCATTER;
	uint64_t share = shared ? bytes / p->n_ranks : bytes;
	unsigned what = func == RS_NCCL_ALL_REDUCE ? REDUCES : OTHERS;

	if (t->bandwidth[func][RS_NCCL_ALGO_RING][RS_NCCL_LL128] > 0)
		return NULL;
	for (size_t i = 0; t->conf.google && i < sizeof(rules) / sizeof(*rules); i++) {
		const struct rule *k = &rules[i];

		if (k->what != what || share >= k->below || p->n_nodes < k->nodes[0] ||
		    p->n_nodes > k->nodes[1] || p->n_ranks != (uint32_t)k->gpus * p->n_nodes)
			continue;
		*row = (struct rs_nccl_tuner_row){.func = func,
						  .algo = k->algo,
						  .proto = RS_NCCL_SIMPLE,
						  .channels = k->channels};
		if (row->channels > p->coll_channels)
			row->channels = p->coll_channels;
		return row;
	}
	return NULL;
}
