/*
 * The model beside machines: each row of tests/data/host-truth.csv is run, and must lie within the
 * row's tolerance. RS_VERBOSE=1 prints the rows and each group's error, which docs/host.md quotes.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim/sim.h"
#include "unit/describe/text.h"

#define NIC(more)        "nics: [{name: nic0, on: socket0, " more "}]"
#define NFP              NIC("pcie: {gen: 3, lanes: 8, mps: 256B, mrrs: 512B}, tags: 32")
#define GPU(n, on, pcie) "{name: gpu" #n ", on: " on ", pcie: " pcie "}"
#define TWO_SWITCHES(up)                                                               \
	"cpu: genoa, sockets: 1, switches: [{name: sw0, on: socket0, pcie: " up "}, "  \
	"{name: sw1, on: socket0, pcie: " up                                           \
	"}], gpus: [" GPU(0, "sw0", "gen5x16") ", " GPU(1, "sw0", "gen5x16") ", " GPU( \
		2, "sw1", "gen5x16") ", " GPU(3, "sw1", "gen5x16") "], " NIC("pcie: gen5x16")
#define TWO_SOCKETS(cpu, pcie)                                                \
	"cpu: " cpu ", sockets: 2, gpus: [" GPU(0, "socket0", pcie) ", " GPU( \
		1, "socket0", pcie) ", " GPU(2, "socket1", pcie) "], " NIC("pcie: gen5x16")
/* NVMe drives write as GPUs do. */
#define DRIVES(cpu, drive, gpu)                                                                \
	"cpu: " cpu                                                                            \
	", sockets: 1, gpus: [" GPU(0, "socket0", gpu) ", " GPU(1, "socket0", drive) ", " GPU( \
		2, "socket0", drive) ", " GPU(3, "socket0",                                    \
					      drive) ", " GPU(4, "socket0",                    \
							      drive) "], " NIC("pcie: gen5x16")

/* On the bus: streams as "from>to" (writes) and "from<to" (reads), or one read's latency. */
static const struct bus_run {
	const char *name, *host, *streams;
} bus_runs[] = {
	{"nfp-bdw-near", "cpu: bdw, sockets: 2, " NFP, "nic0?socket0"},
	{"nfp-bdw-far", "cpu: bdw, sockets: 2, " NFP, "nic0?socket1"},
	{"nfp-bdw-near-read", "cpu: bdw, sockets: 2, " NFP, "nic0<socket0"},
	{"nfp-bdw-far-read", "cpu: bdw, sockets: 2, " NFP, "nic0<socket1"},
	{"nfp-bdw-near-write", "cpu: bdw, sockets: 2, " NFP, "nic0>socket0"},
	{"nfp-bdw-both", "cpu: bdw, sockets: 2, " NFP, "nic0>socket0 nic0<socket0"},
	{"turin-near", TWO_SOCKETS("turin", "gen5x16"), "gpu0>gpu1"},
	{"turin-far", TWO_SOCKETS("turin", "gen5x16"), "gpu0>gpu2"},
	{"turin-near-both", TWO_SOCKETS("turin", "gen5x16"), "gpu0>gpu1 gpu1>gpu0"},
	{"turin-far-both", TWO_SOCKETS("turin", "gen5x16"), "gpu0>gpu2 gpu2>gpu0"},
	{"genoa-near", TWO_SOCKETS("genoa", "gen5x16"), "gpu0>gpu1"},
	{"genoa-far", TWO_SOCKETS("genoa", "gen5x16"), "gpu0>gpu2"},
	{"genoa-near-both", TWO_SOCKETS("genoa", "gen5x16"), "gpu0>gpu1 gpu1>gpu0"},
	{"genoa-far-both", TWO_SOCKETS("genoa", "gen5x16"), "gpu0>gpu2 gpu2>gpu0"},
	{"icx-far", TWO_SOCKETS("icx", "gen4x16"), "gpu0>gpu2"},
	{"switch-pix", TWO_SWITCHES("gen5x16"), "gpu0>gpu1"},
	{"switch-pix-both", TWO_SWITCHES("gen5x16"), "gpu0>gpu1 gpu1>gpu0"},
	{"switch-pix-two", TWO_SWITCHES("gen5x16"), "gpu0>gpu1 gpu1>gpu0"},
	{"switch-cross", TWO_SWITCHES("gen5x16"), "gpu0>gpu2"},
	{"switch-cross-two", TWO_SWITCHES("gen5x16"), "gpu0>gpu2 gpu1>gpu3"},
	{"switch-cross-gen2", TWO_SWITCHES("gen2x16"), "gpu0>gpu2"},
	{"spr-four-into-one", DRIVES("spr", "gen5x4", "gen5x16"),
	 "gpu1>gpu0 gpu2>gpu0 gpu3>gpu0 gpu4>gpu0"},
	{"bdw-three-into-one", DRIVES("bdw", "gen3x4", "gen3x16"), "gpu1>gpu0 gpu2>gpu0 gpu3>gpu0"},
};

