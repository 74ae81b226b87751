/* What a reader of descriptions refuses key by key, for a fabric that was built by calls: figures
 * in their ranges. A generated network in one step. */
#include <errno.h>
#include "fabric/build.h"

struct range {
	const char *key;
	double found, least, most;
};

/* A NaN is in no range. */
static void in_range(struct rs_load *l, const char *of, const struct range *r)
{
	for (; r->key && !l->err; r++)
		if (!(r->found >= r->least && r->found <= r->most))
			rs_load_fail(l, -ERANGE, (struct rs_where){0},
				     "%s%s: expected %.15g to %.15g, found %.15g", of, r->key,
				     r->least, r->most, r->found);
}

#define NANOSECOND  ((double)RS_NS)
#define MILLISECOND ((double)RS_MS)
#define TIB         0x1p40

static void check_class(struct rs_load *l, const struct rs_qos_class *c)
{
	const struct range r[] = {{"alpha_shift", c->alpha_shift, -7, 7},
				  {"kmax", (double)c->kmax, 0, TIB},
				  {"kmin", (double)c->kmin, 0, (double)c->kmax},
				  {"ecn_rate", (double)c->ecn_rate, 0, 1e15},
				  {"pmax", c->pmax, 0, 1},
				  {"weight", c->weight, 0, 100},
				  {"dscp", c->dscp, 0, 63},
				  {"reserved", (double)c->reserved, 0, 0x1p30},
				  {"xon_offset", (double)c->xon_offset, 0, 0x1p30},
				  {"egress_limit", (double)c->egress_limit, 0, TIB},
				  {0}};

	in_range(l, "class: ", r);
}

static void check_qos(struct rs_load *l, const struct rs_qos *q)
{
	const struct range r[] = {{"data_class", q->data_tc, 0, RS_TCS - 1},
				  {"cnp_class", q->cnp_tc, 0, RS_TCS - 1},
				  {"cnp_dscp", q->cnp_dscp, 0, 63},
				  {"ack_class", q->ack_tc, 0, RS_TCS - 1},
				  {"ack_dscp", q->ack_dscp, 0, 63},
				  {"buffer", (double)q->buffer, 0, TIB},
				  {"cell", q->cell, 1, 16384},
				  {"headroom_scale", q->headroom_scale, 0, 100},
				  {"max_frame", q->max_frame, 64, 65535},
				  {"pause_quanta", q->pause_quanta, 1, RS_QUANTA_MAX},
				  {"pause_response", (double)q->pause_response,
				   (double)RS_PAUSE_RESPONSE_802_3, MILLISECOND},
				  {"watchdog", (double)q->watchdog, 0, 100 * (double)RS_S},
				  {"switch_latency", (double)q->switch_latency, 0, MILLISECOND},
				  {"routing", q->routing, RS_FABRIC_ECMP, RS_FABRIC_ROUND_ROBIN},
				  {"flowlet_gap", (double)q->flowlet_gap, 1, (double)RS_S},
				  {"nic_buffer", (double)q->nic_buffer, 16384, TIB},
				  {"trim_bytes", q->trim_bytes, 64, 1024},
				  {"trim_class", q->trim_tc, 0, RS_TCS - 1},
				  {"queue_bdp", q->queue_bdp, -1, 100},
				  {0}};

	in_range(l, "qos: ", r);
	for (int i = 0; i < RS_TCS; i++)
		check_class(l, &q->tc[i]);
	for (int i = 0; i < 64 && !l->err; i++)
		if (q->tc_of_dscp[i] >= RS_TCS)
			rs_load_fail(l, -ERANGE, (struct rs_where){0},
				     "qos: dscp %d: expected a class from 0 to %d, found %u", i,
				     RS_TCS - 1, q->tc_of_dscp[i]);
}

