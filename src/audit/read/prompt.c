/* Prompts, headings, prose, refusals: what stands between the outputs of commands. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/kernel_line.h"
#include "audit/facts/level.h"
#include "audit/read/prompt.h"

/* ---- Commands ---- */

/* Behind "# " and on a line of its own, where a comment or a word could stand: commands whose
 * output is known, or that start what prints. */
static const char *const commands[] = {
	"ethtool",
	"ip",
	"lspci",
	"nvidia-smi",
	"mlxconfig",
	"mlxlink",
	"mlnx_qos",
	"rdma",
	"ibstat",
	"ibstatus",
	"ibv_devinfo",
	"ibv_devices",
	"lscpu",
	"numactl",
	"sysctl",
	"show_gids",
	"cat",
	"dcb",
	"dmesg",
	"lsmod",
	"ulimit",
	"ibdev2netdev",
	"route",
	"cpupower",
	"mstconfig",
	"mlxreg",
	"uname",
	"env",
	"printenv",
	"setpci",
	"perfquery",
	"cma_roce_tos",
	"cma_roce_mode",
	"devlink",
	"ibnetdiscover",
	"iblinkinfo",
	"ibqueryerrors",
	"ibhosts",
	"lldpctl",
	"lstopo",
	"ucx_info",
	"fi_info",
	"rocm-smi",
	"amd-smi",
	"mst",
	"ofed_info",
	"modinfo",
	"modprobe",
	"journalctl",
	"ifconfig",
	"kubectl",
	"docker",
	"mpirun",
	"mpiexec",
	"srun",
	"torchrun",
	"nv",
	"show",
	"vtysh",
	"tc",
	"lldpcli",
	"hca_self_test.ofed",
	"mlxfwmanager",
	"flint",
	"ib_write_bw",
	"ib_read_bw",
	"ib_send_bw",
	"ib_write_lat",
	"ib_read_lat",
	"ib_send_lat",
	"all_reduce_perf",
	"ibping",
	"sminfo",
	"saquery",
	"ibportstate",
	"nvidia-topologyd",
	"rping",
	"ucx_perftest",
	"fi_pingpong",
	"mlnx_perf",
	"ls",
	"grep",
	"head",
	"tail",
	"echo",
	"hostname",
	"ping",
	"scontrol",
	"sinfo",
	"dmidecode",
	"lldptool",
	"niccli",
	"bnxtnvm",
	"nft",
	"iptables",
	"ip6tables",
	"ecnconfig",
	"pfcstat",
	"portstat",
	"sfputil",
	"smpquery",
	"ibdiagnet",
	"ibtracert",
	"opainfo",
	"systemctl",
	"dcgmi",
	"arp",
	"bridge",
	"lsusb",
	"vppctl",
	"display",
	"mstflint",
	"mlxdump",
	"nvsm",
	"ibcheckerrors",
	"swapon",
	"getconf",
	"lshw",
	NULL,
};

static bool listed(const char *const *list, const char *p, size_t n)
{
	for (unsigned i = 0; list[i]; i++)
		if (strlen(list[i]) == n && !strncmp(list[i], p, n))
			return true;
	return false;
}

static size_t word_length(const char *p)
{
	return strcspn(p, " \t|;");
}

/* Past what stands before a command: sudo, time, variables, "docker exec X", "kubectl exec X --".
 */
static const char *command_start(const char *p, char *host)
{
	for (int i = 0; i < 8; i++) {
		size_t n = word_length(p);
		const char *dashes;

		p += strspn(p, " \t(");
		n = word_length(p);
		if ((n == 4 && (!strncmp(p, "sudo", n) || !strncmp(p, "time", n))) ||
		    (n == 5 && !strncmp(p, "nohup", n))) {
			p += n + strspn(p + n, " \t");
			while (*p == '-') /* sudo -E */
				p += word_length(p), p += strspn(p, " \t");
			continue;
		}
		if (n == 3 && !strncmp(p, "ssh", n)) {
			const char *to = p + 3 + strspn(p + 3, " "), *at;
			size_t m = word_length(to);

			if (!m || *to == '-' || !to[m])
				return p;
			at = memchr(to, '@', m);
			at = at ? at + 1 : to;
			snprintf(host, RS_NAME_BYTES, "%.*s", (int)(to + m - at), at);
			p = to + m + strspn(to + m, " \t'\"");
			continue;
		}
		if (n == 7 && !strncmp(p, "kubectl", n) && (dashes = strstr(p, " -- "))) {
			p = dashes + 4;
			continue;
		}
		if (strcspn(p, "=") < n && isupper((unsigned char)*p)) { /* NAME=value command */
			if (!p[n])
				return p;
			p += n;
			continue;
		}
		break;
	}
	return p;
}

