/*
 * Messages: what libraries, drivers and switches say of RDMA in their own words, a row a meaning.
 * A reader looks for a row's patterns in lines of text and keeps the line as a fact of the subject
 * "message", named by the row's key; rules make the row's finding of it. So a message of another
 * release is one more pattern, and its judgement stands beside it.
 */
#ifndef RS_AUDIT_FACTS_MESSAGE_H
#define RS_AUDIT_FACTS_MESSAGE_H

#include "audit/facts/audit.h"

enum {
	RS_MESSAGE_PATTERNS = 64,  /* of a row, and its end */
	RS_MESSAGE_LINES = 20000,  /* lines of one key that are kept; more say nothing new */
	RS_MESSAGE_LITERAL_MIN = 4 /* bytes without '*' that a pattern has at least */
};

struct rs_message {
	const char *key;   /* name of the fact: "gdr-disabled" */
	const char *check; /* NULL: a good sign, which only contradicts other rows */
	const char *also;  /* a check that the line itself fails, whatever its cause; NULL */
	uint8_t severity, confidence;
	bool by_errno;   /* a failed call: the fact's name ends in its errno, "/110" */
	int errno_is;    /* of rows found by key and errno: which; 0: any other */
	bool gpu;        /* of rows by errno: only where the host's text is of GPUs */
	bool meant;      /* wrong only where RDMA was meant: one machine alone is not accused */
	bool odd;        /* major where it is of one port, and of all its like the opposite */
	bool lossless;   /* wrong only where something shows that a lossless class is meant */
	bool tried;      /* counts at the level of DEBUG, too */
	bool general;    /* by a name alone: a check that judged the same line knows better */
	bool follows;    /* a consequence: what failed first is said elsewhere */
	bool setting;    /* minor: a setting or a state that is no failure by itself */
	const char *but; /* lines with one of these texts, parted by '|', are not meant; NULL */
	const char
		*given; /* "SUBJECT NAME" of a fact without which it is not said, by prefix; NULL */
	const char *against; /* "SUBJECT NAME" of a fact that shows otherwise, by prefix; NULL */
	const char *limit;   /* name of a fact, by prefix: the least that is right */
	const char *title;   /* what is wrong */
	const char *why;
	const char *need, *need_why; /* the command that tells more; NULL: none */
	/* what mends it wherever the line stands, what that interrupts, and how to undo it; NULL.
	 * '%': the line's one device, without which there is no fix */
	const char *fix, *interrupts, *undo;
	bool root; /* of this machine and certain: no other check's finding explains it */
	/* Text that lines contain, in whatever case: parts in this order, between '*' (any text).
	 * Ended by NULL. */
	const char *pattern[RS_MESSAGE_PATTERNS];
};

/* Rows are numbered through all files (message_rows.h). NULL: no such row. */
const struct rs_message *rs_message_row(uint32_t row);

/* The row of a fact's name, "KEY" or "KEY/ERRNO"; NULL: none. */
const struct rs_message *rs_message_find(const char *name);

/* Does the row say of a line that it is not meant? */
bool rs_message_but(const struct rs_message *m, const char *text);

/* Keeps count of the lines of a row; false: enough were kept. */
bool rs_message_room(struct rs_audit *a, uint32_t row);

/* Does some fact of this host match "SUBJECT NAME", both by prefix? */
const struct rs_fact *rs_message_fact(const struct rs_audit *a, const char *host, const char *what);

#endif
