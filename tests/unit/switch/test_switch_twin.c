/* The switch under random load against a slow, obvious twin: the same packets admitted, marked,
 * paused and sent, the same buffer, the same timers; the switch's own check after every step. */
#include "bed.h"

enum { STEPS = 4000, TRIALS = 60, RANDOM_MARK = 2, QUANTUM = 1024, HELD_MAX = 4096 };

struct held {
	struct rs_packet *p;
	uint64_t bytes;
	unsigned in, ecn;
	rs_time when;
};

/* One (port, class): what waits to go out, and what came in and is still here. */
struct cell_of_table {
	struct held wait[HELD_MAX];
	unsigned n;
	int64_t deficit;
	bool paused, pausing, due, heard;
	rs_time until, since;
	int64_t use, headroom;
};

struct twin {
	const struct rs_switch_config *c;
	struct cell_of_table at[BED_PORTS][RS_CLASSES];
	unsigned turn[BED_PORTS];
	rs_time refresh[BED_PORTS];
	uint64_t woken;
	struct rs_random random;
	int64_t pool;
	uint64_t drops, lossless_drops, marks, dog_drops;
};

static int64_t most(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t shared(const struct twin *t, unsigned p, unsigned tc)
{
	return most(0, t->at[p][tc].use - (int64_t)t->c->classes[tc].reserve);
}

static int64_t free_bytes(const struct twin *t)
{
	int64_t n = t->pool;

	for (unsigned p = 0; p < t->c->n_ports; p++)
		for (unsigned tc = 0; tc < RS_CLASSES; tc++)
			n -= shared(t, p, tc);
	assert_true(n >= 0);
	return n;
}

/* T = alpha times what is free, rounded down. */
static int64_t limit(const struct twin *t, unsigned p, unsigned tc)
{
	int shift = t->c->classes[tc].alpha_shift + t->c->ports[p].alpha_add;

	return shift >= 0 ? free_bytes(t) * (1 << shift) : free_bytes(t) / (1 << -shift);
}

static uint64_t queued(const struct twin *t, unsigned p, unsigned tc)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < t->at[p][tc].n; i++)
		n += t->at[p][tc].wait[i].bytes;
	return n;
}

static void set_pausing(struct twin *t, unsigned p, unsigned tc, bool on)
{
	t->at[p][tc].pausing = on;
	t->at[p][tc].due = true;
	t->woken |= 1u << p;
}

static bool twin_admits(struct twin *t, unsigned in, unsigned out, unsigned tc, int64_t bytes)
{
	const struct rs_switch_class *c = &t->c->classes[tc];
	struct cell_of_table *a = &t->at[in][tc];
	int64_t after = most(0, a->use + bytes - (int64_t)c->reserve);
	int64_t q = (int64_t)queued(t, out, tc);
	bool fits = after - shared(t, in, tc) <= free_bytes(t);

	if (c->egress_limit && q + bytes > (int64_t)c->egress_limit)
		return false;
	if (!c->lossless && q && q + bytes > limit(t, out, tc))
		return false;
	if (!c->lossless || a->pausing || t->c->quirks.headroom_delays)
		fits = fits && (after == 0 || after <= limit(t, in, tc));
	if (fits && !a->headroom)
		a->use += bytes;
	else if (c->lossless && a->headroom + bytes <= (int64_t)t->c->ports[in].headroom)
		a->headroom += bytes;
	else
		return false;
	if (c->lossless && !a->pausing && (a->headroom || shared(t, in, tc) >= limit(t, in, tc)))
		set_pausing(t, in, tc, true);
	return true;
}

static void twin_releases(struct twin *t, unsigned in, unsigned tc, int64_t bytes)
{
	struct cell_of_table *a = &t->at[in][tc];
	int64_t from_headroom = bytes < a->headroom ? bytes : a->headroom;

	a->headroom -= from_headroom;
	a->use -= bytes - from_headroom;
	assert_true(a->use >= 0);
	if (a->pausing && !a->headroom &&
	    (!shared(t, in, tc) ||
	     shared(t, in, tc) + (int64_t)t->c->classes[tc].xon_offset <= limit(t, in, tc)))
		set_pausing(t, in, tc, false);
}

