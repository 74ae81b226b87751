/*
 * Blocks of a matrix: hosts that are slow towards the same others (an uplink, one way; the path of
 * two leaves), and hosts that are slow to all, of which there may be more than healthy ones.
 */
#include "expect/pairs_blocks.h"
#include <math.h>
#include <string.h>

/* Of a host's measured ways so many are slow: to belong to a block, and to be slow to all. */
static const double MOST = 0.6, ALL = 0.95;
/* A block that chance makes more often than this is none. */
static const double CHANCE = 0.01;

static bool is_slow(const struct rs_pairs_view *v, uint32_t from, uint32_t to)
{
	return v->mean[(size_t)from * v->hosts + to] < v->slow; /* false for NAN */
}

static bool measured(const struct rs_pairs_view *v, uint32_t from, uint32_t to)
{
	return from != to && !isnan(v->mean[(size_t)from * v->hosts + to]);
}

/* The hosts of which most ways to (or from) the others' set are slow. */
static uint32_t those(const struct rs_pairs_view *v, const bool *others, bool senders, bool *out)
{
	uint32_t count = 0;

	for (uint32_t h = 0; h < v->hosts; h++) {
		uint32_t n = 0, slow = 0;

		for (uint32_t k = 0; k < v->hosts; k++) {
			uint32_t from = senders ? h : k, to = senders ? k : h;

			if (!others[k] || !measured(v, from, to))
				continue;
			n++;
			slow += is_slow(v, from, to);
		}
		out[h] = n && slow > MOST * n;
		count += out[h];
	}
	return count;
}

static double choose(uint32_t n, uint32_t k)
{
	return lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0);
}

/* Slow ways elsewhere are as many as chance, or other faults, make: would they make this block? */
static bool by_chance(const struct rs_pairs_view *v, const struct rs_pairs_block *b)
{
	double n = 0, slow = 0, inside = 0;

	for (uint32_t h = 0; h < v->hosts; h++)
		for (uint32_t k = 0; k < v->hosts; k++) {
			if (!measured(v, h, k))
				continue;
			if (b->from[h] && b->to[k]) {
				inside += is_slow(v, h, k);
				continue;
			}
			n++;
			slow += is_slow(v, h, k);
		}
	return inside * log((slow + 1) / (n + 2)) + choose(v->hosts, b->n_from) +
		       choose(v->hosts, b->n_to) >
	       log(CHANCE);
}

/* The sides share no host, or they are one. */
static bool sides(const struct rs_pairs_view *v, const struct rs_pairs_block *b)
{
	uint32_t both = 0;

	for (uint32_t h = 0; h < v->hosts; h++)
		both += b->from[h] && b->to[h];
	return !both || (both == b->n_from && both == b->n_to && both + 2 <= v->hosts);
}

static bool known(const struct rs_pairs_block *all, uint32_t n, const struct rs_pairs_block *b,
		  uint32_t hosts)
{
	for (uint32_t i = 0; i < n; i++)
		if (!memcmp(all[i].from, b->from, hosts * sizeof(bool)) &&
		    !memcmp(all[i].to, b->to, hosts * sizeof(bool)))
			return true;
	return false;
}

uint32_t rs_pairs_blocks(const struct rs_pairs_view *v, struct rs_arena *a,
			 struct rs_pairs_block *out)
{
	uint32_t n = 0, tried = 0;

	for (uint32_t h = 0; h < v->hosts && n < RS_PAIRS_BLOCKS && tried < RS_PAIRS_BLOCKS; h++) {
		bool *from = rs_arena_alloc(a, v->hosts, sizeof(*from));
		bool *to = rs_arena_alloc(a, v->hosts, sizeof(*to));
		struct rs_pairs_block b = {.from = from, .to = to};
		uint32_t reach = 0;

		if (!from || !to)
			break;
		for (uint32_t k = 0; k < v->hosts; k++)
			reach += to[k] = is_slow(v, h, k);
		if (reach < 2)
			continue;
		tried++;
		those(v, to, true, from);
		those(v, from, false, to);
		b.n_from = those(v, to, true, from);
		b.n_to = those(v, from, false, to);
		if (b.n_from < 2 || b.n_to < 2 || !sides(v, &b) || known(out, n, &b, v->hosts) ||
		    by_chance(v, &b))
			continue;
		out[n++] = b;
	}
	return n;
}

/* The share of a host's ways to those that are left that is slow. */
static double share(const struct rs_pairs_view *v, const uint32_t *gone, uint32_t h)
{
	uint32_t n = 0, slow = 0;

	for (uint32_t k = 0; k < v->hosts; k++) {
		if (gone[k] || k == h)
			continue;
		n += measured(v, h, k) + measured(v, k, h);
		slow += (measured(v, h, k) && is_slow(v, h, k)) +
			(measured(v, k, h) && is_slow(v, k, h));
	}
	return n >= 2 ? (double)slow / n : 0;
}

uint32_t rs_pairs_slow_hosts(const struct rs_pairs_view *v, uint32_t *part_of)
{
	uint32_t n = 0;

	memset(part_of, 0, v->hosts * sizeof(*part_of));
	while (n + 2 < v->hosts) {
		double most = 0;
		uint32_t at = 0;

		for (uint32_t h = 0; h < v->hosts; h++) {
			double s = part_of[h] ? 0 : share(v, part_of, h);

			if (s > most) {
				most = s;
				at = h;
			}
		}
		if (most < ALL)
			break;
		part_of[at] = ++n;
	}
	return n;
}

/* All that fast ways join with host `at` are of the part `own`. Returns their number. */
static uint32_t join(const struct rs_pairs_view *v, uint32_t *part_of, uint32_t at, uint32_t own)
{
	uint32_t n = 1;
	bool more = true;

	part_of[at] = own;
	while (more) {
		more = false;
		for (uint32_t h = 0; h < v->hosts; h++)
			for (uint32_t k = 0; k < v->hosts && part_of[h] == own; k++) {
				if (part_of[k] || ((!measured(v, h, k) || is_slow(v, h, k)) &&
						   (!measured(v, k, h) || is_slow(v, k, h))))
					continue;
				part_of[k] = own;
				n++;
				more = true;
			}
	}
	return n;
}

uint32_t rs_pairs_leaves(const struct rs_pairs_view *v, uint32_t *part_of, bool *well)
{
	uint32_t n = 0, most = 0, as_many = 0, largest = 0, leaves = 0;

	memset(part_of, 0, v->hosts * sizeof(*part_of));
	for (uint32_t h = 0; h < v->hosts; h++) {
		uint32_t hosts;

		if (part_of[h])
			continue;
		hosts = join(v, part_of, h, ++n);
		leaves += hosts > 1;
		as_many = hosts > most ? 1 : as_many + (hosts == most);
		if (hosts > most) {
			most = hosts;
			largest = n;
		}
	}
	*well = as_many == 1;
	if (leaves < 3)
		return 0;
	for (uint32_t h = 0; h < v->hosts && *well; h++)
		part_of[h] = part_of[h] == largest ? 0 : part_of[h] - (part_of[h] > largest);
	return n - *well;
}
