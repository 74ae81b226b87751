/*
 * Lines that hold a message of the table (facts/message.h): each becomes a fact of the subject
 * "message". Patterns are found by four bytes of theirs in a hash, so that a line costs one step a
 * byte however long the table is (some ns a byte).
 */
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/level.h"
#include "audit/facts/message.h"
#include "audit/read/completion.h"
#include "audit/read/failure.h"
#include "audit/read/place.h"
#include "audit/read/readers.h"
#include "audit/read/secrets.h"

enum {
	GRAM = RS_MESSAGE_LITERAL_MIN,
	SLOTS_LOG = 12,
	PATTERNS = 2048,
	KEPT = 400, /* bytes of a line */
};

static struct {
	pthread_once_t once;
	uint16_t slot[1 << SLOTS_LOG]; /* pattern + 1 */
	struct {
		const char *text;
		const struct rs_message *m;
		uint16_t row, next;
	} pattern[PATTERNS];
	uint32_t n;
} table = {.once = PTHREAD_ONCE_INIT};

/* Four letters without their case: 'a' and 'A' differ by this bit, and what else it joins ("@" and
 * "`") a closer look parts. */
static uint32_t slot_of(const char *p)
{
	uint32_t gram;

	memcpy(&gram, p, GRAM);
	gram |= 0x20202020u;
	return gram * 2654435761u >> (32 - SLOTS_LOG);
}

static unsigned crowd(uint32_t slot)
{
	unsigned n = 0;

	for (uint16_t i = table.slot[slot]; i; i = table.pattern[i - 1].next)
		n++;
	return n;
}

/* The four bytes of a pattern that fewest others share. */
static uint32_t rarest(const char *text)
{
	uint32_t best = 1 << SLOTS_LOG;
	unsigned least = ~0u;

	for (const char *p = text; *p && strlen(p) >= GRAM; p++) {
		uint32_t slot = slot_of(p);

		if (memchr(p, '*', GRAM) || crowd(slot) >= least)
			continue;
		least = crowd(slot);
		best = slot;
	}
	return best;
}

static void build(void)
{
	const struct rs_message *m;

	for (uint16_t row = 0; (m = rs_message_row(row)); row++)
		for (unsigned i = 0; m->pattern[i]; i++) {
			const char *text = m->pattern[i];
			uint32_t slot = rarest(text);

			if (slot == 1 << SLOTS_LOG || table.n == PATTERNS)
				continue;
			table.pattern[table.n].text = text;
			table.pattern[table.n].m = m;
			table.pattern[table.n].row = row;
			table.pattern[table.n].next = table.slot[slot];
			table.slot[slot] = (uint16_t)++table.n;
		}
}

/* n bytes of a pattern in a line, in whatever case: releases differ in that. */
static const char *find(const char *line, const char *part, size_t n)
{
	int first = tolower((unsigned char)*part);

	for (; *line; line++)
		if (tolower((unsigned char)*line) == first && !strncasecmp(line, part, n))
			return line;
	return NULL;
}

/* Does the line hold the pattern's parts in this order? Where the first begins, and where the last
 * ends; NULL: no. */
static const char *holds(const char *line, const char *pattern, const char **end)
{
	const char *found = NULL;

	while (*pattern) {
		size_t n = strcspn(pattern, "*");
		const char *at = n ? find(line, pattern, n) : line;

		if (!at)
			return NULL;
		found = found ? found : at;
		line = at + n;
		pattern += n + (pattern[n] == '*');
	}
	*end = line;
	return found;
}

static bool starts_with(const char *line, const char *const *words)
{
	for (; *words; words++)
		if (!strncmp(line, *words, strlen(*words)))
			return true;
	return false;
}

