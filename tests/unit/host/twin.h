/*
 * The slow, obvious twin of a host's bus: each TLP is an event, each link a queue in order of
 * arrival, credits and tags are taken and given back one by one. Nothing is reserved ahead.
 * docs/host.md.
 */
#ifndef TESTS_UNIT_HOST_TWIN_H
#define TESTS_UNIT_HOST_TWIN_H

#include <stdlib.h>
#include <string.h>
#include "host/host.h"

enum { TWIN_LINKS = 256, TWIN_PARTS = 32, TWIN_STREAMS = 8 };

struct twin_link {
	struct rs_pace pace;
	rs_time latency, free_at;
	bool tlps; /* PCIe: headers count */
};

enum twin_event_kind { TWIN_START, TWIN_AT_LINK, TWIN_AT_TARGET, TWIN_RELEASE };

struct twin_event {
	rs_time when;
	uint64_t seq;
	enum twin_event_kind kind;
	int a;
};

struct twin_tlp {
	int dma, at, asked; /* asked: a completion's request */
	bool request, back;
	uint32_t payload, left; /* left: of a request's completions, bytes */
	rs_time started, wait;
};

struct twin_dma {
	int stream;
	uint32_t n, left, sent; /* bytes; not there yet; that have left the initiator */
	rs_time issued, done;
};

struct twin_window {
	uint32_t units_max, slots_max, units, slots;
	int *queue, head, tail, size;
};

struct twin_stream {
	struct rs_path path;
	bool read;
	int depth; /* closed loop: reads outstanding; writes: one after another has left. 0: open */
	rs_time until;
};

struct twin {
	struct rs_host_params p;
	struct twin_link links[TWIN_LINKS];
	struct twin_window writes[TWIN_PARTS], reads[TWIN_PARTS];
	struct twin_stream stream[TWIN_STREAMS];
	struct twin_event *heap;
	struct twin_tlp *tlp;
	struct twin_dma *dma;
	int n_heap, heap_size, n_tlp, tlp_size, n_dma, dma_size;
	uint64_t seq;
	rs_time now;
};

static inline void twin_push(struct twin *t, rs_time when, enum twin_event_kind kind, int a)
{
	struct twin_event e = {when, t->seq++, kind, a};
	int i = t->n_heap++;

	if (i == t->heap_size) {
		t->heap_size = t->heap_size ? 2 * t->heap_size : 1024;
		t->heap = realloc(t->heap, (size_t)t->heap_size * sizeof(*t->heap));
	}
	for (; i; i = (i - 1) / 2) {
		struct twin_event *up = &t->heap[(i - 1) / 2];

		if (up->when < e.when || (up->when == e.when && up->seq < e.seq))
			break;
		t->heap[i] = *up;
	}
	t->heap[i] = e;
}

static inline struct twin_event twin_pop(struct twin *t)
{
	struct twin_event top = t->heap[0], last = t->heap[--t->n_heap];
	int i = 0, c;

	while ((c = 2 * i + 1) < t->n_heap) {
		const struct twin_event *x = &t->heap[c], *y = x + 1;

		if (c + 1 < t->n_heap &&
		    (y->when < x->when || (y->when == x->when && y->seq < x->seq)))
			c++, x = y;
		if (last.when < x->when || (last.when == x->when && last.seq < x->seq))
			break;
		t->heap[i] = *x;
		i = c;
	}
	t->heap[i] = last;
	return top;
}

/* What docs/host.md says of links, from their names alone. */
static inline void twin_read_link(struct twin *t, const struct rs_bus *b, int i,
				  const struct rs_cpu_model *cpu)
{
	struct rs_bus_link_stat s;
	struct twin_link *l = &t->links[i];
	bool from, to, p2p, both;
	const char *arrow;

	rs_bus_link_stat(b, i, &s);
	arrow = strstr(s.name, "->");
	from = !strncmp(s.name, "socket", 6);
	to = !strncmp(arrow + 2, "socket", 6);
	p2p = strstr(s.name, " p2p") != NULL;
	both = strstr(s.name, " both ways") != NULL;
	l->pace = rs_pace_of(s.rate);
	/* a root complex that cuts TLPs anew gives a rate of payload to a port */
	l->tlps = !(from && to) && !(from && p2p && cpu->p2p_tlp);
	if (from && to)
		l->latency = both ? 0 : p2p ? 2 * t->p.root_p2p : cpu->hop_latency;
	else if (p2p)
		l->latency = to ? t->p.root_p2p : 0;
	else
		l->latency =
			t->p.phy_latency + (strncmp(arrow + 2, "pci", 3) ? 0 : t->p.switch_latency);
}

