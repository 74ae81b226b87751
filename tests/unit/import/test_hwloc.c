/* hwloc's XML against hwloc itself: what this tree reads out of a file is what the library shows of
 * it. Formats newer than the library are read too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <hwloc.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "elsewhere.h"
#include "import/import.h"

#define SEEDS RS_SOURCE_DIR "/tests/fuzz/corpus/fuzz_hwloc"

static const struct rs_part *by_busid(const struct rs_host *h, const char *busid)
{
	for (int i = 0; i < h->n_parts; i++)
		if (h->parts[i].busid && !strcmp(h->parts[i].busid, busid))
			return &h->parts[i];
	return NULL;
}

static int socket_above(const struct rs_host *h, const struct rs_part *p)
{
	int i = p->parent;

	while (i >= 0 && h->parts[i].kind != RS_PART_SOCKET)
		i = h->parts[i].parent;
	return i;
}

static hwloc_topology_t by_hwloc(const char *path)
{
	hwloc_topology_t t;

	assert_int_equal(hwloc_topology_init(&t), 0);
	assert_int_equal(hwloc_topology_set_xml(t, path), 0);
	hwloc_topology_set_io_types_filter(t, HWLOC_TYPE_FILTER_KEEP_ALL);
	assert_int_equal(hwloc_topology_load(t), 0);
	return t;
}

static void same_device(const struct rs_host *h, hwloc_topology_t t, hwloc_obj_t o)
{
	const struct hwloc_pcidev_attr_s *pci = &o->attr->pcidev;
	hwloc_obj_t over = hwloc_get_non_io_ancestor_obj(t, o);
	const struct rs_part *p;
	char busid[32];
	int socket;

	snprintf(busid, sizeof(busid), "%04x:%02x:%02x.%x", (unsigned)pci->domain, pci->bus,
		 pci->dev, pci->func);
	p = by_busid(h, busid);
	if (!p)
		fail_msg("%s is not there", busid);
	socket = socket_above(h, p);
	while (over && over->type != HWLOC_OBJ_PACKAGE)
		over = over->parent;
	if (over)
		assert_int_equal(socket, over->logical_index);
	if (p->up.gen)
		assert_true(rs_pcie_rate(&p->up) > pci->linkspeed * 8e9 * 0.97 &&
			    rs_pcie_rate(&p->up) < pci->linkspeed * 8e9 * 1.03);
	else /* 0, or what no link has: 0.1, 0.2, 0.4 GB/s stand in old files */
		assert_true(pci->linkspeed < 0.5);
}

static struct rs_host *by_us(const char *path, struct rs_arena *a)
{
	struct rs_error e = {0};
	struct rs_host *h;

	if (rs_host_import(path, a, &h, &e))
		fail_msg("%s:%d: %s", path, e.line, e.what);
	return h;
}

static void same_as_hwloc(const char *path)
{
	struct rs_arena *a = rs_arena_create(0);
	struct rs_host *h = by_us(path, a);
	hwloc_topology_t t = by_hwloc(path);
	int devices = 0, bridges = 0, ours = 0, sockets = 0;

	for (hwloc_obj_t o = NULL; (o = hwloc_get_next_pcidev(t, o)); devices++)
		same_device(h, t, o);
	for (hwloc_obj_t o = NULL; (o = hwloc_get_next_bridge(t, o));)
		bridges += o->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI;
	for (int i = 0; i < h->n_parts; i++) {
		sockets += h->parts[i].kind == RS_PART_SOCKET;
		ours += h->parts[i].kind != RS_PART_SOCKET;
	}
	assert_int_equal(ours, devices + bridges);
	assert_int_equal(sockets, hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PACKAGE));
	hwloc_topology_destroy(t);
	rs_arena_destroy(a);
}

static void test_a_written_topology_is_what_hwloc_shows(void **state)
{
	same_as_hwloc(SEEDS "/written.xml");
}

static void test_a_published_topology_is_what_hwloc_shows(void **state)
{
	char path[512];

	if (!elsewhere("hwloc-xml/devel09-pci.xml", path, sizeof(path)))
		skip();
	same_as_hwloc(path);
}

