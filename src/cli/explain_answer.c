/* ripstop explain QUESTION PATH...: what the files say of the words of a question that is no known
 * symptom. Findings by how many of its words they have, then the facts that have them. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/rules/rule.h"
#include "cli/explain_answer.h"

/* Words of people, and those that checks and facts have for them. */
static const struct {
	const char *said, *meant;
} synonyms[] = {
	{"up", "port_state"},
	{"up", "operstate"},
	{"up", "link"},
	{"down", "port_state"},
	{"down", "operstate"},
	{"down", "link"},
	{"active", "port_state"},
	{"jumbo", "mtu"},
	{"frame", "mtu"},
	{"frames", "mtu"},
	{"byte", "mtu"},
	{"slot", "pcie"},
	{"card", "pcie"},
	{"downgraded", "pcie"},
	{"lanes", "pcie"},
	{"lock", "memlock"},
	{"locked", "memlock"},
	{"ulimit", "memlock"},
	{"memlock", "ulimit"},
	{"memlock", "locked"},
	{"bgp", "neighbor"},
	{"peer", "neighbor"},
	{"established", "estab"},
	{"established", "active"},
	{"established", "idle"},
	{"trusted", "trust"},
	{"marking", "dscp"},
	{"marked", "dscp"},
	{"tos", "dscp"},
	{"lossless", "pfc"},
	{"flow", "pfc"},
	{"pause", "pfc"},
	{"pausing", "pfc"},
	{"storm", "watchdog"},
	{"stormed", "watchdog"},
	{"retransmissions", "lost"},
	{"retransmits", "lost"},
	{"retries", "lost"},
	{"loss", "dropped"},
	{"lost", "dropped"},
	{"drops", "dropped"},
	{"discards", "dropped"},
	{"drop", "dropped"},
	{"vfs", "virtual functions"},
	{"vf", "virtual functions"},
	{"sriov", "sr-iov"},
	{"cable", "link"},
	{"fibre", "link"},
	{"fiber", "link"},
	{"transceiver", "module"},
	{"optic", "module"},
	{"hot", "temperature"},
	{"slow", "speed"},
	{"slower", "speed"},
	{"manager", "subnet"},
	{"kubernetes", "plugin"},
	{"pod", "plugin"},
	{"gids", "gid"},
	{"address", "gid"},
	{"firewall", "bootstrap"},
	{"gpudirect", "gpu"},
	{"gdr", "gpu"},
	{"acs", "acs"},
	{"down", "port"},
	{"nvlink", "nvswitch"},
	{"efa", "device"},
	{"optic", "transceiver"},
	{"optics", "transceiver"},
	{"transceiver", "optic"},
	{"neighbour", "neighbor"},
	{"neighbours", "neighbor"},
	{"sharp", "collnet"},
	{"class", "tc"},
	{"release", "version"},
	{"version", "release"},
	{"virtual", "vfs"},
	{"algorithm", "algo"},
	{"protocol", "proto"},
	{"interface", "ifname"},
	{"interfaces", "ifname"},
	{"bandwidth", "busbw"},
	{"busbw", "bandwidth"},
	{"shared", "shm"},
	{"memory", "mem"},
	{"gpudirect", "gdr"},
	{"gdr", "gpudirect"},
	{"topology", "topo"},
	{"numa", "node"},
	{"socket", "numa"},
	{"width", "lnksta"},
	{"slot", "lnksta"},
	{"rail", "hca"},
	{"rails", "hca"},
	{"nics", "hca"},
	{"nic", "hca"},
	{"hcas", "hca"},
	{"firmware", "fw"},
	{"frequency", "governor"},
	{"temperature", "temp"},
	{"pairs", "qps"},
	{"addresses", "addr"},
	{"ipv4", "inet"},
	{"ipv6", "inet6"},
	{"link", "link"},
	{"layer", "link"},
};

