/* Checks across hosts: what should be alike but differs, and how they are plugged in. With three or
 * more the odd ones out are named by majority; with two, both. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/rules/bundles.h"
#include "audit/facts/hop.h"
#include "audit/facts/look.h"
#include "audit/facts/qos.h"
#include "audit/rules/rails.h"
#include "audit/rules/rule.h"

enum { VOTES = 4096, CABLES = 32768, LEAVES = 64, NAMED = 6, GROUPS = 64 };

/* ---- Votes ---- */

struct vote {
	const char *host, *part; /* part: NULL, or a device */
	const char *value;
	const struct rs_fact *fact;
	unsigned same; /* how many say so */
};

struct ballot {
	struct vote *vote;
	unsigned n, kinds;
	const char *winner; /* what more than half say; NULL: nobody, or two who differ */
};

static void count(struct ballot *b)
{
	unsigned best = 0;

	b->kinds = 0;
	b->winner = NULL;
	for (unsigned i = 0; i < b->n; i++) {
		unsigned first = i;

		b->vote[i].same = 0;
		for (unsigned k = 0; k < b->n; k++)
			if (!strcmp(b->vote[k].value, b->vote[i].value)) {
				b->vote[i].same++;
				first = k < first ? k : first;
			}
		b->kinds += first == i;
		best = b->vote[i].same > b->vote[best].same ? i : best;
	}
	if (b->n > 2 && 2 * b->vote[best].same > b->n)
		b->winner = b->vote[best].value;
}

static bool odd(const struct ballot *b, unsigned i)
{
	return b->kinds > 1 && (!b->winner || strcmp(b->vote[i].value, b->winner));
}

static void vote(struct ballot *b, const char *host, const char *part, const char *value,
		 const struct rs_fact *fact)
{
	if (b->n < VOTES && value)
		b->vote[b->n++] = (struct vote){host, part, value, fact, 0};
}

/* One finding for a ballot: a FAIL that names the odd ones, or a PASS. NULL: fewer than two. */
static struct rs_finding *result(struct rs_audit *a, const struct rs_rule *r, struct ballot *b,
				 enum rs_severity s, const char *what)
{
	struct rs_finding *f;
	const char *other = NULL;

	if (b->n < 2)
		return NULL;
	count(b);
	if (b->kinds < 2)
		return rs_finding_new(a, r, RS_PASS, s, "%s is %.80s on all %u", what,
				      b->vote[0].value, b->n);
	for (unsigned i = 0; i < b->n && !other; i++)
		if (odd(b, i) && (b->winner || strcmp(b->vote[i].value, b->vote[0].value)))
			other = b->vote[i].value;
	f = rs_finding_new(a, r, RS_FAIL, s, "%s differs: %.120s, elsewhere %.120s", what,
			   other ? other : b->vote[0].value,
			   b->winner ? b->winner : b->vote[0].value);
	for (unsigned i = 0; i < b->n; i++) {
		if (!odd(b, i))
			continue;
		rs_finding_subject(a, f, b->vote[i].host, b->vote[i].part);
		rs_finding_fact(f, b->vote[i].fact);
	}
	/* one of those that are right, to compare with */
	for (unsigned i = 0; i < b->n; i++)
		if (!odd(b, i)) {
			rs_finding_fact(f, b->vote[i].fact);
			break;
		}
	return f;
}

static bool open_ballot(struct rs_audit *a, struct ballot *b)
{
	*b = (struct ballot){.vote = calloc(VOTES, sizeof(*b->vote))};
	if (!b->vote)
		a->err = a->err ? a->err : -12;
	return b->vote != NULL;
}

static const char *host_at(const struct rs_audit *a, uint32_t i)
{
	const char *host = rs_facts_host(a->facts, i);

	return rs_facts_is_switch(a->facts, host) ? NULL : host;
}

/* ---- X02: MTU ---- */

/* The NIC that stands for a host: the fastest that is up; others are for management. */
static const char *main_nic(const struct rs_audit *a, const char *host, const char *fact)
{
	const char *nic, *best = NULL;
	int64_t best_rate = -1;
	uint32_t at = 0;

	while ((nic = rs_facts_subject(a->facts, &at, host, "nic/"))) {
		const char *state = rs_facts_value(a->facts, host, nic, "port_state");
		int64_t rate = rs_look_number(a, host, nic, "rate_gbps", 0);

		if ((state && !strstr(state, "ACTIVE")) || rate <= best_rate ||
		    !rs_facts_get(a->facts, host, nic, fact))
			continue;
		best = nic;
		best_rate = rate;
	}
	return best;
}

/* The MTU of the interface that stands for a host. */
static const struct rs_fact *main_mtu(const struct rs_audit *a, const char *host, const char **part)
{
	struct rs_qos_port port[1];
	const char *nic = main_nic(a, host, "netdev"), *netdev;
	const struct rs_fact *f;

	netdev = nic ? rs_facts_value(a->facts, host, nic, "netdev") : NULL;
	if (!netdev && rs_qos_ports(a, host, port, 1))
		netdev = port[0].netdev;
	f = netdev ? rs_facts_get(a->facts, host,
				  rs_audit_text((struct rs_audit *)a, "netdev/%s", netdev), "mtu")
		   : NULL;
	*part = f ? strchr(f->subject, '/') + 1 : NULL;
	return f && f->numeric ? f : NULL;
}

/* Interfaces differ: it matters as far as path MTUs do. */
static void x02_interfaces(struct rs_audit *a, const struct rs_rule *r, struct ballot *b, bool told)
{
	bool paths = false;
	struct rs_finding *f;

	b->n = 0;
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = host_at(a, i), *part;
		const struct rs_fact *mtu = host ? main_mtu(a, host, &part) : NULL;

		if (mtu)
			vote(b, host, part, mtu->value, mtu);
	}
	for (unsigned i = 1; i < b->n; i++)
		paths |= rs_qos_path_mtu(b->vote[i].fact->number) !=
			 rs_qos_path_mtu(b->vote[0].fact->number);
	f = result(a, r, b, paths && !told ? RS_CRITICAL : RS_MINOR, "the MTU of RoCE interfaces");
	if (!f || f->verdict != RS_FAIL)
		return;
	rs_finding_why(a, f, "%s",
		       paths ? "their path MTUs differ, too: the larger end's packets are dropped"
			     : "RoCE's path MTU is the same in both; other traffic's is not");
	for (unsigned i = 0; i < b->n && f->n_fixes < NAMED; i++)
		if (odd(b, i))
			rs_finding_fix(a, f, b->vote[i].host, false, "connections of the interface",
				       rs_audit_text(a, "ip link set %s mtu %s", b->vote[i].part,
						     b->vote[i].value),
				       "ip link set %s mtu %s", b->vote[i].part,
				       b->winner ? b->winner : "9000");
}

