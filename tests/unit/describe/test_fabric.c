/* The description: what is read, what is refused and with which words, and that writing it out is
 * the same fabric again. Routes are checked against a walk of the graph. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "describe/describe.h"
#include "elsewhere.h"
#include "fabric/fabric.h"
#include "import/import.h"

#define DATA RS_SOURCE_DIR "/tests/data/hosts"

static struct rs_fabric *load(const char *text)
{
	struct rs_error e = {0};
	struct rs_fabric *f = NULL;

	if (rs_fabric_load_text(text, strlen(text), "t.yaml", DATA, NULL, 0, &f, &e))
		fail_msg("%d:%d: %s", e.line, e.column, e.what);
	return f;
}

static void refused(const char *text, int line, const char *words)
{
	struct rs_error e = {0};
	struct rs_fabric *f = NULL;

	assert_true(rs_fabric_load_text(text, strlen(text), "t.yaml", DATA, NULL, 0, &f, &e) < 0);
	if (!strstr(e.what, words) || (line && e.line != line))
		fail_msg("expected '%s' in line %d, got line %d: %s", words, line, e.line, e.what);
	assert_null(f);
}

static char *written(const struct rs_fabric *f)
{
	char *buf = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&buf, &n);

	assert_int_equal(rs_fabric_write(f, out), 0);
	fclose(out);
	return buf;
}

static void converts_to_itself(struct rs_fabric *f)
{
	char *once = written(f), *twice;
	struct rs_fabric *g = load(once);

	twice = written(g);
	assert_string_equal(once, twice);
	assert_int_equal(f->n_endpoints, g->n_endpoints);
	assert_int_equal(f->n_links, g->n_links);
	assert_int_equal(f->n_unknown, g->n_unknown);
	free(once);
	free(twice);
	rs_fabric_free(g);
}

/* From every source, every port of every set leads nearer; the destination's own switch comes last.
 */
static void walks_everywhere(const struct rs_fabric *f)
{
	for (uint32_t dst = 0; dst < f->n_endpoints; dst++)
		for (uint32_t src = 0; src < f->n_endpoints; src++) {
			uint32_t s = f->endpoints[src].node, hops = 0,
				 group = f->routes.group_of[dst];

			while (f->routes.group_of_switch[s] != group) {
				uint32_t set = f->routes.set_of[s][group], n = set & 0xff;
				uint16_t port;

				assert_true(n > 0 && hops++ < 8);
				port = f->routes.ports[s][(set >> 8) + (src + dst) % n];
				for (uint32_t i = 0; i < f->n_links; i++) {
					const struct rs_fabric_link *l = &f->links[i];

					if (!l->a.is_switch)
						continue;
					if (l->a.id == s && l->a.port == port) {
						s = l->b.id;
						break;
					}
					if (l->b.id == s && l->b.port == port) {
						s = l->a.id;
						break;
					}
				}
			}
			assert_int_equal(f->routes.local_port[s][f->routes.local_index[dst]],
					 f->links[f->endpoints[dst].link].b.port);
		}
}

static void test_single_switch_of_plain_hosts(void **state)
{
	struct rs_fabric *f =
		load("fabric:\n  network: {kind: single-switch, hosts: 4, rate: 100G, "
		     "delay: 1us, mtu: 1024}\n");

	assert_int_equal(f->n_endpoints, 4);
	assert_int_equal(f->transport.mtu, 1024);
	assert_string_equal(f->endpoints[3].name, "h3");
	assert_true(f->links[0].rate == 100 * RS_GBPS && f->links[0].delay == RS_US);
	walks_everywhere(f);
	converts_to_itself(f);
	rs_fabric_free(f);
}

static void test_fat_tree_has_k_cubed_quarter_hosts_and_quarter_k_squared_paths(void **state)
{
	struct rs_fabric *f = load("fabric: {network: {kind: fat-tree, k: 4}}");
	struct rs_network_facts x;

	rs_fabric_facts(f, &x);
	assert_int_equal(f->n_endpoints, 16);
	assert_int_equal(f->n_switches, 20);
	assert_int_equal(x.diameter, 5);
	assert_true(x.oversubscription == 1);
	assert_int_equal(f->routes.set_of[0][7] & 0xff, 2);
	walks_everywhere(f);
	converts_to_itself(f);
	rs_fabric_free(f);
}

