/*
 * Inside a server: sockets, PCIe, NICs, GPUs, memory, NVLink, as parts joined by links. A DMA's
 * rate and latency come out of its path: latencies add, rates limit each link, what may be
 * outstanding turns latency into rate. PIX, SYS, the NUMA penalty are names of paths, not
 * constants.
 */
#ifndef RS_HOST_HOST_H
#define RS_HOST_HOST_H

#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/error.h"
#include "base/time.h"

/* Below it are ATI's screens of management controllers (ES1000 is 515e), not GPUs that compute: of
 * display controllers by AMD, a device's number (pci.ids; GCN and later). */
enum { RS_AMD_COMPUTES = 0x6600 };

enum rs_part_kind {
	RS_PART_SOCKET,     /* a CPU package or NUMA domain: root complex and host memory */
	RS_PART_PCI_BRIDGE, /* a PCIe switch (all its ports) or a bridge; a root port is its link */
	RS_PART_GPU,
	RS_PART_NIC, /* one function, with one port or several */
	RS_PART_NVSWITCH,
	RS_PART_OTHER, /* a device that moves no data here (NVMe, display) */
};

enum { RS_HOST_PARTS_MAX = 4096, RS_PATH_HOPS_MAX = 32, RS_BUS_PIECE = 4096, RS_NO_PART = -1 };

/* A PCIe link up to the parent. 0 where the source does not say: unknown, never invented; an
 * unknown link does not limit a simulation, and is reported. */
struct rs_pcie {
	uint8_t gen;   /* 1..6 */
	uint8_t lanes; /* 1..32 */
	uint16_t mps;  /* max payload size, bytes; 0: model default 256 */
	uint16_t mrrs; /* max read request size; 0: model default 512 */
};

/*
 * What an initiator of DMAs may have outstanding, and what else of a NIC bounds it. 0: not said
 * here. RS_NO_LIMIT: said to be none (inline_bytes: to be off).
 */
#define RS_NO_LIMIT UINT32_MAX
struct rs_dma_limits {
	uint32_t read_buffer, tags;            /* of reads: bytes and requests */
	uint32_t data_credits, header_credits; /* of posted writes: units of 16 bytes, TLPs */
	uint32_t inline_bytes;
	uint32_t message_rate, qp_message_rate; /* thousand work requests a second, of the NIC and
						 * of a queue pair */
	uint32_t qp_rate;                       /* Mb/s of a queue pair, as on the link */
};

/* A NIC by its name; each figure's source and confidence: docs/host.md. */
struct rs_nic_model {
	const char *name;
	uint8_t ports;    /* at most */
	uint32_t rate[2]; /* Gb/s of a port, alone and as one of several */
	struct rs_pcie slot;
	struct rs_dma_limits limits;
};

struct rs_part {
	const char *name;  /* "gpu0", "nic0", "socket0"; unique in the host */
	const char *model; /* "H100", "ConnectX-7", "spr"; NULL unknown */
	const char *busid; /* PCI address; NULL none */
	enum rs_part_kind kind;
	int parent;  /* PCI parent: bridge or socket; RS_NO_PART for sockets, NVSwitches or
		      * devices whose place is unknown */
	int parent2; /* Socket-Direct: a second attachment of the same NIC; else RS_NO_PART */
	struct rs_pcie up, up2;      /* links to parent and parent2 */
	int numa;                    /* -1 unknown */
	int cc;                      /* GPU: compute capability x 10, 90; 0 unknown */
	int64_t port_rate;           /* NIC: bits per second of a port, 0 unknown */
	uint8_t ports;               /* NIC: that share its slot; 0: one */
	struct rs_dma_limits limits; /* NIC, GPU: what the description says */
};

/* Links that are not PCIe trees: socket interconnect, NVLink. Both directions alike. */
enum rs_xlink_kind { RS_XLINK_SOCKET, RS_XLINK_NVLINK, RS_XLINK_C2C };
struct rs_xlink {
	int a, b;
	enum rs_xlink_kind kind;
	int64_t rate; /* bits per second, one direction, usable; 0: unknown, by the model's default
		       */
	rs_time latency;  /* one way; -1: by the model's default */
	int64_t p2p_rate; /* socket link: what peer-to-peer DMA through both root complexes gets; 0:
			   * by the CPU model's default; -1: not limited apart */
};

struct rs_host {
	const char *name, *source; /* where the description came from: a file, "written out" */
	const char *
		cpu; /* CPU model class: skl icx spr emr gnr rome milan genoa turin; NULL unknown */
	int n_parts, n_xlinks;
	struct rs_part *parts;
	struct rs_xlink *xlinks;
};

