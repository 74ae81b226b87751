/*
 * CUDA's p2pBandwidthLatencyTest: what two GPUs reach with peer-to-peer access and without. Without
 * it copies go through the host's memory; where peer-to-peer is slower than that, what lies between
 * the GPUs (ACS, an IOMMU, the root complex) holds it back.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/readers.h"

enum { GPUS = 32 };

struct matrix {
	double gb[GPUS][GPUS]; /* GB/s; 0: not printed */
	unsigned n;
};

/* "     0 673.20  13.15  13.15": false: it is no row of this matrix. */
static bool read_row(const char *text, struct matrix *m)
{
	char *end;
	unsigned long gpu = strtoul(text, &end, 10);
	unsigned column = 0;

	if (end == text || gpu != m->n || gpu >= GPUS)
		return false;
	for (; column < GPUS; column++) {
		const char *p = end;
		double gb = strtod(p, &end);

		if (end == p)
			break;
		m->gb[gpu][column] = gb > 0 ? gb : 0;
	}
	m->n += column > 0;
	return column > 0;
}

/* The matrix below a heading: a row of columns' numbers ("   D\D     0      1"), then one a GPU. */
static bool read_matrix(const struct rs_input *in, struct rs_line *l, struct matrix *m)
{
	memset(m, 0, sizeof(*m));
	if (!rs_line_next(in, l))
		return false;
	while (rs_line_next(in, l) && read_row(l->text, m))
		;
	return m->n > 1;
}

static bool find(const struct rs_input *in, const char *heading, struct rs_line *l,
		 struct matrix *m)
{
	*l = (struct rs_line){0};
	while (rs_line_next(in, l))
		if (!strncmp(l->text, heading, strlen(heading)) && strstr(l->text, "Bandwidth"))
			return read_matrix(in, l, m);
	return false;
}

static bool line_p2p(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l)
{
	static const char off_is[] = "Unidirectional P2P=Disabled";
	static const char on_is[] = "Unidirectional P2P=Enabled";
	unsigned slow = 0, pairs = 0, from = 0, to = 0;
	struct matrix off, on;
	struct rs_line at;
	double worst = 1;

	if (strncmp(l->text, on_is, sizeof(on_is) - 1) || !find(in, off_is, &at, &off) ||
	    !find(in, on_is, &at, &on) || on.n != off.n)
		return false;
	for (unsigned i = 0; i < on.n; i++)
		for (unsigned j = 0; j < on.n; j++) {
			if (i == j || on.gb[i][j] <= 0 || off.gb[i][j] <= 0)
				continue;
			pairs++;
			/* what passes a root complex is a little slower by right */
			slow += 2 * on.gb[i][j] < off.gb[i][j];
			if (on.gb[i][j] < worst * off.gb[i][j]) {
				worst = on.gb[i][j] / off.gb[i][j];
				from = i;
				to = j;
			}
		}
	if (!pairs)
		return false;
	rs_input_add(a, in, l->number, NULL, "p2p_test", "pairs", "%u", pairs);
	rs_input_add(a, in, l->number, NULL, "p2p_test", "slower", "%u", slow);
	if (slow)
		rs_input_add(a, in, l->number, NULL, "p2p_test", "worst",
			     "GPU %u to %u: %.4g GB/s with peer-to-peer, %.4g without", from, to,
			     on.gb[from][to], off.gb[from][to]);
	return true;
}

const struct rs_reader rs_reader_p2p_test = {
	.name = "p2p-test",
	.what = "p2pBandwidthLatencyTest: GB/s between GPUs, with peer-to-peer access and without",
	.trust = RS_TRUST_LOG,
	.also = true,
	.line = line_p2p,
};
