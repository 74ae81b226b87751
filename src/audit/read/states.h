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
	RS_STATE_BELOW,   /* its first number is below the other: "8X (16X)", "126 / 128" */
	RS_STATE_OTHER,   /* it begins with none of the words */
	RS_STATE_HAS,     /* one of the words is somewhere in it (word_list.h) */
	RS_STATE_BITS,    /* it is hexadecimal ("0x48") and has one of these bits */
};

struct rs_state_row {
	const char *key; /* groups of words parted by blanks: of each group one, parted by '|', is
			  * in the path, at a word's beginning; '-' within stands for a blank */
	const char *but; /* none of these, parted by '|', is in the path; NULL */
	enum rs_state_when when;
	double than;
	const char *values; /* of IS and OTHER, parted by '|', in small letters */
	const char *message;
};

extern const struct rs_state_row rs_state_rows[]; /* ended by one without key */

/* What is unhealthy by an object's own reason: groups of words as in a row's key, and the message
 * in place of the row's. */
struct rs_state_why {
	const char *words, *message;
};

extern const struct rs_state_why rs_state_whys[]; /* ended by one without words */

/* Takes what the table knows of a segment; how many facts. shown: a block of shown_table.c has told
 * the state of a port of it. a->err. */
uint32_t rs_states_read(struct rs_audit *a, const struct rs_input *in, bool shown);

/* A value of a JSON document: its path of keys and of its objects' own names, words with blanks
 * between; about: why its object is as it is, "" where it does not say; at: where it begins. */
typedef void rs_states_leaf(void *context, const char *path, const char *value, const char *about,
			    size_t at);

/* A word of the path of what stands in an alert that is raised. */
#define RS_STATES_RAISED "raised-alert"

/* Gives each value of the JSON document that text begins with. Its bytes; 0: it is none, or is cut
 * off, and nothing was given. */
size_t rs_states_json(const char *text, size_t n, rs_states_leaf *leaf, void *context);

/* A pair of a monitor's line. */
typedef void rs_states_pair(void *context, const char *path, const char *value);

/* Gives the pairs of a line of Prometheus' text or of InfluxDB's line protocol; false: it is none.
 */
bool rs_states_metric(const char *text, rs_states_pair *each, void *context);

enum { RS_ODD_GROUPS = 16 };

struct rs_odd_value {
	char text[32];
	char line_text[200]; /* the line that had it first */
	uint32_t line;
	unsigned n;
};

/* The values of parts that are alike, by the first two that differ. */
struct rs_odd {
	char kind[120];
	struct rs_odd_value value[2];
	bool more;
};

struct rs_odds {
	struct rs_odd group[RS_ODD_GROUPS];
	unsigned n;
};

/* How many hosts a heading of dshbak or clush names: 3 of "gpu[01-02],gpu07"; 1 where it is none.
 */
unsigned rs_odd_hosts(const char *list);

/* Keeps a value of so many parts; more groups than room are left out. */
void rs_odd_add(struct rs_odds *o, const char *path, const char *value, uint32_t line,
		const char *text, unsigned parts);

/* The value that at most a quarter of at least four parts has; NULL: none stands out. */
const struct rs_odd_value *rs_odd_out(const struct rs_odd *g);

/* For tests: is a message of this key among what is told? */
bool rs_state_tells(const char *key);

#endif
