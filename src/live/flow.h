/*
 * A NIC's transport and its windows (window/) joined: who may not send is held, what comes is
 * counted out, timeouts are passed on. No socket, no clock: tests/property drives it, too. Private
 * to the room; all of it locked.
 */
#ifndef RS_LIVE_FLOW_H
#define RS_LIVE_FLOW_H

#include "rdma/nic.h"
#include "window/grant.h"
#include "window/window.h"

struct rs_flow {
	struct rs_window window;
	struct rs_nic *nic;
	uint32_t first_qpn;
	uint32_t qps;          /* those that ever sent are below */
	uint64_t timeouts;     /* of the NIC, that were looked at */
	uint64_t *qp_timeouts; /* of each queue pair */
};

/* -ENOMEM. The NIC comes by rs_flow_bind(), before anything else. */
int rs_flow_init(struct rs_flow *f, const struct rs_window_config *c);
void rs_flow_fini(struct rs_flow *f);
void rs_flow_bind(struct rs_flow *f, struct rs_nic *nic, uint32_t first_qpn);

/* The socket that a queue pair's packets to this endpoint and QPN go to. */
static inline struct rs_window_to rs_flow_to(uint32_t path, uint16_t generation, uint32_t qpn)
{
	return (struct rs_window_to){
		.path = path, .generation = generation, .slot = (uint8_t)(qpn >> 16)};
}

/* A queue pair may be about to send there; loose: it is of UC. Returns what is on its way. */
uint64_t rs_flow_join(struct rs_flow *f, const struct rs_qp *qp, const struct rs_window_to *to,
		      bool loose);
/* It was reset or is about to be destroyed. */
void rs_flow_left(struct rs_flow *f, uint32_t qpn);
/* A packet that rs_nic_tx() gave is about to be sent, and was: alone in its send, or not. True: the
 * peer drops what follows an ICRC. */
bool rs_flow_before(struct rs_flow *f, struct rs_packet *p, const struct rs_window_to *to,
		    rs_time now);
void rs_flow_sent(struct rs_flow *f, const struct rs_packet *p, bool alone, rs_time now);
/*
 * Middles behind p, which went just now, in its send: so many may, at most max, and their payload
 * lies there (rs_nic_tx_ahead()). *ask: from this one on, an ACK is to be asked for.
 */
uint32_t rs_flow_ahead(const struct rs_flow *f, const struct rs_packet *p, uint32_t max,
		       rs_time now, const uint8_t **payload, uint32_t *ask);
/* p is the first of n that went: rs_nic_tx_middles(). */
void rs_flow_sent_more(struct rs_flow *f, const struct rs_packet *p, uint32_t n, rs_time now);
/* A packet arrived: rs_nic_rx(), which takes it. */
void rs_flow_rx(struct rs_flow *f, struct rs_packet *p, rs_time now);
/* Middles did, as rs_nic_rx_ahead() lets them: rs_nic_rx_middles(). */
void rs_flow_rx_middles(struct rs_flow *f, const struct rs_packet *p, uint32_t n, size_t stride,
			rs_time now);
/* rs_nic_expire(), where it is due, and the windows' own time. */
void rs_flow_expire(struct rs_flow *f, rs_time now);
/* When the next of both is due. */
rs_time rs_flow_deadline(const struct rs_flow *f);
/* May the process of that slot, at the other end of a path, ask by a queue pair's number what this
 * socket takes? One that is connected must be connected to it; UD hears anybody. */
bool rs_flow_may_ask(const struct rs_flow *f, uint32_t qpn, uint32_t path, uint8_t slot);
/* rs_window_answered(). */
void rs_flow_answered(struct rs_flow *f, const struct rs_window_to *to, uint32_t question,
		      uint64_t bytes, bool whole);
/* rs_window_drops_fillers(), before the same answer. */
static inline void rs_flow_drops_fillers(struct rs_flow *f, const struct rs_window_to *to,
					 uint32_t question, bool drops)
{
	rs_window_drops_fillers(&f->window, to, question, drops);
}

#endif
