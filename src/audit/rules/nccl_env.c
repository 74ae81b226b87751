/* Checks of a job's environment against the release of NCCL that reads it and the devices that the
 * host has: names, device list, GPUDirect, topology file, what a test left behind. NCCL's sources.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/look.h"
#include "audit/facts/nccl.h"
#include "audit/facts/message.h"
#include "audit/rules/hca_list.h"
#include "audit/rules/nccl_env.h"
#include "audit/rules/other_lists.h"
#include "audit/rules/rule.h"

/* ---- N01 ---- */

static const struct rs_nccl_name *known_name(const char *name)
{
	for (const struct rs_nccl_name *k = rs_nccl_names; k->name; k++)
		if (!strcmp(k->name, name))
			return k;
	return NULL;
}

/* Edits that make b of a: insert, delete, replace, swap neighbours (Damerau). Names are short. */
static unsigned edits(const char *a, const char *b)
{
	enum { LONGEST = 64 };
	unsigned d[3][LONGEST + 1];
	size_t n = strlen(a), m = strlen(b);

	if (n > LONGEST || m > LONGEST)
		return LONGEST;
	for (size_t j = 0; j <= m; j++)
		d[0][j] = (unsigned)j;
	for (size_t i = 1; i <= n; i++) {
		unsigned *row = d[i % 3], *up = d[(i + 2) % 3], *up2 = d[(i + 1) % 3];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= m; j++) {
			unsigned best = up[j - 1] + (a[i - 1] != b[j - 1]);

			best = up[j] + 1 < best ? up[j] + 1 : best;
			best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    up2[j - 2] + 1 < best)
				best = up2[j - 2] + 1;
			row[j] = best;
		}
	}
	return d[n % 3][m];
}

static const struct rs_nccl_name *nearest_name(const char *name)
{
	const struct rs_nccl_name *best = NULL;
	unsigned least = 3; /* two edits at most */

	for (const struct rs_nccl_name *k = rs_nccl_names; k->name; k++) {
		unsigned d = edits(name, k->name);

		if (d < least) {
			least = d;
			best = k;
		}
	}
	return best;
}

/* What took the place of a variable that is no longer read. */
static const char *successor(const char *name)
{
	static const struct {
		const char *old, *now;
	} replaced[] = {
		{"NCCL_IB_CUDA_SUPPORT", "NCCL_NET_GDR_LEVEL"},
		{"NCCL_LL_THRESHOLD", "NCCL_PROTO"},
		{"NCCL_TREE_THRESHOLD", "NCCL_ALGO"},
		{"NCCL_RINGS", "NCCL_GRAPH_FILE"},
		{"NCCL_MNNVL", "NCCL_MNNVL_ENABLE"},
	};

	for (unsigned i = 0; i < sizeof(replaced) / sizeof(*replaced); i++)
		if (!strcmp(replaced[i].old, name))
			return replaced[i].now;
	return NULL;
}

static const char *release(struct rs_audit *a, uint32_t v)
{
	return rs_audit_text(a, "%u.%u.%u", v / 10000, v / 100 % 100, v % 100);
}

static void dead(struct rs_audit *a, const struct rs_rule *r, const char *host,
		 const struct rs_fact *v, const char *how)
{
	struct rs_finding *f = rs_finding_new(a, r, RS_FAIL, RS_MINOR, "%s %s", v->name, how);

	rs_finding_subject(a, f, host, NULL);
	rs_finding_fact(f, v);
	rs_finding_why(a, f, "what it was meant to do does not happen, and nothing says so");
	rs_finding_fix(a, f, "all hosts of the job", true, NULL,
		       rs_audit_text(a, "%s=%s", v->name, v->value), "unset %s", v->name);
}

/* true: nothing wrong with it, as far as is known. */
static bool n01_name(struct rs_audit *a, const struct rs_rule *r, const char *host,
		     const struct rs_fact *v, uint32_t version)
{
	const struct rs_nccl_name *k = known_name(v->name), *like;
	const char *instead;

	if (!strcmp(v->name, "NCCL_VERSION") || !strncmp(v->name, "NCCL_TESTS_", 11))
		return true; /* container images and nccl-tests */
	if (!k) {
		/* plugins have names of their own: only what looks like a slip is one */
		like = nearest_name(v->name);
		if (!like)
			return true;
		dead(a, r, host, v,
		     rs_audit_text(a, "is read by no release of NCCL; meant was %s?", like->name));
		return false;
	}
	instead = successor(v->name);
	if (version && k->until && version > k->until) {
		dead(a, r, host, v,
		     rs_audit_text(a, "is read up to %s, and this is %s%s%s", release(a, k->until),
				   release(a, version), instead ? ": now " : "",
				   instead ? instead : ""));
		return false;
	}
	if (version && k->since && version < k->since) {
		dead(a, r, host, v,
		     rs_audit_text(a, "is read from %s on, and this is %s", release(a, k->since),
				   release(a, version)));
		return false;
	}
	return true;
}

static void n01(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i), *last = "";
		uint32_t version = rs_nccl_version(a, host, NULL), at = 0;
		unsigned right = 0, all = 0;
		const struct rs_fact *v;
		struct rs_finding *f;

		while ((v = rs_facts_next(a->facts, &at, host, "env", "NCCL_"))) {
			if (strcmp(v->subject, "env") || !strcmp(v->name, last))
				continue;
			last = v->name;
			all++;
			right += n01_name(a, r, host, v, version);
		}
		if (!all || right < all)
			continue;
		f = rs_finding_new(a, r, version ? RS_PASS : RS_UNKNOWN, RS_MINOR,
				   version ? "all %u variables are read by this release"
					   : "%u variables that some release reads",
				   all);
		rs_finding_subject(a, f, host, NULL);
		if (!version)
			rs_finding_need(a, f, "NCCL's log, or NCCL_VERSION",
					"which release reads them");
	}
}

