/*
 * AICB's workloads (aliyun/aicb, workload/physical): CSV, a collective a row, which all ranks do
 * one after the other; what the columns mean as workload_applyer.py has it. Rows of pipeline stages
 * are refused: SimAI's text has the same workload with its computing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/units.h"
#include "fabric/fabric.h"
#include "import/trace_state.h"

enum { LINE_BYTES = 4096, CELLS_MAX = 32, GROUPS_MAX = 16 };
#define BYTES_MAX (INT64_C(1) << 44)
#define NS_MAX    (4000 * RS_S / RS_NS)

enum column { TYPE, GROUP, GROUP_SIZE, MSG_SIZE, ELAPSED, COLUMNS };

struct row {
	uint8_t op;
	bool compute;
	uint8_t group; /* of groups; 0: all */
	uint64_t bytes;
	rs_time time;
};

struct aicb {
	struct trace *t;
	FILE *in;
	struct rs_where at;
	char line[LINE_BYTES];
	char *cell[CELLS_MAX];
	unsigned n;
	int of[COLUMNS]; /* the column's cell; -1: the file has none */
	struct row *row;
	uint32_t n_rows, room, ranks, tp;
	struct {
		bool tensor;
		uint32_t size, *of;
	} group[GROUPS_MAX];
	unsigned n_groups;
};

static void fail(struct aicb *x, unsigned cell, const char *expected)
{
	struct rs_where at = x->at;

	at.column = cell < x->n ? (int)(x->cell[cell] - x->line) + 1 : 1;
	rs_load_fail(x->t->l, -EINVAL, at, "expected %s, found '%.60s'", expected,
		     cell < x->n ? x->cell[cell] : "");
}

/* Cells by commas, of which those in quotes are none. */
static void split(struct aicb *x)
{
	char *s = x->line;
	bool quoted = false;

	for (x->n = 0; x->n < CELLS_MAX;) {
		x->cell[x->n++] = s;
		for (; *s && (quoted || *s != ','); s++)
			quoted ^= *s == '"';
		if (!*s)
			return;
		*s++ = '\0';
	}
	fail(x, 0, "at most 32 columns");
}

/* The next line that is not empty; false at the end or after an error. */
static bool next_line(struct aicb *x)
{
	while (!x->t->l->err && fgets(x->line, sizeof(x->line), x->in)) {
		size_t n = strlen(x->line);

		x->at.line++;
		if (n == sizeof(x->line) - 1 && x->line[n - 1] != '\n') {
			rs_load_fail(x->t->l, -EINVAL, x->at, "a line of more than %d bytes",
				     LINE_BYTES - 2);
			return false;
		}
		x->line[strcspn(x->line, "\r\n")] = '\0';
		if (*x->line)
			return true;
	}
	return false;
}

static const char *cell(const struct aicb *x, enum column c)
{
	return x->of[c] >= 0 && (unsigned)x->of[c] < x->n ? x->cell[x->of[c]] : "";
}

static bool number(struct aicb *x, enum column c, const char *what, int64_t max, int64_t *out)
{
	if (!rs_parse_int(cell(x, c), 0, max, out, NULL))
		return true;
	fail(x, (unsigned)(x->of[c] < 0 ? 0 : x->of[c]), what);
	return false;
}

