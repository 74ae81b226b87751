/* What `ripstop audit` is given as a file: archives (libarchive, ttar), with what is in them.
 * Bounds hold whatever comes; an error has one line. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "audit/facts/audit.h"
#include "audit/read/read.h"
#include "base/error.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	int fd = memfd_create("archive", MFD_CLOEXEC), err;
	struct rs_error e = {0};
	struct rs_audit *a;
	char path[64];

	rs_assert(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	rs_assert(!rs_audit_create(&a));
	err = rs_audit_read(a, path, "gpu01", 0, &e);
	rs_assert(err <= 0 && !a->err);
	rs_assert((err != 0) == (e.what[0] != '\0') && !strchr(e.what, '\n'));
	rs_audit_destroy(a);
	close(fd);
	return 0;
}
