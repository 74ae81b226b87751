/* Private to cli/: what ripstop expect prints. */
#ifndef RS_CLI_EXPECT_REPORT_H
#define RS_CLI_EXPECT_REPORT_H

#include <stdio.h>
#include "expect/expect.h"
#include "expect/pairs.h"

/* measured: tables of measurements follow. */
void rs_expect_print(const struct rs_expect *x, bool measured, FILE *out);
void rs_expect_print_measured(const struct rs_expect_measured *m, FILE *out);
/* m: n tables that were measured. */
int rs_expect_json(const struct rs_expect *x, struct rs_expect_measured *const *m, uint32_t n,
		   FILE *out);
/* A matrix of pairs, and what explains its slow ones. */
void rs_expect_print_pairs(const struct rs_pairs *p, const struct rs_pairs_verdict *v, FILE *out);
int rs_expect_json_pairs(const struct rs_pairs *p, const struct rs_pairs_verdict *v, FILE *out);

#endif
