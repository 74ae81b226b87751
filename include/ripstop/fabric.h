/*
 * A fabric: hosts, NICs, switches, links, classes, congestion control, and the work to run on it.
 * Made by calls, or read from YAML or JSON (ripstop-fabric(5)); both end in the same description,
 * and each key of ripstop-fabric(5) can be set by its path.
 *
 * What calls give is checked when the fabric is used (ripstop_fabric_check(), ripstop_simulate()):
 * an error then names the path, the line of a file, or the number of the call's entry.
 */
#ifndef RIPSTOP_FABRIC_H
#define RIPSTOP_FABRIC_H

#include <ripstop/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ripstop_fabric;

/* An empty one. Its errors name it "fabric". */
RIPSTOP_API int ripstop_fabric_new(struct ripstop_fabric **f, struct ripstop_error **e);
/* From a file; what it names is relative to it. -EINVAL with file, line and column. */
RIPSTOP_API int ripstop_fabric_load(const char *path, struct ripstop_fabric **f,
				    struct ripstop_error **e);
/* From n bytes of YAML or JSON. name: for errors; NULL: "text". folder: of the files that it
 * names; NULL: the working directory. -ENOTSUP: built without YAML. */
RIPSTOP_API int ripstop_fabric_parse(const char *text, size_t n, const char *name,
				     const char *folder, struct ripstop_fabric **f,
				     struct ripstop_error **e);
RIPSTOP_API int ripstop_fabric_copy(const struct ripstop_fabric *f, struct ripstop_fabric **copy,
				    struct ripstop_error **e);
RIPSTOP_API void ripstop_fabric_free(struct ripstop_fabric *f);

/*
 * What `--set PATH=VALUE` does: "fabric.network.rate", "400G". The value is a plain word or YAML in
 * flow style; NULL takes the key out. "list[+]" is a new element.
 */
RIPSTOP_API int ripstop_fabric_set(struct ripstop_fabric *f, const char *path, const char *value,
				   struct ripstop_error **e);

/* ---- Networks ---- */

/* One that is generated. 0 and NULL: not given; what is needed depends on the kind, as in
 * ripstop-fabric(5). */
struct ripstop_network {
	size_t size;
	const char *kind; /* "single-switch", "leaf-spine", "fat-tree", "rail" */
	uint32_t hosts, nics;
	uint32_t leaves, spines, links; /* links: of a leaf and a spine */
	uint32_t k, tiers;              /* fat-tree */
	uint32_t rails;                 /* rail */
	uint32_t hosts_per_leaf;        /* rail: of a group's leaves */
	uint32_t mtu;                   /* path MTU */
	int64_t rate, uplink_rate;      /* bits per second */
	int64_t delay, uplink_delay;    /* picoseconds, one way */
	double loss;                    /* share of packets that each link loses */
};
RIPSTOP_API int ripstop_fabric_network(struct ripstop_fabric *f, const struct ripstop_network *n,
				       struct ripstop_error **e);

/*
 * One that is drawn: hosts, switches, links. A host with one NIC is an end by its name, "h0"; with
 * several ("fabric.network.nics") "h0/nic1". tier: 0 leaf, 1 spine, 2 core.
 */
RIPSTOP_API int ripstop_fabric_add_host(struct ripstop_fabric *f, const char *name,
					struct ripstop_error **e);
RIPSTOP_API int ripstop_fabric_add_switch(struct ripstop_fabric *f, const char *name, uint32_t tier,
					  struct ripstop_error **e);
/* rate, delay: 0: as the network has them. */
RIPSTOP_API int ripstop_fabric_add_link(struct ripstop_fabric *f, const char *a, const char *b,
					int64_t rate, int64_t delay, double loss,
					struct ripstop_error **e);

/* Hosts with an inside, in place of plain ones: count of them, called name0, name1, ..., each as
 * the host file `like` (NCCL's topology or hwloc's XML) has it. Other keys of the group are set by
 * path: "fabric.hosts.NAME.nic_model". like NULL: they are given so. */
RIPSTOP_API int ripstop_fabric_add_machines(struct ripstop_fabric *f, const char *name,
					    uint32_t count, const char *like,
					    struct ripstop_error **e);

/* ---- Classes and congestion control ---- */

