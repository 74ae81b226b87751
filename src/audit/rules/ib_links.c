/*
 * Links of an InfiniBand fabric as its tools name them: "link/SWITCH port 17" of ibqueryerrors,
 * "link/lid 2 port 25" of ibportstate.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/look.h"
#include "audit/rules/ib_links.h"

/* Counters whose rise is a bad link; waiting and discarding are congestion (IBTA vol. 1 16.1.3.5).
 */
static bool is_link_error(const char *counter)
{
	static const char *const bad[] = {
		"SymbolErrorCounter",          "LinkErrorRecoveryCounter",
		"LinkDownedCounter",           "PortRcvErrors",
		"LocalLinkIntegrityErrors",    "ExcessiveBufferOverrunErrors",
		"PortRcvRemotePhysicalErrors",
	};

	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (!strcmp(counter, bad[i]))
			return true;
	return false;
}

void rs_ib_links_errors(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	struct rs_finding *f = NULL;
	const char *last = NULL;
	const struct rs_fact *c;
	unsigned links = 0;
	uint32_t at = 0;

	while ((c = rs_facts_next(a->facts, &at, host, "link/", "counter/"))) {
		if (!c->numeric || c->number <= 0 || !is_link_error(c->name + 8))
			continue;
		if (!f) {
			f = rs_finding_new(a, r, RS_FAIL, RS_MAJOR, "links have errors");
			rs_finding_why(
				a, f,
				"the tool names links above its thresholds. A counter has no "
				"date: clear it (ibclearerrors), wait an hour, and look again. "
				"Links that lose symbols or go down again are a cable's, a "
				"module's or a port's");
			rs_finding_need(a, f, "ibqueryerrors again, an hour after ibclearerrors",
					"whether errors still come");
		}
		if (!last || strcmp(last, c->subject)) {
			links++;
			rs_finding_subject(a, f, host, c->subject + 5);
		}
		last = c->subject;
		rs_finding_fact(f, c);
	}
	if (!f)
		return;
	f->confidence = RS_MEDIUM;
	f->title = links > 1 ? rs_audit_text(a, "%u InfiniBand links have errors", links)
			     : rs_audit_text(a, "the link at %s has errors", last + 5);
}

/* A switch port that the switch itself took out of service. */
static void errdisabled(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const struct rs_fact *state;
	struct rs_finding *f;
	uint32_t at = 0;

	while ((state = rs_facts_next(a->facts, &at, host, "port/", "link_state"))) {
		const char *name = state->subject + strlen("port/");

		if (strncmp(state->value, "errdisabled", 11))
			continue;
		f = rs_finding_new(a, r, RS_FAIL, RS_MAJOR, "switch port %s is errdisabled", name);
		rs_finding_subject(a, f, host, name);
		rs_finding_fact(f, state);
		rs_finding_why(
			a, f,
			"the switch took it down after a fault (flaps, a loop, a module): what is "
			"behind it has no link until someone clears it");
		rs_finding_need(a, f, "show errdisable recovery; show logging",
				"why, and since when");
	}
}

/* Ports that someone put in service and that have no link: of a switch some wait for a host. */
static void without_link(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const char *subject;
	struct rs_finding *f = NULL;
	uint32_t at = 0;

	while ((subject = rs_facts_subject(a->facts, &at, host, "port/"))) {
		const struct rs_fact *oper = rs_facts_get(a->facts, host, subject, "operstate");
		const struct rs_fact *admin = rs_facts_get(a->facts, host, subject, "admin");

		if (!oper || !admin || strcasecmp(oper->value, "down") ||
		    strcasecmp(admin->value, "up"))
			continue;
		if (!f)
			f = rs_finding_new(a, r, RS_FAIL, RS_INFO,
					   "switch ports that are in service have no link");
		rs_finding_subject(a, f, host, subject + 5);
		rs_finding_fact(f, oper);
	}
	rs_finding_why(a, f,
		       "cable, module, FEC or speed of the two ends, or the host is down; a port "
		       "that waits for its host is so by right");
}

void rs_ib_links_state(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const struct rs_fact *state, *down[RS_FINDING_SUBJECTS];
	struct rs_finding *f;
	unsigned n = 0, up = 0;
	uint32_t at = 0;

	errdisabled(a, r, host);
	without_link(a, r, host);
	while ((state = rs_facts_next(a->facts, &at, host, "link/", "port_state")))
		if (!strcasecmp(state->value, "Active"))
			up++;
		else if (n < RS_FINDING_SUBJECTS)
			down[n++] = state;
	if (!n)
		return;
	/* one port that was asked for by name matters; of a list, most are unused */
	f = rs_finding_new(a, r, RS_FAIL, n == 1 && !up ? RS_MAJOR : RS_INFO,
			   n == 1 ? "an InfiniBand port is %s" : "InfiniBand ports are %s",
			   down[0]->value);
	for (unsigned i = 0; i < n; i++) {
		rs_finding_subject(a, f, host, down[i]->subject + 5);
		rs_finding_fact(f, down[i]);
		rs_finding_fact(f, rs_facts_get(a->facts, host, down[i]->subject, "phys_state"));
	}
	rs_finding_why(a, f,
		       "Disabled was set by someone, Polling finds no peer; Initialize waits for a "
		       "subnet manager");
}
