/* Messages of the connection manager: real ones of Linux's rdma_cm read field by field, and kept.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "verbs/cm/mad.h"
#include "wire/frame.h"
#include "wire/pcapng.h"

enum { MADS = 16 };

struct capture {
	unsigned n;
	uint8_t mad[MADS][RS_MAD_BYTES];
};

static struct capture load(const char *name)
{
	struct capture c = {0};
	struct rs_pcap_packet k;
	struct rs_error e = {0};
	struct rs_pcap_reader *in;
	char path[512];

	snprintf(path, sizeof(path), "%s/tests/golden/wire/%s", RS_SOURCE_DIR, name);
	if (rs_pcap_open(path, &in, &e))
		fail_msg("%s", e.what);
	while (rs_pcap_next(in, &k, &e) > 0 && c.n < MADS) {
		struct rs_frame f;
		struct rs_packet p;

		if (rs_frame_decode(k.bytes, k.captured, &f, &p, NULL) == RS_DECODE_OK &&
		    p.dest_qp == 1 && p.payload_bytes == RS_MAD_BYTES)
			memcpy(c.mad[c.n++], p.payload, RS_MAD_BYTES);
	}
	rs_pcap_close(in);
	return c;
}

static void test_reads_a_request_of_linux(void **state)
{
	static const uint8_t dst[16] = {[10] = 0xff, 0xff, 10, 1, 0, 2};
	struct capture c = load("cm-rc.pcap");
	struct rs_cm_msg m;
	struct rs_cm_ip ip;

	assert_int_equal(rs_cm_decode(c.mad[0], &m), 0);
	assert_int_equal(m.kind, RS_CM_REQ);
	assert_int_equal(m.local_id, 0x2f855f91);
	assert_int_equal(m.service_id, 0x1061d2f);
	assert_int_equal(m.qpn, 0x3f);
	assert_int_equal(m.psn, 0x764c8d);
	assert_int_equal(m.responder_resources, 0x80);
	assert_int_equal(m.initiator_depth, 0x80);
	assert_int_equal(m.remote_timeout, 0x14);
	assert_int_equal(m.retry_count, 7);
	assert_int_equal(m.rnr_retry, 7);
	assert_int_equal(m.max_retries, 15);
	assert_int_equal(m.pkey, 0xffff);
	assert_int_equal(m.mtu, 5);
	assert_int_equal(m.path.ack_timeout, 0x13);
	assert_int_equal(m.path.hop_limit, 64);
	assert_memory_equal(m.path.dgid, dst, 16);
	assert_true(rs_cm_ip_decode(m.private_data, &ip));
	assert_int_equal(ip.version, 4);
	assert_int_equal(ip.port, 0xe4f9);
	assert_memory_equal(ip.dst, dst, 16);
}

static void test_reads_a_reply_of_linux(void **state)
{
	struct capture c = load("cm-rc.pcap");
	struct rs_cm_msg m;

	assert_int_equal(rs_cm_decode(c.mad[1], &m), 0);
	assert_int_equal(m.kind, RS_CM_REP);
	assert_int_equal(m.local_id, 0x2c855f91);
	assert_int_equal(m.remote_id, 0x2f855f91);
	assert_int_equal(m.psn, 0x40d2e4);
	assert_int_equal(m.ack_delay, 15);
	assert_int_equal(m.rnr_retry, 7);
	assert_int_equal(m.responder_resources, 0x80);
}

/* Byte for byte, but for the reserved bits that Linux fills from the packet rate's field. */
static void test_writes_what_it_read(void **state)
{
	static const char *const files[] = {"cm-rc.pcap", "cm-ipv6.pcap", "cm-sidr.pcap"};

	for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct capture c = load(files[i]);

		assert_true(c.n >= 2);
		for (unsigned k = 0; k < c.n; k++) {
			uint8_t again[RS_MAD_BYTES];
			struct rs_cm_msg m;

			assert_int_equal(rs_cm_decode(c.mad[k], &m), 0);
			assert_int_equal(rs_cm_encode(&m, again), 0);
			if (m.kind == RS_CM_REQ)
				c.mad[k][24 + 52 + 38] &= 0xf0;
			if (m.kind == RS_CM_REQ)
				again[24 + 52 + 38] &= 0xf0;
			assert_memory_equal(again, c.mad[k], RS_MAD_BYTES);
		}
	}
}

static void test_tells_the_kinds_of_a_connection(void **state)
{
	static const uint16_t order[] = {RS_CM_REQ, RS_CM_REP, RS_CM_RTU, RS_CM_DREQ, RS_CM_DREP};
	struct capture c = load("cm-rc.pcap");
	struct rs_cm_msg m;

	assert_int_equal(c.n, 5);
	for (unsigned i = 0; i < c.n; i++) {
		assert_int_equal(rs_cm_decode(c.mad[i], &m), 0);
		assert_int_equal(m.kind, order[i]);
	}
}

static void test_refuses_what_is_no_cm_message(void **state)
{
	struct capture c = load("cm-rc.pcap");
	struct rs_cm_msg m;

	for (unsigned at = 0; at < 4; at++) {
		uint8_t mad[RS_MAD_BYTES];

		memcpy(mad, c.mad[0], sizeof(mad));
		mad[at] ^= 1;
		assert_int_equal(rs_cm_decode(mad, &m), -EPROTO);
	}
	for (unsigned kind = 0; kind < 0x10000; kind++) {
		c.mad[0][16] = (uint8_t)(kind >> 8);
		c.mad[0][17] = (uint8_t)kind;
		assert_int_equal(rs_cm_decode(c.mad[0], &m),
				 kind >= RS_CM_REQ && kind <= RS_CM_SIDR_REP ? 0 : -EPROTO);
	}
}

static void test_refuses_private_data_that_does_not_fit(void **state)
{
	struct rs_cm_msg m = {.kind = RS_CM_REQ, .private_length = 92};
	uint8_t mad[RS_MAD_BYTES];

	assert_int_equal(rs_cm_encode(&m, mad), 0);
	m.private_length = 93;
	assert_int_equal(rs_cm_encode(&m, mad), -EMSGSIZE);
	m.kind = 0x19;
	assert_int_equal(rs_cm_encode(&m, mad), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_a_request_of_linux),
		cmocka_unit_test(test_reads_a_reply_of_linux),
		cmocka_unit_test(test_writes_what_it_read),
		cmocka_unit_test(test_tells_the_kinds_of_a_connection),
		cmocka_unit_test(test_refuses_what_is_no_cm_message),
		cmocka_unit_test(test_refuses_private_data_that_does_not_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
