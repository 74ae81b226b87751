/* No congestion control: line rate, no window. */
#include "cc/cc.h"

static void init(const struct rs_cc_params *p, struct rs_cc *cc, int64_t line_rate, rs_time now)
{
	rs_cc_begin(cc, line_rate);
}

static void on_cnp(const struct rs_cc_params *p, struct rs_cc *cc, rs_time now)
{
}

static void on_loss(const struct rs_cc_params *p, struct rs_cc *cc, bool timeout, rs_time now)
{
}

static const struct rs_cc_param no_params[] = {{0}};
static const struct rs_cc_preset no_presets[] = {{0}};

const struct rs_cc_ops rs_cc_none = {
	.name = "none",
	.what = "no congestion control: senders stay at line rate",
	.params = no_params,
	.presets = no_presets,
	.init = init,
	.on_time = rs_cc_no_timer,
	.on_bytes = rs_cc_no_bytes,
	.on_cnp = on_cnp,
	.on_loss = on_loss,
};
