/* A plan in the words of NCCL's log: graph/search.cc, graph/rings.cc, graph/connect.cc, init.cc,
 * transport/p2p.cc, shm.cc and net.cc print so at INFO. */
#include <string.h>
#include "nccl/lines.h"
#include "nccl/state.h"

struct printer {
	const struct rs_nccl_plan *p;
	const struct rs_nccl_print *how;
	FILE *out;
};

static void begin(const struct printer *w, uint32_t rank)
{
	fprintf(w->out, "h%u [%d] NCCL INFO ", w->p->ranks[rank].host, w->p->ranks[rank].dev);
}

static bool wanted(const struct printer *w, uint32_t rank)
{
	return !w->how->n || (rank >= w->how->first && rank - w->how->first < w->how->n);
}

/* ---- The host, drawn by columns: read back by drawn.c ---- */

/* graph/topo.h: 1 Broadwell, 2 Skylake, from 2.26 on 3 Sapphire Rapids, 4 Emerald Rapids. */
static int cpu_model(const struct rs_nccl_plan *p, const struct rs_nccl_item *cpu)
{
	bool new = p->release >= RS_NCCL_RELEASE(2, 26, 0);

	if (cpu->arch != RS_NCCL_X86 || cpu->vendor != RS_NCCL_INTEL)
		return -1;
	if (cpu->family != 6 || cpu->model < 0x55)
		return 1;
	return new && cpu->model >= 0xcf ? 4 : new && cpu->model >= 0x8f ? 3 : 2;
}

/* From 2.21 on a node's number stands after its host's. */
static int name_text(const struct rs_nccl_plan *p, const struct rs_nccl_topo *t,
		     const struct node *n, char *buf, size_t size)
{
	static const char *const kinds[] = {"GPU", "PCI", "NVS", "CPU", "NIC", "NET"};
	const struct rs_nccl_item *item = n->item < 0 ? NULL : &t->host->items[n->item];
	unsigned long long id = !item            ? 0
				: n->kind == NET ? (unsigned long long)item->dev
						 : (unsigned long long)item->bus;

	return snprintf(buf, size,
			p->release >= RS_NCCL_RELEASE(2, 21, 0) ? "%s/0-%llx" : "%s/%llX",
			kinds[n->kind], id);
}

static void facts_text(const struct rs_nccl_plan *p, uint32_t node, const struct rs_nccl_topo *t,
		       const struct node *n, char *buf, size_t size)
{
	const struct rs_nccl_item *item = n->item < 0 ? NULL : &t->host->items[n->item];

	*buf = '\0';
	if (n->kind == GPU)
		snprintf(buf, size, " (%u)", rank_of(p, node, n->index));
	else if (n->kind == CPU)
		snprintf(buf, size, " (%d/%d/%d)", n->arch, n->vendor, cpu_model(p, item));
	else if (n->kind == PCI)
		snprintf(buf, size, " (%llx)", (unsigned long long)item->device);
	else if (n->kind == NET && p->release >= RS_NCCL_RELEASE(2, 23, 0))
		snprintf(buf, size, " (%d/%llx/%d/%f)", n->collnet, (unsigned long long)n->asic,
			 n->port, (double)item->net_bw);
	else if (n->kind == NET)
		snprintf(buf, size, " (%llx/%d/%f)", (unsigned long long)n->asic, n->port,
			 (double)item->net_bw);
}

