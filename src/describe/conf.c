/* Traffic classes (802.1Qbb, 802.1Qaz, DSCP), congestion control, transport and the host model's
 * parameters, each with its default. */
#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include "base/units.h"
#include "describe/load.h"

static void load_class(struct rs_load *l, struct rs_qos *q, const struct rs_node *n)
{
	static const char *const known[] = {"class",        "lossless", "alpha_shift", "ecn",
					    "kmin",         "kmax",     "ecn_rate",    "pmax",
					    "weight",       "dscp",     "reserved",    "xon_offset",
					    "egress_limit", "cc",       NULL};
	struct rs_qos_class *c;
	int64_t i = 0, shift;

	if (!rs_node_keys(l, n, "a class", known) || !rs_node_need(l, n, "class", "a class"))
		return;
	rs_node_int(l, n, "class", 0, RS_TCS - 1, &i);
	c = &q->tc[i];
	shift = c->alpha_shift;
	rs_node_bool(l, n, "lossless", &c->lossless);
	rs_node_int(l, n, "alpha_shift", -7, 7, &shift);
	c->alpha_shift = (int)shift;
	rs_node_bool(l, n, "ecn", &c->ecn);
	rs_node_bytes(l, n, "kmin", 0, UINT64_C(1) << 40, &c->kmin);
	rs_node_bytes(l, n, "kmax", 0, UINT64_C(1) << 40, &c->kmax);
	rs_node_rate_or_none(l, n, "ecn_rate", &c->ecn_rate);
	rs_node_share(l, n, "pmax", 0, 1, &c->pmax);
	rs_node_u8(l, n, "weight", 0, 100, &c->weight);
	rs_node_u8(l, n, "dscp", 0, 63, &c->dscp);
	if (rs_node_get(n, "dscp"))
		q->tc_of_dscp[c->dscp] = (uint8_t)i;
	rs_node_bytes(l, n, "reserved", 0, UINT64_C(1) << 30, &c->reserved);
	rs_node_bytes(l, n, "xon_offset", 0, UINT64_C(1) << 30, &c->xon_offset);
	rs_node_bytes(l, n, "egress_limit", 0, UINT64_C(1) << 40, &c->egress_limit);
	if (!l->err && c->kmin > c->kmax)
		rs_load_fail(l, -EINVAL, n->at,
			     "kmin is above kmax: expected kmin of at most %llu B, found %llu B",
			     (unsigned long long)c->kmax, (unsigned long long)c->kmin);
}

static void load_dscp_map(struct rs_load *l, struct rs_qos *q, const struct rs_node *n)
{
	if (!l->err && n->kind != RS_NODE_MAP)
		rs_load_fail(l, -EINVAL, n->at,
			     "dscp: expected a mapping of DSCP to class, as {26: 3, 48: 6}");
	for (const struct rs_item *i = l->err ? NULL : n->first; i && !l->err; i = i->next) {
		struct rs_error e = {0};
		int64_t dscp = 0, tc = 0;
		const char *s = rs_node_scalar(l, i->value, "dscp");

		if (rs_parse_int(i->key, 0, 63, &dscp, &e))
			rs_load_fail(l, -EINVAL, i->at, "dscp: %s", e.what);
		else if (s && rs_parse_int(s, 0, RS_TCS - 1, &tc, &e))
			rs_load_fail(l, -EINVAL, i->value->at, "class of DSCP %s: %s", i->key,
				     e.what);
		q->tc_of_dscp[dscp] = (uint8_t)tc;
	}
}

