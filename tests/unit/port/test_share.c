/* Functions behind one port (port/share.h): who gets how much of it, whom a pause holds, and whose
 * a packet is that comes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include "base/random.h"
#include "port/share.h"

enum { PACKETS = 20000, WORLDS = 200 };

/* A function that has packets of some classes, without end; each class's of one length. */
struct source {
	struct rs_endpoint as_endpoint;
	struct rs_pool_list *list;
	uint32_t address;
	uint8_t has;
	uint16_t length[RS_CLASSES];
	uint64_t sent[RS_CLASSES]; /* bytes */
	uint64_t asked, received, expired;
	rs_time again, deadline; /* nothing is to be had before */
};

static struct rs_packet *source_tx(struct rs_endpoint *e, uint8_t held, rs_time now, rs_time *again)
{
	struct source *s = (struct source *)e;
	uint8_t ready = s->has & (uint8_t)~held;
	struct rs_packet *p;
	unsigned c;

	s->asked++;
	*again = s->again;
	if (!ready || now < s->again)
		return NULL;
	c = (unsigned)__builtin_ctz(ready);
	p = rs_pool_alloc(s->list);
	*p = (struct rs_packet){.src = s->address, .tc = (uint8_t)c, .frame_bytes = s->length[c]};
	s->sent[c] += s->length[c];
	return p;
}

static void source_rx(struct rs_endpoint *e, struct rs_packet *p, rs_time now)
{
	struct source *s = (struct source *)e;

	s->received++;
	rs_pool_free(s->list, p);
}

static rs_time source_deadline(const struct rs_endpoint *e)
{
	return ((const struct source *)e)->deadline;
}

static void source_expire(struct rs_endpoint *e, rs_time now)
{
	struct source *s = (struct source *)e;

	assert_true(s->deadline <= now);
	s->expired++;
	s->deadline = RS_NEVER;
}

static const struct rs_endpoint_ops source_ops = {source_tx, source_rx, source_deadline,
						  source_expire, NULL};

struct bed {
	struct rs_pool pool;
	struct rs_pool_list list;
	struct rs_share share;
	struct source source[RS_SHARE_MAX];
};

static void make(struct bed *b, const uint8_t weight[RS_CLASSES])
{
	*b = (struct bed){.source = {{.address = 0}}};
	assert_int_equal(rs_pool_init(&b->pool, 1024), 0);
	rs_pool_list_init(&b->list, &b->pool);
	rs_share_init(&b->share, weight, &b->list);
}

static struct source *function(struct bed *b, uint8_t has, uint16_t length, uint8_t weight)
{
	uint32_t i = b->share.n;
	struct source *s = &b->source[i];

	*s = (struct source){.as_endpoint.ops = &source_ops,
			     .list = &b->list,
			     .address = 10 * i,
			     .has = has,
			     .deadline = RS_NEVER};
	for (unsigned c = 0; c < RS_CLASSES; c++)
		s->length[c] = length;
	assert_int_equal(rs_share_add(&b->share, &s->as_endpoint, 10 * i, 10, weight), 0);
	return s;
}

static unsigned pull(struct bed *b, uint8_t held, unsigned n)
{
	rs_time again;

	for (unsigned i = 0; i < n; i++) {
		struct rs_packet *p = rs_endpoint_tx(&b->share.as_endpoint, held, 0, &again);

		if (!p)
			return i;
		assert_false(held >> p->tc & 1);
		rs_pool_free(&b->list, p);
	}
	return n;
}

/* Shares are exact to what either may owe or be owed: a frame and a round's quantum. */
static void assert_near(uint64_t a, uint64_t wa, uint64_t b, uint64_t wb)
{
	uint64_t slack =
		2 * ((9000 + wa * RS_ETS_QUANTUM) * wb + (9000 + wb * RS_ETS_QUANTUM) * wa);

	assert_in_range(a * wb + slack - b * wa, 0, 2 * slack);
}

static const uint8_t three_to_one[RS_CLASSES] = {1, 0, 0, 3, 0, 1, 1, 1};

static void test_two_functions_share_a_port_by_class_weights(void **state)
{
	struct bed b;
	struct source *x, *y;

	make(&b, three_to_one);
	x = function(&b, 1 << 0 | 1 << 3, 1000, 1);
	y = function(&b, 1 << 0 | 1 << 3, 1000, 1);
	assert_int_equal(pull(&b, 0, PACKETS), PACKETS);
	assert_near(x->sent[3] + y->sent[3], 3, x->sent[0] + y->sent[0], 1);
	assert_near(x->sent[3], 1, y->sent[3], 1);
	assert_near(x->sent[0], 1, y->sent[0], 1);
	rs_pool_fini(&b.pool);
}

