/* Connections of flows and collectives: their queue pairs' numbers, paths inside hosts, lanes, and
 * which flow starts when. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include "sim/transport.h"
#include "sim/work.h"

enum { REPEATS_MAX = RS_REPEATS_MAX, FLOWS_MANY = 10000 };

/* What is scheduled while the run goes comes after all flows' starts of its time. */
#define SEQ_RUN (UINT64_C(1) << 34)

/* The socket that a part is at; -1: none. */
static int socket_of(const struct rs_host *h, int part)
{
	while (h && part >= 0 && h->parts[part].kind != RS_PART_SOCKET)
		part = h->parts[part].parent;
	return part;
}

/* Where a flow's bytes are: in the memory of the NIC's socket, of the first other socket, or of the
 * first GPU that uses the NIC (the socket's when none does). */
static int flow_memory(const struct rs_fabric *f, uint32_t endpoint, enum rs_flow_memory memory)
{
	const struct rs_fabric_host *fh = &f->hosts[f->endpoints[endpoint].host];
	const struct rs_host *h = fh->inside;
	int p = f->endpoints[endpoint].part;

	if (memory == RS_MEMORY_GPU)
		for (uint32_t r = fh->first_gpu; r < fh->first_gpu + fh->n_gpus; r++)
			if (rs_fabric_rank_endpoint(f, r) == endpoint)
				return rs_fabric_rank_part(f, r);
	p = socket_of(h, p);
	for (int i = 0; memory == RS_MEMORY_FAR && h && i < h->n_parts; i++)
		if (h->parts[i].kind == RS_PART_SOCKET && i != p)
			return i;
	return p;
}

static int dma_path(struct rs_sim *s, uint32_t endpoint, int memory, struct rs_path *p,
		    struct rs_error *e)
{
	const struct rs_fabric *f = s->f;
	const struct rs_fabric_host *h = &f->hosts[f->endpoints[endpoint].host];
	struct sim_host *sh = s->nodes[f->endpoints[endpoint].host].host;

	if (!sh->bus || !sim_nic_of(s, endpoint)->inside)
		return 0;
	if (memory < 0 || rs_bus_path(sh->bus, f->endpoints[endpoint].part, memory, false, p))
		return rs_error_set(e, -EINVAL,
				    "host %s: no path from %s to the memory that it must reach",
				    h->name, h->inside->parts[f->endpoints[endpoint].part].name);
	return 0;
}

/* In a rank's GPU, or where a NIC does not reach that, in the memory of its socket. */
static int rank_memory(const struct rs_fabric *f, uint32_t rank, bool staged)
{
	int part = rs_fabric_rank_part(f, rank);

	return staged ? socket_of(f->hosts[rs_fabric_rank_host(f, rank)].inside, part) : part;
}

static int dma_paths(struct rs_sim *s, struct sim_conn *c, struct rs_error *e)
{
	const struct rs_fabric *f = s->f;
	enum rs_flow_memory memory = f->jobs[c->job].memory;
	struct sim_coll *coll = c->flow ? NULL : coll_of(s, c->job);
	const struct rs_conn *conn;
	int from, to, err;

	if (coll && coll->plan->conf.memory) {
		memory = coll->plan->conf.memory == RS_COLL_IN_FAR ? RS_MEMORY_FAR : RS_MEMORY_HOST;
		coll = NULL;
	}
	if (!sim_nic_of(s, c->src_endpoint)->inside && !sim_nic_of(s, c->dst_endpoint)->inside)
		return 0;
	c->dma = rs_arena_alloc(s->arena, 1, sizeof(*c->dma));
	if (!c->dma)
		return rs_error_set(e, -ENOMEM, "out of memory");
	conn = coll ? &coll->plan->conns[c->index] : NULL;
	from = coll ? rank_memory(f, gpu_of(coll, conn->via), conn->from_host)
		    : flow_memory(f, c->src_endpoint, memory);
	to = coll ? rank_memory(f, gpu_of(coll, c->m->dst_rank), conn->to_host)
		  : flow_memory(f, c->dst_endpoint, memory);
	err = dma_path(s, c->src_endpoint, from, &c->dma->from, e);
	return err ? err : dma_path(s, c->dst_endpoint, to, &c->dma->to, e);
}

