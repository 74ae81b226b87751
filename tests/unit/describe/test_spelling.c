/* What people write: each natural spelling is read, or told what was meant; and a message that says
 * a range means it: both of its ends are accepted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "describe/describe.h"
#include "fabric/fabric.h"

#define DATA RS_SOURCE_DIR "/tests/data/hosts"

static const char base[] =
	"fabric:\n"
	"  hosts: [{name: h, count: 4, cpu: spr, sockets: 2, nics: [{name: nic0, on: socket0, "
	"pcie: "
	"gen5x16}, {name: nic1, on: socket1, pcie: gen5x16}], gpus: [{name: gpu0, on: socket0, "
	"pcie: "
	"gen5x16}]}]\n"
	"  network: {kind: leaf-spine, leaves: 2, spines: 2}\n"
	"  qos: {classes: [{class: 3}]}\n"
	"  change: [{link: h0/nic0, down: no}]\n"
	"workload: [{flows: [{src: 0, dst: 2, bytes: 1MB}]},\n"
	"  {collective: {ranks: 2}}, {share: yes, train: {parameters: 1e9, tokens: 1e6}}]\n";

static int try(const char *path, const char *value, struct rs_fabric **f, struct rs_error *e)
{
	struct rs_setting set = {path, value, {"--set", 1, 1}};

	*e = (struct rs_error){0};
	return rs_fabric_load_text(base, strlen(base), "t", DATA, &set, 1, f, e);
}

static struct rs_fabric *with(const char *path, const char *value)
{
	struct rs_fabric *f = NULL;
	struct rs_error e;

	if (try(path, value, &f, &e))
		fail_msg("%s: %s: %s", path, value, e.what);
	return f;
}

static void test_spellings_that_are_read(void **state)
{
	static const struct {
		const char *path, *value, *same;
	} cases[] = {
		{"fabric.network.rate", "400Gbps", "400G"},
		{"fabric.network.rate", "400 Gb/s", "400G"},
		{"fabric.network.rate", "400gbit", "400G"},
		{"fabric.network.rate", "400GbE", "400G"},
		{"fabric.network.rate", "0.4T", "400G"},
		{"fabric.network.delay", "1.5us", "1500ns"},
		{"fabric.network.delay", "1.5 usec", "1500ns"},
		{"fabric.network.delay", "0.5US", "500ns"},
		{"fabric.network.loss", "0.1%", "0.001"},
		{"fabric.network.loss", "1e-3", "0.001"},
		{"fabric.network.loss", "0.1 %", "0.001"},
		{"fabric.network.mtu", "4096B", "4096"},
		{"fabric.network.kind", "Leaf-Spine", "leaf-spine"},
		{"fabric.network.kind", "leafspine", "leaf-spine"},
		{"fabric.network.kind", "leaf_spine", "leaf-spine"},
		{"fabric.qos.routing", "ECMP", "ecmp"},
		{"fabric.qos.pfc", "yes", "true"},
		{"fabric.qos.pfc", "On", "true"},
		{"fabric.qos.pfc", "TRUE", "true"},
		{"fabric.qos.ecn", "Off", "false"},
		{"fabric.qos.headroom_scale", "50%", "0.5"},
		{"fabric.qos.buffer", "64 MB", "64000000B"},
		{"fabric.qos.watchdog", "200 ms", "200ms"},
		{"fabric.qos.classes[0].pmax", "20%", "0.2"},
		{"fabric.cc", "dcqcn", "{kind: dcqcn}"},
		{"fabric.cc", "HPCC", "{kind: hpcc}"},
		{"fabric.cc", "{kind: DCQCN, preset: NS-3}", "{kind: dcqcn, preset: ns-3}"},
		{"fabric.transport.framing", "RoCEv2", "rocev2"},
		{"workload[1].collective.op", "AllReduce", "all-reduce"},
		{"workload[1].collective.op", "all_to_all", "all-to-all"},
		{"workload[1].collective.algorithm", "Ring", "ring"},
		{"workload[1].collective.type", "BFLOAT16", "bfloat16"},
		{"workload[1].collective.bytes", "0.5GiB", "512MiB"},
		{"workload[2].train.overlap", "90%", "0.9"},
		{"fabric.change[0].loss", "0.001%", "1e-5"},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rs_fabric *f[2] = {with(cases[i].path, cases[i].value),
					  with(cases[i].path, cases[i].same)};
		char *text[2];
		size_t n;

		for (unsigned k = 0; k < 2; k++) {
			FILE *out = open_memstream(&text[k], &n);

			f[k]->n_changes = 0; /* written as they were */
			rs_fabric_write(f[k], out);
			fclose(out);
			rs_fabric_free(f[k]);
		}
		if (strcmp(text[0], text[1]) != 0)
			fail_msg("%s: %s is not %s", cases[i].path, cases[i].value, cases[i].same);
		free(text[0]);
		free(text[1]);
	}
}

