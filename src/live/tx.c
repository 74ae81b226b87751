/* Sends to the kernel: batches of them in one call, ACKs behind data. */
#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include "live/guard.h"
#include "live/state.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

enum { TOS_UNKNOWN = -1 };

int rs_tx_init(struct rs_live *l)
{
	l->tx.bytes = malloc((size_t)RS_TX_SLOT * RS_TX_BATCH);
	l->tx.spare = malloc((size_t)RS_TX_SLOT * RS_TX_BATCH);
	l->tx.gso = true;
	l->tx.tos = l->tx.tos_of_late = TOS_UNKNOWN;
	l->tx_again = RS_NEVER;
	return l->tx.bytes && l->tx.spare ? 0 : -ENOMEM;
}

void rs_tx_fini(struct rs_live *l)
{
	free(l->tx.bytes);
	free(l->tx.spare);
}

static void put_control(struct msghdr *m, uint8_t *at, int level, int type, const void *data,
			size_t n)
{
	struct cmsghdr *c = (struct cmsghdr *)(void *)(at + m->msg_controllen);

	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(n);
	memcpy(CMSG_DATA(c), data, n);
	m->msg_controllen += CMSG_SPACE(n);
}

static void address(struct rs_live *l, const struct rs_run *r, struct msghdr *m, uint8_t *control)
{
	struct rs_path *path = &l->paths.path[r->path];
	struct in6_pktinfo from = {.ipi6_ifindex = path->to.sin6_scope_id};
	int tos = r->tos;

	memcpy(&from.ipi6_addr, path->own, 16);
	*m = (struct msghdr){.msg_name = &path->to,
			     .msg_namelen = sizeof(path->to),
			     .msg_iov = &l->tx.piece[r->first],
			     .msg_iovlen = r->pieces,
			     .msg_control = control};
	put_control(m, control, IPPROTO_IPV6, IPV6_PKTINFO, &from, sizeof(from));
	if (tos != l->tx.tos && path->ipv6)
		put_control(m, control, IPPROTO_IPV6, IPV6_TCLASS, &tos, sizeof(tos));
	else if (tos != l->tx.tos)
		put_control(m, control, IPPROTO_IP, IP_TOS, &tos, sizeof(tos));
	if (r->count > 1)
		put_control(m, control, SOL_UDP, UDP_SEGMENT, &r->segment, sizeof(r->segment));
}

/* A TOS that many sends in a row have becomes the socket's own: to name it with each costs more. */
static void adopt_tos(struct rs_live *l)
{
	struct rs_tx *t = &l->tx;
	int tos = t->run[t->runs - 1].tos;

	rs_assert(t->runs && t->runs <= RS_TX_BATCH && t->runs_sent <= t->runs);
	if (tos == t->tos || tos != t->tos_of_late)
		t->tos_in_a_row = 0;
	t->tos_of_late = tos;
	if (tos == t->tos || ++t->tos_in_a_row < rs_live_tuning.tos_in_a_row)
		return;
	if (!setsockopt(l->udp, IPPROTO_IP, IP_TOS, &tos, sizeof(tos)) &&
	    !setsockopt(l->udp, IPPROTO_IPV6, IPV6_TCLASS, &tos, sizeof(tos)))
		t->tos = tos;
	else
		t->tos = TOS_UNKNOWN;
}

/* The number of messages that were taken, or -1. */
static int give(const struct rs_live *l, struct mmsghdr *m, unsigned n)
{
	int taken;

	rs_live_leaves();
	if (n > 1)
		taken = sendmmsg(l->udp, m, n, MSG_DONTWAIT);
	else
		taken = sendmsg(l->udp, &m->msg_hdr, MSG_DONTWAIT) < 0 ? -1 : 1;
	rs_live_has_left();
	return taken;
}

/* Hand the runs to the kernel; false: its buffer is full, what is left waits. */
static bool flush(struct rs_live *l)
{
	struct rs_tx *t = &l->tx;
	struct mmsghdr m[RS_TX_BATCH];
	_Alignas(8) uint8_t control[RS_TX_BATCH][128];

	adopt_tos(l);
	for (unsigned i = t->runs_sent; i < t->runs; i++)
		address(l, &t->run[i], &m[i].msg_hdr, control[i]);
	while (t->runs_sent < t->runs) {
		int n = give(l, &m[t->runs_sent], t->runs - t->runs_sent);

		l->counters.tx_calls++;
		if (n < 0 && (errno == EAGAIN || errno == ENOBUFS)) {
			rs_tx_settle(t);
			return false;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			/* No segmentation on this way, no route, or a peer's ICMP: lost. */
			if (t->run[t->runs_sent].count > 1)
				t->gso &= errno != EIO && errno != EINVAL;
			l->counters.tx_refused++;
			n = 1;
		}
		t->runs_sent += (unsigned)n;
		l->counters.tx_datagrams += (unsigned)n;
	}
	t->packets = t->pieces = t->runs = t->runs_sent = 0;
	t->used = t->load = 0;
	t->settled = false;
	return true;
}

