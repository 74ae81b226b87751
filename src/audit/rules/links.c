/* Checks of links: FEC, bit errors, modules, speeds, at hosts and at switches. IEEE 802.3 clauses
 * 91, 119, 120 (RS-FEC of PAM4 lanes); CMIS and SFF-8636 for a module's own thresholds. */
#include <math.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/rules/gather.h"
#include "audit/facts/hop.h"
#include "audit/rules/hop_fix.h"
#include "audit/facts/look.h"

#define KP4_LIMIT 2.4e-4 /* IEEE 802.3 clause 120: bit errors before FEC that RS(544,514) bears */

/* Called for each subject of hosts' interfaces and devices and of switches' ports. */
typedef void per_link(struct rs_gather *g, const char *host, const char *subject);

static void each_link(struct rs_gather *g, per_link *fn)
{
	static const char *const kinds[] = {"netdev/", "nic/", "port/", "mst/"};

	for (uint32_t i = 0; i < rs_facts_hosts(g->a->facts); i++)
		for (unsigned k = 0; k < 4; k++) {
			const char *host = rs_facts_host(g->a->facts, i), *subject, *admin;
			uint32_t at = 0;

			while ((subject = rs_facts_subject(g->a->facts, &at, host, kinds[k]))) {
				admin = rs_facts_value(g->a->facts, host, subject, "admin");
				if (!admin || strcmp(admin, "down"))
					fn(g, host, subject);
			}
		}
}

/* Findings name "mlx5_0" and "Ethernet8", not "nic/mlx5_0": rs_gather_fail() takes ports. */
static const char *as_port(struct rs_audit *a, const char *subject)
{
	return rs_audit_text(a, "port/%s", strchr(subject, '/') + 1);
}

/* ---- L01: FEC ---- */

enum fec { FEC_UNKNOWN, FEC_AUTO, FEC_NONE, FEC_FC, FEC_RS };

/* As ethtool, mlxlink, SONiC, EOS and Junos spell it. */
static enum fec fec_of(const struct rs_fact *f)
{
	static const struct {
		const char *text;
		enum fec fec;
	} of[] = {{"rs", FEC_RS},       {"llrs", FEC_RS},      {"reed-solomon", FEC_RS},
		  {"fec91", FEC_RS},    {"baser", FEC_FC},     {"fc", FEC_FC},
		  {"firecode", FEC_FC}, {"fire-code", FEC_FC}, {"fec74", FEC_FC},
		  {"none", FEC_NONE},   {"off", FEC_NONE},     {"disabled", FEC_NONE},
		  {"no fec", FEC_NONE}, {"auto", FEC_AUTO}};

	if (!f)
		return FEC_UNKNOWN;
	if (strcasestr(f->value, "rs-fec") || strcasestr(f->value, "rs("))
		return FEC_RS;
	if (strcasestr(f->value, "firecode"))
		return FEC_FC;
	for (unsigned i = 0; i < sizeof(of) / sizeof(*of); i++)
		if (!strcasecmp(f->value, of[i].text))
			return of[i].fec;
	return FEC_UNKNOWN;
}

static const char *const fec_names[] = {"?", "auto", "none", "Firecode", "RS"};

/* "400G" of mlxlink is 400000; InfiniBand's names (NDR) are no speed of Ethernet. */
static int64_t speed_of(const struct rs_audit *a, const char *host, const char *subject)
{
	const struct rs_fact *said = rs_look(a, host, subject, "link/speed");
	char *end;
	long n = said ? strtol(said->value, &end, 10) : 0;

	if (said && n > 0 && n < 10000 && *end == 'G')
		return n * 1000;
	return rs_look_number(a, host, subject, "speed_mbps", -1);
}

/* PAM4 lanes carry 50 Gb/s and more. Without the number of lanes only 400G is beyond doubt. */
static bool is_pam4(const struct rs_audit *a, const char *host, const char *subject)
{
	const struct rs_fact *width = rs_look(a, host, subject, "link/width");
	int64_t mbps = speed_of(a, host, subject);
	int64_t lanes = width ? atoi(width->value) : rs_look_number(a, host, subject, "lanes", -1);

	return lanes > 0 ? mbps / lanes >= 50000 : mbps >= 400000;
}

static const struct rs_fact *fec_fact(const struct rs_audit *a, const char *host,
				      const char *subject)
{
	const struct rs_fact *f = rs_look(a, host, subject, "fec");

	return f ? f : rs_look(a, host, subject, "link/fec");
}

/* " --fec_speed 400G_4X": of which speed and how many lanes; "": not known. */
static const char *fec_speed(struct rs_gather *g, const char *host, const char *subject)
{
	const struct rs_fact *width = rs_look(g->a, host, subject, "link/width");
	int64_t gbps = speed_of(g->a, host, subject) / 1000;
	int64_t lanes = width ? atoi(width->value)
			      : rs_look_number(g->a, host, subject, "lanes", gbps >= 800 ? 8 : 4);

	return gbps > 0 && lanes > 0 ? rs_audit_text(g->a, " --fec_speed %lldG_%lldX",
						     (long long)gbps, (long long)lanes)
				     : "";
}

