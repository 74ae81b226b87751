/*
 * JSON (RFC 8259) written as it goes. What cannot be said in JSON is a fault of the writer that is
 * kept and returned at the end; infinities and NaN are null.
 */
#include "report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/text.h"

#define DEPTH 32

struct rs_json {
	FILE *out;
	int err;
	unsigned depth;
	bool rooted;        /* the root value has begun */
	char close[DEPTH];  /* the bracket that closes each level */
	bool filled[DEPTH]; /* the level has a member */
};

struct rs_json *rs_json_create(FILE *out)
{
	struct rs_json *j = calloc(1, sizeof(*j));

	if (j)
		j->out = out;
	return j;
}

static const char *escape(unsigned char c, char buf[8])
{
	static const char *const named[128] = {
		['"'] = "\\\"", ['\\'] = "\\\\", ['\b'] = "\\b", ['\f'] = "\\f",
		['\n'] = "\\n", ['\r'] = "\\r",  ['\t'] = "\\t",
	};

	if (c < 128 && named[c])
		return named[c];
	if (c >= 0x20 && c != 0x7f)
		return NULL;
	snprintf(buf, 8, "\\u%04x", c);
	return buf;
}

/* Bytes that are not UTF-8 become U+FFFD: the text must be UTF-8 (section 8.1). */
void rs_json_text(FILE *out, const char *s)
{
	const char *said = s; /* up to here it is written */
	char buf[8];
	unsigned n;

	fputc('"', out);
	for (; *s; s += n) {
		const char *e = escape((unsigned char)*s, buf);

		n = rs_report_utf8(s);
		if (!e && n)
			continue;
		n = n ? n : 1;
		fwrite(said, 1, (size_t)(s - said), out);
		fputs(e ? e : "\xef\xbf\xbd", out);
		said = s + n;
	}
	fwrite(said, 1, (size_t)(s - said), out);
	fputc('"', out);
}

static void indent(struct rs_json *j)
{
	fprintf(j->out, "\n%*s", (int)(2 * j->depth), "");
}

/* What comes before a value: comma, line, key. False: there is no place for a value here. */
static bool begin(struct rs_json *j, const char *key)
{
	bool keyed = j && j->depth && j->close[j->depth - 1] == '}';

	if (!j || j->err)
		return false;
	if (keyed != (key != NULL) || (!j->depth && j->rooted)) {
		j->err = -EINVAL;
		return false;
	}
	j->rooted = true;
	if (!j->depth)
		return true;
	if (j->filled[j->depth - 1])
		fputc(',', j->out);
	j->filled[j->depth - 1] = true;
	indent(j);
	if (key) {
		rs_json_text(j->out, key);
		fputs(": ", j->out);
	}
	return true;
}

static void open_bracket(struct rs_json *j, const char *key, char open, char close)
{
	if (!begin(j, key))
		return;
	if (j->depth == DEPTH) {
		j->err = -EINVAL;
		return;
	}
	fputc(open, j->out);
	j->close[j->depth] = close;
	j->filled[j->depth] = false;
	j->depth++;
}

void rs_json_object(struct rs_json *j, const char *key)
{
	open_bracket(j, key, '{', '}');
}

void rs_json_array(struct rs_json *j, const char *key)
{
	open_bracket(j, key, '[', ']');
}

void rs_json_uints(struct rs_json *j, const char *key, const uint64_t *values, size_t n)
{
	if (!begin(j, key))
		return;
	fputc('[', j->out);
	for (size_t i = 0; i < n; i++)
		fprintf(j->out, "%s%" PRIu64, i ? ", " : "", values[i]);
	fputc(']', j->out);
}

void rs_json_end(struct rs_json *j)
{
	if (!j || j->err)
		return;
	if (!j->depth) {
		j->err = -EINVAL;
		return;
	}
	j->depth--;
	if (j->filled[j->depth])
		indent(j);
	fputc(j->close[j->depth], j->out);
}

void rs_json_string(struct rs_json *j, const char *key, const char *value)
{
	if (!begin(j, key))
		return;
	if (value)
		rs_json_text(j->out, value);
	else
		fputs("null", j->out);
}

void rs_json_int(struct rs_json *j, const char *key, int64_t value)
{
	if (begin(j, key))
		fprintf(j->out, "%" PRId64, value);
}

void rs_json_uint(struct rs_json *j, const char *key, uint64_t value)
{
	if (begin(j, key))
		fprintf(j->out, "%" PRIu64, value);
}

/*
 * A normal double that 15 digits can say, %.15g says in the fewest (it drops zeros); the others
 * need 16 or 17. A subnormal holds fewer digits, so there every length is tried.
 */
static void shortest(char *buf, size_t size, double value)
{
	int digits = fpclassify(value) == FP_SUBNORMAL ? 1 : 15;

	do
		snprintf(buf, size, "%.*g", digits, value);
	while (++digits <= 17 && strtod(buf, NULL) != value);
}

void rs_json_number(struct rs_json *j, const char *key, double value)
{
	char buf[48], *point;
	size_t n;

	if (!begin(j, key))
		return;
	if (!isfinite(value)) {
		fputs("null", j->out);
		return;
	}
	shortest(buf, sizeof(buf), value);
	/* The decimal point is the locale's, of one or more bytes; JSON's is always a full stop. */
	point = buf + strspn(buf, "+-0123456789");
	n = strcspn(point, "e0123456789");
	fprintf(j->out, "%.*s%s%s", (int)(point - buf), buf, n ? "." : "", point + n);
}

void rs_json_bool(struct rs_json *j, const char *key, bool value)
{
	if (begin(j, key))
		fputs(value ? "true" : "false", j->out);
}

int rs_json_finish(struct rs_json *j)
{
	int rc;

	if (!j)
		return -ENOMEM;
	rc = j->err;
	if (!rc && (j->depth || !j->rooted))
		rc = -EINVAL;
	if (!rc)
		fputc('\n', j->out);
	if ((fflush(j->out) || ferror(j->out)) && !rc)
		rc = -EIO;
	free(j);
	return rc;
}
