/*
 * Messages judged (facts/message.h): after all checks, each row that some host's text holds is a
 * FAIL of its check. What a library says of itself outranks what its configuration lets one think:
 * it takes the place of a PASS and of an UNKNOWN of that check on that host.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/facts/level.h"
#include "audit/facts/look.h"
#include "audit/facts/message.h"
#include "audit/rules/container.h"
#include "audit/rules/message.h"
#include "audit/rules/words.h"

enum {
	QUOTED = 6,  /* lines of a finding */
	DEVICES = 8, /* of a host that it names */
	ONE_HOST = 8 /* GPUs of most hosts: more ranks are on several */
};

struct heard {
	struct rs_audit *a;
	const struct rs_message *m;
	const struct rs_message *rather; /* this row where the host's text is of GPUs; NULL */
	const char *name;
	struct rs_finding *f;
	uint32_t lines, hosts, looked;
	uint32_t odd; /* lines of one port that differs from all its like */
	bool grave;   /* a line is more than a warning */
	bool remote;  /* a line is of a host whose job may go to another one */
};

/* ---- RDMA that was meant ---- */

/* Ranks of one host's name that have two addresses: two hosts of that name. */
static const struct rs_fact *namesake(const struct rs_audit *a, const char *host)
{
	const struct rs_fact *f, *first = NULL;
	uint32_t at = 0;

	while ((f = rs_facts_next(a->facts, &at, host, "nccl", "address/"))) {
		if (first && strcmp(first->name, f->name))
			return f;
		first = f;
	}
	return NULL;
}

/* Another host's lines of NCCL in the same log: a job of several nodes. */
static const struct rs_fact *beside(const struct rs_audit *a, const char *host)
{
	const struct rs_fact *own = rs_facts_get(a->facts, host, "nccl", "log"), *other;

	for (uint32_t i = 0; own && i < rs_facts_hosts(a->facts); i++) {
		other = rs_facts_get(a->facts, rs_facts_host(a->facts, i), "nccl", "log");
		if (other && strcmp(other->host, host) && !strcmp(other->value, own->value))
			return other;
	}
	return NULL;
}

/* Are all ranks of its largest communicator this host's? */
static bool has_all_ranks(const struct rs_audit *a, const char *host)
{
	const struct rs_fact *f;
	int64_t most = 0, seen = 0;
	uint32_t at = rs_facts_seek(a->facts, host, "nccl");

	while ((f = rs_facts_next(a->facts, &at, host, "nccl", "rank/"))) {
		if (f->numeric && f->number > most) {
			most = f->number;
			seen = 0;
		}
		seen += f->numeric && f->number == most && atoll(f->name + 5) == seen;
	}
	return most > 1 && seen == most;
}

/* One machine alone: NCCL counts one node, or more ranks than its own are nowhere. */
static bool alone(const struct rs_audit *a, const char *host)
{
	const struct rs_fact *nodes = rs_facts_get(a->facts, host, "nccl", "nodes");
	const struct rs_fact *ranks = rs_facts_get(a->facts, host, "nccl", "ranks");
	const struct rs_fact *local = rs_facts_get(a->facts, host, "nccl", "local_ranks");

	if (nodes && nodes->numeric)
		return nodes->number <= 1;
	if (ranks && local && ranks->numeric && local->numeric && ranks->number == local->number)
		return true;
	return !namesake(a, host) && !beside(a, host) && has_all_ranks(a, host);
}

/* One machine alone, or a launch that asks for one ("torchrun --standalone") and sends over no
 * network. */
static bool stays_within(const struct rs_audit *a, const char *host)
{
	const struct rs_fact *nodes = rs_facts_get(a->facts, host, "job", "nodes");

	return alone(a, host) ||
	       (nodes && nodes->numeric && nodes->number == 1 && !beside(a, host) &&
		!rs_facts_get(a->facts, host, "nccl", "via_ib"));
}

const struct rs_fact *rs_message_other_network(const struct rs_audit *a, const char *host,
					       const struct rs_fact *own)
{
	const struct rs_fact *ranks = rs_facts_get(a->facts, host, "nccl", "ranks");

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *other = rs_facts_host(a->facts, i);
		const struct rs_fact *net = rs_facts_get(a->facts, other, "nccl", "network");
		const struct rs_fact *theirs = rs_facts_get(a->facts, other, "nccl", "ranks");

		if (net && strcmp(net->value, own->value) && strcmp(net->value, "Socket") &&
		    !strcmp(net->file, own->file) &&
		    (!ranks || !theirs || !strcmp(ranks->value, theirs->value)))
			return net;
	}
	return NULL;
}

/* A rank of nccl-tests on another host than its first one: a list of ranks names each one's host.
 */
static const struct rs_fact *rank_apart(const struct rs_audit *a, const char *host)
{
	const struct rs_fact *f, *first = NULL;
	uint32_t at = rs_facts_seek(a->facts, host, "nccl");

	while ((f = rs_facts_next(a->facts, &at, host, "nccl", "test_rank/"))) {
		size_t n = strcspn(f->value, " ");

		first = first ? first : f;
		if (!strcmp(f->file, first->file) && strncmp(f->value, first->value, n + 1) != 0)
			return f;
	}
	return NULL;
}

const struct rs_fact *rs_message_nodes(const struct rs_audit *a, const char *host)
{
	static const char *const said[] = {"nccl", "job"};

	for (unsigned i = 0; i < sizeof(said) / sizeof(*said); i++) {
		const struct rs_fact *f = rs_facts_get(a->facts, host, said[i], "nodes");

		if (f && f->numeric && f->number > 1)
			return f;
	}
	return rank_apart(a, host);
}

