/*
 * The counters of devices that are open in other processes of this user: asked for over the socket
 * by which processes hand packets over, answered by each process's thread.
 */
#ifndef RS_LIVE_COUNTERS_H
#define RS_LIVE_COUNTERS_H

#include "live/live.h"

enum { RS_LIVE_REPORT_QPS = 256 }; /* of one device; the rest are counted only */

struct rs_live_qp_report {
	uint32_t qpn, dest_qpn;
	uint8_t state, transport;
	struct rs_qp_counters counters;
};

struct rs_live_report {
	uint32_t pid, qps; /* qps: how many there are */
	char device[RS_LIVE_NAME], interface[16];
	struct rs_nic_counters nic;
	struct rs_live_counters live;
	uint32_t listed; /* in qp[] */
	struct rs_live_qp_report qp[RS_LIVE_REPORT_QPS];
};

/*
 * Calls each() for every open device of this user and network namespace, in the order of their
 * leases. A process that does not answer within a second (stopped, or dead) is left out. Returns
 * how many answered; -ENOENT: there is no registry, so none is open.
 */
int rs_live_reports(void (*each)(void *arg, const struct rs_live_report *r), void *arg);

#endif
