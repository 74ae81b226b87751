/* The stream of an rsocket: who may write where, credits, and the bytes. Protocol: librdmacm's
 * docs/rsocket, "Message Format". */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include "verbs/cm/rsocket.h"

/* The immediate data: a type in the upper 3 bits. */
enum { TYPE_SHIFT = 29, DATA = 0, CREDITS = 4, IOMAP = 6, CONTROL = 7 };
enum { GOODBYE = 0, KEEPALIVE = 1, SHUTDOWN = 2 };
enum { FLAG_BIG_ENDIAN = 1, FLAG_IOMAP = 2 };
enum { SCALE_BIT = 0x80, SCALE_SHIFT = 8 };
#define VALUE UINT32_C(0x1fffffff)

/* A send's wr_id: how many bytes of the ring it frees; or that it was a message without data. */
#define WR_CONTROL (UINT64_C(1) << 32)

_Static_assert(sizeof(struct rs_sock_hello) == 40, "as librdmacm's rs_conn_data");
_Static_assert(sizeof(struct rs_sock_iomap) == 24, "as librdmacm's rs_iomap");

/* ---- Memory ---- */

static struct ibv_mr *make_mr(struct rs_sock *s, void *at, size_t n)
{
	return at ? ibv_reg_mr(s->id->pd, at, n, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)
		  : NULL;
}

static int make_memory(struct rs_sock *s)
{
	size_t n = RS_SOCK_SGES * sizeof(struct rs_sock_sge) +
		   s->n_iomaps * sizeof(struct rs_sock_iomap);

	s->sbuf = malloc(s->sndbuf);
	s->rbuf = malloc(s->rcvbuf);
	s->target = calloc(1, n);
	s->message = calloc(s->rq_size, sizeof(*s->message));
	s->smr = make_mr(s, s->sbuf, s->sndbuf);
	s->rmr = make_mr(s, s->rbuf, s->rcvbuf);
	s->target_mr = make_mr(s, s->target, n);
	return s->smr && s->rmr && s->target_mr && s->message ? 0 : ENOMEM;
}

static void post_receive(struct rs_sock *s)
{
	struct ibv_recv_wr wr = {0}, *bad;

	/* An error has the QP's error completions tell. */
	if (ibv_post_recv(s->id->qp, &wr, &bad))
		s->error = s->error ? s->error : EIO;
}

static int make_qp(struct rs_sock *s)
{
	struct ibv_qp_init_attr a = {.qp_type = IBV_QPT_RC, .sq_sig_all = 1};

	s->completions = ibv_create_comp_channel(s->id->verbs);
	if (!s->completions)
		return errno;
	fcntl(s->completions->fd, F_SETFL, fcntl(s->completions->fd, F_GETFL) | O_NONBLOCK);
	s->cq = ibv_create_cq(s->id->verbs, (int)(s->sq_size + s->rq_size), s, s->completions, 0);
	if (!s->cq)
		return errno;
	a.send_cq = a.recv_cq = s->cq;
	a.cap = (struct ibv_qp_cap){s->sq_size, s->rq_size, 2, 1, s->inline_size};
	if (rdma_create_qp(s->id, NULL, &a))
		return errno;
	s->inline_size = a.cap.max_inline_data;
	for (uint32_t i = 0; i < s->rq_size; i++)
		post_receive(s);
	return 0;
}

int rs_sock_make(struct rs_sock *s)
{
	int err = make_memory(s);

	if (!err)
		err = make_qp(s);
	s->s_free = s->sndbuf;
	s->r_free = s->r_offer = s->rcvbuf / 2;
	return err;
}

static void drop_mr(struct ibv_mr **mr)
{
	if (*mr)
		ibv_dereg_mr(*mr);
	*mr = NULL;
}

