/* ripstop switch: network interfaces joined by the switch that is simulated, with its buffer, ECN
 * marks, classes and PFC: as options say, or as one switch of a description. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include "base/units.h"
#include "bridge/raw.h"
#include "cli/cli.h"
#include "cli/switch.h"
#include "live/live.h"

enum {
	CLASS_CNP = 6,
	CLASS_CONTROL = 7,
	DSCP_CNP = 48,
	DSCP_ROCE = 26,
	CLASS_ROCE = 3,
	PMAX_ONE = 65536,
	STEPS_OF_KMIN = 16,
	STEP_WITHOUT = 8192,
};

#define RATE_DEFAULT   (10 * RS_GBPS)
#define BUFFER_DEFAULT (16 << 20)
/* Without --ecn, of each port's rate: a few times what feedback takes between processes. */
#define KMIN_DEFAULT (200 * RS_US)
#define KMAX_DEFAULT (800 * RS_US)
#define PMAX_DEFAULT 0.1

static int help(FILE *out)
{
	fputs("Usage: ripstop switch [OPTION]... INTERFACE[=RATE] INTERFACE[=RATE]...\n"
	      "       ripstop switch [OPTION]... FILE --as SWITCH [--port PORT=INTERFACE]...\n\n"
	      "Joins network interfaces by the switch that `ripstop sim` simulates. What no Linux\n"
	      "kernel needs to have: ECN marking, shared buffer, classes, PFC. With FILE, a\n"
	      "description (ripstop-fabric(5)), it is one switch of it: its buffer, classes,\n"
	      "thresholds, rates and routes. Needs CAP_NET_RAW (root, or unshare -rn).\n\n"
	      "  --as SWITCH             which switch of FILE; may be left out if there is one\n"
	      "  --port [SWITCH:]PORT=INTERFACE[=RATE]\n"
	      "                          what a port is plugged into; else the interface that is\n"
	      "                          called SWITCH-pPORT. Those of other switches are left "
	      "out\n"
	      "  --set PATH=VALUE        change the description; repeatable\n"
	      "  --show                  print the switch and its ports, open nothing\n"
	      "  --seed N                another draw of marks, of ECMP's hash and of harm; 1\n\n"
	      "These override FILE; without it they are:\n"
	      "  --rate RATE             of every port that names none; 10G\n"
	      "  --ecn KMIN:KMAX:PMAX    mark from KMIN bytes of queue on, at KMAX with "
	      "probability\n"
	      "                          PMAX, above always; or off. Default: 200us and 800us of\n"
	      "                          the port's rate, 0.1\n"
	      "  --buffer BYTES          shared by all ports; 16MiB\n"
	      "  --limit BYTES           an egress queue has at most; else half of what is free\n"
	      "  --class DSCP=CLASS,...  48=6,26=3, all others 0\n"
	      "  --weight CLASS=N,...    shares of a port's rate; 0: strict, before the others.\n"
	      "                          6=0,7=0, all others 1\n"
	      "  --pfc CLASS,...         lossless classes: PAUSE frames are sent, and obeyed "
	      "(Linux\n"
	      "                          interfaces themselves ignore them); none\n"
	      "  --json                  the counters as JSON\n\n"
	      "A hostile network: of the RoCEv2 packets that ports take in (IF=: that one alone)\n"
	      "  --drop [IF=]P           lose a share P: 0.01 or 1%\n"
	      "  --corrupt [IF=]P        turn a bit over, which only the ICRC tells\n"
	      "  --duplicate [IF=]P      pass on twice\n"
	      "  --reorder [IF=]P[:N]    hold back until N others have overtaken it; 3\n"
	      "  --delay [IF=]TIME[:JITTER]\n"
	      "                          each is so late, and up to JITTER more, in order\n"
	      "What becomes of a port's nth packet follows from --seed, the port and n alone.\n\n"
	      "Counters are printed at the end (SIGINT, SIGTERM) and at SIGUSR1; the queues' "
	      "figures\nbegin anew each time.\n\n"
	      "Examples:\n"
	      "  ripstop switch --rate 2G --ecn 50kB:200kB:0.1 veth1 veth2 veth3\n"
	      "  ripstop switch --set fabric.network.rate=2G --as leaf0 --port 0=veth0 --port "
	      "1=veth1 "
	      "pod.yaml\n\n"
	      "Exit status: 0; 2 bad usage or input, no such interface, or not allowed.\n",
	      out);
	return RS_EXIT_OK;
}

