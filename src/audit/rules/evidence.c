/* What findings stand on, findings that say the same, and the conclusion of an audit. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/facts/look.h"
#include "audit/rules/evidence.h"
#include "audit/rules/next.h"
#include "audit/rules/rule.h"
#include "audit/rules/run.h"

const char *const rs_conclusion_names[] = {"right", "open", "not enough evidence", "faulty"};

/* ---- What a PASS stands on ---- */

/* The first line of a host's texts that states a failure; host NULL: of any. */
static const struct rs_fact *failure_of(const struct rs_audit *a, const char *host)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *h = rs_facts_host(a->facts, i);
		const struct rs_fact *f;
		uint32_t at;

		/* asked of each PASS: the facts of other hosts are not looked for */
		if (host && strcmp(h, host))
			continue;
		at = rs_facts_seek(a->facts, h, "said");
		f = rs_facts_next(a->facts, &at, h, "said", "failure/");
		if (f)
			return f;
	}
	return NULL;
}

/* That something is there says little of how it works. */
static bool is_presence(const struct rs_fact *k)
{
	return !strncmp(k->name, "module/", 7) || !strcmp(k->name, "modules_seen") ||
	       !strncmp(k->name, "memory_peers/", 13) || !strcmp(k->name, "log") ||
	       !strcmp(k->name, "role") || !strcmp(k->name, "named");
}

static bool is_decisive(const struct rs_fact *k)
{
	return k->trust > RS_TRUST_INTENT && !is_presence(k) && strcmp(k->subject, "env");
}

static void demote(struct rs_audit *a, struct rs_finding *f, const char *why)
{
	f->verdict = RS_UNKNOWN;
	f->title = rs_audit_text(a, "it may be right: %s", f->title);
	f->why = why;
	if (!f->n_needs)
		rs_finding_need(a, f, "the job's log with NCCL_DEBUG=INFO, and the host's state",
				"what decides it");
}

/* N12: only a job that ended, or a log that was read to the job's end, shows that none came. */
static const struct rs_fact *finished(const struct rs_audit *a)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const struct rs_fact *f =
			rs_facts_get(a->facts, rs_facts_host(a->facts, i), "nccl", "finished");

		if (f)
			return f;
	}
	return NULL;
}

static void settle(struct rs_audit *a, struct rs_finding *f)
{
	const struct rs_fact *failure =
		f->n_subjects ? failure_of(a, f->subject[0].host) : failure_of(a, NULL);
	bool decisive = false;

	if (!f->n_facts)
		rs_finding_fact(f, f->witness);
	for (uint32_t i = 0; i < f->n_facts; i++)
		decisive |= is_decisive(f->fact[i]);
	if (!f->n_facts) {
		demote(a, f, "no fact that decides it was read");
	} else if (!strcmp(f->rule->id, "N12")) {
		const struct rs_fact *end = failure ? NULL : finished(a);

		rs_finding_fact(f, end);
		if (!end)
			rs_finding_need(a, f, "the job's whole log, of all ranks",
					"whether a completion in error comes later");
		if (!end)
			demote(a, f,
			       failure ? "a line of the same text states a failure"
				       : "the log does not show that the job ended: it may have "
					 "been cut off before the error");
	} else if (failure && !decisive) {
		demote(a, f,
		       "it stands on a setting or on something's being there, and the text states "
		       "a failure");
	}
	if (f->verdict == RS_UNKNOWN && failure)
		rs_finding_fact(f, failure);
}

static bool names(const struct rs_finding *f, const char *host, const char *part)
{
	uint32_t n = f->n_subjects < RS_FINDING_SUBJECTS ? f->n_subjects : RS_FINDING_SUBJECTS;

	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(f->subject[i].host, host) &&
		    (!part || !f->subject[i].part || !strcmp(f->subject[i].part, part)))
			return true;
	return !f->n_subjects;
}

/* Does a FAIL of the same check speak of the same host, and of the same part where both name one?
 */
