/* Lines that say that something failed (failure.h). */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/kernel_line.h"
#include "audit/facts/level.h"
#include "audit/facts/word_list.h"
#include "audit/read/failure.h"
#include "audit/read/sentence.h"

/* A label that the word is in, and its value, which is nothing: "BPDU Error: None, Loop",
 * "number of nan iterations:   0 |", "OOMKilled": false. */
static bool is_nothing(const char *p)
{
	static const char *const values[] = {"0",   "0.0", "none",   "n/a",   "no", "-",
					     "off", "ok",  "normal", "false", "[]"};
	const char *colon = p;

	while (colon - p < 32 && (isalpha((unsigned char)*colon) || strchr("_ ()/\"'", *colon)) &&
	       *colon)
		colon++;
	if (*colon != ':' && *colon != '=')
		return false;
	p = colon + 1;
	p += strspn(p, " .\t\"'");
	for (unsigned i = 0; i < sizeof(values) / sizeof(*values); i++) {
		size_t n = strlen(values[i]);

		if (!strncasecmp(p, values[i], n) &&
		    (!p[n] || strchr(",|;)]\t\"'", p[n]) || !strncmp(p + n, "  ", 2) ||
		     !strncmp(p + n, " |", 2)))
			return true;
	}
	return false;
}

/* "0 output buffer failures", ", - underruns, - errors": a count of a list of counts that is
 * nothing, or that this port does not keep. */
static bool counts_nothing(const char *text, const char *at)
{
	const char *field = at;

	while (field > text && !strchr(",:", field[-1]))
		field--;
	field += strspn(field, " \t");
	if ((*field != '0' && *field != '-') || field[1] != ' ' || field >= at ||
	    (*field == '-' && !strstr(text, ", ")))
		return false;
	for (const char *p = field + 1; p < at; p++)
		if (!islower((unsigned char)*p) && *p != ' ')
			return false;
	return true;
}

/* "0.00% packet loss" */
static bool no_share(const char *text, const char *at)
{
	const char *p = at;

	while (p > text && p[-1] == ' ')
		p--;
	if (p == text || *--p != '%')
		return false;
	while (p > text && (isdigit((unsigned char)p[-1]) || p[-1] == '.'))
		p--;
	return isdigit((unsigned char)*p) && strtod(p, NULL) <= 0;
}

/* "Keepalive timeout: 30", "timeout = 120 sec": a setting, and nothing is said behind it. */
static bool is_limit(const char *p)
{
	p += strspn(p, " \t");
	if (*p != ':' && *p != '=')
		return false;
	p += 1 + strspn(p + 1, " \t");
	if (!isdigit((unsigned char)*p))
		return false;
	p += strspn(p, "0123456789.");
	p += strspn(p, " \t");
	p += strspn(p, "abcdefghijklmnopqrstuvwxyz");
	return !*p || *p == ',' || *p == ';' || *p == '\r';
}

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
	if (counts_nothing(text, at) || no_share(text, at))
		return true;
	p = at + n;
	/* "forward error correction" */
	if (!strncasecmp(p, " correct", 8) ||
	    (n >= 7 && !strncasecmp(p - 7, "timeout", 7) && is_limit(p)))
		return true;
	if (is_nothing(p - (strchr(":=", p[-1]) != NULL)))
		return true;
	p += strspn(p, "s_:= \t");
	return *p == '0' && !isalnum((unsigned char)p[1]) && p[1] != '.';
}

/* The heading of a table: "# size  time  error", "NAME  READY  ERRORS": columns, and no figure. */
static bool is_heading(const char *text)
{
	const char *p = text + strspn(text, " \t");
	bool comment = *p == '#', lower = false;
	unsigned columns = 0;

	p += strspn(p, "# \t");
	while (*p) {
		columns++;
		while (*p && strncmp(p, "  ", 2) && *p != '\t') {
			if (isdigit((unsigned char)*p) || strchr(":=.,", *p))
				return false;
			lower |= islower((unsigned char)*p++) != 0;
		}
		p += strspn(p, " \t");
	}
	return columns > 3 && (comment || !lower);
}

