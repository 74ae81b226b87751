/* Congestion control by name and parameters, the same ones as the simulator's (src/cc). */
#include "live/congestion.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/socket.h"
#include "base/units.h"

/* Where the kernel knows no speed: what a virtual machine's link is likely to have at most. */
#define START_UNKNOWN (25 * RS_GBPS)

/* Feedback between processes is too slow for the timers of NICs: mlx5's alpha is forgotten between
 * two CNPs, and queues do not shrink. */
#define SOFTWARE "software"

/* Steps of the rate, as shares of where limits begin. DCQCN's are twice the paper's, for ten times
 * its time; the others' are what ten flows may add (hpcc.c), their floor TIMELY's share of its
 * link.
 */
enum { AI_OF_START = 500, HAI_OF_START = 100, STEP_OF_START = 200, FLOOR_OF_START = 100 };

/* All of the simulator's. */
static const struct rs_cc_ops *find(const char *name, size_t n)
{
	for (unsigned i = 0; rs_cc_all[i]; i++)
		if (strlen(rs_cc_all[i]->name) == n && !strncmp(rs_cc_all[i]->name, name, n))
			return rs_cc_all[i];
	return NULL;
}

static bool has_preset(const struct rs_cc_ops *ops, const char *name)
{
	const struct rs_cc_preset *p = ops->presets;

	while (p && p->name && strcmp(p->name, name) != 0)
		p++;
	return p && p->name;
}

static struct rs_cc_params *params_of(struct rs_congestion *c, unsigned i)
{
	return (struct rs_cc_params *)(void *)c->params[i].words;
}

/* The same error with the variable's name in front. */
static int in_variable(struct rs_error *e, const char *variable, const struct rs_error *why)
{
	rs_error_set(e, why->code, "%s: %s", variable, why->what);
	rs_error_hint(e, "%s", why->hint);
	return why->code;
}

static int refuse_kind(const char *name, struct rs_error *e)
{
	rs_error_set(e, -EINVAL, "RIPSTOP_CC: there is no congestion control '%s' here", name);
	rs_error_hint(e, "dcqcn, swift, timely, hpcc, dctcp, hp-dcqcn, none, or one with its "
			 "preset: dcqcn:mlx5; several with their classes: 3:swift,dcqcn");
	return -EINVAL;
}

static int read_kind(struct rs_congestion *c, unsigned i, const char *name, struct rs_error *e)
{
	size_t n = strcspn(name, ":");
	const struct rs_cc_ops *ops = find(name, n);
	const char *preset = name[n] ? name + n + 1 : NULL;
	struct rs_error why = {0};

	if (!ops || ops->needs & RS_CC_NEEDS_CREDITS) /* RoCEv2 has no such packets */
		return refuse_kind(name, e);
	if (!preset && has_preset(ops, SOFTWARE))
		preset = SOFTWARE;
	c->params[i].scaled = preset && !strcmp(preset, SOFTWARE);
	rs_assert(ops->params_bytes <= sizeof(c->params[i].words));
	c->use[i] = (struct rs_cc_use){ops, params_of(c, i)};
	if (rs_cc_params_init(ops, preset, params_of(c, i), &why))
		return in_variable(e, "RIPSTOP_CC", &why);
	return 0;
}

/* "3:..." names a class: then *text is what follows. -1: none; -EINVAL: there is no such class. */
static int read_class(const char *variable, char **text, struct rs_error *e)
{
	int class;

	if ((*text)[0] < '0' || (*text)[0] > '9' || (*text)[1] != ':')
		return -1;
	class = (*text)[0] - '0';
	if (class >= RS_CONGESTION_CLASSES)
		return rs_error_set(e, -EINVAL, "%s: class %d: expected 0 to %d", variable, class,
				    RS_CONGESTION_CLASSES - 1);
	*text += 2;
	return class;
}

static int read_item(struct rs_congestion *c, char *text, struct rs_error *e)
{
	int class = read_class("RIPSTOP_CC", &text, e);
	unsigned i = 0;

	if (class == -EINVAL)
		return class;
	if (class < 0 && c->use[0].ops)
		return rs_error_set(e, -EINVAL,
				    "RIPSTOP_CC: '%s' is the second without a class before it, "
				    "as in 3:%s",
				    text, text);
	if (class >= 0 && c->of_class[class])
		return rs_error_set(e, -EINVAL, "RIPSTOP_CC: class %d is named twice", class);
	if (class >= 0) {
		i = c->n++;
		c->of_class[class] = (uint8_t)i;
	}
	return read_kind(c, i, text, e);
}

