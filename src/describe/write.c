/* Canonical YAML: every value written, in one order, so that reading it gives the same fabric and
 * writing that the same text. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/units.h"
#include "describe/describe.h"
#include "describe/load.h"

struct writer {
	FILE *out;
	bool uet; /* some host speaks Ultra Ethernet */
	char buf[40];
};

static void text(struct writer *w, const char *before, const char *key, const char *s)
{
	if (!s)
		return;
	fprintf(w->out, "%s%s: ", before, key);
	rs_tree_write_string(w->out, s);
}

static const char *rate(struct writer *w, int64_t v)
{
	return rs_format_rate(w->buf, sizeof(w->buf), v);
}

static const char *size(struct writer *w, uint64_t v)
{
	return rs_format_bytes(w->buf, sizeof(w->buf), v);
}

static const char *span(struct writer *w, rs_time v)
{
	return rs_format_time(w->buf, sizeof(w->buf), v);
}

static const char *yes(bool b)
{
	return b ? "true" : "false";
}

/* Of a class, host, job or flow. */
static void own_cc(struct writer *w, const struct rs_fabric *f, const char *before, uint8_t i)
{
	const struct rs_cc_conf *c = i ? rs_fabric_cc(f, i) : NULL;

	if (!c)
		return;
	fputs(before, w->out);
	text(w, "cc: {", "kind", c->kind);
	text(w, ", ", "preset", c->preset);
	for (uint32_t k = 0; k < c->n; k++)
		text(w, ", ", c->kv[k].key, c->kv[k].value);
	fputc('}', w->out);
}

/* ---- Hosts ---- */

static void pcie(struct writer *w, const char *key, const struct rs_pcie *p)
{
	if (!p->gen && !p->lanes && !p->mps && !p->mrrs)
		return;
	fprintf(w->out, ", %s: ", key);
	if (p->gen && p->lanes && !p->mps && !p->mrrs)
		fprintf(w->out, "gen%ux%u", p->gen, p->lanes);
	else
		fprintf(w->out, "{gen: %u, lanes: %u, mps: %uB, mrrs: %uB}", p->gen, p->lanes,
			p->mps, p->mrrs);
}

static void limit(struct writer *w, const char *key, uint32_t v, uint32_t unit)
{
	if (v)
		fprintf(w->out, ", %s: %llu", key,
			v == RS_NO_LIMIT ? 0ull : (unsigned long long)v * unit);
}

static void limits(struct writer *w, const struct rs_part *p)
{
	const struct rs_dma_limits *l = &p->limits;

	limit(w, "read_buffer", l->read_buffer, 1);
	limit(w, "tags", l->tags, 1);
	limit(w, "posted_data_credits", l->data_credits, 1);
	limit(w, "posted_header_credits", l->header_credits, 1);
	limit(w, "inline", l->inline_bytes, 1);
	limit(w, "message_rate", l->message_rate, 1000);
	limit(w, "qp_message_rate", l->qp_message_rate, 1000);
	if (l->qp_rate == RS_NO_LIMIT)
		fputs(", qp_rate: 0", w->out);
	else if (l->qp_rate)
		fprintf(w->out, ", qp_rate: %uM", l->qp_rate);
}

static void part(struct writer *w, const struct rs_host *h, const struct rs_part *p)
{
	text(w, "        - {", "name", p->name);
	text(w, ", ", "model", p->model);
	text(w, ", ", "busid", p->busid);
	if (p->parent >= 0)
		text(w, ", ", "on", h->parts[p->parent].name);
	pcie(w, "pcie", &p->up);
	if (p->parent2 >= 0)
		text(w, ", ", "on2", h->parts[p->parent2].name);
	pcie(w, "pcie2", &p->up2);
	if (p->numa >= 0)
		fprintf(w->out, ", numa: %d", p->numa);
	if (p->port_rate)
		fprintf(w->out, ", rate: %s", rate(w, p->port_rate));
	if (p->ports > 1)
		fprintf(w->out, ", ports: %u", p->ports);
	limits(w, p);
	fputs("}\n", w->out);
}

static void xlink(struct writer *w, const struct rs_host *h, const struct rs_xlink *x)
{
	static const char *const kinds[] = {"socket", "nvlink", "c2c"};

	text(w, "        - {", "a", h->parts[x->a].name);
	text(w, ", ", "b", h->parts[x->b].name);
	fprintf(w->out, ", kind: %s", kinds[x->kind]);
	if (x->rate)
		fprintf(w->out, ", rate: %s", rate(w, x->rate));
	if (x->latency >= 0)
		fprintf(w->out, ", latency: %s", span(w, x->latency));
	if (x->p2p_rate < 0)
		fputs(", p2p_rate: unlimited", w->out);
	else if (x->p2p_rate)
		fprintf(w->out, ", p2p_rate: %s", rate(w, x->p2p_rate));
	fputs("}\n", w->out);
}

