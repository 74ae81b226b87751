/*
 * A measured table beside what is expected; where it is below, which change of what was read would
 * give the same curve: single faults, and what was not read. Each is simulated over the table's
 * sizes, and the nearest are named with all that fit as well.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/look.h"
#include "audit/facts/nccl.h"
#include "audit/rules/run.h"
#include "base/units.h"
#include "collective/collective.h"
#include "expect/state.h"

enum { TRIED = 6 };
/* A cause explains a curve that it is so near to; others that are nearly as near fit as well. A
 * second measurement differs by a few per cent, too. */
static const double EXPLAINS = 0.1, ALIKE = 0.025, BETTER = 0.6;
/* What is part of the hosts as they were read matters from this gain on. */
static const double MATTERS = 0.02;

struct explaining {
	struct rs_expect *x;
	struct rs_audit *log; /* what the measured file says beside its table; NULL */
	const struct rs_expect_options *o;
	const struct rs_measured *m;
	struct rs_expect_measured *out;
	struct expect_model *model;     /* as the log says that it was run */
	bool listed;                    /* its list leaves NICs out */
	uint32_t n_tried, tried[TRIED]; /* rows */
	uint32_t n_found;
	struct expect_found found[EXPECT_FOUND];
	struct expect_change change[RS_EXPECT_CAUSES][2]; /* of causes that were not found */
	uint32_t n_change[RS_EXPECT_CAUSES];
	struct rs_error *e;
};

/* ---- What the log says of the test ---- */

static int op_of(const char *op)
{
	return op ? rs_coll_op_of(op) : (int)RS_COLL_ALL_REDUCE;
}

static uint32_t own_gpus(const struct expect_host *h)
{
	uint32_t n = 0;

	for (int i = 0; i < h->inside->n_parts; i++)
		n += h->inside->parts[i].kind == RS_PART_GPU;
	return n;
}

static void tell(struct explaining *w, enum expect_knob knob, double value)
{
	struct expect_change c = {.knob = knob, .value = value, .host = -1};

	expect_apply(w->x, w->model, &c);
	w->model->told |= UINT64_C(1) << knob;
}

/* The log tells the release that ran, unless --given does. */
static void tell_release(struct explaining *w)
{
	unsigned major, minor, patch = 0;

	if (!w->m->release || w->x->world->given.version ||
	    sscanf(w->m->release, "%u.%u.%u", &major, &minor, &patch) < 2)
		return;
	w->out->release = w->m->release;
	w->model->version = expect_release(w->x, rs_nccl_make(major, minor, patch));
	w->model->told |= UINT64_C(1) << KNOB_VERSION;
}

/* Of the hosts in the log, the one whose list has some of these NICs and not all; NULL: none. */
static const char *lists(const struct rs_audit *log, const struct rs_host *h)
{
	for (uint32_t i = 0; i < rs_facts_hosts(log->facts); i++) {
		const char *host = rs_facts_host(log->facts, i);
		uint32_t in = 0, out = 0;

		for (int k = 0; k < h->n_parts; k++) {
			bool is = expect_listed(log, host, h->parts[k].name);

			in += h->parts[k].kind == RS_PART_NIC && is;
			out += h->parts[k].kind == RS_PART_NIC && !is;
		}
		if (in && out)
			return host;
	}
	return NULL;
}

/* NICs that the log's own list has not take no part: NCCL_IB_HCA, "NET/IB : Using". */
static bool take_list(struct explaining *w)
{
	for (uint32_t i = 0; w->log && i < w->model->n; i++) {
		struct expect_host *h = &w->model->host[i];
		const char *host = lists(w->log, h->inside);
		uint8_t *lacks;

		if (!host)
			continue;
		lacks = rs_arena_alloc(w->x->arena, (size_t)h->inside->n_parts, sizeof(*lacks));
		if (!lacks)
			return false;
		if (h->lacks)
			memcpy(lacks, h->lacks, (size_t)h->inside->n_parts);
		for (int k = 0; k < h->inside->n_parts; k++) {
			struct rs_part *p = &h->inside->parts[k];

			if (p->kind != RS_PART_NIC || expect_listed(w->log, host, p->name))
				continue;
			p->kind = RS_PART_OTHER;
			lacks[k] |= LEFT_UNLISTED;
		}
		h->lacks = lacks;
		w->listed = true;
	}
	return true;
}

