/* Changes of what is simulated: the same for what is unknown, for what may hold back and for faults
 * that may explain a measurement. */
#include <string.h>
#include "expect/state.h"
#include "host/build.h"

struct expect_model *expect_copy(struct rs_expect *x, const struct expect_model *m)
{
	struct rs_error e = {0};
	struct rs_load l = {.arena = x->arena, .e = &e};
	struct expect_model *c = rs_load_take(&l, 1, sizeof(*c));

	if (!c)
		return NULL;
	*c = *m;
	for (uint32_t i = 0; i < m->n; i++) {
		/* hosts that are the same stay the same: changes of all of them are made once */
		for (uint32_t k = 0; k < i && c->host[i].inside == m->host[i].inside; k++)
			if (m->host[k].inside == m->host[i].inside)
				c->host[i].inside = c->host[k].inside;
		if (c->host[i].inside == m->host[i].inside)
			c->host[i].inside = rs_host_copy(&l, m->host[i].inside);
		if (!c->host[i].inside)
			return NULL;
	}
	return l.err ? NULL : c;
}

/* Lanes times f, in whole ones. */
static void scale_lanes(struct rs_pcie *up, double f)
{
	double lanes = (up->lanes ? up->lanes : 16) * f;

	up->lanes = lanes < 1 ? 1 : lanes > 32 ? 32 : (uint8_t)lanes;
}

static void shift_gen(struct rs_pcie *up, int by)
{
	int gen = up->gen + by;

	if (up->gen)
		up->gen = (uint8_t)(gen < 1 ? 1 : gen > 6 ? 6 : gen);
}

static void scale_credits(struct rs_part *p, double f)
{
	const struct rs_dma_limits d = rs_dma_limits_of(p, &rs_host_defaults);

	p->limits.data_credits = (uint32_t)(d.data_credits * f);
	p->limits.header_credits = (uint32_t)(d.header_credits * f);
}

/* A limit of 0 is none. */
static uint32_t limit(double value, double unit)
{
	return value > 0 ? (uint32_t)(value * unit) : RS_NO_LIMIT;
}

static void apply_nic(struct rs_part *p, uint8_t lacks, const struct expect_change *c)
{
	switch (c->knob) {
	case KNOB_RATE:
		if (!c->lacking || lacks & LACKS_RATE)
			p->port_rate = (int64_t)(c->value * 1e9);
		break;
	case KNOB_RATES:
		p->port_rate = (int64_t)((double)p->port_rate * c->value);
		break;
	case KNOB_GEN:
		if (!c->lacking || lacks & LACKS_SLOT)
			shift_gen(&p->up, (int)c->value);
		break;
	case KNOB_LANES:
		scale_lanes(&p->up, c->value);
		break;
	case KNOB_MPS:
		if (!c->lacking || lacks & LACKS_MPS)
			p->up.mps = (uint16_t)c->value;
		break;
	case KNOB_MRRS:
		if (!c->lacking || lacks & LACKS_MRRS)
			p->up.mrrs = (uint16_t)c->value;
		break;
	case KNOB_TAGS:
		p->limits.tags = (uint32_t)c->value;
		break;
	case KNOB_BUFFER:
		p->limits.read_buffer = (uint32_t)c->value;
		break;
	case KNOB_CREDITS:
		scale_credits(p, c->value);
		break;
	case KNOB_QP_RATE:
		p->limits.qp_rate = limit(c->value, 1000);
		break;
	case KNOB_POSTS:
		p->limits.qp_message_rate = limit(c->value, 1000);
		break;
	case KNOB_MESSAGES:
		p->limits.message_rate = limit(c->value, 1000);
		break;
	case KNOB_SLOT:
		p->up.gen = (uint8_t)c->value;
		p->up.lanes = (uint8_t)c->lanes;
		break;
	default:
		break;
	}
}

/* The switches above NICs; 0: as wide as none needs. */
static void apply_uplinks(struct rs_host *h, double f)
{
	for (int i = 0; i < h->n_parts; i++)
		if (h->parts[i].kind == RS_PART_PCI_BRIDGE) {
			if (f > 0)
				scale_lanes(&h->parts[i].up, f);
			else
				h->parts[i].up = (struct rs_pcie){.mps = h->parts[i].up.mps};
		}
}

