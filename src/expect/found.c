/*
 * What the audit found, as changes of the description: a slot that trained down is part of the
 * hosts as they were read, and mending it takes it away; that data is staged in host memory is a
 * suspicion, and is put there. Findings that no change shows are told by name.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/look.h"
#include "audit/facts/nccl.h"
#include "audit/price/model.h"
#include "audit/rules/rule.h"
#include "expect/state.h"
#include "host/build.h"

struct finding_out {
	struct rs_expect *x;
	const struct expect_model *m;
	bool pair;
	uint32_t hosts, n;
	struct expect_found *found;
	struct rs_expect_measured *out;
};

#define SAY(...) rs_arena_printf(w->x->arena, __VA_ARGS__)

/* ---- The list ---- */

static struct expect_found *add(struct finding_out *w, const char *check, bool is, const char *what)
{
	struct expect_found *f = &w->found[w->n];

	if (w->n == EXPECT_FOUND || !what)
		return NULL;
	*f = (struct expect_found){.check = check, .what = what, .is = is};
	w->n++;
	return f;
}

static void change(struct finding_out *w, struct expect_found *f, struct expect_change c)
{
	struct expect_change *more;

	if (!f)
		return;
	if (!(f->n & (f->n - 1))) { /* 0, 1, 2, 4, ...: full */
		more = rs_arena_alloc(w->x->arena, f->n ? 2 * (size_t)f->n : 1, sizeof(*more));
		if (!more)
			return;
		if (f->n)
			memcpy(more, f->change, f->n * sizeof(*more));
		f->change = more;
	}
	f->change[f->n++] = c;
}

static void drop(struct finding_out *w, const struct expect_found *f)
{
	if (f && !f->n && f == &w->found[w->n - 1])
		w->n--;
}

static int host_of(const struct expect_model *m, const char *name)
{
	for (uint32_t i = 0; i < m->n; i++)
		if (!m->host[i].twin && !strcmp(m->host[i].name, name))
			return (int)i;
	return -1;
}

static bool takes_part(const struct finding_out *w, int host)
{
	const struct rs_host *in = host >= 0 ? w->m->host[host].inside : NULL;

	/* a copy of a host that takes part does, too */
	for (uint32_t i = 0; in && i < w->hosts && i < w->m->n; i++)
		if (w->m->host[i].inside == in)
			return true;
	return false;
}

/* Does the test use this part? Of a pair: the NIC, and what is above it. */
static bool used(const struct finding_out *w, int host, int part)
{
	const struct expect_host *h = &w->m->host[host];
	const struct rs_part *p = &h->inside->parts[part];
	int at = h->nic;

	if (!w->pair)
		return p->kind != RS_PART_OTHER;
	for (int up = 0; at >= 0 && up < RS_PATH_HOPS_MAX; up++) {
		if (at == part)
			return true;
		at = h->inside->parts[at].parent;
	}
	return false;
}

static int64_t fact(const struct finding_out *w, int host, const struct rs_part *p,
		    const char *name, int64_t otherwise)
{
	char pci[160];

	snprintf(pci, sizeof(pci), "pci/%s", p->busid ? p->busid : "");
	return rs_look_number(w->x->audit, w->m->host[host].name, pci, name, otherwise);
}

/* A finding that fails, of this check, of a host that takes part or of none; from *at on. */
static const struct rs_finding *failed(const struct finding_out *w, const struct rs_audit *a,
				       const char *check, uint32_t *at)
{
	while (*at < a->n_findings) {
		const struct rs_finding *f = a->findings[(*at)++];
		bool ours = !f->n_subjects || a != w->x->audit;

		if (f->verdict != RS_FAIL || f->suppressed || strcmp(f->rule->id, check))
			continue;
		for (uint32_t i = 0; i < f->n_subjects && i < RS_FINDING_SUBJECTS; i++) {
			const char *host = f->subject[i].host;

			ours |= takes_part(w, host_of(w->m, host)) ||
				rs_facts_is_switch(a->facts, host) || host_of(w->m, host) < 0;
		}
		if (ours)
			return f;
	}
	return NULL;
}