/* Is a packet marked with the queue at q bytes? Draws as the switch does: only where it matters. */
static bool twin_marks(struct twin *t, unsigned p, unsigned tc, uint64_t q, unsigned ecn)
{
	const struct rs_switch_class *c = &t->c->classes[tc];
	uint64_t kmin = t->c->ports[p].kmin ? t->c->ports[p].kmin : c->kmin;
	uint64_t kmax = t->c->ports[p].kmax ? t->c->ports[p].kmax : c->kmax;
	uint64_t draw;

	if (!c->ecn || q <= kmin || ecn == RS_ECN_NOT_ECT)
		return false;
	if (q <= kmax) {
		draw = rs_random_u64(&t->random) >> 48;
		/* draw / 2^16 < pmax / 2^16 (q - kmin) / (kmax - kmin) */
		if (draw >= (c->pmax * (q - kmin) + (kmax - kmin) - 1) / (kmax - kmin))
			return false;
	}
	t->marks += ecn != RS_ECN_CE;
	return true;
}

static struct held twin_takes(struct twin *t, unsigned p, unsigned tc)
{
	struct cell_of_table *a = &t->at[p][tc];
	struct held h = a->wait[0];

	memmove(&a->wait[0], &a->wait[1], --a->n * sizeof(a->wait[0]));
	twin_releases(t, h.in, tc, (int64_t)h.bytes);
	return h;
}

static int twin_picks(struct twin *t, unsigned p, unsigned ready)
{
	for (int tc = RS_CLASSES - 1; tc >= 0; tc--)
		if (ready >> tc & 1 && (!t->c->classes[tc].weight || ready == 1u << tc))
			return tc;
	for (unsigned *c = &t->turn[p];;) {
		struct cell_of_table *a = &t->at[p][*c];

		if (!(ready >> *c & 1)) {
			a->deficit = 0;
		} else if (a->deficit >= a->wait[0].p->frame_bytes) {
			a->deficit -= a->wait[0].p->frame_bytes;
			return (int)*c;
		}
		*c = (*c + 1) % RS_CLASSES;
		if (ready >> *c & 1)
			t->at[p][*c].deficit += t->c->classes[*c].weight * QUANTUM;
	}
}

static rs_time quanta_time(const struct twin *t, unsigned p, unsigned n)
{
	return n * 512 * RS_S / t->c->ports[p].rate;
}

static void twin_resumes(struct twin *t, unsigned p, unsigned tc)
{
	t->at[p][tc].paused = false;
	t->woken |= 1u << p;
}

static rs_time dog_time(const struct twin *t, unsigned p, unsigned tc)
{
	return t->c->pfc_watchdog ? t->at[p][tc].since + t->c->pfc_watchdog : RS_NEVER;
}

static rs_time twin_deadline(const struct twin *t)
{
	rs_time first = RS_NEVER;

	for (unsigned p = 0; p < t->c->n_ports; p++) {
		first = rs_time_min(first, t->refresh[p]);
		for (unsigned tc = 0; tc < RS_CLASSES; tc++) {
			const struct cell_of_table *a = &t->at[p][tc];

			if (a->paused)
				first = rs_time_min(first,
						    rs_time_min(a->until, dog_time(t, p, tc)));
			else if (a->heard)
				first = rs_time_min(first, rs_time_min(a->until, a->since));
		}
	}
	return first;
}

