/*
 * Traces that are text. GOAL: Hoefler, Siebert, Lumsdaine, "Group Operation Assembly Language",
 * ICPP '09, as LogGOPSim's txt2bin takes it. SimAI's and ASTRA-sim 1's workloads: a layer a line,
 * passes as astra-sim-alibabacloud/astra-sim/workload/Workload.cc runs them.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/units.h"
#include "fabric/fabric.h"
#include "import/trace_state.h"

enum { LINE_BYTES = 4096, WORDS_MAX = 512 };
#define BYTES_MAX (INT64_C(1) << 44)
#define NS_MAX    (4000 * RS_S / RS_NS)

struct text {
	struct trace *t;
	FILE *in;
	struct rs_where at;
	char line[LINE_BYTES], label[LINE_BYTES];
	const char *word[WORDS_MAX];
	int column[WORDS_MAX];
	unsigned n;
	bool comment; /* inside one of several lines */
};

static int fail(struct text *x, unsigned word, const char *expected)
{
	struct rs_where at = x->at;

	at.column = word < x->n ? x->column[word]
		    : x->n      ? x->column[x->n - 1] + (int)strlen(x->word[x->n - 1])
				: 1;
	return rs_load_fail(x->t->l, -EINVAL, at, "expected %s%s%.60s%s", expected,
			    word < x->n ? ", found '" : ", found the line's end",
			    word < x->n ? x->word[word] : "", word < x->n ? "'" : "");
}

/* Comments become blanks. */
static void strip(struct text *x)
{
	for (char *s = x->line; *s; s++) {
		if (x->comment) {
			x->comment = strncmp(s, "*/", 2) != 0;
			if (!x->comment)
				s[1] = ' ';
			*s = ' ';
		} else if (!strncmp(s, "//", 2)) {
			*s = '\0';
			return;
		} else if (!strncmp(s, "/*", 2)) {
			x->comment = true;
			s[0] = s[1] = ' ';
			s++;
		}
	}
}

static void split(struct text *x)
{
	char *s = x->line;

	x->n = 0;
	while (!x->t->l->err && *(s += strspn(s, " \t\r\n"))) {
		size_t n = strcspn(s, " \t\r\n");

		if (x->n == WORDS_MAX) {
			fail(x, 0, "at most 512 words a line");
			return;
		}
		x->column[x->n] = (int)(s - x->line) + 1;
		x->word[x->n++] = s;
		s += n;
		if (*s)
			*s++ = '\0';
	}
}

/* The next line that has words; false at the end or after an error. */
static bool next_line(struct text *x)
{
	for (x->n = 0; !x->t->l->err && !x->n;) {
		size_t n;

		if (!fgets(x->line, sizeof(x->line), x->in))
			return false;
		x->at.line++;
		n = strlen(x->line);
		if (n == sizeof(x->line) - 1 && x->line[n - 1] != '\n') {
			rs_load_fail(x->t->l, -EINVAL, x->at, "a line of more than %d bytes",
				     LINE_BYTES - 2);
			return false;
		}
		strip(x);
		split(x);
	}
	return !x->t->l->err;
}

static bool number(struct text *x, unsigned word, const char *what, int64_t max, int64_t *out)
{
	if (word < x->n && !rs_parse_int(x->word[word], 0, max, out, NULL))
		return true;
	if (!x->t->l->err)
		fail(x, word, what);
	return false;
}

/* ---- GOAL ---- */

/* Labels are numbers by their text's hash: two that meet are told apart by the list. */
struct label {
	char *name;
	uint64_t id;
};
struct labels {
	struct label *slot;
	uint32_t size, n;
};

static uint32_t label_slot(const struct labels *k, const char *name)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	uint32_t at;

	for (const char *s = name; *s; s++)
		h = (h ^ (uint8_t)*s) * UINT64_C(0x100000001b3);
	at = (uint32_t)(h ^ h >> 32) & (k->size - 1);
	while (k->slot[at].name && strcmp(k->slot[at].name, name) != 0)
		at = (at + 1) & (k->size - 1);
	return at;
}

