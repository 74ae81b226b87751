/* Prefixes of lines: stamps of collectors, tags of launchers, and the names of hosts in them. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/word_list.h"
#include "audit/read/place.h"
#include "audit/read/prefix.h"
#include "audit/read/unwrap.h"

enum { PREFIXES = 6 /* stamps and tags before each other */ };

static size_t digits(const char *p)
{
	return strspn(p, "0123456789");
}

static bool name_byte(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '_' || c == '.';
}

static size_t name_length(const char *p)
{
	size_t n = 0;

	while (name_byte(p[n]))
		n++;
	return n;
}

static void name_copy(char *out, const char *p, size_t n)
{
	snprintf(out, RS_NAME_BYTES, "%.*s", (int)(n < RS_NAME_BYTES ? n : RS_NAME_BYTES - 1), p);
}

/* "2025-08-17T06:18:01.123Z ", "[2025-08-17 06:18:01,123] ", "2025/08/17 06:18:01 " of Go,
 * "06:18:01.5 ": 0 when it is none. */
static size_t clock_length(const char *text)
{
	const char *p = text + (*text == '[');
	size_t n;

	if (digits(p) == 4 && (p[4] == '-' || p[4] == '/') && digits(p + 5) == 2 && p[7] == p[4] &&
	    digits(p + 8) == 2 && (p[10] == 'T' || p[10] == ' '))
		p += 11;
	if (digits(p) != 2 || p[2] != ':' || digits(p + 3) != 2 || p[5] != ':' ||
	    digits(p + 6) != 2)
		return 0;
	p += 8;
	if (*p == '.' || *p == ',')
		p += 1 + digits(p + 1);
	if (*p == 'Z')
		p++;
	else if ((*p == '+' || *p == '-') && digits(p + 1) >= 2) {
		p += 1 + digits(p + 1);
		if (*p == ':')
			p += 1 + digits(p + 1);
	}
	p += *text == '[' && *p == ']';
	/* one blank: what indents the line is the line's */
	n = strspn(p, " \t");
	return n && p[n] ? (size_t)(p - text) + 1 : 0;
}

/* Milliseconds since 1970 as CloudWatch and Loki export them. */
static size_t epoch_length(const char *p)
{
	size_t n = digits(p), blanks;

	if (n != 13 && n != 19)
		return 0;
	blanks = strspn(p + n, " \t,");
	return blanks && p[n + blanks] && *p == '1' ? n + 1 : 0;
}

/* "[1,3]<stdout>: ", "[1,mpirank:3,algo-1]<stderr>:": Open MPI's --tag-output, SageMaker's. */
static size_t mpi_length(const char *text, char *host)
{
	const char *end, *comma;

	if (*text != '[' || !isdigit((unsigned char)text[1]) || !(end = strchr(text, ']')) ||
	    strncmp(end, "]<std", 5))
		return 0;
	comma = memrchr(text, ',', (size_t)(end - text));
	if (comma && isalpha((unsigned char)comma[1]) && !memchr(comma, ':', (size_t)(end - comma)))
		name_copy(host, comma + 1, (size_t)(end - comma - 1));
	end = strchr(end, '>');
	if (!end)
		return 0;
	end += 1 + (end[1] == ':');
	return (size_t)(end - text) + (*end == ' ');
}

/* "[rank3]: ", "[default0]:": torchrun's. */
static size_t rank_length(const char *text)
{
	static const char *const kinds[] = {"[rank", "[default", "[Rank "};

	for (unsigned i = 0; i < 3; i++) {
		const char *p = text + strlen(kinds[i]);

		if (strncmp(text, kinds[i], strlen(kinds[i])) || !digits(p))
			continue;
		p += digits(p);
		if (*p == ']' && p[1] == ':')
			return (size_t)(p + 2 - text) + strspn(p + 2, " ");
	}
	return 0;
}

