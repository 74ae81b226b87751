/*
 * Requests as a graph: arrivals are a clock of the rank that prefills; a request's prefill is cut
 * into pieces, after each of which that share of its keys and values goes to the rank that decodes.
 */
#include <errno.h>
#include <stdlib.h>
#include "base/random.h"
#include "collective/serve.h"

enum { UNIT_GPU, UNIT_CLOCK };
enum { DRAW_ARRIVALS = 0x5e72 }; /* purpose of a stream */

static void arrivals(const struct rs_serve_conf *c, uint64_t seed, struct rs_request *q)
{
	struct rs_random r = rs_random_stream(seed, c->seed, DRAW_ARRIVALS);
	double at = 0;

	for (uint32_t i = 0; i < c->requests; i++) {
		at += c->arrival ? 0 : rs_random_exponential(&r) / c->rate;
		q[i].arrival = c->arrival ? c->arrival[i] : (rs_time)(at * RS_S);
	}
}

static uint32_t compute(struct rs_work *w, uint32_t rank, uint8_t unit, rs_time time, uint64_t id)
{
	const struct rs_work_node n = {.kind = RS_WORK_COMPUTE,
				       .why = unit == UNIT_GPU ? RS_WHY_COMPUTE : RS_WHY_OTHER,
				       .unit = unit,
				       .time = time,
				       .id = id};

	return rs_work_add(w, rank, &n);
}

static uint32_t message(struct rs_work *w, const struct rs_request *q, bool send, uint64_t tag,
			uint64_t bytes, uint64_t id)
{
	const struct rs_work_node n = {.kind = send ? RS_WORK_SEND : RS_WORK_RECV,
				       .why = RS_WHY_KV,
				       .peer = send ? q->decode : q->prefill,
				       .tag = tag,
				       .bytes = bytes,
				       .id = id};

	return rs_work_add(w, send ? q->prefill : q->decode, &n);
}

/* Part i of n of a whole. */
static uint64_t part(uint64_t whole, uint32_t n, uint32_t i)
{
	return whole / n + (i < whole % n);
}

static void request(struct rs_work *w, const struct rs_serve_conf *c, struct rs_request *q,
		    uint64_t i, rs_time before)
{
	const struct rs_work_node join = {.kind = RS_WORK_JOIN, .why = RS_WHY_KV, .id = i};
	uint32_t here = compute(w, q->prefill, UNIT_CLOCK, q->arrival - before, i), first = 0;
	uint32_t n = c->kv < c->pieces ? (uint32_t)c->kv : c->pieces; /* a byte each at least */

	for (uint32_t k = 0; k < n && !w->err; k++) {
		rs_time time = (rs_time)part((uint64_t)c->prefill_time, n, k);
		uint64_t bytes = part(c->kv, n, k);

		q->computed = compute(w, q->prefill, UNIT_GPU, time, i);
		rs_work_after(w, q->prefill, k ? RS_WORK_NONE : here);
		message(w, q, true, i * n + k, bytes, i);
		rs_work_after(w, q->prefill, q->computed);
		here = message(w, q, false, i * n + k, bytes, i);
		first = k ? first : here;
	}
	q->there = rs_work_add(w, q->decode, &join);
	for (uint32_t k = first; k < q->there && !w->err; k++)
		rs_work_after(w, q->decode, k);
}

int rs_serve_work(const struct rs_serve_conf *c, uint64_t seed, struct rs_arena *a,
		  struct rs_work **out, struct rs_request **requests, struct rs_error *e)
{
	struct rs_work *w = rs_work_create(a, c->prefill + c->decode, e);
	struct rs_request *q = rs_arena_alloc(a, c->requests, sizeof(*q));
	rs_time *clock = rs_arena_alloc(a, c->prefill, sizeof(*clock));

	*out = NULL;
	*requests = q;
	if (!w || !q || !clock)
		return rs_error_set(e, -ENOMEM, "out of memory for %u requests", c->requests);
	arrivals(c, seed, q);
	for (uint32_t i = 0; i < c->requests && !w->err; i++) {
		q[i].prefill = i % c->prefill;
		q[i].decode = c->prefill + i % c->decode;
		request(w, c, &q[i], i, clock[q[i].prefill]);
		clock[q[i].prefill] = q[i].arrival;
	}
	*out = w->err ? NULL : w;
	return w->err;
}

/* ---- What came of it ---- */

static int by_time(const void *x, const void *y)
{
	rs_time a = *(const rs_time *)x, b = *(const rs_time *)y;

	return a < b ? -1 : a > b;
}

/* Nearest rank. */
static void percentiles(rs_time *t, uint32_t n, rs_time out[3])
{
	static const uint32_t percent[3] = {50, 90, 99};

	qsort(t, n, sizeof(*t), by_time);
	for (int i = 0; i < 3; i++) {
		uint32_t at = (uint32_t)(((uint64_t)n * percent[i] + 99) / 100);

		out[i] = n ? t[at ? at - 1 : 0] : RS_NEVER;
	}
}

static rs_time ended(const struct rs_program *p, uint32_t rank, uint32_t node)
{
	return p->ended[p->base[rank] + node];
}

static void evaluate(const struct rs_program *p, const struct rs_serve_conf *c,
		     struct rs_request *q, struct rs_serve_result *out, rs_time *last)
{
	q->prefilled = ended(p, q->prefill, q->computed);
	q->moved = ended(p, q->decode, q->there);
	q->first = q->moved == RS_NEVER ? RS_NEVER : q->moved + c->decode_time;
	if (q->first == RS_NEVER)
		return;
	out->done++;
	out->good += q->first - q->arrival - p->coll->conf.start <= c->slo;
	*last = rs_time_max(*last, q->first);
}

void rs_serve_evaluate(const struct rs_program *p, const struct rs_serve_conf *c,
		       struct rs_request *q, struct rs_serve_result *out)
{
	rs_time *t = calloc(c->requests + 1u, sizeof(*t)), start = p->coll->conf.start, last = 0;
	uint32_t n = 0;

	*out = (struct rs_serve_result){0};
	for (uint32_t i = 0; i < c->requests; i++)
		evaluate(p, c, &q[i], out, &last);
	for (uint32_t i = 0; t && i < c->requests; i++)
		if (q[i].first != RS_NEVER)
			t[n++] = q[i].first - start - q[i].arrival;
	if (t)
		percentiles(t, n, out->first);
	n = 0;
	for (uint32_t i = 0; t && i < c->requests; i++)
		if (q[i].first != RS_NEVER)
			t[n++] = q[i].moved - q[i].prefilled;
	if (t)
		percentiles(t, n, out->moving);
	last -= start + q[0].arrival;
	if (last > 0)
		out->rate = (double)out->good / ((double)last / RS_S);
	free(t);
}