void rs_sock_unmake(struct rs_sock *s)
{
	if (s->id && s->id->qp)
		rdma_destroy_qp(s->id);
	if (s->cq)
		ibv_destroy_cq(s->cq);
	if (s->completions)
		ibv_destroy_comp_channel(s->completions);
	while (s->maps) {
		struct rs_sock_map *m = s->maps;

		s->maps = m->next;
		drop_mr(&m->mr);
		free(m);
	}
	drop_mr(&s->smr);
	drop_mr(&s->rmr);
	drop_mr(&s->target_mr);
	free(s->sbuf);
	free(s->rbuf);
	free(s->target);
	free(s->message);
}

/* ---- What is said as connections are made ---- */

/* Up to 128 as it is; above, in steps of 256. */
static uint8_t scale(unsigned n)
{
	return (uint8_t)(n <= SCALE_BIT ? n : SCALE_BIT | n >> SCALE_SHIFT);
}

static unsigned unscale(uint8_t v)
{
	return v <= SCALE_BIT ? v : (v & (SCALE_BIT - 1u)) << SCALE_SHIFT;
}

static struct rs_sock_sge swapped(struct rs_sock_sge g)
{
	return (struct rs_sock_sge){htobe64(g.addr), htobe32(g.key), htobe32(g.length)};
}

void rs_sock_hello(struct rs_sock *s, struct rs_sock_hello *h)
{
	*h = (struct rs_sock_hello){
		.version = RS_SOCK_VERSION,
		.flags = FLAG_IOMAP,
		.credits = htobe16((uint16_t)s->rq_size),
		.iomaps = scale(s->n_iomaps),
		.target = swapped((struct rs_sock_sge){(uintptr_t)s->target, s->target_mr->rkey,
						       RS_SOCK_SGES}),
		.data = swapped(
			(struct rs_sock_sge){(uintptr_t)s->rbuf, s->rmr->rkey, s->rcvbuf / 2}),
	};
}

int rs_sock_hear(struct rs_sock *s, const struct rs_sock_hello *h, size_t n)
{
	if (n < sizeof(*h) || h->version != RS_SOCK_VERSION || (h->flags & FLAG_BIG_ENDIAN))
		return EPROTO;
	s->s_limit = be16toh(h->credits);
	s->peer_target = swapped(h->target);
	s->target[0] = swapped(h->data);
	if (!s->peer_target.length)
		return EPROTO;
	s->peer_at = 1 % s->peer_target.length; /* the first is what it said just now */
	if (h->flags & FLAG_IOMAP) {
		s->n_peer_iomaps = unscale(h->iomaps);
		s->peer_iomap =
			s->peer_target.addr + s->peer_target.length * sizeof(struct rs_sock_sge);
	}
	return 0;
}

/* ---- Posting ---- */

static bool post(struct rs_sock *s, struct ibv_sge *sge, int n, uint64_t to, uint32_t key,
		 uint32_t message, uint64_t wr_id, bool inlined)
{
	struct ibv_send_wr *bad, wr = {.wr_id = wr_id,
				       .sg_list = sge,
				       .num_sge = n,
				       .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
				       .send_flags = inlined ? IBV_SEND_INLINE : 0,
				       .imm_data = htobe32(message),
				       .wr.rdma = {to, key}};

	return ibv_post_send(s->id->qp, &wr, &bad) == 0;
}

static bool control_free(const struct rs_sock *s)
{
	return s->controls < RS_SOCK_CONTROLS;
}

/* A message, with an entry of a table of the peer's (n bytes to `to`) or without. */
static bool post_control(struct rs_sock *s, uint32_t message, void *entry, uint32_t n, uint64_t to)
{
	struct ibv_sge sge = {(uintptr_t)entry, n, 0};

	if (!post(s, &sge, n ? 1 : 0, to, s->peer_target.key, message, WR_CONTROL, n != 0))
		return false;
	s->controls++;
	return true;
}

bool rs_sock_say(struct rs_sock *s, bool goodbye)
{
	return control_free(s) &&
	       post_control(s, (uint32_t)CONTROL << TYPE_SHIFT | (goodbye ? GOODBYE : SHUTDOWN),
			    NULL, 0, 0);
}

/* The messages that the peer may send, up to a number; and the next half of the buffer, if it is
 * free. */
