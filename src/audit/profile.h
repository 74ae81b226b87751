/*
 * A site's own expectations (docs/audit.md): thresholds, facts that must hold, checks left out,
 * findings that are known and accepted until a day.
 */
#ifndef RS_AUDIT_PROFILE_H
#define RS_AUDIT_PROFILE_H

#include "audit/audit.h"

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

/* Reads a profile; its thresholds go to a->set, the rest is applied by rs_audit_run(). -EINVAL with
 * the place and what was expected. Once an audit. */
int rs_audit_profile(struct rs_audit *a, const char *path, struct rs_error *e);
int rs_audit_profile_text(struct rs_audit *a, const char *text, size_t n, const char *name,
			  struct rs_error *e);

/* Does a value meet "x*", "=x", "!=x", ">=x", "<=x", ">x", "<x"? Versions and numbers compare part
 * by part. */
bool rs_profile_meets(const char *value, const char *expected);

/* Private to audit/: marks what the profile accepts. today: "2026-11-21". */
void rs_profile_suppress(struct rs_audit *a, const char *today);

#endif
