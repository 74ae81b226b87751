/* Texts that are read where they were made, as if they were files of a host. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "audit/read/read.h"
#include "audit/read/reader.h"

int rs_read_as_live(struct rs_audit *a, const char *host, const char *path, const char *data,
		    size_t size)
{
	char shown[4096];
	struct rs_input in = {
		.host = host,
		.path = shown,
		.inner = path,
		.data = data,
		.size = size,
		.live = true,
	};

	/* what the probe makes itself has no place on this host */
	snprintf(shown, sizeof(shown), "%s%s", strncmp(path, "ripstop/", 8) ? "/" : "", path);
	rs_read_input(a, &in);
	return a->err;
}

int rs_audit_read_text(struct rs_audit *a, const char *host, const char *path, const char *text,
		       struct rs_error *e)
{
	char own[256] = "host";
	int err;

	if (!host)
		gethostname(own, sizeof(own) - 1);
	err = rs_read_as_live(a, host ? host : own, path, text, strlen(text));
	return err ? rs_error_set(e, err, "%s: %s", path, strerror(-err)) : 0;
}