static void host_fec_fix(struct rs_gather *g, const char *host, const char *subject)
{
	const char *dev = strchr(subject, '/') + 1;

	if (!strncmp(subject, "nic/", 4))
		rs_finding_fix(g->a, g->f, host, false, "link flap",
			       rs_audit_text(g->a, "mlxlink -d %s -p 1 --fec AU", dev),
			       "mlxlink -d %s -p 1 --fec RS%s", dev, fec_speed(g, host, subject));
	else
		rs_finding_fix(g->a, g->f, host, false, "link flap",
			       rs_audit_text(g->a, "ethtool --set-fec %s encoding auto", dev),
			       "ethtool --set-fec %s encoding rs", dev);
}

static bool is_down(const struct rs_audit *a, const char *host, const char *subject)
{
	const char *state = rs_facts_value(a->facts, host, subject, "operstate");

	return state && !strcmp(state, "down");
}

static void l01_peer(struct rs_gather *g, const char *host, const char *subject,
		     const struct rs_fact *mine)
{
	const char *sw, *port;
	const struct rs_fact *theirs;
	enum fec fec = fec_of(mine), other;

	if (strncmp(subject, "netdev/", 7) || !rs_hop_peer(g->a, host, subject + 7, &sw, &port))
		return;
	theirs = rs_hop_fact(g->a, sw, port, "fec");
	other = fec_of(theirs);
	if (fec <= FEC_AUTO || other <= FEC_AUTO || fec == other)
		return;
	rs_gather_fail(g, is_down(g->a, host, subject) ? RS_CRITICAL : RS_MAJOR, sw, port, mine,
		       theirs, "%s %s has FEC %s, %s has %s", host, subject + 7, fec_names[fec], sw,
		       fec_names[other]);
	rs_finding_subject(g->a, g->f, host, subject + 7);
	if (other != FEC_RS)
		rs_hop_fix_fec(g->a, g->f, sw, port);
	else
		host_fec_fix(g, host, subject);
}

static void l01_link(struct rs_gather *g, const char *host, const char *subject)
{
	const struct rs_fact *f = fec_fact(g->a, host, subject);
	enum fec fec = fec_of(f);

	l01_peer(g, host, subject, f);
	if (!is_pam4(g->a, host, subject))
		return;
	if (fec == FEC_UNKNOWN) {
		/* a switch that is told nothing takes what the module needs */
		g->unknown += strncmp(subject, "port/", 5) != 0;
		return;
	}
	if (fec == FEC_RS || fec == FEC_AUTO) {
		rs_gather_pass(g, f, NULL);
		return;
	}
	rs_gather_fail(g, is_down(g->a, host, subject) ? RS_CRITICAL : RS_MAJOR, host,
		       as_port(g->a, subject), f, rs_look(g->a, host, subject, "speed_mbps"),
		       "%s has FEC %s on a link of %lldG, whose PAM4 lanes need RS(544,514)", host,
		       fec_names[fec], (long long)speed_of(g->a, host, subject) / 1000);
	if (!g->new_switch)
		return;
	if (!strncmp(subject, "port/", 5))
		rs_hop_fix_fec(g->a, g->f, host, subject);
	else
		host_fec_fix(g, host, subject);
}

static void l01(struct rs_audit *a, const struct rs_rule *r)
{
	struct rs_gather g = {.a = a, .r = r, .unseen = RS_MAJOR};

	each_link(&g, l01_link);
	rs_gather_end(&g,
		      "PAM4 has bit errors by design, which FEC corrects: without it, or with two "
		      "kinds, the link flaps or does not come up",
		      "links with a FEC that fits their lanes",
		      "the FEC of fast links is not known",
		      "ethtool --show-fec <netdev>, or the switch's configuration", "FEC");
}

/* ---- L02: bit errors ---- */

/* Bit errors before FEC by the histogram of RS(544,514): bin i counts codewords with i bad symbols,
 * each at least one bad bit of 5440. Negative: not known. */
static double ber_of_bins(const struct rs_audit *a, const char *host, const char *subject,
			  int *deepest, const struct rs_fact **fact)
{
	double bad = 0, codewords = 0;
	char name[32];

	*deepest = 0;
	for (int i = 0; i < 16; i++) {
		struct rs_rise r;

		snprintf(name, sizeof(name), "fec_bin/%d", i);
		if (!rs_look_rise(a, host, subject, name, &r) || r.by < 0)
			continue;
		codewords += (double)r.by;
		bad += (double)r.by * i;
		if (!*fact)
			*fact = r.now;
		if (r.by > 0 && i > *deepest) {
			*deepest = i;
			*fact = r.now;
		}
	}
	return codewords > 0 ? bad / (codewords * 5440) : -1;
}

static void l02_uncorrectable(struct rs_gather *g, const char *host, const char *subject,
			      const struct rs_fact **known)
{
	static const char *const names[] = {"fec_uncorrectable", "fec_uncorrectable_blocks",
					    "effective_errors", "symbol_errors"};

	for (unsigned i = 0; i < 4; i++) {
		struct rs_rise r;

		if (!rs_look_rise(g->a, host, subject, names[i], &r))
			continue;
		*known = r.now;
		if (r.by <= 0)
			continue;
		rs_gather_fail(g, rs_look_few_ever(&r) ? RS_MINOR : RS_MAJOR, host,
			       as_port(g->a, subject), r.now, NULL,
			       "%s: %lld codewords that FEC could not correct, %s", host,
			       (long long)r.by, rs_look_since(g->a, &r));
		if (g->f && r.lifetime)
			g->f->confidence = RS_MEDIUM;
		if (g->f)
			g->f->states_failure = g->f->severity == RS_MINOR;
		return;
	}
}

