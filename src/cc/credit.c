/*
 * Receiver-driven credits for queue pairs: a sender sends what the receiver of its data granted,
 * and the receiver grants no more than its own link carries, to one sender after the other. pHost
 * (CoNEXT 2015), ExpressPass (SIGCOMM 2017), NDP (SIGCOMM 2017) and Homa (SIGCOMM 2018) do; Ultra
 * Ethernet's RCCC is of the kind. Here are the figures; rdma/credit.c asks, grants and holds.
 */
#include <string.h>
#include "cc/cc.h"

struct credit_params {
	double first, most; /* bandwidth-delay products */
	double share;       /* of the line */
	int64_t grant;      /* bytes */
	int64_t again;      /* ps */
	int64_t base_rtt;   /* ps */
};

static const struct credit_params *params_of(const struct rs_cc_params *p)
{
	return (const struct credit_params *)p;
}

static int64_t bytes_of(const struct credit_params *p, int64_t line_rate, double products)
{
	double bytes = (double)line_rate / 8 * (double)p->base_rtt / (double)RS_S * products;

	return bytes < (double)(1 << 30) ? (int64_t)bytes : 1 << 30; /* totals are modulo 2^32 */
}

static void credits(const struct rs_cc_params *params, int64_t line_rate, struct rs_cc_credits *out)
{
	const struct credit_params *p = params_of(params);

	*out = (struct rs_cc_credits){
		.first = bytes_of(p, line_rate, p->first),
		.most = bytes_of(p, line_rate, p->most > p->first ? p->most : p->first),
		.grant = (uint32_t)p->grant,
		.share = (uint32_t)(p->share * 65536),
		.again = p->again,
	};
}

static void init(const struct rs_cc_params *params, struct rs_cc *cc, int64_t line_rate,
		 rs_time now)
{
	const struct credit_params *p = params_of(params);

	rs_cc_begin(cc, line_rate);
	cc->byte_credit = bytes_of(p, line_rate, p->first);
}

/* Spent: more is granted, or nothing goes. */
static void on_bytes(const struct rs_cc_params *p, struct rs_cc *cc, rs_time now)
{
}

static void on_cnp(const struct rs_cc_params *p, struct rs_cc *cc, rs_time now)
{
	/* the receiver knows its queue */
}

static void on_loss(const struct rs_cc_params *p, struct rs_cc *cc, bool timeout, rs_time now)
{
	/* what goes again needs credit, too */
}

#define P(field) offsetof(struct credit_params, field)
static const struct rs_cc_param param_table[] = {
	{"first", 'n', P(first), 0, 100,
	 "sent before it is asked for, in bandwidth-delay products; 1 (NDP, Homa)"},
	{"most", 'n', P(most), 0.1, 100,
	 "that a sender holds, in bandwidth-delay products; 1.5 (as RCCC's)"},
	{"grant", 'b', P(grant), 64, 1e6, "of one credit packet; 8192B, two packets (ours)"},
	{"share", 'n', P(share), 0.1, 1, "of the line that is granted; 0.99 (as RCCC's)"},
	{"again", 't', P(again), 1e6, 1e12,
	 "a sender that waits so long asks again, each time in vain doubles it; 500us (ours)"},
	{"base_rtt", 't', P(base_rtt), 1e3, 1e12, "of the delay product; the fabric's longest"},
	{0},
};
#undef P

static const struct credit_params unasked = {
	.first = 1,
	.most = 1.5,
	.share = 0.99,
	.grant = 8192,
	.again = 500 * RS_US,
	.base_rtt = 20 * RS_US,
};
static const struct credit_params asked = {
	.first = 0,
	.most = 1.5,
	.share = 0.99,
	.grant = 8192,
	.again = 500 * RS_US,
	.base_rtt = 20 * RS_US,
};
static const struct rs_cc_preset preset_table[] = {
	{"unasked", "the first bandwidth-delay product goes unasked, as NDP's and Homa's",
	 &unasked},
	{"asked", "nothing goes before it is granted, as ExpressPass's", &asked},
	{0},
};

const struct rs_cc_ops rs_cc_credit = {
	.name = "credits",
	.what = "receiver-driven credits: a sender sends what its receiver grants",
	.params_bytes = sizeof(struct credit_params),
	.params = param_table,
	.presets = preset_table,
	.needs = RS_CC_NEEDS_CREDITS,
	.init = init,
	.on_time = rs_cc_no_timer,
	.on_bytes = on_bytes,
	.on_cnp = on_cnp,
	.on_loss = on_loss,
	.credits = credits,
};