/* A collective's queue pairs are there from the start. */
static int connect_coll(struct rs_sim *s, struct sim_conn *c, struct rs_error *e)
{
	const struct rs_coll *plan = coll_of(s, c->job)->plan;
	int err = 0;

	for (unsigned q = 0; !err && q < c->n_qps; q++) {
		err = sim_open_end(s, c, q, true, plan->window, plan->conf.tc, NULL);
		if (!err)
			err = sim_open_end(s, c, q, false, plan->window, plan->conf.tc, NULL);
	}
	return err ? rs_error_set(e, err, "no memory for a queue pair") : 0;
}

static int inside_path(struct rs_sim *s, struct sim_coll *k, uint32_t i, struct sim_conn *c,
		       struct rs_error *e)
{
	struct rs_bus *bus = s->nodes[c->src_host].host->bus;
	int a = rs_fabric_rank_part(s->f, gpu_of(k, c->m->src_rank));
	int b = rs_fabric_rank_part(s->f, gpu_of(k, c->m->dst_rank));

	if (!bus)
		return 0;
	if (!rs_bus_path(bus, a, b, true, &k->inside[i]) ||
	    !rs_bus_path(bus, a, b, false, &k->inside[i]))
		return 0;
	return rs_error_set(e, -EINVAL, "host %s: no path between the GPUs of ranks %u and %u",
			    s->f->hosts[c->src_host].name, c->m->src_rank, c->m->dst_rank);
}

/* A connection and what comes of it, the queue pair not yet made. */
static void list_flow(struct rs_sim *s, uint32_t job, const struct rs_flow *fl, uint32_t at,
		      uint32_t flow)
{
	struct sim_conn *c = &s->work->conns[at];

	*c = (struct sim_conn){.job = job,
			       .index = flow,
			       .flow = true,
			       .n_qps = 1,
			       .op = fl->op,
			       .src_endpoint = fl->src,
			       .dst_endpoint = fl->dst,
			       .to_post = fl->bytes};
	c->src_host = s->f->endpoints[fl->src].host;
	c->dst_host = s->f->endpoints[fl->dst].host;
	s->r->flows[flow] = (struct rs_sim_flow){job,       fl->src,  fl->dst, fl->bytes,
						 fl->start, RS_NEVER, RS_NEVER};
}

/* Connections as plans and flows ask for them. */
static void list_flows(struct rs_sim *s, uint32_t job, uint32_t *at, uint32_t *flow)
{
	const struct rs_job *j = &s->f->jobs[job];

	s->work->first_flow[job] = *flow;
	for (uint32_t i = 0; i < j->n_flows; i++)
		list_flow(s, job, &j->flows[i], (*at)++, (*flow)++);
}

static int list_coll(struct rs_sim *s, struct sim_coll *k, uint32_t *at)
{
	struct sim_messages *messages =
		rs_arena_alloc(s->arena, k->plan->n_conns + 1u, sizeof(*messages));

	if (!messages)
		return -ENOMEM;

	k->first_conn = *at;
	for (uint32_t i = 0; i < k->plan->n_conns; i++, (*at)++) {
		const struct rs_conn *p = &k->plan->conns[i];
		const struct rs_coll *of = k->plan->part ? k->plan->part[i] : k->plan;
		uint32_t qps = of->conf.qps ? of->conf.qps : k->plan->conf.qps;
		struct sim_conn *c = &s->work->conns[*at];

		*c = (struct sim_conn){.job = k->job,
				       .index = i,
				       .nvlink = p->nvlink,
				       .turns = of->turns,
				       .n_qps = (uint8_t)(qps < 1         ? 1
							  : qps > QPS_MAX ? QPS_MAX
									  : qps),
				       .src_endpoint = p->src_endpoint,
				       .dst_endpoint = p->dst_endpoint,
				       .m = &messages[i]};
		c->m->src_rank = p->src;
		c->m->dst_rank = p->dst;
		c->src_host = rs_fabric_rank_host(s->f, gpu_of(k, p->src));
		c->dst_host = rs_fabric_rank_host(s->f, gpu_of(k, p->dst));
	}
	return 0;
}

