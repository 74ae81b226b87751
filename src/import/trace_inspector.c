/*
 * Verbose logs of NCCL's Inspector (measured/inspector.h) as a graph of work: all processes' logs
 * of a job together. A rank's operation begins so long after the last one that had ended by then as
 * it did when it was logged; what lies between is taken for computing. So only a rank's own clock
 * counts, and operations that were under way at once stay so.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "fabric/fabric.h"
#include "import/trace_state.h"
#include "measured/inspector.h"

#define NONE       UINT32_MAX
#define GAP_MAX_US UINT64_C(4000000000) /* of what a trace may compute at once */

struct comm {
	uint64_t hash;
	uint32_t n, first; /* of job.member: a GPU of each rank */
	uint32_t group;
};

struct job {
	struct trace *t;
	struct rs_inspector x;
	struct rs_where at;
	struct comm *comm;
	uint32_t n_comms, *of; /* each record's communicator */
	uint32_t *member, n_members;
	uint32_t *rank, n_gpus; /* of each GPU */
	uint32_t *order;        /* records, as a pass wants them */
	bool *kept;
};

static struct rs_where place(const struct job *j, const struct rs_inspected *r)
{
	return (struct rs_where){j->at.file, j->t->c->n_files > 1 ? 0 : r->line, 0};
}

static void *table(struct job *j, size_t n, size_t size)
{
	return rs_load_take(j->t->l, n ? n : 1, size);
}

static uint32_t *member(struct job *j, uint32_t comm, uint32_t rank)
{
	return &j->member[j->comm[comm].first + rank];
}

/* ---- Communicators ---- */

static int by_comm(const void *x, const void *y)
{
	const struct comm *a = x, *b = y;

	return a->hash != b->hash ? (a->hash < b->hash ? -1 : 1) : a->n < b->n ? -1 : a->n > b->n;
}

static void incomplete(struct job *j, const struct comm *c, uint32_t seen)
{
	rs_load_fail(j->t->l, -EINVAL, j->at,
		     "communicator 0x%llx has %u ranks, and these logs have operations of %u at "
		     "most; expected the logs of all processes",
		     (unsigned long long)c->hash, c->n, seen);
}

static void find_comms(struct job *j)
{
	uint32_t n = 0;

	j->comm = table(j, j->x.n, sizeof(*j->comm));
	j->of = table(j, j->x.n, sizeof(*j->of));
	if (j->t->l->err)
		return;
	for (uint32_t i = 0; i < j->x.n; i++)
		j->comm[i] = (struct comm){j->x.record[i].comm, j->x.record[i].n_ranks, 0, 0};
	qsort(j->comm, j->x.n, sizeof(*j->comm), by_comm);
	for (uint32_t i = 0, k; i < j->x.n && !j->t->l->err; i = k) {
		struct comm c = j->comm[i];

		for (k = i; k < j->x.n && !by_comm(&c, &j->comm[k]);)
			k++;
		if (c.n > k - i)
			incomplete(j, &c, k - i);
		c.first = j->n_members;
		j->n_members += c.n;
		j->comm[n++] = c;
	}
	j->n_comms = n;
	if (j->t->l->err)
		return;
	for (uint32_t i = 0; i < j->x.n; i++) {
		struct comm key = {j->x.record[i].comm, j->x.record[i].n_ranks, 0, 0};
		const struct comm *c = bsearch(&key, j->comm, n, sizeof(key), by_comm);

		j->of[i] = (uint32_t)(c - j->comm);
	}
}