static void test_fat_tree_of_two_tiers_has_half_k_squared_hosts(void **state)
{
	struct rs_fabric *f = load(
		"fabric: {network: {kind: fat-tree, k: 8, tiers: 2, rate: 100G, delay: 1us}}\n");

	assert_int_equal(f->n_hosts, 32);
	assert_int_equal(f->n_switches, 12);
	assert_int_equal(f->n_links, 64);
	converts_to_itself(f);
	rs_fabric_free(f);
}

static void test_switches_of_a_tier_may_differ(void **state)
{
	struct rs_fabric *f =
		load("fabric:\n"
		     "  network: {kind: fat-tree, k: 4, rate: 100G, delay: 1us}\n"
		     "  qos:\n"
		     "    buffer: 32MB\n"
		     "    tiers:\n"
		     "      spine: {buffer: 16MB, dscp: {26: 0}, cut_through: true}\n");
	const struct rs_qos *leaf = rs_fabric_qos(f, 0), *spine = rs_fabric_qos(f, 8);

	assert_int_equal(f->switches[8].tier, 1);
	assert_int_equal(leaf->buffer, 32000000);
	assert_int_equal(leaf->tc_of_dscp[26], 3);
	assert_int_equal(spine->buffer, 16000000);
	assert_int_equal(spine->tc_of_dscp[26], 0);
	assert_true(spine->cut_through && !leaf->cut_through);
	assert_ptr_equal(rs_fabric_qos(f, 16), leaf);
	converts_to_itself(f);
	rs_fabric_free(f);
	refused("fabric:\n"
		"  network: {kind: single-switch, hosts: 2, rate: 1G, delay: 1us}\n"
		"  qos: {tiers: {leaves: {}}}\n",
		3, "leaves");
	refused("fabric:\n"
		"  network: {kind: single-switch, hosts: 2, rate: 1G, delay: 1us}\n"
		"  qos: {tiers: {leaf: {nic_buffer: 1MB}}}\n",
		3, "nic_buffer");
}

#define SLOW_HOSTS                                                      \
	"fabric:\n  hosts: [{name: h, count: 2, cpu: icx, sockets: 1, " \
	"nics: [{name: nic0, on: socket0, pcie: gen4x16}]}]\n"

/* 400G over 5 us and the 500 ns of a switch: 2 x 4220 + 84 + 525000 + 905 x 64 bytes come after a
 * PAUSE (802.1Q annex N), behind a frame of 4200; two more must fit below XOFF. */
static void test_a_nic_s_buffer_holds_its_headroom(void **state)
{
	struct rs_fabric *f =
		load(SLOW_HOSTS "  network: {kind: single-switch, rate: 400G, delay: 5us}\n"
				"  qos: {nic_buffer: 604044B}\n");

	assert_int_equal(rs_fabric_nic_headroom(f, 0), 595644);
	converts_to_itself(f);
	rs_fabric_free(f);
	refused(SLOW_HOSTS "  network: {kind: single-switch, rate: 400G, delay: 5us}\n"
			   "  qos: {pfc: true,\n    nic_buffer: 604043B}\n",
		5,
		"expected 604044B to 1TiB, found 604043B: h0/nic0, with 1 lossless class on 400 "
		"Gb/s");
	refused(SLOW_HOSTS "  network: {kind: single-switch, rate: 400G, delay: 5us}\n"
			   "  qos: {nic_buffer: 1MiB, classes: [{class: 4, lossless: true}]}\n",
		4, "with 2 lossless classes");
	/* not given: 1 MiB, or twice the headroom */
	f = load(SLOW_HOSTS "  network: {kind: single-switch, rate: 800G, delay: 10us}\n");
	assert_int_equal(f->qos.nic_buffer, 2 * rs_fabric_nic_headroom(f, 0));
	assert_true(f->qos.nic_buffer > 2 << 20);
	converts_to_itself(f);
	rs_fabric_free(f);
	f = load(SLOW_HOSTS "  network: {kind: single-switch, rate: 400G, delay: 500ns}\n");
	assert_int_equal(f->qos.nic_buffer, 1 << 20);
	rs_fabric_free(f);
	/* nothing is asked of plain hosts, without PFC, or where all of it is taken away on purpose
	 */
	f = load("fabric: {network: {kind: single-switch, hosts: 2, rate: 400G, delay: 5us}, "
		 "qos: {nic_buffer: 64KiB}}");
	rs_fabric_free(f);
	f = load(SLOW_HOSTS "  network: {kind: single-switch, rate: 400G, delay: 5us}\n"
			    "  qos: {nic_buffer: 64KiB, pfc: false}\n");
	rs_fabric_free(f);
	f = load(SLOW_HOSTS "  network: {kind: single-switch, rate: 400G, delay: 5us}\n"
			    "  qos: {nic_buffer: 64KiB, headroom_scale: 0}\n");
	rs_fabric_free(f);
}

