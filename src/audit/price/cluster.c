/* The audited hosts as a cluster, and its description in the grammar of docs/fabric.md. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "audit/price/cluster.h"
#include "audit/facts/look.h"
#include "audit/price/model.h"
#include "base/units.h"
#include "text/tree.h"

enum { ASSUMED_GBPS = 400 };

static unsigned count_parts(const struct rs_host *h, enum rs_part_kind kind)
{
	unsigned n = 0;

	for (int i = 0; h && i < h->n_parts; i++)
		n += h->parts[i].kind == kind;
	return n;
}

/* NICs that take part: ports of a rate, active, not the slow ones for management. */
static void drop_idle_nics(const struct rs_audit *a, struct rs_host *h)
{
	int64_t best = 0;

	for (int i = 0; i < h->n_parts; i++)
		if (h->parts[i].kind == RS_PART_NIC && h->parts[i].port_rate > best)
			best = h->parts[i].port_rate;
	for (int i = 0; i < h->n_parts; i++) {
		struct rs_part *p = &h->parts[i];
		char subject[128];
		const char *state;

		if (p->kind != RS_PART_NIC)
			continue;
		snprintf(subject, sizeof(subject), "nic/%s", p->name);
		state = rs_facts_value(a->facts, h->name, subject, "port_state");
		if ((best && p->port_rate < best / 4) || (state && !strcmp(state, "DOWN")))
			p->kind = RS_PART_OTHER;
	}
}

static void take_host(struct rs_audit *a, struct rs_cluster *c, const char *host)
{
	struct rs_error none = {0};
	struct rs_host *h = NULL;
	uint32_t at = 0, nics = 0, gpus;
	const char *nic;

	for (uint32_t i = 0; i < c->n; i++)
		if (!strcmp(c->host[i].name, host))
			return;
	if (c->n == RS_CLUSTER_HOSTS || rs_facts_is_switch(a->facts, host))
		return;
	if (!rs_audit_host(a, host, &h, &none))
		drop_idle_nics(a, h);
	while ((nic = rs_facts_subject(a->facts, &at, host, "nic/"))) {
		int64_t rate = rs_look_number(a, host, nic, "rate_gbps", 0) * 1000000000;

		nics++;
		if (rate > c->rate && rate <= INT64_C(3200000000000))
			c->rate = rate;
	}
	gpus = count_parts(h, RS_PART_GPU);
	if (!gpus || !count_parts(h, RS_PART_NIC) || rs_host_check(h, NULL))
		h = NULL;
	/* a host of which nothing but, say, an environment was seen is no host of this cluster */
	if (!h && !nics && !rs_look_any(a, host, "netdev/", ""))
		return;
	if (h) {
		nics = count_parts(h, RS_PART_NIC);
		c->gpus = gpus > c->gpus ? gpus : c->gpus;
	}
	c->nics = nics > c->nics ? nics : c->nics;
	c->host[c->n].name = host;
	c->host[c->n++].inside = h;
}

int rs_audit_cluster(struct rs_audit *a, const char *const *first, uint32_t most,
		     struct rs_cluster *c, struct rs_error *e)
{
	bool inside = true;

	*c = (struct rs_cluster){
		.mtu = 4096, .lossless = true, .ecn = true, .cc = true, .bytes = 64 << 20};
	for (; first && *first && c->n < most; first++)
		take_host(a, c, *first);
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts) && c->n < most; i++)
		take_host(a, c, rs_facts_host(a->facts, i));
	if (!c->n)
		return rs_error_set(e, -ENODATA, "no host with a NIC is known");
	/* plain hosts and hosts with an inside do not mix in one ring */
	for (uint32_t i = 0; i < c->n; i++)
		inside &= c->host[i].inside != NULL;
	for (uint32_t i = 0; i < c->n && !inside; i++)
		c->host[i].inside = NULL;
	c->gpus = inside ? c->gpus : 0;
	c->nics = c->nics ? c->nics : 1;
	c->rate_assumed = !c->rate;
	for (uint32_t i = 0; i < c->n && c->rate_assumed; i++) {
		const char *nic;
		uint32_t at = 0;

		while ((nic = rs_facts_subject(a->facts, &at, c->host[i].name, "nic/"))) {
			int64_t rate = rs_look_kind_rate(a, c->host[i].name, nic) * 1000000000;

			c->rate = rate > c->rate ? rate : c->rate;
		}
	}
	if (!c->rate)
		c->rate = INT64_C(1000000000) * ASSUMED_GBPS;
	return 0;
}