static void labels_clear(struct labels *k)
{
	for (uint32_t i = 0; i < k->size; i++)
		free(k->slot[i].name);
	free(k->slot);
	*k = (struct labels){0};
}

static bool labels_grow(struct labels *k)
{
	struct labels more = {.size = k->size ? 2 * k->size : 64};

	if (2 * k->n < k->size)
		return true;
	more.slot = calloc(more.size, sizeof(*more.slot));
	if (!more.slot)
		return false;
	for (uint32_t i = 0; i < k->size; i++)
		if (k->slot[i].name)
			more.slot[label_slot(&more, k->slot[i].name)] = k->slot[i];
	free(k->slot);
	k->slot = more.slot;
	k->size = more.size;
	return true;
}

/* The number of a label: a new one has the next. */
static uint64_t label_id(struct text *x, struct labels *k, const char *name)
{
	uint32_t at;

	if (labels_grow(k)) {
		at = label_slot(k, name);
		if (k->slot[at].name)
			return k->slot[at].id;
		k->slot[at] = (struct label){strdup(name), k->n};
		if (k->slot[at].name)
			return k->n++;
	}
	rs_load_fail(x->t->l, -ENOMEM, x->at, "out of memory");
	return 0;
}

/* `tag 3 cpu 0 nic 0`, each or none, in any order. */
static void options(struct text *x, unsigned from, struct rs_work_node *n)
{
	for (unsigned i = from; i < x->n && !x->t->l->err; i += 2) {
		int64_t v = 0;

		if (!strcmp(x->word[i], "tag")) {
			if (i + 1 < x->n && !strcmp(x->word[i + 1], "-1"))
				fail(x, i + 1, "a tag: any (-1) is not supported");
			else if (number(x, i + 1, "a tag", UINT32_MAX, &v))
				n->tag = (uint64_t)v;
		} else if (!strcmp(x->word[i], "cpu")) {
			if (number(x, i + 1, "a CPU from 0 to 63", RS_WORK_UNITS_MAX - 1, &v))
				n->unit = (uint8_t)v;
		} else if (!strcmp(x->word[i], "nic")) {
			number(x, i + 1, "a NIC", 255, &v); /* a rank has the one nearest to it */
		} else {
			fail(x, i, "tag, cpu, nic or the line's end");
		}
	}
}

/* `send 10b to 1 ...`, `recv 10b from 0 ...`, from the word `at`. */
static void goal_message(struct text *x, unsigned at, struct rs_work_node *n)
{
	bool send = !strcmp(x->word[at], "send");
	size_t len = at + 1 < x->n ? strlen(x->word[at + 1]) : 0;
	int64_t v = 0;
	char size[32];

	n->kind = send ? RS_WORK_SEND : RS_WORK_RECV;
	if (len < 2 || len >= sizeof(size) || x->word[at + 1][len - 1] != 'b') {
		fail(x, at + 1, "bytes such as 64b");
		return;
	}
	memcpy(size, x->word[at + 1], len - 1);
	size[len - 1] = '\0';
	if (rs_parse_int(size, 0, BYTES_MAX, &v, NULL)) {
		fail(x, at + 1, "bytes such as 64b");
		return;
	}
	n->bytes = (uint64_t)v;
	if (at + 2 >= x->n || strcmp(x->word[at + 2], send ? "to" : "from") != 0) {
		fail(x, at + 2, send ? "to" : "from");
		return;
	}
	if (number(x, at + 3, "a rank of the schedule, not any (-1)", x->t->w->n_ranks - 1, &v)) {
		n->peer = (uint32_t)v;
		if (n->peer == x->t->rank)
			fail(x, at + 3, "another rank than its own");
	}
	options(x, at + 4, n);
}

