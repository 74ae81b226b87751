/* A log of nccl-tests or perftest: read, and its rows compared with a curve of any kind. What is
 * taken keeps what the header promises. */
#include <math.h>
#include <string.h>
#include "fuzz.h"
#include "measured/measured.h"

static void check(const struct rs_measured *m)
{
	static double predicted[RS_MEASURED_ROWS_MAX];
	struct rs_measured_fit fit;
	uint32_t probe[RS_PARTS], n, parts = 0;

	rs_assert(m->n_rows && m->n_rows <= RS_MEASURED_ROWS_MAX);
	for (uint32_t i = 0; i < m->n_rows; i++) {
		rs_assert(m->rows[i].bytes && m->rows[i].us > 0 && isfinite(m->rows[i].us));
		rs_assert(!i || m->rows[i].bytes > m->rows[i - 1].bytes);
		predicted[i] = i % 3 ? m->rows[i].us * (1 + i % 7) : 0;
	}
	rs_measured_compare(m, predicted, &fit);
	for (int p = 0; p < RS_PARTS; p++)
		parts += fit.n[p];
	rs_assert(parts <= m->n_rows && isfinite(fit.apart) && fit.first < (int)m->n_rows);
	n = rs_measured_probes(m, probe);
	rs_assert(n && n <= RS_PARTS);
	for (uint32_t i = 0; i < n; i++)
		rs_assert(probe[i] < m->n_rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rs_arena *a = rs_arena_create(16 << 20);
	struct rs_error e = {0};
	struct rs_measured *m;

	rs_assert(a);
	if (!rs_measured_read((const char *)data, size, "fuzz", NULL, a, &m, &e))
		check(m);
	else
		rs_assert(e.code && *e.what);
	rs_arena_destroy(a);
	return 0;
}
