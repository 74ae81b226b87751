/* WRED/ECN: marking by the egress queue's bytes (RFC 3168; models.md §8). */
#include "switch/state.h"

void rs_ecn_mark(struct rs_switch *sw, struct port *out, unsigned tc, struct rs_packet *p)
{
	const struct rs_switch_class *c = &sw->class[tc];
	uint64_t kmin = out->kmin ? out->kmin : c->kmin, kmax = out->kmax ? out->kmax : c->kmax;
	uint64_t q = out->q[tc].bytes;

	if (!c->ecn || q <= kmin || rs_packet_ecn(p) == RS_ECN_NOT_ECT)
		return;
	/* pmax (q - kmin) / (kmax - kmin) against a draw, multiplied across: no division */
	if (q <= kmax && (rs_uint128)c->pmax * (q - kmin) <=
				 (rs_uint128)(rs_random_u64(&sw->random) >> 48) * (kmax - kmin))
		return;
	p->tos |= RS_ECN_CE;
	out->c.ecn_marked++;
	sw->c.ecn_marked++;
}
