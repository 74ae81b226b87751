/* Cumulus Linux, NVUE: `nv set` lines, `nv config show` (YAML, JSON), `nv show qos roce` and
 * `nv show interface X qos roce` (text, JSON). A switch priority is the class of a DSCP and the
 * priority of PFC; its traffic class is the queue. `nv set qos roce` stands for what Cumulus
 * documents of it: DSCP 26 and 24-31 in switch priority 3, lossless, marked in traffic class 3. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/read/config.h"
#include "audit/read/readers.h"

enum { RANGE_MAX = 512, BOUND = 512, BUDGET = 500000 };

struct nvue {
	struct rs_audit *a;
	const struct rs_input *in;
	struct rs_config c;
	char port[64];                           /* of `nv show interface`; "*": all */
	const struct rs_statement *bound[BOUND]; /* interfaces with a profile of their own */
	unsigned n_bound;
	uint32_t budget; /* how often a profile's statement may still be said of a port */
};

static void __attribute__((format(printf, 5, 6)))
say(struct nvue *v, uint32_t line, const char *port, const char *name, const char *fmt, ...)
{
	char subject[160], value[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	snprintf(subject, sizeof(subject), "port/%s", port ? port : "");
	rs_input_add(v->a, v->in, line, NULL, port ? subject : "host", name, "%s", value);
}

static void is_cumulus(struct nvue *v)
{
	say(v, 0, NULL, "role", "switch");
	say(v, 0, NULL, "os", "Cumulus");
}

/* "146.48 KB" is in units of 1024: bytes; -1: no size. */
static int64_t bytes(const char *text)
{
	static const struct {
		const char *unit;
		double factor;
	} units[] = {{"Bytes", 1},
		     {"B", 1},
		     {"KB", 1024},
		     {"MB", 1024 * 1024.},
		     {"GB", 1024. * 1024 * 1024},
		     {"", 1}};
	char *end;
	double n = strtod(text, &end);

	if (end == text || !(n >= 0 && n < 1e15))
		return -1;
	while (*end == ' ')
		end++;
	for (unsigned i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (!strcasecmp(end, units[i].unit))
			return (int64_t)(n * units[i].factor + 0.5);
	return -1;
}

static bool on(const char *v)
{
	return !strcasecmp(v, "on") || !strcasecmp(v, "yes") || !strcasecmp(v, "enable") ||
	       !strcasecmp(v, "enabled") || !strcasecmp(v, "true");
}

/* Calls fn for each number of "0,3" or "24-31". */
static void each_number(const char *list, void (*fn)(void *arg, int n), void *arg)
{
	int from, to, used;

	for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',') {
		if (sscanf(p, "%d%n", &from, &used) < 1 || from < 0)
			continue;
		if (p[used] != '-' || sscanf(p + used + 1, "%d", &to) != 1)
			to = from;
		for (int n = from; n <= to && n - from < RANGE_MAX; n++)
			fn(arg, n);
	}
}

struct numbered {
	struct nvue *v;
	uint32_t line;
	const char *port, *fmt, *value;
};

static void say_numbered(void *arg, int n)
{
	const struct numbered *x = arg;
	char name[64];

	snprintf(name, sizeof(name), x->fmt, n);
	say(x->v, x->line, x->port, name, "%s", x->value);
}

static void say_each(struct nvue *v, uint32_t line, const char *port, const char *fmt,
		     const char *list, const char *value)
{
	struct numbered x = {v, line, port, fmt, value};

	each_number(list, say_numbered, &x);
}

/* ---- nv set and nv config show ---- */

/* Calls fn for each of "swp1-4,swp8s0-1": the last number of a name may be a range. */
static void each_port(const char *list, void (*fn)(void *arg, const char *port), void *arg)
{
	for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',') {
		size_t n = strcspn(p, ",");
		const char *dash = memchr(p, '-', n), *digit = dash;
		char name[64];

		while (digit && digit > p && isdigit((unsigned char)digit[-1]))
			digit--;
		if (!dash || digit == dash || n > 40 || !isdigit((unsigned char)dash[1])) {
			snprintf(name, sizeof(name), "%.*s", (int)n, p);
			fn(arg, name);
			continue;
		}
		for (int i = atoi(digit), to = atoi(dash + 1), k = 0; i <= to && k < RANGE_MAX;
		     i++, k++) {
			snprintf(name, sizeof(name), "%.*s%d", (int)(digit - p), p, i);
			fn(arg, name);
		}
	}
}