/* Keeps a command without its path: "/usr/sbin/ethtool eth0" is "ethtool eth0". */
static void keep(struct rs_prompt *out, const char *p)
{
	size_t n, from = 0;

	p = command_start(p, out->host);
	n = word_length(p);
	for (size_t i = 0; i < n; i++)
		if (p[i] == '/' && i + 1 < n)
			from = i + 1;
	snprintf(out->command, sizeof(out->command), "%s", p + from);
}

static bool known(const char *p)
{
	char host[RS_NAME_BYTES];
	size_t n, from = 0;

	p = command_start(p, host);
	n = word_length(p);
	for (size_t i = 0; i < n; i++)
		if (p[i] == '/' && i + 1 < n)
			from = i + 1;
	return listed(commands, p + from, n - from);
}

bool rs_command_known(const char *text)
{
	return known(text);
}

/* ---- Prompts ---- */

static size_t name_length(const char *p)
{
	size_t n = 0;

	while (isalnum((unsigned char)p[n]) || p[n] == '-' || p[n] == '_' || p[n] == '.')
		n++;
	return n;
}

/* "user@host": its length, the host in *host. */
static size_t user_at(const char *p, const char **host, size_t *length)
{
	size_t n = name_length(p);

	if (!n || p[n] != '@')
		return 0;
	*host = p + n + 1;
	*length = name_length(*host);
	return *length ? n + 1 + *length : 0;
}

static bool is_sign(char c)
{
	return c == '$' || c == '#' || c == '%' || c == '>';
}

/* The sign that ends a prompt, with a blank or nothing behind it; NULL: none within a path. */
static const char *sign(const char *p)
{
	for (unsigned i = 0; i < 160 && p[i]; i++)
		if (is_sign(p[i]) && (p[i + 1] == ' ' || !p[i + 1]))
			return p + i;
	return NULL;
}

/* "[root@gpu01 ~]# cmd", "ubuntu@gpu01:~/x$ cmd", "root@gpu01> cmd": the command, or NULL. */
static const char *named(const char *text, struct rs_prompt *out)
{
	bool square = *text == '[';
	const char *p = text + square, *host, *end;
	size_t length, n = user_at(p, &host, &length);

	if (!n)
		return NULL;
	p += n;
	if (square) {
		p = strchr(p, ']');
		if (!p)
			return NULL;
		p += 1 + (p[1] == ' ');
		if (!is_sign(*p))
			return NULL;
		end = p;
	} else {
		if (*p && *p != ':' && *p != ' ' && *p != '~' && *p != '/' && *p != '(' &&
		    !is_sign(*p))
			return NULL;
		end = sign(p);
		/* an address in a sentence: a path has few words */
		if (!end || end - p > 100)
			return NULL;
		if (*p == ' ' && strchr(p + 1, ' ') && strchr(p + 1, ' ') < end - 1)
			return NULL;
	}
	snprintf(out->host, sizeof(out->host), "%.*s", (int)length, host);
	return end + 1 + strspn(end + 1, " \t");
}

/* "gpu01:~ # cmd", "gpu01:/opt$ cmd": a host without a user. */
static const char *hosted(const char *text, struct rs_prompt *out)
{
	size_t n = name_length(text), m;
	const char *p = text + n;

	if (!n || *p != ':' || (p[1] != '~' && p[1] != '/'))
		return NULL;
	m = 1 + strcspn(p + 1, " $#");
	p += m + (p[m] == ' ');
	if ((*p != '$' && *p != '#') || p[1] != ' ')
		return NULL;
	snprintf(out->host, sizeof(out->host), "%.*s", (int)n, text);
	return p + 2;
}

