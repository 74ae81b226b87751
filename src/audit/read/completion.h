/* Private to audit/read: the status of a completion in error that a line of text tells. */
#ifndef RS_AUDIT_READ_COMPLETION_H
#define RS_AUDIT_READ_COMPLETION_H

/* The number of enum ibv_wc_status, 1 to 23; 0: the line tells of none. */
int rs_completion_status(const char *line);

#endif