static void give_credits(struct rs_sock *s)
{
	uint32_t half = s->rcvbuf / 2;
	uint32_t message = (uint32_t)CREDITS << TYPE_SHIFT | (uint16_t)(s->r_seq + s->rq_size);
	bool buffer = s->r_free >= half;
	struct rs_sock_sge offer = {(uintptr_t)s->rbuf + s->r_offer, s->rmr->rkey, half};

	if ((!buffer && (uint16_t)(s->r_seq - s->r_given) < s->rq_size / 2) || !control_free(s))
		return;
	if (!post_control(s, message, &offer, buffer ? sizeof(offer) : 0,
			  buffer ? s->peer_target.addr + s->peer_at * sizeof(offer) : 0))
		return;
	s->r_given = s->r_seq;
	if (!buffer)
		return;
	s->r_free -= half;
	s->r_offer = s->r_offer ? 0 : half;
	s->peer_at = (s->peer_at + 1) % s->peer_target.length;
}

bool rs_sock_send_maps(struct rs_sock *s)
{
	for (struct rs_sock_map *m = s->maps; m; m = m->next) {
		struct rs_sock_iomap e = {
			m->offset, {(uintptr_t)m->mr->addr, m->mr->rkey, (uint32_t)m->mr->length}};

		if (!m->pending)
			continue;
		if (!control_free(s) ||
		    !post_control(s, (uint32_t)IOMAP << TYPE_SHIFT | (uint32_t)m->index, &e,
				  sizeof(e), s->peer_iomap + (uint64_t)m->index * sizeof(e)))
			return false;
		m->pending = false;
	}
	return true;
}

/* ---- Bytes out ---- */

/* Beside those of messages that carry no data. */
static uint32_t most_sends(const struct rs_sock *s)
{
	return s->sq_size - RS_SOCK_CONTROLS;
}

/* The peer's WRITEs land in this memory when they land: that is the protocol, and no race of
 * threads. */
#define PEER_WRITES __attribute__((no_sanitize("thread")))

PEER_WRITES bool rs_sock_can_send(const struct rs_sock *s)
{
	/* The peer's WRITE fills an entry from its start to its end: the length comes last. */
	return s->s_seq != s->s_limit && s->sends < most_sends(s) && s->s_free &&
	       __atomic_load_n(&s->target[s->target_at].length, __ATOMIC_ACQUIRE);
}

bool rs_sock_idle(const struct rs_sock *s)
{
	return !s->sends && !s->controls;
}

static uint32_t least(size_t a, uint32_t b)
{
	return a < b ? (uint32_t)a : b;
}

/* Into the ring, as one or two pieces. */
static int fill_ring(struct rs_sock *s, const uint8_t *bytes, uint32_t n, struct ibv_sge sge[2])
{
	uint32_t first = least(n, s->sndbuf - s->s_at);

	memcpy(s->sbuf + s->s_at, bytes, first);
	memcpy(s->sbuf, bytes + first, n - first);
	sge[0] = (struct ibv_sge){(uintptr_t)s->sbuf + s->s_at, first, s->smr->lkey};
	sge[1] = (struct ibv_sge){(uintptr_t)s->sbuf, n - first, s->smr->lkey};
	return first < n ? 2 : 1;
}

/*
 * n bytes to the peer, counted. False: the QP refused. Of many, the message that tells of them is
 * an empty WRITE behind theirs: the last packet of a WRITE that carries it is longer than those
 * before, so that by the wire it needs a send of its own, unless all are filled to one length; and
 * between processes a WRITE without it is copied at once to where it belongs.
 */
