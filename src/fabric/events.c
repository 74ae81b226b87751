/* What happens to a network while it runs. */
#include <errno.h>
#include "fabric/build.h"

/* No standard has these two. A switch learns of a lost signal within some milliseconds, and a
 * routing protocol with fast timers settles in some hundred: docs/fabric.md says that both are
 * assumptions. */
static const rs_time DETECT = 1 * RS_MS, CONVERGE = 100 * RS_MS;

void rs_fabric_events(struct rs_load *l, struct rs_fabric *f, uint32_t n_texts, uint32_t n,
		      struct rs_where at)
{
	if (n > RS_EVENTS_MAX)
		rs_load_fail(l, -E2BIG, at, "events: %u in all, repeats counted; at most %d", n,
			     RS_EVENTS_MAX);
	f->events = (struct rs_fabric_events){
		.event = rs_load_take(l, n + 1u, sizeof(*f->events.event)),
		.text = rs_load_take(l, n_texts + 1u, sizeof(*f->events.text)),
		.detect = DETECT,
		.converge = CONVERGE,
	};
}
