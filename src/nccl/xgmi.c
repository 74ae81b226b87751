/*
 * Rings of AMD's GPUs that xGMI joins one to one. RCCL does not search them: for the machines that
 * it knows it has lines by hand (graph/rome_models.cc). They are Hamiltonian rings in both
 * directions that load each link alike, by as many links as it has, and are cut beside NICs where
 * a job has several hosts. Such rings are made here from the links themselves.
 */
#include <string.h>
#include "nccl/state.h"
#include "nccl/xgmi.h"

enum { GPUS_MAX = 16, PAIRS_MAX = 8, TRIES = 1 << 17, NET_LINES = 8 };

struct mesh {
	int n;
	int links[GPUS_MAX][GPUS_MAX];
	int load[GPUS_MAX][GPUS_MAX]; /* rings of one direction */
	int line[2 * GPUS_MAX][GPUS_MAX], n_lines;
	/* the search of one ring */
	int at[GPUS_MAX], best[GPUS_MAX];
	bool seen[GPUS_MAX];
	double most, sum;
	int tries;
};

static bool read_links(const struct rs_nccl_class *c, struct mesh *m)
{
	const struct rs_nccl_host *h = c->host;
	const struct rs_nccl_topo *t = c->topo;
	int of[2], any = 0;

	*m = (struct mesh){.n = t->n[GPU]};
	if (t->n[NVS] || m->n < 2 || m->n > GPUS_MAX || !h->items[t->nodes[GPU][0].item].amd)
		return false;
	for (int i = 0; i < h->n_nvlinks; i++) {
		const struct rs_nccl_nvlink *x = &h->nvlinks[i];

		of[0] = of[1] = -1;
		for (int g = 0; g < m->n; g++) {
			if (t->nodes[GPU][g].item == x->gpu)
				of[0] = g;
			if (t->nodes[GPU][g].item == x->to)
				of[1] = g;
		}
		if (of[0] < 0 || of[1] < 0)
			continue;
		m->links[of[0]][of[1]] = x->count;
		any++;
	}
	return any > 0;
}

/* All joined, by links alike? */
static bool is_whole(const struct mesh *m)
{
	for (int i = 0; i < m->n; i++)
		for (int k = 0; k < m->n; k++)
			if (i != k && (!m->links[i][k] || m->links[i][k] != m->links[0][1]))
				return false;
	return true;
}

/* 0, 1, n-1, 2, n-2: each step has another width. */
static int zigzag(int i, int n)
{
	return i % 2 ? (i + 1) / 2 : (n - i / 2) % n;
}

static void add_line(struct mesh *m, const int *line, bool back)
{
	for (int i = 0; i < m->n; i++)
		m->line[m->n_lines][i] = line[back ? m->n - 1 - i : i];
	m->n_lines++;
}

/* On one host: zigzags of all but one GPU, turned, closed over that one; and back. */
static void whole_rings(struct mesh *m)
{
	int turns = m->n - 1, count = turns % 2 ? turns : turns / 2, line[GPUS_MAX];

	for (int r = 0; r < count; r++) {
		line[0] = m->n - 1;
		for (int i = 0; i < turns; i++)
			line[i + 1] = (zigzag(i, turns) + r) % turns;
		add_line(m, line, false);
		add_line(m, line, true);
	}
}

/* On several: turned zigzags, each link in one of an even number of GPUs; each GPU is an end of
 * two, which are neighbours: what leaves by a rail arrives by it, as rings of a pair change places.
 */
static void whole_lines(struct mesh *m)
{
	int turns = m->n % 2 ? m->n : m->n / 2, line[GPUS_MAX];

	for (int r = 0; r < turns; r++)
		for (int back = 0; back < 2; back++) {
			for (int i = 0; i < m->n; i++)
				line[i] = (zigzag(i, m->n) + r + (m->n % 2 ? 0 : back * turns)) %
					  m->n;
			add_line(m, line, m->n % 2 && back);
		}
}

/* ---- Rings of what is not whole ---- */

static double cost_of(const struct mesh *m, int a, int b)
{
	return (double)(m->load[a][b] + 1) / m->links[a][b];
}

/* The ring whose fullest link is the least full, then the one whose links are it together. */
static void look(struct mesh *m, int n, double most, double sum)
{
	int from = m->at[n - 1];

	if (m->tries++ > TRIES || most > m->most || (most >= m->most && sum >= m->sum))
		return;
	if (n == m->n) {
		double back = m->links[from][m->at[0]] ? cost_of(m, from, m->at[0]) : 0;

		most = back > most ? back : most;
		if (back <= 0 || most > m->most || (most >= m->most && sum + back >= m->sum))
			return;
		m->most = most;
		m->sum = sum + back;
		memcpy(m->best, m->at, sizeof(m->best));
		return;
	}
	for (int to = 0; to < m->n; to++) {
		double c;

		if (m->seen[to] || !m->links[from][to])
			continue;
		c = cost_of(m, from, to);
		m->seen[to] = true;
		m->at[n] = to;
		look(m, n + 1, c > most ? c : most, sum + c);
		m->seen[to] = false;
	}
}

