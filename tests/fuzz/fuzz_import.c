/* Hosts from XML, NCCL's topology and hwloc's: refused with a reason, or a host that holds
 * together. Two programs, for two sets of seeds. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "import/import.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct rs_arena *a = rs_arena_create(0);
	struct rs_error e = {0};
	struct rs_host *h = NULL;
	char *text = malloc(n + 1);
	int err;

	rs_assert(a && text);
	memcpy(text, bytes, n);
	text[n] = '\0';
	err = rs_host_import_text(text, n, "fuzz.xml", a, &h, &e);
	if (err)
		rs_assert(!h && e.code == err && e.what[0] && e.file[0]);
	else
		rs_assert(!rs_host_check(h, &e));
	free(text);
	rs_arena_destroy(a);
	return 0;
}
