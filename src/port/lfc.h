/*
 * Link-level flow control of a port, a switch's and a NIC's alike, both ways: what the peer's
 * frames hold at the egress, and what the ingress asks of the peer. Its one kind is PFC
 * (802.1Q-2022 clause 36). The owner of a port knows its queues and its buffer. It asks here
 * which classes may send, tells when a buffer wants a class to stop or to go on, and sends the
 * frame that is due.
 */
#ifndef RS_PORT_LFC_H
#define RS_PORT_LFC_H

#include "port/pfc.h"

/* The same on every port of a device. */
struct rs_lfc_conf {
	uint8_t classes; /* with PFC: no other is held or holds (§36.1.1) */
	bool holds;      /* a PAUSE lasts until the RESUME: no quanta run out, none is sent again */
	uint16_t quanta; /* of a PAUSE; it is sent again at half of their time */
	uint16_t frame_bytes; /* of a PFC frame */
};

/* What each packet of a port looks at. */
struct rs_lfc {
	struct rs_paused paused; /* egress: by the peer */
	uint8_t due;             /* ingress: classes whose PAUSE or RESUME is to be sent */
	uint8_t pausing;         /* ingress: classes that this port holds */
};

/* The rest, for frames and timers. */
struct rs_lfc_times {
	struct rs_pace pace; /* the link's: quanta are bits of it */
	rs_time response;    /* to a PAUSE: frames are begun for so long after it came */
	rs_time refresh;     /* the PAUSE is sent again then; RS_NEVER: it is not */
	struct rs_pause pause[RS_CLASSES];
};

void rs_lfc_init(struct rs_lfc *l, struct rs_lfc_times *t, int64_t rate, rs_time response);

/* ---- Egress ---- */

/* Classes whose PAUSE is obeyed, or will be. */
static inline uint8_t rs_lfc_listened(const struct rs_lfc *l)
{
	return l->paused.now | l->paused.heard;
}

/* How long the pause of class c has lasted that lasts now; 0: none does. */
static inline rs_time rs_lfc_lasts(const struct rs_lfc *l, const struct rs_lfc_times *t, unsigned c,
				   rs_time now)
{
	return l->paused.now >> c & 1 && now > t->pause[c].since ? now - t->pause[c].since : 0;
}

/*
 * A frame of the peer came. Returns the classes that were held and may send again; what they were
 * held for is from pause[class].since until now.
 */
uint8_t rs_lfc_heard(const struct rs_lfc_conf *conf, struct rs_lfc *l, struct rs_lfc_times *t,
		     const struct rs_packet *frame, rs_time now);

/* A class goes on without its peer's leave: a watchdog has had enough. */
static inline void rs_lfc_break(struct rs_lfc *l, unsigned c)
{
	l->paused.now &= (uint8_t) ~(1u << c);
}

/* ---- Ingress ---- */

/* The buffer wants these classes to stop (XOFF) or to go on (XON): a frame is due. */
static inline void rs_lfc_xoff(struct rs_lfc *l, uint8_t classes)
{
	l->pausing |= classes;
	l->due |= classes;
}

static inline void rs_lfc_xon(struct rs_lfc *l, uint8_t classes)
{
	l->pausing &= (uint8_t)~classes;
	l->due |= classes;
}

/* Makes p the frame that is due, which leaves now. Addresses are the caller's. */
void rs_lfc_frame(const struct rs_lfc_conf *conf, struct rs_lfc *l, struct rs_lfc_times *t,
		  struct rs_packet *p, rs_time now);

/* ---- Timers ---- */

/* When rs_lfc_expire() is to be asked. */
static inline rs_time rs_lfc_deadline(const struct rs_lfc *l, const struct rs_lfc_times *t)
{
	rs_time when = t->refresh;

	for (unsigned m = rs_lfc_listened(l); m; m &= m - 1) {
		unsigned c = (unsigned)__builtin_ctz(m);

		when = rs_time_min(when, rs_pause_deadline(&l->paused, &t->pause[c], c));
	}
	return when;
}

/* Returns as rs_lfc_heard() does. A PAUSE that is to be sent again is due afterwards. */
uint8_t rs_lfc_expire(struct rs_lfc *l, struct rs_lfc_times *t, rs_time now);
/* The clock is put back by so much (rs_switch_rebase()). */
void rs_lfc_rebase(const struct rs_lfc *l, struct rs_lfc_times *t, rs_time by);

#endif
