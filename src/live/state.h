/* An opened device's own state and what its files ask of one another. Private to the room. */
#ifndef RS_LIVE_STATE_H
#define RS_LIVE_STATE_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "live/congestion.h"
#include "live/flow.h"
#include "live/grant.h"
#include "live/gsi.h"
#include "live/live.h"
#include "live/local.h"
#include "live/registry.h"
#include "live/shm.h"
#include "live/tuning.h"
#include "window/answers.h"
#include "window/gather.h"
#include "window/row.h"
#include "wire/frame.h"

enum {
	RS_TX_BATCH = 256,  /* packets encoded before they are handed to the kernel, at most; */
	RS_TX_SLOT = 4352,  /* bytes of one: headers of 62, payload 4096, extended headers, ICRC,
			     * what follows it */
	RS_TX_RUN_MAX = 64, /* segments of one send: Linux's UDP_MAX_SEGMENTS before 6.13 */
	RS_TX_RUN_BYTES = 65000, /* the kernel takes 65,507 */
	RS_TX_ACKS = 64,         /* ACKs that go behind a batch's data */
	RS_RX_BATCH = 16,        /* datagrams, or blocks of coalesced ones, of one call */
	RS_RX_HEAD = 64,         /* in front of a datagram: where its headers are written anew */
	RS_RX_SLOT = RS_RX_HEAD + 65536,
	RS_STRAY_BATCH = 64,
	RS_TEMPORARY_PATHS = 1024, /* of strangers: datagrams' sources */
	RS_POOL_PACKETS = 1 << 16,
	RS_ICRC_IDS = 64, /* identifications whose share of the ICRC is in a table */
	RS_ICRC_STREAMS = 256,
	RS_RANDOMS = 64,
};

enum rs_path_place { RS_PATH_UNASKED, RS_PATH_HERE, RS_PATH_ELSEWHERE };

/* A pair of addresses. Its number is the endpoint number of rs_packet. */
struct rs_path {
	uint8_t own[16], peer[16];
	struct sockaddr_in6 to;
	uint32_t refs;
	uint32_t next;       /* of its hash chain, or of the free list */
	uint16_t generation; /* counts the pairs of addresses that had this number */
	bool used, ipv6;
	uint8_t place; /* of the peer: enum rs_path_place */
};

struct rs_paths {
	struct rs_path *path;
	uint32_t *bucket;
	uint32_t fresh, free;
	uint32_t temporary[RS_TEMPORARY_PATHS];
	uint32_t temporary_next;
};

/* A send: one or more packets of equal length (the last may be shorter) to one path. */
struct rs_run {
	uint32_t path;
	uint16_t first, pieces; /* of the batch's pieces */
	uint16_t count;         /* packets */
	uint16_t segment;
	uint32_t bytes;
	uint8_t tos, slot;
	bool equal; /* what is shorter begins another */
};

/* ICRCs' registers behind the headers of a stream: packets that differ in PSN and segment only. */
struct rs_icrc_stream {
	uint64_t key[2];
	uint32_t value;
};

struct rs_icrc_cache {
	struct rs_icrc_stream stream[RS_ICRC_STREAMS];
};

/* A batch: headers, trailers and copied payloads lie behind one another in bytes; the pieces point
 * to them and to the payloads that are not copied. */
struct rs_tx {
	uint8_t *bytes, *spare;
	size_t used, load; /* of bytes; of all pieces */
	struct iovec piece[3 * RS_TX_BATCH];
	struct rs_run run[RS_TX_BATCH];
	struct rs_packet *ack[RS_TX_ACKS];
	unsigned packets, pieces, runs, runs_sent, acks;
	rs_time acks_since;
	bool gso, blocked, settled;
	rs_time hold; /* how long ACKs may wait for data to come */
	struct rs_answers answers;
	bool carried; /* a ring took packets of this pass */
	bool urgent;  /* what they acknowledge, a completion tells the application of */
	int tos;      /* the socket's own; negative: not known */
	int tos_of_late;
	unsigned tos_in_a_row;
	struct rs_icrc_cache icrc;
};

struct rs_rx {
	uint8_t (*bytes)[RS_RX_SLOT];
	struct mmsghdr msg[RS_RX_BATCH];
	unsigned in_a_row; /* calls that found any */
	struct iovec iov[RS_RX_BATCH];
	struct sockaddr_in6 from[RS_RX_BATCH];
	_Alignas(8) uint8_t control[RS_RX_BATCH][128];
	struct rs_icrc_cache icrc;
};

