/* Private to audit/rules: what the words of a line that states a failure point at. */
#ifndef RS_AUDIT_RULES_WORDS_H
#define RS_AUDIT_RULES_WORDS_H

#include "audit/rules/rule.h"

enum { RS_KINDS = 112 };

/*
 * Words are apart by '|': one stands alone, between what are no letters; "~x" may stand within
 * others. One of `any` must be there, one of `with` (NULL: none is asked), none of `but`.
 */
struct rs_kind {
	const char *check, *any, *with, *but, *title, *need;
	bool kernel; /* of the kernel's log alone */
	bool weak;   /* said only where nothing worse is known of the host */
	bool told;   /* of people's sentences alone */
	bool peer;   /* of lines with an address or a job's words: a local daemon is no peer */
};

/* The kind of a line; NULL: its words tell nothing. */
const struct rs_kind *rs_words_kind(const char *text);

/* A person's sentence, no program's line. */
bool rs_words_told(const char *text);
/* Does it say of what it quotes that it means nothing? "is considered benign", "safe to ignore" */
bool rs_words_benign(const char *text);

/* The check of what a command said that its own words do not tell; NULL: none. */
const struct rs_kind *rs_words_command(const char *command, const char *text);
/* Of a kind, below RS_KINDS. */
unsigned rs_words_number(const struct rs_kind *k);

#endif
