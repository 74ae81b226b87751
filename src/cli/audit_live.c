/* Ripstop's own devices in `ripstop audit` of this host: under `ripstop exec` programs have RDMA
 * devices that no kernel knows. What is known of them is given as a file of facts. */
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/read.h"
#include "cli/audit_report.h"
#include "cli/cli.h"
#include "live/live.h"

/* Started by ripstop exec, or with its library path by hand. */
static bool under_exec(void)
{
	const char *path = getenv("LD_LIBRARY_PATH");
	struct rs_error e = {0};
	char libdir[PATH_MAX];

	return getenv("RIPSTOP_DEVICES") ||
	       (path && !rs_cli_libdir(libdir, sizeof(libdir), &e) && strstr(path, libdir));
}

static void device(FILE *out, const struct rs_live_device *d)
{
	char text[INET6_ADDRSTRLEN];

	fprintf(out, "nic/%s driver = ripstop\n", d->name);
	fprintf(out, "nic/%s hca_type = ripstop\n", d->name);
	fprintf(out, "nic/%s link_layer = Ethernet\n", d->name);
	fprintf(out, "nic/%s netdev = %s\n", d->name, d->net.name);
	fprintf(out, "nic/%s port_state = %s\n", d->name, d->net.up ? "ACTIVE" : "DOWN");
	fprintf(out, "nic/%s active_mtu = %u\n", d->name, rs_netdev_path_mtu(&d->net));
	for (unsigned g = 0; g < d->net.n_gids; g++) {
		if (!inet_ntop(AF_INET6, d->net.gid[g], text, sizeof(text)))
			continue;
		fprintf(out, "nic/%s gid/%u = %s\n", d->name, g, text);
		fprintf(out, "nic/%s gid_type/%u = v2\n", d->name, g);
		fprintf(out, "nic/%s gid_netdev/%u = %s\n", d->name, g, d->net.name);
	}
}

int rs_audit_read_devices(struct rs_audit *a, struct rs_error *e)
{
	struct rs_live_device *d;
	char *text = NULL;
	size_t size = 0;
	FILE *out;
	int n, err;

	if (!under_exec())
		return 0;
	d = calloc(RS_LIVE_DEVICES, sizeof(*d));
	n = d ? rs_live_devices(d, RS_LIVE_DEVICES, e) : -ENOMEM;
	out = n >= 0 ? open_memstream(&text, &size) : NULL;
	if (!out) {
		free(d);
		return n < 0 && e->code ? e->code : rs_error_set(e, -ENOMEM, "out of memory");
	}
	fputs("# ripstop facts 1\n", out);
	for (int i = 0; i < n; i++)
		device(out, &d[i]);
	free(d);
	err = fclose(out) ? rs_error_set(e, -ENOMEM, "out of memory")
			  : rs_audit_read_text(a, NULL, "ripstop/devices.facts", text, e);
	free(text);
	return err;
}