static void goal_operation(struct text *x, unsigned at, uint64_t id)
{
	struct rs_work_node n = {0};
	int64_t ns = 0;

	if (!strcmp(x->word[at], "calc")) {
		n.kind = RS_WORK_COMPUTE;
		n.why = RS_WHY_COMPUTE;
		if (number(x, at + 1, "nanoseconds", NS_MAX, &ns))
			n.time = ns * RS_NS;
		options(x, at + 2, &n);
	} else if (!strcmp(x->word[at], "send") || !strcmp(x->word[at], "recv")) {
		goal_message(x, at, &n);
	} else {
		fail(x, at, "calc, send or recv");
	}
	if (!x->t->l->err)
		trace_node(x->t, &n, id, x->at);
}

/* `a requires b`: b is done; `a irequires b`: b has begun, that is, may begin. */
struct need {
	uint64_t node, on;
	bool begun;
	struct rs_where at;
};
struct needs {
	struct need *need;
	uint32_t n, room;
};

/* The line of a rank: [label:] operation, or label requires label. */
static void goal_line(struct text *x, struct labels *k, struct needs *r, uint64_t *unnamed)
{
	char *name = x->label;
	size_t n = strlen(x->word[0]);
	unsigned at = 1;

	if (x->n == 3 && (!strcmp(x->word[1], "requires") || !strcmp(x->word[1], "irequires"))) {
		struct need d = {label_id(x, k, x->word[0]), label_id(x, k, x->word[2]),
				 x->word[1][0] == 'i', x->at};

		if (trace_grow(x->t, (void **)&r->need, r->n, &r->room, sizeof(*r->need)))
			r->need[r->n++] = d;
		return;
	}
	if (!strcmp(x->word[0], "calc") || !strcmp(x->word[0], "send") ||
	    !strcmp(x->word[0], "recv")) {
		goal_operation(x, 0, --*unnamed);
		return;
	}
	memcpy(name, x->word[0], n + 1);
	if (n > 1 && name[n - 1] == ':')
		name[n - 1] = '\0';
	else if (x->n > 1 && !strcmp(x->word[1], ":"))
		at = 2;
	else
		fail(x, 1, "':', requires or irequires");
	if (!x->t->l->err && at >= x->n)
		fail(x, at, "calc, send or recv");
	if (!x->t->l->err)
		goal_operation(x, at, label_id(x, k, name));
}

static int by_node(const void *x, const void *y)
{
	const struct need *a = x, *b = y;

	return a->node != b->node ? (a->node < b->node ? -1 : 1)
	       : a->on < b->on    ? -1
				  : a->on > b->on;
}

/* What `on` itself waits for: it may begin then. Chains of irequires end, or the trace does not. */
static void begin_needs(struct text *x, const struct needs *r, uint32_t node, uint64_t on,
			unsigned depth)
{
	uint32_t low = 0, high = r->n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (r->need[mid].node < on)
			low = mid + 1;
		else
			high = mid;
	}
	if (depth > 64) {
		rs_load_fail(x->t->l, -E2BIG, x->at, "a chain of more than 64 irequires");
		return;
	}
	for (; low < r->n && r->need[low].node == on && !x->t->l->err; low++)
		if (r->need[low].begun)
			begin_needs(x, r, node, r->need[low].on, depth + 1);
		else if (trace_grow(x->t, (void **)&x->t->dep, x->t->n_deps, &x->t->room_deps,
				    sizeof(*x->t->dep)))
			x->t->dep[x->t->n_deps++] = (struct trace_dep){node, r->need[low].on};
}

/* Of a label its node: dependencies are told once all of a rank is read. */
static uint32_t node_of(const struct trace *t, uint64_t id, const uint32_t *of, uint32_t n)
{
	return t && id < n ? of[id] : RS_WORK_NONE;
}