/* Of every connection that crosses the network. */
static int check_routes(struct rs_sim *s, const struct sim_coll *k, const struct rs_job *j,
			struct rs_error *e)
{
	const struct rs_fabric *f = s->f;

	for (uint32_t i = 0; i < k->plan->n_conns; i++) {
		const struct rs_conn *c = &k->plan->conns[i];

		if (!c->nvlink && !rs_fabric_reachable(f, c->src_endpoint, c->dst_endpoint))
			return rs_error_at(e, -EINVAL, j->at,
					   "job '%s': no route from %s (rank %u) to %s (rank %u)",
					   j->name, f->endpoints[c->src_endpoint].name, c->src,
					   f->endpoints[c->dst_endpoint].name, c->dst);
	}
	return 0;
}

/* The graph of a job that is one, and its lanes. */
static int plan_work(struct rs_sim *s, const struct rs_job *j, const uint32_t *gpu,
		     struct rs_sim_job *r, struct rs_error *e)
{
	struct rs_collective_conf conf = *rs_job_collective(j);
	uint32_t n = conf.n_ranks ? conf.n_ranks : s->f->n_gpus;
	const struct rs_work *w = j->trace.work;
	struct rs_work *made = NULL;
	int err = 0;

	conf.gpu = s->f->places_drawn ? gpu : conf.gpu;
	conf.nccl.searches = s->o->searches;
	if (j->kind == RS_JOB_TRAIN) {
		err = rs_step_plan(&j->train, n, &r->step, e);
		if (!err)
			err = rs_step_work(&j->train, n, s->r->arena, &made, e);
	} else if (j->kind == RS_JOB_SERVE) {
		err = rs_serve_work(&j->serve, s->o->seed, s->r->arena, &made, &r->requests, e);
	}
	w = made ? made : w;
	if (!err)
		err = rs_program_plan(s->f, w, &conf, s->r->arena, &r->program, e);
	if (!err)
		r->coll = r->program->coll;
	return err;
}

static int keep_plan(struct rs_sim *s, struct sim_coll *k, struct rs_coll *plan,
		     const struct rs_job *j, struct rs_error *e)
{
	k->plan = plan;
	k->inside = rs_arena_alloc(s->arena, k->plan->n_conns + 1u, sizeof(*k->inside));
	if (plan->post)
		k->posted = rs_arena_alloc(s->arena, plan->n_ranks, sizeof(*k->posted));
	if (plan->conf.registration)
		k->registered = rs_arena_alloc(s->arena, plan->n_ranks, sizeof(*k->registered));
	if (plan->serve)
		k->served = rs_arena_alloc(s->arena, s->n_hosts, sizeof(*k->served));
	if ((plan->post && !k->posted) || (plan->serve && !k->served) ||
	    (plan->conf.registration && !k->registered))
		return rs_error_set(e, -ENOMEM, "out of memory");
	return k->inside ? check_routes(s, k, j, e) : rs_error_set(e, -ENOMEM, "out of memory");
}

/* gpu: where its ranks are, where that is drawn from the run's seed. */
static int plan_job(struct rs_sim *s, uint32_t job, const uint32_t *gpu, struct sim_coll *k,
		    struct rs_error *e)
{
	const struct rs_job *j = &s->f->jobs[job];
	struct rs_sim_job *r = &s->r->jobs[job];
	struct rs_collective_conf conf = j->collective;
	int err;