static const struct rs_finding *first_failed(const struct finding_out *w, struct rs_audit *log,
					     const char *check)
{
	uint32_t at = 0;
	const struct rs_finding *f = failed(w, w->x->audit, check, &at);

	at = 0;
	return f || !log ? f : failed(w, log, check, &at);
}

/* ---- Slots ---- */

/* What the link could be: by the capabilities of both its ends, else what the port needs. */
static struct rs_pcie could_be(const struct finding_out *w, int host, int part)
{
	const struct rs_host *h = w->m->host[host].inside;
	const struct rs_part *p = &h->parts[part];
	const char *above[RS_LOOK_ABOVE];
	int64_t speed = fact(w, host, p, "max_link_speed", 0);
	int64_t width = fact(w, host, p, "max_link_width", 0), other;
	struct rs_pcie best = p->up, need;
	char pci[160];

	snprintf(pci, sizeof(pci), "pci/%s", p->busid ? p->busid : "");
	if (rs_look_above(w->x->audit, w->m->host[host].name, pci, above, RS_LOOK_ABOVE)) {
		const char *name = w->m->host[host].name;

		other = rs_look_number(w->x->audit, name, above[0], "max_link_speed", 0);
		speed = other && other < speed ? other : speed;
		other = rs_look_number(w->x->audit, name, above[0], "max_link_width", 0);
		width = other && other < width ? other : width;
	}
	if (rs_audit_pcie_gen(speed) > best.gen)
		best.gen = (uint8_t)rs_audit_pcie_gen(speed);
	if (width > best.lanes && width <= 32)
		best.lanes = (uint8_t)width;
	if (p->kind != RS_PART_NIC || best.gen != p->up.gen || best.lanes != p->up.lanes)
		return best;
	need = expect_slot(p);
	if (rs_pcie_rate(&need) > rs_pcie_rate(&best)) {
		best.gen = need.gen;
		best.lanes = need.lanes;
	}
	return best;
}

static bool one_slot(const char *a, const char *b)
{
	size_t n = a ? strcspn(a, ".") : 0;

	return n && b && strcspn(b, ".") == n && !strncmp(a, b, n);
}

static void widen(struct finding_out *w, struct expect_found *f, int host, const char *busid)
{
	const struct rs_host *h = w->m->host[host].inside;

	for (int i = 0; i < h->n_parts; i++) {
		struct rs_pcie to;

		if (!one_slot(busid, h->parts[i].busid) || !used(w, host, i))
			continue;
		to = could_be(w, host, i);
		if (rs_pcie_rate(&to) > rs_pcie_rate(&h->parts[i].up))
			change(w, f,
			       (struct expect_change){.knob = KNOB_SLOT,
						      .value = to.gen,
						      .lanes = to.lanes,
						      .host = host,
						      .part = (uint32_t)i + 1,
						      .copies = true});
	}
}

static const char *title(struct finding_out *w, const struct rs_finding *f)
{
	const struct rs_finding_subject *s = f->n_subjects ? &f->subject[0] : NULL;

	if (!s || !s->host)
		return SAY("%s", f->title);
	return SAY("%s%s%s%s: %s", s->host, s->part ? "/" : "", s->part ? s->part : "",
		   f->n_subjects > 2 ? ", ..." : "", f->title);
}

static void slots(struct finding_out *w)
{
	const struct rs_finding *f;
	uint32_t at = 0;

	while ((f = failed(w, w->x->audit, "P01", &at))) {
		struct expect_found *found = add(w, "P01", true, title(w, f));

		for (uint32_t i = 0; i < f->n_subjects && i < RS_FINDING_SUBJECTS; i++) {
			int host = host_of(w->m, f->subject[i].host);

			if (takes_part(w, host) && f->subject[i].part)
				widen(w, found, host, f->subject[i].part);
		}
		drop(w, found);
	}
}

/* ---- What a function sends and asks for at once ---- */

