/*
 * Which hosts, NICs, leaves, paths or collisions explain the slow pairs of a matrix. Values are
 * logarithms below the healthy level; a fault holds the cells of its set to at most its own level.
 * The set that explains most is taken, again and again, as long as it explains more than chance
 * would (a penalty of the Bayesian kind), larger causes before smaller ones.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "expect/pairs.h"
#include "expect/pairs_blocks.h"

enum { ROUNDS = 32, SETS_MAX = 8192, LEVELS = 128, STEPS = 1000 };
/* A loss below this is no fault; noise is never taken to be less, or a cell more than so far
 * off; of a set's cells so many have to be slow. */
static const double LEAST = 0.06, NOISE_MIN = 0.01, CLIP = 3.5, SHARE = 0.75;
/* Pairs of two leaves are a few per cent slower anyway, and collisions slow many of them. */
/* A pair that failed is taken to be so much slower than the slowest that did not: ln 10. */
static const double FAILED = 2.3026;
static const double LEAST_LEAF = 0.1, SHARE_LEAF = 0.85, SHARE_BLOCK = 0.95;

const char *const rs_pairs_kinds[] = {
	"host",          "sends",   "receives",   "nic",  "rail",       "leaf", "leaf-sends",
	"leaf-receives", "between", "some-paths", "pair", "collisions", "all",  NULL};

struct cell {
	uint32_t from, to;
	double y;    /* ln(value / level); of latency ln(level / value) */
	double held; /* what the faults that were taken hold it to; 0: nothing */
	bool failed;
};

/* A candidate: a cell belongs to it by what its ends are. */
struct set {
	enum rs_pairs_kind kind;
	uint32_t a, b;  /* name, host, rail or group */
	const bool *in; /* of an inferred leaf, or the senders of a block: [host] */
	const bool *to; /* the receivers of a block */
	bool one_way;
	bool inferred;
};

struct judge {
	const struct rs_pairs *p;
	struct rs_arena *arena;
	uint32_t n;
	struct cell *cell;
	double *some;                   /* room for as many */
	double *sent, *received;        /* [host] */
	double *way;                    /* [host * hosts]: the mean; NAN: not measured */
	uint32_t *part_of;              /* [host] */
	double part;                    /* of the pairs, at most so many are below the level */
	double level, noise, threshold; /* level: ln, as the cells' */
	struct set *set;
	uint32_t n_sets, n_plain; /* plain: those that do not depend on what was found */
	struct rs_pairs_verdict *out;
};

/* ---- The healthy level ---- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, uint32_t n)
{
	qsort(v, n, sizeof(*v), by_value);
	return n ? (v[(n - 1) / 2] + v[n / 2]) / 2 : 0;
}

static void shift(struct judge *j, double by)
{
	for (uint32_t i = 0; i < j->n; i++) {
		j->cell[i].y -= by;
		if (j->cell[i].held < 0)
			j->cell[i].held -= by;
	}
	j->level += by;
}

/* Where most pairs may be slow, those near the level tell it; else all that no fault holds do. */
static bool tells(const struct judge *j, const struct cell *c)
{
	return c->held > -LEAST && (j->part <= 0.5 || fabs(c->y) < fmax(LEAST, CLIP * j->noise));
}

/* Level and noise by the pairs that no fault holds; a half of them at least is healthy. Before any
 * fault is known, by those above the level alone: what is below may be slow. */
static void settle(struct judge *j, bool above)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < j->n && !above; i++)
		if (tells(j, &j->cell[i]))
			j->some[n++] = j->cell[i].y;
	if (n >= 3)
		shift(j, median(j->some, n));
	n = 0;
	for (uint32_t i = 0; i < j->n; i++)
		if (above ? j->cell[i].y >= 0 : tells(j, &j->cell[i]))
			j->some[n++] = fabs(j->cell[i].y);
	if (n >= 3)
		j->noise = fmax(NOISE_MIN, 1.4826 * median(j->some, n));
}

/* Where the part-th value from below is the level, nothing held back. */
static void start_at(struct judge *j, double part)
{
	uint32_t at = (uint32_t)(part * (j->n - 1));

	j->part = part;
	for (uint32_t i = 0; i < j->n; i++) {
		j->cell[i].held = 0;
		j->some[i] = j->cell[i].y;
	}
	qsort(j->some, j->n, sizeof(*j->some), by_value);
	shift(j, j->some[at]);
	j->noise = NOISE_MIN;
	settle(j, part > 0.5);
}

/* Below all values, that it fits whatever else is slow. */
static void place_failed(struct judge *j)
{
	double least = 0;
	bool any = false;

	for (uint32_t i = 0; i < j->n; i++)
		if (!j->cell[i].failed) {
			least = any ? fmin(least, j->cell[i].y) : j->cell[i].y;
			any = true;
		}
	for (uint32_t i = 0; i < j->n; i++)
		if (j->cell[i].failed)
			j->cell[i].y = least - FAILED;
}