/* 905 quanta to obey at 400 Gb/s, and a frame of 4220 bytes: 66; at 10 Gb/s 60, but two frames
 * between two PAUSEs: 135. */
static void test_a_pause_outlasts_the_peer_s_response(void **state)
{
	struct rs_fabric *f = load("fabric: {network: {kind: single-switch, hosts: 2, rate: 400G}, "
				   "qos: {pause_quanta: 971}}");

	assert_true(f->qos.pause_response < 0);
	converts_to_itself(f);
	rs_fabric_free(f);
	refused("fabric:\n  network: {kind: single-switch, hosts: 2, rate: 400G}\n"
		"  qos: {pfc: true,\n    pause_quanta: 970}\n",
		4, "expected 971 to 65535, found 970: at 400 Gb/s a port may take 905 quanta");
	refused("fabric:\n  network: {kind: single-switch, hosts: 2, rate: 10G}\n"
		"  qos: {pause_quanta: 134}\n",
		3, "expected 135 to 65535");
	refused("fabric:\n  network: {kind: leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 2, "
		"rate: 10G, uplink_rate: 400G}\n"
		"  qos: {tiers: {spine: {\n    pause_quanta: 500}}}\n",
		4, "expected 971 to 65535, found 500");
	refused("fabric:\n  network: {kind: single-switch, hosts: 2, rate: 400G}\n"
		"  qos:\n    pause_response: 100us\n",
		4,
		"pause_response: expected 802.3 or a time that ends before the longest PAUSE at "
		"400");
	f = load("fabric: {network: {kind: single-switch, hosts: 2, rate: 400G}, "
		 "qos: {pause_quanta: 1, pause_holds: true}}");
	rs_fabric_free(f);
	f = load("fabric: {network: {kind: single-switch, hosts: 2, rate: 400G}, "
		 "qos: {pause_response: 200ns, pause_quanta: 223}}");
	assert_int_equal(f->qos.pause_response, 200 * RS_NS);
	assert_int_equal(rs_fabric_pause_response(&f->qos, RS_GBPS), 200 * RS_NS);
	converts_to_itself(f);
	rs_fabric_free(f);
	f = load("fabric: {preset: ns-3, network: {kind: single-switch, hosts: 2, rate: 400G}, "
		 "qos: {pause_quanta: 1}}");
	assert_int_equal(f->qos.pause_response, 0);
	rs_fabric_free(f);
}

static void test_leaf_spine_is_as_oversubscribed_as_asked(void **state)
{
	struct rs_fabric *f = load("fabric: {network: {kind: leaf-spine, leaves: 4, spines: 2, "
				   "hosts_per_leaf: 8, oversubscription: 2}}");
	struct rs_network_facts x;

	rs_fabric_facts(f, &x);
	assert_true(x.oversubscription == 2);
	assert_int_equal(f->net.links, 2);
	walks_everywhere(f);
	converts_to_itself(f);
	rs_fabric_free(f);
}

static const char eight[] =
	"fabric:\n"
	"  hosts:\n"
	"    - {name: h, count: 4, like: h100-8.xml, "
	"nvlink: {gpus: all, rate: 3600G}}\n"
	"  network: {kind: rail, leaves: 8}\n"
	"  change:\n"
	"    - {host: h2, move: {nic0: socket1}, link: {nic0: {gen: 4, lanes: 8}}}\n"
	"workload:\n"
	"  - collective: {op: all-reduce, bytes: 1GiB}\n"
	"what-if:\n"
	"  - {name: slower, set: {fabric.network.rate: 200G}}\n";