/* "(RayWorker pid=12, ip=10.0.0.2) ", "(pid=12) ": Ray's and vLLM's. */
static size_t ray_length(const char *text, char *host)
{
	const char *end, *ip;

	if (*text != '(' || !(end = strchr(text, ')')) || end - text > 160 || end[1] != ' ')
		return 0;
	if (!memmem(text, (size_t)(end - text), "pid=", 4))
		return 0;
	ip = memmem(text, (size_t)(end - text), "ip=", 3);
	if (ip)
		name_copy(host, ip + 3, name_length(ip + 3));
	return (size_t)(end + 2 - text);
}

/* "[info] [mgr.cpp:1173] ", "[debug] ": spdlog's, without its clock. What indents the rest is the
 * line's, and a level that tells of a fault stays. */
static size_t spdlog_length(const char *text)
{
	static const char *const levels[] = {"[trace] ", "[debug] ", "[info] "};
	const char *from = text + strspn(text, " \t");

	for (unsigned i = 0; *from == '[' && i < sizeof(levels) / sizeof(*levels); i++) {
		const char *p = from + strlen(levels[i]), *end;

		if (strncmp(from, levels[i], strlen(levels[i])))
			continue;
		/* the place in the source goes with it */
		end = *p == '[' ? strchr(p, ']') : NULL;
		if (end && end[1] == ' ' && isdigit((unsigned char)end[-1]) &&
		    memchr(p, ':', (size_t)(end - p)))
			p = end + 2;
		return (size_t)(p - text);
	}
	return 0;
}

/* "[pod/trainer-0/pytorch] ": kubectl logs --prefix. */
static size_t pod_length(const char *text, char *host)
{
	const char *end, *p;

	if (strncmp(text, "[pod/", 5) || !(end = strchr(text, ']')) || end[1] != ' ')
		return 0;
	p = text + 5;
	name_copy(host, p, strcspn(p, "/]"));
	return (size_t)(end + 2 - text);
}

/* Words before a colon that are parts of a host, not hosts: "eth0: ", "GPU1: ". */
static bool is_part(const char *p, size_t n)
{
	static const char *const parts[] = {
		"eth",   "ib",   "en",    "swp",  "nic",   "cpu",  "prio",    "tc",    "lane",
		"port",  "link", "state", "bond", "br",    "vlan", "wlan",    "lo",    "hca",
		"rank",  "ring", "tree",  "sda",  "nvme",  "card", "channel", "queue", "rx",
		"tx",    "dscp", "error", "step", "epoch", "iter", "module",  "ipv",   "line",
		"level", "page", "slot",  "fan",  "psu",   "vf",   "pf",      "et-",   "xe-"};
	char name[RS_NAME_BYTES];

	name_copy(name, p, n);
	/* "GPU0" is a part, "gpu01" a host */
	if (rs_is_rdma_name(name) || !strncasecmp(name, "ethernet", 8) || !strncmp(name, "GPU", 3))
		return true;
	for (unsigned i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		size_t m = strlen(parts[i]);

		if (!strncasecmp(name, parts[i], m) && m + digits(name + m) == strlen(name))
			return true;
	}
	return false;
}

/* "gpu01: " or "trainer-1  | ": the name's length, and the whole's in *all. */
static size_t habit_name(const char *text, char *mark, size_t *all)
{
	size_t n = name_length(text), blanks = strspn(text + n, " ");
	bool digit = false, letter = false;

	for (size_t i = 0; i < n; i++) {
		digit |= isdigit((unsigned char)text[i]) != 0;
		letter |= isalpha((unsigned char)text[i]) != 0;
	}
	if (!n || n >= RS_NAME_BYTES || !digit || is_part(text, n))
		return 0;
	if (!blanks && text[n] == ':' && text[n + 1] == ' ') {
		*mark = ':';
		*all = n + 2;
		return letter || strchr(text, '.') ? n : 0;
	}
	if (!blanks || text[n + blanks] != '|' || text[n + blanks + 1] != ' ')
		return 0;
	*mark = '|';
	*all = n + blanks + 2;
	return letter ? n : 0;
}