/* A node's links, each on its line from a column on; below PCI links what hangs there. */
static void print_links(const struct printer *w, uint32_t rank, const struct node *n,
			const struct node *up, int column)
{
	const struct rs_nccl_topo *t = class_of(w->p, rank)->topo;
	uint32_t node = w->p->ranks[rank].node;

	for (int i = 0; i < n->n_links && column < 400; i++) {
		static const char *const classes[] = {[RS_NCCL_NVL] = "NVL",
						      [RS_NCCL_C2C] = "C2C",
						      [RS_NCCL_PIX] = "PCI",
						      [RS_NCCL_SYS] = "SYS",
						      [RS_NCCL_NET] = "NET"};
		const struct link *l = &n->links[i];
		char head[48], name[48], facts[96] = "";

		if (l->class == RS_NCCL_PIX && l->to == up)
			continue;
		if (n->kind == NET)
			continue;
		snprintf(head, sizeof(head), "+ %s[%2.1f] - ", classes[l->class], (double)l->bw);
		name_text(w->p, t, l->to, name, sizeof(name));
		if (l->class == RS_NCCL_PIX || l->to->kind == NET)
			facts_text(w->p, node, t, l->to, facts, sizeof(facts));
		begin(w, rank);
		fprintf(w->out, "%*s%s%s%s\n", column, "", head, name, facts);
		if (l->class == RS_NCCL_PIX)
			print_links(w, rank, l->to, n, column + (int)strlen(head));
	}
}

static void print_system(const struct printer *w, uint32_t rank)
{
	const struct rs_nccl_topo *t = class_of(w->p, rank)->topo;
	char name[48], facts[96];

	begin(w, rank);
	fprintf(w->out, "=== System : maxBw %2.1f totalBw %2.1f ===\n", (double)t->max_bw,
		(double)t->total_bw);
	for (int i = 0; i < t->n[CPU]; i++) {
		const struct node *n = &t->nodes[CPU][i];

		name_text(w->p, t, n, name, sizeof(name));
		facts_text(w->p, w->p->ranks[rank].node, t, n, facts, sizeof(facts));
		begin(w, rank);
		fprintf(w->out, "%s%s\n", name, facts);
		print_links(w, rank, n, NULL, 0);
	}
	begin(w, rank);
	fputs("==========================================\n", w->out);
}

/* ---- The search ---- */

static void print_graph(const struct printer *w, uint32_t rank, const struct found *f)
{
	const struct rs_nccl_class *c = class_of(w->p, rank);

	begin(w, rank);
	fprintf(w->out,
		"Pattern %d, crossNic %d, nChannels %d, bw %f/%f, type %s/%s, sameChannels %d\n",
		f->pattern, f->cross_nic, f->n_channels, (double)f->bw_intra, (double)f->bw_inter,
		rs_nccl_path_names[f->class_intra], rs_nccl_path_names[f->class_inter], f->same);
	for (int ch = 0; ch < f->n_channels; ch++) {
		begin(w, rank);
		fprintf(w->out, "%2d :", ch);
		if (c->topo->n[NET])
			fprintf(w->out, " NET/%d", c->nics[f->inter[2 * ch]].dev);
		for (int i = 0; i < c->n_gpus && (!i || f->pattern != RS_NCCL_NVLS); i++)
			fprintf(w->out, " GPU/%u",
				w->p->nodes[w->p->ranks[rank].node]
					.ranks[c->local[f->intra[ch * c->n_gpus + i]]]);
		if (c->topo->n[NET])
			fprintf(w->out, " NET/%d", c->nics[f->inter[2 * ch + 1]].dev);
		fputc('\n', w->out);
	}
}

static void print_search(const struct printer *w, uint32_t rank)
{
	const struct rs_nccl_class *c = class_of(w->p, rank);
	static const int order[] = {RING_GRAPH, TREE_GRAPH, CHAIN_GRAPH, DIRECT_GRAPH, NVLS_GRAPH};

	print_system(w, rank);
	for (int i = 0; i < GRAPHS; i++)
		if (c->found[order[i]].n_channels)
			print_graph(w, rank, &c->found[order[i]]);
}

/* ---- Channels ---- */

static int width_of(uint32_t n)
{
	return snprintf(NULL, 0, "%u", n - 1);
}

static void print_rings(const struct printer *w)
{
	const struct rs_nccl_plan *p = w->p;

	for (int c = 0; c < p->n_channels; c++) {
		begin(w, 0);
		fprintf(w->out, "Channel %02d/%02d : ", c, p->n_channels);
		for (uint32_t i = 0; i < p->n_ranks; i++)
			fprintf(w->out, " %*u", width_of(p->n_ranks), p->channel[c].ring[i]);
		fputc('\n', w->out);
	}
}

