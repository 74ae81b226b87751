/*
 * A question and its answer over QP1, in a vendor's class (IBTA §16.5, table 262's second range: it
 * names its vendor): how many bytes may be on their way to a socket. A peer that is not ours drops
 * the question. A socket's buffer is dealt out to all that asked lately.
 */
#include "live/grant.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "live/flight.h"
#include "live/state.h"
#include "live/vendor_mad.h"

enum {
	ASKER_AT = 41,
	GRANTER_AT = 42,
	HOST_AT = 44,
	BYTES_AT = 52,
	QPN_AT = 60, /* of a question */
	/* Eighths of a buffer that are not granted: one for ACKs and datagrams, two as Linux counts
	 * what was read as lying there still, up to a quarter, until all was. */
	EIGHTHS = 8,
	RESERVED = 3,
};

/* Askers ask every second while they send. */
#define FORGET_AFTER (3 * RS_FLIGHT_ASK_EVERY)

/* FNV-1a of the kernel's boot ID; 0 where it has none. */
static uint64_t this_host(void)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	char id[64];
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, id, sizeof(id));

	if (fd >= 0)
		close(fd);
	for (ssize_t i = 0; i < n; i++)
		h = (h ^ (uint8_t)id[i]) * UINT64_C(0x100000001b3);
	return n > 0 ? h : 0;
}

void rs_grant_init(struct rs_live *l)
{
	int buffer = 0;
	socklen_t n = sizeof(buffer);

	l->grants.host = this_host();
	if (getsockopt(l->udp, SOL_SOCKET, SO_RCVBUF, &buffer, &n) || buffer <= 0)
		buffer = RS_FLIGHT_UNKNOWN;
	l->grants.buffer = (uint64_t)buffer;
}

unsigned rs_grant_slot(const uint8_t *mad)
{
	return mad[MAD_METHOD_AT] == MAD_GET ? mad[GRANTER_AT] : mad[ASKER_AT];
}

static void send_mad(struct rs_live *l, const uint8_t own[16], const uint8_t peer[16],
		     uint8_t method, uint8_t asker, uint8_t granter, uint64_t bytes, uint32_t qpn,
		     uint32_t question)
{
	struct rs_gsi_datagram d = {.src_qp = RS_GSI_QPN};

	if (question)
		d.dest_qp = rs_grant_qpn(method == MAD_GET ? granter : asker);
	memcpy(d.own, own, 16);
	memcpy(d.peer, peer, 16);
	vendor_mad_begin(d.mad, method, MAD_LAYOUT_GRANT);
	rs_put64(d.mad + MAD_TRANSACTION_AT, question);
	d.mad[ASKER_AT] = asker;
	d.mad[GRANTER_AT] = granter;
	rs_put64(d.mad + HOST_AT, l->grants.host);
	rs_put64(d.mad + BYTES_AT, bytes);
	rs_put32(d.mad + QPN_AT, qpn);
	rs_live_gsi_send(l, &d); /* lost: asked again */
}

void rs_grant_ask(struct rs_live *l, uint32_t path, uint32_t qpn, uint32_t question)
{
	const struct rs_path *p = &l->paths.path[path];

	send_mad(l, p->own, p->peer, MAD_GET, (uint8_t)l->slot, (uint8_t)(qpn >> 16), 0, qpn,
		 question);
}

/* Those that are silent leave. */
static void forget(struct rs_grants *g, rs_time now)
{
	for (unsigned i = 0; i < g->n;)
		if (now - g->asker[i].heard > FORGET_AFTER)
			g->asker[i] = g->asker[--g->n];
		else
			i++;
}

static void answer(struct rs_live *l, const struct rs_asker *a, uint32_t question)
{
	send_mad(l, a->own, a->peer, MAD_GET_RESPONSE, a->slot, (uint8_t)l->slot,
		 l->grants.buffer / EIGHTHS * (EIGHTHS - RESERVED) / l->grants.n, 0, question);
}

/* One asks: to the others less is left when it is new. */
static void asked(struct rs_live *l, const struct rs_datagram *d, uint8_t slot, uint32_t question)
{
	struct rs_grants *g = &l->grants;
	rs_time now = rs_live_now(l);
	unsigned i = 0;

	forget(g, now);
	while (i < g->n && (g->asker[i].slot != slot || memcmp(g->asker[i].peer, d->peer, 16) ||
			    memcmp(g->asker[i].own, d->own, 16)))
		i++;
	if (i == RS_GRANT_ASKERS)
		return;
	if (i < g->n) {
		g->asker[i].heard = now;
		answer(l, &g->asker[i], question);
		return;
	}
	g->asker[i].slot = slot;
	g->asker[i].heard = now;
	memcpy(g->asker[i].own, d->own, 16);
	memcpy(g->asker[i].peer, d->peer, 16);
	g->n++;
	for (unsigned k = 0; k < g->n; k++)
		answer(l, &g->asker[k], k == i ? question : 0);
}

void rs_grant_receive(struct rs_live *l, const struct rs_datagram *d, const uint8_t *mad)
{
	uint32_t question = rs_get32(mad + MAD_TRANSACTION_AT + 4);
	int32_t peer;

	if (!vendor_mad_is(mad, MAD_LAYOUT_GRANT))
		return;
	if (mad[MAD_METHOD_AT] == MAD_GET && mad[GRANTER_AT] == l->slot) {
		/* Who names no queue pair is told nothing, not even that the slot is somebody's: it
		 * is part of QPNs, which a forger would have to guess. */
		if (rs_nic_find_qp(l->nic, rs_get32(mad + QPN_AT)))
			asked(l, d, mad[ASKER_AT], question);
		return;
	}
	if (mad[MAD_METHOD_AT] != MAD_GET_RESPONSE || mad[ASKER_AT] != l->slot ||
	    d->path == UINT32_MAX)
		return;
	peer = rs_flight_find(l, d->path, mad[GRANTER_AT]);
	if (peer < 0)
		return;
	rs_flight_granted(l, peer, rs_get64(mad + BYTES_AT),
			  l->grants.host && rs_get64(mad + HOST_AT) == l->grants.host);
	rs_loose_answered(l, peer, question);
}
