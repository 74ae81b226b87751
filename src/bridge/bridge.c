/* The switch in software: frames in from packet sockets, through src/switch, out again when their
 * port's rate allows. One thread, which sleeps in epoll. */
#include "bridge/bridge.h"

#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "base/bytes.h"
#include "base/clock.h"
#include "bridge/state.h"
#include "wire/frame.h"
#include "wire/telemetry.h"

enum {
	ROUNDS = 4,     /* calls of one port before the others have their turn */
	NAP_NS = 20000, /* of a port that is busy: packets that are due meanwhile go together */
	SLEEP_NS = 100000000,
	PACKETS = 1 << 16,
	BYTES_A_BLOCK = 2048, /* of buffer */
	BLOCKS_LEAST = 1024,
	BLOCKS_MOST = 1 << 16,
	BLOCK = (RS_RAW_FRAME_MAX + 4095) & ~4095,
};

/* A port with a queue makes up for what it was not given while this process slept. */
#define LATE_MAX (1 * RS_MS)
/* Time is counted from the start, and from here on anew: 53 days, half of what rs_time holds. */
#define REBASE_AT ((rs_time)1 << 62)
/* A switch that has just been started may not know what all others know: for so long it passes on
 * to all only what comes from its own hosts. */
#define SETTLE (2 * RS_S)

static rs_time clock_now(const struct rs_bridge *b)
{
	return (b->clock_ns() - b->epoch_ns) * RS_NS;
}

/* ---- Blocks ---- */