static void l02_link(struct rs_gather *g, const char *host, const char *subject)
{
	const struct rs_fact *raw = rs_look(g->a, host, subject, "link/raw_ber"), *deep = NULL;
	const struct rs_fact *known = NULL;
	unsigned before = g->ports;
	int deepest;
	double ber;

	l02_uncorrectable(g, host, subject, &known);
	ber = raw ? strtod(raw->value, NULL) : ber_of_bins(g->a, host, subject, &deepest, &deep);
	if (raw)
		deepest = 0;
	if (ber >= 0)
		known = raw ? raw : deep ? deep : known;
	if (ber > KP4_LIMIT)
		rs_gather_fail(g, RS_MAJOR, host, as_port(g->a, subject), raw ? raw : deep, NULL,
			       "%s: %.1e bit errors before FEC, beyond what it bears (2.4e-4)",
			       host, ber);
	else if (ber > g->a->set.fec_warn_ber || (ber >= 0 && deepest >= g->a->set.fec_warn_bin))
		rs_gather_fail(g, RS_MINOR, host, as_port(g->a, subject), raw ? raw : deep, NULL,
			       "%s: %.1e bit errors before FEC, up to %d of the 15 symbols that it "
			       "corrects",
			       host, ber, deepest);
	if (known && g->ports == before)
		rs_gather_pass(g, known, NULL);
	/* mlxlink without -c */
	g->unknown +=
		!known && rs_look(g->a, host, subject, "link/fec") && is_pam4(g->a, host, subject);
}

static void l02(struct rs_audit *a, const struct rs_rule *r)
{
	struct rs_gather g = {.a = a, .r = r};

	each_link(&g, l02_link);
	if (g.f)
		rs_finding_fix(a, g.f, g.sw, true, "link down while it is unplugged", NULL,
			       "clean or replace the fibre, then the module at either end; then "
			       "look whether the counters still rise");
	rs_gather_end(&g,
		      "a codeword that cannot be corrected is a lost frame; RoCE answers with "
		      "go-back-N",
		      "links whose bit errors FEC corrects",
		      "the bit errors of fast links are not known",
		      "mlxlink -d <device> -c, or the switch's FEC counters",
		      "errors before FEC and beyond it");
}

/* ---- L03: modules ---- */

/* "45.12 degrees C / 113.22 degrees F", "62 [-5..75]", "0.5010 mW / -3.00 dBm", "-3.0": the number
 * in C or dBm. */
static bool decimal(const struct rs_fact *f, double *out)
{
	const char *p = f ? f->value : NULL, *slash;
	char *end;

	if (!p)
		return false;
	slash = strstr(p, " / ");
	if (slash && strstr(p, "dBm"))
		p = slash + 3;
	*out = strtod(p, &end);
	return end != p;
}

/* mlxlink puts the module's limits behind the value: "[low..high]". */
static bool bracket(const struct rs_fact *f, bool high, double *out)
{
	const char *p = f ? strchr(f->value, '[') : NULL;
	char *end;

	if (p && high)
		p = strstr(p, "..") ? strstr(p, "..") + 1 : NULL;
	if (!p)
		return false;
	*out = strtod(p + 1, &end);
	return end != p + 1;
}

static void l03_heat(struct rs_gather *g, const char *host, const char *subject)
{
	const struct rs_fact *is = rs_look(g->a, host, subject, "module/temperature");
	const struct rs_fact *warn = rs_look(g->a, host, subject, "module/temperature_warn");
	double t, limit;

	if (!decimal(is, &t))
		return;
	if ((!decimal(warn, &limit) && !bracket(is, true, &limit)) || limit <= 0)
		g->unknown++;
	else if (t >= limit)
		rs_gather_fail(g, RS_MAJOR, host, as_port(g->a, subject), is, warn,
			       "%s: a module is at %.0f C; its own limit is %.0f C", host, t,
			       limit);
	else
		rs_gather_pass(g, is, warn);
}

struct light {
	unsigned lit, dark;
	double least;
	const struct rs_fact *worst;
};

/* -inf or -40 dBm is no light, not little. */
static void lane(struct light *x, double dbm, const struct rs_fact *f)
{
	if (dbm <= -39 || isinf(dbm)) {
		x->dark++;
		x->worst = f;
		return;
	}
	if (!x->lit++ || dbm < x->least) {
		x->least = dbm;
		x->worst = x->dark ? x->worst : f;
	}
}

/* Lanes of one direction: a fact each (ethtool, SONiC), or a list (mlxlink). */
static void lanes(const struct rs_audit *a, const char *host, const char *subject, const char *way,
		  struct light *x)
{
	const struct rs_fact *f = rs_look(a, host, subject, "module/%s_power", way);
	const char *p = f ? f->value : NULL;
	double dbm;
	char *end;

