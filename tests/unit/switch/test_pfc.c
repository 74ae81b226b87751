/* PFC (802.1Q-2022 clause 36, annex N; 802.3 annex 31B): headroom in closed form against a sender
 * that obeys late, XOFF, XON, quanta, refresh, watchdog, frames of several classes. */
#include "bed.h"

enum { TC = 3 };

/* ---- Headroom ---- */

struct sender {
	int64_t rate;
	rs_time delay;   /* one way */
	uint32_t frame;  /* what it sends, with FCS */
	uint32_t max;    /* what the switch itself may be sending when it wants to pause */
	uint32_t quanta; /* response */
	uint32_t cell;
	uint64_t headroom;
	rs_time phase;
};

/*
 * A sender at line rate into a queue that nobody drains. The frame that pauses it waits for a whole
 * frame of the other direction, crosses the cable, takes effect after the response time; frames
 * begun before then still come. Returns the frames that were lost.
 */
static uint64_t lost(const struct sender *s)
{
	struct bed b;
	struct rs_pace pace = rs_pace_of(s->rate);
	rs_time serial = rs_pace_time(pace, s->frame + RS_PREAMBLE_IPG_BYTES);
	rs_time stop = RS_NEVER;
	uint64_t drops;

	bed_init(&b, 2);
	b.port[0].rate = b.port[1].rate = s->rate;
	b.port[0].headroom = b.port[1].headroom = s->headroom;
	b.c.classes[TC] = (struct rs_switch_class){.lossless = true, .alpha_shift = 0};
	b.c.cell = s->cell;
	b.c.buffer = 2 * s->headroom + 300000;
	bed_start(&b);
	bed_pause(&b, 1, 1 << TC, 65535, 0);
	for (rs_time start = s->phase; start < stop; start += serial) {
		rs_time at = start + serial + s->delay, again;
		struct rs_packet *k;

		rs_switch_rx(b.sw, 0, bed_packet(&b, TC, 1, s->frame), at, at);
		if (stop != RS_NEVER || !rs_switch_any_woken(b.sw))
			continue;
		assert_int_equal(rs_switch_woken(b.sw, 0), 1);
		at += rs_pace_time(pace, s->max + RS_PREAMBLE_IPG_BYTES);
		k = rs_switch_tx(b.sw, 0, at, &again);
		assert_int_equal(k->kind, RS_KIND_PFC);
		assert_int_equal(k->pfc_enable, 1 << TC);
		assert_int_equal(k->pfc_quanta[TC], 65535);
		stop = at + rs_pace_time(pace, RS_PFC_FRAME + RS_PREAMBLE_IPG_BYTES) + s->delay +
		       rs_pace_time(pace, s->quanta * 64);
		rs_pool_free(&b.free, k);
	}
	rs_switch_check(b.sw);
	drops = rs_switch_get_counters(b.sw)->drops;
	assert_int_equal(rs_switch_get_counters(b.sw)->drops_lossless, drops);
	assert_int_equal(rs_switch_port_counters(b.sw, 0)->tx_pauses, 1);
	bed_end(&b);
	return drops;
}

static const int64_t rates[] = {10 * RS_GBPS, 100 * RS_GBPS, 400 * RS_GBPS, 800 * RS_GBPS};
static const uint32_t frames[] = {1082, 4178, 9216};

/* All phases of the sender's frames against the moment that it must stop: delays in small steps. */
static void test_headroom_of_the_formula_loses_nothing_and_half_of_it_does(void **state)
{
	for (unsigned r = 0; r < 4; r++)
		for (unsigned f = 0; f < 3; f++)
			for (unsigned d = 0; d < 40; d++) {
				struct sender s = {.rate = rates[r],
						   .delay = 10 * RS_NS + d * 17293,
						   .frame = frames[f],
						   .max = frames[f],
						   .quanta = rs_pfc_response_quanta(rates[r]),
						   .cell = 1};

				s.headroom = rs_pfc_headroom(s.rate, s.delay, s.max, s.quanta);
				assert_int_equal(lost(&s), 0);
				s.headroom /= 2;
				assert_true(lost(&s) > 0);
			}
}

