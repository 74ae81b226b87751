/* Under mpirun, finds the plug-in (mpi/mpi.c) beside the program and lets it bring the processes
 * together. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/cli.h"

static void *plugin;

bool rs_cli_ranks_wanted(uint32_t *me)
{
	/* set by Open MPI's mpirun */
	const char *n = getenv("OMPI_COMM_WORLD_SIZE"), *rank = getenv("OMPI_COMM_WORLD_RANK");

	*me = rank ? (uint32_t)strtoul(rank, NULL, 10) : 0;
	return n && strtoul(n, NULL, 10) > 1;
}

/* From BIN/ripstop: BIN/../lib.../ripstop/ripstop-mpi.so */
static void *plugin_open(char *path, size_t size)
{
	static const char *const lib[] = {"lib", RS_LIBDIR};
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	void *p = NULL;

	exe[n > 0 ? n : 0] = '\0';
	for (int up = 0; up < 2 && strrchr(exe, '/'); up++)
		*strrchr(exe, '/') = '\0';
	for (unsigned i = 0; i < 2 && !p; i++) {
		snprintf(path, size, "%s/%s/ripstop/ripstop-mpi.so", exe, lib[i]);
		p = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	}
	return p;
}

int rs_cli_ranks_start(struct rs_ranks *r, struct rs_error *e)
{
	char path[2 * PATH_MAX];
	int (*start)(struct rs_ranks *);
	int err;

	plugin = plugin_open(path, sizeof(path));
	*(void **)&start = plugin ? dlsym(plugin, "rs_ranks_mpi_start") : NULL;
	if (!start) {
		rs_error_set(e, -ENOENT, "started by mpirun, but built without Open MPI (%s)",
			     dlerror());
		rs_error_hint(e, "install libopenmpi-dev and build anew, or run without mpirun");
		return -ENOENT;
	}
	err = start(r);
	if (err)
		return rs_error_set(e, err, "Open MPI did not start: %s", strerror(-err));
	return 0;
}

void rs_cli_ranks_end(void)
{
	void (*end)(void);

	*(void **)&end = plugin ? dlsym(plugin, "rs_ranks_mpi_end") : NULL;
	if (end)
		end();
}