/* Parameters of the model (docs/host.md), each with its default: none is hard-wired. */
struct rs_host_params {
	rs_time phy_latency;         /* 25 ns a PCIe link and direction */
	rs_time switch_latency;      /* 105 ns */
	rs_time root_write;          /* 200 ns: DMA write accepted by the root complex */
	rs_time root_p2p;            /* 150 ns: a turn in the root complex */
	rs_time dram_read;           /* so that an idle NIC-host read round trip is 550 ns */
	rs_time gpu_write, gpu_read; /* 200 ns; so that a read round trip is 600 ns */
	rs_time nvlink_hop;          /* 1 us, GPU-NVSwitch-GPU */
	rs_time nic_pipeline;        /* 120 ns a direction */
	rs_time post, mmio, poll;    /* 75, 150, 50 ns */
	/* Of every initiator that does not say its own; 0: by the NIC's model, else by the
	 * generation of its slot (rs_dma_limits_of()). */
	uint32_t read_buffer, tags;
	uint32_t inline_bytes; /* a message of host memory up to this is in the doorbell's
				* write itself, so that no DMA reads it (mlx5: 220 usual) */
	uint32_t posted_data_credits, posted_header_credits;
	rs_time credit_latency;                                /* 400 ns */
	uint32_t completion_chunk;                             /* 256 */
	uint32_t header_write, header_completion, header_read; /* 24, 20, 24 B (Gen6: 16, 16, 16) */
	double dll_efficiency;                                 /* 0.97; up to Gen3 0.98 of it */
	double xlink_efficiency;                               /* 0.70 of the raw socket link */
};
extern const struct rs_host_params rs_host_defaults;

/* A socket interconnect's defaults by CPU class (docs/models.md, host.md); NULL: unknown class. */
struct rs_cpu_model {
	const char *name, *what;
	int64_t hop_rate; /* raw, all links together, one direction */
	rs_time hop_latency;
	int64_t p2p_rate;  /* peer-to-peer through both root complexes; -1: not limited apart */
	int64_t p2p_both;  /* both directions of it together; 0: no such limit */
	uint32_t p2p_tlp;  /* one root complex cuts peer-to-peer TLPs to this; 0: leaves them */
	int64_t root_rate; /* peer-to-peer through one root complex; 0: by the links alone */
};
const struct rs_cpu_model *rs_cpu_find(const char *name);
/* Bits a second of one link of xGMI, one direction, by the GPU's model ("MI300X", "gfx942"); 0:
 * not known. */
int64_t rs_xgmi_rate(const char *model);

/* Case and blanks do not count ("ConnectX-6 Dx"); NULL for an unknown model. */
const struct rs_nic_model *rs_nic_model_find(const char *name);
const struct rs_nic_model *rs_nic_model_at(unsigned i); /* the i-th; NULL after the last */
/* What holds for a part: what it says itself, else p, else its model, else its slot's generation.
 * 0 and RS_NO_LIMIT are gone: what has no limit is 0. */
struct rs_dma_limits rs_dma_limits_of(const struct rs_part *part, const struct rs_host_params *p);

int rs_host_find(const struct rs_host *h, const char *name); /* RS_NO_PART when absent */
/* A description that can be simulated: no cycles, parents exist, names unique, limits kept. */
int rs_host_check(const struct rs_host *h, struct rs_error *e);

/* NCCL's and nvidia-smi's names of distances. */
enum rs_distance {
	RS_DIST_SELF,
	RS_DIST_NVLINK,
	RS_DIST_PIX,
	RS_DIST_PXB,
	RS_DIST_PHB,
	RS_DIST_NODE,
	RS_DIST_SYS,
	RS_DIST_UNKNOWN
};
const char *rs_distance_name(enum rs_distance d);
enum rs_distance rs_host_distance(const struct rs_host *h, int a, int b);

/* ---- The bus: a host's links in motion ---- */

/* Host memory of a socket is addressed as the socket part itself, GPU memory as the GPU part. */
struct rs_bus;
/* Sockets, NICs and GPUs are DMA engines. Allocates all that it will need. p NULL: the defaults.
 * -EINVAL: a description that rs_host_check() refuses or a parameter out of range; -ENOMEM. */
int rs_bus_create(const struct rs_host *h, const struct rs_host_params *p, struct rs_bus **bus,
		  struct rs_error *e);
void rs_bus_destroy(struct rs_bus *bus);
/* For counterfactuals, before any path is made: links of no width (their latencies stay); or tags,
 * buffers and credits held only as long as a link lets wait. */
void rs_bus_ideal(struct rs_bus *bus, bool links, bool limits);