/* ---- N03, N04: the device list ---- */

enum { DEVICES = 64 };

struct device {
	const char *subject, *name; /* "nic/mlx5_0", "mlx5_0" */
	const char *layer;          /* "InfiniBand", "Ethernet"; NULL: not known */
	int64_t rate;               /* Gb/s; 0: not known */
	int near;                   /* to the nearest GPU, enum rs_near */
	int active;                 /* 1, 0; -1: not known */
	bool selected;
	bool named; /* by the list itself, not by a beginning or by what is left */
};

struct devices {
	unsigned n;
	struct device d[DEVICES];
};

/* In the class infiniband, and yet no device that NCCL's IB transport takes. */
static bool is_hca(const char *name)
{
	return strncmp(name, "scif", 4) && strncmp(name, "usnic", 5) && strcmp(name, "unnamed");
}

/* What a log says of a device is what NCCL took, not what the host has. */
static void find_devices(const struct rs_audit *a, const char *host, struct devices *s)
{
	const char *subject;
	uint32_t at = 0;

	s->n = 0;
	while (s->n < DEVICES && (subject = rs_facts_subject(a->facts, &at, host, "nic/"))) {
		const char *state = rs_facts_value(a->facts, host, subject, "port_state");
		const char *link = rs_facts_value(a->facts, host, subject, "link");
		struct device *d = &s->d[s->n];

		if (!is_hca(subject + 4))
			continue;
		*d = (struct device){.subject = subject, .name = subject + 4, .active = -1};
		d->layer = rs_facts_value(a->facts, host, subject, "link_layer");
		d->rate = rs_look_port_rate(a, host, subject);
		d->near = rs_look_nearest(a, host, subject);
		if (state)
			d->active = !strcmp(state, "ACTIVE") || !strcmp(state, "Active");
		else if (link)
			d->active = !strcmp(link, "Up");
		s->n++;
	}
}

/* Are these all that the host has? One device's file says nothing of others; a lister names several
 * and the state of each. */
static bool whole(const struct rs_audit *a, const char *host, const struct devices *s)
{
	for (unsigned i = 0; i < s->n; i++)
		if (s->d[i].active < 0)
			return false;
	return s->n > 1 || (s->n && rs_look(a, host, s->d[0].subject, "node_guid"));
}

/* Were the names of all devices listed, whatever else is known of them? */
static bool names_known(const struct rs_audit *a, const char *host, const struct devices *s)
{
	for (unsigned i = 0; i < s->n; i++)
		if (s->d[i].active < 0 && !rs_look(a, host, s->d[i].subject, "listed") &&
		    !rs_look(a, host, s->d[i].subject, "node_guid"))
			return false;
	return s->n > 1;
}

static const struct device *by_name(const struct devices *s, const char *name)
{
	for (unsigned i = 0; i < s->n; i++)
		if (!strcmp(s->d[i].name, name))
			return &s->d[i];
	return NULL;
}

/* The next item of a list, its port cut off; false at the end. *p begins behind '^' and '='. */
static bool next_item(const char **p, char *item, size_t size)
{
	size_t n = strcspn(*p, ",");

	if (!**p)
		return false;
	snprintf(item, size, "%.*s", (int)n, *p);
	item[strcspn(item, ":")] = '\0';
	*p += n + ((*p)[n] == ',');
	return true;
}

static const char *list_of(struct rs_audit *a, const struct devices *s, const bool *wanted)
{
	const char *text = "";

	for (unsigned i = 0; i < s->n; i++)
		if (wanted[i])
			text = rs_audit_text(a, "%s%s%s", text, *text ? "," : "", s->d[i].name);
	return text;
}

static void unknown_devices(struct rs_audit *a, const struct rs_rule *r, const char *host,
			    const struct rs_fact *hca, const char *what)
{
	struct rs_finding *f = rs_finding_new(a, r, RS_UNKNOWN, r->severity, "%s", what);

	rs_finding_subject(a, f, host, NULL);
	rs_finding_fact(f, hca);
	rs_finding_need(a, f, "ibv_devinfo, or /sys/class/infiniband",
			"which devices the host has, and their state");
}

