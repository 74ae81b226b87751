/* Private to cli/: a question in a stranger's words, and what findings and facts have of them. */
#ifndef RS_CLI_EXPLAIN_ANSWER_H
#define RS_CLI_EXPLAIN_ANSWER_H

#include "audit/rules/rule.h"

enum { RS_QUESTION_WORDS = 48, RS_QUESTION_WORD = 48 };

struct rs_question {
	char word[RS_QUESTION_WORDS][RS_QUESTION_WORD]; /* lower case, without idle words */
	bool meant[RS_QUESTION_WORDS]; /* a check's word for one of the question's */
	unsigned n;
};

/* Words beyond the limits are left out. */
void rs_question_make(struct rs_question *q, const char *text);

/* Of the question's own words: how many a check has in its name or in what it asks for. *named: its
 * name has one. */
unsigned rs_question_rule(const struct rs_question *q, const struct rs_rule *r, bool *named);

/* The words that a check's lines would have, with those that people say: of its name. */
void rs_question_of_rule(struct rs_question *q, const struct rs_rule *r);

/* 1: a word of the line begins so; a half: it is inside of one; 0: not. w: lower case. */
double rs_question_has(const char *line, size_t n, const char *w);

/* How many of its words a finding has: in its title, its check's name, its facts. */
unsigned rs_question_finding(const struct rs_question *q, const struct rs_finding *f);

/* Does it ask what something is, rather than say what is wrong? */
bool rs_question_asks(const char *text);

/* The device, interface or port that the question names, as facts have it; NULL: none. */
const char *rs_question_part(const struct rs_question *q, const struct rs_audit *a);

/* Facts read from a file that have some of its words, those with most first, of what it names
 * alone; how many, at most `most`. */
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
