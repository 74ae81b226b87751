/* WRED/ECN: marking by the egress queue's bytes (RFC 3168; Floyd and Jacobson 1993). */
#include "switch/state.h"

void rs_ecn_mark(struct rs_switch *sw, struct port *out, unsigned tc, struct rs_packet *p)
{
	const struct rs_switch_class *c = &sw->class[tc];
	const struct queue *q = &out->q[tc];
	uint64_t kmax = out->kmax ? out->kmax : c->kmax;

	if (rs_packet_ecn(p) == RS_ECN_NOT_ECT)
		return;
	/* pmax (q - kmin) / (kmax - kmin) against a draw, multiplied across: no division */
	if (q->bytes <= kmax &&
	    (rs_uint128)c->pmax * (q->bytes - q->kmin) <=
		    (rs_uint128)(rs_random_u64(&sw->random) >> 48) * (kmax - q->kmin))
		return;
	if (rs_packet_ecn(p) == RS_ECN_CE) {
		sw->c.ecn_again++;
		return; /* a switch before this one has counted it */
	}
	p->tos |= RS_ECN_CE;
	out->c.ecn_marked++;
	out->marked[tc]++;
	sw->c.ecn_marked++;
}
