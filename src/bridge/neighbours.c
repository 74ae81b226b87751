/* The switches of a described network: each tells its neighbours which addresses are behind its own
 * hosts' ports, and passes on what is new to it. */
#include <string.h>
#include <time.h>
#include "bridge/hello.h"
#include "bridge/state.h"

#define HELLO_EVERY (1 * RS_S)

/* Beyond all that was said before, also by a switch of this name that ran before this one. */
static uint64_t next_stamp(struct rs_bridge *b)
{
	struct timespec t;
	uint64_t ns;

	clock_gettime(CLOCK_REALTIME, &t);
	ns = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	b->stamp = ns > b->stamp ? ns : b->stamp + 1;
	return b->stamp;
}

void bridge_send_now(struct port *p, const void *frame, size_t n)
{
	struct virtio_net_hdr none = {0};
	struct iovec iov[2] = {{&none, sizeof(none)}, {(void *)(uintptr_t)frame, n}};
	struct msghdr m = {.msg_iov = iov, .msg_iovlen = 2};

	p->refused += sendmsg(p->c.fd, &m, MSG_DONTWAIT) < 0;
}

static void say(struct rs_bridge *b, unsigned port, struct hello *h)
{
	struct port *p = &b->port[port];
	uint8_t frame[HELLO_MAX];

	h->digest = b->digest;
	h->sw = b->self;
	h->port = (uint16_t)port;
	bridge_send_now(p, frame, hello_encode(h, p->c.mac, frame));
}

static bool is_neighbour(const struct port *p)
{
	return p->c.to_switch && p->c.fd >= 0;
}

/* To all neighbours but one: from, or b->n_ports for none. */
static void say_all(struct rs_bridge *b, struct hello *h, unsigned from)
{
	for (unsigned i = 0; i < b->n_ports; i++)
		if (i != from && is_neighbour(&b->port[i]))
			say(b, i, h);
}

static struct hello_place place_of(const struct bridge_mac *m)
{
	struct hello_place p = {.endpoint = m->endpoint, .stamp = m->stamp};

	memcpy(p.address, m->address, MAC_BYTES);
	return p;
}

void bridge_learn(struct rs_bridge *b, const uint8_t *address, unsigned port, rs_time now)
{
	const struct port *p = &b->port[port];
	uint32_t endpoint = b->described ? p->c.peer : b->n_endpoints + port;
	struct bridge_mac *m;
	struct hello h = {.n = 1};

	if (address[0] & 1 || p->c.to_switch)
		return;
	m = bridge_mac_place(&b->macs, address, now);
	if (m->own && m->endpoint == endpoint)
		return;
	m->own = true;
	m->endpoint = endpoint;
	if (!b->described)
		return;
	m->stamp = next_stamp(b);
	h.place[0] = place_of(m);
	say_all(b, &h, b->n_ports);
}

/* ---- What is heard ---- */

static enum rs_bridge_cable judge(const struct rs_bridge *b, const struct port *p,
				  const struct hello *h)
{
	if (h->digest != b->digest)
		return RS_CABLE_FOREIGN;
	return p->c.to_switch && p->c.peer == h->sw && p->c.peer_port == h->port ? RS_CABLE_RIGHT
										 : RS_CABLE_WRONG;
}

static void note_cable(struct rs_bridge *b, unsigned port, const struct hello *h)
{
	struct port *p = &b->port[port];
	enum rs_bridge_cable cable = judge(b, p, h);

	if (p->told && p->cable == cable)
		return;
	p->told = true;
	p->cable = cable;
	if (b->cable)
		b->cable(b->cable_arg, port, cable, h->sw, h->port);
}

/* False: it is known already, or means nothing. */
static bool believe(struct rs_bridge *b, const struct hello_place *p, rs_time now)
{
	const struct bridge_mac *known = bridge_mac_find(&b->macs, p->address, now);
	struct bridge_mac *m;

	if (p->address[0] & 1 || p->endpoint >= b->n_endpoints ||
	    (known && known->stamp >= p->stamp))
		return false;
	m = bridge_mac_place(&b->macs, p->address, now);
	m->own = false;
	m->endpoint = p->endpoint;
	m->stamp = p->stamp;
	return true;
}

/* Places of the table, a frame at a time. all: or only its own, which get a new stamp. */
static void say_places(struct rs_bridge *b, bool all, int port, rs_time now)
{
	struct hello h = {0};

	for (unsigned i = 0; i < RS_BRIDGE_MACS; i++) {
		struct bridge_mac *m = &b->macs.at[i];

		if (bridge_mac_lives(m, now) && (all || m->own)) {
			if (!all)
				m->stamp = next_stamp(b);
			h.place[h.n++] = place_of(m);
		}
		if (h.n < HELLO_PLACES && (!h.n || i + 1 < RS_BRIDGE_MACS))
			continue;
		if (port >= 0)
			say(b, (unsigned)port, &h);
		else
			say_all(b, &h, b->n_ports);
		h.n = 0;
	}
}

bool bridge_hear(struct rs_bridge *b, unsigned port, const uint8_t *frame, size_t n, rs_time now)
{
	struct hello h, news = {0};

	if (!b->described || !hello_decode(frame, n, &h))
		return false;
	note_cable(b, port, &h);
	if (b->port[port].cable == RS_CABLE_FOREIGN || !b->port[port].c.to_switch)
		return true;
	for (unsigned i = 0; i < h.n; i++)
		if (believe(b, &h.place[i], now))
			news.place[news.n++] = h.place[i];
	if (news.n)
		say_all(b, &news, port);
	if (h.asks)
		say_places(b, true, (int)port, now);
	return true;
}

void bridge_greet(struct rs_bridge *b, rs_time now)
{
	struct hello h = {.asks = !b->hello_at};

	if (!b->described || now < b->hello_at)
		return;
	b->hello_at = now + HELLO_EVERY;
	say_all(b, &h, b->n_ports);
	say_places(b, false, -1, now);
}