/* ---- YAML ---- */

static void words(const char *key, const char *value, FILE *out)
{
	if (!value)
		return;
	fprintf(out, ", %s: ", key);
	rs_tree_write_string(out, value);
}

static void limit(const char *key, uint32_t v, const char *unit, FILE *out)
{
	if (v)
		fprintf(out, ", %s: %u%s", key, v == RS_NO_LIMIT ? 0 : v,
			v == RS_NO_LIMIT ? "" : unit);
}

/* What prices leave to the defaults. */
static void more(const struct rs_part *p, FILE *out)
{
	const struct rs_dma_limits *d = &p->limits;

	words("model", p->model, out);
	if (p->kind == RS_PART_NIC || p->kind == RS_PART_GPU)
		words("busid", p->busid, out);
	if (p->kind != RS_PART_NIC)
		return;
	limit("read_buffer", d->read_buffer, "B", out);
	limit("tags", d->tags, "", out);
	limit("posted_data_credits", d->data_credits, "", out);
	limit("posted_header_credits", d->header_credits, "", out);
	limit("inline", d->inline_bytes, "", out);
	limit("message_rate", d->message_rate, "e3", out);
	limit("qp_message_rate", d->qp_message_rate, "e3", out);
	limit("qp_rate", d->qp_rate, "M", out);
}

static void device(const struct rs_cluster *c, const struct rs_host *h, const struct rs_part *p,
		   FILE *out)
{
	char rate[32];

	fputs("        - {name: ", out);
	rs_tree_write_string(out, p->name);
	if (c->whole)
		more(p, out);
	if (p->parent != RS_NO_PART) {
		fputs(", on: ", out);
		rs_tree_write_string(out, h->parts[p->parent].name);
	}
	if (p->up.gen && p->up.lanes) {
		fprintf(out, ", pcie: {gen: %u, lanes: %u", p->up.gen, p->up.lanes);
		if (p->up.mps)
			fprintf(out, ", mps: %uB", p->up.mps);
		if (p->up.mrrs)
			fprintf(out, ", mrrs: %uB", p->up.mrrs);
		fputc('}', out);
	}
	if (p->port_rate && p->kind == RS_PART_NIC)
		fprintf(out, ", rate: %s", rs_format_rate(rate, sizeof(rate), p->port_rate));
	fputs("}\n", out);
}

static void devices(const struct rs_cluster *c, const struct rs_host *h, enum rs_part_kind kind,
		    const char *key, FILE *out)
{
	bool any = false;

	for (int i = 0; i < h->n_parts; i++) {
		if (h->parts[i].kind != kind)
			continue;
		if (!any)
			fprintf(out, "      %s:\n", key);
		any = true;
		device(c, h, &h->parts[i], out);
	}
}

static void xlinks(const struct rs_host *h, FILE *out)
{
	static const char *const kinds[] = {"socket", "nvlink", "c2c"};
	char rate[32];

	for (int i = 0; i < h->n_xlinks; i++) {
		const struct rs_xlink *x = &h->xlinks[i];

		fputs(i ? "        - {a: " : "      xlinks:\n        - {a: ", out);
		rs_tree_write_string(out, h->parts[x->a].name);
		words("b", h->parts[x->b].name, out);
		words("kind", kinds[x->kind], out);
		if (x->rate)
			fprintf(out, ", rate: %s", rs_format_rate(rate, sizeof(rate), x->rate));
		if (x->latency >= 0)
			fprintf(out, ", latency: %lldns", (long long)(x->latency / RS_NS));
		if (x->p2p_rate < 0)
			fputs(", p2p_rate: unlimited", out);
		else if (x->p2p_rate > 0)
			fprintf(out, ", p2p_rate: %s",
				rs_format_rate(rate, sizeof(rate), x->p2p_rate));
		fputs("}\n", out);
	}
}