/* Who is who: a process has a GPU; of one communicator alone, each rank is a GPU. */
static void find_members(struct job *j)
{
	struct rs_load *l = j->t->l;
	uint32_t *rank_of = table(j, (size_t)j->x.n_processes, sizeof(*rank_of));
	uint32_t *seen_in = table(j, (size_t)j->x.n_processes, sizeof(*seen_in));
	uint32_t *process = table(j, j->n_members, sizeof(*process));

	j->member = table(j, j->n_members, sizeof(*j->member));
	if (l->err)
		return;
	memset(process, 0xff, j->n_members * sizeof(*process));
	memset(j->member, 0xff, j->n_members * sizeof(*j->member));
	for (uint32_t i = 0; i < j->x.n && !l->err; i++) {
		const struct rs_inspected *r = &j->x.record[i];
		uint32_t *p = &process[j->comm[j->of[i]].first + r->rank];

		if (*p != NONE && *p != r->process)
			rs_load_fail(l, -EINVAL, place(j, r),
				     "rank %u of communicator 0x%llx is in the logs of two "
				     "processes; expected the logs of one run",
				     r->rank, (unsigned long long)r->comm);
		*p = r->process;
		*member(j, j->of[i], r->rank) = j->n_comms == 1 ? r->rank : r->process;
	}
	/* several communicators: which of a process's GPUs a rank is, no log tells */
	for (uint32_t c = 0; c < j->n_comms && j->n_comms > 1 && !l->err; c++)
		for (uint32_t k = 0; k < j->comm[c].n && !l->err; k++) {
			uint32_t p = process[j->comm[c].first + k];

			if (p == NONE)
				continue;
			if (seen_in[p] == c + 1)
				rs_load_fail(
					l, -ENOTSUP, j->at,
					"process %llu on %s has ranks %u and %u of "
					"communicator 0x%llx, and there are others; expected a "
					"process for each GPU",
					(unsigned long long)j->x.process[p].pid,
					j->x.process[p].host, rank_of[p], k,
					(unsigned long long)j->comm[c].hash);
			seen_in[p] = c + 1;
			rank_of[p] = k;
		}
	j->n_gpus = j->n_comms == 1 ? j->comm[0].n : j->x.n_processes;
}

static void all_there(struct job *j)
{
	for (uint32_t c = 0; c < j->n_comms && !j->t->l->err; c++) {
		uint32_t seen = 0;

		for (uint32_t k = 0; k < j->comm[c].n; k++)
			seen += *member(j, c, k) != NONE;
		if (seen < j->comm[c].n)
			incomplete(j, &j->comm[c], seen);
	}
}

/* Ranks are those of a communicator of all GPUs, else processes as they come. */
static void number_gpus(struct job *j)
{
	uint32_t c = 0;

	j->rank = table(j, j->n_gpus, sizeof(*j->rank));
	while (c < j->n_comms && j->comm[c].n != j->n_gpus)
		c++;
	for (uint32_t i = 0; i < j->n_gpus && !j->t->l->err; i++) {
		if (c < j->n_comms)
			j->rank[*member(j, c, i)] = i;
		else
			j->rank[i] = i;
	}
}

static void make_groups(struct job *j)
{
	struct trace *t = j->t;
	uint32_t *ranks = table(j, j->n_gpus, sizeof(*ranks));

	if (!t->l->err)
		t->w = rs_work_create(t->l->arena, j->n_gpus, t->l->e);
	if (!t->w && !t->l->err)
		t->l->err = t->l->e->code;
	for (uint32_t c = 0; c < j->n_comms && !t->l->err; c++) {
		for (uint32_t k = 0; k < j->comm[c].n; k++)
			ranks[k] = j->rank[*member(j, c, k)];
		j->comm[c].group = rs_work_group(t->w, ranks, j->comm[c].n);
		t->l->err = t->w->err;
	}
}

/* ---- Which operations all members logged ---- */

static bool is_message(const struct rs_inspected *r)
{
	return r->op == RS_INSPECTED_SEND || r->op == RS_INSPECTED_RECV;
}

/* The two ranks of a message. */
static uint32_t from(const struct rs_inspected *r)
{
	return r->op == RS_INSPECTED_SEND ? r->rank : r->peer;
}
static uint32_t to(const struct rs_inspected *r)
{
	return r->op == RS_INSPECTED_SEND ? r->peer : r->rank;
}

#define ORDER(a, b)                                \
	do {                                       \
		if ((a) != (b))                    \
			return (a) < (b) ? -1 : 1; \
	} while (0)