static void n03_host(struct rs_audit *a, const struct rs_rule *r, const char *host,
		     const struct rs_fact *hca)
{
	const char *list = hca->value + (*hca->value == '^'), *p = list;
	bool digits = false, wanted[DEVICES] = {false};
	unsigned caught = 0;
	struct devices s;
	struct rs_finding *f;
	char item[128], names[512] = "";
	bool any = false;

	find_devices(a, host, &s);
	while (next_item(&p, item, sizeof(item))) {
		size_t n = strlen(item);

		if (!n)
			continue;
		for (unsigned i = 0; i < s.n; i++)
			any |= !strncmp(s.d[i].name, item, n);
		digits |= item[n - 1] >= '0' && item[n - 1] <= '9';
		/* a name that no device has whole was meant as a beginning */
		for (unsigned i = 0; i < s.n; i++) {
			const char *name = s.d[i].name;

			if (!by_name(&s, item) || !strcmp(name, item) || strncmp(name, item, n) ||
			    rs_hca_list_names(list, name))
				continue;
			caught++;
			snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
				 *names ? ", " : "", name);
		}
	}
	if (caught) {
		for (unsigned i = 0; i < s.n; i++)
			wanted[i] = rs_hca_list_names(list, s.d[i].name);
		f = rs_finding_new(a, r, RS_FAIL, RS_MAJOR, "NCCL_IB_HCA without '=' also %s %s",
				   *hca->value == '^' ? "leaves out" : "takes", names);
		rs_finding_why(a, f,
			       "each name is a beginning: mlx5_1 matches mlx5_10 to mlx5_19, too");
		rs_finding_fix(a, f, "all hosts of the job", true, NULL,
			       rs_audit_text(a, "NCCL_IB_HCA=%s", hca->value), "NCCL_IB_HCA=%s=%s",
			       *hca->value == '^' ? "^" : "", list_of(a, &s, wanted));
	} else if (digits && !whole(a, host, &s)) {
		unknown_devices(a, r, host, hca,
				"names without '=' are beginnings: which devices they match is "
				"not known");
		return;
	} else if (s.n && !any) {
		return; /* a list that matches nothing is N04's */
	} else {
		f = rs_finding_new(a, r, RS_PASS, RS_MAJOR, "no name matches more than it says");
	}
	rs_finding_subject(a, f, host, NULL);
	rs_finding_fact(f, hca);
}

static void n03(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);
		const struct rs_fact *hca = rs_nccl_env(a, host, "NCCL_IB_HCA");
		const char *v = hca ? hca->value : NULL;

		if (!v || rs_facts_is_switch(a->facts, host))
			continue;
		if (!strcmp(hca->host, host) && rs_hca_list_judge(a, r, host, hca))
			continue;
		if (v[*v == '^'] == '=')
			continue;
		/* the environment of the job is judged where the devices are */
		if (hca->host != host && strcmp(hca->host, host) && !rs_look_has_rdma(a, host))
			continue;
		n03_host(a, r, host, hca);
	}
}

/* What should be used: devices of the selection's link layer that are up, at its best rate; near a
 * GPU, where distances are known. */
struct rails {
	const char *layer;
	int64_t rate;
	bool near_known;
	bool enough; /* as many near ones are in use as there are GPUs: others are for storage */
};

static unsigned count_gpus(const struct rs_audit *a, const char *host)
{
	unsigned top = 0, n = 0, x;
	const struct rs_fact *f;
	const char *pci;
	uint32_t at = 0;

	while ((f = rs_facts_next(a->facts, &at, host, "topo", "distance/GPU")))
		if (sscanf(f->name, "distance/GPU%u/", &x) == 1 && x < 1024 && x >= top)
			top = x + 1;
	for (at = 0; !top && (pci = rs_facts_subject(a->facts, &at, host, "pci/"));)
		n += !strcmp(rs_look_kind(a, host, pci), "gpu");
	return top ? top : n;
}

static struct rails rails_of(const struct rs_audit *a, const char *host, const struct devices *s)
{
	unsigned ib = 0, eth = 0, near = 0, gpus = count_gpus(a, host);
	struct rails r = {.layer = NULL};

	for (unsigned i = 0; i < s->n; i++) {
		const struct device *d = &s->d[i];

		if (!d->selected || !d->active)
			continue;
		ib += d->layer && !strcmp(d->layer, "InfiniBand");
		eth += d->layer && !strcmp(d->layer, "Ethernet");
		r.rate = d->rate > r.rate ? d->rate : r.rate;
		near += d->near > 0 && d->near <= RS_PXB;
	}
	r.near_known = near > 0;
	r.enough = gpus && near >= gpus;
	r.layer = ib > eth ? "InfiniBand" : eth ? "Ethernet" : NULL;
	return r;
}

static bool is_rail(const struct device *d, const struct rails *r)
{
	return d->active && !(r->layer && d->layer && strcmp(d->layer, r->layer)) &&
	       !(r->rate && d->rate && 2 * d->rate <= r->rate) &&
	       !(r->near_known && d->near > RS_PXB);
}

/* A device that is not taken, and by what was read as good as those that are; NULL: none, or the
 * distances to GPUs tell. */
static const struct device *left_out(const struct devices *s, const struct rails *r)
{
	for (unsigned i = 0; i < s->n && !r->near_known; i++)
		if (!s->d[i].selected && is_rail(&s->d[i], r))
			return &s->d[i];
	return NULL;
}

static const char *wrong_with(struct rs_audit *a, const struct device *d, const struct rails *r,
			      enum rs_severity *s)
{
	*s = RS_CRITICAL;
	if (!d->selected) {
		/* it must be clear that it is a rail: by its distance to a GPU */
		if (is_rail(d, r) && r->near_known && !r->enough && d->near > 0 &&
		    d->near <= RS_PXB)
			return *s = RS_MAJOR,
			       rs_audit_text(a, "leaves out %s, which is %s from a GPU", d->name,
					     rs_near_name[d->near]);
		return NULL;
	}
	/* what a beginning takes NCCL passes over when it is down */
	if (!d->active && !d->named)
		return NULL;
	if (!d->active)
		return rs_audit_text(a, "takes %s, whose port is not active", d->name);
	if (r->layer && d->layer && strcmp(d->layer, r->layer))
		return rs_audit_text(a, "takes %s, which is %s among %s", d->name, d->layer,
				     r->layer);
	if (r->rate && d->rate && 2 * d->rate <= r->rate)
		return *s = RS_MAJOR,
		       rs_audit_text(a, "takes %s of %lld Gb/s among rails of %lld", d->name,
				     (long long)d->rate, (long long)r->rate);
	return NULL;
}

