/* The NUMA node or the CPUs that a command binds its program to, and the RDMA device that the
 * program is given: "numactl -N 1 ib_write_bw -d mlx5_0". numactl(8), taskset(1). */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "audit/read/reader.h"

enum { WORDS = 96 };

/* "-N 1", "-N1", "--cpunodebind 1", "--cpunodebind=1": the value; NULL: not this option. */
static const char *value_of(char **word, unsigned n, unsigned i, const char *option)
{
	size_t len = strlen(option);

	if (strncmp(word[i], option, len))
		return NULL;
	if (!word[i][len])
		return i + 1 < n ? word[i + 1] : NULL;
	if (word[i][len] == '=')
		return word[i] + len + 1;
	return option[1] != '-' ? word[i] + len : NULL;
}

static bool is_list(const char *p)
{
	return isdigit((unsigned char)*p) && !p[strspn(p, "0123456789,-")];
}

static bool is_tool(const char *word, const char *tool)
{
	const char *slash = strrchr(word, '/');

	return !strcmp(slash ? slash + 1 : word, tool);
}

/* The one device that a word names by itself: without its port, no list, no variable. */
static bool one_device(const char *value, char *out, size_t size)
{
	size_t n;

	value += *value == '=';
	n = strcspn(value, ":");
	if (n >= size || !n || !isalpha((unsigned char)*value) || strpbrk(value, "$,^*\"'{"))
		return false;
	snprintf(out, size, "%.*s", (int)n, value);
	return strpbrk(out, "0123456789") != NULL;
}

static bool device_of(char **word, unsigned n, char *out, size_t size)
{
	static const char *const options[] = {"-d", "--ib-dev", "NCCL_IB_HCA", "UCX_NET_DEVICES"};

	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < sizeof(options) / sizeof(*options); k++) {
			const char *value = value_of(word, n, i, options[k]);

			if (value && value != word[i] && one_device(value, out, size))
				return true;
		}
	return false;
}

static bool line_binding(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l)
{
	static const char *const of_node[] = {"-N", "--cpunodebind"};
	static const char *const of_cpus[] = {"-C", "--physcpubind"};
	char text[sizeof(l->text)], device[64], subject[80], name[32];
	const char *node = NULL, *cpus = NULL;
	char *word[WORDS];
	unsigned n, tool;
	bool numactl;

	if (!strstr(l->text, "numactl ") && !strstr(l->text, "taskset "))
		return false;
	snprintf(text, sizeof(text), "%s", l->text);
	n = rs_line_words(text, word, WORDS);
	for (tool = 0; tool < n; tool++)
		if (is_tool(word[tool], "numactl") || is_tool(word[tool], "taskset"))
			break;
	if (tool == n || !device_of(word, n, device, sizeof(device)))
		return false;
	numactl = is_tool(word[tool], "numactl");
	/* up to the program, whose options are its own */
	for (unsigned i = tool + 1; i < n && (*word[i] == '-' || is_list(word[i])); i++) {
		for (unsigned k = 0; k < 2 && numactl; k++) {
			const char *v = value_of(word, n, i, of_node[k]);

			node = v && is_list(v) ? v : node;
			v = value_of(word, n, i, of_cpus[k]);
			cpus = v && is_list(v) ? v : cpus;
		}
		if (!numactl && (!strcmp(word[i], "-c") || !strcmp(word[i], "--cpu-list")) &&
		    i + 1 < n && is_list(word[i + 1]))
			cpus = word[i + 1];
	}
	if (!node && !cpus)
		return false;
	snprintf(subject, sizeof(subject), "nic/%s", device);
	snprintf(name, sizeof(name), "user_%s/%u", node ? "node" : "cpus", l->number);
	rs_input_add(a, in, l->number, NULL, subject, name, "%s", node ? node : cpus);
	return true;
}

const struct rs_reader rs_reader_binding = {
	.name = "binding",
	.what = "numactl, taskset before a program with an RDMA device: its NUMA node or CPUs",
	.trust = RS_TRUST_INTENT,
	.line = line_binding,
	.of_code = true,
	.also = true,
};