static bool denies(const struct rs_finding *fail, const struct rs_finding *pass)
{
	for (uint32_t k = 0; k < pass->n_subjects && k < RS_FINDING_SUBJECTS; k++)
		if (names(fail, pass->subject[k].host, pass->subject[k].part))
			return true;
	return !pass->n_subjects;
}

static int by_rule(const void *x, const void *y)
{
	const struct rs_finding *a = *(struct rs_finding *const *)x;
	const struct rs_finding *b = *(struct rs_finding *const *)y;

	return strcmp(a->rule->id, b->rule->id);
}

/* The first of the failures of a check, in order of checks; n: none. */
static uint32_t first_of(struct rs_finding *const *fail, uint32_t n, const char *id)
{
	uint32_t lo = 0, hi = n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (strcmp(fail[mid]->rule->id, id) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Does a failure of that check deny the PASS? n of them, in order of checks. */
static bool denied_by(struct rs_finding *const *fail, uint32_t n, const char *id,
		      const struct rs_finding *pass)
{
	for (uint32_t k = first_of(fail, n, id); k < n && !strcmp(fail[k]->rule->id, id); k++)
		if (denies(fail[k], pass))
			return true;
	return false;
}

static bool denied(struct rs_finding *const *fail, uint32_t n, const struct rs_finding *pass)
{
	/* checks that judge one thing from two sides */
	static const struct {
		const char *pass, *fail;
	} kin[] = {{"N04", "N03"} /* a list that captures more takes more than the rails */,
		   {"N05", "R02"} /* an index that one device lacks */};

	for (unsigned i = 0; i < sizeof(kin) / sizeof(*kin); i++)
		if (!strcmp(pass->rule->id, kin[i].pass) && denied_by(fail, n, kin[i].fail, pass))
			return true;
	return denied_by(fail, n, pass->rule->id, pass);
}

/* What fails is not right beside it. */
static void drop_contradicted(struct rs_audit *a)
{
	struct rs_finding **fail = calloc(a->n_findings + 1u, sizeof(*fail));
	uint32_t n = 0, kept = 0;

	if (!fail) {
		a->err = -ENOMEM;
		return;
	}
	for (uint32_t i = 0; i < a->n_findings; i++)
		if (a->findings[i]->verdict == RS_FAIL && a->findings[i]->severity >= RS_MINOR)
			fail[n++] = a->findings[i];
	if (n)
		qsort(fail, n, sizeof(struct rs_finding *), by_rule);
	for (uint32_t i = 0; i < a->n_findings; i++) {
		struct rs_finding *f = a->findings[i];

		if (f->verdict != RS_PASS || !denied(fail, n, f))
			a->findings[kept++] = f;
	}
	a->n_findings = kept;
	free(fail);
}

void rs_evidence_settle(struct rs_audit *a)
{
	drop_contradicted(a);
	for (uint32_t i = 0; i < a->n_findings; i++)
		if (a->findings[i]->verdict == RS_PASS)
			settle(a, a->findings[i]);
}

/* ---- Fixes of one variable ---- */

/* "NCCL_X=y", "unset NCCL_X": the variable's name; 0 bytes: the fix is of something else. */
static const char *variable(const char *command, size_t *n)
{
	const char *p = command + (strncmp(command, "unset ", 6) ? 0 : 6);

	*n = strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
	if (p == command ? p[*n] != '=' : p[*n] && p[*n] != ' ')
		*n = 0;
	return p;
}

static const struct rs_finding_fix *others_fix(const struct rs_audit *a, const struct rs_finding *f,
					       const char *command)
{
	size_t n, m;
	const char *name = variable(command, &n), *other;

	for (uint32_t i = 0; n && i < a->n_findings; i++) {
		const struct rs_finding *g = a->findings[i];

		if (g->verdict != RS_FAIL || g->suppressed || g->rule == f->rule)
			continue;
		for (uint32_t k = 0; k < g->n_fixes; k++) {
			other = variable(g->fix[k].command, &m);
			if (m == n && !strncmp(name, other, n) &&
			    g->fix[k].choice == g->fix[0].choice)
				return &g->fix[k];
		}
	}
	return NULL;
}

void rs_evidence_agree(struct rs_audit *a)
{
	for (uint32_t i = 0; i < a->n_findings; i++) {
		struct rs_finding *f = a->findings[i];

		for (uint32_t k = 0; f->verdict == RS_FAIL && k < f->n_fixes; k++) {
			const struct rs_finding_fix *o =
				f->fix[k].yields ? others_fix(a, f, f->fix[k].command) : NULL;

			if (!o)
				continue;
			f->fix[k].command = o->command;
			f->fix[k].undo = o->undo;
		}
	}
}

/* ---- Findings that say the same ---- */

struct like {
	uint64_t hash;
	uint32_t at; /* in a->findings */
	char *title; /* with '*' for what it is about */
};

/* Where a subject's name stands as a word in a title, a '*'. */
static void star(char *title, const char *name)
{
	size_t n = name ? strlen(name) : 0;
	char *p = title;

	while (n && (p = strstr(p, name))) {
		bool word = (p == title || strchr(" \"'(:/", p[-1])) &&
			    (!p[n] || strchr(" \"'):/,;.", p[n]));

		if (word) {
			*p = '*';
			memmove(p + 1, p + n, strlen(p + n) + 1);
		}
		p++;
	}
}

/* "10.0.0.2", " (7 lines)": each host's own, of what is one finding. */
static void star_own(char *title)
{
	char *p = title, *from;

	while ((p = strpbrk(p, "0123456789"))) {
		size_t n = strspn(p, "0123456789."), dots = 0;

		for (size_t i = 0; i < n; i++)
			dots += p[i] == '.' && i + 1 < n;
		if (dots == 3 && (p == title || strchr(" \"'(", p[-1]))) {
			*p = '*';
			memmove(p + 1, p + n, strlen(p + n) + 1);
			n = 1;
		}
		p += n;
	}
	if ((p = strstr(title, " lines)")) && (from = strrchr(title, '(')) && from > title &&
	    from < p && from + 1 + strspn(from + 1, "0123456789") == p)
		memmove(from - 1, p + 7, strlen(p + 7) + 1);
}

static char *shape(const struct rs_finding *f)
{
	char *title = strdup(f->title);

	if (title)
		star_own(title);
	for (uint32_t i = 0; title && i < f->n_subjects && i < 4; i++) {
		star(title, f->subject[i].part);
		star(title, f->subject[i].host);
	}
	return title;
}

static uint64_t fold(uint64_t h, const void *data, size_t n)
{
	const unsigned char *p = data;

	/* FNV-1a */
	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 0x100000001b3u;
	return h;
}

static int by_hash(const void *x, const void *y)
{
	const struct like *a = x, *b = y;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return a->at < b->at ? -1 : 1;
}

static bool same(const struct rs_finding *a, const struct rs_finding *b)
{
	return a->rule == b->rule && a->verdict == b->verdict && a->severity == b->severity &&
	       a->suppressed == b->suppressed && a->n_choices == b->n_choices;
}

/* Behind the others of its choice: alternatives stand together. */
static void insert_fix(struct rs_finding *into, const struct rs_finding_fix *x)
{
	uint32_t at = into->n_fixes++;

	for (; at && into->fix[at - 1].choice > x->choice; at--)
		into->fix[at] = into->fix[at - 1];
	into->fix[at] = *x;
}

static void add_fixes(struct rs_finding *into, const struct rs_finding *f)
{
	for (uint32_t i = 0; i < f->n_fixes && into->n_fixes < RS_FINDING_FIXES; i++) {
		bool there = false;

		for (uint32_t k = 0; k < into->n_fixes; k++)
			there |= !strcmp(into->fix[k].on, f->fix[i].on) &&
				 !strcmp(into->fix[k].command, f->fix[i].command);
		if (!there)
			insert_fix(into, &f->fix[i]);
	}
}

static void add_needs(struct rs_finding *into, const struct rs_finding *f)
{
	for (uint32_t i = 0; i < f->n_needs && into->n_needs < RS_FINDING_NEEDS; i++) {
		bool there = false;

		for (uint32_t k = 0; k < into->n_needs; k++)
			there |= !strcmp(into->need[k].file, f->need[i].file);
		if (!there)
			into->need[into->n_needs++] = f->need[i];
	}
}

static void add(struct rs_finding *into, const struct rs_finding *f)
{
	uint32_t n = f->n_subjects < RS_FINDING_SUBJECTS ? f->n_subjects : RS_FINDING_SUBJECTS;

	for (uint32_t i = 0; i < n && into->n_subjects + i < RS_FINDING_SUBJECTS; i++)
		into->subject[into->n_subjects + i] = f->subject[i];
	into->n_subjects += f->n_subjects;
	for (uint32_t i = 0; i < f->n_facts; i++)
		rs_finding_fact(into, f->fact[i]);
	add_fixes(into, f);
	add_needs(into, f);
}

/* Chains are of one host each: such findings stay apart. */
static bool may_merge(const struct rs_finding *f)
{
	return (f->verdict == RS_FAIL || f->verdict == RS_UNKNOWN) && !f->n_stages && f->n_subjects;
}

static uint32_t likes_fill(struct rs_audit *a, struct like *like)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < a->n_findings; i++) {
		struct rs_finding *f = a->findings[i];
		uint64_t h = 0xcbf29ce484222325u;

		if (!may_merge(f))
			continue;
		like[n].title = shape(f);
		if (!like[n].title) {
			a->err = -ENOMEM;
			break;
		}
		like[n].at = i;
		h = fold(h, &f->rule, sizeof(f->rule));
		h = fold(h, &f->verdict, sizeof(f->verdict));
		like[n].hash = fold(h, like[n].title, strlen(like[n].title));
		n++;
	}
	return n;
}

