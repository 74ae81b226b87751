/* Generated networks over random parameters: each leaf has NICs, no switch has more ports than it
 * may, everything is connected, a leaf is no more oversubscribed than was asked; or a refusal that
 * says a range or what to do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/random.h"
#include "describe/describe.h"
#include "fabric/fabric.h"

enum { NETWORKS = 3000 };

/* What was asked for; 0: left out. */
struct wish {
	bool rail, apart;
	uint32_t hosts[3], nics[3], groups_of_hosts; /* kinds of hosts, one after another */
	uint32_t leaves, rails, per_leaf, spines, links, ports;
	double over;
	int64_t rate, uplink;
};

static uint32_t total(const struct wish *w)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->groups_of_hosts; i++)
		n += w->hosts[i];
	return n;
}

static struct wish a_wish(struct rs_random *r)
{
	static const int64_t rates[] = {100, 200, 400, 800};
	static const uint32_t nics[] = {1, 2, 3, 4, 7, 8};
	static const double over[] = {0, 1, 1, 2, 3.5, 0.5};
	struct wish w = {.rail = rs_random_below(r, 3) > 0,
			 .groups_of_hosts = 1 + rs_random_below(r, 4) / 3,
			 .over = over[rs_random_below(r, 6)],
			 .rate = rates[rs_random_below(r, 4)] * RS_GBPS,
			 .uplink = rates[rs_random_below(r, 4)] * RS_GBPS};

	for (uint32_t i = 0; i < 3; i++) {
		w.hosts[i] = 1 + rs_random_below(r, rs_random_below(r, 4) ? 24 : 300);
		w.nics[i] = nics[rs_random_below(r, 6)];
	}
	if (!w.rail || rs_random_below(r, 2))
		w.leaves = 1 + rs_random_below(r, rs_random_below(r, 2) ? 8 : 40);
	if (w.rail && rs_random_below(r, 2))
		w.rails = 1 + rs_random_below(r, 9);
	if (rs_random_below(r, 2))
		w.per_leaf = 1 + rs_random_below(r, 40);
	if (!w.rail || rs_random_below(r, 3) == 0)
		w.spines = 1 + rs_random_below(r, 12);
	w.apart = w.rail && !w.spines && rs_random_below(r, 6) == 0;
	if (rs_random_below(r, 6) == 0)
		w.links = 1 + rs_random_below(r, 4);
	if (rs_random_below(r, 3) == 0)
		w.ports = 1 + rs_random_below(r, 200);
	return w;
}

static void number(FILE *out, const char *key, uint32_t v)
{
	if (v)
		fprintf(out, ", %s: %u", key, v);
}

static char *text_of(const struct wish *w)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	fputs("fabric:\n  hosts:\n", out);
	for (uint32_t i = 0; i < w->groups_of_hosts; i++) {
		fprintf(out, "    - {name: %c, count: %u, sockets: 1, nics: [", "abc"[i],
			w -> hosts[i]);
		for (uint32_t k = 0; k < w->nics[i]; k++)
			fprintf(out, "%s{name: nic%u, on: socket0, pcie: gen5x16}", k ? ", " : "",
				k);
		fputs("]}\n", out);
	}
	fprintf(out, "  network: {kind: %s, rate: %lldG, uplink_rate: %lldG",
		w->rail ? "rail" : "leaf-spine", (long long)(w->rate / RS_GBPS),
		(long long)(w->uplink / RS_GBPS));
	number(out, "leaves", w->leaves);
	number(out, "rails", w->rails);
	number(out, w->rail ? "hosts_per_group" : "hosts_per_leaf", w->per_leaf);
	number(out, "spines", w->spines);
	number(out, "links", w->links);
	number(out, "ports", w->ports);
	if (w->over > 0)
		fprintf(out, ", oversubscription: %g", w->over);
	if (w->apart)
		fputs(", spines: 0", out);
	fputs("}\n", out);
	fclose(out);
	return text;
}

static void leaves_have_nics(const struct rs_fabric *f, const struct wish *w, const char *text)
{
	uint32_t *nics = calloc(f->n_switches, sizeof(*nics));

	for (uint32_t i = 0; i < f->n_endpoints; i++)
		nics[f->endpoints[i].node]++;
	for (uint32_t s = 0; s < f->n_switches; s++)
		if (f->switches[s].tier == 0 && !nics[s] && (w->rail || !w->per_leaf))
			fail_msg("%s is empty:\n%s", f->switches[s].name, text);
	free(nics);
}