struct named {
	struct nvue *v;
	uint32_t line;
	const char *name, *value;
};

static void say_port(void *arg, const char *port)
{
	const struct named *x = arg;

	if (!strncmp(port, "swp", 3))
		say(x->v, x->line, port, x->name, "%s", x->value);
}

/* `nv set qos roce`: what Cumulus Linux 5 documents of its lossless and lossy modes. */
static void roce(struct nvue *v, uint32_t line, bool lossless)
{
	for (int dscp = 0; dscp < 64; dscp++) {
		char name[32];

		snprintf(name, sizeof(name), "dscp_to_tc/%d", dscp);
		say(v, line, "*", name, "%d", dscp / 8);
	}
	for (int p = 0; p < 8; p++) {
		char name[32];

		snprintf(name, sizeof(name), "tc_to_queue/%d", p);
		say(v, line, "*", name, "%d", p == 3 || p == 6 ? p : 0);
		snprintf(name, sizeof(name), "pfc/%d", p);
		say(v, line, "*", name, "%d", lossless && p == 3);
	}
	say(v, line, "*", "trust", "pcp,dscp");
	say(v, line, "*", "queue/3/ecn", "1");
	say(v, line, "*", "queue/0/ecn", "1");
	say(v, line, "*", "queue/3/kmin", "150000");
	say(v, line, "*", "queue/3/kmax", "1500000");
	say(v, line, "*", "queue/3/pmax", "100");
	say(v, line, "*", "queue/3/scheduler", "DWRR");
	say(v, line, "*", "queue/3/weight", "50");
	say(v, line, "*", "queue/6/scheduler", "STRICT");
	say(v, line, "*", "queues_seen", "1");
	say(v, line, NULL, "roce_mode", "%s", lossless ? "lossless" : "lossy");
}

static void roce_mode(struct nvue *v)
{
	const char *got[RS_CONFIG_CAPTURES];
	const struct rs_statement *mode = NULL, *enable = NULL, *s;
	uint32_t at = 0;

	while ((s = rs_config_next(&v->c, &at, "qos roce *", NULL))) {
		if (rs_config_match(s, "qos roce mode ?", got) ||
		    rs_config_match(s, "qos roce enable on mode ?", got))
			mode = s;
		else if (rs_config_match(s, "qos roce enable ?", got) ||
			 rs_config_match(s, "qos roce", got))
			enable = s;
		else if (rs_config_match(s, "qos roce cable-length ?", got))
			say(v, s->line, "*", "cable_m", "%s", got[0]);
	}
	if (enable && enable->n == 4 && !on(enable->word[3]) && strcmp(enable->word[2], "mode"))
		return;
	if (enable && enable->n == 4 && !on(enable->word[enable->n - 1]))
		return;
	if (mode || enable) {
		const char *m = mode ? mode->word[mode->n - 1] : "lossless";

		roce(v, (mode ? mode : enable)->line, strncmp(m, "lossy", 5) != 0);
	}
}

