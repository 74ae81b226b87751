/* A plan as JSON, and what a comparison found. */
#include <string.h>
#include "cli/nccl.h"
#include "report/report.h"

static const char *const algos[] = {"tree",      "ring", "collnet_direct", "collnet_chain", "nvls",
				    "nvls_tree", "pat"};

static void graph_json(struct rs_json *j, const struct rs_nccl_plan *p, int algo)
{
	const struct rs_nccl_graph *g = &p->graph[algo];

	rs_json_object(j, NULL);
	rs_json_string(j, "algorithm", algos[algo]);
	rs_json_int(j, "pattern", g->pattern);
	rs_json_int(j, "channels", g->n_channels);
	rs_json_int(j, "cross_nic", g->cross_nic);
	rs_json_bool(j, "same_channels", g->same_channels);
	rs_json_number(j, "bw_intra", (double)g->bw_intra);
	rs_json_number(j, "bw_inter", (double)g->bw_inter);
	rs_json_string(j, "type_intra", rs_nccl_path_names[g->type_intra]);
	rs_json_string(j, "type_inter", rs_nccl_path_names[g->type_inter]);
	rs_json_end(j);
}

static void uints(struct rs_json *j, const char *key, const uint32_t *v, uint32_t n)
{
	rs_json_array(j, key);
	for (uint32_t i = 0; i < n; i++)
		rs_json_uint(j, NULL, v[i]);
	rs_json_end(j);
}

/* How a rank sends on: to the next of the ring. */
static void hop_json(struct rs_json *j, const struct rs_nccl_plan *p,
		     const struct rs_nccl_print *how, int c, uint32_t i)
{
	uint32_t from = p->channel[c].ring[i], to = p->channel[c].ring[(i + 1) % p->n_ranks];
	char text[64];

	rs_json_object(j, NULL);
	rs_json_uint(j, "from", from);
	rs_json_uint(j, "to", to);
	rs_nccl_via_text(p, how, RS_NCCL_ALGO_RING, from, to, c, true, text, sizeof(text));
	rs_json_string(j, "send", text);
	rs_nccl_via_text(p, how, RS_NCCL_ALGO_RING, from, to, c, false, text, sizeof(text));
	rs_json_string(j, "receive", text);
	rs_json_end(j);
}

static void channel_json(struct rs_json *j, const struct rs_nccl_plan *p,
			 const struct rs_nccl_print *how, int c)
{
	rs_json_object(j, NULL);
	uints(j, "ring", p->channel[c].ring, p->n_ranks);
	rs_json_array(j, "trees");
	for (uint32_t r = 0; r < p->n_ranks; r++) {
		const struct rs_nccl_tree *t = &p->channel[c].tree[r];

		rs_json_object(j, NULL);
		rs_json_uint(j, "rank", r);
		rs_json_int(j, "up", t->up);
		rs_json_array(j, "down");
		for (int i = 0; i < RS_NCCL_TREE_ARITY && t->down[i] >= 0; i++)
			rs_json_int(j, NULL, t->down[i]);
		rs_json_end(j);
		rs_json_end(j);
	}
	rs_json_end(j);
	rs_json_array(j, "connections");
	for (uint32_t i = 0; i < p->n_ranks && p->n_ranks > 1; i++)
		hop_json(j, p, how, c, i);
	rs_json_end(j);
	rs_json_end(j);
}

static void nodes_json(struct rs_json *j, const struct rs_nccl_plan *p)
{
	rs_json_array(j, "nodes");
	for (uint32_t n = 0; n < p->n_nodes; n++) {
		rs_json_object(j, NULL);
		rs_json_uint(j, "host", p->nodes[n].host);
		uints(j, "ranks", p->nodes[n].ranks, p->nodes[n].n_ranks);
		rs_json_array(j, "nics");
		for (int i = 0; i < p->nodes[n].n_nics; i++)
			rs_json_int(j, NULL, p->nodes[n].nics[i].dev);
		rs_json_end(j);
		rs_json_end(j);
	}
	rs_json_end(j);
}

void rs_cli_nccl_json(const struct rs_nccl_plan *p, const struct rs_nccl_print *how,
		      const char *assumed, FILE *out)
{
	struct rs_json *j = rs_json_create(out);
	char release[16];

	snprintf(release, sizeof(release), "%u.%u.%u", p->release / 10000, p->release / 100 % 100,
		 p->release % 100);
	rs_json_object(j, NULL);
	rs_json_string(j, "nccl", release);
	rs_json_string(j, "assumed", assumed);
	rs_json_uint(j, "ranks", p->n_ranks);
	rs_json_int(j, "channels", p->n_channels);
	rs_json_int(j, "coll_channels", p->coll_channels);
	rs_json_int(j, "nvls_channels", p->nvls_channels);
	rs_json_int(j, "p2p_channels", p->p2p_channels);
	rs_json_int(j, "p2p_channels_per_peer", p->p2p_channels_per_peer);
	rs_json_uint(j, "p2p_chunk", p->p2p_chunk);
	nodes_json(j, p);
	rs_json_array(j, "graphs");
	for (int i = 0; i < RS_NCCL_ALGOS; i++)
		if (p->graph[i].n_channels)
			graph_json(j, p, i);
	rs_json_end(j);
	rs_json_array(j, "nvls_heads");
	for (int h = 0; h < p->n_nvls_heads; h++)
		uints(j, NULL, &p->nvls_heads[(uint32_t)h * p->n_nodes], p->n_nodes);
	rs_json_end(j);
	rs_json_array(j, "channel");
	for (int c = 0; c < p->n_channels; c++)
		channel_json(j, p, how, c);
	rs_json_end(j);
	rs_json_end(j);
	rs_json_finish(j);
}

void rs_cli_nccl_compared(const struct rs_nccl_compared *c, FILE *out)
{
	for (int i = 0; i < RS_NCCL_LINES; i++)
		if (c->lines[i])
			fprintf(out, "%-16s %u of %u the same\n", rs_nccl_line_names[i], c->same[i],
				c->lines[i]);
}

void rs_cli_nccl_compared_json(const struct rs_nccl_compared *c, FILE *out)
{
	struct rs_json *j = rs_json_create(out);

	rs_json_object(j, NULL);
	for (int i = 0; i < RS_NCCL_LINES; i++)
		if (c->lines[i]) {
			rs_json_object(j, rs_nccl_line_names[i]);
			rs_json_uint(j, "lines", c->lines[i]);
			rs_json_uint(j, "same", c->same[i]);
			rs_json_end(j);
		}
	rs_json_end(j);
	rs_json_finish(j);
}
