/* Firmware branches that NVIDIA's driver packages bring along: the tables "Supported NIC Firmware"
 * of MLNX_OFED and DOCA (General Support, 2.10.0 to 3.1.0) and of MFT 4.26 and 4.30, its
 * companions. */
#include "audit/rules/bundles.h"
#include <stdio.h>
#include <string.h>

#define SEEN "2026-11-21"

/* 32 BlueField-3, 24 BlueField-2, 40 ConnectX-8, 28 ConnectX-7, 26 ConnectX-6 Lx, 22 ConnectX-6 Dx,
 * 20 ConnectX-6, 16 ConnectX-5, 14 ConnectX-4 Lx */
const struct rs_bundle rs_bundles[] = {
	{"23.10", 32, 39, SEEN}, {"23.10", 24, 39, SEEN}, {"23.10", 28, 39, SEEN},
	{"23.10", 26, 39, SEEN}, {"23.10", 22, 39, SEEN}, {"23.10", 20, 39, SEEN},
	{"24.10", 32, 43, SEEN}, {"24.10", 24, 43, SEEN}, {"24.10", 28, 43, SEEN},
	{"24.10", 26, 43, SEEN}, {"24.10", 22, 43, SEEN}, {"24.10", 20, 43, SEEN},
	{"25.01", 32, 44, SEEN}, {"25.01", 24, 44, SEEN}, {"25.01", 28, 44, SEEN},
	{"25.01", 26, 44, SEEN}, {"25.01", 22, 44, SEEN}, {"25.01", 40, 44, SEEN},
	{"25.01", 20, 43, SEEN}, {"25.01", 16, 35, SEEN}, {"25.01", 14, 32, SEEN},
	{"25.04", 32, 45, SEEN}, {"25.04", 24, 45, SEEN}, {"25.04", 28, 45, SEEN},
	{"25.04", 26, 45, SEEN}, {"25.04", 22, 45, SEEN}, {"25.04", 40, 45, SEEN},
	{"25.04", 20, 43, SEEN}, {"25.04", 16, 35, SEEN}, {"25.04", 14, 32, SEEN},
	{"25.07", 32, 46, SEEN}, {"25.07", 24, 46, SEEN}, {"25.07", 28, 46, SEEN},
	{"25.07", 26, 46, SEEN}, {"25.07", 22, 46, SEEN}, {"25.07", 40, 46, SEEN},
	{"25.07", 20, 43, SEEN}, {"25.07", 16, 35, SEEN}, {"25.07", 14, 32, SEEN},
	{NULL, 0, 0, NULL},
};

const struct rs_bundle *rs_bundle_find(const char *driver, const char *firmware)
{
	unsigned family, branch, major, minor;
	char package[16];

	/* "23.10-1.1.9" or "25.04-0.6.1"; an inbox driver has the kernel's version */
	if (sscanf(driver, "%2u.%2u", &major, &minor) != 2 || !strchr(driver, '-') ||
	    sscanf(firmware, "%u.%u.", &family, &branch) != 2)
		return NULL;
	snprintf(package, sizeof(package), "%02u.%02u", major % 100, minor % 100);
	for (const struct rs_bundle *b = rs_bundles; b->driver; b++)
		if (b->family == family && !strcmp(b->driver, package))
			return b;
	return NULL;
}