/* The first name of the list that no device begins with. */
static const char *missing(struct rs_audit *a, const struct devices *s, const char *list)
{
	char item[128];

	while (next_item(&list, item, sizeof(item))) {
		bool any = false;

		for (unsigned i = 0; i < s->n; i++)
			any |= !strncmp(s->d[i].name, item, strlen(item));
		/* of an entry that is no name N03 tells */
		if (*item && *item != ' ' && !any)
			return rs_audit_text(a, "names %s, which the host does not have", item);
	}
	return NULL;
}

/* An entry's port that its device was not seen to have, though others were. */
static const char *missing_port(struct rs_audit *a, const char *host, const struct devices *s,
				const char *list)
{
	const char *at = list;
	char item[128];

	for (; next_item(&list, item, sizeof(item)); at = list) {
		const struct device *d = by_name(s, item);
		unsigned port = 0;

		if (!d || sscanf(at + strlen(item), ":%u", &port) != 1 ||
		    !rs_look_any(a, host, d->subject, "has_port/") ||
		    rs_look(a, host, d->subject, "has_port/%u", port))
			continue;
		return rs_audit_text(a, "names port %u of %s, which has none", port, item);
	}
	return NULL;
}

static unsigned n_selected(const struct devices *s)
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->n; i++)
		n += s->d[i].selected;
	return n;
}

/* Without a list NCCL takes all: they must be known to be alike. */
static bool alike_known(const struct devices *s)
{
	for (unsigned i = 0; i < s->n; i++)
		if (s->d[i].selected && (!s->d[i].layer || !s->d[i].rate))
			return false;
	return true;
}

/* A list to take of which no name is the beginning of a device that was read. */
static bool matches_none(const struct devices *s, const char *list)
{
	char item[128];

	if (*list == '^' || rs_hca_list_odd(list))
		return false;
	list += *list == '=';
	while (next_item(&list, item, sizeof(item)))
		for (unsigned i = 0; i < s->n; i++)
			if (!strncmp(s->d[i].name, item, strlen(item)))
				return false;
	return true;
}

static void names_none(struct rs_audit *a, const struct rs_rule *r, const char *host,
		       const struct rs_fact *hca, const struct devices *s)
{
	struct rs_finding *f =
		rs_finding_new(a, r, RS_FAIL, RS_CRITICAL,
			       "NCCL_IB_HCA names none of the devices that the host has (%s, %s%s)",
			       s->d[0].name, s->d[1].name, s->n > 2 ? ", ..." : "");

	rs_finding_subject(a, f, host, NULL);
	rs_finding_fact(f, hca);
	rs_finding_why(a, f, "NCCL finds no device of these names, and goes on with sockets");
	rs_finding_need(a, f, "ibv_devinfo", "which of them are rails, and their state");
}

/* Of devices whose names alone are known: a name that none has. */
static bool names_missing(struct rs_audit *a, const struct rs_rule *r, const char *host,
			  const struct rs_fact *hca, const struct devices *s)
{
	const char *list = hca->value + (*hca->value == '='), *what;
	struct rs_finding *f;

	if (*list == '^' || rs_hca_list_odd(list) || !names_known(a, host, s) ||
	    !(what = missing(a, s, list)))
		return false;
	f = rs_finding_new(a, r, RS_FAIL, RS_MAJOR, "NCCL_IB_HCA %s", what);
	rs_finding_subject(a, f, host, NULL);
	rs_finding_fact(f, hca);
	rs_finding_why(a, f, "a rail that is left out is lost");
	rs_finding_need(a, f, "ibv_devinfo", "which of them are rails, and their state");
	return true;
}

