/* A run by steps, messages posted while it goes: session.h. */
#include "sim/session.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/elapsed.h"
#include "sim/happen.h"
#include "sim/work.h"

enum { UNDER_WAY = 1024, ROOM = 64, FLOWS_MAX = INT32_MAX };
#define TIME_MAX (RS_TREE_TIME_MAX - RS_S)

/* A host's next event within the window. A host may have several: those that are not its next any
 * more mean nothing. */
struct due {
	rs_time when;
	uint32_t host;
	bool app; /* after all else of its time */
};

/* To be told at its time. */
struct later {
	struct rs_session_news news;
	uint64_t seq;
};

struct posted {
	uint64_t user;
	bool delivered;
};

struct rs_session {
	struct rs_sim s;
	struct rs_sim_options o;
	struct rs_fabric *f; /* with a job more; the result's */
	rs_time now, end;    /* end: of the window that is open, or was */
	bool between;        /* the window before the next is closed */
	int err;             /* it is at its end */
	uint32_t job;
	uint32_t *under_way; /* [endpoint] */
	double wall;
	struct due *due; /* a heap */
	uint32_t n_due, due_size;
	struct later *later; /* a heap */
	uint32_t n_later, later_size;
	uint64_t seq;
	struct rs_session_news *news;
	uint32_t n_news, news_size, told;
	uint32_t first_conn, first_flow;
	uint32_t n, room; /* messages */
	struct posted *posted;
	struct sim_conn *conns; /* s.work->conns: the described ones before */
	struct rs_sim_flow *result;
};

/* ---- Room ---- */

/* Room for one more element of `each` bytes. */
static int more(void **list, uint32_t n, uint32_t *size, size_t each)
{
	uint32_t want = *size ? 2 * *size : ROOM;
	void *p;

	if (n < *size)
		return 0;
	p = realloc(*list, want * each);
	if (!p)
		return -ENOMEM;
	*list = p;
	*size = want;
	return 0;
}

/* For one message more in all that has an entry for each. */
static int more_messages(struct rs_session *x)
{
	struct rs_job *j = &x->f->jobs[x->job];
	uint32_t room = x->room ? 2 * x->room : ROOM;
	void *p;

	if (x->n < x->room)
		return 0;
	if (!(p = realloc(x->posted, room * sizeof(*x->posted))))
		return -ENOMEM;
	x->posted = p;
	if (!(p = realloc(j->flows, room * sizeof(*j->flows))))
		return -ENOMEM;
	j->flows = p;
	if (!(p = realloc(x->conns, (x->first_conn + (size_t)room) * sizeof(*x->conns))))
		return -ENOMEM;
	x->s.work->conns = x->conns = p;
	if (!(p = realloc(x->result, (x->first_flow + (size_t)room) * sizeof(*x->result))))
		return -ENOMEM;
	x->s.r->flows = x->result = p;
	x->room = room;
	return 0;
}

/* ---- What is due: heaps by time ---- */

static bool due_before(const struct due *a, const struct due *b)
{
	if (a->when != b->when)
		return a->when < b->when;
	return a->app != b->app ? b->app : a->host < b->host;
}

/* Memory that cannot be had ends the run through an assertion: it is a few entries a host. */
static void due_push(struct rs_session *x, struct due d)
{
	uint32_t i;
	int err = more((void **)&x->due, x->n_due, &x->due_size, sizeof(*x->due));

	rs_assert(!err);
	for (i = x->n_due++; i && due_before(&d, &x->due[(i - 1) / 2]); i = (i - 1) / 2)
		x->due[i] = x->due[(i - 1) / 2];
	x->due[i] = d;
}

static void due_pop(struct rs_session *x)
{
	struct due last = x->due[--x->n_due];
	uint32_t i = 0, c;

	while ((c = 2 * i + 1) < x->n_due) {
		if (c + 1 < x->n_due && due_before(&x->due[c + 1], &x->due[c]))
			c++;
		if (!due_before(&x->due[c], &last))
			break;
		x->due[i] = x->due[c];
		i = c;
	}
	x->due[i] = last;
}