static int make_blocks(struct rs_bridge *b, uint64_t buffer)
{
	uint64_t n = buffer / BYTES_A_BLOCK;

	n = n < BLOCKS_LEAST ? BLOCKS_LEAST : n > BLOCKS_MOST ? BLOCKS_MOST : n;
	b->memory = mmap(NULL, n * BLOCK, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (b->memory == MAP_FAILED)
		b->memory = NULL;
	b->n_blocks = (uint32_t)n;
	b->block = calloc(n, sizeof(*b->block));
	if (!b->memory || !b->block)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		b->block[i].next = i + 1 < n ? i + 1 : UINT32_MAX;
	return 0;
}

static uint8_t *bytes_of(struct rs_bridge *b, uint32_t block)
{
	return b->memory + (size_t)block * BLOCK;
}

static uint32_t take_block(struct rs_bridge *b)
{
	uint32_t i = b->block_free;

	if (i == UINT32_MAX)
		return i;
	b->block_free = b->block[i].next;
	b->block[i].refs = 1;
	return i;
}

void bridge_drop_block(struct rs_bridge *b, uint32_t i)
{
	if (--b->block[i].refs)
		return;
	b->block[i].next = b->block_free; /* the last used is still in the cache */
	b->block_free = i;
}

/* ---- In ---- */

/* A request with data and a trailer for stamps: the switch adds its own. The ACK that returns them
 * passes as it is. */
static void take_stamps(const struct rs_raw *raw, struct rs_packet *p)
{
	const uint8_t *bth = raw->rest + raw->payload_at, *trailer;
	size_t n = raw->rest_bytes - raw->payload_at;
	uint32_t flags;

	if (!raw->roce || raw->rest_bytes < raw->payload_at)
		return;
	trailer = rs_int_trailer_find(bth, n);
	flags = trailer ? rs_opcodes[bth[0]].flags : 0;
	if (!(flags & RS_F_REQUEST) || !(flags & RS_F_PAYLOAD))
		return;
	rs_int_trailer_get(trailer, p);
	p->bth_flags |= RS_PACKET_INT;
	p->payload_bytes = 1; /* it has some; how much is asked of no port */
}

/* One packet to one endpoint. */
static void enqueue(struct rs_bridge *b, unsigned in, const struct rs_raw *raw, uint32_t block,
		    struct way w, rs_time now)
{
	struct rs_packet *p = rs_pool_alloc(&b->free);
	uint32_t bytes = raw->head_bytes + raw->rest_bytes + RS_FCS_BYTES, index;
	struct port *out;
	int to;

	if (!p) {
		b->no_room++;
		return;
	}
	index = rs_pool_index(&b->pool, p);
	bytes = bytes < RS_ETH_MIN_FRAME ? RS_ETH_MIN_FRAME : bytes;
	memset(p, 0, sizeof(*p));
	p->src = w.src;
	p->dst = w.dst;
	p->sport = raw->sport;
	p->frame_bytes = (uint16_t)(bytes < UINT16_MAX ? bytes : UINT16_MAX);
	p->tos = raw->tos;
	take_stamps(raw, p);
	b->held[index] = (struct held){.raw = *raw, .block = block};
	b->block[block].refs++;
	to = rs_switch_rx(b->sw, in, p, now, now);
	if (to < 0) {
		bridge_drop_block(b, block);
		return;
	}
	out = &b->port[to];
	if (!out->watch.bytes) /* a port that had nothing to send saved up nothing */
		out->free_at = rs_time_max(out->free_at, now);
	out->again = rs_time_min(out->again, out->free_at);
	bridge_watch_queue(b, (unsigned)to, now);
}

static void flood(struct rs_bridge *b, unsigned in, const struct rs_raw *raw, uint32_t block,
		  uint32_t src, rs_time now)
{
	b->flooded++;
	for (unsigned i = 0; i < b->n_ports; i++)
		if (i != in && b->port[i].c.floods && b->port[i].c.fd >= 0)
			enqueue(b, in, raw, block,
				(struct way){.src = src, .dst = b->n_endpoints + i}, now);
}

void bridge_admit(struct rs_bridge *b, unsigned in, const struct rs_raw *raw, uint32_t block,
		  struct way w, rs_time now)
{
	if (w.to_all)
		flood(b, in, raw, block, w.src, now);
	else
		enqueue(b, in, raw, block, w, now);
}

/* May a frame that came in here go to all? A group's by the tree alone, or it would come back; one
 * whose address is not known, when this switch knows what its neighbours know. */
static bool may_flood(const struct rs_bridge *b, unsigned in, bool group, rs_time now)
{
	const struct rs_bridge_port_config *c = &b->port[in].c;

	return !c->to_switch || (c->floods && (group || now >= b->settled));
}

/* The port that an endpoint of this switch's own is at; -1: another's. */
static int own_port(const struct rs_bridge *b, uint32_t endpoint)
{
	bool own = b->group_of[endpoint] == b->group_of[b->n_endpoints];

	return own ? b->local_port[b->local_index[endpoint]] : -1;
}

static void forward(struct rs_bridge *b, unsigned in, uint32_t block, struct rs_raw_burst *burst,
		    rs_time now)
{
	const uint8_t *frame = bytes_of(b, block);
	const struct bridge_mac *src = bridge_mac_find(&b->macs, frame + MAC_BYTES, now);
	const struct bridge_mac *dst = frame[0] & 1 ? NULL : bridge_mac_find(&b->macs, frame, now);
	struct way w = {src ? src->endpoint : b->n_endpoints + in, dst ? dst->endpoint : 0, !dst};
	struct rs_raw raw;

	if (dst ? own_port(b, dst->endpoint) == (int)in : !may_flood(b, in, frame[0] & 1, now)) {
		b->filtered++;
		return;
	}
	while (rs_raw_next(burst, &raw))
		if (b->port[in].harms && raw.roce)
			bridge_harm(b, in, &raw, block, w, now);
		else
			bridge_admit(b, in, &raw, block, w, now);
}

/* 802.1Q-2022 table 8-1: what is for the bridge at the other end of the link alone. */
static bool is_reserved(const uint8_t *m)
{
	static const uint8_t bridges[5] = {0x01, 0x80, 0xc2, 0x00, 0x00};

	return !memcmp(m, bridges, sizeof(bridges)) && m[5] < 16;
}

static void take_pfc(struct rs_bridge *b, unsigned in, const uint8_t *frame, size_t n, rs_time now)
{
	struct rs_packet *p = rs_pool_alloc(&b->free);
	struct rs_frame f;

	if (!p)
		return;
	if (rs_frame_decode(frame, n, &f, p, NULL) != RS_DECODE_OK || p->kind != RS_KIND_PFC) {
		b->filtered++;
		rs_pool_free(&b->free, p);
		return;
	}
	rs_switch_rx(b->sw, in, p, now, now);
	b->port[in].again = now; /* a class may be free now */
}

static void take_frame(struct rs_bridge *b, unsigned in, uint32_t block, size_t n,
		       const struct virtio_net_hdr *vnet, rs_time now)
{
	const uint8_t *frame = bytes_of(b, block);
	struct rs_raw_burst burst;

	if (!rs_raw_begin(&burst, frame, n, vnet)) {
		b->unread++;
		return;
	}
	if (is_reserved(frame)) {
		if (!bridge_hear(b, in, frame, n, now))
			take_pfc(b, in, frame, n, now);
		return;
	}
	bridge_learn(b, frame + MAC_BYTES, in, now);
	forward(b, in, block, &burst, now);
}

/* The kernel takes the VLAN tag out of a frame: forwarding it without would leave its VLAN. */
static bool is_tagged(struct msghdr *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		struct tpacket_auxdata aux;

		if (c->cmsg_level != SOL_PACKET || c->cmsg_type != PACKET_AUXDATA)
			continue;
		memcpy(&aux, CMSG_DATA(c), sizeof(aux));
		return aux.tp_status & TP_STATUS_VLAN_VALID;
	}
	return false;
}