static void n04_host(struct rs_audit *a, const struct rs_rule *r, const char *host,
		     const struct rs_fact *hca)
{
	const char *list = hca ? hca->value : "", *who = hca ? "NCCL_IB_HCA" : "NCCL's own choice";
	enum rs_severity worst = RS_INFO, severity;
	struct rs_finding *f = NULL;
	bool wanted[DEVICES];
	unsigned titles = 0;
	const char *what;
	const struct device *alike;
	struct rails rails;
	struct devices s;

	find_devices(a, host, &s);
	if (!whole(a, host, &s)) {
		if (hca && s.n > 1 && matches_none(&s, list))
			names_none(a, r, host, hca, &s);
		else if (hca && !names_missing(a, r, host, hca, &s))
			unknown_devices(a, r, host, hca,
					"whether NCCL_IB_HCA names each rail is not known");
		return;
	}
	for (unsigned i = 0; i < s.n; i++) {
		/* without a list NCCL takes every port that is active */
		s.d[i].selected = hca ? rs_look_hca(list, s.d[i].name) : s.d[i].active > 0;
		s.d[i].named = rs_hca_list_names(list, s.d[i].name);
	}
	rails = rails_of(a, host, &s);
	for (unsigned i = 0; i <= s.n; i++) {
		severity = RS_CRITICAL;
		if (i < s.n)
			what = wrong_with(a, &s.d[i], &rails, &severity);
		else
			what = *list == '^' ? NULL : missing(a, &s, list + (*list == '='));
		if (i == s.n && !what && *list != '^')
			what = missing_port(a, host, &s, list + (*list == '='));
		if (!what)
			continue;
		if (!f)
			f = rs_finding_new(a, r, RS_FAIL, severity, "%s %s", who, what);
		else if (titles++ < 2)
			f->title = rs_audit_text(a, "%s; it %s", f->title, what);
		worst = severity > worst ? severity : worst;
		rs_finding_subject(a, f, host, i < s.n ? s.d[i].name : NULL);
		if (i < s.n) {
			rs_finding_fact(f, rs_look(a, host, s.d[i].subject, "port_state"));
			rs_finding_fact(f, rs_look(a, host, s.d[i].subject, "link_layer"));
			rs_finding_fact(f, rs_look(a, host, s.d[i].subject, "rate_gbps"));
		}
	}
	if (!f && !hca && !alike_known(&s))
		return;
	if (!f && s.n && !n_selected(&s)) {
		worst = RS_CRITICAL;
		f = rs_finding_new(a, r, RS_FAIL, worst, "%s takes no device at all", who);
		rs_finding_subject(a, f, host, NULL);
	}
	if (!f && hca && (alike = left_out(&s, &rails))) {
		f = rs_finding_new(a, r, RS_UNKNOWN, r->severity,
				   "%s leaves out %s, which is active as those that it takes: "
				   "whether it is a rail is not known",
				   who, alike->name);
		rs_finding_subject(a, f, host, NULL);
		rs_finding_fact(f, hca);
		rs_finding_need(a, f, "nvidia-smi topo -m", "which NICs are near a GPU");
		return;
	}
	if (!f) {
		f = rs_finding_new(a, r, RS_PASS, RS_CRITICAL, "%s takes the rails and no others",
				   who);
		rs_finding_subject(a, f, host, NULL);
		rs_finding_fact(f, hca);
		return;
	}
	f->severity = worst;
	rs_finding_fact(f, hca);
	rs_finding_why(a, f,
		       "a rail that is left out is lost; one that is down, slower or of the "
		       "other link layer hangs the job or sets its pace");
	for (unsigned i = 0; i < s.n; i++)
		wanted[i] = is_rail(&s.d[i], &rails);
	/* of a list with an entry that is no name N03 has the fix */
	if (*list_of(a, &s, wanted) && !rs_hca_list_odd(list))
		rs_finding_fix(a, f, "all hosts of the job", true, NULL,
			       hca ? rs_audit_text(a, "NCCL_IB_HCA=%s", hca->value)
				   : "unset NCCL_IB_HCA",
			       "NCCL_IB_HCA==%s", list_of(a, &s, wanted));
}

static void n04(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);
		const struct rs_fact *hca = rs_nccl_env(a, host, "NCCL_IB_HCA");

		if (rs_facts_is_switch(a->facts, host) || !rs_nccl_env_seen(a, host) ||
		    (strcmp(hca ? hca->host : "", host) && !rs_look_has_rdma(a, host)))
			continue;
		rs_other_lists_judge(a, r, host);
		n04_host(a, r, host, hca);
	}
}

/* ---- N08 ---- */

/* NCCL_NET_GDR_LEVEL: words, or the digits of old; as enum rs_near; -1: not understood. */
static int gdr_level(const char *v)
{
	static const struct {
		const char *word;
		int near;
	} levels[] = {
		{"LOC", 0},
		{"PIX", RS_PIX},
		{"PXB", RS_PXB},
		{"P2C", RS_PXB},
		{"PXN", RS_PXB},
		{"PHB", RS_NODE},
		{"SYS", RS_SYS},
		{"0", 0},
		{"1", RS_PIX},
		{"2", RS_PXB},
		/* NCCL's PHB is both of nvidia-smi's PHB and NODE */
		{"3", RS_NODE},
		{"4", RS_SYS},
		{"5", RS_SYS},
	};

	for (unsigned i = 0; i < sizeof(levels) / sizeof(*levels); i++)
		if (!strcmp(levels[i].word, v))
			return levels[i].near;
	return -1;
}

/* The same by nvidia-smi's columns, where no list of devices was read. */
static void reach_by_matrix(const struct rs_audit *a, const char *host, int *nearest, int *farthest)
{
	const struct rs_fact *hca = rs_nccl_env(a, host, "NCCL_IB_HCA"), *f;
	uint32_t at = 0;

	while ((f = rs_facts_next(a->facts, &at, host, "topo", "nic_name/"))) {
		char subject[160];
		int d;

		snprintf(subject, sizeof(subject), "nic/%s", f->value);
		d = rs_look_nearest(a, host, subject);
		if (d < 0 || (hca && !rs_look_hca(hca->value, f->value)))
			continue;
		*nearest = *nearest < 0 || d < *nearest ? d : *nearest;
		*farthest = d > *farthest ? d : *farthest;
	}
}

/* The nearest and the farthest of the devices in use from their nearest GPU. false: not known. */
static bool reach(const struct rs_audit *a, const char *host, int *nearest, int *farthest)
{
	const struct rs_fact *hca = rs_nccl_env(a, host, "NCCL_IB_HCA");
	struct devices s;

	*nearest = *farthest = -1;
	find_devices(a, host, &s);
	for (unsigned i = 0; i < s.n; i++) {
		int d = s.d[i].near;

		if (d < 0 || (hca && !rs_look_hca(hca->value, s.d[i].name)))
			continue;
		*nearest = *nearest < 0 || d < *nearest ? d : *nearest;
		*farthest = d > *farthest ? d : *farthest;
	}
	if (!s.n)
		reach_by_matrix(a, host, nearest, farthest);
	return *nearest > 0;
}

/* A GPU that may use none of the NICs of the log, where another may: a board with too few NICs for
 * its sockets, or a NIC that is left out. Of a GPU each NIC must be told. NULL: there is none. */
