/* Private to cli/: one function a command, shared exit statuses and printing of errors. */
#ifndef RS_CLI_CLI_H
#define RS_CLI_CLI_H

#include <stdbool.h>
#include "base/error.h"
#include "fabric/fabric.h"
#include "sim/ranks.h"

enum rs_exit {
	RS_EXIT_OK = 0,
	RS_EXIT_INCOMPLETE = 1, /* the run ended, but a job did not finish */
	RS_EXIT_INPUT = 2,      /* bad input or usage */
	RS_EXIT_FAILED = 3,     /* memory, disk, a bug */
};

int rs_cmd_sim(int argc, char **argv);
int rs_cmd_compare(int argc, char **argv);
int rs_cmd_fabric(int argc, char **argv);
int rs_cmd_audit(int argc, char **argv);
int rs_cmd_nccl(int argc, char **argv);
int rs_cmd_nccl_env(int argc, char **argv);
int rs_cmd_expect(int argc, char **argv);
int rs_cmd_explain(int argc, char **argv);
int rs_cmd_exec(int argc, char **argv);
int rs_cmd_devices(int argc, char **argv);
int rs_cmd_libdir(int argc, char **argv);
int rs_cmd_counters(int argc, char **argv);
int rs_cmd_pcap(int argc, char **argv);
int rs_cmd_switch(int argc, char **argv);

/* The folder of the drop-in libraries. -ENOENT. */
int rs_cli_libdir(char *path, size_t size, struct rs_error *e);
/* There is no device: an error that says why of each interface. Returns -ENODEV. */
int rs_cli_no_device(struct rs_error *e);

/* Is this one of several processes that mpirun started? Then which, from 0. */
bool rs_cli_ranks_wanted(uint32_t *me);
/* Brings them together; rs_cli_ranks_end() when all have their results. */
int rs_cli_ranks_start(struct rs_ranks *r, struct rs_error *e);
void rs_cli_ranks_end(void);

/* --set options: what is to be changed, each with a place that names it in errors. Zeroed before.
 */
enum { RS_CLI_SETTINGS = 256, RS_CLI_SETTING_NAME = 96 };
struct rs_cli_settings {
	struct rs_setting set[RS_CLI_SETTINGS];
	char name[RS_CLI_SETTINGS][RS_CLI_SETTING_NAME];
	uint32_t n;
};
/* PATH=VALUE; text is cut at the '=' and outlives s, as s outlives errors that name it. -EINVAL. */
int rs_cli_setting(struct rs_cli_settings *s, char *text, struct rs_error *e);

/* "ripstop: file:line:column: what" and the hint, on standard error. Returns the exit status. */
int rs_cli_error(const struct rs_error *e);
int rs_cli_usage(const char *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* An option that may stand more than once, max times: its value, borrowed, goes behind the n of the
 * list. RS_EXIT_USAGE with a message where there is no room. */
int rs_cli_append(const char *command, const char *option, const char **list, unsigned *n,
		  unsigned max, const char *value);
/* A file that an option writes a report to as JSON: not the next option's name, and none that is
 * there and is no report of ours: it may be what was to be read. 0, or RS_EXIT_USAGE with a
 * message. */
int rs_cli_json_output(const char *command, const char *option, const char *path);
/* An option's value, from min to max, into *out. 0, or the exit status where it is not one. */
int rs_cli_number(const char *command, const char *option, const char *text, int64_t min,
		  int64_t max, int64_t *out);
/* Is a file to be written "-", standard output? path may be NULL. */
bool rs_cli_is_stdout(const char *path);

/* rs_cli_usage() where getopt_long() has said what is wrong. */
int rs_cli_try(const char *command);

#endif