static bool later_before(const struct later *a, const struct later *b)
{
	return a->news.when != b->news.when ? a->news.when < b->news.when : a->seq < b->seq;
}

static int later_push(struct rs_session *x, const struct rs_session_news *news)
{
	struct later l = {*news, x->seq++};
	uint32_t i;

	if (more((void **)&x->later, x->n_later, &x->later_size, sizeof(*x->later)))
		return -ENOMEM;
	for (i = x->n_later++; i && later_before(&l, &x->later[(i - 1) / 2]); i = (i - 1) / 2)
		x->later[i] = x->later[(i - 1) / 2];
	x->later[i] = l;
	return 0;
}

static struct rs_session_news later_pop(struct rs_session *x)
{
	struct rs_session_news top = x->later[0].news;
	struct later last = x->later[--x->n_later];
	uint32_t i = 0, c;

	while ((c = 2 * i + 1) < x->n_later) {
		if (c + 1 < x->n_later && later_before(&x->later[c + 1], &x->later[c]))
			c++;
		if (!later_before(&x->later[c], &last))
			break;
		x->later[i] = x->later[c];
		i = c;
	}
	x->later[i] = last;
	return top;
}

/* ---- News ---- */

static void tell(struct rs_session *x, const struct rs_session_news *news)
{
	if (more((void **)&x->news, x->n_news, &x->news_size, sizeof(*x->news)))
		x->err = -ENOMEM;
	else
		x->news[x->n_news++] = *news;
}

/* Now, or when it is so. */
static void happened(struct rs_session *x, const struct rs_session_news *news)
{
	if (news->when <= x->now)
		tell(x, news);
	else if (later_push(x, news))
		x->err = -ENOMEM;
}

uint32_t rs_session_waiting(const struct rs_session *x)
{
	return x->n_news - x->told;
}

uint32_t rs_session_news(struct rs_session *x, struct rs_session_news *out, uint32_t n)
{
	uint32_t left = rs_session_waiting(x);

	n = n < left ? n : left;
	if (n)
		memcpy(out, x->news + x->told, n * sizeof(*out));
	x->told += n;
	if (x->told == x->n_news)
		x->told = x->n_news = 0;
	return n;
}

void sim_session_ended(struct rs_sim *s, const struct sim_conn *c, uint8_t status)
{
	struct rs_session *x = s->session;
	uint32_t i = c->index - x->first_flow;

	if (c->job != x->job)
		return;
	if (status) /* nothing more is told of it */
		x->posted[i].delivered = true;
	x->under_way[c->src_endpoint]--;
	x->under_way[c->dst_endpoint]--;
	happened(x, &(struct rs_session_news){
			    .when = x->now,
			    .user = x->posted[i].user,
			    .flow = i,
			    .what = status ? RS_SESSION_FAILED : RS_SESSION_SENT,
			    .status = status,
		    });
}

/* A packet's payload has come to the end of this number: is that all of a message? */
static void look_at(struct rs_session *x, struct sim_nic *k, uint32_t qpn)
{
	struct rs_sim *s = &x->s;
	const struct sim_conn *c = sim_flow_to(s, k->endpoint, qpn);
	struct rs_sim_past past;
	uint32_t i;

	if (!c || c->job != x->job)
		return;
	i = c->index - x->first_flow;
	past = sim_past_of(s, c);
	if (x->posted[i].delivered || !k->transport->has_all(k->ends.self, qpn, &past))
		return;
	x->posted[i].delivered = true;
	happened(x, &(struct rs_session_news){
			    .when = k->inside ? rs_time_max(x->now, c->visible) +
							s->f->host_params.poll
					      : x->now,
			    .user = x->posted[i].user,
			    .flow = i,
			    .what = RS_SESSION_DELIVERED,
		    });
}