static void goal_needs(struct text *x, struct needs *r, uint32_t n_labels)
{
	struct trace *t = x->t;
	uint32_t *of = malloc((n_labels + 1u) * sizeof(*of));

	if (!of) {
		rs_load_fail(t->l, -ENOMEM, x->at, "out of memory");
		return;
	}
	for (uint32_t i = 0; i < n_labels; i++)
		of[i] = RS_WORK_NONE;
	for (uint32_t i = 0; i < t->n_ids; i++)
		if (t->id[i].id < n_labels)
			of[t->id[i].id] = t->id[i].node;
	if (r->n)
		qsort(r->need, r->n, sizeof(*r->need), by_node);
	for (uint32_t i = 0; i < r->n && !t->l->err; i++) {
		const struct need *d = &r->need[i];
		uint32_t node = node_of(t, d->node, of, n_labels);

		if (node == RS_WORK_NONE || node_of(t, d->on, of, n_labels) == RS_WORK_NONE)
			rs_load_fail(t->l, -EINVAL, d->at, "a label that rank %u does not have",
				     t->rank);
		else if (d->begun)
			begin_needs(x, r, node, d->on, 0);
		else if (trace_grow(t, (void **)&t->dep, t->n_deps, &t->room_deps, sizeof(*t->dep)))
			t->dep[t->n_deps++] = (struct trace_dep){node, d->on};
	}
	free(of);
}

static void goal_rank(struct text *x)
{
	uint64_t unnamed = UINT64_MAX;
	struct labels k = {0};
	struct needs r = {0};
	bool closed = false;

	while (!closed && next_line(x)) {
		closed = x->n == 1 && !strcmp(x->word[0], "}");
		if (!closed)
			goal_line(x, &k, &r, &unnamed);
	}
	if (!closed && !x->t->l->err)
		rs_load_fail(x->t->l, -EINVAL, x->at, "rank %u has no '}'", x->t->rank);
	if (!x->t->l->err)
		goal_needs(x, &r, k.n);
	trace_close_rank(x->t, true, x->at);
	labels_clear(&k);
	free(r.need);
}

void trace_goal(struct trace *t, FILE *in)
{
	struct text *x = calloc(1, sizeof(*x));
	int64_t n = 0;

	if (!x) {
		rs_load_fail(t->l, -ENOMEM, (struct rs_where){t->name, 0, 0}, "out of memory");
		return;
	}
	*x = (struct text){.t = t, .in = in, .at = {t->name, 0, 1}};
	if (next_line(x) && (strcmp(x->word[0], "num_ranks") != 0 ||
			     !number(x, 1, "the number of ranks", RS_WORK_RANKS_MAX, &n) || !n))
		if (!t->l->err)
			fail(x, 0, "num_ranks and their number");
	if (!t->l->err)
		t->w = rs_work_create(t->l->arena, n ? (uint32_t)n : 1, t->l->e);
	if (!t->w && !t->l->err)
		t->l->err = t->l->e->code;
	while (next_line(x)) {
		if (strcmp(x->word[0], "rank") != 0)
			fail(x, 0, "rank");
		else if (number(x, 1, "a rank below num_ranks", t->w->n_ranks - 1, &n))
			t->rank = (uint32_t)n;
		if (!t->l->err && (x->n != 3 || strcmp(x->word[2], "{") != 0))
			fail(x, 2, "'{'");
		if (!t->l->err && t->w->rank[t->rank].n)
			fail(x, 1, "a rank that is not there yet");
		if (!t->l->err)
			goal_rank(x);
	}
	free(x);
}

/* ---- SimAI ---- */

/* A collective of a layer: what, over which ranks, how much. */
struct layer_comm {
	bool any;
	uint8_t op;
	enum { OVER_TENSOR, OVER_DATA, OVER_EXPERT, OVER_EXPERT_DATA } over;
	uint64_t bytes;
};
/* A line: forward, input gradients, weight gradients. */
struct layer {
	rs_time time[3];
	struct layer_comm comm[3];
	rs_time update;
	bool kept, again; /* its result is kept; behind it layers from there on are run again */
};
struct workload {
	struct layer *layer;
	uint32_t n, room, tp, ep, pp, ranks;
	bool shares;       /* an all-gather's bytes are of one rank; else of all, as SimAI's */
	bool all;          /* every collective is of all ranks */
	uint32_t bottom;   /* of DLRM: this layer waits for the embedding's exchange; 0: none */
	bool inputs_first; /* backward: input gradients before weights' */
	bool forward;      /* alone */
	uint32_t *kept, *again, n_kept, n_again; /* layers of `checkpoints` */
};

