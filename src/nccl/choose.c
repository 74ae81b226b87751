/*
 * The choice for one operation: the least time by the table, then channels, threads and chunks as
 * enqueue.cc makes them (2.18 to 2.30).
 */
#include <errno.h>
#include <string.h>
#include "nccl/algos.h"
#include "nccl/rccl.h"

enum {
	STEPS = 8, /* NCCL_STEPS */
	WARP = 32,
	LEAST_TRAFFIC = 16 << 10, /* a channel's, bytes; twice as much from 2.29 on */
	LL_BUFFER = 8 * 512 * STEPS * 16,
	LL128_BUFFER = 120 * 640 * STEPS * 8,
	NVLS_CHUNK = 128 << 10,
};

static bool dealt(enum rs_nccl_func f)
{
	return f == RS_NCCL_ALL_GATHER || f == RS_NCCL_REDUCE_SCATTER;
}

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

static int log2_down(uint64_t n)
{
	int l = 0;

	while (n >>= 1)
		l++;
	return l;
}

static bool since(const struct rs_nccl_plan *p, uint32_t minor)
{
	return p->release >= RS_NCCL_RELEASE(2, minor, 0);
}

/* A tree's way to its peak, by powers of two from 64 B. NVLSTree has one more, as the last. */
static double tree_factor(enum rs_nccl_proto q, uint64_t bytes, bool nvls)
{
	static const float factor[RS_NCCL_PROTOS][23] = {
		{1,   1,   1,   1,   .9f, .8f, .7f, .7f, .7f, .7f, .6f, .5f,
		 .4f, .4f, .5f, .6f, .7f, .8f, .9f, 1,   1,   1,   1},
		{1,   1,   1,   1,   1,   .9f, .8f, .8f, .8f, .7f, .6f, .6f,
		 .6f, .6f, .6f, .6f, .8f, .9f, .9f, .9f, .9f, 1,   1},
		{.9f, .9f, .9f, .9f, .9f, .9f, .9f, .8f, .7f, .6f, .6f, .5f,
		 .5f, .5f, .5f, .6f, .7f, .8f, .7f, .7f, .8f, .9f, .9f},
	};
	int i = log2_down(bytes >> 6);

	if (nvls && i == 23)
		i--;
	return i < 23 ? factor[q][i] : 1;
}

static double time_at(const struct rs_nccl_plan *p, enum rs_nccl_func func, enum rs_nccl_algo a,
		      enum rs_nccl_proto q, double latency, double bw, uint64_t bytes)
{
	if (bw == 0)
		return -1;
	if (nccl_rccl_known(p) && (a == RING || a == TREE))
		return latency + (double)bytes / (1000 * bw * nccl_rccl_factor(p, a, q, bytes));
	if (a == TREE && func == RS_NCCL_ALL_REDUCE)
		bw *= tree_factor(q, bytes, false);
	if (a == NVLS_TREE && since(p, 29) && p->min_cc >= 100 && p->cpu_arch == RS_NCCL_X86)
		bw *= tree_factor(q, bytes, true);
	if (a == RING && q == RS_NCCL_SIMPLE && p->n_nodes > 1 && func == RS_NCCL_ALL_REDUCE &&
	    bytes / ((uint64_t)p->n_channels * p->n_ranks) >= 64)
		latency *= p->min_cc < 80 ? 1.9 : 1.4;
	return latency + (double)bytes / (1000 * bw);
}

double rs_nccl_time(const struct rs_nccl_plan *p, const struct rs_nccl_table *t,
		    enum rs_nccl_func func, enum rs_nccl_algo a, enum rs_nccl_proto q,
		    uint64_t bytes)
{
	return time_at(p, func, a, q, t->latency[func][a][q], t->bandwidth[func][a][q], bytes);
}

static bool least_time(const struct rs_nccl_plan *p, const struct rs_nccl_table *t,
		       enum rs_nccl_func func, uint64_t bytes, struct rs_nccl_choice *c)
{
	bool found = false;

