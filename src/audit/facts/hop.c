/* From a DSCP to a class, a PFC priority and a queue of a switch: IEEE 802.1Q-2022 clauses 8.6 and
 * 36, joined through the maps of SONiC, EOS, Junos and Cumulus as they are read. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "audit/facts/hop.h"
#include "audit/facts/nccl.h"
#include "audit/facts/qos.h"

enum { HOST_PORTS = 64 };

const struct rs_fact *rs_hop_fact(const struct rs_audit *a, const char *sw, const char *port,
				  const char *name_fmt, ...)
{
	const struct rs_fact *f;
	char name[96];
	va_list ap;

	va_start(ap, name_fmt);
	vsnprintf(name, sizeof(name), name_fmt, ap);
	va_end(ap);
	f = rs_facts_get(a->facts, sw, port, name);
	return f ? f : rs_facts_get(a->facts, sw, "port/*", name);
}

int64_t rs_hop_number(const struct rs_audit *a, const char *sw, const char *port, const char *name,
		      int64_t otherwise)
{
	const struct rs_fact *f = rs_hop_fact(a, sw, port, "%s", name);

	return f && f->numeric ? f->number : otherwise;
}

static int number(const struct rs_fact *f, int otherwise)
{
	return f && f->numeric && f->number >= 0 && f->number < 1000 ? (int)f->number : otherwise;
}

const char *rs_hop_os(const struct rs_audit *a, const char *sw)
{
	const char *os = rs_facts_value(a->facts, sw, "host", "os");

	return os ? os : "";
}

const char *rs_hop_name(const char *port)
{
	const char *slash = strchr(port, '/');

	/* "bgp/10.0.0.5" is a part of a switch, too */
	return !strcmp(port, "port/*") ? "all ports" : slash ? slash + 1 : port;
}

/* ---- One port's maps ---- */

static void slot(const struct rs_fact **at, int n, int most, const struct rs_fact *f)
{
	/* of a subject's equal names the first is the most trusted; the port's own come last */
	if (n >= 0 && n < most && (!at[n] || at[n]->subject != f->subject))
		at[n] = f;
}

/* "dscp_to_tc/26" is 26 of "dscp_to_tc/"; -1: another name. */
static int numbered(const char *name, const char *prefix)
{
	size_t n = strlen(prefix);
	const char *p = name + n;
	int number = 0;

	if (strncmp(name, prefix, n) || *p < '0' || *p > '9')
		return -1;
	for (; *p >= '0' && *p <= '9' && number < 1000; p++)
		number = number * 10 + (*p - '0');
	return *p ? -1 : number;
}

static void take(struct rs_hop_view *v, const struct rs_fact *f)
{
	const char *name = f->name;
	int n;

	if ((n = numbered(name, "dscp_to_tc/")) >= 0)
		slot(v->dscp, n, 64, f);
	else if ((n = numbered(name, "tc_to_pg/")) >= 0)
		slot(v->group, n, RS_HOP_CLASSES, f);
	else if ((n = numbered(name, "tc_to_queue/")) >= 0)
		slot(v->queue, n, RS_HOP_CLASSES, f);
	else if ((n = numbered(name, "pfc/")) >= 0)
		slot(v->pfc, n, RS_HOP_PRIORITIES, f);
	else if ((n = numbered(name, "pfc_to_queue/")) >= 0)
		slot(v->pfc_queue, n, RS_HOP_PRIORITIES, f);
	else if ((n = numbered(name, "pfc_dscp/")) >= 0)
		slot(v->pfc_dscp, n, 64, f);
	else if (!strncmp(name, "queue/", 6) && name[6] >= '0' && name[6] <= '9' &&
		 !strcmp(name + 7, "/ecn"))
		slot(v->ecn, name[6] - '0', RS_HOP_CLASSES, f);
	else if (!strcmp(name, "trust"))
		slot(&v->trust, 0, 1, f);
	else if (!strcmp(name, "routed"))
		slot(&v->routed, 0, 1, f);
	else if (!strcmp(name, "pfc_seen"))
		slot(&v->pfc_seen, 0, 1, f);
}

static void take_all(struct rs_hop_view *v, const char *port)
{
	uint32_t at = rs_facts_seek(v->a->facts, v->sw, port);
	const struct rs_fact *f;

	while ((f = rs_facts_next(v->a->facts, &at, v->sw, "", "")) && !strcmp(f->subject, port))
		take(v, f);
}

void rs_hop_view(const struct rs_audit *a, const char *sw, const char *port, struct rs_hop_view *v)
{
	const char *os = rs_hop_os(a, sw);

	*v = (struct rs_hop_view){.a = a,
				  .sw = sw,
				  .port = port,
				  .junos = !strcmp(os, "Junos"),
				  .eos = !strcmp(os, "EOS"),
				  .sonic = !strcmp(os, "SONiC"),
				  .mqc = !strcmp(os, "NX-OS") || !strcmp(os, "OS10"),
				  .vrp = !strcmp(os, "VRP") || !strcmp(os, "Comware")};
	take_all(v, "port/*");
	if (strcmp(port, "port/*"))
		take_all(v, port);
	for (int i = 0; i < 64; i++) {
		v->classifies |= v->dscp[i] != NULL;
		v->by_dscp |= v->pfc_dscp[i] != NULL;
	}
	for (int p = 0; p < RS_HOP_PRIORITIES; p++)
		v->mask |= number(v->pfc[p], 0) ? 1u << p : 0;
}

