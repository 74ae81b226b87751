/*
 * Private to the readers of switches' outputs (grid*.c): what is known of the text so far, and the
 * forms that a line may have. Each takes the line at hand, g->line, with its blanks in g->wide.
 */
#ifndef RS_AUDIT_READ_GRID_STATE_H
#define RS_AUDIT_READ_GRID_STATE_H

#include "audit/read/event.h"
#include "audit/read/grid.h"
#include "audit/read/terms.h"

enum {
	RS_GRID_TEXT = 1024, /* bytes of a line that are looked at */
	RS_GRID_KEPT = 400,  /* bytes of a line that are kept */
	RS_GRID_COLUMNS = 40,
	RS_GRID_HEADS = 6, /* lines of a table's head */
	RS_GRID_DEPTH = 16,
	RS_GRID_NAME = 80,
	RS_GRID_WAITS = 64, /* faults of a log whose end may come */
	RS_GRID_LEGENDS = 4
};

/* What two columns of a row are compared for. */
enum rs_grid_role {
	RS_GRID_PLAIN,
	RS_GRID_ADMIN,
	RS_GRID_FRAMES,
	RS_GRID_SPEED,
	RS_GRID_MTU,
	RS_GRID_FEC,
	RS_GRID_OPERATIONAL,
	RS_GRID_APPLIED,
	RS_GRID_LOCAL,
	RS_GRID_PEER
};

/* A column: its name is all words above it; terms are what its values are judged by. */
struct rs_grid_column {
	unsigned from, to; /* bytes of the line */
	char name[RS_TERM_NAME];
	struct rs_terms terms;
	enum rs_grid_role role;
};

struct rs_grid_cell {
	unsigned from, to;
	char *text;
};

/* A fault of a log, of a port or an address (of), that may have ended (over). */
struct rs_grid_fault {
	const char *key;
	uint32_t line;
	bool over;
	char of[RS_GRID_NAME], text[RS_GRID_KEPT];
};

/* "Link State: A-Active, R-Ready": what the letters of a column mean. */
struct rs_grid_legend {
	char title[RS_GRID_NAME], text[RS_GRID_KEPT];
};

/* A text on its way through the forms. */
struct rs_grid {
	struct rs_audit *a;
	const struct rs_input *in;
	bool on;    /* a switch's, by now */
	bool shown; /* by its command */
	bool tree;  /* braces */
	bool shut;  /* the port at hand, by configuration */
	bool down;  /* the port at hand, though it is enabled */
	bool idle;  /* a cell of the row at hand says that there is no link */
	uint32_t facts;

	char entry[RS_GRID_NAME];
	double frames;
	double runts; /* of the port at hand; 0: none */
	char command[RS_TERM_CONTEXT / 4], section[RS_TERM_NAME], context[RS_TERM_CONTEXT];
	char path[RS_GRID_DEPTH][RS_GRID_NAME];
	unsigned depth;

	char head[RS_GRID_HEADS][RS_GRID_TEXT]; /* with its blanks; the last line at heads - 1 */
	unsigned heads;
	bool fresh; /* a line of a head came behind the last table's beginning */
	bool gap;   /* a blank line behind it */
	struct rs_grid_column column[RS_GRID_COLUMNS];
	unsigned columns, rows;
	char titles[RS_GRID_TEXT]; /* the line of the head that has most of them */
	bool ruled;
	bool fast, quick; /* a rate of 200, of 100 Gb/s and more stands somewhere */

	double mtu_most;
	char mtu_speed[32], small_speed[32];
	char small[RS_GRID_NAME], small_text[RS_GRID_KEPT];
	uint32_t small_line, hash_line, told_line;
	const char *told_key;
	bool hashed, hash_port;

	struct rs_grid_legend legend[RS_GRID_LEGENDS];
	unsigned legends;
	char field[RS_GRID_NAME]; /* of a database's listing: its value is in the next line */
	unsigned field_number;
	char lone[RS_GRID_NAME]; /* an address alone on its line: its row's cells are in the next */

	/* light that is low by our limit: its own limit may follow */
	struct {
		double dbm;
		uint32_t line; /* 0: none waits */
		char of[RS_GRID_NAME], text[RS_GRID_KEPT];
	} light;
	int alarm_level; /* of the alarm at hand, which its Severity gave; -1: none did */

	struct rs_event begun; /* a record whose words are in the next line */
	struct rs_grid_fault fault[RS_GRID_WAITS];
	unsigned waits;

	char wide[RS_GRID_TEXT]; /* the line with its indentation */
	struct rs_line line;
};

/* ---- Names: grid_port.c ---- */

/* How many digits a text begins with. */
size_t rs_grid_digits(const char *p);

/* An address of IPv4 or IPv6? */
bool rs_grid_address(const char *w);

