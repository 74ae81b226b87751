/* Private to lib/: the library's objects over the rooms. Nothing here is another way to do what a
 * room does: calls are checked, translated and passed on. */
#ifndef RS_LIB_LIB_H
#define RS_LIB_LIB_H

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
/* Elements from + 0 .. of ours into theirs; returns how many were written. */
size_t lib_give_array(void *theirs, size_t each, size_t n, const void *ours, size_t our_size);

#endif