	k->job = job;
	k->repeat = 1;
	if (rs_job_is_work(j)) {
		err = plan_work(s, j, gpu, r, e);
		rs_error_place(e, j->at);
		return err ? err : keep_plan(s, k, r->coll, j, e);
	}
	conf.gpu = s->f->places_drawn ? gpu : conf.gpu;
	if (j->kind == RS_JOB_TRAIN) {
		struct rs_train_conf train = j->train;

		train.collective.gpu = s->f->places_drawn ? gpu : train.collective.gpu;
		err = rs_train_plan(s->f, &train, &r->plan, e);
		if (err) {
			rs_error_place(e, j->at);
			return err;
		}
		conf = r->plan.bucket;
		conf.repeat = r->plan.simulated_buckets;
	}
	if (!conf.slots || conf.slots > SLOTS_MAX)
		return rs_error_at(e, -EINVAL, j->at, "slots must be 1 to %d", SLOTS_MAX);
	if (!conf.repeat || conf.repeat > REPEATS_MAX)
		return rs_error_at(e, -EINVAL, j->at, "repeat must be 1 to %d", REPEATS_MAX);
	k->repeat = conf.repeat;
	conf.nccl.searches = s->o->searches;
	err = rs_coll_plan(s->f, &conf, s->r->arena, &r->coll, e);
	if (err) {
		rs_error_place(e, j->at);
		return err;
	}
	return keep_plan(s, k, r->coll, j, e);
}

static int lanes_create(struct rs_sim *s, struct sim_coll *k, struct rs_error *e)
{
	uint32_t n = k->plan->n_ranks, lanes = k->plan->n_lanes;

	k->lanes = rs_arena_alloc(s->arena, (size_t)n * lanes, sizeof(*k->lanes));
	k->rep = rs_arena_alloc(s->arena, n, sizeof(*k->rep));
	k->first = rs_arena_alloc(s->arena, n, sizeof(*k->first));
	k->last = rs_arena_alloc(s->arena, n, sizeof(*k->last));
	if (!k->lanes || !k->rep || !k->first || !k->last)
		return rs_error_set(e, -ENOMEM, "out of memory");
	k->first_lane = s->work->n_lanes;
	s->work->n_lanes += n * lanes;
	for (uint32_t r = 0; r < n; r++)
		for (uint32_t l = 0; l < lanes; l++)
			k->lanes[r * lanes + l].n = k->plan->n_steps(k->plan, r, l);
	if (skipped(s, k->job))
		return 0;
	s->unfinished += n;
	for (uint32_t r = 0; r < n; r++)
		sim_app_schedule(s, rs_fabric_rank_host(s->f, gpu_of(k, r)), k->plan->conf.start,
				 APP_COLL_START, k->job, r);
	return 0;
}

/* Both ends of a connection speak the same. */
static int check_speech(const struct rs_sim *s, struct rs_error *e)
{
	const struct sim_workload *w = s->work;
	const struct rs_fabric *f = s->f;

	for (uint32_t i = 0; i < w->n_conns; i++) {
		const struct sim_conn *c = &w->conns[i];
		const struct rs_sim_transport *a, *b;

		if (c->nvlink || c->src_endpoint == c->dst_endpoint)
			continue;
		a = sim_transport_of(f, s->o, c->src_endpoint);
		b = sim_transport_of(f, s->o, c->dst_endpoint);
		if (a == b && (a->any_op || c->op == RS_FLOW_WRITE))
			continue;
		if (a == b)
			return rs_error_at(e, -EINVAL, f->jobs[c->job].at,
					   "job '%s': %s has op: write alone, found op: %s",
					   f->jobs[c->job].name, a->name, rs_flow_ops[c->op]);
		rs_error_at(e, -EINVAL, f->jobs[c->job].at,
			    "job '%s': %s speaks %s and %s speaks %s", f->jobs[c->job].name,
			    f->endpoints[c->src_endpoint].name, a->name,
			    f->endpoints[c->dst_endpoint].name, b->name);
		rs_error_hint(e, "give both hosts the same transport (fabric.hosts[].transport)");
		return -EINVAL;
	}
	return 0;
}

static int place(struct rs_sim *s, struct rs_error *e)
{
	const struct sim_workload *w = s->work;
	struct sim_line *line;
	int err;

	if (!s->o->ideal.placed || s->o->ideal.network)
		return 0;
	line = calloc(w->n_conns + 1u, sizeof(*line));
	if (!line)
		return rs_error_set(e, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < w->n_conns; i++) {
		const struct sim_conn *c = &w->conns[i];

		line[i] = (struct sim_line){.src = sim_bytes_from(c),
					    .dst = sim_bytes_to(c),
					    .job = c->job,
					    .index = c->index,
					    .n_qps = c->nvlink ? 0 : c->n_qps,
					    .flow = c->flow};
	}
	err = sim_placement_create(s, line, w->n_conns, e);
	free(line);
	return err;
}

