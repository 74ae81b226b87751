/* Repairs of the work itself: messages that wait for one another, memory on another socket, flows
 * in a class that drops where others' is lossless. */
#include <string.h>
#include "diagnose/state.h"

enum {
	UNDER_WAY = 1 << 20,      /* bytes that a queue pair should have under way */
	READS = 16,               /* outstanding of a queue pair: transport.max_rd_atomic */
	MESSAGE_SHORT = 64 << 10, /* shorter ones cost a header, a WQE and a completion each */
};

/* A job's, to change; NULL: it has none. */
static struct rs_collective_conf *collective_of(struct rs_fabric *h, uint32_t job)
{
	return (struct rs_collective_conf *)rs_job_collective(&h->jobs[job]);
}

/* A change of one flow; false: nothing is amiss there. */
typedef bool mend_flow(const struct rs_fabric *f, const struct rs_job *j, struct rs_flow *w);

static const char *host_of(const struct rs_fabric *f, uint32_t endpoint)
{
	for (uint32_t i = 0; i < f->n_hosts; i++)
		if (endpoint >= f->hosts[i].first_endpoint &&
		    endpoint < f->hosts[i].first_endpoint + f->hosts[i].n_endpoints)
			return f->hosts[i].name;
	return f->endpoints[endpoint].name;
}

/* Each sender is told of once. */
static void mend_flows(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r,
		       mend_flow *mend)
{
	const char *last = NULL;

	for (uint32_t j = 0; j < f->n_jobs; j++)
		for (uint32_t i = 0; i < f->jobs[j].n_flows; i++) {
			struct rs_flow *w = &h->jobs[j].flows[i];
			const char *from = host_of(f, f->jobs[j].flows[i].src);

			if (!mend(f, &f->jobs[j], w))
				continue;
			if (!last || strcmp(last, from) != 0)
				repaired_at(r, from);
			last = from;
		}
}

/* ---- Messages ---- */

static bool mend_depth(const struct rs_fabric *f, const struct rs_job *j, struct rs_flow *w)
{
	uint32_t message = w->message ? w->message : RS_FLOW_MESSAGE_MAX;
	uint32_t depth = w->depth ? w->depth : RS_FLOW_DEPTH;
	uint32_t more = (UNDER_WAY + message - 1) / message;

	if (w->op == RS_FLOW_ATOMIC || message >= w->bytes || depth >= more)
		return false;
	w->depth = more < RS_FLOW_DEPTH_MAX ? more : RS_FLOW_DEPTH_MAX;
	return true;
}

void repair_depth(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r)
{
	mend_flows(f, h, r, mend_depth);
}

/* Where fewer READs may be outstanding than usual, that is amiss, and no message too short. */
static bool few_reads(const struct rs_fabric *f, const struct rs_flow *w)
{
	return w->op == RS_FLOW_READ && f->transport.max_rd_atomic < READS;
}

static bool mend_message(const struct rs_fabric *f, const struct rs_job *j, struct rs_flow *w)
{
	if (w->op == RS_FLOW_ATOMIC || !w->message || w->message >= MESSAGE_SHORT ||
	    w->message >= w->bytes || few_reads(f, w))
		return false;
	w->message = UNDER_WAY;
	return true;
}

void repair_message(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r)
{
	mend_flows(f, h, r, mend_message);
}

/* ---- Memory ---- */

void repair_memory(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r)
{
	for (uint32_t j = 0; j < f->n_jobs; j++) {
		struct rs_collective_conf *c = collective_of(h, j);
		bool far = h->jobs[j].memory == RS_MEMORY_FAR;

		if (far)
			h->jobs[j].memory = RS_MEMORY_HOST;
		if (c && c->memory == RS_COLL_IN_FAR) {
			c->memory = RS_COLL_IN_HOST;
			far = true;
		}
		if (far)
			repaired_at(r, f->jobs[j].name);
	}
}

/* ---- Classes ---- */

static bool lossless(const struct rs_fabric *f, uint8_t tc)
{
	return f->qos.pfc && f->qos.tc[tc].lossless;
}

/* In a class without PFC, where the class of data has it. */
static bool mend_class(const struct rs_fabric *f, const struct rs_job *j, struct rs_flow *w)
{
	if (lossless(f, w->tc) || !lossless(f, f->qos.data_tc))
		return false;
	w->tc = f->qos.data_tc;
	return true;
}

void repair_class(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r)
{
	mend_flows(f, h, r, mend_class);
	for (uint32_t j = 0; j < f->n_jobs; j++) {
		struct rs_collective_conf *c = collective_of(h, j);

		if (!c || lossless(f, c->tc) || !lossless(f, f->qos.data_tc))
			continue;
		c->tc = f->qos.data_tc;
		repaired_at(r, f->jobs[j].name);
	}
}

/* ---- Registration ---- */

static bool mend_registration(const struct rs_fabric *f, const struct rs_job *j, struct rs_flow *w)
{
	bool odd = w->registration > 0;

	w->registration = 0;
	return odd;
}

void repair_registration(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r)
{
	mend_flows(f, h, r, mend_registration);
	for (uint32_t j = 0; j < f->n_jobs; j++) {
		struct rs_collective_conf *c = collective_of(h, j);

		if (!c || !c->registration)
			continue;
		c->registration = 0;
		repaired_at(r, f->jobs[j].name);
	}
}
