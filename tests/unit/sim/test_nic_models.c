/* NICs by their models: what a model gives, what overrides it, what is refused; ports that share a
 * slot; what a Gen6 slot carries. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "describe/describe.h"
#include "sim/sim.h"

static struct rs_fabric *load(const char *nics, const char *network, const char *more,
			      struct rs_error *e)
{
	struct rs_fabric *f = NULL;
	char text[2048];

	snprintf(text, sizeof(text),
		 "fabric: {hosts: [{name: h, count: 2, cpu: turin, sockets: 1, "
		 "gpus: [{name: gpu0, on: socket0, pcie: gen6x16}], nics: [%s]}], network: {%s}, "
		 "cc: {kind: none}}\n%s",
		 nics, network, more);
	*e = (struct rs_error){0};
	if (rs_fabric_load_text(text, strlen(text), "test", ".", NULL, 0, &f, e))
		return NULL;
	return f;
}

#define ONE "kind: single-switch, rate: 800G, delay: 200ns"

static void test_a_model_gives_slot_port_and_limits(void **state)
{
	static const struct {
		const char *name;
		int64_t rate;
		uint8_t gen;
		uint32_t tags, qp_rate;
	} t[] = {{"ConnectX-5", 100, 3, 256, 0},       {"ConnectX-6 Dx", 200, 4, 768, 0},
		 {"ConnectX-7", 400, 5, 768, 372300},  {"connectx7", 400, 5, 768, 372300},
		 {"BlueField-3", 400, 5, 768, 372300}, {"ConnectX-8", 800, 6, 1024, 0}};

	for (unsigned i = 0; i < sizeof(t) / sizeof(*t); i++) {
		struct rs_dma_limits d;
		struct rs_error e;
		struct rs_fabric *f;
		const struct rs_part *p;
		char nic[128];

		snprintf(nic, sizeof(nic), "{name: nic0, model: %s, on: socket0}", t[i].name);
		f = load(nic, ONE, "", &e);
		assert_non_null(f);
		p = &f->hosts[0].inside->parts[f->endpoints[0].part];
		d = rs_dma_limits_of(p, &f->host_params);
		assert_int_equal(f->endpoints[0].rate, t[i].rate * RS_GBPS);
		assert_int_equal(p->up.gen, t[i].gen);
		assert_int_equal(p->up.lanes, 16);
		assert_int_equal(d.tags, t[i].tags);
		assert_int_equal(d.qp_rate, t[i].qp_rate);
		assert_int_equal(d.inline_bytes, 220);
		rs_fabric_free(f);
	}
}

static void test_what_is_written_overrides_the_model(void **state)
{
	struct rs_dma_limits d;
	struct rs_error e;
	struct rs_fabric *f = load("{name: nic0, model: ConnectX-7, on: socket0, pcie: gen4x8, "
				   "rate: 100G, tags: 32, inline: 0, qp_rate: 0, "
				   "qp_message_rate: 9e6}",
				   ONE, "", &e);
	const struct rs_part *p;

	assert_non_null(f);
	p = &f->hosts[0].inside->parts[f->endpoints[0].part];
	d = rs_dma_limits_of(p, &f->host_params);
	assert_int_equal(f->endpoints[0].rate, 100 * RS_GBPS);
	assert_int_equal(p->up.gen * 100 + p->up.lanes, 408);
	assert_int_equal(d.tags, 32);
	assert_int_equal(d.inline_bytes, 0);
	assert_int_equal(d.qp_rate, 0);
	assert_int_equal(d.qp_message_rate, 9000);
	rs_fabric_free(f);
}

static void refused(const char *nics, const char *why)
{
	struct rs_error e;
	char text[512];

	assert_null(load(nics, ONE, "", &e));
	rs_error_text(&e, text, sizeof(text));
	if (!strstr(text, why))
		fail_msg("'%s' does not say '%s'", text, why);
}

static void test_what_cannot_be_is_refused(void **state)
{
	refused("{name: nic0, model: ConectX-7, on: socket0}", "did you mean 'ConnectX-7'?");
	refused("{name: nic0, model: Foo, on: socket0}", "known: ConnectX-4, ConnectX-5");
	refused("{name: nic0, model: ConnectX-7, ports: 4, on: socket0}", "at most 2");
	refused("{name: nic0, ports: 9, on: socket0}", "ports");
	refused("{name: nic0, on: socket0, qp_rate: 5}", "qp_rate");
	refused("{name: nic0, on: socket0}], others: [{name: x, ports: 2}", "only a NIC has it");
	refused("{name: nic0, on: socket0}], others: [{name: x, tags: 2}", "a NIC or a GPU");
}

static double both_ports(const char *nics)
{
	struct rs_sim_options o = {.seed = 1};
	struct rs_sim_result *r;
	struct rs_error e;
	struct rs_fabric *f = load(nics, "kind: rail, leaves: 2, rate: 200G, delay: 200ns",
				   "workload: [{flows: [{src: 0, dst: 2, bytes: 8MB}, "
				   "{src: 1, dst: 3, bytes: 8MB}]}]\n",
				   &e);
	double rate;

	if (!f || rs_sim_run(f, &o, &r, &e))
		fail_msg("%s", e.what);
	assert_int_equal(f->n_endpoints, 4);
	rate = 8e6 * 8 / ((double)r->flows[0].delivered / 1000) +
	       8e6 * 8 / ((double)r->flows[1].delivered / 1000);
	rs_sim_result_free(r);
	rs_fabric_free(f);
	return rate;
}

/* Two ports of 200G: in a Gen4 x16 slot 252 x 0.97 x 256/280 = 223.5 Gb/s; in a Gen5 slot what the
 * ports take; and two cards have a slot each. */
