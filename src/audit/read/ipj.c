/* ip -j link, addr, route, rule; ip rule as text; /proc/net/bonding. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/readers.h"
#include "text/document.h"

static int score_json(const struct rs_input *in)
{
	const char *p = in->data + strspn(in->data, " \t\r\n");

	if (*p != '[')
		return 0;
	if (rs_input_has(in, "\"ifname\"") && rs_input_has(in, "\"mtu\""))
		return 91;
	if (rs_input_has(in, "\"dst\"") && rs_input_has(in, "\"dev\""))
		return 89;
	return rs_input_has(in, "\"priority\"") && rs_input_has(in, "\"src\"") &&
			       rs_input_has(in, "\"table\"")
		       ? 89
		       : 0;
}

struct state {
	struct rs_audit *a;
	const struct rs_input *in;
	unsigned rules;
};

static const char *member(struct rs_value *n, const char *key, char *buf, size_t size)
{
	return rs_document_text(rs_document_member(n, key), buf, size);
}

static void put(struct state *s, struct rs_value *n, const char *subject, const char *name,
		const char *value)
{
	if (value)
		rs_input_add(s->a, s->in, rs_document_line(n), NULL, subject, name, "%s", value);
}

static void addresses(struct state *s, struct rs_value *link, const char *subject)
{
	struct rs_value *list = rs_document_member(link, "addr_info"), *n;
	char local[64], bits[16], family[16];
	void *iter = NULL;

	if (!list || !rs_value_is_list(list))
		return;
	while ((n = rs_value_each(list, &iter))) {
		if (!member(n, "local", local, sizeof(local)) ||
		    !member(n, "prefixlen", bits, sizeof(bits)) ||
		    !member(n, "family", family, sizeof(family)))
			continue;
		rs_input_add(s->a, s->in, rs_document_line(n), NULL, subject,
			     strcmp(family, "inet") ? "address6" : "address", "%s/%s", local, bits);
	}
}

static void virtual_functions(struct state *s, struct rs_value *link, const char *subject)
{
	static const char *const known[] = {"trust", "link_state", "spoofchk"};
	struct rs_value *list = rs_document_member(link, "vfinfo_list"), *n, *rate;
	char vf[16], value[64], name[64];
	void *iter = NULL;

	if (!list || !rs_value_is_list(list))
		return;
	while ((n = rs_value_each(list, &iter))) {
		if (!member(n, "vf", vf, sizeof(vf)) || strspn(vf, "0123456789") != strlen(vf))
			continue;
		for (unsigned i = 0; i < 3; i++) {
			snprintf(name, sizeof(name), "vf/%s/%s", vf, known[i]);
			put(s, n, subject, name, member(n, known[i], value, sizeof(value)));
		}
		rate = rs_document_member(n, "rate");
		snprintf(name, sizeof(name), "vf/%s/max_tx_rate", vf);
		put(s, n, subject, name, member(rate ? rate : n, "max_tx", value, sizeof(value)));
	}
}

static void interface(struct state *s, struct rs_value *n)
{
	char value[128], subject[160];
	const char *text = member(n, "ifname", value, sizeof(value));

	if (!text)
		return;
	snprintf(subject, sizeof(subject), "netdev/%s", text);
	put(s, n, subject, "mtu", member(n, "mtu", value, sizeof(value)));
	put(s, n, subject, "operstate", member(n, "operstate", value, sizeof(value)));
	put(s, n, subject, "mac", member(n, "address", value, sizeof(value)));
	put(s, n, subject, "master", member(n, "master", value, sizeof(value)));
	put(s, n, subject, "bus-info", member(n, "parentdev", value, sizeof(value)));
	addresses(s, n, subject);
	virtual_functions(s, n, subject);
}

static void route(struct state *s, struct rs_value *n)
{
	char dst[96], dev[64], via[96], name[128];

	if (!member(n, "dst", dst, sizeof(dst)) || !member(n, "dev", dev, sizeof(dev)))
		return;
	snprintf(name, sizeof(name), "route/%s", dst);
	if (member(n, "gateway", via, sizeof(via)))
		rs_input_add(s->a, s->in, rs_document_line(n), NULL, "host", name, "%s via %s", dev,
			     via);
	else
		rs_input_add(s->a, s->in, rs_document_line(n), NULL, "host", name, "%s", dev);
}

static void rule(struct state *s, struct rs_value *n)
{
	char src[96], table[64], name[32];

	if (!member(n, "src", src, sizeof(src)) || !member(n, "table", table, sizeof(table)))
		return;
	snprintf(name, sizeof(name), "rule/%u", s->rules++);
	rs_input_add(s->a, s->in, rs_document_line(n), NULL, "host", name, "from %s lookup %s", src,
		     table);
}

static int read_json(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_document *d = rs_document_parse(in->data, in->size);
	struct rs_value *root = d ? rs_document_root(d) : NULL, *n;
	struct state s = {.a = a, .in = in};
	bool links = rs_input_has(in, "\"ifname\""), routes = rs_input_has(in, "\"dst\"");
	void *iter = NULL;

	if (root && rs_value_is_list(root)) {
		if (!links)
			rs_input_add(a, in, 0, NULL, "host", routes ? "routes_seen" : "rules_seen",
				     "1");
		while ((n = rs_value_each(root, &iter))) {
			if (links)
				interface(&s, n);
			else if (routes)
				route(&s, n);
			else
				rule(&s, n);
		}
	}
	rs_document_destroy(d);
	return a->err;
}

const struct rs_reader rs_reader_ip_json = {
	.name = "ip-json",
	.what = "ip -j [-d] link, addr, route, rule: MTU, addresses, virtual functions, routes",
	.trust = RS_TRUST_TOOL,
	.score = score_json,
	.read = read_json,
};

/* ---- ip rule ---- */