/* One function in one class alone, the other in that and in a heavier one. */
static void test_a_busy_function_takes_nothing_of_anothers_class(void **state)
{
	struct bed b;
	struct source *x, *y;

	make(&b, three_to_one);
	x = function(&b, 1 << 0, 1000, 1);
	y = function(&b, 1 << 0 | 1 << 3, 1000, 1);
	pull(&b, 0, PACKETS);
	assert_near(y->sent[3], 3, x->sent[0] + y->sent[0], 1);
	assert_near(x->sent[0], 1, y->sent[0], 1);
	rs_pool_fini(&b.pool);
}

static void test_longer_packets_earn_no_more(void **state)
{
	struct bed b;
	struct source *x, *y;

	make(&b, three_to_one);
	x = function(&b, 1 << 0, 9000, 1);
	y = function(&b, 1 << 0, 64, 1);
	pull(&b, 0, PACKETS);
	assert_near(x->sent[0], 1, y->sent[0], 1);
	rs_pool_fini(&b.pool);
}

static void test_a_pause_of_a_class_holds_both(void **state)
{
	struct bed b;
	struct source *x, *y;
	rs_time again;
	uint64_t bytes;

	make(&b, three_to_one);
	x = function(&b, 1 << 0 | 1 << 3, 1000, 1);
	y = function(&b, 1 << 3, 1000, 1);
	pull(&b, 1 << 3, PACKETS);
	assert_int_equal(x->sent[3] + y->sent[3], 0);
	assert_int_equal(x->sent[0], PACKETS * 1000);
	assert_null(rs_endpoint_tx(&b.share.as_endpoint, 1 << 3 | 1 << 0, 0, &again));
	bytes = x->sent[0];
	pull(&b, 0, PACKETS); /* and nobody has saved anything up */
	assert_near(x->sent[3], 1, y->sent[3], 1);
	assert_near(x->sent[3] + y->sent[3], 3, x->sent[0] - bytes, 1);
	rs_pool_fini(&b.pool);
}

static void test_strict_classes_go_first_in_all_functions(void **state)
{
	struct bed b;
	struct source *x, *y;

	make(&b, three_to_one);
	x = function(&b, 1 << 0 | 1 << 1, 1000, 1);
	y = function(&b, 1 << 2 | 1 << 0, 1000, 1);
	pull(&b, 0, 100);
	assert_int_equal(y->sent[2], 100 * 1000); /* the highest */
	y->has = 1 << 0;
	pull(&b, 0, 100);
	assert_int_equal(x->sent[1], 100 * 1000);
	rs_pool_fini(&b.pool);
}

static void test_again_and_deadline_are_the_first_of_any_function(void **state)
{
	struct bed b;
	struct source *x, *y;
	rs_time again;

	make(&b, three_to_one);
	x = function(&b, 1 << 0, 1000, 1);
	y = function(&b, 1 << 3, 1000, 1);
	x->again = 700;
	y->again = 500;
	assert_null(rs_endpoint_tx(&b.share.as_endpoint, 0, 100, &again));
	assert_int_equal(again, 500);
	x->has = y->has = 0;
	x->again = y->again = RS_NEVER;
	assert_null(rs_endpoint_tx(&b.share.as_endpoint, 0, 100, &again));
	assert_int_equal(again, RS_NEVER);
	assert_int_equal(rs_endpoint_deadline(&b.share.as_endpoint), RS_NEVER);
	x->deadline = 40;
	y->deadline = 30;
	assert_int_equal(rs_endpoint_deadline(&b.share.as_endpoint), 30);
	rs_endpoint_expire(&b.share.as_endpoint, 30);
	assert_int_equal(y->expired, 1);
	assert_int_equal(x->expired, 0);
	assert_int_equal(rs_endpoint_deadline(&b.share.as_endpoint), 40);
	rs_endpoint_prefetch(&b.share.as_endpoint, 0);
	rs_pool_fini(&b.pool);
}

static void test_a_packet_goes_to_whose_address_it_has(void **state)
{
	struct bed b;
	struct source *x, *y;

	make(&b, three_to_one);
	x = function(&b, 0, 1000, 1);
	y = function(&b, 0, 1000, 1);
	for (uint32_t dst = 0; dst < 30; dst++) {
		struct rs_packet *p = rs_pool_alloc(&b.list);

		*p = (struct rs_packet){.dst = dst};
		rs_endpoint_rx(&b.share.as_endpoint, p, 0);
	}
	assert_int_equal(x->received, 10);
	assert_int_equal(y->received, 10);
	assert_int_equal(b.share.dropped, 10);
	assert_int_equal(rs_pool_list_count(&b.list), b.pool.fresh);
	rs_pool_fini(&b.pool);
}

