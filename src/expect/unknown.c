/* What was not read: what is assumed in its place, and between what it is swept. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/look.h"
#include "audit/facts/nccl.h"
#include "base/units.h"
#include "expect/state.h"
#include "nccl/plan.h"

/* ---- --given ---- */

static int bad(struct rs_error *e, const char *given, const char *expected)
{
	return rs_error_set(e, -EINVAL, "--given %s: expected %s", given, expected);
}

static const char *value_of(const char *given, const char *key)
{
	size_t n = strlen(key);

	return !strncmp(given, key, n) && given[n] == '=' ? given + n + 1 : NULL;
}

static int number(const char *given, const char *v, double min, double max, double *out,
		  struct rs_error *e)
{
	char *end, range[64];

	*out = strtod(v, &end);
	if (end != v && !*end && *out >= min && *out <= max)
		return 0;
	snprintf(range, sizeof(range), "a number, %g to %g", min, max);
	return bad(e, given, range);
}

static int take_given(struct expect_given *g, const char *s, struct rs_error *e)
{
	const char *v;

	if ((v = value_of(s, "rate")))
		return number(s, v, 1, 3200, &g->gbps, e);
	if ((v = value_of(s, "mtu"))) {
		int err = number(s, v, 256, 4096, &g->mtu, e);
		unsigned mtu = (unsigned)g->mtu;

		return err ? err : mtu & (mtu - 1) ? bad(e, s, "256, 512, 1024, 2048 or 4096") : 0;
	}
	if ((v = value_of(s, "delay")))
		return number(s, v, 1, 100000, &g->delay, e);
	if ((v = value_of(s, "switch"))) {
		g->has_forward = true;
		return number(s, v, 0, 100000, &g->forward, e);
	}
	if ((v = value_of(s, "nvlink")))
		return number(s, v, 0, 10000, &g->nvlink, e);
	if ((v = value_of(s, "gpu"))) {
		g->gpu = v;
		return rs_nccl_gpu_find(v) || rs_nccl_gpu_amd(v)
			       ? 0
			       : bad(e, s, "a GPU's model, as H100, A100-PCIE or MI300X");
	}
	if ((v = value_of(s, "nic"))) {
		g->nic = v;
		return rs_nic_model_find(v) ? 0
					    : bad(e, s, "a NIC's model, as ConnectX-7 or Thor2");
	}
	if ((v = value_of(s, "layer"))) {
		g->layer = v;
		return strcasecmp(v, "InfiniBand") && strcasecmp(v, "Ethernet")
			       ? bad(e, s, "InfiniBand or Ethernet")
			       : 0;
	}
	if ((v = value_of(s, "version"))) {
		unsigned major, minor;

		g->version = v;
		return sscanf(v, "%u.%u", &major, &minor) == 2 && major == 2 &&
				       RS_NCCL_RELEASE(major, minor, 0) >= RS_NCCL_OLDEST &&
				       RS_NCCL_RELEASE(major, minor, 0) <= RS_NCCL_NEWEST
			       ? 0
			       : bad(e, s, "a release of NCCL from 2.18 to 2.30, as 2.27.7");
	}
	return bad(e, s,
		   "KEY=VALUE, with KEY one of rate, gpu, nic, mtu, layer, delay, switch, "
		   "nvlink, version");
}

int expect_given(struct rs_expect *x, const struct rs_expect_options *o, struct rs_error *e)
{
	int err = 0;

	for (uint32_t i = 0; i < o->n_given && !err; i++)
		err = take_given(&x->world->given, o->given[i], e);
	x->world->gpu = x->world->given.gpu;
	return err;
}

/* ---- The list ---- */

static struct expect_sweep *unknown(struct rs_expect *x, const char *key, const char *what,
				    const char *value)
{
	struct rs_expect_unknown *u;

	rs_assert(x->n_unknowns < RS_EXPECT_UNKNOWNS);
	u = &x->unknown[x->n_unknowns];
	*u = (struct rs_expect_unknown){.key = key, .what = what, .value = value};
	return &x->world->sweep[x->n_unknowns++];
}

static void between(struct rs_expect *x, struct expect_sweep *s, const char *low, const char *high)
{
	struct rs_expect_unknown *u = &x->unknown[s - x->world->sweep];

	u->low = low;
	u->high = high;
}

static struct expect_change change(enum expect_knob knob, double value)
{
	return (struct expect_change){.knob = knob, .value = value, .host = -1};
}

static struct expect_change lacking(enum expect_knob knob, double value)
{
	return (struct expect_change){.knob = knob, .value = value, .host = -1, .lacking = true};
}