static void check_uet(struct rs_load *l, const struct rs_uet_settings *u)
{
	const struct range r[] = {
		{"window", u->window, RS_FABRIC_NSCC, RS_FABRIC_NO_WINDOW},
		{"balance", u->balance, 0, RS_FABRIC_BALANCES - 1},
		{"paths", u->paths, 1, 32768},
		{"freeze", (double)u->freeze, 0, (double)RS_S},
		{"header", u->header, u->header ? 64 : 0, 512},
		{"control", u->control, u->control ? 64 : 0, 512},
		{"ack_bytes", u->ack_bytes, 1, 1 << 24},
		{"credit", u->credit, 256, 1 << 20},
		{"mpr", u->mpr, u->mpr ? 64 : 0, 16384},
		{"rto", (double)u->rto, 0, (double)RS_S},
		{"base_rtt", (double)u->base_rtt, 0, (double)RS_S},
		{"target", (double)u->target, 0, (double)RS_S},
		{0},
	};

	in_range(l, "transport: uet: ", r);
	if (!l->err && (u->paths & (u->paths - 1) || u->mpr & (u->mpr - 1)))
		rs_load_fail(l, -EINVAL, (struct rs_where){0},
			     "transport: uet: expected powers of two for paths and mpr, found %u "
			     "and %u",
			     u->paths, u->mpr);
	if (!l->err && u->window == RS_FABRIC_NO_WINDOW && !u->credits)
		rs_load_fail(l, -EINVAL, (struct rs_where){0},
			     "transport: uet: window: none needs credits: true, or nothing holds a "
			     "sender");
}

static void check_transport(struct rs_load *l, const struct rs_transport_conf *t)
{
	const struct range r[] = {
		{"mtu", t->mtu, 256, 4096},
		{"timeout", t->timeout, 0, 31},
		{"retry", t->retry, 0, 7},
		{"rnr_retry", t->rnr_retry, 0, 7},
		{"min_rnr_timer", t->min_rnr_timer, 0, 31},
		{"max_rd_atomic", t->max_rd_atomic, 1, 128},
		{"ack_every", t->ack_every, 1, 1 << 20},
		{"ack_delay", (double)t->ack_delay, 0, (double)RS_S},
		{"min_rto", (double)t->min_rto, 0, 100 * (double)RS_S},
		{"payload", t->payload, t->payload ? 64 : 0, 4096},
		{"recovery", t->recovery, RS_FABRIC_GO_BACK_N, RS_FABRIC_SELECTIVE},
		{"in_flight", t->in_flight, 0, RS_IN_FLIGHT_MAX},
		{"balance", t->balance, 0, RS_FABRIC_BALANCES - 1},
		{"paths", t->paths, 1, RS_FABRIC_PORTS_MAX},
		{"reorder", (double)t->reorder, -1, (double)RS_S},
		{"rto_high", (double)t->rto_high, (double)RS_US, (double)RS_S},
		{"rto_low", (double)t->rto_low, (double)RS_US, (double)t->rto_high},
		{0},
	};

	in_range(l, "transport: ", r);
	check_uet(l, &t->uet);
	if (!l->err && (t->mtu & (t->mtu - 1)))
		rs_load_fail(l, -EINVAL, (struct rs_where){0},
			     "transport: mtu: expected 256, 512, 1024, 2048 or 4096, found %u",
			     t->mtu);
	if (!l->err && t->quirks.window_payload && t->framing == RS_FABRIC_ROCEV2)
		rs_load_fail(l, -EINVAL, (struct rs_where){0},
			     "transport: window_payload needs framing: ns-3, whose headers have "
			     "one length");
}

static void own_cc(struct rs_load *l, const struct rs_fabric *f, const char *of, uint8_t cc)
{
	const struct range r[] = {{"cc, of rs_fabric_add_cc()", cc, 0, f->n_ccs}, {0}};

	in_range(l, of, r);
}

static void check_own_ccs(struct rs_load *l, const struct rs_fabric *f)
{
	for (int i = 0; i < RS_TCS; i++)
		own_cc(l, f, "class: ", f->qos.tc[i].cc);
	for (uint32_t i = 0; i < f->n_hosts; i++)
		own_cc(l, f, "a host: ", f->hosts[i].cc);
	for (uint32_t i = 0; i < f->n_jobs; i++) {
		own_cc(l, f, "a job: ", f->jobs[i].cc);
		for (uint32_t k = 0; k < f->jobs[i].n_flows && !l->err; k++)
			own_cc(l, f, "a flow: ", f->jobs[i].flows[k].cc);
	}
}