/* No letter before or behind: "change" holds no "hang". */
static bool stands(const char *text, const char *at, size_t n)
{
	return (at == text || !isalpha((unsigned char)at[-1])) && !isalpha((unsigned char)at[n]);
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
		"not a git repository", "cannot enable msccl", "rib-failure,",
		"pip's dependency resolver", "terminal process group",
		"no job control in this shell",
		"failed to connect to bus: ", "system has not been booted with systemd",
		"error record serialization table", "_osc: platform does not support",
		"timekeeping watchdog", "detected invalid context, skipping",
		"could not find ncclgetversion symbol",
		"devctl: ", "devctl:\t", /* lspci: which errors are reported */
		/* a part of a switch without data of its maker */
		"failed to display the manufacture information",
		/* who tried to log in is no job's */
		" sshd[", " sshd-session[", "pam_unix(", " sudo[", " sudo: ", "su: 'su ", " su[",
		" su (to ", " cron[", "systemd-logind[", "auditd[",
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
	/* pytest's, with how far it is: " PASSED   [ 37%]" */
	return strstr(low, " passed ") && n > 2 && !strcmp(low + n - 2, "%]");
}

/* What a program does without, and an advice for another day, are no failure of a job. Where the
 * way that it falls back from is the network's, that is one. */
static bool goes_on(const char *low)
{
	static const char *const network[] = {"rdma", "tcp",   "socket", "infiniband", "roce",
					      "efa",  "ucx",   "verbs",  "nccl",       "gdr",
					      " ib ", "net/",  "peerm",  "transport",  "ibv_",
					      "gid",  "mlock", "memlock"};

	for (unsigned i = 0; i < sizeof(network) / sizeof(*network); i++)
		if (strstr(low, network[i]))
			return false;
	return rs_level_goes_on(low) || strstr(low, " if you ");
}

/* libfabric warns of a value that it set another way: nothing failed. */
static bool is_settled(const char *low)
{
	static const char *const words[] = {
		" adjusted to",   " size to: ",         "invalid. setting to",
		"setting to ",    "min/max thresholds", "minimum allowed (",
		"using default",  "defaulting to",      "not specified: using",
		" are supported", "deprecated",         "ignoring device name",
		"ignoring url",   "ignoring extra",     "using first "};

	for (unsigned i = 0; strstr(low, "libfabric:") && i < sizeof(words) / sizeof(*words); i++)
		if (strstr(low, words[i]))
			return true;
	return false;
}

/* "[INFO] Abort CUDA jobs when FM exits = 1": a program tells its own settings. */
static bool is_setting(const char *low, enum rs_level level)
{
	static const char *const results[] = {"err",  "ret", "rc",    "status", "code",
					      "fail", "res", "count", "num"};
	const char *sign = strstr(low, " = ");

	if (level != RS_LEVEL_INFO || !sign || strchr(sign + 3, ' ') || strchr(sign + 3, '-'))
		return false;
	for (unsigned i = 0; i < sizeof(results) / sizeof(*results); i++)
		if (strstr(low, results[i]))
			return false;
	return true;
}

/* A command that prints, where a script's list, condition or handler may have one:
 * `[ -e /dev/infiniband ] || { echo "Failed: ..."; exit 1; }`, `trap 'echo failed' ERR`. */
static bool prints_if(const char *text)
{
	static const char *const prints[] = {"echo ",   "printf ",    "die ",
					     "logger ", "log_error ", "log_err "};
	static const char *const before[] = {"|| ",   "&& ", "{ ", "( ",     "; ",     "then ",
					     "else ", "do ", ") ", "trap '", "trap \""};

	for (unsigned i = 0; i < sizeof(prints) / sizeof(*prints); i++)
		for (const char *at = text; (at = strstr(at, prints[i])); at++)
			for (unsigned k = 0; k < sizeof(before) / sizeof(*before); k++) {
				size_t n = strlen(before[k]);

				if ((size_t)(at - text) >= n && !strncmp(at - n, before[k], n))
					return true;
			}
	return false;
}

