/*
 * Quantities as people write them: 400G (bits per second), 1us, 16MiB, 150kB. A number without a
 * unit is refused, with the units that fit. Pure text; the caller adds the place.
 */
#ifndef RS_BASE_UNITS_H
#define RS_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "base/time.h"

/*
 * Each parses the whole of s (decimal, optional fraction and exponent, then a unit) and returns 0,
 * or -EINVAL (no number, no unit, unknown unit) or -ERANGE (overflow, or negative), with e filled.
 *
 * rate: bits per second: k M G T, with optional "bps", "b/s" or "bit/s" ("400G", "5Mb/s").
 * bytes: B kB MB GB TB (powers of 1000), KiB MiB GiB TiB.
 * time: ps ns us ms s min h; "µs" too. 0 needs no unit, in all three.
 * count: a plain number, fraction and exponent allowed ("175e9", "1.75e11"); no unit.
 */
int rs_parse_rate(const char *s, int64_t *rate, struct rs_error *e);
int rs_parse_bytes(const char *s, uint64_t *bytes, struct rs_error *e);
int rs_parse_time(const char *s, rs_time *t, struct rs_error *e);
int rs_parse_count(const char *s, double *n, struct rs_error *e);
/* An integer in [min, max]: decimal digits only. */
int rs_parse_int(const char *s, int64_t min, int64_t max, int64_t *n, struct rs_error *e);

/*
 * The reverse: the shortest exact form that the parsers read back to the same value ("400G",
 * "16MiB", "1.5us"). buf of 32 bytes always suffices. Return buf.
 */
char *rs_format_rate(char *buf, size_t size, int64_t rate);
char *rs_format_bytes(char *buf, size_t size, uint64_t bytes);
char *rs_format_time(char *buf, size_t size, rs_time t);
/* "2 to 5"; "2" where that is all there is. */
char *rs_format_range(char *buf, size_t size, int64_t least, int64_t most);

/* For people: three significant digits ("391 Gb/s", "1.05 MB", "12.3 us"). Not parsed back. */
char *rs_human_rate(char *buf, size_t size, double rate);
char *rs_human_bytes(char *buf, size_t size, double bytes);
char *rs_human_time(char *buf, size_t size, rs_time t);

#endif
