/* HPCC (Li et al., SIGCOMM 2019, algorithm 1): the rate follows how full in-band telemetry says the
 * fullest link of the path is. In rates, as the paper's ns-3 has it: a window is rate x base RTT.
 */
#include <string.h>
#include "cc/cc.h"

struct hpcc_params {
	double eta;        /* target utilization */
	int64_t max_stage; /* additive steps before a multiplicative one */
	int64_t rate_ai, rate_min;
	int64_t base_rtt; /* ps: T */
};

struct hop {
	uint32_t time, queue, sent; /* of the last ACK; sent in SENT_UNIT bytes */
};

/* What is of one path: the transport keeps it beside the QP. */
struct path {
	uint32_t id : 24; /* of which path */
	uint32_t n : 8;   /* hops */
	struct hop hop[RS_CC_HOPS];
};

struct state {
	double u; /* utilization of the fullest link, averaged over about a round trip */
	int64_t reference, line;
	uint32_t update_at; /* low bits of `sent` at the last step of the reference */
	uint16_t stage;
	bool primed; /* a first ACK has told where counters stand */
};

enum { PATH_MASK = (1 << 24) - 1 };

_Static_assert(sizeof(struct state) <= RS_CC_STATE_BYTES, "the state lives in the QP");
_Static_assert(sizeof(struct path) <= RS_CC_PATH_BYTES, "and this beside it");

enum { SENT_UNIT = 128 };

static struct state *state_of(struct rs_cc *cc)
{
	return (struct state *)cc->state;
}

static const struct hpcc_params *params_of(const struct rs_cc_params *p)
{
	return (const struct hpcc_params *)p;
}

/* Bytes that a path of base_rtt holds at this rate: W. */
static uint64_t product(const struct hpcc_params *p, int64_t rate)
{
	uint64_t bits, bytes;

	/* by a constant, which is a multiplication, but for the longest of paths */
	if (!__builtin_mul_overflow((uint64_t)rate, (uint64_t)p->base_rtt, &bits))
		bytes = bits / (8 * (uint64_t)RS_S);
	else
		bytes = (uint64_t)((rs_uint128)(uint64_t)rate * (uint64_t)p->base_rtt / 8 / RS_S);
	return bytes ? bytes : 1;
}

static void set_rate(const struct hpcc_params *p, struct rs_cc *cc, int64_t rate)
{
	rs_cc_set_rate(cc, rate);
	cc->window = product(p, rate);
}

static void init(const struct rs_cc_params *params, struct rs_cc *cc, int64_t line_rate,
		 rs_time now)
{
	struct state *s = state_of(cc);

	rs_cc_begin(cc, line_rate);
	set_rate(params_of(params), cc, line_rate);
	s->reference = s->line = line_rate;
	s->u = 1;
}

static void remember(struct path *path, const struct rs_cc_feedback *f)
{
	path->n = f->n_hops;
	for (unsigned i = 0; i < f->n_hops; i++)
		path->hop[i] = (struct hop){.time = f->hops[i].time,
					    .queue = f->hops[i].queue,
					    .sent = (uint32_t)(f->hops[i].sent / SENT_UNIT)};
}

/* How full a link was: of / by, divided only when it is known which link is the fullest. */
struct fullness {
	double of, by;
	uint32_t tau; /* ns that it was measured over */
};

/* Since the last ACK: what a link sent in tau, and what waited, of what it can do in a base round
 * trip: sent 8e9 / tau / rate + queue / product, as one fraction. */
static struct fullness fullness(const struct state *s, const struct hop *old,
				const struct rs_cc_hop *h, double line_product)
{
	uint64_t sent = (h->sent - (uint64_t)old->sent * SENT_UNIT) & (h->sent_wrap - 1);
	uint32_t queue = h->queue < old->queue ? h->queue : old->queue;
	uint32_t tau = (h->time - old->time) & (h->time_wrap - 1);
	double span = (double)tau;

	return (struct fullness){.of = (double)sent * 8e9 * line_product +
				       (double)queue * (double)s->line * span,
				 .by = span * (double)h->rate * line_product,
				 .tau = tau};
}

/* The fullest hop into the average; false when no time has passed anywhere. An ACK divides three
 * times, all told: here by what was measured and by T, and once below for the rate, as algorithm 1
 * does; a quotient of measurements has no reciprocal to keep. */
static bool measure(const struct hpcc_params *p, struct state *s, const struct path *path,
		    const struct rs_cc_feedback *fb)
{
	double base = (double)p->base_rtt / RS_NS, line_product = (double)product(p, s->line);
	struct fullness most = {.of = 0, .by = 1};
	double span;

	rs_assert(fb->n_hops <= RS_CC_HOPS && line_product > 0);
	for (unsigned i = 0; i < fb->n_hops; i++) {
		struct fullness f = fullness(s, &path->hop[i], &fb->hops[i], line_product);

		/* of two as full, the first: not whichever is rounded up */
		if (f.by > 0 && f.of * most.by > most.of * f.by * (1 + 1e-12))
			most = f;
	}
	if (!most.tau)
		return false;
	span = (double)most.tau < base ? (double)most.tau : base;
	s->u += (most.of / most.by - s->u) * (span / base);
	return true;
}