/* One statement of a profile, `qos KIND PROFILE ...`, for a port that has it. */
static void quality(struct nvue *v, const struct rs_statement *s, const char *port)
{
	const char *got[RS_CONFIG_CAPTURES];
	uint32_t at = s->line;

	if (rs_config_match(s, "qos mapping ? trust ?", got)) {
		say(v, at, port, "trust", "%s",
		    !strcmp(got[1], "l3")     ? "dscp"
		    : !strcmp(got[1], "both") ? "pcp,dscp"
		    : !strcmp(got[1], "l2")   ? "pcp"
					      : got[1]);
	} else if (rs_config_match(s, "qos mapping ? dscp ? switch-priority ?", got)) {
		say_each(v, at, port, "dscp_to_tc/%d", got[1], got[2]);
	} else if (rs_config_match(s,
				   "qos egress-queue-mapping ? switch-priority ? traffic-class ?",
				   got)) {
		say_each(v, at, port, "tc_to_queue/%d", got[1], got[2]);
	} else if (rs_config_match(s, "qos pfc ? switch-priority ?", got)) {
		/* the others have none */
		say(v, at, port, "pfc_seen", "1");
		say_each(v, at, port, "pfc/%d", got[1], "1");
	} else if (rs_config_match(s, "qos pfc ? cable-length ?", got)) {
		say(v, at, port, "cable_m", "%s", got[1]);
	} else if (rs_config_match(s, "qos pfc ? tx ?", got)) {
		say(v, at, port, "pfc_tx", "%d", on(got[1]));
	} else if (rs_config_match(s, "qos pfc ? rx ?", got)) {
		say(v, at, port, "pfc_rx", "%d", on(got[1]));
	} else if (rs_config_match(s, "qos egress-scheduler ? traffic-class ? mode ?", got)) {
		say_each(v, at, port, "queue/%d/scheduler", got[1],
			 !strcasecmp(got[2], "strict") ? "STRICT" : "DWRR");
	} else if (rs_config_match(s, "qos egress-scheduler ? traffic-class ? bw-percent ?", got)) {
		say_each(v, at, port, "queue/%d/weight", got[1], got[2]);
	}
}

static void congestion(struct nvue *v, const struct rs_statement *s, const char *port)
{
	static const struct {
		const char *word, *fact;
	} thresholds[] = {{"min-threshold-bytes", "queue/%d/kmin"},
			  {"max-threshold-bytes", "queue/%d/kmax"},
			  {"min-threshold", "queue/%d/kmin"},
			  {"max-threshold", "queue/%d/kmax"},
			  {"probability", "queue/%d/pmax"}};
	const char *got[RS_CONFIG_CAPTURES];

	if (!rs_config_match(s, "qos congestion-control ? traffic-class ? ? ?", got))
		return;
	if (!strcmp(got[2], "ecn"))
		say_each(v, s->line, port, "queue/%d/ecn", got[1], on(got[3]) ? "1" : "0");
	for (unsigned i = 0; i < sizeof(thresholds) / sizeof(*thresholds); i++) {
		char value[32];

		if (strcmp(got[2], thresholds[i].word) || bytes(got[3]) < 0)
			continue;
		snprintf(value, sizeof(value), "%lld", (long long)bytes(got[3]));
		say_each(v, s->line, port, thresholds[i].fact, got[1], value);
	}
}

struct applied {
	struct nvue *v;
	const struct rs_statement *s;
};

static void apply(void *arg, const char *port)
{
	struct applied *x = arg;

	if (!x->v->budget)
		return;
	x->v->budget--;
	quality(x->v, x->s, port);
	congestion(x->v, x->s, port);
}

/* "default-global" speaks of all ports, another profile of those that have it. */
static void profile(struct nvue *v, const struct rs_statement *s)
{
	struct applied x = {v, s};
	const char *got[RS_CONFIG_CAPTURES];

	if (s->n < 4 || strcmp(s->word[0], "qos"))
		return;
	if (!strcmp(s->word[2], "default-global")) {
		apply(&x, "*");
		return;
	}
	for (unsigned i = 0; i < v->n_bound; i++)
		if (rs_config_match(v->bound[i], "interface ? qos ? profile ?", got) &&
		    !strcmp(got[1], s->word[1]) && !strcmp(got[2], s->word[2]))
			each_port(got[0], apply, &x);
}

