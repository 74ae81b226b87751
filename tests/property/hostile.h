/*
 * A deterministic network between endpoints, of whatever transport, that loses, duplicates,
 * reorders, delays, marks, corrupts and goes dark, and has strangers on it: everything from one
 * seed, in virtual time.
 */
#ifndef RS_TESTS_HOSTILE_H
#define RS_TESTS_HOSTILE_H

#include "base/random.h"
#include "port/endpoint.h"
#include "rdma/nic.h"

enum { HOSTILE_NICS = 3, HOSTILE_FLIGHTS = 1 << 14, HOSTILE_PACKETS = 1 << 16 };

struct hostile_rates { /* of 65536 packets */
	uint32_t lose, duplicate, delay, corrupt, mark, stranger;
	uint32_t dark; /* begin a time in which this port neither sends nor hears */
	uint32_t trim; /* cut the payload off, of what is not RoCE */
};

struct hostile_counts {
	uint64_t runs, messages, delivered, marked; /* a mark is no fault */
	uint64_t lost, darkened, duplicated, delayed, corrupted, strangers, trimmed, lies;
	/* no faults, where a test counts them: what the worlds cost */
	uint64_t resent, asked, overflows, virtual_us;
	uint64_t went, came; /* Middles, in one go */
};

struct hostile_flight {
	struct rs_packet *p;
	uint8_t *bytes; /* of the payload: a wire is a copy */
	uint32_t to;
	rs_time when;
	uint64_t order;
};

struct hostile {
	struct rs_pool pool;
	struct rs_pool_list wire; /* copies and strangers are taken from here */
	struct rs_pool_list lists[HOSTILE_NICS];
	struct rs_endpoint *ends[HOSTILE_NICS];
	struct rs_nic *nics[HOSTILE_NICS]; /* of hostile_init(); NULL: of hostile_join() */
	struct hostile_rates rates;
	struct rs_random random;
	/* In worlds of odd seeds, NICs send and take Middles in one go (rdma/nic.h) where they may.
	 */
	bool gathers;
	struct rs_random gathered; /* moves no other draw */
	bool lies;                 /* of stamps: any bits in packets and ACKs with telemetry */
	struct rs_time_of {
		rs_time ask, free;
	} port[HOSTILE_NICS];
	struct hostile_flight flights[HOSTILE_FLIGHTS];
	uint32_t flying;
	uint64_t order;
	rs_time now;
	rs_time latency, jitter;
	uint8_t paused; /* classes, toggled at random */
	rs_time dark_until[HOSTILE_NICS];
	struct hostile_counts count;
};

/* A network of NICs. -1: no memory. */
int hostile_init(struct hostile *h, const struct rs_nic_config *base, uint64_t seed);
/* One without endpoints; the caller makes them, on lists[], and puts each in its place:
 * the place of an address is its remainder by HOSTILE_NICS. */
int hostile_init_bare(struct hostile *h, uint64_t seed);
void hostile_join(struct hostile *h, uint32_t place, struct rs_endpoint *e);
void hostile_fini(struct hostile *h);
/* A NIC may have become able to send. */
void hostile_wake(struct hostile *h, uint32_t nic);
/* One event: a delivery, a timer, or a port's turn. False: nothing is left to happen. */
bool hostile_step(struct hostile *h);
/* Packets taken from the slab and not given back. */
uint32_t hostile_used(const struct hostile *h);
/* A packet with random fields into a NIC, now. src: the endpoint that it claims. */
void hostile_garbage(struct hostile *h, uint32_t to, uint32_t src);

/* ---- A program of such runs ---- */

#define HOSTILE_CHECK(c) ((c) ? (void)0 : hostile_fail(#c, __FILE__, __LINE__))

/* Says what did not hold and how to see it again; exit status 1. */
_Noreturn void hostile_fail(const char *what, const char *file, int line);
/*
 * main() of a test: runs of consecutive seeds, the counts of all printed at the end.
 * [--seed N] [--from N] [--runs N] [--seconds N]; --seed is --from and one run.
 */
int hostile_main(int argc, char **argv, const char *name, uint64_t runs,
		 void (*run)(uint64_t seed, struct hostile_counts *sum));
void hostile_add(struct hostile_counts *sum, const struct hostile_counts *c);

#endif
