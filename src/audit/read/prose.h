/* Private to audit/: lines that no command printed. */
#ifndef RS_AUDIT_READ_PROSE_H
#define RS_AUDIT_READ_PROSE_H

#include <stdbool.h>

/* A line of a program or a script, by itself: a definition, an inclusion, the end of a loop. */
bool rs_code(const char *text);
/* A sentence that a person wrote. */
bool rs_prose(const char *text);

#endif
