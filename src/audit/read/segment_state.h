/*
 * Private to the cutter of texts (segment*.c): a text's lines by the host that they are of, and the
 * lines of one host as they are cut.
 */
#ifndef RS_AUDIT_READ_SEGMENT_STATE_H
#define RS_AUDIT_READ_SEGMENT_STATE_H

#include "audit/read/guide.h"
#include "audit/read/prefix.h"
#include "audit/read/prompt.h"
#include "audit/read/segment.h"

/* What a line is to the cutter. */
enum rs_piece_kind {
	RS_PIECE_TEXT,
	RS_PIECE_BLANK,
	RS_PIECE_PROMPT,
	RS_PIECE_FENCE,
	RS_PIECE_HEADING,
	RS_PIECE_REFUSAL,
	RS_PIECE_PROSE,
	RS_PIECE_JOINED /* went into the line before: no line of its own */
};

/* How a name was found. */
enum rs_namer {
	RS_NAMED_BY_LOG,
	RS_NAMED_BY_PROMPT,
	RS_NAMED_BY_HEADING,
	RS_NAMED_BY_CONFIG,
	RS_NAMERS
};

struct rs_piece {
	size_t at; /* in struct rs_text's data */
	uint32_t length, command;
	uint16_t host;
	uint8_t kind;
	bool named;    /* a prompt says whose it is */
	bool quoted;   /* behind ">" */
	bool launched; /* a heading of a launcher: the next prompt is of another machine */
	bool config;   /* a configuration says here whose it is */
};

struct rs_text_name {
	char name[RS_NAME_BYTES];
	bool by[RS_NAMERS];
	uint16_t is; /* after settle_hosts(): the host that it stands for; 0: the text's own */
};

struct rs_text {
	struct rs_audit *a;
	const struct rs_input *in;
	struct rs_input joined; /* *in with broken lines joined, where there are some */
	uint8_t *how;           /* of each line: enum rs_join */
	struct rs_text_use *use;
	struct rs_prefix_habits habits;
	struct rs_guide_lines guide;
	struct rs_piece *piece;
	uint32_t *order; /* pieces by host, then by line; those of host i from begin[i] */
	uint32_t n, n_names, n_commands, commands_room, begin[RS_TEXT_HOSTS + 1];
	char *data;                /* lines without prefixes, each with its end */
	size_t size, indent;       /* indent: of the block of code at hand (dedent()) */
	struct rs_text_name *name; /* [0]: the text's own host */
	char (*command)[RS_COMMAND_BYTES];
	uint32_t ran; /* the command of the last prompt, and how it labels lines */
	enum rs_gang gang;
	bool labelled; /* a line had its label */
	bool knew;
	bool old_quotes; /* what is quoted is an older run of what follows it */
};

/* The lines of one host in order: their text, and which lines of the file they are. */
struct rs_stream {
	struct rs_text *t;
	const char *host;
	char *data;
	size_t *start; /* of each line in data */
	uint32_t *number;
	uint8_t *kind;
	uint32_t *command;
	uint32_t *moment, *clock; /* when each was printed: moment.h */
	bool *kept;               /* a reader of segments took it */
	bool *code;               /* of a program or a script */
	bool *told;               /* it names a failure, and tells of none (told.h) */
	bool *whole;              /* of a document that was used as a whole */
	uint32_t n;
	uint64_t marks, braced;
	bool old;                               /* quotes of an older run */
	const struct rs_reader *taker, *except; /* who took the last; who is not asked */
	struct rs_line line;                    /* at hand: too large for the stack of each call */
};

/* ---- A text's lines: segment_lines.c ---- */

/* Lines without their prefixes, broken ones joined, each with the name that it gives. NULL: no
 * memory. */
struct rs_text *rs_text_new(struct rs_audit *a, const struct rs_input *in);
void rs_text_free(struct rs_text *t);

/* What a prompt, a heading or a configuration names holds until the next, or until a fence. */
void rs_text_spread(struct rs_text *t);

/* Keeps a command: its number from 1; 0: it is empty, or there is no memory. */
uint32_t rs_text_command(struct rs_text *t, const char *command);

/* Pieces by host, each host's in their order. -ENOMEM. */
int rs_text_order(struct rs_text *t);

/* Line i of a stream, as readers see lines. */
void rs_stream_line(const struct rs_stream *s, uint32_t i, struct rs_line *l);

/* Parts of SONiC's database among a stream's lines: how many facts; its lines are kept.
 * sonic_parts.c */
uint32_t rs_stream_sonic(struct rs_stream *s, const struct rs_input *in);

/* ---- What is a program's, or a manual's: segment_code.c ---- */

/* Marks lines of programs and scripts: one that prints what a tool prints has not printed it. */
void rs_stream_find_code(struct rs_stream *s);

/* Marks the examples of a manual. */
void rs_stream_find_examples(struct rs_stream *s);

/* Marks lines that name a failure and tell of none; what a monitor's rules say to people is no
 * output. */
void rs_stream_find_told(struct rs_stream *s);

/* A document of JSON begins: a brace or a bracket alone, or with the first key. */
bool rs_opens_json(const char *text);

/* The last line of the document of JSON that begins at line i; i: none does, or it does not end. */
uint32_t rs_stream_json_end(struct rs_stream *s, uint32_t i);

#endif
