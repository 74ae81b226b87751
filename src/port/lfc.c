/* Link-level flow control of a port (lfc.h): PFC's PAUSEs heard and sent. */
#include "port/lfc.h"
#include "base/error.h"

void rs_lfc_init(struct rs_lfc *l, struct rs_lfc_times *t, int64_t rate, rs_time response)
{
	/* RS_PAUSE_RESPONSE_802_3 is a time by now */
	rs_assert(rate > 0 && response >= 0 && response < RS_NEVER);
	*l = (struct rs_lfc){.due = 0};
	*t = (struct rs_lfc_times){
		.pace = rs_pace_of(rate), .response = response, .refresh = RS_NEVER};
}

/* When a PAUSE of so many quanta is over that came now. */
static rs_time end_of(const struct rs_lfc_conf *conf, const struct rs_lfc_times *t, uint16_t quanta,
		      rs_time now)
{
	if (!quanta)
		return now;
	return conf->holds ? RS_NEVER : now + rs_quanta_time(t->pace, quanta);
}

uint8_t rs_lfc_heard(const struct rs_lfc_conf *conf, struct rs_lfc *l, struct rs_lfc_times *t,
		     const struct rs_packet *frame, rs_time now)
{
	uint8_t again = 0;

	rs_assert(frame->kind == RS_KIND_PFC);
	for (unsigned m = frame->pfc_enable & conf->classes; m; m &= m - 1) {
		unsigned c = (unsigned)__builtin_ctz(m);
		rs_time until = end_of(conf, t, frame->pfc_quanta[c], now);

		if (rs_pause_heard(&l->paused, &t->pause[c], c, until, t->response, now))
			again |= (uint8_t)(1u << c);
	}
	return again;
}

void rs_lfc_frame(const struct rs_lfc_conf *conf, struct rs_lfc *l, struct rs_lfc_times *t,
		  struct rs_packet *p, rs_time now)
{
	/* a PAUSE of no quanta would be a RESUME */
	rs_assert(l->due && conf->frame_bytes && (conf->quanta || !l->pausing));
	rs_pfc_fill(p, l->due, l->pausing, conf->quanta);
	p->frame_bytes = conf->frame_bytes;
	l->due = 0;
	t->refresh = l->pausing && !conf->holds ? now + rs_quanta_time(t->pace, conf->quanta) / 2
						: RS_NEVER;
}

uint8_t rs_lfc_expire(struct rs_lfc *l, struct rs_lfc_times *t, rs_time now)
{
	uint8_t again = 0;

	for (unsigned m = rs_lfc_listened(l); m; m &= m - 1) {
		unsigned c = (unsigned)__builtin_ctz(m);

		if (rs_pause_passes(&l->paused, &t->pause[c], c, now))
			again |= (uint8_t)(1u << c);
	}
	if (t->refresh <= now) {
		t->refresh = RS_NEVER;
		l->due |= l->pausing;
	}
	return again;
}

void rs_lfc_rebase(const struct rs_lfc *l, struct rs_lfc_times *t, rs_time by)
{
	uint8_t listened = rs_lfc_listened(l);

	rs_assert(by >= 0);
	t->refresh = rs_time_earlier(t->refresh, by);
	for (unsigned c = 0; c < RS_CLASSES; c++) {
		t->pause[c].until = rs_time_earlier(t->pause[c].until, by);
		/* of a pause that lasts or is about to begin, exactly: its time is counted */
		t->pause[c].since = listened >> c & 1 ? t->pause[c].since - by : 0;
	}
}