static void find_bound(struct nvue *v)
{
	uint32_t at = 0;
	const struct rs_statement *s;

	while (v->n_bound < BOUND &&
	       (s = rs_config_next(&v->c, &at, "interface ? qos ? profile ?", NULL)))
		v->bound[v->n_bound++] = s;
}

static int64_t speed_mbps(const char *v)
{
	char *end;
	double n = strtod(v, &end);

	if (end == v || !(n > 0 && n < 1e6))
		return 0;
	return !strcasecmp(end, "g") ? (int64_t)(n * 1000) : !strcasecmp(end, "m") ? (int64_t)n : 0;
}

static void interface(struct nvue *v, const struct rs_statement *s)
{
	static const struct {
		const char *pattern, *fact;
	} forms[] = {
		{"interface ? link mtu ?", "mtu"},
		{"interface ? link fec ?", "fec"},
		{"interface ? link speed ?", "speed_mbps"},
		{"interface ? description ?", "description"},
		{"interface ? link state ?", "admin"},
		{"interface ? qos pfc-watchdog state ?", "watchdog"},
	};
	const char *got[RS_CONFIG_CAPTURES];

	for (unsigned i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		struct named x = {v, s->line, forms[i].fact, NULL};
		char speed[32];

		if (!rs_config_match(s, forms[i].pattern, got))
			continue;
		x.value = got[1];
		if (i == 2) {
			if (!speed_mbps(got[1]))
				continue;
			snprintf(speed, sizeof(speed), "%lld", (long long)speed_mbps(got[1]));
			x.value = speed;
		} else if (i == 5) {
			x.value = on(got[1]) ? "on" : "off";
		}
		each_port(got[0], say_port, &x);
	}
}

static void say_no_pfc(void *arg, const char *port)
{
	const struct named *x = arg;
	char name[16];

	for (int p = 0; p < 8 && x->v->budget; p++, x->v->budget--) {
		snprintf(name, sizeof(name), "pfc/%d", p);
		say(x->v, x->line, port, name, "0");
	}
}

/* A port with a PFC profile of its own has no priority but that profile's. */
static void no_others(struct nvue *v)
{
	const char *got[RS_CONFIG_CAPTURES];

	for (unsigned i = 0; i < v->n_bound; i++) {
		struct named x = {v, v->bound[i]->line, NULL, NULL};

		if (rs_config_match(v->bound[i], "interface ? qos pfc profile ?", got) &&
		    strcmp(got[1], "default-global"))
			each_port(got[0], say_no_pfc, &x);
	}
}

static void statements(struct nvue *v)
{
	const char *got[RS_CONFIG_CAPTURES];

	is_cumulus(v);
	find_bound(v);
	for (uint32_t i = 0; i < v->c.n; i++) {
		struct rs_statement s = v->c.at[i];

		if (rs_config_match(&s, "system hostname ?", got))
			say(v, s.line, NULL, "hostname", "%s", got[0]);
		else if (rs_config_match(&s, "router adaptive-routing enable ?", got))
			say(v, s.line, NULL, "ar", "%s", on(got[0]) ? "on" : "off");
		else if (rs_config_match(&s, "system forwarding ecmp-hash source-port ?", got))
			say(v, s.line, NULL, "hash/l4_source", "%d", on(got[0]));
		else if (rs_config_match(&s, "system forwarding hash-seed ?", got))
			say(v, s.line, NULL, "hash/seed", "%s", got[0]);
		profile(v, &s);
	}
	/* of a port that two lines name, by itself and in a range, the later counts */
	for (uint32_t i = v->c.n; i--;) {
		const struct rs_statement s = v->c.at[i];

		interface(v, &s);
	}
	/* last: what is set by itself wins over what the one word stands for */
	no_others(v);
	roce_mode(v);
}

/* The root of `nv config show` is a list of what is set; `nv show` has the tree itself, and
 * `nv show interface` what lies below it. */