/* Not a byte too many: among these phases one uses all but the gaps and a part of a frame. */
static void test_headroom_is_tight(void **state)
{
	struct sender s = {.rate = 100 * RS_GBPS, .frame = 1082, .max = 9216, .cell = 1};
	uint64_t losers = 0;

	s.quanta = rs_pfc_response_quanta(s.rate);
	for (unsigned d = 0; d < 200; d++) {
		uint64_t h;

		s.delay = 100 * RS_NS + d * 1009;
		h = rs_pfc_headroom(s.rate, s.delay, s.max, s.quanta);
		/* the sender's frame is smaller than the greatest: so much is not needed */
		s.headroom = h - (9216 - 1082);
		assert_int_equal(lost(&s), 0);
		/* 20 bytes a frame are on the link, not in the buffer */
		s.headroom -= s.headroom / (1082 + 20) * 20 + 1082;
		losers += lost(&s) > 0;
	}
	assert_true(losers > 0);
}

static void test_small_frames_in_cells_need_the_headroom_of_cells(void **state)
{
	static const uint32_t cell[] = {96, 144, 192, 208, 254};

	for (unsigned i = 0; i < 5; i++)
		for (uint32_t frame = 64; frame < 600;
		     frame += frame == 64 ? cell[i] + 1 - 64 : cell[i]) {
			struct sender s = {.rate = 400 * RS_GBPS,
					   .delay = 500 * RS_NS,
					   .frame = frame,
					   .max = 4178,
					   .quanta = 905,
					   .cell = cell[i]};
			uint64_t h = rs_pfc_headroom(s.rate, s.delay, s.max, s.quanta);

			s.headroom = rs_pfc_headroom_cells(h, cell[i]);
			assert_int_equal(lost(&s), 0);
			s.headroom = h;
			if (frame <= cell[i] + 1)
				assert_true(lost(&s) > 0);
		}
	assert_int_equal(rs_pfc_headroom_cells(12345, 0), 12345);
	assert_int_equal(rs_pfc_headroom_cells(12345, 1), 12345);
}

/* 802.1Q annex N with 802.3's response times, MaxFrame 9216: the table of docs/models.md. */
static void test_headroom_of_known_links(void **state)
{
	static const struct {
		int64_t gbps;
		rs_time metres;
		uint64_t bytes;
	} known[] = {{100, 2, 44022}, {100, 30, 47522},  {100, 100, 56272},  {100, 300, 81272},
		     {400, 2, 77476}, {400, 30, 91476},  {400, 100, 126476}, {400, 300, 226476},
		     {800, 2, 78476}, {800, 30, 106476}, {800, 100, 176476}};

	for (unsigned i = 0; i < 11; i++) {
		int64_t rate = known[i].gbps * RS_GBPS;
		rs_time delay = known[i].metres * 5 * RS_NS;

		assert_int_equal(rs_pfc_headroom(rate, delay, 9216, rs_pfc_response_quanta(rate)),
				 known[i].bytes);
	}
}

/* ---- XOFF and XON ---- */

/* Two lossless classes on four ports of 100 Gb/s, 20 kB of headroom, pool of `pool` bytes. */
static void lossless_bed(struct bed *b, uint64_t pool, int alpha_shift, uint64_t xon_offset)
{
	bed_init(b, 4);
	for (unsigned i = 0; i < 4; i++)
		b->port[i].headroom = 20000;
	for (unsigned tc = TC; tc <= TC + 1; tc++)
		b->c.classes[tc] = (struct rs_switch_class){.lossless = true,
							    .alpha_shift = (int8_t)alpha_shift,
							    .xon_offset = xon_offset};
	b->c.buffer = 4 * 2 * 20000 + pool;
}

/* The frame that port has to send now, as masks: classes named, classes paused. -1: none. */
static int pfc(struct bed *b, unsigned port, rs_time now)
{
	rs_time again;
	struct rs_packet *k;
	int what = -1;

	if (!(rs_switch_woken(b->sw, 0) >> port & 1))
		return -1;
	k = rs_switch_tx(b->sw, port, now, &again);
	if (k && k->kind == RS_KIND_PFC) {
		what = k->pfc_enable << 8;
		for (unsigned c = 0; c < RS_CLASSES; c++) {
			what |= (k->pfc_quanta[c] != 0) << c;
			assert_true(!k->pfc_quanta[c] || k->pfc_quanta[c] == b->c.pause_quanta);
		}
		assert_int_equal(k->frame_bytes, RS_PFC_FRAME);
	}
	if (k)
		rs_pool_free(&b->free, k);
	return what;
}