/* What the log says of itself and no run shows. */
static const char *own_word(const struct explaining *w, uint32_t hosts)
{
	for (uint32_t i = 0; w->log && hosts > 1 && i < rs_facts_hosts(w->log->facts); i++) {
		const char *network = rs_facts_value(w->log->facts, rs_facts_host(w->log->facts, i),
						     "nccl", "network");

		if (network && !strncmp(network, "Socket", 6))
			return "NCCL used TCP sockets, not RDMA (\"Using network Socket\", or "
			       "NET/Socket)";
	}
	for (uint32_t i = 0; w->log && hosts > 1 && i < rs_facts_hosts(w->log->facts); i++) {
		const char *host = rs_facts_host(w->log->facts, i);
		const struct rs_fact *f = rs_nccl_env(w->log, host, "NCCL_NET_GDR_LEVEL");
		uint32_t at = 0;

		if (f && (!strcasecmp(f->value, "LOC") || !strcmp(f->value, "0")))
			return "NCCL_NET_GDR_LEVEL turns GPUDirect RDMA off, so that copies go "
			       "through host memory";
		while ((f = rs_facts_next(w->log->facts, &at, host, "nccl", "gdr/")))
			if (!strcmp(f->value, "0"))
				return "NCCL used no GPUDirect RDMA (\"GPU Direct RDMA "
				       "Disabled\"), so "
				       "that copies go through host memory";
	}
	return NULL;
}

static const char *of_collective(struct explaining *w, struct rs_expect_figure *f)
{
	const struct rs_measured *m = w->m;
	struct expect_model *k = w->model;
	uint32_t gpus = k->n ? own_gpus(&k->host[0]) : 0;

	if (w->x->no_nccl)
		return w->x->no_nccl;
	if (op_of(m->op) < 0)
		return rs_arena_printf(w->x->arena, "%s_perf is not simulated", m->op);
	f->op = (enum rs_coll_op)op_of(m->op);
	f->hosts = m->n_hosts          ? m->n_hosts
		   : m->n_ranks > gpus ? m->n_ranks / gpus
		   : gpus < 2          ? 2
				       : 1;
	if (f->hosts > RS_EXPECT_HOSTS_MAX)
		return "it is of more than 64 hosts";
	if (m->n_ranks && m->n_ranks % f->hosts)
		return "its hosts have different numbers of ranks";
	k->gpus = m->n_ranks ? m->n_ranks / f->hosts : 0;
	if (k->gpus > gpus)
		return rs_arena_printf(w->x->arena, "it has %u ranks a host, and %s has %u GPUs",
				       k->gpus, k->host[0].name, gpus);
	k->gpus = k->gpus == gpus ? 0 : k->gpus;
	for (uint32_t i = 0; w->log && i < rs_facts_hosts(w->log->facts); i++)
		expect_variables(w->log, rs_facts_host(w->log->facts, i), k);
	tell_release(w);
	if (f->hosts > 1 && !take_list(w))
		return "out of memory";
	w->out->says = own_word(w, f->hosts);
	for (; k->n < f->hosts; k->n++) {
		k->host[k->n] = k->host[0];
		k->host[k->n].twin = true;
	}
	if (m->per_thread > 1)
		tell(w, KNOB_THREAD, m->per_thread);
	return NULL;
}

static void use_device(struct expect_host *h, const char *device)
{
	for (int i = 0; device && i < h->inside->n_parts; i++)
		if (h->inside->parts[i].kind == RS_PART_NIC &&
		    !strcmp(h->inside->parts[i].name, device))
			h->nic = i;
}

static const char *of_pair(struct explaining *w, struct rs_expect_figure *f)
{
	const struct rs_measured *m = w->m;
	struct expect_model *k = w->model;

	if (w->x->no_perftest)
		return w->x->no_perftest;
	if (m->atomic || (m->read && (m->both || m->kind == RS_MEASURED_LATENCY)))
		return "atomics, reads' latency and reads both ways are not run";
	f->test = m->kind == RS_MEASURED_LATENCY ? RS_EXPECT_MESSAGE
		  : m->read                      ? RS_EXPECT_READ
		  : m->both                      ? RS_EXPECT_BOTH
						 : RS_EXPECT_STREAM;
	f->hosts = 2;
	if (!w->o->nic)
		for (uint32_t i = 0; i < 2 && i < k->n; i++)
			use_device(&k->host[i], m->device);
	if (m->mtu)
		tell(w, KNOB_MTU, m->mtu);
	if (m->qps > 1 && f->test != RS_EXPECT_MESSAGE)
		tell(w, KNOB_QPS, m->qps > 8 ? 8 : m->qps);
	if (m->reads && f->test == RS_EXPECT_READ)
		tell(w, KNOB_READS, m->reads);
	if (m->link && !strcasecmp(m->link, "IB") && k->framing == 1)
		k->framing = (k->mtu + 82.0) / (k->mtu + 30.0);
	return NULL;
}