/* Who asked for RDMA: a variable, a plugin, a device on the host, or a job of several nodes. */
const struct rs_fact *rs_message_meant(const struct rs_audit *a, const char *host)
{
	static const char *const signs[] = {
		"env NCCL_IB_HCA",     "env NCCL_IB_GID_INDEX",  "env UCX_NET_DEVICES",
		"env FI_PROVIDER",     "env NCCL_NET_GDR_LEVEL", "message rdma-meant",
		"env NCCL_IB_TC",      "message transport-init", "message open-device",
		"env NCCL_IB_TIMEOUT",
	};
	const struct rs_fact *f, *asked = rs_facts_get(a->facts, host, "env", "NCCL_IB_DISABLE");
	const struct rs_fact *nodes = rs_facts_get(a->facts, host, "nccl", "nodes");
	const struct rs_fact *ranks = rs_facts_get(a->facts, host, "nccl", "ranks");
	uint32_t at = 0;

	if (asked && asked->numeric && asked->number)
		return NULL;
	if (nodes && nodes->numeric && nodes->number > 1)
		return nodes;
	if (alone(a, host))
		return NULL;
	if ((f = beside(a, host)) || (f = namesake(a, host)))
		return f;
	if (ranks && ranks->numeric && ranks->number > ONE_HOST)
		return ranks;
	if ((f = rs_message_nodes(a, host)))
		return f;
	if (asked)
		return asked;
	if ((f = rs_facts_get(a->facts, host, "nccl", "ipoib")))
		return f;
	for (unsigned i = 0; i < sizeof(signs) / sizeof(*signs); i++)
		if ((f = rs_message_fact(a, host, signs[i])))
			return f;
	while ((f = rs_facts_next(a->facts, &at, host, "nic/", "")))
		return f;
	/* what goes over a network goes to another node */
	return rs_facts_get(a->facts, host, "nccl", "via_socket");
}

/* What shows that a class of this fabric is meant to be lossless: PFC or ECN somewhere, a host with
 * RDMA, a job over it, or RoCE by its name. NULL: nothing. */
static const struct rs_fact *lossless_meant(const struct rs_audit *a)
{
	static const char *const signs[] = {"message pfc-port-on", "message rdma-meant",
					    "env NCCL_IB"};
	static const char *const words[] = {"roce", "rdma", "no-loss", "lossless", "priority-flow"};
	enum { LOOKED_AT = 20000 };
	const struct rs_fact *f;

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);
		uint32_t at = 0;

		for (unsigned k = 0; k < sizeof(signs) / sizeof(*signs); k++)
			if ((f = rs_message_fact(a, host, signs[k])))
				return f;
		if ((f = rs_facts_next(a->facts, &at, host, "nic/", "")))
			return f;
		at = 0;
		for (uint32_t n = 0;
		     n < LOOKED_AT && (f = rs_facts_next(a->facts, &at, host, "", "")); n++) {
			size_t m = strlen(f->name);

			if (m > 4 && !strcmp(f->name + m - 4, "/ecn") && f->numeric && f->number)
				return f;
			if (!strncmp(f->name, "pfc/", 4) && f->numeric && f->number)
				return f;
			for (unsigned k = 0; k < sizeof(words) / sizeof(*words); k++)
				if (strcasestr(f->value, words[k]))
					return f;
		}
	}
	return NULL;
}

/* ---- Findings ---- */

static bool cites(const struct rs_finding *f, const struct rs_fact *line)
{
	for (uint32_t i = 0; i < f->n_facts && i < RS_FINDING_FACTS; i++)
		if (f->fact[i] && f->fact[i]->line == line->line && f->fact[i]->line &&
		    !strcmp(f->fact[i]->file, line->file))
			return true;
	return false;
}

/* Checks that judge one thing from several sides: a name alone does not tell which. */
static bool akin(const char *one, const char *other)
{
	static const char *const families[] = {"C07 L01 L02", "S13 C08 C01", "H09 A01 H08",
					       "S02 R07",     "L03 L02",     "S11 S15"};

	for (unsigned i = 0; i < sizeof(families) / sizeof(*families); i++)
		if (strstr(families[i], one) && strstr(families[i], other))
			return true;
	return false;
}

/* A check that judged this very line has said it already; how grave it is, the line may tell
 * better. */
static bool told(struct rs_audit *a, const struct rs_message *m, const struct rs_fact *line)
{
	/* a person who quotes it says that it means nothing */
	if (rs_words_told(line->value) && rs_words_benign(line->value))
		return true;
	for (uint32_t i = 0; i < a->n_findings; i++) {
		struct rs_finding *f = a->findings[i];

		/* a note asks what another check has judged by this line */
		if (f->verdict == RS_FAIL && !strcmp(m->check, "A01") &&
		    m->severity < f->severity && cites(f, line))
			return true;
		if (f->verdict != RS_FAIL || !cites(f, line) ||
		    (strcmp(f->rule->id, m->check) && !(m->general && akin(f->rule->id, m->check))))
			continue;
		/* a note of a port that no RDMA crosses stays one */
		if (f->severity == RS_INFO && f->n_subjects && f->subject[0].part &&
		    rs_look_aside(a, f->subject[0].host,
				  rs_audit_text(a, "netdev/%s", f->subject[0].part)))
			return true;
		/* a note does not stand for a fault of what the line is about */
		if (!strcmp(f->rule->id, "A01") && strcmp(m->check, "A01") &&
		    m->severity > f->severity)
			continue;
		if (m->general && m->severity > f->severity)
			f->severity = (enum rs_severity)m->severity;
		f->states_failure |= f->severity == RS_MINOR && m->general && !m->setting;
		return true;
	}
	return false;
}

