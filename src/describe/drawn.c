/*
 * Flows that are drawn: how large they are, when they begin, and between which ends. Each source
 * has a stream of random numbers of its own, so that another source changes none of its flows.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/random.h"
#include "base/units.h"
#include "describe/load.h"

enum { POINTS_MAX = 1024, SIZES_BYTES = 1 << 20, TRIES = 64 };
enum { DRAW_SIZE = 0xf1, DRAW_TIME, DRAW_END, DRAW_PAIRS }; /* purposes of streams */

/* A share of the flows has at most so many bytes; between two points the sizes are spread evenly.
 */
struct point {
	double bytes, share;
};

struct drawn {
	struct rs_load *l;
	const struct rs_fabric *f;
	const struct flow_sink *to;
	uint32_t *src, *dst, n_src, n_dst;
	uint64_t *size; /* one of these, each as often; else: */
	uint32_t n_sizes;
	const struct point *point;
	uint32_t n_points;
	double load;
	rs_time start, time;
	uint32_t count; /* of a source; 0: as many as begin within time */
	uint32_t draw;
	bool regular, permutation;
	uint8_t tc, cc;
};

/*
 * Sizes of flows in published traffic, as the traffic generator of the HPCC paper has them
 * (alibaba-edu/High-Precision-Congestion-Control at 9cf8b9e and fe18e47, traffic_gen/):
 * WebSearch_distribution.txt (the cluster of Alizadeh et al., "Data Center TCP", SIGCOMM 2010),
 * FbHdp_distribution.txt (Hadoop, Roy et al., "Inside the Social Network's (Datacenter) Network",
 * SIGCOMM 2015), AliStorage2019.txt (Alibaba's storage).
 */
static const struct point websearch[] = {{0, 0},      {10000, .15}, {20000, .2},  {30000, .3},
					 {50000, .4}, {80000, .53}, {200000, .6}, {1e6, .7},
					 {2e6, .8},   {5e6, .9},    {1e7, .97},   {3e7, 1}};
static const struct point hadoop[] = {{0, 0},        {100, .01},   {200, .02},   {300, .05},
				      {350, .15},    {400, .2},    {500, .3},    {600, .4},
				      {700, .5},     {1000, .6},   {2000, .67},  {7000, .7},
				      {30000, .72},  {50000, .82}, {80000, .87}, {120000, .9},
				      {300000, .95}, {1e6, .975},  {2e6, .99},   {1e7, 1}};
static const struct point storage[] = {{0, 0},          {4000, .2293},   {8000, .6921},
				       {16000, .8061},  {32000, .9047},  {64000, .9353},
				       {128000, .9677}, {256000, .9753}, {2000000, 1}};
static const struct {
	const char *name;
	const struct point *point;
	uint32_t n;
} published[] = {{"websearch", websearch, sizeof(websearch) / sizeof(*websearch)},
		 {"hadoop", hadoop, sizeof(hadoop) / sizeof(*hadoop)},
		 {"storage", storage, sizeof(storage) / sizeof(*storage)}};

/* ---- Sizes ---- */

static void read_sizes(struct drawn *d, const struct rs_node *n)
{
	const struct rs_item *i = n->first;
	uint32_t room = n->kind == RS_NODE_LIST ? n->n : 1;

	d->size = rs_load_take(d->l, room ? room : 1, sizeof(*d->size));
	while (!d->l->err && d->n_sizes < room) {
		const struct rs_node *one = n->kind == RS_NODE_LIST ? i->value : n;
		const char *s = rs_node_scalar(d->l, one, "bytes");
		struct rs_error e = {0};

		if (s && rs_parse_bytes(s, &d->size[d->n_sizes], &e))
			rs_load_fail(d->l, -EINVAL, one->at, "bytes: %s", e.what);
		else if (s && (!d->size[d->n_sizes] || d->size[d->n_sizes] > RS_FLOW_BYTES_MAX))
			rs_load_fail(d->l, -ERANGE, one->at, "bytes: expected 1B to 64TiB");
		d->n_sizes++;
		i = n->kind == RS_NODE_LIST ? i->next : NULL;
	}
	if (!d->l->err && !d->n_sizes)
		rs_load_fail(d->l, -EINVAL, n->at, "bytes: expected a size, or a list of sizes");
}

/* "BYTES SHARE" a line, the share in per cent, both ascending, the last 100. */
static void point_line(struct drawn *d, struct point *p, uint32_t i, char *line, struct rs_where at)
{
	char *end, *rest;

	p[i].bytes = strtod(line, &end);
	p[i].share = strtod(end, &rest) / 100;
	if (end == line || rest == end || rest[strspn(rest, " \t\r")])
		rs_load_fail(d->l, -EINVAL, at,
			     "expected 'BYTES SHARE' with the share in per cent, found '%.40s'",
			     line);
	else if (!(p[i].bytes >= 0 && p[i].bytes <= (double)RS_FLOW_BYTES_MAX) ||
		 !(p[i].share >= 0 && p[i].share <= 1))
		rs_load_fail(d->l, -ERANGE, at, "expected 0 to 64 TiB, and 0 to 100 per cent");
	else if (i && (p[i].bytes < p[i - 1].bytes || p[i].share < p[i - 1].share))
		rs_load_fail(d->l, -EINVAL, at, "sizes and shares must not fall from line to line");
}

