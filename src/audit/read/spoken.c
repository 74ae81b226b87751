/*
 * What a person says of machines beside their outputs, as facts of the subject "told": the rate of
 * a port ("two nodes with HDR 200 Gb/s cards") and the MTU of a side ("server: active_mtu 4096").
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/facts/level.h"
#include "audit/facts/word_list.h"
#include "audit/read/place.h"
#include "audit/read/reader.h"

enum { TEXT = 512, WORD = 64 };

/* ---- Rates ---- */

/* The word at p, without what stands around it; its length. */
static size_t word_at(const char *p, char *out)
{
	size_t n = strcspn(p, " \t"), from = 0, to = n;

	while (from < to && !isalnum((unsigned char)p[from]))
		from++;
	while (to > from && !isalnum((unsigned char)p[to - 1]))
		to--;
	snprintf(out, WORD, "%.*s", (int)(to - from < WORD ? to - from : WORD - 1), p + from);
	return n;
}

/* A rate's unit behind its figure, or the word behind that: "200Gb/s", "200 Gbps", "200G". */
static const char *past_unit(const char *p)
{
	static const char *const units[] = {"gb/s", "gbps", "gbit/s", "gbit", "gbe", "gb", "g"};

	p += strspn(p, " ");
	for (unsigned i = 0; i < sizeof(units) / sizeof(*units); i++) {
		size_t n = strlen(units[i]);

		if (!strncmp(p, units[i], n) && !isalnum((unsigned char)p[n]) && p[n] != '/')
			return p + n;
	}
	return NULL;
}

/* Does a device stand behind the rate, or within two words of it? */
static bool is_device(const char *p)
{
	enum { WORDS = 3 };
	static const char *const devices[] = {
		"nic",        "nics",     "card", "cards",     "hca",    "hcas",
		"adapter",    "adapters", "port", "ports",     "roce",   "rocev2",
		"infiniband", "connectx", "link", "links",     "ib",     "network",
		"hdr",        "ndr",      "edr",  "slingshot", "fabric", NULL};
	char word[WORD];

	for (unsigned i = 0; i < WORDS && *p; i++) {
		p += strspn(p, " \t");
		p += word_at(p, word);
		if (rs_word_in(devices, word, strlen(word)) || rs_is_rdma_name(word) ||
		    (!strncmp(word, "cxi", 3) && isdigit((unsigned char)word[3])))
			return true;
	}
	return false;
}

static bool rate(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l,
		 const char *low)
{
	enum { LEAST = 10, MOST = 1600 };

	for (const char *p = low; *p; p++) {
		char *end;
		long gbps;
		const char *behind;

		if (!isdigit((unsigned char)*p) ||
		    (p > low && (isalnum((unsigned char)p[-1]) || strchr("._-/", p[-1]))))
			continue;
		gbps = strtol(p, &end, 10);
		behind = past_unit(end);
		p = end - 1;
		if (gbps < LEAST || gbps > MOST || !behind || !is_device(behind))
			continue;
		rs_input_add(a, in, l->number, NULL, "told", "rate_gbps", "%ld", gbps);
		return true;
	}
	return false;
}

/* ---- MTUs ---- */

static bool mtu(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l,
		const char *low)
{
	static const char sides[] =
		"peer|peers|server|client|node|node1|node2|host|host1|host2|side|"
		"sender|receiver|initiator|target|machine|pod";
	const char *p = strstr(low, "mtu");
	char name[32];
	long value;

	/* a switch takes more than its hosts send, and is right */
	if (!p || strstr(low, "switch") || !rs_word_list_has(low, sides, false))
		return false;
	for (p += 3; *p && !isdigit((unsigned char)*p); p++)
		if (isalpha((unsigned char)*p) && strncmp(p, "is ", 3) && strncmp(p, "of ", 3) &&
		    p[-1] != 'i' && p[-1] != 'o')
			return false;
	value = strtol(p, NULL, 10);
	if (value < 256 || value > 10000)
		return false;
	snprintf(name, sizeof(name), "mtu/%u", l->number);
	rs_input_add(a, in, l->number, NULL, "told", name, "%ld", value);
	return true;
}

/* A sentence or a remark of a person: no row of a table, no key with its value in quotes. */
static bool is_persons(const char *text)
{
	enum { COMMAS = 3 };
	unsigned commas = 0;

	for (const char *p = text; *p; p++)
		commas += *p == ',';
	return commas <= COMMAS && !strpbrk(text, "|;\t{}") && !strstr(text, ": \"") &&
	       *text != '"' && rs_level_of(text) == RS_LEVEL_NONE;
}

static bool line_spoken(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l)
{
	char low[TEXT];
	bool any;

	if (!is_persons(l->text))
		return false;
	rs_word_lower(l->text, low, sizeof(low));
	any = rate(a, in, l, low);
	return mtu(a, in, l, low) || any;
}

const struct rs_reader rs_reader_spoken = {
	.name = "spoken",
	.what = "what a person says beside outputs: a port's rate, the MTU of each side",
	.trust = RS_TRUST_NOTE,
	.also = true,
	.line = line_spoken,
};
