/* A description from its text, or its refusal: for tests. */
#ifndef RS_TESTS_DESCRIBE_TEXT_H
#define RS_TESTS_DESCRIBE_TEXT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "describe/describe.h"
#include "describe/describe.h"
static inline struct rs_fabric *load_with(const char *text, const struct rs_setting *set,
					  uint32_t n)
{
	struct rs_error e = {0};
	struct rs_fabric *f = NULL;

	if (rs_fabric_load_text(text, strlen(text), "t", ".", set, n, &f, &e))
		fail_msg("%d:%d: %s in\n%s", e.line, e.column, e.what, text);
	return f;
}

static inline struct rs_fabric *load(const char *text)
{
	return load_with(text, NULL, 0);
}

/* Refused at a line, with these words. */
static inline void refused(const char *text, const char *words)
{
	struct rs_error e = {0};
	struct rs_fabric *f = NULL;

	if (!rs_fabric_load_text(text, strlen(text), "t", ".", NULL, 0, &f, &e))
		fail_msg("not refused:\n%s", text);
	if (!strstr(e.what, words) || e.line < 1)
		fail_msg("expected '%s', got %d: %s in\n%s", words, e.line, e.what, text);
}

#endif
