/* Swift (Kumar et al., SIGCOMM 2020, algorithm 1 and section 3.5): a window that aims at a delay of
 * the round trip; below one packet it becomes a pace. */
#include <math.h>
#include <string.h>
#include "cc/cc.h"

struct swift_params {
	int64_t target; /* ps: base target delay, hops included */
	double ai;      /* packets a round trip */
	double beta, max_mdf;
	int64_t fs_range;      /* ps: flow scaling adds at most this */
	double fs_min, fs_max; /* packets: windows between which it works */
	double min_window;     /* packets */
	int64_t packet;        /* bytes of payload */
	int64_t retx_reset;    /* timeouts in a row that reset the window */
};

struct state {
	double window, most; /* packets */
	double target;       /* ps: of now, flow scaling included */
	int64_t line;
	rs_time delay;     /* as last measured; 0: never */
	rs_time cut_at;    /* last decrease; RS_NEVER: none yet */
	uint32_t timeouts; /* in a row */
};

_Static_assert(sizeof(struct state) <= RS_CC_STATE_BYTES, "the state lives in the QP");

/* A window below this is a pace. */
static const double whole = 1;
enum { SLOWEST = 1000 }; /* bit/s; a pace has to end */

static struct state *state_of(struct rs_cc *cc)
{
	return (struct state *)cc->state;
}

static const struct swift_params *params_of(const struct rs_cc_params *p)
{
	return (const struct swift_params *)p;
}

/* §3.5: small windows get a longer target, as many flows share a queue whose length varies with the
 * root of their number: fs_range at fs_min, nothing at fs_max. */
static double scaling(const struct swift_params *p, double window)
{
	double least = 1 / sqrt(p->fs_max), most = 1 / sqrt(p->fs_min), share;

	if (most <= least)
		return 0;
	share = (1 / sqrt(window) - least) / (most - least);
	return (double)p->fs_range * (share < 0 ? 0 : share > 1 ? 1 : share);
}

/* The window of the transport, and below a packet the pace: a packet each delay / window. */
static void publish(const struct swift_params *p, struct rs_cc *cc)
{
	struct state *s = state_of(cc);
	double least = p->min_window < s->most ? p->min_window : s->most;
	int64_t rate = s->line;

	rs_assert(least > 0 && s->window >= 0); /* and a number */
	s->window = s->window < least ? least : s->window > s->most ? s->most : s->window;
	cc->window = (uint64_t)((s->window < whole ? whole : s->window) * (double)p->packet);
	if (s->window < whole && s->delay > 0) {
		double bits = s->window * (double)p->packet * 8;
		double paced = bits * (double)RS_S / (double)s->delay;

		rate = paced < (double)s->line ? (int64_t)paced : s->line;
		rate = rate < SLOWEST ? SLOWEST : rate;
		rate = rate > s->line ? s->line : rate;
	}
	rs_cc_change_rate(cc, rate);
}

static void init(const struct rs_cc_params *params, struct rs_cc *cc, int64_t line_rate,
		 rs_time now)
{
	const struct swift_params *p = params_of(params);
	struct state *s = state_of(cc);

	rs_cc_begin(cc, line_rate);
	s->line = line_rate;
	s->cut_at = RS_NEVER;
	s->target = (double)p->target;
	/* what a lone flow has out at the target: more could only stand in a queue */
	s->most = (double)line_rate / 8 * (double)(p->target + p->fs_range) / (double)RS_S /
		  (double)p->packet;
	s->most = s->most < whole ? whole : s->most;
	s->window = (double)line_rate / 8 * (double)p->target / (double)RS_S / (double)p->packet;
	publish(p, cc);
}

/* At most once a round trip. */
static bool may_cut(const struct state *s, rs_time now)
{
	return s->cut_at == RS_NEVER || now - s->cut_at >= s->delay;
}

static void cut(const struct swift_params *p, struct rs_cc *cc, double factor, rs_time now)
{
	struct state *s = state_of(cc);

	rs_assert(factor <= 1);
	s->window *= factor < 1 - p->max_mdf ? 1 - p->max_mdf : factor;
	s->cut_at = now;
	cc->cuts++;
}

