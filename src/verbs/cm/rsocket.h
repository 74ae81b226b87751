/*
 * rsockets inside. Streams: a byte stream over RDMA WRITEs with immediate data into the peer's
 * receive buffer, wire-compatible with librdmacm's (its docs/rsocket, protocol version 1;
 * rsocket(7)). Datagrams: dgram.c.
 */
#ifndef RS_VERBS_CM_RSOCKET_H
#define RS_VERBS_CM_RSOCKET_H

#include <rdma/rsocket.h>
#include "verbs/cm/cm.h"

enum {
	RS_SOCK_MAX = 1 << 16, /* descriptors */
	RS_SOCK_SGES = 2,      /* halves of the receive buffer that the peer may write to */
	RS_SOCK_CONTROLS = 4,  /* sends kept for messages that carry no data */
	RS_SOCK_QUEUE = 384,
	RS_SOCK_BUFFER = 1024 * 1024,
	RS_SOCK_INLINE = 64,
	RS_SOCK_TRANSFER = 128 * 1024, /* bytes of one WRITE at most */
	RS_SOCK_APART = 8 * 1024, /* from so many on, what tells of them is a WRITE of its own */
	RS_SOCK_IOMAPS = 128,
	RS_SOCK_VERSION = 1,
	RS_SOCK_DATAGRAM = 2048 - 24, /* bytes at most: librdmacm receives 2048 with its header */
};

enum rs_sock_state {
	RS_SOCK_NEW,
	RS_SOCK_BOUND,
	RS_SOCK_LISTENING,
	RS_SOCK_CONNECTING, /* rconnect() */
	RS_SOCK_ACCEPTING,  /* raccept()ed, not yet established */
	RS_SOCK_CONNECTED,
	RS_SOCK_OVER,
	RS_SOCK_FAILED,
};

/* On the wire: big endian as private data, little endian when a WRITE carries it. */
struct rs_sock_sge {
	uint64_t addr;
	uint32_t key, length;
};

struct rs_sock_iomap {
	uint64_t offset;
	struct rs_sock_sge sge;
};

struct rs_sock_hello {
	uint8_t version, flags;
	__be16 credits;
	uint8_t reserved[3];
	uint8_t iomaps; /* rs_sock_scale() */
	struct rs_sock_sge target, data;
};

/* A buffer that the application mapped: riomap(). */
struct rs_sock_map {
	struct ibv_mr *mr;
	uint64_t offset;
	int index; /* in the peer's table; -1: local only */
	bool pending;
	struct rs_sock_map *next;
};

struct rs_sock {
	pthread_mutex_t lock;
	pthread_cond_t progressed;
	unsigned vain; /* looks for completions in a row that found none, and no sleep */
	bool waiting;  /* a thread sleeps on the descriptors; others on the condition */
	enum rs_sock_state state;
	int error; /* of SO_ERROR */
	int fd, flags, domain;
	bool may_read, may_write; /* in this direction bytes may still come, or be sent */
	bool said_goodbye;
	struct rdma_cm_id *id;
	struct rdma_event_channel *channel;
	struct ibv_comp_channel *completions;
	struct ibv_cq *cq;

	uint32_t sq_size, rq_size, inline_size, sndbuf, rcvbuf;
	struct linger linger;
	bool blocked; /* a send found no room since repoll_wait() said that there is */
	int reuse, keepalive, oob, nodelay, v6only, keep[3];

	/* what we send */
	uint8_t *sbuf;
	struct ibv_mr *smr;
	uint32_t s_at, s_free;    /* a ring: completions come in order */
	uint32_t sends, controls; /* outstanding */
	uint16_t s_seq, s_limit;  /* data messages sent; as many as the peer has receives for */
	struct rs_sock_sge
		*target; /* RS_SOCK_SGES of the peer's buffers, which it writes; then iomaps */
	struct ibv_mr *target_mr;
	unsigned target_at, n_iomaps;

	/* what we receive */
	uint8_t *rbuf;
	struct ibv_mr *rmr;
	uint32_t r_at, r_ready;  /* bytes that came and were not yet read, a ring */
	uint32_t r_free;         /* bytes read since a half was last offered */
	uint32_t r_offer;        /* the half that is offered next: its place in rbuf */
	uint16_t r_seq, r_given; /* data messages read; r_seq when credits were last given */
	struct rs_sock_sge peer_target;
	unsigned peer_at;
	uint32_t *message; /* a ring of rq_size: bytes of the messages that came */
	uint32_t m_at, m_count;
	uint32_t m_read; /* bytes read of the oldest */

