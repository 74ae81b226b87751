/*
 * Symptoms as people tell them, and the checks to look at, in the order in which they settle most.
 */
#ifndef RS_AUDIT_RULES_SYMPTOM_H
#define RS_AUDIT_RULES_SYMPTOM_H

#include <stdbool.h>
#include "audit/facts/audit.h"

enum { RS_SYMPTOM_STEPS = 12 };

struct rs_symptom {
	const char *name;  /* "low-goodput" */
	const char *title; /* "an 800G link, but 500G of goodput" */
	const char *
		words; /* what people say of it, lower case, blanks between; a word may be a stem */
	const char *first; /* what to think of before any check: a sentence or two */
	struct {
		const char *check; /* NULL ends */
		const char *shows; /* what its FAIL would mean for this symptom */
	} step[RS_SYMPTOM_STEPS];
};

extern const struct rs_symptom rs_symptoms[]; /* ended by one without name */

/* By name, else the one that shares most words with the text; NULL: none, or several alike. */
const struct rs_symptom *rs_symptom_find(const char *text);

/* Does its list of words have this one, or one of its stem? word: lower case. */
bool rs_symptom_has(const struct rs_symptom *s, const char *word);

/* Those that share words with the text, the nearest first; how many, at most `most`. */
unsigned rs_symptom_near(const char *text, const struct rs_symptom **out, unsigned most);

#endif
