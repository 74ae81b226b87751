/*
 * The tuner in AWS's plugin: of a p5 (8 H100, 32 EFA), areas of bytes by ranks in which it sets an
 * algorithm and a protocol. Figures: aws-ofi-nccl 1.16 to 1.21, its nccl_ofi_regions. Both
 * axes are logarithmic; the corners that it extends to its limits (100 GiB, 2^20 ranks) are worked
 * out here.
 */
#include <math.h>
#include "nccl/rccl.h"
#include "nccl/tune.h"

#define BYTES_MAX  107374182400.
#define RANKS_MAX  1048576.
#define LEAST_SIDE 1e-6 /* of an axis, for 0 */
#define ON_EDGE    1e-10

enum { CORNERS_MAX = 17 };

struct corner {
	double bytes, ranks;
};

struct area {
	int gpus; /* of a node */
	enum rs_nccl_func func;
	enum rs_nccl_algo algo;
	enum rs_nccl_proto proto;
	int n;
	struct corner at[CORNERS_MAX];
};

#define AREA(gpus, func, algo, proto, n) \
	gpus, RS_NCCL_##func, RS_NCCL_ALGO_##algo, RS_NCCL_##proto, n

/* The first that has the point counts. */
static const struct area areas[] = {
	{AREA(8, ALL_REDUCE, TREE, LL128, 12),
	 {{0, 16},
	  {31457280, 16},
	  {37748736, 32},
	  {117440512, 64},
	  {301989888, 128},
	  {301989888, 256},
	  {335544320, 512},
	  {536870912, 1024},
	  {402653184, 2048},
	  {402653184, 4096},
	  {402653184, RANKS_MAX},
	  {0, RANKS_MAX}}},
	{AREA(8, ALL_REDUCE, RING, LL128, 11),
	 {{31457280, 17},
	  {1073741824, 17},
	  {2147483648, 64},
	  {2147483648, 128},
	  {1342177280, 160},
	  {2147483648, 256},
	  {1074790400, 256},
	  {444596224, 160},
	  {301989888, 128},
	  {117440512, 64},
	  {37748736, 32}}},
	{AREA(8, ALL_REDUCE, NVLS_TREE, SIMPLE, 17),
	 {{2147483648, 128},
	  {6442450944, 128},
	  {8053063680, 160},
	  {9663676416, 192},
	  {BYTES_MAX, 2133.3},
	  {402653184, RANKS_MAX},
	  {402653184, 4096},
	  {402653184, 2048},
	  {536870912, 1024},
	  {335544320, 512},
	  {301989888, 256},
	  {310378496, 160},
	  {444596224, 160},
	  {1074790400, 256},
	  {2684354560, 256},
	  {2147483648, 224},
	  {1342177280, 160}}},
	{AREA(8, ALL_REDUCE, RING, SIMPLE, 7),
	 {{1073741824, 17},
	  {BYTES_MAX, 17},
	  {BYTES_MAX, 2133.3},
	  {9663676416, 192},
	  {8053063680, 160},
	  {2684354560, 64},
	  {1610612736, 32}}},
	{AREA(1, ALL_REDUCE, TREE, LL128, 6),
	 {{0, 16},
	  {2367488, 16},
	  {9999360, 64},
	  {119477248, 128},
	  {BYTES_MAX, 856.1},
	  {0, RANKS_MAX}}},
	{AREA(1, ALL_REDUCE, RING, LL128, 9),
	 {{0, 2},
	  {4736000, 2},
	  {269484032, 128},
	  {BYTES_MAX, 60705},
	  {BYTES_MAX, 856.1},
	  {119477248, 128},
	  {9999360, 64},
	  {2367488, 16},
	  {0, 16}}},
	{AREA(1, ALL_REDUCE, RING, SIMPLE, 4),
	 {{4736000, 2}, {BYTES_MAX, 2}, {BYTES_MAX, 60705}, {269484032, 128}}},
	{AREA(1, ALL_GATHER, RING, SIMPLE, 4),
	 {{4194304, 2}, {BYTES_MAX, 2}, {BYTES_MAX, 20348}, {8589934592, 2048}}},
	{AREA(1, REDUCE_SCATTER, RING, SIMPLE, 4),
	 {{8388608, 2}, {BYTES_MAX, 2}, {BYTES_MAX, 25600}, {4294967296, 1024}}},
};

static struct corner by_log(struct corner c)
{
	return (struct corner){log2(c.bytes > 0 ? c.bytes : LEAST_SIDE), log2(c.ranks)};
}

static bool on_side(struct corner p, struct corner a, struct corner b)
{
	double dx = b.bytes - a.bytes, dy = b.ranks - a.ranks, length = hypot(dx, dy);
	double x = p.bytes - a.bytes, y = p.ranks - a.ranks, along = x * dx + y * dy;

	return fabs(x * dy - y * dx) <= ON_EDGE * length && along >= 0 && along <= length * length;
}

/* Odd many sides lie to the right of it, or it is on one. */
static bool has(const struct area *k, struct corner p)
{
	bool odd = false;

	for (int i = 0; i < k->n; i++) {
		struct corner a = by_log(k->at[i]), b = by_log(k->at[(i + 1) % k->n]);

		if (on_side(p, a, b))
			return true;
		if ((a.ranks > p.ranks) != (b.ranks > p.ranks) &&
		    p.bytes < a.bytes + (p.ranks - a.ranks) / (b.ranks - a.ranks) *
						(b.bytes - a.bytes))
			odd = !odd;
	}
	return odd;
}

bool nccl_aws_choice(const struct rs_nccl_plan *p, const struct rs_nccl_table *t,
		     enum rs_nccl_func func, uint64_t bytes, struct rs_nccl_choice *c)
{
	struct corner at = by_log((struct corner){(double)bytes, (double)p->n_ranks});

	if (p->n_nodes <= 2)
		return false;
	for (size_t i = 0; i < sizeof(areas) / sizeof(*areas); i++) {
		const struct area *k = &areas[i];

		if (k->func != func || p->n_ranks != (uint32_t)k->gpus * p->n_nodes ||
		    !(t->bandwidth[func][k->algo][k->proto] > 0) || !has(k, at))
			continue;
		c->algo = k->algo;
		c->proto = k->proto;
		c->tuned = true;
		return true;
	}
	return false;
}
