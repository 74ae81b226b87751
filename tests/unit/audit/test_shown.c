/* The table of outputs: templates, and what each block of tests/data/shown.txt tells; tables,
 * pairs and trees that no row knows (tests/data/grid.txt), and their vocabulary. */
#include <stdlib.h>
#include "audit/facts/message.h"
#include "audit/read/grid.h"
#include "audit/read/shown.h"
#include "audit/read/terms.h"
#include "reading.h"

static bool like(const char *template, const char *line, double *number, char *name)
{
	*number = -1;
	return rs_shown_fits(template, line, number, name, 80);
}

static void test_templates(void **state)
{
	double n;
	char name[80];

	(void)state;
	assert_true(like("^@ N/A$", "Ethernet8    N/A", &n, name));
	assert_string_equal(name, "Ethernet8");
	assert_false(like("^@ N/A$", "Ethernet8    N/A  3", &n, name));
	assert_true(like("CRC: #", "      CRC: 912,331, Giants: 0", &n, name));
	assert_true(n == 912331);
	assert_true(like("(dropped #,", "Sent 12 bytes (dropped 81K, overlimits 0", &n, name));
	assert_true(n == 81000);
	assert_true(like("^RX#Power: #dBm", "RX2Power: -23.01dBm", &n, name));
	assert_true(n == -23.01);
	/* a word ends where the template's does, a number is no part of one */
	assert_false(like("^oper-status down", "oper-status downstream", &n, name));
	assert_false(like("^Link #: up", "Link 4x: up", &n, name));
	assert_true(like("^LinkWidthActive~1X", "LinkWidthActive:.................1X", &n, name));
	assert_true(like("^@ * down up ", "Eth0  1,2  400G  rs  down    up   QSFP", &n, name));
	assert_false(like("^@ * down up ", "Eth0  1,2  400G  rs  down  down   QSFP", &n, name));
}

/* A line made to keep a template busy ends. */
static void test_hostile_line_ends(void **state)
{
	char line[4000], name[80];
	double n;

	(void)state;
	memset(line, 'a', sizeof(line) - 1);
	for (size_t i = 0; i < sizeof(line) - 1; i += 2)
		line[i] = ' ';
	line[sizeof(line) - 1] = '\0';
	assert_false(like("^@ * a * a * a * b", line, &n, name));
}

static void test_rows_are_well_formed(void **state)
{
	(void)state;
	for (const struct rs_shown *b = rs_shown_blocks; b->name; b++) {
		assert_true(b->command || b->begins[0]);
		assert_non_null(b->row);
		for (const struct rs_shown_row *r = b->row; r->like; r++) {
			if (!r->message)
				continue;
			if (!rs_message_find(r->message))
				fail_msg("%s: no message %s", b->name, r->message);
			assert_true(r->when != RS_SHOWN_SOME || strchr(r->like, '#'));
		}
	}
}

/* "==== NAME: KEY..." and a text: it tells these messages and no other. */
static void check(const char *head, const char *text, size_t size)
{
	struct rs_input in = {.host = "h", .path = "x", .inner = "x", .data = text, .size = size};
	struct rs_audit *a;
	const struct rs_fact *f;
	char got[512] = "";
	const char *want = strchr(head, ':') + 1;
	uint32_t at = 0;

	assert_int_equal(rs_audit_create(&a), 0);
	assert_true(rs_read_input(a, &in) >= 0);
	rs_facts_seal(a->facts);
	for (uint32_t h = 0; h < rs_facts_hosts(a->facts); h++)
		for (at = 0; (f = rs_facts_next(a->facts, &at, rs_facts_host(a->facts, h),
						"message", ""));) {
			if (strcmp(f->subject, "message") != 0 || strstr(got, f->name))
				continue;
			snprintf(got + strlen(got), sizeof(got) - strlen(got), " %s", f->name);
		}
	if (getenv("SHOWN_PRINT"))
		printf("==== %.*s:%s\n", (int)(strchr(head, ':') - head), head, got);
	else if (strncmp(got, want, strlen(got)) || want[strlen(got)] != '\n')
		fail_msg("%.*s: told%s", (int)strcspn(head, "\n"), head, got);
	rs_audit_destroy(a);
}

