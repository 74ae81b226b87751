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
	h->gathered = rs_random_stream(seed, 1, 0x4e455457);
	h->gathers = seed % 2;
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
		if (h->gathers) { /* by its pace alone, a queue pair may go on as fast as this */
			c.line_rate *= 8;
			c.pace_late = 200 * RS_US;
		}
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

enum { GATHER_MAX = 64 };

/* What a NIC may send behind p, which has gone: so many bytes of the link. */
static uint64_t send_middles(struct hostile *h, uint32_t from, const struct rs_packet *p)
{
	uint32_t max = 1 + rs_random_below(&h->gathered, GATHER_MAX), n;
	uint32_t ask = rs_random_below(&h->gathered, 2 * GATHER_MAX);
	struct rs_nic *nic = h->nics[from];
	struct rs_packet q = *p;
	const uint8_t *payload;
	uint64_t asking;

	n = rs_nic_tx_ahead(nic, p, max, h->now, &payload);
	if (!n)
		return 0;
	asking = rs_nic_tx_middles(nic, &q, n, ask, h->now);
	h->count.went += n;
	for (uint32_t i = 0; i < n; i++) {
		struct rs_packet *one = rs_pool_alloc(&h->lists[from]);

		HOSTILE_CHECK(one);
		*one = q;
		one->psn = rs_psn_add(q.psn, i);
		one->payload = payload + (size_t)i * q.payload_bytes;
		one->bth_flags = (uint8_t)(q.bth_flags & ~RS_BTH_ACKREQ) |
				 (asking >> i & 1 ? RS_BTH_ACKREQ : 0);
		transmit(h, from, one);
	}
	return n * (uint64_t)rs_packet_link_bytes(&q);
}

static void turn(struct hostile *h, uint32_t i)
{
	uint64_t more = 0;
	struct rs_packet went;
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
	went = *p;
	transmit(h, i, p);
	if (h->gathers && h->nics[i] && went.kind == RS_KIND_ROCE && went.payload)
		more = send_middles(h, i, &went);
	h->port[i].free = h->now + (rs_time)(rs_packet_link_bytes(&went) + more) * 80;
	h->port[i].ask = h->port[i].free;
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

static struct hostile_flight take(struct hostile *h, uint32_t i)
{
	struct hostile_flight f = h->flights[i];

	h->flights[i] = h->flights[--h->flying];
	h->count.delivered++;
	return f;
}

/* The flight of the n-th Middle behind p, which differs in PSN and AckReq alone; UINT32_MAX: none.
 */
static uint32_t middle_behind(const struct hostile *h, uint32_t to, const struct rs_packet *p,
			      uint32_t n)
{
	for (uint32_t i = 0; i < h->flying; i++) {
		const struct rs_packet *q = h->flights[i].p;

		if (h->flights[i].to == to && q->opcode == p->opcode && !q->corrupt &&
		    q->src == p->src && q->dest_qp == p->dest_qp && q->kind == p->kind &&
		    q->tos == p->tos && q->pkey == p->pkey && q->payload &&
		    !((q->bth_flags ^ p->bth_flags) & ~RS_BTH_ACKREQ) &&
		    q->payload_bytes == p->payload_bytes && q->psn == rs_psn_add(p->psn, n))
			return i;
	}
	return UINT32_MAX;
}

/* Those that are on their way arrive with the first, as a kernel that joins datagrams has it.
 * False: it may not be taken so, and is as it was. */
static bool deliver_middles(struct hostile *h, struct hostile_flight *f)
{
	static uint8_t block[GATHER_MAX * 4096];
	struct rs_nic *nic = h->nics[f->to];
	uint32_t may, n = 1, next;
	struct rs_packet p = *f->p;

	if (p.corrupt || p.kind != RS_KIND_ROCE || !p.payload || p.payload_bytes > 4096)
		return false;
	may = rs_nic_rx_ahead(nic, &p, 1 + rs_random_below(&h->gathered, GATHER_MAX));
	if (!may)
		return false;
	memcpy(block, p.payload, p.payload_bytes);
	while (n < may && (next = middle_behind(h, f->to, &p, n)) != UINT32_MAX) {
		struct hostile_flight g = take(h, next);

		memcpy(block + (size_t)n++ * p.payload_bytes, g.bytes, p.payload_bytes);
		p.bth_flags |= g.p->bth_flags & RS_BTH_ACKREQ;
		rs_pool_free(&h->lists[f->to], g.p);
		free(g.bytes);
	}
	p.payload = block;
	h->count.came += n;
	rs_nic_rx_middles(nic, &p, n, p.payload_bytes, h->now);
	rs_pool_free(&h->lists[f->to], f->p);
	return true;
}

static void deliver(struct hostile *h, uint32_t i)
{
	struct hostile_flight f = take(h, i);

	if (!h->gathers || !h->nics[f.to] || !deliver_middles(h, &f))
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
	if (c->went)
		printf("  %llu Middles went in one go, %llu came so\n", (unsigned long long)c->went,
		       (unsigned long long)c->came);
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
