/* Private to audit/: which readings of one text are later ones, and by how much. */
#ifndef RS_AUDIT_READ_MOMENT_H
#define RS_AUDIT_READ_MOMENT_H

#include "audit/read/segment_state.h"

/* Fills the moment and the clock of each line (struct rs_fact has their meaning). */
void rs_stream_find_moments(struct rs_stream *s);

/* A line that tells a time alone, as date prints it, or watch's heading. */
bool rs_is_stamp(const char *text);

/* The moment of a device that no output names: only what the same command printed is of one. */
uint32_t rs_moment_of_command(uint32_t moment, const char *command);

#endif
