/* Fixes: the author's what-if list; settings that a description leaves room for; and repairs of
 * what stands out in it: a link slower than its kind, a switch that is set unlike the others. Each
 * is run beside the scenario, none is believed unrun. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "describe/describe.h"
#include "diagnose/state.h"
#include "fabric/build.h"

enum {
	HOSTS_MAX = 1024, /* above, a scenario is long enough with its own what-ifs */
	SETS_MAX = 512,
	SHORT_CHUNK = 128 << 10,
	NAMES = 2, /* of links or switches in a fix's name; the rest is counted */
};

/* ---- The author's ---- */

int load_with(struct diagnose *g, const struct rs_setting *more, uint32_t n_more,
	      struct rs_fabric **out, struct rs_error *e)
{
	struct rs_setting set[2 * SETS_MAX];
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->o->n_set && n < SETS_MAX; i++)
		set[n++] = g->o->set[i];
	for (uint32_t i = 0; i < n_more && n < 2 * SETS_MAX; i++)
		set[n++] = more[i];
	return g->o->load ? g->o->load(g->o->load_arg, set, n, out, e)
			  : rs_fabric_load(g->o->file, set, n, out, e);
}

int whatifs_add(struct diagnose *g)
{
	for (uint32_t i = 0; i < g->f->n_whatifs; i++) {
		const struct rs_whatif *w = &g->f->whatifs[i];
		struct rs_fabric *changed;

		if (load_with(g, w->set, w->n, &changed, g->e))
			return g->e->code;
		if (!case_add(g, RS_CASE_FIX, w->name, changed, NULL)) {
			rs_fabric_free(changed);
			return 0;
		}
	}
	return 0;
}

static const struct rs_change *change_set(struct diagnose *g, const struct rs_setting *s,
					  uint32_t n)
{
	struct rs_change *x = rs_arena_alloc(g->d->arena, 1, sizeof(*x));
	struct rs_setting *own = rs_arena_alloc(g->d->arena, n + 1u, sizeof(*own));

	if (!x || !own)
		return NULL;
	memcpy(own, s, n * sizeof(*own));
	x->set = own;
	x->n_set = n;
	return x;
}

/* The author's own list has it. */
static bool listed(const struct rs_fabric *f, const char *path, const char *value)
{
	for (uint32_t i = 0; i < f->n_whatifs; i++)
		if (f->whatifs[i].n == 1 && !strcmp(f->whatifs[i].set[0].path, path) &&
		    !strcmp(f->whatifs[i].set[0].value, value))
			return true;
	return false;
}

/* ---- Names ---- */

void repaired_at(struct repaired *r, const char *name)
{
	if (r->n++ >= NAMES || !name)
		return;
	r->names = r->names ? rs_arena_printf(r->a, "%s, %s", r->names, name) : name;
}

static const char *link_name(struct rs_arena *a, const struct rs_fabric *f, uint32_t link)
{
	const struct rs_link_end *e[2] = {&f->links[link].a, &f->links[link].b};
	const char *name[2];

	for (int i = 0; i < 2; i++)
		name[i] =
			e[i]->is_switch ? f->switches[e[i]->id].name : f->endpoints[e[i]->id].name;
	return rs_arena_printf(a, "%s - %s", name[0], name[1]);
}

/* ---- Facts ---- */

static bool drops(const struct diagnose *g)
{
	const struct rs_sim_counters *c = &g->d->seen->counters;

	return c->drops + c->nic_drops > 0;
}

static bool pauses(const struct diagnose *g)
{
	const struct rs_sim_counters *c = &g->d->seen->counters;

	return c->pauses + c->nic_pauses > 0;
}

static bool mtu_is_short(const struct diagnose *g)
{
	return g->f->transport.mtu < 4096 && !g->f->transport.payload;
}

/* Further by name than another NIC of its host. */
static bool nic_is_far(const struct rs_fabric *f, uint32_t rank)
{
	const struct rs_fabric_host *h = &f->hosts[rs_fabric_rank_host(f, rank)];
	uint32_t mine = rs_fabric_rank_endpoint(f, rank);
	int gpu = rs_fabric_rank_part(f, rank);

	if (!h->inside || gpu == RS_NO_PART)
		return false;
	for (uint32_t i = h->first_endpoint; i < h->first_endpoint + h->n_endpoints; i++)
		if (rs_host_distance(h->inside, gpu, f->endpoints[i].part) <
		    rs_host_distance(h->inside, gpu, f->endpoints[mine].part))
			return true;
	return false;
}

static bool pairs_are_far(const struct diagnose *g)
{
	for (uint32_t r = 0; g->f->pair_by_index && r < g->f->n_gpus; r++)
		if (nic_is_far(g->f, r))
			return true;
	return false;
}

static bool any(const struct diagnose *g)
{
	return true;
}

/* Ultra Ethernet's endpoints have recovery, congestion control and paths of their own, and lossy
 * classes by plan. */
static bool rc(const struct diagnose *g)
{
	return rs_fabric_has_rc(g->f);
}

static bool pfc_is_off(const struct diagnose *g)
{
	return rc(g) && !g->f->qos.pfc && drops(g);
}

/* Drops what Ultra Ethernet would have cut, for senders that wait for timeouts then. */
static bool trims_not(const struct diagnose *g)
{
	return rs_fabric_has_uet(g->f) && !g->f->qos.trim && drops(g);
}

static bool few_reads(const struct diagnose *g)
{
	for (uint32_t j = 0; g->f->transport.max_rd_atomic < 16 && j < g->f->n_jobs; j++)
		for (uint32_t i = 0; i < g->f->jobs[j].n_flows; i++)
			if (g->f->jobs[j].flows[i].op >= RS_FLOW_READ)
				return true;
	return false;
}

static bool go_back_n(const struct diagnose *g)
{
	return rc(g) && g->f->transport.recovery == RS_FABRIC_GO_BACK_N;
}

/* Go-back-N sends a whole window again for one packet that was lost, or that came late. */
static bool sends_again(const struct diagnose *g)
{
	return go_back_n(g) && g->d->seen->counters.retransmits > 0;
}

/* Paths are chosen by a hash, and there is a choice. */
static bool hashed(const struct diagnose *g)
{
	return g->f->qos.routing == RS_FABRIC_ECMP && fabric_multipath(g->f);
}

static bool rc_hashed(const struct diagnose *g)
{
	return rc(g) && hashed(g);
}