static void test_a_share_is_a_function_of_another(void **state)
{
	struct bed b;
	struct rs_share inner;
	struct source *x, more[2];

	make(&b, three_to_one);
	x = function(&b, 1 << 3, 1000, 1);
	rs_share_init(&inner, three_to_one, &b.list);
	for (unsigned i = 0; i < 2; i++) {
		more[i] = *x;
		more[i].address = 100 + i;
		assert_int_equal(rs_share_add(&inner, &more[i].as_endpoint, 100 + i, 1, 1), 0);
	}
	assert_int_equal(rs_share_add(&b.share, &inner.as_endpoint, 100, 2, 1), 0);
	pull(&b, 0, PACKETS);
	assert_near(x->sent[3], 2, more[0].sent[3], 1);
	assert_near(more[0].sent[3], 1, more[1].sent[3], 1);
	rs_pool_fini(&b.pool);
}

static void test_what_cannot_be_added(void **state)
{
	struct bed b;
	struct source *x;

	make(&b, three_to_one);
	x = function(&b, 0, 1000, 1);
	assert_int_equal(rs_share_add(&b.share, &x->as_endpoint, 9, 1, 1), -EINVAL);
	assert_int_equal(rs_share_add(&b.share, &x->as_endpoint, UINT32_MAX - 1, 3, 1), -EINVAL);
	assert_int_equal(rs_share_add(&b.share, &x->as_endpoint, 10, 1, 0), -EINVAL);
	assert_int_equal(rs_share_add(&b.share, &x->as_endpoint, 10, 0, 1), -EINVAL);
	while (b.share.n < RS_SHARE_MAX)
		function(&b, 0, 1000, 1);
	assert_int_equal(rs_share_add(&b.share, &x->as_endpoint, 1000, 1, 1), -ENOSPC);
	rs_pool_fini(&b.pool);
}

/* Random weights, lengths and functions, each with all of the same classes: classes share by their
 * weights, functions in each class by theirs. */
static void test_shares_are_as_weights_say(void **state)
{
	for (uint64_t seed = 1; seed <= WORLDS; seed++) {
		struct rs_random r = rs_random_stream(seed, 0, 7);
		uint8_t weight[RS_CLASSES], w[RS_SHARE_MAX], has = (uint8_t)rs_random_u64(&r);
		uint32_t n = 1 + rs_random_below(&r, RS_SHARE_MAX);
		uint64_t sum[RS_CLASSES] = {0};
		struct bed b;

		for (unsigned c = 0; c < RS_CLASSES; c++)
			weight[c] = (uint8_t)(1 + rs_random_below(&r, 20));
		has = has ? has : 1;
		make(&b, weight);
		for (uint32_t i = 0; i < n; i++) {
			w[i] = (uint8_t)(1 + rs_random_below(&r, 20));
			function(&b, has, (uint16_t)(64 + rs_random_below(&r, 8900)), w[i]);
		}
		pull(&b, 0, PACKETS);
		for (unsigned m = has; m; m &= m - 1) {
			unsigned c = (unsigned)__builtin_ctz(m),
				 first = (unsigned)__builtin_ctz(has);

			for (uint32_t i = 0; i < n; i++) {
				sum[c] += b.source[i].sent[c];
				assert_near(b.source[i].sent[c], w[i], b.source[0].sent[c], w[0]);
			}
			assert_near(sum[c], weight[c], sum[first], weight[first]);
		}
		rs_pool_fini(&b.pool);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_functions_share_a_port_by_class_weights),
		cmocka_unit_test(test_a_busy_function_takes_nothing_of_anothers_class),
		cmocka_unit_test(test_longer_packets_earn_no_more),
		cmocka_unit_test(test_a_pause_of_a_class_holds_both),
		cmocka_unit_test(test_strict_classes_go_first_in_all_functions),
		cmocka_unit_test(test_again_and_deadline_are_the_first_of_any_function),
		cmocka_unit_test(test_a_packet_goes_to_whose_address_it_has),
		cmocka_unit_test(test_a_share_is_a_function_of_another),
		cmocka_unit_test(test_what_cannot_be_added),
		cmocka_unit_test(test_shares_are_as_weights_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