/* ---- Rows: some of the table's, from end to end ---- */

static bool fits(const struct rs_expect_figure *f, const struct rs_measured_row *r)
{
	if (f->test == RS_EXPECT_COLLECTIVE)
		return r->bytes >= 8;
	if (f->test == RS_EXPECT_MESSAGE)
		return r->bytes <= 8 << 20;
	return r->bytes <= 256 << 20;
}

static void choose_rows(struct explaining *w, const struct rs_expect_figure *f)
{
	const struct rs_measured *m = w->m;
	uint32_t usable[RS_MEASURED_ROWS_MAX], n = 0, take;

	for (uint32_t i = 0; i < m->n_rows; i++)
		if (fits(f, &m->rows[i]))
			usable[n++] = i;
	take = n < RS_EXPECT_ROWS ? n : RS_EXPECT_ROWS;
	for (uint32_t i = 0; i < take; i++) {
		const struct rs_measured_row *r =
			&m->rows[usable[take > 1 ? i * (n - 1) / (take - 1) : n - 1]];
		struct rs_expect_row *row = &w->out->row[w->out->n_rows++];

		*row = (struct rs_expect_row){.f = *f, .us = r->us};
		row->f.bytes = r->bytes;
		row->f.limit = "";
	}
}

/* perftest's time of a message both ways is of one direction's share of the sum. */
static int expect_rows(struct explaining *w)
{
	struct rs_expect_figure f[RS_EXPECT_ROWS];
	uint32_t n = w->out->n_rows;
	int err;

	for (uint32_t i = 0; i < n; i++)
		f[i] = w->out->row[i].f;
	err = expect_ranges(w->x, w->o, w->model, f, n, 0, 0.3, w->e);
	for (uint32_t i = 0; i < n && !err; i++) {
		struct rs_expect_row *r = &w->out->row[i];
		bool message = f[i].test == RS_EXPECT_MESSAGE;

		r->f = f[i];
		r->measured = message ? r->us : f[i].value * f[i].us / r->us;
		r->over = message ? r->measured < f[i].low : r->measured > f[i].high;
		r->met = message ? r->measured <= f[i].high : r->measured >= f[i].low;
		w->out->below += !r->met;
		w->out->over += r->over;
	}
	return err;
}

/* ---- Causes ---- */

/* What shows it on the machine. */
static const char *look_at(enum expect_knob knob)
{
	switch (knob) {
	case KNOB_LANES:
	case KNOB_GEN:
		return "lspci -vv: LnkSta of the NIC and of the port above it";
	case KNOB_RATES:
		return "ibstat, ethtool: the port's rate at both ends";
	case KNOB_MTU:
		return "ibv_devinfo: active_mtu; ip link: mtu, at both hosts and on the switches";
	case KNOB_LOSS:
		return "rdma statistic: out_of_sequence, local_ack_timeout_err, before and after; "
		       "on "
		       "InfiniBand perfquery: SymbolErrorCounter";
	case KNOB_PAUSED:
		return "ethtool -S: pause counters of the receiver, before and after; on "
		       "InfiniBand "
		       "perfquery: PortXmitWait of the switch's port";
	case KNOB_FAR:
		return "numactl --cpunodebind and --membind, by the NIC's numa_node";
	case KNOB_TAGS:
	case KNOB_MRRS:
		return "lspci -vvv as root: DevCtl's ExtTag and MaxReadReq";
	case KNOB_POSTS:
		return "the core's clock and its C-states: cpupower frequency-info, idle-info";
	case KNOB_NVLINK:
		return "nvidia-smi topo -m, nvidia-smi nvlink -s";
	case KNOB_STAGED:
		return "NCCL's log: GDRDMA; lsmod: nvidia_peermem";
	case KNOB_NICS:
		return "NCCL's log: NET/IB : Using; ibstat: ports that are down";
	default:
		return NULL;
	}
}