static void read_points(struct drawn *d, const char *path, struct rs_where from)
{
	struct rs_where at = {path, 1, 1}, last = at;
	struct point *p = rs_load_take(d->l, POINTS_MAX, sizeof(*p));
	size_t size;
	char *text = d->l->err ? NULL : rs_load_file(d->l, path, SIZES_BYTES, from, &size);
	char *rest = text;

	for (char *line; p && !d->l->err && (line = strsep(&rest, "\n")); at.line++) {
		line += strspn(line, " \t");
		if (!line[strspn(line, " \t\r")] || *line == '#')
			continue;
		if (d->n_points == POINTS_MAX)
			rs_load_fail(d->l, -E2BIG, at, "more than %d sizes", POINTS_MAX);
		else
			point_line(d, p, d->n_points++, line, at);
		last = at;
	}
	free(text);
	d->point = p;
	if (!d->l->err && (!d->n_points || p[d->n_points - 1].share < 1))
		rs_load_fail(d->l, -EINVAL, last, "the last share must be 100 per cent");
	if (!d->l->err && p[d->n_points - 1].bytes < 1)
		rs_load_fail(d->l, -EINVAL, last, "all flows would be empty");
}

static void read_distribution(struct drawn *d, const struct rs_node *n)
{
	const char *s = rs_node_scalar(d->l, n, "sizes");

	for (unsigned i = 0; s && i < sizeof(published) / sizeof(*published); i++)
		if (!strcmp(s, published[i].name)) {
			d->point = published[i].point;
			d->n_points = published[i].n;
			return;
		}
	if (s)
		read_points(d, rs_load_beside(d->l, s), n->at);
}

/* In [0, 1). */
static double uniform(struct rs_random *r)
{
	return ldexp((double)(rs_random_u64(r) >> 11), -53);
}

static uint64_t size_of(const struct drawn *d, struct rs_random *r)
{
	double u = uniform(r), bytes;
	uint32_t i = 1;

	if (d->n_sizes)
		return d->size[(uint32_t)(u * d->n_sizes)];
	if (u < d->point[0].share || d->n_points == 1)
		return d->point[0].bytes < 1 ? 1 : (uint64_t)d->point[0].bytes;
	while (d->point[i].share <= u)
		i++;
	bytes = d->point[i - 1].bytes + (d->point[i].bytes - d->point[i - 1].bytes) *
						(u - d->point[i - 1].share) /
						(d->point[i].share - d->point[i - 1].share);
	return bytes < 1 ? 1 : (uint64_t)bytes;
}

static double mean_size(const struct drawn *d)
{
	double sum = d->n_sizes ? 0 : d->point[0].share * d->point[0].bytes;

	for (uint32_t i = 0; i < d->n_sizes; i++)
		sum += (double)d->size[i] / d->n_sizes;
	for (uint32_t i = 1; i < d->n_points; i++)
		sum += (d->point[i].share - d->point[i - 1].share) *
		       (d->point[i].bytes + d->point[i - 1].bytes) / 2;
	return sum;
}

/* ---- Ends ---- */

static void read_ends(struct drawn *d, const struct rs_node *n, const char *what, uint32_t **ends,
		      uint32_t *n_ends)
{
	bool all = !n || (n->kind == RS_NODE_SCALAR && !strcmp(n->text, "all"));

	if (!all && !rs_node_is_list(d->l, n, what))
		return;
	*n_ends = all ? d->f->n_endpoints : n->n;
	*ends = rs_load_take(d->l, *n_ends ? *n_ends : 1, sizeof(**ends));
	for (uint32_t i = 0; all && *ends && i < *n_ends; i++)
		(*ends)[i] = i;
	*n_ends = all ? *n_ends : 0;
	for (const struct rs_item *i = all ? NULL : n->first; i && !d->l->err; i = i->next) {
		const char *s = rs_node_scalar(d->l, i->value, what);

		if (s)
			d->to->endpoint(d->to->arg, s, what, i->value->at, &(*ends)[(*n_ends)++]);
	}
	if (!d->l->err && !*n_ends)
		rs_load_fail(d->l, -EINVAL, n ? n->at : (struct rs_where){0}, "%s: no endpoint",
			     what);
}

/* Sattolo's shuffle: where sources and destinations are the same, none is its own. */
static void shuffle(struct drawn *d)
{
	struct rs_random r = rs_random_stream(d->draw, 0, DRAW_PAIRS);

	for (uint32_t i = d->n_dst; i-- > 1;) {
		uint32_t k = rs_random_below(&r, i), was = d->dst[i];

		d->dst[i] = d->dst[k];
		d->dst[k] = was;
	}
}