	while (p && *p && *p != '[') {
		dbm = strtod(p, &end);
		if (end == p)
			break;
		lane(x, dbm, f);
		p = end + strspn(end, " ,");
	}
	for (int n = 1; n <= 8; n++) {
		f = rs_look(a, host, subject, "module/%s_power/%d", way, n);
		if (decimal(f, &dbm))
			lane(x, dbm, f);
	}
}

/* Dim below the module's limit, or dark beside lit ones. */
static void l03_light(struct rs_gather *g, const char *host, const char *subject, const char *way)
{
	const struct rs_fact *warn = rs_look(g->a, host, subject, "module/%s_power_low_warn", way);
	struct light x = {0};
	double limit;

	if (!warn)
		warn = rs_look(g->a, host, subject, "module/%s_power_low_alarm", way);
	lanes(g->a, host, subject, way, &x);
	/* nothing lit at all: unplugged, or the far end is off */
	if (!x.lit)
		return;
	if (x.dark) {
		rs_gather_fail(g, RS_MAJOR, host, as_port(g->a, subject), x.worst, NULL,
			       "%s: %u of %u lanes are dark (%s)", host, x.dark, x.lit + x.dark,
			       way);
		return;
	}
	if (!decimal(warn, &limit) &&
	    !bracket(rs_look(g->a, host, subject, "module/%s_power", way), false, &limit))
		g->unknown++;
	else if (x.least < limit)
		rs_gather_fail(g, RS_MAJOR, host, as_port(g->a, subject), x.worst, warn,
			       "%s: %.1f dBm of light (%s); the module's own limit is %.1f dBm",
			       host, x.least, way, limit);
	else
		rs_gather_pass(g, x.worst, warn);
}

static void l03_link(struct rs_gather *g, const char *host, const char *subject)
{
	l03_heat(g, host, subject);
	l03_light(g, host, subject, "rx");
	l03_light(g, host, subject, "tx");
}

static void l03(struct rs_audit *a, const struct rs_rule *r)
{
	struct rs_gather g = {.a = a, .r = r};

	each_link(&g, l03_link);
	if (g.f)
		rs_finding_fix(a, g.f, g.sw, true, "link down while it is unplugged", NULL,
			       "heat: airflow and neighbouring modules; light: clean the fibre, "
			       "then exchange it, then the module");
	rs_gather_end(&g, "a module outside its own limits makes bit errors before it fails",
		      "readings within the module's own limits",
		      "the module's own limits are not known",
		      "ethtool -m <netdev>, or mlxlink -d <device> -m", "its thresholds");
}

/* ---- L04: speed ---- */

static void l04_peer(struct rs_gather *g, const char *host, const char *subject)
{
	int64_t mine = speed_of(g->a, host, subject), theirs;
	const char *sw, *port;

	if (strncmp(subject, "netdev/", 7) || mine <= 0 ||
	    !rs_hop_peer(g->a, host, subject + 7, &sw, &port))
		return;
	theirs = rs_hop_number(g->a, sw, port, "speed_mbps", -1);
	if (theirs <= 0)
		return;
	if (mine == theirs) {
		rs_gather_pass(g, rs_look(g->a, host, subject, "speed_mbps"),
			       rs_hop_fact(g->a, sw, port, "speed_mbps"));
		return;
	}
	rs_gather_fail(g, RS_CRITICAL, sw, port, rs_look(g->a, host, subject, "speed_mbps"),
		       rs_hop_fact(g->a, sw, port, "speed_mbps"),
		       "%s %s runs at %lldG, its port on %s is set to %lldG", host, subject + 7,
		       (long long)mine / 1000, sw, (long long)theirs / 1000);
	rs_finding_subject(g->a, g->f, host, subject + 7);
	if (mine > theirs)
		rs_hop_fix_speed(g->a, g->f, sw, port, mine);
	else
		rs_finding_fix(g->a, g->f, host, false, "link flap",
			       rs_audit_text(g->a, "ethtool -s %s autoneg on", subject + 7),
			       "ethtool -s %s speed %lld autoneg on", subject + 7,
			       (long long)theirs);
}

/* Is there another NIC of this board, whose rate is known? */
static bool has_twin(const struct rs_audit *a, const char *host, const char *nic, const char *board)
{
	const char *other;
	uint32_t at = 0;

	while ((other = rs_facts_subject(a->facts, &at, host, "nic/"))) {
		const char *b = rs_facts_value(a->facts, host, other, "board_id");

		if (strcmp(other, nic) && b && !strcmp(b, board) &&
		    rs_look(a, host, other, "rate_gbps"))
			return true;
	}
	return false;
}