static void cause(struct explaining *w, bool unknown, enum expect_knob knob, double value, int host,
		  const char *text, const char *what)
{
	struct rs_expect_measured *out = w->out;
	uint32_t i = out->n_causes;

	if (i == RS_EXPECT_CAUSES || !what)
		return;
	out->cause[i] = (struct rs_expect_cause){
		.what = what, .unknown = unknown, .look = unknown ? NULL : look_at(knob)};
	w->change[i][0] =
		(struct expect_change){.knob = knob, .value = value, .host = host, .text = text};
	w->n_change[i] = 1;
	out->n_causes++;
}

static unsigned count(const struct rs_host *h, enum rs_part_kind kind)
{
	unsigned n = 0;

	for (int i = 0; i < h->n_parts; i++)
		n += h->parts[i].kind == kind;
	return n;
}

#define SAY(...) rs_arena_printf(w->x->arena, __VA_ARGS__)

/* Ports, slots, MTU, loss and pauses: what both kinds of tests may suffer from. */
static void common_causes(struct explaining *w, const struct rs_part *p)
{
	static const double shares[] = {0.5, 0.25};
	static const double losses[] = {1e-5, 1e-4, 1e-3};
	const struct expect_model *m = w->model;
	const char *layer = expect_told_layer(w->x, m->host[0].name, p);
	/* link-level credits: no packet is lost for want of room, and none is paused by a frame */
	bool ib = layer && !strcmp(layer, "InfiniBand");

	for (int i = 0; i < 2; i++) {
		cause(w, false, KNOB_RATES, shares[i], 1, NULL,
		      SAY("a port at %.4g Gb/s, not %.4g", (double)p->port_rate / 1e9 * shares[i],
			  (double)p->port_rate / 1e9));
		cause(w, false, KNOB_LANES, shares[i], 1, NULL,
		      SAY("a NIC's slot at Gen%u x%.0f, not x%u", p->up.gen,
			  p->up.lanes * shares[i], p->up.lanes));
	}
	for (int g = 1; g < p->up.gen && g <= 2; g++)
		cause(w, false, KNOB_GEN, -g, 1, NULL,
		      SAY("a NIC's slot at Gen%u x%u, not Gen%u", p->up.gen - g, p->up.lanes,
			  p->up.gen));
	for (unsigned mtu = m->mtu / 2; mtu >= 256; mtu /= 2)
		cause(w, false, KNOB_MTU, mtu, -1, NULL,
		      SAY("a path MTU of %u B, not %u", mtu, m->mtu));
	for (int i = 0; i < 3; i++)
		cause(w, false, KNOB_LOSS, losses[i], -1, NULL,
		      SAY("loss of one packet in %.0f, %s", 1 / losses[i],
			  ib ? "on a link that damages them" : "in a class without PFC"));
	for (int i = 0; i < 2; i++)
		cause(w, false, KNOB_PAUSED, shares[i], 1, NULL,
		      SAY("a receiver that %s for %.0f %% of the time",
			  ib ? "gives its switch no credits" : "pauses its switch",
			  100 * shares[i]));
	cause(w, false, KNOB_FORWARD, 5000, -1, NULL, "5 us more on the path");
	cause(w, false, KNOB_TAGS, 32, -1, NULL, "32 reads in flight (no extended tags)");
}

/* Without extended tags small requests hurt the more: both at once. */
static void few_reads(struct explaining *w)
{
	for (int mrrs = 256; mrrs >= 128; mrrs /= 2) {
		uint32_t i = w->out->n_causes;

		cause(w, false, KNOB_TAGS, 32, -1, NULL,
		      SAY("32 reads in flight of %d B each (no extended tags, MRRS)", mrrs));
		if (w->out->n_causes == i)
			return;
		w->change[i][1] =
			(struct expect_change){.knob = KNOB_MRRS, .value = mrrs, .host = -1};
		w->n_change[i] = 2;
	}
}

