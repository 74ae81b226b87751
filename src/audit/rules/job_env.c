/* NCCL's environment for the audited hosts: which devices, which GID, which traffic class. What its
 * releases read and find by themselves: nccl_names.c, and NCCL's own documentation of variables. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/rules/job_env.h"
#include "audit/facts/look.h"
#include "audit/facts/nccl.h"
#include "audit/facts/qos.h"
#include "audit/rules/rule.h"

enum { NICS_MAX = 64, TEXT_MAX = 2048, FINDS_GID = 22100 /* release 2.21 */ };

struct job {
	struct rs_audit *a;
	struct rs_job_env *out;
};

static void add(struct job *j, const char *host, const char *name, const char *value,
		const char *reason)
{
	struct rs_job_env *o = j->out;

	if (o->n < RS_JOB_LINES)
		o->line[o->n++] = (struct rs_job_line){name, value, reason, host};
}

static bool has(const struct job *j, const char *name)
{
	for (uint32_t i = 0; i < j->out->n; i++)
		if (!strcmp(j->out->line[i].name, name))
			return true;
	return false;
}

/* ---- Which devices ---- */

struct nics {
	const char *host;
	uint32_t n, of;            /* of so many devices */
	const char *nic[NICS_MAX]; /* "mlx5_0" */
	char text[TEXT_MAX];       /* "=mlx5_0,mlx5_1" */
};

static int64_t rate_of(const struct rs_audit *a, const char *host, const char *nic)
{
	return rs_look_number(a, host, nic, "rate_gbps", 0);
}

/* What most of the devices that are up are: one job cannot use both. NULL: nothing says. */
static const char *main_layer(const struct rs_audit *a, const char *host)
{
	unsigned ib = 0, eth = 0;
	const char *nic;
	uint32_t at = 0;

	while ((nic = rs_facts_subject(a->facts, &at, host, "nic/"))) {
		const char *layer = rs_facts_value(a->facts, host, nic, "link_layer");
		const char *state = rs_facts_value(a->facts, host, nic, "port_state");

		if (!layer || (state && !strstr(state, "ACTIVE")))
			continue;
		ib += !strcmp(layer, "InfiniBand");
		eth += !strcmp(layer, "Ethernet");
	}
	return ib && ib >= eth ? "InfiniBand" : eth ? "Ethernet" : NULL;
}

/* A port of the job's rails: active, of the fastest rate and of the link layer that most have, no
 * bond beside single ports. */
static bool is_rail(const struct rs_audit *a, const char *host, const char *nic, int64_t best,
		    bool singles)
{
	const char *state = rs_facts_value(a->facts, host, nic, "port_state");
	const char *layer = rs_facts_value(a->facts, host, nic, "link_layer");
	const char *most = main_layer(a, host);

	if (state && !strstr(state, "ACTIVE"))
		return false;
	if (layer && most && strcmp(layer, most))
		return false;
	if (singles && strstr(nic, "bond"))
		return false;
	return !best || rate_of(a, host, nic) == best;
}

/* The job's own list, where it leaves out nothing that is next to a GPU: other devices are for
 * storage then. NULL: there is none to keep. */
static const char *list_to_keep(const struct rs_audit *a, const char *host, int64_t best,
				bool singles)
{
	const struct rs_fact *hca = rs_nccl_env(a, host, "NCCL_IB_HCA");
	unsigned kept = 0;
	const char *nic;
	uint32_t at = 0;

	while (hca && (nic = rs_facts_subject(a->facts, &at, host, "nic/"))) {
		bool rail = is_rail(a, host, nic, best, singles);
		int near = rs_look_nearest(a, host, nic);

		if (rs_look_hca(hca->value, nic + 4))
			kept += rail;
		else if (rail && near > 0 && near <= RS_PXB)
			return NULL;
	}
	return kept ? hca->value : NULL;
}

