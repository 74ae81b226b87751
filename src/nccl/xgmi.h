/* Private to nccl/: rings of AMD's GPUs over xGMI links from one to another. */
#ifndef RS_NCCL_XGMI_H
#define RS_NCCL_XGMI_H

#include "nccl/state.h"

/* Fills found[RING_GRAPH] and found[TREE_GRAPH], which are empty. False: the GPUs are not joined
 * so, or in no ring; a search finds what there is. */
bool nccl_xgmi(struct rs_nccl_class *c);

#endif