/* ---- Hosts, event by event ---- */

static bool happens_next(const struct sim_node *n, rs_time when)
{
	return n->happenings && sim_happen_next(n) <= when;
}

static struct due next_of(const struct rs_session *x, uint32_t host)
{
	const struct sim_node *n = &x->s.nodes[host];
	uint64_t top = rs_tree_top(&n->tree);
	rs_time when = rs_tree_time(top);

	if (happens_next(n, when))
		return (struct due){sim_happen_next(n), host, false};
	return (struct due){when, host,
			    when != RS_NEVER &&
				    sim_host_is_app(n, (uint32_t)(top & (RS_TREE_SLOTS - 1)))};
}

/* The host has something to do at another time than before. */
static void rearm(struct rs_session *x, uint32_t host)
{
	struct due d = next_of(x, host);

	*x->s.nodes[host].due = d.when;
	if (d.when < x->end)
		due_push(x, d);
}

static void step(struct rs_session *x, uint32_t host)
{
	struct rs_sim *s = &x->s;
	struct sim_node *n = &s->nodes[host];
	uint64_t top = rs_tree_top(&n->tree);
	uint32_t slot = (uint32_t)(top & (RS_TREE_SLOTS - 1)), qpn = 0;
	struct sim_nic *k;

	if (happens_next(n, rs_tree_time(top))) {
		sim_happen(n);
		return;
	}
	k = sim_host_payload(s, n, slot, &qpn);
	x->between = false; /* also where more was posted into a window that seemed to be over */
	sim_host_event(s, n, slot, rs_tree_time(top));
	n->events++;
	s->parts[0].events++;
	if (k)
		look_at(x, k, qpn);
}

/* The first of the open window that is a host's next; NULL: no more of it. */
static const struct due *first(struct rs_session *x)
{
	while (x->n_due) {
		struct due d = next_of(x, x->due[0].host);

		if (d.when == x->due[0].when && d.app == x->due[0].app)
			return &x->due[0];
		due_pop(x);
	}
	return NULL;
}

/* ---- Windows ---- */

static void open_window(struct rs_session *x, rs_time start)
{
	struct rs_sim *s = &x->s;

	s->now = start;
	x->end = start + s->window;
	x->between = false;
	s->parts[0].events = 0;
	if (s->orders)
		sim_orders_window(s, 0, x->end);
	for (uint32_t i = s->n_hosts; i < s->n_nodes; i++)
		if (*s->nodes[i].due < x->end)
			s->parts[0].events += sim_node_run(s, &s->nodes[i], x->end);
	for (uint32_t i = 0; i < s->n_hosts; i++)
		if (*s->nodes[i].due < x->end)
			rearm(x, i);
}

static int deadlock(const struct rs_session *x, struct rs_error *e)
{
	const struct rs_sim_deadlock *d = &x->s.r->deadlock;

	return rs_error_set(e, -EDEADLK, "%u ports wait for each other for ever, %s among them",
			    d->n, d->port[0].name);
}

/* The next window that begins until `limit`: 1 where there is one, 0, or a negative errno. */
static int next_window(struct rs_session *x, rs_time limit, struct rs_error *e)
{
	struct rs_sim *s = &x->s;
	rs_time start;
	int err = x->between ? 0 : sim_parts_between(s, e);

	x->between = true;
	if (err)
		return err;
	start = sim_part_due(&s->parts[0]);
	if (start == RS_NEVER && s->unfinished && !s->r->deadlock.n)
		sim_deadlock_look(s, true);
	if (s->r->deadlock.n)
		return deadlock(x, e);
	if (start == RS_NEVER)
		return 0;
	start = rs_time_min(start, s->look_at);
	if (start > TIME_MAX)
		return rs_error_set(e, -ERANGE, "virtual time is over: 75 minutes");
	if (start > limit)
		return 0;
	open_window(x, start);
	return 1;
}

