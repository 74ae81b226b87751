/* A plan as NCCL's log tells it at INFO, and a real log held against it. */
#ifndef RS_NCCL_LINES_H
#define RS_NCCL_LINES_H

#include <stdio.h>
#include "nccl/plan.h"
#include "nccl/topo.h"

enum rs_nccl_line {
	RS_NCCL_LINE_GRAPH,   /* Pattern 4, crossNic 0, ... and its channels (GRAPH) */
	RS_NCCL_LINE_RING,    /* Channel 00/16 : 0 7 6 ... */
	RS_NCCL_LINE_RING_OF, /* Ring 00 : 7 -> 0 -> 1 (GRAPH) */
	RS_NCCL_LINE_TREES,   /* Trees [0] 1/8/-1->0->-1 ... */
	RS_NCCL_LINE_HEADS,   /* NVLS Head  0:  0  8 */
	RS_NCCL_LINE_CHUNK,   /* P2P Chunksize set to 131072 */
	RS_NCCL_LINE_VIA,     /* Channel 00/0 : 0[0] -> 7[7] via P2P/CUMEM; NET/IB/0/GDRDMA */
	RS_NCCL_LINE_COUNTS,  /* 16 coll channels, 16 collnet channels, ... */
	RS_NCCL_LINE_SYSTEM,  /* === System : maxBw 48.0 totalBw 370.8 === (GRAPH) */
	RS_NCCL_LINES,
};

struct rs_nccl_print {
	const char *net;   /* the plugin's name: "IB" */
	bool graph;        /* lines of NCCL_DEBUG_SUBSYS=GRAPH too */
	bool same_process; /* one process drives a host's GPUs: P2P/direct pointer */
	uint32_t first, n; /* ranks; n 0: all */
};
/* "h0:0 [3] NCCL INFO ...", a line each; hosts named by the job's place. */
void rs_nccl_plan_print(const struct rs_nccl_plan *p, const struct rs_nccl_print *how, FILE *out);
/* A connection's words: "P2P/CUMEM/read", "[send] via NET/IB/0(1)/GDRDMA"... into buf. */
const char *rs_nccl_via_text(const struct rs_nccl_plan *p, const struct rs_nccl_print *how,
			     enum rs_nccl_algo algo, uint32_t from, uint32_t to, int channel,
			     bool send, char *buf, size_t size);

#endif
