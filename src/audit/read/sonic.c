/* SONiC: CONFIG_DB as config_db.json or qos.json, tables nested or flat ("TABLE|KEY"), names or
 * "[TABLE|NAME]" references, ranges of queues, and `global`. Facts are those of every switch: a
 * port's maps are followed here, so that rules join DSCP, class, group and queue by number. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/readers.h"
#include "audit/read/sonic.h"
#include "text/document.h"

static int score(const struct rs_input *in)
{
	static const char *const tables[] = {"\"PORT_QOS_MAP",     "\"DSCP_TO_TC_MAP",
					     "\"DEVICE_METADATA",  "\"BUFFER_PG",
					     "\"BUFFER_PROFILE",   "\"WRED_PROFILE",
					     "\"TC_TO_QUEUE_MAP",  "\"PORT|Ethernet",
					     "\"TRANSCEIVER_DOM_", NULL};
	int found = 0;
	size_t at = 0;

	while (at < in->size && strchr(" \t\r\n", in->data[at]))
		at++;
	if (at == in->size || in->data[at] != '{')
		return 0;
	for (unsigned i = 0; tables[i]; i++)
		found += memmem(in->data, in->size, tables[i], strlen(tables[i])) != NULL;
	return found ? 88 : 0;
}

struct entry {
	const char *key; /* the document's, not ended by NUL */
	size_t n;
	struct rs_value *value;
};

struct db {
	struct rs_audit *a;
	const struct rs_input *in;
	struct rs_value *root;
	struct entry *entry;
	size_t n;
	bool queues; /* the table QUEUE is there: who is not in it has no profile */
	bool whole;  /* no part of a database */
};

static int by_key(const void *x, const void *y)
{
	const struct entry *a = x, *b = y;
	size_t n = a->n < b->n ? a->n : b->n;
	int c = memcmp(a->key, b->key, n);

	return c ? c : (a->n > b->n) - (a->n < b->n);
}

/* The root's members in order: a switch has thousands, and each port looks up tens. */
static bool index_root(struct db *d)
{
	struct rs_pair *p;
	void *it = NULL;
	int n = rs_value_pairs(d->root);

	d->entry = calloc((size_t)(n > 0 ? n : 0) + 1, sizeof(*d->entry));
	while (d->entry && d->n < (size_t)n && (p = rs_value_each_pair(d->root, &it))) {
		struct entry *e = &d->entry[d->n];

		e->key = rs_value_scalar(rs_pair_key(p), &e->n);
		e->value = rs_pair_value(p);
		d->n += e->key != NULL;
	}
	if (d->n)
		qsort(d->entry, d->n, sizeof(*d->entry), by_key);
	return d->entry != NULL;
}

static struct rs_value *at_root(const struct db *d, const char *name)
{
	struct entry key = {name, strlen(name), NULL}, *e;

	e = d->n ? bsearch(&key, d->entry, d->n, sizeof(key), by_key) : NULL;
	return e ? e->value : NULL;
}

/* TABLE's row KEY, nested or flat. */
static struct rs_value *row(const struct db *d, const char *table, const char *key)
{
	struct rs_value *n = rs_document_member(at_root(d, table), key);
	char flat[256];

	snprintf(flat, sizeof(flat), "%s|%s", table, key);
	return n ? n : at_root(d, flat);
}

/* Each row of a table, nested or flat. */
static void each(struct db *d, const char *table,
		 void (*fn)(struct db *d, const char *key, struct rs_value *value, void *arg),
		 void *arg)
{
	struct rs_value *nested = at_root(d, table);
	struct rs_pair *p;
	void *it = NULL;
	size_t n = strlen(table);
	char key[256];

	while (nested && rs_value_is_map(nested) && (p = rs_value_each_pair(nested, &it)))
		if (rs_document_text(rs_pair_key(p), key, sizeof(key)))
			fn(d, key, rs_pair_value(p), arg);
	for (it = NULL; (p = rs_value_each_pair(d->root, &it));)
		if (rs_document_text(rs_pair_key(p), key, sizeof(key)) && !strncmp(key, table, n) &&
		    key[n] == '|')
			fn(d, key + n + 1, rs_pair_value(p), arg);
}