/* Packets of a connection of Ultra Ethernet in order, on one path. */
static bool one_path(const struct diagnose *g)
{
	return rs_fabric_has_uet(g->f) && g->f->transport.uet.ordered && fabric_multipath(g->f);
}

static bool no_control(const struct diagnose *g)
{
	return rc(g) && g->f->cc.kind && !strcmp(g->f->cc.kind, "none") && (pauses(g) || drops(g));
}

static bool has_events(const struct diagnose *g)
{
	return g->f->events.n != 0;
}

/* Some of them make a link slower. */
static bool events_slow(const struct diagnose *g)
{
	for (uint32_t i = 0; i < g->f->events.n; i++)
		if (g->f->events.event[i].rate)
			return true;
	return false;
}

static bool events_pause(const struct diagnose *g)
{
	for (uint32_t i = 0; i < g->f->events.n; i++)
		if (g->f->events.event[i].pause)
			return !events_slow(g);
	return false;
}

static bool events_else(const struct diagnose *g)
{
	return has_events(g) && !events_slow(g) && !events_pause(g);
}

/* ---- Settings ---- */

static const struct {
	const char *name, *path, *value, *cures;
	bool (*applies)(const struct diagnose *g);
	const char *path2, *value2; /* another setting with it; NULL: none */
} settings[] = {
	{"none of the changes under fabric.change", "fabric.change", "[]",
	 "host host.link host.limit receiver link.slow link.long link.loss link.down drops pauses",
	 any, NULL, NULL},
	{"links without fabric.events", "fabric.events", "[]", "link.slow link.loss drops",
	 events_slow, NULL, NULL},
	{"links without fabric.events", "fabric.events", "[]", "pauses receiver link.loss drops",
	 events_pause, NULL, NULL},
	{"links without fabric.events", "fabric.events", "[]", "link.loss drops pauses receiver",
	 events_else, NULL, NULL},
	{"each GPU on its nearest NIC", "fabric.pairing", "nearest", "host host.link",
	 pairs_are_far, NULL, NULL},
	{"a path MTU of 4096", "fabric.network.mtu", "4096", "mtu", mtu_is_short, NULL, NULL},
	{"16 READs outstanding", "fabric.transport.max_rd_atomic", "16", "messages", few_reads,
	 NULL, NULL},
	{"PFC on", "fabric.qos.pfc", "true", "drops.no-pfc drops", pfc_is_off, NULL, NULL},
	{"DCQCN as congestion control", "fabric.cc", "{kind: dcqcn}", "pauses drops", no_control,
	 NULL, NULL},
	{"selective recovery: receivers keep what comes out of order", "fabric.transport.recovery",
	 "selective", "reordering link.loss drops", sends_again, NULL, NULL},
	{"adaptive routing, and receivers that keep what comes out of order", "fabric.qos.routing",
	 "adaptive", "collisions", rc_hashed, "fabric.transport.recovery", "selective"},
	{"trimming in place of drops", "fabric.qos.trim", "true", "drops", trims_not, NULL, NULL},
	{"unordered delivery over many paths", "fabric.transport.uet.delivery", "rud",
	 "collisions reordering link.loss drops", one_path, NULL, NULL},
};

static bool alike(const struct rs_pcie *a, const struct rs_pcie *b)
{
	return a->gen == b->gen && a->lanes == b->lanes && a->mps == b->mps && a->mrrs == b->mrrs;
}

static bool same_parts(const struct rs_host *a, const struct rs_host *b)
{
	if (!a || !b || a->n_parts != b->n_parts)
		return a == b;
	for (int i = 0; i < a->n_parts; i++) {
		const struct rs_part *p = &a->parts[i], *q = &b->parts[i];

		if (p->parent != q->parent || p->parent2 != q->parent2 || !alike(&p->up, &q->up) ||
		    !alike(&p->up2, &q->up2))
			return false;
	}
	return true;
}

static bool same_links(const struct rs_fabric *f, const struct rs_fabric *h)
{
	if (f->n_links != h->n_links || f->n_switches != h->n_switches)
		return false;
	for (uint32_t i = 0; i < f->n_links; i++)
		if (f->links[i].rate != h->links[i].rate || f->links[i].loss != h->links[i].loss ||
		    f->links[i].delay != h->links[i].delay)
			return false;
	for (uint32_t s = 0; s < f->n_switches; s++)
		if (memcmp(rs_fabric_qos(f, s), rs_fabric_qos(h, s), sizeof(struct rs_qos)))
			return false;
	return true;
}

static bool same_ends(const struct rs_fabric *f, const struct rs_fabric *h)
{
	for (uint32_t i = 0; i < f->n_endpoints && i < h->n_endpoints; i++)
		if (f->endpoints[i].no_pfc != h->endpoints[i].no_pfc ||
		    f->endpoints[i].mark != h->endpoints[i].mark)
			return false;
	return !f->gpu_speed == !h->gpu_speed;
}

/* Whether h, f with the changes taken back, is another fabric at all. */
static bool changes_matter(const struct rs_fabric *f, const struct rs_fabric *h)
{
	if (!same_ends(f, h))
		return true;
	for (uint32_t i = 0; i < f->n_hosts && i < h->n_hosts; i++)
		if (!same_parts(f->hosts[i].inside, h->hosts[i].inside))
			return true;
	return !same_links(f, h);
}

/* The links of what happens while the network runs: events of links that get slower come first. */
static const char *events_where(struct diagnose *g)
{
	struct repaired r = {.a = g->d->arena};
	const struct rs_fabric_events *v = &g->f->events;
	bool slow = events_slow(g);

	for (uint32_t i = 0; i < v->n; i++) {
		bool again = (slow && !v->event[i].rate) ||
			     (i && v->event[i].links[0] == v->event[i - 1].links[0]);

		if (!again)
			repaired_at(&r, link_name(r.a, g->f, v->event[i].links[0]));
	}
	return r.n > NAMES ? rs_arena_printf(r.a, "%s and %u more", r.names, r.n - NAMES) : r.names;
}

