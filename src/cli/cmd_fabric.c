/* ripstop fabric show|check|convert FILE: a description as people read it, and as canonical YAML.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/units.h"
#include "cli/cli.h"
#include "describe/describe.h"
#include "fabric/fabric.h"
#include "report/report.h"
#include "plant/plant.h"

static int help(FILE *out)
{
	fputs("Usage: ripstop fabric show|check|convert [--set PATH=VALUE]... [--output FILE] "
	      "FILE\n\n"
	      "FILE is a description, or a host's topology as NCCL or hwloc (lstopo) writes it:\n"
	      "then one such host on a single switch.\n\n"
	      "  show      the hosts as trees, the network as a table\n"
	      "  check     read it all; silent and 0 when it is good\n"
	      "  convert   canonical YAML, on standard output or into --output\n\n"
	      "Examples:\n"
	      "  ripstop fabric show scenarios/midnight.yaml\n"
	      "  ripstop fabric convert --output big.yaml --set fabric.network.k=16 tree.yaml\n\n"
	      "Exit status: 0 good, 2 bad input, 3 out of memory or disk.\n",
	      out);
	return RS_EXIT_OK;
}

static const char *place(const struct rs_part *p, char *buf, size_t size)
{
	if (p->kind == RS_PART_SOCKET || p->kind == RS_PART_NVSWITCH)
		return "";
	if (!p->up.gen || !p->up.lanes)
		return "unknown";
	snprintf(buf, size, "Gen%u x%u", p->up.gen, p->up.lanes);
	return buf;
}

static void part_row(struct rs_table *t, const struct rs_host *h, int i, unsigned depth)
{
	const struct rs_part *p = &h->parts[i];
	char link[24], rate[32], ports[16];

	rs_table_tree_row(t, depth);
	rs_table_cell(t, "%s", p->name);
	rs_table_cell(t, "%s",
		      p->model                              ? p->model
		      : p->kind == RS_PART_SOCKET && h->cpu ? h->cpu
							    : "");
	rs_table_cell(t, "%s", place(p, link, sizeof(link)));
	snprintf(ports, sizeof(ports), "%u x ", p->ports);
	rs_table_cell(t, "%s%s", p->ports > 1 ? ports : "",
		      p->port_rate ? rs_format_rate(rate, sizeof(rate), p->port_rate) : "");
	rs_table_cell(t, "%s%s",
		      p->parent2 >= 0 ? "also on "
		      : p->busid      ? p->busid
				      : "",
		      p->parent2 >= 0 ? h->parts[p->parent2].name : "");
	for (int c = 0; c < h->n_parts && depth < 60; c++)
		if (h->parts[c].parent == i)
			part_row(t, h, c, depth + 1);
}

static int show_host(const struct rs_fabric *f, uint32_t first, uint32_t n)
{
	const struct rs_host *h = f->hosts[first].inside;
	struct rs_table *t = rs_table_create(NULL);

	if (n == 1)
		printf("Host %s (%s)\n", f->hosts[first].name, h->source);
	else
		printf("Hosts %s to %s, %u alike (%s)\n", f->hosts[first].name,
		       f->hosts[first + n - 1].name, n, h->source);
	if (!t)
		return -ENOMEM;
	rs_table_column(t, "device", RS_LEFT);
	rs_table_column(t, "model", RS_LEFT);
	rs_table_column(t, "PCIe link", RS_LEFT);
	rs_table_column(t, "port", RS_RIGHT);
	rs_table_column(t, "address", RS_LEFT);
	for (int i = 0; i < h->n_parts; i++)
		if (h->parts[i].parent < 0)
			part_row(t, h, i, 0);
	return rs_table_print(t, stdout);
}

static int show_hosts(const struct rs_fabric *f)
{
	int err = 0;

	if (f->net.plain_hosts && f->n_hosts == 1)
		printf("1 plain host, %s, of %u NIC%s\n\n", f->hosts[0].name, f->net.nics,
		       f->net.nics > 1 ? "s" : "");
	else if (f->net.plain_hosts)
		printf("%u plain hosts, %s to %s, of %u NIC%s%s%s\n\n", f->n_hosts,
		       f->hosts[0].name, f->hosts[f->n_hosts - 1].name, f->net.nics,
		       f->net.nics > 1 ? "s" : "", f->net.nics > 1 ? ": " : "",
		       f->net.nics > 1 ? f->endpoints[0].name : "");
	for (uint32_t i = 0, n; !f->net.plain_hosts && !err && i < f->n_hosts; i += n) {
		n = 1;
		while (i + n < f->n_hosts && f->hosts[i + n].inside == f->hosts[i].inside)
			n++;
		err = show_host(f, i, n);
		putchar('\n');
	}
	return err;
}

static void fact(struct rs_table *t, const char *name, const char *value)
{
	rs_table_row(t);
	rs_table_cell(t, "%s", name);
	rs_table_cell(t, "%s", value);
}

static int show_network(const struct rs_fabric *f)
{
	static const char *const kinds[] = {"single switch", "leaf-spine", "fat tree", "rail",
					    "explicit"};
	struct rs_table *t = rs_table_create("Network");
	struct rs_network_facts x;
	char buf[64];

	if (!t)
		return -ENOMEM;
	rs_fabric_facts(f, &x);
	rs_table_column(t, "what", RS_LEFT);
	rs_table_column(t, "value", RS_RIGHT);
	fact(t, "kind", kinds[f->kind]);
	if (f->kind == RS_NET_RAIL) {
		snprintf(buf, sizeof(buf), "%u x %u", f->net.leaves / f->net.rails, f->net.rails);
		fact(t, "groups of hosts x rails", buf);
	}
	snprintf(buf, sizeof(buf), "%u", x.tiers);
	fact(t, "tiers", buf);
	snprintf(buf, sizeof(buf), "%u", x.switches);
	fact(t, "switches", buf);
	snprintf(buf, sizeof(buf), "%u", f->n_endpoints);
	fact(t, "endpoints (NIC ports)", buf);
	snprintf(buf, sizeof(buf), "%u", f->n_gpus);
	fact(t, "ranks (GPUs)", buf);
	snprintf(buf, sizeof(buf), "%u + %u", x.host_links, x.fabric_links);
	fact(t, "links, to hosts + between switches", buf);
	snprintf(buf, sizeof(buf), "%.2f", x.oversubscription);
	fact(t, "oversubscription, worst leaf", x.oversubscription > 0 ? buf : "none: one tier");
	fact(t, "bisection", rs_human_rate(buf, sizeof(buf), (double)x.bisection));
	snprintf(buf, sizeof(buf), "%u", x.diameter);
	fact(t, "switches on the longest path", buf);
	return rs_table_print(t, stdout);
}

/* Of runs of switches that are alike. */
static int show_switches(const struct rs_fabric *f)
{
	static const char *const tiers[] = {"leaf", "spine", "core"};
	struct rs_table *t = rs_table_create("Switches");

	if (!t)
		return -ENOMEM;
	rs_table_column(t, "names", RS_LEFT);
	rs_table_column(t, "tier", RS_LEFT);
	rs_table_column(t, "switches", RS_RIGHT);
	rs_table_column(t, "ports", RS_RIGHT);
	for (uint32_t i = 0, n; i < f->n_switches; i += n) {
		const struct rs_fabric_switch *s = &f->switches[i];

		for (n = 1;
		     i + n < f->n_switches && s[n].tier == s->tier && s[n].n_ports == s->n_ports;)
			n++;
		rs_table_row(t);
		rs_table_cell(t, n > 1 ? "%s to %s" : "%s", s->name, s[n - 1].name);
		if (s->tier < RS_TIERS)
			rs_table_cell(t, "%s", tiers[s->tier]);
		else
			rs_table_cell(t, "%u", s->tier);
		rs_table_cell(t, "%u", n);
		rs_table_cell(t, "%u", s->n_ports);
	}
	return rs_table_print(t, stdout);
}