/* One host's MTU is known and another's is not. */
static void x02_unseen(struct rs_audit *a, const struct rs_rule *r)
{
	const char *blind = NULL, *part;
	struct rs_finding *f;
	unsigned known = 0;

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = host_at(a, i);

		if (!host || !rs_look_has_rdma(a, host))
			continue;
		if (main_nic(a, host, "active_mtu") || main_mtu(a, host, &part))
			known++;
		else
			blind = blind ? blind : host;
	}
	if (!known || !blind)
		return;
	f = rs_finding_new(a, r, RS_UNKNOWN, RS_MAJOR, "the MTU of %s is not known, that of %u %s",
			   blind, known, known == 1 ? "other is" : "others is");
	rs_finding_subject(a, f, blind, NULL);
	rs_finding_need(a, f, "ibv_devinfo, or ip link", "whether it is the peers'");
}

/* The MTUs of an interface ("netdev/ens3") on hosts of which no RDMA device is known. */
static void vote_mtus(const struct rs_audit *a, struct ballot *b, const char *subject)
{
	b->n = 0;
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = host_at(a, i);
		const struct rs_fact *mtu = host && !rs_look_has_rdma(a, host)
						    ? rs_facts_get(a->facts, host, subject, "mtu")
						    : NULL;

		if (mtu && mtu->numeric)
			vote(b, host, subject + strlen("netdev/"), mtu->value, mtu);
	}
}

/* Of hosts without a word of their RDMA devices: the MTU of the interface of one name. */
static void x02_names(struct rs_audit *a, const struct rs_rule *r, struct ballot *b)
{
	const char *netdev = NULL;

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = host_at(a, i), *own;
		uint32_t at = 0;

		if (!host || !(own = rs_facts_subject(a->facts, &at, host, "netdev/")))
			continue;
		/* one interface was asked for, the same on each */
		if (rs_look_has_rdma(a, host) || (netdev && strcmp(netdev, own)) ||
		    rs_facts_subject(a->facts, &at, host, "netdev/"))
			return;
		netdev = own;
	}
	if (!netdev)
		return;
	vote_mtus(a, b, netdev);
	count(b);
	if (b->n > 1 && b->kinds > 1) {
		struct rs_finding *f =
			result(a, r, b, RS_MAJOR, rs_audit_text(a, "the MTU of %s", netdev + 7));

		rs_finding_why(a, f, "the larger end's full packets do not arrive");
	}
}

/* A ping of one size arrives and none of a larger one does: a hop has a smaller MTU. */
static void x02_pings(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const struct rs_fact *f, *last = NULL, *small = NULL, *big = NULL;
	uint32_t at = 0;

	while ((f = rs_facts_next(a->facts, &at, host, "ping/", "received/"))) {
		int size = atoi(f->name + strlen("received/"));

		if (last && strcmp(last->subject, f->subject))
			small = big = NULL;
		last = f;
		if (f->numeric && f->number > 0 && (!small || size > atoi(small->name + 9)))
			small = f;
		if (f->numeric && !f->number && size > 1472)
			big = f;
		if (small && big && atoi(big->name + 9) > atoi(small->name + 9)) {
			struct rs_finding *x = rs_finding_new(
				a, r, RS_FAIL, RS_CRITICAL,
				"%s is reached with %s bytes of ping, and not with %s",
				f->subject + 5, small->name + 9, big->name + 9);

			rs_finding_subject(a, x, host, NULL);
			rs_finding_fact(x, big);
			rs_finding_fact(x, small);
			rs_finding_why(a, x,
				       "an interface or a switch port on the way has a smaller "
				       "MTU: RDMA's full packets are dropped there without a word");
			rs_finding_need(a, x, "tracepath -n, and the MTU of each switch port",
					"which hop it is");
			big = NULL;
		}
	}
}

/* A path MTU, no interface's: IBTA vol. 1 9.7 (path MTU). */
static bool is_path_mtu(int64_t bytes)
{
	return bytes == 256 || bytes == 512 || bytes == 1024 || bytes == 2048 || bytes == 4096;
}

/* Two sides of which a person says two MTUs, a line or two apart. */
static void x02_told(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	enum { NEAR = 3 /* lines */ };
	const struct rs_fact *f, *before = NULL;
	struct rs_finding *x;
	uint32_t at = rs_facts_seek(a->facts, host, "told");

	while ((f = rs_facts_next(a->facts, &at, host, "told", "mtu/"))) {
		if (before && before->number != f->number &&
		    is_path_mtu(before->number) == is_path_mtu(f->number) &&
		    !strcmp(before->file, f->file) &&
		    (f->line > before->line ? f->line - before->line : before->line - f->line) <=
			    NEAR)
			break;
		before = f;
	}
	if (!f)
		return;
	x = rs_finding_new(a, r, RS_FAIL, RS_MINOR, "one side has an MTU of %s, the other of %s",
			   before->value, f->value);
	rs_finding_subject(a, x, host, NULL);
	rs_finding_fact(x, before);
	rs_finding_fact(x, f);
	rs_finding_why(a, x,
		       "a person says so: a connection that takes the larger one sends packets "
		       "that the other side drops");
	rs_finding_need(a, x, "ibv_devinfo | grep active_mtu, on both hosts", "whether it is so");
	rs_finding_unpriced(a, x, "what a person tells has no model");
	if (x)
		x->confidence = RS_LOW;
}

/* Interfaces of one name are of one role; what a host makes for itself is no rail. */
static bool own_made(const char *netdev)
{
	static const char *const names[] = {"lo",   "docker", "veth", "br-",     "virbr",    "cni",
					    "cali", "tunl",   "ib",   "flannel", "vxlan",    "tap",
					    "tun",  "dummy",  "wg",   "kube",    "nodelocal"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(netdev, names[i], strlen(names[i])))
			return true;
	return false;
}

/* The difference of these MTUs is found already, of the hosts' main or only interfaces. */
static bool is_found(const struct rs_audit *a, const struct rs_rule *r, const struct ballot *b)
{
	for (uint32_t i = 0; i < a->n_findings; i++) {
		const struct rs_finding *f = a->findings[i];

		if (f->rule != r || f->verdict != RS_FAIL)
			continue;
		for (unsigned v = 0; v < b->n; v++)
			if (rs_finding_cites(f, b->vote[v].fact))
				return true;
	}
	return false;
}

