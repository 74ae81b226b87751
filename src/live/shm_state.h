/* What shm.c and shm_bulk.c share. Private to the two. */
#ifndef RS_LIVE_SHM_STATE_H
#define RS_LIVE_SHM_STATE_H

#include "live/shm.h"
#include "live/state.h"
#include "window/ways.h"

/* Seldom run. */
#define APART __attribute__((noinline))

/* The addresses of the packets of one of a sender's paths, as it says. */
struct rs_shm_path {
	uint8_t own[16], peer[16];
	uint32_t path; /* of this device; its generation then */
	uint16_t generation;
	bool known, placed;
};

/* Of a run that came and is not executed yet, beside window/run.h's. */
struct rs_shm_run {
	struct rs_packet p; /* its first packet's headers */
	uint32_t mtu;
	uint8_t tail[RS_RUN_TAIL]; /* written when all before them are there */
	bool last;
};

struct rs_shm_out {
	struct rs_ways ways; /* to write the stage: through this processor's cache, past it */
	struct rs_shm_writer w;
	uint32_t lease; /* of the peer's slot; the ring is for its holder alone */
	int32_t pid;
	int pidfd;
	bool written; /* since it was last woken */
	bool deaf;    /* it does not read */
	bool running; /* in the line of those to whom runs are on their way */
	rs_time made;
	struct rs_runs_out runs;
	uint32_t told[RS_SHM_PATHS]; /* generation of a path that it knows, plus 1 */
};

struct rs_shm_in {
	struct rs_shm_reader r;
	uint32_t lease;
	int32_t pid;
	int pidfd;
	struct rs_runs_in runs;
	struct rs_shm_run run[RS_RUN_PENDING];
	struct rs_shm_path path[RS_SHM_PATHS];
	/* From another network namespace: of these addresses and this slot alone. */
	uint8_t own[16], peer[16], slot;
};

struct rs_shm {
	bool within;     /* between devices of one process, too: for tests */
	uint64_t cookie; /* what a peer tries on whether it can read this process */
	struct rs_shm_out *out[RS_SHM_PEERS]; /* by slot */
	uint32_t refused[RS_SHM_PEERS];       /* lease of a holder that takes no ring */
	struct rs_shm_in *in[RS_SHM_PEERS];
	uint16_t in_slot[RS_SHM_PEERS]; /* those that there are */
	uint16_t written[RS_SHM_PEERS];
	unsigned ins, n_written;
	uint16_t out_slot[RS_SHM_PEERS]; /* those to whom runs are on their way */
	unsigned outs;
	uint64_t errors; /* of requests, when it was last looked whose runs are over */
	uint8_t *bounce; /* RS_SHM_RUN_MAX bytes, once there was need */
	int64_t checked_ns;
	_Atomic int64_t heard_ns; /* when a ring last brought something */
	struct {
		unsigned slot; /* 0: none waits */
		struct rs_shm_record record;
		size_t n;
		uint8_t payload[RS_MAX_PAYLOAD];
		rs_time since;
	} waiting;
};

/* shm.c: the path of this device that a record came by; UINT32_MAX: a stranger's. */
uint32_t rs_shm_path_of(struct rs_live *l, struct rs_shm_in *in, const struct rs_shm_record *r);

/* shm_bulk.c */
/* Makes a run of a packet that the engine gave, where it is worth it. */
bool rs_shm_make_run(struct rs_live *l, struct rs_shm_out *o, struct rs_packet *p,
		     struct rs_shm_record *r, rs_time now);
/* So many bytes went into the ring, or its stage, by the way that the writer takes. */
void rs_shm_judge_way(struct rs_shm_out *o, size_t bytes);
/* False: no room. */
bool rs_shm_write_run(struct rs_shm_out *o, struct rs_shm_record *r);
/* Copies what peers granted; true: any. */
bool rs_shm_push(struct rs_live *l);
/* A run that came. */
void rs_shm_begin_run(struct rs_live *l, struct rs_shm_in *in, const struct rs_shm_record *r,
		      rs_time now);
/* One whose payload is in the stage. */
void rs_shm_take_staged(struct rs_live *l, struct rs_shm_in *in, const struct rs_shm_record *r,
			rs_time now);
/* Executes those that are copied, in order; true: any. */
bool rs_shm_finish_runs(struct rs_live *l, struct rs_shm_in *in, rs_time now);
/* Runs of requests that are over are not read any more. */
void rs_shm_forbid(struct rs_live *l);
/* No peer writes to this process's memory from here on, nor will by what was granted. */
void rs_shm_revoke_all(struct rs_live *l);

#endif