/* Takes what a message contradicts out of the list: PASS and UNKNOWN of its check on its host. */
void rs_messages_overrule(struct rs_audit *a, const char *check, const char *host)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < a->n_findings; i++) {
		struct rs_finding *f = a->findings[i];

		if ((f->verdict == RS_PASS || f->verdict == RS_UNKNOWN) &&
		    !strcmp(f->rule->id, check) && rs_finding_is_of(f, host))
			continue;
		a->findings[kept++] = f;
	}
	a->n_findings = kept;
}

/* Did a job end well that is of one host, as far as its text tells? It needs no network. */
static bool ended_alone(const struct rs_audit *a, const struct rs_fact *line)
{
	const char *host = line->host;
	const struct rs_fact *ranks = rs_facts_get(a->facts, host, "nccl", "ranks");
	const struct rs_fact *nodes = rs_facts_get(a->facts, host, "nccl", "nodes");

	return rs_facts_get(a->facts, host, "nccl", "finished") && !beside(a, host) &&
	       !(nodes && nodes->numeric && nodes->number > 1) &&
	       !(ranks && ranks->numeric && ranks->number > ONE_HOST);
}

/* What a program that looked for RDMA says of it: which port, device or library it lacks. */
static bool of_network(const struct rs_message *m)
{
	return !strcmp(m->key, "port-state") || !strcmp(m->key, "device-name") ||
	       !strcmp(m->key, "library-init") || !strcmp(m->key, "open-device") ||
	       !strcmp(m->key, "ucx-tcp-only");
}

/* A warning is what a program goes on after, and so is a try that another follows. NCCL has no
 * level above it, and UCX warns of what was asked for and is not there. What a guide shows has
 * happened elsewhere. */
static bool is_mild(const struct rs_audit *a, const struct rs_message *m,
		    const struct rs_fact *line)
{
	return rs_audit_is_guide(a, line->file) || rs_level_tries_again(line->value) ||
	       (of_network(m) && ended_alone(a, line)) ||
	       (!strcmp(m->key, "gdr-disabled") && stays_within(a, line->host)) ||
	       (rs_level_of(line->value) == RS_LEVEL_WARN &&
		!strcasestr(line->value, "nccl warn") && !strstr(line->value, " UCX "));
}

static void begin(struct heard *h, const struct rs_rule *r)
{
	const struct rs_message *m = h->m;

	h->f = rs_finding_new(h->a, r, RS_FAIL, (enum rs_severity)m->severity, "%s", m->title);
	if (!h->f)
		return;
	h->f->confidence = (enum rs_confidence)m->confidence;
	rs_finding_why(h->a, h->f, "%s", m->why);
	if (m->need)
		rs_finding_need(h->a, h->f, m->need, "%s", m->need_why);
	h->f->root = m->root;
	rs_finding_unpriced(h->a, h->f, "what a message tells has no model");
}

/* The devices that a host's lines name, each once; the host alone where they name none. */
static void subjects(struct heard *h, const char *host)
{
	const struct rs_fact *d;
	const char *seen[DEVICES];
	unsigned n = 0, k;
	uint32_t at = 0;

	while (n < DEVICES &&
	       (d = rs_facts_next(h->a->facts, &at, host, "message_device", h->name))) {
		if (strcmp(d->name, h->name) || strcmp(d->subject, "message_device"))
			continue;
		for (k = 0; k < n && strcmp(seen[k], d->value); k++)
			;
		if (k < n)
			continue;
		seen[n++] = d->value;
		rs_finding_subject(h->a, h->f, host, d->value);
	}
	if (!n)
		rs_finding_subject(h->a, h->f, host, NULL);
}

/* Is the text of GPUs? Registered memory may be a host's as well. */
static bool of_gpus(const struct rs_audit *a, const char *host)
{
	static const char *const subjects[] = {"message", "said", "env"};
	static const char *const words[] = {"gpu",  "cuda",  "nccl",    "nvshmem",  "vram",
					    "rocm", "torch", "peermem", "kv cache", "nixl"};
	enum { LOOKED_AT = 512 };

	if (rs_message_fact(a, host, "nccl log"))
		return true;
	for (unsigned i = 0; i < sizeof(subjects) / sizeof(*subjects); i++) {
		uint32_t at = rs_facts_seek(a->facts, host, subjects[i]), n = 0;
		const struct rs_fact *f;

		while (n++ < LOOKED_AT &&
		       (f = rs_facts_next(a->facts, &at, host, subjects[i], ""))) {
			/* a variable tells by its name, a line by its words */
			const char *text = *subjects[i] == 'e' ? f->name : f->value;

			for (unsigned k = 0; k < sizeof(words) / sizeof(*words); k++)
				if (strcasestr(text, words[k]))
					return true;
		}
	}
	return false;
}

/* "0.0044 mW / -23.57 dBm": the last figure before the unit. */
static bool dbm_of(const char *text, double *out)
{
	const char *unit = strcasestr(text, "dbm"), *p = unit;
	char *end;

	while (p && p > text && strchr("0123456789.- ", p[-1]))
		p--;
	if (!p)
		return false;
	*out = strtod(p, &end);
	return end != p;
}

