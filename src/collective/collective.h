/*
 * Collectives as graphs of transfers, evaluated lazily: each rank runs lanes; a lane is a sequence
 * of steps; a step waits for chunks received on connections and for other lanes of its rank, then
 * sends chunks. No step is stored: any is computed from (rank, lane, number), so 8,192 ranks cost
 * nothing.
 */
#ifndef RS_COLLECTIVE_COLLECTIVE_H
#define RS_COLLECTIVE_COLLECTIVE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/error.h"
#include "base/time.h"
#include "fabric/fabric.h"

enum { RS_STEP_FAN = 3, RS_NO_CONN = -1 };

/* A one-way channel from a rank to a rank: messages arrive in the order in which they were sent. */
struct rs_conn {
	uint32_t src, dst; /* ranks */
	uint32_t channel;
	uint32_t via; /* the rank in whose GPU's memory a NIC finds the bytes: src, or its proxy */
	bool nvlink;  /* inside a host over NVLink or PCIe, not through a NIC */
	uint32_t src_endpoint, dst_endpoint; /* NICs used when !nvlink */
	/* No GPUDirect: the NIC reads from, or writes to, the memory of the GPU's socket. Inside a
	 * host, no peer-to-peer: the sender writes there. */
	bool from_host, to_host;
	bool c2c; /* ... which that of dst reaches by NVLink-C2C, not over PCIe */
};

struct rs_step {
	uint8_t n_recv, n_send, n_wait;
	struct {
		uint32_t conn;
		uint64_t bytes;  /* of the message to wait for: the next one of this connection */
		uint64_t offset; /* in the buffer (all-to-all: of the sender); the engine ignores it
				  */
		bool reduce;     /* received data is added to what is there, not put in its place */
	} recv[RS_STEP_FAN], send[RS_STEP_FAN];
	struct {
		uint32_t lane;  /* of the same rank */
		uint64_t count; /* steps of it that must be done first */
	} wait[RS_STEP_FAN];
	uint64_t local;  /* bytes of data that it reads or writes, the largest of its messages' */
	rs_time compute; /* local time between the receives and the sends: kernel, reduction, proxy
			  */
};

struct rs_coll {
	struct rs_collective_conf conf;
	uint32_t n_ranks, n_lanes; /* lanes a rank, the same for all */
	uint32_t window;           /* messages in flight a connection */
	uint32_t net_window;       /* of one through a NIC; 0: the same */
	bool turns;                /* queue pairs take messages in turn; else each has a part */
	uint32_t n_conns;
	struct rs_conn *conns;
	uint64_t bus_numerator, bus_denominator; /* busbw = algbw * n / d */
	uint64_t count;                          /* elements, as nccl-tests prints */
	const void *plan;                        /* the algorithm's own */
	/* As NCCL runs it (algorithm: nccl); all 0 otherwise. */
	const struct nccl_run *nccl;
	struct {
		uint32_t num, den; /* bytes on a link for bytes of data; den 0: as many */
	} net, inside;
	bool lines;    /* LL, LL128: inside a host a step sends while it receives */
	bool stores;   /* inside a host a message is on the links while its step computes */
	bool empties;  /* a slice without data is a message, too */
	rs_time hop;   /* inside a host, in place of its links' latencies; 0: theirs */
	rs_time proxy; /* of a message to the network, before it is posted, beside others' */
	rs_time post;  /* of its proxy thread, one message of a rank after another */
	/* Of a server that the host has (TCPXO's), one message of the host after another: each. One
	 * of up to `lone` bytes has an empty one behind it, which the server takes, too. */
	rs_time serve;
	uint64_t lone;
	int64_t proxy_rate; /* more of it: bytes a second of data on their way there; 0: none */
	/* More of a post, of some networks: copies messages of more than `copied` and up to `eager`
	 * bytes at this rate (0: it does not), takes `rendezvous` for longer ones. */
	uint32_t copied, eager;
	int64_t eager_rate;
	rs_time rendezvous;
	rs_time found;    /* ... of those up to `eager` that come before their receive is posted */
	rs_time injected; /* ... of those up to `inject` bytes, which go with the command itself */
	uint32_t inject;
	rs_time longer; /* of those more on their way, beside others */
	/* EFA, TCPX: a message goes over as many rails or sockets as it has stripes. 0: one. */
	uint32_t rails, stripe;
	int64_t rail_rate; /* bytes a second */
	uint64_t (*n_steps)(const struct rs_coll *c, uint32_t rank, uint32_t lane);
	void (*step)(const struct rs_coll *c, uint32_t rank, uint32_t lane, uint64_t i,
		     struct rs_step *out);
	/* Of several plans joined: [connection] the one whose hop, lines, proxy and post it has;
	 * NULL: this one. */
	const struct rs_coll *const *part;
	/* A step is taken, or done: its plan may keep the time. NULL: it need not be told. */
	void (*mark)(const struct rs_coll *c, uint32_t rank, uint32_t lane, uint64_t i, bool taken,
		     rs_time now);
};

