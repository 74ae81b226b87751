/* What `ripstop switch` prints: its counters, and the switch as it would be. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/units.h"
#include "cli/switch.h"
#include "report/report.h"

static const char *const cables[] = {[RS_CABLE_RIGHT] = "as described",
				     [RS_CABLE_WRONG] = "wrong",
				     [RS_CABLE_FOREIGN] = "another description"};

static void columns(struct rs_table *t, const char *const *name, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		rs_table_column(t, name[i], i ? RS_RIGHT : RS_LEFT);
}

static void bytes_cell(struct rs_table *t, double bytes)
{
	char text[32];

	rs_table_cell(t, "%s", rs_human_bytes(text, sizeof(text), bytes));
}

static void count_cell(struct rs_table *t, uint64_t n)
{
	rs_table_cell(t, "%llu", (unsigned long long)n);
}

static void rate_cell(struct rs_table *t, int64_t rate)
{
	char text[32];

	rs_table_cell(t, "%s", rs_format_rate(text, sizeof(text), rate));
}

/* ---- Counters as text ---- */

static void port_row(struct rs_table *t, const struct switch_settings *s, unsigned i,
		     const struct rs_bridge_port_report *p)
{
	char to[SWITCH_PORT_NAME];

	rs_table_row(t);
	rs_table_cell(t, "%s", s->c.port[i].name);
	if (s->f)
		rs_table_cell(t, "%s", switch_leads_to(s, i, to));
	rate_cell(t, s->c.sw_port[i].rate);
	count_cell(t, p->c.rx_packets);
	count_cell(t, p->c.tx_packets);
	bytes_cell(t, (double)p->c.tx_bytes);
	count_cell(t, p->c.drops);
	count_cell(t, p->c.ecn_marked);
	count_cell(t, p->c.tx_pauses);
	bytes_cell(t, p->mean_queue);
	bytes_cell(t, (double)p->p99_queue);
	bytes_cell(t, (double)p->max_queue);
}

static void print_harm(const struct switch_settings *s, const struct rs_bridge_report *r)
{
	struct rs_bridge_harmed all = {0};

	for (unsigned i = 0; i < s->c.sw.n_ports; i++) {
		const struct rs_bridge_harmed *h = &r->port[i].harmed;

		all.dropped += h->dropped;
		all.corrupted += h->corrupted;
		all.duplicated += h->duplicated;
		all.reordered += h->reordered;
		all.delayed += h->delayed;
	}
	printf("Harmed as asked: %llu dropped, %llu corrupted, %llu duplicated, %llu reordered, "
	       "%llu delayed.\n",
	       (unsigned long long)all.dropped, (unsigned long long)all.corrupted,
	       (unsigned long long)all.duplicated, (unsigned long long)all.reordered,
	       (unsigned long long)all.delayed);
}

static int print_text(const struct switch_settings *s, const struct rs_bridge_report *r)
{
	static const char *const first[] = {"port", "leads to"};
	static const char *const rest[] = {"",           "rate",    "in",     "out",
					   "out bytes",  "dropped", "marked", "paused",
					   "queue mean", "p99",     "most"};
	struct rs_table *t = rs_table_create(NULL);

	if (!t)
		return -ENOMEM;
	columns(t, first, s->f ? 2 : 1);
	for (unsigned i = 1; i < sizeof(rest) / sizeof(rest[0]); i++)
		rs_table_column(t, rest[i], RS_RIGHT);
	for (unsigned i = 0; i < s->c.sw.n_ports; i++)
		if (s->c.port[i].name[0])
			port_row(t, s, i, &r->port[i]);
	rs_table_print(t, stdout);
	printf("%llu dropped for want of buffer, %llu more for want of room for frames, %llu "
	       "unread; "
	       "%llu to all ports, %llu filtered; %u addresses.\n",
	       (unsigned long long)(r->c.drops + r->c.unroutable), (unsigned long long)r->no_room,
	       (unsigned long long)r->unread, (unsigned long long)r->flooded,
	       (unsigned long long)r->filtered, r->addresses);
	if (switch_harms(s))
		print_harm(s, r);
	return 0;
}

/* ---- JSON ---- */

static uint64_t kmin_of(const struct switch_settings *s, unsigned port)
{
	return s->c.sw_port[port].kmin ? s->c.sw_port[port].kmin : s->c.sw.classes[0].kmin;
}

static uint64_t kmax_of(const struct switch_settings *s, unsigned port)
{
	return s->c.sw_port[port].kmax ? s->c.sw_port[port].kmax : s->c.sw.classes[0].kmax;
}

