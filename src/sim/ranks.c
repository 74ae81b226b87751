/* A run over several processes (ranks.h): a part each. What a window sends across a cut travels as
 * one message a pair of ranks, together with when the sender next has something to do. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "sim/engine.h"
#include "sim/ranks.h"

/* Begins each message; packets follow, each run of them after a `struct run`, then what was lost.
 * Both ends are the same program on the same kind of machine: what is sent is memory as it lies. */
struct head {
	rs_time next; /* the earliest thing that will happen here, or that this message brings */
	uint64_t finished; /* flows and ranks that ended here since the start */
	uint64_t events;   /* in the latest window */
	uint32_t stop, runs, losses;
};

struct run {
	uint32_t from_node, port, n, reserved;
};

struct box {
	uint8_t *data;
	size_t bytes, room;
};

struct process {
	struct rs_sim *s;
	const struct rs_ranks *r;
	struct box out[RS_RANKS_MAX];
	uint64_t unfinished_at_start;
	struct rs_error *e;
};

static void *append(struct box *b, size_t bytes)
{
	if (b->bytes + bytes > b->room) {
		size_t room = 2 * (b->bytes + bytes) + 4096;
		uint8_t *data = realloc(b->data, room);

		if (!data)
			return NULL;
		b->data = data;
		b->room = room;
	}
	b->bytes += bytes;
	return b->data + b->bytes - bytes;
}

/* The packets of one cut link, which are this rank's no longer; *next: the first to arrive. */
static int pack_link(struct rs_sim *s, struct box *b, struct sim_link *l, rs_time *next)
{
	struct sim_node *from = &s->nodes[l->from_node];
	struct run head;
	size_t at = b->bytes;
	uint32_t n = l->tail - l->head;

	if (!append(b, sizeof(head)))
		return -ENOMEM;
	*next = rs_time_min(*next, sim_link_head(s, l)->when);
	for (; !sim_link_idle(l); l->head++) {
		struct rs_packet *p = sim_link_head(s, l);
		void *copy = append(b, sizeof(*p));

		if (!copy)
			return -ENOMEM;
		memcpy(copy, p, sizeof(*p));
		rs_pool_free(&from->free, p);
	}
	head = (struct run){.from_node = l->from_node, .port = (uint32_t)(l - from->out), .n = n};
	memcpy(b->data + at, &head, sizeof(head));
	return 0;
}

/* All of them to all ranks: whose hosts they concern is told by who takes them. */
static int pack_losses(struct process *x, struct box *b, struct head *h)
{
	const struct sim_loss *l = sim_orders_lost(x->s, x->r->me, &h->losses);
	void *at = h->losses ? append(b, h->losses * sizeof(*l)) : NULL;

	if (!h->losses)
		return 0;
	if (!at)
		return -ENOMEM;
	memcpy(at, l, h->losses * sizeof(*l));
	for (uint32_t i = 0; i < h->losses; i++)
		h->next = rs_time_min(h->next, l[i].when);
	return 0;
}

/* h->next: lowered to the first arrival of what is packed. */
static int pack(struct process *x, uint32_t to, struct head *h)
{
	struct sim_part *me = &x->s->parts[x->r->me];
	struct box *b = &x->out[to];
	int err = 0;

	b->bytes = 0;
	if (!append(b, sizeof(*h)))
		return -ENOMEM;
	for (uint32_t i = 0; i < me->n_box[to] && !err; i++)
		err = pack_link(x->s, b, me->box[to][i], &h->next);
	return err ? err : pack_losses(x, b, h);
}

/* Every rank must come to the same next window: all messages of a rank say the same of it. */
static int pack_all(struct process *x, struct head *h, const void *out[], size_t out_bytes[])
{
	struct sim_part *me = &x->s->parts[x->r->me];
	int err = 0;

	for (uint32_t r = 0; r < x->r->n && !err; r++)
		if (r != x->r->me)
			err = pack(x, r, h);
	for (uint32_t r = 0; r < x->r->n && !err; r++) {
		if (r == x->r->me)
			continue;
		h->runs = me->n_box[r];
		me->n_box[r] = 0;
		memcpy(x->out[r].data, h, sizeof(*h));
		out[r] = x->out[r].data;
		out_bytes[r] = x->out[r].bytes;
	}
	return err;
}

static int unpack_run(struct rs_sim *s, const struct run *run, const uint8_t *data)
{
	struct sim_link *far = s->nodes[run->from_node].out[run->port].far;
	struct sim_node *to = &s->nodes[far->to_node];

	for (uint32_t i = 0; i < run->n; i++) {
		struct rs_packet *p = rs_pool_alloc(&to->free);

		if (!p)
			return -ENOMEM;
		memcpy(p, data, sizeof(*p));
		data += sizeof(*p);
		if (sim_link_idle(far))
			sim_link_armed(s, far, p->when);
		sim_link_append(far, rs_pool_index(&s->pool, p), p->when);
	}
	return 0;
}

static int unpack(struct rs_sim *s, uint32_t rank, const uint8_t *data, struct head *h)
{
	int err = 0;

	memcpy(h, data, sizeof(*h));
	data += sizeof(*h);
	for (uint32_t i = 0; i < h->runs && !err; i++) {
		struct run run;

		memcpy(&run, data, sizeof(run));
		data += sizeof(run);
		err = unpack_run(s, &run, data);
		data += run.n * sizeof(struct rs_packet);
	}
	if (!err && s->orders)
		sim_orders_hear(s, rank, data, h->losses);
	return err;
}