/* "Ethernet 1/1/7", "Eth 1/1/1", "FourHundredGigabitEthernet 0/1": how many bytes the port at the
 * text's start takes; 0: none. Its name goes to out without the blank. */
size_t rs_grid_port_at(const char *text, bool bare, char *out, size_t size);

/* ---- What a text says of itself: grid_known.c ---- */

/* The command whose head stands in a text that has no prompt; NULL: none does. */
const char *rs_grid_known(const struct rs_input *in);

/* Finds the legends of a text. */
void rs_grid_legends(struct rs_grid *g);

/* The word that a legend gives for a letter of a column; false: no legend has the column. */
bool rs_grid_legend_word(const struct rs_grid *g, const char *name, const char *sign, char *out,
			 size_t size);

/* ---- What was judged: grid.c ---- */

/* Keeps a line as the message of this key, once; NULL is no message. */
void rs_grid_keep(struct rs_grid *g, uint32_t line, const char *text, const char *key,
		  const char *entry);

/* The same of the line at hand, where the text is a switch's. */
void rs_grid_tell(struct rs_grid *g, const char *key);

/* Tells the light that waited for its limit. */
void rs_grid_tell_light(struct rs_grid *g);

/* Makes the context of names anew: command, head of the table, section, path of braces. */
void rs_grid_context(struct rs_grid *g);

/* Judges one value with its name, by itself. */
void rs_grid_judge(struct rs_grid *g, const char *name, const char *value);

/* ---- Tables: grid_table.c ---- */

/* Parts a line in place into cells: at two blanks, tabs or bars; at one blank where `narrow`.
 * How many; at most RS_GRID_COLUMNS. */
unsigned rs_grid_cells(char *t, struct rs_grid_cell *out, bool narrow);

/* A rule: how many runs of dashes, which are columns; 0: the line is none. */
unsigned rs_grid_rule(const char *t, struct rs_grid_cell *out);

/* "Q3   991233   812": a name and numbers alone? */
bool rs_grid_counted(const struct rs_grid_cell *c, unsigned n);

/* A table begins below the kept head: its columns are where a rule's n runs are; n below 2: where
 * the words are of that line of the head that has most. */
void rs_grid_open(struct rs_grid *g, struct rs_grid_cell *at, unsigned n);

/* Judges the table as a whole, and ends its rows; the second forgets its head, too. */
void rs_grid_close_rows(struct rs_grid *g);
void rs_grid_close(struct rs_grid *g);

/* "spine7  L2  Hu0/0/0/3  10.9.7.2  INIT  21": a neighbour by its name, and a state of it? */
bool rs_grid_neighbour(const struct rs_grid *g);

/* Takes the line as a row of the table at hand; false: it is none. */
bool rs_grid_row(struct rs_grid *g);

/* ---- Lines of other forms: grid_pairs.c. The bool says that the line has this form ---- */

bool rs_grid_of_bundle(const struct rs_grid *g); /* the row of a port names a bundle */
void rs_grid_members(struct rs_grid *g);         /* "Po10(SU)  Eth1/2(s)" */
void rs_grid_pieces(struct rs_grid *g);          /* "Errors: 0, Drops: 12", "0 runts, 12 CRC" */
void rs_grid_listed(struct rs_grid *g);          /* without a key, below a heading that tells */
void rs_grid_hash(struct rs_grid *g);            /* a field of the hash for ECMP */
void rs_grid_part(struct rs_grid *g);            /* a part of the switch, in a table of hardware */
void rs_grid_words(struct rs_grid *g);           /* what some commands say in words */
/* The same of a text: the key of a message; NULL: it says nothing. */
const char *rs_grid_said(const char *command, const char *plain);
bool rs_grid_numbered(struct rs_grid *g); /* '1) "fan1"', and its value below */
bool rs_grid_spaced(struct rs_grid *g);   /* "Hi Priority Drop Pkts          812" */
bool rs_grid_measured(struct rs_grid *g); /* "Rx Optical Power (avg dBm) -24.81  5.00" */
bool rs_grid_dotted(struct rs_grid *g);   /* "Total Dropped Packets........ 0" */
bool rs_grid_tree(struct rs_grid *g);     /* "state down", "interface x {", "}" */

/* ---- Records: grid_log.c ---- */

/* Takes a record of a log; a fault that may end waits for the text's end. */
void rs_grid_logged(struct rs_grid *g);
/* May the text have a row of a list of alarms? */
bool rs_grid_alarm_maybe(const char *data, size_t size);

/* At the text's end: the faults that waited. One that came once and ended is told as that. */
void rs_grid_tell_faults(struct rs_grid *g);

/* A row of a list of alarms? */
bool rs_grid_alarm_row(struct rs_grid *g);

#endif