/* Plan conf over f's GPUs (ranks 0 .. n-1). -EINVAL with e filled: too few ranks, an algorithm that
 * the operation does not have, a hierarchy without hosts of equal size. */
int rs_coll_plan(const struct rs_fabric *f, const struct rs_collective_conf *conf,
		 struct rs_arena *a, struct rs_coll **out, struct rs_error *e);

/* From its GPU until its proxy posts a message of so many bytes, beside others. */
rs_time rs_coll_proxy_time(const struct rs_coll *c, uint64_t bytes);
/* The rank whose place a rank's proxy thread has among those that post at once: its own, or the
 * first one's on its core. */
uint32_t rs_coll_proxy(const struct rs_coll *c, uint32_t rank);
/* More of its post, where it goes with the command itself. */
rs_time rs_coll_inject_time(const struct rs_coll *c, uint64_t bytes);
/* Of its host's server. */
rs_time rs_coll_serve_time(const struct rs_coll *c, uint64_t bytes);
/* Bytes that a rank must send in all: for closed forms. */
uint64_t rs_coll_bytes_sent(const struct rs_coll *c, uint32_t rank);
/* What NCCL took for it ("NVLSTree", "Simple", channels); false: it was told. */
bool rs_coll_chosen(const struct rs_coll *c, const char **algorithm, const char **protocol,
		    int *channels);
const char *rs_coll_op_name(enum rs_coll_op op); /* "all-reduce" */
/* By its name in any form, as nccl-tests' "alltoall" or "all_reduce"; -1: there is none. */
int rs_coll_op_of(const char *name);
const char *rs_coll_algorithm_name(enum rs_coll_algorithm a); /* "hierarchical" */

/* ---- A training step (docs/models.md) ---- */

/* What a step consists of, from its parameters: closed form, no network. */
struct rs_train_plan {
	uint32_t dp, tp, pp;
	double parameters_per_gpu, flops_per_gpu;
	uint64_t gradient_bytes; /* a GPU's, to be all-reduced over dp */
	uint32_t n_buckets;
	uint64_t bucket_bytes;
	rs_time forward, backward; /* 1 : 2 of the compute time */
	uint32_t simulated_buckets;
	struct rs_collective_conf bucket; /* one bucket's collective, as simulated */
};
int rs_train_plan(const struct rs_fabric *f, const struct rs_train_conf *t,
		  struct rs_train_plan *out, struct rs_error *e);

/* The step, given what buckets took: first (from idle) and each further one back to back. Bucket i
 * is ready at forward + backward * (i + 1) / n (times overlap); buckets go one after another. */
struct rs_train_result {
	rs_time step, compute, communication, exposed;
	double efficiency; /* of the compute alone: compute / step */
};
/* When bucket i is reduced in it: from its begin. *b: in, that of bucket i - 1. */
struct rs_train_bucket {
	rs_time from, to;
};
void rs_train_bucket(const struct rs_train_plan *p, const struct rs_train_conf *t, rs_time first,
		     rs_time further, uint32_t i, struct rs_train_bucket *b);
void rs_train_evaluate(const struct rs_train_plan *p, const struct rs_train_conf *t, rs_time first,
		       rs_time further, struct rs_train_result *out);

#endif
