/*
 * Private to sim/: a host node. Its NICs, the bus that their DMA crosses, and the applications that
 * run on it. All of it belongs to one node, so that it never waits for a window.
 */
#ifndef RS_SIM_HOST_H
#define RS_SIM_HOST_H

#include "host/host.h"
#include "port/buffer.h"
#include "port/egress.h"
#include "sim/engine.h"
#include "sim/transport.h"

enum app_event {
	APP_FLOW_START, /* arg: connection */
	APP_POST,       /* arg: connection; bytes: message (doorbell reached the NIC) */
	APP_ARRIVED,    /* arg: connection: a message is visible to the receiver */
	APP_PIECE,      /* arg: connection: the next piece of a message inside the host may go */
	APP_SENT,       /* arg: connection: a message inside the host has left */
	APP_COMPUTED,   /* arg: lane */
	APP_COLL_START, /* arg: rank of collective in bytes */
	APP_RATE,       /* arg: connection: its rate is sampled */
	APP_REGISTERED, /* arg: connection: the next message's memory is */
	APP_LOST,       /* arg: endpoint and side; a packet of its was lost (order.c) */
};

struct sim_app_event {
	rs_time when;
	uint64_t seq;
	uint64_t bytes;
	uint32_t arg;
	enum app_event type;
};

/* A NIC's pauses, class by class: those that it sent, and how long it was held. */
struct sim_pauses {
	uint64_t sent[RS_CLASSES]; /* frames */
	rs_time held[RS_CLASSES];  /* by pauses that are over */
};

struct sim_nic;
/* order.c, where streams are: a packet leaves the transport. */
void sim_order_sent(struct sim_nic *k, struct rs_packet *p);

struct sim_nic {
	struct rs_nic *nic; /* what ends.endpoint is; NULL: it speaks another transport */
	struct rs_sim_ends ends;
	const struct rs_sim_transport *transport;
	struct sim_node *node;
	struct sim_link *out;
	uint32_t port;
	uint32_t endpoint;
	int part;
	bool inside; /* DMA crosses the bus */
	uint32_t inline_bytes;
	rs_time message_time, message_free; /* the NIC's own rate of messages: the next from */
	rs_time waits; /* since when a queue pair's limit holds back what is ready; RS_NEVER: not */
	bool limited;  /* by any of these */
	bool paused;   /* a PAUSE or RESUME came, ever */
	rs_time stalled_messages, stalled_qps;
	struct rs_lfc lfc;
	struct rs_egress *egress; /* NULL: plain */
	rs_time read_free;        /* nothing is pulled before: the latest read goes then */
	rs_time read_time;        /* what it took */
	rs_time quiet; /* until then the transport has nothing, unless something happens to it */
	rs_time ahead; /* to be read ahead beyond that */
	/* receive: on the way to memory */
	struct rs_queue rx;
	struct rs_port_buffer buffer;
	struct rs_lfc_conf lfc_conf;
	struct rs_lfc_times times; /* of lfc */
	uint64_t pauses, drops;
	uint32_t storms; /* that are on */
	struct sim_pauses *pfc;
	uint32_t *ways; /* [queue pair]: what its packets carry in `number`; NULL: not placed */
	struct sim_stream *streams; /* [queue pair]; NULL: nothing can overtake */
	uint32_t n_streams;
	struct rs_sim *sim;
	uint32_t *open; /* flows' receivers that are there: connections */
	uint32_t n_open, open_size, open_at;
	uint64_t reordered; /* packets sent again for nothing but their order */
};

/* What is behind the port, as struct rs_endpoint_ops says. A NIC's own functions are called by
 * their names: they are what each packet takes (0.5 % of a run's instructions). */
#define IS_NIC(k) __builtin_expect((k)->nic != NULL, 1)

static inline struct rs_packet *sim_end_tx(struct sim_nic *k, uint8_t held, rs_time now,
					   rs_time *again)
{
	return IS_NIC(k) ? rs_nic_tx(k->nic, held, now, again)
			 : rs_endpoint_tx(k->ends.endpoint, held, now, again);
}

static inline void sim_end_rx(struct sim_nic *k, struct rs_packet *p, rs_time now)
{
	if (IS_NIC(k))
		rs_nic_rx(k->nic, p, now);
	else
		rs_endpoint_rx(k->ends.endpoint, p, now);
}

static inline rs_time sim_end_deadline(const struct sim_nic *k)
{
	return IS_NIC(k) ? rs_nic_deadline(k->nic) : rs_endpoint_deadline(k->ends.endpoint);
}

static inline void sim_end_prefetch(const struct sim_nic *k, unsigned step)
{
	if (IS_NIC(k))
		rs_nic_prefetch(k->nic, step);
	else if (k->ends.endpoint)
		rs_endpoint_prefetch(k->ends.endpoint, step);
}

/* Whose packets to or from this number are; false: no end of that number is open. */
static inline bool sim_end_user(struct sim_nic *k, uint32_t number, uint64_t *user)
{
	const struct rs_qp *qp;

	if (!IS_NIC(k))
		return k->transport->user(k->ends.self, number, user);
	qp = rs_nic_find_qp(k->nic, number);
	if (qp)
		*user = rs_qp_get_user(qp);
	return qp != NULL;
}

/* Something may have come about since the last call. */
static inline bool sim_end_has_news(struct sim_nic *k)
{
	return !IS_NIC(k) || rs_nic_take_event(k->nic);
}