/* A datagram as it left the kernel, or another process. */
struct rs_datagram {
	uint8_t own[16], peer[16];
	uint16_t sport;
	uint8_t tos;
	uint16_t id;    /* the IPv4 identification that its sender should have used */
	uint8_t *bytes; /* UDP payload; RS_RX_HEAD bytes before it are free */
	size_t n;
	uint32_t path;    /* UINT32_MAX: of a stranger */
	bool handed_over; /* by another process */
	bool plain;       /* the packet before it in its block had the ICRC that its place says */
	uint8_t slot;     /* of the process that it is for */
	rs_time now;
};

/* Identifications that explain a CRC's difference: a basis for packets of one length. */
struct rs_icrc_basis {
	size_t n;
	uint32_t row[16]; /* reduced: of the leading bit lead[i] */
	uint8_t lead[16];
};

struct rs_live {
	pthread_mutex_t lock;
	struct rs_nic *nic;
	struct rs_pool pool;
	struct rs_pool_list free;
	struct rs_live_device device;
	struct rs_paths paths;
	struct rs_tx tx;
	struct rs_rx rx;
	struct rs_registry *registry;
	unsigned slot;
	int udp, stray, wake, aside;     /* file descriptors */
	struct rs_local_address address; /* of stray */
	struct rs_group {
		uint8_t gid[16];
		uint32_t endpoint, refs;
	} group[RS_LIVE_MAX_GROUPS];
	struct rs_icrc_basis basis;
	struct rs_congestion congestion;
	struct rs_flow flow;
	struct rs_grants grants;
	bool selective; /* RIPSTOP_RECOVERY */
	bool ack_apart; /* RIPSTOP_ACK_DSCP is set, to ack_tos */
	uint8_t ack_tos;
	bool fill;                /* packets, where their peers drop what follows an ICRC */
	struct rs_stamps *stamps; /* NULL: congestion control reads no telemetry */
	uint64_t host;            /* a number of this boot of this kernel */
	int knock;                /* knock.h: its socket, -1: not open yet */
	uint16_t knock_port;
	struct rs_shm *shm;   /* NULL: off */
	struct rs_near *near; /* NULL: no directory that others may have */
	int64_t socket_ns;    /* when the socket was last looked at */
	void (*on_event)(void *arg);
	void *event_arg;
	rs_gsi_fn *gsi_fn;
	void *gsi_arg;
	struct rs_live_counters counters;

	uint32_t random[RS_RANDOMS]; /* numbers not used yet: so many of them */
	unsigned randoms;

	/* Handed over to sockets that had no room: again at pending_again. */
	struct rs_pending *pending, **pending_end;
	unsigned pendings;
	rs_time pending_again;

	int64_t epoch_ns; /* of the monotonic clock: time 0 */
	rs_time clock;    /* as it was last read */
	rs_time floor;    /* the engine's time runs ahead of the clock to here: a burst of paced
			     packets */
	rs_time tx_again; /* when pacing lets the next packet go */
	struct rs_pace port_pace;  /* RIPSTOP_RATE; infinitely fast without */
	rs_time port_free;         /* when the port has sent what was given to it */
	uint64_t port_sent;        /* bytes of frames */
	rs_time sleeping_until;    /* of the thread */
	_Atomic bool sleeps;       /* the thread does, and must be told of what rings bring */
	_Atomic bool minded;       /* an application sleeps on the device: rs_live_mind() */
	_Atomic bool deep;         /* the thread stands aside until it is told */
	_Atomic unsigned minds;    /* so often was it minded */
	_Atomic bool held;         /* ACKs were, since its last nap began */
	_Atomic bool naps;         /* it leaves the engine to an application that polls */
	_Atomic int64_t polled_ns; /* when the application last drove the engine */
	_Atomic unsigned polls;    /* so often since it asked to be told of a completion */
	pthread_t thread;
	int64_t received_ns; /* when the application's poll last found something */
	int64_t stray_ns;    /* when the socket between processes was last looked at */
	/* A stream of large blocks: bytes of it in one go, when the last came; of blocks of any
	 * size that came since the last look, and until when they are left to gather in the socket.
	 */
	uint64_t bulk, bulk_data, came;
	int64_t bulk_ns, pause_until;
	struct rs_gather gather;
	uint32_t reader;      /* whose READ's answer came since then; 0: none did */
	bool more;            /* the last look left some in the socket */
	bool polling;         /* the application drives */
	bool deferred;        /* what it posted waits for the next look */
	struct rs_row row;    /* what it posts without a poll between */
	bool before;          /* the thread's: it went before the program, of real-time priority */
	_Atomic bool lane;    /* one of several that the application sees as one */
	_Atomic bool streams; /* of a lane: a stream is on its way, and is the thread's to drive */
	_Atomic bool rest;    /* after a poll in vain: it may sleep a little */
	_Atomic bool stop;
	bool forked;          /* this is a copy in a child: the parent has the sockets */
	struct rs_live *next; /* of the process */
};