enum { BIT = 1 << TC, BIT2 = 1 << (TC + 1), XOFF = BIT << 8 | BIT, XON = BIT << 8 };

static void test_xoff_at_the_threshold_and_xon_an_offset_below(void **state)
{
	struct bed b;

	/* alpha 1: T = free; at 30000 of 60000 bytes use meets the threshold */
	lossless_bed(&b, 60000, 0, 3000);
	bed_start(&b);
	for (unsigned i = 0; i < 29; i++)
		bed_in(&b, 0, TC, 1, i == 3 ? 500 : 1000);
	bed_in(&b, 0, TC, 1, 1499);
	assert_int_equal(pfc(&b, 0, 0), -1);
	assert_int_equal(bed_out(&b, 1, 0), TC);
	bed_in(&b, 0, TC, 1, 1000);
	assert_int_equal(pfc(&b, 0, 0), -1); /* 29999 < 30001 */
	assert_int_equal(bed_out(&b, 1, 0), TC);
	bed_in(&b, 0, TC, 1, 1001);
	assert_int_equal(pfc(&b, 0, 0), XOFF); /* 30000 >= 30000 */
	/* use + 3000 <= 60000 - use: from 28500 on */
	assert_int_equal(bed_out(&b, 1, 0), TC);
	assert_int_equal(pfc(&b, 0, 0), -1); /* 29000 */
	assert_int_equal(bed_out(&b, 1, 0), TC);
	assert_int_equal(pfc(&b, 0, 0), XON); /* 28500 */
	assert_int_equal(rs_switch_port_counters(b.sw, 0)->tx_pauses, 1);
	assert_int_equal(rs_switch_port_counters(b.sw, 0)->tx_resumes, 1);
	assert_int_equal(rs_switch_get_counters(b.sw)->pauses_sent, 1);
	bed_end(&b);
}

/* The frame that crosses is the pool's; those behind it take headroom until it is full. */
static void test_headroom_takes_what_comes_after_xoff_and_empties_first(void **state)
{
	struct bed b;

	lossless_bed(&b, 60000, 0, 0);
	bed_start(&b);
	for (unsigned i = 0; i < 6; i++)
		assert_true(bed_in(&b, 0, TC, 1, 5500)); /* 33000 > 27000 */
	assert_int_equal(pfc(&b, 0, 0), XOFF);
	for (unsigned i = 0; i < 4; i++)
		assert_true(bed_in(&b, 0, TC, 1, 5000));
	assert_false(bed_in(&b, 0, TC, 1, 64));
	assert_true(bed_in(&b, 0, TC + 1, 1, 5000)); /* another class has its own */
	assert_true(bed_in(&b, 2, TC, 1, 5000));     /* as has another port */
	assert_int_equal(rs_switch_get_counters(b.sw)->drops_lossless, 1);
	/* 10000 of others weigh on the pool too; headroom must be empty before XON */
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(bed_out(&b, 1, 0), i < 1 ? TC + 1 : TC);
		assert_int_equal(pfc(&b, 0, 0), -1);
	}
	bed_end(&b);
}

static void test_a_frame_that_crosses_may_be_made_to_take_headroom(void **state)
{
	struct bed b;

	lossless_bed(&b, 60000, 0, 0);
	b.c.quirks.headroom_delays = true;
	bed_start(&b);
	for (unsigned i = 0; i < 6; i++)
		assert_true(bed_in(&b, 0, TC, 1, 5500)); /* the sixth: headroom */
	assert_int_equal(pfc(&b, 0, 0), XOFF);
	assert_true(bed_in(&b, 0, TC, 1, 14500));
	assert_false(bed_in(&b, 0, TC, 1, 64));
	bed_end(&b);
}

