/* Random fabrics: whatever a person may write is read, routed, written out, read back the same and
 * written out the same, from a seed that a failure names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "base/random.h"
#include "describe/describe.h"
#include "fabric/fabric.h"

enum { FABRICS = 400 };

struct author {
	struct rs_random r;
	FILE *out;
	uint32_t nics; /* in all */
};

static uint32_t below(struct author *a, uint32_t n)
{
	return rs_random_below(&a->r, n);
}

static bool maybe(struct author *a)
{
	return below(a, 2);
}

static const char *one_of(struct author *a, const char *const *words)
{
	uint32_t n = 0;

	while (words[n])
		n++;
	return words[below(a, n)];
}

#define ONE_OF(a, ...) one_of(a, (const char *const[]){__VA_ARGS__, NULL})

static const char *a_rate(struct author *a)
{
	return ONE_OF(a, "10G", "25G", "100Gb/s", "0.4T", "1234567bps", "200Gbps", "2.5G");
}

static const char *a_time(struct author *a)
{
	return ONE_OF(a, "1ns", "500ns", "1us", "12345ps", "1.5us", "2µs");
}

static const char *a_size(struct author *a)
{
	return ONE_OF(a, "64kB", "150kB", "1MiB", "1234567B", "0.5GB", "99kB");
}

static const char *a_bool(struct author *a)
{
	return ONE_OF(a, "true", "false", "yes", "no", "on", "off");
}

static const char *a_link(struct author *a)
{
	return ONE_OF(a, "gen3x8", "gen5x16", "gen4x4", "{gen: 4, lanes: 8}",
		      "{gen: 5, mps: 512B, mrrs: 4096B}", "gen6x16");
}

/* A socket or a switch that has been written. */
static void place(struct author *a, uint32_t sockets, uint32_t switches)
{
	if (switches && maybe(a))
		fprintf(a->out, "sw%u", below(a, switches));
	else
		fprintf(a->out, "socket%u", below(a, sockets));
}

static void write_host(struct author *a, unsigned group)
{
	uint32_t sockets = 1 + below(a, 3), switches = below(a, 3), gpus = below(a, 4);
	uint32_t nics = 1 + below(a, 3), count = 1 + below(a, 4);

	fprintf(a->out, "    - name: \"%s%u-\"\n      count: %u\n      first: %u\n",
		ONE_OF(a, "h", "a b", "x:y", "#"), group, count, below(a, 100));
	if (maybe(a))
		fprintf(a->out, "      cpu: %s\n", ONE_OF(a, "skl", "icx", "spr", "rome", "genoa"));
	if (gpus && maybe(a))
		fprintf(a->out, "      nvlink: {gpus: all, rate: %s}\n", a_rate(a));
	fprintf(a->out, "      sockets: %u\n      switches:%s\n", sockets, switches ? "" : " []");
	for (uint32_t i = 0; i < switches; i++) {
		fprintf(a->out, "        - {name: sw%u, pcie: %s, on: ", i, a_link(a));
		place(a, sockets, i);
		fputs("}\n", a->out);
	}
	fprintf(a->out, "      gpus:%s\n", gpus ? "" : " []");
	for (uint32_t i = 0; i < gpus; i++) {
		fprintf(a->out, "        - {name: gpu%u, model: %s, on: ", i,
			ONE_OF(a, "H100", "A100", "'odd # one'"));
		place(a, sockets, switches);
		fputs("}\n", a->out);
	}
	fputs("      nics:\n", a->out);
	for (uint32_t i = 0; i < nics; i++) {
		fprintf(a->out, "        - {name: nic%u, pcie: %s, on: ", i, a_link(a));
		place(a, sockets, switches);
		if (maybe(a))
			fprintf(a->out, ", rate: %s", a_rate(a));
		if (below(a, 4) == 0)
			fprintf(a->out, ", on2: socket%u, pcie2: %s", below(a, sockets), a_link(a));
		fputs("}\n", a->out);
	}
	a->nics += count * nics;
}

static void write_hosts(struct author *a)
{
	uint32_t groups = 1 + below(a, 3);

	fputs("  hosts:\n", a->out);
	for (uint32_t i = 0; i < groups; i++)
		write_host(a, i);
	if (maybe(a))
		fprintf(a->out, "  pairing: %s\n", ONE_OF(a, "nearest", "index"));
}

static void common_network(struct author *a)
{
	fprintf(a->out, "rate: %s, delay: %s, mtu: %s", a_rate(a), a_time(a),
		ONE_OF(a, "256", "1024", "4096"));
	if (below(a, 4) == 0)
		fprintf(a->out, ", loss: %s", ONE_OF(a, "0.001", "1e-6", "0.25"));
}

