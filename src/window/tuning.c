/* The thresholds of windows, grants and runs: tuning.h says what each is, and what chose it. */
#include "window/tuning.h"

const struct rs_window_tuning rs_window_defaults = {
	.unknown_bytes = 212992,
	.least_bytes = 64 << 10,
	.most_bytes = 8 << 20,
	.alone_bytes = 1024,
	.next_bytes = 64,
	.ask_every = 1000 * RS_MS,
	.known_within = 20 * RS_MS,
	.again = 10 * RS_MS,
	.give_up = 250 * RS_MS,
	.give_up_asked = 5,
	.known_asked = 5,
	.look_again = RS_MS,
	.grant_reserved = 3,
	.grant_forget = 3000 * RS_MS,
	.run_grant = 20 * RS_US,
	.run_stops = 4,
};