static bool comm_type(struct text *x, unsigned word, unsigned pass, struct layer_comm *c)
{
	static const struct {
		const char *name;
		uint8_t op;
	} ops[] = {{"ALLREDUCE", RS_COLL_ALL_REDUCE},
		   {"ALLGATHER", RS_COLL_ALL_GATHER},
		   {"REDUCESCATTER", RS_COLL_REDUCE_SCATTER},
		   {"ALLTOALL", RS_COLL_ALL_TO_ALL},
		   {"BROADCAST", RS_COLL_BROADCAST}};
	const char *s = word < x->n ? x->word[word] : "";

	*c = (struct layer_comm){.over = pass < 2 ? OVER_TENSOR : OVER_DATA};
	if (!strcmp(s, "NONE"))
		return true;
	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
		size_t n = strlen(ops[i].name);
		const char *over = s + n;

		if (strncmp(s, ops[i].name, n) != 0)
			continue;
		c->any = true;
		c->op = ops[i].op;
		if (!strcmp(over, "_EP"))
			c->over = OVER_EXPERT;
		else if (!strcmp(over, "_DP_EP"))
			c->over = OVER_EXPERT_DATA;
		else if (!strcmp(over, "_DP"))
			c->over = OVER_DATA;
		else if (*over && strcmp(over, "_TP") != 0)
			break;
		return true;
	}
	fail(x, word,
	     "NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL or BROADCAST, with _EP or "
	     "_DP_EP");
	return false;
}

/* name, dependency, three times (time, collective, bytes), update time, more that is passed over.
 */
static void simai_layer(struct text *x, struct workload *w)
{
	struct layer l = {0};
	int64_t v = 0;

	for (unsigned p = 0; p < 3 && !x->t->l->err; p++) {
		if (number(x, 2 + 3 * p, "nanoseconds", NS_MAX, &v))
			l.time[p] = v * RS_NS;
		if (comm_type(x, 3 + 3 * p, p, &l.comm[p]) &&
		    number(x, 4 + 3 * p, "bytes", BYTES_MAX, &v)) {
			l.comm[p].bytes = (uint64_t)v;
			l.comm[p].any &= v > 0;
		}
	}
	if (number(x, 11, "nanoseconds", NS_MAX, &v))
		l.update = v * RS_NS;
	if (trace_grow(x->t, (void **)&w->layer, w->n, &w->room, sizeof(*w->layer)))
		w->layer[w->n++] = l;
}

/*
 * ASTRA-sim 1's say no number of ranks: it is the network's. Without a group of tensor neighbours
 * each collective is of all ranks, as Chakra's converter of such files has it. "HYBRID_DLRM 4": the
 * embedding's exchange goes on behind the first four layers.
 */
static void astra_head(struct text *x, struct workload *w, bool grouped)
{
	int64_t v;

	w->ranks = x->t->c->ranks;
	w->all = !grouped;
	w->shares = true;
	if (!w->ranks) {
		fail(x, x->n, "all_gpus: and the number of GPUs");
		return;
	}
	if (!strncmp(x->word[0], "HYBRID_DLRM", 11) && x->n > 1 &&
	    number(x, 1, "the number of the last bottom layer", 1 << 20, &v))
		w->bottom = (uint32_t)v;
}

