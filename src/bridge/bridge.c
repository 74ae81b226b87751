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
#include "base/random.h"
#include "bridge/raw.h"
#include "wire/frame.h"

enum {
	BATCH = 32,     /* frames of one system call */
	ROUNDS = 4,     /* calls of one port before the others have their turn */
	NAP_NS = 20000, /* of a port that is busy: packets that are due meanwhile go together */
	SLEEP_NS = 100000000,
	STEPS = 16384, /* of a queue's percentiles */
	PACKETS = 1 << 16,
	BYTES_A_BLOCK = 2048, /* of buffer */
	BLOCKS_LEAST = 1024,
	BLOCKS_MOST = 1 << 16,
	BLOCK = (RS_RAW_FRAME_MAX + 4095) & ~4095,
	MAC_BYTES = 6,
	MAC_PROBES = 16,
	PORT_NONE = UINT16_MAX,
};

#define MAC_AGE (300 * RS_S) /* 802.1Q-2022 table 8-6 */
/* A port with a queue makes up for what it was not given while this process slept. */
#define LATE_MAX (1 * RS_MS)
/* Time is counted from the start, and from here on anew: 53 days, half of what rs_time holds. */
#define REBASE_AT ((rs_time)1 << 62)

/* A frame, or a burst of them: memory that its packets share. */
struct block {
	uint32_t refs, next;
};

/* Beside each packet of the slab: its bytes. */
struct held {
	struct rs_raw raw;
	uint32_t block;
};

struct mac {
	uint8_t address[MAC_BYTES];
	bool used;
	rs_time seen;
};

/* Bytes that wait for a port, over time. */
struct watch {
	uint64_t bytes, most;
	rs_time since, begun;
	double byte_seconds;
	rs_time at[STEPS]; /* time spent with so many steps' bytes */
};

struct port {
	struct rs_bridge_port_config c;
	struct rs_pace pace;
	rs_time free_at; /* when the last frame has been sent */
	rs_time again;   /* when there may be something to send; RS_NEVER: nothing waits */
	uint64_t refused;
	struct watch watch;
	unsigned sending;
	struct mmsghdr msg[BATCH];
	struct iovec iov[BATCH][3];
	uint32_t packet[BATCH];
};

struct rs_bridge {
	struct rs_switch *sw;
	struct rs_pool pool;
	struct rs_pool_list free;
	struct held *held;
	uint8_t *memory;
	struct block *block;
	uint32_t n_blocks, block_free;
	struct port *port;
	unsigned n_ports;
	int epoll;
	int64_t (*clock_ns)(void);
	int64_t epoch_ns; /* of the clock: time 0 */
	uint64_t queue_step, no_room, unread, flooded, filtered;
	struct mac mac[RS_BRIDGE_MACS];
	uint32_t addresses;
	struct mmsghdr msg[BATCH];
	struct iovec iov[BATCH][2];
	struct virtio_net_hdr vnet[BATCH];
	uint32_t taken[BATCH]; /* blocks that frames are read to */
	_Alignas(8) uint8_t control[BATCH][64];
	uint32_t group_of[RS_BRIDGE_PORTS_MAX + RS_BRIDGE_MACS];
	uint32_t set_of[1];
	uint16_t no_ports[1];
	/* An endpoint is a port itself, for what goes to all, or an address */
	uint16_t port_of[RS_BRIDGE_PORTS_MAX + RS_BRIDGE_MACS];
	uint16_t index_of[RS_BRIDGE_PORTS_MAX + RS_BRIDGE_MACS];
};

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

static void drop_block(struct rs_bridge *b, uint32_t i)
{
	if (--b->block[i].refs)
		return;
	b->block[i].next = b->block_free; /* the last used is still in the cache */
	b->block_free = i;
}

/* ---- Queues over time ---- */

static uint64_t waiting(const struct rs_bridge *b, unsigned port)
{
	uint64_t n = 0;

	for (unsigned t = 0; t < RS_CLASSES; t++)
		n += rs_switch_queue_bytes(b->sw, port, t);
	return n;
}

static void watch_begin(struct watch *w, rs_time now)
{
	memset(w->at, 0, sizeof(w->at));
	w->begun = w->since = now;
	w->byte_seconds = 0;
	w->most = w->bytes;
}

