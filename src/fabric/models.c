/*
 * Published models, with the parallelism that their authors trained them with. Each row names where
 * its figures stand; what a source does not say is left at the default and marked.
 */
#include <string.h>
#include "fabric/models.h"

/* clang-format off */
static const struct rs_model_preset presets[] = {
	/* Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models" (2022),
	 * table 3: sizes, tensor 8, pipeline 1, 8, 35, 64, micro-batch 4, 1, 1, 1, batch 4, 64, 280,
	 * 512 of one replica, sequence 2048, vocabulary 51200; 3 chunks a stage for 175B and 530B.
	 * Sequence parallel. */
	{.model = {.name = "gpt-22b", .layers = 48, .hidden = 6144, .heads = 64, .ffn = 24576,
		   .vocab = 51200, .sequence = 2048},
	 .tp = 8, .pp = 1, .chunks = 1, .micro_batch = 4, .microbatches = 1, .sequence = true},
	{.model = {.name = "gpt-175b", .layers = 96, .hidden = 12288, .heads = 96, .ffn = 49152,
		   .vocab = 51200, .sequence = 2048},
	 .tp = 8, .pp = 8, .chunks = 3, .micro_batch = 1, .microbatches = 64, .sequence = true,
	 .schedule = RS_SCHEDULE_INTERLEAVED},
	{.model = {.name = "gpt-530b", .layers = 105, .hidden = 20480, .heads = 128, .ffn = 81920,
		   .vocab = 51200, .sequence = 2048},
	 .tp = 8, .pp = 35, .chunks = 3, .micro_batch = 1, .microbatches = 280, .sequence = true,
	 .schedule = RS_SCHEDULE_INTERLEAVED},
	{.model = {.name = "gpt-1t", .layers = 128, .hidden = 25600, .heads = 160, .ffn = 102400,
		   .vocab = 51200, .sequence = 2048},
	 .tp = 8, .pp = 64, .chunks = 1, .micro_batch = 1, .microbatches = 512, .sequence = true},
	/* Le Scao et al., "BLOOM" (2022), tables 3 and section 3.4: tensor 4, pipeline 12, data 8,
	 * batch 2048 sequences, micro-batch 2, ZeRO 1. */
	{.model = {.name = "bloom-176b", .layers = 70, .hidden = 14336, .heads = 112, .ffn = 57344,
		   .vocab = 250880, .sequence = 2048},
	 .tp = 4, .pp = 12, .chunks = 1, .micro_batch = 2, .microbatches = 128, .zero = 1},
	/* Llama Team, "The Llama 3 Herd of Models" (2024), table 3 (sizes) and table 4 (405B on 8192
	 * GPUs: tensor 8, context 1, pipeline 16, data 64, 32 sequences of 8192 a replica); section
	 * 3.3.2: FSDP that shards optimizer states and gradients and does not gather twice, all-gather
	 * for context, interleaved stages, of which the first and the last have a layer less. Chunks a
	 * stage: not said; 1. */
	{.model = {.name = "llama3-405b", .layers = 126, .hidden = 16384, .heads = 128, .kv_heads = 8,
		   .ffn = 53248, .gated = true, .vocab = 128256, .sequence = 8192},
	 .tp = 8, .pp = 16, .chunks = 1, .micro_batch = 1, .microbatches = 32, .zero = 2,
	 .ends = 1, .sequence = true, .context = RS_CONTEXT_ALL_GATHER},
	/* The same, table 3; how these were trained is not said. */
	{.model = {.name = "llama3-70b", .layers = 80, .hidden = 8192, .heads = 64, .kv_heads = 8,
		   .ffn = 28672, .gated = true, .vocab = 128256, .sequence = 8192},
	 .tp = 8, .pp = 1, .chunks = 1, .micro_batch = 1, .microbatches = 4, .zero = 2,
	 .sequence = true, .context = RS_CONTEXT_ALL_GATHER},
	{.model = {.name = "llama3-8b", .layers = 32, .hidden = 4096, .heads = 32, .kv_heads = 8,
		   .ffn = 14336, .gated = true, .vocab = 128256, .sequence = 8192},
	 .tp = 1, .pp = 1, .chunks = 1, .micro_batch = 1, .microbatches = 1, .zero = 3},
	/* DeepSeek-AI, "DeepSeek-V3 Technical Report" (2024), section 4.2 (sizes) and 3.2: pipeline 16,
	 * expert 64, data with ZeRO 1, no tensor parallelism; batch 15360 of 4096 on 2048 GPUs is 120 a
	 * replica; FP8 to experts. Their DualPipe, which hides exchanges under other microbatches, is
	 * run as 1F1B. attention: q 7168x1536 + 1536x128x192, kv 7168x576 + 512x128x256, out
	 * 128x128x7168; head_dim: scores take 192, values 128, a head's mean. */
	{.model = {.name = "deepseek-v3", .layers = 61, .hidden = 7168, .heads = 128, .head_dim = 160,
		   .attention = 187105280, .ffn = 18432, .gated = true, .vocab = 129280,
		   .sequence = 4096, .experts = 256, .top_k = 8, .shared = 1, .expert_ffn = 2048,
		   .dense = 3},
	 .tp = 1, .pp = 16, .ep = 64, .chunks = 1, .micro_batch = 1, .microbatches = 120, .zero = 1,
	 .dispatch = 1},
	/* Jiang et al., "Mixtral of Experts" (2024), table 1; how it was trained is not said. */
	{.model = {.name = "mixtral-8x7b", .layers = 32, .hidden = 4096, .heads = 32, .kv_heads = 8,
		   .head_dim = 128, .gated = true, .vocab = 32000, .sequence = 32768, .experts = 8,
		   .top_k = 2, .expert_ffn = 14336},
	 .tp = 1, .pp = 1, .ep = 8, .chunks = 1, .micro_batch = 1, .microbatches = 1, .zero = 1},
};
/* clang-format on */

enum { PRESETS = sizeof(presets) / sizeof(*presets) };

const char *const rs_model_names[] = {"gpt-22b",     "gpt-175b",     "gpt-530b",   "gpt-1t",
				      "bloom-176b",  "llama3-405b",  "llama3-70b", "llama3-8b",
				      "deepseek-v3", "mixtral-8x7b", NULL};

const struct rs_model_preset *rs_model_find(const char *name)
{
	for (unsigned i = 0; i < PRESETS; i++)
		if (!strcmp(presets[i].model.name, name))
			return &presets[i];
	return NULL;
}

void rs_model_close(struct rs_model *m)
{
	if (!m->kv_heads)
		m->kv_heads = m->heads;
	if (!m->head_dim && m->heads)
		m->head_dim = m->hidden / m->heads;
}

void rs_model_apply(const struct rs_model_preset *p, struct rs_train_conf *t)
{
	t->tp = p->tp;
	t->pp = p->pp;
	t->step.on = true;
	t->step.model = p->model;
	rs_model_close(&t->step.model);
	t->step.cp = 1;
	t->step.ep = p->ep ? p->ep : 1;
	t->step.chunks = p->chunks;
	t->step.micro_batch = p->micro_batch;
	t->step.microbatches = p->microbatches;
	t->step.schedule = p->schedule;
	t->step.context = p->context;
	t->step.zero = p->zero;
	t->step.sequence = p->sequence;
	t->step.ends = p->ends;
	t->step.dispatch = p->dispatch ? p->dispatch : 2;
}