static const struct rs_fact *gpu_apart(const struct rs_audit *a, const char *host, unsigned *n)
{
	const struct rs_fact *f, *g, *apart = NULL;
	uint32_t at = 0;
	bool any = false;

	*n = 0;
	while ((f = rs_facts_next(a->facts, &at, host, "nccl", "gdr/"))) {
		size_t gpu = strcspn(f->name + 4, "/") + 5; /* "gdr/GPU/" */
		bool all = true, first = true, seen = false;
		uint32_t k = 0;

		any |= f->number > 0;
		while ((g = rs_facts_next(a->facts, &k, host, "nccl", "gdr/"))) {
			bool own = !strncmp(g->name, f->name, gpu);
			char name[64];

			first &= !own || seen || g == f; /* each GPU once */
			seen |= g == f;
			snprintf(name, sizeof(name), "%.*s%s", (int)gpu, f->name,
				 strchr(g->name + 4, '/') + 1);
			g = rs_facts_get(a->facts, host, "nccl", name);
			all &= g && !g->number;
		}
		if (all && first) {
			apart = apart ? apart : f;
			++*n;
		}
	}
	return any ? apart : NULL;
}

/* other: of a host of the job that uses GPUDirect RDMA; NULL: none does. */
static void n08_host(struct rs_audit *a, const struct rs_rule *r, const char *host,
		     const struct rs_fact *other)
{
	const struct rs_fact *gdr = rs_facts_get(a->facts, host, "nccl", "via_ib_gdr");
	const struct rs_fact *plain = rs_facts_get(a->facts, host, "nccl", "via_ib");
	const struct rs_fact *set = rs_nccl_env(a, host, "NCCL_NET_GDR_LEVEL");
	int level = set ? gdr_level(set->value) : RS_PXB, nearest, farthest;
	bool known = reach(a, host, &nearest, &farthest);
	unsigned n_apart;
	const struct rs_fact *apart = gpu_apart(a, host, &n_apart);
	struct rs_finding *f;

	if (apart) {
		f = rs_finding_new(
			a, r, RS_FAIL, RS_MAJOR,
			"%u GPU%s of the log may use GPUDirect RDMA with none of its NICs, "
			"where others may",
			n_apart, n_apart == 1 ? "" : "s");
		rs_finding_fact(f, apart);
		rs_finding_why(a, f,
			       "each of its NICs is farther from them than NCCL_NET_GDR_LEVEL "
			       "allows: their data "
			       "goes through host memory, and a job waits for its slowest rank. A "
			       "NIC near "
			       "them is missing, or is not in NCCL_IB_HCA");
		rs_finding_need(a, f, "nvidia-smi topo -m; ibstat",
				"which NICs the host has, and where");
	} else if (plain && !gdr && known && nearest > level && level >= 0) {
		f = rs_finding_new(a, r, RS_NA, RS_CRITICAL,
				   "no GPUDirect RDMA: the NICs are at %s, beyond the level",
				   rs_near_name[nearest]);
	} else if (plain && !gdr) {
		/* what the board allows is not known: boards without GPUDirect run so by right */
		f = rs_finding_new(a, r, RS_FAIL,
				   known   ? RS_CRITICAL
				   : other ? RS_MAJOR
					   : RS_MINOR,
				   "NCCL's log shows NET/IB without GDRDMA%s%s",
				   known   ? ", though the NICs are near enough"
				   : other ? ", which another host of the job has: "
					   : "",
				   known || !other ? "" : other->host);
		if (f && !known && !other)
			f->confidence = RS_MEDIUM;
		rs_finding_fact(f, known ? NULL : other);
		rs_finding_why(a, f,
			       "data passes through host memory: the peer memory module or dma-buf "
			       "is missing (P12), or the level is too low");
		if (!known)
			rs_finding_need(a, f, "nvidia-smi topo -m",
					"how far the NICs are from the GPUs");
		rs_finding_fix(a, f, host, false, NULL, "modprobe -r nvidia-peermem",
			       "modprobe nvidia-peermem  # and /etc/modules-load.d/; see P12");
	} else if (set && !level && !gdr) {
		f = rs_finding_new(a, r, RS_FAIL, RS_MAJOR,
				   "NCCL_NET_GDR_LEVEL=%s forbids GPUDirect RDMA on any board",
				   set->value);
		rs_finding_fix(a, f, "all hosts of the job", true, NULL,
			       rs_audit_text(a, "NCCL_NET_GDR_LEVEL=%s", set->value),
			       "unset NCCL_NET_GDR_LEVEL");
	} else if (set && level >= 0 && known && nearest > level) {
		f = rs_finding_new(a, r, RS_FAIL, RS_MAJOR,
				   "NCCL_NET_GDR_LEVEL=%s is nearer than any NIC in use (%s): "
				   "GPUDirect RDMA is off",
				   set->value, rs_near_name[nearest]);
		rs_finding_fix(a, f, "all hosts of the job", true, NULL,
			       rs_audit_text(a, "NCCL_NET_GDR_LEVEL=%s", set->value),
			       "unset NCCL_NET_GDR_LEVEL  # or %s, if it measures better",
			       nearest > RS_NODE ? "SYS" : "PHB");
	} else if (set && level >= RS_SYS && known && farthest >= RS_SYS) {
		f = rs_finding_new(a, r, RS_FAIL, RS_MINOR,
				   "NCCL_NET_GDR_LEVEL=%s lets GPUDirect cross the sockets",
				   set->value);
		rs_finding_why(a, f,
			       "peer-to-peer reads across the socket interconnect are slower "
			       "than a copy through host memory on most platforms");
		rs_finding_fix(a, f, "all hosts of the job", true, NULL,
			       rs_audit_text(a, "NCCL_NET_GDR_LEVEL=%s", set->value),
			       "NCCL_NET_GDR_LEVEL=PHB");
	} else if (gdr && plain) {
		f = rs_finding_new(a, r, RS_FAIL, RS_INFO,
				   "NCCL's log shows GPUDirect RDMA on some channels and not on "
				   "others");
		rs_finding_why(a, f,
			       "one direction alone is by right where the NIC may write to a GPU "
			       "and not read it; a device or a rank alone is not");
		rs_finding_need(a, f, "the lines of the log with NET/IB, of all ranks",
				"which devices and directions go without");
		rs_finding_fact(f, plain);
	} else if (gdr || (set && level >= 0)) {
		f = rs_finding_new(a, r, gdr || known ? RS_PASS : RS_UNKNOWN, RS_CRITICAL,
				   gdr     ? "NCCL's log shows GPUDirect RDMA in use"
				   : known ? "the level fits the board"
					   : "whether NCCL_NET_GDR_LEVEL fits the board is not "
					     "known");
		if (!gdr && !known)
			rs_finding_need(a, f, "nvidia-smi topo -m",
					"how far the NICs are from the GPUs");
	} else if (known && nearest > RS_PXB) {
		f = rs_finding_new(
			a, r, RS_UNKNOWN, RS_CRITICAL,
			"the nearest NIC is at %s from its GPU: NCCL's default (PXB) goes "
			"through host memory there",
			rs_near_name[nearest]);
		rs_finding_need(a, f, "NCCL's log (via NET/IB/0/GDRDMA, or without)",
				"whether a job goes without GPUDirect RDMA, and whether "
				"NCCL_NET_GDR_LEVEL is set for it");
	} else {
		return;
	}
	rs_finding_subject(a, f, host, NULL);
	rs_finding_fact(f, gdr ? gdr : plain);
	rs_finding_fact(f, set);
}

