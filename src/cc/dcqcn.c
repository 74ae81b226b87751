/* DCQCN (Zhu et al., SIGCOMM 2015, section 3; 802.1Qau): notification and reaction points. Timers
 * are applied lazily, in the order in which they would have fired: alpha's, the cut, the increase.
 */
#include <string.h>
#include "cc/cc.h"

enum { ALPHA_ONE = 1 << 30 };

struct dcqcn_params {
	double g; /* gain of alpha */
	double alpha_initial;
	int64_t alpha_timer;                 /* ps: alpha's update period */
	int64_t alpha_at_cut;                /* on: fed at each cut, which starts its timer anew */
	int64_t reduce_period;               /* ps: at most one cut in each */
	int64_t cnp_interval;                /* ps: notification point, a QP */
	int64_t increase_timer;              /* ps */
	int64_t byte_counter;                /* bytes; 0: none */
	int64_t stages;                      /* F */
	int64_t rate_ai, rate_hai, rate_min; /* bit/s */
	int64_t rate_max;                    /* bit/s; 0: the line's */
	double min_factor;                   /* a cut leaves at least this share */
	double fixed_cut;                    /* each cut takes this share; 0: alpha decides */
	int64_t gd;                          /* a cut takes alpha / 2^(gd - 10) */
	int64_t first_rate;                  /* bit/s: the first cut goes to it; 0: not used */
	int64_t clamp_target;                /* on: the target falls to the rate at every cut */
	int64_t delayed_cut; /* on: cuts happen at the end of a period that saw feedback */
	int64_t release;     /* on: back at line rate, state and timers are forgotten */
	int64_t window;      /* on: what is out is limited to rate x base_rtt */
	int64_t base_rtt;    /* ps */
};

struct state {
	int64_t target;
	int64_t line;        /* where the limiter begins and is released: rate_max, or full */
	int64_t full;        /* the port's */
	rs_time alpha_at;    /* last tick applied; valid while active */
	rs_time cut_at;      /* when the next cut may come */
	rs_time increase_at; /* next timer increase; RS_NEVER before the first cut */
	uint32_t alpha;      /* Q30 */
	uint16_t time_stage, byte_stage;
	bool active;    /* limited: feedback came since the line rate was last reached */
	bool alpha_fed; /* feedback in this alpha period */
	bool cut_due;   /* feedback since the last cut */
	bool increased; /* since the last cut, by timer */
};

_Static_assert(sizeof(struct state) <= RS_CC_STATE_BYTES, "the state lives in the QP");

static struct state *state_of(struct rs_cc *cc)
{
	return (struct state *)cc->state;
}

static const struct dcqcn_params *params_of(const struct rs_cc_params *p)
{
	return (const struct dcqcn_params *)p;
}

/* ---- Alpha: (1-g) alpha (+ g when fed) a period ---- */

static uint32_t keep(const struct dcqcn_params *p)
{
	return (uint32_t)(int64_t)((1 - p->g) * ALPHA_ONE + 0.5);
}

static uint64_t times(uint64_t a, uint64_t b)
{
	rs_assert(a <= ALPHA_ONE && b <= ALPHA_ONE);
	return (a * b + ALPHA_ONE / 2) >> 30;
}

static uint64_t power(uint64_t base, uint64_t n)
{
	uint64_t r = ALPHA_ONE;

	for (; n; n >>= 1, base = times(base, base))
		if (n & 1)
			r = times(r, base);
	return r;
}

static void feed_alpha(const struct dcqcn_params *p, struct state *s)
{
	uint64_t k = keep(p);

	s->alpha = (uint32_t)(times(k, s->alpha) + ALPHA_ONE - k);
	rs_assert(s->alpha <= ALPHA_ONE);
}