/* "[rank0 ~ rank127]", or the columns' names at once. */
static void head(struct aicb *x)
{
	static const char *const names[] = {"comm_type", "comm_group", "comm_group_size",
					    "msg_size", "_elapsed_time"};
	int64_t last = 0;

	x->ranks = x->t->c->ranks;
	if (next_line(x) && *x->line == '[') {
		const char *tilde = strstr(x->line, "~ rank");
		char *end = x->line + strcspn(x->line, "]");

		*end = '\0';
		x->n = 1;
		x->cell[0] = x->line;
		if (!tilde || rs_parse_int(tilde + 6, 0, RS_WORK_RANKS_MAX - 1, &last, NULL))
			fail(x, 0, "'[rank0 ~ rank7]' (stages of a pipeline are not read)");
		else if (x->t->c->ranks && last >= x->t->c->ranks)
			rs_load_fail(x->t->l, -EINVAL, x->at,
				     "it is for %u GPUs and the fabric has %u", (unsigned)last + 1,
				     x->t->c->ranks);
		x->ranks = (uint32_t)last + 1;
		next_line(x);
	}
	if (x->t->l->err)
		return;
	split(x);
	for (int c = 0; c < COLUMNS; c++) {
		x->of[c] = -1;
		for (unsigned i = 0; i < x->n; i++)
			if (!strcmp(x->cell[i], names[c]))
				x->of[c] = (int)i;
	}
	if (x->of[TYPE] < 0 || x->of[GROUP] < 0 || x->of[MSG_SIZE] < 0)
		fail(x, 0, "columns comm_type, comm_group and msg_size");
	else if (!x->ranks)
		fail(x, 0, "'[rank0 ~ rank7]' above it");
}

/* Tensor neighbours, or those of one place in them; 0: all. */
static uint8_t group(struct aicb *x)
{
	const char *s = cell(x, GROUP);
	bool tensor = !strcmp(s, "CommGroup.tp_group");
	int64_t size = x->ranks;
	unsigned i;

	if (!strcmp(s, "CommGroup.all"))
		return 0;
	if (!tensor && strcmp(s, "CommGroup.dp_group") != 0 &&
	    strcmp(s, "CommGroup.ep_group") != 0) {
		fail(x, (unsigned)x->of[GROUP],
		     "CommGroup.tp_group, dp_group, ep_group or all (stages of a pipeline are not "
		     "read)");
		return 0;
	}
	if (x->of[GROUP_SIZE] >= 0 &&
	    (!number(x, GROUP_SIZE, "a group's ranks, at most all of the workload's", x->ranks,
		     &size) ||
	     !size)) {
		if (!x->t->l->err)
			fail(x, (unsigned)x->of[GROUP_SIZE], "a group's ranks, 1 or more");
		return 0;
	}
	if (tensor)
		x->tp = (uint32_t)size > x->tp ? (uint32_t)size : x->tp;
	for (i = 0; i < x->n_groups; i++)
		if (x->group[i].tensor == tensor && x->group[i].size == (uint32_t)size)
			return (uint8_t)(i + 1);
	if (i == GROUPS_MAX) {
		fail(x, (unsigned)x->of[GROUP], "at most 16 kinds of groups");
		return 0;
	}
	x->group[x->n_groups].tensor = tensor;
	x->group[x->n_groups++].size = (uint32_t)size;
	return (uint8_t)x->n_groups;
}

static void keep(struct aicb *x, const struct row *r)
{
	if (trace_grow(x->t, (void **)&x->row, x->n_rows, &x->room, sizeof(*x->row)))
		x->row[x->n_rows++] = *r;
}

/* Computing has nanoseconds, or a product's shapes, whose time is not known: none. */
static void computation(struct aicb *x)
{
	struct row r = {.compute = true};
	const char *s = cell(x, ELAPSED);
	int64_t ns = 0;

	if (!*s || !strcmp(s, "None"))
		return;
	if (number(x, ELAPSED, "nanoseconds or None", NS_MAX, &ns))
		r.time = ns * RS_NS;
	keep(x, &r);
}

static void read_row(struct aicb *x)
{
	static const struct {
		const char *name;
		uint8_t op;
	} ops[] = {{"CommType.all_reduce", RS_COLL_ALL_REDUCE},
		   {"CommType.all_gather", RS_COLL_ALL_GATHER},
		   {"CommType.all_gather_into_tensor", RS_COLL_ALL_GATHER},
		   {"CommType.reduce_scatter", RS_COLL_REDUCE_SCATTER},
		   {"CommType.reduce_scatter_tensor", RS_COLL_REDUCE_SCATTER},
		   {"CommType.all_to_all", RS_COLL_ALL_TO_ALL},
		   {"CommType.broadcast", RS_COLL_BROADCAST},
		   {"CommType.reduce", RS_COLL_BROADCAST},
		   {"CommType.barrier", RS_COLL_ALL_REDUCE}};
	const char *s = cell(x, TYPE);
	struct row r = {0};
	int64_t bytes = 4;

	if (!strcmp(s, "CommType.epoch_end") || !strcmp(s, "comm_type"))
		return;
	if (!strcmp(s, "CommType.computation")) {
		computation(x);
		return;
	}
	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		if (!strcmp(s, ops[i].name)) {
			r.op = ops[i].op;
			r.group = group(x);
			if (strcmp(s, "CommType.barrier") != 0)
				number(x, MSG_SIZE, "bytes", BYTES_MAX, &bytes);
			r.bytes = (uint64_t)bytes;
			if (r.bytes)
				keep(x, &r);
			return;
		}
	fail(x, (unsigned)x->of[TYPE],
	     "CommType.all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, reduce, "
	     "barrier, computation or epoch_end");
}