/* All that NICs do until `until`, and what applications do before it. It stops at the first news.
 */
static int run_until(struct rs_session *x, rs_time until, struct rs_error *e)
{
	for (;;) {
		const struct due *d = first(x);
		rs_time limit = x->n_later ? rs_time_min(until, x->later[0].news.when) : until;
		uint32_t host;
		int err;

		/* all of its time, before what begins then */
		if (rs_session_waiting(x) && (!d || d->when > x->now || d->app))
			return 0;
		if (!d) {
			err = next_window(x, limit, e);
			if (err < 0)
				return err;
			if (err)
				continue;
		}
		if (!d || d->when > limit || (d->when == limit && d->app)) {
			x->now = limit == RS_NEVER ? x->now : limit;
			return 0;
		}
		host = d->host;
		x->now = d->when;
		due_pop(x);
		step(x, host);
		rearm(x, host);
		if (x->err)
			return rs_error_set(e, x->err, "out of memory");
	}
}

int rs_session_run(struct rs_session *x, rs_time until, struct rs_error *e)
{
	int err = x->err;

	if (err)
		return rs_error_set(e, err, "the session is at its end");
	if (until < x->now)
		return rs_error_set(e, -EINVAL, "expected a time from now on");
	if (rs_session_waiting(x))
		return 0;
	err = run_until(x, until, e);
	x->err = err;
	while (!x->err && x->n_later && x->later[0].news.when <= x->now) {
		struct rs_session_news news = later_pop(x);

		tell(x, &news);
	}
	return x->err ? err ? err : rs_error_set(e, x->err, "out of memory") : 0;
}

rs_time rs_session_now(const struct rs_session *x)
{
	return x->now;
}

uint64_t rs_session_unfinished(const struct rs_session *x)
{
	return x->s.unfinished;
}

/* ---- Posting ---- */

static int check_time(const struct rs_session *x, rs_time when, struct rs_error *e)
{
	if (when < x->now)
		return rs_error_set(e, -EINVAL, "expected a time from now on");
	if (when > TIME_MAX)
		return rs_error_set(e, -ERANGE, "expected a time of less than 75 minutes");
	return 0;
}

static int check_message(const struct rs_session *x, const struct rs_flow *m, struct rs_error *e)
{
	const struct rs_fabric *f = x->f;

	if (m->src >= f->n_endpoints || m->dst >= f->n_endpoints || m->src == m->dst)
		return rs_error_set(e, -EINVAL,
				    "expected two of endpoints 0 to %u, found %u and %u",
				    f->n_endpoints - 1, m->src, m->dst);
	if (!m->bytes || m->bytes > INT64_MAX || m->tc >= RS_CLASSES)
		return rs_error_set(e, -EINVAL,
				    "expected bytes of 1 or more and a class of 0 to 7");
	if (!rs_fabric_reachable(f, m->src, m->dst))
		return rs_error_set(e, -EINVAL, "no route from %s to %s", f->endpoints[m->src].name,
				    f->endpoints[m->dst].name);
	if (sim_transport_of(f, &x->o, m->src) != sim_transport_of(f, &x->o, m->dst))
		return rs_error_set(e, -EINVAL, "%s and %s speak different transports",
				    f->endpoints[m->src].name, f->endpoints[m->dst].name);
	for (unsigned i = 0; i < 2; i++) {
		uint32_t at = i ? m->dst : m->src;

		if (x->under_way[at] < x->s.later)
			continue;
		rs_error_set(e, -EAGAIN, "%s has %u messages under way, which is the limit",
			     f->endpoints[at].name, x->s.later);
		rs_error_hint(e, "wait for some, or raise the session's limit");
		return -EAGAIN;
	}
	return check_time(x, m->start, e);
}