static const char *const idle[] = {
	"too",  "small", "different", "differ", "same",   "never",   "still",   "very",   "all",
	"is",   "the",   "a",         "an",     "my",     "on",      "in",      "of",     "to",
	"do",   "does",  "are",       "was",    "why",    "what",    "which",   "how",    "can",
	"it",   "this",  "that",      "there",  "with",   "for",     "and",     "or",     "not",
	"no",   "any",   "i",         "we",     "our",    "when",    "have",    "has",    "wrong",
	"ok",   "okay",  "right",     "be",     "work",   "working", "please",  "mean",   "means",
	"see",  "seen",  "get",       "gets",   "much",   "many",    "at",      "from",   "me",
	"tell", "about", "host",      "hosts",  "switch", "problem", "through", "between"};

static bool is_idle(const char *w)
{
	for (unsigned i = 0; i < sizeof(idle) / sizeof(*idle); i++)
		if (!strcmp(w, idle[i]))
			return true;
	return false;
}

static void words_add(struct rs_question *q, const char *w, bool meant)
{
	for (unsigned i = 0; i < q->n; i++)
		if (!strcmp(q->word[i], w))
			return;
	if (q->n < RS_QUESTION_WORDS && strlen(w) < sizeof(q->word[0])) {
		q->meant[q->n] = meant;
		strcpy(q->word[q->n++], w);
	}
}

/* "1 GiB", "8G", "64 kB": as tables write them, in bytes. */
static void size_add(struct rs_question *q, const char *text)
{
	char *end, w[RS_QUESTION_WORD];
	double v = strtod(text, &end);
	int shift;

	while (*end == ' ')
		end++;
	shift = *end == 'k' || *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
	if (!shift || !(v >= 1) || v > 1024)
		return;
	end++;
	end += *end == 'i';
	end += *end == 'B';
	if (isalnum((unsigned char)*end) || *end == '/' || *end == 'b')
		return;
	snprintf(w, sizeof(w), "%.0f", v * (double)(1 << shift));
	words_add(q, w, false);
}

void rs_question_make(struct rs_question *q, const char *text)
{
	char w[RS_QUESTION_WORD];

	q->n = 0;
	while (*text) {
		size_t n = 0;

		for (; *text && !isalnum((unsigned char)*text); text++)
			;
		if (isdigit((unsigned char)*text))
			size_add(q, text);
		for (; isalnum((unsigned char)*text) || (n && strchr("_-/.:", *text) && *text);
		     text++)
			if (n + 1 < sizeof(w))
				w[n++] = (char)tolower((unsigned char)*text);
		while (n && !isalnum((unsigned char)w[n - 1]))
			n--;
		w[n] = '\0';
		if (n < 2 || is_idle(w))
			continue;
		words_add(q, w, false);
		for (unsigned i = 0; i < sizeof(synonyms) / sizeof(*synonyms); i++)
			if (!strcmp(w, synonyms[i].said))
				words_add(q, synonyms[i].meant, true);
	}
}

static bool has(const char *text, const char *w)
{
	return rs_question_has(text, strlen(text), w) >= 1;
}

unsigned rs_question_rule(const struct rs_question *q, const struct rs_rule *r, bool *named)
{
	unsigned n = 0;

	*named = false;
	for (unsigned i = 0; i < q->n; i++) {
		bool name = has(r->name, q->word[i]) || !strcasecmp(r->id, q->word[i]);

		if (q->meant[i])
			continue;
		*named |= name;
		n += name || has(r->criterion, q->word[i]);
	}
	return n;
}

void rs_question_of_rule(struct rs_question *q, const struct rs_rule *r)
{
	/* words of names that stand in lines of anything */
	static const char *const plain[] = {
		"state",    "use",     "set",      "known",    "node",   "enabled",     "seen",
		"path",     "rate",    "mode",     "calls",    "count",  "size",        "class",
		"off",      "peers",   "differ",   "drift",    "log",    "errors",      "failure",
		"open",     "dead",    "unknown",  "or",       "and",    "to",          "on",
		"before",   "user",    "measured", "host",     "switch", "port",        "used",
		"devices",  "job",     "device",   "file",     "ready",  "not",         "in",
		"of",       "own",     "reality",  "abnormal", "site",   "expectation", "disagree",
		"carriers", "applied", "hardware", "network",  "link",   "twins",       "whole"};
	char text[256];
	size_t n = 0;

	q->n = 0;
	for (const char *p = r->name; *p; p += *p == '-') {
		size_t k = strcspn(p, "-");
		bool skip = false;

		for (unsigned i = 0; i < sizeof(plain) / sizeof(*plain); i++)
			skip |= strlen(plain[i]) == k && !strncmp(plain[i], p, k);
		if (!skip && n + k + 2 < sizeof(text))
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%.*s ", (int)k, p);
		p += k;
	}
	if (n)
		rs_question_make(q, text);
}

