/*
 * librdmacm.so.1 inside: identifiers, their connections' states (IBTA §12.9.7), event channels and
 * the thread that hears QP1. One lock, rs_cm_lock, guards all of it; it is taken before a device's.
 */
#ifndef RS_VERBS_CM_CM_H
#define RS_VERBS_CM_CM_H

#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include "verbs/cm/alive.h"
#include "verbs/cm/mad.h"
#include "verbs/gsi.h"

enum {
	RS_CM_TRIES = 15,   /* of one message */
	RS_CM_TIMEOUT = 20, /* 4.096 us * 2^20 = 4.3 s: what the peer is told to wait, as Linux */
	/* Between our tries: twice as long each time. Within a host datagrams go through a Unix
	 * socket that holds ten, so the first comes soon. */
	RS_CM_RETRY_MS = 64,
	RS_CM_RETRY_MAX_MS = 1024,
	/* First tries of REQ, REP and DREQ by a process: a socket of Linux's default size holds 250
	 * of them. */
	RS_CM_BURST = 128,
	RS_CM_BURST_MS = 16,
	RS_CM_NOT_YET = 4,       /* tries that "no listener" does not end: 1 s */
	RS_CM_NOT_YET_KNOWN = 7, /* the same, of a host that a connection stands with: 4 s */
	RS_CM_INBOX = 1024,      /* datagrams that wait for the thread; more are lost */
	RS_CM_BACKLOG = 1024,
	RS_CM_ACK_TIMEOUT = 15, /* 134 ms: of the transport, unless an option says otherwise */
	RS_CM_ACK_DELAY = 15,   /* 134 ms: that the peer is told of, as rdma_rxe tells */
	RS_CM_MIN_RNR = 12,     /* 0.64 ms */
	/* Between looks at whether the process at the other end is there, where it is of this host.
	 * By judgement. */
	RS_CM_LOOK_MS = 500,
	RS_CM_GHOSTS = 1024, /* destroyed identifiers that still say goodbye, or no */
	RS_CM_REFUSED_MS = 3 * RS_CM_RETRY_MAX_MS, /* so long is what was refused remembered */
};

enum rs_cm_state {
	RS_CM_IDLE,
	RS_CM_LISTEN,
	RS_CM_REQ_SENT,
	RS_CM_REQ_RCVD,
	RS_CM_REP_SENT,
	RS_CM_REP_RCVD, /* the application has the QP: rdma_establish() ends it */
	RS_CM_ESTABLISHED,
	RS_CM_DREQ_SENT,
	RS_CM_CLOSED, /* with due_ms: what is left of TimeWait (§12.9.8.4) */
};

struct rs_cm_dev {
	struct ibv_context *verbs;
	struct ibv_pd *pd;     /* of identifiers that were given none */
	struct ibv_xrcd *xrcd; /* likewise */
	unsigned slot;
	struct rs_cm_dev *next;
};

struct rs_cm_channel {
	struct rdma_event_channel base;
	struct rs_level level;
	struct rs_cm_event *head, **tail;
};

struct rs_cm_event {
	struct rdma_cm_event base;
	struct rs_cm_event *next;
	struct rs_cm_id *id; /* whose acknowledgement counts */
	uint8_t private_data[RS_CM_PRIVATE_MAX];
};

struct rs_cm_group {
	struct sockaddr_storage addr;
	union ibv_gid gid;
	bool attached;
	struct rs_cm_group *next;
};

struct rs_cm_id {
	struct rdma_cm_id base;
	struct rs_cm_id *next;
	struct rs_cm_dev *dev, *port_dev; /* port_dev: whose slot holds the port */
	enum rs_cm_state state;
	bool sync, own_channel, bound, passive, ghost;
	bool left;           /* by its peer; this side's application has not disconnected */
	unsigned how;        /* enum rs_cm_how, as it was bound */
	bool shared;         /* options: RDMA_OPTION_ID_REUSEADDR */
	signed char af_only; /* RDMA_OPTION_ID_AFONLY; -1: not set */
	int place;           /* of its port, as rs_verbs_cm_bind() gave it */
	uint16_t port;       /* host order */
	bool ipv6;           /* the family of bound_gid */
	uint8_t bound_gid[16];
	uint8_t own[16], peer[16];
	uint32_t local_id, remote_id, qpn, psn, remote_qpn, remote_psn, qkey;
	uint64_t tid;
	uint8_t responder_resources, initiator_depth, retry_count, rnr_retry, mtu, tos, ack_timeout;
	bool srq;
	struct rs_alive alive;     /* of an established one whose peer is of another host */
	uint8_t mad[RS_MAD_BYTES]; /* sent again until it is answered */
	unsigned tries;
	int64_t due_ms;                 /* 0: nothing is */
	unsigned events;                /* got and not yet acknowledged */
	unsigned backlog, backlog_most; /* of a listener: requests not yet taken */
	struct rs_cm_id *listener;      /* of a request that was not yet taken */
	struct rs_cm_group *groups;
	struct rs_cm_ask *ask; /* an address that is resolved in the background */
	bool made_cqs;
	struct ibv_qp_init_attr qp_init; /* of rdma_create_ep()'s listener */
	bool has_qp_init;
	struct ibv_pd *ep_pd;
	struct ibv_ece ece, remote_ece;
	struct ibv_sa_path_rec path;
};

