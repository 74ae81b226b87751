/* The hosts that take part, from facts: as prices see them where their PCI trees were read, from
 * lists of devices otherwise. What is too little is said, with what to run next. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/facts/look.h"
#include "audit/facts/nccl.h"
#include "audit/price/model.h"
#include "base/units.h"
#include "expect/state.h"
#include "host/build.h"

static unsigned count(const struct rs_host *h, enum rs_part_kind kind)
{
	unsigned n = 0;

	for (int i = 0; h && i < h->n_parts; i++)
		n += h->parts[i].kind == kind;
	return n;
}

/* ---- NICs that take part ---- */

static bool down(const struct rs_audit *a, const char *host, const char *nic)
{
	const char *state = rs_facts_value(a->facts, host, nic, "port_state");

	return state && (strstr(state, "DOWN") || strstr(state, "Down") || strstr(state, "INIT") ||
			 strstr(state, "Init"));
}

/* The job's own list: NCCL_IB_HCA, or what its log says that it uses. */
bool expect_listed(const struct rs_audit *a, const char *host, const char *name)
{
	const struct rs_fact *hca = rs_nccl_env(a, host, "NCCL_IB_HCA"), *f;
	uint32_t at = 0;
	bool any = false;

	if (hca && *hca->value && !rs_look_hca(hca->value, name))
		return false;
	while ((f = rs_facts_next(a->facts, &at, host, "nccl", "using/"))) {
		size_t n = strcspn(f->value, ":/ ");

		any = true;
		if (n == strlen(name) && !strncmp(f->value, name, n))
			return true;
	}
	return !any;
}

static void leave_out(struct rs_host *h, int i, uint8_t *left, uint8_t why)
{
	if (count(h, RS_PART_NIC) < 2)
		return;
	h->parts[i].kind = RS_PART_OTHER;
	left[i] |= why;
}

/* Ports that are up, at the rate of the fastest, RDMA devices where any is known by name. */
static void choose_nics(struct rs_expect *x, const char *host, struct rs_host *h, uint8_t *left)
{
	const struct rs_audit *a = x->audit;
	bool named = false;
	int64_t best = 0;

	for (int pass = 0; pass < 3; pass++)
		for (int i = 0; i < h->n_parts; i++) {
			struct rs_part *p = &h->parts[i];
			char nic[160];

			if (p->kind != RS_PART_NIC)
				continue;
			snprintf(nic, sizeof(nic), "nic/%s", p->name);
			if (pass == 0)
				named |= rs_look_any(a, host, nic, "");
			else if (pass == 1 && named && !rs_look_any(a, host, nic, ""))
				leave_out(h, i, left, 0);
			else if (pass == 1 && down(a, host, nic))
				leave_out(h, i, left, LEFT_DOWN);
			else if (pass == 1 && !expect_listed(a, host, p->name))
				leave_out(h, i, left, LEFT_UNLISTED);
			else if (pass == 1)
				best = p->port_rate > best ? p->port_rate : best;
			else if (best && p->port_rate && p->port_rate < best / 2)
				leave_out(h, i, left, 0);
		}
}

/* Parts of the lists that the tree lacks: NICs of another domain, GPUs of topo -m. */
static void add_missing(struct rs_host *h, const struct rs_host *lists, enum rs_part_kind kind,
			struct rs_load *l)
{
	int socket = RS_NO_PART;

	for (int i = 0; i < h->n_parts && socket < 0; i++)
		if (h->parts[i].kind == RS_PART_SOCKET)
			socket = i;
	if (count(h, kind))
		return;
	for (int i = 0; lists && i < lists->n_parts; i++) {
		struct rs_part *p;

		if (lists->parts[i].kind != kind)
			continue;
		p = rs_host_part_add(l, h, kind, lists->parts[i].name);
		if (p) {
			*p = lists->parts[i];
			p->parent = socket;
		}
	}
}