/* The limit that the same output names, next below the reading, is better than a row's. */
static bool within_own_limit(struct heard *h, const char *host, const struct rs_fact *line)
{
	enum { NEAR = 100, LOOKED_AT = 512 }; /* lines: a module's readings and limits; readings */
	const struct rs_fact *f, *limit = NULL;
	double is, least;
	uint32_t at = 0;

	if (!h->m->limit || h->looked++ > LOOKED_AT || !dbm_of(line->value, &is))
		return false;
	while ((f = rs_facts_next(h->a->facts, &at, host, "", h->m->limit)))
		if (!strcmp(f->file, line->file) && f->line > line->line &&
		    f->line < line->line + NEAR && (!limit || f->line < limit->line))
			limit = f;
	return limit && dbm_of(limit->value, &least) && is > least;
}

/* The facts of the port that a table calls so: "Et4/1" is Ethernet4/1. NULL: none. */
static const char *port_of(const struct rs_audit *a, const char *host, const char *name)
{
	const char *figures = strpbrk(name, "0123456789"), *port;
	uint32_t at = 0;

	while (figures && (port = rs_facts_subject(a->facts, &at, host, "port/"))) {
		const char *own = strpbrk(port + 5, "0123456789");

		if (own && !strcmp(own, figures) && (port[5] | 32) == (*name | 32))
			return port;
	}
	return NULL;
}

/* A port of another kind than its siblings: without a link, slower, of storage or management. */
static bool other_kind(const struct rs_audit *a, const char *host, const char *name)
{
	static const char *const roles[] = {"mgmt",     "manage",   "stor", "nfs",    "uplink",
					    "router",   "oob",      "peer", "border", "wan",
					    "firewall", "internet", "ipmi", "bmc",    "filer"};
	const char *port = port_of(a, host, name), *other;
	const char *state, *admin, *what, *speed;
	uint32_t at = 0;

	if (!port)
		return rs_look_management(name);
	state = rs_facts_value(a->facts, host, port, "link_state");
	admin = rs_facts_value(a->facts, host, port, "admin");
	what = rs_facts_value(a->facts, host, port, "description");
	speed = rs_facts_value(a->facts, host, port, "speed_mbps");
	if ((state && strcmp(state, "connected")) || (admin && !strcmp(admin, "down")) ||
	    rs_look_aside(a, host, port))
		return true;
	for (unsigned i = 0; what && i < sizeof(roles) / sizeof(*roles); i++)
		if (strcasestr(what, roles[i]))
			return true;
	while (speed && (other = rs_facts_subject(a->facts, &at, host, "port/"))) {
		const char *theirs = rs_facts_value(a->facts, host, other, "speed_mbps");

		if (theirs && strcmp(other, port) && !strcmp(theirs, speed))
			return false;
	}
	return speed != NULL;
}

/* The device that a line is of; NULL: none, or beyond those that are looked at. */
static const char *device_of(const struct heard *h, const char *host, const struct rs_fact *line)
{
	enum { LOOKED_AT = 512 };
	const struct rs_fact *f;
	uint32_t at = 0;

	for (unsigned n = 0; n < LOOKED_AT &&
			     (f = rs_facts_next(h->a->facts, &at, host, "message_device", h->name));
	     n++)
		if (f->line == line->line && !strcmp(f->file, line->file))
			return f->value;
	return NULL;
}

/* What is said of classes, PFC, headroom or drops of a port that no RDMA crosses. */
static bool of_aside(const struct heard *h, const char *host, const struct rs_fact *line)
{
	static const char *const checks[] = {"C08", "S01", "S02", "S03", "S04",
					     "S05", "S06", "S07", "S08", "S13"};
	const char *device;
	bool concerns = false;

	for (unsigned i = 0; i < sizeof(checks) / sizeof(*checks); i++)
		concerns |= !strcmp(h->m->check, checks[i]);
	device = concerns ? device_of(h, host, line) : NULL;
	return device && rs_look_aside(h->a, host, rs_audit_text(h->a, "port/%s", device));
}

/* A rate among others that is of a port without a link: it has none, whatever is printed. */
static bool of_port_down(const struct heard *h, const char *host, const struct rs_fact *line)
{
	enum { NEAR = 12 }; /* lines of a port's own state above or below its rate */
	const struct rs_fact *best = NULL;
	const char *nic;
	uint32_t at = 0;

	if (strcmp(h->m->key, "odd-rate"))
		return false;
	while ((nic = rs_facts_subject(h->a->facts, &at, host, "nic/"))) {
		const struct rs_fact *rate = rs_facts_get(h->a->facts, host, nic, "rate_gbps");
		const struct rs_fact *f = rs_facts_get(h->a->facts, host, nic, "port_state");

		if (!f || strcmp(f->file, line->file))
			continue;
		if (rate && rate->line == line->line && !strcmp(rate->file, line->file)) {
			best = f;
			break;
		}
		if (f->line <= line->line && f->line + NEAR > line->line &&
		    (!best || f->line > best->line))
			best = f;
	}
	return best && strcasecmp(best->value, "ACTIVE") != 0;
}

/* One port of a table is off, and all others of it, three at least, are on. */
static bool is_odd(const struct heard *h, const char *host, const struct rs_fact *line)
{
	enum { NEAR = 300, LEAST = 3 };
	static const char *const names[] = {"pfc-port-on", "pfc-port-inactive", "pfc-port-auto"};
	const char *device = device_of(h, host, line);
	const struct rs_fact *f;
	unsigned n[3] = {0};
	uint32_t at = 0;

	for (unsigned i = 0; i < 3; i++, at = 0)
		while ((f = rs_facts_next(h->a->facts, &at, host, "message", names[i])))
			n[i] += !strcmp(f->subject, "message") && !strcmp(f->file, line->file) &&
				f->line + NEAR > line->line && f->line < line->line + NEAR;
	return n[0] >= LEAST && !n[1] && !n[2] && device && !other_kind(h->a, host, device);
}