/* "<leaf1>display", "[~leaf1-400GE1/0/1]display": a switch's of VRP and Comware. */
static const char *of_vrp(const char *text, struct rs_prompt *out)
{
	const char *name, *p;
	size_t n;

	if (*text != '<' && *text != '[')
		return NULL;
	name = text + 1 + strspn(text + 1, "~*");
	n = name_length(name);
	p = name + strcspn(name, "<>[] \t");
	if (!n || *p != (*text == '<' ? '>' : ']'))
		return NULL;
	p += 1 + strspn(p + 1, " ");
	if (strncmp(p, "dis", 3) || (!strchr(" p", p[3]) || !p[3]))
		return NULL;
	/* "leaf1-400GE1/0/1": a view of an interface */
	for (size_t i = 0; i < n && name[n] == '/'; i++)
		if (name[i] == '-' && isdigit((unsigned char)name[i + 1]))
			n = i;
	snprintf(out->host, sizeof(out->host), "%.*s", (int)n, name);
	return p;
}

/* What stands before a switch's name ("RP/0/RP0/CPU0:", "A:", "A:admin@") and behind it
 * (" [standalone: master]", " (config)"). */
static const char *switch_name(const char *text)
{
	const char *p = text, *at;

	if (!strncmp(p, "RP/", 3) && strchr(p, ':'))
		return strchr(p, ':') + 1;
	if ((*p == 'A' || *p == 'B') && p[1] == ':') {
		p += 2;
		at = p + strcspn(p, "@# ");
		return *at == '@' ? at + 1 : p;
	}
	return p;
}

static const char *behind_name(const char *p)
{
	if (!strncmp(p, " [", 2) && strchr(p, ']'))
		p = strchr(p, ']') + 1;
	if (!strncmp(p, " (config", 8) && strchr(p, ')'))
		p = strchr(p, ')') + 1;
	return *p == ' ' && (p[1] == '#' || p[1] == '>') ? p + 1 : p;
}

/* "leaf1#show pfc", "leaf1(config)# show", "leaf1> show": a switch's. */
static const char *of_switch(const char *text, struct rs_prompt *out)
{
	static const char *const verbs[] = {"show",     "sh",   "display", "dis", "enable",
					    "terminal", "info", "admin",   "do",  NULL};
	const char *p;
	size_t n;
	bool config;

	text = switch_name(text);
	n = name_length(text);
	p = behind_name(text + n);
	if (!n || !isalpha((unsigned char)*text))
		return NULL;
	config = !strncmp(p, "(conf", 5) && strchr(p, ')');
	if (config)
		p = strchr(p, ')') + 1;
	if (*p != '#' && *p != '>')
		return NULL;
	p += 1 + strspn(p + 1, " ");
	if (!config && !listed(verbs, p, word_length(p)))
		return NULL;
	snprintf(out->host, sizeof(out->host), "%.*s", (int)n, text);
	return p;
}

/* "bash-5.1# cmd", "sh-4.2$ cmd", "/ # cmd", "~ # cmd": nameless. */
static const char *nameless(const char *p)
{
	if (!strncmp(p, "bash-", 5) || !strncmp(p, "sh-", 3)) {
		p += strcspn(p, "$# ");
		return (*p == '$' || *p == '#') && p[1] == ' ' ? p + 2 : NULL;
	}
	if ((!strncmp(p, "/ ", 2) || !strncmp(p, "~ ", 2)) && (p[2] == '#' || p[2] == '$') &&
	    p[3] == ' ')
		return p + 4;
	return NULL;
}

/* "$ cmd"; "# cmd", "> cmd", "% cmd", "+ cmd" where the command is known. */
static const char *bare_sign(const char *p)
{
	size_t n = 1;

	if (!strncmp(p, "\xe2\x9d\xaf ", 4) || !strncmp(p, "\xe2\x9e\x9c ", 4))
		return p + 4;
	if (*p == '$')
		return p[1] == ' ' && p[2] ? p + 2 : NULL;
	if (*p == '+')
		n = strspn(p, "+");
	else if (*p != '#' && *p != '>' && *p != '%')
		return NULL;
	if (p[n] != ' ')
		return NULL;
	p += n + strspn(p + n, " ");
	return known(p) ? p : NULL;
}