static void rails(const struct rs_audit *a, const char *host, struct nics *out)
{
	uint32_t at = 0;
	int64_t best = 0;
	bool singles = false;
	const char *nic, *chosen;

	*out = (struct nics){.host = host};
	while ((nic = rs_facts_subject(a->facts, &at, host, "nic/"))) {
		int64_t rate = rate_of(a, host, nic);

		out->of++;
		best = rate > best ? rate : best;
		singles |= !strstr(nic, "bond");
	}
	chosen = list_to_keep(a, host, best, singles);
	snprintf(out->text, sizeof(out->text), "=");
	for (at = 0; (nic = rs_facts_subject(a->facts, &at, host, "nic/"));) {
		size_t n = strlen(out->text);

		if (out->n == NICS_MAX || !is_rail(a, host, nic, best, singles) ||
		    (chosen && !rs_look_hca(chosen, nic + 4)))
			continue;
		snprintf(out->text + n, sizeof(out->text) - n, "%s%s", out->n ? "," : "", nic + 4);
		out->nic[out->n++] = nic + 4;
	}
}

static void devices(struct job *j, const struct nics *h, uint32_t n)
{
	bool alike = true, whole = true;
	const char *reason;

	for (uint32_t i = 0; i < n; i++) {
		alike &= !strcmp(h[i].text, h[0].text);
		whole &= h[i].n == h[i].of;
	}
	if (whole) {
		add(j, NULL, "NCCL_IB_HCA", NULL,
		    "not needed: of the RDMA devices that were seen none is down or slower, and "
		    "NCCL "
		    "uses them all");
		return;
	}
	for (uint32_t i = 0; i < (alike ? 1 : n); i++) {
		if (!h[i].n)
			continue;
		reason = rs_audit_text(
			j->a,
			"%u of the %u RDMA devices: active, of one link layer and the "
			"fastest rate, no bond beside them, of the job's own list "
			"where that is right; the first = takes names exactly",
			h[i].n, h[i].of);
		add(j, alike ? NULL : h[i].host, "NCCL_IB_HCA",
		    rs_audit_text(j->a, "%s", h[i].text), reason);
	}
}

/* ---- Which GID ---- */

/* The lowest index of a RoCE v2 GID with an IPv4 address; -1: none is known. */
static int gid_of(const struct rs_audit *a, const char *host, const char *nic)
{
	char subject[160];
	const struct rs_fact *f;
	uint32_t at = 0;
	int best = -1;

	snprintf(subject, sizeof(subject), "nic/%s", nic);
	while ((f = rs_facts_next(a->facts, &at, host, subject, "gid_type/"))) {
		const struct rs_fact *gid = rs_look(a, host, subject, "gid/%s", f->name + 9);
		int index = atoi(f->name + 9);

		if (strcmp(f->subject, subject) || strcmp(f->value, "v2") || !gid ||
		    !strcasestr(gid->value, "ffff:"))
			continue;
		if (best < 0 || index < best)
			best = index;
	}
	return best;
}

/* 1: a RoCE port is known; 0: all are InfiniBand; -1: no port's link layer is known. */
static int any_roce(const struct job *j, const struct nics *h, uint32_t n)
{
	int found = -1;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < h[i].n; k++) {
			const char *nic = rs_audit_text(j->a, "nic/%s", h[i].nic[k]);
			const char *layer =
				rs_facts_value(j->a->facts, h[i].host, nic, "link_layer");

			if ((layer && !strcmp(layer, "Ethernet")) ||
			    rs_look_any(j->a, h[i].host, nic, "gid_type/"))
				return 1;
			found = layer ? 0 : found;
		}
	return found;
}

