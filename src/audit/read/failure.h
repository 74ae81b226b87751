/* Private to audit/: lines that say that something failed. */
#ifndef RS_AUDIT_READ_FAILURE_H
#define RS_AUDIT_READ_FAILURE_H

#include <stdbool.h>

/* Does this line say that something failed? Of logs and of people; counters and settings with
 * the word in their name do not. */
bool rs_states_failure(const char *text);
/* A person's sentence that complains, without a word that states a failure: "RDMA is slow since
 * then". In a guide or a manual it says nothing of a machine. */
bool rs_complains(const char *text);

/* A script's line that prints where something fails, or is to: `|| echo "it failed"`, a handler of
 * trap. It has printed nothing yet; a trace of a shell ("+ echo") has. */
bool rs_prints(const char *text);

/* What a catalogue says that a number means, as JSON: "description": "GPU has fallen off the bus".
 * An alert's names a machine or a part, with a figure. */
bool rs_describes(const char *text);

/* The command whose output this line begins, where no prompt names it; NULL: unknown. */
const char *rs_banner(const char *text);
/* Does it say that a program broke off? That is no part of what a tool prints. */
bool rs_ends_program(const char *text);

#endif
