/* pcapng of chosen links. Inside a window nodes run one after another, so records are kept, ordered
 * by time at the window's end, and written then; those of the window's end wait for the next. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "sim/engine.h"
#include "sim/transport.h"
#include "wire/frame.h"
#include "wire/pcapng.h"

enum { FRAME_MAX = RS_MAX_PAYLOAD + RS_MAX_HEADERS };

struct record {
	rs_time when;
	uint64_t seq;
	int interface;
	struct rs_packet packet;
};

struct rs_capture {
	struct rs_pcapng_writer *w;
	struct record *r;
	size_t n, size;
	uint64_t seq;
	bool ipv6, failed;
	const struct rs_sim *s;
};

static bool listed(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = list; p && *p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
		if (!strncmp(p, name, n) && (!p[n] || p[n] == ','))
			return true;
	return false;
}

static const char *end_name(const struct rs_fabric *f, const struct rs_link_end *e)
{
	return e->is_switch ? f->switches[e->id].name : f->endpoints[e->id].name;
}

static bool chosen(const struct rs_sim *s, const struct rs_fabric_link *l)
{
	const char *list = s->o->pcap_links;

	if (!list)
		return (!l->a.is_switch && !l->a.id) || (!l->b.is_switch && !l->b.id);
	return !strcmp(list, "all") || listed(list, end_name(s->f, &l->a)) ||
	       listed(list, end_name(s->f, &l->b));
}

static int add_direction(struct rs_sim *s, const struct rs_link_end *from,
			 const struct rs_link_end *to, struct rs_error *e)
{
	struct sim_node *n =
		&s->nodes[from->is_switch ? s->n_hosts + from->id : s->f->endpoints[from->id].host];
	uint32_t port =
		from->is_switch
			? from->port
			: from->id - s->f->hosts[s->f->endpoints[from->id].host].first_endpoint;
	char name[256];
	int i;

	snprintf(name, sizeof(name), "%s->%s", end_name(s->f, from), end_name(s->f, to));
	i = rs_pcapng_add_interface(s->capture->w, name);
	if (i < 0)
		return rs_error_set(e, i, "%s: cannot add a link to the capture", s->o->pcap);
	n->out[port].capture = i;
	n->out[port].odd |= SIM_LINK_CAPTURED;
	return 0;
}

int rs_capture_open(struct rs_sim *s, struct rs_error *e)
{
	struct rs_capture *c = rs_arena_alloc(s->arena, 1, sizeof(*c));
	uint32_t links = 0;
	int err;

	if (!c)
		return rs_error_set(e, -ENOMEM, "out of memory");
	if (s->o->transport)
		return rs_error_set(e, -EINVAL, "packets of %s cannot be captured: RoCE's can",
				    s->o->transport->name);
	if (rs_fabric_has_uet(s->f))
		return rs_error_set(e, -EINVAL, "packets of %s cannot be captured: RoCE's can",
				    sim_uet.name);
	if (rs_plant_recovery(s->plant) != &rs_recovery_go_back_n)
		return rs_error_set(e, -EINVAL,
				    "packets of recovery: selective cannot be captured: no "
				    "standard has its headers; capture with recovery: go-back-n");
	for (uint32_t i = 0; i < s->plant->n_cc; i++)
		if (s->plant->cc[i].ops->needs & RS_CC_NEEDS_CREDITS)
			return rs_error_set(e, -EINVAL,
					    "packets of cc: credits cannot be captured: RoCEv2 has "
					    "none; capture with another cc");
	c->s = s;
	c->ipv6 = s->f->transport.ipv6;
	err = rs_pcapng_create(s->o->pcap, &c->w, e);
	if (err)
		return err;
	s->capture = c;
	for (uint32_t i = 0; !err && i < s->f->n_links; i++) {
		const struct rs_fabric_link *l = &s->f->links[i];

		if (!chosen(s, l))
			continue;
		links++;
		err = add_direction(s, &l->a, &l->b, e);
		err = err ? err : add_direction(s, &l->b, &l->a, e);
	}
	if (!err && !links) {
		err = rs_error_set(e, -EINVAL, "no link of '%s' is in this fabric",
				   s->o->pcap_links);
		rs_error_hint(e, "names are those of `ripstop fabric show`, or all");
	}
	return err;
}

void rs_capture_packet(struct rs_capture *c, int interface, const struct rs_packet *p, rs_time t)
{
	if (c->n == c->size) {
		size_t size = c->size ? 2 * c->size : 1024;
		struct record *r = realloc(c->r, size * sizeof(*r));

		if (!r) {
			c->failed = true;
			return;
		}
		c->r = r;
		c->size = size;
	}
	c->r[c->n] = (struct record){t, c->seq++, interface, *p};
	c->r[c->n++].packet.payload = NULL; /* of a packet that is timed it is `sent` */
}

static int by_time(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->when != y->when)
		return x->when < y->when ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static int write_record(struct rs_capture *c, const struct record *r)
{
	uint8_t bytes[FRAME_MAX];
	struct rs_frame f;
	long n;

	rs_frame_of_endpoints(&f, r->packet.src, r->packet.dst, c->ipv6);
	n = rs_frame_encode(&f, &r->packet, bytes, sizeof(bytes));
	if (n < 0)
		return (int)n;
	return rs_pcapng_write(c->w, r->interface, r->when, bytes, (size_t)n);
}

int rs_capture_flush(struct rs_capture *c, struct rs_error *e)
{
	int err = c->failed ? -ENOMEM : 0;

	if (c->n)
		qsort(c->r, c->n, sizeof(*c->r), by_time);
	for (size_t i = 0; !err && i < c->n; i++)
		err = write_record(c, &c->r[i]);
	c->n = 0;
	return err ? rs_error_set(e, err, "%s: cannot write the capture: %s", c->s->o->pcap,
				  strerror(-err))
		   : 0;
}

int rs_capture_close(struct rs_capture *c, struct rs_error *e)
{
	int err = rs_capture_flush(c, e);
	int closed = rs_pcapng_close(c->w, e);

	free(c->r);
	return err ? err : closed;
}
