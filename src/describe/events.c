/* fabric.events: what happens to links and switches while the network runs; fabric.failover. */
#include <errno.h>
#include "describe/change.h"

enum { TIMES_MAX = 1000 };

/* One element of the list; it stands for `times` events. */
struct happening {
	struct rs_fabric_event e;
	rs_time every;
	uint32_t times;
};

static void take_links(struct changes *c, const struct rs_node *n, struct rs_fabric_event *e)
{
	const struct rs_fabric *f = c->f;
	bool whole = rs_node_get(n, "switch") != NULL, nic = rs_node_get(n, "nic") != NULL;
	uint32_t a = whole ? change_switch(c, n) : 0, b = UINT32_MAX;
	int64_t index = -1;
	uint32_t *list;

	if (nic && !change_nic(c, n, &a))
		return;
	if (!whole && !nic && (!change_ends(c, n, &a, &b) || !change_index(c, n, a, b, &index)))
		return;
	list = rs_load_take(c->l, f->n_links + 1u, sizeof(*list));
	for (uint32_t i = 0; i < f->n_links && !c->l->err; i++) {
		const struct rs_fabric_link *l = &f->links[i];
		bool of_switch = (l->a.is_switch && l->a.id == a) || l->b.id == a;

		if (whole ? of_switch : change_joins(l, a, b) && (index < 0 || index-- == 0))
			list[e->n_links++] = i;
	}
	e->links = list;
}

/* down: a time, or true: to the end. */
static void take_down(struct changes *c, const struct rs_node *n, struct rs_fabric_event *e)
{
	const struct rs_node *v = rs_node_get(n, "down");
	rs_time span = 0;

	if (!v)
		return;
	if (v->kind == RS_NODE_SCALAR && rs_same_key(v->text, "true")) {
		e->down = true;
		return;
	}
	rs_node_time(c->l, n, "down", RS_NS, RS_START_MAX, &span);
	e->down = true;
	e->until = e->at + span;
	if (rs_node_get(n, "for"))
		rs_load_fail(c->l, -EINVAL, v->at,
			     "down says for how long already; 'for' is of rate and loss");
}

/* pause: a time, or true: to the end. */
static void take_pause(struct changes *c, const struct rs_node *n, struct rs_fabric_event *e)
{
	const struct rs_node *v = rs_node_get(n, "pause");
	bool some = false;
	rs_time span = 0;

	if (!v)
		return;
	for (unsigned t = 0; t < RS_TCS; t++)
		some |= c->f->qos.pfc && c->f->qos.tc[t].lossless;
	if (!rs_node_get(n, "nic"))
		rs_load_fail(c->l, -EINVAL, v->at,
			     "pause: a NIC pauses its switch; expected it beside nic, as {at: 1ms, "
			     "nic: h3, pause: 5ms}");
	else if (!some)
		rs_load_fail(c->l, -EINVAL, v->at,
			     "pause: no class has PFC; expected a lossless class in fabric.qos");
	e->pause = true;
	if (v->kind == RS_NODE_SCALAR && rs_same_key(v->text, "true"))
		return;
	rs_node_time(c->l, n, "pause", RS_NS, RS_START_MAX, &span);
	e->until = e->at + span;
}

static void check_rate(struct changes *c, const struct rs_node *n, const struct rs_fabric_event *e)
{
	const struct rs_fabric *f = c->f;

	for (uint32_t i = 0; e->rate && i < e->n_links && !c->l->err; i++) {
		const struct rs_fabric_link *k = &f->links[e->links[i]];
		int64_t rate = k->rate > k->rate_back ? k->rate : k->rate_back;

		if (e->rate > rate)
			rs_load_fail(c->l, -ERANGE, rs_node_get(n, "rate")->at,
				     "rate: an event makes a link slower; this one has %g Gb/s",
				     (double)rate / 1e9);
	}
}

static bool is_one_kind(struct changes *c, const struct rs_node *n, const struct rs_fabric_event *e)
{
	int kinds = e->down + (e->rate != 0) + (e->loss >= 0) + (e->drop != 0) + e->pause;

	if (kinds == 1 || c->l->err)
		return !c->l->err;
	rs_load_fail(
		c->l, -EINVAL, n->at,
		"an event has one of down, rate, loss, drop and pause, as {at: 1ms, link: [leaf0, "
		"spine3], down: 5ms}; here %d",
		kinds);
	return false;
}

