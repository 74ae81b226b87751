/*
 * Private to audit/: states and counters of any tool, by the words of their names. What a tool
 * prints is a tree of keys and values, a table with a heading, or values parted by commas; each
 * makes a path of words ("nvidia smi remapped rows pending") and a value. The table of words
 * (states_table.c) says which of them are unusual, whatever tool it was. Where a block of
 * shown_table.c knows an output, that one is more exact.
 */
#ifndef RS_AUDIT_READ_STATES_H
#define RS_AUDIT_READ_STATES_H

#include "audit/read/reader.h"

enum rs_state_when {
	RS_STATE_IS,      /* the value begins with one of the words */
	RS_STATE_OVER,    /* its first number is above */
	RS_STATE_OUTSIDE, /* one of its numbers lies outside of its own "[LOW..HIGH]" */
	RS_STATE_BELOW,   /* its first number is below the one in its parentheses: "8X (16X)" */
};

struct rs_state_row {
	const char *key; /* groups of words parted by blanks: of each group one, parted by '|', is
			  * in the path, at a word's beginning; '-' within stands for a blank */
	const char *but; /* none of these, parted by '|', is in the path; NULL */
	enum rs_state_when when;
	double than;
	const char *values; /* of IS, parted by '|', in small letters */
	const char *message;
};

extern const struct rs_state_row rs_state_rows[]; /* ended by one without key */

/* Takes what the table knows of a segment; how many facts. shown: a block of shown_table.c has told
 * the state of a port of it. a->err. */
uint32_t rs_states_read(struct rs_audit *a, const struct rs_input *in, bool shown);

/* For tests: is a message of this key among what is told? */
bool rs_state_tells(const char *key);

#endif