/* all: q is of all switches, and each class has its own DSCP; else n changes what is there. */
static void load_classes(struct rs_load *l, struct rs_qos *q, const struct rs_node *n, bool all)
{
	const struct rs_node *list = rs_node_get(n, "classes"), *map = rs_node_get(n, "dscp");

	if (list && rs_node_is_list(l, list, "classes"))
		for (const struct rs_item *i = list->first; i && !l->err; i = i->next) {
			const struct rs_node *cc = rs_node_get(i->value, "cc");

			load_class(l, q, i->value);
			if (cc && !all)
				rs_load_fail(
					l, -EINVAL, cc->at,
					"cc: congestion control is the senders', no switch's; "
					"expected it in fabric.qos.classes, a host, job or flow");
		}
	if (all)
		rs_qos_map_dscp(q);
	if (map)
		load_dscp_map(l, q, map);
}

/* What is a switch's own. */
#define SWITCH_KEYS                                                                             \
	"classes", "dscp", "buffer", "cell", "pfc", "ecn", "headroom_scale", "max_frame",       \
		"pause_quanta", "watchdog", "switch_latency", "cut_through", "mark_at_dequeue", \
		"routing", "pause_holds", "headroom_delays", "alpha_by_rate", "flowlet_gap",    \
		"flowlet_choice", "pause_response", "hash", "hash_fields", "hash_seed",         \
		"ar_sample", "ar_thresholds", "ar_sticky", "trim", "trim_bytes", "trim_class",  \
		"overflow", "queue_bdp"

static void get_response(struct rs_load *l, struct rs_qos *q, const struct rs_node *n)
{
	const struct rs_node *v = n ? rs_node_get(n, "pause_response") : NULL;

	if (v && v->kind == RS_NODE_SCALAR && !strcmp(v->text, "802.3"))
		q->pause_response = RS_PAUSE_RESPONSE_802_3;
	else
		rs_node_time(l, n, "pause_response", 0, RS_MS, &q->pause_response);
}

static void load_switch(struct rs_load *l, struct rs_qos *q, const struct rs_node *n, bool all)
{
	uint64_t cell = q->cell, frame = q->max_frame;
	int64_t quanta = q->pause_quanta;

	load_classes(l, q, n, all);
	rs_node_bytes(l, n, "buffer", 0, UINT64_C(1) << 40, &q->buffer);
	rs_node_bytes(l, n, "cell", 1, 16384, &cell);
	rs_node_bool(l, n, "pfc", &q->pfc);
	rs_node_bool(l, n, "ecn", &q->ecn_on);
	rs_node_share(l, n, "headroom_scale", 0, 100, &q->headroom_scale);
	rs_node_bytes(l, n, "max_frame", 64, 65535, &frame);
	rs_node_int(l, n, "pause_quanta", 1, 65535, &quanta);
	rs_node_time(l, n, "watchdog", 0, 100 * RS_S, &q->watchdog);
	rs_node_time(l, n, "switch_latency", 0, RS_MS, &q->switch_latency);
	rs_node_bool(l, n, "cut_through", &q->cut_through);
	rs_node_bool(l, n, "mark_at_dequeue", &q->mark_at_dequeue);
	load_routing(l, q, n);
	load_trimming(l, q, n);
	get_response(l, q, n);
	rs_node_bool(l, n, "pause_holds", &q->quirks.pause_holds);
	rs_node_bool(l, n, "headroom_delays", &q->quirks.headroom_delays);
	rs_node_bool(l, n, "alpha_by_rate", &q->quirks.alpha_by_rate);
	q->cell = (uint32_t)cell;
	q->max_frame = (uint32_t)frame;
	q->pause_quanta = (uint16_t)quanta;
}

const char *const tier_names[] = {"leaf", "spine", "core", NULL};

struct rs_qos *load_own_qos(struct rs_load *l, const struct rs_qos *base, const char *what,
			    const struct rs_node *n)
{
	static const char *const known[] = {SWITCH_KEYS, NULL};
	struct rs_qos *q = rs_node_keys(l, n, what, known) ? rs_load_take(l, 1, sizeof(*q)) : NULL;

	if (!q)
		return NULL;
	*q = *base;
	load_switch(l, q, n, false);
	return q;
}