static void pair_causes(struct explaining *w)
{
	const struct rs_part *p = expect_nic(w->model, 0);
	struct rs_dma_limits d;

	if (!p)
		return;
	common_causes(w, p);
	d = rs_dma_limits_of(p, &rs_host_defaults);
	/* where perftest's head does not say how many */
	for (int n = 8; n >= 1 && !w->m->reads && w->out->row[0].f.test == RS_EXPECT_READ; n /= 2)
		cause(w, false, KNOB_READS, n, -1, NULL,
		      SAY("%d READs of a queue pair under way (-o), not 16", n));
	if (count(w->model->host[0].inside, RS_PART_SOCKET) > 1)
		cause(w, false, KNOB_FAR, 1, -1, NULL, "memory on the other socket than the NIC");
	few_reads(w);
	if (p->up.mrrs != 128)
		cause(w, false, KNOB_MRRS, 128, -1, NULL, "read requests of 128 B (MRRS)");
	for (double f = 0.5; d.qp_message_rate && f > 0.2; f /= 2)
		cause(w, false, KNOB_POSTS, d.qp_message_rate / 1e3 * f, -1, NULL,
		      SAY("a core that posts %.1f million messages a second, not %.1f",
			  d.qp_message_rate / 1e3 * f, d.qp_message_rate / 1e3));
}

static void variable(struct explaining *w, const char *setting)
{
	cause(w, false, KNOB_NCCL, 0, -1, setting, setting);
}

static void collective_causes(struct explaining *w, uint32_t hosts)
{
	static const char *const settings[] = {"NCCL_ALGO=Ring",       "NCCL_ALGO=Tree",
					       "NCCL_PROTO=LL",        "NCCL_PROTO=LL128",
					       "NCCL_PROTO=Simple",    "NCCL_MAX_NCHANNELS=1",
					       "NCCL_MAX_NCHANNELS=4", "NCCL_NVLS_ENABLE=0"};
	const struct expect_model *m = w->model;
	const struct rs_host *h = m->host[0].inside;
	unsigned nics = count(h, RS_PART_NIC), gpus = count(h, RS_PART_GPU);
	const struct rs_part *p = expect_nic(m, 0);

	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++)
		variable(w, settings[i]);
	if (h->n_xlinks && gpus > 1) {
		cause(w, false, KNOB_NVLINK, 0, -1, NULL, "no NVLink (P2P over PCIe)");
		cause(w, false, KNOB_NVLINK, 0.5, -1, NULL, "half of the NVLinks");
	}
	if (m->per_thread < 2 && gpus > 1)
		cause(w, false, KNOB_THREAD, gpus, -1, NULL,
		      SAY("one thread that starts the kernels of %u GPUs", gpus));
	if (hosts < 2 || !p)
		return;
	common_causes(w, p);
	cause(w, false, KNOB_STAGED, 1, -1, NULL, "no GPUDirect: data staged in host memory");
	if (nics > 1)
		cause(w, false, KNOB_NICS, 1, 1, NULL, "one NIC of one host that is down");
	for (unsigned n = nics / 2; n >= 1; n /= 2)
		cause(w, false, KNOB_NICS, nics - n, -1, NULL,
		      SAY("%u NIC%s in use of %u", n, n > 1 ? "s" : "", nics));
}

/* What was not read may be as bad as its sweep has it. */
static void unknown_causes(struct explaining *w, bool nccl)
{
	for (uint32_t u = 0; u < w->x->n_unknowns; u++) {
		const struct expect_sweep *s = &w->x->world->sweep[u];
		uint32_t i = w->out->n_causes;

		if (!(nccl ? s->nccl : s->perftest) || !s->n_low || i == RS_EXPECT_CAUSES ||
		    w->model->told >> s->low[0].knob & 1)
			continue;
		cause(w, true, KNOB_MTU, 0, -1, NULL,
		      SAY("%s: %s, not %s (it was not read)", w->x->unknown[u].what,
			  w->x->unknown[u].low, w->x->unknown[u].value));
		memcpy(w->change[i], s->low, s->n_low * sizeof(*s->low));
		w->n_change[i] = s->n_low;
	}
}

/* ---- Fits ---- */

/* Rows at which causes are tried: some from end to end. */
static void choose_tried(struct explaining *w)
{
	uint32_t n = w->out->n_rows;

	w->n_tried = n < TRIED ? n : TRIED;
	for (uint32_t i = 0; i < w->n_tried; i++)
		w->tried[i] = w->n_tried > 1 ? i * (n - 1) / (w->n_tried - 1) : 0;
	for (uint32_t i = 0; i < w->n_tried; i++) {
		const struct rs_expect_row *r = &w->out->row[w->tried[i]];

		w->out->apart += fabs(log(r->f.us / r->us)) / w->n_tried;
	}
}

