/* Private to expect/: hosts as they were read and completed, what is changed in them, and runs. */
#ifndef RS_EXPECT_STATE_H
#define RS_EXPECT_STATE_H

#include "audit/price/cluster.h"
#include "expect/expect.h"
#include "nccl/topo.h"
#include "report/report.h"

enum { EXPECT_ENV = 16 };

/* What was not read of a part; and why a NIC was left out: its port is down, a list has it not. */
enum {
	LACKS_RATE = 1,
	LACKS_SLOT = 2,
	LACKS_MPS = 4,
	LACKS_MRRS = 8,
	LEFT_DOWN = 16,
	LEFT_UNLISTED = 32
};

/* What a change is of; its value in the unit that is told here. */
enum expect_knob {
	KNOB_RATE,      /* Gb/s of ports */
	KNOB_RATES,     /* ports times this */
	KNOB_GEN,       /* generations more or less of a NIC's slot */
	KNOB_LANES,     /* lanes of a NIC's slot times this */
	KNOB_UPLINK,    /* width of the PCIe switch above the NIC times this; 0: without limit */
	KNOB_GPU_SLOT,  /* width of GPUs' slots times this */
	KNOB_MPS,       /* bytes */
	KNOB_MRRS,      /* bytes */
	KNOB_TAGS,      /* outstanding reads of a NIC */
	KNOB_BUFFER,    /* bytes of outstanding reads */
	KNOB_CREDITS,   /* posted credits times this */
	KNOB_MTU,       /* bytes */
	KNOB_DELAY,     /* ns of a link */
	KNOB_FORWARD,   /* ns of a switch */
	KNOB_QP_RATE,   /* Gb/s of a queue pair; 0: no limit */
	KNOB_POSTS,     /* million messages a second of a queue pair; 0: no limit */
	KNOB_MESSAGES,  /* the same of a NIC */
	KNOB_FAR,       /* memory of the other socket (1), of the NIC's own (0) */
	KNOB_SOCKETS,   /* rate between sockets times this */
	KNOB_NVLINK,    /* rate of NVLinks times this; 0: none */
	KNOB_NVLATENCY, /* ns */
	KNOB_NICS,      /* so many NICs less */
	KNOB_STAGED,    /* through host memory: without GPUDirect */
	KNOB_LOSS,      /* of a link, a share; lossy, without PFC */
	KNOB_THREAD,    /* GPUs whose kernels a thread starts */
	KNOB_NCCL,      /* a variable, in text */
	KNOB_VERSION,   /* a release, in text */
	KNOB_QPS,       /* of a stream */
	KNOB_READS,     /* READs of a queue pair under way; 16 by default */
	KNOB_PAUSED,    /* share of the time that a NIC pauses its switch */
	KNOB_SLOT,      /* generation of a part's slot; lanes: its lanes */
	KNOB_RESTORE,   /* NICs that were left out for this reason (LEFT_DOWN) take part */
	KNOB_CLIMB,     /* GPU and NIC of one PCIe switch meet at the root complex: ACS */
	KNOB_UNSET,     /* a variable of NCCL, by its name in text */
};

struct expect_change {
	enum expect_knob knob;
	double value;
	const char *text;
	int host;      /* -1: all */
	uint32_t part; /* its number + 1; 0: all */
	uint32_t lanes;
	bool lacking; /* only of parts of which it was not read */
	bool copies;  /* hosts that are copies of the host, too */
};

struct expect_host {
	const char *name;
	struct rs_host *inside;
	uint8_t *lacks; /* [part] */
	int nic;        /* of perftest; -1 */
	bool twin;
};

/* Hosts, a network, and how a test is run on them. */
struct expect_model {
	uint32_t n;
	struct expect_host host[RS_EXPECT_HOSTS_MAX];
	uint32_t mtu;
	rs_time delay, forward; /* forward 0: none */
	double loss, framing;   /* framing: what InfiniBand's shorter headers leave more */
	bool far, staged;
	double paused;
	int paused_host;
	uint32_t qps, per_thread, reads; /* reads: under way of a queue pair; 0: 16 */
	uint32_t gpus;                   /* of a host that take part; 0: all */
	uint64_t told;                   /* bits of knobs that a log itself tells: not swept */
	const char *version;
	uint32_t n_env;
	const char *env[2 * EXPECT_ENV]; /* NAME, value */
};

/* --given: 0 and NULL where it was not. */
struct expect_given {
	double gbps, mtu, delay, forward, nvlink; /* nvlink: GB/s of a GPU */
	bool has_forward;
	const char *gpu, *nic, *layer, *version;
};

/* An unknown: how it is swept. */
struct expect_sweep {
	struct expect_change low[2], high[2];
	uint32_t n_low, n_high;
	bool perftest, nccl; /* whom it concerns */
};

struct expect_world {
	struct expect_model model; /* as read and assumed */
	struct expect_sweep sweep[RS_EXPECT_UNKNOWNS];
	bool nvlink, infiniband; /* nvlink: assumed by the GPUs' model */
	const char *gpu;         /* model, as given */
	struct expect_given given;
};