/* Places for a batch of frames; fewer when the memory is nearly full, then none. */
static unsigned prepare(struct rs_bridge *b)
{
	unsigned n = 0;

	for (; n < BATCH; n++) {
		b->taken[n] = take_block(b);
		if (b->taken[n] == UINT32_MAX)
			break;
		b->iov[n][0] = (struct iovec){&b->vnet[n], sizeof(b->vnet[n])};
		b->iov[n][1] = (struct iovec){bytes_of(b, b->taken[n]), BLOCK};
		b->msg[n].msg_hdr = (struct msghdr){.msg_iov = b->iov[n],
						    .msg_iovlen = 2,
						    .msg_control = b->control[n],
						    .msg_controllen = sizeof(b->control[n])};
	}
	return n;
}

/* Every block waits in a queue: what comes is lost, as by any switch. */
static bool discard(struct rs_bridge *b, struct port *p)
{
	uint8_t byte;
	bool any = false;

	for (unsigned i = 0; i < BATCH && recv(p->c.fd, &byte, 1, MSG_DONTWAIT) >= 0; i++) {
		b->no_room++;
		any = true;
	}
	return any;
}

/* A batch of frames; true: there may be more. */
static bool receive(struct rs_bridge *b, unsigned in)
{
	unsigned room = prepare(b);
	rs_time now;
	int n;

	if (!room)
		return discard(b, &b->port[in]);
	n = recvmmsg(b->port[in].c.fd, b->msg, room, MSG_DONTWAIT, NULL);
	now = clock_now(b);
	for (int i = 0; i < n; i++) {
		size_t bytes = b->msg[i].msg_len;

		if (bytes < sizeof(b->vnet[i]) || is_tagged(&b->msg[i].msg_hdr) ||
		    (b->msg[i].msg_hdr.msg_flags & MSG_TRUNC))
			b->unread++;
		else
			take_frame(b, in, b->taken[i], bytes - sizeof(b->vnet[i]), &b->vnet[i],
				   now);
	}
	for (unsigned i = room; i--;)
		bridge_drop_block(b, b->taken[i]);
	return n == (int)room;
}

/* ---- Out ---- */

static void flush(struct rs_bridge *b, struct port *p)
{
	for (unsigned done = 0; done < p->sending;) {
		int n = sendmmsg(p->c.fd, &p->msg[done], p->sending - done, MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			p->refused++;
			n = 1;
		}
		done += (unsigned)n;
	}
	for (unsigned i = 0; i < p->sending; i++) {
		bridge_drop_block(b, b->held[p->packet[i]].block);
		rs_pool_free(&b->free, rs_pool_at(&b->pool, p->packet[i]));
	}
	p->sending = 0;
}

static void send_pfc(struct rs_bridge *b, struct port *p, struct rs_packet *k)
{
	struct rs_frame f = {.dmac = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01}};
	uint8_t bytes[RS_ETH_MIN_FRAME];
	long n;

	memcpy(f.smac, p->c.mac, MAC_BYTES);
	n = rs_frame_encode(&f, k, bytes, sizeof(bytes));
	if (n > 0)
		bridge_send_now(p, bytes, (size_t)n);
	rs_pool_free(&b->free, k);
}

static void put_stamps(struct rs_bridge *b, struct rs_raw *r, const struct rs_packet *k)
{
	uint8_t trailer[RS_INT_TRAILER_BYTES];

	rs_int_trailer_put(k, trailer);
	rs_raw_set_end(r, trailer, sizeof(trailer));
	b->stamped++;
}

