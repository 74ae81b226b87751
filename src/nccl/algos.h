/* Private to nccl/: the algorithms' short names, for the tables of choose.c and tune.c. */
#ifndef RS_NCCL_ALGOS_H
#define RS_NCCL_ALGOS_H

#include "nccl/tune.h"

#define TREE      RS_NCCL_ALGO_TREE
#define RING      RS_NCCL_ALGO_RING
#define DIRECT    RS_NCCL_ALGO_COLLNET_DIRECT
#define CHAIN     RS_NCCL_ALGO_COLLNET_CHAIN
#define NVLS      RS_NCCL_ALGO_NVLS
#define NVLS_TREE RS_NCCL_ALGO_NVLS_TREE
#define PAT       RS_NCCL_ALGO_PAT

#endif