/* Those that cannot be had here are left out: they were not asked for. */
static int setting_add(struct diagnose *g, const char *name, const struct rs_setting *s, uint32_t n,
		       const char *cures)
{
	struct rs_error refused = {0};
	struct rs_fabric *changed;
	struct rs_case_info *c;

	if (n == 1 && listed(g->f, s->path, s->value))
		return 0;
	if (load_with(g, s, n, &changed, &refused))
		return refused.code == -ENOMEM ? -ENOMEM : 0;
	if (!strcmp(s->path, "fabric.change") && !changes_matter(g->f, changed)) {
		rs_fabric_free(changed);
		return 0;
	}
	c = case_add(g, RS_CASE_FIX, rs_arena_printf(g->d->arena, "%s (proposed)", name), changed,
		     NULL);
	if (!c) {
		rs_fabric_free(changed);
		return 0;
	}
	c->cures = cures;
	c->change = change_set(g, s, n);
	if (!strcmp(s->path, "fabric.events"))
		c->where = events_where(g);
	/* all changes at once, or another way to run the fabric */
	c->general = !strcmp(s->path, "fabric.change") || !strcmp(s->path, "fabric.cc") ||
		     !strcmp(s->path, "fabric.transport.recovery") ||
		     !strcmp(s->path, "fabric.transport.uet.delivery") ||
		     !strcmp(s->path, "fabric.qos.routing");
	return 0;
}

/* ---- Settings of collectives ---- */

static int collective_add(struct diagnose *g, uint32_t job, const char *key, uint64_t value,
			  const char *name, const char *cures)
{
	const struct rs_job *j = &g->f->jobs[job];
	struct rs_arena *a = g->d->arena;
	const char *in = j->kind == RS_JOB_TRAIN   ? "train.collective"
			 : j->kind == RS_JOB_TRACE ? "trace.collective"
			 : j->kind == RS_JOB_SERVE ? "serve.collective"
						   : "collective";
	struct rs_setting s = {
		.path = rs_arena_printf(a, "workload[%u].%s.%s", job, in, key),
		.value = rs_arena_printf(a, "%llu%s", (unsigned long long)value,
					 strcmp(key, "chunk") ? "" : "B"),
		.at = {"a proposal", 0, 0},
	};

	if (!s.path || !s.value)
		return -ENOMEM;
	if (g->f->n_jobs > 1)
		name = rs_arena_printf(a, "%s: %s", j->name, name);
	return name ? setting_add(g, name, &s, 1, cures) : -ENOMEM;
}

/* As it ran: NCCL's choice, too. */
static uint32_t channels_of(const struct diagnose *g, uint32_t job)
{
	const struct rs_coll *c = g->d->seen->jobs[job].coll;

	return c ? c->conf.channels : g->f->jobs[job].collective.channels;
}

/* Some variable says how many channels NCCL may take, or which NICs. */
static bool says_channels(const struct rs_nccl_conf *c)
{
	for (uint32_t i = 0; i < c->n_env; i++)
		if (strstr(c->env[2 * i], "CHANNELS") || strstr(c->env[2 * i], "CTAS") ||
		    strstr(c->env[2 * i], "IB_HCA") || strstr(c->env[2 * i], "NRINGS"))
			return true;
	return false;
}

/* NCCL without the variables that were set for it. */
static int nccl_plain_add(struct diagnose *g, uint32_t job)
{
	const struct rs_nccl_conf *c = &rs_job_collective(&g->f->jobs[job])->nccl;
	struct rs_setting s = {
		.path = rs_arena_printf(g->d->arena, "workload[%u].collective.nccl.env", job),
		.value = "{}",
		.at = {"a proposal", 0, 0},
	};
	struct repaired r = {.a = g->d->arena};
	uint32_t before = g->d->n;
	int err;

	for (uint32_t i = 0; i < c->n_env; i++)
		repaired_at(&r, c->env[2 * i]);
	if (!s.path || !r.names)
		return -ENOMEM;
	err = setting_add(
		g, rs_arena_printf(r.a, "%s: NCCL without %s", g->f->jobs[job].name, r.names), &s,
		1, says_channels(c) ? "channels" : "nccl");
	if (!err && g->d->n > before)
		g->d->info[before].where =
			rs_arena_printf(r.a, "%s (%s)", g->f->jobs[job].name, r.names);
	return err;
}

/* NCCL has a variable for it; how it runs stays its own choice. */
static int nccl_add(struct diagnose *g, uint32_t job)
{
	static const char key[] = "nccl.env.NCCL_IB_QPS_PER_CONNECTION";

	if (g->f->jobs[job].collective.nccl.n_env)
		return g->f->jobs[job].kind == RS_JOB_COLLECTIVE ? nccl_plain_add(g, job) : 0;
	if (!fabric_multipath(g->f))
		return 0;
	return collective_add(g, job, key, 4,
			      "4 queue pairs a connection (NCCL_IB_QPS_PER_CONNECTION)",
			      "collisions");
}

static int collectives_add(struct diagnose *g)
{
	const struct rs_fabric *f = g->f;
	uint32_t nics = 0;
	int err = 0;

	for (uint32_t h = 0; h < f->n_hosts; h++)
		if (f->hosts[h].n_endpoints > nics)
			nics = f->hosts[h].n_endpoints;
	for (uint32_t i = 0; !err && i < f->n_jobs; i++) {
		const struct rs_job *j = &f->jobs[i];
		const struct rs_collective_conf *c = rs_job_collective(j);

		/* a setting would make rings of what is NCCL's now: no fix of the same thing */
		if (!c || (c->as_nccl && rs_job_is_work(j)))
			continue;
		if (c->algorithm == RS_ALGO_NCCL) {
			err = nccl_add(g, i);
			continue;
		}
		if (j->kind == RS_JOB_COLLECTIVE && c->algorithm != RS_ALGO_HIERARCHICAL &&
		    c->algorithm != RS_ALGO_PAIRWISE && channels_of(g, i) < nics && nics <= 16 &&
		    f->n_gpus > f->n_hosts)
			err = collective_add(
				g, i, "channels", nics,
				rs_arena_printf(g->d->arena,
						"a channel for each of a host's %u NICs", nics),
				"channels");
		if (!err && c->chunk && c->chunk < SHORT_CHUNK)
			err = collective_add(g, i, "chunk", 512 << 10, "chunks of 512 KiB",
					     "messages");
		if (!err && c->slots && c->slots < 8)
			err = collective_add(g, i, "slots", 8, "8 chunks in flight a connection",
					     "messages");
		if (!err && c->qps < 4 && fabric_multipath(f))
			err = collective_add(g, i, "qps", 4, "4 queue pairs a connection",
					     "collisions");
	}
	return err;
}

/* ---- Repairs of single links and switches ---- */

