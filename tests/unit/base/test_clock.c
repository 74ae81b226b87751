/* The clock beside the kernel's: it never goes back, and keeps its pace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <time.h>
#include "base/clock.h"

static int64_t kernel_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void test_the_clock_never_goes_back(void **state)
{
	int64_t last = rs_clock_ns();

	for (unsigned i = 0; i < 100000; i++) {
		int64_t now = rs_clock_ns();

		assert_true(now >= last);
		last = now;
	}
}

/* Read between two looks at the kernel's, its time lies between theirs, give or take its pace. */
static void test_the_clock_keeps_the_kernels_pace(void **state)
{
	struct timespec pause = {0, 20 * 1000 * 1000};
	int64_t before = kernel_ns(), start = rs_clock_ns(), after = kernel_ns();
	int64_t slack = after - before, slept, least, most;

	nanosleep(&pause, NULL);
	before = kernel_ns();
	slept = rs_clock_ns() - start;
	least = before - after;
	most = kernel_ns() - after + slack;
	assert_true(slept >= least - least / 1000 && slept <= most + most / 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_clock_never_goes_back),
		cmocka_unit_test(test_the_clock_keeps_the_kernels_pace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
