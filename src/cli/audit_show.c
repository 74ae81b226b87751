/* `ripstop audit --show`: each host as a tree of sockets, PCIe switches, GPUs and NICs with what
 * their links run at, and how far GPUs and NICs are from each other. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "audit/facts/look.h"
#include "audit/price/model.h"
#include "base/units.h"
#include "cli/audit_report.h"
#include "report/report.h"

enum { NICS_SHOWN = 11, GPUS_SHOWN = 64, DEPTH_MAX = 60 }; /* across: 100 columns */

struct show {
	const struct rs_audit *a;
	const char *host;
	const struct rs_host *h;
	struct rs_table *t;
};

static const char *what(const struct show *s, const struct rs_part *p, char *buf, size_t size)
{
	char subject[128];
	const char *netdev;

	switch (p->kind) {
	case RS_PART_SOCKET:
		return p->numa < 0 ? "NUMA node not known" : "NUMA node";
	case RS_PART_PCI_BRIDGE:
		return "PCIe switch";
	case RS_PART_GPU:
		return "GPU";
	case RS_PART_NIC:
		snprintf(subject, sizeof(subject), "nic/%s", p->name);
		netdev = rs_facts_value(s->a->facts, s->host, subject, "netdev");
		snprintf(buf, size, "NIC%s%s", netdev ? " " : "", netdev ? netdev : "");
		return buf;
	default:
		return "interface";
	}
}

/* "Gen4 x8, of Gen5 x16": what the function itself could do. */
static void link_cell(const struct show *s, const struct rs_part *p)
{
	char subject[64], of[48] = "";
	int64_t speed, width;
	const char *gbytes;
	unsigned gen;

	if (p->kind == RS_PART_SOCKET) {
		rs_table_cell(s->t, "%s", "");
		return;
	}
	snprintf(subject, sizeof(subject), "pci/%s", p->busid ? p->busid : "");
	speed = rs_look_number(s->a, s->host, subject, "max_link_speed", 0);
	width = rs_look_number(s->a, s->host, subject, "max_link_width", 0);
	gen = rs_audit_pcie_gen(speed);
	if (gen && p->up.gen && (gen > p->up.gen || width > p->up.lanes))
		snprintf(of, sizeof(of), ", of Gen%u x%d", gen, width ? (int)width : p->up.lanes);
	/* hwloc's bandwidth is that of several links */
	gbytes = rs_facts_value(s->a->facts, s->host, subject, "link_gbytes");
	if (gbytes && !rs_facts_get(s->a->facts, s->host, subject, "link_speed"))
		rs_table_cell(s->t, "%.2f GB/s", strtod(gbytes, NULL));
	else if (p->up.gen && p->up.lanes)
		rs_table_cell(s->t, "Gen%u x%u%s", p->up.gen, p->up.lanes, of);
	else
		rs_table_cell(s->t, "%s", "not known");
}

static void row(const struct show *s, int i, unsigned depth)
{
	const struct rs_part *p = &s->h->parts[i];
	char rate[32], buf[96];

	rs_table_tree_row(s->t, depth);
	rs_table_cell(s->t, "%s", p->name);
	rs_table_cell(s->t, "%s", what(s, p, buf, sizeof(buf)));
	link_cell(s, p);
	rs_table_cell(s->t, "%s",
		      p->port_rate ? rs_format_rate(rate, sizeof(rate), p->port_rate) : "");
	rs_table_cell(s->t, "%s", p->busid ? p->busid : "");
	for (int c = 0; c < s->h->n_parts && depth < DEPTH_MAX; c++)
		if (s->h->parts[c].parent == i)
			row(s, c, depth + 1);
}

static unsigned list(const struct rs_host *h, enum rs_part_kind kind, int *out, unsigned most)
{
	unsigned n = 0;

	for (int i = 0; i < h->n_parts; i++)
		if (h->parts[i].kind == kind && n < most)
			out[n++] = i;
	return n;
}

/* NICs across under short names, which are spelt out below where they had to be shortened. */
static void distances(const struct show *s, FILE *out)
{
	int nic[NICS_SHOWN], gpu[GPUS_SHOWN];
	unsigned nics = list(s->h, RS_PART_NIC, nic, NICS_SHOWN);
	unsigned gpus = list(s->h, RS_PART_GPU, gpu, GPUS_SHOWN);
	bool shorten = false;

	if (!nics || !gpus)
		return;
	for (unsigned k = 0; k < nics; k++)
		shorten |= strlen(s->h->parts[nic[k]].name) > 7;
	fprintf(out, "\n%-6s", "");
	for (unsigned k = 0; k < nics; k++) {
		char name[16];

		snprintf(name, sizeof(name), "NIC%u", k);
		fprintf(out, " %-7s", shorten ? name : s->h->parts[nic[k]].name);
	}
	for (unsigned i = 0; i < gpus; i++) {
		fprintf(out, "\n%-6s", s->h->parts[gpu[i]].name);
		for (unsigned k = 0; k < nics; k++)
			fprintf(out, " %-7s",
				rs_distance_name(rs_host_distance(s->h, gpu[i], nic[k])));
	}
	fputc('\n', out);
	for (unsigned k = 0; k < nics && shorten; k++)
		fprintf(out, "  NIC%u = %s\n", k, s->h->parts[nic[k]].name);
}

static int show_host(struct rs_audit *a, const char *host, FILE *out, struct rs_error *e)
{
	struct show s = {.a = a, .host = host};
	struct rs_error none = {0};
	struct rs_host *h;
	int err = rs_audit_host(a, host, &h, &none);

	if (err == -ENODATA) {
		fprintf(out, "%s\n", none.what);
		return 0;
	}
	if (err)
		return rs_error_set(e, err, "%s", none.what);
	s.h = h;
	s.t = rs_table_create(NULL);
	if (!s.t)
		return rs_error_set(e, -ENOMEM, "out of memory");
	fprintf(out, "Host %s\n", host);
	rs_table_column(s.t, "device", RS_LEFT);
	rs_table_column(s.t, "is", RS_LEFT);
	rs_table_column(s.t, "PCIe link", RS_LEFT);
	rs_table_column(s.t, "port", RS_RIGHT);
	rs_table_column(s.t, "address", RS_LEFT);
	for (int i = 0; i < h->n_parts; i++)
		if (h->parts[i].parent < 0)
			row(&s, i, 0);
	if (rs_table_print(s.t, out))
		return rs_error_set(e, -ENOMEM, "out of memory");
	distances(&s, out);
	return 0;
}

int rs_audit_show(struct rs_audit *a, FILE *out, struct rs_error *e)
{
	int err = 0;

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts) && !err; i++) {
		const char *host = rs_facts_host(a->facts, i);

		if (rs_facts_is_switch(a->facts, host))
			continue;
		err = show_host(a, host, out, e);
		fputc('\n', out);
	}
	return err;
}
