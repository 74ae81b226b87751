/*
 * What a run shows of itself over time (`observe:`, docs/observe.md): ports and classes, followed
 * connections, the links inside hosts, queues and ways as histograms, what ranks did. A run is cut
 * into bins of one length; when there would be too many, two become one. Watching changes no
 * result.
 */
#ifndef RS_SIM_SERIES_H
#define RS_SIM_SERIES_H

#include <stdbool.h>
#include <stdint.h>
#include "base/hist.h"
#include "base/time.h"
#include "wire/packet.h"

enum {
	RS_SERIES_BINS = 128, /* at most; fewer where there are few packets for so many ports */
	RS_SERIES_BINS_LEAST = 32,
	RS_SERIES_PORTS = 8192, /* with so many bins */
	RS_SERIES_FLOWS = 256,  /* connections followed, unless asked otherwise */
	RS_SERIES_KEPT = 256,   /* ports, links inside hosts and engines that files have rows of */
	RS_SERIES_TIMED = 16,   /* one packet in so many is timed, by PSN */
	RS_SERIES_SPANS = 1 << 17,     /* of a host, at most; later ones are left out */
	RS_SERIES_SPANS_ALL = 1 << 20, /* of all hosts, an equal share each */
	RS_SERIES_PATH = 32            /* links of a path, from NIC to NIC, at most */
};

/* A class of a port. Rows of [bin]; NULL: nothing but zeroes. */
struct rs_series_class {
	uint64_t *bytes; /* of frames that left; PFC, preamble and gap are not in it */
	uint64_t *queue; /* bytes that waited at the bin's end */
	rs_time *held; /* paused by the port's peer: ports[back] is the way that its PAUSEs came */
	uint64_t *pauses; /* [bin] PAUSE frames of the class that left by this port */
	uint64_t *marks;  /* of the port's marks and drops, those of the class */
	uint64_t *drops;
	/* Of switches: bytes that each packet left behind it in its queue where each packet is
	 * kept, else what waited at the ends of bins, as short as they were then. */
	struct rs_hist queued;
};

/* One direction of a link: a switch's way out, or a NIC's. */
struct rs_series_port {
	char name[64];                /* "leaf0 port 3, to h5/nic0"; "h5/nic0, to leaf0 port 3" */
	uint32_t node;                /* switch; of a NIC its endpoint */
	uint32_t port;                /* of the switch */
	uint32_t number;              /* its place among the ports */
	uint32_t back;                /* the other direction of the link, among the ports */
	bool nic, exact;              /* exact: each packet is kept */
	bool kept;                    /* among those that files have the rows of */
	int64_t rate;                 /* bits per second */
	uint64_t data_packets, bytes; /* of the whole run: the packets' sum is packet_hops */
	uint64_t queue_most, n_marks, n_drops, n_lost, n_pauses; /* of the whole run, as the rows */
	rs_time paused;                                          /* of all classes: of[].held */
	uint64_t *carried; /* [bin] bytes, of all classes and PFC frames */
	uint64_t *peak;    /* [bin] of a switch: the most that waited in one class's queue */
	uint64_t *marks;   /* [bin] packets that were marked here (ECN's CE) */
	/* [bin] packets that came in here and were dropped, or that the watchdog took from here */
	uint64_t *drops;
	uint64_t *lost; /* [bin] packets that the link lost */
	struct rs_series_class *of[RS_CLASSES];
	uint8_t classes; /* those of which anything is kept */
};

/* Why a packet was sent again: what told the sender. */
enum rs_resent_why {
	RS_RESENT_TIMEOUT,
	RS_RESENT_NAK,     /* a NAK or a selective acknowledgement: a packet was lost */
	RS_RESENT_RNR,     /* the receiver was not ready */
	RS_RESENT_REORDER, /* the same as NAK, but nothing was lost: a packet was overtaken */
	RS_RESENT_WHYS
};

/* A connection over the network: a flow, or two ranks' of a collective. [bin] each, as it was at
 * the bin's end; 0 before its start and after its end. */
