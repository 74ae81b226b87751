/*
 * What a command says that prints nothing: rmmod took a module away, modprobe brought it, and a
 * list of modules without the one that grep looked for has it not.
 */
#include <stdio.h>
#include <string.h>
#include "audit/read/silent.h"

static size_t name_length(const char *p)
{
	return strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
}

/* The kernel writes a module's name with '_'. */
static void module_name(char *name)
{
	for (; *name; name++)
		*name = *name == '-' ? '_' : *name;
}

static void absent(struct rs_audit *a, const struct rs_input *in, const char *module)
{
	char name[96];

	snprintf(name, sizeof(name), "module/%.80s", module);
	rs_input_add(a, in, 1, NULL, "absent", name, "%.80s", in->command);
}

/* Each word behind a command that is no option. */
static void each_module(struct rs_audit *a, const struct rs_input *in, const char *p, bool gone)
{
	char word[80], name[96];
	size_t n;

	for (; *p && !strchr(";&|#", *p); p += strcspn(p, " \t"), p += strspn(p, " \t")) {
		n = name_length(p);
		if (!n || *p == '-' || n >= sizeof(word) || (p[n] && !strchr(" \t;", p[n])))
			continue;
		snprintf(word, sizeof(word), "%.*s", (int)n, p);
		module_name(word);
		snprintf(name, sizeof(name), "module/%s", word);
		if (gone)
			absent(a, in, word);
		else
			rs_input_add(a, in, 1, NULL, "host", name, "loaded");
		/* "modprobe X option=1": one module, and what it is given */
		if (!gone)
			return;
	}
}

/* The one word that the last grep looks for; false: it looks for a pattern, or for what is not
 * there. */
static bool grepped(const char *command, char *out, size_t size)
{
	const char *p = strstr(command, "grep ");
	size_t n;

	if (!p || strstr(p + 1, "grep ") || strstr(p, " -v"))
		return false;
	for (p += 5; *p == '-'; p += strspn(p, " "))
		p += strcspn(p, " ");
	p += strspn(p, "'\"");
	n = name_length(p);
	if (!n || n >= size || (p[n] && !strchr(" '\"|;", p[n])))
		return false;
	snprintf(out, size, "%.*s", (int)n, p);
	return true;
}

void rs_silent(struct rs_audit *a, const struct rs_input *in)
{
	const char *c = in->command;
	char word[80];

	if (!strncmp(c, "rmmod ", 6))
		each_module(a, in, c + 6, true);
	else if (!strncmp(c, "modprobe -r ", 12) || !strncmp(c, "modprobe --remove ", 18))
		each_module(a, in, c + 12, true);
	else if (!strncmp(c, "modprobe ", 9))
		each_module(a, in, c + 9, false);
	else if ((!strncmp(c, "lsmod", 5) || strstr(c, "/proc/modules")) &&
		 grepped(c, word, sizeof(word))) {
		module_name(word);
		absent(a, in, strstr(word, "peer") ? "nvidia_peermem" : word);
	}
}