static void neighbours(const struct rs_nccl_plan *p, int c, uint32_t rank, uint32_t *prev,
		       uint32_t *next)
{
	const uint32_t *ring = p->channel[c].ring;

	for (uint32_t i = 0; i < p->n_ranks; i++)
		if (ring[i] == rank) {
			*prev = ring[(i + p->n_ranks - 1) % p->n_ranks];
			*next = ring[(i + 1) % p->n_ranks];
			return;
		}
}

static void print_trees(const struct printer *w, uint32_t rank)
{
	const struct rs_nccl_plan *p = w->p;

	for (int c = 0; w->how->graph && c < p->n_channels; c++) {
		uint32_t prev = 0, next = 0;

		neighbours(p, c, rank, &prev, &next);
		begin(w, rank);
		fprintf(w->out, "Ring %02d : %u -> %u -> %u\n", c, prev, rank, next);
	}
	begin(w, rank);
	fputs("Trees", w->out);
	for (int c = 0; c < p->n_channels; c++) {
		const struct rs_nccl_tree *t = &p->channel[c].tree[rank];

		fprintf(w->out, " [%d] %d/%d/%d->%u->%d", c, t->down[0], t->down[1], t->down[2],
			rank, t->up);
	}
	fputc('\n', w->out);
	begin(w, rank);
	fprintf(w->out, "P2P Chunksize set to %u\n", p->p2p_chunk);
}

static void print_heads(const struct printer *w)
{
	const struct rs_nccl_plan *p = w->p;

	for (int h = 0; h < p->n_nvls_heads && p->n_nodes > 1; h++) {
		begin(w, 0);
		fprintf(w->out, "NVLS Head %2d:", h);
		for (uint32_t n = 0; n < p->n_nodes && n < 20; n++)
			fprintf(w->out, " %2u", p->nvls_heads[(uint32_t)h * p->n_nodes + n]);
		fputc('\n', w->out);
	}
}

/* ---- Connections ---- */

static void net_text(const struct rs_nccl_plan *p, const struct rs_nccl_print *how,
		     const struct rs_nccl_way *way, uint32_t rank, bool send, char *buf,
		     size_t size)
{
	char proxy[16] = "";

	if (send && way->proxy != rank)
		snprintf(proxy, sizeof(proxy), "(%u)", way->proxy);
	snprintf(buf, size, "[%s] via NET/%s/%d%s%s", send ? "send" : "receive", how->net, way->dev,
		 proxy, way->gdr ? "/GDRDMA" : "");
}

const char *rs_nccl_via_text(const struct rs_nccl_plan *p, const struct rs_nccl_print *how,
			     enum rs_nccl_algo algo, uint32_t from, uint32_t to, int channel,
			     bool send, char *buf, size_t size)
{
	bool read;
	uint32_t over, me = send ? from : to;
	enum rs_nccl_transport via = rs_nccl_via(p, from, to, &read, &over);
	struct rs_nccl_way way;

	if (via == RS_NCCL_VIA_NET) {
		way = rs_nccl_way(p, algo, me, channel, send);
		if (way.net < 0) /* on one host: by its own NIC */
			way = rs_nccl_p2p_way(p, me, send ? to : from, channel, send);
		net_text(p, how, &way, me, send, buf, size);
	} else if (via == RS_NCCL_VIA_SHM) {
		snprintf(buf, size, "via SHM/direct/direct");
	} else if (over != from) {
		snprintf(buf, size, "via P2P/indirect/%u[%d]", over, p->ranks[over].dev);
	} else {
		snprintf(buf, size, "via P2P/%s%s",
			 how->same_process ? "direct pointer"
			 : p->env->cumem   ? "CUMEM"
					   : "IPC",
			 read ? "/read" : "");
	}
	return buf;
}