/* A command that configures, and prints nothing: it is the text itself. */
static bool is_setting(const char *text, const char *command)
{
	static const char *const verbs[] = {"nv set ", "nv unset ", "set ", "delete ",
					    "deactivate "};
	const char *config = strstr(text, "(conf");

	for (unsigned i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (!strncmp(command, verbs[i], strlen(verbs[i])))
			return true;
	return config && config < command && strncmp(command, "show", 4);
}

bool rs_prompt_find(const char *text, struct rs_prompt *out)
{
	const char *p = text, *found = NULL;

	*out = (struct rs_prompt){0};
	/* "(base) ", "{master:0}", and a prompt before a prompt */
	if (*p == '(' && strchr(p, ')') && strchr(p, ')')[1] == ' ')
		p = strchr(p, ')') + 2;
	for (int i = 0; i < 3; i++) {
		const char *next = NULL;

		if (isalnum((unsigned char)*p) || *p == '[' || *p == '_') {
			next = named(p, out);
			next = next ? next : hosted(p, out);
			next = next ? next : of_switch(p, out);
		}
		next = next ? next : of_vrp(p, out);
		next = next ? next : nameless(p);
		next = next ? next : bare_sign(p);
		if (!next)
			break;
		found = p = next;
	}
	if (!found)
		return false;
	if (is_setting(text, found))
		out->strip = (size_t)(found - text);
	keep(out, found);
	return true;
}

/* ---- Headings ---- */

/* Commands whose name begins lines of configurations and sentences, too. */
static const char *const not_typed[] = {"hostname", "nv",    "show", "ls", "grep", "echo", "head",
					"tail",     "route", "ping", "tc", "env",  NULL};

/* A command as people type it, not the first word of a sentence or of a setting. */
static bool typed(const char *p)
{
	static const char *const second[] = {
		"show", "topo",   "link",      "addr",   "a",      "qos",  "dev",   "pfc", "ets",
		"app",  "buffer", "statistic", "system", "nvlink", "rule", "route", "r",   "l",
		"q",    "query",  "status",    "--",     "get",    "logs", "exec",  NULL};
	size_t n = word_length(p);
	const char *arg;

	if (!known(p) || listed(not_typed, p, n) || strchr(p, ',') || strlen(p) > 200)
		return false;
	/* "ip route 10.0.0.0/8 ..." is a setting of switches */
	if (!strncmp(p, "ip route", 8) && p[8] && strncmp(p + 8, " show", 5) &&
	    strncmp(p + 8, " get", 4))
		return false;
	/* "dcb pfc PROFILE" is one of Huawei's */
	if (!strncmp(p, "dcb ", 4) && !strstr(p, " show") && !strstr(p, " set"))
		return false;
	if (p[n] == '|')
		return true;
	arg = p + n + strspn(p + n, " \t");
	if (!*arg)
		return true;
	if (*arg == '|' || *arg == '-' || *arg == '/')
		return true;
	n = word_length(arg);
	if (listed(second, arg, n))
		return true;
	/* a device */
	return memchr(arg, '_', n) ||
	       (isdigit((unsigned char)arg[n - 1]) && isalpha((unsigned char)*arg));
}

/* The text within "=== x ===", "**x**:", "`x`", "Output of x:": what is left, and how much was
 * taken away. */
static unsigned undress(const char *text, char *out, size_t size)
{
	static const char *const before[] = {"output of ",   "the output of ", "result of ",
					     "output from ", "output for ",    "$ ",
					     "here is ",     "from "};
	static const char *const after[] = {" output", " shows",   " says",         " gives",
					    " result", " returns", " on each node", " log"};
	unsigned taken = 0;
	size_t n, k;

	k = strspn(text, "*#=-_`~ \t");
	taken += k > 0;
	snprintf(out, size, "%s", text + k);
	for (bool more = true; more;) {
		more = false;
		n = strlen(out);
		while (n && strchr("*#=-_`~ \t:", out[n - 1])) {
			out[--n] = '\0';
			taken++;
		}
		for (unsigned i = 0; i < sizeof(after) / sizeof(*after); i++) {
			k = strlen(after[i]);
			if (n > k && !strcasecmp(out + n - k, after[i])) {
				out[n - k] = '\0';
				taken += 2;
				more = true;
			}
		}
	}
	for (unsigned i = 0; i < sizeof(before) / sizeof(*before); i++) {
		k = strlen(before[i]);
		if (!strncasecmp(out, before[i], k)) {
			memmove(out, out + k, strlen(out + k) + 1);
			k = strspn(out, "*`");
			memmove(out, out + k, strlen(out + k) + 1);
			taken += 2;
		}
	}
	return taken;
}

/* "gpu01" between "===", "Node 2", "host A": NULL when it is none. */
static bool names_host(const char *text, const char *whole, char *host)
{
	static const char *const kinds[] = {"node",    "host",    "server",   "machine", "worker",
					    "on host", "on node", "hostname", "client"};
	bool framed = strspn(whole, "=") >= 3 || strspn(whole, "-") >= 3 ||
		      strspn(whole, "#") >= 1 || strspn(whole, "*") >= 2;
	size_t n = name_length(text), k;

	if (framed && n && n < RS_NAME_BYTES && !text[n] && isalpha((unsigned char)*text) &&
	    isdigit((unsigned char)text[n - 1]) && !strchr(text, '_')) {
		snprintf(host, RS_NAME_BYTES, "%s", text);
		return true;
	}
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		const char *p = text + (k = strlen(kinds[i]));

		if (strncasecmp(text, kinds[i], k))
			continue;
		p += strspn(p, " :#-_");
		n = name_length(p);
		if (!n || p[n] || n > 40 || (n > 1 && !isdigit((unsigned char)p[n - 1]) && i != 7))
			continue;
		snprintf(host, RS_NAME_BYTES, "%.*s%s", (int)(i >= 5 ? 0 : k), text, p);
		return true;
	}
	return false;
}