/* ---- Options ---- */

/* One after another of a list, at commas; text is changed. */
static int each(const char *list,
		int (*one)(struct switch_settings *s, char *text, struct rs_error *e),
		struct switch_settings *s, struct rs_error *e)
{
	char *copy = strdup(list), *rest = NULL;
	int err = copy ? 0 : -ENOMEM;

	for (char *t = copy ? strtok_r(copy, ",", &rest) : NULL; t && !err;
	     t = strtok_r(NULL, ",", &rest))
		err = one(s, t, e);
	free(copy);
	return err;
}

/* "A=B" of two numbers in their ranges. */
static int pair(char *text, int64_t a_max, int64_t b_max, int64_t *a, int64_t *b,
		struct rs_error *e)
{
	char *equals = strchr(text, '=');
	int err;

	if (!equals)
		return rs_error_set(e, -EINVAL, "expected two numbers with = between, found '%s'",
				    text);
	*equals = '\0';
	err = rs_parse_int(text, 0, a_max, a, e);
	return err ? err : rs_parse_int(equals + 1, 0, b_max, b, e);
}

static int one_class(struct switch_settings *s, char *text, struct rs_error *e)
{
	int64_t dscp, class;
	int err = pair(text, 63, RS_CLASSES - 1, &dscp, &class, e);

	if (!err)
		s->class_of[dscp] = (int8_t) class;
	return err;
}

static int one_weight(struct switch_settings *s, char *text, struct rs_error *e)
{
	int64_t class, weight;
	int err = pair(text, RS_CLASSES - 1, 100, &class, &weight, e);

	if (!err)
		s->weight[class] = (int8_t)weight;
	return err;
}

static int one_lossless(struct switch_settings *s, char *text, struct rs_error *e)
{
	int64_t class;
	int err = rs_parse_int(text, 0, RS_CLASSES - 1, &class, e);

	if (!err)
		s->lossless |= (uint8_t)(1 << class);
	return err;
}

static int set_ecn(struct switch_settings *s, const char *text, struct rs_error *e)
{
	char kmin[32], kmax[32], pmax[32], more;
	int err;

	s->ecn_said = true;
	s->ecn = strcmp(text, "off") != 0;
	if (!s->ecn)
		return 0;
	if (sscanf(text, "%31[^:]:%31[^:]:%31[^:]%c", kmin, kmax, pmax, &more) != 3)
		return rs_error_set(e, -EINVAL,
				    "expected KMIN:KMAX:PMAX such as 50kB:200kB:0.1, "
				    "or off; found '%s'",
				    text);
	err = rs_parse_bytes(kmin, &s->kmin, e);
	if (!err)
		err = rs_parse_bytes(kmax, &s->kmax, e);
	if (!err)
		err = rs_parse_count(pmax, &s->pmax, e);
	if (!err && (!s->kmin || s->kmax < s->kmin || s->pmax < 0 || s->pmax > 1))
		return rs_error_set(e, -EINVAL,
				    "expected 0 < KMIN <= KMAX and 0 <= PMAX <= 1, found '%s'",
				    text);
	return err;
}

static int set_bytes(const char *text, uint64_t *out, struct rs_error *e)
{
	int err = rs_parse_bytes(text, out, e);

	if (!err && !*out)
		return rs_error_set(e, -EINVAL, "expected some bytes, found '%s'", text);
	return err;
}

static int add_port(struct switch_settings *s, const char *text, struct rs_error *e)
{
	if (s->n_ports == SWITCH_PORT_OPTIONS)
		return rs_error_set(e, -E2BIG, "at most %d --port", SWITCH_PORT_OPTIONS);
	s->port[s->n_ports++] = text;
	return 0;
}

static int add_harm(struct switch_settings *s, int option, const char *text, struct rs_error *e)
{
	if (s->n_harm == SWITCH_HARM_OPTIONS)
		return rs_error_set(e, -E2BIG, "at most %d of --drop and its like",
				    SWITCH_HARM_OPTIONS);
	s->harm[s->n_harm].option = option;
	s->harm[s->n_harm++].text = text;
	return 0;
}