/* low is what makes figures worse. */
static void sweep(struct expect_sweep *s, struct expect_change low, struct expect_change high,
		  bool perftest, bool nccl)
{
	s->low[s->n_low++] = low;
	s->high[s->n_high++] = high;
	s->perftest |= perftest;
	s->nccl |= nccl;
}

/* The NICs of the model of which bit was not read, as "mlx5_0, mlx5_1"; "": none. */
static const char *lackers(struct rs_expect *x, uint8_t bit, unsigned *n)
{
	const struct expect_model *m = &x->world->model;
	struct rs_enumeration all = {.n = 0};

	for (uint32_t i = 0; i < m->n; i++)
		for (int k = 0; !m->host[i].twin && k < m->host[i].inside->n_parts; k++)
			if (m->host[i].inside->parts[k].kind == RS_PART_NIC &&
			    m->host[i].lacks[k] & bit)
				rs_enumerate(&all, ", ", "%s", m->host[i].inside->parts[k].name);
	*n = all.n;
	return rs_arena_strdup(x->arena, all.n > 4 ? "" : all.text);
}

static const char *of_nics(struct rs_expect *x, const char *what, const char *names, unsigned n)
{
	return *names ? rs_arena_printf(x->arena, "%s of %s", what, names)
		      : rs_arena_printf(x->arena, "%s of %u NICs", what, n);
}

static const struct rs_part *first_nic(const struct expect_model *m)
{
	const struct rs_host *h = m->n ? m->host[0].inside : NULL;

	for (int i = 0; h && i < h->n_parts; i++)
		if (h->parts[i].kind == RS_PART_NIC)
			return m->host[0].nic >= 0 ? &h->parts[m->host[0].nic] : &h->parts[i];
	return NULL;
}

/* ---- NICs ---- */

static void ports(struct rs_expect *x)
{
	const struct rs_part *p = first_nic(&x->world->model);
	unsigned n;
	const char *names = lackers(x, LACKS_RATE, &n);
	struct expect_sweep *s;
	char rate[32];

	if (!n || !p)
		return;
	s = unknown(x, "rate", of_nics(x, "rate of the ports", names, n),
		    rs_arena_strdup(x->arena, rs_format_rate(rate, sizeof(rate), p->port_rate)));
	between(x, s, rs_arena_printf(x->arena, "%.0fG", (double)p->port_rate / 2e9),
		x->unknown[s - x->world->sweep].value);
	sweep(s, lacking(KNOB_RATE, (double)p->port_rate / 2e9),
	      lacking(KNOB_RATE, (double)p->port_rate / 1e9), true, true);
}

static void slots(struct rs_expect *x)
{
	const struct rs_part *p = first_nic(&x->world->model);
	unsigned n;
	const char *names = lackers(x, LACKS_SLOT, &n);
	struct expect_sweep *s;

	if (!n || !p)
		return;
	s = unknown(x, "slot", of_nics(x, "PCIe slot", names, n),
		    rs_arena_printf(x->arena, "Gen%u x%u", p->up.gen, p->up.lanes));
	between(x, s, rs_arena_printf(x->arena, "Gen%u", p->up.gen > 1 ? p->up.gen - 1 : 1),
		rs_arena_printf(x->arena, "Gen%u", p->up.gen));
	sweep(s, lacking(KNOB_GEN, -1), lacking(KNOB_GEN, 0), true, true);
}

static void payloads(struct rs_expect *x)
{
	unsigned n, reads;
	const char *names = lackers(x, LACKS_MPS, &n), *of_reads = lackers(x, LACKS_MRRS, &reads);
	struct expect_sweep *s;

	if (n) {
		s = unknown(x, "mps", of_nics(x, "MPS", names, n), "256 B");
		between(x, s, "128 B", "512 B");
		sweep(s, lacking(KNOB_MPS, 128), lacking(KNOB_MPS, 512), true, true);
	}
	if (reads) {
		s = unknown(x, "mrrs", of_nics(x, "MRRS", of_reads, reads), "512 B");
		between(x, s, "256 B", "4096 B");
		sweep(s, lacking(KNOB_MRRS, 256), lacking(KNOB_MRRS, 4096), true, true);
	}
}

