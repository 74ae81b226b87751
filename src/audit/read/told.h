/*
 * Private to audit/: lines that name a failure and tell of none. A changelog's entry, a test's name
 * beside its verdict, a manual's page, a table of what each error means, a message's format, a rule
 * of a monitor, an event that a later one of the same pod settled: their words are a failure's, and
 * nothing has failed.
 */
#ifndef RS_AUDIT_READ_TOLD_H
#define RS_AUDIT_READ_TOLD_H

#include <stdbool.h>

/* What the lines so far say of those that follow; all 0 before the first. */
struct rs_told {
	bool changes;  /* below a changelog's heading */
	bool rules;    /* of a monitor: some line has an alert's name, or an expression */
	bool page;     /* a manual's page, or notes of a release, from its first lines on */
	bool change;   /* a change to a program: what its text quotes has no level either */
	char meanings; /* what parts the columns of a table of meanings; '\0': in none */
	unsigned lines;
};

/* Of a text's lines from the first to the last, without their indent: is this one such a line? */
bool rs_told(struct rs_told *t, const char *text);

enum { RS_TOLD_PODS = 64, RS_TOLD_NAME = 96 };

/* What later lines settled: all 0 before the last. */
struct rs_told_events {
	char placed[RS_TOLD_PODS][RS_TOLD_NAME]; /* pods that have a node, or run; "": the one */
	unsigned n;
	bool bond;   /* a bond has an active port */
	bool booted; /* containerd runs */
};

/* Of a log's lines from the last to the first: is it one that a later line settled? */
bool rs_told_event(struct rs_told_events *e, const char *text);

/* A sentence on the message above it, which says that nothing is wrong: "the warning is harmless".
 */
bool rs_told_harmless(const char *text);

/* Printed by "TOOL --help", "TOOL --help-query" or "man TOOL", and not of TOOL itself, which may
 * have failed: it holds for any machine. */
bool rs_told_help(const char *command, const char *text);

/* Printed by "git log", "git show" and their kin, and not a failure of git's own: subjects of
 * changes, and a program's lines. */
bool rs_told_history(const char *command, const char *text);

/* A key of an alert's rule that holds words for people. */
bool rs_told_annotation(const char *text);

#endif