static bool rule_line(const char *text, unsigned *priority, const char **rest)
{
	int used = 0;

	if (sscanf(text, "%u:%n", priority, &used) != 1 || !used)
		return false;
	*rest = text + used + strspn(text + used, " \t");
	return !strncmp(*rest, "from ", 5) && strstr(*rest, " lookup ");
}

static int score_rule(const struct rs_input *in)
{
	struct rs_line l = {0};
	unsigned priority;
	const char *rest;

	while (rs_line_next(in, &l) && l.number < 20)
		if (rule_line(l.text, &priority, &rest))
			return 85;
	return 0;
}

static int read_rule(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_line l = {0};
	unsigned n = 0, priority;
	const char *rest;
	char name[32];

	rs_input_add(a, in, 0, NULL, "host", "rules_seen", "1");
	while (rs_line_next(in, &l)) {
		if (!rule_line(l.text, &priority, &rest))
			continue;
		snprintf(name, sizeof(name), "rule/%u", n++);
		rs_input_add(a, in, l.number, NULL, "host", name, "%s", rest);
	}
	return a->err;
}

const struct rs_reader rs_reader_ip_rule = {
	.name = "ip-rule",
	.what = "ip rule: policy routing by source",
	.trust = RS_TRUST_TOOL,
	.score = score_rule,
	.read = read_rule,
};

/* ---- /proc/net/bonding/BOND ---- */

enum { FAILURES = 1000 /* of a port of a bond: more than its cables were ever drawn */ };

static int score_bond(const struct rs_input *in)
{
	return rs_input_has(in, "Ethernet Channel Bonding Driver") ||
			       (rs_input_has(in, "Bonding Mode:") &&
				rs_input_has(in, "Slave Interface:"))
		       ? 93
		       : 0;
}

static int read_bond(struct rs_audit *a, const struct rs_input *in)
{
	const char *base = strrchr(in->path, '/');
	char subject[128], slaves[512] = "", aggregator[16] = "";
	struct rs_line l = {0};

	/* the file is called as the bond is; a dump may be called "bond0.txt" */
	base = base ? base + 1 : in->path;
	if (in->command && strrchr(in->command, '/'))
		base = strrchr(in->command, '/') + 1;
	snprintf(subject, sizeof(subject), "bond/%.64s", base);
	subject[strcspn(subject, ".")] = '\0';
	while (rs_line_next(in, &l)) {
		char *key, *value;

		/* drivers/net/bonding/bond_procfs.c: no port has a partner */
		if (strstr(l.text, "has no active aggregator") ||
		    (strstr(l.text, "Partner Mac Address: 00:00:00:00:00:00") && !*slaves))
			rs_input_add(a, in, l.number, NULL, subject, "aggregator", "none");
		if (!rs_line_pair(l.text, ':', &key, &value) || !*value)
			continue;
		if (!strcmp(key, "Bonding Mode"))
			rs_input_add(a, in, l.number, NULL, subject, "mode", "%s", value);
		else if (!strcmp(key, "Transmit Hash Policy"))
			rs_input_add(a, in, l.number, NULL, subject, "xmit_hash_policy", "%s",
				     value);
		else if (!strcmp(key, "Slave Interface"))
			snprintf(slaves + strlen(slaves), sizeof(slaves) - strlen(slaves), "%s%s",
				 *slaves ? " " : "", value);
		else if (!strcmp(key, "Link Failure Count") && strtoul(value, NULL, 10) >= FAILURES)
			rs_input_tell(a, in, l.number, l.text, "link-losses", NULL);
		else if (!strcmp(key, "MII Status") && *slaves && strcmp(value, "up"))
			rs_input_add(a, in, l.number, NULL, subject, "slave_down", "%s",
				     strrchr(slaves, ' ') ? strrchr(slaves, ' ') + 1 : slaves);
		/* the active one's, or the first port's, comes first */
		else if (!strcmp(key, "Aggregator ID") && !*aggregator)
			snprintf(aggregator, sizeof(aggregator), "%s", value);
		else if (!strcmp(key, "Aggregator ID") && *slaves && strcmp(value, aggregator))
			rs_input_add(a, in, l.number, NULL, subject, "slave_apart", "%s",
				     strrchr(slaves, ' ') ? strrchr(slaves, ' ') + 1 : slaves);
	}
	if (*slaves)
		rs_input_add(a, in, 0, NULL, subject, "slaves", "%s", slaves);
	return a->err;
}

const struct rs_reader rs_reader_bonding = {
	.name = "bonding",
	.what = "/proc/net/bonding/BOND: mode, hash, ports",
	.trust = RS_TRUST_DUMP,
	.score = score_bond,
	.read = read_bond,
	.begins = (const char *const[]){"Ethernet Channel Bonding Driver", NULL},
};