extern pthread_mutex_t rs_cm_lock;

static inline struct rs_cm_id *rs_cm_id(struct rdma_cm_id *id)
{
	return rs_container(id, struct rs_cm_id, base);
}

/* -1 with errno; err is an errno value. */
int rs_cm_fail(int err);

/* core.c: locked. The device of an address, opened; NULL: none has it (any: the first). */
struct rs_cm_dev *rs_cm_device(const uint8_t gid[16]);
struct rs_cm_dev *rs_cm_any_device(void);
void rs_cm_add(struct rs_cm_id *id);
void rs_cm_remove(struct rs_cm_id *id);
struct rs_cm_id *rs_cm_all(void);
int64_t rs_cm_now_ms(void);
/* Locked: have the thread look at deadlines anew. */
void rs_cm_wake(void);
uint32_t rs_cm_random(void);
/* -EADDRINUSE, -ENODEV... Locked: take the identifier's port. */
int rs_cm_take_port(struct rs_cm_id *id);
/* Locked: its options changed. */
void rs_cm_change_port(struct rs_cm_id *id);
void rs_cm_give_port(struct rs_cm_id *id);

/* Locked: an identifier is destroyed, but its disconnect request goes on until it is answered, or
 * until due_ms it answers what it refused. */
void rs_cm_haunt(const struct rs_cm_id *id, int64_t due_ms);

/* channel.c */
struct rs_cm_id *rs_cm_new(struct rdma_event_channel *channel, void *context,
			   enum rdma_port_space ps, enum ibv_qp_type type);
/* Locked: queue an event; NULL: no memory, lost. */
struct rs_cm_event *rs_cm_post(struct rs_cm_id *id, enum rdma_cm_event_type type, int status);
/* Not locked: does an event wait? Cheaper than to ask for one. */
bool rs_cm_pending(struct rdma_event_channel *channel);
void rs_cm_drop_events(struct rs_cm_id *id);
/* Not locked. What a synchronous identifier's call waits for: 0, or -1 with errno. */
int rs_cm_wait(struct rs_cm_id *id);

/* newer.c. Locked: the identifier goes, or asks for another address. */
void rs_cm_forget_ask(struct rs_cm_id *id);

/* proto.c: locked. A communication ID that no other identifier has; peers find their way back by
 * slot. */
uint32_t rs_cm_new_number(unsigned slot);
void rs_cm_receive(const struct rs_gsi_datagram *d);
void rs_cm_expire(struct rs_cm_id *id, int64_t now);
/* Was its last word a refusal? */
bool rs_cm_refused(const struct rs_cm_id *id);
int rs_cm_send_req(struct rs_cm_id *id, const void *data, unsigned n);
int rs_cm_send_rep(struct rs_cm_id *id, const void *data, unsigned n);
int rs_cm_send_rtu(struct rs_cm_id *id);
int rs_cm_send_rej(struct rs_cm_id *id, unsigned reason, const void *data, unsigned n);
int rs_cm_send_dreq(struct rs_cm_id *id);
/* The application disconnects, or takes leave of a peer that has: then TimeWait begins. */
int rs_cm_part(struct rs_cm_id *id);
int rs_cm_send_sidr_rep(struct rs_cm_id *id, unsigned status, const void *data, unsigned n);

/* qp.c */
int rs_cm_qp_attr(struct rs_cm_id *id, struct ibv_qp_attr *a, int *mask);
/* Move the identifier's QP, if it has one. Errno values. */
int rs_cm_qp_to(struct rs_cm_id *id, enum ibv_qp_state to);
/* Locked: the path record and MTU from own and peer. */
void rs_cm_set_path(struct rs_cm_id *id);
void rs_cm_fill_ah(struct rs_cm_id *id, const uint8_t dgid[16], struct ibv_ah_attr *a);

/* addr.c */
bool rs_cm_gid_of(const struct sockaddr *a, uint8_t gid[16], uint16_t *port);
bool rs_cm_is_ipv4(const uint8_t gid[16]);
void rs_cm_addr_of(const uint8_t gid[16], uint16_t port, struct sockaddr_storage *a);

#endif
