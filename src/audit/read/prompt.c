/* Prompts and headings: what stands between the outputs of commands. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/word_list.h"
#include "audit/read/loop.h"
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

static size_t word_length(const char *p)
{
	return strcspn(p, " \t|;");
}

/* Past a command's options, of which those of one of these letters have a word behind, and past
 * the quote that what it runs begins with. */
static const char *past_options(const char *p, const char *with)
{
	p += strspn(p, " \t");
	while (*p == '-') {
		bool word = p[1] && strchr(with, p[1]) && (p[2] == ' ' || p[2] == '\t');

		p += word_length(p);
		p += strspn(p, " \t");
		if (word) {
			p += word_length(p);
			p += strspn(p, " \t");
		}
	}
	return p + strspn(p, "'\"");
}

/* Past "sleep 10;", "watch -n 1 '", "for i in 1 2; do", "while true; do", "date;": what is read
 * again and again, or later, is what the command behind it prints. */
static const char *past_waiting(const char *p)
{
	static const char *const loops[] = {"for", "while", "until", NULL};
	size_t n = word_length(p), end = strcspn(p, ";&");
	const char *own;

	if (n == 5 && !strncmp(p, "watch", n)) {
		own = past_options(p + n, "n");
		return *own ? own : p;
	}
	if (rs_word_in(loops, p, n)) {
		if (rs_loop_is(p)) /* what it goes over says whose each line is */
			return p;
		own = strstr(p, "do ");
		return own && own > p && strchr("; ", own[-1]) ? own + 3 : p;
	}
	if (((n == 5 && !strncmp(p, "sleep", n)) || (n == 4 && !strncmp(p, "date", n))) && p[end]) {
		own = p + end + strspn(p + end, ";& ");
		return *own ? own : p;
	}
	return p;
}

/* Past srun's options and their words; *labels: each line begins with its task's number. */
static const char *past_srun(const char *p, bool *labels)
{
	static const char *const alone[] = {"--label",      "--exclusive",     "--overlap",
					    "--pty",        "--quiet",         "--verbose",
					    "--unbuffered", "--oversubscribe", NULL};

	*labels = false;
	for (p += strspn(p, " \t"); *p == '-'; p += strspn(p, " \t")) {
		size_t n = word_length(p);
		bool spelt = p[1] == '-', word;

		*labels |= (!spelt && memchr(p, 'l', n) && n <= 4 && !memchr(p, '=', n)) ||
			   (n == 7 && !strncmp(p, "--label", n));
		word = spelt ? !memchr(p, '=', n) && !rs_word_in(alone, p, n)
			     : n == 2 && strchr("ABCcDdeGiJMmNnopqrStTwx", p[1]);
		p += n;
		if (word) {
			p += strspn(p, " \t");
			p += word_length(p);
		}
	}
	return p;
}

static bool known(const char *p);

/* Behind "echo $(hostname)": what else it prints. NULL: it prints no host's name first. */
static const char *past_hostname(const char *p)
{
	static const char *const names[] = {"$(hostname)",   "$(hostname -s)", "`hostname`",
					    "`hostname -s`", "$HOSTNAME",      "${HOSTNAME}",
					    "$(uname -n)"};

	if (strncmp(p, "echo ", 5))
		return NULL;
	p += 5 + strspn(p + 5, " ");
	p += !strncmp(p, "-n ", 3) ? 3 : 0;
	p += strspn(p, "\\\"'");
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(p, names[i], strlen(names[i])))
			return p + strlen(names[i]);
	return NULL;
}

/* What a launcher is given to run, with a quote before it: ansible -a 'cmd', salt X cmd.run 'cmd',
 * pssh -H x 'cmd', mpirun sh -c 'cmd'. NULL: it is none of them, or runs a program of its own. */