/* Of an endpoint: queue pairs of collectives, and news of flows that may wait at a time. */
struct qp_counts {
	uint32_t coll, flow;
};

static void count_news(const struct rs_sim *s, struct qp_counts *n, const struct sim_conn *c)
{
	if (c->flow)
		n->flow += 2 * sim_flow_depth(flow_of(s, c));
	else
		n->coll += c->n_qps;
}

static void know_flow(struct sim_workload *w, uint32_t i)
{
	const struct sim_conn *c = &w->conns[i];

	w->numbers[c->src_endpoint].conn[c->src_qpn - SIM_FIRST_QPN] = i;
	w->numbers[c->dst_endpoint].conn[c->dst_qpn - SIM_FIRST_QPN] = i;
}

/* Each queue pair has its number from the start: it decides paths, and where given ones lead. */
static int number_qps(struct rs_sim *s, struct qp_counts *n, uint32_t *all)
{
	struct sim_workload *w = s->work;

	for (uint32_t i = 0; i < w->n_conns; i++) {
		struct sim_conn *c = &w->conns[i];

		if (c->nvlink)
			continue;
		c->src_qpn = SIM_FIRST_QPN + all[c->src_endpoint];
		all[c->src_endpoint] += c->n_qps;
		c->dst_qpn = SIM_FIRST_QPN + all[c->dst_endpoint];
		all[c->dst_endpoint] += c->n_qps;
		count_news(s, &n[c->src_endpoint], c);
		count_news(s, &n[c->dst_endpoint], c);
	}
	w->numbers = rs_arena_alloc(s->arena, s->f->n_endpoints + 1u, sizeof(*w->numbers));
	for (uint32_t i = 0; w->numbers && i < s->f->n_endpoints; i++) {
		struct sim_numbers *k = &w->numbers[i];

		k->conn = rs_arena_alloc(s->arena, all[i] + 1u, sizeof(*k->conn));
		if (!k->conn)
			return -ENOMEM;
		memset(k->conn, 0xff, all[i] * sizeof(*k->conn));
		k->n = k->room = all[i];
	}
	for (uint32_t i = 0; w->numbers && i < w->n_conns; i++)
		if (w->conns[i].flow)
			know_flow(w, i);
	return w->numbers ? 0 : -ENOMEM;
}

/* So many: what a NIC has room for but never uses must not cost memory, in no run of several. */
static void keep_room_cheap(const struct sim_workload *w)
{
#ifdef M_MMAP_THRESHOLD
	if (w->n_flows > FLOWS_MANY)
		mallopt(M_MMAP_THRESHOLD, 128 << 10);
#endif
}

static int nics_create(struct rs_sim *s, struct rs_error *e)
{
	const struct rs_fabric *f = s->f;
	struct qp_counts *n = calloc(f->n_endpoints + 1u, sizeof(*n));
	uint32_t *qps = calloc(f->n_endpoints + 1u, sizeof(*qps));
	int err = n && qps ? number_qps(s, n, qps) : -ENOMEM;

	if (err)
		rs_error_set(e, err, "out of memory");
	keep_room_cheap(s->work);
	err = err ? err : sim_pins_create(s, qps, e);
	for (uint32_t i = 0; !err && i < f->n_endpoints; i++)
		err = sim_host_nic(s, i, qps[i], 64 + 32 * n[i].coll + n[i].flow, s->later, e);
	free(qps);
	free(n);
	return err;
}

static int pin_flow(struct rs_sim *s, const struct sim_conn *c, const struct rs_flow *f,
		    struct rs_error *e)
{
	int err = sim_pin(s, c->dst_endpoint, c->dst_qpn, f->path, e);

	return err ? err : sim_pin(s, c->src_endpoint, c->src_qpn, f->ack_path, e);
}

