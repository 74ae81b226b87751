/*
 * What programs look for in the file system where there is an RDMA device: /sys/class/infiniband,
 * /sys/class/infiniband_verbs and /dev/infiniband. Only this process and its children
 * see them: a mount namespace of their own, which ends with them.
 */
#ifndef RS_CLI_VIEW_H
#define RS_CLI_VIEW_H

#include "base/error.h"
#include "live/live.h"

/*
 * Enter the view, for the rest of this process's life. Who may not mount gets a user namespace in
 * which only the own user and group have names. -EPERM, -ENOSYS, ...: namespaces are not allowed
 * here, nothing has changed; other errors: the view is incomplete.
 */
int rs_cli_view_enter(const struct rs_live_device *d, unsigned n, struct rs_error *e);

#endif