/* Collectives of one counter together; messages from one rank to another, sends before receives. */
static int by_match(const void *x, const void *y, void *job)
{
	const struct job *j = job;
	uint32_t i = *(const uint32_t *)x, k = *(const uint32_t *)y;
	const struct rs_inspected *a = &j->x.record[i], *b = &j->x.record[k];

	ORDER(is_message(a), is_message(b));
	ORDER(j->of[i], j->of[k]);
	if (is_message(a)) {
		ORDER(from(a), from(b));
		ORDER(to(a), to(b));
	}
	ORDER(a->op, b->op);
	ORDER(a->sn, b->sn);
	ORDER(a->rank, b->rank);
	ORDER(i, k);
	return 0;
}

static bool usable(const struct job *j, uint32_t i)
{
	const struct rs_inspected *r = &j->x.record[i];

	return r->start_us && r->bytes && r->op != RS_INSPECTED_OTHER && r->n_ranks > 1 &&
	       !(is_message(r) && r->peer == r->rank);
}

/* From place `at` on: how many records are of the same collective, or the same row of messages. */
static uint32_t run(const struct job *j, uint32_t at, uint32_t n)
{
	const struct rs_inspected *a = &j->x.record[j->order[at]];
	uint32_t k = at + 1;

	for (; k < n; k++) {
		const struct rs_inspected *b = &j->x.record[j->order[k]];

		if (j->of[j->order[k]] != j->of[j->order[at]] || is_message(a) != is_message(b) ||
		    a->op != b->op)
			break;
		if (is_message(a) ? from(a) != from(b) || to(a) != to(b) : a->sn != b->sn)
			break;
	}
	return k - at;
}

/* Each rank once, and all of them. */
static void match_collective(struct job *j, uint32_t at, uint32_t n)
{
	const struct rs_inspected *first = &j->x.record[j->order[at]];
	bool whole = n == first->n_ranks;

	for (uint32_t i = 0; i + 1 < n && !j->t->l->err; i++) {
		const struct rs_inspected *r = &j->x.record[j->order[at + i]],
					  *next = &j->x.record[j->order[at + i + 1]];

		if (r->rank == next->rank)
			rs_load_fail(j->t->l, -EINVAL, place(j, next),
				     "rank %u of communicator 0x%llx has operation %llu twice; "
				     "expected each log once",
				     r->rank, (unsigned long long)r->comm,
				     (unsigned long long)r->sn);
		whole &= r->bytes == next->bytes || r->op == RS_INSPECTED_BROADCAST;
	}
	for (uint32_t i = 0; i < n && whole; i++)
		j->kept[j->order[at + i]] = true;
}

/* As many sends as receives: the first ones of each. */
static void match_messages(struct job *j, uint32_t at, uint32_t sends, uint32_t n)
{
	uint32_t n_recvs = n - sends, both = sends < n_recvs ? sends : n_recvs;

	for (uint32_t i = 0; i < both; i++) {
		const uint32_t *s = &j->order[at + i], *r = &j->order[at + sends + i];

		j->kept[*s] = j->kept[*r] = true;
		j->x.record[*r].bytes = j->x.record[*s].bytes;
	}
}

static void match(struct job *j)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < j->x.n; i++)
		if (usable(j, i))
			j->order[n++] = i;
	qsort_r(j->order, n, sizeof(*j->order), by_match, j);
	for (uint32_t at = 0, k; at < n && !j->t->l->err; at += k) {
		const struct rs_inspected *r = &j->x.record[j->order[at]];

		k = run(j, at, n);
		if (!is_message(r)) {
			match_collective(j, at, k);
		} else if (r->op == RS_INSPECTED_SEND && at + k < n) {
			const struct rs_inspected *b = &j->x.record[j->order[at + k]];
			uint32_t sends = k;

			if (b->op != RS_INSPECTED_RECV || from(b) != from(r) || to(b) != to(r) ||
			    j->of[j->order[at + k]] != j->of[j->order[at]])
				continue;
			k += run(j, at + k, n);
			match_messages(j, at, sends, k);
		}
	}
	for (uint32_t i = 0; i < j->x.n; i++)
		j->t->w->unmatched += !j->kept[i] && j->x.record[i].n_ranks > 1;
}

