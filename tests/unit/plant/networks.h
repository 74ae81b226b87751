/* Random descriptions of networks: for tests. */
#ifndef RS_TESTS_PLANT_NETWORKS_H
#define RS_TESTS_PLANT_NETWORKS_H

#include "base/random.h"
#include "unit/describe/text.h"

struct network_text {
	char s[4096];
	size_t n;
};

static inline __attribute__((format(printf, 2, 3))) void put(struct network_text *t,
							     const char *format, ...)
{
	va_list args;

	va_start(args, format);
	t->n += (size_t)vsnprintf(t->s + t->n, sizeof(t->s) - t->n, format, args);
	va_end(args);
	assert_true(t->n < sizeof(t->s));
}

static inline uint32_t draw(struct rs_random *r, uint32_t least, uint32_t most)
{
	return least + rs_random_below(r, most - least + 1);
}

static inline const char *one_of(struct rs_random *r, const char *const *of, uint32_t n)
{
	return of[rs_random_below(r, n)];
}

static inline void put_network(struct network_text *t, struct rs_random *r)
{
	static const char *const rates[] = {"10G", "25G", "100G", "200G", "400G", "800G"};
	uint32_t leaves = draw(r, 2, 4);

	put(t, "  network: {rate: %s, delay: %uns", one_of(r, rates, 6), draw(r, 10, 3000));
	switch (rs_random_below(r, 4)) {
	case 0:
		put(t, ", kind: single-switch, hosts: %u}\n", draw(r, 2, 12));
		break;
	case 1:
		put(t, ", kind: fat-tree, k: 4, uplink_rate: %s}\n", one_of(r, rates, 6));
		break;
	case 2:
		put(t, ", kind: rail, hosts: %u, nics: 2, rails: 2, leaves: 2, spines: %u}\n",
		    draw(r, 2, 6), draw(r, 1, 3));
		break;
	default:
		put(t,
		    ", kind: leaf-spine, leaves: %u, hosts_per_leaf: %u, spines: %u, links: %u,"
		    " uplink_delay: %uns}\n",
		    leaves, draw(r, 1, 4), draw(r, 1, 4), draw(r, 1, 2), draw(r, 10, 3000));
	}
}

static inline void put_class(struct network_text *t, struct rs_random *r, unsigned class,
			     const char *between)
{
	uint32_t kmin = draw(r, 1, 400);
	bool lossless = rs_random_below(r, 2);

	put(t,
	    "%s{class: %u, lossless: %s, ecn: %s, kmin: %ukB, kmax: %ukB, pmax: 0.%u, "
	    "weight: %u, alpha_shift: %d%s}",
	    between, class, lossless ? "true" : "false", rs_random_below(r, 2) ? "true" : "false",
	    kmin, kmin + draw(r, 0, 1000), draw(r, 1, 99), draw(r, 0, 40), (int)draw(r, 0, 8) - 6,
	    rs_random_below(r, 3) ? "" : ", ecn_rate: 100G");
	(void)lossless;
}

/* A switch's own keys, without those that the whole fabric has. */
static inline void put_qos(struct network_text *t, struct rs_random *r)
{
	static const char *const routing[] = {"ecmp", "spray", "adaptive", "flowlet"};

	put(t,
	    "{buffer: %uMB, cell: %uB, mark_at_dequeue: %s, routing: %s, cut_through: %s, "
	    "switch_latency: %uns, max_frame: %uB, pfc: %s, ecn: %s, dscp: {%u: %u}",
	    draw(r, 40, 200), draw(r, 1, 300), rs_random_below(r, 2) ? "true" : "false",
	    one_of(r, routing, 4), rs_random_below(r, 2) ? "true" : "false", draw(r, 0, 900),
	    draw(r, 1600, 9300), rs_random_below(r, 8) ? "true" : "false",
	    rs_random_below(r, 8) ? "true" : "false", draw(r, 0, 63), draw(r, 0, 7));
	if (rs_random_below(r, 2))
		put(t, ", watchdog: %ums", draw(r, 1, 300));
	if (rs_random_below(r, 2))
		put(t, ", flowlet_gap: %uus", draw(r, 1, 300));
	if (rs_random_below(r, 2)) {
		unsigned class = draw(r, 0, 3);

		put(t, ", classes: [");
		put_class(t, r, class, "");
		put_class(t, r, class + draw(r, 1, 3), ", ");
		put(t, "]");
	}
	put(t, "}");
}

/* The fabric; the caller adds a workload where it wants one. */
static inline void put_fabric(struct network_text *t, struct rs_random *r)
{
	put(t, "fabric:\n");
	if (rs_random_below(r, 6) == 0)
		put(t, "  preset: ns-3\n");
	put_network(t, r);
	put(t, "  qos: ");
	put_qos(t, r);
	t->n--; /* reopened */
	if (rs_random_below(r, 2)) {
		put(t, ", tiers: {leaf: ");
		put_qos(t, r);
		put(t, "}");
	}
	put(t, "}\n  cc: %s\n", rs_random_below(r, 3) ? "dcqcn" : "hpcc");
}

#endif
