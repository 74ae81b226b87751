/*
 * PFC deadlock, found while it stands. An egress that its peer holds waits for the ingress there to
 * let go, which it does when packets that came in by it leave: so it waits for all egresses of the
 * class where such packets are, and the first that sends may free it. Ports that wait for ports of
 * their own kind alone can never send. That is the greatest set of held egresses with packets, each
 * of which waits for members only: all are taken, and those that wait for another are struck
 * out until none is left to strike. It is exact, not a guess by time: the age asked of a member
 * only keeps out a pause that runs out before it is renewed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "sim/engine.h"

enum { LOOK_US = 250, AGE_US = 500 };

/* What other processes tell of a member: bytes of a class that wait at an egress by the port that
 * they came in by, or since when its peer holds it. */
enum { NO_PORT = UINT32_MAX };
struct told {
	uint32_t egress, tc, from; /* from NO_PORT: value is since when */
	uint64_t value;
};

/* An egress of a switch, and all of them in one row. */
struct sim_circle {
	uint32_t n;      /* egresses of all switches */
	uint32_t *first; /* [switch]: of its ports */
	uint8_t *member; /* [egress]: classes in which it may be a member */
	uint8_t *here;   /* [switch]: classes of its members */
	uint64_t *bytes; /* [ports of a switch]: room to count in */
	uint32_t *way;   /* [egress]: room for a list */
	uint32_t *seen;  /* [egress]: place in the list, from 1; 0: not in it */
	uint32_t *of;    /* [egress]: its switch */
	/* of a run that several processes share: [egress] classes that were held, and << 8 classes
	 * whose peer the port of the same number pauses; what all told of members, sorted */
	int64_t *masks;
	struct told *told;
	uint32_t n_told;
};

static bool can_pause(const struct rs_sim *s)
{
	bool can = false;

	for (uint32_t i = 0; i < s->f->n_switches; i++)
		can |= rs_fabric_qos(s->f, i)->pfc;
	return can && !s->o->ideal.no_pause;
}

int sim_deadlock_create(struct rs_sim *s, struct rs_error *e)
{
	struct sim_circle *c = rs_arena_alloc(s->arena, 1, sizeof(*c));
	uint32_t sws = s->f->n_switches, most = 0;

	s->look = s->look_at = RS_NEVER;
	if (!can_pause(s))
		return 0;
	for (uint32_t i = 0; c && i < sws; i++) {
		c->n += s->f->switches[i].n_ports;
		most = s->f->switches[i].n_ports > most ? s->f->switches[i].n_ports : most;
	}
	if (c) {
		c->first = rs_arena_alloc(s->arena, sws + 1u, sizeof(*c->first));
		c->member = rs_arena_alloc(s->arena, c->n + 1u, sizeof(*c->member));
		c->here = rs_arena_alloc(s->arena, sws + 1u, sizeof(*c->here));
		c->bytes = rs_arena_alloc(s->arena, most + 1u, sizeof(*c->bytes));
		c->way = rs_arena_alloc(s->arena, c->n + 1u, sizeof(*c->way));
		c->seen = rs_arena_alloc(s->arena, c->n + 1u, sizeof(*c->seen));
		c->of = rs_arena_alloc(s->arena, c->n + 1u, sizeof(*c->of));
		c->masks = rs_arena_alloc(s->arena, c->n + 1u, sizeof(*c->masks));
	}
	if (!c || !c->first || !c->member || !c->here || !c->bytes || !c->way || !c->seen ||
	    !c->of || !c->masks)
		return rs_error_set(e, -ENOMEM, "out of memory");
	for (uint32_t i = 0, at = 0; i < sws; i++) {
		c->first[i] = at;
		for (uint32_t p = 0; p < s->f->switches[i].n_ports; p++)
			c->of[at++] = i;
	}
	s->circle = c;
	s->look = 0;
	return 0;
}

static struct sim_node *node_at(const struct rs_sim *s, uint32_t sw)
{
	return &s->nodes[s->n_hosts + sw];
}