/* A NIC slower than another of the same board in the same host. Other boards are other by right. */
static void l04_sibling(struct rs_gather *g, const char *host, const char *nic)
{
	const char *board = rs_facts_value(g->a->facts, host, nic, "board_id"), *other;
	const struct rs_fact *rate = rs_look(g->a, host, nic, "rate_gbps"), *best = NULL;
	const char *state = rs_facts_value(g->a->facts, host, nic, "port_state");
	uint32_t at = 0;

	if (!strncmp(nic, "nic/", 4) && board && !rate && state && !strcasecmp(state, "ACTIVE"))
		g->unknown += has_twin(g->a, host, nic, board);
	if (strncmp(nic, "nic/", 4) || !board || !rate || !rate->numeric ||
	    (state && strcasecmp(state, "ACTIVE") && !strstr(state, "ACTIVE")))
		return;
	while ((other = rs_facts_subject(g->a->facts, &at, host, "nic/"))) {
		const struct rs_fact *f = rs_look(g->a, host, other, "rate_gbps");
		const char *b = rs_facts_value(g->a->facts, host, other, "board_id");

		if (f && f->numeric && b && !strcmp(b, board) &&
		    (!best || f->number > best->number))
			best = f;
	}
	if (!best || best == rate || best->number <= rate->number) {
		if (best && best != rate)
			rs_gather_pass(g, rate, best);
		return;
	}
	rs_gather_fail(g, RS_CRITICAL, host, as_port(g->a, nic), rate, best,
		       "%s: a NIC runs at %lldG, its twin %s at %lldG", host,
		       (long long)rate->number, best->subject + 4, (long long)best->number);
	rs_finding_fix(g->a, g->f, host, false, "link flap",
		       rs_audit_text(g->a, "mlxlink -d %s -p 1 --speeds %lldG_4X", nic + 4,
				     (long long)rate->number),
		       "mlxlink -d %s -p 1 --speeds %lldG_%dX  # then look at module and cable",
		       nic + 4, (long long)best->number, best->number >= 800 ? 8 : 4);
}

/* Does the job's list, or NCCL's log, take this device? -1: nothing names devices. */
static int in_use(const struct rs_audit *a, const char *host, const char *nic)
{
	const struct rs_fact *list = rs_look_list(a, host), *f;
	uint32_t at = 0;
	bool any = false;

	if (list && *list->value)
		return rs_look_hca(list->value, nic + 4);
	while ((f = rs_facts_next(a->facts, &at, host, "nccl", "using/"))) {
		any = true;
		if (!strcmp(f->value, nic + 4))
			return 1;
	}
	return any ? 0 : -1;
}

/* Its own name, or its interface's, gives it another role than a rail's. */
static bool other_role(const struct rs_audit *a, const char *host, const char *nic)
{
	static const char *const roles[] = {"mgmt", "manage", "stor", "nvme", "nfs",
					    "data", "oob",    "bmc",  "admin"};
	const char *netdev = rs_facts_value(a->facts, host, nic, "netdev");

	for (unsigned i = 0; i < sizeof(roles) / sizeof(*roles); i++)
		if (strcasestr(nic + 4, roles[i]) || (netdev && strcasestr(netdev, roles[i])))
			return true;
	return false;
}

/* An active InfiniBand port of this type of adapter, with its rate; NULL: none. */
static const struct rs_fact *typed_rate(const struct rs_audit *a, const char *host, const char *nic,
					const char *type)
{
	const char *layer = rs_facts_value(a->facts, host, nic, "link_layer");
	const char *state = rs_facts_value(a->facts, host, nic, "port_state");
	const char *t = rs_facts_value(a->facts, host, nic, "hca_type");
	const struct rs_fact *rate = rs_look(a, host, nic, "rate_gbps");

	return t && !strcmp(t, type) && layer && !strcasecmp(layer, "InfiniBand") && state &&
			       strcasestr(state, "active") && rate && rate->numeric
		       ? rate
		       : NULL;
}

/*
 * InfiniBand ports of one type of adapter at other rates. What the job's list leaves out, or a name
 * calls something else, is no rail. Several that are equally slow may all be for storage, and so
 * may one of two at half the rate. One alone holds back each collective of all rails.
 */
static void l04_type(struct rs_gather *g, const char *host, const char *nic)
{
	const char *type = rs_facts_value(g->a->facts, host, nic, "hca_type"), *other;
	const struct rs_fact *rate = type ? typed_rate(g->a, host, nic, type) : NULL, *best = NULL;
	unsigned as_slow = 0, all = 0;
	uint32_t at = 0;
	bool alone;
	int used;

	if (strncmp(nic, "nic/", 4) || !rate || rs_facts_value(g->a->facts, host, nic, "board_id"))
		return;
	while ((other = rs_facts_subject(g->a->facts, &at, host, "nic/"))) {
		const struct rs_fact *f = typed_rate(g->a, host, other, type);

		if (f && (!best || f->number > best->number))
			best = f;
		as_slow += f && f->number <= rate->number;
		all += f != NULL;
	}
	used = in_use(g->a, host, nic);
	if (!best || best->number <= rate->number || !used ||
	    (used < 0 && other_role(g->a, host, nic)))
		return;
	alone = as_slow == 1 && (all > 3 || rate->number * 4 <= best->number);
	rs_gather_fail(
		g, rate->number * 2 <= best->number && (used > 0 || alone) ? RS_MAJOR : RS_MINOR,
		host, as_port(g->a, nic), rate, best,
		"%s: an InfiniBand port runs at %lldG, %s of the same type (%s) at %lldG", host,
		(long long)rate->number, best->subject + 4, type, (long long)best->number);
	if (g->f)
		g->f->confidence = used > 0 ? RS_HIGH : RS_LOW;
}

