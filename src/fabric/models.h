/* Published models by name. */
#ifndef RS_FABRIC_MODELS_H
#define RS_FABRIC_MODELS_H

#include "fabric/fabric.h"

/* A model, and how it was trained; 0: as rs_train_defaults() has it. */
struct rs_model_preset {
	struct rs_model model;
	uint32_t tp, pp, ep, chunks, micro_batch, microbatches;
	enum rs_schedule schedule;
	enum rs_context context;
	uint8_t zero, dispatch, ends;
	bool sequence;
};

extern const char *const rs_model_names[]; /* NULL behind the last */
const struct rs_model_preset *rs_model_find(const char *name);
/* What is 0 follows from the rest: as many heads of keys as of queries, as wide as hidden allows.
 */
void rs_model_close(struct rs_model *m);
/* The model, and its parallelism in place of what t has. */
void rs_model_apply(const struct rs_model_preset *p, struct rs_train_conf *t);

#endif
