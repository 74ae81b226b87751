/* Who runs which node: parts, a thread each, that meet at the end of every window. A packet that
 * leaves a part in a window arrives after it, so that nothing depends on how nodes are dealt out.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/elapsed.h"
#include "sim/engine.h"
#include "sim/observe.h"
#ifndef RS_NO_THREADS
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

enum {
	NODES_A_PART =
		48, /* fewer, and two meetings a window cost more than a second thread gives */
	/* Some 40 us: longer than most windows. Where it is in vain, another program has the core,
	 * and the next wait is shorter: half, down to the least. */
	SPINS = 4000,
	SPINS_LEAST = 32,
	/* Events a window (a mean over some sixteen) above which all threads run it, and below
	 * which the first thread runs it alone, for all: a meeting takes about as long as ten
	 * events. */
	TEAM_ABOVE = 400,
	TEAM_BELOW = 200,
};

/* ---- Dealing out ---- */

/* The part of something that begins after `before` of `all`. */
static uint32_t slice(uint64_t before, uint64_t all, uint32_t parts)
{
	uint64_t p = all ? before * parts / all : 0;

	return p < parts ? (uint32_t)p : parts - 1;
}

/* Each tier of switches, and the hosts, are cut into runs of equal weight in the order of their
 * numbers: generators number what is close together one after another. */
static void deal(struct rs_sim *s)
{
	const struct rs_fabric *f = s->f;
	uint64_t all[256] = {0}, before[256] = {0}, ends = 0;

	for (uint32_t i = 0; i < f->n_switches; i++)
		all[f->switches[i].tier] += f->switches[i].n_ports;
	for (uint32_t i = 0; i < f->n_switches; i++) {
		uint8_t t = f->switches[i].tier;

		s->nodes[s->n_hosts + i].part = slice(before[t], all[t], s->n_parts);
		before[t] += f->switches[i].n_ports;
	}
	for (uint32_t i = 0; i < f->n_hosts; i++) {
		s->nodes[i].part = slice(ends, f->n_endpoints, s->n_parts);
		ends += f->hosts[i].n_endpoints;
	}
}

void *sim_lines_alloc(struct rs_arena *a, size_t n, size_t size)
{
	uintptr_t p = (uintptr_t)rs_arena_alloc(a, n * size + SIM_LINE, 1);

	return p ? (void *)((p + SIM_LINE - 1) & ~(uintptr_t)(SIM_LINE - 1)) : NULL;
}

static int nodes_list(struct rs_sim *s)
{
	for (uint32_t i = 0; i < s->n_nodes; i++)
		s->parts[s->nodes[i].part].n_nodes++;
	for (uint32_t p = 0; p < s->n_parts; p++) {
		s->parts[p].nodes =
			rs_arena_alloc(s->arena, s->parts[p].n_nodes + 1u, sizeof(uint32_t));
		s->parts[p].due =
			sim_lines_alloc(s->arena, s->parts[p].n_nodes + 1u, sizeof(rs_time));
		if (!s->parts[p].nodes || !s->parts[p].due)
			return -ENOMEM;
		s->parts[p].n_nodes = 0;
	}
	for (uint32_t i = 0; i < s->n_nodes; i++) {
		struct sim_part *p = &s->parts[s->nodes[i].part];

		s->nodes[i].due = &p->due[p->n_nodes];
		p->nodes[p->n_nodes++] = i;
	}
	return 0;
}

int sim_parts_create(struct rs_sim *s, unsigned threads, struct rs_error *e)
{
	struct rs_pool *pools[SIM_PARTS_MAX];
	uint32_t most = s->n_nodes / NODES_A_PART;

	s->n_parts = threads < 1 || s->o->pcap ? 1 : threads;
#ifdef RS_NO_THREADS
	s->n_parts = 1;
#endif
	if (s->n_parts > most)
		s->n_parts = most ? most : 1;
	if (s->o->ranks)
		s->n_parts = s->o->ranks->n;
	if (s->n_parts > SIM_PARTS_MAX)
		s->n_parts = SIM_PARTS_MAX;
	s->nodes = sim_lines_alloc(s->arena, s->n_nodes, sizeof(*s->nodes));
	s->parts = sim_lines_alloc(s->arena, s->n_parts, sizeof(*s->parts));
	if (!s->nodes || !s->parts)
		return rs_error_set(e, -ENOMEM, "out of memory");
	deal(s);
	for (uint32_t p = 0; p < s->n_parts; p++) {
		pools[p] = &s->parts[p].pool;
		s->parts[p].bin_end = RS_NEVER;
	}
	if (nodes_list(s) || rs_pool_split(&s->pool, pools, s->n_parts))
		return rs_error_set(e, -ENOMEM, "out of memory");
	if (s->n_parts == 1)
		rs_pool_join(pools, 1);
	return 0;
}