static int set_one(struct rs_congestion *c, char *text, struct rs_error *e)
{
	int class = read_class("RIPSTOP_CC_SET", &text, e);
	unsigned i = class < 0 ? 0 : c->of_class[class];
	char *equals = strchr(text, '=');
	struct rs_error why = {0};

	if (class == -EINVAL)
		return class;
	if (class >= 0 && !i)
		return rs_error_set(e, -EINVAL,
				    "RIPSTOP_CC_SET: class %d has no congestion control of its own "
				    "in RIPSTOP_CC",
				    class);
	if (!equals)
		return rs_error_set(e, -EINVAL, "RIPSTOP_CC_SET: expected NAME=VALUE, found '%s'",
				    text);
	*equals = '\0';
	if (rs_cc_params_set(c->use[i].ops, params_of(c, i), text, equals + 1, &why))
		return in_variable(e, "RIPSTOP_CC_SET", &why);
	return 0;
}

/* What is between commas, one by one. */
static int for_each(struct rs_congestion *c, const char *list,
		    int (*take)(struct rs_congestion *c, char *text, struct rs_error *e),
		    struct rs_error *e)
{
	char *copy = strdup(list), *rest = NULL;
	int err = copy ? 0 : rs_error_set(e, -ENOMEM, "no memory for a device");

	for (char *s = copy ? strtok_r(copy, ",", &rest) : NULL; s && !err;
	     s = strtok_r(NULL, ",", &rest))
		err = take(c, s, e);
	free(copy);
	return err;
}

static int set_rate(struct rs_congestion *c, unsigned i, const char *name, int64_t rate,
		    struct rs_error *e)
{
	char text[32];

	rs_format_rate(text, sizeof(text), rate);
	return rs_cc_params_set(c->use[i].ops, params_of(c, i), name, text, e);
}

static bool has_param(const struct rs_cc_ops *ops, const char *name)
{
	const struct rs_cc_param *p = ops->params;

	while (p && p->name && strcmp(p->name, name) != 0)
		p++;
	return p && p->name;
}

static int set_steps(struct rs_congestion *c, unsigned i, struct rs_error *e)
{
	const struct rs_cc_ops *ops = c->use[i].ops;
	int err = 0;

	if (!c->params[i].scaled)
		return 0;
	if (has_param(ops, "rate_ai"))
		err = set_rate(c, i, "rate_ai", c->start_rate / STEP_OF_START, e);
	if (!err && has_param(ops, "rate_min"))
		err = set_rate(c, i, "rate_min", c->start_rate / FLOOR_OF_START, e);
	return err;
}

/* Limits begin at the port's rate where it is given, else at the interface's speed. A rate that no
 * link has would take a dozen cuts to come down from. Steps that suit it, too: those of a fast link
 * would fill a slow one's queue at once. */
static int set_start(struct rs_congestion *c, unsigned i, struct rs_error *e)
{
	int err;

	if (c->use[i].ops != &rs_cc_dcqcn)
		return set_steps(c, i, e);
	err = set_rate(c, i, "rate_max", c->start_rate, e);
	if (!err && c->params[i].scaled)
		err = set_rate(c, i, "rate_ai", c->start_rate / AI_OF_START, e);
	if (!err && c->params[i].scaled)
		err = set_rate(c, i, "rate_hai", c->start_rate / HAI_OF_START, e);
	return err;
}

static int read_rate(struct rs_congestion *c, const char *rate, struct rs_error *e)
{
	struct rs_error why = {0};

	if (rs_parse_rate(rate, &c->rate, &why))
		return in_variable(e, "RIPSTOP_RATE", &why);
	if (c->rate < RS_MBPS)
		return rs_error_set(e, -ERANGE, "RIPSTOP_RATE: '%s' is below 1M", rate);
	return 0;
}

int rs_congestion_read(struct rs_congestion *c, const char *kinds, const char *set,
		       const char *rate, int64_t speed, struct rs_error *e)
{
	int err = 0;

	*c = (struct rs_congestion){.n = 1};
	if (rate && *rate)
		err = read_rate(c, rate, e);
	if (!err && kinds)
		err = for_each(c, kinds, read_item, e);
	if (!err && !c->use[0].ops)
		err = read_kind(c, 0, rs_cc_dcqcn.name, e);
	c->start_rate = c->rate ? c->rate : speed ? speed : START_UNKNOWN;
	for (unsigned i = 0; i < c->n && !err; i++)
		err = set_start(c, i, e);
	return err || !set ? err : for_each(c, set, set_one, e);
}

unsigned rs_congestion_class(const struct rs_congestion *c, uint8_t tos)
{
	return c->n > 1 ? tos >> 5 : 0;
}

int64_t rs_congestion_speed(const char *netdev)
{
	struct ethtool_cmd link = {.cmd = ETHTOOL_GSET};
	struct ifreq r = {.ifr_data = (void *)&link};
	int fd = rs_socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint32_t mbps;
	int err;

	if (fd < 0)
		return 0;
	strncpy(r.ifr_name, netdev, sizeof(r.ifr_name) - 1);
	err = ioctl(fd, SIOCETHTOOL, &r);
	close(fd);
	mbps = ethtool_cmd_speed(&link);
	return err || mbps == (uint32_t)SPEED_UNKNOWN ? 0 : (int64_t)mbps * RS_MBPS;
}
