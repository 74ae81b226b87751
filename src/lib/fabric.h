/* Private to lib/: a description that calls make, as the tree that a file would have been. */
#ifndef RS_LIB_FABRIC_H
#define RS_LIB_FABRIC_H

#include <ripstop/fabric.h>
#include "describe/describe.h"
#include "text/tree.h"

struct ripstop_fabric {
	struct rs_load load; /* its arena; the error of the call under way */
	struct rs_error error;
	struct rs_node *root;
	const char *assumed;
};

/* The description with further settings. It is only read, so that several threads may. */
int lib_fabric_build(const struct ripstop_fabric *f, const struct rs_setting *set, uint32_t n_set,
		     struct rs_fabric **out, struct rs_error *e);

#endif
