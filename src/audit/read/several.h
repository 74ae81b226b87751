/* Several commands in one: "pdsh -w n[1-9] 'uname -r; ulimit -l'" (several.c). */
#ifndef RS_AUDIT_READ_SEVERAL_H
#define RS_AUDIT_READ_SEVERAL_H

#include <stdbool.h>
#include <stddef.h>

/* How many commands one line asks for. */
unsigned rs_several_count(const char *command);

/* The command of that number, from 0, as a prompt's command is kept. A launcher stays before one
 * whose answer is the launcher's own limit. */
void rs_several_get(const char *command, unsigned number, char *out, size_t size);

/* Does a command print one line, as "ulimit -l" and "uname -r" do? */
bool rs_several_one_line(const char *command);

#endif
