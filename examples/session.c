/* A program whose own rules decide what is sent next: eight hosts pass blocks around a ring, and a
 * host sends a block on when it has it. One host needs 20 us for each block that it passes. The
 * library simulates the network between. */
#include <inttypes.h>
#include <ripstop/session.h>
#include <stdio.h>
#include <stdlib.h>

enum { HOSTS = 8, BLOCK = 1 << 20, SLOW = 3 };

static void check(int err, struct ripstop_error **e)
{
	if (err >= 0)
		return;
	fprintf(stderr, "session: %s\n", ripstop_error_text(*e));
	exit(1);
}

static struct ripstop_fabric *make(void)
{
	struct ripstop_network n = RIPSTOP_INIT(struct ripstop_network);
	struct ripstop_fabric *f;
	struct ripstop_error *e;

	n.kind = "leaf-spine";
	n.hosts = HOSTS;
	n.leaves = n.spines = 2;
	n.rate = INT64_C(100000000000);
	check(ripstop_fabric_new(&f, &e), &e);
	check(ripstop_fabric_network(f, &n, &e), &e);
	return f;
}

/* user: which host has sent, and how often the block was passed on before. */
static void pass(struct ripstop_session *s, uint32_t from, uint32_t passed)
{
	const struct ripstop_flow m = {
		.bytes = BLOCK, .src = from, .dst = (from + 1) % HOSTS, .traffic_class = -1};
	struct ripstop_error *e;

	check(ripstop_session_send(s, &m, (uint64_t)passed << 32 | from, &e), &e);
}

static void hear(struct ripstop_session *s, const struct ripstop_news *news)
{
	uint32_t passed = (uint32_t)(news->user >> 32), from = (uint32_t)news->user;
	struct ripstop_error *e;
	uint32_t at = (from + 1) % HOSTS;

	if (news->what == RIPSTOP_NEWS_TIMER)
		pass(s, at, passed + 1);
	if (news->what != RIPSTOP_NEWS_DELIVERED || passed == HOSTS - 2)
		return;
	if (at == SLOW)
		check(ripstop_session_at(s, news->when + 20000000, news->user, &e), &e);
	else
		pass(s, at, passed + 1);
}

int main(void)
{
	struct ripstop_counters c = RIPSTOP_INIT(struct ripstop_counters);
	struct ripstop_fabric *f = make();
	struct ripstop_session *s;
	struct ripstop_result *r;
	struct ripstop_error *e;
	struct ripstop_news news;
	int n;

	check(ripstop_session_new(f, NULL, &s, &e), &e);
	for (uint32_t h = 0; h < HOSTS; h++)
		pass(s, h, 0);
	while ((n = ripstop_session_run(s, RIPSTOP_NEVER, &e)) > 0)
		while (ripstop_session_news(s, &news, 1, sizeof(news)))
			hear(s, &news);
	check(n, &e);
	check(ripstop_session_end(s, &r, &e), &e);
	ripstop_result_counters(r, 0, &c);
	printf("%d blocks of %d KiB: all hosts have all after %" PRId64 " us, %" PRIu64
	       " packets marked\n",
	       HOSTS, BLOCK >> 10, ripstop_session_now(s) / 1000000, c.ecn_marked);
	ripstop_result_free(r);
	ripstop_session_free(s);
	ripstop_fabric_free(f);
	return 0;
}