	uint64_t peer_iomap;
	unsigned n_peer_iomaps;
	struct rs_sock_map *maps;

	struct rs_dgram *dgram; /* of datagrams: then there is no id, and fd is an epoll's */
};

/* What sockets begin with: rsocket(7)'s files under /etc/rdma/rsocket, read once. */
struct rs_sock_conf {
	uint32_t mem, wmem; /* mem_default, wmem_default: bytes to receive into, to send from */
	uint32_t sq, rq, inline_size, iomaps;
	int64_t spin_ns; /* polling_time */
	int wake_ms;     /* wake_up_interval */
};

/* conf.c */
const struct rs_sock_conf *rs_sock_conf(void);

static inline struct rs_sock_iomap *rs_sock_iomaps(struct rs_sock *s)
{
	return (struct rs_sock_iomap *)(void *)(s->target + RS_SOCK_SGES);
}

/* stream.c: locked, unless said otherwise. 0 or an errno value. */
int rs_sock_make(struct rs_sock *s);
void rs_sock_unmake(struct rs_sock *s);
void rs_sock_hello(struct rs_sock *s, struct rs_sock_hello *h);
/* -EPROTO: what the peer says makes no sense. */
int rs_sock_hear(struct rs_sock *s, const struct rs_sock_hello *h, size_t n);
/* Take completions, give credits; then the connection's events. */
void rs_sock_progress(struct rs_sock *s);
/* Completions of this queue of the socket's, at most so many. */
int rs_sock_look(struct rs_sock *s, struct ibv_cq *cq, int most, struct ibv_wc *wc);
bool rs_sock_can_send(const struct rs_sock *s);
bool rs_sock_idle(const struct rs_sock *s); /* nothing that was sent is unacknowledged */
/* Some bytes of a vector: how many; 0: none now. */
size_t rs_sock_send_some(struct rs_sock *s, const uint8_t *bytes, size_t n);
size_t rs_sock_read_some(struct rs_sock *s, uint8_t *bytes, size_t n, bool peek);
/* Into a mapped buffer of the peer. 0: none now; -1: no such offset is mapped. */
ssize_t rs_sock_write_some(struct rs_sock *s, const uint8_t *bytes, size_t n, uint64_t offset);
/* False: not now. */
bool rs_sock_send_maps(struct rs_sock *s);
bool rs_sock_say(struct rs_sock *s, bool goodbye);

/* dgram.c: locked. 0 or an errno value. */
int rs_dgram_make(struct rs_sock *s);
void rs_dgram_unmake(struct rs_sock *s);
int rs_dgram_bind(struct rs_sock *s, const struct sockaddr *a, socklen_t n);
int rs_dgram_connect(struct rs_sock *s, const struct sockaddr *a);
int rs_dgram_own(struct rs_sock *s, struct sockaddr_storage *a);
int rs_dgram_peer(struct rs_sock *s, struct sockaddr_storage *a);
void rs_dgram_option(struct rs_sock *s, int level, int which, int value);
/* -1 with errno. a: NULL: to the peer. */
ssize_t rs_dgram_send(struct rs_sock *s, const struct iovec *v, size_t n, int flags,
		      const struct sockaddr *a);
/* flags: of the call, then those of msg_flags. a, len: the sender, or NULL. */
ssize_t rs_dgram_receive(struct rs_sock *s, const struct iovec *v, size_t n, int *flags,
			 struct sockaddr *a, socklen_t *len);
void rs_dgram_progress(struct rs_sock *s);
short rs_dgram_events(struct rs_sock *s);
void rs_dgram_arm(struct rs_sock *s);
void rs_dgram_disarm(struct rs_sock *s);

/* sockwait.c. The events of poll(2) that hold now; locked. */
short rs_sock_events(struct rs_sock *s);
/* Locked: until ready says so. An errno value: EAGAIN (once: do not wait), EINTR. */
int rs_sock_wait(struct rs_sock *s, bool (*ready)(const struct rs_sock *s), bool once);
/* repoll.c: -1 with errno EBADF. */
int rs_repoll_close(int fd);
/* An rsocket is closed: it is in no set from then on. */
void rs_repoll_forget(int fd);
/* rsocket.c: may a program that was told of room in its socket have used it up? */
bool rs_sock_blocked(int fd);
void rs_sock_unblock(int fd);
/* NULL with errno EBADF. */
struct rs_sock *rs_sock_of(int fd);
/* ... locked; NULL with errno. */
struct rs_sock *rs_sock_take(int fd);

#endif
