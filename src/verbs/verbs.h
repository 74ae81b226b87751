/*
 * The objects of libibverbs.so.1 over a live device: each holds the public struct that the headers
 * of libibverbs-dev define, first, and what stands behind it.
 *
 * A context has one live device, or several (RIPSTOP_SOCKETS): lanes, each with a socket, an
 * engine, a lock and a thread. A queue pair and a shared receive queue are in one lane; completion
 * queues, regions, windows and address handles in all. What is made, changed or destroyed has all
 * locks; what is posted and polled has its lane's.
 */
#ifndef RS_VERBS_VERBS_H
#define RS_VERBS_VERBS_H

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include "live/live.h"
#include "verbs/level.h"

/* Functions that the library exports; everything else is hidden. */
#define RS_EXPORT __attribute__((visibility("default")))

/*
 * rs_private_NAME is what plug-ins of rdma-core find as NAME in IBVERBS_PRIVATE_*. rdma-core
 * renames that set when a structure in it changes: 34 (rdma-core 34 to 56), 57, 59, 64, 65. None is
 * read here, so one function serves all.
 */
#define RS_PRIVATE(name)          \
	RS_NAMED(name, "@", "34") \
	RS_NAMED(name, "@", "57") \
	RS_NAMED(name, "@", "59") RS_NAMED(name, "@", "64") RS_NAMED(name, "@@", "65")
