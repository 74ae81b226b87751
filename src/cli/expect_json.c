/* ripstop expect for programs: schema/ripstop-expect-1.schema.json. */
#include <errno.h>
#include "cli/expect_report.h"
#include "report/report.h"

static void hosts(struct rs_json *j, const struct rs_expect *x)
{
	rs_json_array(j, "hosts");
	for (uint32_t i = 0; i < x->n_hosts; i++) {
		const struct rs_expect_host *h = &x->host[i];

		rs_json_object(j, NULL);
		rs_json_string(j, "name", h->name);
		rs_json_uint(j, "gpus", h->gpus);
		rs_json_uint(j, "nics", h->nics);
		rs_json_string(j, "nic", h->nic);
		rs_json_bool(j, "copy", h->twin);
		rs_json_end(j);
	}
	rs_json_end(j);
}

static void interval(struct rs_json *j, const struct rs_expect_figure *f)
{
	rs_json_number(j, "value", f->value);
	rs_json_number(j, "low", f->low);
	rs_json_number(j, "high", f->high);
	rs_json_string(j, "unit", rs_expect_unit(f));
}

static void figures(struct rs_json *j, const struct rs_expect *x)
{
	rs_json_array(j, "figures");
	for (uint32_t i = 0; i < x->n_figures; i++) {
		const struct rs_expect_figure *f = &x->figure[i];

		rs_json_object(j, NULL);
		rs_json_string(j, "test", rs_expect_test_name(f));
		rs_json_uint(j, "hosts", f->hosts);
		if (f->test == RS_EXPECT_COLLECTIVE)
			rs_json_uint(j, "ranks", f->ranks);
		rs_json_uint(j, "bytes", f->bytes);
		interval(j, f);
		rs_json_number(j, "us", f->us);
		rs_json_string(j, "limit", *f->limit ? f->limit : NULL);
		rs_json_bool(j, "extrapolated", f->line);
		rs_json_end(j);
	}
	rs_json_end(j);
}

static void unknowns(struct rs_json *j, const struct rs_expect *x)
{
	rs_json_array(j, "assumed");
	for (uint32_t i = 0; i < x->n_unknowns; i++) {
		const struct rs_expect_unknown *u = &x->unknown[i];

		rs_json_object(j, NULL);
		rs_json_string(j, "key", u->key);
		rs_json_string(j, "what", u->what);
		rs_json_string(j, "value", u->value);
		rs_json_string(j, "low", u->low);
		rs_json_string(j, "high", u->high);
		rs_json_number(j, "perftest", u->perftest);
		rs_json_number(j, "nccl", u->nccl);
		rs_json_end(j);
	}
	rs_json_end(j);
}

static void measured_rows(struct rs_json *j, const struct rs_expect_measured *m)
{
	rs_json_array(j, "rows");
	for (uint32_t i = 0; i < m->n_rows; i++) {
		const struct rs_expect_row *r = &m->row[i];

		rs_json_object(j, NULL);
		rs_json_uint(j, "bytes", r->f.bytes);
		rs_json_number(j, "measured", r->measured);
		interval(j, &r->f);
		rs_json_bool(j, "met", r->met);
		rs_json_end(j);
	}
	rs_json_end(j);
}

static void measured(struct rs_json *j, struct rs_expect_measured *const *m, uint32_t n)
{
	rs_json_array(j, "measured");
	for (uint32_t i = 0; i < n; i++) {
		rs_json_object(j, NULL);
		rs_json_string(j, "file", m[i]->file);
		rs_json_string(j, "why_not", m[i]->why_not);
		rs_json_string(j, "test",
			       m[i]->n_rows ? rs_expect_test_name(&m[i]->row[0].f) : NULL);
		rs_json_bool(j, "met",
			     !m[i]->why_not && !m[i]->below && !m[i]->doubtful && !m[i]->zero);
		rs_json_bool(j, "doubtful", m[i]->doubtful);
		rs_json_uint(j, "zero", m[i]->zero);
		rs_json_string(j, "says", m[i]->says);
		rs_json_string(j, "release", m[i]->release);
		rs_json_number(j, "apart", m[i]->apart);
		if (m[i]->n_is) {
			rs_json_number(j, "mended_apart", m[i]->mended < 100 ? m[i]->mended : 100);
			rs_json_number(j, "mended_value", m[i]->mended_value);
		}
		rs_json_array(j, "not_simulated");
		for (uint32_t k = 0; k < m[i]->n_rest; k++)
			rs_json_string(j, NULL, m[i]->rest[k]);
		rs_json_end(j);
		measured_rows(j, m[i]);
		rs_json_array(j, "causes");
		for (uint32_t k = 0; k < m[i]->n_causes; k++) {
			const struct rs_expect_cause *c = &m[i]->cause[k];

			if (!(c->apart < 100)) /* its run did not end */
				continue;
			rs_json_object(j, NULL);
			rs_json_string(j, "what", c->what);
			rs_json_string(j, "check", c->check);
			rs_json_string(j, "look", c->look);
			rs_json_bool(j, "explains", k < m[i]->n_alike);
			rs_json_bool(j, "unknown", c->unknown);
			rs_json_bool(j, "found", c->found);
			rs_json_bool(j, "as_read", c->is);
			rs_json_number(j, "gain", c->gain);
			rs_json_number(j, "apart", c->apart);
			rs_json_end(j);
		}
		rs_json_end(j);
		rs_json_end(j);
	}
	rs_json_end(j);
}

int rs_expect_json(const struct rs_expect *x, struct rs_expect_measured *const *m, uint32_t n,
		   FILE *out)
{
	struct rs_json *j = rs_json_create(out);

	if (!j)
		return -ENOMEM;
	rs_json_object(j, NULL);
	rs_json_string(j, "schema", "ripstop-expect/1");
	hosts(j, x);
	figures(j, x);
	unknowns(j, x);
	measured(j, m, n);
	rs_json_string(j, "no_perftest", x->no_perftest);
	rs_json_string(j, "no_nccl", x->no_nccl);
	rs_json_string(j, "next", x->next);
	rs_json_uint(j, "runs", x->runs);
	rs_json_end(j);
	return rs_json_finish(j);
}
