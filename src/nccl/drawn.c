/*
 * A host out of a log: the system that NCCL draws with NCCL_DEBUG_SUBSYS=GRAPH, "=== System", by
 * columns (graph/topo.cc, ncclTopoPrint). GPUs of the job alone are in it, and NICs where the job
 * has several nodes. Models are told by NVLinks and slots.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "nccl/graph.h"
#include "nccl/log.h"

enum { LINE_MAX_BYTES = 4096, PREFIX_MAX = 128 };

struct drawing {
	struct rs_load *l;
	struct rs_nccl_host *h;
	const struct rs_nccl_log *log;
	uint32_t release;
	const struct rs_nccl_assume *assume;
	int line, depth;
	struct {
		int column, item;
	} stack[RS_NCCL_DEPTH_MAX + 2];
	/* GPU to GPU links wait until all GPUs are there */
	int n_links;
	struct {
		int gpu;
		uint64_t to;
		float bw;
	} links[RS_NCCL_LINKS_MAX / 16];
};

static struct rs_where here(const struct drawing *d)
{
	return (struct rs_where){d->l->name, d->line, 1};
}

/* The last part of "0-5d000", hexadecimal. */
static uint64_t id_of(const char *s)
{
	uint64_t id = 0;

	for (;;) {
		char *end;

		id = strtoull(s, &end, 16);
		if (end == s || *end != '-')
			return id;
		s = end + 1;
	}
}

/* graph/topo.h: 1 Broadwell, 2 Skylake, 3 Sapphire Rapids, 4 Emerald Rapids. */
static void cpu_of(struct rs_nccl_item *p, const char *paren)
{
	static const int models[] = {79, 79, 85, 143, 207};
	int arch = 0, vendor = 0, model = 0;

	sscanf(paren, "(%d/%d/%d)", &arch, &vendor, &model);
	p->arch = arch >= 1 && arch <= 3 ? (enum rs_nccl_cpu_arch)arch : 0;
	p->vendor = vendor >= 1 && vendor <= 3 ? (enum rs_nccl_cpu_vendor)vendor : 0;
	p->family = p->vendor == RS_NCCL_ZHAOXIN ? 7 : 6;
	p->model = p->vendor == RS_NCCL_ZHAOXIN ? 0x5b
		   : model >= 0 && model <= 4   ? models[model]
						: 79;
}

/* By the bandwidth of its slot; what NVLinks say comes later. */
static int cc_by_slot(const struct drawing *d, float bw)
{
	if (d->assume->gpu)
		return d->assume->gpu->cc;
	return bw > 90 ? 100 : bw > 40 ? 90 : bw > 20 ? 80 : 70;
}

static void add_gpu(struct drawing *d, int parent, const char *id, const char *paren, float bw)
{
	struct rs_nccl_item *p = rs_nccl_item_add(d->l, d->h, RS_NCCL_GPU, parent, here(d));
	int rank = -1;

	if (!p)
		return;
	p->bus = id_of(id);
	p->bw = bw;
	p->cc = cc_by_slot(d, bw);
	if (paren)
		sscanf(paren, "(%d)", &rank);
	p->tag = (uint32_t)rank;
	if (rank >= 0 && (uint32_t)rank < d->log->n_ranks && d->log->ranks[rank].host)
		p->dev = d->log->ranks[rank].dev;
}

/* "(guid/port/bw)", from 2.23 on "(collnet/guid/port/bw)". */
static void add_net(struct drawing *d, int parent, const char *id, const char *paren, float bw)
{
	struct rs_nccl_item *p;
	unsigned long long asic = 0;
	int coll = 0, port = 0, number = (int)(id_of(id) % RS_NCCL_GPUS_MAX);
	float exact = bw;

	if (!paren || (sscanf(paren, "(%d/%llx/%d/%f)", &coll, &asic, &port, &exact) != 4 &&
		       (coll = 0, sscanf(paren, "(%llx/%d/%f)", &asic, &port, &exact)) != 3)) {
		asic = RS_NCCL_NO_GUID;
		exact = bw;
	}
	p = rs_nccl_item_add(d->l, d->h, RS_NCCL_PORT, parent, here(d));
	if (!p)
		return;
	p->dev = number;
	p->asic = asic;
	p->port = port;
	p->net_bw = exact;
	p->collnet = coll != 0;
	if (number < RS_NCCL_LOG_NICS) {
		p->name = d->log->nics[number].name;
		p->gdr = !d->log->nics[number].no_gdr;
	}
}

