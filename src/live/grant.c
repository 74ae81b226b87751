/*
 * A question and its answer over QP1, in a vendor's class (IBTA §16.5, table 262's second range: it
 * names its vendor): how many bytes may be on their way to a socket. A peer that is not ours drops
 * the question. Who gets how much is window/grant.h's to say.
 */
#include "live/grant.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "live/state.h"
#include "live/vendor_mad.h"

enum {
	ASKER_AT = 41,
	GRANTER_AT = 42,
	FILLERS_AT = 43, /* of an answer: 1: who answers drops what follows an ICRC */
	HOST_AT = 44,
	BYTES_AT = 52,
	QPN_AT = 60, /* of a question */
};

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

	l->host = this_host();
	if (getsockopt(l->udp, SOL_SOCKET, SO_RCVBUF, &buffer, &n) || buffer <= 0)
		buffer = (int)rs_live_tuning.window->unknown_bytes;
	rs_grants_init(&l->grants, rs_live_tuning.window, (uint64_t)buffer);
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
	d.mad[FILLERS_AT] = method == MAD_GET_RESPONSE && l->fill;
	rs_put64(d.mad + HOST_AT, l->host);
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

static void answer_all(struct rs_live *l)
{
	struct rs_grant g;

	while (rs_grants_next(&l->grants, &g))
		send_mad(l, g.own, g.peer, MAD_GET_RESPONSE, g.slot, (uint8_t)l->slot, g.bytes, 0,
			 g.question);
}

void rs_grant_receive(struct rs_live *l, const struct rs_datagram *d, const uint8_t *mad)
{
	uint32_t question = rs_get32(mad + MAD_TRANSACTION_AT + 4);
	struct rs_window_to to;

	if (!vendor_mad_is(mad, MAD_LAYOUT_GRANT))
		return;
	if (mad[MAD_METHOD_AT] == MAD_GET && mad[GRANTER_AT] == l->slot) {
		/* Who names no queue pair is told nothing, not even that the slot is somebody's: it
		 * is part of QPNs, which a forger would have to guess. */
		if (!rs_flow_may_ask(&l->flow, rs_get32(mad + QPN_AT), d->path, mad[ASKER_AT]))
			return;
		rs_grants_asked(&l->grants, d->own, d->peer, mad[ASKER_AT], question,
				rs_live_now(l));
		answer_all(l);
		return;
	}
	if (mad[MAD_METHOD_AT] != MAD_GET_RESPONSE || mad[ASKER_AT] != l->slot ||
	    d->path == UINT32_MAX)
		return;
	to = rs_live_to(l, d->path, (uint32_t)mad[GRANTER_AT] << 16);
	rs_flow_drops_fillers(&l->flow, &to, question, mad[FILLERS_AT] == 1);
	rs_flow_answered(&l->flow, &to, question, rs_get64(mad + BYTES_AT),
			 l->host && rs_get64(mad + HOST_AT) == l->host);
}