static void gid(struct job *j, const struct nics *h, uint32_t n)
{
	static const char name[] = "NCCL_IB_GID_INDEX";
	int index = -2;
	bool alike = true;

	if (j->out->release >= FINDS_GID && any_roce(j, h, n)) {
		add(j, NULL, name, NULL,
		    "not to be set: since 2.21 NCCL finds the RoCE v2 GID of the interface's "
		    "address "
		    "itself, and an index moves when addresses change");
		return;
	}
	if (any_roce(j, h, n) <= 0) {
		add(j, NULL, name, NULL,
		    any_roce(j, h, n) ? "cannot be told: no port's link layer was seen "
					"(ibv_devinfo, show_gids)"
				      : "not needed: all ports are InfiniBand");
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < h[i].n; k++) {
			int g = gid_of(j->a, h[i].host, h[i].nic[k]);

			alike &= index == -2 || index == g;
			index = g;
		}
	if (index >= 0 && alike)
		add(j, NULL, name, rs_audit_text(j->a, "%d", index),
		    rs_audit_text(j->a,
				  "index %d is RoCE v2 with an IPv4 address on every port used%s",
				  index,
				  j->out->release ? ""
						  : "; leave it out with NCCL 2.21 or later, which "
						    "finds it"));
	else
		add(j, NULL, name, NULL,
		    alike ? "cannot be told: no RoCE v2 GID with an IPv4 address was seen "
			    "(show_gids)"
			  : "no one index is RoCE v2 with IPv4 on every port: use NCCL 2.21 or "
			    "later, "
			    "or make addresses alike");
}

/* ---- Which traffic class ---- */

struct classes {
	uint32_t ports, seen; /* with a PFC row */
	bool all_trust;
	int dscp; /* the first that is lossless everywhere; -1: none */
};

static int priority_of(const struct rs_audit *a, const char *host, const char *netdev, int dscp)
{
	char subject[160], name[32];

	snprintf(subject, sizeof(subject), "netdev/%s", netdev);
	snprintf(name, sizeof(name), "dscp_to_prio/%d", dscp);
	/* `--trust dscp` puts DSCP / 8; a listing may leave rows out */
	return (int)rs_look_number(a, host, subject, name, dscp / 8);
}

static bool lossless_everywhere(const struct rs_audit *a, const struct nics *h, uint32_t n,
				int dscp, struct classes *c)
{
	bool all = true;

	c->ports = c->seen = 0;
	c->all_trust = true;
	for (uint32_t i = 0; i < n; i++) {
		struct rs_qos_port port[NICS_MAX];
		unsigned ports = rs_qos_ports(a, h[i].host, port, NICS_MAX);

		for (unsigned k = 0; k < ports; k++) {
			char subject[160];
			int mask = rs_qos_pfc_mask(a, h[i].host, port[k].netdev);
			const char *trust;

			snprintf(subject, sizeof(subject), "netdev/%s", port[k].netdev);
			trust = rs_facts_value(a->facts, h[i].host, subject, "trust");
			c->ports++;
			c->all_trust &= !trust || !strcmp(trust, "dscp");
			if (mask < 0)
				continue;
			c->seen++;
			all &= mask >> priority_of(a, h[i].host, port[k].netdev, dscp) & 1;
		}
	}
	return all && c->seen;
}

/* The DSCP that verbs queue pairs have now: by NCCL_IB_TC, or the kernel's override of it. */
static int now_in_use(const struct rs_audit *a, const struct nics *h, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < h[i].n; k++) {
			const char *netdev = rs_qos_netdev(a, h[i].host, h[i].nic[k]);
			struct rs_class c;

			if (netdev &&
			    rs_qos_class(a, h[i].host, h[i].nic[k], netdev, RS_QP_VERBS, &c) &&
			    c.dscp > 0)
				return c.dscp;
		}
	return -1;
}

static void traffic_class(struct job *j, const struct nics *h, uint32_t n)
{
	int used = now_in_use(j->a, h, n), usual[] = {used, 26, 24}, dscp = -1;
	struct classes c = {0};
	const char *reason;

	for (unsigned i = 0; i < 3 && dscp < 0; i++)
		if (usual[i] >= 0 && lossless_everywhere(j->a, h, n, usual[i], &c))
			dscp = usual[i];
	for (int d = 1; d < 64 && dscp < 0; d++)
		if (lossless_everywhere(j->a, h, n, d, &c))
			dscp = d;
	if (dscp < 0) {
		lossless_everywhere(j->a, h, n, 26, &c);
		add(j, NULL, "NCCL_IB_TC", NULL,
		    c.seen ? "cannot be told: no DSCP has a priority with PFC on all ports"
			   : "cannot be told: no PFC setting was seen (mlnx_qos -i DEV, dcb pfc "
			     "show)");
		return;
	}
	reason = rs_audit_text(
		j->a,
		"DSCP %d has a priority with PFC on each port seen (%u); a traffic class "
		"is four times the DSCP%s%s",
		dscp, c.seen, dscp == used ? "; as it is now" : "",
		c.all_trust ? "" : "; but not all ports trust DSCP: see check R04");
	add(j, NULL, "NCCL_IB_TC", rs_audit_text(j->a, "%d", dscp * 4), reason);
}