#define CX5_GPU                                                                                    \
	"cpu: rome, sockets: 1, switches: [{name: sw0, on: socket0, pcie: gen3x16}], gpus: [" GPU( \
		0, "sw0", "gen3x16") "], nics: [{name: nic0, on: sw0, model: ConnectX-5}]"
#define CX(model) \
	"cpu: turin, sockets: 1, gpus: [" GPU(0, "socket0", "gen5x16") "], " NIC("model: " model)

/* Through the whole simulator: a message's latency, or a stream of messages of one size. */
static const struct sim_run {
	const char *name, *host, *network, *memory;
	unsigned qps; /* 0: one message's latency */
	int switch_ns;
} sim_runs[] = {
	{"bare-100g", "sockets: 1, " NIC("model: ConnectX-5"), "rate: 100G, delay: 10ns, mtu: 1024",
	 "host", 0, 500},
	{"thesis-100g", "sockets: 1, " NIC("model: ConnectX-5"),
	 "rate: 100G, delay: 5ns, mtu: 4096", "direct", 0, 0},
	{"cx5-gpu", CX5_GPU, "rate: 100G, delay: 10ns, mtu: 4096", "gpu", 0, 130},
	{"cx7-200g", CX("ConnectX-7"), "rate: 200G, delay: 10ns, mtu: 4096", "gpu", 1, 130},
	{"cx7-400g", CX("ConnectX-7"), "rate: 400G, delay: 10ns, mtu: 4096", "gpu", 1, 130},
	{"cx7-400g-2qp", CX("ConnectX-7"), "rate: 400G, delay: 10ns, mtu: 4096", "gpu", 2, 130},
	{"cx5-100g", CX("ConnectX-5"), "rate: 100G, delay: 10ns, mtu: 4096", "gpu", 1, 130},
	{"mtu1k-100g", CX("ConnectX-5"), "rate: 100G, delay: 10ns, mtu: 1024", "gpu", 1, 130},
};

/* ---- On the bus ---- */

struct stream {
	struct rs_path path;
	bool read;
	rs_time at;
	double bytes;
};

static unsigned parse_streams(const struct rs_host *h, const struct rs_bus *bus, const char *s,
			      struct stream *out, bool *latency)
{
	unsigned n = 0;
	char from[16], to[16], op;
	int used;

	*latency = false;
	for (; sscanf(s, "%15[a-z0-9]%c%15[a-z0-9] %n", from, &op, to, &used) == 3; s += used) {
		*latency |= op == '?';
		out[n] = (struct stream){.read = op != '>'};
		assert_int_equal(rs_bus_path(bus, rs_host_find(h, from), rs_host_find(h, to), false,
					     &out[n++].path),
				 0);
	}
	return n;
}

/* Bytes a second of all streams together, in the second half of 200 us. */
static double saturate(struct rs_bus *bus, struct stream *s, unsigned n, uint32_t size)
{
	const rs_time end = 200 * RS_US;
	double sum = 0;

	for (;;) {
		struct stream *k = s;

		for (unsigned i = 1; i < n; i++)
			if (s[i].at < k->at)
				k = &s[i];
		if (k->at >= end)
			break;
		if (k->read) {
			rs_bus_read(bus, &k->path, size, k->at, &k->at);
		} else {
			rs_bus_write(bus, &k->path, size, k->at, &k->at);
			k->at = rs_bus_write_ready(bus, &k->path, size, k->at);
		}
		if (k->at >= end / 2 && k->at < end)
			sum += size;
	}
	return sum / 100e-6;
}

static double bus_value(const struct bus_run *r, uint32_t size, const char *unit)
{
	struct stream s[8];
	struct rs_error e = {0};
	struct rs_bus *bus = NULL;
	char text[2048];
	bool latency;
	struct rs_fabric *f;
	unsigned n;
	double v;

	snprintf(text, sizeof(text),
		 "fabric: {hosts: [{name: h, count: 2, %s}], network: {kind: single-switch}}",
		 r->host);
	f = load(text);
	assert_int_equal(rs_bus_create(f->hosts[0].inside, &f->host_params, &bus, &e), 0);
	n = parse_streams(f->hosts[0].inside, bus, r->streams, s, &latency);
	if (latency)
		v = (double)rs_bus_read(bus, &s[0].path, size, 0, NULL) / 1000;
	else
		v = saturate(bus, s, n, size) / 1e9 * (strcmp(unit, "Gb/s") ? 1 : 8);
	rs_bus_destroy(bus);
	rs_fabric_free(f);
	return v;
}

