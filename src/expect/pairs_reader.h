/* Private to expect/: readers of matrices of pairs. */
#ifndef RS_EXPECT_PAIRS_READER_H
#define RS_EXPECT_PAIRS_READER_H

#include "expect/pairs.h"

enum { SLOTS = 4096, WORDS = RS_PAIRS_MAX + 8, LINE_BYTES = 1 << 17, CELLS_MAX = 1 << 22 };

/* 0 or below; a cell that tells of a failure; a line that does, and may be of no pair. */
enum cell_how { CELL_VALUE, CELL_ZERO, CELL_FAILED, CELL_SAID };
enum { PAIRS_SHAPE = 64 };

struct cell {
	uint32_t from, to;
	double value; /* 0 where it failed */
	enum cell_how how;
};
struct pairs_cells {
	uint32_t n, room, values; /* values: of n, those that are neither failed nor 0 */
	struct cell *cell;
	uint32_t slot[SLOTS]; /* names by their hash: number + 1 */
	bool any_latency, any_rate;
	double unit; /* the first unit that was seen, in bit/s; 0: none */
};

struct reader {
	struct rs_pairs *p;
	const char *path;
	struct rs_error *e;
	int line, err;
	char *text;
	char *word[WORDS];
	uint32_t n_words;
	char separator;                    /* ',', ';', '\t', '|', or ' ' for any blanks */
	uint32_t column[WORDS], n_columns; /* a table's names */
	uint32_t rows;
	/* of a list whose head names its columns: ends, their NICs (-1: none), the value */
	int from, to, from_nic, to_nic, value;
	bool commas;   /* of a list: between its names, where blanks stand before the value */
	bool numbered; /* names end in ":0", ":1", ..., as mpiGraph's do: left out */
};

/* -EINVAL at the line. */
int pairs_bad(struct reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The number of a name; a value of a pair. Both do nothing after an error. */
uint32_t pairs_name(struct reader *r, const char *s, size_t n);
void pairs_add(struct reader *r, uint32_t from, uint32_t to, double value);
void pairs_add_failed(struct reader *r, uint32_t from, uint32_t to, bool said);
/* The two hosts of a log in its file's name. */
bool pairs_of_path(const char *path, const char **a, size_t *na, const char **b, size_t *nb);
/* pairs_failed.c: a text that tells that a run failed. */
bool pairs_tells_failure(const char *s);
/* Letters are alike, digits are alike: "gpu01" and "gpu12" have one shape, "a0". */
void pairs_shape(const char *s, size_t n, char shape[PAIRS_SHAPE]);
bool pairs_one_shape(const char *a, size_t na, const char *b, size_t nb);
/* After the last file: cells that look like failures and are none go. false: no memory. */
bool pairs_settle_failed(struct rs_pairs *p);
/* pairs_logs.c: logs of perftest, nccl-tests and OSU's tests, one or many behind one another. */
bool pairs_is_log(const char *text, size_t n);
void pairs_read_logs(struct reader *r, const char *text, size_t n);

/* pairs_loose.c: the text's lines as "A B value UNIT", as many lines, by free(); NULL: most of them
 * are no pairs. */
char *pairs_loose(const char *text, size_t n);

#endif
