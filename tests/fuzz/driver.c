/*
 * Runs a fuzz target without libFuzzer: every seed, then a number of mutations of them, the same
 * ones each time. The input that stops the program is left in a file; run that file alone to see it
 * again.
 */
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "base/random.h"
#include "fuzz.h"

enum { SEEDS_MAX = 1024, SEED_BYTES_MAX = 1 << 20, STEPS_MAX = 8, GROWTH = 256 };

struct seed {
	uint8_t *bytes;
	size_t n;
};
static struct seed seeds[SEEDS_MAX];
static unsigned n_seeds;
static struct seed now; /* what the target is given */
static char crash[512];

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void leave_input(void)
{
	FILE *f = fopen(crash, "wb");

	if (!f || fwrite(now.bytes, 1, now.n, f) != now.n || fclose(f))
		fprintf(stderr, "%s cannot be written\n", crash);
	else
		fprintf(stderr, "the input is in %s\n", crash);
}

static void stopped(int signal_number)
{
	signal(signal_number, SIG_DFL);
	leave_input();
	raise(signal_number);
}

/* There when a sanitizer is linked in: it ends the program without a signal. */
extern void __sanitizer_set_death_callback(void (*f)(void)) __attribute__((weak));

static void watch(const char *program)
{
	const char *name = strrchr(program, '/');

	snprintf(crash, sizeof(crash), "crash-%s", name ? name + 1 : program);
	signal(SIGABRT, stopped);
	signal(SIGTRAP, stopped);
	if (__sanitizer_set_death_callback) {
		__sanitizer_set_death_callback(leave_input);
	} else {
		signal(SIGSEGV, stopped);
		signal(SIGBUS, stopped);
		signal(SIGFPE, stopped);
	}
}

static void add_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct seed *s = &seeds[n_seeds];

	if (!f || n_seeds == SEEDS_MAX || !(s->bytes = malloc(SEED_BYTES_MAX))) {
		fprintf(stderr, "%s: cannot be read, or more than %d seeds\n", path, SEEDS_MAX);
		exit(2);
	}
	s->n = fread(s->bytes, 1, SEED_BYTES_MAX, f);
	fclose(f);
	n_seeds++;
}

/* A file, or a folder of seeds and their SOURCES. */
static void add(const char *path)
{
	struct dirent **entries = NULL;
	struct stat st;
	char child[4096];
	int n;

	if (stat(path, &st) || !S_ISDIR(st.st_mode)) {
		add_file(path);
		return;
	}
	n = scandir(path, &entries, NULL, by_name);
	for (int i = 0; i < n; i++) {
		snprintf(child, sizeof(child), "%s/%s", path, entries[i]->d_name);
		if (!stat(child, &st) && S_ISREG(st.st_mode) &&
		    strcmp(entries[i]->d_name, "SOURCES"))
			add_file(child);
		free(entries[i]);
	}
	free(entries);
}

/* Exactly as many bytes as the input has: a read behind it is seen by a sanitizer. */
static void give(const uint8_t *bytes, size_t n)
{
	uint8_t *exact = malloc(n ? n : 1);

	if (!exact)
		exit(3);
	memcpy(exact, bytes, n);
	now = (struct seed){exact, n};
	LLVMFuzzerTestOneInput(exact, n);
	free(exact);
}

struct mutant {
	struct rs_random *r;
	uint8_t *b;
	size_t n, room;
};

static size_t below(struct mutant *m, size_t n)
{
	return n ? rs_random_below(m->r, (uint32_t)n) : 0;
}

static void put(struct mutant *m, size_t at, const void *bytes, size_t n)
{
	if (m->n + n > m->room)
		return;
	memmove(m->b + at + n, m->b + at, m->n - at);
	memcpy(m->b + at, bytes, n);
	m->n += n;
}

static void flip_bit(struct mutant *m)
{
	if (m->n)
		m->b[below(m, m->n)] ^= (uint8_t)(1 << below(m, 8));
}

static void change_byte(struct mutant *m)
{
	static const uint8_t liked[] = {0, 1, 0x7f, 0x80, 0xff, '\n', ' ', '"', '-', ':', '0', '9'};

	if (m->n)
		m->b[below(m, m->n)] =
			below(m, 2) ? liked[below(m, sizeof(liked))] : (uint8_t)rs_random_u64(m->r);
}

