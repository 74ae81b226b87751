/* Real traffic of Linux soft-RoCE: decodes, has the right ICRC, encodes to the same bytes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include "wire/frame.h"
#include "wire/pcapng.h"

struct tally {
	unsigned packets, bad_icrc;
	bool seen[256];
};

static void check_packet(const struct rs_pcap_packet *k, struct tally *t)
{
	static uint8_t again[RS_MAX_PAYLOAD + RS_MAX_HEADERS + RS_TRAILER_MAX];
	struct rs_error why = {0};
	struct rs_packet p;
	struct rs_frame f;
	size_t same = k->captured;

	if (rs_frame_decode(k->bytes, k->captured, &f, &p, &why))
		fail_msg("packet %u: %s", t->packets + 1, why.what);
	t->packets++;
	t->seen[p.opcode] = true;
	t->bad_icrc += !f.icrc_ok;
	if (!f.icrc_ok)
		same -= RS_ICRC_BYTES;
	assert_int_equal(rs_frame_encode(&f, &p, again, sizeof(again)), k->captured);
	assert_memory_equal(again, k->bytes, same);
}

static void check_file(const char *path, struct tally *all)
{
	struct tally t = {0};
	struct rs_error e = {0};
	struct rs_pcap_reader *r;
	struct rs_pcap_packet k;
	int got;

	if (rs_pcap_open(path, &r, &e))
		fail_msg("%s", e.what);
	while ((got = rs_pcap_next(r, &k, &e)) > 0)
		check_packet(&k, &t);
	rs_pcap_close(r);
	if (got)
		fail_msg("%s", e.what);
	assert_true(t.packets > 0);
	assert_int_equal(t.bad_icrc, strstr(path, "rc-flush") ? 2 : 0);
	all->packets += t.packets;
	for (unsigned i = 0; i < 256; i++)
		all->seen[i] |= t.seen[i];
}

static struct tally check_folder(const char *pattern)
{
	struct tally all = {0};
	glob_t g;

	if (!glob(pattern, 0, NULL, &g))
		for (size_t i = 0; i < g.gl_pathc; i++)
			check_file(g.gl_pathv[i], &all);
	globfree(&g);
	return all;
}

static void test_captures_encode_to_the_same_bytes(void **state)
{
	struct tally all = check_folder(RS_SOURCE_DIR "/tests/golden/wire/*.pcap");

	assert_true(all.packets > 500);
}

/* UD and UC beside every operation of RC. */
static void test_captures_cover_the_opcodes(void **state)
{
	struct tally all = check_folder(RS_SOURCE_DIR "/tests/golden/wire/*.pcap");

	for (unsigned i = 0; i < 0x80; i++)
		if (rs_opcodes[i].flags & RS_F_VALID && !all.seen[i])
			fail_msg("no capture has %s", rs_opcodes[i].name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_captures_encode_to_the_same_bytes),
		cmocka_unit_test(test_captures_cover_the_opcodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