/* The kind of a link: the tiers of its ends, 255 for a NIC's. */
static uint32_t link_kind(const struct rs_fabric *f, uint32_t link)
{
	const struct rs_fabric_link *l = &f->links[link];
	uint32_t a = l->a.is_switch ? f->switches[l->a.id].tier : 255;
	uint32_t b = l->b.is_switch ? f->switches[l->b.id].tier : 255;

	return a < b ? a << 8 | b : b << 8 | a;
}

/* What links of a kind have, in order: by kind, then value; more is better. */
struct value {
	uint32_t kind;
	int64_t x;
};

static int by_value(const void *x, const void *y)
{
	const struct value *a = x, *b = y;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->x < b->x ? -1 : a->x > b->x;
}

/* malloc: an entry a link; NULL: no memory. */
static struct value *values_of(const struct rs_fabric *f,
			       int64_t (*of)(const struct rs_fabric_link *))
{
	struct value *v = malloc((f->n_links + 1u) * sizeof(*v));

	for (uint32_t i = 0; v && i < f->n_links; i++)
		v[i] = (struct value){link_kind(f, i), of(&f->links[i])};
	if (v)
		qsort(v, f->n_links, sizeof(*v), by_value);
	return v;
}

/* How many of n come before this one. */
static uint32_t before(const struct value *v, uint32_t n, struct value x)
{
	uint32_t from = 0;

	while (from < n) {
		uint32_t mid = from + (n - from) / 2;

		if (by_value(&v[mid], &x) < 0)
			from = mid + 1;
		else
			n = mid;
	}
	return from;
}

/* Most links of a kind have `least` or more; *usual: the least of those. */
static bool most_have(const struct value *v, uint32_t n, struct value least, int64_t *usual)
{
	uint32_t first = before(v, n, (struct value){least.kind, INT64_MIN});
	uint32_t end = before(v, n, (struct value){least.kind + 1, INT64_MIN});
	uint32_t at = before(v, n, least);

	if (end - at <= at - first)
		return false;
	*usual = v[at].x;
	return true;
}

/* Of two ways of unlike rates the slower one. */
static int64_t rate_of(const struct rs_fabric_link *l)
{
	return l->rate_back && l->rate_back < l->rate ? l->rate_back : l->rate;
}

/* A change made it slower than it was drawn. */
static bool was_faster(const struct rs_fabric *f, uint32_t link, int64_t *usual)
{
	if (!f->drawn || rate_of(&f->drawn[link]) <= rate_of(&f->links[link]))
		return false;
	*usual = rate_of(&f->drawn[link]);
	return true;
}

/* No way of it is slower than usual. A NIC's own rate is that of the way from it. */
static void speed_up(struct rs_fabric *h, struct rs_fabric_link *l, int64_t usual)
{
	int64_t back = l->rate_back ? l->rate_back : l->rate;

	l->rate = l->rate > usual ? l->rate : usual;
	back = back > usual ? back : usual;
	l->rate_back = back == l->rate ? 0 : back;
	if (!l->a.is_switch)
		h->endpoints[l->a.id].rate = l->rate;
	if (!l->b.is_switch)
		h->endpoints[l->b.id].rate = back;
}

/* Judged by f, as it was: one repair must not make the next link odd. */
static void repair_slow_links(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r)
{
	struct value *v = values_of(f, rate_of);

	for (uint32_t i = 0; v && i < f->n_links; i++) {
		struct value more = {link_kind(f, i), rate_of(&f->links[i]) + 1};
		int64_t usual;

		if (!most_have(v, f->n_links, more, &usual) && !was_faster(f, i, &usual))
			continue;
		speed_up(h, &h->links[i], usual);
		repaired_at(r, link_name(r->a, f, i));
	}
	free(v);
}

/* More is better: the shorter. */
static int64_t nearness_of(const struct rs_fabric_link *l)
{
	return -l->delay;
}

/* Twice as long as most of its kind, and more. */
static void repair_long_links(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r)
{
	struct value *v = values_of(f, nearness_of);

	for (uint32_t i = 0; v && i < f->n_links; i++) {
		struct value half = {link_kind(f, i), -(f->links[i].delay / 2)};
		int64_t usual;

		if (!most_have(v, f->n_links, half, &usual)) {
			if (!f->drawn || f->drawn[i].delay * 2 > f->links[i].delay)
				continue;
			usual = -f->drawn[i].delay;
		}
		if (!usual)
			continue;
		h->links[i].delay = -usual;
		repaired_at(r, link_name(r->a, f, i));
	}
	free(v);
}

/* More than a healthy cable: 1e-8 of packets is a bit error ratio of some 1e-13 at 4 KiB. */
#define LOSS_HEALTHY 1e-8

static void repair_lossy_links(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r)
{
	for (uint32_t i = 0; i < f->n_links; i++)
		if (f->links[i].loss > LOSS_HEALTHY) {
			h->links[i].loss = 0;
			repaired_at(r, link_name(r->a, f, i));
		}
}

/* The QoS of a switch of a fabric that was loaded for a repair: its own to change. */
static struct rs_qos *qos_of(struct rs_fabric *h, uint32_t sw)
{
	return (struct rs_qos *)rs_fabric_qos(h, sw);
}

int dscp_meant(const struct rs_fabric *f, uint32_t sw, uint8_t dscp)
{
	const struct rs_qos *q = rs_fabric_qos(f, sw);

	int meant = -1;

	for (int c = 0; f->qos.pfc && c < RS_TCS; c++) {
		if (f->qos.tc[c].dscp != dscp || !f->qos.tc[c].lossless)
			continue;
		if (q->tc_of_dscp[dscp] == c && q->tc[c].lossless)
			return -1;
		meant = c;
	}
	return meant;
}

static void repair_dscp(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r)
{
	for (uint32_t s = 0; s < f->n_switches; s++) {
		bool odd = false;

		for (unsigned d = 0; d < 64; d++) {
			int c = dscp_meant(f, s, (uint8_t)d);

			if (c < 0)
				continue;
			odd = true;
			qos_of(h, s)->tc_of_dscp[d] = (uint8_t)c;
			qos_of(h, s)->tc[c].lossless = true;
		}
		if (odd)
			repaired_at(r, f->switches[s].name);
	}
}

static void repair_pfc(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r)
{
	for (uint32_t s = 0; s < f->n_switches; s++)
		if (f->qos.pfc && !rs_fabric_qos(f, s)->pfc) {
			qos_of(h, s)->pfc = true;
			repaired_at(r, f->switches[s].name);
		}
	for (uint32_t i = 0; i < f->n_endpoints; i++)
		if (f->qos.pfc && f->endpoints[i].no_pfc) {
			h->endpoints[i].no_pfc = false;
			repaired_at(r, f->endpoints[i].name);
		}
}