static int set_option(struct switch_settings *s, int o, char *text, struct rs_error *e)
{
	switch (o) {
	case 'a':
		s->as = text;
		return 0;
	case 'P':
		return add_port(s, text, e);
	case 'S':
		return rs_cli_setting(&s->sets, text, e);
	case 's':
		return rs_parse_int(text, 0, INT64_MAX, &s->seed, e);
	case 'r':
		return rs_parse_rate(text, &s->rate, e);
	case 'e':
		return set_ecn(s, text, e);
	case 'b':
		return set_bytes(text, &s->buffer, e);
	case 'l':
		return set_bytes(text, &s->limit, e);
	case 'c':
		return each(text, one_class, s, e);
	case 'w':
		return each(text, one_weight, s, e);
	case 'p':
		s->pfc_said = true;
		return each(text, one_lossless, s, e);
	default:
		return add_harm(s, o, text, e);
	}
}

/* ---- The switch ---- */

int switch_interface_parse(const char *text, struct switch_interface *out, struct rs_error *e)
{
	const char *equals = strchr(text, '=');
	size_t n = equals ? (size_t)(equals - text) : strlen(text);

	*out = (struct switch_interface){0};
	if (!n || n >= sizeof(out->name))
		return rs_error_set(e, -EINVAL, "there is no network interface '%s'", text);
	memcpy(out->name, text, n);
	return equals ? rs_parse_rate(equals + 1, &out->rate, e) : 0;
}

/* A switch without a description. */
static int stand_alone(struct switch_settings *s, char **specs, struct rs_error *e)
{
	struct rs_switch_config *c = &s->c.sw;
	int err = 0;

	*c = (struct rs_switch_config){.buffer = BUFFER_DEFAULT,
				       .pause_quanta = UINT16_MAX,
				       .mark_at_dequeue = true,
				       .seed = (uint64_t)s->seed};
	/* feedback does not wait behind the queue that it is about: marks are set at dequeue */
	c->tc_of_dscp[DSCP_CNP] = CLASS_CNP;
	c->tc_of_dscp[DSCP_ROCE] = CLASS_ROCE;
	for (; *specs && !err; specs++) {
		if (c->n_ports == RS_BRIDGE_PORTS_MAX)
			return rs_error_set(e, -EINVAL, "a switch joins at most %d interfaces",
					    RS_BRIDGE_PORTS_MAX);
		err = switch_interface_parse(*specs, &s->interface[c->n_ports++], e);
	}
	if (!err && c->n_ports < 2)
		return rs_error_set(e, -EINVAL, "expected two interfaces or more");
	for (unsigned i = 0; i < c->n_ports; i++) {
		struct rs_switch_port *p = &s->c.sw_port[i];

		p->rate = s->interface[i].rate ? s->interface[i].rate
			  : s->rate            ? s->rate
					       : RATE_DEFAULT;
		p->headroom = rs_bridge_headroom(p->rate, RS_BRIDGE_QUICK);
		p->kmin = (uint64_t)p->rate / 8 * (KMIN_DEFAULT / RS_US) / 1000000;
		p->kmax = (uint64_t)p->rate / 8 * (KMAX_DEFAULT / RS_US) / 1000000;
	}
	for (unsigned t = 0; t < RS_CLASSES; t++)
		c->classes[t] = (struct rs_switch_class){
			.ecn = true,
			.pmax = (uint32_t)(PMAX_DEFAULT * PMAX_ONE + 0.5),
			.weight = t != CLASS_CNP && t != CLASS_CONTROL,
		};
	return err;
}

/* Of the classes that mark; of all where none does, or there is no description. */
static void override_ecn(struct switch_settings *s)
{
	bool any = false;

	for (unsigned t = 0; s->f && t < RS_CLASSES; t++)
		any |= s->c.sw.classes[t].ecn;
	for (unsigned t = 0; t < RS_CLASSES; t++) {
		struct rs_switch_class *c = &s->c.sw.classes[t];

		c->ecn = s->ecn && (c->ecn || !any);
		if (!c->ecn)
			continue;
		c->kmin = s->kmin;
		c->kmax = s->kmax;
		c->pmax = (uint32_t)(s->pmax * PMAX_ONE + 0.5);
	}
	for (unsigned i = 0; s->ecn && i < s->c.sw.n_ports; i++) {
		s->c.sw_port[i].kmin = s->kmin;
		s->c.sw_port[i].kmax = s->kmax;
	}
}