/* A line of a program's help: "-u, --qp-timeout=<timeout>  QP timeout (default: 14)". */
static bool is_option(const char *text)
{
	const char *p = text + strspn(text, " \t");
	size_t n = *p == '-' ? strcspn(p, " \t") : 0;

	return n > 1 && (p[1] == '-' || isalpha((unsigned char)p[1])) &&
	       (strstr(p, "(default") || strstr(p, "=<") || p[n - 1] == ',' || strstr(p, "  "));
}

/* A line of a script: what it says has not happened. */
static bool is_instruction(const char *text)
{
	static const char *const words[] = {"export ", "echo ", "printf ", "alias ",   "trap '",
					    "trap \"", "| `",   "*) ",     "fatal \"", "die \"",
					    "die '",   "curl ", "#SBATCH", "###SBATCH"};

	text += strspn(text, " \t");
	if (*text == '+') /* a trace: it has */
		return false;
	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strncmp(text, words[i], strlen(words[i])))
			return true;
	if (prints_if(text))
		return true;
	/* n=$(grep 'error:' log | wc -l) */
	while (isalnum((unsigned char)*text) || *text == '_')
		text++;
	return !strncmp(text, "=$(", 3) || !strncmp(text, "=`", 2);
}

bool rs_prints(const char *text)
{
	static const char *const words[] = {"echo \"",  "echo '",  "printf \"",
					    "printf '", "trap \"", "trap '"};

	text += strspn(text, " \t");
	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strncmp(text, words[i], strlen(words[i])))
			return true;
	return *text != '+' && prints_if(text);
}

/* A setting's key, without a value or with a switch: "failure-rule:", "debug.exception-trace": "1".
 */
static bool is_key(const char *text)
{
	const char *p = text + strspn(text, " \t\"'-");
	size_t n = strcspn(p, "\"':= \t"), rest;

	/* "timeoutSeconds: 300", "failureThreshold: 3": what a manifest sets */
	if (n > 6 && p[n] == ':' && p[n + 1] == ' ' && isdigit((unsigned char)p[n + 2]) &&
	    (memmem(p, n, "imeout", 6) || memmem(p, n, "hreshold", 8)) && strlen(p + n + 2) < 24)
		return true;
	if (!n || n < 4 || !memchr(p, '-', n) || (p[n] != ':' && !strchr("\"'", p[n])))
		return false;
	p += n + strspn(p + n, "\"':= \t");
	rest = strcspn(p, "\"',");
	return !*p ||
	       (rest < 6 && !p[rest + strspn(p + rest, "\"', ")] &&
		(isdigit((unsigned char)*p) || !strncmp(p, "true", 4) || !strncmp(p, "false", 5)));
}

bool rs_describes(const char *text)
{
	return !strncmp(text + strspn(text, " \t"), "\"description\":", 14) &&
	       !strpbrk(text, "0123456789");
}

const char *rs_banner(const char *text)
{
	static const char *const of[][2] = {
		{"Waiting for client to connect", "ib_write_bw"},
		{"local address: LID", "ib_write_bw"},
		{"local address:  LID", "ibv_rc_pingpong"},
		{"multus-daemon", "multus"},
		{"sing Kubelet Plugin Registry", "sriovdp"},
	};

	for (unsigned i = 0; i < sizeof(of) / sizeof(*of); i++)
		if (strstr(text, of[i][0]))
			return of[i][1];
	return NULL;
}

/* Phrases that other words hold: "hanging" in "changing", "rc = -" in "src = -5", "unavailable" in
 * "maxUnavailable". */