static void repair_marks(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r)
{
	for (uint32_t i = 0; i < f->n_endpoints; i++)
		if (f->endpoints[i].mark) {
			h->endpoints[i].mark = 0;
			repaired_at(r, f->endpoints[i].name);
		}
}

/* "h3/gpu2"; of a plain host, whose GPUs are its NICs, "h3/nic2", or "h3" where it has one. */
static const char *name_of_gpu(const struct rs_fabric *f, uint32_t gpu, struct rs_arena *a)
{
	const struct rs_fabric_host *h = &f->hosts[rs_fabric_rank_host(f, gpu)];
	int part = rs_fabric_rank_part(f, gpu);

	if (h->inside && part != RS_NO_PART)
		return rs_arena_printf(a, "%s/%s", h->name, h->inside->parts[part].name);
	return f->endpoints[h->first_endpoint + gpu - h->first_gpu].name;
}

/* All of a host's GPUs alike are named by the host. */
static void repair_gpus(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r)
{
	for (uint32_t i = 0; f->gpu_speed && i < f->n_hosts; i++) {
		const struct rs_fabric_host *at = &f->hosts[i];
		uint32_t slow = 0;

		for (uint32_t g = 0; g < at->n_gpus; g++)
			slow += rs_fabric_gpu_speed(f, at->first_gpu + g) < 1;
		if (slow && slow == at->n_gpus)
			repaired_at(r, at->name);
		for (uint32_t g = 0; slow && slow < at->n_gpus && g < at->n_gpus; g++)
			if (rs_fabric_gpu_speed(f, at->first_gpu + g) < 1)
				repaired_at(r, name_of_gpu(f, at->first_gpu + g, r->a));
	}
	h->gpu_speed = NULL;
}

static void repair_headroom(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r)
{
	for (uint32_t s = 0; s < f->n_switches; s++)
		if (rs_fabric_qos(f, s)->headroom_scale < 1) {
			qos_of(h, s)->headroom_scale = 1;
			repaired_at(r, f->switches[s].name);
		}
}

/* Pauses of a busy fabric end by themselves, a deadlock does not: detection times in the field
 * begin here (docs/audit.md, S08). */
#define WATCHDOG (200 * RS_MS)

static void repair_watchdog(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r)
{
	for (uint32_t s = 0; s < f->n_switches; s++) {
		const struct rs_qos *q = rs_fabric_qos(f, s);

		if (!q->watchdog || q->watchdog >= WATCHDOG)
			continue;
		qos_of(h, s)->watchdog = WATCHDOG;
		repaired_at(r, f->switches[s].name);
	}
}

/* ECN where a lossless class that data uses has none. */
static void repair_ecn(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r)
{
	for (uint32_t s = 0; s < f->n_switches; s++) {
		const struct rs_qos *q = rs_fabric_qos(f, s);
		bool odd = false;

		for (unsigned c = 0; c < RS_TCS; c++) {
			if (!q->tc[c].lossless || (q->ecn_on && q->tc[c].ecn))
				continue;
			qos_of(h, s)->ecn_on = qos_of(h, s)->tc[c].ecn = true;
			odd = true;
		}
		if (odd)
			repaired_at(r, f->switches[s].name);
	}
}

/* What a description leaves unsaid is what these settings should be near. calloc: NULL without
 * memory. */
static struct rs_fabric *defaults_of(const struct rs_fabric *f)
{
	struct rs_fabric *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->preset = f->preset;
	rs_fabric_defaults(d);
	return d;
}

/* Thresholds so far from the defaults that they mark in a queue of a few packets, or never. */
enum { FAR_OFF = 5 };

static bool far_off(uint64_t x, uint64_t usual)
{
	return x * FAR_OFF < usual || x > usual * FAR_OFF;
}

static bool thresholds_off(const struct rs_qos_class *c, const struct rs_qos_class *usual)
{
	return c->ecn && (far_off(c->kmin, usual->kmin) || far_off(c->kmax, usual->kmax));
}

/* What the description says of an algorithm's parameters; a preset is somebody's choice of all. */
static void usual_cc(struct rs_cc_conf *c, struct repaired *r)
{
	for (uint32_t i = 0; i < c->n; i++)
		repaired_at(r, rs_arena_printf(r->a, "%s %s", c->kind, c->kv[i].key));
	c->n = 0;
}

/* Ultra Ethernet's own: what a description says of them, unlike what follows from the network. What
 * it is run as (window, credits, delivery) is a choice. */
static void usual_uet(const struct rs_uet_settings *usual, struct rs_uet_settings *u,
		      struct repaired *r)
{
	const struct {
		const char *name;
		size_t at, size;
	} of[] = {
#define SETTING(x) {#x, offsetof(struct rs_uet_settings, x), sizeof(u->x)}
		SETTING(balance),   SETTING(paths),    SETTING(freeze),
		SETTING(ack_bytes), SETTING(credit),   SETTING(mpr),
		SETTING(rto),       SETTING(base_rtt), SETTING(target),
#undef SETTING
	};

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		char *to = (char *)u + of[i].at;
		const char *from = (const char *)usual + of[i].at;

		if (!memcmp(to, from, of[i].size) || (u->ordered && i < 2))
			continue;
		memcpy(to, from, of[i].size);
		repaired_at(r, rs_arena_printf(r->a, "uet %s", of[i].name));
	}
}

static void repair_uet(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r)
{
	struct rs_fabric *usual = rs_fabric_has_uet(f) ? defaults_of(f) : NULL;

	if (usual)
		usual_uet(&usual->transport.uet, &h->transport.uet, r);
	free(usual);
}

static void repair_cc(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r)
{
	(void)f;
	if (h->cc.kind)
		usual_cc(&h->cc, r);
	for (uint32_t i = 0; i < h->n_ccs; i++)
		if (h->ccs[i].kind)
			usual_cc(&h->ccs[i], r);
}

