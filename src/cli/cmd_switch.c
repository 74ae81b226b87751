/* ripstop switch: network interfaces joined by the switch that is simulated, with its buffer, ECN
 * marks, classes and PFC, at rates of one's choice. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include "base/units.h"
#include "bridge/bridge.h"
#include "bridge/raw.h"
#include "cli/cli.h"
#include "live/live.h"
#include "report/report.h"

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

/* What the options say. */
struct settings {
	struct rs_bridge_config c;
	int64_t rate;
	bool ecn, json;
	uint64_t kmin, kmax; /* 0: by the port's rate */
	double pmax;
	uint8_t lossless;
	uint64_t limit;
	uint8_t weight[RS_CLASSES];
};

static int help(FILE *out)
{
	fputs("Usage: ripstop switch [OPTION]... INTERFACE[=RATE] INTERFACE[=RATE]...\n\n"
	      "Joins network interfaces: frames go by learned addresses, through the switch that\n"
	      "`ripstop sim` simulates. What no Linux kernel needs to have: ECN marking, shared\n"
	      "buffer, classes, PFC. Needs CAP_NET_RAW (root, or unshare -rn).\n\n"
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
	      "                          interfaces themselves ignore them)\n"
	      "  --json                  the counters as JSON\n\n"
	      "Counters are printed at the end (SIGINT, SIGTERM) and at SIGUSR1; the queues' "
	      "figures\nbegin anew each time.\n\n"
	      "Example:\n"
	      "  ripstop switch --rate 2G --ecn 50kB:200kB:0.1 veth1 veth2 veth3\n\n"
	      "Exit status: 0; 2 bad usage, no such interface, or not allowed.\n",
	      out);
	return RS_EXIT_OK;
}

/* ---- Options ---- */

/* One after another of a list, at commas; text is changed. */
static int each(const char *list, int (*one)(struct settings *s, char *text, struct rs_error *e),
		struct settings *s, struct rs_error *e)
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

static int one_class(struct settings *s, char *text, struct rs_error *e)
{
	int64_t dscp, class;
	int err = pair(text, 63, RS_CLASSES - 1, &dscp, &class, e);

	if (!err)
		s->c.tc_of_dscp[dscp] = (uint8_t) class;
	return err;
}

static int one_weight(struct settings *s, char *text, struct rs_error *e)
{
	int64_t class, weight;
	int err = pair(text, RS_CLASSES - 1, 100, &class, &weight, e);

	if (!err)
		s->weight[class] = (uint8_t)weight;
	return err;
}

static int one_lossless(struct settings *s, char *text, struct rs_error *e)
{
	int64_t class;
	int err = rs_parse_int(text, 0, RS_CLASSES - 1, &class, e);

	if (!err)
		s->lossless |= (uint8_t)(1 << class);
	return err;
}