static int take_cells(struct judge *j)
{
	const struct rs_pairs *p = j->p;

	j->cell = rs_arena_alloc(j->arena, (size_t)p->n * p->n + 1, sizeof(*j->cell));
	j->some = rs_arena_alloc(j->arena, (size_t)p->n * p->n + 1, sizeof(*j->some));
	j->sent = rs_arena_alloc(j->arena, p->n, sizeof(*j->sent));
	j->received = rs_arena_alloc(j->arena, p->n, sizeof(*j->received));
	j->way = rs_arena_alloc(j->arena, (size_t)p->n_hosts * p->n_hosts, sizeof(*j->way));
	j->part_of = rs_arena_alloc(j->arena, p->n_hosts, sizeof(*j->part_of));
	if (!j->cell || !j->some || !j->sent || !j->received || !j->way || !j->part_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->n; i++)
		for (uint32_t k = 0; k < p->n; k++) {
			double v = p->value[(size_t)i * p->n + k];

			/* NICs of one host say nothing of the network */
			if (i == k || p->host[i] == p->host[k])
				continue;
			if (!(fabs(v) > 0)) {
				j->out->missing++;
				continue;
			}
			j->out->failed += v < 0;
			j->cell[j->n++] = (struct cell){.from = i,
							.to = k,
							.failed = v < 0,
							.y = v < 0        ? 0
							     : p->latency ? -log(v)
									  : log(v)};
		}
	place_failed(j);
	return j->n < 3 && !j->out->failed ? -ENODATA : 0;
}

/* ---- Sets ---- */

static bool member(const struct judge *j, const struct set *s, const struct cell *c)
{
	const struct rs_pairs *p = j->p;

	switch (s->kind) {
	case RS_PAIRS_HOST:
		return p->host[c->from] == s->a || p->host[c->to] == s->a;
	case RS_PAIRS_SENDS:
		return p->host[c->from] == s->a;
	case RS_PAIRS_RECEIVES:
		return p->host[c->to] == s->a;
	case RS_PAIRS_NIC:
		return c->from == s->a || c->to == s->a;
	case RS_PAIRS_RAIL:
		return p->rail[c->from] == s->a || p->rail[c->to] == s->a;
	case RS_PAIRS_LEAF:
		if (s->in)
			return s->in[p->host[c->from]] != s->in[p->host[c->to]];
		return (p->group[c->from] == s->a) != (p->group[c->to] == s->a);
	case RS_PAIRS_LEAF_SENDS:
		if (s->in)
			return s->in[p->host[c->from]] && s->to[p->host[c->to]];
		return p->group[c->from] == s->a && p->group[c->to] != s->a;
	case RS_PAIRS_LEAF_RECEIVES:
		if (s->in)
			return s->in[p->host[c->from]] && s->to[p->host[c->to]];
		return p->group[c->to] == s->a && p->group[c->from] != s->a;
	case RS_PAIRS_BETWEEN:
		if (s->in)
			return (s->in[p->host[c->from]] && s->to[p->host[c->to]]) ||
			       (!s->one_way && s->in[p->host[c->to]] && s->to[p->host[c->from]]);
		if (s->one_way)
			return p->group[c->from] == s->a && p->group[c->to] == s->b;
		return (p->group[c->from] == s->a && p->group[c->to] == s->b) ||
		       (p->group[c->from] == s->b && p->group[c->to] == s->a);
	default:
		return false;
	}
}

static void add_set(struct judge *j, struct set s)
{
	if (j->n_sets < SETS_MAX)
		j->set[j->n_sets++] = s;
}

/* What a given group sends and receives, to all and to each of the others. */
static void list_ways(struct judge *j, uint32_t g)
{
	if (j->p->n_groups > 2) {
		add_set(j, (struct set){.kind = RS_PAIRS_LEAF_SENDS, .a = g});
		add_set(j, (struct set){.kind = RS_PAIRS_LEAF_RECEIVES, .a = g});
	}
	for (uint32_t k = 0; k < j->p->n_groups; k++)
		if (k != g)
			add_set(j,
				(struct set){
					.kind = RS_PAIRS_BETWEEN, .a = g, .b = k, .one_way = true});
}

static void list_sets(struct judge *j)
{
	const struct rs_pairs *p = j->p;

	for (uint32_t h = 0; h < p->n_hosts; h++) {
		add_set(j, (struct set){.kind = RS_PAIRS_HOST, .a = h});
		if (p->undirected)
			continue;
		add_set(j, (struct set){.kind = RS_PAIRS_SENDS, .a = h});
		add_set(j, (struct set){.kind = RS_PAIRS_RECEIVES, .a = h});
	}
	for (uint32_t i = 0; i < p->n && p->n_hosts < p->n; i++)
		add_set(j, (struct set){.kind = RS_PAIRS_NIC, .a = i});
	for (uint32_t r = 0; r < p->n_rails && p->n_rails > 1; r++)
		add_set(j, (struct set){.kind = RS_PAIRS_RAIL, .a = r});
	for (uint32_t g = 0; g < p->n_groups; g++) {
		add_set(j, (struct set){.kind = RS_PAIRS_LEAF, .a = g});
		for (uint32_t k = 0; k < g; k++)
			add_set(j, (struct set){.kind = RS_PAIRS_BETWEEN, .a = k, .b = g});
		if (!p->undirected)
			list_ways(j, g);
	}
	j->n_plain = j->n_sets;
}

/* Is host k nearer to the members than to the others? -1: no pair tells. */
static int nearer(const struct judge *j, uint32_t k, const bool *in, const double *sum,
		  const uint32_t *n)
{
	double near[2] = {0, 0};
	uint32_t times[2] = {0, 0};

	for (uint32_t m = 0; m < j->p->n_hosts; m++) {
		uint32_t at = k * j->p->n_hosts + m;

		if (m == k || !n[at])
			continue;
		near[in[m]] += sum[at] / n[at];
		times[in[m]]++;
	}
	if (!times[0] || !times[1])
		return times[1] ? near[1] / times[1] > -j->threshold / 2 : -1;
	return near[1] / times[1] > near[0] / times[0];
}

