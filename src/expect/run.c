/* Simulations side by side, each made and freed in its own thread. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "collective/collective.h"
#include "describe/describe.h"
#include "expect/state.h"
#include "sim/sim.h"

enum { BATCH = 16 };

static void begin(struct rs_sim_case *c)
{
	struct expect_run *r = c->arg;
	struct rs_fabric *f = NULL;
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);

	if (!out) {
		rs_error_set(&c->error, -ENOMEM, "out of memory");
		return;
	}
	if (expect_write(r, out, &c->error)) {
		fclose(out);
	} else if (fclose(out)) {
		rs_error_set(&c->error, -ENOMEM, "out of memory");
	} else if (!rs_fabric_load_text(text, n, "what was read", ".", NULL, 0, &f, &c->error)) {
		c->fabric = f;
	}
	free(text);
}

/* us of a message's share of the stream, of a message, of an operation. */
static double duration(const struct expect_run *r, const struct rs_sim_result *k)
{
	double messages = (double)expect_stream_bytes(r->bytes) / (double)r->bytes, us = 0;

	if (!k->complete)
		return 0;
	if (r->test == RS_EXPECT_MESSAGE)
		return k->flows[0].delivered == RS_NEVER ? 0
							 : (double)k->flows[0].delivered / RS_US;
	if (r->test == RS_EXPECT_COLLECTIVE)
		return (double)k->jobs[0].first / RS_US;
	for (uint32_t i = 0; i < k->n_flows; i++)
		us = fmax(us, (double)(k->flows[i].finish - k->flows[i].start) / RS_US);
	/* both ways count together */
	return us / messages / (r->test == RS_EXPECT_BOTH ? 2 : 1);
}

static void end(struct rs_sim_case *c)
{
	struct expect_run *r = c->arg;
	const struct rs_coll *coll;
	const char *algorithm, *protocol;
	int channels;

	r->e = c->error;
	if (c->result) {
		r->us = duration(r, c->result);
		coll = c->result->jobs[0].coll;
		if (coll && coll->bus_denominator)
			r->factor = (double)coll->bus_numerator / (double)coll->bus_denominator;
		if (coll && rs_coll_chosen(coll, &algorithm, &protocol, &channels))
			snprintf(r->chosen, sizeof(r->chosen), "%s", algorithm);
		rs_sim_result_free(c->result);
		c->result = NULL;
	}
	rs_fabric_free((struct rs_fabric *)(uintptr_t)c->fabric);
	c->fabric = NULL;
}

int expect_run_all(struct rs_expect *x, const struct rs_expect_options *o, struct expect_run *r,
		   uint32_t n, double from, double to, struct rs_error *e)
{
	struct rs_sim_case *c = calloc(BATCH, sizeof(*c));

	if (!c)
		return rs_error_set(e, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < n; i += BATCH) {
		uint32_t k = n - i < BATCH ? n - i : BATCH;

		for (uint32_t j = 0; j < k; j++)
			c[j] = (struct rs_sim_case){.name = "expect",
						    .options = {.seed = 1, .max_time = 10 * RS_S},
						    .begin = begin,
						    .end = end,
						    .arg = &r[i + j]};
		if (o->progress)
			o->progress(o->arg, from + (to - from) * i / n);
		rs_sim_run_all(c, k, o->threads);
		x->runs += k;
	}
	free(c);
	for (uint32_t i = 0; i < n; i++)
		if (r[i].e.code == -ENOMEM)
			return rs_error_set(e, -ENOMEM, "out of memory");
	return 0;
}