static void say_count(struct rs_audit *a, struct rs_finding *f, const char *star_title, uint32_t n)
{
	/* the title is of the first: where it names it, the others are counted */
	if (strcmp(star_title, f->title))
		f->title = rs_audit_text(a, "%s; %u like it", f->title, n);
	f->alike = n;
}

void rs_evidence_merge(struct rs_audit *a)
{
	struct like *like = calloc(a->n_findings + 1u, sizeof(*like));
	uint32_t n = like ? likes_fill(a, like) : 0, kept = 0;

	if (!like)
		a->err = -ENOMEM;
	if (n)
		qsort(like, n, sizeof(*like), by_hash);
	for (uint32_t i = 0; i < n;) {
		struct rs_finding *into = a->findings[like[i].at];
		uint32_t k = i + 1, merged = 1;

		for (; k < n && like[k].hash == like[i].hash; k++) {
			struct rs_finding *f = a->findings[like[k].at];

			if (!f || !same(into, f) || strcmp(like[k].title, like[i].title))
				continue;
			add(into, f);
			a->findings[like[k].at] = NULL;
			merged++;
		}
		if (merged > 1)
			say_count(a, into, like[i].title, merged);
		for (i++; i < n && !a->findings[like[i].at]; i++)
			;
	}
	for (uint32_t i = 0; i < n; i++)
		free(like[i].title);
	free(like);
	for (uint32_t i = 0; i < a->n_findings; i++)
		if (a->findings[i])
			a->findings[kept++] = a->findings[i];
	a->n_findings = kept;
}

