/* Where packets are lost and who pauses whom, by name and reason. */
#include "rdma/nic.h"
#include "unit/sim/load.h"

static uint64_t all_drops(const struct rs_sim_result *r)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < r->n_drops; i++) {
		n += r->drops[i].packets;
		assert_true(r->drops[i].packets > 0);
		assert_true(!i || r->drops[i - 1].packets >= r->drops[i].packets);
		assert_true(strlen(r->drops[i].place) > 0);
	}
	return n;
}

static void drops_add_up(const struct rs_sim_result *r)
{
	const struct rs_sim_counters *c = &r->counters;

	if (r->n_drops < RS_SIM_PLACES)
		assert_int_equal(all_drops(r), c->drops + c->nic_drops + c->link_losses);
}

static void pauses_add_up(const struct rs_sim_result *r)
{
	uint64_t frames = 0;
	rs_time time = 0;

	for (uint32_t i = 0; i < r->n_pauses; i++) {
		const struct rs_sim_pause *p = &r->pauses[i];

		frames += p->pauses;
		time += p->time;
		assert_true(!i || r->pauses[i - 1].time >= p->time);
		assert_true(!p->pauses || p->root[0]);
	}
	if (r->n_pauses == RS_SIM_PLACES)
		return;
	assert_int_equal(frames, r->counters.pauses + r->counters.nic_pauses);
	assert_int_equal(time, r->counters.paused);
}

static const struct rs_sim_pause *pause_of(const struct rs_sim_result *r, const char *held)
{
	for (uint32_t i = 0; i < r->n_pauses; i++)
		if (!strcmp(r->pauses[i].held, held))
			return &r->pauses[i];
	fail_msg("nobody held %s", held);
	return NULL;
}

/* PFC is off: the reproduction drops-not-pauses. */
static void test_drops_of_a_lossy_class_are_told_by_port(void **state)
{
	struct loaded l = load_run(
		"fabric: {network: {kind: single-switch, hosts: 9, rate: 400G}, cc: {kind: none},\n"
		"  qos: {pfc: false, ecn: false, buffer: 8MB}}\n"
		"workload: [{flows: [{src: 0, dst: 8, bytes: 4MB}, {src: 1, dst: 8, bytes: 4MB},\n"
		"  {src: 2, dst: 8, bytes: 4MB}, {src: 3, dst: 8, bytes: 4MB},\n"
		"  {src: 4, dst: 8, bytes: 4MB}, {src: 5, dst: 8, bytes: 4MB}]}]\n",
		(struct rs_sim_options){0});

	drops_add_up(l.r);
	assert_true(l.r->n_drops >= 4);
	for (uint32_t i = 0; i < l.r->n_drops; i++) {
		const struct rs_sim_drop *d = &l.r->drops[i];
		char place[64];

		snprintf(place, sizeof(place), "switch0 port %u, from h%u", d->port, d->port);
		assert_string_equal(d->place, place);
		assert_string_equal(d->to, "switch0 port 8, to h8");
		assert_int_equal(d->why, RS_DROP_LOSSY);
		assert_int_equal(d->node, 0);
		assert_int_equal(d->tc, 3);
		assert_int_equal(d->dscp, 26);
	}
	load_free(&l);
}

static struct loaded misconfigured(const char *tier)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "fabric: {network: {kind: leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 4,\n"
		 "  rate: 100G}, cc: {kind: none},\n"
		 "  qos: {ecn: false, buffer: 4MB, tiers: {%s: {dscp: {26: 0}}}}}\n"
		 "workload: [{flows: [{src: 0, dst: 7, bytes: 4MB}, {src: 1, dst: 7, bytes: 4MB},\n"
		 "  {src: 2, dst: 7, bytes: 4MB}, {src: 3, dst: 7, bytes: 4MB}]}]\n",
		 tier);
	return load_run(text, (struct rs_sim_options){0});
}

/* A tier puts the data's DSCP into a class without PFC: dscp-to-lossy. Leaves drop it themselves;
 * spines do not obey the PAUSEs of leaves, whose headroom is then too small. */
