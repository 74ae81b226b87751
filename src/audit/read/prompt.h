/* Private to audit/: lines that a person or a shell put between outputs. */
#ifndef RS_AUDIT_READ_PROMPT_H
#define RS_AUDIT_READ_PROMPT_H

#include <stdbool.h>
#include "audit/read/prefix.h"

enum { RS_COMMAND_BYTES = 512 };

struct rs_prompt {
	char host[RS_NAME_BYTES];       /* whose prompt it is; "" */
	char command[RS_COMMAND_BYTES]; /* without sudo, variables and path; "" */
	bool opens;   /* the first line of a prompt of two: the command is on the next */
	size_t strip; /* a setting, "nv set ...", stands there: it is text, not what printed it */
};

/* "[root@gpu01 ~]# ibstat", "$ ibstat", "leaf1#show pfc", "+ ibstat": text without indentation. */
bool rs_prompt_find(const char *text, struct rs_prompt *out);
/* A command alone on its line, a heading that names one, or one that names a host: "ibstat",
 * "### ibstat -v", "Output of `ibstat`:", "=== gpu01 ===", "Node 2:". */
bool rs_heading_find(const char *text, struct rs_prompt *out);
/* "gpu01 | CHANGED | rc=0 >>" of ansible, "[1] 10:00:00 [SUCCESS] gpu01" of parallel-ssh, "gpu01:"
 * behind salt: host gets RS_NAME_BYTES. What follows is the launcher's command on that host. */
bool rs_launcher_heading_find(enum rs_gang gang, const char *text, char *host);

/* Does a command whose output or log is known begin here? */
bool rs_command_known(const char *text);
/* What a command that runs another on many hosts puts before each line: "gpu01: " (pdsh, clush, a
 * loop that echoes the host), "0: " (srun -l, flux --label-io), "gpu01 " (echo $(hostname) ...),
 * "[1,0]<stdout>:" (mpirun --tag-output of one known command), "gpu01:" on a line alone (salt), or
 * nothing. */
enum rs_gang rs_gang_find(const char *line);
/* ``` and ~~~ */
bool rs_fence(const char *text);

#endif