static void twin_expires(struct twin *t, rs_time now)
{
	for (unsigned p = 0; p < t->c->n_ports; p++) {
		for (unsigned tc = 0; tc < RS_CLASSES; tc++) {
			struct cell_of_table *a = &t->at[p][tc];

			if (a->heard && a->until <= now) {
				a->heard = false; /* over before it was obeyed */
			} else if (a->heard && a->since <= now) {
				a->heard = false;
				a->paused = true;
			}
			if (!a->paused || (dog_time(t, p, tc) > now && a->until > now))
				continue;
			for (; dog_time(t, p, tc) <= now && a->n; t->dog_drops++)
				twin_takes(t, p, tc);
			twin_resumes(t, p, tc);
		}
		if (t->refresh[p] > now)
			continue;
		t->refresh[p] = RS_NEVER;
		t->woken |= 1u << p;
		for (unsigned tc = 0; tc < RS_CLASSES; tc++)
			t->at[p][tc].due |= t->at[p][tc].pausing;
	}
}

/* ---- Side by side ---- */

struct pair {
	struct bed bed;
	struct twin twin;
	struct rs_random random;
	rs_time now;
};

static uint32_t upto(struct pair *r, uint32_t n)
{
	return rs_random_below(&r->random, n + 1);
}

static void random_config(struct pair *r)
{
	static const uint32_t cell[] = {0, 1, 80, 144, 192};
	static const int64_t rate[] = {25 * RS_GBPS, 100 * RS_GBPS, 400 * RS_GBPS};
	struct bed *b = &r->bed;
	uint64_t fixed = 0;

	bed_init(b, 2 + upto(r, 3));
	b->c.cell = cell[upto(r, 4)];
	b->c.mark_at_dequeue = upto(r, 1);
	b->c.quirks.pause_holds = !upto(r, 3);
	b->c.quirks.headroom_delays = upto(r, 1);
	b->c.pause_quanta = (uint16_t)(1 + upto(r, 200));
	b->c.pfc_watchdog = upto(r, 1) ? 0 : 1 + upto(r, 5000000);
	for (unsigned tc = 0; tc < RS_CLASSES; tc++)
		b->c.classes[tc] = (struct rs_switch_class){
			.lossless = upto(r, 1),
			.alpha_shift = (int8_t)((int)upto(r, 8) - 4),
			.reserve = upto(r, 1) * upto(r, 3000),
			.xon_offset = upto(r, 1) * upto(r, 5000),
			.egress_limit = upto(r, 4) ? 0 : 1 + upto(r, 20000),
			.ecn = upto(r, 2) > 0,
			.kmin = upto(r, 5000),
			.kmax = 5001 + upto(r, 20000),
			.pmax = upto(r, 65536),
			.weight = (uint8_t)(upto(r, 2) ? 1 + upto(r, 6) : 0),
		};
	for (unsigned p = 0; p < b->c.n_ports; p++) {
		b->port[p] = (struct rs_switch_port){.rate = rate[upto(r, 2)],
						     .headroom = upto(r, 12000),
						     .response = upto(r, 1) * upto(r, 2000000),
						     .alpha_add = (int8_t)upto(r, 2)};
		if (upto(r, 1))
			b->port[p].kmin = 1 + upto(r, 4000), b->port[p].kmax = 4002 + upto(r, 9000);
		for (unsigned tc = 0; tc < RS_CLASSES; tc++)
			fixed += b->c.classes[tc].reserve +
				 (b->c.classes[tc].lossless ? b->port[p].headroom : 0);
	}
	b->c.buffer = fixed + 1 + upto(r, 150000);
	bed_start(b);
	memset(&r->twin, 0, sizeof(r->twin));
	r->twin.c = &b->c;
	r->twin.pool = (int64_t)(b->c.buffer - fixed);
	r->twin.random = rs_random_stream(b->c.seed, b->c.id, RANDOM_MARK);
	for (unsigned p = 0; p < b->c.n_ports; p++)
		r->twin.refresh[p] = RS_NEVER;
}