static void test_a_tier_that_maps_a_dscp_wrongly_is_named(void **state)
{
	for (unsigned spine = 0; spine < 2; spine++) {
		struct loaded l = misconfigured(spine ? "spine" : "leaf");
		const struct rs_sim_drop *d = l.r->drops;

		drops_add_up(l.r);
		assert_true(l.r->n_drops > 0);
		assert_memory_equal(d->place, "leaf1 port ", 11);
		assert_non_null(strstr(d->place, ", from spine"));
		assert_string_equal(d->to, "leaf1 port 3, to h7");
		assert_int_equal(d->why, spine ? RS_DROP_HEADROOM : RS_DROP_LOSSY);
		assert_int_equal(d->tc, spine ? 3 : 0);
		assert_int_equal(d->dscp, 26);
		load_free(&l);
	}
}

static void test_a_link_that_loses_is_named_with_its_direction(void **state)
{
	struct loaded l =
		load_run("fabric: {cc: {kind: none}, network: {kind: explicit, rate: 100G,\n"
			 "  hosts: [a, b], switches: [s, t], links: [{a: a, b: s},\n"
			 "  {a: s, b: t, loss: 0.01}, {a: t, b: b}]}}\n"
			 "workload: [{flows: [{src: a, dst: b, bytes: 8MB}]}]\n",
			 (struct rs_sim_options){0});
	bool there = false;

	drops_add_up(l.r);
	assert_true(l.r->counters.link_losses > 0);
	for (uint32_t i = 0; i < l.r->n_drops; i++) {
		const struct rs_sim_drop *d = &l.r->drops[i];

		assert_int_equal(d->why, RS_DROP_LINK);
		assert_int_equal(d->node, RS_SIM_NO_SWITCH);
		assert_int_equal(d->port, 1);
		if (!strcmp(d->place, "s port 1 -> t"))
			there = d->tc == 3 && d->dscp == 26;
		else
			assert_string_equal(d->place, "t port 0 -> s");
	}
	assert_true(there);
	load_free(&l);
}

/* A scenario with anything that drops or pauses; loss: links may lose packets, too. */
static void random_scenario(char *text, size_t size, bool loss)
{
	static const char *const routing[] = {"ecmp", "spray", "adaptive"};
	int n = snprintf(text, size,
			 "fabric: {network: {kind: leaf-spine, leaves: 2, spines: 2,\n"
			 "  hosts_per_leaf: 3, rate: 100G, loss: %s}, cc: {kind: %s},\n"
			 "  qos: {pfc: %s, buffer: %dkB, headroom_scale: %s, watchdog: %dus,\n"
			 "  routing: %s}, transport: {timeout: 8, retry: 7}}\nworkload: [{flows: [",
			 loss && rand() % 3 == 0 ? "0.001" : "0", rand() % 2 ? "none" : "dcqcn",
			 rand() % 2 ? "true" : "false", 800 + rand() % 1000,
			 rand() % 2 ? "1" : "0.3", rand() % 2 ? 0 : 20, routing[rand() % 3]);

	for (unsigned k = 0; k < 6; k++) {
		int src = rand() % 6, dst = rand() % 3 ? 5 : rand() % 6;

		n += snprintf(text + n, size - (size_t)n, "{src: %d, dst: %d, bytes: %dkB}, ", src,
			      dst == src ? (src + 1) % 6 : dst, 100 + rand() % 800);
	}
	snprintf(text + n, size - (size_t)n, "]}]\n");
}

/* Whatever is wrong with a fabric, the list and the counters say the same. */
static void test_lists_add_up_to_the_counters_on_random_fabrics(void **state)
{
	unsigned lossy = 0;

	srand(5);
	for (unsigned i = 0; i < 40; i++) {
		char text[4096];
		struct loaded l;

		random_scenario(text, sizeof(text), true);
		l = load_run(text, (struct rs_sim_options){.max_time = 200 * RS_MS});
		drops_add_up(l.r);
		pauses_add_up(l.r);
		lossy += l.r->n_drops > 0;
		load_free(&l);
	}
	assert_true(lossy > 10);
}