static bool begins_a_word(const char *phrase)
{
	return !strncmp(phrase, "hang", 4) || !strncmp(phrase, "rc", 2) ||
	       !strncmp(phrase, "ret", 3) || !strncmp(phrase, "unavail", 7);
}

/* Does the phrase state a failure where it stands, and is no part of a name? */
static bool is_meant(const char *low, const char *at, const char *phrase)
{
	size_t n = strlen(phrase);

	if (denied(low, at + (*phrase == ' '), n))
		return false;
	if (!strcmp(phrase, "nan") &&
	    ((at > low && isalnum((unsigned char)at[-1])) || isalnum((unsigned char)at[3])))
		return false;
	/* a setting's name is no statement: NCCL_IB_TIMEOUT, local_ack_timeout_err */
	/* an option's name: --no-check-for-nan-in-loss */
	for (const char *p = at; p > low && p[-1] != ' '; p--)
		if (p - low >= 2 && p[-1] == '-' && p[-2] == '-')
			return false;
	if (!strcmp(phrase, "timeout") && !strncmp(at + 7, " (in ", 5))
		return false;
	if (!strcmp(phrase, "timeout") && ((at > low && (at[-1] == '_' || at[-1] == '-')) ||
					   at[7] == '_' || at[7] == '=' || at[7] == '-'))
		return false;
	/* "changing", "src = -5" */
	if (begins_a_word(phrase) && at > low && isalpha((unsigned char)at[-1]))
		return false;
	if ((!strcmp(phrase, "hang") || !strcmp(phrase, "fail")) && !stands(low, at, 4))
		return false;
	if (!strcmp(phrase, "failure") && at[7] == '_')
		return false;
	/* a word of its own, as "**FAILED** x" and "`failed assert`"; no counter's name */
	return strcmp(phrase, "failed") ||
	       ((at == low || strchr("`*([\">", at[-1])) && !(at[6] && strchr("_-=:", at[6])));
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
		"error!",
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
		"can only be used",
		"error status=",
		"link went down",
		"] went down",
		"only valid for",
		"invalid state",
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
		"node-mark-offline",
		"network is down",
		"not started",
		"not have the same",
		"[firing",
		"in bad ",
		"in a bad state",
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

	/* what a library tries while it looks around is no failure */
	if (level == RS_LEVEL_DEBUG || is_instruction(text) || is_option(text) || is_key(text) ||
	    rs_describes(text) || is_heading(text) || rs_tick_of(text) == RS_TICK_PASS)
		return false;
	rs_word_lower(text, low, sizeof(low));
	if (is_noise(low) || is_settled(low) || is_setting(low, level))
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
	if (rs_level_compares(low) || (level != RS_LEVEL_INFO && rs_level_misses(low)))
		return true;
	/* "Invalid CPU range" is how a tool begins; a person does not */
	if ((!strncmp(low, "invalid ", 8) || !strncmp(low, "error to ", 9)) && !rs_sentence_is(low))
		return true;
	/* a manual's sentence, and a legend: "N/A - not available" */
	if (level == RS_LEVEL_NONE &&
	    ((rs_sentence_is(low) && rs_sentence_general(low)) || !strncmp(low, "n/a ", 4)))
		return false;
	for (unsigned i = 0; phrases[i]; i++)
		for (const char *at = low; (at = strstr(at, phrases[i])); at++)
			if (is_meant(low, at, phrases[i]))
				return true;
	return false;
}

bool rs_complains(const char *text)
{
	char low[1024];

	if (rs_level_of(text) != RS_LEVEL_NONE || is_instruction(text) || is_option(text) ||
	    rs_describes(text) || is_heading(text) || rs_tick_of(text) == RS_TICK_PASS)
		return false;
	rs_word_lower(text, low, sizeof(low));
	return !is_noise(low) && rs_kernel_line(text, NULL) == RS_KERNEL_NONE &&
	       !strstr(low, "nccl info") && !goes_on(low) && rs_sentence_complains(low);
}
