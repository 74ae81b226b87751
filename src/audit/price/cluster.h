/*
 * The audited hosts as a cluster that the simulator runs: what facts say of it, and the description
 * (docs/fabric.md) of it.
 */
#ifndef RS_AUDIT_PRICE_CLUSTER_H
#define RS_AUDIT_PRICE_CLUSTER_H

#include <stdio.h>
#include "audit/facts/audit.h"
#include "host/host.h"

enum { RS_CLUSTER_HOSTS = 1024 };

/* What a price is measured on. */
enum rs_cluster_load {
	RS_LOAD_RINGS,     /* a ring all-reduce over the same GPU of each host, all rails at once */
	RS_LOAD_INCAST,    /* all hosts send to one */
	RS_LOAD_BYSTANDER, /* the same, and a flow from one of the senders to a host apart */
};

struct rs_cluster {
	uint32_t n; /* hosts */
	struct {
		const char *name;
		struct rs_host *inside; /* NULL: plain */
	} host[RS_CLUSTER_HOSTS];
	uint32_t nics, gpus; /* of a host, the most */
	int64_t rate;        /* of the fastest port */
	bool rate_assumed;   /* nothing said it */
	uint32_t mtu;        /* path MTU */
	bool lossless, ecn;  /* of the RoCE class at the switches */
	bool cc;             /* NICs heed marks: DCQCN */
	bool by_index;       /* the i-th GPU uses the i-th NIC, however far */
	uint32_t tags;       /* outstanding reads of a NIC; 0: the model's default */
	enum rs_cluster_load load;
	uint64_t bytes; /* of the all-reduce, of a flow */
	/* For who knows more than prices need; 0 and NULL: as prices have it. */
	bool whole;       /* CPUs, models, limits and NVLinks of the insides are written, too */
	rs_time delay;    /* of a link; 500 ns */
	rs_time forward;  /* of a switch; 500 ns; below 0: none */
	double loss;      /* of a link */
	const char *more; /* keys of fabric, as lines of YAML */
	const char *work; /* the workload, in place of load's */
};

/*
 * The hosts that were audited, those named (NULL-terminated; may be NULL) first, at most `most`;
 * insides where PCI trees are known and have GPUs and NICs. -ENODATA: no host.
 */
int rs_audit_cluster(struct rs_audit *a, const char *const *first, uint32_t most,
		     struct rs_cluster *c, struct rs_error *e);

/* The description, as YAML that rs_fabric_load_text() reads. */
int rs_cluster_write(const struct rs_cluster *c, FILE *out);

#endif
