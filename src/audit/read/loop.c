/*
 * Loops over the files of sysfs and procfs. A round prints a file's content, alone or behind a
 * name: "mlx5_0 -1", "/sys/class/infiniband/mlx5_0: -1", or the name on a line of its own. The
 * names that were printed, or else the words that the loop goes over, say which file it was.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/loop.h"
#include "audit/read/place.h"

enum { PATH = 256, WORDS = 32 };

struct loop {
	char variable[32], over[PATH], file[PATH]; /* file: with the variable in it */
	bool named;                                /* a round prints a name, too */
};

/* The variable at p, "$d" or "${d}": its length, 0: none, or another. */
static size_t variable_at(const struct loop *l, const char *p)
{
	size_t n = strlen(l->variable), brace;

	if (*p != '$')
		return 0;
	brace = p[1] == '{';
	if (strncmp(p + 1 + brace, l->variable, n))
		return 0;
	p += 1 + brace + n;
	return brace                                     ? (*p == '}' ? n + 3 : 0)
	       : isalnum((unsigned char)*p) || *p == '_' ? 0
							 : n + 1;
}

static bool parse(const char *command, struct loop *l)
{
	const char *in, *end, *body, *p;
	size_t n = 0;

	*l = (struct loop){.named = false};
	if (sscanf(command, "for %31[A-Za-z0-9_] in ", l->variable) != 1 ||
	    !(in = strstr(command, " in ")))
		return false;
	in += 4;
	end = in + strcspn(in, ";");
	body = strstr(end, "do ");
	if (!*end || !body || end - in >= PATH)
		return false;
	snprintf(l->over, sizeof(l->over), "%.*s", (int)(end - in), in);
	body += 3;
	p = strstr(body, "cat ");
	if (!p || strstr(p + 4, "cat "))
		return false;
	l->named = strstr(body, "echo") || strstr(body, "printf");
	for (p += 4 + strspn(p + 4, " \"'"); *p && !strchr(" ;)\"'`|", *p) && n + 1 < PATH; p++)
		l->file[n++] = *p;
	l->file[n] = '\0';
	for (p = l->file; *p; p++)
		if (variable_at(l, p))
			return true;
	return false;
}

/* The file of a round whose variable is `value`. */
static bool path_of(const struct loop *l, const char *value, char *out, size_t size)
{
	size_t n = 0, v;

	for (const char *p = l->file; *p; p += v ? v : 1) {
		int wrote;

		v = variable_at(l, p);
		wrote = v ? snprintf(out + n, size - n, "%s", value)
			  : snprintf(out + n, size - n, "%c", *p);
		n += (size_t)wrote;
		if (n >= size)
			return false;
	}
	return true;
}

/* What the variable was when `name` was printed: the name, in the directory that a pattern looks
 * through. */
static void value_of(const struct loop *l, const char *name, char *out, size_t size)
{
	const char *star = strchr(l->over, '*'), *slash = strrchr(name, '/');
	size_t n = star ? (size_t)(star - l->over) : 0;

	while (n && l->over[n - 1] != '/')
		n--;
	if (star && !slash)
		snprintf(out, size, "%.*s%s", (int)n, l->over, name);
	else
		snprintf(out, size, "%s", name);
}

/* The nth word that the loop goes over; false: it is a pattern, or there are fewer. */
static bool nth_word(const struct loop *l, unsigned nth, char *out, size_t size)
{
	const char *p = l->over;

	if (strpbrk(p, "*$`{"))
		return false;
	for (;; p += strcspn(p, " ")) {
		p += strspn(p, " ");
		if (!*p)
			return false;
		if (!nth--)
			break;
	}
	snprintf(out, size, "%.*s", (int)strcspn(p, " "), p);
	return true;
}

bool rs_loop_is(const char *command)
{
	struct loop l;

	return parse(command, &l);
}

int rs_loop_places(struct rs_audit *a, const struct rs_input *in)
{
	char value[PATH], path[PATH], name[PATH] = "";
	struct rs_line *line = calloc(1, sizeof(*line));
	unsigned round = 0;
	struct loop l;
	int added = 0;

	if (!line || !in->command || !parse(in->command, &l)) {
		free(line);
		return 0;
	}
	while (rs_line_next(in, line)) {
		char *text = line->text + strspn(line->text, " \t"), *content = text;

		if (!*text)
			continue;
		if (l.named && !*name) {
			size_t n = strcspn(text, " \t=");

			snprintf(name, sizeof(name), "%.*s", (int)(n < PATH ? n : PATH - 1), text);
			content = text + n + strspn(text + n, " \t=");
			n = strlen(name);
			while (n && (name[n - 1] == ':' || name[n - 1] == '/'))
				name[--n] = '\0';
			if (!*content) /* its content is on the next line */
				continue;
		}
		if (!nth_word(&l, round, value, sizeof(value))) {
			if (!l.named || !strchr(l.over, '*'))
				break;
			value_of(&l, name, value, sizeof(value));
		}
		*name = '\0';
		round++;
		if (path_of(&l, value, path, sizeof(path)))
			added += rs_place_add(a, in, line->number, path, content);
	}
	free(line);
	return added;
}