/* qos.tiers: {leaf: {...}, spine: {...}}: what differs from the rest of qos there. */
static void load_tiers(struct rs_load *l, struct rs_fabric *f, const struct rs_node *n)
{
	if (!n || !rs_node_keys(l, n, "tiers", tier_names))
		return;
	for (int t = 0; t < RS_TIERS && !l->err; t++) {
		const struct rs_node *own = rs_node_get(n, tier_names[t]);

		if (own)
			f->tier_qos[t] = load_own_qos(l, &f->qos, tier_names[t], own);
	}
}

/* A class's own congestion control: of all senders, whatever a switch makes of the class. */
static void class_ccs(struct rs_load *l, struct rs_fabric *f, const struct rs_node *classes)
{
	for (const struct rs_item *i = classes ? classes->first : NULL; i && !l->err; i = i->next) {
		uint8_t own = load_own_cc(l, f, i->value);
		int64_t c = 0;

		rs_node_int(l, i->value, "class", 0, RS_TCS - 1, &c);
		if (own)
			f->qos.tc[c].cc = own;
	}
}

static struct rs_where key_at(const struct rs_node *n, const char *key)
{
	const struct rs_node *v = n ? rs_node_get(n, key) : NULL;

	return v ? v->at : n ? n->at : (struct rs_where){0};
}

/* Classes that the list of classes names. */
static unsigned named_classes(const struct rs_node *list)
{
	unsigned named = 0;

	for (const struct rs_item *i = list ? list->first : NULL; i; i = i->next) {
		const struct rs_node *class = rs_node_get(i->value, "class");
		int64_t c = 0;

		if (class && class->kind == RS_NODE_SCALAR &&
		    !rs_parse_int(class->text, 0, RS_TCS - 1, &c, NULL))
			named |= 1u << c;
	}
	return named;
}

/* A class that is not described is as the first, but for its DSCP. */
static void like_the_first(struct rs_qos *q, unsigned tc)
{
	uint8_t dscp = q->tc[tc].dscp;

	q->tc[tc] = q->tc[q->hop_tc[0]];
	q->tc[tc].dscp = dscp;
}

/* qos.hop_classes: [3, 4, 5]. */
static void load_hop_classes(struct rs_load *l, struct rs_qos *q, const struct rs_node *n)
{
	const struct rs_node *list = n ? rs_node_get(n, "hop_classes") : NULL;
	unsigned named = n ? named_classes(rs_node_get(n, "classes")) : 0, seen = 0;

	if (!list || !rs_node_is_list(l, list, "hop_classes"))
		return;
	for (const struct rs_item *i = list->first; i && !l->err; i = i->next) {
		const char *s = rs_node_scalar(l, i->value, "hop_classes");
		struct rs_error e = {0};
		int64_t tc = 0;

		if (l->err)
			return;
		if (rs_parse_int(s, 0, RS_TCS - 1, &tc, &e))
			rs_load_fail(l, -EINVAL, i->value->at, "hop_classes: %s", e.what);
		else if (seen >> tc & 1)
			rs_load_fail(l, -EINVAL, i->value->at,
				     "hop_classes: class %s is there twice; expected another", s);
		if (l->err)
			return;
		seen |= 1u << tc;
		q->hop_tc[q->n_hop_tcs++] = (uint8_t)tc;
		if (!(named >> tc & 1))
			like_the_first(q, (unsigned)tc);
	}
	if (!l->err && q->n_hop_tcs == 1)
		rs_load_fail(l, -EINVAL, list->at,
			     "hop_classes: expected two classes or more, as [3, 4, 5], or none");
}

static void check_hop_classes(struct rs_load *l, const struct rs_qos *q, const struct rs_node *n)
{
	for (unsigned i = 0; i < q->n_hop_tcs && !l->err; i++)
		if (q->hop_tc[i] == q->cnp_tc || (q->trim && q->hop_tc[i] == q->trim_tc) ||
		    q->tc[q->hop_tc[i]].lossless != q->tc[q->hop_tc[0]].lossless)
			rs_load_fail(l, -EINVAL, key_at(n, "hop_classes"),
				     "hop_classes: expected classes alike, all lossless or none, "
				     "and not CNPs' (%u) or of what was cut; found %u",
				     q->cnp_tc, q->hop_tc[i]);
}

