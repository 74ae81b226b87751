/*
 * The hostile network with endpoints of another transport than RoCE: whatever it does, what was
 * posted arrives once, in order and as it was, is told of at both ends, and no packet is lost to
 * the slab.
 *
 * test_endpoints [--seed N] [--from N] [--runs N] [--seconds N]: one seed replays exactly.
 */
#include <stdlib.h>
#include "property/hostile.h"
#include "toy.h"

enum { PAIRS = 6, FIRST = 100, STREAM = 40000, STEPS_MAX = 2000000 };

#define CHECK HOSTILE_CHECK

struct stream {
	struct toy *from, *to;
	uint32_t number, peer_number;
	uint32_t messages, told_sent, told_arrived, tells;
	uint8_t *source, *sink;
	uint64_t bytes;
	bool tell[TOY_MESSAGES];
};

struct world {
	struct hostile net;
	struct rs_random random;
	struct toy *toys[HOSTILE_NICS];
	struct stream streams[PAIRS];
};

static uint32_t below(struct world *w, uint32_t n)
{
	return rs_random_below(&w->random, n);
}

static struct hostile_rates draw_rates(struct world *w)
{
	struct hostile_rates r = {0};
	uint32_t *rate[] = {&r.lose, &r.duplicate, &r.delay, &r.corrupt, &r.mark, &r.stranger};

	for (size_t i = 0; i < sizeof(rate) / sizeof(rate[0]); i++)
		if (below(w, 2))
			*rate[i] = below(w, 8000);
	r.dark = below(w, 4) ? 0 : below(w, 200);
	return r;
}

static void make_stream(struct world *w, uint32_t i)
{
	struct stream *s = &w->streams[i];
	uint32_t from = below(w, HOSTILE_NICS), to = (from + 1 + below(w, 2)) % HOSTILE_NICS;
	uint8_t tc = (uint8_t)below(w, RS_CLASSES);
	struct toy_end *a, *b;

	*s = (struct stream){.from = w->toys[from],
			     .to = w->toys[to],
			     .number = FIRST + 2 * i,
			     .peer_number = FIRST + 2 * i + 1,
			     .source = malloc(STREAM),
			     .sink = calloc(1, STREAM)};
	for (uint32_t k = 0; k < STREAM; k++)
		s->source[k] = (uint8_t)rs_random_u64(&w->random);
	a = toy_open(s->from, s->number, to, s->peer_number, tc, i);
	b = toy_open(s->to, s->peer_number, from, s->number, tc, i);
	a->source = s->source;
	b->sink = s->sink;
	b->room = STREAM;
	while (s->messages < 20) {
		uint32_t bytes = below(w, 4) ? below(w, 3000) : below(w, 2);

		s->tell[s->messages] = below(w, 2);
		if (s->bytes + bytes > STREAM ||
		    !toy_post(s->from, s->number, bytes, s->tell[s->messages]))
			break;
		s->bytes += bytes;
		s->tells += s->tell[s->messages];
		s->messages++;
		w->net.count.messages++;
	}
	hostile_wake(&w->net, from);
}

static void start(struct world *w, uint64_t seed)
{
	w->random = rs_random_stream(seed, 1, 0x544f59);
	CHECK(!hostile_init_bare(&w->net, seed));
	for (uint32_t i = 0; i < HOSTILE_NICS; i++) {
		w->toys[i] = toy_create(i, FIRST, 2 * PAIRS, (uint16_t)(64 + below(w, 2000)),
					(rs_time)(5 + below(w, 50)) * RS_US, &w->net.lists[i]);
		hostile_join(&w->net, i, &w->toys[i]->as_endpoint);
	}
	w->net.rates = draw_rates(w);
	w->net.latency = (rs_time)below(w, 3000) * RS_NS;
	w->net.jitter = (rs_time)(1 + below(w, 20000)) * RS_NS;
	for (uint32_t i = 0; i < PAIRS; i++)
		make_stream(w, i);
}

static void take_news(struct world *w)
{
	struct toy_news n;

	for (uint32_t i = 0; i < HOSTILE_NICS; i++)
		while (toy_take_news(w->toys[i], &n)) {
			struct stream *s = &w->streams[n.user];

			CHECK(w->toys[i] == (n.arrived ? s->to : s->from));
			s->told_arrived += n.arrived;
			s->told_sent += !n.arrived;
		}
}

static void finish(struct world *w, struct hostile_counts *sum)
{
	for (uint32_t i = 0; i < PAIRS; i++) {
		struct stream *s = &w->streams[i];

		CHECK(s->told_sent == s->messages && s->told_arrived == s->tells);
		CHECK(toy_find(s->to, s->peer_number)->received == s->bytes);
		CHECK(!memcmp(s->source, s->sink, s->bytes));
		free(s->source);
		free(s->sink);
	}
	CHECK(hostile_used(&w->net) == 0);
	hostile_add(sum, &w->net.count);
	for (uint32_t i = 0; i < HOSTILE_NICS; i++)
		toy_destroy(w->toys[i]);
	hostile_fini(&w->net);
}

static void run(uint64_t seed, struct hostile_counts *sum)
{
	struct world *w = calloc(1, sizeof(*w));

	start(w, seed);
	for (uint32_t steps = 0; hostile_step(&w->net); steps++) {
		CHECK(steps < STEPS_MAX);
		take_news(w);
	}
	finish(w, sum);
	free(w);
}

int main(int argc, char **argv)
{
	return hostile_main(argc, argv, "test_endpoints", 400, run);
}
