/* A page with a report in it: what `ripstop sim --html` and `ripstop compare --html` write. */
#include "cli/page.h"
#include <errno.h>
#include <isa-l/igzip_lib.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "report/report.h"

enum {
	/* a longer report is packed, so that the page of a large run can be sent and opened */
	PLAIN_MAX = 512 << 10,
	/* divisible by 3: base64 has no padding but at the end */
	CHUNK = 48 << 10,
};

/* In a script element only '<' can end the element or open a comment (HTML, 13.2.5.4). */
static void put_json(const struct rs_page_text *t, FILE *out)
{
	const char *p = t->at, *end = t->at + t->bytes, *less;

	for (; (less = memchr(p, '<', (size_t)(end - p))); p = less + 1) {
		fwrite(p, 1, (size_t)(less - p), out);
		fputs("\\u003c", out);
	}
	fwrite(p, 1, (size_t)(end - p), out);
}

/* RFC 4648, section 4. */
static void put_base64(const uint8_t *p, size_t n, FILE *out)
{
	static const char digit[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (; n; n -= n < 3 ? n : 3, p += 3) {
		uint32_t v = (uint32_t)p[0] << 16 | (n > 1 ? (uint32_t)p[1] << 8 : 0) |
			     (n > 2 ? p[2] : 0);

		fputc(digit[v >> 18], out);
		fputc(digit[v >> 12 & 63], out);
		fputc(n > 1 ? digit[v >> 6 & 63] : '=', out);
		fputc(n > 2 ? digit[v & 63] : '=', out);
	}
}

/* As gzip (RFC 1952), in base64. */
static int put_packed(const struct rs_page_text *t, FILE *out)
{
	struct isal_zstream z;
	uint8_t *level = malloc(ISAL_DEF_LVL3_DEFAULT), *chunk = malloc(CHUNK);
	int err = !level || !chunk ? -ENOMEM : t->bytes > UINT32_MAX ? -EFBIG : 0;

	isal_deflate_init(&z);
	z.gzip_flag = IGZIP_GZIP;
	z.level = 3;
	z.level_buf = level;
	z.level_buf_size = ISAL_DEF_LVL3_DEFAULT;
	z.next_in = (uint8_t *)t->at;
	z.avail_in = (uint32_t)t->bytes;
	z.end_of_stream = 1;
	/* every chunk but the last is full, since all of the input is there */
	while (!err && z.internal_state.state != ZSTATE_END) {
		z.next_out = chunk;
		z.avail_out = CHUNK;
		if (isal_deflate(&z) != COMP_OK)
			err = -EIO;
		put_base64(chunk, CHUNK - z.avail_out, out);
	}
	free(level);
	free(chunk);
	return err;
}

static int put_script(const char *id, const struct rs_page_text *t, FILE *out)
{
	bool packed = t->bytes > PLAIN_MAX;
	int err = 0;

	fprintf(out, "<script id=\"%s\" type=\"%s\">", id,
		packed ? "application/gzip" : "application/json");
	if (packed)
		err = put_packed(t, out);
	else
		put_json(t, out);
	fputs("</script>\n", out);
	return err;
}

/* What the page has beside the JSON: the report as people read it, and who wrote it. */
static int print_about(const char *report, struct rs_page_text *t)
{
	FILE *f = open_memstream(&t->at, &t->bytes);
	struct rs_json *j = f ? rs_json_create(f) : NULL;
	int err = -ENOMEM;

	if (j) {
		rs_json_object(j, NULL);
		rs_json_string(j, "version", RS_VERSION);
		rs_json_string(j, "text", report);
		rs_json_end(j);
		err = rs_json_finish(j);
	}
	if (f && fclose(f) && !err)
		err = -ENOMEM;
	return err;
}

int rs_page_write(const struct rs_page_text *json, const struct rs_page_text *report, FILE *out)
{
	struct rs_page_text about = {0};
	int err = print_about(report->at, &about);

	if (!err) {
		fwrite(rs_page_head, 1, rs_page_head_bytes, out);
		err = put_script("report", json, out);
	}
	if (!err)
		err = put_script("about", &about, out);
	if (!err)
		fwrite(rs_page_tail, 1, rs_page_tail_bytes, out);
	free(about.at);
	return err ? err : ferror(out) ? -EIO : 0;
}

int rs_page_absent(struct rs_error *e)
{
	if (!rs_page_missing)
		return 0;
	rs_error_set(e, -EINVAL, "--html: this ripstop was built without its page: %s",
		     rs_page_missing);
	rs_error_hint(e, "install nodejs and npm, build again where npm reaches its registry, or "
			 "use --json");
	return -EINVAL;
}