/* And with no_drops nothing is lost for want of room, nothing fails for it, and a run in which
 * nothing was dropped is the same run. */
static void test_without_drops_nothing_is_dropped_on_random_fabrics(void **state)
{
	unsigned lossy = 0;

	srand(6);
	for (unsigned i = 0; i < 40; i++) {
		char text[4096];
		struct loaded as_is, ideal;

		random_scenario(text, sizeof(text), false);
		as_is = load_run(text, (struct rs_sim_options){.max_time = 200 * RS_MS});
		ideal = load_run(text, (struct rs_sim_options){.ideal = {.no_drops = true}});
		assert_true(ideal.r->complete);
		assert_int_equal(ideal.r->n_drops, 0);
		assert_int_equal(ideal.r->counters.drops + ideal.r->counters.nic_drops, 0);
		if (as_is.r->counters.drops)
			lossy++;
		else
			assert_memory_equal(as_is.r->flows, ideal.r->flows,
					    as_is.r->n_flows * sizeof(*as_is.r->flows));
		load_free(&as_is);
		load_free(&ideal);
	}
	assert_true(lossy > 10);
}

/* nic-drops, without them: the receive buffer has no end, its PAUSEs are as they are. */
static void test_without_drops_nics_drop_nothing(void **state)
{
	struct loaded l = load_run(
		"fabric: {hosts: [{name: h, count: 2, cpu: icx, sockets: 1,\n"
		"  nics: [{name: nic0, on: socket0, pcie: gen4x16}]}],\n"
		"  change: [{host: h1, link: {nic0: {gen: 3, lanes: 4}}}], cc: {kind: none},\n"
		"  network: {kind: single-switch, rate: 400G, delay: 1us}}\n"
		"workload: [{flows: [{src: 0, dst: 1, bytes: 5MB}]}]\n",
		(struct rs_sim_options){.ideal = {.no_drops = true}});

	assert_true(l.r->complete);
	assert_int_equal(l.r->counters.nic_drops, 0);
	assert_true(l.r->counters.nic_pauses > 0);
	load_free(&l);
}

/* victim: four hosts overrun b0's port at l1; v, whose packets go elsewhere, is held by l0. */
static void test_a_victim_s_pauses_lead_to_the_overrun_port(void **state)
{
	struct loaded l = load_run(
		"fabric: {network: {kind: explicit, hosts: [a0, a1, a2, a3, v, b0, w],\n"
		"  switches: [l0, l1], links: [{a: a0, b: l0, rate: 100G}, {a: a1, b: l0, rate: "
		"100G},\n  {a: a2, b: l0, rate: 100G}, {a: a3, b: l0, rate: 100G},\n"
		"  {a: v, b: l0, rate: 100G}, {a: l0, b: l1, rate: 400G},\n"
		"  {a: b0, b: l1, rate: 100G}, {a: w, b: l1, rate: 100G}]},\n"
		"  qos: {buffer: 2MB, ecn: false}, cc: {kind: none}}\n"
		"workload: [{flows: [{src: a0, dst: b0, bytes: 8MB}, {src: a1, dst: b0, bytes: "
		"8MB},\n  {src: a2, dst: b0, bytes: 8MB}, {src: a3, dst: b0, bytes: 8MB}]},\n"
		"  {flows: [{src: v, dst: w, bytes: 8MB}]}]\n",
		(struct rs_sim_options){0});
	static const char *const held[] = {"a0", "a1", "a2", "a3", "v"};
	const struct rs_sim_pause *p = pause_of(l.r, "l0 port 5");

	pauses_add_up(l.r);
	assert_string_equal(p->by, "l1 port 0");
	assert_string_equal(p->for_, "l1 port 1, to b0");
	assert_string_equal(p->root, "l1 port 1, to b0");
	for (unsigned i = 0; i < 5; i++) {
		p = pause_of(l.r, held[i]);
		assert_string_equal(p->for_, "l0 port 5, to l1");
		assert_string_equal(p->root, "l1 port 1, to b0");
		assert_int_equal(p->tc, 3);
		assert_true(p->time > RS_MS && p->pauses > 50);
	}
	load_free(&l);
}