static void test_spellings_that_are_told_what_was_meant(void **state)
{
	static const struct {
		const char *path, *value, *words;
	} cases[] = {
		{"fabric.network.rate", "50GB/s", "bytes: 50GB/s is 400G"},
		{"fabric.network.rate", "400", "400G"},
		{"fabric.network.delay", "5m", "min (60s) or ms (0.001s)"},
		{"fabric.network.delay", "5", "500ns, 1us or 10ms"},
		{"fabric.network.mtu", "9000", "9000 carry a path MTU of 4096: write mtu: 4096"},
		{"fabric.network.mtu", "1500", "carry a path MTU of 1024"},
		{"fabric.network.mtu", "4200", "carry a path MTU of 4096"},
		{"fabric.network.mtu", "jumbo", "256, 512, 1024, 2048 or 4096"},
		{"fabric.network.loss", "1.5", "a share from 0 to 1, or from 0% to 100%"},
		{"fabric.network.loss", "101%", "from 0% to 100%"},
		{"fabric.network.kind", "clos", "not one of: single-switch, leaf-spine"},
		{"fabric.network.knd", "rail", "did you mean 'kind'?"},
		{"fabric.qos.buffer", "64M", "MB (10^6) or MiB (2^20)"},
		{"fabric.qos.buffer", "64MBytes", "no unit"},
		{"fabric.qos.classes[0].kmin", "150KB", "kB (1000) or KiB (1024)"},
		{"fabric.qos.pfc", "1", "did you mean 'true'?"},
		{"fabric.qos.pfc", "enabled", "did you mean 'true'?"},
		{"fabric.qos.pfc", "disable", "did you mean 'false'?"},
		{"fabric.qos.routing", "ecpm", "did you mean 'ecmp'?"},
		{"fabric.hosts[0].cpu", "sapphire", "expected one of: bdw, skl, icx, spr"},
		{"fabric.hosts[0].cpu", "millan", "did you mean 'milan'?"},
		{"fabric.hosts[0].nics[0].on", "soket0", "did you mean 'socket0'?"},
		{"fabric.hosts.g.count", "3", "no element 'g'; did you mean 'h'?"},
		{"fabric.change[0]", "{host: h9, move: {nic0: socket1}}", "did you mean 'h0'?"},
		{"fabric.change[0]", "{host: h0, move: {nik0: socket1}}", "did you mean 'nic0'?"},
		{"workload[0].flows[0].src", "h0/nic7", "did you mean 'h0/nic0'?"},
		{"workload[0].flows[0].bytes", "1M", "MB (10^6) or MiB (2^20)"},
		{"workload[1].collective.op", "reduce", "not one of: all-reduce"},
		{"workload[1].collective.op", "allrduce", "did you mean 'all-reduce'?"},
		{"workload[1].collectiv", "{}", "did you mean 'collective'?"},
		{"fabric.hosts[0].nics[0].pcie", "5x16", "a link such as gen5x16"},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rs_fabric *f = NULL;
		struct rs_error e;

		if (!try(cases[i].path, cases[i].value, &f, &e))
			fail_msg("%s: %s was read", cases[i].path, cases[i].value);
		if (!strstr(e.what, cases[i].words))
			fail_msg("%s: %s: expected '%s', got: %s", cases[i].path, cases[i].value,
				 cases[i].words, e.what);
	}
}

/* "from A to B" of a message, or "expected A" where nothing else fits. */
static bool range_of(const char *what, char *a, char *b)
{
	const char *s = strstr(what, "from "), *to = s ? strstr(s, " to ") : NULL;
	const char *one = strstr(what, ": expected ");
	size_t n;

	if (!to && one && one[11] >= '0' && one[11] <= '9') {
		n = strcspn(one + 11, ",");
		snprintf(a, 32, "%.*s", (int)n, one + 11);
		snprintf(b, 32, "%s", a);
		return true;
	}
	if (!to)
		return false;
	snprintf(a, 32, "%.*s", (int)(to - s - 5), s + 5);
	n = strcspn(to + 4, ", ;:");
	snprintf(b, 32, "%.*s", (int)n, to + 4);
	return true;
}