static inline void twin_window(struct twin_window *w, uint32_t units, uint32_t slots)
{
	*w = (struct twin_window){.units_max = units, .slots_max = slots};
}

static inline struct twin *twin_create(const struct rs_bus *b, const struct rs_host *h,
				       const struct rs_host_params *p)
{
	struct twin *t = calloc(1, sizeof(*t));

	t->p = *p;
	for (int i = 0; i < rs_bus_links(b) && i < TWIN_LINKS; i++)
		twin_read_link(t, b, i, rs_cpu_find(h->cpu));
	for (int i = 0; i < h->n_parts; i++) {
		struct rs_dma_limits d = rs_dma_limits_of(&h->parts[i], p);

		twin_window(&t->writes[i], d.data_credits, d.header_credits);
		twin_window(&t->reads[i], d.read_buffer, d.tags);
	}
	return t;
}

static inline void twin_free(struct twin *t)
{
	for (int i = 0; i < TWIN_PARTS; i++) {
		free(t->writes[i].queue);
		free(t->reads[i].queue);
	}
	free(t->heap);
	free(t->tlp);
	free(t->dma);
	free(t);
}

static inline int twin_add_tlp(struct twin *t, struct twin_tlp x)
{
	if (t->n_tlp == t->tlp_size) {
		t->tlp_size = t->tlp_size ? 2 * t->tlp_size : 4096;
		t->tlp = realloc(t->tlp, (size_t)t->tlp_size * sizeof(*t->tlp));
	}
	t->tlp[t->n_tlp] = x;
	return t->n_tlp++;
}

/* A DMA of n bytes, issued at `when`. */
static inline int twin_issue(struct twin *t, int stream, uint32_t n, rs_time when)
{
	if (t->n_dma == t->dma_size) {
		t->dma_size = t->dma_size ? 2 * t->dma_size : 1024;
		t->dma = realloc(t->dma, (size_t)t->dma_size * sizeof(*t->dma));
	}
	t->dma[t->n_dma] = (struct twin_dma){.stream = stream, .n = n, .left = n, .issued = when};
	twin_push(t, when, TWIN_START, t->n_dma);
	return t->n_dma++;
}

static inline struct twin_window *twin_window_of(struct twin *t, const struct twin_tlp *x)
{
	const struct twin_stream *s = &t->stream[t->dma[x->dma].stream];

	return s->read ? &t->reads[s->path.initiator] : &t->writes[s->path.initiator];
}

static inline uint32_t twin_units(const struct twin_tlp *x)
{
	return x->request ? x->payload : (x->payload + 15) / 16;
}

/* What waits for credits or tags, in order. */
static inline void twin_admit(struct twin *t, struct twin_window *w)
{
	while (w->head < w->tail) {
		struct twin_tlp *x = &t->tlp[w->queue[w->head]];
		uint32_t units = twin_units(x);

		if (w->units + units > w->units_max || w->slots + 1 > w->slots_max)
			return;
		w->units += units;
		w->slots++;
		twin_push(t, t->now, TWIN_AT_LINK, w->queue[w->head++]);
	}
}

static inline void twin_wait(struct twin *t, int tlp)
{
	struct twin_window *w = twin_window_of(t, &t->tlp[tlp]);

	if (w->tail == w->size) {
		w->size = w->size ? 2 * w->size : 1024;
		w->queue = realloc(w->queue, (size_t)w->size * sizeof(*w->queue));
	}
	w->queue[w->tail++] = tlp;
}

static inline void twin_start(struct twin *t, int dma)
{
	struct twin_dma *d = &t->dma[dma];
	const struct twin_stream *s = &t->stream[d->stream];
	uint32_t size = s->read ? s->path.mrrs : s->path.mps;

	for (uint32_t off = 0; off < d->n; off += size) {
		uint32_t n = d->n - off < size ? d->n - off : size;

		twin_wait(t, twin_add_tlp(t, (struct twin_tlp){.dma = dma,
							       .request = s->read,
							       .payload = n,
							       .left = n}));
	}
	twin_admit(t, s->read ? &t->reads[s->path.initiator] : &t->writes[s->path.initiator]);
}

