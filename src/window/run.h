/*
 * Runs: long WRITEs whose bytes two processes of one host copy between them, each a half. The n-th
 * run of a ring has a ticket in memory that both write. The receiver reads the second half itself
 * and grants the first to the sender to write; a side that does not run leaves its half to
 * the other.
 *
 * Two pure state machines, one an end. Events go in (a run sent, a run come, a copy made or not,
 * the time), and what is to be copied, waited for or executed comes out. They do no I/O, read no
 * clock, allocate nothing; the copies are the owner's. What the other end wrote in a ticket is a
 * claim: each word is read once, and checked. It can spoil its own runs, and nothing else.
 */
#ifndef RS_WINDOW_RUN_H
#define RS_WINDOW_RUN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/time.h"

enum {
	RS_RUN_TICKETS = 64,
	RS_RUN_PENDING = 8, /* that came, and are copied at once */
	RS_RUN_TAIL = 64,   /* a run's last bytes, which programs look at: written last */
	RS_RUN_LINE = 64,   /* of a cache */
	RS_RUN_PAGE = 4096,
};

/* The receiver copies from the sender's memory; the sender may forbid it. */
enum rs_run_pull { RS_RUN_PULL_IDLE, RS_RUN_PULL_BUSY, RS_RUN_PULL_FORBIDDEN };

/* The receiver grants a part of the run's place to the sender, who copies there. */
enum rs_run_push {
	RS_RUN_PUSH_UNDECIDED,
	RS_RUN_PUSH_GRANTED,
	RS_RUN_PUSH_TAKEN,
	RS_RUN_PUSH_DONE,
	RS_RUN_PUSH_FAILED,
	RS_RUN_PUSH_NONE, /* not granted, or not any more */
};

/* In shared memory. */
struct rs_run_ticket {
	_Alignas(RS_RUN_LINE) _Atomic uint32_t pull; /* enum rs_run_pull */
	_Atomic uint32_t push;                       /* enum rs_run_push */
	_Atomic uint64_t push_to;                    /* address in the receiver's memory */
	_Atomic uint32_t push_bytes;
};

/* ---- The sender's end ---- */

/* A run that was sent: bytes at an address, until its request is over. */
struct rs_run_sent {
	uint64_t at;
	uint32_t bytes, qpn, psn;
	bool forbidden; /* its request is over: no more copies */
};

struct rs_runs_out {
	struct rs_run_ticket *ticket; /* RS_RUN_TICKETS, shared */
	_Atomic uint64_t *done_word;  /* shared: how many the receiver executed */
	uint64_t sent, looked, done;  /* runs: of which the grants were looked at; executed */
	struct rs_run_sent run[RS_RUN_TICKETS];
	uint32_t stops_max; /* waits for a reader until it is given up */
	uint64_t stopping;  /* the run that is being forbidden, and waits for its reader so far */
	unsigned stops;
	bool stuck; /* a reader was waited for in vain: never again */
};

/* A copy that the receiver asks for: bytes from an own address to one of its. */
struct rs_run_copy {
	uint64_t number, from, to;
	uint32_t bytes, qpn, psn;
};

/* A ticket for the next run; NULL is none: all are under way. */
struct rs_run_ticket *rs_runs_out_ticket(struct rs_runs_out *o);
/* The run that has it was sent. */
void rs_runs_out_sent(struct rs_runs_out *o, const struct rs_run_sent *run);
/* What the receiver says of how many it executed. */
void rs_runs_out_note(struct rs_runs_out *o);
/* The next copy, which is this end's until rs_runs_out_pushed(); false: none is granted now. It is
 * of the run's own bytes; whether its request goes on is the owner's to look at. */
bool rs_runs_out_push(struct rs_runs_out *o, struct rs_run_copy *c);
/* RS_RUN_PUSH_DONE; _FAILED: this process cannot write there; _NONE: the request is over. */
void rs_runs_out_pushed(struct rs_runs_out *o, uint64_t number, enum rs_run_push how);

enum rs_run_stop {
	RS_RUN_STOPPED, /* not read any more, nor written by this end */
	RS_RUN_READ,    /* being read: again, when rs_runs_out_reads() says no */
	RS_RUN_STUCK,   /* it is read time and again: the ring is to be given up */
};
/* A run whose request is over. */
enum rs_run_stop rs_runs_out_forbid(struct rs_runs_out *o, uint64_t number);
bool rs_runs_out_reads(const struct rs_runs_out *o, uint64_t number);
/* It was waited for in vain. */
void rs_runs_out_give_up(struct rs_runs_out *o);

/* ---- The receiver's end ---- */

/* A run that came and is not executed yet. */
struct rs_run_come {
	uint64_t at; /* in the sender's memory */
	uint32_t bytes, packets, qpn;
	uint8_t *place;      /* NULL: nothing was copied, all is done in its turn */
	uint32_t granted;    /* bytes from the start that are the sender's to write */
	uint32_t tail_bytes; /* kept apart until it is executed */
	bool failed;
	bool spoilt; /* an older run's bytes went over the sender's half: it is read here, too */
	rs_time since;
};

struct rs_runs_in {
	struct rs_run_ticket *ticket;
	_Atomic uint64_t *done_word;
	rs_time grant_time; /* a sender that does not come for its grant so long does not run */
	bool no_grants;     /* the sender cannot write to this process */
	unsigned pending;
	uint64_t done; /* the oldest pending run's number */
	struct rs_run_come run[RS_RUN_PENDING];
};

/* i: pending runs by age, the oldest is 0. */
static inline struct rs_run_come *rs_runs_in_at(struct rs_runs_in *in, unsigned i)
{
	return &in->run[(in->done + i) % RS_RUN_PENDING];
}

/* May a run of that queue pair be copied before those that are pending are executed? Then *ahead is
 * how many packets of its queue pair these have. */
bool rs_runs_in_may_copy(struct rs_runs_in *in, uint32_t qpn, uint32_t *ahead);
/*
 * A run came: at, bytes, packets and qpn of r hold, place (NULL: none is known) and failed. There
 * is room. Returns the bytes from which on it is to be read now, to its place, tail_bytes of them
 * apart; r->bytes: nothing is.
 */
uint32_t rs_runs_in_begin(struct rs_runs_in *in, const struct rs_run_come *r, rs_time now);
/* Before and after a read of a pending run. False: it is forbidden. */
bool rs_runs_in_pull(struct rs_runs_in *in, unsigned i);
void rs_runs_in_pulled(struct rs_runs_in *in, unsigned i);

enum rs_run_step {
	RS_RUN_WAIT, /* the sender is to write, or writes, its half */
	RS_RUN_PULL, /* *bytes from the start are to be read here after all */
	RS_RUN_EXECUTE,
	RS_RUN_DROP, /* it came to nothing: as a packet that was lost */
};
/* What is to be done with the oldest, of which there is one. After RS_RUN_PULL it is asked again.
 */
enum rs_run_step rs_runs_in_step(struct rs_runs_in *in, rs_time now, uint32_t *bytes);
/* It is done with. */
void rs_runs_in_finished(struct rs_runs_in *in);

/* No grant is to be taken any more: before memory goes. Then each pending run is put back, as soon
 * as it is not being written, or when its ring is given up. */
void rs_runs_in_revoke(struct rs_runs_in *in);
bool rs_runs_in_written(const struct rs_runs_in *in, unsigned i);
/* It is copied again in its turn, where the engine still allows it. */
void rs_runs_in_put_back(struct rs_runs_in *in, unsigned i);

#endif
