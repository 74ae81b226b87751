/* ripstop devices: the RoCEv2 devices that a program under ripstop exec sees. */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/cli.h"
#include "live/live.h"
#include "report/report.h"

static int help(FILE *out)
{
	fputs("Usage: ripstop devices [--json]\n\n"
	      "Lists the devices that programs under `ripstop exec` see: one an interface that is "
	      "up,\nhas an address and carries a path MTU of 1024; or those that RIPSTOP_DEVICES "
	      "names\n(NAME=INTERFACE,...). GID indices are what -g or -x of test programs "
	      "take.\n\n"
	      "Exit status: 0, 2 when a named device cannot be.\n",
	      out);
	return RS_EXIT_OK;
}

int rs_cli_no_device(struct rs_error *e)
{
	struct if_nameindex *all = if_nameindex();
	char text[400] = "";
	size_t n = 0;

	for (struct if_nameindex *i = all; i && i->if_index && n < sizeof(text) - 1; i++) {
		struct rs_live_device *d = calloc(1, sizeof(*d));
		struct rs_error why = {0};
		char spec[IF_NAMESIZE + 8];

		snprintf(spec, sizeof(spec), "any=%s", i->if_name);
		if (d && rs_live_device_parse(spec, d, &why))
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s %s", n ? ";" : ":",
					      why.what);
		free(d);
	}
	if_freenameindex(all);
	rs_error_set(e, -ENODEV, "no network interface is usable%s", text);
	rs_error_hint(e, "one must be up, have an IP address and an MTU of 1120: ip link set lo up "
			 "is enough for programs on this host");
	return -ENODEV;
}

static const char *gid_text(const uint8_t gid[16], char *buf)
{
	return inet_ntop(AF_INET6, gid, buf, INET6_ADDRSTRLEN) ? buf : "?";
}

static int print_table(const struct rs_live_device *d, int n)
{
	struct rs_table *t = rs_table_create(NULL);
	char text[INET6_ADDRSTRLEN];

	if (!t)
		return -1;
	rs_table_column(t, "device", RS_LEFT);
	rs_table_column(t, "interface", RS_LEFT);
	rs_table_column(t, "MTU", RS_RIGHT);
	rs_table_column(t, "path MTU", RS_RIGHT);
	rs_table_column(t, "GID index", RS_RIGHT);
	rs_table_column(t, "GID", RS_LEFT);
	for (int i = 0; i < n; i++)
		for (unsigned g = 0; g < d[i].net.n_gids; g++) {
			rs_table_row(t);
			rs_table_cell(t, "%s", g ? "" : d[i].name);
			rs_table_cell(t, "%s", g ? "" : d[i].net.name);
			if (g) {
				rs_table_cell(t, "%s", "");
				rs_table_cell(t, "%s", "");
			} else {
				rs_table_cell(t, "%u", d[i].net.mtu);
				rs_table_cell(t, "%u", rs_netdev_path_mtu(&d[i].net));
			}
			rs_table_cell(t, "%u", g);
			rs_table_cell(t, "%s", gid_text(d[i].net.gid[g], text));
		}
	return rs_table_print(t, stdout);
}

static int print_json(const struct rs_live_device *d, int n)
{
	struct rs_json *j = rs_json_create(stdout);
	char text[INET6_ADDRSTRLEN];

	if (!j)
		return -1;
	rs_json_object(j, NULL);
	rs_json_array(j, "devices");
	for (int i = 0; i < n; i++) {
		rs_json_object(j, NULL);
		rs_json_string(j, "name", d[i].name);
		rs_json_string(j, "interface", d[i].net.name);
		rs_json_uint(j, "mtu", d[i].net.mtu);
		rs_json_uint(j, "path_mtu", rs_netdev_path_mtu(&d[i].net));
		rs_json_array(j, "gids");
		for (unsigned g = 0; g < d[i].net.n_gids; g++)
			rs_json_string(j, NULL, gid_text(d[i].net.gid[g], text));
		rs_json_end(j);
		rs_json_end(j);
	}
	rs_json_end(j);
	rs_json_end(j);
	return rs_json_finish(j);
}

int rs_cmd_devices(int argc, char **argv)
{
	static const struct option options[] = {
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	struct rs_live_device *d;
	struct rs_error e = {0};
	bool json = false;
	int o, n, err;

	while ((o = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (o == 'h')
			return help(stdout);
		if (o != 'j')
			return rs_cli_try("devices");
		json = true;
	}
	if (optind != argc)
		return rs_cli_usage("devices", "takes no argument, found '%s'", argv[optind]);
	d = calloc(RS_LIVE_DEVICES, sizeof(*d));
	n = d ? rs_live_devices(d, RS_LIVE_DEVICES, &e) : -1;
	if (n < 0) {
		free(d);
		return e.code ? rs_cli_error(&e), RS_EXIT_INPUT : RS_EXIT_FAILED;
	}
	err = json ? print_json(d, n) : print_table(d, n);
	if (!n) {
		rs_cli_no_device(&e);
		rs_cli_error(&e);
	}
	free(d);
	return err ? RS_EXIT_FAILED : RS_EXIT_OK;
}