/* docs/host.md, "NIC models": of one host each; others' queue pairs reached the port's rate. */
static void queue_pairs(struct rs_expect *x)
{
	const struct rs_part *p = first_nic(&x->world->model);
	struct rs_dma_limits d;
	struct expect_sweep *s;

	if (!p)
		return;
	d = rs_dma_limits_of(p, &rs_host_defaults);
	if (!d.qp_message_rate && !d.qp_rate)
		return;
	s = unknown(x, "qp", "one queue pair",
		    d.qp_rate ? rs_arena_printf(x->arena, "%.1f M/s, %.0f Gb/s",
						d.qp_message_rate / 1e3, d.qp_rate / 1e3)
			      : rs_arena_printf(x->arena, "%.1f M/s", d.qp_message_rate / 1e3));
	between(x, s, rs_arena_printf(x->arena, "%.1f M/s", d.qp_message_rate / 2e3),
		"20 M/s, no limit");
	s->low[0] = change(KNOB_POSTS, d.qp_message_rate / 2e3);
	s->high[0] = change(KNOB_POSTS, 20);
	s->high[1] = change(KNOB_QP_RATE, 0);
	s->n_low = 1;
	s->n_high = 2;
	s->perftest = true;
}

/* ---- The network ---- */

/* RoCE over an interface: the largest path MTU that leaves room for headers (Linux: 96 bytes). */
static uint32_t of_interface(int64_t mtu)
{
	for (uint32_t m = 4096; m >= 256; m /= 2)
		if (mtu - 96 >= m)
			return m;
	return 256;
}

static uint32_t mtu_of(struct rs_expect *x, const char *host, const char *nic)
{
	const struct rs_audit *a = x->audit;
	char subject[160], dev[160];
	const char *netdev;
	int64_t v;

	snprintf(subject, sizeof(subject), "nic/%s", nic);
	v = rs_look_number(a, host, subject, "active_mtu", 0);
	if (v >= 256 && v <= 4096)
		return (uint32_t)v;
	netdev = rs_facts_value(a->facts, host, subject, "netdev");
	if (!netdev)
		return 0;
	snprintf(dev, sizeof(dev), "netdev/%s", netdev);
	v = rs_look_number(a, host, dev, "mtu", 0);
	return v > 0 ? of_interface(v) : 0;
}

static void network(struct rs_expect *x)
{
	struct expect_model *m = &x->world->model;
	const struct expect_given *g = &x->world->given;
	const struct rs_part *p = first_nic(m);
	const char *layer = g->layer ? g->layer
			    : p      ? expect_told_layer(x, m->host[0].name, p)
				     : NULL;
	bool ib = layer && !strcasecmp(layer, "InfiniBand");
	struct expect_sweep *s;

	m->mtu = g->mtu > 0 ? (uint32_t)g->mtu : 0;
	for (uint32_t i = 0; i < m->n && !g->mtu; i++) {
		const struct rs_host *h = m->host[i].inside;
		uint32_t mtu = m->host[i].nic >= 0 && !m->host[i].twin
				       ? mtu_of(x, m->host[i].name, h->parts[m->host[i].nic].name)
				       : 0;

		if (mtu && (!m->mtu || mtu < m->mtu))
			m->mtu = mtu; /* both ends take the smaller one */
	}
	if (!m->mtu) {
		m->mtu = 4096;
		s = unknown(x, "mtu", "path MTU", "4096 B");
		between(x, s, "1024 B", "4096 B");
		sweep(s, change(KNOB_MTU, 1024), change(KNOB_MTU, 4096), true, true);
	}
	/* RoCE v2 over IPv4 with preamble and gap: 82 bytes beside the payload; InfiniBand 30 */
	m->framing = ib ? (m->mtu + 82.0) / (m->mtu + 30.0) : 1;
	x->world->infiniband = ib;
	if (!layer)
		unknown(x, "layer", "InfiniBand or Ethernet", "Ethernet");
	m->delay = (rs_time)(g->delay > 0 ? g->delay : 100) * RS_NS;
	m->forward = (rs_time)(g->has_forward ? g->forward : ib ? 230 : 500) * RS_NS;
	if (!g->has_forward) {
		s = unknown(x, "switch", "switches on the path",
			    ib ? "1, of 230 ns" : "1, of 500 ns");
		between(x, s, "3", "none: a cable");
		sweep(s, change(KNOB_FORWARD, ib ? 690 : 1500), change(KNOB_FORWARD, 0), true,
		      true);
	}
	if (!(g->delay > 0)) {
		s = unknown(x, "delay", "delay of a cable", "100 ns (20 m)");
		between(x, s, "500 ns", "10 ns");
		sweep(s, change(KNOB_DELAY, 500), change(KNOB_DELAY, 10), true, true);
	}
}

/* ---- GPUs and NCCL ---- */

