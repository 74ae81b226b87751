/* Private to audit/: what findings stand on, and what they say together. */
#ifndef RS_AUDIT_RULES_EVIDENCE_H
#define RS_AUDIT_RULES_EVIDENCE_H

#include "audit/rules/finding.h"

/* A PASS stands on a fact that decided it; where a log states a failure, not on a setting or on
 * something's being there alone. What does not becomes UNKNOWN. After the rules, before causes. */
void rs_evidence_settle(struct rs_audit *a);
/* A fix that would do with any value takes that of another finding, so that no two of them set one
 * variable to two values. Before the findings are merged. */
void rs_evidence_agree(struct rs_audit *a);
/* Findings of one check that say the same of several hosts or devices become one. */
void rs_evidence_merge(struct rs_audit *a);

/* A01, after all other checks: a note for each abnormal state that no FAIL speaks of. */
void rs_evidence_states(struct rs_audit *a, bool (*wanted)(const struct rs_rule *, void *),
			void *state);

/* A pasted text with lines that were not understood, by which what was judged right is not all;
 * NULL: there is none. */
const struct rs_text_use *rs_evidence_strange(const struct rs_audit *a);

/* What an audit says as a whole; the worst that holds. */
enum rs_conclusion {
	RS_CONCLUDES_RIGHT,
	RS_CONCLUDES_OPEN, /* a critical check could not be made */
	RS_CONCLUDES_THIN, /* not enough evidence: nothing but notes was judged, a failure that the
			    * texts state is explained by no FAIL of major or worse, a job's log
			    * ends before the job, or rs_evidence_strange() */
	RS_CONCLUDES_FAULTY, /* a FAIL of major or worse */
};
extern const char *const rs_conclusion_names[];
enum rs_conclusion rs_audit_concludes(const struct rs_audit *a, bool strict);

/* The beginning of a job's log, where nothing shows that the job ended; NULL: no such log. */
const struct rs_fact *rs_evidence_cut_off(const struct rs_audit *a);

/* Fills a->next_command, next_why and failure; after the findings are in order. */
void rs_evidence_next(struct rs_audit *a);

#endif