static bool in_text(const char *text, const char *w)
{
	return text && strcasestr(text, w);
}

static bool in_fact(const struct rs_fact *f, const char *w)
{
	return in_text(f->name, w) || in_text(f->subject, w) || in_text(f->value, w);
}

unsigned rs_question_finding(const struct rs_question *q, const struct rs_finding *f)
{
	unsigned n = 0;

	for (unsigned i = 0; i < q->n; i++) {
		const char *w = q->word[i];
		bool name = has(f->rule->name, w) || !strcasecmp(f->rule->id, w);
		bool hit = name || in_text(f->rule->name, w) || in_text(f->title, w) ||
			   in_text(f->why, w);

		for (uint32_t k = 0; !hit && k < f->n_facts; k++)
			hit = in_fact(f->fact[k], w);
		for (uint32_t k = 0; !hit && k < f->n_subjects; k++)
			hit = in_text(f->subject[k].part, w);
		/* what it is called by tells more than what it mentions */
		n += name && !q->meant[i] ? 3 : hit;
	}
	return n;
}

/* "mlx5_0" of "nic/mlx5_0"; NULL: the subject has no part. */
static const char *part_of(const struct rs_fact *f)
{
	const char *slash = strchr(f->subject, '/');

	return slash ? slash + 1 : NULL;
}

bool rs_question_asks(const char *text)
{
	static const char *const begins[] = {"what ", "which ",    "is ",       "are ", "does ",
					     "do ",   "how many ", "how much ", "has ", "what's "};

	for (unsigned i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (!strncasecmp(text, begins[i], strlen(begins[i])))
			return true;
	return false;
}

const char *rs_question_part(const struct rs_question *q, const struct rs_audit *a)
{
	for (uint32_t h = 0; h < rs_facts_hosts(a->facts); h++) {
		const struct rs_fact *f;
		uint32_t walk = 0;

		while ((f = rs_facts_next(a->facts, &walk, rs_facts_host(a->facts, h), "", "")))
			for (unsigned i = 0; part_of(f) && i < q->n; i++)
				if (!q->meant[i] && strlen(q->word[i]) > 2 &&
				    !strcasecmp(part_of(f), q->word[i]))
					return part_of(f);
	}
	return NULL;
}

/* How many of the words a fact has; words of two letters are in everything. part: what the question
 * names, whose facts alone are asked for; NULL. */
static unsigned asked_of(const struct rs_question *q, const struct rs_fact *f, const char *part)
{
	unsigned n = 0;

	if (part && (!part_of(f) || strcmp(part_of(f), part)))
		return 0;
	for (unsigned i = 0; i < q->n; i++)
		n += strlen(q->word[i]) > 2 && in_fact(f, q->word[i]);
	/* of counters those above 0 tell more */
	return n && f->numeric && !f->number && strstr(f->name, "counter/") ? 2 * n - 1 : 2 * n;
}

unsigned rs_question_facts(const struct rs_question *q, const struct rs_audit *a,
			   const struct rs_fact **out, unsigned most)
{
	const char *part = rs_question_part(q, a);
	unsigned n = 0;

	for (uint32_t h = 0; h < rs_facts_hosts(a->facts); h++) {
		const struct rs_fact *f;
		uint32_t walk = 0;

		while ((f = rs_facts_next(a->facts, &walk, rs_facts_host(a->facts, h), "", ""))) {
			unsigned k = f->file ? asked_of(q, f, part) : 0, at = n;

			while (at && asked_of(q, out[at - 1], part) < k)
				at--;
			if (!k || at == most)
				continue;
			n += n < most;
			for (unsigned i = n - 1; i > at; i--)
				out[i] = out[i - 1];
			out[at] = f;
		}
	}
	return n;
}
