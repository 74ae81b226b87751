/* Private to plant/: what congestion control is told about the fabric. */
#ifndef RS_PLANT_RTT_H
#define RS_PLANT_RTT_H

#include "plant/plant.h"

/* What a cut-through switch waits for: the headers that it routes and classifies by. */
enum { PLANT_HEADER_BYTES = 90 };

/* cc.c: the description names this parameter, in whatever spelling. */
bool plant_cc_given(const struct rs_cc_conf *c, const char *name);

/* Sets the algorithm's base_rtt to the longest round trip, where it has one that matters and none
 * is given. */
int plant_base_rtt(const struct rs_plant *p, const struct rs_cc_conf *c, struct rs_cc_use *use,
		   struct rs_error *e);

/* cc.c: the plant's congestion controls. */
int plant_make_ccs(struct rs_plant *p, struct rs_arena *a, struct rs_error *e);
/* The round trip that selective recovery keeps full; 0: recovery is go-back-N. */
rs_time plant_recovery_rtt(const struct rs_plant *p);

/* uet.c: the plant's fields for Ultra Ethernet, and what its queues hold. */
void plant_uet(struct rs_plant *p);
void plant_uet_class(const struct rs_plant *p, const struct rs_qos *q, unsigned tc,
		     struct rs_switch_class *c);
void plant_uet_port(const struct rs_plant *p, const struct rs_qos *q, uint32_t sw, uint32_t port,
		    struct rs_switch_port *out);

#endif
