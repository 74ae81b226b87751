/* Private to lib/: what came of runs, and the description that it is of. */
#ifndef RS_LIB_RESULT_H
#define RS_LIB_RESULT_H

#include "diagnose/diagnose.h"

struct ripstop_result {
	struct rs_fabric *fabric;
	struct rs_diagnosis *d;
};

#endif