static void inside(struct writer *w, const struct rs_host *h)
{
	static const char *const sections[] = {"sockets", "switches",   "gpus",
					       "nics",    "nvswitches", "others"};
	int last = -1;

	text(w, "      ", "cpu", h->cpu);
	fputs(h->cpu ? "\n" : "", w->out);
	text(w, "      ", "source", h->source);
	fputc('\n', w->out);
	for (int i = 0; i < h->n_parts; i++) {
		if ((int)h->parts[i].kind != last)
			fprintf(w->out, "      %s:\n", sections[h->parts[i].kind]);
		last = (int)h->parts[i].kind;
		part(w, h, &h->parts[i]);
	}
	if (h->n_xlinks)
		fputs("      xlinks:\n", w->out);
	for (int i = 0; i < h->n_xlinks; i++)
		xlink(w, h, &h->xlinks[i]);
}

/* "h12" is prefix "h", number 12; a number of more than six digits stays with the prefix. */
static size_t prefix_length(const char *name)
{
	size_t n = strlen(name), digits = 0;

	while (n > 1 && digits < 6 && isdigit((unsigned char)name[n - 1])) {
		n--;
		digits++;
	}
	while (name[n] == '0' && name[n + 1])
		n++;
	return n;
}

static void hosts(struct writer *w, const struct rs_fabric *f)
{
	fputs("  hosts:\n", w->out);
	for (uint32_t i = 0, n; i < f->n_hosts; i += n) {
		const char *name = f->hosts[i].name;
		size_t len = prefix_length(name);
		unsigned long first = strtoul(name + len, NULL, 10);
		char next[1100]; /* a prefix of up to 1000 bytes */

		for (n = 1; i + n < f->n_hosts; n++) {
			snprintf(next, sizeof(next), "%.*s%lu", (int)len, name, first + n);
			if (f->hosts[i + n].inside != f->hosts[i].inside ||
			    f->hosts[i + n].cc != f->hosts[i].cc ||
			    f->hosts[i + n].transport != f->hosts[i].transport ||
			    strcmp(next, f->hosts[i + n].name) != 0)
				break;
		}
		snprintf(next, sizeof(next), "%.*s", (int)len, name);
		text(w, "    - ", "name", next);
		fprintf(w->out, "\n      count: %u\n      first: %lu", n, first);
		own_cc(w, f, "\n      ", f->hosts[i].cc);
		if (f->hosts[i].transport)
			fprintf(w->out, "\n      transport: %s",
				transport_names[f->hosts[i].transport - 1]);
		fputc('\n', w->out);
		inside(w, f->hosts[i].inside);
	}
}

/* ---- Network ---- */

static void end(struct writer *w, const struct rs_fabric *f, const struct rs_link_end *e)
{
	rs_tree_write_string(w->out,
			     e->is_switch ? f->switches[e->id].name : f->endpoints[e->id].name);
}

static void explicit_lists(struct writer *w, const struct rs_fabric *f)
{
	fputs("    switches:\n", w->out);
	for (uint32_t i = 0; i < f->n_switches; i++) {
		text(w, "      - {", "name", f->switches[i].name);
		fprintf(w->out, ", tier: %u}\n", f->switches[i].tier);
	}
	fputs("    links:\n", w->out);
	for (uint32_t i = 0; i < f->n_links; i++) {
		const struct rs_fabric_link *l = f->drawn ? &f->drawn[i] : &f->links[i];

		fputs("      - {a: ", w->out);
		end(w, f, &l->a);
		fputs(", b: ", w->out);
		end(w, f, &l->b);
		fprintf(w->out, ", rate: %s", rate(w, l->rate));
		if (l->rate_back)
			fprintf(w->out, ", rate_back: %s", rate(w, l->rate_back));
		fprintf(w->out, ", delay: %s, loss: %.17g}\n", span(w, l->delay), l->loss);
	}
}

static void plain_names(struct writer *w, const struct rs_fabric *f)
{
	if (f->kind != RS_NET_EXPLICIT) {
		fprintf(w->out, "    hosts: %u\n", f->n_hosts);
		return;
	}
	fputs("    hosts: [", w->out);
	for (uint32_t i = 0; i < f->n_hosts; i++) {
		fputs(i ? ", " : "", w->out);
		rs_tree_write_string(w->out, f->hosts[i].name);
	}
	fputs("]\n", w->out);
}