/* One lane of an InfiniBand link of today: adapters and switches have two and four a port. */
static void l04_lane(struct rs_gather *g, const char *host, const char *subject)
{
	bool nic = !strncmp(subject, "nic/", 4);
	const char *state = rs_facts_value(g->a->facts, host, subject, "port_state");
	const struct rs_fact *width = rs_look(g->a, host, subject, nic ? "link/width" : "width");
	const struct rs_fact *of_lane = rs_look(g->a, host, subject, "lane_gbps");
	const char *peer = rs_facts_value(g->a->facts, host, subject, "peer");
	const char *layer = rs_facts_value(g->a->facts, host, subject, "link_layer");
	bool one = width && !strcasecmp(width->value, "1x");

	if ((!nic && strncmp(subject, "link/", 5)) || !state || !strcasestr(state, "active") ||
	    (nic && (!layer || strcasecmp(layer, "InfiniBand"))) ||
	    (!one && !(of_lane && atof(of_lane->value) > 0 && atof(of_lane->value) < 5)))
		return;
	rs_gather_fail(g, RS_MAJOR, host, as_port(g->a, subject), one ? width : of_lane, of_lane,
		       one ? "%s: an InfiniBand link%s%s is active with one lane"
			   : "%s: an InfiniBand link%s%s is active at the slowest rate of all",
		       host, peer ? " to " : "", peer ? peer : "");
}

/* sysfs says of some iWARP adapters that their link layer is InfiniBand. */
static bool is_iwarp(const char *nic)
{
	static const char *const names[] = {"i40iw", "irdma", "cxgb", "siw", "iw"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(nic + 4, names[i], strlen(names[i])))
			return true;
	return false;
}

/* No InfiniBand card of today is meant to run at 10 Gb/s (4X SDR) or less. */
static void l04_slowest(struct rs_gather *g, const char *host, const char *nic)
{
	const char *layer = rs_facts_value(g->a->facts, host, nic, "link_layer");
	const char *state = rs_facts_value(g->a->facts, host, nic, "port_state");
	const struct rs_fact *rate = rs_look(g->a, host, nic, "rate_gbps");

	if (strncmp(nic, "nic/", 4) || is_iwarp(nic) || !layer || strcasecmp(layer, "InfiniBand") ||
	    !state || !strcasestr(state, "active") || !rate || !rate->numeric || rate->number > 10)
		return;
	rs_gather_fail(g, RS_MAJOR, host, as_port(g->a, nic), rate, NULL,
		       "%s: an InfiniBand link is active at %lld Gb/s, the slowest that there is",
		       host, (long long)rate->number);
}

/* A link of a quarter, or less, of what the NIC and its module can. */
static void l04_fastest(struct rs_gather *g, const char *host, const char *subject)
{
	const struct rs_fact *speed = rs_look(g->a, host, subject, "speed_mbps");
	const struct rs_fact *fastest = rs_facts_get(g->a->facts, host, subject, "fastest_mbps");

	if (strncmp(subject, "netdev/", 7) || !speed || !speed->numeric || speed->number <= 0 ||
	    !fastest || !fastest->numeric || speed->number > fastest->number / 4)
		return;
	rs_gather_fail(g, RS_MINOR, host, as_port(g->a, subject), speed, fastest,
		       "%s: a link runs at %lldG, its NIC can %lldG", host,
		       (long long)speed->number / 1000, (long long)fastest->number / 1000);
	if (g->f)
		g->f->confidence = RS_MEDIUM;
}

/* Two functions of one card, by their places; else by systemd's names: ens6f0np0, ens6f1np1. */
static bool one_card(const struct rs_audit *a, const char *host, const char *one, const char *two)
{
	char p[160], q[160];
	bool known = rs_look_pci_of(a, host, one, p, sizeof(p)), f;
	size_t n = 0;

	if (known != rs_look_pci_of(a, host, two, q, sizeof(q)))
		return false;
	if (known)
		return strcspn(p, ".") == strcspn(q, ".") && !strncmp(p, q, strcspn(p, "."));
	while (one[n] && one[n] == two[n])
		n++;
	f = n > strlen("netdev/en") && one[n - 1] == 'f' && isdigit((unsigned char)one[n]) &&
	    isdigit((unsigned char)two[n]);
	return f && !strncmp(one, "netdev/en", 9) && isdigit((unsigned char)one[n - 2]);
}

/* Two ports of one card, both with a link: unlike rates are seldom meant. */
static void l04_card(struct rs_gather *g, const char *host, const char *subject)
{
	const struct rs_fact *speed = rs_look(g->a, host, subject, "speed_mbps"), *best = NULL;
	const char *other;
	uint32_t at = 0;

	if (strncmp(subject, "netdev/", 7) || !speed || !speed->numeric || speed->number <= 0)
		return;
	while ((other = rs_facts_subject(g->a->facts, &at, host, "netdev/"))) {
		const struct rs_fact *f = rs_look(g->a, host, other, "speed_mbps");

		if (f && f->numeric && f->number < INT32_MAX &&
		    one_card(g->a, host, subject, other) && (!best || f->number > best->number))
			best = f;
	}
	if (!best || best->number <= speed->number)
		return;
	rs_gather_fail(g, RS_MINOR, host, as_port(g->a, subject), speed, best,
		       "%s: a port runs at %lldG, %s of the same card at %lldG", host,
		       (long long)speed->number / 1000, best->subject + 7,
		       (long long)best->number / 1000);
	if (g->f)
		g->f->confidence = RS_MEDIUM;
}

