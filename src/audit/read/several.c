/*
 * Several commands in one: where each prints one line, and so many lines are there as there are
 * commands, each line is its own command's.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "audit/facts/word_list.h"
#include "audit/read/several.h"

/* Where the commands begin, and with them the quote that they stand in; 0: none. */
static const char *commands_in(const char *line, char *quote)
{
	static const char *const launchers[] = {"pdsh",   "clush",  "srun",    "ssh", "bash",
						"mpirun", "docker", "kubectl", NULL};
	bool launched = rs_word_in(launchers, line, strcspn(line, " "));
	const char *p = launched ? strpbrk(line, "'\"") : line;

	p = p ? p : line;
	*quote = *p == '\'' || *p == '"' ? *p : '\0';
	return p + (*quote != '\0');
}

/* The length of the command at p, up to ';', "&&" or the quote's end. */
static size_t one(const char *p, char quote)
{
	char within = '\0';
	size_t n = 0;

	for (; p[n]; n++) {
		if (within) {
			if (p[n] == within)
				within = '\0';
			continue;
		}
		if (quote && p[n] == quote)
			break;
		if (p[n] == '\'' || p[n] == '"')
			within = p[n];
		else if (p[n] == ';' || !strncmp(p + n, "&&", 2))
			break;
	}
	return n;
}

/* What prints nothing where it does what it was asked. */
static bool is_silent(const char *p)
{
	static const char *const words[] = {
		"cd", "export", "source",   ".",     "module", "sleep", "set",  "unset", "mkdir",
		"rm", "cp",     "modprobe", "rmmod", "sync",   "umask", "done", "fi",    NULL};

	return rs_word_in(words, p, strcspn(p, " \t;&'\""));
}

static const char *past(const char *p, size_t n, char quote)
{
	p += n;
	if (!*p || (quote && *p == quote))
		return NULL;
	p += *p == ';' ? 1 : 2;
	p += strspn(p, " \t");
	return *p && (!quote || *p != quote) ? p : NULL;
}

unsigned rs_several_count(const char *command)
{
	unsigned count = 0;
	char quote;

	if (!strncmp(command, "for ", 4)) /* one, again and again */
		return 1;

	for (const char *p = commands_in(command, &quote); p; p = past(p, one(p, quote), quote))
		count += !is_silent(p);
	return count;
}

void rs_several_get(const char *command, unsigned number, char *out, size_t size)
{
	char quote;
	const char *begin = commands_in(command, &quote), *p = begin;
	size_t n;

	*out = '\0';
	while (p && (is_silent(p) || number--))
		p = past(p, one(p, quote), quote);
	if (!p)
		return;
	n = one(p, quote);
	while (n && p[n - 1] == ' ')
		n--;
	if (begin > command + 1 && !strncmp(p, "ulimit", 6))
		snprintf(out, size, "%.*s%.*s", (int)(begin - command - (quote != '\0')), command,
			 (int)n, p);
	else
		snprintf(out, size, "%.*s", (int)n, p);
}

bool rs_several_one_line(const char *command)
{
	static const char *const begins[] = {"uname -",       "hostname", "nproc",
					     "sysctl -n ",    "getconf ", "cat /sys/module/",
					     "cat /proc/sys/"};
	const char *limit = strstr(command, "ulimit -"); /* behind a launcher, too */

	if (limit)
		return limit[8] && limit[8] != 'a' && !strpbrk(limit + 9, " |;");
	for (unsigned i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (!strncmp(command, begins[i], strlen(begins[i])))
			return !strpbrk(command, "*|");
	return false;
}
