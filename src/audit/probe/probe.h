/*
 * Private to audit/: what this host says of itself, as a stream of files. The same stream is
 * audited at once (live.c) or kept in an archive (collect.c), so that both give the same findings.
 * Everything here only reads: no program is run, nothing is opened for writing.
 */
#ifndef RS_AUDIT_PROBE_PROBE_H
#define RS_AUDIT_PROBE_PROBE_H

#include <stddef.h>
#include "audit/facts/audit.h"

/* Called for each file: its path as below the root ("sys/class/net/eth0/mtu"), its content with a
 * NUL behind it that size does not count. Non-zero ends the probe and is what it returns. */
struct rs_probe {
	int (*file)(void *arg, const char *path, const char *data, size_t size);
	void *arg;
	const char *root; /* "" on this host; a test's own tree */
};

/* Files of sysfs, procfs, configfs and /etc, links between them as facts. */
int rs_probe_files(const struct rs_probe *p);
/* PCI configuration space, by libpci. */
int rs_probe_pci(const struct rs_probe *p);
/* Netlink: addresses, routes, DCB, ethtool, rdma, devlink. */
int rs_probe_netlink(const struct rs_probe *p);
/* The kernel's log: the lines on PCI, IOMMU, GPUs and NICs. */
int rs_probe_log(const struct rs_probe *p);
/* All of these. */
int rs_probe_all(const struct rs_probe *p);

/* A text that grows: lines of facts (audit/read/own.c). Freed by rs_probe_emit(). */
struct rs_fact_text {
	char *data;
	size_t size, room;
	int err;
};
void rs_fact_line(struct rs_fact_text *t, const char *subject, const char *name, const char *fmt,
		  ...) __attribute__((format(printf, 4, 5)));
/* Gives the text to the probe as a file, if it has a line. */
int rs_probe_emit(const struct rs_probe *p, const char *path, struct rs_fact_text *t);

/* One netlink answer's facts; msg is a whole struct nlmsghdr. For tests, too. */
struct nlmsghdr;
void rs_netlink_route(struct rs_fact_text *t, const struct nlmsghdr *msg);
void rs_netlink_dcb(struct rs_fact_text *t, const struct nlmsghdr *msg);
void rs_netlink_ethtool(struct rs_fact_text *t, const struct nlmsghdr *msg);
void rs_netlink_rdma(struct rs_fact_text *t, const struct nlmsghdr *msg);
void rs_netlink_devlink(struct rs_fact_text *t, const struct nlmsghdr *msg);

#endif