/* The link behind an egress; its far end, if that is a switch. */
static const struct sim_link *link_of(const struct rs_sim *s, uint32_t egress)
{
	uint32_t sw = s->circle->of[egress];

	return &node_at(s, sw)->out[egress - s->circle->first[sw]];
}

static bool peer_of(const struct rs_sim *s, uint32_t egress, uint32_t *sw, uint32_t *port)
{
	const struct sim_link *l = link_of(s, egress);

	*sw = l->to_node - s->n_hosts;
	*port = l->to_port;
	return l->rate && l->to_node >= s->n_hosts;
}

/* ---- What switches tell ---- */

/* Is some port of a switch held that no watchdog will free? */
static bool waits(const struct rs_sim *s, uint32_t sw)
{
	return rs_switch_held_now(node_at(s, sw)->sw) && !rs_fabric_qos(s->f, sw)->watchdog;
}

/* Masks of this process's switches. */
static void mask_own(struct rs_sim *s, rs_time before)
{
	struct sim_circle *c = s->circle;

	memset(c->masks, 0, c->n * sizeof(*c->masks));
	for (uint32_t i = 0; i < s->f->n_switches; i++) {
		const struct rs_switch *sw = node_at(s, i)->sw;
		bool may = waits(s, i);

		if (!sim_runs_here(s, node_at(s, i)))
			continue;
		for (uint32_t p = 0; p < s->f->switches[i].n_ports; p++)
			c->masks[c->first[i] + p] =
				(may ? rs_switch_held_before(sw, p, before) : 0) |
				rs_switch_pausing(sw, p) << 8;
	}
}

/* *any: some port of some process's switch is held; then all have all masks. */
static int masks_of_all(struct rs_sim *s, rs_time before, bool *any)
{
	struct sim_circle *c = s->circle;
	int64_t held = 0;
	int err;

	for (uint32_t i = 0; i < s->f->n_switches; i++)
		held += sim_runs_here(s, node_at(s, i)) && waits(s, i);
	err = sim_ranks_combine(s, RS_RANKS_SUM, &held, 1, sizeof(held), 0);
	*any = held > 0;
	if (err || !held)
		return err;
	mask_own(s, before);
	return sim_ranks_combine(s, RS_RANKS_SUM, c->masks, c->n, sizeof(*c->masks), 0);
}

static uint8_t held_at(const struct rs_sim *s, uint32_t egress, rs_time before)
{
	const struct sim_circle *c = s->circle;
	uint32_t sw = c->of[egress];

	if (s->o->ranks)
		return (uint8_t)c->masks[egress];
	return rs_switch_held_before(node_at(s, sw)->sw, egress - c->first[sw], before);
}

static uint8_t pausing_at(const struct rs_sim *s, uint32_t sw, uint32_t port)
{
	const struct sim_circle *c = s->circle;

	if (s->o->ranks)
		return (uint8_t)(c->masks[c->first[sw] + port] >> 8);
	return rs_switch_pausing(node_at(s, sw)->sw, port);
}

static int by_egress(const void *x, const void *y)
{
	const struct told *a = x, *b = y;

	if (a->egress != b->egress)
		return a->egress < b->egress ? -1 : 1;
	if (a->tc != b->tc)
		return a->tc < b->tc ? -1 : 1;
	return a->from < b->from ? -1 : a->from > b->from;
}

/* What waits at an egress of a switch that has members; w: room for all its ports' and one more. */
static uint32_t tell_egress(struct rs_sim *s, uint32_t sw, uint32_t port, unsigned tc,
			    struct told *w)
{
	struct sim_circle *c = s->circle;
	struct told t = {.egress = c->first[sw] + port, .tc = tc, .from = NO_PORT};
	uint32_t n = 0, ports = s->f->switches[sw].n_ports;