static void test_ports_of_a_card_share_its_slot(void **state)
{
	const double port = 200.0 * 4096 / 4178;
	double got;

	got = both_ports("{name: nic0, on: socket0, pcie: gen4x16, ports: 2}");
	assert_true(got > 223.5 * 0.97 && got < 223.5 * 1.005);
	got = both_ports("{name: nic0, on: socket0, pcie: gen5x16, ports: 2}");
	assert_true(got > 2 * port * 0.98 && got < 2 * port * 1.005);
	got = both_ports("{name: nic0, model: ConnectX-7, on: socket0, ports: 2}");
	assert_true(got > 2 * port * 0.98 && got < 2 * port * 1.005);
	got = both_ports("{name: nic0, on: socket0, pcie: gen4x16}, "
			 "{name: nic1, on: socket0, pcie: gen4x16}");
	assert_true(got > 2 * port * 0.98 && got < 2 * port * 1.005);
}

static void test_ports_have_names_and_gpus_use_them_in_turn(void **state)
{
	struct rs_error e;
	struct rs_fabric *f;

	f = load("{name: nic0, model: ConnectX-7, on: socket0, ports: 2}",
		 "kind: explicit, rate: 800G, switches: [s], links: [{a: h0/nic0p0, b: s}, "
		 "{a: h0/nic0p1, b: s}, {a: h1/nic0p0, b: s}, {a: h1/nic0p1, b: s}]",
		 "", &e);
	assert_non_null(f);
	assert_int_equal(f->n_endpoints, 4);
	assert_string_equal(f->endpoints[1].name, "h0/nic0p1");
	assert_int_equal(f->endpoints[0].part, f->endpoints[1].part);
	assert_int_equal(f->endpoints[1].rate, 200 * RS_GBPS);
	assert_int_equal(rs_fabric_rank_endpoint(f, 0), 0);
	assert_int_equal(rs_fabric_rank_endpoint(f, 1), 2);
	rs_fabric_free(f);
}

/* What is written out reads back, and is written out the same. */
static void test_limits_survive_conversion(void **state)
{
	struct rs_error e;
	struct rs_fabric *f = load(
		"{name: nic0, model: connectx-7, on: socket0, ports: 2, inline: 0, qp_rate: 0G, "
		"message_rate: 1e6, qp_message_rate: 0}, {name: nic1, model: ConnectX-6 Dx, "
		"on: socket0, pcie: gen4x8, tags: 100, read_buffer: 8192, "
		"posted_data_credits: 1000, posted_header_credits: 77, qp_rate: 50G}",
		"kind: single-switch", "", &e);
	char *text[2];
	size_t n[2];

	for (int i = 0; i < 2; i++) {
		FILE *out = open_memstream(&text[i], &n[i]);

		if (!f)
			fail_msg("%s", e.what);
		assert_int_equal(rs_fabric_write(f, out), 0);
		fclose(out);
		rs_fabric_free(f);
		f = NULL;
		rs_fabric_load_text(text[i], n[i], "test", ".", NULL, 0, &f, &e);
	}
	assert_non_null(strstr(text[0], "ports: 2, inline: 0, message_rate: 1000000, "
					"qp_message_rate: 0, qp_rate: 0}"));
	assert_non_null(strstr(text[0], "read_buffer: 8192, tags: 100, posted_data_credits: 1000, "
					"posted_header_credits: 77, qp_rate: 50000M}"));
	assert_string_equal(text[0], text[1]);
	rs_fabric_free(f);
	free(text[0]);
	free(text[1]);
}

/* An 800G port in a Gen6 x16 slot gives the line: 784 Gb/s, out of GPU and of host memory. */
static void test_a_gen6_slot_carries_800g(void **state)
{
	static const char *const memories[] = {"host", "gpu"};

	for (unsigned i = 0; i < 2; i++) {
		struct rs_sim_options o = {.seed = 1};
		struct rs_sim_result *r;
		struct rs_error e;
		char work[128];
		struct rs_fabric *f;
		double rate;

		snprintf(work, sizeof(work),
			 "workload: [{memory: %s, flows: [{src: 0, dst: 1, bytes: 32MB}]}]\n",
			 memories[i]);
		f = load("{name: nic0, model: ConnectX-8, on: socket0, rate: 800G}", ONE, work, &e);
		if (!f || rs_sim_run(f, &o, &r, &e))
			fail_msg("%s", e.what);
		rate = 32e6 * 8 / ((double)r->flows[0].delivered / 1000);
		if (rate < 770 || rate > 784.5)
			fail_msg("%s memory: %.1f Gb/s", memories[i], rate);
		rs_sim_result_free(r);
		rs_fabric_free(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_model_gives_slot_port_and_limits),
		cmocka_unit_test(test_what_is_written_overrides_the_model),
		cmocka_unit_test(test_what_cannot_be_is_refused),
		cmocka_unit_test(test_ports_of_a_card_share_its_slot),
		cmocka_unit_test(test_ports_have_names_and_gpus_use_them_in_turn),
		cmocka_unit_test(test_limits_survive_conversion),
		cmocka_unit_test(test_a_gen6_slot_carries_800g),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