/* Hosts of which no RDMA device is known, by an interface that several of them have. */
static void x02_namesakes(struct rs_audit *a, const struct rs_rule *r, struct ballot *b,
			  const char *host)
{
	const struct rs_fact *f;
	uint32_t at = 0;

	while ((f = rs_facts_next(a->facts, &at, host, "netdev/", "mtu"))) {
		const char *part = f->subject + strlen("netdev/");
		struct rs_finding *x;

		if (strcmp(f->name, "mtu") || !f->numeric || own_made(part))
			continue;
		vote_mtus(a, b, f->subject);
		/* said once, of the first of them */
		x = b->n > 1 && !strcmp(b->vote[0].host, host) && !is_found(a, r, b)
			    ? result(a, r, b, RS_MINOR, "the MTU of interfaces of one name")
			    : NULL;
		if (!x || x->verdict != RS_FAIL)
			continue;
		x->confidence = RS_MEDIUM;
		rs_finding_why(a, x,
			       "if RDMA goes over them, the path MTU of each pair is the smaller "
			       "end's, or the larger end's packets are dropped");
		rs_finding_need(a, x, "rdma link", "whether RDMA goes over these interfaces");
	}
}

static void x02(struct rs_audit *a, const struct rs_rule *r)
{
	struct rs_finding *f;
	struct ballot b;
	bool told;

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		x02_pings(a, r, rs_facts_host(a->facts, i));
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		x02_told(a, r, rs_facts_host(a->facts, i));
	if (!open_ballot(a, &b))
		return;
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = host_at(a, i);
		const char *nic = host ? main_nic(a, host, "active_mtu") : NULL;
		const struct rs_fact *mtu = nic ? rs_look(a, host, nic, "active_mtu") : NULL;

		if (mtu && mtu->numeric)
			vote(&b, host, nic + 4, mtu->value, mtu);
	}
	f = result(a, r, &b, RS_CRITICAL, "the active MTU of RDMA ports");
	told = f && f->verdict == RS_FAIL;
	if (told) {
		rs_finding_why(
			a, f,
			"an RC connection takes one path MTU: who takes its own larger one "
			"sends packets that the peer drops, and jobs hang at the first large "
			"message");
		for (unsigned i = 0; i < b.n && f->n_fixes < NAMED; i++) {
			const char *nd = rs_qos_netdev(a, b.vote[i].host, b.vote[i].part);

			if (odd(&b, i))
				rs_finding_fix(a, f, b.vote[i].host, false,
					       "connections of the interface", NULL,
					       "ip link set %s mtu 9000  # active MTU 4096 needs "
					       "4200 or more",
					       nd ? nd : "<netdev>");
		}
	}
	x02_interfaces(a, r, &b, told);
	x02_names(a, r, &b);
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		if (host_at(a, i) && !rs_look_has_rdma(a, host_at(a, i)))
			x02_namesakes(a, r, &b, host_at(a, i));
	free(b.vote);
	x02_unseen(a, r);
}

/* ---- X04: rails ---- */

struct cable {
	const char *node, *dev, *leaf, *port;
	const struct rs_fact *fact;
	const char *leaves; /* of the whole node, in order: nodes alike in it are one group */
};

static int by_node(const void *x, const void *y)
{
	const struct cable *a = x, *b = y;
	int c = strcmp(a->node, b->node);

	return c ? c : rs_facts_compare(a->dev, b->dev);
}

static int by_leaves(const void *x, const void *y)
{
	const struct cable *a = x, *b = y;
	int c = strcmp(a->leaves, b->leaves);

	if (!c)
		c = rs_facts_compare(a->dev, b->dev);
	return c ? c : strcmp(a->node, b->node);
}

static void take_cable(struct rs_audit *a, struct cable *c, unsigned *n, const char *host,
		       const char *node, const char *dev, const char *subject)
{
	const struct rs_fact *leaf = rs_facts_get(a->facts, host, subject, "neighbour");
	const struct rs_fact *port = rs_facts_get(a->facts, host, subject, "neighbour_port");

	if (leaf && *n < CABLES)
		c[(*n)++] =
			(struct cable){node, dev, leaf->value, port ? port->value : "?", leaf, ""};
}

/* From LLDP at hosts (RDMA interfaces alone) and from lists of a fabric's cables. */
static unsigned take_cables(struct rs_audit *a, struct cable *c)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i), *s;
		uint32_t at = 0;

		while ((s = rs_facts_subject(a->facts, &at, host, "cable/"))) {
			const char *dev = strrchr(s, '/') + 1;

			if (dev > s + 6)
				take_cable(a, c, &n, host,
					   rs_audit_text(a, "%.*s", (int)(dev - s - 7), s + 6), dev,
					   s);
		}
		if (rs_facts_is_switch(a->facts, host))
			continue;
		/* without a list of RDMA devices each interface with a neighbour counts */
		if (!rs_look_has_rdma(a, host))
			for (at = 0; (s = rs_facts_subject(a->facts, &at, host, "netdev/"));)
				take_cable(a, c, &n, host, host, s + 7, s);
		for (at = 0; (s = rs_facts_subject(a->facts, &at, host, "nic/"));) {
			const char *nd = rs_qos_netdev(a, host, s + 4);

			if (nd)
				take_cable(a, c, &n, host, host, s + 4,
					   rs_audit_text(a, "netdev/%s", nd));
		}
	}
	return n;
}

static int by_text(const void *x, const void *y)
{
	return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* "leaf1 leaf2 leaf3 leaf4" of a node whose cables are c[0..n). */
static const char *leaves_of(struct rs_audit *a, const struct cable *c, unsigned n)
{
	const char *leaf[LEAVES];
	const char *text = "";

	if (n > LEAVES)
		return NULL;
	for (unsigned i = 0; i < n; i++)
		leaf[i] = c[i].leaf;
	qsort(leaf, n, sizeof(*leaf), by_text);
	for (unsigned i = 0; i < n; i++)
		text = rs_audit_text(a, "%s%s%s", text, *text ? " " : "", leaf[i]);
	return text;
}

/* The leaf of more than half of a device's cables within a group; NULL: none has. */
static const char *majority(const struct cable *c, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		unsigned same = 0;

		for (unsigned k = 0; k < n; k++)
			same += !strcmp(c[k].leaf, c[i].leaf);
		if (2 * same > n)
			return c[i].leaf;
	}
	return NULL;
}

