/* This host, read where it runs: the same readers over sysfs and procfs. Nothing is written. */
#include <stdio.h>
#include <unistd.h>
#include "audit/reader.h"

int rs_audit_read_live(struct rs_audit *a, struct rs_error *e)
{
	static const char *const trees[] = {
		"/sys/class/infiniband",
		"/proc/cmdline",
		"/proc/modules",
		"/etc/nccl.conf",
	};
	char host[256] = "host";
	int err = 0;

	gethostname(host, sizeof(host) - 1);
	for (unsigned i = 0; i < sizeof(trees) / sizeof(*trees) && !err; i++)
		if (!access(trees[i], R_OK))
			err = rs_audit_read(a, trees[i], host, 0, e);
	return err;
}
