/* Ultra Ethernet as a transport of the simulator: an endpoint a port, a half of a PDC an end. */
#include <errno.h>
#include <stdlib.h>
#include "sim/sim.h"
#include "sim/transport.h"
#include "uet/uet.h"

struct ends {
	struct rs_uet *uet;
	const struct rs_plant *plant;
	uint32_t endpoint, header, payload;
};

static void destroy(void *self)
{
	struct ends *u = self;

	if (u)
		rs_uet_destroy(u->uet);
	free(u);
}

static int create(const struct rs_sim_port *port, struct rs_sim_ends *out, struct rs_error *e)
{
	struct ends *u = calloc(1, sizeof(*u));
	struct rs_uet_conf c;
	int err;

	if (!u)
		return rs_error_set(e, -ENOMEM, "out of memory");
	rs_plant_uet(port->plant, port->endpoint, &c);
	c.first = port->first;
	c.n_ends = port->n_ends + port->later;
	c.news = port->news;
	c.free = port->free;
	c.absent = port->absent;
	c.absent_arg = port->absent_arg;
	u->plant = port->plant;
	u->endpoint = port->endpoint;
	u->header = c.header;
	u->payload = c.cc.payload;
	err = rs_uet_create(&c, &u->uet, e);
	if (err) {
		destroy(u);
		return err;
	}
	*out = (struct rs_sim_ends){u, rs_uet_endpoint(u->uet), false};
	return 0;
}

/* Packets of all messages: each begins with one of its own. */
static uint64_t packets_of(const struct ends *u, const struct rs_sim_past *p)
{
	uint64_t whole = p->bytes / p->piece, rest = p->bytes % p->piece;

	return whole * ((p->piece + u->payload - 1) / u->payload) +
	       (rest + u->payload - 1) / u->payload + !p->bytes;
}

static int open(void *self, const struct rs_sim_conn_end *end)
{
	struct ends *u = self;
	struct rs_uet_end e = {
		.number = end->number,
		.peer = end->peer,
		.peer_number = end->peer_number,
		.receiver = end->receiver,
		.depth = end->depth,
		.tc = end->tc,
		.tos = rs_plant_tos(u->plant, u->endpoint, end->tc),
		.entropy = end->sport,
		.user = end->user,
	};

	if (end->past) {
		e.past_packets = (uint32_t)packets_of(u, end->past);
		e.past_bytes = end->past->bytes + (uint64_t)e.past_packets * u->header;
	}
	return rs_uet_open(u->uet, &e);
}

static void close_end(void *self, uint32_t number)
{
	struct ends *u = self;

	rs_uet_close(u->uet, number);
}

static bool user(void *self, uint32_t number, uint64_t *out)
{
	struct ends *u = self;

	return rs_uet_user(u->uet, number, out);
}

static void post(void *self, uint32_t number, uint64_t bytes, uint8_t op, bool tell, rs_time now)
{
	struct ends *u = self;
	int err = rs_uet_post(u->uet, number, bytes, tell, NULL, now);

	rs_assert(!err);
}

static bool news(void *self, struct rs_sim_news *out)
{
	struct ends *u = self;
	struct rs_uet_news n;

	if (!rs_uet_take_news(u->uet, &n))
		return false;
	*out = (struct rs_sim_news){.user = n.user, .arrived = n.arrived};
	return true;
}

static bool look(void *self, uint32_t number, struct rs_sim_end_now *out)
{
	struct ends *u = self;
	struct rs_uet_now n;

	if (!rs_uet_look(u->uet, number, &n))
		return false;
	*out = (struct rs_sim_end_now){
		.rate = n.rate, .window = n.window, .in_flight = n.in_flight, .acked = n.acked};
	out->resent[RS_RESENT_NAK] = n.resent_nack;
	out->resent[RS_RESENT_TIMEOUT] = n.resent_timeout;
	return true;
}

static void cuts(void *self, uint32_t number, uint64_t *down, uint64_t *up)
{
	struct ends *u = self;
	struct rs_uet_now n;

	if (!rs_uet_look(u->uet, number, &n))
		return;
	*down += n.cuts;
	*up += n.increases;
}

static bool rests(void *self, uint32_t number, struct rs_sim_past *past)
{
	struct ends *u = self;

	if (!rs_uet_has_all(u->uet, number, (uint32_t)packets_of(u, past)))
		return false;
	rs_uet_close(u->uet, number);
	return true;
}

static bool has_all(void *self, uint32_t number, const struct rs_sim_past *past)
{
	const struct ends *u = self;

	return rs_uet_received(u->uet, number, (uint32_t)packets_of(u, past));
}

static int more(void *self, uint32_t n)
{
	struct ends *u = self;

	return rs_uet_more(u->uet, n);
}

static void collect(void *self, struct rs_sim_counters *sum, uint64_t *payload)
{
	const struct ends *u = self;
	const struct rs_uet_counters *c = rs_uet_get_counters(u->uet);

	*payload = c->payload;
	sum->data_packets += c->requests;
	sum->packets_sent += c->sent;
	sum->packets_delivered += c->taken;
	sum->ack_packets += c->acks + c->nacks;
	sum->credits += c->credits;
	sum->data_marked += c->marked;
	sum->retransmits += c->resent;
	sum->timeouts += c->timeouts;
	sum->naks += c->nacks;
	sum->nic_drops += c->dropped;
	sum->cc_cuts += c->cuts;
	sum->cc_increases += c->increases;
}

static uint64_t dropped(void *self)
{
	const struct ends *u = self;

	return rs_uet_get_counters(u->uet)->dropped;
}

static uint64_t useful(void *self)
{
	const struct ends *u = self;

	return rs_uet_get_counters(u->uet)->useful;
}

const struct rs_sim_transport sim_uet = {
	.name = "Ultra Ethernet",
	.create = create,
	.destroy = destroy,
	.open = open,
	.close = close_end,
	.user = user,
	.post = post,
	.news = news,
	.look = look,
	.cuts = cuts,
	.collect = collect,
	.dropped = dropped,
	.useful = useful,
	.rests = rests,
	.has_all = has_all,
	.more = more,
};

const struct rs_sim_transport *sim_transport_of(const struct rs_fabric *f,
						const struct rs_sim_options *o, uint32_t endpoint)
{
	if (o->transport)
		return o->transport;
	return rs_fabric_speaks(f, endpoint) == RS_FABRIC_UET ? &sim_uet : &sim_roce;
}