/* Groups of each kind: tensor neighbours; others have a tensor group's ranks between two. */
static void make_groups(struct aicb *x)
{
	struct trace *t = x->t;
	uint32_t *member = rs_load_take(t->l, x->ranks, sizeof(*member));

	for (unsigned i = 0; i < x->n_groups && !t->l->err; i++) {
		uint32_t n = x->group[i].size,
			 stride = x->group[i].tensor || n == x->ranks ? 1 : x->tp;

		x->group[i].of = rs_load_take(t->l, x->ranks, sizeof(uint32_t));
		if (t->l->err)
			return;
		if (x->ranks % ((uint64_t)n * stride)) {
			rs_load_fail(t->l, -EINVAL, x->at,
				     "%u ranks do not divide by groups of %u with %u between two",
				     x->ranks, n, stride);
			return;
		}
		for (uint32_t r = 0; r < x->ranks && !t->l->err; r++) {
			uint32_t g;

			if (r / stride % n)
				continue;
			for (uint32_t k = 0; k < n; k++)
				member[k] = r + k * stride;
			g = rs_work_group(t->w, member, n);
			for (uint32_t k = 0; k < n; k++)
				x->group[i].of[r + k * stride] = g;
			t->l->err = t->w->err;
		}
	}
}

static void make_rank(struct aicb *x, uint32_t rank)
{
	struct rs_work *w = x->t->w;
	uint32_t last = RS_WORK_NONE;

	for (uint32_t i = 0; i < x->n_rows && !w->err; i++) {
		const struct row *r = &x->row[i];
		struct rs_work_node n = {
			.kind = RS_WORK_COMPUTE, .why = RS_WHY_COMPUTE, .time = r->time};
		uint32_t before = last;

		if (!r->compute) {
			uint32_t g =
				r->group ? x->group[r->group - 1].of[rank] : trace_everyone(x->t);

			n = (struct rs_work_node){.kind = RS_WORK_COLL,
						  .op = r->op,
						  .why = r->group && x->group[r->group - 1].tensor
								 ? RS_WHY_TENSOR
								 : RS_WHY_DATA,
						  .peer = g,
						  .bytes = r->bytes};
			if (x->t->l->err || w->group[g].n < 2)
				continue;
		}
		last = rs_work_add(w, rank, &n);
		rs_work_after(w, rank, before);
	}
	x->t->l->err = w->err;
}

void trace_aicb(struct trace *t, FILE *in)
{
	struct aicb *x = calloc(1, sizeof(*x));

	if (!x) {
		rs_load_fail(t->l, -ENOMEM, (struct rs_where){t->name, 0, 0}, "out of memory");
		return;
	}
	*x = (struct aicb){.t = t, .in = in, .at = {t->name, 0, 1}, .tp = 1};
	head(x);
	while (!t->l->err && next_line(x)) {
		split(x);
		if (!t->l->err)
			read_row(x);
	}
	if (!t->l->err)
		t->w = rs_work_create(t->l->arena, x->ranks, t->l->e);
	if (!t->w && !t->l->err)
		t->l->err = t->l->e->code;
	if (!t->l->err)
		make_groups(x);
	for (uint32_t r = 0; r < x->ranks && !t->l->err; r++)
		make_rank(x, r);
	free(x->row);
	free(x);
}