/* The smaller side of it is fast among itself: two hosts that are slow to all are no leaf. */
static bool fast_inside(const struct judge *j, const bool *in, bool side, const double *sum,
			const uint32_t *n)
{
	uint32_t hosts = j->p->n_hosts, times = 0;
	double all = 0;

	for (uint32_t a = 0; a < hosts; a++)
		for (uint32_t b = 0; b < a; b++) {
			uint32_t at = a * hosts + b;

			if (in[a] != side || in[b] != side || !n[at])
				continue;
			all += sum[at] / n[at];
			times++;
		}
	return !times || all / times > -j->threshold / 2;
}

/* The hosts that host h reaches fast; then each by what the most of its pairs tell. */
static void leaf_of(struct judge *j, uint32_t h, const double *sum, const double *raw,
		    const uint32_t *n)
{
	uint32_t hosts = j->p->n_hosts, inside = 0;
	bool *in = rs_arena_alloc(j->arena, hosts, sizeof(*in));
	bool *first = rs_arena_alloc(j->arena, hosts, sizeof(*first));

	if (!in || !first)
		return;
	for (uint32_t k = 0; k < hosts; k++) {
		uint32_t at = h * hosts + k;

		first[k] = k == h || (n[at] && sum[at] / n[at] > -j->threshold / 2);
	}
	for (uint32_t k = 0; k < hosts; k++) {
		int tells = k == h ? 1 : nearer(j, k, first, sum, n);

		in[k] = tells < 0 ? first[k] : tells > 0;
		inside += in[k];
	}
	if (inside >= 2 && inside + 2 <= hosts && fast_inside(j, in, 2 * inside <= hosts, raw, n))
		add_set(j, (struct set){.kind = RS_PAIRS_LEAF, .a = h, .in = in, .inferred = true});
}

/* Hosts that are fast among themselves and slow to the others, as seen from each host. */
static void infer_leaves(struct judge *j)
{
	const struct rs_pairs *p = j->p;
	double *sum = rs_arena_alloc(j->arena, (size_t)p->n_hosts * p->n_hosts, sizeof(*sum));
	double *raw = rs_arena_alloc(j->arena, (size_t)p->n_hosts * p->n_hosts, sizeof(*raw));
	uint32_t *n = rs_arena_alloc(j->arena, (size_t)p->n_hosts * p->n_hosts, sizeof(*n));

	j->n_sets = j->n_plain;
	if (p->n_groups || p->n_hosts < 4 || !sum || !raw || !n)
		return;
	for (uint32_t i = 0; i < j->n; i++) {
		const struct cell *c = &j->cell[i];
		uint32_t a = p->host[c->from], b = p->host[c->to];
		double y = fmax(c->y - c->held, -LEVELS);

		sum[a * p->n_hosts + b] += y;
		sum[b * p->n_hosts + a] += y;
		raw[a * p->n_hosts + b] += c->y;
		raw[b * p->n_hosts + a] += c->y;
		n[a * p->n_hosts + b]++;
		n[b * p->n_hosts + a]++;
	}
	for (uint32_t h = 0; h < p->n_hosts; h++)
		leaf_of(j, h, sum, raw, n);
}

/* The mean of each way of two hosts, as the faults so far leave it. */
static struct rs_pairs_view view(struct judge *j)
{
	const struct rs_pairs *p = j->p;
	size_t all = (size_t)p->n_hosts * p->n_hosts;
	uint32_t *n = rs_arena_alloc(j->arena, all, sizeof(*n));
	struct rs_pairs_view v = {
		.hosts = p->n_hosts, .mean = j->way, .slow = -fmax(j->threshold / 2, LEAST)};

	memset(j->way, 0, all * sizeof(*j->way));
	for (uint32_t i = 0; i < j->n && n; i++) {
		const struct cell *c = &j->cell[i];
		size_t at = (size_t)p->host[c->from] * p->n_hosts + p->host[c->to];

		j->way[at] += fmax(c->y - c->held, -LEVELS);
		n[at]++;
	}
	for (size_t i = 0; i < all; i++)
		j->way[i] = n && n[i] ? j->way[i] / n[i] : NAN;
	return v;
}

/* Hosts that are slow towards the same others: a leaf's way up or down, the path of two leaves. */
static void infer_blocks(struct judge *j)
{
	struct rs_pairs_block block[RS_PAIRS_BLOCKS];
	struct rs_pairs_view v = view(j);
	uint32_t n;

	if (j->p->n_groups || j->p->n_hosts < 4)
		return;
	n = rs_pairs_blocks(&v, j->arena, block);
	for (uint32_t i = 0; i < n; i++) {
		const struct rs_pairs_block *b = &block[i];
		struct set s = {
			.kind = RS_PAIRS_BETWEEN, .in = b->from, .to = b->to, .inferred = true};
		bool same = b->from[0] && b->to[0];

		for (uint32_t h = 1; h < j->p->n_hosts; h++)
			same |= b->from[h] && b->to[h];
		if (b->n_from + b->n_to < j->p->n_hosts)
			add_set(j, s); /* else it is a leaf's */
		s.one_way = true;
		if (b->n_from + b->n_to == j->p->n_hosts && !same)
			s.kind =
				b->n_from <= b->n_to ? RS_PAIRS_LEAF_SENDS : RS_PAIRS_LEAF_RECEIVES;
		if (!j->p->undirected && !same)
			add_set(j, s);
	}
}

/* ---- What a set explains ---- */

/* How unlikely a cell is at a level, in units of the noise; clipped, so that no single one rules.
 */
static double cost(const struct judge *j, double y, double held)
{
	double d = fabs(y - held) / j->noise;

	return d < CLIP ? d * d / 2 : CLIP * CLIP / 2 + (d - CLIP) * 0.25;
}

