/*
 * Memory that is freed all at once: a description, a run's set-up. Zeroed, aligned to 16 bytes.
 * Never used on a data path.
 */
#ifndef RS_BASE_ARENA_H
#define RS_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

struct rs_arena;

/* limit: total bytes that may be taken, 0 = no limit. NULL when there is no memory. */
struct rs_arena *rs_arena_create(size_t limit);
void rs_arena_destroy(struct rs_arena *a);
/* n * size zeroed bytes; NULL when the product overflows, the limit is reached or memory is out. */
void *rs_arena_alloc(struct rs_arena *a, size_t n, size_t size);
char *rs_arena_strdup(struct rs_arena *a, const char *s);
char *rs_arena_printf(struct rs_arena *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
size_t rs_arena_used(const struct rs_arena *a);

#endif
