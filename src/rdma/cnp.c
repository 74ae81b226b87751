/* When the last CNP went, by what their spacing holds for: a queue pair, a peer, the port. */
#include <errno.h>
#include <stdlib.h>
#include "base/random.h"
#include "rdma/state.h"

enum {
	WAYS = 4,
	MOST_PEERS = 1 << 16,
};

int rs_cnp_create(struct rs_nic *nic)
{
	uint32_t n = WAYS;

	nic->port_cnp = RS_NEVER;
	if (nic->c.cnp_moderation != RS_CNP_BY_IP)
		return 0;
	while (n < 2 * nic->c.max_qps && n < MOST_PEERS)
		n *= 2;
	nic->peer_cnp = malloc(n * sizeof(*nic->peer_cnp));
	nic->peer_cnps = n;
	for (uint32_t i = 0; nic->peer_cnp && i < n; i++)
		nic->peer_cnp[i] = (struct rs_peer_cnp){.last = RS_NEVER};
	return nic->peer_cnp ? 0 : -ENOMEM;
}

/* A peer of its set, or the one that was told of the longest ago: its time is over, as a rule. */
static rs_time *of_peer(struct rs_nic *nic, uint32_t peer)
{
	struct rs_peer_cnp *set, *oldest;

	set = nic->peer_cnp + (rs_mix64(peer) & (nic->peer_cnps - 1) & ~(uint64_t)(WAYS - 1));
	oldest = set;
	for (struct rs_peer_cnp *p = set; p < set + WAYS; p++) {
		if (p->last != RS_NEVER && p->peer == peer)
			return &p->last;
		if (p->last == RS_NEVER || (oldest->last != RS_NEVER && p->last < oldest->last))
			oldest = p;
	}
	*oldest = (struct rs_peer_cnp){.peer = peer, .last = RS_NEVER};
	return &oldest->last;
}

rs_time *rs_cnp_last(struct rs_nic *nic, struct rs_qp *qp)
{
	switch (nic->c.cnp_moderation) {
	case RS_CNP_BY_PORT:
		return &nic->port_cnp;
	case RS_CNP_BY_IP:
		return of_peer(nic, qp->dest_endpoint);
	default:
		return &qp->cold->last_cnp;
	}
}
