/* Private to lib/: the library's objects over the rooms. Nothing here is another way to do what a
 * room does: calls are checked, translated and passed on. */
#ifndef RS_LIB_LIB_H
#define RS_LIB_LIB_H

#include <stdio.h>
#include <ripstop/base.h>
#include <stdbool.h>
#include "base/error.h"

/* Into *out, where the caller wants it; returns code. */
int lib_error(struct ripstop_error **out, const struct rs_error *e, int code);
int lib_fail(struct ripstop_error **out, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * A structure as the caller was compiled into one as we were: what the caller does not know is 0.
 * -EINVAL where it has fields that we do not know and that are not 0, or no sensible size.
 */
int lib_take(void *ours, size_t our_size, const void *theirs, const char *what,
	     struct ripstop_error **e);
/* The other way: as much as there is room for; theirs keeps its size. */
void lib_give(void *theirs, const void *ours, size_t our_size);
/* How many of n elements from `from` on there are of `all`. */
static inline size_t lib_within(size_t all, size_t from, size_t n)
{
	return from >= all ? 0 : n < all - from ? n : all - from;
}

/* What `write` writes of `of`, as a text that the caller frees; NULL and an error when it fails. */
int lib_json(char **text, int (*write)(const void *of, FILE *out), const void *of,
	     struct ripstop_error **e);
/* Elements from + 0 .. of ours into theirs; returns how many were written. */
size_t lib_give_array(void *theirs, size_t each, size_t n, const void *ours, size_t our_size);

#endif