static int cut(struct rs_sim *s, struct sim_link *near)
{
	struct sim_node *to = &s->nodes[near->to_node];
	struct sim_link *far = sim_lines_alloc(s->arena, 1, sizeof(*far));

	if (!far)
		return -ENOMEM;
	*far = *near;
	near->far = far;
	to->in[near->to_port] = far;
	return 0;
}

int sim_parts_connect(struct rs_sim *s, struct rs_error *e)
{
	uint32_t n[SIM_PARTS_MAX][SIM_PARTS_MAX] = {{0}};

	for (uint32_t i = 0; i < s->n_nodes; i++) {
		struct sim_node *from = &s->nodes[i];

		for (uint32_t p = 0; p < from->n_ports; p++) {
			uint32_t to = s->nodes[from->out[p].to_node].part;

			from->out[p].due = s->nodes[from->out[p].to_node].due;
			if (!from->out[p].rate || to == from->part)
				continue;
			n[from->part][to]++;
			if (cut(s, &from->out[p]))
				return rs_error_set(e, -ENOMEM, "out of memory");
		}
	}
	for (uint32_t a = 0; a < s->n_parts; a++)
		for (uint32_t b = 0; b < s->n_parts; b++) {
			s->parts[a].box[b] =
				rs_arena_alloc(s->arena, n[a][b] + 1u, sizeof(*s->parts[a].box[b]));
			if (!s->parts[a].box[b])
				return rs_error_set(e, -ENOMEM, "out of memory");
		}
	return 0;
}

/* ---- Meeting ---- */

struct meeting {
	uint32_t n;
	uint32_t here, round, asleep;
};

#ifdef RS_NO_THREADS
static void meet(struct meeting *m, uint32_t *spins)
{
}
#else
static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#else
	__asm__ volatile("" ::: "memory");
#endif
}

static void meet(struct meeting *m, uint32_t *spins)
{
	uint32_t round = __atomic_load_n(&m->round, __ATOMIC_ACQUIRE);

	if (__atomic_add_fetch(&m->here, 1, __ATOMIC_ACQ_REL) ==
	    __atomic_load_n(&m->n, __ATOMIC_ACQUIRE)) {
		__atomic_store_n(&m->here, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&m->round, round + 1, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&m->asleep, __ATOMIC_SEQ_CST))
			syscall(SYS_futex, &m->round, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
		return;
	}
	for (uint32_t i = 0; i < *spins; i++) {
		if (__atomic_load_n(&m->round, __ATOMIC_ACQUIRE) != round) {
			*spins = *spins < SPINS / 2 ? 2 * *spins : SPINS;
			return;
		}
		relax();
	}
	*spins = *spins > 2 * SPINS_LEAST ? *spins / 2 : SPINS_LEAST;
	__atomic_add_fetch(&m->asleep, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&m->round, __ATOMIC_SEQ_CST) == round)
		syscall(SYS_futex, &m->round, FUTEX_WAIT_PRIVATE, round, NULL, NULL, 0);
	__atomic_sub_fetch(&m->asleep, 1, __ATOMIC_SEQ_CST);
}
#endif

/* ---- Running ---- */

/* What the first part's thread decides for a round, before the others can read it. */
struct plan {
	bool end, alone;
};

struct team {
	struct rs_sim *s;
	struct meeting meeting;
	struct rs_error *error;
	rs_time limit;
	uint32_t windows;
	int err;
	uint64_t mean;       /* events a window, times 16 */
	struct plan plan[2]; /* of this round and the next */
};

struct member {
	struct team *team;
	uint32_t part, spins;
	double cpu_s;
#ifndef RS_NO_THREADS
	pthread_t thread;
#endif
};

static void join(const struct rs_sim *s, struct sim_link *near, struct sim_link *far)
{
	rs_time when = sim_link_head(s, near)->when;

	while (!sim_link_idle(near)) {
		sim_link_append(far, sim_link_flight(near, near->head)->packet, when);
		when = sim_link_pop(s, near, when);
	}
}

/* What other parts sent in the window joins the links that lead here. */
static void receive(struct rs_sim *s, uint32_t me)
{
	for (uint32_t p = 0; p < s->n_parts; p++) {
		struct sim_part *from = &s->parts[p];

		for (uint32_t i = 0; i < from->n_box[me]; i++) {
			struct sim_link *near = from->box[me][i], *far = near->far;

			if (sim_link_idle(far))
				sim_link_armed(s, far, sim_link_head(s, near)->when);
			join(s, near, far);
		}
		from->n_box[me] = 0;
	}
}

