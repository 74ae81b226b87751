/* Flows whose paths are given: a table a switch, from destination and queue pair to egress port. */
#include <errno.h>
#include <string.h>
#include "sim/engine.h"

enum { PINS_BYTES_MAX = 1 << 30 };

struct sim_pins {
	uint32_t *first; /* an entry an endpoint, and one behind */
	uint16_t **port; /* [switch]: NULL where no given path comes by */
};

static bool any_given(const struct rs_fabric *f)
{
	for (uint32_t j = 0; j < f->n_jobs; j++)
		for (uint32_t i = 0; i < f->jobs[j].n_flows; i++)
			if (f->jobs[j].flows[i].path || f->jobs[j].flows[i].ack_path)
				return true;
	return false;
}

int sim_pins_create(struct rs_sim *s, const uint32_t *qps, struct rs_error *e)
{
	const struct rs_fabric *f = s->f;
	struct sim_pins *p;

	/* on an ideal network there is but one path, and flows that are dealt out keep to none */
	if (s->o->ideal.network || s->o->ideal.placed || !any_given(f))
		return 0;
	p = rs_arena_alloc(s->arena, 1, sizeof(*p));
	if (!p)
		return rs_error_set(e, -ENOMEM, "out of memory");
	p->first = rs_arena_alloc(s->arena, f->n_endpoints + 1u, sizeof(*p->first));
	p->port = rs_arena_alloc(s->arena, f->n_switches, sizeof(*p->port));
	if (!p->first || !p->port)
		return rs_error_set(e, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < f->n_endpoints; i++)
		p->first[i + 1] = p->first[i] + qps[i];
	if ((uint64_t)p->first[f->n_endpoints] * f->n_switches * sizeof(uint16_t) > PINS_BYTES_MAX)
		return rs_error_set(e, -E2BIG,
				    "given paths of %u queue pairs over %u switches need more than "
				    "1 GiB of tables",
				    p->first[f->n_endpoints], f->n_switches);
	s->pins = p;
	return 0;
}

static uint16_t *ports_of(struct rs_sim *s, uint32_t sw)
{
	struct sim_pins *p = s->pins;
	uint32_t n = p->first[s->f->n_endpoints];

	if (p->port[sw])
		return p->port[sw];
	p->port[sw] = rs_arena_alloc(s->arena, n, sizeof(uint16_t));
	if (p->port[sw])
		memset(p->port[sw], 0xff, n * sizeof(uint16_t));
	return p->port[sw];
}

int sim_pin(struct rs_sim *s, uint32_t endpoint, uint32_t qpn, const struct rs_pinned *path,
	    struct rs_error *e)
{
	for (uint32_t i = 0; s->pins && path && i < path->n; i++) {
		uint16_t *port = ports_of(s, path->hop[i].sw);

		if (!port)
			return rs_error_set(e, -ENOMEM, "out of memory");
		port[s->pins->first[endpoint] + qpn - SIM_FIRST_QPN] = path->hop[i].port;
	}
	return 0;
}

void sim_pins_apply(struct rs_sim *s)
{
	for (uint32_t i = 0; s->pins && i < s->f->n_switches; i++) {
		struct sim_node *n = &s->nodes[s->n_hosts + i];
		struct rs_switch_pins p = {s->pins->first, s->pins->port[i], SIM_FIRST_QPN};

		if (p.port && n->sw)
			rs_switch_pin(n->sw, &p);
	}
}
