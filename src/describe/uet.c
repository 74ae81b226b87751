/* Ultra Ethernet in a description: transport.kind, transport.uet, and what a switch does for it. */
#include <errno.h>
#include <string.h>
#include "base/units.h"
#include "describe/load.h"

const char *const transport_names[] = {"rc", "uet", NULL};
static const char *const window_names[] = {"nscc", "dctcp", "none", NULL};
static const char *const delivery_names[] = {"rud", "rod", NULL};
/* As cc/balance.h numbers them. */
static const char *const balance_names[] = {"oblivious", "bitmap", "reps", "mixed", "fixed", NULL};
static const char *const overflow_names[] = {"arrival", "either", NULL};

static void get_u16(struct rs_load *l, const struct rs_node *n, const char *key, uint64_t least,
		    uint64_t most, uint16_t *out)
{
	uint64_t v = *out;

	rs_node_bytes(l, n, key, least, most, &v);
	*out = (uint16_t)v;
}

static void get_u32(struct rs_load *l, const struct rs_node *n, const char *key, uint64_t least,
		    uint64_t most, uint32_t *out)
{
	uint64_t v = *out;

	rs_node_bytes(l, n, key, least, most, &v);
	*out = (uint32_t)v;
}

static void power_of_two(struct rs_load *l, const struct rs_node *n, const char *key, uint32_t v)
{
	if (!l->err && rs_node_get(n, key) && v & (v - 1))
		rs_load_fail(l, -EINVAL, rs_node_get(n, key)->at,
			     "%s: expected a power of two, found %u", key, v);
}

static void get_sizes(struct rs_load *l, const struct rs_node *n, struct rs_uet_settings *u)
{
	uint32_t paths = u->paths;

	rs_node_u32(l, n, "paths", 1, 32768, &paths);
	rs_node_u32(l, n, "mpr", 64, 16384, &u->mpr);
	u->paths = (uint16_t)paths;
	power_of_two(l, n, "paths", paths);
	power_of_two(l, n, "mpr", u->mpr);
	get_u16(l, n, "header", 64, 512, &u->header);
	get_u16(l, n, "control", 64, 512, &u->control);
	get_u32(l, n, "ack_bytes", 1, 1 << 24, &u->ack_bytes);
	get_u32(l, n, "credit", 256, 1 << 20, &u->credit);
}

static void get_uet(struct rs_load *l, const struct rs_node *n, struct rs_uet_settings *u)
{
	static const char *const known[] = {"window",  "credits",   "delivery", "sleek",
					    "balance", "paths",     "freeze",   "header",
					    "control", "ack_bytes", "credit",   "mpr",
					    "rto",     "base_rtt",  "target",   NULL};
	int window = (int)u->window, delivery = u->ordered, balance = u->balance;

	if (!rs_node_keys(l, n, "uet", known))
		return;
	rs_node_name(l, n, "window", window_names, &window);
	rs_node_name(l, n, "delivery", delivery_names, &delivery);
	rs_node_name(l, n, "balance", balance_names, &balance);
	u->window = (__typeof__(u->window))window;
	u->ordered = delivery;
	u->balance = (uint8_t)balance;
	rs_node_bool(l, n, "credits", &u->credits);
	rs_node_bool(l, n, "sleek", &u->sleek);
	get_sizes(l, n, u);
	rs_node_time(l, n, "freeze", 0, RS_S, &u->freeze);
	rs_node_time(l, n, "rto", RS_US, RS_S, &u->rto);
	rs_node_time(l, n, "base_rtt", RS_NS, RS_S, &u->base_rtt);
	rs_node_time(l, n, "target", RS_NS, RS_S, &u->target);
	if (!l->err && u->window == RS_FABRIC_NO_WINDOW && !u->credits)
		rs_load_fail(l, -EINVAL, n->at,
			     "window: none lets a sender send without an end; expected credits: "
			     "true beside it");
	if (!l->err && u->ordered && rs_node_get(n, "balance") && balance != 4)
		rs_load_fail(l, -EINVAL, rs_node_get(n, "balance")->at,
			     "delivery: rod keeps to one path; expected balance: fixed, or none");
}