static void no_nvlinks(struct rs_expect *x, const char *model)
{
	struct expect_sweep *s =
		unknown(x, "nvlink", "NVLinks between GPUs",
			rs_arena_printf(x->arena, "as %s has them", model ? model : "the model"));

	between(x, s, "none", "as assumed");
	sweep(s, change(KNOB_NVLINK, 0), change(KNOB_NVLINK, 1), false, true);
}

static void gpus(struct rs_expect *x)
{
	const struct expect_model *m = &x->world->model;
	const char *model = expect_gpu_assumed(x, m->host[0].name);
	struct expect_sweep *s;

	if (!x->world->gpu && !expect_gpu(x, m->host[0].name))
		unknown(x, "gpu", "model of the GPUs",
			model ? rs_arena_printf(x->arena, "%s, by its NVLinks", model)
			      : "by their slots");
	if (x->world->nvlink && !(x->world->given.nvlink > 0))
		no_nvlinks(x, model);
	s = unknown(x, "nvlink latency", "latency from GPU to GPU", "1 us");
	between(x, s, "2 us", "500 ns");
	sweep(s, change(KNOB_NVLATENCY, 2000), change(KNOB_NVLATENCY, 500), false, true);
}

const char *expect_release(struct rs_expect *x, uint32_t v)
{
	uint32_t k = v < 21803 ? 21803 : v > RS_NCCL_NEWEST ? 23007 : v;

	return rs_arena_printf(x->arena, "%u.%u.%u", k / 10000, k / 100 % 100, k % 100);
}

/* The one that was read, or the nearest to it. */
static void release(struct rs_expect *x)
{
	struct expect_model *m = &x->world->model;
	const char *host = m->host[0].name;
	uint32_t v = rs_nccl_version(x->audit, host, NULL);
	struct expect_sweep *s;

	m->version = x->world->given.version ? x->world->given.version : "2.27.7";
	if (x->world->given.version)
		return;
	if (v) {
		m->version = expect_release(x, v);
		if (v < 21803 || v > RS_NCCL_NEWEST)
			unknown(x, "version", "NCCL's release",
				rs_arena_printf(x->arena, "%s, the nearest that is known",
						m->version));
		return;
	}
	s = unknown(x, "version", "NCCL's release", m->version);
	between(x, s, "2.20.5", "2.28.9");
	s->low[0] = (struct expect_change){.knob = KNOB_VERSION, .text = "2.20.5", .host = -1};
	s->high[0] = (struct expect_change){.knob = KNOB_VERSION, .text = "2.28.9", .host = -1};
	s->n_low = s->n_high = 1;
	s->nccl = true;
}

void expect_variables(struct rs_audit *a, const char *host, struct expect_model *m)
{
	static const char *const taken[] = {"NCCL_ALGO",          "NCCL_PROTO",
					    "NCCL_CROSS_NIC",     "NCCL_MIN_NCHANNELS",
					    "NCCL_MAX_NCHANNELS", "NCCL_NVLS_ENABLE",
					    "NCCL_PXN_DISABLE",   "NCCL_P2P_LEVEL",
					    "NCCL_P2P_DISABLE",   "NCCL_SHM_DISABLE",
					    "NCCL_MIN_CTAS",      "NCCL_MAX_CTAS",
					    "NCCL_NET_GDR_READ",  "NCCL_NET_GDR_LEVEL",
					    "NCCL_BUFFSIZE",      "NCCL_IB_QPS_PER_CONNECTION"};
	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++) {
		const struct rs_fact *f = rs_nccl_env(a, host, taken[i]);
		bool have = false;

		for (uint32_t k = 0; k < m->n_env; k++)
			have |= !strcmp(m->env[2 * k], taken[i]);
		if (!f || !*f->value || have || m->n_env == EXPECT_ENV)
			continue;
		m->env[2 * m->n_env] = taken[i];
		m->env[2 * m->n_env++ + 1] = f->value;
	}
}

int expect_unknowns(struct rs_expect *x, const struct rs_expect_options *o, struct rs_error *e)
{
	struct expect_model *m = &x->world->model;

	(void)e;
	m->qps = 1;
	m->per_thread = 1;
	if (!m->n)
		return 0;
	if (!x->no_perftest || !x->no_nccl) {
		network(x);
		ports(x);
		slots(x);
		payloads(x);
	}
	if (!x->no_perftest && o->perftest)
		queue_pairs(x);
	if (!x->no_nccl && o->nccl) {
		gpus(x);
		release(x);
		expect_variables(x->audit, m->host[0].name, m);
	}
	return 0;
}