/* The port is still sending what it has. */
static bool port_busy(struct rs_live *l, rs_time ahead)
{
	if (l->port_free <= ahead)
		return false;
	l->tx_again = l->port_free;
	return true;
}

static void occupy_port(struct rs_live *l, const struct rs_packet *p, rs_time now)
{
	l->port_free = rs_time_max(l->port_free, now - rs_live_tuning.pace_late) +
		       rs_pace_time(l->port_pace, rs_packet_link_bytes(p));
	l->port_sent += p->frame_bytes;
}

/* An ACK, and not one that says what went wrong: it may arrive behind what was sent after it. */
static bool may_wait(const struct rs_packet *p)
{
	return p->opcode == (RS_RC | RS_OP_ACKNOWLEDGE) &&
	       (rs_packet_syndrome(p) & RS_SYN_KIND) == RS_SYN_ACK;
}

/* One that acknowledges more takes the place of one that waits. */
static void hold(struct rs_live *l, struct rs_packet *p, rs_time now)
{
	struct rs_tx *t = &l->tx;

	for (unsigned i = 0; i < t->acks; i++) {
		if (t->ack[i]->src_qp != p->src_qp || t->ack[i]->dst != p->dst ||
		    !may_wait(t->ack[i]))
			continue;
		rs_pool_free(&l->free, t->ack[i]);
		t->ack[i] = p;
		return;
	}
	if (!t->acks)
		t->acks_since = now;
	t->ack[t->acks++] = p;
}

static void send_ack(struct rs_live *l, struct rs_packet *p, rs_time now)
{
	bool shared;

	if (!rs_shm_send(l, p, NULL, &shared, now))
		rs_tx_encode(l, p, false);
	rs_pool_free(&l->free, p);
}

/*
 * Responses of a queue pair leave in the order of their PSNs (IBTA §9.7.5.1.1): an ACK that waits
 * goes before a NAK, or a READ's data. False: now there is no room for what comes behind it, which
 * waits in its place.
 */
static bool ack_before(struct rs_live *l, struct rs_packet *p, rs_time now)
{
	struct rs_tx *t = &l->tx;

	for (unsigned i = 0; i < t->acks; i++) {
		if (t->ack[i]->src_qp != p->src_qp || t->ack[i]->dst != p->dst)
			continue;
		send_ack(l, t->ack[i], now);
		if (rs_shm_blocked(l, now)) {
			t->ack[i] = p;
			return false;
		}
		t->ack[i] = t->ack[--t->acks];
		return true;
	}
	return true;
}

/* What follows p in its message, and fits into the send that p is in, goes with it. */
static void send_middles(struct rs_live *l, struct rs_packet *p, bool fill, rs_time now)
{
	uint32_t n = l->port_pace.q16 ? 0 : rs_tx_room(l, p, fill), ask;
	const uint8_t *payload;
	uint64_t asking;

	if (n)
		n = rs_flow_ahead(&l->flow, p, n, now, &payload, &ask);
	/* what faults is found by who sends it singly */
	if (!n || !rs_guard_reads(payload, (size_t)n * p->payload_bytes))
		return;
	asking = rs_nic_tx_middles(l->nic, p, n, ask, now);
	rs_tx_encode_middles(l, p, n, payload, asking, fill);
	rs_flow_sent_more(&l->flow, p, n, now);
	l->port_sent += n * (uint64_t)p->frame_bytes;
}

/* By the wire: what is on its way to the peer's socket is counted. */
static void send_windowed(struct rs_live *l, struct rs_packet *p, rs_time now)
{
	struct rs_window_to to;
	bool fill;

	if (p->dst >= l->paths.fresh) {
		rs_tx_encode(l, p, false); /* which refuses it */
		return;
	}
	to = rs_live_to(l, p->dst, p->dest_qp);
	fill = rs_flow_before(&l->flow, p, &to, now) && l->fill;
	rs_flow_sent(&l->flow, p, rs_tx_encode(l, p, fill), now);
	send_middles(l, p, fill, now);
}

/* Its request ends with an error. */
static __attribute__((noinline, cold)) void unreadable(struct rs_live *l, struct rs_packet *p)
{
	const uint8_t *at = p->payload, *end = at + p->payload_bytes;

	while (at < end && rs_guard_copy(&(uint8_t){0}, at, 1))
		at = (const uint8_t *)(((uintptr_t)at | (RS_GUARD_PAGE - 1)) + 1);
	if (at < end)
		rs_nic_unreadable(l->nic, p, at);
	l->counters.tx_refused++;
	rs_pool_free(&l->free, p);
}