static void reads(struct finding_out *w)
{
	const struct rs_finding *f;
	uint32_t at = 0;

	while ((f = failed(w, w->x->audit, "P03", &at))) {
		struct expect_found *found = add(w, "P03", true, title(w, f));

		for (uint32_t i = 0; i < f->n_subjects && i < RS_FINDING_SUBJECTS; i++) {
			int host = host_of(w->m, f->subject[i].host);
			const struct rs_host *h =
				takes_part(w, host) ? w->m->host[host].inside : NULL;

			for (int k = 0; h && k < h->n_parts; k++) {
				struct expect_change c = {.knob = KNOB_MRRS,
							  .value = 4096,
							  .host = host,
							  .part = (uint32_t)k + 1,
							  .copies = true};

				if (h->parts[k].kind != RS_PART_NIC || !used(w, host, k) ||
				    !h->parts[k].busid || !f->subject[i].part ||
				    strcmp(h->parts[k].busid, f->subject[i].part))
					continue;
				change(w, found, c);
				c.knob = KNOB_TAGS;
				c.value = 0;
				change(w, found, c);
			}
		}
		drop(w, found);
	}
}

static void payloads(struct finding_out *w)
{
	const struct rs_finding *f;
	uint32_t at = 0;

	while ((f = failed(w, w->x->audit, "P02", &at))) {
		int host = f->n_subjects ? host_of(w->m, f->subject[0].host) : -1;
		const struct rs_host *h = takes_part(w, host) ? w->m->host[host].inside : NULL;
		int64_t least = 4096;
		struct expect_found *found;

		for (int i = 0; h && i < h->n_parts; i++) {
			int64_t most = fact(w, host, &h->parts[i], "mps_max", 4096);

			least = most >= 128 && most < least ? most : least;
		}
		if (!h || least == 4096)
			continue;
		found = add(w, "P02", true, title(w, f));
		change(w, found,
		       (struct expect_change){.knob = KNOB_MPS,
					      .value = (double)least,
					      .host = host,
					      .copies = true});
	}
}

/* ---- Ports ---- */

/* The fastest port of all hosts: others of these hosts should have its rate. */
static int64_t fastest(const struct finding_out *w)
{
	int64_t best = 0;

	for (uint32_t i = 0; i < w->hosts && i < w->m->n; i++) {
		const struct rs_host *h = w->m->host[i].inside;

		for (int k = 0; k < h->n_parts; k++)
			if (h->parts[k].kind == RS_PART_NIC && used(w, (int)i, k) &&
			    h->parts[k].port_rate > best)
				best = h->parts[k].port_rate;
	}
	return best;
}

static void rates(struct finding_out *w, struct rs_audit *log)
{
	int64_t best = fastest(w);
	const struct rs_finding *why = first_failed(w, log, "L04");
	struct expect_found *f = NULL;

	why = why ? why : first_failed(w, log, "H09");
	for (uint32_t i = 0; i < w->hosts && i < w->m->n; i++) {
		const struct expect_host *h = &w->m->host[i];

		for (int k = 0; !h->twin && k < h->inside->n_parts; k++) {
			const struct rs_part *p = &h->inside->parts[k];

			if (p->kind != RS_PART_NIC || !used(w, (int)i, k) || p->port_rate >= best ||
			    !p->port_rate)
				continue;
			f = f ? f
			      : add(w, why ? why->rule->id : NULL, true,
				    SAY("%s/%s: a port at %.4g Gb/s, where others have %.4g",
					h->name, p->name, (double)p->port_rate / 1e9,
					(double)best / 1e9));
			change(w, f,
			       (struct expect_change){.knob = KNOB_RATE,
						      .value = (double)best / 1e9,
						      .host = (int)i,
						      .part = (uint32_t)k + 1,
						      .copies = true});
		}
	}
}