/* qos.ack_class, with the DSCP of that class or another one. */
static void load_ack_class(struct rs_load *l, struct rs_qos *q, const struct rs_node *n)
{
	const struct rs_node *dscp = n ? rs_node_get(n, "ack_dscp") : NULL;

	q->ack_apart = n && rs_node_get(n, "ack_class");
	if (!q->ack_apart) {
		if (dscp)
			rs_load_fail(l, -EINVAL, dscp->at,
				     "ack_dscp: expected ack_class beside it, whose DSCP it is");
		return;
	}
	rs_node_u8(l, n, "ack_class", 0, RS_TCS - 1, &q->ack_tc);
	q->ack_dscp = q->tc[q->ack_tc].dscp;
	rs_node_u8(l, n, "ack_dscp", 0, 63, &q->ack_dscp);
}

void load_qos(struct rs_load *l, struct rs_fabric *f, const struct rs_node *n)
{
	static const char *const known[] = {SWITCH_KEYS,   "data_class", "cnp_class",  "cnp_dscp",
					    "ack_class",   "ack_dscp",   "nic_buffer", "tiers",
					    "hop_classes", NULL};
	struct rs_qos *q = &f->qos;

	if (n && !rs_node_keys(l, n, "qos", known))
		return;
	load_switch(l, q, n, true);
	load_hop_classes(l, q, n);
	class_ccs(l, f, n ? rs_node_get(n, "classes") : NULL);
	rs_node_u8(l, n, "data_class", 0, RS_TCS - 1, &q->data_tc);
	rs_node_u8(l, n, "cnp_class", 0, RS_TCS - 1, &q->cnp_tc);
	q->cnp_dscp = q->tc[q->cnp_tc].dscp;
	rs_node_u8(l, n, "cnp_dscp", 0, 63, &q->cnp_dscp);
	load_ack_class(l, q, n);
	rs_node_bytes(l, n, "nic_buffer", 16384, UINT64_C(1) << 40, &q->nic_buffer);
	check_hop_classes(l, q, n);
	load_tiers(l, f, n ? rs_node_get(n, "tiers") : NULL);
	if (!l->err && q->trim && q->trim_tc == q->data_tc)
		rs_load_fail(l, -EINVAL, key_at(n, "trim_class"),
			     "trim_class: what was cut overtakes data; expected another class than "
			     "data_class, %u",
			     q->data_tc);
}

const char *const recoveries[] = {"go-back-n", "selective", NULL};
/* rs_transport_conf.balance. */
const char *const rc_balances[] = {"fixed", "oblivious", "bitmap", "reps", "mixed", NULL};

/* Which UDP source port each packet has. */
static void get_balance(struct rs_load *l, const struct rs_node *n, struct rs_transport_conf *t)
{
	uint32_t paths = t->paths;
	int balance = t->balance;

	rs_node_name(l, n, "balance", rc_balances, &balance);
	rs_node_u32(l, n, "paths", 1, RS_FABRIC_PORTS_MAX, &paths);
	if (!l->err && (paths & (paths - 1)))
		rs_load_fail(l, -EINVAL, key_at(n, "paths"),
			     "paths: expected a power of two, found %u", paths);
	t->balance = (uint8_t)balance;
	t->paths = (uint16_t)paths;
}