/* "CHECK_ERROR(x": a macro's call. */
static bool is_macro(const char *line)
{
	size_t n = strspn(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");

	return n > 3 && line[n] == '(';
}

/* A person puts a line of a log in quotes: "misc/ibvwrap.cc:153 NCCL WARN Call to ...". A string of
 * a program holds no place of a source, with its line. */
static bool is_cited(const char *line, size_t n)
{
	static const char *const ends[] = {".c:", ".cc:", ".cpp:", ".cu:", ".h:", ".go:", ".py:"};

	if (n < 3 || *line != '"' || line[n - 1] != '"')
		return false;
	for (unsigned i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		const char *p = strstr(line, ends[i]);

		if (p && isdigit((unsigned char)p[strlen(ends[i])]))
			return true;
	}
	return strstr(line, "NCCL WARN ") || strstr(line, "NCCL INFO ");
}

/* A statement of C, Go or Python, with or without the format of a message. */
static bool is_code(const char *line)
{
	static const char *const signs[] = {
		"%s",      "%d",   "%u",    "%p",      "%m",    "%lu",      "%x",    "%v", "grep ",
		"printf(", "LOG(", "WARN(", "strstr(", "<< \"", "(struct ", "std::", NULL};
	static const char *const begins[] = {
		"case ",  "return ", "raise ",   "if (",     "} else",  "#define ", "throw ",
		"assert", "EXPECT_", "ASSERT_",  "Entry(",   "It(",     "def ",     "func ",
		"//",     "/*",      "#include", "} catch ", "else if", "while (",  "IBV_",
		"If ",    "When ",   "[IBV_",    "static ",  "const ",  NULL};
	size_t n = strlen(line);

	/* a thrown exception's text names its type, and a trace of it its functions */
	if (strstr(line, "an instance of '") || strstr(line, "frame #"))
		return false;
	for (unsigned i = 0; signs[i]; i++)
		if (strstr(line, signs[i]))
			return true;
	return starts_with(line, begins) || is_macro(line) ||
	       (*line == '"' && !strstr(line, "\": ") && strchr("\",;)\\", line[n - 1]) &&
		!is_cited(line, n)) ||
	       (n && (line[n - 1] == ';' || line[n - 1] == '{' || line[n - 1] == '\\' ||
		      line[n - 1] == '+'));
}

/* "`Failed to create QP` -> too many": a document's list of messages. A post has them alone. */
static bool is_glossed(const char *line, const char *at, const char *end)
{
	const char *close = strchr(end, '`');
	const char *open = memchr(line, '`', (size_t)(at - line));

	if (!open || !close)
		return false;
	if (*line == '#') /* a heading */
		return true;
	close += 1 + strspn(close + 1, "*\"' ");
	/* an arrow, a dash (UTF-8, e2 86 92 and e2 80 94), a column of a table, a meaning */
	return !strncmp(close, "->", 2) || !strncmp(close, "\xe2\x86", 2) ||
	       !strncmp(close, "\xe2\x80", 2) || *close == '|' || *close == ':' || *close == '=' ||
	       !strncmp(close, "- ", 2);
}

/* Source code, a search, or someone who tells of a message says nothing of a machine. */
static bool is_source(const char *line, const char *at, const char *end)
{
	size_t n = strlen(line);
	const char *before;
	bool quoted;

	/* a pattern may begin within a word, whose case differs */
	while (at > line && isalpha((unsigned char)at[-1]))
		at--;
	quoted = at > line && (at[-1] == '"' || at[-1] == '\'');
	if (is_code(line) || is_glossed(line, at, end))
		return true;
	/* a script's comment on what fails without its next line: # ... with "UCX  ERROR ..." */
	if (line[0] == '#' && line[1] == ' ' && memchr(line, '"', (size_t)(at - line)) &&
	    strchr(end, '"'))
		return true;
	/* a page's name: mlx5dv_devx_obj_modify.3 */
	if (end[0] == '.' && (isdigit((unsigned char)end[1]) || !strncmp(end + 1, "md", 2)))
		return true;
	/* a test's name and its verdict */
	if (n > 3 && !strcmp(line + n - 3, " ok"))
		return true;
	/* an argument: ("Failed to create QP", ...); JSON has a colon before its strings */
	if (quoted && at > line + 1 && at[-2] == '(')
		return true;
	/* what an error's number means: failure 802 'system not yet initialized' */
	if (quoted && at > line + 2 && at[-1] == '\'' && at[-2] == ' ' &&
	    isdigit((unsigned char)at[-3]))
		return false;
	if (rs_describes(line))
		return true;
	/* quoted by itself: "transport retry counter exceeded"; a key's value is none of these */
	for (before = at - 1; quoted && before > line && before[-1] == ' ';)
		before--;
	return quoted && end[0] == at[-1] && (before <= line || before[-1] != ':');
}

/* "oomkilled=false", "\"OOMKilled\": \"no\"": a name, and that it did not happen. */
static bool is_denied(const char *end)
{
	static const char *const words[] = {"false", "no", "none", "null", "never"};
	bool equals;

	end += strspn(end, "\"' ");
	equals = *end == '=';
	if (!equals && *end != ':')
		return false;
	end += 1 + strspn(end + 1, "\"' ");
	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++) {
		size_t n = strlen(words[i]);

		/* "failed: no such device" denies nothing */
		if (!strncasecmp(end, words[i], n) &&
		    (!end[n] || strchr(",;\"'}])", end[n]) || (equals && end[n] == ' ')))
			return true;
	}
	return false;
}

/* ---- errno ---- */

