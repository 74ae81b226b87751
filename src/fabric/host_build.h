/* Private to fabric/: putting a host's parts together, shared by the grammar and the importers. */
#ifndef RS_FABRIC_HOST_BUILD_H
#define RS_FABRIC_HOST_BUILD_H

#include "text/tree.h"
#include "host/host.h"

struct rs_part *part_add(struct load *l, struct rs_host *h, enum rs_part_kind kind,
			 const char *name);
struct rs_xlink *xlink_add(struct load *l, struct rs_host *h, int a, int b,
			   enum rs_xlink_kind kind);
int part_find(const struct rs_host *h, const char *name);

#endif