/* Hosts that send without congestion control, where most have some. */
static void repair_uncontrolled(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r)
{
	uint32_t without = 0, other = UINT32_MAX;

	for (uint32_t i = 0; i < f->n_hosts; i++)
		if (!strcmp(rs_fabric_cc(f, f->hosts[i].cc)->kind, "none"))
			without++;
		else
			other = i;
	for (uint32_t i = 0; other != UINT32_MAX && 2 * without < f->n_hosts && i < f->n_hosts; i++)
		if (!strcmp(rs_fabric_cc(f, f->hosts[i].cc)->kind, "none")) {
			h->hosts[i].cc = f->hosts[other].cc;
			repaired_at(r, f->hosts[i].name);
		}
}

/* Every switch, also where all are alike. */
static void repair_thresholds(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r)
{
	struct rs_fabric *usual = defaults_of(f);

	for (uint32_t s = 0; usual && s < f->n_switches; s++) {
		bool odd = false;

		for (unsigned c = 0; c < RS_TCS; c++) {
			struct rs_qos_class *to = &qos_of(h, s)->tc[c];

			/* thresholds by the bandwidth-delay product are not the class's */
			if (rs_fabric_qos(f, s)->queue_bdp != 0 ||
			    !thresholds_off(&rs_fabric_qos(f, s)->tc[c], &usual->qos.tc[c]))
				continue;
			to->kmin = usual->qos.tc[c].kmin;
			to->kmax = usual->qos.tc[c].kmax;
			to->pmax = usual->qos.tc[c].pmax;
			to->ecn_rate = usual->qos.tc[c].ecn_rate;
			odd = true;
		}
		if (odd)
			repaired_at(r, f->switches[s].name);
	}
	free(usual);
}

/* A switch's pipeline so much slower than usual. */
enum { SLOW_SWITCH = 4 };

static void repair_pipeline(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r)
{
	struct rs_fabric *usual = defaults_of(f);

	for (uint32_t s = 0; usual && s < f->n_switches; s++) {
		if (rs_fabric_qos(f, s)->switch_latency <= SLOW_SWITCH * usual->qos.switch_latency)
			continue;
		qos_of(h, s)->switch_latency = usual->qos.switch_latency;
		repaired_at(r, f->switches[s].name);
	}
	free(usual);
}

static bool full(const struct diagnose *g)
{
	return drops(g) || pauses(g);
}

/* Switches have 12 to 16 MB at 40 and 100 Gb/s (BCM56850, BCM56960, Spectrum: product briefs), a
 * quarter of the default and less; half of the least is none's. */
enum { NO_SWITCH = 8 };

static void repair_buffer(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r)
{
	struct rs_fabric *usual = defaults_of(f);

	for (uint32_t s = 0; usual && s < f->n_switches; s++) {
		uint64_t has = rs_fabric_qos(f, s)->buffer;

		if (!has || has >= usual->qos.buffer)
			continue;
		qos_of(h, s)->buffer = usual->qos.buffer;
		r->far_off |= has * NO_SWITCH < usual->qos.buffer;
		repaired_at(r, f->switches[s].name);
	}
	free(usual);
}

static bool drops_for(const struct diagnose *g, enum rs_drop_why why)
{
	const struct rs_sim_result *r = g->d->seen;

	for (uint32_t i = 0; i < r->n_drops; i++)
		if (r->drops[i].why == why)
			return true;
	return false;
}

static void repair_limit(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r)
{
	for (uint32_t s = 0; s < f->n_switches; s++) {
		bool odd = false;

		for (unsigned c = 0; c < RS_TCS; c++) {
			odd |= rs_fabric_qos(f, s)->tc[c].egress_limit > 0;
			qos_of(h, s)->tc[c].egress_limit = 0;
		}
		if (odd)
			repaired_at(r, f->switches[s].name);
	}
}

static bool lossy_drops(const struct diagnose *g)
{
	return rc(g) && drops_for(g, RS_DROP_LOSSY);
}

/* The class of data is lossy by plan: PFC for it, at every switch. */
static void repair_lossy_class(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r)
{
	unsigned c = f->qos.data_tc;

	if (f->qos.tc[c].lossless && f->qos.pfc)
		return;
	h->qos.pfc = h->qos.tc[c].lossless = true;
	for (uint32_t s = 0; s < f->n_switches; s++) {
		qos_of(h, s)->pfc = qos_of(h, s)->tc[c].lossless = true;
		repaired_at(r, f->switches[s].name);
	}
}

static bool same_thresholds(const struct rs_qos *a, const struct rs_qos *b)
{
	for (unsigned c = 0; c < RS_TCS; c++)
		if (a->tc[c].kmin != b->tc[c].kmin || a->tc[c].kmax != b->tc[c].kmax ||
		    a->tc[c].pmax != b->tc[c].pmax || a->tc[c].ecn_rate != b->tc[c].ecn_rate)
			return false;
	return true;
}

static bool same_buffer(const struct rs_qos *a, const struct rs_qos *b)
{
	if (a->buffer != b->buffer || a->cell != b->cell)
		return false;
	for (unsigned c = 0; c < RS_TCS; c++)
		if (a->tc[c].alpha_shift != b->tc[c].alpha_shift ||
		    a->tc[c].egress_limit != b->tc[c].egress_limit ||
		    a->tc[c].reserved != b->tc[c].reserved)
			return false;
	return true;
}

static bool same_routing(const struct rs_qos *a, const struct rs_qos *b)
{
	return a->routing == b->routing && a->hash == b->hash && a->hash_fields == b->hash_fields &&
	       a->hash_same == b->hash_same;
}

static bool same_weights(const struct rs_qos *a, const struct rs_qos *b)
{
	for (unsigned c = 0; c < RS_TCS; c++)
		if (a->tc[c].weight != b->tc[c].weight)
			return false;
	return true;
}

/* What more than half of the switches are like; where there is no such, what the description says
 * of all: a switch that differs was changed. */
static const struct rs_qos *like_most(const struct rs_fabric *f,
				      bool (*same)(const struct rs_qos *, const struct rs_qos *))
{
	uint32_t best = 0, most = 0;

	for (uint32_t s = 0; s < f->n_switches && most * 2 <= f->n_switches; s++) {
		uint32_t n = 0;

		for (uint32_t t = 0; t < f->n_switches; t++)
			n += same(rs_fabric_qos(f, s), rs_fabric_qos(f, t));
		if (n > most) {
			most = n;
			best = s;
		}
	}
	return most * 2 > f->n_switches && f->n_switches > 1 ? rs_fabric_qos(f, best) : &f->qos;
}