/* ---- States ---- */

/* Facts that a FAIL speaks of, by their address. */
struct cited {
	const struct rs_fact **fact;
	size_t n;
};

static int by_address(const void *x, const void *y)
{
	const struct rs_fact *const *a = x, *const *b = y;

	return (*a > *b) - (*a < *b);
}

static int cited_fill(const struct rs_audit *a, struct cited *c)
{
	size_t room = 1;

	for (uint32_t i = 0; i < a->n_findings; i++)
		room += a->findings[i]->verdict == RS_FAIL ? a->findings[i]->n_facts : 0;
	c->n = 0;
	c->fact = malloc(room * sizeof(*c->fact));
	if (!c->fact)
		return -ENOMEM;
	for (uint32_t i = 0; i < a->n_findings; i++)
		for (uint32_t j = 0;
		     a->findings[i]->verdict == RS_FAIL && j < a->findings[i]->n_facts; j++)
			c->fact[c->n++] = a->findings[i]->fact[j];
	if (c->n)
		qsort(c->fact, c->n, sizeof(*c->fact), by_address);
	return 0;
}

static bool is_cited(const struct cited *c, const struct rs_fact *k)
{
	return c->n && bsearch(&k, c->fact, c->n, sizeof(*c->fact), by_address);
}

static bool is_down(const char *v)
{
	return !strcasecmp(v, "down") || !strcasecmp(v, "disabled") || !strcasecmp(v, "polling") ||
	       !strncasecmp(v, "PORT_DOWN", 9) || !strncasecmp(v, "initializ", 9);
}