/* Format 3: a set of kinds for an OpenFabrics device, sets with empty words. */
static void test_format_3_is_read_too(void **state)
{
	struct rs_arena *a = rs_arena_create(0);
	struct rs_host *h = by_us(SEEDS "/format3.xml", a);
	const struct rs_part *nic = by_busid(h, "0001:01:00.0");

	assert_non_null(nic);
	assert_int_equal(nic->kind, RS_PART_NIC);
	assert_int_equal(socket_above(h, nic), 1);
	assert_int_equal(h->parts[1].numa, 32);
	assert_int_equal(by_busid(h, "0001:01:00.1")->kind, RS_PART_OTHER);
	assert_string_equal(h->cpu, "genoa");
	rs_arena_destroy(a);
}

/* Before format 2 a package was a socket, and said so. */
static void test_format_1_is_read_too(void **state)
{
	struct rs_arena *a = rs_arena_create(0);
	struct rs_host *h = by_us(SEEDS "/format1.xml", a);

	assert_int_equal(h->parts[0].kind, RS_PART_SOCKET);
	assert_int_equal(socket_above(h, by_busid(h, "0000:03:00.0")), 0);
	assert_int_equal(by_busid(h, "0000:03:00.0")->kind, RS_PART_NIC);
	rs_arena_destroy(a);
}

/* A board's own display is no GPU, whoever made it. */
static void test_only_displays_that_compute_are_gpus(void **state)
{
	static const struct {
		const char *type;
		enum rs_part_kind kind;
	} display[] = {
		{"0300 [1002:515e] [1028:01e6] 02", RS_PART_OTHER}, /* ES1000 */
		{"0300 [102b:0534] [1028:01e6] 02", RS_PART_OTHER}, /* Matrox G200 */
		{"0300 [1002:66a1] [1002:0834] 02", RS_PART_GPU},   /* Instinct MI50 */
		{"0380 [1002:740c] [1002:0b0c] 01", RS_PART_GPU},   /* Instinct MI250X */
		{"0302 [10de:2330] [10de:16c1] a1", RS_PART_GPU},   /* H100 */
	};

	for (unsigned i = 0; i < sizeof(display) / sizeof(*display); i++) {
		struct rs_arena *a = rs_arena_create(0);
		struct rs_error e = {0};
		struct rs_host *h;
		char text[1024];

		snprintf(text, sizeof(text),
			 "<topology version='2.0'><object type='Machine' cpuset='0x1'>"
			 "<object type='Package' cpuset='0x1'/>"
			 "<object type='Bridge' bridge_type='0-1' depth='0' "
			 "bridge_pci='0000:[00-ff]'>"
			 "<object type='PCIDev' pci_busid='0000:03:00.0' pci_type='%s' "
			 "pci_link_speed='4.0'/></object></object></topology>",
			 display[i].type);
		if (rs_host_import_text(text, strlen(text), "t.xml", a, &h, &e))
			fail_msg("%s", e.what);
		assert_non_null(by_busid(h, "0000:03:00.0"));
		assert_int_equal(by_busid(h, "0000:03:00.0")->kind, display[i].kind);
		rs_arena_destroy(a);
	}
}

static void refused(const char *text, const char *words)
{
	struct rs_arena *a = rs_arena_create(0);
	struct rs_error e = {0};
	struct rs_host *h;

	assert_true(rs_host_import_text(text, strlen(text), "t.xml", a, &h, &e) < 0);
	assert_null(h);
	assert_true(e.line > 0);
	if (!strstr(e.what, words))
		fail_msg("expected '%s', got: %s", words, e.what);
	rs_arena_destroy(a);
}

static void test_hostile_xml_is_refused_with_a_reason(void **state)
{
	char wide[256 * 8 + 128] = "<topology version='3.0'><object type='Package' cpuset='";

	refused("<topology version='2.0'/>", "without objects");
	refused("<topology version='2.0'><object type='Machine'>", "not XML");
	refused("<!DOCTYPE topology [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;'>]>"
		"<topology version='&b;'><object type='Machine'/></topology>",
		"entities");
	for (int i = 0; i < 300; i++)
		strcat(wide, "0x1,");
	strcat(wide, "'/></topology>");
	refused(wide, "more than 8192 CPUs");
	refused("\xff\xfe", "not XML");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_written_topology_is_what_hwloc_shows),
		cmocka_unit_test(test_a_published_topology_is_what_hwloc_shows),
		cmocka_unit_test(test_format_3_is_read_too),
		cmocka_unit_test(test_format_1_is_read_too),
		cmocka_unit_test(test_only_displays_that_compute_are_gpus),
		cmocka_unit_test(test_hostile_xml_is_refused_with_a_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
