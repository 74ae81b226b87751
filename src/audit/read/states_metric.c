/* One line of a monitor, as pairs for states.h: Prometheus' text (its exposition format 0.0.4), and
 * the line protocol of InfluxDB that Telegraf prints. Labels and tags are words of the path; one
 * that tells a state ("link_detected=no") is a pair of its own. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/facts/word_list.h"
#include "audit/read/states.h"

enum {
	PATH = 320,
	KEY = 64,
	VALUE = 96,
	LABELS = 16,
	FIELDS = 64, /* of a line */
};

struct label {
	char key[KEY], value[VALUE];
};

struct line {
	struct label label[LABELS];
	unsigned n;
	char name[KEY * 2];
	rs_states_pair *each;
	void *context;
};

/* Labels that tell a state: the measured value beside them is 1, or a count of such parts. */
static bool is_state(const char *key)
{
	return rs_word_list_has(key,
				"state|status|phase|health|carrier|link|"
				"link_detected|phys_state|physical_state|port_state|"
				"link_state|operstate|oper_state|oper_status|"
				"status_desc|health_status|port_phys_state|logical_state|"
				"port_logical_state|port_physical_state|link_status",
				false);
}

/* The name, what it is of, and one key more. */
static void path_of(const struct line *l, const char *but, const char *key, char *out, size_t size)
{
	size_t n = (size_t)snprintf(out, size, "%s", l->name);

	for (unsigned i = 0; i < l->n && n < size; i++)
		if (l->label[i].key != but && !is_state(l->label[i].key))
			n += (size_t)snprintf(out + n, size - n, " %s %s", l->label[i].key,
					      l->label[i].value);
	if (n < size)
		snprintf(out + n, size - n, " %s", key);
}

static void tell_states(const struct line *l)
{
	char path[PATH];

	for (unsigned i = 0; i < l->n; i++) {
		if (!is_state(l->label[i].key))
			continue;
		path_of(l, l->label[i].key, l->label[i].key, path, sizeof(path));
		l->each(l->context, path, l->label[i].value);
	}
}

static void keep(struct line *l, const char *key, size_t n_key, const char *value, size_t n_value)
{
	if (l->n == LABELS)
		return;
	snprintf(l->label[l->n].key, KEY, "%.*s", (int)n_key, key);
	snprintf(l->label[l->n++].value, VALUE, "%.*s", (int)n_value, value);
}

/* ---- Prometheus ---- */

static const char name_bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:";

/* "DCGM_FI_DEV_XID_ERRORS{gpu=\"3\",UUID=\"GPU-1\"} 79" */
static bool prometheus(struct line *l, const char *t)
{
	const char *open = strchr(t, '{'), *close = strrchr(t, '}');
	char value[32], path[PATH];

	if (!open || !close || open == t || close < open ||
	    strspn(t, name_bytes) != (size_t)(open - t) ||
	    sscanf(close + 1, " %31[0-9.e+-]", value) != 1)
		return false;
	snprintf(l->name, sizeof(l->name), "%.*s", (int)(open - t), t);
	for (const char *p = open + 1; p < close;) {
		size_t key = strspn(p, name_bytes), n;

		if (!key || p[key] != '=' || p[key + 1] != '"')
			break;
		n = strcspn(p + key + 2, "\"");
		keep(l, p, key, p + key + 2, n);
		p += key + 2 + n;
		p += strspn(p, "\", ");
	}
	/* of a state that it is not in, the value is 0 */
	if (strtod(value, NULL) != 0)
		tell_states(l);
	path_of(l, NULL, "", path, sizeof(path));
	l->each(l->context, path, value);
	return true;
}

/* ---- Line protocol ---- */

/* Bytes up to one of the ends, over what a backslash or quotes keep. */
static size_t up_to(const char *p, const char *ends)
{
	bool quoted = false;
	size_t n = 0;

	for (; p[n] && (quoted || !strchr(ends, p[n])); n++) {
		quoted ^= p[n] == '"';
		if (p[n] == '\\' && p[n + 1])
			n++;
	}
	return n;
}

/* "link_downed=41i": the value without its quotes and its kind. */
static bool field(const struct line *l, const char *p, size_t n)
{
	size_t key = up_to(p, "=, ");
	char path[PATH], name[KEY], value[VALUE];

	if (!key || key >= n || p[key] != '=')
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)key, p);
	p += key + 1;
	n -= key + 1;
	if (n > 1 && *p == '"')
		p++, n -= 2;
	else if (n > 1 && (p[n - 1] == 'i' || p[n - 1] == 'u') && isdigit((unsigned char)p[n - 2]))
		n--;
	snprintf(value, sizeof(value), "%.*s", (int)n, p);
	path_of(l, NULL, name, path, sizeof(path));
	l->each(l->context, path, value);
	return true;
}

/* Name, tags, fields and a stamp, parted by blanks: "ib,device=mlx5_0 downed=4i,up=1i
 * 1573125558000000000". */
static bool influx(struct line *l, const char *t)
{
	size_t n = strspn(t, name_bytes), end;
	const char *p = t + n, *fields;

	if (!n || *p != ',' || n >= sizeof(l->name))
		return false;
	end = up_to(t, " ");
	fields = t + end + 1;
	if (!t[end] || !isalpha((unsigned char)*fields) || fields[up_to(fields, "=, ")] != '=')
		return false;
	snprintf(l->name, sizeof(l->name), "%.*s", (int)n, t);
	while (*p == ',') {
		size_t key = up_to(++p, "=, "), value;

		if (p[key] != '=')
			return false;
		value = up_to(p + key + 1, ", ");
		keep(l, p, key, p + key + 1, value);
		p += key + 1 + value;
	}
	tell_states(l);
	for (unsigned i = 0; i < FIELDS && *fields && *fields != ' '; i++) {
		n = up_to(fields, ", ");
		if (!field(l, fields, n))
			break;
		fields += n + (fields[n] == ',');
	}
	return true;
}

bool rs_states_metric(const char *text, rs_states_pair *each, void *context)
{
	struct line l = {.each = each, .context = context};

	/* as `telegraf --test` begins its lines */
	text += strncmp(text, "> ", 2) ? 0 : 2;
	return prometheus(&l, text) || influx(&l, text);
}