static void watch_until(struct rs_bridge *b, struct watch *w, rs_time now)
{
	uint64_t step = w->bytes / b->queue_step;

	w->at[step < STEPS ? step : STEPS - 1] += now - w->since;
	w->byte_seconds += (double)w->bytes * (double)(now - w->since) / (double)RS_S;
	w->since = now;
}

/* After each change: what was there until now, and what is now. */
static void watch_queue(struct rs_bridge *b, unsigned port, rs_time now)
{
	struct watch *w = &b->port[port].watch;

	watch_until(b, w, now);
	w->bytes = waiting(b, port);
	w->most = w->bytes > w->most ? w->bytes : w->most;
}

static uint64_t percentile(const struct rs_bridge *b, const struct watch *w, double share)
{
	rs_time all = w->since - w->begun, sum = 0;

	for (unsigned i = 0; i < STEPS; i++) {
		sum += w->at[i];
		if ((double)sum >= share * (double)all)
			return i * b->queue_step;
	}
	return w->most;
}

/* ---- Addresses ---- */

static uint32_t hash_mac(const uint8_t *m)
{
	return (uint32_t)rs_mix64((uint64_t)rs_get16(m) << 32 | rs_get32(m + 2)) %
	       (RS_BRIDGE_MACS - MAC_PROBES);
}

/* Its endpoint, or UINT32_MAX. */
static uint32_t find_mac(const struct rs_bridge *b, const uint8_t *m, rs_time now)
{
	uint32_t at = hash_mac(m);

	for (uint32_t i = at; i < at + MAC_PROBES; i++)
		if (b->mac[i].used && !memcmp(b->mac[i].address, m, MAC_BYTES))
			return now - b->mac[i].seen < MAC_AGE ? b->n_ports + i : UINT32_MAX;
	return UINT32_MAX;
}

/* Known already, else in a free place, else in that of the one not seen for longest. */
static void learn(struct rs_bridge *b, const uint8_t *m, unsigned port, rs_time now)
{
	uint32_t at = hash_mac(m), place = at;

	if (m[0] & 1)
		return;
	for (uint32_t i = at; i < at + MAC_PROBES; i++) {
		const struct mac *k = &b->mac[i];

		if (k->used && !memcmp(k->address, m, MAC_BYTES)) {
			place = i;
			break;
		}
		if (b->mac[place].used && (!k->used || k->seen < b->mac[place].seen))
			place = i;
	}
	b->addresses += !b->mac[place].used;
	b->mac[place].used = true;
	b->mac[place].seen = now;
	memcpy(b->mac[place].address, m, MAC_BYTES);
	b->port_of[b->n_ports + place] = (uint16_t)port;
}

/* ---- In ---- */

/* One packet to one endpoint. */
static void enqueue(struct rs_bridge *b, unsigned in, const struct rs_raw *raw, uint32_t block,
		    uint32_t endpoint, rs_time now)
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
	p->dst = endpoint;
	p->frame_bytes = (uint16_t)(bytes < UINT16_MAX ? bytes : UINT16_MAX);
	p->tos = raw->tos;
	b->held[index] = (struct held){.raw = *raw, .block = block};
	b->block[block].refs++;
	to = rs_switch_rx(b->sw, in, p, now, now);
	if (to < 0) {
		drop_block(b, block);
		return;
	}
	out = &b->port[to];
	if (!out->watch.bytes) /* a port that had nothing to send saved up nothing */
		out->free_at = rs_time_max(out->free_at, now);
	out->again = rs_time_min(out->again, out->free_at);
	watch_queue(b, (unsigned)to, now);
}

static void flood(struct rs_bridge *b, unsigned in, const struct rs_raw *raw, uint32_t block,
		  rs_time now)
{
	b->flooded++;
	for (unsigned i = 0; i < b->n_ports; i++)
		if (i != in)
			enqueue(b, in, raw, block, i, now);
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
	struct rs_raw raw;
	uint32_t to;

	if (!rs_raw_begin(&burst, frame, n, vnet)) {
		b->unread++;
		return;
	}
	if (is_reserved(frame)) {
		take_pfc(b, in, frame, n, now);
		return;
	}
	learn(b, frame + MAC_BYTES, in, now);
	to = frame[0] & 1 ? UINT32_MAX : find_mac(b, frame, now);
	if (to != UINT32_MAX && b->port_of[to] == in) {
		b->filtered++;
		return;
	}
	while (rs_raw_next(&burst, &raw))
		if (to == UINT32_MAX)
			flood(b, in, &raw, block, now);
		else
			enqueue(b, in, &raw, block, to, now);
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
		drop_block(b, b->taken[i]);
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
		drop_block(b, b->held[p->packet[i]].block);
		rs_pool_free(&b->free, rs_pool_at(&b->pool, p->packet[i]));
	}
	p->sending = 0;
}

