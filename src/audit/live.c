/* This host, read where it runs: what the probe finds, through the same readers as a snapshot's
 * files. Nothing is written, no program is run. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "audit/probe.h"
#include "audit/reader.h"

struct live {
	struct rs_audit *a;
	const char *host;
};

static int file(void *arg, const char *path, const char *data, size_t size)
{
	struct live *l = arg;
	char shown[4096];
	struct rs_input in = {
		.host = l->host,
		.path = shown,
		.inner = path,
		.data = data,
		.size = size,
		.live = true,
	};

	/* what the probe makes itself has no place on this host */
	snprintf(shown, sizeof(shown), "%s%s", strncmp(path, "ripstop/", 8) ? "/" : "", path);
	rs_read_input(l->a, &in);
	return l->a->err;
}

int rs_audit_read_live(struct rs_audit *a, struct rs_error *e)
{
	char host[256] = "host";
	struct live l = {.a = a, .host = host};
	struct rs_probe p = {.file = file, .arg = &l, .root = ""};
	int err;

	gethostname(host, sizeof(host) - 1);
	err = rs_probe_all(&p);
	return err ? rs_error_set(e, err, "reading this host: %s", strerror(-err)) : 0;
}

int rs_audit_read_text(struct rs_audit *a, const char *host, const char *path, const char *text,
		       struct rs_error *e)
{
	char own[256] = "host";
	struct live l = {.a = a, .host = host ? host : own};
	int err;

	if (!host)
		gethostname(own, sizeof(own) - 1);
	err = file(&l, path, text, strlen(text));
	return err ? rs_error_set(e, err, "%s: %s", path, strerror(-err)) : 0;
}