static void test_rails_join_equal_nics_and_ranks_are_beside_theirs(void **state)
{
	struct rs_fabric *f = load(eight);

	assert_int_equal(f->n_endpoints, 32);
	assert_int_equal(f->n_gpus, 32);
	for (uint32_t i = 0; i < 8; i++) {
		assert_int_equal(f->endpoints[i].node, i);
		assert_int_equal(rs_fabric_rank_endpoint(f, i), i);
		assert_int_equal(rs_fabric_rank_host(f, i + 8), 1);
	}
	walks_everywhere(f);
	converts_to_itself(f);
	rs_fabric_free(f);
}

/* Jobs that name no channels have one for each NIC of a ring on a host, and convert says so. */
static void test_channels_are_resolved(void **state)
{
	static const struct {
		const char *network, *job;
		uint32_t channels;
	} cases[] = {
		{"hosts: 4", "collective: {}", 1},
		{"hosts: 4, nics: 8", "collective: {}", 8},
		{"hosts: 4, nics: 8", "collective: {algorithm: tree}", 8},
		{"hosts: 4, nics: 8", "collective: {channels: 3}", 3},
		{"hosts: 4, nics: 8", "collective: {algorithm: hierarchical}", 1},
		{"hosts: 4, nics: 8", "collective: {op: all-to-all}", 1},
		{"hosts: 4, nics: 8", "collective: {stride: 8}", 1},
		{"hosts: 4, nics: 8", "collective: {ranks: [0-2, 8-10]}", 3},
		{"hosts: 4, nics: 8", "collective: {ranks: 8, place: spread}", 2},
		{"hosts: 4, nics: 8", "train: {parameters: 1e9, tokens: 1e5}", 8},
		{"hosts: 4, nics: 8", "train: {parameters: 1e9, tokens: 1e5, tp: 8}", 1},
		{"hosts: 4, nics: 8", "train: {parameters: 1e9, tokens: 1e5, tp: 2}", 4},
		{"hosts: 4, nics: 8", "train: {parameters: 1e9, tokens: 1e5, tp: 4, dp: 2, pp: 4}",
		 2},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char text[512], want[64], *out;
		struct rs_fabric *f;

		snprintf(text, sizeof(text),
			 "fabric: {network: {kind: single-switch, %s}}\nworkload: [{%s}]\n",
			 cases[i].network, cases[i].job);
		f = load(text);
		assert_int_equal(rs_job_collective(&f->jobs[0])->channels, cases[i].channels);
		out = written(f);
		snprintf(want, sizeof(want), "channels: %u,", cases[i].channels);
		assert_non_null(strstr(out, want));
		free(out);
		converts_to_itself(f);
		rs_fabric_free(f);
	}
}

static void test_a_change_makes_one_host_different(void **state)
{
	struct rs_fabric *f = load(eight);
	const struct rs_host *h = f->hosts[2].inside;
	const struct rs_part *nic = &h->parts[rs_host_find(h, "nic0")];

	assert_ptr_equal(f->hosts[0].inside, f->hosts[3].inside);
	assert_ptr_not_equal(f->hosts[0].inside, h);
	assert_string_equal(h->parts[nic->parent].name, "socket1");
	assert_int_equal(nic->up.gen, 4);
	assert_int_equal(nic->up.lanes, 8);
	rs_fabric_free(f);
}

static void test_settings_change_values_by_path(void **state)
{
	struct rs_setting set[] = {{"fabric.network.rate", "200G", {"--set", 0, 0}},
				   {"fabric.hosts.h.count", "2", {"--set", 0, 0}},
				   {"fabric.change", "[]", {"--set", 0, 0}},
				   {"fabric.cc.kind", "none", {"--set", 0, 0}},
				   {"workload[0].collective.bytes", "64MiB", {"--set", 0, 0}}};
	struct rs_fabric *f;
	struct rs_error e = {0};

	assert_int_equal(rs_fabric_load_text(eight, strlen(eight), "t", DATA, set, 5, &f, &e), 0);
	assert_true(f->endpoints[0].rate == 200 * RS_GBPS);
	assert_int_equal(f->n_hosts, 2);
	assert_string_equal(f->cc.kind, "none");
	assert_int_equal(f->jobs[0].collective.bytes, 64 << 20);
	rs_fabric_free(f);
}

