/* NSCC: nscc.h. Doubles are used for + - * / alone, and cut to whole bytes or picoseconds. */
#include "base/error.h"
#include "uet/nscc.h"

/* Constants of uet-htsim 40ccb052, uec.cpp; what scales is for 100 Gb/s and 12 us. */
static const double gamma_ = 0.8, cut_most = 0.5, weight = 1.0 / 80;
static const double alpha_packets = 4, fi_packets = 5, eta_packets = 0.15, fi_scale = 0.25;
static const rs_time reference_rtt = 12 * RS_US;
static const double reference_bdp = 150000;

#define FAST_DELAY (1 * RS_US) /* below it there is next to no queue; does not scale */

enum {
	ADJUST_PACKETS = 8,
	ADAPT_GATE = 3,   /* window_max >> this: less was achieved, and it adapts */
	ADAPT_TARGETS = 4 /* a delay of so many targets is as bad as a loss */
};

static uint64_t bdp(int64_t rate, rs_time rtt)
{
	return (uint64_t)((rs_uint128)(uint64_t)rate * (uint64_t)rtt / 8 / (uint64_t)RS_S);
}

void rs_nscc_derive(struct rs_nscc_conf *c)
{
	double a, b;

	rs_assert(c->rate > 0 && c->rtt > 0 && c->mtu >= c->payload && c->payload);
	if (!c->target)
		c->target = c->trims ? c->rtt / 4 * 3 + c->rtt % 4 * 3 / 4 : c->rtt;
	a = (double)bdp(c->rate, c->rtt) / reference_bdp;
	b = (double)c->target / (double)reference_rtt;
	c->alpha = alpha_packets * c->payload * a * b / (double)c->target;
	c->fi = fi_packets * c->payload * a;
	c->eta = eta_packets * c->payload * a;
	c->fi_scale = fi_scale * a;
	c->adjust_bytes = ADJUST_PACKETS * c->mtu;
}

static void bound(struct rs_nscc *n, uint64_t least)
{
	rs_assert(least <= n->window_max);
	n->window = n->window > n->window_max ? n->window_max
		    : n->window < least       ? least
					      : n->window;
}

static void set_base(const struct rs_nscc_conf *c, struct rs_nscc *n, rs_time rtt)
{
	uint64_t held = bdp(c->rate, rtt);

	n->base_rtt = rtt;
	n->window_max = held + held / 2;
	if (n->window_max < c->mtu)
		n->window_max = c->mtu;
}

void rs_nscc_init(const struct rs_nscc_conf *c, struct rs_nscc *n, rs_time now)
{
	*n = (struct rs_nscc){.eta_at = now, .cut_at = RS_NEVER, .period_end = RS_NEVER};
	set_base(c, n, c->rtt);
	n->window = n->window_max;
	if (c->kind == RS_UET_NO_WINDOW)
		n->window = INT64_MAX;
}

void rs_nscc_on_rtt(const struct rs_nscc_conf *c, struct rs_nscc *n, rs_time rtt)
{
	if (rtt > 0 && rtt < n->base_rtt)
		set_base(c, n, rtt);
}

static void average(struct rs_nscc *n, double towards)
{
	n->delay = (rs_time)(weight * towards + (1 - weight) * (double)n->delay);
}

/* ---- Quick adapt: after a loss or a long delay the window becomes what was achieved ---- */

static void adapt(const struct rs_nscc_conf *c, struct rs_nscc *n, const struct rs_nscc_ack *a)
{
	n->window = n->achieved > c->mtu ? n->achieved : c->mtu;
	n->to_ignore = a->in_flight;
	n->ignored = 0;
	n->nacked = false;
	n->inc = n->received = 0;
}

/* True: this one is not to move the window any more. */
static bool adapts(const struct rs_nscc_conf *c, struct rs_nscc *n, const struct rs_nscc_ack *a,
		   bool lost, rs_time delay)
{
	bool bad, swallowed = false;

	if (n->ignored < n->to_ignore && (a->marked || lost)) {
		n->inc = n->received = 0;
		return true;
	}
	if (n->period_end != RS_NEVER && a->now <= n->period_end)
		return false;
	bad = n->nacked || lost || delay > ADAPT_TARGETS * c->target;
	if (n->period_end != RS_NEVER && bad && n->achieved < n->window_max >> ADAPT_GATE) {
		adapt(c, n, a);
		swallowed = true;
	}
	n->achieved = 0;
	n->period_end = a->now + n->base_rtt + c->target;
	return swallowed;
}

/* ---- The four cases ---- */