/* The next node due in the window, from the i-th on. */
static uint32_t due_from(const struct sim_part *p, uint32_t i, rs_time end)
{
	while (i < p->n_nodes && p->due[i] >= end)
		i++;
	return i;
}

/* What a node will need comes from memory while the few before it run, in AHEAD steps, as each
 * reads pointers that the one before it fetched. Without: 1.2 times the time at 1,024 hosts. */
enum { AHEAD = 6 };

static void fetch_node(const struct sim_node *n)
{
	for (size_t at = 0; at < sizeof(*n); at += SIM_LINE)
		__builtin_prefetch((const char *)n + at);
}

static void fetch_queue(const struct sim_node *n)
{
	for (uint32_t i = 0; i < 2 * n->tree.leaves; i += SIM_LINE / sizeof(*n->tree.key))
		__builtin_prefetch(&n->tree.key[i]);
	for (uint32_t i = 0; i < n->n_ports; i += SIM_LINE / sizeof(*n->in))
		__builtin_prefetch(&n->in[i]);
	if (n->host)
		__builtin_prefetch(n->host);
	else
		__builtin_prefetch(n->sw);
}

static void fetch(const struct rs_sim *s, const struct sim_node *n, unsigned step)
{
	if (step == 0)
		fetch_node(n);
	else if (step == 1)
		fetch_queue(n);
	else if (n->host)
		sim_host_fetch(s, n, step - 2);
	else
		sim_switch_fetch(s, n, step - 2);
}

void sim_part_window(struct rs_sim *s, struct sim_part *p, rs_time end)
{
	uint32_t i = due_from(p, 0, end), next[AHEAD];
	bool bins = p->bin_end < end;
	uint64_t events = 0;

	if (s->orders)
		sim_orders_window(s, (uint32_t)(p - s->parts), end);
	next[0] = due_from(p, i + 1, end);
	for (unsigned k = 1; k < AHEAD - 1; k++)
		next[k] = due_from(p, next[k - 1] + 1, end);
	while (i < p->n_nodes) {
		next[AHEAD - 1] = due_from(p, next[AHEAD - 2] + 1, end);
		for (unsigned k = 0; k < AHEAD; k++)
			if (next[k] < p->n_nodes)
				fetch(s, &s->nodes[p->nodes[next[k]]], AHEAD - 1 - k);
		events += bins ? sim_watch_run(s, &s->nodes[p->nodes[i]], end)
			       : sim_node_run(s, &s->nodes[p->nodes[i]], end);
		i = next[0];
		for (unsigned k = 1; k < AHEAD; k++)
			next[k - 1] = next[k];
	}
	if (bins)
		sim_watch_window(s, p, end);
	p->events = events;
}

rs_time sim_part_due(const struct sim_part *p)
{
	rs_time next = RS_NEVER;

	for (uint32_t i = 0; i < p->n_nodes; i++)
		next = rs_time_min(next, p->due[i]);
	return next;
}

static void part_ready(struct rs_sim *s, uint32_t part)
{
	receive(s, part);
	if (s->orders)
		sim_orders_tell(s, part);
	s->parts[part].next = sim_part_due(&s->parts[part]);
}

static rs_time earliest(const struct rs_sim *s)
{
	rs_time next = RS_NEVER;

	for (uint32_t p = 0; p < s->n_parts; p++)
		next = rs_time_min(next, s->parts[p].next);
	return next;
}

static int check_pool(const struct rs_sim *s, const struct sim_part *p, struct rs_error *e)
{
	if (p->pool.fresh != p->pool.capacity)
		return 0;
	return rs_error_set(e, -ENOMEM, "more than %u packets are in flight", s->pool.capacity);
}

int sim_parts_between(struct rs_sim *s, struct rs_error *e)
{
	part_ready(s, 0);
	sim_deadlock_due(s, s->parts[0].events); /* of one process it does not fail */
	return check_pool(s, &s->parts[0], e);
}

/* Between two meetings: no thread runs a node. */
static void decide(struct team *t, struct plan *plan, bool alone)
{
	struct rs_sim *s = t->s;

	uint64_t events = 0;

	for (uint32_t p = 0; p < s->n_parts; p++) {
		int err = check_pool(s, &s->parts[p], t->error);

		events += s->parts[p].events;
		t->err = err ? err : t->err;
	}
	sim_deadlock_due(s, events); /* of one process it does not fail */
	plan->end = !s->unfinished || s->r->deadlock.n || s->now > t->limit ||
		    (s->o->stop && *s->o->stop);
	t->mean += events - t->mean / 16;
	plan->alone = t->mean / 16 < (alone ? TEAM_ABOVE : TEAM_BELOW);
	if (!t->err && s->capture && rs_capture_flush(s->capture, t->error))
		t->err = t->error->code;
	plan->end |= t->err != 0;
	if (s->o->progress && !(++t->windows & 0xfff))
		s->o->progress(s->o->progress_arg, s->now, sim_workload_share(s));
}

