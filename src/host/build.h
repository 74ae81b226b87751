/* Putting a host's parts together: what the grammar of hosts, importers and callers share. */
#ifndef RS_HOST_BUILD_H
#define RS_HOST_BUILD_H

#include "base/load.h"
#include "host/host.h"

/* NULL after an error, -E2BIG at RS_HOST_PARTS_MAX; borrowed until the next one is added. */
struct rs_part *rs_host_part_add(struct rs_load *l, struct rs_host *h, enum rs_part_kind kind,
				 const char *name);
struct rs_xlink *rs_host_xlink_add(struct rs_load *l, struct rs_host *h, int a, int b,
				   enum rs_xlink_kind kind);
/* Parts and links are copied, names are shared. */
struct rs_host *rs_host_copy(struct rs_load *l, const struct rs_host *h);
/* Parts in the order of their kinds, so that a description written out reads back the same. */
void rs_host_sort(struct rs_load *l, struct rs_host *h);
/* A host that is complete: sockets that no link joins are joined, parts are sorted, all is checked.
 * -EINVAL at a breach of rs_host_check(). */
void rs_host_close(struct rs_load *l, struct rs_host *h, struct rs_where at);

#endif
