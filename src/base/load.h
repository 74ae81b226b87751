/*
 * Making something out of an input, step by step: its arena, its first error, which sticks (later
 * steps do nothing), and where files named inside are. Small programs use one on the stack.
 */
#ifndef RS_BASE_LOAD_H
#define RS_BASE_LOAD_H

#include <stdint.h>
#include "base/arena.h"
#include "base/error.h"

struct rs_load {
	struct rs_arena *arena;
	struct rs_error *e; /* not NULL */
	int err;            /* 0, or the first error's negative errno */
	const char *name, *base_dir;
	uint32_t n_nodes, n_items; /* of text/tree.h: nodes are made once, aliases are items that
				    * share them */
};

/* Keeps the first error; returns it. */
int rs_load_fail(struct rs_load *l, int code, struct rs_where at, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Zeroed, of the arena; NULL after an error. */
void *rs_load_take(struct rs_load *l, size_t n, size_t size);
char *rs_load_string(struct rs_load *l, const char *s);
/* A whole regular file, at most max bytes, and a NUL behind it; NULL after an error. Freed by the
 * caller. */
char *rs_load_file(struct rs_load *l, const char *path, size_t max, struct rs_where at, size_t *n);
/* path relative to the file that names it. */
const char *rs_load_beside(struct rs_load *l, const char *path);

#endif
