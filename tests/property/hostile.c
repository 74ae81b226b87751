/* The network of hostile.h. */
#include "property/hostile.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int hostile_init_bare(struct hostile *h, uint64_t seed)
{
	memset(h, 0, sizeof(*h));
	h->random = rs_random_stream(seed, 0, 0x4e455457);
	if (rs_pool_init(&h->pool, HOSTILE_PACKETS))
		return -1;
	rs_pool_list_init(&h->wire, &h->pool);
	for (uint32_t i = 0; i < HOSTILE_NICS; i++) {
		rs_pool_list_init(&h->lists[i], &h->pool);
		h->port[i].ask = RS_NEVER;
	}
	return 0;
}

void hostile_join(struct hostile *h, uint32_t place, struct rs_endpoint *e)
{
	h->ends[place] = e;
}

int hostile_init(struct hostile *h, const struct rs_nic_config *base, uint64_t seed)
{
	if (hostile_init_bare(h, seed))
		return -1;
	for (uint32_t i = 0; i < HOSTILE_NICS; i++) {
		struct rs_nic_config c = *base;

		c.endpoint = i;
		c.free = &h->lists[i];
		c.first_qpn = 100 + 1000 * i;
		if (rs_nic_create(&c, &h->nics[i], NULL))
			return -1;
		hostile_join(h, i, rs_nic_endpoint(h->nics[i]));
	}
	return 0;
}

void hostile_fini(struct hostile *h)
{
	for (uint32_t i = 0; i < HOSTILE_NICS; i++)
		rs_nic_destroy(h->nics[i]);
	for (uint32_t i = 0; i < h->flying; i++)
		free(h->flights[i].bytes);
	rs_pool_fini(&h->pool);
}

void hostile_wake(struct hostile *h, uint32_t nic)
{
	h->port[nic].ask = rs_time_max(h->now, h->port[nic].free);
}

static bool chance(struct hostile *h, uint32_t of_65536)
{
	return of_65536 && rs_random_below(&h->random, 65536) < of_65536;
}

static void fly(struct hostile *h, struct rs_packet *p, rs_time when)
{
	struct hostile_flight *f;

	if (h->flying == HOSTILE_FLIGHTS) {
		rs_pool_free(&h->wire, p);
		h->count.lost++;
		return;
	}
	f = &h->flights[h->flying++];
	*f = (struct hostile_flight){
		.p = p, .to = p->dst % HOSTILE_NICS, .when = when, .order = h->order++};
	if (p->payload && p->payload_bytes) {
		f->bytes = malloc(p->payload_bytes);
		memcpy(f->bytes, p->payload, p->payload_bytes);
		p->payload = f->bytes;
	}
}

static void copy_flies(struct hostile *h, const struct rs_packet *p, rs_time when)
{
	struct rs_packet *copy = rs_pool_alloc(&h->wire);

	if (!copy)
		return;
	*copy = *p;
	fly(h, copy, when);
}

void hostile_garbage(struct hostile *h, uint32_t to, uint32_t src)
{
	struct rs_random *r = &h->random;
	struct rs_packet *p = rs_pool_alloc(&h->wire);
	uint32_t near = 100 + 1000 * to + rs_random_below(r, 8);
	uint8_t bytes[4096];

	if (!p)
		return;
	for (size_t i = 0; i < sizeof(*p) / 4; i++)
		((uint32_t *)p)[i] = (uint32_t)rs_random_u64(r);
	memset(bytes, 0xee, sizeof(bytes));
	p->dst = to;
	p->src = src;
	p->kind = (uint8_t)(rs_random_below(r, 16) == 0);
	p->corrupt = 0;
	p->pkey = 0xffff;
	if (rs_random_below(r, 4))
		p->opcode &= 0x1f;
	if (rs_random_below(r, 2))
		p->payload_bytes &= 4095;
	if (p->payload_bytes > sizeof(bytes))
		p->payload_bytes = 4096;
	p->payload = rs_random_below(r, 4) ? bytes : NULL;
	if (rs_random_below(r, 8))
		p->dest_qp = near;
	if (rs_random_below(r, 8))
		p->psn &= RS_PSN_MASK;
	h->count.strangers++;
	fly(h, p, h->now + rs_random_below(r, 1000) * RS_NS);
}

static bool dark(struct hostile *h, uint32_t nic)
{
	if (h->now < h->dark_until[nic])
		return true;
	if (chance(h, h->rates.dark))
		h->dark_until[nic] = h->now + (rs_time)rs_random_below(&h->random, 100) * RS_US;
	return false;
}