	for (int a = 0; a < RS_NCCL_ALGOS; a++)
		for (int q = 0; q < RS_NCCL_PROTOS; q++) {
			float time = (float)rs_nccl_time(p, t, func, (enum rs_nccl_algo)a,
							 (enum rs_nccl_proto)q, bytes);

			if (time < 0 || (found && time >= (float)c->time))
				continue;
			c->algo = (enum rs_nccl_algo)a;
			c->proto = (enum rs_nccl_proto)q;
			c->time = time;
			found = true;
		}
	/* 2.19 to 2.23: the ring, when nothing else is left */
	for (int q = 0; q < RS_NCCL_PROTOS && !found && !since(p, 24); q++) {
		double time = time_at(p, func, RING, (enum rs_nccl_proto)q,
				      t->latency[func][RING][q], t->ring[func][q], bytes);

		if (time < 0 || (c->time > 0 && time >= c->time))
			continue;
		c->algo = RING;
		c->proto = (enum rs_nccl_proto)q;
		c->time = time;
	}
	return found || c->time > 0;
}

static const struct rs_nccl_tuner_row *tuner_row(const struct rs_nccl_plan *p,
						 const struct rs_nccl_table *t,
						 enum rs_nccl_func func, uint64_t bytes)
{
	for (size_t i = 0; i < t->conf.n_rows; i++) {
		const struct rs_nccl_tuner_row *r = &t->conf.rows[i];

		if (r->func == func && bytes >= r->min_bytes && bytes <= r->max_bytes &&
		    (r->nodes < 0 || (uint32_t)r->nodes == p->n_nodes) &&
		    (r->ranks < 0 || (uint32_t)r->ranks == p->n_ranks) && r->pipe_ops <= 1 &&
		    r->pipe_ops != 0 && r->registered < 1)
			return r;
	}
	return NULL;
}

/* ---- Channels and threads ---- */

static void fewer_by_size(const struct rs_nccl_plan *p, const struct rs_nccl_table *t,
			  uint64_t bytes, struct rs_nccl_choice *c, int *channels)
{
	uint64_t nc = (uint64_t)*channels, nt = (uint64_t)t->threads[c->algo][c->proto];
	uint64_t threshold = (uint64_t)t->threshold[c->algo][c->proto], heads;
	bool less = true;

	if (c->algo == NVLS || c->algo == NVLS_TREE) {
		nc = (uint64_t)p->nvls_channels;
	} else if (c->algo == DIRECT) {
		heads = p->max_local_ranks;
		for (uint64_t limit = 16; limit >= 1 && less; limit /= 2)
			while ((less = bytes < nc * nt * heads * threshold) && nc > limit) {
				if (nc == limit + limit / 2)
					threshold /= 2;
				nc--;
			}
	} else {
		while (bytes < nc * nt * threshold && nc >= 2)
			nc--;
		while (bytes < nc * nt * threshold && nt % 128 == 0)
			nt /= 2;
	}
	if (c->proto == RS_NCCL_SIMPLE && c->algo == RING)
		nt += WARP;
	if (c->proto == RS_NCCL_SIMPLE && c->algo == TREE)
		nt += 4 * WARP;
	nt = nt < 3 * WARP ? 3 * WARP : nt;
	if ((c->algo == TREE && since(p, 22)) || c->algo == PAT)
		nt = 640;
	*channels = (int)nc;
	c->threads = (int)nt;
}

/* One operation dealt out over channels in cells (2.20 on, scheduleCollTasksToPlan()). */
static void deal(const struct rs_nccl_plan *p, enum rs_nccl_func func, uint64_t bytes,
		 unsigned type, uint64_t most, struct rs_nccl_choice *c)
{
	uint64_t traffic = func == RS_NCCL_ALL_REDUCE ? 2 : dealt(func) ? p->n_ranks : 1;
	uint64_t least = since(p, 29) ? 2 * LEAST_TRAFFIC : LEAST_TRAFFIC;
	uint64_t cell, cells, each, lo, hi, mid;

	if (c->proto == RS_NCCL_LL)
		traffic *= 4;
	each = bytes * traffic / most;
	if (since(p, 29))
		each = ceil_div((bytes * traffic > least ? bytes * traffic : least) / most, 16) *
		       16;
	else
		each = each > least ? each : least;
	cell = ceil_div(ceil_div(least, traffic), 16) * 16 / type * type;
	cells = ceil_div(bytes, cell);
	each = ceil_div(each, cell * traffic);
	each = each < cells ? each : cells;
	lo = most == 1 ? cells : each;
	mid = (cells - lo) / each;
	hi = (cells - lo) % each;
	if (1 + mid + (hi != 0) > most && most > 1) {
		mid = most - 2;
		each = (cells - lo) / (mid + 1);
		hi = each + (cells - lo) % (mid + 1);
	}
	if (!hi && mid) {
		hi = each;
		mid--;
	}
	c->channels = (int)(1 + mid + (hi != 0));
	c->lo = lo * cell;
	c->mid = mid ? each * cell : 0;
	c->hi = hi * cell;
	*(hi ? &c->hi : &c->lo) -= cells * cell - bytes;
}

