/* Putting a host's parts together: arrays that double, names looked up, parts in order. */
#include <errno.h>
#include <string.h>
#include "host/build.h"

struct rs_part *rs_host_part_add(struct rs_load *l, struct rs_host *h, enum rs_part_kind kind,
				 const char *name)
{
	unsigned n = (unsigned)h->n_parts;
	struct rs_part *p;

	if (l->err)
		return NULL;
	if (h->n_parts == RS_HOST_PARTS_MAX) {
		rs_load_fail(l, -E2BIG, (struct rs_where){l->name, 1, 1},
			     "a host of more than %d parts", RS_HOST_PARTS_MAX);
		return NULL;
	}
	if (n < 16 ? !n : !(n & (n - 1))) {
		p = rs_load_take(l, n < 16 ? 16 : 2 * (size_t)n, sizeof(*p));
		if (!p)
			return NULL;
		if (n)
			memcpy(p, h->parts, n * sizeof(*p));
		h->parts = p;
	}
	p = &h->parts[h->n_parts++];
	*p = (struct rs_part){.name = name,
			      .kind = kind,
			      .parent = RS_NO_PART,
			      .parent2 = RS_NO_PART,
			      .numa = -1};
	return p;
}

struct rs_xlink *rs_host_xlink_add(struct rs_load *l, struct rs_host *h, int a, int b,
				   enum rs_xlink_kind kind)
{
	unsigned n = (unsigned)h->n_xlinks;
	struct rs_xlink *x;

	if (l->err)
		return NULL;
	if (n < 16 ? !n : !(n & (n - 1))) {
		x = rs_load_take(l, n < 16 ? 16 : 2 * (size_t)n, sizeof(*x));
		if (!x)
			return NULL;
		if (n)
			memcpy(x, h->xlinks, n * sizeof(*x));
		h->xlinks = x;
	}
	x = &h->xlinks[h->n_xlinks++];
	*x = (struct rs_xlink){.a = a, .b = b, .kind = kind, .latency = -1};
	return x;
}

struct rs_host *rs_host_copy(struct rs_load *l, const struct rs_host *h)
{
	struct rs_host *c = rs_load_take(l, 1, sizeof(*c));

	if (!c)
		return NULL;
	*c = (struct rs_host){.name = h->name, .source = h->source, .cpu = h->cpu};
	for (int i = 0; i < h->n_parts; i++) {
		struct rs_part *p = rs_host_part_add(l, c, h->parts[i].kind, h->parts[i].name);

		if (p)
			*p = h->parts[i];
	}
	for (int i = 0; i < h->n_xlinks; i++) {
		struct rs_xlink *x = rs_host_xlink_add(l, c, 0, 0, RS_XLINK_SOCKET);

		if (x)
			*x = h->xlinks[i];
	}
	return c;
}

void rs_host_sort(struct rs_load *l, struct rs_host *h)
{
	int *at = rs_load_take(l, (size_t)h->n_parts + 1, sizeof(*at)), n = 0;
	struct rs_part *sorted = rs_load_take(l, (size_t)h->n_parts + 1, sizeof(*sorted));

	if (l->err)
		return;
	for (int kind = RS_PART_SOCKET; kind <= RS_PART_OTHER; kind++)
		for (int i = 0; i < h->n_parts; i++)
			if ((int)h->parts[i].kind == kind) {
				at[i] = n;
				sorted[n++] = h->parts[i];
			}
	for (int i = 0; i < n; i++) {
		if (sorted[i].parent >= 0)
			sorted[i].parent = at[sorted[i].parent];
		if (sorted[i].parent2 >= 0)
			sorted[i].parent2 = at[sorted[i].parent2];
		h->parts[i] = sorted[i];
	}
	for (int i = 0; i < h->n_xlinks; i++) {
		h->xlinks[i].a = at[h->xlinks[i].a];
		h->xlinks[i].b = at[h->xlinks[i].b];
	}
}

/* Sockets that no link joins are joined all to all, by the CPU model's defaults. */
static void join_sockets(struct rs_load *l, struct rs_host *h)
{
	for (int i = 0; i < h->n_xlinks; i++)
		if (h->xlinks[i].kind == RS_XLINK_SOCKET)
			return;
	for (int i = 0; i < h->n_parts; i++)
		for (int j = i + 1; j < h->n_parts; j++)
			if (h->parts[i].kind == RS_PART_SOCKET &&
			    h->parts[j].kind == RS_PART_SOCKET)
				rs_host_xlink_add(l, h, i, j, RS_XLINK_SOCKET);
}

void rs_host_close(struct rs_load *l, struct rs_host *h, struct rs_where at)
{
	struct rs_error e = {0};

	if (!l->err)
		join_sockets(l, h);
	if (!l->err)
		rs_host_sort(l, h);
	if (!l->err && rs_host_check(h, &e))
		rs_load_fail(l, -EINVAL, at, "%s", e.what);
}