static void network(struct writer *w, const struct rs_fabric *f)
{
	const struct rs_network_conf *c = &f->net;
	bool spines = f->kind == RS_NET_LEAF_SPINE || f->kind == RS_NET_RAIL;

	fprintf(w->out, "  network:\n    kind: %s\n", network_kinds[f->kind]);
	if (c->plain_hosts) {
		plain_names(w, f);
		fprintf(w->out, "    nics: %u\n", c->nics);
	}
	if (f->kind == RS_NET_FAT_TREE)
		fprintf(w->out, "    k: %u\n    tiers: %u\n", c->k, c->tiers);
	if (spines)
		fprintf(w->out, "    leaves: %u\n    spines: %u\n", c->leaves, c->spines);
	if (spines && c->links)
		fprintf(w->out, "    links: %u\n", c->links);
	if (f->kind == RS_NET_RAIL)
		fprintf(w->out, "    rails: %u\n", c->rails);
	if (spines && c->hosts_per_leaf)
		fprintf(w->out, "    %s: %u\n",
			f->kind == RS_NET_RAIL ? "hosts_per_group" : "hosts_per_leaf",
			c->hosts_per_leaf);
	fprintf(w->out, "    ports: %u\n    routes: %s\n", c->ports,
		c->up_down ? "up-down" : "shortest");
	fprintf(w->out, "    rate: %s\n", rate(w, c->rate));
	fprintf(w->out, "    delay: %s\n", span(w, c->delay));
	if (spines || f->kind == RS_NET_FAT_TREE) {
		fprintf(w->out, "    uplink_rate: %s\n", rate(w, c->uplink_rate));
		fprintf(w->out, "    uplink_delay: %s\n", span(w, c->uplink_delay));
	}
	fprintf(w->out, "    mtu: %u\n    loss: %.17g\n", f->transport.mtu, c->loss);
	if (f->kind == RS_NET_EXPLICIT)
		explicit_lists(w, f);
}

/* ---- Classes, congestion control, transport, host model ---- */

/* f: NULL: of a switch or tier, which have no congestion control of their own. */
static void qos_class(struct writer *w, const struct rs_fabric *f, const struct rs_qos_class *c,
		      int i, const char *in)
{
	fprintf(w->out, "%s  - {class: %d, lossless: %s, alpha_shift: %d, ecn: %s, kmin: %s", in, i,
		yes(c->lossless), c->alpha_shift, yes(c->ecn), size(w, c->kmin));
	fprintf(w->out, ", kmax: %s", size(w, c->kmax));
	fprintf(w->out, ", ecn_rate: %s", c->ecn_rate ? rate(w, c->ecn_rate) : "0");
	fprintf(w->out, ", pmax: %.17g, weight: %u, dscp: %u", c->pmax, c->weight, c->dscp);
	fprintf(w->out, ", reserved: %s", size(w, c->reserved));
	fprintf(w->out, ", xon_offset: %s", size(w, c->xon_offset));
	fprintf(w->out, ", egress_limit: %s", size(w, c->egress_limit));
	if (f)
		own_cc(w, f, ", ", c->cc);
	fputs("}\n", w->out);
}

/* in: what each line is indented with. */
static void qos_switch(struct writer *w, const struct rs_fabric *f, const struct rs_qos *q,
		       const char *in)
{
	fprintf(w->out, "%sclasses:\n", in);
	for (int i = 0; i < RS_TCS; i++)
		qos_class(w, f, &q->tc[i], i, in);
	fprintf(w->out, "%sdscp: {", in);
	for (int i = 0; i < 64; i++)
		fprintf(w->out, "%s%d: %u", i ? ", " : "", i, q->tc_of_dscp[i]);
	fprintf(w->out, "}\n%sbuffer: %s\n%scell: %uB\n", in, size(w, q->buffer), in, q->cell);
	fprintf(w->out, "%spfc: %s\n%secn: %s\n%sheadroom_scale: %.17g\n", in, yes(q->pfc), in,
		yes(q->ecn_on), in, q->headroom_scale);
	fprintf(w->out, "%smax_frame: %uB\n%spause_quanta: %u\n", in, q->max_frame, in,
		q->pause_quanta);
	fprintf(w->out, "%spause_response: %s\n", in,
		q->pause_response < 0 ? "802.3" : span(w, q->pause_response));
	fprintf(w->out, "%swatchdog: %s\n", in, span(w, q->watchdog));
	fprintf(w->out, "%sswitch_latency: %s\n", in, span(w, q->switch_latency));
	fprintf(w->out, "%scut_through: %s\n%smark_at_dequeue: %s\n", in, yes(q->cut_through), in,
		yes(q->mark_at_dequeue));
	write_routing(w->out, in, q);
	if (w->uet || q->trim || q->queue_bdp != 0 || q->overflow)
		write_trimming(w->out, in, q);
	fprintf(w->out, "%spause_holds: %s\n%sheadroom_delays: %s\n%salpha_by_rate: %s\n", in,
		yes(q->quirks.pause_holds), in, yes(q->quirks.headroom_delays), in,
		yes(q->quirks.alpha_by_rate));
}