struct fit {
	double gain, level;
	uint32_t n, slow;
};

static struct fit fit_set(struct judge *j, const struct set *s)
{
	bool leaf = s->kind >= RS_PAIRS_LEAF && s->kind <= RS_PAIRS_BETWEEN;
	struct fit f = {0};
	uint32_t n = 0;
	double part;

	for (uint32_t i = 0; i < j->n; i++)
		if (member(j, s, &j->cell[i])) {
			f.n++;
			if (j->cell[i].held > -LEAST) /* not what others explain */
				j->some[n++] = j->cell[i].y;
		}
	if (n < 2 || n * 2 < f.n)
		return f;
	f.level = median(j->some, n);
	/* 4 times what the median of so many is off by chance */
	if (f.level > -fmax(leaf ? LEAST_LEAF : LEAST, 5 * j->noise / sqrt(n)))
		return f;
	part = f.level / 2;
	for (uint32_t i = 0; i < n; i++)
		f.slow += j->some[i] < part;
	if (f.slow < (s->to ? SHARE_BLOCK : leaf ? SHARE_LEAF : SHARE) * n)
		return f;
	f.slow = 0;
	for (uint32_t i = 0; i < j->n; i++) {
		const struct cell *c = &j->cell[i];

		if (!member(j, s, c))
			continue;
		f.slow += c->y < part;
		f.gain += cost(j, c->y, c->held) - cost(j, c->y, fmin(c->held, f.level));
	}
	f.gain -= log((double)j->n + j->n_sets);
	return f;
}

/* ---- Faults ---- */

static const char *list_hosts(struct judge *j, const bool *in, bool want)
{
	const struct rs_pairs *p = j->p;
	char text[512] = "";
	uint32_t n = 0;

	for (uint32_t h = 0; h < p->n_hosts; h++) {
		size_t at = strlen(text);

		if (in[h] != want)
			continue;
		if (n++ < 8)
			snprintf(text + at, sizeof(text) - at, "%s%.60s", at ? ", " : "",
				 p->host_name[h]);
	}
	if (n > 8)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " and %u more", n - 8);
	return rs_arena_strdup(p->arena, text);
}

static uint32_t count(const bool *in, uint32_t n)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < n; i++)
		k += in[i];
	return k;
}

static const char *name_block(struct judge *j, const struct set *s)
{
	const char *from = list_hosts(j, s->in, true), *to = list_hosts(j, s->to, true);

	if (!from || !to)
		return NULL;
	if (!strcmp(from, to))
		return rs_arena_printf(j->p->arena, "hosts %s among themselves", from);
	return rs_arena_printf(j->p->arena,
			       s->one_way ? "hosts %s to hosts %s" : "hosts %s and hosts %s", from,
			       to);
}

static const char *name_set(struct judge *j, const struct set *s)
{
	const struct rs_pairs *p = j->p;
	struct rs_arena *a = p->arena;

	switch (s->kind) {
	case RS_PAIRS_NIC:
		return rs_arena_printf(a, "NIC %s", p->name[s->a]);
	case RS_PAIRS_RAIL:
		return rs_arena_printf(a, "rail %s", p->rail_name[s->a]);
	case RS_PAIRS_LEAF:
		/* of an inferred one the smaller part: which is at fault, the matrix cannot tell */
		return s->in ? rs_arena_printf(
				       a, "hosts %s",
				       list_hosts(j, s->in,
						  2 * count(s->in, p->n_hosts) <= p->n_hosts))
			     : rs_arena_printf(a, "leaf %s", p->group_name[s->a]);
	case RS_PAIRS_LEAF_SENDS:
		return s->in ? rs_arena_printf(a, "what hosts %s send to the others",
					       list_hosts(j, s->in, true))
			     : rs_arena_printf(a, "what leaf %s sends", p->group_name[s->a]);
	case RS_PAIRS_LEAF_RECEIVES:
		return s->in ? rs_arena_printf(a, "what hosts %s receive from the others",
					       list_hosts(j, s->to, true))
			     : rs_arena_printf(a, "what leaf %s receives", p->group_name[s->a]);
	case RS_PAIRS_BETWEEN:
		return s->in ? name_block(j, s)
			     : rs_arena_printf(
				       a, s->one_way ? "leaf %s to leaf %s" : "leaves %s and %s",
				       p->group_name[s->a], p->group_name[s->b]);
	case RS_PAIRS_SENDS:
		return rs_arena_printf(a, "what host %s sends", p->host_name[s->a]);
	case RS_PAIRS_RECEIVES:
		return rs_arena_printf(a, "what host %s receives", p->host_name[s->a]);
	default:
		return rs_arena_printf(a, "host %s", p->host_name[s->a]);
	}
}

static struct rs_pairs_fault *new_fault(struct judge *j, enum rs_pairs_kind kind, const char *what)
{
	struct rs_pairs_fault *f = &j->out->fault[j->out->n];

	if (j->out->n == RS_PAIRS_FAULTS || !what)
		return NULL;
	*f = (struct rs_pairs_fault){.kind = kind, .what = what};
	j->out->n++;
	return f;
}

/* Where most of its slow pairs failed, there is no rate to tell. */
static void no_factor(struct rs_pairs_fault *f)
{
	if (2 * f->failed > f->slow)
		f->factor = 0;
}

/* A gain as a share of certainty, next to the best other cause of the same cells. */
static double confidence(const struct fit *best, double other)
{
	double odds = best->gain - fmax(0, other);

	return (1 - exp(-fmin(odds, 40) / 4)) * best->slow / (best->n ? best->n : 1);
}

