/* A watched run over several processes (ranks.h): each has the rows of its own nodes, and tells
 * them to all others, so that the series are whole in each. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "sim/observe.h"
#include "sim/ranks.h"
#include "sim/watch.h"

/*
 * Whole words, written or read by the same functions. Both ends are the same program on the same
 * kind of machine, and made the same nodes: what both know of them is not told.
 */
struct words {
	uint64_t *v;
	size_t n, room, at; /* room: of the writer; at: the reader is here */
	uint32_t bins;
	bool reads, fails;
};

/* Room for n more, or the next n; NULL: no memory, or there are not so many. */
static uint64_t *some(struct words *w, size_t n)
{
	uint64_t *at;

	if (w->reads) {
		at = w->fails || n > w->n - w->at ? NULL : w->v + w->at;
		w->at += at ? n : 0;
	} else {
		if (w->n + n > w->room) {
			size_t room = 2 * (w->n + n) + 512;
			uint64_t *more = realloc(w->v, room * sizeof(*more));

			w->fails |= !more;
			w->v = more ? more : w->v;
			w->room = more ? room : w->room;
		}
		at = w->fails ? NULL : w->v + w->n;
		w->n += at ? n : 0;
	}
	w->fails |= !at;
	return at;
}

static void word(struct words *w, uint64_t *v)
{
	uint64_t *at = some(w, 1);

	if (at && w->reads)
		*v = *at;
	else if (at)
		*at = *v;
}

/* A reader's row stays where the words are. */
static void row(struct words *w, uint64_t **v)
{
	uint64_t is = *v != NULL, *at;

	word(w, &is);
	if (!is || !(at = some(w, w->bins)))
		return;
	if (w->reads)
		*v = at;
	else
		memcpy(at, *v, w->bins * sizeof(*at));
}

static void time_row(struct words *w, rs_time **v)
{
	row(w, (uint64_t **)v);
}

/* ---- Histograms ---- */

struct listing {
	struct words *w;
	uint64_t n;
};

static void count_bucket(void *arg, uint32_t bucket, uint64_t n)
{
	(void)bucket;
	(void)n;
	((struct listing *)arg)->n++;
}

static void write_bucket(void *arg, uint32_t bucket, uint64_t n)
{
	uint64_t b = bucket;

	word(((struct listing *)arg)->w, &b);
	word(((struct listing *)arg)->w, &n);
}

static void read_bucket(struct words *w, struct rs_hist *h)
{
	uint64_t bucket = 0, n = 0;

	word(w, &bucket);
	word(w, &n);
	w->fails |= !rs_hist_put(h, (unsigned)(bucket >> RS_HIST_BITS),
				 (unsigned)(bucket & ((1u << RS_HIST_BITS) - 1)), n);
}

static void hist(struct words *w, struct rs_hist *h)
{
	struct listing l = {w, 0};

	word(w, &h->n);
	word(w, &h->sum);
	word(w, &h->most);
	word(w, &h->lost);
	if (!w->reads)
		rs_hist_each(h, count_bucket, &l);
	word(w, &l.n);
	if (!w->reads)
		rs_hist_each(h, write_bucket, &l);
	for (uint64_t i = 0; w->reads && i < l.n && !w->fails; i++)
		read_bucket(w, h);
}

/* ---- Nodes ---- */

static void port(struct words *w, struct rs_series_port *p)
{
	word(w, &p->bytes);
	word(w, &p->data_packets);
	row(w, &p->carried);
	row(w, &p->peak);
	row(w, &p->marks);
	row(w, &p->drops);
	row(w, &p->lost);
	for (unsigned m = p->classes; m; m &= m - 1) {
		struct rs_series_class *c = p->of[__builtin_ctz(m)];

		row(w, &c->bytes);
		row(w, &c->queue);
		time_row(w, &c->held);
		row(w, &c->pauses);
		row(w, &c->marks);
		row(w, &c->drops);
		if (p->exact)
			hist(w, &c->queued);
	}
}

