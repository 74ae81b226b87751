/* ripstop exec: run an unmodified RDMA program on the drop-in libraries. The program takes this
 * process's place: its exit status and signals are its own, and nothing is left behind. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/cli.h"
#include "cli/view.h"
#include "live/live.h"

enum { DEVICES_TEXT = 4096, NOT_FOUND = 127, NOT_EXECUTABLE = 126 };

static int help(FILE *out)
{
	fputs("Usage: ripstop exec [--dev NAME[=INTERFACE]]... [--no-view] [--] PROGRAM "
	      "[ARGUMENT...]\n\n"
	      "Runs a program that uses libibverbs on RoCEv2 devices in software: real packets, "
	      "UDP\n"
	      "port 4791, on the network interfaces that there are. No RDMA hardware, no kernel\n"
	      "module, no root, no daemon.\n\n"
	      "  --dev NAME[=INTERFACE]  a device on an interface (else on the first that is "
	      "usable\n"
	      "                          and not the loopback). Default: one device an interface,\n"
	      "                          called rs_INTERFACE\n"
	      "  --no-view               leave /sys and /dev as they are: programs that look for\n"
	      "                          RDMA devices there (UCX, NCCL) then find none\n\n"
	      "Examples:\n"
	      "  ripstop exec ibv_devinfo -v\n"
	      "  ripstop exec -- ib_write_bw -d rs_eth0\n"
	      "  ripstop exec --dev mlx5_0=eth0 -- ib_write_bw -d mlx5_0 server\n\n"
	      "Without this command: LD_LIBRARY_PATH=$(ripstop libdir) PROGRAM.\n"
	      "Exit status: the program's; 2 bad input or no usable interface, 126 or 127 when "
	      "the\n"
	      "program cannot be run.\n",
	      out);
	return RS_EXIT_OK;
}

int rs_cli_libdir(char *path, size_t size, struct rs_error *e)
{
	static const char *const lib[] = {"lib", RS_LIBDIR};
	char exe[PATH_MAX], probe[PATH_MAX + 64];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	exe[n > 0 ? n : 0] = '\0';
	for (int up = 0; up < 2 && strrchr(exe, '/'); up++)
		*strrchr(exe, '/') = '\0';
	for (unsigned i = 0; i < sizeof(lib) / sizeof(lib[0]); i++) {
		int len = snprintf(path, size, "%s/%s/ripstop/verbs", exe, lib[i]);

		snprintf(probe, sizeof(probe), "%s/libibverbs.so.1", path);
		if (len > 0 && (size_t)len < size && access(probe, R_OK) == 0)
			return 0;
	}
	rs_error_set(e, -ENOENT, "the drop-in libibverbs.so.1 is not beside this program (%s)",
		     path);
	rs_error_hint(e, "`make build` builds it where libibverbs-dev is installed");
	return -ENOENT;
}

int rs_cmd_libdir(int argc, char **argv)
{
	char path[PATH_MAX];
	struct rs_error e = {0};

	if (argc > 1 && !strcmp(argv[1], "--help")) {
		puts("Usage: ripstop libdir\n\nThe folder of the drop-in libibverbs.so.1: "
		     "LD_LIBRARY_PATH=$(ripstop libdir) PROGRAM.");
		return RS_EXIT_OK;
	}
	if (argc > 1)
		return rs_cli_usage("libdir", "takes no argument, found '%s'", argv[1]);
	if (rs_cli_libdir(path, sizeof(path), &e))
		return rs_cli_error(&e);
	puts(path);
	return RS_EXIT_OK;
}

/* A list of devices, as the library reads it. */
static int add_device(char list[DEVICES_TEXT], const char *spec, struct rs_error *e)
{
	struct rs_live_device d;
	size_t n = strlen(list);
	int err = rs_live_device_parse(spec, &d, e);

	if (err)
		return err;
	if ((size_t)snprintf(list + n, DEVICES_TEXT - n, "%s%s=%s", n ? "," : "", d.name,
			     d.net.name) >= DEVICES_TEXT - n)
		return rs_error_set(e, -E2BIG, "too many devices");
	return 0;
}

/* Open one and close it: what would fail in the program fails here, with a word on why. */
static int try_device(const struct rs_live_device *d, int n, struct rs_error *e)
{
	struct rs_live *l;
	unsigned lanes;
	int err;

	if (!n)
		return rs_cli_no_device(e);
	err = rs_live_lanes(&lanes, e);
	if (err)
		return err;
	err = rs_live_open(d, &l, e);
	if (!err)
		rs_live_close(l);
	return err;
}

/* Most programs need no view: where there can be none, the others are told why they find nothing.
 */
static void enter_view(const struct rs_live_device *d, int n)
{
	struct rs_error e = {0};

	if (rs_cli_view_enter(d, (unsigned)n, &e))
		fprintf(stderr,
			"ripstop exec: %s; programs that look for devices there, such as UCX and "
			"NCCL, find none (--no-view: without this note)\n",
			e.what);
}

static int prepare(bool view, struct rs_error *e)
{
	struct rs_live_device *d = calloc(RS_LIVE_DEVICES, sizeof(*d));
	int n = d ? rs_live_devices(d, RS_LIVE_DEVICES, e) : -ENOMEM, err = n < 0 ? n : 0;

	if (!err)
		err = try_device(d, n, e);
	if (!err && view)
		enter_view(d, n);
	free(d);
	return err;
}

static int set_library_path(const char *libdir)
{
	const char *old = getenv("LD_LIBRARY_PATH");
	char *path;
	int err;

	if (!old || !*old)
		return setenv("LD_LIBRARY_PATH", libdir, 1);
	if (asprintf(&path, "%s:%s", libdir, old) < 0)
		return -1;
	err = setenv("LD_LIBRARY_PATH", path, 1);
	free(path);
	return err;
}

static int run(char **argv)
{
	int err;

	execvp(argv[0], argv);
	err = errno;
	fprintf(stderr, "ripstop exec: cannot run %s: %s\n", argv[0], strerror(err));
	return err == ENOENT ? NOT_FOUND : NOT_EXECUTABLE;
}

int rs_cmd_exec(int argc, char **argv)
{
	static const struct option options[] = {
		{"dev", required_argument, NULL, 'd'},
		{"no-view", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	char list[DEVICES_TEXT] = "", libdir[PATH_MAX];
	struct rs_error e = {0};
	bool view = true;
	int o;

	while ((o = getopt_long(argc, argv, "+h", options, NULL)) != -1) {
		if (o == 'h')
			return help(stdout);
		if (o == 'v') {
			view = false;
			continue;
		}
		if (o != 'd')
			return rs_cli_try("exec");
		if (add_device(list, optarg, &e)) {
			rs_cli_error(&e);
			return RS_EXIT_INPUT;
		}
	}
	if (optind == argc)
		return rs_cli_usage("exec", "expected a program to run");
	if (*list && setenv("RIPSTOP_DEVICES", list, 1))
		return RS_EXIT_FAILED;
	if (rs_cli_libdir(libdir, sizeof(libdir), &e) || prepare(view, &e)) {
		rs_cli_error(&e);
		return RS_EXIT_INPUT;
	}
	if (set_library_path(libdir))
		return RS_EXIT_FAILED;
	return run(argv + optind);
}