/* ---- Chunks ---- */

static uint64_t halve(uint64_t chunk, uint64_t bytes, double less_than, uint64_t floor)
{
	while ((double)(bytes / chunk) < less_than && chunk > floor)
		chunk /= 2;
	return chunk;
}

/* To 2.20 from a step of the buffer on, then from that of NVLS. */
static uint64_t nvls_tree_chunk(const struct rs_nccl_plan *p, const struct rs_nccl_table *t,
				uint64_t chunk, uint64_t step, uint64_t bytes, uint64_t at_once)
{
	static const struct {
		uint64_t times, chunk;
	} cut[] = {{32, 256 << 10}, {16, 128 << 10}, {4, 64 << 10}, {1, 32 << 10}};
	uint64_t most = since(p, 20) ? t->conf.nvls_tree_chunk : 0;

	if (!since(p, 21))
		chunk = step;
	if (!most && since(p, 19) && p->n_nodes >= 4)
		most = 64 << 10;
	if (most && most < chunk)
		chunk = most;
	for (unsigned i = 0; i < sizeof(cut) / sizeof(*cut); i++)
		if (bytes < cut[i].times * at_once * chunk && chunk > cut[i].chunk)
			chunk = cut[i].chunk;
	return chunk;
}

static uint64_t nvls_chunk(const struct rs_nccl_plan *p, const struct rs_nccl_table *t,
			   enum rs_nccl_algo a, uint64_t step, uint64_t bytes, uint64_t channels)
{
	uint64_t chunk = NVLS_CHUNK, at_once = channels * (uint64_t)p->graph[NVLS].n_channels;
	float bw = t->bandwidth[RS_NCCL_ALL_REDUCE][NVLS][RS_NCCL_SIMPLE];

	if (since(p, 21) && t->conf.nvls_chunk)
		chunk = t->conf.nvls_chunk;
	if (a == NVLS_TREE)
		return nvls_tree_chunk(p, t, chunk, step, bytes, at_once);
	if (chunk > step)
		chunk = step;
	if (p->n_nodes > 1 && bw < 150)
		chunk = 32 << 10;
	if (bytes < 64 * at_once * chunk && chunk > 64 << 10)
		chunk = 64 << 10;
	if (bytes < 8 * at_once * chunk && chunk > 32 << 10)
		chunk = 32 << 10;
	if (bytes < 2 * at_once * chunk && chunk > 16 << 10)
		chunk = 16 << 10;
	return chunk;
}

/* bytes over channels: from 2.20 on, those of one channel over 1. */
static uint64_t chunk_of(const struct rs_nccl_plan *p, const struct rs_nccl_table *t,
			 const struct rs_nccl_choice *c, enum rs_nccl_func func, uint64_t bytes,
			 uint64_t channels)
{
	uint64_t chunk = c->step * (uint64_t)c->chunk_steps, grain = 512;
	double ppn = (double)p->n_ranks / p->n_nodes;
	double deep = 1 + log2_down(p->n_nodes) + .1 * ppn;

	if (c->proto == RS_NCCL_LL) {
		chunk /= 2;
		grain = 16;
	} else if (c->proto == RS_NCCL_LL128) {
		chunk = chunk / 16 * 15;
		grain = 1920;
	}
	if (c->algo == NVLS || c->algo == NVLS_TREE) {
		chunk = nvls_chunk(p, t, c->algo, c->step, bytes, channels);
	} else if (c->algo == DIRECT) {
		uint64_t share = bytes / channels / p->max_local_ranks;

		chunk = halve(chunk, share, 128, 128 << 10);
		chunk = halve(chunk, share, 16, 32 << 10);
	} else if (c->algo == CHAIN) {
		chunk = chunk < 256 << 10 ? chunk : 256 << 10;
		chunk = halve(chunk, bytes / channels, 64 * ppn, 128 << 10);
		chunk = halve(chunk, bytes / channels, 8 * ppn, 64 << 10);
		chunk = halve(chunk, bytes / channels, ppn, 32 << 10);
	} else if (c->algo == TREE && c->proto == RS_NCCL_SIMPLE && (p->rccl || !since(p, 20))) {
		deep = (double)(p->n_ranks / p->n_nodes - 1) + log2_down(p->n_nodes);
		chunk = halve(chunk, bytes / channels, deep * 8, 128 << 10);
		chunk = halve(chunk, bytes / channels, deep * 4, 64 << 10);
		chunk = halve(chunk, bytes / channels, deep, 32 << 10);
	} else if (c->algo == TREE && c->proto == RS_NCCL_LL128) {
		chunk = halve(chunk, bytes / channels, deep * 64 / ppn, 128 << 10);
		chunk = halve(chunk, bytes / channels, deep * 16 / ppn, 32 << 10);
	} else if (c->algo == PAT) {
		uint64_t times = func == RS_NCCL_ALL_GATHER ? 32 : 16;

		while (chunk * channels * times > bytes && chunk > 64 << 10)
			chunk /= 2;
	}
	return chunk / grain * grain;
}

