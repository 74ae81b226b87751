/* Several endpoints behind one port (share.h). */
#include <errno.h>
#include "port/share.h"
#include "base/error.h"

static struct rs_share *share_of(struct rs_endpoint *e)
{
	return (struct rs_share *)e;
}

/* How long a packet is is known when it is made: any credit will do, and all of it is charged. */
static int32_t any_bytes(const void *arg, unsigned at)
{
	return 1;
}

/* The next packet of class c, of the function whose turn it is and that has one. */
static struct rs_packet *of_class(struct rs_share *s, unsigned c, rs_time now, rs_time *again)
{
	unsigned asked = (1u << s->n) - 1;

	while (asked) {
		unsigned f = rs_ets_pick(&s->functions, &s->turns[c], asked, any_bytes, NULL);
		rs_time later = RS_NEVER;
		struct rs_packet *p =
			rs_endpoint_tx(s->function[f].endpoint, (uint8_t) ~(1u << c), now, &later);

		if (p) {
			rs_ets_charge(&s->functions, &s->turns[c], f, p->frame_bytes);
			return p;
		}
		*again = rs_time_min(*again, later);
		rs_ets_missed(&s->turns[c], f);
		asked &= ~(1u << f);
	}
	return NULL;
}

static struct rs_packet *share_tx(struct rs_endpoint *e, uint8_t held, rs_time now, rs_time *again)
{
	struct rs_share *s = share_of(e);
	unsigned asked = (uint8_t)~held;

	*again = RS_NEVER;
	while (asked) {
		unsigned c = rs_ets_pick(&s->classes, &s->class_turns, asked, any_bytes, NULL);
		struct rs_packet *p = of_class(s, c, now, again);

		if (p) {
			rs_ets_charge(&s->classes, &s->class_turns, c, p->frame_bytes);
			return p;
		}
		rs_ets_missed(&s->class_turns, c);
		asked &= ~(1u << c);
	}
	return NULL;
}

static void share_rx(struct rs_endpoint *e, struct rs_packet *p, rs_time now)
{
	struct rs_share *s = share_of(e);

	for (uint32_t i = 0; i < s->n; i++)
		if (p->dst - s->function[i].first < s->function[i].n) {
			rs_endpoint_rx(s->function[i].endpoint, p, now);
			return;
		}
	s->dropped++;
	rs_pool_free(s->free, p);
}

static rs_time share_deadline(const struct rs_endpoint *e)
{
	const struct rs_share *s = (const struct rs_share *)e;
	rs_time when = RS_NEVER;

	for (uint32_t i = 0; i < s->n; i++)
		when = rs_time_min(when, rs_endpoint_deadline(s->function[i].endpoint));
	return when;
}

static void share_expire(struct rs_endpoint *e, rs_time now)
{
	struct rs_share *s = share_of(e);

	for (uint32_t i = 0; i < s->n; i++)
		if (rs_endpoint_deadline(s->function[i].endpoint) <= now)
			rs_endpoint_expire(s->function[i].endpoint, now);
}

static void share_prefetch(const struct rs_endpoint *e, unsigned step)
{
	const struct rs_share *s = (const struct rs_share *)e;

	for (uint32_t i = 0; i < s->n; i++)
		rs_endpoint_prefetch(s->function[i].endpoint, step);
}

static const struct rs_endpoint_ops share_ops = {
	.tx = share_tx,
	.rx = share_rx,
	.deadline = share_deadline,
	.expire = share_expire,
	.prefetch = share_prefetch,
};

void rs_share_init(struct rs_share *s, const uint8_t weight[RS_CLASSES], struct rs_pool_list *free)
{
	rs_assert(free);
	*s = (struct rs_share){
		.as_endpoint.ops = &share_ops, .classes = rs_ets_of(weight), .free = free};
}

static bool overlap(const struct rs_share_function *f, uint32_t first, uint32_t n)
{
	return first - f->first < f->n || f->first - first < n;
}

int rs_share_add(struct rs_share *s, struct rs_endpoint *e, uint32_t first, uint32_t n,
		 uint8_t weight)
{
	rs_assert(e && e->ops && e != &s->as_endpoint);
	if (s->n == RS_SHARE_MAX)
		return -ENOSPC;
	if (!weight || !n)
		return -EINVAL;
	for (uint32_t i = 0; i < s->n; i++)
		if (overlap(&s->function[i], first, n))
			return -EINVAL;
	s->functions.weight[s->n] = weight;
	s->function[s->n++] = (struct rs_share_function){e, first, n};
	return 0;
}