static void get_recovery(struct rs_load *l, const struct rs_node *n, struct rs_transport_conf *t)
{
	int recovery = (int)t->recovery;

	rs_node_name(l, n, "recovery", recoveries, &recovery);
	t->recovery = (__typeof__(t->recovery))recovery;
	rs_node_u32(l, n, "in_flight", 0, RS_IN_FLIGHT_MAX, &t->in_flight);
	rs_node_time(l, n, "reorder", 0, RS_S, &t->reorder);
	rs_node_time(l, n, "rto_low", RS_US, RS_S, &t->rto_low);
	rs_node_time(l, n, "rto_high", RS_US, RS_S, &t->rto_high);
	if (!l->err && t->rto_low > t->rto_high)
		rs_load_fail(
			l, -EINVAL, n->at,
			"rto_low is for few packets in flight: expected no more than rto_high");
	get_balance(l, n, t);
	for (unsigned i = 0; i < 6 && !l->err && t->recovery != RS_FABRIC_SELECTIVE; i++) {
		static const char *const of_selective[] = {"in_flight", "reorder", "rto_low",
							   "rto_high",  "balance", "paths"};

		if (rs_node_get(n, of_selective[i]))
			rs_load_fail(l, -EINVAL, rs_node_get(n, of_selective[i])->at,
				     "%s: expected recovery: selective beside it, whose it is",
				     of_selective[i]);
	}
}

static void get_payload(struct rs_load *l, const struct rs_node *n, struct rs_transport_conf *t)
{
	uint64_t v = t->payload;

	rs_node_bytes(l, n, "payload", 0, UINT64_MAX >> 1, &v);
	if (!l->err && v && (v < 64 || v > 4096))
		rs_load_fail(l, -EINVAL, rs_node_get(n, "payload")->at,
			     "payload: expected 64 to 4096 bytes, or 0 for the path MTU");
	t->payload = (uint16_t)v;
}

void load_transport(struct rs_load *l, struct rs_fabric *f, const struct rs_node *n)
{
	static const char *const known[] = {
		"ipv6",           "timeout",   "retry",          "rnr_retry",    "min_rnr_timer",
		"max_rd_atomic",  "ack_every", "ack_delay",      "min_rto",      "ack_echo",
		"framing",        "payload",   "window_payload", "ack_unpaused", "whole_ns",
		"pace_fixed",     "recovery",  "in_flight",      "reorder",      "rto_low",
		"rto_high",       "balance",   "paths",          "kind",         "uet",
		"cnp_moderation", NULL};
	static const char *const framings[] = {"rocev2", "ns-3", "htsim", NULL};
	static const char *const moderations[] = {"qp", "ip", "port", NULL};
	struct rs_transport_conf *t = &f->transport;
	int framing = (int)t->framing, moderation = (int)t->cnp_moderation;

	if (!n || !rs_node_keys(l, n, "transport", known))
		return;
	load_uet(l, f, n);
	rs_node_bool(l, n, "ipv6", &t->ipv6);
	rs_node_u8(l, n, "timeout", 0, 31, &t->timeout);
	rs_node_u8(l, n, "retry", 0, 7, &t->retry);
	rs_node_u8(l, n, "rnr_retry", 0, 7, &t->rnr_retry);
	rs_node_u8(l, n, "min_rnr_timer", 0, 31, &t->min_rnr_timer);
	rs_node_u8(l, n, "max_rd_atomic", 1, 128, &t->max_rd_atomic);
	rs_node_u32(l, n, "ack_every", 1, 1 << 20, &t->ack_every);
	rs_node_time(l, n, "ack_delay", 0, RS_S, &t->ack_delay);
	rs_node_time(l, n, "min_rto", 0, 100 * RS_S, &t->min_rto);
	rs_node_bool(l, n, "ack_echo", &t->quirks.ack_echo);
	rs_node_name(l, n, "framing", framings, &framing);
	t->framing = (__typeof__(t->framing))framing;
	rs_node_name(l, n, "cnp_moderation", moderations, &moderation);
	t->cnp_moderation = (__typeof__(t->cnp_moderation))moderation;
	get_payload(l, n, t);
	get_recovery(l, n, t);
	rs_node_bool(l, n, "whole_ns", &t->quirks.whole_ns);
	rs_node_bool(l, n, "pace_fixed", &t->quirks.pace_fixed);
	rs_node_bool(l, n, "window_payload", &t->quirks.window_payload);
	rs_node_bool(l, n, "ack_unpaused", &t->quirks.ack_unpaused);
	if (!l->err && t->quirks.window_payload && t->framing == RS_FABRIC_ROCEV2)
		rs_load_fail(l, -EINVAL, n->at,
			     "window_payload needs framing: ns-3, whose headers have one length");
}

