/*
 * Network-signalled congestion control of Ultra Ethernet (NSCC): a window that four cases of mark
 * and delay move. Its rules are those of the Ultra Ethernet Consortium's own simulator
 * (ultraethernet/uet-htsim 40ccb052), whose traces the unit test replays row by row.
 *
 * Beside it the simulator's other window, which it calls DCTCP: each mark takes a third of the
 * bytes that it stands for, and no alpha is kept (the published DCTCP has one).
 *
 * Cost: a window is 128 bytes in its owner's memory; an ACK is some forty operations, one division
 * in about eight packets.
 */
#ifndef RS_UET_NSCC_H
#define RS_UET_NSCC_H

#include <stdbool.h>
#include <stdint.h>
#include "base/time.h"

enum rs_uet_window_kind { RS_UET_NSCC, RS_UET_DCTCP, RS_UET_NO_WINDOW };

/* Of a NIC: the same for all of its connections. What is given, and what follows from it. */
struct rs_nscc_conf {
	enum rs_uet_window_kind kind;
	int64_t rate;     /* bits per second */
	rs_time rtt;      /* the network's: of its longest path, unloaded */
	uint32_t mtu;     /* bytes of a full packet, headers in it */
	uint32_t payload; /* of them */
	bool trims;       /* switches cut packets, and a loss means a failure */
	rs_time target;   /* delay aimed at; 0: 3/4 of rtt with trimming, all of it without */

	/* rs_nscc_derive() */
	double alpha, fi, eta, fi_scale;
	uint32_t adjust_bytes;
};

/* target 0 is replaced too. All given fields > 0. */
void rs_nscc_derive(struct rs_nscc_conf *c);

/* Of a connection. */
struct rs_nscc {
	uint64_t window;     /* bytes, headers in them */
	uint64_t window_max; /* 1.5 times what base_rtt holds */
	rs_time base_rtt;    /* the least that was measured; at first the network's */
	rs_time delay;       /* running average */
	uint64_t inc;        /* increase that is due, bytes x bytes */
	uint64_t received;   /* since the last adjustment */
	rs_time eta_at;      /* eta was given last */
	rs_time cut_at;      /* the last decrease; RS_NEVER: none yet */
	/* fast increase: bytes that met next to no queue, in a row */
	uint64_t fast_bytes;
	/* quick adapt */
	uint64_t achieved, ignored, to_ignore;
	rs_time period_end; /* RS_NEVER: none has begun */
	bool fast, nacked;
};

struct rs_nscc_ack {
	rs_time now;
	rs_time rtt;        /* of the packet that caused it; <= 0: none measured */
	uint64_t in_flight; /* bytes that are on their way still */
	uint32_t bytes;     /* new ones received; of a NACK, the packet's */
	bool marked;        /* the packet was, by ECN */
};

void rs_nscc_init(const struct rs_nscc_conf *c, struct rs_nscc *n, rs_time now);
void rs_nscc_on_ack(const struct rs_nscc_conf *c, struct rs_nscc *n, const struct rs_nscc_ack *a);
/* A packet was trimmed. */
void rs_nscc_on_nack(const struct rs_nscc_conf *c, struct rs_nscc *n, const struct rs_nscc_ack *a);
/* A packet of so many bytes timed out. */
void rs_nscc_on_timeout(const struct rs_nscc_conf *c, struct rs_nscc *n, uint32_t bytes);
/* A round trip alone: where a NACK must not move the window. */
void rs_nscc_on_rtt(const struct rs_nscc_conf *c, struct rs_nscc *n, rs_time rtt);

#endif