static inline void twin_again(struct twin *t, const struct twin_dma *d)
{
	struct twin_stream *s = &t->stream[d->stream];

	if (s->depth && t->now < s->until)
		twin_issue(t, d->stream, d->n, t->now);
}

static inline void twin_done(struct twin *t, struct twin_tlp *x, uint32_t bytes)
{
	struct twin_dma *d = &t->dma[x->dma];

	d->left -= bytes;
	if (d->left)
		return;
	d->done = t->now;
	if (t->stream[d->stream].read)
		twin_again(t, d);
}

static inline void twin_at_link(struct twin *t, int tlp)
{
	struct twin_tlp *x = &t->tlp[tlp];
	struct twin_dma *d = &t->dma[x->dma];
	const struct rs_path *p = &t->stream[d->stream].path;
	struct twin_link *l = &t->links[x->back ? p->back[x->at] : p->hop[x->at]];
	uint32_t header = x->request ? t->p.header_read
			  : x->back  ? t->p.header_completion
				     : t->p.header_write;
	uint32_t bytes = (x->request ? 0 : x->payload) + (l->tlps ? header : 0);
	rs_time start = rs_time_max(t->now, l->free_at), one = rs_pace_time(l->pace, bytes);
	bool write = !x->request && !x->back;

	l->free_at = start + one;
	if (!x->at)
		x->started = start;
	else
		x->wait += start - t->now;
	if (write && !x->at) {
		d->sent += x->payload;
		if (d->sent == d->n)
			twin_push(t, start + one, TWIN_RELEASE, -1 - x->dma);
	}
	if (++x->at < p->n_hops) {
		twin_push(t, start + one + l->latency, TWIN_AT_LINK, tlp);
		return;
	}
	if (write)
		twin_push(t, rs_time_max(t->now, x->started + t->p.credit_latency + x->wait),
			  TWIN_RELEASE, tlp);
	twin_push(t,
		  start + one + l->latency +
			  (write        ? p->write_access
			   : x->request ? p->read_access
					: 0),
		  TWIN_AT_TARGET, tlp);
}

static inline void twin_at_target(struct twin *t, int tlp)
{
	struct twin_tlp *x = &t->tlp[tlp];
	const struct rs_path *p = &t->stream[t->dma[x->dma].stream].path;
	uint32_t payload = x->payload;
	int dma = x->dma;

	if (x->request) {
		for (uint32_t off = 0; off < payload; off += p->chunk)
			twin_push(t, t->now, TWIN_AT_LINK,
				  twin_add_tlp(t,
					       (struct twin_tlp){.dma = dma,
								 .asked = tlp,
								 .back = true,
								 .payload = payload - off < p->chunk
										    ? payload - off
										    : p->chunk}));
		return;
	}
	if (x->back) {
		struct twin_tlp *asked = &t->tlp[x->asked];

		asked->left -= payload;
		if (!asked->left) {
			struct twin_window *w = twin_window_of(t, asked);

			w->units -= twin_units(asked);
			w->slots--;
			twin_admit(t, w);
		}
	}
	twin_done(t, &t->tlp[tlp], payload);
}

static inline void twin_release(struct twin *t, int a)
{
	struct twin_window *w;

	if (a < 0) { /* a write has left its initiator */
		twin_again(t, &t->dma[-1 - a]);
		return;
	}
	w = twin_window_of(t, &t->tlp[a]);
	w->units -= twin_units(&t->tlp[a]);
	w->slots--;
	twin_admit(t, w);
}

static inline void twin_run(struct twin *t)
{
	while (t->n_heap) {
		struct twin_event e = twin_pop(t);

		t->now = e.when;
		switch (e.kind) {
		case TWIN_START:
			twin_start(t, e.a);
			break;
		case TWIN_AT_LINK:
			twin_at_link(t, e.a);
			break;
		case TWIN_AT_TARGET:
			twin_at_target(t, e.a);
			break;
		case TWIN_RELEASE:
			twin_release(t, e.a);
			break;
		}
	}
}

#endif