/*
 * What was done before a packet left was done before it arrived, in another lane of this process,
 * too: ThreadSanitizer does not see the wire. What the kernel reads of the application's memory as
 * it sends, the application may change once the answer is there.
 */
#ifdef __SANITIZE_THREAD__
void __tsan_acquire(void *at);
void __tsan_release(void *at);
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
extern char rs_live_wire;
#define rs_live_leaves() \
	(__tsan_release(&rs_live_wire), AnnotateIgnoreReadsBegin(__FILE__, __LINE__))
#define rs_live_has_left() AnnotateIgnoreReadsEnd(__FILE__, __LINE__)
#define rs_live_arrives()  __tsan_acquire(&rs_live_wire)
#else
#define rs_live_leaves()   ((void)0)
#define rs_live_has_left() ((void)0)
#define rs_live_arrives()  ((void)0)
#endif

/* live.c: rs_live_now() without the bursts */
rs_time rs_live_clock(const struct rs_live *l);
/* The same, to be found in l->clock. */
rs_time rs_live_tick(struct rs_live *l);

/* The monotonic clock, as it is or was less than a microsecond ago. */
int64_t rs_live_ns(void);

/* The socket that packets to a QPN go to by a path. */
static inline struct rs_window_to rs_live_to(const struct rs_live *l, uint32_t path, uint32_t qpn)
{
	return rs_flow_to(path, l->paths.path[path].generation, qpn);
}

/* path.c */
int rs_paths_init(struct rs_paths *p);
void rs_paths_fini(struct rs_paths *p);
/* UINT32_MAX: none. */
uint32_t rs_paths_find(const struct rs_paths *p, const uint8_t own[16], const uint8_t peer[16]);
/* One that lives until RS_TEMPORARY_PATHS others came: of a datagram's sender. */
uint32_t rs_paths_temporary(struct rs_live *l, const uint8_t own[16], const uint8_t peer[16]);

/* group.c: the number of a group that a datagram came to; UINT32_MAX: none that was joined. */
uint32_t rs_group_of(const struct rs_live *l, const uint8_t gid[16]);
/* The 40 bytes before a datagram's payload. */
void rs_group_grh(void *live, const struct rs_packet *p, uint8_t out[RS_GRH_BYTES]);

/* icrc.c: is the packet's ICRC right for some IPv4 identification? */
bool rs_icrc_any_id(struct rs_live *l, const uint8_t *ip, size_t n, uint32_t received);
/* Once, before the next. */
void rs_icrc_init(void);
/*
 * The CRC up to the end of the BTH, to be continued over what follows it: of a datagram of n bytes
 * from or, arrived, to this end of the path of that number. First what all packets of a stream
 * share, then that of one of them, with its identification, id < RS_ICRC_IDS.
 */
uint32_t rs_icrc_fixed(struct rs_icrc_cache *c, const struct rs_path *path, uint32_t number,
		       bool arrived, uint16_t sport, const uint8_t *bth, size_t n);
uint32_t rs_icrc_behind(uint32_t fixed, const struct rs_path *path, const uint8_t *bth,
			unsigned id);
static inline uint32_t rs_icrc_head(struct rs_icrc_cache *c, const struct rs_path *path,
				    uint32_t number, bool arrived, uint16_t sport,
				    const uint8_t *bth, size_t n, unsigned id)
{
	return rs_icrc_behind(rs_icrc_fixed(c, path, number, arrived, sport, bth, n), path, bth,
			      id);
}

/* encode.c: the next packet of a batch, into its last run or, then it returns true, a new one.
 * fill: the peer drops what follows an ICRC (wire/filler.h). */