/* How a policy runs: Workload::decode_parallelsim() and the loops behind it. */
static void simai_policy(struct text *x, struct workload *w)
{
	static const char *const known[] = {"DATA",
					    "MODEL",
					    "HYBRID_DATA_MODEL",
					    "HYBRID_MODEL_DATA",
					    "HYBRID_DLRM",
					    "HYBRID_DLRM_ENHANCED",
					    "HYBRID_CUSTOMIZED",
					    "HYBRID_TRANSFORMER",
					    "HYBRID_TRANSFORMER_FWD_IN_BCKWD",
					    "TRANSFORMER",
					    "MICRO",
					    "DISTRIBUTED_INFERENCE",
					    NULL};
	unsigned i = 0;

	while (known[i] && strcmp(x->word[0], known[i]) != 0)
		i++;
	if (!known[i])
		fail(x, 0,
		     "DATA, MODEL, HYBRID_DATA_MODEL, HYBRID_MODEL_DATA, HYBRID_DLRM, "
		     "HYBRID_CUSTOMIZED, HYBRID_TRANSFORMER, HYBRID_TRANSFORMER_FWD_IN_BCKWD, "
		     "MICRO "
		     "or DISTRIBUTED_INFERENCE");
	w->inputs_first = !strcmp(x->word[0], "HYBRID_TRANSFORMER_FWD_IN_BCKWD");
	w->forward = !strcmp(x->word[0], "DISTRIBUTED_INFERENCE");
}

/* `checkpoints: 3 0 9 18`: how many, then the layers. */
static uint32_t *layer_list(struct text *x, unsigned at, uint32_t *n)
{
	int64_t v = 0;
	uint32_t *of;

	*n = 0;
	if (!number(x, at, "a number of layers", WORDS_MAX, &v) || !v)
		return NULL;
	of = rs_load_take(x->t->l, (size_t)v, sizeof(*of));
	for (; of && *n < (uint32_t)v && !x->t->l->err; (*n)++) {
		int64_t layer = 0;

		if (number(x, at + 1 + *n, "a layer", 1 << 20, &layer))
			of[*n] = (uint32_t)layer;
	}
	return of;
}

static void simai_head(struct text *x, struct workload *w)
{
	static const char *const keys[] = {"model_parallel_NPU_group:", "ep:", "pp:", "all_gpus:"};
	uint32_t *out[] = {&w->tp, &w->ep, &w->pp, &w->ranks};
	uint32_t given = w->tp;
	int64_t v;

	w->tp = 0;
	for (unsigned i = 1; i + 1 < x->n; i++)
		for (unsigned k = 0; k < 4; k++)
			if (!strcmp(x->word[i], keys[k]) &&
			    number(x, i + 1, "a number of ranks", RS_WORK_RANKS_MAX, &v))
				*out[k] = (uint32_t)v;
	simai_policy(x, w);
	for (unsigned i = 1; i < x->n && w->inputs_first && !x->t->l->err; i++)
		if (!strcmp(x->word[i], "checkpoints:"))
			w->kept = layer_list(x, i + 1, &w->n_kept);
		else if (!strcmp(x->word[i], "checkpoint_initiates:"))
			w->again = layer_list(x, i + 1, &w->n_again);
	if (!x->t->l->err && !w->ranks)
		astra_head(x, w, w->tp > 0);
	w->tp = w->tp ? w->tp : given;
	if (x->t->l->err)
		return;
	if (x->t->c->ranks && w->ranks > x->t->c->ranks) {
		rs_load_fail(x->t->l, -EINVAL, x->at, "it is for %u GPUs and the fabric has %u",
			     w->ranks, x->t->c->ranks);
		return;
	}
	if (!w->tp || !w->ep || !w->pp || w->ranks % ((uint64_t)w->tp * w->ep * w->pp))
		rs_load_fail(x->t->l, -EINVAL, x->at,
			     "%u GPUs do not divide by model_parallel_NPU_group %u x ep %u x pp %u",
			     w->ranks, w->tp, w->ep, w->pp);
}