bool rs_heading_find(const char *text, struct rs_prompt *out)
{
	char inside[256];
	unsigned taken;

	*out = (struct rs_prompt){0};
	if (!*text || strlen(text) >= sizeof(inside))
		return false;
	taken = undress(text, inside, sizeof(inside));
	if (typed(inside) && (taken || !strchr(text, ':') || strchr(text, '/'))) {
		keep(out, inside);
		return true;
	}
	return taken && names_host(inside, text, out->host);
}

bool rs_fence(const char *text)
{
	return !strncmp(text, "```", 3) || !strncmp(text, "~~~", 3) || !strcmp(text, "[code]") ||
	       !strcmp(text, "[/code]") || !strcmp(text, "<pre>") || !strcmp(text, "</pre>");
}

/* ---- Prose ---- */

/* Words that sentences have and commands, settings and tables have not. */
static bool is_small(const char *p, size_t n)
{
	static const char *const small[] = {
		"the",   "a",     "an",   "is",   "are",  "was",  "were", "we",   "i",
		"it",    "this",  "that", "have", "has",  "but",  "when", "my",   "our",
		"can",   "there", "you",  "they", "with", "does", "did",  "been", "any",
		"which", "what",  "how",  "and",  "then", "so",   "seen", "here", "if",
		"me",    "it's",  "i'm",  "its",  NULL};
	char low[8];

	while (n && strchr(".,?!:;()", p[n - 1]))
		n--;
	if (!n || n >= sizeof(low))
		return false;
	for (size_t i = 0; i < n; i++)
		low[i] = (char)tolower((unsigned char)p[i]);
	return listed(small, low, n);
}

bool rs_prose(const char *text)
{
	unsigned words = 0, plain = 0, little = 0;
	size_t n = strlen(text);
	const char *p = text;

	if (n < 16 || !isalpha((unsigned char)*text) || strchr(text, '=') || strchr(text, '{') ||
	    strchr(text, ';'))
		return false;
	while (*p) {
		size_t w = strcspn(p, " \t"), letters = 0;

		for (size_t i = 0; i < w; i++)
			letters += isalpha((unsigned char)p[i]) || strchr("'.,?!:()-", p[i]);
		words++;
		/* after the first, words of a sentence are small */
		plain += letters == w && (words == 1 || islower((unsigned char)*p));
		little += is_small(p, w);
		p += w;
		p += strspn(p, " \t");
	}
	return words >= 4 && little && 10 * plain >= 6 * words &&
	       (strchr(".?!:", text[n - 1]) || words >= 8 || little >= 2);
}

/* ---- Code ---- */

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && !strcmp(text + n - m, end);
}