/* ---- Ranks ---- */

static uint32_t gpu_of(struct job *j, uint32_t i)
{
	return j->rank[*member(j, j->of[i], j->x.record[i].rank)];
}

static int by_start(const void *x, const void *y, void *job)
{
	struct job *j = job;
	uint32_t i = *(const uint32_t *)x, k = *(const uint32_t *)y;
	const struct rs_inspected *a = &j->x.record[i], *b = &j->x.record[k];

	ORDER(gpu_of(j, i), gpu_of(j, k));
	ORDER(a->start_us, b->start_us);
	ORDER(j->of[i], j->of[k]);
	ORDER(a->op, b->op);
	ORDER(a->sn, b->sn);
	return 0;
}

static struct rs_work_node operation(struct job *j, uint32_t i)
{
	static const uint8_t ops[] = {[RS_INSPECTED_ALL_REDUCE] = RS_COLL_ALL_REDUCE,
				      [RS_INSPECTED_ALL_GATHER] = RS_COLL_ALL_GATHER,
				      [RS_INSPECTED_REDUCE_SCATTER] = RS_COLL_REDUCE_SCATTER,
				      [RS_INSPECTED_BROADCAST] = RS_COLL_BROADCAST,
				      [RS_INSPECTED_REDUCE] = RS_COLL_BROADCAST,
				      [RS_INSPECTED_ALL_TO_ALL] = RS_COLL_ALL_TO_ALL};
	const struct rs_inspected *r = &j->x.record[i];
	struct rs_work_node n = {.id = (uint64_t)r->line};

	if (is_message(r)) {
		n.kind = r->op == RS_INSPECTED_SEND ? RS_WORK_SEND : RS_WORK_RECV;
		n.peer = j->rank[*member(j, j->of[i], r->peer)];
		n.tag = j->of[i];
		n.bytes = r->bytes;
		return n;
	}
	n.kind = RS_WORK_COLL;
	n.op = ops[r->op];
	n.peer = j->comm[j->of[i]].group;
	n.bytes = rs_inspected_bytes(r);
	return n;
}

/* What ended last of those that had ended when this one began, of the rank's n before it. */
static uint32_t before(const struct job *j, const uint32_t *mine, uint32_t n, uint64_t start)
{
	uint32_t best = NONE;

	for (uint32_t k = n; k-- > 0;) {
		uint64_t stop = j->x.record[mine[k]].stop_us;

		if (stop > start)
			continue;
		if (best == NONE || stop > j->x.record[mine[best]].stop_us)
			best = k;
		/* what began before this one's end cannot have ended later, but for a few at once
		 */
		if (n - k > RS_WORK_UNITS_MAX)
			break;
	}
	return best;
}

/* Times between operations of a rank: they follow what ended last, each a little later. */
struct gaps {
	struct job *j;
	uint32_t rank, node; /* the last one; NONE */
	uint64_t since, until;
};

/*
 * What an operation waits for, that begins at start, after node p, which ended at since. Two gaps
 * that begin at different times do not overlap: the second begins at an end that comes after the
 * first one's operation began. Those that begin at one time are a chain.
 */
static uint32_t gap(struct gaps *g, uint32_t p, uint64_t since, uint64_t start)
{
	struct rs_work_node n = {.kind = RS_WORK_COMPUTE, .why = RS_WHY_COMPUTE};
	bool chain = g->node != NONE && g->since == since;

	if (chain && g->until == start)
		return g->node;
	if (start == since)
		return p;
	start -= chain ? g->until : since;
	if (start > GAP_MAX_US)
		rs_load_fail(g->j->t->l, -ERANGE, g->j->at,
			     "rank %u does nothing for %llu us; expected %llu at most: a trace of "
			     "one run",
			     g->rank, (unsigned long long)start, (unsigned long long)GAP_MAX_US);
	n.time = (rs_time)(start % (GAP_MAX_US + 1)) * RS_US;
	p = chain ? g->node : p;
	g->node = rs_work_add(g->j->t->w, g->rank, &n);
	rs_work_after(g->j->t->w, g->rank, p);
	g->until = chain ? g->until + start : since + start;
	g->since = since;
	return g->node;
}

