/* Files of NCCL's example tuner plugin: lines of comma-separated fields, '#' starts a comment. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "nccl/tune.h"

enum { FIELDS_MIN = 8, FIELDS_MAX = 10, FIELD_MAX = 32 };

static const char *const func_names[] = {"broadcast",     "reduce",    "allgather",
					 "reducescatter", "allreduce", NULL};
static const char *const algo_names[] = {
	"tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat", NULL};
static const char *const proto_names[] = {"ll", "ll128", "simple", NULL};

struct line {
	const char *file;
	unsigned number;
	unsigned n;
	char field[FIELDS_MAX][FIELD_MAX];
};

/* Cut into fields, blanks at their ends left out. false: too many, or too long. */
static bool cut(struct line *l, const char *at, const char *end)
{
	for (l->n = 0; at <= end; l->n++) {
		const char *comma = memchr(at, ',', (size_t)(end - at)),
			   *stop = comma ? comma : end;

		while (at < stop && (*at == ' ' || *at == '\t'))
			at++;
		while (stop > at && (stop[-1] == ' ' || stop[-1] == '\t' || stop[-1] == '\r'))
			stop--;
		if (l->n == FIELDS_MAX || stop - at >= FIELD_MAX)
			return false;
		memcpy(l->field[l->n], at, (size_t)(stop - at));
		l->field[l->n][stop - at] = 0;
		if (!comma) {
			l->n++;
			return true;
		}
		at = comma + 1;
	}
	return true;
}

static int fail(const struct line *l, struct rs_error *e, const char *expected, unsigned field)
{
	rs_error_set(e, -EINVAL, "%s:%u: expected %s, found '%s'", l->file, l->number, expected,
		     field < l->n ? l->field[field] : "");
	rs_error_hint(e, "a line is type,min bytes,max bytes,algorithm,protocol,channels,nodes,"
			 "ranks[,pipelined operations[,registered]]");
	return -EINVAL;
}

static int name_of(const struct line *l, unsigned field, const char *const *names,
		   const char *expected, int *out, struct rs_error *e)
{
	for (int i = 0; names[i]; i++)
		if (!strcasecmp(l->field[field], names[i])) {
			*out = i;
			return 0;
		}
	return fail(l, e, expected, field);
}

static int count_of(const struct line *l, unsigned field, int *out, struct rs_error *e)
{
	char *end;
	long v;

	*out = -1;
	if (field >= l->n)
		return 0;
	errno = 0;
	v = strtol(l->field[field], &end, 10);
	if (end == l->field[field] || *end || errno || v < -1 || v > 1 << 20)
		return fail(l, e, "-1 or a count", field);
	*out = (int)v;
	return 0;
}

static int bytes_of(const struct line *l, unsigned field, uint64_t *out, struct rs_error *e)
{
	char *end;

	errno = 0;
	*out = strtoull(l->field[field], &end, 10);
	if (end == l->field[field] || *end || errno || l->field[field][0] == '-')
		return fail(l, e, "a number of bytes", field);
	return 0;
}

static int row_of(const struct line *l, struct rs_nccl_tuner_row *r, struct rs_error *e)
{
	int func, algo, proto;

	if (l->n < FIELDS_MIN)
		return fail(l, e, "8 to 10 fields", l->n - 1);
	if (name_of(l, 0, func_names, "a collective, as 'allreduce'", &func, e) ||
	    bytes_of(l, 1, &r->min_bytes, e) || bytes_of(l, 2, &r->max_bytes, e) ||
	    name_of(l, 3, algo_names, "an algorithm, as 'nvls_tree'", &algo, e) ||
	    name_of(l, 4, proto_names, "ll, ll128 or simple", &proto, e) ||
	    count_of(l, 5, &r->channels, e) || count_of(l, 6, &r->nodes, e) ||
	    count_of(l, 7, &r->ranks, e) || count_of(l, 8, &r->pipe_ops, e) ||
	    count_of(l, 9, &r->registered, e))
		return -EINVAL;
	if (r->channels == 0 || r->channels > RS_NCCL_CHANNELS_MAX)
		return fail(l, e, "-1 or 1 to 64 channels", 5);
	if (r->max_bytes < r->min_bytes)
		return fail(l, e, "no less than the least number of bytes", 2);
	r->func = (enum rs_nccl_func)func;
	r->algo = (enum rs_nccl_algo)algo;
	r->proto = (enum rs_nccl_proto)proto;
	return 0;
}

int rs_nccl_tuner_read(const char *name, const char *text, size_t n, struct rs_arena *a,
		       struct rs_nccl_tuner_row **rows, size_t *n_rows, struct rs_error *e)
{
	const char *end = text + n;
	struct line l = {.file = name};
	size_t lines = 1;
	int err;

	for (const char *s = text; (s = memchr(s, '\n', (size_t)(end - s))); s++)
		lines++;
	if (lines > RS_NCCL_TUNER_ROWS_MAX)
		return rs_error_set(e, -E2BIG, "%s: %zu lines; at most %d", name, lines,
				    RS_NCCL_TUNER_ROWS_MAX);
	*n_rows = 0;
	*rows = rs_arena_alloc(a, lines, sizeof(**rows));
	if (!*rows)
		return rs_error_set(e, -ENOMEM, "out of memory while reading %s", name);
	for (const char *at = text, *stop; at < end; at = stop + 1) {
		stop = memchr(at, '\n', (size_t)(end - at));
		stop = stop ? stop : end;
		l.number++;
		if (*at == '#' || !cut(&l, at, stop) || (l.n == 1 && !l.field[0][0])) {
			if (*at != '#' && !(l.n == 1 && !l.field[0][0]))
				return fail(&l, e, "8 to 10 short fields", 0);
			continue;
		}
		err = row_of(&l, *rows + *n_rows, e);
		if (err)
			return err;
		++*n_rows;
	}
	return 0;
}

void rs_nccl_tuner_line(const struct rs_nccl_tuner_row *r, char *line)
{
	snprintf(line, RS_NCCL_TUNER_LINE_MAX, "%s,%" PRIu64 ",%" PRIu64 ",%s,%s,%d,%d,%d,%d,%d",
		 func_names[r->func], r->min_bytes, r->max_bytes, algo_names[r->algo],
		 proto_names[r->proto], r->channels, r->nodes, r->ranks, r->pipe_ops,
		 r->registered);
}