/* By a ring, with the ACK that waits for the same peer, in one record. */
static bool send_near(struct rs_live *l, struct rs_packet *p, rs_time now)
{
	struct rs_tx *t = &l->tx;
	unsigned i = 0;
	bool shared, sent;

	while (i < t->acks && (t->ack[i]->src_qp != p->src_qp || !may_wait(t->ack[i])))
		i++;
	sent = rs_shm_send(l, p, i < t->acks ? t->ack[i] : NULL, &shared, now);
	if (shared) {
		rs_pool_free(&l->free, t->ack[i]);
		t->ack[i] = t->ack[--t->acks];
	}
	return sent;
}

/* Data first: the peer waits for it more than for its ACKs, which may then share its send. */
static void take(struct rs_live *l, struct rs_packet *p, rs_time now)
{
	if (p->payload_bytes && p->payload && !rs_guard_reads(p->payload, p->payload_bytes)) {
		unreadable(l, p);
		return;
	}
	if (may_wait(p) && l->tx.acks < RS_TX_ACKS) {
		hold(l, p, now);
		return;
	}
	if (rs_opcodes[p->opcode].flags & RS_F_REQUEST)
		rs_answers_data(&l->tx.answers, l->tx.acks, now);
	if (l->tx.acks && rs_opcodes[p->opcode].flags & RS_F_RESPONSE && !ack_before(l, p, now))
		return;
	if (send_near(l, p, now)) {
		l->tx.carried = true;
	} else {
		send_windowed(l, p, now);
	}
	rs_pool_free(&l->free, p);
}

static void take_acks(struct rs_live *l, rs_time now)
{
	struct rs_tx *t = &l->tx;

	if (t->acks && !t->packets && !t->carried)
		rs_answers_alone(&t->answers, now);
	while (t->acks && !rs_shm_blocked(l, now))
		send_ack(l, t->ack[--t->acks], now);
	t->urgent = false;
}

/* May ACKs wait a little for the data that the application may be about to answer with? */
static bool acks_wait(const struct rs_live *l, rs_time now)
{
	const struct rs_tx *t = &l->tx;

	return rs_answers_wait(&t->answers) && !t->packets && !t->carried && !t->urgent &&
	       t->acks < RS_TX_ACKS && now - t->acks_since < t->hold;
}

void rs_tx_flush_acks(struct rs_live *l)
{
	if (!l->tx.acks || l->forked)
		return;
	l->tx.urgent = true;
	rs_tx_run(l);
}

/* Much is in the batch, and its last send full: the caches hold what the kernel is to copy, and no
 * send is cut short. */
static bool is_enough(const struct rs_tx *t)
{
	const struct rs_run *r = t->runs ? &t->run[t->runs - 1] : NULL;

	return t->load >= rs_live_tuning.enough_bytes &&
	       (r->count == RS_TX_RUN_MAX || r->bytes + r->segment > RS_TX_RUN_BYTES);
}

static void run(struct rs_live *l, rs_time clock)
{
	struct rs_tx *t = &l->tx;

	for (;;) {
		rs_time now, ahead;

		if (t->runs) {
			t->blocked = !flush(l);
			if (t->blocked)
				return;
			clock = rs_live_tick(l);
			rs_progress_sent(l, clock);
		}
		ahead = clock + rs_live_tuning.ahead;
		now = rs_time_max(clock, l->floor);
		while (t->packets + t->acks < RS_TX_BATCH && !is_enough(t) &&
		       !port_busy(l, ahead) && !rs_shm_blocked(l, now)) {
			struct rs_packet *p = rs_nic_tx(l->nic, 0, now, &l->tx_again);

			if (!p && l->tx_again <= ahead) {
				l->floor = now = rs_time_max(now, l->tx_again);
				continue;
			}
			if (!p)
				break;
			occupy_port(l, p, now);
			take(l, p, now);
		}
		if (!acks_wait(l, now))
			take_acks(l, now);
		if (!t->packets)
			return;
	}
}

/* Behind all that was sent. */
static void ask_peers(struct rs_live *l, rs_time now)
{
	struct rs_window_question q;

	while (rs_window_ask(&l->flow.window, now, &q))
		while (l->paths.path[q.to.path].generation == q.to.generation && q.copies--)
			rs_grant_ask(l, q.to.path, q.qpn, q.number);
}

void rs_tx_run(struct rs_live *l)
{
	rs_tx_run_at(l, rs_live_tick(l));
}

void rs_tx_run_at(struct rs_live *l, rs_time clock)
{
	l->tx.carried = l->deferred = false;
	rs_row_sent(&l->row);
	run(l, clock);
	if (!l->tx.blocked)
		ask_peers(l, rs_time_max(clock, l->floor));
	rs_shm_wake(l);
}