static const char *launched(const char *p)
{
	static const struct {
		const char *name, *before;
	} launchers[] = {
		{"ansible ", " -a "}, {"salt ", " cmd.run "}, {"parallel-ssh ", " "},
		{"pssh ", " "},       {"flux run ", " -c "},  {"mpirun ", " -c "},
		{"mpiexec ", " -c "},
	};

	for (unsigned i = 0; i < sizeof(launchers) / sizeof(*launchers); i++) {
		size_t n = strlen(launchers[i].name), m = strlen(launchers[i].before);
		const char *last = NULL;

		if (strncmp(p, launchers[i].name, n))
			continue;
		for (const char *q = p + n - 1; (q = strstr(q, launchers[i].before)); q++)
			if (q[m] == '\'' || q[m] == '"')
				last = q + m + 1;
		/* an opening quote, not what ends another */
		return last && known(last) ? last : NULL;
	}
	return NULL;
}

/* Past what stands before a command: sudo, time, variables, "ip netns exec X", "kubectl exec X --".
 */
static const char *command_start(const char *p, char *host)
{
	for (int i = 0; i < 8; i++) {
		size_t n = word_length(p);
		const char *dashes, *next;

		p += strspn(p, " \t(");
		n = word_length(p);
		if ((n == 4 && (!strncmp(p, "sudo", n) || !strncmp(p, "time", n))) ||
		    (n == 5 && !strncmp(p, "nohup", n))) {
			p += n + strspn(p + n, " \t");
			while (*p == '-') /* sudo -E */
				p += word_length(p), p += strspn(p, " \t");
			continue;
		}
		if ((next = past_waiting(p)) != p) {
			p = next;
			continue;
		}
		/* who names the host before it is asked: echo -n "$h: "; ssh $h cat ... */
		if (((n == 4 && !strncmp(p, "echo", n)) || (n == 6 && !strncmp(p, "printf", n))) &&
		    (next = strstr(p, "; ssh "))) {
			p = next + 2;
			continue;
		}
		if (n == 3 && !strncmp(p, "ssh", n)) {
			const char *to = p + 3 + strspn(p + 3, " "), *at;
			size_t m = word_length(to);

			if (!m || *to == '-' || !to[m])
				return p;
			at = memchr(to, '@', m);
			at = at ? at + 1 : to;
			if (!strchr("$\"'", *at)) /* a loop's variable names nobody */
				snprintf(host, RS_NAME_BYTES, "%.*s", (int)(to + m - at), at);
			p = to + m + strspn(to + m, " \t'\"");
			continue;
		}
		if ((n == 4 && !strncmp(p, "pdsh", n)) || (n == 5 && !strncmp(p, "clush", n)) ||
		    (n == 4 && !strncmp(p, "srun", n)) || (n == 4 && !strncmp(p, "bash", n))) {
			bool labels, run = *p == 's' || *p == 'b';
			const char *own = *p == 's' ? past_srun(p + n, &labels)
						    : past_options(p + n, run ? "" : "wgxlftuR");

			/* whose limit it is, the launcher tells; a program of its own is its run */
			if (!*own || strstr(own, "ulimit") || (run && !known(own)))
				return p;
			p = own;
			continue;
		}
		/* "echo $(hostname) $(cat /sys/...)": each line begins with the host's name */
		next = past_hostname(p);
		if (next && (next = strstr(next, "$(")) && !strstr(next, "ulimit")) {
			p = next + 2;
			break;
		}
		if ((next = launched(p))) {
			if (strstr(next, "ulimit"))
				return p;
			p = next;
			continue;
		}
		/* in another namespace: "ip netns exec asic0 show interfaces status" */
		if (!strncmp(p, "ip netns exec ", 14) && word_length(p + 14)) {
			p += 14 + word_length(p + 14);
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

/* The word of a command line, where a command may begin; NULL: it is not there. */
static const char *word_at_start(const char *line, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = line; (p = strstr(p, word)); p += n)
		if ((p == line || strchr(" \t;|&(/", p[-1])) && (p[n] == ' ' || p[n] == '\t'))
			return p;
	return NULL;
}

enum rs_gang rs_gang_find(const char *line)
{
	static const char *const names[] = {"pdsh", "clush", "dsh", "xdsh", "pexec"};
	const char *srun = word_at_start(line, "srun"), *clush = word_at_start(line, "clush");
	bool labels = false;
	const char *own;

	if (strstr(line, "dshbak") || (clush && strstr(clush, " -b")))
		return RS_GANG_NONE; /* gathered under a heading for each host */
	if (srun)
		past_srun(srun + 4, &labels);
	if (labels || (word_at_start(line, "flux") && strstr(line, " --label-io")))
		return RS_GANG_TASKS;
	for (const char *p = line; (p = strstr(p, "echo ")); p++)
		if ((own = past_hostname(p)))
			return *own == ':'   ? RS_GANG_NAMES
			       : *own == ' ' ? RS_GANG_WORDS
					     : RS_GANG_NONE;
	if ((own = word_at_start(line, "salt")) && launched(own))
		return RS_GANG_HEADED;
	if ((strstr(line, "-tag-output") || strstr(line, "--output tag")) &&
	    (((own = word_at_start(line, "mpirun")) && launched(own)) ||
	     ((own = word_at_start(line, "mpiexec")) && launched(own))))
		return RS_GANG_TAGS;
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (word_at_start(line, names[i]))
			return RS_GANG_NAMES;
	/* for h in n1 n2; do echo -n "$h: "; ssh $h cat ...; done */
	if (word_at_start(line, "ssh") && word_at_start(line, "do") && strstr(line, ": ") &&
	    (strstr(line, "echo -n") || strstr(line, "printf")))
		return RS_GANG_NAMES;
	return RS_GANG_NONE;
}

/* Keeps a command without its path: "/usr/sbin/ethtool eth0" is "ethtool eth0". */
static void keep(struct rs_prompt *out, const char *p)
{
	const char *whole = p;
	size_t n, from = 0;

	p = command_start(p, out->host);
	n = word_length(p);
	for (size_t i = 0; i < n; i++)
		if (p[i] == '/' && i + 1 < n)
			from = i + 1;
	snprintf(out->command, sizeof(out->command), "%s", p + from);
	/* the quote in which another command was given it ends it */
	if (p > whole && (p[-1] == '\'' || p[-1] == '"'))
		out->command[strcspn(out->command, p[-1] == '"' ? "\"" : "'")] = '\0';
	else if (p > whole + 1 && !strncmp(p - 2, "$(", 2))
		out->command[strcspn(out->command, ")")] = '\0';
}

static bool known(const char *p)
{
	char host[RS_NAME_BYTES];
	size_t n, from = 0;

	p = command_start(p, host);
	if (!strncmp(p, "for ", 4) && rs_loop_is(p))
		return true;
	n = word_length(p);
	for (size_t i = 0; i < n; i++)
		if (p[i] == '/' && i + 1 < n)
			from = i + 1;
	return rs_word_in(commands, p + from, n - from);
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

/* "user@host", bash's "I have no name!@host": its length, the host in *host. */
static size_t user_at(const char *p, const char **host, size_t *length)
{
	static const char unknown[] = "I have no name!";
	size_t n = strncmp(p, unknown, sizeof(unknown) - 1) ? name_length(p) : sizeof(unknown) - 1;

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

/* The sign that ends a prompt, with a blank, a switch's command or nothing behind it; NULL: none
 * within a path. */
static const char *sign(const char *p)
{
	for (unsigned i = 0; i < 160 && p[i]; i++)
		if (is_sign(p[i]) &&
		    (p[i + 1] == ' ' || !p[i + 1] || !strncmp(p + i + 1, "show ", 5) ||
		     !strncmp(p + i + 1, "display ", 8) || (i && known(p + i + 1))))
			return p + i;
	return NULL;
}

/* "[root@gpu01 ~]# cmd", "{u@gpu01}$ cmd", "[u@gpu01]~% cmd", "ubuntu@gpu01:~/x$ cmd",
 * "root@gpu01> cmd": the command, or NULL. */
static const char *named(const char *text, struct rs_prompt *out)
{
	bool square = *text == '[' || *text == '{';
	const char *p = text + square, *host, *end;
	size_t length, n = user_at(p, &host, &length);

	if (!n)
		return NULL;
	p += n;
	if (square) {
		p = strchr(p, *text == '[' ? ']' : '}');
		if (!p)
			return NULL;
		p += 1 + (p[1] == ' ');
		if (*p == '~' || *p == '/')
			p += strcspn(p, " $#%>");
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

/* "gpu01:~ # cmd", "gpu01:/opt$ cmd": a host without a user; macOS has one behind the path. */
static const char *hosted(const char *text, struct rs_prompt *out)
{
	size_t n = name_length(text), m;
	const char *p = text + n;

	if (!n || *p != ':' || (p[1] != '~' && p[1] != '/'))
		return NULL;
	m = 1 + strcspn(p + 1, " $#");
	p += m + (p[m] == ' ');
	if (p[-1] == ' ' && isalpha((unsigned char)*p) && strchr("$#%", p[name_length(p)]) &&
	    known(p + name_length(p) + 1))
		p += name_length(p);
	if ((*p != '$' && *p != '#' && *p != '%') || p[1] != ' ')
		return NULL;
	snprintf(out->host, sizeof(out->host), "%.*s", (int)n, text);
	return p + 2;
}

/* "node12 # cmd", "node12 ~/x # cmd": where the command is known, and a machine has a number. */
static const char *spaced(const char *text, struct rs_prompt *out)
{
	size_t n = name_length(text);
	const char *p = text + n;

	if (!strncmp(p, " ~", 2) || !strncmp(p, " /", 2))
		p += 2 + strcspn(p + 2, " ");
	if (n < 3 || !isalpha((unsigned char)*text) || !isdigit((unsigned char)text[n - 1]) ||
	    *p != ' ' || !is_sign(p[1]) || p[1] == '>' || p[2] != ' ' || !known(p + 3))
		return NULL;
	snprintf(out->host, sizeof(out->host), "%.*s", (int)n, text);
	return p + 3;
}

/* Shells and users: what stands before a sign and names no machine. */
static bool names_machine(const char *p, size_t n)
{
	static const char *const others[] = {"bash", "sh",    "zsh",   "ksh",    "csh",  "tcsh",
					     "fish", "dash",  "user",  "root",   "me",   "admin",
					     "pwsh", "shell", "mysql", "prompt", "host", NULL};

	return n > 2 && isalpha((unsigned char)*p) &&
	       !rs_word_in(others, p, strcspn(p, "-.") < n ? strcspn(p, "-.") : n);
}

/* The length of the sign that ends a prompt: also of themes that have one of their own. */
static size_t sign_length(const char *p)
{
	static const char *const drawn[] = {"\xe2\x9d\xaf", "\xe2\x9e\x9c", "\xce\xbb"};

	if (is_sign(*p))
		return 1;
	for (unsigned i = 0; i < sizeof(drawn) / sizeof(*drawn); i++)
		if (!strncmp(p, drawn[i], strlen(drawn[i])))
			return strlen(drawn[i]);
	return 0;
}

/* Commands that are no word of a sentence behind a name and '>': there a person may speak. */
static bool asked(const char *p, bool spoken);

/* "gpu01$ cmd", "gpu01% cmd", "gpu01> cmd", "[gpu01]$ cmd", "<gpu01> cmd": a word, and a command
 * that is known. */
static const char *worded(const char *text, struct rs_prompt *out)
{
	static const char open[] = "[<{(", close[] = "]>})";
	const char *in = *text ? strchr(open, *text) : NULL, *name = text + (in != NULL);
	const char *p = name + name_length(name);
	size_t n = (size_t)(p - name), m;
	bool spoken;

	if (!n || !isalpha((unsigned char)*name) || !isalnum((unsigned char)p[-1]))
		return NULL;
	if (in && *p++ != close[in - open])
		return NULL;
	/* "<gpu01>" ends with its sign; "<pre>" and "<h2>" are of HTML */
	m = in && *in == '<' ? 0 : sign_length(p);
	if (in && *in == '<' && (n < 3 || !isdigit((unsigned char)p[-2])))
		return NULL;
	if (!m && !(in && *in == '<'))
		return NULL;
	spoken = m ? *p == '>' : true;
	p += m;
	if (*p != ' ' || !asked(p + strspn(p, " "), spoken))
		return NULL;
	if (names_machine(name, n))
		snprintf(out->host, sizeof(out->host), "%.*s", (int)n, name);
	return p + strspn(p, " ");
}

/* "PS C:\Users\me> cmd", "C:\Users\me>cmd": of a workstation, which names no host. */
static const char *of_windows(const char *text)
{
	const char *p = text, *end;
	bool power = !strncmp(p, "PS ", 3);

	p += power ? 3 : 0;
	if (!(isupper((unsigned char)*p) && !strncmp(p + 1, ":\\", 2)) && !(power && *p == '/'))
		return NULL;
	end = strchr(p, '>');
	if (!end || end - p > 100)
		return NULL;
	end += 1 + strspn(end + 1, " ");
	return known(end) ? end : NULL;
}

/* "In [3]: !cmd" of IPython, "!cmd" of a notebook's cell. */
static const char *of_notebook(const char *text)
{
	const char *p = text;

	if (!strncmp(p, "In [", 4)) {
		p += 4 + strspn(p + 4, "0123456789 ");
		if (strncmp(p, "]: ", 3))
			return NULL;
		p += 3;
	}
	if (*p != '!')
		return NULL;
	p += 1 + strspn(p + 1, " ");
	return known(p) ? p : NULL;
}

/* Lines and corners that themes draw before a prompt: U+2500 to U+257F. */
static size_t drawn_length(const char *text)
{
	const char *p = text;

	while (!strncmp(p, "\xe2\x94", 2) || !strncmp(p, "\xe2\x95", 2))
		p += p[2] ? 3 : 2;
	return (size_t)(p - text);
}

/* The first line of a prompt of two: Kali's, Parrot's, "u@gpu01 MINGW64 ~" of Git for Windows.
 * It names the host; the command stands behind the next line's sign. */
static bool first_of_two(const char *text, struct rs_prompt *out)
{
	static const char *const at[] = {"@", "\xe3\x89\xbf", "\xf0\x9f\x92\x80"};
	size_t drawn = drawn_length(text), n;
	const char *p = text + drawn + strspn(text + drawn, " ([");

	/* a tree of systemd's units has "user@1000.service" behind other corners */
	if (drawn && strncmp(text, "\xe2\x94\x8c", 3) && strncmp(text, "\xe2\x94\x8f", 3) &&
	    strncmp(text, "\xe2\x95\xad", 3))
		return false;
	n = name_length(p);
	for (unsigned i = 0; n && i < sizeof(at) / sizeof(*at); i++) {
		const char *host = p + n + strlen(at[i]), *end;

		if (strncmp(p + n, at[i], strlen(at[i])) || !name_length(host))
			continue;
		end = host + name_length(host);
		if (drawn ? strlen(end) > 120 : strncmp(end, " MINGW64 ", 9))
			return false;
		out->opens = true;
		snprintf(out->host, sizeof(out->host), "%.*s", (int)(end - host), host);
		return true;
	}
	return false;
}

/* "[gpu01 ~]$ cmd", "[gpu01:/opt]# cmd": a host and a path in brackets. */
static const char *bracketed(const char *text, struct rs_prompt *out)
{
	const char *p = text + 1, *end;
	size_t n;

	if (*text != '[')
		return NULL;
	n = name_length(p);
	end = strchr(p, ']');
	if (!n || !end || (p[n] != ' ' && p[n] != ':') || !strchr("~/", p[n + 1]) ||
	    strcspn(p + n + 1, " ") < (size_t)(end - p) - n - 1 ||
	    (end[1] != '$' && end[1] != '#') || end[2] != ' ' || !isalpha((unsigned char)*p))
		return NULL;
	snprintf(out->host, sizeof(out->host), "%.*s", (int)n, p);
	return end + 3;
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
	if (!config && !rs_word_in(verbs, p, word_length(p)))
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

/* "~ cmd", "dir git:(main) cmd": behind the arrow that begins a prompt, what a theme tells of where
 * it stands. */
static const char *past_place(const char *p)
{
	enum { WORDS = 3 };
	const char *from = p += strspn(p, " ");

	for (unsigned i = 0; i < WORDS && *p && !known(p); i++) {
		p += strcspn(p, " ");
		p += strspn(p, " ");
	}
	return known(p) ? p : from;
}

/* "$ cmd"; "# cmd", "> cmd", "% cmd", "+ cmd" where the command is known. */
static const char *bare_sign(const char *p)
{
	size_t n = 1;

	p += drawn_length(p);
	if (!strncmp(p, "\xe2\x9d\xaf ", 4) || !strncmp(p, "\xe2\x9e\x9c ", 4))
		return past_place(p + 4);
	if (!strncmp(p, "\xce\xbb ", 3) || !strncmp(p, "$> ", 3))
		return known(p + 3) ? p + 3 : NULL;
	/* "-> show linkagg" of AOS */
	if (!strncmp(p, "-> show ", 8))
		return p + 3;
	if (!strncmp(p, "#show ", 6))
		return p + 1;
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
	if (first_of_two(p, out))
		return true;
	/* "[1] user@gpu01:~$": of a multiplexer's window or of a job */
	if (*p == '[' && strspn(p + 1, "0123456789") &&
	    !strncmp(p + 1 + strspn(p + 1, "0123456789"), "] ", 2) &&
	    named(strchr(p, ' ') + 1, out))
		p = strchr(p, ' ') + 1;
	/* "*A:leaf1#" of SR OS: what was set is not saved yet */
	p += *p == '*' && isalpha((unsigned char)p[1]) && p[2] == ':';
	for (int i = 0; i < 3; i++) {
		const char *next = NULL;

		if (isalnum((unsigned char)*p) || *p == '[' || *p == '_' || *p == '{') {
			next = named(p, out);
			next = next ? next : hosted(p, out);
			next = next ? next : spaced(p, out);
			next = next ? next : bracketed(p, out);
			next = next ? next : of_switch(p, out);
		}
		next = next ? next : of_vrp(p, out);
		next = next ? next : nameless(p);
		next = next ? next : worded(p, out);
		next = next ? next : of_windows(p);
		next = next ? next : of_notebook(p);
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

static bool asked(const char *p, bool spoken)
{
	/* they print what nobody reads, and end the output before them */
	static const char *const quiet[] = {"exit", "logout", "cd",     "clear",  "pwd",
					    "date", "whoami", "export", "source", NULL};
	size_t n = word_length(p);

	return spoken ? known(p) && !rs_word_in(not_typed, p, n)
		      : known(p) || rs_word_in(quiet, p, n);
}

/* A command as people type it, not the first word of a sentence or of a setting. */
static bool typed(const char *p)
{
	static const char *const second[] = {
		"show", "topo",   "link",      "addr",   "a",      "qos",  "dev",   "pfc", "ets",
		"app",  "buffer", "statistic", "system", "nvlink", "rule", "route", "r",   "l",
		"q",    "query",  "status",    "--",     "get",    "logs", "exec",  NULL};
	size_t n = word_length(p);
	const char *arg;

	if (!known(p) || rs_word_in(not_typed, p, n) || strchr(p, ',') || strlen(p) > 200)
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
	if (rs_word_in(second, arg, n))
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

/* "FIA-0", "Slot 3": a part of a switch or of a host, not a host. */
static bool is_part(const char *text)
{
	static const char *const parts[] = {"fia",  "npu",  "np",  "asic", "slot", "module",
					    "port", "unit", "fpc", "pic",  "lane", "card",
					    "chip", "psu",  "fan", "fap",  "pipe"};

	for (unsigned i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		size_t n = strlen(parts[i]);
		const char *p = text + n;

		if (strncasecmp(text, parts[i], n))
			continue;
		p += strspn(p, "-_ ");
		if (isdigit((unsigned char)*p) && !p[strspn(p, "0123456789/")])
			return true;
	}
	return false;
}

/* "gpu01" between "===", "Node 2", "host A": NULL when it is none. */
static bool names_host(const char *text, const char *whole, char *host)
{
	static const char *const kinds[] = {"node",    "host",    "server",   "machine", "worker",
					    "on host", "on node", "hostname", "client"};
	bool framed = strspn(whole, "=") >= 3 || strspn(whole, "-") >= 3 ||
		      strspn(whole, "#") >= 1 || strspn(whole, "*") >= 2;
	size_t n = name_length(text), k;

	if (framed && is_part(text))
		return false;
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
	/* head and tail name the file before what is in it */
	if (sscanf(text, "==> %200[^ ] <=%1[=]", inside, out->host) == 2) {
		snprintf(out->command, sizeof(out->command), "cat %s", inside);
		*out->host = '\0';
		return true;
	}
	taken = undress(text, inside, sizeof(inside));
	if (typed(inside) && (taken || !strchr(text, ':') || strchr(text, '/'))) {
		keep(out, inside);
		return true;
	}
	return taken && names_host(inside, text, out->host);
}

/* "| CHANGED | rc=0 >>", "| FAILED! => {": behind ansible's name of a host. */
static bool of_ansible(const char *p)
{
	static const char *const words[] = {"CHANGED", "SUCCESS", "FAILED", "UNREACHABLE", NULL};
	size_t n;

	if (strncmp(p, " | ", 3))
		return false;
	n = strspn(p + 3, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
	if (!rs_word_in(words, p + 3, n))
		return false;
	p += 3 + n + (p[3 + n] == '!');
	return !strncmp(p, " | rc=", 6) || !strncmp(p, " => {", 5);
}

bool rs_launcher_heading_find(enum rs_gang gang, const char *text, char *host)
{
	const char *p = text, *mark;
	size_t n = name_length(p);

	if (n && n < RS_NAME_BYTES && isalnum((unsigned char)*p) &&
	    (of_ansible(p + n) || (gang == RS_GANG_HEADED && !strcmp(p + n, ":")))) {
		snprintf(host, RS_NAME_BYTES, "%.*s", (int)n, p);
		return true;
	}
	/* "[1] 10:00:00 [SUCCESS] gpu01" of parallel-ssh; a clock at the line's start is away */
	if (*p != '[' || !strspn(p + 1, "0123456789") || !(p = strchr(p, ']')) || p[1] != ' ')
		return false;
	mark = p + 2 + strspn(p + 2, "0123456789:");
	if (mark == p + 2 || (strncmp(mark, " [SUCCESS] ", 11) && strncmp(mark, " [FAILURE] ", 11)))
		return false;
	mark += 11;
	n = name_length(mark);
	if (!n || n >= RS_NAME_BYTES || (mark[n] && mark[n] != ' '))
		return false;
	snprintf(host, RS_NAME_BYTES, "%.*s", (int)n, mark);
	return true;
}

bool rs_fence(const char *text)
{
	return !strncmp(text, "```", 3) || !strncmp(text, "~~~", 3) || !strcmp(text, "[code]") ||
	       !strcmp(text, "[/code]") || !strcmp(text, "<pre>") || !strcmp(text, "</pre>");
}