/* "  12: ", srun -l's: its length, 0: none. `ip` numbers its interfaces and rules, too. */
static size_t task_label(const char *text, unsigned *task)
{
	const char *p = text + strspn(text, " "), *rest;
	size_t n = digits(p), name;

	if (!n || n > 6 || p[n] != ':' || (p[n + 1] && p[n + 1] != ' '))
		return 0;
	rest = p + n + 1 + (p[n + 1] == ' ');
	name = strcspn(rest, " ");
	if (strstr(rest, ": <") || !strncmp(rest, "from ", 5) ||
	    !strncmp(rest + name + strspn(rest + name, " "), "inet", 4))
		return 0;
	*task = (unsigned)atoi(p) % RS_TASKS;
	return (size_t)(rest - text);
}

void rs_prefix_learn(struct rs_prefix_habits *h, const char *text)
{
	size_t all, n;
	unsigned task;
	char mark;

	h->lines += *text != '\0';
	if (task_label(text, &task)) {
		h->labels++;
		h->again += h->task[task / 64] >> task % 64 & 1;
		h->task[task / 64] |= 1ull << task % 64;
	}
	h->gang |= strstr(text, "pdsh -") || strstr(text, "clush -");
	n = habit_name(text, &mark, &all);
	if (!n)
		return;
	for (unsigned i = 0; i < h->n; i++)
		if (strlen(h->seen[i].name) == n && !strncmp(h->seen[i].name, text, n) &&
		    h->seen[i].mark == mark) {
			h->seen[i].count++;
			return;
		}
	if (h->n == RS_HABITS)
		return;
	name_copy(h->seen[h->n].name, text, n);
	h->seen[h->n].mark = mark;
	h->seen[h->n++].count = 1;
}

/* "gpu01", "gpu02" and "gpu03" are of one stem: how many names have that of name i. Parts are
 * counted with one digit, machines with two. */
static unsigned alike(const struct rs_prefix_habits *h, unsigned i)
{
	const char *name = h->seen[i].name;
	size_t n = strcspn(name, "0123456789");
	unsigned like = 0;

	if (!n || digits(name + n) < 2 || name[n + digits(name + n)])
		return 0;
	for (unsigned k = 0; k < h->n; k++)
		like += h->seen[k].mark == ':' && !strncmp(h->seen[k].name, name, n) &&
			digits(h->seen[k].name + n) == strlen(h->seen[k].name + n);
	return like;
}

void rs_prefix_settle(struct rs_prefix_habits *h)
{
	enum { MACHINES = 3 };
	unsigned colon = 0, bar = 0;

	for (unsigned i = 0; i < h->n; i++) {
		/* who asks many hosts at once has a line of each */
		if (h->seen[i].mark == ':' &&
		    (h->seen[i].count >= 2 || h->gang || alike(h, i) >= MACHINES))
			colon += h->seen[i].count;
		if (h->seen[i].mark == '|' && h->seen[i].count >= 2)
			bar += h->seen[i].count;
	}
	/* a third of the text, or it is a key and a value */
	h->colon = 3 * colon >= h->lines && colon >= 3;
	h->bar = 2 * bar >= h->lines && bar;
	/* some tasks say several things, or it is a list */
	h->label = h->labels >= 3 && 2 * h->again >= h->labels && 5 * h->labels >= h->lines;
}

static size_t habit_length(const struct rs_prefix_habits *h, const char *text, char *host)
{
	size_t all, n;
	char mark;

	if ((!h->colon && !h->bar) || !(n = habit_name(text, &mark, &all)) ||
	    !(mark == ':' ? h->colon : h->bar))
		return 0;
	name_copy(host, text, n);
	return all;
}

/* Lines whose readers need their clock: of the kernel, and of links. */
static bool keeps_clock(const char *text)
{
	return strstr(text, "kernel:") || strstr(text, "ost carrier") || strstr(text, "ink down") ||
	       strstr(text, "ink is Down");
}

/* "node1:123:456 [0] NCCL INFO": NCCL's own. Any release: a stamp may stand before it, and a file's
 * place between. */
static void inner_nccl(const char *text, char *host)
{
	const char *end = strstr(text, "NCCL "), *p = text;

	while (end && p < end && (p = memchr(p, ':', (size_t)(end - p)))) {
		const char *from = p, *q = p + 1 + digits(p + 1);

		p++;
		if (q == p || *q != ':' || !digits(q + 1))
			continue;
		q += 1 + digits(q + 1);
		while (from > text && name_byte(from[-1]))
			from--;
		if (*q == ' ' && p - 1 > from) {
			name_copy(host, from, (size_t)(p - 1 - from));
			return;
		}
	}
}