struct rs_series_flow {
	uint32_t number;     /* among those followed: rs_series_span.lane */
	uint32_t job, index; /* as in rs_sim_flow, or the plan's connection */
	uint32_t src, dst;   /* endpoints */
	bool flow;
	uint16_t sport;   /* of its first queue pair: with the addresses it decides the path */
	int64_t *rate;    /* that congestion control allows its first queue pair, bits per second */
	uint64_t *window; /* of that; UINT64_MAX: none */
	uint64_t *in_flight; /* of all its queue pairs, bytes of frames */
	uint64_t *acked;     /* [bin] bytes of frames acknowledged in it, of all its queue pairs */
	uint64_t *resent;    /* [bin] packets sent again, of all its queue pairs, and by reason */
	uint64_t *resent_for[RS_RESENT_WHYS];
	/* The ports that its first queue pair's packets leave by, the sender's NIC first. Where
	 * switches choose for each packet or flowlet: one way of `ways`. 0 ports: no way is known.
	 */
	uint32_t path[RS_SERIES_PATH];
	uint32_t n_path;
	double ways; /* equal-cost paths that its packets may take; 1: this one alone */
};

/* A directed link inside a host. */
struct rs_series_inside {
	char name[64];   /* "h3 nic0->pci1" */
	bool kept;       /* as of a port */
	int64_t rate;    /* 0: not known */
	uint64_t *bytes; /* [bin] with headers of TLPs */
	rs_time *busy; /* [bin] that it was taken; a DMA takes it when it is issued, maybe ahead */
};

/* What may be outstanding at an initiator of DMAs: a NIC, a GPU, a socket. */
struct rs_series_engine {
	char name[64];                                   /* "h3 nic0" */
	bool kept;                                       /* as of a port */
	uint32_t reads_max, read_bytes_max, credits_max; /* tags, bytes, credits of 16 bytes */
	/* [bin] at its end: read requests, their bytes, data credits of posted writes */
	uint64_t *reads, *read_bytes, *credits;
	rs_time *waited; /* [bin] DMAs were ready and waited for tags, buffer or credits */
};

/* What a rank did, or a followed connection: one bar of a timeline. */
enum rs_span_kind {
	RS_SPAN_COMPUTE, /* a step's own computing */
	RS_SPAN_WAIT,    /* a lane waited for what its next step needs */
	RS_SPAN_MESSAGE, /* of a followed connection, from the post to its completion */
};
struct rs_series_span {
	rs_time from, to;
	uint32_t job, rank; /* rank of the job; of a message the sender's */
	uint32_t lane;      /* of the plan; of a message the followed connection's number */
	uint32_t step;
	uint8_t kind;
};

/* How fast a flow or a job was, beside what it could be. Times are picoseconds, rates bits of
 * payload per second; 0: not known, as of a flow that did not finish. */
struct rs_series_speed {
	double goodput;  /* payload over the time from start to finish */
	double allowed;  /* what the links of its path carry of payload, empty: docs/observe.md */
	rs_time alone;   /* the time that it takes on an empty network */
	double slowdown; /* its time over `alone` */
};

struct rs_series {
	rs_time interval; /* of a bin; the last may be shorter */
	uint32_t bins;
	uint32_t n_ports, n_flows, n_inside;
	struct rs_series_port *ports;
	struct rs_series_flow *flows;
	struct rs_series_inside *inside;
	uint32_t n_engines;
	struct rs_series_engine *engines;
	struct rs_series_speed *flow_speed, *job_speed; /* [flow], [job] of the result */
	uint32_t connections; /* all that there are; n_flows of them are followed */
	struct rs_hist
		latency[RS_CLASSES]; /* ps that data packets took from the NIC's wire to a NIC */
	uint64_t n_spans;
	struct rs_series_span *spans;    /* by host, then by end */
	bool spans_cut;                  /* there were more */
	struct rs_series_class *classes; /* the ports', class by class */
	uint64_t **blocks;               /* what rows are in */
	uint32_t n_blocks, blocks_size;
};

void rs_series_free(struct rs_series *s);

#endif