static void qos(struct writer *w, const struct rs_fabric *f)
{
	const struct rs_qos *q = &f->qos;
	bool tiers = false;

	fputs("  qos:\n", w->out);
	qos_switch(w, f, q, "    ");
	fprintf(w->out, "    data_class: %u\n    cnp_class: %u\n    cnp_dscp: %u\n", q->data_tc,
		q->cnp_tc, q->cnp_dscp);
	if (q->ack_apart)
		fprintf(w->out, "    ack_class: %u\n    ack_dscp: %u\n", q->ack_tc, q->ack_dscp);
	fprintf(w->out, "    nic_buffer: %s\n", size(w, q->nic_buffer));
	for (unsigned i = 0; i < q->n_hop_tcs; i++)
		fprintf(w->out, "%s%u%s", i ? ", " : "    hop_classes: [", q->hop_tc[i],
			i + 1 == q->n_hop_tcs ? "]\n" : "");
	for (int t = 0; t < RS_TIERS; t++) {
		if (!f->tier_qos[t])
			continue;
		fprintf(w->out, "%s      %s:\n", tiers ? "" : "    tiers:\n", tier_names[t]);
		qos_switch(w, NULL, f->tier_qos[t], "        ");
		tiers = true;
	}
}

static void cc(struct writer *w, const struct rs_cc_conf *c)
{
	text(w, "  cc:\n    ", "kind", c->kind);
	text(w, "\n    ", "preset", c->preset);
	for (uint32_t i = 0; i < c->n; i++)
		text(w, "\n    ", c->kv[i].key, c->kv[i].value);
	fputc('\n', w->out);
}

/* What is as it is by default in every description made before there was a choice is not said. */
static void recovery(struct writer *w, const struct rs_transport_conf *t)
{
	if (t->recovery != RS_FABRIC_SELECTIVE)
		return;
	fprintf(w->out, "    recovery: selective\n    in_flight: %u\n", t->in_flight);
	if (t->reorder >= 0)
		fprintf(w->out, "    reorder: %s\n", span(w, t->reorder));
	fprintf(w->out, "    rto_low: %s\n", span(w, t->rto_low));
	fprintf(w->out, "    rto_high: %s\n", span(w, t->rto_high));
	if (t->balance)
		fprintf(w->out, "    balance: %s\n    paths: %u\n", rc_balances[t->balance],
			t->paths);
}

static void transport(struct writer *w, const struct rs_transport_conf *t)
{
	fprintf(w->out,
		"  transport:\n    ipv6: %s\n    timeout: %u\n    retry: %u\n    rnr_retry: %u\n",
		yes(t->ipv6), t->timeout, t->retry, t->rnr_retry);
	fprintf(w->out, "    min_rnr_timer: %u\n    max_rd_atomic: %u\n    ack_every: %u\n",
		t->min_rnr_timer, t->max_rd_atomic, t->ack_every);
	fprintf(w->out, "    ack_delay: %s\n", span(w, t->ack_delay));
	fprintf(w->out, "    min_rto: %s\n    ack_echo: ", span(w, t->min_rto));
	fprintf(w->out, "%s\n    framing: %s\n    payload: %uB\n", yes(t->quirks.ack_echo),
		t->framing == RS_FABRIC_NS3     ? "ns-3"
		: t->framing == RS_FABRIC_HTSIM ? "htsim"
						: "rocev2",
		t->payload);
	fprintf(w->out, "    cnp_moderation: %s\n",
		t->cnp_moderation == RS_FABRIC_CNP_BY_PORT ? "port"
		: t->cnp_moderation == RS_FABRIC_CNP_BY_IP ? "ip"
							   : "qp");
	fprintf(w->out, "    whole_ns: %s\n    pace_fixed: %s\n", yes(t->quirks.whole_ns),
		yes(t->quirks.pace_fixed));
	fprintf(w->out, "    window_payload: %s\n    ack_unpaused: %s\n",
		yes(t->quirks.window_payload), yes(t->quirks.ack_unpaused));
	recovery(w, t);
	if (w->uet)
		write_uet(w->out, t);
}