static void apply_links(struct rs_host *h, const struct expect_change *c)
{
	int n = 0;

	for (int i = 0; i < h->n_xlinks; i++) {
		struct rs_xlink *k = &h->xlinks[i];
		bool nvlink = k->kind == RS_XLINK_NVLINK;

		if (c->knob == KNOB_NVLINK && nvlink && c->value <= 0)
			continue; /* taken out */
		if (c->knob == KNOB_NVLINK && nvlink)
			k->rate = (int64_t)((double)k->rate * c->value);
		if (c->knob == KNOB_NVLATENCY && nvlink)
			k->latency = (rs_time)(c->value * RS_NS);
		h->xlinks[n++] = *k;
	}
	h->n_xlinks = n;
	for (int i = 0; i < h->n_parts && c->knob == KNOB_NVLINK && c->value <= 0; i++)
		if (h->parts[i].kind == RS_PART_NVSWITCH)
			h->parts[i].kind = RS_PART_OTHER;
}

/* Links between sockets; 0: without limit. */
static void apply_sockets(struct rs_host *h, double f)
{
	for (int i = 0; i < h->n_xlinks; i++) {
		struct rs_xlink *k = &h->xlinks[i];

		if (k->kind != RS_XLINK_SOCKET)
			continue;
		k->rate = f > 0 ? (int64_t)((double)k->rate * f) : 16 * 1000 * RS_GBPS;
		k->p2p_rate = f > 0 ? k->p2p_rate : -1;
	}
}

static void lose_nics(struct rs_host *h, int n)
{
	for (int i = h->n_parts - 1; i >= 0 && n > 0; i--)
		if (h->parts[i].kind == RS_PART_NIC) {
			h->parts[i].kind = RS_PART_OTHER;
			n--;
		}
}

/* As the first NIC that takes part, where nothing was read of them. */
static void restore(struct expect_host *eh, uint8_t why)
{
	struct rs_host *h = eh->inside;
	const struct rs_part *like = NULL;

	for (int i = 0; i < h->n_parts && !like; i++)
		if (h->parts[i].kind == RS_PART_NIC)
			like = &h->parts[i];
	for (int i = 0; like && eh->lacks && i < h->n_parts; i++) {
		struct rs_part *p = &h->parts[i];

		if (p->kind != RS_PART_OTHER || !(eh->lacks[i] & why))
			continue;
		p->kind = RS_PART_NIC;
		p->port_rate = like->port_rate;
		p->model = p->model ? p->model : like->model;
		if (!p->up.gen || !p->up.lanes)
			p->up = like->up;
	}
}

/* Requests of a GPU to a NIC below its switch go up and come back (audit/price has the same). */
static void climb(struct rs_host *h)
{
	for (int i = 0; i < h->n_parts; i++) {
		int top = h->parts[i].parent;

		if (h->parts[i].kind != RS_PART_NIC || top == RS_NO_PART ||
		    h->parts[top].kind != RS_PART_PCI_BRIDGE)
			continue;
		while (h->parts[top].parent != RS_NO_PART)
			top = h->parts[top].parent;
		h->parts[i].parent = top;
	}
}

static void apply_host(struct expect_host *eh, const struct expect_change *c)
{
	struct rs_host *h = eh->inside;

	for (int i = 0; i < h->n_parts; i++) {
		struct rs_part *p = &h->parts[i];
		uint8_t lacks = eh->lacks ? eh->lacks[i] : 0;

		if (c->part && c->part != (uint32_t)i + 1)
			continue;
		if (p->kind == RS_PART_NIC || c->knob == KNOB_SLOT)
			apply_nic(p, lacks, c);
		else if (p->kind == RS_PART_GPU && c->knob == KNOB_GPU_SLOT)
			scale_lanes(&p->up, c->value);
		else if (c->knob == KNOB_MPS && (!c->lacking || lacks & LACKS_MPS))
			p->up.mps = (uint16_t)c->value;
	}
	if (c->knob == KNOB_UPLINK)
		apply_uplinks(h, c->value);
	if (c->knob == KNOB_NVLINK || c->knob == KNOB_NVLATENCY)
		apply_links(h, c);
	if (c->knob == KNOB_SOCKETS)
		apply_sockets(h, c->value);
	if (c->knob == KNOB_NICS)
		lose_nics(h, (int)c->value);
	if (c->knob == KNOB_RESTORE)
		restore(eh, (uint8_t)c->value);
	if (c->knob == KNOB_CLIMB)
		climb(h);
}

