/*
 * Traces of other programs as graphs of work: Chakra execution traces (protobuf or JSON, a file a
 * rank), GOAL schedules of LogGOPSim and ATLAHS (text), workloads of SimAI and ASTRA-sim 1 (text)
 * and of AICB (CSV), verbose logs of NCCL's Inspector (JSON, a file a process).
 * Which one a file is, its content says.
 */
#ifndef RS_IMPORT_TRACE_H
#define RS_IMPORT_TRACE_H

#include "base/load.h"
#include "fabric/work.h"

enum {
	RS_TRACE_FILES_MAX = 65536,
	RS_TRACE_MESSAGE_MAX = 64 << 20, /* bytes of a node */
};

struct rs_trace_conf {
	const char *const
		*file; /* of ranks 0, 1, ...; one name with "%d" stands for all that are */
	uint32_t n_files;
	const char *groups; /* JSON of Chakra's process groups: {"name": [ranks]}; NULL: none */
	double flops;       /* of a GPU, for computations that say operations and no time */
	uint32_t ranks;     /* of a file that does not say how many it is for; 0: it must */
};
/* In l's arena; NULL after an error, which names file and place. */
struct rs_work *rs_trace_read(struct rs_load *l, const struct rs_trace_conf *c, struct rs_where at);
/* One file's text, for fuzzing. */
struct rs_work *rs_trace_read_text(struct rs_load *l, const char *text, size_t n, const char *name);

#endif