static int set_ecn(struct settings *s, const char *text, struct rs_error *e)
{
	char kmin[32], kmax[32], pmax[32], more;
	int err;

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

static int set_option(struct settings *s, int o, const char *text, struct rs_error *e)
{
	switch (o) {
	case 'r':
		return rs_parse_rate(text, &s->rate, e);
	case 'e':
		return set_ecn(s, text, e);
	case 'b':
		return set_bytes(text, &s->c.buffer, e);
	case 'l':
		return set_bytes(text, &s->limit, e);
	case 'c':
		return each(text, one_class, s, e);
	case 'w':
		return each(text, one_weight, s, e);
	default:
		return each(text, one_lossless, s, e);
	}
}

/* ---- Ports ---- */

static int open_port(struct settings *s, const char *spec, struct rs_error *e)
{
	struct rs_bridge_port_config *p = &s->c.port[s->c.n_ports];
	const char *equals = strchr(spec, '=');
	size_t n = equals ? (size_t)(equals - spec) : strlen(spec);
	struct rs_netdev net;
	int err;

	if (s->c.n_ports == RS_BRIDGE_PORTS_MAX)
		return rs_error_set(e, -EINVAL, "a switch joins at most %d interfaces",
				    RS_BRIDGE_PORTS_MAX);
	if (n >= sizeof(p->name))
		return rs_error_set(e, -EINVAL, "there is no network interface '%s'", spec);
	memcpy(p->name, spec, n);
	for (unsigned i = 0; i < s->c.n_ports; i++)
		if (!strcmp(s->c.port[i].name, p->name))
			return rs_error_set(e, -EINVAL, "interface '%s' is named twice", p->name);
	p->rate = s->rate;
	err = equals ? rs_parse_rate(equals + 1, &p->rate, e) : 0;
	if (!err)
		err = rs_netdev_read(p->name, &net, e);
	if (!err && !net.up)
		return rs_error_set(e, -EINVAL, "network interface '%s' is down", p->name);
	if (!err)
		err = rs_raw_open(p->name, &p->fd, e);
	if (err)
		return err;
	memcpy(p->mac, net.mac, sizeof(p->mac));
	s->c.n_ports++;
	return 0;
}

static void set_thresholds(struct settings *s)
{
	uint64_t least = 0;

	for (unsigned i = 0; i < s->c.n_ports; i++) {
		struct rs_bridge_port_config *p = &s->c.port[i];
		uint64_t second = (uint64_t)p->rate / 8;

		p->kmin = s->kmin ? s->kmin : second * (KMIN_DEFAULT / RS_US) / 1000000;
		p->kmax = s->kmax ? s->kmax : second * (KMAX_DEFAULT / RS_US) / 1000000;
		least = !least || p->kmin < least ? p->kmin : least;
	}
	s->c.queue_step = s->ecn ? least / STEPS_OF_KMIN : STEP_WITHOUT;
	s->c.queue_step += !s->c.queue_step;
	for (unsigned t = 0; t < RS_CLASSES; t++)
		s->c.classes[t] = (struct rs_switch_class){
			.lossless = s->lossless >> t & 1,
			.egress_limit = s->limit,
			.ecn = s->ecn,
			.kmin = s->c.port[0].kmin,
			.kmax = s->c.port[0].kmax,
			.pmax = (uint32_t)(s->pmax * PMAX_ONE + 0.5),
			.weight = s->weight[t],
		};
}

static int open_ports(struct settings *s, char **specs, struct rs_error *e)
{
	int err = 0;

	for (; *specs && !err; specs++)
		err = open_port(s, *specs, e);
	if (!err && s->c.n_ports < 2)
		err = rs_error_set(e, -EINVAL, "expected two interfaces or more");
	for (unsigned i = 0; err && i < s->c.n_ports; i++)
		close(s->c.port[i].fd);
	return err;
}

/* ---- Counters ---- */

static int print_text(const struct settings *s, const struct rs_bridge_report *r)
{
	struct rs_table *t = rs_table_create(NULL);
	static const char *const columns[] = {"port",       "rate",    "in",     "out",
					      "out bytes",  "dropped", "marked", "paused",
					      "queue mean", "p99",     "most"};
	char rate[32], mean[32], p99[32], most[32], bytes[32];

	if (!t)
		return -ENOMEM;
	for (unsigned i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		rs_table_column(t, columns[i], i ? RS_RIGHT : RS_LEFT);
	for (unsigned i = 0; i < s->c.n_ports; i++) {
		const struct rs_bridge_port_report *p = &r->port[i];

		rs_table_row(t);
		rs_table_cell(t, "%s", s->c.port[i].name);
		rs_table_cell(t, "%s", rs_format_rate(rate, sizeof(rate), s->c.port[i].rate));
		rs_table_cell(t, "%llu", (unsigned long long)p->c.rx_packets);
		rs_table_cell(t, "%llu", (unsigned long long)p->c.tx_packets);
		rs_table_cell(t, "%s", rs_human_bytes(bytes, sizeof(bytes), (double)p->c.tx_bytes));
		rs_table_cell(t, "%llu", (unsigned long long)p->c.drops);
		rs_table_cell(t, "%llu", (unsigned long long)p->c.ecn_marked);
		rs_table_cell(t, "%llu", (unsigned long long)p->c.tx_pauses);
		rs_table_cell(t, "%s", rs_human_bytes(mean, sizeof(mean), p->mean_queue));
		rs_table_cell(t, "%s", rs_human_bytes(p99, sizeof(p99), (double)p->p99_queue));
		rs_table_cell(t, "%s", rs_human_bytes(most, sizeof(most), (double)p->max_queue));
	}
	rs_table_print(t, stdout);
	printf("%llu dropped for want of buffer, %llu more for want of room for frames, %llu "
	       "unread; "
	       "%llu to all ports, %llu filtered; %u addresses.\n",
	       (unsigned long long)(r->c.drops + r->c.unroutable), (unsigned long long)r->no_room,
	       (unsigned long long)r->unread, (unsigned long long)r->flooded,
	       (unsigned long long)r->filtered, r->addresses);
	return 0;
}

static void json_port(struct rs_json *j, const struct rs_bridge_port_config *c,
		      const struct rs_bridge_port_report *p)
{
	rs_json_object(j, NULL);
	rs_json_string(j, "interface", c->name);
	rs_json_int(j, "rate", c->rate);
	rs_json_uint(j, "kmin", c->kmin);
	rs_json_uint(j, "kmax", c->kmax);
	rs_json_uint(j, "rx_packets", p->c.rx_packets);
	rs_json_uint(j, "rx_bytes", p->c.rx_bytes);
	rs_json_uint(j, "tx_packets", p->c.tx_packets);
	rs_json_uint(j, "tx_bytes", p->c.tx_bytes);
	rs_json_uint(j, "dropped", p->c.drops);
	rs_json_uint(j, "ecn_marked", p->c.ecn_marked);
	rs_json_uint(j, "tx_pauses", p->c.tx_pauses);
	rs_json_uint(j, "rx_pauses", p->c.rx_pauses);
	rs_json_uint(j, "refused", p->refused);
	rs_json_number(j, "mean_queue", p->mean_queue);
	rs_json_uint(j, "median_queue", p->median_queue);
	rs_json_uint(j, "p99_queue", p->p99_queue);
	rs_json_uint(j, "max_queue", p->max_queue);
	rs_json_end(j);
}

static int print_json(const struct settings *s, const struct rs_bridge_report *r)
{
	struct rs_json *j = rs_json_create(stdout);

	if (!j)
		return -ENOMEM;
	rs_json_object(j, NULL);
	rs_json_number(j, "seconds", r->seconds);
	rs_json_uint(j, "dropped", r->c.drops + r->c.unroutable);
	rs_json_uint(j, "dropped_lossless", r->c.drops_lossless);
	rs_json_uint(j, "no_room", r->no_room);
	rs_json_uint(j, "unread", r->unread);
	rs_json_uint(j, "flooded", r->flooded);
	rs_json_uint(j, "filtered", r->filtered);
	rs_json_uint(j, "ecn_marked", r->c.ecn_marked);
	rs_json_uint(j, "max_buffer", r->c.max_buffer);
	rs_json_uint(j, "addresses", r->addresses);
	rs_json_array(j, "ports");
	for (unsigned i = 0; i < s->c.n_ports; i++)
		json_port(j, &s->c.port[i], &r->port[i]);
	rs_json_end(j);
	rs_json_end(j);
	return rs_json_finish(j);
}

static int print(struct rs_bridge *b, const struct settings *s)
{
	struct rs_bridge_report *r = malloc(sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	rs_bridge_get_report(b, r, true);
	err = s->json ? print_json(s, r) : print_text(s, r);
	free(r);
	return fflush(stdout) ? -EIO : err;
}

/* Until a signal ends it. */
static int run(struct rs_bridge *b, const struct settings *s)
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
	fprintf(stderr, "ripstop switch: %u ports, forwarding\n", s->c.n_ports);
	do {
		err = rs_bridge_run(b, fd);
		if (!err && read(fd, &what, sizeof(what)) != sizeof(what))
			err = -EIO;
		if (!err)
			err = print(b, s);
	} while (!err && what.ssi_signo == SIGUSR1);
	close(fd);
	return err;
}

static void defaults(struct settings *s)
{
	*s = (struct settings){.rate = RATE_DEFAULT, .ecn = true, .pmax = PMAX_DEFAULT};
	s->c.buffer = BUFFER_DEFAULT;
	s->c.seed = 1;
	s->c.tc_of_dscp[DSCP_CNP] = CLASS_CNP;
	s->c.tc_of_dscp[DSCP_ROCE] = CLASS_ROCE;
	for (unsigned t = 0; t < RS_CLASSES; t++)
		s->weight[t] = t != CLASS_CNP && t != CLASS_CONTROL;
}

int rs_cmd_switch(int argc, char **argv)
{
	static const struct option options[] = {
		{"rate", required_argument, NULL, 'r'},   {"ecn", required_argument, NULL, 'e'},
		{"buffer", required_argument, NULL, 'b'}, {"limit", required_argument, NULL, 'l'},
		{"class", required_argument, NULL, 'c'},  {"weight", required_argument, NULL, 'w'},
		{"pfc", required_argument, NULL, 'p'},    {"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0},
	};
	static struct settings s;
	struct rs_error e = {0};
	struct rs_bridge *b;
	int o, err;

	defaults(&s);
	while ((o = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (o == 'h')
			return help(stdout);
		if (o == '?')
			return rs_cli_usage("switch", "see the options");
		if (o == 'j')
			s.json = true;
		else if (set_option(&s, o, optarg, &e))
			return rs_cli_error(&e), RS_EXIT_INPUT;
	}
	if (open_ports(&s, argv + optind, &e))
		return rs_cli_error(&e), RS_EXIT_INPUT;
	set_thresholds(&s);
	err = rs_bridge_create(&s.c, &b, &e);
	if (err)
		return rs_cli_error(&e);
	err = run(b, &s);
	rs_bridge_destroy(b);
	if (!err)
		return RS_EXIT_OK;
	fprintf(stderr, "ripstop switch: %s\n", strerror(-err));
	return RS_EXIT_FAILED;
}
