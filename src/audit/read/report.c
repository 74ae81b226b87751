/* Reports that people and scripts write: fenced blocks of Markdown, and the output of one command
 * after another with its prompt. Each part goes to the reader that knows it. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/place.h"
#include "audit/read/readers.h"

enum { PARTS_MAX = 4096 };

/* Commands whose output some reader knows: behind "# ", where a comment could stand, too. */
static const char *const commands[] = {
	"ethtool",       "ip",           "lspci",    "nvidia-smi",  "mlxconfig", "mlxlink",
	"mlnx_qos",      "rdma",         "ibstat",   "ibv_devinfo", "lscpu",     "numactl",
	"sysctl",        "show_gids",    "cat",      "dcb",         "dmesg",     "lsmod",
	"ulimit",        "ibdev2netdev", "route",    "cpupower",    "mstconfig", "mlxreg",
	"uname",         "env",          "printenv", "setpci",      "perfquery", "cma_roce_tos",
	"cma_roce_mode", "devlink",      NULL,
};

static bool is_command(const char *p)
{
	size_t n;

	if (!strncmp(p, "sudo ", 5))
		p += 5;
	n = strcspn(p, " \t|;");
	for (unsigned i = 0; commands[i]; i++)
		if (strlen(commands[i]) == n && !strncmp(commands[i], p, n))
			return true;
	return false;
}

/* "$ lspci", "# ethtool eth0", "[root@gpu01 ~]# ip addr", "$ user@host:~$ lscpu": the command. */
static const char *prompt(const char *text)
{
	const char *p = text, *found = NULL;

	if (*p != '$' && *p != '#' && *p != '[' && !strchr(p, '@'))
		return NULL;
	/* a prompt may follow another */
	for (int i = 0; i < 3; i++) {
		p = *p == '$' || *p == '#' ? p : strpbrk(p, "$#");
		if (!p || p[1] != ' ')
			break;
		p += 1 + strspn(p + 1, " ");
		if (is_command(p))
			found = p;
		if (strncmp(p, "sudo ", 5) == 0)
			break;
	}
	if (found && !strncmp(found, "sudo ", 5))
		found += 5;
	return found;
}

static bool is_fence(const char *text)
{
	return !strncmp(text, "```", 3) || !strncmp(text, "~~~", 3);
}

static int score(const struct rs_input *in)
{
	struct rs_line l = {0};
	unsigned fences = 0;

	if (in->command) /* a part of a report is no report */
		return 0;
	while (rs_line_next(in, &l) && l.number < 400) {
		fences += is_fence(l.text);
		if (prompt(l.text) || fences > 1)
			return 97;
	}
	return 0;
}

struct part {
	const char *start, *end;
	uint32_t line; /* lines before it */
	char command[512];
};

/* "cat FILE" of sysfs or procfs: what it holds, by its place. */
static bool place(struct rs_audit *a, const struct rs_input *in, const struct part *p,
		  const char *text)
{
	char path[256];

	if (sscanf(p->command, "cat %255s", path) != 1 || !rs_place_known(path))
		return false;
	rs_place_add(a, in, p->line + 1, path, text);
	return true;
}

static int give(struct rs_audit *a, const struct rs_input *in, const struct part *p)
{
	size_t n = (size_t)(p->end - p->start);
	struct rs_input sub = *in;
	char *copy;

	if (p->end <= p->start)
		return 0;
	copy = malloc(n + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, p->start, n);
	copy[n] = '\0';
	sub.data = copy;
	sub.size = n;
	sub.command = p->command;
	sub.first_line = in->first_line + p->line;
	if (!place(a, in, p, copy))
		rs_read_input(a, &sub);
	free(copy);
	return a->err;
}

static int read_report(struct rs_audit *a, const struct rs_input *in)
{
	struct part p = {.start = in->data};
	struct rs_line l = {0};
	bool fenced = false, open = false;
	unsigned parts = 0;
	int err = 0;

	while (!err && parts < PARTS_MAX) {
		size_t at = l.next;
		bool more = rs_line_next(in, &l);
		const char *command = more ? prompt(l.text) : NULL;

		if (more && !command && !is_fence(l.text))
			continue;
		if (open) {
			p.end = in->data + (at < in->size ? at : in->size);
			err = give(a, in, &p);
			parts++;
		}
		if (!more)
			break;
		if (!command)
			fenced = !fenced;
		open = command || fenced;
		p.start = in->data + (l.next < in->size ? l.next : in->size);
		p.line = l.number;
		snprintf(p.command, sizeof(p.command), "%s", command ? command : "-");
	}
	return err ? err : a->err;
}

const struct rs_reader rs_reader_report = {
	.name = "report",
	.what = "Markdown with fenced output, or commands with their prompts: each part by its "
		"reader",
	.trust = RS_TRUST_NOTE,
	.score = score,
	.read = read_report,
};