/* A single cell of so many is off by so much by chance once in a hundred matrices. */
static double threshold_of(const struct judge *j)
{
	return fmax(2 * LEAST, j->noise * (1 + sqrt(2 * log(100.0 * j->n))));
}

/* How far below the level what each name sends and receives is, in the mean. */
static void sum_names(struct judge *j)
{
	const struct rs_pairs *p = j->p;

	memset(j->sent, 0, p->n * sizeof(*j->sent));
	memset(j->received, 0, p->n * sizeof(*j->received));
	for (uint32_t i = 0; i < j->n; i++) {
		double y = fmax(j->cell[i].y, -1);

		j->sent[p->host[j->cell[i].from]] += y;
		j->received[p->host[j->cell[i].to]] += y;
	}
}

/* Can it be slow at all? Most hosts are not, and need no look at all cells. */
static bool may_be(const struct judge *j, const struct set *s)
{
	double sum = s->kind == RS_PAIRS_SENDS      ? j->sent[s->a]
		     : s->kind == RS_PAIRS_RECEIVES ? j->received[s->a]
		     : s->kind == RS_PAIRS_HOST     ? j->sent[s->a] + j->received[s->a]
						    : -1;

	return sum < 0;
}

/* ---- Hosts, or leaves, that are slow to all: all of them at once ---- */

/* What host or leaf `part` reaches with the parts that are well; where none is, with all others. */
static struct fit fit_apart(struct judge *j, uint32_t part, bool well)
{
	struct fit f = {0};
	uint32_t n = 0;

	for (uint32_t i = 0; i < j->n; i++) {
		const struct cell *c = &j->cell[i];
		uint32_t a = j->part_of[j->p->host[c->from]], b = j->part_of[j->p->host[c->to]];

		if (a == b || (a != part && b != part))
			continue;
		f.n++;
		if (!well || !(a == part ? b : a))
			j->some[n++] = c->y;
	}
	f.level = n >= 2 ? median(j->some, n) : 0;
	if (f.level > -fmax(LEAST, 5 * j->noise / sqrt(fmax(n, 1))))
		return f;
	for (uint32_t i = 0; i < j->n; i++) {
		const struct cell *c = &j->cell[i];
		uint32_t a = j->part_of[j->p->host[c->from]], b = j->part_of[j->p->host[c->to]];

		f.slow += a != b && (a == part || b == part) && c->y < f.level / 2;
	}
	return f;
}

static double level_apart(const struct judge *j, const struct fit *fits, const struct cell *c)
{
	uint32_t a = j->part_of[j->p->host[c->from]], b = j->part_of[j->p->host[c->to]];

	/* part 0 is well, and a part's own pairs are */
	return a == b ? 0 : fmin(a ? fits[a].level : 0, b ? fits[b].level : 0);
}

/* What the parts 1 to n explain together. 0: nothing that they are slow by. */
static double gain_apart(struct judge *j, struct fit *fits, uint32_t n, bool well)
{
	double gain = -(double)n * log((double)j->n + j->n_sets);

	for (uint32_t part = 1; part <= n; part++) {
		fits[part] = fit_apart(j, part, well);
		if (!fits[part].slow)
			return 0;
	}
	for (uint32_t i = 0; i < j->n; i++) {
		const struct cell *c = &j->cell[i];

		gain += cost(j, c->y, c->held) -
			cost(j, c->y, fmin(c->held, level_apart(j, fits, c)));
	}
	return gain;
}

/* The fewer pairs of others there are to compare with, the less is sure: these may be the special
 * ones. */
static double sure_apart(const struct judge *j, bool well)
{
	double others = 0, hosts = j->p->n_hosts, pairs;

	for (uint32_t h = 0; h < j->p->n_hosts; h++)
		others += !j->part_of[h];
	pairs = others * (others - 1) / 2;
	return well ? (1 - exp2(-pairs)) * fmin(1, 2 * others / hosts) : 0.5;
}

static const char *name_apart(struct judge *j, uint32_t part, uint32_t hosts, uint32_t any)
{
	const struct rs_pairs *p = j->p;
	bool *in = rs_arena_alloc(j->arena, p->n_hosts, sizeof(*in));
	uint32_t group = UINT32_MAX, of_group = 0, n = 0;

	if (!in)
		return NULL;
	if (hosts == 1)
		return name_set(j, &(struct set){.kind = RS_PAIRS_HOST, .a = any});
	for (uint32_t h = 0; h < p->n_hosts; h++)
		in[h] = j->part_of[h] == part;
	for (uint32_t i = 0; i < p->n; i++)
		if (p->host[i] == any)
			group = p->n_groups ? p->group[i] : UINT32_MAX;
	for (uint32_t i = 0; i < p->n && group != UINT32_MAX; i++) {
		of_group += p->group[i] == group;
		n += p->group[i] == group && in[p->host[i]];
	}
	if (n && n == of_group)
		return name_set(j, &(struct set){.kind = RS_PAIRS_LEAF, .a = group});
	return rs_arena_printf(p->arena, "hosts %s", list_hosts(j, in, true));
}

static uint32_t failed_apart(const struct judge *j, uint32_t part)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < j->n; i++) {
		const struct cell *c = &j->cell[i];
		uint32_t a = j->part_of[j->p->host[c->from]], b = j->part_of[j->p->host[c->to]];

		n += c->failed && a != b && (a == part || b == part);
	}
	return n;
}

