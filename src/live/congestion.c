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

/* Steps of the rate, as shares of where limits begin: twice the paper's, for ten times its time. */
enum { AI_OF_START = 500, HAI_OF_START = 100 };

/* All of the simulator's; read_kind() refuses what needs more than RoCEv2's frames carry. */
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

static struct rs_cc_params *params_of(struct rs_congestion *c)
{
	return (struct rs_cc_params *)(void *)c->params;
}

/* The same error with the variable's name in front. */
static int in_variable(struct rs_error *e, const char *variable, const struct rs_error *why)
{
	rs_error_set(e, why->code, "%s: %s", variable, why->what);
	rs_error_hint(e, "%s", why->hint);
	return why->code;
}

static int read_kind(struct rs_congestion *c, const char *kind, struct rs_error *e)
{
	const char *name = kind && *kind ? kind : rs_cc_dcqcn.name;
	size_t n = strcspn(name, ":");
	const char *preset = name[n] ? name + n + 1 : NULL;
	struct rs_error why = {0};

	c->ops = find(name, n);
	if (!c->ops) {
		rs_error_set(e, -EINVAL, "RIPSTOP_CC: there is no congestion control '%s' here",
			     name);
		rs_error_hint(e, "dcqcn, swift, none, or one with its preset: dcqcn:mlx5");
		return -EINVAL;
	}
	if (c->ops->needs & RS_CC_NEEDS_STAMPS) {
		rs_error_set(e, -EINVAL,
			     "RIPSTOP_CC: %s reads the telemetry of switches, which RoCEv2 frames "
			     "do not carry",
			     c->ops->name);
		rs_error_hint(e, "it runs in `ripstop sim`; here: dcqcn, swift or none");
		return -EINVAL;
	}
	if (!preset && has_preset(c->ops, SOFTWARE))
		preset = SOFTWARE;
	c->scaled = c->ops == &rs_cc_dcqcn && preset && !strcmp(preset, SOFTWARE);
	rs_assert(c->ops->params_bytes <= sizeof(c->params));
	c->use = (struct rs_cc_use){c->ops, params_of(c)};
	if (rs_cc_params_init(c->ops, preset, params_of(c), &why))
		return in_variable(e, "RIPSTOP_CC", &why);
	return 0;
}

static int set_one(struct rs_congestion *c, char *text, struct rs_error *e)
{
	char *equals = strchr(text, '=');
	struct rs_error why = {0};

	if (!equals)
		return rs_error_set(e, -EINVAL, "RIPSTOP_CC_SET: expected NAME=VALUE, found '%s'",
				    text);
	*equals = '\0';
	if (rs_cc_params_set(c->ops, params_of(c), text, equals + 1, &why))
		return in_variable(e, "RIPSTOP_CC_SET", &why);
	return 0;
}

static int set_all(struct rs_congestion *c, const char *set, struct rs_error *e)
{
	char *copy = strdup(set), *rest = NULL;
	int err = copy ? 0 : -ENOMEM;

	for (char *s = copy ? strtok_r(copy, ",", &rest) : NULL; s && !err;
	     s = strtok_r(NULL, ",", &rest))
		err = set_one(c, s, e);
	free(copy);
	return err;
}

static int set_rate(struct rs_congestion *c, const char *name, int64_t rate, struct rs_error *e)
{
	char text[32];

	rs_format_rate(text, sizeof(text), rate);
	return rs_cc_params_set(c->ops, params_of(c), name, text, e);
}

/* Where limits begin: at the port's rate where it is given, else at the interface's speed. A rate
 * that no link has would take a dozen cuts to come down from. Steps that suit it, too: those of a
 * fast link would fill a slow one's queue at once. */
static int set_start(struct rs_congestion *c, int64_t speed, struct rs_error *e)
{
	int64_t start = c->rate ? c->rate : speed ? speed : START_UNKNOWN;
	int err;

	/* a window is what the link carries in a time: of a link that is not known, no window */
	if (c->ops->needs & RS_CC_NEEDS_RTT)
		c->qp_rate = start;
	if (c->ops != &rs_cc_dcqcn)
		return 0;
	err = set_rate(c, "rate_max", start, e);
	if (!err && c->scaled)
		err = set_rate(c, "rate_ai", start / AI_OF_START, e);
	if (!err && c->scaled)
		err = set_rate(c, "rate_hai", start / HAI_OF_START, e);
	return err;
}

int rs_congestion_read(struct rs_congestion *c, const char *kind, const char *set, const char *rate,
		       int64_t speed, struct rs_error *e)
{
	struct rs_error why = {0};
	int err;

	*c = (struct rs_congestion){0};
	if (rate && *rate) {
		if (rs_parse_rate(rate, &c->rate, &why))
			return in_variable(e, "RIPSTOP_RATE", &why);
		if (c->rate < RS_MBPS)
			return rs_error_set(e, -ERANGE, "RIPSTOP_RATE: '%s' is below 1M", rate);
	}
	err = read_kind(c, kind, e);
	if (!err)
		err = set_start(c, speed, e);
	return err || !set ? err : set_all(c, set, e);
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
