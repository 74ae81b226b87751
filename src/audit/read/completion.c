/*
 * Completions in error, as programs print them: in the words of ibv_wc_status_str() or of a
 * library's own, by the enumerator with or without its prefix, or by number beside words of a
 * completion (IBTA vol. 1 11.6.2; the numbers are those of enum ibv_wc_status).
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/read/completion.h"

enum { STATUS_MAX = 23 };

/* Enumerators, the longer of two that hold each other first. */
static const struct {
	const char *name;
	int number;
} names[] = {
	{"RNR_RETRY_EXC_ERR", 13}, {"RETRY_EXC_ERR", 12},    {"LOC_LEN_ERR", 1},
	{"LOC_QP_OP_ERR", 2},      {"LOC_EEC_OP_ERR", 3},    {"LOC_PROT_ERR", 4},
	{"WR_FLUSH_ERR", 5},       {"MW_BIND_ERR", 6},       {"BAD_RESP_ERR", 7},
	{"LOC_ACCESS_ERR", 8},     {"REM_INV_REQ_ERR", 9},   {"REM_ACCESS_ERR", 10},
	{"REM_OP_ERR", 11},        {"LOC_RDD_VIOL_ERR", 14}, {"REM_INV_RD_REQ_ERR", 15},
	{"REM_ABORT_ERR", 16},     {"INV_EECN_ERR", 17},     {"INV_EEC_STATE_ERR", 18},
	{"IBV_WC_FATAL_ERR", 19},  {"RESP_TIMEOUT_ERR", 20}, {"IBV_WC_GENERAL_ERR", 21},
};

/* Words, cut to what tells them apart: libibverbs, UCX's of mlx5, libfabric's efa. */
static const struct {
	const char *text;
	int number;
} words[] = {
	{"rnr retry count", 13},           {"receive-no-ready retry count", 13},
	{"receiver not ready retr", 13},   {"transport retry count", 12},
	{"transport retry exceeded", 12},  {"local length error", 1},
	{"local qp operation error", 2},   {"local protection error", 4},
	{"work request flushed error", 5}, {"wr flushed error", 5},
	{"memory window bind error", 6},   {"memory management operation error", 6},
	{"bad response error", 7},         {"local access error", 8},
	{"local access violation", 8},     {"remote invalid request", 9},
	{"invalid request error", 9},      {"remote access error", 10},
	{"remote operation error", 11},    {"operation aborted error", 16},
	{"remote side aborted", 16},       {"response timeout error", 20},
};

/* mlx5's syndromes of a completion in error (Linux, MLX5_CQE_SYNDROME_*). */
static int of_syndrome(unsigned syndrome)
{
	static const struct {
		uint8_t syndrome, status;
	} known[] = {{0x01, 1},  {0x02, 2},  {0x04, 4}, {0x05, 5},  {0x06, 6},
		     {0x10, 7},  {0x11, 8},  {0x12, 9}, {0x13, 10}, {0x14, 11},
		     {0x15, 12}, {0x16, 13}, {0x22, 16}};

	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].syndrome == syndrome)
			return known[i].status;
	return 0;
}

static int by_name(const char *line)
{
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strstr(line, names[i].name))
			return names[i].number;
	return 0;
}

/* A program's line has a level, a place in a source, or the number beside the words. */
static bool is_program(const char *line)
{
	static const char *const signs[] = {".c:",     ".cc:", ".cpp:",   ".cu:",   ".h:",
					    ".hpp:",   ".go:", ".rs:",    "ERROR",  "WARN",
					    "[E]",     "*ERR", "[error]", "error:", "status",
					    "Error: ", "err=", "UCX  ",   "errno"};

	if (*line == 'E' && isdigit((unsigned char)line[1]))
		return true;
	for (unsigned i = 0; i < sizeof(signs) / sizeof(*signs); i++)
		if (strstr(line, signs[i]))
			return true;
	return false;
}