static void switches_have_no_more_ports(const struct rs_fabric *f, const struct wish *w,
					const char *text)
{
	for (uint32_t s = 0; s < f->n_switches; s++)
		if (f->switches[s].n_ports > f->net.ports || f->net.ports > 1024 ||
		    (w->ports && f->net.ports != w->ports) ||
		    (w->rail && !w->ports && f->net.ports > 256))
			fail_msg("%s has %u ports:\n%s", f->switches[s].name,
				 f->switches[s].n_ports, text);
}

static void all_are_connected(const struct rs_fabric *f, const char *text)
{
	const struct rs_routes *r = &f->routes;

	for (uint32_t s = 0; s < f->n_switches; s++)
		for (uint32_t g = 0; g < r->n_groups; g++)
			if (r->group_of_switch[s] != g && !(r->set_of[s][g] & 0xff))
				fail_msg("%s has no route to group %u:\n%s", f->switches[s].name, g,
					 text);
}

/* And one link less of a pair would be too few. */
static void as_oversubscribed_as_asked(const struct rs_fabric *f, const struct wish *w,
				       const char *text)
{
	double asked = w->over > 0 ? w->over : 1;
	struct rs_network_facts x;

	rs_fabric_facts(f, &x);
	if (x.oversubscription > asked * 1.00001)
		fail_msg("oversubscribed %g:\n%s", x.oversubscription, text);
	if (f->net.links > 1 &&
	    x.oversubscription * f->net.links / (f->net.links - 1) <= asked * 0.99999)
		fail_msg("%u links, more than are needed:\n%s", f->net.links, text);
}

/* NIC i of the hosts of a group is on one leaf, which no other group's NIC is on. */
static void rails_are_rails(const struct rs_fabric *f, const struct wish *w, const char *text)
{
	uint32_t groups = f->net.leaves / f->net.rails, *first = calloc(groups + 1, sizeof(*first));
	uint32_t last = 0, size = 0;

	for (uint32_t h = 0; h < f->n_hosts; h++) {
		const struct rs_fabric_host *host = &f->hosts[h];
		uint32_t g = f->endpoints[host->first_endpoint].node / f->net.rails;

		if (g != last && g != last + 1)
			fail_msg("groups are not in order:\n%s", text);
		size = g == last ? size + 1 : 1;
		last = g;
		if (w->per_leaf && size > w->per_leaf)
			fail_msg("a group of %u hosts:\n%s", size, text);
		for (uint32_t i = 0; i < host->n_endpoints; i++)
			if (f->endpoints[host->first_endpoint + i].node !=
			    g * f->net.rails + i % f->net.rails)
				fail_msg("%s NIC %u is on the wrong leaf:\n%s", host->name, i,
					 text);
	}
	assert_int_equal(last + 1, groups);
	free(first);
}

/* A wish that leaves nothing to refuse. */
static bool must_be_had(const struct wish *w)
{
	uint32_t hosts = total(w), nics = w->nics[0];

	if (!w->rail || w->leaves || w->links || w->spines || w->groups_of_hosts > 1 ||
	    w->rails > nics || hosts > 300)
		return false;
	/* small enough for any default: a host's NICs on a leaf, as many uplinks, groups of all */
	return !w->ports && !w->per_leaf && (w->over <= 0 || w->over >= 1) && nics * 4 <= 64 &&
	       w->uplink >= w->rate && hosts * nics <= 512;
}

static bool explains_itself(const struct rs_error *e)
{
	static const char *const words[] = {"expected",   "network.ports", "hosts_per_group",
					    "do not fit", "fewer rails",   NULL};

	for (unsigned i = 0; words[i]; i++)
		if (strstr(e->what, words[i]))
			return e->line > 0;
	return false;
}

static void test_a_random_network_is_sane_or_refused_with_what_to_do(void **state)
{
	uint32_t had = 0, rails = 0, groups = 0;

	for (uint64_t seed = 0; seed < NETWORKS; seed++) {
		struct rs_random r = rs_random_stream(seed, 1, 0);
		struct wish w = a_wish(&r);
		char *text = text_of(&w);
		struct rs_fabric *f = NULL;
		struct rs_error e = {0};

		if (rs_fabric_load_text(text, strlen(text), "n", ".", NULL, 0, &f, &e)) {
			if (!explains_itself(&e) || must_be_had(&w))
				fail_msg("refused: %s\n%s", e.what, text);
			free(text);
			continue;
		}
		had++;
		rails += w.rail;
		groups += w.rail && f->net.leaves > f->net.rails;
		leaves_have_nics(f, &w, text);
		switches_have_no_more_ports(f, &w, text);
		if (f->net.spines)
			all_are_connected(f, text);
		if (f->net.spines && !w.links)
			as_oversubscribed_as_asked(f, &w, text);
		if (w.rail)
			rails_are_rails(f, &w, text);
		rs_fabric_free(f);
		free(text);
	}
	print_message("%u of %u were had, %u of rails, %u of more groups than one\n", had, NETWORKS,
		      rails, groups);
	assert_true(had > NETWORKS / 4 && rails > NETWORKS / 8 && groups > NETWORKS / 50);
}

