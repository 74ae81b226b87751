/*
 * A host's snapshot as an archive, to be audited elsewhere.
 */
#ifndef RS_AUDIT_PROBE_COLLECT_H
#define RS_AUDIT_PROBE_COLLECT_H

#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"

struct rs_collected {
	uint32_t files;
	uint64_t bytes;
	char host[256]; /* as the archive calls it */
};

/*
 * Writes what rs_audit_read_live() would read to an archive; its name's ending says which sort (a
 * gzipped tar when it says none). Secrets are left out. anonymise: addresses, GUIDs, serials and
 * the host's name are masked; hosts collected with the same key still match one another; key NULL:
 * one drawn now, kept nowhere.
 */
int rs_audit_collect(const char *path, bool anonymise, const char *key, struct rs_collected *count,
		     struct rs_error *e);

#endif
