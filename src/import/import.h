/* Descriptions of machines that other programs wrote, as the structs of this one: a host's inside
 * from NCCL's topology or hwloc's XML. What a file does not say stays unknown. */
#ifndef RS_IMPORT_IMPORT_H
#define RS_IMPORT_IMPORT_H

#include <stddef.h>
#include "base/arena.h"
#include "base/error.h"
#include "host/host.h"

/* A host from a NCCL topology or hwloc XML, recognised by content; in the arena. Refused with a
 * reason that a person can act on. */
int rs_host_import(const char *path, struct rs_arena *a, struct rs_host **out, struct rs_error *e);
/* The same from memory; text is followed by a NUL that n does not count. For fuzzing. */
int rs_host_import_text(const char *text, size_t n, const char *name, struct rs_arena *a,
			struct rs_host **out, struct rs_error *e);

/* The host room's CPU class of a CPUID vendor, family and model, extended fields added as the
 * kernel does or as NCCL does; NULL for others. */
const char *rs_import_cpu(const char *vendor, int family, int model);

#endif