static void set_chunks(const struct rs_nccl_plan *p, const struct rs_nccl_table *t,
		       enum rs_nccl_func func, uint64_t bytes, struct rs_nccl_choice *c)
{
	uint64_t simple = t->conf.buffer ? t->conf.buffer : 4 << 20;
	bool ring = c->algo == RING && c->proto == RS_NCCL_SIMPLE &&
		    (dealt(func) || func == RS_NCCL_ALL_REDUCE);
	uint64_t shares = dealt(func) ? p->n_ranks : 1;

	c->step = (c->proto == RS_NCCL_SIMPLE  ? simple
		   : c->proto == RS_NCCL_LL128 ? (uint64_t)LL128_BUFFER
					       : (uint64_t)LL_BUFFER) /
		  STEPS;
	c->chunk_steps = ring ? STEPS / 2 : 1;
	c->slice_steps = ring ? STEPS / 4 : 1;
	if (since(p, 20))
		c->chunk = chunk_of(p, t, c, func, (c->mid ? c->mid : c->lo) * shares, 1);
	else
		c->chunk = chunk_of(p, t, c, func, bytes, (uint64_t)c->channels);
}

int rs_nccl_choose(const struct rs_nccl_plan *p, const struct rs_nccl_table *t,
		   enum rs_nccl_func func, uint64_t bytes, unsigned type_bytes,
		   struct rs_nccl_choice *out, struct rs_error *e)
{
	const struct rs_nccl_tuner_row *row = tuner_row(p, t, func, bytes);
	struct rs_nccl_tuner_row googles;
	uint64_t count = bytes / (dealt(func) ? p->n_ranks : 1);
	int channels = p->coll_channels;

	*out = (struct rs_nccl_choice){0};
	if (!row)
		row = nccl_google_row(p, t, func, bytes, &googles);
	if (p->n_ranks < 2) {
		out->algo = RING;
		out->proto = RS_NCCL_SIMPLE;
	} else if (row && t->bandwidth[func][row->algo][row->proto] > 0) {
		out->algo = row->algo;
		out->proto = row->proto;
		out->tuned = true;
	} else if (!(t->conf.aws && nccl_aws_choice(p, t, func, bytes, out)) &&
		   !least_time(p, t, func, bytes, out)) {
		rs_error_set(e, -ENOENT, "NCCL has no algorithm left for %s",
			     rs_nccl_func_names[func]);
		rs_error_hint(e, "NCCL_ALGO and NCCL_PROTO strike out all that this machine has");
		return -ENOENT;
	}
	if (nccl_rccl_known(p) && !out->tuned && !(t->conf.proto && *t->conf.proto))
		out->proto = nccl_rccl_proto(p, func, bytes,
					     t->bandwidth[func][out->algo][RS_NCCL_LL128] > 0,
					     out->proto);
	fewer_by_size(p, t, bytes, out, &channels);
	if (row && row->channels > 0)
		channels = row->channels;
	channels = channels < 1 ? 1 : channels;
	if (since(p, 20) && count >= type_bytes) {
		deal(p, func, count, type_bytes, (uint64_t)channels, out);
	} else {
		out->channels = channels;
		out->lo = ceil_div(count, (uint64_t)channels);
	}
	set_chunks(p, t, func, bytes, out);
	return 0;
}