static void blocks_of(const char *path, unsigned least)
{
	FILE *f = fopen(path, "r");
	static char all[1 << 17];
	size_t n;
	unsigned blocks = 0;

	assert_non_null(f);
	n = fread(all, 1, sizeof(all) - 1, f);
	fclose(f);
	assert_true(n < sizeof(all) - 1);
	all[n] = '\0';
	for (char *p = strstr(all, "==== "), *end; p; p = end) {
		char *text = strchr(p, '\n') + 1, *copy;

		end = strstr(text, "==== ");
		n = end ? (size_t)(end - text) : strlen(text);
		copy = strndup(text, n);
		assert_non_null(copy);
		check(p + 5, copy, n);
		free(copy);
		blocks++;
	}
	assert_true(blocks > least);
}

static void test_each_block_tells_its_states(void **state)
{
	(void)state;
	blocks_of(RS_SOURCE_DIR "/tests/data/shown.txt", 50);
}

/* The forms of outputs that no row of the table knows: by names of columns and keys alone. */
static void test_each_form_tells_its_states(void **state)
{
	(void)state;
	blocks_of(RS_SOURCE_DIR "/tests/data/grid.txt", 40);
}

static void test_documents_tell_their_states(void **state)
{
	(void)state;
	blocks_of(RS_SOURCE_DIR "/tests/data/grid_json.txt", 20);
}

static void test_ports_by_their_names(void **state)
{
	static const char *const ports[] = {"Ethernet0",  "Et1/1",  "et-0/0/1:2",
					    "400GE1/0/1", "swp1s2", "HundredGigE0/0/0/1",
					    "Eth-Trunk1", "Po10",   "ethernet-1/1"};
	static const char *const others[] = {"eth0",     "mlx5_0/1",    "ens1f0np0", "10.0.0.0/24",
					     "and/or",   "23/11/2026",  "0/0",       "GPU0",
					     "5.15.0-1", "tcp/4791/in", "/sys/class"};

	(void)state;
	for (unsigned i = 0; i < sizeof(ports) / sizeof(*ports); i++)
		assert_true(rs_grid_port(ports[i], false));
	for (unsigned i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(rs_grid_port(others[i], true));
	assert_true(rs_grid_port("1/1/1", true));
	assert_false(rs_grid_port("1/1/1", false));
}

/* A count is a fault by its share of the frames, or by itself where they are not known. */
static void test_counts_are_judged_by_their_share(void **state)
{
	struct rs_terms t = rs_terms_of(" rx drop ", " ");
	double n;

	(void)state;
	assert_string_equal(rs_term_judge(&t, "17,614", 458e9), "drops-few");
	assert_string_equal(rs_term_judge(&t, "812,331", 912e6), "drops-counted");
	assert_string_equal(rs_term_judge(&t, "99", 1e3), "drops-few");
	assert_string_equal(rs_term_judge(&t, "1000", -1), "drops-counted");
	assert_string_equal(rs_term_judge(&t, "12", -1), "drops-few");
	assert_null(rs_term_judge(&t, "0", -1));
	assert_null(rs_term_judge(&t, "N/A", -1));
	t = rs_terms_of(" drop probability ", " ");
	assert_null(rs_term_judge(&t, "5000", -1));
	assert_true(rs_term_number("0x00912331 (9577265) Valid", &n) && n == 9577265);
	assert_true(rs_term_number("3E-4", &n) && n == 3e-4);
	assert_true(rs_term_number("-40.00dBm", &n) && n == -40);
	assert_false(rs_term_number("400GE1/0/1", &n));
	assert_false(rs_term_number("10.0.0.1", &n));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_templates),
		cmocka_unit_test(test_hostile_line_ends),
		cmocka_unit_test(test_rows_are_well_formed),
		cmocka_unit_test(test_each_block_tells_its_states),
		cmocka_unit_test(test_each_form_tells_its_states),
		cmocka_unit_test(test_documents_tell_their_states),
		cmocka_unit_test(test_ports_by_their_names),
		cmocka_unit_test(test_counts_are_judged_by_their_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