#define RS_NAMED(name, at, set)                                            \
	__asm__(".globl rs_private_" set "_" #name "\n"                    \
		".set rs_private_" set "_" #name ",rs_private_" #name "\n" \
		".symver rs_private_" set "_" #name "," #name at "IBVERBS_PRIVATE_" set);

#define rs_container(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

enum {
	RS_V_MAX_SGE = 16,
	RS_V_MAX_WR = 1 << 15,
	RS_V_MAX_CQE = (1 << 22) - 1,
	RS_V_MAX_INLINE = 1024,
	RS_V_MAX_RD_ATOMIC = 16,
	RS_V_MAX_DM = 1 << 20,
	RS_V_MAX_MCAST_QPS = 4096,
	RS_V_MAX_SRQ_WR = 1 << 15,
	RS_V_MAX_PDS = 1 << 16,
	RS_V_MAX_MSG = 1 << 30,
	RS_V_COMP_VECTORS = 4,
	RS_V_PORT = 1,
};

/* Among ibv_event_type's values: an entry of a completion channel. */
#define RS_V_COMPLETION ((enum ibv_event_type)0x1000)

/* ibv_device, then the pointer by which rdma-core's plug-ins tell their own devices. */
struct rs_vdevice {
	struct ibv_device base;
	const void *mark;
	struct rs_live_device live;
	int refs; /* contexts; under the list's lock */
};

/*
 * A list that objects leave in constant time: with a million regions, too. Both want the device's
 * lock. o has its own next, and prev, which points at what points at it.
 */
#define rs_vlist_add(head, o)                         \
	do {                                          \
		(o)->next = *(head);                  \
		(o)->prev = (head);                   \
		if ((o)->next)                        \
			(o)->next->prev = &(o)->next; \
		*(head) = (o);                        \
	} while (0)
#define rs_vlist_remove(o)                           \
	do {                                         \
		*(o)->prev = (o)->next;              \
		if ((o)->next)                       \
			(o)->next->prev = (o)->prev; \
	} while (0)

/* A queue of events behind a descriptor that is readable exactly while one waits. */
struct rs_vevents {
	struct rs_level level;
	struct rs_vevent *head, **tail;
};

/* Of one queue's events those about one object, which takes them along when it goes. */
struct rs_vpending {
	struct rs_vevent *first, *last;
};

struct rs_vevent {
	struct rs_vevent *next, **prev;
	struct rs_vevent *sibling; /* the next about the same object */
	struct rs_vpending *of;
	void *object; /* a CQ, or what an asynchronous event is about */
	enum ibv_event_type type;
};

/* What stands behind a lane's events. */
struct rs_vlane {
	struct rs_vctx *c;
	struct rs_live *live;
};

struct rs_vctx {
	struct verbs_context v; /* ends with the ibv_context that the application sees */
	struct rs_live *live;   /* the first lane's: rdma_cm's, XRC's and most datagrams' */
	struct rs_vlane lane[RS_LIVE_LANES];
	unsigned lanes, next_lane;
	pthread_mutex_t telling; /* several lanes add events at once */
	struct rs_vdevice *device;
	struct rs_vevents async;
	uint32_t next_pd, next_handle;
	struct rs_vmr *mrs; /* for import by handle */
	struct rs_vpd *pds;
	struct rs_vdm *dms;
	struct rs_vxrcd *xrcds;
	uint32_t next_xrcd;
	int refs; /* opened once, and imported; under the list's lock */
	struct rs_vctx *next;
};

/*
 * Who uses an object is counted once. QPs and SRQs on a CQ, QPs on an SRQ and windows on a region
 * are the engine's to count, and its destroy says -EBUSY. What it knows as a number only, or not at
 * all, is counted here, in refs. Either count changes with the device's lock held, in the stretch
 * that makes or destroys the user.
 */
struct rs_vpd {
	struct ibv_pd base;
	uint32_t number; /* of the engine's protection domain: a parent domain has its parent's */
	uint32_t refs;   /* regions, windows, address handles, SRQs, QPs, and domains made of it */
	struct rs_vpd *parent, *next, **prev;
	struct rs_vtd *td; /* of a parent domain */
};

struct rs_vtd {
	struct ibv_td base;
	uint32_t refs; /* parent domains */
};

struct rs_vmr {
	struct ibv_mr base;
	uint32_t key;
	uint32_t access;
	bool null;         /* no memory; its domain may go before it */
	struct rs_vdm *dm; /* of device memory; NULL: the host's */
	struct rs_vmr *next, **prev;
};

struct rs_vdm {
	struct ibv_dm base;
	uint8_t *bytes;
	size_t length;
	uint32_t refs; /* regions */
	struct rs_vdm *next, **prev;
};

struct rs_vchannel {
	struct ibv_comp_channel base;
	struct rs_vevents events;
};

enum rs_varm { RS_V_ARM_NONE, RS_V_ARM_SOLICITED, RS_V_ARM_NEXT };

struct rs_vcq {
	struct ibv_cq_ex ex;             /* every CQ is a full one */
	struct rs_cq *cq[RS_LIVE_LANES]; /* a part in each lane */
	_Atomic uint32_t used;           /* bits of lanes that have users of it */
	_Atomic uint32_t turn;           /* the lane that is looked at first */
	_Atomic uint32_t missed;         /* looks at lanes that their threads held */
	enum rs_varm armed; /* the whole; a lane that tells holds rs_vctx.telling, too */
	struct rs_cqe now;  /* of ibv_start_poll() */
	uint64_t timestamp;
	uint32_t events_got, async_got; /* events handed to the application */
	struct rs_vpending events, async;
};

struct rs_vsrq {
	struct ibv_srq base;
	struct rs_srq *srq;
	unsigned lane;
	struct rs_live *live;
	uint32_t max_wr, max_sge;
	struct rs_vcq *cq; /* of XRC */
	struct rs_vxrcd *xrcd;
	struct rs_vpd *pd;
	uint32_t events_got;
	struct rs_vpending events;
};

struct rs_vxrcd {
	struct ibv_xrcd base;
	uint32_t number;
	uint32_t refs;          /* SRQs and targets' handles */
	uint64_t inode, volume; /* of the file that names it; inode 0: private */
	struct rs_vxrcd *next, **prev;
};

struct rs_vmw {
	struct ibv_mw base;
};

struct rs_vah {
	struct ibv_ah base;
	uint32_t endpoint[RS_LIVE_LANES];
	struct ibv_ah_attr attr;
};

struct rs_vqp {
	struct ibv_qp_ex ex; /* begins with the ibv_qp */
	struct rs_qp *qp;
	unsigned lane;
	struct rs_live *live;
	struct rs_vpd *pd;
	struct rs_vxrcd *xrcd;
	uint32_t domain;         /* the number of a target's */
	struct ibv_qp_attr attr; /* as set */
	struct ibv_qp_cap cap;
	bool sq_sig_all, has_path;
	uint32_t signaled, told; /* requests with a completion, and those that were polled */
	uint32_t endpoint;
	uint32_t events_got;
	struct rs_vpending events;
	struct rs_vbuild *build; /* of ibv_wr_start() */
	/* An XRC target may have more handles than the one that made it: ibv_open_qp(). */
	struct rs_vqp *made;  /* that one, which has the state; itself, when it is */
	struct rs_vqp *first; /* of made: the handles in use */
	struct rs_vqp *next, **prev;
	uint32_t handles; /* of made: memory that waits for the last */
};

static inline struct rs_vctx *rs_vctx(struct ibv_context *c)
{
	return rs_container(c, struct rs_vctx, v.context);
}

static inline struct rs_vpd *rs_vpd(struct ibv_pd *pd)
{
	return rs_container(pd, struct rs_vpd, base);
}

static inline struct rs_vmr *rs_vmr(struct ibv_mr *mr)
{
	return rs_container(mr, struct rs_vmr, base);
}

static inline struct rs_vcq *rs_vcq(struct ibv_cq *cq)
{
	return (struct rs_vcq *)(void *)cq;
}

static inline struct rs_vsrq *rs_vsrq(struct ibv_srq *srq)
{
	return rs_container(srq, struct rs_vsrq, base);
}

static inline struct rs_vah *rs_vah(struct ibv_ah *ah)
{
	return rs_container(ah, struct rs_vah, base);
}

static inline struct rs_vxrcd *rs_vxrcd(struct ibv_xrcd *x)
{
	return rs_container(x, struct rs_vxrcd, base);
}

static inline struct rs_vqp *rs_vqp(struct ibv_qp *qp)
{
	return (struct rs_vqp *)(void *)qp;
}

static inline struct ibv_qp *rs_vqp_base(struct rs_vqp *qp)
{
	return &qp->ex.qp_base;
}

/* All lanes, from the newest on, as a fork has them; the first one's engine. */
static inline struct rs_nic *rs_vctx_lock(struct rs_vctx *c)
{
	for (unsigned i = c->lanes; i-- > 0;)
		rs_live_lock(c->lane[i].live);
	return rs_live_nic(c->live);
}

static inline void rs_vctx_unlock(struct rs_vctx *c)
{
	for (unsigned i = 0; i < c->lanes; i++)
		rs_live_unlock(c->lane[i].live);
}

static inline struct rs_nic *rs_vctx_nic(struct rs_vctx *c, unsigned lane)
{
	return rs_live_nic(c->lane[lane].live);
}

/* Locked. The lane of a new connected queue pair, or of a new SRQ. */
static inline unsigned rs_vctx_next_lane(struct rs_vctx *c)
{
	return c->next_lane++ % c->lanes;
}

/* Locked. Of all lanes: rs_live_settle(). */
static inline void rs_vctx_settle(struct rs_vctx *c)
{
	for (unsigned i = 0; i < c->lanes; i++)
		rs_live_settle(c->lane[i].live);
}

/* events.c */
int rs_vevents_open(struct rs_vevents *v);
void rs_vevents_close(struct rs_vevents *v);
/* Locked. -ENOMEM: the event is lost. */
int rs_vevents_add(struct rs_vevents *v, void *object, struct rs_vpending *of,
		   enum ibv_event_type type);
/* Locked: what is queued about an object that goes away. */
void rs_vevents_drop(struct rs_vevents *v, struct rs_vpending *of);
/* The oldest event, waiting as the descriptor's flags say; lock is the live device's. -1 with
 * errno. */
int rs_vevents_take(struct rs_vevents *v, struct rs_vctx *c, struct rs_vevent *out);
/* Locked: an event is about to be the application's. */
void rs_vevent_got(const struct rs_vevent *e);
/* Wait until the application acknowledged as many events as it got. */
void rs_vevents_wait_acks(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *completed,
			  uint32_t got);
/* Locked: called by a lane's live device after it completed something. */
void rs_vcq_events(void *lane);

/* cq.c */
/* Locked: from here on it has users in the lane. */
void rs_vcq_use(struct rs_vcq *v, unsigned lane);
int rs_v_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);
int rs_v_req_notify_cq(struct ibv_cq *cq, int solicited_only);
struct ibv_cq_ex *rs_v_create_cq_ex(struct ibv_context *c, struct ibv_cq_init_attr_ex *a);
int rs_v_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *a);

