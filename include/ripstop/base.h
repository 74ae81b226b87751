/*
 * libripstop: what all its parts share. See ripstop(3).
 *
 * Rules that hold everywhere:
 * - A call that can fail returns 0 or a negative errno. Its last argument takes an error, which the
 *   caller frees; NULL: the caller does not want it. What it stored there before is not looked at.
 * - A structure that the caller fills begins with its size: RIPSTOP_INIT(struct ripstop_x) is one
 *   with all else 0, which means "the default". Later versions add fields at the end only.
 * - Arrays are copied out: a call is given the caller's array, its place and the size of an element
 *   as the caller was compiled, and returns how many elements there are in all.
 * - Times are picoseconds in an int64_t, RIPSTOP_NEVER is later than all of them. Rates are bits
 *   per second in an int64_t. Addresses of hosts are 16 bytes, as in a GID: IPv4 is ::ffff:a.b.c.d.
 * - Nothing is global. An object is used by one thread at a time; two objects that were not made
 *   from each other have nothing in common. A fabric may be simulated by several threads at once
 *   while none changes it.
 * - Nothing is printed and no call ends the program.
 */
#ifndef RIPSTOP_BASE_H
#define RIPSTOP_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RIPSTOP_VERSION_MAJOR 0
#define RIPSTOP_VERSION_MINOR 1

#ifndef RIPSTOP_API
#define RIPSTOP_API __attribute__((visibility("default")))
#endif

#define RIPSTOP_NEVER INT64_MAX

/* struct ripstop_sim_options o = RIPSTOP_INIT(struct ripstop_sim_options); */
#ifdef __cplusplus
#define RIPSTOP_INIT(type)   \
	{                    \
		sizeof(type) \
	}
#else
#define RIPSTOP_INIT(type) ((type){.size = sizeof(type)})
#endif

/* "0.1.0" of the library that runs, which may be newer than the headers. */
RIPSTOP_API const char *ripstop_version(void);

/*
 * Whether the library was built with a part: "sim", "yaml" (descriptions as YAML or JSON text),
 * "xml" (NCCL's and hwloc's host files), "audit", "threads". 1 or 0.
 */
RIPSTOP_API int ripstop_has(const char *part);

/* ---- Errors ---- */

struct ripstop_error;

RIPSTOP_API int ripstop_error_code(const struct ripstop_error *e); /* a negative errno */
/* What is wrong, without the place: "expected a rate such as 400G, found '400'". */
RIPSTOP_API const char *ripstop_error_message(const struct ripstop_error *e);
/* What to do about it; may be "". */
RIPSTOP_API const char *ripstop_error_hint(const struct ripstop_error *e);
/* Where: a file, or the path of a setting ("fabric.network.rate"); "" where there is none. Lines
 * and columns are counted from 1; 0: not known. */
RIPSTOP_API const char *ripstop_error_file(const struct ripstop_error *e);
RIPSTOP_API int ripstop_error_line(const struct ripstop_error *e);
RIPSTOP_API int ripstop_error_column(const struct ripstop_error *e);
/* "file:line:column: message (hint)". */
RIPSTOP_API const char *ripstop_error_text(const struct ripstop_error *e);
RIPSTOP_API void ripstop_error_free(struct ripstop_error *e);

/* Frees a text that a call gave to the caller. */
RIPSTOP_API void ripstop_free(void *text);

#ifdef __cplusplus
}
#endif

#endif