/* Groups as Megatron numbers them: tensor neighbours, then experts' among data. */
static void simai_groups(struct trace *t, const struct workload *w, uint32_t *of[4])
{
	const uint32_t data = w->ranks / w->tp / w->pp;
	const uint32_t apart[] = {w->tp, data, w->ep, data / w->ep};
	const uint32_t whole[] = {w->ranks, w->ranks, w->ranks, w->ranks};
	const uint32_t *size = w->all ? whole : apart;
	const uint32_t stride[] = {1, w->all ? 1 : w->tp, w->all ? 1 : w->tp,
				   w->all ? 1 : w->tp * w->ep};
	uint32_t *member = rs_load_take(t->l, w->ranks, sizeof(*member));

	for (unsigned k = 0; k < 4 && member; k++)
		for (uint32_t r = 0; r < w->ranks && !t->l->err; r++) {
			uint32_t g;

			if (r / stride[k] % size[k])
				continue;
			for (uint32_t i = 0; i < size[k]; i++)
				member[i] = r + i * stride[k];
			g = rs_work_group(t->w, member, size[k]);
			for (uint32_t i = 0; i < size[k]; i++)
				of[k][r + i * stride[k]] = g;
			t->l->err = t->w->err;
		}
}

struct pass {
	struct trace *t;
	uint32_t rank, last;
	uint32_t *const *group;
};

static void pass_compute(struct pass *p, rs_time time)
{
	const struct rs_work_node n = {
		.kind = RS_WORK_COMPUTE, .why = RS_WHY_COMPUTE, .time = time};
	uint32_t before = p->last;

	if (time <= 0 || p->t->w->err)
		return;
	p->last = rs_work_add(p->t->w, p->rank, &n);
	rs_work_after(p->t->w, p->rank, before);
}

static uint32_t pass_comm(struct pass *p, const struct layer_comm *c)
{
	static const uint8_t whys[] = {RS_WHY_TENSOR, RS_WHY_DATA, RS_WHY_EXPERT, RS_WHY_DATA};
	const struct rs_work_node n = {.kind = RS_WORK_COLL,
				       .op = c->op,
				       .why = whys[c->over],
				       .peer = p->group[c->over][p->rank],
				       .bytes = c->bytes};
	uint32_t node;

	if (!c->any || p->t->w->err || p->t->w->group[n.peer].n < 2)
		return RS_WORK_NONE;
	node = rs_work_add(p->t->w, p->rank, &n);
	rs_work_after(p->t->w, p->rank, p->last);
	return node;
}

static void pass_wait(struct pass *p, uint32_t comm)
{
	if (comm != RS_WORK_NONE)
		p->last = comm;
}

/* What comes next waits for this one, too. */
static void pass_both(struct pass *p, uint32_t *comm)
{
	const struct rs_work_node join = {.kind = RS_WORK_COMPUTE, .why = RS_WHY_COMPUTE};
	uint32_t before = p->last;

	if (*comm == RS_WORK_NONE || p->t->w->err)
		return;
	p->last = rs_work_add(p->t->w, p->rank, &join);
	rs_work_after(p->t->w, p->rank, before);
	rs_work_after(p->t->w, p->rank, *comm);
	*comm = RS_WORK_NONE;
}

static void pass_inputs(struct pass *p, const struct layer *l)
{
	pass_compute(p, l->time[1]);
	pass_wait(p, pass_comm(p, &l->comm[1]));
}

/* From the last checkpoint to layer i, before it goes backward. */
static void forward_again(struct pass *p, const struct workload *w, uint32_t i)
{
	uint32_t from = i;

	if (!w->layer[i].again)
		return;
	while (from && !w->layer[from].kept)
		from--;
	for (; from < i; from++) {
		pass_compute(p, w->layer[from].time[0]);
		pass_wait(p, pass_comm(p, &w->layer[from].comm[0]));
	}
}

