/* What holds a figure back: each part is widened in turn, and the one that helps most is named. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/facts/look.h"
#include "audit/price/model.h"
#include "expect/state.h"

enum { RELIEFS = 14, KINDS = 24 };
/* Of a collective: as long as its rate is full. */
static const uint64_t LONG = UINT64_C(1) << 30;
static const double HELPS = 0.02, FULL = 0.75;

struct relief {
	struct expect_change change[2];
	uint32_t n;
	const char *what;
};

/* Figures of one test, operation and number of hosts. */
struct kind {
	uint32_t first, last; /* figures */
	uint32_t n;
	struct relief relief[RELIEFS];
	const char *limit; /* of the longest */
};

static double lanes(const struct rs_part *p)
{
	return (double)rs_pcie_rate(&p->up);
}

static unsigned count(const struct rs_host *h, enum rs_part_kind kind)
{
	unsigned n = 0;

	for (int i = 0; i < h->n_parts; i++)
		n += h->parts[i].kind == kind;
	return n;
}

static void add(struct kind *k, enum expect_knob knob, double value, const char *what)
{
	struct relief *r = &k->relief[k->n];

	if (k->n == RELIEFS || !what)
		return;
	r->what = what;
	r->n = 1;
	r->change[0] = (struct expect_change){.knob = knob, .value = value, .host = -1};
	k->n++;
}

/* What the link could be, by its own capability, where it runs at less (check P01). */
static const char *could_be(struct rs_expect *x, const char *host, const struct rs_part *p)
{
	char pci[160];
	unsigned gen, lanes;

	snprintf(pci, sizeof(pci), "pci/%s", p->busid ? p->busid : "");
	gen = rs_audit_pcie_gen(rs_look_number(x->audit, host, pci, "max_link_speed", 0));
	lanes = (unsigned)rs_look_number(x->audit, host, pci, "max_link_width", 0);
	if (lanes > 32 || (gen <= p->up.gen && lanes <= p->up.lanes))
		return "";
	return rs_arena_printf(x->arena, " of Gen%u x%u (P01)", gen > p->up.gen ? gen : p->up.gen,
			       lanes > p->up.lanes ? lanes : p->up.lanes);
}

/* The narrower slot of two hosts, by its name. */
static const char *slot(struct rs_expect *x, bool pair)
{
	const struct expect_model *m = &x->world->model;
	const struct rs_part *a = expect_nic(m, 0), *b = expect_nic(m, 1);
	uint32_t host = a && b && lanes(b) < lanes(a) ? 1 : 0;
	const struct rs_part *p = host ? b : a;

	if (!p)
		return NULL;
	if (!pair)
		return rs_arena_printf(x->arena, "the NICs' slots, Gen%u x%u%s", p->up.gen,
				       p->up.lanes, could_be(x, m->host[host].name, p));
	return rs_arena_printf(x->arena, "the slot of %s%s%s, Gen%u x%u%s", p->name,
			       host ? " in " : "", host ? m->host[host].name : "", p->up.gen,
			       p->up.lanes, could_be(x, m->host[host].name, p));
}

static const char *port(struct rs_expect *x, bool pair)
{
	const struct expect_model *m = &x->world->model;
	const struct rs_part *a = expect_nic(m, 0), *b = expect_nic(m, 1);
	unsigned nics = count(m->host[0].inside, RS_PART_NIC);
	double gbps = a ? (double)a->port_rate / 1e9 : 0;

	if (b && (double)b->port_rate / 1e9 < gbps)
		gbps = (double)b->port_rate / 1e9;
	if (pair || nics == 1)
		return rs_arena_printf(x->arena, "the port, %.0f Gb/s", gbps);
	return rs_arena_printf(x->arena, "the %u NICs' ports, %.0f Gb/s each", nics, gbps);
}