/* A word for what is not as it should be; NULL: nothing is. more: what the state is against. */
static const char *abnormal(const struct rs_audit *a, const struct rs_fact *k,
			    const struct rs_fact **more)
{
	enum { MEMLOCK_SMALL = 1 << 20 };
	int64_t most;

	*more = NULL;
	if (!strncmp(k->subject, "nic/", 4)) {
		if (!strcmp(k->name, "port_state") || !strcmp(k->name, "phys_state") ||
		    !strcmp(k->name, "link"))
			return is_down(k->value) ? "the port is not up" : NULL;
	}
	if (!strcmp(k->subject, "host") && !strcmp(k->name, "memlock"))
		return k->numeric && k->number < MEMLOCK_SMALL ? "little memory may be locked"
							       : NULL;
	if (!strncmp(k->subject, "pci/", 4) && !strcmp(k->name, "link_speed")) {
		*more = rs_facts_get(a->facts, k->host, k->subject, "max_link_speed");
		most = *more && (*more)->numeric ? (*more)->number : 0;
		return k->numeric && k->number > 0 && k->number < most
			       ? "the slot runs slower than the device can (a GPU at rest does so "
				 "to save power)"
			       : NULL;
	}
	if (!strncmp(k->subject, "pci/", 4) && !strcmp(k->name, "link_downgraded") &&
	    !rs_facts_get(a->facts, k->host, k->subject, "max_link_speed") &&
	    strcmp(rs_look_kind(a, k->host, k->subject), "gpu")) {
		*more = rs_facts_get(a->facts, k->host, k->subject, "link_speed");
		return "lspci calls the slot's link downgraded";
	}
	if (!strncmp(k->subject, "pci/", 4) && !strcmp(k->name, "link_width")) {
		*more = rs_facts_get(a->facts, k->host, k->subject, "max_link_width");
		most = *more && (*more)->numeric ? (*more)->number : 0;
		return k->numeric && k->number > 0 && k->number < most
			       ? "the slot runs with fewer lanes than the device has"
			       : NULL;
	}
	return NULL;
}

enum { STATES = 1000000 /* facts of a host that are looked at */ };

/* PFC was seen, and no priority has it. */
static void no_priority(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const char *subject;
	uint32_t at = 0;

	while ((subject = rs_facts_subject(a->facts, &at, host, "netdev/"))) {
		const struct rs_fact *first = rs_facts_get(a->facts, host, subject, "pfc/0"), *f;
		struct rs_finding *x;
		uint32_t k = rs_facts_seek(a->facts, host, subject);
		bool on = false;

		if (!first)
			continue;
		while ((f = rs_facts_next(a->facts, &k, host, subject, "pfc/")) &&
		       !strcmp(f->subject, subject))
			on |= f->numeric && f->number;
		if (on)
			continue;
		x = rs_finding_new(a, r, RS_FAIL, RS_INFO, "PFC is on for no priority");
		rs_finding_subject(a, x, host, subject + 7);
		rs_finding_fact(x, first);
	}
}