/* A PFC frame goes before data, though all of the port's own classes are paused. */
static void test_pfc_is_not_held_back_by_pause_or_data(void **state)
{
	struct bed b;

	lossless_bed(&b, 60000, 0, 0);
	bed_start(&b);
	bed_in(&b, 1, TC, 0, 1000);
	bed_pause(&b, 0, 0xff, 65535, 0);
	for (unsigned i = 0; i < 30; i++)
		bed_in(&b, 0, TC, 1, 1000);
	assert_false(rs_switch_port_empty(b.sw, 0));
	assert_int_equal(bed_out(&b, 0, 0), -2);
	assert_int_equal(bed_out(&b, 0, 0), -1);
	bed_end(&b);
}

/* ---- Time ---- */

static void test_a_pause_lasts_its_quanta_of_512_bit_times(void **state)
{
	struct bed b;

	lossless_bed(&b, 60000, 0, 0);
	bed_start(&b);
	bed_in(&b, 0, TC, 1, 1000);
	bed_pause(&b, 1, BIT, 100, RS_US); /* 100 x 512 bits at 100 Gb/s: 512 ns */
	assert_int_equal(rs_switch_deadline(b.sw), RS_US + 512 * RS_NS);
	assert_int_equal(bed_out(&b, 1, RS_US), -1);
	bed_pause(&b, 1, BIT, 100, RS_US + 500 * RS_NS); /* anew, not on top */
	rs_switch_expire(b.sw, RS_US + 512 * RS_NS);
	assert_int_equal(bed_out(&b, 1, RS_US + 512 * RS_NS), -1);
	assert_int_equal(rs_switch_deadline(b.sw), RS_US + 1012 * RS_NS);
	rs_switch_expire(b.sw, RS_US + 1012 * RS_NS);
	assert_int_equal(rs_switch_woken(b.sw, 0), 2);
	assert_int_equal(bed_out(&b, 1, RS_US + 1012 * RS_NS), TC);
	assert_int_equal(rs_switch_port_counters(b.sw, 1)->paused, 1012 * RS_NS);
	assert_int_equal(rs_switch_port_counters(b.sw, 1)->rx_pauses, 2);
	bed_end(&b);
}

/* 802.3 annex 31B.3.7: 394 quanta at 100 Gb/s, 2017.28 ns. Frames begun before then go; a RESUME is
 * obeyed at once, and so are further PAUSEs of a class that is held already. */
static void test_a_pause_is_obeyed_after_the_response_time(void **state)
{
	const rs_time response = rs_pfc_response_time(100 * RS_GBPS);
	struct bed b;

	assert_int_equal(response, 2017280);
	lossless_bed(&b, 60000, 0, 0);
	b.port[1].response = response;
	bed_start(&b);
	for (unsigned i = 0; i < 6; i++)
		bed_in(&b, 0, TC, 1, 1000);
	bed_pause(&b, 1, BIT, 1000, RS_US);
	assert_int_equal(rs_switch_deadline(b.sw), RS_US + response);
	assert_int_equal(bed_out(&b, 1, RS_US + response - 1), TC);
	bed_pause(&b, 1, BIT, 1000, 2 * RS_US); /* renewed: not later obeyed for that */
	rs_switch_expire(b.sw, RS_US + response);
	assert_int_equal(bed_out(&b, 1, RS_US + response), -1);
	assert_int_equal(rs_switch_deadline(b.sw), 2 * RS_US + 5120 * RS_NS);
	bed_pause(&b, 1, BIT, 0, 6 * RS_US);
	assert_int_equal(bed_out(&b, 1, 6 * RS_US), TC);
	assert_int_equal(rs_switch_port_counters(b.sw, 1)->paused, 5 * RS_US - response);
	/* a RESUME before the PAUSE is obeyed: nothing was held */
	bed_pause(&b, 1, BIT, 1000, 7 * RS_US);
	bed_pause(&b, 1, BIT, 0, 8 * RS_US);
	rs_switch_expire(b.sw, 7 * RS_US + response);
	assert_int_equal(bed_out(&b, 1, 7 * RS_US + response), TC);
	/* 200 quanta are over after 1.024 us */
	bed_pause(&b, 1, BIT, 200, 10 * RS_US);
	rs_switch_expire(b.sw, 10 * RS_US + 1024 * RS_NS);
	rs_switch_expire(b.sw, 10 * RS_US + response);
	assert_int_equal(bed_out(&b, 1, 10 * RS_US + response), TC);
	assert_int_equal(rs_switch_port_counters(b.sw, 1)->paused, 5 * RS_US - response);
	bed_end(&b);
}