/* post.c, build.c */
uint8_t rs_v_flags(unsigned ibv);
/*
 * Locked. A request with a completion holds its place in the send queue until the program has
 * polled that, as with NICs: a completion queue that is as long as its send queues never runs over.
 * One without is free when it is done. ENOMEM: there is no place.
 */
int rs_v_post_request(struct rs_vqp *qp, const struct rs_send_wr *wr);
bool rs_v_is_signaled(const struct rs_vqp *qp, const struct rs_send_wr *wr);
/* How many more with a completion there is place for. */
uint32_t rs_v_signaled_room(const struct rs_vqp *qp);
/* An address handle as the engine has it. */
struct rs_ah rs_v_ah(struct ibv_ah *ah, unsigned lane);
/* What a window is bound to; its engine key. */
struct rs_bind rs_v_bind(const struct ibv_mw_bind_info *info);
/* Locked: see that what was posted goes. */
void rs_v_posted(struct rs_vqp *qp, unsigned requests);
int rs_v_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int rs_v_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int rs_v_build_init(struct rs_vqp *qp, uint64_t ops);
void rs_v_build_fini(struct rs_vqp *qp);
/* Inline bytes that its operations need, whatever the application asked for. */
uint32_t rs_v_build_inline(const struct rs_vqp *qp);
/* xrc.c: locked, but for rs_v_handle_free(). */
void rs_v_handle_add(struct rs_vqp *made, struct rs_vqp *handle);
/* True: it was the last, and the queue pair itself goes. */
bool rs_v_handle_remove(struct rs_vqp *handle);
void rs_v_handle_free(struct rs_vctx *c, struct rs_vqp *handle);
/* An asynchronous event of the queue pair: each handle has one (A14.3.6). */
void rs_v_handle_event(struct rs_vctx *c, struct rs_vqp *made, enum ibv_event_type type);
void rs_v_fill_xrc_ops(struct verbs_context *v);
/* qp.c */
struct ibv_qp *rs_v_create_qp_ex(struct ibv_context *c, struct ibv_qp_init_attr_ex *a);

/* mr.c */
void rs_v_fill_memory_ops(struct verbs_context *v);

/* srq.c: what the engine's services beside RC add. */
void rs_v_fill_services(struct ibv_device_attr *a);
void rs_v_fill_services_ex(struct ibv_device_attr_ex *a);
void rs_v_fill_srq_ops(struct verbs_context *v);

/* mw.c */
void rs_v_fill_window_ops(struct verbs_context *v);

/* query.c */
int rs_v_query_port(struct ibv_context *c, uint8_t port, struct ibv_port_attr *a, size_t n);
/* What its speed and width come to. */
uint64_t rs_v_port_mbps(struct ibv_context *c);
int rs_v_query_device_ex(struct ibv_context *c, const struct ibv_query_device_ex_input *in,
			 struct ibv_device_attr_ex *a, size_t n);
int rs_v_query_rt_values(struct ibv_context *c, struct ibv_values_ex *values);

/* device.c: for librdmacm.so.1. */
struct rs_live *rs_verbs_live(struct ibv_context *c);

#endif
