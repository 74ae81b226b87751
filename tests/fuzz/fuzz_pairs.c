/* A matrix of pairs in any form: read, closed and judged. What is found keeps what the header
 * promises. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "expect/pairs.h"
#include "fuzz.h"

static void check(const struct rs_pairs *p, const struct rs_pairs_verdict *v)
{
	rs_assert(v->n <= RS_PAIRS_FAULTS && v->cells <= p->n * p->n);
	/* 0: each pair failed */
	rs_assert(isfinite(v->level) && v->level >= 0 && v->noise >= 0);
	rs_assert((v->level > 0 && v->noise > 0) || v->failed == v->cells);
	for (uint32_t i = 0; i < v->n; i++) {
		const struct rs_pairs_fault *f = &v->fault[i];

		rs_assert(f->what && f->kind <= RS_PAIRS_ALL && rs_pairs_kinds[f->kind]);
		/* 0: most of its slow pairs failed */
		rs_assert(f->factor >= 0 && isfinite(f->factor) && f->confidence >= 0 &&
			  f->confidence <= 1);
		rs_assert(f->slow <= f->n && f->n_shown <= RS_PAIRS_SHOWN);
		for (uint32_t k = 0; k < f->n_shown; k++)
			rs_assert(f->from[k] < p->n && f->to[k] < p->n);
	}
}

/* The first byte: what kind of name the file has, and whether its two halves are two files. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"matrix", "h1_to_h2.log", "gpu-01-gpu-02.txt", "x"};
	struct rs_arena *a = rs_arena_create(64 << 20);
	static struct rs_pairs_verdict v;
	struct rs_pairs *p = NULL;
	struct rs_error e = {0};
	size_t half;
	int err;

	rs_assert(a);
	if (!size) {
		rs_arena_destroy(a);
		return 0;
	}
	half = data[0] & 4 ? size / 2 : 0;
	err = rs_pairs_read((const char *)data + 1, size - 1 - half, names[data[0] & 3], a, &p, &e);
	if (!err && half)
		err = rs_pairs_read((const char *)data + size - half, half, "more", a, &p, &e);
	rs_assert(!err || (e.code && *e.what));
	if (!err && !rs_pairs_close(p, &e) && p->n <= 64) {
		char leaf[300];

		snprintf(leaf, sizeof(leaf), "leaf=%.200s", p->host_name[0]);
		if (data[0] & 8)
			rs_pairs_group(p, leaf, &e);
		if (!rs_pairs_judge(p, &v, &e))
			check(p, &v);
	}
	rs_arena_destroy(a);
	return 0;
}