static bool tell_apart(struct judge *j, const struct fit *fits, uint32_t n, bool well)
{
	const struct rs_pairs *p = j->p;

	for (uint32_t part = 1; part <= n; part++) {
		uint32_t hosts = 0, any = 0;
		struct rs_pairs_fault *f;

		for (uint32_t h = 0; h < p->n_hosts; h++)
			if (j->part_of[h] == part) {
				hosts++;
				any = h;
			}
		f = new_fault(j, hosts > 1 ? RS_PAIRS_LEAF : RS_PAIRS_HOST,
			      name_apart(j, part, hosts, any));
		if (!f)
			return false;
		f->n = fits[part].n;
		f->slow = fits[part].slow;
		f->factor = exp(p->latency ? -fits[part].level : fits[part].level);
		f->confidence = sure_apart(j, well) * f->slow / f->n;
		f->inferred = hosts > 1 && !p->n_groups;
		f->failed = failed_apart(j, part);
		no_factor(f);
	}
	for (uint32_t i = 0; i < j->n; i++)
		j->cell[i].held = fmin(j->cell[i].held, level_apart(j, fits, &j->cell[i]));
	settle(j, false);
	j->threshold = threshold_of(j);
	return true;
}

static bool take_parts(struct judge *j, uint32_t n, bool well, double at_least)
{
	struct fit *fits = rs_arena_alloc(j->arena, n + 1, sizeof(*fits));

	return fits && j->out->n + n <= RS_PAIRS_FAULTS &&
	       gain_apart(j, fits, n, well) >= fmax(3, at_least) && tell_apart(j, fits, n, well);
}

/* A leaf would be taken for several hosts, and two leaves for one: what is more goes first. */
static bool take_apart(struct judge *j, double at_least)
{
	struct rs_pairs_view v = view(j);
	bool well;
	uint32_t n = rs_pairs_leaves(&v, j->part_of, &well);

	if (n >= 2 && take_parts(j, n, well, at_least))
		return true;
	n = rs_pairs_slow_hosts(&v, j->part_of);
	return n >= 2 && take_parts(j, n, true, at_least);
}

static bool take_best(struct judge *j)
{
	struct fit best = {0};
	const struct set *taken = NULL;
	struct rs_pairs_fault *f;
	double other = 0;

	infer_leaves(j);
	infer_blocks(j);
	sum_names(j);
	for (uint32_t i = 0; i < j->n_sets; i++) {
		struct fit k = {0};

		if (may_be(j, &j->set[i]))
			k = fit_set(j, &j->set[i]);
		if (k.gain > best.gain) {
			/* the same cells by another name are no other cause */
			other = taken && k.n != best.n ? best.gain : other;
			best = k;
			taken = &j->set[i];
		} else if (k.gain > other && k.n != best.n) {
			other = k.gain;
		}
	}
	if (take_apart(j, best.gain))
		return true;
	if (!taken || best.gain < 3)
		return false;
	f = new_fault(j, taken->kind, name_set(j, taken));
	if (!f)
		return false;
	f->n = best.n;
	f->slow = best.slow;
	f->inferred = taken->inferred;
	f->factor = exp(j->p->latency ? -best.level : best.level);
	f->confidence = confidence(&best, other);
	for (uint32_t i = 0; i < j->n; i++)
		if (member(j, taken, &j->cell[i]))
			f->failed += j->cell[i].failed;
	no_factor(f);
	for (uint32_t i = 0; i < j->n; i++)
		if (member(j, taken, &j->cell[i]))
			j->cell[i].held = fmin(j->cell[i].held, best.level);
	settle(j, false);
	j->threshold = threshold_of(j);
	return true;
}

/* ---- What is left: pairs ---- */

static bool is_slow(const struct judge *j, const struct cell *c)
{
	return c->y < c->held - j->threshold;
}

static void show(struct judge *j, struct rs_pairs_fault *f, const struct set *s)
{
	for (uint32_t i = 0; i < j->n && f->n_shown < RS_PAIRS_SHOWN; i++) {
		const struct cell *c = &j->cell[i];

		if (!is_slow(j, c) || (s && !member(j, s, c)))
			continue;
		if (j->p->undirected && c->from > c->to)
			continue;
		f->from[f->n_shown] = c->from;
		f->to[f->n_shown++] = c->to;
	}
	for (uint32_t i = 0; i < j->n; i++)
		f->failed += j->cell[i].failed && is_slow(j, &j->cell[i]) &&
			     (!s || member(j, s, &j->cell[i]));
	no_factor(f);
}

static double median_of_slow(struct judge *j, const struct set *s, uint32_t *n)
{
	*n = 0;
	for (uint32_t i = 0; i < j->n; i++)
		if (is_slow(j, &j->cell[i]) && (!s || member(j, s, &j->cell[i])))
			j->some[(*n)++] = j->cell[i].y;
	return median(j->some, *n);
}

/* All that is left slow touches one host, or crosses one leaf's border: one link of several. */
static bool some_paths(struct judge *j, uint32_t left)
{
	const struct set *best = NULL;
	uint32_t most = 0, members = 0;
	struct rs_pairs_fault *f;
	double level;

	infer_leaves(j);
	for (uint32_t i = 0; i < j->n_sets; i++) {
		const struct set *s = &j->set[i];
		uint32_t n = 0, all = 0;

		if ((s->kind != RS_PAIRS_HOST && s->kind != RS_PAIRS_LEAF &&
		     s->kind != RS_PAIRS_NIC) ||
		    s->inferred || (s->kind == RS_PAIRS_LEAF && j->p->n_groups < 3))
			continue; /* between two leaves all paths are of both */
		for (uint32_t k = 0; k < j->n; k++)
			if (member(j, s, &j->cell[k])) {
				all++;
				n += is_slow(j, &j->cell[k]);
			}
		if (n > most || (n == most && best && all < members)) {
			most = n;
			members = all;
			best = s;
		}
	}
	/* by chance alone a set has its own share of them */
	if (!best || most < 3 || most < 0.9 * left || members > 0.7 * j->n ||
	    pow((double)members / j->n, most) * j->n_plain > 0.05)
		return false;
	level = median_of_slow(j, best, &most);
	f = new_fault(j, RS_PAIRS_SOME_PATHS,
		      rs_arena_printf(j->p->arena, "some paths of %s", name_set(j, best)));
	if (!f)
		return false;
	f->n = members;
	f->slow = most;
	f->factor = exp(j->p->latency ? -level : level);
	f->confidence = (1 - pow((double)members / j->n, most)) * most / left;
	show(j, f, best);
	return true;
}

