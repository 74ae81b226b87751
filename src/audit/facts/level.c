/* Levels of logs: glog, c10d, UCX, NCCL, libfabric, SPDK, Python, zerolog and logfmt. */
#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/level.h"

enum { LOOKED_AT = 200, WORD_MAX = 9 };

static const struct {
	const char *word;
	enum rs_level level;
} levels[] = {
	{"TRACE", RS_LEVEL_DEBUG},  {"DEBUG", RS_LEVEL_DEBUG},   {"DBG", RS_LEVEL_DEBUG},
	{"DIAG", RS_LEVEL_DEBUG},   {"VERBOSE", RS_LEVEL_DEBUG}, {"INFO", RS_LEVEL_INFO},
	{"NOTICE", RS_LEVEL_INFO},  {"INF", RS_LEVEL_INFO},      {"WARN", RS_LEVEL_WARN},
	{"WARNING", RS_LEVEL_WARN}, {"WRN", RS_LEVEL_WARN},      {"ERROR", RS_LEVEL_ERROR},
	{"ERR", RS_LEVEL_ERROR},    {"FATAL", RS_LEVEL_ERROR},   {"CRIT", RS_LEVEL_ERROR},
	{"SEVERE", RS_LEVEL_ERROR}, {"PANIC", RS_LEVEL_ERROR},
};

static enum rs_level by_initial(char c)
{
	switch (c) {
	case 'E':
	case 'F':
		return RS_LEVEL_ERROR;
	case 'W':
		return RS_LEVEL_WARN;
	case 'I':
		return RS_LEVEL_INFO;
	default:
		return RS_LEVEL_NONE;
	}
}

/* glog's and c10d's letter before a month and day, and a clock behind: "E0331 12:", "E108 17:". */
static enum rs_level of_letter(const char *line, const char *p)
{
	size_t n = strspn(p + 1, "0123456789");
	/* c10d before it had a clock: "[I socket.cpp:293]" */
	bool old = p > line && p[-1] == '[' && p[1] == ' ' && strchr(p, ']') &&
		   memmem(p, (size_t)(strchr(p, ']') - p), ".cpp:", 5);

	if (!old && (n < 3 || n > 8 || p[1 + n] != ' ' || !isdigit((unsigned char)p[2 + n]) ||
		     !isdigit((unsigned char)p[3 + n]) || p[4 + n] != ':'))
		return RS_LEVEL_NONE;
	return by_initial(*p);
}

static enum rs_level of_word(const char *p, size_t n)
{
	/* libfabric and NCCL have no level above this one */
	if (p[n] == '>' && !strncmp(p, "warn", n))
		return RS_LEVEL_ERROR;
	for (unsigned i = 0; i < sizeof(levels) / sizeof(*levels); i++)
		if (strlen(levels[i].word) == n && !strncasecmp(levels[i].word, p, n))
			return levels[i].level;
	return RS_LEVEL_NONE;
}

/* A level's word is in capitals, or within what sets it off: "<warn>", "[error]", "level=info". */
static bool is_set(const char *line, const char *p, size_t n)
{
	char before = p > line ? p[-1] : ' ', after = p[n];
	bool capitals = true;

	for (size_t i = 0; i < n; i++)
		capitals &= isupper((unsigned char)p[i]) != 0;
	if ((p - line >= 6 && !strncasecmp(p - 6, "level=", 6)) ||
	    (p - line >= 8 && !strncasecmp(p - 8, "level\":\"", 8)))
		return true;
	if ((before == '<' && after == '>') || (before == '[' && after == ']'))
		return true;
	return capitals && strchr(" \t[(<*|:", before) && (!after || strchr(" \t])>*|:", after));
}

/* "-E- text": ibdiagnet, flint and mstflint. */
static enum rs_level of_dashes(const char *line)
{
	line += strspn(line, " \t");
	if (*line != '-' || !line[1] || line[2] != '-' || line[3] != ' ')
		return RS_LEVEL_NONE;
	return by_initial(line[1]);
}

enum rs_level rs_level_of(const char *line)
{
	const char *p = line;

	if (of_dashes(line))
		return of_dashes(line);

	while (*p && p - line < LOOKED_AT) {
		size_t n = 0;
		enum rs_level level = RS_LEVEL_NONE;

		if (!isalpha((unsigned char)*p)) {
			p++;
			continue;
		}
		while (isalnum((unsigned char)p[n]) || p[n] == '_' || p[n] == '-')
			n++;
		if (p == line || p[-1] == '[' || p[-1] == ' ' || p[-1] == ':')
			level = of_letter(line, p);
		if (!level && n <= WORD_MAX && is_set(line, p, n))
			level = of_word(p, n);
		if (level)
			return level;
		p += n;
	}
	return RS_LEVEL_NONE;
}
