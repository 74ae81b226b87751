/* NSCC: each row of the traces of the Ultra Ethernet Consortium's simulator, every window to the
 * byte and every average delay to the picosecond; and the parameters at other rates. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "uet/nscc.h"

enum { FLOWS = 129 };

struct row {
	rs_time now, rtt, delay, base, average;
	uint64_t bytes, in_flight, most, before, after;
	unsigned flow, marked, psn;
	char event[16];
};

struct replay {
	struct rs_nscc_conf c;
	struct rs_nscc of[FLOWS];
	bool known[FLOWS];
	unsigned acks, nacks, timeouts, wrong;
};

static bool parse(const char *line, struct row *r)
{
	return sscanf(line,
		      "%" SCNd64 ",%u,%15[a-z_],%u,%u,%" SCNd64 ",%" SCNd64 ",%" SCNu64 ",%" SCNu64
		      ",%" SCNd64 ",%" SCNd64 ",%" SCNu64 ",%" SCNu64 ",%" SCNu64,
		      &r->now, &r->flow, r->event, &r->marked, &r->psn, &r->rtt, &r->delay,
		      &r->bytes, &r->in_flight, &r->base, &r->average, &r->most, &r->before,
		      &r->after) == 14;
}

static void feed(struct replay *p, const struct row *r)
{
	struct rs_nscc *n = &p->of[r->flow];
	/* an RTS is answered too, but its round trip is no sample */
	bool sample = r->event[0] == 'n' || r->rtt - r->base == r->delay;
	const struct rs_nscc_ack a = {.now = r->now,
				      .rtt = sample ? r->rtt : 0,
				      .in_flight = r->in_flight,
				      .bytes = (uint32_t)r->bytes,
				      .marked = r->marked};

	if (!strcmp(r->event, "ack")) {
		p->acks++;
		rs_nscc_on_ack(&p->c, n, &a);
	} else if (!strncmp(r->event, "nack", 4)) {
		p->nacks++;
		rs_nscc_on_nack(&p->c, n, &a);
	} else {
		assert_string_equal(r->event, "rto");
		p->timeouts++;
		rs_nscc_on_timeout(&p->c, n, (uint32_t)r->bytes);
	}
}

static void check(struct replay *p, const struct row *r)
{
	struct rs_nscc *n = &p->of[r->flow];

	if (!p->known[r->flow]) {
		p->known[r->flow] = true;
		rs_nscc_init(&p->c, n, 0);
	}
	if (n->window != r->before && !p->wrong++)
		print_error("flow %u at %" PRId64 ": %" PRIu64 " before, not %" PRIu64 "\n",
			    r->flow, r->now, n->window, r->before);
	feed(p, r);
	if ((n->window != r->after || n->delay != r->average || n->base_rtt != r->base ||
	     n->window_max != r->most) &&
	    !p->wrong++)
		print_error("flow %u at %" PRId64 ": window %" PRIu64 " not %" PRIu64
			    ", average %" PRId64 " not %" PRId64 ", base %" PRId64 " not %" PRId64
			    "\n",
			    r->flow, r->now, n->window, r->after, n->delay, r->average, n->base_rtt,
			    r->base);
	n->window = r->after;
}

static void conf(struct rs_nscc_conf *c, enum rs_uet_window_kind kind, bool trims)
{
	*c = (struct rs_nscc_conf){.kind = kind,
				   .rate = 100 * RS_GBPS,
				   .rtt = 14022720,
				   .mtu = 4150,
				   .payload = 4086,
				   .trims = trims};
	rs_nscc_derive(c);
}

static void replay(struct replay *p, const char *name, enum rs_uet_window_kind kind, bool trims)
{
	char path[400], line[300];
	struct row r;
	FILE *f;

	memset(p, 0, sizeof(*p));
	conf(&p->c, kind, trims);
	snprintf(path, sizeof(path), RS_SOURCE_DIR "/tests/data/uet-truth/cwnd-%s.csv", name);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	while (fgets(line, sizeof(line), f)) {
		assert_true(parse(line, &r) && r.flow < FLOWS);
		check(p, &r);
	}
	fclose(f);
	assert_int_equal(p->wrong, 0);
}