int rs_session_post(struct rs_session *x, const struct rs_flow *m, uint64_t user,
		    struct rs_error *e)
{
	struct rs_job *j = &x->f->jobs[x->job];
	uint32_t host;
	int err = x->err ? rs_error_set(e, x->err, "the session is at its end") : 0;

	if (err || (err = check_message(x, m, e)))
		return err;
	if (x->n == FLOWS_MAX || more_messages(x))
		return rs_error_set(e, -ENOMEM, "no memory for %u messages", x->n);
	j->flows[x->n] = (struct rs_flow){
		.start = m->start, .src = m->src, .dst = m->dst, .bytes = m->bytes, .tc = m->tc};
	x->posted[x->n] = (struct posted){.user = user};
	err = sim_flow_add(&x->s, x->job, &j->flows[x->n], e);
	if (err)
		return err;
	j->n_flows = ++x->n;
	x->under_way[m->src]++;
	x->under_way[m->dst]++;
	host = x->f->endpoints[m->src].host;
	rearm(x, host);
	return 0;
}

int rs_session_at(struct rs_session *x, rs_time when, uint64_t user, struct rs_error *e)
{
	const struct rs_session_news news = {
		.when = when, .user = user, .flow = UINT32_MAX, .what = RS_SESSION_TIMER};
	int err = check_time(x, when, e);

	if (!err && later_push(x, &news))
		err = rs_error_set(e, -ENOMEM, "out of memory");
	return err;
}

/* ---- Life ---- */

static bool paths_given(const struct rs_fabric *f)
{
	for (uint32_t j = 0; j < f->n_jobs; j++)
		for (uint32_t i = 0; i < f->jobs[j].n_flows; i++)
			if (f->jobs[j].flows[i].path || f->jobs[j].flows[i].ack_path)
				return true;
	return false;
}

static int check(const struct rs_fabric *f, const struct rs_session_conf *c, struct rs_error *e)
{
	if (paths_given(f))
		return rs_error_set(e, -EINVAL, "a session takes no flows whose paths are given");
	if (c->under_way > RS_SESSION_MOST)
		return rs_error_set(e, -EINVAL, "expected at most %d messages under way, found %u",
				    RS_SESSION_MOST, c->under_way);
	return 0;
}

static uint32_t limit_of(const struct rs_fabric *f, const struct rs_session_conf *c)
{
	uint32_t n = f->n_endpoints < RS_SESSION_MOST / 2 ? 2 * f->n_endpoints : RS_SESSION_MOST;

	return c->under_way ? c->under_way : n > UNDER_WAY ? n : UNDER_WAY;
}

/* The description with one job more, which is the result's as its jobs are. */
static int with_job(struct rs_session *x, const struct rs_fabric *f)
{
	struct rs_arena *a = x->s.r->arena;

	x->f = rs_arena_alloc(a, 1, sizeof(*x->f));
	if (!x->f)
		return -ENOMEM;
	*x->f = *f;
	x->f->jobs = rs_arena_alloc(a, f->n_jobs + 1u, sizeof(*x->f->jobs));
	if (!x->f->jobs)
		return -ENOMEM;
	if (f->n_jobs)
		memcpy(x->f->jobs, f->jobs, f->n_jobs * sizeof(*f->jobs));
	x->job = f->n_jobs;
	x->f->jobs[x->job] = (struct rs_job){.kind = RS_JOB_FLOWS, .name = "session"};
	x->f->n_jobs++;
	x->s.f = x->f;
	return 0;
}

/* What is described is made as ever; then what has an entry a flow can grow. */
static int begin(struct rs_session *x, struct rs_error *e)
{
	struct rs_sim *s = &x->s;
	size_t conns, flows;
	int err = sim_build(s, e);

	if (err)
		return err;
	s->r->threads = 1;
	x->first_conn = s->work->n_conns;
	x->first_flow = s->work->n_flows;
	conns = x->first_conn * sizeof(*x->conns);
	flows = x->first_flow * sizeof(*x->result);
	x->under_way = calloc(x->f->n_endpoints + 1u, sizeof(*x->under_way));
	x->conns = malloc(conns + sizeof(*x->conns));
	x->result = malloc(flows + sizeof(*x->result));
	if (!x->under_way || !x->conns || !x->result)
		return -ENOMEM;
	memcpy(x->conns, s->work->conns, conns);
	memcpy(x->result, s->r->flows, flows);
	s->work->conns = x->conns;
	s->r->flows = x->result;
	s->work->first_flow[x->job] = x->first_flow;
	return 0;
}

