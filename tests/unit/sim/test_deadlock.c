/* PFC deadlocks are found while they stand, named port by port; what can still move is none. */
#include "unit/sim/load.h"

enum { TEXT = 1 << 16 };

/* n switches in a ring, `hosts` at each; from each switch `flows` go to the one `hops` further, on
 * paths that turn one way round. */
struct ring {
	unsigned n, hosts, flows, hops, kbytes;
	const char *rate, *qos;
};

static size_t put(char *text, size_t at, const char *fmt, ...)
{
	va_list a;
	int n;

	va_start(a, fmt);
	n = vsnprintf(text + at, TEXT - at, fmt, a);
	va_end(a);
	assert_true(n > 0 && at + (size_t)n < TEXT);
	return at + (size_t)n;
}

/* more: links beside the ring's; up_down: flows go by routes, not by their paths. */
static void ring_text(const struct ring *r, const char *more, bool up_down, char *text)
{
	size_t at = put(text, 0,
			"fabric:\n  qos: {ecn: false, %s}\n  cc: {kind: none}\n"
			"  network: {kind: explicit, rate: %s, delay: 500ns, routes: %s, hosts: [",
			r->qos, r->rate, up_down ? "up-down" : "shortest");

	for (unsigned i = 0; i < r->n * r->hosts; i++)
		at = put(text, at, "h%u, ", i);
	at = put(text, at, "],\n    switches: [");
	for (unsigned i = 0; i < r->n; i++)
		at = put(text, at, "s%u, ", i);
	at = put(text, at, "],\n    links: [");
	for (unsigned i = 0; i < r->n; i++)
		at = put(text, at, "{a: s%u, b: s%u}, ", i, (i + 1) % r->n);
	at = put(text, at, "%s", more);
	for (unsigned i = 0; i < r->n * r->hosts; i++)
		at = put(text, at, "{a: h%u, b: s%u}, ", i, i / r->hosts);
	at = put(text, at, "]}\nworkload:\n  - flows:\n");
	for (unsigned i = 0; i < r->n; i++)
		for (unsigned k = 0; k < r->flows; k++) {
			unsigned src = i * r->hosts + k;
			unsigned dst = (i + r->hops) % r->n * r->hosts + k;

			at = put(text, at, "    - {src: h%u, dst: h%u, bytes: %ukB", src, dst,
				 r->kbytes);
			if (up_down) {
				at = put(text, at, "}\n");
				continue;
			}
			at = put(text, at, ", path: [h%u, ", src);
			for (unsigned h = 0; h <= r->hops; h++)
				at = put(text, at, "s%u, ", (i + h) % r->n);
			at = put(text, at, "h%u]}\n", dst);
		}
}

static struct loaded ring_run(const struct ring *r, struct rs_sim_options o)
{
	static char text[TEXT];

	ring_text(r, " ", false, text);
	return load_run(text, o);
}

/* Each port of the ring once, each after the one before it. */
static void is_the_ring(const struct rs_sim_deadlock *d, const struct ring *r)
{
	unsigned first = 0;

	assert_int_equal(d->n, r->n);
	assert_int_equal(sscanf(d->port[0].name, "s%u", &first), 1);
	for (unsigned i = 0; i < d->n; i++) {
		unsigned at = 0, port = 0, to = 0;

		assert_int_equal(sscanf(d->port[i].name, "s%u port %u, to s%u", &at, &port, &to),
				 3);
		assert_int_equal(at, (first + i) % r->n);
		assert_int_equal(to, (first + i + 1) % r->n);
	}
}

static void stands(const struct loaded *l, const struct ring *r)
{
	const struct rs_sim_result *s = l->r;
	bool in_it = false;

	is_the_ring(&s->deadlock, r);
	assert_int_equal(s->deadlock.tc, 3);
	assert_true(s->deadlock.since > 0);
	assert_true(s->sim_time >= s->deadlock.since);
	assert_true(s->sim_time - s->deadlock.since < 2 * RS_MS);
	assert_false(s->complete);
	assert_false(s->stopped);
	assert_false(s->jobs[0].done);
	assert_int_equal(s->jobs[0].end, RS_SIM_DEADLOCK);
	/* each of its ports was held since then, and that counts */
	assert_true(s->counters.paused >= r->n * (s->sim_time - s->deadlock.since));
	for (unsigned i = 0; i < r->n; i++)
		in_it |= !strcmp(s->pauses[0].root, s->deadlock.port[i].name);
	assert_true(in_it);
}

/* deadlock-ring: it went on for 4,500 s of virtual time. At 1 Gb/s a PAUSE is renewed every 17 ms
 * only, and PAUSEs that hold until the RESUME leave no event at all. */