/* Its next packet, of none of the classes that are held. */
static inline struct rs_packet *sim_end_packet(struct sim_nic *k, uint8_t held, rs_time now,
					       rs_time *again)
{
	struct rs_packet *p = sim_end_tx(k, held, now, again);

	if (__builtin_expect(k->streams != NULL, 0) && p)
		sim_order_sent(k, p);
	if (__builtin_expect(k->ways != NULL, 0) && p)
		p->number = k->ways[p->src_qp - SIM_FIRST_QPN];
	return p;
}

#undef IS_NIC

/* stage.c, of a NIC inside a host. Reads are asked for up to so long ahead of when they may go: an
 * event for some, not for each. */
#define SIM_TOGETHER (500 * RS_NS)

static inline bool sim_stage_may_pull(const struct sim_nic *k, rs_time now)
{
	return k->read_free <= now + SIM_TOGETHER && k->quiet <= now;
}

/* When the transport is to be asked again. */
rs_time sim_stage_pull(struct rs_sim *s, struct sim_nic *k, rs_time now);
/* Sends, on a link that is free, what may go; when to come again. */
rs_time sim_stage_send(struct rs_sim *s, struct sim_nic *k, rs_time now);

struct sim_host {
	uint32_t index;
	struct rs_bus *bus; /* NULL: plain */
	uint32_t n_nics;
	struct sim_nic *nics;
	struct sim_app_event *heap;
	uint32_t n_heap, heap_size;
	struct rs_sim_rate *rates;
	uint32_t n_rates, rates_size;
	uint64_t seq;
};

/* Makes the NIC of an endpoint, with room for n_qps ends and for so much news at a time. later:
 * flows that come while the run goes, under way at a time. */
int sim_host_nic(struct rs_sim *s, uint32_t endpoint, uint32_t n_qps, uint32_t news, uint32_t later,
		 struct rs_error *e);
/* It has so many numbers of queue pairs from now on. -ENOMEM, -ENOSPC. */
int sim_nic_more(struct rs_sim *s, struct sim_nic *k, uint32_t n_qps);
/* Whether a host's slot is that of what applications do: last among those of a time. */
bool sim_host_is_app(const struct sim_node *n, uint32_t slot);
/* The queue pair that gets a payload by the event of this slot, and its NIC; NULL: none does. */
struct sim_nic *sim_host_payload(const struct rs_sim *s, const struct sim_node *n, uint32_t slot,
				 uint32_t *qpn);
struct sim_nic *sim_nic_of(struct rs_sim *s, uint32_t endpoint);
/* A NIC that fails begins, or ends, to hold its switch: all classes with PFC. Storms may overlap.
 */
void sim_nic_storm(struct sim_nic *k, bool on, rs_time now);
/* How long the switch has held this class, until now. */
rs_time sim_nic_held(const struct sim_nic *k, unsigned tc, rs_time now);
/* Something was posted: try to send. */
void sim_nic_kick(struct rs_sim *s, struct sim_nic *k, rs_time now);

/* A later event on this host. when >= now. -ENOMEM ends the run through an assertion: the heap's
 * size is bounded by messages in flight. */
void sim_app_schedule(struct rs_sim *s, uint32_t host, rs_time when, enum app_event type,
		      uint32_t arg, uint64_t bytes);

/* The same with a place of its own among events of one time: below that of all that is scheduled
 * while the run goes. */
void sim_app_schedule_as(struct rs_sim *s, uint32_t host, rs_time when, enum app_event type,
			 uint32_t arg, uint64_t bytes, uint64_t seq);

/* Keeps a sample until the end. */
void sim_host_rate(struct rs_sim *s, uint32_t host, uint32_t flow, int64_t rate, rs_time now);

/* Something was received: what to send, what is complete, when to look again. */
void sim_nic_turn(struct rs_sim *s, struct sim_nic *k, rs_time now);

/* order.c, where k->streams is: a packet leaves the transport, a packet is to be given to it, and
 * the news that one was lost. */
int sim_streams_create(struct rs_sim *s, struct sim_nic *k, uint32_t n_qps);
int sim_streams_more(struct rs_sim *s, struct sim_nic *k, uint32_t n_qps);
void sim_streams_destroy(struct sim_nic *k);
/* Placement: the path of what this queue pair sends. */
void sim_nic_way(struct sim_nic *k, uint32_t qpn, uint32_t way);
void sim_order_arrived(struct rs_sim *s, struct sim_nic *k, struct rs_packet *p, rs_time now);
void sim_order_lost(struct rs_sim *s, const struct sim_app_event *ev);

/* order.c: packets that this queue pair sent again for nothing but their order. */
uint64_t sim_order_again(const struct sim_nic *k, uint32_t qpn);

/* order.c: packets that the counterfactual holds back at this port. */
uint64_t sim_order_held(const struct sim_nic *k);

/* workload.c, called by the host */
void sim_app_event(struct rs_sim *s, uint32_t host, const struct sim_app_event *ev);
void sim_app_news(struct rs_sim *s, struct sim_nic *k, const struct rs_sim_news *news, rs_time now);
/* The paths of a queue pair's DMA: reads of what it sends, writes of what it receives. */
struct rs_path *sim_qp_path(struct rs_sim *s, uint64_t user, bool send);
/* Bytes of a message that the doorbell brings, where its flow or its NIC says so. */
uint32_t sim_qp_inline(struct rs_sim *s, uint64_t user, uint32_t by_nic);
/* A packet came for a queue pair that is not there: true when it is now. */
bool sim_flow_absent(struct rs_sim *s, struct sim_nic *k, uint32_t qpn);
/* To their jobs: what congestion control did for ends that are still open. */
void sim_count_open_cuts(struct rs_sim *s, struct sim_nic *k);
/* A payload for this queue pair becomes visible at `when`. */
void sim_qp_visible(struct rs_sim *s, uint64_t user, rs_time when);

#endif