static void test_every_row_of_nscc(void **state)
{
	static struct replay p;

	replay(&p, "one-nscc-oblivious", RS_UET_NSCC, true);
	assert_int_equal(p.acks, 124);
	replay(&p, "one-nscc-reps", RS_UET_NSCC, true);
	replay(&p, "perm128-nscc-oblivious", RS_UET_NSCC, true);
	assert_int_equal(p.acks + p.nacks, 363);
	replay(&p, "incast16-nscc-oblivious", RS_UET_NSCC, true);
	assert_int_equal(p.acks + p.nacks, 1582);
	assert_true(p.nacks > 100);
}

static void test_every_row_of_nscc_without_trimming(void **state)
{
	static struct replay p;

	replay(&p, "incast16-nscc-notrim-oblivious", RS_UET_NSCC, false);
	assert_true(p.timeouts > 50);
	replay(&p, "incast16-nscc-notrim-sleek-oblivious", RS_UET_NSCC, false);
	assert_true(p.acks > 900);
}

static void test_every_row_of_the_window_called_dctcp(void **state)
{
	static struct replay p;

	replay(&p, "incast16-dctcp-oblivious", RS_UET_DCTCP, true);
	assert_true(p.acks > 300 && p.nacks > 10);
}

/* The values that the simulator prints (case.txt), and what scales at eight times the rate. */
static void test_parameters(void **state)
{
	struct rs_nscc_conf c;
	struct rs_nscc n;

	conf(&c, RS_UET_NSCC, true);
	assert_int_equal(c.target, 10517040);
	assert_int_equal((int64_t)(c.alpha * 1e8), 159157);
	assert_int_equal((int64_t)(c.fi * 10), 238736);
	assert_int_equal((int64_t)(c.eta * 100), 71621);
	assert_int_equal((int64_t)(c.fi_scale * 1e5), 29214);
	assert_int_equal(c.adjust_bytes, 33200);
	rs_nscc_init(&c, &n, 0);
	assert_int_equal(n.window, 262926);
	c.rate *= 8;
	rs_nscc_derive(&c);
	assert_int_equal((int64_t)c.fi, 190989);
	conf(&c, RS_UET_NSCC, false);
	assert_int_equal(c.target, 14022720);
	assert_int_equal((int64_t)(c.alpha * 1e8), 159157); /* the target cancels */
}

/* 8 packets times fi is above 2^32 at 800 Gb/s: the increase must not wrap (htsim's does). */
static void test_the_increase_does_not_wrap_at_1600_gbps(void **state)
{
	struct rs_nscc_conf c;
	struct rs_nscc n;
	uint64_t before;

	conf(&c, RS_UET_NSCC, true);
	c.rate = 1600 * RS_GBPS;
	rs_nscc_derive(&c);
	rs_nscc_init(&c, &n, 0);
	n.window = before = 100000;
	for (int i = 1; i <= 3; i++)
		rs_nscc_on_ack(&c, &n,
			       &(struct rs_nscc_ack){.now = i, .rtt = 30 * RS_US, .bytes = 16600});
	assert_in_range(n.window, before + (uint64_t)(c.fi * 3 * 16600) / before - 2,
			before + (uint64_t)(c.fi * 3 * 16600) / before + 2);
}

static void test_the_window_is_never_below_a_packet(void **state)
{
	for (int kind = RS_UET_NSCC; kind <= RS_UET_DCTCP; kind++) {
		struct rs_nscc_conf c;
		struct rs_nscc n;

		conf(&c, (enum rs_uet_window_kind)kind, true);
		rs_nscc_init(&c, &n, 0);
		for (int i = 0; i < 300; i++) {
			const struct rs_nscc_ack a = {.now = i * RS_US, .bytes = 4150};

			rs_nscc_on_nack(&c, &n, &a);
			rs_nscc_on_timeout(&c, &n, 4150);
			assert_in_range(n.window, 4150, 262926);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_row_of_nscc),
		cmocka_unit_test(test_every_row_of_nscc_without_trimming),
		cmocka_unit_test(test_every_row_of_the_window_called_dctcp),
		cmocka_unit_test(test_parameters),
		cmocka_unit_test(test_the_increase_does_not_wrap_at_1600_gbps),
		cmocka_unit_test(test_the_window_is_never_below_a_packet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