/* ---- What checks found ---- */

/* "NCCL_X=y  # remark" or "unset NCCL_X". */
static void from_fix(struct job *j, const struct rs_finding *f, const char *command)
{
	bool unset = !strncmp(command, "unset ", 6);
	const char *p = command + (unset ? 6 : 0), *end = strstr(p, "  #");
	size_t len = end ? (size_t)(end - p) : strlen(p), key = strcspn(p, "= ");
	const char *name, *value;

	if (strncmp(p, "NCCL_", 5) || key > len)
		return;
	name = rs_audit_text(j->a, "%.*s", (int)key, p);
	if (has(j, name))
		return;
	value = unset || key == len
			? NULL
			: rs_audit_text(j->a, "%.*s", (int)(len - key - 1), p + key + 1);
	if (value && strchr(value, '<')) {
		add(j, NULL, name, NULL,
		    rs_audit_text(j->a, "check %s: %s; to be filled in: %s", f->rule->id, f->title,
				  value));
		return;
	}
	add(j, NULL, name, value,
	    rs_audit_text(j->a, "%scheck %s: %s", value ? "" : "not to be set: ", f->rule->id,
			  f->title));
}

static void from_findings(struct job *j)
{
	for (uint32_t i = 0; i < j->a->n_findings; i++) {
		const struct rs_finding *f = j->a->findings[i];

		for (uint32_t k = 0; f->verdict == RS_FAIL && !f->suppressed && k < f->n_fixes; k++)
			if (f->fix[k].choice == f->fix[0].choice)
				from_fix(j, f, f->fix[k].command);
	}
}

/* ---- Releases ---- */

static void drop_unread(struct job *j)
{
	for (uint32_t i = 0; j->out->release && i < j->out->n; i++) {
		struct rs_job_line *l = &j->out->line[i];

		for (const struct rs_nccl_name *k = rs_nccl_names; k->name; k++) {
			if (strcmp(k->name, l->name) || !l->value)
				continue;
			if (j->out->release >= k->since &&
			    (!k->until || j->out->release <= k->until))
				continue;
			l->reason = rs_audit_text(j->a, "not read by this release; %s=%s: %s",
						  l->name, l->value, l->reason);
			l->value = NULL;
		}
	}
}

static void find_release(struct job *j, uint32_t release)
{
	j->out->release = release;
	j->out->release_from = release ? "as told" : NULL;
	for (uint32_t i = 0; !j->out->release && i < rs_facts_hosts(j->a->facts); i++) {
		const struct rs_fact *f = NULL;

		j->out->release = rs_nccl_version(j->a, rs_facts_host(j->a->facts, i), &f);
		if (j->out->release && f)
			j->out->release_from = f->file;
	}
}

void rs_audit_job_env(struct rs_audit *a, uint32_t release, struct rs_job_env *out)
{
	uint32_t n = 0, most = rs_facts_hosts(a->facts);
	struct job j = {a, out};
	struct nics *h = rs_arena_alloc(a->arena, most + 1u, sizeof(*h));

	*out = (struct rs_job_env){0};
	find_release(&j, release);
	for (uint32_t i = 0; h && i < most; i++) {
		const char *host = rs_facts_host(a->facts, i);

		if (rs_facts_is_switch(a->facts, host))
			continue;
		rails(a, host, &h[n]);
		n += h[n].of > 0 || rs_look_any(a, host, "netdev/", "pfc/");
	}
	if (n) {
		devices(&j, h, n);
		gid(&j, h, n);
		traffic_class(&j, h, n);
	}
	from_findings(&j);
	drop_unread(&j);
}
