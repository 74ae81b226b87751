/*
 * A host as NCCL's topology has it, before a job comes: CPUs (NUMA domains), PCI devices, GPUs,
 * NICs and their ports in the order of NCCL's XML. Read from that XML, from a host's description,
 * or from a log; a job's GPUs are chosen from it. Order decides: NCCL's array of GPUs, and its
 * search, follow it.
 */
#ifndef RS_NCCL_TOPO_H
#define RS_NCCL_TOPO_H

#include "base/load.h"
#include "host/host.h"
#include "nccl/env.h"
#include "nccl/plan.h"

#define RS_NCCL_NO_GUID UINT64_MAX

enum rs_nccl_item_kind {
	RS_NCCL_CPU,
	RS_NCCL_PCI,
	RS_NCCL_GPU,
	RS_NCCL_NIC,
	RS_NCCL_PORT, /* NCCL's NET: what its plugin numbers */
};
enum { RS_NCCL_ITEMS_MAX = 4096, RS_NCCL_LINKS_MAX = 65536, RS_NCCL_DEPTH_MAX = 32 };

struct rs_nccl_item {
	enum rs_nccl_item_kind kind;
	int parent;   /* comes before; -1 for CPUs */
	uint64_t bus; /* PCI address as a number; a CPU's: its NUMA number */
	float bw;     /* of the PCI link to the parent, GB/s */
	/* CPU */
	enum rs_nccl_cpu_arch arch;
	enum rs_nccl_cpu_vendor vendor;
	int family, model; /* CPUID's, extended fields added */
	uint64_t device;   /* PCI: vendor, device and those of the subsystem, 16 bits each */
	int dev;           /* GPU: NVML's number; PORT: the plugin's */
	int cc;            /* GPU: 90; PORT: 0 */
	bool amd;          /* GPU: RCCL's */
	int gfx;           /* GPU: of those, rs_nccl_gpu_gfx() */
	bool gdr;          /* GPU, PORT */
	/* PORT */
	const char *name; /* "mlx5_0"; NULL unknown */
	uint64_t asic;    /* GUID of the card; RS_NCCL_NO_GUID: each port is one */
	int port;
	float net_bw; /* GB/s */
	float latency;
	bool collnet;
	uint32_t tag; /* of the maker: GPU, PORT */
};

enum { RS_NCCL_TO_SWITCH = -1, RS_NCCL_TO_CPU = -2 };
/* NVLinks of a GPU to another (each says its own), to the NVSwitches, to its CPU (POWER). */
struct rs_nccl_nvlink {
	int gpu, to; /* items */
	int count;
};
struct rs_nccl_c2c {
	int gpu;
	float bw;
};

struct rs_nccl_host {
	const char *name;
	int n_items, n_nvlinks, n_c2cs;
	int n_gpus, n_ports;
	struct rs_nccl_item *items;
	struct rs_nccl_nvlink *nvlinks;
	struct rs_nccl_c2c *c2cs;
	bool assumed;   /* the source lacks NVLinks or GPUs' models: by the model, the slot */
	bool slow_nics; /* ... rates of NICs: 10 Gb/s, as NCCL takes them */
};

/* What a GPU model is to NCCL. NULL: unknown. */
struct rs_nccl_gpu_model {
	const char *name;
	uint16_t pci; /* PCI device, with its vendor 10de; 0: other devices have it too */
	int cc;       /* compute capability x 10 */
	int nvlinks;  /* of each GPU, to NVSwitches where there are; 0: none */
};
const struct rs_nccl_gpu_model *rs_nccl_gpu_find(const char *name);
const struct rs_nccl_gpu_model *rs_nccl_gpu_by_pci(uint16_t device);
int rs_nccl_gpu_gfx(const char *name);  /* RS_NCCL_GFX90A, 942, 950; 0: another */
bool rs_nccl_gpu_amd(const char *name); /* "MI300X", "gfx942": RCCL's */

/* What a source may lack. model: of GPUs that the file does not tell; NULL. speed: of NICs, Mb/s,
 * 0: as the file says, else 10000 as NCCL takes it. */
struct rs_nccl_assume {
	const struct rs_nccl_gpu_model *gpu;
	int mbps;
};
/* From NCCL's XML (NCCL_TOPO_DUMP_FILE's, or what NCCL_TOPO_FILE takes), recognised by its first
 * element. -EINVAL with file, line and column; -ENOTSUP where built without libxml2. */
int rs_nccl_host_parse(const char *text, size_t n, const char *name,
		       const struct rs_nccl_assume *assume, struct rs_arena *a,
		       struct rs_nccl_host **out, struct rs_error *e);
/* From the inside of a described host: its sockets, NICs and GPUs. -EINVAL: no GPUs. */
int rs_nccl_host_inside(const struct rs_host *h, const struct rs_nccl_assume *assume,
			struct rs_arena *a, struct rs_nccl_host **out, struct rs_error *e);

/* Within the readers: the next item, or NULL after an error; "0000:1b:00.0" as a number. */
struct rs_nccl_item *rs_nccl_item_add(struct rs_load *l, struct rs_nccl_host *h,
				      enum rs_nccl_item_kind kind, int parent, struct rs_where at);
int rs_nccl_nvlink_add(struct rs_load *l, struct rs_nccl_host *h, int gpu, int to, int count);
int rs_nccl_c2c_add(struct rs_load *l, struct rs_nccl_host *h, int gpu, float bw);
uint64_t rs_nccl_bus_parse(const char *busid);
/* Numbers and rates that the source leaves out; and NVLinks of the GPUs' model where the source has
 * none at all. */
void rs_nccl_host_number(struct rs_nccl_host *h, const struct rs_nccl_assume *assume);
void rs_nccl_host_assume(struct rs_load *l, struct rs_nccl_host *h,
			 const struct rs_nccl_assume *assume);

#endif