static void add(struct rs_bridge *b, struct port *p, struct rs_packet *k)
{
	uint32_t index = rs_pool_index(&b->pool, k);
	struct rs_raw *r = &b->held[index].raw;
	struct iovec *iov = p->iov[p->sending];

	if (k->tos != r->tos)
		rs_raw_set_tos(r, k->tos);
	if (k->bth_flags & RS_PACKET_INT)
		put_stamps(b, r, k);
	iov[0] = (struct iovec){&r->vnet, sizeof(r->vnet)};
	iov[1] = (struct iovec){r->head, r->head_bytes};
	iov[2] = (struct iovec){(void *)(uintptr_t)r->rest, r->rest_bytes};
	p->msg[p->sending].msg_hdr = (struct msghdr){.msg_iov = iov, .msg_iovlen = 3};
	p->packet[p->sending++] = index;
}

/* What the port's rate lets go now; sets when to ask anew. */
static void transmit(struct rs_bridge *b, unsigned at, rs_time now)
{
	struct port *p = &b->port[at];

	while (p->free_at <= now) {
		struct rs_packet *k = rs_switch_tx(b->sw, at, now, &p->again);

		if (!k)
			break;
		p->free_at = rs_time_max(p->free_at, now - LATE_MAX) +
			     rs_pace_time(p->pace, rs_packet_link_bytes(k));
		if (k->kind == RS_KIND_PFC) {
			send_pfc(b, p, k);
			continue;
		}
		add(b, p, k);
		bridge_watch_queue(b, at, now);
		if (p->sending == BATCH)
			flush(b, p);
	}
	flush(b, p);
	if (p->free_at > now)
		p->again = rs_switch_port_empty(b->sw, at) ? RS_NEVER : p->free_at;
}

/* PAUSE and RESUME to be sent, classes that a timer let go. */
static void take_woken(struct rs_bridge *b, rs_time now)
{
	for (unsigned i = 0; rs_switch_any_woken(b->sw) && i <= (b->n_ports - 1) / 64; i++)
		for (uint64_t w = rs_switch_woken(b->sw, i); w; w &= w - 1)
			b->port[i * 64 + (unsigned)__builtin_ctzll(w)].again = now;
}

/* ---- A new beginning of time ---- */

static void rebase_port(struct rs_bridge *b, struct port *p, rs_time by)
{
	p->free_at = rs_time_max(p->free_at - by, -RS_S);
	if (p->again != RS_NEVER)
		p->again = rs_time_max(p->again - by, -RS_S);
	bridge_watch_begin(&p->watch, clock_now(b));
}

static void rebase(struct rs_bridge *b)
{
	int64_t ns = b->clock_ns() - b->epoch_ns;

	if (ns < REBASE_AT / RS_NS)
		return;
	if (b->kept)
		bridge_harm_release(b, clock_now(b), true);
	b->epoch_ns += ns;
	rs_switch_rebase(b->sw, ns * RS_NS);
	for (unsigned i = 0; i < b->n_ports; i++)
		rebase_port(b, &b->port[i], ns * RS_NS);
	bridge_macs_rebase(&b->macs, ns * RS_NS);
	b->hello_at = 1; /* at once, and nothing is asked */
	b->settled = rs_time_max(b->settled - ns * RS_NS, 0);
}

/* ---- The loop ---- */

static int64_t sleep_ns(const struct rs_bridge *b, rs_time now)
{
	rs_time due = rs_time_min(rs_switch_deadline(b->sw), b->harm_due);
	int64_t ns = SLEEP_NS;

	for (unsigned i = 0; i < b->n_ports; i++)
		due = rs_time_min(due, b->port[i].again);
	if (due == RS_NEVER)
		return ns;
	if (due <= now)
		return 0;
	ns = (due - now) / RS_NS < ns ? (due - now) / RS_NS : ns;
	return ns < NAP_NS ? NAP_NS : ns;
}

static void serve(struct rs_bridge *b, unsigned in)
{
	for (unsigned i = 0; i < ROUNDS; i++)
		if (!receive(b, in))
			return;
}

static void send_due(struct rs_bridge *b)
{
	rs_time now = clock_now(b);

	bridge_greet(b, now);
	if (b->harm_due <= now)
		bridge_harm_release(b, now, false);
	if (rs_switch_deadline(b->sw) <= now)
		rs_switch_expire(b->sw, now);
	take_woken(b, now);
	for (unsigned i = 0; i < b->n_ports; i++)
		if (b->port[i].again <= now)
			transmit(b, i, now);
	take_woken(b, now); /* what left a queue may end a pause */
}