/* Of a pair with one value, told both ways: the second. */
static bool one_of_two(const struct rs_pairs *p, const struct cell *c)
{
	return p->undirected && c->from > c->to &&
	       fabs(p->value[(size_t)c->to * p->n + c->from]) > 0;
}

/* Each alone; or those that failed alone. */
static void single_pairs(struct judge *j, bool failed)
{
	const struct rs_pairs *p = j->p;

	for (uint32_t i = 0; i < j->n; i++) {
		struct cell *c = &j->cell[i];
		struct rs_pairs_fault *f;

		if (!is_slow(j, c) || (failed && !c->failed) || one_of_two(p, c))
			continue;
		f = new_fault(j, RS_PAIRS_PAIR,
			      rs_arena_printf(p->arena, "the path from %s to %s", p->name[c->from],
					      p->name[c->to]));
		if (!f)
			return;
		f->n = f->slow = f->n_shown = 1;
		f->from[0] = c->from;
		f->to[0] = c->to;
		f->factor = exp(p->latency ? -c->y : c->y);
		f->confidence = 0.5;
		if (c->failed) {
			f->failed = 1;
			f->factor = 0;
			f->confidence = 1; /* no chance, no noise makes a failure */
		}
	}
}

/* Pairs that are slow one way or both, counted up to 3. */
static uint32_t slow_pairs(const struct judge *j)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < j->n && n < 3; i++) {
		const struct cell *c = &j->cell[i];
		bool before = false;

		for (uint32_t k = 0; k < i && is_slow(j, c); k++)
			before |= j->cell[k].from == c->to && j->cell[k].to == c->from &&
				  is_slow(j, &j->cell[k]);
		n += is_slow(j, c) && !before;
	}
	return n;
}

static void left_over(struct judge *j)
{
	uint32_t left = 0, failed = 0;
	double level = median_of_slow(j, NULL, &left);
	struct rs_pairs_fault *f;

	if (!left || (left >= 3 && some_paths(j, left)))
		return;
	/* collisions make pairs slow, not fail */
	for (uint32_t i = 0; i < j->n; i++)
		failed += j->cell[i].failed && is_slow(j, &j->cell[i]);
	if (left - failed < (j->p->undirected ? 6u : 3u) || slow_pairs(j) < 3) {
		single_pairs(j, false);
		return;
	}
	if (failed) {
		single_pairs(j, true);
		for (uint32_t i = 0; i < j->n; i++)
			if (j->cell[i].failed)
				j->cell[i].held = fmin(j->cell[i].held, j->cell[i].y);
		level = median_of_slow(j, NULL, &left);
	}
	f = new_fault(j, RS_PAIRS_COLLISIONS,
		      rs_arena_printf(j->p->arena, "pairs with no host, NIC or leaf in common"));
	if (!f)
		return;
	f->n = j->n;
	f->slow = left;
	f->factor = exp(j->p->latency ? -level : level);
	f->confidence = 1 - exp(-(double)left / 4);
	show(j, f, NULL);
	/* where so many collide, all pairs of two leaves may have by chance */
	for (uint32_t i = 0; i + 1 < j->out->n && left > j->n / 5; i++)
		if (j->out->fault[i].kind == RS_PAIRS_BETWEEN)
			j->out->fault[i].confidence /= 2;
}

/* ---- All of it ---- */

/* ---- Pairs that are slow by themselves ---- */

/* ln of the likelihood that a share of the cells is slow by a factor of up to 4, rarely more, and
 * the others are at the level. */
static double mixture(const double *y, uint32_t n, double level, double noise)
{
	static const double FOUR = 1.4, ANY = 3, RARE = 0.1;
	double slow = 1, sum = 0;

	for (uint32_t i = 0; i < n; i++)
		slow += y[i] < level - 3 * noise;
	slow /= n + 2.0;
	for (uint32_t i = 0; i < n; i++) {
		double d = (y[i] - level) / noise, of_slow = RARE / ANY;

		if (y[i] < level - noise && y[i] > level - FOUR)
			of_slow += (1 - RARE) / FOUR;
		sum += log((1 - slow) * exp(-d * d / 2) / noise / 2.5066 + slow * of_slow);
	}
	return sum;
}

/*
 * Of the cells that no fault holds, a part may be slow with nothing in common: then level and noise
 * are those of the others. Else they are of one kind, however wide.
 */
static void separate(struct judge *j)
{
	uint32_t n = 0;
	double best, level = 0, noise = j->noise, *above;

	for (uint32_t i = 0; i < j->n; i++)
		if (j->cell[i].held > -LEAST)
			j->some[n++] = j->cell[i].y;
	above = rs_arena_alloc(j->arena, n + 1, sizeof(*above));
	if (n < 10 || !above)
		return;
	qsort(j->some, n, sizeof(*j->some), by_value);
	best = mixture(j->some, n, 0, j->noise);
	for (uint32_t q = n / 2; q < n - n / 10; q += 1 + n / STEPS) {
		double at = j->some[q], wide;
		uint32_t k = 0;

		for (uint32_t i = q; i < n; i++)
			above[k++] = j->some[i] - at;
		wide = fmax(NOISE_MIN, 1.4826 * median(above, k));
		if (mixture(j->some, n, at, wide) > best + 2) {
			best = mixture(j->some, n, at, wide);
			level = at;
			noise = wide;
		}
	}
	shift(j, level);
	j->noise = noise;
	j->threshold = threshold_of(j);
}

