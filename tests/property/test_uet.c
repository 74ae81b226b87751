/*
 * The hostile network with Ultra Ethernet endpoints: whatever it loses, trims, duplicates,
 * reorders, corrupts and marks, each message arrives once and whole, is told of once and in order
 * at both ends, nothing stays in flight, and no packet is lost to the slab. Delivery, window,
 * credits, balancer and sizes are drawn anew each run.
 *
 * test_uet [--seed N] [--from N] [--runs N] [--seconds N]: one seed replays exactly.
 */
#include <stdlib.h>
#include <string.h>
#include "property/hostile.h"
#include "uet/uet.h"

enum { PAIRS = 6, FIRST = 100, STREAM = 400000, STEPS_MAX = 4000000, DEPTH = 16, MESSAGES = 30 };

#define CHECK HOSTILE_CHECK

struct stream {
	struct rs_uet *from, *to;
	uint32_t place; /* of from */
	uint32_t number, peer_number;
	uint32_t messages, posted, told_sent, told_arrived, tells, tells_posted;
	uint64_t size[MESSAGES];
	bool tell[MESSAGES];
	uint8_t *source, *sink;
	uint64_t bytes, at;
};

struct world {
	struct hostile net;
	struct rs_random random;
	struct rs_uet *uets[HOSTILE_NICS];
	struct stream streams[PAIRS];
	bool credits;
};

static uint32_t below(struct world *w, uint32_t n)
{
	return rs_random_below(&w->random, n);
}

static struct hostile_rates draw_rates(struct world *w)
{
	struct hostile_rates r = {0};
	uint32_t *rate[] = {&r.lose, &r.duplicate, &r.delay, &r.corrupt,
			    &r.mark, &r.stranger,  &r.trim};

	for (size_t i = 0; i < sizeof(rate) / sizeof(rate[0]); i++)
		if (below(w, 2))
			*rate[i] = below(w, 8000);
	if (!below(w, 8))
		r.trim = 20000 + below(w, 20000);
	r.dark = below(w, 4) ? 0 : below(w, 200);
	return r;
}

static struct rs_uet_conf draw_conf(struct world *w)
{
	uint32_t payload = 64 + below(w, 4000);
	struct rs_uet_conf c = {
		.rate = 100 * RS_GBPS,
		.gap = 20,
		.delivery = below(w, 4) ? RS_UET_RUD : RS_UET_ROD,
		.header = (uint16_t)(64 + below(w, 64)),
		.control = (uint16_t)(64 + below(w, 64)),
		.control_tc = 6,
		.cc = {.kind = (enum rs_uet_window_kind)below(w, 3),
		       .rate = 100 * RS_GBPS,
		       .rtt = RS_US + (rs_time)below(w, 20000) * RS_NS,
		       .payload = payload,
		       .trims = below(w, 2)},
		.credit = 1024 + below(w, 30000),
		.balance = {.kind = (enum rs_balance_kind)below(w, RS_BALANCES),
			    .n = (uint16_t)(1u << below(w, 9)),
			    .freeze = 10 * RS_MS},
		.ack_bytes = 1 + below(w, 40000),
		.rto = (rs_time)(30 + below(w, 200)) * RS_US,
		.sleek = below(w, 3) == 0,
		.mpr = RS_UET_MPR_LEAST << below(w, 4),
		.first = FIRST,
		.n_ends = 2 * PAIRS,
		.news = 2 * PAIRS * DEPTH,
	};

	c.cc.mtu = c.header + payload;
	/* without a window something else has to hold a sender */
	c.credits = c.cc.kind == RS_UET_NO_WINDOW || below(w, 3) == 0;
	rs_nscc_derive(&c.cc);
	return c;
}

/* As many messages as there may be under way. */
static void post(struct world *w, struct stream *s)
{
	while (s->posted < s->messages && s->posted - s->told_sent < DEPTH) {
		uint32_t i = s->posted++;

		CHECK(!rs_uet_post(s->from, s->number, s->size[i], s->tell[i], s->source + s->at,
				   w->net.now));
		s->at += s->size[i];
	}
	hostile_wake(&w->net, s->place);
}

