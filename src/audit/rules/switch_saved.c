/* A check of switches: what is saved or configured and what is in force. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/hop.h"
#include "audit/facts/look.h"
#include "audit/rules/switch.h"

/* ---- S15: configured and not in force ---- */

/* "on" and "enabled" are one, numbers within a cell of a buffer (10%) too. */
static bool in_force(const char *x, const char *y)
{
	static const char *const yes[] = {"on", "yes", "enable", "enabled", "true"};
	bool a = false, b = false;
	char *end_x, *end_y;
	double n = strtod(x, &end_x), m = strtod(y, &end_y);

	for (unsigned i = 0; i < sizeof(yes) / sizeof(*yes); i++) {
		a |= !strcasecmp(x, yes[i]);
		b |= !strcasecmp(y, yes[i]);
	}
	if (a && b)
		return true;
	if (end_x != x && end_y != y && !strcasecmp(end_x, end_y))
		return fabs(n - m) <= 0.1 * fabs(n);
	return !strcasecmp(x, y);
}

static void s15_port(struct rs_gather *g, const struct rs_hop_view *v)
{
	const char *sw = v->sw, *port = v->port;
	const struct rs_fact *f, *is;
	uint32_t at = rs_facts_seek(g->a->facts, sw, port);
	const struct rs_fact *mode = rs_facts_get(g->a->facts, sw, port, "pfc_mode");
	const struct rs_fact *oper = rs_facts_get(g->a->facts, sw, port, "pfc_oper");

	/* NX-OS: On is an order; Auto leaves it to DCBX, which a host may not speak */
	if (mode && oper && !strcmp(mode->value, "On") && !strcmp(oper->value, "Off"))
		rs_gather_fail(
			g, RS_MAJOR, sw, port, mode, oper,
			"PFC is set on and is not in force on %s: no class is lossless there", sw);

	while ((f = rs_facts_next(g->a->facts, &at, sw, "", "")) && !strcmp(f->subject, port)) {
		if (strncmp(f->name, "applied/", 8))
			continue;
		is = rs_look(g->a, sw, port, "operational/%s", f->name + 8);
		if (!is) {
			g->unknown++;
			continue;
		}
		if (in_force(f->value, is->value)) {
			rs_gather_pass(g, f, is);
			continue;
		}
		rs_gather_fail(g, RS_MAJOR, sw, port, f, is,
			       "%s is set to %s on %s, but %s is in force", f->name + 8, f->value,
			       sw, is->value);
		if (g->new_switch)
			rs_finding_fix(g->a, g->f, sw, true, "reload of switchd", NULL,
				       "sudo systemctl reload switchd.service; nv show qos roce  # "
				       "where a change is pending: nv config apply");
	}
}

/* What makes the saved configuration the running one, and the other way round. */
static void s15_fix(struct rs_audit *a, struct rs_finding *f, const char *sw)
{
	static const struct {
		const char *os, *keep, *back, *interrupts;
	} ways[] = {
		{"SONiC", "sudo config save -y", "sudo config reload -y",
		 "all ports, for a minute"},
		{"EOS", "copy running-config startup-config", "configure replace startup-config",
		 "what differs"},
		{"Junos", "commit", "rollback 0", NULL},
		{"Cumulus", "nv config save", "nv config apply startup", "what differs"},
	};

	for (unsigned i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		if (strcmp(ways[i].os, rs_hop_os(a, sw)))
			continue;
		rs_finding_fix(a, f, sw, true, NULL, NULL, "%s  # what runs is meant",
			       ways[i].keep);
		rs_finding_choice(f);
		rs_finding_fix(a, f, sw, true, ways[i].interrupts, NULL,
			       "%s  # what is saved is meant", ways[i].back);
	}
}

/* Is this of a switch's configuration, rather than a counter or a neighbour? */
static bool is_setting(const char *name)
{
	static const char *const settings[] = {
		"dscp_to_tc/", "tc_to_pg/", "tc_to_queue/", "pfc/",       "queue/",   "pg/",
		"trust",       "mtu",       "fec",          "speed_mbps", "watchdog", "cable_m"};

	for (unsigned i = 0; i < sizeof(settings) / sizeof(*settings); i++)
		if (!strncmp(name, settings[i], strlen(settings[i])))
			return !strstr(name, "/dropped") && !strstr(name, "/status") &&
			       !strstr(name, "/detected") && !strstr(name, "/restored");
	return false;
}

/* What a switch has where nothing is said of it. */
static bool is_default(const char *value)
{
	static const char *const off[] = {"0", "off", "false", "no", "none", "disable", "disabled"};

	for (unsigned i = 0; i < sizeof(off) / sizeof(*off); i++)
		if (!strcasecmp(value, off[i]))
			return true;
	return false;
}