static void host_model(struct writer *w, const struct rs_host_params *p)
{
	const struct {
		const char *key;
		rs_time v;
	} times[] = {{"phy_latency", p->phy_latency},
		     {"switch_latency", p->switch_latency},
		     {"root_write", p->root_write},
		     {"root_p2p", p->root_p2p},
		     {"dram_read", p->dram_read},
		     {"gpu_write", p->gpu_write},
		     {"gpu_read", p->gpu_read},
		     {"nvlink_hop", p->nvlink_hop},
		     {"nic_pipeline", p->nic_pipeline},
		     {"post", p->post},
		     {"mmio", p->mmio},
		     {"poll", p->poll},
		     {"credit_latency", p->credit_latency}};

	fputs("  host_model:\n", w->out);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		fprintf(w->out, "    %s: %s\n", times[i].key, span(w, times[i].v));
	fprintf(w->out, "    read_buffer: %u\n    tags: %u\n    posted_data_credits: %u\n",
		p->read_buffer, p->tags, p->posted_data_credits);
	fprintf(w->out, "    posted_header_credits: %u\n    completion_chunk: %u\n",
		p->posted_header_credits, p->completion_chunk);
	if (p->inline_bytes)
		fprintf(w->out, "    inline: %u\n",
			p->inline_bytes == RS_NO_LIMIT ? 0 : p->inline_bytes);
	fprintf(w->out, "    header_write: %u\n    header_completion: %u\n    header_read: %u\n",
		p->header_write, p->header_completion, p->header_read);
	fprintf(w->out, "    dll_efficiency: %.17g\n    xlink_efficiency: %.17g\n",
		p->dll_efficiency, p->xlink_efficiency);
}

/* ---- Workload ---- */

/* [0-3, 8]; what follows one after another is a range. */
static void listed(struct writer *w, const struct rs_collective_conf *c)
{
	fputs(", ranks: [", w->out);
	for (uint32_t i = 0, n; i < c->n_ranks; i += n) {
		for (n = 1; i + n < c->n_ranks && c->listed[i + n] == c->listed[i] + n; n++)
			;
		fprintf(w->out, "%s%u", i ? ", " : "", c->listed[i]);
		if (n > 1)
			fprintf(w->out, "-%u", c->listed[i + n - 1]);
	}
	fputc(']', w->out);
}

static void ranks(struct writer *w, const struct rs_collective_conf *c)
{
	if (c->listed)
		listed(w, c);
	else if (c->n_ranks)
		fprintf(w->out, ", ranks: %u, place: %s", c->n_ranks, place_names[c->place]);
	else
		fprintf(w->out, ", ranks: all, place: %s", place_names[c->place]);
	fprintf(w->out, ", share: %s",
		c->share == RS_SHARE_AUTO ? "auto" : yes(c->share == RS_SHARE_YES));
}

static void nccl(struct writer *w, const struct rs_nccl_conf *c)
{
	const char *comma = "";

	if (!c->version && !c->n_env && !c->net && c->gpus_per_thread < 2 && !c->cores &&
	    !c->as_bytes)
		return;
	fputs(", nccl: {", w->out);
	if (c->version)
		fprintf(w->out, "version: \"%s\"", c->version);
	comma = c->version ? ", " : "";
	if (c->net) {
		fprintf(w->out, "%snet: %s", comma, nccl_nets[c->net]);
		comma = ", ";
	}
	if (c->gpus_per_thread > 1) {
		fprintf(w->out, "%sgpus_per_thread: %u", comma, c->gpus_per_thread);
		comma = ", ";
	}
	if (c->cores) {
		fprintf(w->out, "%scores: %u", comma, c->cores);
		comma = ", ";
	}
	if (c->as_bytes) {
		fprintf(w->out, "%sas_bytes: %s", comma, size(w, c->as_bytes));
		comma = ", ";
	}
	if (c->n_env)
		fputs(comma, w->out);
	for (uint32_t i = 0; i < c->n_env; i++)
		fprintf(w->out, "%s%s: \"%s\"", i ? ", " : "env: {", c->env[2 * i],
			c->env[2 * i + 1]);
	fputs(c->n_env ? "}}" : "}", w->out);
}

static void registration(struct writer *w, const struct rs_collective_conf *c)
{
	if (c->registration)
		fprintf(w->out, ", registration: %s", span(w, c->registration));
}

