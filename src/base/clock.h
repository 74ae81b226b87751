/*
 * The time that passes: CLOCK_MONOTONIC. Under an emulator that has no clock of the processor's own
 * to offer (QEMU without KVM) the kernel reads a timer chip for it, 5 us a time; its time stamp
 * counter is the host's there, runs steadily and is held against the kernel's clock at the start.
 */
#ifndef RS_BASE_CLOCK_H
#define RS_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Nanoseconds since an arbitrary start, the same for all threads of a process; never back. Within
 * 1 in 1000 of CLOCK_MONOTONIC's pace. */
int64_t rs_clock_ns(void);

/* Is the processor emulated, instruction by instruction (QEMU's TCG)? */
bool rs_machine_emulated(void);

#endif