int rs_bridge_run(struct rs_bridge *b, int stop)
{
	struct epoll_event watch_stop = {.events = EPOLLIN, .data.u32 = UINT32_MAX};
	struct epoll_event events[RS_BRIDGE_PORTS_MAX + 1];
	bool stopped = false;

	/* the default of 50 us would be three packets at 2 Gb/s */
	prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	if (epoll_ctl(b->epoll, EPOLL_CTL_ADD, stop, &watch_stop))
		return -errno;
	while (!stopped) {
		int64_t ns = sleep_ns(b, clock_now(b));
		struct timespec ts = {ns / 1000000000, ns % 1000000000};
		int n = epoll_pwait2(b->epoll, events, RS_BRIDGE_PORTS_MAX + 1, &ts, NULL);

		if (n < 0 && errno != EINTR)
			return -errno;
		rebase(b);
		for (int i = 0; i < n; i++)
			if (events[i].data.u32 == UINT32_MAX)
				stopped = true;
			else
				serve(b, events[i].data.u32);
		send_due(b);
	}
	epoll_ctl(b->epoll, EPOLL_CTL_DEL, stop, NULL);
	return 0;
}

/* ---- Life ---- */

/* The description's endpoints, then the ports themselves. */
static int make_routes(struct rs_bridge *b, struct rs_switch_routes *r)
{
	uint32_t all = r->n_endpoints + b->n_ports, local = 0;

	b->n_endpoints = r->n_endpoints;
	for (uint32_t i = 0; i < b->n_endpoints; i++)
		if (r->group_of[i] == r->my_group && r->local_index[i] >= local)
			local = r->local_index[i] + 1u;
	b->group_of = calloc(all, sizeof(*b->group_of));
	b->local_index = calloc(all, sizeof(*b->local_index));
	b->local_port = calloc(local + b->n_ports, sizeof(*b->local_port));
	if (!b->group_of || !b->local_index || !b->local_port)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->n_endpoints; i++) {
		b->group_of[i] = r->group_of[i];
		b->local_index[i] = r->local_index[i];
	}
	for (uint32_t i = 0; i < local; i++)
		b->local_port[i] = r->local_port[i];
	for (uint32_t i = 0; i < b->n_ports; i++) {
		b->group_of[b->n_endpoints + i] = r->my_group;
		b->local_index[b->n_endpoints + i] = (uint16_t)(local + i);
		b->local_port[local + i] = (uint16_t)i;
	}
	r->group_of = b->group_of;
	r->local_index = b->local_index;
	r->local_port = b->local_port;
	r->n_endpoints = all;
	return 0;
}

static int make_switch(struct rs_bridge *b, const struct rs_bridge_config *c, struct rs_error *e)
{
	struct rs_switch_config s = c->sw;

	s.ports = c->sw_port;
	s.pool = &b->pool;
	s.free = &b->free;
	s.dropped = NULL;
	s.int_scale = RS_INT_SOFTWARE;
	if (make_routes(b, &s.routes))
		return rs_error_set(e, -ENOMEM, "no memory for a switch's routes");
	return rs_switch_create(&s, &b->sw, e);
}

static int make_ports(struct rs_bridge *b, const struct rs_bridge_config *c)
{
	rs_time now = clock_now(b);

	b->port = calloc(b->n_ports, sizeof(*b->port));
	b->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!b->port)
		return -ENOMEM;
	if (b->epoll < 0)
		return -errno;
	for (unsigned i = 0; i < b->n_ports; i++) {
		struct port *p = &b->port[i];
		struct epoll_event in = {.events = EPOLLIN, .data.u32 = i};

		p->c = c->port[i];
		p->c.floods |= !b->described;
		p->pace = rs_pace_of(c->sw_port[i].rate);
		p->free_at = now;
		p->again = RS_NEVER;
		p->harms = bridge_harm_wanted(&p->c.harm);
		bridge_watch_begin(&p->watch, now);
		if (p->c.fd >= 0 && epoll_ctl(b->epoll, EPOLL_CTL_ADD, p->c.fd, &in))
			return -errno;
	}
	return 0;
}

/* What is on its way through the ports' delays, at the ports' rates. */
static uint64_t delayed_bytes(const struct rs_bridge_config *c)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < c->sw.n_ports; i++)
		bytes +=
			(uint64_t)((double)c->sw_port[i].rate / 8 *
				   (double)(c->port[i].harm.delay + c->port[i].harm.jitter) / RS_S);
	return bytes;
}