static void collective(struct writer *w, const struct rs_collective_conf *c, const char *key)
{
	fprintf(w->out, "%scollective: {op: %s, algorithm: %s, bytes: %s", key, coll_ops[c->op],
		coll_algorithms[c->algorithm], size(w, c->bytes));
	ranks(w, c);
	registration(w, c);
	if (c->algorithm == RS_ALGO_NCCL) {
		fprintf(w->out, ", repeat: %u, class: %u, start: %s, type: %s", c->repeat, c->tc,
			span(w, c->start), c->type);
		if (c->memory)
			fprintf(w->out, ", memory: %s",
				c->memory == RS_COLL_IN_FAR ? "far" : "host");
		nccl(w, &c->nccl);
		fputs("}\n", w->out);
		return;
	}
	if (c->group)
		fprintf(w->out, ", group: %u", c->group);
	if (c->stride)
		fprintf(w->out, ", stride: %u", c->stride);
	if (c->channels)
		fprintf(w->out, ", channels: %u", c->channels);
	fprintf(w->out, ", qps: %u, chunk: %s", c->qps, size(w, c->chunk));
	fprintf(w->out, ", slots: %u, step_latency: %s", c->slots, span(w, c->step_latency));
	fprintf(w->out, ", repeat: %u, class: %u, start: %s, type: %s", c->repeat, c->tc,
		span(w, c->start), c->type);
	if (c->memory)
		fprintf(w->out, ", memory: %s", c->memory == RS_COLL_IN_FAR ? "far" : "host");
	nccl(w, &c->nccl);
	fputs("}\n", w->out);
}

/* Of a graph of work: what nothing said is left to what each group's collectives are. */
static void work_collective(struct writer *w, const struct rs_collective_conf *c)
{
	if (!c->as_nccl) {
		collective(w, c, "      ");
		return;
	}
	fputs("      collective: {bytes: 1MiB", w->out);
	ranks(w, c);
	registration(w, c);
	fprintf(w->out, ", class: %u, start: %s}\n", c->tc, span(w, c->start));
}

static void model(struct writer *w, const struct rs_model *m)
{
	fprintf(w->out,
		"      layers: %u\n      hidden: %u\n      heads: %u\n      kv_heads: %u\n"
		"      head_dim: %u\n      gated: %s\n      vocab: %u\n      sequence: %u\n",
		m->layers, m->hidden, m->heads, m->kv_heads, m->head_dim, yes(m->gated), m->vocab,
		m->sequence);
	if (m->ffn)
		fprintf(w->out, "      ffn: %u\n", m->ffn);
	if (m->attention > 0)
		fprintf(w->out, "      attention: %.17g\n", m->attention);
	if (m->experts)
		fprintf(w->out,
			"      experts: %u\n      top_k: %u\n      expert_ffn: %u\n"
			"      shared_experts: %u\n      dense_layers: %u\n",
			m->experts, m->top_k, m->expert_ffn, m->shared, m->dense);
}

static const char *const type_of_size[] = {"", "int8", "bfloat16", "",      "float",
					   "", "",     "",         "double"};

/* A step of layers: a named model is written with its sizes. */
static void step(struct writer *w, const struct rs_train_conf *t, const char *type)
{
	const struct rs_step_conf *s = &t->step;

	fputs("    train:\n", w->out);
	model(w, &s->model);
	fprintf(w->out, "      type: %s\n", type);
	if (s->microbatches)
		fprintf(w->out, "      microbatches: %u\n", s->microbatches);
	else
		fprintf(w->out, "      tokens: %.17g\n", t->tokens);
	if (t->dp)
		fprintf(w->out, "      dp: %u\n", t->dp);
	fprintf(w->out, "      tp: %u\n      pp: %u\n      cp: %u\n      ep: %u\n", t->tp, t->pp,
		s->cp, s->ep);
	fprintf(w->out,
		"      chunks: %u\n      micro_batch: %u\n      schedule: %s\n      context: %s\n"
		"      zero: %u\n      sequence_parallel: %s\n      recompute: %s\n",
		s->chunks, s->micro_batch, schedules[s->schedule], contexts[s->context], s->zero,
		yes(s->sequence), yes(s->recompute));
	if (s->expert_tp)
		fprintf(w->out, "      expert_tp: %u\n", s->expert_tp);
	if (s->ends)
		fprintf(w->out, "      ends: %u\n", s->ends);
	if (s->gradient_bytes)
		fprintf(w->out, "      gradients: %s\n", type_of_size[s->gradient_bytes & 15]);
	fprintf(w->out, "      skew: %.17g\n      dispatch: %u\n      scale: %u\n", s->skew,
		s->dispatch, s->scale);
	if (s->peak > 0)
		fprintf(w->out, "      peak: %.17g\n      efficiency: %.17g\n", s->peak, s->share);
	else
		fprintf(w->out, "      flops: %.17g\n", t->flops);
	fprintf(w->out, "      bucket: %s\n      overlap: %.17g\n", size(w, t->bucket), t->overlap);
	work_collective(w, &t->collective);
}

