/* Private to expect/: readers of matrices of pairs. */
#ifndef RS_EXPECT_PAIRS_READER_H
#define RS_EXPECT_PAIRS_READER_H

#include "expect/pairs.h"

enum { SLOTS = 4096, WORDS = RS_PAIRS_MAX + 8, LINE_BYTES = 1 << 17, CELLS_MAX = 1 << 22 };

struct cell {
	uint32_t from, to;
	double value;
};
struct pairs_cells {
	uint32_t n, room;
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
/* pairs_logs.c: logs of perftest, nccl-tests and OSU's tests, one or many behind one another. */
bool pairs_is_log(const char *text, size_t n);
void pairs_read_logs(struct reader *r, const char *text, size_t n);

/* pairs_loose.c: the text's lines as "A B value UNIT", as many lines, by free(); NULL: most of them
 * are no pairs. */
char *pairs_loose(const char *text, size_t n);

#endif