static void test_written_host_with_socket_direct(void **state)
{
	struct rs_fabric *f = load("fabric:\n"
				   "  hosts:\n"
				   "    - name: a\n"
				   "      count: 2\n"
				   "      cpu: spr\n"
				   "      sockets: 2\n"
				   "      switches: [{name: sw0, on: socket0, pcie: gen5x16}]\n"
				   "      gpus: [{name: gpu0, on: sw0, pcie: gen5x16}]\n"
				   "      nics: [{name: nic0, on: socket0, pcie: gen5x8, on2: "
				   "socket1, pcie2: gen5x8}]\n"
				   "  network: {kind: single-switch}\n");
	const struct rs_host *h = f->hosts[1].inside;
	const struct rs_part *nic = &h->parts[rs_host_find(h, "nic0")];

	assert_string_equal(f->hosts[1].name, "a1");
	assert_int_equal(nic->parent, 0);
	assert_int_equal(nic->parent2, 1);
	assert_int_equal(nic->up2.lanes, 8);
	converts_to_itself(f);
	rs_fabric_free(f);
}

static void test_errors_say_where_and_what_was_expected(void **state)
{
	refused("fabric:\n  netwrok: {}\n", 2, "did you mean 'network'?");
	refused("fabric:\n  network: {kind: rial}\n", 2, "did you mean 'rail'?");
	refused("fabric:\n  network:\n    kind: single-switch\n    hosts: 2\n    rate: 400\n", 5,
		"needs a unit");
	refused("fabric: {network: {kind: fat-tree, k: 5}}", 1, "even");
	refused("fabric: [1, 2]\n", 1, "expected a mapping");
	refused("fabric: {a: 1, a: 2}\n", 1, "twice");
	refused("fabric: {network: {kind: single-switch", 0, "not YAML");
	refused("", 0, "an empty document");
	refused("fabric: {network: {kind: single-switch, hosts: 99999999999999999999}}", 1,
		"whole number");
	refused("fabric: {network: {kind: single-switch, hosts: 2}}\n"
		"workload: [{flows: [{src: h0, dst: h0, bytes: 1MB}]}]",
		2, "to itself");
	refused("fabric: {network: {kind: single-switch, hosts: 2}}\n"
		"workload: [{flows: [{src: h0, dst: h1, bytes: 0B}]}]",
		2, "from 1B to 65536GiB, found '0B'");
	refused("fabric: {network: {kind: single-switch, hosts: 2}}\n"
		"workload: [{flows: [{src: h0, dst: h7, bytes: 1MB}]}]",
		2, "no endpoint 'h7'");
	refused("fabric: {hosts: [{name: h, like: graph.xml}], network: {kind: rail, "
		"leaves: 1}}",
		1, "a NCCL graph file, not a topology");
}

static void test_islands_have_no_route(void **state)
{
	refused("fabric:\n  network:\n    kind: explicit\n    hosts: [x, y]\n    switches: [s, t]\n"
		"    links: [{a: x, b: s}, {a: y, b: t}]\n"
		"workload: [{flows: [{src: x, dst: y, bytes: 1MB}]}]",
		7, "no route from x to y");
}

static void test_a_bomb_of_aliases_costs_no_more_than_its_text(void **state)
{
	refused("a: &a [x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a]\n"
		"c: &c [*b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c]\n"
		"e: &e [*d, *d, *d, *d, *d, *d, *d, *d]\nfabric: *e\n",
		1, "no key 'a'");
	refused("fabric: &a [*a]", 1, "no anchor");
}

static void csv_refused(const char *text, int code, int line, const char *words)
{
	char path[] = P_tmpdir "/rs-flows-XXXXXX", yaml[256];
	int fd = mkstemp(path);
	struct rs_error e = {0};
	struct rs_fabric *f = NULL;
	int err;

	assert_true(fd >= 0);
	assert_int_equal(dprintf(fd, "%s", text), (int)strlen(text));
	close(fd);
	snprintf(yaml, sizeof(yaml),
		 "fabric: {network: {kind: single-switch, hosts: 3}}\n"
		 "workload: [{flows: \"%s\"}]",
		 path);
	err = rs_fabric_load_text(yaml, strlen(yaml), "t", "/", NULL, 0, &f, &e);
	unlink(path);
	assert_int_equal(err, code);
	if (code && (!strstr(e.what, words) || e.line != line))
		fail_msg("line %d: %s", e.line, e.what);
	rs_fabric_free(f);
}

