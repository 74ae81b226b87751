/*
 * A ring of packets in memory that two processes share: one writes, one reads. A record is a line
 * of 64 bytes, which a short payload fits in, and the lines of a longer payload. Whatever the other
 * side writes there is a claim: a record is copied out once, and the copy is checked.
 */
#ifndef RS_LIVE_SHM_RING_H
#define RS_LIVE_SHM_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "window/run.h"
#include "wire/packet.h"

enum {
	RS_SHM_LINE = 64,
	RS_SHM_LINES = 8192, /* of a ring's records: 512 KiB */
	RS_SHM_LONG = 2048,  /* a payload from here on is a long one */
	RS_SHM_SMALL = 16,   /* a payload up to here is in the record's own line */
	RS_SHM_MAGIC = 0x52735368,
	RS_SHM_LAYOUT = 4,
	/* Bytes of its stage. Measured: 4 MiB carry what 2 do, 1 MiB 10 to 20 % less, probably as
	 * its lines are still in the other core's cache when they are written anew. */
	RS_SHM_STAGE = 2 << 20,
};

enum rs_shm_kind {
	RS_SHM_PACKET = 1,
	RS_SHM_SKIP, /* the rest of the ring is unused: on from its start */
	RS_SHM_PATH, /* whose packets those of this path are; payload: sender's, receiver's address
		      */
	RS_SHM_RUN,  /* packets of one message, their payload in the sender's memory */
	RS_SHM_STAGED, /* the same, their payload in the ring's stage */
	RS_SHM_KINDS,
};

/* Fields that no packet has both of share a place. */
struct rs_shm_record {
	_Atomic uint32_t seq; /* says that the record is there */
	uint8_t kind;
	uint8_t opcode;
	uint8_t bth_flags;
	uint8_t tos;
	uint16_t pkey;
	uint16_t payload_bytes; /* in the ring */
	uint32_t dest_qp;
	uint32_t psn;
	uint32_t aeth_imm;
	uint64_t va;
	uint32_t rkey_qkey;
	uint32_t dma_bytes;
	uint32_t
		src_qp_srqn; /* of a run: bytes of each packet but the last; with an ACK: its PSN */
	uint16_t path;       /* the sender's number of it */
	uint16_t packets;    /* of a run; of a packet, RS_SHM_WITH_ACK: and an ACK */
	union {
		struct {
			uint64_t swap_add, compare;
		} atomic;
		struct {
			uint64_t at;    /* in the sender's memory; staged: bytes before it */
			uint32_t bytes; /* of all packets */
			uint32_t last;  /* the message ends with them */
		} run;
		uint8_t small[RS_SHM_SMALL];
	} u;
};

_Static_assert(sizeof(struct rs_shm_record) == RS_SHM_LINE, "one cache line");

enum {
	RS_SHM_WITH_ACK = 2,
	RS_SHM_RUN_MAX = 256 << 10,   /* bytes of a run */
	RS_SHM_STAGED_MAX = 64 << 10, /* of one that goes through the stage */
};

/* The memory of a ring, with the writer of each line. */
struct rs_shm_ring {
	uint32_t magic, layout; /* the sender, once */
	uint32_t lines;
	_Alignas(RS_SHM_LINE) _Atomic uint64_t head;   /* the receiver: lines read */
	_Atomic uint64_t runs_done;                    /* the receiver */
	_Atomic uint64_t staged_done;                  /* the receiver: bytes of the stage */
	_Alignas(RS_SHM_LINE) _Atomic uint32_t asleep; /* set by the receiver, cleared by both */
	_Atomic uint32_t attached, refused;            /* the receiver */
	_Atomic uint32_t pulls; /* the receiver: it can read the sender's memory */
	_Alignas(RS_SHM_LINE) uint64_t cookie_at, cookie; /* the sender, once: what to try it on */
	struct rs_run_ticket ticket[RS_RUN_TICKETS];      /* window/run.h */
	_Alignas(RS_SHM_LINE) uint8_t line[RS_SHM_LINES][RS_SHM_LINE];
	_Alignas(4096) uint8_t stage[RS_SHM_STAGE];
};

/* ---- Writing ---- */

struct rs_shm_writer {
	struct rs_shm_ring *ring;
	uint64_t tail;  /* lines written */
	uint64_t head;  /* as last seen */
	uint64_t clear; /* the last line that was made to say nothing */
	bool past;      /* long payloads go past this processor's cache, from where some fetch them
			 * slower than from memory */
	uint64_t staged, staged_done; /* bytes of the stage, those left out at its end with them */
};

/* A record with n bytes behind it, or in it where they are few and its union is free. False: no
 * room. r's seq is not looked at. */
bool rs_shm_write(struct rs_shm_writer *w, struct rs_shm_record *r, const void *payload, size_t n);
/* The same for a run whose payload goes through the stage: from u.run.at of this process. False: no
 * room in the ring or the stage. */
bool rs_shm_write_staged(struct rs_shm_writer *w, struct rs_shm_record *r);
/* The record for a packet, but for path and payload. */
void rs_shm_pack(const struct rs_packet *p, struct rs_shm_record *r);
/* The record for p takes an ACK to the same peer along. False: it has no place for it. */
bool rs_shm_pack_ack(const struct rs_packet *p, const struct rs_packet *ack,
		     struct rs_shm_record *r);

/* ---- Reading ---- */

struct rs_shm_reader {
	struct rs_shm_ring *ring;
	uint64_t head;
	uint64_t told; /* head as the writer knows it */
	bool broken;   /* the writer does not keep to the rules: nothing more is read */
};

/* The next record, copied, and its payload: in the ring, or in *out. Both last until the next call;
 * the payload's bytes may change under the reader's eyes. False: there is none. */
bool rs_shm_read(struct rs_shm_reader *r, struct rs_shm_record *out, const uint8_t **payload);
/* Is there one? And, if so, a run? */
bool rs_shm_next_is_run(const struct rs_shm_reader *r);
bool rs_shm_waiting(const struct rs_shm_reader *r);
/* The writer does not keep to the rules: false. */
bool rs_shm_break(struct rs_shm_reader *r);
/* What was read may be written over. */
void rs_shm_release(struct rs_shm_reader *r);
/* The payload of a staged run; NULL: it does not lie in the stage. */
const uint8_t *rs_shm_staged(const struct rs_shm_reader *r, const struct rs_shm_record *record);
/* It was read. */
void rs_shm_unstage(struct rs_shm_reader *r, const struct rs_shm_record *record);
/* The ACK that a record of a packet brought along, which the record then has no more. False: none.
 */
bool rs_shm_unpack_ack(struct rs_shm_record *r, struct rs_packet *ack);
/* The packet of a record: false, and it is none that the wire could have brought. */
bool rs_shm_unpack(const struct rs_shm_record *r, const uint8_t *payload, struct rs_packet *p);

#endif