static void wrong_leaf(struct rs_audit *a, const struct rs_rule *r, const struct cable *c,
		       const char *leaf, struct rs_finding **f, const char *what)
{
	if (!*f)
		*f = rs_finding_new(a, r, RS_FAIL, RS_CRITICAL,
				    "%s: %s of %s is on %s, of the other hosts on %s", what, c->dev,
				    c->node, c->leaf, leaf);
	rs_finding_subject(a, *f, c->node, c->dev);
	rs_finding_fact(*f, c->fact);
	if (*f && (*f)->n_fixes < NAMED)
		rs_finding_fix(a, *f, c->node, true, "link down while it is moved", NULL,
			       "move the cable of %s from %s port %s to %s", c->dev, c->leaf,
			       c->port, leaf);
}

/* Nodes of one group have the same leaves; a device that is on another leaf than in most of them
 * was swapped with another. */
static void x04_group(struct rs_audit *a, const struct rs_rule *r, const struct cable *c,
		      unsigned n, struct rs_finding **f, unsigned *checked)
{
	for (unsigned from = 0, to; from < n; from = to) {
		const char *leaf;

		for (to = from; to < n && !strcmp(c[to].dev, c[from].dev);)
			to++;
		leaf = to - from >= 3 ? majority(c + from, to - from) : NULL;
		*checked += leaf != NULL;
		for (unsigned i = from; leaf && i < to; i++)
			if (strcmp(c[i].leaf, leaf))
				wrong_leaf(a, r, &c[i], leaf, f, "cables are swapped");
	}
}

/* One cable of c[0..n), a node's, on a leaf where no other of the group g[0..m) has that device,
 * and all its others where they have theirs: it went to a foreign leaf. -1: no such cable. */
static int stray(const struct cable *c, unsigned n, const struct cable *g, unsigned m,
		 const char **leaf)
{
	unsigned right = 0, wrong = 0;
	int found = -1;

	for (unsigned i = 0; i < n; i++) {
		unsigned from = 0, to;

		while (from < m && strcmp(g[from].dev, c[i].dev))
			from++;
		for (to = from; to < m && !strcmp(g[to].dev, c[i].dev);)
			to++;
		if (to - from < 3 || !majority(g + from, to - from))
			continue;
		if (!strcmp(majority(g + from, to - from), c[i].leaf)) {
			right++;
		} else {
			wrong++;
			found = (int)i;
			*leaf = majority(g + from, to - from);
		}
	}
	return wrong == 1 && right >= 2 ? found : -1;
}

static bool same_group(const struct cable *x, const struct cable *y)
{
	return !strcmp(x->leaves, y->leaves);
}

/* A node whose leaves are nobody else's, held against each group of three or more (nine cables of
 * three NICs or more each: less is no rail). */
static void x04_strays(struct rs_audit *a, const struct rs_rule *r, const struct cable *c,
		       unsigned n, struct rs_finding **f)
{
	unsigned big[GROUPS][2], groups = 0;

	for (unsigned from = 0, to; from < n; from = to) {
		for (to = from; to < n && same_group(&c[to], &c[from]);)
			to++;
		if (to - from < 9 || groups == GROUPS || !strcmp(c[from].node, c[to - 1].node))
			continue;
		big[groups][0] = from;
		big[groups++][1] = to - from;
	}
	for (unsigned from = 0, to; from < n; from = to) {
		const char *leaf = NULL;
		bool alone = true;

		for (to = from; to < n && same_group(&c[to], &c[from]); to++)
			alone &= !strcmp(c[to].node, c[from].node);
		for (unsigned g = 0; alone && g < groups; g++) {
			int i = stray(c + from, to - from, c + big[g][0], big[g][1], &leaf);

			if (i < 0)
				continue;
			wrong_leaf(a, r, &c[from + (unsigned)i], leaf, f,
				   "a cable is on a foreign leaf");
			break;
		}
	}
}

/* Cables by the leaves of their nodes, those of nodes with one cable left out. */
static unsigned by_groups(struct rs_audit *a, struct cable *c, unsigned n)
{
	unsigned kept = 0;

	qsort(c, n, sizeof(*c), by_node);
	for (unsigned from = 0, to; from < n; from = to) {
		const char *leaves;

		for (to = from; to < n && !strcmp(c[to].node, c[from].node);)
			to++;
		leaves = to - from > 1 ? leaves_of(a, c + from, to - from) : NULL;
		for (unsigned i = from; leaves && i < to; i++) {
			c[kept] = c[i];
			c[kept++].leaves = leaves;
		}
	}
	qsort(c, kept, sizeof(*c), by_leaves);
	return kept;
}

static void x04(struct rs_audit *a, const struct rs_rule *r)
{
	struct cable *c = calloc(CABLES, sizeof(*c));
	struct rs_finding *f = NULL;
	unsigned n, checked = 0;

	if (!c) {
		a->err = a->err ? a->err : -12;
		return;
	}
	n = by_groups(a, c, take_cables(a, c));
	for (unsigned from = 0, to; from < n; from = to) {
		for (to = from; to < n && same_group(&c[to], &c[from]);)
			to++;
		x04_group(a, r, c + from, to - from, &f, &checked);
	}
	x04_strays(a, r, c, n, &f);
	if (f)
		rs_finding_why(a, f,
			       "NCCL pairs NICs of one index; with swapped cables that traffic "
			       "crosses the spine, or meets another rail that has no route");
	else if (checked)
		rs_finding_new(a, r, RS_PASS, RS_CRITICAL,
			       "%u devices are on one leaf in all hosts of their group", checked);
	free(c);
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		rs_rails_judge(a, r, rs_facts_host(a->facts, i));
}

/* ---- X05: versions ---- */

/* NICs of one board have one firmware, over all hosts and within one. */
static void x05_board(struct rs_audit *a, const struct rs_rule *r, struct ballot *b,
		      const char *board)
{
	struct rs_finding *f;

	b->n = 0;
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i), *nic;
		uint32_t at = 0;

		while ((nic = rs_facts_subject(a->facts, &at, host, "nic/"))) {
			const char *of = rs_facts_value(a->facts, host, nic, "board_id");
			const struct rs_fact *fw = rs_look(a, host, nic, "firmware");

			if (of && !strcmp(of, board) && fw)
				vote(b, host, nic + 4, fw->value, fw);
		}
	}
	f = result(a, r, b, RS_MAJOR, rs_audit_text(a, "firmware of board %s", board));
	if (!f || f->verdict != RS_FAIL)
		return;
	rs_finding_why(
		a, f,
		"firmware decides defaults of congestion control, PCIe and adaptive routing: "
		"a rail with another one behaves differently under load");
	if (b->winner)
		rs_finding_fix(a, f, "the odd ones", true, "reset of the NIC, or a reboot", NULL,
			       "flint -d <device> -i <image of %s> burn && mlxfwreset -d <device> "
			       "reset",
			       b->winner);
	else
		rs_finding_need(a, f, "which of the releases this site means",
				"no release has a majority");
}

