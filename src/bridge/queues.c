/* Bytes that wait for a port, over time: their mean and percentiles. */
#include <string.h>
#include "bridge/state.h"

static uint64_t waiting(const struct rs_bridge *b, unsigned port)
{
	uint64_t n = 0;

	for (unsigned t = 0; t < RS_CLASSES; t++)
		n += rs_switch_queue_bytes(b->sw, port, t);
	return n;
}

void bridge_watch_begin(struct watch *w, rs_time now)
{
	memset(w->at, 0, sizeof(w->at));
	w->begun = w->since = now;
	w->byte_seconds = 0;
	w->most = w->bytes;
}

void bridge_watch_until(const struct rs_bridge *b, struct watch *w, rs_time now)
{
	uint64_t step = w->bytes / b->queue_step;

	w->at[step < STEPS ? step : STEPS - 1] += now - w->since;
	w->byte_seconds += (double)w->bytes * (double)(now - w->since) / (double)RS_S;
	w->since = now;
}

void bridge_watch_queue(struct rs_bridge *b, unsigned port, rs_time now)
{
	struct watch *w = &b->port[port].watch;

	bridge_watch_until(b, w, now);
	w->bytes = waiting(b, port);
	w->most = w->bytes > w->most ? w->bytes : w->most;
}

uint64_t bridge_watch_percentile(const struct rs_bridge *b, const struct watch *w, double share)
{
	rs_time all = w->since - w->begun, sum = 0;

	for (unsigned i = 0; i < STEPS; i++) {
		sum += w->at[i];
		if ((double)sum >= share * (double)all)
			return i * b->queue_step;
	}
	return w->most;
}