static void make_rank(struct job *j, const uint32_t *mine, uint32_t n, uint32_t rank)
{
	struct gaps g = {.j = j, .rank = rank, .node = NONE};
	struct rs_work *w = j->t->w;
	uint32_t *node = calloc(n, sizeof(*node));

	if (!node)
		rs_load_fail(j->t->l, -ENOMEM, j->at, "out of memory");
	for (uint32_t k = 0; node && k < n && !w->err && !j->t->l->err; k++) {
		const struct rs_inspected *r = &j->x.record[mine[k]];
		struct rs_work_node op = operation(j, mine[k]);
		uint32_t p = before(j, mine, k, r->start_us);

		p = p == NONE ? gap(&g, NONE, j->x.record[mine[0]].start_us, r->start_us)
			      : gap(&g, node[p], j->x.record[mine[p]].stop_us, r->start_us);
		node[k] = rs_work_add(w, rank, &op);
		rs_work_after(w, rank, p);
	}
	free(node);
	if (!j->t->l->err)
		j->t->l->err = w->err;
}

static void make_ranks(struct job *j)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < j->x.n; i++)
		if (j->kept[i])
			j->order[n++] = i;
	qsort_r(j->order, n, sizeof(*j->order), by_start, j);
	for (uint32_t at = 0, k; at < n && !j->t->l->err; at = k) {
		uint32_t rank = gpu_of(j, j->order[at]);

		for (k = at; k < n && gpu_of(j, j->order[k]) == rank;)
			k++;
		make_rank(j, &j->order[at], k - at, rank);
	}
}

/* ---- All of it ---- */

static void timed(struct job *j)
{
	for (uint32_t i = 0; i < j->x.n; i++)
		if (j->x.record[i].start_us)
			return;
	rs_load_fail(j->t->l, -EINVAL, j->at,
		     "no operation tells when it began (event_trace_ts); expected logs of "
		     "NCCL_INSPECTOR_DUMP_VERBOSE=1");
}

static void make_work(struct job *j)
{
	if (!j->t->l->err)
		timed(j);
	if (!j->t->l->err)
		find_comms(j);
	if (!j->t->l->err)
		find_members(j);
	all_there(j);
	if (!j->t->l->err)
		number_gpus(j);
	if (!j->t->l->err)
		make_groups(j);
	j->order = table(j, j->x.n, sizeof(*j->order));
	j->kept = table(j, j->x.n, sizeof(*j->kept));
	if (!j->t->l->err)
		match(j);
	if (!j->t->l->err)
		make_ranks(j);
}

void trace_inspector(struct trace *t, const char *const *file, uint32_t n, struct rs_where at)
{
	struct job j = {.t = t, .at = {file[0], 0, 0}};

	for (uint32_t i = 0; i < n && !t->l->err; i++) {
		size_t bytes = 0;
		char *text = rs_load_file(t->l, file[i], TRACE_LOG_MAX, at, &bytes);

		t->name = file[i];
		if (!t->l->err)
			t->l->err =
				rs_inspector_read(&j.x, text, bytes, file[i], t->l->arena, t->l->e);
		free(text);
	}
	make_work(&j);
	rs_inspector_free(&j.x);
}

void trace_inspector_text(struct trace *t, const char *text, size_t n)
{
	struct job j = {.t = t, .at = {t->name, 0, 0}};

	t->l->err = rs_inspector_read(&j.x, text, n, t->name, t->l->arena, t->l->e);
	make_work(&j);
	rs_inspector_free(&j.x);
}