	t.value = (uint64_t)rs_switch_held_since(node_at(s, sw)->sw, port, tc);
	w[n++] = t;
	memset(c->bytes, 0, ports * sizeof(*c->bytes));
	rs_switch_queued_by(node_at(s, sw)->sw, port, tc, c->bytes);
	for (t.from = 0; t.from < ports; t.from++)
		if ((t.value = c->bytes[t.from]))
			w[n++] = t;
	return n;
}

/* All that is asked of a switch's queues, before processes ask it of each other's. */
static int tell_switch(struct rs_sim *s, uint32_t sw, struct told **w, uint32_t *n, uint32_t *room)
{
	uint32_t ports = s->f->switches[sw].n_ports;

	for (unsigned m = s->circle->here[sw]; m; m &= m - 1)
		for (uint32_t p = 0; p < ports; p++) {
			if (*room - *n <= ports) {
				uint32_t more = 2 * (*room + ports + 1);
				struct told *larger = realloc(*w, more * sizeof(*larger));

				if (!larger)
					return -ENOMEM;
				*w = larger;
				*room = more;
			}
			*n += tell_egress(s, sw, p, (unsigned)__builtin_ctz(m), *w + *n);
		}
	return 0;
}

static int queues_of_all(struct rs_sim *s)
{
	struct sim_circle *c = s->circle;
	struct told *mine = NULL;
	uint32_t n = 0, room = 0;
	int err = 0;

	if (!s->o->ranks)
		return 0;
	for (uint32_t i = 0; i < s->f->n_switches && !err; i++)
		if (sim_runs_here(s, node_at(s, i)))
			err = tell_switch(s, i, &mine, &n, &room);
	c->told = err ? NULL : sim_ranks_share(s, mine, n, sizeof(*mine), &c->n_told);
	free(mine);
	if (!c->told)
		return -ENOMEM;
	qsort(c->told, c->n_told, sizeof(*c->told), by_egress);
	return 0;
}

/* The first that was told of an egress's class, or of what is behind it. */
static const struct told *told_of(const struct sim_circle *c, uint32_t egress, unsigned tc)
{
	const struct told key = {.egress = egress, .tc = tc};
	uint32_t from = 0, to = c->n_told;

	while (from < to) {
		uint32_t mid = from + (to - from) / 2;

		if (by_egress(&c->told[mid], &key) < 0)
			from = mid + 1;
		else
			to = mid;
	}
	return c->told + from;
}

/* Adds bytes of a class that wait at a switch's egress to the port that they came in by. */
static void queued_by(struct rs_sim *s, uint32_t sw, uint32_t port, unsigned tc)
{
	struct sim_circle *c = s->circle;
	uint32_t egress = c->first[sw] + port;

	if (!s->o->ranks) {
		rs_switch_queued_by(node_at(s, sw)->sw, port, tc, c->bytes);
		return;
	}
	for (const struct told *t = told_of(c, egress, tc);
	     t < c->told + c->n_told && t->egress == egress && t->tc == tc; t++)
		if (t->from != NO_PORT)
			c->bytes[t->from] += t->value;
}

static rs_time held_since(struct rs_sim *s, uint32_t egress, unsigned tc)
{
	struct sim_circle *c = s->circle;
	uint32_t sw = c->of[egress];

	if (!s->o->ranks)
		return rs_switch_held_since(node_at(s, sw)->sw, egress - c->first[sw], tc);
	for (const struct told *t = told_of(c, egress, tc);
	     t < c->told + c->n_told && t->egress == egress && t->tc == tc; t++)
		if (t->from == NO_PORT)
			return (rs_time)t->value;
	return 0;
}

/* ---- Who can never send ---- */

/* Where classes rise by hop no circle is possible in a class that does not stay. */
static uint8_t that_stay(const struct rs_sim *s)
{
	uint8_t classes = 0;

	for (unsigned c = 0; c < RS_CLASSES; c++)
		classes |= (uint8_t)((!s->rises || s->rise.next[c] == c) << c);
	return classes;
}