static void show_changes(const struct rs_fabric *f)
{
	if (f->n_changes)
		printf("\nChanged (%u link%s down):\n", f->n_down, f->n_down == 1 ? "" : "s");
	for (uint32_t i = 0; i < f->n_changes; i++)
		rs_paragraph(stdout, 2, "%s", f->changes[i]);
}

static void show_events(const struct rs_fabric *f)
{
	const struct rs_fabric_events *v = &f->events;

	if (!v->n_texts)
		return;
	printf("\nWhat happens (%u event%s in all; switches beside a link know after %g us, all "
	       "others "
	       "%g us later):\n",
	       v->n, v->n == 1 ? "" : "s", (double)v->detect / RS_US, (double)v->converge / RS_US);
	for (uint32_t i = 0; i < v->n_texts; i++)
		rs_paragraph(stdout, 2, "%s", v->text[i]);
}

static int show(const struct rs_fabric *f)
{
	int err;

	if (f->assumed)
		rs_paragraph(stdout, 0, "Assumed: %s.", f->assumed);
	if (f->assumed)
		fputc('\n', stdout);
	err = show_hosts(f);

	if (!err)
		err = show_network(f);
	if (!err) {
		fputc('\n', stdout);
		err = show_switches(f);
	}
	if (!err)
		show_changes(f);
	if (!err)
		show_events(f);
	if (!err && f->n_unknown)
		puts("\nNot said by the sources, and so unknown:");
	for (uint32_t i = 0; i < f->n_unknown; i++)
		rs_paragraph(stdout, 2, "%s", f->unknown[i]);
	return err;
}

