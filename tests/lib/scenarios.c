/* Runs scenarios made by calls and prints each number of their results, to the last bit: what a
 * build for another machine, or without some libraries, must print, too. */
#include <inttypes.h>
#include <ripstop/nic.h>
#include <ripstop/sim.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GBPS INT64_C(1000000000)
enum { MOST = 4096 };

static void check(int err, struct ripstop_error **e)
{
	if (!err)
		return;
	printf("error %d: %s\n", err, ripstop_error_text(*e));
	exit(1);
}

static uint64_t state;

static uint32_t draw(uint32_t n)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((state >> 33) % n);
}

static void show_run(const struct ripstop_result *r, uint32_t run)
{
	static struct ripstop_flow_time flow[MOST];
	struct ripstop_counters c = RIPSTOP_INIT(struct ripstop_counters);
	struct ripstop_job job[16];
	size_t n = ripstop_result_jobs(r, run, 0, 16, job, sizeof(job[0]));

	for (size_t i = 0; i < n; i++)
		printf("job %s %s %u %" PRId64 " %" PRId64 " %a %a\n", job[i].name, job[i].kind,
		       job[i].end, job[i].finish, job[i].time, job[i].algbw, job[i].efficiency);
	n = ripstop_result_flows(r, run, 0, MOST, flow, sizeof(flow[0]));
	for (size_t i = 0; i < n && i < MOST; i++)
		printf("flow %u %u %" PRId64 " %" PRId64 "\n", flow[i].src, flow[i].dst,
		       flow[i].start, flow[i].finish);
	if (ripstop_result_counters(r, run, &c))
		return;
	for (const uint64_t *v = &c.data_packets; v <= (const uint64_t *)&c.paused; v++)
		printf("%" PRIu64 " ", *v);
	printf("\n");
}

static void show(const struct ripstop_fabric *f, uint64_t seed, uint32_t diagnose)
{
	struct ripstop_sim_options o = RIPSTOP_INIT(struct ripstop_sim_options);
	struct ripstop_run run[64];
	struct ripstop_cause cause[16];
	struct ripstop_result *r;
	struct ripstop_error *e;
	char *json;
	size_t n;

	o.seed = seed;
	o.diagnose = diagnose;
	o.seeds = 2 * diagnose;
	check(ripstop_simulate(f, &o, &r, &e), &e);
	n = ripstop_result_runs(r, 0, 64, run, sizeof(run[0]));
	for (size_t i = 0; i < n; i++) {
		printf("run %s %s %" PRId64 " %a %a %d\n", run[i].name, run[i].kind, run[i].time,
		       run[i].gain, run[i].low, run[i].clear);
		show_run(r, (uint32_t)i);
	}
	n = ripstop_result_causes(r, 0, 16, cause, sizeof(cause[0]));
	for (size_t i = 0; i < n; i++)
		printf("cause %s | %s | %s | %a\n", cause[i].id, cause[i].what, cause[i].place,
		       cause[i].share);
	check(ripstop_result_json(r, &json, &e), &e); /* it tells times and memory, too */
	printf("%.40s\n", json);
	ripstop_free(json);
	ripstop_result_free(r);
}

/* A network and flows that the seed draws, and a collective beside them. */
static void random_scenario(uint64_t seed)
{
	static const char *const kinds[] = {"single-switch", "leaf-spine", "fat-tree"};
	static const char *const ccs[] = {"dcqcn", "swift", "hpcc", "none"};
	static const char *const routings[] = {"ecmp", "spray", "adaptive", "flowlet",
					       "round-robin"};
	struct ripstop_network n = RIPSTOP_INIT(struct ripstop_network);
	struct ripstop_collective c = RIPSTOP_INIT(struct ripstop_collective);
	struct ripstop_flow flow[48];
	struct ripstop_fabric *f;
	struct ripstop_error *e;

	state = seed;
	check(ripstop_fabric_new(&f, &e), &e);
	n.kind = kinds[draw(3)];
	n.hosts = 16;
	n.leaves = n.kind == kinds[1] ? 4 : 0;
	n.spines = n.kind == kinds[1] ? 1 + draw(4) : 0;
	n.k = n.kind == kinds[2] ? 4 : 0;
	n.rate = (1 + draw(4)) * 100 * GBPS;
	n.delay = 100000 + 1000 * (int64_t)draw(2000);
	n.mtu = 1024u << draw(3);
	n.loss = draw(2) ? 0.0005 : 0;
	check(ripstop_fabric_network(f, &n, &e), &e);
	check(ripstop_fabric_set_cc(f, ccs[draw(4)], NULL, &e), &e);
	check(ripstop_fabric_set(f, "fabric.qos.routing", routings[draw(4)], &e), &e);
	check(ripstop_fabric_set_class(f, 3, "kmin", draw(2) ? "30kB" : "200kB", &e), &e);
	for (unsigned i = 0; i < 48; i++) {
		uint32_t src = draw(16);

		flow[i] = (struct ripstop_flow){.start = 1000 * (int64_t)draw(200000),
						.bytes = 1 + draw(300000),
						.src = src,
						.dst = (src + 1 + draw(15)) % 16,
						.traffic_class = draw(4) ? -1 : 2};
	}
	check(ripstop_fabric_add_flows(f, "mix", flow, 48, sizeof(flow[0]), &e), &e);
	c.bytes = 1 + draw(1 << 21);
	c.qps = 1 + draw(4);
	check(ripstop_fabric_add_collective(f, &c, &e), &e);
	printf("== %" PRIu64 "\n", seed);
	show(f, seed, seed % 4 == 1);
	ripstop_fabric_free(f);
}

int main(void)
{
	for (uint64_t seed = 1; seed <= 12; seed++)
		random_scenario(seed);
	return 0;
}