/* What is known before a packet has come. A described port that scales no threshold has those of
 * the classes. */
static void json_port_head(struct rs_json *j, const struct switch_settings *s, unsigned i)
{
	const struct rs_switch_port *p = &s->c.sw_port[i];
	char to[SWITCH_PORT_NAME];

	rs_json_string(j, "interface", s->show && s->f ? s->interface[i].name : s->c.port[i].name);
	if (s->f) {
		rs_json_uint(j, "port", i);
		rs_json_string(j, "leads_to", switch_leads_to(s, i, to));
	}
	rs_json_int(j, "rate", p->rate);
	if (!s->f || p->kmin) {
		rs_json_uint(j, "kmin", kmin_of(s, i));
		rs_json_uint(j, "kmax", kmax_of(s, i));
	}
	if (s->f) {
		rs_json_uint(j, "headroom", p->headroom);
		rs_json_number(j, "pause_response_ns", (double)p->response / RS_NS);
	}
}

static void json_harm(struct rs_json *j, const struct rs_bridge_harmed *h)
{
	rs_json_object(j, "harmed");
	rs_json_uint(j, "dropped", h->dropped);
	rs_json_uint(j, "corrupted", h->corrupted);
	rs_json_uint(j, "duplicated", h->duplicated);
	rs_json_uint(j, "reordered", h->reordered);
	rs_json_uint(j, "delayed", h->delayed);
	rs_json_end(j);
}

static void json_port(struct rs_json *j, const struct switch_settings *s, unsigned i,
		      const struct rs_bridge_port_report *p)
{
	rs_json_object(j, NULL);
	json_port_head(j, s, i);
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
	if (switch_harms(s))
		json_harm(j, &p->harmed);
	if (s->f && s->c.port[i].to_switch)
		rs_json_string(j, "cable", s->told[i] ? cables[s->cable[i]] : "silent");
	rs_json_end(j);
}

static void json_classes(struct rs_json *j, const struct rs_switch_config *c)
{
	rs_json_array(j, "classes");
	for (unsigned t = 0; t < RS_CLASSES; t++) {
		const struct rs_switch_class *k = &c->classes[t];

		rs_json_object(j, NULL);
		rs_json_uint(j, "class", t);
		rs_json_bool(j, "lossless", k->lossless);
		rs_json_bool(j, "ecn", k->ecn);
		if (k->ecn) {
			rs_json_uint(j, "kmin", k->kmin);
			rs_json_uint(j, "kmax", k->kmax);
			rs_json_number(j, "pmax", k->pmax / 65536.0);
		}
		rs_json_uint(j, "weight", k->weight);
		rs_json_int(j, "alpha_shift", k->alpha_shift);
		rs_json_uint(j, "egress_limit", k->egress_limit);
		rs_json_array(j, "dscp");
		for (unsigned d = 0; d < 64; d++)
			if (c->tc_of_dscp[d] == t)
				rs_json_uint(j, NULL, d);
		rs_json_end(j);
		rs_json_end(j);
	}
	rs_json_end(j);
}

/* Which switch of which description, and what it has of it. */
static void json_described(struct rs_json *j, const struct switch_settings *s)
{
	static const char *const routing[] = {[RS_ROUTE_ECMP] = "ecmp",
					      [RS_ROUTE_SPRAY] = "spray",
					      [RS_ROUTE_ADAPTIVE] = "adaptive",
					      [RS_ROUTE_FLOWLET] = "flowlet",
					      [RS_ROUTE_ROUND_ROBIN] = "round-robin",
					      [RS_ROUTE_HASHED] = "ecmp"};

	if (!s->f)
		return;
	rs_json_string(j, "switch", s->f->switches[s->sw].name);
	rs_json_string(j, "routing", routing[s->c.sw.routing]);
	rs_json_uint(j, "buffer", s->c.sw.buffer);
	rs_json_uint(j, "cell", s->c.sw.cell);
	json_classes(j, &s->c.sw);
}

