/* Time and CPU time that a run took, for reports alone: no result depends on it. */
#ifndef RS_BASE_ELAPSED_H
#define RS_BASE_ELAPSED_H

enum rs_elapsed { RS_ELAPSED_WALL, RS_ELAPSED_THREAD_CPU, RS_ELAPSED_PROCESS_CPU };

/* Seconds since some moment; 0 where the build has no clock (RS_NO_CLOCK). */
double rs_elapsed_s(enum rs_elapsed what);

#endif