static void explicit_network(struct author *a)
{
	uint32_t hosts = 1 + below(a, 6), switches = 1 + below(a, 4);

	fprintf(a->out, "  network:\n    kind: explicit\n    rate: %s\n    hosts: [", a_rate(a));
	for (uint32_t i = 0; i < hosts; i++)
		fprintf(a->out, "%shost%u", i ? ", " : "", i);
	fputs("]\n    switches: [", a->out);
	for (uint32_t i = 0; i < switches; i++)
		fprintf(a->out, "%s{name: s%u, tier: %u}", i ? ", " : "", i, i & 1);
	fputs("]\n    links:\n", a->out);
	for (uint32_t i = 0; i < hosts; i++)
		fprintf(a->out, "      - {a: host%u, b: s%u, rate: %s}\n", i, below(a, switches),
			a_rate(a));
	for (uint32_t i = 1; i < switches; i++)
		for (uint32_t k = 1 + below(a, 2); k; k--)
			fprintf(a->out, "      - {a: s%u, b: s%u, delay: %s}\n", below(a, i), i,
				a_time(a));
	a->nics = hosts;
}

static void write_network(struct author *a, bool groups)
{
	static const char *const kinds[] = {"single-switch", "leaf-spine", "fat-tree", "rail"};
	uint32_t kind = below(a, 4), leaves = 1 + below(a, 5), hosts = 1 + below(a, 20);

	if (groups && kind == 2)
		kind = 0; /* how many fit is the other generators' test */
	fprintf(a->out, "  network: {kind: %s, ", kinds[kind]);
	common_network(a);
	if (kind == 1 && groups)
		fprintf(a->out, ", leaves: %u, hosts_per_leaf: 40", leaves);
	else if (kind == 1)
		fprintf(a->out, ", leaves: %u", leaves < hosts ? leaves : hosts);
	if (kind == 3 && maybe(a))
		fprintf(a->out, ", rails: 1");
	if (kind == 1)
		fprintf(a->out, ", spines: %u, oversubscription: %s", 1 + below(a, 4),
			ONE_OF(a, "1", "2", "3.5"));
	if (kind && maybe(a))
		fprintf(a->out, ", uplink_rate: %s, uplink_delay: %s",
			ONE_OF(a, "100G", "0.4T", "123456789kbps"), a_time(a));
	if (kind == 2)
		fprintf(a->out, ", k: %s", ONE_OF(a, "2", "4", "6"));
	else if (!groups)
		fprintf(a->out, ", hosts: %u, nics: %u", hosts, 1 + below(a, 3));
	fputs("}\n", a->out);
	if (!groups)
		a->nics = kind == 2 ? 2 : hosts;
}

static void write_qos(struct author *a)
{
	fprintf(a->out, "  qos:\n    buffer: %s\n    pfc: %s\n    ecn: %s\n    routing: %s\n",
		a_size(a), a_bool(a), a_bool(a), ONE_OF(a, "ecmp", "spray", "adaptive"));
	fprintf(a->out, "    cut-through: %s\n    switch_latency: %s\n", a_bool(a), a_time(a));
	fprintf(a->out,
		"    classes: [{class: %u, lossless: %s, ecn: %s, kmin: 10kB, kmax: %s, pmax: "
		"%s}]\n",
		below(a, 8), a_bool(a), a_bool(a), a_size(a), ONE_OF(a, "0", "0.01", "1"));
}

static void write_rest(struct author *a)
{
	if (maybe(a))
		write_qos(a);
	if (maybe(a))
		fprintf(a->out, "  cc: {kind: %s}\n", ONE_OF(a, "none", "dcqcn"));
	if (maybe(a))
		fprintf(a->out, "  transport: {ipv6: %s, timeout: %u, ack_every: %u}\n", a_bool(a),
			below(a, 32), 1 + below(a, 100));
	if (maybe(a))
		fprintf(a->out, "  host_model: {phy_latency: %s, tags: %u}\n", a_time(a),
			1 + below(a, 1000));
	if (a->nics >= 2 && maybe(a))
		fprintf(a->out, "workload:\n  - flows: [{src: 0, dst: 1, bytes: %s, start: %s}]\n",
			a_size(a), a_time(a));
	if (maybe(a))
		fprintf(a->out,
			"what-if:\n  - name: %s\n    set: {fabric.qos.pfc: %s, 'fabric.cc': {kind: "
			"none}}\n",
			ONE_OF(a, "a", "\"b: c\"", "'#'"), a_bool(a));
}