static void test_quanta_of_0_resume_at_once(void **state)
{
	struct bed b;

	lossless_bed(&b, 60000, 0, 0);
	bed_start(&b);
	bed_in(&b, 0, TC, 1, 1000);
	bed_pause(&b, 1, BIT, 65535, 0);
	bed_pause(&b, 1, BIT2, 0, 10); /* of another class */
	assert_int_equal(bed_out(&b, 1, 10), -1);
	bed_pause(&b, 1, BIT, 0, 20);
	assert_int_equal(rs_switch_woken(b.sw, 0), 2);
	assert_int_equal(bed_out(&b, 1, 20), TC);
	assert_int_equal(rs_switch_port_counters(b.sw, 1)->paused, 20);
	assert_int_equal(rs_switch_port_counters(b.sw, 1)->rx_resumes, 2);
	bed_end(&b);
}

static void test_a_pause_holds_classes_with_pfc_only(void **state)
{
	struct bed b;

	lossless_bed(&b, 60000, 0, 0);
	bed_start(&b);
	bed_in(&b, 0, 0, 1, 1000);
	bed_in(&b, 0, TC + 1, 1, 1000);
	bed_pause(&b, 1, 0xff & ~BIT2, 65535, 0);
	assert_int_equal(bed_out(&b, 1, 0), TC + 1);
	assert_int_equal(bed_out(&b, 1, 0), 0);
	bed_end(&b);
}

static void pause_by_load(struct bed *b, unsigned in, unsigned tc)
{
	while (!rs_switch_any_woken(b->sw))
		assert_true(bed_in(b, in, tc, 1, 1000));
}

/* Half of 65535 quanta at 100 Gb/s: 167.77 us. */
static void test_a_pause_is_refreshed_at_half_its_time_until_xon(void **state)
{
	const rs_time half = 65535 * 512 * 10 / 2;
	struct bed b;

	lossless_bed(&b, 60000, 0, 0);
	bed_start(&b);
	pause_by_load(&b, 0, TC);
	assert_int_equal(pfc(&b, 0, 0), XOFF);
	for (unsigned i = 1; i < 5; i++) {
		assert_int_equal(rs_switch_deadline(b.sw), i * half);
		rs_switch_expire(b.sw, i * half);
		assert_int_equal(pfc(&b, 0, i * half), XOFF);
	}
	while (bed_out(&b, 1, 5 * half) == TC)
		;
	assert_int_equal(pfc(&b, 0, 5 * half), XON);
	rs_switch_expire(b.sw, 5 * half);
	assert_int_equal(rs_switch_deadline(b.sw), RS_NEVER);
	assert_int_equal(pfc(&b, 0, 5 * half), -1);
	bed_end(&b);
}

/* A frame for one class renews the others' time as well: no class runs out for another's sake. */
static void test_every_frame_renews_all_paused_classes(void **state)
{
	const rs_time half = 65535 * 512 * 10 / 2;
	struct bed b;

	lossless_bed(&b, 60000, 0, 0);
	bed_start(&b);
	pause_by_load(&b, 0, TC);
	assert_int_equal(pfc(&b, 0, 0), XOFF);
	pause_by_load(&b, 0, TC + 1);
	assert_int_equal(pfc(&b, 0, half * 9 / 10), (BIT | BIT2) << 8 | BIT | BIT2);
	while (rs_switch_queue_bytes(b.sw, 1, TC + 1))
		assert_int_equal(bed_out(&b, 1, half), TC + 1);
	assert_int_equal(pfc(&b, 0, half * 18 / 10), (BIT | BIT2) << 8 | BIT);
	bed_end(&b);
}

static void test_a_pause_may_hold_until_its_resume(void **state)
{
	struct bed b;

	lossless_bed(&b, 60000, 0, 0);
	b.c.quirks.pause_holds = true;
	bed_start(&b);
	bed_in(&b, 0, TC, 1, 1000);
	bed_pause(&b, 1, BIT, 1, 0);
	pause_by_load(&b, 0, TC);
	assert_int_equal(pfc(&b, 0, 0), XOFF);
	assert_int_equal(rs_switch_deadline(b.sw), RS_NEVER);
	rs_switch_expire(b.sw, RS_S);
	assert_int_equal(bed_out(&b, 1, RS_S), -1);
	bed_pause(&b, 1, BIT, 0, RS_S);
	assert_int_equal(bed_out(&b, 1, RS_S), TC);
	bed_end(&b);
}

