/* Captures: what is written is read back; the other dialects (classic pcap in both byte orders,
 * both resolutions; pcapng of the other byte order, other resolutions, simple packets) are read;
 * every broken file ends in one error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/random.h"
#include "base/bytes.h"
#include "wire/pcapng.h"

static char path[] = "/tmp/ripstop-pcapng-XXXXXX";

static int make_file(void **state)
{
	int fd = mkstemp(path);

	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	return unlink(path);
}

static struct rs_pcapng_writer *create(void)
{
	struct rs_pcapng_writer *w;

	assert_int_equal(rs_pcapng_create(path, &w, NULL), 0);
	return w;
}

static void test_what_is_written_is_read_back(void **state)
{
	struct rs_pcapng_writer *w = create();
	struct rs_random r = rs_random_stream(3, 0, 0);
	struct rs_pcap_reader *in;
	struct rs_pcap_packet p;
	uint8_t frame[2000];

	assert_int_equal(rs_pcapng_add_interface(w, "h0"), 0);
	assert_int_equal(rs_pcapng_add_interface(w, ""), 1);
	assert_int_equal(rs_pcapng_add_interface(w, "leaf0 to spine1, a name of some length"), 2);
	for (unsigned i = 0; i < sizeof(frame); i++)
		frame[i] = (uint8_t)rs_random_u64(&r);
	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(
			rs_pcapng_write(w, (int)(i % 3), i * 123456789L, frame + i, 60 + i % 900),
			0);
	assert_int_equal(rs_pcapng_close(w, NULL), 0);

	assert_int_equal(rs_pcap_open(path, &in, NULL), 0);
	for (unsigned i = 0; i < 1000; i++) {
		assert_int_equal(rs_pcap_next(in, &p, NULL), 1);
		assert_int_equal(p.interface, i % 3);
		assert_true(p.when_ns == i * 123456789L / 1000);
		assert_int_equal(p.captured, 60 + i % 900);
		assert_int_equal(p.original, p.captured);
		assert_memory_equal(p.bytes, frame + i, p.captured);
	}
	assert_int_equal(rs_pcap_next(in, &p, NULL), 0);
	rs_pcap_close(in);
}

static void test_the_writer_refuses_what_it_cannot_say(void **state)
{
	struct rs_pcapng_writer *w = create();
	static uint8_t frame[70000];

	assert_int_equal(rs_pcapng_write(w, 0, 0, frame, 60), -EINVAL);
	assert_int_equal(rs_pcapng_add_interface(w, "h0"), 0);
	assert_int_equal(rs_pcapng_write(w, 1, 0, frame, 60), -EINVAL);
	assert_int_equal(rs_pcapng_write(w, -1, 0, frame, 60), -EINVAL);
	assert_int_equal(rs_pcapng_write(w, 0, -1, frame, 60), -EINVAL);
	assert_int_equal(rs_pcapng_write(w, 0, 0, frame, sizeof(frame)), -EINVAL);
	assert_int_equal(rs_pcapng_close(w, NULL), 0);
}

static void test_a_full_disk_is_reported_at_the_end(void **state)
{
	struct rs_pcapng_writer *w;
	struct rs_error e = {0};
	uint8_t frame[1500] = {0};

	if (rs_pcapng_create("/dev/full", &w, &e))
		skip();
	rs_pcapng_add_interface(w, "h0");
	for (unsigned i = 0; i < 100; i++)
		rs_pcapng_write(w, 0, 0, frame, sizeof(frame));
	assert_int_equal(rs_pcapng_close(w, &e), -ENOSPC);
	assert_non_null(strstr(e.what, "/dev/full"));
	assert_int_equal(rs_pcapng_create("/nonexistent/x", &w, NULL), -ENOENT);
}

/* A file put together word by word, in either byte order. */
struct file {
	uint8_t b[1024];
	size_t n;
	bool little;
};

static void w32(struct file *f, uint32_t v)
{
	if (f->little)
		rs_put32_le(f->b + f->n, v);
	else
		rs_put32(f->b + f->n, v);
	f->n += 4;
}

static void w16(struct file *f, uint16_t v)
{
	rs_put16(f->b + f->n, f->little ? (uint16_t)(v << 8 | v >> 8) : v);
	f->n += 2;
}

static void bytes(struct file *f, const void *b, size_t n)
{
	memcpy(f->b + f->n, b, n);
	f->n += n;
}

static int first(const struct file *f, struct rs_pcap_packet *p, struct rs_error *e,
		 struct rs_pcap_reader **r)
{
	int err = rs_pcap_open_memory(f->b, f->n, "f", r, e);

	return err ? err : rs_pcap_next(*r, p, e);
}

static struct file classic(bool little, bool nano, uint32_t fraction)
{
	struct file f = {.little = little};

	w32(&f, nano ? 0xa1b23c4d : 0xa1b2c3d4);
	w16(&f, 2);
	w16(&f, 4);
	w32(&f, 0);
	w32(&f, 0);
	w32(&f, 65535);
	w32(&f, 1);
	w32(&f, 1700000000);
	w32(&f, fraction);
	w32(&f, 4);
	w32(&f, 90);
	bytes(&f, "abcd", 4);
	return f;
}