bool rs_code(const char *text)
{
	static const char *const starts[] = {"#include",
					     "#!/",
					     "#define ",
					     "#ifdef",
					     "#ifndef",
					     "#endif",
					     "typedef ",
					     "extern ",
					     "def ",
					     "if [",
					     "elif ",
					     "while ",
					     "namespace ",
					     "using namespace",
					     "static const ",
					     "static int ",
					     "static void ",
					     "static bool ",
					     "static struct ",
					     "static char ",
					     "static unsigned ",
					     "static size_t ",
					     "static inline ",
					     "static uint",
					     "if (",
					     "for (",
					     "int main(",
					     "void ",
					     "return ",
					     "} else",
					     "except",
					     "try:",
					     "} while",
					     "assert_",
					     "switch (",
					     "case ",
					     "break;",
					     "const char *",
					     "struct rs_",
					     "\tif ("};
	static const char *const whole[] = {"fi", "done", "esac",  "else",
					    "};", "})",   "else:", "EOF"};
	static const char *const ends[] = {"; then", "; do", "):", ") {", "\\n\"", "\","};

	for (unsigned i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		if (!strncmp(text, starts[i], strlen(starts[i])))
			return true;
	for (unsigned i = 0; i < sizeof(whole) / sizeof(*whole); i++)
		if (!strcmp(text, whole[i]))
			return true;
	for (unsigned i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (ends_with(text, ends[i]))
			return true;
	/* "class RDMA" alone is a switch's */
	if (!strncmp(text, "class ", 6) && strchr("{:);", text[strlen(text) - 1]))
		return true;
	if (!strncmp(text, "import ", 7) ||
	    (!strncmp(text, "from ", 5) && strstr(text, " import ")))
		return !ends_with(text, ";");
	return false;
}

/* ---- Refusals ---- */

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
	return text[n] == ':' && listed(who, text, n);
}

bool rs_refusal_find(const char *text, struct rs_refusal *out)
{
	const char *said = refusal_text(text), *at;
	size_t n = strcspn(text, ": ");
	char what[200];

	if (strlen(text) > 400)
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

/* ---- Failures ---- */

/* "0 errors", "errors: 0", "error-correction": the word without its meaning. */
static bool denied(const char *text, const char *at, size_t n)
{
	const char *p = at;

	while (p > text && p[-1] == ' ')
		p--;
	if (p - text >= 2 && p[-1] == '0' && !isalnum((unsigned char)p[-2]) && p[-2] != '.')
		return true;
	if (p - text == 1 && p[-1] == '0')
		return true;
	if (p - text >= 2 && !strncasecmp(p - 2, "no", 2) &&
	    (p - text == 2 || !isalpha((unsigned char)p[-3])))
		return true;
	if (p - text >= 7 && !strncasecmp(p - 7, "without", 7))
		return true;
	if (p - text >= 3 && !strncasecmp(p - 3, "not", 3))
		return true;
	p = at + n;
	p += strspn(p, "s_:= \t");
	return *p == '0' && !isalnum((unsigned char)p[1]) && p[1] != '.';
}

/* No letter before or behind: "change" holds no "hang". */
static bool stands(const char *text, const char *at, size_t n)
{
	return (at == text || !isalpha((unsigned char)at[-1])) && !isalpha((unsigned char)at[n]);
}

/* A person's sentence: words that programs leave out. */
static bool is_sentence(const char *low)
{
	static const char *const joins[] = {" the ", " is ",   " we ",   " i ",   " it ",  " when ",
					    " my ",  " this ", " that ", " and ", " but ", " with ",
					    " a ",   " are ",  " was ",  " to ",  " in ",  " on ",
					    " for ", " does ", " of ",   " not "};
	unsigned n = 0;

	for (unsigned i = 0; i < sizeof(joins) / sizeof(*joins); i++)
		n += strstr(low, joins[i]) != NULL;
	/* a heading, not a column's or a script's comment */
	if (*low == '#' && low[1] == ' ' && !strstr(low, "  ") && !strchr(low, '='))
		return true;
	return n > 1 || strchr(low, '?');
}

/* Words by which people complain. Of a program's line they say little. */
static bool complains(const char *low)
{
	static const char *const words[] = {
		"problem",  "issue",       "does not",       "doesn't",       "do not show",
		"not show", "missing",     "wrong",          "slow",          "why ",
		"capped",   "downgraded",  "degraded",       "broken",        "not used",
		"not use",  "instead of",  "incorrect",      "strange",       "half of",
		"only get", " bug",        "unstable",       "different for", "too low",
		"drops",    "zero",        "fail",           "help me",       "not as good",
		"error",    "back to tcp", "back to socket", "breaks ",       "crash",
		"very low", "downgrade",   "cannot",         "low bandwidth", "weird"};

	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strstr(low, words[i]))
			return true;
	return false;
}

/* A line of words: not a row of figures, a heading of columns or a counter. */
static bool says_more(const char *low)
{
	unsigned words = 0, figures = 0;

	for (const char *p = low + strspn(low, " \t"); *p; p += strspn(p, " \t")) {
		size_t n = strcspn(p, " \t"), letters = 0;

		for (size_t i = 0; i < n; i++)
			letters += isalpha((unsigned char)p[i]) != 0;
		words += letters > 1;
		figures += !letters;
		p += n;
	}
	return words > 3 && words > figures && !strstr(low, "  error  ") && *low != '|';
}

bool rs_ends_program(const char *text)
{
	static const char *const words[] = {"Fatal error",      "Traceback (most",
					    "Abort(",           "(core dumped)",
					    "terminate called", "Segmentation fault"};

	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strstr(text, words[i]))
			return true;
	return false;
}

