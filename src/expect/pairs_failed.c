/*
 * Pairs that were tried and gave nothing: cells of 0 or below, cells and lines that tell of a
 * failure. They are the slowest there are; a cell that was not tried tells nothing.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>
#include "expect/pairs_reader.h"

static bool alone(const char *text, const char *at, size_t n)
{
	return (at == text || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[n]);
}

/* "no error", "without failure", "0 failed", "error=0" */
static bool denied(const char *text, const char *at, size_t n)
{
	static const char *const before[] = {"no ", "without ", "0 "};
	const char *behind = at + n + strspn(at + n, " :=");

	for (size_t i = 0; i < sizeof(before) / sizeof(*before); i++) {
		size_t m = strlen(before[i]);

		if ((size_t)(at - text) >= m && !strncasecmp(at - m, before[i], m) &&
		    alone(text, at - m, m - 1))
			return true;
	}
	return behind > at + n && *behind == '0' && !isalnum((unsigned char)behind[1]) &&
	       behind[1] != '.';
}

bool pairs_tells_failure(const char *s)
{
	static const char *const words[] = {
		"fail",        "failed",     "fails",       "failure",       "error",
		"timeout",     "timed out",  "time out",    "refused",       "unreachable",
		"couldn't",    "could not",  "cannot",      "can't",         "unable",
		"no route",    "abort",      "aborted",     "killed",        "hung",
		"crashed",     "segfault",   "no response", "reset by peer", "segmentation fault",
		"broken pipe", "not reached"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		size_t n = strlen(words[i]);

		for (const char *at = s; (at = strcasestr(at, words[i])); at += n)
			if (alone(s, at, n) && !denied(s, at, n))
				return true;
	}
	return false;
}

void pairs_shape(const char *s, size_t n, char shape[PAIRS_SHAPE])
{
	size_t at = 0;

	for (size_t i = 0; i < n && at + 1 < PAIRS_SHAPE; i++) {
		char c = isdigit((unsigned char)s[i])   ? '0'
			 : isalpha((unsigned char)s[i]) ? 'a'
							: s[i];

		if (!at || shape[at - 1] != c || (c != '0' && c != 'a'))
			shape[at++] = c;
	}
	shape[at] = '\0';
}

bool pairs_one_shape(const char *a, size_t na, const char *b, size_t nb)
{
	char shape[2][PAIRS_SHAPE];

	pairs_shape(a, na, shape[0]);
	pairs_shape(b, nb, shape[1]);
	return na && nb && !strcmp(shape[0], shape[1]);
}

/* ---- What is no failure after all ---- */

static void drop(struct pairs_cells *c, const bool *out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->n; i++)
		if (!out[i])
			c->cell[n++] = c->cell[i];
	c->n = n;
}

/* The half of a table that was not filled has 0 in all its cells, the other half has the values. */
static void empty_half(const struct pairs_cells *c, bool *out)
{
	uint32_t zeros[2] = {0, 0}, others[2] = {0, 0};

	for (uint32_t i = 0; i < c->n; i++) {
		bool below = c->cell[i].from > c->cell[i].to;

		zeros[below] += c->cell[i].how == CELL_ZERO;
		others[below] += c->cell[i].how != CELL_ZERO;
	}
	for (int below = 0; below < 2; below++) {
		if (others[below] || !others[!below] ||
		    zeros[below] < zeros[!below] + others[!below])
			continue;
		for (uint32_t i = 0; i < c->n; i++)
			out[i] |= (c->cell[i].from > c->cell[i].to) == below;
	}
}

/* "2 pairs failed" names no hosts: those are called as others that have a value. */
static bool like_others(const struct rs_pairs *p, const bool *valued, uint32_t name)
{
	char shape[PAIRS_SHAPE];
	const char *s = p->name[name];

	if (valued[name])
		return true;
	pairs_shape(s, strlen(s), shape);
	if (!strcmp(shape, "a") || !strcmp(shape, "0"))
		return false;
	for (uint32_t i = 0; i < p->n; i++)
		if (valued[i] && pairs_one_shape(s, strlen(s), p->name[i], strlen(p->name[i])))
			return true;
	return false;
}

/* Where no pair has a value, both names of a line have one shape, with a digit. */
static bool like_each_other(const struct rs_pairs *p, const struct cell *c)
{
	const char *a = p->name[c->from], *b = p->name[c->to];
	char shape[PAIRS_SHAPE];

	pairs_shape(a, strlen(a), shape);
	return strchr(shape, '0') && strcmp(shape, "0") &&
	       pairs_one_shape(a, strlen(a), b, strlen(b));
}

static void no_hosts(const struct rs_pairs *p, const struct pairs_cells *c, bool *out)
{
	bool valued[RS_PAIRS_MAX] = {false}, host[RS_PAIRS_MAX] = {false}, any = false;

	for (uint32_t i = 0; i < c->n; i++)
		if (c->cell[i].how != CELL_SAID)
			any = valued[c->cell[i].from] = valued[c->cell[i].to] = true;
	for (uint32_t i = 0; i < p->n && any; i++)
		host[i] = like_others(p, valued, i);
	for (uint32_t i = 0; i < c->n; i++)
		out[i] |= c->cell[i].how == CELL_SAID &&
			  (any ? !host[c->cell[i].from] || !host[c->cell[i].to]
			       : !like_each_other(p, &c->cell[i]));
}

bool pairs_settle_failed(struct rs_pairs *p)
{
	struct pairs_cells *c = p->cells;
	bool *out = rs_arena_alloc(p->arena, c->n + 1, sizeof(*out));

	if (!out)
		return false;
	empty_half(c, out);
	no_hosts(p, c, out);
	drop(c, out);
	return true;
}