/* What this rank's window left behind goes out, what others' did comes in; *all: what all say. */
static int meet(struct process *x, struct head *all)
{
	const void *out[RS_RANKS_MAX] = {NULL}, *in[RS_RANKS_MAX] = {NULL};
	size_t out_bytes[RS_RANKS_MAX] = {0}, in_bytes[RS_RANKS_MAX] = {0};
	struct rs_sim *s = x->s;
	int err;

	*all = (struct head){
		.next = sim_part_due(&s->parts[x->r->me]),
		.finished = x->unfinished_at_start - s->unfinished,
		.events = s->parts[x->r->me].events,
		.stop = s->o->stop && *s->o->stop,
	};
	err = pack_all(x, all, out, out_bytes);
	if (!err)
		err = x->r->exchange(x->r->ctx, out, out_bytes, in, in_bytes);
	for (uint32_t r = 0; r < x->r->n && !err; r++) {
		struct head h;

		if (r == x->r->me)
			continue;
		err = unpack(s, r, in[r], &h);
		all->next = rs_time_min(all->next, h.next);
		all->finished += h.finished;
		all->events += h.events;
		all->stop |= h.stop;
	}
	if (!err && s->orders)
		sim_orders_tell(s, x->r->me);
	return err;
}

static int failed(struct process *x, int err)
{
	return rs_error_set(x->e, err, "rank %u: the exchange with the others failed: %s", x->r->me,
			    strerror(-err));
}

static int run(struct process *x)
{
	struct rs_sim *s = x->s;
	rs_time limit = s->o->max_time ? s->o->max_time : RS_TREE_TIME_MAX - RS_S;
	uint32_t windows = 0;
	struct head all;
	int err;

	for (;;) {
		if ((err = meet(x, &all)) || (err = sim_deadlock_due(s, all.events)))
			return failed(x, err);
		s->left = x->unfinished_at_start - all.finished;
		if (!s->left || s->r->deadlock.n || all.stop || s->now > limit ||
		    all.next == RS_NEVER)
			break;
		s->now = rs_time_min(all.next, s->look_at);
		sim_part_window(s, &s->parts[x->r->me], s->now + s->window);
		if (s->o->progress && !(++windows & 0xfff))
			s->o->progress(s->o->progress_arg, s->now, sim_workload_share(s));
	}
	if (s->left && !s->r->deadlock.n && (err = sim_deadlock_look(s, all.next == RS_NEVER)))
		return failed(x, err);
	s->r->stopped = s->left && all.next != RS_NEVER && !s->r->deadlock.n;
	s->unfinished = s->left;
	return 0;
}

int sim_ranks_run(struct rs_sim *s, struct rs_error *e)
{
	struct process *x = calloc(1, sizeof(*x));
	int err;

	if (!x)
		return rs_error_set(e, -ENOMEM, "out of memory");
	*x = (struct process){
		.s = s, .r = s->o->ranks, .e = e, .unfinished_at_start = s->unfinished};
	err = run(x);
	for (uint32_t r = 0; r < x->r->n; r++)
		free(x->out[r].data);
	free(x);
	s->r->threads = s->n_parts;
	return err;
}

/* ---- What each rank knows of the end, in all ---- */

int sim_ranks_combine(struct rs_sim *s, enum rs_ranks_op op, void *array, size_t n, size_t size,
		      size_t offset)
{
	int64_t *v = malloc((n + 1) * sizeof(*v));
	uint8_t *at = (uint8_t *)array + offset;
	int err;

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		memcpy(&v[i], at + i * size, sizeof(*v));
	err = s->o->ranks->reduce(s->o->ranks->ctx, op, v, n);
	for (size_t i = 0; !err && i < n; i++)
		memcpy(at + i * size, &v[i], sizeof(*v));
	free(v);
	return err;
}

/* What came of another process, at `at`, which has room for it all. */
static bool share_one(const void *from, size_t bytes, size_t size, uint8_t *at)
{
	if (bytes % size || (bytes && !from))
		return false;
	if (bytes)
		memcpy(at, from, bytes);
	return true;
}

void *sim_ranks_share(struct rs_sim *s, const void *mine, uint32_t n, size_t size, uint32_t *n_all)
{
	const struct rs_ranks *r = s->o->ranks;
	const void *out[RS_RANKS_MAX], *in[RS_RANKS_MAX] = {NULL};
	size_t out_bytes[RS_RANKS_MAX], in_bytes[RS_RANKS_MAX] = {0}, all = 0;
	uint32_t n_ranks = r ? r->n : 1, me = r ? r->me : 0;
	uint8_t *to, *at;

	for (uint32_t i = 0; i < n_ranks; i++) {
		out[i] = mine;
		out_bytes[i] = n * size;
	}
	if (r && r->exchange(r->ctx, out, out_bytes, in, in_bytes))
		return NULL;
	in[me] = mine;
	in_bytes[me] = n * size;
	for (uint32_t i = 0; i < n_ranks; i++)
		all += in_bytes[i];
	to = at = malloc(all + size);
	for (uint32_t i = 0; to && i < n_ranks; at += in_bytes[i++])
		if (!share_one(in[i], in_bytes[i], size, at)) {
			free(to);
			return NULL;
		}
	*n_all = (uint32_t)(all / size);
	return to;
}
