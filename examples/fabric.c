/*
 * A fabric made by calls: 16 hosts at 100 Gb/s under 4 leaves and 2 spines. 8 hosts send to one at
 * once, while all run an all-reduce. Prints how long each took, what held them back, and what each
 * fix would give.
 *
 * cc fabric.c $(pkg-config --cflags --libs ripstop) && ./a.out
 */
#include <ripstop/sim.h>
#include <stdio.h>
#include <stdlib.h>

enum { SENDERS = 8, JOBS = 8, RUNS = 64, CAUSES = 16 };
#define GBPS INT64_C(1000000000)
#define US   1e6 /* picoseconds */

static void check(int err, struct ripstop_error **e)
{
	if (!err)
		return;
	fprintf(stderr, "fabric: %s\n", ripstop_error_text(*e));
	exit(1);
}

static struct ripstop_fabric *draw(void)
{
	struct ripstop_network n = RIPSTOP_INIT(struct ripstop_network);
	struct ripstop_collective c = RIPSTOP_INIT(struct ripstop_collective);
	struct ripstop_flow flow[SENDERS] = {0};
	struct ripstop_fabric *f;
	struct ripstop_error *e;

	check(ripstop_fabric_new(&f, &e), &e);
	n.kind = "leaf-spine";
	n.hosts = 16;
	n.leaves = 4;
	n.spines = 2;
	n.rate = 100 * GBPS;
	n.uplink_rate = 200 * GBPS;
	check(ripstop_fabric_network(f, &n, &e), &e);
	check(ripstop_fabric_set_cc(f, "dcqcn", NULL, &e), &e);
	check(ripstop_fabric_set_class(f, 3, "kmin", "100kB", &e), &e);
	for (unsigned i = 0; i < SENDERS; i++)
		flow[i] = (struct ripstop_flow){
			.bytes = 1 << 20, .src = i, .dst = 15, .traffic_class = -1};
	check(ripstop_fabric_add_flows(f, "incast", flow, SENDERS, sizeof(flow[0]), &e), &e);
	c.name = "gradients";
	c.bytes = 4 << 20;
	check(ripstop_fabric_add_collective(f, &c, &e), &e);
	check(ripstop_fabric_add_what_if(f, "marks later", "fabric.qos.classes[0].kmin", "150kB",
					 &e),
	      &e);
	return f;
}

static void show_jobs(const struct ripstop_result *r)
{
	struct ripstop_job job[JOBS];
	size_t n = ripstop_result_jobs(r, 0, 0, JOBS, job, sizeof(job[0]));

	for (size_t i = 0; i < n && i < JOBS; i++)
		printf("%-10s %-10s %8.1f us\n", job[i].name, job[i].kind,
		       (double)job[i].time / US);
}

static void show_diagnosis(const struct ripstop_result *r)
{
	struct ripstop_cause cause[CAUSES];
	struct ripstop_run run[RUNS];
	size_t n = ripstop_result_causes(r, 0, CAUSES, cause, sizeof(cause[0]));

	for (size_t i = 0; i < n && i < CAUSES; i++)
		printf("cause: %s (%.0f%%, run %u)\n", cause[i].what, 100 * cause[i].share,
		       cause[i].run);
	n = ripstop_result_runs(r, 0, RUNS, run, sizeof(run[0]));
	for (size_t i = 1; i < n && i < RUNS; i++)
		if (run[i].clear)
			printf("run: %-14s %s: saves %.1f%%\n", run[i].kind, run[i].name,
			       100 * run[i].gain);
}

int main(void)
{
	struct ripstop_sim_options o = RIPSTOP_INIT(struct ripstop_sim_options);
	struct ripstop_counters c = RIPSTOP_INIT(struct ripstop_counters);
	struct ripstop_fabric *f = draw();
	struct ripstop_result *r;
	struct ripstop_error *e;

	o.seed = 1;
	o.diagnose = 1;
	check(ripstop_simulate(f, &o, &r, &e), &e);
	show_jobs(r);
	ripstop_result_counters(r, 0, &c);
	printf("%llu data packets, %llu marked, %llu PAUSE frames\n",
	       (unsigned long long)c.data_packets, (unsigned long long)c.data_marked,
	       (unsigned long long)(c.pauses + c.nic_pauses));
	show_diagnosis(r);
	ripstop_result_free(r);
	ripstop_fabric_free(f);
	return 0;
}