/* Forward through all layers; back: gradients of weights go while the next layer is at work. */
static void simai_rank(struct pass *p, const struct workload *w)
{
	const struct rs_work_node end = {.kind = RS_WORK_COMPUTE, .why = RS_WHY_COMPUTE};
	uint32_t *gradients = calloc(w->n + 1u, sizeof(*gradients)), n = 0, exchange = RS_WORK_NONE;

	if (!gradients)
		return;
	p->last = RS_WORK_NONE;
	for (uint32_t i = 0; i < w->n; i++) {
		uint32_t comm;

		if (i && i == w->bottom)
			pass_both(p, &exchange);
		pass_compute(p, w->layer[i].time[0]);
		comm = pass_comm(p, &w->layer[i].comm[0]);
		if (!i && w->bottom)
			exchange = comm;
		else
			pass_wait(p, comm);
	}
	pass_both(p, &exchange);
	for (uint32_t i = w->forward ? 0 : w->n; i-- > 0;) {
		forward_again(p, w, i);
		if (w->inputs_first)
			pass_inputs(p, &w->layer[i]);
		pass_compute(p, w->layer[i].time[2]);
		gradients[n++] = pass_comm(p, &w->layer[i].comm[2]);
		if (!w->inputs_first)
			pass_inputs(p, &w->layer[i]);
		pass_compute(p, w->layer[i].update);
	}
	if (!p->t->w->err) {
		uint32_t last = p->last;

		rs_work_add(p->t->w, p->rank, &end);
		rs_work_after(p->t->w, p->rank, last);
		for (uint32_t i = 0; i < n; i++)
			rs_work_after(p->t->w, p->rank, gradients[i]);
	}
	free(gradients);
}

static void gather_shares(const struct trace *t, const struct workload *w, uint32_t *const *of)
{
	for (uint32_t i = 0; i < w->n; i++)
		for (unsigned p = 0; p < 3; p++) {
			struct layer_comm *c = &w->layer[i].comm[p];

			if (c->any && c->op == RS_COLL_ALL_GATHER)
				c->bytes *= t->w->group[of[c->over][0]].n;
		}
}

static void simai_work(struct trace *t, const struct workload *w)
{
	uint32_t *of[4];
	struct pass p = {.t = t, .group = of};

	t->w = rs_work_create(t->l->arena, w->ranks, t->l->e);
	if (!t->w) {
		t->l->err = t->l->e->code;
		return;
	}
	for (unsigned k = 0; k < 4; k++)
		of[k] = rs_load_take(t->l, w->ranks, sizeof(*of[k]));
	if (!t->l->err)
		simai_groups(t, w, of);
	if (!t->l->err && w->shares)
		gather_shares(t, w, of);
	for (p.rank = 0; p.rank < w->ranks && !t->l->err; p.rank++) {
		simai_rank(&p, w);
		t->l->err = t->w->err;
	}
}

/* The head names layers before they are there. */
static void mark_layers(struct text *x, const struct workload *w)
{
	struct rs_where head = {x->t->name, 1, 1};

	for (uint32_t i = 0; i < w->n_kept + w->n_again && !x->t->l->err; i++) {
		bool kept = i < w->n_kept;
		uint32_t layer = kept ? w->kept[i] : w->again[i - w->n_kept];

		if (layer >= w->n)
			rs_load_fail(x->t->l, -EINVAL, head, "%s layer %u; the layers are 0 to %u",
				     kept ? "checkpoints:" : "checkpoint_initiates:", layer,
				     w->n - 1);
		else if (kept)
			w->layer[layer].kept = true;
		else
			w->layer[layer].again = true;
	}
}

void trace_simai(struct trace *t, FILE *in)
{
	struct text *x = calloc(1, sizeof(*x));
	struct workload w = {.tp = 1, .ep = 1, .pp = 1};
	int64_t layers = 0;

	if (!x) {
		rs_load_fail(t->l, -ENOMEM, (struct rs_where){t->name, 0, 0}, "out of memory");
		return;
	}
	*x = (struct text){.t = t, .in = in, .at = {t->name, 0, 1}};
	if (next_line(x))
		simai_head(x, &w);
	if (next_line(x))
		number(x, 0, "the number of layers", 1 << 20, &layers);
	while ((int64_t)w.n < layers && next_line(x))
		simai_layer(x, &w);
	if (!t->l->err && (int64_t)w.n < layers)
		rs_load_fail(t->l, -EINVAL, x->at, "expected %lld layers, found %u",
			     (long long)layers, w.n);
	mark_layers(x, &w);
	if (!t->l->err)
		simai_work(t, &w);
	free(w.layer);
	free(x);
}
