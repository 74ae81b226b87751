/* Given paths of flows: a CSV of a flow's number and the nodes that its packets cross, as
 * simulators print them; each step is checked against the links and becomes an egress port. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/units.h"
#include "describe/load.h"

enum { PATH_NODES_MAX = 64, PATHS_BYTES_MAX = 256 << 20 };

struct step {
	uint32_t to; /* endpoint, or n_endpoints + switch */
	uint16_t port;
};

struct paths {
	struct rs_load *l;
	struct rs_fabric *f;
	struct rs_names names;
	uint32_t *first; /* [switch], and one behind: its steps */
	struct step *step;
};

static uint32_t node_id(const struct rs_fabric *f, const struct rs_link_end *e)
{
	return e->is_switch ? f->n_endpoints + e->id : e->id;
}

static void index_links(struct paths *p)
{
	const struct rs_fabric *f = p->f;
	uint32_t *fill;

	p->first = rs_load_take(p->l, f->n_switches + 2, sizeof(*p->first));
	p->step = rs_load_take(p->l, 2 * (size_t)f->n_links + 1, sizeof(*p->step));
	if (p->l->err)
		return;
	fill = p->first + 1;
	for (uint32_t i = 0; i < f->n_links; i++) {
		const struct rs_fabric_link *k = &f->links[i];

		if (k->a.is_switch && !k->down)
			fill[k->a.id + 1]++;
		if (k->b.is_switch && !k->down)
			fill[k->b.id + 1]++;
	}
	for (uint32_t i = 0; i < f->n_switches; i++)
		fill[i + 1] += fill[i];
	for (uint32_t i = 0; i < f->n_links; i++) {
		const struct rs_fabric_link *k = &f->links[i];

		if (k->a.is_switch && !k->down)
			p->step[fill[k->a.id]++] = (struct step){node_id(f, &k->b), k->a.port};
		if (k->b.is_switch && !k->down)
			p->step[fill[k->b.id]++] = (struct step){node_id(f, &k->a), k->b.port};
	}
}

struct paths *paths_open(struct rs_load *l, struct rs_fabric *f)
{
	struct paths *p = rs_load_take(l, 1, sizeof(*p));

	if (!p || !rs_names_create(l, &p->names, f->n_endpoints + f->n_hosts + f->n_switches))
		return NULL;
	p->l = l;
	p->f = f;
	for (uint32_t i = 0; i < f->n_endpoints; i++)
		rs_names_add(&p->names, f->endpoints[i].name, i);
	for (uint32_t i = 0; i < f->n_hosts; i++)
		if (f->hosts[i].n_endpoints == 1)
			rs_names_add(&p->names, f->hosts[i].name, f->hosts[i].first_endpoint);
	for (uint32_t i = 0; i < f->n_switches; i++)
		rs_names_add(&p->names, f->switches[i].name, f->n_endpoints + i);
	index_links(p);
	return l->err ? NULL : p;
}

/* A name, or a number: endpoints from 0, switches behind them. */
static bool node_of(struct paths *p, const char *s, struct rs_where at, uint32_t *out)
{
	uint32_t n = p->f->n_endpoints + p->f->n_switches;
	int64_t v;

	if (rs_names_find(&p->names, s, out))
		return true;
	if (!rs_parse_int(s, 0, n - 1, &v, NULL)) {
		*out = (uint32_t)v;
		return true;
	}
	rs_load_fail(p->l, -EINVAL, at,
		     "there is no node '%.80s'; expected a name, or a number below %u: endpoints "
		     "from 0, "
		     "then switches",
		     s, n);
	return false;
}

static bool port_to(const struct paths *p, uint32_t sw, uint32_t to, uint16_t *port)
{
	for (uint32_t i = p->first[sw]; i < p->first[sw + 1]; i++)
		if (p->step[i].to == to) {
			*port = p->step[i].port;
			return true;
		}
	return false;
}