/* What healthy programs print as errors, and a test's name before its verdict. */
static bool is_noise(const char *low)
{
	static const char *const known[] = {
		"(ignored)", "already been registered", "module verification failed",
		"not a git repository", "pip's dependency resolver", "terminal process group",
		"no job control in this shell",
		"failed to connect to bus: ", "system has not been booted with systemd",
		"timekeeping watchdog", "detected invalid context, skipping",
		/* ibv_event_type_str(): events of no fault */
		"async event : client reregistration", "async event : port active",
		"async event : sm change", "async event : last wqe reached",
		"async event : communication established"};
	static const char *const ends[] = {" ok", "...ok", " passed", "[ok]"};
	size_t n = strlen(low);

	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strstr(low, known[i]))
			return true;
	for (unsigned i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (n > strlen(ends[i]) && !strcmp(low + n - strlen(ends[i]), ends[i]))
			return true;
	return false;
}

/* What a program does without, and an advice for another day, are no failure of a job. Where the
 * way that it falls back from is the network's, that is one. */
static bool goes_on(const char *low)
{
	static const char *const ways[] = {"falling back",  "fall back to",    "ignore import",
					   ", ignoring",    "skipping import", " if you ",
					   "retrying with", "will proceed"};
	static const char *const network[] = {"rdma", "tcp",   "socket", "infiniband", "roce",
					      "efa",  "ucx",   "verbs",  "nccl",       "gdr",
					      " ib ", "net/",  "peerm",  "transport",  "ibv_",
					      "gid",  "mlock", "memlock"};

	for (unsigned i = 0; i < sizeof(network) / sizeof(*network); i++)
		if (strstr(low, network[i]))
			return false;
	for (unsigned i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (strstr(low, ways[i]))
			return true;
	return false;
}

/* A line of a script: what it says has not happened. */
static bool is_instruction(const char *text)
{
	static const char *const words[] = {"export ", "echo ", "printf ", "alias ", "| `"};

	text += strspn(text, " \t");
	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strncmp(text, words[i], strlen(words[i])))
			return true;
	return false;
}

