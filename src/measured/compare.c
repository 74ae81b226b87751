/* Where a predicted curve over sizes leaves the measured one. */
#include "measured/measured.h"
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const double FLAT = 2, FULL = 0.75, NEAR = 0.1;

const char *const rs_measured_parts[] = {"latency", "middle", "rate", NULL};

enum rs_measured_part rs_measured_part_of(const struct rs_measured *m, uint32_t row)
{
	double least = m->rows[0].us, most = 0, rate;

	for (uint32_t i = 0; i < m->n_rows; i++) {
		least = fmin(least, m->rows[i].us);
		most = fmax(most, (double)m->rows[i].bytes / m->rows[i].us);
	}
	rate = (double)m->rows[row].bytes / m->rows[row].us;
	if (rate >= FULL * most)
		return RS_PART_RATE;
	return m->rows[row].us <= FLAT * least ? RS_PART_LATENCY : RS_PART_MIDDLE;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void rs_measured_compare(const struct rs_measured *m, const double *predicted,
			 struct rs_measured_fit *out)
{
	double errors[RS_MEASURED_ROWS_MAX];
	uint32_t counted = 0;

	*out = (struct rs_measured_fit){.first = -1};
	for (int part = 0; part < RS_PARTS; part++) {
		uint32_t n = 0;

		for (uint32_t i = 0; i < m->n_rows; i++)
			if (predicted[i] > 0 && (int)rs_measured_part_of(m, i) == part)
				errors[n++] = predicted[i] / m->rows[i].us - 1;
		qsort(errors, n, sizeof(*errors), by_value);
		out->n[part] = n;
		out->error[part] = n ? (errors[(n - 1) / 2] + errors[n / 2]) / 2 : 0;
	}
	for (uint32_t i = 0; i < m->n_rows; i++) {
		double ratio = predicted[i] / m->rows[i].us;

		if (!(predicted[i] > 0))
			continue;
		counted++;
		out->apart += fabs(log(ratio));
		if (out->first < 0 && fabs(ratio - 1) > NEAR)
			out->first = (int)i;
	}
	out->apart = counted ? out->apart / counted : 0;
}

uint32_t rs_measured_probes(const struct rs_measured *m, uint32_t probe[RS_PARTS])
{
	uint32_t found = 0;

	for (int part = 0; part < RS_PARTS; part++) {
		uint32_t n = 0, seen = 0;

		for (uint32_t i = 0; i < m->n_rows; i++)
			n += (int)rs_measured_part_of(m, i) == part;
		for (uint32_t i = 0; n && i < m->n_rows; i++)
			if ((int)rs_measured_part_of(m, i) == part && seen++ == (n - 1) / 2)
				probe[found++] = i;
	}
	return found;
}
