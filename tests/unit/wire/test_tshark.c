/* tshark as the judge: a capture with every opcode, over IPv4 and IPv6, tagged and not: it
 * names each opcode and calls none malformed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "packets.h"
#include "wire/pcapng.h"

static char path[] = "/tmp/ripstop-tshark-XXXXXX";

static unsigned write_all(const char *to)
{
	static uint8_t bytes[RS_MAX_PAYLOAD + RS_MAX_HEADERS];
	struct rs_pcapng_writer *w;
	unsigned packets = 0;

	assert_int_equal(rs_pcapng_create(to, &w, NULL), 0);
	rs_pcapng_add_interface(w, "all opcodes");
	for (unsigned op = 0; op < 256; op++)
		for (unsigned i = 0; i < 4 && rs_opcodes[op].flags & RS_F_VALID; i++) {
			struct sample s = sample_of((uint8_t)op, 64, i & 1, i & 2);
			long n = rs_frame_encode(&s.frame, &s.packet, bytes, sizeof(bytes));

			assert_true(n > 0);
			rs_pcapng_write(w, 0, RS_US * packets++, bytes, (size_t)n);
		}
	assert_int_equal(rs_pcapng_close(w, NULL), 0);
	return packets;
}

static void test_tshark_reads_every_opcode(void **state)
{
	unsigned packets, lines = 0, opcode, bad = 0, expected = 0;
	char command[512], line[1024];
	FILE *p;

	if (system("command -v tshark >/dev/null 2>&1")) {
		print_message("tshark is not installed\n");
		skip();
	}
	packets = write_all(path);
	snprintf(command, sizeof(command),
		 "tshark -r %s --disable-protocol rpcordma -T fields -e infiniband.bth.opcode "
		 "-e _ws.malformed -e infiniband.bth.psn 2>/dev/null",
		 path);
	p = popen(command, "r");
	assert_non_null(p);
	while (fgets(line, sizeof(line), p)) {
		char rest[1024];

		if (sscanf(line, "%u%1023[^\n]", &opcode, rest) != 2 ||
		    strcmp(rest, "\t\t16702650")) {
			print_message("packet %u: %s", lines + 1, line);
			bad++;
		}
		while (!(rs_opcodes[expected].flags & RS_F_VALID))
			expected++;
		assert_int_equal(opcode, expected);
		if (++lines % 4 == 0)
			expected++;
	}
	pclose(p);
	assert_int_equal(lines, packets);
	assert_int_equal(bad, 0);
}

static int make_file(void **state)
{
	int fd = mkstemp(path);

	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tshark_reads_every_opcode),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