static void check_links(struct rs_load *l, const struct rs_fabric *f)
{
	for (uint32_t i = 0; i < f->n_links && !l->err; i++) {
		const struct rs_fabric_link *k = &f->links[i];
		const struct range r[] = {
			{"rate", (double)k->rate, 1, 1e15},
			{"delay", (double)k->delay, NANOSECOND, 10 * MILLISECOND},
			{"loss", k->loss, 0, 1},
			{0},
		};

		in_range(l, "a link: ", r);
	}
}

static void check_collective(struct rs_load *l, const struct rs_fabric *f,
			     const struct rs_collective_conf *c)
{
	const struct range r[] = {
		{"GPUs of the fabric", f->n_gpus, 2, RS_ENDPOINTS_MAX},
		{"op", c->op, RS_COLL_ALL_REDUCE, RS_COLL_SEND_RECV},
		{"algorithm", c->algorithm, RS_ALGO_RING, RS_ALGO_NCCL},
		{"bytes", (double)c->bytes, 1, 0x1p44},
		{"ranks", c->n_ranks, c->n_ranks ? 2 : 0, f->n_gpus},
		{"ranks listed", c->n_listed, c->listed ? c->n_ranks : 0, f->n_gpus},
		{"channels", c->channels, 0, RS_CHANNELS_MAX},
		{"qps", c->qps, 1, RS_QPS_MAX},
		{"chunk", (double)c->chunk, 1024, 0x1p30},
		{"slots", c->slots, 1, RS_SLOTS_MAX},
		{"step_latency", (double)c->step_latency, 0, (double)RS_S},
		{"registration", (double)c->registration, 0, (double)RS_S},
		{"repeat", c->repeat, 1, RS_REPEATS_MAX},
		{"class", c->tc, 0, RS_TCS - 1},
		{"start", (double)c->start, 0, (double)RS_START_MAX},
		{"type_bytes", c->type_bytes, 1, 8},
		{0},
	};

	in_range(l, "collective: ", r);
	for (uint32_t i = 0; i < c->n_listed && !l->err; i++)
		if (c->listed[i] >= f->n_gpus)
			rs_load_fail(l, -ERANGE, (struct rs_where){0},
				     "collective: there is no GPU %u; there are %u, from 0",
				     c->listed[i], f->n_gpus);
}

static void check_train(struct rs_load *l, const struct rs_train_conf *t)
{
	const struct range r[] = {{"parameters", t->parameters, 1, 1e16},
				  {"tokens", t->tokens, 1, 1e15},
				  {"dp", t->dp, 0, RS_ENDPOINTS_MAX},
				  {"tp", t->tp, 1, RS_ENDPOINTS_MAX},
				  {"pp", t->pp, 1, RS_ENDPOINTS_MAX},
				  {"flops", t->flops, 1, 1e18},
				  {"bucket", (double)t->bucket, 1024, TIB},
				  {"overlap", t->overlap, 0, 1},
				  {"simulate", (double)t->simulate, 1024, 0x1p44},
				  {0}};

	if (!t->step.on)
		in_range(l, "train: ", r);
}

static void check_jobs(struct rs_load *l, const struct rs_fabric *f)
{
	for (uint32_t i = 0; i < f->n_jobs && !l->err; i++) {
		const struct rs_job *j = &f->jobs[i];

		if (rs_job_collective(j))
			check_collective(l, f, rs_job_collective(j));
		if (j->kind == RS_JOB_TRAIN)
			check_train(l, &j->train);
		if (!l->err && j->kind == RS_JOB_FLOWS && !j->n_flows)
			rs_load_fail(l, -EINVAL, j->at, "job '%s': no flows in it", j->name);
	}
}

int rs_fabric_finish(struct rs_load *l, struct rs_fabric *f)
{
	static const struct rs_pause_places nowhere, of_tier[RS_TIERS];

	rs_assert(l->arena == f->arena);
	if (!l->err && !f->n_links)
		rs_load_fail(l, -EINVAL, (struct rs_where){0}, "a fabric without a network");
	check_links(l, f);
	check_transport(l, &f->transport);
	check_qos(l, &f->qos);
	for (int i = 0; i < RS_TIERS; i++)
		if (f->tier_qos[i])
			check_qos(l, f->tier_qos[i]);
	for (uint32_t i = 0; i < f->n_switches; i++)
		if (f->switches[i].qos)
			check_qos(l, f->switches[i].qos);
	rs_fabric_check_pauses(l, f, f->qos.nic_buffer != RS_NIC_BUFFER, &nowhere, of_tier);
	if (!f->routes.n_groups)
		rs_fabric_route(l, f);
	check_own_ccs(l, f);
	check_jobs(l, f);
	rs_fabric_close_jobs(l, f);
	return l->err;
}

