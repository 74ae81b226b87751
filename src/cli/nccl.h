/* Private to cli/: the job of `ripstop nccl`, and its JSON. */
#ifndef RS_CLI_NCCL_H
#define RS_CLI_NCCL_H

#include "nccl/job.h"
#include "nccl/log.h"
#include "nccl/tune.h"

struct rs_cli_nccl_job {
	const char *file, *gpus, *job, *gpu, *nic;
	uint32_t nodes; /* 0: not said */
	const struct rs_nccl_log *log;
};
/* The plan; what keeps it alive: the arena, *fabric (NULL: none), env. *assumed: words, or NULL. */
int rs_cli_nccl_load(const struct rs_cli_nccl_job *job, const struct rs_nccl_env *env,
		     struct rs_arena *a, struct rs_fabric **fabric, struct rs_nccl_plan **out,
		     const char **assumed, struct rs_error *e);

/* The table and the choice by size as text, or (csv) as a tuner's file. */
int rs_cli_nccl_tune(const struct rs_nccl_plan *p, const struct rs_nccl_tune_conf *conf, bool csv,
		     struct rs_arena *a, FILE *out, struct rs_error *e);

void rs_cli_nccl_json(const struct rs_nccl_plan *p, const struct rs_nccl_print *how,
		      const char *assumed, FILE *out);
void rs_cli_nccl_compared(const struct rs_nccl_compared *c, FILE *out);
void rs_cli_nccl_compared_json(const struct rs_nccl_compared *c, FILE *out);

#endif
