/* Levels of logs: glog, c10d, UCX, NCCL, oneCCL, libfabric, SPDK, Python, zerolog and logfmt. */
#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/level.h"
#include "audit/facts/word_list.h"

enum { LOOKED_AT = 200, WORD_MAX = 9 };

static const struct {
	const char *word;
	enum rs_level level;
} levels[] = {
	{"TRACE", RS_LEVEL_DEBUG},   {"DEBUG", RS_LEVEL_DEBUG},   {"DBG", RS_LEVEL_DEBUG},
	{"DIAG", RS_LEVEL_DEBUG},    {"VERBOSE", RS_LEVEL_DEBUG}, {"INFO", RS_LEVEL_INFO},
	{"NOTICE", RS_LEVEL_INFO},   {"INF", RS_LEVEL_INFO},      {"WARN", RS_LEVEL_WARN},
	{"WARNING", RS_LEVEL_WARN},  {"WRN", RS_LEVEL_WARN},      {"ERROR", RS_LEVEL_ERROR},
	{"ERR", RS_LEVEL_ERROR},     {"FATAL", RS_LEVEL_ERROR},   {"CRIT", RS_LEVEL_ERROR},
	{"SEVERE", RS_LEVEL_ERROR},  {"PANIC", RS_LEVEL_ERROR},   {"CCL_ERROR", RS_LEVEL_ERROR},
	{"CCL_WARN", RS_LEVEL_WARN},
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
		capitals &= isupper((unsigned char)p[i]) || p[i] == '_';
	if ((p - line >= 6 && !strncasecmp(p - 6, "level=", 6)) ||
	    (p - line >= 8 && !strncasecmp(p - 8, "level\":\"", 8)))
		return true;
	if ((before == '<' && after == '>') || (before == '[' && after == ']'))
		return true;
	return capitals && strchr(" \t[(<*|:", before) && (!after || strchr(" \t])>*|:", after));
}

static bool begins(const char *text, const char *word)
{
	return !strncmp(text, word, strlen(word));
}

/* A verdict at a line's end, or with a reason behind. */
static bool is_said(const char *p, const char *verdict)
{
	size_t n = strlen(verdict);

	return !strncmp(p, verdict, n) && (!p[n] || !strncmp(p + n, " - ", 3));
}

enum rs_tick rs_tick_of(const char *line)
{
	/* in UTF-8: crosses, and ticks */
	static const char *const fails[] = {
		"\xe2\x9c\x97", "\xe2\x9c\x98", "\xe2\x9c\x96", "\xe2\x9d\x8c", "[FAIL]",
		"[FAILED]",     "[NOT OK]",     "[CRITICAL]",   "FAIL: ",       "FAILED: ",
		"CRITICAL: ",   "CRITICAL - ",  "CRIT - ",      "CRIT: ",       "PROBLEM: "};
	static const char *const passes[] = {
		"\xe2\x9c\x94", "\xe2\x9c\x93", "\xe2\x9c\x85",   "\xe2\x98\x91", "[OK]",
		"[ OK ]",       "[PASS]",       "[PASSED]",       "[SUCCESS]",    "PASS: ",
		"OK: ",         "PASSED: ",     "SUCCESS:  nhc:", "SUCCESS: ",    "OK - "};
	const char *p = line + strspn(line, " \t");

	for (unsigned i = 0; i < sizeof(fails) / sizeof(*fails); i++)
		if (begins(p, fails[i]))
			return RS_TICK_FAIL;
	for (unsigned i = 0; i < sizeof(passes) / sizeof(*passes); i++)
		if (begins(p, passes[i]))
			return RS_TICK_PASS;
	/* "mlx5_7 (rdma7): FAIL - 182 errors", "mlx5_9: OK", "GPU ECC Test: Passed" */
	for (p = line; (p = strstr(p, ": ")); p++) {
		if (is_said(p + 2, "FAIL") || is_said(p + 2, "FAILED") || is_said(p + 2, "Failed"))
			return RS_TICK_FAIL;
		if (is_said(p + 2, "OK") || is_said(p + 2, "PASS") || is_said(p + 2, "PASSED") ||
		    is_said(p + 2, "Passed"))
			return RS_TICK_PASS;
	}
	return RS_TICK_NONE;
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
	if (rs_tick_of(line) == RS_TICK_FAIL)
		return RS_LEVEL_ERROR;

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
		/* "2025-01-02 03:04:05.678: W external/xla": of XLA and TensorFlow */
		if (!level && n == 1 && p - line > 2 && p[-1] == ' ' && p[-2] == ':' &&
		    isdigit((unsigned char)p[-3]) && p[1] == ' ')
			level = by_initial(*p);
		/* "[E]" of GPFS and zap */
		if (!level && n == 1 && p > line && p[-1] == '[' && p[1] == ']')
			level = by_initial(*p);
		if (!level && n <= WORD_MAX && is_set(line, p, n))
			level = of_word(p, n);
		if (level)
			return level;
		p += n;
	}
	return RS_LEVEL_NONE;
}

