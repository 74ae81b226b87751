/* Private to cli/: a question in a stranger's words, and what findings and facts have of them. */
#ifndef RS_CLI_EXPLAIN_ANSWER_H
#define RS_CLI_EXPLAIN_ANSWER_H

#include "audit/rules/finding.h"

enum { RS_QUESTION_WORDS = 48, RS_QUESTION_WORD = 48 };

struct rs_question {
	char word[RS_QUESTION_WORDS][RS_QUESTION_WORD]; /* lower case, without idle words */
	unsigned n;
};

/* Words beyond the limits are left out. */
void rs_question_make(struct rs_question *q, const char *text);

/* How many of its words a finding has: in its title, its check's name, its facts. */
unsigned rs_question_finding(const struct rs_question *q, const struct rs_finding *f);

/* Facts read from a file that have some of its words, those with most first; how many, at most
 * `most`. */
unsigned rs_question_facts(const struct rs_question *q, const struct rs_audit *a,
			   const struct rs_fact **out, unsigned most);

struct rs_question_line {
	const char *file;
	uint32_t line;
	const char *text; /* not ended by a NUL; line ends may be in it, where it is a heading */
	size_t bytes;
	double score;
};
/* Lines of a text that have some of its words, known to a reader or not, added to `had` of other
 * files: the best first, at most `most`. file and text are borrowed. How many there are now. */
unsigned rs_question_lines(const struct rs_question *q, const char *file, const char *text,
			   size_t n, struct rs_question_line *out, unsigned had, unsigned most);

#endif