static void n08(struct rs_audit *a, const struct rs_rule *r)
{
	const struct rs_fact *other = NULL;

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts) && !other; i++)
		other = rs_facts_get(a->facts, rs_facts_host(a->facts, i), "nccl", "via_ib_gdr");
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		n08_host(a, r, rs_facts_host(a->facts, i), other);
}

/* ---- N09 ---- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Functions of the host by anything but this file; *has: is this one among them? */
static unsigned others(const struct rs_audit *a, const char *host, const char *file,
		       const char *subject, const char *want, bool *has)
{
	const struct rs_fact *f;
	unsigned n = 0;
	uint32_t at = 0;

	*has = false;
	while ((f = rs_facts_next(a->facts, &at, host, "pci/", ""))) {
		if (!strcmp(base_name(f->file), file) ||
		    (strcmp(f->name, "kind") && strcmp(f->name, "class")) ||
		    strcmp(rs_look_kind(a, host, f->subject), want))
			continue;
		n++;
		*has |= !strcasecmp(f->subject, subject);
	}
	return n;
}

static void n09_host(struct rs_audit *a, const struct rs_rule *r, const char *host,
		     const struct rs_fact *env)
{
	const char *file = base_name(env->value);
	unsigned in_file = 0, strange = 0, compared = 0;
	struct rs_finding *x;
	const struct rs_fact *f, *first = NULL;
	uint32_t at = 0;

	while ((f = rs_facts_next(a->facts, &at, host, "pci/", "kind"))) {
		bool has;

		if (strcmp(base_name(f->file), file) ||
		    (strcmp(f->value, "gpu") && strcmp(f->value, "nic")))
			continue;
		in_file++;
		/* a host whose GPUs nobody listed cannot contradict */
		if (!others(a, host, file, f->subject, f->value, &has))
			continue;
		compared++;
		if (has)
			continue;
		strange++;
		first = first ? first : f;
	}
	if (!compared) {
		x = rs_finding_new(a, r, RS_UNKNOWN, RS_MAJOR,
				   in_file ? "the topology file was read, the host's PCI devices "
					     "were not"
					   : "NCCL_TOPO_FILE is set; its content was not given");
		rs_finding_need(a, x, in_file ? "lspci, or /sys/bus/pci/devices" : env->value,
				"whether its GPUs and NICs are this host's");
	} else if (strange) {
		x = rs_finding_new(a, r, RS_FAIL, RS_MAJOR,
				   "%u of %u GPUs and NICs of the topology file are not at that "
				   "address on this host (%s)",
				   strange, compared, first->subject + 4);
		rs_finding_why(a, x,
			       "a file made for another machine or another order of cards: "
			       "NCCL pairs GPUs with the wrong NICs");
		rs_finding_fix(a, x, host, true, NULL,
			       rs_audit_text(a, "NCCL_TOPO_FILE=%s", env->value),
			       "NCCL_TOPO_FILE=<XML of this very kind of host: "
			       "NCCL_TOPO_DUMP_FILE>");
		rs_finding_fact(x, first);
	} else {
		x = rs_finding_new(a, r, RS_PASS, RS_MAJOR,
				   "all %u GPUs and NICs of the topology file are on this host",
				   compared);
	}
	rs_finding_subject(a, x, host, NULL);
	rs_finding_fact(x, env);
}