/* What mlxlink says of the speed: Gb/s, of InfiniBand's names those of a lane. */
static int64_t named_speed(const char *value)
{
	static const struct {
		const char *name;
		int64_t gbps;
	} lanes[] = {{"XDR", 200}, {"NDR", 100}, {"HDR", 50},
		     {"EDR", 25},  {"FDR", 14},  {"QDR", 10}};

	for (unsigned i = 0; i < sizeof(lanes) / sizeof(*lanes); i++)
		if (strstr(value, lanes[i].name))
			return lanes[i].gbps;
	return isdigit((unsigned char)*value) ? atoll(value) : 0;
}

/* A link at half, or less, of what is enabled and the cable carries; of what both ends offer. The
 * fastest that a NIC offers alone is a note: the switch may be slower by right. */
static void l04_able(struct rs_gather *g, const char *host, const char *subject)
{
	const struct rs_fact *able = rs_look(g->a, host, subject, "link/able");
	const struct rs_fact *now = rs_look(g->a, host, subject, "link/speed");
	const struct rs_fact *offered = rs_look(g->a, host, subject, "offered_mbps");
	const struct rs_fact *partner = rs_look(g->a, host, subject, "partner_mbps");
	const char *state = rs_facts_value(g->a->facts, host, subject, "link/state");
	bool both = offered && partner;

	if (able && now && (!state || strcasestr(state, "active"))) {
		int64_t gbps = named_speed(now->value);

		if (gbps <= 0 || gbps * 2 > able->number)
			return;
		rs_gather_fail(g, RS_MAJOR, host, as_port(g->a, subject), now, able,
			       "%s: a link runs at %s, and its setting and its cable allow twice "
			       "as much or more",
			       host, now->value);
		if (g->f)
			g->f->confidence = RS_MEDIUM;
		return;
	}
	now = rs_look(g->a, host, subject, "speed_mbps");
	if (strncmp(subject, "netdev/", 7) || !now || !now->numeric || now->number <= 0 ||
	    !offered || now->number * 2 > offered->number ||
	    (partner && now->number * 2 > partner->number) || rs_look_aside(g->a, host, subject))
		return;
	rs_gather_fail(g, both ? RS_MAJOR : RS_INFO, host, as_port(g->a, subject), now,
		       both ? partner : offered,
		       both ? "%s: a link runs at %lldG, and both ends offer %lldG"
			    : "%s: a link runs at %lldG, and the NIC offers %lldG",
		       host, (long long)now->number / 1000,
		       (long long)(both && partner->number < offered->number ? partner->number
									     : offered->number) /
			       1000);
	if (g->f)
		g->f->confidence = RS_MEDIUM;
}

/* Gb/s in the name of a port's module: "400GBASE-CR8", "QSFP-DD-400G-DR4". 0: it says none. */
static int64_t media_gbps(const char *media)
{
	for (const char *p = media; (p = strpbrk(p, "0123456789")); p += strspn(p, "0123456789")) {
		const char *end = p + strspn(p, "0123456789");

		if (*end == 'G' && (end[1] == '-' || !strncasecmp(end + 1, "base", 4) || !end[1]))
			return atoll(p);
	}
	return 0;
}

/* Is another port of this one's cage in the list ("Ethernet1/2" beside "Ethernet1/1" of EOS,
 * "Ethernet1/1/2" beside "Ethernet1/1/1" of NX-OS)? Then its module may be split. */
static bool is_split(const struct rs_audit *a, const char *sw, const char *port)
{
	bool nxos = !strcmp(rs_hop_os(a, sw), "NX-OS");
	const char *slash = strrchr(port, '/'), *other;
	size_t n = (size_t)(slash - port) + 1;
	uint32_t at = 0;

	if (n <= strlen("port/") || (nxos && strchr(port + strlen("port/"), '/') == slash))
		return false;
	while ((other = rs_facts_subject(a->facts, &at, sw, "port/")))
		if (strcmp(other, port) && !strncmp(other, port, n) && !strchr(other + n, '/'))
			return true;
	return false;
}

/* The speed that a port's module is named for; else the fastest of ports with as many lanes and a
 * module of that name, where four have it. 0: not known. */
static int64_t rated_mbps(const struct rs_audit *a, const char *sw, const char *port,
			  const struct rs_fact *media, bool *named)
{
	int64_t rated = media_gbps(media->value) * 1000, best = 0;
	int64_t lanes = rs_look_number(a, sw, port, "lanes", -1);
	const char *other;
	unsigned n = 0;
	uint32_t at = 0;

	*named = rated > 0;
	while (!rated && lanes > 0 && (other = rs_facts_subject(a->facts, &at, sw, "port/"))) {
		const char *m = rs_facts_value(a->facts, sw, other, "media");
		int64_t mbps = rs_look_number(a, sw, other, "speed_mbps", 0);

		if (!m || strcmp(m, media->value) ||
		    rs_look_number(a, sw, other, "lanes", -1) != lanes)
			continue;
		n = mbps > best ? 1 : n + (mbps == best);
		best = mbps > best ? mbps : best;
	}
	return rated ? rated : n >= 3 ? best : 0;
}

