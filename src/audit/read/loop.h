/* Loops of a shell over the files of sysfs and procfs (loop.c). */
#ifndef RS_AUDIT_READ_LOOP_H
#define RS_AUDIT_READ_LOOP_H

#include <stdbool.h>
#include "audit/read/reader.h"

/* "for d in /sys/class/net/...; do echo ... $(cat $d/mtu); done": a loop that prints a file each
 * round. */
bool rs_loop_is(const char *command);

/* What it printed, by the files' places; how many facts. in->command is the loop. */
int rs_loop_places(struct rs_audit *a, const struct rs_input *in);

#endif