static void alpha_to(const struct dcqcn_params *p, struct state *s, rs_time now)
{
	uint64_t ticks, k = keep(p);

	if (now < s->alpha_at + p->alpha_timer)
		return;
	/* at feedback and cuts only, not a packet */
	ticks = (uint64_t)((now - s->alpha_at) / p->alpha_timer);
	s->alpha_at += (rs_time)ticks * p->alpha_timer;
	if (s->alpha_fed) {
		feed_alpha(p, s);
		s->alpha_fed = false;
		ticks--;
	}
	if (ticks)
		s->alpha = (uint32_t)times(power(k, ticks), s->alpha);
}

/* ---- Rates ---- */

static void arm(const struct dcqcn_params *p, struct rs_cc *cc)
{
	struct state *s = state_of(cc);

	cc->next_event = !s->active ? RS_NEVER : s->increase_at;
	if (s->active && s->cut_due && s->cut_at < cc->next_event)
		cc->next_event = s->cut_at;
}

static void set_rate(const struct dcqcn_params *p, struct rs_cc *cc, int64_t rate)
{
	rs_cc_set_rate(cc, rate);
	if (p->window) {
		cc->window =
			(uint64_t)((rs_uint128)(uint64_t)rate * (uint64_t)p->base_rtt / 8 / RS_S);
		cc->window += !cc->window;
	}
}

/* Also where the line is slower than the least rate. */
static int64_t floored(const struct dcqcn_params *p, const struct state *s, int64_t rate)
{
	int64_t least = p->rate_min < s->line ? p->rate_min : s->line;

	return rate < least ? least : rate;
}

/* What a cut leaves, before floors. */
static int64_t cut_to(const struct dcqcn_params *p, const struct state *s, int64_t rate)
{
	if (p->first_rate && rate == s->line)
		return p->first_rate < rate ? p->first_rate : rate;
	if (p->fixed_cut > 0)
		return rate - (int64_t)(p->fixed_cut * (double)rate);
	return rate - (int64_t)((rs_uint128)rate * s->alpha >> (20 + p->gd));
}

static void cut(const struct dcqcn_params *p, struct rs_cc *cc, rs_time now)
{
	struct state *s = state_of(cc);
	int64_t rate, floor = (int64_t)(p->min_factor * (double)cc->rate);

	alpha_to(p, s, now);
	/* mlx5: the target stays at consecutive cuts unless the timer raised the rate in between */
	if (p->clamp_target || s->increased || cc->rate == s->line)
		s->target = cc->rate;
	rate = cut_to(p, s, cc->rate);
	set_rate(p, cc, floored(p, s, rate < floor ? floor : rate));
	if (p->alpha_at_cut) {
		feed_alpha(p, s);
		s->alpha_at = now;
	}
	cc->cuts++;
	s->time_stage = s->byte_stage = 0;
	s->increased = false;
	s->cut_due = false;
	s->increase_at = now + p->increase_timer;
	cc->byte_credit = p->byte_counter ? p->byte_counter : INT64_MAX;
}

static void increase(const struct dcqcn_params *p, struct rs_cc *cc)
{
	struct state *s = state_of(cc);
	int64_t most = s->time_stage > s->byte_stage ? s->time_stage : s->byte_stage;
	int64_t least = s->time_stage < s->byte_stage ? s->time_stage : s->byte_stage;

	/* figure 7 of the paper: fast while both are below F, hyper when both are above. Without a
	 * byte counter the timer's stage alone decides, as ns-3 counts it: F fast steps, one
	 * additive, then hyper, a step at a time. */
	if (!p->byte_counter) {
		least = most > p->stages + 1 ? p->stages + 1 : 0;
		most--;
	}
	if (least > p->stages)
		s->target += p->rate_hai * (least - p->stages);
	else if (most >= p->stages)
		s->target += p->rate_ai;
	if (s->target > s->line)
		s->target = s->line;
	rs_assert(s->target > 0);
	set_rate(p, cc, (cc->rate + s->target) / 2 + ((cc->rate + s->target) & 1));
	cc->increases++;
	if (p->release && cc->rate >= s->line - 1) {
		/* the limiter is released: an unlimited queue pair costs no event */
		set_rate(p, cc, s->full);
		s->active = s->cut_due;
		s->increase_at = s->active ? s->increase_at : RS_NEVER;
		cc->byte_credit = INT64_MAX;
	}
}