/* On Clos networks of two and three tiers, beside other flows: 0.9 of all time that ports are held
 * leads to the port of the host that many send to. */
static void test_the_head_of_an_incast_is_its_receiver_s_port(void **state)
{
	srand(7);
	for (unsigned i = 0; i < 12; i++) {
		char text[4096], host[16];
		unsigned dst = (unsigned)rand() % 16;
		rs_time all = 0, there = 0;
		struct loaded l;
		int n = snprintf(
			text, sizeof(text),
			"fabric: {network: {%s, rate: 100G}, cc: {kind: none},\n"
			"  qos: {ecn: false, buffer: %dMB}}\nworkload: [{flows: [",
			i % 2 ? "kind: fat-tree, k: 4"
			      : "kind: leaf-spine, leaves: 4, spines: 2, hosts_per_leaf: 4",
			2 + rand() % 6);

		for (unsigned k = 0; k < 13; k++) {
			unsigned src = (dst + 1 + (unsigned)rand() % 15) % 16;

			n += snprintf(text + n, sizeof(text) - (size_t)n,
				      "{src: %u, dst: %u, bytes: 2MB}, ", src,
				      k < 10 ? dst : (src + 1 + (unsigned)rand() % 15) % 16);
		}
		snprintf(text + n, sizeof(text) - (size_t)n, "]}]\n");
		snprintf(host, sizeof(host), ", to h%u", dst);
		l = load_run(text, (struct rs_sim_options){0});
		pauses_add_up(l.r);
		for (uint32_t p = 0; p < l.r->n_pauses; p++) {
			const char *root = l.r->pauses[p].root;
			size_t len = strlen(root), end = strlen(host);

			all += l.r->pauses[p].time;
			if (len > end && !strcmp(root + len - end, host))
				there += l.r->pauses[p].time;
		}
		assert_true(all > RS_MS);
		assert_true(there > all / 10 * 9);
		load_free(&l);
	}
}

/* A host whose PCIe is slower than its link: the tree's head is its memory, two switches away. */
static void test_a_slow_host_is_the_head_of_its_tree(void **state)
{
	struct loaded l = load_run(
		"fabric: {hosts: [{name: h, count: 3, cpu: icx, sockets: 1,\n"
		"  nics: [{name: nic0, on: socket0, pcie: gen4x16}]}],\n"
		"  change: [{host: h2, link: {nic0: {gen: 3, lanes: 4}}}], cc: {kind: none},\n"
		"  qos: {buffer: 4MB, ecn: false}, network: {kind: explicit, rate: 100G,\n"
		"  switches: [s, t], links: [{a: h0/nic0, b: s}, {a: h1/nic0, b: s},\n"
		"  {a: s, b: t}, {a: t, b: h2/nic0}]}}\n"
		"workload: [{flows: [{src: 0, dst: 2, bytes: 20MB}]}]\n",
		(struct rs_sim_options){0});
	const struct rs_sim_pause *p = pause_of(l.r, "t port 1");

	pauses_add_up(l.r);
	assert_string_equal(p->by, "h2/nic0");
	assert_string_equal(p->for_, "memory of h2");
	assert_string_equal(p->root, "memory of h2");
	p = pause_of(l.r, "h0/nic0");
	assert_string_equal(p->by, "s port 0");
	assert_string_equal(p->for_, "s port 2, to t");
	assert_string_equal(p->root, "memory of h2");
	load_free(&l);
}

/* Two queues above Kmax one behind the other: a packet marked in both is one marked packet. */
static void test_a_packet_marked_twice_counts_once(void **state)
{
	struct loaded l = load_run(
		"fabric: {cc: {kind: none}, network: {kind: explicit, rate: 100G,\n"
		"  hosts: [a, b, c, d], switches: [s, t], links: [{a: a, b: s}, {a: b, b: s},\n"
		"  {a: s, b: t}, {a: c, b: t}, {a: t, b: d}]}}\n"
		"workload: [{flows: [{src: a, dst: d, bytes: 8MB}, {src: b, dst: d, bytes: 8MB},\n"
		"  {src: c, dst: d, bytes: 8MB}]}]\n",
		(struct rs_sim_options){0});
	const struct rs_sim_counters *c = &l.r->counters;

	assert_true(l.r->complete);
	assert_true(c->ecn_marked > 1000);
	assert_int_equal(c->retransmits, 0);
	assert_int_equal(c->ecn_marked, c->data_marked);
	load_free(&l);
}

