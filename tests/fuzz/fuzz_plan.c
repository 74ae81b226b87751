/* NCCL's topology XML and its log: refused with a reason, or a host of which a plan is made; the
 * log held against the plan tells no more lines the same than there are. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "nccl/log.h"
#include "fuzz.h"

enum { GPUS = 4 };

static void plan(const struct rs_nccl_host *h, const char *text, size_t n, struct rs_arena *a)
{
	struct rs_nccl_place places[2 * GPUS];
	const struct rs_nccl_host *hosts[] = {h, h};
	struct rs_nccl_job job = {2, 0, hosts, places, NULL};
	struct rs_nccl_compared c;
	struct rs_nccl_env env;
	struct rs_nccl_plan *p;
	struct rs_error e = {0};

	/* searches of more would take NCCL's own second each */
	if (h->n_gpus > GPUS || h->n_ports > GPUS)
		return;
	for (uint32_t k = 0; k < 2; k++)
		for (int i = 0; i < h->n_items; i++)
			if (h->items[i].kind == RS_NCCL_GPU)
				places[job.n_ranks++] =
					(struct rs_nccl_place){k, h->items[i].dev, 0};
	rs_nccl_env_init(&env, n % 2 ? 21805 : 22707);
	if (rs_nccl_plan_make(&job, &env, a, &p, &e)) {
		rs_assert(e.code && e.what[0]);
		return;
	}
	rs_assert(p->n_channels > 0);
	rs_assert(!rs_nccl_compare(p, &(struct rs_nccl_print){.net = "IB"}, text, n, "fuzz", NULL,
				   &c));
	for (int i = 0; i < RS_NCCL_LINES; i++)
		rs_assert(c.same[i] <= c.lines[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct rs_arena *a = rs_arena_create(256 << 20);
	struct rs_error e = {0};
	struct rs_nccl_assume assume = {0};
	struct rs_nccl_host *h = NULL;
	struct rs_nccl_log *log;
	char *text = malloc(n + 1);
	int err;

	rs_assert(a && text);
	memcpy(text, bytes, n);
	text[n] = '\0';
	if (n && *text == '<') {
		err = rs_nccl_host_parse(text, n, "fuzz.xml", &assume, a, &h, &e);
	} else {
		err = rs_nccl_log_read(text, n, "fuzz.log", a, &log, &e);
		if (!err)
			err = rs_nccl_host_drawn(text, n, "fuzz.log", log, 22707, &assume, a, &h,
						 &e);
	}
	if (err)
		rs_assert(!h && e.code == err && e.what[0] && e.file[0]);
	else
		plan(h, text, n, a);
	free(text);
	rs_arena_destroy(a);
	return 0;
}