static void x05_hosts(struct rs_audit *a, const struct rs_rule *r, struct ballot *b,
		      const char *subject, const char *name, const char *what)
{
	b->n = 0;
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = host_at(a, i);
		const struct rs_fact *f = host ? rs_look(a, host, subject, "%s", name) : NULL;

		if (f)
			vote(b, host, NULL, f->value, f);
	}
	result(a, r, b, RS_MAJOR, what);
}

/* An interface's driver and firmware by one tool: does the package know that branch? */
static void x05_pair(struct rs_audit *a, const struct rs_rule *r, const char *host,
		     const char *netdev, unsigned *right, struct rs_finding **strange)
{
	const char *driver = rs_facts_value(a->facts, host, netdev, "driver");
	const struct rs_fact *package = rs_look(a, host, netdev, "version");
	const struct rs_fact *fw = rs_look(a, host, netdev, "firmware-version");
	const struct rs_bundle *b;
	struct rs_finding *f;
	unsigned branch;

	if (!driver || strcmp(driver, "mlx5_core") || !package || !fw)
		return;
	b = rs_bundle_find(package->value, fw->value);
	if (!b) {
		if (!*strange) {
			*strange = rs_finding_new(a, r, RS_UNKNOWN, RS_MINOR,
						  "whether driver %s and firmware %.40s belong "
						  "together is not known",
						  package->value, fw->value);
			rs_finding_need(a, *strange, "the vendor's release notes of the driver",
					"which firmware it brings along");
		}
		rs_finding_subject(a, *strange, host, strchr(netdev, '/') + 1);
		rs_finding_fact(*strange, package);
		rs_finding_fact(*strange, fw);
		return;
	}
	if (sscanf(fw->value, "%*u.%u.", &branch) != 1 || branch >= b->firmware) {
		++*right;
		return;
	}
	f = rs_finding_new(a, r, RS_FAIL, RS_MINOR,
			   "firmware %.40s is older than what driver %s brings along (%u.%u)",
			   fw->value, package->value, b->family, b->firmware);
	rs_finding_subject(a, f, host, strchr(netdev, '/') + 1);
	rs_finding_fact(f, package);
	rs_finding_fact(f, fw);
	rs_finding_why(a, f,
		       "a driver offers what its own firmware knows; on an older one features are "
		       "missing, and the pair was not tested (vendor's table as of %s)",
		       b->seen);
	rs_finding_fix(a, f, host, true, "reset of the NIC, or a reboot", NULL,
		       "mlxup --query; mlxup -u  # or the board vendor's image of %u.%u", b->family,
		       b->firmware);
}

static void x05_pairs(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = host_at(a, i), *netdev;
		struct rs_finding *strange = NULL;
		unsigned right = 0;
		uint32_t at = 0;

		while (host && (netdev = rs_facts_subject(a->facts, &at, host, "netdev/")))
			x05_pair(a, r, host, netdev, &right, &strange);
		if (right)
			rs_finding_subject(a,
					   rs_finding_new(a, r, RS_PASS, RS_MINOR,
							  "driver and firmware belong together, on "
							  "%u interface%s",
							  right, right == 1 ? "" : "s"),
					   host, NULL);
	}
}

/* The same of hosts of which ethtool -i alone was read: "28.40.1000 (MT_0000000838)". */
static void x05_netdevs(struct rs_audit *a, const struct rs_rule *r, struct ballot *b)
{
	const char *board = NULL;

	b->n = 0;
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = host_at(a, i);
		const struct rs_fact *f;
		uint32_t at = 0;

		while (host &&
		       (f = rs_facts_next(a->facts, &at, host, "netdev/", "firmware-version"))) {
			const char *of = strchr(f->value, '(');

			board = board ? board : of;
			if (of && !strcmp(of, board))
				vote(b, host, f->subject + 7, f->value, f);
		}
	}
	if (b->n > 1)
		result(a, r, b, RS_MAJOR, rs_audit_text(a, "firmware of board %s", board));
}

/* Devices of one name and of one family of firmware, whose boards nobody told. */
static void x05_names(struct rs_audit *a, const struct rs_rule *r, struct ballot *b)
{
	const struct rs_fact *first = NULL, *f;

	b->n = 0;
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);
		uint32_t at = 0;

		while ((f = rs_facts_next(a->facts, &at, host, "nic/", "firmware"))) {
			if (strcmp(f->name, "firmware"))
				continue;
			first = first ? first : f;
			if (strcmp(f->subject, first->subject) ||
			    atoi(f->value) != atoi(first->value))
				continue;
			vote(b, host, f->subject + 4, f->value, f);
			break; /* the same may be read again */
		}
	}
	if (b->n > 1)
		result(a, r, b, RS_MINOR,
		       rs_audit_text(a, "firmware of %s, the board not seen,", first->subject + 4));
}

/* Of each thing of that kind that the first host with one has. */
static void each_part(struct rs_audit *a, const struct rs_rule *r, const char *kind,
		      void (*judge)(struct rs_audit *, const struct rs_rule *, const char *,
				    const char *, struct ballot *))
{
	const char *first = NULL, *part;
	uint32_t at = 0;
	struct ballot b;

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts) && !first; i++) {
		const char *host = host_at(a, i);

		at = 0;
		if (host && rs_facts_subject(a->facts, &at, host, kind))
			first = host;
	}
	if (!first || !open_ballot(a, &b))
		return;
	at = 0;
	while ((part = rs_facts_subject(a->facts, &at, first, kind)))
		judge(a, r, first, part, &b);
	free(b.vote);
}

/* One interface's firmware on hosts whose boards nobody told. */
static void x05_interface(struct rs_audit *a, const struct rs_rule *r, const char *like,
			  const char *netdev, struct ballot *b)
{
	struct rs_finding *f;

	(void)like;
	b->n = 0;
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = host_at(a, i);
		const struct rs_fact *fw =
			host ? rs_facts_get(a->facts, host, netdev, "firmware-version") : NULL;

		if (fw && !strchr(fw->value, '('))
			vote(b, host, netdev + strlen("netdev/"), fw->value, fw);
	}
	count(b);
	if (b->n < 2 || b->kinds < 2)
		return;
	f = result(a, r, b, b->winner ? RS_MAJOR : RS_MINOR,
		   rs_audit_text(a, "firmware of %s, the board not seen,",
				 netdev + strlen("netdev/")));
	if (f)
		f->confidence = RS_MEDIUM;
	rs_finding_need(a, f, "lspci -nn -s its address, on both", "whether they are of one model");
}