static void on_feedback(const struct rs_cc_params *params, struct rs_cc *cc,
			const struct rs_cc_feedback *f)
{
	const struct swift_params *p = params_of(params);
	struct state *s = state_of(cc);
	/* Divisions: by the packet's size, and by the window, which every ACK changes; a reciprocal
	 * of it would be out of date. Roots only where a round trip was measured, about once in
	 * one. */
	double acked = (double)f->bytes / (double)p->packet;

	s->timeouts = 0;
	if (f->rtt > 0) {
		s->delay = f->rtt;
		s->target = (double)p->target + scaling(p, s->window);
	}
	if (!s->delay)
		return;
	if ((double)s->delay < s->target) {
		s->window += s->window >= whole ? p->ai * acked / s->window : p->ai * acked;
		cc->increases++;
	} else if (may_cut(s, f->now)) {
		double d = (double)s->delay;

		cut(p, cc, 1 - p->beta * (d - s->target) / d, f->now);
	}
	publish(p, cc);
}

static void on_loss(const struct rs_cc_params *params, struct rs_cc *cc, bool timeout, rs_time now)
{
	const struct swift_params *p = params_of(params);
	struct state *s = state_of(cc);

	if (timeout && ++s->timeouts >= (uint32_t)p->retx_reset)
		s->window = 0; /* publish() gives the least */
	else if (may_cut(s, now))
		cut(p, cc, 1 - p->max_mdf, now);
	publish(p, cc);
}

static void on_cnp(const struct rs_cc_params *p, struct rs_cc *cc, rs_time now)
{
	/* delay tells more than a mark */
}

#define P(field) offsetof(struct swift_params, field)
static const struct rs_cc_param param_table[] = {
	{"target", 't', P(target), 1e5, 1e12,
	 "round trip aimed at, hops included; 25us, a simulator's guess"},
	{"ai", 'n', P(ai), 1e-3, 1e3, "packets more a round trip; 1 (paper)"},
	{"beta", 'n', P(beta), 1e-3, 1, "how much of the excess is cut; 0.8 (paper)"},
	{"max_mdf", 'n', P(max_mdf), 1e-3, 0.99, "a cut takes at most this share; 0.5 (paper)"},
	{"fs_range", 't', P(fs_range), 0, 1e12, "flow scaling adds at most; 5 x target"},
	{"fs_min", 'n', P(fs_min), 1e-3, 1e6, "packets at which it adds all; 0.1"},
	{"fs_max", 'n', P(fs_max), 1e-3, 1e6, "packets at which it adds nothing; 100"},
	{"min_window", 'n', P(min_window), 1e-4, 1, "packets; 0.001"},
	{"packet", 'b', P(packet), 64, 65536,
	 "bytes that count as a packet; 4096, the default MTU"},
	{"retx_reset", 'i', P(retx_reset), 1, 1000, "timeouts in a row that reset the window; 5"},
	{0},
};
#undef P

static const struct swift_params published = {
	.target = 25 * RS_US,
	.ai = 1,
	.beta = 0.8,
	.max_mdf = 0.5,
	.fs_range = 125 * RS_US,
	.fs_min = 0.1,
	.fs_max = 100,
	.min_window = 0.001,
	.packet = 4096,
	.retx_reset = 5,
};
/* Round trips between processes take a scheduler's time: 20 times the target. */
static const struct swift_params software = {
	.target = 500 * RS_US,
	.ai = 1,
	.beta = 0.8,
	.max_mdf = 0.5,
	.fs_range = 2500 * RS_US,
	.fs_min = 0.1,
	.fs_max = 100,
	.min_window = 0.001,
	.packet = 4096,
	.retx_reset = 5,
};
static const struct rs_cc_preset preset_table[] = {
	{"paper", "Kumar et al., SIGCOMM 2020, and open simulators where it gives no value",
	 &published},
	{"software", "the paper's, for NICs and switches that are processes", &software},
	{0},
};

const struct rs_cc_ops rs_cc_swift = {
	.name = "swift",
	.what = "Swift: a window that aims at a delay of the round trip",
	.params_bytes = sizeof(struct swift_params),
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