static void init(const struct rs_cc_params *params, struct rs_cc *cc, int64_t line_rate,
		 rs_time now)
{
	struct state *s = state_of(cc);
	int64_t most = params_of(params)->rate_max;

	rs_cc_begin(cc, line_rate);
	set_rate(params_of(params), cc, line_rate);
	s->full = line_rate;
	s->target = s->line = most && most < line_rate ? most : line_rate;
	s->alpha = (uint32_t)(params_of(params)->alpha_initial * ALPHA_ONE);
	s->increase_at = RS_NEVER;
	s->alpha_at = now;
}

static void count(uint16_t *stage, uint64_t n)
{
	n += *stage;
	*stage = n < UINT16_MAX ? (uint16_t)n : UINT16_MAX;
}

/* Increases that cannot raise anything are counted, not carried out one by one: an idle queue pair
 * whose limiter is never released is caught up with in one step. */
static void skip_at_line(const struct dcqcn_params *p, struct rs_cc *cc, rs_time now)
{
	struct state *s = state_of(cc);
	rs_time n = (now - s->increase_at) / p->increase_timer;

	rs_assert(s->increase_at != RS_NEVER);
	if (cc->rate < s->line || s->target < s->line || s->cut_due || n <= 0)
		return;
	count(&s->time_stage, (uint64_t)n);
	cc->increases += (uint32_t)n;
	s->increased = true;
	s->increase_at += n * p->increase_timer;
}

static void on_time(const struct rs_cc_params *params, struct rs_cc *cc, rs_time now)
{
	const struct dcqcn_params *p = params_of(params);
	struct state *s = state_of(cc);

	while (s->active && now >= cc->next_event) {
		if (s->cut_due && s->cut_at <= s->increase_at) {
			cut(p, cc, s->cut_at);
			s->cut_at += p->reduce_period;
		} else {
			skip_at_line(p, cc, now);
			count(&s->time_stage, 1);
			s->increased = true;
			s->increase_at += p->increase_timer;
			increase(p, cc);
		}
		arm(p, cc);
	}
}

static void on_bytes(const struct rs_cc_params *params, struct rs_cc *cc, rs_time now)
{
	const struct dcqcn_params *p = params_of(params);
	struct state *s = state_of(cc);

	if (!s->active || !p->byte_counter) {
		cc->byte_credit = INT64_MAX;
		return;
	}
	cc->byte_credit += p->byte_counter;
	if (cc->byte_credit <= 0)
		cc->byte_credit = p->byte_counter;
	count(&s->byte_stage, 1);
	increase(p, cc);
	arm(p, cc);
}

/* The first feedback since the line rate was last reached starts alpha and the grid of cuts. */
static void activate(const struct dcqcn_params *p, struct rs_cc *cc, rs_time now)
{
	struct state *s = state_of(cc);

	if (cc->rate > s->line)
		set_rate(p, cc, s->line);
	s->active = true;
	s->alpha = (uint32_t)(p->alpha_initial * ALPHA_ONE);
	s->alpha_at = now;
	s->alpha_fed = false;
	/* a nanosecond behind alpha's tick, and so it stays */
	s->cut_at = p->delayed_cut ? now + p->reduce_period + RS_NS : now;
}

static void feedback(const struct dcqcn_params *p, struct rs_cc *cc, rs_time now)
{
	struct state *s = state_of(cc);
	bool first;

	on_time((const struct rs_cc_params *)p, cc, now);
	first = !s->active;
	if (first)
		activate(p, cc, now);
	alpha_to(p, s, now);
	/* ns-3 does not count the first feedback into alpha's first period: alpha is 1 for it */
	s->alpha_fed = !p->alpha_at_cut && !(first && p->delayed_cut);
	s->cut_due = true;
	if (p->delayed_cut && s->cut_at <= now) {
		s->cut_at += ((now - s->cut_at) / p->reduce_period + 1) * p->reduce_period;
	} else if (now >= s->cut_at) {
		cut(p, cc, now);
		s->cut_at = now + p->reduce_period;
	}
	arm(p, cc);
}

