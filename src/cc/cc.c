/* The registry of congestion control, and parameters by name. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/units.h"
#include "cc/cc.h"

const struct rs_cc_ops *const rs_cc_all[] = {&rs_cc_dcqcn, &rs_cc_hpcc, &rs_cc_swift, &rs_cc_none,
					     NULL};

const struct rs_cc_ops *rs_cc_find(const char *name)
{
	for (unsigned i = 0; rs_cc_all[i]; i++)
		if (!strcmp(rs_cc_all[i]->name, name))
			return rs_cc_all[i];
	return NULL;
}

int rs_cc_params_init(const struct rs_cc_ops *ops, const char *preset, struct rs_cc_params *out,
		      struct rs_error *e)
{
	char list[200] = "";

	for (const struct rs_cc_preset *p = ops->presets; p && p->name; p++) {
		if (!preset || !strcmp(p->name, preset)) {
			memcpy(out, p->params, ops->params_bytes);
			return 0;
		}
		snprintf(list + strlen(list), sizeof(list) - strlen(list), " %s", p->name);
	}
	if (!preset)
		return 0;
	rs_error_set(e, -EINVAL, "%s has no preset '%s'", ops->name, preset);
	rs_error_hint(e, list[0] ? "there are:%s" : "it has none%s", list);
	return -EINVAL;
}

static int read_value(const struct rs_cc_param *p, const char *text, double *v, struct rs_error *e)
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
		n = !strcmp(text, "true") || !strcmp(text, "on");
		if (!n && strcmp(text, "false") && strcmp(text, "off"))
			return rs_error_set(e, -EINVAL, "%s is true or false, not '%s'", p->name,
					    text);
		err = 0;
		break;
	default:
		return rs_parse_count(text, v, e);
	}
	*v = (double)n;
	return err;
}

int rs_cc_params_set(const struct rs_cc_ops *ops, struct rs_cc_params *out, const char *name,
		     const char *value, struct rs_error *e)
{
	const struct rs_cc_param *p = ops->params;
	char list[240] = "";
	char *at;
	double v;
	int err;

	for (; p && p->name && strcmp(p->name, name); p++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), " %s", p->name);
	if (!p || !p->name) {
		rs_error_set(e, -EINVAL, "%s has no parameter '%s'", ops->name, name);
		rs_error_hint(e, list[0] ? "there are:%s" : "it has none%s", list);
		return -EINVAL;
	}
	err = read_value(p, value, &v, e);
	if (err)
		return err;
	if (v < p->min || v > p->max)
		return rs_error_set(e, -ERANGE, "%s is out of range: '%s' (%s)", name, value,
				    p->what);
	at = (char *)out + p->offset;
	if (p->unit == 'n')
		*(double *)(void *)at = v;
	else
		*(int64_t *)(void *)at = (int64_t)v;
	return 0;
}
