/* Memory that is freed all at once, in blocks that double up to a mebibyte. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"

enum { ALIGN = 16, FIRST = 4096, LARGEST = 1 << 20 };

struct block {
	struct block *next;
	size_t size, used; /* of the bytes that follow the header */
};

#define HEADER ((sizeof(struct block) + ALIGN - 1) / ALIGN * ALIGN)

struct rs_arena {
	struct block *top;
	size_t limit, used, next_size;
};

struct rs_arena *rs_arena_create(size_t limit)
{
	struct rs_arena *a = calloc(1, sizeof(*a));

	if (a) {
		a->limit = limit;
		a->next_size = FIRST;
	}
	return a;
}

void rs_arena_destroy(struct rs_arena *a)
{
	while (a && a->top) {
		struct block *b = a->top;

		a->top = b->next;
		free(b);
	}
	free(a);
}

static struct block *block_for(struct rs_arena *a, size_t bytes)
{
	size_t size = bytes > a->next_size ? bytes : a->next_size;
	struct block *b = size > SIZE_MAX - HEADER ? NULL : calloc(1, HEADER + size);

	if (!b)
		return NULL;
	b->size = size;
	b->next = a->top;
	a->top = b;
	if (a->next_size < LARGEST)
		a->next_size *= 2;
	return b;
}

void *rs_arena_alloc(struct rs_arena *a, size_t n, size_t size)
{
	struct block *b = a->top;
	size_t bytes;
	void *p;

	if (__builtin_mul_overflow(n, size, &bytes) || bytes > SIZE_MAX - ALIGN)
		return NULL;
	bytes = (bytes ? bytes + ALIGN - 1 : ALIGN) / ALIGN * ALIGN;
	if (a->limit && bytes > a->limit - a->used)
		return NULL;
	if (!b || b->size - b->used < bytes)
		b = block_for(a, bytes);
	if (!b)
		return NULL;
	p = (char *)b + HEADER + b->used;
	b->used += bytes;
	a->used += bytes;
	return p;
}

char *rs_arena_strdup(struct rs_arena *a, const char *s)
{
	size_t n = strlen(s) + 1;
	char *p = rs_arena_alloc(a, n, 1);

	return p ? memcpy(p, s, n) : NULL;
}

char *rs_arena_printf(struct rs_arena *a, const char *fmt, ...)
{
	va_list ap;
	char *p;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	p = n < 0 ? NULL : rs_arena_alloc(a, (size_t)n + 1, 1);
	if (!p)
		return NULL;
	va_start(ap, fmt);
	vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return p;
}

size_t rs_arena_used(const struct rs_arena *a)
{
	return a->used;
}