static struct rs_host *inside(struct rs_expect *x, const char *host, struct rs_load *l)
{
	struct rs_error none = {0};
	struct rs_host *h = NULL, *lists = expect_place(x, host, l);

	if (rs_audit_host(x->audit, host, &h, &none) ||
	    (!count(h, RS_PART_NIC) && !count(h, RS_PART_GPU)))
		h = NULL;
	/* a tree without links or GPUs tells less than topo -m, where that is all */
	if (!h || (lists && count(lists, RS_PART_GPU) && count(lists, RS_PART_NIC) &&
		   (!count(h, RS_PART_GPU) || !count(h, RS_PART_NIC))))
		h = lists;
	if (!h)
		return NULL;
	if (h != lists) {
		add_missing(h, lists, RS_PART_NIC, l);
		add_missing(h, lists, RS_PART_GPU, l);
	}
	return h;
}

/* ---- Hosts ---- */

/* in: what is inside it; NULL: too little is known. */
static int take(struct rs_expect *x, const char *name, struct rs_host *in, struct rs_load *l)
{
	struct expect_model *m = &x->world->model;
	struct expect_host *h = &m->host[m->n];

	if (!in || (!count(in, RS_PART_NIC) && !count(in, RS_PART_GPU)))
		return l->err;
	*h = (struct expect_host){.name = name, .inside = in, .nic = -1};
	h->lacks = rs_load_take(l, (size_t)in->n_parts + 1, 1);
	if (!h->lacks)
		return l->err;
	choose_nics(x, name, in, h->lacks);
	expect_complete(x, h, l);
	if (!l->err && !rs_host_check(in, NULL))
		m->n++;
	return l->err;
}

/* Hosts that were not read are copies of the first. */
static void fill_up(struct expect_model *m, uint32_t n)
{
	while (m->n && m->n < n) {
		m->host[m->n] = m->host[0];
		m->host[m->n++].twin = true;
	}
}

/* ---- The NICs of perftest ---- */

static int find_nic(const struct rs_host *h, const char *name, size_t n)
{
	for (int i = 0; i < h->n_parts; i++)
		if (h->parts[i].kind == RS_PART_NIC && strlen(h->parts[i].name) == n &&
		    !strncmp(h->parts[i].name, name, n))
			return i;
	return RS_NO_PART;
}

/* By name: trees list devices socket by socket. */
static int first_nic(const struct rs_host *h)
{
	int first = RS_NO_PART;

	for (int i = 0; i < h->n_parts; i++)
		if (h->parts[i].kind == RS_PART_NIC && h->parts[i].port_rate &&
		    (first < 0 || rs_facts_compare(h->parts[i].name, h->parts[first].name) < 0))
			first = i;
	return first;
}

static int bad_nic(const struct expect_host *h, const char *name, size_t n, struct rs_error *e)
{
	struct rs_enumeration all = {.n = 0};

	for (int i = 0; i < h->inside->n_parts; i++)
		if (h->inside->parts[i].kind == RS_PART_NIC)
			rs_enumerate(&all, ", ", "%s", h->inside->parts[i].name);
	rs_error_set(e, -EINVAL, "--nic: %s has no NIC '%.*s'; it has %s", h->name, (int)n, name,
		     all.n ? all.text : "none");
	return e->code;
}

static int choose_pair(struct rs_expect *x, const char *names, struct rs_error *e)
{
	struct expect_model *m = &x->world->model;

	for (uint32_t i = 0; i < m->n; i++) {
		struct expect_host *h = &m->host[i];
		const char *comma = names ? strchr(names, ',') : NULL;
		const char *name = i == 1 && comma ? comma + 1 : names;
		size_t n = name ? (comma && name == names ? (size_t)(comma - names) : strlen(name))
				: 0;

		h->nic = first_nic(h->inside);
		if (name && i < 2 && h->nic != RS_NO_PART) {
			h->nic = find_nic(h->inside, name, n);
			if (h->nic == RS_NO_PART)
				return bad_nic(h, name, n, e);
		} else if (i == 1 && h->nic != RS_NO_PART && m->host[0].nic != RS_NO_PART) {
			/* the same rail, where it has that name there */
			const char *same = m->host[0].inside->parts[m->host[0].nic].name;
			int k = find_nic(h->inside, same, strlen(same));

			h->nic = k != RS_NO_PART ? k : h->nic;
		}
	}
	return 0;
}