static void reliefs_of_pair(struct rs_expect *x, struct kind *k, enum rs_expect_test test)
{
	const struct expect_model *m = &x->world->model;
	const struct rs_part *p = expect_nic(m, 0);
	struct rs_dma_limits d = rs_dma_limits_of(p, &rs_host_defaults);

	if (test == RS_EXPECT_READ)
		add(k, KNOB_READS, 64,
		    rs_arena_printf(x->arena, "%u READ%s of a queue pair under way (%s)",
				    m->reads ? m->reads : 16, m->reads == 1 ? "" : "s",
				    m->reads && m->reads < 16 ? "-o" : "try -q 2"));
	if (m->mtu < 4096)
		add(k, KNOB_MTU, 4096, rs_arena_printf(x->arena, "the path MTU, %u B", m->mtu));
	add(k, KNOB_RATES, 2, port(x, true));
	add(k, p->up.gen < 6 ? KNOB_GEN : KNOB_LANES, p->up.gen < 6 ? 1 : 2, slot(x, true));
	if (p->parent >= 0 && m->host[0].inside->parts[p->parent].kind == RS_PART_PCI_BRIDGE)
		add(k, KNOB_UPLINK, 0,
		    rs_arena_printf(x->arena, "the PCIe switch above %s", p->name));
	if (d.qp_rate)
		add(k, KNOB_QP_RATE, 0,
		    rs_arena_printf(x->arena, "one queue pair, %.0f Gb/s (try -q 2)",
				    d.qp_rate / 1e3));
	if (d.qp_message_rate)
		add(k, KNOB_POSTS, 0,
		    rs_arena_printf(x->arena, "what one core posts, %.1f M messages a second",
				    d.qp_message_rate / 1e3));
	if (d.message_rate)
		add(k, KNOB_MESSAGES, 0,
		    rs_arena_printf(x->arena, "the NIC's %.0f M messages a second",
				    d.message_rate / 1e3));
	add(k, KNOB_TAGS, d.tags * 4, rs_arena_printf(x->arena, "%u reads in flight", d.tags));
	add(k, KNOB_BUFFER, d.read_buffer * 4,
	    rs_arena_printf(x->arena, "%u kB of reads in flight", d.read_buffer >> 10));
	add(k, KNOB_CREDITS, 4, "posted writes in flight");
}

static double nvlink_rate(const struct rs_host *h)
{
	double sum = 0;
	int gpu = -1;

	for (int i = 0; i < h->n_xlinks; i++) {
		const struct rs_xlink *k = &h->xlinks[i];

		if (k->kind != RS_XLINK_NVLINK)
			continue;
		gpu = gpu < 0 ? k->a : gpu;
		if (k->a == gpu || k->b == gpu)
			sum += (double)k->rate / 8e9;
	}
	return sum;
}

static void reliefs_of_collective(struct rs_expect *x, struct kind *k, uint32_t hosts)
{
	const struct expect_model *m = &x->world->model;
	const struct rs_host *h = m->host[0].inside;
	const struct rs_part *p = expect_nic(m, 0);
	double nvlink = nvlink_rate(h);

	if (nvlink > 0)
		add(k, KNOB_NVLINK, 2,
		    rs_arena_printf(x->arena, "NVLink, %.0f GB/s a GPU", nvlink));
	add(k, KNOB_GPU_SLOT, 2, "the GPUs' slots");
	if (count(h, RS_PART_PCI_BRIDGE))
		add(k, KNOB_UPLINK, 0, "the PCIe switches' links");
	if (count(h, RS_PART_SOCKET) > 1)
		add(k, KNOB_SOCKETS, 0, "the link between sockets");
	if (hosts == 1 || !p)
		return;
	if (m->mtu < 4096)
		add(k, KNOB_MTU, 4096, rs_arena_printf(x->arena, "the path MTU, %u B", m->mtu));
	add(k, KNOB_RATES, 2, port(x, false));
	add(k, p->up.gen < 6 ? KNOB_GEN : KNOB_LANES, p->up.gen < 6 ? 1 : 2, slot(x, false));
}

/* ---- Runs ---- */

static bool same(const struct rs_expect_figure *a, const struct rs_expect_figure *b)
{
	return a->test == b->test && a->op == b->op && a->hosts == b->hosts;
}