static void step_in(struct pair *r)
{
	static const unsigned frames[] = {64, 65, 143, 1082, 1500, 4178, 9216};
	struct twin *t = &r->twin;
	unsigned n = r->bed.c.n_ports, in = upto(r, n - 1), out = upto(r, n - 1);
	unsigned tc = upto(r, 3) ? upto(r, 2) : upto(r, RS_CLASSES - 1);
	uint32_t frame = upto(r, 1) ? frames[upto(r, 6)] : 64 + upto(r, 9000);
	uint32_t unit = r->bed.c.cell ? r->bed.c.cell : 1;
	uint64_t bytes = (frame + unit - 1) / unit * unit;
	rs_time ready = r->now + (upto(r, 3) ? 0 : upto(r, 300000));
	struct rs_packet *p = bed_packet(&r->bed, tc, out, frame);
	struct cell_of_table *a = &t->at[out][tc];
	unsigned ecn = upto(r, 3);
	bool idle = true, marked;
	int to;

	p->tos = (uint8_t)(tc << 2 | ecn);
	to = rs_switch_rx(r->bed.sw, in, p, r->now, ready);
	if (a->n == HELD_MAX || !twin_admits(t, in, out, tc, (int64_t)bytes)) {
		assert_int_equal(to, -1);
		t->drops++;
		t->lossless_drops += t->c->classes[tc].lossless;
		return;
	}
	assert_int_equal(to, out);
	for (unsigned c = 0; c < RS_CLASSES; c++)
		idle = idle && !t->at[out][c].n;
	if (idle && t->c->ports[out].rate <= t->c->ports[in].rate)
		ready = r->now;
	a->wait[a->n++] = (struct held){p, bytes, in, ecn, ready};
	marked = !t->c->mark_at_dequeue && twin_marks(t, out, tc, queued(t, out, tc), ecn);
	assert_int_equal(rs_packet_ecn(p), marked ? RS_ECN_CE : ecn);
}

static void expect_pfc(struct pair *r, unsigned port, const struct rs_packet *k)
{
	struct twin *t = &r->twin;
	bool any = false;

	assert_int_equal(k->kind, RS_KIND_PFC);
	for (unsigned tc = 0; tc < RS_CLASSES; tc++) {
		struct cell_of_table *a = &t->at[port][tc];

		assert_int_equal(k->pfc_enable >> tc & 1, a->due || a->pausing);
		assert_int_equal(k->pfc_quanta[tc], a->pausing ? t->c->pause_quanta : 0);
		a->due = false;
		any = any || a->pausing;
	}
	t->refresh[port] = any && !t->c->quirks.pause_holds
				   ? r->now + quanta_time(t, port, t->c->pause_quanta) / 2
				   : RS_NEVER;
}

static void step_out(struct pair *r)
{
	struct twin *t = &r->twin;
	unsigned port = upto(r, r->bed.c.n_ports - 1), ready = 0, due = 0;
	rs_time again, wanted = RS_NEVER;
	struct rs_packet *p;

	for (unsigned tc = 0; tc < RS_CLASSES; tc++) {
		const struct cell_of_table *a = &t->at[port][tc];

		due |= a->due;
		if (!a->n || a->paused)
			continue;
		if (a->wait[0].when <= r->now)
			ready |= 1u << tc;
		else
			wanted = rs_time_min(wanted, a->wait[0].when);
	}
	p = rs_switch_tx(r->bed.sw, port, r->now, &again);
	if (due) {
		expect_pfc(r, port, p);
	} else if (!ready) {
		assert_null(p);
		assert_true(again == wanted);
	} else {
		unsigned tc = (unsigned)twin_picks(t, port, ready);
		struct held h = twin_takes(t, port, tc);

		assert_ptr_equal(p, h.p);
		if (t->c->mark_at_dequeue)
			assert_int_equal(rs_packet_ecn(p),
					 twin_marks(t, port, tc, queued(t, port, tc), h.ecn)
						 ? RS_ECN_CE
						 : h.ecn);
	}
	if (p)
		rs_pool_free(&r->bed.free, p);
}