static void flow(struct words *w, struct rs_series_flow *f)
{
	row(w, (uint64_t **)&f->rate);
	row(w, &f->window);
	row(w, &f->in_flight);
	row(w, &f->acked);
	row(w, &f->resent);
	for (unsigned why = 0; why < RS_RESENT_WHYS; why++)
		row(w, &f->resent_for[why]);
}

static void inside(struct words *w, struct sim_watch *of)
{
	for (uint32_t i = 0; i < of->n_inside; i++) {
		row(w, &of->inside[i].s.bytes);
		time_row(w, &of->inside[i].s.busy);
	}
	for (uint32_t i = 0; i < of->n_engines; i++) {
		row(w, &of->engine[i].s.reads);
		row(w, &of->engine[i].s.read_bytes);
		row(w, &of->engine[i].s.credits);
		time_row(w, &of->engine[i].s.waited);
	}
}

static void spans(struct words *w, struct sim_watch *of)
{
	const size_t each = sizeof(*of->span) / sizeof(uint64_t);
	uint64_t n = of->n_spans, cut = of->spans_cut, *at;

	_Static_assert(sizeof(*of->span) % sizeof(uint64_t) == 0, "spans are whole words");
	word(w, &n);
	word(w, &cut);
	if (!n || !(at = some(w, n * each)))
		return;
	if (w->reads) {
		of->span = malloc(n * sizeof(*of->span));
		w->fails |= !of->span;
		of->n_spans = of->span ? (uint32_t)n : 0;
		of->spans_cut = cut;
	}
	if (of->span)
		memcpy(w->reads ? (void *)of->span : (void *)at,
		       w->reads ? (void *)at : (void *)of->span, n * sizeof(*of->span));
}

/* All have closed the same bins. */
static void node(struct words *w, struct sim_node *n)
{
	struct sim_watch *of = n->watch;
	uint64_t bin = of->bin, interval = (uint64_t)of->interval;

	word(w, &bin);
	word(w, &interval);
	of->bin = (uint32_t)bin;
	of->interval = (rs_time)interval;
	w->bins = of->bin + 1;
	for (uint32_t p = 0; p < n->n_ports; p++)
		if (n->out[p].rate)
			port(w, of->port[p].s);
	for (uint32_t i = 0; i < of->n_flows; i++)
		flow(w, &of->flow[i].s);
	inside(w, of);
	spans(w, of);
}

static void part(struct rs_sim *s, struct words *w, uint32_t rank)
{
	for (uint32_t i = 0; i < s->n_nodes && !w->fails; i++)
		if (s->nodes[i].part == rank)
			node(w, &s->nodes[i]);
	for (unsigned tc = 0; tc < RS_CLASSES; tc++)
		hist(w, &s->timed[rank].of[tc]);
}

/* The words of another process stay: rows are in them. */
static int hear(struct rs_sim *s, uint32_t rank, const void *data, size_t bytes)
{
	struct words w = {.v = malloc(bytes + 1), .n = bytes / sizeof(uint64_t), .reads = true};

	if (!w.v || !bytes) { /* nothing: it had no memory for what it would tell */
		free(w.v);
		return -ENOMEM;
	}
	memcpy(w.v, data, bytes);
	part(s, &w, rank);
	return sim_series_block(s->r->series, w.v) || w.fails ? -ENOMEM : 0;
}

int sim_watch_share(struct rs_sim *s)
{
	const struct rs_ranks *r = s->o->ranks;
	const void *out[RS_RANKS_MAX], *in[RS_RANKS_MAX] = {NULL};
	size_t out_bytes[RS_RANKS_MAX], in_bytes[RS_RANKS_MAX] = {0};
	struct words w = {0};
	int err;

	part(s, &w, r->me);
	for (uint32_t i = 0; i < r->n; i++) {
		out[i] = w.v;
		out_bytes[i] = w.fails ? 0 : w.n * sizeof(*w.v);
	}
	err = r->exchange(r->ctx, out, out_bytes, in, in_bytes);
	for (uint32_t i = 0; i < r->n && !err; i++)
		if (i != r->me)
			err = hear(s, i, in[i], in_bytes[i]);
	free(w.v);
	return err ? err : w.fails ? -ENOMEM : 0;
}