/* As a switch that trims does. */
static void trim(struct hostile *h, struct rs_packet *p)
{
	if (p->kind != RS_KIND_OTHER || !p->payload_bytes || !chance(h, h->rates.trim))
		return;
	p->payload = NULL;
	p->payload_bytes = 0;
	p->frame_bytes = RS_ETH_MIN_FRAME;
	p->bth_flags |=
		chance(h, 32768) ? RS_PACKET_TRIMMED : RS_PACKET_TRIMMED | RS_PACKET_TRIMMED_LAST;
	h->count.trimmed++;
}

/* The wire's mercy on one packet. */
/* Switches that stamp anything, and peers that return anything. */
static void lie(struct hostile *h, struct rs_packet *p)
{
	unsigned hops = rs_random_below(&h->random, RS_INT_HOPS + 1);

	p->int_path =
		rs_random_below(&h->random, 4) ? p->int_path : (uint32_t)rs_random_u64(&h->random);
	for (unsigned i = 0; i < RS_INT_HOPS; i++)
		p->int_hop[i] =
			i >= hops || rs_random_below(&h->random, 16) == 0
				? 0
				: rs_random_u64(&h->random) >> rs_random_below(&h->random, 64);
	h->count.lies++;
}

static void transmit(struct hostile *h, uint32_t from, struct rs_packet *p)
{
	rs_time when = h->now + h->latency;

	if (h->lies && p->bth_flags & RS_PACKET_INT)
		lie(h, p);

	if (dark(h, from) || h->now < h->dark_until[p->dst % HOSTILE_NICS]) {
		h->count.darkened++;
		rs_pool_free(&h->lists[from], p);
		return;
	}
	if (chance(h, h->rates.stranger))
		hostile_garbage(h, p->dst, (p->dst + 1 + rs_random_below(&h->random, 7)) + 100);
	if (chance(h, h->rates.lose)) {
		h->count.lost++;
		rs_pool_free(&h->lists[from], p);
		return;
	}
	trim(h, p);
	if (chance(h, h->rates.corrupt)) {
		p->corrupt = 1;
		h->count.corrupted++;
	}
	if (chance(h, h->rates.mark)) {
		p->tos |= RS_ECN_CE;
		h->count.marked++;
	}
	if (chance(h, h->rates.delay)) {
		when += (rs_time)rs_random_below(&h->random, (uint32_t)(h->jitter / RS_NS)) * RS_NS;
		h->count.delayed++;
	}
	if (chance(h, h->rates.duplicate)) {
		copy_flies(h, p, when + (rs_time)rs_random_below(&h->random, 20000) * RS_NS);
		h->count.duplicated++;
	}
	fly(h, p, when);
}

static void turn(struct hostile *h, uint32_t i)
{
	rs_time again;
	struct rs_packet *p = rs_endpoint_tx(h->ends[i], h->paused, h->now, &again);

	if (!p) {
		h->port[i].ask = again;
		if (h->paused)
			h->port[i].ask = rs_time_min(again, h->now + RS_US);
		if (chance(h, 8192))
			h->paused = 0;
		return;
	}
	if (chance(h, 64))
		h->paused = (uint8_t)rs_random_u64(&h->random);
	else if (chance(h, 1024))
		h->paused = 0;
	h->port[i].free = h->now + (rs_time)rs_packet_link_bytes(p) * 80;
	h->port[i].ask = h->port[i].free;
	transmit(h, i, p);
}

static uint32_t first_flight(const struct hostile *h)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < h->flying; i++) {
		const struct hostile_flight *a = &h->flights[i], *b = &h->flights[best];

		if (a->when < b->when || (a->when == b->when && a->order < b->order))
			best = i;
	}
	return best;
}

static void deliver(struct hostile *h, uint32_t i)
{
	struct hostile_flight f = h->flights[i];

	h->flights[i] = h->flights[--h->flying];
	h->count.delivered++;
	rs_endpoint_rx(h->ends[f.to], f.p, h->now);
	free(f.bytes);
	hostile_wake(h, f.to);
}

bool hostile_step(struct hostile *h)
{
	uint32_t flight = h->flying ? first_flight(h) : 0;
	rs_time when = h->flying ? h->flights[flight].when : RS_NEVER;
	int port = -1, timer = -1;

	for (int i = 0; i < HOSTILE_NICS; i++) {
		rs_time deadline = rs_endpoint_deadline(h->ends[i]);

		if (h->port[i].ask < when) {
			when = h->port[i].ask;
			port = i;
			timer = -1;
		}
		if (deadline < when) {
			when = deadline;
			timer = i;
			port = -1;
		}
	}
	if (when == RS_NEVER)
		return false;
	h->now = rs_time_max(h->now, when);
	if (timer >= 0) {
		rs_endpoint_expire(h->ends[timer], h->now);
		hostile_wake(h, (uint32_t)timer);
	} else if (port >= 0) {
		turn(h, (uint32_t)port);
	} else {
		deliver(h, flight);
	}
	return true;
}

