/* Defaults: of traffic classes, transport, congestion control, networks and jobs. */
#include <errno.h>
#include <string.h>
#include "base/units.h"
#include "fabric/build.h"

void rs_qos_map_dscp(struct rs_qos *q)
{
	memset(q->tc_of_dscp, 0, sizeof(q->tc_of_dscp));
	for (int i = 0; i < RS_TCS; i++)
		q->tc_of_dscp[q->tc[i].dscp] = (uint8_t)i;
}

static void class_defaults(struct rs_qos *q)
{
	for (int i = 0; i < RS_TCS; i++)
		q->tc[i] = (struct rs_qos_class){.kmin = 150000,
						 .kmax = 1500000,
						 .pmax = 1,
						 .weight = 1,
						 .dscp = (uint8_t)(8 * i)};
	q->tc[3].lossless = q->tc[3].ecn = true;
	q->tc[3].dscp = 26;
	q->tc[6].weight = 0;
	q->tc[6].dscp = 48;
}

/* The HPCC paper's ns-3, as it was measured (docs/validation.md); a port at 100 Gb/s. */
static void ns3_defaults(struct rs_qos *q)
{
	struct rs_qos_class *c = &q->tc[3];

	c->kmin = 400000;
	c->kmax = 1600000;
	c->ecn_rate = 100 * RS_GBPS;
	c->pmax = 0.2;
	c->alpha_shift = -3;
	c->reserved = 4096;
	c->xon_offset = 3072;
	q->buffer = 32 << 20;
	q->switch_latency = 0;
	q->mark_at_dequeue = true;
	q->pause_response = 0;
	q->quirks.pause_holds = q->quirks.headroom_delays = q->quirks.alpha_by_rate = true;
}

static void qos_defaults(struct rs_qos *q, enum rs_fabric_preset preset)
{
	*q = (struct rs_qos){.data_tc = 3,
			     .cnp_tc = 6,
			     .buffer = 64000000,
			     .cell = 144,
			     .max_frame = 4200,
			     .pause_quanta = RS_QUANTA_MAX,
			     .pause_response = RS_PAUSE_RESPONSE_802_3,
			     .pfc = true,
			     .ecn_on = true,
			     .headroom_scale = 1,
			     .switch_latency = 500 * RS_NS,
			     .flowlet_gap = 50 * RS_US,
			     .hash_fields = RS_FABRIC_HASH_FIELDS,
			     .n_ar = 4,
			     .ar = {16000, 64000, 256000, 1000000},
			     .nic_buffer = RS_NIC_BUFFER,
			     .trim_bytes = 64,
			     .trim_tc = 6};
	class_defaults(q);
	if (preset == RS_PRESET_NS3) {
		ns3_defaults(q);
		q->cell = 1;
	}
	rs_qos_map_dscp(q);
	q->cnp_dscp = q->tc[q->cnp_tc].dscp;
}

static void transport_defaults(struct rs_transport_conf *t, enum rs_fabric_preset preset)
{
	*t = (struct rs_transport_conf){.mtu = 4096,
					.timeout = 14,
					.retry = 7,
					.rnr_retry = 7,
					.min_rnr_timer = 12,
					.max_rd_atomic = 16,
					.ack_every = 8,
					.paths = 64,
					.reorder = -1,
					.rto_low = 100 * RS_US, /* IRN (SIGCOMM 2018), §4.1 */
					.rto_high = 320 * RS_US};
	if (preset != RS_PRESET_NS3)
		return;
	t->timeout = 0;
	t->ack_every = 1;
	t->framing = RS_FABRIC_NS3;
	t->payload = 1000;
	t->quirks.ack_echo = t->quirks.whole_ns = t->quirks.pace_fixed = t->quirks.window_payload =
		t->quirks.ack_unpaused = true;
}

/* The consortium's simulator (uet-htsim 40ccb052), on links as a description has them. */
static void uet_defaults(struct rs_uet_settings *u)
{
	*u = (struct rs_uet_settings){.balance = RS_FABRIC_BALANCE_MIXED,
				      .paths = 64,
				      .freeze = 10 * RS_MS,
				      .ack_bytes = 16384,
				      .credit = 16384};
}

void rs_fabric_uet_defaults(struct rs_fabric *f)
{
	struct rs_qos *q = &f->qos;

	f->transport.kind = RS_FABRIC_UET;
	q->tc[q->data_tc].lossless = false;
	q->tc[q->data_tc].alpha_shift = 7;
	q->tc[q->cnp_tc].alpha_shift = 7;
	q->trim = q->mark_at_dequeue = true;
	q->pfc = false;
	q->buffer = 0; /* without an end: queues have limits of their own */
	q->cell = 1;
	q->overflow = RS_FABRIC_LOSE_EITHER;
	q->queue_bdp = -1;
	q->hash = RS_FABRIC_HASH_RANDOM;
}

void rs_fabric_defaults(struct rs_fabric *f)
{
	qos_defaults(&f->qos, f->preset);
	transport_defaults(&f->transport, f->preset);
	uet_defaults(&f->transport.uet);
	f->cc = rs_fabric_cc_default(f);
	f->host_params = rs_host_defaults;
	rs_network_defaults(&f->net);
}

void rs_network_defaults(struct rs_network_conf *c)
{
	*c = (struct rs_network_conf){.nics = 1,
				      .ports = RS_SWITCH_PORTS_MAX,
				      .tiers = 3,
				      .rate = 400 * RS_GBPS,
				      .delay = 500 * RS_NS};
	c->uplink_rate = c->rate;
	c->uplink_delay = c->delay;
}

void rs_collective_defaults(struct rs_collective_conf *c, const struct rs_fabric *f)
{
	*c = (struct rs_collective_conf){.qps = 1,
					 .chunk = 512 << 10,
					 .slots = 8,
					 .repeat = 1,
					 .tc = f->qos.data_tc,
					 .type = "float",
					 .type_bytes = 4,
					 .bytes = 1 << 20};
}

void rs_train_defaults(struct rs_train_conf *t, const struct rs_fabric *f)
{
	*t = (struct rs_train_conf){.type_bytes = 2,
				    .tp = 1,
				    .pp = 1,
				    .flops = 400e12,
				    .bucket = 25 << 20,
				    .overlap = 1,
				    .simulate = 64 << 20};
	rs_collective_defaults(&t->collective, f);
	t->collective.type = "bfloat16"; /* buckets are of the gradients' */
	t->step = (struct rs_step_conf){.cp = 1,
					.ep = 1,
					.chunks = 1,
					.micro_batch = 1,
					.skew = 1,
					.dispatch = 2,
					.scale = 1};
}

struct rs_fabric *rs_fabric_create(struct rs_load *l, const char *name,
				   enum rs_fabric_preset preset, struct rs_error *e)
{
	struct rs_fabric *f;

	*l = (struct rs_load){.e = e, .arena = rs_arena_create((size_t)16 << 30)};
	if (!l->arena) {
		l->err = rs_error_set(e, -ENOMEM, "out of memory");
		return NULL;
	}
	f = rs_load_take(l, 1, sizeof(*f));
	l->name = rs_load_string(l, name);
	if (l->err) {
		rs_arena_destroy(l->arena);
		return NULL;
	}
	f->arena = l->arena;
	f->name = l->name;
	f->preset = preset;
	rs_fabric_defaults(f);
	return f;
}

void rs_fabric_free(struct rs_fabric *f)
{
	if (f)
		rs_arena_destroy(f->arena);
}
