/* Streams: which senders are left to gather, and that none of those that wait for ACKs is slowed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/random.h"
#include "window/gather.h"

enum { LOOK_NS = 4000, PAUSE_NS = 80000, MIB = 1 << 20 };

static const struct rs_gather_tuning tuning = {.stretch = MIB,
					       .gap_ns = 400000,
					       .slower = 50,
					       .tries = 64,
					       .agree = 4,
					       .rest = 16,
					       .rest_most = 4096};

/*
 * A sender with so many messages of so many bytes on their way at most, which it sends at 4 bytes a
 * ns; a receiver that looks each 4 us, or when a pause is over, and acknowledges what it found,
 * which the sender hears 4 us later. depth 0: it waits for no ACK.
 */
struct stream {
	struct rs_gather gather;
	uint64_t depth, bytes;
	int64_t now, sent_at; /* when the next message is through */
	uint64_t in_flight, waiting, looks, paused, received;
	bool pauses; /* false: whatever the machine says */
	/* Others have the cores for so long, about so often: both ends stand still. */
	int64_t still_ns, still_each, still_at;
	struct rs_random random;
};

static void send_until(struct stream *s, int64_t end)
{
	while ((!s->depth || s->in_flight < s->depth) &&
	       s->sent_at + (int64_t)s->bytes / 4 <= end) {
		s->sent_at += (int64_t)s->bytes / 4;
		s->in_flight++;
		s->waiting++;
	}
	if (s->depth && s->in_flight == s->depth)
		s->sent_at = end;
}

static void look(struct stream *s)
{
	uint64_t got = s->waiting;
	bool pause;

	s->waiting = 0;
	s->received += got * s->bytes;
	s->looks++;
	pause = rs_gather_looked(&s->gather, got * s->bytes, s->now) && s->pauses && got;
	s->paused += pause;
	if (got) { /* the ACK */
		send_until(s, s->now + LOOK_NS);
		s->in_flight -= got;
	}
	s->now += pause ? PAUSE_NS : LOOK_NS;
	send_until(s, s->now);
	if (s->still_each && s->now >= s->still_at) {
		s->now += s->still_ns;
		s->sent_at += s->still_ns;
		s->still_at = s->now + rs_random_below(&s->random, 2 * (uint32_t)s->still_each);
	}
}

/* Bytes a us that arrive in the second half of 400 MiB. */
static uint64_t rate(struct stream *s)
{
	int64_t half = 0;

	rs_gather_init(&s->gather, &tuning);
	while (s->received < 400u * MIB) {
		look(s);
		if (s->received < 200u * MIB)
			half = s->now;
	}
	return 200u * MIB / (uint64_t)((s->now - half) / 1000);
}

static uint64_t rate_of(struct stream *s, uint64_t depth, uint64_t bytes, bool pauses)
{
	*s = (struct stream){.depth = depth, .bytes = bytes, .pauses = pauses};
	return rate(s);
}

static uint64_t rate_beside(struct stream *s, uint64_t seed, uint64_t depth, bool pauses)
{
	*s = (struct stream){.depth = depth,
			     .bytes = 65536,
			     .pauses = pauses,
			     .still_ns = 300000,
			     .still_each = 1000000,
			     .random = rs_random_stream(seed, 0, 1)};
	return rate(s);
}

static void test_a_stream_that_waits_for_nothing_gathers(void **state)
{
	for (uint64_t bytes = 4096; bytes <= MIB; bytes *= 2) {
		struct stream s;
		uint64_t rate = rate_of(&s, 0, bytes, true);

		assert_in_range(rate, 3900, 4100);
		/* a look for 320,000 bytes, or for a message */
		assert_true(s.looks < 400u * MIB / 320000 * 3 / 2 || bytes > 320000);
		assert_true(s.paused > 100);
	}
}

static void test_no_sender_that_waits_for_acks_is_slowed(void **state)
{
	for (uint64_t depth = 1; depth <= 512; depth *= 2)
		for (uint64_t bytes = 4096; bytes <= MIB; bytes *= 4) {
			struct stream s;
			uint64_t plain = rate_of(&s, depth, bytes, false);
			uint64_t rate = rate_of(&s, depth, bytes, true);

			assert_true(rate * 100 >= plain * 66); /* slower than 50 % longer: never */
			if (depth * bytes <= 32768)            /* what a pause would slow by much */
				assert_true(rate * 100 >= plain * 85);
		}
}

/* A fifth of the stretches takes more than half as long again, with pauses or without. */
static void test_other_work_does_not_end_pauses(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct stream s;

		rate_beside(&s, seed, 0, true);
		/* 25,600 without pauses, 1,700 where nothing else has the cores */
		assert_true(s.looks < 25600 / 6);
	}
}

static void test_other_work_does_not_hide_that_pauses_slow(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct stream s;
		uint64_t plain = rate_beside(&s, seed, 1, false);

		assert_true(rate_beside(&s, seed, 1, true) * 100 >= plain * 80);
	}
}

/* A pause in the stream, an answer: it has to show anew that it is one. */
static void test_a_stream_that_ends_begins_anew(void **state)
{
	struct rs_gather g;
	int64_t now = 0;
	unsigned plain = 0;

	for (unsigned way = 0; way < 2; way++) {
		rs_gather_init(&g, &tuning);
		while (!rs_gather_looked(&g, 65536, now))
			now += 10000;
		if (way)
			rs_gather_answered(&g);
		else
			now += 500000;
		for (plain = 0; !rs_gather_looked(&g, 65536, now); plain++)
			now += 10000;
		assert_int_equal(plain, 16); /* a stretch */
	}
}

static void test_what_is_awaited_takes_as_long_as_a_plain_stretch_says(void **state)
{
	struct rs_gather g;
	int64_t now = 0;

	rs_gather_init(&g, &tuning);
	assert_int_equal(rs_gather_takes(&g, MIB), 0); /* nothing is known */
	while (!rs_gather_looked(&g, 65536, now))
		now += 10000;
	assert_int_equal(rs_gather_takes(&g, MIB), 160000);
	assert_int_equal(rs_gather_takes(&g, 65536), 10000);
	/* with pauses the stretches take longer: that says nothing of the sender */
	for (unsigned i = 0; i < 16; i++)
		rs_gather_looked(&g, 65536, now += 12000);
	assert_int_equal(rs_gather_takes(&g, MIB), 160000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_stream_that_waits_for_nothing_gathers),
		cmocka_unit_test(test_no_sender_that_waits_for_acks_is_slowed),
		cmocka_unit_test(test_other_work_does_not_end_pauses),
		cmocka_unit_test(test_other_work_does_not_hide_that_pauses_slow),
		cmocka_unit_test(test_a_stream_that_ends_begins_anew),
		cmocka_unit_test(test_what_is_awaited_takes_as_long_as_a_plain_stretch_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
