/* TIMELY (Mittal et al., SIGCOMM 2015, algorithm 1): a rate that follows the gradient of the round
 * trip. Each measured round trip is one completion event. */
#include <string.h>
#include "cc/cc.h"

struct timely_params {
	int64_t t_low, t_high, min_rtt; /* ps */
	double alpha;                   /* weight of the newest difference */
	double beta;
	int64_t rate_ai, rate_min; /* bit/s */
	int64_t hai_events; /* of falling delay in a row, after which it climbs hai_steps at a time
			     */
	int64_t hai_steps;
	int64_t low_counts;  /* on: an event below t_low is one of falling delay, too */
	double gradient_max; /* what a cut takes a gradient for, at most */
};

struct state {
	double rate;
	double difference; /* ps, averaged */
	rs_time before;    /* the round trip before; 0: none yet */
	int64_t line;
	uint32_t falling; /* events in a row */
};

_Static_assert(sizeof(struct state) <= RS_CC_STATE_BYTES, "the state lives in the QP");

static struct state *state_of(struct rs_cc *cc)
{
	return (struct state *)cc->state;
}

static const struct timely_params *params_of(const struct rs_cc_params *p)
{
	return (const struct timely_params *)p;
}

static void publish(const struct timely_params *p, struct rs_cc *cc)
{
	struct state *s = state_of(cc);
	double least = (double)(p->rate_min < s->line ? p->rate_min : s->line);

	rs_assert(least > 0 && s->rate >= 0); /* and a number */
	s->rate = s->rate < least ? least : s->rate > (double)s->line ? (double)s->line : s->rate;
	rs_cc_change_rate(cc, (int64_t)s->rate);
}

/* It starts at line rate, as RoCE's queue pairs do; the paper's start at their share of a window.
 */
static void init(const struct rs_cc_params *params, struct rs_cc *cc, int64_t line_rate,
		 rs_time now)
{
	struct state *s = state_of(cc);

	rs_cc_begin(cc, line_rate);
	s->line = line_rate;
	s->rate = (double)line_rate;
	publish(params_of(params), cc);
}

static void cut(struct rs_cc *cc, double share)
{
	state_of(cc)->rate *= 1 - share;
	cc->cuts++;
}

static void climb(const struct timely_params *p, struct rs_cc *cc, int64_t steps)
{
	state_of(cc)->rate += (double)(steps * p->rate_ai);
	cc->increases++;
}

static void on_feedback(const struct rs_cc_params *params, struct rs_cc *cc,
			const struct rs_cc_feedback *f)
{
	const struct timely_params *p = params_of(params);
	struct state *s = state_of(cc);
	double gradient;
	bool low, falls;
	int64_t steps;

	if (f->rtt <= 0)
		return;
	if (s->before)
		s->difference =
			(1 - p->alpha) * s->difference + p->alpha * (double)(f->rtt - s->before);
	s->before = f->rtt;
	gradient = s->difference / (double)p->min_rtt;
	low = f->rtt < p->t_low;
	falls = low ? p->low_counts : gradient <= 0 && f->rtt <= p->t_high;
	s->falling = falls ? s->falling + 1 : 0;
	steps = s->falling >= (uint32_t)p->hai_events ? p->hai_steps : 1;
	if (low)
		climb(p, cc, p->low_counts ? steps : 1);
	else if (f->rtt > p->t_high)
		cut(cc, p->beta * (1 - (double)p->t_high / (double)f->rtt));
	else if (gradient <= 0)
		climb(p, cc, steps);
	else
		cut(cc, p->beta * (gradient < p->gradient_max ? gradient : p->gradient_max));
	publish(p, cc);
}

static void on_loss(const struct rs_cc_params *p, struct rs_cc *cc, bool timeout, rs_time now)
{
	/* the paper's networks lose nothing: only delay counts */
}

static void on_cnp(const struct rs_cc_params *p, struct rs_cc *cc, rs_time now)
{
	/* delay tells more than a mark */
}