/* How badly all cells fit, in the way of a Bayesian criterion: less is better. */
static double misfit(const struct judge *j)
{
	double sum = j->out->n * log((double)j->n) * 2;

	for (uint32_t i = 0; i < j->n; i++)
		sum += log(j->noise) + cost(j, j->cell[i].y, j->cell[i].held);
	return sum;
}

static double attempt(struct judge *j, double part)
{
	j->out->n = 0;
	j->out->slow = 0;
	start_at(j, part);
	j->threshold = threshold_of(j);
	for (int round = 0; round < ROUNDS && take_best(j); round++)
		;
	if (!j->out->n && part > 0.5) {
		j->part = 0.5;
		settle(j, false);
		j->threshold = threshold_of(j);
	}
	return misfit(j);
}

/* The pairs, each once where it has one value for both ways. */
static void count_pairs(struct judge *j)
{
	for (uint32_t i = 0; i < j->n; i++)
		j->out->cells += !one_of_two(j->p, &j->cell[i]);
}

static void all_failed(struct judge *j)
{
	struct rs_pairs_fault *f = new_fault(j, RS_PAIRS_ALL, "all pairs");

	count_pairs(j);
	j->out->slow = j->n;
	if (!f)
		return;
	f->n = f->slow = f->failed = j->n;
	f->confidence = 1;
}

/* Three pairs of three hosts, of which one is much faster: the host that the slow two share, or the
 * fast one is special; the matrix cannot tell. */
static void three_hosts(struct judge *j)
{
	static const double APART = 0.34 /* ln 1.4 */;
	double sum[3] = {0, 0, 0}, low, other;
	uint32_t n[3] = {0, 0, 0}, all = 0, slow = 0, fast = 0;
	struct rs_pairs_fault *f;

	if (j->out->n || j->p->n_hosts != 3)
		return;
	/* of each host: the pair that it has no part in */
	for (uint32_t i = 0; i < j->n; i++) {
		uint32_t h = 3 - j->p->host[j->cell[i].from] - j->p->host[j->cell[i].to];

		sum[h] += j->cell[i].y;
		n[h]++;
	}
	if (!n[0] || !n[1] || !n[2])
		return;
	for (uint32_t h = 0; h < 3; h++)
		if (sum[h] / n[h] > sum[fast] / n[fast])
			fast = h;
	low = sum[(fast + 1) % 3] / n[(fast + 1) % 3];
	other = sum[(fast + 2) % 3] / n[(fast + 2) % 3];
	if (sum[fast] / n[fast] - fmax(low, other) < fmax(APART, 2 * fabs(low - other)))
		return;
	shift(j, sum[fast] / n[fast]);
	j->noise = NOISE_MIN;
	f = new_fault(j, RS_PAIRS_HOST,
		      name_set(j, &(struct set){.kind = RS_PAIRS_HOST, .a = fast}));
	if (!f)
		return;
	for (uint32_t i = 0; i < j->n; i++) {
		bool its = j->p->host[j->cell[i].from] == fast || j->p->host[j->cell[i].to] == fast;

		all += its;
		slow += its && j->cell[i].y < -APART / 2;
		f->failed += its && j->cell[i].failed;
	}
	f->n = all;
	j->out->slow = f->slow = slow;
	f->factor = exp((j->p->latency ? -1 : 1) * ((low + other) / 2 - sum[fast] / n[fast]));
	f->confidence = 0.5;
	no_factor(f);
}

/* Most pairs may be slow: the level is where faults explain the rest best. */
static void judge(struct judge *j)
{
	static const double parts[] = {0.5, 0.62, 0.72, 0.8, 0.88, 0.95};
	double least = INFINITY, best = 0.5;

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		double m = attempt(j, parts[i]);

		if (m < least - 1) {
			least = m;
			best = parts[i];
		}
	}
	if (j->out->failed == j->n) {
		all_failed(j);
		return;
	}
	attempt(j, best);
	separate(j);
	for (uint32_t i = 0; i < j->n; i++)
		j->out->slow += j->cell[i].y < -j->threshold;
	left_over(j);
	three_hosts(j);
	j->out->level = exp(j->p->latency ? -j->level : j->level);
	j->out->noise = j->noise;
	count_pairs(j);
}

int rs_pairs_judge(const struct rs_pairs *p, struct rs_pairs_verdict *out, struct rs_error *e)
{
	struct judge j = {.p = p, .out = out, .arena = rs_arena_create(0)};
	int err;

	*out = (struct rs_pairs_verdict){0};
	if (!j.arena)
		return rs_error_set(e, -ENOMEM, "out of memory");
	j.set = rs_arena_alloc(j.arena, SETS_MAX, sizeof(*j.set));
	err = j.set ? take_cells(&j) : -ENOMEM;
	if (err) {
		rs_arena_destroy(j.arena);
		return rs_error_set(e, err, "%s",
				    err == -ENOMEM ? "out of memory"
						   : "fewer than 3 pairs: nothing to compare with");
	}
	list_sets(&j);
	judge(&j);
	rs_arena_destroy(j.arena);
	return 0;
}