/* ---- A generated network ---- */

/* What c says, over the defaults. */
static void say(struct rs_network_conf *to, const struct rs_network_conf *c)
{
	rs_network_defaults(to);
	to->nics = c->nics ? c->nics : to->nics;
	to->k = c->k;
	to->tiers = c->tiers ? c->tiers : to->tiers;
	to->leaves = c->leaves;
	to->spines = c->spines;
	to->hosts_per_leaf = c->hosts_per_leaf;
	to->rails = c->rails;
	to->ports = c->ports ? c->ports : to->ports;
	to->rate = to->uplink_rate = c->rate ? c->rate : to->rate;
	to->delay = to->uplink_delay = c->delay ? c->delay : to->delay;
	to->uplink_rate = c->uplink_rate ? c->uplink_rate : to->uplink_rate;
	to->uplink_delay = c->uplink_delay ? c->uplink_delay : to->uplink_delay;
	to->loss = c->loss;
}

static void check_network(struct rs_load *l, enum rs_network_kind kind,
			  const struct rs_network_conf *c, uint32_t links, double oversubscription)
{
	const bool tree = kind == RS_NET_FAT_TREE, spine = kind == RS_NET_LEAF_SPINE;
	const struct range r[] = {
		{"kind", kind, RS_NET_SINGLE, RS_NET_RAIL},
		{"rate", (double)c->rate, 1, 1e15},
		{"uplink_rate", (double)c->uplink_rate, 1, 1e15},
		{"delay", (double)c->delay, NANOSECOND, 10 * MILLISECOND},
		{"uplink_delay", (double)c->uplink_delay, NANOSECOND, 10 * MILLISECOND},
		{"loss", c->loss, 0, 1},
		{"nics", c->nics, 1, RS_NICS_MAX},
		{"k", c->k, tree ? 2 : 0, RS_FAT_TREE_MAX},
		{"tiers", c->tiers, 2, 3},
		{"ports", c->ports, 1, RS_SWITCH_PORTS_MAX},
		{"leaves", c->leaves, spine, RS_LEAVES_MAX},
		{"spines", c->spines, spine, RS_SWITCH_PORTS_MAX},
		{"rails", c->rails, 0, RS_SWITCH_PORTS_MAX},
		{"hosts_per_leaf", c->hosts_per_leaf, 0, RS_SWITCH_PORTS_MAX},
		{"links", links, 0, RS_SWITCH_PORTS_MAX},
		{"oversubscription", oversubscription, 0.01, 1000},
		{0},
	};

	in_range(l, "network: ", r);
	if (!l->err && tree && c->k % 2)
		rs_load_fail(l, -EINVAL, (struct rs_where){0},
			     "network: k: expected an even number from 2 to 128, found %u", c->k);
}

void rs_fabric_network(struct rs_load *l, struct rs_fabric *f, enum rs_network_kind kind,
		       const struct rs_network_conf *c, double oversubscription)
{
	struct rs_clos_given g = {.oversubscription = oversubscription != 0 ? oversubscription : 1,
				  .ports = c->ports,
				  .spines = c->spines};
	bool clos = kind == RS_NET_LEAF_SPINE || kind == RS_NET_RAIL;

	f->kind = kind;
	say(&f->net, c);
	check_network(l, kind, &f->net, c->links, g.oversubscription);
	if (!l->err && !f->n_hosts)
		rs_fabric_plain_hosts(l, f, c->plain_hosts ? c->plain_hosts : rs_fabric_capacity(f),
				      NULL, g.at);
	if (clos)
		rs_clos_shape(l, f, &g);
	if (clos && c->links)
		f->net.links = c->links;
	if (clos && !l->err)
		rs_clos_close(l, f, &g);
	rs_fabric_generate(l, f, g.at);
}
