/* Private to cli/: what ripstop expect prints. */
#ifndef RS_CLI_EXPECT_REPORT_H
#define RS_CLI_EXPECT_REPORT_H

#include <stdio.h>
#include "expect/expect.h"

void rs_expect_print(const struct rs_expect *x, bool verbose, FILE *out);
int rs_expect_json(const struct rs_expect *x, FILE *out);

#endif
