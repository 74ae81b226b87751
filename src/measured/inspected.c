/* A log of NCCL's Inspector as a table like nccl-tests': a time for each size of one collective. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "measured/state.h"

struct choice {
	uint8_t op;
	uint32_t n_ranks;
};

/* By operation: all ranks' records of one stand together, the shortest first. */
static int by_operation(const void *x, const void *y)
{
	const struct rs_inspected *a = x, *b = y;

	if (a->comm != b->comm)
		return a->comm < b->comm ? -1 : 1;
	if (a->sn != b->sn)
		return a->sn < b->sn ? -1 : 1;
	return a->us < b->us ? -1 : a->us > b->us;
}

static int by_size(const void *x, const void *y)
{
	const struct rs_inspected *a = x, *b = y;
	uint64_t i = rs_inspected_bytes(a), k = rs_inspected_bytes(b);

	if (i != k)
		return i < k ? -1 : 1;
	return a->us < b->us ? -1 : a->us > b->us;
}

static bool is_collective(uint8_t op)
{
	return op != RS_INSPECTED_SEND && op != RS_INSPECTED_RECV && op != RS_INSPECTED_OTHER;
}

/* Which collective: the wanted one, else the only one; and the most ranks that did it. */
static int choose(const struct rs_inspector *x, const char *name, const char *wanted,
		  struct choice *out, struct rs_error *e)
{
	uint32_t count[RS_INSPECTED_OPS] = {0}, ranks[RS_INSPECTED_OPS] = {0};
	unsigned kinds = 0, op = RS_INSPECTED_OTHER;

	for (uint32_t i = 0; i < x->n; i++) {
		const struct rs_inspected *r = &x->record[i];

		if (!r->us || !r->bytes)
			continue;
		count[r->op]++;
		if (r->n_ranks > ranks[r->op])
			ranks[r->op] = r->n_ranks;
	}
	for (unsigned i = 0; i < RS_INSPECTED_OPS; i++) {
		if (!is_collective((uint8_t)i) || !count[i])
			continue;
		kinds++;
		op = i;
	}
	for (unsigned i = 0; wanted && i < RS_INSPECTED_OPS; i++)
		if (is_collective((uint8_t)i) && count[i] && !strcmp(rs_inspected_ops[i], wanted)) {
			kinds = 1;
			op = i;
		}
	if (kinds == 1) {
		*out = (struct choice){(uint8_t)op, ranks[op]};
		return 0;
	}
	rs_error_at(e, -EINVAL, (struct rs_where){name, 1, 1},
		    kinds ? wanted ? "several collectives, and none of them is the wanted one"
				   : "several collectives, and none of them is wanted"
			  : "no collective with a time above 0");
	if (kinds)
		rs_error_hint(e, "the operation of the description's first job says which one is "
				 "meant, or --collective of ripstop expect");
	return -EINVAL;
}

/* Of each operation the record of the rank that waited least; returns how many. */
static uint32_t shortest(struct rs_inspected *r, uint32_t n, const struct choice *c)
{
	uint32_t m = 0;

	for (uint32_t i = 0; i < n; i++)
		if (r[i].op == c->op && r[i].n_ranks == c->n_ranks && r[i].us && r[i].bytes)
			r[m++] = r[i];
	n = m;
	if (n)
		qsort(r, n, sizeof(*r), by_operation);
	m = 0;
	for (uint32_t i = 0; i < n; i++)
		if (!m || r[m - 1].comm != r[i].comm || r[m - 1].sn != r[i].sn)
			r[m++] = r[i];
	return m;
}

/* busbw of a time of 1 us, as nccl-tests has it (PERFORMANCE.md), for each byte: GB/s. */
static double busbw(const struct choice *c)
{
	double n = c->n_ranks;

	switch (c->op) {
	case RS_INSPECTED_ALL_REDUCE:
		return 2 * (n - 1) / n / 1e3;
	case RS_INSPECTED_BROADCAST:
	case RS_INSPECTED_REDUCE:
		return 1 / 1e3;
	default:
		return (n - 1) / n / 1e3;
	}
}

static int table(struct rs_measured *m, const struct rs_inspected *r, uint32_t n,
		 const struct choice *c, const char *name, struct rs_error *e)
{
	for (uint32_t i = 0, k; i < n; i = k) {
		uint64_t bytes = rs_inspected_bytes(&r[i]);
		const struct rs_inspected *middle;

		for (k = i; k < n && rs_inspected_bytes(&r[k]) == bytes;)
			k++;
		if (m->n_rows == RS_MEASURED_ROWS_MAX)
			return rs_error_at(e, -E2BIG, (struct rs_where){name, r[i].line, 1},
					   "more than %d sizes", RS_MEASURED_ROWS_MAX);
		middle = &r[i + (k - i - 1) / 2];
		m->rows[m->n_rows++] = (struct rs_measured_row){
			.bytes = bytes,
			.us = (double)middle->us,
			.busbw = (double)bytes * busbw(c) / (double)middle->us,
			.line = middle->line,
		};
	}
	return 0;
}

static int fill(struct rs_measured *m, struct rs_inspector *x, const char *name, const char *op,
		struct rs_error *e)
{
	struct choice c;
	int err = choose(x, name, op, &c, e);

	if (err)
		return err;
	m->kind = RS_MEASURED_NCCL;
	m->op = rs_inspected_ops[c.op];
	m->n_ranks = c.n_ranks;
	m->operations = shortest(x->record, x->n, &c);
	for (uint32_t i = 0; i < m->operations; i++)
		if (x->record[i].n_hosts > m->n_hosts)
			m->n_hosts = x->record[i].n_hosts;
	qsort(x->record, m->operations, sizeof(*x->record), by_size);
	return table(m, x->record, m->operations, &c, name, e);
}

int measured_inspected(const char *text, size_t n, const char *name, const char *op,
		       struct rs_arena *a, struct rs_measured **out, struct rs_error *e)
{
	struct rs_measured *m = rs_arena_alloc(a, 1, sizeof(*m));
	struct rs_inspector x = {0};
	int err;

	if (m)
		m->rows = rs_arena_alloc(a, RS_MEASURED_ROWS_MAX, sizeof(*m->rows));
	if (!m || !m->rows)
		return rs_error_set(e, -ENOMEM, "out of memory");
	err = rs_inspector_read(&x, text, n, name, a, e);
	err = err ? err : fill(m, &x, name, op, e);
	rs_inspector_free(&x);
	*out = err ? NULL : m;
	return err;
}