/* One port at half the speed, or less, of its module, where the others of that module run at
 * theirs. */
static void l04_media(struct rs_gather *g, const char *sw)
{
	const struct rs_fact *media, *speed;
	const char *port, *other;
	uint32_t at = 0;

	while ((port = rs_facts_subject(g->a->facts, &at, sw, "port/"))) {
		unsigned full = 0, slow = 0;
		uint32_t next = 0;
		int64_t rated;
		bool named;

		media = rs_facts_get(g->a->facts, sw, port, "media");
		speed = rs_look(g->a, sw, port, "speed_mbps");
		rated = media ? rated_mbps(g->a, sw, port, media, &named) : 0;
		if (!rated || !speed || !speed->numeric || speed->number * 2 > rated ||
		    (named && is_split(g->a, sw, port)))
			continue;
		while ((other = rs_facts_subject(g->a->facts, &next, sw, "port/"))) {
			const char *m = rs_facts_value(g->a->facts, sw, other, "media");
			int64_t mbps = rs_look_number(g->a, sw, other, "speed_mbps", 0);

			if (!m || strcmp(m, media->value))
				continue;
			full += mbps >= rated;
			slow += mbps * 2 <= rated;
		}
		if (slow * 3 > full)
			continue;
		rs_gather_fail(g, named ? RS_MAJOR : RS_MINOR, sw, port, speed, media,
			       "a port of %s runs at %lldG, and %u others with such a module (%s) "
			       "at %lldG",
			       sw, (long long)speed->number / 1000, full, media->value,
			       (long long)rated / 1000);
		if (g->f)
			g->f->confidence = RS_MEDIUM;
	}
}

static void l04_link(struct rs_gather *g, const char *host, const char *subject)
{
	l04_able(g, host, subject);
	l04_fastest(g, host, subject);
	l04_slowest(g, host, subject);
	l04_type(g, host, subject);
	l04_lane(g, host, subject);
	l04_card(g, host, subject);
	l04_peer(g, host, subject);
	l04_sibling(g, host, subject);
}

/* iblinkinfo and the subnet manager know what both ends of a link could do. */
static void l04_could_be(struct rs_gather *g, const char *host)
{
	const struct rs_fact *f, *peer;
	uint32_t at = 0;

	while ((f = rs_facts_next(g->a->facts, &at, host, "link/", "could_be"))) {
		peer = rs_facts_get(g->a->facts, host, f->subject, "peer");
		rs_gather_fail(g, RS_MAJOR, host, as_port(g->a, f->subject), f, peer,
			       "the link to %s runs below what both ends can: it could be %s",
			       peer ? peer->value : "a peer", f->value);
	}
}

static void l04(struct rs_audit *a, const struct rs_rule *r)
{
	struct rs_gather g = {.a = a, .r = r};

	each_link(&g, l04_link);
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i), *link;
		uint32_t at = 0;

		l04_could_be(&g, host);
		l04_media(&g, host);
		while ((link = rs_facts_subject(a->facts, &at, host, "link/")))
			if (!rs_facts_value(a->facts, host, link, "could_be"))
				l04_lane(&g, host, link);
	}
	rs_gather_end(&g,
		      "a ring runs at the rate of its slowest link, and a collective with all NICs "
		      "waits for that one",
		      "links with the speed of their other end and of their twins",
		      "the rate of a NIC with twins is not known",
		      "ibstat, or /sys/class/infiniband/*/ports/1/rate",
		      "whether it is as fast as its twins");
}

const struct rs_rule rs_rules_links[] = {
	{"L01", "fec", RS_CRITICAL, "FEC is the same at both ends and fits the lanes: RS for PAM4.",
	 "IEEE 802.3 clauses 91, 119 and 120",
	 "Lanes of 50 Gb/s and more are PAM4 and need RS(544,514); Firecode or none is not allowed "
	 "there. 25 Gb/s NRZ lanes may have RS, Firecode or none by cable. `auto` fits any.",
	 l01},
	{"L02", "ber", RS_MAJOR,
	 "No codeword is beyond correction; bit errors before FEC stay below 2.4e-4.",
	 "IEEE 802.3 clauses 119 and 120 (RS(544,514) bears 2.4e-4)",
	 "Errors before FEC are by design. Beyond 2.4e-4 codewords are lost. Of a histogram bin i "
	 "holds codewords with i bad symbols of 15 that can be corrected: a filled bin of 12 "
	 "(fec_warn_bin) or more, or more than 1e-5 (fec_warn_ber), is a minor finding.",
	 l02},
	{"L03", "module", RS_MAJOR, "Temperature and light lie within the module's own thresholds.",
	 "CMIS page 02h; SFF-8636 page 03h; SFF-8472",
	 "Modules differ: one warns at 70 C, another at 80. Only a module's own limits judge it. "
	 "-inf dBm is no light, not little; with no lane lit the cable is out.",
	 l03},
	{"L04", "speed", RS_CRITICAL,
	 "A NIC runs at its switch port's speed, and as fast as NICs of the same board in its "
	 "host.",
	 "IEEE 802.3: both ends have one speed",
	 "A port that came up slower, or a breakout that does not match, halves or quarters a "
	 "rail.",
	 l04},
	{0},
};