/* The reference over how full the path is, in units of eta; the line where that is more. */
static int64_t scaled(const struct hpcc_params *p, const struct state *s)
{
	double wanted = (double)s->reference * p->eta;

	rs_assert(s->u >= 0 && s->reference > 0);
	return wanted < (double)s->line * s->u ? (int64_t)(wanted / s->u) : s->line;
}

static int64_t limited(const struct hpcc_params *p, const struct state *s, int64_t rate)
{
	rate = rate < p->rate_min ? p->rate_min : rate;
	return rate > s->line ? s->line : rate;
}

static void on_feedback(const struct rs_cc_params *params, struct rs_cc *cc,
			const struct rs_cc_feedback *f)
{
	const struct hpcc_params *p = params_of(params);
	struct state *s = state_of(cc);
	struct path *path = f->path_state;
	bool round = (int32_t)((uint32_t)f->acked - s->update_at) > 0, measured, multiply;
	int64_t rate;

	if (!f->n_hops)
		return;
	if (!s->primed || f->n_hops != path->n || (f->path & PATH_MASK) != path->id) {
		/* the counters of other links: no difference to take. The round goes on */
		if (!s->primed)
			s->update_at = (uint32_t)f->sent;
		s->primed = true;
		path->id = f->path & PATH_MASK;
		remember(path, f);
		return;
	}
	measured = measure(p, s, path, f);
	remember(path, f);
	if (measured) {
		multiply = s->u >= p->eta || s->stage >= p->max_stage;
		rate = limited(p, s, (multiply ? scaled(p, s) : s->reference) + p->rate_ai);
		if (rate != cc->rate)
			set_rate(p, cc, rate);
		/* every ACK sets the rate, but from a reference that moves once a round trip, so
		 * that no two react to the same queue */
		if (round) {
			s->reference = rate;
			s->stage = multiply ? 0 : (uint16_t)(s->stage + 1);
		}
	}
	if (round)
		s->update_at = (uint32_t)f->sent;
}

static void on_cnp(const struct rs_cc_params *p, struct rs_cc *cc, rs_time now)
{
	/* telemetry tells all; marks tell less */
}

static void on_loss(const struct rs_cc_params *p, struct rs_cc *cc, bool timeout, rs_time now)
{
	/* HPCC does not react to loss: queues stay near empty, and PFC prevents it */
}

#define P(field) offsetof(struct hpcc_params, field)
static const struct rs_cc_param param_table[] = {
	{"eta", 'n', P(eta), 0.1, 1, "target utilization; 0.95"},
	{"max_stage", 'i', P(max_stage), 0, 1000, "additive steps in a row; paper 5, ns-3 0"},
	{"rate_ai", 'r', P(rate_ai), 1, 1e12, "additive step, W_AI / T; paper 50M, ns-3 40M"},
	{"rate_min", 'r', P(rate_min), 1e3, 1e12, "floor; paper 100M, ns-3 1G"},
	{"base_rtt", 't', P(base_rtt), 1e3, 1e12, "T; the simulator sets the fabric's longest"},
	{0},
};
#undef P

static const struct hpcc_params paper = {
	.eta = 0.95,
	.max_stage = 5,
	.rate_ai = 50 * RS_MBPS,
	.rate_min = 100 * RS_MBPS,
	.base_rtt = 13 * RS_US,
};
static const struct hpcc_params ns3 = {
	.eta = 0.95,
	.max_stage = 0,
	.rate_ai = 40 * RS_MBPS,
	.rate_min = RS_GBPS,
	.base_rtt = 13 * RS_US,
};
/* Between processes: what Swift's preset aims at as T. In live/ the floor is 1/100 of the line, and
 * a step 1/200, which is W_AI = W (1 - eta) / N of the paper, for 10 flows. */
static const struct hpcc_params software = {
	.eta = 0.95,
	.max_stage = 5,
	.rate_ai = 50 * RS_MBPS,
	.rate_min = 100 * RS_MBPS,
	.base_rtt = 500 * RS_US,
};
static const struct rs_cc_preset preset_table[] = {
	{"paper", "Li et al., SIGCOMM 2019: eta 95%, maxStage 5, W_AI 80 B at T 13 us", &paper},
	{"ns-3", "the HPCC paper's ns-3, config.txt", &ns3},
	{"software", "the paper's, for NICs and switches that are processes", &software},
	{0},
};

const struct rs_cc_ops rs_cc_hpcc = {
	.name = "hpcc",
	.what = "HPCC: in-band telemetry of every switch sets rate and window with each ACK",
	.params_bytes = sizeof(struct hpcc_params),
	.needs = RS_CC_NEEDS_STAMPS,
	.path_bytes = sizeof(struct path),
	.params = param_table,
	.presets = preset_table,
	.init = init,
	.on_time = rs_cc_no_timer,
	.on_bytes = rs_cc_no_bytes,
	.on_feedback = on_feedback,
	.on_cnp = on_cnp,
	.on_loss = on_loss,
};