static void from_root(struct rs_config *c)
{
	for (uint32_t i = 0; i < c->n; i++) {
		struct rs_statement *s = &c->at[i];

		if (s->n > 1 && !strcmp(s->word[0], "set")) {
			s->word++;
			s->n--;
		} else if (!strncmp(s->word[0], "swp", 3) && s->n < RS_CONFIG_DEPTH) {
			const char **longer = rs_arena_alloc(c->arena, s->n + 1u, sizeof(*longer));

			if (!longer)
				return;
			longer[0] = "interface";
			memcpy(longer + 1, s->word, s->n * sizeof(*longer));
			s->word = longer;
			s->n++;
		}
	}
}

static int score_set(const struct rs_input *in)
{
	if (rs_input_has(in, "nv set "))
		return rs_input_has(in, "nv set qos ") || rs_input_has(in, "nv set interface ") ||
				       rs_input_has(in, "nv set system ") ||
				       rs_input_has(in, "nv set router ")
			       ? 84
			       : 0;
	if (rs_input_has(in, "nvue-api-version") || rs_input_has(in, "\n- set:"))
		return 84;
	if (in->data[0] == '{' && rs_input_has(in, "\"swp") && rs_input_has(in, "\"link\""))
		return 84;
	return strncmp(in->data, "- set:", 6) ? 0 : 84;
}

static int read_set(struct rs_audit *a, const struct rs_input *in)
{
	struct nvue v = {.a = a, .in = in, .budget = BUDGET};

	if (rs_config_create(&v.c))
		return -ENOMEM;
	if (rs_input_has(in, "nv set ")) {
		rs_config_nv(&v.c, in);
	} else {
		rs_config_tree(&v.c, in);
		from_root(&v.c);
	}
	if (v.c.n)
		statements(&v);
	rs_config_destroy(&v.c);
	return a->err;
}

static bool own_name(const struct rs_input *in, char *out, size_t size)
{
	return rs_input_word(in, "nv set system hostname ", out, size) ||
	       rs_input_word(in, " hostname:", out, size);
}

const struct rs_reader rs_reader_nvue = {
	.name = "nvue",
	.what = "Cumulus NVUE configuration: nv set lines, nv config show -o yaml or json",
	.trust = RS_TRUST_INTENT,
	.score = score_set,
	.settings = true,
	.read = read_set,
	.own_name = own_name,
};

/* ---- nv show qos roce, nv show interface X qos roce [status|counters] ---- */

static int score_show(const struct rs_input *in)
{
	if (rs_input_has(in, "operational") && rs_input_has(in, "applied") &&
	    (rs_input_has(in, "congestion-control") || rs_input_has(in, "rx-roce-stats") ||
	     rs_input_has(in, "tx-roce-stats")))
		return 85;
	if (in->data[0] == '{' && rs_input_has(in, "\"roce-packets\""))
		return 85;
	if (in->data[0] == '{' && rs_input_has(in, "\"congestion-control\"") &&
	    rs_input_has(in, "\"pfc-priority\""))
		return 85;
	if (rs_input_has(in, "operational") && rs_input_has(in, "applied") &&
	    rs_input_has(in, "pfc-priority"))
		return 85;
	return rs_input_has(in, "PCP/DSCP->SP mapping") ? 85 : 0;
}

/* The port is in no line of the output: in the prompt before it, or in the name of the file. */
static void show_port(struct nvue *v)
{
	static const char command[] = "nv show interface ";
	const char *p = memmem(v->in->data, v->in->size, command, strlen(command)), *slash;
	size_t n;

	if (!p && v->in->command)
		p = strstr(v->in->command, command);
	snprintf(v->port, sizeof(v->port), "*");
	slash = strrchr(v->in->inner, '/');
	p = p ? p + strlen(command) : strstr(slash ? slash : v->in->inner, "swp");
	if (!p)
		return;
	n = 0;
	while (isalnum((unsigned char)p[n]))
		n++;
	if (n > 3 && n < sizeof(v->port) && !strncmp(p, "swp", 3))
		snprintf(v->port, sizeof(v->port), "%.*s", (int)n, p);
}

