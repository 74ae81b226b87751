/* An audit of this host. */
#ifndef RS_AUDIT_PROBE_LIVE_H
#define RS_AUDIT_PROBE_LIVE_H

#include "audit/facts/audit.h"

/* Reads this host: sysfs, procfs, PCI configuration space, netlink. Nothing is written. */
int rs_audit_read_live(struct rs_audit *a, struct rs_error *e);

#endif