static void print_via(const struct printer *w, enum rs_nccl_algo algo, uint32_t from, uint32_t to,
		      int c, bool send)
{
	char text[64];

	rs_nccl_via_text(w->p, w->how, algo, from, to, c, send, text, sizeof(text));
	if (!send && *text != '[')
		return; /* local ones are told once, by the sender */
	begin(w, send ? from : to);
	fprintf(w->out, "Channel %02d/0 : %u[%d] -> %u[%d] %s\n", c, from, w->p->ranks[from].dev,
		to, w->p->ranks[to].dev, text);
}

static void print_ring_vias(const struct printer *w, uint32_t rank)
{
	const struct rs_nccl_plan *p = w->p;
	uint32_t prev = 0, next = 0;

	for (int send = 0; send < 2 && p->n_ranks > 1; send++)
		for (int c = 0; c < p->n_channels; c++) {
			neighbours(p, c, rank, &prev, &next);
			print_via(w, RS_NCCL_ALGO_RING, send ? rank : prev, send ? next : rank, c,
				  send);
		}
}

/* What the ring has not connected yet. */
static bool ringed(const struct rs_nccl_plan *p, int c, uint32_t from, uint32_t to)
{
	uint32_t prev = 0, next = 0;

	neighbours(p, c, from, &prev, &next);
	return next == to;
}

static void print_tree_vias(const struct printer *w, uint32_t rank)
{
	const struct rs_nccl_plan *p = w->p;

	for (int send = 0; send < 2 && p->n_ranks > 1; send++)
		for (int c = 0; c < p->n_channels; c++) {
			const struct rs_nccl_tree *t = &p->channel[c].tree[rank];
			int32_t peers[] = {t->down[0], t->down[1], t->down[2], t->up};

			for (int i = 0; i < 4; i++) {
				uint32_t from = send ? rank : (uint32_t)peers[i];
				uint32_t to = send ? (uint32_t)peers[i] : rank;

				if (peers[i] >= 0 && !ringed(p, c, from, to))
					print_via(w, RS_NCCL_ALGO_TREE, from, to, c, send);
			}
		}
}

static void print_counts(const struct printer *w, uint32_t rank)
{
	const struct rs_nccl_plan *p = w->p;

	begin(w, rank);
	fprintf(w->out, "%d coll channels, ", p->n_channels);
	if (p->release >= RS_NCCL_RELEASE(2, 20, 0))
		fprintf(w->out, "%d collnet channels, ",
			p->release >= RS_NCCL_RELEASE(2, 21, 0) || p->graph[CHAIN].n_channels
				? p->n_channels
				: 0);
	fprintf(w->out, "%d nvls channels, %d p2p channels, %d p2p channels per peer\n",
		p->nvls_channels, p->p2p_channels, p->p2p_channels_per_peer);
}

void rs_nccl_plan_print(const struct rs_nccl_plan *p, const struct rs_nccl_print *how, FILE *out)
{
	struct printer w = {p, how, out};

	for (uint32_t r = 0; how->graph && r < p->n_ranks; r++)
		if (wanted(&w, r)) {
			begin(&w, r);
			fprintf(out,
				"comm 0x%x rank %u nRanks %u nNodes %u localRanks %u localRank %u "
				"nvmlDev %d\n",
				p->ranks[r].host, r, p->n_ranks, p->n_nodes,
				p->nodes[p->ranks[r].node].n_ranks, p->ranks[r].local,
				p->ranks[r].dev);
			print_search(&w, r);
		}
	if (wanted(&w, 0)) {
		print_heads(&w);
		print_rings(&w);
	}
	for (uint32_t r = 0; r < p->n_ranks; r++)
		if (wanted(&w, r))
			print_trees(&w, r);
	for (uint32_t r = 0; r < p->n_ranks; r++)
		if (wanted(&w, r)) {
			print_ring_vias(&w, r);
			print_tree_vias(&w, r);
		}
	for (uint32_t r = 0; r < p->n_ranks; r++)
		if (wanted(&w, r))
			print_counts(&w, r);
}
