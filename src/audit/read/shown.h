/*
 * Private to audit/: outputs of which single lines tell a state, as rows of a table
 * (shown_table.c): what switches, NICs and tools show, one block a command, one row a line. A row
 * makes a fact of its line, or a message that the table of messages judges (facts/message.h). So
 * another dialect is another block of rows.
 */
#ifndef RS_AUDIT_READ_SHOWN_H
#define RS_AUDIT_READ_SHOWN_H

#include "audit/read/reader.h"

enum rs_shown_when { RS_SHOWN_ALWAYS, RS_SHOWN_SOME, RS_SHOWN_ZERO, RS_SHOWN_OVER, RS_SHOWN_UNDER };

/*
 * Templates, in whatever case, from the beginning of any word of a line:
 *   ^ at the front: from the line's first word; $ at the end: to the line's end
 *   a blank: blanks or a table's bars; ~: what stands between a key and its value (" : ", "=",
 * "...")
 *   #: a number (1,234 or 12.5 or -3 or 812K), kept; @: a word, kept as the entry's name; %: a word
 *   *: anything; all else is itself
 */
struct rs_shown_row {
	const char *like;
	enum rs_shown_when when; /* of the number */
	double than;
	const char *fact;    /* of the entry, "counter/crc_in"; NULL: none */
	const char *value;   /* NULL: the number */
	const char *message; /* key of a row of facts/message.h; NULL: none */
};

enum { RS_SHOWN_SIGNS = 6 };

struct rs_shown {
	const char *name;    /* of the block, for tests: "h3c-pfc" */
	const char *entry;   /* subjects of its entries: "port/", "netdev/", "nic/"; NULL: host */
	const char *os;      /* of a switch; NULL: a host's */
	const char *command; /* templates of what prints it, with '|' between; NULL */
	const char *begins[RS_SHOWN_SIGNS]; /* templates of lines that it begins with */
	const struct rs_shown_row *row;     /* ended by one without like */
};

extern const struct rs_shown rs_shown_blocks[]; /* ended by one without name */

/* Takes what the table knows of a segment; how many facts. a->err. */
uint32_t rs_shown_read(struct rs_audit *a, const struct rs_input *in, bool *ports);

/* For tests: does a line fit a template? number: of its last '#', name: of its last '@'. */
bool rs_shown_fits(const char *like, const char *line, double *number, char *name, size_t size);

#endif
