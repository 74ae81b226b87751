/* What a tool or a shell says instead of an output (refusal.h). */
#include <stdio.h>
#include <string.h>
#include "audit/facts/word_list.h"
#include "audit/read/refusal.h"

static const char *refusal_text(const char *text)
{
	static const char *const texts[] = {"No such file or directory",
					    "command not found",
					    "Permission denied",
					    "Operation not permitted",
					    "Operation not supported",
					    "No such device",
					    "Is a directory",
					    "Not a directory",
					    "Input/output error",
					    "Invalid argument",
					    "not found"};
	size_t n = strlen(text);

	while (n && strchr(". \t", text[n - 1]))
		n--;
	for (unsigned i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		size_t m = strlen(texts[i]);

		if (n >= m && !strncmp(text + n - m, texts[i], m))
			return texts[i];
	}
	return NULL;
}

/* Of "bash: line 1: ibstat: command not found" the part before the last ": ". */
static void before_last(const char *text, const char *end, char *out, size_t size)
{
	const char *from;

	while (end > text && strchr(": ", end[-1]))
		end--;
	from = end;
	while (from > text && !(from[-1] == ' ' && from - 1 > text && from[-2] == ':'))
		from--;
	if (!strncmp(from, "cannot access ", 14))
		from += 14;
	if (!strncmp(from, "cannot open ", 12))
		from += 12;
	while (from < end && strchr("'\"`\xe2", *from))
		from++;
	while (end > from && strchr("'\"`", end[-1]))
		end--;
	snprintf(out, size, "%.*s", (int)(end - from), from);
}

/* Who speaks: a shell or a tool that shows files. */
static bool refuses(const char *text)
{
	static const char *const who[] = {"bash", "-bash", "sh",   "-sh",    "zsh",      "ash",
					  "ksh",  "cat",   "grep", "ls",     "head",     "tail",
					  "find", "sudo",  "awk",  "sed",    "readlink", "stat",
					  "cp",   "tar",   "env",  "sysctl", "timeout",  "which",
					  "-ash", "dash",  "less", "more",   "xargs",    NULL};
	size_t n = strcspn(text, ": ");
	const char *slash = memrchr(text, '/', n);

	if (slash) {
		n -= (size_t)(slash + 1 - text);
		text = slash + 1;
	}
	return text[n] == ':' && rs_word_in(who, text, n);
}

bool rs_refusal_find(const char *text, struct rs_refusal *out)
{
	const char *said = refusal_text(text), *at;
	size_t n = strcspn(text, ": ");
	char what[200];

	/* "bash: echo: write error: Input/output error": a file is there, and refused what the
	 * command wrote */
	if (strlen(text) > 400 || strstr(text, ": write error: "))
		return false;
	/* "modprobe: FATAL: Module nvidia-peermem not found in directory /lib/modules/..." */
	if ((at = strstr(text, "Module ")) && strstr(at, " not found") &&
	    (strstr(text, "modprobe") || strstr(text, "modinfo")) &&
	    sscanf(at, "Module %199s", what) == 1) {
		out->text = "not found";
		snprintf(out->what, sizeof(out->what), "module/%s", what);
		return true;
	}
	/* zsh: command not found: ibstat */
	if ((at = strstr(text, "command not found: "))) {
		out->text = "command not found";
		snprintf(out->what, sizeof(out->what), "command/%.200s", at + 19);
		return true;
	}
	if (!said)
		return false;
	at = strstr(text, said);
	if (!strcmp(said, "command not found") || !strcmp(said, "not found")) {
		bool lone =
			n && text[n] == ':' && !strcmp(text + n + 1 + (text[n + 1] == ' '), said);

		if (!refuses(text) && !lone && !strstr(text, ": line "))
			return false;
		before_last(text, at, what, sizeof(what));
		out->text = "command not found";
		snprintf(out->what, sizeof(out->what), "%s%s", *what == '/' ? "" : "command/",
			 what);
		return true;
	}
	if (!refuses(text) && !(!strncmp(text, "/sys/", 5) || !strncmp(text, "/proc/", 6)))
		return false;
	before_last(text, at, what, sizeof(what));
	out->text = said;
	snprintf(out->what, sizeof(out->what), "%s", what);
	return *what != '\0';
}