static void write_host(const struct rs_cluster *c, uint32_t i, FILE *out)
{
	const struct rs_host *h = c->host[i].inside;

	char name[300];

	/* the number that the grammar puts behind a name keeps two of a name apart */
	snprintf(name, sizeof(name), "%.255s-", c->host[i].name);
	fputs("    - name: ", out);
	rs_tree_write_string(out, name);
	fprintf(out, "\n      first: %u\n", i);
	if (c->whole && h->cpu)
		fprintf(out, "      cpu: %s\n", h->cpu);
	devices(c, h, RS_PART_SOCKET, "sockets", out);
	devices(c, h, RS_PART_PCI_BRIDGE, "switches", out);
	devices(c, h, RS_PART_GPU, "gpus", out);
	devices(c, h, RS_PART_NIC, "nics", out);
	if (!c->whole)
		return;
	devices(c, h, RS_PART_NVSWITCH, "nvswitches", out);
	xlinks(h, out);
}

static void write_network(const struct rs_cluster *c, FILE *out)
{
	bool inside = c->host[0].inside != NULL;
	char rate[32];

	rs_format_rate(rate, sizeof(rate), c->rate);
	if (c->load != RS_LOAD_RINGS)
		fprintf(out, "  network: {kind: single-switch, hosts: %u, ",
			c->n + (c->load == RS_LOAD_BYSTANDER));
	else if (!inside)
		fprintf(out, "  network: {kind: single-switch, hosts: %u, nics: 1, ", c->n);
	else if (c->whole && c->nics == 1)
		fputs("  network: {kind: single-switch, ", out);
	else if (c->whole) /* spines: a plan may cross rails */
		fprintf(out, "  network: {kind: rail, leaves: %u, ports: 1024, ", c->nics);
	else
		fprintf(out, "  network: {kind: rail, leaves: %u, spines: 0, ports: 1024, ",
			c->nics);
	fprintf(out, "rate: %s, delay: %lldns, mtu: %u", rate,
		(long long)(c->delay ? c->delay / RS_NS : 500), c->mtu);
	if (c->loss > 0)
		fprintf(out, ", loss: %g", c->loss);
	fputs("}\n", out);
}

static void write_load(const struct rs_cluster *c, FILE *out)
{
	char bytes[32];

	rs_format_bytes(bytes, sizeof(bytes), c->bytes);
	fputs("workload:\n", out);
	if (c->work) {
		fputs(c->work, out);
		return;
	}
	if (c->load == RS_LOAD_RINGS) {
		fprintf(out,
			"  - collective: {op: all-reduce, algorithm: ring, bytes: %s, channels: "
			"%u}\n",
			bytes, c->host[0].inside ? c->nics : 1);
		return;
	}
	/* a job each, so that each has its own time */
	for (uint32_t i = 1; i < c->n; i++)
		fprintf(out, "%s      - {src: %u, dst: 0, bytes: %s}\n",
			i == 1 ? "  - flows:\n" : "", i, bytes);
	if (c->load == RS_LOAD_BYSTANDER)
		fprintf(out, "  - flows:\n      - {src: 1, dst: %u, bytes: %s}\n", c->n, bytes);
}

int rs_cluster_write(const struct rs_cluster *c, FILE *out)
{
	bool insides = c->host[0].inside && c->load == RS_LOAD_RINGS;

	fputs("fabric:\n", out);
	if (insides) {
		fputs("  hosts:\n", out);
		for (uint32_t i = 0; i < c->n; i++)
			write_host(c, i, out);
		fprintf(out, "  pairing: %s\n", c->by_index ? "index" : "nearest");
		if (c->tags)
			fprintf(out, "  host_model: {tags: %u}\n", c->tags);
	}
	write_network(c, out);
	fprintf(out, "  qos: {classes: [{class: 3, lossless: %s, ecn: %s}]",
		c->lossless ? "true" : "false", c->ecn ? "true" : "false");
	if (c->forward)
		fprintf(out, ", switch_latency: %lldns",
			c->forward > 0 ? (long long)(c->forward / RS_NS) : 0);
	fputs("}\n", out);
	fprintf(out, "  cc: {kind: %s}\n", c->cc ? "dcqcn, preset: mlx5" : "none");
	if (c->more)
		fputs(c->more, out);
	write_load(c, out);
	return ferror(out) ? -EIO : 0;
}