/* A cause that a run does not end with explains nothing. */
static double apart(const struct explaining *w, const struct expect_run *r)
{
	double sum = 0;
	uint32_t at = 0;

	for (uint32_t i = 0; i < w->n_tried; i++) {
		const struct rs_expect_row *row = &w->out->row[w->tried[i]];
		uint32_t n = r[at].as_bytes ? 2 : 1;
		double us = expect_us(&row->f, &r[at], n);

		if (!(us > 0))
			return INFINITY;
		sum += fabs(log(us / row->us)) / w->n_tried;
		at += n;
	}
	return sum;
}

/* The hosts without what is wrong in them, but for the keep-th; but: without that one alone. */
static const struct expect_model *mended(struct explaining *w, uint32_t keep, bool but)
{
	struct expect_model *m = expect_copy(w->x, w->model);

	for (uint32_t i = 0; m && i < w->n_found; i++)
		for (uint32_t k = 0; w->found[i].is && (i == keep) == but && k < w->found[i].n; k++)
			expect_apply(w->x, m, &w->found[i].change[k]);
	return m;
}

/* A set of runs, at the sizes that are tried or at the longest alone. */
struct tries {
	struct expect_run *r;
	uint32_t n;
};

static uint32_t try_model(struct explaining *w, struct tries *t, const struct expect_model *m,
			  bool longest)
{
	uint32_t first = t->n;

	for (uint32_t k = longest ? w->n_tried - 1 : 0; k < w->n_tried; k++)
		t->n += expect_runs_of(m, &w->out->row[w->tried[k]].f, &t->r[t->n]);
	return first;
}

static double longest_us(const struct explaining *w, const struct expect_run *r)
{
	return expect_us(&w->out->row[w->tried[w->n_tried - 1]].f, r, r->as_bytes ? 2 : 1);
}

/* Of runs of all sizes that are tried, those of the longest. */
static const struct expect_run *longest_of(const struct explaining *w, const struct expect_run *r)
{
	for (uint32_t k = 0; k + 1 < w->n_tried; k++)
		r += r->as_bytes ? 2 : 1;
	return r;
}

static void add_found(struct explaining *w, uint32_t i, const struct expect_run *alone,
		      const struct expect_run *without)
{
	struct rs_expect_measured *out = w->out;
	const struct expect_found *f = &w->found[i];
	const struct rs_expect_row *row = &out->row[w->tried[w->n_tried - 1]];
	double us = without ? longest_us(w, without) : 0;

	if (out->n_causes == RS_EXPECT_CAUSES)
		return;
	out->cause[out->n_causes++] =
		(struct rs_expect_cause){.what = f->what,
					 .check = f->check,
					 .found = true,
					 .is = f->is,
					 .gain = us > 0 ? row->f.us / us - 1 : 0,
					 .apart = apart(w, alone)};
}

/* All that is wrong in the hosts as they were read, where no part of it alone is enough. */
static void add_together(struct explaining *w)
{
	struct rs_enumeration all = {.n = 0};
	struct rs_expect_measured *out = w->out;

	for (uint32_t i = 0; i < out->n_causes; i++)
		if (out->cause[i].is && out->cause[i].gain >= MATTERS)
			rs_enumerate(&all, "; ", "%s%s%s",
				     out->cause[i].check ? out->cause[i].check : "",
				     out->cause[i].check ? " " : "", out->cause[i].what);
	if (all.n < 2 || out->n_causes == RS_EXPECT_CAUSES)
		return;
	out->cause[out->n_causes++] = (struct rs_expect_cause){
		.what = rs_arena_printf(w->x->arena, "together: %s", all.text),
		.found = true,
		.is = true,
		.apart = out->apart};
}

