/* Traces of other programs: refused with a file and a reason, or a graph that can end. */
#include <stdlib.h>
#include <string.h>
#include "fabric/order.h"
#include "import/trace.h"
#include "fuzz.h"

/* A count of ranks or layers is no fault, but takes memory: large ones are left out here. */
static bool large(const char *text)
{
	unsigned digits = 0;

	for (; *text; text++) {
		digits = *text >= '0' && *text <= '9' ? digits + 1 : 0;
		if (digits > 3)
			return true;
	}
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct rs_error e = {0};
	struct rs_load l = {.e = &e, .arena = rs_arena_create(256 << 20), .base_dir = "."};
	char *text = malloc(n + 1);
	struct rs_work *w;
	rs_time time;

	rs_assert(l.arena && text);
	memcpy(text, bytes, n);
	text[n] = '\0';
	if ((text[0] == 'n' || text[0] == 'H') && large(text)) {
		free(text);
		rs_arena_destroy(l.arena);
		return 0;
	}
	w = rs_trace_read_text(&l, text, n, "fuzz.trace");
	if (!w)
		rs_assert(l.err && e.code == l.err && e.what[0] && e.file[0]);
	else
		rs_assert(!rs_work_dry_time(w, &time, &e) && time >= 0);
	free(text);
	rs_arena_destroy(l.arena);
	return 0;
}