static void read_event(struct changes *c, const struct rs_node *n, struct happening *h)
{
	static const char *const known[] = {"at",    "link", "index", "switch", "down",
					    "rate",  "loss", "drop",  "for",    "every",
					    "times", "nic",  "pause", "skip",   NULL};
	struct rs_fabric_event *e = &h->e;
	rs_time span = 0;

	*h = (struct happening){.e = {.until = RS_NEVER, .loss = -1}, .times = 1};
	if (!rs_node_keys(c->l, n, "an event", known) || !rs_node_need(c->l, n, "at", "an event"))
		return;
	if (!!rs_node_get(n, "link") + !!rs_node_get(n, "switch") + !!rs_node_get(n, "nic") != 1) {
		rs_load_fail(c->l, -EINVAL, n->at,
			     "an event is of a 'link', of a 'switch' or of a 'nic'");
		return;
	}
	rs_node_time(c->l, n, "at", 0, RS_START_MAX, &e->at);
	rs_node_time(c->l, n, "for", RS_NS, RS_START_MAX, &span);
	if (span)
		e->until = e->at + span;
	take_links(c, n, e);
	take_down(c, n, e);
	take_pause(c, n, e);
	rs_node_rate(c->l, n, "rate", &e->rate);
	rs_node_share(c->l, n, "loss", 0, 1, &e->loss);
	rs_node_u32(c->l, n, "drop", 1, 1000000, &e->drop);
	rs_node_u32(c->l, n, "skip", 0, UINT32_MAX, &e->skip);
	if (e->skip && !e->drop && !c->l->err)
		rs_load_fail(c->l, -EINVAL, rs_node_get(n, "skip")->at,
			     "skip: packets that go through before those of 'drop'; expected drop");
	if (span && (e->drop || e->pause) && !c->l->err)
		rs_load_fail(c->l, -EINVAL, rs_node_get(n, "for")->at, "for: of rate and loss; %s",
			     e->drop ? "drop counts packets, behind those of 'skip'"
				     : "pause says itself how long it lasts");
	check_rate(c, n, e);
	rs_node_time(c->l, n, "every", RS_NS, RS_START_MAX, &h->every);
	rs_node_u32(c->l, n, "times", 2, TIMES_MAX, &h->times);
	if (!is_one_kind(c, n, e))
		return;
	if ((h->every != 0) != (h->times > 1))
		rs_load_fail(c->l, -EINVAL, n->at, "'every' and 'times' come together");
	else if (h->every && (e->until == RS_NEVER ? !e->drop : e->until - e->at >= h->every))
		rs_load_fail(c->l, -EINVAL, n->at,
			     "an event that repeats ends before it begins again");
}

static void read_failover(struct rs_load *l, struct rs_fabric *f, const struct rs_node *n)
{
	static const char *const known[] = {"detect", "converge", NULL};

	if (!n || !rs_node_keys(l, n, "failover", known))
		return;
	rs_node_time(l, n, "detect", 0, RS_START_MAX, &f->events.detect);
	rs_node_time(l, n, "converge", 0, RS_START_MAX, &f->events.converge);
}

void load_events(struct rs_load *l, struct rs_fabric *f, const struct rs_node *fabric)
{
	const struct rs_node *list = rs_node_get(fabric, "events");
	struct changes c = {l, f, {0}};
	struct happening *all;
	uint32_t n = 0, k = 0;

	if (l->err || (list && !rs_node_is_list(l, list, "events")))
		return;
	all = list ? rs_load_take(l, list->n + 1u, sizeof(*all)) : NULL;
	if (all)
		change_names(&c);
	for (const struct rs_item *i = all ? list->first : NULL; i && !l->err; i = i->next) {
		read_event(&c, i->value, &all[k]);
		n += all[k++].times;
	}
	rs_fabric_events(l, f, k, n, list ? list->at : fabric->at);
	for (uint32_t i = 0; i < k && !l->err; i++)
		for (uint32_t t = 0; t < all[i].times; t++) {
			struct rs_fabric_event *e = &f->events.event[f->events.n++];

			*e = all[i].e;
			e->text = i;
			e->at += t * all[i].every;
			e->until = e->until == RS_NEVER ? RS_NEVER : e->until + t * all[i].every;
		}
	for (const struct rs_item *i = l->err || !list ? NULL : list->first; i; i = i->next)
		f->events.text[f->events.n_texts++] = rs_tree_text(l, i->value);
	read_failover(l, f, rs_node_get(fabric, "failover"));
}