/* The words end a clause behind a colon, as a log has them, or stand in a program's brackets. */
static bool as_logged(const char *line, const char *at, size_t n)
{
	const char *colon = memchr(line, ':', (size_t)(at - line));

	if (at > line && at[-1] == '"')
		return false;
	if (is_program(line))
		return true;
	return (at[n] == '\0' || strchr(")(,;.", at[n]) || !strncmp(at + n, " (", 2)) &&
	       (colon || (at > line && at[-1] == '(')) && at > line;
}

static int by_words(const char *line)
{
	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++) {
		const char *at = strcasestr(line, words[i].text);
		size_t n = strlen(words[i].text);

		if (!at)
			continue;
		/* "count exceeded", "counter exceeded", and what is left of it where the line is
		 * cut */
		if (strstr(words[i].text, "retry count"))
			n += strspn(at + n, "er excd");
		if (as_logged(line, at, n) || !strncmp(line, "Failed status ", 14))
			return words[i].number;
	}
	return 0;
}

/* The number behind a word: "status 12", "status=12", "status: (12)", "error 12,"; 0: none. */
static int number_behind(const char *line, const char *word)
{
	for (const char *p = line; (p = strcasestr(p, word));) {
		char *end;
		long n;

		p += strlen(word);
		p += strspn(p, " :=([#");
		if (!isdigit((unsigned char)*p))
			continue;
		n = strtol(p, &end, 0);
		if (n > 0 && n <= STATUS_MAX && !isalnum((unsigned char)*end) && *end != '.')
			return (int)n;
	}
	return 0;
}

/* "CQ error on Queue Pair 0x7f, Response Index 1400 (12): transport", "IBV_WC_X(12)" */
static int in_brackets(const char *line)
{
	for (const char *p = line; (p = strchr(p, '('));) {
		char *end;
		long n = strtol(++p, &end, 10);

		if (end > p && *end == ')' && n > 0 && n <= STATUS_MAX)
			return (int)n;
	}
	return 0;
}

/* Words of a completion, beside which a number is its status. */
static bool of_completion(const char *line)
{
	static const char *const signs[] = {
		"ompletion",    "wc.status",    "wc_status",  "wc status",  "WC status",
		"CQE",          "cqe ",         "CQ error",   "rror on CQ", "poll_cq",
		"work request", "Work request", "bad wc",     "WC error",   "wc error",
		"wc->status",   "comp->status", "snd status", "rcv status", "work item failed"};

	for (unsigned i = 0; i < sizeof(signs) / sizeof(*signs); i++)
		if (strstr(line, signs[i]))
			return true;
	return false;
}

static int by_number(const char *line)
{
	static const char *const behind[] = {"wc.status",     "wc_status", "wc status",
					     "status number", "status",    "with error",
					     "CQE error",     "wc error"};
	int n = 0;

	if (!strncmp(line, "Failed status ", 14) || strstr(line, " Failed status "))
		return number_behind(line, "status");
	if (strstr(line, "with status ") && (n = number_behind(line, "status number")))
		return n;
	if (!of_completion(line))
		return 0;
	for (unsigned i = 0; !n && i < sizeof(behind) / sizeof(*behind); i++)
		n = number_behind(line, behind[i]);
	return n || !strcasestr(line, "rror") ? n : in_brackets(line);
}

/* Is it worth a closer look? Words of which each form has one. */
static bool worth(const char *line)
{
	return strstr(line, "rror") || strstr(line, "ERR") || strstr(line, "retr") ||
	       strstr(line, "status") || strstr(line, "synd 0x") || strstr(line, "iolation") ||
	       strstr(line, "invalid req") || strstr(line, "aborted");
}

int rs_completion_status(const char *line)
{
	const char *p = strstr(line, "(synd 0x");
	unsigned syndrome;
	int status;

	/* a person tells of what did not come */
	if (!worth(line) ||
	    (!is_program(line) && (strstr(line, " never saw ") || strstr(line, " no longer ") ||
				   strstr(line, " did not see "))))
		return 0;
	if (p && strstr(p, "vend 0x") && sscanf(p, "(synd 0x%x", &syndrome) == 1)
		return of_syndrome(syndrome);
	if ((status = by_name(line)) || (status = by_words(line)))
		return status;
	return by_number(line);
}
