/*
 * A rate meter beside CNPs. "HP-DCQCN" is told to be one, and no algorithm of that name is
 * published: what stands here is ours. A sender meters what the receiver acknowledged in the last
 * period. A CNP sets the rate to a share of that, which is what the path carried, at most once a
 * period; in quiet periods the rate climbs by a step that grows, as TIMELY's and DCQCN's hyper
 * increase do.
 */
#include <string.h>
#include "cc/cc.h"

struct meter_params {
	int64_t period; /* ps: of the meter */
	double eta;     /* of what was metered */
	int64_t rate_ai, rate_min;
	int64_t quiet;        /* periods before steps grow */
	int64_t cnp_interval; /* ps: notification point, a QP */
};

struct state {
	int64_t line, metered; /* bit/s; metered 0: none yet */
	rs_time since;         /* this period began */
	rs_time cut_at;        /* the last cut */
	uint64_t bytes;        /* acknowledged in it */
	uint32_t climbs;       /* quiet periods in a row */
	bool any;
};

_Static_assert(sizeof(struct state) <= RS_CC_STATE_BYTES, "the state lives in the QP");

static struct state *state_of(struct rs_cc *cc)
{
	return (struct state *)cc->state;
}

static const struct meter_params *params_of(const struct rs_cc_params *p)
{
	return (const struct meter_params *)p;
}

static void set(const struct meter_params *p, struct rs_cc *cc, int64_t rate)
{
	struct state *s = state_of(cc);

	rate = rate < p->rate_min ? p->rate_min : rate;
	rs_cc_change_rate(cc, rate > s->line ? s->line : rate);
}

static void init(const struct rs_cc_params *params, struct rs_cc *cc, int64_t line_rate,
		 rs_time now)
{
	struct state *s = state_of(cc);

	rs_cc_begin(cc, line_rate);
	s->line = line_rate;
	s->cut_at = now - params_of(params)->period;
}

/* A period is over: what it carried, and a step up if nothing cut in it. */
static void turn(const struct meter_params *p, struct rs_cc *cc, rs_time now)
{
	struct state *s = state_of(cc);
	rs_time took = now - s->since;

	rs_assert(took > 0);
	s->metered = (int64_t)((rs_uint128)s->bytes * 8 * RS_S / (uint64_t)took);
	s->bytes = 0;
	s->since = now;
	if (now - s->cut_at < p->period || cc->rate >= s->line)
		return;
	s->climbs++;
	set(p, cc,
	    cc->rate + p->rate_ai * (s->climbs > p->quiet ? (int64_t)s->climbs - p->quiet + 1 : 1));
	cc->increases++;
}

static void on_cnp(const struct rs_cc_params *params, struct rs_cc *cc, rs_time now)
{
	const struct meter_params *p = params_of(params);
	struct state *s = state_of(cc);
	int64_t to;

	if (now - s->cut_at < p->period)
		return;
	/* before the first period is over half is a guess, DCQCN's */
	to = s->metered ? (int64_t)(p->eta * (double)s->metered) : cc->rate / 2;
	s->cut_at = now;
	s->climbs = 0;
	if (to < cc->rate) {
		set(p, cc, to);
		cc->cuts++;
	}
}

static void on_feedback(const struct rs_cc_params *params, struct rs_cc *cc,
			const struct rs_cc_feedback *f)
{
	const struct meter_params *p = params_of(params);
	struct state *s = state_of(cc);

	if (!s->any) {
		s->any = true;
		s->since = f->now;
		s->bytes = 0;
	} else {
		s->bytes += f->bytes;
	}
	if (f->now - s->since >= p->period)
		turn(p, cc, f->now);
	if (f->marked)
		on_cnp(params, cc, f->now);
}

static void on_loss(const struct rs_cc_params *p, struct rs_cc *cc, bool timeout, rs_time now)
{
	/* as DCQCN: PFC is to prevent it */
}

static bool cnp_due(const struct rs_cc_params *params, rs_time last, rs_time now)
{
	return last == RS_NEVER || now - last >= params_of(params)->cnp_interval;
}

#define P(field) offsetof(struct meter_params, field)
static const struct rs_cc_param param_table[] = {
	{"period", 't', P(period), 1e6, 1e12,
	 "of the meter, and at most one cut in each; 20us (ours)"},
	{"eta", 'n', P(eta), 0.01, 1, "share of what was metered; 0.95 (HPCC's)"},
	{"rate_ai", 'r', P(rate_ai), 1, 1e12, "a quiet period's step; 200M (ours)"},
	{"rate_min", 'r', P(rate_min), 1e3, 1e12, "least rate; 100M (ours)"},
	{"quiet", 'i', P(quiet), 1, 1000, "periods before steps grow; 5 (ours, as TIMELY's)"},
	{"cnp_interval", 't', P(cnp_interval), 0, 1e12, "at most one CNP a QP in each; 4us"},
	{0},
};
#undef P

static const struct meter_params ours = {
	.period = 20 * RS_US,
	.eta = 0.95,
	.rate_ai = 200 * RS_MBPS,
	.rate_min = 100 * RS_MBPS,
	.quiet = 5,
	.cnp_interval = 4 * RS_US,
};
/* Between processes feedback takes milliseconds. Steps and the floor are shares of the line in
 * live/.
 */
static const struct meter_params software = {
	.period = RS_MS,
	.eta = 0.95,
	.rate_ai = 200 * RS_MBPS,
	.rate_min = 100 * RS_MBPS,
	.quiet = 5,
	.cnp_interval = 500 * RS_US,
};
static const struct rs_cc_preset preset_table[] = {
	{"ours", "no algorithm of this name is published", &ours},
	{"software", "ours, for NICs and switches that are processes", &software},
	{0},
};

const struct rs_cc_ops rs_cc_hp_dcqcn = {
	.name = "hp-dcqcn",
	.what = "a rate meter beside CNPs; ours, as no HP-DCQCN is published",
	.params_bytes = sizeof(struct meter_params),
	.params = param_table,
	.presets = preset_table,
	.needs = RS_CC_NEEDS_BYTES | RS_CC_NEEDS_MARKS,
	.init = init,
	.on_time = rs_cc_no_timer,
	.on_bytes = rs_cc_no_bytes,
	.on_feedback = on_feedback,
	.on_cnp = on_cnp,
	.on_loss = on_loss,
	.cnp_due = cnp_due,
};
