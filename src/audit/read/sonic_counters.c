/* SONiC's COUNTERS_DB as JSON (redis-dump, sonic-db-dump -y): counters of ports, queues and
 * priority groups, named by the maps beside them. SAI's names (sai_port_stat_t, sai_queue_stat_t)
 * become those that the rules use for every switch. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/readers.h"
#include "text/document.h"

enum { OBJECTS = 200000 };

enum kind { PORT, QUEUE, GROUP };

struct object {
	char oid[24];     /* 0x1000000000012 */
	const char *name; /* "Ethernet0" or "Ethernet0:3": the document's, not ended by NUL */
	size_t n;
	enum kind kind;
};

struct dump {
	struct rs_audit *a;
	const struct rs_input *in;
	struct object *object;
	size_t n, room;
};

static int score(const struct rs_input *in)
{
	return in->data[0] == '{' && (memmem(in->data, in->size, "\"COUNTERS:oid:", 14) ||
				      memmem(in->data, in->size, "\"COUNTERS_PORT_NAME_MAP\"", 24))
		       ? 89
		       : 0;
}

/* sonic-db-dump puts a hash below "value", beside its type. */
static struct rs_value *hash_of(struct rs_value *n)
{
	struct rs_value *v = rs_document_member(n, "value");

	return v && rs_value_is_map(v) ? v : n;
}

static void names(struct dump *d, struct rs_value *map, enum kind kind)
{
	struct rs_pair *p;
	void *it = NULL;

	map = hash_of(map);
	while (map && rs_value_is_map(map) && (p = rs_value_each_pair(map, &it))) {
		struct object o = {.kind = kind};
		char oid[64];

		o.name = rs_value_scalar(rs_pair_key(p), &o.n);
		if (!o.name || !rs_document_text(rs_pair_value(p), oid, sizeof(oid)) ||
		    strncmp(oid, "oid:", 4) || strlen(oid) - 4 >= sizeof(o.oid))
			continue;
		strcpy(o.oid, oid + 4);
		if (d->n == d->room) {
			size_t room = d->room ? 2 * d->room : 256;
			struct object *at =
				d->n < OBJECTS ? realloc(d->object, room * sizeof(*at)) : NULL;

			if (!at)
				return;
			d->object = at;
			d->room = room;
		}
		d->object[d->n++] = o;
	}
}

static int by_oid(const void *a, const void *b)
{
	return strcmp(((const struct object *)a)->oid, ((const struct object *)b)->oid);
}

/* %d: the priority, bin or index, which SAI has within the name as N. */
static const struct {
	enum kind kind;
	const char *sai, *fact;
} counters[] = {
	{PORT, "SAI_PORT_STAT_IF_IN_ERRORS", "counter/rx_errors"},
	{PORT, "SAI_PORT_STAT_IF_OUT_ERRORS", "counter/tx_errors"},
	{PORT, "SAI_PORT_STAT_IF_IN_DISCARDS", "counter/rx_discards"},
	{PORT, "SAI_PORT_STAT_IF_OUT_DISCARDS", "counter/tx_discards"},
	{PORT, "SAI_PORT_STAT_IF_IN_OCTETS", "counter/rx_bytes"},
	{PORT, "SAI_PORT_STAT_IF_OUT_OCTETS", "counter/tx_bytes"},
	{PORT, "SAI_PORT_STAT_ECN_MARKED_PACKETS", "counter/ecn_marked"},
	{PORT, "SAI_PORT_STAT_IF_IN_FEC_CORRECTABLE_FRAMES", "counter/fec_corrected"},
	{PORT, "SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES", "counter/fec_uncorrectable"},
	{PORT, "SAI_PORT_STAT_IF_IN_FEC_SYMBOL_ERRORS", "counter/fec_symbol_errors"},
	{PORT, "SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S%d", "counter/fec_bin/%d"},
	{PORT, "SAI_PORT_STAT_PFC_%d_RX_PKTS", "counter/pfc_rx/%d"},
	{PORT, "SAI_PORT_STAT_PFC_%d_TX_PKTS", "counter/pfc_tx/%d"},
	{PORT, "EST_PORT_STAT_PFC_%d_RX_PAUSE_DURATION_US", "counter/pfc_rx_us/%d"},
	{PORT, "SAI_PORT_STAT_PFC_%d_RX_PAUSE_DURATION_US", "counter/pfc_rx_us/%d"},
	{QUEUE, "SAI_QUEUE_STAT_PACKETS", "counter/queue/%d/packets"},
	{QUEUE, "SAI_QUEUE_STAT_DROPPED_PACKETS", "counter/queue/%d/dropped"},
	{QUEUE, "SAI_QUEUE_STAT_WRED_DROPPED_PACKETS", "counter/queue/%d/wred_dropped"},
	{QUEUE, "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS", "counter/queue/%d/ecn_marked"},
	{QUEUE, "PFC_WD_STATUS", "watchdog/%d/status"},
	{QUEUE, "PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED", "watchdog/%d/detected"},
	{QUEUE, "PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED", "watchdog/%d/restored"},
	{GROUP, "SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS", "counter/pg/%d/dropped"},
	{GROUP, "SAI_INGRESS_PRIORITY_GROUP_STAT_PACKETS", "counter/pg/%d/packets"},
};

