/*
 * The order in which a stage of a pipeline takes its microbatches: all forward first (GPipe), one
 * forward and one backward in turn (1F1B), and the same with several chunks of layers a stage
 * (interleaved: Narayanan et al., SC '21, section 2.2).
 */
#include "collective/train.h"

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Forward passes before the first backward one. */
static uint32_t warm_up(enum rs_schedule s, uint32_t stages, uint32_t stage, uint32_t microbatches,
			uint32_t chunks)
{
	uint32_t all = microbatches * chunks;

	if (s == RS_SCHEDULE_GPIPE)
		return all;
	if (s == RS_SCHEDULE_1F1B)
		return least(stages - stage - 1, all);
	if (microbatches == stages)
		return all;
	return least(2 * (stages - stage - 1) + (chunks - 1) * stages, all);
}

/* The k-th pass of one direction: `stages` microbatches go through a chunk, then the next chunk. */
static struct rs_turn pass(enum rs_schedule s, uint32_t stages, uint32_t chunks, uint32_t k,
			   bool backward)
{
	uint32_t round = s == RS_SCHEDULE_INTERLEAVED ? stages : 1;
	uint32_t chunk = k % (round * chunks) / round;

	return (struct rs_turn){.microbatch = k / (round * chunks) * round + k % round,
				.chunk = backward ? chunks - 1 - chunk : chunk,
				.backward = backward};
}

struct rs_turn rs_step_turn(enum rs_schedule s, uint32_t stages, uint32_t stage,
			    uint32_t microbatches, uint32_t chunks, uint32_t i)
{
	uint32_t all = microbatches * chunks;
	uint32_t warm = warm_up(s, stages, stage, microbatches, chunks);
	uint32_t pairs = all - warm;

	if (i < warm)
		return pass(s, stages, chunks, i, false);
	i -= warm;
	if (i >= 2 * pairs)
		return pass(s, stages, chunks, i - pairs, true);
	return i % 2 ? pass(s, stages, chunks, i / 2, true)
		     : pass(s, stages, chunks, warm + i / 2, false);
}