struct columns {
	size_t operational, applied, description; /* where they begin; 0: no such column */
};

static size_t column(const char *line, const char *name)
{
	const char *p = strstr(line, name);

	return p ? (size_t)(p - line) : 0;
}

static void cut(const char *line, size_t from, size_t to, char *out, size_t size)
{
	size_t n = strlen(line);

	*out = '\0';
	if (!from || from >= n)
		return;
	if (!to || to > n)
		to = n;
	while (from < to && line[from] == ' ')
		from++;
	while (to > from && line[to - 1] == ' ')
		to--;
	if (to - from < size)
		snprintf(out, size, "%.*s", (int)(to - from), line + from);
}

struct shown {
	struct nvue *v;
	char section[4][48];
	unsigned indent[4], depth;
	char enabled_tc[32];
	char tc_threshold[2][32]; /* min, max */
	uint32_t line;
};

/* The same word in another table means another counter: section/name. */
static void counter(struct shown *x, uint32_t line, const char *section, const char *name,
		    const char *value)
{
	static const struct {
		const char *section, *name, *fact;
	} known[] = {
		{"rx-pfc-stats", "pause-packets", "counter/rx_pause"},
		{"rx-pfc-stats", "pause-duration", "counter/rx_pause_us"},
		{"tx-pfc-stats", "pause-packets", "counter/tx_pause"},
		{"tx-pfc-stats", "pause-duration", "counter/tx_pause_us"},
		{"rx-roce-stats", "no-buffer-discard", "counter/lossless_rx_discards"},
		{"tx-roce-stats", "unicast-no-buffer-discard", "counter/lossless_tx_discards"},
		{"rx-roce-stats", "roce-packets", "counter/lossless_rx_packets"},
		{"tx-roce-stats", "roce-packets", "counter/lossless_tx_packets"},
		{"tx-ecn-stats", "ecn-marked-packets", "counter/ecn_marked"},
		{"tx-cnp-stats", "unicast-no-buffer-discard", "counter/cnp_tx_discards"},
		{"rx-non-roce-stats", "no-buffer-discard", "counter/lossy_rx_discards"},
	};

	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(section, known[i].section) && !strcmp(name, known[i].name) &&
		    strspn(value, "0123456789") == strlen(value))
			say(x->v, line, x->v->port, known[i].fact, "%s", value);
}

static void state(struct shown *x, uint32_t line, const char *section, const char *name,
		  const char *value)
{
	struct nvue *v = x->v;

	if (!strcmp(section, "pfc") && !strcmp(name, "pfc-priority")) {
		for (int p = 0; p < 8; p++) {
			char digit[2] = {(char)('0' + p), 0}, fact[16];

			snprintf(fact, sizeof(fact), "pfc/%d", p);
			say(v, line, v->port, fact, "%d", strchr(value, *digit) != NULL);
		}
	} else if (!strcmp(section, "pfc") && !strcmp(name, "rx-enabled")) {
		say(v, line, v->port, "pfc_rx", "%d", on(value));
	} else if (!strcmp(section, "pfc") && !strcmp(name, "tx-enabled")) {
		say(v, line, v->port, "pfc_tx", "%d", on(value));
	} else if (!strcmp(section, "pfc") && !strcmp(name, "cable-length")) {
		say(v, line, v->port, "cable_m", "%s", value);
	} else if (!strcmp(name, "trust-mode")) {
		say(v, line, v->port, "trust", "%s", value);
	} else if (!strcmp(name, "enabled-tc")) {
		snprintf(x->enabled_tc, sizeof(x->enabled_tc), "%s", value);
		x->line = line;
	} else if (!strcmp(name, "min-threshold") && bytes(value) >= 0) {
		snprintf(x->tc_threshold[0], 32, "%lld", (long long)bytes(value));
	} else if (!strcmp(name, "max-threshold") && bytes(value) >= 0) {
		snprintf(x->tc_threshold[1], 32, "%lld", (long long)bytes(value));
	} else if (!strcmp(name, "mode") && !x->depth) {
		say(v, line, NULL, "roce_mode", "%s", value);
	}
}