static void put(struct db *d, const char *at, const char *subject, const char *name,
		const char *value)
{
	rs_input_add(d->a, d->in, 0, at, subject, name, "%s", value);
}

/* A reference: "AZURE" or "[DSCP_TO_TC_MAP|AZURE]" */
static void plain_name(char *v)
{
	char *bar = strchr(v, '|'), *end = strchr(v, ']');

	if (*v != '[' || !bar || !end)
		return;
	*end = '\0';
	memmove(v, bar + 1, strlen(bar + 1) + 1);
}

struct follow {
	const char *port, *table, *map, *fact;
};

/* Every entry of a map becomes a fact of the port that uses it. */
static void follow_map(struct db *d, const struct follow *f)
{
	struct rs_value *map = row(d, f->table, f->map);
	struct rs_pair *p;
	void *it = NULL;

	while (map && rs_value_is_map(map) && (p = rs_value_each_pair(map, &it))) {
		char key[32], value[32], at[320], name[64];

		if (!rs_document_text(rs_pair_key(p), key, sizeof(key)) ||
		    !rs_document_text(rs_pair_value(p), value, sizeof(value)))
			continue;
		snprintf(at, sizeof(at), "/%s/%s/%s", f->table, f->map, key);
		snprintf(name, sizeof(name), "%s/%s", f->fact, key);
		put(d, at, f->port, name, value);
	}
}

static void pfc(struct db *d, const char *subject, const char *port, const char *list)
{
	char at[256];
	bool on[8] = {false};

	snprintf(at, sizeof(at), "/PORT_QOS_MAP/%s/pfc_enable", port);
	for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',')
		if (*p >= '0' && *p < '8')
			on[*p - '0'] = true;
	for (int i = 0; i < 8; i++) {
		char name[16];

		snprintf(name, sizeof(name), "pfc/%d", i);
		put(d, at, subject, name, on[i] ? "1" : "0");
	}
}

static const struct {
	const char *key, *table, *fact;
} maps[] = {
	{"dscp_to_tc_map", "DSCP_TO_TC_MAP", "dscp_to_tc"},
	{"tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP", "tc_to_pg"},
	{"tc_to_queue_map", "TC_TO_QUEUE_MAP", "tc_to_queue"},
	{"pfc_to_queue_map", "MAP_PFC_PRIORITY_TO_QUEUE", "pfc_to_queue"},
};

static void port_maps(struct db *d, const char *port, struct rs_value *v, void *arg)
{
	char subject[192], value[256], at[320];

	if (!strcmp(port, "global"))
		return;
	snprintf(subject, sizeof(subject), "port/%s", port);
	for (unsigned i = 0; i < sizeof(maps) / sizeof(*maps); i++) {
		struct rs_value *n = rs_document_member(v, maps[i].key);
		struct follow f = {subject, maps[i].table, value, maps[i].fact};

		/* a platform may give the DSCP map for the whole switch */
		if (!n && i == 0)
			n = rs_document_member(row(d, "PORT_QOS_MAP", "global"), maps[i].key);
		if (!rs_document_text(n, value, sizeof(value)))
			continue;
		plain_name(value);
		snprintf(at, sizeof(at), "/PORT_QOS_MAP/%s/%s", port, maps[i].key);
		put(d, at, subject, maps[i].key, value);
		follow_map(d, &f);
	}
	put(d, NULL, subject, "pfc_seen", "1");
	if (rs_document_text(rs_document_member(v, "pfc_enable"), value, sizeof(value)))
		pfc(d, subject, port, value);
	if (rs_document_member(v, "dscp_to_tc_map"))
		put(d, NULL, subject, "trust", "dscp");
	else if (rs_document_member(v, "dot1p_to_tc_map"))
		put(d, NULL, subject, "trust", "pcp");
	if (rs_document_text(rs_document_member(v, "pfcwd_sw_enable"), value, sizeof(value)))
		put(d, NULL, subject, "watchdog", *value ? "on" : "off");
}