uint32_t hostile_used(const struct hostile *h)
{
	uint32_t idle = h->pool.spill_count + rs_pool_list_count(&h->wire);

	for (uint32_t i = 0; i < HOSTILE_NICS; i++)
		idle += rs_pool_list_count(&h->lists[i]);
	return h->pool.fresh - idle;
}

/* ---- A program of such runs ---- */

static char replay[128];

_Noreturn void hostile_fail(const char *what, const char *file, int line)
{
	const char *base = strrchr(file, '/');

	fprintf(stderr, "%s:%d: %s\n%s", base ? base + 1 : file, line, what, replay);
	exit(1);
}

static void on_abort(int signal)
{
	ssize_t n = write(2, replay, strlen(replay));

	_exit(n < 0 ? 3 : 2);
}

void hostile_add(struct hostile_counts *sum, const struct hostile_counts *c)
{
	uint64_t *to = (uint64_t *)sum;
	const uint64_t *from = (const uint64_t *)c;

	for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		to[i] += from[i];
}

static double elapsed(const struct timespec *since)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)(t.tv_sec - since->tv_sec) + (double)(t.tv_nsec - since->tv_nsec) / 1e9;
}

static void print_counts(const char *name, uint64_t first, const struct hostile_counts *c,
			 double seconds)
{
	const struct {
		const char *what;
		uint64_t n;
	} rows[] = {
		{"lost", c->lost},
		{"lost in the dark", c->darkened},
		{"duplicated", c->duplicated},
		{"delayed", c->delayed},
		{"corrupted", c->corrupted},
		{"strangers' packets", c->strangers},
		{"trimmed", c->trimmed},
		{"lies of stamps", c->lies},
	};
	uint64_t faults = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		faults += rows[i].n;
	printf("%s: seeds %llu to %llu, %llu messages, %llu packets delivered (%llu marked), "
	       "%llu faults injected in %.0f s of wall clock, %.0f s of CPU\n",
	       name, (unsigned long long)first, (unsigned long long)(first + c->runs - 1),
	       (unsigned long long)c->messages, (unsigned long long)c->delivered,
	       (unsigned long long)c->marked, (unsigned long long)faults, seconds,
	       (double)clock() / CLOCKS_PER_SEC);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		printf("  %12llu %s\n", (unsigned long long)rows[i].n, rows[i].what);
	if (c->virtual_us)
		printf("  cost: %llu packets sent again, %llu questions, %llu lost to full "
		       "sockets, "
		       "%llu us of virtual time\n",
		       (unsigned long long)c->resent, (unsigned long long)c->asked,
		       (unsigned long long)c->overflows, (unsigned long long)c->virtual_us);
}

int hostile_main(int argc, char **argv, const char *name, uint64_t runs,
		 void (*run)(uint64_t seed, struct hostile_counts *sum))
{
	uint64_t first = 1, seconds = 0;
	struct hostile_counts sum = {0};
	struct timespec began;

#ifdef __SANITIZE_ADDRESS__
	runs = (runs + 2) / 3; /* slower by three or four: the same paths with fewer seeds */
#endif
	for (int i = 1; i < argc; i += 2) {
		char *end = "";
		uint64_t value = i + 1 < argc ? strtoull(argv[i + 1], &end, 10) : 0;

		if (i + 1 < argc && !*end && !strcmp(argv[i], "--seed")) {
			first = value;
			runs = 1;
		} else if (i + 1 < argc && !*end && !strcmp(argv[i], "--from")) {
			first = value;
		} else if (i + 1 < argc && !*end && !strcmp(argv[i], "--runs")) {
			runs = value;
		} else if (i + 1 < argc && !*end && !strcmp(argv[i], "--seconds")) {
			seconds = value;
			runs = UINT64_MAX;
		} else {
			fprintf(stderr,
				"usage: %s [--seed N] [--from N] [--runs N] [--seconds N]\n", name);
			return 2;
		}
	}
	signal(SIGABRT, on_abort);
	clock_gettime(CLOCK_MONOTONIC, &began);
	while (sum.runs < runs && (!seconds || elapsed(&began) < (double)seconds)) {
		snprintf(replay, sizeof(replay), "replay: %s --seed %llu\n", name,
			 (unsigned long long)(first + sum.runs));
		run(first + sum.runs, &sum);
		sum.runs++;
	}
	print_counts(name, first, &sum, elapsed(&began));
	return 0;
}