static void test_csv_errors_name_their_line(void **state)
{
	csv_refused("start_ns,src,dst,bytes\n0,0,1,100\n0,h1,2,5,3\n", 0, 0, "");
	csv_refused("0,0,1,100\n0,0,1\n", -EINVAL, 2, "expected start_ns");
	csv_refused("0,0,3,100\n", -EINVAL, 1, "no endpoint 3");
	csv_refused("0,0,1,99999999999999999999\n", -EINVAL, 1, "bytes");
	csv_refused("0,0,1,0\n", -EINVAL, 1, "zero bytes");
}

static void test_a_csv_header_may_stand_behind_comments(void **state)
{
	csv_refused("# made by hand\n\n  \nstart_ns,src,dst,bytes\n0,0,1,100\n", 0, 0, "");
	csv_refused("\xef\xbb\xbfstart_ns,src,dst,bytes\r\n0,0,1,100\r\n", 0, 0, "");
	csv_refused("0,0,1,100\nstart_ns,src,dst,bytes\n", -EINVAL, 2, "start_ns");
	csv_refused("start_ns,src,dst,bytes\n", -EINVAL, 2, "no flows");
}

static void test_more_flows_than_the_limit_are_refused_in_one_line(void **state)
{
	size_t n = RS_FLOWS_MAX + 1;
	char *text = malloc(n * 8 + 1);

	for (size_t i = 0; i < n; i++)
		memcpy(text + i * 8, "0,0,1,9\n", 8);
	text[n * 8] = '\0';
	csv_refused(text, -E2BIG, RS_FLOWS_MAX + 1, "more than 1000000 flows");
	free(text);
}

static void import_folder(const char *folder)
{
	char path[512];
	struct dirent *f;
	DIR *d;

	if (!elsewhere(folder, path, sizeof(path)))
		skip();
	d = opendir(path);
	assert_non_null(d);
	while ((f = readdir(d))) {
		struct rs_arena *a;
		struct rs_error e = {0};
		struct rs_host *h;
		char name[1024];
		int err;

		if (!strstr(f->d_name, ".xml"))
			continue;
		a = rs_arena_create(0);
		snprintf(name, sizeof(name), "%s/%s", path, f->d_name);
		err = rs_host_import(name, a, &h, &e);
		if (strstr(f->d_name, "graph.xml"))
			assert_non_null(strstr(e.what, "graph file"));
		else if (err)
			fail_msg("%s: %s", name, e.what);
		else if (rs_host_check(h, &e))
			fail_msg("%s: check: %s", name, e.what);
		rs_arena_destroy(a);
	}
	closedir(d);
}

static void test_every_published_nccl_file_is_imported_or_refused(void **state)
{
	import_folder("nccl-topo");
}

static void test_every_published_hwloc_file_is_imported(void **state)
{
	import_folder("hwloc-xml");
}

/* NVLink-C2C joins a GPU and its own processor; what no machine has is left out. */
static void test_c2c_of_a_nccl_file(void **state)
{
	static const char text[] =
		"<system version=\"1\">\n"
		"<cpu numaid=\"0\"><pci busid=\"0000:11:00.0\" class=\"0x030200\" "
		"link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"0\" sm=\"90\">"
		"<c2c bw=\"44712\" count=\"10\"/></gpu></pci></cpu>\n"
		"<cpu numaid=\"1\"><pci busid=\"0000:19:00.0\" class=\"0x030200\" "
		"link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"1\" sm=\"90\">"
		"<c2c bw=\"44712\" count=\"0\"/><c2c bw=\"-1\" count=\"10\"/></gpu></pci></cpu>\n"
		"</system>\n";
	char path[] = "/tmp/rs-c2c-XXXXXX";
	struct rs_arena *a = rs_arena_create(0);
	int fd = mkstemp(path);
	struct rs_error e = {0};
	struct rs_host *h;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	close(fd);
	assert_int_equal(rs_host_import(path, a, &h, &e), 0);
	unlink(path);
	assert_int_equal(rs_host_check(h, &e), 0);
	assert_int_equal(h->n_xlinks, 1);
	assert_int_equal(h->xlinks[0].kind, RS_XLINK_C2C);
	assert_int_equal(h->parts[h->xlinks[0].a].kind, RS_PART_GPU);
	assert_int_equal(h->parts[h->xlinks[0].b].kind, RS_PART_SOCKET);
	assert_int_equal(h->parts[h->xlinks[0].b].numa, 0);
	assert_int_equal(h->xlinks[0].rate, INT64_C(3576960000000));
	rs_arena_destroy(a);
}

