/*
 * Private to audit/: readers turn one file into facts. A file is recognised by its content, not by
 * its name; where only the place tells (sysfs), by the end of its path.
 */
#ifndef RS_AUDIT_READ_READER_H
#define RS_AUDIT_READ_READER_H

#include "audit/facts/audit.h"

struct rs_input {
	const char *host;
	const char *path;  /* as the user would find it: "gpu01/x.txt", "a.tar:sys/class/..." */
	const char *inner; /* below the host's directory or within the archive: "sys/class/..." */
	const char *data;  /* ends with a NUL that size does not count */
	size_t size;
	const char *command; /* of a segment: what printed it, without sudo and path; NULL */
	uint32_t first_line; /* of a part: lines of the file before it */
	uint8_t age, trust;  /* trust: what add() gives unless told otherwise */
	bool live;           /* read from the kernel now, not from a copy */
	bool forced;         /* the user named the host: no prompt or prefix names another */
	/* Of a segment (segment.h): which line of the file each of its lines is; NULL: it is not
	 * one. */
	const uint32_t *lines;
	uint32_t n_lines;
	const uint32_t *moment, *clock; /* of each line, as a fact has them; NULL: not known */
	struct rs_text_use *use;        /* what became of the file's lines; NULL: not counted */
	uint64_t *marks; /* of the text and host, for readers of lines; RS_MARK_... */
};

/* What a reader of lines said once of a text's host. */
enum rs_mark {
	RS_MARK_NCCL_LOG = 1,
	RS_MARK_PROGRAM_ASKED = 2,
	RS_MARK_PROGRAM = 4,
	RS_MARK_CONTAINER = 8
};

struct rs_line;

struct rs_reader {
	const char *name; /* "mlnx_qos" */
	const char *what; /* one line for the docs: command and what is taken from it */
	uint8_t trust;    /* enum rs_trust of its facts */
	/* 0: not mine; 100: certainly mine. The first 4 KiB and the path must do. */
	int (*score)(const struct rs_input *in);
	/* Adds facts; what it does not understand it passes over. Negative errno on memory alone.
	 */
	int (*read)(struct rs_audit *a, const struct rs_input *in);
	/* What the machine is called in its own configuration; false: nowhere. Files of one
	 * directory that say two names are of two machines. NULL: such files say none. */
	bool (*own_name)(const struct rs_input *in, char *out, size_t size);
	/* Lines that this reader's output begins with, wherever they stand; a text is cut there.
	 * Ended by NULL; NULL: none. Each must be certain by itself. rs_pattern() tells the
	 * signs. */
	const char *const *begins;
	/* Messages: takes one line wherever it stands, in any text. It is offered each line of
	 * which no reader made a fact. True: the line is mine, with facts or without. A reader
	 * may have this alone: score and read are NULL then. */
	bool (*line)(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l);
	bool of_code;  /* line() is offered lines of scripts and programs, too */
	bool settings; /* a configuration: no line of what it took states a failure */
	bool also; /* its lines may be those of other readers, too: it is offered all of a text */
};

/* For own_name(): the word behind the first `key` in the first 64 KiB, up to a blank or one of
 * "\";,". */
bool rs_input_word(const struct rs_input *in, const char *key, char *out, size_t size);

/* All readers, ended by NULL: readers.c. */
extern const struct rs_reader *const rs_readers[];

/* Reads a file: a file of the kernel, a document (JSON, XML) or a tool's binary goes whole to the
 * reader with the highest score that makes facts of it; any other text is cut into segments
 * (segment.h). 1: recognised, 0: not. */
int rs_read_input(struct rs_audit *a, const struct rs_input *in);

/* A file of a host that is read now; data ends with a NUL that size does not count. a->err. */
int rs_read_as_live(struct rs_audit *a, const char *host, const char *path, const char *data,
		    size_t size);

/* Adds one fact of this input, at a line (0: none) or a place (NULL: none). */
int rs_input_add(struct rs_audit *a, const struct rs_input *in, uint32_t line, const char *at,
		 const char *subject, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 7, 8)));

/* Adds a line as the message of this key (facts/message.h), its secrets hidden, and the device,
 * port or peer that it is of (NULL, "": not said). How many facts; 0: there is no such message,
 * or enough lines of it are kept. */
uint32_t rs_input_tell(struct rs_audit *a, const struct rs_input *in, uint32_t line,
		       const char *text, const char *key, const char *of);

/* Does a line fit a pattern from its start? '*': anything; '#': digits; '&': hexadecimal digits;
 * '%': a word without blanks; a blank: blanks; all else is itself. What follows the pattern's end
 * may be anything. A pattern that begins with a blank takes indented lines, too. */
bool rs_pattern(const char *pattern, const struct rs_line *l);

/* ---- Text by lines ---- */
struct rs_line {
	char text[4096]; /* without its end; escape sequences of terminals taken out; cut if longer
			  */
	uint32_t number; /* from 1 */
	unsigned indent; /* blanks before text[0]; a tab counts to the next multiple of 8 */
	size_t next;     /* private */
};
/* Zeroed to begin; false at the end. */
bool rs_line_next(const struct rs_input *in, struct rs_line *l);
/* Does the first 64 KiB contain this text? */
bool rs_input_has(const struct rs_input *in, const char *text);
/* "key: value" or "key = value": value trimmed, key cut at the separator. false: neither. */
bool rs_line_pair(char *text, char separator, char **key, char **value);
/* NCCL's and UCX's variables anywhere in a line, as launchers take them: "-x NCCL_ALGO=Ring",
 * "--export=ALL,NCCL_ALGO=Ring". How many; each is added when add. */
unsigned rs_line_variables(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l,
			   bool add);
/* The one value that `echo $NAME` and `printenv NAME` print, of RDMA's libraries. false: it is
 * none. */
bool rs_env_alone(struct rs_audit *a, const struct rs_input *in);
/* Splits at blanks into at most n words; returns how many. */
unsigned rs_line_words(char *text, char **word, unsigned n);

#endif
