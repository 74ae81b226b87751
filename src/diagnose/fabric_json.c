/* The network and the places of ranks, as a member of the JSON: what a picture of it is drawn from.
 */
#include "diagnose/state.h"
#include "report/report.h"

static void json_end(struct rs_json *j, const char *key, const struct rs_link_end *x)
{
	rs_json_object(j, key);
	rs_json_uint(j, x->is_switch ? "switch" : "endpoint", x->id);
	if (x->is_switch)
		rs_json_uint(j, "port", x->port);
	rs_json_end(j);
}

static void json_link(struct rs_json *j, const struct rs_fabric_link *l)
{
	rs_json_object(j, NULL);
	json_end(j, "a", &l->a);
	json_end(j, "b", &l->b);
	rs_json_int(j, "rate", l->rate);
	rs_json_number(j, "delay_ns", (double)l->delay / RS_NS);
	rs_json_number(j, "loss", l->loss);
	rs_json_bool(j, "down", l->down);
	rs_json_end(j);
}

/* The host of each rank of a job; none of flows. */
static void json_ranks(struct rs_json *j, const struct rs_diagnosis *d, uint32_t job)
{
	const struct rs_fabric *f = d->cases[0].fabric;
	const struct rs_coll *c = d->cases[0].result->jobs[job].coll;

	rs_json_array(j, NULL);
	for (uint32_t r = 0; c && r < c->n_ranks; r++)
		rs_json_uint(j, NULL, rs_fabric_rank_host(f, rs_collective_gpu(&c->conf, r)));
	rs_json_end(j);
}

void fabric_json(struct rs_json *j, const struct rs_diagnosis *d)
{
	const struct rs_fabric *f = d->cases[0].fabric;

	rs_json_object(j, "fabric");
	rs_json_string(j, "title", f->title);
	rs_json_string(j, "about", f->about);
	rs_json_uint(j, "gpus", f->n_gpus);
	rs_json_uint(j, "mtu", f->transport.mtu);
	rs_json_bool(j, "pfc", f->qos.pfc);
	rs_json_array(j, "hosts");
	for (uint32_t i = 0; i < f->n_hosts; i++)
		rs_json_string(j, NULL, f->hosts[i].name);
	rs_json_end(j);
	rs_json_array(j, "endpoints");
	for (uint32_t i = 0; i < f->n_endpoints; i++) {
		rs_json_object(j, NULL);
		rs_json_string(j, "name", f->endpoints[i].name);
		rs_json_uint(j, "host", f->endpoints[i].host);
		rs_json_int(j, "rate", f->endpoints[i].rate);
		rs_json_end(j);
	}
	rs_json_end(j);
	rs_json_array(j, "switches");
	for (uint32_t i = 0; i < f->n_switches; i++) {
		rs_json_object(j, NULL);
		rs_json_string(j, "name", f->switches[i].name);
		rs_json_uint(j, "tier", f->switches[i].tier);
		rs_json_end(j);
	}
	rs_json_end(j);
	rs_json_array(j, "links");
	for (uint32_t i = 0; i < f->n_links; i++)
		json_link(j, &f->links[i]);
	rs_json_end(j);
	rs_json_array(j, "rank_hosts");
	for (uint32_t i = 0; i < f->n_jobs; i++)
		json_ranks(j, d, i);
	rs_json_end(j);
	rs_json_end(j);
}