static void test_a_ring_is_named_port_by_port_within_2_ms(void **state)
{
	static const struct ring rings[] = {
		{4, 2, 2, 2, 4000, "100G", "buffer: 1200kB, watchdog: 0"},
		{4, 2, 2, 2, 4000, "1G", "buffer: 1200kB, watchdog: 0"},
		{4, 2, 2, 2, 4000, "100G", "buffer: 1200kB, watchdog: 0, pause_holds: true"},
		{3, 3, 3, 2, 4000, "400G", "buffer: 3MB, watchdog: 0"},
		{6, 2, 2, 3, 4000, "100G", "buffer: 900kB, watchdog: 0"},
	};

	for (unsigned i = 0; i < sizeof(rings) / sizeof(*rings); i++) {
		struct loaded l = ring_run(&rings[i], (struct rs_sim_options){0});

		stands(&l, &rings[i]);
		load_free(&l);
	}
}

static void test_threads_find_the_same_circle_at_the_same_time(void **state)
{
	const struct ring r = {8, 24, 4, 3, 4000, "100G", "buffer: 4MB, watchdog: 0"};
	struct loaded one = ring_run(&r, (struct rs_sim_options){.threads = 1});

	stands(&one, &r);
	for (unsigned threads = 2; threads <= 3; threads++) {
		struct loaded l = ring_run(&r, (struct rs_sim_options){.threads = threads});

		assert_int_equal(l.r->threads, threads);
		assert_int_equal(l.r->sim_time, one.r->sim_time);
		assert_int_equal(l.r->deadlock.since, one.r->deadlock.since);
		assert_memory_equal(l.r->deadlock.port, one.r->deadlock.port,
				    r.n * sizeof(*l.r->deadlock.port));
		assert_memory_equal(&l.r->counters, &one.r->counters, sizeof(one.r->counters));
		assert_memory_equal(l.r->pauses, one.r->pauses,
				    one.r->n_pauses * sizeof(*one.r->pauses));
		load_free(&l);
	}
	load_free(&one);
}

/* The watchdog breaks it, and its drops are told with the port that it emptied. */
static void test_a_watchdog_breaks_the_circle_and_its_drops_are_told(void **state)
{
	const struct ring r = {4, 2, 2, 2, 4000, "100G", "buffer: 1200kB, watchdog: 400us"};
	struct loaded l = ring_run(&r, (struct rs_sim_options){.max_time = 3 * RS_MS});
	unsigned dog = 0;

	assert_int_equal(l.r->deadlock.n, 0);
	for (uint32_t i = 0; i < l.r->n_drops; i++) {
		const struct rs_sim_drop *d = &l.r->drops[i];
		char place[64];

		if (d->why != RS_DROP_WATCHDOG)
			continue;
		snprintf(place, sizeof(place), "s%u port %u, to s%u", d->node, d->port,
			 (d->node + 1) % 4);
		assert_string_equal(d->place, place);
		dog++;
	}
	assert_int_equal(dog, 4);
	load_free(&l);
}

/* A flow a switch: the ring's links carry no more than they can, however the ring is held. One hop
 * less: no packet waits for a second link of the ring. */
static void test_rings_that_can_move_end(void **state)
{
	static const struct ring rings[] = {
		{4, 2, 1, 1, 4000, "100G", "buffer: 1200kB, watchdog: 0"},
		{4, 3, 3, 1, 4000, "100G", "buffer: 1200kB, watchdog: 0"},
		{4, 2, 2, 2, 100, "100G", "buffer: 8MB, watchdog: 0"},
	};

	for (unsigned i = 0; i < sizeof(rings) / sizeof(*rings); i++) {
		struct loaded l = ring_run(&rings[i], (struct rs_sim_options){0});

		assert_true(l.r->complete);
		assert_int_equal(l.r->deadlock.n, 0);
		load_free(&l);
	}
}

/* As long as the list of classes is as long as the longest way: each hop waits for a higher class.
 * A class less, and the last hops wait for themselves. */
static void test_classes_that_rise_by_hop_keep_rings_free(void **state)
{
	static const struct {
		struct ring ring; /* that stands */
		const char *free, *stands;
	} cases[] = {
		{{4, 2, 2, 2, 4000, "100G", "buffer: 2MB, watchdog: 0"}, "3, 4, 5", NULL},
		{{3, 3, 3, 2, 8000, "400G", "buffer: 5MB, watchdog: 0"}, "3, 1, 5", NULL},
		{{6, 2, 2, 3, 4000, "100G", "buffer: 2MB, watchdog: 0"}, "3, 4, 5, 7", "3, 4"},
		{{5, 3, 3, 4, 2000, "100G", "buffer: 3MB, watchdog: 0, pause_holds: true"},
		 "3, 4, 5, 7, 2",
		 "3, 4"},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		for (unsigned k = 0; k < 3; k++) {
			const char *classes = k == 1 ? cases[i].free : cases[i].stands;
			struct ring r = cases[i].ring;
			struct loaded l;
			char qos[200];

			if (k == 2 && !classes)
				continue;
			snprintf(qos, sizeof(qos), "%s%s%s%s", r.qos, k ? ", hop_classes: [" : "",
				 k ? classes : "", k ? "]" : "");
			r.qos = qos;
			l = ring_run(&r, (struct rs_sim_options){0});
			assert_int_equal(l.r->counters.drops, 0);
			assert_true(l.r->counters.pauses > 0);
			assert_int_equal(l.r->complete, k == 1);
			assert_int_equal(l.r->deadlock.n != 0, k != 1);
			if (k == 2)
				assert_int_equal(l.r->deadlock.tc, 4);
			load_free(&l);
		}
	}
}

