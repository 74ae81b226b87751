/* Does a text have one of several words? */
#ifndef RS_AUDIT_FACTS_WORD_LIST_H
#define RS_AUDIT_FACTS_WORD_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* As much of a text as fits, in lower case and with its end; size: at least 1. */
void rs_word_lower(const char *text, char *low, size_t size);

/*
 * low: a text in lower case. words: "one|two|~part"; a word stands apart from letters and digits,
 * behind a '~' it may stand within another. numbered: a digit may follow a word ("eth0"), and
 * anything one that does not end with a letter. words NULL: none.
 */
bool rs_word_list_has(const char *low, const char *words, bool numbered);

/* Is a word of n bytes one of a list that NULL ends? */
bool rs_word_in(const char *const *list, const char *word, size_t n);

#endif