/* What was found: each alone, and, where the hosts as they were read have it, without it. */
static int try_found(struct explaining *w)
{
	struct tries t = {
		.r = calloc(((size_t)2 * EXPECT_FOUND + 1) * TRIED * 2, sizeof(struct expect_run))};
	uint32_t alone[EXPECT_FOUND], without[EXPECT_FOUND], healthy = 0;
	struct rs_expect_measured *out = w->out;
	bool enough = t.r != NULL;
	int err;

	for (uint32_t i = 0; i < w->n_found; i++)
		out->n_is += w->found[i].is;
	if (enough && out->n_is) {
		const struct expect_model *m = mended(w, EXPECT_FOUND, false);

		enough = m != NULL;
		healthy = enough ? try_model(w, &t, m, false) : 0;
	}
	for (uint32_t i = 0; i < w->n_found && enough; i++) {
		const struct expect_found *f = &w->found[i];
		const struct expect_model *m =
			f->is ? mended(w, i, false)
			      : expect_changed(w->x, w->model, f->change, f->n);
		const struct expect_model *k = f->is ? mended(w, i, true) : m;

		enough = m && k;
		alone[i] = enough ? try_model(w, &t, m, false) : 0;
		without[i] = enough && f->is ? try_model(w, &t, k, true) : 0;
	}
	err = enough ? expect_run_all(w->x, w->o, t.r, t.n, 0.3, 0.5, w->e)
		     : rs_error_set(w->e, -ENOMEM, "out of memory");
	if (!err && out->n_is) {
		double us = longest_us(w, longest_of(w, &t.r[healthy]));
		const struct rs_expect_row *row = &out->row[w->tried[w->n_tried - 1]];

		out->mended = apart(w, &t.r[healthy]);
		out->mended_value = row->f.test == RS_EXPECT_MESSAGE ? us
				    : us > 0                         ? row->f.value * row->f.us / us
								     : 0;
	}
	for (uint32_t i = 0; i < w->n_found && !err; i++)
		add_found(w, i, &t.r[alone[i]], w->found[i].is ? &t.r[without[i]] : NULL);
	if (!err)
		add_together(w);
	free(t.r);
	return err;
}

/* From the first-th cause on: those that were not found. */
static int try_causes(struct explaining *w, uint32_t from)
{
	struct rs_expect_measured *out = w->out;
	uint32_t first[RS_EXPECT_CAUSES], n = 0;
	struct expect_run *r = calloc((size_t)RS_EXPECT_CAUSES * TRIED * 2, sizeof(*r));
	int err;

	if (!r)
		return rs_error_set(w->e, -ENOMEM, "out of memory");
	for (uint32_t i = from; i < out->n_causes; i++) {
		const struct expect_model *m =
			expect_changed(w->x, w->model, w->change[i], w->n_change[i]);

		if (!m) {
			free(r);
			return rs_error_set(w->e, -ENOMEM, "out of memory");
		}
		first[i] = n;
		for (uint32_t k = 0; k < w->n_tried; k++)
			n += expect_runs_of(m, &out->row[w->tried[k]].f, &r[n]);
	}
	err = expect_run_all(w->x, w->o, r, n, 0.5, 1, w->e);
	for (uint32_t i = from; i < out->n_causes && !err; i++)
		out->cause[i].apart = apart(w, &r[first[i]]);
	free(r);
	return err;
}

/* What was found is believed before what was not, where both fit. */
static double order(const struct rs_expect_cause *c)
{
	return c->apart - (c->found ? ALIKE : 0);
}

static int by_apart(const void *a, const void *b)
{
	const struct rs_expect_cause *x = a, *y = b;
	double p = order(x), q = order(y);

	return (p > q) - (p < q);
}

/* How far the model itself may err, as the sizes that are tried have it. */
static double model_error(const struct explaining *w)
{
	double sum = 0;

	for (uint32_t i = 0; i < w->n_tried; i++) {
		const struct rs_expect_figure *f = &w->out->row[w->tried[i]].f;

		sum += log1p(expect_error(f->test, f->op, f->bytes)) / w->n_tried;
	}
	return sum;
}

/* Is it near, and much nearer than the hosts are without it? */
static bool explains(const struct rs_expect_measured *out, const struct rs_expect_cause *c,
		     double most)
{
	double without = c->is ? out->mended : out->apart;

	if (c->is && c->gain >= MATTERS && c->apart < without - MATTERS / 2)
		return c->apart <= most;
	return c->apart <= most && c->apart <= BETTER * without;
}