static void x05(struct rs_audit *a, const struct rs_rule *r)
{
	const char *board[64];
	unsigned n = 0;
	struct ballot b;

	if (!open_ballot(a, &b))
		return;
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const struct rs_fact *f;
		uint32_t at = 0;

		while ((f = rs_facts_next(a->facts, &at, rs_facts_host(a->facts, i), "nic/",
					  "board_id"))) {
			unsigned k = 0;

			while (k < n && strcmp(board[k], f->value))
				k++;
			if (k == n && n < 64)
				board[n++] = f->value;
		}
	}
	for (unsigned k = 0; k < n; k++)
		x05_board(a, r, &b, board[k]);
	if (!n) {
		x05_netdevs(a, r, &b);
		x05_names(a, r, &b);
		each_part(a, r, "netdev/", x05_interface);
	}
	x05_hosts(a, r, &b, "host", "kernel", "the kernel");
	x05_hosts(a, r, &b, "host", "gpu_driver", "the GPU driver");
	x05_hosts(a, r, &b, "host", "cuda", "CUDA");
	x05_hosts(a, r, &b, "nccl", "version", "NCCL");
	b.n = 0;
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *sw = rs_facts_host(a->facts, i);
		const struct rs_fact *f = rs_look(a, sw, "host", "os_version");

		if (rs_facts_is_switch(a->facts, sw) && f)
			vote(&b, sw, NULL, f->value, f);
	}
	result(a, r, &b, RS_MAJOR, "the switches' system");
	free(b.vote);
	x05_pairs(a, r);
}

/* ---- X06: the environment ---- */

/* Variables that a host has of its own by right: names, files, what is printed where. */
static bool per_host(const char *name)
{
	static const char *const own[] = {"NCCL_DEBUG",  "NCCL_HOSTID",        "NCCL_TOPO_",
					  "NCCL_GRAPH_", "NCCL_SOCKET_IFNAME", "NCCL_COMM_ID",
					  "NCCL_RAS_",   "NCCL_IB_HCA",        "NCCL_CONF_FILE",
					  "NCCL_NVLS_",  "NCCL_IGNORE_CPU"};

	for (unsigned i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (!strncmp(name, own[i], strlen(own[i])))
			return true;
	return false;
}

/* Does the same text hold NCCL's log of other hosts, and no line names this one? Then its variables
 * were set by what started the job. */
static bool x06_is_launcher(const struct rs_audit *a, const char *host)
{
	uint32_t at = rs_facts_seek(a->facts, host, "env");
	const struct rs_fact *own = rs_facts_next(a->facts, &at, host, "env", "NCCL_"), *log;

	if (!own || own->trust == RS_TRUST_LOG || rs_facts_get(a->facts, host, "host", "named"))
		return false;
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		log = rs_facts_get(a->facts, rs_facts_host(a->facts, i), "nccl", "log");
		if (log && strcmp(log->host, host) && !strcmp(log->file, own->file))
			return true;
	}
	return false;
}

/* Beside hosts that a log or prompts name, what the text's own host has is the job's: it is set for
 * all of them. */
static bool x06_is_job(const struct rs_audit *a, const char *host)
{
	bool named = false;

	if (x06_is_launcher(a, host))
		return true;
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts) && !named; i++)
		named = rs_facts_get(a->facts, rs_facts_host(a->facts, i), "host", "named");
	for (uint32_t i = 0; named && i < a->n_jobs; i++)
		if (!strcmp(a->jobs[i], host))
			return true;
	return false;
}

/* A log shows what was set, and not all of that. */
static bool x06_shows_all(const struct rs_audit *a, const char *host)
{
	uint32_t at = rs_facts_seek(a->facts, host, "env");
	const struct rs_fact *f;

	while ((f = rs_facts_next(a->facts, &at, host, "env", "NCCL_")))
		if (f->trust != RS_TRUST_LOG && f->trust != RS_TRUST_NOTE)
			return true;
	return false;
}

static void x06_variable(struct rs_audit *a, struct ballot *b, const char *name)
{
	b->n = 0;
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = host_at(a, i);
		const struct rs_fact *f = host ? rs_facts_get(a->facts, host, "env", name) : NULL;

		if (!host || x06_is_job(a, host) || (!f && !x06_shows_all(a, host)))
			continue;
		if (rs_look_any(a, host, "env", "NCCL_"))
			vote(b, host, NULL, f ? f->value : "unset", f);
	}
}

/* Is this the first host that has the variable? Each is judged once. */
static bool first_with(const struct ballot *b, const char *host)
{
	for (unsigned k = 0; k < b->n && strcmp(b->vote[k].host, host); k++)
		if (b->vote[k].fact)
			return false;
	return b->n > 1;
}

static void x06_judge(struct rs_audit *a, const struct rs_rule *r, struct ballot *b,
		      const struct rs_fact *e, unsigned *alike, unsigned *differ)
{
	struct rs_finding *f;

	count(b);
	if (b->kinds < 2) {
		++*alike;
		return;
	}
	++*differ;
	f = result(a, r, b, RS_MAJOR, e->name);
	rs_finding_why(
		a, f,
		"ranks that disagree on a protocol hang or fall back; on a tuning value they "
		"wait for the slowest");
	rs_finding_fix(a, f, "all hosts of the job", true, NULL, NULL,
		       "%s=%s  # the same everywhere, or unset everywhere", e->name,
		       b->winner && strcmp(b->winner, "unset") ? b->winner : e->value);
	if (f && f->n_fixes)
		f->fix[f->n_fixes - 1].yields = true;
}

