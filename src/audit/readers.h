/* Private to audit/: the readers, a file each (read_NAME.c). */
#ifndef RS_AUDIT_READERS_H
#define RS_AUDIT_READERS_H

#include "audit/reader.h"

extern const struct rs_reader rs_reader_env;

#endif