/* ---- What is too little ---- */

static bool all_have(const struct expect_model *m, enum rs_part_kind kind)
{
	for (uint32_t i = 0; i < m->n; i++)
		if (!count(m->host[i].inside, kind))
			return false;
	return m->n > 0;
}

static void say_lack(struct rs_expect *x)
{
	static const char collect[] = "ripstop audit --collect host.tar.gz";
	const struct expect_model *m = &x->world->model;

	if (!m->n) {
		x->no_perftest = x->no_nccl =
			"nothing that was read, or given, names a NIC or a GPU";
		x->next = collect;
		return;
	}
	if (!all_have(m, RS_PART_NIC)) {
		x->no_perftest = "no NIC is known";
		x->no_nccl = "no NIC is known, and hosts are joined by theirs";
		x->next = "ibstat";
	} else if (m->host[0].nic == RS_NO_PART || m->host[1].nic == RS_NO_PART) {
		x->no_perftest = "neither a port's rate nor the NIC's model is known";
		x->next = "ibstat";
	}
	if (!all_have(m, RS_PART_GPU)) {
		x->no_nccl = "no GPU is known";
		x->next = x->next ? x->next : "nvidia-smi topo -m";
	} else if (!expect_gpu_assumed(x, m->host[0].name)) {
		bool slot = false;

		for (int i = 0; i < m->host[0].inside->n_parts; i++)
			slot |= m->host[0].inside->parts[i].kind == RS_PART_GPU &&
				m->host[0].inside->parts[i].up.gen;
		if (!slot) {
			x->no_nccl = "neither the GPUs' model nor their slots are known";
			x->next = x->next ? x->next : "nvidia-smi -L";
		}
	}
}

static void tell_hosts(struct rs_expect *x)
{
	const struct expect_model *m = &x->world->model;

	x->host = rs_arena_alloc(x->arena, m->n + 1, sizeof(*x->host));
	for (uint32_t i = 0; x->host && i < m->n; i++, x->n_hosts++) {
		const struct expect_host *h = &m->host[i];

		x->host[i] = (struct rs_expect_host){
			.name = h->name,
			.nic = h->nic >= 0 ? h->inside->parts[h->nic].name : NULL,
			.nics = count(h->inside, RS_PART_NIC),
			.gpus = count(h->inside, RS_PART_GPU),
			.twin = h->twin};
	}
}

int expect_hosts(struct rs_expect *x, const struct rs_expect_options *o, struct rs_error *e)
{
	struct rs_load l = {.arena = x->arena, .e = e, .name = "hosts"};
	struct expect_model *m = &x->world->model;
	uint32_t wanted = o->hosts > 2 ? o->hosts : 2;
	int err = 0;

	for (uint32_t i = 0; i < rs_facts_hosts(x->audit->facts) && !err; i++) {
		const char *name = rs_facts_host(x->audit->facts, i);

		if (m->n < RS_EXPECT_HOSTS_MAX && !rs_facts_is_switch(x->audit->facts, name))
			err = take(x, name, inside(x, name, &l), &l);
	}
	if (!m->n && !err)
		err = take(x, "given", expect_place_given(x, &l), &l);
	if (err)
		return err;
	/* more hosts than were asked for: the first of them */
	if (o->hosts && m->n > wanted)
		m->n = wanted;
	fill_up(m, wanted);
	err = choose_pair(x, o->nic, e);
	if (err)
		return err;
	say_lack(x);
	tell_hosts(x);
	return x->host ? 0 : rs_error_set(e, -ENOMEM, "out of memory");
}