void load_uet(struct rs_load *l, struct rs_fabric *f, const struct rs_node *n)
{
	const struct rs_node *uet = rs_node_get(n, "uet");
	int kind = (int)f->transport.kind;

	rs_node_name(l, n, "kind", transport_names, &kind);
	if (kind == RS_FABRIC_UET)
		rs_fabric_uet_defaults(f);
	if (uet)
		get_uet(l, uet, &f->transport.uet);
}

/* Of a group of hosts: as rs_fabric_host.transport has it. */
uint8_t load_own_transport(struct rs_load *l, const struct rs_node *n)
{
	int kind = RS_FABRIC_RC;

	if (!rs_node_get(n, "transport"))
		return 0;
	rs_node_name(l, n, "transport", transport_names, &kind);
	return (uint8_t)(kind + 1);
}

static void get_products(struct rs_load *l, const struct rs_node *n, double *out)
{
	const struct rs_node *v = rs_node_get(n, "queue_bdp");

	if (v && v->kind == RS_NODE_SCALAR && !strcmp(v->text, "auto"))
		*out = -1;
	else
		rs_node_share(l, n, "queue_bdp", 0, 100, out);
}

void load_trimming(struct rs_load *l, struct rs_qos *q, const struct rs_node *n)
{
	int overflow = (int)q->overflow;

	if (!n)
		return;
	rs_node_bool(l, n, "trim", &q->trim);
	get_u16(l, n, "trim_bytes", 64, 1024, &q->trim_bytes);
	rs_node_u8(l, n, "trim_class", 0, RS_TCS - 1, &q->trim_tc);
	rs_node_name(l, n, "overflow", overflow_names, &overflow);
	q->overflow = (__typeof__(q->overflow))overflow;
	get_products(l, n, &q->queue_bdp);
}

/* ---- As text ---- */

static void write_time(FILE *out, const char *key, rs_time v)
{
	char text[40];

	if (v)
		fprintf(out, "      %s: %s\n", key, rs_format_time(text, sizeof(text), v));
}

static void write_bytes(FILE *out, const char *key, uint32_t v)
{
	if (v)
		fprintf(out, "      %s: %uB\n", key, v);
}

/* What is as it is by default in every description made before there was a choice is not said. */
void write_uet(FILE *out, const struct rs_transport_conf *t)
{
	const struct rs_uet_settings *u = &t->uet;

	if (t->kind == RS_FABRIC_UET)
		fprintf(out, "    kind: uet\n");
	fprintf(out, "    uet:\n      window: %s\n      credits: %s\n      delivery: %s\n",
		window_names[u->window], u->credits ? "true" : "false", delivery_names[u->ordered]);
	fprintf(out, "      sleek: %s\n", u->sleek ? "true" : "false");
	if (!u->ordered)
		fprintf(out, "      balance: %s\n", balance_names[u->balance]);
	fprintf(out, "      paths: %u\n", u->paths);
	if (u->mpr)
		fprintf(out, "      mpr: %u\n", u->mpr);
	write_time(out, "freeze", u->freeze);
	if (!u->freeze)
		fprintf(out, "      freeze: 0ns\n");
	write_bytes(out, "header", u->header);
	write_bytes(out, "control", u->control);
	write_bytes(out, "ack_bytes", u->ack_bytes);
	write_bytes(out, "credit", u->credit);
	write_time(out, "rto", u->rto);
	write_time(out, "base_rtt", u->base_rtt);
	write_time(out, "target", u->target);
}

void write_trimming(FILE *out, const char *in, const struct rs_qos *q)
{
	fprintf(out, "%strim: %s\n%strim_bytes: %uB\n%strim_class: %u\n", in,
		q->trim ? "true" : "false", in, q->trim_bytes, in, q->trim_tc);
	fprintf(out, "%soverflow: %s\n%squeue_bdp: ", in, overflow_names[q->overflow], in);
	if (q->queue_bdp < 0)
		fputs("auto\n", out);
	else
		fprintf(out, "%.17g\n", q->queue_bdp);
}
