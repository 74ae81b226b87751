/*
 * The NCCL_ variables that a plan depends on, with the defaults of a release. Names, meanings:
 * NCCL's user guide, "Environment Variables"; those that it leaves out, from the source.
 */
#ifndef RS_NCCL_ENV_H
#define RS_NCCL_ENV_H

#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"

enum { RS_NCCL_UNSET = -1, RS_NCCL_TEXT_MAX = 256 };

struct rs_nccl_env {
	uint32_t release;          /* RS_NCCL_RELEASE() */
	int cross_nic;             /* NCCL_CROSS_NIC: 2 */
	int p2p_level, gdr_level;  /* enum rs_nccl_path; RS_NCCL_UNSET: by the hardware */
	int gdr_read;              /* NCCL_NET_GDR_READ; RS_NCCL_UNSET */
	bool gdr_c2c;              /* NCCL_NET_GDR_C2C: from 2.27 */
	bool pxn_disable, pxn_c2c; /* NCCL_PXN_DISABLE, NCCL_PXN_C2C */
	int p2p_pxn_level;         /* 2 */
	bool nvb_disable;          /* NCCL_NVB_DISABLE */
	bool shm_disable;          /* NCCL_SHM_DISABLE */
	bool net_disable_intra;    /* NCCL_NET_DISABLE_INTRA */
	int min_channels;          /* NCCL_MIN_NCHANNELS, _NRINGS, _CTAS: 0 */
	int max_channels;          /* NCCL_MAX_NCHANNELS, _NRINGS, _CTAS; RS_NCCL_UNSET */
	int min_p2p, max_p2p;      /* NCCL_MIN_P2P_NCHANNELS: 1; RS_NCCL_UNSET */
	int net_peer;              /* NCCL_NCHANNELS_PER_NET_PEER; RS_NCCL_UNSET: by the NICs */
	int nvls;                  /* NCCL_NVLS_ENABLE: 0, 1; 2 where the hardware has it */
	int nvls_channels;         /* NCCL_NVLS_NCHANNELS; RS_NCCL_UNSET */
	bool collnet;              /* NCCL_COLLNET_ENABLE, and a plugin that has it */
	bool cumem;                /* NCCL_CUMEM_ENABLE */
	bool mnnvl_scatter;        /* NCCL_MNNVL_SCATTER_NETS_ENABLE */
	uint64_t buffer;           /* NCCL_BUFFSIZE: 4 MiB */
	uint32_t chunk_net, chunk_nvl, chunk_pci; /* NCCL_P2P_..._CHUNKSIZE */
	uint32_t nvls_chunk, nvls_tree_chunk; /* NCCL_NVLS_CHUNKSIZE, _NVLSTREE_MAX_CHUNKSIZE; 0 */
	char hca[RS_NCCL_TEXT_MAX];           /* NCCL_IB_HCA; empty: all */
	char algo[RS_NCCL_TEXT_MAX], proto[RS_NCCL_TEXT_MAX]; /* NCCL_ALGO, NCCL_PROTO; empty */
	char thresholds[RS_NCCL_TEXT_MAX]; /* NCCL_THREAD_THRESHOLDS; empty: not set */
};

void rs_nccl_env_init(struct rs_nccl_env *env, uint32_t release);
/* "NCCL_CROSS_NIC", "1". Names that no plan depends on are taken and do nothing: 1, else 0.
 * -EINVAL: no value of this variable; the error says which there are. */
int rs_nccl_env_set(struct rs_nccl_env *env, const char *name, const char *value,
		    struct rs_error *e);
/* "2.27.7", "2.27.7+cuda12.8", "2.27". 0: none. */
uint32_t rs_nccl_release_parse(const char *text);
/* Does a NIC of this name take part: "mlx5_0", port 1, by NCCL_IB_HCA's list of prefixes, "=" for
 * whole names, "^" for those to leave out. */
bool rs_nccl_env_takes(const struct rs_nccl_env *env, const char *name, int port);

#endif
