/* Runs side by side: each a thread of its own, sharing nothing but the fabrics that they read. */
#include <errno.h>
#include <stdlib.h>
#include "sim/sim.h"
#ifndef RS_NO_THREADS
#include <pthread.h>
#include <unistd.h>
#endif

struct queue {
	struct rs_sim_case *cases;
	uint32_t n, next;
};

static void run(struct rs_sim_case *c)
{
	if (c->begin)
		c->begin(c);
	if (!c->error.code)
		rs_sim_run(c->fabric, &c->options, &c->result, &c->error);
	if (c->end)
		c->end(c);
}

static void *worker(void *arg)
{
	struct queue *q = arg;

	for (;;) {
		uint32_t i = __atomic_fetch_add(&q->next, 1, __ATOMIC_RELAXED);

		if (i >= q->n)
			return NULL;
		run(&q->cases[i]);
	}
}

#ifdef RS_NO_THREADS
unsigned rs_sim_run_all(struct rs_sim_case *cases, uint32_t n, unsigned threads)
{
	struct queue q = {cases, n, 0};

	worker(&q);
	return 1;
}
#else
unsigned rs_sim_run_all(struct rs_sim_case *cases, uint32_t n, unsigned threads)
{
	struct queue q = {cases, n, 0};
	pthread_t id[64];
	unsigned started = 0;

	if (!threads) {
		long cores = sysconf(_SC_NPROCESSORS_ONLN);

		threads = cores > 0 ? (unsigned)cores : 1;
	}
	if (threads > 64)
		threads = 64;
	/* a thread a run while there are runs; what is left over is the runs' own */
	for (uint32_t i = 0; i < n; i++)
		if (!cases[i].options.threads)
			cases[i].options.threads = n && threads > n ? threads / n : 1;
	if (threads > n)
		threads = n;
	/* this thread works too; a thread that cannot start is done without */
	for (unsigned i = 1; i < threads; i++)
		if (!pthread_create(&id[started], NULL, worker, &q))
			started++;
	worker(&q);
	for (unsigned i = 0; i < started; i++)
		pthread_join(id[i], NULL);
	return n == 1 && cases[0].result ? cases[0].result->threads : started + 1;
}
#endif