static void x06(struct rs_audit *a, const struct rs_rule *r)
{
	unsigned seen = 0, alike = 0, differ = 0;
	const char *blind = NULL;
	struct ballot b;

	if (!open_ballot(a, &b))
		return;
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = host_at(a, i), *last = "";
		const struct rs_fact *e;
		uint32_t at = 0;

		if (host && !rs_look_any(a, host, "env", "NCCL_") && rs_look_has_rdma(a, host))
			blind = blind ? blind : host;
		if (!host || !rs_look_any(a, host, "env", "NCCL_") || x06_is_job(a, host))
			continue;
		seen++;
		while ((e = rs_facts_next(a->facts, &at, host, "env", "NCCL_"))) {
			if (!strcmp(e->name, last) || per_host(e->name))
				continue;
			last = e->name;
			x06_variable(a, &b, e->name);
			if (first_with(&b, host))
				x06_judge(a, r, &b, e, &alike, &differ);
		}
	}
	if (!differ && alike)
		rs_finding_new(a, r, RS_PASS, RS_MAJOR,
			       "%u variables of NCCL are alike on %u hosts", alike, seen);
	free(b.vote);
	if (seen && blind && !a->n_jobs) {
		struct rs_finding *f = rs_finding_new(
			a, r, RS_UNKNOWN, RS_MAJOR,
			"NCCL's environment of %u host%s was read, that of %s was not", seen,
			seen == 1 ? "" : "s", blind);

		rs_finding_subject(a, f, blind, NULL);
		rs_finding_need(a, f, "/proc/<pid of a rank>/environ, or the job's environment",
				"whether its ranks have the same variables");
	}
}

/* ---- X07: hardware ---- */

/* "8 at 0000:19:00.0 0000:3b:00.0 ..."; NULL: no GPU was seen. */
static const char *gpu_places(struct rs_audit *a, const char *host)
{
	const char *text = "", *pci;
	unsigned n = 0;
	uint32_t at = 0;

	while ((pci = rs_facts_subject(a->facts, &at, host, "pci/")))
		if (!strcmp(rs_look_kind(a, host, pci), "gpu") && n++ < 32)
			text = rs_audit_text(a, "%s %s", text, pci + 4);
	return n ? rs_audit_text(a, "%u at%s", n, text) : NULL;
}

/* "2 of MT_0000000011, 8 of MT_0000000838"; NULL: no board was seen. */
static const char *boards(struct rs_audit *a, const char *host)
{
	const char *text = "", *name[16];
	unsigned of[16] = {0}, n = 0;
	const struct rs_fact *f;
	uint32_t at = 0;

	while ((f = rs_facts_next(a->facts, &at, host, "nic/", "board_id"))) {
		unsigned k = 0;

		while (k < n && strcmp(name[k], f->value))
			k++;
		if (k == 16)
			continue;
		if (k == n)
			name[n++] = f->value;
		of[k]++;
	}
	/* in the order of names, whatever the order of devices */
	for (unsigned done = 0; done < n; done++) {
		unsigned least = 16;

		for (unsigned k = 0; k < n; k++)
			if (of[k] && (least == 16 || strcmp(name[k], name[least]) < 0))
				least = k;
		text = rs_audit_text(a, "%s%s%u of %s", text, *text ? ", " : "", of[least],
				     name[least]);
		of[least] = 0;
	}
	return n ? text : NULL;
}

static void x07_two(struct rs_audit *a, const struct rs_rule *r, struct ballot *b, const char *what)
{
	struct rs_finding *f;

	if (b->n != 2 || !strcmp(b->vote[0].value, b->vote[1].value))
		return;
	f = rs_finding_new(a, r, RS_UNKNOWN, RS_MINOR, "%s differs between two hosts", what);
	rs_finding_subject(a, f, b->vote[0].host, NULL);
	rs_finding_subject(a, f, b->vote[1].host, NULL);
	rs_finding_need(a, f, "a third host, or a profile of what this model has (--profile)",
			"which of the two is meant, if they are one model at all");
}

/* The devices that NCCL's log says a host uses; NULL: it does not, or its ranks use others. */
static const char *devices_used(struct rs_audit *a, const char *host, const struct rs_fact **first)
{
	const struct rs_fact *f, *last = NULL;
	const char *text = NULL;
	uint32_t at = 0;

	*first = NULL;
	while ((f = rs_facts_next(a->facts, &at, host, "nccl", "using/"))) {
		if (last && !strcmp(last->name, f->name)) {
			if (strcmp(last->value, f->value))
				return NULL;
			continue;
		}
		text = rs_audit_text(a, "%s%s%s", text ? text : "", text ? ", " : "", f->value);
		*first = *first ? *first : f;
		last = f;
	}
	return text;
}

/* Has the longer list each device of the shorter one, and more? Both by ", ". */
static bool is_part(const char *shorter, const char *longer)
{
	if (strlen(shorter) >= strlen(longer))
		return false;
	while (*shorter) {
		size_t n = strcspn(shorter, ",");
		const char *at = longer;
		bool found = false;

		while (!found && *at) {
			size_t m = strcspn(at, ",");

			found = m == n && !strncmp(at, shorter, n);
			at += m;
			at += strspn(at, ", ");
		}
		if (!found)
			return false;
		shorter += n;
		shorter += strspn(shorter, ", ");
	}
	return true;
}

/* Of two hosts of one job one lacks devices that the other uses: a rail is lost there. */
static bool x07_lacks(struct rs_audit *a, const struct rs_rule *r, const struct ballot *b)
{
	const struct vote *less = &b->vote[0], *more = &b->vote[1];
	struct rs_finding *f;

	if (b->n != 2)
		return false;
	if (is_part(more->value, less->value))
		less = &b->vote[1], more = &b->vote[0];
	else if (!is_part(less->value, more->value))
		return false;
	f = rs_finding_new(a, r, RS_FAIL, RS_MAJOR, "NCCL uses %s on %s, and %s on %s", less->value,
			   less->host, more->value, more->host);
	rs_finding_subject(a, f, less->host, NULL);
	rs_finding_fact(f, less->fact);
	rs_finding_fact(f, more->fact);
	rs_finding_why(a, f,
		       "what the other host sends over the devices that are missing here goes over "
		       "fewer, or the job does not start");
	rs_finding_need(a, f, "ibv_devinfo; ibstat; echo $NCCL_IB_HCA, on this host",
			"whether the devices are down, or not named");
	if (f)
		f->confidence = RS_MEDIUM;
	return true;
}

static void x07_used(struct rs_audit *a, const struct rs_rule *r)
{
	struct ballot used;

	if (!open_ballot(a, &used))
		return;
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);
		const struct rs_fact *first;
		const char *devices = devices_used(a, host, &first);

		if (devices)
			vote(&used, host, NULL, devices, first);
	}
	if (!x07_lacks(a, r, &used))
		x07_two(a, r, &used, "the set of devices that NCCL uses");
	if (used.n > 2) {
		count(&used);
		if (used.winner && used.kinds > 1)
			result(a, r, &used, RS_MAJOR, "the set of devices that NCCL uses");
	}
	free(used.vote);
}

