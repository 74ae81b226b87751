/* What `ripstop compare` writes, beside its JSON and CSV. */
#ifndef RS_CLI_COMPARE_REPORT_H
#define RS_CLI_COMPARE_REPORT_H

#include <stdio.h>
#include "compare/compare.h"

void rs_compare_print(const struct rs_comparison *c, FILE *out);

#endif