static void test_a_range_that_is_printed_is_the_range_that_holds(void **state)
{
	/* pause_quanta and nic_buffer have limits by rate and delay beside: pauses.c */
	static const char *const paths[] = {
		"fabric.network.rate",
		"fabric.network.delay",
		"fabric.network.loss",
		"fabric.network.ports",
		"fabric.network.leaves",
		"fabric.network.spines",
		"fabric.network.links",
		"fabric.network.hosts_per_leaf",
		"fabric.network.uplink_rate",
		"fabric.network.uplink_delay",
		"fabric.network.oversubscription",
		"fabric.qos.data_class",
		"fabric.qos.cnp_class",
		"fabric.qos.cnp_dscp",
		"fabric.qos.buffer",
		"fabric.qos.cell",
		"fabric.qos.headroom_scale",
		"fabric.qos.max_frame",
		"fabric.qos.watchdog",
		"fabric.qos.switch_latency",
		"fabric.qos.flowlet_gap",
		"fabric.qos.classes[0].class",
		"fabric.qos.classes[0].alpha_shift",
		"fabric.qos.classes[0].pmax",
		"fabric.qos.classes[0].weight",
		"fabric.qos.classes[0].dscp",
		"fabric.qos.classes[0].reserved",
		"fabric.qos.classes[0].xon_offset",
		"fabric.qos.classes[0].egress_limit",
		"fabric.qos.classes[0].ecn_rate",
		"fabric.transport.timeout",
		"fabric.transport.retry",
		"fabric.transport.rnr_retry",
		"fabric.transport.min_rnr_timer",
		"fabric.transport.max_rd_atomic",
		"fabric.transport.ack_every",
		"fabric.transport.ack_delay",
		"fabric.transport.min_rto",
		"fabric.host_model.phy_latency",
		"fabric.host_model.read_buffer",
		"fabric.host_model.tags",
		"fabric.host_model.dll_efficiency",
		"fabric.host_model.inline",
		"fabric.hosts[0].count",
		"fabric.hosts[0].first",
		"fabric.hosts[0].sockets",
		"fabric.hosts[0].nics[0].rate",
		"fabric.change[0].index",
		"fabric.change[0].rate",
		"fabric.change[0].delay",
		"fabric.change[0].loss",
		"workload[0].flows[0].start",
		"workload[0].flows[0].bytes",
		"workload[0].flows[0].class",
		"workload[1].collective.ranks",
		"workload[1].collective.bytes",
		"workload[1].collective.channels",
		"workload[1].collective.qps",
		"workload[1].collective.chunk",
		"workload[1].collective.slots",
		"workload[1].collective.step_latency",
		"workload[1].collective.repeat",
		"workload[1].collective.class",
		"workload[1].collective.start",
		"workload[1].collective.group",
		"workload[1].collective.stride",
		"workload[2].train.parameters",
		"workload[2].train.tokens",
		"workload[2].train.dp",
		"workload[2].train.flops",
		"workload[2].train.bucket",
		"workload[2].train.overlap",
		"workload[2].train.simulate",
	};
	static const char *const beyond[] = {"123456789012345678", "4000000T", "4000000h",
					     "4000000TB", "-5"}; /* of anything */
	unsigned none = 0;

	for (unsigned i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		const char *key = strrchr(paths[i], '.') + 1;
		char a[32], b[32], begins[64];
		struct rs_fabric *f = NULL;
		struct rs_error e = {0};
		bool found = false;

		snprintf(begins, sizeof(begins), "%s: expected", key);
		for (unsigned u = 0; u < 5 && !found; u++)
			if (!try(paths[i], beyond[u], &f, &e))
				rs_fabric_free(f);
			else if (range_of(e.what, a, b) && !strncmp(e.what, begins, strlen(begins)))
				found = true;
		if (!found) {
			print_message("%s: no range: %s\n", paths[i], e.what);
			none++;
			continue;
		}
		for (unsigned k = 0; k < 2; k++)
			if (try(paths[i], k ? b : a, &f, &e) &&
			    !strncmp(e.what, begins, strlen(begins)))
				fail_msg("%s: '%s' is within its range, but: %s", paths[i],
					 k ? b : a, e.what);
			else if (!e.code)
				rs_fabric_free(f);
	}
	assert_int_equal(none, 0);
}