/* A key of class 0 to 7: "kmin", "100KB"; "lossless", "true". */
RIPSTOP_API int ripstop_fabric_set_class(struct ripstop_fabric *f, uint32_t class_number,
					 const char *key, const char *value,
					 struct ripstop_error **e);
/* preset NULL: the algorithm's default. Parameters: ripstop_fabric_set("fabric.cc.rate_ai", ...).
 */
RIPSTOP_API int ripstop_fabric_set_cc(struct ripstop_fabric *f, const char *algorithm,
				      const char *preset, struct ripstop_error **e);

/* ---- Work ---- */

struct ripstop_flow {
	int64_t start; /* picoseconds */
	uint64_t bytes;
	uint32_t src, dst;     /* endpoints: NICs, numbered host by host from 0 */
	int32_t traffic_class; /* -1: the class of data */
	uint32_t unused;
};
/* A job of n flows; each: sizeof(struct ripstop_flow). name NULL: "flows". Copied. */
RIPSTOP_API int ripstop_fabric_add_flows(struct ripstop_fabric *f, const char *name,
					 const struct ripstop_flow *flows, size_t n, size_t each,
					 struct ripstop_error **e);

struct ripstop_collective {
	size_t size;
	const char *name;      /* NULL: "collective" */
	const char *op;        /* "all-reduce" (NULL), "reduce-scatter", "all-gather", "broadcast",
				* "all-to-all", "send-recv" */
	const char *algorithm; /* "ring", "tree", "hierarchical", "pairwise", "nccl"; NULL: by op */
	uint64_t bytes;        /* of a rank's buffer, as nccl-tests counts; 0: 1 MiB */
	uint32_t ranks;        /* 0: all GPUs (a plain host's NIC is one) */
	uint32_t channels;     /* 0: one a NIC */
	uint32_t qps;          /* of a connection; 0: 1 */
	uint32_t repeat;       /* 0: 1 */
	uint64_t chunk;        /* 0: 512 KiB */
	int64_t start;
};
RIPSTOP_API int ripstop_fabric_add_collective(struct ripstop_fabric *f,
					      const struct ripstop_collective *c,
					      struct ripstop_error **e);

struct ripstop_training {
	size_t size;
	const char *name;    /* NULL: "train" */
	double parameters;   /* of the model */
	double tokens;       /* of a step, of the whole job */
	double flops;        /* achieved by a GPU; 0: 400e12 */
	double overlap;      /* share of the backward pass that hides communication; 0: 1; < 0: 0 */
	uint32_t dp, tp, pp; /* 0: by the ranks; 1; 1 */
	uint32_t qps;        /* of a connection; 0: 1 */
	const char *algorithm; /* of the all-reduce of gradients; NULL: "ring" */
	uint64_t bucket;       /* bytes; 0: 25 MiB */
	uint64_t simulate;     /* bytes a rank simulated packet by packet; 0: 64 MiB */
};
RIPSTOP_API int ripstop_fabric_add_training(struct ripstop_fabric *f,
					    const struct ripstop_training *t,
					    struct ripstop_error **e);

/* Run beside the fabric with this setting changed. Several settings of one name go together. */
RIPSTOP_API int ripstop_fabric_add_what_if(struct ripstop_fabric *f, const char *name,
					   const char *path, const char *value,
					   struct ripstop_error **e);

/* ---- What it is ---- */

struct ripstop_fabric_facts {
	size_t size;
	uint32_t hosts, endpoints, switches, links, gpus, jobs;
	uint32_t tiers, diameter; /* diameter: switches on the longest shortest path */
	double oversubscription;  /* of the worst leaf; 1: non-blocking; 0: one tier */
	int64_t bisection;        /* bits per second, one way */
};
/* Checks all of it. facts may be NULL. */
RIPSTOP_API int ripstop_fabric_check(const struct ripstop_fabric *f,
				     struct ripstop_fabric_facts *facts, struct ripstop_error **e);
/* All of it as YAML that reads back to the same, with every default written out; freed by
 * ripstop_free(). */
RIPSTOP_API int ripstop_fabric_yaml(const struct ripstop_fabric *f, char **text,
				    struct ripstop_error **e);

#ifdef __cplusplus
}
#endif

#endif