static void resolve(struct paths *p, struct rs_flow *flow, bool ack, const uint32_t *node,
		    uint32_t n, struct rs_where at)
{
	const struct rs_fabric *f = p->f;
	uint32_t from = ack ? flow->dst : flow->src, to = ack ? flow->src : flow->dst;
	struct rs_pinned *path;

	if (n < 3 || node[0] != from || node[n - 1] != to) {
		rs_load_fail(p->l, -EINVAL, at, "expected a path from %s over switches to %s",
			     f->endpoints[from].name, f->endpoints[to].name);
		return;
	}
	path = rs_load_take(p->l, 1, sizeof(*path) + (n - 2) * sizeof(path->hop[0]));
	for (uint32_t i = 1; i + 1 < n && !p->l->err; i++) {
		uint32_t sw = node[i] - f->n_endpoints;

		if (node[i] < f->n_endpoints ||
		    !port_to(p, sw, node[i + 1], &path->hop[i - 1].port))
			rs_load_fail(p->l, -EINVAL, at, "step %u of the path follows no link", i);
		path->hop[i - 1].sw = sw;
	}
	if (!p->l->err && f->endpoints[from].node != node[1] - f->n_endpoints)
		rs_load_fail(p->l, -EINVAL, at, "%s is not linked to the path's first switch",
			     f->endpoints[from].name);
	if (p->l->err)
		return;
	path->n = n - 2;
	*(ack ? &flow->ack_path : &flow->path) = path;
}

void paths_list(struct paths *p, struct rs_flow *flow, const struct rs_node *list, bool ack)
{
	uint32_t node[PATH_NODES_MAX], n = 0;

	if (!rs_node_is_list(p->l, list, "a path"))
		return;
	if (list->n > PATH_NODES_MAX) {
		rs_load_fail(p->l, -E2BIG, list->at, "a path of more than %d nodes",
			     PATH_NODES_MAX);
		return;
	}
	for (const struct rs_item *i = list->first; i; i = i->next) {
		const char *s = rs_node_scalar(p->l, i->value, "a path");

		if (!s || !node_of(p, s, i->value->at, &node[n++]))
			return;
	}
	resolve(p, flow, ack, node, n, list->at);
}

static void path_line(struct paths *p, struct rs_job *job, bool ack, char *line, struct rs_where at)
{
	uint32_t node[PATH_NODES_MAX], n = 0;
	char *nodes = line, *number = strsep(&nodes, ","), *s;
	struct rs_error e = {0};
	int64_t flow;

	if (!nodes) {
		rs_load_fail(p->l, -EINVAL, at,
			     "expected flow,nodes with blanks between the nodes");
		return;
	}
	if (rs_parse_int(number, 0, (int64_t)job->n_flows - 1, &flow, &e)) {
		rs_load_fail(p->l, -EINVAL, at, "flow: %s", e.what);
		return;
	}
	while ((s = strsep(&nodes, " \t"))) {
		if (!*s)
			continue;
		if (n == PATH_NODES_MAX) {
			rs_load_fail(p->l, -E2BIG, at, "a path of more than %d nodes",
				     PATH_NODES_MAX);
			return;
		}
		if (!node_of(p, s, at, &node[n++]))
			return;
	}
	resolve(p, &job->flows[flow], ack, node, n, at);
}

void paths_csv(struct paths *p, struct rs_job *job, const struct rs_node *n, bool ack)
{
	struct rs_where at = {0, 0, 1};
	char *text, *rest, *line;
	bool first = true; /* the first line that says something may be a header */
	size_t size = 0;

	if (p->l->err || !rs_node_scalar(p->l, n, "paths"))
		return;
	at.file = rs_load_beside(p->l, n->text);
	text = rest = p->l->err ? NULL : rs_load_file(p->l, at.file, PATHS_BYTES_MAX, n->at, &size);
	if (text && memchr(text, 0, size))
		rs_load_fail(p->l, -EINVAL, n->at, "'%s' holds a NUL byte: no text", at.file);
	while (text && !p->l->err && (line = strsep(&rest, "\n"))) {
		at.line++;
		line[strcspn(line, "\r")] = '\0';
		if (!*line || *line == '#')
			continue;
		if (!first || strncmp(line, "flow", 4) != 0)
			path_line(p, job, ack, line, at);
		first = false;
	}
	free(text);
}
