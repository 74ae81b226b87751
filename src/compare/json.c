/* A comparison for programs: JSON and CSV. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "compare/compare.h"
#include "report/report.h"

/* A figure of one run or of several; INFINITY, which JSON has not, is null: it did not come. */
static void number(struct rs_json *j, const char *key, double v)
{
	if (isinf(v))
		rs_json_string(j, key, NULL);
	else
		rs_json_number(j, key, v);
}

static void axes(struct rs_json *j, const struct rs_comparison *c)
{
	rs_json_array(j, "axes");
	for (uint32_t a = 0; a < c->n_axes; a++) {
		const struct rs_axis *x = &c->axes[a];

		rs_json_object(j, NULL);
		rs_json_string(j, "name", x->name);
		rs_json_bool(j, "varied", x->varied);
		rs_json_array(j, "choices");
		for (uint32_t i = 0; i < x->n; i++) {
			rs_json_object(j, NULL);
			rs_json_string(j, "label", x->choice[i].label);
			rs_json_array(j, "set");
			for (uint32_t k = 0; k < x->choice[i].n; k++) {
				rs_json_object(j, NULL);
				rs_json_string(j, "path", x->choice[i].set[k].path);
				rs_json_string(j, "value", x->choice[i].set[k].value);
				rs_json_end(j);
			}
			rs_json_end(j);
			rs_json_end(j);
		}
		rs_json_end(j);
		rs_json_end(j);
	}
	rs_json_end(j);
}

static void figures(struct rs_json *j, const struct rs_variant *v)
{
	rs_json_object(j, "figures");
	for (unsigned i = 0; i < RS_FIGURES; i++) {
		const struct rs_over_seeds *o = &v->of[i];

		if (!o->n)
			continue;
		rs_json_object(j, rs_figures[i].id);
		number(j, "mean", o->mean);
		number(j, "low", o->low);
		number(j, "high", o->high);
		rs_json_array(j, "runs");
		for (uint32_t s = 0; s < v->n_seeds; s++)
			if (!isnan(v->run[(size_t)s * RS_FIGURES + i]))
				number(j, NULL, v->run[(size_t)s * RS_FIGURES + i]);
		rs_json_end(j);
		rs_json_end(j);
	}
	rs_json_end(j);
}

static void variant(struct rs_json *j, const struct rs_comparison *c, uint32_t i)
{
	const struct rs_variant *v = &c->variants[i];

	rs_json_object(j, NULL);
	rs_json_string(j, "name", v->name);
	rs_json_array(j, "choices");
	for (uint32_t a = 0; a < c->n_axes; a++)
		rs_json_uint(j, NULL, (uint64_t)(rs_variant_choice(c, i, a) - c->axes[a].choice));
	rs_json_end(j);
	rs_json_string(j, "refused", v->error.code ? v->error.what : NULL);
	rs_json_uint(j, "seeds", v->n_seeds);
	rs_json_uint(j, "ended", v->ended);
	if (v->rank)
		rs_json_uint(j, "rank", v->rank);
	else
		rs_json_string(j, "rank", NULL);
	rs_json_bool(j, "shared", v->shared);
	rs_json_uint(j, "same_as", v->same_as);
	figures(j, v);
	rs_json_end(j);
}

int rs_comparison_json(const struct rs_comparison *c, FILE *out)
{
	struct rs_json *j = rs_json_create(out);

	if (!j)
		return -ENOMEM;
	rs_json_object(j, NULL);
	rs_json_string(j, "schema", "ripstop-compare/1");
	rs_json_string(j, "scenario", c->scenario);
	rs_json_uint(j, "seed", c->seed);
	rs_json_uint(j, "seeds", c->n_seeds);
	rs_json_bool(j, "stopped", c->stopped);
	axes(j, c);
	rs_json_array(j, "figures");
	for (unsigned i = 0; i < RS_FIGURES; i++) {
		rs_json_object(j, NULL);
		rs_json_string(j, "id", rs_figures[i].id);
		rs_json_string(j, "name", rs_figures[i].name);
		rs_json_string(j, "unit", rs_figures[i].unit);
		rs_json_end(j);
	}
	rs_json_end(j);
	rs_json_array(j, "variants");
	for (uint32_t i = 0; i < c->n; i++)
		variant(j, c, i);
	rs_json_end(j);
	rs_json_array(j, "order");
	for (uint32_t i = 0; i < c->n; i++)
		rs_json_uint(j, NULL, c->order[i]);
	rs_json_end(j);
	rs_json_object(j, "engine");
	rs_json_number(j, "wall_s", c->wall_s);
	rs_json_number(j, "cpu_s", c->cpu_s);
	rs_json_uint(j, "threads", c->threads);
	rs_json_end(j);
	rs_json_end(j);
	return rs_json_finish(j);
}

/* ---- CSV (RFC 4180) ---- */

static void quoted(FILE *out, const char *s)
{
	fputc('"', out);
	for (; *s; s++) {
		if (*s == '"')
			fputc('"', out);
		fputc(*s, out);
	}
	fputc('"', out);
}

/* Empty: not known; inf: it did not come. */
static void value(FILE *out, const struct rs_over_seeds *o, double v)
{
	fputc(',', out);
	if (!o->n)
		return;
	if (isinf(v))
		fputs("inf", out);
	else
		fprintf(out, "%.12g", v);
}

int rs_comparison_csv(const struct rs_comparison *c, FILE *out)
{
	for (uint32_t a = 0; a < c->n_axes; a++) {
		quoted(out, c->axes[a].name);
		fputc(',', out);
	}
	fputs("rank,seeds,ended", out);
	for (unsigned i = 0; i < RS_FIGURES; i++)
		fprintf(out, ",%s,%s_low,%s_high", rs_figures[i].id, rs_figures[i].id,
			rs_figures[i].id);
	fputs(",refused\n", out);
	for (uint32_t i = 0; i < c->n; i++) {
		const struct rs_variant *v = &c->variants[i];

		for (uint32_t a = 0; a < c->n_axes; a++) {
			quoted(out, rs_variant_choice(c, i, a)->label);
			fputc(',', out);
		}
		if (v->rank)
			fprintf(out, "%u", v->rank);
		fprintf(out, ",%u,%u", v->n_seeds, v->ended);
		for (unsigned k = 0; k < RS_FIGURES; k++) {
			value(out, &v->of[k], v->of[k].mean);
			value(out, &v->of[k], v->of[k].low);
			value(out, &v->of[k], v->of[k].high);
		}
		fputc(',', out);
		if (v->error.code)
			quoted(out, v->error.what);
		fputc('\n', out);
	}
	return ferror(out) ? -EIO : 0;
}