static int print_json(const struct switch_settings *s, const struct rs_bridge_report *r)
{
	struct rs_json *j = rs_json_create(stdout);

	if (!j)
		return -ENOMEM;
	rs_json_object(j, NULL);
	json_described(j, s);
	rs_json_number(j, "seconds", r->seconds);
	rs_json_uint(j, "dropped", r->c.drops + r->c.unroutable);
	rs_json_uint(j, "dropped_lossless", r->c.drops_lossless);
	rs_json_uint(j, "no_room", r->no_room);
	rs_json_uint(j, "unread", r->unread);
	rs_json_uint(j, "stamped", r->stamped);
	rs_json_uint(j, "flooded", r->flooded);
	rs_json_uint(j, "filtered", r->filtered);
	rs_json_uint(j, "ecn_marked", r->c.ecn_marked);
	rs_json_uint(j, "max_buffer", r->c.max_buffer);
	rs_json_uint(j, "addresses", r->addresses);
	rs_json_array(j, "ports");
	for (unsigned i = 0; i < s->c.sw.n_ports; i++)
		if (s->c.port[i].name[0])
			json_port(j, s, i, &r->port[i]);
	rs_json_end(j);
	rs_json_end(j);
	return rs_json_finish(j);
}

int switch_print(const struct switch_settings *s, struct rs_bridge *b)
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

/* ---- --show ---- */

static int plan_json(const struct switch_settings *s)
{
	struct rs_json *j = rs_json_create(stdout);

	if (!j)
		return -ENOMEM;
	rs_json_object(j, NULL);
	json_described(j, s);
	rs_json_array(j, "ports");
	for (unsigned i = 0; i < s->c.sw.n_ports; i++) {
		rs_json_object(j, NULL);
		json_port_head(j, s, i);
		rs_json_end(j);
	}
	rs_json_end(j);
	rs_json_end(j);
	return rs_json_finish(j);
}

static void print_classes(const struct rs_switch_config *c)
{
	static const char *const names[] = {"class", "DSCP", "weight", "PFC", "marks from", "to"};
	struct rs_table *t = rs_table_create(NULL);

	if (!t)
		return;
	columns(t, names, sizeof(names) / sizeof(names[0]));
	for (unsigned k = 0; k < RS_CLASSES; k++) {
		const struct rs_switch_class *q = &c->classes[k];
		unsigned n = 0, only = 0;

		for (unsigned d = 0; d < 64; d++)
			if (c->tc_of_dscp[d] == k) {
				only = d;
				n++;
			}
		if (!n)
			continue;
		rs_table_row(t);
		rs_table_cell(t, "%u", k);
		rs_table_cell(t, n == 1 ? "%u" : "%u of them", n == 1 ? only : n);
		rs_table_cell(t, q->weight ? "%u" : "strict", q->weight);
		rs_table_cell(t, "%s", q->lossless ? "yes" : "no");
		if (q->ecn) {
			bytes_cell(t, (double)q->kmin);
			bytes_cell(t, (double)q->kmax);
		} else {
			rs_table_cell(t, "never");
			rs_table_cell(t, "-");
		}
	}
	rs_table_print(t, stdout);
}

static uint64_t headroom_of(const struct rs_bridge_config *c)
{
	uint64_t bytes = 0;

	for (unsigned t = 0; t < RS_CLASSES; t++)
		for (unsigned i = 0; c->sw.classes[t].lossless && i < c->sw.n_ports; i++)
			bytes += c->sw_port[i].headroom;
	return bytes;
}

int switch_print_plan(const struct switch_settings *s)
{
	static const char *const names[] = {"port",       "interface", "leads to", "rate",
					    "marks from", "to",        "headroom"};
	struct rs_table *t = s->json ? NULL : rs_table_create(NULL);
	char to[SWITCH_PORT_NAME], text[32];

	if (s->json)
		return plan_json(s);
	if (!t)
		return -ENOMEM;
	columns(t, names, sizeof(names) / sizeof(names[0]));
	for (unsigned i = 0; i < s->c.sw.n_ports; i++) {
		const struct rs_switch_port *p = &s->c.sw_port[i];
		const char *name = s->interface[i].name;

		rs_table_row(t);
		rs_table_cell(t, "%u", i);
		rs_table_cell(t, "%s", name[0] ? name : "-");
		rs_table_cell(t, "%s", switch_leads_to(s, i, to));
		rate_cell(t, p->rate);
		if (p->kmin) {
			bytes_cell(t, (double)p->kmin);
			bytes_cell(t, (double)p->kmax);
		} else {
			rs_table_cell(t, "class's");
			rs_table_cell(t, "class's");
		}
		bytes_cell(t, (double)p->headroom);
	}
	rs_table_print(t, stdout);
	printf("\n");
	print_classes(&s->c.sw);
	printf("\n%s: a buffer of %s in cells of %u bytes, %s of it headroom\n",
	       s->f->switches[s->sw].name,
	       rs_human_bytes(text, sizeof(text), (double)s->c.sw.buffer), s->c.sw.cell,
	       rs_human_bytes(to, 32, (double)headroom_of(&s->c)));
	return fflush(stdout) ? -EIO : 0;
}
