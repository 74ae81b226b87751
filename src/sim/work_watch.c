/* What a watched run is told of its work: bars of the timeline, and connections as they are. */
#include <errno.h>
#include "sim/observe.h"
#include "sim/work.h"

/* The timeline: what a lane waited for its step, and how long the step computes. */
void sim_watch_step(struct rs_sim *s, const struct sim_coll *k, uint32_t rank, uint32_t lane,
		    rs_time now)
{
	const struct sim_lane *l = &k->lanes[rank * k->plan->n_lanes + lane];
	struct sim_node *n = &s->nodes[rs_fabric_rank_host(s->f, gpu_of(k, rank))];
	struct rs_series_span span = {.from = l->since,
				      .to = now,
				      .job = k->job,
				      .rank = rank,
				      .lane = lane,
				      .step = (uint32_t)l->i,
				      .kind = RS_SPAN_WAIT};

	if (span.to > span.from)
		sim_watch_span(n, &span);
	span.from = now;
	span.to = now + l->step.compute;
	span.kind = RS_SPAN_COMPUTE;
	if (l->step.compute > 0)
		sim_watch_span(n, &span);
}

void sim_watch_message(struct rs_sim *s, const struct sim_conn *c, rs_time now)
{
	const struct rs_series_span span = {.from = c->m->posted[c->m->completed % SLOTS_MAX],
					    .to = now,
					    .job = c->job,
					    .rank = c->m->src_rank,
					    .lane = c->m->followed,
					    .step = (uint32_t)c->m->completed,
					    .kind = RS_SPAN_MESSAGE};

	sim_watch_span(&s->nodes[c->src_host], &span);
}

uint32_t sim_conns(const struct rs_sim *s)
{
	return s->work->n_conns;
}

bool sim_conn_who(const struct rs_sim *s, uint32_t conn, struct sim_conn_who *out)
{
	const struct sim_conn *c = &s->work->conns[conn];

	*out = (struct sim_conn_who){.job = c->job,
				     .index = c->index,
				     .src = c->src_endpoint,
				     .dst = c->dst_endpoint,
				     .host = c->src_host,
				     .flow = c->flow,
				     .n_qps = c->n_qps,
				     .sport = sim_source_port(s, conn, 0),
				     .dst_qpn = c->dst_qpn,
				     .way = sim_way(s, conn, 0, c->dst_endpoint, false)};
	return !c->nvlink && !skipped(s, c->job);
}

int sim_conn_follow(struct rs_sim *s, uint32_t conn, uint32_t number)
{
	struct sim_conn *c = &s->work->conns[conn];

	if (c->flow)
		return 0;
	c->m->followed = number;
	c->m->posted = rs_arena_alloc(s->arena, SLOTS_MAX, sizeof(*c->m->posted));
	return c->m->posted ? 0 : -ENOMEM;
}

/* That READs have brought: messages that are complete, and of the oldest other what came. */
static uint64_t bytes_read(const struct rs_sim *s, const struct sim_conn *c, uint32_t answered)
{
	const struct rs_transport_conf *t = &s->f->transport;
	const struct rs_flow *f = flow_of(s, c);
	uint64_t message = sim_flow_message(f), mtu = t->payload ? t->payload : t->mtu, bytes;
	uint64_t done = (f->bytes - c->to_post + message - 1) / message - c->outstanding;
	uint32_t begun = (uint32_t)(done * ((message + mtu - 1) / mtu));

	bytes = done * message + ((answered - begun) & RS_PSN_MASK) * mtu;
	return done * message >= f->bytes || bytes > f->bytes ? f->bytes : bytes;
}

bool sim_conn_look(struct rs_sim *s, uint32_t conn, struct rs_sim_end_now *out)
{
	const struct sim_conn *c = &s->work->conns[conn];
	struct sim_nic *k = sim_nic_of(s, c->src_endpoint);
	struct rs_sim_end_now now;

	if (!k->transport->look(k->ends.self, c->src_qpn, out))
		return false;
	for (unsigned q = 1; q < c->n_qps; q++) {
		if (!k->transport->look(k->ends.self, c->src_qpn + q, &now))
			continue;
		out->in_flight += now.in_flight;
		out->acked += now.acked;
		for (unsigned why = 0; why < RS_RESENT_WHYS; why++)
			out->resent[why] += now.resent[why];
	}
	for (unsigned q = 0; q < c->n_qps; q++)
		out->resent[RS_RESENT_REORDER] += sim_order_again(k, c->src_qpn + q);
	if (c->op == RS_FLOW_READ)
		out->acked = bytes_read(s, c, out->answered);
	return true;
}
