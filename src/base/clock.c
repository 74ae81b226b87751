/* The time that passes, by the kernel or by the counter of an emulated processor (clock.h). */
#include "base/clock.h"
#include <string.h>
#include <time.h>
#include "base/time.h"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum { CALIBRATE_NS = 4 * 1000 * 1000, FRACTION_BITS = 32 };

/* Time = ns + (counter - ticks) * per_tick >> FRACTION_BITS; per_tick 0: by the kernel. */
static struct {
	uint64_t ticks, per_tick;
	int64_t ns;
} counter;

static int64_t kernel_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

#if defined(__x86_64__)
/* The vendor of the hypervisor, as the range of CPUID that is kept for it says. */
bool rs_machine_emulated(void)
{
	unsigned a, b, c, d;
	char name[13] = {0};

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & 1u << 31)) /* no hypervisor */
		return false;
	__cpuid(0x40000000, a, b, c, d);
	memcpy(name, &b, 4);
	memcpy(name + 4, &c, 4);
	memcpy(name + 8, &d, 4);
	return !strcmp(name, "TCGTCGTCGTCG");
}

static uint64_t ticks(void)
{
	return __builtin_ia32_rdtsc();
}
#else
bool rs_machine_emulated(void)
{
	return false;
}

static uint64_t ticks(void)
{
	return 0;
}
#endif

/* Before main(), when there is one thread: 4 ms of an emulated process's start. */
__attribute__((constructor)) static void calibrate(void)
{
	int64_t start, now;
	uint64_t first, passed;

	if (!rs_machine_emulated())
		return;
	start = kernel_ns();
	first = ticks();
	do {
		now = kernel_ns();
		passed = ticks() - first;
	} while (now - start < CALIBRATE_NS);
	counter.ticks = first;
	counter.ns = start;
	if (passed) /* a counter that stands still is none */
		counter.per_tick = ((uint64_t)(now - start) << FRACTION_BITS) / passed;
}

int64_t rs_clock_ns(void)
{
	rs_uint128 passed;

	if (__builtin_expect(!counter.per_tick, 1))
		return kernel_ns();
	passed = (rs_uint128)(ticks() - counter.ticks) * counter.per_tick;
	return counter.ns + (int64_t)(passed >> FRACTION_BITS);
}