/* Does the port look at the DSCP? EOS: routed ports do of themselves, others look at the CoS. */
static bool trusts(const struct rs_hop_view *v)
{
	if (v->trust)
		return strstr(v->trust->value, "dscp") != NULL;
	return !v->eos || !strcmp(v->port, "port/*") || v->routed || !v->mask;
}

/* What a system does with a DSCP that no row of the port's map names; -1: not known. */
static int by_default(const struct rs_hop_view *v, int dscp)
{
	static const int eos[8] = {1, 0, 2, 3, 4, 5, 6, 7};

	if (v->eos)
		return v->pfc_seen ? eos[dscp / 8] : -1;
	/* the default class is 0 for what a bound map leaves out: SAI, Junos, class-default */
	return (v->sonic || v->junos || v->mqc) && v->classifies ? 0 : -1;
}

void rs_hop_find(const struct rs_hop_view *v, int dscp, struct rs_hop *h)
{
	*h = (struct rs_hop){.tc = -1, .group = -1, .queue = -1, .lossless = -1, .ecn = -1};
	if (dscp < 0 || dscp > 63)
		return;
	if (!trusts(v)) {
		h->untrusted = true;
		h->lossless = 0;
		return;
	}
	h->map = v->dscp[dscp];
	h->tc = number(h->map, -1);
	if (h->tc < 0) {
		h->tc = by_default(v, dscp);
		h->inferred = h->tc >= 0;
	}
	if (h->tc < 0 || h->tc >= RS_HOP_CLASSES)
		return;
	/* only Junos has no priority for a class of which it says none */
	h->group = number(v->group[h->tc], v->junos ? -1 : h->tc);
	h->queue = number(v->queue[h->tc], h->tc);
	if (h->queue >= 0 && h->queue < RS_HOP_CLASSES)
		h->ecn = number(v->ecn[h->queue], -1);
	/* Junos may name the very code points whose congestion sends PFC */
	if (v->by_dscp) {
		h->pfc = v->pfc_dscp[dscp];
		h->lossless = h->pfc != NULL;
		return;
	}
	h->pfc = h->group >= 0 && h->group < RS_HOP_PRIORITIES ? v->pfc[h->group] : NULL;
	if (h->pfc)
		h->lossless = number(h->pfc, 0) != 0;
	else if (v->pfc_seen)
		h->lossless = 0;
}

int rs_hop_queue(const struct rs_hop_view *v, int priority)
{
	bool maps = false;

	if (v->pfc_queue[priority])
		return number(v->pfc_queue[priority], -1);
	for (int tc = 0; tc < RS_HOP_CLASSES; tc++) {
		maps |= v->group[tc] != NULL;
		if (v->group[tc] && number(v->group[tc], -1) == priority)
			return number(v->queue[tc], tc);
	}
	return maps ? -1 : number(v->queue[priority], priority);
}

/* ---- A switch's ports ---- */

/* "leaf1" and "leaf1.dc.example": LLDP may give the whole domain name. */
static bool same_name(const char *a, const char *b)
{
	size_t n = strcspn(a, "."), m = strcspn(b, ".");

	return !strcmp(a, b) || (n == m && n && (!a[n] || !b[m]) && !strncmp(a, b, n));
}

const char *rs_hop_port(const struct rs_audit *a, uint32_t *at, const char *sw)
{
	const char *port, *admin;

	while ((port = rs_facts_subject(a->facts, at, sw, "port/"))) {
		admin = rs_facts_value(a->facts, sw, port, "admin");
		if (!admin || strcmp(admin, "down"))
			return port;
	}
	return NULL;
}

void rs_hop_site(const struct rs_audit *a, const char *sw, struct rs_hop_site *s)
{
	const char *port;
	uint32_t at = 0;

	*s = (struct rs_hop_site){.mask = 0};
	while ((port = rs_hop_port(a, &at, sw))) {
		struct rs_hop_view v;

		rs_hop_view(a, sw, port, &v);
		s->mask |= v.mask;
		if (v.mask && !s->speed_mbps)
			s->speed_mbps = rs_hop_number(a, sw, port, "speed_mbps", 0);
	}
}