static void send_pfc(struct rs_bridge *b, struct port *p, struct rs_packet *k)
{
	struct rs_frame f = {.dmac = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01}};
	struct virtio_net_hdr none = {0};
	uint8_t bytes[RS_ETH_MIN_FRAME];
	long n;

	memcpy(f.smac, p->c.mac, MAC_BYTES);
	n = rs_frame_encode(&f, k, bytes, sizeof(bytes));
	if (n > 0) {
		struct iovec iov[2] = {{&none, sizeof(none)}, {bytes, (size_t)n}};
		struct msghdr m = {.msg_iov = iov, .msg_iovlen = 2};

		p->refused += sendmsg(p->c.fd, &m, MSG_DONTWAIT) < 0;
	}
	rs_pool_free(&b->free, k);
}

static void add(struct rs_bridge *b, struct port *p, struct rs_packet *k)
{
	uint32_t index = rs_pool_index(&b->pool, k);
	struct rs_raw *r = &b->held[index].raw;
	struct iovec *iov = p->iov[p->sending];

	if (k->tos != r->tos)
		rs_raw_set_tos(r, k->tos);
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
		watch_queue(b, at, now);
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
	watch_begin(&p->watch, clock_now(b));
}

static void rebase(struct rs_bridge *b)
{
	int64_t ns = b->clock_ns() - b->epoch_ns;

	if (ns < REBASE_AT / RS_NS)
		return;
	b->epoch_ns += ns;
	rs_switch_rebase(b->sw, ns * RS_NS);
	for (unsigned i = 0; i < b->n_ports; i++)
		rebase_port(b, &b->port[i], ns * RS_NS);
	for (unsigned i = 0; i < RS_BRIDGE_MACS; i++)
		b->mac[i].seen = rs_time_max(b->mac[i].seen - ns * RS_NS, -MAC_AGE);
}

/* ---- The loop ---- */

static int64_t sleep_ns(const struct rs_bridge *b, rs_time now)
{
	rs_time due = rs_switch_deadline(b->sw);
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

static int make_switch(struct rs_bridge *b, const struct rs_bridge_config *c, struct rs_error *e)
{
	struct rs_switch_port ports[RS_BRIDGE_PORTS_MAX] = {0};
	struct rs_switch_config s = {
		.seed = c->seed,
		.n_ports = c->n_ports,
		.ports = ports,
		.buffer = c->buffer,
		.pause_quanta = UINT16_MAX,
		.mark_at_dequeue =
			true, /* feedback does not wait behind the queue that it is about */
		.routes = {.group_of = b->group_of,
			   .n_endpoints = c->n_ports + RS_BRIDGE_MACS,
			   .set_of = b->set_of,
			   .ports = b->no_ports,
			   .local_port = b->port_of,
			   .local_index = b->index_of},
		.pool = &b->pool,
		.free = &b->free,
	};

	for (unsigned i = 0; i < c->n_ports; i++) {
		int64_t rate = c->port[i].rate;

		ports[i].rate = rate;
		ports[i].kmin = c->port[i].kmin;
		ports[i].kmax = c->port[i].kmax;
		/* a peer in software answers in a scheduler's time, not in a cable's */
		ports[i].headroom = rs_pfc_headroom(rate, 100 * RS_US, UINT16_MAX,
						    rs_pfc_response_quanta(rate));
	}
	memcpy(s.classes, c->classes, sizeof(s.classes));
	memcpy(s.tc_of_dscp, c->tc_of_dscp, sizeof(s.tc_of_dscp));
	return rs_switch_create(&s, &b->sw, e);
}

static int make_ports(struct rs_bridge *b, const struct rs_bridge_config *c)
{
	rs_time now = clock_now(b);

	b->port = calloc(c->n_ports, sizeof(*b->port));
	b->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!b->port)
		return -ENOMEM;
	if (b->epoll < 0)
		return -errno;
	for (unsigned i = 0; i < c->n_ports; i++) {
		struct port *p = &b->port[i];
		struct epoll_event in = {.events = EPOLLIN, .data.u32 = i};

		p->c = c->port[i];
		p->pace = rs_pace_of(p->c.rate);
		p->free_at = now;
		p->again = RS_NEVER;
		watch_begin(&p->watch, now);
		if (epoll_ctl(b->epoll, EPOLL_CTL_ADD, p->c.fd, &in))
			return -errno;
	}
	return 0;
}

