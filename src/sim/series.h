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
	RS_SERIES_BINS = 128, /* at most, of fabrics up to RS_SERIES_PORTS ports */
	RS_SERIES_BINS_LEAST = 32,
	RS_SERIES_PORTS = 8192,
	RS_SERIES_FLOWS = 256,    /* connections followed, unless asked otherwise */
	RS_SERIES_TIMED = 16,     /* one packet in so many is timed, by PSN */
	RS_SERIES_SPANS = 1 << 17 /* of a host, later ones are left out */
};

/* A class of a port. Rows of [bin]; NULL: nothing but zeroes. */
struct rs_series_class {
	uint64_t *bytes; /* that left, with what frames take on the link beside themselves; NICs,
			  * and ports of which each packet is kept */
	uint64_t *queue; /* bytes that waited at the bin's end */
	rs_time *held;   /* paused by the port's peer */
	/* Of switches: bytes that each packet left behind it in its queue where each packet is
	 * kept, else what waited at the ends of bins, as short as they were then. */
	struct rs_hist queued;
};

/* One direction of a link: a switch's way out, or a NIC's. */
struct rs_series_port {
	char name[64];                /* "leaf0 port 3, to h5/nic0"; "h5/nic0, to leaf0 port 3" */
	uint32_t node;                /* switch; of a NIC its endpoint */
	uint32_t port;                /* of the switch */
	bool nic, exact;              /* exact: each packet is kept */
	int64_t rate;                 /* bits per second */
	uint64_t data_packets, bytes; /* of the whole run: the packets' sum is packet_hops */
	uint64_t *carried;            /* [bin] bytes, of all classes and PFC frames */
	uint64_t *peak;  /* [bin] of a switch: the most that waited in one class's queue */
	uint64_t *marks; /* [bin] packets that were marked here (ECN's CE) */
	uint64_t *drops; /* [bin] packets that came in here and were dropped */
	struct rs_series_class of[RS_CLASSES];
	uint8_t classes; /* those of which anything is kept */
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
	uint64_t *resent;    /* [bin] packets sent again, of all its queue pairs */
};

/* A directed link inside a host. */
struct rs_series_inside {
	char name[64];   /* "h3 nic0->pci1" */
	int64_t rate;    /* 0: not known */
	uint64_t *bytes; /* [bin] */
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

struct rs_series {
	rs_time interval; /* of a bin; the last may be shorter */
	uint32_t bins;
	uint32_t n_ports, n_flows, n_inside;
	struct rs_series_port *ports;
	struct rs_series_flow *flows;
	struct rs_series_inside *inside;
	uint32_t connections; /* all that there are; n_flows of them are followed */
	struct rs_hist
		latency[RS_CLASSES]; /* ps that data packets took from the NIC's wire to a NIC */
	uint64_t n_spans;
	struct rs_series_span *spans; /* by host, then by end */
	bool spans_cut;               /* there were more */
};

void rs_series_free(struct rs_series *s);

#endif