/* Does a key follow a pattern with one %d? The number, or -2: it does not; -1: without number. */
static int matches(const char *key, const char *pattern)
{
	const char *mark = strstr(pattern, "%d");
	char *end;
	long n;

	if (!mark)
		return strcmp(key, pattern) ? -2 : -1;
	if (strncmp(key, pattern, (size_t)(mark - pattern)))
		return -2;
	key += mark - pattern;
	if (*key < '0' || *key > '9')
		return -2;
	n = strtol(key, &end, 10);
	return n < 64 && !strcmp(end, mark + 2) ? (int)n : -2;
}

static void counter(struct dump *d, const struct object *o, const char *key, const char *value,
		    uint32_t line)
{
	const char *colon = memchr(o->name, ':', o->n);
	size_t n = colon ? (size_t)(colon - o->name) : o->n;
	char subject[128], name[64], at[128];

	for (unsigned i = 0; i < sizeof(counters) / sizeof(*counters); i++) {
		int number = counters[i].kind == o->kind ? matches(key, counters[i].sai) : -2;

		if (number == -2)
			continue;
		if (o->kind != PORT)
			number = colon ? atoi(colon + 1) : -1;
		if (number < 0 && strstr(counters[i].fact, "%d"))
			continue;
		snprintf(subject, sizeof(subject), "port/%.*s", (int)(n < 100 ? n : 100), o->name);
		snprintf(name, sizeof(name), counters[i].fact, number);
		snprintf(at, sizeof(at), "/COUNTERS:oid:%s/%.80s", o->oid, key);
		rs_input_add(d->a, d->in, line, at, subject, name, "%s", value);
	}
}

static void row(struct dump *d, const char *oid, struct rs_value *values)
{
	struct object key, *o;
	struct rs_pair *p;
	void *it = NULL;

	if (strlen(oid) >= sizeof(key.oid))
		return;
	strcpy(key.oid, oid);
	o = d->n ? bsearch(&key, d->object, d->n, sizeof(key), by_oid) : NULL;
	values = hash_of(values);
	while (o && values && rs_value_is_map(values) && (p = rs_value_each_pair(values, &it))) {
		char name[80], value[64];

		if (rs_document_text(rs_pair_key(p), name, sizeof(name)) &&
		    rs_document_text(rs_pair_value(p), value, sizeof(value)))
			counter(d, o, name, value, rs_document_line(rs_pair_value(p)));
	}
}

static int read_counters(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_document *doc = rs_document_parse(in->data, in->size);
	struct rs_value *root = doc ? rs_document_root(doc) : NULL;
	struct dump d = {.a = a, .in = in};
	struct rs_pair *p;
	void *it = NULL;
	char key[96];

	if (root && rs_value_is_map(root)) {
		rs_input_add(a, in, 0, NULL, "host", "role", "switch");
		rs_input_add(a, in, 0, NULL, "host", "os", "SONiC");
		names(&d, rs_document_member(root, "COUNTERS_PORT_NAME_MAP"), PORT);
		names(&d, rs_document_member(root, "COUNTERS_QUEUE_NAME_MAP"), QUEUE);
		names(&d, rs_document_member(root, "COUNTERS_PG_NAME_MAP"), GROUP);
		if (d.n)
			qsort(d.object, d.n, sizeof(*d.object), by_oid);
		while ((p = rs_value_each_pair(root, &it)))
			if (rs_document_text(rs_pair_key(p), key, sizeof(key)) &&
			    !strncmp(key, "COUNTERS:oid:", 13))
				row(&d, key + 13, rs_pair_value(p));
	}
	free(d.object);
	rs_document_destroy(doc);
	return a->err;
}

const struct rs_reader rs_reader_sonic_counters = {
	.name = "sonic-counters",
	.what = "SONiC's COUNTERS_DB: PFC, drops, ECN marks, FEC and watchdog of ports and queues",
	.trust = RS_TRUST_DUMP,
	.score = score,
	.read = read_counters,
};