/* A simulation. */
struct expect_run {
	const struct expect_model *model;
	enum rs_expect_test test;
	enum rs_coll_op op;
	uint32_t hosts;
	uint64_t bytes, as_bytes; /* as_bytes 0: bytes */
	/* out: 0 where it did not end; busbw = bytes / us * factor */
	double us, factor;
	char chosen[16]; /* the algorithm that NCCL took; "": it was told */
	struct rs_error e;
};

/* hosts.c: the world from facts; x->no_*, x->next where too little is known. */
int expect_hosts(struct rs_expect *x, const struct rs_expect_options *o, struct rs_error *e);
/* place.c: a host from topo -m and lists of devices, where no PCI tree is known; NULL: neither. */
/* What tools tell of a port: bits per second (0: they do not); "InfiniBand", "Ethernet" or NULL. */
int64_t expect_told_rate(struct rs_expect *x, const char *host, const struct rs_part *p);
const char *expect_told_layer(struct rs_expect *x, const char *host, const struct rs_part *p);
struct rs_host *expect_place(struct rs_expect *x, const char *host, struct rs_load *l);
/* The host that --given alone describes; NULL: it describes none. */
struct rs_host *expect_place_given(struct rs_expect *x, struct rs_load *l);
/* parts.c: models, rates, slots, CPU, NVLinks; marks what is lacking. */
void expect_complete(struct rs_expect *x, struct expect_host *h, struct rs_load *l);
const char *expect_gpu(struct rs_expect *x, const char *host); /* as read; NULL */
/* As given, as read, or by the number of NVLinks; NULL: none tells. */
const char *expect_gpu_assumed(struct rs_expect *x, const char *host);
/* unknown.c: what --given says; what is left to assume */
int expect_given(struct rs_expect *x, const struct rs_expect_options *o, struct rs_error *e);
int expect_unknowns(struct rs_expect *x, const struct rs_expect_options *o, struct rs_error *e);

/* model.c */
struct expect_model *expect_copy(struct rs_expect *x, const struct expect_model *m);
void expect_apply(struct rs_expect *x, struct expect_model *m, const struct expect_change *c);
/* A copy with changes; NULL: no memory. */
struct expect_model *expect_changed(struct rs_expect *x, const struct expect_model *m,
				    const struct expect_change *c, uint32_t n);
/* write.c: as YAML; what a stream of such messages sends in all. */
uint64_t expect_stream_bytes(uint64_t message);
int expect_write(const struct expect_run *r, FILE *out, struct rs_error *e);
/* run.c: all of them, side by side. done of so many before: for progress. -ENOMEM. */
int expect_run_all(struct rs_expect *x, const struct rs_expect_options *o, struct expect_run *r,
		   uint32_t n, double from, double to, struct rs_error *e);
/* figures.c: a figure's runs, one, or two of smaller sizes; its time from them; the share by which
 * the model itself may err. */
uint32_t expect_runs_of(const struct expect_model *m, const struct rs_expect_figure *f,
			struct expect_run r[2]);
double expect_us(const struct rs_expect_figure *f, const struct expect_run *r, uint32_t n);
/* Times, ranges and what they are made of, of n figures on a model and its extremes. */
int expect_ranges(struct rs_expect *x, const struct rs_expect_options *o,
		  const struct expect_model *m, struct rs_expect_figure *figure, uint32_t n,
		  double from, double to, struct rs_error *e);
double expect_error(enum rs_expect_test test, enum rs_coll_op op, uint64_t bytes);
double expect_value(enum rs_expect_test test, uint64_t bytes, double us, double factor);
/* parts.c: the NIC that a host of the model sends by; NULL: it has none. */
const struct rs_part *expect_nic(const struct expect_model *m, uint32_t host);
/* The slot that a port of this rate needs. */
struct rs_pcie expect_slot(const struct rs_part *nic);

/* Something that the audit found, or that the log or the description says: what takes it away from
 * the model (is), or what puts it there where it is only suspected. */
struct expect_found {
	const char *check; /* "P01"; NULL: no check's */
	const char *what;
	bool is;
	uint32_t n;
	struct expect_change *change;
};
enum { EXPECT_FOUND = 24 };
/* found.c: of a test on this model; log: what was read of the measured file; NULL: nothing. Returns
 * how many. rest: findings of major or worse that no change shows. */
uint32_t expect_found(struct rs_expect *x, const struct expect_model *m, struct rs_audit *log,
		      enum rs_expect_test test, uint32_t hosts,
		      struct expect_found found[EXPECT_FOUND], struct rs_expect_measured *out);
/* hosts.c: does the job's own list, of this host of the audit, have the NIC? true: no list. */
bool expect_listed(const struct rs_audit *a, const char *host, const char *name);
/* unknown.c: of the releases that nccl/ knows, the nearest to this one, as rs_nccl_make(). */
const char *expect_release(struct rs_expect *x, uint32_t v);
/* The variables of NCCL that the plan takes, of this host of the audit, into the model. */
void expect_variables(struct rs_audit *a, const char *host, struct expect_model *m);
/* limit.c: what holds a figure back; all of x's. */
int expect_limit_of(struct rs_expect *x, const struct rs_expect_options *o,
		    struct rs_expect_figure *f, struct rs_error *e);
int expect_limits(struct rs_expect *x, const struct rs_expect_options *o, struct rs_error *e);

#endif
