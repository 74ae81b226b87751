/* The network of hostile.h. */
#include "property/hostile.h"

#include <stdlib.h>
#include <string.h>

int hostile_init(struct hostile *h, const struct rs_nic_config *base, uint64_t seed)
{
	memset(h, 0, sizeof(*h));
	h->random = rs_random_stream(seed, 0, 0x4e455457);
	if (rs_pool_init(&h->pool, HOSTILE_PACKETS))
		return -1;
	rs_pool_list_init(&h->wire, &h->pool);
	for (uint32_t i = 0; i < HOSTILE_NICS; i++) {
		struct rs_nic_config c = *base;

		rs_pool_list_init(&h->lists[i], &h->pool);
		c.endpoint = i;
		c.free = &h->lists[i];
		c.first_qpn = 100 + 1000 * i;
		if (rs_nic_create(&c, &h->nics[i], NULL))
			return -1;
		h->port[i].ask = RS_NEVER;
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
		h->lost++;
		return;
	}
	f = &h->flights[h->flying++];
	*f = (struct hostile_flight){.p = p, .to = p->dst, .when = when, .order = h->order++};
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
	h->strangers++;
	fly(h, p, h->now + rs_random_below(r, 1000) * RS_NS);
}

/* The wire's mercy on one packet. */
static void transmit(struct hostile *h, uint32_t from, struct rs_packet *p)
{
	rs_time when = h->now + h->latency;

	if (chance(h, h->rates.stranger))
		hostile_garbage(h, p->dst, (p->dst + 1 + rs_random_below(&h->random, 7)) + 100);
	if (chance(h, h->rates.lose)) {
		h->lost++;
		rs_pool_free(&h->lists[from], p);
		return;
	}
	if (chance(h, h->rates.corrupt)) {
		p->corrupt = 1;
		h->corrupted++;
	}
	if (chance(h, h->rates.mark)) {
		p->tos |= RS_ECN_CE;
		h->marked++;
	}
	if (chance(h, h->rates.delay)) {
		when += (rs_time)rs_random_below(&h->random, (uint32_t)(h->jitter / RS_NS)) * RS_NS;
		h->delayed++;
	}
	if (chance(h, h->rates.duplicate)) {
		copy_flies(h, p, when + (rs_time)rs_random_below(&h->random, 20000) * RS_NS);
		h->duplicated++;
	}
	fly(h, p, when);
}

static void turn(struct hostile *h, uint32_t i)
{
	rs_time again;
	struct rs_packet *p = rs_nic_tx(h->nics[i], h->paused, h->now, &again);

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
	h->delivered++;
	rs_nic_rx(h->nics[f.to], f.p, h->now);
	free(f.bytes);
	hostile_wake(h, f.to);
}

bool hostile_step(struct hostile *h)
{
	uint32_t flight = h->flying ? first_flight(h) : 0;
	rs_time when = h->flying ? h->flights[flight].when : RS_NEVER;
	int port = -1, timer = -1;

	for (int i = 0; i < HOSTILE_NICS; i++) {
		rs_time deadline = rs_nic_deadline(h->nics[i]);

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
		rs_nic_expire(h->nics[timer], h->now);
		hostile_wake(h, (uint32_t)timer);
	} else if (port >= 0) {
		turn(h, (uint32_t)port);
	} else {
		deliver(h, flight);
	}
	return true;
}

uint64_t hostile_faults(const struct hostile *h)
{
	return h->lost + h->duplicated + h->delayed + h->corrupted + h->strangers;
}

uint32_t hostile_used(const struct hostile *h)
{
	uint32_t idle = h->pool.spill_count + h->wire.count;

	for (uint32_t i = 0; i < HOSTILE_NICS; i++)
		idle += h->lists[i].count;
	return h->pool.fresh - idle;
}
