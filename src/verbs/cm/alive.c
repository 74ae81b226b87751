/* See alive.h. */
#include "verbs/cm/alive.h"

unsigned rs_alive_ask(struct rs_alive *a, uint64_t token, unsigned n)
{
	unsigned ms = RS_ALIVE_MS;

	if (a->open && a->silent < RS_ALIVE_TRIES)
		a->silent++;
	a->open = false;
	if (!a->ours && a->silent == RS_ALIVE_TRIES)
		return 0;
	if (!a->token)
		a->token = token;
	a->open = true;
	if (a->refused || !a->ours)
		ms = RS_ALIVE_SOON_MS;
	return ms > n * RS_ALIVE_SHARE_MS ? ms : n * RS_ALIVE_SHARE_MS;
}

void rs_alive_answered(struct rs_alive *a, uint64_t token, bool lives)
{
	if (!a->token || token != a->token)
		return;
	a->token = 0;
	a->open = false;
	a->ours = true;
	a->silent = a->refused = 0;
	a->gone = a->gone || !lives;
}

void rs_alive_asked(struct rs_alive *a)
{
	a->ours = true;
	a->silent = a->refused = 0;
}

/* Of a peer that never answered it may be a filter's word: hardware takes the port's datagrams
 * before a kernel sees them. */
void rs_alive_refused(struct rs_alive *a, uint64_t token)
{
	if (!a->open || token != a->token)
		return;
	a->open = false;
	if (a->refused < RS_ALIVE_REFUSALS)
		a->refused++;
	if (!a->ours) {
		if (a->silent < RS_ALIVE_TRIES)
			a->silent++;
	} else if (a->refused == RS_ALIVE_REFUSALS) {
		a->gone = true;
	}
}