static void change_word(struct mutant *m)
{
	static const uint32_t liked[] = {0,          UINT32_MAX, 0x7fffffff, 0x80000000,
					 0x00010000, 0xffff,     0x01000000, 24};
	uint32_t v = liked[below(m, sizeof(liked) / sizeof(liked[0]))];
	size_t n = below(m, 2) ? 4 : 2;

	if (m->n >= n)
		memcpy(m->b + below(m, m->n - n + 1), &v, n);
}

static void cut_out(struct mutant *m)
{
	size_t at = below(m, m->n), n = 1 + below(m, 64);

	n = n > m->n - at ? m->n - at : n;
	memmove(m->b + at, m->b + at + n, m->n - at - n);
	m->n -= n;
}

static void cut_off(struct mutant *m)
{
	m->n = below(m, m->n + 1);
}

static void insert_bytes(struct mutant *m)
{
	uint64_t v = rs_random_u64(m->r);

	put(m, below(m, m->n + 1), &v, 1 + below(m, 8));
}

static void insert_text(struct mutant *m)
{
	static const char *const liked[] = {"-1",    "0",   "18446744073709551616",
					    "1e999", "*a",  "&a ",
					    "{",     "[",   "]",
					    "}",     "\n",  "\"",
					    "# ",    "\t",  "<!--",
					    "&lt;",  "<x>", "9223372036854775807",
					    ",,",    "<<: "};
	const char *s = liked[below(m, sizeof(liked) / sizeof(liked[0]))];

	put(m, below(m, m->n + 1), s, strlen(s));
}

/* A run of this input again, elsewhere in it. */
static void repeat_run(struct mutant *m)
{
	uint8_t copy[GROWTH];
	size_t from = below(m, m->n), n = 1 + below(m, GROWTH);

	n = n > m->n - from ? m->n - from : n;
	memcpy(copy, m->b + from, n);
	put(m, below(m, m->n + 1), copy, n);
}

/* A run of another seed. */
static void splice(struct mutant *m)
{
	const struct seed *s = &seeds[below(m, n_seeds)];
	size_t from = below(m, s->n), n = 1 + below(m, GROWTH);

	put(m, below(m, m->n + 1), s->bytes + from, n > s->n - from ? s->n - from : n);
}

static void (*const steps[])(struct mutant *) = {
	flip_bit,     change_byte, change_word, cut_out, cut_off,
	insert_bytes, insert_text, repeat_run,  splice,
};

static void mutate(uint64_t seed, uint64_t i)
{
	struct rs_random r = rs_random_stream(seed, i, 0);
	struct mutant m = {.r = &r};
	const struct seed *from = &seeds[below(&m, n_seeds)];

	m.room = from->n + STEPS_MAX * GROWTH;
	m.b = malloc(m.room);
	if (!m.b)
		exit(3);
	memcpy(m.b, from->bytes, from->n);
	m.n = from->n;
	for (size_t k = 1 + below(&m, STEPS_MAX); k; k--)
		steps[below(&m, sizeof(steps) / sizeof(steps[0]))](&m);
	give(m.b, m.n);
	free(m.b);
}

int main(int argc, char **argv)
{
	uint64_t mutations = 0, seed = 1;
	int option;

	while ((option = getopt(argc, argv, "n:s:")) != -1) {
		if (option == 'n')
			mutations = strtoull(optarg, NULL, 10);
		else if (option == 's')
			seed = strtoull(optarg, NULL, 10);
		else
			return 2;
	}
	for (int i = optind; i < argc; i++)
		add(argv[i]);
	if (!n_seeds) {
		fprintf(stderr, "usage: %s [-n MUTATIONS] [-s SEED] FILE-OR-FOLDER...\n", argv[0]);
		return 2;
	}
	watch(argv[0]);
	for (unsigned i = 0; i < n_seeds; i++)
		give(seeds[i].bytes, seeds[i].n);
	for (uint64_t i = 0; i < mutations; i++)
		mutate(seed, i);
	printf("%u seeds and %llu mutations of them hold\n", n_seeds,
	       (unsigned long long)mutations);
	for (unsigned i = 0; i < n_seeds; i++)
		free(seeds[i].bytes);
	return 0;
}