/* "Ethernet0|3-4" or "Ethernet0,Ethernet4|3": each port and number. */
static void each_port_queue(struct db *d, const char *key,
			    void (*fn)(struct db *d, const char *port, int q, void *arg), void *arg)
{
	const char *bar = strchr(key, '|');
	int from, to, n;

	if (!bar || (n = sscanf(bar + 1, "%d-%d", &from, &to)) < 1)
		return;
	if (n == 1)
		to = from;
	for (const char *p = key; p < bar;) {
		size_t len = strcspn(p, ",|");
		char port[128];

		snprintf(port, sizeof(port), "port/%.*s", (int)len, p);
		for (int q = from; q <= to && q - from < 32; q++)
			fn(d, port, q, arg);
		p += len + 1;
	}
}

static void fact_of_row(struct db *d, const char *table, const char *key, const char *field,
			const char *subject, const char *fact_fmt, int q)
{
	char value[128], at[320], name[64];

	if (!rs_document_text(rs_document_member(row(d, table, key), field), value, sizeof(value)))
		return;
	plain_name(value);
	snprintf(at, sizeof(at), "/%s/%s/%s", table, key, field);
	snprintf(name, sizeof(name), fact_fmt, q);
	put(d, at, subject, name, value);
}

/* The key of a table's only row; false: it has none, or several. */
struct only {
	unsigned n;
	char key[128];
};

static void count_row(struct db *d, const char *key, struct rs_value *v, void *arg)
{
	struct only *o = arg;

	o->n++;
	snprintf(o->key, sizeof(o->key), "%s", key);
}

/* Of a port that no row of PORT_QOS_MAP was pasted for: the only map of each kind is its own. */
static void only_maps(struct db *d, const char *port)
{
	for (unsigned i = 0; i < sizeof(maps) / sizeof(*maps); i++) {
		struct only o = {.n = 0};

		each(d, maps[i].table, count_row, &o);
		if (o.n == 1)
			follow_map(d, &(struct follow){port, maps[i].table, o.key, maps[i].fact});
	}
}

static void queue(struct db *d, const char *port, int q, void *arg)
{
	struct rs_value *v = arg;
	char name[128], fact[64], value[64];

	if (rs_document_text(rs_document_member(v, "wred_profile"), name, sizeof(name))) {
		struct rs_value *profile;

		plain_name(name);
		profile = row(d, "WRED_PROFILE", name);
		/* SONiC's own name of the profile for lossless queues */
		snprintf(fact, sizeof(fact), "queue/%d/lossless_by_name", q);
		if (!d->whole && strcasestr(name, "lossless")) {
			put(d, NULL, port, fact, "1");
			if (!row(d, "PORT_QOS_MAP", port + strlen("port/")))
				only_maps(d, port);
		}
		snprintf(fact, sizeof(fact), "queue/%d/wred", q);
		put(d, NULL, port, fact, name);
		snprintf(value, sizeof(value), "ecn_none"); /* where it says nothing */
		rs_document_text(rs_document_member(profile, "ecn"), value, sizeof(value));
		/* a profile that was not pasted may mark */
		if (profile) {
			char at[320];

			snprintf(at, sizeof(at), "/WRED_PROFILE/%s/ecn", name);
			snprintf(fact, sizeof(fact), "queue/%d/ecn", q);
			put(d, at, port, fact,
			    !strcmp(value, "ecn_all") || strstr(value, "green") ? "1" : "0");
		}
		fact_of_row(d, "WRED_PROFILE", name, "green_min_threshold", port, "queue/%d/kmin",
			    q);
		fact_of_row(d, "WRED_PROFILE", name, "green_max_threshold", port, "queue/%d/kmax",
			    q);
		fact_of_row(d, "WRED_PROFILE", name, "green_drop_probability", port,
			    "queue/%d/pmax", q);
	}
	if (rs_document_text(rs_document_member(v, "scheduler"), name, sizeof(name))) {
		plain_name(name);
		fact_of_row(d, "SCHEDULER", name, "type", port, "queue/%d/scheduler", q);
		fact_of_row(d, "SCHEDULER", name, "weight", port, "queue/%d/weight", q);
	}
}