/* All parts by the caller's thread, while the others sleep: as long as too little happens. */
static void run_alone(struct team *t, struct plan *plan)
{
	struct rs_sim *s = t->s;

	for (;;) {
		for (uint32_t p = 0; p < s->n_parts; p++)
			part_ready(s, p);
		decide(t, plan, true);
		if (earliest(s) == RS_NEVER)
			plan->end = true;
		if (plan->end || !plan->alone)
			return;
		s->now = rs_time_min(earliest(s), s->look_at);
		for (uint32_t p = 0; p < s->n_parts; p++)
			sim_part_window(s, &s->parts[p], s->now + s->window);
	}
}

static void windows(struct member *m)
{
	struct team *t = m->team;
	struct rs_sim *s = t->s;
	rs_time start;

	for (uint32_t round = 0;; round++) {
		const struct plan *plan = &t->plan[round & 1];
		struct plan *next = &t->plan[~round & 1];

		meet(&t->meeting, &m->spins);
		if (plan->end)
			return;
		if (plan->alone) {
			if (!m->part)
				run_alone(t, next);
			continue;
		}
		start = earliest(s);
		if (start == RS_NEVER)
			return;
		start = rs_time_min(start, s->look_at);
		sim_part_window(s, &s->parts[m->part], start + s->window);
		meet(&t->meeting, &m->spins);
		part_ready(s, m->part);
		if (!m->part) {
			s->now = start;
			decide(t, next, false);
		}
	}
}

/* ---- Threads, where there are some ---- */

#ifdef RS_NO_THREADS
static uint32_t spins_first(const struct rs_sim *s)
{
	return SPINS;
}

static void run_members(struct team *t, struct member *m)
{
	windows(&m[0]);
}
#else
static uint32_t spins_first(const struct rs_sim *s)
{
	return sysconf(_SC_NPROCESSORS_ONLN) >= (long)s->n_parts ? SPINS : SPINS_LEAST;
}

static void *member_run(void *arg)
{
	struct member *m = arg;

	windows(m);
	m->cpu_s = rs_elapsed_s(RS_ELAPSED_THREAD_CPU);
	return NULL;
}

/* The first part's thread is the caller's. */
static void run_members(struct team *t, struct member *m)
{
	struct rs_sim *s = t->s;
	uint32_t n = 1;

	while (n < s->n_parts && !pthread_create(&m[n].thread, NULL, member_run, &m[n]))
		n++;
	if (n < s->n_parts) {
		/* those that wait at the first meeting are let go */
		t->err = rs_error_set(t->error, -EAGAIN, "cannot start a thread");
		t->plan[0].end = true;
		__atomic_store_n(&t->meeting.n, n, __ATOMIC_RELEASE);
	}
	windows(&m[0]);
	for (uint32_t p = 1; p < n; p++) {
		pthread_join(m[p].thread, NULL);
		s->r->cpu_s += m[p].cpu_s;
	}
}
#endif

int sim_parts_run(struct rs_sim *s, struct rs_error *e)
{
	uint32_t spins = spins_first(s);
	struct team t = {
		.s = s,
		.meeting = {.n = s->n_parts},
		.error = e,
		.plan = {{.alone = true}},
		.limit = s->o->max_time ? s->o->max_time : RS_TREE_TIME_MAX - RS_S,
	};
	struct member m[SIM_PARTS_MAX];

	for (uint32_t p = 0; p < s->n_parts; p++)
		m[p] = (struct member){.team = &t, .part = p, .spins = spins};
	run_members(&t, m);
	s->r->threads = s->n_parts;
	if (!t.err && s->unfinished && !s->r->deadlock.n)
		sim_deadlock_look(s, earliest(s) == RS_NEVER);
	s->r->stopped = !t.err && s->unfinished && earliest(s) != RS_NEVER && !s->r->deadlock.n;
	return t.err;
}

void sim_parts_destroy(struct rs_sim *s)
{
	struct rs_pool *pools[SIM_PARTS_MAX];

	for (uint32_t p = 0; s->parts && p < s->n_parts; p++)
		pools[p] = &s->parts[p].pool;
	if (s->parts)
		rs_pool_join(pools, s->n_parts);
}
