/* Private to audit/: what launchers, collectors and quoting put before a line's own text. */
#ifndef RS_AUDIT_READ_PREFIX_H
#define RS_AUDIT_READ_PREFIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RS_NAME_BYTES = 64, RS_HABITS = 64, RS_TASKS = 4096 };

/* What the command that printed the line puts before each (rs_gang_find()). */
enum rs_gang {
	RS_GANG_NONE,
	RS_GANG_NAMES,  /* "gpu01: " */
	RS_GANG_WORDS,  /* "gpu01 " */
	RS_GANG_TASKS,  /* "0: " */
	RS_GANG_TAGS,   /* "[1,0]<stdout>:" */
	RS_GANG_HEADED, /* "gpu01:" before the lines of each */
};

/*
 * Names before "name: " (pdsh) and "name | " (docker compose) and numbers before "12: " (srun -l)
 * are ambiguous on one line alone. A text has the habit when they come again and again.
 */
struct rs_prefix_habits {
	struct {
		char name[RS_NAME_BYTES];
		char mark; /* ':' or '|' */
		unsigned count;
	} seen[RS_HABITS];
	unsigned n, lines;
	unsigned labels, again; /* lines with a task's number before them; with one seen before */
	uint64_t task[RS_TASKS / 64];
	bool colon, bar, label; /* rs_prefix_settle(): the text has it */
	bool gang;              /* a command that asks many hosts stands in the text */
};

struct rs_prefix {
	size_t strip;              /* bytes before the line's own text */
	char outer[RS_NAME_BYTES]; /* host, pod or container by the launcher; "" */
	char inner[RS_NAME_BYTES]; /* host by the line's own text: NCCL, syslog; "" */
	bool gang;                 /* a label of the command that asked many hosts was there */
};

void rs_prefix_learn(struct rs_prefix_habits *h, const char *text);
void rs_prefix_settle(struct rs_prefix_habits *h);
/* Of a line that ends with a NUL, without escape sequences and its end. */
void rs_prefix_find(const struct rs_prefix_habits *h, enum rs_gang gang, const char *text,
		    struct rs_prefix *out);

#endif
