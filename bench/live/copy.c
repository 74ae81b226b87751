/*
 * What two processes carry that copy into shared memory and out of it, a core each, and do nothing
 * else: the limit of rings between containers, whose kernel lets neither read the other's memory.
 * usage: copy BYTES SECONDS; prints GB/s.
 */
#include <emmintrin.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STAGE = 2 << 20, BLOCK = 64 << 10 }; /* as src/live/shm_ring.h */

struct stage {
	_Alignas(64) atomic_ulong in;
	_Alignas(64) atomic_ulong out;
	_Alignas(4096) uint8_t byte[STAGE];
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void pin(int core)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(core, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static uint8_t *memory(size_t n)
{
	uint8_t *at = aligned_alloc(4096, (n + 4095) / 4096 * 4096);

	if (!at)
		exit(1);
	memset(at, 1, n);
	return at;
}

/* Past this core's cache, from where some cores fetch slower than from memory. */
static void past(uint8_t *to, const uint8_t *from)
{
	for (size_t i = 0; i < BLOCK; i += sizeof(__m128i))
		_mm_stream_si128((__m128i *)(void *)(to + i),
				 _mm_load_si128((const __m128i *)(const void *)(from + i)));
	_mm_sfence();
}

static void put(struct stage *s, size_t n, bool by)
{
	uint8_t *mine = memory(n);

	pin(0);
	for (size_t at = 0;; at = at + BLOCK < n ? at + BLOCK : 0) {
		while (s->in + BLOCK - s->out > STAGE)
			;
		if (by)
			past(s->byte + s->in % STAGE, mine + at);
		else
			memcpy(s->byte + s->in % STAGE, mine + at, BLOCK);
		s->in += BLOCK;
	}
}

static double get(struct stage *s, size_t n, double seconds)
{
	uint8_t *mine = memory(n);
	double begin = 0, t = 0;
	unsigned long from = 0;

	pin(1);
	for (size_t at = 0; begin == 0 || t - begin < seconds;
	     at = at + BLOCK < n ? at + BLOCK : 0) {
		while (s->in == s->out)
			;
		memcpy(mine + at, s->byte + s->out % STAGE, BLOCK);
		s->out += BLOCK;
		if (s->out % STAGE)
			continue;
		t = now();
		if (begin == 0 && s->out >= 64UL * STAGE) {
			begin = t;
			from = s->out;
		}
	}
	free(mine);
	return (double)(s->out - from) * 1e-9 / (t - begin);
}

static double measure(struct stage *s, size_t n, double seconds, bool by)
{
	pid_t child;
	double rate;

	s->in = s->out = 0;
	child = fork();
	if (!child)
		put(s, n, by);
	rate = get(s, n, seconds);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return rate;
}

int main(int argc, char **argv)
{
	struct stage *s =
		mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	size_t n = argc == 3 ? strtoul(argv[1], NULL, 0) / BLOCK * BLOCK : 0;
	double by, past_it;

	if (!n || s == MAP_FAILED) {
		fprintf(stderr, "usage: copy BYTES SECONDS\n");
		return 2;
	}
	by = measure(s, n, atof(argv[2]) / 2, false);
	past_it = measure(s, n, atof(argv[2]) / 2, true);
	printf("%.2f\n", by > past_it ? by : past_it);
	return 0;
}
