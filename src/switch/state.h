/* Private to switch/: ports, queues and the shared buffer as they lie in memory. */
#ifndef RS_SWITCH_STATE_H
#define RS_SWITCH_STATE_H

#include "switch/switch.h"

struct queue {
	uint32_t head, tail;
	uint64_t bytes;
};

struct port {
	/* egress */
	uint8_t filled;  /* classes with packets */
	uint8_t paused;  /* classes that the peer paused */
	uint8_t pfc_due; /* classes whose PAUSE or RESUME is to be sent */
	uint8_t pausing; /* classes that this ingress paused */
	uint8_t turn;    /* DWRR: class being served */
	bool wake;
	int32_t deficit[RS_CLASSES];
	struct queue q[RS_CLASSES];
	/* ingress, a class */
	uint64_t in_use[RS_CLASSES]; /* reserve and shared */
	uint64_t in_headroom[RS_CLASSES];
	rs_time paused_until[RS_CLASSES], paused_since[RS_CLASSES];
	rs_time refresh;
	uint64_t kmin, kmax, headroom;
	struct rs_pace pace;
	int64_t rate;
	int8_t alpha_add;
	uint8_t rate_code; /* in telemetry */
	struct rs_switch_port_counters c;
};

struct rs_switch {
	struct rs_switch_config cfg;
	struct rs_switch_class class[RS_CLASSES];
	struct rs_switch_pins pins; /* port NULL: none */
	struct port *port;
	uint64_t shared_used; /* beyond reserves */
	uint64_t shared_size;
	uint64_t used; /* all bytes held */
	uint32_t hash_seed;
	uint8_t strict, weighted; /* classes */
	bool any_woken;
	uint64_t *woken;
	rs_time deadline;
	struct rs_random random;
	struct rs_switch_counters c;
};

/* cells */
static inline uint64_t cells(const struct rs_switch *sw, uint32_t frame_bytes)
{
	uint32_t cell = sw->cfg.cell;
	uint32_t n;

	if (cell <= 1)
		return frame_bytes;
	/* the division is by a constant of the run; frames are few sizes, so it is foretold */
	n = (frame_bytes + cell - 1) / cell;
	return (uint64_t)n * cell;
}

static inline void wake(struct rs_switch *sw, unsigned port)
{
	sw->any_woken = true;
	sw->woken[port >> 6] |= UINT64_C(1) << (port & 63);
}

/* buffer.c */
bool rs_buffer_admit(struct rs_switch *sw, unsigned in, unsigned tc, uint64_t bytes, rs_time now);
void rs_buffer_release(struct rs_switch *sw, unsigned in, unsigned tc, uint64_t bytes, rs_time now);
bool rs_buffer_egress_full(const struct rs_switch *sw, const struct port *out, unsigned tc,
			   uint64_t bytes);
/* ecn.c */
void rs_ecn_mark(struct rs_switch *sw, struct port *out, unsigned tc, struct rs_packet *p);
/* route.c: the egress port, or -1 */
int rs_route(struct rs_switch *sw, const struct rs_packet *p);
/* sched.c: the class to serve among ready; ready != 0 */
unsigned rs_sched_pick(struct rs_switch *sw, struct port *out, uint8_t ready);
/* pfc.c */
struct rs_packet *rs_pfc_frame(struct rs_switch *sw, unsigned port, rs_time now);
void rs_pfc_received(struct rs_switch *sw, unsigned port, struct rs_packet *p, rs_time now);
void rs_pfc_set(struct rs_switch *sw, unsigned in, unsigned tc, bool pause, rs_time now);
void rs_pfc_arm(struct rs_switch *sw, rs_time when);

#endif