bool rs_level_goes_on(const char *low)
{
	return rs_word_list_has(low,
				"~falling back|~fall back to|~ignore import|~, ignoring|~skipping "
				"import|~retrying with|~will proceed|~cap it to|~capping|~limiting "
				"value|~limiting to|~reducing to|~clamp|~using default|~defaulting "
				"to|~has no effect|deprecated|~will be ignored|~being ignored|"
				"~ignoring event|~continue without|~, not dumping|~failed, using |"
				"~tuning file|~/tuning_|~may not have completed yet|~ has yet to "
				"be |~going to /tmp "
				"instead|~userwarning:|~futurewarning:|~deprecationwarning:",
				false);
}

bool rs_level_tries_again(const char *line)
{
	enum { BYTES = 512 };
	char low[BYTES];

	if (rs_level_of(line) != RS_LEVEL_INFO)
		return false;
	rs_word_lower(line, low, sizeof(low));
	return rs_level_goes_on(low) ||
	       rs_word_list_has(low, "retrying|~will retry|~attempting to|~failover on", false);
}

/* "expected: performance, and found: powersave": a check of a machine's health compared two values.
 */
static bool is_mismatch(const char *low)
{
	static const char *const exact[] = {"different than expected", "differs from expected",
					    "not as expected",         "less than expected",
					    "fewer than expected",     "below expected",
					    "instead of expected"};
	static const char *const found[] = {"found",    " got",    "actual",
					    "detected", "present", "only "};
	const char *p;

	for (unsigned i = 0; i < sizeof(exact) / sizeof(*exact); i++)
		if (strstr(low, exact[i]))
			return true;
	/* a value stands behind the word: "expected 8", "expected: x", "expected at least 4" */
	p = strstr(low, "expected");
	if (!p || (!isdigit((unsigned char)p[9]) && p[8] != ':' && strncmp(p + 8, " at least", 9) &&
		   strncmp(p + 8, " to be", 6)))
		return false;
	for (unsigned i = 0; i < sizeof(found) / sizeof(*found); i++)
		if (strstr(low, found[i]))
			return true;
	return false;
}

/* "WARNING: Interface 'a' discards: 317% | 'a.in'=4137;0:98;;0;": a plugin of a monitor, whose
 * figures stand behind a bar. */
static bool is_plugins(const char *low)
{
	const char *bar = strchr(low, '|');

	return bar &&
	       (!strncmp(low, "warning: ", 9) || !strncmp(low, "warning - ", 10) ||
		!strncmp(low, "warn - ", 7)) &&
	       (strchr(bar, '=') || !bar[1 + strspn(bar + 1, " ")]);
}

bool rs_level_compares(const char *low)
{
	return is_mismatch(low) || is_plugins(low) || !strncmp(low, "alert: ", 7) ||
	       strstr(low, "slowdown is engaged") || strstr(low, "slowdown: active") ||
	       strstr(low, " links down and ");
}

/* The next word; its length. */
static const char *next_word(const char *p, size_t *n)
{
	p += strcspn(p, " ");
	p += strspn(p, " ");
	*n = strspn(p, "abcdefghijklmnopqrstuvwxyz0123456789_-/");
	return p;
}

bool rs_level_misses(const char *low)
{
	enum { WORDS = 6 };
	static const char *const things[] = {
		"device", "devices",  "interface", "interfaces",   "port", "ports", "adapter",
		"nic",    "adapters", "nics",      "hca",          "hcas", "gpu",   "gpus",
		"cards",  "provider", "providers", "accelerators", NULL};
	static const char *const verbs[] = {"was", "were", "is", "are", "could", "be", NULL};
	static const char *const there[] = {"detected", "found", "available", "visible", NULL};

	for (const char *at = low; (at = strstr(at, "no ")); at++) {
		const char *p = at;
		bool thing = false;
		size_t n;

		if (at > low && isalnum((unsigned char)at[-1]))
			continue;
		for (unsigned i = 0; i < WORDS && *(p = next_word(p, &n)); i++) {
			if (thing && rs_word_in(there, p, n))
				return true;
			if (thing && !rs_word_in(verbs, p, n))
				break;
			thing = thing || rs_word_in(things, p, n);
		}
	}
	return false;
}
