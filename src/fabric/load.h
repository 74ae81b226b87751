/* Private to fabric/: the steps of a load, in order. Each leaves its error in l. */
#ifndef RS_FABRIC_LOAD_H
#define RS_FABRIC_LOAD_H

#include "fabric/fabric.h"
#include "text/tree.h"

/* Names to numbers: open addressing, sized once. */
struct names {
	uint32_t size; /* a power of two */
	struct {
		const char *name;
		uint32_t id;
	} * slot;
};
bool names_create(struct load *l, struct names *t, uint32_t n);
/* False when the name is there already. */
bool names_add(struct names *t, const char *name, uint32_t id);
bool names_find(const struct names *t, const char *name, uint32_t *id);

void load_hosts(struct load *l, struct rs_fabric *f, const struct node *fabric);
void load_host_model(struct load *l, struct rs_fabric *f, const struct node *n);
void load_network(struct load *l, struct rs_fabric *f, const struct node *fabric);
/* Leaf-spine and rail networks: what follows from what is given, or is refused; a NIC's leaf. */
enum { NET_PORTS_MAX = 1024, CLOS_LEAVES_MAX = 1 << 15 };
void clos_resolve(struct load *l, struct rs_fabric *f, const struct node *n);
uint32_t clos_leaf(const struct rs_fabric *f, uint32_t endpoint);
void build_routes(struct load *l, struct rs_fabric *f);
/* Changes of single links and switches, before routes are made; of switches' QoS, after it is read.
 */
void change_network(struct load *l, struct rs_fabric *f, const struct node *list);
void change_qos(struct load *l, struct rs_fabric *f, const struct node *list);
/* What n changes of base, for one switch or tier. */
struct rs_qos *load_own_qos(struct load *l, const struct rs_qos *base, const char *what,
			    const struct node *n);
void load_qos(struct load *l, struct rs_fabric *f, const struct node *n);
/* After all that says what links carry: NICs' buffers and pauses against 802.1Q's times. */
void check_pauses(struct load *l, struct rs_fabric *f, const struct node *qos);
void load_cc(struct load *l, struct rs_fabric *f, const struct node *n);
void load_transport(struct load *l, struct rs_fabric *f, const struct node *n);
void load_workload(struct load *l, struct rs_fabric *f, const struct node *n);
/* Given paths: what they are looked up in, made once a load; a list of nodes for one flow; a CSV
 * for a job's flows. ack: the paths are those of the ACKs. */
struct paths;
struct paths *paths_open(struct load *l, struct rs_fabric *f);
void paths_list(struct paths *p, struct rs_flow *flow, const struct node *list, bool ack);
void paths_csv(struct paths *p, struct rs_job *job, const struct node *n, bool ack);
/* Where a job's ranks are: what is said, then, of all jobs, what follows. */
void place_read(struct load *l, struct rs_fabric *f, const struct node *job, const struct node *n,
		struct rs_collective_conf *c);
void place_jobs(struct load *l, struct rs_fabric *f);
void load_whatifs(struct load *l, struct rs_fabric *f, const struct node *n);
/* A whole file, at most max bytes; NULL after an error. Freed by the caller. */
char *read_file(struct load *l, const char *path, size_t max, struct rs_where at, size_t *n);
/* path relative to the file that names it. */
const char *beside(struct load *l, const char *path);

/* The inside of a host being put together. */
struct rs_host *host_written(struct load *l, const struct node *group);
void host_overlay(struct load *l, struct rs_host *h, const struct node *n);
struct rs_host *host_copy(struct load *l, const struct rs_host *h);
void host_change(struct load *l, struct rs_host *h, const struct node *n);
void host_sort(struct load *l, struct rs_host *h);

/* Host groups' keys, network kinds, jobs: names in the order of the enums. */
extern const char *const network_kinds[],
	*const place_names[], *const routing_names[], *const tier_names[],
							      *const coll_ops[],
								      *const coll_algorithms[];

#endif