/* Held since before, with packets, by a switch that has not let go; and no watchdog will. */
static bool gather(struct rs_sim *s, rs_time before)
{
	const uint8_t stay = that_stay(s);
	struct sim_circle *c = s->circle;
	bool any = false;

	memset(c->member, 0, c->n);
	memset(c->here, 0, s->f->n_switches);
	for (uint32_t i = 0; i < s->f->n_switches; i++) {
		if (!s->o->ranks && !waits(s, i))
			continue;
		for (uint32_t p = 0; p < s->f->switches[i].n_ports; p++) {
			uint32_t at = c->first[i] + p, to, in;

			if (!peer_of(s, at, &to, &in))
				continue;
			c->member[at] = stay & held_at(s, at, before) & pausing_at(s, to, in);
			c->here[i] |= c->member[at];
			any |= c->member[at] != 0;
		}
	}
	return any;
}

/* Strikes out what waits for a switch without members: that ends most trees, and walks no queue. */
static bool strike_trees(struct rs_sim *s)
{
	struct sim_circle *c = s->circle;
	bool struck = true, any = true;

	while (struck && any) {
		struck = any = false;
		for (uint32_t i = 0; i < s->f->n_switches; i++) {
			uint8_t here = 0;

			for (uint32_t p = 0; c->here[i] && p < s->f->switches[i].n_ports; p++) {
				uint32_t at = c->first[i] + p, to, in;

				if (!c->member[at] || !peer_of(s, at, &to, &in))
					continue;
				struck |= (c->member[at] & ~c->here[to]) != 0;
				c->member[at] &= c->here[to];
				here |= c->member[at];
			}
			c->here[i] = here;
			any |= here != 0;
		}
	}
	return any;
}

/* Bytes of a class by the port that they came in by: at egresses that are members, or are not. */
static void count_waiting(struct rs_sim *s, uint32_t sw, unsigned tc, bool at_members)
{
	struct sim_circle *c = s->circle;
	uint32_t n = s->f->switches[sw].n_ports;

	memset(c->bytes, 0, n * sizeof(*c->bytes));
	for (uint32_t p = 0; p < n; p++)
		if ((c->member[c->first[sw] + p] >> tc & 1) == at_members)
			queued_by(s, sw, p, tc);
}

/* Strikes out who waits at this switch for an egress that is no member: it can send. */
static bool strike_at(struct rs_sim *s, uint32_t sw, unsigned tc)
{
	struct sim_circle *c = s->circle;
	bool struck = false;

	count_waiting(s, sw, tc, false);
	for (uint32_t p = 0; p < s->f->switches[sw].n_ports; p++) {
		uint32_t from, out;

		/* a link's two ends are a port each: who sends to this one is whom it leads to */
		if (!c->bytes[p] || !peer_of(s, c->first[sw] + p, &from, &out))
			continue;
		struck |= c->member[c->first[from] + out] >> tc & 1;
		c->member[c->first[from] + out] &= (uint8_t) ~(1 << tc);
	}
	return struck;
}

static void strike_out(struct rs_sim *s)
{
	struct sim_circle *c = s->circle;
	bool struck = true;

	while (struck) {
		struck = false;
		for (uint32_t i = 0; i < s->f->n_switches; i++)
			for (unsigned m = c->here[i]; m; m &= m - 1)
				struck |= strike_at(s, i, (unsigned)__builtin_ctz(m));
		if (struck && !strike_trees(s))
			return;
	}
}

/* ---- What is left ---- */

/* The member that most of what holds `at` waits for; false: none, as of an ingress that lets go. */
static bool next_of(struct rs_sim *s, uint32_t at, unsigned tc, uint32_t *next)
{
	struct sim_circle *c = s->circle;
	uint64_t most = 0;
	uint32_t sw, in;

	if (!peer_of(s, at, &sw, &in))
		return false;
	for (uint32_t p = 0; p < s->f->switches[sw].n_ports; p++) {
		if (!(c->member[c->first[sw] + p] >> tc & 1))
			continue;
		c->bytes[in] = 0;
		queued_by(s, sw, p, tc);
		if (c->bytes[in] > most) {
			most = c->bytes[in];
			*next = c->first[sw] + p;
		}
	}
	return most > 0;
}

