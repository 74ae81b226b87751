/* A million memory regions: registered, then deregistered oldest first, newest first, in a random
 * order. ns each, of each round. usage: regions [REGIONS [ROUNDS]]; bench/live/regions runs it. */
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void fill(struct ibv_pd *pd, struct ibv_mr **mr, unsigned n, char *memory)
{
	for (unsigned i = 0; i < n; i++) {
		mr[i] = ibv_reg_mr(pd, memory + i % 64, 64, IBV_ACCESS_LOCAL_WRITE);
		if (!mr[i]) {
			fprintf(stderr, "regions: %u of %u could be registered\n", i, n);
			exit(1);
		}
	}
}

static void empty(struct ibv_mr **mr, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (ibv_dereg_mr(mr[i]))
			exit(1);
}

static void turn(struct ibv_mr **mr, unsigned n)
{
	for (unsigned i = 0; i < n / 2; i++) {
		struct ibv_mr *m = mr[i];

		mr[i] = mr[n - 1 - i];
		mr[n - 1 - i] = m;
	}
}

static void shuffle(struct ibv_mr **mr, unsigned n)
{
	uint64_t x = 88172645463325252u;

	for (unsigned i = n - 1; i; i--) {
		unsigned j;
		struct ibv_mr *m;

		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		j = (unsigned)(x % (i + 1));
		m = mr[i];
		mr[i] = mr[j];
		mr[j] = m;
	}
}

int main(int argc, char **argv)
{
	static const char *const orders[] = {"oldest", "newest", "random"};
	unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 1000000;
	unsigned rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 3;
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *c = list && list[0] ? ibv_open_device(list[0]) : NULL;
	struct ibv_pd *pd = c ? ibv_alloc_pd(c) : NULL;
	struct ibv_mr **mr = calloc(n, sizeof(struct ibv_mr *));
	static char memory[128];

	if (!pd || !mr)
		return 1;
	for (unsigned r = 0; r < 3 * rounds; r++) {
		double begin = now_ns(), full;

		fill(pd, mr, n, memory);
		full = now_ns();
		if (r % 3 == 1)
			turn(mr, n);
		if (r % 3 == 2)
			shuffle(mr, n);
		printf("register %.1f\n", (full - begin) / n);
		begin = now_ns();
		empty(mr, n);
		printf("%s %.1f\n", orders[r % 3], (now_ns() - begin) / n);
	}
	return ibv_dealloc_pd(pd);
}