static void apply_network(struct expect_model *m, const struct expect_change *c)
{
	switch (c->knob) {
	case KNOB_MTU:
		m->mtu = (uint32_t)c->value;
		break;
	case KNOB_DELAY:
		m->delay = (rs_time)(c->value * RS_NS);
		break;
	case KNOB_FORWARD:
		m->forward = (rs_time)(c->value * RS_NS);
		break;
	case KNOB_FAR:
		m->far = c->value > 0;
		break;
	case KNOB_STAGED:
		m->staged = c->value > 0;
		break;
	case KNOB_LOSS:
		m->loss = c->value;
		break;
	case KNOB_PAUSED:
		m->paused = c->value;
		m->paused_host = c->host;
		break;
	case KNOB_THREAD:
		m->per_thread = (uint32_t)c->value;
		break;
	case KNOB_QPS:
		m->qps = (uint32_t)c->value;
		break;
	case KNOB_READS:
		m->reads = (uint32_t)c->value;
		break;
	case KNOB_VERSION:
		m->version = c->text;
		break;
	default:
		break;
	}
}

/* text: "NCCL_ALGO=Ring" */
static void add_variable(struct rs_expect *x, struct expect_model *m, const char *text)
{
	const char *eq = strchr(text, '=');

	if (!eq || m->n_env == EXPECT_ENV)
		return;
	m->env[2 * m->n_env] = rs_arena_printf(x->arena, "%.*s", (int)(eq - text), text);
	m->env[2 * m->n_env++ + 1] = eq + 1;
}

static void unset(struct expect_model *m, const char *name)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->n_env; i++) {
		if (!strcmp(m->env[2 * i], name))
			continue;
		m->env[2 * n] = m->env[2 * i];
		m->env[2 * n++ + 1] = m->env[2 * i + 1];
	}
	m->n_env = n;
}

/* A host of its own, where another one shares its inside. */
static void own(struct rs_expect *x, struct expect_model *m, uint32_t host)
{
	struct rs_error e = {0};
	struct rs_load l = {.arena = x->arena, .e = &e};

	for (uint32_t i = 0; i < m->n; i++)
		if (i != host && m->host[i].inside == m->host[host].inside) {
			struct rs_host *h = rs_host_copy(&l, m->host[host].inside);

			m->host[host].inside = h ? h : m->host[host].inside;
			return;
		}
}

void expect_apply(struct rs_expect *x, struct expect_model *m, const struct expect_change *c)
{
	apply_network(m, c);
	if (c->knob == KNOB_NCCL)
		add_variable(x, m, c->text);
	if (c->knob == KNOB_UNSET)
		unset(m, c->text);
	for (uint32_t i = 0; i < m->n; i++) {
		bool done = false;

		if (c->host >= 0 && i != (uint32_t)c->host)
			continue;
		if (c->host >= 0 && !c->copies)
			own(x, m, i);
		for (uint32_t k = 0; k < i && c->host < 0; k++)
			done |= m->host[k].inside == m->host[i].inside;
		if (!done)
			apply_host(&m->host[i], c);
	}
}

struct expect_model *expect_changed(struct rs_expect *x, const struct expect_model *m,
				    const struct expect_change *c, uint32_t n)
{
	struct expect_model *k = expect_copy(x, m);

	for (uint32_t i = 0; k && i < n; i++)
		expect_apply(x, k, &c[i]);
	return k;
}