bool rs_hop_carries(const struct rs_hop_view *v, const struct rs_hop_site *s)
{
	const char *who;
	int64_t speed;

	if (v->mask || !s->mask)
		return true;
	speed = rs_hop_number(v->a, v->sw, v->port, "speed_mbps", 0);
	if (speed && speed == s->speed_mbps)
		return true;
	/* others classify where an interface is told to, SONiC's template on all ports */
	if (!speed && !s->speed_mbps && v->classifies && (v->junos || v->eos || v->mqc || v->vrp))
		return true;
	who = rs_facts_value(v->a->facts, v->sw, v->port, "neighbour");
	for (uint32_t i = 0; who && i < rs_facts_hosts(v->a->facts); i++)
		if (same_name(rs_facts_host(v->a->facts, i), who))
			return true;
	return false;
}

/* ---- Hosts ---- */

/* A host of which no interface is known, and yet what it sends: the kernel's traffic class, or the
 * job's. */
static unsigned bare_demands(const struct rs_audit *a, const char *host, struct rs_demand *out,
			     unsigned n, unsigned most)
{
	const struct rs_fact *f = rs_nccl_env(a, host, "NCCL_IB_TC");
	uint32_t at = 0;

	if (!f || !f->numeric)
		do
			f = rs_facts_next(a->facts, &at, host, "nic/", "tclass");
		while (f && !f->numeric);
	for (unsigned k = 0; f && k < n; k++)
		if (out[k].dscp == (int)(f->number >> 2))
			return n;
	if (!f || f->number < 4 || f->number > 255 || n == most)
		return n;
	out[n] = (struct rs_demand){.dscp = (int)(f->number >> 2), .host = host, .lossless = -1};
	return n + 1;
}

unsigned rs_hop_demands(const struct rs_audit *a, struct rs_demand *out, unsigned most)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts) && n < most; i++) {
		const char *host = rs_facts_host(a->facts, i);
		struct rs_qos_port port[HOST_PORTS];
		unsigned ports;

		if (rs_facts_is_switch(a->facts, host))
			continue;
		ports = rs_qos_ports(a, host, port, HOST_PORTS);
		if (!ports)
			n = bare_demands(a, host, out, n, most);
		for (unsigned p = 0; p < ports; p++)
			for (int kind = 0; kind < RS_QP_KINDS && n < most; kind++) {
				struct rs_class c;
				unsigned k = 0;

				if (!rs_qos_class(a, host, port[p].nic, port[p].netdev,
						  (enum rs_qp_kind)kind, &c) ||
				    c.dscp < 0)
					continue;
				while (k < n && out[k].dscp != c.dscp)
					k++;
				if (k < n)
					continue;
				out[n] = (struct rs_demand){
					.dscp = c.dscp, .host = host, .lossless = c.lossless};
				snprintf(out[n].netdev, sizeof(out[n].netdev), "%s",
					 port[p].netdev);
				n++;
			}
	}
	return n;
}

/* The audited switch of that name: as it is called here, or as it calls itself. */
static const char *switch_named(const struct rs_audit *a, const char *name)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *sw = rs_facts_host(a->facts, i), *own;

		if (!rs_facts_is_switch(a->facts, sw))
			continue;
		own = rs_facts_value(a->facts, sw, "host", "hostname");
		if (same_name(sw, name) || (own && same_name(own, name)))
			return sw;
	}
	return NULL;
}

/* By its name or its alias: SONiC sends the alias, and the name as description. */
static const char *port_named(const struct rs_audit *a, const char *sw, const char *name,
			      const char *description)
{
	uint32_t at = 0;
	const char *port;

	while ((port = rs_facts_subject(a->facts, &at, sw, "port/"))) {
		const char *alias = rs_facts_value(a->facts, sw, port, "alias");

		if (!strcmp(port + 5, name) || (alias && !strcmp(alias, name)) ||
		    (description && !strcmp(port + 5, description)))
			return port;
	}
	return NULL;
}

/* A port whose switch says that this host's interface is at its other end. */
static bool listed_peer(const struct rs_audit *a, const char *host, const char *netdev,
			const char **sw, const char **port)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		uint32_t at = 0;

		*sw = rs_facts_host(a->facts, i);
		if (!rs_facts_is_switch(a->facts, *sw))
			continue;
		while ((*port = rs_facts_subject(a->facts, &at, *sw, "port/"))) {
			const char *who = rs_facts_value(a->facts, *sw, *port, "neighbour");
			const char *where = rs_facts_value(a->facts, *sw, *port, "neighbour_port");

			if (who && where && same_name(who, host) && !strcmp(where, netdev))
				return true;
		}
	}
	return false;
}

bool rs_hop_peer(const struct rs_audit *a, const char *host, const char *netdev, const char **sw,
		 const char **port)
{
	const char *name, *where;
	char subject[160];

	snprintf(subject, sizeof(subject), "netdev/%s", netdev);
	name = rs_facts_value(a->facts, host, subject, "neighbour");
	where = rs_facts_value(a->facts, host, subject, "neighbour_port");
	*sw = name ? switch_named(a, name) : NULL;
	*port = *sw && where ? port_named(a, *sw, where,
					  rs_facts_value(a->facts, host, subject,
							 "neighbour_port_descr"))
			     : NULL;
	return *port || listed_peer(a, host, netdev, sw, port);
}