static void push(struct drawing *d, int column)
{
	if (d->depth <= RS_NCCL_DEPTH_MAX) {
		d->stack[d->depth].column = column;
		d->stack[d->depth++].item = d->h->n_items - 1;
	}
}

static void add_nvlink(struct drawing *d, int gpu, const char *to, float bw)
{
	if (d->h->items[gpu].kind != RS_NCCL_GPU ||
	    d->n_links == sizeof(d->links) / sizeof(*d->links))
		return;
	d->links[d->n_links].gpu = gpu;
	d->links[d->n_links].to = strncmp(to, "GPU/", 4) ? UINT64_MAX : id_of(to + 4);
	d->links[d->n_links++].bw = bw;
}

/* "+ PCI[48.0] - GPU/18000 (0)" below what stands further left. */
static void part(struct drawing *d, const char *text, int column)
{
	char type[8];
	float bw;
	int used = 0, parent;
	const char *what, *id, *paren;
	struct rs_nccl_item *p;

	while (d->depth > 0 && d->stack[d->depth - 1].column >= column)
		d->depth--;
	if (!d->depth || sscanf(text, "+ %7[A-Z0-9][%f] - %n", type, &bw, &used) != 2 || !used)
		return;
	if (!(bw > 0 && bw <= 1e6f))
		return;
	parent = d->stack[d->depth - 1].item;
	what = text + used;
	id = what + 4;
	paren = strchr(what, '(');
	if (!strcmp(type, "NVL")) {
		add_nvlink(d, parent, what, bw);
	} else if (!strcmp(type, "C2C")) {
		if (d->h->items[parent].kind == RS_NCCL_GPU)
			rs_nccl_c2c_add(d->l, d->h, parent, bw);
	} else if (!strncmp(what, "GPU/", 4) && !strcmp(type, "PCI")) {
		add_gpu(d, parent, id, paren, bw);
		push(d, column);
	} else if (!strncmp(what, "NET/", 4)) {
		add_net(d, parent, id, paren, bw);
	} else if (!strcmp(type, "PCI") &&
		   (!strncmp(what, "NIC/", 4) || !strncmp(what, "PCI/", 4))) {
		p = rs_nccl_item_add(d->l, d->h, *what == 'N' ? RS_NCCL_NIC : RS_NCCL_PCI, parent,
				     here(d));
		if (!p)
			return;
		p->bus = id_of(id);
		p->bw = bw;
		/* drawn as it was joined: with these bits it is not joined again */
		p->device = paren && *what == 'P' ? strtoull(paren + 1, NULL, 16) : 0;
		p->device |= p->device ? 0xffff : 0;
		push(d, column);
	}
}

static void socket_line(struct drawing *d, const char *text)
{
	struct rs_nccl_item *p = rs_nccl_item_add(d->l, d->h, RS_NCCL_CPU, -1, here(d));
	const char *paren = strchr(text, '(');

	d->depth = 0;
	if (!p)
		return;
	p->bus = id_of(text + 4);
	cpu_of(p, paren ? paren : "");
	push(d, -1);
}

/* Which cc has NVLinks whose bandwidth is a whole number of times in this, and so many? That of the
 * slot, if it may be. */
static int cc_by_links(const struct drawing *d, int cc, float bw)
{
	static const struct {
		int cc, links;
	} all[] = {{60, 4}, {70, 6}, {80, 12}, {90, 18}, {100, 18}};
	int slot = 0;

	while (slot < 4 && all[slot].cc < cc)
		slot++;
	for (int i = 0; i < 5 && !d->assume->gpu; i++) {
		/* newer ones come next: a GPU may be in an old slot */
		int k = slot + i < 5 ? slot + i : 4 - i;
		float n = bw / nccl_nvlink_bw(d->release, all[k].cc);

		if (fabsf(n - roundf(n)) < .02f && n < (float)all[k].links + .5f)
			return all[k].cc;
	}
	return cc;
}