static void copy_thresholds(struct rs_qos *to, const struct rs_qos *from)
{
	for (unsigned c = 0; c < RS_TCS; c++) {
		to->tc[c].kmin = from->tc[c].kmin;
		to->tc[c].kmax = from->tc[c].kmax;
		to->tc[c].pmax = from->tc[c].pmax;
		to->tc[c].ecn_rate = from->tc[c].ecn_rate;
	}
}

static void copy_buffer(struct rs_qos *to, const struct rs_qos *from)
{
	to->buffer = from->buffer;
	to->cell = from->cell;
	for (unsigned c = 0; c < RS_TCS; c++) {
		to->tc[c].alpha_shift = from->tc[c].alpha_shift;
		to->tc[c].egress_limit = from->tc[c].egress_limit;
		to->tc[c].reserved = from->tc[c].reserved;
	}
}

static void copy_routing(struct rs_qos *to, const struct rs_qos *from)
{
	to->routing = from->routing;
	to->flowlet_gap = from->flowlet_gap;
	to->flowlet_random = from->flowlet_random;
	to->hash = from->hash;
	to->hash_fields = from->hash_fields;
	to->hash_same = from->hash_same;
	to->ar_sample = from->ar_sample;
	to->ar_sticky = from->ar_sticky;
	to->n_ar = from->n_ar;
	memcpy(to->ar, from->ar, sizeof(to->ar));
}

static void copy_weights(struct rs_qos *to, const struct rs_qos *from)
{
	for (unsigned c = 0; c < RS_TCS; c++)
		to->tc[c].weight = from->tc[c].weight;
}

/* One hash of all switches chooses alike in each tier: paths polarise. xor and crc32 deal some sets
 * of flows out unevenly, and fields that are left out make flows alike. Usual: docs/fabric.md. */
static void repair_hash(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r)
{
	struct rs_fabric *usual = defaults_of(f);

	for (uint32_t s = 0; usual && s < f->n_switches; s++) {
		const struct rs_qos *q = rs_fabric_qos(f, s);

		if (q->routing != RS_FABRIC_ECMP || (!q->hash_same && q->hash == usual->qos.hash &&
						     q->hash_fields == usual->qos.hash_fields))
			continue;
		qos_of(h, s)->hash_same = false;
		qos_of(h, s)->hash = usual->qos.hash;
		qos_of(h, s)->hash_fields = usual->qos.hash_fields;
		repaired_at(r, f->switches[s].name);
	}
	free(usual);
}

/* Settings in which a switch may be unlike the others. */
struct likeness {
	bool (*same)(const struct rs_qos *a, const struct rs_qos *b);
	void (*copy)(struct rs_qos *to, const struct rs_qos *from);
};

static void repair_odd(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r,
		       const struct likeness *of)
{
	const struct rs_qos *usual = like_most(f, of->same);

	for (uint32_t s = 0; s < f->n_switches; s++)
		if (!of->same(rs_fabric_qos(f, s), usual)) {
			of->copy(qos_of(h, s), usual);
			repaired_at(r, f->switches[s].name);
		}
}

static const struct {
	const char *what, *cures; /* what: where follows */
	bool (*applies)(const struct diagnose *g);
	/* of the two the one that is there: in its own way, or as most switches are */
	void (*repair)(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r);
	struct likeness like;
	bool general; /* it asks for more than others have, not for what is amiss */
} repairs[] = {
	{"its own class for the lossless DSCP at",
	 "drops.lossy-class drops",
	 any,
	 repair_dscp,
	 {0},
	 false},
	{"PFC on at", "drops.no-pfc drops", any, repair_pfc, {0}, false},
	{"802.1Q's headroom at", "drops.headroom drops", any, repair_headroom, {0}, false},
	{"a PFC watchdog of 200 ms at", "drops.watchdog drops", any, repair_watchdog, {0}, false},
	{"no bit errors on", "link.loss", any, repair_lossy_links, {0}, false},
	{"the others' rate on", "link.slow paths", any, repair_slow_links, {0}, false},
	{"the others' length on", "link.long paths", any, repair_long_links, {0}, false},
	{"the usual time to pass a packet on at",
	 "latency paths",
	 any,
	 repair_pipeline,
	 {0},
	 false},
	{"ECN marks at", "pauses drops ecn-off", pauses, repair_ecn, {0}, false},
	{"others' ECN thresholds at",
	 "cuts pauses ecn",
	 any,
	 NULL,
	 {same_thresholds, copy_thresholds},
	 false},
	{"ECN's usual thresholds at", "cuts pauses ecn", any, repair_thresholds, {0}, false},
	{"congestion control's usual", "cuts cc", rc, repair_cc, {0}, false},
	{"congestion control as others have it at",
	 "pauses cc",
	 rc,
	 repair_uncontrolled,
	 {0},
	 false},
	{"Ultra Ethernet's usual", "cuts cc collisions", any, repair_uet, {0}, false},
	{"no egress limit at", "drops.limit", any, repair_limit, {0}, false},
	{"others' buffer settings at",
	 "drops pauses",
	 any,
	 NULL,
	 {same_buffer, copy_buffer},
	 false},
	{"a buffer of the usual size at", "drops pauses", full, repair_buffer, {0}, true},
	{"PFC for the class of data at",
	 "drops.lossy-class",
	 lossy_drops,
	 repair_lossy_class,
	 {0},
	 true},
	{"the usual slot at", "host.link host receiver pauses", any, repair_slots, {0}, false},
	{"PCIe payloads of 256 B and read requests of 512 B at",
	 "host.link host receiver host.limit",
	 any,
	 repair_payload,
	 {0},
	 false},
	{"the model's own limits (reads, credits, messages) at",
	 "host.limit host receiver",
	 any,
	 repair_host_limits,
	 {0},
	 false},
	{"on the socket where others have it:",
	 "host.link host",
	 any,
	 repair_nic_places,
	 {0},
	 false},
	{"on the socket of the GPUs:", "host.link host", any, repair_far, {0}, false},
	{"the others' rate on NVLinks and between sockets at",
	 "host.link host",
	 any,
	 repair_xlinks,
	 {0},
	 false},
	{"others' routing at",
	 "reordering collisions",
	 any,
	 NULL,
	 {same_routing, copy_routing},
	 false},
	{"more messages under way from", "messages", any, repair_depth, {0}, false},
	{"messages of 1 MiB from", "messages", any, repair_message, {0}, false},
	{"memory of the NIC's socket for", "host.link host", any, repair_memory, {0}, false},
	{"the lossless class for what is sent by",
	 "drops.lossy-class drops",
	 lossy_drops,
	 repair_class,
	 {0},
	 false},
	{"others' class weights at", "weights", any, NULL, {same_weights, copy_weights}, false},
	{"its class's own DSCP on what is sent by",
	 "drops.lossy-class drops",
	 any,
	 repair_marks,
	 {0},
	 false},
	{"the others' speed of computing at", "straggler", any, repair_gpus, {0}, false},
	{"memory registered beforehand by", "registration", any, repair_registration, {0}, false},
	{"a hash of its own, of all fields, at", "collisions", hashed, repair_hash, {0}, false},
};

