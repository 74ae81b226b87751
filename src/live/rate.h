/* What a port says of its rate: to programs that plan by it (UCX, NCCL, libfabric), in IBTA's
 * terms. */
#ifndef RS_LIVE_RATE_H
#define RS_LIVE_RATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rs_port_rate {
	int64_t bps;
	uint8_t width, speed; /* volume 1, table 155: LinkWidthActive, LinkSpeedActive */
	const char *text;     /* as Linux's sysfs has it */
};

/*
 * Where sysfs has an interface's hardware. False where it has none, and where what is mounted at
 * /sys shows another network namespace's interface of that name, as behind `unshare -n`.
 */
bool rs_port_hardware(const char *netdev, char *path, size_t size);

/*
 * wish: RIPSTOP_RATE's text. Without it, or where it is none, what the kernel names for an
 * interface that is hardware; else, of loopback and veth, 100 Gb/s. Rounded up to a rate that there
 * is.
 */
const struct rs_port_rate *rs_port_rate(const char *netdev, const char *wish);

#endif