/* A RoCE device with GIDs of which none can be routed by RoCE v2. */
static void no_gid(struct rs_audit *a, const struct rs_rule *r, const struct cited *c,
		   const char *host)
{
	const char *subject;
	uint32_t at = 0;

	while ((subject = rs_facts_subject(a->facts, &at, host, "nic/"))) {
		uint32_t k = rs_facts_seek(a->facts, host, subject);
		const struct rs_fact *f, *gid = NULL;
		bool good = false, roce = false;
		struct rs_finding *x;

		while ((f = rs_facts_next(a->facts, &k, host, subject, "gid/")) &&
		       !strcmp(f->subject, subject)) {
			const char *type =
				rs_facts_value(a->facts, host, subject,
					       rs_audit_text(a, "gid_type/%s", f->name + 4));
			bool v1 = type && (strstr(type, "v1") || strstr(type, "V1"));

			roce |= type && strstr(type, "oCE");
			good |= !v1 && strncasecmp(f->value, "fe80", 4);
			gid = gid ? gid : f;
		}
		if (!gid || good || !roce || is_cited(c, gid))
			continue;
		x = rs_finding_new(a, r, RS_FAIL, RS_INFO,
				   "each GID is RoCE v1 or link-local: none is routed by RoCE v2");
		rs_finding_subject(a, x, host, subject + 4);
		rs_finding_fact(x, gid);
	}
}

/* Of a capability that was pasted without its function's name. */
static bool is_adapters(const struct rs_audit *a, const struct rs_fact *k)
{
	return (!strcmp(k->subject, "pci/unnamed") || !strcmp(k->name, "link_downgraded")) &&
	       !rs_facts_get(a->facts, k->host, k->subject, "kind");
}

static void states_of(struct rs_audit *a, const struct rs_rule *r, const struct cited *c,
		      const char *host)
{
	const struct rs_fact *k, *more;
	uint32_t at = 0, looked = 0;

	while ((k = rs_facts_next(a->facts, &at, host, "", "")) && looked++ < STATES) {
		const char *what = abnormal(a, k, &more), *part = strchr(k->subject, '/');
		struct rs_finding *x;

		if (!what || is_cited(c, k) ||
		    rs_facts_get(a->facts, host, k->subject, k->name) != k)
			continue;
		/* of a port or an adapter whose class is not known P01 cannot look further */
		if (more && is_adapters(a, k))
			x = rs_finding_new(a, rs_rule_find("P01"), RS_FAIL, RS_MINOR, "%s", what);
		else if (more)
			x = rs_finding_new(a, r, RS_FAIL, RS_INFO, "%s", what);
		else
			x = rs_finding_new(a, r, RS_FAIL, RS_INFO, "%s: %s", what, k->value);
		rs_finding_subject(a, x, host, part ? part + 1 : NULL);
		rs_finding_fact(x, k);
		rs_finding_fact(x, more);
	}
	no_priority(a, r, host);
	no_gid(a, r, c, host);
}

void rs_evidence_states(struct rs_audit *a, bool (*wanted)(const struct rs_rule *, void *),
			void *state)
{
	const struct rs_rule *r = rs_rules_state;
	struct cited c;

	if (!wanted(r, state))
		return;

	if (cited_fill(a, &c)) {
		a->err = -ENOMEM;
		return;
	}
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		if (!rs_facts_is_switch(a->facts, rs_facts_host(a->facts, i)))
			states_of(a, r, &c, rs_facts_host(a->facts, i));
	free(c.fact);
}

/* It waits for all others: rs_evidence_states(). */
static void later(struct rs_audit *a, const struct rs_rule *r)
{
	(void)a, (void)r;
}

const struct rs_rule rs_rules_state[] = {
	{
		.id = "A01",
		.name = "abnormal-state",
		.severity = RS_INFO,
		.criterion = "No state that was read is unusual by itself.",
		.authority = "what each state's name says; no load is known that suffers from it",
		.explain =
			"A port that is down, a slot with fewer lanes than the device has, 64 kB "
			"of memory "
			"that may be locked, a GID that is RoCE v1 or link-local, PFC that is on "
			"for no "
			"priority: whether it matters depends on what the job uses. Where another "
			"check "
			"knows that, it speaks; where none does, the state is told as a note.",
		.run = later,
	},
	{0},
};

