/*
 * A site's own expectations (docs/audit.md): thresholds, facts that must hold, checks left out,
 * findings that are known and accepted until a day.
 */
#ifndef RS_AUDIT_FACTS_PROFILE_H
#define RS_AUDIT_FACTS_PROFILE_H

#include "audit/facts/audit.h"

struct rs_profile_value {
	const char *name;      /* of the fact */
	uint32_t n;            /* any of so many will do */
	const char *const *is; /* "x*", ">=28.39.1002", "!=0" */
};

struct rs_profile_expectation {
	const char *name, *host, *subject; /* patterns of fnmatch(3) */
	enum rs_severity severity;
	int64_t count; /* how many such subjects a host has; -1: any number */
	uint32_t n_where, n_facts;
	struct rs_profile_value *where, *facts;
	struct rs_where at;
};

struct rs_profile_suppression {
	const char *check, *host, *part, *reason; /* host, part: patterns; NULL: all */
	const char *until;                        /* "2027-01-31": the last day; NULL: no end */
};

struct rs_profile {
	const char *path;
	uint32_t n_expect, n_suppress, n_only, n_skip;
	struct rs_profile_expectation *expect;
	struct rs_profile_suppression *suppress;
	const char **only, **skip; /* ended by NULL; NULL: none */
};

#endif