static const struct {
	const char *text;
	int number;
} errnos[] = {
	{"Operation not permitted", 1},
	{"No such file or directory", 2},
	{"Input/output error", 5},
	{"Resource temporarily unavailable", 11},
	{"Cannot allocate memory", 12},
	{"annot allocate memory", 12},
	{"Permission denied", 13},
	{"Bad address", 14},
	{"Device or resource busy", 16},
	{"No such device", 19},
	{"Invalid argument", 22},
	{"No space left on device", 28},
	{"Function not implemented", 38},
	{"Protocol not supported", 93},
	{"Operation not supported", 95},
	{"Cannot assign requested address", 99},
	{"Network is unreachable", 101},
	{"Connection timed out", 110},
	{"Connection refused", 111},
	{"No route to host", 113},
	{"Remote I/O error", 121},
	{"Out of memory", 12},
	{"ENOMEM", 12},
	{"EFAULT", 14},
	{"EINVAL", 22},
	{"EPERM", 1},
	{"ENODEV", 19},
	{"ETIMEDOUT", 110},
	{"ENETUNREACH", 101},
	{"EHOSTUNREACH", 113},
	{"EOPNOTSUPP", 95},
	{"ECONNREFUSED", 111},
	{"ENOSPC", 28},
	{"out of memory", 12},
};

static int errno_of(const char *line)
{
	static const char *const before[] = {
		"errno ",       "errno: ",  "errno=",   "non-zero status: ",
		"failed with ", "error=",   "ERROR: ",  "error: ",
		"RC: -",        "rc=",      "ret=",     "err(-",
		"returned -",   "failed (", "failed: ", "status "};
	const char *p;
	int n;

	for (unsigned i = 0; i < sizeof(errnos) / sizeof(*errnos); i++)
		if (strstr(line, errnos[i].text))
			return errnos[i].number;
	/* "[110]", as glog ends a line */
	p = strrchr(line, '[');
	if (p && sscanf(p, "[%d]", &n) == 1 && n > 0 && n < 134 && p[strlen(p) - 1] == ']')
		return n;
	for (unsigned i = 0; i < sizeof(before) / sizeof(*before); i++)
		if ((p = strstr(line, before[i])) && sscanf(p + strlen(before[i]), "%d", &n) == 1 &&
		    n && abs(n) < 134)
			/* NVSHMEM's own codes, up to 9, are no errno */
			return !strncmp(before[i], "non-zero", 8) && n < 10 ? 0 : abs(n);
	return 0;
}

/* "error print", "error messages": what a change is about, not what happened. */
static bool of_errors(const char *rest, size_t n)
{
	static const char *const what[] = {"rror print", "rror message", "rror handling",
					   "rror log",   "rror report",  "rror string"};

	for (unsigned i = 0; i < sizeof(what) / sizeof(*what); i++)
		if (n > strlen(what[i]) && !strncmp(rest, what[i], strlen(what[i])))
			return true;
	return false;
}