/* ---- What ends in error ---- */

/* dead-flow: the flow was reported as complete. */
static void test_a_dead_flow_is_told_with_its_link(void **state)
{
	struct loaded l = load_run(
		"fabric: {network: {kind: explicit, rate: 100G, hosts: [h0, h1, h2],\n"
		"  switches: [s], links: [{a: h0, b: s, loss: 1}, {a: h1, b: s}, {a: h2, b: s}]},\n"
		"  transport: {timeout: 8, retry: 3}, cc: {kind: none}}\n"
		"workload: [{flows: [{src: 0, dst: 1, bytes: 1MB}, {src: 2, dst: 1, bytes: "
		"1MB}]},\n"
		"  {flows: [{src: 2, dst: 1, bytes: 1MB}]}]\n",
		(struct rs_sim_options){0});
	const struct rs_sim_result *r = l.r;

	assert_false(r->complete);
	assert_false(r->jobs[0].done);
	assert_int_equal(r->jobs[0].end, RS_SIM_FAILED);
	assert_int_equal(r->jobs[0].failed, 1);
	assert_string_equal(r->jobs[0].place, "h0 -> s");
	assert_true(r->jobs[1].done);
	assert_int_equal(r->jobs[1].end, RS_SIM_DONE);
	assert_int_equal(r->n_failures, 1);
	assert_int_equal(r->failures[0].job, 0);
	assert_int_equal(r->failures[0].src, 0);
	assert_int_equal(r->failures[0].dst, 1);
	assert_int_equal(r->failures[0].status, RS_WC_RETRY_EXC_ERR);
	assert_string_equal(r->failures[0].place, "h0 -> s");
	assert_int_equal(r->failures[0].lost, r->counters.link_losses);
	/* it ended when its retries did: 4 timeouts of 1.05 ms at least */
	assert_true(r->sim_time > 4 * RS_MS);
	drops_add_up(r);
	load_free(&l);
}

/* Data arrives, its ACKs do not: the place is the link that lost them. */
static void test_a_flow_whose_acks_are_lost_dies_of_that_link(void **state)
{
	struct loaded l = load_run(
		"fabric: {network: {kind: explicit, rate: 100G, hosts: [h0, h1],\n"
		"  switches: [l0, l1, s0, s1], links: [{a: h0, b: l0}, {a: l0, b: s0},\n"
		"  {a: l0, b: s1}, {a: s0, b: l1, loss: 1}, {a: s1, b: l1}, {a: l1, b: h1}]},\n"
		"  transport: {timeout: 8, retry: 2}, cc: {kind: none}}\n"
		"workload: [{flows: [{src: 0, dst: 1, bytes: 10kB, path: [h0, l0, s1, l1, h1],\n"
		"  ack_path: [h1, l1, s0, l0, h0]}]}]\n",
		(struct rs_sim_options){0});

	assert_false(l.r->complete);
	assert_int_equal(l.r->n_failures, 1);
	assert_string_equal(l.r->failures[0].place, "l1 port 0 -> s0");
	load_free(&l);
}

/* dead-collective: the link to c, whichever way. */
static void test_a_dead_collective_names_its_link(void **state)
{
	struct loaded l = load_run(
		"fabric: {network: {kind: explicit, rate: 100G, hosts: [a, b, c], switches: [s],\n"
		"  links: [{a: a, b: s}, {a: b, b: s}, {a: c, b: s, loss: 1}]},\n"
		"  transport: {timeout: 8, retry: 3}, cc: {kind: none}}\n"
		"workload: [{collective: {op: all-reduce, bytes: 1MiB}}]\n",
		(struct rs_sim_options){0});

	assert_false(l.r->complete);
	assert_false(l.r->jobs[0].done);
	assert_int_equal(l.r->jobs[0].end, RS_SIM_FAILED);
	assert_int_equal(l.r->n_failures, 2);
	assert_string_equal(l.r->failures[0].place, "s port 2 -> c");
	assert_string_equal(l.r->failures[1].place, "c -> s");
	assert_string_equal(l.r->jobs[0].place, "s port 2 -> c");
	load_free(&l);
}

