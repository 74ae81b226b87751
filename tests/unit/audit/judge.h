/* A rule judged on facts written out in a test: what it finds first. */
#ifndef RS_TESTS_AUDIT_JUDGE_H
#define RS_TESTS_AUDIT_JUDGE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "audit/read/read.h"
#include "audit/rules/rule.h"
#include "audit/rules/run.h"

struct told {
	const char *host, *subject, *name, *value;
	uint8_t age;
};

struct judged {
	struct rs_audit *a;
};

/* Facts end with one without host. only: the rule's id; NULL: all rules. */
static inline struct judged judge(const char *only, const struct told *t)
{
	const char *list[] = {only, NULL};
	struct judged j;

	assert_int_equal(rs_audit_create(&j.a), 0);
	for (uint32_t line = 1; t->host; t++, line++) {
		struct rs_fact f = {.host = t->host,
				    .subject = t->subject,
				    .name = t->name,
				    .value = t->value,
				    .age = t->age,
				    .trust = RS_TRUST_TOOL,
				    .file = "test",
				    .line = line};

		assert_int_equal(rs_facts_add(j.a->facts, &f), 0);
	}
	assert_int_equal(rs_audit_run(j.a, only ? list : NULL, NULL, NULL), 0);
	return j;
}

/* The verdict of the first finding (FAIL comes first), freed; RS_NA when there is none. */
static inline enum rs_verdict verdict(const char *only, const struct told *t)
{
	struct judged j = judge(only, t);
	enum rs_verdict v = j.a->n_findings ? j.a->findings[0]->verdict : RS_NA;

	rs_audit_destroy(j.a);
	return v;
}

#define FACTS(...) ((const struct told[]){__VA_ARGS__, {NULL, NULL, NULL, NULL, 0}})

#endif