static void test_groups_without_a_name_are_h(void **state)
{
	static const char text[] = "fabric: {hosts: [{count: 2, sockets: 1, nics: [{name: a}]}, "
				   "{name: x, sockets: 1, nics: "
				   "[{name: a}]}, {count: 2, sockets: 1, nics: [{name: a}]}], "
				   "network: {kind: single-switch}}";
	struct rs_error e = {0};
	struct rs_fabric *f = NULL;

	assert_int_equal(rs_fabric_load_text(text, strlen(text), "t", ".", NULL, 0, &f, &e), 0);
	assert_string_equal(f->hosts[0].name, "h0");
	assert_string_equal(f->hosts[1].name, "h1");
	assert_string_equal(f->hosts[2].name, "x0");
	assert_string_equal(f->hosts[4].name, "h3");
	rs_fabric_free(f);
}

static void test_a_hosts_file_is_a_host_on_a_switch(void **state)
{
	static const char *const files[] = {"h100-8.xml"};
	struct rs_setting more = {"fabric.hosts.h.count", "3", {"--set", 1, 1}};

	for (unsigned i = 0; i < 1; i++) {
		char path[400];
		struct rs_error e = {0};
		struct rs_fabric *f = NULL;

		snprintf(path, sizeof(path), "%s/%s", DATA, files[i]);
		if (rs_fabric_load(path, NULL, 0, &f, &e))
			fail_msg("%s", e.what);
		assert_int_equal(f->n_hosts, 1);
		assert_int_equal(f->n_switches, 1);
		assert_int_equal(f->n_endpoints, 8);
		assert_non_null(strstr(f->assumed, "one such host"));
		rs_fabric_free(f);
		assert_int_equal(rs_fabric_load(path, &more, 1, &f, &e), 0);
		assert_int_equal(f->n_gpus, 24);
		rs_fabric_free(f);
	}
}

/* A message lists all keys that there are: the last one of the list is one, and nothing is cut. */
static void test_a_list_of_keys_is_whole(void **state)
{
	static const struct {
		const char *path, *last;
	} maps[] = {
		{"fabric.qos", "hop_classes"},
		{"fabric.transport", "cnp_moderation"},
		{"fabric.qos.classes[0]", "cc"},
		{"fabric.network", NULL},
		{"fabric.hosts[0]", NULL},
		{"fabric.host_model", NULL},
		{"workload[0]", NULL},
		{"workload[1].collective", NULL},
		{"workload[2].train", NULL},
		{"fabric.transport.uet", NULL},
		{"fabric.hosts[0].nics[0]", NULL},
		{"fabric", NULL},
	};

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
		char path[80], last[40];
		struct rs_fabric *f = NULL;
		struct rs_error e;
		const char *comma;

		snprintf(path, sizeof(path), "%s.zzz", maps[i].path);
		assert_int_equal(try(path, "1", &f, &e), -EINVAL);
		comma = strrchr(e.what, ',');
		assert_non_null(comma);
		if (sscanf(comma, ", %39[a-z0-9_])", last) != 1 ||
		    e.what[strlen(e.what) - 1] != ')' || strstr(e.what, "..."))
			fail_msg("%s: %s", path, e.what);
		if (maps[i].last)
			assert_string_equal(last, maps[i].last);
		snprintf(path, sizeof(path), "%s.%s", maps[i].path, last);
		/* it may be a wrong value for it, but it is a key */
		if (!try(path, "zzz", &f, &e))
			rs_fabric_free(f);
		else
			assert_null(strstr(e.what, "has no key"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spellings_that_are_read),
		cmocka_unit_test(test_spellings_that_are_told_what_was_meant),
		cmocka_unit_test(test_a_range_that_is_printed_is_the_range_that_holds),
		cmocka_unit_test(test_a_list_of_keys_is_whole),
		cmocka_unit_test(test_groups_without_a_name_are_h),
		cmocka_unit_test(test_a_hosts_file_is_a_host_on_a_switch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