/* "[1614878438.093265] [node1:1234 :0] ... UCX  ERROR", "[node1:1234:0:1234] Caught signal": UCX's
 * own. */
static void inner_ucx(const char *text, char *host)
{
	const char *p = text, *q;

	if (*p == '[' && digits(p + 1) && p[1 + digits(p + 1)] == '.' && (q = strstr(p, "] [")))
		p = q + 2;
	if (*p != '[' || !(strstr(p, " UCX ") || strstr(p, "] Caught signal")))
		return;
	q = p + 1 + name_length(p + 1);
	if (*q == ':' && digits(q + 1) && q > p + 1) {
		const char *rest = q + 1 + digits(q + 1);

		if (*rest == ':' || !strncmp(rest, " :", 2))
			name_copy(host, p + 1, (size_t)(q - p - 1));
	}
}

/* Programs whose own lines are read with their names: daemons, which end with 'd', and others of
 * the system, of containers and of fabrics. */
static bool of_system(const char *p, size_t n)
{
	static const char *const names[] = {
		"kernel",         "kubelet",   "crio",       "opensm", "nv-hostengine",
		"NetworkManager", "earlyoom",  "irqbalance", "ptp4l",  "wpa_supplicant",
		"cxi_rh",         "dn_eqm",    "udevadm",    "su",     "newsyslog",
		"fusermount",     "rasdaemon", "CRON",       NULL};

	return rs_word_in(names, p, n) || p[n - 1] == 'd' || !strncmp(p, "nvidia-", 7) ||
	       !strncmp(p, "systemd-", 8) || !strncmp(p, "slurm", 5);
}

/* "Aug 17 06:18:01 gpu01 kernel: ", "2025-08-17T06:18:01+00:00 gpu01 sshd[12]: ". The length of
 * what stands before the output of a script or of a job, "gpu01 check[12]: ", 0: another's line. */
static size_t inner_syslog(const char *text, char *host)
{
	static const char months[] = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec ";
	const char *p = text, *program;
	char month[5];
	size_t n, m, id;

	snprintf(month, sizeof(month), "%.4s", text);
	if (strlen(month) == 4 && month[3] == ' ' && strstr(months, month)) {
		p += 4 + strspn(text + 4, " ");
		p += digits(p);
		p += strspn(p, " ");
		n = clock_length(p);
	} else {
		n = digits(p) == 4 ? clock_length(p) : 0;
	}
	if (!n)
		return 0;
	p += n;
	n = name_length(p);
	if (!n || p[n] != ' ' || !isalpha((unsigned char)*p))
		return 0;
	program = p + n + 1;
	m = name_length(program);
	/* "sshd[12]:", "kernel:"; a key before a value is no program */
	if (!m ||
	    (program[m] != '[' && (program[m] != ':' || m != 6 || strncmp(program, "kernel", 6))))
		return 0;
	name_copy(host, p, n);
	id = digits(program + m + (program[m] == '['));
	if (!id || of_system(program, m) || strncmp(program + m + 1 + id, "]: ", 3))
		return 0;
	return (size_t)(program + m + 1 + id + 3 - text);
}

/* "> " of a quoted post: quotes of a whole block are told from a prompt by what called. */
static size_t quote_length(const char *text)
{
	size_t n = 0;

	/* "> > ", too */
	while (text[n] == '>' || (n && text[n] == ' ' && text[n + 1] == '>'))
		n++;
	return n && (text[n] == ' ' || !text[n]) ? n + (text[n] == ' ') : 0;
}

/* "[Mon Mar  3 10:00:00 2025] ", "[  101.250000] ": the kernel's clock. */
static bool is_kernel(const char *text)
{
	static const char days[] = "Mon Tue Wed Thu Fri Sat Sun ";
	const char *end = strchr(text, ']');
	char day[5];

	if (*text != '[' || !end || end[1] != ' ')
		return false;
	snprintf(day, sizeof(day), "%.4s", text + 1);
	if (strlen(day) == 4 && day[3] == ' ' && strstr(days, day))
		return end - text == 25;
	text += 1 + strspn(text + 1, " ");
	text += digits(text);
	return *text == '.' && digits(text + 1) == 6 && text + 7 == end;
}

