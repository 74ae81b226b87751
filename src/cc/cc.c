/* The registry of congestion control, and parameters by name. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "base/units.h"
#include "cc/cc.h"

void rs_cc_no_timer(const struct rs_cc_params *p, struct rs_cc *cc, rs_time now)
{
	cc->next_event = RS_NEVER;
}

void rs_cc_no_bytes(const struct rs_cc_params *p, struct rs_cc *cc, rs_time now)
{
	cc->byte_credit = INT64_MAX;
}

const struct rs_cc_ops *const rs_cc_all[] = {&rs_cc_dcqcn,  &rs_cc_hpcc,   &rs_cc_swift,
					     &rs_cc_timely, &rs_cc_dctcp,  &rs_cc_hp_dcqcn,
					     &rs_cc_none,   &rs_cc_credit, NULL};

const struct rs_cc_ops *rs_cc_find(const char *name)
{
	for (unsigned i = 0; rs_cc_all[i]; i++)
		if (rs_text_same(rs_cc_all[i]->name, name))
			return rs_cc_all[i];
	return NULL;
}

int rs_cc_params_init(const struct rs_cc_ops *ops, const char *preset, struct rs_cc_params *out,
		      struct rs_error *e)
{
	const char *names[16], *near;
	char list[200] = "";
	unsigned n = 0;

	rs_assert(out || !ops->params_bytes);
	for (const struct rs_cc_preset *p = ops->presets; p && p->name && n < 15; p++) {
		if (!preset || rs_text_same(p->name, preset)) {
			memcpy(out, p->params, ops->params_bytes);
			return 0;
		}
		names[n++] = p->name;
		snprintf(list + strlen(list), sizeof(list) - strlen(list), " %s", p->name);
	}
	if (!preset)
		return 0;
	names[n] = NULL;
	near = rs_text_nearest(preset, names);
	rs_error_set(e, -EINVAL, "%s has no preset '%s'%s%s%s", ops->name, preset,
		     near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
	rs_error_hint(e,
		      list[0] ? "there are:%s"
			      : "it has none%s: take the preset out, in a what-if or with --set by "
				"fabric.cc.preset: null",
		      list);
	return -EINVAL;
}

static int on_or_off(const struct rs_cc_param *p, const char *text, double *v, struct rs_error *e)
{
	static const char *const words[] = {"false", "true", "no", "yes", "off", "on"};

	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (rs_text_same(text, words[i])) {
			*v = i & 1;
			return 0;
		}
	return rs_error_set(e, -EINVAL, "%s is true or false, not '%s'", p->name, text);
}

/* A number may be a share: "0.4%" is 0.004. */
static int read_number(const char *text, double *v, struct rs_error *e)
{
	size_t n = strlen(text);
	char digits[64];
	int err;

	if (!n || n > sizeof(digits) || text[n - 1] != '%')
		return rs_parse_count(text, v, e);
	snprintf(digits, sizeof(digits), "%.*s", (int)n - 1, text);
	err = rs_parse_count(digits, v, e);
	*v /= 100;
	return err;
}

/* A limit as a person writes it. */
static const char *written(const struct rs_cc_param *p, double v, char *buf, size_t size)
{
	if (p->unit == 't')
		return rs_format_time(buf, size, (rs_time)v);
	if (p->unit == 'r')
		return rs_format_rate(buf, size, (int64_t)v);
	if (p->unit == 'b')
		return rs_format_bytes(buf, size, (uint64_t)v);
	if (p->unit == 'o')
		return v != 0 ? "true" : "false";
	snprintf(buf, size, "%.17g", v);
	if (strtod(buf, NULL) == v)
		snprintf(buf, size, p->unit == 'i' ? "%.0f" : "%.15g", v);
	if (strtod(buf, NULL) != v)
		snprintf(buf, size, "%.17g", v);
	return buf;
}

const char *rs_cc_params_get(const struct rs_cc_param *p, const struct rs_cc_params *from,
			     char *buf, size_t size)
{
	const char *at = (const char *)from + p->offset;

	rs_assert(from && size >= 40);
	if (p->unit == 'n')
		return written(p, *(const double *)(const void *)at, buf, size);
	return written(p, (double)*(const int64_t *)(const void *)at, buf, size);
}

static int read_plain(const struct rs_cc_param *p, const char *text, double *v, struct rs_error *e)
{
	uint64_t bytes = 0;
	int64_t n = 0;
	int err;

	switch (p->unit) {
	case 't':
		err = rs_parse_time(text, &n, e);
		break;
	case 'r':
		err = rs_parse_rate(text, &n, e);
		break;
	case 'b':
		err = rs_parse_bytes(text, &bytes, e);
		n = (int64_t)bytes;
		break;
	case 'i':
		err = rs_parse_int(text, INT64_MIN, INT64_MAX, &n, e);
		break;
	case 'o':
		return on_or_off(p, text, v, e);
	default:
		return read_number(text, v, e);
	}
	*v = (double)n;
	return err;
}

/* Which parameter it is, and what it takes, stand beside what is wrong with the value. */
static int read_value(const struct rs_cc_param *p, const char *text, double *v, struct rs_error *e)
{
	struct rs_error wrong = {0};
	char a[40], b[40];
	int err = read_plain(p, text, v, &wrong);

	if (!err && *v >= p->min && *v <= p->max)
		return 0;
	if (p->unit == 'o')
		return rs_error_set(e, err, "%s", wrong.what);
	written(p, p->min, a, sizeof(a));
	written(p, p->max, b, sizeof(b));
	if (!err)
		return rs_error_set(e, -ERANGE, "%s: expected from %s to %s, found '%.80s' (%s)",
				    p->name, a, b, text, p->what);
	return rs_error_set(e, err, "%s: %s; it takes %s to %s (%s)", p->name, wrong.what, a, b,
			    p->what);
}

int rs_cc_params_set(const struct rs_cc_ops *ops, struct rs_cc_params *out, const char *name,
		     const char *value, struct rs_error *e)
{
	const struct rs_cc_param *p = ops->params;
	const char *names[64], *near;
	char list[400] = "";
	unsigned n = 0;
	char *at;
	double v;
	int err;

	for (; p && p->name && !rs_text_same(p->name, name) && n < 63; p++) {
		names[n++] = p->name;
		snprintf(list + strlen(list), sizeof(list) - strlen(list), " %s", p->name);
	}
	names[n] = NULL;
	if (!p || !p->name) {
		near = rs_text_nearest(name, names);
		rs_error_set(e, -EINVAL, "%s has no parameter '%s'%s%s%s", ops->name, name,
			     near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
		rs_error_hint(e,
			      list[0] ? "there are:%s"
				      : "it has none%s: take the preset out, in a what-if or with "
					"--set by "
					"fabric.cc.preset: null",
			      list);
		return -EINVAL;
	}
	err = read_value(p, value, &v, e);
	if (err)
		return err;
	rs_assert(out && p->offset + sizeof(int64_t) <= ops->params_bytes);
	at = (char *)out + p->offset;
	if (p->unit == 'n')
		*(double *)(void *)at = v;
	else
		*(int64_t *)(void *)at = (int64_t)v;
	return 0;
}