/* A constant that stands alone on its line is a list's, or a manual page's. */
static bool stands_alone(const char *line)
{
	line += strspn(line, " \t*-");
	return !line[strspn(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_ \t")];
}

/* A call's name in a line that does not say near it that it failed is no message of failure. */
static bool says_failure(const char *line, const char *at, const char *end)
{
	enum { BEFORE = 48, AFTER = 100 };
	static const char *const words[] = {"ail",      "rror",    "errno",       "non-zero status",
					    "nable to", "ouldn't", "ould not",    "annot ",
					    "exceeded", "ERROR",   "UNREACHABLE", "NULL value"};
	const char *from = at - line > BEFORE ? at - BEFORE : line;
	size_t n = strnlen(end, AFTER) + (size_t)(end - from);

	if (stands_alone(line))
		return false;
	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++) {
		const char *word = memmem(from, n, words[i], strlen(words[i]));

		if (word && !of_errors(word, n - (size_t)(word - from)))
			return true;
	}
	for (unsigned i = 0; i < sizeof(errnos) / sizeof(*errnos); i++)
		if (memmem(from, n, errnos[i].text, strlen(errnos[i].text)))
			return true;
	return false;
}

/* An RDMA device that the line names: "mlx5_3", "rocep5s0f0". false: none. */
static bool device_in(const char *line, char *out, size_t size)
{
	for (const char *p = line; *p;) {
		size_t n = 0;

		while (isalnum((unsigned char)p[n]) || p[n] == '_')
			n++;
		if (n >= 5 && n < size) {
			memcpy(out, p, n);
			out[n] = '\0';
			if (isdigit((unsigned char)out[n - 1]) && rs_is_rdma_name(out))
				return true;
		}
		p += n ? n : 1;
	}
	return false;
}

/* ---- Completions ---- */

/* "peer 10.0.0.2<54862>" */
static bool peer_in(const char *line, char *out, size_t size)
{
	const char *p = strstr(line, "peer ");
	size_t n = p ? strcspn(p + 5, "< ,%)") : 0;

	if (n < 3 || n >= size || p[5 + n] != '<')
		return false;
	memcpy(out, p + 5, n);
	out[n] = '\0';
	return true;
}

static bool completion(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l)
{
	int status = rs_completion_status(l->text);
	char text[64];

	if (!status || is_source(l->text, l->text, l->text))
		return false;
	if (rs_message_room(a, RS_MESSAGE_ROWS - 1)) {
		rs_input_add(a, in, l->number, NULL, "nccl", "completion_error", "%d", status);
		rs_input_add(a, in, l->number, NULL, "nccl", "completion_line", "%.*s", KEPT,
			     l->text);
		if (device_in(l->text, text, sizeof(text)))
			rs_input_add(a, in, l->number, NULL, "nccl", "completion_device", "%s",
				     text);
		if (peer_in(l->text, text, sizeof(text)))
			rs_input_add(a, in, l->number, NULL, "nccl", "completion_peer", "%s", text);
	}
	return true;
}

/* ---- Lines ---- */

static void add(struct rs_audit *a, const struct rs_input *in, uint32_t line, const char *text,
		const char *name, const char *of)
{
	char value[KEPT + 1];

	snprintf(value, sizeof(value), "%s", text);
	rs_secrets_hide(value);
	rs_input_add(a, in, line, NULL, "message", name, "%s", value);
	if (*of)
		rs_input_add(a, in, line, NULL, "message_device", name, "%s", of);
}

uint32_t rs_input_tell(struct rs_audit *a, const struct rs_input *in, uint32_t line,
		       const char *text, const char *key, const char *of)
{
	const struct rs_message *m;
	uint32_t row = 0;

	/* nothing is plugged into a bundle: someone meant it to have members */
	if (of && *of && !strcmp(key, "port-down") && rs_bundle_name(of) == strlen(of))
		key = "lag-down";
	while ((m = rs_message_row(row)) && strcmp(m->key, key))
		row++;
	if (!m || !rs_message_room(a, row))
		return 0;
	add(a, in, line, text, key, m->check && of ? of : "");
	return 1;
}

static void keep(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l,
		 uint16_t row)
{
	const struct rs_message *m = rs_message_row(row);
	char name[96], device[64] = "";

	if (m->by_errno)
		snprintf(name, sizeof(name), "%s/%d", m->key, errno_of(l->text));
	else
		snprintf(name, sizeof(name), "%s", m->key);
	if (m->check && !device_in(l->text, device, sizeof(device)))
		*device = '\0';
	add(a, in, l->number, l->text, name, device);
}

/* "I don't see GDRDMA": who asks after a good sign has not seen it. */
static bool is_missed(const char *line)
{
	static const char *const words[] = {" not ", "n't ", "Why ",     " why ", "?",
					    "hould", " no ", "without ", "xpect"};

	if (strstr(line, "NCCL INFO"))
		return false;
	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strstr(line, words[i]))
			return true;
	return false;
}

static bool line(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l)
{
	/* what a library tries while it looks around is DEBUG, and no failure */
	bool tries = rs_level_of(l->text) == RS_LEVEL_DEBUG;
	size_t n = strlen(l->text);
	uint16_t last = UINT16_MAX;
	bool mine = false;

	pthread_once(&table.once, build);
	for (size_t i = 0; i + GRAM <= n; i++)
		for (uint16_t k = table.slot[slot_of(l->text + i)]; k;
		     k = table.pattern[k - 1].next) {
			const struct rs_message *m = table.pattern[k - 1].m;
			uint16_t row = table.pattern[k - 1].row;
			const char *at, *end;

			if (row == last ||
			    !(at = holds(l->text, table.pattern[k - 1].text, &end)) ||
			    is_source(l->text, at, end) || (tries && m->check && !m->tried) ||
			    rs_message_but(m, l->text) || is_denied(end) ||
			    (!m->check && is_missed(l->text)) ||
			    (m->by_errno && !says_failure(l->text, at, end)))
				continue;
			last = row;
			mine = true;
			if (rs_message_room(a, row))
				keep(a, in, l, row);
		}
	return completion(a, in, l) || mine;
}

const struct rs_reader rs_reader_message = {
	.name = "message",
	.what = "messages of NCCL, RCCL, network plugins, UCX, libfabric, perftest, NVSHMEM, "
		"Mooncake, "
		"NIXL, gloo, drivers and switches, wherever they stand",
	.trust = RS_TRUST_LOG,
	.line = line,
	.also = true,
};