static void hear_host(struct heard *h, const struct rs_rule *r, const char *host)
{
	const struct rs_fact *line, *meant = NULL;
	uint32_t at = 0, here = 0;

	if (h->m->against && rs_message_fact(h->a, host, h->m->against))
		return;
	if ((h->m->gpu && !of_gpus(h->a, host)) || (h->rather && of_gpus(h->a, host)))
		return;
	if (h->m->given && !rs_message_fact(h->a, host, h->m->given))
		return;
	if (h->m->lossless && !(meant = lossless_meant(h->a)))
		return;
	if (h->m->meant && (rs_failed(h->a, h->m->check, host, RS_INFO) ||
			    !(meant = rs_message_meant(h->a, host))))
		return;
	while ((line = rs_facts_next(h->a->facts, &at, host, "message", h->name))) {
		if (strcmp(line->subject, "message") || strcmp(line->name, h->name) ||
		    of_aside(h, host, line) || of_port_down(h, host, line) ||
		    told(h->a, h->m, line) || within_own_limit(h, host, line))
			continue;
		if (!here) {
			rs_messages_overrule(h->a, h->m->check, host);
			if (!h->f)
				begin(h, r);
			subjects(h, host);
			h->hosts++;
			h->remote |=
				strcmp(h->m->key, "gdr-disabled") != 0 || !stays_within(h->a, host);
		}
		here++;
		if (h->m->odd)
			h->odd += is_odd(h, host, line);
		h->grave |= !is_mild(h->a, h->m, line);
		if (h->f && h->f->n_facts < QUOTED)
			rs_finding_fact(h->f, line);
	}
	if (here && h->f && h->f->n_facts < QUOTED)
		rs_finding_fact(h->f, meant);
	h->lines += here;
}

/* What failed is one thing, what most often lets it fail another: the check of the first is named
 * as well, of the same lines. */
static void also(struct rs_audit *a, const struct rs_finding *f, const char *check)
{
	const struct rs_rule *r = rs_rule_find(check);
	struct rs_finding *x = rs_finding_new(a, r, RS_FAIL, f->severity, "%s",
					      "a call failed: that is stated, its cause is not");

	for (uint32_t i = 0; i < f->n_subjects && i < RS_FINDING_SUBJECTS; i++) {
		rs_messages_overrule(a, check, f->subject[i].host);
		rs_finding_subject(a, x, f->subject[i].host, f->subject[i].part);
	}
	for (uint32_t i = 0; i < f->n_facts; i++)
		rs_finding_fact(x, f->fact[i]);
	rs_finding_unpriced(a, x, "what a message tells has no model");
}

/* The text with its '%' named; NULL: it has none, or there is none to name. */
static const char *named(struct rs_audit *a, const char *text, const char *part)
{
	const char *out = "";

	if (!text || (strchr(text, '%') && !part))
		return NULL;
	for (const char *p; (p = strchr(text, '%')); text = p + 1)
		out = rs_audit_text(a, "%s%.*s%s", out, (int)(p - text), text, part);
	return rs_audit_text(a, "%s%s", out, text);
}

/* What mends it, where the lines name one device, or the fix needs none. */
static void mend(struct heard *h)
{
	const struct rs_message *m = h->m;
	const char *part = h->f && h->f->n_subjects == 1 ? h->f->subject[0].part : NULL;
	const char *fix = named(h->a, m->fix, part);

	if (h->f && fix)
		rs_finding_fix(h->a, h->f, h->f->subject[0].host, true, m->interrupts,
			       named(h->a, m->undo, part), "%s", fix);
}

static void hear(struct rs_audit *a, const struct rs_rule *r, const struct rs_message *m,
		 const char *name, const struct rs_message *rather)
{
	struct heard h = {.a = a, .m = m, .name = name, .rather = rather};
	const char *title = m->title;

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		hear_host(&h, r, rs_facts_host(a->facts, i));
	if (h.f && h.odd && h.odd == h.lines && h.lines == h.hosts) {
		h.f->severity = RS_MAJOR;
		h.f->confidence = RS_MEDIUM;
		title = "PFC is off on one port, and on for all the others of its table";
		h.f->title = rs_audit_text(a, "%s", title);
	}
	if (h.f && !h.grave && h.f->severity > RS_MINOR)
		h.f->severity = RS_MINOR;
	/* what a job of one host does without */
	if (h.f && !h.remote)
		h.f->severity = RS_INFO;
	if (h.f)
		h.f->states_failure = h.f->severity == RS_MINOR && !m->setting;
	mend(&h);
	if (h.f && m->also)
		also(a, h.f, m->also);
	if (!h.f || h.lines < 2)
		return;
	h.f->title = h.hosts > 1
			     ? rs_audit_text(a, "%s (%u lines, %u hosts)", title, h.lines, h.hosts)
			     : rs_audit_text(a, "%s (%u lines)", title, h.lines);
}

static bool any_named(const struct rs_audit *a, const char *prefix)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		uint32_t at = 0;

		if (rs_facts_next(a->facts, &at, rs_facts_host(a->facts, i), "message", prefix))
			return true;
	}
	return false;
}