static void test_routing(void **state)
{
	static const char head[] = "fabric:\n  network: {kind: single-switch, hosts: 2}\n  qos:\n";
	static const struct {
		const char *line, *words;
	} bad[] = {
		{"    hash: md5\n", "not one of: mix, crc32, xor"},
		{"    hash_fields: [src, sprt]\n", "did you mean 'sport'?"},
		{"    hash_fields: []\n", "expected one at least"},
		{"    ar_thresholds: [64kB, 32kB]\n", "each above the one before"},
		{"    ar_thresholds: [0B]\n", "each above the one before"},
		{"    ar_thresholds: [1B, 2B, 3B, 4B, 5B, 6B, 7B, 8B]\n", "7 at most"},
	};
	struct rs_fabric *f;
	char text[512];

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "%s%s", head, bad[i].line);
		refused(text, 4, bad[i].words);
	}
	snprintf(text, sizeof(text), "%s    ar_thresholds: []\n    ar_sticky: true\n", head);
	refused(text, 5, "expected ar_thresholds");
	f = load("fabric: {network: {kind: single-switch, hosts: 2}, qos: {routing: round-robin, "
		 "hash: crc32, hash_fields: [dst, qp], hash_seed: fabric, ar_thresholds: [1kB, "
		 "1MB], ar_sample: 2us, ar_sticky: true, tiers: {leaf: {hash: xor}}}}");
	assert_int_equal(f->qos.routing, RS_FABRIC_ROUND_ROBIN);
	assert_int_equal(f->qos.hash, RS_FABRIC_HASH_CRC32);
	assert_int_equal(f->qos.hash_fields, 2 | 8);
	assert_true(f->qos.hash_same && f->qos.ar_sticky);
	assert_int_equal(f->qos.ar_sample, 2 * RS_US);
	assert_int_equal(f->qos.n_ar, 2);
	assert_int_equal(f->qos.ar[1], 1000000);
	converts_to_itself(f);
	rs_fabric_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_routing),
		cmocka_unit_test(test_single_switch_of_plain_hosts),
		cmocka_unit_test(
			test_fat_tree_has_k_cubed_quarter_hosts_and_quarter_k_squared_paths),
		cmocka_unit_test(test_fat_tree_of_two_tiers_has_half_k_squared_hosts),
		cmocka_unit_test(test_switches_of_a_tier_may_differ),
		cmocka_unit_test(test_a_nic_s_buffer_holds_its_headroom),
		cmocka_unit_test(test_a_pause_outlasts_the_peer_s_response),
		cmocka_unit_test(test_leaf_spine_is_as_oversubscribed_as_asked),
		cmocka_unit_test(test_rails_join_equal_nics_and_ranks_are_beside_theirs),
		cmocka_unit_test(test_channels_are_resolved),
		cmocka_unit_test(test_a_change_makes_one_host_different),
		cmocka_unit_test(test_settings_change_values_by_path),
		cmocka_unit_test(test_written_host_with_socket_direct),
		cmocka_unit_test(test_errors_say_where_and_what_was_expected),
		cmocka_unit_test(test_islands_have_no_route),
		cmocka_unit_test(test_a_bomb_of_aliases_costs_no_more_than_its_text),
		cmocka_unit_test(test_csv_errors_name_their_line),
		cmocka_unit_test(test_a_csv_header_may_stand_behind_comments),
		cmocka_unit_test(test_more_flows_than_the_limit_are_refused_in_one_line),
		cmocka_unit_test(test_every_published_nccl_file_is_imported_or_refused),
		cmocka_unit_test(test_every_published_hwloc_file_is_imported),
		cmocka_unit_test(test_c2c_of_a_nccl_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
