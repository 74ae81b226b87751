/* What a command or a Compose file that starts a container gives it: the device nodes of RDMA, or
 * everything. docker-run(1), podman-run(1), the Compose specification ("devices", "privileged"). */
#include <stdio.h>
#include <string.h>
#include "audit/read/reader.h"

/* "docker run ", "sudo podman run ", not "docker run" within a sentence's quotes. */
static const char *runs(const char *text)
{
	static const char *const tools[] = {"docker", "podman", "nerdctl"};

	for (unsigned i = 0; i < sizeof(tools) / sizeof(*tools); i++)
		for (const char *at = text; (at = strstr(at, tools[i])); at++) {
			const char *p = at + strlen(tools[i]);

			if ((at > text && !strchr(" \t/;&|(-", at[-1])) || *p != ' ')
				continue;
			p += strspn(p, " ");
			p += strncmp(p, "container ", 10) ? 0 : 10;
			if ((!strncmp(p, "run", 3) && (!p[3] || strchr(" \t\\", p[3]))) ||
			    !strncmp(p, "create ", 7))
				return tools[i];
		}
	return NULL;
}

/* A variable that names an image, a command or a container: no options. */
static bool is_operand(const char *name, size_t n)
{
	static const char *const words[] = {"IMAGE", "IMG", "CMD",    "COMMAND", "CONTAINER",
					    "NAME",  "TAG", "SCRIPT", "USER",    "HOME"};
	char word[64];

	snprintf(word, sizeof(word), "%.*s", (int)n, name);
	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcasestr(word, words[i]))
			return true;
	return false;
}

/* Arguments that a variable holds, a word of its own: what they give is not known. "-v $HOME:/x"
 * has a variable within a word. */
static bool has_variable(const char *text)
{
	static const char name[] =
		"{}@*[]_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

	for (const char *p = text; (p = strchr(p, '$')); p++) {
		size_t n = strcspn(p, " \t\"\\");

		if (p > text && !strchr(" \t\"", p[-1]))
			continue;
		if (p[1] == '(' || (n > 1 && strspn(p + 1, name) == n - 1 && !is_operand(p, n)))
			return true;
	}
	return false;
}

/* An option, or a point of a list: `ls /dev/infiniband` gives nothing. */
static bool gives_nodes(const char *text)
{
	static const char *const options[] = {"--device", "-v ",     "--volume",
					      "--mount",  "device=", "devices:"};
	const char *item = text + strspn(text, "- \"'");

	if (!strstr(text, "/dev/infiniband"))
		return false;
	for (unsigned i = 0; i < sizeof(options) / sizeof(*options); i++)
		if (strstr(text, options[i]))
			return true;
	return !strncmp(item, "/dev/infiniband", 15);
}

static bool gives_devices(const char *text, bool starts)
{
	static const char *const gifts[] = {
		"--privileged", "privileged: true", "NVIDIA_MOFED", "/dev:/dev",
		"rdma/",        "nvidia.com/",      "--env-file",   "rdma_cm"};

	for (unsigned i = 0; i < sizeof(gifts) / sizeof(*gifts); i++)
		if (strstr(text, gifts[i]))
			return true;
	return gives_nodes(text) || ((starts || strchr("-$\"", *text)) && has_variable(text));
}

static bool line_container(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l)
{
	const char *tool = *l->text == '#' ? NULL : runs(l->text);
	char name[32];

	if (!tool && !strncmp(l->text, "services:", 9) && !l->text[9])
		tool = "compose";
	if (tool) {
		snprintf(name, sizeof(name), "run/%u", l->number);
		rs_input_add(a, in, l->number, NULL, "container", name, "%s", tool);
	}
	if (tool && in->marks)
		*in->marks |= RS_MARK_CONTAINER;
	if (in->marks && (*in->marks & RS_MARK_CONTAINER) && gives_devices(l->text, tool != NULL)) {
		snprintf(name, sizeof(name), "given/%u", l->number);
		rs_input_add(a, in, l->number, NULL, "container", name, "yes");
	}
	return false;
}

const struct rs_reader rs_reader_container = {
	.name = "container",
	.what = "docker run, podman run, a Compose file: whether a container is given "
		"/dev/infiniband",
	.trust = RS_TRUST_INTENT,
	.line = line_container,
	.of_code = true,
	.also = true,
};