static char *written_by_a_person(uint64_t seed)
{
	struct author a = {.r = rs_random_stream(seed, 0, 0)};
	char *text = NULL;
	size_t n;

	a.out = open_memstream(&text, &n);
	if (maybe(&a))
		fprintf(a.out, "title: %s\n",
			ONE_OF(&a, "plain", "\"quo\\\"ted\\n\"", "'it''s'", "µ"));
	fputs("fabric:\n", a.out);
	if (below(&a, 4) == 0) {
		explicit_network(&a);
	} else {
		bool groups = maybe(&a);

		if (groups)
			write_hosts(&a);
		write_network(&a, groups);
	}
	write_rest(&a);
	fclose(a.out);
	return text;
}

static struct rs_fabric *load(const char *text, uint64_t seed)
{
	struct rs_error e = {0};
	struct rs_fabric *f = NULL;

	if (rs_fabric_load_text(text, strlen(text), "p", ".", NULL, 0, &f, &e))
		fail_msg("seed %llu: %d:%d: %s in\n%s", (unsigned long long)seed, e.line, e.column,
			 e.what, text);
	return f;
}

static char *written(const struct rs_fabric *f)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	assert_int_equal(rs_fabric_write(f, out), 0);
	fclose(out);
	return text;
}

/* Each link's ends agree, each endpoint knows its link, ports are used once. */
static void check_graph(const struct rs_fabric *f, uint64_t seed)
{
	uint8_t *used = calloc(f->n_switches, 1024);

	for (uint32_t i = 0; i < f->n_links; i++)
		for (unsigned k = 0; k < 2; k++) {
			const struct rs_link_end *x = k ? &f->links[i].b : &f->links[i].a;

			if (!x->is_switch)
				continue;
			assert_true(x->id < f->n_switches && x->port < f->switches[x->id].n_ports);
			assert_int_equal(used[x->id * 1024 + x->port]++, 0);
		}
	for (uint32_t i = 0; i < f->n_endpoints; i++) {
		const struct rs_fabric_link *l = &f->links[f->endpoints[i].link];

		if (l->a.is_switch || l->a.id != i || l->b.id != f->endpoints[i].node)
			fail_msg("seed %llu: endpoint %u", (unsigned long long)seed, i);
	}
	free(used);
}

static void test_a_random_fabric_converts_to_itself(void **state)
{
	for (uint64_t seed = 0; seed < FABRICS; seed++) {
		char *text = written_by_a_person(seed), *once, *twice;
		struct rs_fabric *f = load(text, seed), *g;

		check_graph(f, seed);
		once = written(f);
		g = load(once, seed);
		twice = written(g);
		if (strcmp(once, twice))
			fail_msg("seed %llu:\n%s\nbecame\n%s\nand then\n%s",
				 (unsigned long long)seed, text, once, twice);
		assert_int_equal(f->n_endpoints, g->n_endpoints);
		assert_int_equal(f->n_links, g->n_links);
		assert_int_equal(f->n_gpus, g->n_gpus);
		rs_fabric_free(f);
		rs_fabric_free(g);
		free(text);
		free(once);
		free(twice);
	}
}

/* Names up to their limit; what YAML would break a line at, or hide. */
static void test_long_and_odd_names_convert_to_themselves(void **state)
{
	char name[991], *text, *once, *twice;
	struct rs_fabric *f, *g;

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_true(
		asprintf(&text,
			 "title: \"\\u0085 \\u2028 \\x7f '\"\n"
			 "fabric: {hosts: [{name: %s, count: 12, sockets: 1, nics: [{name: a}]}], "
			 "network: {kind: single-switch}}\n"
			 "workload: [{flows: [{src: %s11, dst: %s0/a, bytes: 1B}]}]\n",
			 name, name, name) > 0);
	f = load(text, 0);
	once = written(f);
	g = load(once, 0);
	twice = written(g);
	assert_string_equal(once, twice);
	assert_string_equal(f->hosts[11].name, g->hosts[11].name);
	assert_string_equal(f->title, g->title);
	rs_fabric_free(f);
	rs_fabric_free(g);
	free(text);
	free(once);
	free(twice);
}

/* Cut anywhere, a description is refused with a place, or is still one. */
static void test_every_prefix_is_refused_with_a_place_or_read(void **state)
{
	for (uint64_t seed = 0; seed < 6; seed++) {
		char *text = written_by_a_person(seed);

		for (size_t n = 0; n < strlen(text); n++) {
			struct rs_error e = {0};
			struct rs_fabric *f = NULL;

			if (rs_fabric_load_text(text, n, "p", ".", NULL, 0, &f, &e))
				assert_true(!f && e.line > 0 && e.column > 0 && e.what[0]);
			rs_fabric_free(f);
		}
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_random_fabric_converts_to_itself),
		cmocka_unit_test(test_long_and_odd_names_convert_to_themselves),
		cmocka_unit_test(test_every_prefix_is_refused_with_a_place_or_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