static struct rs_fabric *load(const char *network)
{
	char text[400];
	struct rs_error e = {0};
	struct rs_fabric *f = NULL;

	snprintf(text, sizeof(text), "fabric: {network: {%s}}", network);
	if (rs_fabric_load_text(text, strlen(text), "n", ".", NULL, 0, &f, &e))
		fail_msg("%s: %s", network, e.what);
	return f;
}

static void refused(const char *network, const char *words)
{
	char text[400];
	struct rs_error e = {0};
	struct rs_fabric *f = NULL;

	snprintf(text, sizeof(text), "fabric: {network: {%s}}", network);
	if (!rs_fabric_load_text(text, strlen(text), "n", ".", NULL, 0, &f, &e))
		fail_msg("%s: not refused", network);
	if (!strstr(e.what, words))
		fail_msg("%s: expected '%s', got: %s", network, words, e.what);
}

static void test_leaves_of_a_rail_network_are_of_groups(void **state)
{
	struct rs_fabric *f = load("kind: rail, hosts: 64, nics: 8, leaves: 16");

	assert_int_equal(f->net.rails, 8);
	assert_int_equal(f->endpoints[31 * 8 + 7].node, 7);
	assert_int_equal(f->endpoints[32 * 8].node, 8);
	assert_int_equal(f->net.hosts_per_leaf, 32);
	rs_fabric_free(f);
}

/* 128 ports at 400G: 64 hosts and 64 uplinks a leaf. */
static void test_as_many_groups_as_the_ports_of_a_leaf_ask_for(void **state)
{
	struct rs_fabric *f = load("kind: rail, hosts: 256, nics: 8");

	assert_int_equal(f->net.ports, 128);
	assert_int_equal(f->net.leaves, 32);
	assert_int_equal(f->switches[0].n_ports, 128);
	rs_fabric_free(f);
	f = load("kind: rail, hosts: 256, nics: 8, rate: 800G");
	assert_int_equal(f->net.leaves, 64);
	rs_fabric_free(f);
}

static void test_what_made_no_sense_is_refused_with_the_range(void **state)
{
	refused("kind: rail, hosts: 256, nics: 8, leaves: 8", "a switch has at most 128");
	refused("kind: rail, hosts: 256, leaves: 1", "a switch has at most 128");
	refused("kind: rail, hosts: 16, nics: 2, leaves: 5",
		"a host has at most 2 NICs, so that 3 leaves would stand empty; expected 1 to 2 "
		"leaves, or a multiple of 2");
	refused("kind: rail, hosts: 16, nics: 4, rails: 6", "expected 1 to 4 rails");
	refused("kind: rail, hosts: 3, nics: 2, rails: 2, leaves: 8", "expected 1 to 3 groups");
	refused("kind: rail, hosts: 16, nics: 4, hosts_per_group: 4, leaves: 8, rails: 4",
		"are 4 groups of 4 rails; expected 16 leaves, found 8");
	refused("kind: leaf-spine, hosts: 3, leaves: 8, spines: 2", "expected 1 to 3 leaves");
	refused("kind: leaf-spine, hosts: 64, leaves: 2, spines: 2, ports: 32",
		"a switch has at most 32 (network.ports, 1 to 1024)");
	refused("kind: single-switch, hosts: 64, ports: 32", "needs more than 32 ports");
}

/* 9 hosts on 8 leaves were 2, 2, 2, 2, 1 and three empty ones. */
static void test_hosts_are_dealt_evenly(void **state)
{
	struct rs_fabric *f = load("kind: leaf-spine, hosts: 9, leaves: 8, spines: 4");

	for (uint32_t s = 0, n = 0; s < 8; s++, n = 0) {
		for (uint32_t i = 0; i < 9; i++)
			n += f->endpoints[i].node == s;
		assert_in_range(n, 1, 2);
	}
	rs_fabric_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_random_network_is_sane_or_refused_with_what_to_do),
		cmocka_unit_test(test_leaves_of_a_rail_network_are_of_groups),
		cmocka_unit_test(test_as_many_groups_as_the_ports_of_a_leaf_ask_for),
		cmocka_unit_test(test_what_made_no_sense_is_refused_with_the_range),
		cmocka_unit_test(test_hosts_are_dealt_evenly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
