/*
 * DCTCP's window (Alizadeh et al., SIGCOMM 2010; RFC 8257) for queue pairs: a share of marked
 * bytes a round, averaged; one cut by half of it a round; a step up in rounds without a cut. RDMA
 * begins with the line's window, so that there is no slow start. RoCEv2 tells of marks by CNPs,
 * here one for each marked packet; `transport.ack_echo` by a bit in ACKs, as TCP does.
 */
#include <string.h>
#include "cc/cc.h"

struct dctcp_params {
	double g; /* weight of the newest share */
	double alpha_initial;
	int64_t ai;         /* bytes a round */
	int64_t min_window; /* bytes */
	int64_t base_rtt;   /* ps: what a full window is worth, and what pacing divides by */
	int64_t paced;      /* on: packets leave at window over base_rtt */
};

struct state {
	double window; /* bytes */
	double alpha;
	uint64_t round;         /* `acked` behind which this round ends */
	uint64_t recovered;     /* `acked` behind which the next cut may come */
	uint64_t bytes, marked; /* of this round */
	int64_t line;
	bool told; /* by a CNP, since the last ACK */
};

_Static_assert(sizeof(struct state) <= RS_CC_STATE_BYTES, "the state lives in the QP");

static struct state *state_of(struct rs_cc *cc)
{
	return (struct state *)cc->state;
}

static const struct dctcp_params *params_of(const struct rs_cc_params *p)
{
	return (const struct dctcp_params *)p;
}

/* What the line carries in a base round trip. */
static double full(const struct dctcp_params *p, const struct state *s)
{
	double bytes = (double)s->line / 8 * (double)p->base_rtt / (double)RS_S;

	return bytes > (double)p->min_window ? bytes : (double)p->min_window;
}

static void publish(const struct dctcp_params *p, struct rs_cc *cc)
{
	struct state *s = state_of(cc);
	double least = (double)p->min_window, most = full(p, s);
	int64_t rate;

	rs_assert(least <= most && s->window >= 0); /* and a number */
	s->window = s->window > most ? most : s->window < least ? least : s->window;
	cc->window = (uint64_t)s->window;
	rate = p->paced ? (int64_t)(s->window * 8 * (double)RS_S / (double)p->base_rtt) : s->line;
	rs_cc_change_rate(cc, rate > s->line ? s->line : rate);
}

static void init(const struct rs_cc_params *params, struct rs_cc *cc, int64_t line_rate,
		 rs_time now)
{
	const struct dctcp_params *p = params_of(params);
	struct state *s = state_of(cc);

	rs_cc_begin(cc, line_rate);
	s->line = line_rate;
	s->window = full(p, s);
	s->alpha = p->alpha_initial;
	publish(p, cc);
}

/* The share of the round that ends joins alpha. */
static void end_round(const struct dctcp_params *p, struct state *s, uint64_t sent)
{
	double share = s->bytes ? (double)s->marked / (double)s->bytes : 0;

	s->alpha = (1 - p->g) * s->alpha + p->g * (share < 1 ? share : 1);
	s->bytes = s->marked = 0;
	s->round = sent;
}

static void on_feedback(const struct rs_cc_params *params, struct rs_cc *cc,
			const struct rs_cc_feedback *f)
{
	const struct dctcp_params *p = params_of(params);
	struct state *s = state_of(cc);
	bool marked = f->marked || s->told, over = f->acked > s->round;

	rs_assert(f->acked <= f->sent);
	s->told = false;
	s->bytes += f->bytes;
	s->marked += f->marked;
	/* nothing is known of what came before the first round */
	if (over && !s->round)
		s->round = f->sent;
	else if (over)
		end_round(p, s, f->sent);
	/* no second cut until what is out now is acknowledged: RFC 8257, section 3.3; RFC 3168 */
	if (f->acked <= s->recovered)
		return;
	if (marked) {
		s->window *= 1 - s->alpha / 2;
		s->recovered = f->sent;
		cc->cuts++;
	} else if (over) {
		s->window += (double)p->ai;
		cc->increases++;
	} else {
		return;
	}
	publish(p, cc);
}

/* One mark: a packet's. The ACK behind it cuts, by what it tells of rounds. */
static void on_cnp(const struct rs_cc_params *params, struct rs_cc *cc, rs_time now)
{
	struct state *s = state_of(cc);

	s->marked += (uint64_t)params_of(params)->ai;
	s->told = true;
}

/* RFC 8257, section 3.5: as TCP reacts: by half; behind a timeout the least window. */
static void on_loss(const struct rs_cc_params *params, struct rs_cc *cc, bool timeout, rs_time now)
{
	struct state *s = state_of(cc);

	s->window = timeout ? (double)params_of(params)->min_window : s->window / 2;
	cc->cuts++;
	publish(params_of(params), cc);
}

static bool cnp_due(const struct rs_cc_params *params, rs_time last, rs_time now)
{
	return true;
}

#define P(field) offsetof(struct dctcp_params, field)
static const struct rs_cc_param param_table[] = {
	{"g", 'n', P(g), 1e-6, 1, "weight of a round's share of marks; 1/16 (RFC 8257)"},
	{"alpha_initial", 'n', P(alpha_initial), 0, 1, "1 (RFC 8257, section 3.3)"},
	{"ai", 'b', P(ai), 1, 1e9, "a round without a cut adds so much; a packet, 4096B"},
	{"min_window", 'b', P(min_window), 64, 1e9, "8192B: two packets (RFC 5681)"},
	{"paced", 'o', P(paced), 0, 1,
	 "packets leave at window over base_rtt (ns-3), not at the line's rate; on"},
	{"base_rtt", 't', P(base_rtt), 1e3, 1e12,
	 "what the first window lasts; the fabric's longest"},
	{0},
};
#undef P

static const struct dctcp_params rfc8257 = {
	.g = 1.0 / 16,
	.alpha_initial = 1,
	.ai = 4096,
	.min_window = 8192,
	.paced = 1,
	.base_rtt = 20 * RS_US,
};
/* The HPCC paper's ns-3, its run.py: 615 Mb/s more a round trip and at least 1 Gb/s, as bytes of
 * the 4.16 us that a switch between two hosts makes at 100 Gb/s and 1 us a link. */
static const struct dctcp_params ns3 = {
	.g = 1.0 / 16,
	.alpha_initial = 1,
	.ai = 320,
	.min_window = 520,
	.paced = 1,
	.base_rtt = 4160 * RS_NS,
};
/* Between processes: the first window lasts what Swift's preset aims at. */
static const struct dctcp_params software = {
	.g = 1.0 / 16,
	.alpha_initial = 1,
	.ai = 4096,
	.min_window = 8192,
	.paced = 1,
	.base_rtt = 500 * RS_US,
};
static const struct rs_cc_preset preset_table[] = {
	{"rfc8257", "RFC 8257; paced as the HPCC paper's ns-3 has it", &rfc8257},
	{"ns-3", "the HPCC paper's ns-3, on one switch", &ns3},
	{"software", "RFC 8257's, for NICs and switches that are processes", &software},
	{0},
};

const struct rs_cc_ops rs_cc_dctcp = {
	.name = "dctcp",
	.what = "DCTCP's window: cuts by the share of marked bytes, a packet more a round",
	.params_bytes = sizeof(struct dctcp_params),
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