/* A path, prepared once: hops in both directions, latencies, limits. */
struct rs_path {
	uint8_t n_hops;
	uint16_t hop[RS_PATH_HOPS_MAX]; /* indices of directed links of the bus, initiator -> target
					 */
	uint16_t back[RS_PATH_HOPS_MAX];
	rs_time fixed; /* latency of the elements, one way, without serialization */
	rs_time fixed_back;
	enum rs_distance distance;
	rs_time write_access, read_access; /* at the target */
	uint32_t write_piece, read_piece; /* a DMA is reserved in pieces of at most so many bytes */
	uint16_t mps, mrrs, chunk;        /* powers of two; their logarithms: */
	uint8_t mps_shift, mrrs_shift, chunk_shift;
	bool nvlink;  /* no TLPs, no credits, no tags */
	bool unknown; /* some link's rate, or a part's place, is unknown and does not limit */
	int initiator, target;
};
/*
 * -ENOENT: no way from one part to the other. -E2BIG: more than RS_PATH_HOPS_MAX hops. via_nvlink:
 * GPU to GPU over NVLink where there is, else -ENOENT. A part whose place is unknown has a path
 * without hops, marked unknown. Not for two threads on one bus at once.
 */
int rs_bus_path(const struct rs_bus *bus, int initiator, int target, bool via_nvlink,
		struct rs_path *p);

/*
 * A DMA read of n bytes (at most 1 MiB) by the path's initiator, issued at now: reserves the links
 * and returns when the last completion is in. Bounded by the initiator's tags and read buffer: an
 * issue that they do not allow yet waits (in order). *issued (may be NULL): when it was issued.
 */
rs_time rs_bus_read(struct rs_bus *bus, const struct rs_path *p, uint32_t n, rs_time now,
		    rs_time *issued);
/*
 * A posted write. Returns when the last byte is visible at the target; *accepted (may be NULL):
 * when it has left the initiator (its credits were there, its first link sent it), so that a buffer
 * there is free again. A queue further down the path holds the credits back as long as it delays
 * the write.
 */
rs_time rs_bus_write(struct rs_bus *bus, const struct rs_path *p, uint32_t n, rs_time now,
		     rs_time *accepted);
/*
 * When the initiator's posted credits allow a write of n bytes, as far as is known at now. An
 * initiator that writes much issues a piece of at most RS_BUS_PIECE at a time, each not before
 * this, so that links are not reserved ahead while others could use them. now over NVLink, which
 * has no credits here.
 */
rs_time rs_bus_write_ready(struct rs_bus *bus, const struct rs_path *p, uint32_t n, rs_time now);

/* Idle figures of a path by closed form, for reports: what a lone stream gets, and one small read's
 * round trip or write's latency. */
int64_t rs_path_read_rate(const struct rs_bus *bus, const struct rs_path *p, uint32_t n);
int64_t rs_path_write_rate(const struct rs_bus *bus, const struct rs_path *p, uint32_t n);

/* Time that DMAs of a part waited for what may be outstanding; of limits that bind at once, the
 * buffer or the data credits. */
enum rs_dma_wait { RS_WAIT_TAGS, RS_WAIT_READ_BUFFER, RS_WAIT_CREDITS, RS_DMA_WAITS };
rs_time rs_bus_waited(const struct rs_bus *bus, int part, enum rs_dma_wait what);

/* What a part may have outstanding and, at now, has: read requests (tags), their bytes, credits of
 * 16 bytes of posted writes. What is issued ahead counts already. All 0: it issues no DMA. */
struct rs_bus_outstanding {
	uint32_t reads, read_bytes, credits;
	uint32_t reads_max, read_bytes_max, credits_max;
};
void rs_bus_outstanding(const struct rs_bus *bus, int part, rs_time now,
			struct rs_bus_outstanding *out);

/* Directed links, for reports: name ("nic0->pci1"), busy time so far, bytes moved. */
struct rs_bus_link_stat {
	char name[64];
	rs_time busy;
	uint64_t bytes;
	int64_t rate; /* 0 unknown */
};
int rs_bus_links(const struct rs_bus *bus);
void rs_bus_link_stat(const struct rs_bus *bus, int link, struct rs_bus_link_stat *out);
/* Of that, what a link did so far. */
void rs_bus_link_carried(const struct rs_bus *bus, int link, uint64_t *bytes, rs_time *busy);

/* Usable rate of a PCIe link for TLP bytes: GT/s * lanes * encoding (Gen6: FLIT share). 0 unknown.
 */
int64_t rs_pcie_rate(const struct rs_pcie *p);
/* Goodput of back-to-back posted writes of n-byte blocks at the link's MPS. */
int64_t rs_pcie_write_goodput(const struct rs_pcie *p, const struct rs_host_params *hp);

/* ---- Memory registration: docs/host.md ---- */
struct rs_mr_params {
	rs_time base, page, huge_page, gpu_base, cache_hit;
};
extern const struct rs_mr_params rs_mr_defaults;
rs_time rs_mr_register_time(const struct rs_mr_params *p, uint64_t bytes, uint64_t page_bytes,
			    bool gpu);

#endif