#define P(field) offsetof(struct timely_params, field)
static const struct rs_cc_param param_table[] = {
	{"t_low", 't', P(t_low), 1e3, 1e12, "a shorter round trip raises the rate; 50us (paper)"},
	{"t_high", 't', P(t_high), 1e3, 1e12, "a longer one cuts it; 500us (paper)"},
	{"min_rtt", 't', P(min_rtt), 1e3, 1e12, "what a gradient is a share of; 20us (paper)"},
	{"alpha", 'n', P(alpha), 1e-3, 1, "weight of the newest difference; 0.875 (ns-3)"},
	{"beta", 'n', P(beta), 1e-3, 1, "how much of the excess is cut; 0.8 (paper)"},
	{"rate_ai", 'r', P(rate_ai), 1, 1e12, "a step up; 10M (paper)"},
	{"rate_min", 'r', P(rate_min), 1e3, 1e12, "least rate; 100M (ns-3)"},
	{"hai_events", 'i', P(hai_events), 1, 1000,
	 "falling in a row before it hastens; 5 (paper)"},
	{"hai_steps", 'i', P(hai_steps), 1, 1000, "steps at a time then; 5 (paper)"},
	{"low_counts", 'o', P(low_counts), 0, 1,
	 "an event below t_low is one of falling delay, too; ns-3 on"},
	{"gradient_max", 'n', P(gradient_max), 0.1, 100,
	 "a cut takes no more for a gradient; 1, ns-3 1/beta: a cut to the least rate"},
	{0},
};
#undef P

static const struct timely_params published = {
	.t_low = 50 * RS_US,
	.t_high = 500 * RS_US,
	.min_rtt = 20 * RS_US,
	.alpha = 0.875,
	.beta = 0.8,
	.rate_ai = 10 * RS_MBPS,
	.rate_min = 100 * RS_MBPS,
	.hai_events = 5,
	.hai_steps = 5,
	.gradient_max = 1,
};
/* The HPCC paper's ns-3, its run.py for 100 Gb/s: the sixth step in a row is a large one. */
static const struct timely_params ns3 = {
	.t_low = 50 * RS_US,
	.t_high = 500 * RS_US,
	.min_rtt = 20 * RS_US,
	.alpha = 0.875,
	.beta = 0.8,
	.rate_ai = 100 * RS_MBPS,
	.rate_min = RS_GBPS,
	.hai_events = 6,
	.hai_steps = 5,
	.low_counts = 1,
	.gradient_max = 1.25,
};
/* Round trips between processes vary by milliseconds, which is no queue: the thresholds are 20 and
 * 40 times the paper's, and a difference counts for little until it is of 20 ms. Steps and the
 * floor are shares of the line in live/. */
static const struct timely_params software = {
	.t_low = RS_MS,
	.t_high = 20 * RS_MS,
	.min_rtt = 20 * RS_MS,
	.alpha = 0.125,
	.beta = 0.8,
	.rate_ai = 10 * RS_MBPS,
	.rate_min = 100 * RS_MBPS,
	.hai_events = 5,
	.hai_steps = 5,
	.gradient_max = 1,
};
static const struct rs_cc_preset preset_table[] = {
	{"paper", "Mittal et al., SIGCOMM 2015, and the HPCC paper's ns-3 where it gives no value",
	 &published},
	{"ns-3", "the HPCC paper's ns-3, for 100 Gb/s", &ns3},
	{"software", "the paper's, for NICs and switches that are processes", &software},
	{0},
};

const struct rs_cc_ops rs_cc_timely = {
	.name = "timely",
	.what = "TIMELY: a rate that follows the gradient of the round trip",
	.params_bytes = sizeof(struct timely_params),
	.needs = RS_CC_NEEDS_BYTES | RS_CC_NEEDS_RTT,
	.params = param_table,
	.presets = preset_table,
	.init = init,
	.on_time = rs_cc_no_timer,
	.on_bytes = rs_cc_no_bytes,
	.on_feedback = on_feedback,
	.on_cnp = on_cnp,
	.on_loss = on_loss,
};
