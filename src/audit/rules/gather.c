/* Equal findings over ports and switches become one. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "audit/rules/gather.h"
#include "audit/facts/hop.h"

void rs_gather_fail(struct rs_gather *g, enum rs_severity s, const char *sw, const char *port,
		    const struct rs_fact *one, const struct rs_fact *two, const char *title_fmt,
		    ...)
{
	char title[512];
	va_list ap;

	if (!g->f) {
		va_start(ap, title_fmt);
		vsnprintf(title, sizeof(title), title_fmt, ap);
		va_end(ap);
		g->f = rs_finding_new(g->a, g->r, RS_FAIL, s, "%s", title);
		if (!g->f)
			return;
		g->title = g->f->title;
	}
	if (s > g->f->severity)
		g->f->severity = s;
	/* the same port again, for another reason: its facts alone */
	if (g->sw && port && g->port && !strcmp(g->sw, sw) && !strcmp(g->port, port)) {
		g->new_switch = false;
		if (g->f->n_facts < RS_GATHER_FACTS) {
			rs_finding_fact(g->f, one);
			rs_finding_fact(g->f, two);
		}
		return;
	}
	g->new_switch = !g->sw || strcmp(g->sw, sw) != 0;
	g->switches += g->new_switch;
	g->ports++;
	g->sw = sw;
	g->port = port;
	rs_finding_subject(g->a, g->f, sw, port ? rs_hop_name(port) : NULL);
	if (g->f->n_facts < RS_GATHER_FACTS) {
		rs_finding_fact(g->f, one);
		rs_finding_fact(g->f, two);
	}
}

static void keep(struct rs_gather *g, const struct rs_fact *f)
{
	for (unsigned i = 0; i < g->n_good; i++)
		if (g->good[i] == f)
			return;
	if (f && g->n_good < RS_GATHER_FACTS)
		g->good[g->n_good++] = f;
}

void rs_gather_pass(struct rs_gather *g, const struct rs_fact *one, const struct rs_fact *two)
{
	g->passed++;
	keep(g, one);
	keep(g, two);
}

void rs_gather_pass_pfc(struct rs_gather *g, const char *sw, const char *port, unsigned mask)
{
	const struct rs_fact *f = NULL;

	/* asked of each port of each switch: looked up for the first few alone */
	if (mask && g->n_good < RS_GATHER_FACTS)
		f = rs_hop_fact(g->a, sw, port, "pfc/%d", __builtin_ctz(mask));
	rs_gather_pass(g, f, NULL);
}

void rs_gather_end(struct rs_gather *g, const char *why, const char *passed, const char *unknown,
		   const char *file, const char *what)
{
	struct rs_finding *f = g->f;

	if (f) {
		if (g->ports > 1)
			f->title = rs_audit_text(g->a, "%s; %u like it on %u %s", g->title,
						 g->ports, g->switches,
						 rs_facts_is_switch(g->a->facts, g->sw)
							 ? g->switches == 1 ? "switch" : "switches"
						 : g->switches == 1 ? "host"
								    : "hosts");
		rs_finding_why(g->a, f, "%s", why);
		return;
	}
	if (g->passed) {
		f = rs_finding_new(g->a, g->r, RS_PASS, g->r->severity, "%s (%u)", passed,
				   g->passed);
		for (unsigned i = 0; f && i < g->n_good; i++)
			rs_finding_fact(f, g->good[i]);
		return;
	}
	if (!g->unknown)
		return;
	f = rs_finding_new(g->a, g->r, RS_UNKNOWN, g->unseen ? g->unseen : g->r->severity, "%s",
			   unknown);
	rs_finding_need(g->a, f, file, "%s", what);
}