static void on_cnp(const struct rs_cc_params *params, struct rs_cc *cc, rs_time now)
{
	feedback(params_of(params), cc, now);
}

static void on_feedback(const struct rs_cc_params *params, struct rs_cc *cc,
			const struct rs_cc_feedback *f)
{
	if (f->marked)
		feedback(params_of(params), cc, f->now);
}

static void on_loss(const struct rs_cc_params *params, struct rs_cc *cc, bool timeout, rs_time now)
{
	/* DCQCN does not react to loss: PFC is to prevent it */
}

static bool cnp_due(const struct rs_cc_params *params, rs_time last, rs_time now)
{
	return last == RS_NEVER || now - last >= params_of(params)->cnp_interval;
}

#define P(field) offsetof(struct dcqcn_params, field)
static const struct rs_cc_param param_table[] = {
	{"g", 'n', P(g), 1e-6, 1, "gain of alpha; paper 1/256, mlx5 5/1024 (DCE_TCP_G 1019)"},
	{"alpha_initial", 'n', P(alpha_initial), 0, 1, "alpha at the first feedback; 1"},
	{"alpha_timer", 't', P(alpha_timer), 1e3, 1e12, "alpha's period; paper 55us, mlx5 1us"},
	{"alpha_at_cut", 'o', P(alpha_at_cut), 0, 1,
	 "alpha is fed at each cut, not once a period; paper on"},
	{"reduce_period", 't', P(reduce_period), 1, 1e12,
	 "at most one cut in each; paper none, mlx5 4us (RATE_REDUCE_MONITOR_PERIOD)"},
	{"cnp_interval", 't', P(cnp_interval), 0, 1e12,
	 "at most one CNP a QP in each; paper 50us, mlx5 4us (MIN_TIME_BETWEEN_CNPS)"},
	{"increase_timer", 't', P(increase_timer), 1e6, 1e13,
	 "paper 55us, mlx5 300us (RPG_TIME_RESET)"},
	{"byte_counter", 'b', P(byte_counter), 0, 1e15,
	 "0 none; paper 10MB, mlx5 2MB (RPG_BYTE_RESET)"},
	{"stages", 'i', P(stages), 1, 1000,
	 "fast recovery steps F; paper 5, mlx5 1 (RPG_THRESHOLD)"},
	{"rate_ai", 'r', P(rate_ai), 1, 1e12, "additive step; paper 40M, mlx5 5M (RPG_AI_RATE)"},
	{"rate_hai", 'r', P(rate_hai), 1, 1e12, "hyper step; paper 200M, mlx5 50M (RPG_HAI_RATE)"},
	{"rate_min", 'r', P(rate_min), 1e3, 1e12, "floor; mlx5 1M (RPG_MIN_RATE)"},
	{"rate_max", 'r', P(rate_max), 0, 1e13,
	 "limits begin and end here; 0 at the line's rate (RPG_MAX_RATE)"},
	{"min_factor", 'n', P(min_factor), 0, 1, "a cut leaves this share; 0.5 (RPG_MIN_DEC_FAC)"},
	{"gd", 'i', P(gd), 10, 15, "a cut takes alpha/2^(gd-10); 11: half of alpha (RPG_GD)"},
	{"fixed_cut", 'n', P(fixed_cut), 0, 1,
	 "each cut takes this share, whatever alpha is; 0: alpha decides"},
	{"first_rate", 'r', P(first_rate), 0, 1e13,
	 "the first cut goes to it; 0: not used (RATE_TO_SET_ON_FIRST_CNP)"},
	{"clamp_target", 'o', P(clamp_target), 0, 1, "the target falls at every cut; paper on"},
	{"delayed_cut", 'o', P(delayed_cut), 0, 1, "cuts at the end of a period; ns-3 on"},
	{"release", 'o', P(release), 0, 1, "forget all when back at line rate; ns-3 off"},
	{"window", 'o', P(window), 0, 1, "limit what is out to rate x base_rtt; off"},
	{"base_rtt", 't', P(base_rtt), 0, 1e12, "of the window; the fabric's longest"},
	{0},
};
#undef P

