/* Private to audit/: which firmware a driver package brings along. */
#ifndef RS_AUDIT_RULES_BUNDLES_H
#define RS_AUDIT_RULES_BUNDLES_H

#include <stdbool.h>

struct rs_bundle {
	const char *driver; /* "25.04": MLNX_OFED or DOCA-OFED */
	unsigned family;    /* what firmware versions of a NIC begin with: 28 is ConnectX-7 */
	unsigned firmware;  /* the branch that the package brings: 45 of 28.45.1020 */
	const char *seen;   /* when the vendor's page was read */
};

extern const struct rs_bundle rs_bundles[]; /* ended by one without driver */

/* NULL: no such pair is known. driver: "23.10-1.1.9"; firmware: "28.39.3560 (MT_0000000838)". */
const struct rs_bundle *rs_bundle_find(const char *driver, const char *firmware);

#endif