/* From a member on until one comes again: the circle is way[0 .. n - 1]. */
static uint32_t walk(struct rs_sim *s, uint32_t at, unsigned tc)
{
	struct sim_circle *c = s->circle;
	uint32_t n = 0, from;

	memset(c->seen, 0, c->n * sizeof(*c->seen));
	while (!c->seen[at]) {
		c->way[n++] = at;
		c->seen[at] = n;
		if (!next_of(s, at, tc, &at))
			return 0;
	}
	from = c->seen[at] - 1;
	memmove(c->way, c->way + from, (n - from) * sizeof(*c->way));
	return n - from;
}

/* When the last was held of way[0 .. n - 1] and of all that they wait for. */
static rs_time closed(struct rs_sim *s, uint32_t n, unsigned tc)
{
	struct sim_circle *c = s->circle;
	rs_time since = 0;

	memset(c->seen, 0, c->n * sizeof(*c->seen));
	for (uint32_t i = 0; i < n; i++)
		c->seen[c->way[i]] = 1;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = c->way[i], sw, in;

		since = rs_time_max(since, held_since(s, at, tc));
		if (!peer_of(s, at, &sw, &in))
			continue;
		for (uint32_t p = 0; p < s->f->switches[sw].n_ports; p++) {
			uint32_t next = c->first[sw] + p;

			if (c->seen[next] || !(c->member[next] >> tc & 1))
				continue;
			c->bytes[in] = 0;
			queued_by(s, sw, p, tc);
			if (!c->bytes[in])
				continue;
			c->seen[next] = 1;
			c->way[n++] = next;
		}
	}
	return since;
}

/* The circle is way[0 .. n - 1]. */
static void tell(struct rs_sim *s, unsigned tc, uint32_t n)
{
	struct sim_circle *c = s->circle;
	struct rs_sim_deadlock *d = &s->r->deadlock;

	d->port = rs_arena_alloc(s->r->arena, n, sizeof(*d->port));
	if (!d->port)
		return;
	d->n = n;
	d->tc = (uint8_t)tc;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = c->way[i], sw = c->of[at];

		sim_egress_name(s, s->n_hosts + sw, at - c->first[sw], d->port[i].name);
	}
	d->since = closed(s, n, tc);
}

static void find_circle(struct rs_sim *s)
{
	struct sim_circle *c = s->circle;

	for (uint32_t i = 0; i < c->n && !s->r->deadlock.n; i++)
		for (unsigned m = c->member[i]; m && !s->r->deadlock.n; m &= m - 1) {
			unsigned tc = (unsigned)__builtin_ctz(m);
			uint32_t n = walk(s, i, tc);

			if (n)
				tell(s, tc, n);
		}
}

/* Members since before, but for those that the trees of pauses leave free. */
static int look(struct rs_sim *s, rs_time before, bool *any)
{
	int err = 0;

	*any = true;
	if (s->o->ranks)
		err = masks_of_all(s, before, any);
	*any = !err && *any && gather(s, before) && strike_trees(s);
	return err;
}

int sim_deadlock_look(struct rs_sim *s, bool end)
{
	bool any;
	int err;

	if (!s->circle)
		return 0;
	s->looked = s->now;
	s->look = s->now + LOOK_US * RS_US;
	s->look_at = RS_NEVER;
	if ((err = look(s, RS_NEVER, &any)) || !any)
		return err;
	s->look_at = s->look; /* it may stand while nothing happens */
	if (!end && ((err = look(s, s->now - AGE_US * RS_US, &any)) || !any))
		return err;
	if ((err = queues_of_all(s)))
		return err;
	strike_out(s);
	find_circle(s);
	free(s->circle->told);
	s->circle->told = NULL;
	return 0;
}