static void trace(struct writer *w, const struct rs_job *j)
{
	fputs("    trace:\n      file: [", w->out);
	for (uint32_t i = 0; i < j->trace.n_files; i++) {
		fputs(i ? ", " : "", w->out);
		rs_tree_write_string(w->out, j->trace.file[i]);
	}
	fputs("]\n", w->out);
	if (j->trace.groups) {
		fputs("      groups: ", w->out);
		rs_tree_write_string(w->out, j->trace.groups);
		fputc('\n', w->out);
	}
	fprintf(w->out, "      flops: %.17g\n", j->trace.flops);
	work_collective(w, &j->collective);
}

static void serve(struct writer *w, const struct rs_job *j)
{
	const struct rs_serve_conf *s = &j->serve;

	fprintf(w->out, "    serve:\n      prefill: %u\n      decode: %u\n      kv: %s\n",
		s->prefill, s->decode, size(w, s->kv));
	fprintf(w->out, "      pieces: %u\n      prefill_time: %s\n", s->pieces,
		span(w, s->prefill_time));
	fprintf(w->out, "      decode_time: %s\n      draw: %llu\n", span(w, s->decode_time),
		(unsigned long long)s->seed);
	if (s->slo != RS_NEVER)
		fprintf(w->out, "      slo: %s\n", span(w, s->slo));
	if (s->arrivals) {
		fputs("      arrivals: ", w->out);
		rs_tree_write_string(w->out, s->arrivals);
		fputc('\n', w->out);
	} else {
		fprintf(w->out, "      rate: %.17g\n      requests: %u\n", s->rate, s->requests);
	}
	work_collective(w, &j->collective);
}

static void train(struct writer *w, const struct rs_train_conf *t)
{
	if (t->step.on) {
		step(w, t, type_of_size[t->type_bytes & 15]);
		return;
	}
	fprintf(w->out,
		"    train:\n      parameters: %.17g\n      type: %s\n      tokens: %.17g\n",
		t->parameters, type_of_size[t->type_bytes & 15], t->tokens);
	if (t->dp)
		fprintf(w->out, "      dp: %u\n", t->dp);
	fprintf(w->out, "      tp: %u\n      pp: %u\n      flops: %.17g\n      bucket: %s\n", t->tp,
		t->pp, t->flops, size(w, t->bucket));
	fprintf(w->out, "      overlap: %.17g\n      simulate: %s\n", t->overlap,
		size(w, t->simulate));
	collective(w, &t->collective, "      ");
}

/* The node that a switch's port leads to. */
static const char *neighbour(const struct rs_fabric *f, uint32_t sw, uint16_t port)
{
	for (uint32_t i = 0; i < f->n_links; i++) {
		const struct rs_link_end *a = &f->links[i].a, *b = &f->links[i].b;

		if (b->is_switch && b->id == sw && b->port == port)
			return a->is_switch ? f->switches[a->id].name : f->endpoints[a->id].name;
		if (a->is_switch && a->id == sw && a->port == port)
			return f->switches[b->id].name;
	}
	return "?";
}

static void path(struct writer *w, const struct rs_fabric *f, const char *key,
		 const struct rs_pinned *p, uint32_t from)
{
	if (!p)
		return;
	fprintf(w->out, ", %s: [", key);
	rs_tree_write_string(w->out, f->endpoints[from].name);
	fputs(", ", w->out);
	rs_tree_write_string(w->out, f->switches[p->hop[0].sw].name);
	for (uint32_t i = 0; i < p->n; i++) {
		fputs(", ", w->out);
		rs_tree_write_string(w->out, neighbour(f, p->hop[i].sw, p->hop[i].port));
	}
	fputc(']', w->out);
}

/* What differs from a flow that says nothing of it. */
static void verb(struct writer *w, const struct rs_flow *flow)
{
	if (flow->op)
		fprintf(w->out, ", op: %s", rs_flow_ops[flow->op]);
	if (flow->message)
		fprintf(w->out, ", message: %s", size(w, flow->message));
	if (flow->depth)
		fprintf(w->out, ", depth: %u", flow->depth);
	if (flow->inline_given)
		fprintf(w->out, ", inline: %s", size(w, flow->inline_bytes));
	if (flow->registration)
		fprintf(w->out, ", registration: %s", span(w, flow->registration));
}

static void flows(struct writer *w, const struct rs_fabric *f, const struct rs_job *j)
{
	fprintf(w->out, "    memory: %s\n    flows:\n", rs_flow_memories[j->memory]);
	for (uint32_t i = 0; i < j->n_flows; i++) {
		const struct rs_flow *flow = &j->flows[i];

		fprintf(w->out, "      - {start: %s", span(w, flow->start));
		text(w, ", ", "src", f->endpoints[flow->src].name);
		text(w, ", ", "dst", f->endpoints[flow->dst].name);
		fprintf(w->out, ", bytes: %s, class: %u", size(w, flow->bytes), flow->tc);
		verb(w, flow);
		path(w, f, "path", flow->path, flow->src);
		path(w, f, "ack_path", flow->ack_path, flow->dst);
		own_cc(w, f, ", ", flow->cc);
		fputs("}\n", w->out);
	}
}