bool rs_states_failure(const char *text)
{
	/* phrases that state it; each is searched without case */
	static const char *const phrases[] = {
		"nccl warn",
		" failed",
		"failed to ",
		"failure",
		"fatal",
		"traceback (most",
		"runtimeerror",
		"backenderror",
		"segmentation fault",
		"core dump",
		"coredump",
		"neither ",
		"not detect",
		" poor ",
		"timed out",
		"timeout",
		"unhandled system error",
		"unhandled cuda error",
		"remote process exited",
		"connection refused",
		"connection closed by",
		"connection reset",
		"no route to host",
		"unreachable",
		"cannot allocate memory",
		"retry counter exceeded",
		"retry exceeded",
		"unable to ",
		"could not ",
		"couldn't ",
		"can't ",
		"cannot ",
		"with error ",
		"error:",
		"errors:",
		" error ",
		"error code",
		"aborted",
		"abort ",
		"hangs",
		"hang ",
		"hanging",
		"stuck",
		"panic",
		"crash",
		"no device found",
		"no active port",
		"not loaded",
		"no such",
		"not available",
		"unavailable",
		"does not exist",
		"not permitted",
		"undefined symbol",
		"insufficient",
		"not enough",
		"unbound variable",
		"sigsegv",
		"sigbus",
		"sigabrt",
		"caught signal",
		"cm_event_route_error",
		"cm_event_connect_error",
		"cm_event_addr_error",
		"cm_event_device_removal",
		"fail",
		"no usable",
		"no suitable",
		"no eligible",
		"out of memory",
		"no space left",
		"too many",
		"incompatib",
		"unsupported",
		"no devices found",
		"not supported",
		"failed",
		"non-zero status",
		"null value ",
		"invalid usage",
		"invalid argument",
		"internal error",
		"system error",
		"killed",
		"exception",
		"bad address",
		"denied",
		"not found",
		"no such device",
		"no such file",
		"bus error",
		"error=",
		"err=",
		"unhealthy",
		"nan",
		"mismatch",
		"too slow",
		"much slower",
		"very slow",
		"is slow",
		"dropped to",
		"*error*",
		"retry_exc",
		"hang",
		"out of range",
		"not implemented",
		"terminate called",
		"error state",
		"fails",
		"fail:",
		"[fail",
		"rejected",
		"refused",
		"not responding",
		"unresponsive",
		"disconnected",
		"lost connection",
		"connection lost",
		"unexpected",
		"no data available",
		"ret=-",
		"ret = -",
		"rc=-",
		"rc = -",
		"returned -",
		" closed (-",
		"exceeded the threshold",
		"[firing",
		"marked dead",
		"missed too many heartbeats",
		"heartbeat timeout",
		"doesn't work",
		"does not work",
		"not working",
		"don't work",
		"low bandwidth",
		"small bandwidth",
		"low throughput",
		"lower than expect",
		"less than expect",
		"far less than",
		"far below",
		"poor perf",
		"bad perf",
		"performance degrad",
		"packet loss",
		"packets lost",
		"bottleneck",
		"\xe5\xa4\xb1\xe8\xb4\xa5",             /* failure */
		"\xe6\x8a\xa5\xe9\x94\x99",             /* reports an error */
		"\xe9\x94\x99\xe8\xaf\xaf",             /* error */
		"\xe8\xb6\x85\xe6\x97\xb6",             /* time is up */
		"\xe5\x8d\xa1\xe4\xbd\x8f",             /* hangs */
		"\xe6\x97\xa0\xe6\xb3\x95",             /* cannot */
		"\xe5\xb4\xa9\xe6\xba\x83",             /* crash */
		"\xe5\xbc\x82\xe5\xb8\xb8",             /* abnormal */
		"\xe3\x82\xa8\xe3\x83\xa9\xe3\x83\xbc", /* error, kana */
		NULL};
	enum rs_level level = rs_level_of(text);
	char low[1024];
	size_t n = 0;

	/* what a library tries while it looks around is no failure */
	if (level == RS_LEVEL_DEBUG || is_instruction(text))
		return false;
	for (; text[n] && n < sizeof(low) - 1; n++)
		low[n] = (char)tolower((unsigned char)text[n]);
	low[n] = '\0';
	if (is_noise(low))
		return false;
	switch (rs_kernel_line(text, NULL)) {
	case RS_KERNEL_CALM:
		return false;
	case RS_KERNEL_FAULT:
		return true;
	case RS_KERNEL_NONE:
		break;
	}
	/* what NCCL tries and does without is INFO: a plugin, a way between two GPUs */
	if (strstr(low, "nccl info") && !strstr(low, "no device found") &&
	    !strstr(low, "libibverbs") && !strstr(low, "abort") && !strstr(low, "with error"))
		return false;
	/* a program's own word for it, and something said behind */
	if (level == RS_LEVEL_ERROR && says_more(low))
		return true;
	if (level != RS_LEVEL_ERROR && goes_on(low))
		return false;
	for (unsigned i = 0; phrases[i]; i++) {
		const char *at = strstr(low, phrases[i]);
		size_t m = strlen(phrases[i]);

		if (!at || denied(low, at + (*phrases[i] == ' '), m))
			continue;
		if (!strcmp(phrases[i], "nan") &&
		    ((at > low && isalnum((unsigned char)at[-1])) || isalnum((unsigned char)at[3])))
			continue;
		/* a setting's name is no statement: NCCL_IB_TIMEOUT, local_ack_timeout_err */
		if (!strcmp(phrases[i], "timeout") &&
		    ((at > low && (at[-1] == '_' || at[-1] == '-')) || at[7] == '_' ||
		     at[7] == '=' || at[7] == '-'))
			continue;
		if (!strcmp(phrases[i], "hang") && !stands(low, at, 4))
			continue;
		if (!strcmp(phrases[i], "fail") && !stands(low, at, 4))
			continue;
		if (!strcmp(phrases[i], "failure") && at[7] == '_')
			continue;
		/* a word of its own, as "**FAILED** x" and "`failed assert`"; no counter's name */
		if (!strcmp(phrases[i], "failed") &&
		    ((at > low && !strchr("`*([\">", at[-1])) || strchr("_-=:", at[6])))
			continue;
		return true;
	}
	/* people complain; of a program's line such words say little */
	return level == RS_LEVEL_NONE && is_sentence(low) && complains(low);
}