static void queues(struct db *d, const char *key, struct rs_value *v, void *arg)
{
	d->queues = true;
	each_port_queue(d, key, queue, v);
}

static void group(struct db *d, const char *port, int pg, void *arg)
{
	static const struct {
		const char *field, *fact;
	} fields[] = {
		{"size", "pg/%d/reserve"},          {"xon", "pg/%d/xon"},
		{"xon_offset", "pg/%d/xon_offset"}, {"xoff", "pg/%d/xoff"},
		{"dynamic_th", "pg/%d/alpha"},      {"pool", "pg/%d/pool"},
		{"static_th", "pg/%d/static"},
	};
	struct rs_value *v = arg;
	char name[128], fact[64];

	if (!rs_document_text(rs_document_member(v, "profile"), name, sizeof(name)))
		return;
	plain_name(name);
	snprintf(fact, sizeof(fact), "pg/%d/profile", pg);
	put(d, NULL, port, fact, name);
	for (unsigned i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		fact_of_row(d, "BUFFER_PROFILE", name, fields[i].field, port, fields[i].fact, pg);
}

static void groups(struct db *d, const char *key, struct rs_value *v, void *arg)
{
	each_port_queue(d, key, group, v);
}

/* "0,1,2,3" is four lanes. */
static void count_lanes(char *list, size_t size)
{
	int n = 1;

	for (const char *p = list; *p; p++)
		n += *p == ',';
	snprintf(list, size, "%d", n);
}

static void port(struct db *d, const char *name, struct rs_value *v, void *arg)
{
	static const struct {
		const char *field, *fact;
	} fields[] = {{"mtu", "mtu"},     {"speed", "speed_mbps"},
		      {"fec", "fec"},     {"admin_status", "admin"},
		      {"lanes", "lanes"}, {"description", "description"}};
	char subject[192], value[256], at[320];

	snprintf(subject, sizeof(subject), "port/%s", name);
	for (unsigned i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		if (!rs_document_text(rs_document_member(v, fields[i].field), value, sizeof(value)))
			continue;
		snprintf(at, sizeof(at), "/PORT/%s/%s", name, fields[i].field);
		if (!strcmp(fields[i].field, "lanes"))
			count_lanes(value, sizeof(value));
		put(d, at, subject, fields[i].fact, value);
	}
}

static void pool(struct db *d, const char *name, struct rs_value *v, void *arg)
{
	char value[64], at[320], fact[192];

	if (!rs_document_text(rs_document_member(v, "size"), value, sizeof(value)))
		return;
	snprintf(at, sizeof(at), "/BUFFER_POOL/%s/size", name);
	snprintf(fact, sizeof(fact), "pool/%s/size", name);
	put(d, at, "host", fact, value);
	if (!rs_document_text(rs_document_member(v, "xoff"), value, sizeof(value)))
		return;
	snprintf(at, sizeof(at), "/BUFFER_POOL/%s/xoff", name);
	snprintf(fact, sizeof(fact), "pool/%s/shared_headroom", name);
	put(d, at, "host", fact, value);
}

/* Detection and restoration in milliseconds, by port; GLOBAL has the interval of polling. */
static void watchdog(struct db *d, const char *name, struct rs_value *v, void *arg)
{
	static const struct {
		const char *field, *fact;
	} fields[] = {{"detection_time", "watchdog/detection_ms"},
		      {"restoration_time", "watchdog/restoration_ms"},
		      {"action", "watchdog/action"}};
	char subject[192], value[64], at[320];

	if (!strcmp(name, "GLOBAL"))
		return;
	snprintf(subject, sizeof(subject), "port/%s", name);
	snprintf(at, sizeof(at), "/PFC_WD/%s", name);
	put(d, at, subject, "watchdog", "on");
	for (unsigned i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		if (!rs_document_text(rs_document_member(v, fields[i].field), value, sizeof(value)))
			continue;
		snprintf(at, sizeof(at), "/PFC_WD/%s/%s", name, fields[i].field);
		put(d, at, subject, fields[i].fact, value);
	}
}

static void metadata(struct db *d, const char *name, struct rs_value *v, void *arg)
{
	static const struct {
		const char *field, *fact;
	} fields[] = {{"hostname", "hostname"},
		      {"hwsku", "model"},
		      {"type", "tier"},
		      {"buffer_model", "buffer_model"},
		      {"default_pfcwd_status", "watchdog_default"}};
	char value[128], at[128];

	for (unsigned i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		if (!rs_document_text(rs_document_member(v, fields[i].field), value, sizeof(value)))
			continue;
		snprintf(at, sizeof(at), "/DEVICE_METADATA/localhost/%s", fields[i].field);
		put(d, at, "host", fields[i].fact, value);
	}
}

static void neighbour(struct db *d, const char *name, struct rs_value *v, void *arg)
{
	char subject[192], value[128], at[320], tier[64];

	snprintf(subject, sizeof(subject), "port/%s", name);
	snprintf(at, sizeof(at), "/DEVICE_NEIGHBOR/%s", name);
	if (rs_document_text(rs_document_member(v, "port"), value, sizeof(value)))
		put(d, at, subject, "neighbour_port", value);
	if (!rs_document_text(rs_document_member(v, "name"), value, sizeof(value)))
		return;
	put(d, at, subject, "neighbour", value);
	if (rs_document_text(rs_document_member(row(d, "DEVICE_NEIGHBOR_METADATA", value), "type"),
			     tier, sizeof(tier)))
		put(d, at, subject, "neighbour_tier", tier);
}

/* STATE_DB, where it was dumped beside: the module's readings and its own thresholds. */
static void module(struct db *d, const char *name, struct rs_value *v, void *arg)
{
	static const struct {
		const char *field, *fact;
	} fields[] = {{"temperature", "module/temperature"},
		      {"temphighwarning", "module/temperature_warn"},
		      {"rxpowerlowwarning", "module/rx_power_low_warn"},
		      {"txpowerlowwarning", "module/tx_power_low_warn"}};
	char subject[192], value[64], field[32], fact[32];

	v = rs_document_member(v, "value") ? rs_document_member(v, "value") : v;
	snprintf(subject, sizeof(subject), "port/%s", name);
	for (unsigned i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		if (rs_document_text(rs_document_member(v, fields[i].field), value, sizeof(value)))
			put(d, NULL, subject, fields[i].fact, value);
	for (int lane = 1; lane <= 8; lane++)
		for (int tx = 0; tx < 2; tx++) {
			snprintf(field, sizeof(field), "%s%dpower", tx ? "tx" : "rx", lane);
			snprintf(fact, sizeof(fact), "module/%s_power/%d", tx ? "tx" : "rx", lane);
			if (rs_document_text(rs_document_member(v, field), value, sizeof(value)) &&
			    strcmp(value, "N/A"))
				put(d, NULL, subject, fact, value);
		}
}

static void default_lossless(struct db *d, const char *name, struct rs_value *v, void *arg)
{
	char value[64];

	if (rs_document_text(rs_document_member(v, "default_dynamic_th"), value, sizeof(value)))
		put(d, "/DEFAULT_LOSSLESS_BUFFER_PARAMETER", "host", "default_alpha", value);
	if (rs_document_text(rs_document_member(v, "over_subscribe_ratio"), value, sizeof(value)))
		put(d, "/DEFAULT_LOSSLESS_BUFFER_PARAMETER", "host", "over_subscribe", value);
}

static void hashing(struct db *d, const char *name, struct rs_value *v, void *arg)
{
	struct rs_value *list = rs_document_member(v, "ecmp_hash"), *item;
	bool found = false, any = false;
	char value[64];
	void *it = NULL;

	if (!list)
		list = rs_document_member(v, "ecmp_hash@");
	if (list && rs_value_is_list(list))
		while ((item = rs_value_each(list, &it))) {
			any = true;
			found |= rs_document_text(item, value, sizeof(value)) &&
				 !strcmp(value, "L4_SRC_PORT");
		}
	if (any)
		put(d, "/SWITCH_HASH/GLOBAL/ecmp_hash", "host", "hash/l4_source",
		    found ? "1" : "0");
}

static void cable(struct db *d, const char *name, struct rs_value *v, void *arg)
{
	struct rs_pair *p;
	void *it = NULL;

	while (rs_value_is_map(v) && (p = rs_value_each_pair(v, &it))) {
		char key[128], subject[192], value[64], at[320];

		if (!rs_document_text(rs_pair_key(p), key, sizeof(key)) ||
		    !rs_document_text(rs_pair_value(p), value, sizeof(value)))
			continue;
		snprintf(subject, sizeof(subject), "port/%s", key);
		snprintf(at, sizeof(at), "/CABLE_LENGTH/%s/%s", name, key);
		value[strspn(value, "0123456789")] = '\0'; /* "40m" */
		put(d, at, subject, "cable_m", value);
	}
}

static int read_db(struct rs_audit *a, const struct rs_input *in, bool whole)
{
	struct rs_document *doc = rs_document_parse(in->data, in->size);
	struct db d = {
		.a = a, .in = in, .root = doc ? rs_document_root(doc) : NULL, .whole = whole};

	if (d.root && rs_value_is_map(d.root) && index_root(&d)) {
		put(&d, NULL, "host", "role", "switch");
		put(&d, NULL, "host", "os", "SONiC");
		each(&d, "PORT_QOS_MAP", port_maps, NULL);
		each(&d, "QUEUE", queues, NULL);
		if (d.queues && whole)
			put(&d, NULL, "host", "queues_seen", "1");
		each(&d, "BUFFER_PG", groups, NULL);
		each(&d, "PORT", port, NULL);
		each(&d, "BUFFER_POOL", pool, NULL);
		each(&d, "CABLE_LENGTH", cable, NULL);
		each(&d, "PFC_WD", watchdog, NULL);
		each(&d, "DEVICE_METADATA", metadata, NULL);
		each(&d, "DEVICE_NEIGHBOR", neighbour, NULL);
		each(&d, "DEFAULT_LOSSLESS_BUFFER_PARAMETER", default_lossless, NULL);
		each(&d, "SWITCH_HASH", hashing, NULL);
		each(&d, "TRANSCEIVER_DOM_SENSOR", module, NULL);
		each(&d, "TRANSCEIVER_DOM_THRESHOLD", module, NULL);
	}
	free(d.entry);
	rs_document_destroy(doc);
	return a->err;
}

static int read_sonic(struct rs_audit *a, const struct rs_input *in)
{
	return read_db(a, in, true);
}

int rs_sonic_read_rows(struct rs_audit *a, const struct rs_input *in)
{
	return read_db(a, in, false);
}

static bool own_name(const struct rs_input *in, char *out, size_t size)
{
	return rs_input_has(in, "\"DEVICE_METADATA") &&
	       rs_input_word(in, "\"hostname\"", out, size);
}

const struct rs_reader rs_reader_sonic = {
	.name = "sonic",
	.what = "SONiC's CONFIG_DB (config_db.json, qos.json): maps, PFC, ECN, buffers, ports",
	.trust = RS_TRUST_INTENT,
	.score = score,
	.read = read_sonic,
	.own_name = own_name,
};
