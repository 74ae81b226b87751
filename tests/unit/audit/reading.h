/* A text read as one file of a host: the facts that come of it. */
#ifndef RS_TESTS_AUDIT_READING_H
#define RS_TESTS_AUDIT_READING_H

#include "audit/read/reader.h"
#include "judge.h"

static inline struct rs_audit *reading_as(const char *path, const char *text, size_t size)
{
	struct rs_input in = {.host = "h", .path = path, .inner = path, .data = text, .size = size};
	struct rs_audit *a;

	assert_int_equal(rs_audit_create(&a), 0);
	assert_int_equal(rs_read_input(a, &in), 1);
	rs_facts_seal(a->facts);
	return a;
}

static inline struct rs_audit *reading(const char *text)
{
	return reading_as("file", text, strlen(text));
}

static inline void expect(const struct rs_audit *a, const char *subject, const char *name,
			  const char *value)
{
	const char *is = rs_facts_value(a->facts, "h", subject, name);

	if (!value) {
		assert_null(is);
		return;
	}
	if (!is)
		print_error("%s %s is not known\n", subject, name);
	assert_non_null(is);
	assert_string_equal(is, value);
}

static inline unsigned facts(const struct rs_audit *a, const char *subject, const char *name)
{
	uint32_t at = 0;
	unsigned n = 0;

	while (rs_facts_next(a->facts, &at, "h", subject, name))
		n++;
	return n;
}

#endif