static void links(struct drawing *d)
{
	for (int gpu = 0; gpu < d->h->n_items; gpu++) {
		float sum = 0;

		for (int i = 0; i < d->n_links; i++)
			sum += d->links[i].gpu == gpu ? d->links[i].bw : 0;
		if (sum > 0)
			d->h->items[gpu].cc = cc_by_links(d, d->h->items[gpu].cc, sum);
	}
	for (int i = 0; i < d->n_links && !d->l->err; i++) {
		struct rs_nccl_item *gpu = &d->h->items[d->links[i].gpu];
		int n = (int)lroundf(d->links[i].bw / nccl_nvlink_bw(d->release, gpu->cc));
		int to = RS_NCCL_TO_SWITCH;

		if (d->links[i].to != UINT64_MAX) {
			for (to = 0; to < d->h->n_items; to++)
				if (d->h->items[to].kind == RS_NCCL_GPU &&
				    d->h->items[to].bus == d->links[i].to)
					break;
			if (to == d->h->n_items || to == d->links[i].gpu)
				continue;
		}
		rs_nccl_nvlink_add(d->l, d->h, d->links[i].gpu, to, n > 0 ? n : 1);
	}
}

/* The lines of the process that drew first, until its line of "=". */
static void draw(struct drawing *d, const char *text, size_t n)
{
	const char *at = text, *end = text + n;
	char prefix[PREFIX_MAX] = "", line[LINE_MAX_BYTES];
	bool on = false;

	for (d->line = 1; at < end && !d->l->err; d->line++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at)), *info;
		size_t len = (size_t)((stop ? stop : end) - at), own;

		snprintf(line, sizeof(line), "%.*s",
			 (int)(len < sizeof(line) ? len : sizeof(line) - 1), at);
		at = stop ? stop + 1 : end;
		info = strstr(line, "NCCL INFO ");
		if (!info)
			continue;
		own = (size_t)(info - line);
		info += 10;
		if (!on && !strncmp(info, "=== System : maxBw", 18) && own < sizeof(prefix)) {
			memcpy(prefix, line, own);
			prefix[own] = '\0';
			on = true;
		} else if (on && strlen(prefix) == own && !strncmp(prefix, line, own)) {
			if (!strncmp(info, "=====", 5))
				return;
			if (!strncmp(info, "CPU/", 4))
				socket_line(d, info);
			else if (info[strspn(info, " ")] == '+')
				part(d, info + strspn(info, " "), (int)strspn(info, " "));
		}
	}
}

int rs_nccl_host_drawn(const char *text, size_t n, const char *name, const struct rs_nccl_log *log,
		       uint32_t release, const struct rs_nccl_assume *assume, struct rs_arena *a,
		       struct rs_nccl_host **out, struct rs_error *e)
{
	struct rs_error own = {0};
	struct rs_load l = {.arena = a, .e = e ? e : &own, .name = name};
	struct drawing *d = rs_load_take(&l, 1, sizeof(*d));

	*out = NULL;
	if (!d)
		return l.err;
	*d = (struct drawing){.l = &l, .log = log, .release = release, .assume = assume};
	d->h = rs_load_take(&l, 1, sizeof(*d->h));
	if (l.err)
		return l.err;
	d->h->name = name;
	draw(d, text, n);
	if (!l.err && !d->h->n_gpus)
		rs_load_fail(&l, -EINVAL, (struct rs_where){name, 1, 1},
			     "the log draws no topology (\"=== System\"): run with "
			     "NCCL_DEBUG_SUBSYS=INIT,GRAPH, or give NCCL's topology (XML)");
	if (!l.err)
		links(d);
	if (!l.err)
		rs_nccl_host_number(d->h, assume);
	if (l.err)
		return l.err;
	*out = d->h;
	return 0;
}