/* Names of a row: its key, or of each errno that was met. */
static void hear_row(struct rs_audit *a, const struct rs_rule *r, const struct rs_message *m)
{
	char name[96];

	if (!m->by_errno && !m->errno_is) {
		hear(a, r, m, m->key, NULL);
		return;
	}
	snprintf(name, sizeof(name), "%s/", m->key);
	if (!any_named(a, name))
		return;
	for (int e = 0; e < 134; e++) {
		const struct rs_message *found;

		snprintf(name, sizeof(name), "%s/%d", m->key, e);
		found = rs_message_find(name);
		if (found == m)
			hear(a, r, m, rs_audit_text(a, "%s", name), NULL);
		else if (found->gpu && m->by_errno)
			hear(a, r, m, rs_audit_text(a, "%s", name), found);
	}
}

void rs_messages_judge(struct rs_audit *a, bool (*wanted)(const struct rs_rule *, void *),
		       void *state)
{
	const struct rs_message *m;
	bool any = false;

	for (uint32_t i = 0; !any && i < rs_facts_hosts(a->facts); i++)
		any = rs_message_fact(a, rs_facts_host(a->facts, i), "message ") != NULL;
	for (uint32_t row = 0; any && (m = rs_message_row(row)); row++) {
		const struct rs_rule *r = m->check ? rs_rule_find(m->check) : NULL;

		if (r && wanted(r, state))
			hear_row(a, r, m);
	}
}

/* ---- Checks that messages alone decide ---- */

/* A PASS of each host whose text holds the good signs: the first, and the second where there is
 * one. */
static void passes(struct rs_audit *a, const struct rs_rule *r, const char *sign, const char *other,
		   const char *title)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);
		const struct rs_fact *f = rs_message_fact(a, host, sign);
		const struct rs_fact *g = other ? rs_message_fact(a, host, other) : f;
		struct rs_finding *found;

		if (!f || !g)
			continue;
		found = rs_finding_new(a, r, RS_PASS, r->severity, "%s", title);
		rs_finding_subject(a, found, host, NULL);
		rs_finding_fact(found, f);
		rs_finding_fact(found, other ? g : NULL);
	}
}

static bool starts_any(const struct rs_audit *a, const char *host, const char *subject,
		       const char *const *names, const struct rs_fact **first)
{
	for (; *names; names++) {
		uint32_t at = rs_facts_seek(a->facts, host, subject);
		const struct rs_fact *f = rs_facts_next(a->facts, &at, host, subject, *names);

		if (f && !strcmp(f->subject, subject)) {
			*first = f;
			return true;
		}
	}
	return false;
}

/* A library that lists what it can use, and nothing of RDMA is among it. */
static void n15_lists(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	static const char *const ucx_all[] = {"transport/tcp", "transport/self", "transport/posix",
					      NULL};
	static const char *const ucx_rdma[] = {"transport/rc",  "transport/dc",  "transport/ud",
					       "transport/gga", "transport/srd", NULL};
	static const char *const fi_all[] = {"provider/", NULL};
	static const char *const fi_rdma[] = {"provider/verbs", "provider/efa", "provider/psm",
					      "provider/opx",   "provider/cxi", "provider/usnic",
					      "provider/ucx",   "provider/mlx", NULL};
	const struct rs_fact *meant = rs_message_meant(a, host), *f, *with;
	const char *title = NULL;
	struct rs_finding *x;

	f = rs_facts_get(a->facts, host, "ucx", "configured");
	if (f && (strstr(f->value, "--without-verbs") || strstr(f->value, "--with-verbs=no")))
		title = "this UCX was built without verbs: it has no RDMA transport";
	else if (starts_any(a, host, "ucx", ucx_all, &f) &&
		 rs_facts_get(a->facts, host, "ucx", "domain/tcp") &&
		 !starts_any(a, host, "ucx", ucx_rdma, &with))
		title = "UCX lists no RDMA transport";
	else if (starts_any(a, host, "libfabric", fi_all, &f) &&
		 !starts_any(a, host, "libfabric", fi_rdma, &with))
		title = "libfabric lists no RDMA provider";
	if (!title)
		return;
	x = rs_finding_new(a, r, RS_FAIL, meant ? RS_MAJOR : RS_MINOR, "%s", title);
	rs_finding_subject(a, x, host, NULL);
	rs_finding_fact(x, f);
	rs_finding_fact(x, meant);
	rs_finding_why(a, x,
		       "the library was built without rdma-core, its module is not installed, or "
		       "no device can be opened here");
	rs_finding_need(a, x, "ibv_devices; ucx_info -v, or fi_info -l",
			"whether devices are there, and how the library was built");
	if (x)
		x->confidence = RS_MEDIUM;
}

/* The device nodes beside the devices: a container sees all of sysfs, and the nodes it was given.
 */
static void n15_nodes(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const struct rs_fact *nodes = rs_facts_get(a->facts, host, "host", "uverbs_nodes");
	const struct rs_fact *all = rs_facts_get(a->facts, host, "host", "sysfs_rdma_devices");
	struct rs_finding *f;

	if (!nodes || !nodes->numeric || (nodes->number > 0 && !all) ||
	    (all && all->numeric && nodes->number >= all->number))
		return;
	if (nodes->number > 0)
		f = rs_finding_new(
			a, r, RS_FAIL, RS_MINOR,
			"%s of %s RDMA devices have a node here (/dev/infiniband/uverbs)",
			nodes->value, all->value);
	else
		f = rs_finding_new(a, r, RS_FAIL, RS_MAJOR,
				   "no RDMA device has a node here (/dev/infiniband/uverbs)");
	rs_finding_subject(a, f, host, NULL);
	rs_finding_fact(f, nodes);
	rs_finding_fact(f, all);
	rs_finding_why(a, f,
		       "a program opens a device by its node: the others are seen in /sys and "
		       "cannot be used, and a library that asks for all fails. A container has the "
		       "nodes that it was given; on a host ib_uverbs makes them");
	rs_finding_need(a, f, "ibv_devinfo -l; docker inspect, or kubectl describe pod",
			"which devices were meant to be here");
}