static void make_stream(struct world *w, uint32_t i)
{
	struct stream *s = &w->streams[i];
	uint32_t from = below(w, HOSTILE_NICS), to = (from + 1 + below(w, 2)) % HOSTILE_NICS;
	struct rs_uet_end end;

	*s = (struct stream){.from = w->uets[from],
			     .to = w->uets[to],
			     .place = from,
			     .number = FIRST + 2 * i,
			     .peer_number = FIRST + 2 * i + 1,
			     .source = malloc(STREAM),
			     .sink = calloc(1, STREAM)};
	for (uint32_t k = 0; k < STREAM; k++)
		s->source[k] = (uint8_t)rs_random_u64(&w->random);
	while (s->messages < MESSAGES) {
		uint32_t bytes = below(w, 4) ? below(w, 12000) : below(w, 2);

		if (s->bytes + bytes > STREAM)
			break;
		s->size[s->messages] = bytes;
		s->tell[s->messages] = below(w, 2);
		s->bytes += bytes;
		s->tells += s->tell[s->messages++];
		w->net.count.messages++;
	}
	end = (struct rs_uet_end){.number = s->number,
				  .peer = to,
				  .peer_number = s->peer_number,
				  .depth = DEPTH,
				  .tc = (uint8_t)below(w, RS_CLASSES),
				  .user = i};
	CHECK(!rs_uet_open(s->from, &end));
	end.number = s->peer_number;
	end.peer = from;
	end.peer_number = s->number;
	end.receiver = true;
	end.sink = s->sink;
	end.room = s->bytes;
	CHECK(!rs_uet_open(s->to, &end));
	post(w, s);
}

static void start(struct world *w, uint64_t seed)
{
	struct rs_uet_conf c;

	w->random = rs_random_stream(seed, 1, 0x554554);
	CHECK(!hostile_init_bare(&w->net, seed));
	c = draw_conf(w);
	c.seed = seed;
	for (uint32_t i = 0; i < HOSTILE_NICS; i++) {
		c.endpoint = i;
		c.free = &w->net.lists[i];
		CHECK(!rs_uet_create(&c, &w->uets[i], NULL));
		hostile_join(&w->net, i, rs_uet_endpoint(w->uets[i]));
	}
	w->net.rates = draw_rates(w);
	w->net.latency = (rs_time)below(w, 3000) * RS_NS;
	w->net.jitter = (rs_time)(1 + below(w, 20000)) * RS_NS;
	for (uint32_t i = 0; i < PAIRS; i++)
		make_stream(w, i);
}

static void take_news(struct world *w)
{
	struct rs_uet_news n;

	for (uint32_t i = 0; i < HOSTILE_NICS; i++)
		while (rs_uet_take_news(w->uets[i], &n)) {
			struct stream *s = &w->streams[n.user];

			CHECK(w->uets[i] == (n.arrived ? s->to : s->from));
			s->told_arrived += n.arrived;
			s->told_sent += !n.arrived;
			CHECK(s->told_arrived <= s->tells && s->told_sent <= s->posted);
			if (!n.arrived)
				post(w, s);
		}
}

static void finish(struct world *w, struct hostile_counts *sum)
{
	struct rs_uet_now now;

	for (uint32_t i = 0; i < PAIRS; i++) {
		struct stream *s = &w->streams[i];

		CHECK(s->told_sent == s->messages && s->told_arrived == s->tells);
		CHECK(!memcmp(s->source, s->sink, s->bytes));
		CHECK(rs_uet_look(s->from, s->number, &now) && !now.in_flight);
		rs_uet_close(s->from, s->number);
		rs_uet_close(s->to, s->peer_number);
		free(s->source);
		free(s->sink);
	}
	CHECK(hostile_used(&w->net) == 0);
	hostile_add(sum, &w->net.count);
	for (uint32_t i = 0; i < HOSTILE_NICS; i++)
		rs_uet_destroy(w->uets[i]);
	hostile_fini(&w->net);
}

static bool unfinished(const struct world *w)
{
	for (uint32_t i = 0; i < PAIRS; i++)
		if (w->streams[i].told_sent < w->streams[i].messages)
			return true;
	return false;
}

static void run(uint64_t seed, struct hostile_counts *sum)
{
	struct world *w = calloc(1, sizeof(*w));

	start(w, seed);
	for (uint32_t steps = 0; hostile_step(&w->net); steps++) {
		CHECK(steps < STEPS_MAX || !unfinished(w));
		take_news(w);
	}
	finish(w, sum);
	free(w);
}

int main(int argc, char **argv)
{
	return hostile_main(argc, argv, "test_uet", 150, run);
}
