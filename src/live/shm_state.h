/* What shm.c and shm_bulk.c share. Private to the two. */
#ifndef RS_LIVE_SHM_STATE_H
#define RS_LIVE_SHM_STATE_H

#include "live/shm.h"
#include "live/state.h"

/* Seldom run. */
#define APART __attribute__((noinline))

/* The addresses of the packets of one of a sender's paths, as it says. */
struct rs_shm_path {
	uint8_t own[16], peer[16];
	uint32_t path; /* of this device; its generation then */
	uint16_t generation;
	bool known, placed;
};

struct rs_shm_out {
	struct rs_shm_writer w;
	uint32_t lease; /* of the peer's slot; the ring is for its holder alone */
	int32_t pid;
	int pidfd;
	bool written; /* since it was last woken */
	bool deaf;    /* it does not read */
	rs_time made;
	uint32_t told[RS_SHM_PATHS]; /* generation of a path that it knows, plus 1 */
};

struct rs_shm_in {
	struct rs_shm_reader r;
	uint32_t lease;
	int32_t pid;
	int pidfd;
	struct rs_shm_path path[RS_SHM_PATHS];
};

struct rs_shm {
	uint64_t cookie; /* what a peer tries on whether it can read this process */
	struct rs_shm_out *out[RS_SHM_PEERS]; /* by slot */
	uint32_t refused[RS_SHM_PEERS];       /* lease of a holder that takes no ring */
	struct rs_shm_in *in[RS_SHM_PEERS];
	uint8_t in_slot[RS_SHM_PEERS]; /* those that there are */
	uint8_t written[RS_SHM_PEERS];
	unsigned ins, n_written;
	rs_time checked_at;
	_Atomic int64_t heard_ns; /* when a ring last brought something */
	struct {
		unsigned slot; /* 0: none waits */
		struct rs_shm_record record;
		size_t n;
		uint8_t payload[RS_MAX_PAYLOAD];
		rs_time since;
	} waiting;
};

#endif
