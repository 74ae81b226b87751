/* The shares of a socket's buffer: see grant.h. */
#include "window/grant.h"

#include <string.h>
#include "base/error.h"

enum { EIGHTHS = 8 };

void rs_grants_init(struct rs_grants *g, const struct rs_window_tuning *tuning, uint64_t buffer)
{
	*g = (struct rs_grants){
		.tuning = tuning ? tuning : &rs_window_defaults, .buffer = buffer, .answer = -1};
	rs_assert(g->tuning->grant_reserved < EIGHTHS);
}

/* Another process of a host, or one less: of its askers, all but the one that came or goes. */
static unsigned recount(struct rs_grants *g, const uint8_t peer[16], unsigned but, int by)
{
	unsigned others = 0;

	for (unsigned i = 0; i < g->n; i++) {
		if (i == but || memcmp(g->asker[i].peer, peer, 16))
			continue;
		g->asker[i].beside = (uint16_t)(g->asker[i].beside + by);
		others++;
	}
	return others;
}

static void drop(struct rs_grants *g, unsigned i)
{
	rs_assert(i < g->n && g->hosts);
	g->hosts -= !recount(g, g->asker[i].peer, i, -1);
	g->asker[i] = g->asker[--g->n];
}

/* Those that are silent leave. */
static void forget(struct rs_grants *g, rs_time now)
{
	for (unsigned i = 0; i < g->n;)
		if (now - g->asker[i].heard > g->tuning->grant_forget)
			drop(g, i);
		else
			i++;
}

/* The host with most askers loses the one that is silent for longest, unless it has fewer than who
 * asks has without it. */
static bool make_room(struct rs_grants *g, const uint8_t peer[16])
{
	unsigned most = 0, own = 0;

	for (unsigned i = 0; i < g->n; i++) {
		const struct rs_asker *a = &g->asker[i], *b = &g->asker[most];

		if (!memcmp(a->peer, peer, 16))
			own = a->beside;
		if (a->beside > b->beside || (a->beside == b->beside && a->heard < b->heard))
			most = i;
	}
	if (g->asker[most].beside <= own + 1)
		return false;
	drop(g, most);
	return true;
}

static void add(struct rs_grants *g, const uint8_t own[16], const uint8_t peer[16], uint8_t slot)
{
	struct rs_asker *a = &g->asker[g->n++];
	unsigned others;

	rs_assert(g->n <= RS_GRANT_ASKERS);
	*a = (struct rs_asker){.slot = slot, .told = UINT64_MAX};
	memcpy(a->own, own, 16);
	memcpy(a->peer, peer, 16);
	others = recount(g, peer, g->n - 1, 1);
	a->beside = (uint16_t)(others + 1);
	g->hosts += !others;
	g->told = 0;
}

void rs_grants_asked(struct rs_grants *g, const uint8_t own[16], const uint8_t peer[16],
		     uint8_t slot, uint32_t question, rs_time now)
{
	unsigned i = 0;

	forget(g, now);
	while (i < g->n && (g->asker[i].slot != slot || memcmp(g->asker[i].peer, peer, 16) ||
			    memcmp(g->asker[i].own, own, 16)))
		i++;
	if (i == g->n) {
		if (g->n == RS_GRANT_ASKERS && !make_room(g, peer))
			return;
		i = g->n;
		add(g, own, peer, slot);
	}
	g->asker[i].heard = now;
	g->asker[i].question = question;
	g->answer = (int)i;
}

static uint64_t share(const struct rs_grants *g, unsigned i)
{
	rs_assert(i < g->n && g->hosts && g->asker[i].beside);
	return g->buffer / EIGHTHS * (EIGHTHS - g->tuning->grant_reserved) / g->hosts /
	       g->asker[i].beside;
}

static void tell(struct rs_grants *g, unsigned i, uint32_t question, struct rs_grant *out)
{
	struct rs_asker *a = &g->asker[i];

	a->told = share(g, i);
	*out = (struct rs_grant){.slot = a->slot, .question = question, .bytes = a->told};
	memcpy(out->own, a->own, 16);
	memcpy(out->peer, a->peer, 16);
}

/* Who asked, then those to whom less is left. */
bool rs_grants_next(struct rs_grants *g, struct rs_grant *out)
{
	if (g->answer >= 0) {
		unsigned i = (unsigned)g->answer;

		g->answer = -1;
		tell(g, i, g->asker[i].question, out);
		return true;
	}
	while (g->told < g->n) {
		unsigned i = g->told++;

		if (share(g, i) >= g->asker[i].told)
			continue;
		tell(g, i, 0, out);
		return true;
	}
	return false;
}
