/*
 * Copies to and from an application's memory, which may turn out not to be there: a file mapping
 * past its end, memory that was unmapped or protected while it is registered. A NIC's request ends
 * with an error then, and no signal kills the program.
 *
 * SIGBUS and SIGSEGV have handlers for this, from the first opened device on. A fault of anything
 * but such a copy goes to the handler that was there before, or kills as ever. A program that
 * installs handlers of its own later has them, and such a fault is theirs. On processors other
 * than x86-64 and 64-bit Arm there are no handlers, and a fault kills.
 */
#ifndef RS_LIVE_GUARD_H
#define RS_LIVE_GUARD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RS_GUARD_PAGE = 4096 /* the least that any of these processors has */ };

/* Once, before the first copy. */
void rs_guard_open(void);
/* False: a fault; some of the bytes may be there. Eight bytes, both ends at a multiple of 8, are
 * copied as one. */
bool rs_guard_copy(void *to, const void *from, size_t n);
/* False: a fault. The word at a multiple of 8 becomes next if it is as expected, as one step for
 * all processors; *expected is what it was. */
bool rs_guard_swap(uint64_t *at, uint64_t *expected, uint64_t next, bool *done);
/* Does reading each page of n bytes fault? */
bool rs_guard_reads(const void *from, size_t n);
/* A thread that has all other signals blocked must not block these. */
void rs_guard_allow(sigset_t *blocked);

#endif