/* A destination of the i-th source, which is not itself. It is the source where there is no other.
 */
static uint32_t end_of(const struct drawn *d, uint32_t i, struct rs_random *r)
{
	uint32_t at = i % d->n_dst;

	for (unsigned tries = 0; !d->permutation && tries < TRIES; tries++) {
		at = rs_random_below(r, d->n_dst);
		if (d->dst[at] != d->src[i])
			return d->dst[at];
	}
	for (uint32_t k = 0; k < d->n_dst && d->dst[at] == d->src[i]; k++)
		at = (at + 1) % d->n_dst;
	return d->dst[at];
}

/* ---- Times ---- */

static void draw_source(struct drawn *d, uint32_t i, double mean, struct rs_where at)
{
	uint32_t src = d->src[i];
	struct rs_random size = rs_random_stream(d->draw, src, DRAW_SIZE);
	struct rs_random time = rs_random_stream(d->draw, src, DRAW_TIME);
	struct rs_random end = rs_random_stream(d->draw, src, DRAW_END);
	/* ps between two flows */
	double gap = mean * 8 * 1e12 / (d->load * (double)d->f->endpoints[src].rate);
	double when = d->regular ? gap * uniform(&time) : gap * rs_random_exponential(&time);

	for (uint32_t k = 0; !d->l->err && (!d->count || k < d->count); k++) {
		struct rs_flow flow = {.src = src, .tc = d->tc, .cc = d->cc};

		if (d->count ? when > (double)(RS_START_MAX - d->start) : when >= (double)d->time)
			break;
		flow.start = d->start + (rs_time)when;
		flow.dst = end_of(d, i, &end);
		flow.bytes = size_of(d, &size);
		d->to->add(d->to->arg, &flow, at);
		when += d->regular ? gap : gap * rs_random_exponential(&time);
	}
}

static void read_keys(struct drawn *d, const struct rs_node *n)
{
	static const char *const arrivals[] = {"poisson", "regular", NULL};
	static const char *const pairs[] = {"random", "permutation", NULL};
	const struct rs_node *bytes = rs_node_get(n, "bytes"), *sizes = rs_node_get(n, "sizes");
	int how = 0, whom = 0;

	rs_node_share(d->l, n, "load", 1e-6, 1, &d->load);
	rs_node_time(d->l, n, "start", 0, RS_START_MAX, &d->start);
	rs_node_time(d->l, n, "time", 1, RS_START_MAX - d->start, &d->time);
	rs_node_u32(d->l, n, "count", 1, RS_FLOWS_MAX, &d->count);
	rs_node_u32(d->l, n, "draw", 0, UINT32_MAX, &d->draw);
	rs_node_u8(d->l, n, "class", 0, RS_TCS - 1, &d->tc);
	rs_node_name(d->l, n, "arrivals", arrivals, &how);
	rs_node_name(d->l, n, "pairs", pairs, &whom);
	d->regular = how;
	d->permutation = whom;
	if (!d->l->err && !rs_node_get(n, "time") == !d->count)
		rs_load_fail(d->l, -EINVAL, n->at,
			     "expected one of time (how long flows begin) and count (flows of each "
			     "source)");
	if (!d->l->err && !bytes == !sizes)
		rs_load_fail(
			d->l, -EINVAL, n->at,
			"expected one of bytes (a size, or a list) and sizes (websearch, hadoop, "
			"storage, or a file of sizes and shares)");
	if (!d->l->err && bytes)
		read_sizes(d, bytes);
	if (!d->l->err && sizes)
		read_distribution(d, sizes);
	if (!d->l->err)
		read_ends(d, rs_node_get(n, "src"), "src", &d->src, &d->n_src);
	if (!d->l->err)
		read_ends(d, rs_node_get(n, "dst"), "dst", &d->dst, &d->n_dst);
}

void draw_flows(struct rs_load *l, struct rs_fabric *f, const struct rs_node *n,
		const struct flow_sink *to)
{
	static const char *const known[] = {"load",  "time", "count", "bytes",    "sizes",
					    "src",   "dst",  "pairs", "arrivals", "start",
					    "class", "cc",   "draw",  NULL};
	struct drawn d = {.l = l, .f = f, .to = to, .tc = f->qos.data_tc};
	double mean;

	if (!rs_node_keys(l, n, "flows", known) || !rs_node_need(l, n, "load", "flows"))
		return;
	d.cc = load_own_cc(l, f, n);
	read_keys(&d, n);
	if (l->err)
		return;
	if (d.permutation)
		shuffle(&d);
	mean = mean_size(&d);
	for (uint32_t i = 0; i < d.n_src && !l->err; i++)
		draw_source(&d, i, mean, n->at);
}
