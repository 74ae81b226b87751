/*
 * A device's congestion control and its port's rate, as the environment says: RIPSTOP_CC,
 * RIPSTOP_CC_SET, RIPSTOP_RATE (docs/run.md).
 */
#ifndef RS_LIVE_CONGESTION_H
#define RS_LIVE_CONGESTION_H

#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"
#include "cc/cc.h"
#include "live/live.h"

enum { RS_CONGESTION_PARAMS = 256 };

struct rs_congestion {
	const struct rs_cc_ops *ops;
	struct rs_cc_use use; /* ops, with params in here: not to be copied */
	int64_t rate;         /* of the port; 0: as fast as the sockets take packets */
	int64_t qp_rate;      /* that a queue pair's window is computed from; 0: the port's */
	bool scaled;          /* its steps go by the rate where limits begin */
	uint64_t params[RS_CONGESTION_PARAMS / 8];
};

/*
 * kind: "dcqcn", "swift" or "none", or one with a preset, "dcqcn:mlx5"; set: "name=value,..." of
 * its parameters; rate: the port's, such as "25G". Each may be NULL or empty: DCQCN with its preset
 * for software, a port without a limit. speed: the interface's, which limits begin at; 0: unknown.
 * -EINVAL, -ERANGE.
 */
int rs_congestion_read(struct rs_congestion *c, const char *kind, const char *set, const char *rate,
		       int64_t speed, struct rs_error *e);

/* Bits per second that the kernel names for the interface; 0: none. */
int64_t rs_congestion_speed(const char *netdev);

#endif