static const struct dcqcn_params mlx5 = {
	.g = 5.0 / 1024,
	.alpha_initial = 1,
	.alpha_timer = 1 * RS_US,
	.reduce_period = 4 * RS_US,
	.cnp_interval = 4 * RS_US,
	.increase_timer = 300 * RS_US,
	.byte_counter = 2000000,
	.stages = 1,
	.rate_ai = 5 * RS_MBPS,
	.rate_hai = 50 * RS_MBPS,
	.rate_min = RS_MBPS,
	.min_factor = 0.5,
	.gd = 11,
	.release = 1,
};
static const struct dcqcn_params paper = {
	.g = 1.0 / 256,
	.alpha_initial = 1,
	.alpha_timer = 55 * RS_US,
	.alpha_at_cut = 1,
	.reduce_period = 1, /* every CNP cuts: the receiver spaces them */
	.cnp_interval = 50 * RS_US,
	.increase_timer = 55 * RS_US,
	.byte_counter = 10000000,
	.stages = 5,
	.rate_ai = 40 * RS_MBPS,
	.rate_hai = 200 * RS_MBPS,
	.rate_min = RS_MBPS,
	.min_factor = 0.5,
	.gd = 11,
	.clamp_target = 1,
	.release = 1,
};
static const struct dcqcn_params ns3 = {
	.g = 1.0 / 256,
	.alpha_initial = 1,
	.alpha_timer = 1 * RS_US,
	.reduce_period = 4 * RS_US,
	.cnp_interval = 0,
	.increase_timer = 300 * RS_US,
	.byte_counter = 0,
	.stages = 1,
	.rate_ai = 20 * RS_MBPS,
	.rate_hai = 200 * RS_MBPS,
	.rate_min = RS_GBPS,
	.min_factor = 0,
	.gd = 11,
	.delayed_cut = 1,
};
/* The paper's, its times ten times as long: feedback takes a scheduler's time, not a cable's. Steps
 * for 10 Gb/s. */
static const struct dcqcn_params software = {
	.g = 1.0 / 256,
	.alpha_initial = 1,
	.alpha_timer = 550 * RS_US,
	.alpha_at_cut = 1,
	.reduce_period = 500 * RS_US,
	.cnp_interval = 50 * RS_US,
	.increase_timer = 550 * RS_US,
	.byte_counter = 10000000,
	.stages = 5,
	.rate_ai = 20 * RS_MBPS,
	.rate_hai = 100 * RS_MBPS,
	.rate_min = RS_MBPS,
	.min_factor = 0.5,
	.gd = 11,
	.clamp_target = 1,
	.release = 1,
};
static const struct rs_cc_preset preset_table[] = {
	{"mlx5", "mlxconfig of a ConnectX-5, DOCA documentation", &mlx5},
	{"paper", "Zhu et al., SIGCOMM 2015, for 40 Gb/s", &paper},
	{"ns-3", "the HPCC paper's ns-3, config.txt", &ns3},
	{"software", "the paper's, for NICs and switches that are processes", &software},
	{0},
};

const struct rs_cc_ops rs_cc_dcqcn = {
	.name = "dcqcn",
	.what = "DCQCN: CNPs for ECN marks, cuts by alpha, recovery by timer and byte counter",
	.params_bytes = sizeof(struct dcqcn_params),
	.params = param_table,
	.presets = preset_table,
	.needs = RS_CC_NEEDS_MARKS,
	.init = init,
	.on_time = on_time,
	.on_bytes = on_bytes,
	.on_feedback = on_feedback,
	.on_cnp = on_cnp,
	.on_loss = on_loss,
	.cnp_due = cnp_due,
};
