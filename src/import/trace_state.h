/* Private to import/: a trace being read. */
#ifndef RS_IMPORT_TRACE_STATE_H
#define RS_IMPORT_TRACE_STATE_H

#include <stdio.h>
#include "import/trace.h"

enum { TRACE_GPU, TRACE_CPU, TRACE_MEMORY }; /* units of a rank, of Chakra */

/* A process group by its name. */
struct trace_group {
	const char *name;
	uint32_t group;
};
/* Nodes of the rank at work, and what they wait for, by the trace's numbers. */
struct trace_id {
	uint64_t id;
	uint32_t node;
};
struct trace_dep {
	uint32_t node;
	uint64_t on;
};

struct trace {
	struct rs_load *l;
	const struct rs_trace_conf *c;
	struct rs_work *w;
	const char *name; /* of the file */
	uint32_t rank;
	struct trace_group *group;
	uint32_t n_groups, room_groups;
	struct trace_id *id;
	struct trace_dep *dep;
	uint32_t n_ids, room_ids, n_deps, room_deps;
	uint32_t everyone; /* the group of all; RS_WORK_NONE: not yet made */
};

/* ---- For the readers ---- */

/* Room for one more; false after an error. */
bool trace_grow(struct trace *t, void **array, uint32_t n, uint32_t *room, size_t size);
/* A node of the rank at work, with its number in the trace. */
uint32_t trace_node(struct trace *t, const struct rs_work_node *n, uint64_t id, struct rs_where at);
/* The last node waits for the one of this number, which may come later. */
void trace_after(struct trace *t, uint64_t on);
/* After a rank's nodes: numbers become nodes. strict: one that is not there, or is the node itself,
 * is an error; else it is counted in the work's `missing`. */
void trace_close_rank(struct trace *t, bool strict, struct rs_where at);
uint32_t trace_everyone(struct trace *t);
/* A group by name, made of these ranks; another one of the name is replaced. */
void trace_add_group(struct trace *t, const char *name, const uint32_t *ranks, uint32_t n,
		     struct rs_where at);
uint32_t trace_find_group(struct trace *t, const char *name); /* RS_WORK_NONE */

/* A collective as Chakra names them, schema/protobuf/et_def.proto, CollectiveCommType. */
enum chakra_comm {
	CHAKRA_ALL_REDUCE,
	CHAKRA_REDUCE,
	CHAKRA_ALL_GATHER,
	CHAKRA_GATHER,
	CHAKRA_SCATTER,
	CHAKRA_BROADCAST,
	CHAKRA_ALL_TO_ALL,
	CHAKRA_REDUCE_SCATTER,
	CHAKRA_REDUCE_SCATTER_BLOCK,
	CHAKRA_BARRIER,
};
/* NodeType of the same file. */
enum chakra_type {
	CHAKRA_INVALID,
	CHAKRA_METADATA,
	CHAKRA_MEM_LOAD,
	CHAKRA_MEM_STORE,
	CHAKRA_COMP,
	CHAKRA_SEND,
	CHAKRA_RECV,
	CHAKRA_COLL,
};
/* What either form of a Chakra node says. */
struct chakra_node {
	uint64_t id, type, micros, ps, ops, size, tag, comm;
	uint32_t src, dst;
	bool cpu, has_src, has_dst, has_comm, some_dims_off;
	char group[64]; /* pg_name; "": everyone */
	char *about;    /* inputs' values of metadata, which may define groups; NULL */
	uint64_t *dep;
	uint32_t n_deps, room_deps;
};
void chakra_node(struct trace *t, struct chakra_node *k, struct rs_where at);
/* JSON: {"name": [ranks]}; or PyTorch's list of process groups. */
void trace_groups(struct trace *t, const char *text, size_t n, const char *name);

void trace_chakra(struct trace *t, FILE *in);
void trace_json(struct trace *t, FILE *in);
/* These have all ranks in one file, and make the work. */
void trace_goal(struct trace *t, FILE *in);
void trace_simai(struct trace *t, FILE *in);
void trace_aicb(struct trace *t, FILE *in);

enum { TRACE_LOG_MAX = 256 << 20 };
/* These have a file a process, and make the work: all of them at once; one text, for fuzzing. */
void trace_inspector(struct trace *t, const char *const *file, uint32_t n, struct rs_where at);
void trace_inspector_text(struct trace *t, const char *text, size_t n);

#endif