/* NICs that do not take part. */
static void left_out(struct finding_out *w, uint8_t why, const char *const *checks,
		     const char *because, struct rs_audit *log)
{
	struct rs_enumeration all = {.n = 0};
	const struct rs_finding *f = NULL;
	struct expect_found *found;

	for (uint32_t i = 0; i < w->hosts && i < w->m->n && !w->pair; i++) {
		const struct expect_host *h = &w->m->host[i];

		for (int k = 0; !h->twin && h->lacks && k < h->inside->n_parts; k++)
			if (h->lacks[k] & why && h->inside->parts[k].kind == RS_PART_OTHER)
				rs_enumerate(&all, ", ", "%s/%s", h->name,
					     h->inside->parts[k].name);
	}
	if (!all.n)
		return;
	for (; *checks && !f; checks++)
		f = first_failed(w, log, *checks);
	found = add(
		w, f ? f->rule->id : NULL, true,
		SAY("%u NIC%s left out, %s: %s", all.n, all.n > 1 ? "s" : "", because, all.text));
	for (uint32_t i = 0; i < w->hosts && i < w->m->n; i++)
		if (!w->m->host[i].twin)
			change(w, found,
			       (struct expect_change){.knob = KNOB_RESTORE,
						      .value = why,
						      .host = (int)i,
						      .copies = true});
}

static const char *not_listed(struct finding_out *w, struct rs_audit *log)
{
	for (uint32_t i = 0; log && i < rs_facts_hosts(log->facts); i++) {
		const struct rs_fact *f =
			rs_nccl_env(log, rs_facts_host(log->facts, i), "NCCL_IB_HCA");

		if (f && *f->value)
			return SAY("since the log's NCCL_IB_HCA has them not (%s)", f->value);
	}
	return "since the job's list has them not";
}

/* ---- Path MTU ---- */

static void mtu(struct finding_out *w, struct rs_audit *log)
{
	static const char *const checks[] = {"R03", "X02", "S09"};
	const struct rs_finding *f = NULL;
	struct expect_found *found;

	if (w->m->mtu >= 4096)
		return;
	for (size_t i = 0; i < sizeof(checks) / sizeof(*checks) && !f; i++)
		f = first_failed(w, log, checks[i]);
	found = add(w, f ? f->rule->id : NULL, true,
		    f ? SAY("a path MTU of %u B: %s", w->m->mtu, title(w, f))
		      : SAY("a path MTU of %u B%s", w->m->mtu,
			    w->m->told >> KNOB_MTU & 1 ? ", as the log says" : ""));
	change(w, found, (struct expect_change){.knob = KNOB_MTU, .value = 4096, .host = -1});
}

/* ---- NCCL ---- */

static const char *check_of(const char *variable)
{
	return strstr(variable, "P2P") || strstr(variable, "SHM") ? "N11"
	       : strstr(variable, "GDR")                          ? "N08"
	       : strstr(variable, "ALGO") || strstr(variable, "PROTO") ||
			       strstr(variable, "CHANNELS")
		       ? "N10"
		       : "";
}

static void variables(struct finding_out *w, struct rs_audit *log)
{
	for (uint32_t i = 0; i < w->m->n_env && !w->pair; i++) {
		const char *name = w->m->env[2 * i];
		const struct rs_finding *f = first_failed(w, log, check_of(name));

		change(w,
		       add(w, f ? f->rule->id : NULL, true,
			   SAY("%s=%s is set", name, w->m->env[2 * i + 1])),
		       (struct expect_change){.knob = KNOB_UNSET, .text = name, .host = -1});
	}
}

/* ---- Suspicions ---- */

static void suspect(struct finding_out *w, const struct rs_finding *f, const char *as,
		    struct expect_change c)
{
	c.copies = c.host >= 0;
	change(w, add(w, f->rule->id, false, SAY("%s (%s)", title(w, f), as)), c);
}

static void no_gpudirect(struct finding_out *w, struct rs_audit *log)
{
	const struct rs_finding *f = first_failed(w, log, "P12");

	f = f ? f : first_failed(w, log, "N08");
	if (f && !w->pair && w->hosts > 1)
		suspect(w, f, "data staged in host memory",
			(struct expect_change){.knob = KNOB_STAGED, .value = 1, .host = -1});
}