/* Without a timeout nobody sends the last packet again. */
static void test_a_loss_without_a_timeout_is_told(void **state)
{
	struct loaded l =
		load_run("fabric: {network: {kind: single-switch, hosts: 2, rate: 100G, loss: 1},\n"
			 "  transport: {timeout: 0}, cc: {kind: none}}\n"
			 "workload: [{flows: [{src: 0, dst: 1, bytes: 4kB}]}]\n",
			 (struct rs_sim_options){0});

	assert_false(l.r->complete);
	assert_false(l.r->stopped);
	assert_int_equal(l.r->n_failures, 0);
	assert_int_equal(l.r->jobs[0].end, RS_SIM_NO_TIMEOUT);
	assert_string_equal(l.r->jobs[0].place, "h0 -> switch0");
	assert_int_equal(l.r->jobs[0].lost, 1);
	load_free(&l);
}

/* A job left out is neither done nor a reason to call the run incomplete. */
static void test_a_job_left_out_says_so(void **state)
{
	struct loaded l = load_run(
		"fabric: {network: {kind: single-switch, hosts: 3, rate: 100G}, cc: {kind: none}}\n"
		"workload: [{flows: [{src: 0, dst: 1, bytes: 4MB}]},\n"
		"  {flows: [{src: 2, dst: 1, bytes: 4MB}]}]\n",
		(struct rs_sim_options){.ideal = {.skip = 2}});

	assert_true(l.r->complete);
	assert_int_equal(l.r->jobs[0].end, RS_SIM_DONE);
	assert_int_equal(l.r->jobs[1].end, RS_SIM_LEFT_OUT);
	assert_false(l.r->jobs[1].done);
	assert_int_equal(l.r->sim_time, l.r->flows[0].finish);
	load_free(&l);
}

static void test_a_run_cut_short_says_so(void **state)
{
	struct loaded l = load_run(
		"fabric: {network: {kind: single-switch, hosts: 2, rate: 100G}, cc: {kind: none}}\n"
		"workload: [{flows: [{src: 0, dst: 1, bytes: 4MB}]}]\n",
		(struct rs_sim_options){.max_time = 50 * RS_US});

	assert_false(l.r->complete);
	assert_true(l.r->stopped);
	assert_int_equal(l.r->jobs[0].end, RS_SIM_STOPPED);
	load_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drops_of_a_lossy_class_are_told_by_port),
		cmocka_unit_test(test_a_tier_that_maps_a_dscp_wrongly_is_named),
		cmocka_unit_test(test_a_link_that_loses_is_named_with_its_direction),
		cmocka_unit_test(test_a_victim_s_pauses_lead_to_the_overrun_port),
		cmocka_unit_test(test_the_head_of_an_incast_is_its_receiver_s_port),
		cmocka_unit_test(test_a_slow_host_is_the_head_of_its_tree),
		cmocka_unit_test(test_a_packet_marked_twice_counts_once),
		cmocka_unit_test(test_a_dead_flow_is_told_with_its_link),
		cmocka_unit_test(test_a_flow_whose_acks_are_lost_dies_of_that_link),
		cmocka_unit_test(test_a_dead_collective_names_its_link),
		cmocka_unit_test(test_a_loss_without_a_timeout_is_told),
		cmocka_unit_test(test_a_run_cut_short_says_so),
		cmocka_unit_test(test_a_job_left_out_says_so),
		cmocka_unit_test(test_lists_add_up_to_the_counters_on_random_fabrics),
		cmocka_unit_test(test_without_drops_nothing_is_dropped_on_random_fabrics),
		cmocka_unit_test(test_without_drops_nics_drop_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