static void test_classic_pcap_in_both_orders_and_resolutions(void **state)
{
	for (unsigned i = 0; i < 4; i++) {
		bool nano = i & 2;
		struct file f = classic(i & 1, nano, 123456);
		struct rs_pcap_reader *r;
		struct rs_pcap_packet p;

		assert_int_equal(first(&f, &p, NULL, &r), 1);
		assert_true(p.when_ns ==
			    INT64_C(1700000000000000000) + (nano ? 123456 : 123456000));
		assert_int_equal(p.captured, 4);
		assert_int_equal(p.original, 90);
		assert_memory_equal(p.bytes, "abcd", 4);
		assert_int_equal(rs_pcap_next(r, &p, NULL), 0);
		rs_pcap_close(r);
	}
}

static void section(struct file *f)
{
	w32(f, 0x0a0d0d0a);
	w32(f, 28);
	w32(f, 0x1a2b3c4d);
	w16(f, 1);
	w16(f, 0);
	w32(f, UINT32_MAX);
	w32(f, UINT32_MAX);
	w32(f, 28);
}

/* resolution and offset: of if_tsresol and if_tsoffset. */
static void interface(struct file *f, uint16_t link, uint32_t snaplen, uint8_t resolution,
		      uint64_t offset)
{
	uint32_t halves[2] = {(uint32_t)(offset >> 32), (uint32_t)offset};

	w32(f, 1);
	w32(f, 44);
	w16(f, link);
	w16(f, 0);
	w32(f, snaplen);
	w16(f, 9);
	w16(f, 1);
	bytes(f, (uint8_t[4]){resolution}, 4);
	w16(f, 14);
	w16(f, 8);
	w32(f, halves[f->little]);
	w32(f, halves[!f->little]);
	w32(f, 0);
	w32(f, 44);
}

static void enhanced(struct file *f, uint32_t interface_number, uint64_t when)
{
	w32(f, 6);
	w32(f, 36);
	w32(f, interface_number);
	w32(f, (uint32_t)(when >> 32));
	w32(f, (uint32_t)when);
	w32(f, 3);
	w32(f, 64);
	bytes(f, "xyz\0", 4);
	w32(f, 36);
}

static void simple(struct file *f)
{
	w32(f, 3);
	w32(f, 20);
	w32(f, 500);
	bytes(f, "simp", 4);
	w32(f, 20);
}

static void unknown_block(struct file *f)
{
	w32(f, 0x0bad);
	w32(f, 16);
	w32(f, 1);
	w32(f, 16);
}

static void reads_time(uint8_t resolution, uint64_t offset, uint64_t units, int64_t expected)
{
	for (unsigned little = 0; little < 2; little++) {
		struct file f = {.little = little};
		struct rs_pcap_reader *r;
		struct rs_pcap_packet p;

		section(&f);
		unknown_block(&f);
		interface(&f, 1, 0, resolution, offset);
		enhanced(&f, 0, units);
		assert_int_equal(first(&f, &p, NULL, &r), 1);
		assert_true(p.when_ns == expected);
		assert_memory_equal(p.bytes, "xyz", 3);
		rs_pcap_close(r);
	}
}

static void test_pcapng_times_of_any_resolution(void **state)
{
	reads_time(6, 0, 5, 5000);
	reads_time(9, 0, 5, 5);
	reads_time(12, 0, 5999, 5);
	reads_time(0, 0, 7, INT64_C(7000000000));
	reads_time(3, 100, 1, INT64_C(100001000000));
	reads_time(0x80 | 10, 0, 512, 500000000);
	reads_time(9, (uint64_t)-2, UINT64_C(3000000000), 1000000000);
}

static void test_a_simple_packet_is_cut_at_the_snap_length(void **state)
{
	struct file f = {.little = true};
	struct rs_pcap_reader *r;
	struct rs_pcap_packet p;

	section(&f);
	interface(&f, 1, 4, 6, 0);
	simple(&f);
	assert_int_equal(first(&f, &p, NULL, &r), 1);
	assert_int_equal(p.captured, 4);
	assert_int_equal(p.original, 500);
	rs_pcap_close(r);
}

/* A second section may have the other byte order, and begins without interfaces. */
static void test_a_second_section_starts_anew(void **state)
{
	struct file f = {.little = true};
	struct rs_pcap_reader *r;
	struct rs_pcap_packet p;
	struct rs_error e = {0};

	section(&f);
	interface(&f, 1, 0, 9, 0);
	enhanced(&f, 0, 1);
	f.little = false;
	section(&f);
	interface(&f, 1, 0, 6, 0);
	enhanced(&f, 0, 1);
	section(&f);
	enhanced(&f, 0, 1);
	assert_int_equal(first(&f, &p, NULL, &r), 1);
	assert_true(p.when_ns == 1);
	assert_int_equal(rs_pcap_next(r, &p, NULL), 1);
	assert_true(p.when_ns == 1000);
	assert_int_equal(rs_pcap_next(r, &p, &e), -EBADMSG);
	assert_non_null(strstr(e.what, "interface"));
	assert_int_equal(rs_pcap_next(r, &p, NULL), 0);
	rs_pcap_close(r);
}