static void rank(const struct explaining *w)
{
	struct rs_expect_measured *out = w->out;
	double most = fmax(EXPLAINS, model_error(w) / 2), best;

	qsort(out->cause, out->n_causes, sizeof(*out->cause), by_apart);
	/* what does not explain it, though it was found, stands behind what does */
	for (uint32_t i = 0; i < out->n_causes; i++) {
		struct rs_expect_cause c = out->cause[i];

		if (!explains(out, &c, most))
			continue;
		memmove(&out->cause[out->n_alike + 1], &out->cause[out->n_alike],
			(i - out->n_alike) * sizeof(c));
		out->cause[out->n_alike++] = c;
	}
	best = out->n_alike ? order(&out->cause[0]) : 0;
	for (uint32_t i = out->n_alike; i-- > 1;)
		if (order(&out->cause[i]) > best + ALIKE)
			out->n_alike = i;
}

/* In a wide range a curve may lie far below what is expected. It is doubtful where nothing that was
 * not read explains it, and it is half of that or less, or a fault stands clearly apart. */
static bool is_doubtful(const struct rs_expect_measured *out)
{
	static const double FAR = 0.34 /* ln 1.4 */, CLEAR = 0.25, HALF = 0.5;
	const struct rs_expect_row *last = &out->row[out->n_rows - 1];
	bool message = last->f.test == RS_EXPECT_MESSAGE;
	double share = message ? last->f.value / last->measured : last->measured / last->f.value;

	if (out->below)
		return false;
	for (uint32_t i = 0; i < out->n_alike; i++)
		if (out->cause[i].unknown)
			return false;
	return share <= HALF || (share < 1 && out->apart > FAR && out->n_alike &&
				 out->cause[0].apart <= CLEAR * out->apart);
}

/* The checks, where they were not made yet. */
static int judge(struct rs_audit *a, struct rs_error *e)
{
	return a->n_findings ? 0 : rs_audit_run(a, NULL, NULL, e);
}

int rs_expect_compare(struct rs_expect *x, const struct rs_expect_options *o,
		      const struct rs_measured *m, struct rs_audit *log, const char *name,
		      struct rs_expect_measured **out, struct rs_error *e)
{
	struct explaining *w = rs_arena_alloc(x->arena, 1, sizeof(*w));
	struct rs_expect_figure f = {.test = RS_EXPECT_COLLECTIVE};
	bool nccl = m->kind == RS_MEASURED_NCCL;
	struct expect_model as_read;
	uint32_t found;
	int err;

	*out = rs_arena_alloc(x->arena, 1, sizeof(**out));
	if (!w || !*out)
		return rs_error_set(e, -ENOMEM, "out of memory");
	*w = (struct explaining){.x = x, .log = log, .o = o, .m = m, .out = *out, .e = e};
	w->out->file = name;
	w->out->zero = m->zero;
	w->model = expect_copy(x, &x->world->model);
	if (!w->model)
		return rs_error_set(e, -ENOMEM, "out of memory");
	err = judge(x->audit, e);
	err = err || !log ? err : judge(log, e);
	if (err)
		return err;
	w->out->why_not = !w->model->n ? x->no_perftest
			  : nccl       ? of_collective(w, &f)
				       : of_pair(w, &f);
	if (w->out->why_not)
		return 0;
	choose_rows(w, &f);
	if (!w->out->n_rows) {
		w->out->why_not = "none of its sizes is simulated";
		return 0;
	}
	err = expect_rows(w);
	if (err)
		return err;
	choose_tried(w);
	/* as many READs as this test had under way, and its own NICs limit it, not those of the
	 * figures */
	as_read = x->world->model;
	if (w->listed)
		x->world->model = *w->model;
	x->world->model.reads = w->model->reads;
	err = expect_limit_of(x, o, &w->out->row[w->out->n_rows - 1].f, e);
	x->world->model = as_read;
	if (err)
		return err;
	w->n_found = expect_found(x, w->model, log, f.test, f.hosts, w->found, w->out);
	err = w->n_found ? try_found(w) : 0;
	found = w->out->n_causes;
	/* as expected, within what a second measurement would differ: nothing more is tried */
	if (!err && (w->out->below || w->out->apart > EXPLAINS)) {
		nccl ? collective_causes(w, f.hosts) : pair_causes(w);
		unknown_causes(w, nccl);
		err = try_causes(w, found);
	}
	if (!err) {
		rank(w);
		w->out->doubtful = is_doubtful(w->out);
	}
	return err;
}