static bool post_bytes(struct rs_sock *s, const uint8_t *bytes, uint32_t n, uint64_t to,
		       uint32_t key, const uint32_t *message)
{
	struct ibv_sge sge[2] = {{(uintptr_t)bytes, n, 0}};
	bool inlined = n <= s->inline_size;
	uint32_t freed = inlined ? 0 : n;
	bool apart = message && n >= RS_SOCK_APART && s->sends + 1 < most_sends(s) &&
		     !rs_verbs_fills(s->id->qp);
	struct ibv_send_wr *bad,
		tell = {.opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .wr.rdma = {to, key}},
		wr = {.wr_id = freed,
		      .next = apart ? &tell : NULL,
		      .sg_list = sge,
		      .num_sge = 1,
		      .opcode = message && !apart ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE,
		      .send_flags = inlined ? IBV_SEND_INLINE : 0,
		      .wr.rdma = {to, key}};

	if (message)
		wr.imm_data = tell.imm_data = htobe32(*message);
	if (!inlined)
		wr.num_sge = fill_ring(s, bytes, n, sge);
	if (ibv_post_send(s->id->qp, &wr, &bad))
		return false;
	s->s_at = (s->s_at + freed) % s->sndbuf;
	s->s_free -= freed;
	s->sends += 1 + apart;
	return true;
}

PEER_WRITES size_t rs_sock_send_some(struct rs_sock *s, const uint8_t *bytes, size_t n)
{
	struct rs_sock_sge *t = &s->target[s->target_at], to = *t;
	uint32_t some = least(least(n, RS_SOCK_TRANSFER), least(to.length, s->s_free));
	uint32_t message = (uint32_t)DATA << TYPE_SHIFT | some;

	/* Before it goes: once the peer has its last byte it may write the entry anew. */
	t->addr += some;
	t->length -= some;
	if (to.length == some)
		s->target_at = (s->target_at + 1) % RS_SOCK_SGES;
	if (!post_bytes(s, bytes, some, to.addr, to.key, &message))
		return 0;
	s->s_seq++;
	return some;
}

PEER_WRITES ssize_t rs_sock_write_some(struct rs_sock *s, const uint8_t *bytes, size_t n,
				       uint64_t offset)
{
	struct rs_sock_iomap *m = rs_sock_iomaps(s), *end = m + s->n_iomaps;
	uint32_t some = least(least(n, RS_SOCK_TRANSFER), s->s_free);

	while (m < end && (offset < m->offset || offset - m->offset >= m->sge.length))
		m++;
	if (m == end)
		return -1;
	some = least(m->sge.length - (offset - m->offset), some);
	return post_bytes(s, bytes, some, m->sge.addr + (offset - m->offset), m->sge.key, NULL)
		       ? (ssize_t)some
		       : 0;
}

/* ---- Bytes in ---- */

size_t rs_sock_read_some(struct rs_sock *s, uint8_t *bytes, size_t n, bool peek)
{
	uint32_t some = least(n, s->r_ready), first = least(some, s->rcvbuf - s->r_at), left = some;

	memcpy(bytes, s->rbuf + s->r_at, first);
	memcpy(bytes + first, s->rbuf, some - first);
	if (peek)
		return some;
	s->r_at = (s->r_at + some) % s->rcvbuf;
	s->r_ready -= some;
	s->r_free += some;
	while (left) {
		uint32_t of_this = least(left, s->message[s->m_at] - s->m_read);

		left -= of_this;
		s->m_read += of_this;
		if (s->m_read < s->message[s->m_at])
			break;
		s->m_at = (s->m_at + 1) % s->rq_size;
		s->m_count--;
		s->m_read = 0;
		s->r_seq++;
	}
	return some;
}

static void on_control(struct rs_sock *s, uint32_t what)
{
	if (what == KEEPALIVE)
		return;
	s->may_read = false;
	if (what == GOODBYE)
		s->may_write = false;
}

/* A peer that sends more than it was given credits or room for breaks the protocol. */
static void on_data(struct rs_sock *s, uint32_t n)
{
	if (!n || n > s->rcvbuf - s->r_ready || s->m_count == s->rq_size) {
		s->error = EPROTO;
		s->state = RS_SOCK_FAILED;
		return;
	}
	s->message[(s->m_at + s->m_count++) % s->rq_size] = n;
	s->r_ready += n;
}