bool rs_tx_encode(struct rs_live *l, struct rs_packet *p, bool fill);
/* How many Middles of its message may go behind p in the send that it was the last of. */
uint32_t rs_tx_room(const struct rs_live *l, const struct rs_packet *p, bool fill);
/* They are n, of which p is the first; their payloads lie behind one another, and bit i of asking
 * says that the i-th asks for an ACK. */
void rs_tx_encode_middles(struct rs_live *l, const struct rs_packet *p, uint32_t n,
			  const uint8_t *payload, uint64_t asking, bool fill);
/* All payloads into the batch's own memory: it must wait, and they will not. */
void rs_tx_settle(struct rs_tx *t);

/* gsi.c: the slot that a datagram to QP0 or QP1 is for. */
unsigned rs_gsi_slot(const struct rs_live *l, const struct rs_datagram *d);
/* Is a packet to QP1 a management datagram? One that is; false: of no class that goes there. */
bool rs_gsi_is_mad(const struct rs_packet *p);
bool rs_gsi_receive(struct rs_live *l, const struct rs_datagram *d, const struct rs_packet *p);

/* What becomes of a datagram. From RS_RX_DROPPED on it is dropped, and counted by reason: live.h.
 */
enum rs_rx_verdict {
	RS_RX_ENGINE,
	RS_RX_MANAGEMENT, /* QP1's, or a question or answer about windows */
	RS_RX_OTHERS,     /* another process's of this host: it is handed over */
	RS_RX_DROPPED,
	RS_RX_MALFORMED = RS_RX_DROPPED,
	RS_RX_STRANGER,
	RS_RX_OWNERLESS,
	RS_RX_BAD_MAD,
	RS_RX_NO_ROOM,
};

/* rx.c */
/* Counts what is dropped: the only place. */
void rs_rx_drop(struct rs_live *l, enum rs_rx_verdict why);
/* A packet that arrived, its addresses and ICRC right. Takes it. */
void rs_rx_give(struct rs_live *l, struct rs_packet *p, rs_time now);
int rs_rx_init(struct rs_live *l);
void rs_rx_fini(struct rs_live *l);
enum rs_rx_found { RS_RX_NONE, RS_RX_SOME, RS_RX_MORE /* there may be more */ };
/* One call to the kernel. */
enum rs_rx_found rs_rx_run(struct rs_live *l);
/* What other processes handed over. */
bool rs_rx_strays(struct rs_live *l);

/* tx.c */
int rs_tx_init(struct rs_live *l);
void rs_tx_fini(struct rs_live *l);
void rs_tx_run(struct rs_live *l);
/* By a clock that was read just now. */
void rs_tx_run_at(struct rs_live *l, rs_time clock);
/* ACKs that wait for data, at once. */
void rs_tx_flush_acks(struct rs_live *l);

/* steer.c */
int rs_steer_open(struct rs_live *l, struct rs_error *e);
void rs_steer_close(struct rs_live *l);
/* Hand a datagram to the process that holds its QPN's slot. */
/* False: no process has it. */
bool rs_steer_hand_over(struct rs_live *l, const struct rs_datagram *d, unsigned slot);
/* What another process's socket had no room for, once it is due. */
void rs_steer_again(struct rs_live *l, rs_time now);
/* To a slot's process: its key, n bytes, n2 more, and a descriptor unless it is -1. False: not
 * sent. */
bool rs_steer_tell(struct rs_live *l, unsigned slot, const void *bytes, size_t n, const void *more,
		   size_t n2, int fd);
/* counters.c: was it a question for counters? Then it is answered. */
bool rs_counters_answer(struct rs_live *l, const void *bytes, size_t n);
/* What others handed over. */
bool rs_steer_receive(struct rs_live *l, void (*take)(struct rs_live *l, struct rs_datagram *d));

/* progress.c */
int rs_progress_start(struct rs_live *l);
void rs_progress_stop(struct rs_live *l);
/* What was meant to wake the thread was read before it looked, so that it may sleep on. */
void rs_progress_rouse(struct rs_live *l);
/* A batch was sent, by the clock at now. */
void rs_progress_sent(struct rs_live *l, rs_time now);

static inline bool rs_gid_is_ipv4(const uint8_t g[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return !__builtin_memcmp(g, mapped, 12);
}

#endif
