/*
 * An audit: what was read, the facts, and the findings of the rules. Carriers of facts are read
 * (audit/read), rules judge the facts (audit/rules), prices are simulated (audit/price).
 * Deterministic: the same inputs, the same findings.
 */
#ifndef RS_AUDIT_FACTS_AUDIT_H
#define RS_AUDIT_FACTS_AUDIT_H

#include <stdbool.h>
#include <stdint.h>
#include "audit/facts/facts.h"
#include "base/arena.h"
#include "base/error.h"

enum rs_verdict { RS_PASS, RS_FAIL, RS_UNKNOWN, RS_NA };
enum rs_severity { RS_INFO, RS_MINOR, RS_MAJOR, RS_CRITICAL };
enum rs_confidence { RS_LOW, RS_MEDIUM, RS_HIGH };

struct rs_finding;
struct rs_profile;

struct rs_input_file { /* something that was read, or not */
	const char *host, *path;
	const char *reader; /* NULL: nothing recognised it */
	uint32_t facts;
};

/* What became of the lines of a text that was cut into segments. */
enum rs_line_use {
	RS_LINE_STRANGE, /* no reader knows it */
	RS_LINE_BLANK,
	RS_LINE_FRAME, /* a prompt, a fence, a heading */
	RS_LINE_KNOWN, /* of a known output; no fact came of it */
	RS_LINE_USED,  /* a fact came of it */
};
struct rs_text_use {
	const char *path;
	const char *host,
		*called;    /* the file's host, and its only prompt's name for it; NULL: none */
	uint32_t lines;     /* in all */
	uint8_t *use;       /* enum rs_line_use of each; NULL once it was counted */
	uint32_t count[5];  /* by enum rs_line_use */
	uint32_t sentences; /* of strange lines: those that a person wrote */
	uint32_t n_blocks;  /* runs of strange lines; the first RS_TEXT_BLOCKS are kept */
	bool guide;         /* a guide or a manual: read/guide.h */
	bool whole;         /* a fact without a line: the segment at hand was used as a whole */
	struct rs_text_block {
		uint32_t first, last;
		const char *text; /* of the first line, as it may be shown */
	} * block;
	struct rs_text_use *next;
};
enum { RS_TEXT_BLOCKS = 256 };

enum { RS_MESSAGE_ROWS = 512 /* of facts/message.h at most; the last counts completions */ };

struct rs_audit {
	struct rs_arena *arena;
	struct rs_facts *facts;
	uint32_t n_findings, room;
	struct rs_finding **findings; /* rs_audit_run() sorts them: causes first, then by price,
				       * severity, id */
	uint32_t n_files, files_room;
	struct rs_input_file *files;
	struct rs_text_use *texts, *last_text; /* texts that were cut, in the order of reading */
	struct rs_profile *profile;            /* profile.h; NULL: none */
	const char **jobs; /* hosts that are no machine, but a job's environment: nccl.c */
	uint32_t n_jobs;
	uint32_t messages[RS_MESSAGE_ROWS]; /* lines kept of each row of facts/message.h */
	/* rs_audit_run(): what to run or paste next, and why; NULL: nothing is needed. The first
	 * line that states a failure; NULL: none does. */
	const char *next_command, *next_why;
	const struct rs_fact *failure;
	/* rs_look_nearest()'s answers by the place of a device's first fact, each with the fact
	 * that it met last; NULL: they are not kept */
	struct rs_nearest {
		const struct rs_fact *witness; /* NULL: not asked yet */
		int near;
	} * nearest;
	bool some; /* not all checks were made: --check */
	int err;   /* the first failure inside a reader or a rule: memory */
	struct rs_audit_settings {
		double pause_note, pause_fail; /* C04: share of time */
		double cable_m;                /* S03, R08 where nothing says */
		double p2p_rtt_us;             /* P03 */
		double fec_warn_ber;           /* L02 */
		double fec_warn_bin;           /* L02: symbols corrected in one codeword */
		double flaps_per_day;          /* C07 */
		double idle_us;                /* H01: exit latency of an idle state */
		bool lossless; /* the site means its RoCE class to be lossless; default true */
	} set;
};

int rs_audit_create(struct rs_audit **a);
void rs_audit_destroy(struct rs_audit *a);

/* Is this file a guide or a manual? What it shows has happened elsewhere. */
bool rs_audit_is_guide(const struct rs_audit *a, const char *file);
/* What the prompts of a host's files call it, where they agree and the user named none; else host.
 */
const char *rs_audit_called(const struct rs_audit *a, const char *host);

/* A string that lives as long as the audit. "" without memory, and a->err is set. */
const char *rs_audit_text(struct rs_audit *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
const char *rs_audit_vtext(struct rs_audit *a, const char *fmt, va_list ap);

#endif