/* Up and down: no circle is possible, however heavy the load and long the pauses. */
static void test_trees_give_no_false_alarm(void **state)
{
	static const char *const quanta[] = {"65535", "20000"};
	unsigned long_held = 0;

	srand(9);
	for (unsigned i = 0; i < 25; i++) {
		char *text = malloc(TEXT);
		size_t at =
			put(text, 0,
			    "fabric: {network: {kind: leaf-spine, leaves: 3, spines: 2,\n"
			    "  hosts_per_leaf: 4, rate: %s, uplink_rate: %s}, cc: {kind: none},\n"
			    "  qos: {ecn: false, buffer: 3MB, watchdog: 0, pause_quanta: %s}}\n"
			    "workload: [{flows: [",
			    rand() % 2 ? "100G" : "25G", rand() % 2 ? "100G" : "40G",
			    quanta[rand() % 2]);
		struct loaded l;

		for (unsigned k = 0; k < 20; k++) {
			int src = rand() % 12, dst = rand() % 2 ? 11 : rand() % 12;

			at = put(text, at, "{src: %d, dst: %d, bytes: %dkB}, ", src,
				 src == dst ? (src + 1) % 12 : dst, 200 + rand() % 3000);
		}
		put(text, at, "]}]\n");
		l = load_run(text, (struct rs_sim_options){0});
		assert_true(l.r->complete);
		assert_int_equal(l.r->deadlock.n, 0);
		for (uint32_t p = 0; p < l.r->n_pauses; p++)
			long_held += l.r->pauses[p].time > RS_MS;
		load_free(&l);
		free(text);
	}
	assert_true(long_held > 20);
}

/* Random rings: a run ends, or stands in a circle; nothing third. */
static void test_random_rings_end_or_stand(void **state)
{
	unsigned ended = 0, stood = 0;

	srand(10);
	for (unsigned i = 0; i < 40; i++) {
		char qos[80];
		const struct ring r = {3 + (unsigned)rand() % 4,
				       3,
				       1 + (unsigned)rand() % 3,
				       1 + (unsigned)rand() % 2,
				       200u << rand() % 5,
				       rand() % 2 ? "100G" : "25G",
				       qos};
		struct loaded l;

		snprintf(qos, sizeof(qos), "buffer: %dkB, watchdog: 0", 1000 + rand() % 3000);
		l = ring_run(&r, (struct rs_sim_options){0});
		ended += l.r->complete;
		if (!l.r->complete) {
			stands(&l, &r);
			stood++;
		}
		load_free(&l);
	}
	assert_true(ended > 5 && stood > 5);
}

/* A circle in a network of more links than it needs: it stands; with a class a hop it does not, nor
 * where routes go up and then down. */
static void test_circles_in_drawn_networks(void **state)
{
	static char text[TEXT];

	srand(11);
	for (unsigned i = 0; i < 6; i++) {
		unsigned n = 4 + (unsigned)rand() % 5, hops = 2 + (unsigned)rand() % 2;
		char more[400] = "";
		struct ring r = {n, 2, 2, hops, 4000, "100G", NULL};
		static const char *const qos[] = {
			"buffer: 1200kB, watchdog: 0",
			"buffer: 4MB, watchdog: 0, hop_classes: [3, 4, 5, 2]",
			"buffer: 1200kB, watchdog: 0",
		};

		for (unsigned k = 1 + (unsigned)rand() % 3, at = 0; k; k--) {
			unsigned a = (unsigned)rand() % n;

			at += (unsigned)snprintf(more + at, sizeof(more) - at, "{a: s%u, b: s%u}, ",
						 a, (a + 2 + (unsigned)rand() % (n - 3)) % n);
		}
		for (unsigned k = 0; k < 3; k++) {
			struct loaded l;

			r.qos = qos[k];
			ring_text(&r, more, k == 2, text);
			l = load_run(text, (struct rs_sim_options){0});
			assert_int_equal(l.r->complete, k > 0);
			assert_int_equal(l.r->deadlock.n, k ? 0 : n);
			assert_int_equal(l.r->counters.drops, 0);
			load_free(&l);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_ring_is_named_port_by_port_within_2_ms),
		cmocka_unit_test(test_threads_find_the_same_circle_at_the_same_time),
		cmocka_unit_test(test_a_watchdog_breaks_the_circle_and_its_drops_are_told),
		cmocka_unit_test(test_rings_that_can_move_end),
		cmocka_unit_test(test_classes_that_rise_by_hop_keep_rings_free),
		cmocka_unit_test(test_trees_give_no_false_alarm),
		cmocka_unit_test(test_random_rings_end_or_stand),
		cmocka_unit_test(test_circles_in_drawn_networks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