static int make_parts(struct rs_bridge *b, const struct rs_bridge_config *c, struct rs_error *e)
{
	int err = rs_pool_init(&b->pool, PACKETS);

	if (!err)
		err = make_blocks(b, c->buffer);
	b->held = calloc(PACKETS, sizeof(*b->held));
	if (!err && !b->held)
		err = -ENOMEM;
	if (!err)
		err = make_ports(b, c);
	if (err)
		return rs_error_set(e, err, "no memory for a switch's buffers");
	rs_pool_list_init(&b->free, &b->pool);
	for (unsigned i = 0; i < c->n_ports + RS_BRIDGE_MACS; i++)
		b->index_of[i] = (uint16_t)i;
	for (unsigned i = 0; i < c->n_ports; i++)
		b->port_of[i] = (uint16_t)i;
	return make_switch(b, c, e);
}

static int check_config(const struct rs_bridge_config *c, struct rs_error *e)
{
	if (c->n_ports < 2 || c->n_ports > RS_BRIDGE_PORTS_MAX)
		return rs_error_set(e, -EINVAL, "a switch joins 2 to %d interfaces, not %u",
				    RS_BRIDGE_PORTS_MAX, c->n_ports);
	if (!c->queue_step)
		return rs_error_set(e, -EINVAL, "the queues' step is 0");
	for (unsigned i = 0; i < c->n_ports; i++)
		if (c->port[i].rate < RS_MBPS)
			return rs_error_set(e, -EINVAL, "the rate of '%s' is below 1M",
					    c->port[i].name);
	return 0;
}

int rs_bridge_create(const struct rs_bridge_config *c, struct rs_bridge **out, struct rs_error *e)
{
	struct rs_bridge *b = calloc(1, sizeof(*b));
	int err = b ? check_config(c, e) : rs_error_set(e, -ENOMEM, "no memory for a switch");

	if (b)
		b->epoll = -1;
	if (!err) {
		b->clock_ns = c->clock_ns ? c->clock_ns : rs_clock_ns;
		b->epoch_ns = b->clock_ns();
		b->n_ports = c->n_ports;
		b->queue_step = c->queue_step;
		err = make_parts(b, c, e);
	}
	if (!err) {
		*out = b;
		return 0;
	}
	for (unsigned i = 0; i < c->n_ports && i < RS_BRIDGE_PORTS_MAX; i++)
		close(c->port[i].fd);
	if (b && b->port)
		b->n_ports = 0; /* they are closed */
	if (b)
		rs_bridge_destroy(b);
	return err;
}

void rs_bridge_destroy(struct rs_bridge *b)
{
	for (unsigned i = 0; b->port && i < b->n_ports; i++)
		close(b->port[i].c.fd);
	if (b->sw)
		rs_switch_destroy(b->sw);
	if (b->memory)
		munmap(b->memory, (size_t)b->n_blocks * BLOCK);
	if (b->epoll >= 0)
		close(b->epoll);
	rs_pool_fini(&b->pool);
	free(b->block);
	free(b->held);
	free(b->port);
	free(b);
}

void rs_bridge_get_report(struct rs_bridge *b, struct rs_bridge_report *r, bool anew)
{
	rs_time now = clock_now(b);

	*r = (struct rs_bridge_report){
		.c = *rs_switch_get_counters(b->sw),
		.seconds = (double)(now - b->port[0].watch.begun) / (double)RS_S,
		.no_room = b->no_room,
		.unread = b->unread,
		.flooded = b->flooded,
		.filtered = b->filtered,
		.addresses = b->addresses,
	};
	for (unsigned i = 0; i < b->n_ports; i++) {
		struct rs_bridge_port_report *q = &r->port[i];
		struct watch *w = &b->port[i].watch;

		watch_until(b, w, now);
		q->c = *rs_switch_port_counters(b->sw, i);
		q->refused = b->port[i].refused;
		q->mean_queue = r->seconds > 0 ? w->byte_seconds / r->seconds : 0;
		q->max_queue = w->most;
		q->median_queue = percentile(b, w, 0.5);
		q->p99_queue = percentile(b, w, 0.99);
		if (anew)
			watch_begin(w, now);
	}
}