/* ---- Watchdog ---- */

static void test_the_watchdog_empties_a_class_paused_for_too_long(void **state)
{
	struct bed b;
	rs_time now;

	lossless_bed(&b, 60000, 0, 0);
	b.c.pfc_watchdog = 100 * RS_US;
	bed_start(&b);
	pause_by_load(&b, 0, TC);
	assert_int_equal(pfc(&b, 0, 0), XOFF);
	bed_in(&b, 0, TC + 1, 1, 1000);
	bed_pause(&b, 1, BIT, 1000, 0); /* 5.12 us, renewed in time */
	for (now = 4 * RS_US; now < 100 * RS_US; now += 4 * RS_US) {
		bed_pause(&b, 1, BIT, 1000, now);
		if (rs_switch_deadline(b.sw) <= now)
			rs_switch_expire(b.sw, now);
		assert_int_equal(rs_switch_get_counters(b.sw)->watchdog_drops, 0);
	}
	assert_true(rs_switch_deadline(b.sw) <= 100 * RS_US);
	rs_switch_expire(b.sw, 100 * RS_US);
	rs_switch_check(b.sw);
	assert_int_equal(rs_switch_get_counters(b.sw)->watchdog_drops, 30);
	assert_int_equal(rs_switch_queue_bytes(b.sw, 1, TC), 0);
	assert_int_equal(pfc(&b, 0, now), XON); /* its ingress has room again */
	assert_int_equal(bed_out(&b, 1, now), TC + 1);
	bed_end(&b);
}

/* Another timer that ends first must not make it forget. */
static void test_the_watchdog_outlasts_other_timers(void **state)
{
	struct bed b;

	lossless_bed(&b, 60000, 0, 0);
	b.c.pfc_watchdog = 100 * RS_US;
	bed_start(&b);
	bed_in(&b, 0, TC, 1, 1000);
	bed_pause(&b, 1, BIT, 65535, 0);
	bed_pause(&b, 2, BIT, 100, 0);
	assert_int_equal(rs_switch_deadline(b.sw), 512 * RS_NS);
	rs_switch_expire(b.sw, 512 * RS_NS);
	assert_int_equal(rs_switch_deadline(b.sw), 100 * RS_US);
	rs_switch_expire(b.sw, 100 * RS_US);
	assert_int_equal(rs_switch_get_counters(b.sw)->watchdog_drops, 1);
	bed_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_headroom_of_the_formula_loses_nothing_and_half_of_it_does),
		cmocka_unit_test(test_headroom_is_tight),
		cmocka_unit_test(test_small_frames_in_cells_need_the_headroom_of_cells),
		cmocka_unit_test(test_headroom_of_known_links),
		cmocka_unit_test(test_xoff_at_the_threshold_and_xon_an_offset_below),
		cmocka_unit_test(test_headroom_takes_what_comes_after_xoff_and_empties_first),
		cmocka_unit_test(test_a_frame_that_crosses_may_be_made_to_take_headroom),
		cmocka_unit_test(test_pfc_is_not_held_back_by_pause_or_data),
		cmocka_unit_test(test_a_pause_lasts_its_quanta_of_512_bit_times),
		cmocka_unit_test(test_a_pause_is_obeyed_after_the_response_time),
		cmocka_unit_test(test_quanta_of_0_resume_at_once),
		cmocka_unit_test(test_a_pause_holds_classes_with_pfc_only),
		cmocka_unit_test(test_a_pause_is_refreshed_at_half_its_time_until_xon),
		cmocka_unit_test(test_every_frame_renews_all_paused_classes),
		cmocka_unit_test(test_a_pause_may_hold_until_its_resume),
		cmocka_unit_test(test_the_watchdog_empties_a_class_paused_for_too_long),
		cmocka_unit_test(test_the_watchdog_outlasts_other_timers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