static void step_pfc(struct pair *r)
{
	struct twin *t = &r->twin;
	unsigned port = upto(r, r->bed.c.n_ports - 1), mask = upto(r, 255);
	uint16_t n = (uint16_t)(upto(r, 2) ? upto(r, 3000) : 0);

	bed_pause(&r->bed, port, mask, n, r->now);
	for (unsigned tc = 0; tc < RS_CLASSES; tc++) {
		struct cell_of_table *a = &t->at[port][tc];

		if (!(mask >> tc & 1) || !t->c->classes[tc].lossless)
			continue;
		if (!n && a->paused)
			twin_resumes(t, port, tc);
		if (!n)
			a->heard = false;
		if (!n)
			continue;
		if (!a->paused && !a->heard) {
			a->since = r->now + t->c->ports[port].response;
			a->heard = true;
		}
		if (a->since <= r->now) {
			a->heard = false;
			a->paused = true;
		}
		a->until = t->c->quirks.pause_holds ? RS_NEVER : r->now + quanta_time(t, port, n);
	}
}

/* To the next moment, timers on the way in their turn: the switch may wake in vain, never late. */
static void step_time(struct pair *r)
{
	rs_time to = r->now + upto(r, 400000);

	while (rs_switch_deadline(r->bed.sw) <= to || twin_deadline(&r->twin) <= to) {
		assert_true(rs_switch_deadline(r->bed.sw) <= twin_deadline(&r->twin));
		r->now = rs_time_max(r->now, rs_switch_deadline(r->bed.sw));
		rs_switch_expire(r->bed.sw, r->now);
		twin_expires(&r->twin, r->now);
	}
	r->now = to;
}

static void compare(struct pair *r)
{
	const struct rs_switch_counters *c = rs_switch_get_counters(r->bed.sw);
	const struct twin *t = &r->twin;
	uint64_t used = 0;

	rs_switch_check(r->bed.sw);
	for (unsigned p = 0; p < t->c->n_ports; p++)
		for (unsigned tc = 0; tc < RS_CLASSES; tc++) {
			assert_true(rs_switch_queue_bytes(r->bed.sw, p, tc) == queued(t, p, tc));
			used += (uint64_t)(t->at[p][tc].use + t->at[p][tc].headroom);
		}
	assert_true(rs_switch_buffer_used(r->bed.sw) == used);
	assert_true(used <= t->c->buffer);
	assert_true(c->drops == t->drops && c->drops_lossless == t->lossless_drops);
	assert_true(c->ecn_marked == t->marks && c->watchdog_drops == t->dog_drops);
	assert_true(rs_switch_woken(r->bed.sw, 0) == t->woken);
	r->twin.woken = 0;
}

static void test_switch_does_what_its_twin_does(void **state)
{
	static struct pair r;
	uint64_t drops = 0, marks = 0, dog = 0, pauses = 0, sent = 0;

	for (unsigned trial = 0; trial < TRIALS; trial++) {
		unsigned busy, what;

		memset(&r, 0, sizeof(r));
		r.random = rs_random_stream(2026, trial, 1);
		random_config(&r);
		for (unsigned i = 0; i < STEPS; i++) {
			/* by turns more comes than goes, and more goes than comes */
			busy = i / 500 % 2 ? 55 : 35;
			what = upto(&r, 99);
			if (what < 2)
				step_pfc(&r);
			else if (what < 10)
				step_time(&r);
			else if (upto(&r, 99) < busy)
				step_in(&r);
			else
				step_out(&r);
			compare(&r);
		}
		drops += r.twin.drops;
		marks += r.twin.marks;
		dog += r.twin.dog_drops;
		for (unsigned p = 0; p < r.bed.c.n_ports; p++) {
			pauses += rs_switch_port_counters(r.bed.sw, p)->tx_pauses;
			sent += rs_switch_port_counters(r.bed.sw, p)->tx_packets;
		}
		bed_end(&r.bed);
	}
	/* the load was one that tries everything */
	assert_true(drops > 5000 && marks > 3000 && dog > 100 && pauses > 1000 && sent > 50000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_switch_does_what_its_twin_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