static void n09(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);
		const struct rs_fact *env = rs_nccl_env(a, host, "NCCL_TOPO_FILE");

		if (env && (!strcmp(env->host, host) || rs_look_has_gpu(a, host)))
			n09_host(a, r, host, env);
	}
}

/* ---- N10 ---- */

/* Variables that were seen say nothing of those that were not: a wrapper's, nccl.conf's. NCCL's own
 * log names each that it takes. */
void rs_nccl_env_clean(struct rs_audit *a, const struct rs_rule *r, const char *host,
		       enum rs_severity s, const char *title)
{
	const struct rs_fact *log = rs_message_fact(a, host, "message connected");
	struct rs_finding *f;

	if (!rs_look_any(a, host, "env", "NCCL_"))
		return;
	f = rs_finding_new(a, r, log ? RS_PASS : RS_UNKNOWN, s, "%s%s", title,
			   log ? "" : " by the variables that were seen");
	rs_finding_subject(a, f, host, NULL);
	rs_finding_fact(f, log);
	if (!log)
		rs_finding_need(a, f, "NCCL's log with NCCL_DEBUG=INFO, to the end of its start",
				"which variables NCCL took: a wrapper and nccl.conf set some, too");
}

static void n10(struct rs_audit *a, const struct rs_rule *r)
{
	static const char *const pins[] = {"NCCL_ALGO",          "NCCL_PROTO",    "NCCL_NTHREADS",
					   "NCCL_MAX_NCHANNELS", "NCCL_MAX_CTAS", NULL};

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);
		uint32_t before = a->n_findings;

		for (unsigned k = 0; pins[k]; k++) {
			const struct rs_fact *v = rs_facts_get(a->facts, host, "env", pins[k]);
			struct rs_finding *f;

			/* leaving one out ("^NVLS") or ruling by operation is a decision, no pin */
			if (!v || *v->value == '^' || strchr(v->value, ':') ||
			    strchr(v->value, ','))
				continue;
			f = rs_finding_new(a, r, RS_FAIL, RS_MINOR, "%s=%s is pinned", v->name,
					   v->value);
			rs_finding_subject(a, f, host, NULL);
			rs_finding_fact(f, v);
			rs_finding_why(a, f,
				       "what suits one size at one scale is wrong for others: "
				       "NCCL chooses by size, ranks and topology");
			rs_finding_fix(a, f, "all hosts of the job", true, NULL,
				       rs_audit_text(a, "%s=%s", v->name, v->value), "unset %s",
				       v->name);
		}
		if (a->n_findings == before)
			rs_nccl_env_clean(a, r, host, RS_MINOR,
					  "nothing is pinned for all operations");
	}
}

const struct rs_rule rs_rules_nccl_env[] = {
	{
		.id = "N01",
		.name = "unknown-or-dead-variable",
		.severity = RS_MINOR,
		.criterion = "Each NCCL_ variable is one that the release in use reads.",
		.authority = "NCCL's tagged sources, 2.3 to 2.30 (src/audit/facts/nccl_names.c)",
		.explain = "A slip of the pen, or a variable of another release, does nothing, and "
			   "NCCL does not say so. Names of plugins are not NCCL's own: only what "
			   "is two "
			   "letters from a known name counts as a slip.",
		.run = n01,
	},
	{
		.id = "N03",
		.name = "prefix-capture",
		.severity = RS_MAJOR,
		.criterion = "A device name in NCCL_IB_HCA matches that device alone.",
		.authority = "NCCL's documentation and sources of NCCL_IB_HCA",
		.explain =
			"Without '=' a name is a beginning. On a host with mlx5_10, mlx5_1 takes "
			"both; with '^' it leaves out both.",
		.run = n03,
	},
	{
		.id = "N04",
		.name = "hca-set",
		.severity = RS_CRITICAL,
		.criterion = "The devices in use are the rails: each active, of one link layer and "
			     "rate, near to a GPU, none left out, none extra.",
		.authority = "NCCL's sources (net_ib): devices are taken by name and state",
		.explain =
			"A rail is an active device of the selection's link layer and rate; where "
			"distances to GPUs are known, one at PXB or nearer. The order of the list "
			"means nothing.",
		.run = n04,
	},
	{
		.id = "N08",
		.name = "gdr-use",
		.severity = RS_CRITICAL,
		.criterion =
			"NICs within the GPUDirect level are used with GPUDirect RDMA, and the "
			"level fits the board.",
		.authority = "NCCL's sources (graph/paths.cc): PXB by default",
		.explain = "NET/IB without GDRDMA in the log means that data passes through host "
			   "memory. Digits of old: 0 LOC, 1 PIX, 2 PXB, 3 PHB, 4 SYS.",
		.run = n08,
	},
	{
		.id = "N09",
		.name = "topo-file",
		.severity = RS_MAJOR,
		.criterion = "The GPUs and NICs of NCCL_TOPO_FILE are where the host has them.",
		.authority = "NCCL's documentation of NCCL_TOPO_FILE",
		.explain = "A file made on another kind of machine pairs the wrong devices. A file "
			   "may be partial: NCCL fills in the rest.",
		.run = n09,
	},
	{
		.id = "N10",
		.name = "algo-pinned",
		.severity = RS_MINOR,
		.criterion = "Algorithm, protocol and channels are not pinned for all operations.",
		.authority = "NCCL's documentation: these are for debugging",
		.explain = "NCCL_ALGO, NCCL_PROTO and limits of channels are left behind by tests. "
			   "Leaving one out with '^' is a decision and counts as none.",
		.run = n10,
	},
	{0},
};