int rs_session_create(const struct rs_fabric *f, const struct rs_session_conf *c,
		      struct rs_session **out, struct rs_error *e)
{
	struct rs_session *x;
	struct rs_arena *a;
	int err = check(f, c, e);

	*out = NULL;
	if (err)
		return err;
	x = calloc(1, sizeof(*x));
	if (!x)
		return rs_error_set(e, -ENOMEM, "out of memory");
	x->o.seed = c->seed;
	x->s = (struct rs_sim){.o = &x->o, .session = x, .later = limit_of(f, c)};
	x->wall = rs_elapsed_s(RS_ELAPSED_WALL);
	x->s.arena = rs_arena_create(0);
	a = rs_arena_create(0);
	x->s.r = a ? rs_arena_alloc(a, 1, sizeof(*x->s.r)) : NULL;
	err = x->s.arena && x->s.r ? 0 : -ENOMEM;
	if (!x->s.r)
		rs_arena_destroy(a);
	else
		x->s.r->arena = a;
	if (!err)
		err = with_job(x, f);
	if (!err)
		err = begin(x, e);
	if (!err) {
		*out = x;
		return 0;
	}
	if (err == -ENOMEM)
		rs_error_set(e, err, "out of memory");
	rs_session_destroy(x);
	return err;
}

/* What grew into the result. */
static int keep(struct rs_session *x)
{
	struct rs_sim_result *r = x->s.r;
	struct rs_job *j = &x->f->jobs[x->job];
	struct rs_sim_flow *result = rs_arena_alloc(r->arena, r->n_flows + 1u, sizeof(*result));
	struct rs_flow *flows = rs_arena_alloc(r->arena, x->n + 1u, sizeof(*flows));

	if (!result || !flows)
		return -ENOMEM;
	memcpy(result, r->flows, r->n_flows * sizeof(*result));
	if (x->n)
		memcpy(flows, j->flows, x->n * sizeof(*flows));
	free(j->flows);
	j->flows = flows;
	r->flows = result;
	return 0;
}

int rs_session_end(struct rs_session *x, struct rs_sim_result **out, const struct rs_fabric **f,
		   struct rs_error *e)
{
	struct rs_sim_result *r = x->s.r;
	int err;

	*out = NULL;
	if (!r)
		return rs_error_set(e, -EINVAL, "the session has ended already");
	r->stopped = x->s.unfinished && !r->deadlock.n && sim_part_due(&x->s.parts[0]) != RS_NEVER;
	err = sim_collect(&x->s, e);
	if (!err && keep(x))
		err = rs_error_set(e, -ENOMEM, "out of memory");
	x->err = err ? err : -EINVAL;
	if (err)
		return err;
	r->wall_s = rs_elapsed_s(RS_ELAPSED_WALL) - x->wall;
	x->s.r = NULL;
	*out = r;
	*f = x->f;
	x->f = NULL;
	return 0;
}

void rs_session_destroy(struct rs_session *x)
{
	if (!x)
		return;
	if (x->f && x->f->jobs)
		free(x->f->jobs[x->job].flows);
	if (x->s.arena)
		sim_destroy(&x->s);
	if (x->s.r)
		rs_arena_destroy(x->s.r->arena);
	free(x->under_way);
	free(x->conns);
	free(x->result);
	free(x->posted);
	free(x->due);
	free(x->later);
	free(x->news);
	free(x);
}