/* Mends h, which is f loaded anew, and says where. */
static void repair(const struct rs_fabric *f, size_t i, struct rs_fabric *h, struct repaired *r)
{
	if (repairs[i].repair)
		repairs[i].repair(f, h, r);
	else
		repair_odd(f, h, r, &repairs[i].like);
}

_Static_assert(sizeof(repairs) / sizeof(*repairs) <= 64, "a bit each in rs_change.repairs");

int change_make(struct diagnose *g, const struct rs_change *x, struct rs_fabric **out)
{
	struct repaired r = {.a = g->d->arena};
	struct rs_error refused = {0};
	int err = load_with(g, x->set, x->n_set, out, &refused);

	if (err)
		return err;
	for (size_t i = 0; i < sizeof(repairs) / sizeof(*repairs); i++)
		if (x->repairs >> i & 1)
			repair(g->f, i, *out, &r);
	if (x->widen > 0)
		links_widen(*out, x->widen);
	return 0;
}

static const struct rs_change *change_repair(struct diagnose *g, size_t i)
{
	struct rs_change *x = rs_arena_alloc(g->d->arena, 1, sizeof(*x));

	if (x)
		x->repairs = UINT64_C(1) << i;
	return x;
}

/* Takes *spare, which is made where it is NULL, when there is something to repair. */
static int repair_add(struct diagnose *g, size_t i, struct rs_fabric **spare)
{
	struct repaired r = {.a = g->d->arena};
	struct rs_error refused = {0};
	struct rs_case_info *c;
	const char *where, *name;

	if (!*spare && load_with(g, NULL, 0, spare, &refused))
		return refused.code == -ENOMEM ? -ENOMEM : 0;
	repair(g->f, i, *spare, &r);
	if (!r.n)
		return 0;
	where = r.n > NAMES ? rs_arena_printf(r.a, "%s and %u more", r.names, r.n - NAMES)
			    : r.names;
	name = where ? rs_arena_printf(r.a, "%s %s (proposed)", repairs[i].what, where) : NULL;
	c = case_add(g, RS_CASE_FIX, name, *spare, NULL);
	if (!c)
		rs_fabric_free(*spare);
	*spare = NULL;
	if (!c)
		return 0;
	c->cures = repairs[i].cures;
	c->change = change_repair(g, i);
	c->general = repairs[i].general;
	c->far_off = r.far_off;
	c->where = where;
	return 0;
}

/* ---- Links ---- */

static const char *down_links(struct diagnose *g)
{
	struct repaired r = {.a = g->d->arena};

	for (uint32_t i = 0; i < g->f->n_links; i++)
		if (g->f->links[i].down)
			repaired_at(&r, link_name(r.a, g->f, i));
	return r.n > NAMES ? rs_arena_printf(r.a, "%s and %u more", r.names, r.n - NAMES) : r.names;
}

/* What is down is up again; the last of the list goes first, so that numbers stay. */
static int links_up_add(struct diagnose *g)
{
	const struct rs_fabric *f = g->f;
	struct rs_error refused = {0};
	struct rs_setting set[SETS_MAX];
	struct rs_fabric *h;
	struct rs_case_info *c;
	const char *where;
	uint32_t n = 0;

	for (uint32_t i = f->n_changes; f->n_down && i-- > 0 && n < SETS_MAX;)
		if (strstr(f->changes[i], "down"))
			set[n++] = (struct rs_setting){
				rs_arena_printf(g->d->arena, "fabric.change[%u]", f->change_at[i]),
				"null",
				{"a proposal", 0, 0}};
	if (!n)
		return 0;
	where = down_links(g);
	if (!where || load_with(g, set, n, &h, &refused))
		return refused.code == -ENOMEM || !where ? -ENOMEM : 0;
	c = case_add(g, RS_CASE_FIX, rs_arena_printf(g->d->arena, "up again: %s (proposed)", where),
		     h, NULL);
	if (!c) {
		rs_fabric_free(h);
		return 0;
	}
	c->cures = "link.down oversubscription collisions";
	c->change = change_set(g, set, n);
	c->where = where;
	return 0;
}

static int wider_add(struct diagnose *g)
{
	struct rs_error refused = {0};
	struct rs_network_facts facts;
	struct rs_fabric *h;
	struct rs_case_info *c;

	rs_fabric_facts(g->f, &facts);
	if (facts.oversubscription < 1.001)
		return 0;
	if (load_with(g, NULL, 0, &h, &refused))
		return refused.code == -ENOMEM ? -ENOMEM : 0;
	links_widen(h, facts.oversubscription);
	c = case_add(g, RS_CASE_FIX,
		     rs_arena_printf(g->d->arena,
				     "links between switches %.3g times as wide (proposed)",
				     facts.oversubscription),
		     h, NULL);
	if (!c) {
		rs_fabric_free(h);
		return 0;
	}
	c->cures = "oversubscription";
	c->general = true;
	return 0;
}

int repairs_add(struct diagnose *g)
{
	struct rs_fabric *spare = NULL;
	int err = 0;

	if (g->f->n_hosts > HOSTS_MAX)
		return 0;
	for (size_t i = 0; !err && i < sizeof(repairs) / sizeof(*repairs); i++)
		if (repairs[i].applies(g))
			err = repair_add(g, i, &spare);
	rs_fabric_free(spare);
	for (size_t i = 0; !err && i < sizeof(settings) / sizeof(*settings); i++) {
		struct rs_setting s[] = {
			{settings[i].path, settings[i].value, {"a proposal", 0, 0}},
			{settings[i].path2, settings[i].value2, {"a proposal", 0, 0}},
		};

		if (settings[i].applies(g))
			err = setting_add(g, settings[i].name, s, settings[i].path2 ? 2 : 1,
					  settings[i].cures);
	}
	if (!err)
		err = links_up_add(g);
	if (!err)
		err = wider_add(g);
	return err ? err : collectives_add(g);
}