static void on_message(struct rs_sock *s, uint32_t message)
{
	uint32_t value = message & VALUE;

	post_receive(s);
	switch (message >> TYPE_SHIFT) {
	case DATA:
		on_data(s, value);
		break;
	case CREDITS:
		s->s_limit = (uint16_t)value;
		break;
	case CONTROL:
		on_control(s, value);
		break;
	default: /* iomaps are looked up where they were written */
		break;
	}
}

static void on_sent(struct rs_sock *s, uint64_t wr_id)
{
	if (wr_id == WR_CONTROL) {
		s->controls--;
		return;
	}
	s->sends--;
	s->s_free += (uint32_t)wr_id;
}

static void on_failure(struct rs_sock *s, enum ibv_wc_status status)
{
	if (s->state != RS_SOCK_CONNECTED)
		return;
	s->state = s->said_goodbye || !s->may_read ? RS_SOCK_OVER : RS_SOCK_FAILED;
	if (s->state == RS_SOCK_FAILED)
		s->error = status == IBV_WC_RETRY_EXC_ERR ? ETIMEDOUT : ECONNRESET;
}

/* A program that never waits yields the core now and then: the peer may need it. One that waits
 * sleeps sooner. */
enum { VAIN = 256 };

int rs_sock_look(struct rs_sock *s, struct ibv_cq *cq, int most, struct ibv_wc *wc)
{
	int n = rs_verbs_look(cq, most, wc, s->vain >= VAIN);

	s->vain = n ? 0 : s->vain + (s->vain < VAIN);
	return n;
}

/* An error completion's opcode means nothing: whether it was a send, its wr_id cannot tell either,
 * so after the first one nothing is counted any more. */
static void take_completions(struct rs_sock *s)
{
	struct ibv_wc wc[16];
	int n;

	while (s->cq && (n = rs_sock_look(s, s->cq, 16, wc)) > 0)
		for (int i = 0; i < n; i++) {
			if (wc[i].status != IBV_WC_SUCCESS)
				on_failure(s, wc[i].status);
			else if (wc[i].opcode == IBV_WC_RECV_RDMA_WITH_IMM)
				on_message(s, be32toh(wc[i].imm_data));
			else
				on_sent(s, wc[i].wr_id);
		}
}

/* ---- The connection's own events ---- */

static void on_established(struct rs_sock *s, const struct rdma_cm_event *e)
{
	int err = 0;

	if (s->state == RS_SOCK_CONNECTING)
		err = rs_sock_hear(s, e->param.conn.private_data, e->param.conn.private_data_len);
	s->state = err ? RS_SOCK_FAILED : RS_SOCK_CONNECTED;
	s->may_read = s->may_write = !err;
	s->error = err;
}

static void on_event(struct rs_sock *s, const struct rdma_cm_event *e)
{
	if (e->event == RDMA_CM_EVENT_ESTABLISHED) {
		on_established(s, e);
	} else if (e->event == RDMA_CM_EVENT_DISCONNECTED) {
		take_completions(s);
		if (s->state == RS_SOCK_CONNECTED)
			s->state = RS_SOCK_OVER;
		s->may_read = s->may_write = false;
	} else if (s->state == RS_SOCK_CONNECTING || s->state == RS_SOCK_ACCEPTING) {
		s->state = RS_SOCK_FAILED;
		s->error = e->event == RDMA_CM_EVENT_REJECTED ? ECONNREFUSED : ETIMEDOUT;
	}
}

void rs_sock_progress(struct rs_sock *s)
{
	struct rdma_cm_event *e;

	if (s->dgram) {
		rs_dgram_progress(s);
		return;
	}
	if (s->state == RS_SOCK_LISTENING || s->state <= RS_SOCK_BOUND)
		return;
	take_completions(s);
	while (rs_cm_pending(s->channel) && !rdma_get_cm_event(s->channel, &e)) {
		on_event(s, e);
		rdma_ack_cm_event(e);
	}
	if (s->state == RS_SOCK_CONNECTED)
		give_credits(s);
}
