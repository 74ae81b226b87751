/* What people write of a failure (sentence.h). */
#include <ctype.h>
#include <string.h>
#include "audit/read/sentence.h"

/* A person's sentence: words that programs leave out. */
bool rs_sentence_is(const char *low)
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

/* Does some word of the list begin in the line, behind no letter (digit: behind no digit either)?
 */
static bool begins_any(const char *low, const char *const *words, unsigned n, bool digit)
{
	for (unsigned i = 0; i < n; i++)
		for (const char *at = low; (at = strstr(at, words[i])); at++)
			if (at == low || (!isalpha((unsigned char)at[-1]) &&
					  !(digit && isdigit((unsigned char)at[-1]))))
				return true;
	return false;
}

/* Does some text of the list stand in the line? */
static bool has_any(const char *low, const char *const *words, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (strstr(low, words[i]))
			return true;
	return false;
}

/* What somebody saw: a person who speaks of himself, a question, something that happened. */
static bool is_personal(const char *low)
{
	static const char *const words[] = {" we ",
					    " i ",
					    "i'm ",
					    "fails ",
					    "unexpected",
					    "thank",
					    "the issue was",
					    "was due to",
					    "turned out",
					    "root cause",
					    "the problem was",
					    " solved",
					    " resolved",
					    "i've ",
					    " my ",
					    " our ",
					    " me ",
					    "?",
					    "error:",
					    "failed ",
					    "getting ",
					    "seeing ",
					    "observed",
					    "noticed",
					    "we're ",
					    "i get",
					    "i see",
					    "stopped",
					    "suddenly",
					    "upgrad",
					    "crash",
					    "timed out",
					    "remain capped",
					    "remains capped",
					    "reproduced on"};

	return !strncmp(low, "we ", 3) || !strncmp(low, "i ", 2) || !strncmp(low, "my ", 3) ||
	       !strncmp(low, "our ", 4) || has_any(low, words, sizeof(words) / sizeof(*words));
}

/* What a manual says of any machine: a condition, a permission, a purpose. It happened nowhere.
 */
bool rs_sentence_general(const char *low)
{
	static const char *const words[] = {
		" if ",        " in case ",     " may ",       " might ",      "could be ",
		" can ",       " should ",      " must ",      "note that ",   " unless ",
		"ensure ",     "make sure",     "recommend",   "to avoid ",    " prevent",
		"can be used", "this command",  "this option", "this flag",    "this parameter",
		" allows ",    " typically ",   " you ",       "in order to ", "used to ",
		"is intended", "troubleshoot ", "for example", "such as ",     "whether "};

	return (!strncmp(low, "if ", 3) || !strncmp(low, "in case ", 8) ||
		!strncmp(low, "to ", 3) || !strncmp(low, "keeps ", 6) ||
		has_any(low, words, sizeof(words) / sizeof(*words))) &&
	       !is_personal(low);
}

/* Is it of networks, accelerators or their parts at all? */
static bool has_topic(const char *low)
{
	static const char *const words[] = {
		"nccl",       "rccl",     "rdma",        "roce",       "infiniband", "ib",
		"nic",        "gpu",      "port",        "link",       "switch",     "pfc",
		"ecn",        "mlx",      "bandwidth",   "throughput", "latency",    "network",
		"packet",     "verbs",    "ucx",         "efa",        "libfabric",  "mpi",
		"queue",      "qp",       "gid",         "mtu",        "driver",     "firmware",
		"module",     "peermem",  "gdr",         "nvlink",     "pcie",       "socket",
		"tcp",        "connect",  "rank",        "node",       "host",       "device",
		"container",  "pod",      "all-reduce",  "allreduce",  "training",   "job",
		"hca",        "cable",    "transceiver", "bond",       "vlan",       "memlock",
		"speed",      "server",   "rail",        "rate",       "roce",       "rxe",
		"siw",        "lane",     "ring",        "channel",    "transfer",   "memory",
		"all-to-all", "alltoall", "pause",       "headroom"};

	return begins_any(low, words, sizeof(words) / sizeof(*words), false);
}

/* "does not work", but not what a manual says of every machine: "does not require". */
static bool does_not(const char *low)
{
	static const char *const negations[] = {"does not ", "doesn't "};
	static const char *const neutral[] = {
		"provide", "require", "need",  "affect", "matter",  "change", "include",  "apply",
		"mean",    "depend",  "imply", "cover",  "contain", "call",   "guarantee"};

	for (unsigned i = 0; i < sizeof(negations) / sizeof(*negations); i++)
		for (const char *at = low; (at = strstr(at, negations[i])); at++) {
			const char *verb = at + strlen(negations[i]);
			bool plain = false;

			for (unsigned k = 0; k < sizeof(neutral) / sizeof(*neutral); k++)
				plain |= !strncmp(verb, neutral[k], strlen(neutral[k]));
			if (!plain)
				return true;
		}
	return false;
}

/* "TCP instead of RDMA", "at x8 instead of x16": another thing than was meant. */
static bool is_instead(const char *low)
{
	static const char *const meant[] = {
		"rdma",     "infiniband", "ib",     "roce", "rocev2", "net/ib", "verbs",
		"gdr",      "efa",        "nvlink", "x16",  "x8",     "gen",    "the expected",
		"expected", "active",     "400",    "200",  "100",    "800",    "25"};
	const char *at = strstr(low, "instead of ");

	for (unsigned i = 0; at && i < sizeof(meant) / sizeof(*meant); i++)
		if (!strncmp(at + 11, meant[i], strlen(meant[i])) ||
		    (!strncmp(at + 11, "the ", 4) && !strncmp(at + 15, meant[i], strlen(meant[i]))))
			return true;
	return false;
}

/* Words by which people complain. Of a program's line they say little. */
static bool complains(const char *low)
{
	static const char *const words[] = {
		"problem",       "issue",          "do not show",   "not show",
		"missing",       "wrong",          "slow",          "why ",
		"capped",        "downgraded",     "degraded",      "broken",
		"not used",      "not use",        "incorrect",     "strange",
		"only half of",  "only get",       " bug",          "unstable",
		"different for", "too low",        "drops",         "zero",
		"fail",          "help me",        "not as good",   "error",
		"back to tcp",   "back to socket", "won't work",    "will not work",
		"eating ",       "was 0 ",         "were 0 ",       "overlapping nic",
		"sharing 1 ",    "breaks ",        "crash",         "very low",
		"downgrade",     "cannot",         "low bandwidth", "weird",
		"silently deg",  "dropping ",      "not the same",  "not identical"};

	return begins_any(low, words, sizeof(words) / sizeof(*words), true);
}

bool rs_sentence_complains(const char *low)
{
	return rs_sentence_is(low) && !rs_sentence_general(low) &&
	       (complains(low) || does_not(low) || is_instead(low)) && has_topic(low);
}