/* The host's ranks take NCCL's own network, those of another host of this log a plugin's. */
static void n15_plugin(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const struct rs_fact *own = rs_facts_get(a->facts, host, "nccl", "network");
	const struct rs_fact *net =
		own && !strcmp(own->value, "IB") ? rs_message_other_network(a, host, own) : NULL;
	struct rs_finding *f;

	if (!net)
		return;
	f = rs_finding_new(a, r, RS_FAIL, RS_CRITICAL,
			   "the network plugin that %s loads (%s) is not used here", net->host,
			   net->value);
	rs_finding_subject(a, f, host, NULL);
	rs_finding_fact(f, own);
	rs_finding_fact(f, net);
	rs_finding_why(a, f,
		       "each rank chooses its network by itself, and NCCL's own and a plugin's do "
		       "not understand each other: the job hangs or fails as it connects");
	rs_finding_need(a, f, "ldconfig -p | grep libnccl-net; echo $LD_LIBRARY_PATH",
			"whether the plugin is in this host's image and on its path");
}

static void n15(struct rs_audit *a, const struct rs_rule *r)
{
	passes(a, r, "message network-rdma", NULL,
	       "the log shows the RDMA devices that were opened");
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);
		const struct rs_fact *n = rs_facts_get(a->facts, host, "host", "rdma_devices");
		struct rs_finding *f;

		/* libfabric is there, and took TCP */
		if (rs_message_fact(a, host, "message ofi-tcp"))
			rs_messages_overrule(a, r->id, host);
		n15_lists(a, r, host);
		n15_nodes(a, r, host);
		n15_plugin(a, r, host);
		rs_container_judge(a, r, host);
		if (!n || !n->numeric || n->number)
			continue;
		f = rs_finding_new(a, r, RS_FAIL, RS_CRITICAL, "ibv_devices lists no RDMA device");
		rs_finding_subject(a, f, host, NULL);
		rs_finding_fact(f, n);
		rs_finding_why(
			a, f,
			"the driver is not loaded or not bound (of rxe and siw: no link was "
			"added), the user library does not fit the kernel, or this container "
			"has no /dev/infiniband");
		rs_finding_need(a, f, "rdma link; lsmod; ls /sys/class/infiniband /dev/infiniband",
				"whether the kernel has a device");
	}
}

static void n16(struct rs_audit *a, const struct rs_rule *r)
{
	passes(a, r, "message rdma-channel", "message connected",
	       "queue pairs were made and connected");
}

/* NPUs of a job with TLS and others without do not connect (CANN's manual of HCCL). */
static void n17_tls(struct rs_audit *a, const struct rs_rule *r)
{
	const struct rs_fact *first[2] = {NULL}, *f;
	unsigned n[2] = {0}, odd;
	struct rs_finding *x;

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		uint32_t at = 0;

		while ((f = rs_facts_next(a->facts, &at, rs_facts_host(a->facts, i), "npu/",
					  "tls_switch"))) {
			unsigned on = f->number != 0;

			first[on] = first[on] ? first[on] : f;
			n[on]++;
		}
	}
	if (!n[0] || !n[1])
		return;
	odd = n[1] <= n[0];
	x = rs_finding_new(a, r, RS_FAIL, RS_MAJOR, "TLS is on for %u NPUs and off for %u", n[1],
			   n[0]);
	rs_finding_subject(a, x, first[odd]->host, first[odd]->subject);
	rs_finding_fact(x, first[odd]);
	rs_finding_fact(x, first[!odd]);
	rs_finding_why(
		a, x,
		"HCCL's links are made with TLS or without: NPUs that differ do not connect, "
		"and the job ends with a timeout (EI0006)");
	rs_finding_fix(a, x, first[odd]->host, true, NULL, NULL,
		       "hccn_tool -i <npu> -tls -s enable %u", !odd);
}

/* Ranks of several nodes that are told to meet on the loopback. */
static void n17_loopback(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	static const char *const names[] = {"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME",
					    "MASTER_ADDR"};
	const struct rs_fact *nodes = rs_message_nodes(a, host);

	if (!nodes)
		return;
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const struct rs_fact *v = rs_facts_get(a->facts, host, "env", names[i]);
		struct rs_finding *f;

		if (!v || (strcmp(v->value, "lo") && strcmp(v->value, "=lo") &&
			   strncmp(v->value, "127.", 4) && strcmp(v->value, "localhost")))
			continue;
		f = rs_finding_new(a, r, RS_FAIL, RS_CRITICAL,
				   "%s=%s, and the job is of %s nodes: no other host is reached "
				   "there",
				   names[i], v->value, nodes->value);
		rs_finding_subject(a, f, host, NULL);
		rs_finding_fact(f, v);
		rs_finding_fact(f, nodes);
		rs_finding_why(a, f, "each rank gives the others an address of its own loopback");
		if (i < 2)
			rs_finding_fix(a, f, "all hosts of the job", true, NULL,
				       rs_audit_text(a, "%s=%s", names[i], v->value), "unset %s",
				       names[i]);
		else
			rs_finding_need(a, f, "ip -br addr, on the first host of the job",
					"which address the others reach");
	}
}