static void changes(struct writer *w, const struct rs_fabric *f)
{
	if (f->n_changes)
		fputs("  change:\n", w->out);
	for (uint32_t i = 0; i < f->n_changes; i++)
		fprintf(w->out, "    - %s\n", f->changes[i]);
}

static void events(struct writer *w, const struct rs_fabric_events *e)
{
	if (!e->n_texts)
		return;
	fputs("  events:\n", w->out);
	for (uint32_t i = 0; i < e->n_texts; i++)
		fprintf(w->out, "    - %s\n", e->text[i]);
	fprintf(w->out, "  failover: {detect: %s", span(w, e->detect));
	fprintf(w->out, ", converge: %s}\n", span(w, e->converge));
}

static void workload(struct writer *w, const struct rs_fabric *f)
{
	if (f->n_jobs)
		fputs("workload:\n", w->out);
	for (uint32_t i = 0; i < f->n_jobs; i++) {
		text(w, "  - ", "name", f->jobs[i].name);
		own_cc(w, f, "\n    ", f->jobs[i].cc);
		fputc('\n', w->out);
		if (f->jobs[i].kind == RS_JOB_FLOWS)
			flows(w, f, &f->jobs[i]);
		else if (f->jobs[i].kind == RS_JOB_COLLECTIVE)
			collective(w, &f->jobs[i].collective, "    ");
		else if (f->jobs[i].kind == RS_JOB_TRACE)
			trace(w, &f->jobs[i]);
		else if (f->jobs[i].kind == RS_JOB_SERVE)
			serve(w, &f->jobs[i]);
		else
			train(w, &f->jobs[i].train);
	}
}

static void observe(struct writer *w, const struct rs_observe *o)
{
	const char *sep = "";
	char t[32];

	if (!o->on)
		return;
	fputs("observe: {", w->out);
	if (o->interval) {
		fprintf(w->out, "interval: %s", rs_format_time(t, sizeof(t), o->interval));
		sep = ", ";
	}
	if (o->flows) {
		fprintf(w->out, "%sflows: %u", sep, o->flows);
		sep = ", ";
	}
	if (o->ports) {
		fprintf(w->out, "%sports: %u", sep, o->ports);
		sep = ", ";
	}
	if (o->alone) {
		fprintf(w->out, "%salone: true", sep);
		sep = ", ";
	}
	if (o->n_exact)
		fprintf(w->out, "%sexact: [", sep);
	for (uint32_t i = 0; i < o->n_exact; i++) {
		fputs(i ? ", " : "", w->out);
		rs_tree_write_string(w->out, o->exact[i]);
	}
	fputs(o->n_exact ? "]" : "", w->out);
	fputs("}\n", w->out);
}

static void whatifs(struct writer *w, const struct rs_fabric *f)
{
	if (f->n_whatifs)
		fputs("what-if:\n", w->out);
	for (uint32_t i = 0; i < f->n_whatifs; i++) {
		const struct rs_whatif *x = &f->whatifs[i];

		text(w, "  - ", "name", x->name);
		fputs(x->n ? "\n    set:\n" : "\n    set: {}\n", w->out);
		for (uint32_t k = 0; k < x->n; k++) {
			fputs("      ", w->out);
			rs_tree_write_string(w->out, x->set[k].path);
			fprintf(w->out, ": %s\n", x->set[k].value);
		}
	}
}

int rs_fabric_write(const struct rs_fabric *f, FILE *out)
{
	struct writer w = {.out = out, .uet = rs_fabric_has_uet(f)};

	if (f->assumed)
		fprintf(out, "# Assumed: %s\n", f->assumed);
	text(&w, "", "title", f->title);
	fputs(f->title ? "\n" : "", out);
	text(&w, "", "about", f->about);
	fputs(f->about ? "\n" : "", out);
	fputs("fabric:\n", out);
	if (!f->net.plain_hosts)
		hosts(&w, f);
	network(&w, f);
	qos(&w, f);
	cc(&w, &f->cc);
	transport(&w, &f->transport);
	fprintf(out, "  pairing: %s\n", f->pair_by_index ? "index" : "nearest");
	host_model(&w, &f->host_params);
	changes(&w, f);
	events(&w, &f->events);
	workload(&w, f);
	observe(&w, &f->observe);
	whatifs(&w, f);
	return fflush(out) || ferror(out) ? -EIO : 0;
}