static void acs(struct finding_out *w, struct rs_audit *log)
{
	const struct rs_finding *f = first_failed(w, log, "P04");

	if (f && !w->pair && w->hosts > 1)
		suspect(w, f, "GPU and NIC by way of the root complex",
			(struct expect_change){.knob = KNOB_CLIMB, .host = -1});
}

/* A class that may drop: how much it does, nothing says. */
static void lossy(struct finding_out *w, struct rs_audit *log)
{
	static const char *const checks[] = {"X01", "S01", "C01", "R07", "S02", "X03", "R04", "R05",
					     "R06", "N06", "C03", "C08", "L02", "C07", "S13"};
	static const double rates[] = {1e-5, 1e-4, 1e-3};
	const struct rs_finding *f = NULL;

	for (size_t i = 0; i < sizeof(checks) / sizeof(*checks) && !f; i++)
		f = first_failed(w, log, checks[i]);
	for (int i = 0; f && i < 3 && w->hosts > 1; i++)
		suspect(w, f, SAY("loss of one packet in %.0f, without PFC", 1 / rates[i]),
			(struct expect_change){.knob = KNOB_LOSS, .value = rates[i], .host = -1});
}

static void pauses(struct finding_out *w, struct rs_audit *log)
{
	static const double shares[] = {0.1, 0.25, 0.5};
	const struct rs_finding *f = first_failed(w, log, "C04");
	int host = f && f->n_subjects ? host_of(w->m, f->subject[0].host) : -1;

	for (int i = 0; f && i < 3 && w->hosts > 1; i++)
		suspect(w, f, SAY("pauses for %.0f %% of the time", 100 * shares[i]),
			(struct expect_change){.knob = KNOB_PAUSED,
					       .value = shares[i],
					       .host = takes_part(w, host) ? host : 1});
}

static void far_memory(struct finding_out *w, struct rs_audit *log)
{
	const struct rs_finding *f = first_failed(w, log, "P07");

	f = f ? f : first_failed(w, log, "P08");
	if (f && w->pair)
		suspect(w, f, "memory on the other socket",
			(struct expect_change){.knob = KNOB_FAR, .value = 1, .host = -1});
}

/* ---- What no change shows ---- */

static void rest(struct finding_out *w, const struct rs_audit *a)
{
	for (uint32_t i = 0; a && i < a->n_findings; i++) {
		const struct rs_finding *f = a->findings[i];
		bool told = false;

		if (f->verdict != RS_FAIL || f->suppressed || f->cause || f->severity < RS_MAJOR ||
		    w->out->n_rest == RS_EXPECT_REST || !strcmp(f->rule->id, "M01"))
			continue;
		for (uint32_t k = 0; k < w->n; k++)
			told |= w->found[k].check && !strcmp(w->found[k].check, f->rule->id);
		if (!told)
			w->out->rest[w->out->n_rest++] = SAY("%s, %s", f->rule->id, title(w, f));
	}
}

uint32_t expect_found(struct rs_expect *x, const struct expect_model *m, struct rs_audit *log,
		      enum rs_expect_test test, uint32_t hosts,
		      struct expect_found found[EXPECT_FOUND], struct rs_expect_measured *out)
{
	static const char *const down[] = {"L01", "H09", "N04", NULL};
	static const char *const unlisted[] = {"N03", "N04", "P07", NULL};
	struct finding_out w = {.x = x,
				.m = m,
				.pair = test != RS_EXPECT_COLLECTIVE,
				.hosts = hosts,
				.found = found,
				.out = out};

	slots(&w);
	rates(&w, log);
	left_out(&w, LEFT_DOWN, down, "whose ports are down", log);
	left_out(&w, LEFT_UNLISTED, unlisted, not_listed(&w, log), log);
	if (hosts > 1)
		mtu(&w, log);
	reads(&w);
	payloads(&w);
	variables(&w, log);
	no_gpudirect(&w, log);
	acs(&w, log);
	far_memory(&w, log);
	pauses(&w, log);
	lossy(&w, log);
	rest(&w, x->audit);
	rest(&w, log);
	return w.n;
}