static void refused(struct file *f, int code, const char *words)
{
	struct rs_pcap_reader *r = NULL;
	struct rs_pcap_packet p;
	struct rs_error e = {0};

	assert_int_equal(first(f, &p, &e, &r), code);
	if (!strstr(e.what, words))
		fail_msg("expected '%s', got '%s'", words, e.what);
	rs_pcap_close(r);
}

static struct file one_packet(void)
{
	struct file f = {.little = true};

	section(&f);
	interface(&f, 1, 0, 9, 0);
	enhanced(&f, 0, 1);
	return f;
}

enum { AT_INTERFACE = 28, AT_PACKET = 28 + 44 };

static void test_broken_files_are_refused_with_the_field(void **state)
{
	struct file f = classic(true, false, 1000000);

	refused(&f, -EBADMSG, "fraction");
	f = classic(true, false, 0);
	rs_put32_le(f.b + 20, 105); /* 802.11 */
	refused(&f, -EPROTONOSUPPORT, "link type");
	f = classic(true, false, 0);
	rs_put32_le(f.b + 32, 5);
	refused(&f, -ENODATA, "ends in the middle of packet 1");
	rs_put32_le(f.b + 32, 0x7fffffff);
	refused(&f, -EBADMSG, "captured length");
	f = (struct file){.b = "GIF89a", .n = 6};
	refused(&f, -EBADMSG, "neither pcap nor pcapng");
	f = one_packet();
	f.b[8] = 0;
	refused(&f, -EBADMSG, "byte-order");
	f = one_packet();
	f.b[12] = 2;
	refused(&f, -EBADMSG, "version");
	f = one_packet();
	rs_put32_le(f.b + AT_INTERFACE + 4, 43);
	refused(&f, -EBADMSG, "block length");
	f = one_packet();
	rs_put32_le(f.b + AT_INTERFACE + 40, 48);
	refused(&f, -EBADMSG, "repeated");
	f = one_packet();
	f.b[AT_INTERFACE + 18] = 200; /* the option's length */
	refused(&f, -EBADMSG, "option length");
	f = one_packet();
	f.b[AT_INTERFACE + 20] = 19;
	refused(&f, -EBADMSG, "time");
	f = one_packet();
	f.b[AT_PACKET + 8] = 1;
	refused(&f, -EBADMSG, "interface");
	f = one_packet();
	f.b[AT_PACKET + 20] = 5;
	refused(&f, -EBADMSG, "captured length");
}

/* Nothing is waited for: a FIFO that nobody writes to would be for ever. */
static void test_what_is_no_file_is_refused_at_once(void **state)
{
	static const char *const none[] = {"/tmp", "/dev/zero", "/nonexistent/x.pcap"};
	struct rs_pcap_reader *r = NULL;
	struct rs_error e;
	char fifo[] = "/tmp/ripstop-fifo-XXXXXX";

	for (unsigned i = 0; i < 3; i++) {
		e = (struct rs_error){0};
		assert_int_equal(rs_pcap_open(none[i], &r, &e), i < 2 ? -EINVAL : -ENOENT);
		assert_non_null(strstr(e.what, none[i]));
	}
	assert_int_equal(close(mkstemp(fifo)), 0);
	assert_int_equal(rs_pcap_open(fifo, &r, NULL), -EBADMSG); /* empty */
	unlink(fifo);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(rs_pcap_open(fifo, &r, NULL), -EINVAL);
	unlink(fifo);
	assert_null(r);
}

static void test_every_prefix_ends_in_a_packet_or_an_error(void **state)
{
	struct file files[] = {one_packet(), classic(false, true, 1)};

	for (unsigned i = 0; i < 2; i++)
		for (size_t n = 0; n < files[i].n; n++) {
			struct file f = files[i];
			struct rs_pcap_reader *r = NULL;
			struct rs_pcap_packet p;
			int got;

			f.n = n;
			got = first(&f, &p, NULL, &r);
			assert_true(got <= 0);
			rs_pcap_close(r);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_written_is_read_back),
		cmocka_unit_test(test_the_writer_refuses_what_it_cannot_say),
		cmocka_unit_test(test_a_full_disk_is_reported_at_the_end),
		cmocka_unit_test(test_classic_pcap_in_both_orders_and_resolutions),
		cmocka_unit_test(test_pcapng_times_of_any_resolution),
		cmocka_unit_test(test_a_simple_packet_is_cut_at_the_snap_length),
		cmocka_unit_test(test_a_second_section_starts_anew),
		cmocka_unit_test(test_broken_files_are_refused_with_the_field),
		cmocka_unit_test(test_what_is_no_file_is_refused_at_once),
		cmocka_unit_test(test_every_prefix_ends_in_a_packet_or_an_error),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