/* A flow's start beside its connection: qsort() hands nothing on to what compares. */
struct begun {
	rs_time start;
	uint32_t conn;
};

static int by_start(const void *a, const void *b)
{
	const struct begun *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->conn > y->conn) - (x->conn < y->conn);
}

static void sort_starts(struct rs_sim *s, uint32_t host, struct begun *by)
{
	struct sim_workload *w = s->work;
	uint32_t *starts = w->starts + w->next[host], n = w->end[host] - w->next[host];

	for (uint32_t i = 0; i < n; i++)
		by[i] = (struct begun){s->r->flows[w->conns[starts[i]].index].start, starts[i]};
	qsort(by, n, sizeof(*by), by_start);
	for (uint32_t i = 0; i < n; i++)
		starts[i] = by[i].conn;
}

/* Flows by host and start; each host's first one is scheduled. */
static int list_starts(struct rs_sim *s, struct rs_error *e)
{
	struct sim_workload *w = s->work;
	struct begun *by;
	uint32_t at = 0, most = 0;

	w->starts = rs_arena_alloc(s->arena, w->n_flows + 1u, sizeof(*w->starts));
	w->next = rs_arena_alloc(s->arena, s->n_hosts + 1u, sizeof(*w->next));
	w->end = rs_arena_alloc(s->arena, s->n_hosts + 1u, sizeof(*w->end));
	if (!w->starts || !w->next || !w->end)
		return rs_error_set(e, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < w->n_conns; i++)
		w->end[w->conns[i].src_host] += w->conns[i].flow && !skipped(s, w->conns[i].job);
	for (uint32_t h = 0; h < s->n_hosts; at += w->end[h++])
		w->next[h] = at;
	for (uint32_t h = 0; h < s->n_hosts; h++)
		w->end[h] = w->next[h];
	for (uint32_t i = 0; i < w->n_conns; i++)
		if (w->conns[i].flow && !skipped(s, w->conns[i].job))
			w->starts[w->end[w->conns[i].src_host]++] = i;
	for (uint32_t h = 0; h < s->n_hosts; h++)
		most = w->end[h] - w->next[h] > most ? w->end[h] - w->next[h] : most;
	by = calloc(most + 1u, sizeof(*by));
	if (!by)
		return rs_error_set(e, -ENOMEM, "out of memory");
	for (uint32_t h = 0; h < s->n_hosts; h++) {
		sort_starts(s, h, by);
		s->nodes[h].host->seq = SEQ_RUN;
		sim_next_flow(s, h);
	}
	free(by);
	s->unfinished += at;
	return 0;
}

static int conns_create(struct rs_sim *s, struct rs_error *e)
{
	struct sim_workload *w = s->work;
	int err = 0;

	for (uint32_t i = 0; !err && i < w->n_conns; i++) {
		struct sim_conn *c = &w->conns[i];

		if (c->nvlink) {
			err = inside_path(s, coll_of(s, c->job), c->index, c, e);
			continue;
		}
		err = dma_paths(s, c, e);
		if (!err)
			err = c->flow ? pin_flow(s, c, flow_of(s, c), e) : connect_coll(s, c, e);
	}
	return err ? err : list_starts(s, e);
}

/* ---- Flows that come while the run goes ---- */

/* One more number at an endpoint. */
static int number_one(struct rs_sim *s, uint32_t endpoint, uint32_t *qpn)
{
	struct sim_numbers *k = &s->work->numbers[endpoint];
	uint32_t room = k->room < 32 ? 64 : 2 * k->room, *conn;
	int err;

	if (k->n == k->room) {
		err = sim_nic_more(s, sim_nic_of(s, endpoint), room);
		conn = err ? NULL : rs_arena_alloc(s->arena, room, sizeof(*conn));
		if (!conn)
			return err ? err : -ENOMEM;
		memcpy(conn, k->conn, k->n * sizeof(*conn));
		k->conn = conn;
		k->room = room;
	}
	*qpn = SIM_FIRST_QPN + k->n++;
	return 0;
}