/* NCCL's, UCX's or the kernel's own beginning: a number before it is a task's on one line alone. */
static bool is_record(const char *text)
{
	enum rs_record is = rs_record_of(text, strlen(text));

	return is == RS_RECORD_NCCL || is == RS_RECORD_UCX || is_kernel(text);
}

/* "[1,3]<stdout>:64" of mpirun --tag-output: what task 3 printed. */
static size_t tag_length(const char *text, char *host)
{
	const char *comma = *text == '[' ? strchr(text, ',') : NULL;
	size_t n = mpi_length(text, host);

	if (!n || !comma || !digits(comma + 1))
		return 0;
	if (!*host)
		snprintf(host, RS_NAME_BYTES, "task %.*s", (int)(digits(comma + 1) % RS_NAME_BYTES),
			 comma + 1);
	return n;
}

/* "gpu01 64" behind "echo $(hostname) $(ulimit -l)": a machine's name, and few words. */
static size_t word_label(const char *text, char *host)
{
	enum { WORDS = 4 };
	size_t n = name_length(text);
	unsigned words = 0;

	if (n < 2 || n >= RS_NAME_BYTES || text[n] != ' ' || !isalnum((unsigned char)*text) ||
	    strcspn(text, "0123456789-") >= n)
		return 0;
	for (const char *p = text + n; *p; p += strcspn(p, " "), words++)
		p += strspn(p, " ");
	if (words > WORDS)
		return 0;
	name_copy(host, text, n);
	return n + strspn(text + n, " ");
}

/* "gpu01: ", "0: " behind a command that labels each line so. */
static size_t gang_length(enum rs_gang gang, const char *text, char *host)
{
	const char *p = text + strspn(text, " ");
	size_t n = gang == RS_GANG_TASKS ? digits(p) : name_length(p);

	if (gang == RS_GANG_TAGS)
		return tag_length(text, host);
	if (gang == RS_GANG_WORDS)
		return word_label(text, host);
	if (gang == RS_GANG_HEADED) /* salt indents what each printed */
		return strncmp(text, "    ", 4) ? 0 : 4;
	if (gang == RS_GANG_NONE || !n || n > RS_NAME_BYTES - 6 || p[n] != ':' ||
	    (p[n + 1] && p[n + 1] != ' '))
		return 0;
	if (gang == RS_GANG_TASKS)
		snprintf(host, RS_NAME_BYTES, "task %.*s", (int)n, p);
	else
		name_copy(host, p, n);
	return (size_t)(p + n + 1 + (p[n + 1] == ' ') - text);
}

void rs_prefix_find(const struct rs_prefix_habits *h, enum rs_gang gang, const char *text,
		    struct rs_prefix *out)
{
	const char *p = text;
	size_t label;

	*out = (struct rs_prefix){0};
	p += quote_length(p);
	p += inner_syslog(p, out->inner);
	label = gang_length(gang, p, out->outer);
	out->gang = label != 0;
	p += label;
	for (unsigned i = 0; i < PREFIXES; i++) {
		size_t n = 0;

		if (*p == '[' && !(n = mpi_length(p, out->outer)) && !(n = rank_length(p)))
			n = pod_length(p, out->outer);
		else if (*p == '(')
			n = ray_length(p, out->outer);
		if (!n && !keeps_clock(p))
			n = clock_length(p);
		if (!n)
			n = epoch_length(p);
		if (!n && !i && !label && (n = task_label(p, &(unsigned){0})) && !h->label &&
		    !is_record(p + n))
			n = 0;
		if (!n)
			n = spdlog_length(p);
		if (!n)
			n = habit_length(h, p, out->outer);
		if (!n)
			break;
		p += n;
	}
	out->strip = (size_t)(p - text);
	if (!*out->inner)
		inner_nccl(p, out->inner);
	if (!*out->inner)
		inner_ucx(p, out->inner);
}