static int make_parts(struct rs_bridge *b, const struct rs_bridge_config *c, struct rs_error *e)
{
	int err = rs_pool_init(&b->pool, PACKETS);

	if (!err)
		err = make_blocks(b, c->sw.buffer + delayed_bytes(c));
	b->held = calloc(PACKETS, sizeof(*b->held));
	if (!err && !b->held)
		err = -ENOMEM;
	if (!err)
		err = make_ports(b, c);
	if (!err)
		err = bridge_harm_begin(b, c->sw.seed);
	if (err)
		return rs_error_set(e, err, "no memory for a switch's buffers");
	rs_pool_list_init(&b->free, &b->pool);
	return make_switch(b, c, e);
}

static int check_config(const struct rs_bridge_config *c, struct rs_error *e)
{
	unsigned n = c->sw.n_ports;

	if (n < 2 || n > RS_BRIDGE_PORTS_MAX)
		return rs_error_set(e, -EINVAL, "a switch joins 2 to %d interfaces, not %u",
				    RS_BRIDGE_PORTS_MAX, n);
	if (!c->queue_step)
		return rs_error_set(e, -EINVAL, "the queues' step is 0");
	for (unsigned i = 0; i < n; i++)
		if (c->sw_port[i].rate < RS_MBPS)
			return rs_error_set(e, -EINVAL, "the rate of '%s' is below 1M",
					    c->port[i].name);
	return 0;
}

static void close_sockets(const struct rs_bridge_config *c)
{
	for (unsigned i = 0; i < c->sw.n_ports && i < RS_BRIDGE_PORTS_MAX; i++)
		if (c->port[i].fd >= 0)
			close(c->port[i].fd);
}

static struct rs_bridge *begin(const struct rs_bridge_config *c)
{
	struct rs_bridge *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->epoll = -1;
	b->clock_ns = c->clock_ns ? c->clock_ns : rs_clock_ns;
	b->epoch_ns = b->clock_ns();
	b->n_ports = c->sw.n_ports;
	b->queue_step = c->queue_step;
	b->described = c->sw.routes.n_endpoints > 0;
	b->self = c->sw.id;
	b->digest = c->digest;
	b->settled = SETTLE;
	b->harm_due = RS_NEVER;
	b->cable = c->cable;
	b->cable_arg = c->cable_arg;
	return b;
}

static void destroy(struct rs_bridge *b)
{
	if (b->sw)
		rs_switch_destroy(b->sw);
	if (b->memory)
		munmap(b->memory, (size_t)b->n_blocks * BLOCK);
	if (b->epoll >= 0)
		close(b->epoll);
	rs_pool_fini(&b->pool);
	free(b->group_of);
	free(b->local_index);
	free(b->local_port);
	free(b->block);
	free(b->kept);
	free(b->held);
	free(b->port);
	free(b);
}

int rs_bridge_create(const struct rs_bridge_config *c, struct rs_bridge **out, struct rs_error *e)
{
	int err = check_config(c, e);
	struct rs_bridge *b = err ? NULL : begin(c);

	if (!err)
		err = b ? make_parts(b, c, e) : rs_error_set(e, -ENOMEM, "no memory for a switch");
	if (!err) {
		*out = b;
		return 0;
	}
	close_sockets(c);
	if (b)
		destroy(b);
	return err;
}

void rs_bridge_destroy(struct rs_bridge *b)
{
	for (unsigned i = 0; i < b->n_ports; i++)
		if (b->port[i].c.fd >= 0)
			close(b->port[i].c.fd);
	destroy(b);
}

void rs_bridge_get_report(struct rs_bridge *b, struct rs_bridge_report *r, bool anew)
{
	rs_time now = clock_now(b);

	*r = (struct rs_bridge_report){
		.c = *rs_switch_get_counters(b->sw),
		.seconds = (double)(now - b->port[0].watch.begun) / (double)RS_S,
		.no_room = b->no_room,
		.unread = b->unread,
		.stamped = b->stamped,
		.flooded = b->flooded,
		.filtered = b->filtered,
		.addresses = b->macs.used,
	};
	for (unsigned i = 0; i < b->n_ports; i++) {
		struct rs_bridge_port_report *q = &r->port[i];
		struct watch *w = &b->port[i].watch;

		bridge_watch_until(b, w, now);
		q->c = *rs_switch_port_counters(b->sw, i);
		q->refused = b->port[i].refused;
		q->harmed = b->port[i].harm.counters;
		q->mean_queue = r->seconds > 0 ? w->byte_seconds / r->seconds : 0;
		q->max_queue = w->most;
		q->median_queue = bridge_watch_percentile(b, w, 0.5);
		q->p99_queue = bridge_watch_percentile(b, w, 0.99);
		if (anew)
			bridge_watch_begin(w, now);
	}
}