static uint32_t list_kinds(struct rs_expect *x, struct kind *k)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < x->n_figures; i++) {
		const struct rs_expect_figure *f = &x->figure[i];

		if (n && same(f, &x->figure[k[n - 1].first])) {
			k[n - 1].last = i;
			continue;
		}
		if (n == KINDS)
			break;
		k[n] = (struct kind){.first = i, .last = i, .limit = ""};
		if (f->test == RS_EXPECT_COLLECTIVE)
			reliefs_of_collective(x, &k[n], f->hosts);
		else if (f->test != RS_EXPECT_MESSAGE)
			reliefs_of_pair(x, &k[n], f->test);
		n++;
	}
	return n;
}

/* The relief that helps a figure most; "": none does. */
static int relieve(struct rs_expect *x, const struct rs_expect_options *o, const struct kind *k,
		   struct rs_expect_figure *f, double share, struct rs_error *e)
{
	struct expect_run r[2 * RELIEFS];
	uint32_t n = 0, at = 0;
	double best = HELPS, mtu = 0;
	const char *small = NULL;
	int err;

	for (uint32_t i = 0; i < k->n; i++) {
		const struct expect_model *m =
			expect_changed(x, &x->world->model, k->relief[i].change, k->relief[i].n);

		if (!m)
			return rs_error_set(e, -ENOMEM, "out of memory");
		n += expect_runs_of(m, f, &r[n]);
	}
	err = expect_run_all(x, o, r, n, share, share, e);
	for (uint32_t i = 0; i < k->n && !err; i++) {
		uint32_t runs = r[at].as_bytes ? 2 : 1;
		double us = expect_us(f, &r[at], runs), gain = us > 0 ? f->us / us - 1 : 0;

		at += runs;
		if (k->relief[i].change[0].knob == KNOB_MTU && gain > HELPS) {
			mtu = gain;
			small = k->relief[i].what;
		}
		if (gain <= best)
			continue;
		best = gain;
		f->limit = k->relief[i].what;
	}
	/* headers take from what the port carries: both are told */
	if (small && small != f->limit)
		f->limit = rs_arena_printf(x->arena, "%s; %s costs %.0f %%", f->limit, small,
					   mtu * 100);
	return err;
}

/* Of a collective a long one; those near its rate have its limit. */
static int relieve_collective(struct rs_expect *x, const struct rs_expect_options *o,
			      const struct kind *k, double share, struct rs_error *e)
{
	uint32_t at = k->first;
	int err;

	while (at < k->last && x->figure[at].bytes < LONG)
		at++;
	err = relieve(x, o, k, &x->figure[at], share, e);
	for (uint32_t i = k->first; i <= k->last; i++)
		if (x->figure[i].value >= FULL * x->figure[at].value)
			x->figure[i].limit = x->figure[at].limit;
	return err;
}

int expect_limit_of(struct rs_expect *x, const struct rs_expect_options *o,
		    struct rs_expect_figure *f, struct rs_error *e)
{
	struct kind *k = rs_arena_alloc(x->arena, 1, sizeof(*k));

	if (!k)
		return rs_error_set(e, -ENOMEM, "out of memory");
	if (f->test == RS_EXPECT_MESSAGE)
		return 0;
	if (f->test == RS_EXPECT_COLLECTIVE)
		reliefs_of_collective(x, k, f->hosts);
	else
		reliefs_of_pair(x, k, f->test);
	return relieve(x, o, k, f, 1, e);
}

int expect_limits(struct rs_expect *x, const struct rs_expect_options *o, struct rs_error *e)
{
	struct kind *k = rs_arena_alloc(x->arena, KINDS, sizeof(*k));
	uint32_t n = k ? list_kinds(x, k) : 0;
	int err = k ? 0 : rs_error_set(e, -ENOMEM, "out of memory");

	for (uint32_t i = 0; i < n && !err; i++) {
		double share = 0.9 + 0.1 * i / n;

		if (!k[i].n)
			continue;
		if (x->figure[k[i].first].test == RS_EXPECT_COLLECTIVE)
			err = relieve_collective(x, o, &k[i], share, e);
		else
			for (uint32_t f = k[i].first; f <= k[i].last && !err; f++)
				err = relieve(x, o, &k[i], &x->figure[f], share, e);
	}
	return err;
}