/* ---- The conclusion ---- */

/* Facts that say something of a machine or a job. */
static bool knows(const struct rs_audit *a)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const struct rs_fact *f;
		uint32_t at = 0;

		while ((f = rs_facts_next(a->facts, &at, rs_facts_host(a->facts, i), "", "")))
			if (strcmp(f->subject, "said") && strcmp(f->name, "named"))
				return true;
	}
	return false;
}

/* A job's log that does not show that the job ended: what went wrong may come behind it. */
const struct rs_fact *rs_evidence_cut_off(const struct rs_audit *a)
{
	static const char *const begun[] = {"log", "test_rank/"};

	if (finished(a))
		return NULL;
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);

		for (unsigned k = 0; k < sizeof(begun) / sizeof(*begun); k++) {
			uint32_t at = rs_facts_seek(a->facts, host, "nccl");
			const struct rs_fact *f =
				rs_facts_next(a->facts, &at, host, "nccl", begun[k]);

			if (f)
				return f;
		}
	}
	return NULL;
}

static bool is_text(const struct rs_audit *a, const char *path)
{
	for (const struct rs_text_use *u = a->texts; u; u = u->next)
		if (u->path && path && !strcmp(u->path, path))
			return true;
	return false;
}

/* Something was asked for in this text, is not there, and no finding speaks of it. */
static bool lacks(const struct rs_audit *a, const char *path)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);
		uint32_t at = rs_facts_seek(a->facts, host, "absent");
		const struct rs_fact *f;

		while ((f = rs_facts_next(a->facts, &at, host, "absent", ""))) {
			bool cited =
				strcmp(f->subject, "absent") != 0 || strcmp(f->file, path) != 0;

			for (uint32_t k = 0; k < a->n_findings && !cited; k++)
				cited = rs_finding_cites(a->findings[k], f);
			if (!cited)
				return true;
		}
	}
	return false;
}

/* What was pasted has lines that were not understood: a person's sentence, which may state what is
 * wrong in its own words, or anything where no job's good end is shown. A machine's own files are
 * no such text. */
const struct rs_text_use *rs_evidence_strange(const struct rs_audit *a)
{
	for (uint32_t i = 0; i < a->n_files; i++)
		if (a->files[i].reader && a->files[i].facts && !is_text(a, a->files[i].path))
			return NULL;
	for (const struct rs_text_use *u = a->texts; u; u = u->next)
		if (u->sentences || lacks(a, u->path) ||
		    (u->count[RS_LINE_STRANGE] && !finished(a)))
			return u;
	return NULL;
}

enum rs_conclusion rs_audit_concludes(const struct rs_audit *a, bool strict)
{
	bool fail = false, unknown = false, stated = false, judged = a->some, noted = false;

	for (uint32_t i = 0; i < a->n_findings; i++) {
		const struct rs_finding *f = a->findings[i];

		/* what is minor says that something is unusual, not that anything is right */
		judged |= f->verdict == RS_PASS || f->suppressed;
		if (f->suppressed)
			continue;
		fail |= f->verdict == RS_FAIL && f->severity >= (strict ? RS_MINOR : RS_MAJOR);
		/* a note of what may be major: nothing tells whether a job suffers from it */
		noted |= f->verdict == RS_FAIL && f->severity == RS_INFO &&
			 f->rule->severity >= RS_MAJOR;
		stated |= f->verdict == RS_FAIL && f->states_failure;
		unknown |= f->verdict == RS_UNKNOWN && f->severity == RS_CRITICAL;
	}
	if (fail)
		return RS_CONCLUDES_FAULTY;
	if (!knows(a) || stated || failure_of(a, NULL))
		return RS_CONCLUDES_THIN;
	if (unknown)
		return RS_CONCLUDES_OPEN;
	if (rs_evidence_cut_off(a) || rs_evidence_strange(a))
		return RS_CONCLUDES_THIN;
	/* nothing wrong with what nothing judged is no clean bill of health */
	return judged && !noted ? RS_CONCLUDES_RIGHT : RS_CONCLUDES_THIN;
}

