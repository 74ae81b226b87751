/* Time that passes, for reports (elapsed.h). */
#include "base/elapsed.h"

#ifdef RS_NO_CLOCK
double rs_elapsed_s(enum rs_elapsed what)
{
	return 0;
}
#else
#include <time.h>

double rs_elapsed_s(enum rs_elapsed what)
{
	static const clockid_t clocks[] = {
		[RS_ELAPSED_WALL] = CLOCK_MONOTONIC,
		[RS_ELAPSED_THREAD_CPU] = CLOCK_THREAD_CPUTIME_ID,
		[RS_ELAPSED_PROCESS_CPU] = CLOCK_PROCESS_CPUTIME_ID,
	};
	struct timespec t;

	clock_gettime(clocks[what], &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
#endif