/* Both columns, where both say something: S15 compares. */
static void columns_differ(struct shown *x, uint32_t line, const char *path, const char *op,
			   const char *applied)
{
	char name[160], subject[80];

	if (!*op || !*applied)
		return;
	snprintf(subject, sizeof(subject), "port/%s", x->v->port);
	snprintf(name, sizeof(name), "operational/%s", path);
	rs_input_add(x->v->a, x->v->in, line, NULL, subject, name, "%s", op);
	snprintf(name, sizeof(name), "applied/%s", path);
	rs_input_add(x->v->a, x->v->in, line, NULL, subject, name, "%s", applied);
}

static void row(struct shown *x, const struct rs_line *l, const struct columns *c)
{
	char name[64], op[64], applied[64], path[128], whole[4200];
	const char *section;
	unsigned pad = l->indent;

	/* the columns count from the left edge, which rs_line_next() took off */
	snprintf(whole, sizeof(whole), "%*s%s", (int)(pad < 40 ? pad : 40), "", l->text);
	cut(whole, pad ? pad : 0, c->operational, name, sizeof(name));
	if (!pad) {
		size_t n = strcspn(l->text, " ");

		snprintf(name, sizeof(name), "%.*s", (int)(n < 63 ? n : 63), l->text);
	}
	cut(whole, c->operational, c->applied, op, sizeof(op));
	cut(whole, c->applied, c->description, applied, sizeof(applied));
	while (x->depth && x->indent[x->depth - 1] >= pad)
		x->depth--;
	section = x->depth ? x->section[x->depth - 1] : "";
	if (!*op && !*applied) {
		if (x->depth < 4) {
			snprintf(x->section[x->depth], sizeof(x->section[0]), "%.47s", name);
			x->indent[x->depth++] = pad;
		}
		return;
	}
	snprintf(path, sizeof(path), "%s%s%s", section, *section ? "/" : "", name);
	counter(x, l->number, section, name, *op ? op : applied);
	state(x, l->number, section, name, *op ? op : applied);
	columns_differ(x, l->number, path, op, applied);
}

/* Rows of the small tables below: their cells are two blanks or more apart. */
static unsigned cells(char *text, char **cell, unsigned most)
{
	unsigned n = 0;

	for (char *p = text; *p && n < most;) {
		char *end = strstr(p, "  ");

		cell[n++] = p;
		if (!end)
			break;
		*end = '\0';
		for (p = end + 1; *p == ' ';)
			p++;
	}
	return n;
}

enum table { NONE, DSCP_MAP, CLASS_MAP, POOLS, EXCEPTIONS };

static void table_row(struct shown *x, enum table t, char *text, uint32_t line)
{
	char *c[10];
	unsigned n = cells(text, c, 10);
	struct nvue *v = x->v;

	if (t == DSCP_MAP && n == 4 && isdigit((unsigned char)*c[2]))
		say_each(v, line, v->port, "dscp_to_tc/%d", c[2], c[3]);
	if (t == CLASS_MAP && n == 4 && isdigit((unsigned char)*c[2])) {
		bool strict = strstr(c[3], "strict") != NULL;

		say_each(v, line, v->port, "tc_to_queue/%d", c[1], c[2]);
		say_each(v, line, v->port, "queue/%d/scheduler", c[2], strict ? "STRICT" : "DWRR");
		if (!strict && strchr(c[3], '-')) {
			char *w = strchr(c[3], '-') + 1;

			w[strspn(w, "0123456789")] = '\0';
			say_each(v, line, v->port, "queue/%d/weight", c[2], w);
		}
		say(v, line, v->port, "queues_seen", "1");
	}
	/* what the switch itself finds different from its RoCE profile */
	if (t == EXCEPTIONS && n > 1 && isdigit((unsigned char)*c[0])) {
		char name[32];

		snprintf(name, sizeof(name), "roce_exception/%d", atoi(c[0]));
		say(v, line, NULL, name, "%s", c[1]);
	}
	if (t == POOLS && n == 9 && bytes(c[6]) > 0) {
		char name[128];

		snprintf(name, sizeof(name), "pool/%.80s/size", c[1]);
		say(v, line, NULL, name, "%lld", (long long)bytes(c[6]));
	}
}