struct host_time {
	const char *key;
	size_t at;
};
#define T(name)                                              \
	{                                                    \
#name, offsetof(struct rs_host_params, name) \
	}
static const struct host_time host_times[] = {
	T(phy_latency), T(switch_latency), T(root_write),     T(root_p2p),     T(dram_read),
	T(gpu_write),   T(gpu_read),       T(nvlink_hop),     T(nic_pipeline), T(post),
	T(mmio),        T(poll),           T(credit_latency), {NULL, 0}};
static const struct host_time host_limits[] = {
	T(read_buffer), T(tags), T(posted_data_credits), T(posted_header_credits), {NULL, 0}};
static const struct host_time host_counts[] = {
	T(completion_chunk), T(header_write), T(header_completion), T(header_read), {NULL, 0}};
static const struct host_time host_shares[] = {T(dll_efficiency), T(xlink_efficiency), {NULL, 0}};
#undef T

void load_host_model(struct rs_load *l, struct rs_fabric *f, const struct rs_node *n)
{
	static const char *const known[] = {"phy_latency",
					    "switch_latency",
					    "root_write",
					    "root_p2p",
					    "dram_read",
					    "gpu_write",
					    "gpu_read",
					    "nvlink_hop",
					    "nic_pipeline",
					    "post",
					    "mmio",
					    "poll",
					    "credit_latency",
					    "read_buffer",
					    "tags",
					    "posted_data_credits",
					    "posted_header_credits",
					    "completion_chunk",
					    "header_write",
					    "header_completion",
					    "header_read",
					    "dll_efficiency",
					    "xlink_efficiency",
					    "inline",
					    NULL};
	char *p = (char *)&f->host_params;

	if (!n || !rs_node_keys(l, n, "host_model", known))
		return;
	for (const struct host_time *t = host_times; t->key; t++)
		rs_node_time(l, n, t->key, 0, RS_MS, (rs_time *)(void *)(p + t->at));
	for (const struct host_time *t = host_counts; t->key; t++)
		rs_node_u32(l, n, t->key, 1, 1 << 24, (uint32_t *)(void *)(p + t->at));
	for (const struct host_time *t = host_shares; t->key; t++)
		rs_node_share(l, n, t->key, 0.01, 1, (double *)(void *)(p + t->at));
	for (const struct host_time *t = host_limits; t->key; t++) /* 0: by model or slot */
		rs_node_u32(l, n, t->key, 0, 1 << 24, (uint32_t *)(void *)(p + t->at));
	rs_node_u32(l, n, "inline", 0, 1024, &f->host_params.inline_bytes);
	if (rs_node_get(n, "inline") && !f->host_params.inline_bytes)
		f->host_params.inline_bytes = RS_NO_LIMIT;
}

static struct rs_pause_places places(const struct rs_node *n)
{
	return (struct rs_pause_places){key_at(n, "nic_buffer"), key_at(n, "pause_response"),
					key_at(n, "pause_quanta")};
}

void check_pauses(struct rs_load *l, struct rs_fabric *f, const struct rs_node *n)
{
	const struct rs_node *tiers = n ? rs_node_get(n, "tiers") : NULL;
	struct rs_pause_places all = places(n), tier[RS_TIERS];

	for (int t = 0; t < RS_TIERS; t++)
		tier[t] = places(tiers ? rs_node_get(tiers, tier_names[t]) : NULL);
	rs_fabric_check_pauses(l, f, n && rs_node_get(n, "nic_buffer"), &all, tier);
}