/* What options say goes before what is there. */
static void override(struct switch_settings *s)
{
	struct rs_switch_config *c = &s->c.sw;

	if (s->buffer)
		c->buffer = s->buffer;
	for (unsigned d = 0; d < 64; d++)
		if (s->class_of[d] >= 0)
			c->tc_of_dscp[d] = (uint8_t)s->class_of[d];
	for (unsigned t = 0; t < RS_CLASSES; t++) {
		if (s->weight[t] >= 0)
			c->classes[t].weight = (uint8_t)s->weight[t];
		if (s->limit)
			c->classes[t].egress_limit = s->limit;
		if (s->pfc_said)
			c->classes[t].lossless = s->lossless >> t & 1;
	}
	if (s->ecn_said)
		override_ecn(s);
}

/* The queues' percentiles are in steps of a part of the least threshold. */
static uint64_t queue_step(const struct rs_bridge_config *c)
{
	uint64_t least = UINT64_MAX;

	for (unsigned t = 0; t < RS_CLASSES; t++)
		for (unsigned i = 0; c->sw.classes[t].ecn && i < c->sw.n_ports; i++) {
			uint64_t port = c->sw_port[i].kmin, class = c->sw.classes[t].kmin;
			uint64_t kmin = port ? port : class;

			least = kmin < least ? kmin : least;
		}
	least = least == UINT64_MAX ? STEP_WITHOUT : least / STEPS_OF_KMIN;
	return least ? least : 1;
}

/* ---- Interfaces ---- */

static int open_port(struct switch_settings *s, unsigned i, struct rs_error *e)
{
	struct rs_bridge_port_config *p = &s->c.port[i];
	const char *name = s->interface[i].name;
	struct rs_netdev net;
	int err;

	for (unsigned k = 0; k < i; k++)
		if (!strcmp(s->c.port[k].name, name))
			return rs_error_set(e, -EINVAL, "interface '%s' is named twice", name);
	err = rs_netdev_read(name, &net, e);
	if (!err && !net.up)
		return rs_error_set(e, -EINVAL, "network interface '%s' is down", name);
	if (!err)
		err = rs_raw_open(name, &p->fd, e);
	if (err)
		return err;
	memcpy(p->name, name, sizeof(p->name));
	memcpy(p->mac, net.mac, sizeof(p->mac));
	return 0;
}

static int open_ports(struct switch_settings *s, struct rs_error *e)
{
	int err = 0;

	for (unsigned i = 0; i < s->c.sw.n_ports; i++)
		s->c.port[i].fd = -1;
	for (unsigned i = 0; i < s->c.sw.n_ports && !err; i++)
		if (s->interface[i].name[0])
			err = open_port(s, i, e);
	for (unsigned i = 0; err && i < s->c.sw.n_ports; i++)
		if (s->c.port[i].fd >= 0)
			close(s->c.port[i].fd);
	return err;
}

/* From options and operands to a switch that could run. */
static int configure(struct switch_settings *s, char **operands, struct rs_error *e)
{
	bool described = operands[0] && switch_is_description(operands[0]);
	int err;

	if (!described && (s->as || s->n_ports || s->sets.n || s->show))
		return rs_error_set(e, -EINVAL,
				    "--as, --port, --set and --show are for a description: "
				    "expected its FILE first");
	if (described && operands[1])
		return rs_error_set(e, -EINVAL,
				    "'%s' is one operand too many: a description's interfaces are "
				    "named by --port PORT=INTERFACE",
				    operands[1]);
	err = described ? switch_describe(s, operands[0], e) : stand_alone(s, operands, e);
	if (err)
		return err;
	override(s);
	if (described)
		rs_bridge_soften(&s->c);
	s->c.queue_step = queue_step(&s->c);
	err = described ? switch_plug(s, e) : 0;
	return err ? err : switch_harm(s, e);
}