static enum table heading(const char *text, enum table now)
{
	if (strstr(text, "->SP mapping"))
		return DSCP_MAP;
	if (strstr(text, "SP->TC mapping"))
		return CLASS_MAP;
	if (strstr(text, "Pool Status"))
		return POOLS;
	if (strstr(text, "Exception List"))
		return EXCEPTIONS;
	if (strstr(text, "pool config") || strstr(text, "Extended Features"))
		return NONE;
	return now;
}

static void show_text(struct shown *x)
{
	struct columns c = {.operational = 0};
	enum table t = NONE;
	struct rs_line l = {.number = 0};
	bool below = false;

	while (rs_line_next(x->v->in, &l)) {
		enum table was = t;
		char whole[4200];

		snprintf(whole, sizeof(whole), "%*s%s", (int)(l.indent < 80 ? l.indent : 80), "",
			 l.text);
		if (strstr(whole, "operational") && strstr(whole, "applied")) {
			c.operational = column(whole, "operational");
			c.applied = column(whole, "applied");
			c.description = column(whole, "description");
			below = false;
			continue;
		}
		/* each table ends with a blank line */
		if (!l.text[0]) {
			c = (struct columns){.operational = 0};
			t = NONE;
			below = false;
			continue;
		}
		t = heading(l.text, t);
		below |= t != was || strstr(l.text, "====") != NULL;
		if (!l.text[0] || l.text[0] == '-' || l.text[0] == '=')
			continue;
		if (below)
			table_row(x, t, l.text, l.number);
		else if (c.operational && c.applied)
			row(x, &l, &c);
	}
}

/* -o json: the same names, one value each. */
static void show_tree(struct shown *x)
{
	rs_config_tree(&x->v->c, x->v->in);
	for (uint32_t i = 0; i < x->v->c.n; i++) {
		const struct rs_statement *s = &x->v->c.at[i];
		const char *section = s->n > 2 ? s->word[s->n - 3] : "";

		if (s->n < 2)
			continue;
		x->depth = s->n > 2;
		counter(x, s->line, section, s->word[s->n - 2], s->word[s->n - 1]);
		state(x, s->line, section, s->word[s->n - 2], s->word[s->n - 1]);
	}
}

/* The traffic classes in which it marks, and from where: known once all was read. */
static void marking(struct shown *x)
{
	if (!*x->enabled_tc)
		return;
	say_each(x->v, x->line, x->v->port, "queue/%d/ecn", x->enabled_tc, "1");
	say(x->v, x->line, x->v->port, "queues_seen", "1");
	if (*x->tc_threshold[0])
		say_each(x->v, x->line, x->v->port, "queue/%d/kmin", x->enabled_tc,
			 x->tc_threshold[0]);
	if (*x->tc_threshold[1])
		say_each(x->v, x->line, x->v->port, "queue/%d/kmax", x->enabled_tc,
			 x->tc_threshold[1]);
}

static int read_show(struct rs_audit *a, const struct rs_input *in)
{
	struct nvue v = {.a = a, .in = in};
	struct shown x = {.v = &v};

	if (rs_config_create(&v.c))
		return -ENOMEM;
	is_cumulus(&v);
	show_port(&v);
	if (in->data[0] == '{')
		show_tree(&x);
	else
		show_text(&x);
	marking(&x);
	rs_config_destroy(&v.c);
	return a->err;
}

const struct rs_reader rs_reader_nv_show = {
	.name = "nv show",
	.what = "Cumulus nv show qos roce and nv show interface X qos roce status or counters",
	.trust = RS_TRUST_TOOL,
	.score = score_show,
	.read = read_show,
};