/* ---- Through the simulator ---- */

static struct rs_sim_result *simulate(const char *text)
{
	struct rs_sim_options o = {.seed = 1};
	struct rs_sim_result *r = NULL;
	struct rs_error e = {0};
	struct rs_fabric *f = load(text);

	if (rs_sim_run(f, &o, &r, &e))
		fail_msg("%s", e.what);
	assert_true(r->complete);
	rs_fabric_free(f);
	return r;
}

static double sim_value(const struct sim_run *k, uint32_t size)
{
	bool direct = !strcmp(k->memory, "direct");
	uint64_t bytes = size < 65536 ? 2000ull * size : 64ull << 20;
	struct rs_sim_result *r;
	char text[2048];
	double v;

	if (bytes < 4 * (uint64_t)size)
		bytes = 4 * (uint64_t)size;
	snprintf(text, sizeof(text),
		 "fabric: {hosts: [{name: h, count: 2, %s}], network: {kind: single-switch, %s}, "
		 "qos: {switch_latency: %dns, cut_through: %s}, cc: {kind: none}}\n",
		 k->host, k->network, k->switch_ns, direct ? "true" : "false");
	if (k->qps)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "workload: [{collective: {op: broadcast, bytes: %lluB, chunk: %uB, "
			 "slots: %u, qps: %u}}]\n",
			 (unsigned long long)bytes, size, size < 65536 ? 64 : 8, k->qps);
	else
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "workload: [{memory: %s, flows: [{src: h0, dst: h1, bytes: %uB}]}]\n",
			 direct ? "host" : k->memory, size);
	r = simulate(text);
	if (k->qps)
		v = (double)bytes * 8 / ((double)r->jobs[0].first / 1000);
	else /* a flow begins at the doorbell */
		v = (double)r->flows[0].delivered / 1e6;
	rs_sim_result_free(r);
	return v;
}

/* ---- Rows ---- */

struct row {
	char group[32], run[32], unit[8], tolerance[16], source[128];
	uint32_t size;
	double value;
};

struct group {
	char name[32];
	unsigned n;
	double sum, worst;
};

static double value_of(const struct row *r)
{
	for (unsigned i = 0; i < sizeof(bus_runs) / sizeof(*bus_runs); i++)
		if (!strcmp(bus_runs[i].name, r->run))
			return bus_value(&bus_runs[i], r->size, r->unit);
	for (unsigned i = 0; i < sizeof(sim_runs) / sizeof(*sim_runs); i++)
		if (!strcmp(sim_runs[i].name, r->run))
			return sim_value(&sim_runs[i], r->size);
	fail_msg("no run is named %s", r->run);
	return 0;
}

static void count(struct group *g, const struct row *r, double apart)
{
	while (*g->name && strcmp(g->name, r->group))
		g++;
	snprintf(g->name, sizeof(g->name), "%s", r->group);
	g->n++;
	g->sum += fabs(apart);
	g->worst = fmax(g->worst, fabs(apart));
}

static bool within(const struct row *r, double got)
{
	double t = atof(r->tolerance);

	if (strstr(r->tolerance, "ns"))
		return fabs(got - r->value) <= t;
	return fabs(got / r->value - 1) * 100 <= t;
}

static void test_the_model_is_within_each_rows_tolerance(void **state)
{
	FILE *in = fopen(RS_SOURCE_DIR "/tests/data/host-truth.csv", "r");
	struct group groups[16] = {0};
	bool verbose = getenv("RS_VERBOSE") != NULL;
	unsigned rows = 0, out = 0;
	char line[512];

	assert_non_null(in);
	while (fgets(line, sizeof(line), in)) {
		struct row r;
		double got;

		if (*line == '#')
			continue;
		if (sscanf(line, "%31[^,],%31[^,],%u,%lf,%7[^,],%15[^,],%127[^\n]", r.group, r.run,
			   &r.size, &r.value, r.unit, r.tolerance, r.source) != 7)
			fail_msg("a row is not understood: %s", line);
		got = value_of(&r);
		count(groups, &r, got / r.value - 1);
		rows++;
		if (!within(&r, got))
			out++;
		if (verbose || !within(&r, got))
			printf("%s%-18s %-20s %8u: %8.4g measured, %8.4g here, %+5.1f%%\n",
			       within(&r, got) ? "" : "OUT ", r.group, r.run, r.size, r.value, got,
			       100 * (got / r.value - 1));
	}
	fclose(in);
	for (struct group *g = groups; verbose && *g->name; g++)
		printf("%-18s %2u rows: %.1f%% apart on average, %.1f%% at most\n", g->name, g->n,
		       100 * g->sum / g->n, 100 * g->worst);
	assert_int_equal(out, 0);
	assert_true(rows > 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_model_is_within_each_rows_tolerance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