enum { GROUP = 512, FILES = 8 };

/* Settings of one kind ("pfc/") of one port, by all files that have some. */
struct group {
	const struct rs_fact *f[GROUP];
	unsigned n, n_files;
	const char *file[FILES];
};

static void s15_differs(struct rs_gather *g, const struct rs_fact *one, const struct rs_fact *two,
			const char *lacks)
{
	const char *sw = one->host;

	if (two)
		rs_gather_fail(g, RS_MAJOR, sw, one->subject, one, two,
			       "%s is %s in one configuration of %s and %s in another: what runs "
			       "is not what is saved",
			       one->name, one->value, sw, two->value);
	else
		rs_gather_fail(g, RS_MAJOR, sw, one->subject, one, NULL,
			       "%s is %s in one configuration of %s and not set in another (%s): "
			       "what runs is not what is saved",
			       one->name, one->value, sw, lacks);
	if (g->new_switch)
		s15_fix(g->a, g->f, sw);
}

static const struct rs_fact *in_file(const struct group *s, const char *name, const char *file)
{
	for (unsigned i = 0; i < s->n; i++)
		if (!strcmp(s->f[i]->name, name) && !strcmp(s->f[i]->file, file))
			return s->f[i];
	return NULL;
}

static void s15_group(struct rs_gather *g, const struct group *s)
{
	if (s->n_files < 2)
		return;
	for (unsigned i = 0; i < s->n; i++) {
		const struct rs_fact *f = s->f[i];

		for (unsigned k = 0; k < s->n_files; k++) {
			const struct rs_fact *other = in_file(s, f->name, s->file[k]);

			if (!strcmp(s->file[k], f->file))
				continue;
			if (other ? !in_force(f->value, other->value) : !is_default(f->value)) {
				/* a pair is told once */
				if (!other || strcmp(f->file, other->file) < 0)
					s15_differs(g, f, other, s->file[k]);
			} else {
				rs_gather_pass(g, f, other);
			}
		}
	}
}

/* "pfc/3" and "pfc/4" are of one kind, "mtu" is one of its own. */
static bool same_kind(const struct rs_fact *x, const struct rs_fact *y)
{
	size_t n = strcspn(x->name, "/");

	return !strcmp(x->subject, y->subject) && n == strcspn(y->name, "/") &&
	       !strncmp(x->name, y->name, n);
}

static void group_add(struct group *s, const struct rs_fact *f)
{
	unsigned k = 0;

	while (k < s->n_files && strcmp(s->file[k], f->file))
		k++;
	if (k == s->n_files && k < FILES)
		s->file[s->n_files++] = f->file;
	if (k < FILES && s->n < GROUP)
		s->f[s->n++] = f;
}

/* Two files of one switch that are whole configurations: the one saved and the one running. What
 * they say differently is lost at the next boot, or not in force yet. */
static void s15_files(struct rs_gather *g, const char *sw)
{
	struct group s = {.n = 0};
	const struct rs_fact *f;
	uint32_t at = 0;

	while ((f = rs_facts_next(g->a->facts, &at, sw, "port/", ""))) {
		if (s.n && !same_kind(s.f[0], f)) {
			s15_group(g, &s);
			s.n = s.n_files = 0;
		}
		if (is_setting(f->name))
			group_add(&s, f);
	}
	s15_group(g, &s);
}

/* What the switch itself lists as different from its RoCE profile (NVUE's Exception List). */
static void s15_exceptions(struct rs_gather *g, const char *sw)
{
	const struct rs_fact *f;
	uint32_t at = 0;

	while ((f = rs_facts_next(g->a->facts, &at, sw, "host", "roce_exception/")))
		rs_gather_fail(g, RS_MAJOR, sw, "port/*", f, NULL,
			       "%s says of its RoCE profile: %s", sw, f->value);
}

void switch_s15(struct rs_audit *a, const struct rs_rule *r)
{
	struct rs_gather g = switch_gather(a, r), files = switch_gather(a, r);

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		if (switch_at(a, i))
			s15_files(&files, switch_at(a, i));
	if (files.f || files.passed)
		rs_gather_end(&files,
			      "at the next boot the switch comes up with what is saved: a change "
			      "that was never saved is lost, one that was saved and never loaded "
			      "comes unasked",
			      "settings that are alike in the saved and the running configuration",
			      "", "", "");
	switch_each_port(&g, s15_port);
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		if (switch_at(a, i))
			s15_exceptions(&g, switch_at(a, i));
	rs_gather_end(&g, "what was set does nothing until it is in force",
		      "settings that are in force", "whether what is set is in force is not known",
		      "nv show interface <port> qos roce status (operational beside applied)",
		      "the operational values");
}