static bool next_ring(struct mesh *m)
{
	m->most = m->sum = 1e9;
	m->tries = 0;
	m->at[0] = 0;
	memset(m->seen, 0, sizeof(m->seen));
	m->seen[0] = true;
	look(m, 1, 0, 0);
	if (m->most >= 1e9)
		return false;
	for (int i = 0; i < m->n; i++) {
		int a = m->best[i], b = m->best[(i + 1) % m->n];

		m->load[a][b]++;
		m->load[b][a]++;
	}
	return true;
}

/* As many pairs of rings as carry the most together; of these numbers the least. */
static void some_rings(struct mesh *m)
{
	double rate = 0;
	int best = 0;

	for (int pairs = 1; pairs <= PAIRS_MAX && next_ring(m); pairs++) {
		add_line(m, m->best, false);
		add_line(m, m->best, true);
		if (pairs / m->most > rate * 1.001) {
			rate = pairs / m->most;
			best = pairs;
		}
	}
	m->n_lines = 2 * best;
}

/* ---- Ends ---- */

struct ends {
	int used[RS_NCCL_GPUS_MAX];
};

static int net_of(const struct rs_nccl_class *c, int gpu, int channel)
{
	return nccl_local_net(c->topo, gpu, channel);
}

static void turn(int *line, int n, int by)
{
	int old[GPUS_MAX];

	memcpy(old, line, (size_t)n * sizeof(*old));
	for (int i = 0; i < n; i++)
		line[i] = old[(i + by) % n];
}

/* Cuts each pair of rings where its ends have the NICs that the fewest others have, and of those
 * places at the narrowest link. */
static void cut(const struct rs_nccl_class *c, struct mesh *m)
{
	struct ends e = {{0}};

	for (int l = 0; l < m->n_lines; l += 2) {
		int *line = m->line[l], best = 0;
		double least = 1e9;

		for (int i = 0; i < m->n; i++) {
			int a = line[i], b = line[(i + m->n - 1) % m->n];
			int na = net_of(c, a, 0), nb = net_of(c, b, 0);
			double full = e.used[na] + e.used[nb] + (na == nb ? 100 : 0) +
				      m->links[a][b] * .01;

			if (full < least) {
				least = full;
				best = i;
			}
		}
		turn(line, m->n, best);
		e.used[net_of(c, line[0], 0)]++;
		e.used[net_of(c, line[m->n - 1], 0)]++;
		for (int i = 0; i < m->n; i++)
			m->line[l + 1][i] = line[m->n - 1 - i];
	}
}

/* ---- Graphs ---- */

static void set_net(const struct rs_nccl_class *c, struct found *f, int at, int gpu, int channel)
{
	const struct way *w;
	int net = net_of(c, gpu, channel);

	f->inter[at] = (int16_t)net;
	if (net < 0)
		return;
	w = &c->topo->nodes[GPU][gpu].ways[NET][net];
	f->class_inter = w->class > f->class_inter ? w->class : f->class_inter;
}

static void fill(const struct rs_nccl_class *c, const struct mesh *m, struct found *f, bool tree)
{
	int n = m->n_lines;

	while (c->topo->n[NET] && n < NET_LINES)
		n += m->n_lines;
	f->n_channels = n < f->max_channels ? n : f->max_channels;
	f->same = true;
	f->cross_nic = c->topo->n[NET] > 1 ? 2 : 0;
	f->class_intra = RS_NCCL_NVL;
	f->bw_intra = f->bw_inter = c->topo->total_bw / (float)f->n_channels;
	for (int ch = 0; ch < f->n_channels; ch++) {
		const int *line = m->line[ch % m->n_lines];

		for (int i = 0; i < m->n; i++)
			f->intra[ch * m->n + i] = (int16_t)line[i];
		f->inter[2 * ch] = f->inter[2 * ch + 1] = -1;
		if (!c->topo->n[NET])
			continue;
		set_net(c, f, 2 * ch, line[0], ch);
		if (tree)
			f->inter[2 * ch + 1] = f->inter[2 * ch];
		else
			set_net(c, f, 2 * ch + 1, line[m->n - 1], ch);
	}
}

bool nccl_xgmi(struct rs_nccl_class *c)
{
	struct mesh m;

	if (!read_links(c, &m))
		return false;
	for (int g = 0; c->topo->n[NET] && g < m.n; g++)
		if (net_of(c, g, 0) < 0)
			return false;
	if (!is_whole(&m)) {
		some_rings(&m);
		if (c->topo->n[NET])
			cut(c, &m);
	} else if (c->topo->n[NET]) {
		whole_lines(&m);
	} else {
		whole_rings(&m);
	}
	if (!m.n_lines)
		return false;
	fill(c, &m, &c->found[RING_GRAPH], false);
	fill(c, &m, &c->found[TREE_GRAPH], true);
	return true;
}