static void announce(const struct switch_settings *s)
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->c.sw.n_ports; i++)
		n += s->c.port[i].fd >= 0;
	if (s->f)
		fprintf(stderr, "ripstop switch: %s of %s, %u of %u ports, forwarding\n",
			s->f->switches[s->sw].name, s->f->name, n, s->c.sw.n_ports);
	else
		fprintf(stderr, "ripstop switch: %u ports, forwarding\n", n);
}

/* Until a signal ends it. */
static int run(struct rs_bridge *b, const struct switch_settings *s)
{
	struct signalfd_siginfo what = {0};
	sigset_t set;
	int fd, err = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	announce(s);
	do {
		err = rs_bridge_run(b, fd);
		if (!err && read(fd, &what, sizeof(what)) != sizeof(what))
			err = -EIO;
		if (!err)
			err = switch_print(s, b);
	} while (!err && what.ssi_signo == SIGUSR1);
	close(fd);
	return err;
}

static int start(struct switch_settings *s, struct rs_error *e)
{
	struct rs_bridge *b;
	int err = open_ports(s, e);

	if (err)
		return rs_cli_error(e), RS_EXIT_INPUT;
	if (s->f) {
		s->c.cable = switch_cable;
		s->c.cable_arg = s;
	}
	err = rs_bridge_create(&s->c, &b, e);
	if (err)
		return rs_cli_error(e);
	err = run(b, s);
	rs_bridge_destroy(b);
	if (!err)
		return RS_EXIT_OK;
	fprintf(stderr, "ripstop switch: %s\n", strerror(-err));
	return RS_EXIT_FAILED;
}

static int conclude(struct switch_settings *s, char **operands)
{
	struct rs_error e = {0};
	int err = configure(s, operands, &e);

	if (err)
		return rs_cli_error(&e);
	if (s->show)
		return switch_print_plan(s) ? RS_EXIT_FAILED : RS_EXIT_OK;
	return start(s, &e);
}

/* Which option it was, if the message does not begin with it. */
static int option_error(const struct option *options, int o, struct rs_error *e)
{
	char name[16];

	while (options->val != o)
		options++;
	snprintf(name, sizeof(name), "--%s", options->name);
	if (strncmp(e->what, "--", 2) != 0)
		rs_error_place(e, (struct rs_where){name, 0, 0});
	rs_cli_error(e);
	return RS_EXIT_INPUT;
}

int rs_cmd_switch(int argc, char **argv)
{
	static const struct option options[] = {
		{"rate", required_argument, NULL, 'r'},
		{"ecn", required_argument, NULL, 'e'},
		{"buffer", required_argument, NULL, 'b'},
		{"limit", required_argument, NULL, 'l'},
		{"class", required_argument, NULL, 'c'},
		{"weight", required_argument, NULL, 'w'},
		{"pfc", required_argument, NULL, 'p'},
		{"json", no_argument, NULL, 'j'},
		{"as", required_argument, NULL, 'a'},
		{"port", required_argument, NULL, 'P'},
		{"set", required_argument, NULL, 'S'},
		{"seed", required_argument, NULL, 's'},
		{"show", no_argument, NULL, 'n'},
		{"drop", required_argument, NULL, 'D'},
		{"corrupt", required_argument, NULL, 'C'},
		{"duplicate", required_argument, NULL, 'U'},
		{"reorder", required_argument, NULL, 'R'},
		{"delay", required_argument, NULL, 'T'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	static struct switch_settings s;
	struct rs_error e = {0};
	int o, status;

	s = (struct switch_settings){.seed = 1};
	memset(s.weight, -1, sizeof(s.weight));
	memset(s.class_of, -1, sizeof(s.class_of));
	while ((o = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (o == 'h')
			return help(stdout);
		if (o == '?')
			return rs_cli_try("switch");
		if (o == 'j')
			s.json = true;
		else if (o == 'n')
			s.show = true;
		else if (set_option(&s, o, optarg, &e))
			return option_error(options, o, &e);
	}
	status = conclude(&s, argv + optind);
	if (s.f)
		rs_fabric_free(s.f);
	if (s.arena)
		rs_arena_destroy(s.arena);
	return status;
}
