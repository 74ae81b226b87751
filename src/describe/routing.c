/* How a switch chooses among equal paths: qos.routing and its settings, read and written. */
#include <errno.h>
#include <string.h>
#include "base/units.h"
#include "describe/load.h"

const char *const routing_names[] = {"ecmp", "spray", "adaptive", "flowlet", "round-robin", NULL};
static const char *const flowlet_names[] = {"least", "random", NULL};
static const char *const hash_names[] = {"mix", "crc32", "xor", "random", NULL};
static const char *const seed_names[] = {"switch", "fabric", NULL};
static const char *const field_names[] = {"src", "dst", "sport", "qp", NULL};

/* In the order of switch/switch.h's bits. */
static void load_fields(struct rs_load *l, const struct rs_node *list, uint8_t *fields)
{
	if (!list || !rs_node_is_list(l, list, "hash_fields"))
		return;
	*fields = 0;
	for (const struct rs_item *i = list->first; i && !l->err; i = i->next) {
		const char *s = rs_node_scalar(l, i->value, "hash_fields");
		unsigned k = 0;

		while (s && field_names[k] && strcmp(s, field_names[k]))
			k++;
		if (s && !field_names[k])
			rs_load_fail(l, -EINVAL, i->value->at,
				     "hash_fields: expected src, dst, sport or qp, found '%s'%s", s,
				     rs_did_you_mean(l, s, field_names));
		*fields |= (uint8_t)(1u << k);
	}
	if (!*fields && !l->err)
		rs_load_fail(l, -EINVAL, list->at,
			     "hash_fields: expected one at least of src, dst, sport and qp");
}

static void load_thresholds(struct rs_load *l, const struct rs_node *list, struct rs_qos *q)
{
	struct rs_error e = {0};

	if (!list || !rs_node_is_list(l, list, "ar_thresholds"))
		return;
	q->n_ar = 0;
	for (const struct rs_item *i = list->first; i && !l->err; i = i->next) {
		const char *s = rs_node_scalar(l, i->value, "ar_thresholds");
		uint64_t v = 0;

		if (!s)
			return;
		if (q->n_ar == RS_FABRIC_AR)
			rs_load_fail(l, -E2BIG, i->value->at, "ar_thresholds: %d at most",
				     RS_FABRIC_AR);
		else if (rs_parse_bytes(s, &v, &e) || !v || v > UINT32_MAX ||
			 (q->n_ar && v <= q->ar[q->n_ar - 1]))
			rs_load_fail(l, -ERANGE, i->value->at,
				     "ar_thresholds: expected sizes below 4GiB, each above the one "
				     "before, as [64kB, 256kB]; found '%s'",
				     s);
		else
			q->ar[q->n_ar++] = (uint32_t)v;
	}
}

void load_routing(struct rs_load *l, struct rs_qos *q, const struct rs_node *n)
{
	int routing = (int)q->routing, hash = (int)q->hash, seed = q->hash_same;
	int flowlet = q->flowlet_random;

	if (!n)
		return;
	rs_node_name(l, n, "routing", routing_names, &routing);
	rs_node_name(l, n, "hash", hash_names, &hash);
	rs_node_name(l, n, "hash_seed", seed_names, &seed);
	rs_node_time(l, n, "flowlet_gap", 1, RS_S, &q->flowlet_gap);
	rs_node_name(l, n, "flowlet_choice", flowlet_names, &flowlet);
	rs_node_time(l, n, "ar_sample", 0, RS_S, &q->ar_sample);
	rs_node_bool(l, n, "ar_sticky", &q->ar_sticky);
	load_fields(l, rs_node_get(n, "hash_fields"), &q->hash_fields);
	load_thresholds(l, rs_node_get(n, "ar_thresholds"), q);
	q->routing = (__typeof__(q->routing))routing;
	q->hash = (__typeof__(q->hash))hash;
	q->hash_same = seed;
	q->flowlet_random = flowlet;
	if (q->ar_sticky && !q->n_ar && !l->err)
		rs_load_fail(l, -EINVAL,
			     rs_node_get(n, "ar_sticky") ? rs_node_get(n, "ar_sticky")->at : n->at,
			     "ar_sticky: a flow leaves its port for one of a lower grade; expected "
			     "ar_thresholds, as [64kB, 256kB]");
}

void write_routing(FILE *out, const char *in, const struct rs_qos *q)
{
	char text[64];
	bool some = false;

	fprintf(out, "%srouting: %s\n%sflowlet_gap: %s\n", in, routing_names[q->routing], in,
		rs_format_time(text, sizeof(text), q->flowlet_gap));
	fprintf(out, "%sflowlet_choice: %s\n", in, flowlet_names[q->flowlet_random]);
	fprintf(out, "%shash: %s\n%shash_seed: %s\n%shash_fields: [", in, hash_names[q->hash], in,
		seed_names[q->hash_same], in);
	for (unsigned k = 0; field_names[k]; k++)
		if (q->hash_fields >> k & 1) {
			fprintf(out, "%s%s", some ? ", " : "", field_names[k]);
			some = true;
		}
	fprintf(out, "]\n%sar_sample: %s\n%sar_thresholds: [", in,
		rs_format_time(text, sizeof(text), q->ar_sample), in);
	for (unsigned i = 0; i < q->n_ar; i++)
		fprintf(out, "%s%uB", i ? ", " : "", q->ar[i]);
	fprintf(out, "]\n%sar_sticky: %s\n", in, q->ar_sticky ? "true" : "false");
}
