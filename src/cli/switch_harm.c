/* `ripstop switch --drop` and its like: what a hostile network does to RoCEv2 packets. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/units.h"
#include "cli/switch.h"

enum { BEHIND = 3, BEHIND_MAX = 1000 };

#define DELAY_MAX (10 * RS_S)

/* "0.01" or "1%" as a share of 2^32. */
static int parse_share(const char *text, uint64_t *out, struct rs_error *e)
{
	size_t n = strlen(text);
	bool percent = n && text[n - 1] == '%';
	char copy[32];
	double p;

	snprintf(copy, sizeof(copy), "%.*s", (int)(n - percent), text);
	if (n >= sizeof(copy) || rs_parse_count(copy, &p, NULL))
		p = NAN;
	p = percent ? p / 100 : p;
	if (!(p >= 0 && p <= 1))
		return rs_error_set(e, -EINVAL,
				    "expected a share of the packets, 0 to 1 or 0%% to 100%%, "
				    "found '%s'",
				    text);
	*out = (uint64_t)(p * 0x1p32 + 0.5);
	return 0;
}

/* "A[:B]": B is NULL where it is not said. */
static int split(const char *text, char a[64], const char **b, struct rs_error *e)
{
	const char *colon = strchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : strlen(text);

	*b = colon ? colon + 1 : NULL;
	if (!n || n >= 64)
		return rs_error_set(e, -EINVAL, "expected a value, found '%s'", text);
	memcpy(a, text, n);
	a[n] = '\0';
	return 0;
}

static int parse_reorder(const char *text, struct rs_bridge_harm *h, struct rs_error *e)
{
	char share[64];
	const char *behind;
	int64_t n = BEHIND;
	int err = split(text, share, &behind, e);

	if (!err)
		err = parse_share(share, &h->reorder, e);
	if (!err && behind)
		err = rs_parse_int(behind, 1, BEHIND_MAX, &n, e);
	h->behind = (uint32_t)n;
	return err;
}

static int parse_delay(const char *text, struct rs_bridge_harm *h, struct rs_error *e)
{
	char delay[64];
	const char *jitter;
	int err = split(text, delay, &jitter, e);

	h->jitter = 0;
	if (!err)
		err = rs_parse_time(delay, &h->delay, e);
	if (!err && jitter)
		err = rs_parse_time(jitter, &h->jitter, e);
	if (!err && (h->delay > DELAY_MAX || h->jitter > DELAY_MAX))
		return rs_error_set(e, -EINVAL, "expected at most 10s, found '%s'", text);
	return err;
}

static int parse_harm(int option, const char *text, struct rs_bridge_harm *h, struct rs_error *e)
{
	switch (option) {
	case 'D':
		return parse_share(text, &h->drop, e);
	case 'C':
		return parse_share(text, &h->corrupt, e);
	case 'U':
		return parse_share(text, &h->duplicate, e);
	case 'R':
		return parse_reorder(text, h, e);
	default:
		return parse_delay(text, h, e);
	}
}

static const char *name_of(int option)
{
	switch (option) {
	case 'D':
		return "--drop";
	case 'C':
		return "--corrupt";
	case 'U':
		return "--duplicate";
	case 'R':
		return "--reorder";
	default:
		return "--delay";
	}
}

/* "[INTERFACE=]VALUE". Without an interface: of all ports. */
static int apply(struct switch_settings *s, int option, const char *text, struct rs_error *e)
{
	const char *equals = strchr(text, '=');
	size_t n = equals ? (size_t)(equals - text) : 0;
	bool any = !equals;
	int err = 0;

	for (unsigned i = 0; i < s->c.sw.n_ports && !err; i++) {
		const char *name = s->interface[i].name;

		if (equals && (strlen(name) != n || memcmp(name, text, n) != 0))
			continue;
		any = true;
		err = parse_harm(option, equals ? equals + 1 : text, &s->c.port[i].harm, e);
	}
	if (!any)
		return rs_error_set(e, -EINVAL, "no port is plugged into '%.*s'",
				    (int)(n < 80 ? n : 80), text);
	return err;
}

int switch_harm(struct switch_settings *s, struct rs_error *e)
{
	for (unsigned i = 0; i < s->n_harm; i++) {
		int err = apply(s, s->harm[i].option, s->harm[i].text, e);

		if (err) {
			rs_error_place(e, (struct rs_where){name_of(s->harm[i].option), 0, 0});
			return err;
		}
	}
	return 0;
}

bool switch_harms(const struct switch_settings *s)
{
	return s->n_harm > 0;
}