static int convert(const struct rs_fabric *f, const char *path, struct rs_error *e)
{
	struct rs_outfile o;
	int err = rs_outfile_open(&o, path, e);

	if (err)
		return err;
	if (rs_fabric_write(f, o.f)) {
		rs_outfile_abort(&o);
		return rs_error_set(e, -EIO, "cannot write '%s'", path);
	}
	return rs_outfile_commit(&o, e);
}

struct arguments {
	const char *verb, *file, *output;
	struct rs_cli_settings sets;
};

static int parse(struct arguments *a, int argc, char **argv)
{
	struct rs_error e = {0};

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--set") && i + 1 < argc) {
			if (rs_cli_setting(&a->sets, argv[++i], &e))
				return rs_cli_usage("fabric", "%s", e.what);
		} else if (!strcmp(argv[i], "--output") && i + 1 < argc) {
			a->output = argv[++i];
		} else if (argv[i][0] == '-' && argv[i][1]) {
			if (!strcmp(argv[i], "--set") || !strcmp(argv[i], "--output"))
				return rs_cli_usage("fabric", "%s needs a value", argv[i]);
			return rs_cli_usage("fabric", "no option '%s'", argv[i]);
		} else if (!a->verb) {
			a->verb = argv[i];
		} else if (!a->file) {
			a->file = argv[i];
		} else {
			return rs_cli_usage("fabric", "one FILE at a time");
		}
	}
	if (!a->verb ||
	    (strcmp(a->verb, "show") && strcmp(a->verb, "check") && strcmp(a->verb, "convert")))
		return rs_cli_usage("fabric", "expected show, check or convert");
	return a->file ? 0 : rs_cli_usage("fabric", "%s: which FILE?", a->verb);
}

int rs_cmd_fabric(int argc, char **argv)
{
	struct arguments a = {.output = "-"};
	struct rs_error e = {0};
	struct rs_fabric *f;
	int err;

	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return help(stdout);
	err = parse(&a, argc, argv);
	if (err)
		return err;
	if (rs_fabric_load(a.file, a.sets.set, a.sets.n, &f, &e))
		return rs_cli_error(&e);
	err = rs_plant_cc_fill(f, &e);
	if (!err && !strcmp(a.verb, "show"))
		err = show(f) ? rs_error_set(&e, -ENOMEM, "out of memory") : 0;
	else if (!err && !strcmp(a.verb, "convert"))
		err = convert(f, a.output, &e);
	rs_fabric_free(f);
	return err ? rs_cli_error(&e) : RS_EXIT_OK;
}