int sim_flow_add(struct rs_sim *s, uint32_t job, const struct rs_flow *fl, struct rs_error *e)
{
	struct sim_workload *w = s->work;
	struct sim_conn *c = &w->conns[w->n_conns];
	int err;

	list_flow(s, job, fl, w->n_conns, w->n_flows);
	err = number_one(s, fl->src, &c->src_qpn);
	if (!err)
		err = number_one(s, fl->dst, &c->dst_qpn);
	if (err)
		return rs_error_set(e, err, "%s",
				    err == -ENOSPC ? "a NIC has no more queue pair numbers"
						   : "out of memory");
	if ((err = dma_paths(s, c, e)))
		return err;
	know_flow(w, w->n_conns);
	sim_app_schedule_as(s, c->src_host, sim_flow_posted(s, c), APP_FLOW_START, w->n_conns, 0,
			    2 * (uint64_t)w->n_conns);
	w->n_conns++;
	s->r->n_flows = ++w->n_flows;
	s->unfinished++;
	w->total++;
	return 0;
}

int sim_workload_create(struct rs_sim *s, struct rs_error *e)
{
	const struct rs_fabric *f = s->f;
	struct sim_workload *w = rs_arena_alloc(s->arena, 1, sizeof(*w));
	uint32_t at = 0, flow = 0;
	const uint32_t **gpu;
	int err = 0;

	s->work = w;
	s->r->n_jobs = f->n_jobs;
	s->r->jobs = rs_arena_alloc(s->r->arena, f->n_jobs + 1u, sizeof(*s->r->jobs));
	s->r->several_ccs = s->plant->n_cc > 1;
	if (!w || !s->r->jobs)
		return rs_error_set(e, -ENOMEM, "out of memory");
	w->colls = rs_arena_alloc(s->arena, f->n_jobs + 1u, sizeof(*w->colls));
	w->coll_of_job = rs_arena_alloc(s->arena, f->n_jobs + 1u, sizeof(*w->coll_of_job));
	w->first_flow = rs_arena_alloc(s->arena, f->n_jobs + 1u, sizeof(*w->first_flow));
	if (!w->colls || !w->coll_of_job || !w->first_flow)
		return rs_error_set(e, -ENOMEM, "out of memory");
	gpu = rs_arena_alloc(s->r->arena, f->n_jobs + 1u, sizeof(*gpu));
	if (!gpu)
		return rs_error_set(e, -ENOMEM, "out of memory");
	if (f->places_drawn)
		err = rs_fabric_place(f, s->o->seed, s->r->arena, gpu, e);
	for (uint32_t j = 0; !err && j < f->n_jobs; j++) {
		s->r->jobs[j].conf = &f->jobs[j];
		if (f->jobs[j].kind == RS_JOB_FLOWS) {
			w->n_flows += f->jobs[j].n_flows;
			continue;
		}
		w->coll_of_job[j] = w->n_colls;
		err = plan_job(s, j, gpu[j], &w->colls[w->n_colls++], e);
		if (!err)
			w->n_conns += w->colls[w->n_colls - 1].plan->n_conns;
	}
	if (err)
		return err;
	w->n_conns += w->n_flows;
	w->conns = rs_arena_alloc(s->arena, w->n_conns + 1u, sizeof(*w->conns));
	s->r->n_flows = w->n_flows;
	s->r->flows = rs_arena_alloc(s->r->arena, w->n_flows + 1u, sizeof(*s->r->flows));
	if (!w->conns || !s->r->flows)
		return rs_error_set(e, -ENOMEM, "out of memory");
	for (uint32_t j = 0; j < f->n_jobs && !err; j++)
		if (f->jobs[j].kind == RS_JOB_FLOWS)
			list_flows(s, j, &at, &flow);
		else
			err = list_coll(s, coll_of(s, j), &at);
	if (err)
		return rs_error_set(e, err, "out of memory");
	if ((err = check_speech(s, e)) || (err = place(s, e)) || (err = nics_create(s, e)) ||
	    (err = conns_create(s, e)))
		return err;
	sim_pins_apply(s);
	for (uint32_t i = 0; !err && i < w->n_colls; i++)
		err = lanes_create(s, &w->colls[i], e);
	w->total = s->unfinished;
	return err;
}