static bool is_down(const struct rs_audit *a, const char *host, const char *nic)
{
	const char *state = rs_facts_value(a->facts, host, nic, "port_state");

	return state && strcasecmp(state, "ACTIVE") != 0;
}

/* One NIC's rate on all hosts that have one of that name, and of that board where it is known. */
static void x07_rate(struct rs_audit *a, const struct rs_rule *r, const char *like, const char *nic,
		     struct ballot *b)
{
	const char *board = rs_facts_value(a->facts, like, nic, "board_id");
	struct rs_finding *f;

	if (!rs_facts_get(a->facts, like, nic, "rate_gbps"))
		return;
	b->n = 0;
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = host_at(a, i);
		const struct rs_fact *rate =
			host ? rs_facts_get(a->facts, host, nic, "rate_gbps") : NULL;
		const char *own = rate ? rs_facts_value(a->facts, host, nic, "board_id") : NULL;

		if (rate && !is_down(a, host, nic) && (!board || !own || !strcmp(board, own)))
			vote(b, host, nic + 4, rate->value, rate);
	}
	count(b);
	if (b->n < 2 || b->kinds < 2 || (b->n > 2 && !b->winner))
		return;
	f = result(a, r, b, RS_MAJOR, rs_audit_text(a, "the rate of %s (Gb/s)", nic + 4));
	rs_finding_why(a, f, "a job goes at the pace of its slowest link");
	rs_finding_need(a, f, "mlxlink -d DEVICE, of both; the switch's port",
			"which speed each side offers");
}

/* One interface's speed on hosts of which no RDMA device is known: a port of 100 Gb/s and more is
 * none of management. */
static void x07_speed(struct rs_audit *a, const struct rs_rule *r, const char *like,
		      const char *netdev, struct ballot *b)
{
	enum { OF_A_JOB = 100000 };
	int64_t most = 0;
	struct rs_finding *f;

	(void)like;
	if (own_made(netdev + strlen("netdev/")))
		return;
	b->n = 0;
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = host_at(a, i);
		const struct rs_fact *speed =
			host && !rs_look_has_rdma(a, host)
				? rs_facts_get(a->facts, host, netdev, "speed_mbps")
				: NULL;

		if (!speed || !speed->numeric || speed->number <= 0)
			continue;
		most = speed->number > most ? speed->number : most;
		vote(b, host, netdev + strlen("netdev/"), speed->value, speed);
	}
	count(b);
	if (most < OF_A_JOB || b->n < 2 || b->kinds < 2 || (b->n > 2 && !b->winner))
		return;
	f = result(a, r, b, RS_MAJOR,
		   rs_audit_text(a, "the speed of %s (Mb/s)", netdev + strlen("netdev/")));
	if (!f)
		return;
	f->confidence = RS_MEDIUM;
	rs_finding_why(a, f, "if the job goes over it, it goes at the pace of its slowest link");
	rs_finding_need(a, f, "rdma link; ethtool INTERFACE, of both; the switch's port",
			"whether RDMA goes over it, and which speed each side offers");
}

static void x07(struct rs_audit *a, const struct rs_rule *r)
{
	struct ballot gpus, nics;

	x07_used(a, r);
	each_part(a, r, "nic/", x07_rate);
	each_part(a, r, "netdev/", x07_speed);
	if (!open_ballot(a, &gpus) || !open_ballot(a, &nics)) {
		free(gpus.vote);
		return;
	}
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = host_at(a, i);

		if (!host)
			continue;
		vote(&gpus, host, NULL, gpu_places(a, host), NULL);
		vote(&nics, host, NULL, boards(a, host), NULL);
	}
	/* of two hosts that differ nobody knows which is meant, nor whether they are one model */
	x07_two(a, r, &gpus, "where GPUs are on PCIe");
	x07_two(a, r, &nics, "the set of NICs");
	if (gpus.n > 2) {
		count(&gpus);
		if (gpus.kinds < 2 || gpus.winner)
			result(a, r, &gpus, RS_MAJOR, "where GPUs are on PCIe");
	}
	if (nics.n > 2) {
		count(&nics);
		if (nics.kinds < 2 || nics.winner)
			result(a, r, &nics, RS_MAJOR, "the set of NICs");
	}
	free(gpus.vote);
	free(nics.vote);
}

const struct rs_rule rs_rules_peers[] = {
	{"X02", "mtu-peers", RS_CRITICAL, "The active MTU of RDMA ports is equal on all hosts.",
	 "IBTA vol. 1 9.7 (path MTU); NCCL takes the smaller of both since 2.x",
	 "The fastest NIC of a host that is up stands for it. Versions differ in where the smaller "
	 "of both ends is taken, so that any difference is told.",
	 x02},
	{"X04", "rail-wiring", RS_CRITICAL,
	 "A NIC of one name is on one leaf in all hosts; rails reach each other where NCCL "
	 "crosses them.",
	 "Rail-optimised networks; LLDP (IEEE 802.1AB), ibnetdiscover, NetQ",
	 "Hosts whose NICs together reach the same leaves are a group; in it each device is to be "
	 "on "
	 "the leaf where most have it. Two swapped cables keep the set and break the order. Groups "
	 "of fewer than three hosts have no majority and are not judged. Where a host has several "
	 "NVLink islands, or PXN is off, GPUs on different rails talk to each other: rails in "
	 "networks of their own then need a route.",
	 x04},
	{"X05", "versions", RS_MAJOR,
	 "NICs of one board have one firmware; hosts one kernel, driver and NCCL; switches one "
	 "system.",
	 "Vendors support combinations; a fleet has one",
	 "Any one release is right: what differs is told, and the minority named. Which firmware a "
	 "driver package brings along is in the vendor's tables (src/audit/bundles.c, with the "
	 "date "
	 "when they were read); a pair that is not there is UNKNOWN.",
	 x05},
	{"X06", "env-drift", RS_MAJOR, "NCCL's variables are equal on all hosts.",
	 "NCCL's environment is read by each rank on its own",
	 "Names, interfaces and files may differ by host. A variable that is set on some only "
	 "differs too.",
	 x06},
	{"X07", "topology-drift", RS_MAJOR, "GPUs and NICs are alike on hosts of one kind.",
	 "A majority of three or more hosts",
	 "A GPU that fell off the bus, a NIC in another slot. Of two hosts that differ nothing is "
	 "said: they may be two models.",
	 x07},
	{0},
};
