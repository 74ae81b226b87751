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

enum { RS_CONGESTION_PARAMS = 256, RS_CONGESTION_CLASSES = 8 };

/* Not to be copied: use[] points into it. */
struct rs_congestion {
	int64_t rate;       /* of the port; 0: as fast as the sockets take packets */
	int64_t start_rate; /* where limits begin, and what first windows are of */
	unsigned n; /* algorithms; the first is that of all classes that have none of their own */
	uint8_t of_class[RS_CONGESTION_CLASSES]; /* which of them */
	struct rs_cc_use use[1 + RS_CONGESTION_CLASSES];
	struct rs_congestion_params {
		uint64_t words[RS_CONGESTION_PARAMS / 8];
		bool scaled; /* its steps go by start_rate */
	} params[1 + RS_CONGESTION_CLASSES];
};

/*
 * kinds: a name of rs_cc_all, as "dcqcn", "swift", "hpcc", or one with a preset, "dcqcn:mlx5";
 * several, with the class that each is for, but one: "3:swift,dcqcn". set: "name=value,..." of its
 * parameters, those of a class's own with the class before them, "3:target=1ms"; rate: the port's,
 * such as "25G". Each may be NULL or empty: DCQCN with its preset for software, a port without a
 * limit. speed: the interface's, which limits begin at; 0: unknown. -EINVAL, -ERANGE, -ENOMEM.
 */
int rs_congestion_read(struct rs_congestion *c, const char *kinds, const char *set,
		       const char *rate, int64_t speed, struct rs_error *e);

/* The class of a queue pair's packets: the upper 3 bits of the DSCP, as NICs that trust it have it.
 * 0 where all classes are alike. */
unsigned rs_congestion_class(const struct rs_congestion *c, uint8_t tos);

/* Bits per second that the kernel names for the interface; 0: none. */
int64_t rs_congestion_speed(const char *netdev);

#endif