/* Bytes in a row that met no queue: a window of them, and it grows at once. */
static bool fast(const struct rs_nscc_conf *c, struct rs_nscc *n, uint32_t bytes, rs_time delay)
{
	if (delay >= FAST_DELAY) {
		n->fast_bytes = 0;
		return n->fast = false;
	}
	n->fast_bytes += bytes;
	n->fast = n->fast || n->fast_bytes > n->window;
	if (n->fast)
		n->window = (uint64_t)((double)n->window + bytes * c->fi_scale);
	return n->fast;
}

static void decrease(const struct rs_nscc_conf *c, struct rs_nscc *n, rs_time now)
{
	double keep;

	n->fast = false;
	n->fast_bytes = 0;
	if (n->delay <= c->target || (n->cut_at != RS_NEVER && now - n->cut_at <= n->base_rtt))
		return;
	rs_assert(n->delay > 0);
	keep = 1 - gamma_ * (double)(n->delay - c->target) / (double)n->delay;
	n->window = (uint64_t)((double)n->window * (keep > cut_most ? keep : cut_most));
	n->cut_at = now;
}

static void adjust(const struct rs_nscc_conf *c, struct rs_nscc *n, rs_time now)
{
	n->window += n->inc / n->window;
	if (now - n->eta_at >= c->rtt) {
		n->window = (uint64_t)((double)n->window + c->eta);
		n->eta_at = now;
	}
	n->inc = n->received = 0;
}

static void nscc_on_ack(const struct rs_nscc_conf *c, struct rs_nscc *n,
			const struct rs_nscc_ack *a, rs_time delay)
{
	n->achieved += a->bytes;
	n->received += a->bytes;
	n->ignored += a->bytes;
	if (adapts(c, n, a, false, delay))
		return;
	if (delay < c->target && !a->marked && !fast(c, n, a->bytes, delay))
		n->inc = (uint64_t)((double)n->inc +
				    c->alpha * a->bytes * (double)(c->target - delay));
	else if (delay >= c->target && !a->marked)
		n->inc = (uint64_t)((double)n->inc + c->fi * a->bytes);
	else if (delay >= c->target)
		decrease(c, n, a->now);
	bound(n, c->mtu);
	if (n->received > c->adjust_bytes || a->now - n->eta_at > c->rtt)
		adjust(c, n, a->now);
	bound(n, c->mtu);
}

static void dctcp_on_ack(const struct rs_nscc_conf *c, struct rs_nscc *n,
			 const struct rs_nscc_ack *a)
{
	uint64_t cut = a->bytes / 3;

	if (!a->marked)
		n->window += (uint64_t)a->bytes * c->mtu / n->window;
	else
		n->window = n->window > cut + c->mtu ? n->window - cut : c->mtu;
}

/* An old queue that drains counts as little. */
static void measure(const struct rs_nscc_conf *c, struct rs_nscc *n, rs_time delay, bool marked)
{
	average(n, !marked && delay > c->target ? (double)n->base_rtt * 0.25 : (double)delay);
}

void rs_nscc_on_ack(const struct rs_nscc_conf *c, struct rs_nscc *n, const struct rs_nscc_ack *a)
{
	rs_time delay = n->delay;

	rs_nscc_on_rtt(c, n, a->rtt);
	if (a->rtt > 0) {
		delay = a->rtt - n->base_rtt;
		measure(c, n, delay, a->marked);
	}
	if (c->kind == RS_UET_NSCC)
		nscc_on_ack(c, n, a, delay);
	else if (c->kind == RS_UET_DCTCP)
		dctcp_on_ack(c, n, a);
}

static void take(const struct rs_nscc_conf *c, struct rs_nscc *n, uint32_t bytes)
{
	n->window = n->window > (uint64_t)bytes + c->mtu ? n->window - bytes : c->mtu;
}

void rs_nscc_on_nack(const struct rs_nscc_conf *c, struct rs_nscc *n, const struct rs_nscc_ack *a)
{
	rs_nscc_on_rtt(c, n, a->rtt);
	if (c->kind == RS_UET_NO_WINDOW)
		return;
	if (c->kind == RS_UET_NSCC) {
		n->ignored += a->bytes;
		average(n, (double)c->rtt);
		n->nacked = true;
		if (adapts(c, n, a, true, n->delay))
			return;
	}
	take(c, n, a->bytes);
	if (c->kind == RS_UET_NSCC)
		bound(n, c->mtu);
}

void rs_nscc_on_timeout(const struct rs_nscc_conf *c, struct rs_nscc *n, uint32_t bytes)
{
	if (c->kind != RS_UET_NO_WINDOW)
		take(c, n, bytes);
}