static void n17(struct rs_audit *a, const struct rs_rule *r)
{
	n17_tls(a, r);
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		n17_loopback(a, r, rs_facts_host(a->facts, i));
	passes(a, r, "message connected", NULL, "the ranks found each other");
}

/* Do ranks alone stand between these two lines? Another run's list stands behind a table. */
static bool one_list(const struct rs_audit *a, const char *host, const struct rs_fact *first,
		     const struct rs_fact *second)
{
	uint32_t at = rs_facts_seek(a->facts, host, "nccl"), between = 0;
	const struct rs_fact *f;

	if (strcmp(first->file, second->file) || second->line <= first->line)
		return false;
	while ((f = rs_facts_next(a->facts, &at, host, "nccl", "test_rank/")))
		between += !strcmp(f->file, first->file) && f->line > first->line &&
			   f->line < second->line;
	return between == second->line - first->line - 1;
}

/* Ranks of nccl-tests that stand twice in its list: each process counts itself alone. */
static const struct rs_fact *twice(const struct rs_audit *a, const char *host,
				   const struct rs_fact **other)
{
	uint32_t at = rs_facts_seek(a->facts, host, "nccl");
	const struct rs_fact *f, *last = NULL;

	while ((f = rs_facts_next(a->facts, &at, host, "nccl", "test_rank/"))) {
		if (last && !strcmp(last->name, f->name) && strcmp(last->value, f->value) &&
		    one_list(a, host, last, f)) {
			*other = last;
			return f;
		}
		last = f;
	}
	return NULL;
}

static void n18_alone(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const struct rs_fact *other = NULL, *f = twice(a, host, &other), *end;
	uint32_t at = rs_facts_seek(a->facts, host, "nccl");
	double average = 1;
	struct rs_finding *x;

	while (average > 0 && (end = rs_facts_next(a->facts, &at, host, "nccl", "finished"))) {
		const char *colon = strrchr(end->value, ':');

		if (colon && strstr(end->value, "bus bandwidth"))
			sscanf(colon + 1, "%lf", &average);
	}
	if (!f && average > 0)
		return;
	/* one rank alone is what may have been asked for; a rank that stands twice is not */
	x = rs_finding_new(a, r, RS_FAIL, f ? RS_MAJOR : RS_MINOR,
			   f ? "nccl-tests lists a rank twice: its processes are no one job"
			     : "nccl-tests measured no bus bandwidth (average 0): it ran with one "
			       "rank");
	rs_finding_subject(a, x, host, NULL);
	rs_finding_fact(x, f ? f : end);
	rs_finding_fact(x, other);
	rs_finding_why(a, x,
		       "each process takes itself for the whole job: nccl-tests was built without "
		       "MPI=1, or another MPI's mpirun started it. What it measures never leaves "
		       "the host");
	rs_finding_fix(a, x, "all hosts of the job", true, NULL, NULL,
		       "make MPI=1 MPI_HOME=... in nccl-tests, and mpirun of the same MPI");
}

/* What ran to its end well, where no rank was alone. */
static void n18(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		n18_alone(a, r, rs_facts_host(a->facts, i));
	for (uint32_t i = 0; i < a->n_findings; i++)
		if (a->findings[i]->verdict == RS_FAIL && a->findings[i]->rule == r)
			return;
	passes(a, r, "message finished", NULL, "the run ended with right results");
}

const struct rs_rule rs_rules_message[] = {
	{
		.id = "N15",
		.name = "rdma-devices-open",
		.severity = RS_CRITICAL,
		.criterion = "The libraries of a job find its RDMA devices and open them.",
		.authority =
			"the messages of NCCL, network plugins, UCX, libfabric, NVSHMEM, Mooncake "
			"and perftest, by their sources",
		.explain = "A job needs three things of its host: the character devices "
			   "(/dev/infiniband), the user library with the NIC's driver (rdma-core), "
			   "and the "
			   "rights to open them. A container has none of them by itself. What a "
			   "library "
			   "says when one is missing is quoted. Compare the list of devices inside "
			   "the "
			   "container with the host's.",
		.run = n15,
	},
	{
		.id = "N16",
		.name = "verbs-calls",
		.severity = RS_CRITICAL,
		.criterion = "No verbs call of a job fails.",
		.authority = "libibverbs: the errno of ibv_create_qp(3), ibv_reg_mr(3), "
			     "ibv_modify_qp(3)",
		.explain =
			"Where the call and its errno point at one cause, that check says so: "
			"ENOMEM at the limit of locked memory (H05), EFAULT at GPU memory that "
			"cannot be registered (P12), a failed move to RTR at the GID or its path "
			"(R02). The rest is here.",
		.run = n16,
	},
	{
		.id = "N17",
		.name = "bootstrap-network",
		.severity = RS_CRITICAL,
		.criterion = "Ranks reach each other by TCP to exchange their addresses.",
		.authority = "the messages of NCCL (bootstrap, socket), gloo, c10d and Mooncake, "
			     "by their "
			     "sources",
		.explain = "Before RDMA there are sockets. They leave by the interface that a "
			   "variable "
			   "names, or the first that the library likes: a loopback, a bridge of "
			   "Docker, "
			   "or a network that the other hosts do not reach.",
		.run = n17,
	},
	{
		.id = "N18",
		.name = "job-failure",
		.severity = RS_CRITICAL,
		.criterion = "The job's own text states no failure.",
		.authority =
			"the messages of NCCL, PyTorch, NIXL, UCX and perftest, by their sources",
		.explain =
			"Some messages tell that a job ended, not why. They are listed so that a "
			"text "
			"that states a failure is never clean, and stand under what explains them.",
		.run = n18,
	},
	{0},
};