static bool any_subject(const struct rs_audit *a, const char *prefix)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		uint32_t at = 0;

		if (rs_facts_subject(a->facts, &at, rs_facts_host(a->facts, i), prefix))
			return true;
	}
	return false;
}

static bool any_nccl(const struct rs_audit *a, const char *name)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);
		uint32_t at = rs_facts_seek(a->facts, host, "nccl");

		if (rs_facts_next(a->facts, &at, host, "nccl", name))
			return true;
	}
	return false;
}

static bool of_nccl(const struct rs_audit *a, const struct rs_fact *failure)
{
	return strcasestr(failure->value, "nccl") || strcasestr(failure->value, "rccl") ||
	       strstr(failure->value, "Watchdog") || any_subject(a, "nccl") ||
	       any_subject(a, "env");
}

/* Enough to tell how NCCL went: its devices and transports. */
static bool has_nccl_log(const struct rs_audit *a)
{
	return any_nccl(a, "using") || any_nccl(a, "via_");
}

static void next(struct rs_audit *a, const char *command, const char *why)
{
	a->next_command = command;
	a->next_why = why;
}

static void next_of(struct rs_audit *a, const struct rs_finding *f)
{
	bool whole;
	const char *command = rs_next_command(a, f, &whole);

	next(a, command,
	     whole ? rs_audit_text(a, "%s %s: %s", f->rule->id, f->rule->name, f->need[0].why)
		   : rs_audit_text(a, "%s %s: %s (%s)", f->rule->id, f->rule->name, f->need[0].why,
				   f->need[0].file));
}

void rs_evidence_next(struct rs_audit *a)
{
	const char *of_switch;
	bool thin = rs_audit_concludes(a, false) == RS_CONCLUDES_THIN;

	a->failure = failure_of(a, NULL);
	next(a, NULL, NULL);
	if (a->failure && of_nccl(a, a->failure) && !has_nccl_log(a)) {
		next(a,
		     "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,ENV COMMAND 2>&1 | tee nccl.log",
		     "NCCL's log says which devices, GIDs and transports it took, and what it met "
		     "first");
		return;
	}
	if (!a->failure && thin && rs_evidence_cut_off(a)) {
		next(a,
		     "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,ENV COMMAND 2>&1 | tee nccl.log",
		     "what was named does not show that the job ended, and an error may come "
		     "later: the whole log, of all ranks, to its end");
		return;
	}
	for (uint32_t i = 0; thin && i < a->n_findings && !a->failure; i++) {
		const struct rs_finding *f = a->findings[i];

		if (f->verdict != RS_FAIL || f->suppressed || !f->n_needs ||
		    (!f->states_failure && f->severity > RS_INFO))
			continue;
		next_of(a, f);
		return;
	}
	for (uint32_t i = 0; i < a->n_findings && !a->failure; i++) {
		const struct rs_finding *f = a->findings[i];

		if (f->verdict != RS_UNKNOWN || f->suppressed || !f->n_needs)
			continue;
		/* a switch's configuration tells that and more */
		if (thin && f->severity <= RS_MINOR && rs_next_of_switch(a))
			break;
		next_of(a, f);
		return;
	}
	of_switch = rs_next_of_switch(a);
	if (of_switch && (a->failure || thin || !any_subject(a, "port/")))
		next(a, of_switch,
		     "a switch's whole configuration tells its classes, PFC, ECN and ports");
	else if (!any_subject(a, "nic/") && !any_subject(a, "port/"))
		next(a, "ripstop audit --collect $(hostname).tar.gz",
		     "no device, port or GID is in what was named; run it on each host of the job");
	else if (a->failure)
		next(a, "ripstop audit --collect $(hostname).tar.gz",
		     "the text says that it fails, and the state of each host of the job says why");
	else if (thin)
		next(a, "ripstop audit --collect $(hostname).tar.gz",
		     "the state of the whole host tells whether what stands here matters");
}
